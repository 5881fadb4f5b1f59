//! Receivers as Python objects.

use super::args;
use super::calls::{Bits32, Caller, Counted, later, returned};
use super::sender::watch;
use fanin_cc::own::Params;
use fanin_cc::{AckFields, AckPlan, Cx, Data, Emit, FlowInfo, MessageStart, NicInfo, ReceiverFlow};
use fanin_units::{MessageId, Time};
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
    /// A flow opens.
    fn on_open(&self, flow: &Bound<'_, PyAny>) {
        let _ = flow;
    }
    /// A message starts.
    fn on_message_start(&self, message: &Bound<'_, PyAny>) {
        let _ = message;
    }
    /// A message has arrived whole.
    fn on_message_end(&self, flow: &Bound<'_, PyAny>, id: &Bound<'_, PyAny>) {
        let _ = flow;
        let _ = id;
    }
    /// A request of the sender's scheme arrived.
    fn on_request(&self, request: &Bound<'_, PyAny>) {
        let _ = request;
    }
    /// The sender's FIN arrived.
    fn on_fin(&self, flow: &Bound<'_, PyAny>) {
        let _ = flow;
    }
    /// A flow ends.
    fn on_close(&self, flow: &Bound<'_, PyAny>) {
        let _ = flow;
    }
    /// The time of `wake_at` has come.
    fn on_timer(&self, received: &Bound<'_, PyAny>) {
        let _ = received;
    }
    /// The fields of an ACK that `on_data` did not plan.
    fn ack_fields(&self, flow: &Bound<'_, PyAny>) {
        let _ = flow;
    }
    /// A TCP connection's SYN arrived.
    fn on_syn(&self, flow: u32) -> args::AckFields {
        let _ = flow;
        args::AckFields(AckFields::default())
    }
    /// Data arrived: an ACK that is due goes out and echoes the packet's mark.
    fn on_data(&self, data: &args::Data) -> Option<args::AckFields> {
        data.due()
    }
    /// Internal state by name.
    fn watch<'py>(&self, py: Python<'py>) -> Bound<'py, PyDict> {
        PyDict::new(py)
    }
}

/// The names of hooks, by bit.
pub const HOOKS: &[&str] = &[
    "open",
    "on_open",
    "on_syn",
    "on_message_start",
    "on_message_end",
    "on_data",
    "on_request",
    "ack_fields",
    "on_fin",
    "on_close",
    "on_timer",
    "watch",
];
const OPEN: usize = 0;
const ON_OPEN: usize = 1;
const ON_SYN: usize = 2;
const ON_MESSAGE_START: usize = 3;
const ON_MESSAGE_END: usize = 4;
const ON_DATA: usize = 5;
const ON_REQUEST: usize = 6;
const ACK_FIELDS: usize = 7;
const ON_FIN: usize = 8;
const ON_CLOSE: usize = 9;
const ON_TIMER: usize = 10;
const WATCH: usize = 11;

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
                on_data: PyString::intern(py, HOOKS[ON_DATA]).unbind(),
                wake_at: Time::NEVER,
                to_send: VecDeque::new(),
            };
            let made = class.bind(py).call0().and_then(|object| Ok(object.cast_into::<Receiver>()?));
            let opened = made.and_then(|object| {
                {
                    let mut receiver = object.borrow_mut();
                    (receiver.params, receiver.credits) = (Some(params.clone_ref(py)), credits);
                }
                if caller.wants(OPEN) {
                    object.call_method1(HOOKS[OPEN], (Py::new(py, args::NicInfo::from(nic))?,))?;
                }
                calls.wake_at = object.borrow().wake_at;
                Ok(object)
            });
            match opened {
                Ok(object) => calls.object = Some(object.unbind()),
                Err(error) => calls.fail(py, OPEN, None, Time::ZERO, &error),
            }
            calls
        })
    }

    fn fail(&mut self, py: Python<'_>, hook: usize, flow: Option<u32>, now: Time, error: &PyErr) {
        let of = flow.map_or_else(|| "a receiving host".to_string(), |flow| format!("incoming flow {flow}"));
        self.caller.fail(py, hook, &of, now, error);
        (self.wake_at, self.to_send) = (Time::NEVER, VecDeque::new());
    }

    /// Calls a hook with these arguments, and returns what it returned as `T`; `None` after a failure.
    fn call<T>(
        &mut self,
        (hook, flow): (usize, Option<ReceiverFlow>),
        cx: &mut Cx<'_, Params>,
        arguments: impl FnOnce(Python<'_>) -> PyResult<Vec<Py<PyAny>>>,
        result: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        if !self.caller.wants(hook) {
            return None;
        }
        Python::attach(|py| {
            let object = self.object.as_ref()?.clone_ref(py).into_bound(py);
            {
                let mut receiver = object.borrow_mut();
                receiver.now = cx.now;
                if hook == ON_TIMER {
                    receiver.wake_at = Time::NEVER;
                }
            }
            let name = if hook == ON_DATA { self.on_data.bind(py).clone() } else { PyString::intern(py, HOOKS[hook]) };
            let called = arguments(py).and_then(|arguments| match <[Py<PyAny>; 1]>::try_from(arguments) {
                Ok([argument]) => object.call_method1(name, (argument,)),
                Err(many) => object.call_method1(name, pyo3::types::PyTuple::new(py, many)?),
            });
            let called = called.and_then(|value| result(&value));
            let mut receiver = object.borrow_mut();
            receiver.counted.take(cx.actions);
            self.wake_at = receiver.wake_at;
            self.to_send.append(&mut receiver.to_send);
            drop(receiver);
            called.map_err(|error| self.fail(py, hook, flow.map(|flow| flow.0), cx.now, &error)).ok()
        })
    }

    /// Changes what the object knows of this host.
    fn change<T>(&self, change: impl FnOnce(&mut Receiver) -> T) {
        if let Some(object) = &self.object {
            Python::attach(|py| change(&mut object.bind(py).borrow_mut()));
        }
    }

    /// Calls a hook about a flow.
    fn about<T>(
        &mut self,
        hook: usize,
        cx: &mut Cx<'_, Params>,
        flow: ReceiverFlow,
        result: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        self.call((hook, Some(flow)), cx, |py| Ok(vec![flow.0.into_pyobject(py)?.into_any().unbind()]), result)
    }
}

