//! The receiving end of RDMA: data arrives.

use super::{Beside, ENDLESS};
use super::{CpuTime, HostTotals, Hosts, Incoming, Io, NO_SLOT, PathQuery, Recovery, RecvQp, Traffic, TrafficCounters};
use crate::rc::{self, Arrival, ReceiveRules};
use crate::selective::{Arrived, Kept, ReceiveHalf};
use crate::whole;
use fanin_cc::{
    AckFields, AckPlan, Data, FlowInfo, Header, Incast, Kind, MessageStart, ReceiverFlow, Telemetry, flags,
};
use fanin_units::{MessageId, Time};

impl<P: Copy> Hosts<P> {
    /// Data of RDMA arrived.
    #[inline(always)]
    pub(super) fn on_data<I: Io<Path = P>>(&mut self, io: &mut I, host: u32, packet: I::Packet) {
        let head = *io.header(packet);
        let deflected = io.deflections(packet);
        io.consume(packet);
        let mut slot = io.ends(head.flow).recv;
        if slot == NO_SLOT {
            let record = io.record(head.flow);
            if (record.finished != Time::NEVER) | record.given_up {
                // All of it had arrived: the last ACK may be lost, so it is repeated.
                self.totals.duplicates += !record.given_up as u64;
                let all = record.bytes;
                self.repeat_ack(io, &head, all);
                return;
            }
            slot = self.open_receiver(io, host, &head);
        }
        if head.has(flags::INT) {
            *self.telemetry_of(slot) = *io.telemetry(packet);
        }
        self.count_data(io, slot, &head, deflected);
        self.accept_data(io, host, slot, &head);
    }

    /// A request of RDMA arrived.
    #[inline(never)]
    pub(super) fn on_request<I: Io<Path = P>>(&mut self, io: &mut I, host: u32, packet: I::Packet) {
        let head = *io.header(packet);
        io.consume(packet);
        let mut slot = io.ends(head.flow).recv;
        if slot == NO_SLOT {
            if io.record(head.flow).finished != Time::NEVER || io.record(head.flow).given_up {
                // Everything has arrived. Its sender may not know, where the last ACK was lost.
                let all = io.record(head.flow).bytes;
                self.repeat_ack(io, &head, all);
                return;
            }
            slot = self.open_receiver(io, host, &head);
        }
        let now = io.now();
        let receiver = &mut self.receivers[slot as usize];
        receiver.last_sent_at = head.sent_at;
        let scheme = receiver.scheme;
        let overhead = io.traffic(receiver.traffic).overhead;
        let Some(expected) = self.expected(slot) else { return };
        let received = self.hosts[host as usize].received;
        let request = Data { flow: ReceiverFlow(slot), acked_to: expected, received, ..Data::of(&head) };
        if let Some(fields) = io.scheme(scheme).receiver_request(host as usize, now, &request) {
            // Switches write nothing into a request, so its ACK has nothing to carry back.
            if overhead.telemetry {
                self.telemetry_of(slot).clear();
            }
            self.send_ack(io, slot, Kind::Ack, expected, fields);
        }
        self.poll_receiver(io, host, scheme);
    }

    /// The header of a data packet of RDMA whose payload a switch cut arrived. With go-back-N it shows a gap, with
    /// selective retransmission its NACK names it.
    #[inline(never)]
    pub(super) fn on_trimmed<I: Io<Path = P>>(&mut self, io: &mut I, host: u32, packet: I::Packet) {
        let head = *io.header(packet);
        io.consume(packet);
        let mut slot = io.ends(head.flow).recv;
        if slot == NO_SLOT {
            let record = io.record(head.flow);
            if (record.finished != Time::NEVER) | record.given_up {
                let all = record.bytes;
                self.repeat_ack(io, &head, all);
                return;
            }
            slot = self.open_receiver(io, host, &head);
        }
        let now = io.now();
        let receiver = &mut self.receivers[slot as usize];
        receiver.last_sent_at = head.sent_at;
        receiver.last_path = head.cc_feedback as u16;
        receiver.last_flags = head.flags;
        let nack_interval = io.traffic(receiver.traffic).config.endpoint.nack_interval;
        match &mut receiver.incoming {
            Incoming::Rdma(half) => {
                let expected = half.expected();
                if half.on_trimmed(now, head.seq, nack_interval) {
                    self.totals.nacks += 1;
                    let head = Header { seq: expected, kind: Kind::Nack, flags: flags::CUT, ..Header::default() };
                    self.send_answer(io, slot, head, io.sizes().ack, false, AckFields::default());
                }
            }
            Incoming::Kept => {
                let half = &self.kept[slot as usize];
                let expected = half.expected();
                if half.has(head.seq) {
                    // It was sent twice.
                    self.telemetry_of(slot).clear();
                    self.send_ack(io, slot, Kind::Ack, expected, AckFields::default());
                } else {
                    self.send_cut_nack(io, slot, (expected, head.seq));
                }
            }
            // All of the message is sent again when its timeout comes, or a packet behind this one.
            Incoming::Whole(_) | Incoming::Tcp(_) | Incoming::Gone => {}
        }
        let (scheme, received) = (self.receivers[slot as usize].scheme, self.hosts[host as usize].received);
        let Some(acked_to) = self.expected(slot) else { return };
        let data = Data { flow: ReceiverFlow(slot), acked_to, received, ..Data::of(&head) };
        io.scheme(scheme).receiver_trim(host as usize, now, &data);
        self.poll_receiver(io, host, scheme);
    }

