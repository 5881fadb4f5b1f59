//! What hooks are given: copies of the values that a built-in scheme sees, with the same names. Times are picoseconds,
//! rates bits per second, sizes bytes, all of them integers.

use super::calls::Bits32;
use fanin_cc as cc;
use fanin_units::{NodeId, Time};
use pyo3::prelude::*;

/// A time in Python: `None` for never.
pub fn time(time: Time) -> Option<u64> {
    time.is_some().then(|| time.as_ps())
}

/// A node's number; `None` where it is not known.
fn node(node: NodeId) -> Option<u32> {
    node.is_some().then_some(node.0)
}

/// See `PathInfo` in `cc`.
#[pyclass(frozen, get_all, module = "fanin")]
pub struct PathInfo {
    line_rate: u64,
    receiver_rate: u64,
    base_rtt: u64,
    payload: u32,
    wire: u32,
    network_bdp: u64,
    network_rtt: u64,
    id: u32,
    src: Option<u32>,
    dst: Option<u32>,
}

impl From<&cc::PathInfo> for PathInfo {
    fn from(path: &cc::PathInfo) -> Self {
        Self {
            line_rate: path.line_rate.as_bps(),
            receiver_rate: path.receiver_rate.as_bps(),
            base_rtt: path.base_rtt.as_ps(),
            payload: path.payload,
            wire: path.wire,
            network_bdp: path.network_bdp,
            network_rtt: path.network_rtt.as_ps(),
            id: path.id.0,
            src: node(path.from),
            dst: node(path.to),
        }
    }
}

/// See `NicInfo` in `cc`.
#[pyclass(frozen, get_all, module = "fanin")]
pub struct NicInfo {
    line_rate: u64,
    payload: u32,
    wire: u32,
    network_rtt: u64,
    seed: u64,
}

impl From<&cc::NicInfo> for NicInfo {
    fn from(nic: &cc::NicInfo) -> Self {
        Self {
            line_rate: nic.line_rate.as_bps(),
            payload: nic.payload,
            wire: nic.wire,
            network_rtt: nic.network_rtt.as_ps(),
            seed: nic.seed,
        }
    }
}

/// See `SwitchInfo` in `cc`.
#[pyclass(frozen, get_all, module = "fanin")]
pub struct SwitchInfo {
    node: u32,
    seed: u64,
    ports: Vec<Py<PortView>>,
    network_rtt: u64,
}

impl SwitchInfo {
    pub fn new(py: Python<'_>, switch: &cc::SwitchInfo<'_>) -> PyResult<Self> {
        Ok(Self {
            node: switch.node.0,
            seed: switch.seed,
            ports: switch.ports.iter().map(|port| Py::new(py, PortView::from(port))).collect::<PyResult<_>>()?,
            network_rtt: switch.network_rtt.as_ps(),
        })
    }
}

/// See `Sent` in `cc`.
#[pyclass(frozen, get_all, module = "fanin")]
pub struct Sent {
    wire: u32,
    payload: u32,
    sent_to: u64,
    retransmitted: bool,
    left: u64,
}

impl From<&cc::Sent> for Sent {
    fn from(sent: &cc::Sent) -> Self {
        Self {
            wire: sent.wire,
            payload: sent.payload,
            sent_to: sent.sent_to,
            retransmitted: sent.retransmitted,
            left: sent.left,
        }
    }
}

/// See `Ack` in `cc`.
#[pyclass(frozen, module = "fanin")]
pub struct Ack {
    #[pyo3(get)]
    newly_acked: u64,
    #[pyo3(get)]
    acked_to: u64,
    #[pyo3(get)]
    seq: u64,
    #[pyo3(get)]
    sent_to: u64,
    #[pyo3(get)]
    in_flight: u64,
    #[pyo3(get)]
    burst: u64,
    #[pyo3(get)]
    recovering: bool,
    #[pyo3(get)]
    ecn_echo: bool,
    #[pyo3(get)]
    rtt: u64,
    #[pyo3(get)]
    cc_feedback: u32,
    telemetry: Option<Box<cc::Telemetry>>,
}

impl From<&cc::Ack<'_>> for Ack {
    fn from(ack: &cc::Ack<'_>) -> Self {
        Self {
            newly_acked: ack.newly_acked,
            acked_to: ack.acked_to,
            seq: ack.seq,
            sent_to: ack.sent_to,
            in_flight: ack.in_flight,
            burst: ack.burst,
            recovering: ack.recovering,
            ecn_echo: ack.ecn_echo,
            rtt: ack.rtt.as_ps(),
            cc_feedback: ack.cc_feedback,
            telemetry: ack.telemetry.copied().map(Box::new),
        }
    }
}

