//! The threads of a run, and how partitions stay within the lookahead of each other. Each thread runs some partitions,
//! one after the other.

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
/// Steps of a lookahead window where each thread has one partition.
const AHEAD: u64 = 4;
/// Cost of starting all threads and waiting for their end, in lookahead windows.
pub(super) const START: u64 = 2;

/// The threads of a run except the first, which is the caller's.
pub(super) struct Crew {
    pub shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// Progress of one thread. Each has a cache line of its own, since each is written by a different thread.
#[derive(Default)]
#[repr(align(128))]
struct State {
    /// Time of the next event of its partitions, in picoseconds.
    next: AtomicU64,
    /// Events since the run began.
    events: AtomicU64,
    /// Completed steps of this stretch.
    done: AtomicU64,
}

/// The partitions of a thread, in order.
pub(super) type Members = Vec<Box<Simulation>>;

/// State shared by the threads of a run.
pub(super) struct Shared {
    partitions: usize,
    window: Time,
    /// Steps of a lookahead window. One where threads have several partitions each: a partition is then run a whole
    /// window at a time, while its memory is in the cache, and those of a thread make up for each other's delays.
    ahead: u64,
    pub barrier: Barrier,
    states: Vec<State>,
    /// From partition to partition, and by the step they were sent in: see [`Self::letters`]. There are buffers for all
    /// steps not read yet and for those being written: a thread is never more than two lookahead windows ahead of
    /// another.
    letters: Vec<Mutex<Letters>>,
    /// The partitions of each thread but the first, handed over before a run and handed back after it.
    pub handover: Vec<Mutex<Members>>,
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

/// The first partition of a thread.
pub(super) fn first_of(thread: usize, threads: usize, partitions: usize) -> usize {
    thread * partitions / threads
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// The messages from one partition to another that were sent in a step.
    fn letters(&self, from: usize, to: usize, step: u64) -> MutexGuard<'_, Letters> {
        let boxes = 2 * self.ahead;
        lock(&self.letters[(from * self.partitions + to) * boxes as usize + (step % boxes) as usize])
    }

    /// Runs the partitions of thread `number`, which begin with `first`, until all find the same reason to end; a
    /// lookahead window is expected to hold `density` events. `None` if another thread panicked.
    pub fn run(
        &self,
        members: &mut [Box<Simulation>],
        (number, first): (usize, usize),
        until: Time,
        (budget, mut density): (u64, u64),
    ) -> Option<(Ended, u64)> {
        let ran = |members: &[Box<Simulation>]| members.iter().map(|member| member.events()).sum::<u64>();
        let before = ran(members);
        let mut windows = 0;
        loop {
            let state = &self.states[number];
            let next = members.iter_mut().map(|member| member.next_at()).min().unwrap_or(Time::NEVER);
            state.next.store(next.as_ps(), Relaxed);
            state.events.store(ran(members) - before, Relaxed);
            state.done.store(0, Relaxed);
            // The barrier orders the writes before it and the reads after it.
            if !self.barrier.wait() {
                return None;
            }
            let all = self.states.iter();
            let next = all.clone().map(|state| state.next.load(Relaxed)).min().map_or(Time::NEVER, Time::from_ps);
            let events: u64 = all.map(|state| state.events.load(Relaxed)).sum();
            if next >= until {
                members.iter_mut().for_each(|member| _ = member.advance(until, u64::MAX));
                return Some((Ended::Arrived, windows));
            }
            if events >= budget {
                return Some((Ended::Spent, windows));
            }
            if windows >= 4 * DECIDE_EVERY {
                return Some((Ended::Decide, windows));
            }
            density = events.checked_div(windows).unwrap_or(density);
            windows += self.stretch(members, (number, first), next, until, stretch_of(density))?;
        }
    }

    /// Runs `windows` lookahead windows of a thread's partitions from `next` on, in steps of which [`Self::ahead`] make
    /// a window. A packet sent by another partition in a step arrives at least that many steps later, so a step waits
    /// only until the other threads have done the step that long before: a partition with much work in one step delays
    /// the others only once it is a window behind. Returns the number of windows run.
    fn stretch(
        &self,
        members: &mut [Box<Simulation>],
        (number, first): (usize, usize),
        next: Time,
        until: Time,
        windows: u64,
    ) -> Option<u64> {
        let step = self.window.as_ps() / self.ahead;
        let (step, ahead) = if step > 0 { (step, self.ahead) } else { (self.window.as_ps(), 1) };
        let take = |sim: &mut Simulation, to: usize, of: u64| {
            for from in (0..self.partitions).filter(|from| *from != to) {
                sim.take_letters(&mut self.letters(from, to, of));
            }
        };
        let mut done = 0;
        let mut end = next;
        while done < windows * ahead && end < until {
            let read = done.checked_sub(ahead);
            if let Some(read) = read {
                // Acquire pairs with the release below: a thread publishes its messages before its step count.
                let others = || (0..self.states.len()).filter(|other| *other != number);
                let behind = || others().any(|other| self.states[other].done.load(Acquire) <= read);
                if !self.barrier.wait_while(behind) {
                    return None;
                }
            }
            end = end.saturating_add(Time::from_ps(step)).min(until);
            for (from, member) in (first..).zip(members.iter_mut()) {
                if let Some(read) = read {
                    take(member, from, read);
                }
                member.advance(end, u64::MAX);
                member.collect_letters();
                for (to, letters) in member.letters().iter_mut().enumerate().filter(|(_, letters)| !letters.is_empty())
                {
                    core::mem::swap(letters, &mut *self.letters(from, to, done));
                }
            }
            done += 1;
            self.states[number].done.store(done, Release);
        }
        if !self.barrier.wait() {
            return None;
        }
        for (to, member) in (first..).zip(members.iter_mut()) {
            (done.saturating_sub(ahead)..done).for_each(|of| take(member, to, of));
        }
        Some(done.div_ceil(ahead))
    }

    /// Main loop of one of the other threads, whose partitions begin with `first`.
    fn work(&self, number: usize, first: usize) {
        let _present = Presence(&self.barrier);
        while self.barrier.wait() {
            let task = *lock(&self.task);
            let Task::Run { until, budget, density } = task else { return };
            let mut members = core::mem::take(&mut *lock(&self.handover[number]));
            if self.run(&mut members, (number, first), until, (budget, density)).is_none() {
                return;
            }
            *lock(&self.handover[number]) = members;
            if !self.barrier.wait() {
                return;
            }
        }
    }
}

impl Crew {
    /// Threads for so many partitions, of which each runs those of [`first_of`] and the following ones.
    pub fn new(partitions: usize, threads: usize, window: Time) -> Self {
        let ahead = if threads == partitions { AHEAD } else { 1 };
        let shared = Arc::new(Shared {
            partitions,
            window,
            ahead,
            barrier: Barrier::new(threads),
            states: (0..threads).map(|_| State::default()).collect(),
            letters: (0..partitions * partitions * 2 * ahead as usize).map(|_| Default::default()).collect(),
            handover: (0..threads).map(|_| Mutex::default()).collect(),
            task: Mutex::new(Task::Stop),
        });
        let work = |number: usize| {
            let shared = shared.clone();
            let thread = std::thread::Builder::new().name(format!("partitions {number}"));
            let first = first_of(number, threads, partitions);
            thread.spawn(move || shared.work(number, first)).expect("the system starts a thread")
        };
        let threads = (1..threads).map(work).collect();
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
