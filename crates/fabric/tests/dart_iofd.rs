//! Dart's in-order flow deflection in the network: the claims of section IV, and the counter-cases.

use crate::common::lanes::*;
use crate::common::*;
use fanin_cc::Action;
use fanin_cc::schemes::dart::{Blocked, LaneCount, Params, TableKey};
use fanin_claims::strict;
use fanin_engine::Streams;
use fanin_fabric::topology::{Graph, LeafSpine};
use fanin_fabric::*;
use fanin_units::{Bytes, NodeId, Rate, Time};
use std::sync::{Mutex, MutexGuard, OnceLock};

fn leaf_spine(leaves: u32, hosts: u32, spines: u32) -> Graph {
    let link = cable(gbps(10), us(5));
    LeafSpine { leaves, hosts, spines, host_link: link, fabric_link: link }.build().unwrap()
}

/// Fig. 6: `S1` and another host of another rack fill the link from an aggregation switch to the rack of `D2`, and 8 KB
/// from `S2` to `D2` come along. Heaters of 60 KB each are gone after 96 us; the message comes in the middle.
fn fig6(seed: u64, short: TrafficConfig, heaters: u8) -> Simulation {
    let graph = pod(4, 2);
    // Racks of two: 0 and 1, 2 and 3, 4 and 5, 6 and 7.
    let messages = vec![
        second(message(Time::ZERO, 2, 6, 60_000)),
        second(message(Time::ZERO, 4, 6, 60_000)),
        message(us(40), 0, 7, 8_000),
    ];
    let config = NetworkConfig { seed, ..darts(graph) };
    let mut sim = simulation(config, vec![short, heat(heaters)], messages);
    trace_all(&mut sim, 3);
    finish(&mut sim);
    check_all_arrived(&sim);
    sim
}

#[test]
fn dart_fig6_deflect() {
    let (mut deflected, mut again, mut slower) = (0, 0, 0);
    // The link is hot for a message in its own lane. With one lane, long messages heat it for short ones.
    for (lanes, heaters) in [(LaneCount::Two, DEFLECTABLE), (LaneCount::One, ESCAPE)] {
        for seed in 0..200 {
            let queued = fig6(seed, TrafficConfig { class: heaters, ..traffic("dcqcn") }, heaters);
            // Which aggregation switch its first packet waits at, if at one that is hot.
            let hot = |hop: &&Hop| hop.message == 2 && hop.seq == 0 && hop.queued > 15_000 && hop.node.0 >= 12;
            let Some(hot) = queued.hops().iter().find(hot).copied() else { continue };
            let short = dart("dart-iofd", |p| p.lanes = lanes);
            let traffics = [short.clone(), heat(heaters)];
            let sim = fig6(seed, short, heaters);
            let seen = check_traces(&sim, &traffics);
            assert_eq!((seen.reordered, seen.astray), (0, 0));
            let (flow, waited) = (sim.flows()[2], queued.flows()[2]);
            let faster = flow.finished - flow.start < waited.finished - waited.start;
            if flow.deflections != 1 {
                // The core led it back to the switch it came from, which is hot still.
                assert!(flow.deflections > 1, "seed {seed}");
                (again, slower) = (again + 1, slower + !faster as u32);
                continue;
            }
            deflected += 1;
            assert_eq!(flow.links, flow.hops + 2, "one to misroute, one to recover");
            assert!(faster, "seed {seed}: {flow:?} {waited:?}");
            // Decided as soon as the first packet gets there: not an instant later, and for all behind it too.
            let at_hot: Vec<&Hop> = sim.hops().iter().filter(|hop| hop.message == 2 && hop.node == hot.node).collect();
            let first = at_hot[0];
            assert!(first.seq == 0 && at_hot.iter().all(|hop| hop.deflected == 1 && hop.port == first.port));
            let next = sim.hops().iter().find(|hop| hop.message == 2 && hop.deflected == 1 && hop.node != hot.node);
            assert_eq!(next.unwrap().time, first.time + ns(1_200) + us(5));
        }
    }
    assert!(deflected >= 20, "{deflected}");
    // The claim is about one misroute. Of messages that take several hot links in turn many had better waited.
    println!("{deflected} deflected once, all faster; {again} again, {slower} of them slower");
    assert!(0 < slower && 2 * slower < again, "{slower} of {again}");
}

