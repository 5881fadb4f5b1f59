//! Flows that join and leave one port, under every preset: how fair they are after so many round trips.
//!
//! Where a scheme has a fixed point of equal rates, differences decay by a share of themselves in each cycle of cuts
//! and increases: HPCC's in W/W_AI round trips (A.3: R/a steps; 6.7 KB/80 B = 84 for four flows here), DCQCN's by
//! alpha/2 in the time between two CNPs (`dcqcn.rs`: about 0.07 in 0.3 ms: 190 round trips), DCTCP's by alpha/2 in a
//! cycle of some round trips. 1000 round trips are five times the longest of them: e^-5 of a difference is left. What a
//! cycle itself makes of rates stays, alpha/2 of up to a tenth for each flow at its time, for which Jain's index has
//! 0.99; 0.95 is asked for, over 200 round trips, with all four flows and again when two have left.
//!
//! Presets without such a fixed point, or that do not reach it in time, are not held to it: what they do is printed,
//! and stated in their manuals. So it is with a preset that is new, until `SETTLE` names it.

use super::lots::{goodput, jain};
use crate::common::*;
use fanin_cc::{Lanes, Settings, Transport};
use fanin_fabric::*;
use fanin_units::Time;

const RTT: Time = Time::from_us(23);
/// A window over which rates are measured.
const WINDOW: u64 = 100;

/// With a fixed point of equal rates or windows: by cuts in proportion and equal steps, or because a switch or a
/// receiver gives all flows the same.
const SETTLE: &[&str] = &[
    "fixed-window",
    "ndp",
    "dcqcn",
    "dcqcn-priq",
    "dcqcn-vendor",
    "dcqcn-vendor-win",
    "newreno-ecn",
    "cubic-ecn",
    "dctcp",
    "dctcp-rate",
    "dart",
    "dart-lasthop",
    "dart-dasr",
    "dart-dasr-lookahead",
    "dart-iofd",
    "dart-packet-deflection",
    "hpcc",
    "hpcc-per-rtt",
    "hpcc-rxrate",
    "hpcc-alpha",
    "timely-patched",
    "rcp",
    "rcp-ns2",
    "hpcc-ns3",
    "dcqcn-ns3",
    "dcqcn-ns3-win",
    "dctcp-ns3",
    "dctcp-ns3-nowin",
    "rcc",
    "rcc-ecn",
    "rcc-ns3",
    "ictcp",
];

fn after(begin: Time, rtts: u64) -> Time {
    begin + RTT.saturating_mul(rtts)
}

/// Four flows to host 0 at 10 Gb/s, marks above 22.5 KB, nothing is lost: one more each 2 ms; two of them end.
fn joining(preset: &'static str) -> Simulation {
    let scheme = Settings::preset(preset).unwrap();
    let lanes = scheme.lanes();
    let mut traffic = if scheme.transport() == Transport::Rdma { traffic(preset) } else { over_tcp(preset) };
    (traffic.ecn, traffic.announce_size) = (scheme.wants_ecn(), false);
    traffic.lane_class = if lanes == Lanes::One { 0 } else { 2 };
    traffic.endpoint.timeout = Time::from_ms(20);
    let class = class(true, Marking::Step { above: 22_500, at: MarkAt::Dequeue });
    let second =
        ClassConfig { name: "lane 1".into(), sibling_vl: Some(1), urgent: lanes == Lanes::Strict, ..class.clone() };
    let classes = if lanes == Lanes::One { vec![class] } else { vec![class, second] };
    let config = NetworkConfig { classes, buffer: lossless(2_000_000, None), ..network(star(5, us(5))) };
    let size = |i: u32| if i < 2 { Message::ENDLESS } else { 16_000_000 };
    let messages = (0..4).map(|i| message(Time::from_ms(2 * i as u64), 1 + i, 0, size(i))).collect();
    simulation(config, vec![traffic], messages)
}

/// What the first `flows` do from `begin` on.
struct Fairness {
    /// Round trips until Jain's index is at least 0.95 in each window of 100 that follows.
    rtts: u64,
    /// Jain's index over round trips 1000 to 1200.
    jain: f64,
    /// Their goodput in that time in Gb/s.
    all: f64,
}

fn fairness(sim: &mut Simulation, begin: Time, flows: usize) -> Fairness {
    let mut rates = |from: u64, to: u64| {
        let mut rates = goodput(sim, after(begin, from), after(begin, to));
        rates.truncate(flows);
        rates
    };
    let windows: Vec<f64> = (0..10).map(|i| jain(&rates(WINDOW * i, WINDOW * (i + 1)))).collect();
    let rtts =
        windows.iter().rposition(|jain| *jain < 0.95 || jain.is_nan()).map_or(0, |last| WINDOW * (last as u64 + 1));
    let last = rates(1000, 1200);
    Fairness { rtts, jain: jain(&last), all: last.iter().sum() }
}

#[test]
fn flows_that_join_and_leave_become_fair_where_the_scheme_has_that_fixed_point() {
    let known = |preset: &&&str| fanin_cc::rows().iter().any(|row| row.presets.contains(preset));
    assert_eq!(SETTLE.iter().filter(known).count(), SETTLE.len(), "a name of no preset");
    for preset in fanin_cc::rows().iter().flat_map(|row| row.presets.iter().copied()) {
        let mut sim = joining(preset);
        let four = fairness(&mut sim, Time::from_ms(6), 4);
        let early = sim.finished();
        while sim.finished() < 2 && sim.now() < Time::from_ms(90) {
            let next = sim.now() + us(500);
            run_to(&mut sim, next);
        }
        let (left, at) = (sim.finished(), sim.now());
        let two = fairness(&mut sim, at, 2);
        let show = |of: &Fairness| format!("{:4} round trips, Jain {:.3}, {:.2} Gb/s", of.rtts, of.jain, of.all);
        println!("{preset:24} four: {}; {left} left by {at}: {}", show(&four), show(&two));
        if SETTLE.contains(&preset) {
            assert_eq!(early, 0, "{preset}: all four are there for 1200 round trips");
            assert!(four.jain >= 0.95, "{preset}: {}", four.jain);
            // At a lower rate than the port the two that end may still be there.
            assert!(left < 2 || two.jain >= 0.95, "{preset}: {}", two.jain);
        }
    }
}
