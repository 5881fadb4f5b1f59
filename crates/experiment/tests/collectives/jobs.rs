//! Several jobs: where their ranks are, when they start, and ranks that are slow.

use super::{arrived, run_spec, spec, star};
use fanin_experiment::{Outcome, Spec};
use fanin_record::{SizeRange, summarise};
use std::path::Path;

/// Four racks of four hosts, and a job for each of these patterns and starts.
fn jobs(seed: u64, jobs: &[(&str, &str)]) -> String {
    let mut text = format!(
        "spec_version = 1\nname = \"c\"\nseed = {seed}\n[network]\ntopology = {{ kind = \"leaf-spine\", leaves = 4, \
         hosts = 4, spines = 4, link = \"100 Gbps\", delay = \"1 us\" }}\nbuffer = {{ policy = \"unlimited\" }}\n\
         [measure]\nwindow = \"1 s\"\nstop_when_done = true\n"
    );
    for (number, (start, pattern)) in jobs.iter().enumerate() {
        text += &format!(
            "[[traffic]]\nname = \"job{number}\"\nscheme = \"none\"\nstart = \"{start}\"\npattern = {pattern}\n"
        );
    }
    text
}

fn run(text: &str) -> Outcome {
    let outcome = run_spec(text);
    assert_eq!(summarise(&outcome.run, SizeRange::ALL, false).errors, [""; 0]);
    outcome
}

#[test]
fn ranks_are_where_their_placement_says() {
    let hosts = |seed: u64, placement: &str| -> Vec<u32> {
        let pattern = format!("{{ kind = \"all-reduce\", size = \"16 KB\", placement = \"{placement}\" }}");
        run(&jobs(seed, &[("0 s", &pattern)])).run.jobs[0].hosts.to_vec()
    };
    assert_eq!(hosts(1, "packed"), (0..16).collect::<Vec<u32>>());
    assert_eq!(hosts(1, "strided"), [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15]);
    let random = hosts(1, "random");
    assert!(random == hosts(1, "random") && random != hosts(2, "random") && random != hosts(1, "packed"));
    let mut sorted = random;
    sorted.sort_unstable();
    assert_eq!(sorted, hosts(1, "packed"));
}

/// Of a ring over racks in order, only one message in four leaves its rack; over one rank of each rack in turn, all do.
#[test]
fn packed_ranks_cross_fewer_links() {
    let crossing = |placement: &str| {
        let pattern = format!("{{ kind = \"all-reduce\", size = \"16 KB\", placement = \"{placement}\" }}");
        let outcome = run(&jobs(1, &[("0 s", &pattern)]));
        outcome.run.flows.iter().filter(|flow| flow.src / 4 != flow.dst / 4).count()
    };
    assert_eq!((crossing("packed"), crossing("strided")), (30 * 4, 30 * 16));
}

#[test]
fn jobs_beside_each_other_start_when_they_should() {
    let half = |from: u32| (from..from + 8).map(|host| format!("\"h{host}\"")).collect::<Vec<_>>().join(", ");
    let pattern = |from| format!("{{ kind = \"all-reduce\", size = \"800 KB\", hosts = [{}] }}", half(from));
    let (first, second) = (pattern(0), pattern(8));
    let outcome = run(&jobs(1, &[("0 s", &first), ("30 us", &second)]));
    let starts = |job: u32| outcome.run.graphs.ranks.iter().filter(move |rank| rank.job == job).map(|rank| rank.start);
    assert!(starts(0).all(|start| start.as_ps() == 0) && starts(1).all(|start| start.as_ps() == 30_000_000));
    // Each in its own racks: neither delays the other, but by the order of an ACK and a packet at one instant.
    let times: Vec<f64> = summarise(&outcome.run, SizeRange::ALL, false)
        .traffics
        .iter()
        .map(|traffic| traffic.job.as_ref().expect("a job").time_us.expect("an end"))
        .collect();
    assert!((times[0] - times[1]).abs() < 0.05, "{times:?}");
    // In the same hosts they share the links.
    let together = run(&jobs(1, &[("0 s", &first), ("0 s", &first)]));
    let slower = summarise(&together.run, SizeRange::ALL, false).traffics[0].job.as_ref().expect("a job").time_us;
    assert!(slower > Some(times[0] * 1.3), "{slower:?} {times:?}");
}

