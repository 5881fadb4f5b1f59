//! Results of a simulation. The record crate writes them as tables.

pub use fanin_endpoint::host::{FlowRecord, HostTotals, TrafficCounters};
use fanin_engine::{Event, Order};
use fanin_units::{NodeId, PortId, Time, counters};

counters! {
    /// Counters of one class at one port. The port's own counters are sums of these.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct ClassCounters {
        /// Packets marked by its queue.
        pub marked: u64,
        /// Packets dropped on their way out of this port, or lost on its link.
        pub dropped: u64,
        /// Packets cut to their headers here.
        pub trimmed: u64,
        /// Most bytes ever queued.
        pub peak_queue: u64 = max,
        /// Time for which the peer paused it.
        pub paused: Time,
        /// PAUSE frames received for it.
        pub pauses: u64,
        /// Time for which it lacked credits: at a switch for the first packet of its queue, at a host for a full
        /// packet.
        pub credit_wait: Time,
        /// How often it ran out of them.
        pub credit_waits: u64,
    }
}

/// Counters of one port (one direction of a link).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Packets marked by its queue.
    pub marked: u64,
    /// Data packets dropped on their way out of this port.
    pub dropped: u64,
    /// Packets cut to their headers here.
    pub trimmed: u64,
    /// Most data bytes ever queued.
    pub peak_queue: u64,
    /// Time for which the peer paused data classes, summed over classes.
    pub paused: Time,
    /// PAUSE frames received.
    pub pauses: u64,
    /// Time for which data classes lacked credits, summed over classes.
    pub credit_wait: Time,
    /// How often one ran out of them.
    pub credit_waits: u64,
}

impl PortCounters {
    /// Those of a port with these classes, that sent these packets and bytes.
    pub fn sum(
        classes: impl IntoIterator<Item = ClassCounters>,
        (packets, bytes): (u64, u64),
        peak_queue: u64,
    ) -> Self {
        let mut counters = Self { packets, bytes, peak_queue, ..Self::default() };
        for of_class in classes {
            counters.marked += of_class.marked;
            counters.dropped += of_class.dropped;
            counters.trimmed += of_class.trimmed;
            counters.paused += of_class.paused;
            counters.pauses += of_class.pauses;
            counters.credit_wait += of_class.credit_wait;
            counters.credit_waits += of_class.credit_waits;
        }
        counters
    }
}

macro_rules! drops {
    ($($(#[$doc:meta])* $field:ident: $cause:ident,)*) => {
        counters! {
            /// Why packets were dropped.
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
            pub struct Drops {
                $($(#[$doc])* pub $field: u64,)*
            }
        }

        /// Why a packet was dropped.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum DropCause {
            $(#[doc = concat!("See [`Drops::", stringify!($field), "`].")] $cause,)*
        }

        impl DropCause {
            /// All of them, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$cause,)*];
        }

        impl Drops {
            /// All of them.
            pub fn total(&self) -> u64 {
                0 $(+ self.$field)*
            }

            pub(crate) fn count(&mut self, cause: DropCause) {
                match cause {
                    $(DropCause::$cause => self.$field += 1,)*
                }
            }
        }
    };
}

drops! {
    /// No buffer for a lossy class.
    buffer: Buffer,
    /// No buffer for a lossless class: flow control failed to protect it.
    lossless: Lossless,
    /// Lost to a link's error rate.
    error: Error,
    /// On a link that failed, or queued for one.
    link_down: LinkDown,
    /// No path to the destination.
    no_route: NoRoute,
    /// By a switch program.
    program: Program,
    /// Of a message blocked by a failure, which must not continue on another path (Dart IV-C).
    blocked: Blocked,
    /// At a host other than their destination.
    wrong_host: WrongHost,
    /// Beyond the queue of a shaped class: credits that a link has no room for. They are how credit-based schemes find
    /// the rates of their flows, and no loss of data.
    shaper: Shaper,
    /// At a port whose class a storm watchdog has found paused for too long.
    watchdog: Watchdog,
    /// Of a lossy class, without room in the receive buffer of a slow host.
    receiver: Receiver,
}

/// A single drop, pause or cyclic buffer dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incident {
    /// When.
    pub time: Time,
    /// The egress port: the one that a dropped packet came from or was to leave by, or the paused one.
    pub port: PortId,
    /// The kind of incident.
    pub what: What,
}

/// The kind of an [`Incident`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A packet was dropped.
    Dropped(DropCause),
    /// A class was paused.
    Paused(u8),
    /// A class was paused, which closed a cyclic buffer dependency: see [`crate::Simulation::circular_wait`].
    CircularWait(u8),
    /// A storm watchdog found a class paused for too long.
    Storm(u8),
    /// It stops to act, since pauses of the class have been absent.
    StormEnd(u8),
}

counters! {
    /// Number of incidents of each kind.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct IncidentCounts {
        /// Drops.
        pub drops: u64,
        /// Pauses.
        pub pauses: u64,
        /// Pauses that closed a cyclic buffer dependency.
        pub circular_waits: u64,
        /// Storms found by watchdogs.
        pub storms: u64,
        /// Those of them that ended.
        pub storm_ends: u64,
    }
}

impl IncidentCounts {
    fn of(&mut self, what: What) -> &mut u64 {
        match what {
            What::Dropped(_) => &mut self.drops,
            What::Paused(_) => &mut self.pauses,
            What::CircularWait(_) => &mut self.circular_waits,
            What::Storm(_) => &mut self.storms,
            What::StormEnd(_) => &mut self.storm_ends,
        }
    }
}

/// The first incidents of each kind, and how many there were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Incidents {
    /// The first ones in order of time, at most [`Incidents::KEPT`] of each kind.
    pub kept: Vec<Incident>,
    /// All of them.
    pub seen: IncidentCounts,
}

