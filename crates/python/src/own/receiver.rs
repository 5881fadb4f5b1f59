//! Receivers as Python objects.

use super::args;
use super::calls::{Bits32, Caller, Counted, later};
use super::hooks::{Answer, Argument, hooks};
use super::sender::watch;
use fanin_cc::own::{OfFlow, Params};
use fanin_cc::{AckFields, AckPlan, Cx, Data, Emit, FlowInfo, MessageStart, NicInfo, ReceiverFlow, receiver_hooks};
use fanin_units::{MessageId, Time};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::collections::{HashSet, VecDeque};

/// The base class of receivers: the state of a host about all flows into it.
#[pyclass(subclass, module = "fanin")]
pub struct Receiver {
    wake_at: Time,
    now: Time,
    params: Option<Py<PyAny>>,
    to_send: VecDeque<Emit>,
    /// The open flows into this host.
    flows: HashSet<u32>,
    /// Whether the scheme has a queue for credits.
    credits: bool,
    counted: Counted,
}

impl Receiver {
    /// Sends a packet on its own. `of` is the call that asks for it.
    fn send(&mut self, of: &str, flow: u32, emit: Emit) -> PyResult<()> {
        if !self.flows.contains(&flow) {
            let said = format!("{of} of flow {flow}, which is not open towards this host: keep the numbers of on_open");
            return Err(PyValueError::new_err(said));
        }
        self.to_send.push_back(emit);
        Ok(())
    }
}

/// The answer of a hook that a class has from its base: as without it.
fn inherited(hook: usize, argument: &Bound<'_, PyAny>) -> PyResult<Option<args::AckFields>> {
    match hook {
        hook::on_syn => Ok(Some(args::AckFields(AckFields::default()))),
        hook::on_data => Ok(argument.cast::<args::Data>()?.get().due()),
        _ => Ok(None),
    }
}

