//! The topology of a spec.

use fanin_units::{Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Hosts, switches and links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Topology {
    /// Hosts h0, h1, ... around one switch, sw0.
    Star {
        /// Number of hosts, at least 2.
        hosts: u32,
        /// Rate of each link.
        link: Rate,
        /// Propagation delay of each link.
        delay: Time,
    },
    /// Two switches, "left" and "right", with hosts and one link between them.
    Dumbbell {
        /// Hosts on the left.
        left: u32,
        /// Hosts on the right.
        right: u32,
        /// Rate of each host link.
        link: Rate,
        /// Propagation delay of each host link.
        delay: Time,
        /// Rate between the switches. Default: that of the host links.
        bottleneck: Option<Rate>,
        /// Propagation delay between the switches. Default: that of the host links.
        bottleneck_delay: Option<Time>,
    },
    /// A chain of switches sw0, sw1, ... with the same number of hosts each.
    ParkingLot {
        /// Number of switches, at least 2.
        switches: u32,
        /// Hosts per switch.
        hosts: u32,
        /// Rate of each host link.
        link: Rate,
        /// Propagation delay of each host link.
        delay: Time,
        /// Rate between switches. Default: that of the host links.
        chain_link: Option<Rate>,
        /// Propagation delay between switches. Default: that of the host links.
        chain_delay: Option<Time>,
    },
    /// Leaves leaf0, ... with hosts, each with one link to each spine spine0, ...
    LeafSpine {
        /// Number of leaves.
        leaves: u32,
        /// Hosts per leaf.
        hosts: u32,
        /// Number of spines.
        spines: u32,
        /// Rate of each host link.
        link: Rate,
        /// Propagation delay of each host link.
        delay: Time,
        /// Rate between leaf and spine. Default: that of the host links.
        fabric_link: Option<Rate>,
        /// Propagation delay between leaf and spine. Default: that of the host links.
        fabric_delay: Option<Time>,
    },
    /// A k-ary fat tree with k^3/4 hosts and full bisection bandwidth.
    FatTree {
        /// Ports per switch, even.
        k: u32,
        /// Rate of each link.
        link: Rate,
        /// Propagation delay of each link.
        delay: Time,
    },
    /// The network of HPCC section 5.1: 320 hosts at 100 Gb/s, fabric at 400 Gb/s, 1 us per link.
    HpccFatTree {},
    /// Pods of ToRs tor0, ... and aggregation switches agg0, ..., connected by cores core0, ...
    Clos {
        /// Number of pods.
        pods: u32,
        /// ToRs per pod.
        tors: u32,
        /// Hosts per ToR.
        hosts: u32,
        /// Uplinks per ToR.
        uplinks: u32,
        /// Aggregation switches per pod. Default: `uplinks`.
        aggs: Option<u32>,
        /// Uplinks per aggregation switch. Default: its number of links to ToRs.
        agg_uplinks: Option<u32>,
        /// Number of core switches. Default: `aggs` times `agg_uplinks`.
        cores: Option<u32>,
        /// Rate of each host link.
        link: Rate,
        /// Propagation delay of each host link.
        delay: Time,
        /// Rate between switches. Default: that of the host links.
        fabric_link: Option<Rate>,
        /// Propagation delay between switches. Default: that of the host links.
        fabric_delay: Option<Time>,
    },
    /// Servers of GPUs gpu0.0, gpu0.1, ... (server, place), which are the hosts; inside a server NVLink over a switch
    /// nv0, ..., between servers leaves leaf0.0.0, ... (set, rail, segment) and spines spine0.0, ... (plane, number).
    /// Place g of each server is on rail g modulo `rails`. See collectives.md.
    Rails {
        /// Number of servers.
        servers: u32,
        /// GPUs of a server, each with a network interface of its own.
        gpus: u32,
        /// Rails: a divisor of `gpus`. With 1, all GPUs of a server are on the same leaf. Default: `gpus`.
        rails: Option<u32>,
        /// Servers that share their leaves. Default: all.
        segment: Option<u32>,
        /// Networks without common links; a GPU is in each of them. Default: 1.
        planes: Option<u32>,
        /// Leaves of a GPU in each plane; 2 is called dual ToR. Default: 1.
        tors: Option<u32>,
        /// Spines of each plane, each with a link to all its leaves. With 0, only GPUs of the same leaf, and those of
        /// the same server by NVLink, reach each other.
        spines: u32,
        /// Rate of the link of a GPU to each of its leaves.
        link: Rate,
        /// Propagation delay of these links.
        delay: Time,
        /// Rate between leaf and spine. Default: `link`.
        fabric_link: Option<Rate>,
        /// Propagation delay between leaf and spine. Default: `delay`.
        fabric_delay: Option<Time>,
        /// Rate of NVLink, between each GPU and the switch of its server. Default: there is none.
        nvlink: Option<Rate>,
        /// Propagation delay of these links. Default: 25 ns, as SimAI's files have it.
        nvlink_delay: Option<Time>,
    },
    /// The tree of RCC section 6.2: 1,000 hosts at 1 Gb/s in 40 racks, 25 Gb/s to one core switch, 40 us per link.
    RccTree {},
    /// Any graph of hosts and switches.
    Graph {
        /// Names of the hosts, at least 2.
        hosts: Vec<String>,
        /// Names of the switches.
        #[serde(default)]
        switches: Vec<String>,
        /// The links.
        links: Vec<GraphLink>,
    },
    /// A network from a separate file: a comma-separated table of links, a topology file of the ns-3 HPCC simulator or
    /// of SimAI, a tree of htsim (`.topo`), or a network of ASTRA-sim's analytical backend (`.yml`). The resolved spec
    /// contains it as a graph, so that results do not depend on the file. The link losses of ns-3's and SimAI's files
    /// are included; an entry of `network.links` for the same two nodes replaces them.
    /// From htsim's files come the links, with half of a switch's latency added to each, but not the queues: those are
    /// `network.buffer`.
    #[serde(untagged)]
    File(TopologyFile),
}

impl Topology {
    /// Whether hosts may have no way to each other.
    pub(in crate::spec) fn may_part(&self) -> bool {
        matches!(self, Self::Rails { spines: 0, .. })
    }
}

/// A network from a separate file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopologyFile {
    /// The file, relative to the spec's folder. In a table of links, the first line names the columns `a` and `b`
    /// (names of two nodes), `rate` (like 100 Gbps) and `delay` (like 1 us), and each further line is a bidirectional
    /// link. Hosts and switches keep their names from the table. Host n of the ns-3 simulator is called "h" and n,
    /// switch n "s" and n, and htsim's nodes are called h0, tor0, agg0, core0 and so on. Names from files of SimAI and
    /// ASTRA-sim are in collectives.md.
    pub file: String,
    /// The format of the file. Default: detected from its first line.
    pub format: Option<TopologyFormat>,
    /// For a table of links: a comma-separated file with the columns `name` and `kind` (host or switch), relative to
    /// the spec's folder. Hosts are numbered in its order. Default: a node with a single neighbour is a host, all
    /// others are switches, and hosts are numbered in the order in which links name them.
    pub nodes: Option<String>,
}

/// The format of a topology file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TopologyFormat {
    /// A topology file of the ns-3 HPCC simulator.
    Ns3,
    /// A fat tree of htsim.
    Htsim,
    /// A table of links.
    Links,
    /// A topology file of SimAI: servers of GPUs with NV switches.
    Simai,
    /// A network of ASTRA-sim's analytical backend, in YAML.
    AstraSim,
}

/// One link of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphLink {
    /// Names of the two nodes.
    pub between: [String; 2],
    /// Rate of each direction.
    pub rate: Rate,
    /// Propagation delay of each direction.
    pub delay: Time,
}
