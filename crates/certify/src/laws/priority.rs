//! Control goes first.

use crate::event::{Hop, Port};
use crate::law::Law;
use crate::map::Map;
use crate::net::Net;
use crate::report::Tally;
use fanin_units::Time;

#[derive(Default)]
pub struct Priority {
    /// By port: when the last data packet left.
    data: Map<Port, Time>,
}

impl Law for Priority {
    fn hop(&mut self, hop: &Hop<'_>, net: &Net, tally: &mut Tally) {
        if hop.after.class != 0 {
            self.data.insert(hop.out, hop.left);
            return;
        }
        if !hop.certain {
            return;
        }
        let last = self.data.get(&hop.out).copied().unwrap_or_default();
        tally.check(last <= hop.arrived + net.setup.tick, hop.left, &net.at(hop.out).name, || {
            format!(
                "a control packet that arrived at {} waits until {} while data leaves at {last}",
                hop.arrived, hop.left
            )
        });
    }
}
