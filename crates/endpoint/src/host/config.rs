//! How hosts carry messages: sizes of packets, endpoints, and the rules of each traffic.

use super::CpuTime;
use crate::{selective, tcp};
use alloc::string::String;
use fanin_cc::paths::Spraying;
use fanin_cc::{HeaderOverhead, SendOptions, Settings};
use fanin_units::Time;

/// The size of an endless message, in bytes.
pub const ENDLESS: u64 = 1 << 60;

/// Bytes on the wire by kind of packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketSizes {
    /// Largest payload of a data packet.
    pub payload: u16,
    /// All headers of a data packet.
    pub header: u16,
    /// An ACK or NACK.
    pub ack: u16,
    /// A congestion notification packet.
    pub cnp: u16,
    /// A pause or resume frame.
    pub pause: u16,
}

/// A queue between the pacers of a host and its link, one for each class: it stops pulling from flows when full, and
/// may mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostFifo {
    /// Bytes it holds of a class.
    pub capacity: u64,
    /// Mark above this many bytes.
    pub mark_above: Option<u64>,
}

/// One entry of a spec's list of traffics.
#[derive(Clone, Debug)]
pub struct TrafficConfig {
    /// Its name in results.
    pub name: String,
    /// Its congestion control.
    pub scheme: Settings,
    /// Its data class, 1 or above.
    pub class: u8,
    /// The class of its packets in lane 1; 0 where its scheme uses one lane.
    pub lane_class: u8,
    /// The class of its receivers' credits; 0 is control.
    pub credit_class: u8,
    /// Its weight where a receiver divides its line rate among senders.
    pub weight: u16,
    /// The tenant it belongs to.
    pub tenant: u8,
    /// Whether senders tell receivers the size of a flow when it opens.
    pub announce_size: bool,
    /// Whether its data may be marked.
    pub ecn: bool,
    /// Its endpoint where that is RDMA-like.
    pub endpoint: EndpointConfig,
    /// Its endpoint where that is TCP.
    pub tcp: Option<TcpConfig>,
    /// How senders choose the path of each packet, over RDMA; `None` is one path per flow, or the choice of switches.
    pub spraying: Option<Spraying>,
    /// Overhead of the sending host: time before a message reaches the endpoint.
    pub overhead: Time,
}

impl TrafficConfig {
    /// The send options of a message of `bytes` bytes, of an incast with `senders` senders named by the application.
    pub fn send_options(&self, bytes: u64, senders: usize) -> SendOptions {
        self.scheme.send_options(bytes, senders, self.endpoint.connection)
    }

    /// The class of a packet in a lane.
    pub fn class_of_lane(&self, lane: u8) -> u8 {
        if lane == 0 || self.lane_class == 0 { self.class } else { self.lane_class }
    }
}

/// How TCP carries messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpConfig {
    /// Each end. Its `ecn` is set where the traffic and its scheme both want marks.
    pub connection: tcp::Config,
    /// One connection per pair of hosts that stays open, instead of one per message (and its answer).
    pub persistent: bool,
    /// When the window of an open connection restarts.
    pub restart: Restart,
    /// Class of ACKs without payload: the data class, or 0 for control. Segments that open or close a connection use
    /// the data class.
    pub ack_class: u8,
}

/// When the window of an open connection restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Restart {
    /// After a pause, by the rules of its scheme.
    #[default]
    Pause,
    /// With each message that begins when everything before is acknowledged, too.
    Request,
}

/// How RDMA carries messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointConfig {
    /// Retransmission timeout; `Time::NEVER` switches it off. Of selective retransmission the shorter one, if it has
    /// two.
    pub timeout: Time,
    /// At most one NACK for the same expected byte in this time.
    pub nack_interval: Time,
    /// Payload bytes per ACK; 0 or 1 acknowledges every packet. The last packet of a message is always acknowledged.
    pub ack_chunk: u32,
    /// One queue pair per sender and receiver instead of one per message.
    pub connection: bool,
    /// On a queue pair that stays open: a message that begins when everything before is acknowledged has a new sender
    /// of its scheme, as on a queue pair of its own. Otherwise the sender keeps its state.
    pub anew: bool,
    /// Bytes of credit that a paced queue pair may save while others of its NIC are in its way, or its window.
    pub pacing_credit: u32,
    /// How losses are repaired.
    pub recovery: Recovery,
    /// CPU time of the receiving host between a data packet and the ACK or NACK that answers it.
    pub cpu_time: CpuTime,
    /// Timeouts in a row without progress, or requests in a row without an answer, after which a queue pair is given
    /// up (`retry_cnt` of ibv_modify_qp); `u32::MAX` is no limit.
    pub retries: u32,
}

impl EndpointConfig {
    /// Whether ACKs are for several packets that may arrive in any order, so that they name them: only where all
    /// packets of a queue pair but the last have the same size.
    pub fn names_packets(&self) -> bool {
        self.ack_chunk > 1
            && !self.connection
            && matches!(self.recovery, Recovery::Selective(rules) if rules.unordered())
    }
}

impl Default for EndpointConfig {
    /// A queue pair per message, go-back-N, an ACK per packet, a timeout of 4 ms without limit, a NACK every 500 us.
    fn default() -> Self {
        let (timeout, nack_interval) = (Time::from_ms(4), Time::from_us(500));
        let (recovery, cpu_time) = (Recovery::GoBackN, CpuTime::Zero);
        Self {
            timeout,
            nack_interval,
            ack_chunk: 0,
            connection: false,
            anew: false,
            pacing_credit: 0,
            recovery,
            cpu_time,
            retries: u32::MAX,
        }
    }
}

/// How RDMA repairs losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Recovery {
    /// The receiver drops what arrives behind a gap; everything from the gap on is sent again.
    #[default]
    GoBackN,
    /// The receiver drops all of the message that a packet is missing of, and all of it is sent again.
    GoBack0,
    /// The receiver keeps what arrives behind a gap; what is missing is sent again.
    Selective(selective::Rules),
}

/// A traffic in a run.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Its rules.
    pub config: TrafficConfig,
    /// The number of its scheme: traffics with the same scheme and parameters share one.
    pub scheme: u16,
    /// The scheme's header overhead.
    pub overhead: HeaderOverhead,
}
