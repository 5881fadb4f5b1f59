//! The threads of a run, and how partitions stay within the lookahead of each other.

use super::barrier::{Barrier, Presence};
use crate::partition::Letters;
use crate::sim::Simulation;
use fanin_units::Time;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Events per lookahead window from which on many threads are faster than one despite their synchronisation: some tens
/// of microseconds of work.
pub const WORTH: u64 = 400;
/// Lookahead windows between two decisions whether to use one thread or many.
pub(super) const DECIDE_EVERY: u64 = 64;
/// Most lookahead windows between two barriers of all threads.
const STRETCH: u64 = 16;
/// Events after which the threads should meet where a window holds many: at most a second of work.
const SOON: u64 = 1_000_000;
/// Steps of a lookahead window.
const AHEAD: u64 = 4;
/// Message buffers from one partition to another.
const BOXES: usize = 2 * AHEAD as usize;
/// Cost of starting all threads and waiting for their end, in lookahead windows.
pub(super) const START: u64 = 2;

/// The threads of a run except the first, which is the caller's.
pub(super) struct Crew {
    pub shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// Progress of one partition. Each has a cache line of its own, since each is written by a different thread.
#[derive(Default)]
#[repr(align(128))]
struct State {
    /// Time of its next event, in picoseconds.
    next: AtomicU64,
    /// Events since the run began.
    events: AtomicU64,
    /// Completed steps of this stretch.
    done: AtomicU64,
}

/// State shared by the threads of a run.
pub(super) struct Shared {
    partitions: usize,
    window: Time,
    pub barrier: Barrier,
    states: Vec<State>,
    /// From partition to partition, by `from * partitions + to`, and by the step they were sent in. There are buffers
    /// for all steps not read yet and for those being written: a partition is never more than two lookahead windows
    /// ahead of another.
    letters: Vec<[Mutex<Letters>; BOXES]>,
    /// The partitions of the other threads, handed over before a run and handed back after it.
    pub handover: Vec<Mutex<Option<Box<Simulation>>>>,
    pub task: Mutex<Task>,
}

/// The command to all threads.
#[derive(Clone, Copy)]
pub(super) enum Task {
    Run { until: Time, budget: u64, density: u64 },
    Stop,
}

/// Why a stretch of a run ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Arrived,
    Spent,
    /// It is time to decide again whether to use one thread or many.
    Decide,
}

