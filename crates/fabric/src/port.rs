//! Egress ports: class queues, the choice between them, and the link behind.

use crate::packet::PacketIx;
use fanin_units::{NodeId, Rate, Time};

/// When a port sends what its turn has come for, and whether the node behind it runs in another part of a network that is cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Some time after it was free, as if it had been then (`late.rs`).
    pub late: bool,
    /// To another part.
    pub away: bool,
}

/// One direction of a link and the port that feeds it. The first cache line is all that a packet needs of it.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Port {
    /// When the last bit of the packet being sent leaves.
    pub busy_until: Time,
    /// The one wake-up that counts; events of this port at other times are stale.
    pub wake_at: Time,
    /// Propagation delay.
    pub delay: Time,
    /// Data bytes queued, all classes.
    pub queued: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Packets sent.
    pub packets: u64,
    /// Picoseconds per byte where that is a whole number of 32 bits, else 0.
    ps_per_byte: u32,
    /// How often the link changed state.
    pub epoch: u16,
    /// When it sends.
    pub timing: Timing,
    /// Bit c: class c has packets. Bit 0 is control.
    pub waiting: u8,
    /// Bit c: the peer paused class c.
    pub paused: u8,
    /// Bit c: the peer has yet to be told whether class c is paused.
    pub pfc_pending: u8,
    /// The data class served last.
    pub turn: u8,
    /// Whether the link is up.
    pub up: bool,
    /// Which of the markings of its rate it has.
    pub marking: u8,
    /// Whether it is a host's.
    pub of_host: bool,
    /// Most data bytes ever queued, where that is not what the one data class says.
    pub peak_queue: u64,
    /// Rate.
    pub rate: Rate,
    /// The node that sends.
    pub node: NodeId,
    /// The node that receives.
    pub peer: NodeId,
    /// The host's NIC this is, or `u32::MAX` at a switch.
    pub nic: u32,
}

const _: () = assert!(core::mem::offset_of!(Port, peak_queue) == 64, "what a packet needs is one cache line");

/// The far end of one direction of a link: what an arriving packet needs of it.
#[derive(Clone, Copy, Debug)]
pub struct FarEnd {
    /// The node that receives.
    pub node: NodeId,
    /// What routes know it by.
    pub first_port: u32,
    /// How often the link changed state.
    pub epoch: u16,
    /// Whether packets can be lost on it.
    pub lossy: bool,
}

impl Port {
    /// An idle port.
    pub fn new(node: NodeId, peer: NodeId, rate: Rate, delay: Time) -> Self {
        let ps_per_byte = rate.whole_ps_per_byte().and_then(|ps| u32::try_from(ps).ok()).unwrap_or(0);
        Self {
            busy_until: Time::ZERO,
            wake_at: Time::NEVER,
            delay,
            queued: 0,
            bytes: 0,
            packets: 0,
            ps_per_byte,
            epoch: 0,
            waiting: 0,
            paused: 0,
            pfc_pending: 0,
            turn: 0,
            up: true,
            timing: Timing { late: false, away: false },
            marking: 0,
            of_host: false,
            peak_queue: 0,
            rate,
            node,
            peer,
            nic: u32::MAX,
        }
    }

    /// How long a packet of `wire` bytes takes to leave.
    #[inline(always)]
    pub fn tx_time(&self, wire: u32) -> Time {
        if self.ps_per_byte != 0 {
            Time::from_ps(self.ps_per_byte as u64 * wire as u64)
        } else {
            self.rate.tx_time(wire as u64)
        }
    }

    /// Classes that it could send of, and bit 0 for control and pause frames.
    #[inline(always)]
    pub fn ready(&self) -> u8 {
        self.waiting & !(self.paused & 0xFE) | (self.pfc_pending != 0) as u8
    }

    /// When it has to look at what waits, once it is busy.
    #[inline(always)]
    pub fn looks_at(&self) -> Time {
        if self.timing.late { self.busy_until.saturating_add(self.delay) } else { self.busy_until }
    }

    /// The next class of `classes` (a bit set without control) in turn after the one served last; those of `urgent` first.
    #[inline(always)]
    pub fn choose(&self, classes: u8, urgent: u8) -> u8 {
        let classes = if classes & urgent != 0 { classes & urgent } else { classes };
        let after = classes & (0xFEu8.checked_shl(self.turn as u32).unwrap_or(0));
        (if after != 0 { after } else { classes }).trailing_zeros() as u8
    }
}

/// A packet in a queue, with all that its port needs to serve it, so that the packet itself is not touched. Two words: what has
/// many small fields is written to memory in other parts than it is read back, which stalls.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(4))]
pub struct Queued {
    /// The packet, and above it the port it came in by.
    who: u64,
    /// Its bytes on the wire, its two classes, and whether it may be marked.
    what: u32,
}

const _: () = assert!(core::mem::size_of::<Queued>() == 12);

impl Queued {
    /// A packet that came in in `came_in` and leaves in `class`.
    #[inline(always)]
    pub fn new(ix: PacketIx, ingress: u32, wire: u16, came_in: u8, class: u8, markable: bool) -> Self {
        Self {
            who: ix as u64 | (ingress as u64) << 32,
            what: wire as u32 | (class as u32) << 16 | (came_in as u32) << 24 | (markable as u32) << 31,
        }
    }

    /// The packet.
    #[inline(always)]
    pub fn ix(&self) -> PacketIx {
        self.who as u32
    }

