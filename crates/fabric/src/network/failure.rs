//! Links that go down and come up, as the network sees it.

use super::Network;
use crate::clock::{kind, source};
use crate::port::PortIx;
use crate::routing::{Links, Routes};
use fanin_engine::EventQueue;
use fanin_units::{MessageId, Time};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The argument of a LINK event that changes the link. Any other argument marks the detection of a change: the number
/// of changes then left.
const CHANGES: u32 = u32::MAX;

/// What hosts and routes must learn of a link.
pub(crate) enum LinkState {
    /// It is up, and used at once.
    Up,
    /// Its ends have detected that it is down.
    KnownDown,
}

impl<Q: EventQueue> Network<Q> {
    /// Schedules the first change of each link. Only a network in one partition has links that change, so rows equal
    /// numbers.
    pub fn schedule_outages(&mut self) {
        for link in 0..self.links.len() {
            self.schedule_next_change(link);
        }
    }

    fn schedule_next_change(&mut self, link: usize) {
        if let Some(at) = self.links.next_change(link) {
            self.core.clock.schedule(at, source(kind::LINK, link as u32), CHANGES);
        }
    }

    /// The event of a link: it goes down or comes up, or its ends detect that it is down. Packets on the wire of a
    /// failed link are lost by its epoch, and pauses across it are cleared on both sides.
    #[cold]
    pub fn on_link_event(&mut self, link: u32, step: u32) -> Option<LinkState> {
        if step != CHANGES {
            // If the link came up and went down again in between, only the last failure counts.
            return (step == self.links.changes_left(link as usize)).then_some(LinkState::KnownDown);
        }
        let up = self.links.change(link as usize)?;
        self.schedule_next_change(link as usize);
        for port in [PortIx(2 * link), PortIx(2 * link + 1)] {
            self.egress.set_up(port, up);
            if !up {
                self.forget_pauses(port);
            }
        }
        if up {
            for port in [PortIx(2 * link), PortIx(2 * link + 1)] {
                self.restart_credits(port);
            }
            return Some(LinkState::Up);
        }
        let detection = self.wiring.plan.config.detection;
        if detection == Time::ZERO {
            return Some(LinkState::KnownDown);
        }
        let at = self.core.clock.now().saturating_add(detection);
        let left = self.links.changes_left(link as usize);
        self.core.clock.schedule(at, source(kind::LINK, link), left);
        None
    }

    /// Clears the pauses of one end of a failed link.
    fn forget_pauses(&mut self, port: PortIx) {
        self.egress.forget_pauses(&mut self.core, port);
        self.forget_peer_pauses(port);
        let paused = self.buffers.forget_pauses(port);
        let (switch, of_host) = (self.egress.port(port).home, self.egress.port(port).of_host());
        for _ in 0..if of_host { 0 } else { paused } {
            self.end_pause(switch);
        }
    }

    /// Computes routes over the links that are up. Returns the old and the new ones.
    pub fn find_routes(&mut self) -> [Arc<Routes>; 2] {
        let (plan, down) = (&self.wiring.plan, self.links.down());
        let links = Links::new(&plan.config.graph, &down);
        let sizes = (plan.largest, plan.config.packet.ack as u32);
        let new = Routes::build(links, &plan.streams, sizes, |port| plan.layout.row(port));
        let new = Arc::new(new.used_as(&plan.config));
        self.modes.routes_changed = true;
        [core::mem::replace(&mut self.routes, new.clone()), new]
    }

    /// Messages that a switch has deflected.
    pub fn deflected(&self) -> BTreeSet<MessageId> {
        self.links.deflected()
    }

    /// Blocks the attempts of a message before this one: switches drop their packets.
    pub fn block(&mut self, message: MessageId, first_attempt: u16) {
        self.links.block(message, first_attempt);
        self.modes.redirects = true;
    }
}
