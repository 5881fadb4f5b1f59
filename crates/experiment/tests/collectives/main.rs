//! Collectives of specs take as long as closed forms say, to the picosecond, and schedules and traces run.

mod astra_sim;
mod exchange;
mod jobs;
mod training;

use fanin_experiment::{Outcome, Spec, run};
use fanin_record::{SizeRange, summarise};
use std::path::Path;

/// A star whose messages have one ACK each, as the closed forms assume.
fn star(hosts: u32, link: (&str, &str), packet: (u32, u32, u32), pattern: &str) -> String {
    let ((rate, delay), (payload, header, ack)) = (link, packet);
    let topology = format!("{{ kind = \"star\", hosts = {hosts}, link = \"{rate}\", delay = \"{delay}\" }}");
    spec(&topology, &format!("payload = \"{payload} B\", header = \"{header} B\", ack = \"{ack} B\""), pattern, false)
}

fn spec(topology: &str, packet: &str, pattern: &str, persistent: bool) -> String {
    format!(
        "spec_version = 1\nname = \"c\"\n[network]\ntopology = {topology}\nbuffer = {{ policy = \"unlimited\" }}\n\
         packet = {{ {packet} }}\n[[traffic]]\nname = \"t\"\nscheme = \"none\"\npattern = {pattern}\n\
         rdma = {{ ack_chunk = \"1 GB\", timeout = \"off\", persistent = {persistent} }}\n\
         [measure]\nwindow = \"10 s\"\nstop_when_done = true\n"
    )
}

fn run_spec(text: &str) -> Outcome {
    let checked = Spec::from_toml(text, "c.toml", Path::new("")).unwrap().check();
    run(checked.unwrap_or_else(|problems| panic!("{problems}")).build(), &mut |_| true)
}

/// When the last byte of the last message arrives, and the bytes of all messages.
fn arrived(text: &str) -> (u64, u64) {
    let outcome = run_spec(text);
    assert_eq!(summarise(&outcome.run, SizeRange::ALL, false).errors, [""; 0]);
    let flows = || outcome.run.flows.iter();
    (flows().map(|flow| flow.finished.as_ps()).max().unwrap(), flows().map(|flow| flow.bytes).sum())
}

/// Operation, algorithm, ranks, S, whether the links are slow, and what closed forms give for the star: with T(S) the
/// time of a message alone and a the time of an ACK on the link, rounds in lockstep take the sum of T(S_k) + a for
/// each round but the last.
const EXACT: [(&str, &str, u32, u64, bool, u64); 13] = [
    ("all-reduce", "ring", 4, 1 << 20, false, 38_439_000),
    ("all-reduce", "ring", 8, 1 << 20, false, 52_437_080),
    ("all-reduce", "ring", 16, 1 << 20, false, 72_449_880),
    ("all-reduce", "ring", 8, 800_008, true, 146_565_760),
    ("all-reduce", "ring", 6, 600, true, 20_306_720),
    ("reduce-scatter", "ring", 8, 1 << 20, false, 26_217_880),
    ("all-gather", "ring", 8, 8 << 20, false, 156_612_760),
    ("all-reduce", "halving-doubling", 4, 1 << 20, false, 36_270_040),
    ("all-reduce", "halving-doubling", 8, 1 << 20, false, 43_761_240),
    ("all-reduce", "halving-doubling", 16, 1 << 20, false, 48_591_320),
    ("all-reduce", "recursive-doubling", 8, 65_536, false, 7_243_800),
    ("all-gather", "recursive-doubling", 8, 1 << 20, false, 21_879_960),
    ("all-to-all", "rotation", 8, 1 << 20, false, 26_217_880),
];

#[test]
fn collectives_take_what_closed_forms_say() {
    for (operation, algorithm, ranks, bytes, slow, expected) in EXACT {
        let link = if slow { ("100 Gbps", "1 us") } else { ("400 Gbps", "500 ns") };
        let payload = if slow { 1460 } else { 4096 };
        let pattern = format!("{{ kind = \"{operation}\", algorithm = \"{algorithm}\", size = \"{bytes} B\" }}");
        let (last, sent) = arrived(&star(ranks, link, (payload, 62, 66), &pattern));
        assert_eq!(last, expected, "{operation} {algorithm} {ranks} {bytes}");
        let n = u64::from(ranks);
        match (operation, algorithm) {
            ("all-reduce", "recursive-doubling") => assert_eq!(sent, 3 * n * bytes),
            ("all-reduce", _) => assert_eq!(sent, 2 * (n - 1) * bytes),
            _ => assert_eq!(sent, (n - 1) * bytes),
        }
    }
}

