//! What all partitions of a network share: its configuration, layout, routes and the far ends of its links.

use crate::config::NetworkConfig;
use crate::layout::Layout;
use crate::path::key;
use crate::port::PortIx;
use crate::routing::{Links, Routes};
use fanin_cc::{HeaderOverhead, PathInfo, Settings};
use fanin_endpoint::shaper::{ps_per_byte, tx_time};
use fanin_engine::Streams;
use fanin_units::{NodeId, PortId, Rate, Time};
use std::sync::Arc;

/// The far end of one direction of a link: the fields that an arriving packet needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FarEnd {
    /// The node that receives.
    pub node: NodeId,
    /// Its row among the hosts or the switches of its partition.
    pub home: u32,
    /// Index of its first port among those of all nodes, in the numbering of routes.
    pub first_port: u32,
    /// The port of the node at this link.
    pub ingress: PortIx,
}

const _: () = assert!(core::mem::size_of::<FarEnd>() == 16, "four of them in a cache line");

/// The speed of a link.
#[derive(Clone, Copy)]
pub(crate) struct Speed {
    pub rate: Rate,
    pub delay: Time,
    ps_per_byte: u32,
}

impl Speed {
    /// How long a packet of `wire` bytes takes to leave.
    #[inline(always)]
    pub fn tx_time(&self, wire: u32) -> Time {
        tx_time(self.ps_per_byte, self.rate, wire)
    }
}

/// What all partitions of a network know.
pub(crate) struct Plan {
    pub config: NetworkConfig,
    pub layout: Arc<Layout>,
    pub streams: Streams,
    /// By port, of the link behind it.
    pub far_ends: Arc<[FarEnd]>,
    pub routes: Arc<Routes>,
    /// Largest data packet on the wire.
    pub largest: u32,
    /// See [`NetworkConfig::spreads`].
    pub spreads: bool,
    /// By link: see [`ps_per_byte`].
    ps_per_byte: Vec<u32>,
}

impl Plan {
    /// The speed of the link behind a port.
    #[inline(always)]
    pub fn speed(&self, port: PortId) -> Speed {
        let link = &self.config.graph.links[port.ix() / 2];
        Speed { rate: link.rate, delay: link.delay, ps_per_byte: self.ps_per_byte[port.ix() / 2] }
    }

    /// Of a network in these partitions, with these schemes.
    pub fn new(config: NetworkConfig, layout: Layout, schemes: &[Settings]) -> Self {
        let streams = Streams::new(config.seed);
        let most = schemes.iter().map(|scheme| scheme.header_overhead().data).max().unwrap_or(0);
        let largest = config.largest_packet(most);
        let links = Links::new(&config.graph, &[]);
        let routes = Routes::build(links, &streams, (largest, config.packet.ack as u32), |port| layout.row(port))
            .used_as(&config);
        let far_end = |port: u32| {
            let port = PortId(port);
            let link = &config.graph.links[port.ix() / 2];
            let node = if port.ix().is_multiple_of(2) { link.b } else { link.a };
            let (home, ingress) = (layout.home(node), layout.row(port.reverse()));
            FarEnd { node, home, first_port: routes.first_port(node), ingress }
        };
        let far_ends = (0..2 * config.graph.links.len() as u32).map(far_end).collect();
        let ps_per_byte = config.graph.links.iter().map(|link| ps_per_byte(link.rate)).collect();
        let spreads = config.spreads();
        let (routes, layout) = (Arc::new(routes), Arc::new(layout));
        Self { far_ends, routes, layout, streams, largest, spreads, ps_per_byte, config }
    }

    /// The hash key of a path: `name` is that of its message, or of its pair of hosts, and `back` the direction.
    pub fn key(&self, name: u64, back: bool) -> u32 {
        let seed = self.streams.seed();
        // On symmetric routes both directions have one key.
        key(if back && !self.config.symmetric { !seed } else { seed }, name)
    }

    /// What a sender knows of a path.
    pub fn path_info(&self, routes: &Routes, walked: &[PortId], overhead: HeaderOverhead) -> PathInfo {
        let wire = self.config.largest_packet(overhead.data);
        let ack = self.config.packet.ack as u32 + overhead.ack as u32;
        let links = || walked.iter().map(|port| self.speed(*port));
        let rtt = links().map(|link| link.tx_time(wire) + link.tx_time(ack) + link.delay + link.delay);
        let rate = |link: Option<Speed>| link.map_or(Rate::ZERO, |link| link.rate);
        let (first, last) = (rate(links().next()), rate(links().next_back()));
        let base_rtt = rtt.fold(Time::ZERO, |sum, rtt| sum + rtt);
        PathInfo {
            receiver_rate: last,
            network_bdp: routes.network_bdp,
            network_rtt: routes.network_rtt,
            ..PathInfo::new(first, base_rtt, self.config.packet.payload as u32, wire)
        }
    }
}
