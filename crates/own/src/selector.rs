//! Senders' choice of paths.

use crate::abi;
use crate::calls::{Inner, reported};
use crate::state::State;
use fanin_cc::Actions;
use fanin_cc::paths::{Feedback, PathSelector, SelectorInfo, SelectorProgram};
use fanin_cc::schemes::own::Failure;
use fanin_units::Time;
use std::sync::Arc;

/// A selector of a library with its parameters.
type Shared = Inner<&'static abi::Selector>;

/// It, as a program of a network.
#[derive(Debug)]
pub struct MadeSelector(pub Arc<Shared>);

impl SelectorProgram for MadeSelector {
    fn build(&self, sender: &SelectorInfo) -> Box<dyn PathSelector> {
        Box::new(CSelector::open(self.0.clone(), sender))
    }
    fn failure(&self) -> Option<Failure> {
        self.0.failure()
    }
}

/// A selector of one sender.
struct CSelector {
    selector: Arc<Shared>,
    state: State,
    flow: u32,
    /// Whether a hook has failed: then none is called any more, and all packets take path 0.
    failed: bool,
    /// What hooks count, which no result has.
    counts: Actions,
}

impl CSelector {
    /// A sender begins.
    fn open(selector: Arc<Shared>, sender: &SelectorInfo) -> Self {
        let (hooks, state) = (selector.of, State::new(selector.of.size));
        let mut made = Self { selector, state, flow: sender.flow.0, failed: false, counts: Actions::default() };
        if let Some(open) = hooks.open {
            let SelectorInfo { now, flow, from, to, paths, seed } = *sender;
            let info = abi::SelectorInfo { seed, paths, flow: flow.0, from: from.0, to: to.0 };
            made.run("open", now, |me, cx| open(me, &info, cx));
        }
        made
    }

    /// Runs a hook with the state and the context; `None` if one has failed, this one or an earlier one.
    #[inline(always)]
    fn run<T>(&mut self, name: &str, now: Time, hook: impl FnOnce(abi::State, &mut abi::Cx) -> T) -> Option<T> {
        if self.failed {
            return None;
        }
        let mut c = self.selector.cx(now, &mut self.counts, abi::NEVER);
        let result = hook(self.state.at(), &mut c);
        if !c.problem.is_null() | (c.wake_at != abi::NEVER) {
            let timer = || "set wake_at, but a selector of paths has no timer: leave it".to_string();
            self.fail(name, now, &reported(&c).unwrap_or_else(timer));
            return None;
        }
        Some(result)
    }

    #[cold]
    fn fail(&mut self, hook: &str, now: Time, problem: &str) {
        self.failed = true;
        self.selector.fail(hook, &format!("flow {}", self.flow), now, problem);
    }
}

impl PathSelector for CSelector {
    fn next_path(&mut self, now: Time, psn: u32, window: u64) -> u16 {
        let Some(hook) = self.selector.of.next_path else { return 0 };
        let Some(path) = self.run("next_path", now, |me, cx| hook(me, psn, window, cx)) else { return 0 };
        u16::try_from(path).unwrap_or_else(|_| {
            self.fail("next_path", now, &format!("answered {path}: a path is a number from 0 to 65535"));
            0
        })
    }

    fn feedback(&mut self, now: Time, path: u16, feedback: Feedback) {
        let Some(hook) = self.selector.of.feedback else { return };
        let what = match feedback {
            Feedback::Good => abi::GOOD,
            Feedback::Marked => abi::MARKED,
            Feedback::Trimmed => abi::TRIMMED,
            Feedback::Timeout => abi::TIMEOUT,
        };
        self.run("feedback", now, |me, cx| hook(me, path.into(), what, cx));
    }
}
