//! Errors of networks: topologies, buffers, marking, shares.

use super::*;
use fanin_units::{NodeId, Rate};

#[test]
fn impossible_networks() {
    refused("hosts = 4,", "hosts = 0,", "network.topology.hosts", &["is 0", "at least 1"]);
    refused("\"10 Gbps\"", "\"0 Gbps\"", "network.topology.link", &["is 0", "above 0"]);
    refused("delay = \"5 us\"", "delay = \"5 s\"", "network.topology.delay", &["is 5 s", "at most 1 s"]);
    refused("uplinks = 2", "uplinks = 3, aggs = 2", "network.topology.uplinks", &["is 3", "a multiple of aggs"]);
    refused("pods = 2", "pods = 4000000", "network.topology", &["pods, tors", "smaller"]);
    refused("payload = \"1460 B\"", "payload = \"0 B\"", "network.packet.payload", &["0 B", "1 to 65535 B"]);
    refused("payload = \"1460 B\"", "payload = \"65500 B\"", "network.packet.payload", &["65540 B", "at most 65535 B"]);
    refused("ack = \"64 B\"", "ack = \"1 MB\"", "network.packet.ack", &["1 to 65535 B"]);
    refused(
        "capacity = \"64 KB\"",
        "capacity = \"22 KB\"",
        "network.host_queue.mark_above",
        &["22 KB", "below the capacity"],
    );
    refused(
        "capacity = \"64 KB\", mark_above = \"22.5 KB\"",
        "capacity = \"1 KB\"",
        "network.host_queue.capacity",
        &["1.5 KB"],
    );
    refused_at(
        "[[traffic]]\nname = \"queries\"",
        "[[network.classes]]\nname = \"data\" # again\n[[traffic]]\nname = \"queries\"",
        "again",
        "network.classes[2].name",
        &["used twice"],
    );
    refused("0.001", "1.0", "network.links[0].error_rate", &["1 is not a probability", "below 1"]);
    refused("[\"3 ms\", \"4 ms\"]", "[\"2 ms\", \"4 ms\"]", "network.links[0].down[1]", &["2 ms", "with time between"]);
    refused("[\"3 ms\", \"4 ms\"]", "[\"4 ms\", \"4 ms\"]", "network.links[0].down[1]", &["later than its start"]);
    refused(
        "[\"tor0\", \"h3\"]",
        "[\"tor9\", \"h3\"]",
        "network.links[0].between[0]",
        &["no node \"tor9\"", "did you mean \"tor"],
    );
    refused(
        "[\"tor0\", \"h3\"]",
        "[\"tor1\", \"h3\"]",
        "network.links[0].between",
        &["there is no link between \"tor1\" and \"h3\""],
    );
}

