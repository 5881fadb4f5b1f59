//! Queues and buffers, class by class: marking thresholds, limits, PFC thresholds.

use super::network::{Network, rates_of_switches, us};
use crate::CheckedSpec;
use fanin_fabric::credits::buffer_for;
use fanin_fabric::shared_buffer::{Limit, Plan};
use fanin_fabric::{BufferPolicy, MarkAt, Marking, pfc};
use fanin_units::{NodeId, Rate};
use serde::Serialize;
use std::collections::BTreeMap;

/// One data class.
#[derive(Clone, Debug, Serialize)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Whether flow control, PFC or credits, protects it from loss.
    pub lossless: bool,
    /// Bytes that switches leave of its packets which find no room; `None` where they drop or never lose them.
    pub trimmed_bytes: Option<u64>,
    /// Traffics in it.
    pub traffics: Vec<String>,
    /// "per-port", "pool", "credits" or "unlimited".
    pub buffer: &'static str,
    /// Its limit in bytes: of each port, or of its pool at each switch. `None` without a limit.
    pub buffer_bytes: Option<u64>,
    /// Factor of the dynamic threshold, if it has a pool.
    pub alpha: Option<f64>,
    /// Its limits at ports of certain rates, where they are others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub buffer_by_rate: Vec<BufferOf>,
    /// Its strict priority, if it has one.
    pub priority: Option<u8>,
    /// Its weight among the classes of its priority; `None` where classes take turns packet by packet.
    pub weight: Option<u16>,
    /// Its marking, for each rate of the ports of switches.
    pub marking: Vec<MarkingOf>,
    /// Its PFC thresholds, for each kind of link at switches; empty for a lossy class.
    pub pfc: Vec<Headroom>,
}

/// The buffer of a class at ports of one rate.
#[derive(Clone, Debug, Serialize)]
pub struct BufferOf {
    /// Rate of these ports.
    pub rate_bps: u64,
    /// Bytes of each port, or of its pool at each switch.
    pub buffer_bytes: Option<u64>,
    /// Factor of the dynamic threshold, if it has a pool.
    pub alpha: Option<f64>,
}

/// Marking of a class at ports of one rate.
#[derive(Clone, Debug, Serialize, Default)]
pub struct MarkingOf {
    /// Rate of these ports.
    pub rate_bps: u64,
    /// Ports of switches with that rate.
    pub ports: u64,
    /// "off", "step", "red", "red-average" or "pi".
    pub kind: &'static str,
    /// When the queue is compared with the threshold: "enqueue" or "dequeue".
    pub at: Option<&'static str>,
    /// Thresholds in the order of their size: `above` of a step; `min`, `max` of RED; `target` of PI.
    pub thresholds: Vec<Threshold>,
    /// Largest probability: RED's at `max`, 1 for a step.
    pub probability: Option<f64>,
    /// Weight of a new sample in RED's average.
    pub weight: Option<f64>,
    /// PI's gains `a` and `b`.
    pub gains: Option<[f64; 2]>,
    /// Time between PI's samples.
    pub every_us: Option<f64>,
}

/// A threshold of a queue.
#[derive(Clone, Debug, Serialize)]
pub struct Threshold {
    /// Its key in the spec.
    pub key: &'static str,
    /// Bytes of the queue.
    pub bytes: u64,
    /// As a share of the largest bandwidth-delay product.
    pub share_of_bdp: f64,
    /// Time that the port takes to send as much.
    pub drain_us: f64,
}

/// PFC thresholds of the ingress ports on links of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct Headroom {
    /// Rate of these links.
    pub rate_bps: u64,
    /// Propagation delay of these links.
    pub delay_us: f64,
    /// Ingress ports of switches on such links.
    pub ports: u64,
    /// Bytes reserved for packets that arrive after a PAUSE was sent.
    pub headroom_bytes: u64,
    /// Bytes that such a link needs.
    pub needed_bytes: u64,
    /// Whether the first covers the second.
    pub enough: bool,
    /// XOFF threshold: PAUSE when an ingress holds this much. With a pool: for a single ingress while the rest of the
    /// pool is free.
    pub xoff_bytes: u64,
    /// XON threshold: RESUME when it holds this much.
    pub xon_bytes: u64,
}

/// All classes of a checked spec.
pub fn classes(checked: &CheckedSpec, network: &Network) -> Vec<Class> {
    let config = checked.network();
    let plan = Plan::new(&config.buffer, &config.buffer_by_rate, &config.classes, &config.packet);
    let wire = network.paths.packet_bytes;
    let bdp = network.paths.bdp_max_bytes.max(1) as f64;
    let rates = rates_of_switches(&config.graph);
    let weighs = config.classes.iter().any(|class| class.priority.is_some() || class.weight.is_some());
    let of = |(i, class): (usize, &fanin_fabric::ClassConfig)| {
        let limit = plan.limits[i + 1];
        let described = |limit: Limit| match limit {
            Limit::None => ("unlimited", None, None),
            Limit::Credits => ("credits", credits(checked), None),
            Limit::Port { bytes, .. } => ("per-port", Some(bytes), None),
            Limit::Pool { pool, alpha } => ("pool", Some(plan.pools[pool].0), Some(alpha)),
        };
        let (buffer, buffer_bytes, alpha) = described(limit);
        let others = plan.by_rate.iter().filter(|(_, limits)| limits[i + 1] != limit).map(|(rate, limits)| {
            let (_, buffer_bytes, alpha) = described(limits[i + 1]);
            BufferOf { rate_bps: rate.as_bps(), buffer_bytes, alpha }
        });
        let marking = rates.iter().map(|(rate, ports)| {
            let own = class.marking_by_rate.iter().find(|(other, _)| other == rate);
            marking(own.map_or(&class.marking, |(_, marking)| marking), *rate, *ports, bdp)
        });
        let number = i as u8 + 1;
        let uses = |t: &&fanin_fabric::TrafficConfig| t.class == number || t.lane_class == number;
        Class {
            name: class.name.clone(),
            lossless: class.lossless,
            trimmed_bytes: config.trimming.filter(|_| !class.lossless).map(|trimming| u64::from(trimming.size)),
            traffics: checked.traffics().iter().filter(uses).map(|t| t.name.clone()).collect(),
            buffer,
            buffer_bytes,
            alpha,
            buffer_by_rate: others.collect(),
            marking: marking.collect(),
            priority: class.priority,
            weight: weighs.then(|| class.weight.unwrap_or(1)),
            pfc: if class.lossless { headroom(checked, &plan, i + 1, wire) } else { Vec::new() },
        }
    };
    config.classes.iter().enumerate().map(of).collect()
}

