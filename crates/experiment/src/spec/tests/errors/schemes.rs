//! Errors of schemes, of their lanes and credits, and of load balancing.

use super::*;
use fanin_cc::Balancing;
use fanin_cc::paths::{PathsKind, Spraying};

#[test]
fn impossible_darts() {
    let transport = "transport = \"tcp\"";
    let weight = "transport = \"tcp\"\nweight = 0";
    refused_at(transport, weight, "weight = 0", "traffic[3].weight", &["it is 0", "weights are at least 1"]);
    let (scheme, dart) = ("scheme = \"fixed-window\"\ntransport", "scheme = \"dart\"\ntransport");
    refused_at(scheme, dart, transport, "traffic[3].transport", &["counts messages", "leave it out"]);
    let hpcc = "scheme = \"hpcc\"\ntransport";
    refused_at(scheme, hpcc, transport, "traffic[3].transport", &["hpcc needs telemetry", "leave it out"]);
    // Two kinds of lanes have no place in one class.
    let long = "class = \"bulk\"\npattern = { kind = \"long\", count = 1 }\n[[traffic]]\nname =";
    let none = "scheme = \"none\"\nclass = \"bulk\"";
    let two = format!("scheme = \"dart\"\n{long} \"urgent\"\nscheme = \"dcqcn-priq\"\n{long} \"rest\"\n{none}");
    let shown = checked(&EXAMPLE.replace(none, &two)).unwrap_err().to_string();
    assert!(shown.contains("traffic[2].class: another traffic of its class needs another kind of lanes"), "{shown}");
}

/// `dart-iofd-threshold-order`: deflection is to come before marks (Dart IV-B), unless it is meant otherwise.
#[test]
fn deflection_above_the_marks() {
    // Marks above 22.5 KB in the class; ports of 10 Gb/s have none of their own here.
    let dart = |keys: &str| {
        let text = EXAMPLE.replace("marking_by_rate = [{ rate = \"10000 Mbps\", marking = { kind = \"off\" } }]\n", "");
        let traffic = format!("\"web\"\nscheme = {{ id = \"dart\", {keys} }}");
        let text = text.replace("\"web\"\nscheme = \"dcqcn\"", &traffic);
        assert!(text.contains(keys));
        checked(&text)
    };
    for refused in ["22.5 KB", "30 KB"] {
        let problems = dart(&format!("threshold = \"{refused}\"")).expect_err("not below the marks").to_string();
        assert_eq!(problems.matches("x.toml").count(), 1, "{problems}");
        for part in ["traffic[2].scheme.threshold", refused, "already marked above 22.5 KB", "force_threshold = true"] {
            assert!(problems.contains(part), "{part:?} is not in {problems}");
        }
    }
    assert!(dart("threshold = \"22.499 KB\"").is_ok());
    assert!(dart("threshold = \"15 KB\"").is_ok());
    assert!(dart("threshold = \"30 KB\", force_threshold = true").is_ok());
    assert!(dart("threshold = \"30 KB\", deflect = \"off\"").is_ok());
}

#[test]
fn an_escape_lane_with_a_circle_is_a_warning() {
    let warnings = |keys: &str| {
        let own = "marking_by_rate = [{ rate = \"10000 Mbps\", marking = { kind = \"off\" } }]\n";
        let traffic = format!("\"web\"\nscheme = {{ id = \"dart\", {keys} }}");
        let text = EXAMPLE.replace(own, "").replace("\"web\"\nscheme = \"dcqcn\"", &traffic);
        checked(&text).unwrap().warnings().join("\n")
    };
    assert!(!warnings("escape = \"after-last-misroute\"").contains("escape lane"));
    let shown = warnings("escape = \"on-last-misroute\"");
    assert!(shown.contains("escape lane entered on the last misroute") && shown.contains("may deadlock"), "{shown}");
}

/// A spec with ExpressPass for all its traffic, and these lines in its network.
fn credited(network: &str) -> String {
    let topology = "topology = { kind = \"star\", hosts = 3, link = \"10 Gbps\", delay = \"5 us\" }";
    let buffer = "buffer = { policy = \"lossy\", per_port = \"150 KB\" }";
    let traffic = "[[traffic]]\nname = \"a\"\nscheme = \"expresspass\"\npattern = { kind = \"long\", count = 1 }";
    let head = "spec_version = 1\nname = \"x\"\n[network]";
    format!("{head}\n{topology}\n{buffer}\n{network}\n{traffic}\n[measure]\nwindow = \"1 ms\"\n")
}