/// Section VI-A, VI-B: 6 links and 30 us at most, 5.8 links on average over all pairs of the 1,024 hosts.
#[test]
fn dart_topo_hops() {
    let graph = fanin_fabric::topology::Clos::dart().build().unwrap();
    let mut near = vec![Vec::new(); graph.names.len()];
    for link in &graph.links {
        near[link.a.ix()].push(link.b.ix());
        near[link.b.ix()].push(link.a.ix());
        assert_eq!(link.delay, us(5));
    }
    let hosts: Vec<usize> = (0..near.len()).filter(|node| near[*node].len() == 1).collect();
    assert_eq!(hosts.len(), 1024);
    let (mut most, mut sum) = (0, 0);
    for from in &hosts {
        let mut links = vec![usize::MAX; near.len()];
        links[*from] = 0;
        let mut reached = vec![*from];
        while let Some(node) = reached.first().copied() {
            let next = reached.iter().flat_map(|at| near[*at].iter().copied()).filter(|n| links[*n] == usize::MAX);
            let mut next: Vec<usize> = next.collect();
            next.sort_unstable();
            next.dedup();
            next.iter().for_each(|n| links[*n] = links[node] + 1);
            reached = next;
        }
        most = most.max(hosts.iter().map(|to| links[*to]).max().unwrap());
        sum += hosts.iter().map(|to| links[*to]).sum::<usize>();
    }
    let mean = sum as f64 / (1024.0 * 1023.0);
    println!("{most} links, {} us; {mean:.3} links on average", 5 * most);
    assert_eq!((most, 5 * most), (6, 30));
    assert!((5.75..=5.90).contains(&mean), "{mean}");
    let mut rows = fanin_claims::claim!("dart-topo-hops");
    rows.asserted("longest path", "6 links, 30 us", format!("{most} links, {} us", 5 * most));
    rows.row(
        "links of a path, mean over all pairs",
        "5.8",
        format!("{mean:.3}"),
        "5.75 to 5.90",
        strict((5.75..=5.90).contains(&mean)),
    );
}

#[test]
fn dart_iofd_tokens() {
    // Five switches, each linked to each other, and ports that are hot are targets too: every hop wants to deflect.
    let (switches, each) = (5, 3);
    let hosts = switches * each;
    let mut links: Vec<(u32, u32, Rate, Time)> = (0..hosts).map(|h| (h, hosts + h / each, gbps(40), us(1))).collect();
    for a in 0..switches {
        links.extend((0..a).map(|b| (hosts + a, hosts + b, gbps(10), us(1))));
    }
    let config = NetworkConfig { buffer: BufferPolicy::Unlimited, ..darts(graph(hosts, switches, &links)) };
    let mut rows = fanin_claims::claim!("dart-iofd-tokens");
    for (tokens, lanes) in [(4, LaneCount::Two), (4, LaneCount::One), (0, LaneCount::Two), (7, LaneCount::Two)] {
        let traffics = vec![dart("dart-iofd", |p| {
            (p.tokens, p.lanes, p.avoid_full, p.threshold) = (tokens, lanes, false, Bytes(1_500));
            p.table_entries = 64;
        })];
        let messages: Vec<Message> = (0..600)
            .map(|i| message(ns(400 * (i as u64 / 15)), i % hosts, (i % hosts + each + i / 15) % hosts, 8_000))
            .filter(|m| m.src / each != m.dst / each)
            .collect();
        let mut sim = simulation(config.clone(), traffics.clone(), messages.clone());
        trace_all(&mut sim, messages.len());
        finish(&mut sim);
        check_all_arrived(&sim);
        // Its checks are the claim's: misroutes, equal counts of a message's packets, and hops.
        let seen = check_traces(&sim, &traffics);
        assert_eq!((seen.reordered, seen.astray), (0, 0));
        assert_eq!(seen.most, tokens, "some took all they had");
        let lanes = if lanes == LaneCount::One { "one lane" } else { "two lanes" };
        let what = format!("most misroutes of a message with {tokens} tokens, {lanes}");
        rows.row(what, &tokens.to_string(), seen.most.to_string(), "its tokens", strict(seen.most == tokens));
        assert!(sim.hops().iter().all(|hop| hop.tokens <= tokens && hop.tokens < 8));
        assert!(sim.flows().iter().all(|flow| flow.links <= flow.hops + 2 * tokens as u16));
        assert_eq!(acted(&sim, 0, Action::TokenSpent), seen.deflections);
        if tokens > 0 {
            assert!(seen.revisits > 100 && seen.deflected > 1_000, "{seen:?}");
        }
    }
    rows.asserted("messages that did not arrive, or took more than the shortest way and two links a token", "0", "0");
}

