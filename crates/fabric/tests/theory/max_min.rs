//! placeholder
use crate::common::*;
use crate::hpcc::{HPCC_WIRE, SIZES, with, patient};
use crate::lots::*;
use fanin_fabric::*;
use fanin_units::Time;

#[test]
fn look() {
    let mut lots: Vec<Lot> = (2..=5).map(|links| Lot::even(links, 100, us(1))).collect();
    for number in 0..6u64 {
        let links = 2 + number as u32 % 4;
        let draw = |what: u64, most: u64| fanin_engine::mix(number, what) % most;
        let chain: Vec<u64> = (0..links).map(|link| 40 + 20 * draw(link as u64, 4)).collect();
        let flows = (0..links as u64 + 2).map(|flow| { let from = draw(100 + flow, links as u64) as u32; (from, from + 1 + draw(200 + flow, (links - from) as u64) as u32) }).collect();
        lots.push(Lot { chain, flows, hosts: 100, delay: us(1) });
    }
    for lot in lots {
        println!("{:?} {:?}", lot.chain, lot.flows);
        let config = NetworkConfig { packet: SIZES, ..network(lot.graph()) };
        for scheme in ["rcp", "hpcc"] {
            let t = if scheme == "rcp" { patient("rcp") } else { with("hpcc", |p| { p.base_rtt = lot.rtt(); p.expected_flows = 10; }) };
            let mut sim = simulation(config.clone(), vec![t], lot.messages());
            let rates = goodput(&mut sim, Time::from_ms(3), Time::from_ms(5));
            let (wire, share) = if scheme == "rcp" { (1070, 1.0) } else { (HPCC_WIRE, 0.95) };
            let f: Vec<f64> = lot.max_min(share).iter().zip(&rates).map(|(m, r)| r / (m * 1000.0 / wire as f64)).collect();
            println!("{scheme}: {rates:.2?}  {f:.3?}");
        }
    }
}