#[test]
fn a_scheme_with_credits_gets_their_queues_and_symmetric_routes() {
    let spec = checked(&credited("")).unwrap();
    let network = spec.network();
    let [data, credit] = &network.classes[..] else { panic!("two classes: {:?}", network.classes) };
    assert_eq!((data.shaper, credit.name.as_str(), credit.urgent), (None, "credit", true));
    let shaper = credit.shaper.expect("credits are shaped");
    // A full packet with the number of its credit, and a credit of 84 B.
    let largest = f64::from(network.packet.payload) + f64::from(network.packet.header) + 4.0;
    assert!((shaper.share - 84.0 / (84.0 + largest)).abs() < 1e-12, "{shaper:?}");
    assert_eq!((shaper.burst, shaper.limit), (168, 672));
    assert!(network.symmetric && spec.warnings().is_empty(), "{:?}", spec.warnings());
    assert_eq!(spec.traffics()[0].credit_class, 2);
    // What the spec says goes before; the rest stays.
    let spec = checked(&credited("credit_queues = { share = 0.04, queue = \"1 KB\" }\nrouting = \"ecmp\"")).unwrap();
    let shaper = spec.network().classes[1].shaper.unwrap();
    assert_eq!((shaper.share, shaper.burst, shaper.limit), (0.04, 168, 1000));
    assert!(!spec.network().symmetric);
    assert!(spec.warnings().join("\n").contains("expresspass is meant for symmetric routes: credits make room"));
    // Other schemes have neither.
    let text = credited("credit_queues = { burst = \"200 B\" }").replace("expresspass", "dcqcn");
    let spec = checked(&text).unwrap();
    assert!(spec.network().classes.len() == 1 && !spec.network().symmetric);
    assert!(spec.warnings().join("\n").contains("network.credit_queues has no effect"));
}

/// A leaf-spine network with these keys, and one traffic of this scheme.
fn balanced(network: &str, scheme: &str) -> String {
    let of =
        "topology = { kind = \"leaf-spine\", leaves = 2, hosts = 2, spines = 2, link = \"10 Gbps\", delay = \"1 us\" }";
    let star = "topology = { kind = \"star\", hosts = 3, link = \"10 Gbps\", delay = \"5 us\" }";
    credited(network).replace(star, of).replace("\"expresspass\"", scheme)
}

#[test]
fn load_balancing() {
    let of = |network: &str| {
        let spec = checked(&balanced(network, "\"dcqcn\"")).unwrap();
        (spec.network().balancing.clone(), spec.document().network.flowlet_gap)
    };
    assert!(matches!(of(""), (Balancing::FlowHash, None)));
    assert!(matches!(of("balancing = \"random\""), (Balancing::Random, None)));
    assert!(matches!(of("balancing = \"round-robin\""), (Balancing::RoundRobin, None)));
    assert!(matches!(of("balancing = \"least-queue\""), (Balancing::LeastQueue, None)));
    let (policy, filled_in) = of("balancing = \"flowlets\"");
    assert!(matches!(policy, Balancing::Flowlets { gap } if gap == Time::from_us(50)), "{policy:?}");
    assert_eq!(filled_in, Some(Time::from_us(50)));
    let (policy, _) = of("balancing = \"flowlets\"\nflowlet_gap = \"7 us\"");
    assert!(matches!(policy, Balancing::Flowlets { gap } if gap == Time::from_us(7)), "{policy:?}");
}

#[test]
fn senders_that_choose_paths() {
    let of = |network: &str| {
        let spec = checked(&balanced(network, "\"dcqcn\"")).unwrap();
        (spec.network().balancing.clone(), spec.traffics()[0].spraying.clone(), spec.document().network.paths)
    };
    for (id, _) in PathsKind::NAMES {
        let kind = PathsKind::named(id).unwrap();
        let (policy, spraying, filled_in) = of(&format!("balancing = \"{id}\""));
        assert!(matches!(&policy, Balancing::Senders(of) if *of == Spraying::by(kind, 128)), "{policy:?}");
        assert_eq!((spraying, filled_in), (Some(Spraying::by(kind, 128)), Some(128)));
    }
    for paths in [1, 65_536] {
        let (_, spraying, _) = of(&format!("balancing = \"reps\"\npaths = {paths}"));
        assert_eq!(spraying, Some(Spraying::by(PathsKind::Reps, paths)));
    }
    let (_, spraying, filled_in) = of("balancing = \"random\"");
    assert_eq!((spraying, filled_in), (None, None));
}