/// Short messages towards one rack, whose hosts take turns, at 1.2 times the rate of the link that all of them would
/// take.
fn ramp(graph: &Graph, senders: &[u32], receivers: &[u32], bytes: u64, count: usize) -> Vec<Message> {
    assert!(receivers.iter().all(|r| *r < graph.hosts));
    let wire = Time::from_ps(800 * bytes.div_ceil(1448) * 1500);
    (0..count)
        .map(|i| {
            let at = Time::from_ps(wire.as_ps() * i as u64 * 10 / 12);
            message(at, senders[i % senders.len()], receivers[i % receivers.len()], bytes)
        })
        .collect()
}

/// Runs event by event. Returns the bytes queued at `hot` before the first event in which `happened` was counted.
fn queue_before(sim: &mut Simulation, hot: (u32, u32), happened: impl Fn(&Simulation) -> u64) -> Option<u64> {
    let hot = port(sim, hot.0, hot.1);
    loop {
        let before = sim.queued(hot);
        if sim.run_until(Time::from_ms(10), 1) {
            return None;
        }
        if happened(sim) > 0 {
            return Some(before);
        }
    }
}

#[test]
fn dart_iofd_threshold_order() {
    // Two chains of switches would be enough; the second path is one link longer, so that all prefer the first: s0-s1,
    // or s0-s2-s1. Four hosts on either side.
    let mut links: Vec<(u32, u32, Rate, Time)> = (0..8).map(|h| (h, 8 + h / 4, gbps(10), us(1))).collect();
    links.push((8, 9, gbps(10), us(1)));
    let one_way = graph(8, 2, &links);
    let mut links: Vec<(u32, u32, Rate, Time)> = (0..8).map(|h| (h, 8 + h / 4, gbps(10), us(1))).collect();
    links.extend([(8, 9, gbps(10), us(1)), (8, 10, gbps(10), us(1)), (10, 9, gbps(10), us(1))]);
    let two_ways = graph(8, 3, &links);
    let mut rows = fanin_claims::claim!("dart-iofd-threshold-order");
    for bytes in [1448, 4_000, 8_000] {
        let shorts = |graph: &Graph| ramp(graph, &[0, 1, 2, 3], &[4, 5, 6, 7], bytes, 2_000_000 / bytes as usize);
        // First deflection.
        let mut sim = simulation(darts(two_ways.clone()), vec![dart("dart", |_| {})], shorts(&two_ways));
        let at = queue_before(&mut sim, (8, 9), |sim| acted(sim, 0, Action::MessageDeflected)).unwrap();
        assert!(at > 15_000 && at <= 16_500, "{at}");
        let first = format!("{at}");
        // It clears the hot spot: no mark, and DCQCN does not act.
        finish(&mut sim);
        check_all_arrived(&sim);
        assert!(acted(&sim, 0, Action::MessageDeflected) > 3);
        let marks: u64 = sim.port_counters().iter().map(|port| port.marked).sum();
        assert_eq!((marks, sim.totals().hosts.cnps), (0, 0), "{bytes}");
        // Without another path the queue keeps growing, and the first mark comes later.
        let mut sim = simulation(darts(one_way.clone()), vec![dart("dart", |_| {})], shorts(&one_way));
        let hot = port(&sim, 8, 9);
        let marked = |sim: &Simulation| (1..3).map(|class| sim.class_counter(hot, class).marked).sum();
        let at = queue_before(&mut sim, (8, 9), marked).unwrap();
        assert!(at > 22_500 && at <= 24_000, "{at}");
        let what =
            format!("queue at the first deflection, and at the first mark without another path, messages of {bytes} B");
        rows.asserted(what, "15 KB, 22.5 KB", format!("{first} B, {at} B"));
        assert!(acted(&sim, 0, Action::NoPortFit) > 0, "it was to be deflected before");
        finish(&mut sim);
        let peak = sim.port_counters()[hot.ix()].peak_queue;
        assert!(peak > 60_000, "{peak}");
    }
    rows.asserted("marks while another path is idle", "0", "0");
}

