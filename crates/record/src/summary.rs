//! Summaries of runs.

use crate::{EventKind, JobSummary, Percentiles, Run, jobs};
use fanin_cc::{Acted, SchemeSummaries};
use fanin_fabric::FlowRecord;
use fanin_units::Time;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The messages that count, by payload: from `min` to `max` bytes, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SizeRange {
    /// Smallest size in bytes.
    pub min: u64,
    /// Largest size in bytes; `None` if no size is too large.
    pub max: Option<u64>,
}

impl SizeRange {
    /// Every size.
    pub const ALL: Self = Self { min: 0, max: None };

    /// One size only.
    pub const fn only(bytes: u64) -> Self {
        Self { min: bytes, max: Some(bytes) }
    }

    fn contains(self, bytes: u64) -> bool {
        bytes >= self.min && self.max.is_none_or(|max| bytes <= max)
    }
}

/// One traffic over the measured window. Only messages posted within the window count, and no requests of queries.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TrafficSummary {
    /// Its name in the spec.
    pub traffic: String,
    /// The id of its scheme.
    pub scheme: String,
    /// Its transport: "tcp" or "rdma".
    pub transport: &'static str,
    /// The class of its data packets.
    pub class_name: String,
    /// Messages posted.
    pub started: u64,
    /// Of those, messages whose last byte arrived.
    pub finished: u64,
    /// Of those, messages whose last byte did not arrive before the run stopped.
    pub unfinished: u64,
    /// Endless flows, whenever they started.
    pub endless: u64,
    /// Range of sizes for the next four fields.
    pub sizes: SizeRange,
    /// Messages in this range posted.
    pub sized_started: u64,
    /// Of those, messages that did not arrive before the run stopped.
    pub sized_unfinished: u64,
    /// Completion times of finished messages in this range, in microseconds.
    pub completion_us: Percentiles,
    /// Completion times of finished messages in this range, as multiples of their ideal.
    pub slowdown: Percentiles,
    /// Its queries, if it has any.
    pub queries: Option<QuerySummary>,
    /// Its job, if nodes of one send its messages.
    pub job: Option<JobSummary>,
    /// Data packets of measured messages that arrived out of order, as RFC 4737 defines it: after a packet further on.
    /// Packets sent again do not count.
    pub reordered: u64,
    /// The same as a share of their packets that arrived.
    pub reordered_share: Option<f64>,
    /// Largest number of bytes by which a packet of this traffic was late, over the whole run: from its first byte to
    /// the end of the furthest packet that arrived before it.
    pub reorder_distance_bytes: u64,
    /// Payload that arrived in order in the window, of all messages whenever posted, in Gb/s over the whole window.
    /// `None` in runs of the ns-3 HPCC simulator's files.
    pub goodput_gbps: Option<f64>,
    /// Of that, payload of endless flows.
    pub long_goodput_gbps: f64,
    /// Share of the data packets of measured messages that arrived with a congestion mark.
    pub marked_share: Option<f64>,
    /// Data packets of measured messages that were retransmitted.
    pub packets_resent: u64,
    /// Retransmission timeouts of measured messages.
    pub timeouts: u64,
    /// Path dilation: the links that the first packets of measured messages crossed beyond their shortest paths, as a
    /// share of the links of these shortest paths; of messages whose first packet arrived, `None` without any and over
    /// TCP (Dart's Table II).
    pub path_dilation: Option<f64>,
    /// Measured messages with at least one deflected packet.
    pub deflected: u64,
    /// The names of other traffics with the same scheme and parameters, at most the first eight: they share one
    /// instance of the scheme, so the fields below count all of them together.
    pub counted_with: Vec<String>,
    /// Packets dropped, ACKs and retransmissions included, over the whole run.
    pub packets_dropped: u64,
    /// Counters that only its scheme has, in a table of the scheme's name.
    #[serde(flatten)]
    pub of_scheme: SchemeSummaries,
    /// Number of actions of its scheme by kind, over the whole run.
    pub actions: BTreeMap<&'static str, u64>,
}

/// The queries of a traffic whose first request was posted in the measured window.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct QuerySummary {
    /// Queries that began.
    pub started: u64,
    /// Of those, queries whose answers all arrived.
    pub finished: u64,
    /// Queries with a retransmission timeout in at least one message.
    pub timed_out: u64,
    /// Times from the post of the first request to the last byte of the last answer, of finished queries, in
    /// microseconds.
    pub completion_us: Percentiles,
}

