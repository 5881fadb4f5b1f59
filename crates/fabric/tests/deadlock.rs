//! The dependency graph of the escape lane: proofs for the networks we use, counter-cases, and an oracle that walks
//! every way of every pair.

mod common;

use common::*;
use fanin_fabric::deadlock::{Entry, Report, Verdict, prove};
use fanin_fabric::topology::{Clos, Dumbbell, FatTree, Graph, LeafSpine, Link};
use fanin_units::{NodeId, PortId};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeSet;

const AFTER: Entry = Entry::AfterLastMisroute;
const ON: Entry = Entry::OnLastMisroute { last_hop: false };
const ON_LAST_HOP: Entry = Entry::OnLastMisroute { last_hop: true };
const ENTRIES: [Entry; 3] = [AFTER, ON, ON_LAST_HOP];

fn clos(pods: u32, tors: u32, hosts: u32, aggs: u32, cores: u32) -> Graph {
    let link = cable(gbps(10), us(1));
    let agg_uplinks = cores.div_ceil(aggs);
    Clos {
        pods,
        tors,
        hosts,
        uplinks: aggs,
        aggs,
        agg_uplinks,
        cores: aggs * agg_uplinks,
        host_link: link,
        tor_link: link,
        core_link: link,
    }
    .build()
    .unwrap()
}

fn leaf_spine(leaves: u32, hosts: u32, spines: u32) -> Graph {
    let link = cable(gbps(10), us(1));
    LeafSpine { leaves, hosts, spines, host_link: link, fabric_link: link }.build().unwrap()
}

/// Switches in a circle with a host each; host i is node i.
fn ring(switches: u32) -> Graph {
    let s = |i: u32| switches + i % switches;
    let links: Vec<_> =
        (0..switches).flat_map(|i| [(i, s(i), gbps(10), us(1)), (s(i), s(i + 1), gbps(10), us(1))]).collect();
    graph(switches, switches, &links)
}

fn two_tors() -> Graph {
    let link = cable(gbps(10), us(1));
    Dumbbell { left: 3, right: 2, host_link: link, bottleneck: link }.build().unwrap()
}

/// Sender and receiver of a port.
fn ends(graph: &Graph, port: PortId) -> (NodeId, NodeId) {
    let Link { a, b, .. } = graph.links[port.ix() / 2];
    if port.ix() % 2 == 0 { (a, b) } else { (b, a) }
}

fn acyclic(graph: &Graph, entry: Entry) -> (u64, u64) {
    let report = prove(graph, entry);
    match report.verdict {
        Verdict::Acyclic { channels, dependencies } => (channels, dependencies),
        Verdict::Cyclic(_) => panic!("{report}"),
    }
}

/// The cycle of a report, after a look at whether it is one.
fn cycle(graph: &Graph, report: &Report) -> Vec<PortId> {
    let Verdict::Cyclic(ports) = &report.verdict else { panic!("{report}") };
    for (i, port) in ports.iter().enumerate() {
        let next = ports[(i + 1) % ports.len()];
        assert_eq!(ends(graph, *port).1, ends(graph, next).0, "{report}");
        assert_eq!(report.around[i], graph.names[ends(graph, *port).0.ix()]);
    }
    assert_eq!(ports.iter().collect::<BTreeSet<_>>().len(), ports.len(), "{report}");
    ports.clone()
}

/// Height of a switch in a network of tiers.
fn tier(graph: &Graph, node: NodeId) -> usize {
    let name = &graph.names[node.ix()];
    ["tor", "agg", "core"].iter().position(|tier| name.starts_with(tier)).expect("a switch of a Clos")
}

/// Where a cycle of a Clos goes down and then up.
fn down_up(graph: &Graph, ports: &[PortId]) -> Option<String> {
    let height = |port: PortId| {
        let (from, to) = ends(graph, port);
        tier(graph, to) > tier(graph, from)
    };
    let turn = |i: &usize| !height(ports[*i]) && height(ports[(i + 1) % ports.len()]);
    (0..ports.len()).find(turn).map(|i| graph.names[ends(graph, ports[i]).1.ix()].clone())
}