/// The messages of the typical mix on 256 hosts, of whose ToR uplinks (640 Gb/s) so many percent are offered: 40 of 100
/// by short messages (VI-A).
fn mix(percent: u64, until: Time) -> Vec<Message> {
    let offered = |share: u64| Rate::from_bps(640_000_000_000 / 10_000 * percent * share);
    typical_mix(1, 256, 16, (offered(40), offered(60)), gbps(10), until)
}

/// 20 ms of the mix at 60 % on 256 hosts, and until all short messages have arrived. Every 50th message is traced, and
/// the first long ones.
fn datacenter(traffic: TrafficConfig) -> Simulation {
    let until = Time::from_ms(20);
    let messages = mix(60, until);
    let mut sim = simulation(darts(clos_256()), vec![traffic], messages.clone());
    let mut sorted: Vec<&Message> = messages.iter().collect();
    sorted.sort_by_key(|m| m.start);
    let mut long = 0;
    for (i, message) in sorted.iter().enumerate() {
        let endless = message.bytes == Message::ENDLESS;
        long += endless as u32;
        if i % 50 == 0 || endless && long <= 4 {
            sim.trace(i as u32);
        }
    }
    run_to(&mut sim, until);
    while sim.open_messages() > 0 {
        let to = sim.now() + us(100);
        run_to(&mut sim, to);
        assert!(to < until + Time::from_ms(100), "{:?}", sim.totals());
    }
    sim
}

/// The same run serves several claims.
fn iofd() -> MutexGuard<'static, Simulation> {
    static RUN: OnceLock<Mutex<Simulation>> = OnceLock::new();
    RUN.get_or_init(|| Mutex::new(datacenter(dart("dart-iofd", |_| {})))).lock().unwrap()
}

fn whole_dart() -> MutexGuard<'static, Simulation> {
    static RUN: OnceLock<Mutex<Simulation>> = OnceLock::new();
    RUN.get_or_init(|| Mutex::new(datacenter(dart("dart", |_| {})))).lock().unwrap()
}

#[test]
fn dart_iofd_inorder() {
    let mut rows = fanin_claims::claim!("dart-iofd-inorder");
    for (name, sim) in [("deflection alone", iofd()), ("Dart", whole_dart())] {
        let totals = sim.totals();
        assert_eq!(
            (totals.hosts.reordered, totals.drops, totals.hosts.nacks, totals.hosts.timeouts),
            (0, Drops::default(), 0, 0)
        );
        let flows = sim.flows();
        let short: Vec<&FlowRecord> = flows.iter().filter(|flow| flow.bytes != Message::ENDLESS).collect();
        assert!(short.len() > 80_000);
        for flow in &short {
            assert_eq!((flow.delivered, flow.reordered, flow.packets_resent), (flow.bytes, 0, 0));
            assert_eq!((flow.packets_arrived, flow.attempts.max(1)), (flow.bytes.div_ceil(1448) as u32, 1));
        }
        let deflected = short.iter().filter(|flow| flow.deflections > 0).count();
        assert!(deflected > 1_000, "{deflected}");
        let what = format!("{name}: messages with a packet out of order, lost, twice or at a wrong host");
        rows.asserted(what, "0", format!("0 of {}, {deflected} of them deflected", short.len()));
    }
}