#[test]
fn slow_links() {
    let of = |links: &str| {
        let text = format!(
            "spec_version = 1\nname = \"x\"\n[network]\ntopology = {{ kind = \"leaf-spine\", leaves = 2, hosts = 2, \
             spines = 2, link = \"10 Gbps\", delay = \"1 us\" }}\nbuffer = {{ policy = \"unlimited\" \
             }}\nlinks = {links}\n[[traffic]]\nname = \"t\"\nscheme = \"none\"\npattern = {{ kind = \
             \"permutation\" }}\nsize = {{ fixed = \"1 B\" }}\n[measure]\nwindow = \"1 ms\"\n"
        );
        checked(&text)
    };
    let rates = |links: &str| {
        let spec = of(links).unwrap();
        // What is resolved says the same again.
        let again = checked(&spec.to_toml()).unwrap();
        assert_eq!(again.network().graph, spec.network().graph);
        let graph = &spec.network().graph;
        let slow = graph.links.iter().filter(|link| link.rate != Rate::from_gbps(10));
        let name = |node: NodeId| graph.names[node.ix()].clone();
        slow.map(|link| (name(link.a), name(link.b), link.rate.as_bps())).collect::<Vec<_>>()
    };
    let ends = |a: &str, b: &str, bps| (a.to_string(), b.to_string(), bps);
    let one = [ends("leaf0", "spine1", 2_500_000_000)];
    assert_eq!(rates("[{ between = [\"spine1\", \"leaf0\"], speed = 0.25 }]"), one);
    let all = [ends("leaf0", "spine1", 1_000_000_000), ends("leaf1", "spine1", 1_000_000_000)];
    assert_eq!(rates("[{ at = \"spine1\", speed = 0.1 }]"), all);
    assert!(rates("[{ at = \"spine1\", speed = 1 }]").is_empty());
    // Losses and outages of all links of a switch, too.
    let down = of("[{ at = \"spine0\", error_rate = 0.5, down = [[\"1 us\", \"2 us\"]] }]").unwrap();
    let hit = down.network().graph.links.iter().filter(|link| link.error_rate == 0.5 && link.outages.len() == 1);
    assert_eq!(hit.count(), 2);
    let refused = |links: &str, parts: &[&str]| {
        let told = of(links).unwrap_err().to_string();
        assert!(parts.iter().all(|part| told.contains(part)), "{told}");
    };
    for speed in ["0", "-1", "1.5"] {
        let parts = ["x.toml:6: network.links[0].speed", "above 0 and at most 1, like 0.25"];
        refused(&format!("[{{ at = \"spine1\", speed = {speed} }}]"), &parts);
    }
    refused("[{ at = \"spin1\" }]", &["network.links[0].at: there is no node \"spin1\"", "did you mean \"spine1\""]);
    refused("[{ speed = 0.5 }]", &["network.links[0]: it names no link", "at = \"spine1\" for all links of one"]);
    let both = "[{ at = \"spine1\", between = [\"spine1\", \"leaf0\"] }]";
    refused(both, &["network.links[0]: it has both `between` and `at`"]);
    let twice = "[{ at = \"spine1\" }, { between = [\"spine1\", \"leaf0\"], speed = 0.5 }]";
    let links = "network.links[1].between: the links between \"spine1\" and \"leaf0\" are also changed in ";
    refused(twice, &[links, "network.links[0]; change each link in one entry alone"]);
}

#[test]
fn hosts_that_cannot_reach_each_other() {
    let graph = "topology = { kind = \"graph\", hosts = [\"a\", \"b\"], switches = [\"s\", \"t\"], links = [\n{ \
                 between = [\"a\", \"s\"], rate = \"1 Gbps\", delay = \"1 us\" },\n{ between = [\"b\", \"t\"], rate = \
                 \"1 Gbps\", delay = \"1 us\" }] }\n";
    let text = format!(
        "spec_version = 1\nname = \"x\"\n[network]\n{graph}buffer = {{ policy = \"unlimited\" }}\n[[traffic]]\nname = \
         \"t\"\nscheme = \"none\"\npattern = {{ kind = \"permutation\" }}\nsize = {{ fixed = \"1 B\" \
         }}\n[measure]\nwindow = \"1 ms\"\n"
    );
    let shown = checked(&text).unwrap_err().to_string();
    assert!(shown.contains("x.toml:4: network.topology.links: no way leads from host \"a\" to host \"b\""), "{shown}");
    let shown = checked(&text.replace("\"b\", \"t\"]", "\"b\", \"u\"]")).unwrap_err().to_string();
    assert!(shown.contains("x.toml:6: network.topology.links[1].between[1]: there is no node \"u\""), "{shown}");
}

#[test]
fn buffers_too_small_for_what_they_promise() {
    // 10 Gb/s and 5 us: 14,064 B under way and two packets of 1,500 B less one byte (see fabric's pfc.rs).
    refused("\"225 KB\"", "\"17.063 KB\"", "network.buffer.per_port", &["needs 17.063 KB of headroom"]);
    let enough = EXAMPLE.replace("225 KB", "17.064 KB");
    assert!(checked(&enough).is_ok());
    let pool = "{ pool = \"66 KB\"";
    // A ToR has 6 ports, an aggregation switch 4, for one lossless class.
    refused("{ per_port = \"225 KB\"", pool, "network.buffer.pool", &["102378 B of headroom", "more buffer"]);
    assert!(checked(&EXAMPLE.replace("{ per_port = \"225 KB\"", "{ pool = \"500 KB\"")).is_ok());
    refused("\"225 KB\"", "\"1 KB\"", "network.buffer.per_port", &["1 KB is not a possible buffer size", "1.5 KB"]);
    let pool = "{ pool = \"1 MB\", pfc_alpha = 0.0";
    refused("{ per_port = \"225 KB\"", pool, "network.buffer.pfc_alpha", &["0 is not a possible factor", "like 0.125"]);
}

