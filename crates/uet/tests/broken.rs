//! Broken options, matrices and topologies end in a result or an error, never in a panic.

use fanin_uet::{Cable, Node, Options, Setup};

const OPTIONS: &str = "-sender_cc -receiver_cc -end 60 -q 4 -ecn 1 4 -trimsize 2070 -paths 8 -load_balancing_algo reps \
    -mtu 4150 -linkspeed 100000 -cwnd 20 -qa_gate 2 -sack_threshold 4000 -target_q_delay 5 -failed 2 -tiers 3";
const MATRIX: &str = "Nodes 16\nConnections 4\nTriggers 1\nfailure switch_type AGG switch_id 2 link_id 0\n\
    0->5 id 1 start 0 size 40860 send_done_trigger 1\n\
    1->6 id 2 start 3 size 81720 send_done_trigger 1\n5->9 id 3 trigger 1 size 40860\n6->9 id 4 trigger 1 size 40860\n\
    trigger id 1 barrier count 2\n";
const TOPOLOGY: &str = "Nodes 16\nTiers 3\nPodsize 4\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\n\
    Downlink_Latency_ns 1000\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1000\n\
    Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 1000\n";
const WORDS: [&str; 16] = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "16",
    "64",
    "65",
    "1000",
    "4294967295",
    "-1",
    "1e9",
    "nan",
    "start",
    "-disable_trim",
    "99999999999999999999",
];

/// A text with some of its words replaced, left out or doubled.
fn broken(text: &str, state: &mut u64) -> String {
    let mut draw = |below: u64| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % below
    };
    let mut out = String::new();
    for line in text.lines() {
        for piece in line.split_inclusive([' ', '-', '>']) {
            let word = piece.trim_end_matches([' ', '-', '>']);
            match draw(150) {
                _ if word.is_empty() => {}
                0 => out.push_str(WORDS[draw(WORDS.len() as u64) as usize]),
                1 => {}
                2 => out.push_str(&format!("{word} {word}")),
                _ => out.push_str(word),
            }
            out.push_str(&piece[word.len()..]);
        }
        out.push('\n');
    }
    out
}