#[pymethods]
impl Ack {
    /// The records of the switches on the way, first switch first.
    #[getter]
    fn telemetry(&self) -> Vec<IntHop> {
        let hops = self.telemetry.iter().flat_map(|telemetry| telemetry.hops());
        hops.map(|hop| IntHop { rate: hop.rate.as_bps(), time: hop.time.as_ps(), sent: hop.sent, queued: hop.queued })
            .collect()
    }
    /// XOR of the switches' ids, 12 bits.
    #[getter]
    fn path(&self) -> u16 {
        self.telemetry.as_ref().map_or(0, |telemetry| telemetry.path())
    }
}

/// See `IntHop` in `cc`.
#[pyclass(frozen, get_all, module = "fanin")]
pub struct IntHop {
    rate: u64,
    time: u64,
    sent: u64,
    queued: u64,
}

/// See `Loss` in `cc`.
#[pyclass(frozen, get_all, module = "fanin")]
pub struct Loss {
    first: u64,
    sent_to: u64,
    in_flight: u64,
    retransmitted: bool,
}

impl From<&cc::Loss> for Loss {
    fn from(loss: &cc::Loss) -> Self {
        let cc::Loss { from: first, sent_to, in_flight, retransmitted } = *loss;
        Self { first, sent_to, in_flight, retransmitted }
    }
}

/// See `Notice` in `cc`: `kind` is "cnp" or "credit", `number` that of a credit.
#[pyclass(frozen, get_all, module = "fanin")]
pub struct Notice {
    kind: &'static str,
    number: u32,
}

impl From<cc::Notice> for Notice {
    fn from(notice: cc::Notice) -> Self {
        match notice {
            cc::Notice::Cnp => Self { kind: "cnp", number: 0 },
            cc::Notice::Credit(number) => Self { kind: "credit", number },
        }
    }
}

/// See `FlowInfo` in `cc`.
#[pyclass(frozen, get_all, module = "fanin")]
pub struct FlowInfo {
    flow: u32,
    id: u32,
    src: u32,
    size: Option<u64>,
}

impl From<&cc::FlowInfo> for FlowInfo {
    fn from(flow: &cc::FlowInfo) -> Self {
        Self { flow: flow.flow.0, id: flow.id.0, src: flow.from.0, size: flow.size }
    }
}

/// See `MessageStart` in `cc`.
#[pyclass(frozen, get_all, module = "fanin")]
pub struct MessageStart {
    flow: u32,
    id: u32,
    src: u32,
    tenant: u8,
    weight: u16,
    incast: Option<u32>,
    senders: Vec<u32>,
}

impl From<&cc::MessageStart<'_>> for MessageStart {
    fn from(message: &cc::MessageStart<'_>) -> Self {
        Self {
            flow: message.flow.0,
            id: message.id.0,
            src: message.from.0,
            tenant: message.tenant,
            weight: message.weight,
            incast: message.incast.map(|incast| incast.id),
            senders: message.incast.map_or_else(Vec::new, |incast| incast.senders.to_vec()),
        }
    }
}

/// See `Data` in `cc`.
#[pyclass(frozen, get_all, module = "fanin")]
pub struct Data {
    flow: u32,
    src: u32,
    wire: u32,
    payload: u32,
    seq: u64,
    acked_to: u64,
    ce: bool,
    start: bool,
    end: bool,
    in_order: bool,
    ack_due: bool,
    pending: bool,
    due_alone: bool,
    cc_tag: u32,
    cc_feedback: u32,
    received: u64,
}

impl From<&cc::Data> for Data {
    fn from(data: &cc::Data) -> Self {
        Self {
            flow: data.flow.0,
            src: data.from.0,
            wire: data.wire,
            payload: data.payload,
            seq: data.seq,
            acked_to: data.acked_to,
            ce: data.ce,
            start: data.start,
            end: data.end,
            in_order: data.in_order,
            ack_due: data.ack_due,
            pending: data.pending,
            due_alone: data.due_alone,
            cc_tag: data.cc_tag,
            cc_feedback: data.cc_feedback,
            received: data.received,
        }
    }
}

impl Data {
    /// The ACK that is due, with an echo of the packet's mark.
    pub fn due(&self) -> Option<AckFields> {
        self.ack_due.then_some(AckFields(cc::AckFields { ecn_echo: self.ce, ..cc::AckFields::default() }))
    }
}

/// Fields that a receiver puts on an ACK. See `AckFields` in `cc`.
#[pyclass(frozen, from_py_object, module = "fanin")]
#[derive(Clone, Copy)]
pub struct AckFields(pub cc::AckFields);