/// Packets dropped in the whole run, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DropSummary {
    /// All causes together.
    pub total: u64,
    /// No buffer for a lossy class.
    pub buffer: u64,
    /// No buffer for a lossless class.
    pub lossless: u64,
    /// Lost to a link's error rate.
    pub error: u64,
    /// On a link that went down, or queued for it.
    pub link_down: u64,
    /// No path to the destination.
    pub no_route: u64,
    /// By a switch program.
    pub program: u64,
    /// Belonging to a message that a failure blocked.
    pub blocked: u64,
    /// At a host that was not their destination.
    pub wrong_host: u64,
    /// Credits beyond the limit of their queue, by which credit-based schemes find their rates. No data is lost.
    pub credits: u64,
    /// By a storm watchdog.
    pub watchdog: u64,
    /// Of a lossy class, without room in the receive buffer of a slow host.
    pub receiver: u64,
}

/// The network over the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NetworkSummary {
    /// When the run stopped, in microseconds.
    pub stopped_us: f64,
    /// Packets dropped.
    pub drops: DropSummary,
    /// Packets cut to their headers at full queues, in runs of uet-htsim's files.
    pub trimmed: u64,
    /// Time that data was paused, summed over ports and classes, in microseconds.
    pub paused_us: f64,
    /// PAUSE frames.
    pub pauses: u64,
    /// Time that data lacked credits, summed over ports and classes, in microseconds.
    pub credit_wait_us: f64,
    /// Storms that watchdogs found.
    pub storms: u64,
    /// Congestion notification packets sent, all traffics.
    pub cnps: u64,
    /// Packets marked by queues.
    pub marked: u64,
    /// Largest queue of any switch port in bytes.
    pub peak_queue_bytes: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Connections given up because a segment was retransmitted `tcp.retries` times, and queue pairs after
    /// `rdma.retries` timeouts in a row; their messages stay unfinished.
    pub given_up: u64,
    /// NACKs sent.
    pub nacks: u64,
    /// Data packets of RDMA that arrived although all their bytes had arrived before: sent again without need, or
    /// because an ACK was lost.
    pub duplicates: u64,
    /// Packets sent over one link each.
    pub packet_hops: u64,
    /// Data packets that arrived behind a later one of the same attempt of their message.
    pub reordered: u64,
    /// Largest number of bytes by which such a packet was late.
    pub reorder_distance_bytes: u64,
    /// Bytes sent over all links.
    pub link_bytes: u64,
    /// Of those, bytes beyond the shortest paths of deflected packets that arrived.
    pub detour_bytes: u64,
    /// Bytes of detours as a share of all other bytes on links (Dart's Table II). `None` if nothing was sent.
    pub load_increase: Option<f64>,
    /// Events left out of the events table, by kind.
    pub events_left_out: BTreeMap<&'static str, u64>,
}

/// A run in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// The ideal that completion times are divided by for slowdowns: "store-and-forward" is the same message alone on
    /// the same path, "hpcc" the formula of the ns-3 HPCC simulator, "lone-run" the same message in a run of its own,
    /// "empty-network" the same message, up to its last ACK, in the network of uet-htsim without any other.
    pub slowdown_ideal: &'static str,
    /// Reasons not to trust the run; a program that made it should exit with an error if there are any.
    pub errors: Vec<String>,
    /// Per traffic, by number.
    pub traffics: Vec<TrafficSummary>,
    /// The network.
    pub network: NetworkSummary,
}

/// A finished flow's completion time in microseconds: from the post at the sender to the last byte at the receiver.
pub fn completion_us(flow: &FlowRecord) -> Option<f64> {
    flow.finished.is_some().then(|| us(flow.finished.saturating_sub(flow.start)))
}

/// A finished flow's completion time as a multiple of its ideal.
pub fn slowdown(flow: &FlowRecord) -> Option<f64> {
    let known = flow.finished.is_some() && flow.ideal.is_some() && flow.ideal > Time::ZERO;
    known.then(|| flow.finished.saturating_sub(flow.start).as_ps() as f64 / flow.ideal.as_ps() as f64)
}

fn us(time: Time) -> f64 {
    time.as_ps() as f64 / 1e6
}

