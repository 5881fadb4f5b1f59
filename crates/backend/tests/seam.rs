//! The seam between the simulator and a program that posts its messages: by such a program in Rust, which runs the same
//! work as the simulator's own graphs do, and by one in C.

use fanin::{Event, Net, VERSION, fanin_close, fanin_next, fanin_open, fanin_post, fanin_wake};
use fanin_experiment::{News, Online, Outcome, Spec, run};
use fanin_graph::{Host, Job, Kind, Message};
use fanin_units::Time;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr;

/// A network with equal paths and narrow links, under a scheme.
fn spec(scheme: &str, pattern: &str) -> String {
    let topology = "kind = \"fat-tree\"\nk = 4\nlink = \"25 Gbps\"\ndelay = \"1 us\"";
    // Under congestion marks, CNPs are still under way when all is acknowledged.
    let marking = "marking = { kind = \"step\", above = \"20 KB\" }";
    let network =
        format!("[network]\n{marking}\nbuffer = {{ policy = \"unlimited\" }}\n[network.topology]\n{topology}");
    let traffic = format!("[[traffic]]\nname = \"job\"\nscheme = \"{scheme}\"\npattern = {pattern}");
    let measure = format!("[measure]\nwindow = \"90 ms\"\nstop_when_done = true\n{MEASURED}");
    format!("spec_version = 1\nname = \"seam\"\n{network}\n{traffic}\n{measure}\n")
}

/// Queues over time, all packets on all links, and hops and waits of two messages.
const MEASURED: &str = "series = [{ what = \"queue\", where = \"last-hop\", every = \"20 us\", zeros = true }]\n\
                        capture = { links = \"all\" }\ntrace = [\"job:0\", \"job:5\"]";

fn checked(text: &str) -> fanin_experiment::CheckedSpec {
    let spec = Spec::from_toml(text, "seam.toml", Path::new("")).unwrap_or_else(|problems| panic!("{problems}"));
    spec.check().unwrap_or_else(|problems| panic!("{problems}"))
}

/// A program that runs the sends, receives and delays of a job as the simulator's own graphs do.
struct Program<'a> {
    job: &'a Job,
    ranks: Vec<Host>,
    /// The number of each message by sending rank and node, and the other way round.
    numbers: BTreeMap<(u32, u32), u32>,
    sent: BTreeMap<u32, (u32, u32)>,
    /// Places of nodes under way.
    places: BTreeMap<(u32, u32), u32>,
}

impl Program<'_> {
    /// Starts what is ready at a rank.
    fn run(&mut self, rank: u32, online: &mut Online) {
        let mut over = Vec::new();
        loop {
            while let Some(at) = self.ranks[rank as usize].take() {
                let host = &mut self.ranks[rank as usize];
                let node = host.node(at);
                let id = node.id as u32;
                host.start(at);
                self.places.insert((rank, id), at);
                match node.kind {
                    Kind::Delay { ns: 0 } => over.push(id),
                    Kind::Delay { ns } => {
                        let end = online.now().saturating_add(Time::from_ps(ns * 1000));
                        online.wake(end, u64::from(rank) << 32 | u64::from(id)).unwrap();
                    }
                    Kind::Send { to, bytes, .. } => {
                        online.post(rank, to, bytes, self.numbers[&(rank, id)]).unwrap();
                    }
                    Kind::Recv { .. } => {}
                    Kind::Collective { .. } => panic!("messages alone"),
                }
            }
            if over.is_empty() {
                return;
            }
            over.drain(..).for_each(|id| self.ranks[rank as usize].end(self.places[&(rank, id)]));
        }
    }

    fn run_all(&mut self, online: &mut Online) {
        (0..self.ranks.len() as u32).for_each(|rank| self.run(rank, online));
        loop {
            let told = online.advance().unwrap().to_vec();
            if told.is_empty() {
                return;
            }
            let mut due = Vec::new();
            for what in told {
                let rank = match what {
                    News::Arrived(number) => {
                        let (from, node) = self.sent[&number];
                        let Kind::Send { to, bytes, tag } = self.job.step(from, node).kind else { unreachable!() };
                        self.ranks[to as usize].arrive(Message { from, tag, bytes, token: node.into() });
                        to
                    }
                    News::Acked(number) => {
                        let (from, node) = self.sent[&number];
                        self.ranks[from as usize].end(self.places[&(from, node)]);
                        from
                    }
                    News::Woken(name) => {
                        let (rank, node) = ((name >> 32) as u32, name as u32);
                        self.ranks[rank as usize].end(self.places[&(rank, node)]);
                        rank
                    }
                };
                due.push(rank);
            }
            due.sort_unstable();
            due.dedup();
            due.into_iter().for_each(|rank| self.run(rank, online));
        }
    }
}

