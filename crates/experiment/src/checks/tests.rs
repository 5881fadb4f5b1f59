//! What each check of a spec says, with numbers worked out by hand. The tests of the command line have every door.

use crate::Spec;
use std::path::Path;

/// The warnings of a spec with this network and these keys of its traffic.
fn warnings(network: &str, traffic: &str) -> Vec<String> {
    let text = format!(
        "spec_version = 1\nname = \"x\"\n[network]\n{network}\n[[traffic]]\nname = \"t\"\npattern = {{ kind = \
         \"long\", count = 1 }}\n{traffic}\n[measure]\nwindow = \"10 ms\"\n"
    );
    let spec = Spec::from_toml(&text, "x.toml", Path::new("")).unwrap_or_else(|e| panic!("{e}"));
    spec.check().unwrap_or_else(|e| panic!("{e}")).warnings().to_vec()
}

fn star(link: &str, more: &str) -> String {
    format!("topology = {{ kind = \"star\", hosts = 3, link = \"{link}\", delay = \"1 us\" }}\n{more}")
}

const POOL: &str = "buffer = { policy = \"lossless\", pool = \"32 MB\" }";

#[test]
fn the_copied_law_is_warned_of_rates_without_a_number() {
    for preset in ["hpcc-ns3", "hpcc-ns3-nowin"] {
        let scheme = format!("scheme = \"{preset}\"");
        assert_eq!(
            warnings(&star("800 Gbps", POOL), &scheme),
            [format!(
                "traffic[0]: its telemetry knows links of 25, 50, 100, 200 and 400 Gb/s only, and those of 800 \
                 Gb/s are taken by {preset} for 25 Gb/s; hpcc is the law for any rate"
            )]
        );
        for known in ["25 Gbps", "50 Gbps", "100 Gbps", "200 Gbps", "400 Gbps"] {
            assert_eq!(warnings(&star(known, POOL), &scheme), [""; 0]);
        }
        // It is not cut to whole gigabits.
        assert_eq!(warnings(&star("100500 Mbps", POOL), &scheme).len(), 1);
    }
    assert_eq!(warnings(&star("800 Gbps", POOL), "scheme = \"hpcc\""), [""; 0]);
}

#[test]
fn ports_that_the_list_of_markings_forgets_are_named() {
    let tree = "topology = { kind = \"leaf-spine\", leaves = 2, hosts = 4, spines = 1, link = \"100 Gbps\", \
                delay = \"1 us\", fabric_link = \"200 Gbps\" }\nbuffer = { policy = \"lossless\", pool = \"16 MB\" }\n";
    let red = "{ kind = \"red\", min = \"400 KB\", max = \"1600 KB\", probability = 0.2 }";
    let listed = |more: &str| {
        let list = format!("marking_by_rate = [{{ rate = \"100 Gbps\", marking = {red} }}{more}]\n");
        warnings(&format!("{tree}{list}"), "scheme = \"dcqcn\"")
    };
    let told = listed("");
    assert_eq!(told.len(), 1);
    assert!(
        told[0].contains("dcqcn slows down by congestion marks, and ports of 200 Gb/s never mark (class \"data\")"),
        "{told:?}"
    );
    // What is listed is not forgotten, and neither is what another marking covers.
    assert_eq!(listed(", { rate = \"200 Gbps\", marking = { kind = \"off\" } }"), [""; 0]);
    assert_eq!(warnings(&format!("{tree}marking = {red}\n"), "scheme = \"dcqcn\""), [""; 0]);
    let list = format!("{tree}marking_by_rate = [{{ rate = \"100 Gbps\", marking = {red} }}]\n");
    assert_eq!(warnings(&list, "scheme = \"timely\""), [""; 0]);
}

