//! A queue is first in, first out.

use crate::event::{Hop, Port};
use crate::law::Law;
use crate::map::Map;
use crate::net::Net;
use crate::report::Tally;
use fanin_units::Time;

#[derive(Default)]
pub struct Order {
    /// By port and class: when the last packet that left had arrived.
    last: Map<(Port, u8), Time>,
}

impl Law for Order {
    fn hop(&mut self, hop: &Hop<'_>, net: &Net, tally: &mut Tally) {
        if !hop.certain {
            return;
        }
        let last = self.last.entry((hop.out, hop.after.class)).or_default();
        tally.check(hop.arrived + net.setup.tick >= *last, hop.left, &net.at(hop.out).name, || {
            format!("a packet that arrived at {} leaves after one that arrived at {last}", hop.arrived)
        });
        *last = hop.arrived.max(*last);
    }
}
