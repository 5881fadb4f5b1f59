//! What calls of hooks have in common: the context, and what is wrong with their results.

use crate::{abi, foreign};
use fanin_cc::Actions;
use fanin_cc::schemes::own::{About, Failure};
use fanin_units::Time;
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::fmt;
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

/// A scheme or a policy with its parameters, and what failed first: what all its states have in common. `H` has its
/// hooks.
pub struct Inner<H = Roles> {
    pub of: H,
    pub id: &'static str,
    /// The library, as its user wrote it.
    pub place: String,
    pub values: Vec<abi::Value>,
    /// The parameters as JSON.
    pub parameters: String,
    pub failure: Mutex<Option<Failure>>,
}

/// The hooks of a scheme.
pub struct Roles {
    pub sender: &'static abi::Sender,
    pub receiver: &'static abi::Receiver,
    pub switch: &'static abi::Switch,
    /// Bytes of the state that flows share.
    pub shared_size: u64,
    pub about: About,
}

impl Inner {
    /// Whether it has a queue for credits.
    pub fn sends_credits(&self) -> bool {
        self.of.about.credits.is_some()
    }
}

impl<H> fmt::Debug for Inner<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} with {}", self.id, self.place, self.parameters)
    }
}

impl<H> Inner<H> {
    /// The context of a call.
    #[inline(always)]
    pub fn cx(&self, now: Time, actions: &mut Actions, wake_at: u64) -> abi::Cx {
        abi::Cx {
            now: now.as_ps(),
            parameters: self.values.as_ptr(),
            shared: null_mut(),
            counts: actions.counters().as_mut_ptr(),
            problem: std::ptr::null(),
            wake_at,
            shared_changed: 0,
        }
    }

    /// The earliest failure of a hook.
    pub fn failure(&self) -> Option<Failure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes a failure of a hook of the flow, host or switch `of`, such as "flow 3": the run ends. Of several, the
    /// earliest is told.
    #[cold]
    pub fn fail(&self, hook: &str, of: &str, at: Time, problem: &str) {
        let problem = format!("{} ({}): {hook} of {of} at {at} {problem}", self.id, self.place);
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        let new = Failure { at, problem };
        if failure.as_ref().is_none_or(|old| (new.at, &new.problem) < (old.at, &old.problem)) {
            *failure = Some(new);
        }
    }

    /// What was wrong with a call, if it set a problem or a timer that is not later than now.
    #[cold]
    pub fn complaint(&self, cx: &abi::Cx, wake_at: u64) -> String {
        reported(cx).unwrap_or_else(|| {
            format!(
                "set wake_at to {}, but it is {} already: set it to a time later than now, or to FANIN_NEVER",
                Time::from_ps(wake_at),
                Time::from_ps(cx.now)
            )
        })
    }

    /// Reports what `watch` of a role tells.
    pub fn watch(
        &self,
        watch: abi::Watch,
        (hook, of): (&str, String),
        state: *const c_void,
        at: Time,
        see: &mut dyn FnMut(&'static str, f64),
    ) {
        for number in 0..MOST_WATCHED {
            let mut watched = abi::Watched { name: std::ptr::null(), value: 0.0 };
            if watch(state, number, &mut watched) == 0 {
                return;
            }
            let Some(name) = foreign::text(watched.name).and_then(known) else {
                return self.fail(hook, &of, at, &format!("gave value {number} no name: set value->name to a text"));
            };
            if !watched.value.is_finite() {
                let said = format!("reported {name} as {}, which is no number", watched.value);
                return self.fail(hook, &of, at, &said);
            }
            see(name, watched.value);
        }
        self.fail(hook, &of, at, &format!("has more than {MOST_WATCHED} values: return 0 behind the last one"));
    }
}

/// The problem that a hook has set.
pub fn reported(cx: &abi::Cx) -> Option<String> {
    match foreign::text(cx.problem) {
        Some(problem) => Some(format!("reports: {problem}")),
        None => (!cx.problem.is_null()).then(|| "reports a problem that is no text".into()),
    }
}

/// Most values that a role shows, and most different names of all.
const MOST_WATCHED: u32 = 64;
const MOST_NAMES: usize = 10_000;

/// A name that lives as long as the process. `None` if there are too many.
fn known(name: String) -> Option<&'static str> {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(name) = names.get(&*name) {
        return Some(name);
    }
    if names.len() >= MOST_NAMES || name.is_empty() {
        return None;
    }
    let name: &'static str = name.leak();
    names.insert(name);
    Some(name)
}
