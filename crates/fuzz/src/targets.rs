//! The readers.

use crate::frames;
use fanin_formats::chakra;
use fanin_formats::goal::Goal;
use fanin_formats::hpcc::trace::{Header, Packet, PortRate, Record, read_trace};
use fanin_formats::hpcc::{
    Config, ConfigFile, Delay, Link, SizeCdf, Topology, check, check_any, flows_to_text, read_fct, read_flows,
    read_pfc, read_qlen, read_trace_nodes,
};

/// A reader, and valid files to mutate.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// Reads one input; panics if something is wrong.
    pub run: fn(&[u8]),
    /// Valid files.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

impl Target {
    /// Memory that it may use for an empty input, in bytes.
    pub fn memory_at_least(&self) -> usize {
        match self.name {
            // Two endpoints with their event queues, and what they keep of a peer (`Limits`); up to 5.4 MB was seen.
            "endpoint" => 8 << 20,
            // Tables of all nodes with an address.
            _ => 4 << 20,
        }
    }
}

/// All readers.
pub const TARGETS: &[Target] = &[
    Target { name: "hpcc-config", run: hpcc_config, seeds: || texts(&[CONFIG, &[CONFIG, FORKS].concat()]) },
    Target { name: "hpcc-topology", run: hpcc_topology, seeds: || texts(&[TOPOLOGY, OF_POWERTCP, OF_SIMAI]) },
    Target { name: "hpcc-flows", run: hpcc_flows, seeds: || texts(&[FLOWS, OF_CONWEAVE]) },
    Target { name: "hpcc-together", run: hpcc_together, seeds: || texts(&[&[CONFIG, TOPOLOGY, FLOWS].join("\0")]) },
    Target { name: "hpcc-trace-nodes", run: hpcc_trace_nodes, seeds: || texts(&["3\n0 1 2\n"]) },
    Target { name: "hpcc-sizes", run: hpcc_sizes, seeds: || texts(&["0 0\n100 1 # x\n\n3.5e2 99.5\n1000 100\n"]) },
    Target { name: "hpcc-fct", run: hpcc_fct, seeds: || texts(&[FCT]) },
    Target { name: "hpcc-pfc", run: hpcc_pfc, seeds: || texts(&["2000001000 320 1 17 1\n2000002000 3 0 1 0\n"]) },
    Target { name: "hpcc-qlen", run: hpcc_qlen, seeds: || texts(&["time: 5\n17 1 2 3 4\n17 2\ntime: 6\n17 1 2\n"]) },
    Target { name: "hpcc-tr", run: hpcc_tr, seeds: trace_seeds },
    Target { name: "htsim-matrix", run: fanin_formats::htsim::fuzz_matrix, seeds: || texts(&[MATRIX]) },
    Target { name: "htsim-topo", run: fanin_formats::htsim::fuzz_topo, seeds: || texts(&[TREE]) },
    Target { name: "goal", run: fanin_formats::goal::fuzz, seeds: schedules },
    Target { name: "simai", run: fanin_formats::simai::fuzz, seeds: || texts(&[WORKLOAD]) },
    Target { name: "msccl", run: fanin_formats::msccl::fuzz, seeds: || texts(&[ALGORITHM]) },
    Target { name: "simccl", run: fanin_formats::simccl::fuzz, seeds: || texts(&[SIMCCL]) },
    Target { name: "simai-topology", run: fanin_formats::simai::fuzz_topology, seeds: || texts(&[CLUSTER]) },
    Target { name: "astra-sim-network", run: fanin_formats::astra_sim::fuzz, seeds: || texts(&[OF_ASTRA_SIM]) },
    Target { name: "chakra", run: fanin_formats::chakra::fuzz, seeds: traces },
    Target { name: "uec-options", run: uec_options, seeds: || texts(&[UEC_OPTIONS]) },
    Target { name: "uec-matrix", run: |bytes| uec(bytes, None), seeds: || texts(&[UEC_MATRIX]) },
    Target { name: "uec-topo", run: |bytes| uec(UEC_MATRIX.as_bytes(), Some(bytes)), seeds: || texts(&[TREE]) },
    Target { name: "flow-table", run: fanin_formats::tables::fuzz_flows, seeds: || texts(&[FLOW_TABLE]) },
    Target { name: "link-table", run: fanin_formats::tables::fuzz_links, seeds: || texts(&[LINK_TABLE, WITH_NODES]) },
    Target { name: "size-table", run: fanin_formats::tables::fuzz_sizes, seeds: || texts(&[SIZE_TABLE]) },
    Target {
        name: "endpoint",
        run: fanin_transport::endpoint::fuzz::run,
        seeds: fanin_transport::endpoint::fuzz::seeds,
    },
    Target { name: "pcapng", run: pcapng, seeds: captures },
    Target { name: "frame", run: frame, seeds: frames::frames },
    Target { name: "frame-headers", run: frames::read_headers, seeds: frames::headers },
];

