//! The next departure of a port: a pause frame, else a queued packet.

use super::Network;
use crate::packet::Packet;
use crate::path::FlowPath;
use crate::port::PortIx;
use crate::queue::Queued;
use fanin_cc::{Header, Kind};
use fanin_engine::EventQueue;
use fanin_units::Time;

impl<Q: EventQueue> Network<Q> {
    /// Sends the next packet of a port that is free at this time.
    #[inline(always)]
    pub fn next_to_send(&mut self, now: Time, out: PortIx) -> Option<Queued> {
        if self.egress.port(out).pfc_pending != 0 {
            return Some(self.frame(out));
        }
        self.egress.next(&mut self.core, now, out)
    }

    /// Sends a queued packet of a host's port, if it may send one. Returns whether it did.
    #[inline(always)]
    pub fn send_queued(&mut self, out: PortIx) -> bool {
        let now = self.core.clock.now();
        let Some(next) = self.next_to_send(now, out) else { return false };
        self.egress.transmit(&mut self.core, now, out, next.ix(), next.wire());
        if self.credits.is_some() {
            self.spend(out, next.class() as usize, next.wire() as u64);
        }
        true
    }

    /// An FCP, or one pause frame with the state of every class that changed.
    #[inline(never)]
    fn frame(&mut self, out: PortIx) -> Queued {
        if let Some(fcp) = self.fcp(out) {
            return fcp;
        }
        let changed = self.egress.take_pending(out) | self.pauses_sent(out);
        let of_host = self.pauses.as_ref().map_or(0, |pauses| pauses.pausing(out));
        let paused = self.buffers.pausing(out) | of_host;
        let port = self.egress.port(out);
        let head = Header {
            src: port.node,
            dst: port.peer,
            cc_tag: (changed as u32) << 8 | (paused & changed) as u32,
            wire: self.wiring.plan.config.packet.pause,
            kind: Kind::Pause,
            ..Header::default()
        };
        let (wire, epoch) = (head.wire, port.epoch);
        let ix = self.core.new_packet(&Packet { epoch, ..Packet::new(head, FlowPath::default()) });
        Queued::new(ix, u32::MAX, wire, 0, 0, false)
    }
}
