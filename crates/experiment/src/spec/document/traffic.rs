//! The traffics of a spec.

use super::{Rdma, SchemeChoice, Tcp, bytes, defaults, whole, yes};
use fanin_units::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// Its name in results, unique among traffics.
    pub name: String,
    /// Its congestion control: an id, or a table with `id` and the parameters that differ from the defaults.
    pub scheme: SchemeChoice,
    /// The transport that carries it. Default: the one its scheme is designed for.
    pub transport: Option<Transport>,
    /// Its class. Default: the first.
    pub class: Option<String>,
    /// Whether its data packets are ECN-capable.
    #[serde(default = "yes")]
    pub ecn: bool,
    /// Its weight, for receivers that divide their line among senders (Dart).
    #[serde(default = "whole::<u16, 1>")]
    #[schemars(extend("minimum" = 1, "wrong" = "it is 0; weights are at least 1"))]
    pub weight: u16,
    /// Its tenant, for receivers that keep tenants apart (Dart).
    #[serde(default)]
    pub tenant: u8,
    /// Whether a sender tells its receiver the size of a flow as it opens, for receivers that schedule by size (RCC).
    /// The size is that of its first message; that of an endless flow is never known.
    #[serde(default = "yes")]
    pub announce_size: bool,
    /// Start time.
    #[serde(default)]
    pub start: Time,
    /// Senders, receivers and times of messages.
    pub pattern: Pattern,
    /// Payload of a message. Long flows are endless by default; a list has its own sizes.
    pub size: Option<Size>,
    /// Offered load.
    pub load: Option<Load>,
    /// Parameters of RDMA, if it is the transport.
    #[serde(default)]
    pub rdma: Rdma,
    /// Parameters of TCP, if it is the transport.
    #[serde(default = "defaults::<Tcp>")]
    pub tcp: Tcp,
}

/// The transport that carries messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Messages over a reliable connection (RC) as in RDMA.
    Rdma,
    /// A TCP byte stream.
    Tcp,
}