#[test]
fn a_chain_of_chunks_takes_what_its_formula_says() {
    // (k m + 1) F + 2 d + k a + T + (n - 3)(2 a + T) with T = (m + 1) F + 2 d; one chunk: (n - 3)(a + T).
    for (ranks, bytes, chunks, slow, expected) in [
        (8, 1_048_576, 16, false, 36_888_760),
        (3, 1_048_576, 16, false, 24_806_960),
        (5, 262_144, 8, true, 38_666_240),
        (4, 1_048_576, 1, false, 67_119_000),
    ] {
        let (rate, delay) = if slow { ("100 Gbps", "1 us") } else { ("400 Gbps", "500 ns") };
        let topology = format!("{{ kind = \"star\", hosts = {ranks}, link = \"{rate}\", delay = \"{delay}\" }}");
        let pattern = format!("{{ kind = \"broadcast\", size = \"{bytes} B\", chunk = \"{} B\" }}", bytes / chunks);
        let text = spec(&topology, "payload = \"4096 B\", header = \"62 B\", ack = \"66 B\"", &pattern, true);
        assert_eq!(arrived(&text).0, expected, "{ranks} {chunks}");
    }
}

#[test]
fn a_hierarchical_all_reduce_takes_the_sum_of_its_phases() {
    for (servers, gpus, bytes, expected) in [(2, 4, 1 << 20, 12_295_116), (4, 8, 4 << 20, 44_033_788)] {
        let hosts: Vec<String> = (0..servers * gpus).map(|host| format!("\"h{host}\"")).collect();
        let switches: Vec<String> = (0..servers).map(|v| format!("\"nv{v}\"")).collect();
        let rails: Vec<String> = (0..gpus).map(|g| format!("\"rail{g}\"")).collect();
        let mut links = Vec::new();
        for host in 0..servers * gpus {
            let link = |to: String, rate: &str, delay: &str| {
                format!("{{ between = [\"h{host}\", \"{to}\"], rate = \"{rate}\", delay = \"{delay}\" }}")
            };
            links.push(link(format!("nv{}", host / gpus), "2880 Gbps", "25 ns"));
            links.push(link(format!("rail{}", host % gpus), "400 Gbps", "500 ns"));
        }
        let spine = |g| format!("{{ between = [\"rail{g}\", \"spine\"], rate = \"400 Gbps\", delay = \"500 ns\" }}");
        links.extend((0..gpus).map(spine));
        let topology = format!(
            "{{ kind = \"graph\", hosts = [{}], switches = [{}, {}, \"spine\"], links = [{}] }}",
            hosts.join(", "),
            switches.join(", "),
            rails.join(", "),
            links.join(", ")
        );
        let algorithm = format!("algorithm = \"hierarchical\", server = {gpus}");
        let pattern = format!("{{ kind = \"all-reduce\", size = \"{bytes} B\", {algorithm} }}");
        let text = spec(&topology, "payload = \"4096 B\", header = \"62 B\", ack = \"66 B\"", &pattern, false);
        let (last, sent) = arrived(&text);
        assert_eq!((last, sent), (expected, 2 * (servers * gpus - 1) * bytes));
    }
}