#[test]
fn thresholds_that_no_queue_reaches() {
    // The egress of a lossless class may hold what all 6 ports of a ToR have: 6 x 225 KB.
    let key = "network.marking.above";
    refused(
        "above = \"22.5 KB\", at",
        "above = \"1350 KB\", at",
        key,
        &["a threshold of 1.35 MB never marks", "lower"],
    );
    assert!(checked(&EXAMPLE.replace("above = \"22.5 KB\", at", "above = \"1349 KB\", at")).is_ok());
    let red = "network.classes[1].marking";
    refused("min = \"5 KB\"", "min = \"300 KB\"", &format!("{red}.min"), &["is above max = 200 KB"]);
    refused(
        "min = \"5 KB\", max = \"200 KB\"",
        "min = \"225 KB\", max = \"300 KB\"",
        &format!("{red}.min"),
        &["never marks"],
    );
    refused("probability = 0.01", "probability = 1.5", &format!("{red}.probability"), &["1.5", "0 to 1"]);
    // Without classes of its own the key is the network's.
    let text = "spec_version = 1\nname = \"x\"\n[network]\ntopology = { kind = \"star\", hosts = 2, link = \"1 Gbps\", \
                delay = \"1 us\" }\nbuffer = { pool = \"100 KB\", policy = \"lossy\" }\nmarking = { kind = \"step\", \
                above = \"50 KB\" }\n[[traffic]]\nname = \"t\"\nscheme = \"none\"\npattern = { kind = \"permutation\" \
                }\nsize = { fixed = \"1 B\" }\n[measure]\nwindow = \"1 ms\"\n";
    let shown = checked(text).unwrap_err().to_string();
    assert!(
        shown.starts_with("x.toml:6: network.marking.above: no queue of class \"data\" holds more than 50 KB"),
        "{shown}"
    );
    assert!(checked(&text.replace("above = \"50 KB\"", "above = \"49 KB\"")).is_ok());
}

#[test]
fn impossible_markings_by_rate() {
    let list = "[{ rate = \"10000 Mbps\", marking = { kind = \"off\" } }]";
    let of = "network.marking_by_rate[0]";
    let known = ["no link has the rate 25 Gbps", "the rates are 10 Gbps"];
    refused("rate = \"10000 Mbps\"", "rate = \"25 Gbps\"", &format!("{of}.rate"), &known);
    let twice = list.replace("[{", "[{ rate = \"10000 Mbps\", marking = { kind = \"off\" } }, {");
    refused(list, &twice, "network.marking_by_rate[1].rate", &["listed twice"]);
    let high = list.replace("\"off\"", "\"step\", above = \"9 MB\"");
    refused(list, &high, &format!("{of}.marking.above"), &["a threshold of 9 MB never marks", "lower"]);
    // A class with a marking of its own has a list of its own.
    let own = "lossless = false\nmarking_by_rate = [{ rate = \"1 Gbps\", marking = { kind = \"off\" } }]";
    let at = |text: &str| line_of(text, "marking_by_rate = [{ rate = \"1 Gbps\"");
    refused_on(
        "lossless = false",
        own,
        at,
        "network.classes[1].marking_by_rate[0].rate",
        &["no link has the rate 1 Gbps"],
    );
    let built = checked(EXAMPLE).unwrap().build();
    let listed: Vec<usize> = built.network.classes.iter().map(|c| c.marking_by_rate.len()).collect();
    assert_eq!(listed, [1, 0]);
}

