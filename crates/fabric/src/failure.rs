//! Links that lose packets and links that go down.

use crate::packet::PacketIx;
use crate::results::DropCause;
use crate::routing::Routes;
use crate::sim::{Simulation, kind};
use crate::topology::Link;
use fanin_cc::Kind;
use fanin_engine::{EventQueue, Stream, Streams};
use fanin_units::{MessageId, PortId, Time};

/// The argument of a LINK event that changes the link; any other is how many changes were left when it did what becomes known.
const CHANGES: u32 = u32::MAX;

/// What can go wrong with one link.
pub struct LinkState {
    error_rate: f64,
    /// Changes of state still to come, the next one last: when, and whether the link is up after it.
    changes: Vec<(Time, bool)>,
    /// One stream of draws per direction.
    draws: Option<Box<[Stream; 2]>>,
}

impl LinkState {
    /// The states of all links.
    pub fn all(links: &[Link], streams: &Streams) -> Vec<Self> {
        links
            .iter()
            .enumerate()
            .map(|(i, link)| {
                let mut changes: Vec<(Time, bool)> =
                    link.outages.iter().flat_map(|&(from, to)| [(from, false), (to, true)]).collect();
                changes.retain(|(at, _)| *at != Time::NEVER);
                changes.reverse();
                let stream = |direction: u64| streams.stream("link error", 2 * i as u64 + direction);
                let draws = (link.error_rate > 0.0).then(|| Box::new([stream(0), stream(1)]));
                Self { error_rate: link.error_rate, changes, draws }
            })
            .collect()
    }
}

impl<Q: EventQueue> Simulation<Q> {
    pub(crate) fn schedule_outages(&mut self) {
        for link in 0..self.links.len() {
            self.schedule_next_change(link);
        }
    }

    fn schedule_next_change(&mut self, link: usize) {
        if let Some(&(at, _)) = self.links[link].changes.last() {
            self.schedule(at, kind::LINK, link as u32, CHANGES);
        }
    }

    /// A link goes down or comes up. What is on the wire of a link that goes down is lost by its epoch, and pauses across it
    /// are forgotten on both sides. When its ends know, what is queued for it is dropped and routes are found anew; a link
    /// that comes up is used at once.
    #[cold]
    pub(crate) fn link_changes(&mut self, link: u32, step: u32) {
        let ends = [PortId(2 * link), PortId(2 * link + 1)];
        if step != CHANGES {
            // Of a link that came up and went down again in between, only the last time counts.
            if step == self.links[link as usize].changes.len() as u32 {
                self.link_is_known_dead(ends);
            }
            return;
        }
        let Some((_, up)) = self.links[link as usize].changes.pop() else {
            return;
        };
        self.schedule_next_change(link as usize);
        for port in ends {
            self.ports[port.ix()].up = up;
            for epoch in [&mut self.ports[port.ix()].epoch, &mut self.far_ends[port.ix()].epoch] {
                *epoch = epoch.wrapping_add(1);
            }
            if !up {
                self.forget_pauses(port);
            }
        }
        if !up && self.config.detection > Time::ZERO {
            let at = self.now.saturating_add(self.config.detection);
            self.schedule(at, kind::LINK, link, self.links[link as usize].changes.len() as u32);
        } else if !up {
            self.link_is_known_dead(ends);
        } else {
            self.find_routes();
            ends.into_iter().for_each(|port| self.service(port));
            for message in core::mem::take(&mut self.stranded) {
                self.open_channel(message);
            }
        }
    }

    fn link_is_known_dead(&mut self, ends: [PortId; 2]) {
        for port in ends {
            self.tell_of_link(port);
            self.flush(port);
        }
        self.find_routes();
    }

    /// Finds routes for the links that are up. A message that is pinned and would change its way, or that a switch has
    /// deflected, so that its way is not known here, is blocked: its packets under way end at the next switch, and its
    /// sender starts anew when it notices (Dart IV-C).
    fn find_routes(&mut self) {
        let nodes = self.config.graph.names.len() as u32;
        let new = Routes::build(
            &self.ports,
            self.config.graph.hosts,
            nodes,
            &self.streams,
            self.largest,
            self.config.packet.ack as u32,
        );
        let old = core::mem::replace(&mut self.routes, new);
        self.routes_changed = true;
        for at in 0..self.senders.len() {
            let flow = &self.senders[at];
            if flow.flow == MessageId::NONE || !flow.options.pinned {
                continue;
            }
            // A connection may have several.
            let under_way: Vec<MessageId> = flow.half.under_way().collect();
            if under_way.is_empty() {
                continue;
            }
            let from = self.ports[flow.port.ix()].node;
            let way = |routes: &Routes| {
                let mut way = Vec::new();
                routes.walk(&self.ports, from, flow.to, flow.course.key, |port, _| way.push(port));
                way
            };
            if under_way.iter().any(|m| self.slots[m.ix()].deflected) || way(&old) != way(&self.routes) {
                for message in under_way {
                    self.slots[message.ix()].first_attempt = flow.attempt.saturating_add(1);
                }
                self.rerouted = true;
                let flow = &mut self.senders[at];
                if flow.half.in_flight() == 0 {
                    // Nothing is under way whose loss could tell the sender.
                    flow.attempt = flow.attempt.saturating_add(1);
                    if flow.options.whole {
                        flow.half.restart();
                    }
                }
            }
        }
        self.reroute_flows();
    }

    fn flush(&mut self, port: PortId) {
        let node = self.ports[port.ix()].node;
        // The packet on the wire is lost with it.
        if let Some(left) = self.leaving.get_mut(port.ix()).and_then(Option::take) {
            self.give_back(&left);
        }
        for class in 0..self.classes {
            while let Some(queued) = self.take(port, class) {
                self.give_back(&queued);
                self.tell_of_drop(node, queued.ix());
                self.drop_packet(node, port, queued.ix(), DropCause::LinkDown);
            }
        }
    }

    /// Whether the link's error rate takes this packet. Pause frames are spared: they have no expiry here, so that one
    /// lost resume would stop a network for ever.
    pub(crate) fn lost_to_error(&mut self, port: PortId, ix: PacketIx) -> bool {
        let link = &mut self.links[port.ix() / 2];
        match &mut link.draws {
            Some(draws) if self.packets[ix].head.kind != Kind::Pause => draws[port.ix() % 2].chance(link.error_rate),
            _ => false,
        }
    }
}