#[test]
fn the_escape_lane_of_darts_network_cannot_wait_for_itself() {
    let graph = Clos::dart().build().unwrap();
    // 64 ToRs with 4 uplinks and 64 aggregation switches with 4, both ways. An aggregation switch joins each of 4 ToRs
    // with 3 others and with 4 cores up, and the cores with the ToRs down; a core each of 16 pods with 15 others. A ToR
    // joins nothing: who comes down to it has arrived.
    let dependencies = 64 * (4 * 3 + 4 * 4 + 4 * 4) + 16 * 16 * 15;
    assert_eq!(acyclic(&graph, AFTER), (2 * (64 * 4 + 64 * 4), dependencies));
    let text = prove(&graph, AFTER).to_string();
    let expected = format!(
        "escape lane entered after the last misroute: acyclic, 1024 channels between switches, {dependencies} dependencies"
    );
    assert_eq!(text, expected);
}

#[test]
fn no_network_of_tiers_waits_for_itself() {
    acyclic(&Clos::hpcc().build().unwrap(), AFTER);
    acyclic(&FatTree { k: 8, link: cable(gbps(10), us(1)) }.build().unwrap(), AFTER);
    // A star has no channel between switches.
    assert_eq!(ENTRIES.map(|entry| acyclic(&star(8, us(1)), entry)), [(0, 0); 3]);
    assert_eq!(acyclic(&two_tors(), AFTER), (2, 0));
    // Each spine joins 4 leaves with 3 others.
    assert_eq!(acyclic(&leaf_spine(4, 2, 3), AFTER), (24, 3 * 4 * 3));
    acyclic(&LeafSpine::rcc().build().unwrap(), AFTER);
    // A chain of switches: each of the two inner ones joins left and right.
    assert_eq!(acyclic(&chain(4, gbps(10), us(1)), AFTER), (6, 4));
}

#[test]
fn entering_on_the_last_misroute_lets_a_clos_wait_for_itself() {
    // A packet may be misrouted down, from where its way leads up, which up*/down* routing never does.
    for graph in [Clos::dart().build().unwrap(), clos(2, 2, 1, 1, 1), clos(2, 2, 2, 2, 4)] {
        let report = prove(&graph, ON);
        assert!(!report.holds());
        let ports = cycle(&graph, &report);
        let turn = down_up(&graph, &ports).expect("the cycle has a down-up turn");
        assert_ne!(tier(&graph, graph.find(&turn).unwrap()), 2, "nothing is above a core");
        // Two aggregation and core switches send each other packets that come back at once.
        assert_eq!(ports.len(), 2, "{report}");
        let text = report.to_string();
        assert_eq!(text, "escape lane entered on the last misroute: cyclic, agg0 > core0 > agg0");
    }
    // Two tiers are enough, over two leaves.
    let report = prove(&leaf_spine(2, 1, 1), ON);
    assert_eq!(report.around, ["leaf0", "spine0", "leaf1", "spine0"]);
}

#[test]
fn misroutes_beside_the_destination_count_where_they_may_happen() {
    // A packet of one of two ToRs that is misrouted has no way but back: only a last hop can do that.
    let graph = two_tors();
    assert_eq!(acyclic(&graph, ON), (2, 0));
    assert_eq!(cycle(&graph, &prove(&graph, ON_LAST_HOP)).len(), 2);
}

#[test]
fn a_ring_waits_for_itself_with_shortest_paths_alone() {
    // Three switches: nobody goes on from one link between switches to another.
    assert_eq!(acyclic(&ring(3), AFTER), (6, 0));
    for switches in 4..9 {
        let graph = ring(switches);
        let report = prove(&graph, AFTER);
        let ports = cycle(&graph, &report);
        assert_eq!(ports.len(), switches as usize, "all around: {report}");
        assert!(report.to_string().contains("cyclic, s0 > s"), "{report}");
    }
}

/// The network without some of its links.
fn without(graph: &Graph, gone: &[usize]) -> Graph {
    let mut graph = graph.clone();
    let mut number = 0..;
    graph.links.retain(|_| !gone.contains(&number.next().unwrap()));
    graph
}

/// The link between two nodes.
fn link(graph: &Graph, a: &str, b: &str) -> usize {
    let is = |node: NodeId, name: &str| graph.names[node.ix()] == name;
    graph.links.iter().position(|link| is(link.a, a) && is(link.b, b)).expect("neighbours")
}

