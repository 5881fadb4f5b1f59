//! Networks and flows in files of their users.

use super::*;
use crate::explain;
use fanin_units::Rate;
use std::path::PathBuf;

/// A folder of files that goes when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn of(test: &str, files: &[(&str, &str)]) -> Self {
        let path = std::env::temp_dir().join(format!("fanin-own-data-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let folder = Self(path);
        files.iter().for_each(|(name, text)| folder.write(name, text));
        folder
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).unwrap();
    }

    fn check(&self, text: &str) -> Result<CheckedSpec, Problems> {
        Spec::from_toml(text, "x.toml", &self.0).and_then(|spec| spec.check())
    }

    /// The problems of a spec, without the folder.
    fn wrong(&self, text: &str) -> String {
        let problems = self.check(text).err().unwrap_or_else(|| panic!("it is not refused: {text}"));
        problems.to_string().replace(&format!("{}/", self.0.display()), "")
    }

    /// Its warnings, without the folder.
    fn warnings(&self, text: &str) -> Vec<String> {
        let checked = self.check(text).unwrap_or_else(|problems| panic!("{problems}"));
        checked.warnings().iter().map(|w| w.replace(&format!("{}/", self.0.display()), "")).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn spec(topology: &str, more: &str) -> String {
    format!(
        "spec_version = 1\nname = \"x\"\n[network]\ntopology = {topology}\nbuffer = {{ per_port = \"500 KB\", policy = \
         \"lossless\" }}\n{more}[[traffic]]\nname = \"t\"\nscheme = \"timely\"\npattern = {{ kind = \"permutation\" \
         }}\nsize = {{ fixed = \"1 KB\" }}\n[measure]\nwindow = \"1 ms\"\n"
    )
}

const LINKS: &str = "\
a,b,rate,delay
web-1,leaf0,100 Gbps,1 us
web-2,leaf0,100 Gbps,1 us
db,leaf1,25 Gbps,500 ns
leaf0,leaf1,100 Gbps,2 us
";

const NS3: &str =
    "5 2 4\n1 3\n0 1 100Gbps 1us 0.0\n2 1 25Gbps 1us 0.01\n4 3 100Gbps 0.002ms 0\n1 3 40Gbps 1000ns 0.25\n";

const TREE: &str = "\
# two tiers
Nodes 4
Tiers 2
Podsize 4
Tier 0
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 1
Queue_Up 100000
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 200
Radix_Down 2
Downlink_Latency_ns 2000
Switch_Latency_ns 300
";

#[test]
fn a_table_of_links_is_the_network_that_it_says() {
    let folder = Folder::of("links", &[("links.csv", LINKS)]);
    let checked = folder.check(&spec("{ file = \"links.csv\" }", "")).unwrap();
    let graph = &checked.network().graph;
    assert_eq!((graph.hosts, &graph.names[..]), (3, &["web-1", "web-2", "db", "leaf0", "leaf1"].map(String::from)[..]));
    let ends: Vec<_> = graph.links.iter().map(|l| (l.a.0, l.b.0, l.rate, l.delay)).collect();
    assert_eq!(ends[2], (2, 4, Rate::from_gbps(25), Time::from_ns(500)));
    assert_eq!(ends[3], (3, 4, Rate::from_gbps(100), Time::from_us(2)));
    assert!(checked.warnings().is_empty());
    // The resolved spec does not depend on the file, and equals that of the graph written by hand.
    let hand = "{ kind = \"graph\", hosts = [\"web-1\", \"web-2\", \"db\"], switches = [\"leaf0\", \"leaf1\"], links = \
                [{ between = [\"web-1\", \"leaf0\"], rate = \"100 Gbps\", delay = \"1 us\" }, { between = [\"web-2\", \
                \"leaf0\"], rate = \"100 Gbps\", delay = \"1 us\" }, { between = [\"db\", \"leaf1\"], rate = \"25 \
                Gbps\", delay = \"500 ns\" }, { between = [\"leaf0\", \"leaf1\"], rate = \"100 Gbps\", delay = \"2 \
                us\" }] }";
    let text = checked.to_toml();
    drop(folder);
    assert_eq!(super::checked(&text).unwrap(), checked);
    assert_eq!(super::checked(&spec(hand, "")).unwrap(), checked);
    // All later steps use a graph like any other: tiers, capacities, the path between two hosts.
    let told = serde_json::to_value(explain(&checked)).unwrap();
    assert_eq!(told, serde_json::to_value(explain(&super::checked(&spec(hand, "")).unwrap())).unwrap());
}

#[test]
fn a_table_of_nodes_gives_hosts_their_numbers() {
    let links = LINKS.replace("db,leaf1,25 Gbps,500 ns", "db,leaf1,25 Gbps,500 ns\ndb,leaf0,25 Gbps,500 ns");
    let nodes = "name,kind\ndb,host\nweb-2,host\nweb-1,host\nleaf0,switch\nleaf1,switch\n";
    let folder = Folder::of("nodes", &[("links.csv", &links), ("nodes.csv", nodes)]);
    let checked = folder.check(&spec("{ file = \"links.csv\", nodes = \"nodes.csv\" }", "")).unwrap();
    let graph = &checked.network().graph;
    assert_eq!(graph.names[..3], ["db", "web-2", "web-1"].map(String::from));
    assert_eq!(graph.nic_rate()[0], Rate::from_gbps(50));
}

#[test]
fn a_topology_file_of_ns3_brings_names_and_losses() {
    let folder = Folder::of("ns3", &[("topology.txt", NS3)]);
    let checked = folder.check(&spec("{ file = \"topology.txt\" }", "")).unwrap();
    let graph = &checked.network().graph;
    assert_eq!((graph.hosts, &graph.names[..]), (3, &["h0", "h2", "h4", "s1", "s3"].map(String::from)[..]));
    let of: Vec<_> = graph.links.iter().map(|l| (l.rate.as_bps() / 1_000_000_000, l.delay, l.error_rate)).collect();
    let us = Time::from_us;
    assert_eq!(of, [(100, us(1), 0.0), (25, us(1), 0.01), (100, us(2), 0.0), (40, us(1), 0.25)]);
    // A change in the spec replaces what the file says of that link.
    let change = "links = [{ between = [\"s1\", \"h2\"], error_rate = 0.5 }]\n";
    let checked = folder.check(&spec("{ file = \"topology.txt\", format = \"ns3\" }", change)).unwrap();
    let rates: Vec<f64> = checked.network().graph.links.iter().map(|l| l.error_rate).collect();
    assert_eq!(rates, [0.0, 0.5, 0.0, 0.25]);
    assert_eq!(super::checked(&checked.to_toml()).unwrap(), checked);
    // Its flow file goes with it: host n of that simulator is h and n.
    folder.write("flow.txt", "1\n4 2 3 100 1000 2.0\n");
    let flows = spec("{ file = \"topology.txt\" }", "").replace(
        "{ kind = \"permutation\" }\nsize = { fixed = \"1 KB\" }",
        "{ kind = \"hpcc\", file = \"flow.txt\", from = \"2 s\" }",
    );
    let first = folder.check(&flows).unwrap().build().messages.next().unwrap();
    assert_eq!((first.src, first.dst), (2, 1));
    assert_eq!(folder.warnings(&flows), [] as [&str; 0]);
    // Files of forks are read as theirs, and that is said.
    folder.write("topology.txt", &NS3.replacen("5 2 4", "5 2 1 4", 1));
    folder.write("flow.txt", "1\n4 2 3 1000 2.0\n");
    let said = [
        "topology.txt is read in the dialect of PowerTCP (powertcp), since its first line has four numbers: nodes, \
         switches, racks, links",
        "flow.txt is read in the dialect of ConWeave (conweave), since its flows have no port",
    ];
    assert_eq!(folder.warnings(&flows), said);
}

#[test]
fn a_tree_of_htsim_is_wired_as_there() {
    let folder = Folder::of("htsim", &[("tree.topo", TREE)]);
    let text = spec("{ file = \"tree.topo\" }", "");
    let checked = folder.check(&text).unwrap();
    let graph = &checked.network().graph;
    let names = ["h0", "h1", "h2", "h3", "tor0", "tor1", "agg0"];
    assert_eq!((graph.hosts, &graph.names[..]), (4, &names.map(String::from)[..]));
    let up = graph.links.last().unwrap();
    // Half of the upper switch's 300 ns is on the link.
    assert_eq!((up.rate, up.delay), (Rate::from_gbps(200), Time::from_ns(2150)));
    let [queues] = &folder.warnings(&text)[..] else { panic!("not one warning") };
    assert_eq!(
        queues,
        "tree.topo: Queue_Down and Queue_Up are not used; network.buffer of the spec sets the size of queues"
    );
}

/// Servers of two GPUs at one access switch below a spine.
const SIMAI: &str = "\
8 2 2 2 9 H100
4 5 6 7
0 4 2880Gbps 0.000025ms 0
0 6 400Gbps 0.0005ms 0
1 4 2880Gbps 0.000025ms 0
1 6 400Gbps 0.0005ms 0.001
2 5 2880Gbps 0.000025ms 0
2 6 400Gbps 0.0005ms 0
3 5 2880Gbps 0.000025ms 0
3 6 400Gbps 0.0005ms 0
6 7 400Gbps 0.0005ms 0
";

#[test]
fn a_topology_of_simai_has_servers_of_gpus() {
    let folder = Folder::of("simai", &[("cluster.txt", SIMAI)]);
    let text = spec("{ file = \"cluster.txt\" }", "");
    let checked = folder.check(&text).unwrap();
    let graph = &checked.network().graph;
    let names = ["gpu0.0", "gpu0.1", "gpu1.0", "gpu1.1", "nv0", "nv1", "sw6", "sw7"];
    assert_eq!((graph.hosts, &graph.names[..]), (4, &names.map(String::from)[..]));
    let nvlink = &graph.links[0];
    assert_eq!((nvlink.rate, nvlink.delay), (Rate::from_gbps(2880), Time::from_ps(25_000)));
    let losses: Vec<f64> = graph.links.iter().map(|link| link.error_rate).collect();
    assert_eq!(losses, [0.0, 0.0, 0.0, 0.001, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(folder.warnings(&text), [] as [&str; 0]);
    // As a file of ns-3's it has that simulator's names.
    let as_fork = spec("{ file = \"cluster.txt\", format = \"ns3\" }", "");
    assert_eq!(folder.check(&as_fork).unwrap().network().graph.names[..5], ["h0", "h1", "h2", "h3", "s4"]);
    folder.write("cluster.txt", &SIMAI.replace("2 6 400", "2 5 400").replace("3 6 400", "3 5 400"));
    let shown = folder.wrong(&text);
    let says = "cluster.txt: no way leads from GPU 0 to GPU 2; GPUs do not relay";
    assert!(shown.starts_with(says), "{shown}");
}

#[test]
fn a_network_of_astra_sim_has_hosts_at_switches_of_their_own() {
    let ring = "# Made.\ntopology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n";
    let folder = Folder::of("astra-sim", &[("ring.yml", ring)]);
    let text = spec("{ file = \"ring.yml\" }", "");
    let checked = folder.check(&text).unwrap();
    let graph = &checked.network().graph;
    assert_eq!((graph.hosts, graph.names.len(), graph.links.len()), (4, 8, 8));
    assert_eq!((graph.links[4].rate, graph.links[4].delay), (Rate::from_bps(50 << 33), Time::from_ns(500)));
    assert_eq!(super::checked(&checked.to_toml()).unwrap(), checked);
    folder.write("ring.yml", &ring.replace("[ 4 ]", "[ 4000000000 ]"));
    let shown = folder.wrong(&text);
    assert!(shown.starts_with("ring.yml:3: npus_count is \"4000000000\"; it is a whole number"), "{shown}");
    let other = spec("{ file = \"ring.yml\", format = \"simai\" }", "");
    assert!(folder.wrong(&other).starts_with("ring.yml:1: the first line has 2 entries; it has six"));
}

#[test]
fn what_is_wrong_with_a_network_in_a_file_is_said_with_its_line() {
    let folder = Folder::of("wrong", &[("topology.txt", NS3), ("tree.topo", TREE), ("nodes.csv", "name,kind\n")]);
    let of_links = |from: &str, to: &str| {
        assert!(LINKS.contains(from), "{from}");
        folder.write("links.csv", &LINKS.replace(from, to));
        folder.wrong(&spec("{ file = \"links.csv\" }", ""))
    };
    for (from, to, says) in [
        ("25 Gbps", "0 Gbps", "links.csv:4: rate is 0, so it never sends; use a rate above 0"),
        ("500 ns", "5 s", "links.csv:4: delay is 5 s; use at most 1 s"),
        ("leaf0,leaf1,", "leaf0,leaf0,", "links.csv:5: both ends are \"leaf0\"; join two different nodes"),
        ("leaf0,leaf1,", "leaf0,core,", "links.csv: no way leads from host \"web-1\" to host \"db\"; join them"),
        ("rate", "speed", "links.csv:1: column rate is missing: the file has a, b, speed, delay; it needs a, b (names"),
        (&LINKS[15..], "a,b,1 Gbps,1 us\nb,c,1 Gbps,1 us\nc,a,1 Gbps,1 us\n", "links.csv: fewer than 2 nodes"),
    ] {
        let shown = of_links(from, to);
        assert!(shown.starts_with(says), "{shown}");
    }
    for (topology, says) in [
        ("{ file = \"none.csv\" }", "x.toml:4: network.topology.file: none.csv cannot be read: there is no such file"),
        (
            "{ file = \"x.bin\" }",
            "x.toml:4: network.topology.file: x.bin is not in a known topology format; give a topology file",
        ),
        ("{ file = \"tree.topo\", format = \"ns3\" }", "tree.topo:1: the number of nodes is \"#\""),
        (
            "{ file = \"tree.topo\", nodes = \"nodes.csv\" }",
            "x.toml:4: network.topology.nodes: only a table of links can have a table of nodes; leave it out: \
             tree.topo",
        ),
        ("{ file = \"loses.txt\" }", "loses.txt: the link between 1 and 3 loses every packet; leave it out"),
        ("{ file = \"far.txt\" }", "far.txt: link 3: delay is 2 s; use at most 1 s"),
        ("{ kind = \"file\", file = \"tree.topo\" }", "x.toml:4: network.topology.kind: unknown key; known: file"),
        ("{ fiel = \"tree.topo\" }", "x.toml:4: network.topology.kind: this key is missing; write one of \"star\""),
        ("{ hosts = 3 }", "x.toml:4: network.topology.kind: this key is missing; write one of \"star\""),
        (
            "{ file = \"tree.topo\", format = \"ns4\" }",
            "x.toml:4: network.topology.format: \"ns4\" is not known; did you mean",
        ),
    ] {
        folder.write("x.bin", "hello\nworld\n");
        folder.write("loses.txt", &NS3.replace("0.25", "1"));
        folder.write("far.txt", &NS3.replace("0.002ms", "2s"));
        let shown = folder.wrong(&spec(topology, ""));
        assert!(shown.starts_with(says), "{shown}");
    }
    assert!(folder.wrong(&spec("{ hosts = 3 }", "")).contains("or give the key file instead"));
}

/// The spec with another pattern, without a size.
fn with_list(pattern: &str, measure: &str) -> String {
    spec("{ kind = \"star\", hosts = 4, link = \"10 Gbps\", delay = \"1 us\" }", "")
        .replace("{ kind = \"permutation\" }\nsize = { fixed = \"1 KB\" }", pattern)
        .replace("window = \"1 ms\"", measure)
}

#[test]
fn flows_may_name_hosts_and_have_further_columns() {
    let table = "src,dst,bytes,start_us,app,note\nweb-2,db,5000,0,a,\n0,web-2,100,3,b,\n";
    let folder = Folder::of("flows", &[("links.csv", LINKS), ("flows.csv", table)]);
    let text = spec("{ file = \"links.csv\" }", "").replace(
        "{ kind = \"permutation\" }\nsize = { fixed = \"1 KB\" }",
        "{ kind = \"list\", file = \"flows.csv\" }",
    );
    let ends: Vec<_> = folder.check(&text).unwrap().build().messages.map(|m| (m.src, m.dst)).collect();
    assert_eq!(ends, [(1, 2), (0, 1)]);
    assert_eq!(folder.warnings(&text), ["flows.csv:1: columns app, note are not used"]);
    folder.write("flows.csv", &table.replace("web-2,db", "web-3,db"));
    let shown = folder.wrong(&text);
    assert!(shown.starts_with("flows.csv:2: there is no host \"web-3\"; did you mean \"web-"), "{shown}");
}

#[test]
fn messages_that_cannot_be_measured_are_said_before_the_run() {
    let folder = Folder::of("window", &[("flows.csv", "src,dst,bytes,start_us\n0,1,5000,100\n1,2,5000,300\n")]);
    let list = "{ kind = \"list\", file = \"flows.csv\" }";
    // Beside a traffic that is measured: where none is, one warning is of the whole run.
    let other =
        "[[traffic]]\nname = \"long\"\nscheme = \"timely\"\npattern = { kind = \"long\", count = 1 }\n[measure]";
    let warned = |pattern: &str, measure: &str| {
        folder.warnings(&with_list(pattern, measure).replace("[measure]", other)).join("\n")
    };
    let alone = with_list(list, "warm_up = \"301 us\"\nwindow = \"1 ms\"");
    assert_eq!(folder.warnings(&alone), Vec::<String>::new());
    assert!(folder.check(&alone).unwrap().foreseen()[0].starts_with("no message is posted in the measured window"));
    let late = warned(list, "warm_up = \"301 us\"\nwindow = \"1 ms\"");
    assert!(
        late.starts_with("traffic[0]: no message is measured: they start from 100 us to 300 us, before the end"),
        "{late}"
    );
    assert_eq!(warned(list, "warm_up = \"300 us\"\nwindow = \"1 ms\""), "");
    let early = warned(list, "warm_up = \"50 us\"\nwindow = \"50 us\"");
    assert!(early.starts_with("traffic[0]: no message is sent: they start from 100 us to 300 us, and the"), "{early}");
    assert_eq!(warned(list, "warm_up = \"50 us\"\nwindow = \"51 us\""), "");
    // Patterns that happen once are known as well, and those that go on are none of this.
    let measure = "warm_up = \"10 us\"\nwindow = \"1 ms\"";
    let size = "size = { fixed = \"1 KB\" }";
    let once = warned(&format!("{{ kind = \"incast\", degree = 2, jitter = \"9 us\" }}\n{size}"), measure);
    assert!(
        once.starts_with("traffic[0]: no message is measured: they start from ") && once.contains(" to 9 us, before"),
        "{once}"
    );
    assert!(
        warned(&format!("{{ kind = \"all-to-all\" }}\n{size}"), measure)
            .contains("no message is measured: they start at ")
    );
    for fine in [
        &format!("{{ kind = \"incast\", degree = 2, jitter = \"10 us\" }}\n{size}"),
        &format!("{{ kind = \"incast\", degree = 2, every = \"500 us\" }}\n{size}"),
        &format!("{{ kind = \"permutation\", every = \"500 us\" }}\n{size}"),
        "{ kind = \"long\", count = 2 }",
    ] {
        assert_eq!(warned(fine, measure), "", "{fine}");
    }
    folder.write("flows.csv", "src,dst,bytes,start_us\n");
    assert_eq!(warned(list, measure), "traffic[0]: its file has no messages");
}
