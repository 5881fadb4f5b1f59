//! RCP in a network: requests, rates of the path, shares, losses.

use crate::common::*;
use fanin_cc::schemes::rcp::Params;
use fanin_cc::{Action, Settings};
use fanin_fabric::*;
use fanin_units::{Rate, Time};

/// Three hosts at a switch of 10 Gb/s, 5 us a link.
fn switch(hosts: u32) -> NetworkConfig {
    NetworkConfig { buffer: lossless(2_000_000, None), ..network(star(hosts, us(5))) }
}

fn endless(start: Time, src: u32, dst: u32) -> Message {
    message(start, src, dst, Message::ENDLESS)
}

/// RCP with parameters of its own.
fn rcp(change: impl FnOnce(&mut Params)) -> TrafficConfig {
    let mut traffic = traffic("rcp");
    let Settings::Rcp(_, params) = &mut traffic.scheme else { panic!("rcp has other parameters") };
    change(params);
    traffic
}

/// The rate of a message's sender in Gb/s.
fn rate(sim: &Simulation, message: u32) -> f64 {
    let seen = sim.watch(message);
    seen.iter().find(|(name, _)| *name == "rate_bps").expect("the sender is open").1 / 1e9
}

#[test]
fn data_begins_a_round_trip_after_the_request_at_the_told_rate() {
    let mut sim = simulation(switch(2), vec![traffic("rcp")], vec![message(Time::ZERO, 0, 1, 2 * PAYLOAD)]);
    finish(&mut sim);
    let flow = sim.flows()[0];
    // The request costs one round trip of 20 us, and the second packet leaves at a twentieth of the line.
    let second = Rate::from_mbps(500).tx_time(u64::from(sim.config().packet.header) + PAYLOAD + 8);
    let least = us(30) + second;
    assert!(flow.finished > least && flow.finished < least + us(3), "{} and {least}", flow.finished);
    assert_eq!((flow.packets_sent, sim.totals().hosts.timeouts), (2, 0));
}

#[test]
fn flows_share_a_link_and_one_alone_has_all_of_it() {
    let flows = vec![endless(Time::ZERO, 0, 3), endless(us(3000), 1, 3), endless(us(6000), 2, 3)];
    let mut sim = simulation(switch(4), vec![traffic("rcp")], flows);
    run_to(&mut sim, us(2999));
    assert!((rate(&sim, 0) - 10.0).abs() < 0.1, "{}", rate(&sim, 0));
    run_to(&mut sim, us(5999));
    for message in 0..2 {
        assert!((rate(&sim, message) - 5.0).abs() < 0.25, "{}", rate(&sim, message));
    }
    run_to(&mut sim, Time::from_ms(12));
    for message in 0..3 {
        // The fixed point: every flow a third, and no queue.
        assert!((rate(&sim, message) - 10.0 / 3.0).abs() < 0.1, "{}", rate(&sim, message));
    }
    let waiting = sim.queued(port(&sim, 4, 3));
    assert!(waiting < 5_000, "{waiting}");
    assert_eq!(sim.totals().drops.total(), 0);
    let actions = &sim.traffic_counters()[0].actions;
    assert!(actions.get(Action::Cut) > 0 && actions.get(Action::Increase) > 0);
}

#[test]
fn a_path_has_the_lowest_rate_of_its_links() {
    let mut graph = star(4, us(5));
    graph.links[0].rate = Rate::from_gbps(4);
    let config = NetworkConfig { buffer: lossless(2_000_000, None), ..network(graph) };
    // Host 2 sends to 0, whose link has 4 Gb/s, and host 3 to 1.
    let mut sim = simulation(config, vec![traffic("rcp")], vec![endless(Time::ZERO, 2, 0), endless(Time::ZERO, 3, 1)]);
    run_to(&mut sim, Time::from_ms(2));
    assert!((rate(&sim, 0) - 4.0).abs() < 0.1, "{}", rate(&sim, 0));
    assert!((rate(&sim, 1) - 10.0).abs() < 0.1, "{}", rate(&sim, 1));
}

#[test]
fn lost_requests_and_data_are_sent_again() {
    let mut graph = star(3, us(5));
    for link in &mut graph.links {
        link.error_rate = 0.2;
    }
    let config = NetworkConfig { buffer: lossless(2_000_000, None), ..network(graph) };
    let messages = (0..40).map(|n| message(us(n), 0, 1 + n as u32 % 2, PAYLOAD)).collect();
    let mut sim = simulation(config, vec![rcp(|_| ())], messages);
    finish(&mut sim);
    check_all_arrived(&sim);
    assert!(sim.totals().drops.error > 20);
}
