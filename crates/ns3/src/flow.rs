//! Flows and the NICs of their hosts.

use fanin_units::Time;
use std::collections::VecDeque;

/// A host's device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nic {
    /// Queued ACKs and NACKs.
    pub acks: VecDeque<u32>,
    /// Its flows in order of start times, until the scheduler skips a finished one.
    pub(crate) flows: Vec<u32>,
    /// Place of the flow served last.
    pub(crate) last: usize,
    /// Time of its next check whether a flow may send.
    pub(crate) look: Option<u64>,
    /// Number of the valid check.
    pub(crate) number: u32,
}

/// A flow: its sender, and the state of its receiver.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Source port.
    pub sport: u16,
    /// Destination port.
    pub dport: u16,
    /// Queue.
    pub pg: u8,
    /// Bytes.
    pub size: u64,
    /// Start, ns.
    pub start: u64,
    /// Whether all bytes are acknowledged.
    pub finished: bool,
    pub(crate) next: u64,
    pub(crate) acked: u64,
    pub(crate) device: u32,
    pub(crate) control: u32,
    pub(crate) window: u64,
    pub(crate) rate: u64,
    pub(crate) line: u64,
    pub(crate) next_at: u64,
    pub(crate) last_size: u32,
    pub(crate) wake_at: Time,
    pub(crate) timer: u32,
    pub(crate) expected: u32,
    /// Arrival time of its last byte, ns, or `u64::MAX`.
    pub arrived_at: u64,
    /// Time at which its sender knew that, ns, or `u64::MAX`.
    pub done_at: u64,
    /// Data packets sent.
    pub sent: u32,
    /// Retransmissions.
    pub retransmitted: u32,
    /// Data packets that arrived, and those of them with a mark.
    pub arrived: (u32, u32),
    pub(crate) furthest: u64,
    pub(crate) nacked: u32,
    pub(crate) nack_after: u64,
    /// When one of its packets last left its host, arrived, or was lost, ns.
    pub(crate) touched: u64,
}

impl Flow {
    /// The key under which its host finds it.
    pub(crate) fn key(&self) -> u64 {
        (crate::hash::address(self.dst) as u64) << 32 | (self.sport as u64) << 16 | self.pg as u64
    }

    /// The rate of its sender, bits per second.
    pub fn rate(&self) -> u64 {
        self.rate
    }

    /// Bytes that may be on their way.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// Bytes that have arrived in order.
    pub fn delivered(&self) -> u64 {
        self.expected as u64
    }
}
