//! Cyclic buffer dependencies, as a network finds them.

use super::Network;
use super::parts::Switch;
use crate::buffers::Buffers;
use crate::credit_table::Credits;
use crate::egress::Egress;
use crate::port::PortIx;
use crate::results::What;
use fanin_engine::EventQueue;
use fanin_units::PortId;

impl<Q: EventQueue> Network<Q> {
    /// A PAUSE arrived for these classes of a port, or they ran out of credits. Counts one for each that closes a
    /// cyclic buffer dependency.
    pub(super) fn count_cycles(&mut self, port: PortIx, classes: u8) {
        let stuck = classes & self.egress.stuck(port);
        // A network that is cut is proven to have none.
        if stuck == 0 || self.core.outbox.is_cut() {
            return;
        }
        for class in (1..self.egress.classes()).filter(|class| stuck & 1 << class != 0) {
            let from = (port, class);
            let next = |port| next_switch(&self.switches, &self.egress, port);
            let stopped = |port, class| stopped(&self.buffers, self.credits.as_deref(), &self.egress, port, class);
            if self.cycles.closes(&self.egress, next, stopped, from) {
                let id = self.egress.port(port).id;
                self.core.incident(id, What::CircularWait(class as u8));
            }
        }
    }

    /// Queues that wait for each other in a cycle now, as ports and classes, each of which waits for the next one and
    /// the last one for the first. Reads all queues.
    pub fn cyclic_dependency(&self) -> Option<Vec<(PortId, u8)>> {
        let next = |port| next_switch(&self.switches, &self.egress, port);
        let stopped = |port, class| stopped(&self.buffers, self.credits.as_deref(), &self.egress, port, class);
        crate::cyclic::find(&self.egress, next, stopped)
    }
}

/// The ports of the switch that a port between switches leads to.
fn next_switch<'a>(switches: &'a [Switch], egress: &Egress, port: PortIx) -> &'a [PortIx] {
    &switches[egress.port(port.reverse()).home as usize].ports
}

/// Whether the far end of a port's link stops a class of the port, by what the far end knows.
fn stopped(buffers: &Buffers, credits: Option<&Credits>, egress: &Egress, port: PortIx, class: usize) -> bool {
    match credits {
        Some(credits) => credits.stopped(egress, port, class),
        None => buffers.ingress(port.reverse(), class).is_some_and(|held| held.paused),
    }
}
