//! Load balancing: which of equally short paths a packet takes at a switch, where that is not by flow.

use super::Network;
use super::balance::Balance;
use crate::packet::PacketIx;
use crate::port::PortIx;
use fanin_cc::{Choice, Header};
use fanin_engine::EventQueue;

impl<Q: EventQueue> Network<Q> {
    /// The port by which a packet leaves a switch, given by its row; `out` is one of those it may take.
    pub(super) fn choose_path(&mut self, switch: usize, out: PortIx, ix: PacketIx) -> PortIx {
        let Some(mut balance) = self.programs.balance.take() else { return out };
        let chosen = self.balanced(&mut balance, switch, ix).unwrap_or(out);
        self.programs.balance = Some(balance);
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
        let name = || &self.wiring.plan.config.graph.names[node.ix()];
        let chosen = equal.get(at).unwrap_or_else(|| {
            panic!("load balancing: at switch {} it chose path {at}, counted from 0, of {}", name(), equal.len())
        });
        Some(self.row(*chosen))
    }

    /// A port that a packet may take.
    fn choice(&self, out: PortIx, head: &Header) -> Choice {
        let port = self.egress.port(out);
        Choice {
            port: self.wiring.port_number[out.ix()],
            rate: port.rate,
            queued: self.egress.queue(out, head.class as usize).bytes,
            paused: port.paused & 1 << head.class != 0,
        }
    }
}
