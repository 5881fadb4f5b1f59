//! Senders as Python objects.

use super::args;
use super::calls::{Caller, Counted, kept, later, number, returned};
use fanin_cc::own::{Params, Shared};
use fanin_cc::{Ack, Control, Cx, Loss, Notice, PathInfo, Sent};
use fanin_units::{Rate, Time};
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
    /// A packet left.
    fn on_send(&self, sent: &Bound<'_, PyAny>) {
        let _ = sent;
    }
    /// An acknowledgement arrived.
    fn on_ack(&self, ack: &Bound<'_, PyAny>) {
        let _ = ack;
    }
    /// A congestion notification packet or a credit arrived.
    fn on_notice(&self, notice: &Bound<'_, PyAny>) {
        let _ = notice;
    }
    /// The endpoint found a loss and will retransmit.
    fn on_loss(&self, loss: &Bound<'_, PyAny>) {
        let _ = loss;
    }
    /// The retransmission timer expired.
    fn on_timeout(&self, loss: &Bound<'_, PyAny>) {
        let _ = loss;
    }
    /// A connection that stays open has become idle.
    fn on_idle(&self) {}
    /// The time of `wake_at` has come.
    fn on_timer(&self) {}
    /// The tag of a request to send now.
    fn poll_request(&self, left: &Bound<'_, PyAny>) {
        let _ = left;
    }
    /// Called before each reading of window and rate, where flows share state.
    fn control(&self) {}
    /// The flow ends.
    fn close(&self) {}
    /// Internal state by name.
    fn watch<'py>(&self, py: Python<'py>) -> Bound<'py, PyDict> {
        PyDict::new(py)
    }
}

