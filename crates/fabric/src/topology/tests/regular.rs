//! Regular topologies.

use super::super::draft::check_size;
use super::*;

#[test]
fn star() {
    let graph = Star { hosts: 17, host_link: cable(100, 1) }.build().unwrap();
    assert_sound(&graph);
    assert_eq!(ports(&graph), BTreeMap::from([(("h", 1), 17), (("sw", 17), 1)]));
    assert_eq!(links(&graph), BTreeMap::from([(("h", "sw", Rate::from_gbps(100), Time::from_us(1)), 17)]));
    assert_eq!(mean_host_distance(&graph), 2.0);
    assert_eq!(graph.capacities(), (Rate::from_gbps(1700), Rate::ZERO));
    assert_eq!(graph.rack_of(), [0; 17]);
}

#[test]
fn dumbbell() {
    let (host_link, bottleneck) = (cable(40, 1), cable(10, 7));
    let graph = Dumbbell { left: 3, right: 2, host_link, bottleneck }.build().unwrap();
    assert_sound(&graph);
    assert_eq!(ports(&graph), BTreeMap::from([(("h", 1), 5), (("left", 4), 1), (("right", 3), 1)]));
    let host_links = |side| (("h", side, Rate::from_gbps(40), Time::from_us(1)), if side == "left" { 3 } else { 2 });
    let middle = (("left", "right", Rate::from_gbps(10), Time::from_us(7)), 1);
    assert_eq!(links(&graph), BTreeMap::from([host_links("left"), host_links("right"), middle]));
    assert_eq!(peers(&graph, "left"), ["h0", "h1", "h2", "right"]);
    assert_eq!(graph.rack_of(), [0, 0, 0, 1, 1]);
    assert_eq!(graph.capacities(), (Rate::from_gbps(200), Rate::from_gbps(10)));
}

#[test]
fn parking_lot() {
    let (host_link, chain_link) = (cable(40, 1), cable(10, 2));
    let graph = ParkingLot { switches: 4, hosts: 2, host_link, chain_link }.build().unwrap();
    assert_sound(&graph);
    assert_eq!(ports(&graph), BTreeMap::from([(("h", 1), 8), (("sw", 3), 2), (("sw", 4), 2)]));
    let chain = (("sw", "sw", Rate::from_gbps(10), Time::from_us(2)), 3);
    assert_eq!(links(&graph), BTreeMap::from([(("h", "sw", Rate::from_gbps(40), Time::from_us(1)), 8), chain]));
    assert_eq!(peers(&graph, "sw1"), ["h2", "h3", "sw0", "sw2"]);
    assert_eq!(graph.distances_from(NodeId(0))[7], 5);
    // Links between two ToRs count once.
    assert_eq!(graph.capacities(), (Rate::from_gbps(320), Rate::from_gbps(30)));
}

#[test]
fn leaf_spine() {
    let (host_link, fabric_link) = (cable(10, 1), cable(40, 2));
    let graph = LeafSpine { leaves: 4, hosts: 3, spines: 2, host_link, fabric_link }.build().unwrap();
    assert_sound(&graph);
    assert_eq!(ports(&graph), BTreeMap::from([(("h", 1), 12), (("leaf", 5), 4), (("spine", 4), 2)]));
    let fabric = (("leaf", "spine", Rate::from_gbps(40), Time::from_us(2)), 8);
    assert_eq!(links(&graph), BTreeMap::from([(("h", "leaf", Rate::from_gbps(10), Time::from_us(1)), 12), fabric]));
    assert_eq!(peers(&graph, "leaf2"), ["h6", "h7", "h8", "spine0", "spine1"]);
    assert_eq!(graph.rack_of(), [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]);
}

#[test]
fn rcc_tree_has_1000_hosts_in_40_racks() {
    let graph = LeafSpine::rcc().build().unwrap();
    assert_sound(&graph);
    assert_eq!(ports(&graph), BTreeMap::from([(("h", 1), 1000), (("leaf", 26), 40), (("spine", 40), 1)]));
    let delay = Time::from_us(40);
    assert_eq!(
        links(&graph),
        BTreeMap::from([
            (("h", "leaf", Rate::from_gbps(1), delay), 1000),
            (("leaf", "spine", Rate::from_gbps(25), delay), 40)
        ])
    );
    // Not oversubscribed.
    assert_eq!(graph.capacities(), (Rate::from_gbps(1000), Rate::from_gbps(1000)));
}