#[test]
fn impossible_buffers_by_rate() {
    let of = "network.buffer.by_rate[0]";
    let line = EXAMPLE.lines().find(|line| line.starts_with("buffer = ")).expect("the example has a buffer");
    let with = |list: &str| line.replacen(" }", &format!(", by_rate = [{list}] }}"), 1);
    let known = ["no link has the rate 25 Gbps", "the rates are 10 Gbps"];
    refused(line, &with("{ rate = \"25 Gbps\", per_port = \"90 KB\" }"), &format!("{of}.rate"), &known);
    let twice = with("{ rate = \"10 Gbps\", per_port = \"200 KB\" }, { rate = \"10 Gbps\", per_port = \"300 KB\" }");
    refused(line, &twice, "network.buffer.by_rate[1].rate", &["10 Gbps is listed twice"]);
    let small = with("{ rate = \"10 Gbps\", per_port = \"10 B\" }");
    refused(line, &small, &format!("{of}.per_port"), &["10 B is not a possible buffer size"]);
    let short = with("{ rate = \"10 Gbps\", per_port = \"15 KB\" }");
    refused(line, &short, &format!("{of}.per_port"), &["an ingress port has 15 KB", "of headroom alone"]);
    // Of a pool.
    let pool = |list: &str| format!("buffer = {{ pool = \"9 MB\", policy = \"lossless\", by_rate = [{list}] }}");
    let factor = pool("{ rate = \"10 Gbps\", pfc_alpha = 0.0 }");
    refused(line, &factor, &format!("{of}.pfc_alpha"), &["0 is not a possible factor", "like 0.125"]);
    refused(line, &pool("{ rate = \"10 Gbps\" }"), of, &["it changes nothing", "give alpha, pfc_alpha, or both"]);
}

/// The example's second class with another marking.
#[track_caller]
fn refused_marking(marking: &str, key: &str, tells: &[&str]) {
    let red = "{ kind = \"red\", min = \"5 KB\", max = \"200 KB\", probability = 0.01 }";
    refused(red, marking, &format!("network.classes[1].marking.{key}"), tells);
}

#[test]
fn impossible_priorities_and_weights() {
    let refused = |key: &str, value: &str, tells: &[&str]| {
        let (to, at) = (format!("lossless = false\n{key} = {value}"), format!("{key} = {value}"));
        refused_at("lossless = false", &to, &at, &format!("network.classes[1].{key}"), tells);
    };
    for wrong in ["0", "-5", "1001", "99999999999"] {
        refused("weight", wrong, &[&format!("{wrong} is out of range"), "write a whole number from 1 to 1000"]);
    }
    for wrong in ["0", "-1", "8", "300"] {
        refused("priority", wrong, &[&format!("{wrong} is out of range"), "write a whole number from 1 to 7"]);
    }
    refused("weight", "1.5", &["1.5", "a whole number"]);
    refused("priority", "\"high\"", &["\"high\"", "a whole number"]);
}

#[test]
fn impossible_queue_management() {
    let red = |rest: &str| format!("{{ kind = \"red-average\", {rest} }}");
    refused_marking(&red("min = \"50 KB\", max = \"50 KB\""), "min", &["not below max = 50 KB", "larger max"]);
    refused_marking(
        &red("min = \"225 KB\""),
        "min",
        &["holds more than 225 KB: a threshold of 225 KB never marks", "lower"],
    );
    refused_marking(&red("min = \"5 KB\", probability = 0.0"), "probability", &["0 is not possible", "like 0.1"]);
    refused_marking(&red("min = \"5 KB\", weight = 1.5"), "weight", &["1.5 is not possible", "like 0.002"]);
    refused_marking(
        &red("min = \"5 KB\", mean_packet = \"0 B\", idle_packet = \"9 B\""),
        "mean_packet",
        &["1 to 65535 B"],
    );
    refused_marking(
        &red("min = \"5 KB\", idle_packet = \"1 MB\""),
        "idle_packet",
        &["this is not a possible packet size"],
    );
    let pi = |rest: &str| format!("{{ kind = \"pi\", {rest} }}");
    refused_marking(&pi("target = \"225 KB\""), "target", &["a threshold of 225 KB never marks", "lower the target"]);
    refused_marking(&pi("a = 0.0, b = 0.0"), "a", &["0 is not a possible gain", "like 1.822e-5"]);
    refused_marking(&pi("b = 0.1"), "b", &["0.1 is not below a", "a constant deviation"]);
    refused_marking(&pi("every = \"1 ps\""), "every", &["1 ps is too short", "at least 1 ns"]);
    refused_marking(
        &pi("mean_packet = \"1 MB\", target = \"1 KB\""),
        "mean_packet",
        &["this is not a possible packet size"],
    );
}

