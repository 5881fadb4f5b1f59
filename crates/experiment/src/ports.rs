//! Ports of a network by the names of places in specs.

use fanin_fabric::topology::Graph;
use fanin_record::port_names;
use fanin_units::{NodeId, PortId};

/// The ports of a place in a spec: "switch-ports", "last-hop" (a switch to a host), "tor-uplinks" (a switch with hosts
/// to another switch) or the name of one port.
pub fn ports_of(graph: &Graph, place: &str) -> Option<Vec<PortId>> {
    let levels = graph.levels();
    let wanted = |from: NodeId, to: NodeId| match place {
        "switch-ports" => levels[from.ix()] > 0,
        "last-hop" => levels[from.ix()] > 0 && levels[to.ix()] == 0,
        "tor-uplinks" => levels[from.ix()] == 1 && levels[to.ix()] > 0,
        _ => false,
    };
    if matches!(place, "switch-ports" | "last-hop" | "tor-uplinks") {
        let ends = graph.links.iter().flat_map(|l| [(l.a, l.b), (l.b, l.a)]);
        return Some(ends.enumerate().filter(|(_, (a, b))| wanted(*a, *b)).map(|(i, _)| PortId(i as u32)).collect());
    }
    port_names(graph).iter().position(|name| name == place).map(|i| vec![PortId(i as u32)])
}
