//! Explanations against hand calculations and against runs.

use super::*;
use crate::{Spec, run};
use std::path::Path;

fn example(name: &str, changes: &[(&str, &str)]) -> CheckedSpec {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    let spec = changes.iter().fold(Spec::read(&path).unwrap(), |spec, (key, value)| spec.set(key, value).unwrap());
    spec.check().unwrap()
}

fn spec(text: &str) -> CheckedSpec {
    Spec::from_toml(text, "x.toml", Path::new("")).and_then(|spec| spec.check()).unwrap_or_else(|e| panic!("{e}"))
}

/// A star of `hosts` at 10 Gb/s and 1 us, with these traffics and 1 ms to measure.
fn star(hosts: u32, traffics: &str) -> String {
    format!(
        "spec_version = 1\nname = \"x\"\n[network]\ntopology = {{ kind = \"star\", hosts = {hosts}, link = \"10 \
         Gbps\", delay = \"1 us\" }}\npacket = {{ payload = \"1000 B\", header = \"0 B\", ack = \"100 B\" }}\nbuffer = \
         {{ policy = \"unlimited\" }}\n{traffics}\n[measure]\nwindow = \"1 ms\"\n"
    )
}

/// Expected packet-hops over real ones.
fn ratio(checked: &CheckedSpec) -> f64 {
    let real = run(checked.build(), &mut |_| true).run.totals.packet_hops;
    estimate(checked, &[], Some(1e6)).packet_hops / real as f64
}

#[test]
fn packet_hops_are_those_of_runs() {
    let incast = example("incast.toml", &[("measure.warm_up", "500 us"), ("measure.window", "2 ms")]);
    let short = [("measure.warm_up", "0 s"), ("measure.window", "3 ms")];
    let coexistence = example("coexistence.toml", &short);
    let burst = "[[traffic]]\nname = \"b\"\nscheme = \"fixed-window\"\npattern = { kind = \"incast\", degree = 8, \
                 every = \"200 us\" }\nsize = { fixed = \"20 KB\" }\n";
    let long = "[[traffic]]\nname = \"l\"\nscheme = \"none\"\npattern = { kind = \"long\", count = 4 }\n";
    for (name, checked) in [
        ("incast", incast),
        ("coexistence", coexistence),
        ("burst", spec(&star(10, burst))),
        ("long", spec(&star(10, long))),
    ] {
        let ratio = ratio(&checked);
        println!("{name}: {ratio:.3} of the packet-hops of the run");
        assert!((0.75..1.25).contains(&ratio), "{name}: {ratio:.3} of the packet-hops of the run");
    }
}

#[test]
fn closed_loops_do_as_many_rounds_as_the_window_has_room_for() {
    // 100 rounds of which about 1 ms / (100 us + two ways) fit.
    let asks = "[[traffic]]\nname = \"asks\"\nscheme = \"dctcp\"\npattern = { kind = \"query\", clients = [\"h0\"], \
                degree = 4, rounds = 100, request = \"1 KB\", think_time = \"100 us\" }\nsize = { fixed = \"2 KB\" \
                }\ntcp = { persistent = true }\n";
    let checked = spec(&star(8, asks));
    let ratio = ratio(&checked);
    println!("queries: {ratio:.3} of the packet-hops of the run");
    assert!((0.75..1.35).contains(&ratio), "{ratio:.3}");
    let explained = explain(&checked);
    assert_eq!((explained.traffics[0].messages, explained.cost.extrapolated), (800.0, false));
}

