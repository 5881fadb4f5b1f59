//! What the tests of traffics share.
#![allow(dead_code, reason = "each test uses a part")]

use fanin_engine::Streams;
use fanin_units::{Rate, Time};
use fanin_workload::*;

/// Hosts at `gbps` in racks of 4, oversubscribed 2 to 1. The first rack has one host only, so that racks differ.
pub fn network(hosts: u32, gbps: u64) -> Places {
    Places {
        rack_of: (0..hosts).map(|h| h.div_ceil(4)).collect(),
        nic_rate: vec![Rate::from_gbps(gbps); hosts as usize],
        host_links: Rate::from_gbps(gbps * u64::from(hosts)),
        tor_uplinks: Rate::from_gbps(gbps * u64::from(hosts) / 2),
    }
}

/// Dart's network: 64 racks of 16 hosts at 10 Gb/s, 4 uplinks each.
pub fn dart() -> Places {
    Places {
        rack_of: (0..1024).map(|h| h / 16).collect(),
        nic_rate: vec![Rate::from_gbps(10); 1024],
        host_links: Rate::from_gbps(10_240),
        tor_uplinks: Rate::from_gbps(2_560),
    }
}

/// A traffic from time zero.
pub fn traffic(pattern: Pattern) -> Traffic {
    Traffic { start: Time::ZERO, pattern }
}

/// Poisson arrivals.
pub fn poisson(hosts: Hosts, size: SizeDistribution, share: f64, of: LoadBase) -> Traffic {
    traffic(Pattern::Poisson(Poisson { hosts, size, load: Load { share, of } }))
}

/// Incasts of 2, 4 or 8 KB.
pub fn incast(degree: u32, jitter: Time, arrivals: Arrivals) -> Incast {
    let size = SizeDistribution::UniformOf(vec![2000, 4000, 8000]);
    Incast { hosts: Hosts::default(), degree, jitter, size, size_per_sender: false, arrivals }
}

/// Endless flows.
pub fn long(amount: LongFlows, spread: Time) -> Long {
    Long { hosts: Hosts::default(), size: SizeDistribution::Fixed(ENDLESS), amount, spread }
}

/// All flows before a time.
pub fn run(traffic: &Traffic, places: &Places, number: u16, until: Time) -> Vec<Flow> {
    traffic.flows(places, &Streams::new(42), number, until).unwrap().collect()
}
