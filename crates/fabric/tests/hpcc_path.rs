//! HPCC from end to end: what switches write and ACKs carry back (3.1, Fig. 4), the NIC (4.2, Fig. 8), and base round-trip
//! times (5.1).

mod common;
#[path = "common/hpcc.rs"]
mod hpcc;

use common::*;
use fanin_cc::{IntHop, Kind, flags};
use fanin_fabric::tap::Captured;
use fanin_fabric::topology::Clos;
use fanin_fabric::*;
use fanin_units::Time;
use hpcc::*;

/// A path of three switches, 6 to 8, from host 0 to host 1 with egresses of 25, 100 and 400 Gb/s. Hosts 2 to 5 fill them.
fn three_switches() -> NetworkConfig {
    // Delays that no two packets of different links share, so that none arrives just as another leaves.
    let links = [
        (0, 6, gbps(400), us(1)),
        (6, 7, gbps(25), us(1)),
        (7, 8, gbps(100), us(1)),
        (8, 1, gbps(400), us(1)),
        (2, 6, gbps(100), Time::from_ps(1_000_017)),
        (3, 7, gbps(400), Time::from_ps(1_000_101)),
        (4, 8, gbps(400), Time::from_ps(1_000_007)),
        (5, 8, gbps(400), Time::from_ps(1_000_053)),
    ];
    NetworkConfig { packet: SIZES, ..network(graph(6, 3, &links)) }
}

/// The paper leaves open whether `txBytes` has the packet that carries it. Here it has not, as in the authors' simulator:
/// between two records the port is then busy with the bytes of their difference, however long the two packets are.
#[test]
fn records_are_what_each_port_knew_and_come_back_in_order_and_unchanged() {
    let hpcc = with("hpcc", |p| p.base_rtt = us(13));
    let mut messages = vec![message(Time::ZERO, 0, 1, 200_000)];
    for burst in 0..4 {
        for (host, bytes) in [(2, 30_000), (3, 60_000), (4, 120_000), (5, 120_000)] {
            let other = message(ns(20_000 * burst + 3_001 * host as u64), host, 1, bytes);
            messages.push(Message { traffic: 1, ..other });
        }
    }
    let mut sim = simulation(three_switches(), vec![hpcc, patient("none")], messages);
    let there = [(0, 6), (6, 7), (7, 8), (8, 1), (2, 6), (3, 7), (4, 8), (5, 8)];
    let back = [(1, 8), (8, 7), (7, 6), (6, 0)];
    tap(&mut sim, &[&there[..], &back[..]].concat());
    finish(&mut sim);
    check_all_arrived(&sim);
    let all = taken(&mut sim);
    let on = |from: u32, to: u32| {
        let port = port(&sim, from, to);
        all.iter().filter(move |packet| packet.port == port).collect::<Vec<_>>()
    };

    // What each egress should have written into each packet, from the times of the packets alone.
    let egress = [((6, 7), vec![(0, 6), (2, 6)]), ((7, 8), vec![(6, 7), (3, 7)]), ((8, 1), vec![(7, 8), (4, 8), (5, 8)])];
    let mut waited = [0; 3];
    let expected = |(i, ((from, to), into)): (usize, &((u32, u32), Vec<(u32, u32)>)), waited: &mut [u32; 3]| {
        let out = on(*from, *to);
        let came: Vec<(Time, u64)> = (into.iter().flat_map(|(a, b)| on(*a, *b)))
            .map(|packet| (arrives(&sim, packet), packet.head.wire as u64))
            .collect();
        let rate = [gbps(25), gbps(100), gbps(400)][i];
        let mut sent = 0;
        let mut records = Vec::new();
        for packet in &out {
            let wire = packet.head.wire as u64;
            let came: u64 = came.iter().filter(|(at, _)| *at <= packet.time).map(|(_, wire)| wire).sum();
            let queued = came - sent - wire;
            if packet.head.has(flags::INT) {
                records.push(IntHop { rate, time: packet.time, sent, queued });
                waited[i] += (queued > 0) as u32;
            }
            sent += wire;
        }
        records
    };
    let expected: Vec<Vec<IntHop>> = egress.iter().enumerate().map(|at| expected(at, &mut waited)).collect();
    assert!(waited.iter().all(|n| *n > 20), "queues stood at each egress: {waited:?}");

    // Data of HPCC's flow is in the same order on each link.
    let data = on(8, 1).into_iter().filter(|packet| packet.head.has(flags::INT)).collect::<Vec<&Captured>>();
    assert_eq!(data.len(), 200);
    for (i, packet) in data.iter().enumerate() {
        let telemetry = packet.telemetry.expect("data of HPCC has telemetry");
        assert_eq!(telemetry.hops(), [expected[0][i], expected[1][i], expected[2][i]], "packet {i}");
        assert_eq!((telemetry.count(), telemetry.path()), (3, 6 ^ 7 ^ 8));
    }
    for (link, switches) in there[..4].iter().zip(0..) {
        let carries = |packet: &&Captured| packet.telemetry.map(|telemetry| telemetry.count());
        let own = on(link.0, link.1).into_iter().filter(|packet| packet.head.has(flags::INT)).collect::<Vec<_>>();
        assert!(own.len() == 200 && own.iter().all(|packet| carries(packet) == Some(switches)), "{link:?}");
    }
    assert!(on(2, 6).iter().all(|packet| packet.telemetry.is_none()), "who asks for none gets none");

    // One ACK per data packet, with the records of that packet; no switch on the way back adds any.
    for (from, to) in back {
        let acks = on(from, to).into_iter().filter(|packet| packet.head.has(flags::INT)).collect::<Vec<_>>();
        assert_eq!(acks.len(), data.len());
        for (ack, data) in acks.iter().zip(&data) {
            assert_eq!((ack.head.kind, ack.head.seq), (Kind::Ack, data.head.seq + 1000));
            assert_eq!(ack.telemetry, data.telemetry);
        }
    }
}