#[pymethods]
impl AckFields {
    #[new]
    #[pyo3(
        signature = (ecn_echo=false, push=false, window=None, cc_feedback=Bits32(0)),
        text_signature = "(ecn_echo=False, push=False, window=None, cc_feedback=0)"
    )]
    fn new(ecn_echo: bool, push: bool, window: Option<Bits32>, cc_feedback: Bits32) -> Self {
        let window = window.map(|window| window.0);
        Self(cc::AckFields { ecn_echo, push, window, cc_feedback: cc_feedback.0 })
    }
    #[getter]
    fn ecn_echo(&self) -> bool {
        self.0.ecn_echo
    }
    #[getter]
    fn push(&self) -> bool {
        self.0.push
    }
    #[getter]
    fn window(&self) -> Option<u32> {
        self.0.window
    }
    #[getter]
    fn cc_feedback(&self) -> u32 {
        self.0.cc_feedback
    }
}

/// A packet at a switch. `cc_feedback` and `lane` may be changed.
#[pyclass(module = "fanin")]
pub struct Packet {
    pub head: cc::Header,
}

#[pymethods]
impl Packet {
    #[getter]
    fn kind(&self) -> &'static str {
        match self.head.kind {
            cc::Kind::Data => "data",
            cc::Kind::Ack => "ack",
            cc::Kind::Nack => "nack",
            cc::Kind::Cnp => "cnp",
            cc::Kind::Credit => "credit",
            cc::Kind::Request => "request",
            cc::Kind::Pause | cc::Kind::FlowControl => "link",
        }
    }
    #[getter]
    fn flow(&self) -> u32 {
        self.head.flow.0
    }
    #[getter]
    fn src(&self) -> u32 {
        self.head.src.0
    }
    #[getter]
    fn dst(&self) -> u32 {
        self.head.dst.0
    }
    #[getter]
    fn seq(&self) -> u64 {
        self.head.seq
    }
    #[getter]
    fn wire(&self) -> u16 {
        self.head.wire
    }
    #[getter]
    fn payload(&self) -> u16 {
        self.head.payload
    }
    #[getter]
    fn ce(&self) -> bool {
        self.head.has(cc::flags::CE)
    }
    #[getter]
    fn ect(&self) -> bool {
        self.head.has(cc::flags::ECT)
    }
    #[getter]
    fn start(&self) -> bool {
        self.head.has(cc::flags::START)
    }
    #[getter]
    fn end(&self) -> bool {
        self.head.has(cc::flags::END)
    }
    #[getter]
    fn hops(&self) -> u8 {
        self.head.hops
    }
    #[getter]
    fn tokens(&self) -> u8 {
        self.head.tokens
    }
    #[getter]
    fn cc_tag(&self) -> u32 {
        self.head.cc_tag
    }
    #[getter]
    fn cc_feedback(&self) -> u32 {
        self.head.cc_feedback
    }
    #[setter]
    fn set_cc_feedback(&mut self, cc_feedback: Bits32) {
        self.head.cc_feedback = cc_feedback.0;
    }
    #[getter]
    fn lane(&self) -> u8 {
        self.head.lane
    }
}

/// A port of a switch. See `PortView` in `cc`.
#[pyclass(frozen, get_all, module = "fanin")]
pub struct PortView {
    rate: u64,
    to_switch: bool,
    queued: u64,
    up: bool,
    lane_queued: u64,
    lane_paused: bool,
}

impl From<&cc::PortView> for PortView {
    fn from(port: &cc::PortView) -> Self {
        Self {
            rate: port.rate.as_bps(),
            to_switch: port.to_switch,
            queued: port.queued,
            up: port.up,
            lane_queued: port.lane.queued,
            lane_paused: port.lane.stopped,
        }
    }
}

/// A port on a shortest path. See `Choice` in `cc`.
#[pyclass(frozen, get_all, module = "fanin")]
pub struct Choice {
    port: u16,
    rate: u64,
    queued: u64,
    paused: bool,
}

impl From<&cc::Choice> for Choice {
    fn from(choice: &cc::Choice) -> Self {
        Self { port: choice.port, rate: choice.rate.as_bps(), queued: choice.queued, paused: choice.paused }
    }
}

/// A packet at a queue. See `Queued` in `cc`.
#[pyclass(frozen, get_all, module = "fanin")]
pub struct Queued {
    pub port: u16,
    pub view: Py<PortView>,
    pub packet: Py<Packet>,
    pub own: bool,
}

/// What happens to a packet that is about to join a queue. See `Verdict` in `cc`.
#[pyclass(frozen, eq, from_py_object, module = "fanin")]
#[derive(Clone, Copy, PartialEq)]
pub enum Verdict {
    #[pyo3(name = "ADMIT")]
    Admit,
    #[pyo3(name = "MARK")]
    Mark,
    #[pyo3(name = "DROP")]
    Drop,
}

/// What a hook at a queue may return.
pub const VERDICTS: &str = "fanin.Verdict.ADMIT, MARK or DROP, or None";

impl From<Verdict> for cc::Verdict {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Admit => Self::Admit,
            Verdict::Mark => Self::Mark,
            Verdict::Drop => Self::Drop,
        }
    }
}