/// The same work by the simulator's own graphs, and by a program over the seam.
fn both(scheme: &str, pattern: &str) -> (Outcome, Outcome) {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("seam.goal");
    checked(&spec("none", pattern)).write_job(None, &file).unwrap();
    let own = checked(&spec(scheme, &format!("{{ kind = \"goal\", file = \"{}\" }}", file.display())));
    let built = own.build();
    let job = built.jobs[0].job.clone();
    let mut program = Program {
        job: &job,
        ranks: Vec::new(),
        numbers: BTreeMap::new(),
        sent: BTreeMap::new(),
        places: BTreeMap::new(),
    };
    for (number, message) in (0..).zip(own.build().messages) {
        program.numbers.insert(message.sent_by.unwrap(), number);
        program.sent.insert(number, message.sent_by.unwrap());
    }
    for rank in 0..job.ranks.len() as u32 {
        let mut host = Host::new(job.rules(), usize::MAX);
        job.own_steps(rank).for_each(|step| host.add_step(&step));
        program.ranks.push(host);
    }
    let mut online = checked(&spec(scheme, "{ kind = \"posted\" }")).online().unwrap();
    program.run_all(&mut online);
    assert_eq!(online.under_way(), 0);
    (run(built, &mut |_| true), online.finish())
}

const PATTERNS: [&str; 3] = [
    "{ kind = \"all-reduce\", size = \"200 KB\", compute = \"3 us\", repeat = 2 }",
    "{ kind = \"all-to-all\", size = \"320 KB\" }",
    "{ kind = \"all-reduce\", size = \"100 KB\", algorithm = \"double-tree\", channels = 2 }",
];

#[test]
fn a_program_that_posts_the_messages_of_a_job_has_the_run_of_the_job() {
    for pattern in PATTERNS {
        for scheme in ["none", "dcqcn", "hpcc", "timely", "dctcp", "dart"] {
            let (own, online) = both(scheme, pattern);
            let flows = |outcome: &Outcome| -> Vec<_> {
                let of = |flow: fanin_fabric::FlowRecord| (flow.src, flow.dst, flow.bytes, flow.start, flow.acked);
                outcome.run.flows.iter().map(of).collect()
            };
            assert_eq!(flows(&own), flows(&online), "{scheme}, {pattern}");
            assert_eq!(own.run.totals.event_hash, online.run.totals.event_hash, "{scheme}, {pattern}");
            assert!(own.run.flows.len() > 100 && !online.cancelled);
            assert_eq!(own.run.series, online.run.series);
            assert_eq!(own.run.hops, online.run.hops, "{scheme}, {pattern}");
            assert_eq!(own.run.host_waits, online.run.host_waits, "{scheme}, {pattern}");
            assert!(own.run.hops.len() > 10 && own.run.series.len() > 100);
            let files = |outcome: &Outcome| -> Vec<Vec<u8>> {
                outcome.run.files.iter().map(|file| std::fs::read(file.path()).unwrap()).collect()
            };
            assert!(
                files(&own) == files(&online) && files(&own)[0].len() > 100_000,
                "{scheme}, {pattern}: the capture"
            );
            assert_eq!(own.run.sent_in_window, online.run.sent_in_window);
            assert_eq!(own.run.measured_to, online.run.measured_to);
        }
    }
}

#[test]
fn numbers_that_were_left_out_are_no_messages() {
    let mut online = checked(&spec("dcqcn", "{ kind = \"posted\" }")).online().unwrap();
    online.post(0, 1, 1000, 5000).unwrap();
    online.post(2, 1, 3000, 2).unwrap();
    while !online.advance().unwrap().is_empty() {}
    let run = online.finish().run;
    let flows: Vec<_> = run.flows.iter().map(|flow| (flow.src, flow.bytes, flow.acked.is_some())).collect();
    assert_eq!(flows, [(2, 3000, true), (0, 1000, true)]);
    assert_eq!((run.numbers, run.traffics[0].counters.started), (vec![2, 5000], 2));
}

