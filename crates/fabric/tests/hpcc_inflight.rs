//! HPCC eq. (1) and (2): what a sender takes for the bytes in flight over a link, against those that are.

use crate::common::hpcc::*;
use crate::common::*;
use fanin_cc::{Kind, flags};
use fanin_claims::strict;
use fanin_fabric::topology::Graph;
use fanin_fabric::*;
use fanin_units::{Bytes, Rate, Time};

const LINE: Rate = Rate::from_gbps(100);

/// A flow that is paced at its NIC's rate and has W_init in flight at most: whatever U says, W_AI makes up for it.
fn paced(rtt: Time) -> TrafficConfig {
    with("hpcc", |p| (p.base_rtt, p.additive_increase) = (rtt, Bytes(1_000_000_000)))
}

/// State of each flow, averaged over the samples.
struct Looks {
    /// Bytes in flight, as many as its packets have on the wire.
    true_bytes: Vec<f64>,
    /// The least and the most that U says, in links of 100 Gb/s times T.
    estimates: Vec<(f64, f64)>,
}

/// Runs flows (sender, receiver) of traffic 0 to a steady state and samples them every microsecond, 300 times.
fn looks(graph: Graph, flows: &[(u32, u32)], rtt: Time) -> Looks {
    let access: Vec<u32> = (0..graph.hosts)
        .map(|host| graph.links.iter().find(|link| link.a.0 == host).map_or(u32::MAX, |link| link.b.0))
        .collect();
    // They start within a round trip, so that packets do not come in heaps.
    let start = |i: usize| Time::from_ps(rtt.as_ps() / flows.len() as u64 * i as u64);
    let messages = flows.iter().enumerate().map(|(i, (from, to))| endless(start(i), *from, *to)).collect();
    let config = NetworkConfig { packet: SIZES, ..network(graph) };
    let mut sim = simulation(config, vec![paced(rtt)], messages);
    let links: Vec<(u32, u32)> =
        flows.iter().flat_map(|(from, _)| [(*from, access[*from as usize]), (access[*from as usize], *from)]).collect();
    tap(&mut sim, &links);
    let (mut sent, mut acked) = (vec![Vec::new(); flows.len()], vec![Vec::new(); flows.len()]);
    let mut looked = Vec::new();
    let mut estimates = vec![(f64::INFINITY, 0.0f64); flows.len()];
    for look in 0..1300 {
        run_to(&mut sim, us(look));
        for packet in taken(&mut sim).iter().filter(|packet| packet.head.has(flags::INT)) {
            let flow = packet.head.flow.ix();
            match packet.head.kind {
                Kind::Data => sent[flow].push(packet.time),
                _ => acked[flow].push(arrives(&sim, packet)),
            }
        }
        if look < 1000 {
            continue;
        }
        looked.push(sim.now());
        for (i, (least, most)) in estimates.iter_mut().enumerate() {
            let u = seen(&sim.watch(i as u32), "utilisation");
            let bytes = u * LINE.as_bps() as f64 / 8e12 * rtt.as_ps() as f64;
            (*least, *most) = (least.min(bytes), most.max(bytes));
        }
    }
    let in_flight = |flow: usize, at: &Time| {
        let until = |times: &Vec<Time>| times.partition_point(|time| time <= at) as f64;
        (until(&sent[flow]) - until(&acked[flow])) * HPCC_WIRE as f64
    };
    let mean = |flow| looked.iter().map(|at| in_flight(flow, at)).sum::<f64>() / looked.len() as f64;
    Looks { true_bytes: (0..flows.len()).map(mean).collect(), estimates }
}

/// k senders at switch k + 1 and one receiver, k, at switch k + 2, over a link of 100 Gb/s.
fn one_bottleneck(k: u32, load: f64) -> Graph {
    let each = Rate::from_bps((load * LINE.as_bps() as f64 / k as f64) as u64);
    let mut links: Vec<_> = (0..k).map(|host| (host, k + 1, each, us(1))).collect();
    links.extend([(k, k + 2, gbps(400), us(1)), (k + 1, k + 2, LINE, us(4))]);
    graph(k + 1, 2, &links)
}

