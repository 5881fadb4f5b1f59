//! Trimming: a data packet without room loses its payload, and its header goes on among the control packets.

use super::Network;
use crate::buffers::{Admission, Request};
use crate::packet::PacketIx;
use crate::port::PortIx;
use fanin_cc::{Kind, flags};
use fanin_engine::{EventQueue, mix};

impl<Q: EventQueue> Network<Q> {
    /// Cuts a data packet whose header finds room in the control class. Returns whether it has.
    ///
    /// Source: uet-htsim's composite queue, and NDP 3.1.1.
    #[cold]
    pub(super) fn trim(&mut self, switch: u32, out: PortIx, ix: PacketIx) -> bool {
        let Some(trimming) = self.wiring.plan.config.trimming else { return false };
        let head = &self.core.packets[ix].head;
        let cuts = head.kind == Kind::Data && !head.has(flags::TCP) && head.wire > trimming.size;
        let wire = u64::from(trimming.size);
        let request = Request { switch, ingress: PortIx::NONE, class: 0, wire, out, leaves_in: 0 };
        if !cuts || matches!(self.buffers.admit(&self.egress, &request, true), Admission::Dropped(_)) {
            return false;
        }
        if trimming.either && self.falls_on_last(out, self.core.packets[ix].head.class) {
            self.egress.replace_last(&mut self.core, out, ix);
        }
        let head = &mut self.core.packets[ix].head;
        self.core.probes.totals.trimmed += 1;
        self.core.probes.totals.ledger.dropped += u64::from(head.wire - trimming.size);
        self.egress.count_trim(out, head.class);
        (head.kind, head.wire, head.class) = (Kind::Trimmed, trimming.size, 0);
        true
    }

    /// A coin: whether the last packet of the queue is cut.
    fn falls_on_last(&self, out: PortIx, class: u8) -> bool {
        let port = self.egress.port(out).id.0;
        let word = self.wiring.plan.streams.word("trimming", u64::from(port));
        mix(word, self.egress.trimmed(out, class)) >> 63 == 1
    }
}
