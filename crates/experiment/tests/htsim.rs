//! htsim's files, run: when what starts, what the tree is, and what a spec made of them is.

use fanin_cc::Settings;
use fanin_experiment::built::Built;
use fanin_experiment::{CheckedSpec, Spec, htsim, run};
use fanin_fabric::FlowRecord;
use fanin_units::{Rate, Time};
use std::path::{Path, PathBuf};

/// A folder of its own, gone with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fanin-htsim-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn checked(matrix: &Path, topo: Option<&Path>, scheme: &str) -> CheckedSpec {
    let mut made = htsim::spec(matrix, topo, scheme, None).unwrap_or_else(|problems| panic!("{problems}"));
    if Settings::preset(scheme).is_some_and(|scheme| scheme.needs_trimming().is_some()) {
        made.spec["network"]["trimming"] = serde_json::json!({});
        made.spec["network"]["buffer"]["policy"] = "lossy".into();
        made.spec["traffic"][0]["rdma"] = serde_json::json!({ "recovery": "unordered" });
    }
    let spec = Spec::from_json(&made.spec.to_string(), "made", Path::new("")).unwrap();
    spec.check().unwrap_or_else(|problems| panic!("{problems}"))
}

/// What became of each connection, by id: index 0 is id 1.
fn flows_of(checked: &CheckedSpec) -> Vec<FlowRecord> {
    let mut flows: Vec<FlowRecord> = run(checked.build(), &mut |_| true).run.flows.iter().collect();
    flows.sort_by_key(|flow| flow.group);
    assert!(flows.iter().zip(1..).all(|(flow, id)| flow.group == id));
    flows
}

/// The same of a matrix of 16 nodes without a tree, under RDMA and under TCP.
fn both(name: &str, text: &str) -> [Vec<FlowRecord>; 2] {
    let folder = Folder::new(name);
    let file = folder.file("m.cm", text);
    ["dcqcn", "dctcp"].map(|scheme| {
        let flows = flows_of(&checked(&file, None, scheme));
        assert!(flows.iter().all(|flow| flow.finished.is_some() && flow.acked.is_some()), "{scheme}");
        flows
    })
}

#[test]
fn each_oneshot_of_a_ring_starts_the_next_connection_at_once() {
    // As generators of allreduce write them: what one host has sent starts what the next one sends.
    let text = "Nodes 16\nConnections 4\nTriggers 3\n9->13 id 4 trigger 3 size 50000\n0->5 id 1 start 2000000 size \
                100000 send_done_trigger 1\n5->9 id 2 trigger 1 size 50000 recv_done_trigger 2\n9->13 id 3 trigger 2 \
                size 544 send_done_trigger 3\ntrigger id 3 oneshot\ntrigger id 1 oneshot\ntrigger id 2 oneshot\n";
    for flows in both("ring", text) {
        let starts: Vec<Time> = flows.iter().map(|flow| flow.start).collect();
        assert_eq!(starts, [Time::from_us(2), flows[0].acked, flows[1].finished, flows[2].acked]);
        assert!(flows[0].acked > flows[0].finished && starts.is_sorted());
        let bytes: Vec<u64> = flows.iter().map(|flow| flow.bytes).collect();
        assert_eq!(bytes, [100_000, 50_000, 544, 50_000]);
    }
}