/// A matrix of uet-htsim, on a topology if there is one.
fn uec(matrix: &[u8], topology: Option<&[u8]>) {
    let (matrix, topology) = (String::from_utf8_lossy(matrix), topology.map(String::from_utf8_lossy));
    if let Ok(setup) = fanin_uet::Setup::new(fanin_uet::Options::default(), &matrix, topology.as_deref()) {
        assert!(setup.warnings().len() <= matrix.lines().count());
    }
}

fn uec_options(bytes: &[u8]) {
    if let Ok(options) = fanin_uet::Options::parse(String::from_utf8_lossy(bytes).split_whitespace()) {
        let _ = fanin_uet::Setup::new(options, UEC_MATRIX, None);
    }
}

fn frame(bytes: &[u8]) {
    let _ = frames::read(bytes);
}

fn pcapng(bytes: &[u8]) {
    fanin_formats::pcapng::fuzz(bytes);
}

/// A schedule in both forms.
fn schedules() -> Vec<Vec<u8>> {
    let binary = Goal::read(SCHEDULE.as_bytes(), "f.goal").map(|goal| goal.to_binary());
    binary.into_iter().chain([SCHEDULE.into()]).collect()
}

/// The traces of that schedule.
fn traces() -> Vec<Vec<u8>> {
    let goal = Goal::read(SCHEDULE.as_bytes(), "f.goal").unwrap_or_default();
    let written = goal.sources().into_iter().map(|mut nodes| {
        let mut bytes = Vec::new();
        chakra::write(&mut nodes, &mut bytes, "f").map(|()| bytes)
    });
    written.flatten().collect()
}