#[test]
fn no_input_panics() {
    let cases: u64 = std::env::var("FANIN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(4000);
    let mut state = 1;
    let mut ran = 0;
    for case in 0..cases {
        let of = |text: &str, which: u64, state: &mut u64| {
            if case % 4 == which || case % 4 == 3 { broken(text, state) } else { text.to_owned() }
        };
        let Ok(mut options) = Options::parse(of(OPTIONS, 0, &mut state).split_whitespace()) else { continue };
        options.end_us = options.end_us.min(60);
        let (matrix, topology) = (of(MATRIX, 1, &mut state), of(TOPOLOGY, 2, &mut state));
        let topology = if case % 8 < 4 { Some(topology.as_str()) } else { None };
        if let Ok(setup) = Setup::new(options, &matrix, topology) {
            setup.run(&mut |_| {}, None, &mut |_| true);
            ran += 1;
        }
    }
    assert!(ran > 0 && ran < cases, "{ran} of {cases} ran");
}

#[test]
fn errors_say_what_would_be_right() {
    let of = |options: &str, matrix: &str, topology: Option<&str>| {
        let options = Options::parse(options.split_whitespace()).expect("good options");
        Setup::new(options, matrix, topology).expect_err("an error").to_string()
    };
    let triggers = "trigger id 1 oneshot\ntrigger id 1 oneshot\n";
    for (options, matrix, right) in [
        ("", "Nodes 10\n0->1 start 0 size 1\n", "matrix: no fat tree of 3 tiers has the 10 hosts of Nodes; K^3/4"),
        (
            "",
            "Nodes 16\n\n0->16 start 0 size 1\n",
            "matrix:3: 0->16 cannot be; hosts are two different ones from 0 to 15",
        ),
        ("", "Nodes 16\n0->1 size 1\n", "matrix:2: start or trigger: there must be one of them"),
        ("", "Nodes 16\n0->1 start x size 1\n", "matrix:2: start has x; it needs a number"),
        ("", "Nodes 16\n0->1 trigger 7 size 1\n", "matrix:2: there is no trigger 7; add a line trigger id 7 oneshot"),
        ("", &format!("Nodes 16\n{triggers}"), "matrix:3: trigger 1 is there twice; leave one out"),
        (
            "",
            "Nodes 16\nConnections 4000000000\n0->1 start 0 size 1\n",
            "matrix: Connections says 4000000000 and 1 lines",
        ),
        ("", "Nodes 4000000000\n", "matrix: Nodes is 4000000000; it is from 2 to 32768"),
        (
            "",
            "Nodes 16\nFailures 1\nfailure switch_type AGG\n",
            "matrix:3: a failure is written as failure switch_type AGG switch_id 0 link_id 0",
        ),
        (
            "",
            "Nodes 16\nfailure switch_type AGG switch_id 1 link_id 0\n",
            "matrix:2: AGG 1 has no link 0 to a core; link_id leads to core (switch_id mod 2) * 2",
        ),
        (
            "-tiers 2",
            "Nodes 8\nfailure switch_type AGG switch_id 0 link_id 0\n",
            "matrix:2: AGG 0 has no link 0 to a core",
        ),
        (
            "",
            "Nodes 2\nfailure switch_type AGG switch_id 0 link_id 0\n",
            "matrix:2: no link is left from AGG 0 to pod 1; let fewer fail",
        ),
        (
            "-q 3 -ecn 1 4",
            "Nodes 16\n0->1 start 0 size 1\n",
            "options: -ecn: marks reach up to 4 packets and a queue has 3;",
        ),
    ] {
        let error = of(options, matrix, None);
        assert!(error.starts_with(right), "{error}");
    }
    let matrix = "Nodes 32\n0->1 start 0 size 1\n";
    for (topology, right) in [
        (TOPOLOGY.to_owned(), "matrix: Nodes is 32 and the topology has 16 hosts; they must be at most as many"),
        (
            TOPOLOGY.replace("Podsize 4", "Podsize"),
            "topology:3: Podsize has nothing; it needs a whole number below 2^32",
        ),
        (
            TOPOLOGY.replace("Podsize", "Pods"),
            "topology:3: Pods 4 may not be here; Nodes, Tiers and Podsize come first",
        ),
        (
            TOPOLOGY.replace("Podsize 4", "Podsize 5"),
            "topology: 16 by 5 does not fit; Nodes must be a multiple of Podsize",
        ),
    ] {
        let error = of("", matrix, Some(&topology));
        assert!(error.starts_with(right), "{error}");
    }
}

#[test]
fn what_is_to_be_known_before_a_run_is_told() {
    let options = Options::parse("-o log -failed 1".split_whitespace()).expect("good options");
    let matrix = "Nodes 16\n0->1 start 0 size 1 send_done_trigger 1\n1->2 trigger 1 size 1\n2->3 trigger 2 size 1\n\
        3->4 trigger 2 size 1 prio 3\ntrigger id 1 oneshot\ntrigger id 2 barrier count 2\n";
    let told: Vec<String> =
        Setup::new(options, matrix, None).unwrap().warnings().iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "options: -o has no effect here",
            "matrix:5: prio has no effect, as in the original",
            "matrix:4: 2->3 and 1 more will not start; trigger 2 needs 2 activations by send_done_trigger 2, and gets \
             0",
        ]
    );
}

#[test]
fn packets_go_around_links_that_have_failed() {
    let flows: String = (0..12).map(|host| format!("{host}->{} start 0 size 400000\n", (host + 4) % 16)).collect();
    let run = |failures: &str| {
        let options = Options::parse("-load_balancing_algo oblivious".split_whitespace()).expect("good options");
        let setup = Setup::new(options, &format!("Nodes 16\n{flows}{failures}"), None).expect("good input");
        let results = setup.run(&mut |_| {}, None, &mut |_| true);
        assert!(results.flows.iter().all(|flow| flow.finished.is_some()));
        let between = |a, b| {
            let of = |(cable, _): &&(Cable, _)| (cable.from, cable.to) == (a, b);
            results.links.iter().find(of).expect("a link").1.packets
        };
        let [agg, core] = [Node::Aggregation(0), Node::Core(0)];
        let others = between(Node::Aggregation(2), core);
        (setup.warnings().len(), between(agg, core), between(core, agg), others, between(agg, Node::Core(2)))
    };
    let (warnings, up, down, others, beside) = run("");
    assert!(warnings == 0 && up > 0 && down > 0 && others > 0 && beside > 0);
    let (warnings, up, down, less, more) = run("Failures 1\nfailure switch_type AGG switch_id 0 link_id 0\n");
    assert_eq!((warnings, up, down), (1, 0, 0));
    assert!(less > 0 && more > beside, "{less} {more} {beside}");
}

