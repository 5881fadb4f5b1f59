//! Broken options, matrices and topologies end in a result or an error, never in a panic.

use fanin_uet::{Options, simulate};

const OPTIONS: &str = "-sender_cc -receiver_cc -end 60 -q 4 -ecn 1 4 -trimsize 2070 -paths 8 -load_balancing_algo reps \
    -mtu 4150 -linkspeed 100000 -cwnd 20 -qa_gate 2 -sack_threshold 4000 -target_q_delay 5 -failed 2 -tiers 3";
const MATRIX: &str = "Nodes 16\nConnections 4\nTriggers 1\n0->5 id 1 start 0 size 40860 send_done_trigger 1\n\
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
        ran += u64::from(simulate(&options, &matrix, topology, &mut |_| {}, None).is_ok());
    }
    assert!(ran > 0 && ran < cases, "{ran} of {cases} ran");
}

#[test]
fn errors_say_what_would_be_right() {
    let error = |options: &str, matrix: &str| {
        let options = Options::parse(options.split_whitespace()).expect("good options");
        simulate(&options, matrix, None, &mut |_| {}, None).expect_err("an error").to_string()
    };
    assert_eq!(
        error("", "Nodes 10\n0->1 start 0 size 1\n"),
        "a fat tree of 3 tiers needs K^3/4 hosts with an even K, not 10; or give a topology"
    );
    assert_eq!(
        error("", "Nodes 16\n0->16 start 0 size 1\n"),
        "connection 0->16: hosts are two different ones from 0 to 15"
    );
    assert_eq!(error("", "Nodes 16\n0->1 size 1\n"), "line 2 of the matrix needs either start or trigger");
    assert_eq!(
        error("-conn_reuse -end 1000", "Nodes 2\n0->1 id 1 start 0 size 40860\n0->1 id 1 start 500 size 40860\n"),
        "the original aborts at 17.0107 us: all messages so far of a reused connection are acknowledged before the \
         next is due"
    );
}