/// Lookahead windows until all threads meet again, where each holds `density` events. Few enough that the end of a
/// budget, or a request to stop, is noticed soon.
pub(super) fn stretch_of(density: u64) -> u64 {
    (SOON / density.max(1)).clamp(1, STRETCH)
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Runs one partition until all find the same reason to end; a lookahead window is expected to hold `density`
    /// events. `None` if another thread panicked.
    pub fn run(
        &self,
        member: &mut Simulation,
        number: usize,
        until: Time,
        (budget, mut density): (u64, u64),
    ) -> Option<(Ended, u64)> {
        let before = member.events();
        let mut windows = 0;
        loop {
            let state = &self.states[number];
            state.next.store(member.next_at().as_ps(), Relaxed);
            state.events.store(member.events() - before, Relaxed);
            state.done.store(0, Relaxed);
            // The barrier orders the writes before it and the reads after it.
            if !self.barrier.wait() {
                return None;
            }
            let all = self.states.iter();
            let next = all.clone().map(|state| state.next.load(Relaxed)).min().map_or(Time::NEVER, Time::from_ps);
            let events: u64 = all.map(|state| state.events.load(Relaxed)).sum();
            if next >= until {
                member.advance(until, u64::MAX);
                return Some((Ended::Arrived, windows));
            }
            if events >= budget {
                return Some((Ended::Spent, windows));
            }
            if windows >= 4 * DECIDE_EVERY {
                return Some((Ended::Decide, windows));
            }
            density = events.checked_div(windows).unwrap_or(density);
            windows += self.stretch(member, number, next, until, stretch_of(density))?;
        }
    }

    /// Runs `windows` lookahead windows of one partition from `next` on, in steps of which [`AHEAD`] make a window. A
    /// packet sent by another partition in a step arrives at least [`AHEAD`] steps later, so a step waits only until
    /// the others have done the step that long before: a partition with much work in one step delays the others only
    /// once it is a window behind. Returns the number of windows run.
    fn stretch(&self, member: &mut Simulation, number: usize, next: Time, until: Time, windows: u64) -> Option<u64> {
        let step = self.window.as_ps() / AHEAD;
        let (step, ahead) = if step > 0 { (step, AHEAD) } else { (self.window.as_ps(), 1) };
        let others = || (0..self.partitions).filter(|other| *other != number);
        let take = |sim: &mut Simulation, of: u64| {
            for from in others() {
                sim.take_letters(&mut lock(&self.letters[from * self.partitions + number][of as usize % BOXES]));
            }
        };
        let mut done = 0;
        let mut end = next;
        while done < windows * ahead && end < until {
            let read = done.checked_sub(ahead);
            if let Some(read) = read {
                // Acquire pairs with the release below: a partition publishes its messages before its step count.
                let behind = || others().any(|other| self.states[other].done.load(Acquire) <= read);
                if !self.barrier.wait_while(behind) {
                    return None;
                }
                take(member, read);
            }
            end = end.saturating_add(Time::from_ps(step)).min(until);
            member.advance(end, u64::MAX);
            member.collect_letters();
            for (to, letters) in member.letters().iter_mut().enumerate().filter(|(_, letters)| !letters.is_empty()) {
                core::mem::swap(
                    letters,
                    &mut *lock(&self.letters[number * self.partitions + to][done as usize % BOXES]),
                );
            }
            done += 1;
            self.states[number].done.store(done, Release);
        }
        if !self.barrier.wait() {
            return None;
        }
        (done.saturating_sub(ahead)..done).for_each(|of| take(member, of));
        Some(done.div_ceil(ahead))
    }

    /// Main loop of one of the other threads.
    fn work(&self, number: usize) {
        let _present = Presence(&self.barrier);
        while self.barrier.wait() {
            let task = *lock(&self.task);
            let Task::Run { until, budget, density } = task else { return };
            let Some(mut member) = lock(&self.handover[number]).take() else { return };
            if self.run(&mut member, number, until, (budget, density)).is_none() {
                return;
            }
            *lock(&self.handover[number]) = Some(member);
            if !self.barrier.wait() {
                return;
            }
        }
    }
}

impl Crew {
    pub fn new(partitions: usize, window: Time) -> Self {
        let shared = Arc::new(Shared {
            partitions,
            window,
            barrier: Barrier::new(partitions),
            states: (0..partitions).map(|_| State::default()).collect(),
            letters: (0..partitions * partitions).map(|_| Default::default()).collect(),
            handover: (0..partitions).map(|_| Mutex::new(None)).collect(),
            task: Mutex::new(Task::Stop),
        });
        let work = |number: usize| {
            let shared = shared.clone();
            let thread = std::thread::Builder::new().name(format!("partition {number}"));
            thread.spawn(move || shared.work(number)).expect("the system starts a thread")
        };
        let threads = (1..partitions).map(work).collect();
        Self { shared, threads }
    }

    /// One of the threads panicked: the caller panics with the same payload.
    pub fn tell_panic(&mut self) -> ! {
        let mut said: Option<Box<dyn std::any::Any + Send>> = None;
        for thread in self.threads.drain(..) {
            if let Err(panic) = thread.join() {
                said = Some(panic);
            }
        }
        match said {
            Some(panic) => std::panic::resume_unwind(panic),
            None => panic!("a partition of the network was lost"),
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        if self.threads.is_empty() {
            return;
        }
        *lock(&self.shared.task) = Task::Stop;
        // After a panic here the others are already ending.
        self.shared.barrier.wait();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_threads_meet_soon_even_in_dense_windows() {
        assert_eq!([0, 1, 62_500, 250_000, 600_000, 2_000_000, u64::MAX].map(stretch_of), [16, 16, 16, 4, 1, 1, 1]);
    }
}
