//! All-to-all: windows, and sizes for each pair of ranks.

use super::{arrived, run_spec, spec, star};
use fanin_experiment::Spec;
use fanin_record::{SizeRange, summarise};
use std::path::Path;

const LINK: (&str, &str) = ("400 Gbps", "500 ns");
const PACKET: (u32, u32, u32) = (4096, 62, 66);

/// Times of a full packet and of an ACK on the link, and of both links' delays, in ps.
const FULL: u64 = 83_160;
const ACK: u64 = 1_320;
const DELAY: u64 = 1_000_000;

#[test]
fn a_window_is_between_all_at_once_and_one_at_a_time() {
    let run = |how: &str| {
        let pattern = format!("{{ kind = \"all-to-all\", size = \"1 MiB\", {how} }}");
        arrived(&star(8, LINK, PACKET, &pattern)).0
    };
    // All at once: each link carries seven messages of 32 packets without a gap, and one ACK among them at most each.
    let once = run("algorithm = \"direct\"");
    let without = (7 * 32 + 1) * FULL + DELAY;
    assert!(once >= without && once < without + 7 * ACK, "{once} {without}");
    assert_eq!(run("algorithm = \"direct\", window = 1"), run("algorithm = \"rotation\""));
    assert_eq!(run("algorithm = \"direct\", window = 7"), once);
    let (two, one) = (run("window = 2"), run("window = 1"));
    assert!(once < two && two < one, "{once} {two} {one}");
    // One after another: seven times 33 packets and both links, and an ACK before all but the first.
    assert_eq!(one, 7 * (33 * FULL + DELAY) + 6 * ACK);
}

#[test]
fn pairs_have_the_bytes_of_their_table() {
    let folder = std::env::temp_dir().join(format!("fanin-sizes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("sizes.csv");
    std::fs::write(&file, "src,dst,bytes\n0,1,4096\n0,2,8192\n2,0,12288\n1,1,9\n").expect("a table");
    let run = |sizes: &str| {
        let outcome = run_spec(&star(3, LINK, PACKET, &format!("{{ kind = \"all-to-all\", {sizes} }}")));
        let summary = summarise(&outcome.run, SizeRange::ALL, false);
        assert_eq!(summary.errors, [""; 0]);
        let flows = || outcome.run.flows.iter();
        let mut sent: Vec<(u32, u32, u64)> = flows().map(|flow| (flow.src, flow.dst, flow.bytes)).collect();
        sent.sort_unstable();
        (sent, flows().map(|flow| flow.finished).collect::<Vec<_>>())
    };
    let (sent, ends) =
        run("sizes = [[\"0 B\", \"4 KiB\", \"8 KiB\"], [\"0 B\", \"9 B\", \"0 B\"], [\"12 KiB\", \"0 B\", \"0 B\"]]");
    assert_eq!(sent, [(0, 1, 4096), (0, 2, 8192), (2, 0, 12_288)]);
    let from_file = run(&format!("sizes_file = {:?}", file.display().to_string()));
    assert_eq!(from_file, (sent, ends));
    std::fs::remove_dir_all(&folder).expect("the folder");
}

#[test]
fn wrong_tables_are_named() {
    let wrong = |pattern: &str| {
        let text = star(2, LINK, PACKET, pattern);
        Spec::from_toml(&text, "c.toml", Path::new("")).and_then(|spec| spec.check()).unwrap_err().to_string()
    };
    let row = "[\"1 KB\", \"2 KB\"]";
    for (pattern, said) in [
        (format!("kind = \"all-to-all\", sizes = [{row}]"), "pattern.sizes: it has 1 lists; there are 2 ranks"),
        (format!("kind = \"all-to-all\", sizes = [{row}, [\"1 KB\"]]"), "pattern.sizes: list 1 has 1 sizes"),
        (format!("kind = \"all-reduce\", sizes = [{row}, {row}]"), "pattern.sizes: all-reduce has one size"),
        (format!("kind = \"all-to-all\", size = \"1 KB\", sizes = [{row}, {row}]"), "pattern.size says the bytes too"),
        ("kind = \"all-to-all\", sizes = [[\"1 KB\", \"0 B\"], [\"0 B\", \"1 KB\"]]".into(), "no rank has anything"),
        ("kind = \"all-to-all\", sizes_file = \"none.csv\"".into(), "none.csv"),
    ] {
        let found = wrong(&format!("{{ {pattern} }}"));
        assert!(found.contains(said), "{pattern}: {found}");
    }
    // What is no collective has none of its keys.
    let text = spec(
        "{ kind = \"star\", hosts = 2, link = \"1 Gbps\", delay = \"1 us\" }",
        "payload = \"1000 B\"",
        "{ kind = \"all-to-all\", window = 2 }",
        false,
    );
    let text = text.replace("rdma =", "size = { fixed = \"1 KB\" }\nrdma =");
    let found = Spec::from_toml(&text, "c.toml", Path::new("")).and_then(|spec| spec.check()).unwrap_err().to_string();
    assert!(found.contains("pattern.window: it is a key of collectives"), "{found}");
}
