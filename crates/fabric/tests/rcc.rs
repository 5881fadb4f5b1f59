//! RCC in a network: an incast, a flow that joins and one that leaves.

mod common;

use common::*;

use fanin_fabric::topology::Graph;
use fanin_fabric::*;
use fanin_units::{NodeId, PortId, Rate, Time};

/// Bytes of a flow of the paper's incast.
const BLOCK: u64 = 32_000;

/// Two switches, 40 us a link: senders at the left one, the receiver alone at the right one, at 1 Gb/s.
fn dumbbell(senders: u32) -> Graph {
    let (left, right) = (senders + 1, senders + 2);
    let mut links: Vec<(u32, u32, Rate, Time)> = (0..senders).map(|host| (host, left, gbps(1), us(40))).collect();
    links.push((senders, right, gbps(1), us(40)));
    links.push((left, right, gbps(40), us(40)));
    graph(senders + 1, 2, &links)
}

/// Section 6: marks from 40 packets on.
fn dumbbell_config(senders: u32) -> NetworkConfig {
    let step = Marking::Step { above: 40 * WIRE, at: MarkAt::Enqueue };
    NetworkConfig { classes: vec![class(false, step)], ..network(dumbbell(senders)) }
}

/// Without window scaling, whose units cannot say one segment.
fn unscaled(scheme: &str) -> TrafficConfig {
    let mut traffic = over_tcp(scheme);
    let tcp = &mut traffic.tcp.as_mut().unwrap().connection;
    (tcp.window_scaling, tcp.receive_buffer) = (false, 65_535);
    traffic
}

fn incast(senders: u32) -> Vec<Message> {
    (0..senders).map(|host| message(us(0), host, senders, BLOCK)).collect()
}

/// The port of the right switch to the receiver.
fn last_hop(sim: &Simulation, senders: u32) -> PortId {
    let (port, ..) = sim.ports().find(|(_, from, to)| (*from, *to) == (NodeId(senders + 2), NodeId(senders))).unwrap();
    port
}

/// The largest queue at the last hop, and when the last flow finished.
fn run(scheme: &str, senders: u32) -> (u64, Time, Simulation) {
    let mut sim = simulation(dumbbell_config(senders), vec![unscaled(scheme)], incast(senders));
    finish(&mut sim);
    check_all_arrived(&sim);
    let peak = sim.port_counter(last_hop(&sim, senders)).peak_queue;
    let last = sim.flows().iter().map(|f| f.finished).max().unwrap();
    (peak, last, sim)
}

#[test]
fn probe() {
    for n in [1, 5, 10, 20, 40, 100] {
        for s in ["newreno", "dctcp", "rcc", "rcc-ecn", "rcc-ns3"] {
            let (peak, last, sim) = run(s, n);
            let t = sim.totals();
            println!("{s} {n}: peak {} packets, last {last}, timeouts {} drops {:?}", peak / WIRE, t.timeouts, t.drops);
        }
    }
}
#[test]
fn probe2() {
    for n in [5, 40, 100] {
        for s in ["rcc", "rcc-ecn", "rcc-ns3"] {
            for (scaled, buffer) in [(true, 0), (false, 80), (false, 20)] {
                let mut config = dumbbell_config(n);
                if buffer > 0 { config.buffer = BufferPolicy::PerPort { bytes: buffer * WIRE, pfc: Pfc { headroom: None, xon_offset: None } }; }
                let t = if scaled { over_tcp(s) } else { unscaled(s) };
                let mut sim = simulation(config, vec![t], incast(n));
                finish(&mut sim);
                check_all_arrived(&sim);
                let peak = sim.port_counter(last_hop(&sim, n)).peak_queue;
                let last = sim.flows().iter().map(|f| f.finished).max().unwrap();
                let t = sim.totals();
                println!("{s} {n} {scaled} {buffer}: peak {} packets, last {last}, timeouts {} drops {:?}", peak / WIRE, t.timeouts, t.drops.buffer);
            }
        }
    }
}