#[test]
fn a_barrier_starts_all_at_its_last_activation() {
    // The last of three is the longest, which starts latest too; one of them counts by its last ACK.
    let text = "Nodes 16\nConnections 6\nTriggers 2\n0->4 id 1 start 0 size 9000 recv_done_trigger 7\n1->8 id 2 start \
                1000000 size 90000 send_done_trigger 7\n2->12 id 3 start 5000000 size 900000 recv_done_trigger 7\n4->0 \
                id 4 trigger 7 size 9000 recv_done_trigger 8\n8->0 id 5 trigger 7 size 90000 recv_done_trigger \
                8\n12->3 id 6 trigger 8 size 1\ntrigger id 7 barrier count 3\ntrigger id 8 barrier count 2\n";
    for flows in both("barrier", text) {
        assert_eq!([0, 1, 2].map(|i| flows[i].start), [Time::ZERO, Time::from_us(1), Time::from_us(5)]);
        let last = flows[2].finished;
        assert!(flows[0].finished < last && flows[1].acked < last);
        assert_eq!((flows[3].start, flows[4].start), (last, last));
        assert_eq!(flows[5].start, flows[3].finished.max(flows[4].finished));
    }
}

#[test]
fn a_multishot_starts_one_at_each_activation_in_the_order_of_the_file() {
    // Two at a time from host 0; id 5 is the first that waits, since it stands first.
    let text = "Nodes 16\nConnections 5\nTriggers 1\n0->12 id 5 trigger 1 size 100 send_done_trigger 1\n0->4 id 1 \
                start 0 size 300000 send_done_trigger 1\n0->8 id 2 start 0 size 100000 send_done_trigger 1\n0->13 id 3 \
                trigger 1 size 700000 send_done_trigger 1\n0->14 id 4 trigger 1 size 100\ntrigger id 1 multishot\n";
    for flows in both("multishot", text) {
        let [one, two, three, four, five] = flows[..] else { panic!("{flows:?}") };
        let mut activations = [one.acked, two.acked, five.acked, three.acked];
        activations.sort_unstable();
        assert!(two.acked < one.acked && one.acked < three.acked);
        assert_eq!([five.start, three.start, four.start], activations[..3]);
    }
}

#[test]
fn triggers_act_between_hosts_at_once_so_such_a_run_has_one_thread() {
    let folder = Folder::new("threads");
    let outcome = |text| {
        let file = folder.file("m.cm", text);
        run(Built { threads: 2, ..checked(&file, None, "none").build() }, &mut |_| true)
    };
    let free = outcome("Nodes 16\nConnections 1\n0->9 start 0 size 5000000\n");
    let triggers = Some("htsim's triggers act between hosts at once");
    assert_ne!(free.threads_reason.as_deref(), triggers);
    let bound = outcome(
        "Nodes 16\nConnections 2\nTriggers 1\n0->9 id 1 start 0 size 5000000 recv_done_trigger 1\n1->3 id 2 trigger 1 \
         size 9000\ntrigger id 1 oneshot\n",
    );
    assert_eq!((bound.threads, bound.threads_reason.as_deref()), (1, triggers));
}

#[test]
fn starts_are_picoseconds() {
    let text = "Nodes 16\nConnections 2\n13->7 start 67000 size 544\n9->2 start 183000.9 size 782\n";
    for flows in both("starts", text) {
        assert_eq!([flows[0].start, flows[1].start], [Time::from_ns(67), Time::from_ns(183)]);
    }
}

#[test]
fn connections_without_end_run_for_a_window_of_htsims() {
    let folder = Folder::new("endless");
    let file = folder.file("m.cm", "Nodes 16\nConnections 1\n0->1 start 0 size 0\n");
    let built = checked(&file, None, "none").build();
    let outcome = run(built, &mut |_| true).run;
    assert_eq!((outcome.measured_to, outcome.flows[0].finished), (Time::from_ms(1), Time::NEVER));
    let rate = outcome.traffics[0].long_bytes_in_window as f64 * 8.0 / 1e-3;
    assert!(rate > 98e9, "{rate}");
}

#[test]
fn every_scheme_runs_the_same_files() {
    let folder = Folder::new("schemes");
    let lines: String = (1..9).map(|i| format!("{i}->0 id {i} start 0 size 100000\n")).collect();
    let file = folder.file("incast.cm", &format!("Nodes 16\nConnections 8\n{lines}"));
    for row in fanin_cc::rows() {
        for scheme in row.presets {
            let flows = flows_of(&checked(&file, None, scheme));
            assert!(flows.len() == 8 && flows.iter().all(|flow| flow.acked.is_some()), "{scheme}");
        }
    }
}

