//! Parameters of the transports in a spec.

use super::{bytes, ms, whole, yes};
use fanin_units::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of RDMA.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Rdma {
    /// How losses are repaired.
    pub recovery: Recovery,
    /// Retransmission timeout, with `recovery = "irn"` the one with more than `timeout_low_packets` packets in flight.
    /// Default: 320 us with `recovery = "selective-repeat"`, `"irn"` or `"unordered"`, else 4 ms.
    #[schemars(extend("above" = "0 s"))]
    #[schemars(extend("wrong" = "it is zero; write a time above zero, like \"4 ms\", or \"off\""))]
    pub timeout: Option<Timeout>,
    /// Minimum time between two NACKs for the same expected byte, with `recovery = "go-back-n"`. Default: 500 us.
    pub nack_interval: Option<Time>,
    /// `recovery = "irn"`: a new packet leaves while fewer than this are in flight. Default: "bdp".
    pub cap: Option<Cap>,
    /// `recovery = "irn"`: the retransmission timeout with up to `timeout_low_packets` packets in flight. Default: 100
    /// us, or `timeout` where that is shorter.
    #[schemars(extend("above" = "0 s", "wrong" = "it is zero; write a time above zero, like \"100 us\""))]
    pub timeout_low: Option<Time>,
    /// `recovery = "irn"`: see `timeout_low`. Default: 3.
    pub timeout_low_packets: Option<u32>,
    /// `recovery = "selective-repeat"` or `"irn"`: recovery begins with this many NACKs in a row for the same expected
    /// byte. More than 1 is for networks that reorder. Default: 1.
    #[schemars(extend("minimum" = 1, "wrong" = "it is 0; write 1, or more for a network that reorders"))]
    pub nack_threshold: Option<u32>,
    /// `recovery = "selective-repeat"`, `"irn"` or `"unordered"`: whether the scheme reacts to losses and timeouts as
    /// with `"go-back-n"`, and to trimmed packets. Default: only with `"unordered"`.
    pub loss_reaction: Option<bool>,
    /// Timeouts in a row without progress, or requests of a scheme in a row without an answer, after which a queue pair
    /// is given up: InfiniBand's retry count, there at most 7. What was posted to it stays unfinished; later messages
    /// get a new one. Default: no limit.
    #[schemars(extend("minimum" = 1, "wrong" = "a single loss would end a message; write 1 or more, like 7"))]
    pub retries: Option<u32>,
    /// Payload bytes per ACK; with 0 B every packet is acknowledged. The last packet of a message is always
    /// acknowledged. With `recovery = "unordered"` such an ACK names the packet that it answers and has a bitmap of 64
    /// packets around it; packets that are marked or sent again, the first and the last one and the last one that a
    /// window lets out are acknowledged at once, as Ultra Ethernet does with 16 KB.
    #[schemars(extend("below" = "4 GiB", "wrong" = "{} is too large; it is below 4 GiB"))]
    pub ack_chunk: Bytes,
    /// Whether each pair of hosts has one queue pair that stays open, with one sequence space, instead of one per
    /// message.
    pub persistent: bool,
    /// When a scheme's sender on an open queue pair begins anew.
    pub restart: RdmaRestart,
    /// Bytes that a paced flow may make up for when it could not send in time, because of other flows of its host or of
    /// its window, as the scheduler of HPCC's NIC does (HPCC section 4.2). With 0 B each packet restarts the pacing, as
    /// in the ns-3 HPCC simulator. Default: two packets of the network's MTU.
    #[schemars(extend("below" = "4 GiB", "wrong" = "{} is too large; it is below 4 GiB"))]
    pub pacing_credit: Option<Bytes>,
    /// CPU time of the receiving host between the arrival of a data packet and the ACK or NACK that answers it, drawn
    /// for each of them. With an `ack_chunk` of at least a message it is a time per message. Times of different
    /// answers overlap, but those of a queue pair leave in their order. CNPs and credits do not wait: the NIC sends
    /// them. Default: none, the NIC answers by itself.
    pub cpu_time: Option<CpuTime>,
    /// Delay of a message in its sending host before the NIC gets it: what software, the NIC or a GPU takes for each.
    pub overhead: Time,
}

/// CPU time of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CpuTime {
    /// Constant.
    Constant(Time),
    /// Uniform from the first to the second.
    Uniform([Time; 2]),
    /// Log-normal.
    LogNormal(LogNormal),
}

/// A log-normal time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogNormal {
    /// The median.
    #[schemars(extend("above" = "0 s", "wrong" = "it is zero; write a time above zero, like \"5 us\""))]
    pub median: Time,
    /// The 99.9th percentile.
    pub p999: Time,
}

/// When a scheme's sender on an open queue pair begins anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "kebab-case")]
pub enum RdmaRestart {
    /// Never: a message inherits the rate, the window and what else the scheme knows from the one before. A scheme may
    /// discard what its paper says (Dart its share).
    #[default]
    Never,
    /// With each message that begins when everything sent before on its queue pair is acknowledged: it starts as on a
    /// queue pair of its own. What its receiver knows of the flow stays.
    Request,
}

/// How RDMA repairs losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// The receiver drops what arrives behind a gap and asks for it with a NACK; the sender goes on from there.
    #[default]
    GoBackN,
    /// The receiver drops all of the message, and the sender begins it again.
    #[serde(rename = "go-back-0")]
    GoBack0,
    /// The receiver keeps what arrives behind a gap, and the sender sends again what is missing.
    SelectiveRepeat,
    /// As "selective-repeat", with a limit to packets in flight and a short timeout for few of them (IRN).
    Irn,
    /// As "selective-repeat" where packets are sprayed: a gap is no loss. What is sent again is what switches trimmed
    /// (`network.trimming`), and after a timeout what is missing. Windows count what is not known to have arrived.
    Unordered,
}

