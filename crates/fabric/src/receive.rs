//! The receiving half of a host: data arrives, ACKs and notifications go back.

use crate::host::{NO_SLOT, RecvFlow, place};
use crate::packet::{Packet, PacketIx};
use crate::results::DropCause;
use crate::routing::{Course, key};
use crate::sim::{Simulation, kind};
use fanin_cc::{AckFields, Data, Emit, FlowInfo, Header, Incast, Kind, MessageStart, ReceiverFlow, Telemetry, flags};
use fanin_endpoint::rc::{Arrival, ReceiveRules};
use fanin_engine::EventQueue;
use fanin_units::{MessageId, NodeId, PortId, Time};

impl<Q: EventQueue> Simulation<Q> {
    /// A packet reached a host.
    #[inline(never)]
    pub(crate) fn host_receives(&mut self, node: NodeId, link: PortId, ix: PacketIx) {
        self.hosts[node.ix()].received += self.packets[ix].head.wire as u64;
        if !self.traced.is_empty() {
            self.note_hop(None, node, ix);
        }
        let head = &self.packets[ix].head;
        if head.dst != node {
            // Hosts never forward.
            self.drop_packet(node, link, ix, DropCause::WrongHost);
        } else if head.has(flags::TCP) {
            self.tcp_arrives(node, ix);
        } else if head.kind == Kind::Data {
            self.data_arrives(node, ix);
        } else {
            self.sender_receives(ix);
        }
    }

    #[inline(always)]
    fn data_arrives(&mut self, node: NodeId, ix: PacketIx) {
        let now = self.now;
        let Packet { head, onward, .. } = self.packets[ix];
        let deflected = onward.deflections();
        self.consume(ix);
        let message = head.flow;
        let mut slot = self.slots[message.ix()].recv;
        if slot == NO_SLOT {
            if self.records[message.ix()].finished != Time::NEVER {
                // All of it had arrived: the last ACK may be lost, so it is repeated.
                let all = self.records[message.ix()].bytes;
                self.repeat_ack(&head, all);
                return;
            }
            slot = self.open_receiver(node, &head);
        }
        let flow = &mut self.receivers[slot as usize];
        let ce = head.has(flags::CE);
        flow.arrived += 1;
        flow.marked += ce as u32;
        flow.last_sent_at = head.sent_at;
        if head.has(flags::INT) {
            if self.recv_telemetry.len() <= slot as usize {
                self.recv_telemetry.resize(slot as usize + 1, Telemetry::default());
            }
            self.recv_telemetry[slot as usize] = *self.packets.telemetry(ix);
        }
        // What is late of an attempt before says nothing of the one that arrives now.
        if head.attempt > flow.attempt {
            flow.attempt = head.attempt;
            flow.furthest = 0;
        }
        // On a connection that stays open each message has counts of its own.
        let shared = self.traffics[flow.traffic as usize].config.endpoint.connection;
        if shared {
            let record = &mut self.records[message.ix()];
            record.packets_arrived += 1;
            record.packets_marked += ce as u32;
            record.reordered += (head.attempt == flow.attempt && head.seq < flow.furthest) as u32;
        }
        if head.attempt == flow.attempt {
            if head.seq < flow.furthest {
                flow.reordered += 1;
                self.totals.reordered += 1;
                self.totals.reorder_distance = self.totals.reorder_distance.max(flow.furthest - head.seq);
            }
            flow.furthest = flow.furthest.max(head.seq + head.payload as u64);
        }
        if deflected > 0 {
            self.records[message.ix()].deflections = self.records[message.ix()].deflections.max(deflected);
            let shortest = self.records[message.ix()].hops;
            self.totals.detour_bytes += (head.hops as u64).saturating_sub(shortest as u64) * head.wire as u64;
        }
        let traffic = &mut self.traffics[flow.traffic as usize];
        traffic.counters.packets_arrived += 1;
        traffic.counters.packets_marked += ce as u64;
        let rules = ReceiveRules {
            ack_chunk: traffic.config.endpoint.ack_chunk,
            nack_interval: traffic.config.endpoint.nack_interval,
        };
        let before = flow.half;
        let (pending, due_alone) =
            (before.unacked() > 0, head.has(flags::END) || head.payload as u32 >= rules.ack_chunk);
        let arrival = flow.half.on_data(now, head.seq, head.payload as u32, head.has(flags::END), &rules);
        let (ack_due, in_order) = match arrival {
            Arrival::InOrder { ack_due } => {
                traffic.counters.delivered += head.payload as u64;
                (ack_due, true)
            }
            Arrival::Duplicate => (true, false),
            Arrival::Gap { .. } => (false, false),
        };
        let scheme = flow.scheme as usize;
        let data = Data {
            flow: ReceiverFlow(slot),
            from: head.src,
            wire: head.wire as u32,
            payload: head.payload as u32,
            seq: head.seq,
            acked_to: flow.half.expected(),
            ce,
            start: head.has(flags::START),
            end: head.has(flags::END),
            in_order,
            ack_due,
            pending,
            due_alone,
            cc_tag: head.cc_tag,
            received: self.hosts[node.ix()].received,
        };
        if in_order && head.has(flags::START) {
            self.records[message.ix()].links = head.hops as u16;
            self.tell_of_start(node, slot, &head);
        }
        if in_order && head.has(flags::END) {
            self.schemes[scheme].receiver_message_end(node.ix(), now, ReceiverFlow(slot), message);
        }
        let plan = self.schemes[scheme].receiver_data(node.ix(), now, &data);
        if let Some(fields) = plan.before {
            self.send_ack(node, slot, Kind::Ack, before.expected(), fields);
            if plan.now.is_none() && in_order {
                self.receivers[slot as usize].half.acked_all_but(head.payload as u32);
            }
        }
        if let Some(fields) = plan.now {
            let expected = self.receivers[slot as usize].half.expected();
            self.send_ack(node, slot, Kind::Ack, expected, fields);
        }
        if arrival == (Arrival::Gap { nack_due: true }) {
            self.totals.nacks += 1;
            let expected = self.receivers[slot as usize].half.expected();
            self.send_ack(node, slot, Kind::Nack, expected, AckFields::default());
        }
        // What this packet made the scheme send goes out before its flow may close.
        self.poll_receiver(node, scheme);
        if in_order && head.has(flags::END) {
            self.message_arrived(node, slot, message);
            self.poll_receiver(node, scheme);
        }
    }

