//! The micro cases: a star of 17 hosts, all flows at 2 s.
#![allow(dead_code, reason = "each test file uses its own part")]

use fanin_cc::Settings;
use fanin_formats::hpcc::{Config, Delay, Flow, Link, Topology};
use fanin_ns3::Network;
use fanin_ns3::results::Seen;

pub const G: u64 = 1_000_000_000;

/// 17 hosts at switch 17, 100 Gb/s, 1 us.
pub fn star() -> Topology {
    let link = |host| Link { a: host, b: 17, rate: 100 * G, delay: Delay::from_ns(1000), error_rate: 0.0 };
    Topology { is_switch: (0..18).map(|node| node == 17).collect(), links: (0..17).map(link).collect() }
}

/// So many senders of so many bytes each, to host 0.
pub fn senders(count: u32, bytes: u64) -> Vec<Flow> {
    (1..=count).map(|src| Flow { src, dst: 0, pg: 3, dport: 100, bytes, start: 2.0 }).collect()
}

/// The configuration of the micro cases, without what differs by scheme.
pub fn config(cc_mode: u32) -> Config {
    let file = String::new;
    Config {
        enable_qcn: true,
        payload: 1000,
        topology_file: file(),
        flow_file: file(),
        trace_file: file(),
        trace_output_file: file(),
        fct_output_file: file(),
        pfc_output_file: file(),
        qlen_file: file(),
        stop: 2.02,
        cc_mode,
        alpha_resume_interval: 1.0,
        rate_decrease_interval: 4.0,
        rp_timer: 300.0,
        clamp_target_rate: false,
        fast_recovery_times: 1,
        ewma_gain: 0.00390625,
        rate_ai: 0,
        rate_hai: 0,
        min_rate: G,
        dctcp_rate_ai: G,
        error_rate_per_link: 0.0,
        l2_chunk_size: 4000,
        l2_ack_interval: 1,
        l2_back_to_zero: false,
        has_win: true,
        global_t: true,
        var_win: true,
        fast_react: false,
        rate_bound: true,
        u_target: 0.95,
        mi_thresh: 0,
        int_multi: 1,
        multi_rate: false,
        sample_feedback: false,
        ack_high_prio: false,
        link_down: None,
        enable_trace: true,
        kmin: vec![(100 * G, 400), (400 * G, 1600)],
        kmax: vec![(100 * G, 1600), (400 * G, 6400)],
        pmax: vec![(100 * G, 0.2), (400 * G, 0.2)],
        buffer_mib: 32,
        qlen_start: 3_900_000_000,
        qlen_end: 3_900_000_001,
        ..Config::default()
    }
}

/// Completion times by sender, in the order of completion, and what each packet saw that joined the queue to host 0.
pub type Outcome = (Vec<(u32, u64)>, Vec<(u64, u64)>);

pub fn run(config: Config, flows: Vec<Flow>, settings: &Settings) -> Outcome {
    let mut network = Network::new(config, &star(), flows, &[17], settings);
    network.run_until(u64::MAX);
    let finished = network.happened.finished.iter().map(|f| (f.src, f.took)).collect();
    let to_receiver = |r: &&fanin_ns3::results::Record| r.seen == Seen::Enqueued && r.device == 1;
    let records = network.happened.records.iter().filter(to_receiver);
    (finished, records.map(|r| (r.at - 2 * G, r.queued)).collect())
}

/// The configuration of a micro case: `hp`, `dcqcn`, `dcqcn_vwin`, `timely` or `dctcp`.
pub fn micro(scheme: &str) -> Config {
    let m = G / 1000;
    match scheme {
        "hp" => Config { rate_ai: 50 * m, rate_hai: 50 * m, fast_react: true, int_multi: 4, ..config(3) },
        "dcqcn" => Config { has_win: false, var_win: false, ack_high_prio: true, ..micro("dcqcn_vwin") },
        "dcqcn_vwin" => Config { rate_ai: 20 * m, rate_hai: 200 * m, ..config(1) },
        "timely" => {
            let config = config(7);
            Config {
                rate_ai: 100 * m,
                rate_hai: 500 * m,
                has_win: false,
                var_win: false,
                ack_high_prio: true,
                ..config
            }
        }
        "dctcp" => Config {
            ewma_gain: 0.0625,
            dctcp_rate_ai: 615 * m,
            kmin: vec![(100 * G, 300)],
            kmax: vec![(100 * G, 300)],
            pmax: vec![(100 * G, 1.0)],
            ..config(8)
        },
        other => panic!("no micro case {other}"),
    }
}
