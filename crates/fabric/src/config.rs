//! A network and its traffics, ready to build. The experiment crate makes these from a checked spec.

use crate::pauses::PauseOptions;
use crate::topology::Graph;
use fanin_cc::aqm::{pi, red};
pub use fanin_cc::{Balancing, DisciplineProgram};
pub use fanin_endpoint::host::{
    CpuTime, EndpointConfig, HostFifo, PacketSizes, Recovery, Restart, TcpConfig, TrafficConfig,
};
pub use fanin_endpoint::scheduler::Precedence;
use fanin_endpoint::scheduler::Scheduler;
pub use fanin_endpoint::selective::{Cap, Rules};
pub use fanin_endpoint::shaper::Shaper;
use fanin_units::{Rate, Time};
use std::sync::Arc;

/// Everything about the network but its traffic.
#[derive(Clone, Debug)]
pub struct NetworkConfig {
    /// Root seed of all random streams and of the order of simultaneous events.
    pub seed: u64,
    /// The wiring.
    pub graph: Graph,
    /// Sizes of packets.
    pub packet: PacketSizes,
    /// Data classes, numbered from 1 in this order; class 0 is control (ACK, NACK, CNP) and strictly first. At most 7.
    pub classes: Vec<ClassConfig>,
    /// How switches buffer.
    pub buffer: BufferPolicy,
    /// Buffers of the same kind, a pool of the same size, that hold at ports of these rates instead, each rate once.
    pub buffer_by_rate: Vec<(Rate, BufferPolicy)>,
    /// When buffer space is released.
    pub release: Release,
    /// Time from a link failure until its ends detect it, drop the packets queued for it and compute new routes.
    pub detection: Time,
    /// The queue between a host's pacers and its link; `None` is a NIC that pulls from its flows.
    pub host_fifo: Option<HostFifo>,
    /// Whether the packets of a flow go the same way in both directions.
    pub symmetric: bool,
    /// Cutting of data packets of RDMA that find no buffer in a lossy class; `None` drops them.
    pub trimming: Option<Trimming>,
    /// Which of equally short paths a packet takes at a switch. Other than by flow it is not for symmetric routes, nor
    /// for schemes that deflect. A host with several links always chooses by flow.
    pub balancing: Balancing,
    /// A queue discipline of one's own at every switch.
    pub discipline: Option<Arc<dyn DisciplineProgram>>,
    /// Faults and options of PFC.
    pub pauses: PauseOptions,
}

impl NetworkConfig {
    /// Largest data packet on the wire, where schemes add at most `overhead` bytes to it.
    pub(crate) fn largest_packet(&self, overhead: u16) -> u32 {
        self.packet.payload as u32 + self.packet.header as u32 + overhead as u32
    }

    /// For a busy network in `partitions` partitions: the time between consecutive events of one, and how far ahead
    /// most events are scheduled.
    pub(crate) fn event_spacing(&self, partitions: usize) -> (Time, Time) {
        let wire = u64::from(self.largest_packet(0));
        let links = &self.graph.links;
        let fastest = links.iter().map(|l| l.rate.tx_time(wire)).min().unwrap_or(Time::from_us(1));
        let farthest = links.iter().map(|l| l.rate.tx_time(wire).saturating_add(l.delay)).max();
        let of_each = fastest.as_ps().saturating_mul(partitions as u64);
        let spacing = Time::from_ps(of_each / (2 * links.len().max(1) as u64));
        (spacing, farthest.unwrap_or(Time::from_us(10)))
    }

    /// Whether packets of a flow take several paths that may differ, or that are slower than the links of hosts.
    pub(crate) fn spreads(&self) -> bool {
        let graph = &self.graph;
        let of_host = |link: &&crate::topology::Link| graph.is_host(link.a) || graph.is_host(link.b);
        let inner = || graph.links.iter().filter(|link| !of_host(link));
        let fastest = graph.links.iter().filter(of_host).map(|link| link.rate).max();
        let first = inner().next().map(|link| (link.rate, link.delay));
        let alike = inner().all(|link| Some((link.rate, link.delay)) == first && Some(link.rate) >= fastest);
        !self.balancing.is_by_flow() && !alike
    }