/// What a packet and its ACK take alone.
fn alone(graph: Graph, from: u32, to: u32) -> Time {
    let config = NetworkConfig { packet: SIZES, ..network(graph) };
    let mut sim = simulation(config, vec![paced(us(13))], vec![message(Time::ZERO, from, to, 1000)]);
    finish(&mut sim);
    sim.flows()[0].acked
}

#[test]
fn hpcc_eq1_inflight() {
    let mut worst = 0.0f64;
    for k in [1, 2, 3, 5, 10, 20] {
        for load in [0.3, 0.5, 0.7, 0.9, 1.0, 1.2] {
            let graph = one_bottleneck(k, load);
            let rtt = alone(graph.clone(), 0, k);
            let flows: Vec<(u32, u32)> = (0..k).map(|host| (host, k)).collect();
            let looks = looks(graph, &flows, rtt);
            let all: f64 = looks.true_bytes.iter().sum();
            for (least, most) in &looks.estimates {
                let off = (all - least).abs().max((all - most).abs());
                let bound = 0.05 * all + HPCC_WIRE as f64;
                assert!(off <= bound, "{k} flows, {load}: {all} B, taken for {least} to {most}");
                worst = worst.max(off / bound);
            }
        }
    }
    println!("at worst {worst} of the bound");
    let mut rows = fanin_claims::claim!("hpcc-eq1-inflight");
    let ours = format!("{:.0} % of the bound", 100.0 * worst);
    rows.row(
        "largest error of eq. (1) at one bottleneck, 36 loads",
        "0",
        ours,
        "5 % and a packet",
        strict(worst <= 1.0),
    );
}

/// Three switches in a row; one flow over both links between them, one over each alone.
#[test]
fn hpcc_eq1_inflight_of_two_bottlenecks_is_a_lower_bound() {
    let mut least_of = 1.0f64;
    for (through, first, second) in
        [(0.6, 0.6, 0.6), (0.3, 0.9, 0.9), (0.9, 0.3, 0.6), (0.6, 0.6, 0.3), (0.3, 0.3, 0.3)]
    {
        let rate = |load: f64| Rate::from_bps((load * LINE.as_bps() as f64) as u64);
        let mut links = [
            (0, 6, rate(through), us(1)),
            (1, 6, rate(first), us(1)),
            (2, 7, rate(second), us(1)),
            (3, 8, gbps(400), us(1)),
            (4, 7, gbps(400), us(1)),
            (5, 8, gbps(400), us(1)),
            (6, 7, LINE, us(2)),
            (7, 8, LINE, us(2)),
        ];
        // Eq. (1) is for flows of one base round-trip time: that of the slowest, by the delay of the others' first
        // link.
        let flows = [(0, 3), (1, 4), (2, 5)];
        let times = flows.map(|(from, to)| alone(graph(6, 3, &links), from, to));
        let rtt = times.into_iter().max().unwrap();
        for (link, time) in links.iter_mut().zip(times) {
            link.3 += Time::from_ps((rtt - time).as_ps() / 2);
        }
        let looks = looks(graph(6, 3, &links), &flows, rtt);
        let [both, one, other] = looks.true_bytes[..] else { panic!("three flows") };
        let most = |i: usize| looks.estimates[i].1;
        println!("{through} {first} {second}: {both} {one} {other} B: {:?}", looks.estimates);
        let mtu = HPCC_WIRE as f64;
        assert!(most(1) <= both + one + mtu);
        assert!(most(2) <= both + other + mtu);
        assert!(most(0) <= both + one.max(other) + mtu);
        least_of = least_of.min(most(1) / (both + one));
    }
    // And no more than that: a queue at one link does not count at the other.
    assert!(least_of < 0.95, "{least_of}");
    let mut rows = fanin_claims::claim!("hpcc-eq1-inflight");
    rows.asserted("estimates at two bottlenecks above the truth", "0", "0");
    let ours = format!("{:.0} % below", 100.0 * (1.0 - least_of));
    rows.shown("estimate at two bottlenecks, farthest below the truth", "a lower bound", ours, "-", strict(true));
}
