//! Graphs from files: schedules with the finishing times of LogGOPSim, traces of ASTRA-sim, and broken files.
//!
//! A few cases are in `data`; `FANIN_GOLDEN_AI` names a folder with all that were recorded.

use fanin_formats::Error;
use fanin_formats::chakra::{Groups, Trace, ranks, read_groups, write};
use fanin_formats::goal::{Goal, Layout};
use fanin_formats::graphs::Graphs;
use fanin_graph::collectives::Method;
use fanin_graph::loggp::{Parameters, finish};
use fanin_graph::{Kind, Node, Operation, Source, WINDOW};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// The folder of recorded cases, if there is one.
fn recorded() -> Option<PathBuf> {
    let folder = std::env::var_os("FANIN_GOLDEN_AI").map(PathBuf::from);
    if folder.is_none() {
        // Past the harness, which would keep it to itself.
        let _ = writeln!(std::io::stderr(), "SKIPPED: FANIN_GOLDEN_AI names no folder with recorded cases");
    }
    folder
}

/// The parameters of a row such as `pure: -L 1000 -o 0 ...`.
fn parameters(options: &str) -> Parameters {
    let (_, options) = options.split_once(": -").expect("options");
    Parameters::parse(&options.replace(" -", ",").replace(' ', "=")).expect("parameters")
}

/// Compares every schedule of a folder with LogGOPSim, and its text with its binary form; returns how many rows.
fn compare_schedules(folder: &Path) -> usize {
    let table = fs::read_to_string(folder.join("expected.csv")).expect("a table");
    let mut rows = 0;
    for row in table.lines().filter(|row| row.contains(",LogGOPSim,")) {
        let cells: Vec<&str> = row.split(',').collect();
        let read = |end: &str| {
            let file = folder.join(format!("{}.{end}", cells[0]));
            (fs::read(&file).expect("a schedule"), file.display().to_string())
        };
        let ((text, text_file), (binary, binary_file)) = (read("goal"), read("bin"));
        let goal = Goal::read(&text, &text_file).expect("a schedule");
        assert!(goal.to_binary() == binary, "{row}: not what txt2bin wrote");
        let from_binary = Goal::read(&binary, &binary_file).expect("a schedule");
        assert_eq!(
            from_binary,
            Goal::read(from_binary.to_text().as_bytes(), "f.goal").map(unplaced).expect("a schedule")
        );
        let play = |window| finish(&mut from_binary.sources(), parameters(cells[2]), window).expect("nodes");
        let (finished, problems) = play(WINDOW);
        assert_eq!(problems, [], "{row}");
        let expected: Vec<u64> = cells[4].split_whitespace().map(|time| time.parse().expect("a time")).collect();
        if !expected.is_empty() {
            assert_eq!(finished, expected, "{row}");
        }
        assert_eq!(finished.iter().max().expect("ranks").to_string(), cells[3], "{row}");
        // With a window of two nodes some start late, and all end.
        assert_eq!(play(2).1, [], "{row}");
        assert_eq!(
            Graphs::open(&folder.join(format!("{}.goal", cells[0]))).expect("graphs").check(),
            Ok(vec![]),
            "{row}"
        );
        rows += 1;
    }
    rows
}

/// A schedule without labels and lines.
fn unplaced(goal: Goal) -> Goal {
    Goal::read(&goal.to_binary(), "f.bin").expect("a schedule")
}

#[test]
fn schedules_finish_as_in_loggopsim() {
    assert_eq!(compare_schedules(&data("goal")), 24);
}

#[test]
fn recorded_schedules_finish_as_in_loggopsim() {
    let Some(folder) = recorded() else { return };
    let rows = compare_schedules(&folder.join("goal/made")) + compare_schedules(&folder.join("goal/public"));
    println!("{rows} rows equal");
    assert!(rows > 0);
}

fn traces(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(traces(&path));
        } else if path.to_string_lossy().ends_with(".0.et") {
            found.push(path);
        }
    }
    found
}

fn write_all<S: Source<Error = Error>>(sources: &mut [S]) -> Vec<Vec<u8>> {
    let written = sources.iter_mut().map(|source| {
        let mut bytes = Vec::new();
        write(source, &mut bytes, "out").map(|()| bytes)
    });
    written.collect::<Result<_, _>>().expect("traces")
}