#[test]
fn the_tree_of_a_number_of_nodes_is_the_k_ary_fat_tree() {
    let folder = Folder::new("fat-tree");
    let pairs = (0..16).flat_map(|a| (0..16).map(move |b| (a, b))).filter(|(a, b)| a != b);
    let lines: Vec<String> = pairs.map(|(a, b)| format!("{a}->{b} start 0 size 100000\n")).collect();
    let file = folder.file("all.cm", &format!("Nodes 16\nConnections {}\n{}", lines.len(), lines.concat()));
    let made = htsim::spec(&file, None, "none", None).unwrap();
    let mut plain = made.spec.clone();
    plain["network"]["topology"] =
        serde_json::json!({ "kind": "fat-tree", "k": 4, "link": "100 Gbps", "delay": "1 us" });
    let [ours, plain] = [made.spec, plain].map(|spec| {
        let spec = Spec::from_json(&spec.to_string(), "made", Path::new("")).unwrap();
        let checked = spec.check().unwrap();
        let mut nodes: Vec<usize> = vec![0; checked.network().graph.names.len()];
        checked.network().graph.links.iter().for_each(|l| [l.a, l.b].iter().for_each(|n| nodes[n.ix()] += 1));
        let flows: Vec<_> = flows_of(&checked).iter().map(|flow| (flow.src, flow.dst, flow.hops, flow.ideal)).collect();
        (nodes, checked.network().graph.names.clone(), flows)
    });
    assert_eq!(ours, plain);
}

/// A tree of 2 pods of 2 ToRs with 2 hosts, 2 aggregation switches each, and 4 cores.
fn tree(latencies: [u32; 3], more: &str) -> String {
    let tier = |n: usize, gbps: u32, rest: &str| {
        let latency = latencies[n];
        format!("Tier {n}\nDownlink_speed_Gbps {gbps}\nDownlink_Latency_ns 1000\nSwitch_Latency_ns {latency}\n{rest}")
    };
    let tiers = tier(0, 100, "Radix_Down 2\nRadix_Up 2\n") + more;
    let tiers = tiers + &tier(1, 200, "Radix_Down 2\nRadix_Up 2\n") + &tier(2, 400, "Radix_Down 2\n");
    format!("Nodes 8\nTiers 3\nPodsize 4\n{tiers}")
}

const CROSSING: &str =
    "Nodes 8\nConnections 3\n0->1 start 0 size 1000\n0->2 start 0 size 1000\n0->4 start 0 size 1000\n";

#[test]
fn speeds_and_delays_are_those_of_each_tier() {
    let folder = Folder::new("tiers");
    let matrix = folder.file("m.cm", CROSSING);
    let topo = folder.file("t.topo", &tree([0; 3], ""));
    let checked = checked(&matrix, Some(&topo), "none");
    let graph = &checked.network().graph;
    let rates: Vec<Rate> = graph.links.iter().map(|link| link.rate).collect();
    let expected = [[Rate::from_gbps(100); 8], [Rate::from_gbps(200); 8], [Rate::from_gbps(400); 8]].concat();
    assert_eq!((graph.hosts, rates), (8, expected));
    let hops: Vec<u16> = flows_of(&checked).iter().map(|flow| flow.hops).collect();
    assert_eq!(hops, [2, 4, 6]);
    // agg1 is the second of its pod: cores 1 and 3.
    let ends: Vec<_> = graph.links.iter().map(|l| (&*graph.names[l.a.ix()], &*graph.names[l.b.ix()])).collect();
    assert!(ends.contains(&("agg1", "core1")) && ends.contains(&("agg1", "core3")) && ends[8] == ("tor0", "agg0"));
}

