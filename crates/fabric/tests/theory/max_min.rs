//! placeholder
use crate::common::*;
use crate::hpcc::{HPCC_WIRE, SIZES, with};
use crate::lots::*;
use fanin_fabric::*;
use fanin_units::Time;

#[test]
fn look() {
    for links in 2..=5 {
        let lot = Lot::even(links, 100, us(1));
        let config = NetworkConfig { packet: SIZES, ..network(lot.graph()) };
        for scheme in ["rcp", "hpcc"] {
            let t = if scheme == "rcp" { traffic("rcp") } else { with("hpcc", |p| { p.base_rtt = lot.rtt(); p.expected_flows = 2; }) };
            let mut sim = simulation(config.clone(), vec![t], lot.messages());
            let rates = goodput(&mut sim, Time::from_ms(2), Time::from_ms(4));
            println!("{scheme} {links}: {rates:.2?} jain {}; {:?} {}", jain(&rates), lot.max_min(1.0), of_payload(gbps(100), 1000, HPCC_WIRE));
        }
    }
}
