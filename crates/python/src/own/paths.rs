//! Selectors of paths as Python objects, one per sender.

use super::args;
use super::calls::{Caller, Hooks, returned};
use super::described::{Described, Given};
use fanin_cc::OwnBalancing;
use fanin_cc::own::Failure;
use fanin_cc::paths::{Feedback, SelectorInfo, SelectorProgram};
use fanin_experiment::loaded::Loaded;
use fanin_units::Time;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use std::fmt;
use std::sync::Arc;

/// The base class of selectors of paths.
#[pyclass(subclass, module = "fanin")]
#[derive(Default)]
pub struct PathSelector {
    now: Time,
    params: Option<Py<PyAny>>,
}

#[pymethods]
impl PathSelector {
    /// The name by which specs select it; by default that of the class.
    #[classattr]
    fn id() -> &'static str {
        ""
    }
    /// A dataclass of its parameters.
    #[classattr]
    #[pyo3(name = "Params")]
    fn params_class() -> Option<Py<PyAny>> {
        None
    }
    #[new]
    fn new() -> Self {
        Self::default()
    }
    /// Now.
    #[getter]
    fn now(&self) -> u64 {
        self.now.as_ps()
    }
    /// The parameters of the spec.
    #[getter]
    fn params(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.params.as_ref().map(|params| params.clone_ref(py))
    }
    /// The sender begins to choose paths.
    fn open(&self, sender: &Bound<'_, PyAny>) {
        let _ = sender;
    }
    /// The path of a packet.
    fn next_path(&self, number: u32, window: u64) -> u16 {
        let _ = (number, window);
        0
    }
    /// What became of a packet of a path.
    fn feedback(&self, path: u16, feedback: &Bound<'_, PyAny>) {
        let _ = (path, feedback);
    }
}

const OPEN: usize = 0;
const NEXT_PATH: usize = 1;
const FEEDBACK: usize = 2;
const HOOKS: &[&str] = &["open", "next_path", "feedback"];

/// A class with its parameters, which makes an object per sender.
struct Maker {
    class: Py<PyAny>,
    params: Py<PyAny>,
    caller: Caller,
}

impl fmt::Debug for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.caller.class)
    }
}

impl SelectorProgram for Maker {
    fn build(&self, sender: &SelectorInfo) -> Box<dyn fanin_cc::paths::PathSelector> {
        let mut calls = Calls { caller: self.caller.clone(), object: None, flow: sender.flow.0 };
        Python::attach(|py| {
            let made = self.class.bind(py).call0().and_then(|object| {
                let object = object.cast_into::<PathSelector>()?;
                {
                    let mut base = object.borrow_mut();
                    base.params = Some(self.params.clone_ref(py));
                    base.now = sender.now;
                }
                if calls.caller.wants(OPEN) {
                    let info = Py::new(py, args::SelectorInfo::from(sender))?;
                    object.as_any().call_method1(PyString::intern(py, HOOKS[OPEN]), (info,))?;
                }
                Ok(object.unbind())
            });
            match made {
                Ok(object) => calls.object = Some(object),
                Err(error) => calls.fail(py, OPEN, sender.now, &error),
            }
        });
        Box::new(calls)
    }
    fn interpreted(&self) -> bool {
        true
    }
    fn failure(&self) -> Option<Failure> {
        self.caller.faults.first()
    }
}

/// The object of one sender.
struct Calls {
    caller: Caller,
    object: Option<Py<PathSelector>>,
    flow: u32,
}

impl Calls {
    fn fail(&mut self, py: Python<'_>, hook: usize, at: Time, error: &PyErr) {
        self.caller.fail(py, hook, &format!("flow {}", self.flow), at, error);
    }

    /// Calls a hook, if the class has it and none has failed.
    fn call<T>(
        &mut self,
        hook: usize,
        now: Time,
        act: impl FnOnce(&Bound<'_, PyAny>, &Bound<'_, PyString>) -> PyResult<T>,
    ) -> Option<T> {
        if !self.caller.wants(hook) {
            return None;
        }
        Python::attach(|py| {
            let object = self.object.as_ref()?.bind(py);
            object.borrow_mut().now = now;
            let called = act(object.as_any(), &PyString::intern(py, HOOKS[hook]));
            called.map_err(|error| self.fail(py, hook, now, &error)).ok()
        })
    }
}

impl fanin_cc::paths::PathSelector for Calls {
    fn next_path(&mut self, now: Time, psn: u32, window: u64) -> u16 {
        let path = self.call(NEXT_PATH, now, |object, name| {
            returned(&object.call_method1(name, (psn, window))?, "the number of a path, from 0 to 65535")
        });
        path.unwrap_or(0)
    }

    fn feedback(&mut self, now: Time, path: u16, feedback: Feedback) {
        self.call(FEEDBACK, now, |object, name| {
            object.call_method1(name, (path, args::Feedback::from(feedback)))?;
            Ok(())
        });
    }
}

/// A subclass of [`PathSelector`] as it is known to the process.
pub fn described(class: &Bound<'_, PyType>, described: Described) -> PyResult<Loaded<OwnBalancing>> {
    let hooks = Hooks::of(class, &class.py().get_type::<PathSelector>(), HOOKS)?;
    let (name, class): (Arc<str>, _) = (class.qualname()?.to_string().into(), class.clone().into_any().unbind());
    let make = move |given: Given| Maker {
        class: Python::attach(|py| class.clone_ref(py)),
        params: given.params,
        caller: Caller { class: name.clone(), hooks: hooks.clone(), faults: Arc::default() },
    };
    Ok(described.loaded(move |given| Arc::new(OwnBalancing::Senders(Arc::new(make(given))))))
}