/// Reads the traces of a run, checks them, and takes them through both formats; returns how many there are.
fn compare_traces(first: &Path) -> usize {
    let files = ranks(first).expect("traces");
    assert_eq!(Graphs::open(first).expect("graphs").check(), Ok(vec![]), "{}", first.display());
    let read = || -> Vec<Trace<'static>> {
        files.iter().zip(0..).map(|(file, rank)| Trace::open(file, rank).expect("a trace")).collect()
    };
    let written = write_all(&mut read());
    let again = || -> Vec<Trace<'_>> {
        written.iter().zip(0..).map(|(bytes, rank)| Trace::new(bytes.as_slice(), "f", rank).expect("a trace")).collect()
    };
    for (mut one, mut other) in read().into_iter().zip(again()) {
        let (mut a, mut b) = Default::default();
        while Source::next(&mut one, &mut a).expect("a node") {
            assert!(Source::next(&mut other, &mut b).expect("a node"));
            assert_eq!(a, b);
        }
        assert!(!Source::next(&mut other, &mut b).expect("the end"));
    }
    match Goal::from_sources(&mut read(), "f") {
        Ok(goal) => {
            let text = Goal::read(goal.to_text().as_bytes(), "f.goal").expect("a schedule");
            let bytes = write_all(&mut text.sources());
            let mut back: Vec<_> =
                bytes.iter().map(|bytes| Trace::new(bytes.as_slice(), "f", 0).expect("a trace")).collect();
            assert_eq!(Goal::from_sources(&mut back, "f").expect("a schedule"), goal);
        }
        Err(error) => assert!(error.what.contains("is a collective"), "{error}"),
    }
    files.len()
}

#[test]
fn traces_of_collectives_are_read_and_written() {
    let first = data("all_reduce/all_reduce.0.et");
    assert_eq!(compare_traces(&first), 4);
    // Packed, the same.
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&fs::read(&first).expect("a trace")).expect("memory");
    let packed = packed.finish().expect("memory");
    let write = |trace: Result<Trace<'_>, Error>| write_all(&mut [trace.expect("a trace")]);
    assert_eq!(write(Trace::new(packed.as_slice(), "f", 0)), write(Trace::open(&first, 0)));
}

#[test]
fn recorded_traces_are_read_and_written() {
    let Some(folder) = recorded() else { return };
    let all: Vec<PathBuf> = traces(&folder.join("chakra"));
    let files: usize = all.iter().map(|first| compare_traces(first)).sum();
    println!("{} runs, {files} traces equal", all.len());
    assert!(files > 0);
}

/// What a message has to say about each broken input.
const BROKEN: &[(&str, &[&str])] = &[
    ("et_cycle/t.0.et", &["rank 0: node 1 (comp, byte 9), node 2", "and node 3", "wait for each other"]),
    ("et_self/t.0.et", &["rank 0: node 7", "waits for itself"]),
    (
        "et_recv_unmatched/t.0.et",
        &["rank 0: node 1", "receives 1,000 B with tag 4 from rank 1, which never sends that"],
    ),
    ("et_cross_cycle/t.0.et", &["rank 0 node 1", "rank 1 node 1", "wait for each other through messages"]),
    ("et_no_dst/t.0.et", &["rank 0: node 1 (\"nccl:send\") has no comm_dst", "PyTorch converter does not write"]),
    ("et_to_itself/t.0.et", &["rank 0: node 1", "sends to itself"]),
    ("et_bad_type/t.0.et", &["rank 0: node 1 (\"x\") has type 42"]),
    (
        "et_coll_order/t.0.et",
        &[
            "collective 0 of the group of all ranks is all-reduce of 8 B at rank 0 (node 1",
            "all-gather",
            "rank 1 (node 1",
        ],
    ),
    ("et_coll_size/t.0.et", &["collective 0 ", "8 B at rank 0", "16 B at rank 1"]),
    ("et_group_unknown/t.0.et", &["rank 0: node 1", "process group 9 is not defined"]),
    ("et_dup_id/t.0.et", &["rank 0: two nodes have id 1"]),
    ("et_huge_size/t.0.et", &["rank 0: node 1", "comm_size 4611686018427387904"]),
    ("et_negative_size/t.0.et", &["rank 0: node 1", "comm_size -5"]),
    ("et_length_bomb/t.0.et", &["t.0.et: byte 8: a message of 9223372036854775807 B", "the file ends after byte 17"]),
    ("et_missing_rank/t.0.et", &["t.1.et is missing, between t.0.et and t.2.et"]),
    ("goal_undefined_label.goal", &[":4: label \"l9\" is not defined in rank 0"]),
    ("goal_cycle.goal", &["rank 0: a (line 3) and b (line 4) wait for each other"]),
    ("goal_no_bracket.goal", &[":2: rank 0 is not closed"]),
    ("goal_peer_range.goal", &[":3: rank 7 of 2"]),
    ("goal_no_b.goal", &[":3: \"8\" is no size; a size ends with b, as 8b"]),
    ("goal_dup_label.goal", &[":4: label \"a\" is already used in line 3"]),
    ("goal_magic.bin", &["not a GOAL file: it begins with 1234, not 4223"]),
    ("goal_invalid_mark.bin", &["marked invalid (2342)", "has consumed it"]),
    ("goal_offset.bin", &["rank 0 lies from byte 1000000008 on, beyond the end of the file"]),
    ("goal_count_bomb.bin", &["rank 0: 2147483648 nodes do not fit into the file"]),
];