#[test]
fn bandwidths_and_times_are_those_of_nccl_tests_and_of_ranks() {
    let pattern = "{ kind = \"all-gather\", size = \"8388608 B\", repeat = 2, compute = \"3 us\" }";
    let outcome = run_spec(&star(8, ("400 Gbps", "500 ns"), (4096, 62, 66), pattern));
    let summary = summarise(&outcome.run, SizeRange::ALL, false);
    let job = summary.traffics[0].job.as_ref().unwrap();
    // The second begins for all ranks at once, 3 us after the last byte of the first.
    let ended = 156_612_760.0;
    let each = ended / 1e6;
    assert_eq!((job.ranks, job.unfinished, job.collectives), (8, 0, 2));
    assert!((job.time_us.unwrap() - 2.0 * (3.0 + each)).abs() < 1e-9, "{job:?} {each}");
    assert_eq!((job.compute_us, job.waiting_us), (6.0, job.exposed_us));
    assert!((job.exposed_us - 2.0 * each).abs() < 1e-9);
    let algbw = 8_388_608.0 / ended * 1e3;
    assert!((job.algbw_gbytes.unwrap() - algbw).abs() < 1e-9);
    assert!((job.busbw_gbytes.unwrap() - algbw * 7.0 / 8.0).abs() < 1e-9);
    let table = fanin_record::tables::ALL.iter().find(|(name, _)| *name == "collectives").unwrap().1;
    assert_eq!(table(&outcome.run).unwrap().num_rows(), 2);
}

#[test]
fn the_parts_of_a_critical_path_are_those_of_the_closed_form() {
    let pattern = "{ kind = \"all-reduce\", size = \"1048576 B\", repeat = 2, compute = \"3 us\" }";
    let outcome = run_spec(&star(8, ("400 Gbps", "500 ns"), (4096, 62, 66), pattern));
    let job = summarise(&outcome.run, SizeRange::ALL, false).traffics[0].job.clone().unwrap();
    let path = job.critical.unwrap();
    // Two times 14 messages of 32 packets over two links, and an ACK of 66 B before each but the first.
    let serialisation = 14.0 * 33.0 * 0.083_160;
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    assert_eq!((path.messages, path.compute_us, path.waiting_us), (28, 6.0, 0.0));
    close(path.propagation_us, 2.0 * 14.0);
    close(path.serialisation_us, 2.0 * serialisation);
    close(path.queueing_us, 2.0 * 13.0 * 0.001_320);
    close(job.time_us.unwrap(), 2.0 * (3.0 + 52.437_080));
}

#[test]
fn work_that_is_left_is_an_error() {
    let pattern = "{ kind = \"all-reduce\", size = \"8 MB\" }";
    let text = star(4, ("400 Gbps", "500 ns"), (4096, 62, 66), pattern).replace("10 s", "20 us");
    let errors = summarise(&run_spec(&text).run, SizeRange::ALL, false).errors;
    let expected = "the job of traffic \"t\" did not end: ";
    assert!(errors.len() == 1 && errors[0].starts_with(expected) && errors[0].contains("waits for"), "{errors:?}");
}

#[test]
fn broken_patterns_are_named_with_key_and_what_is_right() {
    let wrong = |pattern: &str| {
        let mut text = star(8, ("400 Gbps", "500 ns"), (4096, 62, 66), pattern);
        if pattern.contains("all-to-all") {
            text = text.replace("rdma =", "size = { fixed = \"1 KB\" }\nrdma =");
        }
        Spec::from_toml(&text, "c.toml", Path::new("")).and_then(|spec| spec.check()).unwrap_err().to_string()
    };
    for (pattern, said) in [
        ("{ kind = \"all-reduce\" }", "c.toml:10: traffic[0].pattern.size: this key is missing; write it like"),
        ("{ kind = \"all-reduce\", size = \"1 MB\", algorithm = \"rings\" }", "it has ring, halving-doubling"),
        ("{ kind = \"all-reduce\", size = \"1 MB\", server = 3, algorithm = \"hierarchical\" }", "a divisor of the 8"),
        ("{ kind = \"all-reduce\", size = \"7 B\" }", "pattern.size: 7 B are too few for 8 ranks"),
        (
            "{ kind = \"all-gather\", size = \"1001 B\" }",
            "pattern.size: 1.001 KB cannot be divided among 8 ranks equally",
        ),
        ("{ kind = \"broadcast\", size = \"1 MB\", channels = 0 }", "pattern.channels: it is 0"),
        ("{ kind = \"broadcast\", size = \"1 MB\", hosts = [\"h0\"] }", "pattern.hosts: 1 hosts are too few"),
        ("{ kind = \"broadcast\", size = \"1 MB\", root = 1 }", "pattern.root: unknown key"),
        ("{ kind = \"all-to-all\", channels = 2 }", "pattern.channels: it is a key of collectives"),
        ("{ kind = \"goal\", file = \"no.goal\" }", "no.goal"),
        ("{ kind = \"all-gather\", size = \"1 MB\", window = 0 }", "pattern.window: it is 0"),
        (
            "{ kind = \"all-reduce\", size = \"1 MB\", window = 2 }",
            "pattern.window: window goes with direct, and this is",
        ),
    ] {
        let found = wrong(pattern);
        assert!(found.contains(said), "{pattern}: {found}");
    }
}