/// All wait for the rank whose computation takes longer.
#[test]
fn a_slow_rank_delays_the_others() {
    let job = |slow: &str| {
        let pattern = format!("{{ kind = \"all-reduce\", size = \"160 KB\", repeat = 2, compute = \"50 us\"{slow} }}");
        run(&jobs(1, &[("0 s", &pattern)]))
    };
    let finish = |outcome: &Outcome, rank: usize| outcome.run.graphs.ranks[rank].finish.as_ps();
    let computing = |outcome: &Outcome, rank: usize| outcome.run.graphs.ranks[rank].computing.as_ps();
    let (even, slow) = (job(""), job(", slow = { ranks = [5], factor = 1.5 }"));
    assert_eq!((computing(&slow, 4), computing(&slow, 5)), (100_000_000, 150_000_000));
    assert_eq!(computing(&even, 5), 100_000_000);
    let later = finish(&slow, 0) - finish(&even, 0);
    assert!((25_000_000..=50_000_000).contains(&later), "{later}");
    let wrong = |slow: &str| {
        let pattern = format!("{{ kind = \"all-reduce\", size = \"160 KB\", slow = {slow} }}");
        let spec = Spec::from_toml(&jobs(1, &[("0 s", &pattern)]), "c.toml", Path::new(""));
        spec.and_then(|spec| spec.check()).unwrap_err().to_string()
    };
    let said = wrong("{ ranks = [16], factor = 2.0 }");
    assert!(said.contains("pattern.slow.ranks: there is no rank 16; they are 0 to 15"), "{said}");
    let said = wrong("{ ranks = [1], factor = 0.0 }");
    assert!(said.contains("pattern.slow.factor: 0 is no possible factor"), "{said}");
}

/// Up a binary tree of 15 ranks and down again, as sends and receives: what the triggers of a connection matrix give.
#[test]
fn a_tree_of_messages_takes_what_it_took_as_triggers() {
    let bytes = 262_144;
    let mut text = "num_ranks 15\n".to_string();
    for rank in 0..15u32 {
        let children: Vec<u32> = [2 * rank + 1, 2 * rank + 2].into_iter().filter(|child| *child < 15).collect();
        text += &format!("rank {rank} {{\n");
        for child in &children {
            text += &format!("up{child}: recv {bytes}b from {child} tag 1\n");
            text += &format!("down{child}: send {bytes}b to {child} tag 2\n");
        }
        if rank > 0 {
            let parent = (rank - 1) / 2;
            text += &format!("up: send {bytes}b to {parent} tag 1\ndown: recv {bytes}b from {parent} tag 2\n");
        }
        for child in &children {
            let others = || children.iter().map(|other| format!("down{child} requires up{other}\n"));
            text += &if rank > 0 {
                format!("up requires up{child}\ndown{child} requires down\n")
            } else {
                others().collect()
            };
        }
        text += "}\n";
    }
    let file = std::env::temp_dir().join(format!("fanin-tree-{}.goal", std::process::id()));
    std::fs::write(&file, text).expect("a schedule");
    let pattern = format!("{{ kind = \"goal\", slots = \"none\", file = {:?} }}", file.display().to_string());
    let found = arrived(&star(15, ("400 Gbps", "500 ns"), (4096, 62, 66), &pattern));
    std::fs::remove_file(&file).expect("the schedule");
    assert_eq!(found, (70_372_440, 28 * bytes));
}

#[test]
fn the_delay_of_a_message_in_its_host_comes_before_each_of_them() {
    let topology = "{ kind = \"star\", hosts = 4, link = \"100 Gbps\", delay = \"1 us\" }";
    let pattern = "{ kind = \"all-reduce\", algorithm = \"ring\", size = \"400 KB\" }";
    let plain = spec(topology, "payload = \"4096 B\"", pattern, false);
    let delayed = plain.replace("rdma = { ", "rdma = { overhead = \"2 us\", ");
    let (first, bytes) = arrived(&plain);
    // Six rounds, each after the one before; an ACK of 66 B no longer leaves ahead of the next message.
    assert_eq!(arrived(&delayed), (first + 6 * 2_000_000 - 5 * 5_280, bytes));
}
