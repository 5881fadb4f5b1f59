//! What a simulation knows when it stops. The record crate makes tables of these.

pub use fanin_endpoint::host::{FlowRecord, HostTotals, TrafficCounters};
use fanin_units::{NodeId, PortId, Time};

/// Counters of one class at one port. What a port counts by class is the sum of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounters {
    /// Packets marked by its queue.
    pub marked: u64,
    /// Packets dropped that wanted to leave here, or were lost on the link behind.
    pub dropped: u64,
    /// Most bytes ever queued.
    pub peak_queue: u64,
    /// How long the peer paused it.
    pub paused: Time,
    /// PAUSE frames received for it.
    pub pauses: u64,
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
    /// Data packets dropped that wanted to leave here.
    pub dropped: u64,
    /// Most data bytes ever queued.
    pub peak_queue: u64,
    /// How long data was paused by the peer, summed over classes.
    pub paused: Time,
    /// PAUSE frames received.
    pub pauses: u64,
}

/// Why packets were dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// No buffer for a lossy class.
    pub buffer: u64,
    /// No buffer for a lossless class: PFC failed to protect it.
    pub lossless: u64,
    /// Lost to a link's error rate.
    pub error: u64,
    /// On a link that went down, or queued for one.
    pub link_down: u64,
    /// No way to the destination.
    pub no_route: u64,
    /// By a switch program.
    pub program: u64,
    /// Of a message that a failure blocked: it may not go on by another way (Dart IV-C).
    pub blocked: u64,
    /// At a host that they were not for.
    pub wrong_host: u64,
}

impl Drops {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.buffer
            + self.lossless
            + self.error
            + self.link_down
            + self.no_route
            + self.program
            + self.blocked
            + self.wrong_host
    }
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCause {
    /// See [`Drops::buffer`].
    Buffer,
    /// See [`Drops::lossless`].
    Lossless,
    /// See [`Drops::error`].
    Error,
    /// See [`Drops::link_down`].
    LinkDown,
    /// See [`Drops::no_route`].
    NoRoute,
    /// See [`Drops::program`].
    Program,
    /// See [`Drops::blocked`].
    Blocked,
    /// See [`Drops::wrong_host`].
    WrongHost,
}

impl Drops {
    pub(crate) fn count(&mut self, cause: DropCause) {
        match cause {
            DropCause::Buffer => self.buffer += 1,
            DropCause::Lossless => self.lossless += 1,
            DropCause::Error => self.error += 1,
            DropCause::LinkDown => self.link_down += 1,
            DropCause::NoRoute => self.no_route += 1,
            DropCause::Program => self.program += 1,
            DropCause::Blocked => self.blocked += 1,
            DropCause::WrongHost => self.wrong_host += 1,
        }
    }
}

/// Something worth a line of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incident {
    /// When.
    pub time: Time,
    /// At which egress port: the one a dropped packet came from or wanted to leave by, or the one that was paused.
    pub port: PortId,
    /// What happened.
    pub what: What,
}

/// What an [`Incident`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A packet was dropped.
    Dropped(DropCause),
    /// A class was paused.
    Paused(u8),
    /// A class was paused, and now waits for itself by way of others: see [`crate::Simulation::circular_wait`].
    CircularWait(u8),
}

/// The first incidents of each kind, and how many there were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Incidents {
    /// The first ones in order of time, at most [`Incidents::KEPT`] of each kind.
    pub kept: Vec<Incident>,
    /// All drops.
    pub drops: u64,
    /// All pauses.
    pub pauses: u64,
    /// All pauses that closed a circular wait.
    pub circular_waits: u64,
}

impl Incidents {
    /// How many of a kind are kept.
    pub const KEPT: u64 = 1000;

    pub(crate) fn add(&mut self, time: Time, port: PortId, what: What) {
        let seen = match what {
            What::Dropped(_) => &mut self.drops,
            What::Paused(_) => &mut self.pauses,
            What::CircularWait(_) => &mut self.circular_waits,
        };
        *seen += 1;
        if *seen <= Self::KEPT {
            self.kept.push(Incident { time, port, what });
        }
    }
}

/// Where all bytes are: `sent == delivered + dropped + in_flight` at every stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Bytes of packets made.
    pub sent: u64,
    /// Bytes of packets that reached their end.
    pub delivered: u64,
    /// Bytes of packets dropped.
    pub dropped: u64,
    /// Bytes of packets that exist now.
    pub in_flight: u64,
}

/// Totals of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Packets sent over one link each, ACKs and control included.
    pub packet_hops: u64,
    /// Events that happened. Looks of switches at their ports are none: how many there are depends on the cut.
    pub events: u64,
    /// Hash over facts of the model; equal for equal runs on any machine and any cut into partitions.
    pub event_hash: u64,
    /// Packets dropped, by cause.
    pub drops: Drops,
    /// Where all bytes are.
    pub ledger: Ledger,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// NACKs sent.
    pub nacks: u64,
    /// Congestion notification packets sent.
    pub cnps: u64,
    /// Pauses that closed a circular wait, which may have dissolved since.
    pub circular_waits: u64,
    /// Data packets that arrived behind a later one of the same attempt of their message.
    pub reordered: u64,
    /// Most bytes by which one of them came behind.
    pub reorder_distance: u64,
    /// Bytes of packets on links beyond those of their shortest ways, by deflection.
    pub detour_bytes: u64,
}

/// One hop of a packet of a message that is traced: a node that it came by, or the host that it left.
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
    /// Where it leaves; `None` at the host that it is for.
    pub port: Option<PortId>,
    /// Bytes ahead of it there, in its lane.
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

/// What keeps a traced message at its host. Where several hold at once, the first of them counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The host's overhead, before its endpoint has the message.
    Overhead,
    /// The TCP connection is not open yet.
    Handshake,
    /// Earlier messages of its connection.
    Earlier,
    /// All of it was sent: ACKs, a NACK or a timeout.
    Acks,
    /// No link of its host is up, or the one that it leaves by is down.
    Link,
    /// PFC paused its class at the port.
    Pfc,
    /// The window is full: that of the congestion control, or the receiver's.
    Window,
    /// Its rate, or another bound of the scheme on when its next packet leaves.
    Pacing,
    /// Other packets leave by the port: those of other messages and control.
    Nic,
}

impl Cause {
    /// All of them, in order.
    pub const ALL: [Self; 9] = [
        Self::Overhead,
        Self::Handshake,
        Self::Earlier,
        Self::Acks,
        Self::Link,
        Self::Pfc,
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
            Self::Window => "window",
            Self::Pacing => "pacing",
            Self::Nic => "nic",
        }
    }
}

/// A stretch of time in which a traced message waited at its host. Between its stretches it was sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostWait {
    /// The message.
    pub message: u32,
    /// What for.
    pub cause: Cause,
    /// From when ...
    pub begin: Time,
    /// ... until when.
    pub end: Time,
}

impl HostWait {
    /// How many a run keeps.
    pub const KEPT: usize = 1_000_000;
}

/// What an account of a switch's buffer says, and what the queues that it is kept for hold. The two are always equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferUse {
    /// Bytes by the account, which every packet in and out changes.
    pub counted: u64,
    /// Bytes by adding up all packets that wait.
    pub held: u64,
}
