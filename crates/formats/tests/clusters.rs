//! Networks of AI clusters from files: SimAI's topologies, and those of ASTRA-sim's analytical backend.
//!
//! `FANIN_GOLDEN_AI` names a folder with SimAI's templates and what is known of them.

use fanin_formats::astra_sim::{self, Dimension, Network, Shape};
use fanin_formats::simai::Cluster;
use fanin_units::{Rate, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::{env, fs};

/// Two servers of two GPUs at one access switch, which two spines are above; the last server's NV switch comes first.
const CLUSTER: &str = "\
9 2 2 3 10 H100
5 4 6 7 8
0 4 2880Gbps 0.000025ms 0
0 6 400Gbps 0.0005ms 0
1 4 2880Gbps 0.000025ms 0
1 6 400Gbps 0.0005ms 0.001
2 5 2880Gbps 0.000025ms 0
2 6 400Gbps 0.0005ms 0
3 5 2880Gbps 0.000025ms 0
3 6 400Gbps 0.0005ms 0
6 7 400Gbps 0.0005ms 0
6 8 400Gbps 0.0005ms 0
";

fn read(text: &str) -> Cluster {
    Cluster::read("t", text.as_bytes()).expect("a topology")
}

fn refused(text: &str) -> String {
    Cluster::read("t", text.as_bytes()).expect_err("a problem").to_string()
}

/// Of ordered pairs of GPUs: how many are at 2, 4 and 6 hops where switches alone relay, how many share an NV switch,
/// and how many of those have an access switch as near.
fn pairs(cluster: &Cluster) -> [usize; 5] {
    let mut next: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for link in &cluster.network.links {
        next.entry(link.a).or_default().insert(link.b);
        next.entry(link.b).or_default().insert(link.a);
    }
    let mut counts = [0; 5];
    for source in 0..cluster.gpus {
        let mut seen = BTreeSet::from([source]);
        let mut here = vec![source];
        for hops in 1.. {
            let reached: BTreeSet<u32> = here.iter().flat_map(|node| &next[node]).copied().collect();
            let reached: Vec<u32> = reached.into_iter().filter(|node| seen.insert(*node)).collect();
            let gpus = reached.iter().filter(|node| **node < cluster.gpus).count();
            match hops {
                2 | 4 | 6 => counts[hops / 2 - 1] += gpus,
                _ => assert_eq!(gpus, 0, "GPUs at {hops} hops"),
            }
            here = reached.into_iter().filter(|node| *node >= cluster.gpus).collect();
            if here.is_empty() {
                break;
            }
        }
        for other in (0..cluster.gpus).filter(|other| *other != source) {
            let common = next[&source].intersection(&next[&other]);
            let (nv, others): (Vec<u32>, Vec<u32>) =
                common.partition(|switch| cluster.names[**switch as usize].starts_with("nv"));
            counts[3] += usize::from(!nv.is_empty());
            counts[4] += usize::from(!nv.is_empty() && !others.is_empty());
        }
    }
    counts
}

#[test]
fn a_cluster_has_names_and_the_ways_of_its_file() {
    let cluster = read(CLUSTER);
    assert!(Cluster::is_one(CLUSTER.as_bytes()) && !Cluster::is_one(b"9 5 10\n5 4 6 7 8\n"));
    let names = ["gpu0.0", "gpu0.1", "gpu1.0", "gpu1.1", "nv1", "nv0", "sw6", "sw7", "sw8"];
    assert_eq!(cluster.names, names);
    assert_eq!((cluster.gpus, &*cluster.gpu_type, &cluster.warnings[..]), (4, "H100", &[][..]));
    let link = cluster.network.links[3];
    assert_eq!((link.a, link.b, link.rate, link.delay.ps, link.error_rate), (1, 6, 400_000_000_000, 500_000, 0.001));
    assert_eq!(cluster.network.links[0].delay.ps, 25_000);
    assert_eq!(pairs(&cluster), [12, 0, 0, 4, 4]);
    // Without the last GPU's way to its NV switch.
    assert_eq!(pairs(&read(&CLUSTER.replace("3 5 2880", "3 8 2880")))[3..], [2, 2]);
}

#[test]
fn what_is_wrong_with_a_cluster_is_told_with_its_line() {
    for (from, to, says) in [
        ("9 2 2 3 10 H100", "9 2 2 3 10", "t:1: the first line has 5 entries; it has six: nodes, GPUs per server"),
        ("9 2 2 3 10 H100", "9 2 2 3 11 H100", "t:1: 11 links, and 10 lines with a link follow; correct the number"),
        ("9 2 2 3 10 H100", "9 0 2 3 10 H100", "t:1: 0 GPUs per server; a server has at least 1"),
        ("9 2 2 3 10 H100", "5 2 2 3 10 H100", "t:1: 5 nodes, 5 of them switches; count GPUs, NV switches and others"),
        ("9 2 2 3 10 H100", "9 2 2 2 10 H100", "t:2: 5 ids of switches; the first line says 4 switches"),
        ("5 4 6 7 8", "5 4 6 7 9", "t:2: a switch is 9; nodes are 0 to 8"),
        ("5 4 6 7 8", "5 4 6 7 3", "t:2: node 3 is a switch; with 4 GPUs, those are nodes 0 to 3"),
        ("5 4 6 7 8", "5 4 6 7 7", "t:2: switch 7 is named twice"),
        ("0 4 2880Gbps", "0 4 2880Xbps", "t:3: a link's rate \"2880Xbps\" is no rate"),
        ("0 6 400Gbps 0.0005ms 0\n", "0 6 400Gbps 0.0005ms\n", "t:4: a link of 4 columns; it has 5"),
        (
            "2 6 400Gbps 0.0005ms 0\n3 5 2880Gbps 0.000025ms 0\n3 6",
            "2 5 400Gbps 0.0005ms 0\n3 5 2880Gbps 0.000025ms 0\n3 5",
            "t: no way leads from GPU 0 to GPU 2; GPUs do not relay",
        ),
        ("6 8 400Gbps", "4 8 400Gbps", "t: NV switch 4 has a link to node 8, a switch; an NV switch joins GPUs alone"),
        ("3 5 2880Gbps 0.000025ms 0\n3 6", "2 5 2880Gbps 0.000025ms 0\n2 6", "t: node 3 is a host without a link"),
    ] {
        assert!(CLUSTER.contains(from), "{from}");
        let shown = refused(&CLUSTER.replacen(from, to, 1));
        assert!(shown.starts_with(says), "{shown}\n{says}");
    }
    let warned = |text: &str| read(text).warnings.iter().map(ToString::to_string).collect::<Vec<_>>();
    let link = |gpu: u32, switch: u32| format!("{gpu} {switch} 400Gbps 0.0005ms 0\n");
    let links: String = (0..4).map(|gpu| link(gpu, 4) + &link(gpu, 5)).collect();
    let [nearest] = &warned(&format!("6 4 1 1 8 H100\n4 5\n{links}"))[..] else { panic!("not one warning") };
    assert!(nearest.starts_with("t: switch 5 joins GPUs alone, as NV switches do, so messages inside a server"));
    let [odd] = &warned(&CLUSTER.replacen("9 2 2", "9 3 2", 1))[..] else { panic!("not one warning") };
    assert_eq!(odd, "t:1: 4 GPUs in servers of 3: the last server has fewer");
}

#[test]
fn templates_of_simai_have_their_ways() {
    let Some(folder) = env::var_os("FANIN_GOLDEN_AI") else {
        let _ = writeln!(std::io::stderr(), "SKIPPED: FANIN_GOLDEN_AI names no folder with recorded cases");
        return;
    };
    let folder = Path::new(&folder);
    let table = fs::read_to_string(folder.join("simai/expected_topology.csv")).expect("a table");
    let mut compared = 0;
    for row in table.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let text = fs::read(folder.join("simai").join(cells[0])).expect("a topology");
        let cluster = Cluster::read(cells[0], &text).expect("a topology");
        let counts = pairs(&cluster).map(|count| count.to_string());
        assert_eq!(counts, cells[7..], "{row}");
        assert_eq!((cluster.gpus.to_string(), &*cluster.gpu_type), (cells[1].into(), cells[6]), "{row}");
        let named = |prefix: &str| cluster.names.iter().filter(|name| name.starts_with(prefix)).count().to_string();
        assert_eq!([named("nv"), named("sw")], cells[3..5], "{row}");
        assert_eq!((cluster.network.links.len().to_string(), cluster.warnings.len()), (cells[5].into(), 0), "{row}");
        compared += 1;
    }
    assert_eq!(compared, 6);
    for (file, says) in [
        ("topo_links.txt", "3 links, and 2 lines"),
        ("topo_unit.txt", "3: a link's rate \"2880Xbps\""),
        ("topo_split.txt", "no way leads from GPU 0 to GPU 1"),
    ] {
        let text = fs::read(folder.join("bad").join(file)).expect("a topology");
        let shown = Cluster::read(file, &text).expect_err("a problem").to_string();
        assert!(shown.contains(says), "{shown}");
    }
}

