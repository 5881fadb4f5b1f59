//! The times of ASTRA-sim's congestion-aware analytical backend, which is a network of whole messages.

use super::{arrived, run_spec, spec};
use fanin_record::{SizeRange, summarise};

/// What ASTRA-sim (518bd51) took for 1 MiB over links of 50 "GB/s" and 500 ns: per row the operation and algorithm, the
/// ranks, whether they are joined in a ring, a full mesh or by a switch, and when all had ended. On the way to the last
/// end come so many `steps`, one message after another, and `roundings`: each link that a message crosses, and each
/// message that waits for another one's at a link, down to a whole nanosecond. Its halving and doubling has our three
/// names for it, and "direct2" is a window of 2. Its tree has the last rank as root.
///
/// Left out are local memories of 50 GB/s, which reduce takes time in, and ways around its ring to other ranks than
/// neighbours, which all go in one direction where both are equally long.
const TIMES: &str = include_str!("astra_sim.csv");

/// ASTRA-sim's delay at a rank, in ns: before each step, and after the last one.
const ENDPOINT: u64 = 10;

/// Bytes of a collective: the vector of a rank, and of an all-gather what a rank contributes.
const BYTES: u64 = 1 << 20;

/// Links of 50 "GB/s" (2^30 B) in bits per second.
const RATE: u64 = 50 << 33;

/// Hosts joined directly, as ASTRA-sim's ranks, or by a switch. Sizes and rates are divided by `scale`.
fn topology(network: &str, ranks: u32, scale: u64) -> String {
    let rate = RATE / scale;
    let cable = format!("rate = \"{rate} bps\", delay = \"500 ns\"");
    let hosts: Vec<String> = (0..ranks).map(|host| format!("\"h{host}\"")).collect();
    let link = |a: &str, b: &str| format!("{{ between = [{a}, {b}], {cable} }}");
    let (switches, links): (_, Vec<String>) = match network {
        "switch" => {
            return format!("{{ kind = \"star\", hosts = {ranks}, link = \"{rate} bps\", delay = \"500 ns\" }}");
        }
        "mesh" => (
            "",
            (0..hosts.len())
                .flat_map(|a| (0..a).map(move |b| (a, b)))
                .map(|(a, b)| link(&hosts[a], &hosts[b]))
                .collect(),
        ),
        // Any two hosts need a way; the one over the switch is longer than that to a neighbour.
        _ => {
            let ring = (0..hosts.len()).map(|a| link(&hosts[a], &hosts[(a + 1) % hosts.len()]));
            ("\"rest\"", ring.chain(hosts.iter().map(|host| link(host, "\"rest\""))).collect())
        }
    };
    let (hosts, links) = (hosts.join(", "), links.join(", "));
    format!("{{ kind = \"graph\", hosts = [{hosts}], switches = [{switches}], links = [{links}] }}")
}

/// How much larger messages are than a packet may be. Between direct neighbours a message takes the same in packets.
fn scale(network: &str, largest: u64) -> u64 {
    if network == "switch" { largest.div_ceil(PAYLOAD).next_power_of_two() } else { 1 }
}

const PAYLOAD: u64 = 32_768;
const PACKET: &str = "payload = \"32768 B\", header = \"0 B\", ack = \"1 B\"";

/// Whether a run in ps is that of ASTRA-sim in ns without its delays at ranks: at most 1 ns later for each rounding,
/// and one ACK for each of so many messages that a host receives.
fn same(run: u64, astra_sim: u64, roundings: u64, messages: u64, scale: u64) -> bool {
    let acks = messages * (8_000_000_000_000 * scale).div_ceil(RATE);
    (astra_sim * 1000..astra_sim * 1000 + roundings * 1000 + acks).contains(&run)
}

#[test]
fn collectives_take_what_they_take_in_astra_sim() {
    rows().iter().for_each(|row| agrees(row, topology));
}

