//! The NIC of a host: senders take turns.

use super::{NO_SLOT, SendQp};
use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use fanin_units::Time;

/// A ring of senders through their `next_ready`.
#[derive(Clone, Copy)]
pub struct Ring {
    head: u32,
    tail: u32,
}

impl Default for Ring {
    fn default() -> Self {
        Self { head: NO_SLOT, tail: NO_SLOT }
    }
}

impl Ring {
    /// Whether no sender stands in it.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.head == NO_SLOT
    }

    /// Adds a sender at the end.
    #[inline(always)]
    pub(super) fn push<P>(&mut self, senders: &mut [SendQp<P>], slot: u32) {
        senders[slot as usize].next_ready = NO_SLOT;
        if self.head == NO_SLOT {
            self.head = slot;
        } else {
            senders[self.tail as usize].next_ready = slot;
        }
        self.tail = slot;
    }

    /// Adds a sender in front.
    pub(super) fn push_first<P>(&mut self, senders: &mut [SendQp<P>], slot: u32) {
        senders[slot as usize].next_ready = self.head;
        if self.head == NO_SLOT {
            self.tail = slot;
        }
        self.head = slot;
    }

    /// Removes a sender at any position: walks along the ring.
    pub(super) fn remove<P>(&mut self, senders: &mut [SendQp<P>], slot: u32) {
        let mut at = core::mem::take(self).head;
        while at != NO_SLOT {
            let next = senders[at as usize].next_ready;
            if at != slot {
                self.push(senders, at);
            }
            at = next;
        }
    }

    /// Takes the first sender.
    #[inline(always)]
    pub(super) fn pop<P>(&mut self, senders: &[SendQp<P>]) -> Option<u32> {
        if self.head == NO_SLOT {
            return None;
        }
        let slot = self.head;
        self.head = senders[slot as usize].next_ready;
        Some(slot)
    }
}

/// One NIC port of a host.
#[repr(C, align(64))]
pub struct Nic {
    /// When the first sender in the heap is due, so that the heap is not read until then.
    due: Time,
    /// The port, as [`super::Io`] numbers it.
    pub(super) port: u32,
    /// The host.
    pub(super) host: u32,
    /// Bit c: the ring of class c has senders.
    pub(super) ready_mask: u8,
    /// Senders that may send now, per data class from 1 (index 0 is not used).
    pub(super) ready: [Ring; 8],
    /// Senders that wait for their time: the time, the order and the slot.
    paced: BinaryHeap<Reverse<(Time, u32, u32)>>,
    /// Turns so far of senders that share state with others of their pair.
    pub(super) turns: u32,
}

impl Nic {
    /// A NIC without senders.
    pub(super) fn new(port: u32, host: u32) -> Self {
        let paced = BinaryHeap::new();
        Self { due: Time::NEVER, port, host, ready_mask: 0, ready: [Ring::default(); 8], paced, turns: 0 }
    }

    /// When the first of the senders that wait for their time is due.
    #[inline(always)]
    pub(super) fn due(&self) -> Time {
        self.due
    }

    /// Lets a sender wait until `at`; among senders due at the same time, the least order is first.
    #[inline(always)]
    pub(super) fn pace(&mut self, at: Time, order: u32, slot: u32) {
        self.due = self.due.min(at);
        self.paced.push(Reverse((at, order, slot)));
    }

    /// Takes the first sender whose time has come: since when, its order and its slot.
    #[inline(always)]
    pub(super) fn take_due(&mut self, now: Time) -> Option<(Time, u32, u32)> {
        if self.due > now {
            return None;
        }
        let Reverse(first) = self.paced.pop()?;
        self.due = self.paced.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at);
        Some(first)
    }

    /// Removes all senders.
    pub(super) fn forget_paced(&mut self) {
        self.due = Time::NEVER;
        self.paced.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn a_nic_gives_senders_back_when_they_are_due_and_in_order() {
        let mut nic = Nic::new(0, 0);
        assert_eq!((nic.due(), nic.take_due(Time::NEVER)), (Time::NEVER, None));
        let at = |us, order| (Time::from_us(us), order, order + 10);
        for (time, order, slot) in [at(5, 1), at(3, 4), at(3, 3), at(7, 2)] {
            nic.pace(time, order, slot);
        }
        assert_eq!((nic.due(), nic.take_due(Time::from_us(2))), (Time::from_us(3), None));
        let taken = |nic: &mut Nic, now| core::iter::from_fn(|| nic.take_due(Time::from_us(now))).collect::<Vec<_>>();
        assert_eq!(taken(&mut nic, 5), [at(3, 3), at(3, 4), at(5, 1)]);
        assert_eq!(nic.due(), Time::from_us(7));
        nic.forget_paced();
        assert_eq!((nic.due(), nic.take_due(Time::NEVER)), (Time::NEVER, None));
    }
}