#[test]
fn fat_tree_of_k_has_k_ports_on_every_switch() {
    for (k, hosts) in [(2, 2), (4, 16), (8, 128), (16, 1024)] {
        let graph = FatTree { k, link: cable(100, 1) }.build().unwrap();
        assert_sound(&graph);
        let p = k as usize;
        let (tors, cores) = (k * k / 2, k * k / 4);
        let expected = [(("h", 1), hosts), (("tor", p), tors), (("agg", p), tors), (("core", p), cores)];
        assert_eq!(ports(&graph), BTreeMap::from(expected), "k = {k}");
        assert_eq!(graph.links.len() as u32, 3 * hosts);
        // Every tier has the capacity of all hosts.
        let all = Rate::from_gbps(100 * u64::from(hosts));
        assert_eq!(graph.capacities(), (all, all));
    }
    let graph = FatTree { k: 4, link: cable(100, 1) }.build().unwrap();
    assert_eq!(peers(&graph, "tor3"), ["h6", "h7", "agg2", "agg3"]);
    assert_eq!(peers(&graph, "agg3"), ["tor2", "tor3", "core2", "core3"]);
    assert_eq!(peers(&graph, "core2"), ["agg1", "agg3", "agg5", "agg7"]);
    assert_eq!(mean_host_distance(&graph), (2 + 2 * 4 + 12 * 6) as f64 / 15.0);
}

#[test]
fn dart_clos_is_4_to_1_oversubscribed_with_5_85_links_between_hosts() {
    let graph = Clos::dart().build().unwrap();
    assert_sound(&graph);
    let switches = [(("tor", 20), 64), (("agg", 8), 64), (("core", 16), 16)];
    assert_eq!(ports(&graph), BTreeMap::from_iter(switches.into_iter().chain([(("h", 1), 1024)])));
    let (rate, delay) = (Rate::from_gbps(10), Time::from_us(5));
    let fabric = [(("tor", "agg", rate, delay), 256), (("agg", "core", rate, delay), 256)];
    assert_eq!(links(&graph), BTreeMap::from_iter(fabric.into_iter().chain([(("h", "tor", rate, delay), 1024)])));
    let (host_links, tor_uplinks) = graph.capacities();
    assert_eq!(tor_uplinks, Rate::from_gbps(2560));
    assert_eq!(host_links.as_bps(), 4 * tor_uplinks.as_bps());
    let mean = mean_host_distance(&graph);
    assert_eq!(mean, (15 * 2 + 48 * 4 + 960 * 6) as f64 / 1023.0);
    assert_eq!((mean * 100.0).round(), 585.0);
    assert_eq!(graph.rack_of()[1023], 63);
    // Cut between two halves of the pods: 512 hosts on one side, and half of all links to the core.
    let to_core = graph.links.iter().filter(|l| graph.names[l.b.ix()].starts_with("core"));
    let core_links: u64 = to_core.map(|l| l.rate.as_bps()).sum();
    assert_eq!(512 * rate.as_bps(), 4 * (core_links / 2));
}

#[test]
fn hpcc_clos_is_that_of_the_paper() {
    let graph = Clos::hpcc().build().unwrap();
    assert_sound(&graph);
    assert_eq!((graph.node_count(), graph.switches(), graph.links.len()), (376, 56, 480));
    let switches = [(("tor", 20), 20), (("agg", 8), 20), (("core", 5), 16)];
    assert_eq!(ports(&graph), BTreeMap::from_iter(switches.into_iter().chain([(("h", 1), 320)])));
    let (fast, delay) = (Rate::from_gbps(400), Time::from_us(1));
    let fabric = [(("tor", "agg", fast, delay), 80), (("agg", "core", fast, delay), 80)];
    let expected = fabric.into_iter().chain([(("h", "tor", Rate::from_gbps(100), delay), 320)]);
    assert_eq!(links(&graph), BTreeMap::from_iter(expected));
    assert_eq!(peers(&graph, "tor5")[15..], ["h95", "agg4", "agg5", "agg6", "agg7"]);
    assert_eq!(peers(&graph, "agg6"), ["tor4", "tor5", "tor6", "tor7", "core8", "core9", "core10", "core11"]);
    assert_eq!(peers(&graph, "core9"), ["agg2", "agg6", "agg10", "agg14", "agg18"]);
    assert_eq!(["h319", "tor0", "agg0", "core0"].map(|n| graph.find(n).unwrap().0), [319, 320, 340, 360]);
}

