//! HPCC from end to end: what switches write and ACKs carry back (3.1, Fig. 4), the NIC (4.2, Fig. 8), and base
//! round-trip times (5.1).

use crate::common::hpcc::*;
use crate::common::*;
use fanin_cc::{Action, IntHop, Kind, flags};
use fanin_claims::strict;
use fanin_fabric::tap::Captured;
use fanin_fabric::topology::{Clos, LeafSpine};
use fanin_fabric::*;
use fanin_units::Time;

/// A path of three switches, 6 to 8, from host 0 to host 1 with egresses of 25, 100 and 400 Gb/s. Hosts 2 to 5 fill
/// them.
fn three_switches() -> NetworkConfig {
    // 1 us, and a little more and other rates for what comes from hosts, so that nothing arrives just as something
    // leaves.
    let links = [
        (0, 6, gbps(400), Time::from_ps(1_000_003)),
        (6, 7, gbps(25), us(1)),
        (7, 8, gbps(100), us(1)),
        (8, 1, gbps(400), us(1)),
        (2, 6, gbps(93), Time::from_ps(1_000_017)),
        (3, 7, gbps(391), Time::from_ps(1_000_101)),
        (4, 8, gbps(379), Time::from_ps(1_000_007)),
        (5, 8, gbps(387), Time::from_ps(1_000_053)),
    ];
    NetworkConfig { packet: SIZES, ..network(graph(6, 3, &links)) }
}