#[test]
fn trimming() {
    let of = |network: &str| checked(&balanced(network, "\"nscc\"")).map(|spec| spec.network().trimming);
    assert_eq!(of("").unwrap(), None);
    assert_eq!(of("trimming = {}").unwrap(), Some(fanin_fabric::Trimming::default()));
    let given = of("trimming = { size = \"100 B\", headers = \"2 KB\" }").unwrap();
    let drawn = of("trimming = { cuts = \"either\", weight = 10 }").unwrap().unwrap();
    assert_eq!((drawn.either, drawn.weight), (true, Some(10)));
    assert_eq!(given, Some(fanin_fabric::Trimming { size: 100, headers: 2_000, ..Default::default() }));
    let refused = |network: &str, parts: &[&str]| {
        let told = of(network).unwrap_err().to_string();
        assert!(parts.iter().all(|part| told.contains(part)), "{told}");
    };
    for size in ["0 B", "10 B", "64 KB"] {
        let parts = ["network.trimming.size", size, "at least a packet's headers", "less than a packet"];
        refused(&format!("trimming = {{ size = \"{size}\" }}"), &parts);
    }
    refused("trimming = { weight = 0 }", &["network.trimming.weight", "no data would ever leave", "like 10"]);
    // An ACK that finds another one would never get through.
    refused("trimming = { headers = \"100 B\" }", &["network.trimming.headers", "100 B is less than a packet"]);
    let text = balanced("trimming = {}", "\"nscc\"");
    for buffer in ["{ credits = \"per-link\" }", "{ policy = \"unlimited\" }"] {
        let text = text.replace("{ policy = \"lossy\", per_port = \"150 KB\" }", buffer);
        let told = checked(&text).unwrap_err().to_string();
        assert!(told.contains("network.trimming: with this network.buffer every packet has room"), "{buffer}: {told}");
    }
}

#[test]
fn marks_with_last_bits_need_packets_that_are_still_there_and_no_capture() {
    let marking = "marking = { kind = \"step\", above = \"20 KB\", at = \"last-bit\" }";
    let text = balanced(marking, "\"dcqcn\"");
    let told = checked(&text).unwrap_err().to_string();
    assert!(told.contains("network.release: packets leave the buffer before marking"), "{told}");
    let text = balanced(&format!("{marking}\nrelease = \"last-bit\""), "\"dcqcn\"");
    assert_eq!(checked(&text).unwrap().network().release, fanin_fabric::Release::LastBit);
    let told = checked(&format!("{text}\n[measure.capture]\nlinks = \"all\"\n")).unwrap_err().to_string();
    assert!(told.contains("measure.capture: captures have packets as they begin to leave"), "{told}");
}

#[test]
fn a_scheme_that_needs_trimming_says_what_is_missing() {
    let text = |network: &str, traffic: &str| {
        balanced(network, "\"ndp\"").replace("\"ndp\"\n", &format!("\"ndp\"\n{traffic}\n"))
    };
    let (trims, unordered) = ("trimming = {}", "rdma = { recovery = \"unordered\" }");
    assert!(checked(&text(trims, unordered)).is_ok());
    let refused = |text: &str, told: &str, other: &str| {
        let shown = checked(text).expect_err("impossible").to_string();
        assert!(shown.contains(told) && !shown.contains(other), "{shown}");
    };
    let none = "traffic[0].scheme: ndp goes by the headers of packets that switches trim, and those of this network \
                trim none; write network.trimming = {}";
    refused(&text("", unordered), none, "recovery");
    let order = "traffic[0].rdma.recovery: ndp needs an endpoint that takes packets in any order and asks for those \
                 that were trimmed; write recovery = \"unordered\"";
    refused(&text(trims, ""), order, "network.trimming");
    // PFC keeps what would be trimmed.
    let lossless = text(trims, unordered).replace("policy = \"lossy\"", "policy = \"lossless\"");
    let paused =
        "ndp goes by the headers of packets that switches trim, and of a lossless class (\"data\") they trim none";
    refused(&lossless, paused, "recovery");
}

