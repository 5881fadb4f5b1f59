//! What all partitions of a network share: its configuration, layout, routes and the far ends of its links.

use crate::config::NetworkConfig;
use crate::layout::Layout;
use crate::path::key;
use crate::port::PortIx;
use crate::routing::{Links, Routes};
use fanin_cc::{HeaderOverhead, PathInfo, Settings};
use fanin_endpoint::host::ENDLESS;
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
        Self { far_ends, routes: Arc::new(routes), layout: Arc::new(layout), streams, largest, ps_per_byte, config }
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

    /// Completion time of a message alone on a path, store-and-forward. It is the same under
    /// every scheme: what a scheme adds to its packets is its cost and no part of the ideal.
    pub fn ideal(&self, walked: &[PortId], bytes: u64) -> Time {
        if bytes >= ENDLESS || walked.is_empty() {
            return Time::NEVER;
        }
        let payload = self.config.packet.payload as u64;
        let header = self.config.packet.header as u64;
        let full = (payload + header) as u32;
        let before_last = (bytes - 1) / payload;
        let last = (bytes - before_last * payload + header) as u32;
        // The k full packets form a pipeline: at each link, the last of them is done after one transmission time of
        // each link so far and k-1 more of the slowest; then the last packet follows.
        let (mut sum, mut slowest, mut done, mut delays) = (0u64, 0u64, 0u64, 0u64);
        for port in walked {
            let link = self.speed(*port);
            let packet = link.tx_time(full).as_ps();
            sum += packet;
            slowest = slowest.max(packet);
            // A huge message over a slow link may take longer than the clock can represent.
            let behind_first = before_last.saturating_sub(1).saturating_mul(slowest);
            let full_done = if before_last == 0 { 0 } else { sum.saturating_add(behind_first) };
            done = done.max(full_done).saturating_add(link.tx_time(last).as_ps());
            delays += link.delay.as_ps();
        }
        Time::from_ps(done.saturating_add(delays))
    }
}