/// What a call complains about; empty if it does not.
fn problem(net: *const Net) -> String {
    // SAFETY: the handle is open, and its text lives until the next call.
    let text = unsafe { (*net).problem() };
    // SAFETY: as above.
    if text.is_null() { String::new() } else { unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_string() }
}

/// A file of the tests.
fn file(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// A star of so many hosts.
fn star(name: &str, hosts: u32, more: &str) -> PathBuf {
    let topology = format!("kind = \"star\"\nhosts = {hosts}\nlink = \"10 Gbps\"\ndelay = \"1 us\"");
    file(name, &format!("[network.topology]\n{topology}\n[network.buffer]\npolicy = \"unlimited\"\n{more}"))
}

/// Opens a network file and returns the handle; it must be closed.
fn open(path: &Path, changes: &str) -> *mut Net {
    let (path, changes) = (CString::new(path.to_str().unwrap()).unwrap(), CString::new(changes).unwrap());
    // SAFETY: both end with 0.
    unsafe { fanin_open(VERSION, path.as_ptr(), changes.as_ptr()) }
}

#[test]
fn each_wrong_call_says_what_is_wrong_and_changes_nothing() {
    let net = star("wrong.toml", 3, "");
    let opened = |changes: &str| {
        let net = open(&net, changes);
        let problem = problem(net);
        // SAFETY: it is open.
        assert_eq!(unsafe { fanin_close(net, ptr::null()) }, 0);
        problem
    };
    assert_eq!(opened(""), "");
    assert_eq!(opened("scheme=dcqcn\n network.packet.payload = 4 KB"), "");
    assert!(opened("scheme").contains("changes: \"scheme\" has no \"=\""));
    assert!(opened("seed=x").contains("seed=x is no whole number"));
    assert!(opened("scheme=dcqcm").contains("dcqcn"));
    assert!(opened("network.nothing=1").contains("network.nothing"));
    // SAFETY: all texts are NULL or end with 0, and the handle is closed once.
    unsafe {
        let other = fanin_open(VERSION + 1, ptr::null(), ptr::null());
        assert!(problem(other).contains("version 2 of fanin.h"), "{}", problem(other));
        assert_eq!(fanin_post(other, 0, 1, 1, 0), -1);
        assert!(problem(other).contains("it can only be closed"));
        assert_eq!(fanin_close(other, ptr::null()), 0);
        assert_eq!(fanin_post(ptr::null_mut(), 0, 1, 1, 0), -1);

        let net = open(&net, "");
        for (src, dst, bytes, id, wrong) in [
            (0, 3, 1, 0, "there is no host 3; the network has 3"),
            (1, 1, 1, 0, "host 1 sends to itself"),
            (0, 1, 0, 0, "it has 0 bytes; give 1 to 2^50"),
            (0, 1, 1 << 51, 0, "give 1 to 2^50"),
            (0, 1, 1, 1 << 27, "the number is too large after 0 messages"),
        ] {
            assert_eq!(fanin_post(net, src, dst, bytes, id), -1);
            assert!(problem(net).contains(wrong), "{}", problem(net));
        }
        let mut events = [Event::default(); 1];
        assert_eq!(fanin_next(net, events.as_mut_ptr(), 1), 0, "nothing was posted: {}", problem(net));
        assert_eq!(fanin_post(net, 0, 1, 1, 7), 0);
        assert_eq!(problem(net), "");
        assert_eq!(fanin_post(net, 0, 2, 1, 7), -1);
        assert!(problem(net).contains("message 7: the number was used before"));
        assert_eq!(fanin_next(net, events.as_mut_ptr(), 0), -1);
        assert_eq!(fanin_next(net, events.as_mut_ptr(), 1), 1);
        assert_eq!((events[0].id, events[0].kind), (7, 1));
        assert_eq!(fanin_wake(net, 0, 0), -1);
        assert!(problem(net).contains("wake 0: 0 ps is over, it is"), "{}", problem(net));
        let folder = CString::new(format!("{}/wrong.toml/run", env!("CARGO_TARGET_TMPDIR"))).unwrap();
        assert_eq!(fanin_close(net, folder.as_ptr()), -1);
        assert!(problem(net).contains("wrong.toml"), "{}", problem(net));
        assert_eq!(fanin_close(net, ptr::null()), 0);
    }
}

#[test]
fn a_message_needs_a_way() {
    let topology = "kind = \"rails\"\nservers = 2\ngpus = 2\nspines = 0\nlink = \"10 Gbps\"\ndelay = \"1 us\"";
    let rails = format!("[network.topology]\n{topology}\n[network.buffer]\npolicy = \"unlimited\"\n");
    let net = open(&file("rails.toml", &rails), "");
    // SAFETY: the handle is open, and there is room for one event.
    unsafe {
        assert_eq!(fanin_post(net, 0, 3, 1000, 0), -1);
        assert!(problem(net).contains("no way leads from host 0 to host 3; hosts do not forward"), "{}", problem(net));
        assert_eq!(fanin_post(net, 0, 2, 1000, 0), 0);
        let mut events = [Event::default(); 1];
        assert_eq!(fanin_next(net, events.as_mut_ptr(), 1), 1);
        assert_eq!(fanin_close(net, ptr::null()), 0);
    }
}

#[test]
fn posts_and_wakes_of_one_instant_come_in_the_order_of_the_header() {
    let net = open(&star("order.toml", 4, ""), "");
    // SAFETY: the handle is open, and there is room for so many events.
    unsafe {
        // Two of equal size arrive at once, and the second one has the lower number.
        assert_eq!((fanin_post(net, 0, 1, 1000, 1), fanin_post(net, 2, 3, 1000, 0)), (0, 0));
        assert_eq!((fanin_wake(net, 0, 9), fanin_wake(net, 0, 8)), (0, 0));
        let mut events = [Event::default(); 3];
        let mut told = Vec::new();
        let mut again = true;
        loop {
            let count = fanin_next(net, events.as_mut_ptr(), 3);
            if count <= 0 {
                assert_eq!(count, 0, "{}", problem(net));
                break;
            }
            told.extend(events[..count as usize].iter().map(|event| ((*net).now(), event.id, event.kind)));
            if std::mem::take(&mut again) {
                // At the instant of the last wakes, and so before anything else.
                assert_eq!(fanin_wake(net, 0, 7), 0);
            }
        }
        let arrived = told.iter().find(|(.., kind)| *kind == 1).unwrap().0;
        let acked = told.iter().find(|(.., kind)| *kind == 2).unwrap().0;
        let expected =
            [(0, 9, 3), (0, 8, 3), (0, 7, 3), (arrived, 0, 1), (arrived, 1, 1), (acked, 0, 2), (acked, 1, 2)];
        assert_eq!(told, expected);
        assert!(0 < arrived && arrived < acked);
        assert_eq!(fanin_close(net, ptr::null()), 0);
    }
}

#[test]
fn a_message_that_never_arrives_is_an_error_and_no_end() {
    let more = |rdma: &str, window: &str| {
        format!(
            "[[network.links]]\nat = \"h1\"\nerror_rate = 0.9999\n[[traffic]]\nname = \"t\"\nscheme = \
             \"none\"\npattern = {{ kind = \"posted\" }}\nrdma = {{ {rdma} }}\n[measure]\nwindow = \"{window}\"\n"
        )
    };
    for (rdma, window, wrong) in [
        ("timeout = \"off\"", "10 s", "1 messages are under way"),
        ("timeout = \"1 ms\"", "20 ms", "the measured window is over at 20 ms; lengthen measure.window"),
    ] {
        let head = "spec_version = 1\nname = \"down\"\n";
        let spec = std::fs::read_to_string(star("down.toml", 2, &more(rdma, window))).unwrap();
        let net = open(&file("down.toml", &format!("{head}{spec}")), "");
        // SAFETY: the handle is open, and there is room for an event.
        unsafe {
            assert_eq!(fanin_post(net, 0, 1, 1000, 0), 0, "{}", problem(net));
            let mut events = [Event::default(); 1];
            assert_eq!(fanin_next(net, events.as_mut_ptr(), 1), -1);
            assert!(problem(net).contains(wrong), "{}", problem(net));
            assert_eq!(fanin_close(net, ptr::null()), 0);
        }
    }
}

/// Compiles a program in C or C++ with the library. The C compiler links Rust too, so there is one.
fn compile(compiler: &str, options: &[&str], source: &str, program: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let here = std::env::current_exe().unwrap();
    let built = here.ancestors().skip(1).find(|folder| folder.join("libfanin.so").exists()).expect("the library");
    let mut compile = Command::new(compiler);
    compile.args(options).args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Iinclude", source, "-o"]);
    compile.arg(program).arg(built.join("libfanin.so")).arg(format!("-Wl,-rpath,{}", built.display()));
    assert!(compile.current_dir(root).status().unwrap().success());
}

#[test]
fn a_program_in_c_runs_an_all_reduce_and_leaves_a_run_folder() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = folder.join("program");
    compile("cc", &["-std=c99"], "tests/program.c", &program);
    let net = star("program.toml", 4, "");
    let left = folder.join("program-run");
    let done = Command::new(&program).arg(&net).args(["scheme=dcqcn\nseed=3", "20000"]).arg(&left).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{err}");
    // The fields of the structs, as this crate has them.
    assert!(out.starts_with("fanin 0 8 12 16, event 0 8 of 16\n"), "{out}");
    // A ring of 4: 6 rounds of 4 messages, each 20 KB, whose rounds take 16 us of the link at least.
    assert!(out.contains("24 messages arrived, 24 acknowledged, 1 wake"), "{out}");
    let summary = std::fs::read_to_string(left.join("summary.json")).unwrap();
    assert!(summary.contains("\"finished\": 24"), "{summary}");
    assert!(std::fs::read_to_string(left.join("spec.resolved.toml")).unwrap().contains("kind = \"posted\""));
}

