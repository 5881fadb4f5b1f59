//! Broken specs, from text to result.

use fanin_fuzz::specs::{Case, End, Folder, check, corpus, run};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Specs to break: 20 for each random case of other tests, which makes 10,000 of the 500 in `make test`. A thousand
/// take some seconds.
fn cases() -> u64 {
    20 * std::env::var("FANIN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(32)
}

#[test]
fn broken_specs_end_in_a_result_or_in_lines_that_say_where() {
    let first = std::env::var("FANIN_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let (next, ends, found) = (AtomicU64::new(first), [const { AtomicU64::new(0) }; 3], AtomicU64::new(0));
    let some = || {
        let folder = Folder::new().unwrap();
        loop {
            let seed = next.fetch_add(1, Relaxed);
            if seed >= first + cases() || found.load(Relaxed) >= 20 {
                return;
            }
            let case = Case::new(seed);
            match run(&case, &folder) {
                Ok(end) => _ = ends[end as usize].fetch_add(1, Relaxed),
                Err(what) => {
                    eprintln!("seed {seed}: {what}\n{}", shortened(&case.text));
                    found.fetch_add(1, Relaxed);
                }
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..threads).for_each(|_| _ = scope.spawn(some)));
    assert_eq!(found.into_inner(), 0, "after 20 there may be more");
    // Neither all good nor all bad: otherwise nothing is tested.
    let [refused, too_large, ran] = ends.map(AtomicU64::into_inner);
    assert_eq!(refused + too_large + ran, cases());
    assert!(8 * refused > cases() && 8 * ran > cases(), "{refused} {too_large} {ran}");
}

fn shortened(text: &str) -> String {
    text.lines().map(|line| line.chars().take(300).collect::<String>() + "\n").take(200).collect()
}

#[test]
fn what_is_broken_was_good() {
    let folder = Folder::new().unwrap();
    let files = Case::new(0).files.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    assert_eq!(files.len(), 8);
    for (text, _) in corpus() {
        let good = fanin_fuzz::specs::files().iter().map(|(name, text)| (*name, text.as_bytes().to_vec())).collect();
        let case = Case { text: text.clone(), files: good };
        let end = run(&case, &folder).unwrap_or_else(|what| panic!("{what}\n{text}"));
        assert_eq!(end, End::Ran, "{text}");
    }
    // Whatever a spec can say is in one of them.
    let all: String = corpus().iter().map(|(text, _)| text.as_str()).collect();
    for kind in [
        "star",
        "dumbbell",
        "parking-lot",
        "leaf-spine",
        "fat-tree",
        "clos",
        "hpcc-fat-tree",
        "graph",
        "poisson",
        "incast",
        "permutation",
        "all-to-all",
        "long",
        "query",
        "list",
        "hpcc",
        "htsim",
        "step",
        "red",
        "red-average",
        "pi",
    ] {
        let kind = format!("kind = \"{kind}\"");
        assert!(all.contains(&kind), "no {kind} among {} specs", corpus().len());
    }
    for file in ["links.csv", "nodes.csv", "topology.txt", "tree.topo"] {
        assert!(all.contains(&format!("= \"{file}\"")), "no spec names {file}");
    }
}

#[test]
fn every_beginning_of_a_spec_is_read_or_refused_in_lines() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/incast.toml");
    let text = std::fs::read_to_string(path).unwrap();
    for (end, _) in text.char_indices() {
        check(&text[..end]).unwrap_or_else(|what| panic!("the first {end} bytes: {what}"));
    }
}

/// A spec of this topology and traffic, with 1 ms to measure.
fn spec(topology: &str, traffic: &str) -> String {
    format!(
        "spec_version = 1\nname = \"x\"\n[network]\ntopology = {{ {topology}, link = \"10 Gbps\", delay = \"1 us\" \
         }}\nbuffer = {{ policy = \"lossless\", per_port = \"1 MB\" }}\n{traffic}[measure]\nwindow = \"1 ms\"\n"
    )
}

#[test]
fn hostile_specs_are_refused_or_bounded() {
    let star = |hosts: u64| format!("kind = \"star\", hosts = {hosts}");
    let traffic = |name: &str, rest: &str| format!("[[traffic]]\nname = \"{name}\"\nscheme = \"none\"\n{rest}\n");
    let burst = traffic("a", "pattern = { kind = \"incast\", degree = 1 }\nsize = { fixed = \"1 KB\" }");
    let all = traffic("a", "pattern = { kind = \"all-to-all\" }\nsize = { fixed = \"1 KB\" }");
    let asks = traffic("a", "pattern = { kind = \"query\", rounds = 4000000000 }\nsize = { fixed = \"1 KB\" }");
    let few_asks = traffic(
        "a",
        "pattern = { kind = \"query\", clients = [\"h0\"], rounds = 100000 }\nsize = { fixed = \"1 KB\" }",
    );
    let often =
        traffic("a", "pattern = { kind = \"incast\", degree = 2, every = \"1 ps\" }\nsize = { fixed = \"1 B\" }");
    let poisson = traffic(
        "a",
        "pattern = { kind = \"poisson\" }\nsize = { fixed = \"1 B\" }\nload = { share = 20.0, of = \"host-links\" }",
    );
    let device = traffic("a", "pattern = { kind = \"list\", file = \"/dev/zero\" }");
    let folder_of = traffic("a", "pattern = { kind = \"incast\", degree = 1 }\nsize = { cdf = \"/\" }");
    let many: String =
        (0..10_000).map(|i| traffic(&i.to_string(), "pattern = { kind = \"long\", count = 1 }")).collect();
    let dart = burst.replace("\"none\"", "\"dart\"");
    let deep = |open: &str, close: &str| format!("a = {}{}\n", open.repeat(50_000), close.repeat(50_000));
    let names: String = (0..20_000).map(|i| format!("\"nobody{i}\", ")).collect();
    let unknown = traffic(
        "a",
        &format!("pattern = {{ kind = \"all-to-all\", hosts = [{names}] }}\nsize = {{ fixed = \"1 KB\" }}"),
    );
    let folder = Folder::new().unwrap();
    for (name, text, end) in [
        ("10^9 hosts", spec(&star(1_000_000_000), &burst), Some(End::Refused)),
        ("10^18 hosts", spec(&star(1_000_000_000_000_000_000), &burst), Some(End::Refused)),
        ("10^6 hosts", spec(&star(999_999), &burst), None),
        ("10^5 pods", spec("kind = \"fat-tree\", k = 100000", &burst), Some(End::Refused)),
        ("the largest fat tree", spec("kind = \"fat-tree\", k = 110", &burst), None),
        ("the largest fat tree under Dart", spec("kind = \"fat-tree\", k = 110", &dart), None),
        ("a rack per host", spec("kind = \"leaf-spine\", leaves = 16000, hosts = 1, spines = 2", &burst), None),
        ("10^10 pairs", spec(&star(100_000), &all), Some(End::Refused)),
        // A way over all of them takes longer than a time can be.
        (
            "slow links",
            spec("kind = \"parking-lot\", switches = 2000, hosts = 1", &burst).replace("10 Gbps", "1 bps"),
            Some(End::Refused),
        ),
        ("rounds", spec(&star(100), &asks), Some(End::Refused)),
        ("a million queries", spec(&star(4), &few_asks), None),
        ("a group each ps", spec(&star(4), &often), Some(End::Refused)),
        ("messages of a byte", spec(&star(1000), &poisson), Some(End::Refused)),
        ("a device", spec(&star(4), &device), Some(End::Refused)),
        ("a folder", spec(&star(4), &folder_of), Some(End::Refused)),
        ("10,000 traffics", spec(&star(4), &many), None),
        ("10,000 traffics on 10^5 hosts", spec(&star(100_000), &many), Some(End::Refused)),
        ("20,000 unknown names", spec(&star(100_000), &unknown), Some(End::Refused)),
        ("lists in lists", deep("[", "]"), Some(End::Refused)),
        ("tables in tables", deep("{a = ", "}"), Some(End::Refused)),
        ("keys in keys", format!("{}b = 1\n", "a.".repeat(50_000)), Some(End::Refused)),
        ("heads of tables", format!("[{}b]\n", "a.".repeat(50_000)), Some(End::Refused)),
    ] {
        let began = std::time::Instant::now();
        let ended = run(&Case { text, files: Vec::new() }, &folder).unwrap_or_else(|what| panic!("{name}: {what}"));
        println!("{name}: {ended:?} after {:.2?}", began.elapsed());
        assert!(end.is_none_or(|end| end == ended), "{name}: {ended:?}");
    }
}
