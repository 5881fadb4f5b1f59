//! Regular topologies and queries of a graph; any other graph is in `explicit`.

mod explicit;
mod regular;

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn cable(gbps: u64, us: u64) -> Cable {
    Cable::new(Rate::from_gbps(gbps), Time::from_us(us))
}

fn config() -> ProptestConfig {
    let cases = std::env::var("FANIN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64);
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

/// Links on a shortest path between every two nodes, by relaxing all links until nothing changes.
fn slow_distances(graph: &Graph) -> Vec<Vec<u32>> {
    let nodes = graph.names.len();
    let mut all = vec![vec![u32::MAX; nodes]; nodes];
    for (from, distances) in all.iter_mut().enumerate() {
        distances[from] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for link in &graph.links {
                for (a, b) in [(link.a, link.b), (link.b, link.a)] {
                    let forwards = !graph.is_host(a) || a.ix() == from;
                    let through = distances[a.ix()].saturating_add(1);
                    if forwards && through < distances[b.ix()] {
                        distances[b.ix()] = through;
                        changed = true;
                    }
                }
            }
        }
    }
    all
}

/// Checks the properties of every network that a builder returns.
fn assert_sound(graph: &Graph) {
    let nodes = graph.names.len();
    assert!(graph.hosts >= 2 && graph.hosts as usize <= nodes);
    assert_eq!(graph.names.iter().collect::<BTreeSet<_>>().len(), nodes, "names are not unique");
    for link in &graph.links {
        assert!(link.a.ix() < nodes && link.b.ix() < nodes && link.a != link.b, "{link:?}");
        assert!(link.rate > Rate::ZERO && link.delay <= MAX_DELAY, "{link:?}");
        assert!((0.0..1.0).contains(&link.error_rate), "{link:?}");
    }
    let adjacency = graph.adjacency();
    for node in 0..nodes as u32 {
        assert!(!adjacency.of(NodeId(node)).is_empty(), "{} has no link", graph.names[node as usize]);
    }
    for host in 0..graph.hosts {
        let distances = adjacency.distances_from(NodeId(host));
        assert!(distances[..graph.hosts as usize].iter().all(|d| *d != u32::MAX), "h{host} is cut off");
    }
}

/// "tor" of "tor12".
fn tier(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit())
}

/// Per tier and number of ports, how many switches or hosts.
fn ports(graph: &Graph) -> BTreeMap<(&str, usize), u32> {
    let adjacency = graph.adjacency();
    let mut counts = BTreeMap::new();
    for (i, name) in graph.names.iter().enumerate() {
        *counts.entry((tier(name), adjacency.of(NodeId(i as u32)).len())).or_default() += 1;
    }
    counts
}

/// Per two tiers, rate and delay, how many links.
fn links(graph: &Graph) -> BTreeMap<(&str, &str, Rate, Time), u32> {
    let mut counts = BTreeMap::new();
    for link in &graph.links {
        let tiers = (tier(&graph.names[link.a.ix()]), tier(&graph.names[link.b.ix()]));
        *counts.entry((tiers.0, tiers.1, link.rate, link.delay)).or_default() += 1;
    }
    counts
}

/// The names of a node's neighbours in the order of its ports.
fn peers<'g>(graph: &'g Graph, name: &str) -> Vec<&'g str> {
    let node = graph.find(name).unwrap();
    graph.adjacency().of(node).iter().map(|(_, peer)| graph.names[peer.ix()].as_str()).collect()
}

/// Asserts that the error is about this parameter and says these things.
fn assert_error<T: std::fmt::Debug>(result: Result<T, TopologyError>, parameter: &str, says: &[&str]) {
    let error = result.unwrap_err();
    assert_eq!(error.parameter, parameter, "{error}");
    for part in says {
        assert!(error.problem.contains(part), "{error:?} does not say {part:?}");
    }
    assert_eq!(error.to_string(), format!("{}: {}", error.parameter, error.problem));
}