    /// The telemetry that a flow's next ACK carries back.
    #[inline(always)]
    fn telemetry_of(&mut self, slot: u32) -> &mut Telemetry {
        if self.telemetry.len() <= slot as usize {
            self.telemetry.resize(slot as usize + 1, Telemetry::default());
        }
        &mut self.telemetry[slot as usize]
    }

    /// Counts a data packet: marks, reordering, deflections.
    #[inline(always)]
    fn count_data<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32, head: &Header, deflected: u8) {
        let receiver = &mut self.receivers[slot as usize];
        let ce = head.has(flags::CE);
        receiver.arrived += 1;
        receiver.marked += ce as u32;
        receiver.last_sent_at = head.sent_at;
        receiver.last_path = head.cc_feedback as u16;
        receiver.last_flags = head.flags;
        // Late packets of an earlier attempt are no reordering of the current one.
        if head.attempt > receiver.attempt {
            receiver.attempt = head.attempt;
            receiver.furthest = 0;
        }
        let in_attempt = head.attempt == receiver.attempt && !head.has(flags::RESENT);
        // On a connection that stays open each message has counts of its own.
        if receiver.connection {
            let record = io.record_mut(head.flow);
            record.packets_arrived += 1;
            record.packets_marked += ce as u32;
            record.reordered += (in_attempt && head.seq < receiver.furthest) as u32;
        }
        if in_attempt {
            if head.seq < receiver.furthest {
                let (distance, traffic) = (receiver.furthest - head.seq, receiver.traffic);
                receiver.reordered += 1;
                note_reordered(&mut self.totals, io.counters(traffic), distance);
            }
            let receiver = &mut self.receivers[slot as usize];
            receiver.furthest = receiver.furthest.max(head.seq + head.payload as u64);
        }
        if deflected > 0 {
            let record = io.record_mut(head.flow);
            record.deflections = record.deflections.max(deflected);
            let shortest = record.hops;
            self.totals.detour_bytes += (head.hops as u64).saturating_sub(shortest as u64) * head.wire as u64;
        }
    }

    /// The transport takes a data packet, and the scheme decides on its ACKs.
    #[inline(always)]
    fn accept_data<I: Io<Path = P>>(&mut self, io: &mut I, host: u32, slot: u32, head: &Header) {
        let now = io.now();
        let receiver = &mut self.receivers[slot as usize];
        let rules = io.traffic(receiver.traffic).config.endpoint;
        let rules = ReceiveRules { ack_chunk: rules.ack_chunk, nack_interval: rules.nack_interval };
        let (len, end) = (head.payload as u32, head.has(flags::END));
        // `new`: payload in order for the first time.
        let (before, pending, arrival, new, expected) = match &mut receiver.incoming {
            Incoming::Rdma(half) => {
                let before = *half;
                let arrival = half.on_data(now, head.seq, len, end, &rules);
                let new = if matches!(arrival, Arrival::InOrder { .. }) { len as u64 } else { 0 };
                (before.expected(), before.unacked() > 0, arrival, new, half.expected())
            }
            Incoming::Whole(half) => {
                let before = *half;
                let (arrival, new) = half.on_data(head.attempt, head.seq, len, end, rules.ack_chunk);
                (before.expected(), before.unacked() > 0, arrival, new, half.expected())
            }
            Incoming::Kept => return self.keep_data(io, host, slot, head),
            Incoming::Tcp(_) | Incoming::Gone => return,
        };
        let due_alone = end || len >= rules.ack_chunk;
        let counters = io.counters(receiver.traffic);
        counters.packets_arrived += 1;
        counters.packets_marked += head.has(flags::CE) as u64;
        let (ack_due, in_order) = match arrival {
            Arrival::InOrder { ack_due } => {
                counters.delivered += new;
                (ack_due, true)
            }
            Arrival::Duplicate => {
                self.totals.duplicates += 1;
                (true, false)
            }
            Arrival::Gap { .. } => (false, false),
        };
        let scheme = receiver.scheme;
        let data = Data {
            flow: ReceiverFlow(slot),
            acked_to: expected,
            in_order,
            ack_due,
            pending,
            due_alone,
            received: self.hosts[host as usize].received,
            ..Data::of(head)
        };
        if in_order && head.has(flags::START) && new > 0 {
            self.on_start(io, host, slot, head.flow, head.hops);
        }
        if in_order && head.has(flags::END) {
            io.scheme(scheme).receiver_message_end(host as usize, now, ReceiverFlow(slot), head.flow);
        }
        let plan = io.scheme(scheme).receiver_data(host as usize, now, &data);
        self.answer_data(io, slot, &plan, (before, expected), in_order.then_some(len));
        if arrival == (Arrival::Gap { nack_due: true }) {
            self.totals.nacks += 1;
            self.send_ack(io, slot, Kind::Nack, expected, AckFields::default());
        }
        // The scheme's packets for this one are sent before its flow may close.
        self.poll_receiver(io, host, scheme);
        if in_order && head.has(flags::END) {
            self.on_whole(io, host, slot, head.flow);
            self.poll_receiver(io, host, scheme);
        }
    }

    /// Sends the ACKs that the scheme decided on. `expected`: the next byte expected before and after the packet;
    /// `accepted`: the payload that it added.
    #[inline(always)]
    pub(super) fn answer_data<I: Io<Path = P>>(
        &mut self,
        io: &mut I,
        slot: u32,
        plan: &AckPlan,
        (before, after): (u64, u64),
        accepted: Option<u32>,
    ) {
        if let Some(fields) = plan.before {
            self.send_ack(io, slot, Kind::Ack, before, fields);
            if plan.now.is_none()
                && let Some(payload) = accepted
            {
                match &mut self.receivers[slot as usize].incoming {
                    Incoming::Rdma(half) => half.acked_all_but(payload),
                    Incoming::Whole(half) => half.acked_all_but(payload),
                    Incoming::Kept => self.kept[slot as usize].acked_all_but(payload),
                    Incoming::Tcp(_) | Incoming::Gone => {}
                }
            }
        }
        if let Some(fields) = plan.now {
            self.send_ack(io, slot, Kind::Ack, after, fields);
        }
    }

    /// The first packet of a message arrived in order.
    #[inline(never)]
    pub(super) fn on_start<I: Io<Path = P>>(
        &mut self,
        io: &mut I,
        host: u32,
        slot: u32,
        message: MessageId,
        links: u8,
    ) {
        let now = io.now();
        io.record_mut(message).links = links as u16;
        let record = *io.record(message);
        let traffic = io.traffic(record.traffic);
        let (tenant, weight, scheme) = (traffic.config.tenant, traffic.config.weight, traffic.scheme);
        let incast = announced_incast(io, message);
        let from = self.receivers[slot as usize].from;
        let start = MessageStart {
            tenant,
            weight,
            incast: incast.as_ref().map(|(id, senders)| Incast { id: *id, senders }),
            ..MessageStart::new(ReceiverFlow(slot), message, from)
        };
        io.scheme(scheme).receiver_message_start(host as usize, now, &start);
    }

    /// The first packet of a queue pair arrived.
    #[inline(never)]
    fn open_receiver<I: Io<Path = P>>(&mut self, io: &mut I, host: u32, head: &Header) -> u32 {
        let record = *io.record(head.flow);
        let traffic = io.traffic(record.traffic);
        let (endpoint, scheme) = (traffic.config.endpoint, traffic.scheme);
        let connection = endpoint.connection;
        let first = match connection {
            true => io.connection(record.traffic, record.src, record.dst).unwrap_or(head.flow),
            false => head.flow,
        };
        if connection && io.ends(first).recv != NO_SLOT {
            let slot = io.ends(first).recv;
            io.ends_mut(head.flow).recv = slot;
            return slot;
        }
        let here = self.node_of(host);
        let path = io.path(&PathQuery {
            message: head.flow,
            from: here,
            to: head.src,
            back: true,
            per_pair: connection,
            same_as: None,
        });
        let incoming = match endpoint.recovery {
            Recovery::GoBackN => Incoming::Rdma(rc::ReceiveHalf::default()),
            Recovery::GoBack0 => Incoming::Whole(whole::ReceiveHalf::default()),
            Recovery::Selective(_) => Incoming::Kept,
        };
        let receiver = RecvQp::new(first, incoming, (head.src, here), path, (record.traffic, scheme));
        let slot = self.place_receiver(RecvQp { connection, ..receiver });
        if incoming.is_kept() {
            self.keep_for(slot);
        }
        io.ends_mut(head.flow).recv = slot;
        io.ends_mut(first).recv = slot;
        let announced = io.traffic(record.traffic).config.announce_size;
        let size = (announced && record.bytes < ENDLESS).then_some(record.bytes);
        let info = FlowInfo { size, ..FlowInfo::new(ReceiverFlow(slot), first, head.src) };
        let now = io.now();
        io.scheme(scheme).receiver_open(host as usize, now, &info);
        slot
    }

    /// The last byte of a message arrived in order.
    #[inline(never)]
    pub(super) fn on_whole<I: Io<Path = P>>(&mut self, io: &mut I, host: u32, slot: u32, message: MessageId) {
        let receiver = &self.receivers[slot as usize];
        let (traffic, scheme) = (receiver.traffic, receiver.scheme);
        io.on_arrived(message);
        if io.traffic(traffic).config.endpoint.connection {
            return;
        }
        let record = io.record_mut(message);
        record.packets_arrived = receiver.arrived;
        record.packets_marked = receiver.marked;
        record.reordered = receiver.reordered;
        let now = io.now();
        io.scheme(scheme).receiver_close(host as usize, now, ReceiverFlow(slot));
        io.ends_mut(message).recv = NO_SLOT;
        self.release_receiver(slot);
    }

    /// The sender of this message has given its queue pair up: what the message needs here is freed, and so is the
    /// receiver, where the message opened the queue pair.
    pub fn on_given_up<I: Io<Path = P>>(&mut self, io: &mut I, host: u32, message: MessageId) {
        let record = io.record_mut(message);
        record.given_up = record.finished == Time::NEVER;
        let traffic = record.traffic;
        let slot = io.ends(message).recv;
        if slot == NO_SLOT || self.receivers[slot as usize].id != message {
            return;
        }
        let Some(expected) = self.expected(slot) else { return };
        let receiver = &self.receivers[slot as usize];
        let (now, scheme) = (io.now(), receiver.scheme);
        let connection = io.traffic(traffic).config.endpoint.connection;
        if !connection {
            let record = io.record_mut(message);
            record.packets_arrived = receiver.arrived;
            record.packets_marked = receiver.marked;
            record.reordered = receiver.reordered;
            record.delivered = expected;
            io.ends_mut(message).recv = NO_SLOT;
        }
        io.scheme(scheme).receiver_close(host as usize, now, ReceiverFlow(slot));
        self.poll_receiver(io, host, scheme);
        if connection {
            // Its finished messages still name the slot: packets of theirs that were sent twice may come.
            let receiver = &mut self.receivers[slot as usize];
            (receiver.id, receiver.incoming) = (MessageId::NONE, Incoming::Gone);
        } else {
            self.release_receiver(slot);
        }
    }

    /// An ACK for a message that is complete and no longer stored; none for one that was given up.
    #[inline(never)]
    fn repeat_ack<I: Io<Path = P>>(&mut self, io: &mut I, data: &Header, to: u64) {
        if io.record(data.flow).given_up {
            return;
        }
        let head = Header {
            seq: to,
            sent_at: data.sent_at,
            flow: data.flow,
            src: data.dst,
            dst: data.src,
            wire: io.sizes().ack,
            kind: Kind::Ack,
            ..Header::default()
        };
        let config = &io.traffic(io.record(data.flow).traffic).config;
        let attempt = match config.endpoint.recovery {
            Recovery::GoBack0 => data.attempt,
            _ => 0,
        };
        let payload = if config.spraying.is_some() { data.cc_feedback as u16 } else { 0 };
        let head = Header { attempt, payload, ..head };
        let query =
            PathQuery { message: data.flow, from: data.dst, to: data.src, back: true, per_pair: false, same_as: None };
        let path = io.path_by_hash(&query);
        let traffic = io.traffic(io.record(data.flow).traffic);
        let (scheme, cpu_time) = (traffic.scheme, traffic.config.endpoint.cpu_time);
        if cpu_time != CpuTime::Zero {
            return self.hold_answer(io, None, &head, (path, scheme), cpu_time);
        }
        let nic = io.make_control(&head, path, scheme, Beside::Nothing);
        self.serve_any(io, nic);
    }

    /// The timer of a scheme's receiver.
    #[inline(never)]
    pub(super) fn receiver_timer<I: Io<Path = P>>(&mut self, io: &mut I, host: u32, scheme: u16) {
        let now = io.now();
        let event = &mut self.receiver_events[scheme as usize * self.hosts.len() + host as usize];
        if *event != now {
            return;
        }
        *event = Time::NEVER;
        if io.scheme(scheme).receiver_wake_at(host as usize) <= now {
            let received = self.hosts[host as usize].received;
            io.scheme(scheme).receiver_timer(host as usize, now, received);
        }
        self.poll_receiver(io, host, scheme);
    }
}

