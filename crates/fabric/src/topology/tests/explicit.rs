//! Any graph, written out.

use super::*;
use proptest::collection::vec;
use proptest::sample::select;

fn link(a: &str, b: &str) -> NamedLink {
    NamedLink::new(a, b, Rate::from_gbps(10), Time::from_us(1))
}

fn explicit(hosts: &[&str], switches: &[&str], links: &[(&str, &str)]) -> Explicit {
    let own = |names: &[&str]| names.iter().map(|n| n.to_string()).collect();
    Explicit { hosts: own(hosts), switches: own(switches), links: links.iter().map(|(a, b)| link(a, b)).collect() }
}

/// Two hosts and a switch.
fn pair() -> Explicit {
    explicit(&["a", "b"], &["s"], &[("a", "s"), ("b", "s")])
}

#[test]
fn everything_written_arrives_in_the_graph() {
    let mut written = pair();
    written.links[1] = NamedLink {
        a: "s".into(),
        b: "b".into(),
        rate: Rate::from_gbps(25),
        delay: Time::ZERO,
        error_rate: 0.25,
        outages: vec![(Time::ZERO, Time::from_us(1)), (Time::from_us(2), Time::NEVER)],
    };
    let graph = written.build().unwrap();
    assert_sound(&graph);
    assert_eq!((graph.hosts, graph.names.as_slice()), (2, ["a", "b", "s"].map(String::from).as_slice()));
    assert_eq!(graph.links[0], Link::new(NodeId(0), NodeId(2), Rate::from_gbps(10), Time::from_us(1)));
    assert_eq!(
        graph.links[1],
        Link {
            a: NodeId(2),
            b: NodeId(1),
            rate: Rate::from_gbps(25),
            delay: Time::ZERO,
            error_rate: 0.25,
            outages: vec![(Time::ZERO, Time::from_us(1)), (Time::from_us(2), Time::NEVER)],
        }
    );
}

#[test]
fn hosts_may_have_several_links_and_be_joined_directly() {
    // Two NICs on one switch, in parallel.
    let graph = explicit(&["a", "b"], &["s"], &[("a", "s"), ("a", "s"), ("b", "s")]).build().unwrap();
    assert_eq!(graph.nic_rate(), [20, 10].map(Rate::from_gbps));
    // Two planes without a link between them.
    let planes = [("a", "s"), ("b", "s"), ("c", "s"), ("a", "t"), ("b", "t"), ("c", "t")];
    assert_sound(&explicit(&["a", "b", "c"], &["s", "t"], &planes).build().unwrap());
    // Three planes, each host on two of them: no plane has all hosts, yet any two hosts share one.
    let two_of_three = [("a", "s"), ("a", "t"), ("b", "t"), ("b", "u"), ("c", "u"), ("c", "s")];
    assert_sound(&explicit(&["a", "b", "c"], &["s", "t", "u"], &two_of_three).build().unwrap());
    // No switch at all.
    assert_sound(&explicit(&["a", "b", "c"], &[], &[("a", "b"), ("b", "c"), ("c", "a")]).build().unwrap());
    // Some pairs through switches, some directly.
    assert_sound(
        &explicit(&["a", "b", "c"], &["s"], &[("a", "s"), ("b", "s"), ("c", "a"), ("b", "c")]).build().unwrap(),
    );
}

#[test]
fn names_must_be_known_and_unique() {
    let mut unknown = pair();
    unknown.links[1].b = "sw".into();
    assert_error(unknown.build(), "links[1].b", &["no node \"sw\"", "hosts or switches"]);
    unknown.links[1].a = "x".into();
    assert_error(unknown.build(), "links[1].a", &["no node \"x\""]);
    let mut twice = pair();
    twice.switches.push("b".into());
    assert_error(twice.build(), "switches[1]", &["\"b\"", "also the name of hosts[1]"]);
    twice.switches[1] = "s".into();
    assert_error(twice.build(), "switches[1]", &["\"s\"", "also the name of switches[0]"]);
    let mut nameless = pair();
    nameless.hosts.push(String::new());
    assert_error(nameless.build(), "hosts[2]", &["empty"]);
}

