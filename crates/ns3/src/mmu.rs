//! A switch's buffer: reserve, shared and headroom per ingress device and queue; marking thresholds per egress.

use fanin_formats::hpcc::Config;

/// Queues of a device; queue 0 bypasses the buffer.
pub const QUEUES: usize = 8;
/// Reserved bytes of each device.
const RESERVE: u32 = 4 * 1024;
/// RESUME when the shared part is this much below the threshold.
const RESUME_OFFSET: u32 = 3 * 1024;

/// A device as the buffer knows it.
#[derive(Clone, Debug, Default)]
pub struct Slot {
    headroom: u32,
    shift: u32,
    kmin: u32,
    kmax: u32,
    pmax: f64,
    /// Bytes that arrived by it, per queue: reserve and shared.
    ingress: [u32; QUEUES],
    /// The bytes in headroom.
    over: [u32; QUEUES],
    /// Whether the peer is paused.
    paused: [bool; QUEUES],
    /// Bytes queued at its egress, per queue.
    egress: [u32; QUEUES],
}

/// The buffer of one switch. All sums have 32 bits that wrap, as in that simulator.
#[derive(Clone, Debug)]
pub struct Mmu {
    slots: Vec<Slot>,
    /// Buffer less all headroom and reserve.
    pool: u32,
    used: u32,
}

/// Whether a packet that leaves is marked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mark {
    /// No.
    No,
    /// Yes.
    Yes,
    /// With this probability.
    Perhaps(f64),
}

/// An ingress of a rate (bit/s) pauses its peer above the free pool divided by two to this power: an eighth at the rate
/// of hosts, a quarter at twice, half at four times of it.
pub fn pfc_shift(rate: u64, host_rate: u64) -> u32 {
    let mut shift = 3;
    let mut halved = rate;
    while halved > host_rate && shift > 0 {
        shift -= 1;
        halved /= 2;
    }
    shift
}

impl Mmu {
    /// A switch with devices of these rates (bit/s) and delays (ns); `host_rate` is that of the first host's device.
    pub fn new(config: &Config, devices: &[(u64, u64)], host_rate: u64) -> Self {
        let of = |map: &[(u64, u32)], rate: u64| map.iter().rev().find(|(r, _)| *r == rate).map_or(0, |(_, v)| *v);
        let slots: Vec<Slot> = devices
            .iter()
            .map(|&(rate, delay)| Slot {
                headroom: ((rate as u128 * delay as u128 / 8 / 1_000_000_000) as u64 * 3) as u32,
                shift: pfc_shift(rate, host_rate),
                kmin: of(&config.kmin, rate).wrapping_mul(1000),
                kmax: of(&config.kmax, rate).wrapping_mul(1000),
                pmax: config.pmax.iter().rev().find(|(r, _)| *r == rate).map_or(0.0, |(_, p)| *p),
                ..Slot::default()
            })
            .collect();
        let held = slots.iter().fold(0u32, |sum, slot| sum.wrapping_add(slot.headroom).wrapping_add(RESERVE));
        Self { pool: (config.buffer_mib.wrapping_mul(1024 * 1024)).wrapping_sub(held), slots, used: 0 }
    }

    /// Buffer less all headroom and reserve.
    pub fn pool(&self) -> u32 {
        self.pool
    }

    /// The reserved bytes of each ingress.
    pub fn reserve(&self) -> u32 {
        RESERVE
    }

    /// The headroom of an ingress.
    pub fn headroom(&self, slot: usize) -> u64 {
        self.slots[slot].headroom.into()
    }

    /// The share of the free pool above which an ingress pauses its peer.
    pub fn factor(&self, slot: usize) -> f64 {
        1.0 / f64::from(1u32 << self.slots[slot].shift)
    }

    /// What an ingress holds when its peer is paused, if no other holds anything.
    pub fn xoff(&self, slot: usize) -> u64 {
        // X = (pool - X) / 2^shift
        u64::from(self.pool / ((1 << self.slots[slot].shift) + 1)) + u64::from(RESERVE)
    }