fn nothing(_: &Bound<'_, PyAny>) -> PyResult<()> {
    Ok(())
}

fn fields(value: &Bound<'_, PyAny>) -> PyResult<Option<AckFields>> {
    Ok(returned::<Option<args::AckFields>>(value, "fanin.AckFields or None")?.map(|fields| fields.0))
}

/// The ACKs that `on_data` asks for: fields of an ACK that covers the packet, or a pair of those for what came before
/// and of these; `None` for none.
fn plan(value: &Bound<'_, PyAny>) -> PyResult<AckPlan> {
    if let Ok((before, now)) = value.extract::<(Option<args::AckFields>, Option<args::AckFields>)>() {
        return Ok(AckPlan { before: before.map(|fields| fields.0), now: now.map(|fields| fields.0) });
    }
    let now: Option<args::AckFields> = returned(value, "fanin.AckFields, None, or a pair of those")?;
    Ok(AckPlan { before: None, now: now.map(|fields| fields.0) })
}

fn any<C: pyo3::PyClass>(py: Python<'_>, value: impl Into<PyClassInitializer<C>>) -> PyResult<Vec<Py<PyAny>>> {
    Ok(vec![Py::new(py, value)?.into_any()])
}

impl fanin_cc::Receiver for Calls {
    type Params = Params;
    type Flow = ();

    fn new(_: &Params, _: &NicInfo) -> Self {
        unreachable!("the program makes it")
    }
    fn on_open(&mut self, flow: &FlowInfo, _: &mut (), cx: &mut Cx<'_, Params>) {
        self.change(|receiver| receiver.flows.insert(flow.flow.0));
        self.call((ON_OPEN, Some(flow.flow)), cx, |py| any(py, args::FlowInfo::from(flow)), nothing);
    }
    fn on_syn(&mut self, flow: ReceiverFlow, state: &mut (), cx: &mut Cx<'_, Params>) -> Option<AckFields> {
        if !self.caller.wants(ON_SYN) {
            return Some(self.ack_fields(flow, state, cx));
        }
        self.about(ON_SYN, cx, flow, fields).flatten()
    }
    fn on_message_start(&mut self, message: &MessageStart<'_>, _: &mut (), cx: &mut Cx<'_, Params>) {
        self.call((ON_MESSAGE_START, Some(message.flow)), cx, |py| any(py, args::MessageStart::from(message)), nothing);
    }
    fn on_message_end(&mut self, flow: ReceiverFlow, id: MessageId, _: &mut (), cx: &mut Cx<'_, Params>) {
        let both = |py: Python<'_>| {
            Ok(vec![flow.0.into_pyobject(py)?.into_any().unbind(), id.0.into_pyobject(py)?.into_any().unbind()])
        };
        self.call((ON_MESSAGE_END, Some(flow)), cx, both, nothing);
    }
    fn on_data(&mut self, data: &Data, _: &mut (), cx: &mut Cx<'_, Params>) -> AckPlan {
        if !self.caller.wants(ON_DATA) {
            let fields = AckFields { ecn_echo: data.ce, ..AckFields::default() };
            return AckPlan { before: None, now: data.ack_due.then_some(fields) };
        }
        self.call((ON_DATA, Some(data.flow)), cx, |py| any(py, args::Data::from(data)), plan).unwrap_or_default()
    }
    fn on_request(&mut self, request: &Data, _: &mut (), cx: &mut Cx<'_, Params>) -> Option<AckFields> {
        self.call((ON_REQUEST, Some(request.flow)), cx, |py| any(py, args::Data::from(request)), fields).flatten()
    }
    fn ack_fields(&mut self, flow: ReceiverFlow, _: &mut (), cx: &mut Cx<'_, Params>) -> AckFields {
        self.about(ACK_FIELDS, cx, flow, fields).flatten().unwrap_or_default()
    }
    fn on_fin(&mut self, flow: ReceiverFlow, _: &mut (), cx: &mut Cx<'_, Params>) {
        self.about(ON_FIN, cx, flow, nothing);
    }
    fn on_close(&mut self, flow: ReceiverFlow, _: &mut (), cx: &mut Cx<'_, Params>) {
        self.change(|receiver| receiver.flows.remove(&flow.0));
        self.about(ON_CLOSE, cx, flow, nothing);
    }
    fn on_timer(&mut self, received: u64, cx: &mut Cx<'_, Params>) {
        self.wake_at = Time::NEVER;
        self.call((ON_TIMER, None), cx, |py| Ok(vec![received.into_pyobject(py)?.into_any().unbind()]), nothing);
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
        if let Some(object) = self.object.as_ref().filter(|_| self.caller.wants(WATCH)) {
            let of = (WATCH, "a receiving host".to_string());
            Python::attach(|py| watch(py, object.bind(py).as_any(), &self.caller, of, see));
        }
    }
}