#[test]
fn broken_inputs_are_named() {
    for (input, parts) in BROKEN {
        let path = data("bad").join(input);
        let checked = Graphs::open(&path).map_err(Into::into).and_then(|graphs| graphs.check());
        let message = checked.expect_err(input).to_string();
        println!("{}", message.replace(&*data("bad").to_string_lossy(), ""));
        parts.iter().for_each(|part| assert!(message.contains(part), "{input}: {message}"));
    }
    let warnings = Graphs::open(&data("bad/et_send_unmatched/t.0.et")).expect("graphs").check().expect("a warning");
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    let said =
        warning.what.contains("rank 0: node 1") && warning.what.ends_with("to rank 1 with tag 4; nobody receives that");
    assert!(said, "{warning}");
}

/// Messages and chunks that an algorithm sends, each with the bytes of a vector that has one byte for each chunk.
const ALGORITHMS: [(&str, u64, u64); 7] = [
    // Recursive doubling of 8: 1, 2 and 4 chunks.
    ("allgather_recursive_doubling", 8 * 3, 8 * 7),
    ("allgather_ring", 8 * 7, 8 * 7),
    ("allreduce_a100_ring", 8 * 14, 8 * 14),
    // Halving to one of 8 chunks, and doubling back.
    ("allreduce_recursive_doubling_halving", 8 * 6, 8 * 14),
    // Each of 4 to each other.
    ("alltoall_allpairs", 4 * 3, 4 * 3),
    ("astra_sim_custom_allreduce", 8 * 14, 8 * 14),
    // Each of 8 chunks over the 7 edges of a tree, to its root and back.
    ("hierarchical_allreduce", 8 * 14, 8 * 14),
];

#[test]
fn recorded_algorithms_send_what_their_collectives_need() {
    let Some(folder) = recorded() else { return };
    for (name, messages, chunks) in ALGORITHMS {
        for size in [1 << 20, (1 << 20) + 5] {
            let of = Graphs::open(&folder.join(format!("msccl/{name}.xml"))).and_then(|of| of.with_size(size));
            let of = of.expect("an algorithm");
            assert_eq!(of.check(), Ok(vec![]), "{name}");
            let job = of.job(of.rules(), &Method::default()).expect("a job");
            let overview = Graphs::overview(&job);
            assert_eq!(overview.messages, messages, "{name}");
            // All chunks are sent equally often, so that no byte of a size that they do not divide is lost.
            let parts = if name.starts_with("alltoall") { 4 } else { 8 };
            assert_eq!(overview.bytes, chunks / parts * size, "{name}");
        }
    }
}

#[test]
fn a_size_goes_with_algorithms_alone() {
    let ring = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/collectives/ring.xml");
    let bytes =
        |graphs: Graphs| Graphs::overview(&graphs.job(graphs.rules(), &Method::default()).expect("a job")).bytes;
    let open = || Graphs::open(&ring).expect("an algorithm");
    assert_eq!((open().ranks(), bytes(open())), (4, 6 << 20));
    assert_eq!(bytes(open().with_size(1001).expect("an algorithm")), 6006);
    let schedule = Graphs::open(&data("goal/gather_8_4096.goal")).expect("a schedule");
    let what = schedule.with_size(1001).expect_err("a size of its own").what;
    assert_eq!(what, "a size goes with algorithms of MSCCL; this file has its own bytes");
}

