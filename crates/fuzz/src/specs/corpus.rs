//! Valid specs to mutate: those of the tree, shortened, and small ones with every topology, pattern and marking.

use fanin_experiment::Spec;
use std::path::Path;
use std::sync::OnceLock;
use toml::{Table, Value};

/// Files that specs may name.
pub fn files() -> &'static [(&'static str, &'static str)] {
    &[
        ("flows.csv", "src,dst,bytes,start_us,group\n0,1,8000,0,\n1,h2,5000,2.5,3\nh2,0,100,2.5,3\n"),
        (
            "links.csv",
            "a,b,rate,delay\nh0,sw0,10 Gbps,1 us\nh1,sw0,10 Gbps,1 us\nh2,s1,10 Gbps,1 us\nh3,s1,1 Gbps,1 \
             us\nsw0,s1,10 Gbps,1 us\n",
        ),
        ("nodes.csv", "name,kind\nh0,host\nh1,host\nh2,host\nh3,host\nsw0,switch\ns1,switch\n"),
        (
            "topology.txt",
            "6 2 5\n4 5\n0 4 10Gbps 1us 0.001\n1 4 10Gbps 1us 0\n2 5 10Gbps 1us 0\n3 5 1Gbps 1us 0\n4 5 10Gbps 1us 0\n",
        ),
        (
            "tree.topo",
            "Nodes 4\nTiers 2\nPodsize 4\nTier 0\nDownlink_speed_Gbps 10\nRadix_Down 2\nRadix_Up \
             2\nDownlink_Latency_ns 1000\nTier 1\nDownlink_speed_Gbps 10\nRadix_Down 2\nDownlink_Latency_ns 1000\n",
        ),
        ("sizes.txt", "0 0\n1000 50 # half\n20000 100\n"),
        ("trace.txt", "2\n0 1 3 100 1000 2.000000000\n1 2 3 200 5000 2.000001000\n"),
        (
            "matrix.cm",
            "Nodes 4\nConnections 2\nTriggers 1\n0->1 id 1 start 0 size 10000 send_done_trigger 1\n2->3 id 2 trigger 1 \
             size 5000\ntrigger id 1 oneshot\n",
        ),
    ]
}

const TOPOLOGIES: &[&str] = &[
    "{ kind = \"star\", hosts = 4, link = \"10 Gbps\", delay = \"1 us\" }",
    "{ kind = \"dumbbell\", left = 2, right = 2, link = \"10 Gbps\", delay = \"1 us\", bottleneck = \"1 Gbps\", \
     bottleneck_delay = \"5 us\" }",
    "{ kind = \"parking-lot\", switches = 3, hosts = 2, link = \"10 Gbps\", delay = \"1 us\", chain_link = \"40 \
     Gbps\", chain_delay = \"2 us\" }",
    "{ kind = \"leaf-spine\", leaves = 2, hosts = 2, spines = 2, link = \"10 Gbps\", delay = \"1 us\", fabric_link = \
     \"40 Gbps\", fabric_delay = \"1 us\" }",
    "{ kind = \"fat-tree\", k = 4, link = \"10 Gbps\", delay = \"1 us\" }",
    "{ kind = \"clos\", pods = 2, tors = 2, hosts = 2, uplinks = 2, aggs = 2, agg_uplinks = 1, cores = 2, link = \"10 \
     Gbps\", delay = \"1 us\", fabric_link = \"40 Gbps\", fabric_delay = \"1 us\" }",
    "{ kind = \"hpcc-fat-tree\" }",
    "{ file = \"links.csv\" }",
    "{ file = \"links.csv\", format = \"links\", nodes = \"nodes.csv\" }",
    "{ file = \"topology.txt\", format = \"ns3\" }",
    "{ file = \"tree.topo\" }",
    "{ kind = \"graph\", hosts = [\"h0\", \"h1\", \"h2\", \"h3\"], switches = [\"sw0\", \"s1\"], links = [{ between = \
     [\"h0\", \"sw0\"], rate = \"10 Gbps\", delay = \"1 us\" }, { between = [\"h1\", \"sw0\"], rate = \"10 Gbps\", \
     delay = \"1 us\" }, { between = [\"h2\", \"s1\"], rate = \"10 Gbps\", delay = \"1 us\" }, { between = [\"h3\", \
     \"s1\"], rate = \"1 Gbps\", delay = \"1 us\" }, { between = [\"sw0\", \"s1\"], rate = \"10 Gbps\", delay = \"1 \
     us\" }] }",
];