/// Sums a run up; `sizes` chooses the messages whose completion times and slowdowns are shown. Unless `allow_drops`, a
/// drop in a lossless class is an error.
pub fn summarise(run: &Run, sizes: SizeRange, allow_drops: bool) -> Summary {
    let drops = run.totals.drops;
    let mut errors = Vec::new();
    if drops.lossless > 0 && !allow_drops {
        errors.push(format!(
            "{} packets of lossless classes were dropped for lack of buffer; give them more headroom or buffer, or set \
             measure.allow_drops = true",
            drops.lossless
        ));
    }
    errors.extend(jobs::unfinished(run));
    let switch_ports = run.graph.links.iter().flat_map(|link| [link.a, link.b]).zip(&run.ports);
    let peak = switch_ports.filter(|(from, _)| !run.graph.is_host(*from)).map(|(_, port)| port.peak_queue).max();
    let traffics: Vec<TrafficSummary> = summarise_traffics(run, sizes);
    let link_bytes: u64 = run.ports.iter().map(|port| port.bytes).sum();
    let detour_bytes = run.totals.hosts.detour_bytes;
    let others = link_bytes.saturating_sub(detour_bytes);
    let network = NetworkSummary {
        stopped_us: us(run.stopped),
        drops: DropSummary {
            total: drops.total(),
            buffer: drops.buffer,
            lossless: drops.lossless,
            error: drops.error,
            link_down: drops.link_down,
            no_route: drops.no_route,
            program: drops.program,
            blocked: drops.blocked,
            wrong_host: drops.wrong_host,
            credits: drops.shaper,
            watchdog: drops.watchdog,
            receiver: drops.receiver,
        },
        trimmed: run.totals.trimmed,
        paused_us: run.ports.iter().map(|port| us(port.paused)).sum(),
        pauses: run.ports.iter().map(|port| port.pauses).sum(),
        credit_wait_us: run.ports.iter().map(|port| us(port.credit_wait)).sum(),
        storms: run.totals.storms,
        cnps: run.totals.hosts.cnps,
        marked: run.ports.iter().map(|port| port.marked).sum(),
        peak_queue_bytes: peak.unwrap_or(0),
        timeouts: run.totals.hosts.timeouts,
        given_up: run.totals.hosts.given_up,
        nacks: run.totals.hosts.nacks,
        duplicates: run.totals.hosts.duplicates,
        packet_hops: run.totals.packet_hops,
        reordered: run.totals.hosts.reordered,
        reorder_distance_bytes: run.totals.hosts.reorder_distance,
        link_bytes,
        detour_bytes,
        load_increase: (others > 0).then(|| detour_bytes as f64 / others as f64),
        events_left_out: EventKind::ALL.iter().map(|&kind| (kind.name(), run.events.left_out(kind))).collect(),
    };
    Summary { slowdown_ideal: run.slowdown_ideal, errors, traffics, network }
}

/// Accumulated data of a query's messages.
#[derive(Default)]
struct Query {
    /// First post of a request.
    begun: Time,
    /// Last byte of an answer.
    ended: Time,
    /// Requests whose answers have not arrived.
    unanswered: i64,
    timeouts: u64,
}

/// Accumulated data of one traffic's flows, in one pass over all flows.
#[derive(Default)]
struct Collected {
    started: u64,
    finished: u64,
    endless: u64,
    sized_started: u64,
    sized_unfinished: u64,
    completion_us: Vec<f64>,
    slowdown: Vec<f64>,
    arrived: u64,
    marked: u64,
    reordered: u64,
    resent: u64,
    timeouts: u64,
    /// Of messages whose first packet arrived.
    links: u64,
    shortest: u64,
    deflected: u64,
    /// By group.
    queries: BTreeMap<u32, Query>,
}

impl Collected {
    /// A message of a query: a request or an answer.
    fn add_to_query(&mut self, flow: &FlowRecord) {
        if !flow.request && !self.queries.contains_key(&flow.group) {
            // Groups without a request are no queries; a query's first request is its first message.
            return;
        }
        let query = self.queries.entry(flow.group).or_insert(Query { begun: Time::NEVER, ..Query::default() });
        query.timeouts += u64::from(flow.timeouts);
        if flow.request {
            query.begun = flow.start.min(query.begun);
            query.unanswered += 1;
        } else if flow.finished.is_some() {
            query.ended = flow.finished.max(query.ended);
            query.unanswered -= 1;
        }
    }

