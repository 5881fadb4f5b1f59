//! The threads of a run, and how partitions keep within reach of each other.

use super::barrier::{Barrier, Presence};
use crate::partition::Letters;
use crate::sim::Simulation;
use fanin_units::Time;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Events per window from which on threads are worth their meeting at its end: some tens of microseconds of work.
pub const WORTH: u64 = 400;
/// Windows between two looks at whether they are.
pub(super) const LOOK: u64 = 64;
/// Most windows between two meetings of all threads.
const STRETCH: u64 = 16;
/// Events after which they should meet where a window holds many: a second's work, or less.
const SOON: u64 = 1_000_000;
/// Steps of a window.
const AHEAD: u64 = 4;
/// Letter boxes from part to part.
const BOXES: usize = 2 * AHEAD as usize;
/// What it takes to start all threads and to wait for their end, in windows.
pub(super) const START: u64 = 2;

/// The threads of a run but the first, which is the caller's.
pub(super) struct Crew {
    pub shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// How far the part of a thread is. A line of the cache each, since each is written by another thread.
#[derive(Default)]
#[repr(align(128))]
struct State {
    /// When something happens next there, in picoseconds.
    next: AtomicU64,
    /// Events since the run began.
    events: AtomicU64,
    /// Steps of this stretch that it has done.
    done: AtomicU64,
}

/// What threads of a run share.
pub(super) struct Shared {
    partitions: usize,
    window: Time,
    pub barrier: Barrier,
    states: Vec<State>,
    /// From part to part, by `from * parts + to`, and by the step it was sent in: as many as those in which it was not
    /// read yet and those in which it is written, for a part is never more than two windows ahead of another.
    letters: Vec<[Mutex<Letters>; BOXES]>,
    /// Where the members of the other threads lie before and after a run.
    pub desks: Vec<Mutex<Option<Box<Simulation>>>>,
    pub task: Mutex<Task>,
}

/// What the threads are to do.
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
    /// It is time to look whether threads are worth it.
    Look,
}

/// Windows until all threads meet again, where each holds so many events: whoever waits for the end of a budget, or
/// wants to stop, does not wait for long.
pub(super) fn stretch_of(density: u64) -> u64 {
    (SOON / density.max(1)).clamp(1, STRETCH)
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Runs one part until all find the same reason to end, where a window is expected to hold so many events; nothing
    /// when another one panicked.
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
            // The barrier orders what is written before it and what is read after it.
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
            if windows >= 4 * LOOK {
                return Some((Ended::Look, windows));
            }
            density = events.checked_div(windows).unwrap_or(density);
            windows += self.stretch(member, number, next, until, stretch_of(density))?;
        }
    }

    /// Runs so many windows of one part from `next` on, in steps of which [`AHEAD`] make a window. What others send in
    /// a step arrives [`AHEAD`] steps later or after that, so a step has to wait only for what they did so long before:
    /// nobody waits for a part that has much to do in one step until it is a window behind. Answers how many windows
    /// these were.
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
                // What is written before a part says that it is done is read after that.
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

    /// What one of the other threads does all its life.
    fn work(&self, number: usize) {
        let _present = Presence(&self.barrier);
        while self.barrier.wait() {
            let task = *lock(&self.task);
            let Task::Run { until, budget, density } = task else { return };
            let Some(mut member) = lock(&self.desks[number]).take() else { return };
            if self.run(&mut member, number, until, (budget, density)).is_none() {
                return;
            }
            *lock(&self.desks[number]) = Some(member);
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
            desks: (0..partitions).map(|_| Mutex::new(None)).collect(),
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

    /// One of the threads panicked: so does the caller, with what that one said.
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
        // After a panic here the others are on their way out.
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
    fn all_meet_soon_even_where_a_window_holds_much() {
        assert_eq!([0, 1, 62_500, 250_000, 600_000, 2_000_000, u64::MAX].map(stretch_of), [16, 16, 16, 4, 1, 1, 1]);
    }
}
