//! Runs of a network in partitions: on many threads, or on one where that is faster.

use super::barrier::Presence;
use super::crew::{Crew, DECIDE_EVERY, Ended, Members, START, Task, WORTH, first_of, lock};
use super::members::ParallelSimulation;
use crate::sim::Simulation;
use fanin_units::Time;

impl ParallelSimulation {
    /// Runs all events before `until`, at most about `budget` of them; a cut network stops where all threads meet.
    /// Returns whether it reached `until`.
    pub fn run_until(&mut self, until: Time, budget: u64) -> bool {
        if self.members.len() == 1 {
            return self.only_mut().run_until(until, budget);
        }
        let mut left = budget;
        loop {
            let before = self.events();
            let (ended, windows) =
                if self.sharing { self.run_shared(until, left) } else { self.run_alone(until, left) };
            let ran = self.events() - before;
            self.ran[usize::from(!self.sharing)] += ran;
            self.density = ran.checked_div(windows).unwrap_or(self.density);
            self.decide(windows + START, ran);
            left = left.saturating_sub(ran);
            if ended != Ended::Decide {
                self.all_mut().for_each(Simulation::flush);
                return ended == Ended::Arrived;
            }
        }
    }

    /// Counts lookahead windows and their events, and regularly decides whether one thread or many run the next ones.
    fn decide(&mut self, windows: u64, events: u64) {
        let [all, held] = &mut self.since;
        *all += windows;
        *held += events;
        if *all >= DECIDE_EVERY || *held >= DECIDE_EVERY * WORTH {
            // Hysteresis: the threshold to continue is lower than the threshold to start.
            let worth = if self.sharing { WORTH / 2 } else { WORTH };
            self.sharing = self.always || *held / *all >= worth;
            self.since = [0; 2];
        }
    }

    /// Runs all partitions in turn, and goes on from the next event of any after each window. Returns why that ended,
    /// and after how many lookahead windows.
    fn run_alone(&mut self, until: Time, budget: u64) -> (Ended, u64) {
        let window = self.window;
        let members = &mut self.members;
        let events = |members: &Members| members.iter().map(|member| member.events()).sum::<u64>();
        let before = events(members);
        let mut windows = 0;
        loop {
            let next = members.iter_mut().map(|member| member.next_at()).min().unwrap_or(Time::NEVER);
            if next >= until {
                members.iter_mut().for_each(|member| _ = member.advance(until, u64::MAX));
                return (Ended::Arrived, windows);
            }
            if events(members) - before >= budget {
                return (Ended::Spent, windows);
            }
            if windows == DECIDE_EVERY {
                return (Ended::Decide, windows);
            }
            windows += 1;
            let end = next.saturating_add(window).min(until);
            for member in members.iter_mut() {
                member.advance(end, u64::MAX);
                member.collect_letters();
            }
            for to in 0..members.len() {
                for from in (0..members.len()).filter(|from| *from != to) {
                    let mut letters = core::mem::take(&mut members[from].letters()[to]);
                    members[to].take_letters(&mut letters);
                    members[from].letters()[to] = letters;
                }
            }
        }
    }

    /// Runs the partitions on threads.
    fn run_shared(&mut self, until: Time, budget: u64) -> (Ended, u64) {
        let (count, threads, window, density) = (self.count(), self.most_threads, self.window, self.density);
        let crew = self.crew.get_or_insert_with(|| Crew::new(count, threads, window));
        let shared = crew.shared.clone();
        *lock(&shared.task) = Task::Run { until, budget, density };
        for thread in (1..threads).rev() {
            *lock(&shared.handover[thread]) = self.members.split_off(first_of(thread, threads, count));
        }
        let ended = {
            let _present = Presence(&shared.barrier);
            let begun = shared.barrier.wait();
            let ended = begun.then(|| shared.run(&mut self.members, (0, 0), until, (budget, density))).flatten();
            ended.filter(|_| shared.barrier.wait())
        };
        let Some(ended) = ended else { crew.tell_panic() };
        for slot in &shared.handover[1..] {
            self.members.append(&mut lock::<Members>(slot));
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Cable, ParkingLot};
    use crate::*;
    use fanin_cc::Settings;
    use fanin_units::Rate;

    /// Two hosts with a switch each, cut between these, and messages of a packet from one host to the other.
    fn cut_in_two(messages: Vec<Message>) -> ParallelSimulation {
        let link = Cable::new(Rate::from_gbps(10), Time::from_us(1));
        let graph = ParkingLot { switches: 2, hosts: 1, host_link: link, chain_link: link }.build().unwrap();
        let class = ClassConfig {
            name: "data".into(),
            lossless: false,
            marking: Marking::Off,
            marking_by_rate: Vec::new(),
            share: None,
            alpha: None,
            sibling_vl: None,
            urgent: false,
            priority: None,
            weight: None,
            shaper: None,
        };
        let config = NetworkConfig {
            seed: 1,
            packet: PacketSizes { payload: 1460, header: 40, ack: 64, cnp: 64, pause: 64 },
            classes: vec![class],
            buffer: BufferPolicy::Unlimited,
            buffer_by_rate: Vec::new(),
            release: Release::Dequeue,
            detection: Time::ZERO,
            host_fifo: None,
            symmetric: false,
            balancing: Balancing::FlowHash,
            discipline: None,
            trimming: None,
            pauses: Default::default(),
            graph,
        };
        let traffic = TrafficConfig {
            name: "posts".into(),
            scheme: Settings::preset("none").unwrap(),
            lane_class: 0,
            credit_class: 0,
            weight: 1,
            tenant: 0,
            announce_size: true,
            class: 1,
            ecn: true,
            endpoint: EndpointConfig::default(),
            tcp: None,
            spraying: None,
            overhead: Time::ZERO,
        };
        ParallelSimulation::cut(config, vec![traffic], Box::new(messages.into_iter()), &[0, 1, 0, 1])
    }

    #[test]
    fn finished_messages_are_packed_while_partitions_run_in_windows() {
        // All are loaded at the start: each is released by the one before it.
        let released = |number: u32| Message {
            dst: 1,
            bytes: 1000,
            dependency: Dependency {
                after: number.checked_sub(1),
                counts_acked: Some(number),
                ..Dependency::default()
            },
            ..Message::default()
        };
        let mut sim = cut_in_two((0..5000).map(released).collect());
        assert_eq!(sim.count(), 2);
        sim.run_until(Time::from_ms(1), u64::MAX);
        let packed = |sim: &ParallelSimulation| -> Vec<usize> {
            sim.all().map(|partition| partition.world.messages.records().packed()).collect()
        };
        assert_eq!(packed(&sim), [0, 0], "{} messages", sim.finished());
        sim.run_until(Time::from_s(1), u64::MAX);
        assert_eq!((sim.finished(), packed(&sim)), (5000, vec![4, 4]));
    }
}
