//! Topologies and flow files that are made, not read.

mod common;

use common::*;
use fanin_formats::hpcc::generate::{FatTree, Law, Poisson, incast, permutation, star};
use fanin_formats::hpcc::{Config, Flow, SizeCdf, Topology, flows_to_text, read_flows};
use std::collections::BTreeSet;

const G: u64 = 1_000_000_000;

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.trim_end().bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ b as u64).wrapping_mul(0x0100_0000_01b3))
}

fn topologies() -> [(&'static str, Topology); 4] {
    [
        ("topo_star17.txt", star(17, 100 * G, 1000).unwrap()),
        ("topo_fat320.txt", FatTree::HPCC.topology().unwrap()),
        ("topo_k8_128.txt", FatTree::k_ary(8, 100 * G, 1000).topology().unwrap()),
        ("topo_k16_1024.txt", FatTree::k_ary(16, 100 * G, 1000).topology().unwrap()),
    ]
}

#[test]
fn topologies_are_those_of_the_simulator() {
    let facts = [
        ("18 1 17", "16 17 100Gbps 1000ns 0.000000", 0x4e10_49a6_b12b_3fcf),
        ("376 56 480", "359 375 400Gbps 1000ns 0.000000", 0x7278_0a27_a497_2772),
        ("208 80 384", "191 207 100Gbps 1000ns 0.000000", 0x1c79_9604_4a03_b9fc),
        ("1344 320 3072", "1279 1343 100Gbps 1000ns 0.000000", 0xcce0_527f_aa12_860e),
    ];
    for ((name, topology), (first, last, sum)) in topologies().into_iter().zip(facts) {
        let text = topology.to_text();
        assert_eq!((text.lines().next(), text.lines().last()), (Some(first), Some(last)), "{name}");
        assert_eq!(hash(&text), sum, "{name}: {:#x}", hash(&text));
        assert_eq!(Topology::read(name, text.as_bytes()).unwrap(), (topology, vec![]));
    }
}

#[test]
fn topologies_equal_its_files() {
    let Some(golden) = golden("topologies_equal_its_files") else { return };
    for (name, topology) in topologies() {
        let there = String::from_utf8(bytes(&golden.join("inputs").join(name))).unwrap();
        assert!(topology.to_text() == there.trim_end().to_string() + "\n", "{name}");
    }
}

#[test]
fn topologies_that_cannot_be_are_refused() {
    assert!(FatTree::k_ary(0, G, 1).topology().unwrap_err().contains("1 to 256"));
    assert!(FatTree::k_ary(1, G, 1).topology().is_err() && FatTree::k_ary(7, G, 1).topology().is_err());
    assert!(FatTree::k_ary(64, G, 1).topology().unwrap_err().contains("addresses exist for 65536"));
    assert!(FatTree::k_ary(4_000_000_000, G, 1).topology().is_err());
    assert!(star(0, G, 1).is_err() && star(257, G, 1).is_ok());
}

fn sizes() -> SizeCdf {
    SizeCdf::read("s", b"0 0\n1000 50\n9000 100\n").unwrap()
}

fn poisson(sizes: &SizeCdf) -> Poisson<'_> {
    Poisson { hosts: 40, load: 0.5, rate: 10 * G, sizes, start: 2 * G, duration: 10_000_000, seed: 7 }
}

