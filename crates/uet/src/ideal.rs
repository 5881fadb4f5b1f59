//! The shortest time that a message of a given size can take.

use crate::settings::HEADER;
use crate::setup::Setup;

impl Setup {
    /// The time in picoseconds from a message's first packet to the ACK of its last one in an empty network: one packet
    /// after the other passes the links of hosts, which all paths share, and the last one's ACK returns at once.
    pub fn ideal(&self, from: u32, to: u32, size: u64) -> u64 {
        let (mss, mtu, rate) = (self.settings.mss as u64, self.settings.mtu as u64, self.settings.rate);
        let way = self.topology.way(from, to);
        // As ports and NICs truncate them.
        let ps_per_byte = |gbps: u64| (8e12 / if gbps == 0 { rate as f64 } else { gbps as f64 * 1e9 }) as u64;
        let first = (8e12 / rate as f64) as u64;
        let each: Vec<u64> = way.iter().map(|(tier, _)| ps_per_byte(tier.speed_gbps)).collect();
        let per_byte = first + each[1..].iter().sum::<u64>();
        let latency: u64 = way.iter().map(|(tier, switch)| tier.latency + switch).sum();
        let through = |bytes: u64| bytes * per_byte + latency;
        let nic = mtu * 8 * 1_000_000_000_000 / rate;
        let full = size / mss;
        let pace = nic.max(mtu * first).max(mtu * each[each.len() - 1]);
        let of_full = if full > 0 { (full - 1) * pace + through(mtu) } else { 0 };
        let of_rest = if !size.is_multiple_of(mss) { full * nic + through(size % mss + HEADER as u64) } else { 0 };
        of_full.max(of_rest) + through(HEADER as u64)
    }
}
