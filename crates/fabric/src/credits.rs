//! InfiniBand's credit flow control, per link and virtual lane; a data class is a lane (IBTA volume 1, section 7.9).
//!
//! The receiving end of a link counts its buffer in blocks of 64 B and tells the sending end, in flow control packets
//! (FCPs), up to which block it may send. A sender starts a packet only if all its blocks are covered, so nothing is
//! ever dropped for lack of buffer, and no headroom is needed. All counts are modulo 4096, so that a limit is at most
//! 2048 blocks ahead; an FCP also carries the sender's own count, so that what a link loses is found and given back.

use fanin_units::{Rate, Time};

/// Bytes of a block.
pub const BLOCK: u64 = 64;
/// Bytes of an FCP on the wire: operand, two counts and lane in 32 bits, a CRC of 16, and the two delimiters.
pub const FCP: u16 = 8;
/// Most blocks that a limit can be ahead.
const MOST: u32 = 2048;
/// Counts are modulo this plus one.
const MASK: u16 = 4095;

/// Blocks of a packet.
#[inline(always)]
pub fn blocks(wire: u64) -> u32 {
    wire.div_ceil(BLOCK) as u32
}

/// The sending end of a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sending {
    /// Blocks sent so far (FCTBS).
    pub sent: u16,
    /// The last limit that it was told (FCCL).
    pub limit: u16,
}

impl Sending {
    /// Whether a packet of so many blocks may start: (FCCL - FCTBS - blocks) mod 4096 is at most 2048, which is to say
    /// not negative.
    #[inline(always)]
    pub fn covers(&self, blocks: u32) -> bool {
        self.limit.wrapping_sub(self.sent).wrapping_sub(blocks as u16) & MASK <= MOST as u16
    }

    /// A packet starts.
    #[inline(always)]
    pub fn count(&mut self, blocks: u32) {
        self.sent = self.sent.wrapping_add(blocks as u16) & MASK;
    }
}

/// The receiving end of a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Receiving {
    /// Blocks received so far (ABR).
    received: u16,
    /// Blocks that hold packets, and how many there are.
    used: u32,
    size: u32,
    /// Most blocks ever used.
    peak: u32,
}

impl Receiving {
    /// An empty buffer of so many blocks.
    pub fn new(size: u32) -> Self {
        Self { size, ..Self::default() }
    }

    /// FCCL: ABR and the free blocks, of which no more than 2048 can be told.
    pub fn limit(&self) -> u16 {
        self.received.wrapping_add((self.size - self.used).min(MOST) as u16) & MASK
    }

    /// A packet arrives. False if it does not fit, and nothing is counted.
    pub fn arrives(&mut self, blocks: u32) -> bool {
        if self.used + blocks > self.size {
            return false;
        }
        self.received = self.received.wrapping_add(blocks as u16) & MASK;
        self.used += blocks;
        self.peak = self.peak.max(self.used);
        true
    }

    /// A packet leaves the buffer.
    pub fn frees(&mut self, blocks: u32) {
        self.used -= blocks;
    }

    /// An FCP told what the other end has sent: all of it has arrived before the FCP, or is lost (ABR <- FCTBS).
    /// Returns whether something was.
    pub fn learn(&mut self, sent: u16) -> bool {
        core::mem::replace(&mut self.received, sent) != sent
    }

    /// The link comes up: both ends count from zero, and packets in the buffer stay.
    pub fn restart(&mut self) {
        self.received = 0;
    }

    /// Blocks that hold packets.
    pub fn used(&self) -> u32 {
        self.used
    }

    /// Most blocks that ever held packets.
    pub fn peak(&self) -> u32 {
        self.peak
    }

    /// Blocks there are.
    pub fn size(&self) -> u32 {
        self.size
    }
}

/// The contents of an FCP, in the order of its fields.
pub fn encode(sent: u16, lane: u8, limit: u16) -> u32 {
    (sent as u32) << 16 | (lane as u32) << 12 | limit as u32
}

/// Of an FCP: blocks sent, lane, limit.
pub fn decode(fcp: u32) -> (u16, u8, u16) {
    ((fcp >> 16) as u16 & MASK, (fcp >> 12) as u8 & 15, fcp as u16 & MASK)
}