/// A capture of one interface and two packets.
fn captures() -> Vec<Vec<u8>> {
    use fanin_formats::pcapng::Writer;
    use fanin_units::{Rate, Time};
    let made = Writer::new(Vec::new(), 1 << 16).and_then(|mut writer| {
        let interface = writer.interface("h0>s1", Rate::from_gbps(100), 64)?;
        writer.packet(interface, Time::from_us(1), &[1; 60], 1048)?;
        writer.packet(interface, Time::from_us(2), &[2; 61], 61)?;
        writer.finish(Time::from_us(3))
    });
    made.into_iter().collect()
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

const MATRIX: &str = "\
Nodes 16
Connections 3
Triggers 1
0->1 id 1 start 0 size 1000000 send_done_trigger 1
# a comment
2->3 id 2 trigger 1 size 5000
4->5 id 3 start 67000 size 544
trigger id 1 oneshot
";

const UEC_OPTIONS: &str = "-sender_cc -receiver_cc -end 60 -q 4 -ecn 1 4 -paths 8 -load_balancing_algo reps -o log";

const UEC_MATRIX: &str = "\
Nodes 16
Connections 3
Triggers 1
0->1 id 1 start 0 size 1000000 send_done_trigger 1
# a comment
2->3 id 2 trigger 1 size 5000
4->5 id 3 start 67 size 544 msg prio 1
trigger id 1 barrier count 2
failure switch_type AGG switch_id 2 link_id 0
";

const SIZE_TABLE: &str = "src,dst,bytes\n0,1,1000\n\n4,0,7\n";
const FLOW_TABLE: &str = "\
src,dst,bytes,start_us,group,note
web-1,0,8000,0,,first
\"db\",web-1,5000,2.5,3,
";

const LINK_TABLE: &str = "\
a,b,rate,delay,cable
web-1,leaf0,100 Gbps,1 us,c1
web-2,leaf0,25 Gbps,500 ns,c2
leaf0,web-1,100 Gbps,1 us,c3
leaf0,leaf1,400 Gbps,1 us,c4
";

/// A table of links, and after the null byte one of nodes.
const WITH_NODES: &str = "\
b,a,delay,rate
s0,h0,1 us,100 Gbps
s0,h1,1 us,100 Gbps
\0name,kind
h1,host
h0,host
s0,switch
";

const WORKLOAD: &str =
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 1 ga: 1 all_gpus: 8 \
checkpoints: 1 0 checkpoint_initiates: 1 1
2
first -1 10 ALLREDUCE 100 20 ALLGATHER 200 30 REDUCESCATTER 300 1
second -1 40 ALLTOALL_EP 64 50 NONE 0 60 ALLREDUCE_DP_EP 400 0
";
/// Two GPUs that add what they have.
const SIMCCL: &str = "collective,flow_id,src,dest,flow_size,chunk_id,parent_flow_ids\n\
    a,0,0,1,10,0,\na,1,1,0,10,1,0\nb,0,0,1,7,0,\nb,1,1,0,5,1,\"0;0\"\n";

const ALGORITHM: &str = r#"<?xml version="1.0"?>
<!-- both at once -->
<algo name="pair" nchunksperloop="2" ngpus="2">
<gpu id="0"><tb id="0" send="1" recv="1" chan="0">
<step s="0" type="s" srcoff="0" cnt="2" depid="-1" deps="-1"/>
<step s="1" type="rrc" srcoff="0" cnt="2" depid="1" deps="0"/>
</tb><tb id="1" send="-1" recv="-1" chan="1"><step s="0" type="cpy" srcoff="0" cnt="1" depid="-1" deps="-1"/></tb></gpu>
<gpu id="1"><tb id="0" send="0" recv="0" chan="0">
<step s="0" type="rcs" srcoff="1" cnt="2" depid="-1" deps="-1"/>
</tb></gpu>
</algo>
"#;
const SCHEDULE: &str = "num_ranks 2
rank 0 { // sends
a: calc 2000
b: send 1000b to 1 tag 5 cpu 1
b requires a
}
rank 1 {
a: calc 1000 cpu 1
b: recv 1000b from 0 tag 5 nic 1 /* receives */
c: calc 1
c requires b
c requires a
}
";

const TREE: &str = "\
Nodes 16
Tiers 3
Podsize 4
Tier 0
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Tier 2
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 1000
";

const CONFIG: &str = "\
# a comment {x}
ENABLE_QCN 1 {explained
 here}
USE_DYNAMIC_PFC_THRESHOLD 1
PACKET_PAYLOAD_SIZE 1000
TOPOLOGY_FILE t
FLOW_FILE f
TRACE_FILE x
TRACE_OUTPUT_FILE o
FCT_OUTPUT_FILE c
PFC_OUTPUT_FILE p
SIMULATOR_STOP_TIME 4.00
CC_MODE 3
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
RP_TIMER 900
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
RATE_AI 50Mb/s
RATE_HAI 100Mb/s
MIN_RATE 1000Mb/s
DCTCP_RATE_AI 615Mb/s
ERROR_RATE_PER_LINK 0.0000
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0
HAS_WIN 1
GLOBAL_T 1
VAR_WIN 1
FAST_REACT 1
U_TARGET 0.95
MI_THRESH 0
INT_MULTI 4
MULTI_RATE 0
SAMPLE_FEEDBACK 0
RATE_BOUND 1
ACK_HIGH_PRIO 0
LINK_DOWN 5 4 5
ENABLE_TRACE 0
KMAX_MAP 2 100000000000 1600 400000000000 6400
KMIN_MAP 2 100000000000 400 400000000000 1600
PMAX_MAP 2 100000000000 0.2 400000000000 0.20
BUFFER_SIZE 32
QLEN_MON_FILE q
QLEN_MON_START 2000000000
QLEN_MON_END 3000000000
";

const TOPOLOGY: &str = "\
6 2 5
4 5
0 4 100Gbps 1000ns 0.000000
1 4 100Gbps 1us 0
2 5 100Gbps 0.001ms 0.5
3 5 100000Mb/s 1000ns 0.000000
4 5 400Gbps 1000ns 1e-9
";

const FLOWS: &str = "\
3
0 2 3 100 1000 2.000000000
1 3 3 100 4294967295 2.000000067
3 0 3 200 1 2.000001000
";

/// Keys of forks.
const FORKS: &str = "\
LB_MODE 6
ENABLE_PFC 0
ENABLE_IRN 1
FLOWGEN_STOP_TIME 2.1
RANDOM_SEED 1
HEADROOM_FACTOR 3
MON_START 0
BW_MON_FILE b
MINE 1 2 {of mine}
";

/// Racks among the counts, and bare rates.
const OF_POWERTCP: &str = "\
4 2 2 3
2 3 
0 2 25000000000.0 1us 0
1 3 25000000000.0 1us 0
2 3 100000000000.0 1us 0
";

const OF_ASTRA_SIM: &str = "\
topology: [ Ring, Switch ]  # Ring, Switch, FullyConnected
npus_count: [ 4, 2 ]
bandwidth: [ 50.0, 3.125 ]
latency: [ 500.0, 936.25 ]
";
const CLUSTER: &str = "\
6 2 1 2 6 H100
3 4 5
0 3 2880Gbps 0.000025ms 0
1 3 2880Gbps 0.000025ms 0
0 4 400Gbps 0.0005ms 0
1 4 400Gbps 0.0005ms 0
2 4 400Gbps 0.0005ms 0.01
4 5 400Gbps 0.0005ms 0
";
const OF_SIMAI: &str = "\
6 2 1 1 5 H100
4 5
0 4 2880Gbps 0.000025ms 0
1 4 2880Gbps 0.000025ms 0
2 4 2880Gbps 0.000025ms 0
3 5 400Gbps 0.0005ms 0
4 5 400Gbps 0.0005ms 0
";

/// No port.
const OF_CONWEAVE: &str = "\
2
0 2 3 20000 2.00000100
1 3 3 1000000000000 2.00000200
";

const FCT: &str = "\
0b000d01 0b000601 10000 100 443 2000000067 4086 4199
0b001401 0b003901 10000 100 632 2000000827 8206 8254
";

fn hpcc_config(bytes: &[u8]) {
    let file = || ConfigFile::read("fuzz", bytes);
    let _ = file().dialect();
    let exact = Config::read("fuzz", bytes);
    // What its own network runs, the ordinary one runs; and keys are skipped only where that is asked for.
    assert!(exact.is_err() || (file().ordinary().is_ok() && file().exact(true, "").is_ok()));
}

fn hpcc_topology(bytes: &[u8]) {
    if let Ok((topology, _)) = Topology::read("fuzz", bytes) {
        let again = Topology::read("again", topology.to_text().as_bytes()).expect("what is written can be read").0;
        // Picoseconds are kept; that simulator's nanoseconds depend on the unit that the file had.
        let exact = |topology: Topology| {
            let delays: Vec<u64> = topology.links.iter().map(|link| link.delay.ps).collect();
            let links = topology.links.into_iter().map(|link| Link { delay: Delay::from_ns(0), ..link }).collect();
            (Topology { links, ..topology }, delays)
        };
        assert_eq!(exact(again), exact(topology));
    }
}

fn hpcc_flows(bytes: &[u8]) {
    if let Ok((flows, _)) = read_flows("fuzz", bytes, None) {
        // Starts are written with nine decimals, which may round; their order stays.
        let text = flows_to_text(&flows);
        assert_eq!(
            read_flows("again", text.as_bytes(), None).expect("what is written can be read").0.len(),
            flows.len()
        );
    }
}

/// Configuration, topology and flows with a zero byte between them.
fn hpcc_together(bytes: &[u8]) {
    let mut parts = bytes.splitn(3, |b| *b == 0);
    let mut part = || parts.next().unwrap_or_default();
    let Ok((config, _)) = Config::read("config", part()) else { return };
    let Ok((topology, _)) = Topology::read("topology", part()) else { return };
    let Ok((flows, _)) = read_flows("flows", part(), None) else { return };
    let exact = check("config", &config, &topology, &flows);
    assert!(exact.is_err() || check_any("config", &config, &topology, &flows).is_ok());
}

fn hpcc_trace_nodes(bytes: &[u8]) {
    let _ = read_trace_nodes("fuzz", bytes, 300);
}

fn hpcc_sizes(bytes: &[u8]) {
    if let Ok(sizes) = SizeCdf::read("fuzz", bytes) {
        let (least, most) = (sizes.points()[0].0, sizes.points()[sizes.points().len() - 1].0);
        for u in [0.0, 0.25, 0.5, 1.0 - f64::EPSILON] {
            assert!((least..=most).contains(&sizes.quantile(u)), "{u}");
        }
        assert!(sizes.mean() >= least * (1.0 - 1e-9) && sizes.mean() <= most * (1.0 + 1e-9));
    }
}

fn hpcc_fct(bytes: &[u8]) {
    if let Ok(flows) = read_fct("fuzz", bytes) {
        let text: String = flows.iter().map(|flow| format!("{flow}\n")).collect();
        assert_eq!(read_fct("again", text.as_bytes()), Ok(flows));
    }
}

fn hpcc_pfc(bytes: &[u8]) {
    if let Ok(pauses) = read_pfc("fuzz", bytes) {
        let text: String = pauses.iter().map(|pause| format!("{pause}\n")).collect();
        assert_eq!(read_pfc("again", text.as_bytes()), Ok(pauses));
    }
}

fn hpcc_qlen(bytes: &[u8]) {
    if let Ok(dumps) = read_qlen("fuzz", bytes) {
        let text: String = dumps.iter().map(|dump| dump.to_string()).collect();
        assert_eq!(read_qlen("again", text.as_bytes()), Ok(dumps));
    }
}

fn hpcc_tr(bytes: &[u8]) {
    if let Ok((header, records)) = read_trace("fuzz", bytes) {
        assert!(bytes.starts_with(&header.to_bytes()));
        for record in records.flatten() {
            assert_eq!(Record::from_bytes(&record.to_bytes()), record);
            assert!(!record.to_string().is_empty());
        }
    }
}

fn trace_seeds() -> Vec<Vec<u8>> {
    let header = Header { ports: vec![PortRate { node: 1, interface: 1, rate: 100_000_000_000 }; 2], window: 153_000 };
    let record = |packet| Record {
        time: 2_000_000_000,
        node: 1,
        interface: 1,
        queue: 3,
        qlen: 1090,
        sip: 0x0b00_0001,
        dip: 0x0b00_0101,
        size: 1090,
        event: 2,
        ecn: 1,
        node_type: 1,
        packet,
    };
    let packets = [
        Packet::Data(Default::default()),
        Packet::Ack(Default::default()),
        Packet::Cnp { flow: 1, queue: 3, ecn: 1, seq: 5 },
        Packet::Pfc { time: 1, qlen: 2, queue: 3 },
    ];
    vec![[header.to_bytes(), packets.map(|packet| record(packet).to_bytes()).concat()].concat()]
}
