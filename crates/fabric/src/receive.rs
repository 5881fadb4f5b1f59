//! The receive buffer of a host's NIC that may be slow: packets wait in it, and are taken out one after the other.
//!
//! How the sender learns that the buffer is full is no concern of this file: [`ReceiveBuffer::full`] says which classes
//! should stop, and the network turns that into pauses. With credits no class is ever full: what waits here holds
//! credits of the link.

use crate::packet::PacketIx;
use crate::pfc::{Admission, Ingress};
use fanin_units::{Rate, Time};
use std::collections::VecDeque;

/// The packets of all data classes in the order of their arrival.
pub(crate) struct ReceiveBuffer {
    waiting: VecDeque<Waiting>,
    /// When the first one has been taken.
    taken_at: Time,
    /// The rate at which packets are taken, and that of the link.
    rate: Rate,
    line: Rate,
    /// By class.
    accounts: Vec<Ingress>,
    /// Bytes per class.
    bytes: u64,
    /// Bytes below the threshold at which a class may send again.
    gap: u64,
    /// Largest packet.
    largest: u64,
}

struct Waiting {
    ix: PacketIx,
    class: u8,
    wire: u16,
}

/// The result of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The packet waits. Whether its class became full.
    Waits { filled: bool },
    /// There is no room for it.
    Dropped,
}

impl ReceiveBuffer {
    /// An empty buffer of a NIC at a link of this rate, which for now is not slow. `headroom` is that of the link.
    pub fn new(classes: usize, line: Rate, headroom: u64, largest: u64) -> Self {
        Self {
            waiting: VecDeque::new(),
            taken_at: Time::NEVER,
            rate: line,
            line,
            accounts: vec![Ingress { reserved: headroom, ..Ingress::default() }; classes],
            bytes: u64::MAX,
            gap: 2 * largest,
            largest,
        }
    }

    /// Whether packets pass without waiting.
    pub fn passes(&self) -> bool {
        self.rate == self.line && self.waiting.is_empty()
    }

    /// From now on packets are taken at this rate, the first one too where that is sooner; the buffer has this size.
    pub fn set(&mut self, now: Time, rate: Rate, bytes: u64) {
        (self.rate, self.bytes) = (rate, bytes);
        if let Some(first) = self.waiting.front() {
            self.taken_at = self.taken_at.min(now.saturating_add(rate.tx_time(first.wire as u64)));
        }
    }

    /// As it was before: packets are taken at the rate of the link, and there is room for all that still come.
    pub fn reset(&mut self, now: Time) {
        self.set(now, self.line, u64::MAX);
    }

    /// A packet arrives.
    pub fn arrive(&mut self, now: Time, ix: PacketIx, (class, wire): (u8, u16), lossless: bool) -> Arrival {
        let account = &mut self.accounts[class as usize];
        let admission = if lossless {
            let threshold = self.bytes.saturating_sub(account.reserved);
            account.admit(wire as u64, threshold, account.reserved.saturating_sub(self.largest - 1))
        } else if account.shared + wire as u64 > self.bytes {
            Admission::Drop
        } else {
            account.shared += wire as u64;
            Admission::Admit
        };
        if admission == Admission::Drop {
            return Arrival::Dropped;
        }
        if self.waiting.is_empty() {
            self.taken_at = now.saturating_add(self.rate.tx_time(wire as u64));
        }
        self.waiting.push_back(Waiting { ix, class, wire });
        Arrival::Waits { filled: admission == Admission::AdmitAndPause }
    }

    /// The packets that wait: the class and the size of each.
    pub fn waiting(&self) -> impl Iterator<Item = (u8, u16)> {
        self.waiting.iter().map(|packet| (packet.class, packet.wire))
    }

    /// When the next packet has been taken.
    pub fn next_at(&self) -> Time {
        self.taken_at
    }

    /// The packet that has been taken by now, and the class that has room again.
    pub fn take(&mut self, now: Time) -> Option<(PacketIx, Option<u8>)> {
        if self.taken_at > now {
            return None;
        }
        let Waiting { ix, class, wire } = self.waiting.pop_front()?;
        let next = self.waiting.front().map(|next| self.rate.tx_time(next.wire as u64));
        self.taken_at = next.map_or(Time::NEVER, |time| now.saturating_add(time));
        let account = &mut self.accounts[class as usize];
        account.release(wire as u64);
        let resumes = account.may_resume(self.bytes.saturating_sub(account.reserved), self.gap);
        if resumes {
            account.paused = false;
        }
        Some((ix, resumes.then_some(class)))
    }