/// One dimension, or more.
fn yaml(topology: &str, ranks: &str, bandwidth: &str, latency: &str) -> String {
    format!(
        "# Made.\ntopology: [ {topology} ]\nnpus_count: [{ranks}]\nbandwidth: [{bandwidth}]\nlatency: [ {latency} ]\n"
    )
}

/// Hosts, switches and links of a network; the links as names of both ends.
fn table(text: &str) -> (usize, Vec<String>, Vec<String>) {
    let table = Network::read("n.yml", text).expect("a network").table();
    let links = table.links.iter().map(|link| format!("{} {} {} {}", link.a, link.b, link.rate.as_bps(), link.delay));
    (table.hosts.len(), table.switches.clone(), links.collect())
}

#[test]
fn a_dimension_is_joined_as_in_astra_sim() {
    let network = Network::read("n.yml", &yaml("Ring", "8", "3.125", "936.25 # ns\n ")).expect("a network");
    let rate = Rate::from_bps(26_843_545_600);
    let delay = Time::from_ps(936_250);
    assert_eq!(network.dimensions, [Dimension { shape: Shape::Ring, ranks: 8, rate, delay }]);
    let links = |shape: &str, ranks: &str| {
        let (hosts, switches, links) = table(&yaml(shape, ranks, "50.0", "500.0"));
        assert_eq!(hosts.to_string(), ranks);
        (switches, links.iter().map(|link| link.replace(" 429496729600 500 ns", "")).collect::<Vec<_>>())
    };
    // A picosecond of a packet, and no delay.
    let own = |rank: u32| format!("h{rank} r{rank} 1000000000000000000 0 ps");
    assert_eq!(
        links("Switch", "3"),
        (vec!["sw0.0".into()], vec!["h0 sw0.0".into(), "h1 sw0.0".into(), "h2 sw0.0".into()])
    );
    assert_eq!(links("FullyConnected", "4").1, ["h0 h1", "h0 h2", "h1 h2", "h0 h3", "h1 h3", "h2 h3"]);
    // All are neighbours, so that none relays.
    assert_eq!(links("Ring", "2"), (vec![], vec!["h0 h1".into()]));
    assert_eq!(links("Ring", "3"), (vec![], vec!["h0 h1".into(), "h1 h2".into(), "h2 h0".into()]));
    let (switches, ring) = links("Ring", "4");
    assert_eq!(switches, ["r0", "r1", "r2", "r3"]);
    assert_eq!(ring[..4], [0, 1, 2, 3].map(own));
    assert_eq!(ring[4..], ["r0 r1", "r1 r2", "r2 r3", "r3 r0"]);
    let longest = Rate::from_bps(1_000_000_000_000_000_000).tx_time(65_535);
    assert_eq!(longest, Time::from_ps(1));
}

