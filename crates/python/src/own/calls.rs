//! Calls of hooks: which a class has, what happens when one fails, and numbers that hooks set.

use fanin_cc::own::{Failure, action};
use fanin_cc::{Action, Actions};
use fanin_units::Time;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The first failure of a scheme in a run, and whether there was one.
#[derive(Debug, Default)]
pub struct Faults {
    failed: AtomicBool,
    first: Mutex<Option<(Failure, PyErr)>>,
}

impl Faults {
    /// The first failure.
    pub fn first(&self) -> Option<Failure> {
        if !self.failed.load(Ordering::Relaxed) {
            return None;
        }
        self.first.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(failure, _)| failure.clone())
    }

    fn note(&self, failure: Failure, error: PyErr) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert((failure, error));
        self.failed.store(true, Ordering::Relaxed);
    }
}

/// The hooks of one role's class: a bit for each that it defines.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hooks(u32);

impl Hooks {
    /// Of the hooks with these names, in the order of their bits, those that `class` defines itself and does not have
    /// from `base`.
    pub fn of(class: &Bound<'_, PyType>, base: &Bound<'_, PyType>, names: &[&'static str]) -> PyResult<Self> {
        let mut bits = 0;
        for (bit, name) in names.iter().enumerate() {
            let own = class.getattr(*name).ok();
            let inherited = base.getattr(*name).ok();
            let differs = match (&own, &inherited) {
                (Some(own), Some(inherited)) => !own.is(inherited),
                (own, _) => own.is_some(),
            };
            bits |= u32::from(differs) << bit;
        }
        Ok(Self(bits))
    }

    /// Whether it has the hook of this bit.
    #[inline]
    pub fn has(self, bit: usize) -> bool {
        self.0 & 1 << bit != 0
    }
}

/// What a role of a scheme needs for its calls: the role's name in messages, its hooks, and where failures go.
#[derive(Clone, Debug)]
pub struct Caller {
    pub class: Arc<str>,
    pub hooks: Hooks,
    pub faults: Arc<Faults>,
}

impl Caller {
    /// Whether a hook is to be called: the class has it, and nothing has failed yet.
    #[inline]
    pub fn wants(&self, bit: usize) -> bool {
        self.hooks.has(bit) && !self.faults.failed.load(Ordering::Relaxed)
    }

    /// Notes a failure of a hook of the flow, host or switch `of`, such as "flow 3".
    pub fn fail(&self, py: Python<'_>, hook: &str, of: &str, at: Time, error: PyErr) {
        let place = line_of(py, &error).map_or(String::new(), |(file, line)| format!(" ({file}, line {line})"));
        let kind = error.get_type(py).qualname().map_or_else(|_| "exception".to_string(), |name| name.to_string());
        let said = error.value(py).to_string();
        let problem = format!("{}.{hook} of {of} at {at}{place}: {kind}: {said}", self.class);
        self.faults.note(Failure { at, problem }, error);
    }
}

/// The file and line where an exception was raised.
fn line_of(py: Python<'_>, error: &PyErr) -> Option<(String, u32)> {
    let mut frame = error.traceback(py)?.into_any();
    loop {
        match frame.getattr("tb_next") {
            Ok(next) if !next.is_none() => frame = next,
            _ => break,
        }
    }
    let line = frame.getattr("tb_lineno").ok()?.extract().ok()?;
    let file = frame.getattr("tb_frame").ok()?.getattr("f_code").ok()?.getattr("co_filename").ok()?;
    Some((file.extract().ok()?, line))
}

/// A number that a hook sets: an integer, or a float, which is rounded down. `None` is `nothing`, where there is such a
/// thing.
pub fn number(name: &str, value: &Bound<'_, PyAny>, nothing: Option<u64>) -> PyResult<u64> {
    if let Ok(number) = value.extract::<u64>() {
        return Ok(number);
    }
    if value.is_none()
        && let Some(nothing) = nothing
    {
        return Ok(nothing);
    }
    let none = if nothing.is_some() { ", or None" } else { "" };
    match value.extract::<f64>() {
        Ok(number) if number >= 0.0 && number < u64::MAX as f64 => Ok(number as u64),
        Ok(number) => Err(PyValueError::new_err(format!("{name} = {number}: it is 0 or more, below 2^64{none}"))),
        Err(_) => Err(PyTypeError::new_err(format!("{name} = {value}: it is a number{none}"))),
    }
}

/// The time of a timer that a hook sets: later than now, or `None` for no timer.
pub fn later(value: &Bound<'_, PyAny>, now: Time) -> PyResult<Time> {
    let time = Time::from_ps(number("wake_at", value, Some(Time::NEVER.as_ps()))?);
    if time <= now {
        let (time, now) = (time.as_ps(), now.as_ps());
        return Err(PyValueError::new_err(format!("wake_at = {time} is not later than now = {now}")));
    }
    Ok(time)
}

/// Counts of actions that a hook made, by number of the action.
#[derive(Default)]
pub struct Counted(Vec<(Action, u64)>);

impl Counted {
    /// Counts an action by its name.
    pub fn count(&mut self, name: &Bound<'_, PyString>, times: u64) -> PyResult<()> {
        let text = name.to_cow()?;
        let Some(found) = action(&text) else {
            let known: Vec<&str> = Action::ALL.iter().map(|action| action.name()).collect();
            return Err(PyValueError::new_err(format!("there is no action \"{text}\"; known: {}", known.join(", "))));
        };
        self.0.push((found, times));
        Ok(())
    }

    /// Hands them over.
    #[inline]
    pub fn take(&mut self, actions: &mut Actions) {
        for (action, times) in self.0.drain(..) {
            actions.add_up(action, times);
        }
    }
}

/// A name that a role's `watch` reports. There are few, and they live as long as the process.
pub fn kept(name: &str) -> &'static str {
    static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    match names.iter().find(|known| **known == name) {
        Some(known) => known,
        None => {
            let name: &'static str = Box::leak(name.to_string().into_boxed_str());
            names.push(name);
            name
        }
    }
}
