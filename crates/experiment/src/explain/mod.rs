//! What can be known of a run before anything runs: paths, thresholds, loads and what it will cost.
//!
//! [`explain`] says all of it, [`estimate`] only the cost. Both look at the messages of the run (`load.rs`) and take a
//! second at most, whatever the spec asks for.

mod cost;
mod hpcc;
mod load;
mod network;
mod paths;
mod rules;
mod trial;

pub(crate) use cost::bytes_of_a_part;
pub use cost::{Cost, Share, bytes_text, grouped, time_text};
pub use hpcc::estimate_hpcc;
pub use network::{Lengths, Network, PathsOf, RateOf, Tier};
pub use rules::{Class, Headroom, MarkingOf, Threshold};

use crate::CheckedSpec;
use fanin_workload::ListedFlow;
use load::Table;
use paths::Paths;
use serde::Serialize;

/// What can be known of a run before it runs. Keys have their units.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The spec's name.
    pub name: String,
    /// Its seed.
    pub seed: u64,
    /// Nodes, links, tiers, paths.
    pub network: Network,
    /// What queues and buffers do, by class.
    pub classes: Vec<Class>,
    /// What is sent, by traffic.
    pub traffics: Vec<TrafficOf>,
    /// What all traffics together offer each tier in the measured window.
    pub load: Vec<TierLoad>,
    /// What the run will cost.
    pub cost: Cost,
    /// What a reader of the results should know.
    pub warnings: Vec<String>,
}

/// What one traffic sends.
#[derive(Clone, Debug, Serialize)]
pub struct TrafficOf {
    /// Its name.
    pub name: String,
    /// The id of its scheme.
    pub scheme: String,
    /// "rdma" or "tcp".
    pub transport: &'static str,
    /// All parameters of the scheme, as the run has them.
    pub parameters: serde_json::Value,
    /// Its class.
    pub class: String,
    /// Messages with an end that start before the window ends.
    pub messages: f64,
    /// Messages that never end.
    pub endless_messages: u64,
    /// Payload of the messages with an end.
    pub bytes: f64,
    /// Of one of them; `None` without any.
    pub mean_bytes: Option<f64>,
    /// What it offers each tier in the measured window; messages that never end offer nothing of their own.
    pub load: Vec<TierLoad>,
    /// Whether not all of its messages were looked at: counts are then expected ones, and loads averages over the run.
    pub extrapolated: bool,
}

/// What is offered to a tier.
#[derive(Clone, Debug, Serialize)]
pub struct TierLoad {
    /// The tier, as in the table of ports.
    pub tier: String,
    /// Payload per second, each byte once per link of the tier that it crosses; equal-cost ways share evenly.
    pub payload_bps: f64,
    /// The same as a share of the tier's capacity.
    pub share: f64,
    /// The same with headers.
    pub wire_share: f64,
}

/// Everything that can be known before a run. The cost in seconds comes from a short trial on this machine.
pub fn explain(checked: &CheckedSpec) -> Explanation {
    let paths = paths_of(checked);
    let mut table = Table::new(&paths);
    let network = network::network(checked, &paths, &mut table);
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
        warnings: checked.foreseen(),
    }
}

/// What a run of the spec will cost, with `flows` that its caller adds. `speed` is that of this machine in packet-hops
/// per second; `None` finds it in a short trial.
pub fn estimate(checked: &CheckedSpec, flows: &[ListedFlow], speed: Option<f64>) -> Cost {
    let paths = paths_of(checked);
    let mut table = Table::new(&paths);
    let offers = load::offers(checked, flows, &mut table);
    cost::cost(checked, &paths, &mut table, &offers, speed.unwrap_or_else(trial::speed))
}

fn paths_of(checked: &CheckedSpec) -> Paths {
    let network = checked.network();
    let packet = &network.packet;
    // As the fabric counts them: with what the schemes add.
    let extra = checked.traffics().iter().map(|traffic| traffic.scheme.header_overhead().data).max().unwrap_or(0);
    let wire = u64::from(packet.payload) + u64::from(packet.header) + u64::from(extra);
    Paths::new(&network.graph, wire, u64::from(packet.ack))
}

#[cfg(test)]
mod tests;
