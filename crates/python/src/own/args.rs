//! What hooks are given: copies of the values that a built-in scheme sees, with the same names. Times are picoseconds,
//! rates bits per second, sizes bytes, all of them integers.

use super::calls::Bits32;
use fanin_cc as cc;
use fanin_units::{NodeId, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A time in Python: `None` for never.
pub fn time(time: Time) -> Option<u64> {
    time.is_some().then(|| time.as_ps())
}

/// A node's number; `None` where it is not known.
fn node(node: NodeId) -> Option<u32> {
    node.is_some().then_some(node.0)
}

/// Classes that copy a struct of `cc`, each with its fields.
macro_rules! copies {
    ($(#[doc = $doc:tt] $name:ident of $of:ty as $from:ident { $($field:ident: $type:ty = $value:expr,)* })*) => { $(
        #[doc = $doc]
        #[pyclass(frozen, get_all, module = "fanin")]
        pub struct $name {
            $($field: $type,)*
        }

        impl From<&$of> for $name {
            fn from($from: &$of) -> Self {
                Self { $($field: $value,)* }
            }
        }
    )* };
}

copies! {
    /// See `PathInfo` in `cc`.
    PathInfo of cc::PathInfo as path {
        line_rate: u64 = path.line_rate.as_bps(),
        receiver_rate: u64 = path.receiver_rate.as_bps(),
        base_rtt: u64 = path.base_rtt.as_ps(),
        payload: u32 = path.payload,
        wire: u32 = path.wire,
        network_bdp: u64 = path.network_bdp,
        network_rtt: u64 = path.network_rtt.as_ps(),
        id: u32 = path.id.0,
        src: Option<u32> = node(path.from),
        dst: Option<u32> = node(path.to),
    }
    /// See `SelectorInfo` in `cc`.
    SelectorInfo of cc::paths::SelectorInfo as sender {
        seed: u64 = sender.seed,
        paths: u32 = sender.paths,
        flow: u32 = sender.flow.0,
        src: u32 = sender.from.0,
        dst: u32 = sender.to.0,
    }
    /// See `NicInfo` in `cc`.
    NicInfo of cc::NicInfo as nic {
        line_rate: u64 = nic.line_rate.as_bps(),
        payload: u32 = nic.payload,
        wire: u32 = nic.wire,
        network_rtt: u64 = nic.network_rtt.as_ps(),
        seed: u64 = nic.seed,
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

copies! {
    /// See `Sent` in `cc`.
    Sent of cc::Sent as sent {
        wire: u32 = sent.wire,
        payload: u32 = sent.payload,
        sent_to: u64 = sent.sent_to,
        retransmitted: bool = sent.retransmitted,
        left: u64 = sent.left,
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

copies! {
    /// See `Trim` in `cc`.
    Trim of cc::Trim as trim {
        first: u64 = trim.from,
        payload: u32 = trim.payload,
        wire: u32 = trim.wire,
        sent_to: u64 = trim.sent_to,
        in_flight: u64 = trim.in_flight,
        last_hop: bool = trim.last_hop,
        rtt: Option<u64> = time(trim.rtt),
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

copies! {
    /// See `FlowInfo` in `cc`.
    FlowInfo of cc::FlowInfo as flow {
        flow: u32 = flow.flow.0,
        id: u32 = flow.id.0,
        src: u32 = flow.from.0,
        size: Option<u64> = flow.size,
    }
    /// See `MessageStart` in `cc`.
    MessageStart of cc::MessageStart<'_> as message {
        flow: u32 = message.flow.0,
        id: u32 = message.id.0,
        src: u32 = message.from.0,
        tenant: u8 = message.tenant,
        weight: u16 = message.weight,
        incast: Option<u32> = message.incast.map(|incast| incast.id),
        senders: Vec<u32> = message.incast.map_or_else(Vec::new, |incast| incast.senders.to_vec()),
    }
    /// See `Data` in `cc`.
    Data of cc::Data as data {
        flow: u32 = data.flow.0,
        src: u32 = data.from.0,
        wire: u32 = data.wire,
        payload: u32 = data.payload,
        seq: u64 = data.seq,
        acked_to: u64 = data.acked_to,
        ce: bool = data.ce,
        start: bool = data.start,
        end: bool = data.end,
        in_order: bool = data.in_order,
        ack_due: bool = data.ack_due,
        pending: bool = data.pending,
        due_alone: bool = data.due_alone,
        cc_tag: u32 = data.cc_tag,
        cc_feedback: u32 = data.cc_feedback,
        received: u64 = data.received,
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
            cc::Kind::Trimmed => "trimmed",
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

copies! {
    /// A port of a switch. See `PortView` in `cc`.
    PortView of cc::PortView as port {
        rate: u64 = port.rate.as_bps(),
        to_switch: bool = port.to_switch,
        queued: u64 = port.queued,
        up: bool = port.up,
        lane_queued: u64 = port.lane.queued,
        lane_paused: bool = port.lane.stopped,
    }
    /// A port on a shortest path. See `Choice` in `cc`.
    Choice of cc::Choice as choice {
        port: u16 = choice.port,
        rate: u64 = choice.rate.as_bps(),
        queued: u64 = choice.queued,
        paused: bool = choice.paused,
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

/// Writes the field of a packet that a hook may change. `numbered_paths` is that of the switch.
pub fn write_back(copy: &Packet, packet: &mut cc::Header, numbered_paths: bool) -> PyResult<()> {
    if numbered_paths && packet.cc_feedback != copy.head.cc_feedback && packet.has_path_number() {
        return Err(PyValueError::new_err(format!("it {}", cc::paths::NUMBER_CHANGED)));
    }
    packet.cc_feedback = copy.head.cc_feedback;
    Ok(())
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
    #[pyo3(name = "TRIM")]
    Trim,
}

/// What a hook at a queue may return.
pub const VERDICTS: &str = "fanin.Verdict.ADMIT, MARK, DROP or TRIM, or None";

impl From<Verdict> for cc::Verdict {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Admit => Self::Admit,
            Verdict::Mark => Self::Mark,
            Verdict::Drop => Self::Drop,
            Verdict::Trim => Self::Trim,
        }
    }
}

/// What became of a packet. See `Feedback` in `cc`.
#[pyclass(frozen, eq, hash, from_py_object, module = "fanin")]
#[derive(Clone, Copy, PartialEq, Hash)]
pub enum Feedback {
    #[pyo3(name = "GOOD")]
    Good,
    #[pyo3(name = "MARKED")]
    Marked,
    #[pyo3(name = "TRIMMED")]
    Trimmed,
    #[pyo3(name = "TIMEOUT")]
    Timeout,
}

impl From<cc::paths::Feedback> for Feedback {
    fn from(feedback: cc::paths::Feedback) -> Self {
        match feedback {
            cc::paths::Feedback::Good => Self::Good,
            cc::paths::Feedback::Marked => Self::Marked,
            cc::paths::Feedback::Trimmed => Self::Trimmed,
            cc::paths::Feedback::Timeout => Self::Timeout,
        }
    }
}
