//! The state of a receiver: what has come, and what an ACK says of it.
//!
//! Source: uet-htsim's sink of UEC; Ultra Ethernet 1.0, packet delivery (selective acknowledgements).

use std::collections::VecDeque;

use crate::packet::{Packet, Sending};
use fanin_cc::uet::Demand;
use fanin_engine::prefetch;

/// What a receiver counts of packets with payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Packets that arrived.
    pub packets: u32,
    /// Of those, packets with a mark.
    pub marked: u32,
    /// Of those, packets sent once that arrived behind a later one.
    pub reordered: u32,
    /// The largest number of packets by which one of them was late.
    pub late_by: u32,
    /// The packet after the last one so far.
    next: u32,
}

impl Arrivals {
    pub(crate) fn count(&mut self, packet: &Packet) {
        self.packets += 1;
        self.marked += u32::from(packet.marked);
        if packet.psn >= self.next {
            self.next = packet.psn + 1;
        } else if packet.sending != Sending::Again {
            self.reordered += 1;
            self.late_by = self.late_by.max(self.next - packet.psn);
        }
    }
}

/// The state of a receiver.
pub struct Receiver {
    pub(crate) flow: u32,
    pub(crate) host: u32,
    pub(crate) sender_host: u32,
    pub(crate) expected: u32,
    /// Which packets from `expected` on have come.
    pub(crate) come: VecDeque<bool>,
    pub(crate) ahead: u32,
    pub(crate) accepted: u16,
    pub(crate) total: u64,
    pub(crate) payload: u64,
    pub(crate) ack_wanted: bool,
    pub(crate) demand: Demand,
    /// Pulls sent, modulo 128.
    pub(crate) pulls: u16,
    pub(crate) arrivals: Arrivals,
}

impl Receiver {
    /// A receiver that has received nothing.
    pub fn new(flow: u32, host: u32, sender_host: u32) -> Self {
        Self {
            flow,
            host,
            sender_host,
            expected: 0,
            come: VecDeque::new(),
            ahead: 0,
            accepted: 0,
            total: 0,
            payload: 0,
            ack_wanted: false,
            demand: Demand::default(),
            pulls: 0,
            arrivals: Arrivals::default(),
        }
    }

    /// Fetches into the cache whether a packet has come.
    pub(crate) fn prefetch(&self, psn: u32) {
        if let Some(come) = self.come.get(psn.wrapping_sub(self.expected) as usize) {
            prefetch(core::slice::from_ref(come), 0);
        }
    }

    pub(crate) fn has(&self, psn: u32) -> bool {
        psn < self.expected || self.come.get((psn - self.expected) as usize).copied().unwrap_or(false)
    }

    /// Takes a new packet in; tells whether it was the one expected and left no gap.
    pub(crate) fn take(&mut self, psn: u32) -> bool {
        let index = (psn - self.expected) as usize;
        if index > 0 {
            if self.come.len() <= index {
                self.come.resize(index + 1, false);
            }
            self.come[index] = true;
            self.ahead += 1;
            return false;
        }
        self.expected += 1;
        self.come.pop_front();
        while self.come.front() == Some(&true) {
            self.come.pop_front();
            self.expected += 1;
            self.ahead -= 1;
        }
        self.ahead == 0
    }

    /// Where the bitmap of an ACK begins, so that the packet is in it.
    pub(crate) fn base(&self, psn: u32) -> u32 {
        psn.saturating_sub(63).max(self.expected + 1)
    }

    pub(crate) fn bitmap(&self, base: u32) -> u64 {
        let bit = |i: u32| (base + i).checked_sub(self.expected).and_then(|at| self.come.get(at as usize));
        (0..64).filter(|&i| bit(i) == Some(&true)).fold(0, |map, i| map | 1 << i)
    }
}