    /// Who sends next at a port, where that is not a packet of each class in turn. `largest` is the largest packet.
    pub(crate) fn scheduler(&self, largest: u32) -> Option<Scheduler> {
        Scheduler::new(self.classes.iter().map(ClassConfig::precedence), largest)
    }

    /// The data classes of a kind: bit c for class c.
    pub(crate) fn classes_with(&self, is: impl Fn(&ClassConfig) -> bool) -> u8 {
        self.classes.iter().enumerate().filter(|(_, class)| is(class)).fold(0, |mask, (i, _)| mask | 2 << i)
    }
}

/// A data packet of RDMA that finds no buffer is cut: its header goes on in the control class, ahead of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trimming {
    /// Bytes on the wire of what is left.
    pub size: u16,
    /// Bytes of packets in the control class that a port of a switch may hold: beyond them packets are dropped.
    pub headers: u64,
    /// Whether, by a coin, the last packet of the queue is cut instead, and the one that arrives takes its place (NDP
    /// 3.1.1): it has to be data of RDMA of the same size.
    pub either: bool,
    /// Control packets that a port of a switch sends in a row while data waits that may leave, before a data packet
    /// (NDP 3.1.1: 10); `None` sends all of them first.
    pub weight: Option<u32>,
}

impl Default for Trimming {
    /// Packets that arrive are cut to 64 bytes, 256 KB of headers, which go first.
    fn default() -> Self {
        Self { size: 64, headers: 256_000, either: false, weight: None }
    }
}

/// One data class.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassConfig {
    /// Its name in results.
    pub name: String,
    /// Whether flow control, PFC or credits, protects it from loss.
    pub lossless: bool,
    /// How its queues mark.
    pub marking: Marking,
    /// Markings that replace it on ports of these rates, each rate once.
    pub marking_by_rate: Vec<(Rate, Marking)>,
    /// Its reserved fraction of the switch buffer, above 0 and at most 1. Classes without one share the rest.
    pub share: Option<f64>,
    /// Its own factor for the dynamic threshold of a pool; `None` uses that of the buffer.
    pub alpha: Option<f64>,
    /// It is virtual lane 1 of this class, which is its lane 0: marks depend on the sum of both queues.
    pub sibling_vl: Option<u8>,
    /// Whether it is served before classes that are not.
    pub urgent: bool,
    /// Strict priority: classes of number 1 are served first, and those without one after all that have one.
    pub priority: Option<u8>,
    /// Its weight among the classes of its priority: they share by bytes ([`fanin_endpoint::scheduler`]). Where some
    /// class has a priority or a weight, `None` is 1; where none has, a packet of each class leaves in turn.
    pub weight: Option<u16>,
    /// What it may send at each port, of hosts too; `None` is no limit. Its packets wait in queues, so it is for
    /// packets that hosts do not pull from flows (credits). They take no room in the switch's buffer.
    pub shaper: Option<Shaper>,
}

impl ClassConfig {
    /// Which classes it is served before, and how much of it.
    pub fn precedence(&self) -> Precedence {
        Precedence { urgent: self.urgent, priority: self.priority, weight: self.weight }
    }
}

/// When a queue sets the congestion mark; `queue` is the data bytes waiting at the egress port in the class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Marking {
    /// Never.
    Off,
    /// Always when the queue is above a threshold.
    Step {
        /// Threshold in bytes; a queue of exactly this size is not marked.
        above: u64,
        /// When the queue is measured.
        at: MarkAt,
    },
    /// With a probability that rises from 0 at `min` to `max_probability` at `max`, and 1 above.
    Red {
        /// Bytes; up to here nothing is marked.
        min: u64,
        /// Bytes; above this everything is marked.
        max: u64,
        /// Probability at `max`.
        max_probability: f64,
        /// When the queue is measured.
        at: MarkAt,
    },
    /// With a probability that depends on an average of the queue, updated at enqueue.
    RedAverage(red::Config),
    /// With a probability set by a controller that holds the queue at its target, updated at enqueue.
    Pi(pi::Config),
}