#[test]
fn clos_spreads_parallel_links_evenly() {
    // 8 uplinks over 4 aggregation switches; 4 * 6 links of a pod over 8 core switches.
    let clos = Clos { pods: 3, tors: 2, hosts: 32, uplinks: 8, aggs: 4, agg_uplinks: 6, cores: 8, ..Clos::dart() };
    let graph = clos.build().unwrap();
    assert_sound(&graph);
    let switches = [(("tor", 40), 6), (("agg", 10), 12), (("core", 9), 8)];
    assert_eq!(ports(&graph), BTreeMap::from_iter(switches.into_iter().chain([(("h", 1), 192)])));
    assert_eq!(peers(&graph, "tor2")[32..], ["agg4", "agg5", "agg6", "agg7", "agg4", "agg5", "agg6", "agg7"]);
}

#[test]
fn counts_that_are_too_small_are_errors() {
    let (host_link, fast) = (cable(10, 1), cable(40, 1));
    assert_error(Star { hosts: 1, host_link }.build(), "hosts", &["is 1", "at least 2"]);
    let dumbbell = Dumbbell { left: 1, right: 1, host_link, bottleneck: fast };
    assert_error(Dumbbell { left: 0, ..dumbbell }.build(), "left", &["is 0", "at least 1"]);
    assert_error(Dumbbell { right: 0, ..dumbbell }.build(), "right", &["is 0", "at least 1"]);
    let parking_lot = ParkingLot { switches: 2, hosts: 1, host_link, chain_link: fast };
    assert_error(ParkingLot { switches: 1, ..parking_lot }.build(), "switches", &["is 1", "at least 2"]);
    assert_error(ParkingLot { hosts: 0, ..parking_lot }.build(), "hosts", &["is 0", "at least 1"]);
    let rcc = LeafSpine::rcc();
    assert_error(LeafSpine { leaves: 0, ..rcc }.build(), "leaves", &["is 0", "at least 1"]);
    assert_error(LeafSpine { hosts: 0, ..rcc }.build(), "hosts", &["is 0", "at least 1"]);
    assert_error(LeafSpine { spines: 0, ..rcc }.build(), "spines", &["is 0", "at least 1"]);
    let dart = Clos::dart();
    for (parameter, clos) in [
        ("pods", Clos { pods: 0, ..dart }),
        ("tors", Clos { tors: 0, ..dart }),
        ("hosts", Clos { hosts: 0, ..dart }),
        ("uplinks", Clos { uplinks: 0, ..dart }),
        ("aggs", Clos { aggs: 0, ..dart }),
        ("agg_uplinks", Clos { agg_uplinks: 0, ..dart }),
        ("cores", Clos { cores: 0, ..dart }),
    ] {
        assert_error(clos.build(), parameter, &["is 0", "at least 1"]);
    }
}

#[test]
fn a_single_host_is_an_error() {
    let lone = LeafSpine { leaves: 1, hosts: 1, ..LeafSpine::rcc() };
    assert_error(lone.build(), "leaves, hosts, spines", &["1 host", "at least 2"]);
    let lone = Clos { pods: 1, tors: 1, hosts: 1, ..Clos::dart() };
    assert!(lone.build().unwrap_err().problem.contains("at least 2 hosts"));
}

#[test]
fn switch_counts_that_do_not_divide_are_errors() {
    let clos = Clos { uplinks: 6, ..Clos::dart() };
    assert_error(clos.build(), "uplinks", &["is 6", "multiple of aggs (4)"]);
    let clos = Clos { uplinks: 2, ..Clos::dart() };
    assert_error(clos.build(), "uplinks", &["is 2", "multiple of aggs (4)"]);
    let clos = Clos { cores: 12, ..Clos::dart() };
    assert_error(clos.build(), "agg_uplinks", &["4 * 4 = 16", "multiple of cores (12)"]);
    for k in [0, 1, 3, 15, u32::MAX] {
        assert_error(FatTree { k, link: cable(10, 1) }.build(), "k", &[&format!("is {k}"), "even", "at least 2"]);
    }
}

