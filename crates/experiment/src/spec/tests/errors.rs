//! Every kind of error: its file, line and key, the problem and the correction.

use super::*;
use crate::Programs;
use fanin_cc::{
    Balancer, BalancerProgram, Balancing, Choice, Discipline, DisciplineProgram, Header, Queued, SwitchInfo, Verdict,
};
use std::sync::Arc;

/// The first line of the example that contains `part`.
fn line_of(text: &str, part: &str) -> u32 {
    text.lines().position(|line| line.contains(part)).unwrap_or_else(|| panic!("no {part}")) as u32 + 1
}

/// The example with one piece replaced is refused; the only problem is with `key`, on the line of `at`, and tells all
/// of `tells`.
#[track_caller]
fn refused_at(from: &str, to: &str, at: &str, key: &str, tells: &[&str]) {
    refused_on(from, to, |text| line_of(text, at), key, tells);
}

#[track_caller]
fn refused_on(from: &str, to: &str, line: impl Fn(&str) -> u32, key: &str, tells: &[&str]) {
    assert_eq!(EXAMPLE.matches(from).count(), 1, "{from} is there once");
    let text = EXAMPLE.replace(from, to);
    let problems = match checked(&text) {
        Ok(_) => panic!("{to} is not refused"),
        Err(problems) => problems,
    };
    let [problem] = problems.iter().collect::<Vec<_>>()[..] else { panic!("not one problem:\n{problems}") };
    assert_eq!((problem.file.as_str(), problem.key.as_str()), ("x.toml", key), "{problem}");
    assert_eq!(problem.line, Some(line(&text)), "{problem}");
    let shown = problem.to_string();
    for part in tells {
        assert!(shown.contains(part), "{part:?} is not in {shown}");
    }
    assert!(!problem.right.is_empty(), "{shown}");
}

/// As above, where the line is that of the replacement.
#[track_caller]
fn refused(from: &str, to: &str, key: &str, tells: &[&str]) {
    refused_at(from, to, to, key, tells);
}

#[test]
fn faults_of_shape() {
    refused("warm_up = \"5 ms\"", "warmup = \"5 ms\"", "measure.warmup", &["unknown key", "did you mean \"warm_up\"?"]);
    refused("pods = 2", "pdos = 2, pods = 2", "network.topology.pdos", &["unknown key", "did you mean \"pods\"?"]);
    refused(
        "window = \"50 ms\"",
        "window = 50",
        "measure.window",
        &["50 is not", "a time with its unit, like \"5 us\""],
    );
    refused("\"50 ms\"", "\"50\"", "measure.window", &["the unit is missing", "write it like \"5 us\""]);
    refused("\"225 KB\"", "\"225 KBytes\"", "network.buffer.per_port", &["unknown unit \"KBytes\"", "225 KB"]);
    refused("\"10 Gbps\"", "\"10 Gigs\"", "network.topology.link", &["unknown unit", "10 Gbps"]);
    refused("kind = \"clos\"", "kind = \"clso\"", "network.topology.kind", &["\"clso\"", "did you mean \"clos\"?"]);
    refused("kind = \"step\"", "kind = \"pie\"", "network.marking.kind", &["\"pie\"", "did you mean \"pi\"?"]);
    refused("\"last-bit\"", "\"lastbit\"", "network.release", &["did you mean \"last-bit\"?"]);
    refused("{ cdf = \"WebSearch\" }", "{ cfd = \"WebSearch\" }", "traffic[2].size.cfd", &["did you mean \"cdf\"?"]);
    refused("degree = 5", "degree = 5.5", "traffic[0].pattern.degree", &["5.5", "a whole number"]);
    refused("degree = 5", "degree = -5", "traffic[0].pattern.degree", &["-5 is out of range", "0 to 4294967295"]);
    refused_at(
        "drain_limit",
        "drain = \"yes\"\ndrain_limit",
        "drain =",
        "measure.drain",
        &["\"yes\"", "true or false"],
    );
    refused("packets = 20", "packtes = 20", "traffic[0].scheme.packtes", &["did you mean \"packets\"?"]);
    refused("scheme = \"none\"", "scheme = \"nnone\"", "traffic[1].scheme", &["\"nnone\"", "did you mean \"none\"?"]);
    refused("scheme = \"none\"", "scheme = \"swift\"", "traffic[1].scheme", &["known: cubic", "fixed-window", "none"]);
    refused("id = \"fixed-window\"", "id = \"dqcn\"", "traffic[0].scheme.id", &["did you mean \"dcqcn\"?"]);
    refused("packets = 20", "packets = \"many\"", "traffic[0].scheme.packets", &["\"many\"", "a whole number"]);
    refused("timeout = \"off\"", "timeout = \"never\"", "traffic[0].rdma.timeout", &["5 us", "or \"off\""]);
    refused("where = \"last-hop\"", "where = \"hot\"", "measure.series[0].where", &["\"hot\"", "last-hop"]);
    refused("[\"1 ms\", \"2 ms\"]", "[\"1 ms\"]", "network.links[0].down[0]", &["1 entries", "it has 2"]);
    refused("schemes = [\"dcqcn\"", "schemes = [\"dqcqn\"", "compare.schemes[0]", &["did you mean \"dcqcn\"?"]);
    refused("seed = 7", "seed = 1979-05-27", "seed", &["a date is not allowed here"]);
    refused("share = 0.1,", "share = nan,", "traffic[2].load.share", &["not a finite number"]);
    refused("seed = 7", "seed = 99999999999999999999", "seed", &["too large"]);
    refused("buffer = { per_port = \"225 KB\", policy", "buffer = { policy", "network.buffer", &["per_port, pool"]);
}