#[test]
fn thresholds_beyond_what_pfc_allows_are_told() {
    // Two ports send to the third. Each is paused at 100 - 20 KB, and the queue has 160 KB then.
    let ports = |above: u64| {
        let buffer = "buffer = { policy = \"lossless\", per_port = \"100 KB\", headroom = \"20 KB\" }";
        let marking = format!("marking = {{ kind = \"step\", above = \"{above} B\" }}");
        warnings(&star("10 Gbps", &format!("{buffer}\n{marking}")), "scheme = \"dcqcn\"")
    };
    let told = ports(160_000);
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with("network.marking: dcqcn slows down by congestion marks, and at ports of 10 Gb/s PFC"));
    assert!(
        told[0].contains("a queue has up to 160 KB when an ingress is paused at the latest, and marks begin above 160")
    );
    assert_eq!(ports(159_999), [""; 0]);
    // T = 0.5 (940 KB - 2 T) is 235 KB for each of two.
    let pool = |above: u64| {
        let buffer = "buffer = { policy = \"lossless\", pool = \"1 MB\", pfc_alpha = 0.5, headroom = \"20 KB\" }";
        let marking =
            format!("marking = {{ kind = \"red\", min = \"{above} B\", max = \"600 KB\", probability = 0.1 }}");
        warnings(&star("10 Gbps", &format!("{buffer}\n{marking}")), "scheme = \"dcqcn\"")
    };
    assert!(pool(470_000)[0].contains("up to 470 KB when"), "{:?}", pool(470_000));
    assert_eq!(pool(469_999), [""; 0]);
}

#[test]
fn the_headroom_warning_names_the_link_that_needs_most() {
    let link = |host: &str, rate: &str, delay: &str| {
        format!("{{ between = [\"{host}\", \"s\"], rate = \"{rate} Gbps\", delay = \"{delay} us\" }}")
    };
    let links = [link("a", "10", "1"), link("b", "100", "5"), link("c", "10", "2")].join(", ");
    let hosts = "hosts = [\"a\", \"b\", \"c\"], switches = [\"s\"]";
    let graph = format!("topology = {{ kind = \"graph\", {hosts}, links = [{links}] }}\n");
    let told = warnings(
        &format!("{graph}buffer = {{ policy = \"lossless\", pool = \"4 MB\", headroom = \"8 KB\" }}"),
        "scheme = \"none\"",
    );
    let [told] = &told[..] else { panic!("{told:?}") };
    // 10 us of 100 Gb/s are 125 KB, and a packet, a frame and two packets more come in addition.
    assert!(
        told.starts_with("network.buffer.headroom = 8 KB may lose packets of lossless classes: 2 of 3 links need more")
    );
    assert!(told.contains("the one between \"b\" and \"s\", 129."), "{told}");
}

#[test]
fn spraying_over_go_back_n_is_warned_of_where_there_are_several_paths() {
    let tree = |spines: u32, policy: &str| {
        format!(
            "topology = {{ kind = \"leaf-spine\", leaves = 2, hosts = 2, spines = {spines}, link = \"100 Gbps\", \
             delay = \"1 us\", fabric_link = \"100 Gbps\" }}\n{POOL}\nbalancing = \"{policy}\""
        )
    };
    for policy in ["random", "round-robin", "least-queue", "oblivious", "reps"] {
        let told = warnings(&tree(2, policy), "scheme = \"none\"");
        let [told] = &told[..] else { panic!("{told:?}") };
        assert!(
            told.starts_with(&format!("network.balancing = \"{policy}\" sends packets of a flow over several paths"))
        );
        assert!(told.contains("recovery = \"go-back-n\" (traffic \"t\")"), "{told}");
        for other in ["selective-repeat", "irn"] {
            let traffic = format!("scheme = \"none\"\nrdma = {{ recovery = \"{other}\" }}");
            assert_eq!(warnings(&tree(2, policy), &traffic), [""; 0]);
        }
        assert_eq!(warnings(&tree(1, policy), "scheme = \"none\""), [""; 0], "one path has one order");
        assert_eq!(warnings(&tree(2, policy), "scheme = \"newreno\""), [""; 0], "TCP has its own rules");
    }
    for policy in ["flow-hash", "flowlets"] {
        assert_eq!(warnings(&tree(2, policy), "scheme = \"none\""), [""; 0]);
    }
}

#[test]
fn failures_after_the_window_are_told() {
    let links = |from: &str| {
        let down = format!("links = [{{ between = [\"h0\", \"sw0\"], down = [[\"{from}\", \"30 ms\"]] }}]");
        warnings(&star("10 Gbps", &format!("{POOL}\n{down}")), "scheme = \"none\"")
    };
    let told = links("10 ms");
    let [told] = &told[..] else { panic!("{told:?}") };
    assert!(told.starts_with("a failure has no effect, since the measured window ends at 10 ms"), "{told}");
    assert!(told.ends_with("the link between \"h0\" and \"sw0\" at 10 ms"), "{told}");
    assert_eq!(links("9999 us"), [""; 0]);
}