#[test]
fn a_schedule_with_interfaces_asks_for_its_layout() {
    let read = |text: &str| Goal::read(text.as_bytes(), "f.goal").expect("a schedule");
    let plain = read("num_ranks 2 rank 0 { calc 1 } rank 1 { /* nothing\n */ }");
    assert_eq!(plain.host(None, 1, 0), Ok(1));
    let goal =
        read("num_ranks 2\nrank 0 { send 8b to 1 tag 3 cpu 1 nic 3 }\nrank 1 { a: recv 8b from -1 tag -1 } // any");
    assert_eq!(goal.host(Some(Layout::Ranks), 1, 2), Ok(1));
    assert_eq!(goal.host(Some(Layout::Interfaces), 1, 2), Ok(6));
    assert!(goal.host(None, 1, 2).expect_err("a question").contains("4 network interfaces"));
    assert_eq!(unplaced(goal.clone()).to_text(), goal.to_text());
}

#[test]
fn process_groups_come_from_the_trace_or_from_a_file_beside_it() {
    let node = Node {
        id: 1,
        kind: Kind::Collective { operation: Operation::AllGather, bytes: 8, group: 7 },
        ..Node::default()
    };
    let trace = write_all(&mut [Once(Some(node))]).remove(0);
    let (metadata, nodes) = trace.split_at(1 + usize::from(trace[0]));
    // Types of nodes without a number are left out; this one has its groups in the values of its inputs.
    let values = br#"["[{\"pg_name\": \"7\", \"ranks\": [2, 5]}]"]"#;
    let (length, inputs) = (values.len() as u8, values.len() as u8 + 2);
    let definition = [&[inputs + 4, 3 << 3, 1, 8 << 3 | 2, inputs, 1 << 3 | 2, length][..], values].concat();
    let members = |bytes: &[u8], groups: Option<Groups>| {
        let mut trace = Trace::new(bytes, "f", 2).expect("a trace").with_groups(groups.unwrap_or_default());
        let mut node = Node::default();
        while trace.next(&mut node).expect("a node") {}
        assert_eq!(node.kind, Kind::Collective { operation: Operation::AllGather, bytes: 8, group: 7 });
        trace.members(7).map(<[u32]>::to_vec)
    };
    assert_eq!(members(&[metadata, &definition, nodes].concat(), None), Some(vec![2, 5]));
    assert_eq!(members(&trace, None), None);
    let beside = read_groups(br#"{"7": [2, 3], "1": [0]}"#, "groups.json", 4).expect("groups");
    assert_eq!(members(&trace, Some(beside)), Some(vec![2, 3]));
    for (text, said) in [
        ("{\"7\": [2,\n -3]}", "1: the ranks of process group 7 are no list of numbers"),
        ("{\"1\": [0],\n\"7\": [2, 4]}", "2: process group 7 has rank 4; the 4 traces are those of ranks 0 to 3"),
        ("{\"7\": [2, 1, 2]}", "1: process group 7 has rank 2 twice"),
        ("{\n\"0\": [2]}", "2: process group 0 has all ranks"),
        ("{\"7\": []}", "1: process group 7 has no ranks"),
        ("{\"dp\": [1]}", "1: \"dp\" is no number of a process group"),
        ("{\"1\": [0],\n]", "2: "),
        ("[1]", "1: no JSON object of groups"),
    ] {
        let wrong = read_groups(text.as_bytes(), "groups.json", 4).expect_err(text).to_string();
        assert!(wrong.starts_with(&format!("groups.json:{said}")), "{wrong}");
    }
}

/// Four ranks of which pairs have a collective each: the groups are in a file beside the traces.
#[test]
fn a_file_of_groups_belongs_to_the_traces_of_all_ranks() {
    let folder = std::env::temp_dir().join(format!("fanin-groups-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    for rank in 0..4 {
        let kind = Kind::Collective { operation: Operation::AllReduce, bytes: 800, group: 1 + rank / 2 };
        let node = Node { id: 1, kind, ..Node::default() };
        fs::write(folder.join(format!("t.{rank}.et")), &write_all(&mut [Once(Some(node))])[0]).expect("a trace");
    }
    let open = |groups: &str| {
        fs::write(folder.join("groups.json"), groups).expect("a file");
        Graphs::open(&folder.join("t.0.et")).and_then(|graphs| graphs.with_groups(&folder.join("groups.json")))
    };
    let graphs = open(r#"{"1": [0, 1], "2": [3, 2]}"#).expect("graphs");
    assert_eq!(graphs.check(), Ok(vec![]));
    let job = graphs.job(graphs.rules(), &Default::default()).expect("a job");
    let members: Vec<&[u32]> = job.collectives.iter().map(|one| &*one.members).collect();
    assert_eq!(members, [[0, 1], [3, 2]]);
    let said = |wrong: String, part: &str| assert!(wrong.contains(part), "{wrong}");
    said(open(r#"{"1": [0, 1]}"#).expect("graphs").check().expect_err("a group").to_string(), "group 2 is not defined");
    let strange = open(r#"{"1": [0, 1], "2": [1, 3]}"#).expect("graphs").check().expect_err("a stranger").to_string();
    said(strange, "process group 2");
    said(open(r#"{"1": [0, 9]}"#).expect_err("a rank").to_string(), "process group 1 has rank 9");
    let schedule = Graphs::open(&data("goal/gather_8_4096.goal")).expect("a schedule");
    let refused = schedule.with_groups(Path::new("groups.json")).expect_err("no traces").to_string();
    said(refused, "groups.json: process groups go with Chakra traces");
    fs::remove_dir_all(&folder).expect("the folder");
}

/// A single node.
struct Once(Option<Node>);

impl Source for Once {
    type Error = Error;

    fn next(&mut self, node: &mut Node) -> Result<bool, Error> {
        Ok(self.0.take().map(|only| *node = only).is_some())
    }
}

/// A chain of messages and nodes without time in two ranks, made as it is written.
struct Long {
    rank: u32,
    next: u64,
    nodes: u64,
}

impl Source for Long {
    type Error = Error;

    fn next(&mut self, node: &mut Node) -> Result<bool, Error> {
        let id = self.next;
        (node.id, self.next) = (id, id + 1);
        node.kind = match (id % 4, self.rank) {
            (0 | 1, _) => Kind::Delay { ns: 0 },
            (2, 0) | (3, 1) => Kind::Send { to: 1 - self.rank, bytes: 1 << 20, tag: 1 },
            _ => Kind::Recv { from: 1 - self.rank, bytes: 1 << 20, tag: 1 },
        };
        node.slot = Some(2).filter(|_| matches!(node.kind, Kind::Send { .. }));
        node.after_end.clear();
        node.after_end.extend(id.checked_sub(1).into_iter().chain(id.checked_sub(3)));
        Ok(id < self.nodes)
    }
}

#[test]
fn a_trace_of_a_million_nodes_passes_through_a_window() {
    let nodes = 1_000_000;
    let files: Vec<Vec<u8>> = write_all(&mut [0, 1].map(|rank| Long { rank, next: 0, nodes }));
    let traces = || -> Vec<Trace<'_>> {
        files.iter().zip(0..).map(|(bytes, rank)| Trace::new(bytes.as_slice(), "f", rank).expect("a trace")).collect()
    };
    let started = std::time::Instant::now();
    let mut node = Node::default();
    let read = traces()
        .into_iter()
        .map(|mut trace| std::iter::from_fn(|| trace.next(&mut node).ok().filter(|more| *more)).count());
    assert_eq!(read.sum::<usize>(), 2_000_000);
    println!("read: {:.2} s a rank", started.elapsed().as_secs_f64() / 2.0);
    let started = std::time::Instant::now();
    let pure = Parameters { latency: 1000, overhead: 0, gap: 0, gap_per_byte: 1, overhead_per_byte: 0, eager: 1 << 30 };
    let (finished, problems) = finish(&mut traces(), pure, 64).expect("nodes");
    println!("read and played in a window of 64 nodes: {:.2} s a rank", started.elapsed().as_secs_f64() / 2.0);
    // Four nodes are a message each way.
    assert_eq!((finished[0], problems), (250_000 * 2 * (1000 + (1 << 20) - 1), vec![]));
}