    /// The classes whose sender should stop.
    pub fn full(&self) -> u8 {
        (0u8..).zip(&self.accounts).filter(|(_, account)| account.paused).fold(0, |mask, (class, _)| mask | 1 << class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: Rate = Rate::from_gbps(10);

    fn buffer() -> ReceiveBuffer {
        let mut buffer = ReceiveBuffer::new(2, LINE, 4500, 1500);
        // A packet of 1,500 bytes takes 12 us.
        buffer.set(Time::ZERO, Rate::from_gbps(1), 9000);
        buffer
    }

    #[test]
    fn packets_are_taken_one_after_the_other_at_the_given_rate() {
        let mut buffer = buffer();
        assert_eq!(buffer.next_at(), Time::NEVER);
        assert_eq!(buffer.arrive(Time::from_us(5), 7, (1, 1500), true), Arrival::Waits { filled: false });
        assert_eq!(buffer.arrive(Time::from_us(6), 8, (1, 750), true), Arrival::Waits { filled: false });
        assert_eq!((buffer.next_at(), buffer.take(Time::from_us(16))), (Time::from_us(17), None));
        assert_eq!(buffer.take(Time::from_us(17)), Some((7, None)));
        assert_eq!(buffer.next_at(), Time::from_us(23));
        assert_eq!(buffer.take(Time::from_us(23)), Some((8, None)));
        assert!(!buffer.passes() && buffer.next_at() == Time::NEVER);
        buffer.reset(Time::from_us(24));
        assert!(buffer.passes());
    }

    #[test]
    fn a_lossless_class_stops_at_the_headroom_and_goes_on_two_packets_below() {
        let mut buffer = buffer();
        let arrive = |buffer: &mut ReceiveBuffer| buffer.arrive(Time::ZERO, 0, (1, 1500), true);
        // 9,000 less 4,500 of headroom: the third packet reaches the threshold.
        assert_eq!([0; 2].map(|_| arrive(&mut buffer)), [Arrival::Waits { filled: false }; 2]);
        assert_eq!((arrive(&mut buffer), buffer.full()), (Arrival::Waits { filled: true }, 0b10));
        // Of the headroom, 1,499 bytes are for the packet that crosses the threshold: two more fit.
        assert_eq!([0; 2].map(|_| arrive(&mut buffer)), [Arrival::Waits { filled: false }; 2]);
        assert_eq!(arrive(&mut buffer), Arrival::Dropped);
        let taken: Vec<Option<u8>> = (1..=5).map(|i| buffer.take(Time::from_us(12 * i)).unwrap().1).collect();
        // 4,500 - 3,000 = 1,500 bytes may be left.
        assert_eq!(taken, [None, None, None, Some(1), None]);
        assert_eq!(buffer.full(), 0);
    }

    #[test]
    fn a_lossy_class_loses_what_does_not_fit() {
        let mut buffer = buffer();
        for _ in 0..6 {
            assert_eq!(buffer.arrive(Time::ZERO, 0, (1, 1500), false), Arrival::Waits { filled: false });
        }
        assert_eq!(buffer.arrive(Time::ZERO, 0, (1, 1), false), Arrival::Dropped);
    }

    #[test]
    fn when_the_fault_ends_the_first_packet_is_taken_at_line_rate_too() {
        let mut buffer = buffer();
        buffer.arrive(Time::ZERO, 0, (1, 1500), true);
        buffer.arrive(Time::ZERO, 1, (1, 1500), true);
        buffer.reset(Time::from_us(2));
        assert_eq!(buffer.next_at(), Time::from_us(2) + LINE.tx_time(1500));
        buffer.take(buffer.next_at()).unwrap();
        assert!(!buffer.passes());
        assert_eq!(buffer.next_at(), Time::from_us(2) + LINE.tx_time(3000));
        // Not later than it would have been.
        let mut late = self::buffer();
        late.arrive(Time::ZERO, 0, (1, 1500), true);
        late.reset(Time::from_ns(11_900));
        assert_eq!(late.next_at(), Time::from_us(12));
    }
}
