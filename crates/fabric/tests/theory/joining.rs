//! placeholder
use crate::common::*;
use crate::lots::{goodput, jain};
use fanin_cc::{Lanes, Settings, Transport};
use fanin_fabric::*;
use fanin_units::Time;

fn build(preset: &'static str) -> Simulation {
    let scheme = Settings::preset(preset).unwrap();
    let rdma = scheme.transport() == Transport::Rdma;
    let mut traffic = if rdma { traffic(preset) } else { over_tcp(preset) };
    traffic.ecn = scheme.wants_ecn();
    traffic.endpoint.timeout = Time::from_ms(20);
    traffic.lane_class = if scheme.lanes() == Lanes::One { 0 } else { 2 };
    let mut config = network(star(5, us(5)));
    let class = class(rdma, Marking::Step { above: 22_500, at: MarkAt::Dequeue });
    config.classes = vec![class.clone()];
    if scheme.lanes() != Lanes::One {
        config.classes.push(ClassConfig { name: "lane 1".into(), sibling_vl: Some(1), urgent: scheme.lanes() == Lanes::Strict, ..class });
    }
    config.buffer = if rdma { lossless(2_000_000, None) } else { lossless(225_000, None) };
    let size = |i: u32| if i < 2 { Message::ENDLESS } else { 4_000_000 };
    let messages = (0..4).map(|i| message(Time::from_ms(2 * i as u64), 1 + i, 0, size(i))).collect();
    simulation(config, vec![traffic], messages)
}

#[test]
fn look() {
    let rtt = us(23);
    for preset in fanin_cc::rows().iter().flat_map(|row| row.presets.iter().copied()) {
        let begin = std::time::Instant::now();
        let mut sim = build(preset);
        let mut text = String::new();
        let last = Time::from_ms(6);
        for k in 0..5 {
            let rates = goodput(&mut sim, last + rtt.saturating_mul(100 * k), last + rtt.saturating_mul(100 * k + 100));
            let live: Vec<f64> = rates.iter().copied().filter(|r| *r > 0.0).collect();
            text += &format!("{:.3}({}) ", jain(&rates), live.len());
        }
        // until both are gone
        let mut t = sim.now();
        while sim.finished() < 2 && t < Time::from_ms(60) { t = t + us(200); run_to(&mut sim, t); }
        let left = sim.now();
        for k in 0..3 {
            let rates = goodput(&mut sim, left + rtt.saturating_mul(100 * k), left + rtt.saturating_mul(100 * k + 100));
            let two = [rates[0], rates[1]];
            text += &format!("| {:.3} {:.2}", jain(&two), two[0] + two[1]);
        }
        println!("{preset:24} {text} left {left} {:?}", begin.elapsed());
    }
}