#[test]
fn a_run_goes_on_where_the_original_aborts() {
    let options = Options::parse("-conn_reuse -end 1000".split_whitespace()).expect("good options");
    let matrix = "Nodes 2\n0->1 id 1 start 0 size 40860\n0->1 id 1 start 500 size 40860\n";
    let results = Setup::new(options, matrix, None).unwrap().run(&mut |_| {}, None, &mut |_| true);
    assert_eq!(results.beyond.map(|beyond| beyond.at), Some(17_010_720));
    // As long after the second message's start as the first one took.
    assert_eq!(results.flows[0].finished, Some(500_000_000 + 17_010_720));
}

/// The original aborts on them; here a message of a reused connection starts when its trigger fires, and activates its
/// own once as much of the connection is acknowledged as reaches up to its end.
#[test]
fn triggers_start_messages_of_reused_connections() {
    let matrix = "Nodes 16\n0->1 id 1 start 0 size 40860 send_done_trigger 1\n\
                  2->3 id 2 trigger 1 size 8172 send_done_trigger 2\n0->1 id 1 trigger 2 size 4086\n\
                  0->1 id 1 trigger 9 size 1\ntrigger id 1 oneshot\ntrigger id 2 oneshot\ntrigger id 9 oneshot\n";
    let mut lines = Vec::new();
    let options = Options::parse("-sender_cc_only -conn_reuse -end 1000".split_whitespace()).unwrap();
    let setup = Setup::new(options, &matrix.replace("0->1 id 1 trigger 9 size 1\n", ""), None).unwrap();
    let results = setup.run(&mut |line| lines.push(line.to_owned()), None, &mut |_| true);
    let order = ["Trigger 1 fired, 1 targets", "Uec_2_3 activate", "Trigger 2 fired, 1 targets", "Uec_0_1 activate"];
    let found: Vec<&str> = lines.iter().map(String::as_str).filter(|line| order.contains(line)).collect();
    assert_eq!(found, order);
    let ended = |name: &str, messages: usize, bytes: u64| {
        let with = format!("total messages {messages} ");
        let line = lines.iter().find(|line| line.starts_with(name) && line.contains("finished"));
        assert!(
            line.is_some_and(|line| line.contains(&with) && line.contains(&format!("total bytes {bytes}"))),
            "{line:?}"
        );
    };
    // The trigger fires when the last byte of its message is acknowledged, not before.
    let mut alone = None;
    let options = Options::parse("-sender_cc_only -end 1000".split_whitespace()).unwrap();
    let setup = Setup::new(options, "Nodes 16\n0->1 id 1 start 0 size 40860\n", None).unwrap();
    let at = |line: &str, word: &str| Some(line.split_once(word)?.1.split(' ').next()?.to_owned());
    setup.run(&mut |line| alone = at(line, " finished at ").or(alone.take()), None, &mut |_| true);
    let start = lines.iter().find(|line| line.starts_with("Flow Uec_2_3")).and_then(|line| at(line, " starting at "));
    assert!(start.is_some() && start == alone, "{start:?} {alone:?}");
    ended("Flow Uec_0_1", 2, 44_946);
    ended("Flow Uec_2_3", 1, 8172);
    assert!(results.beyond.is_some(), "there is no reference");
    // A message whose trigger never fires leaves its connection open.
    let setup = Setup::new(Options::parse("-conn_reuse -end 1000".split_whitespace()).unwrap(), matrix, None).unwrap();
    let mut finished = 0;
    setup.run(&mut |line| finished += usize::from(line.contains("finished at")), None, &mut |_| true);
    assert_eq!(finished, 1);
}

#[test]
fn a_run_ends_with_its_last_event_and_not_with_a_timer_that_was_cancelled() {
    let setup = Setup::new(Options::default(), "Nodes 16\n0->5 start 0 size 400000\n7->5 start 0 size 400000\n", None);
    let mut events = 0;
    let mut record = |line: &str| events += u64::from(line.starts_with("E "));
    let results = setup.expect("good input").run(&mut |_| (), Some(&mut record), &mut |_| true);
    let finished = results.flows.iter().filter_map(|flow| flow.finished).max();
    assert_eq!((results.events, Some(results.end)), (events, finished));
}
