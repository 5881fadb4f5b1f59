//! Every kind of error: its file, line and key, the problem and the correction.

mod network;
mod schemes;
mod traffic;

use super::*;

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
    refused("scheme = \"none\"", "scheme = \"homa\"", "traffic[1].scheme", &["known: cubic", "fixed-window", "none"]);
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
    // EXAMPLE's queue pair is persistent.
    rdma(
        "recovery = \"unordered\", ack_chunk = \"4 KB\"",
        "ack_chunk",
        &["packets of equal size", "persistent = true"],
    );
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