#[test]
fn a_node_without_a_link_is_an_error() {
    let mut alone = pair();
    alone.hosts.push("c".into());
    assert_error(alone.build(), "hosts[2]", &["\"c\" has no link"]);
    let mut alone = pair();
    alone.switches.push("t".into());
    assert_error(alone.build(), "switches[1]", &["\"t\" has no link"]);
}

#[test]
fn two_hosts_are_needed() {
    assert_error(Explicit::default().build(), "hosts", &["0 entries", "at least 2"]);
    assert_error(explicit(&["a"], &["s"], &[("a", "s")]).build(), "hosts", &["1 entries", "at least 2"]);
}

#[test]
fn an_absurd_number_of_nodes_is_an_error() {
    let many = Explicit { hosts: vec![String::new(); 1_000_001], ..Explicit::default() };
    assert_error(many.build(), "hosts, switches, links", &["1000001 nodes", "at most 1000000"]);
}

#[test]
fn a_link_from_a_node_to_itself_is_an_error() {
    let mut own = pair();
    own.links.push(link("s", "s"));
    assert_error(own.build(), "links[2]", &["both ends are \"s\""]);
}

#[test]
fn rates_delays_and_error_rates_are_checked() {
    let with = |change: fn(&mut NamedLink)| {
        let mut changed = pair();
        change(&mut changed.links[1]);
        changed.build()
    };
    assert_error(with(|l| l.rate = Rate::ZERO), "links[1].rate", &["is 0", "above 0"]);
    assert_error(with(|l| l.delay = Time::NEVER), "links[1].delay", &["at most 1 s"]);
    for bad in [-0.1, 1.0, f64::NAN, f64::INFINITY] {
        let mut changed = pair();
        changed.links[1].error_rate = bad;
        assert_error(changed.build(), "links[1].error_rate", &[&format!("is {bad}"), "below 1"]);
    }
    assert!(with(|l| l.error_rate = 0.999).is_ok());
}

#[test]
fn outages_are_in_order_with_time_between_them() {
    let with = |outages: &[(u64, u64)]| {
        let mut changed = pair();
        changed.links[0].outages = outages.iter().map(|&(f, t)| (Time::from_us(f), Time::from_us(t))).collect();
        changed.build()
    };
    assert!(with(&[(1, 2), (3, 4)]).is_ok());
    assert_error(with(&[(2, 1)]), "links[0].outages[0]", &["from 2 us to 1 us", "later than its start"]);
    assert_error(with(&[(0, 1), (2, 2)]), "links[0].outages[1]", &["later than its start"]);
    assert_error(with(&[(1, 5), (3, 7)]), "links[0].outages[1]", &["starts at 3 us", "ends at 5 us"]);
    assert_error(with(&[(1, 5), (5, 7)]), "links[0].outages[1]", &["time between them"]);
    assert_error(with(&[(5, 6), (1, 2)]), "links[0].outages[1]", &["in order of time"]);
}

#[test]
fn hosts_that_cannot_reach_each_other_are_named() {
    let split = explicit(&["a", "b", "c", "d"], &["s", "t"], &[("a", "s"), ("b", "s"), ("c", "t"), ("d", "t")]);
    assert_error(split.build(), "links", &["from host \"a\" to host \"c\"", "through switches or directly"]);
    // b is linked to both switches, but hosts do not forward.
    let bridge = explicit(&["a", "b", "c"], &["s", "t"], &[("a", "s"), ("b", "s"), ("b", "t"), ("c", "t")]);
    assert_error(bridge.build(), "links", &["from host \"a\" to host \"c\""]);
    let chain = explicit(&["a", "b", "c"], &[], &[("a", "b"), ("b", "c")]);
    assert_error(chain.build(), "links", &["from host \"a\" to host \"c\""]);
}

#[test]
fn many_hosts_on_one_host_are_judged_quickly() {
    // Every spoke reaches the hub only: the check must not compare all pairs of links.
    let hosts: Vec<String> = (0..50_000).map(|i| format!("h{i}")).collect();
    let links = hosts[1..].iter().map(|spoke| link(&hosts[0], spoke)).collect();
    let hub = Explicit { hosts, switches: Vec::new(), links };
    assert_error(hub.build(), "links", &["from host \"h1\" to host \"h2\""]);
}