/// Senders, receivers and times of messages. Hosts are given by name; without names, all hosts are used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Pattern {
    /// Independent messages between random hosts. Needs a load.
    Poisson {
        /// Hosts that may send.
        senders: Option<Vec<String>>,
        /// Hosts that may receive.
        receivers: Option<Vec<String>>,
        /// Whether sender and receiver are always in different racks.
        #[serde(default)]
        inter_rack_only: bool,
    },
    /// Groups of distinct random senders to one random receiver. Groups start as a Poisson process if there is a load,
    /// periodically with `every`, and otherwise once, at the start.
    Incast {
        /// Number of senders.
        degree: u32,
        /// Each sender starts after a random delay, uniform from 0 to this.
        #[serde(default)]
        jitter: Time,
        /// Time between groups, instead of a load.
        every: Option<Time>,
        /// Whether each sender draws its own size; otherwise all messages of a group have the same size.
        #[serde(default)]
        size_per_sender: bool,
        /// Hosts that may send.
        senders: Option<Vec<String>>,
        /// Hosts that may receive.
        receivers: Option<Vec<String>>,
        /// Whether senders are always in other racks than their receiver.
        #[serde(default)]
        inter_rack_only: bool,
    },
    /// Each host sends to one host and receives from one host: once, or in rounds with a new permutation each.
    Permutation {
        /// The hosts of the permutation.
        hosts: Option<Vec<String>>,
        /// Each message starts after a random delay, uniform from 0 to this.
        #[serde(default)]
        jitter: Time,
        /// Time between rounds. Default: a single round.
        every: Option<Time>,
    },
    /// Each host sends to every other host. With the traffic's own `size`, all messages start at once, each of that
    /// size; with `size` in the pattern it is a collective operation, in which each rank has so much for all.
    AllToAll(Collective),
    /// Each rank has a vector, and gets the sum of all.
    AllReduce(Collective),
    /// Each rank has a part, and gets all parts.
    AllGather(Collective),
    /// Each rank has a vector, and gets its part of the sum of all.
    ReduceScatter(Collective),
    /// The first rank has a vector, and all get it.
    Broadcast(Collective),
    /// A model in stages, through which the micro-batches of a training step pass forwards and back.
    Pipeline {
        /// The order in which a stage computes.
        schedule: Schedule,
        /// Bytes of a micro-batch's activations between two stages, and of its gradients.
        size: Bytes,
        /// Micro-batches of a step.
        micro_batches: u32,
        /// Time of a stage for a micro-batch forwards.
        forward: Time,
        /// The same backwards.
        backward: Time,
        /// Steps, one after another. Default: one.
        repeat: Option<u32>,
        /// The hosts of the stages, in order. Default: all.
        hosts: Option<Vec<String>>,
        /// Which stage gets which host.
        placement: Option<Placement>,
        /// Ranks whose computations take longer. Default: none.
        slow: Option<Slow>,
    },
    /// Training of a model in which tensor, data, pipeline and expert parallelism are combined. After each computation
    /// a rank takes part in the all-reduce of its tensor group, and before and after it in an all-to-all of its expert
    /// group; stages send their results on, and a step ends with the all-reduce of each data group.
    Training {
        /// Groups that share each computation. Default: none.
        tensor: Option<Axis>,
        /// Groups of replicas that work on different data. Default: none.
        data: Option<Axis>,
        /// Stages, and bytes of a micro-batch's activations between two of them, and of its gradients. Default: one
        /// stage.
        pipeline: Option<Axis>,
        /// Groups of neighbours on the data axis that share experts, and bytes that a rank has for its whole group.
        /// Their number divides that of data. Default: none.
        expert: Option<Axis>,
        /// Which axis neighbouring ranks lie on, which one comes next, and which last. Default:
        /// ["tensor", "data", "pipeline"].
        order: Option<Vec<AxisName>>,
        /// The order in which a stage computes. Default: "1f1b".
        schedule: Option<Schedule>,
        /// Micro-batches of a step. Default: 1.
        micro_batches: Option<u32>,
        /// Time of a stage for a micro-batch forwards.
        forward: Time,
        /// The same backwards.
        backward: Time,
        /// Steps, one after another. Default: one.
        repeat: Option<u32>,
        /// The hosts of the ranks, in order. Default: all.
        hosts: Option<Vec<String>>,
        /// Which rank gets which host.
        placement: Option<Placement>,
        /// Ranks whose computations take longer. Default: none.
        slow: Option<Slow>,
        /// The algorithm of those collectives that have one of this name; others have their default.
        algorithm: Option<String>,
        /// Ranks of a server.
        server: Option<u32>,
        /// Channels of each collective.
        channels: Option<u32>,
        /// Largest message of a collective.
        chunk: Option<Bytes>,
        /// Peers to which a rank sends at once, of collectives whose algorithm is "direct". Default: all.
        window: Option<u32>,
        /// Whether what is for another server's rank goes over the rank of the own server on its rail first, as NCCL's
        /// PXN has it: by NVLink, and then without crossing rails. Groups with whole servers do. Needs `server`.
        /// Default: false.
        pxn: Option<bool>,
    },
    /// The work of a GOAL schedule, as text (`.goal`) or in the binary form of LogGOPSim, ATLAHS and HTSIM (`.bin`).
    Goal {
        /// The file, relative to the spec's folder.
        file: String,
        /// The hosts of the ranks, in order. Default: all.
        hosts: Option<Vec<String>>,
        /// Which rank gets which host.
        placement: Option<Placement>,
        /// Ranks whose computations take longer. Default: none.
        slow: Option<Slow>,
        /// Which nodes of a rank wait for each other. Default: "cpu".
        slots: Option<Slots>,
        /// When a send ends.
        send_done: Option<SendDone>,
    },
    /// The work of Chakra execution traces, one file for each rank, with collectives as messages.
    Chakra(Traces),
    /// The work of a workload file of SimAI (AICB), with collectives as messages: see graphs.md.
    #[serde(rename = "simai")]
    SimAi(Traces),
    /// A collective by an algorithm of MSCCL (`.xml`), whose GPUs are the ranks: see graphs.md.
    Msccl {
        /// The file, relative to the spec's folder.
        file: String,
        /// The vector of a rank in bytes, which the algorithm divides into `nchunksperloop` chunks. Default: 1 MiB.
        size: Option<Bytes>,
        /// The hosts of the ranks, in order. Default: all.
        hosts: Option<Vec<String>>,
        /// Which rank gets which host.
        placement: Option<Placement>,
        /// When a send ends.
        send_done: Option<SendDone>,
    },
    /// Collectives as a flow table of SimCCL (`.csv`), whose ranks are those of its flows: see graphs.md.
    #[serde(rename = "simccl")]
    SimCcl {
        /// The file, relative to the spec's folder.
        file: String,
        /// The hosts of the ranks, in order. Default: all.
        hosts: Option<Vec<String>>,
        /// Which rank gets which host.
        placement: Option<Placement>,
        /// When a send ends.
        send_done: Option<SendDone>,
    },
    /// A fixed set of long flows, each from a different sender. Their number is the load divided by a host's rate, or
    /// `count`; with one-to-one pairs it is the number of senders.
    Long {
        /// How sender and receiver are paired.
        #[serde(default)]
        pairs: Pairs,
        /// Number of flows, instead of a load.
        count: Option<u32>,
        /// Start times are uniform from 0 to this.
        #[serde(default)]
        spread: Time,
        /// Hosts that may send.
        senders: Option<Vec<String>>,
        /// Hosts that may receive.
        receivers: Option<Vec<String>>,
        /// Whether sender and receiver are always in different racks. Default: true if the load is a share of ToR
        /// uplinks.
        inter_rack_only: Option<bool>,
    },
    /// Clients that send requests to servers, wait for all answers, and send the next requests (DCTCP section 4.2.1).
    /// Each answer has the traffic's size, or `total` is divided among the answers. In results, requests and answers of
    /// a query form one group; requests are in the table `flows` and excluded from all statistics.
    Query {
        /// Hosts that send requests.
        clients: Option<Vec<String>>,
        /// Hosts that answer; a client sends no request to itself.
        servers: Option<Vec<String>>,
        /// Number of servers per query, drawn anew for each. Default: all of them, in the order of the list.
        degree: Option<u32>,
        /// Queries per client, one after another. Queries that have not begun when the window ends are not sent.
        rounds: u32,
        /// Payload of a request.
        // DCTCP section 2.2: requests of the Partition/Aggregate traffic.
        #[serde(default = "bytes::<1600>")]
        request: Bytes,
        /// Total payload of the answers to one query, divided equally among them, instead of a size.
        total: Option<Bytes>,
        /// Service time: the delay at a server between a request and its answer.
        #[serde(default)]
        service_time: ServiceTime,
        /// Each request starts after a random delay, uniform from 0 to this.
        #[serde(default)]
        jitter: Time,
        /// Think time: the delay at a client between the last answer and the next query.
        #[serde(default)]
        think_time: Time,
    },
    /// Messages from a comma-separated file whose first line names its columns: src, dst (names of hosts, or their
    /// numbers from 0), bytes, start_us (or _ps, _ns, _ms, _s), and optionally group. Other columns are ignored. If
    /// names of hosts are numbers, a number is taken as a name.
    List {
        /// The file, relative to the spec's folder.
        file: String,
    },
    /// Flows from a flow file of the ns-3 HPCC simulator. Its host n is the host named "h" and n.
    Hpcc {
        /// The file, relative to the spec's folder.
        file: String,
        /// Only flows with this destination port. Default: all.
        dport: Option<u16>,
        /// The time in the file that corresponds to the start of the traffic; no flow may start earlier.
        #[serde(default)]
        from: Time,
    },
    /// Connections from a connection matrix of htsim (`.cm`), triggers included. The `group` of each is its id in the
    /// file.
    Htsim {
        /// The file, relative to the spec's folder.
        file: String,
        /// The program of htsim for which it was written. Default: "uec" if it has the word msg, otherwise "ndp".
        dialect: Option<HtsimDialect>,
    },
    /// Messages that a program posts while the run goes on, through the C library: see astra-sim.md. There is no other
    /// traffic beside it, and no warm-up.
    Posted {},
}