    /// The most bytes that wait to leave by a device before some ingress is paused: all others send to it.
    pub fn most_unpaused(&self, to: usize) -> u64 {
        let others = self.slots.iter().enumerate().filter(|(slot, _)| *slot != to);
        // Each holds T = F / 2^shift and its reserve, where F = pool - sum of T is free.
        let (count, share) =
            others.fold((0, 0.0), |(n, sum), (_, slot)| (n + 1, sum + 1.0 / f64::from(1 << slot.shift)));
        (f64::from(self.pool) * share / (1.0 + share)) as u64 + count * u64::from(RESERVE)
    }

    /// The queue above which packets that leave by a device may be marked.
    pub fn marks_above(&self, slot: usize) -> u64 {
        self.slots[slot].kmin.into()
    }

    #[inline]
    fn threshold(&self, slot: usize) -> u32 {
        self.pool.wrapping_sub(self.used) >> self.slots[slot].shift
    }

    #[inline]
    fn shared(&self, slot: usize, queue: usize) -> u32 {
        self.slots[slot].ingress[queue].saturating_sub(RESERVE)
    }

    /// A packet from ingress `from` joins a queue of `to`. False if there is no room.
    pub fn admit(&mut self, from: usize, to: usize, queue: usize, bytes: u32) -> bool {
        let threshold = self.threshold(from);
        let over_headroom = bytes + self.slots[from].over[queue] > self.slots[from].headroom;
        if over_headroom && bytes + self.shared(from, queue) > threshold {
            return false;
        }
        let slot = &mut self.slots[from];
        let held = slot.ingress[queue].wrapping_add(bytes);
        if held <= RESERVE {
            slot.ingress[queue] = held;
        } else if held - RESERVE > threshold {
            slot.over[queue] += bytes;
        } else {
            slot.ingress[queue] = held;
            self.used = self.used.wrapping_add(bytes.min(held - RESERVE));
        }
        self.slots[to].egress[queue] = self.slots[to].egress[queue].wrapping_add(bytes);
        true
    }

    /// A packet leaves: headroom is released first, then the shared part, then the reserve.
    pub fn release(&mut self, from: usize, to: usize, queue: usize, bytes: u32) {
        let slot = &mut self.slots[from];
        let over = slot.over[queue].min(bytes);
        let shared = (bytes - over).min(slot.ingress[queue].saturating_sub(RESERVE));
        slot.over[queue] -= over;
        slot.ingress[queue] = slot.ingress[queue].wrapping_sub(bytes - over);
        self.used = self.used.wrapping_sub(shared);
        self.slots[to].egress[queue] = self.slots[to].egress[queue].wrapping_sub(bytes);
    }

    /// Whether the peer of `slot` must be paused now.
    pub fn pauses(&mut self, slot: usize, queue: usize) -> bool {
        let full = self.slots[slot].over[queue] > 0 || self.shared(slot, queue) >= self.threshold(slot);
        let pause = full && !self.slots[slot].paused[queue];
        self.slots[slot].paused[queue] |= pause;
        pause
    }

    /// Whether the peer of `slot` may be resumed now.
    pub fn resumes(&mut self, slot: usize, queue: usize) -> bool {
        if !self.slots[slot].paused[queue] || self.slots[slot].over[queue] != 0 {
            return false;
        }
        let shared = self.shared(slot, queue);
        let resume = shared == 0 || shared + RESUME_OFFSET <= self.threshold(slot);
        self.slots[slot].paused[queue] = !resume;
        resume
    }

    /// RED on the bytes at the egress without the packet.
    #[inline]
    pub fn marks(&self, slot: usize, queue: usize) -> Mark {
        let slot = &self.slots[slot];
        let queued = slot.egress[queue];
        if queued > slot.kmax {
            Mark::Yes
        } else if queued > slot.kmin {
            Mark::Perhaps(slot.pmax * (queued - slot.kmin) as f64 / slot.kmax.wrapping_sub(slot.kmin) as f64)
        } else {
            Mark::No
        }
    }

    /// Bytes of all queues that wait to leave by a device; 0 where the switch has none of that number.
    pub fn queued(&self, slot: usize) -> u32 {
        self.slots.get(slot).map_or(0, |slot| slot.egress.iter().fold(0, |sum, bytes| sum.wrapping_add(*bytes)))
    }
}