    /// The port it came in by, or `u32::MAX` when it holds no buffer.
    #[inline(always)]
    pub fn ingress(&self) -> u32 {
        (self.who >> 32) as u32
    }

    /// Its bytes on the wire.
    #[inline(always)]
    pub fn wire(&self) -> u16 {
        self.what as u16
    }

    /// The class it leaves in.
    #[inline(always)]
    pub fn class(&self) -> u8 {
        (self.what >> 16) as u8
    }

    /// The class it came in, whose buffer it holds.
    #[inline(always)]
    pub fn came_in(&self) -> usize {
        (self.what >> 24 & 0x7F) as usize
    }

    /// Whether it may be marked and is not yet.
    #[inline(always)]
    pub fn markable(&self) -> bool {
        self.what >> 31 != 0
    }
}

/// Packets that have left a queue before those behind them move to its start.
const SPENT: usize = 8;

/// A first-in first-out queue of packets.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Queue {
    /// The first of them, so that who serves the queue has to wait for no other line of the cache.
    front: Queued,
    /// How many there are.
    waiting: u32,
    /// Bytes in it.
    pub bytes: u64,
    /// Most bytes ever in it.
    pub peak: u64,
    /// Those behind the first in order, from `next` on; what came before has left.
    behind: Vec<Queued>,
    next: u32,
}

const _: () = assert!(core::mem::size_of::<Queue>() == 64);

impl Default for Queue {
    fn default() -> Self {
        let front = Queued::new(0, u32::MAX, 0, 0, 0, false);
        Self { front, waiting: 0, bytes: 0, peak: 0, behind: Vec::new(), next: 0 }
    }
}

impl Queue {
    /// Whether it holds nothing.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Adds a packet at the end.
    #[inline(always)]
    pub fn push(&mut self, queued: Queued) {
        self.bytes += queued.wire() as u64;
        self.peak = self.peak.max(self.bytes);
        if self.waiting == 0 {
            self.front = queued;
        } else {
            self.behind.push(queued);
        }
        self.waiting += 1;
    }

    /// Takes the first packet.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Queued> {
        self.waiting = self.waiting.checked_sub(1)?;
        let queued = self.front;
        self.bytes -= queued.wire() as u64;
        if let Some(&next) = self.behind.get(self.next as usize) {
            self.front = next;
            self.next += 1;
            let spent = self.next as usize;
            if spent == self.behind.len() {
                // A short queue begins anew in the same line of the cache.
                self.behind.clear();
                self.next = 0;
            } else if spent >= SPENT && 2 * spent >= self.behind.len() {
                self.behind.drain(..spent);
                self.next = 0;
            }
        }
        Some(queued)
    }

    /// What waits, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Queued> {
        let front = (self.waiting > 0).then_some(&self.front);
        front.into_iter().chain(&self.behind[self.next as usize..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_take_turns() {
        let mut port = Port::new(NodeId(0), NodeId(1), Rate::from_gbps(10), Time::ZERO);
        let mut order = Vec::new();
        for _ in 0..6 {
            port.turn = port.choose(0b1000_1010, 0);
            order.push(port.turn);
        }
        assert_eq!(order, [1, 3, 7, 1, 3, 7]);
        assert_eq!(port.choose(0b1000_1010, 0b1010), 1, "urgent classes come first");
        assert_eq!(port.choose(0b1000_0000, 0b1010), 7, "and hold back nothing where they are empty");
    }

    #[test]
    fn a_queue_is_first_in_first_out_and_forgets_who_left() {
        let packet = |ix: u32| Queued::new(ix, u32::MAX - ix, 64 + ix as u16 % 100, 5, 3, ix.is_multiple_of(2));
        let (mut queue, mut next, mut gone) = (Queue::default(), 0, 0);
        // Filled by 40 and emptied by 30 at a time until it holds 200, then the other way round; never longer than twice what waits.
        for (joins, leaves) in [(40, 30); 20].into_iter().chain([(30, 40); 30]) {
            for _ in 0..joins {
                queue.push(packet(next));
                next += 1;
            }
            assert!(queue.iter().map(Queued::ix).eq(gone..next));
            for _ in 0..leaves.min(next - gone) {
                let left = queue.pop().unwrap();
                assert_eq!((left.ix(), left.ingress(), left.wire()), (gone, u32::MAX - gone, 64 + gone as u16 % 100));
                assert_eq!((left.class(), left.came_in(), left.markable()), (3, 5, gone.is_multiple_of(2)));
                gone += 1;
            }
            assert!(queue.behind.len() < 2 * (next - gone) as usize + SPENT);
            assert_eq!(queue.is_empty(), next == gone);
            assert_eq!(queue.bytes, (gone..next).map(|ix| packet(ix).wire() as u64).sum::<u64>());
        }
        assert!(queue.is_empty() && queue.pop().is_none() && queue.next == 0);
    }

    #[test]
    fn transmission_times_agree_with_the_one_rule() {
        for bps in [1_000_000_000, 10_000_000_000, 3_333_333_333, 400_000_000_000, 380_956_790_481, 7] {
            let port = Port::new(NodeId(0), NodeId(1), Rate::from_bps(bps), Time::ZERO);
            for wire in [1, 64, 1499, 1500, 9000, 17_526] {
                assert_eq!(port.tx_time(wire), Rate::from_bps(bps).tx_time(wire as u64), "{bps} {wire}");
            }
        }
    }
}