/// The names of hooks, by bit.
pub const HOOKS: &[&str] = &[
    "open",
    "on_send",
    "on_ack",
    "on_notice",
    "on_loss",
    "on_timeout",
    "on_idle",
    "on_timer",
    "poll_request",
    "watch",
    "close",
    "control",
];
const OPEN: usize = 0;
const ON_SEND: usize = 1;
const ON_ACK: usize = 2;
const ON_NOTICE: usize = 3;
const ON_LOSS: usize = 4;
const ON_TIMEOUT: usize = 5;
const ON_IDLE: usize = 6;
const ON_TIMER: usize = 7;
const POLL_REQUEST: usize = 8;
const WATCH: usize = 9;
const CLOSE: usize = 10;
const CONTROL: usize = 11;

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
                names: [ON_SEND, ON_ACK].map(|hook| PyString::intern(py, HOOKS[hook]).unbind()),
                control: Control::rate(path.line_rate),
                id: path.id.0,
                polled: (Time::ZERO, 0),
            };
            let made = class.bind(py).call0().and_then(|object| Ok(object.cast_into::<Sender>()?));
            match made {
                Err(error) => calls.fail(py, OPEN, cx.now, error),
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
                    if calls.caller.wants(OPEN) {
                        calls.call(OPEN, cx, |py| Some(Py::new(py, args::PathInfo::from(path)).map(Py::into_any)));
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

    /// Calls a hook with at most one argument, and returns what it returned; `None` after a failure.
    fn call(
        &mut self,
        hook: usize,
        cx: &mut Cx<'_, Params, Shared>,
        argument: impl FnOnce(Python<'_>) -> Option<PyResult<Py<PyAny>>>,
    ) -> Option<Py<PyAny>> {
        Python::attach(|py| {
            let object = self.object.as_ref()?.clone_ref(py).into_bound(py);
            {
                let mut sender = object.borrow_mut();
                sender.now = cx.now;
                if hook == ON_TIMER {
                    sender.control.wake_at = Time::NEVER;
                }
            }
            let name = match hook {
                ON_SEND => self.names[0].bind(py).clone(),
                ON_ACK => self.names[1].bind(py).clone(),
                _ => PyString::intern(py, HOOKS[hook]),
            };
            let result = match argument(py) {
                None => object.call_method0(name),
                Some(Ok(argument)) => object.call_method1(name, (argument,)),
                Some(Err(error)) => Err(error),
            };
            match result {
                Ok(value) => {
                    self.read(py, cx);
                    Some(value.unbind())
                }
                Err(error) => {
                    self.fail(py, hook, cx.now, error);
                    None
                }
            }
        })
    }

    /// The tag that a hook returned: a number of 32 bits, or `None`.
    fn tag(&mut self, hook: usize, now: Time, value: Option<Py<PyAny>>) -> Option<u32> {
        Python::attach(|py| {
            let value = value?;
            if value.is_none(py) {
                return None;
            }
            let right = "a whole number from 0 to 2^32 - 1, or None";
            returned::<u32>(value.bind(py), right).map_err(|error| self.fail(py, hook, now, error)).ok()
        })
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

fn one<T: Into<PyClassInitializer<C>>, C: pyo3::PyClass>(py: Python<'_>, value: T) -> Option<PyResult<Py<PyAny>>> {
    Some(Py::new(py, value).map(Py::into_any))
}

impl fanin_cc::Sender for Calls {
    type Params = Params;
    type Shared = Shared;

    fn open(_: &PathInfo, _: &mut Cx<'_, Params, Shared>) -> Self {
        unreachable!("the program makes it")
    }
    #[inline]
    fn control(&self, cx: &Cx<'_, Params, Shared>) -> Control {
        if !self.caller.wants(CONTROL) {
            return self.control;
        }
        // A scheme whose flows share state computes its control anew each time.
        Python::attach(|py| {
            let Some(object) = &self.object else { return self.control };
            let object = object.bind(py);
            object.borrow_mut().now = cx.now;
            if let Err(error) = object.call_method0("control") {
                self.caller.note(py, CONTROL, &format!("flow {}", self.id), cx.now, &error);
                return Control::rate(Rate::ZERO);
            }
            object.borrow().control
        })
    }
    fn on_send(&mut self, sent: &Sent, cx: &mut Cx<'_, Params, Shared>) -> u32 {
        if !self.caller.wants(ON_SEND) {
            return 0;
        }
        let value = self.call(ON_SEND, cx, |py| one(py, args::Sent::from(sent)));
        self.tag(ON_SEND, cx.now, value).unwrap_or(0)
    }
    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Cx<'_, Params, Shared>) {
        if self.caller.wants(ON_ACK) {
            self.call(ON_ACK, cx, |py| one(py, args::Ack::from(ack)));
        }
    }
    fn on_notice(&mut self, notice: Notice, cx: &mut Cx<'_, Params, Shared>) {
        if self.caller.wants(ON_NOTICE) {
            self.call(ON_NOTICE, cx, |py| one(py, args::Notice::from(notice)));
        }
    }
    fn on_loss(&mut self, loss: &Loss, cx: &mut Cx<'_, Params, Shared>) {
        if self.caller.wants(ON_LOSS) {
            self.call(ON_LOSS, cx, |py| one(py, args::Loss::from(loss)));
        }
    }
    fn on_timeout(&mut self, loss: &Loss, cx: &mut Cx<'_, Params, Shared>) {
        if self.caller.wants(ON_TIMEOUT) {
            self.call(ON_TIMEOUT, cx, |py| one(py, args::Loss::from(loss)));
        }
    }
    fn on_idle(&mut self, cx: &mut Cx<'_, Params, Shared>) {
        if self.caller.wants(ON_IDLE) {
            self.call(ON_IDLE, cx, |_| None);
        }
    }
    fn on_timer(&mut self, cx: &mut Cx<'_, Params, Shared>) {
        if self.caller.wants(ON_TIMER) {
            self.call(ON_TIMER, cx, |_| None);
        } else {
            self.control.wake_at = Time::NEVER;
        }
    }
    fn poll_request(&mut self, left: u64, cx: &mut Cx<'_, Params, Shared>) -> Option<u32> {
        if !self.caller.wants(POLL_REQUEST) {
            return None;
        }
        self.polled = if self.polled.0 == cx.now { (cx.now, self.polled.1 + 1) } else { (cx.now, 1) };
        if self.polled.1 > MOST_POLLED {
            let said = format!("it has asked {MOST_POLLED} times at one instant: it is called until it returns None");
            Python::attach(|py| self.fail(py, POLL_REQUEST, cx.now, PyValueError::new_err(said)));
            return None;
        }
        let value = self.call(POLL_REQUEST, cx, |py| Some(Ok(left.into_pyobject(py).ok()?.into_any().unbind())));
        self.tag(POLL_REQUEST, cx.now, value)
    }
    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        if let Some(object) = self.object.as_ref().filter(|_| self.caller.wants(WATCH)) {
            let of = (WATCH, format!("flow {}", self.id));
            Python::attach(|py| watch(py, object.bind(py).as_any(), &self.caller, of, see));
        }
    }
    fn close(&mut self, cx: &mut Cx<'_, Params, Shared>) {
        if self.caller.wants(CLOSE) {
            self.call(CLOSE, cx, |_| None);
        }
    }
}

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