/// The class of the list of its hooks, and of what else it has.
macro_rules! class {
    (
        [$this:ident, $state:ident, $cx:ident]
        $($(#[doc = $doc:tt])* fn $name:ident($of:ident: $type:ty $(, $arg:ident: $more:ty)*) -> $out:ty $or:block)*
    ) => {
        #[pymethods]
        impl Receiver {
            #[new]
            fn new() -> Self {
                Self {
                    wake_at: Time::NEVER,
                    now: Time::ZERO,
                    params: None,
                    to_send: VecDeque::new(),
                    flows: HashSet::new(),
                    credits: false,
                    counted: Counted::default(),
                }
            }
            /// The time to call `on_timer`, or `None`.
            #[getter]
            fn wake_at(&self) -> Option<u64> {
                args::time(self.wake_at)
            }
            #[setter]
            fn set_wake_at(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
                self.wake_at = later(value, self.now)?;
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
            /// Counts an action by its name in results.
            #[pyo3(signature = (action, times=1))]
            fn count(&mut self, action: &Bound<'_, PyString>, times: u64) -> PyResult<()> {
                self.counted.count(action, times)
            }
            /// Sends an ACK that was held back.
            fn send_ack(&mut self, flow: u32, fields: args::AckFields) -> PyResult<()> {
                self.send("send_ack", flow, Emit::Ack(ReceiverFlow(flow), fields.0))
            }
            /// Sends a congestion notification packet.
            fn send_cnp(&mut self, flow: u32) -> PyResult<()> {
                self.send("send_cnp", flow, Emit::Cnp(ReceiverFlow(flow)))
            }
            /// Sends a numbered credit of `wire` bytes.
            fn send_credit(&mut self, flow: u32, number: Bits32, wire: Bits32) -> PyResult<()> {
                let (number, wire) = (number.0, wire.0);
                let wrong = |said: String| Err(PyValueError::new_err(said));
                if !self.credits {
                    return wrong(
                        "send_credit: the scheme has no queue for credits; set credits = (size, burst, limit)".into(),
                    );
                }
                if !(1..=9000).contains(&wire) {
                    return wrong(format!("send_credit: wire = {wire}: it is 1 to 9000 bytes"));
                }
                self.send("send_credit", flow, Emit::Credit { flow: ReceiverFlow(flow), number, wire })
            }
            /// The host comes up.
            fn open(&self, nic: &Bound<'_, PyAny>) {
                let _ = nic;
            }
            /// The time of `wake_at` has come.
            fn on_timer(&self, received: &Bound<'_, PyAny>) {
                let _ = received;
            }
            /// Internal state by name.
            fn watch<'py>(&self, py: Python<'py>) -> Bound<'py, PyDict> {
                PyDict::new(py)
            }
            $(
                $(#[doc = $doc])*
                fn $name(
                    &$this,
                    $of: &Bound<'_, PyAny>,
                    $($arg: &Bound<'_, PyAny>),*
                ) -> PyResult<Option<args::AckFields>> {
                    let _ = ($($arg,)*);
                    inherited(hook::$name, $of)
                }
            )*
        }
    };
}
receiver_hooks!(class);
receiver_hooks!(hooks, open on_timer watch);

/// What calls a receiver's hooks.
pub struct Calls {
    caller: Caller,
    object: Option<Py<Receiver>>,
    on_data: Py<PyString>,
    wake_at: Time,
    to_send: VecDeque<Emit>,
}

impl Calls {
    /// A host comes up: makes an object of `class`.
    pub fn open(caller: &Caller, class: &Py<PyAny>, params: &Py<PyAny>, nic: &NicInfo, credits: bool) -> Self {
        Python::attach(|py| {
            let mut calls = Self {
                caller: caller.clone(),
                object: None,
                on_data: PyString::intern(py, HOOKS[hook::on_data]).unbind(),
                wake_at: Time::NEVER,
                to_send: VecDeque::new(),
            };
            let made = class.bind(py).call0().and_then(|object| Ok(object.cast_into::<Receiver>()?));
            let opened = made.and_then(|object| {
                {
                    let mut receiver = object.borrow_mut();
                    (receiver.params, receiver.credits) = (Some(params.clone_ref(py)), credits);
                }
                if caller.wants(hook::open) {
                    object.call_method1(HOOKS[hook::open], (Py::new(py, args::NicInfo::from(nic))?,))?;
                }
                calls.wake_at = object.borrow().wake_at;
                Ok(object)
            });
            match opened {
                Ok(object) => calls.object = Some(object.unbind()),
                Err(error) => calls.fail(py, hook::open, None, Time::ZERO, &error),
            }
            calls
        })
    }

    fn fail(&mut self, py: Python<'_>, hook: usize, flow: Option<u32>, now: Time, error: &PyErr) {
        let of = flow.map_or_else(|| "a receiving host".to_string(), |flow| format!("incoming flow {flow}"));
        self.caller.fail(py, hook, &of, now, error);
        (self.wake_at, self.to_send) = (Time::NEVER, VecDeque::new());
    }

    /// Calls a hook with these arguments.
    fn call<T: Answer, A: for<'py> PyCallArgs<'py>>(
        &mut self,
        hook: usize,
        flow: Option<ReceiverFlow>,
        cx: &mut Cx<'_, Params>,
        arguments: impl FnOnce(Python<'_>) -> PyResult<A>,
    ) -> T {
        let answer = Python::attach(|py| {
            let object = self.object.as_ref()?.clone_ref(py).into_bound(py);
            {
                let mut receiver = object.borrow_mut();
                receiver.now = cx.now;
                if hook == hook::on_timer {
                    receiver.wake_at = Time::NEVER;
                }
            }
            let name =
                if hook == hook::on_data { self.on_data.bind(py).clone() } else { PyString::intern(py, HOOKS[hook]) };
            let called = arguments(py).and_then(|arguments| object.call_method1(name, arguments));
            let called = called.and_then(|value| T::of(&value));
            let mut receiver = object.borrow_mut();
            receiver.counted.take(cx.actions);
            self.wake_at = receiver.wake_at;
            self.to_send.append(&mut receiver.to_send);
            drop(receiver);
            called.map_err(|error| self.fail(py, hook, flow.map(|flow| flow.0), cx.now, &error)).ok()
        });
        answer.unwrap_or_default()
    }

    /// What an event changes before its hook is called.
    fn before(&mut self, hook: usize, flow: ReceiverFlow) {
        match hook {
            hook::on_open => self.change(|receiver| _ = receiver.flows.insert(flow.0)),
            hook::on_close => self.change(|receiver| _ = receiver.flows.remove(&flow.0)),
            _ => {}
        }
    }

    /// Changes what the object knows of this host.
    fn change(&self, change: impl FnOnce(&mut Receiver)) {
        if let Some(object) = &self.object {
            Python::attach(|py| change(&mut object.bind(py).borrow_mut()));
        }
    }
}

/// The calls of the list of hooks, and what else a receiver does.
macro_rules! calls {
    (
        [$this:ident, $state:ident, $cx:ident]
        $($(#[doc = $doc:tt])* fn $name:ident($of:ident: $type:ty $(, $arg:ident: $more:ty)*) -> $out:ty $or:block)*
    ) => {
        impl fanin_cc::Receiver for Calls {
            type Params = Params;
            type Flow = ();

            fn new(_: &Params, _: &NicInfo) -> Self {
                unreachable!("the program makes it")
            }
            fn on_timer(&mut self, received: u64, cx: &mut Cx<'_, Params>) {
                self.wake_at = Time::NEVER;
                if self.caller.wants(hook::on_timer) {
                    self.call::<(), _>(hook::on_timer, None, cx, |_| Ok((received,)));
                }
            }
            #[inline]
            fn poll_transmit(&mut self, _: &mut Cx<'_, Params>) -> Option<Emit> {
                self.to_send.pop_front()
            }
            #[inline]
            fn wake_at(&self) -> Time {
                self.wake_at
            }
            fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
                if let Some(object) = self.object.as_ref().filter(|_| self.caller.wants(hook::watch)) {
                    let of = (hook::watch, "a receiving host".to_string());
                    Python::attach(|py| watch(py, object.bind(py).as_any(), &self.caller, of, see));
                }
            }
            $(#[allow(unused_variables, reason = "the state of flows is Python's")]
            fn $name(
                &mut $this,
                $of: $type,
                $($arg: $more,)*
                $state: &mut (),
                $cx: &mut Cx<'_, Params>,
            ) -> $out {
                let flow = $of.of_flow();
                $this.before(hook::$name, flow);
                if !$this.caller.wants(hook::$name) {
                    return $or;
                }
                $this.call(hook::$name, Some(flow), $cx, |py| Ok(($of.give(py)?, $($arg.give(py)?,)*)))
            })*
        }
    };
}
receiver_hooks!(calls);