/// The same networks from files, where the ranks of a ring have switches of their own.
#[test]
fn collectives_on_its_files_take_what_they_take_there() {
    let folder = std::env::temp_dir().join(format!("fanin-astra-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("net.yml");
    for row in rows() {
        agrees(row, |network, ranks, scale| {
            let shape = match network {
                "switch" => "Switch",
                "mesh" => "FullyConnected",
                _ => "Ring",
            };
            let (bandwidth, lists) = (50.0 / scale as f64, format!("topology: [ {shape} ]\nnpus_count: [ {ranks} ]\n"));
            let text = lists + &format!("bandwidth: [ {bandwidth} ]  # GB/s\nlatency: [ 500.0 ]  # ns\n");
            std::fs::write(&file, text).expect("a network");
            format!("{{ file = {:?} }}", file.display().to_string())
        });
    }
    std::fs::remove_dir_all(&folder).expect("the folder");
}

/// The rows of the table.
fn rows() -> Vec<&'static str> {
    let rows: Vec<&str> = TIMES.lines().skip(1).collect();
    assert_eq!(rows.len(), 108);
    rows
}

/// Runs a row on a network of the kind in the row, of so many ranks and with rates divided by a scale.
fn agrees(row: &str, topology: impl Fn(&str, u32, u64) -> String) {
    let [operation, algorithm, window, ranks, network, finish, steps, roundings] =
        row.split(',').collect::<Vec<_>>().try_into().expect("eight columns");
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let n = number(ranks);
    let (total, largest) = match (operation, algorithm) {
        ("all-gather", "recursive-doubling") => (n * BYTES, n / 2 * BYTES),
        ("all-gather", _) => (n * BYTES, BYTES),
        (_, "tree") => (BYTES, BYTES),
        (_, "halving-doubling" | "halving") => (BYTES, BYTES / 2),
        _ => (BYTES, BYTES / n),
    };
    let scale = scale(network, largest);
    let window = if window.is_empty() { String::new() } else { format!(", window = {window}") };
    let backwards: Vec<String> = (0..n).rev().map(|host| format!("\"h{host}\"")).collect();
    let hosts = if algorithm == "tree" { format!(", hosts = [{}]", backwards.join(", ")) } else { String::new() };
    let size = total / scale;
    let pattern =
        format!("{{ kind = \"{operation}\", algorithm = \"{algorithm}\", size = \"{size} B\"{window}{hosts} }}");
    let text = spec(&topology(network, n as u32, scale), PACKET, &pattern, false);
    let outcome = run_spec(&text);
    assert_eq!(summarise(&outcome.run, SizeRange::ALL, false).errors, [""; 0], "{row}");
    let last = outcome.run.flows.iter().map(|flow| flow.finished.as_ps()).max().expect("messages");
    let received = outcome.run.flows.len() as u64 / n + 1;
    let without = number(finish) - ENDPOINT * (number(steps) + 1);
    assert!(same(last, without, number(roundings), received, scale), "{row}: {last} ps");
}

/// ASTRA-sim's switch, which it times to 13,320 and 31,080 ns.
#[test]
fn small_rings_take_what_their_formula_says() {
    for (ranks, bytes, expected) in [(4, 131_072, 13_324_319), (8, 262_144, 31_090_103)] {
        let pattern = format!("{{ kind = \"all-reduce\", size = \"{bytes} B\" }}");
        assert_eq!(arrived(&spec(&topology("switch", ranks, 1), PACKET, &pattern, false)).0, expected, "{ranks}");
    }
}

/// Its ring of eight ranks as sends and receives, one after another, with a computation after the first seven.
#[test]
fn its_ring_of_messages_takes_what_it_takes_there() {
    let folder = std::env::temp_dir().join(format!("fanin-ring-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("ring.goal");
    // A ring or mesh: 14 x 2,941 + 7 x 7,000 ns. Each message crosses two links of a switch, and all but the
    // computations is exposed communication.
    for (network, links, job, exposed) in
        [("ring", 1, 90_174, 41_174), ("mesh", 1, 90_174, 41_174), ("switch", 2, 131_348, 82_348)]
    {
        let scale = scale(network, BYTES / 8);
        let bytes = BYTES / 8 / scale;
        let mut text = "num_ranks 8\n".to_string();
        for rank in 0..8 {
            text += &format!("rank {rank} {{\n");
            let mut lines = Vec::new();
            for step in 0..14 {
                lines.push(format!("send {bytes}b to {} cpu 2", (rank + 1) % 8));
                lines.push(format!("recv {bytes}b from {} cpu 3", (rank + 7) % 8));
                lines.extend((step < 7).then(|| "calc 7000 cpu 1".to_string()));
            }
            for (number, line) in lines.iter().enumerate() {
                text += &format!("l{number}: {line}\n");
            }
            (1..lines.len()).for_each(|number| text += &format!("l{number} requires l{}\n", number - 1));
            text += "}\n";
        }
        std::fs::write(&file, text).expect("a schedule");
        let pattern =
            format!("{{ kind = \"goal\", file = {:?}, send_done = \"arrived\" }}", file.display().to_string());
        let outcome = run_spec(&spec(&topology(network, 8, scale), PACKET, &pattern, false));
        let found = summarise(&outcome.run, SizeRange::ALL, false).traffics[0].job.clone().expect("a job");
        let ps = |us: f64| (us * 1e6).round() as u64;
        assert!(same(ps(found.time_us.expect("an end")), job, 14 * links, 14, scale), "{network}: {found:?}");
        assert!(same(ps(found.exposed_us), exposed, 14 * links, 14, scale), "{network}: {found:?}");
        assert_eq!(found.compute_us, 49.0);
    }
    std::fs::remove_dir_all(&folder).expect("the folder");
}
