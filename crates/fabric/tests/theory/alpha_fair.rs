//! HPCC A.3: with a register for each link, R_i = a/(1 - U_target/U_i), rates by eq. (7) are alpha-fair.
//!
//! On a parking lot of L equal links with a flow over all and one over each, all registers of busy links are equal, so
//! that eq. (7) gives the long flow L^(-1/alpha) of what the others have: half at alpha = 1 and L = 2 (proportional
//! fairness), the same at alpha to infinity (max-min fairness), nothing at alpha to 0 (the largest sum).
//!
//! Assumed: the flows of a link see the same U. Of the ratio of two rates, 1 % may be missing by `idle_cost`. A
//! register is a/(1 - U_target/U), so with a at a tenth of it an error of U by 0.5 % is one of 5 % in R; that much is
//! left for what a flow's own packets sample of a link. R is in proportion to the R_i, so together 6 % of the ratio.

use super::lots::*;
use crate::common::hpcc::{HPCC_WIRE, SIZES, patient};
use crate::common::*;
use fanin_cc::schemes::hpcc_alpha::{HpccAlpha, Params};
use fanin_cc::{Scheme, Settings};
use fanin_fabric::*;
use fanin_units::Time;

/// The rate of the long flow over the mean of the others, and the load of the first link.
fn ratio(links: u32, alpha: f64) -> (f64, f64) {
    let lot = Lot::even(links, 100, us(1));
    // a is a tenth of half a link's rate.
    let params = Params { alpha, eta: 0.9, expected_flows: 2, base_rtt: lot.rtt(), ..HpccAlpha::preset("hpcc-alpha") };
    let traffic =
        TrafficConfig { scheme: Settings::HpccAlpha("hpcc-alpha", params), ecn: false, ..patient("hpcc-alpha") };
    let config = NetworkConfig { packet: SIZES, ..network(lot.graph()) };
    let mut sim = simulation(config, vec![traffic], lot.messages());
    let rates = goodput(&mut sim, Time::from_ms(1), Time::from_ms(2));
    let others = rates[1..].iter().sum::<f64>() / links as f64;
    (rates[0] / others, (rates[0] + rates[1]) / of_payload(gbps(100), 1000, HPCC_WIRE))
}

#[test]
fn the_long_flow_has_the_share_that_alpha_gives_it() {
    for links in [2, 3] {
        for alpha in [0.25, 0.5, 1.0, 2.0, 20.0] {
            let (ratio, load) = ratio(links, alpha);
            // W is at least a, a twentieth of W_init; the others then have the rest of 0.9 of a link.
            let expected = f64::powf(links as f64, -1.0 / alpha).max(0.05 / 0.9);
            println!("alpha {alpha}, {links} links: {ratio:.4}, expected {expected:.4}; load {load:.3}");
            assert!((ratio / expected - 1.0).abs() < 0.06, "alpha {alpha}, {links} links: {ratio} {expected}");
            // U is eta and what a adds, at most a tenth: the link is used, and not overrun.
            assert!((0.9..1.0).contains(&load), "{load}");
        }
    }
}
