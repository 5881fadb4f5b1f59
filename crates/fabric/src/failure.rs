//! Link failures and recoveries, as hosts see them.

use crate::network::failure::LinkState;
use crate::path::FlowPath;
use crate::port::PortIx;
use crate::routing::Routes;
use crate::world::World;
use fanin_endpoint::host::Hosts;
use fanin_engine::EventQueue;
use fanin_units::{NodeId, PortId};

/// The event of a link. On detection of a failure by its ends, packets queued for it are dropped and routes are
/// recomputed; a link that comes up is used at once.
#[cold]
pub(crate) fn link_changes<Q: EventQueue>(world: &mut World<Q>, hosts: &mut Hosts<FlowPath>, link: u32, step: u32) {
    if let Some(port) = world.net.repeats_credits(link) {
        return serve(world, hosts, port);
    }
    let ends = [PortIx(2 * link), PortIx(2 * link + 1)];
    match world.net.on_link_event(link, step) {
        None => {}
        Some(LinkState::Up) => {
            find_routes(world, hosts);
            for port in ends {
                serve(world, hosts, port);
            }
            hosts.send_stranded(world);
        }
        Some(LinkState::KnownDown) => {
            for port in ends {
                world.net.on_link_down(port);
                world.net.drop_queued(port);
            }
            find_routes(world, hosts);
        }
    }
}

fn serve<Q: EventQueue>(world: &mut World<Q>, hosts: &mut Hosts<FlowPath>, port: PortIx) {
    match world.net.egress().port(port).nic() {
        None => world.net.serve(port),
        Some(nic) => hosts.serve(world, nic),
    }
}

/// Computes routes over the links that are up. A pinned message whose path would change, or whose path is unknown
/// because a switch deflected it, is blocked: its packets in flight are dropped at the next switch, and its sender
/// restarts when it detects the loss (Dart IV-C).
fn find_routes<Q: EventQueue>(world: &mut World<Q>, hosts: &mut Hosts<FlowPath>) {
    let [old, new] = world.net.find_routes();
    let path = |routes: &Routes, from: NodeId, to: NodeId, key: u32| {
        let mut path: Vec<PortId> = Vec::new();
        routes.walk(from, to, key, |port, _| path.push(port));
        path
    };
    let deflected = world.net.deflected();
    let blocked = hosts.on_routes_changed(world, |from, to, flow_path, messages| {
        messages.iter().any(|message| deflected.contains(message))
            || path(&old, from, to, flow_path.key) != path(&new, from, to, flow_path.key)
    });
    for (message, first_attempt) in blocked {
        world.net.block(message, first_attempt);
    }
}
