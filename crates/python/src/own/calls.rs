//! Calls of hooks: which a class has, what happens when one fails, and numbers that hooks set.

use fanin_cc::own::{Failure, action};
use fanin_cc::{Action, Actions};
use fanin_units::Time;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use std::sync::{Arc, Mutex, PoisonError};

/// The earliest failure of a scheme in a run, whichever thread met one first.
#[derive(Debug, Default)]
pub struct Faults(Mutex<Option<Failure>>);

impl Faults {
    /// The earliest failure.
    pub fn first(&self) -> Option<Failure> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, new: Failure) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|old| (new.at, &new.problem) < (old.at, &old.problem)) {
            *first = Some(new);
        }
    }
}

/// The hooks of one role's class: a bit for each that it defines, the names by bit, and where the class defines them.
#[derive(Clone, Debug, Default)]
pub struct Hooks {
    bits: u32,
    names: &'static [&'static str],
    places: Arc<[Option<String>]>,
}

impl Hooks {
    /// Of the hooks with these names, in the order of their bits, those that `class` defines itself and does not have
    /// from `base`.
    pub fn of(class: &Bound<'_, PyType>, base: &Bound<'_, PyType>, names: &'static [&'static str]) -> PyResult<Self> {
        let (mut bits, mut places) = (0, Vec::new());
        for (bit, name) in names.iter().enumerate() {
            let own = class.getattr(*name).ok();
            let inherited = base.getattr(*name).ok();
            let differs = match (&own, &inherited) {
                (Some(own), Some(inherited)) => !own.is(inherited),
                (own, _) => own.is_some(),
            };
            bits |= u32::from(differs) << bit;
            places.push(own.filter(|_| differs).and_then(|hook| defined_at(&hook)));
        }
        Ok(Self { bits, names, places: places.into() })
    }

    /// Whether it has the hook of this bit.
    #[inline]
    pub fn has(&self, bit: usize) -> bool {
        self.bits & 1 << bit != 0
    }
}

/// The file and line of a function's definition.
fn defined_at(function: &Bound<'_, PyAny>) -> Option<String> {
    let code = function.getattr("__code__").ok()?;
    let file: String = code.getattr("co_filename").ok()?.extract().ok()?;
    let line: u32 = code.getattr("co_firstlineno").ok()?.extract().ok()?;
    Some(format!("{file}, line {line}"))
}

/// What a role of a scheme needs for its calls: the role's name in messages, its hooks, and where failures go. Each
/// flow, host and switch has one of its own.
#[derive(Clone, Debug)]
pub struct Caller {
    pub class: Arc<str>,
    pub hooks: Hooks,
    pub faults: Arc<Faults>,
}

impl Caller {
    /// Whether a hook is to be called: the class has it, and none of this flow, host or switch has failed.
    #[inline]
    pub fn wants(&self, bit: usize) -> bool {
        self.hooks.has(bit)
    }

    /// A hook of the flow, host or switch `of`, such as "flow 3", has failed: then none of it is called any more. Those
    /// of others still are, so that what happens until the run ends does not depend on the number of threads.
    pub fn fail(&mut self, py: Python<'_>, hook: usize, of: &str, at: Time, error: &PyErr) {
        self.note(py, hook, of, at, error);
        self.hooks.bits = 0;
    }

    /// Notes a failure of a hook.
    pub fn note(&self, py: Python<'_>, hook: usize, of: &str, at: Time, error: &PyErr) {
        let place = line_of(py, error).or_else(|| self.hooks.places.get(hook).cloned().flatten());
        let place = place.map_or(String::new(), |place| format!(" ({place})"));
        let kind = error.get_type(py).qualname().map_or_else(|_| "exception".to_string(), |name| name.to_string());
        let notes = error.value(py).getattr("__notes__").and_then(|notes| notes.extract::<Vec<String>>());
        let notes = notes.unwrap_or_default().into_iter().map(|note| format!(" ({note})")).collect::<String>();
        let said = error.value(py).to_string();
        let said = if said.is_empty() { notes } else { format!(": {said}{notes}") };
        let hook = self.hooks.names.get(hook).copied().unwrap_or_default();
        let problem = format!("{}.{hook} of {of} at {at}{place}: {kind}{said}", self.class);
        self.faults.note(Failure { at, problem });
    }
}

/// A value that a hook returned, where `right` says what it may be.
pub fn returned<'py, T: FromPyObjectOwned<'py>>(value: &Bound<'py, PyAny>, right: &str) -> PyResult<T> {
    let extracted: Result<T, PyErr> = value.extract().map_err(Into::into);
    extracted.map_err(|error| {
        let shown = value.repr().map_or_else(|_| "something".to_string(), |text| text.to_string());
        let short: String = shown.chars().take(60).collect();
        let more = if short.len() < shown.len() { "..." } else { "" };
        let said = format!("it returned {short}{more}; right is {right}");
        if error.is_instance_of::<PyTypeError>(value.py()) {
            PyTypeError::new_err(said)
        } else {
            PyValueError::new_err(said)
        }
    })
}

/// An argument of 32 bits, whose errors say so.
#[derive(Clone, Copy)]
pub struct Bits32(pub u32);

impl FromPyObject<'_, '_> for Bits32 {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let wrong = |_| PyTypeError::new_err(format!("{} is no whole number from 0 to 2^32 - 1", &*value));
        value.extract().map(Self).map_err(wrong)
    }
}

/// The file and line where an exception was raised.
fn line_of(py: Python<'_>, error: &PyErr) -> Option<String> {
    let mut frame = error.traceback(py)?.into_any();
    loop {
        match frame.getattr("tb_next") {
            Ok(next) if !next.is_none() => frame = next,
            _ => break,
        }
    }
    let line: u32 = frame.getattr("tb_lineno").ok()?.extract().ok()?;
    let file = frame.getattr("tb_frame").ok()?.getattr("f_code").ok()?.getattr("co_filename").ok()?;
    Some(format!("{file}, line {line}"))
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