#[test]
fn every_cable_is_checked() {
    let good = cable(10, 1);
    let stopped = Cable::new(Rate::ZERO, Time::ZERO);
    let far = Cable::new(Rate::from_gbps(1), Time::from_ps(MAX_DELAY.as_ps() + 1));
    for (bad, field, says) in [(stopped, "rate", "above 0"), (far, "delay", "at most 1 s")] {
        let check = |result, parameter: &str| assert_error(result, &format!("{parameter}.{field}"), &[says]);
        check(Star { hosts: 2, host_link: bad }.build(), "host_link");
        let dumbbell = Dumbbell { left: 1, right: 1, host_link: good, bottleneck: good };
        check(Dumbbell { host_link: bad, ..dumbbell }.build(), "host_link");
        check(Dumbbell { bottleneck: bad, ..dumbbell }.build(), "bottleneck");
        let parking_lot = ParkingLot { switches: 2, hosts: 1, host_link: good, chain_link: good };
        check(ParkingLot { host_link: bad, ..parking_lot }.build(), "host_link");
        check(ParkingLot { chain_link: bad, ..parking_lot }.build(), "chain_link");
        check(LeafSpine { host_link: bad, ..LeafSpine::rcc() }.build(), "host_link");
        check(LeafSpine { fabric_link: bad, ..LeafSpine::rcc() }.build(), "fabric_link");
        check(Clos { host_link: bad, ..Clos::dart() }.build(), "host_link");
        check(Clos { tor_link: bad, ..Clos::dart() }.build(), "tor_link");
        check(Clos { core_link: bad, ..Clos::dart() }.build(), "core_link");
        check(FatTree { k: 4, link: bad }.build(), "link");
    }
    assert!(Star { hosts: 2, host_link: Cable::new(Rate::from_bps(1), MAX_DELAY) }.build().is_ok());
}

#[test]
fn absurd_sizes_are_errors() {
    let (host_link, max) = (cable(10, 1), u32::MAX);
    let nodes = "at most 1000000 nodes";
    assert_error(Star { hosts: 1_000_000, host_link }.build(), "hosts", &["1000001 nodes", nodes]);
    assert_error(Star { hosts: max, host_link }.build(), "hosts", &[nodes]);
    let dumbbell = Dumbbell { left: max, right: max, host_link, bottleneck: host_link };
    assert_error(dumbbell.build(), "left, right", &[nodes]);
    let parking_lot = ParkingLot { switches: max, hosts: max, host_link, chain_link: host_link };
    assert_error(parking_lot.build(), "switches, hosts", &[nodes]);
    let leaf_spine = LeafSpine { leaves: 2_001, spines: 2_000, ..LeafSpine::rcc() };
    assert_error(leaf_spine.build(), "leaves, hosts, spines", &["4052025 links", "at most 4000000 links"]);
    let clos = Clos { pods: max, tors: max, hosts: max, ..Clos::dart() };
    assert_error(clos.build(), "pods, tors, hosts, uplinks, aggs, agg_uplinks, cores", &["2^64 or more", nodes]);
    assert_error(FatTree { k: 160, link: host_link }.build(), "k", &["1056000 nodes", nodes]);
    assert_error(FatTree { k: max - 1, link: host_link }.build(), "k", &[nodes]);
    // The limits themselves are possible.
    assert_eq!(check_size("x", MAX_NODES, MAX_LINKS), Ok(()));
    assert!(check_size("x", MAX_NODES + 1, MAX_LINKS).is_err() && check_size("x", MAX_NODES, MAX_LINKS + 1).is_err());
}

/// Mostly small numbers, now and then none or an absurd one.
fn count() -> impl Strategy<Value = u32> {
    prop_oneof![38 => 1u32..6, 1 => Just(0), 1 => prop_oneof![Just(u32::MAX), 1_000_000u32..]]
}

