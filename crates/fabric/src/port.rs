//! Egress ports: scheduling of their queues, and the link.

use fanin_endpoint::shaper::{next_class, ps_per_byte, tx_time};
use fanin_units::{NodeId, PortId, Rate, Time};

/// A port as its partition numbers it: the row of all tables of ports.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PortIx(pub u32);

impl PortIx {
    /// No port.
    pub const NONE: Self = Self(u32::MAX);

    /// As an index.
    #[inline(always)]
    pub const fn ix(self) -> usize {
        self.0 as usize
    }

    /// The other port of the link, in a network of one partition: there the two rows are adjacent.
    #[inline(always)]
    pub const fn reverse(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// Of [`Port`]: it leads to a node of the same partition.
const WITHIN: u16 = u16::MAX;
/// Of [`Port`]: its link is up.
const UP: u8 = 1;
/// Of [`Port`]: departures from it are lazy.
const LAZY: u8 = 2;
/// Of [`Port`]: it is a host's.
const OF_HOST: u8 = 4;

/// One direction of a link and the port that feeds it. The first cache line has all fields needed per packet.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub struct Port {
    /// When the last bit of the packet being sent leaves.
    pub busy_until: Time,
    /// The one valid wake-up; events of this port at other times are stale.
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
    /// Its number in the whole network.
    pub id: PortId,
    /// Bits [`UP`], [`LAZY`] and [`OF_HOST`].
    state: u8,
    /// Bit c: class c has packets. Bit 0 is control.
    pub waiting: u8,
    /// Bit c: the peer paused class c.
    pub paused: u8,
    /// Bit c: the pause state of class c is still to be sent to the peer.
    pub pfc_pending: u8,
    /// The data class served last.
    pub turn: u8,
    /// The row of its markings.
    pub marking: u8,
    /// The partition that it leads to, or [`WITHIN`].
    to_partition: u16,
    /// Most data bytes ever queued, with several data classes.
    pub peak_queue: u64,
    /// Rate.
    pub rate: Rate,
    /// The node that sends.
    pub node: NodeId,
    /// The node that receives.
    pub peer: NodeId,
    /// The host's NIC that it is, if it is one.
    nic: u32,
    /// The row of its node among the hosts or the switches of its partition.
    pub home: u32,
    /// Number of state changes of the link.
    pub epoch: u16,
}

const _: () = assert!(core::mem::offset_of!(Port, peak_queue) == 64, "what a packet needs is one cache line");

impl Port {
    /// An idle port.
    pub fn new(id: PortId, node: NodeId, peer: NodeId, rate: Rate, delay: Time) -> Self {
        Self {
            wake_at: Time::NEVER,
            delay,
            ps_per_byte: ps_per_byte(rate),
            id,
            state: UP,
            to_partition: WITHIN,
            rate,
            node,
            peer,
            ..Self::default()
        }
    }

    /// Whether it is a host's.
    #[inline(always)]
    pub fn of_host(&self) -> bool {
        self.state & OF_HOST != 0
    }

    /// The host's NIC that it is, if it is one.
    #[inline(always)]
    pub fn nic(&self) -> Option<u32> {
        self.of_host().then_some(self.nic)
    }

    /// It is this NIC of its host.
    pub fn set_nic(&mut self, nic: u32) {
        self.nic = nic;
        self.state |= OF_HOST;
    }

    /// Whether the link is up.
    #[inline(always)]
    pub fn up(&self) -> bool {
        self.state & UP != 0
    }

    /// Whether departures from it are lazy (`lazy.rs`).
    #[inline(always)]
    pub fn lazy(&self) -> bool {
        self.state & LAZY != 0
    }

    /// The link goes down or comes up.
    pub fn set_up(&mut self, up: bool) {
        self.state = self.state & !UP | if up { UP } else { 0 };
    }

    /// Makes departures lazy or eager.
    pub fn set_lazy(&mut self, lazy: bool) {
        self.state = self.state & !LAZY | if lazy { LAZY } else { 0 };
    }

    /// The partition that it leads to, if that is another one.
    #[inline(always)]
    pub fn remote(&self) -> Option<u16> {
        (self.to_partition != WITHIN).then_some(self.to_partition)
    }

    /// It leads to another partition.
    pub fn set_remote(&mut self, partition: u16) {
        self.to_partition = partition;
    }

    /// Transmission time of a packet of `wire` bytes.
    #[inline(always)]
    pub fn tx_time(&self, wire: u32) -> Time {
        tx_time(self.ps_per_byte, self.rate, wire)
    }

    /// Classes that it could send, and bit 0 for control and pause frames.
    #[inline(always)]
    pub fn ready(&self) -> u8 {
        self.waiting & !(self.paused & 0xFE) | (self.pfc_pending != 0) as u8
    }

    /// When it has to be served next for queued packets, once it is busy.
    #[inline(always)]
    pub fn serve_at(&self) -> Time {
        if self.lazy() { self.busy_until.saturating_add(self.delay) } else { self.busy_until }
    }

    /// The next class of `classes` (a bit set without control) in turn after the one served last; those of `urgent`
    /// first.
    #[inline(always)]
    pub fn choose(&self, classes: u8, urgent: u8) -> u8 {
        next_class(classes, urgent, self.turn)
    }
}

/// A set of ports.
pub struct PortSet(Vec<u64>);

impl PortSet {
    /// An empty set.
    pub fn none_of(ports: usize) -> Self {
        Self(vec![0; ports.div_ceil(64)])
    }

    /// Adds one.
    pub fn insert(&mut self, port: PortIx) {
        self.0[port.ix() / 64] |= 1 << (port.ix() % 64);
    }

    /// Removes one.
    pub fn remove(&mut self, port: PortIx) {
        self.0[port.ix() / 64] &= !(1 << (port.ix() % 64));
    }

    /// How many words of 64 ports there are.
    pub fn words(&self) -> usize {
        self.0.len()
    }

    /// A copy of the ports of one word: the set may change meanwhile.
    pub fn of_word(&self, at: usize) -> impl Iterator<Item = PortIx> + use<> {
        let mut word = self.0[at];
        std::iter::from_fn(move || {
            let bit = (word != 0).then(|| word.trailing_zeros())?;
            word &= word - 1;
            Some(PortIx((64 * at) as u32 + bit))
        })
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = PortIx> + '_ {
        (0..self.words()).flat_map(|at| self.of_word(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_take_turns() {
        let mut port = Port::new(PortId(0), NodeId(0), NodeId(1), Rate::from_gbps(10), Time::ZERO);
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
    fn transmission_times_agree_with_the_one_rule() {
        for bps in [1_000_000_000, 10_000_000_000, 3_333_333_333, 400_000_000_000, 380_956_790_481, 7] {
            let port = Port::new(PortId(0), NodeId(0), NodeId(1), Rate::from_bps(bps), Time::ZERO);
            for wire in [1, 64, 1499, 1500, 9000, 17_526] {
                assert_eq!(port.tx_time(wire), Rate::from_bps(bps).tx_time(wire as u64), "{bps} {wire}");
            }
        }
    }
}
