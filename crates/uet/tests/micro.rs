//! Small runs of uet-htsim, recorded: each line that it printed, and each event.
//!
//! A file of `data` has the run's options, matrix, topology if there is one, and lines. `[events]` is its event log:
//! the number of lines, then for each 200 of them the FNV-1a hash of 64 bits of these lines with their ends.

use fanin_uet::{Options, Setup};

const BLOCK: usize = 200;
const FNV: u64 = 0xcbf2_9ce4_8422_2325;

/// The part of a file below a heading.
fn part<'a>(file: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = file.split_once(&format!("[{name}]\n"))?;
    Some(rest.split_once("\n[").map_or(rest, |(part, _)| part))
}

/// Hashes of an event log.
#[derive(Default)]
struct Log {
    count: usize,
    hashes: Vec<u64>,
}

impl Log {
    fn line(&mut self, line: &str) {
        if self.count.is_multiple_of(BLOCK) {
            self.hashes.push(FNV);
        }
        self.count += 1;
        let hash = self.hashes.last_mut().expect("a block has begun");
        for byte in line.bytes().chain(*b"\n") {
            *hash = (*hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

fn run(name: &str, file: &str) {
    let options = Options::parse(part(file, "options").expect("options").split_whitespace()).expect("good options");
    let (mut lines, mut log) = (Vec::new(), Log::default());
    let mut record = |line: &str| log.line(line);
    let matrix = part(file, "matrix").expect("a matrix");
    let mut output = |line: &str| lines.push(line.to_owned());
    let setup = Setup::new(options, matrix, part(file, "topology")).expect("good input");
    setup.run(&mut output, Some(&mut record), &mut |_| true);
    let expected: Vec<&str> = part(file, "lines").expect("lines").lines().collect();
    for (at, line) in lines.iter().enumerate() {
        assert_eq!(Some(&line.as_str()), expected.get(at), "{name}: the first different line is line {}", at + 1);
    }
    assert_eq!(lines.len(), expected.len(), "{name}: number of lines");
    let Some(events) = part(file, "events") else { return };
    let mut words = events.split_whitespace();
    let count: usize = words.next().expect("a number of events").parse().expect("a number");
    for (at, hash) in words.enumerate() {
        let from = at * BLOCK + 1;
        let got = log.hashes.get(at).map(|hash| format!("{hash:016x}"));
        assert_eq!(
            got.as_deref(),
            Some(hash),
            "{name}: the first different event is one of the {BLOCK} from {from} on"
        );
    }
    assert_eq!(log.count, count, "{name}: number of events");
}

macro_rules! runs {
    ($($name:ident: $what:literal,)*) => {
        $(
            #[doc = $what]
            #[test]
            fn $name() {
                run($what, include_str!(concat!("data/", stringify!($name), ".txt")));
            }
        )*
    };
}

runs! {
    one_20_nscc: "NSCC alone on a path",
    two_to_one_both: "NSCC and RCCC at a shared link, with marks",
    one_trim_rccc: "RCCC, and one trimmed packet",
    ctrl_loss_both: "lost ACKs, pulls and headers, and requests for credit",
    lost_header_nscc: "dropped headers and timeouts at queues of one packet",
    slow_link_rccc: "reordering behind slow links, and feedback of paths",
    slow_spine_nscc: "a spine of two tiers all of whose links are slow",
    outcast_both: "several senders at one NIC",
    perm16_reps_ack1_rccc: "REPS with an ACK for each packet",
    reps_freeze_rccc: "REPS after timeouts",
    reuse_gaps_rccc: "messages on one connection",
    trig_barrier_nscc: "a barrier of connections",
    trig_oneshot_nscc: "a trigger with two targets",
    trig_multishot_rccc: "a trigger that fires more than once",
    perm32_tiny_both: "an oversubscribed topology from a file",
}
