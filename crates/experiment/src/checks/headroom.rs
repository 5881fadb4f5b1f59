//! A given headroom that is too small for some links.

use crate::CheckedSpec;
use fanin_fabric::topology::Link;
use fanin_fabric::{BufferPolicy, pfc};
use fanin_units::{Bytes, Rate, Time};

/// Whether packets of a lossless class may be lost after a PAUSE: names the link that needs most.
pub fn too_small(checked: &CheckedSpec) -> Vec<String> {
    let network = checked.network();
    let given = match network.buffer {
        BufferPolicy::PerPort { pfc, .. } | BufferPolicy::Pooled { pfc, .. } => pfc.headroom,
        _ => None,
    };
    let Some(given) = given.filter(|_| network.classes.iter().any(|class| class.lossless)) else { return Vec::new() };
    let (wire, pause, response) = (checked.largest_packet(), u64::from(network.packet.pause), network.pauses.response);
    // There are many links, but few kinds, and these mostly come together.
    let mut kind = (Rate::ZERO, Time::NEVER, 0);
    let mut needs = |link: &Link| {
        if (kind.0, kind.1) != (link.rate, link.delay) {
            kind = (link.rate, link.delay, pfc::headroom(link.rate, (link.delay, response), wire, pause));
        }
        kind.2
    };
    let (mut short, mut most) = (0, (0, None));
    for link in &network.graph.links {
        let needed = needs(link);
        short += usize::from(needed > given);
        if needed > most.0 {
            most = (needed, Some(link));
        }
    }
    let Some(link) = most.1.filter(|_| short > 0) else { return Vec::new() };
    let [a, b] = [link.a, link.b].map(|node| &network.graph.names[node.ix()]);
    vec![format!(
        "network.buffer.headroom = {} may lose packets of lossless classes: {short} of {} links need more, most of all \
         the one between \"{a}\" and \"{b}\", {}",
        Bytes(given),
        network.graph.links.len(),
        Bytes(most.0)
    )]
}
