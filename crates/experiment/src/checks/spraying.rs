//! Packets of one flow on several paths, over an endpoint that takes each that is overtaken for lost.

use crate::CheckedSpec;
use fanin_cc::Balancing;
use fanin_fabric::Recovery;
use fanin_fabric::topology::{Adjacency, Graph};
use fanin_units::NodeId;

/// Steps of the search for a choice of paths: some tenths of a second.
const MOST_STEPS: usize = 5_000_000;

/// Whether packets that are sprayed will be sent again for their order alone.
pub fn over_go_back_n(checked: &CheckedSpec) -> Vec<String> {
    let network = checked.network();
    let policy = match network.balancing {
        Balancing::Random => "random",
        Balancing::RoundRobin => "round-robin",
        Balancing::LeastQueue => "least-queue",
        Balancing::Senders(_) => checked.document().network.balancing.0.id(),
        // Flowlets keep their order, mostly, and a policy of one's own at switches may.
        Balancing::FlowHash | Balancing::Flowlets { .. } | Balancing::Own(_) => return Vec::new(),
    };
    let in_order = |t: &&fanin_fabric::TrafficConfig| {
        t.tcp.is_none() && matches!(t.endpoint.recovery, Recovery::GoBackN | Recovery::GoBack0)
    };
    let first = checked.traffics().iter().find(in_order);
    let Some(first) = first.filter(|_| has_choices(&network.graph)) else { return Vec::new() };
    let (name, back) = match first.endpoint.recovery {
        Recovery::GoBack0 => ("go-back-0", "the whole message is sent again"),
        _ => ("go-back-n", "everything from there on is sent again"),
    };
    let others = match checked.traffics().iter().filter(in_order).count() {
        1 => String::new(),
        more => format!(" and {} more", more - 1),
    };
    vec![format!(
        "network.balancing = \"{policy}\" sends packets of a flow over several paths, and under recovery = \"{name}\" \
         (traffic \"{}\"{others}) a packet that is overtaken counts as lost: {back}; set traffic.rdma.recovery = \
         \"unordered\"",
        first.name
    )]
}

/// Whether some switch has several shortest paths to some host.
fn has_choices(graph: &Graph) -> bool {
    let adjacency = graph.adjacency();
    let mut steps = 0;
    // Hosts of one switch have the same paths.
    let mut seen = vec![false; graph.names.len()];
    for host in (0..graph.hosts).map(NodeId) {
        let Some((_, switch)) = adjacency.of(host).first().filter(|(_, peer)| !graph.is_host(*peer)) else { continue };
        if std::mem::replace(&mut seen[switch.ix()], true) {
            continue;
        }
        if choice_towards(graph, &adjacency, host, &mut steps) {
            return true;
        }
        if steps > MOST_STEPS {
            return false;
        }
    }
    false
}

/// Whether a switch has several shortest paths to this host.
fn choice_towards(graph: &Graph, adjacency: &Adjacency, host: NodeId, steps: &mut usize) -> bool {
    let mut distance = vec![u32::MAX; graph.names.len()];
    distance[host.ix()] = 0;
    let mut order = vec![host];
    let mut at = 0;
    while let Some(&node) = order.get(at) {
        at += 1;
        let mut nearer = 0;
        for (_, peer) in adjacency.of(node).iter().filter(|(_, peer)| *peer == host || !graph.is_host(*peer)) {
            *steps += 1;
            if distance[peer.ix()] == u32::MAX {
                distance[peer.ix()] = distance[node.ix()] + 1;
                order.push(*peer);
            }
            nearer += u32::from(distance[peer.ix()] < distance[node.ix()]);
        }
        if nearer > 1 {
            return true;
        }
    }
    false
}