/// When a queue is measured for marking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkAt {
    /// At enqueue, before the packet counts.
    Enqueue,
    /// At dequeue, when the packet no longer counts.
    Dequeue,
    /// When the last bit of the packet has left, with [`Release::LastBit`]; the packet does not count.
    LastBit,
}

/// How a switch admits packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BufferPolicy {
    /// Each egress port has its own bytes for lossy classes (tail drop). Lossless classes: each ingress port and
    /// lossless class has an equal share of these bytes, PAUSE at share minus headroom. A class with a reserved share
    /// has that fraction of the bytes at each port; the other classes divide the rest.
    PerPort {
        /// Bytes per port.
        bytes: u64,
        /// PFC of the lossless classes.
        pfc: Pfc,
    },
    /// All ports share one pool. Lossy classes: an egress queue may grow to `alpha` times the free pool. Lossless
    /// classes: an ingress is paused above `pfc_alpha` times the free shared pool (pool less all headroom). A class
    /// with a reserved share has a pool of its own, which includes its headroom; the others share the rest.
    Pooled {
        /// Bytes per switch.
        bytes: u64,
        /// Dynamic threshold factor of lossy egress queues.
        alpha: f64,
        /// Dynamic threshold factor of lossless ingresses.
        pfc_alpha: f64,
        /// PFC of the lossless classes.
        pfc: Pfc,
    },
    /// Credits as in InfiniBand: each port has a buffer per class, at switches and at hosts, and its peer sends what
    /// fits. All classes are lossless.
    Credits {
        /// Bytes per port and class; `None` computes for each link what keeps it full
        /// ([`crate::credits::buffer_for`]).
        bytes: Option<u64>,
    },
    /// No limit at all, for tests and for hosts.
    Unlimited,
}

/// Priority flow control, per ingress port and lossless class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pfc {
    /// Headroom: bytes reserved for packets still in flight after a PAUSE; `None` computes it per link.
    pub headroom: Option<u64>,
    /// XON offset: RESUME when the ingress holds this many bytes less than the PAUSE threshold; `None` is two full
    /// packets.
    pub xon_offset: Option<u64>,
}

/// When buffer space of a packet is free again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// When its transmission starts.
    Dequeue,
    /// When its last bit has been sent.
    LastBit,
}

/// The messages that a message waits for, and those that wait for it, by triggers. Triggers are numbered within a
/// traffic. All messages of a trigger have the same `start`. Where a trigger is local to one host, the messages that
/// count by arriving go to it, those that count by their last ACK leave from it, and so do all that wait. A trigger
/// that is not (htsim's need not be) fires at once all the same, and a network with such triggers must not be cut
/// between their hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dependency {
    /// It is posted only when this trigger fires: when everything that counts towards it has happened.
    pub after: Option<u32>,
    /// The trigger posts one message for each that counts, in the order of their numbers, instead of all after the
    /// last. The same for all messages that wait for it.
    pub in_turn: bool,
    /// Delay after the trigger fires; without a trigger, after `start`.
    pub delay: Time,
    /// Whether it is sent back on the connection of the message that fired its trigger, unless an earlier answer has
    /// closed that.
    pub answers: bool,
    /// The trigger that its arrival counts towards.
    pub counts: Option<u32>,
    /// The trigger that its last ACK counts towards: when its sender knows that it has arrived completely.
    pub counts_acked: Option<u32>,
}

/// One message to send.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Message {
    /// When the application posts it.
    pub start: Time,
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Payload bytes; [`Message::ENDLESS`] never ends.
    pub bytes: u64,
    /// Which traffic it belongs to.
    pub traffic: u16,
    /// Which incast or collective it belongs to, or `u32::MAX`.
    pub group: u32,
    /// All senders of its incast, where the application knows them in advance.
    pub senders: Option<Arc<[u32]>>,
    /// The messages that it waits for, and those that wait for it.
    pub dependency: Dependency,
    /// Rank and node of the job of its traffic that sends it ([`crate::Placed`]): it is posted when that starts.
    pub sent_by: Option<(u32, u32)>,
}

impl Message {
    /// A size that is never reached.
    pub const ENDLESS: u64 = fanin_endpoint::host::ENDLESS;
}