#[test]
fn poisson_traffic_has_the_load_that_is_asked_for() {
    let sizes = sizes();
    assert_eq!(sizes.mean(), 2750.0);
    let spec = poisson(&sizes);
    let flows = spec.flows().unwrap();
    // 10 ms of 10 Gb/s at half load are 6.25 MB a host: 2273 flows of 2750 bytes, 90909 of 40 hosts.
    let expected = 90_909.0f64;
    assert!((flows.len() as f64 - expected).abs() < 4.0 * 302.0, "{}", flows.len());
    let bytes: f64 = flows.iter().map(|flow| flow.bytes as f64).sum();
    assert!((bytes / (40.0 * 6.25e6) - 1.0).abs() < 0.02, "{bytes}");
    let small = flows.iter().filter(|flow| flow.bytes < 1000).count() as f64;
    assert!((small / flows.len() as f64 - 0.5).abs() < 0.01, "{small}");
    // Gaps of a host: of an exponential distribution, one in e exceeds the mean.
    let starts = |src: u32| flows.iter().filter(move |flow| flow.src == src).map(|flow| flow.start);
    let gaps: Vec<f64> = (0..40).flat_map(|src| starts(src).zip(starts(src).skip(1)).map(|(a, b)| b - a)).collect();
    let long = gaps.iter().filter(|gap| **gap > 4.4e-6).count() as f64 / gaps.len() as f64;
    assert!((long - 0.3679).abs() < 0.01, "{long}");
    // Any other host alike.
    for dst in 0..40 {
        let into = flows.iter().filter(|flow| flow.dst == dst).count() as f64;
        assert!((into - expected / 40.0).abs() < 5.0 * 48.0, "{dst}: {into}");
    }
    // The last flow of a host is there: the wait for an end is a gap like any other.
    let waits: f64 = (0..40).map(|src| 2.01 - starts(src).next_back().unwrap()).sum::<f64>() / 40.0;
    assert!(waits < 4.4e-6 * 1.7, "{waits}");
    assert!(flows.iter().all(|flow| flow.src != flow.dst && (2.0..=2.01).contains(&flow.start) && flow.bytes >= 1));
}

#[test]
fn the_same_seed_gives_the_same_file() {
    let sizes = sizes();
    let spec = poisson(&sizes);
    let text = flows_to_text(&spec.flows().unwrap());
    assert_eq!(text, flows_to_text(&spec.flows().unwrap()));
    assert_ne!(text, flows_to_text(&Poisson { seed: 8, ..spec.clone() }.flows().unwrap()));
    // Equal on every machine.
    assert_eq!(hash(&text), 0xe621_4272_9020_69d1, "{:#x}", hash(&text));
    let (read, warnings) = read_flows("f", text.as_bytes(), None).unwrap();
    assert!(read == spec.flows().unwrap() && warnings.is_empty());
    // What is sent does not depend on how long it goes on.
    let short = Poisson { duration: 1_000_000, ..spec.clone() }.flows().unwrap();
    assert!(!short.is_empty() && read[..short.len()] == short);
}

#[test]
fn permutations_and_incasts() {
    let flows = permutation(64, 5000, 2 * G, 1).unwrap();
    let (from, to): (BTreeSet<_>, BTreeSet<_>) = flows.iter().map(|flow| (flow.src, flow.dst)).unzip();
    assert_eq!((flows.len(), from.len(), to.len()), (64, 64, 64));
    assert!(flows.iter().all(|flow| flow.src != flow.dst && flow.dport == 100 && flow.start == 2.0));
    assert_ne!(flows, permutation(64, 5000, 2 * G, 2).unwrap());
    assert_eq!(permutation(2, 1, 0, 0).unwrap().len(), 2);

    let flows = incast(64, 5, 60, 500_000, 2 * G, 1).unwrap();
    let from: BTreeSet<_> = flows.iter().map(|flow| flow.src).collect();
    assert!(from.len() == 60 && !from.contains(&5) && from.iter().all(|src| *src < 64));
    let first = Flow { src: flows[0].src, dst: 5, pg: 3, dport: 200, bytes: 500_000, start: 2.0 };
    assert_eq!(flows[0], first);
    assert_eq!(incast(64, 63, 63, 1, 0, 1).unwrap().len(), 63);
}