#[test]
fn renamed_keys_are_named_with_their_new_names() {
    let told = |new: &str| format!("this key was renamed; write \"{new}\"");
    let renamed = |from: &str, to: &str, key: &str, new| refused(from, to, key, &[&told(new)]);
    let policy = "policy = \"lossless\"";
    renamed(policy, "policy = \"lossless\", resume_gap = \"3 KB\"", "network.buffer.resume_gap", "xon_offset");
    let service = "service_time = [\"1 us\", \"2 us\"]";
    renamed(service, "think = \"1 us\"", "traffic[3].pattern.think", "service_time");
    renamed(service, "pause = \"1 us\"", "traffic[3].pattern.pause", "think_time");
    let rdma = "\"4 KB\", persistent = true";
    renamed(rdma, "\"4 KB\", connection = true", "traffic[0].rdma.connection", "persistent");
    let traced = |traces: &str, key: &str, new| {
        refused_at("drain_limit = ", &format!("{traces}\ndrain_limit = "), traces, key, &[&told(new)]);
    };
    traced("perfetto = { file = \"1 MB\" }", "measure.perfetto.file", "max_size");
    traced("capture = { links = \"all\", file = \"1 MB\" }", "measure.capture.file", "max_size");
    traced("capture = { links = \"all\", snap = \"64 B\" }", "measure.capture.snap", "snaplen");
    // The same word elsewhere was not renamed.
    refused(policy, "policy = \"lossless\", snap = \"1 B\"", "network.buffer.snap", &["unknown key"]);
    let spec = Spec::from_toml(EXAMPLE, "x.toml", Path::new("")).unwrap();
    let error = spec.set("traffic.queries.rdma.connection", "true").unwrap_err().to_string();
    assert!(error.contains(&told("persistent")), "{error}");
}