/// Two racks, a host with a NIC in both, two hosts joined directly.
///
/// ```text
/// a, b - s0 - core - s1 - c, d      both: first s1, then s0      a - b directly as well
/// ```
fn mixed() -> Graph {
    let mut explicit = Explicit {
        hosts: ["a", "b", "c", "d", "both"].map(String::from).to_vec(),
        switches: ["s0", "s1", "core"].map(String::from).to_vec(),
        links: Vec::new(),
    };
    for (a, b, gbps) in [
        ("a", "b", 1),
        ("a", "s0", 10),
        ("s0", "b", 10),
        ("c", "s1", 20),
        ("d", "s1", 20),
        ("both", "s1", 40),
        ("both", "s0", 2),
        ("s0", "core", 100),
        ("core", "s1", 200),
    ] {
        explicit.links.push(NamedLink::new(a, b, Rate::from_gbps(gbps), Time::from_us(1)));
    }
    explicit.build().unwrap()
}

/// Mean number of links on a shortest path between two different hosts.
fn mean_host_distance(graph: &Graph) -> f64 {
    let (adjacency, hosts) = (graph.adjacency(), graph.hosts as usize);
    let from = |host| adjacency.distances_from(NodeId(host))[..hosts].iter().map(|d| u64::from(*d)).sum::<u64>();
    (0..graph.hosts).map(from).sum::<u64>() as f64 / (hosts * (hosts - 1)) as f64
}

#[test]
fn a_graph_answers_questions() {
    let graph = mixed();
    assert_eq!((graph.node_count(), graph.hosts, graph.switches()), (8, 5, 3));
    assert!(graph.is_host(NodeId(4)) && !graph.is_host(NodeId(5)));
    assert_eq!((graph.find("core"), graph.find("a"), graph.find("nobody")), (Some(NodeId(7)), Some(NodeId(0)), None));
    assert_eq!(graph.nic_rate(), [11, 11, 20, 20, 42].map(Rate::from_gbps));
    // The direct link of two hosts counts once.
    assert_eq!(graph.capacities(), (Rate::from_gbps(1 + 10 + 10 + 20 + 20 + 40 + 2), Rate::from_gbps(300)));
    // By the first link that leads to a switch.
    assert_eq!(graph.rack_of(), [0, 0, 1, 1, 1]);
}

#[test]
fn ports_come_in_the_order_of_the_links() {
    let graph = mixed();
    let adjacency = graph.adjacency();
    let ports = |name: &str| adjacency.of(graph.find(name).unwrap()).to_vec();
    assert_eq!(ports("a"), [(PortId(0), NodeId(1)), (PortId(2), NodeId(5))]);
    assert_eq!(ports("b"), [(PortId(1), NodeId(0)), (PortId(5), NodeId(5))]);
    assert_eq!(peers(&graph, "s0"), ["a", "b", "both", "core"]);
}

#[test]
fn hosts_never_forward() {
    let graph = mixed();
    // "both" is linked to s0 and s1, yet the path from a to c is a, s0, core, s1, c.
    assert_eq!(graph.distances_from(NodeId(0)), [0, 1, 4, 4, 2, 1, 3, 2]);
    // A host may send on all of its own links.
    assert_eq!(graph.distances_from(NodeId(4)), [2, 2, 2, 2, 0, 1, 1, 2]);
    // a-b 1; a,b to c,d 4 each; a,b to both 2; c-d 2; c,d to both 2.
    let expected = (1 + 4 * 4 + 2 * 2 + 2 + 2 * 2) as f64 / 10.0;
    assert_eq!(mean_host_distance(&graph), expected);
}

#[test]
fn hosts_without_a_switch_are_racks_of_their_own() {
    let explicit = Explicit {
        hosts: vec!["a".into(), "b".into()],
        links: vec![NamedLink::new("a", "b", Rate::from_gbps(10), Time::from_us(1))],
        ..Explicit::default()
    };
    let graph = explicit.build().unwrap();
    assert_eq!(graph.rack_of(), [0, 1]);
    assert_eq!(graph.capacities(), (Rate::from_gbps(10), Rate::ZERO));
}

