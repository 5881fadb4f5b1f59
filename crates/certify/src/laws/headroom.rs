//! No ingress of a lossless class holds more than its buffer.

use crate::event::{Arrival, Hop, Port};
use crate::law::Law;
use crate::map::Map;
use crate::net::Net;
use crate::report::Tally;
use crate::setup::Buffer;
use std::collections::HashSet;

#[derive(Default)]
pub struct Headroom {
    held: Map<(Port, u8), u64>,
    /// Switches in which it is not known by which ingress a packet came.
    unknown: HashSet<u32>,
}

/// The most that an ingress may hold of a class.
pub fn most(net: &Net, ingress: Port, class: u8) -> Option<u64> {
    let all = &net.setup.classes;
    let of = all.get(usize::from(class)).filter(|of| of.lossless)?;
    match net.setup.buffer {
        Buffer::PerPort(bytes) => Some(net.share(bytes, class)),
        Buffer::Pool { bytes, pfc_alpha, .. } => {
            let alpha = of.alpha.unwrap_or(pfc_alpha);
            Some((bytes as f64 * alpha / (1.0 + alpha)) as u64 + net.headroom(ingress) + net.setup.largest())
        }
        Buffer::Unlimited | Buffer::Credits => None,
    }
}

impl Law for Headroom {
    fn arrival(&mut self, arrival: &Arrival<'_>, net: &Net, tally: &mut Tally) {
        let (class, info) = (arrival.packet.class, net.at(arrival.at));
        if class == 0 || info.hosts.0 || arrival.packet.is_of_link() {
            return;
        }
        if self.unknown.contains(&info.nodes.0) {
            return;
        }
        let Some(most) = most(net, arrival.at, class) else { return };
        let held = self.held.entry((arrival.at, class)).or_default();
        *held += arrival.packet.wire;
        // A packet that leaves at once takes no buffer, and one that leaves now may have left before.
        tally.check(*held <= most + net.setup.largest(), arrival.time, &info.name, || {
            format!("the ingress holds {held} B of class {class}, and its buffer has {most} B")
        });
    }

    fn hop(&mut self, hop: &Hop<'_>, net: &Net, _: &mut Tally) {
        if !hop.certain && net.setup.has.spraying {
            self.unknown.insert(net.at(hop.by).nodes.0);
        }
        if let Some(held) = self.held.get_mut(&(hop.by, hop.before.class)) {
            *held = held.saturating_sub(hop.before.wire);
        }
    }
}