/// What the stand-in says when a receive ends as its message arrives. A packet of 4000 B and 62 B takes 81.24 ns on
/// each of two links of 400 Gb/s and 500 ns, and its ACK of 64 B, behind nothing, 1.28 ns each.
const STAND_IN: &str = "0.000 first
0.000 second
0.000 third
1162.480 1 has 4000 bytes
2165.120 0 knows that 1 has 4000 bytes
3172.920 1 knows that 0 has the answer
1000000.000 0 asks for the answer, and has it
called without an argument
1000000.000 2 has its own
1001103.720 2 has both
1001392.640 1 has the request
1003110.040 1 has the first part
1003110.040 1 has the second part
101106928.040 1 has 5 GB
3 ranks have finished; nobody waits
rank 1 waits for 10 bytes from rank 0 with tag 77
message 8: there is no host 99; the network has 3, from 0
";

#[test]
fn a_stand_in_for_astra_sim_posts_from_callbacks_and_matches_by_bytes() {
    if Command::new("c++").arg("--version").output().is_err() {
        eprintln!("SKIPPED: there is no C++ compiler");
        return;
    }
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stand_in");
    let options = ["-std=c++17", "-Itests/stand_in", "-I../../bindings/astra-sim"];
    compile("c++", &options, "tests/stand_in/stand_in.cc", &program);
    let topology = "kind = \"star\"\nhosts = 3\nlink = \"400 Gbps\"\ndelay = \"500 ns\"";
    let more = "[network.packet]\npayload = \"60 KB\"\n[network.buffer]\npolicy = \"unlimited\"";
    let net = file("stand_in.toml", &format!("[network.topology]\n{topology}\n{more}\n"));
    let said = |ends: &str| {
        let done = Command::new(&program).arg(&net).arg(ends).output().unwrap();
        assert!(done.status.success());
        String::from_utf8(done.stdout).unwrap()
    };
    assert_eq!(said("receiver"), STAND_IN);
    // The sender's handler comes first, at the same instant.
    let acked = "2165.120 0 knows that 1 has 4000 bytes\n2165.120 1 has 4000 bytes\n";
    assert!(said("sender-ack").contains(acked));
    let arrived = "1162.480 0 knows that 1 has 4000 bytes\n1162.480 1 has 4000 bytes\n";
    assert!(said("arrived").contains(arrived));
}
