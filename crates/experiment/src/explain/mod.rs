//! Properties of a run that are known before it starts: paths, thresholds, loads and cost.
//!
//! [`explain`] reports all of them, [`estimate`] only the cost. Both examine the messages of the run (`load.rs`) and
//! take a second at most, whatever the spec asks for.

mod cost;
mod could_pause;
mod drawing;
mod exact;
mod hpcc;
mod jobs;
mod load;
mod network;
mod paths;
mod pauses;
mod rules;
mod trial;
mod uet;

pub use cost::{Cost, Share, bytes_text, grouped, time_text};
pub use drawing::{LinkKind, NodeKind};
pub use exact::{explain_exactly, explain_under};
pub use hpcc::estimate_hpcc;
pub use jobs::{JobOf, longest};
pub(crate) use network::rates_of_switches;
pub use network::{Lengths, Network, PathsOf, RateOf, Tier};
pub use pauses::Pauses;
pub use rules::{Class, Headroom, MarkingOf, Threshold};
pub use uet::{estimate_uet, explain_uec};

use crate::CheckedSpec;
use fanin_cc::Balancing;
use fanin_units::Time;
use fanin_workload::ListedFlow;
use load::Table;
use paths::Paths;
use serde::Serialize;

/// Properties of a run that are known before it starts. Keys carry their units.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The spec's name.
    pub name: String,
    /// Its seed.
    pub seed: u64,
    /// Nodes, links, tiers, paths.
    pub network: Network,
    /// Queues and buffers, by class.
    pub classes: Vec<Class>,
    /// Messages, by traffic.
    pub traffics: Vec<TrafficOf>,
    /// Load that all traffics together offer each tier in the measured window.
    pub load: Vec<TierLoad>,
    /// Estimated cost of the run.
    pub cost: Cost,
    /// Jobs in an empty network; those of very many nodes are left out.
    pub jobs: Vec<JobOf>,
    /// Whether PFC could act at all, of the flows of a configuration of the ns-3 HPCC simulator.
    pub pauses: Option<Pauses>,
    /// Remarks about the numbers.
    pub remarks: Vec<String>,
    /// Warnings for the results.
    pub warnings: Vec<String>,
}

/// The messages of one traffic.
#[derive(Clone, Debug, Serialize)]
pub struct TrafficOf {
    /// Its name.
    pub name: String,
    /// The id of its scheme.
    pub scheme: String,
    /// "rdma" or "tcp".
    pub transport: &'static str,
    /// All parameters of the scheme, with defaults.
    pub parameters: serde_json::Value,
    /// Its class.
    pub class: String,
    /// Messages with an end that start before the window ends.
    pub messages: f64,
    /// Messages that never end.
    pub endless_messages: u64,
    /// Payload of the messages with an end.
    pub bytes: f64,
    /// Mean payload per message; `None` without any.
    pub mean_bytes: Option<f64>,
    /// Its load on each tier in the measured window; endless messages have none.
    pub load: Vec<TierLoad>,
    /// Whether only some of its messages were examined: counts are then expected values, and loads averages over the
    /// run.
    pub extrapolated: bool,
}

/// The load on a tier.
#[derive(Clone, Debug, Serialize)]
pub struct TierLoad {
    /// The tier, as in the table of ports.
    pub tier: String,
    /// Payload per second, each byte once per link of the tier that it crosses, divided evenly among equal-cost paths.
    pub payload_bps: f64,
    /// The same as a share of the tier's capacity.
    pub share: f64,
    /// The same with headers.
    pub wire_share: f64,
}