#[test]
fn a_clos_without_one_link_holds_and_without_two_may_not() {
    // At an aggregation switch that lost a ToR, a message for it may be led down and up again by another ToR.
    let graph = clos(2, 2, 1, 2, 2);
    for gone in 0..graph.links.len() {
        acyclic(&without(&graph, &[gone]), AFTER);
    }
    let dart = Clos::dart().build().unwrap();
    acyclic(&without(&dart, &[link(&dart, "tor0", "agg0")]), AFTER);
    acyclic(&without(&dart, &[link(&dart, "agg0", "core0")]), AFTER);
    // Two ToRs of a pod lost different aggregation switches: their hosts send to each other through the other pod, which
    // leads them from agg3 to agg2 by a ToR there, and back.
    let two = without(&graph, &[link(&graph, "tor0", "agg0"), link(&graph, "tor1", "agg1")]);
    let report = prove(&two, AFTER);
    assert_eq!(
        report.to_string(),
        "escape lane entered after the last misroute: cyclic, tor2 > agg2 > tor3 > agg3 > tor2"
    );
    assert_eq!(down_up(&two, &cycle(&two, &report)).as_deref(), Some("tor3"));
}

/// What walking every shortest way of every pair finds: ports between switches that are used, and pairs of them.
fn oracle(graph: &Graph, entry: Entry) -> (BTreeSet<PortId>, BTreeSet<(PortId, PortId)>) {
    let nodes = graph.names.len();
    let ports: Vec<(PortId, usize, usize)> = (0..2 * graph.links.len() as u32)
        .map(PortId)
        .map(|p| (p, ends(graph, p).0.ix(), ends(graph, p).1.ix()))
        .collect();
    let host = |node: usize| node < graph.hosts as usize;
    // All distances at once, by ways on which only switches are in the middle.
    const FAR: usize = 1 << 20;
    let mut distance = vec![vec![FAR; nodes]; nodes];
    (0..nodes).for_each(|n| distance[n][n] = 0);
    ports.iter().for_each(|&(_, a, b)| distance[a][b] = 1);
    for middle in (0..nodes).filter(|n| !host(*n)) {
        for a in 0..nodes {
            for b in 0..nodes {
                distance[a][b] = distance[a][b].min(distance[a][middle] + distance[middle][b]);
            }
        }
    }
    // Every way from a node to a host, as ports.
    fn walk(
        at: usize,
        to: usize,
        way: &mut Vec<PortId>,
        ports: &[(PortId, usize, usize)],
        near: &impl Fn(usize, usize) -> bool,
        visit: &mut impl FnMut(&[PortId]),
    ) {
        if at == to {
            return visit(way);
        }
        for &(port, from, peer) in ports {
            if from == at && near(at, peer) {
                way.push(port);
                walk(peer, to, way, ports, near, visit);
                way.pop();
            }
        }
    }
    let between = |p: PortId| !host(ends(graph, p).0.ix()) && !host(ends(graph, p).1.ix());
    let (mut used, mut pairs) = (BTreeSet::new(), BTreeSet::new());
    for to in 0..graph.hosts as usize {
        let near = |at: usize, peer: usize| {
            distance[at][to] < FAR && distance[peer][to] + 1 == distance[at][to] && (!host(peer) || peer == to)
        };
        let mut note = |way: &[PortId]| {
            used.extend(way.iter().copied().filter(|p| between(*p)));
            pairs.extend(way.windows(2).map(|w| (w[0], w[1])).filter(|(a, b)| between(*a) && between(*b)));
        };
        for from in (0..nodes).filter(|from| *from != to && distance[*from][to] < FAR) {
            walk(from, to, &mut Vec::new(), &ports, &near, &mut note);
            let least = match entry {
                Entry::AfterLastMisroute => continue,
                Entry::OnLastMisroute { last_hop } => 2 - last_hop as usize,
            };
            if !host(from) && distance[from][to] >= least {
                for &(port, ..) in ports.iter().filter(|(p, a, _)| *a == from && between(*p)) {
                    walk(ends(graph, port).1.ix(), to, &mut vec![port], &ports, &near, &mut note);
                }
            }
        }
    }
    (used, pairs)
}

