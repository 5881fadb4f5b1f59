//! Link failures and recoveries.

use crate::clock::{kind, source};
use crate::network::Network;
use crate::path::FlowPath;
use crate::port::PortIx;
use crate::routing::{Links, Routes};
use crate::world::World;
use fanin_endpoint::host::Hosts;
use fanin_engine::EventQueue;
use fanin_units::{NodeId, PortId, Time};
use std::sync::Arc;

/// The argument of a LINK event that changes the link. Any other argument marks the detection of a change: the number
/// of changes then left.
const CHANGES: u32 = u32::MAX;

/// Schedules the first change of each link. Only a network in one partition has links that change, so rows equal
/// numbers.
pub(crate) fn schedule_outages<Q: EventQueue>(net: &mut Network<Q>) {
    for link in 0..net.links.len() {
        schedule_next_change(net, link);
    }
}

fn schedule_next_change<Q: EventQueue>(net: &mut Network<Q>, link: usize) {
    if let Some(at) = net.links.next_change(link) {
        net.core.clock.schedule(at, source(kind::LINK, link as u32), CHANGES);
    }
}

/// A link goes down or comes up. Packets on the wire of a failed link are lost by its epoch, and pauses across it are
/// cleared on both sides. On detection by its ends, packets queued for it are dropped and routes are recomputed; a link
/// that comes up is used at once.
#[cold]
pub(crate) fn link_changes<Q: EventQueue>(world: &mut World<Q>, hosts: &mut Hosts<FlowPath>, link: u32, step: u32) {
    let ends = [PortIx(2 * link), PortIx(2 * link + 1)];
    let net = &mut world.net;
    if step != CHANGES {
        // If the link came up and went down again in between, only the last failure counts.
        if step == net.links.changes_left(link as usize) {
            link_is_known_dead(world, hosts, ends);
        }
        return;
    }
    let Some(up) = net.links.change(link as usize) else { return };
    schedule_next_change(net, link as usize);
    for port in ends {
        net.egress.set_up(port, up);
        if !up {
            forget_pauses(net, port);
        }
    }
    if up {
        find_routes(world, hosts);
        for port in ends {
            match world.net.egress.port(port).nic() {
                None => world.net.serve(port),
                Some(nic) => hosts.serve(world, nic),
            }
        }
        hosts.send_stranded(world);
    } else if net.config().detection > Time::ZERO {
        let at = net.core.clock.now().saturating_add(net.config().detection);
        let left = net.links.changes_left(link as usize);
        net.core.clock.schedule(at, source(kind::LINK, link), left);
    } else {
        link_is_known_dead(world, hosts, ends);
    }
}

/// Clears the pauses of both ends of a failed link.
fn forget_pauses<Q: EventQueue>(net: &mut Network<Q>, port: PortIx) {
    net.egress.forget_pauses(&mut net.core, port);
    let paused = net.buffers.forget_pauses(port);
    let (switch, of_host) = (net.egress.port(port).home, net.egress.port(port).of_host());
    for _ in 0..if of_host { 0 } else { paused } {
        net.end_pause(switch);
    }
}

fn link_is_known_dead<Q: EventQueue>(world: &mut World<Q>, hosts: &mut Hosts<FlowPath>, ends: [PortIx; 2]) {
    for port in ends {
        world.net.on_link_down(port);
        world.net.drop_queued(port);
    }
    find_routes(world, hosts);
}

/// Computes routes over the links that are up. A pinned message whose path would change, or whose path is unknown
/// because a switch deflected it, is blocked: its packets in flight are dropped at the next switch, and its sender
/// restarts when it detects the loss (Dart IV-C).
fn find_routes<Q: EventQueue>(world: &mut World<Q>, hosts: &mut Hosts<FlowPath>) {
    let net = &mut world.net;
    let (plan, down) = (net.plan.clone(), net.links.down());
    let links = Links::new(&plan.config.graph, &down);
    let sizes = (plan.largest, plan.config.packet.ack as u32);
    let new = Arc::new(Routes::build(links, &plan.streams, sizes, |port| plan.layout.row(port)));
    let old = core::mem::replace(&mut net.routes, new.clone());
    net.routes_changed = true;
    let path = |routes: &Routes, from: NodeId, to: NodeId, key: u32| {
        let mut path: Vec<PortId> = Vec::new();
        routes.walk(from, to, key, |port, _| path.push(port));
        path
    };
    let deflected = net.links.deflected();
    let blocked = hosts.on_routes_changed(world, |from, to, flow_path, messages| {
        messages.iter().any(|message| deflected.contains(message))
            || path(&old, from, to, flow_path.key) != path(&new, from, to, flow_path.key)
    });
    for (message, first_attempt) in blocked {
        world.net.links.block(message, first_attempt);
    }
}