/// The paper leaves open whether `txBytes` has the packet that carries it. Here it has not, as in the authors'
/// simulator: between two records the port is then busy with the bytes of their difference, however long the two
/// packets are.
#[test]
fn records_are_what_each_port_knew_and_come_back_in_order_and_unchanged() {
    let hpcc = with("hpcc", |p| p.base_rtt = us(13));
    let mut messages = vec![message(ns(1500), 0, 1, 200_000)];
    for burst in 0..4 {
        for (host, bytes) in [(2, 30_000), (3, 60_000), (4, 120_000), (5, 120_000)] {
            let other = message(ns(20_000 * burst + 301 * host as u64), host, 1, bytes);
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
    let egresses = [
        ((6, 7), gbps(25), &[(0, 6), (2, 6)][..]),
        ((7, 8), gbps(100), &[(6, 7), (3, 7)]),
        ((8, 1), gbps(400), &[(7, 8), (4, 8), (5, 8)]),
    ];
    let expected = egresses.map(|((from, to), rate, into)| {
        let came: Vec<(Time, u64)> = (into.iter().flat_map(|(a, b)| on(*a, *b)))
            .map(|packet| (arrives(&sim, packet), packet.head.wire as u64))
            .collect();
        let (mut sent, mut waited, mut records) = (0, 0, Vec::new());
        for packet in on(from, to) {
            let wire = packet.head.wire as u64;
            let came: u64 = came.iter().filter(|(at, _)| *at <= packet.time).map(|(_, wire)| wire).sum();
            let queued = came - sent - wire;
            if packet.head.has(flags::INT) {
                records.push(IntHop { rate, time: packet.time, sent, queued });
                waited += (queued > 0) as u32;
            }
            sent += wire;
        }
        assert!(waited > 20, "a queue stood at the egress of {rate}");
        records
    });

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

    // One ACK per data packet, with the records of that packet; no switch on the reverse path adds any.
    for (from, to) in back {
        let acks = on(from, to).into_iter().filter(|packet| packet.head.has(flags::INT)).collect::<Vec<_>>();
        assert_eq!(acks.len(), data.len());
        for (ack, data) in acks.iter().zip(&data) {
            assert_eq!((ack.head.kind, ack.head.seq), (Kind::Ack, data.head.seq + 1000));
            assert_eq!(ack.telemetry, data.telemetry);
        }
    }
    let mut rows = fanin_claims::claim!("hpcc-fig4-int-path");
    let what = "records that are not what the times of all packets say, not in the path's order, or changed in the ACK";
    rows.asserted(what, "0", format!("0 of {}", 3 * data.len()));
}

/// 4.1: a flow that is led around a dead link starts its records anew, and keeps its window.
#[test]
fn hpcc_fig7_pathid_after_a_change_of_routes() {
    let link = cable(gbps(100), us(1));
    let graph = LeafSpine { leaves: 2, hosts: 1, spines: 2, host_link: link, fabric_link: link }.build().unwrap();
    let find = |name: &str| graph.find(name).expect("a switch").0;
    let (leaves, spines) = (find("leaf0") ^ find("leaf1"), [find("spine0"), find("spine1")]);
    let mut seen_paths = Vec::new();
    for spine in spines {
        let mut config = NetworkConfig { packet: SIZES, ..network(graph.clone()) };
        let ends = (find("leaf0"), spine);
        let way =
            config.graph.links.iter_mut().find(|link| [(link.a.0, link.b.0), (link.b.0, link.a.0)].contains(&ends));
        way.expect("a link").outages = vec![(Time::from_ms(1), Time::NEVER)];
        let mut sim = simulation(config, vec![with("hpcc", |_| ())], vec![endless(Time::ZERO, 0, 1)]);
        tap(&mut sim, &[(find("leaf0"), 0)]);
        let changes = |sim: &Simulation| sim.traffic_counters()[0].actions.get(Action::PathChange);
        loop {
            let before = (changes(&sim), sim.watch(0));
            let done = sim.run_until(Time::from_ms(2), 1);
            if changes(&sim) > before.0 {
                let after = sim.watch(0);
                assert_eq!(seen(&after, "reference_window"), seen(&before.1, "reference_window"));
                assert_eq!(seen(&after, "window_bytes"), seen(&before.1, "window_bytes"));
                assert_eq!(seen(&after, "utilisation"), 0.0, "nothing is known of the new path");
            }
            if done {
                break;
            }
        }
        let mut paths: Vec<u32> =
            taken(&mut sim).iter().filter_map(|ack| ack.telemetry.map(|t| t.path() as u32)).collect();
        paths.dedup();
        let expected: Vec<u32> = paths.iter().map(|path| path ^ leaves).collect();
        assert!(expected.iter().all(|between| spines.contains(between)), "{paths:?}");
        assert_eq!(changes(&sim), paths.len() as u64 - 1);
        seen_paths.push(paths.len());
        assert!(seen(&sim.watch(0), "utilisation") > 0.9, "and then it goes on");
    }
    seen_paths.sort_unstable();
    assert_eq!(seen_paths, [1, 2], "the flow was on one of the two");
    let mut rows = fanin_claims::claim!("hpcc-fig7-pathid");
    rows.asserted("the id after a flow is led around a dead link", "XOR of the switches' ids", "that of the new path");
}

/// Flows of one NIC, each to a receiver of its own.
fn one_nic(traffics: Vec<TrafficConfig>) -> Simulation {
    let n = traffics.len() as u32;
    let messages = (0..n).map(|i| Message { traffic: i as u16, ..endless(Time::ZERO, 0, i + 1) }).collect();
    simulation(hosts(n + 1, gbps(25), TESTBED_DELAY), traffics, messages)
}

/// Packets that flows of one NIC sent, and how many their paces amount to. Each is held at a share of the link, `all`
/// of it together and in proportion to `weights`, by an eta of its own for its receiver's link, and may save `credit`
/// bytes.
fn sent_and_paced(all: f64, weights: &[f64], credit: u32) -> Vec<(f64, f64)> {
    let sum: f64 = weights.iter().sum();
    let held = |weight: &f64| {
        let mut traffic = with("hpcc", |p| {
            (p.eta, p.base_rtt, p.additive_increase) = (all * weight / sum, us(9), fanin_units::Bytes(1));
        });
        traffic.endpoint.pacing_credit = credit;
        traffic
    };
    let mut sim = one_nic(weights.iter().map(held).collect());
    run_to(&mut sim, Time::from_ms(20));
    let before = sim.flows();
    let (step, mut paced) = (us(2), vec![0.0; weights.len()]);
    for _ in 0..15_000 {
        let next = sim.now() + step;
        run_to(&mut sim, next);
        for (i, paced) in paced.iter_mut().enumerate() {
            *paced += seen(&sim.watch(i as u32), "rate_bps") * step.as_secs_f64() / 8.0 / HPCC_WIRE as f64;
        }
    }
    let sent = sim.flows().into_iter().zip(&before).map(|(a, b)| f64::from(a.packets_sent - b.packets_sent));
    sent.zip(paced).collect()
}

/// 4.2: the NIC's credit is in proportion to paces, and so are long-run rates, whether the link is idle or full.
#[test]
fn hpcc_fig8_nic_with_credit_for_two_packets_gives_each_flow_its_rate() {
    let credit = 2 * HPCC_WIRE as u32;
    let mut worst = 0.0f64;
    for (all, n) in [(0.1, 1), (0.1, 4), (0.9, 2), (0.95, 4), (0.95, 16), (0.98, 4)] {
        let weights: Vec<f64> = (0..n).map(|i| (1 + i % 4) as f64).collect();
        for (i, (packets, paced)) in sent_and_paced(all, &weights, credit).into_iter().enumerate() {
            // A packet more or less at the ends.
            let off = ((packets - paced).abs() - 1.0) / paced;
            worst = worst.max(off);
            println!("{all} of the link: flow {i} of {n}: {packets} packets, paced {paced:.1}");
            assert!(packets > 500.0 && off <= 0.01, "flow {i} of {n} at {all}: {packets} packets, paced {paced}");
        }
    }
    let mut rows = fanin_claims::claim!("hpcc-fig8-nic (credit of two packets)");
    let ours = format!("{:.2} %", 100.0 * worst.max(0.0));
    rows.row(
        "most that a paced flow is from its rate, 1 to 16 flows at up to 0.98 of a NIC",
        "0",
        ours,
        "1 %",
        strict(worst <= 0.01),
    );
}

/// Without credit a pace is kept from packet to packet, as in the authors' simulator: what a packet waits for another
/// flow's is not made up for. Rates are those of the paces only where flows seldom delay each other.
#[test]
fn without_credit_flows_of_a_busy_nic_fall_behind_their_paces() {
    let lost = |all| -> Vec<f64> {
        let both = sent_and_paced(all, &[1.0, 2.0], 0);
        both.into_iter().map(|(packets, paced)| 1.0 - packets / paced).collect()
    };
    let (idle, busy) = (lost(0.1), lost(0.9));
    println!("two flows lack {idle:.3?} of their paces at a tenth of a link, {busy:.3?} at nine tenths");
    assert!(idle.iter().all(|lost| lost.abs() <= 0.01), "{idle:?}");
    assert!(busy.iter().all(|lost| (0.15..0.22).contains(lost)), "{busy:?}");
    let mut rows = fanin_claims::claim!("hpcc-fig8-nic (without credit)");
    let ours = format!("{:.1} %, {:.1} %", 100.0 * busy[0], 100.0 * busy[1]);
    rows.row(
        "rates that two paced flows lack at nine tenths of a NIC",
        "0",
        ours,
        "1 %",
        strict(busy.iter().all(|l| l.abs() <= 0.01)),
    );
    let most = 100.0 * span(&idle.iter().map(|lost| lost.abs()).collect::<Vec<_>>()).1;
    rows.row("the same at a tenth", "0", format!("{most:.1} % at most"), "1 %", strict(most <= 1.0));
}

/// 4.2: 300 flows, each with a window and a rate for the whole link as no receiver's link is busy.
#[test]
fn three_hundred_flows_share_a_nic_and_fill_it() {
    let mut of_both = [
        fanin_claims::claim!("hpcc-fig8-nic (without credit)"),
        fanin_claims::claim!("hpcc-fig8-nic (credit of two packets)"),
    ];
    for n in [1, 2, 50, 300] {
        let mut sim = one_nic(vec![testbed(); n]);
        run_to(&mut sim, Time::from_ms(20));
        let before = sim.flows();
        run_to(&mut sim, Time::from_ms(60));
        let packets: Vec<u32> =
            sim.flows().iter().zip(&before).map(|(after, before)| after.packets_sent - before.packets_sent).collect();
        let (least, most) = (packets.iter().min().unwrap(), packets.iter().max().unwrap());
        let used = packets.iter().sum::<u32>() as f64 * HPCC_WIRE as f64 * 8.0 / 25e9 / 0.04;
        println!("{n}: {used} of the link, {least} to {most} packets");
        // One alone fills its receiver's link too, to eta.
        assert!(used >= if n == 1 { 0.94 } else { 0.98 }, "{n}: {used}");
        assert!((most - least) as f64 <= 0.01 * *most as f64, "{n}: {least} to {most}");
        let apart = (most - least) as f64 / *most as f64;
        for rows in &mut of_both {
            let ours = format!("{:.2} %; {used:.4}", 100.0 * apart);
            let what = format!("greedy flows, {n}: farthest from each other; part of 25 Gb/s that they use");
            let holds = apart <= 0.01 && used >= if n == 1 { 0.94 } else { 0.98 };
            rows.row(what, "equal; full", ours, "1 %; at least 0.98 (one alone: eta)", strict(holds));
        }
    }
}

/// 4.2: what comes out of sequence makes one NAK, and the sender goes back to what is missing.
#[test]
fn a_gap_makes_one_nak_and_starts_again_at_what_was_lost() {
    let mut config = rack(2);
    config.detection = Time::from_ms(10);
    // Nobody notices: 2 us of a link are a few packets.
    config.graph.links[1].outages = [100, 400, 700].map(|at| (us(at), us(at + 2))).to_vec();
    let mut sim = simulation(config, vec![testbed()], vec![message(Time::ZERO, 0, 1, 3_000_000)]);
    tap(&mut sim, &[(0, 2), (2, 1), (2, 0)]);
    finish(&mut sim);
    check_all_arrived(&sim);
    let totals = sim.totals();
    assert!((6..40).contains(&totals.drops.total()), "{totals:?}");
    let all = taken(&mut sim);
    let on = |from, to| {
        let port = port(&sim, from, to);
        all.iter().filter(move |packet| packet.port == port).collect::<Vec<_>>()
    };
    // What the receiver has been sent in order, and the naks that it should answer with.
    let naks: Vec<(Time, u64)> =
        on(2, 0).iter().filter(|p| p.head.kind == Kind::Nack).map(|p| (arrives(&sim, p), p.head.seq)).collect();
    assert_eq!((naks.len(), totals.hosts.nacks, totals.hosts.timeouts), (3, 3, 0));
    let sent = on(0, 2);
    for (at, missing) in &naks {
        let again = sent.iter().find(|packet| packet.time >= *at).expect("it goes on");
        assert_eq!(again.head.seq, *missing, "after the nak of {at}");
        assert!(sent.iter().filter(|packet| packet.head.seq == *missing).count() == 2, "sent twice: {missing}");
    }
    let backwards = sent.windows(2).filter(|pair| pair[1].head.seq <= pair[0].head.seq).count();
    assert_eq!(backwards, naks.len(), "go-back-N and nothing else sends again");
    for rows in &mut [
        fanin_claims::claim!("hpcc-fig8-nic (without credit)"),
        fanin_claims::claim!("hpcc-fig8-nic (credit of two packets)"),
    ] {
        rows.asserted(
            "NAKs of three gaps, and packets sent first after them that are not the lost one",
            "3, 0",
            format!("{}, 0", naks.len()),
        );
    }
}

/// 5.1: the longest path of the FatTree has a round trip of 12 us; the testbed's are 5.4 and 8.5 us.
#[test]
fn hpcc_base_rtt() {
    // Pings of 64 B, one after another on an idle network. Gives their times, less those of the packets on the links
    // where only propagation counts.
    let pings = |graph: topology::Graph, to: &[u32], propagation: bool| {
        let messages = (0..).zip(to).map(|(i, to)| message(us(50 * i), 0, *to, 2)).collect();
        let config = NetworkConfig { packet: SIZES, ..network(graph) };
        let mut sim = simulation(config, vec![traffic("none")], messages);
        (0..to.len() as u32).for_each(|ping| sim.trace(ping));
        finish(&mut sim);
        let rates: Vec<_> = sim.config().graph.links.iter().map(|link| link.rate).collect();
        let ways = sim.hops().to_vec();
        let took = |(i, flow): (usize, &FlowRecord)| {
            let ports = ways.iter().filter(|hop| hop.message == i as u32).filter_map(|hop| hop.port);
            let on_links = ports.map(|port| rates[port.ix() / 2].tx_time(64) + rates[port.ix() / 2].tx_time(66));
            let sum = on_links.fold(Time::ZERO, |sum, time| sum + time);
            flow.acked - flow.start - if propagation { sum } else { Time::ZERO }
        };
        sim.flows().iter().enumerate().map(took).collect::<Vec<Time>>()
    };
    let fat_tree = pings(Clos::hpcc().build().unwrap(), &(1..320).collect::<Vec<_>>(), true);
    assert_eq!((fat_tree.iter().min(), fat_tree.iter().max()), (Some(&us(4)), Some(&us(12))));
    let within = |time: &Time, us: f64| (time.as_secs_f64() * 1e6 / us - 1.0).abs() <= 0.02;
    let racks = pings(testbed_graph(), &(1..32).collect::<Vec<_>>(), false);
    let (same, other) = racks.split_at(15);
    assert!(same.iter().all(|time| within(time, 5.4)), "{same:?}");
    assert!(other.iter().all(|time| within(time, 8.5)), "{other:?}");
    let mut rows = fanin_claims::claim!("hpcc-base-rtt");
    let most = fat_tree.iter().max().expect("pings");
    rows.asserted("longest round trip of the fat tree, propagation alone", "12 us", most.to_string());
    for (what, times, says) in [("a rack", same, 5.4), ("two racks", other, 8.5)] {
        let least = times.iter().min().expect("pings");
        let holds = times.iter().all(|time| within(time, says));
        rows.row(
            format!("round trip in {what} of the testbed, us"),
            &says.to_string(),
            format!("{:.2}", least.as_secs_f64() * 1e6),
            "within 2 %",
            strict(holds),
        );
    }
}
