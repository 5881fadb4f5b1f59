//! Ideal completion times other than that of the network, by which slowdowns are computed: the formula of the ns-3 HPCC
//! simulator, and the same message in a run of its own.

use crate::built::Built;
use crate::document::Ideal;
use crate::{CheckedSpec, ListedFlow, Problems};
use fanin_fabric::outside::Paths;
use fanin_fabric::{Dependency, Message, ParallelSimulation};
use fanin_record::Run;
use fanin_units::{NodeId, Rate, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Events between two questions whether to go on.
const EVENTS_PER_LOOK: u64 = 200_000;
/// Network round-trip times without any packet before each message of a lone run, in which state of the message before
/// it decays.
const IDLE: u64 = 100;
/// Simulated time after which a message that has not arrived never does.
const LONGEST: Time = Time::from_s(100);
/// Simulated time between two looks whether a message has arrived.
const STEP: Time = Time::from_ms(10);

/// A message: the number of its traffic, and its number there.
pub type Name = (u16, u32);

impl Ideal {
    /// Its name in specs and summaries.
    pub fn name(self) -> &'static str {
        match self {
            Self::StoreAndForward => "store-and-forward",
            Self::Hpcc => "hpcc",
            Self::LoneRun => "lone-run",
        }
    }
}

/// The ideals of messages of a spec and of `flows` that its caller adds; [`Time::NEVER`] for those without end, and for
/// those that did not arrive. `go_on` is asked repeatedly; when it returns false, the rest have none.
///
/// # Errors
/// If a flow is impossible on the network.
pub fn ideals(
    checked: &CheckedSpec,
    flows: Vec<ListedFlow>,
    ideal: Ideal,
    wanted: &[Name],
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Vec<Time>, Problems> {
    let built = calm(checked.build_with(flows)?);
    let mut next: BTreeMap<u16, u32> = BTreeMap::new();
    let named = built.messages.map(|message| {
        let number = next.entry(message.traffic).or_default();
        *number += 1;
        ((message.traffic, *number - 1), message)
    });
    let known: BTreeMap<Name, Message> = named.collect();
    let built = Built { messages: Box::new(std::iter::empty()), ..calm(checked.build()) };
    let found = match ideal {
        Ideal::LoneRun => lone(&built, &known, wanted, go_on),
        Ideal::StoreAndForward | Ideal::Hpcc => of_paths(&built, &known, wanted, ideal),
    };
    Ok(wanted.iter().map(|name| found.get(name).copied().unwrap_or(Time::NEVER)).collect())
}

/// Replaces the ideals of a run's messages by those that its spec wants.
pub fn apply(checked: &CheckedSpec, flows: Vec<ListedFlow>, run: &mut Run, go_on: &mut dyn FnMut() -> bool) {
    let ideal = checked.document().measure.slowdown;
    run.slowdown_ideal = ideal.name();
    if ideal == Ideal::StoreAndForward {
        return;
    }
    let wanted: Vec<Name> = run.flows.iter().map(|flow| flow.traffic).zip(run.numbers.iter().copied()).collect();
    // The same flows have just run.
    let Ok(found) = ideals(checked, flows, ideal, &wanted, go_on) else { return };
    run.flows = run.flows.iter().zip(found).map(|(flow, ideal)| fanin_fabric::FlowRecord { ideal, ..flow }).collect();
}

/// The same network without faults.
fn calm(mut built: Built) -> Built {
    for link in &mut built.network.graph.links {
        (link.error_rate, link.outages) = (0.0, Vec::new());
    }
    built.network.pauses.faults = Vec::new();
    built
}

/// By the path of each message.
fn of_paths(built: &Built, known: &BTreeMap<Name, Message>, wanted: &[Name], ideal: Ideal) -> BTreeMap<Name, Time> {
    // Hosts without a switch between them have no such paths.
    let Ok(paths) = Paths::new(built.network.clone(), &built.traffics) else { return BTreeMap::new() };
    let sizes = &built.network.packet;
    let (payload, header) = (u64::from(sizes.payload), u64::from(sizes.header));
    let of = |name: &Name| {
        let message = known.get(name).filter(|message| message.bytes < Message::ENDLESS)?;
        let key = paths.key(u64::from(name.0) << 32 | u64::from(name.1), false);
        let (from, to) = (NodeId(message.src), NodeId(message.dst));
        if ideal == Ideal::StoreAndForward {
            let overhead = built.traffics[usize::from(name.0)].scheme.header_overhead();
            return Some((*name, paths.walk(from, to, key, overhead, message.bytes).ideal));
        }
        let links: Vec<(Rate, Time)> = paths.ports(from, to, key).iter().map(|port| paths.link(*port)).collect();
        Some((*name, formula(&links, message.bytes, payload, header)))
    };
    wanted.iter().filter_map(of).collect()
}

/// The ideal of the ns-3 HPCC simulator: a round trip of the delays with one transmission of a packet's payload per
/// link, and then the whole message with its headers at the rate of the slowest link.
fn formula(links: &[(Rate, Time)], bytes: u64, payload: u64, header: u64) -> Time {
    let Some(narrowest) = links.iter().map(|(rate, _)| *rate).min() else { return Time::NEVER };
    let trip = links.iter().fold(Time::ZERO, |sum, (rate, delay)| {
        sum.saturating_add(*delay).saturating_add(*delay).saturating_add(rate.tx_time(payload))
    });
    trip.saturating_add(narrowest.tx_time(bytes + bytes.div_ceil(payload) * header))
}

/// Sends the messages of each traffic one after another, each in a network without any other packet.
fn lone(
    built: &Built,
    known: &BTreeMap<Name, Message>,
    wanted: &[Name],
    go_on: &mut dyn FnMut() -> bool,
) -> BTreeMap<Name, Time> {
    let idle = Paths::new(built.network.clone(), &built.traffics)
        .map_or(Time::from_ms(1), |paths| paths.network_rtt().saturating_mul(IDLE));
    let mut found = BTreeMap::new();
    for traffic in 0..built.traffics.len() as u16 {
        let alone = |name: &&Name| name.0 == traffic && known.get(name).is_some_and(|m| m.bytes < Message::ENDLESS);
        let order: Vec<Name> = wanted.iter().filter(alone).copied().collect();
        let place: BTreeMap<Name, u32> = order.iter().copied().zip(0..).collect();
        let never = order.len() as u32 + 1;
        // All are loaded, so that each has its number, which chooses its path; those not wanted are never posted.
        let names = || known.range((traffic, 0)..=(traffic, u32::MAX));
        let messages: Vec<Message> = names()
            .map(|(name, message)| {
                let dependency = match place.get(name) {
                    None => Dependency { after: Some(never), ..Dependency::default() },
                    Some(place) => Dependency {
                        after: place.checked_sub(1),
                        delay: idle,
                        counts_acked: Some(*place),
                        ..Dependency::default()
                    },
                };
                Message { start: Time::ZERO, senders: None::<Arc<[u32]>>, dependency, sent_by: None, ..message.clone() }
            })
            .collect();
        let (network, traffics) = (built.network.clone(), built.traffics.clone());
        let mut sim = ParallelSimulation::whole(network, traffics, Box::new(messages.into_iter()));
        let (mut done, mut since) = (0, Time::ZERO);
        while done < order.len() as u64 && go_on() && sim.now().saturating_sub(since) < LONGEST {
            sim.run_until(sim.now().saturating_add(STEP), EVENTS_PER_LOOK);
            if sim.finished() > done {
                (done, since) = (sim.finished(), sim.now());
            }
        }
        for ((name, _), flow) in names().zip(sim.take_flows().iter()) {
            if flow.finished.is_some() {
                found.insert(*name, flow.finished.saturating_sub(flow.start));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_is_that_of_the_ns3_simulator() {
        // Two links of 100 Gb/s and 1 us, and one of 400 Gb/s: 2 * 3 us, and 1000 B on each; then 2 packets with 48 B.
        let (slow, fast) = (Rate::from_gbps(100), Rate::from_gbps(400));
        let links = [(slow, Time::from_us(1)), (fast, Time::from_us(1)), (slow, Time::from_us(1))];
        let expected = Time::from_us(6) + Time::from_ns(80 + 20 + 80) + Time::from_ps((1500 + 96) * 80);
        assert_eq!(formula(&links, 1500, 1000, 48), expected);
        // As its own files have it, in whole nanoseconds, without the round trip.
        let standalone = fanin_formats::hpcc::standalone_fct(1000, 1500, &[(100_000_000_000, 1000); 2]);
        let ours = formula(&[links[0], links[2]], 1500, 1000, 48);
        assert_eq!(ours.as_ps() / 1000, standalone);
    }
}
