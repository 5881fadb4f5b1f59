//! Files of the public ns-3 HPCC simulator: configuration, topology, flows, traces, and its results.
//!
//! Its own readers take words separated by white space and do not validate them. The readers here accept the same
//! files, and refuse values that would crash or hang that simulator or make it run something else than the file seems
//! to say.

mod check;
mod config;
mod config_check;
mod config_file;
mod config_text;
mod dialect;
mod flows;
pub mod generate;
mod keys;
mod lists;
mod output;
mod quantity;
mod topology;
pub mod trace;

pub use check::{check, check_any};
pub use config_check::balancing;
pub use config_file::ConfigFile;
pub use dialect::{DIALECTS, Dialect, Facts, Header};
pub use flows::{flows_to_text, read_exact_flows, read_flows};
pub use lists::{SizeCdf, read_trace_nodes};
pub use output::{Fct, Pfc, QlenDump, QlenPort, ip_node, node_ip, read_fct, read_pfc, read_qlen, standalone_fct};
pub use quantity::{Delay, delay, nanoseconds, rate};

/// A configuration, with the meaning of each key in that simulator.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// `ENABLE_QCN`: whether switches mark.
    pub enable_qcn: bool,
    /// `PACKET_PAYLOAD_SIZE`, bytes.
    pub payload: u32,
    /// `TOPOLOGY_FILE`.
    pub topology_file: String,
    /// `FLOW_FILE`.
    pub flow_file: String,
    /// `TRACE_FILE`: nodes whose events go to the trace.
    pub trace_file: String,
    /// `TRACE_OUTPUT_FILE`.
    pub trace_output_file: String,
    /// `FCT_OUTPUT_FILE`.
    pub fct_output_file: String,
    /// `PFC_OUTPUT_FILE`.
    pub pfc_output_file: String,
    /// `QLEN_MON_FILE`.
    pub qlen_file: String,
    /// `SIMULATOR_STOP_TIME`, seconds.
    pub stop: f64,
    /// `CC_MODE`: 1 DCQCN, 3 HPCC, 7 TIMELY, 8 DCTCP.
    pub cc_mode: u32,
    /// `ALPHA_RESUME_INTERVAL`, us.
    pub alpha_resume_interval: f64,
    /// `RATE_DECREASE_INTERVAL`, us.
    pub rate_decrease_interval: f64,
    /// `RP_TIMER`, us.
    pub rp_timer: f64,
    /// `CLAMP_TARGET_RATE`.
    pub clamp_target_rate: bool,
    /// `FAST_RECOVERY_TIMES`.
    pub fast_recovery_times: u32,
    /// `EWMA_GAIN`.
    pub ewma_gain: f64,
    /// `RATE_AI`, bits per second.
    pub rate_ai: u64,
    /// `RATE_HAI`, bits per second.
    pub rate_hai: u64,
    /// `MIN_RATE`, bits per second.
    pub min_rate: u64,
    /// `DCTCP_RATE_AI`, bits per second.
    pub dctcp_rate_ai: u64,
    /// `ERROR_RATE_PER_LINK`: for links whose own error rate is 0.
    pub error_rate_per_link: f64,
    /// `L2_CHUNK_SIZE`, bytes.
    pub l2_chunk_size: u32,
    /// `L2_ACK_INTERVAL`, bytes.
    pub l2_ack_interval: u32,
    /// `L2_BACK_TO_ZERO`.
    pub l2_back_to_zero: bool,
    /// `HAS_WIN`.
    pub has_win: bool,
    /// `GLOBAL_T`: one base round trip and window for all pairs, the largest.
    pub global_t: bool,
    /// `VAR_WIN`.
    pub var_win: bool,
    /// `FAST_REACT`.
    pub fast_react: bool,
    /// `RATE_BOUND`: whether the rate paces; otherwise only line rate does.
    pub rate_bound: bool,
    /// `U_TARGET`.
    pub u_target: f64,
    /// `MI_THRESH`.
    pub mi_thresh: u32,
    /// `INT_MULTI`.
    pub int_multi: u32,
    /// `MULTI_RATE`.
    pub multi_rate: bool,
    /// `SAMPLE_FEEDBACK`.
    pub sample_feedback: bool,
    /// `ACK_HIGH_PRIO`.
    pub ack_high_prio: bool,
    /// `LINK_DOWN`: microseconds after 2 s, and the two nodes.
    pub link_down: Option<(u64, u32, u32)>,
    /// `ENABLE_TRACE`.
    pub enable_trace: bool,
    /// `KMIN_MAP`: link rate in bits per second, and KB of 1000 bytes.
    pub kmin: Vec<(u64, u32)>,
    /// `KMAX_MAP`, the same.
    pub kmax: Vec<(u64, u32)>,
    /// `PMAX_MAP`: link rate, and probability.
    pub pmax: Vec<(u64, f64)>,
    /// `BUFFER_SIZE`, MiB per switch.
    pub buffer_mib: u32,
    /// `QLEN_MON_START`, ns.
    pub qlen_start: u64,
    /// `QLEN_MON_END`, ns.
    pub qlen_end: u64,
    /// `ENABLE_PFC`, a key of forks.
    pub enable_pfc: bool,
    /// `ENABLE_IRN`, a key of forks.
    pub enable_irn: bool,
    /// `LB_MODE`, a key of forks: 0 flow hash, 2 DRILL, 3 CONGA, 6 LetFlow, 9 ConWeave.
    pub lb_mode: u32,
    /// `RANDOM_SEED`, a key of forks.
    pub random_seed: u32,
    /// `HEADROOM_FACTOR`, a key of forks: headroom of a port, as a multiple of rate times delay.
    pub headroom_factor: f64,
}

/// A topology.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// Whether each node is a switch; all others are hosts.
    pub is_switch: Vec<bool>,
    /// Links in the order of the file.
    pub links: Vec<Link>,
}

/// A bidirectional link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// One node.
    pub a: u32,
    /// The other node.
    pub b: u32,
    /// Bits per second.
    pub rate: u64,
    /// Propagation delay.
    pub delay: Delay,
    /// Probability that a packet is lost.
    pub error_rate: f64,
}

/// A flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Priority group: the queue that its packets use, 0 to 7.
    pub pg: u8,
    /// UDP destination port; by convention 100 is background traffic and 200 incast.
    pub dport: u16,
    /// Bytes.
    pub bytes: u64,
    /// Seconds.
    pub start: f64,
}
