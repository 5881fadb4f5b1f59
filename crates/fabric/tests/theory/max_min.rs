//! Max-min fair rates over several links, against water filling: no flow can have more without one that has less or as
//! much losing.
//!
//! RCP: each port offers one rate and a flow takes the least of its path; ports that are not full offer all of their
//! link. So the fixed point R = C/n of one port, with what its other flows leave, is max-min fairness. Allowed is what
//! the queue of paced flows takes off (see `rcp.rs`).
//!
//! Dart: a receiver tells each of n senders C/n. Where receivers' links are the only full ones, that is max-min
//! fairness. Allowed are 2 %, as in Dart's Fig. 2. Each host sends to one receiver: paced flows that share a NIC are in
//! each other's way (VALIDATION.md, hpcc-fig8-nic).
//!
//! HPCC A.3: R = a/(1 - U_target/U), U the utilisation of the busiest link. Small a makes rates max-min fair, were it
//! not for noise: a flow sees the largest of several noisy numbers, and over several busy links it therefore gets less,
//! "biased away from max-min fairness towards proportional fairness". On equal links, with W_AI by the rule of 3.3 for
//! the flows that there are, U is up to 1 instead of 0.95 and U_target/U about 0.95; noise of U of 0.5 % is then a
//! tenth of R, which is allowed, beside the 5 % of U. With a tenth of that W_AI such noise is as large as what it
//! disturbs, and all that A.3 says is that the long flow is between the two kinds of fairness.

use super::lots::*;
use crate::common::dart::{DART_WIRE, darts_star, with_lanes};
use crate::common::hpcc::{HPCC_WIRE, SIZES, patient, with};
use crate::common::*;
use fanin_engine::mix;
use fanin_fabric::*;
use fanin_units::Time;

/// Equal links with a flow over all and one over each, 2 to 5; then links of 40 to 100 Gb/s with any flows.
fn lots() -> Vec<Lot> {
    let any = |number: u64| {
        let draw = |what: u64, most: u64| mix(number, what) % most;
        let links = 2 + number % 4;
        let chain = (0..links).map(|link| 40 + 20 * draw(link, 4)).collect();
        let over = |flow: u64| {
            let from = draw(100 + flow, links);
            (from as u32, (from + 1 + draw(200 + flow, links - from)) as u32)
        };
        Lot { chain, flows: (0..links + 2).map(over).collect(), hosts: 100, delay: us(1) }
    };
    (2..=5).map(|links| Lot::even(links, 100, us(1))).chain((0..4).map(any)).collect()
}

/// Each flow's payload over that of its max-min rate when `share` of each link may be used.
fn of_max_min(lot: &Lot, traffic: TrafficConfig, share: f64, wire: u64) -> Vec<f64> {
    let config = NetworkConfig { packet: SIZES, ..network(lot.graph()) };
    let mut sim = simulation(config, vec![traffic], lot.messages());
    let rates = goodput(&mut sim, Time::from_ms(2), Time::from_ms(3));
    lot.max_min(share).iter().zip(&rates).map(|(most, rate)| rate / (most * 1000.0 / wire as f64)).collect()
}

#[test]
fn rcp_is_max_min_fair_on_parking_lots() {
    for lot in lots() {
        let found = of_max_min(&lot, patient("rcp"), 1.0, 1070);
        println!("{:?} {:?}: {found:.3?}", lot.chain, lot.flows);
        // Of the narrowest link, were all flows on it.
        let narrowest = *lot.chain.iter().min().unwrap() as f64 * 1e9 / 8.0 * lot.rtt().as_secs_f64();
        let queue = 2.0 * (std::f64::consts::PI * lot.flows.len() as f64 / 8.0).sqrt() * 1070.0;
        for share in found {
            assert!((1.0 - queue / narrowest..1.001).contains(&share), "{lot:?}: {share}");
        }
    }
}

#[test]
fn hpcc_is_nearly_max_min_fair_on_parking_lots() {
    for links in 2..=5 {
        let lot = Lot::even(links, 100, us(1));
        let hpcc = |n: u32| with("hpcc", |p| (p.base_rtt, p.expected_flows) = (lot.rtt(), n));
        let found = of_max_min(&lot, hpcc(2), 0.95, HPCC_WIRE);
        let small = of_max_min(&lot, hpcc(20), 0.95, HPCC_WIRE);
        println!("{links} links: {found:.3?}; a tenth of W_AI: {small:.3?}");
        for share in &found {
            assert!((0.9..1.05 * 1.1).contains(share), "{links} links: {found:?}");
        }
        // Of proportionally fair rates the long flow has 1/(L + 1) of a link, and not a half.
        let proportional = 2.0 / (links as f64 + 1.0);
        assert!((proportional..found[0]).contains(&small[0]), "{links} links: {small:?}");
    }
}

#[test]
fn dart_is_max_min_fair_where_receivers_are_the_bottleneck() {
    // Hosts 0 to 2 receive, from two, five and one.
    let flows: Vec<(u32, u32)> = (3..).zip([0, 0, 1, 1, 1, 1, 1, 2]).collect();
    let link = |host: u32| {
        let of = |flow: &usize| flows[*flow].0 == host || flows[*flow].1 == host;
        (10.0 * PAYLOAD as f64 / DART_WIRE as f64, (0..flows.len()).filter(of).collect::<Vec<_>>())
    };
    let expected = water_filling(&(0..11).map(link).collect::<Vec<_>>(), flows.len());
    for preset in ["dart-dasr", "dart"] {
        let mut traffics = vec![traffic(preset)];
        let config = with_lanes(darts_star(11), &mut traffics);
        let messages = flows.iter().map(|(src, dst)| message(us(*src as u64), *src, *dst, Message::ENDLESS)).collect();
        let mut sim = simulation(config, traffics, messages);
        let rates = goodput(&mut sim, Time::from_ms(2), Time::from_ms(8));
        println!("{preset}: {rates:.3?}, expected {expected:.3?}");
        for (rate, expected) in rates.iter().zip(&expected) {
            assert!((rate / expected - 1.0).abs() < 0.02, "{preset}: {rates:?} {expected:?}");
        }
    }
}
