//! Records of messages: the slots of their ends, and their results.

use super::NO_SLOT;
use fanin_cc::Actions;
use fanin_units::{Time, counters};

/// The record of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowRecord {
    /// When it was posted, or [`Time::NEVER`].
    pub start: Time,
    /// When its last byte arrived in order, or [`Time::NEVER`].
    pub finished: Time,
    /// When its sender knew that, or [`Time::NEVER`].
    pub acked: Time,
    /// Payload bytes asked for.
    pub bytes: u64,
    /// Payload bytes that arrived in order.
    pub delivered: u64,
    /// Completion time of the same message alone on the same path, store-and-forward.
    pub ideal: Time,
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Incast or collective, or `u32::MAX`.
    pub group: u32,
    /// Data packets sent, retransmissions included.
    pub packets_sent: u32,
    /// Data packets sent again.
    pub packets_resent: u32,
    /// Retransmission timeouts while it was the message being sent.
    pub timeouts: u32,
    /// Data packets that arrived with a congestion mark.
    pub packets_marked: u32,
    /// Data packets that arrived.
    pub packets_arrived: u32,
    /// Its traffic.
    pub traffic: u16,
    /// Links between its hosts.
    pub hops: u16,
    /// Links that its first packet crossed; 0 before that arrived.
    pub links: u16,
    /// Most deflections of one of its packets.
    pub deflections: u8,
    /// Attempts, at least 1 once it has started: each repaired loss adds one.
    pub attempts: u16,
    /// Data packets that arrived out of order: after a later one of the same attempt.
    pub reordered: u32,
    /// Whether it is a request: the application waits for its answer.
    pub request: bool,
    /// Whether its receiver knows that its queue pair was given up: what still comes of it is ignored.
    pub given_up: bool,
}

impl FlowRecord {
    /// A message that is not posted yet.
    pub fn new(src: u32, dst: u32, bytes: u64, traffic: u16, group: u32) -> Self {
        Self {
            start: Time::NEVER,
            finished: Time::NEVER,
            acked: Time::NEVER,
            bytes,
            ideal: Time::NEVER,
            src,
            dst,
            group,
            traffic,
            ..Self::default()
        }
    }
}

impl FlowRecord {
    /// The record of a message from those at its sender and at its receiver, which are apart. Both ends of a TCP
    /// connection have timers.
    pub fn of_two(sender: &Self, receiver: &Self) -> Self {
        Self {
            finished: receiver.finished,
            delivered: receiver.delivered,
            given_up: receiver.given_up,
            packets_marked: receiver.packets_marked,
            packets_arrived: receiver.packets_arrived,
            links: receiver.links,
            deflections: receiver.deflections,
            reordered: receiver.reordered,
            timeouts: sender.timeouts + receiver.timeouts,
            ..*sender
        }
    }
}

counters! {
    /// Totals of one traffic.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct TrafficCounters {
        /// Messages posted.
        pub started: u64,
        /// Messages whose last byte arrived.
        pub finished: u64,
        /// Payload bytes that arrived in order.
        pub delivered: u64,
        /// Data packets that arrived.
        pub packets_arrived: u64,
        /// Of those, with a congestion mark.
        pub packets_marked: u64,
        /// Of those that arrived, data packets that came out of order (RFC 4737): after one of the same attempt that is
        /// further on.
        pub reordered: u64,
        /// Largest reordering distance of one of them, in bytes: from its first byte to the end of the furthest packet.
        pub reorder_distance: u64 = max,
        /// Packets dropped, ACKs and retransmissions included, of all traffics with the same scheme and parameters.
        pub dropped: u64,
        /// Actions of its scheme, likewise.
        pub actions: Actions,
    }
}

counters! {
    /// Totals of hosts.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct HostTotals {
        /// Retransmission timeouts.
        pub timeouts: u64,
        /// Connections and queue pairs given up after too many retransmissions ([`crate::tcp::Config::retries`],
        /// [`super::EndpointConfig::retries`]).
        pub given_up: u64,
        /// NACKs sent.
        pub nacks: u64,
        /// Data packets of RDMA that brought nothing new: all their bytes had arrived before.
        pub duplicates: u64,
        /// Congestion notification packets sent.
        pub cnps: u64,
        /// Data packets that arrived out of order: after a later one of the same attempt of their message.
        pub reordered: u64,
        /// Largest reordering distance of one of them, in bytes.
        pub reorder_distance: u64 = max,
        /// Bytes sent over links beyond those of shortest paths, because of deflections.
        pub detour_bytes: u64,
    }
}

/// The slots of a message's two ends, or [`NO_SLOT`]: over RDMA of its queue pairs, over TCP of the two ends of its
/// connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// At its sender.
    pub send: u32,
    /// At its receiver.
    pub recv: u32,
}

impl Default for Ends {
    fn default() -> Self {
        Self { send: NO_SLOT, recv: NO_SLOT }
    }
}
