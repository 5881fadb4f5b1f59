//! htsim's files: what they mean, and what is wrong with those that mean nothing.

use fanin_formats::htsim::*;
use proptest::prelude::*;

/// Random cases per property: `FANIN_CASES`.
fn cases() -> ProptestConfig {
    let cases = std::env::var("FANIN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(256);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

const RING: &str = "# a comment
Nodes 16
Connections 4
Triggers 2

0->1 id 7 start 67000 size 544 send_done_trigger 2   # 67 ns
1->2 start 1.5e6 size 0 prio 3
2->3 id 9 trigger 2 size 100 recv_done_trigger 5 prio 1
3->0 id 1 size 20 trigger 5
trigger id 2 oneshot
trigger id 5 barrier count 1
";

#[test]
fn a_matrix_says_who_sends_how_much_and_when() {
    let matrix = Matrix::read(RING.as_bytes(), "ring.cm", None).unwrap();
    let c = |line, src, dst, id, start, bytes| Connection {
        line,
        src,
        dst,
        id,
        start,
        bytes,
        send_done: None,
        recv_done: None,
        priority: None,
        message: None,
    };
    let expected = [
        Connection { send_done: Some(2), ..c(6, 0, 1, 7, Start::At(67_000), 544) },
        // Without an id it is numbered on; htsim's start is in picoseconds, with decimals.
        Connection { priority: Some(3), ..c(7, 1, 2, 10, Start::At(1_500_000), 0) },
        Connection { recv_done: Some(5), priority: Some(1), ..c(8, 2, 3, 9, Start::Trigger(2), 100) },
        c(9, 3, 0, 1, Start::Trigger(5), 20),
    ];
    assert_eq!((matrix.nodes, &matrix.connections[..]), (16, &expected[..]));
    let trigger = |line, id, kind| Trigger { line, id, kind };
    let triggers = [trigger(10, 2, TriggerKind::Oneshot), trigger(11, 5, TriggerKind::Barrier(1))];
    assert_eq!((&matrix.triggers[..], matrix.failures.len()), (&triggers[..], 0));
}

#[test]
fn a_trigger_behind_a_start_is_what_counts() {
    let text = "Nodes 4\nConnections 2\nTriggers 1\n0->1 start 0 size 5 recv_done_trigger 1\n1->2 id 4 start 3 trigger \
                1 size 5\ntrigger id 1 multishot";
    let matrix = Matrix::read(text.as_bytes(), "f", None).unwrap();
    assert_eq!(matrix.connections[1].start, Start::Trigger(1));
    let other_way = text.replace("start 3 trigger 1", "trigger 1 start 3");
    let error = Matrix::read(other_way.as_bytes(), "f", None).unwrap_err().to_string();
    assert_eq!(error, "f:5: both a trigger and a start; leave one out");
}

const MESSAGES: &str = "Nodes 4
Connections 4
0->1 id 7 start 5.9 size 544 msg 1
0->1 id 7 start 4000000000 size 20 msg
1->2 start 0 size 9
0->1 id 7 start 6 size 20 msg 3 prio 2
";

#[test]
fn a_dialect_gives_starts_their_unit() {
    let text = MESSAGES.replace(" msg 1", "").replace(" msg 3", "").replace(" msg", "").replace(" id 7", "");
    let starts = |dialect| {
        let matrix = Matrix::read(text.as_bytes(), "f", dialect).unwrap();
        matrix.connections.iter().map(|c| c.start).collect::<Vec<_>>()
    };
    let at = |starts: [u64; 4]| starts.map(Start::At).to_vec();
    assert_eq!(starts(Some(Dialect::Ndp)), at([5, 4_000_000_000, 0, 6]));
    // Whole microseconds, since these programs truncate before they convert.
    for dialect in [Dialect::Swift, Dialect::Uec] {
        assert_eq!(starts(Some(dialect)), at([5_000_000, 4_000_000_000_000_000, 0, 6_000_000]));
    }
    let late = text.replace("4000000000", "4294967296");
    assert!(Matrix::read(late.as_bytes(), "f", Some(Dialect::Ndp)).is_ok());
    let error = Matrix::read(late.as_bytes(), "f", Some(Dialect::Swift)).unwrap_err().to_string();
    assert_eq!(
        error,
        "f:4: start \"4294967296\" is not possible; it is a whole number from 0 to 4294967295 (of microseconds)"
    );
}

#[test]
fn a_dialect_is_assumed_with_a_reason_unless_it_is_named_or_nothing_depends_on_it() {
    let assumed = |text: &str, dialect| {
        let matrix = Matrix::read(text.as_bytes(), "f", dialect).unwrap();
        (matrix.dialect, matrix.assumed)
    };
    let (dialect, why) = assumed(MESSAGES, None);
    assert_eq!(dialect, Dialect::Uec);
    assert_eq!(why.unwrap(), "line 3 has \"msg\", which only its UEC program reads");
    let plain = "Nodes 4\nConnections 1\n0->1 start 5 size 1";
    let (dialect, why) = assumed(plain, None);
    assert_eq!(dialect, Dialect::Ndp);
    assert!(why.unwrap().contains("no word of the file tells"));
    assert_eq!(assumed(plain, Some(Dialect::Swift)), (Dialect::Swift, None));
    assert_eq!(assumed(&plain.replace("start 5", "start 0"), None), (Dialect::Ndp, None));
}

#[test]
fn messages_of_one_connection_share_its_id() {
    let matrix = Matrix::read(MESSAGES.as_bytes(), "f", None).unwrap();
    let of: Vec<_> = matrix.connections.iter().map(|c| (c.id, c.message, c.start)).collect();
    let start = |us: u64| Start::At(us * 1_000_000);
    let expected =
        [(7, Some(1), start(5)), (7, Some(0), start(4_000_000_000)), (8, None, start(0)), (7, Some(3), start(6))];
    assert_eq!(of, expected);
    assert!(matrix.reuses_connections());
    let again = Matrix::read(matrix.to_text().as_bytes(), "f", None).unwrap();
    let of_again: Vec<_> = again.connections.iter().map(|c| (c.id, c.message, c.start)).collect();
    assert_eq!(of_again, expected);
    for (from, to, says) in [
        ("size 20 msg\n", "size 20\n", "f:4: another connection has the id 7; give each its own, or add \"msg\""),
        ("0->1 id 7 start 6", "0->2 id 7 start 6", "f:6: connection 7 is 0->1; its messages have the same hosts"),
        ("size 20 msg 3", "size 0 msg 3", "f:6: an endless message blocks its connection"),
        ("id 7 start 6", "start 6", "f:6: msg is a message of a connection, which has no id here"),
        ("msg 3", "msg 0", "f:6: msg \"0\" is not possible"),
    ] {
        let error = Matrix::read(MESSAGES.replace(from, to).as_bytes(), "f", None).unwrap_err().to_string();
        assert!(error.starts_with(says), "{error}");
    }
    let error = Matrix::read(MESSAGES.as_bytes(), "f", Some(Dialect::Ndp)).unwrap_err().to_string();
    assert!(error.starts_with("f:3: msg is known to htsim's UEC program only"), "{error}");
}

#[test]
fn failures_and_words_without_counts_are_read() {
    let text = "Nodes 16\r\nConnections 0\r\nFailures 1\r\nfailure switch_type AGG switch_id 3 link_id 1\r\n";
    let matrix = Matrix::read(text.as_bytes(), "f", None).unwrap();
    assert_eq!(matrix.failures, [Failure { line: 4, switch: 3, link: 1 }]);
}

#[test]
fn errors_of_a_matrix_name_file_and_line_and_what_would_be_right() {
    let with = |body: &str| format!("Nodes 4\nConnections 1\n{body}\n");
    let chained = |first: &str, triggers: &str| {
        let count = triggers.lines().count();
        format!(
            "Nodes 4\nConnections 3\nTriggers {count}\n0->1 start 0 size 9 {first}\n1->2 start 0 size 9 \
             send_done_trigger 1\n2->3 trigger 1 size 9\n{triggers}\n"
        )
    };
    for (text, place, says) in [
        (String::new(), "f: ", "Nodes is missing"),
        ("Connections 1\n0->1 start 0 size 1".into(), "f:2: ", "Nodes is missing"),
        ("nodes 4".into(), "f:1: ", "\"nodes\" is not known"),
        ("Nodes".into(), "f:1: ", "Nodes has no value"),
        ("Nodes 4 5".into(), "f:1: ", "\"5\" is a second"),
        ("Nodes 1".into(), "f:1: ", "from 2 to"),
        ("Nodes 4\nNodes 4".into(), "f:2: ", "listed twice"),
        ("Nodes 4\nConnections 2\n0->1 start 0 size 1\n".into(), "f:2: ", "write \"Connections 1\""),
        ("Nodes 4\n0->1 start 0 size 1\n".into(), "f:2: ", "write \"Connections 1\""),
        (with("0->1 start 0 size 1\nNodes 5"), "f:4: ", "write it at the top"),
        (with("0->4 start 0 size 1"), "f:3: ", "no host 4; hosts are 0 to 3"),
        (with("2->2 start 0 size 1"), "f:3: ", "sends to itself"),
        (with("a->2 start 0 size 1"), "f:3: ", "the host \"a\" is not possible"),
        (with("0 -> 2 start 0 size 1"), "f:3: ", "\"0\" is not known"),
        (with("0->1 start 0"), "f:3: ", "its size is missing"),
        (with("0->1 size 4"), "f:3: ", "its start is missing"),
        (with("0->1 start -1 size 4"), "f:3: ", "start \"-1\" is not possible"),
        (with("0->1 start nan size 4"), "f:3: ", "of picoseconds"),
        (with("0->1 start 1e30 size 4"), "f:3: ", "of picoseconds"),
        (with("0->1 start 0 size 1152921504606846976"), "f:3: ", "size \"1152921504606846976\" is not possible"),
        (with("0->1 id 0 start 0 size 1"), "f:3: ", "from 1 to"),
        (with("0->1 start 0 size 1 colour 3"), "f:3: ", "\"colour\" is not known; known: id, start"),
        (with("0->1 start 0 size 1 prio"), "f:3: ", "prio has no value"),
        (with("0->1 start 0 size 1 addon"), "f:3: ", "no counterpart"),
        (with("0->1 trigger 3 size 1"), "f:3: ", "there is no trigger 3"),
        (with("0->1 start 0 size 1 send_done_trigger 3"), "f:3: ", "there is no trigger 3"),
        ("Nodes 4\nConnections 2\n0->1 id 5 start 0 size 1\n1->2 id 5 start 0 size 1".into(), "f:4: ", "has the id 5"),
        ("Nodes 4\nConnections 2\n0->1 start 0 size 1\n1->2 id 2147483647 start 0 size 1".into(), "f:3: ", "no id \
            above"),
        (chained("", "trigger id 1"), "f:7: ", "it has no kind"),
        (chained("", "trigger oneshot"), "f:7: ", "it has no id"),
        (chained("", "trigger id 1 barrier"), "f:7: ", "a barrier has a count"),
        (chained("", "trigger id 1 barrier count 0"), "f:7: ", "count \"0\" is not possible"),
        (chained("", "trigger id 1 oneshot barrier"), "f:7: ", "two kinds"),
        (chained("", "trigger id 1 twoshot"), "f:7: ", "\"twoshot\" is not known"),
        (chained("", "trigger id 1 oneshot\ntrigger id 1 oneshot"), "f:8: ", "trigger 1 is listed twice"),
        // What would stop htsim in the middle of a run, or leave connections that never start.
        (chained("send_done_trigger 1", "trigger id 1 oneshot"), "f:5: ", "more often than 1 times"),
        (chained("send_done_trigger 1", "trigger id 1 barrier count 1"), "f:5: ", "raise its count"),
        (chained("", "trigger id 1 barrier count 2"), "f:6: ", "it never starts: trigger 1"),
        ("Nodes 3\nConnections 2\nTriggers 2\n0->1 trigger 1 size 1 send_done_trigger 2\n1->2 trigger 2 size 1 \
          send_done_trigger 1\ntrigger id 1 oneshot\ntrigger id 2 oneshot".into(), "f:4: ", "it never starts: trigger \
              1"),
        ("Nodes 3\nConnections 2\nTriggers 1\n0->1 start 0 size 0 send_done_trigger 1\n1->2 trigger 1 size 1\ntrigger \
          id 1 oneshot".into(), "f:5: ", "it never starts: trigger 1"),
        ("Nodes 4\nConnections 0\nFailures 1\nfailure switch_type TOR switch_id 0 link_id 0".into(), "f:4: ", "only \
            uplinks"),
        ("Nodes 4\nConnections 0\nFailures 1\nfailure switch_type AGG link_id 0".into(), "f:4: ", "write it like"),
        ("Nodes 4\nConnections 0\nFailures 1\nfailure tier 2".into(), "f:4: ", "\"tier\" is not known"),
        ("Nodes 4\nConnections 0\nFailures 1".into(), "f:3: ", "write \"Failures 0\""),
    ] {
        let error = Matrix::read(text.as_bytes(), "f", None).unwrap_err().to_string();
        assert!(error.starts_with(place) && error.contains(says), "{text:?}: {error}");
    }
    let error = Matrix::read(b"Nodes 4\nConnections \xff", "f", None).unwrap_err().to_string();
    assert_eq!(error, "f:2: this is not a text file; save the file as UTF-8");
}

#[test]
fn a_multishot_may_be_activated_more_often_than_any_waits_but_not_less() {
    let text = |waiting: u32| {
        let lines: String = (0..waiting).map(|i| format!("3->{i} trigger 1 size 1\n")).collect();
        format!(
            "Nodes 4\nConnections {}\nTriggers 1\n0->1 start 0 size 1 send_done_trigger 1 recv_done_trigger 1\n{lines}\
             trigger id 1 multishot",
            waiting + 1
        )
    };
    assert!(Matrix::read(text(1).as_bytes(), "f", None).is_ok() && Matrix::read(text(2).as_bytes(), "f", None).is_ok());
    let error = Matrix::read(text(3).as_bytes(), "f", None).unwrap_err().to_string();
    assert!(error.starts_with("f:7: it never starts: trigger 1"), "{error}");
}

const TINY: &str = "Nodes 32
Tiers 2
Podsize 32

Tier 0
Downlink_speed_Gbps 100
RADIX_DOWN 8
Radix_Up 2
Downlink_Latency_ns 1000
Switch_Latency_ns 500
Oversubscribed 4
Queue_Down 150000

tier 1
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 2000
";

#[test]
fn a_tree_of_two_tiers_is_read_and_wired() {
    let topo = Topo::read(TINY.as_bytes(), "tiny.topo").unwrap();
    let tor = Tier {
        line: 5,
        speed_gbps: 100,
        latency_ns: 1000,
        switch_latency_ns: 500,
        radix_down: 8,
        radix_up: 2,
        bundle: 1,
        oversubscribed: 4,
        queue_down: Some(150_000),
        queue_up: None,
    };
    assert_eq!(topo.tiers[0], tor);
    assert_eq!((topo.tiers[1].latency_ns, topo.tiers[1].radix_down, topo.tiers[1].bundle), (2000, 4, 1));
    assert_eq!(topo.counts(), Counts { pods: 1, tors: 4, hosts: 8, aggs: 2, cores: 0 });
    let links: Vec<Link> = topo.links().collect();
    assert_eq!((links.len() as u64, topo.link_count()), (32 + 4 * 2, 40));
    assert_eq!(links[8].between, [Node::Host(8), Node::Tor(1)]);
    assert_eq!(links[35].between, [Node::Tor(1), Node::Agg(1)]);
}

/// A tree of three tiers: 2 pods of 2 ToRs with 4 hosts, 2 aggregation switches joined by pairs of links to 2 ToRs, and
/// by triples to 4 cores.
fn bundles() -> String {
    let tier = |n: u32, down: u32, bundle: u32, rest: &str| {
        format!("Tier {n}\nDownlink_speed_Gbps 400\nDownlink_Latency_ns 7\nRadix_Down {down}\nBundle {bundle}\n{rest}")
    };
    let tiers = tier(0, 4, 1, "Radix_Up 4\n") + &tier(1, 4, 2, "Radix_Up 6\n") + &tier(2, 6, 3, "");
    format!("Nodes 16\nTiers 3\nPodsize 8\n{tiers}")
}

#[test]
fn bundles_are_parallel_links_and_each_switch_of_a_pod_has_cores_of_its_own() {
    let topo = Topo::read(bundles().as_bytes(), "f").unwrap();
    assert_eq!(topo.counts(), Counts { pods: 2, tors: 2, hosts: 4, aggs: 2, cores: 4 });
    let links: Vec<Link> = topo.links().collect();
    assert_eq!((links.len() as u64, topo.link_count()), (16 + 4 * 4 + 4 * 6, 56));
    let of = |node: Node| links.iter().filter(move |l| l.between[0] == node).map(|l| (l.between[1], l.of_bundle));
    let ends: Vec<_> = of(Node::Tor(3)).collect();
    assert_eq!(ends, [(Node::Agg(2), 0), (Node::Agg(2), 1), (Node::Agg(3), 0), (Node::Agg(3), 1)]);
    // Agg 3 is the second of its pod: cores 1 and 1 + 2.
    let ends: Vec<_> = of(Node::Agg(3)).map(|(core, _)| core).collect();
    assert_eq!(ends, [[Node::Core(1); 3], [Node::Core(3); 3]].concat());
}

#[test]
fn a_number_of_nodes_is_a_tree_where_it_is_one() {
    let topo = Topo::of_nodes(128).unwrap();
    assert_eq!(topo.counts(), Counts { pods: 8, tors: 4, hosts: 4, aggs: 4, cores: 16 });
    assert_eq!((topo.link_count(), topo.tiers[2].speed_gbps, topo.tiers[2].latency_ns), (3 * 128, 100, 1000));
    assert_eq!(Topo::of_nodes(1024).unwrap().counts().cores, 64);
    assert_eq!(Topo::of_nodes(2).unwrap().counts(), Counts { pods: 2, tors: 1, hosts: 1, aggs: 1, cores: 1 });
    // Numbers of hosts of an odd k are of no tree, whatever a division rounds them to.
    assert!([0, 1, 3, 6, 127, 129, u32::MAX].iter().all(|nodes| Topo::of_nodes(*nodes).is_none()));
}

#[test]
fn errors_of_a_tree_name_file_and_line_and_what_would_be_right() {
    let tiny = |from: &str, to: &str| TINY.replacen(from, to, 1);
    for (text, place, says) in [
        (String::new(), "f: ", "Nodes is missing"),
        (tiny("Nodes 32", "Nodes 32 x"), "f:1: ", "\"x\" is a second"),
        (tiny("Nodes 32", "Hosts 32"), "f:1: ", "\"Hosts\" is not known"),
        (tiny("Tiers 2", "Tiers 4"), "f:2: ", "from 2 to 3"),
        (tiny("Tiers 2\n", ""), "f:16: ", "Tiers is missing"),
        (tiny("Tiers 2", "Tiers 3"), "f:14: ", "tier 1 has no Radix_Up"),
        (tiny("Tiers 2", "Tiers 3") + "Radix_Up 1\n", "f:18: ", "Tier 2 is missing"),
        (tiny("Podsize 32", "Podsize 5"), "f:5: ", "does not divide Nodes 32"),
        (tiny("Podsize 32", "Podsize 16"), "f:5: ", "write Podsize 32"),
        (tiny("Tier 0", "Radix_Up 2\nTier 0"), "f:5: ", "write \"Tier 0\" above it"),
        (tiny("tier 1", "tier 0"), "f:14: ", "tier 0 is listed twice"),
        (tiny("tier 1", "tier 1\nNodes 3"), "f:15: ", "write it at the top"),
        (tiny("Downlink_speed_Gbps 100\n", ""), "f:5: ", "tier 0 has no Downlink_speed_Gbps"),
        (tiny("Downlink_Latency_ns 1000", "Downlink_Latency_ns 0"), "f:9: ", "from 1 to"),
        (tiny("RADIX_DOWN 8", "RADIX_DOWN 8\nradix_down 8"), "f:8: ", "radix_down is listed twice"),
        (tiny("RADIX_DOWN 8", "RADIX_DOWN 5"), "f:5: ", "does not divide Podsize 32"),
        (tiny("Radix_Up 2", "Radix_Up"), "f:8: ", "Radix_Up has no value"),
        (tiny("Oversubscribed 4", "Oversubscribed 3"), "f:5: ", "are not Oversubscribed 3"),
        (tiny("Queue_Down 150000", "Queue_Down 0"), "f:12: ", "Queue_Down \"0\" is not possible"),
        (tiny("Queue_Down 150000", "Bundle 2"), "f:5: ", "leave Bundle of tier 0 out"),
        (tiny("Radix_Down 4", "Radix_Down 8"), "f:14: ", "Radix_Down is 4, not 8"),
        (TINY.to_string() + "Bundle 4\n", "f:14: ", "bundles of 4 do not divide the Radix_Up 2"),
        (TINY.to_string() + "Tier 2\nRadix_Up 1\n", "f:19: ", "there is no tier above tier 2"),
        (TINY.to_string() + "Tier 2\nRadix_Down 1\n", "f:18: ", "there are 2 tiers"),
        (TINY.to_string() + "Tier 3\n", "f:18: ", "from 0 to 2"),
    ] {
        let error = Topo::read(text.as_bytes(), "f").unwrap_err().to_string();
        assert!(error.starts_with(place) && error.contains(says), "{text:?}: {error}");
    }
}

#[test]
fn what_a_tree_is_oversubscribed_by_may_be_said_in_ports_or_in_what_they_carry() {
    let faster = TINY.replace("tier 1\nDownlink_speed_Gbps 100", "tier 1\nDownlink_speed_Gbps 400");
    for (said, ok) in [("Oversubscribed 4", true), ("Oversubscribed 1", true), ("", true), ("Oversubscribed 2", false)]
    {
        let text = faster.replace("Oversubscribed 4", said);
        assert_eq!(Topo::read(text.as_bytes(), "f").is_ok(), ok, "{said}");
    }
}

#[test]
fn a_few_bytes_may_ask_for_a_tree_beyond_memory() {
    let text = "Nodes 2147483646\nTiers 2\nPodsize 2147483646\nTier 0\nDownlink_speed_Gbps 1\nDownlink_Latency_ns 1\n\
                Radix_Down 1\nRadix_Up 1\nTier 1\nDownlink_speed_Gbps 1\nDownlink_Latency_ns 1\n\
                Radix_Down 2147483646\n";
    let topo = Topo::read(text.as_bytes(), "f").unwrap();
    assert_eq!(topo.link_count(), 2 * 2_147_483_646);
    fuzz_topo(text.as_bytes());
}

/// A matrix of lines that are mostly right.
fn matrix_text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        6 => (0u64..5).prop_map(|n| format!("id {n}")),
        6 => (0u64..1 << 40).prop_map(|n| format!("start {n}")),
        3 => (0u64..4).prop_map(|n| format!("trigger {n}")),
        6 => (0u64..1 << 20).prop_map(|n| format!("size {n}")),
        3 => (1u64..4).prop_map(|n| format!("send_done_trigger {n}")),
        3 => (1u64..4).prop_map(|n| format!("recv_done_trigger {n}")),
        1 => "[a-z]{1,5}( [0-9]{1,3})?",
    ];
    let words = prop::collection::vec(word, 0..4);
    let connection =
        (0u32..4, 0u32..4, words).prop_map(|(a, b, words)| format!("{a}->{b} start 1 size 2 {}", words.join(" ")));
    let trigger = (1u32..4, prop::sample::select(vec!["oneshot", "multishot", "barrier count 1", "barrier count 2"]))
        .prop_map(|(id, kind)| format!("trigger id {id} {kind}"));
    (prop::collection::vec(connection, 0..5), prop::collection::vec(trigger, 0..4)).prop_map(|(lines, triggers)| {
        format!(
            "Nodes 4\nConnections {}\nTriggers {}\n{}\n{}",
            lines.len(),
            triggers.len(),
            lines.join("\n"),
            triggers.join("\n")
        )
    })
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn any_bytes_are_a_file_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        fuzz_matrix(&bytes);
        fuzz_topo(&bytes);
    }

    #[test]
    fn any_matrix_is_one_that_could_run_or_an_error(text in matrix_text()) {
        fuzz_matrix(text.as_bytes());
    }

    #[test]
    fn any_change_of_a_byte_is_survived(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        for text in [RING.to_string(), TINY.to_string(), bundles()] {
            let mut bytes = text.into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            fuzz_matrix(&bytes);
            fuzz_topo(&bytes);
        }
    }
}