    fn sum_up_queries(&self, run: &Run) -> Option<QuerySummary> {
        let window = run.measured_from..run.measured_to;
        let begun: Vec<&Query> = self.queries.values().filter(|query| window.contains(&query.begun)).collect();
        // An answer that its server still thinks about when the run stops is no row of its own.
        let whole = begun.iter().filter(|query| query.unanswered <= 0);
        let times: Vec<f64> = whole.map(|query| us(query.ended.saturating_sub(query.begun))).collect();
        (!self.queries.is_empty()).then(|| QuerySummary {
            started: begun.len() as u64,
            finished: times.len() as u64,
            timed_out: begun.iter().filter(|query| query.timeouts > 0).count() as u64,
            completion_us: Percentiles::of(times),
        })
    }

    fn add(&mut self, run: &Run, flow: &FlowRecord, sizes: SizeRange) {
        if flow.bytes >= fanin_fabric::Message::ENDLESS {
            self.endless += 1;
            return;
        }
        if !run.is_measured(flow) {
            return;
        }
        let finished = flow.finished.is_some();
        self.started += 1;
        self.finished += u64::from(finished);
        self.arrived += u64::from(flow.packets_arrived);
        self.marked += u64::from(flow.packets_marked);
        self.reordered += u64::from(flow.reordered);
        self.resent += u64::from(flow.packets_resent);
        self.timeouts += u64::from(flow.timeouts);
        self.deflected += u64::from(flow.deflections > 0);
        if flow.links > 0 {
            self.links += u64::from(flow.links);
            self.shortest += u64::from(flow.hops);
        }
        if sizes.contains(flow.bytes) {
            self.sized_started += 1;
            self.sized_unfinished += u64::from(!finished);
            self.completion_us.extend(completion_us(flow));
            self.slowdown.extend(slowdown(flow));
        }
    }
}

fn summarise_traffics(run: &Run, sizes: SizeRange) -> Vec<TrafficSummary> {
    let mut collected: Vec<Collected> = run.traffics.iter().map(|_| Collected::default()).collect();
    for flow in run.flows.iter() {
        let number = usize::from(flow.traffic);
        if let Some(of) = collected.get_mut(number) {
            of.add(run, &flow, sizes);
            of.add_to_query(&flow);
        }
    }
    let window_s = run.measured_to.saturating_sub(run.measured_from).as_secs_f64();
    let gbps = |bytes: u64| if window_s > 0.0 { bytes as f64 * 8.0 / window_s / 1e9 } else { 0.0 };
    let parts = run.traffics.iter().zip(collected);
    parts
        .zip(0..)
        .map(|((info, c), number)| TrafficSummary {
            job: jobs::summary(run, number),
            traffic: info.name.clone(),
            scheme: info.scheme.clone(),
            transport: info.transport,
            class_name: info.class_name.clone(),
            started: c.started,
            finished: c.finished,
            unfinished: c.started - c.finished,
            endless: c.endless,
            sizes,
            sized_started: c.sized_started,
            sized_unfinished: c.sized_unfinished,
            queries: c.sum_up_queries(run),
            completion_us: Percentiles::of(c.completion_us),
            slowdown: Percentiles::of(c.slowdown),
            reordered: c.reordered,
            reordered_share: (c.arrived > 0).then(|| c.reordered as f64 / c.arrived as f64),
            reorder_distance_bytes: info.counters.reorder_distance,
            goodput_gbps: info.bytes_in_window.map(gbps),
            long_goodput_gbps: gbps(info.long_bytes_in_window),
            marked_share: (c.arrived > 0).then(|| c.marked as f64 / c.arrived as f64),
            packets_resent: c.resent,
            timeouts: c.timeouts,
            // Dart, Table II
            path_dilation: (c.shortest > 0).then(|| c.links as f64 / c.shortest as f64 - 1.0),
            deflected: c.deflected,
            counted_with: info.counted_with.clone(),
            packets_dropped: info.counters.dropped,
            of_scheme: SchemeSummaries::of(&Acted {
                actions: &info.counters.actions,
                table_peak: info.table_peak,
                switch_ns: f64::from(run.graph.switches()) * run.stopped.as_ps() as f64 / 1e3,
            }),
            actions: info.counters.actions.iter().map(|(action, n)| (action.name(), n)).collect(),
        })
        .collect()
}
