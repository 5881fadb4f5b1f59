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
            self.sharing = self.most_threads > 1 && (self.always || *held / *all >= worth);
            self.since = [0; 2];
        }
    }

    /// Runs all partitions in turn. Returns why that ended, and after how many lookahead windows.
    fn run_alone(&mut self, until: Time, budget: u64) -> (Ended, u64) {
        let window = self.window;
        let mut members: Vec<&mut Simulation> = self.members.iter_mut().map(|member| &mut **member).collect();
        let events = |members: &[&mut Simulation]| members.iter().map(|member| member.events()).sum::<u64>();
        let before = events(&members);
        let mut windows = 0;
        // The end of the last window, if messages of it wait.
        let mut waits: Option<Time> = None;
        let ended = loop {
            let next = waits
                .take()
                .unwrap_or_else(|| members.iter_mut().map(|member| member.next_at()).min().unwrap_or(Time::NEVER));
            let spent = events(&members) - before >= budget;
            if next >= until || spent || windows == DECIDE_EVERY {
                (0..members.len()).for_each(|to| take_letters(&mut members, to));
                if next >= until {
                    members.iter_mut().for_each(|member| _ = member.advance(until, u64::MAX));
                    break Ended::Arrived;
                }
                break if spent { Ended::Spent } else { Ended::Decide };
            }
            windows += 1;
            let end = next.saturating_add(window).min(until);
            let mut sent = false;
            for at in 0..members.len() {
                take_letters(&mut members, at);
                members[at].advance(end, u64::MAX);
                members[at].collect_letters();
                sent |= members[at].letters().iter().any(|letters| !letters.is_empty());
            }
            waits = sent.then_some(end);
        };
        (ended, windows)
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

/// A partition takes in what the others have sent it.
fn take_letters(members: &mut [&mut Simulation], to: usize) {
    for from in (0..members.len()).filter(|from| *from != to) {
        let mut letters = core::mem::take(&mut members[from].letters()[to]);
        members[to].take_letters(&mut letters);
        members[from].letters()[to] = letters;
    }
}