/// When a send ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SendDone {
    /// As its last ACK arrives.
    #[default]
    Acked,
    /// As its last byte arrives, as in ASTRA-sim's analytical backend: its rank knows that at once, so the run has one
    /// thread.
    Arrived,
}

/// A collective operation of many ranks, or several, one after another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Collective {
    /// The hosts of the ranks, in order. Default: all.
    pub hosts: Option<Vec<String>>,
    /// Bytes, as nccl-tests counts them: the vector of an all-reduce, a reduce-scatter or a broadcast, the result of an
    /// all-gather, what each rank has for all in an all-to-all.
    pub size: Option<Bytes>,
    /// How it is carried out; docs/collectives.md lists the algorithms of each operation. Default: the first of them.
    pub algorithm: Option<String>,
    /// Which rank gets which host.
    pub placement: Option<Placement>,
    /// Ranks whose computations take longer. Default: none.
    pub slow: Option<Slow>,
    /// Ranks of a server: neighbours in the list of ranks, for hierarchical algorithms and for the order of channels.
    pub server: Option<u32>,
    /// Channels, each with its share of the bytes and messages of its own. Default: 1.
    pub channels: Option<u32>,
    /// Largest message; where messages have several blocks, as in halving, the largest block. Default: no limit.
    pub chunk: Option<Bytes>,
    /// Peers to which a rank sends at once, of the algorithm "direct": a further message follows each one that has
    /// arrived at the rank. Default: all.
    pub window: Option<u32>,
    /// Whether what is for another server's rank goes over the rank of the own server on its rail first, as NCCL's PXN
    /// has it: by NVLink, and then without crossing rails. Needs `server`. Default: false.
    pub pxn: Option<bool>,
    /// Bytes from each rank to each in an all-to-all, a list for each rank, instead of `size`. Where they are 0,
    /// nothing is sent.
    pub sizes: Option<Vec<Vec<Bytes>>>,
    /// The same from a comma-separated file with columns src, dst (ranks from 0) and bytes, relative to the spec's
    /// folder. Pairs that are not listed have none.
    pub sizes_file: Option<String>,
    /// How often it happens, one after another at each rank. Default: once.
    pub repeat: Option<u32>,
    /// Time for which each rank computes before each. Default: none.
    pub compute: Option<Time>,
}