/// Longest time between two FCPs of a lane: 65,536 symbols, of 8 bits each on one of four physical lanes.
pub fn refresh(rate: Rate) -> Time {
    rate.tx_time(4 * 65_536)
}

/// The buffer in bytes with which packets of `wire` bytes keep a link full while the receiver forwards them as they
/// come.
///
/// The credits of a packet are back after its own time, both ways of the link and the FCP's time; the FCP may wait for
/// a full packet on the way back, and for those of other lanes. All packets that start in that time need room, the last
/// of them whole.
pub fn buffer_for(rate: Rate, delay: Time, wire: u64, lanes: u64) -> u64 {
    let span = delay + delay + rate.tx_time(wire) + rate.tx_time(wire) + rate.tx_time(FCP as u64 * lanes);
    let packets = span.as_ps().div_ceil(rate.tx_time(wire).as_ps().max(1));
    packets.saturating_mul(wire.div_ceil(BLOCK) * BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_modulo_4096_decide_as_counts_without_end_would() {
        // Whole counts beside the real ones, over a link that loses packets and FCPs, each in order.
        let mut seed = 7u64;
        let mut draw = move |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for size in [24, 100, 2047, 2048, 2049, 5000] {
            let (mut sending, mut receiving) = (Sending::default(), Receiving::new(size));
            sending.limit = receiving.limit();
            // Sent and limit; received and used, all since the beginning.
            let (mut sent, mut limit) = (0u64, u64::from(size.min(2048)));
            let (mut received, mut held) = (0u64, std::collections::VecDeque::new());
            let mut blocked = 0;
            for _ in 0..20_000 {
                let n = 1 + draw(24) as u32;
                let may = sent + u64::from(n) <= limit;
                assert_eq!(sending.covers(n), may, "{size}: {sent} + {n} to {limit}");
                if may {
                    sending.count(n);
                    sent += u64::from(n);
                    if draw(20) > 0 {
                        assert!(receiving.arrives(n), "it fits whatever was lost");
                        received += u64::from(n);
                        held.push_back(n);
                    }
                } else {
                    blocked += 1;
                }
                if draw(3) > 0
                    && let Some(n) = held.pop_front()
                {
                    receiving.frees(n);
                }
                // The other end's FCP brings what was sent, and ours the limit; either may be lost.
                if draw(4) == 0 {
                    assert_eq!(receiving.learn(sending.sent), received != sent);
                    received = sent;
                }
                if draw(2) == 0 {
                    sending.limit = receiving.limit();
                    let free = u64::from(size - held.iter().sum::<u32>());
                    limit = received + free.min(2048);
                }
                assert_eq!(u64::from(receiving.used()), held.iter().map(|n| u64::from(*n)).sum::<u64>());
                assert!(receiving.used() <= size && receiving.peak() <= size);
            }
            assert!(sent > 3 * 4096 && (blocked > 0 || size > 2048), "the counts went round several times");
        }
    }

    #[test]
    fn fcps_have_the_layout_of_the_standard() {
        assert_eq!(encode(0xABC, 5, 0xDEF), 0x0ABC_5DEF);
        assert_eq!(decode(0x0ABC_5DEF), (0xABC, 5, 0xDEF));
    }

    #[test]
    fn a_packet_needs_whole_blocks() {
        assert_eq!([1, 64, 65, 1500, 1536, 1537].map(blocks), [1, 1, 2, 24, 24, 25]);
        let sending = Sending { sent: 4090, limit: 10 };
        assert!(sending.covers(16) && !sending.covers(17), "ten beyond 4096, and six before");
    }

    #[test]
    fn a_link_needs_its_round_trip_and_two_packets_or_three() {
        // 100 Gb/s, 1 us: 25,000 B of flight, 3,008 B of packets and FCP: 18.7 packets of 24 blocks.
        assert_eq!(buffer_for(Rate::from_gbps(100), Time::from_us(1), 1500, 1), 19 * 1536);
        assert_eq!(refresh(Rate::from_gbps(8)), Time::from_ns(262_144), "4 ns per symbol at 8 Gb/s on four lanes");
    }
}