#[test]
fn dimensions_are_multiplied() {
    let (hosts, switches, links) =
        table(&yaml("Switch, Ring, FullyConnected", "3, 2, 1", "400, 50, 1", "936.25, 1000, 1"));
    assert_eq!(hosts, 6);
    assert_eq!(switches, ["r0", "r1", "r2", "r3", "r4", "r5", "sw0.0", "sw0.1"]);
    let of = |end: &str| links.iter().filter_map(|link| link.strip_suffix(end)).map(String::from).collect::<Vec<_>>();
    assert_eq!(
        of(" 3435973836800 936.25 ns"),
        ["r0 sw0.0", "r1 sw0.0", "r2 sw0.0", "r3 sw0.1", "r4 sw0.1", "r5 sw0.1"]
    );
    assert_eq!(of(" 429496729600 1 us"), ["r0 r3", "r1 r4", "r2 r5"]);
    assert_eq!(links.len(), 6 + 6 + 3);
    // A torus: each rank has four neighbours.
    let (_, _, links) = table(&yaml("Ring, Ring", "4, 8", "80, 80", "1000, 1000"));
    let mut neighbours: BTreeMap<&str, usize> = BTreeMap::new();
    for link in &links[32..] {
        link.split(' ').take(2).for_each(|end| *neighbours.entry(end).or_default() += 1);
    }
    assert!(neighbours.len() == 32 && neighbours.values().all(|count| *count == 4), "{neighbours:?}");
}

