//! Links that lose packets and links that go down.

use crate::packet::PacketIx;
use crate::results::DropCause;
use crate::routing::Routes;
use crate::sim::{Simulation, kind};
use crate::topology::Link;
use fanin_cc::Kind;
use fanin_engine::{EventQueue, Stream, Streams};
use fanin_units::{PortId, Time};

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
            self.schedule(at, kind::LINK, link as u32, 0);
        }
    }

    /// A link goes down or comes up. What is on the wire is lost by its epoch; what is queued for a dead link is
    /// dropped; pauses across it are forgotten on both sides; routes are found anew at once.
    pub(crate) fn link_changes(&mut self, link: u32) {
        let Some((_, up)) = self.links[link as usize].changes.pop() else {
            return;
        };
        self.schedule_next_change(link as usize);
        for port in [PortId(2 * link), PortId(2 * link + 1)] {
            self.ports[port.ix()].up = up;
            self.ports[port.ix()].epoch += 1;
            self.far_ends[port.ix()].epoch += 1;
            if !up {
                self.flush(port);
                self.forget_pauses(port);
            }
        }
        let nodes = self.config.graph.names.len() as u32;
        let wire = self.config.packet.payload as u32 + self.config.packet.header as u32;
        self.routes = Routes::build(
            &self.ports,
            self.config.graph.hosts,
            nodes,
            &self.streams,
            wire,
            self.config.packet.ack as u32,
        );
        self.reroute_flows();
        if up {
            for port in [PortId(2 * link), PortId(2 * link + 1)] {
                self.service(port);
            }
            for message in core::mem::take(&mut self.stranded) {
                self.open_channel(message);
            }
        }
    }

    fn flush(&mut self, port: PortId) {
        let node = self.ports[port.ix()].node;
        // The packet on the wire is lost with it.
        if let Some(left) = self.leaving[port.ix()].take() {
            self.give_back(&left);
        }
        for class in 0..self.classes {
            while let Some(queued) = self.take(port, class) {
                self.give_back(&queued);
                self.drop_packet(node, port, queued.ix, DropCause::LinkDown);
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