/// A data packet arrived this many bytes late.
#[inline(never)]
pub(super) fn note_reordered(totals: &mut HostTotals, counters: &mut TrafficCounters, distance: u64) {
    totals.reordered += 1;
    totals.reorder_distance = totals.reorder_distance.max(distance);
    counters.reordered += 1;
    counters.reorder_distance = counters.reorder_distance.max(distance);
}

/// The incast that a message's first packet announces, and its senders.
pub fn announced_incast<I: Io>(io: &I, message: MessageId) -> Option<(u32, alloc::sync::Arc<[u32]>)> {
    let record = io.record(message);
    io.traffic(record.traffic).announces(record.traffic, record.bytes, record.group, io.incast(message)?)
}

impl Traffic {
    /// The incast that the first packet of a message of this traffic announces, and its senders: `number` is that of
    /// the traffic, `group` that of the incast in it.
    pub fn announces(
        &self,
        number: u16,
        bytes: u64,
        group: u32,
        senders: &alloc::sync::Arc<[u32]>,
    ) -> Option<(u32, alloc::sync::Arc<[u32]>)> {
        let listed = self.config.send_options(bytes, senders.len()).list > 0;
        // Traffic and incast in one number; both count from 0 and stay far below half of the range in practice.
        listed.then(|| (u32::from(number) << 24 ^ group, senders.clone()))
    }
}