#[test]
fn credits_exclude_what_belongs_to_pauses_and_losses() {
    let buffer = "{ per_port = \"225 KB\", policy = \"lossless\" }";
    let credits = |keys: &str| format!("{{ credits = \"per-link\"{keys} }}");
    let of = |text: &str| checked(text).unwrap_err().to_string();
    let base = EXAMPLE.replace("lossless = false", "").replace(buffer, &credits(""));
    assert!(checked(&base).is_ok(), "{}", of(&base));
    for (keys, why) in [
        (", headroom = \"10 KB\"", "headroom: credits need none: a packet is sent only where it fits; leave it out"),
        (", xon_offset = \"3 KB\"", "xon_offset: it is PFC's, and with credits nothing is paused; leave it out"),
        (", alpha = 1.0", "alpha: a dynamic threshold is that of a pool; with credits each class has its own"),
        (", pfc_alpha = 1.0", "pfc_alpha: it is PFC's"),
        (", policy = \"lossy\"", "policy: with credits no class loses packets for lack of buffer; leave it out"),
    ] {
        let text = base.replace(&credits(""), &credits(keys));
        assert!(of(&text).contains(&format!("network.buffer.{why}")), "{}", of(&text));
    }
    let lossy = EXAMPLE.replace(buffer, &credits(""));
    assert!(of(&lossy).contains("network.classes[1].lossless: with credits a packet is sent only where it fits"));
    let bulk = |key: &str| EXAMPLE.replace("lossless = false", key).replace(buffer, &credits(""));
    assert!(
        of(&bulk("share = 0.5")).contains("network.classes[1].share: with credits each class has a buffer of its own")
    );
    let faulty = |fault: &str| format!("{base}\n[[network.faults]]\n{fault}\n");
    let slow = faulty("kind = \"slow-receiver\"\nhosts = [\"h0\"]\nrate = \"1 Gbps\"");
    let storm = faulty("kind = \"pause-storm\"\nhosts = [\"h0\"]");
    assert!(checked(&slow).is_ok(), "{}", of(&slow));
    assert!(of(&storm).contains("network.faults[0]: links with credits are not paused: who takes nothing returns no"));
    assert!(of(&bulk("alpha = 0.5")).contains("network.classes[1].alpha: only a pool has dynamic thresholds"));
    // A packet of 1,500 bytes has 24 blocks, 1,536 bytes.
    let size = |size: &str| base.replace("\"per-link\"", &format!("\"{size}\""));
    let small = of(&size("1535 B"));
    assert!(small.contains("network.buffer.credits: 1.472 KB is not a possible buffer size"), "{small}");
    let warned = checked(&size("1536 B")).unwrap().warnings().join("\n");
    assert!(warned.contains("to carry full packets at its rate, more than it has"), "{warned}");
    let far = base.replacen("delay = \"5 us\"", "delay = \"500 us\"", 1);
    let warned = checked(&far).unwrap().warnings().join("\n");
    assert!(warned.contains("to carry full packets at its rate, more than credits can tell"), "{warned}");
    assert!(checked(&base).unwrap().warnings().iter().all(|warning| !warning.contains("credits")));
}