/// Most packets in flight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Cap {
    /// The largest bandwidth-delay product of any two hosts, in full packets, rounded up; twice that under a scheme
    /// whose receivers send an ACK per round-trip time (ExpressPass).
    Bdp(Bdp),
    /// As many full packets as hold this, rounded up.
    Bytes(Bytes),
    /// So many, of any size.
    Packets(CapPackets),
}

/// The value for the bandwidth-delay product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Bdp {
    /// The bandwidth-delay product.
    Bdp,
}

/// A number of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CapPackets {
    /// The number.
    pub packets: u32,
}

/// Retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Timeout {
    /// Never.
    Off(Off),
    /// After this time without progress.
    After(Time),
}

/// The value for no timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Off {
    /// Never.
    Off,
}

/// Parameters of TCP. A segment carries at most `network.packet.payload`, its headers are `network.packet.header`, and
/// a segment without payload has the size of `network.packet.ack`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// Whether losses are repaired with selective acknowledgements (RFC 2018, RFC 6675).
    // DCTCP section 4: NewReno with SACK.
    #[serde(default = "yes")]
    pub sack: bool,
    /// Whether window scaling allows windows of 64 KiB and more (RFC 7323).
    #[serde(default = "yes")]
    pub window_scaling: bool,
    /// The largest window that a receiver advertises.
    // The whole buffer of DCTCP's switches (Table 1), so that the network limits a window and not the receiver.
    #[serde(default = "bytes::<4_000_000>")]
    // The largest window of RFC 7323: 65,535 units of 2^14 bytes.
    #[schemars(extend("most" = "1073725440 B"))]
    #[schemars(extend("wrong" = "no TCP window is as large as {}; it is at most 1073725440 B (RFC 7323)"))]
    pub receive_buffer: Bytes,
    /// Full segments per ACK.
    // RFC 5681 section 4.2: at least every second full segment.
    #[serde(default = "whole::<u32, 2>")]
    #[schemars(extend("minimum" = 1, "wrong" = NEVER_ACKNOWLEDGED))]
    pub ack_every: u32,
    /// Largest delay of an ACK.
    // RFC 5681 allows up to 500 ms, far above the smallest timeout here.
    #[serde(default = "ms::<1>")]
    pub ack_delay: Time,
    /// Retransmission timeout before the first measurement of the round-trip time.
    // RFC 6298 section 2.1.
    #[serde(default = "ms::<1000>")]
    pub initial_rto: Time,
    /// Smallest retransmission timeout.
    // DCTCP section 4.2.1: 10 ms is the timer tick of its hosts, 300 ms their default.
    #[serde(default = "ms::<10>")]
    #[schemars(extend("above" = "0 s", "wrong" = "it is zero; write a time above zero, like \"10 ms\""))]
    pub min_rto: Time,
    /// Largest retransmission timeout.
    // RFC 6298 section 2.5: at least 60 s.
    #[serde(default = "ms::<60_000>")]
    pub max_rto: Time,
    /// Whether each ACK of new bytes gives a round-trip time, by its timestamp (RFC 7323), instead of one segment at a
    /// time that was sent once.
    #[serde(default)]
    pub timestamps: bool,
    /// Segmentation offload: most bytes of new data that TCP gives to the NIC at once, like "64 KB". The NIC sends them
    /// as segments one right after the other at the rate of its link, without the pauses of a paced scheme and without
    /// segments of other connections of the class in between. A burst begins when the windows allow one of this size,
    /// a third of the window, or all that is left to send; a smaller one waits for the next ACK. Repairs of losses are
    /// sent one by one. 0 B is without it.
    #[serde(default = "bytes::<0>")]
    pub offload: Bytes,
    /// Retransmissions of the same segment, or window probes in a row without any answer, after which a connection is
    /// given up. Its messages stay unfinished.
    // Linux's tcp_retries2: more than RFC 9293's 100 s.
    #[serde(default = "whole::<u32, 15>")]
    #[schemars(extend("minimum" = 1))]
    #[schemars(extend("wrong" = "a single loss would end a connection; write 1 or more, like 15"))]
    pub retries: u32,
    /// Whether each pair of hosts has one connection that is opened once and stays open, instead of one per message and
    /// its answer.
    #[serde(default)]
    pub persistent: bool,
    /// When the window of an open connection restarts.
    #[serde(default)]
    pub restart: Restart,
    /// Class of ACKs without payload. SYN and FIN segments are in the class of the data.
    #[serde(default)]
    pub ack_class: AckClass,
    /// Delay of a message in its sending host before TCP sends it.
    #[serde(default)]
    pub overhead: Time,
}

/// The error of TCP that acknowledges nothing.
const NEVER_ACKNOWLEDGED: &str = "no segment would be acknowledged; write 1 for an ACK per segment, or 2";

/// When the window of an open connection restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// After a pause, by the rules of the scheme (`restart_after`).
    #[default]
    Pause,
    /// Also with each message that begins when everything sent before on its connection is acknowledged.
    Request,
}

/// Class of ACKs without payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "kebab-case")]
pub enum AckClass {
    /// The class of the traffic's data.
    #[default]
    Data,
    /// The control class, which has strict priority.
    Control,
}
