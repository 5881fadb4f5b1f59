//! Lengths of queues that a source tells.

use crate::event::{Port, Queue};
use crate::law::Law;
use crate::map::Map;
use crate::net::Net;
use crate::report::Tally;

#[derive(Default)]
pub struct Queues {
    bytes: Map<(Port, u8), u64>,
}

impl Law for Queues {
    fn queue(&mut self, queue: &Queue, net: &Net, tally: &mut Tally) {
        let bytes = self.bytes.entry((queue.port, queue.class)).or_default();
        if !queue.joins {
            *bytes = bytes.saturating_sub(queue.wire);
        }
        tally.check(*bytes == queue.bytes, queue.time, &net.at(queue.port).name, || {
            format!("class {} has {bytes} B in its queue, and the source says {}", queue.class, queue.bytes)
        });
        *bytes = queue.bytes + if queue.joins { queue.wire } else { 0 };
    }
}