    /// The first packet of a message arrived in order.
    #[inline(never)]
    fn tell_of_start(&mut self, node: NodeId, slot: u32, head: &Header) {
        let record = &self.records[head.flow.ix()];
        let traffic = &self.traffics[record.traffic as usize].config;
        let scheme = self.traffics[record.traffic as usize].scheme as usize;
        let incast = self.announced(head.flow.0);
        let message = MessageStart {
            flow: ReceiverFlow(slot),
            id: head.flow,
            from: head.src,
            tenant: traffic.tenant,
            weight: traffic.weight,
            incast: incast.as_ref().map(|(id, senders)| Incast { id: *id, senders }),
        };
        self.schemes[scheme].receiver_message_start(node.ix(), self.now, &message);
    }

    /// The first packet of a channel arrived.
    #[inline(never)]
    fn open_receiver(&mut self, node: NodeId, head: &Header) -> u32 {
        let record = self.records[head.flow.ix()];
        let traffic = &self.traffics[record.traffic as usize];
        let connection = traffic.config.endpoint.connection;
        let scheme = traffic.scheme;
        let first = match connection {
            true => self
                .connections
                .get(&(record.traffic, record.src, record.dst))
                .map_or(head.flow, |first| MessageId(*first)),
            false => head.flow,
        };
        if connection && self.slots[first.ix()].recv != NO_SLOT {
            let slot = self.slots[first.ix()].recv;
            self.slots[head.flow.ix()].recv = slot;
            return slot;
        }
        let reverse = match connection {
            true => key(!self.streams.seed(), (record.src as u64) << 32 | record.dst as u64),
            false => key(!self.streams.seed(), self.slots[head.flow.ix()].name),
        };
        let flow = RecvFlow {
            flow: first,
            from: head.src,
            course: self.routes.course(&self.ports, node, head.src, reverse),
            traffic: record.traffic,
            scheme,
            ..RecvFlow::default()
        };
        let slot = place(&mut self.receivers, &mut self.free_receivers, flow);
        self.slots[head.flow.ix()].recv = slot;
        self.slots[first.ix()].recv = slot;
        let info = FlowInfo {
            flow: ReceiverFlow(slot),
            id: first,
            from: head.src,
            size: (record.bytes < crate::config::Message::ENDLESS).then_some(record.bytes),
        };
        self.schemes[scheme as usize].receiver_open(node.ix(), self.now, &info);
        slot
    }

    /// The last byte of a message arrived in order.
    #[inline(never)]
    fn message_arrived(&mut self, node: NodeId, slot: u32, message: MessageId) {
        let flow = self.receivers[slot as usize];
        self.message_is_whole(message.0);
        let record = &mut self.records[message.ix()];
        if self.traffics[flow.traffic as usize].config.endpoint.connection {
            return;
        }
        record.packets_arrived = flow.arrived;
        record.packets_marked = flow.marked;
        record.reordered = flow.reordered;
        self.schemes[flow.scheme as usize].receiver_close(node.ix(), self.now, ReceiverFlow(slot));
        self.slots[message.ix()].recv = NO_SLOT;
        self.receivers[slot as usize].flow = MessageId::NONE;
        self.free_receivers.push(slot);
    }

