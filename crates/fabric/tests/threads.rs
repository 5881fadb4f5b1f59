//! A run on many threads gives the same result as on one, for any cut.

use crate::common::lanes::{DEFLECTABLE, dart, heat, two_lanes};
use crate::common::random::{Case, Schemes, congested, incast, lossy};
use crate::common::*;
use fanin_fabric::parallel::{cut, plan, why_not_cut};
use fanin_fabric::topology::{FatTree, LeafSpine};
use fanin_fabric::*;
use fanin_units::Time;
use proptest::prelude::*;

/// All results of a run.
#[derive(Debug, PartialEq)]
struct Outcome {
    now: Time,
    totals: Totals,
    flows: Vec<FlowRecord>,
    delivered: Vec<u64>,
    ports: Vec<PortCounters>,
    classes: Vec<ClassCounters>,
    traffics: Vec<TrafficCounters>,
    incidents: Incidents,
    open: u64,
}

fn outcome(mut partitions: ParallelSimulation, stops: &[Time]) -> Vec<Outcome> {
    let stop = |until: &Time| {
        assert!(partitions.run_until(*until, 50_000_000), "events without end");
        check_ledger(&partitions.totals());
        let flows = partitions.flows();
        Outcome {
            now: partitions.now(),
            totals: partitions.totals(),
            delivered: (0..flows.len() as u32).map(|message| partitions.delivered(message)).collect(),
            flows,
            ports: partitions.port_counters(),
            classes: partitions.class_counters(),
            traffics: partitions.traffic_counters(),
            incidents: partitions.incidents().into_owned(),
            open: partitions.open_messages(),
        }
    };
    stops.iter().map(stop).collect()
}

fn messages_of(case: &Case) -> Box<dyn Iterator<Item = Message> + Send> {
    let mut messages = case.messages.clone();
    messages.sort_by_key(|m| m.start);
    Box::new(messages.into_iter())
}

fn whole(case: &Case, stops: &[Time]) -> Vec<Outcome> {
    let messages = messages_of(case);
    outcome(ParallelSimulation::whole(case.config.clone(), case.traffics.clone(), messages), stops)
}

/// On so many threads at most, whatever is faster; `None` leaves that to the simulation.
fn in_partitions(case: &Case, of: &[u16], threads: Option<usize>, stops: &[Time]) -> Vec<Outcome> {
    let messages = messages_of(case);
    let mut partitions = ParallelSimulation::cut(case.config.clone(), case.traffics.clone(), messages, of);
    if let Some(threads) = threads {
        partitions = partitions.on(threads);
        partitions.always_share();
    }
    outcome(partitions, stops)
}

/// Any cut, node by node.
fn any_cut(case: &Case, partitions: u16, spread: u64) -> Vec<u16> {
    let nodes = case.config.graph.names.len() as u64;
    let mut of: Vec<u16> =
        (0..nodes).map(|node| (fanin_engine::mix(spread, node) % u64::from(partitions)) as u16).collect();
    // Each partition at least once, with consecutive numbers.
    let mut used: Vec<u16> = of.clone();
    used.sort_unstable();
    used.dedup();
    of.iter_mut().for_each(|partition| *partition = used.binary_search(partition).unwrap() as u16);
    of
}

const STOPS: [Time; 3] = [Time::from_ns(33_333), Time::from_us(150), Time::from_us(700)];

fn check(case: &Case, spread: u64) -> Result<(), TestCaseError> {
    prop_assume!(why_not_cut(&case.config, &case.traffics).is_none());
    let expected = whole(case, &STOPS);
    for (partitions, threads) in [(2, 2), (3, 3), (8, 3), (5, 1)] {
        let found = in_partitions(case, &any_cut(case, partitions, spread), Some(threads), &STOPS);
        prop_assert_eq!(&found, &expected, "{} partitions on {} threads", partitions, threads);
    }
    let own = cut(&case.config.graph, 2);
    prop_assert_eq!(&in_partitions(case, &own, None, &STOPS), &expected, "its own cut");
    Ok(())
}

proptest! {
    #![proptest_config(cases(2))]

    #[test]
    fn any_case_is_the_same_on_any_number_of_threads(case in lossy(Schemes::All), spread in any::<u64>()) {
        check(&case, spread)?;
    }

    #[test]
    fn so_is_one_that_pauses(case in congested(), spread in any::<u64>()) {
        check(&case, spread)?;
    }
}