#[test]
fn impossible_load_balancing() {
    let refused = |network: &str, scheme: &str, parts: &[&str]| {
        let shown = checked(&balanced(network, scheme)).expect_err("impossible").to_string();
        parts.iter().for_each(|part| assert!(shown.contains(part), "{part:?} is not in {shown}"));
    };
    let dcqcn = "\"dcqcn\"";
    let both = ["network.balancing", "network.routing", "\"flow-hash\""];
    refused("routing = \"symmetric\"\nbalancing = \"random\"", dcqcn, &both);
    refused("balancing = \"least-queue\"", "\"expresspass\"", &both);
    assert!(checked(&balanced("routing = \"ecmp\"\nbalancing = \"random\"", "\"expresspass\"")).is_ok());
    refused("balancing = \"random\"", "\"dart\"", &["network.balancing", "traffic.scheme", "deflects"]);
    refused("flowlet_gap = \"7 us\"", dcqcn, &["network.flowlet_gap", "network.balancing = \"flowlets\""]);
    let gap = "balancing = \"flowlets\"\nflowlet_gap = \"0 us\"";
    refused(gap, dcqcn, &["network.flowlet_gap", "every packet is a flowlet"]);
    let spraying = "balancing = \"reps\"";
    for paths in ["0", "100", "131072"] {
        let parts = ["network.paths", paths, "write a power of two from 1 to 65536"];
        refused(&format!("{spraying}\npaths = {paths}"), dcqcn, &parts);
    }
    refused("paths = 128", dcqcn, &["network.paths", "senders choose no paths", "\"oblivious\""]);
    refused("balancing = \"random\"\npaths = 128", dcqcn, &["network.paths", "senders choose no paths"]);
    refused(&format!("routing = \"symmetric\"\n{spraying}"), dcqcn, &both);
    refused(spraying, "\"dart\"", &["network.balancing", "traffic.scheme", "deflects"]);
    refused(spraying, "\"rcp\"", &["traffic[0].scheme", "switches write into the field of \"rcp\""]);
    let tcp = checked(&balanced(spraying, "\"dctcp\"")).unwrap();
    assert_eq!(tcp.traffics()[0].spraying, None, "TCP goes by flow");
    refused("balancing = \"widest\"", dcqcn, &["network.balancing", "least-queue"]);
    let loading = "one of your own is loaded first, by --load FILE.py:CLASS or fanin.load_scheme";
    refused("balancing = \"own\"", dcqcn, &["network.balancing", "round-robin", loading]);
    refused("discipline = \"own\"", dcqcn, &["network.discipline", "fifo", loading]);
    refused("balancing = { id = \"own\" }", dcqcn, &["network.balancing", "is not valid here"]);
}

#[test]
fn impossible_credits() {
    let refused = |network: &str, parts: &[&str]| {
        let shown = checked(&credited(network)).expect_err("impossible").to_string();
        parts.iter().for_each(|part| assert!(shown.contains(part), "{part:?} is not in {shown}"));
    };
    refused("credit_queues = { share = 0.0 }", &["network.credit_queues.share", "above 0 and at most 1"]);
    refused("credit_queues = { queue = \"83 B\" }", &["network.credit_queues.queue", "at least one credit, 84 B"]);
    refused("credit_queues = { burst = \"83 B\" }", &["network.credit_queues.burst", "at least one credit, 84 B"]);
    refused("classes = [{ name = \"credit\" }]", &["network.classes", "the class of credits"]);
    refused("routing = \"widest\"", &["routing"]);
    let seven: Vec<String> = (0..7).map(|n| format!("{{ name = \"c{n}\" }}")).collect();
    refused(&format!("classes = [{}]", seven.join(", ")), &["with that of credits there are 8 classes"]);
    let scheme = "{ id = \"expresspass\", credit_queue = 840 }";
    let pattern = "{ kind = \"long\", count = 1 }";
    let other = format!("\n[[traffic]]\nname = \"b\"\nscheme = {scheme}\npattern = {pattern}\n[measure]");
    let shown = checked(&credited("").replace("\n[measure]", &other)).unwrap_err().to_string();
    assert!(shown.contains("traffic[1].scheme") && shown.contains("share one queue at a port"), "{shown}");
}