proptest! {
    #![proptest_config(config())]

    /// A graph is refused for its reach exactly when two hosts cannot reach each other, and the error names two such.
    #[test]
    fn any_graph_is_sound_or_an_error(
        hosts in 2u32..6,
        switches in 0u32..4,
        ends in vec((0u32..90, 0u32..90), 0..30),
    ) {
        let nodes = hosts + switches;
        let names: Vec<String> = (0..nodes).map(|i| format!("n{i}")).collect();
        let ends = ends.into_iter().map(|(a, b)| (a % nodes, b % nodes));
        let ends: Vec<(u32, u32)> = ends.filter(|(a, b)| a != b).collect();
        let written = Explicit {
            hosts: names[..hosts as usize].to_vec(),
            switches: names[hosts as usize..].to_vec(),
            links: ends.iter().map(|&(a, b)| link(&names[a as usize], &names[b as usize])).collect(),
        };
        let rate = Rate::from_gbps(10);
        let graph_links = ends.iter().map(|&(a, b)| Link::new(NodeId(a), NodeId(b), rate, Time::from_us(1))).collect();
        let graph = Graph { hosts, names: names.clone(), links: graph_links };
        let slow = slow_distances(&graph);
        for (from, expected) in slow.iter().enumerate() {
            prop_assert_eq!(&graph.distances_from(NodeId(from as u32)), expected);
        }
        let cut_off = |a: usize, b: usize| slow[a][b] == u32::MAX;
        let pairs = || (0..hosts as usize).flat_map(|a| (0..a).map(move |b| (b, a)));
        let alone = (0..nodes).find(|n| ends.iter().all(|(a, b)| a != n && b != n));
        match written.build() {
            Ok(built) => {
                prop_assert_eq!(&built, &graph);
                prop_assert!(alone.is_none() && !pairs().any(|(a, b)| cut_off(a, b)));
                assert_sound(&built);
            }
            Err(error) if error.parameter == "links" => {
                prop_assert!(alone.is_none());
                let named = pairs().find(|(a, b)| error.problem.contains(&format!("\"n{a}\" to host \"n{b}\"")));
                let (a, b) = named.unwrap();
                prop_assert!(cut_off(a, b), "{}", error);
            }
            Err(error) => {
                let alone = alone.unwrap();
                prop_assert!(error.problem.contains(&format!("\"n{alone}\" has no link")), "{}", error);
            }
        }
    }

    /// Whatever is written in the fields, `build` answers.
    #[test]
    fn any_fields_make_a_network_or_an_error(
        hosts in prop_oneof![
            8 => select(vec![vec!["a", "b"], vec!["a", "b", "c"]]),
            1 => select(vec![vec!["a"], vec![], vec!["a", "a"], vec!["a", ""]])
        ],
        switches in prop_oneof![8 => Just(vec!["s", "t"]), 1 => select(vec![vec!["s", "a"], vec![]])],
        ends in vec((select(vec!["a", "b", "c", "s", "t"]), select(vec!["a", "b", "s", "s", "t"])), 0..12),
        rate in prop_oneof![9 => 1u64.., 1 => Just(0)],
        delay in prop_oneof![9 => 0..=MAX_DELAY.as_ps(), 1 => any::<u64>()],
        error_rate in prop_oneof![9 => 0.0..1.0, 1 => any::<f64>()],
        outages in vec((any::<u64>(), any::<u64>()), 0..3),
    ) {
        let own = |names: Vec<&str>| names.into_iter().map(String::from).collect();
        let outages: Vec<_> = outages.into_iter().map(|(f, t)| (Time::from_ps(f), Time::from_ps(t))).collect();
        let (rate, delay) = (Rate::from_bps(rate), Time::from_ps(delay));
        let link = |(a, b): (&str, &str)| {
            NamedLink { error_rate, outages: outages.clone(), ..NamedLink::new(a, b, rate, delay) }
        };
        let links = ends.into_iter().filter(|(a, b)| a != b || *a == "t").map(link).collect();
        let written = Explicit { hosts: own(hosts), switches: own(switches), links };
        if let Ok(graph) = written.build() {
            assert_sound(&graph);
        }
    }
}