#[test]
fn an_incast_with_pauses_and_notices_is_the_same() {
    let case = incast(3);
    let stops = [us(50), Time::from_ms(5)];
    let expected = whole(&case, &stops);
    assert!(expected[1].totals.hosts.cnps > 0 && expected[1].incidents.seen.pauses > 0);
    assert!(expected[1].flows.iter().all(|flow| flow.acked.is_some()));
    for partitions in [2, 3, 8] {
        assert_eq!(
            in_partitions(&case, &cut(&case.config.graph, partitions), Some(9), &stops),
            expected,
            "{partitions} partitions"
        );
    }
}

/// Rounds of queries: each client asks servers all over the tree, waits for all answers, and asks again.
fn queries(traffic: TrafficConfig) -> Case {
    let graph = FatTree { k: 4, link: cable(gbps(10), us(1)) }.build().unwrap();
    let (mut messages, mut gate) = (Vec::new(), 0);
    for client in 0..4 {
        let mut before = None;
        for round in 0..3 {
            let answered = gate;
            gate += 1;
            for server in (0..16).filter(|server| server % 4 == (client + round) % 4 && *server != client) {
                let asks = Dependency {
                    after: before,
                    delay: ns(u64::from(server)),
                    counts: Some(gate),
                    ..Dependency::default()
                };
                messages.push(Message { dependency: asks, ..message(Time::ZERO, client, server, 300) });
                let chain =
                    Dependency { after: Some(gate), answers: true, counts: Some(answered), ..Dependency::default() };
                messages.push(Message { dependency: chain, ..message(Time::ZERO, server, client, 9 * PAYLOAD) });
                gate += 1;
            }
            before = Some(answered);
        }
    }
    Case { config: network(graph), traffics: vec![traffic], messages }
}

#[test]
fn queries_are_the_same_over_any_transport() {
    let connections = |traffic: TrafficConfig| {
        let endpoint = EndpointConfig { connection: true, ..traffic.endpoint };
        TrafficConfig { endpoint, ..traffic }
    };
    let persistent = |traffic: TrafficConfig| {
        let tcp = traffic.tcp.map(|tcp| TcpConfig { persistent: true, ..tcp });
        TrafficConfig { tcp, ..traffic }
    };
    let tcp = || over_tcp("newreno");
    for traffic in
        [traffic("none"), traffic("hpcc"), traffic("rcp"), connections(traffic("none")), tcp(), persistent(tcp())]
    {
        let case = queries(traffic);
        let stops = [us(13), us(37), Time::from_ms(100)];
        let expected = whole(&case, &stops);
        assert!(expected[2].flows.iter().all(|flow| flow.acked.is_some()), "{:?}", expected[2].flows);
        for (partitions, spread) in [(2, 1), (3, 2), (8, 3)] {
            let found = in_partitions(&case, &any_cut(&case, partitions, spread), Some(9), &stops);
            assert_eq!(found, expected, "{partitions} partitions under {}", case.traffics[0].name);
        }
    }
}

#[test]
fn deflections_without_pfc_are_the_same() {
    let (host_link, fabric_link) = (cable(gbps(10), us(1)), cable(gbps(10), us(1)));
    let graph = LeafSpine { leaves: 4, hosts: 4, spines: 4, host_link, fabric_link }.build().unwrap();
    let classes = two_lanes(class(false, Marking::Step { above: 22_500, at: MarkAt::Enqueue }));
    let config = NetworkConfig { classes, packet: lanes::DART_PACKET, ..network(graph) };
    let hot = (0..8).map(|host| Message { traffic: 1, ..message(us(1), host, 8 + host, 400 * PAYLOAD) });
    let short = (0..200u32).map(|i| message(us(50 + u64::from(i)), i % 8, 8 + i % 7, 8_000));
    let traffics = vec![dart("dart", |_| ()), heat(DEFLECTABLE)];
    let case = Case { config, traffics, messages: hot.chain(short).collect() };
    let stops = [us(300), Time::from_ms(20)];
    let expected = whole(&case, &stops);
    assert!(expected[1].totals.hosts.detour_bytes > 0, "{:?}", expected[1].traffics);
    assert!(expected[1].flows.iter().all(|flow| flow.acked.is_some()));
    for partitions in [2, 3, 8] {
        let found = in_partitions(&case, &any_cut(&case, partitions, 7), Some(9), &stops);
        assert_eq!(found, expected, "{partitions} partitions");
    }
}