// Selective retransmission: what arrives behind a gap is kept.
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
        let endpoint = &io.traffic(traffic).config.endpoint;
        let ack_chunk = if resent { 0 } else { endpoint.ack_chunk };
        let names = endpoint.names_packets();
        let (start, end) = (head.has(flags::START), head.has(flags::END));
        let (len, links) = (head.payload as u32, head.hops);
        let half = &mut self.kept[slot as usize];
        let (before, pending) = (half.expected(), half.unacked() > 0);
        let kept = Kept { offset: head.seq, len, message: head.flow, start, end, links };
        let (arrived, named_due) = if names {
            let asks = resent || head.has(flags::ASKS);
            half.on_unordered(kept, ack_chunk, asks, head.has(flags::CE))
        } else {
            (half.on_data(kept, ack_chunk), false)
        };
        let after = half.expected();
        let counters = io.counters(traffic);
        counters.packets_arrived += 1;
        counters.packets_marked += head.has(flags::CE) as u64;
        counters.delivered += after - before;
        self.totals.duplicates += matches!(arrived, Arrived::Duplicate | Arrived::Behind { new: false }) as u64;
        let (ack_due, in_order) = match arrived {
            Arrived::InOrder { ack_due } => (if names { named_due } else { ack_due }, true),
            Arrived::Duplicate | Arrived::Behind { .. } => (named_due || !names, false),
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
        if names {
            if let Some(fields) = plan.before {
                self.send_ack(io, slot, Kind::Ack, before, fields);
            }
            if let Some(fields) = plan.now {
                self.send_named_ack(io, slot, head.seq, fields);
            }
        } else if let Arrived::Behind { .. } = arrived {
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
        self.kept[slot as usize].recycle(ready);
    }
}
