//! CUBIC in a network: that one flow fills a bottleneck, and that flows come to share it.

use crate::common::*;
use fanin_cc::Action;
use fanin_fabric::topology::{Cable, Dumbbell};
use fanin_fabric::*;
use fanin_units::{Rate, Time};

/// Endless flows, one from each host on the left, through a bottleneck of 1 Gb/s. The base round trip is `rtt`, the
/// bottleneck's buffer `buffer` packets. Flow i starts at `starts[i]`.
fn flows(scheme: &str, rtt: Time, buffer: u64, starts: &[Time]) -> Simulation {
    let delay = Time::from_ps(rtt.as_ps() / 6);
    let host_link = Cable::new(gbps(10), delay);
    let bottleneck = Cable::new(gbps(1), delay);
    let left = starts.len() as u32;
    let graph = Dumbbell { left, right: 1, host_link, bottleneck };
    let marking = Marking::Step { above: buffer / 2 * WIRE, at: MarkAt::Enqueue };
    let config = NetworkConfig {
        classes: vec![class(false, marking)],
        buffer: lossless(buffer * WIRE, None),
        ..network(graph.build().unwrap())
    };
    let mut traffic = over_tcp(scheme);
    traffic.tcp.as_mut().unwrap().connection.receive_buffer = 64_000_000;
    let messages = starts.iter().enumerate().map(|(i, at)| message(*at, i as u32, left, Message::ENDLESS)).collect();
    simulation(config, vec![traffic], messages)
}

/// Shares of the bottleneck's payload rate that each flow has between two times.
fn shares(sim: &mut Simulation, from: Time, to: Time) -> Vec<f64> {
    let delivered = |sim: &Simulation| -> Vec<u64> { sim.flows().iter().map(|f| f.delivered).collect() };
    run_to(sim, from);
    let before = delivered(sim);
    run_to(sim, to);
    let whole = Rate::from_gbps(1).bytes_in(to - from) as f64 * PAYLOAD as f64 / WIRE as f64;
    delivered(sim).iter().zip(&before).map(|(now, then)| (now - then) as f64 / whole).collect()
}

fn count(sim: &Simulation, action: Action) -> u64 {
    sim.traffic_counters()[0].actions.get(action)
}

#[test]
fn one_flow_fills_the_bottleneck() {
    // A bandwidth-delay product of 8.3 packets in the data center, where Reno's region is; of 833 on the long path,
    // where the cubic function is. A buffer of 3/7 of that keeps the link full through a reduction to 7/10.
    for (rtt, buffer) in [(us(100), 100), (Time::from_ms(10), 500)] {
        for scheme in ["cubic", "cubic-ecn"] {
            let mut sim = flows(scheme, rtt, buffer, &[Time::ZERO]);
            // The first slow start may end in a timeout: 7/10 of twice what the path holds is still too much.
            run_to(&mut sim, Time::from_s(2));
            let timeouts = sim.totals().hosts.timeouts;
            let share = shares(&mut sim, Time::from_s(2), Time::from_s(6))[0];
            println!("{scheme}, {rtt}: {share:.4}");
            let least = if scheme == "cubic" { 0.99 } else { 0.95 };
            assert!(share > least && share < 1.001, "{scheme}, {rtt}: {share:.4}");
            // It is held back by losses, or by marks alone once slow start is over.
            let (lost, cut) = (count(&sim, Action::LossReaction), count(&sim, Action::Cut));
            assert!(if scheme == "cubic" { lost > 1 && cut == 0 } else { cut > 1 }, "{lost} {cut}");
            assert_eq!(sim.totals().hosts.timeouts, timeouts);
        }
    }
}

#[test]
fn two_flows_come_to_share_the_bottleneck() {
    for (rtt, buffer) in [(us(100), 100), (Time::from_ms(10), 500)] {
        for scheme in ["cubic", "cubic-ecn"] {
            // The second joins when the first has the whole link.
            let mut sim = flows(scheme, rtt, buffer, &[Time::ZERO, Time::from_s(1)]);
            let each = shares(&mut sim, Time::from_s(10), Time::from_s(20));
            let jain = (each[0] + each[1]).powi(2) / (2.0 * (each[0].powi(2) + each[1].powi(2)));
            println!("{scheme}, {rtt}: {each:.3?}, Jain's index {jain:.4}");
            assert!(each[0] + each[1] > 0.95, "{scheme}, {rtt}: {each:?}");
            assert!(jain > 0.97, "{scheme}, {rtt}: {each:?}, Jain's index {jain}");
        }
    }
}