/// Keys of `rdma` that the traffic's recovery has no use for, and values that make no sense together.
fn recoveries_refuse_what_they_do_not_have() {
    let rdma = |keys: &str, key: &str, told: &[&str]| {
        let from = "rdma = { timeout = \"off\", nack_interval = \"100 us\", ack_chunk = \"4 KB\"";
        refused_at(from, &format!("rdma = {{ {keys}"), keys, &format!("traffic[0].rdma.{key}"), told);
    };
    rdma("cap = \"bdp\"", "cap", &["\"go-back-n\" has no such rule", "or write recovery = \"irn\""]);
    rdma("timeout_low = \"1 us\"", "timeout_low", &["has no such rule"]);
    rdma("nack_threshold = 2", "nack_threshold", &["recovery = \"selective-repeat\" or \"irn\""]);
    rdma("recovery = \"go-back-0\", loss_reaction = true", "loss_reaction", &["\"go-back-0\" has no such rule"]);
    rdma("recovery = \"selective-repeat\", cap = \"1 KB\"", "cap", &["recovery = \"irn\""]);
    rdma("recovery = \"irn\", nack_interval = \"1 us\"", "nack_interval", &["recovery = \"go-back-n\""]);
    rdma("recovery = \"irn\", nack_threshold = 0", "nack_threshold", &["write 1"]);
    rdma("recovery = \"irn\", cap = { packets = 0 }", "cap", &["nothing could leave", "{ packets = 110 }"]);
    rdma("recovery = \"irn\", cap = \"2 KB\", ack_chunk = \"4 KB\"", "ack_chunk", &["never comes", "rdma.cap"]);
    rdma("recovery = \"irn\", timeout_low = \"1 ms\"", "timeout_low", &["above timeout = 320 us"]);
    rdma("recovery = \"irn\", timeout_low = \"0 s\"", "timeout_low", &["above zero"]);
    rdma("recovery = \"irn\", timeout = \"off\", timeout_low = \"1 us\"", "timeout_low", &["give timeout a time"]);
    rdma("retries = 0", "retries", &["a single loss would end a message", "like 7"]);
    rdma("timeout = \"off\", retries = 7", "retries", &["timeout = \"off\"", "give timeout a time"]);
    rdma("recovery = \"irm\"", "recovery", &["did you mean \"irn\"?"]);
}

#[test]
fn a_missing_key_is_named_where_it_should_be() {
    refused_at("pods = 2, ", "", "topology", "network.topology.pods", &["missing", "a whole number"]);
    refused_at("kind = \"clos\", ", "", "topology", "network.topology.kind", &["missing", "one of", "\"star\""]);
    refused_at("window = \"50 ms\"\n", "", "[measure]", "measure.window", &["missing", "like \"5 us\""]);
    let header = |text: &str| line_of(text, "name = \"updates\"") - 1;
    refused_on("scheme = \"none\"\n", "", header, "traffic[1].scheme", &["missing", "one of \"none\"", "or a table"]);
}

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