/// Messages of a pair of hosts share what Dart's receiver grants them. The last ACK of one may change it for the
/// others, which get to know it then, and not with whatever the scheme does next in the same partition.
#[test]
fn what_pairs_of_hosts_share_is_the_same() {
    let (host_link, fabric_link) = (cable(gbps(10), us(1)), cable(gbps(10), us(1)));
    let graph = LeafSpine { leaves: 4, hosts: 2, spines: 2, host_link, fabric_link }.build().unwrap();
    let classes = two_lanes(class(false, Marking::Step { above: 22_500, at: MarkAt::Enqueue }));
    let config = NetworkConfig { classes, packet: lanes::DART_PACKET, ..network(graph) };
    // Six at once from a host to another, of different lengths.
    let one = |i: u64| {
        let (word, group) = (fanin_engine::mix(5, i / 6), i / 6);
        let (src, dst) = (group as u32 % 4, 4 + (word >> 40) as u32 % 4);
        message(ns(9_000 * group + 100 * (i % 6)), src, dst, 2_000 + fanin_engine::mix(6, i) % 16_000)
    };
    let messages = (0..1200).map(one);
    let case = Case { config, traffics: vec![dart("dart-lasthop", |_| ())], messages: messages.collect() };
    let stops = [us(300), Time::from_ms(20)];
    let expected = whole(&case, &stops);
    assert!(expected[1].flows.iter().all(|flow| flow.acked.is_some()));
    for partitions in [2, 3, 8] {
        let found = in_partitions(&case, &any_cut(&case, partitions, 7), Some(9), &stops);
        assert_eq!(found, expected, "{partitions} partitions");
    }
}

/// 24,576 links are four times what a partition has.
#[test]
fn a_large_network_has_more_partitions_than_threads() {
    let partitions = |k, threads| {
        let config = network(FatTree { k, link: cable(gbps(100), us(1)) }.build().unwrap());
        plan(&config, &[traffic("dcqcn")], threads).map(|of| 1 + *of.iter().max().unwrap())
    };
    assert_eq!([1, 2, 3, 16].map(|threads| partitions(32, threads)), [Ok(4), Ok(4), Ok(6), Ok(16)]);
    assert_eq!([1, 2].map(|threads| partitions(8, threads)), [Err("it was given one"), Ok(2)]);
}

#[test]
fn many_threads_run_only_dense_windows() {
    let graph = FatTree { k: 8, link: cable(gbps(10), us(5)) }.build().unwrap();
    let of = cut(&graph, 2);
    let across = |bytes| -> Vec<Message> { (0..128).map(|h| message(us(1), h, (h + 64) % 128, bytes)).collect() };
    let alone = |mut messages: Vec<Message>| {
        messages.truncate(1);
        messages
    };
    for (messages, threads) in [(across(100 * PAYLOAD), 2), (alone(across(100 * PAYLOAD)), 1)] {
        let case = Case { config: network(graph.clone()), traffics: vec![traffic("none")], messages };
        let mut partitions =
            ParallelSimulation::cut(case.config.clone(), case.traffics.clone(), messages_of(&case), &of);
        let mut slices = 0;
        while !partitions.run_until(Time::from_ms(3), 20_000) {
            slices += 1;
        }
        assert_eq!((partitions.threads(), partitions.count()), (threads, 2));
        assert_eq!(partitions.totals(), whole(&case, &[Time::from_ms(3)])[0].totals);
        assert_eq!(threads == 2, slices > 3, "the budget ends a slice");
    }
}

#[test]
fn samples_come_from_the_owning_partition() {
    let case = incast(3);
    let mut partitions =
        ParallelSimulation::cut(case.config.clone(), case.traffics.clone(), messages_of(&case), &any_cut(&case, 5, 1));
    let mut sim = case.build();
    partitions.follow(0, 3, false);
    sim.follow(0, 3, false);
    for at in 1..60 {
        partitions.run_until(us(at), u64::MAX);
        sim.run_until(us(at), u64::MAX);
        let message = sim.followed(0, 3).unwrap();
        assert_eq!(partitions.followed(0, 3), Some(message));
        assert_eq!(partitions.watch(message), sim.watch(message));
        assert_eq!(&*partitions.message(message), sim.message(message));
        assert_eq!(partitions.watch_traffic(0), sim.watch_traffic(0));
        assert_eq!(partitions.nothing_to_come(), sim.nothing_to_come());
        for (port, ..) in sim.ports() {
            assert_eq!(partitions.queued(port), sim.queued(port));
            assert_eq!(partitions.watch_port(port), sim.watch_port(port));
        }
        for host in 0..16 {
            assert_eq!(partitions.watch_host(0, host), sim.watch_host(0, host));
        }
    }
    assert!(partitions.is_over() == sim.is_over() && partitions.open_messages() == sim.open_messages());
}