const PATTERNS: &[&str] = &[
    "pattern = { kind = \"poisson\", senders = [\"h0\", \"h1\"], receivers = [\"h2\", \"h3\"], inter_rack_only = false \
     }\nsize = { cdf = \"WebSearch\" }\nload = { share = 0.4, of = \"host-links\" }",
    "pattern = { kind = \"incast\", degree = 2, jitter = \"1 us\", size_per_sender = true, receivers = [\"h0\"] \
     }\nsize = { uniform = [\"1 KB\", \"20 KB\"] }\nload = { share = 0.2, of = \"receiver-link\" }",
    "pattern = { kind = \"incast\", degree = 2, every = \"20 us\" }\nsize = { uniform_of = [\"2 KB\", \"8 KB\"] }",
    "pattern = { kind = \"permutation\", hosts = [\"h0\", \"h1\", \"h2\"], jitter = \"1 us\", every = \"20 us\" \
     }\nsize = { pareto = { mean = \"10 KB\", shape = 1.5, cap = \"1 MB\" } }",
    "pattern = { kind = \"all-to-all\" }\nsize = { cdf = \"sizes.txt\" }",
    "pattern = { kind = \"long\", count = 2, spread = \"10 us\" }",
    "pattern = { kind = \"long\", pairs = \"one-to-one\", senders = [\"h0\", \"h1\"], receivers = [\"h2\", \"h3\"] \
     }\nsize = { fixed = \"1 MB\" }",
    "pattern = { kind = \"query\", clients = [\"h0\"], servers = [\"h1\", \"h2\"], degree = 2, rounds = 3, request = \
     \"1 KB\", service_time = [\"1 us\", \"5 us\"], jitter = \"1 us\", think_time = \"5 us\" }\nsize = { cdf_points = \
     [[1000, 0], [5000, 100]] }",
    "pattern = { kind = \"query\", degree = 1, rounds = 2, total = \"10 KB\", service_time = \"1 us\" }",
    "pattern = { kind = \"list\", file = \"flows.csv\" }",
    "pattern = { kind = \"hpcc\", file = \"trace.txt\", from = \"2 s\", dport = 100 }",
    "pattern = { kind = \"htsim\", file = \"matrix.cm\" }",
];

const NETWORKS: &[&str] = &[
    "buffer = { policy = \"lossless\", per_port = \"200 KB\", xon_offset = \"3 KB\" }\nmarking = { kind = \"step\", \
     above = \"20 KB\", at = \"dequeue\" }",
    "buffer = { policy = \"lossy\", pool = \"4 MB\", alpha = 0.5, pfc_alpha = 0.125, headroom = \"20 KB\" }\nmarking = \
     { kind = \"red\", min = \"10 KB\", max = \"40 KB\", probability = 0.1 }\nmarking_by_rate = [{ rate = \"10 Gbps\", \
     marking = { kind = \"step\", above = \"30 KB\" } }]\nclasses = [{ name = \"a\", lossless = true, share = 0.5, \
     alpha = 0.25 }, { name = \"b\" }]",
    "buffer = { policy = \"lossy\", per_port = \"20 KB\" }\nmarking = { kind = \"red-average\", min = \"5 KB\", max = \
     \"15 KB\", probability = 0.1, weight = 0.002, gentle = true, wait = true, mean_packet = \"1 KB\" }\nhost_queue = \
     { capacity = \"64 KB\", mark_above = \"20 KB\" }\nrelease = \"last-bit\"",
    "buffer = { credits = \"per-link\" }\nmarking = { kind = \"off\" }",
    "buffer = { policy = \"unlimited\" }\nmarking = { kind = \"pi\", target = \"20 KB\", a = 1.822e-5, b = 1.816e-5, \
     every = \"10 us\" }\nfailure_detection = \"1 us\"\nlinks = [{ between = [\"h0\", \"sw0\"], error_rate = 0.01, \
     down = [[\"5 us\", \"9 us\"]] }]",
];

const SCHEMES: &[&str] = &[
    "\"dcqcn\"",
    "\"dctcp\"",
    "\"hpcc\"",
    "\"dart\"",
    "\"none\"",
    "\"newreno\"",
    "\"cubic\"",
    "\"rcc\"",
    "\"ictcp\"",
    "\"dcqcn-win\"",
    "{ id = \"fixed-window\" }",
    "{ id = \"dcqcn\", g = 0.01, additive_increase = 0.01, alpha_timer = \"20 us\" }",
    "{ id = \"dart\", deflect = \"two-hop\", threshold = \"10 KB\" }",
];