/// The marking of ports of a rate.
pub fn marking(marking: &Marking, rate: Rate, ports: u64, bdp: f64) -> MarkingOf {
    let threshold = |key: &'static str, bytes: u64| Threshold {
        key,
        bytes,
        share_of_bdp: bytes as f64 / bdp,
        drain_us: us(rate.tx_time(bytes)),
    };
    let when = |at: MarkAt| {
        Some(match at {
            MarkAt::Enqueue => "enqueue",
            MarkAt::Dequeue => "dequeue",
            MarkAt::LastBit => "last-bit",
        })
    };
    let mut of = MarkingOf { rate_bps: rate.as_bps(), ports, kind: "off", ..MarkingOf::default() };
    match *marking {
        Marking::Off => {}
        Marking::Step { above, at } => {
            (of.kind, of.at, of.probability) = ("step", when(at), Some(1.0));
            of.thresholds = vec![threshold("above", above)];
        }
        Marking::Red { min, max, max_probability, at } => {
            (of.kind, of.at, of.probability) = ("red", when(at), Some(max_probability));
            of.thresholds = vec![threshold("min", min), threshold("max", max)];
        }
        Marking::RedAverage(red) => {
            (of.kind, of.at, of.probability) = ("red-average", Some("enqueue"), Some(red.max_probability));
            of.weight = Some(red.weight);
            of.thresholds = vec![threshold("min", red.min), threshold("max", red.max)];
        }
        Marking::Pi(pi) => {
            (of.kind, of.at) = ("pi", Some("enqueue"));
            (of.gains, of.every_us) = (Some([pi.a, pi.b]), Some(us(pi.every)));
            of.thresholds = vec![threshold("target", pi.target)];
        }
    }
    of
}

/// The largest buffer of a port and class with credits.
fn credits(checked: &CheckedSpec) -> Option<u64> {
    let config = checked.network();
    let BufferPolicy::Credits { bytes } = config.buffer else { return None };
    let wire = u64::from(config.packet.payload) + u64::from(config.packet.header);
    let of = |link: &fanin_fabric::topology::Link| {
        bytes.unwrap_or_else(|| buffer_for(link.rate, link.delay, wire, config.classes.len() as u64))
    };
    config.graph.links.iter().map(of).max()
}

/// PFC of a lossless class by kind of link. Headroom is computed as in the fabric.
fn headroom(checked: &CheckedSpec, plan: &Plan, class: usize, wire: u64) -> Vec<Headroom> {
    let config = checked.network();
    let graph = &config.graph;
    let (BufferPolicy::PerPort { pfc: rule, .. } | BufferPolicy::Pooled { pfc: rule, .. }) = config.buffer else {
        return Vec::new();
    };
    let pause = u64::from(config.packet.pause);
    let needed = |rate, delay| pfc::headroom(rate, (delay, config.pauses.response), wire, pause);
    let mut kinds = BTreeMap::new();
    // Headroom of all ingresses of a switch together, for its pool.
    let mut kept: BTreeMap<NodeId, u64> = BTreeMap::new();
    for link in &graph.links {
        for node in [link.a, link.b].into_iter().filter(|node| !graph.is_host(*node)) {
            *kinds.entry((link.rate, link.delay)).or_insert(0u64) += 1;
            let own = rule.headroom.unwrap_or_else(|| needed(link.rate, link.delay));
            let sum = kept.entry(node).or_default();
            *sum = sum.saturating_add(own);
        }
    }
    let most_kept = kept.values().copied().max().unwrap_or(0);
    kinds
        .into_iter()
        .map(|((rate, delay), ports)| {
            let needed_bytes = needed(rate, delay);
            let headroom_bytes = rule.headroom.unwrap_or(needed_bytes);
            let xoff_bytes = match plan.limit(class, rate) {
                Limit::None | Limit::Credits => u64::MAX,
                Limit::Port { bytes, .. } => bytes.saturating_sub(headroom_bytes),
                // A single ingress settles at q = alpha (pool - q).
                Limit::Pool { pool, alpha } => {
                    let (bytes, lossless) = plan.pools[pool];
                    let free = bytes.saturating_sub(most_kept.saturating_mul(u64::from(lossless.count_ones())));
                    (free as f64 * alpha / (1.0 + alpha)) as u64
                }
            };
            Headroom {
                rate_bps: rate.as_bps(),
                delay_us: us(delay),
                ports,
                headroom_bytes,
                needed_bytes,
                enough: headroom_bytes >= needed_bytes,
                xoff_bytes,
                xon_bytes: xoff_bytes.saturating_sub(plan.xon_offset),
            }
        })
        .collect()
}