/// Ports on the shortest cycle of all, or `None`.
fn girth(pairs: &BTreeSet<(PortId, PortId)>, ports: usize) -> Option<usize> {
    // Which ports are reached in so many steps, until one reaches itself.
    let mut reach: Vec<BTreeSet<PortId>> = (0..ports as u32).map(|p| BTreeSet::from([PortId(p)])).collect();
    (1..=ports).find(|_| {
        for of_port in &mut reach {
            *of_port = pairs.iter().filter(|(a, _)| of_port.contains(a)).map(|(_, b)| *b).collect();
        }
        (0..ports as u32).any(|p| reach[p as usize].contains(&PortId(p)))
    })
}

fn agrees(graph: &Graph) {
    for entry in ENTRIES {
        let (used, pairs) = oracle(graph, entry);
        let report = prove(graph, entry);
        match (&report.verdict, girth(&pairs, 2 * graph.links.len())) {
            (Verdict::Acyclic { channels, dependencies }, None) => {
                assert_eq!((*channels, *dependencies), (used.len() as u64, pairs.len() as u64), "{graph:?}");
            }
            (Verdict::Cyclic(_), Some(length)) => {
                let ports = cycle(graph, &report);
                assert_eq!(ports.len(), length, "{report}, {graph:?}");
                for (i, port) in ports.iter().enumerate() {
                    let pair = (*port, ports[(i + 1) % ports.len()]);
                    assert!(pairs.contains(&pair), "{report}, {pair:?}, {graph:?}");
                }
            }
            (verdict, girth) => panic!("{verdict:?} but {girth:?} for {entry:?} in {graph:?}"),
        }
    }
}

#[test]
fn small_networks_agree_with_walking_every_way() {
    let failed = clos(2, 2, 1, 2, 2);
    let failed = without(&failed, &[link(&failed, "tor0", "agg0"), link(&failed, "tor1", "agg1")]);
    for graph in [failed, clos(2, 2, 2, 2, 4), leaf_spine(3, 2, 2), two_tors(), ring(5), star(3, us(1))] {
        agrees(&graph);
    }
}

/// Any graph: hosts with one or more links, to hosts too, switches joined anyhow, not always all of them.
fn any_graph() -> impl Strategy<Value = Graph> {
    (2u32..6, 2u32..7, vec((any::<u32>(), any::<u32>()), 0..3), vec((any::<u32>(), any::<u32>()), 1..10)).prop_flat_map(
        |(hosts, switches, extra, mesh)| {
            vec(any::<u32>(), hosts as usize).prop_map(move |homes| {
                let switch = |n: u32| hosts + n % switches;
                let home = (0..hosts).zip(&homes).map(|(h, at)| (h, switch(*at)));
                let more = extra.iter().map(|(a, b)| (a % hosts, b % (hosts + switches)));
                let mesh = mesh.iter().map(|(a, b)| (switch(*a), switch(*b)));
                let links: Vec<_> = home.chain(more).chain(mesh).filter(|(a, b)| a != b).collect();
                let links: Vec<_> = links.into_iter().map(|(a, b)| (a, b, gbps(10), us(1))).collect();
                graph(hosts, switches, &links)
            })
        },
    )
}

fn any_clos() -> impl Strategy<Value = Graph> {
    (1u32..4, 1u32..3, 1u32..3, 1u32..3, 1u32..4)
        .prop_filter("two hosts", |(pods, tors, hosts, ..)| pods * tors * hosts >= 2)
        .prop_map(|(pods, tors, hosts, aggs, cores)| clos(pods, tors, hosts, aggs, cores))
}

proptest! {
    #![proptest_config(cases(1))]

    #[test]
    fn random_networks_agree_with_walking_every_way(graph in any_graph()) {
        agrees(&graph);
    }

    #[test]
    fn every_clos_holds_and_is_cyclic_where_misroutes_are_in_the_lane(graph in any_clos()) {
        acyclic(&graph, AFTER);
        let report = prove(&graph, ON);
        if let Verdict::Cyclic(_) = report.verdict {
            let ports = cycle(&graph, &report);
            prop_assert!(down_up(&graph, &ports).is_some(), "{}", report);
        }
        let tors = graph.names.iter().filter(|n| n.starts_with("tor")).count();
        prop_assert_eq!(report.holds(), tors < 2, "{}", report);
    }
}