#[test]
fn flows_that_cannot_be_are_refused() {
    let sizes = sizes();
    let spec = poisson(&sizes);
    for wrong in [
        Poisson { hosts: 1, ..spec.clone() },
        Poisson { hosts: 65_537, ..spec.clone() },
        Poisson { load: 0.0, ..spec.clone() },
        Poisson { load: f64::NAN, ..spec.clone() },
        Poisson { rate: 0, ..spec.clone() },
        Poisson { duration: 1 << 62, ..spec.clone() },
        Poisson { load: 1e-12, start: u64::MAX, ..spec.clone() },
    ] {
        assert!(wrong.flows().is_err(), "{wrong:?}");
    }
    assert!(permutation(1, 1, 0, 0).is_err() && permutation(9, 0, 0, 0).is_err());
    assert!(
        incast(9, 9, 1, 1, 0, 0).is_err() && incast(9, 0, 9, 1, 0, 0).is_err() && incast(9, 0, 0, 1, 0, 0).is_err()
    );
}

#[test]
fn traffic_resembles_its_generators() {
    let Some(golden) = golden("traffic_resembles_its_generators") else { return };
    let sizes = SizeCdf::read("s", &bytes(&golden.join("inputs/FbHdp_distribution.txt"))).unwrap();
    let (there, _) = read_flows("f", &bytes(&golden.join("inputs/flow_FbHdp_l3_t02.txt")), None).unwrap();
    let spec =
        Poisson { hosts: 320, load: 0.3, rate: 100 * G, sizes: &sizes, start: 2 * G, duration: 2_000_000, seed: 1 };
    let ours = spec.flows().unwrap();
    // Theirs lacks one flow of each host.
    let difference = ours.len() as f64 - (there.len() + 320) as f64;
    assert!(difference.abs() < 4.0 * (2.0 * ours.len() as f64).sqrt(), "{} {}", ours.len(), there.len());
    let share = |flows: &[Flow]| flows.iter().filter(|flow| flow.bytes < 1000).count() as f64 / flows.len() as f64;
    assert!((share(&ours) - share(&there)).abs() < 0.015, "{} {}", share(&ours), share(&there));
}

#[test]
fn configurations_read_back_without_a_warning() {
    for (name, there, law) in Law::NAMES {
        assert_eq!((Law::of(name), Law::of(there)), (Some(law), Some(law)));
        for rate in [10 * G, 25 * G, 40 * G, 100 * G, 400 * G] {
            let config = law.config(rate, &[rate, 7 * G]);
            let files = Config { topology_file: "t".into(), flow_file: "f".into(), ..config };
            let text = files.to_text();
            let (read, warnings) = Config::read("c", text.as_bytes()).unwrap();
            assert_eq!(warnings, [], "{name} {rate}");
            // Keys without effect are left out and read as defaults; all others are as they were.
            assert_eq!(read.to_text(), text);
            assert_eq!((read.cc_mode, read.has_win, read.kmin.len()), (files.cc_mode, files.has_win, 3));
        }
    }
    assert_eq!(Law::of("pint"), None);
}

/// Every key of a configuration that has an effect.
#[test]
fn configurations_equal_its_files() {
    let Some(golden) = golden("configurations_equal_its_files") else { return };
    for (name, law) in
        [("dcqcn", Law::Dcqcn), ("dcqcn_vwin", Law::DcqcnWin), ("timely", Law::Timely), ("dctcp", Law::Dctcp)]
    {
        let file = golden.join("configs").join(format!("micro_2to1_{name}.txt"));
        let there = Config::read(name, &bytes(&file)).unwrap().0;
        let made = law.config(100 * G, &[100 * G]);
        // Its files, and when it ends, are its own.
        let same = Config {
            topology_file: there.topology_file.clone(),
            flow_file: there.flow_file.clone(),
            trace_file: there.trace_file.clone(),
            trace_output_file: there.trace_output_file.clone(),
            fct_output_file: there.fct_output_file.clone(),
            pfc_output_file: there.pfc_output_file.clone(),
            qlen_file: there.qlen_file.clone(),
            qlen_start: there.qlen_start,
            qlen_end: there.qlen_end,
            enable_trace: there.enable_trace,
            stop: there.stop,
            ..made
        };
        assert_eq!(same.to_text(), there.to_text(), "{name}");
    }
}