#[test]
fn a_way_takes_what_each_switch_on_it_takes() {
    let folder = Folder::new("switch");
    let matrix = folder.file("m.cm", CROSSING);
    let ideals = [[0, 0, 0], [11, 301, 5003]].map(|latencies| {
        let topo = folder.file("t.topo", &tree(latencies, ""));
        let flows = flows_of(&checked(&matrix, Some(&topo), "none"));
        [0, 1, 2].map(|i| flows[i].ideal)
    });
    let more: Vec<u64> =
        ideals[1].iter().zip(ideals[0]).map(|(with, without)| (*with - without).as_ps() / 1000).collect();
    assert_eq!(more, [11, 2 * 11 + 301, 2 * 11 + 2 * 301 + 5003]);
}

#[test]
fn queues_are_those_of_the_tree() {
    let folder = Folder::new("queues");
    let matrix = folder.file("m.cm", CROSSING);
    let made = |more: &str| {
        let topo = folder.file("t.topo", &tree([0; 3], more));
        htsim::spec(&matrix, Some(&topo), "dctcp", None).unwrap()
    };
    let plain = made("");
    assert_eq!(plain.spec["network"]["buffer"], serde_json::json!({ "per_port": "900 KB", "policy": "lossy" }));
    assert_eq!((&plain.spec["network"]["marking"]["above"], plain.warnings.len()), (&"135 KB".into(), 0));
    let one = made("Queue_Up 200000\n");
    assert_eq!((&one.spec["network"]["buffer"]["per_port"], one.warnings.len()), (&"200 KB".into(), 0));
    assert_eq!(one.spec["network"]["marking"]["above"], "100 KB");
    let two = made("Queue_Up 300000\nQueue_Down 250000\n");
    assert_eq!(two.spec["network"]["buffer"]["per_port"], "250 KB");
    let warning = "the tree has queues of 250 KB to 300 KB, but all ports have the same here: 250 KB";
    assert_eq!(two.warnings, [warning]);
    // Under RDMA nothing is lost, and what is under way on the longest link has room.
    let topo = folder.file("t.topo", &tree([0; 3], ""));
    let lossless = htsim::spec(&matrix, Some(&topo), "dcqcn", None).unwrap().spec;
    let expected = serde_json::json!({ "per_port": "1.1 MB", "policy": "lossless" });
    assert_eq!(lossless["network"]["buffer"], expected);
}

#[test]
fn a_failed_link_is_not_there() {
    let folder = Folder::new("failure");
    let failing = |switch: u32, link: u32| {
        let failure = format!("failure switch_type AGG switch_id {switch} link_id {link}\n");
        folder.file("m.cm", &format!("Nodes 8\nConnections 1\nFailures 1\n0->4 start 0 size 1000\n{failure}"))
    };
    let topo = folder.file("t.topo", &tree([0; 3], ""));
    // Core 1 * 2 + 1 = 3 is one of those of agg3, the second of its pod.
    let checked = checked(&failing(3, 1), Some(&topo), "none");
    let graph = &checked.network().graph;
    let ends: Vec<_> = graph.links.iter().map(|l| (&*graph.names[l.a.ix()], &*graph.names[l.b.ix()])).collect();
    assert_eq!((ends.len(), ends.contains(&("agg3", "core3")), ends.contains(&("agg3", "core1"))), (23, false, true));
    for (switch, link) in [(3, 0), (4, 0), (0, 1), (0, 4)] {
        let error = htsim::spec(&failing(switch, link), Some(&topo), "none", None).unwrap_err().to_string();
        assert!(error.contains(&format!("m.cm:5: htsim has no link {link} of AGG {switch}")), "{error}");
    }
}

