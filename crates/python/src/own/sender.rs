//! Senders as Python objects.

use super::args;
use super::calls::{Caller, Counted, kept, later, number, returned};
use super::hooks::{Answer, Argument, hooks};
use fanin_cc::own::{Params, Shared};
use fanin_cc::{Ack, Control, Cx, Loss, Notice, PathInfo, Sent, Trim, sender_hooks};
use fanin_units::{Rate, Time};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

/// The base class of senders: how much the flow may send, and what every hook may ask.
#[pyclass(subclass, module = "fanin")]
pub struct Sender {
    control: Control,
    now: Time,
    params: Option<Py<PyAny>>,
    shared: Option<Py<PyDict>>,
    shared_changed: bool,
    counted: Counted,
}

/// The class of the list of its hooks, and of what else it has.
macro_rules! class {
    (
        [$this:ident, $cx:ident]
        $($(#[doc = $doc:tt])* fn $name:ident($($arg:ident: $type:ty),*) -> $out:ty $or:block)*
    ) => {
        #[pymethods]
        impl Sender {
            #[new]
            fn new() -> Self {
                Self {
                    control: Control::rate(Rate::ZERO),
                    now: Time::ZERO,
                    params: None,
                    shared: None,
                    shared_changed: false,
                    counted: Counted::default(),
                }
            }
            /// Bytes that may be in flight; `None` is no window.
            #[getter]
            fn window(&self) -> Option<u64> {
                (self.control.window != u64::MAX).then_some(self.control.window)
            }
            #[setter]
            fn set_window(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
                self.control.window = number("window", value, Some(u64::MAX))?;
                Ok(())
            }
            /// Pacing rate in bits per second on the wire.
            #[getter]
            fn rate(&self) -> u64 {
                self.control.rate.as_bps()
            }
            #[setter]
            fn set_rate(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
                self.control.rate = Rate::from_bps(number("rate", value, None)?);
                Ok(())
            }
            /// The time to call `on_timer`, or `None`.
            #[getter]
            fn wake_at(&self) -> Option<u64> {
                args::time(self.control.wake_at)
            }
            #[setter]
            fn set_wake_at(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
                self.control.wake_at = later(value, self.now)?;
                Ok(())
            }
            /// Whether a change of rate also moves a packet that already waits for its time.
            #[getter]
            fn retime(&self) -> bool {
                self.control.retime
            }
            #[setter]
            fn set_retime(&mut self, value: bool) {
                self.control.retime = value;
            }
            /// Nothing leaves before this time.
            #[getter]
            fn not_before(&self) -> u64 {
                self.control.not_before.as_ps()
            }
            #[setter]
            fn set_not_before(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
                self.control.not_before = Time::from_ps(number("not_before", value, Some(0))?);
                Ok(())
            }
            /// Now.
            #[getter]
            fn now(&self) -> u64 {
                self.now.as_ps()
            }
            /// The scheme's parameters.
            #[getter]
            fn params(&self, py: Python<'_>) -> Option<Py<PyAny>> {
                self.params.as_ref().map(|params| params.clone_ref(py))
            }
            /// A dictionary that flows of this host share; `None` without sharing.
            #[getter]
            fn shared(&self, py: Python<'_>) -> Option<Py<PyDict>> {
                self.shared.as_ref().map(|shared| shared.clone_ref(py))
            }
            /// Says that `shared` has changed, so that the other flows are asked again.
            fn share_changed(&mut self) {
                self.shared_changed = true;
            }
            /// Counts an action by its name in results.
            #[pyo3(signature = (action, times=1))]
            fn count(&mut self, action: &Bound<'_, PyString>, times: u64) -> PyResult<()> {
                self.counted.count(action, times)
            }
            /// The flow opens.
            fn open(&self, path: &Bound<'_, PyAny>) {
                let _ = path;
            }
            /// Called before each reading of window and rate, where flows share state.
            fn control(&self) {}
            /// The flow ends.
            fn close(&self) {}
            /// Internal state by name.
            fn watch<'py>(&self, py: Python<'py>) -> Bound<'py, PyDict> {
                PyDict::new(py)
            }
            $(
                $(#[doc = $doc])*
                fn $name(&$this, $($arg: &Bound<'_, PyAny>),*) {
                    let _ = ($($arg,)*);
                }
            )*
        }
    };
}
sender_hooks!(class);
sender_hooks!(hooks, open control watch close);

/// What calls a sender's hooks.
pub struct Calls {
    caller: Caller,
    /// `None` if it could not be made.
    object: Option<Py<Sender>>,
    names: [Py<PyString>; 2],
    control: Control,
    id: u32,
    /// The instant at which requests were last asked for, and how often.
    polled: (Time, u32),
}

/// Most requests of a flow at one instant: more is a hook that never returns `None`.
const MOST_POLLED: u32 = 1000;

impl Calls {
    /// A flow opens: makes an object of `class`.
    pub fn open(
        caller: &Caller,
        class: &Py<PyAny>,
        params: &Py<PyAny>,
        path: &PathInfo,
        cx: &mut Cx<'_, Params, Shared>,
    ) -> Self {
        Python::attach(|py| {
            let mut calls = Self {
                caller: caller.clone(),
                object: None,
                names: [hook::on_send, hook::on_ack].map(|hook| PyString::intern(py, HOOKS[hook]).unbind()),
                control: Control::rate(path.line_rate),
                id: path.id.0,
                polled: (Time::ZERO, 0),
            };
            let made = class.bind(py).call0().and_then(|object| Ok(object.cast_into::<Sender>()?));
            match made {
                Err(error) => calls.fail(py, hook::open, cx.now, error),
                Ok(object) => {
                    {
                        let mut sender = object.borrow_mut();
                        sender.params = Some(params.clone_ref(py));
                        sender.control = Control::rate(path.line_rate);
                        if cx.params.program.about().sharing != fanin_cc::Sharing::Nothing {
                            sender.shared = Some(shared_of(py, cx.shared));
                        }
                    }
                    calls.object = Some(object.unbind());
                    if calls.caller.wants(hook::open) {
                        calls.call::<(), _>(hook::open, cx, |py| Ok((Py::new(py, args::PathInfo::from(path))?,)));
                    } else {
                        calls.read(py, cx);
                    }
                }
            }
            calls
        })
    }

    fn fail(&mut self, py: Python<'_>, hook: usize, now: Time, error: PyErr) {
        self.caller.fail(py, hook, &format!("flow {}", self.id), now, &error);
        // Nothing more is sent, so that the run ends soon.
        self.control = Control::rate(Rate::ZERO);
    }

    /// Reads how much may be sent, after a hook.
    fn read(&mut self, py: Python<'_>, cx: &mut Cx<'_, Params, Shared>) {
        let Some(object) = &self.object else { return };
        let mut sender = object.bind(py).borrow_mut();
        sender.counted.take(cx.actions);
        cx.shared_changed |= std::mem::take(&mut sender.shared_changed);
        self.control = sender.control;
    }

    /// What an event changes before its hook is called.
    fn before(&mut self, hook: usize, now: Time) {
        if hook == hook::on_timer {
            self.control.wake_at = Time::NEVER;
        }
        if hook == hook::poll_request && self.caller.wants(hook) {
            self.polled = if self.polled.0 == now { (now, self.polled.1 + 1) } else { (now, 1) };
            if self.polled.1 > MOST_POLLED {
                let said =
                    format!("it has asked {MOST_POLLED} times at one instant: it is called until it returns None");
                Python::attach(|py| self.fail(py, hook, now, PyValueError::new_err(said)));
            }
        }
    }

    /// Calls a hook with these arguments.
    fn call<T: Answer, A: for<'py> PyCallArgs<'py>>(
        &mut self,
        hook: usize,
        cx: &mut Cx<'_, Params, Shared>,
        arguments: impl FnOnce(Python<'_>) -> PyResult<A>,
    ) -> T {
        let answer = Python::attach(|py| {
            let object = self.object.as_ref()?.clone_ref(py).into_bound(py);
            {
                let mut sender = object.borrow_mut();
                sender.now = cx.now;
                if hook == hook::on_timer {
                    sender.control.wake_at = Time::NEVER;
                }
            }
            let name = match hook {
                hook::on_send => self.names[0].bind(py).clone(),
                hook::on_ack => self.names[1].bind(py).clone(),
                _ => PyString::intern(py, HOOKS[hook]),
            };
            let result = arguments(py).and_then(|arguments| object.call_method1(name, arguments));
            let answer = result.and_then(|value| {
                self.read(py, cx);
                T::of(&value)
            });
            answer.map_err(|error| self.fail(py, hook, cx.now, error)).ok()
        });
        answer.unwrap_or_default()
    }
}

/// The dictionary that flows share.
fn shared_of(py: Python<'_>, shared: &mut Shared) -> Py<PyDict> {
    let found = shared.0.get_or_insert_with(|| Box::new(PyDict::new(py).unbind()));
    match found.downcast_ref::<Py<PyDict>>() {
        Some(dictionary) => dictionary.clone_ref(py),
        None => PyDict::new(py).unbind(),
    }
}

/// The calls of the list of hooks, and what else a sender does.
macro_rules! calls {
    (
        [$this:ident, $cx:ident]
        $($(#[doc = $doc:tt])* fn $name:ident($($arg:ident: $type:ty),*) -> $out:ty $or:block)*
    ) => {
        impl fanin_cc::Sender for Calls {
            type Params = Params;
            type Shared = Shared;

            fn open(_: &PathInfo, _: &mut Cx<'_, Params, Shared>) -> Self {
                unreachable!("the program makes it")
            }
            #[inline]
            fn control(&self, cx: &Cx<'_, Params, Shared>) -> Control {
                if !self.caller.wants(hook::control) {
                    return self.control;
                }
                // A scheme whose flows share state computes its control anew each time.
                Python::attach(|py| {
                    let Some(object) = &self.object else { return self.control };
                    let object = object.bind(py);
                    object.borrow_mut().now = cx.now;
                    if let Err(error) = object.call_method0("control") {
                        self.caller.note(py, hook::control, &format!("flow {}", self.id), cx.now, &error);
                        return Control::rate(Rate::ZERO);
                    }
                    object.borrow().control
                })
            }
            fn close(&mut self, cx: &mut Cx<'_, Params, Shared>) {
                if self.caller.wants(hook::close) {
                    self.call::<(), _>(hook::close, cx, |_| Ok(()));
                }
            }
            fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
                if let Some(object) = self.object.as_ref().filter(|_| self.caller.wants(hook::watch)) {
                    let of = (hook::watch, format!("flow {}", self.id));
                    Python::attach(|py| watch(py, object.bind(py).as_any(), &self.caller, of, see));
                }
            }
            $(fn $name(&mut $this, $($arg: $type,)* $cx: &mut Cx<'_, Params, Shared>) -> $out {
                $this.before(hook::$name, $cx.now);
                if !$this.caller.wants(hook::$name) {
                    return $or;
                }
                $this.call(hook::$name, $cx, |_py| Ok(($($arg.give(_py)?,)*)))
            })*
        }
    };
}
sender_hooks!(calls);

/// Asks a role for its internal state: `watch` returns numbers by name.
pub fn watch(
    py: Python<'_>,
    object: &Bound<'_, PyAny>,
    caller: &Caller,
    (hook, of): (usize, String),
    see: &mut dyn FnMut(&'static str, f64),
) {
    let seen = object.call_method0("watch").and_then(|values| {
        let right = "a dictionary of numbers by name";
        let pairs = returned::<Bound<'_, PyDict>>(&values, right)?.items().iter();
        let values = pairs.map(|pair| returned::<(String, f64)>(&pair, right)).collect::<PyResult<Vec<_>>>()?;
        match values.iter().find(|(name, value)| name.is_empty() || !value.is_finite()) {
            None => Ok(values),
            Some((name, value)) if name.is_empty() => {
                Err(PyValueError::new_err(format!("it reports {value} without a name")))
            }
            Some((name, value)) => {
                Err(PyValueError::new_err(format!("it reports \"{name}\" as {value}: report a finite number")))
            }
        }
    });
    match seen {
        Ok(values) => values.into_iter().for_each(|(name, value)| see(kept(&name), value)),
        Err(error) => {
            let now = object.getattr("now").and_then(|now| now.extract()).unwrap_or(0);
            caller.note(py, hook, &of, Time::from_ps(now), &error);
        }
    }
}
