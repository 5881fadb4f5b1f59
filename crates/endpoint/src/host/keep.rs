//! The receiving end of selective retransmission: what arrives behind a gap is kept.

use super::{Hosts, Io};
use crate::selective::{Arrived, Kept, ReceiveHalf};
use fanin_cc::{Data, Header, Kind, ReceiverFlow, flags};

impl<P: Copy> Hosts<P> {
    /// A receiver with this slot opens.
    pub(super) fn keep_for(&mut self, slot: u32) {
        if self.kept.len() <= slot as usize {
            self.kept.resize_with(slot as usize + 1, ReceiveHalf::default);
        }
        self.kept[slot as usize].reset();
    }

    /// The transport takes a data packet, and the scheme decides on its ACKs. A packet behind a gap is not in order for
    /// the scheme, and its NACK has the fields of the ACK that the scheme wants for it. Closing a gap is one arrival in
    /// order, whose `acked_to` moves over all that was kept.
    #[inline(never)]
    pub(super) fn keep_data<I: Io<Path = P>>(&mut self, io: &mut I, host: u32, slot: u32, head: &Header) {
        let now = io.now();
        let receiver = &self.receivers[slot as usize];
        let (traffic, scheme) = (receiver.traffic, receiver.scheme);
        // What is sent again asks for an ACK of its own: the sender goes on from it.
        let resent = head.has(flags::RESENT);
        let ack_chunk = if resent { 0 } else { io.traffic(traffic).config.endpoint.ack_chunk };
        let (start, end) = (head.has(flags::START), head.has(flags::END));
        let (len, links) = (head.payload as u32, head.hops);
        let half = &mut self.kept[slot as usize];
        let (before, pending) = (half.expected(), half.unacked() > 0);
        let arrived = half.on_data(Kept { offset: head.seq, len, message: head.flow, start, end, links }, ack_chunk);
        let after = half.expected();
        let counters = io.counters(traffic);
        counters.packets_arrived += 1;
        counters.packets_marked += head.has(flags::CE) as u64;
        counters.delivered += after - before;
        self.totals.duplicates += matches!(arrived, Arrived::Duplicate | Arrived::Behind { new: false }) as u64;
        let (ack_due, in_order) = match arrived {
            Arrived::InOrder { ack_due } => (ack_due, true),
            Arrived::Duplicate | Arrived::Behind { .. } => (true, false),
        };
        let ready = self.kept[slot as usize].take_ready();
        for packet in &ready {
            if packet.start {
                self.on_start(io, host, slot, packet.message, packet.links);
            }
            if packet.end {
                io.scheme(scheme).receiver_message_end(host as usize, now, ReceiverFlow(slot), packet.message);
            }
        }
        let data = Data {
            flow: ReceiverFlow(slot),
            acked_to: after,
            in_order,
            ack_due,
            pending,
            due_alone: ack_due && (end || len >= ack_chunk || !in_order || ready.len() > 1),
            received: self.hosts[host as usize].received,
            ..Data::of(head)
        };
        let plan = io.scheme(scheme).receiver_data(host as usize, now, &data);
        if let Arrived::Behind { .. } = arrived {
            if let Some(fields) = plan.before {
                self.send_ack(io, slot, Kind::Ack, before, fields);
            }
            self.send_selective_nack(io, slot, (after, head.seq), plan.now.unwrap_or_default());
        } else {
            self.answer_data(io, slot, &plan, (before, after), in_order.then_some((after - before) as u32));
        }
        // The scheme's packets for this one are sent before its flow may close.
        self.poll_receiver(io, host, scheme);
        for packet in ready.iter().filter(|packet| packet.end) {
            self.on_whole(io, host, slot, packet.message);
            self.poll_receiver(io, host, scheme);
        }
        self.kept[slot as usize].give_back(ready);
    }
}