#[test]
fn impossible_shares() {
    let bulk = "lossless = false";
    let with = |keys: &str| format!("{bulk}\n{keys}");
    let on = |keys: &str, key: &str, tells: &[&str]| {
        refused_at(bulk, &with(keys), keys, &format!("network.classes[1].{key}"), tells);
    };
    on("share = 0.0", "share", &["0 is not a possible share", "like 0.5"]);
    on("share = 1.5", "share", &["1.5 is not a possible share", "at most 1"]);
    on("share = 0.001", "share", &["0.001 of 225 KB is less than one packet of 1.5 KB", "larger share"]);
    on("share = 1.0", "share", &["leave less than one packet for the class that has none: \"data\"", "a share too"]);
    on("alpha = 0.5", "alpha", &["only a pool", "leave it out"]);
    let of = |text: &str| checked(text).unwrap_err().to_string();
    let both = EXAMPLE.replace(bulk, &with("share = 0.7")).replace("name = \"data\"", "name = \"data\"\nshare = 0.4");
    assert!(
        of(&both).contains("network.classes[1].share: the shares of all classes add up to 1.1; together"),
        "{}",
        of(&both)
    );
    let none = EXAMPLE
        .replace(bulk, &with("share = 0.7"))
        .replace("{ per_port = \"225 KB\", policy = \"lossless\" }", "{ policy = \"unlimited\" }");
    assert!(of(&none).contains("network.classes[1].share: an unlimited buffer cannot be divided"), "{}", of(&none));
    let pool = EXAMPLE.replace(bulk, &with("alpha = 0.0")).replace("per_port = \"225 KB\"", "pool = \"1 MB\"");
    assert!(of(&pool).contains("network.classes[1].alpha: 0 is not a possible factor"), "{}", of(&pool));
}

#[test]
fn shares_too_small_for_what_they_promise() {
    // Headroom of 17,063 B a port comes out of the class's own part: 0.05 of 225 KB are 11.25 KB.
    let data = "name = \"data\"";
    let on = |share: &str, key: &str, tells: &[&str]| {
        refused_at(data, &format!("{data}\nshare = {share}"), "share = 0.", key, tells);
    };
    let own = "network.classes[0].share";
    on("0.05", own, &["an ingress port has 11.25 KB for class \"data\"", "needs 17.063 KB of headroom"]);
    // The rest of the port for the lossy class limits its thresholds: 225 KB less 0.98 of it.
    let red = "network.classes[1].marking.min";
    let text = EXAMPLE.replace(data, &format!("{data}\nshare = 0.98"));
    let shown = checked(&text).unwrap_err().to_string();
    assert!(
        shown.contains(red) && shown.contains("holds more than 4.5 KB: a threshold of 5 KB never marks"),
        "{shown}"
    );
    // The same for a pool: 6 ports of a ToR need 102,378 B.
    let pool = |share: &str| {
        let text = EXAMPLE.replace("per_port = \"225 KB\"", "pool = \"1 MB\"");
        checked(&text.replace(data, &format!("{data}\nshare = {share}")))
    };
    let shown = pool("0.1").unwrap_err().to_string();
    assert!(shown.contains(own) && shown.contains("need 102378 B of headroom alone"), "{shown}");
    assert!(pool("0.2").is_ok());
    // Two lossless classes without a share have the rest in equal parts: 0.15 of 225 KB are 33.75 KB.
    let two = EXAMPLE.replace("lossless = false", "lossless = true");
    let rest = format!("{data}\n[[network.classes]]\nname = \"own\"\nlossless = false\nshare = 0.85");
    let shown = checked(&two.replace(data, &rest)).unwrap_err().to_string();
    let tells = "network.buffer.per_port: an ingress port has 16.875 KB for each of 2 lossless classes";
    assert!(shown.contains(tells), "{shown}");
    // A queue that settles below its threshold because of its own factor.
    let text = EXAMPLE.replace("per_port = \"225 KB\"", "pool = \"1 MB\"");
    let text = text.replace("lossless = false", "lossless = false\nalpha = 0.001");
    let shown = checked(&text).unwrap_err().to_string();
    assert!(shown.contains(red) && shown.contains("holds more than 999 B"), "{shown}");
}