/// Links of up to nine picoseconds: lookahead windows of one step, less than one, or no whole number of them. Time has
/// to advance in each; a step that is too long cannot be detected here, because a packet takes longer to send than the
/// window.
#[test]
fn windows_of_a_few_picoseconds_are_the_same() {
    for delay in 1..10 {
        let mut case = queries(traffic("dcqcn"));
        case.config.graph.links.iter_mut().for_each(|link| link.delay = Time::from_ps(delay));
        case.messages.truncate(6);
        let stops = [us(3), us(200)];
        let expected = whole(&case, &stops);
        assert!(expected[1].totals.packet_hops > 20, "{delay} ps");
        for partitions in [2, 3] {
            assert_eq!(
                in_partitions(&case, &any_cut(&case, partitions, delay), Some(9), &stops),
                expected,
                "{delay} ps, {partitions}"
            );
        }
    }
}

#[test]
fn networks_that_cannot_be_cut_have_a_reason() {
    let reason = |change: fn(&mut Case)| {
        let mut case = incast(1);
        change(&mut case);
        why_not_cut(&case.config, &case.traffics)
    };
    assert_eq!(reason(|_| ()), None);
    let outage = reason(|case| case.config.graph.links[0].outages = vec![(us(1), us(2))]);
    assert!(outage.unwrap().contains("link failure"));
    assert!(reason(|case| case.traffics = vec![dart("dart", |_| ())]).unwrap().contains("deflections"));
    let ring = |case: &mut Case| {
        let link = |a, b| (a, b, gbps(10), us(1));
        let hosts = (0..5).map(|h| link(h, 5 + h));
        let links: Vec<_> = hosts.chain((0..5).map(|s| link(5 + s, 5 + (s + 1) % 5))).collect();
        case.config.graph = graph(5, 5, &links);
    };
    assert!(reason(ring).unwrap().contains("deadlock"));
}

#[test]
#[should_panic(expected = "on purpose")]
fn a_panic_of_any_partition_reaches_the_caller() {
    let case = incast(1);
    let messages = Box::new(messages_of(&case).chain(std::iter::once_with(|| panic!("on purpose"))));
    let mut partitions =
        ParallelSimulation::cut(case.config.clone(), case.traffics.clone(), messages, &any_cut(&case, 4, 1));
    partitions.always_share();
    partitions.run_until(Time::from_ms(5), u64::MAX);
}

#[test]
fn finished_messages_are_packed_in_every_partition() {
    // Enough of them for several stretches, and stops between which they are packed.
    let graph = LeafSpine {
        leaves: 4,
        hosts: 4,
        spines: 2,
        host_link: cable(gbps(10), us(1)),
        fabric_link: cable(gbps(10), us(1)),
    };
    let config = network(graph.build().unwrap());
    let to = |i: u32| (i % 16 + 1 + (i / 16) % 15) % 16;
    let messages =
        (0..6000u32).map(|i| message(ns(200 * u64::from(i)), i % 16, to(i), 1 + u64::from(i) % 3000)).collect();
    let case = Case { config, traffics: vec![traffic("none")], messages };
    let stops = [us(300), us(900), Time::from_ms(3)];
    let expected = whole(&case, &stops);
    assert!(expected.last().unwrap().flows.iter().all(|flow| flow.finished.is_some() && flow.acked.is_some()));
    for partitions in [2, 3] {
        let of = any_cut(&case, partitions, 7);
        assert_eq!(in_partitions(&case, &of, Some(9), &stops), expected);
        let mut run = ParallelSimulation::cut(case.config.clone(), case.traffics.clone(), messages_of(&case), &of);
        assert!(run.run_until(Time::from_ms(3), u64::MAX));
        assert_eq!(run.take_flows().iter().collect::<Vec<_>>(), expected.last().unwrap().flows);
    }
}
