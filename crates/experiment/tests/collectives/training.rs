//! Training over tensor, data, pipeline and expert parallelism in a network.

use super::{run_spec, star};
use fanin_experiment::Spec;
use fanin_graph::Operation;
use fanin_record::{SizeRange, summarise};
use std::path::Path;

const LINK: (&str, &str) = ("400 Gbps", "500 ns");
const PACKET: (u32, u32, u32) = (4096, 62, 66);
const TIMES: &str = "forward = \"20 us\", backward = \"40 us\"";

fn pattern(axes: &str) -> String {
    format!("{{ kind = \"training\", {TIMES}, {axes} }}")
}

#[test]
fn a_step_has_the_messages_of_its_groups() {
    let axes = "tensor = { ranks = 2, size = \"64 KiB\" }, data = { ranks = 4, size = \"256 KiB\" }, \
                pipeline = { ranks = 2, size = \"32 KiB\" }, expert = { ranks = 2, size = \"8 KiB\" }, \
                micro_batches = 3";
    let outcome = run_spec(&star(16, LINK, PACKET, &pattern(axes)));
    let summary = summarise(&outcome.run, SizeRange::ALL, false);
    assert_eq!(summary.errors, [""; 0]);
    let job = summary.traffics[0].job.as_ref().expect("a job");
    assert_eq!((job.ranks, job.unfinished, job.compute_us), (16, 0, 3.0 * 60.0));
    // Of 6 computations a rank: in each of 8 tensor groups a sum, in each of 8 expert groups two exchanges. And there
    // are 4 data groups.
    assert_eq!(job.collectives, 8 * 6 + 8 * 12 + 4);
    // Rings of 2 send all once in each direction, those of 4 ranks six times a quarter from each; half of what a rank
    // has for both goes to the other expert; and between 8 pairs of stages each micro-batch passes forwards and back.
    let sent: u64 = outcome.run.flows.iter().map(|flow| flow.bytes).sum();
    let k = 1024;
    assert_eq!(sent, 48 * 2 * 64 * k + 96 * 2 * 4 * k + 4 * 6 * 256 * k + 8 * 6 * 32 * k);
    // Data groups are ranks 0, 2, 4, 6 and so on by default, and 0, 4, 8, 12 and so on with the data axis outermost.
    let outer = format!("{axes}, order = [\"tensor\", \"pipeline\", \"data\"]");
    for (axes, stride) in [(axes, 2), (outer.as_str(), 4)] {
        let outcome = run_spec(&star(16, LINK, PACKET, &pattern(axes)));
        let gradients = outcome.run.jobs[0].job.collectives.iter().filter(|one| one.members.len() == 4);
        let members: Vec<Vec<u32>> = gradients.map(|one| one.members.to_vec()).collect();
        assert!(members.contains(&(0..4).map(|place| place * stride).collect()), "{members:?}");
    }
}

/// One axis alone is what the pattern for it is.
#[test]
fn a_single_axis_takes_what_its_own_pattern_takes() {
    let run = |pattern: &str| {
        let outcome = run_spec(&star(4, LINK, PACKET, pattern));
        assert_eq!(summarise(&outcome.run, SizeRange::ALL, false).errors, [""; 0]);
        outcome.run.flows.iter().map(|flow| flow.finished.as_ps()).max().expect("messages")
    };
    let pipeline =
        run(&format!("{{ kind = \"pipeline\", schedule = \"1f1b\", size = \"64 KiB\", micro_batches = 5, {TIMES} }}"));
    assert_eq!(run(&pattern("pipeline = { ranks = 4, size = \"64 KiB\" }, micro_batches = 5")), pipeline);
    // The gradients after one micro-batch forwards and back.
    let all_reduce = run("{ kind = \"all-reduce\", size = \"1 MiB\", compute = \"60 us\" }");
    assert_eq!(run(&pattern("data = { ranks = 4, size = \"1 MiB\" }")), all_reduce);
    // A sum after the computation forwards, and one after that back.
    let outcome = run_spec(&star(4, LINK, PACKET, &pattern("tensor = { ranks = 4, size = \"1 MiB\" }")));
    let job = summarise(&outcome.run, SizeRange::ALL, false).traffics[0].job.clone().expect("a job");
    let all = &outcome.run.jobs[0].job.collectives;
    assert!(all.len() == 2 && all.iter().all(|one| one.operation == Operation::AllReduce));
    assert!((job.time_us.expect("an end") - (60.0 + 2.0 * 38.439)).abs() < 1e-9, "{job:?}");
}

#[test]
fn impossible_divisions_are_named() {
    let wrong = |axes: &str| {
        let text = star(8, LINK, PACKET, &pattern(axes));
        Spec::from_toml(&text, "c.toml", Path::new("")).and_then(|spec| spec.check()).unwrap_err().to_string()
    };
    let data = "data = { ranks = 4, size = \"1 MB\" }";
    for (axes, said) in [
        (format!("{data}, expert = {{ ranks = 3, size = \"1 MB\" }}"), "pattern.expert.ranks: 3 does not divide the 4"),
        (
            format!("{data}, tensor = {{ ranks = 4, size = \"1 MB\" }}"),
            "tensor x data x pipeline are 16 ranks, and there are 8",
        ),
        (format!("{data}, order = [\"data\", \"tensor\"]"), "pattern.order: it does not name each of the three"),
        (format!("{data}, window = 2"), "pattern.window: no collective here is direct"),
        ("data = { ranks = 0, size = \"1 MB\" }".into(), "pattern.data.ranks: it is 0"),
        ("data = { ranks = 4, size = \"2 B\" }".into(), "2 B are too few for 4 ranks"),
        ("micro_batches = 2".into(), "pattern: it has one rank"),
        (format!("{data}, micro_batches = 0"), "pattern.micro_batches: it is 0"),
        (format!("{data}, algorithm = \"rings\""), "pattern.algorithm: there is no algorithm \"rings\""),
    ] {
        let found = wrong(&axes);
        assert!(found.contains(said), "{axes}: {found}");
    }
}