#[test]
fn dart_iofd_long_zero() {
    let mut rows = fanin_claims::claim!("dart-iofd-long-zero");
    for (sim, traffic) in [(iofd(), dart("dart-iofd", |_| {})), (whole_dart(), dart("dart", |_| {}))] {
        let flows = sim.flows();
        let long = |message: u32| flows[message as usize].bytes == Message::ENDLESS;
        assert!(flows.iter().filter(|flow| flow.bytes == Message::ENDLESS).all(|flow| flow.deflections == 0));
        let of_long: Vec<&Hop> = sim.hops().iter().filter(|hop| long(hop.message)).collect();
        assert!(of_long.len() > 10_000, "{}", of_long.len());
        assert!(of_long.iter().all(|hop| (hop.tokens, hop.lane, hop.deflected) == (0, 0, 0)));
        let what = format!("hops of long messages with a token or deflected, {}", traffic.scheme.id());
        rows.asserted(what, "0", format!("0 of {}", of_long.len()));
        // Short ones set out with four.
        let mut set_out = sim.hops().iter().filter(|hop| !long(hop.message) && hop.deflected == 0);
        assert!(set_out.all(|hop| (hop.tokens, hop.lane) == (4, 1)));
        let seen = check_traces(&sim, &[traffic]);
        assert!(seen.deflected > 100, "{seen:?}");
    }
}

/// Packets that the switch of their receiver sent to another switch.
fn sent_back(sim: &Simulation) -> u64 {
    let (flows, graph) = (sim.flows(), &sim.config().graph);
    let peers: Vec<NodeId> = sim.ports().map(|(.., to)| to).collect();
    let rack: Vec<NodeId> = (0..graph.hosts).map(|host| graph.adjacency().of(NodeId(host))[0].1).collect();
    let at_last = sim.hops().iter().filter(|hop| hop.node == rack[flows[hop.message as usize].dst as usize]);
    at_last.filter(|hop| hop.port.is_some_and(|port| !graph.is_host(peers[port.ix()]))).count() as u64
}

#[test]
fn dart_iofd_tor_hosts() {
    // `check_traces` checks that no packet goes to a host other than its own; no packet of the run did.
    for (sim, preset) in [(iofd(), "dart-iofd"), (whole_dart(), "dart")] {
        assert!(check_traces(&sim, &[dart(preset, |_| {})]).deflected > 100);
        assert_eq!((sim.totals().drops.wrong_host, sent_back(&sim)), (0, 0));
    }
    // The other reading (row D5): hot last hops deflect, into the network.
    let sim = datacenter(dart("dart-lasthop", |_| {}));
    let seen = check_traces(&sim, &[dart("dart-lasthop", |_| {})]);
    assert_eq!((seen.reordered, seen.astray, sim.totals().drops), (0, 0, Drops::default()));
    assert!(sent_back(&sim) > 100);
    assert!(acted(&sim, 0, Action::MessageDeflected) > 4 * acted(&whole_dart(), 0, Action::MessageDeflected));
    let mut rows = fanin_claims::claim!("dart-iofd-tor-hosts");
    rows.asserted("packets at a host that is not their receiver, and messages deflected at its queue", "0, 0", "0, 0");
    rows.shown(
        "deflections at the last hop where Dart is told to",
        "-",
        format!("{}", sent_back(&sim)),
        "more than 100",
        strict(sent_back(&sim) > 100),
    );
}

#[test]
fn dart_iofd_vs_packet() {
    let sim = datacenter(dart("dart-packet-deflection", |_| {}));
    assert!(sim.totals().hosts.reordered > 1_000 && sim.totals().hosts.nacks > 0);
    assert!(sim.flows().iter().any(|flow| flow.reordered > 0 && flow.deflections > 0));
    let distance = sim.totals().hosts.reorder_distance;
    println!("reordered {} packets, by {distance} bytes at most", sim.totals().hosts.reordered);
    // All but a message's last packet at most.
    assert!(distance > 1448 && distance <= 8_000);
    assert_eq!(iofd().totals().hosts.reordered, 0);
    let mut rows = fanin_claims::claim!("dart-iofd-vs-packet");
    rows.asserted("packets out of order, deflecting messages", "0", "0");
    let ours = sim.totals().hosts.reordered;
    rows.row("packets out of order, deflecting packets", "some", ours.to_string(), "above 0", strict(ours > 0));
}

