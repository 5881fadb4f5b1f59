//! Load balancing: which of equally short paths a packet takes at a switch, where that is not by flow.

use super::Network;
use super::parts::{Switch, with_info};
use crate::packet::PacketIx;
use crate::plan::Plan;
use crate::port::{Port, PortIx};
use fanin_cc::{Balancer, Choice, Header};
use fanin_engine::EventQueue;
use fanin_units::PortId;

/// The balancers of the switches of a partition.
pub(super) struct Balance {
    /// By the row of the switch.
    balancers: Vec<Box<dyn Balancer>>,
    /// Whether they look at queues, which must be up to date then.
    sees_queues: bool,
    /// The equal paths of one packet, kept for their memory.
    equal: Vec<PortId>,
    choices: Vec<Choice>,
}

impl Balance {
    /// Those of these switches; none where packets go by flow.
    pub fn new(plan: &Plan, ports: &[Port], switches: &[Switch]) -> Option<Box<Self>> {
        let balancing = &plan.config.balancing;
        if balancing.is_by_flow() {
            return None;
        }
        let of = |switch: &Switch| with_info(plan, ports, switch, "balancing", |info| balancing.build(info));
        Some(Box::new(Self {
            balancers: switches.iter().filter_map(of).collect(),
            sees_queues: balancing.sees_queues(),
            equal: Vec::new(),
            choices: Vec::new(),
        }))
    }
}

impl<Q: EventQueue> Network<Q> {
    /// The port by which a packet leaves a switch, given by its row; `out` is one of those it may take.
    pub(super) fn choose_path(&mut self, switch: usize, out: PortIx, ix: PacketIx) -> PortIx {
        let Some(mut balance) = self.balance.take() else { return out };
        let chosen = self.balanced(&mut balance, switch, ix).unwrap_or(out);
        self.balance = Some(balance);
        chosen
    }

    /// The same, or `None` where the packet has no choice.
    fn balanced(&mut self, balance: &mut Balance, switch: usize, ix: PacketIx) -> Option<PortIx> {
        let Balance { balancers, sees_queues, equal, choices } = balance;
        let (head, key) = (self.core.packets[ix].head, self.core.packets[ix].path.key);
        let node = self.switches[switch].node;
        equal.clear();
        self.routes.equal(node, head.dst, equal);
        if equal.len() < 2 {
            return None;
        }
        choices.clear();
        for port in &*equal {
            let port = self.row(*port);
            if *sees_queues {
                self.flush(port);
            }
            choices.push(self.choice(port, &head));
        }
        let at = balancers[switch].choose(self.core.clock.now(), &head, key, choices);
        let name = || &self.plan.config.graph.names[node.ix()];
        let chosen = equal.get(at).unwrap_or_else(|| {
            panic!("load balancing: at switch {} it chose path {at}, counted from 0, of {}", name(), equal.len())
        });
        Some(self.row(*chosen))
    }

    /// A port that a packet may take.
    fn choice(&self, out: PortIx, head: &Header) -> Choice {
        let port = self.egress.port(out);
        Choice {
            port: self.port_number[out.ix()],
            rate: port.rate,
            queued: self.egress.queue(out, head.class as usize).bytes,
            paused: port.paused & 1 << head.class != 0,
        }
    }
}
