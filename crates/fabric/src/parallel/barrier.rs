//! Synchronisation of threads that meet very often and mostly wait for a very short time.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{available_parallelism, panicking, sleep, yield_now};
use std::time::Duration;

/// Spins before a thread yields its core: some tens of microseconds, the longest wait for the last thread where all
/// have the same work.
const SPINS: u32 = 2_000;
/// Yields after that, each of which lets another thread run.
const YIELDS: u32 = 20;

/// Sleep of a thread in `wait_while`, which no other thread wakes.
const NAP: Duration = Duration::from_micros(20);

/// A barrier that spins, then yields, then sleeps, so that more threads than cores stay fast.
pub(crate) struct Barrier {
    threads: usize,
    spins: u32,
    arrived: AtomicUsize,
    /// Number of times that all threads have met.
    met: AtomicUsize,
    broken: AtomicBool,
    asleep: AtomicUsize,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Barrier {
    pub fn new(threads: usize) -> Self {
        // With a core for each thread, the awaited thread is running now.
        let cores = available_parallelism().map_or(1, usize::from);
        Self {
            threads,
            spins: if threads <= cores { SPINS } else { 0 },
            arrived: AtomicUsize::new(0),
            met: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            asleep: AtomicUsize::new(0),
            lock: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    /// Waits until all threads have arrived. False if one of them panicked.
    pub fn wait(&self) -> bool {
        let before = self.met.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.met.store(before + 1, Ordering::SeqCst);
            self.wake_all();
        } else {
            self.wait_for_others(before);
        }
        !self.broken.load(Ordering::Acquire)
    }

    /// Waits while a condition holds that another thread ends soon. False if one of them panicked.
    pub fn wait_while(&self, holds: impl Fn() -> bool) -> bool {
        let mut tries = 0;
        while holds() {
            if self.broken.load(Ordering::Acquire) {
                return false;
            }
            tries += 1;
            match tries {
                _ if tries <= self.spins => spin_loop(),
                _ if tries <= self.spins + YIELDS => yield_now(),
                // No thread wakes this one: the thread that ends the condition does not know of the wait.
                _ => sleep(NAP),
            }
        }
        true
    }

    fn done(&self, before: usize) -> bool {
        self.met.load(Ordering::SeqCst) != before || self.broken.load(Ordering::SeqCst)
    }

    fn wait_for_others(&self, before: usize) {
        for _ in 0..self.spins {
            if self.done(before) {
                return;
            }
            spin_loop();
        }
        for _ in 0..YIELDS {
            if self.done(before) {
                return;
            }
            yield_now();
        }
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // The last thread reads `asleep` after it has raised `met`, and a sleeper reads `met` after it has raised
        // `asleep`, so no wake-up is lost.
        self.asleep.fetch_add(1, Ordering::SeqCst);
        while !self.done(before) {
            lock = self.wake.wait(lock).unwrap_or_else(PoisonError::into_inner);
        }
        self.asleep.fetch_sub(1, Ordering::SeqCst);
    }

    fn wake_all(&self) {
        if self.asleep.load(Ordering::SeqCst) > 0 {
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.wake.notify_all();
        }
    }
}

/// Held by each thread while it runs: if the thread panics, the others stop waiting for it.
pub(crate) struct Presence<'a>(pub &'a Barrier);

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        if panicking() {
            self.0.broken.store(true, Ordering::SeqCst);
            self.0.wake_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn no_thread_runs_ahead_and_none_sleeps_for_ever() {
        for threads in [1, 2, 3, 8] {
            let barrier = Barrier::new(threads);
            let rounds: Vec<AtomicU32> = (0..threads).map(|_| AtomicU32::new(0)).collect();
            std::thread::scope(|scope| {
                for own in &rounds {
                    let (barrier, rounds) = (&barrier, &rounds);
                    scope.spawn(move || {
                        for round in 0..300 {
                            own.store(round, Ordering::SeqCst);
                            assert!(barrier.wait());
                            assert!(rounds.iter().all(|other| other.load(Ordering::SeqCst) == round));
                            assert!(barrier.wait());
                        }
                    });
                }
            });
        }
    }

    #[test]
    fn whoever_waits_sees_the_change_or_the_panic() {
        for threads in [2, 100] {
            let barrier = Barrier::new(threads);
            let round = AtomicU32::new(0);
            std::thread::scope(|scope| {
                let waits = scope.spawn(|| (1..50).all(|at| barrier.wait_while(|| round.load(Ordering::Acquire) < at)));
                for at in 1..50 {
                    // Longer than it spins, now and then.
                    std::thread::sleep(Duration::from_micros(100 * u64::from(at % 8 == 0)));
                    round.store(at, Ordering::Release);
                }
                assert!(waits.join().unwrap());
                let waits = scope.spawn(|| barrier.wait_while(|| true));
                let failed = scope.spawn(|| {
                    let _present = Presence(&barrier);
                    panic!("on purpose");
                });
                assert!(failed.join().is_err());
                assert!(!waits.join().unwrap(), "nobody waits for ever");
            });
        }
    }

    #[test]
    fn a_panic_sets_the_others_free() {
        let barrier = Barrier::new(3);
        std::thread::scope(|scope| {
            let waiting: Vec<_> = (0..2).map(|_| scope.spawn(|| barrier.wait())).collect();
            let failed = scope.spawn(|| {
                let _present = Presence(&barrier);
                panic!("on purpose");
            });
            assert!(failed.join().is_err());
            assert!(waiting.into_iter().all(|thread| !thread.join().unwrap()));
        });
    }
}
