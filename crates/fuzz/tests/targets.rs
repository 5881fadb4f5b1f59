//! Every reader against broken files, and the harness against broken readers.

use fanin_fuzz::{Mutator, TARGETS, Target, name, run};

/// Inputs for each reader: a tenth of a second at the default.
fn cases() -> u32 {
    20 * std::env::var("FANIN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64)
}

fn target(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).expect("there is such a target")
}

#[test]
fn readers_survive_broken_files() {
    for target in TARGETS {
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "{}", target.name);
        let mut mutator = Mutator::new(1);
        let broken = (0..cases()).map(|_| mutator.input(&seeds));
        for input in seeds.iter().cloned().chain([Vec::new()]).chain(broken) {
            if let Err(what) = run(target, &input) {
                panic!("{}: {what}\ninput {}: {:?}", target.name, name(&input), String::from_utf8_lossy(&input));
            }
        }
    }
}

#[test]
fn nothing_is_allocated_on_the_word_of_a_file() {
    for (name, input) in [
        ("hpcc-topology", "4000000000 1 1\n"),
        ("hpcc-topology", "4000000000 4000000000 4000000000\n0 1 2"),
        ("hpcc-topology", "18446744073709551615 18446744073709551615 18446744073709551615"),
        ("hpcc-topology", "65536 1 4000000000\n0\n0 1 1Gbps 1us 0"),
        ("hpcc-flows", "4000000000\n0 1 3 100 1 2.0\n"),
        ("hpcc-trace-nodes", "4000000000\n0\n"),
        ("hpcc-config", "KMAX_MAP 4000000000 100000000000 1"),
        ("goal", "num_ranks 4000000000\nrank 0 { }\n"),
        ("uec-matrix", "Nodes 32768\nConnections 4000000000\n0->1 start 0 size 1\n"),
        ("uec-matrix", "Nodes 2\n0->1 start 0 size 1\ntrigger id 1 barrier count 4000000000\n"),
        ("uec-topo", "Nodes 32768\nTiers 3\nPodsize 4000000000\n"),
        ("hpcc-tr", "\u{7f}\u{7f}\u{7f}\u{7f}"),
    ] {
        run(target(name), input.as_bytes()).unwrap();
        let (_, bytes) = fanin_fuzz::memory::peak(|| (target(name).run)(input.as_bytes()));
        assert!(bytes < 10_000, "{name}: {bytes} bytes for {input:?}");
    }
}

#[test]
fn files_that_repeat_themselves_take_memory_in_proportion() {
    for (name, line) in [
        ("hpcc-config", "BUFFER_SIZE 1\n"),
        ("hpcc-config", "# BUFFER_SIZE\n"),
        ("hpcc-config", "KMIN_MAP 1 5 5\n"),
        ("hpcc-config", "{"),
        ("hpcc-topology", "1 1 1 "),
        ("hpcc-sizes", "0 0\n"),
        ("hpcc-fct", "0 0 0 0 0 0 0 0\n"),
        ("hpcc-pfc", "0 0 0 0 0\n"),
        ("hpcc-qlen", "time: 0\n"),
        ("hpcc-qlen", "time: 0\n1 1\n"),
        ("chakra", "\0"),
    ] {
        run(target(name), line.repeat(1_000_000 / line.len()).as_bytes()).unwrap();
    }
    let statements = "calc 1 ".repeat(100_000);
    run(target("goal"), format!("num_ranks 1 rank 0 {{ {statements} }}").as_bytes()).unwrap();
    let flows = format!("83333\n{}", "0 1 1 1 1 0\n".repeat(83_333));
    run(target("hpcc-flows"), flows.as_bytes()).unwrap();
    // The widest network that there can be.
    let ids: String = (0..65_536).map(|id| format!("{id} ")).collect();
    let links: String = (0..65_535).map(|id| format!("{id} {} 1 0 0\n", id + 1)).collect();
    run(target("hpcc-topology"), format!("65536 65536 65535\n{ids}\n{links}").as_bytes()).unwrap();
}

#[test]
fn broken_readers_are_found() {
    let seeds = || vec![b"count 12\n".to_vec()];
    let finds = |reads: fn(&[u8])| {
        let target = Target { name: "broken", run: reads, seeds };
        let mut mutator = Mutator::new(1);
        (0..5000).find_map(|_| run(&target, &mutator.input(&seeds())).err())
    };
    let panics = finds(|bytes| assert!(!bytes.contains(&0xff), "a planted fault"));
    assert!(panics.expect("found").contains("a planted fault"));
    let believes = finds(|bytes| {
        let words = std::str::from_utf8(bytes).ok().and_then(|text| text.split_ascii_whitespace().nth(1));
        if let Some(count) = words.and_then(|word| word.parse::<usize>().ok()).filter(|count| *count < 1 << 33) {
            std::hint::black_box(Vec::<u8>::with_capacity(count));
        }
    });
    assert!(believes.expect("found").contains("bytes of memory for a file"));
    assert_eq!(finds(|bytes| drop(std::hint::black_box(bytes.to_vec()))), None);
}

#[test]
fn the_same_seed_breaks_the_same_way() {
    let seeds = (target("hpcc-config").seeds)();
    let inputs = |seed| {
        let mut mutator = Mutator::new(seed);
        (0..50).map(|_| mutator.input(&seeds)).collect::<Vec<_>>()
    };
    assert_eq!(inputs(3), inputs(3));
    assert_ne!(inputs(3), inputs(4));
}