impl Incidents {
    /// Incidents kept of each kind.
    pub const KEPT: u64 = 1000;

    pub(crate) fn add(&mut self, time: Time, port: PortId, what: What) {
        let seen = self.seen.of(what);
        *seen += 1;
        if *seen <= Self::KEPT {
            self.kept.push(Incident { time, port, what });
        }
    }

    /// Those of a whole network, from those of its parts. Each part has the numbers of the events that caused those it
    /// has kept: two events of one instant happen in the order of these numbers, and the effects of one event are in
    /// order already.
    pub fn of_parts<'a>(seed: u64, parts: impl Iterator<Item = (&'a Self, &'a [u32])>) -> Self {
        let order = Order::new(seed);
        let mut all = Vec::new();
        let mut whole = Self::default();
        for (part, causes) in parts {
            let key = |cause: &u32, at| order.key(&Event { at, source: *cause, arg: 0 });
            all.extend(part.kept.iter().zip(causes).map(|(incident, cause)| (key(cause, incident.time), *incident)));
            whole.seen += &part.seen;
        }
        all.sort_by_key(|(key, _)| *key);
        let mut counted = IncidentCounts::default();
        for (_, incident) in all {
            let count = counted.of(incident.what);
            *count += 1;
            if *count <= Self::KEPT {
                whole.kept.push(incident);
            }
        }
        whole
    }
}

counters! {
    /// Conservation of bytes: `sent == delivered + dropped + in_flight` at every stop.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Ledger {
        /// Bytes of packets made.
        pub sent: u64,
        /// Bytes of packets that reached their destination.
        pub delivered: u64,
        /// Bytes of packets dropped.
        pub dropped: u64,
        /// Bytes of packets that exist now.
        pub in_flight: u64,
    }
}

counters! {
    /// Totals of a run.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Totals {
        /// Packets sent over one link each, ACKs and control included.
        pub packet_hops: u64,
        /// Events processed. Wake-ups of lazy ports are not counted: their number depends on the cut.
        pub events: u64,
        /// Hash over facts of the model; equal for equal runs on any machine and any cut into partitions.
        pub event_hash: u64,
        /// Packets dropped, by cause.
        pub drops: Drops,
        /// Packets cut to their headers at full queues.
        pub trimmed: u64,
        /// Conservation of bytes.
        pub ledger: Ledger,
        /// Totals of its hosts.
        pub hosts: HostTotals,
        /// Pauses that closed a cyclic buffer dependency, which may have dissolved since.
        pub circular_waits: u64,
        /// Storms found by the watchdogs of switches.
        pub storms: u64,
    }
}

/// One hop of a packet of a traced message: a node that it arrived at, or the host that sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// When it arrived at the node; at the host that sends it, when its first bit left.
    pub time: Time,
    /// Its message.
    pub message: u32,
    /// Its offset in the message.
    pub seq: u64,
    /// Its attempt.
    pub attempt: u16,
    /// Its size on the wire.
    pub wire: u16,
    /// The node.
    pub node: NodeId,
    /// Its egress port; `None` at its destination.
    pub port: Option<PortId>,
    /// Bytes queued ahead of it at that port, in its lane.
    pub queued: u64,
    /// Deflections left to it when it leaves.
    pub tokens: u8,
    /// The lane it leaves in.
    pub lane: u8,
    /// Deflections so far.
    pub deflected: u8,
}

impl Hop {
    /// How many a run keeps.
    pub const KEPT: usize = 1_000_000;
}

/// Why a traced message waits at its host. If several reasons hold at once, the first of them counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The host's overhead, before the message reaches its endpoint.
    Overhead,
    /// The TCP connection is not open yet.
    Handshake,
    /// Earlier messages of its connection.
    Earlier,
    /// ACKs, a NACK or a timeout: all of it has been sent.
    Acks,
    /// A link: none of its host is up, or the one of its path is down.
    Link,
    /// PFC: its class is paused at the port.
    Pfc,
    /// Its class lacks credits at the port.
    Credits,
    /// The window of the congestion control, or of the receiver, is full.
    Window,
    /// Pacing: its rate, or another lower bound of the scheme on the time of its next packet.
    Pacing,
    /// Other packets are sent by the port: those of other messages and control.
    Nic,
}

impl Cause {
    /// All of them, in order.
    pub const ALL: [Self; 10] = [
        Self::Overhead,
        Self::Handshake,
        Self::Earlier,
        Self::Acks,
        Self::Link,
        Self::Pfc,
        Self::Credits,
        Self::Window,
        Self::Pacing,
        Self::Nic,
    ];

    /// The name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overhead => "overhead",
            Self::Handshake => "handshake",
            Self::Earlier => "earlier",
            Self::Acks => "acks",
            Self::Link => "link",
            Self::Pfc => "pfc",
            Self::Credits => "credits",
            Self::Window => "window",
            Self::Pacing => "pacing",
            Self::Nic => "nic",
        }
    }
}

/// An interval in which a traced message waited at its host. Between these intervals it was sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostWait {
    /// The message.
    pub message: u32,
    /// The reason.
    pub cause: Cause,
    /// Start of the interval.
    pub begin: Time,
    /// End of the interval.
    pub end: Time,
}

impl HostWait {
    /// How many a run keeps.
    pub const KEPT: usize = 1_000_000;
}

/// An account of a switch's buffer, and the contents of the queues that it covers. The two are always equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferUse {
    /// Bytes by the account, updated by every packet in and out.
    pub counted: u64,
    /// Bytes summed over all queued packets.
    pub held: u64,
}