fn any_cable() -> impl Strategy<Value = Cable> {
    (prop_oneof![40 => 1u64..1000, 1 => Just(0)], prop_oneof![40 => 0u64..1000, 1 => Just(2_000_000)])
        .prop_map(|(gbps, us)| cable(gbps, us))
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_parameters_make_a_sound_network_or_an_error(
        n in [count(), count(), count(), count(), count(), count(), count()],
        cables in [any_cable(), any_cable(), any_cable()],
    ) {
        let [host_link, tor_link, core_link] = cables;
        let [pods, tors, hosts, uplinks, aggs, agg_uplinks, cores] = n;
        let clos = Clos { pods, tors, hosts, uplinks, aggs, agg_uplinks, cores, host_link, tor_link, core_link };
        let graphs = [
            Star { hosts, host_link }.build(),
            Dumbbell { left: pods, right: tors, host_link, bottleneck: tor_link }.build(),
            ParkingLot { switches: tors, hosts, host_link, chain_link: tor_link }.build(),
            LeafSpine { leaves: tors, hosts, spines: aggs, host_link, fabric_link: tor_link }.build(),
            FatTree { k: pods, link: host_link }.build(),
            clos.build(),
            // Sizes that divide, so that most cases are networks.
            Clos { uplinks: aggs.saturating_mul(uplinks), agg_uplinks: agg_uplinks.saturating_mul(cores), ..clos }
                .build(),
        ];
        for graph in graphs.iter().flatten() {
            assert_sound(graph);
            let slow = slow_distances(graph);
            for (host, expected) in slow.iter().enumerate().take(graph.hosts as usize) {
                prop_assert_eq!(&graph.distances_from(NodeId(host as u32)), expected);
            }
        }
    }
}

#[test]
fn rails_join_the_same_places_of_servers() {
    let cable = |gbps| Cable::new(Rate::from_gbps(gbps), Time::from_ns(500));
    let rails = Rails {
        servers: 4,
        gpus: 4,
        rails: 2,
        segment: 2,
        planes: 2,
        tors: 2,
        spines: 3,
        nvlink: Some(cable(2880)),
        nic: cable(200),
        fabric_link: cable(400),
    };
    let graph = rails.build().unwrap();
    // 2 planes of 2 leaves for each of 2 rails in 2 segments, 3 spines a plane, and an NV switch a server.
    assert_eq!((graph.hosts, graph.switches()), (16, 16 + 6 + 4));
    assert_eq!(graph.links.len(), 16 * 4 + 16 * 3 + 16);
    let neighbours = |name: &str| {
        let node = graph.find(name).unwrap();
        let other =
            |link: &Link| [(link.a, link.b), (link.b, link.a)].iter().find(|end| end.0 == node).map(|end| end.1);
        let mut names: Vec<&str> =
            graph.links.iter().filter_map(other).map(|node| graph.names[node.ix()].as_str()).collect();
        names.sort_unstable();
        names.join(" ")
    };
    assert_eq!(neighbours("gpu2.3"), "leaf0.1.1 leaf1.1.1 leaf2.1.1 leaf3.1.1 nv2");
    assert_eq!(neighbours("leaf1.0.0"), "gpu0.0 gpu0.2 gpu1.0 gpu1.2 spine0.0 spine0.1 spine0.2");
    assert_eq!(
        neighbours("spine1.2"),
        "leaf2.0.0 leaf2.0.1 leaf2.1.0 leaf2.1.1 leaf3.0.0 leaf3.0.1 leaf3.1.0 leaf3.1.1"
    );
    assert_eq!(neighbours("nv3"), "gpu3.0 gpu3.1 gpu3.2 gpu3.3");
    assert_error(Rails { rails: 3, ..rails }.build(), "rails", &["is 3", "divisor of gpus (4)"]);
    assert!(Reach::of(&graph).is_none(), "spines join all");
    // Without spines a way leads over a common leaf or NVLink.
    let parted = Rails { spines: 0, ..rails }.build().unwrap();
    let reach = Reach::of(&parted).expect("some hosts do not reach others");
    let distances = (0..16).map(|host| parted.distances_from(NodeId(host)));
    for (one, distances) in (0..16).zip(distances) {
        for other in (0..16).filter(|other| *other != one) {
            let (server, rail, part) = (one / 4 == other / 4, one % 2 == other % 2, one / 8 == other / 8);
            assert_eq!(reach.joins(one, other), server || rail && part, "{one} and {other}");
            assert_eq!(distances[other as usize] == 2, server || rail && part);
        }
    }
    assert_error(Rails { servers: 1_000_000, ..rails }.build(), "servers, gpus, planes, tors, spines", &["nodes"]);
    let one = Rails { servers: 2, gpus: 1, rails: 1, segment: 2, planes: 1, tors: 1, spines: 0, nvlink: None, ..rails };
    assert_eq!(one.build().unwrap().names, ["gpu0.0", "gpu1.0", "leaf0.0.0"]);
}