/// Flows of one NIC at paces of their own: each has a receiver whose link it uses to its own eta.
fn nic(shares: &[f64]) -> Simulation {
    let n = shares.len() as u32;
    let paced = |eta: f64| {
        with("hpcc", |p| {
            (p.eta, p.base_rtt, p.additive_increase) = (eta, us(9), fanin_units::Bytes(1));
        })
    };
    let traffics = shares.iter().map(|eta| paced(*eta)).collect();
    let messages = (0..n).map(|i| Message { traffic: i as u16, ..endless(Time::ZERO, 0, i + 1) }).collect();
    simulation(hosts(n + 1, gbps(25), TESTBED_DELAY), traffics, messages)
}

/// 4.2: credit in proportion to each flow's pacing rate.
#[test]
fn a_nic_gives_each_flow_its_pacing_rate() {
    for n in [1usize, 2, 10, 50, 300] {
        // Rates of 1 to 4, 90 % of the link in all.
        let weights: Vec<f64> = (0..n).map(|i| (1 + i % 4) as f64).collect();
        let sum: f64 = weights.iter().sum();
        let mut sim = nic(&weights.iter().map(|w| 0.9 * w / sum).collect::<Vec<_>>());
        run_to(&mut sim, Time::from_ms(20));
        let sent = |sim: &Simulation| sim.flows().iter().map(|f| f.packets_sent as f64).collect::<Vec<_>>();
        let before = sent(&sim);
        let (step, steps) = (us(2), 30_000);
        let mut paced = vec![0.0; n];
        for _ in 0..steps {
            let next = sim.now() + step;
            run_to(&mut sim, next);
            for (i, paced) in paced.iter_mut().enumerate() {
                *paced += seen(&sim.watch(i as u32), "rate_bps") * step.as_secs_f64() / 8.0 / HPCC_WIRE as f64;
            }
        }
        let (mut worst, mut all) = (0.0f64, 0.0);
        for (i, (after, before)) in sent(&sim).iter().zip(&before).enumerate() {
            let packets = after - before;
            // A packet more or less at either end.
            let off = ((packets - paced[i]).abs() - 1.0).max(0.0) / paced[i];
            worst = worst.max(off);
            all += packets;
            assert!(off <= 0.01, "flow {i} of {n}: {packets} packets, paced {}", paced[i]);
        }
        println!("{n}: worst {worst}, {} of the link", all * HPCC_WIRE as f64 * 8.0 / 25e9 / 0.06);
    }
}
