//! Which of equally short paths a packet takes, queue disciplines, and the programs of one's own for both.

use super::checker::Checker;
use super::document::{self, Document, Network};
use fanin_cc::{BalancerProgram, Balancing, DisciplineProgram};
use fanin_units::Time;
use std::sync::Arc;

/// The default of `network.flowlet_gap`. Between the 50 us and 500 us of LetFlow (Vanini et al. 2017), whose links were
/// slower, and the round-trip times of today's fabrics.
const FLOWLET_GAP: Time = Time::from_us(50);

/// Programs of one's own, which a spec cannot contain: whoever runs it supplies them.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    /// The one behind `network.balancing = "own"`.
    pub balancer: Option<Arc<dyn BalancerProgram>>,
    /// The one behind `network.discipline = "own"`.
    pub discipline: Option<Arc<dyn DisciplineProgram>>,
}

impl Programs {
    /// Writes into a spec that these are used.
    pub(super) fn name_in(&self, network: &mut Network) {
        if self.balancer.is_some() {
            network.balancing = document::Balancing::Own;
        }
        if self.discipline.is_some() {
            network.discipline = document::Discipline::Own;
        }
    }
}

/// The policy of the network. `symmetric` is whether its routes are.
pub fn check_balancing(
    network: &mut Network,
    symmetric: bool,
    deflects: bool,
    programs: &Programs,
    checker: &mut Checker<'_>,
) -> Balancing {
    use document::Balancing as Named;
    if network.balancing == Named::Flowlets {
        let gap = *network.flowlet_gap.get_or_insert(FLOWLET_GAP);
        if gap == Time::ZERO {
            let right = "write a time above zero, like \"50 us\", or balancing = \"random\"";
            checker.fail("network.flowlet_gap", "without a gap every packet is a flowlet", right);
        }
    } else if network.flowlet_gap.is_some() {
        let problem = "only balancing = \"flowlets\" has a gap";
        checker.fail("network.flowlet_gap", problem, "leave it out, or set network.balancing = \"flowlets\"");
    }
    let by_flow = network.balancing == Named::FlowHash;
    if symmetric && !by_flow {
        let problem = "symmetric routes (network.routing = \"symmetric\", also the default of schemes that send \
                       credits) lead both directions of a flow over the same links, and only \"flow-hash\" does that";
        let right = "set network.balancing = \"flow-hash\", or network.routing = \"ecmp\"";
        checker.fail("network.balancing", problem, right);
    }
    if deflects && !by_flow {
        let problem = "a scheme of this spec (traffic.scheme) deflects packets from their flow's path, and with this \
                       policy a flow has none";
        checker.fail("network.balancing", problem, "set it to \"flow-hash\", or use a scheme that does not deflect");
    }
    match network.balancing {
        Named::FlowHash => Balancing::FlowHash,
        Named::Random => Balancing::Random,
        Named::RoundRobin => Balancing::RoundRobin,
        Named::LeastQueue => Balancing::LeastQueue,
        Named::Flowlets => Balancing::Flowlets { gap: network.flowlet_gap.unwrap_or(FLOWLET_GAP) },
        Named::Own => supplied("network.balancing", "\"random\"", &programs.balancer, checker)
            .map_or(Balancing::FlowHash, Balancing::Own),
    }
}

/// The queue discipline of the network, where it has one of its own.
pub fn check_discipline(
    network: &Network,
    programs: &Programs,
    checker: &mut Checker<'_>,
) -> Option<Arc<dyn DisciplineProgram>> {
    match network.discipline {
        document::Discipline::Fifo => None,
        document::Discipline::Own => supplied("network.discipline", "\"fifo\"", &programs.discipline, checker),
    }
}

/// A program of one's own that a spec asks for; a problem where nobody supplied it.
fn supplied<P: ?Sized>(path: &str, other: &str, program: &Option<Arc<P>>, checker: &mut Checker<'_>) -> Option<Arc<P>> {
    if program.is_none() {
        let right = format!("supply one together with the spec, or choose another value, like {other}");
        checker.fail(path, "\"own\" is a program, and none was supplied with this spec", right);
    }
    program.clone()
}

/// Whether a scheme of the spec deflects packets.
pub fn deflects(document: &Document) -> bool {
    let of = |traffic: &document::Traffic| fanin_cc::settings(traffic.scheme.id(), &traffic.scheme.parameters());
    document.traffic.iter().any(|traffic| of(traffic).is_ok_and(|scheme| scheme.deflection().is_some()))
}