/// All properties that are known before a run. The cost in seconds comes from a short trial on this machine.
pub fn explain(checked: &CheckedSpec) -> Explanation {
    let paths = paths_of(checked);
    let mut table = Table::new(&paths);
    let network = network::network(&checked.network().graph, &paths, &mut table);
    let classes = rules::classes(checked, &network);
    let offers = load::offers(checked, &[], &mut table);
    let cost = cost::cost(checked, &paths, &mut table, &offers, trial::speed());
    let capacity = network::capacities(&checked.network().graph, &paths);
    let tiers = |payload: &[f64], wire: &[f64]| -> Vec<TierLoad> {
        let of = paths.tiers.iter().zip(&capacity).zip(payload.iter().zip(wire));
        let load = of.filter(|((_, capacity), (payload, _))| **capacity > 0.0 && **payload > 0.0).map(
            |((tier, capacity), (payload, wire))| TierLoad {
                tier: tier.clone(),
                payload_bps: *payload,
                share: payload / capacity,
                wire_share: wire / capacity,
            },
        );
        load.collect()
    };
    let document = checked.document();
    let traffics = checked.traffics().iter().zip(&offers.traffics).map(|(config, offer)| TrafficOf {
        name: config.name.clone(),
        scheme: config.scheme.id().to_string(),
        transport: if config.tcp.is_some() { "tcp" } else { "rdma" },
        parameters: config.scheme.to_json(),
        class: checked.network().classes[usize::from(config.class) - 1].name.clone(),
        messages: offer.messages as f64 * offer.factor,
        endless_messages: offer.endless,
        bytes: offer.bytes * offer.factor,
        mean_bytes: (offer.messages > 0).then(|| offer.bytes / offer.messages as f64),
        load: tiers(&offer.payload, &offer.wire),
        extrapolated: offers.extrapolated,
    });
    let sum = |of: fn(&load::Offer) -> &Vec<f64>| -> Vec<f64> {
        let tiers = 0..paths.tiers.len();
        tiers.map(|tier| offers.traffics.iter().map(|offer| of(offer)[tier]).sum()).collect()
    };
    Explanation {
        name: document.name.clone(),
        seed: document.seed,
        traffics: traffics.collect(),
        load: tiers(&sum(|o| &o.payload), &sum(|o| &o.wire)),
        network,
        classes,
        cost,
        jobs: jobs::jobs(checked),
        pauses: None,
        remarks: paths_of_senders(checked).into_iter().collect(),
        warnings: checked.foreseen(),
    }
}

/// Who chooses the paths of packets, where it is their senders.
fn paths_of_senders(checked: &CheckedSpec) -> Option<String> {
    let Balancing::Senders(spraying) = &checked.network().balancing else { return None };
    let id = checked.document().network.balancing.0.id();
    let tcp =
        if checked.traffics().iter().any(|traffic| traffic.tcp.is_some()) { ", and TCP goes by flow" } else { "" };
    Some(format!(
        "Load balancing: senders of RDMA choose one of {} paths for each packet (network.balancing = \"{id}\"){tcp}.",
        spraying.paths
    ))
}

/// The estimated cost of a run, with `flows` that its caller adds. `speed` is that of this machine in packet-hops per
/// second; `None` measures it in a short trial.
pub fn estimate(checked: &CheckedSpec, flows: &[ListedFlow], speed: Option<f64>) -> Cost {
    let paths = paths_of(checked);
    let mut table = Table::new(&paths);
    let offers = load::offers(checked, flows, &mut table);
    cost::cost(checked, &paths, &mut table, &offers, speed.unwrap_or_else(trial::speed))
}

/// The longest base round-trip time between two hosts, of those that there is time to examine.
pub(crate) fn longest_rtt(checked: &CheckedSpec) -> Time {
    let paths = paths_of(checked);
    let mut table = Table::new(&paths);
    let (groups, _) = table.affordable();
    groups.into_iter().for_each(|group| drop(table.to(group)));
    table.rtt()
}

fn paths_of(checked: &CheckedSpec) -> Paths {
    let network = checked.network();
    // As the fabric counts them, including the bytes that schemes add.
    Paths::new(&network.graph, checked.largest_packet(), u64::from(network.packet.ack))
}

#[cfg(test)]
mod tests;