/// The example's second class with another marking.
#[track_caller]
fn refused_marking(marking: &str, key: &str, tells: &[&str]) {
    let red = "{ kind = \"red\", min = \"5 KB\", max = \"200 KB\", probability = 0.01 }";
    refused(red, marking, &format!("network.classes[1].marking.{key}"), tells);
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

#[test]
fn impossible_traffic() {
    refused("degree = 5", "degree = 16", "traffic[0].pattern.degree", &["16 different senders", "1 to 15"]);
    refused("share = 0.1,", "share = 40,", "traffic[2].load.share", &["40 is not a possible share", "0.4 for 40 %"]);
    refused(
        "\"2 KB\", \"4 KB\", \"8 KB\"",
        "\"0 KB\"",
        "traffic[0].size.uniform_of",
        &["0 B is not a possible flow size"],
    );
    refused("{ cdf = \"WebSearch\" }", "{ uniform = [\"2 KB\", \"1 KB\"] }", "traffic[2].size.uniform[1]", &["swap"]);
    refused(
        "{ cdf = \"WebSearch\" }",
        "{ pareto = { mean = \"1 KB\", shape = 1.0 } }",
        "traffic[2].size.pareto.shape",
        &["mean"],
    );
    refused(
        "\"WebSearch\"",
        "\"WebSaerch\"",
        "traffic[2].size.cdf",
        &["WebSaerch cannot be read", "did you mean \"WebSearch\"?"],
    );
    refused(
        "class = \"bulk\"",
        "class = \"bluk\"",
        "traffic[1].class",
        &["no class \"bluk\"", "did you mean \"bulk\"?"],
    );
    refused("name = \"web\"", "name = \"queries\" # again", "traffic[2].name", &["traffic[0] has this name too"]);
    refused(
        "[\"h0\", \"h9\"]",
        "[\"h0\", \"h99\"]",
        "traffic[0].pattern.receivers[1]",
        &["no host \"h99\"", "did you mean"],
    );
    refused("packets = 20", "packets = 0", "traffic[0].scheme.packets", &["at least 1"]);
    refused("timeout = \"off\"", "timeout = \"0 s\"", "traffic[0].rdma.timeout", &["like \"4 ms\", or \"off\""]);
    refused("ack_chunk = \"4 KB\"", "ack_chunk = \"5 GB\"", "traffic[0].rdma.ack_chunk", &["below 4 GiB"]);
    let cpu = |value: &str, key: &str, words: &[&str]| {
        let (new, key) = (format!("cpu_time = {value}"), format!("traffic[0].rdma.cpu_time{key}"));
        refused("ack_chunk = \"4 KB\"", &new, &key, words);
    };
    cpu("[\"3 us\", \"2 us\"]", "", &["3 us is above 2 us", "shorter time comes first"]);
    cpu("{ median = \"0 s\", p999 = \"2 us\" }", ".median", &["it is zero", "5 us"]);
    cpu("{ median = \"3 us\", p999 = \"2 us\" }", ".p999", &["2 us is below the median of 3 us"]);
    let rdma = "scheme = \"rcc\"\ntransport = \"rdma\"";
    let windows = &["rcc assigns TCP's receive windows", "or write \"tcp\""];
    refused_at("scheme = \"dcqcn\"", rdma, "transport = \"rdma\"", "traffic[2].transport", windows);
    let alone = "persistent = false, restart = \"request\"";
    refused(
        "\"4 KB\", persistent = true",
        &format!("\"4 KB\", {alone}"),
        "traffic[0].rdma.restart",
        &["persistent = true"],
    );
    recoveries_refuse_what_they_do_not_have();
    let every = "degree = 5, every = \"1 ms\"";
    refused_at("degree = 5", every, "share = 0.16", "traffic[0].load", &["pattern.every", "leave one"]);
    refused_at(
        "{ kind = \"poisson\" }",
        "{ kind = \"permutation\" }",
        "share = 0.1,",
        "traffic[2].load",
        &["leave it out"],
    );
    let header = |text: &str| line_of(text, "name = \"web\"") - 1;
    refused_on("load = { share = 0.1, of = \"host-links\" }\n", "", header, "traffic[2].load", &["missing", "share"]);
    refused_on("size = { cdf = \"WebSearch\" }\n", "", header, "traffic[2].size", &["missing", "fixed"]);
    refused_at(
        "{ cdf = \"WebSearch\" }",
        "\"endless\"",
        "share = 0.1,",
        "traffic[2].load",
        &["endless messages have no load"],
    );
    let long = "{ kind = \"long\", spread = \"1 ms\" }\nload = { share = 0.24, of = \"tor-uplinks\" }";
    let pairs = |more: &str| format!("{{ kind = \"long\", pairs = \"one-to-one\"{more} }}");
    let key = |key| format!("traffic[1].{key}");
    refused_at(
        "spread = \"1 ms\"",
        "pairs = \"one-to-one\"",
        "share = 0.24",
        &key("load"),
        &["one flow per sender", "leave one"],
    );
    refused_at(long, &pairs(", count = 3"), "one-to-one", &key("pattern.count"), &["one flow per sender"]);
    refused_at(long, &pairs(", inter_rack_only = true"), "one-to-one", &key("pattern.inter_rack_only"), &["no pairs"]);
    refused_at(long, &pairs(""), "one-to-one", &key("pattern.receivers"), &["host 0 would send to itself"]);
    let uneven = pairs(", senders = [\"h1\", \"h2\"], receivers = [\"h3\"]");
    refused_at(long, &uneven, "one-to-one", &key("pattern.receivers"), &["1 receivers for 2 senders"]);
}

#[test]
fn impossible_queries() {
    let asks = |key: &str| format!("traffic[3].{key}");
    let pattern = |key: &str| asks(&format!("pattern.{key}"));
    refused(
        "rounds = 10, ",
        "rounds = 0, ",
        &pattern("rounds"),
        &["no client sends a request", "at least 1 is needed"],
    );
    refused_at("rounds = 10, ", "", "kind = \"query\"", &pattern("rounds"), &["missing", "a whole number"]);
    refused("rounds = 10,", "rounds = 10, degree = 3,", &pattern("degree"), &["has 2 possible ones", "1 to 2"]);
    refused("\"h7\", \"h2\"", "\"h1\"", &pattern("servers"), &["host 1 has no server other than itself"]);
    refused("\"h7\", \"h2\"", "\"h77\"", &pattern("servers[0]"), &["no host \"h77\"", "did you mean"]);
    refused("clients = [\"h1\"]", "clients = [\"x\"]", &pattern("clients[0]"), &["no host \"x\""]);
    refused("total = \"1 MB\"", "total = \"1 B\"", &pattern("total"), &["1 B cannot be 2 responses"]);
    refused("[\"1 us\", \"2 us\"]", "[\"3 us\", \"2 us\"]", &pattern("service_time"), &["3 us is above 2 us"]);
    refused("[\"1 us\", \"2 us\"]", "\"1\"", &pattern("service_time"), &["5 us"]);
    refused(
        "rounds = 10,",
        "rounds = 10, request = \"0 B\",",
        &pattern("request"),
        &["0 B is not a possible request size"],
    );
    refused("rounds = 10,", "rounds = 10, think_time = \"1000000 s\",", &pattern("think_time"), &["at most 864000 s"]);
    let tcp = "tcp = { min_rto";
    refused_at(
        tcp,
        "size = { fixed = \"1 KB\" }\ntcp = { min_rto",
        "size = { fixed",
        &asks("size"),
        &["pattern.total"],
    );
    let header = |text: &str| line_of(text, "name = \"asks\"") - 1;
    refused_on(", total = \"1 MB\"", "", header, &asks("size"), &["missing", "fixed"]);
    let endless = EXAMPLE.replace(", total = \"1 MB\"", "").replace(tcp, "size = \"endless\"\ntcp = { min_rto");
    let shown = checked(&endless).unwrap_err().to_string();
    assert!(shown.contains("traffic[3].size: a query with an endless response never completes"), "{shown}");
    let load = "load = { share = 0.5, of = \"host-links\" }\ntcp = { min_rto";
    refused_at(tcp, load, "share = 0.5", &asks("load"), &["sets its own load"]);
    // All messages of a run are kept.
    refused_at(
        "rounds = 10,",
        "rounds = 10000000,",
        "[[traffic]]",
        "traffic",
        &["about 4.0e7 messages", "at most 3e7"],
    );
}

#[test]
fn impossible_transports() {
    let key = |key: &str| format!("traffic[3].{key}");
    refused("transport = \"tcp\"", "transport = \"udp\"", &key("transport"), &["\"udp\"", "rdma"]);
    refused("ack_class = \"control\"", "ack_class = \"ack\"", &key("tcp.ack_class"), &["\"ack\"", "control, data"]);
    let buffer = "receive_buffer = \"2 MB\"";
    refused(
        buffer,
        "receive_buffer = \"1 KB\"",
        &key("tcp.receive_buffer"),
        &["1 KB is less than a segment of 1460 B"],
    );
    refused(buffer, "receive_buffer = \"2 GB\"", &key("tcp.receive_buffer"), &["1073725440 B", "RFC 7323"]);
    refused(buffer, "offload = \"1 KB\"", &key("tcp.offload"), &["less than a segment of 1460 B", "64 KB"]);
    refused(buffer, "ack_every = 0", &key("tcp.ack_every"), &["no segment", "1 for an ACK per segment"]);
    refused(buffer, "ack_delay = \"0 s\"", &key("tcp.ack_delay"), &["like \"1 ms\", or ack_every = 1"]);
    assert!(checked(&EXAMPLE.replace(buffer, "ack_delay = \"0 s\", ack_every = 1")).is_ok());
    let rto = "min_rto = \"20 ms\"";
    refused(rto, "min_rto = \"0 s\"", &key("tcp.min_rto"), &["it is zero", "10 ms"]);
    refused(rto, "min_rto = \"100 s\", initial_rto = \"100 s\", max_rto = \"9 s\"", &key("tcp.min_rto"), &["above"]);
    refused(rto, "initial_rto = \"5 ms\"", &key("tcp.initial_rto"), &["5 ms is below min_rto = 10 ms"]);
    refused(rto, "max_rto = \"100 ms\"", &key("tcp.initial_rto"), &["1 s is above max_rto = 100 ms"]);
}

#[test]
fn impossible_measures() {
    refused("window = \"50 ms\"", "window = \"0 s\"", "measure.window", &["it is zero", "above zero"]);
    refused("drain_limit = \"20 ms\"", "drain_limit = \"9000000 s\"", "measure.drain_limit", &["at most 864000 s"]);
    refused("report_size = \"8 KB\"", "report_size = \"0 B\"", "measure.report_size", &["no message has 0 B"]);
    refused_at(
        "[compare]",
        "slowdown = \"fastest\"\n[compare]",
        "slowdown",
        "measure.slowdown",
        &["fastest", "lone-run"],
    );
    refused("every = \"10 us\" },", "every = \"0 s\" },", "measure.series[0].every", &["like \"10 us\""]);
    refused(
        "every = \"10 us\" },",
        "every = \"1 ps\" },",
        "measure.series[0].every",
        &["8.0e11 samples", "less often"],
    );
    refused(
        "\"tor0>h3\"",
        "\"tor0>h30\"",
        "measure.series[1].where[0]",
        &["no port \"tor0>h30\"", "did you mean \"tor0>h"],
    );
    let first = "what = \"queue\", where = \"last-hop\"";
    let watch = |what: &str, place: &str, key: &str, tells: &[&str]| {
        let key = format!("measure.series[0].where{key}");
        refused(first, &format!("what = \"{what}\", where = {place}"), &key, tells);
    };
    watch("flow", "[\"updates:0\", \"updats:0\"]", "[1]", &["no traffic \"updats\"", "did you mean \"updates\"?"]);
    watch("flow", "[\"updates\"]", "[0]", &["\"updates\" is not a message", "like \"queries:0\""]);
    watch("flow", "[\"updates:-1\"]", "[0]", &["is not a message"]);
    watch("flow", "[]", "", &["no message is named", "like \"queries:0\""]);
    watch("flow", "\"last-hop\"", "", &["a set of ports", "name each message, like [\"queries:0\"]"]);
    watch("receiver", "[\"h1\", \"tor0\"]", "[1]", &["no host \"tor0\"", "known: h0, h1"]);
    watch("receiver", "[]", "", &["no host is named", "like \"h0\""]);
    watch("switch", "[\"h1\"]", "[0]", &["no switch \"h1\"", "tor0"]);
    watch("switch", "[\"toro0\"]", "[0]", &["no switch \"toro0\"", "did you mean \"tor0\"?"]);
    watch("switch", "\"switch-ports\"", "", &["a set of ports", "name each switch"]);
    watch("traffic", "[\"web\", \"wep\"]", "[1]", &["no traffic \"wep\"", "did you mean \"web\"?"]);
    watch("traffic", "[]", "", &["no traffic is named", "like \"queries\""]);
    watch("traffic", "\"last-hop\"", "", &["a set of ports", "name each traffic, like [\"queries\"]"]);
    watch("port", "[\"tor0>h3\", \"tor0>h33\"]", "[1]", &["no port \"tor0>h33\"", "did you mean \"tor0>h"]);
    watch("port", "[]", "", &["no port is named", "like \"tor0>h3\""]);
    // Some show more than one value at each place.
    for (what, samples) in [
        ("\"receiver\", where = [\"h1\"]", "2.0e11 samples at 4 places"),
        ("\"port\", where = \"last-hop\"", "1.6e12 samples at 16 places"),
        ("\"traffic\", where = [\"web\"]", "1.0e11 samples at 1 places"),
        ("\"flow\", where = [\"web:0\"]", "1.5e11 samples at 1 places"),
    ] {
        let often = format!("what = {what}, every = \"1 ps\"");
        refused(&format!("{first}, every = \"10 us\""), &often, "measure.series[0].every", &[samples]);
    }
    let trace = |names: &str, key: &str, tells: &[&str]| {
        let line = format!("trace = {names}\n[compare]");
        refused_at("[compare]", &line, "trace = ", key, tells);
    };
    trace("[\"web:3\", \"wep:3\"]", "measure.trace[1]", &["no traffic \"wep\"", "did you mean \"web\"?"]);
    trace("[\"web:x\"]", "measure.trace[0]", &["\"web:x\" is not a message", "like \"queries:0\""]);
    let many = format!("{:?}", (0..1001).map(|i| format!("web:{i}")).collect::<Vec<_>>());
    trace(&many, "measure.trace", &["1001 messages", "at most 1000"]);
    let endless = EXAMPLE.split("[[traffic]]").filter(|part| !part.contains("size =") && !part.contains("total ="));
    let endless = endless.collect::<Vec<_>>().join("[[traffic]]");
    let endless = format!("{endless}[measure]\nwindow = \"1 ms\"\nstop_when_done = true\n");
    let shown = checked(&endless).unwrap_err().to_string();
    assert!(shown.contains("measure.stop_when_done: no message of this spec ever ends; leave it out"), "{shown}");
    assert!(checked(&endless.replace("= true\n", "= false\n")).is_ok());
    refused("schemes = [\"dcqcn\", \"none\"]", "schemes = []", "compare.schemes", &["no scheme is named"]);
    refused("\"dcqcn\", \"none\"", "\"none\", \"none\"", "compare.schemes[1]", &["twice"]);
    refused("spec_version = 1", "spec_version = 2", "spec_version", &["version 2 is not supported", "use version 1"]);
    refused("name = \"a bit of everything\"", "name = \"\"", "name", &["empty"]);
    refused_at(
        "class = \"bulk\"",
        "class = \"bulk\"\nstart = \"1 s\"",
        "start",
        "traffic[1].start",
        &["after the end of the measured window at 55 ms"],
    );
}

#[test]
fn all_problems_are_listed_at_once() {
    let text = EXAMPLE.replace("seed", "sede").replace("degree = 5", "degree = \"5\"").replace("\"50 ms\"", "\"50\"");
    let shape = checked(&text).unwrap_err();
    let keys = |p: &Problems| p.iter().map(|p| p.key.clone()).collect::<Vec<_>>();
    assert_eq!(keys(&shape), ["sede", "traffic[0].pattern.degree", "measure.window"]);
    assert_eq!(shape.to_string().lines().count(), 3);
    // The same among problems of meaning, over network, traffic and measure.
    let text = EXAMPLE
        .replace("225 KB", "15 KB")
        .replace("22.5 KB", "10 KB")
        .replace("degree = 5", "degree = 50")
        .replace("class = \"bulk\"", "class = \"bluk\"")
        .replace("\"50 ms\"", "\"0 s\"");
    let meaning = checked(&text).unwrap_err();
    assert_eq!(
        keys(&meaning),
        ["network.buffer.per_port", "traffic[0].pattern.degree", "traffic[1].class", "measure.window"],
        "{meaning}"
    );
    assert!(meaning.iter().all(|p| p.line.is_some()), "{meaning}");
}

#[test]
fn text_that_is_no_toml_or_no_json() {
    let problems = checked("name = \"x\"\nseed = = 3\n").unwrap_err();
    let first = problems.iter().next().unwrap();
    assert_eq!((first.file.as_str(), first.line), ("x.toml", Some(2)));
    assert!(first.to_string().contains("this is not valid TOML"), "{first}");
    let error = Spec::from_json("{\n\"name\": }", "x.json", Path::new("")).unwrap_err().to_string();
    assert!(error.starts_with("x.json:2: this is not valid JSON"), "{error}");
    let error = Spec::from_json("{\"spec_version\": 1}", "x.json", Path::new("")).unwrap_err().to_string();
    assert!(error.contains("x.json: network: this key is missing"), "{error}");
    let error = Spec::read(Path::new("/nowhere/x.toml")).unwrap_err().to_string();
    assert!(error.starts_with("/nowhere/x.toml: cannot be read"), "{error}");
}

#[test]
fn errors_in_files_name_that_file() {
    let folder = std::env::temp_dir().join(format!("fanin-spec-errors-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("sizes.txt"), "1000 0\n2000 fifty\n").unwrap();
    let text = EXAMPLE.replace("WebSearch", "sizes.txt");
    let problems = Spec::from_toml(&text, "x.toml", &folder).unwrap().check().unwrap_err();
    let problem = problems.iter().next().unwrap();
    assert!(problem.file.ends_with("sizes.txt") && problem.line == Some(2), "{problem}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn changes_are_named_in_errors() {
    let spec = Spec::from_toml(EXAMPLE, "x.toml", Path::new("")).unwrap();
    let error = |key, value| spec.set(key, value).unwrap_err().to_string();
    let window = error("measure.window", "4");
    assert_eq!(
        window,
        "--set \"measure.window=4\": measure.window: 4 is not valid here; write a time with its unit, like \"5 us\""
    );
    assert!(error("measure.windo", "4 us").contains("measure.windo: unknown key; did you mean \"window\"?"));
    // A key that is nowhere is not looked for in the file, and one that lies elsewhere is found.
    let nowhere = error("mesure.window", "4 us");
    assert_eq!(nowhere, "--set \"mesure.window=4 us\": mesure: unknown key; did you mean \"measure\"?",);
    assert!(error("window", "4 us").ends_with("window: unknown key; did you mean \"measure.window\"?"));
    assert!(error("queries.degree", "4").ends_with("did you mean \"traffic.queries.pattern.degree\"?"));
    assert!(error("traffic[9].ecn", "true").contains("there is no entry 9; there are 4"));
    assert!(error("traffic.web2.ecn", "true").contains("traffic has no entry \"web2\"; did you mean \"web\"?"));
    assert!(error("seed.x", "1").contains("seed is not a table"));
    assert!(error("", "1").contains("this is not a key"));
    assert!(error("traffic[0", "1").contains("is not a key"));
    assert!(error("measure.series", "[1, 2").contains("is not a TOML value"));
    // A change that is possible in shape but not in meaning is named too, and so is a scheme that is not there.
    let late = spec.set("traffic[0].pattern.degree", "99").unwrap().check().unwrap_err().to_string();
    assert!(
        late.starts_with("--set \"traffic[0].pattern.degree=99\": traffic[0].pattern.degree: 99 different"),
        "{late}"
    );
    let named = spec.set("traffic.queries.pattern.degree", "99").unwrap().check().unwrap_err().to_string();
    assert!(named.starts_with("--set \"traffic.queries.pattern.degree=99\": traffic[0].pattern.degree"), "{named}");
    // So is one of which a part is wrong.
    let pool = spec.set("network.buffer", "{ pool = \"1 KB\", policy = \"lossy\" }").unwrap().check().unwrap_err();
    let pool = pool.to_string();
    assert!(
        pool.starts_with("--set \"network.buffer=") && pool.contains(": network.buffer.pool: 1 KB is no"),
        "{pool}"
    );
    let scheme = spec.with_scheme("nonesuch").check().unwrap_err().to_string();
    assert!(
        scheme.contains("scheme \"nonesuch\": traffic[1].scheme: there is no scheme \"nonesuch\"; known: cubic"),
        "{scheme}"
    );
}

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
    refused("balancing = \"widest\"", dcqcn, &["network.balancing", "least-queue"]);
    refused("balancing = \"own\"", dcqcn, &["network.balancing", "none was supplied"]);
    refused("discipline = \"own\"", dcqcn, &["network.discipline", "none was supplied"]);
}

/// Programs that do nothing.
#[derive(Debug)]
struct Idle;

impl BalancerProgram for Idle {
    fn build(&self, _: &SwitchInfo<'_>) -> Box<dyn Balancer> {
        Box::new(Self)
    }
}

impl Balancer for Idle {
    fn choose(&mut self, _: Time, _: &Header, _: u32, _: &[Choice]) -> usize {
        0
    }
}

impl DisciplineProgram for Idle {
    fn build(&self, _: &SwitchInfo<'_>) -> Box<dyn Discipline> {
        Box::new(Self)
    }
}

impl Discipline for Idle {
    fn on_enqueue(&mut self, _: Time, _: &mut Queued<'_>) -> Verdict {
        Verdict::Admit
    }
}

#[test]
fn own_programs_are_named_in_the_spec() {
    let programs = Programs { balancer: Some(Arc::new(Idle)), discipline: Some(Arc::new(Idle)) };
    let spec = Spec::from_toml(&balanced("", "\"dcqcn\""), "x.toml", Path::new("")).unwrap();
    let own = spec.with_programs(programs.clone()).check().unwrap();
    assert!(matches!(own.network().balancing, Balancing::Own(_)) && own.network().discipline.is_some());
    let text = own.to_toml();
    assert!(text.contains("balancing = \"own\"") && text.contains("discipline = \"own\""), "{text}");
    // What was written runs with the same programs, and not without.
    let read = Spec::from_toml(&text, "x.toml", Path::new("")).unwrap();
    assert!(read.check().is_err() && read.with_programs(programs).check().unwrap() == own);
    // One of the two alone leaves the other as it is.
    let one = spec.with_programs(Programs { balancer: Some(Arc::new(Idle)), discipline: None }).check().unwrap();
    assert!(one.network().discipline.is_none() && one.to_toml().contains("discipline = \"fifo\""));
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
