//! Configurations that are run here; the command line's tests have the rest.

use super::convert::listed;
use super::generate::{self, Hosts, Wishes};
use super::ordinary::Ordinary;
use super::*;
use fanin_formats::hpcc;
use fanin_record::{EventKind, Run};
use std::collections::HashMap;
use std::path::PathBuf;

/// A folder of its own with a star of five hosts, flows and a configuration that traces the switch.
struct Files(PathBuf);

impl Files {
    fn new(name: &str, flows: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("fanin-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let files = Self(folder);
        files.put("topo.txt", &generate::around_one_switch(5, "100Gbps", "1us").unwrap());
        files.put("flow.txt", flows);
        files.put("trace.txt", "1\n5\n");
        let path = |name: &str| files.0.join(name).display().to_string();
        let wishes = Wishes { trace_file: Some(&path("trace.txt")), ..Wishes::default() };
        files.put("c.txt", &generate::config("hpcc", &path("topo.txt"), &path("flow.txt"), wishes).unwrap());
        files
    }

    fn put(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).unwrap();
    }
}

impl core::ops::Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn warnings(run: &Run) -> Vec<String> {
    run.events.kept().iter().filter(|e| e.kind == EventKind::Warning).map(|e| e.detail.clone()).collect()
}

#[test]
fn a_trace_ends_at_its_limit_and_says_so() {
    let files = Files::new("trace", "1\n1 0 3 100 20000 2\n");
    let setup = Setup::read("c.txt", &files.0, &Reading::default()).unwrap();
    let trace = |limit| {
        let run = run_within(&setup, true, None, limit, &mut |_| true).unwrap().run;
        let spool = run.files.iter().find(|spool| spool.name() == "trace.tr").unwrap();
        (std::fs::read(spool.path()).unwrap(), warnings(&run))
    };
    let (whole, told) = trace(TRACE_LIMIT);
    assert!(told.is_empty());
    // Ten ports with their rates, and a packet of 20 and its ACK are each seen three times at the switch.
    let header = 4 + 10 * 11 + 4;
    assert_eq!(whole.len(), header + 56 * 2 * 20 * 3);
    let (cut, told) = trace(header as u64 + 56 * 7 + 55);
    assert_eq!(cut, whole[..header + 56 * 7]);
    assert_eq!(told, [format!("113 records of the trace were left out: its limit is {} bytes", header + 56 * 7 + 55)]);
}

#[test]
fn flows_keep_their_ports_and_their_order_under_another_scheme() {
    let flows = "4\n1 0 3 200 900000 2\n1 0 3 100 500 2\n2 0 3 100 700 2\n1 0 3 200 300 2.000001\n";
    let files = Files::new("ordinary", flows);
    let ordinary = Ordinary::read("c.txt", &files.0, &Reading::default(), "none", &[], None).unwrap();
    let run = ordinary.run(1, &mut |_| true).unwrap().run;
    let fct = run.files.iter().find(|spool| spool.name() == "fct.txt").unwrap();
    let lines = hpcc::read_fct("fct.txt", &std::fs::read(fct.path()).unwrap()).unwrap();
    let mut seen: Vec<_> = lines.iter().map(|l| (hpcc::ip_node(l.sip), l.sport, l.dport, l.bytes, l.start)).collect();
    assert!(lines.is_sorted_by_key(|line| line.start + line.fct));
    seen.sort_unstable_by_key(|line| line.3);
    // Ports of a pair are counted over all its flows, as that simulator counts them.
    let at = 2_000_000_000;
    assert_eq!(
        seen,
        [
            (1, 10_002, 200, 300, at + 1000),
            (1, 10_001, 100, 500, at),
            (2, 10_000, 100, 700, at),
            (1, 10_000, 200, 900_000, at)
        ]
    );
    // Two links of 1 us, and a packet of 548 B twice; its ACK comes back over the same.
    let small = lines.iter().find(|line| line.bytes == 500).unwrap();
    assert!((4000..5000).contains(&small.fct), "{small}");
}

#[test]
fn the_last_flow_is_there_though_its_ack_comes_late() {
    // Its last byte arrives just before 100 us, where the run looks whether all has arrived.
    let files = Files::new("late", "1\n1 0 3 100 1167000 2\n");
    let ordinary = Ordinary::read("c.txt", &files.0, &Reading::default(), "none", &[], None).unwrap();
    let run = ordinary.run(1, &mut |_| true).unwrap().run;
    let flow = run.flows[0];
    let look = Time::from_us(100);
    assert!(flow.finished < look && look < flow.acked && flow.acked.is_some(), "{} {}", flow.finished, flow.acked);
    let fct = run.files.iter().find(|spool| spool.name() == "fct.txt").unwrap();
    assert_eq!(std::fs::read_to_string(fct.path()).unwrap().lines().count(), 1);
}

#[test]
fn flows_of_a_file_go_between_hosts_by_name() {
    let hosts: HashMap<String, u32> = [("h7".to_string(), 0), ("h9".to_string(), 1)].into();
    let text = "3\n7 9 3 100 5 2\n9 7 3 200 6 2.5\n7 9 3 100 7 3\n";
    let from = Time::from_s(2);
    let list = listed(text, "f", &hosts, Some(100), from).unwrap();
    let found: Vec<_> = list.flows_in_order().iter().map(|f| (f.src, f.dst, f.bytes, f.start)).collect();
    assert_eq!(found, [(0, 1, 5, Time::ZERO), (0, 1, 7, Time::from_s(1))]);
    assert_eq!(listed(text, "f", &hosts, None, from).unwrap().flows_in_order().len(), 3);
    let told = |text: &str, from| listed(text, "f", &hosts, None, from).unwrap_err().to_string();
    assert!(told("1\n7 8 3 100 5 2\n", from).contains("flow 1: there is no host \"h8\""));
    assert!(told(text, Time::from_ms(2100)).contains("flow 1: it starts at 2 s"));
    assert!(told("2\n7 9 3 100 5 2\n", from).starts_with("f:1: the first line says 2 flows"));
}

#[test]
fn sizes_have_the_names_of_their_files_and_of_ours() {
    for name in ["websearch", "WebSearch", "fbhadoop", "FB_Hadoop", "alistorage"] {
        assert!(generate::sizes(name).is_ok(), "{name}");
    }
    let mean = |name| generate::sizes(name).unwrap().mean();
    // The exact means of the lines between the points.
    assert_eq!(mean("websearch"), 1_711_250.0);
    let two = Hosts::new(Some(2), None).unwrap();
    assert!(two.poisson(&generate::sizes("websearch").unwrap(), 0.5, Some("1Gbps"), "1ms", "2s", 1).is_ok());
}

#[test]
fn its_packet_hops_are_known_before_it_runs() {
    let flows = "3\n1 0 3 200 900000 2\n1 3 3 100 500 2\n2 0 3 100 70000 2\n";
    let files = Files::new("estimate", flows);
    let setup = Setup::read("c.txt", &files.0, &Reading::default()).unwrap();
    let real = run(&setup, false, &mut |_| true).unwrap().run.totals.packet_hops as f64;
    let cost = crate::explain::estimate_hpcc(&setup, Some(1e6));
    assert!((cost.packet_hops / real - 1.0).abs() < 0.05, "{} of {real}", cost.packet_hops);
    let limits = crate::Limits { memory_bytes: None, wall_s: Some(1e-9) };
    assert!(limits.check_hpcc(&setup).unwrap_err().to_string().contains("--max-time"));
}
