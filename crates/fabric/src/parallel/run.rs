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
