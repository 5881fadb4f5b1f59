//! Errors of traffics and of what is measured.

use super::*;

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