#[test]
fn loads_are_counted_per_tier() {
    // Two of four hosts of each side send 250 KB to the other side within 1 ms: 4 Gb/s over 10.
    let text = "spec_version = 1\nname = \"x\"\n[network]\ntopology = { kind = \"leaf-spine\", leaves = 2, hosts = 2, \
                spines = 2, link = \"10 Gbps\", delay = \"1 us\" }\npacket = { payload = \"1000 B\", header = \"100 \
                B\" }\nbuffer = { policy = \"unlimited\" }\n[[traffic]]\nname = \"a\"\nscheme = \"none\"\nsize = { \
                fixed = \"250 KB\" }\npattern = { kind = \"incast\", degree = 1, senders = [\"h0\"], receivers = \
                [\"h2\"] }\n[measure]\nwindow = \"1 ms\"\n";
    let explained = explain(&spec(text));
    let load = |tier: &str| explained.load.iter().find(|of| of.tier == tier).unwrap_or_else(|| panic!("{tier}"));
    // Of four ports of 10 Gb/s in each tier one takes 2 Gb/s, or two take 1 Gb/s each.
    for tier in ["host-uplink", "tor-uplink", "tor-downlink", "last-hop"] {
        assert!((load(tier).share - 0.05).abs() < 1e-9, "{tier}: {}", load(tier).share);
        assert!((load(tier).wire_share - 0.055).abs() < 1e-9);
    }
    assert_eq!(explained.load.len(), 4);
    let paths = &explained.network.paths;
    assert_eq!((paths.host_pairs, paths.exact, paths.lengths.len()), (12, true, 2));
    assert_eq!((paths.lengths[0].host_pairs, paths.lengths[1].host_pairs), (4, 8));
    assert_eq!((paths.lengths[0].paths_max, paths.lengths[1].paths_min, paths.lengths[1].paths_max), (1, 2, 2));
    assert!((paths.mean_links - 40.0 / 12.0).abs() < 1e-12);
}

#[test]
fn thresholds_and_headroom_are_in_bytes_times_and_shares() {
    let explained = explain(&example("incast.toml", &[("measure.window", "1 ms")]));
    let class = &explained.classes[0];
    let [marking] = &class.marking[..] else { panic!("{:?}", class.marking) };
    // 22.5 KB at 10 Gb/s.
    let [step] = &marking.thresholds[..] else { panic!("{marking:?}") };
    assert_eq!((marking.kind, step.bytes, step.drain_us), ("step", 22_500, 18.0));
    // 60 us and six times 1,564 B at 10 Gb/s.
    let rtt = 60.0 + 6.0 * 1.2512;
    assert!((explained.network.paths.base_rtt_max_us - rtt).abs() < 1e-9);
    assert!((step.share_of_bdp - 22_500.0 / (rtt * 1250.0)).abs() < 1e-4);
    let [pfc] = &class.pfc[..] else { panic!("{:?}", class.pfc) };
    // pfc.rs derives it: 14,064 + 1,500 + 1,499.
    assert_eq!((pfc.needed_bytes, pfc.headroom_bytes, pfc.enough), (17_063, 17_063, true));
    assert_eq!((pfc.xoff_bytes, pfc.xon_bytes), (225_000 - 17_063, 225_000 - 17_063 - 3000));
    // 60 quanta at 10 Gb/s are 3,840 B.
    let late = explain(&example("incast.toml", &[("measure.window", "1 ms"), ("network.pfc.response", "3072 ns")]));
    assert_eq!(late.classes[0].pfc[0].headroom_bytes, 17_063 + 3840);
    let small = explain(&example("incast.toml", &[("measure.window", "1 ms"), ("network.buffer.headroom", "1 KB")]));
    assert!(!small.classes[0].pfc[0].enough);
}

#[test]
fn long_runs_are_extrapolated() {
    let poisson = |window: &str| {
        let traffic = "[[traffic]]\nname = \"p\"\nscheme = \"none\"\npattern = { kind = \"poisson\" }\nsize = { fixed \
                       = \"10 KB\" }\nload = { share = 0.5, of = \"host-links\" }\n";
        spec(&star(100, traffic).replace("1 ms", window))
    };
    // 500 Gb/s of messages of 80 kb: 6.25 a microsecond.
    let (some, many) = (explain(&poisson("100 ms")), explain(&poisson("4 s")));
    assert!(!some.cost.extrapolated && many.cost.extrapolated);
    for explained in [&some, &many] {
        let share = explained.load[0].share;
        assert!((share - 0.5).abs() < 0.01, "{share}");
    }
    let grown = many.cost.packet_hops / some.cost.packet_hops;
    assert!((grown - 40.0).abs() < 1.0, "{grown}");
    assert!(many.cost.memory_bytes > 30.0 * some.cost.memory_bytes * 0.5);
}