#[test]
fn dart_iofd_failure() {
    let until = Time::from_ms(24);
    let mut graph = clos_256();
    let switch = graph.find("agg5").unwrap();
    for link in graph.links.iter_mut().filter(|link| link.a == switch || link.b == switch) {
        link.outages = vec![(Time::from_ms(10), Time::from_ms(20))];
    }
    let traffic = dart("dart", |_| {});
    let messages = mix(40, until);
    let (count, short): (usize, Vec<&Message>) =
        (messages.len(), messages.iter().filter(|m| m.bytes != Message::ENDLESS).collect());
    let mut sim = simulation(darts(graph), vec![traffic.clone()], messages.clone());
    (0..count as u32).step_by(5).for_each(|message| sim.trace(message));
    run_to(&mut sim, until);
    while sim.open_messages() > 0 {
        let to = sim.now() + us(100);
        run_to(&mut sim, to);
        assert!(to < Time::from_ms(100), "{:?}", sim.totals());
    }
    // No packet of an attempt took another path than its first one, none was reordered, and none went to a wrong host.
    let seen = check_traces(&sim, &[traffic]);
    assert_eq!((seen.reordered, seen.astray, sim.totals().hosts.reordered), (0, 0, 0), "{seen:?}");
    let drops = sim.totals().drops;
    assert!(drops.blocked > 0 && drops.link_down > 0);
    assert_eq!(drops, Drops { blocked: drops.blocked, link_down: drops.link_down, ..Drops::default() });
    // Each message arrived once, however often it set out.
    let flows = sim.flows();
    let done: Vec<&FlowRecord> = flows.iter().filter(|flow| flow.bytes != Message::ENDLESS).collect();
    assert!(done.iter().all(|flow| flow.finished.is_some() && flow.delivered == flow.bytes && flow.reordered == 0));
    assert_eq!((done.len(), sim.finished()), (short.len(), short.len() as u64));
    // Messages with a dropped packet were retransmitted completely.
    let hit: Vec<u32> = (0..count as u32).filter(|m| flows[*m as usize].attempts > 1).collect();
    let traced: Vec<u32> = hit.iter().copied().filter(|m| m % 5 == 0).collect();
    assert!(traced.len() > 10, "{}", traced.len());
    let mut whole = 0;
    for message in traced {
        let flow = &flows[message as usize];
        let last = flow.attempts - 1;
        let arrived = |hop: &&Hop| hop.message == message && hop.attempt == last && hop.port.is_none();
        let seqs: Vec<u64> = sim.hops().iter().filter(arrived).map(|hop| hop.seq).collect();
        if flow.bytes != Message::ENDLESS {
            assert_eq!(seqs.len() as u64, flow.bytes.div_ceil(1448), "{flow:?}: {seqs:?}");
            assert_eq!(seqs[0], 0);
            whole += 1;
        }
    }
    assert!(whole > 10, "{whole}");
    // Entries of what was dropped are flushed, or reclaimed when nothing has come for 8 ms.
    assert!(acted(&sim, 0, Action::EntryFlushed) + acted(&sim, 0, Action::EntryReclaimed) > 0);
    let later = sim.now() + Time::from_ms(9);
    run_to(&mut sim, later);
    assert_eq!(entries(&sim, 0), 0);
    let mut rows = fanin_claims::claim!("dart-iofd-failure");
    rows.asserted(
        "messages set out again, each as a whole, once and in order",
        "each affected one",
        format!("{}", hit.len()),
    );
    rows.asserted("packets of an attempt on another path than its first one's, out of order or twice", "0", "0");
    rows.asserted("entries left of dropped messages", "0", "0");
}

