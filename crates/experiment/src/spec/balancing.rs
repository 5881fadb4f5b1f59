//! Which of equally short paths a packet takes, and queue disciplines.

use super::checker::Checker;
use super::document::{self, Document, Network};
use super::one::One;
use super::scheme::{SchemeChoice, SchemeId};
use super::shape::advice;
use crate::loaded::{self, FIFO, Kind};
use fanin_cc::paths::{PathsKind, Selector, Spraying};
use fanin_cc::{Balancing, DisciplineProgram, OwnBalancing, SettingsError};
use fanin_fabric::{NetworkConfig, TrafficConfig};
use fanin_units::Time;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The policy that has a gap.
const FLOWLETS: &str = "flowlets";

/// The default of `network.flowlet_gap`. Between the 50 us and 500 us of LetFlow (Vanini et al. 2017), whose links were
/// slower, and the round-trip times of today's fabrics.
const FLOWLET_GAP: Time = Time::from_us(50);

/// The default of `network.paths`.
const PATHS: u32 = 128;

/// The policy of the network. `symmetric` is whether its routes are.
pub fn check_balancing(network: &mut Network, symmetric: bool, deflects: bool, checker: &mut Checker<'_>) -> Balancing {
    if network.balancing.0.id() == FLOWLETS {
        let gap = *network.flowlet_gap.get_or_insert(FLOWLET_GAP);
        checker.bound::<Network>("network.flowlet_gap", gap);
    } else if network.flowlet_gap.is_some() {
        let problem = "only balancing = \"flowlets\" has a gap";
        checker.fail("network.flowlet_gap", problem, "leave it out, or set network.balancing = \"flowlets\"");
    }
    let gap = network.flowlet_gap.unwrap_or(FLOWLET_GAP);
    let policy = match Balancing::named(network.balancing.0.id(), gap, network.paths.unwrap_or(PATHS)) {
        Some(policy) => policy,
        None => match own::<OwnBalancing>("balancing", &mut network.balancing.0, checker).as_deref() {
            Some(OwnBalancing::Switches(program)) => Balancing::Own(program.clone()),
            Some(OwnBalancing::Senders(program)) => {
                let selector = Selector::Own(program.clone());
                Balancing::Senders(Spraying { selector, paths: network.paths.unwrap_or(PATHS) })
            }
            None => return Balancing::FlowHash,
        },
    };
    check_paths(network, matches!(policy, Balancing::Senders(_)), checker);
    if symmetric && !policy.is_by_flow() {
        let problem = "symmetric routes (network.routing = \"symmetric\", also the default of schemes that send \
                       credits) lead both directions of a flow over the same links, and only \"flow-hash\" does that";
        let right = "set network.balancing = \"flow-hash\", or network.routing = \"ecmp\"";
        checker.fail("network.balancing", problem, right);
    }
    if deflects && !policy.is_by_flow() {
        let problem = "a scheme of this spec (traffic.scheme) deflects packets from their flow's path, and with this \
                       policy a flow has none";
        checker.fail("network.balancing", problem, "set it to \"flow-hash\", or use a scheme that does not deflect");
    }
    policy
}

/// The number of paths among which senders choose, where they do.
fn check_paths(network: &mut Network, senders_choose: bool, checker: &mut Checker<'_>) {
    if !senders_choose {
        if network.paths.is_some() {
            let senders: Vec<String> = PathsKind::NAMES.iter().map(|(id, _)| format!("\"{id}\"")).collect();
            let right = format!("leave it out, or set network.balancing to one of {}", senders.join(", "));
            checker.fail("network.paths", "with this network.balancing senders choose no paths", right);
        }
        return;
    }
    let paths = *network.paths.get_or_insert(PATHS);
    if !paths.is_power_of_two() || paths > 1 << 16 {
        let right = "write a power of two from 1 to 65536, like 128";
        checker.fail("network.paths", format!("{paths} is not a possible number of paths"), right);
    }
}

/// Makes the senders of traffics over RDMA choose paths, where the network's balancing is theirs.
pub fn spray(network: &NetworkConfig, traffics: &mut [TrafficConfig], checker: &mut Checker<'_>) {
    let Balancing::Senders(spraying) = &network.balancing else { return };
    for (number, traffic) in traffics.iter_mut().enumerate().filter(|(_, traffic)| traffic.tcp.is_none()) {
        if traffic.scheme.needs_switches().is_some() {
            let problem = format!(
                "switches write into the field of \"{}\" where senders put the number of a path",
                traffic.scheme.id()
            );
            let right = "set network.balancing = \"random\", with which switches choose";
            checker.fail(&format!("traffic[{number}].scheme"), problem, right);
        }
        traffic.spraying = Some(spraying.clone());
    }
}

/// The queue discipline of the network, where it has one of its own.
pub fn check_discipline(network: &mut Network, checker: &mut Checker<'_>) -> Option<Arc<dyn DisciplineProgram>> {
    match network.discipline.0.id() {
        FIFO => None,
        _ => own("discipline", &mut network.discipline.0, checker),
    }
}

/// The loaded program of a choice, whose parameters are then all filled in; `None` after adding a problem.
fn own<P: Kind + ?Sized>(key: &str, choice: &mut SchemeChoice, checker: &mut Checker<'_>) -> Option<Arc<P>> {
    let (id, changes) = (choice.id().to_string(), choice.parameters());
    let mut network = One { path: "network".to_string(), checker };
    match loaded::made::<P>(&id, &changes) {
        Ok(Some(made)) => {
            if !made.parameters.is_empty() {
                *choice = SchemeChoice::Changed { id: SchemeId(id), parameters: made.parameters };
            }
            Some(made.program)
        }
        Ok(None) => {
            // A spec from text has passed its schema, which lists those that are known; one from a document has not.
            network.fail(key, format!("there is no {} \"{id}\"", P::NAME), advice(&id, loaded::ids::<P>()));
            None
        }
        Err(error) => {
            let fits =
                |alone: &Map<String, Value>| !matches!(loaded::made::<P>(&id, alone), Err(SettingsError::Value(_)));
            network.refuse(key, (&id, &changes), error, fits);
            None
        }
    }
}

/// Whether a scheme of the spec deflects packets.
pub fn deflects(document: &Document) -> bool {
    let of = |traffic: &document::Traffic| fanin_cc::settings(traffic.scheme.id(), &traffic.scheme.parameters());
    document.traffic.iter().any(|traffic| of(traffic).is_ok_and(|scheme| scheme.deflection().is_some()))
}