#[test]
fn what_is_wrong_with_a_network_of_astra_sim_is_told_with_its_line() {
    let right = yaml("Ring", "8", "50.0", "500.0");
    let says = |text: &str| Network::read("n.yml", text).expect_err("a problem").to_string();
    for (from, to, expected) in [
        ("[8]", "[4000000000]", "n.yml:3: npus_count is \"4000000000\"; it is a whole number from 1 to 1000000"),
        ("[8]", "[0]", "n.yml:3: npus_count is \"0\"; it is"),
        ("[8]", "[1]", "n.yml:3: 1 rank; a network has at least 2"),
        ("[8]", "[600000]", "n.yml:3: the ranks make 1200000 nodes; at most 1000000 are possible"),
        ("[8]", "[8, 8]", "n.yml:3: npus_count has 2 entries, and topology 1; each has one for each dimension"),
        ("[8]", "[[8]]", "n.yml:3: this is not a list of single values under a key; write for each dimension:"),
        ("[8]", "[8", "n.yml:"),
        ("Ring", "Mesh", "n.yml:2: topology \"Mesh\" is not known; it is Ring, FullyConnected or Switch"),
        ("[50.0]", "[0]", "n.yml:4: \"0\" is no bandwidth, in 2^30 bytes per second; it is a number above 0"),
        ("[50.0]", "[.inf]", "n.yml:4: \".inf\" is no bandwidth"),
        ("500.0", "-1", "n.yml:5: \"-1\" is no latency, in ns; it is a number at least 0 and at most 1000000000"),
        ("latency", "delay", "n.yml: key latency is missing; the file has for each dimension: topology: [ Ring ]"),
        ("latency", "bandwidth", "n.yml:5: key \"bandwidth\" is in line 4 too; leave one out"),
    ] {
        assert!(right.contains(from), "{from}");
        let shown = says(&right.replacen(from, to, 1));
        assert!(shown.starts_with(expected), "{shown}");
    }
    let full = yaml("FullyConnected", "1500", "1", "1");
    assert_eq!(says(&full), "n.yml:3: the ranks make 1124250 links; at most 1000000 are possible");
    let many = yaml("Ring, Ring, Ring, Ring", "999999, 999999, 999999, 999999", "1, 1, 1, 1", "1, 1, 1, 1");
    assert!(says(&many).starts_with("n.yml:3: the ranks make 2^64 or more nodes"), "{}", says(&many));
    assert!(says("- 1\n").starts_with("n.yml:1: this is not a list"));
    assert!(says("").contains("this is not a list"));
    let keys: String = (0..70).map(|key| format!("k{key}: 1\n")).collect();
    assert!(says(&keys).starts_with("n.yml:65: more than 64 keys"));
    let read = Network::read("n.yml", &(right.clone() + "packet-size: 1\n")).expect("a network").table();
    assert_eq!(read.warnings[0].to_string(), "n.yml:6: key \"packet-size\" is not used");
    assert!(astra_sim::is_line("topology: [ Ring ]") && !astra_sim::is_line("a,b,rate,delay"));
}

#[test]
fn any_bytes_are_a_network_or_an_error() {
    let of_yaml = yaml("Ring, Switch", "4, 8", "80, 80", "1000, 1000");
    mutate(&of_yaml, astra_sim::fuzz);
    mutate(CLUSTER, fanin_formats::simai::fuzz_topology);
    astra_sim::fuzz("[".repeat(100_000).as_bytes());
    astra_sim::fuzz(("topology: ".to_string() + &"{a: ".repeat(100_000)).as_bytes());
}

/// Reads each beginning of a text, and the text with each byte replaced.
fn mutate(text: &str, read: fn(&[u8])) {
    for at in 0..text.len() {
        read(&text.as_bytes()[..at]);
        for byte in b"0 \n[]{}:,&*-9\xff" {
            let mut other = text.as_bytes().to_vec();
            other[at] = *byte;
            read(&other);
        }
    }
}
