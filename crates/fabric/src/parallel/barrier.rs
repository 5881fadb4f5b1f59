//! Where threads wait for each other, very often and mostly for a very short time.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{available_parallelism, panicking, sleep, yield_now};
use std::time::Duration;

/// Looks before a thread gives its core to others: some tens of microseconds, which is what the last one is late at
/// most where all have the same work.
const SPINS: u32 = 2_000;
/// Looks after that, each of which lets another thread run first.
const YIELDS: u32 = 20;

/// A sleep from which nobody wakes a thread.
const NAP: Duration = Duration::from_micros(20);

/// A barrier that spins, then lets others run, then sleeps, so that more threads than cores do not crawl.
pub(crate) struct Barrier {
    threads: usize,
    spins: u32,
    arrived: AtomicUsize,
    /// How often all have met.
    met: AtomicUsize,
    broken: AtomicBool,
    asleep: AtomicUsize,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Barrier {
    pub fn new(threads: usize) -> Self {
        // With a core for each, whom we wait for is running now.
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

    /// Waits until all threads have come. False when one of them never will, because it panicked.
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

    /// Waits while something is so that another thread changes soon. False when one of them never will, because it
    /// panicked.
    pub fn wait_while(&self, so: impl Fn() -> bool) -> bool {
        let mut looks = 0;
        while so() {
            if self.broken.load(Ordering::Acquire) {
                return false;
            }
            looks += 1;
            match looks {
                _ if looks <= self.spins => spin_loop(),
                _ if looks <= self.spins + YIELDS => yield_now(),
                // Nobody wakes us: whoever comes last does not know that it does.
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
        // Whoever is last looks for sleepers after it has counted, and we look at its count after we say that we sleep.
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

/// Held by each thread while it runs: where that panics, the others do not wait for it for ever.
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
    fn nobody_runs_ahead_and_nobody_sleeps_for_ever() {
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