/// A leaf-spine fabric of 10 Gb/s, 32 KB of buffer per lane and port, and hosts that send 8 KB messages to other racks
/// at more than line rate for 1 ms. Shortest paths go up and down and have no cycle; a message that a spine deflects to
/// a third leaf goes up again from there, and two leaves and two spines make a ring of that. Returns whether it
/// deadlocked.
fn ring_of_deflections(seed: u64, change: impl Fn(&mut Params)) -> (Simulation, TrafficConfig, bool) {
    let (leaves, each) = (4, 4);
    let hosts = leaves * each;
    let mut traffic = dart("dart-iofd", change);
    traffic.endpoint.timeout = Time::NEVER;
    let mut classes = two_lanes(class(true, Marking::Off));
    classes.truncate(if traffic.lane_class == 0 { 1 } else { 2 });
    let buffer = lossless(32_000 * classes.len() as u64, None);
    let config = NetworkConfig { seed, classes, buffer, ..darts(leaf_spine(leaves, each, 2)) };
    let mut draws = Streams::new(seed).stream("ring of deflections", 0);
    let mut messages = Vec::new();
    for src in (0..hosts).flat_map(|src| std::iter::repeat_n(src, 150)) {
        let rack = (src / each + 1 + draws.below(leaves as u64 - 1) as u32) % leaves;
        messages.push(message(ns(draws.below(1_000_000)), src, rack * each + draws.below(each as u64) as u32, 8_000));
    }
    // What the uplinks need for it.
    let wire = messages.len() as u64 * (8_000 + 6 * 52);
    let drain = gbps(10 * leaves as u64 * 2).tx_time(wire);
    let mut sim = simulation(config, vec![traffic.clone()], messages);
    (0..500).for_each(|message| sim.trace(message * 4));
    for _ in 0..10 {
        let to = sim.now() + drain;
        run_to(&mut sim, to);
        if sim.open_messages() == 0 && sim.nothing_to_come() {
            return (sim, traffic, false);
        }
    }
    (sim, traffic, true)
}

/// 32 KB less the headroom leave 15 KB until an ingress is paused, so queues are deflected around from 6 KB on here.
fn ring_with(seed: u64, lanes: LaneCount, tokens: u8, blocked: Blocked) -> (Simulation, TrafficConfig, bool) {
    ring_of_deflections(seed, |p| (p.threshold, p.lanes, p.tokens, p.blocked) = (Bytes(6_000), lanes, tokens, blocked))
}

/// The first of 100 seeds with which the ring locks.
fn first_lock(lanes: LaneCount, tokens: u8, blocked: Blocked) -> Option<u64> {
    (0..100).find(|seed| ring_with(*seed, lanes, tokens, blocked).2)
}

/// What the escape lane promises (IV-B), however many tokens there are: no packet leaves it, none is deflected in it,
/// and its paths go up and then down.
fn check_escape_lane(sim: &Simulation, traffic: TrafficConfig) -> Seen {
    let seen = check_traces(sim, &[traffic]);
    assert_eq!((seen.reordered, seen.astray, sim.totals().drops), (0, 0, Drops::default()));
    let (peers, graph): (Vec<NodeId>, _) = (sim.ports().map(|(.., to)| to).collect(), &sim.config().graph);
    let is_spine = |node: NodeId| graph.names[node.ix()].starts_with("spine");
    assert_eq!((graph.hosts..graph.node_count()).filter(|node| is_spine(NodeId(*node))).count(), 2);
    let mut came_down: Vec<(u32, u64)> = Vec::new();
    for hop in sim.hops().iter().filter(|hop| hop.lane == 0 && hop.port.is_some()) {
        if is_spine(hop.node) {
            came_down.push((hop.message, hop.seq));
        } else if is_spine(peers[hop.port.unwrap().ix()]) {
            assert!(!came_down.contains(&(hop.message, hop.seq)), "up after down: {hop:?}");
        }
    }
    seen
}

/// With one token the other lane has no cycle either: who is misrouted enters the escape lane at the next switch. Two
/// lanes then deliver all where one lane locks.
#[test]
fn one_token_and_an_escape_lane_cannot_lock() {
    for seed in 0..(cases(10).cases as u64).clamp(10, 100) {
        let (sim, traffic, locked) = ring_with(seed, LaneCount::Two, 1, Blocked::Stay);
        assert!(!locked, "seed {seed}");
        let seen = check_escape_lane(&sim, traffic);
        assert!(seen.escaped > 0 && seen.deflected > 0, "{seen:?}");
    }
    let seed = first_lock(LaneCount::One, 1, Blocked::Stay).expect("one lane locks");
    assert!(!ring_with(seed, LaneCount::Two, 1, Blocked::Stay).2);
}