#[test]
fn sums_of_rates_stop_at_the_largest() {
    let fast = Cable::new(Rate::from_bps(u64::MAX), Time::ZERO);
    let graph = LeafSpine { leaves: 2, hosts: 2, spines: 2, host_link: fast, fabric_link: fast }.build().unwrap();
    assert_eq!(graph.capacities(), (fast.rate, fast.rate));
    assert_eq!(graph.nic_rate(), [fast.rate; 4]);
}

/// Per tier, how many ports.
fn tiers(graph: &Graph) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for tier in graph.tiers() {
        *counts.entry(tier.to_string()).or_default() += 1;
    }
    counts
}

#[test]
fn ports_lie_in_tiers_by_the_distance_to_hosts() {
    let count = |expected: &[(&str, usize)]| -> BTreeMap<String, usize> {
        expected.iter().map(|(tier, ports)| (tier.to_string(), *ports)).collect()
    };
    // 16 hosts, 8 ToRs and 8 aggs with 2 uplinks each.
    let both = |tier: &str, ports| [(format!("{tier}-uplink"), ports), (format!("{tier}-downlink"), ports)];
    let fat = FatTree { k: 4, link: cable(100, 1) }.build().unwrap();
    let mut expected = count(&[("host-uplink", 16), ("last-hop", 16)]);
    expected.extend(both("tor", 16));
    expected.extend(both("agg", 16));
    assert_eq!(tiers(&fat), expected);
    let tier = |from: &str, to: &str| {
        let at = (fat.find(from).unwrap(), fat.find(to).unwrap());
        let ends = fat.links.iter().flat_map(|l| [(l.a, l.b), (l.b, l.a)]);
        ends.zip(fat.tiers()).find(|(ends, _)| *ends == at).unwrap().1.to_string()
    };
    assert_eq!((tier("h0", "tor0"), tier("tor0", "h0")), ("host-uplink".into(), "last-hop".into()));
    assert_eq!((tier("tor0", "agg0"), tier("agg0", "tor0")), ("tor-uplink".into(), "tor-downlink".into()));
    assert_eq!((tier("agg0", "core0"), tier("core0", "agg0")), ("agg-uplink".into(), "agg-downlink".into()));
    // Switches with hosts on both sides; and two hosts joined directly beside a spine.
    let dumbbell = Dumbbell { left: 3, right: 2, host_link: cable(40, 1), bottleneck: cable(10, 7) };
    let expected = count(&[("host-uplink", 5), ("last-hop", 5), ("tor-across", 2)]);
    assert_eq!(tiers(&dumbbell.build().unwrap()), expected);
    let expected = [("host-across", 2), ("host-uplink", 6), ("last-hop", 6), ("tor-uplink", 2), ("tor-downlink", 2)];
    assert_eq!(tiers(&mixed()), count(&expected));
    // A chain of switches above one host, and one that nothing joins.
    let mut chain = mixed();
    chain.names = ["h", "a", "b", "c", "d", "x", "y"].map(String::from).to_vec();
    chain.hosts = 1;
    chain.links = [(0, 1), (1, 2), (2, 3), (3, 4), (5, 6)]
        .map(|(a, b)| Link::new(NodeId(a), NodeId(b), Rate::from_gbps(1), Time::ZERO))
        .to_vec();
    assert_eq!(chain.levels(), [0, 1, 2, 3, 4, u32::MAX, u32::MAX]);
    let names: Vec<String> = chain.tiers().iter().map(|tier| tier.to_string()).collect();
    let expected = [
        "host-uplink",
        "last-hop",
        "tor-uplink",
        "tor-downlink",
        "agg-uplink",
        "agg-downlink",
        "level-3-uplink",
        "level-3-downlink",
        "isolated-across",
        "isolated-across",
    ];
    assert_eq!(names, expected);
}