/// Shortened times of the specs of the tree.
const SHORT: &[(&str, &str)] = &[("warm_up", "10 us"), ("window", "200 us"), ("drain_limit", "200 us")];

fn small() -> Vec<String> {
    let mut specs = Vec::new();
    for (i, pattern) in PATTERNS.iter().enumerate() {
        for (j, topology) in TOPOLOGIES.iter().enumerate() {
            let (network, scheme) = (NETWORKS[(i + j) % NETWORKS.len()], SCHEMES[(i * 3 + j) % SCHEMES.len()]);
            specs.push(format!(
                "spec_version = 1\nname = \"small\"\nseed = 3\n[network]\ntopology = {topology}\npacket = {{ payload = \
                 \"1000 B\", header = \"48 B\", ack = \"60 B\", cnp = \"60 B\", pause = \"64 B\" \
                 }}\n{network}\n[[traffic]]\nname = \"x\"\nscheme = {scheme}\nweight = 2\ntenant = 1\nstart = \"1 \
                 us\"\n{pattern}\nrdma = {{ timeout = \"1 ms\", nack_interval = \"10 us\", ack_chunk = \"4 KB\", \
                 persistent = true }}\ntcp = {{ min_rto = \"1 ms\", persistent = true, ack_every = 1, ack_class = \
                 \"control\" }}\n[[traffic]]\nname = \"y\"\nscheme = \"dctcp\"\necn = true\npattern = {{ kind = \
                 \"incast\", degree = 1 }}\nsize = {{ fixed = \"20 KB\" }}\n[measure]\nwarm_up = \"5 us\"\nwindow = \
                 \"100 us\"\ndrain = true\ndrain_limit = \"200 us\"\nstop_when_done = false\nreport_size = \"20 \
                 KB\"\nseries = [{{ what = \"queue\", where = \"last-hop\", every = \"5 us\", zeros = true }}, {{ what \
                 = \"flow\", where = [\"x:0\"], every = \"5 us\" }}, {{ what = \"receiver\", where = [\"h0\"], every = \
                 \"10 us\" }}]\ntrace = [\"y:0\"]\ncapture = {{ links = \"all\", max_size = \"1 MB\", snaplen = \"64 \
                 B\" }}\nperfetto = {{ queues = \"last-hop\", max_size = \"1 MB\" }}\n[compare]\nschemes = [\"dcqcn\", \
                 \"none\"]\n"
            ));
        }
    }
    specs
}

fn of_the_tree() -> Vec<String> {
    fn find(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                find(&path, found);
            } else if path.extension().is_some_and(|end| end == "toml") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    ["examples", "papers/specs"].into_iter().for_each(|folder| find(&root.join(folder), &mut found));
    found.sort();
    let texts = found.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    texts.map(|text| shortened(&text)).collect()
}

fn shortened(text: &str) -> String {
    let Ok(mut table) = text.parse::<Table>() else { return text.to_string() };
    if let Some(Value::Table(measure)) = table.get_mut("measure") {
        for (key, value) in SHORT.iter().filter(|(key, _)| *key != "warm_up") {
            measure.insert((*key).to_string(), (*value).into());
        }
        measure.insert("warm_up".into(), SHORT[0].1.into());
    }
    toml::to_string(&table).unwrap_or_else(|_| text.to_string())
}

/// Whether it can run: not every pattern is possible with every network and scheme.
fn is_good(text: &str) -> bool {
    let Ok(folder) = super::Folder::new() else { return false };
    let written = files().iter().all(|(name, text)| std::fs::write(folder.path().join(name), text).is_ok());
    written && Spec::from_toml(text, "good.toml", folder.path()).is_ok_and(|spec| spec.check().is_ok())
}

/// All valid specs, each as text and as a document.
pub fn corpus() -> &'static [(String, Table)] {
    static CORPUS: OnceLock<Vec<(String, Table)>> = OnceLock::new();
    CORPUS.get_or_init(|| {
        let texts = of_the_tree().into_iter().chain(small()).filter(|text| is_good(text));
        texts.filter_map(|text| text.parse::<Table>().ok().map(|table| (text, table))).collect()
    })
}