/// Row D14: with more tokens a message may be misrouted again and again in the other lane, which has cycles then, and
/// packets waiting there cannot enter the escape lane. It deadlocks about as often as one lane does, and with `duato`
/// hardly less.
#[test]
fn four_tokens_can_lock_in_two_lanes_as_in_one() {
    let one = first_lock(LaneCount::One, 4, Blocked::Stay).expect("one lane locks");
    let two = first_lock(LaneCount::Two, 4, Blocked::Stay).expect("two lanes are no proof");
    let (sim, traffic, locked) = ring_with(two, LaneCount::Two, 4, Blocked::Stay);
    assert!(locked && !ring_with(one, LaneCount::Two, 4, Blocked::Duato).2);
    check_escape_lane(&sim, traffic);
    let mut rows = fanin_claims::claim!("dart-iofd-escape-vl");
    rows.asserted("packets that leave the escape lane, are deflected there, or go up after down", "0", "0");
    let first = format!("the first is seed {one}");
    rows.asserted("seeds of 100 with which one lane deadlocks", "at least one", first);
    rows.row(
        "seeds of 100 with which two lanes deadlock, 4 tokens",
        "0",
        format!("the first is seed {two}"),
        "0",
        strict(false),
    );
    // No packet moves any more.
    let mut sim = sim;
    let (hops, open) = (sim.totals().packet_hops, sim.open_messages());
    run_to(&mut sim, Time::from_ms(100));
    assert_eq!((hops, open), (sim.totals().packet_hops, sim.open_messages()));
}

/// How many of the first seeds lock, for VALIDATION.md: 100 with `FANIN_CASES=1000`.
#[test]
fn how_often_the_ring_locks() {
    let seeds = (cases(10).cases as u64).clamp(5, 100);
    let count = |lanes, tokens, blocked| (0..seeds).filter(|seed| ring_with(*seed, lanes, tokens, blocked).2).count();
    for tokens in [4, 1] {
        let (one, two) = (count(LaneCount::One, tokens, Blocked::Stay), count(LaneCount::Two, tokens, Blocked::Stay));
        let duato = count(LaneCount::Two, tokens, Blocked::Duato);
        println!("{tokens} tokens, of {seeds} seeds: one lane locks with {one}, two with {two}, duato with {duato}");
        assert!(tokens > 1 || (two, duato) == (0, 0), "{two} {duato}");
    }
}

/// An incast whose last hop deflects back into a small fabric, so that messages come back to switches.
fn revisits(seed: u64, key: TableKey) -> (Simulation, Seen) {
    let messages: Vec<Message> = (0..75).map(|i| message(ns(1_000 * i), 1 + (i % 15) as u32, 0, 8_000)).collect();
    let config = NetworkConfig { seed, ..darts(leaf_spine(4, 4, 2)) };
    let traffics = [dart("dart-lasthop", |p| p.table_key = key)];
    let mut sim = simulation(config, traffics.to_vec(), messages);
    trace_all(&mut sim, 75);
    finish(&mut sim);
    check_all_arrived(&sim);
    let seen = check_traces(&sim, &traffics);
    (sim, seen)
}

/// IV-A, row D7: found by the message alone, an entry of an earlier visit catches a message again, and its end packet
/// frees the entry under the packets that are still to come back.
#[test]
fn a_table_keyed_by_the_message_alone_reorders() {
    let (mut reordered, mut astray) = (0, 0);
    for seed in 0..20 {
        let (sim, seen) = revisits(seed, TableKey::MessageAndTokens);
        assert!(seen.revisits > 50, "{seen:?}");
        assert_eq!((seen.reordered, seen.astray, sim.totals().hosts.reordered, sim.totals().hosts.nacks), (0, 0, 0, 0));
        let (sim, seen) = revisits(seed, TableKey::Message);
        assert_eq!(seen.reordered > 0, sim.totals().hosts.reordered > 0);
        reordered += (seen.reordered > 0) as u32;
        astray += (seen.astray > 0) as u32;
    }
    assert!(reordered > 0 && astray >= reordered, "{reordered} {astray}");
}