    /// Sends what the receiver of a scheme wants to send by itself, and sets its timer.
    #[inline(always)]
    pub(crate) fn poll_receiver(&mut self, node: NodeId, scheme: usize) {
        while let Some(emit) = self.schemes[scheme].receiver_poll(node.ix(), self.now) {
            match emit {
                Emit::Ack(flow, fields) if self.receivers[flow.0 as usize].tcp != NO_SLOT => {
                    self.tcp_emit_ack(self.receivers[flow.0 as usize].tcp, &fields);
                }
                Emit::Ack(flow, fields) => {
                    let expected = self.receivers[flow.0 as usize].half.expected();
                    self.send_ack(node, flow.0, Kind::Ack, expected, fields);
                }
                Emit::Cnp(flow) => {
                    let size = self.config.packet.cnp;
                    self.totals.cnps += 1;
                    self.send_control(node, flow.0, Kind::Cnp, size, 0);
                }
                Emit::Credit { flow, number, wire } => {
                    self.send_control(node, flow.0, Kind::Credit, wire as u16, number);
                }
            }
        }
        let at = self.schemes[scheme].receiver_wake_at(node.ix());
        if at != Time::NEVER {
            let number = scheme * self.hosts.len() + node.ix();
            if at < self.receiver_event[number] {
                self.receiver_event[number] = at;
                self.schedule(at, kind::RECEIVER, number as u32, 0);
            }
        }
    }

    #[inline(never)]
    pub(crate) fn receiver_timer(&mut self, number: u32) {
        if self.receiver_event[number as usize] != self.now {
            return;
        }
        self.receiver_event[number as usize] = Time::NEVER;
        let (scheme, host) = (number as usize / self.hosts.len(), number as usize % self.hosts.len());
        if self.schemes[scheme].receiver_wake_at(host) <= self.now {
            self.schemes[scheme].receiver_timer(host, self.now, self.hosts[host].received);
        }
        self.poll_receiver(NodeId(host as u32), scheme);
    }

    #[inline(never)]
    fn send_ack(&mut self, node: NodeId, slot: u32, kind: Kind, to: u64, fields: AckFields) {
        let flow = &self.receivers[slot as usize];
        let overhead = self.overhead[flow.traffic as usize];
        let mut bits = 0;
        if overhead.telemetry && kind == Kind::Ack {
            bits |= flags::INT;
        }
        if fields.ecn_echo {
            bits |= flags::ECHO;
        }
        if fields.push {
            bits |= flags::PUSH;
        }
        let head = Header {
            seq: to,
            sent_at: flow.last_sent_at,
            flow: flow.flow,
            src: node,
            dst: flow.from,
            cc_feedback: fields.cc_feedback,
            wire: self.config.packet.ack + if kind == Kind::Ack { overhead.ack } else { 0 },
            kind,
            flags: bits,
            ..Header::default()
        };
        let ix = self.new_packet(Packet::new(head, flow.course));
        if head.has(flags::INT) {
            // HPCC 3.1: the receiver copies what switches wrote into the ACK
            self.packets.set_telemetry(ix, &self.recv_telemetry[slot as usize]);
        }
        self.launch(ix);
    }

    fn send_control(&mut self, node: NodeId, slot: u32, kind: Kind, wire: u16, cc_tag: u32) {
        let flow = &self.receivers[slot as usize];
        let bits = if flow.tcp != NO_SLOT { flags::TCP } else { 0 };
        let head =
            Header { flow: flow.flow, src: node, dst: flow.from, cc_tag, wire, kind, flags: bits, ..Header::default() };
        self.send_back(head, flow.course);
    }

    /// An ACK for a message that is complete and forgotten.
    #[inline(never)]
    fn repeat_ack(&mut self, data: &Header, to: u64) {
        let head = Header {
            seq: to,
            sent_at: data.sent_at,
            flow: data.flow,
            src: data.dst,
            dst: data.src,
            wire: self.config.packet.ack,
            kind: Kind::Ack,
            ..Header::default()
        };
        let key = key(!self.streams.seed(), self.slots[data.flow.ix()].name);
        self.send_back(head, Course::unlabelled(key));
    }

    #[inline(never)]
    fn send_back(&mut self, head: Header, course: Course) {
        let ix = self.new_packet(Packet::new(head, course));
        self.launch(ix);
    }

    /// Puts a packet that a host has made into the queue of its link.
    #[inline(always)]
    pub(crate) fn launch(&mut self, ix: PacketIx) {
        let Packet { head, course, .. } = self.packets[ix];
        match self.routes.out_of_host(&self.ports, head.src, head.dst, course.key) {
            Some(port) => {
                self.packets[ix].goes_on(&self.routes, &self.far_ends[port.ix()]);
                self.enqueue(port, ix, u32::MAX, 0);
                self.service(port);
            }
            None => {
                self.totals.drops.no_route += 1;
                self.totals.ledger.dropped += head.wire as u64;
                self.fact(head.src, ix, 2);
                self.packets.remove(ix);
            }
        }
    }
}
