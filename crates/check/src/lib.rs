//! What every scheme promises, checked with random events: bytes conserved, rates and windows in bounds, timers later
//! than now, no flow that is stuck for ever, and the same answers again in a replay.
//!
//! [`check`] runs random sequences of events; the first one that breaks a promise is made as short as it can be.
#![forbid(unsafe_code)]

mod events;
mod model;

pub use events::{Did, Log, Op, sequences};
pub use model::{Answer, Broken, World};

use fanin_cc::{Actions, Settings};
use fanin_units::Time;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs spent on making a sequence short.
const SHORTENED: u32 = 4_000;

/// A promise that was not kept, and the events up to there.
#[derive(Clone, Debug)]
pub struct Found {
    /// The promise.
    pub broken: Broken,
    /// What happened and when, in words.
    pub events: Vec<(Time, String)>,
}

/// The result of a check.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Sequences that were run.
    pub cases: u32,
    /// The first that broke a promise, made short.
    pub found: Option<Found>,
    /// Whether it was stopped before the end.
    pub stopped: bool,
}

/// One sequence, twice: what happened, and the promise that was not kept.
///
/// # Errors
/// The promise.
pub fn run(make: &dyn Fn() -> Settings, ops: &[Op]) -> Result<(), Found> {
    let (first, _) = once(make, ops)?;
    let (again, log) = once(make, ops)?;
    if first == again {
        return Ok(());
    }
    let at = first.0.iter().zip(&again.0).position(|(one, other)| one != other);
    let (at, detail) = match at.map(|at| (&first.0[at], &again.0[at])) {
        Some((one, other)) => (other.at(), format!("first {}, and in the replay {}", one.told(), other.told())),
        None => (Time::ZERO, "it counted other actions, or answered more often, in the replay".to_string()),
    };
    let rule = "a replay gives the same answers";
    // What came after the first difference does not matter.
    let events = log.told().into_iter().filter(|(when, _)| *when <= at || at == Time::ZERO).collect();
    Err(Found { broken: Broken { rule, detail, at }, events })
}

type Said = (Vec<Answer>, Actions);

fn once(make: &dyn Fn() -> Settings, ops: &[Op]) -> Result<(Said, Log), Found> {
    let mut world = World::new(&make(), u64::MAX);
    let ran = catch_unwind(AssertUnwindSafe(|| {
        world.open()?;
        ops.iter().try_for_each(|op| world.step(*op))?;
        world.drain()
    }));
    let broken = match ran {
        Ok(Ok(())) => {
            let actions = world.actions().clone();
            return Ok(((world.answers, actions), world.log));
        }
        Ok(Err(broken)) => broken,
        Err(panic) => {
            let said = panic.downcast_ref::<String>().cloned();
            let said = said.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default();
            Broken { rule: "no hook fails", detail: format!("a panic: {said}"), at: Time::ZERO }
        }
    };
    Err(Found { broken, events: world.log.told() })
}

/// Runs so many random sequences, which the seed draws, until one breaks a promise. `make` makes the scheme anew for
/// each run. `go_on` is told how many have run and whether a failure is being shortened, and returns whether to go on.
pub fn check(make: &dyn Fn() -> Settings, cases: u32, seed: u64, go_on: &mut dyn FnMut(u32, bool) -> bool) -> Checked {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    // Shortening ends by itself: see `Search::fails`.
    let config = Config { failure_persistence: None, max_shrink_iters: u32::MAX - 1, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let go_on = RefCell::new(go_on);
    for case in 0..cases {
        let Ok(tree) = sequences().new_tree(&mut runner) else { continue };
        let search = Search {
            make,
            go_on: &go_on,
            case,
            runs: Cell::new(0),
            stopped: Cell::new(false),
            found: RefCell::default(),
        };
        let ran =
            runner.run_one(tree, |ops| if search.fails(&ops) { Err(TestCaseError::fail("a promise")) } else { Ok(()) });
        if let Err(TestError::Fail(_, ops)) = ran {
            search.shorten(ops);
            return Checked { cases: case + 1, found: search.found.into_inner(), stopped: search.stopped.get() };
        }
        if search.stopped.get() {
            return Checked { cases: case, found: None, stopped: true };
        }
    }
    Checked { cases, found: None, stopped: false }
}

/// The search for the shortest sequence that breaks the same promise as the first.
struct Search<'a, G> {
    make: &'a dyn Fn() -> Settings,
    go_on: &'a RefCell<G>,
    case: u32,
    runs: Cell<u32>,
    stopped: Cell<bool>,
    /// That of the last sequence that broke it.
    found: RefCell<Option<Found>>,
}

impl<G: FnMut(u32, bool) -> bool> Search<'_, G> {
    /// Whether it breaks the promise. After Ctrl-C, and after many runs, nothing does, so that the search ends.
    fn fails(&self, ops: &[Op]) -> bool {
        let shortening = self.found.borrow().is_some();
        self.stopped.set(self.stopped.get() || !(self.go_on.borrow_mut())(self.case, shortening));
        self.runs.set(self.runs.get() + 1);
        if self.stopped.get() || self.runs.get() > SHORTENED {
            return false;
        }
        let Err(new) = run(self.make, ops) else { return false };
        if self.found.borrow().as_ref().is_some_and(|old| old.broken.rule != new.broken.rule) {
            return false;
        }
        *self.found.borrow_mut() = Some(new);
        true
    }

    /// An event that is needed only because others were there is left over: leaves out single ones again, and moves
    /// them to the first flow, as long as that helps.
    fn shorten(&self, mut ops: Vec<Op>) {
        loop {
            let before = ops.clone();
            for at in (0..ops.len()).rev() {
                let mut fewer = ops.clone();
                fewer.remove(at);
                let mut first = ops.clone();
                first[at] = first[at].of_the_first();
                if self.fails(&fewer) {
                    ops = fewer;
                } else if first != ops && self.fails(&first) {
                    ops = first;
                }
            }
            if ops == before {
                return;
            }
        }
    }
}