#[test]
fn the_resolved_spec_stands_alone_and_says_the_same() {
    let folder = Folder::new("resolved");
    let text = "Nodes 16\nConnections 2\nTriggers 1\n0->5 id 3 start 9 size 1000 send_done_trigger 1\n1->2 id 8 \
                trigger 1 size 10 prio 4\ntrigger id 1 oneshot\n";
    let file = folder.file("m.cm", text);
    let first = checked(&file, None, "dcqcn");
    let again = Spec::from_toml(&first.to_toml(), "resolved", Path::new("/")).unwrap().check().unwrap();
    assert_eq!(first, again);
    let hash = |spec: &CheckedSpec| run(spec.build(), &mut |_| true).run.totals.event_hash;
    assert_eq!(hash(&first), hash(&again));
    let [warning] = first.warnings() else { panic!("{:?}", first.warnings()) };
    assert!(
        warning.ends_with("m.cm: prio of 1 connections is not used: there is no receiver-driven transport"),
        "{warning}"
    );
}

#[test]
fn what_does_not_fit_together_is_told_with_its_file() {
    let folder = Folder::new("errors");
    let matrix = |nodes: u32| {
        folder.file(&format!("m{nodes}.cm"), &format!("Nodes {nodes}\nConnections 1\n0->1 start 0 size 1\n"))
    };
    let topo = folder.file("t.topo", &tree([0; 3], ""));
    let large = "Nodes 200000\nTiers 2\nPodsize 200000\nTier 0\nDownlink_speed_Gbps 1\nDownlink_Latency_ns \
                 1\nRadix_Down 1\nRadix_Up 1\nTier 1\nDownlink_speed_Gbps 1\nDownlink_Latency_ns 1\nRadix_Down \
                 200000\n";
    let large = folder.file("large.topo", large);
    for (matrix, topo, says) in [
        (matrix(16), Some(&topo), "m16.cm: it is about 16 hosts and the tree has 8; make them equal"),
        (matrix(200_000), Some(&large), "large.topo: it asks for 200000 hosts and 400000 links"),
        (folder.0.join("absent.cm"), None, "absent.cm: cannot be read"),
        (
            folder.file("bad.cm", "Nodes 16\nConnections 1\n0->1 start 0\n"),
            None,
            "bad.cm:3: its size is missing; write it",
        ),
        (folder.file("odd.cm", "Nodes 17\nConnections 0\n"), None, "odd.cm: no fat tree has 17 hosts; k^3/4 are"),
    ] {
        let error = htsim::spec(&matrix, topo.map(PathBuf::as_path), "none", None).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    // The pattern of a spec of one's own.
    let spec = format!(
        "spec_version = 1\nname = \"x\"\n[network]\ntopology = {{ kind = \"star\", hosts = 4, link = \"1 Gbps\", delay \
         = \"1 us\" }}\nbuffer = {{ policy = \"unlimited\" }}\n[[traffic]]\nname = \"t\"\nscheme = \"none\"\npattern = \
         {{ kind = \"htsim\", file = {:?} }}\n[measure]\nwindow = \"1 ms\"\n",
        matrix(16)
    );
    let error = Spec::from_toml(&spec, "x.toml", Path::new("")).unwrap().check().unwrap_err().to_string();
    assert!(error.contains("m16.cm: it is about 16 hosts and the network has 4"), "{error}");
}

#[test]
fn the_reference_files_run() {
    let Some(folder) = std::env::var_os("FANIN_GOLDEN") else {
        eprintln!("SKIPPED: set FANIN_GOLDEN to the folder of reference files");
        return;
    };
    let inputs = PathBuf::from(folder).join("inputs");
    for (name, connections) in [("incast_128_64to1_1MB.cm", 64), ("k8_FbHdp_l3_t02.cm", 7849)] {
        let flows = flows_of(&checked(&inputs.join(name), None, "dcqcn"));
        assert!(flows.len() == connections && flows.iter().all(|flow| flow.acked.is_some()), "{name}");
    }
    for name in ["perm_128_10MB.cm", "perm_1024_500KB.cm"] {
        checked(&inputs.join(name), None, "dctcp");
    }
}