/// Traces of the repository of ASTRA-sim, in the data of `formats`: a collective of a trace is that of a spec.
#[test]
fn a_trace_takes_what_its_collective_takes() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/tests/data");
    let file = data.join("all_reduce/all_reduce.0.et");
    let pattern = format!("{{ kind = \"chakra\", file = {:?} }}", file.display().to_string());
    let text = star(4, ("400 Gbps", "500 ns"), (4096, 62, 66), &pattern);
    let outcome = run_spec(&text);
    let job = summarise(&outcome.run, SizeRange::ALL, false).traffics[0].job.clone().unwrap();
    assert_eq!((job.time_us, job.exposed_us), (Some(38.439), 38.439));
}

#[test]
fn a_pipeline_takes_its_computations_and_messages() {
    let run = |schedule: &str, batches: u32| {
        let times = "forward = \"50 us\", backward = \"100 us\"";
        let pattern = format!(
            "{{ kind = \"pipeline\", schedule = \"{schedule}\", size = \"64 KiB\", micro_batches = {batches}, \
             {times} }}"
        );
        let outcome = run_spec(&star(4, ("400 Gbps", "500 ns"), (4096, 62, 66), &pattern));
        let summary = summarise(&outcome.run, SizeRange::ALL, false);
        assert_eq!(summary.errors, [""; 0]);
        let job = summary.traffics[0].job.clone().unwrap();
        assert_eq!(job.compute_us, 150.0 * f64::from(batches));
        outcome.run.graphs.past_of(0)[0].iter().map(|ran| ran.end).max().unwrap()
    };
    // One micro-batch: all stages in turn, and six messages alone: T(16 packets) of 2 links and 500 ns each.
    let alone = 17 * 83_160 + 1_000_000;
    assert_eq!(run("gpipe", 1), 4 * 150_000_000 + 6 * alone);
    assert_eq!(run("1f1b", 1), run("gpipe", 1));
    // With more, both fill and drain the pipeline once; an ACK of what arrives as a computation ends goes first.
    // Where forwards and backwards alternate, a stage waits for the answer of the next one for each micro-batch.
    for (schedule, more) in [("gpipe", 1), ("1f1b", 2 * (8 - 1))] {
        let (least, took) = ((8 + 3) * 150_000_000 + 6 * alone, run(schedule, 8));
        assert!(took >= least && took < least + more * alone, "{schedule}: {took} {least}");
    }
}

/// In lockstep no message waits, so a job alone takes what its run takes, less the ACKs that leave before messages.
#[test]
fn an_explanation_has_the_path_in_an_empty_network() {
    let pattern = "{ kind = \"all-reduce\", size = \"1048576 B\", repeat = 2, compute = \"3 us\" }";
    let text = star(8, ("400 Gbps", "500 ns"), (4096, 62, 66), pattern);
    let checked = Spec::from_toml(&text, "c.toml", Path::new("")).unwrap().check().unwrap();
    let jobs = fanin_experiment::explain(&checked).jobs;
    let summary = summarise(&run(checked.build(), &mut |_| true).run, SizeRange::ALL, false);
    let ran = summary.traffics[0].job.as_ref().unwrap().critical.unwrap();
    let [job] = &jobs[..] else { panic!("{jobs:?}") };
    assert_eq!((job.traffic.as_str(), job.ranks, job.messages), ("t", 8, 28));
    let parts = [job.compute_us, job.serialisation_us, job.propagation_us, job.waiting_us];
    let of_run = [ran.compute_us, ran.serialisation_us, ran.propagation_us, ran.waiting_us];
    assert!(parts.iter().zip(of_run).all(|(one, other)| (one - other).abs() < 1e-9), "{job:?} {ran:?}");
    assert!((job.time_us - parts.iter().sum::<f64>()).abs() < 1e-9);
}
