//! Egress ports: the choice between their queues, and the link behind.

use fanin_units::{NodeId, Rate, Time};

/// Where a port leads to that does not lead to another part of a network that is cut.
pub const WITHIN: u16 = u16::MAX;

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
    /// The part of the network that it leads to, or [`WITHIN`].
    pub to_part: u16,
    /// Whether it sends some time after it was free, as if it had been then (`late.rs`).
    pub late: bool,
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
            to_part: WITHIN,
            late: false,
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
        if self.late { self.busy_until.saturating_add(self.delay) } else { self.busy_until }
    }

    /// The next class of `classes` (a bit set without control) in turn after the one served last; those of `urgent` first.
    #[inline(always)]
    pub fn choose(&self, classes: u8, urgent: u8) -> u8 {
        let classes = if classes & urgent != 0 { classes & urgent } else { classes };
        let after = classes & (0xFEu8.checked_shl(self.turn as u32).unwrap_or(0));
        (if after != 0 { after } else { classes }).trailing_zeros() as u8
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
    fn transmission_times_agree_with_the_one_rule() {
        for bps in [1_000_000_000, 10_000_000_000, 3_333_333_333, 400_000_000_000, 380_956_790_481, 7] {
            let port = Port::new(NodeId(0), NodeId(1), Rate::from_bps(bps), Time::ZERO);
            for wire in [1, 64, 1499, 1500, 9000, 17_526] {
                assert_eq!(port.tx_time(wire), Rate::from_bps(bps).tx_time(wire as u64), "{bps} {wire}");
            }
        }
    }
}