/// Ranks whose computations take longer than those of others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slow {
    /// The ranks, from 0.
    pub ranks: Vec<u32>,
    /// How much longer, as in 1.5 times.
    pub factor: f64,
}

/// A way in which training is divided among ranks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// Ranks of a group.
    pub ranks: u32,
    /// Bytes of its messages: the vector of an all-reduce, what a rank has for all in an all-to-all, or what a stage
    /// sends for a micro-batch.
    pub size: Bytes,
}

/// An axis along which ranks are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AxisName {
    /// Ranks of a tensor group.
    Tensor,
    /// Ranks of a data group.
    Data,
    /// Stages of a pipeline.
    Pipeline,
}

/// The order in which the stages of a pipeline compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Schedule {
    /// All micro-batches forwards, then all backwards, the last one first.
    #[serde(rename = "gpipe")]
    GPipe,
    /// As many forwards as stages follow, then one forwards and one backwards in turn.
    #[serde(rename = "1f1b")]
    OneForwardOneBackward,
}

/// Which rank gets which host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// The first rank the first host, and so on.
    #[default]
    Packed,
    /// One rank in each rack in turn.
    Strided,
    /// At random, by the spec's seed.
    Random,
}

/// Which nodes of a rank wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Slots {
    /// Those that use one of the engines of ASTRA-sim: a CPU, a GPU, and one for sends and collectives, which hold it
    /// to their end. The lowest number goes first.
    AstraSim,
    /// Computations on one CPU of a GOAL file. The one that was ready first goes first.
    Cpu,
    /// None.
    None,
}

