//! Random cases, and the search for the shortest one that breaks the same promise.

use crate::answers::Broken;
use fanin_units::Time;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use serde_json::{Map, Value};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs spent on making a case short.
const SHORTENED: u32 = 4_000;

/// A promise that was not kept, and the events up to there.
#[derive(Clone, Debug)]
pub struct Found {
    /// The promise.
    pub broken: Broken,
    /// What happened and when, in words.
    pub events: Vec<(Time, String)>,
    /// The parameters that were not the defaults.
    pub parameters: Map<String, Value>,
}

/// The result of a check.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Cases that were run.
    pub cases: u32,
    /// The first that broke a promise, made short.
    pub found: Option<Found>,
    /// Whether it was stopped before the end.
    pub stopped: bool,
}

/// A case, made of parts.
pub(crate) trait Case: Clone + std::fmt::Debug + PartialEq {
    /// The number of its parts.
    fn parts(&self) -> usize;
    /// The same without one of them.
    fn without(&self, part: usize) -> Self;
    /// The same where one of them is simpler.
    fn simpler(&self, part: usize) -> Vec<Self>;
}

/// How many cases to run, and who follows that.
pub struct Plan<'a> {
    /// Cases.
    pub cases: u32,
    /// It draws them.
    pub seed: u64,
    /// Is told how many have run and whether a failure is being shortened, and returns whether to go on.
    pub go_on: &'a mut dyn FnMut(u32, bool) -> bool,
}

/// Runs random cases until one breaks a promise.
pub(crate) fn search<C: Case>(
    drawn: &impl Strategy<Value = C>,
    run: &dyn Fn(&C) -> Result<(), Found>,
    plan: Plan<'_>,
) -> Checked {
    let Plan { cases, seed, go_on } = plan;
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    // Shortening ends by itself: see `Search::fails`.
    let config = Config { failure_persistence: None, max_shrink_iters: u32::MAX - 1, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let go_on = RefCell::new(go_on);
    for case in 0..cases {
        let Ok(tree) = drawn.new_tree(&mut runner) else { continue };
        let search = Search {
            run,
            go_on: &go_on,
            case,
            runs: Cell::new(0),
            stopped: Cell::new(false),
            found: RefCell::default(),
        };
        let ran =
            runner.run_one(tree, |ops| if search.fails(&ops) { Err(TestCaseError::fail("a promise")) } else { Ok(()) });
        if let Err(TestError::Fail(_, shortest)) = ran {
            search.shorten(shortest);
            return Checked { cases: case + 1, found: search.found.into_inner(), stopped: search.stopped.get() };
        }
        if search.stopped.get() {
            return Checked { cases: case, found: None, stopped: true };
        }
    }
    Checked { cases, found: None, stopped: false }
}

/// The search for the shortest case that breaks the same promise as the first.
struct Search<'a, C, G> {
    run: &'a dyn Fn(&C) -> Result<(), Found>,
    go_on: &'a RefCell<G>,
    case: u32,
    runs: Cell<u32>,
    stopped: Cell<bool>,
    /// That of the last case that broke it.
    found: RefCell<Option<Found>>,
}

impl<C: Case, G: FnMut(u32, bool) -> bool> Search<'_, C, G> {
    /// Whether it breaks the promise. After Ctrl-C, and after many runs, nothing does, so that the search ends.
    fn fails(&self, case: &C) -> bool {
        let shortening = self.found.borrow().is_some();
        self.stopped.set(self.stopped.get() || !(self.go_on.borrow_mut())(self.case, shortening));
        self.runs.set(self.runs.get() + 1);
        if self.stopped.get() || self.runs.get() > SHORTENED {
            return false;
        }
        let Err(new) = (self.run)(case) else { return false };
        if self.found.borrow().as_ref().is_some_and(|old| old.broken.rule != new.broken.rule) {
            return false;
        }
        *self.found.borrow_mut() = Some(new);
        true
    }

    /// A part that is needed only because others were there is left over: leaves out single ones again, and makes them
    /// simpler, as long as that helps.
    fn shorten(&self, mut case: C) {
        loop {
            let before = case.clone();
            for part in (0..case.parts()).rev() {
                let fewer = case.without(part);
                if self.fails(&fewer) {
                    case = fewer;
                    continue;
                }
                for simpler in case.simpler(part) {
                    if simpler != case && self.fails(&simpler) {
                        case = simpler;
                    }
                }
            }
            if case == before {
                return;
            }
        }
    }
}

/// What a function returns, or the promise that a panic in it breaks.
pub(crate) fn caught<T>(run: impl FnOnce() -> Result<T, Broken>) -> Result<T, Broken> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().cloned();
        let said = said.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default();
        Err(Broken { rule: "no hook fails", detail: format!("a panic: {said}"), at: Time::ZERO })
    })
}