/// A program of htsim: its programs differ in the unit of `start` in a connection matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HtsimDialect {
    /// NDP, EQDS, RoCE and all others: picoseconds.
    Ndp,
    /// Swift: whole microseconds.
    Swift,
    /// UEC: whole microseconds, and msg for messages of one connection.
    Uec,
}

impl From<HtsimDialect> for fanin_formats::htsim::Dialect {
    fn from(dialect: HtsimDialect) -> Self {
        match dialect {
            HtsimDialect::Ndp => Self::Ndp,
            HtsimDialect::Swift => Self::Swift,
            HtsimDialect::Uec => Self::Uec,
        }
    }
}

/// How sender and receiver are paired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pairs {
    /// Uniformly at random.
    #[default]
    Random,
    /// The first sender with the first receiver, the second with the second, and so on.
    OneToOne,
}

/// Service time of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ServiceTime {
    /// Constant.
    Fixed(Time),
    /// Uniform from the first to the second.
    Uniform([Time; 2]),
}

impl Default for ServiceTime {
    fn default() -> Self {
        Self::Fixed(Time::ZERO)
    }
}

/// Payload of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Size {
    /// A flow without end.
    Endless,
    /// Constant.
    Fixed(Bytes),
    /// One of these sizes, with equal probability.
    UniformOf(Vec<Bytes>),
    /// Uniform over all byte counts from the smallest to the largest.
    Uniform([Bytes; 2]),
    /// Pareto.
    Pareto(Pareto),
    /// A built-in distribution (WebSearch, FB_Hadoop, AliStorage, in any letter case), or a file with "bytes percent"
    /// in each line, relative to the spec's folder.
    Cdf(String),
    /// The points of a cumulative distribution: bytes, and percent of messages up to this size.
    CdfPoints(Vec<[f64; 2]>),
}

/// Pareto sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pareto {
    /// The mean, before the cap.
    pub mean: Bytes,
    /// Tail index, above 1.
    pub shape: f64,
    /// Larger sizes are reduced to this. Default: no cap.
    pub cap: Option<Bytes>,
}

/// Offered load: payload as a share of a capacity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// The share; 0.4 is 40 %.
    pub share: f64,
    /// The capacity.
    pub of: LoadBase,
}

/// The capacity that a load is a share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadBase {
    /// All host links together; all payload counts.
    HostLinks,
    /// All links from switches with hosts to other switches together; payload between racks counts.
    TorUplinks,
    /// The links of the possible receivers, each on average.
    ReceiverLink,
}

/// The files of a job, and how it is carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Traces {
    /// The file, relative to the spec's folder. Of Chakra the trace of any rank, `PREFIX.RANK.et`; the others have the
    /// same prefix.
    pub file: String,
    /// The hosts of the ranks, in order. Default: all.
    pub hosts: Option<Vec<String>>,
    /// Which rank gets which host.
    pub placement: Option<Placement>,
    /// Ranks whose computations take longer. Default: none.
    pub slow: Option<Slow>,
    /// Which nodes of a rank wait for each other. Default: "astra-sim" for traces, none in a workload.
    pub slots: Option<Slots>,
    /// When a send ends.
    pub send_done: Option<SendDone>,
    /// The algorithm of those collectives that have one of this name; others have their default.
    pub algorithm: Option<String>,
    /// Ranks of a server.
    pub server: Option<u32>,
    /// Channels of each collective.
    pub channels: Option<u32>,
    /// Largest message of a collective.
    pub chunk: Option<Bytes>,
    /// Peers to which a rank sends at once, of collectives whose algorithm is "direct". Default: all.
    pub window: Option<u32>,
    /// Whether what is for another server's rank goes over the rank of the own server on its rail first, as NCCL's PXN
    /// has it: by NVLink, and then without crossing rails. Groups with whole servers do. Needs `server`. Default:
    /// false.
    pub pxn: Option<bool>,
    /// Process groups that the traces name and do not define: a JSON file like `{"1": [0, 1], "2": [2, 3]}`,
    /// relative to the spec's folder, as ASTRA-sim reads it. Default: none.
    pub groups: Option<String>,
}
