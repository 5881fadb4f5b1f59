//! TCP on hosts: connections open and close, messages become bytes of a stream and messages again, segments become
//! packets. What a segment says stands beside its packet's header in the slab.

use crate::chain::NO_GATE;
use crate::config::{Message, TcpConfig};
use crate::host::{NO_SLOT, RecvFlow, place};
use crate::packet::{Packet, PacketIx};
use crate::parallel::{ELSEWHERE, News};
use crate::routing::{Course, key};
use crate::sim::{Simulation, Slots};
use fanin_cc::{AckFields, Data, FlowInfo, Header, HeaderOverhead, Kind, Notice, ReceiverFlow, Sent, flags};
use fanin_endpoint::tcp::{Acked, Arrived, Connection, Covers, Segment, State, bits};
use fanin_engine::EventQueue;
use fanin_units::{MessageId, NodeId, PortId, Time};
use std::collections::VecDeque;

/// One end of a connection.
pub(crate) struct TcpEnd {
    pub connection: Connection,
    /// Messages that it sends, until they are acknowledged.
    outgoing: Boundaries,
    /// Messages that it receives, until they have arrived.
    incoming: Boundaries,
    /// Its flow at the receiver role of its scheme; [`NO_SLOT`] until the peer's first segment.
    receiver: u32,
    /// The sending slot of the other end, as long as that exists; [`ELSEWHERE`] in another part of the network.
    peer: u32,
    /// Whether the application has closed it.
    closed: bool,
}

/// Where messages end in a stream.
#[derive(Default)]
struct Boundaries {
    /// Message, offset of its first byte, offset behind its last.
    messages: VecDeque<(u32, u64, u64)>,
    end: u64,
}

impl Boundaries {
    fn push(&mut self, message: u32, bytes: u64) {
        // Nothing behind a message without end is ever sent, so where it would be does not matter.
        let end = self.end.saturating_add(bytes);
        self.messages.push_back((message, self.end, end));
        self.end = end;
    }

    /// The message that holds the byte at `offset`, with its bounds.
    #[inline]
    fn at(&self, offset: u64) -> Option<(u32, u64, u64)> {
        let first = self.messages.front()?;
        if (first.1..first.2).contains(&offset) {
            return Some(*first);
        }
        let i = self.messages.partition_point(|m| m.2 <= offset);
        self.messages.get(i).filter(|m| m.1 <= offset).copied()
    }

    /// The next message that ends at or before `offset`, taken out.
    #[inline]
    fn whole(&mut self, offset: u64) -> Option<u32> {
        let first = self.messages.front().filter(|m| m.2 <= offset)?.0;
        self.messages.pop_front();
        Some(first)
    }
}

impl TcpEnd {
    fn new(connection: Connection) -> Self {
        Self {
            connection,
            outgoing: Boundaries::default(),
            incoming: Boundaries::default(),
            receiver: NO_SLOT,
            peer: NO_SLOT,
            closed: false,
        }
    }

    /// Whether a message is being sent, or waits for it.
    pub fn sends(&self, message: u32) -> bool {
        self.outgoing.messages.iter().any(|m| m.0 == message)
    }

    /// Where a message that it sends begins and ends in the stream, until it is acknowledged.
    pub fn bounds(&self, message: u32) -> Option<(u64, u64)> {
        self.outgoing.messages.iter().find(|m| m.0 == message).map(|m| (m.1, m.2))
    }

    /// The message that arrives now, and how much of it has.
    pub fn under_way(&self) -> Option<(u32, u64)> {
        let (message, from, _) = *self.incoming.messages.front()?;
        Some((message, self.connection.arrived_to().saturating_sub(from)))
    }
}

impl<Q: EventQueue> Simulation<Q> {
    fn tcp_config(&self, traffic: u16) -> &TcpConfig {
        self.traffics[traffic as usize].config.tcp.as_ref().expect("only called for traffics over TCP")
    }

    /// Gives a posted message a place in a stream: of a new connection, of the one that stays open between its hosts, or of
    /// the one that brought what it answers.
    pub(crate) fn open_stream(&mut self, number: u32) {
        let record = self.records[number as usize];
        let persistent = self.tcp_config(record.traffic).persistent;
        let pair = (record.traffic, record.src, record.dst);
        let asked = self.slots[number as usize].answers;
        let known = match asked {
            NO_SLOT if persistent => {
                self.connections.get(&pair).map(|first| (*first, self.slots[*first as usize].clone()))
            }
            NO_SLOT => None,
            // The way back: this end received what the other one sent.
            asked => {
                let slots = self.slots[asked as usize].clone();
                let first = self.part.streams.get(&asked).copied().unwrap_or(asked);
                Some((first, Slots { send: slots.recv, recv: slots.send, ..slots }))
            }
        };
        let alive = |(first, k): &(u32, Slots)| {
            k.send != NO_SLOT && k.recv != NO_SLOT && self.can_take_more(k.send, k.recv, *first)
        };
        let ends = match known.filter(alive) {
            Some((_, known)) => (known.send, known.recv),
            None => match self.open_connection(number) {
                Some(ends) => ends,
                None => {
                    self.stranded.push(number);
                    return;
                }
            },
        };
        self.post(number, ends.0, ends.1);
        if !persistent && !self.will_be_answered(number) {
            self.close_end(ends.0);
        }
        self.tcp_settle(ends.0);
    }

    /// Whether these senders are the two ends of one connection now, and the first has not been closed. What opened the
    /// connection names it where the other end is elsewhere.
    fn can_take_more(&self, one: u32, other: u32, first: u32) -> bool {
        let sender = &self.senders[one as usize];
        let end = self.tcp.get(sender.tcp as usize);
        // The other end is not gone before this one is closed.
        end.is_some_and(|end| end.peer == other && !end.closed) && (other != ELSEWHERE || sender.flow.0 == first)
    }

    /// Both ends of a new connection, the other one waiting for a SYN; `None` without a way between the hosts.
    fn open_connection(&mut self, number: u32) -> Option<(u32, u32)> {
        let record = self.records[number as usize];
        let config = *self.tcp_config(record.traffic);
        let (from, to) = (NodeId(record.src), NodeId(record.dst));
        let name = match config.persistent {
            true => (record.src as u64) << 32 | record.dst as u64,
            false => self.slots[number as usize].name,
        };
        let (there, back) = (key(self.streams.seed(), name), key(!self.streams.seed(), name));
        let port = self.routes.next(&self.ports, from, to, there)?;
        let port_back = self.routes.next(&self.ports, to, from, back)?;
        let active = Connection::connect(&config.connection);
        let passive = Connection::listen(&config.connection);
        let (one, other) = match (self.part.owns(from), self.part.owns(to)) {
            (true, true) => {
                let one = self.open_end(number, (from, to), there, port, active, false);
                (one, self.open_end(number, (to, from), back, port_back, passive, true))
            }
            (true, false) => (self.open_end(number, (from, to), there, port, active, false), ELSEWHERE),
            (false, _) => (ELSEWHERE, self.open_end(number, (to, from), back, port_back, passive, true)),
        };
        for (end, peer) in [(one, other), (other, one)] {
            if end != ELSEWHERE {
                self.tcp[self.senders[end as usize].tcp as usize].peer = peer;
            }
        }
        self.slots[number as usize].send = one;
        self.slots[number as usize].recv = other;
        if config.persistent {
            self.connections.insert((record.traffic, record.src, record.dst), number);
        }
        Some((one, other))
    }

    fn open_end(
        &mut self,
        number: u32,
        (from, to): (NodeId, NodeId),
        key: u32,
        port: PortId,
        connection: Connection,
        passive: bool,
    ) -> u32 {
        let traffic = self.records[number as usize].traffic;
        self.find_way(from, to, key);
        let path = self.path(HeaderOverhead::default());
        let slot = self.open_sender(MessageId(number), traffic, from, to, port, &path);
        let end = TcpEnd::new(connection);
        let tcp = place(&mut self.tcp, &mut self.free_tcp, end);
        self.senders[slot as usize].tcp = tcp;
        self.senders[slot as usize].passive = passive;
        slot
    }

    /// Adds a message to the stream from one end to the other.
    fn post(&mut self, number: u32, from: u32, to: u32) {
        let record = self.records[number as usize];
        let sender = &self.senders[from as usize];
        let (from_tcp, key) = (sender.tcp as usize, sender.course.key);
        let first = sender.flow.0;
        self.find_way(NodeId(record.src), NodeId(record.dst), key);
        let (ideal, hops) = self.lone(record.bytes);
        let row = &mut self.records[number as usize];
        (row.ideal, row.hops) = (ideal, hops);
        self.slots[number as usize].send = from;
        self.slots[number as usize].recv = to;
        self.tcp[from_tcp].outgoing.push(number, record.bytes);
        if to == ELSEWHERE {
            let at = self.now;
            self.part.tell(NodeId(record.dst), News::Stream { message: number, first, at });
        } else {
            let to_tcp = self.senders[to as usize].tcp as usize;
            self.tcp[to_tcp].incoming.push(number, record.bytes);
        }
        self.tcp[from_tcp].connection.write(record.bytes);
    }

    /// A host in another part of the network put a message into a stream to a host of this one. Opens the end that waits
    /// for a SYN where the message opened its connection.
    pub(crate) fn stream_from_elsewhere(&mut self, number: u32, first: u32, at: Time) {
        if number == first {
            // It was opened then, and nothing has reached it since.
            let now = core::mem::replace(&mut self.now, at);
            self.open_connection(number);
            self.now = now;
        }
        let answers = self.records[number as usize].src != self.records[first as usize].src;
        let slots = &self.slots[first as usize];
        let end = if answers { slots.send } else { slots.recv };
        if number != first && self.slots[number as usize].counts != NO_GATE {
            self.part.streams.insert(number, first);
        }
        self.slots[number as usize].send = ELSEWHERE;
        self.slots[number as usize].recv = end;
        if end != NO_SLOT {
            let bytes = self.records[number as usize].bytes;
            let tcp = self.senders[end as usize].tcp as usize;
            self.tcp[tcp].incoming.push(number, bytes);
        }
    }

    fn close_end(&mut self, slot: u32) {
        let end = &mut self.tcp[self.senders[slot as usize].tcp as usize];
        if !end.closed {
            end.closed = true;
            end.connection.close();
        }
    }

    /// The next segment of a flow as a packet.
    pub(crate) fn make_segment(&mut self, slot: u32, class: u8) -> Option<PacketIx> {
        let now = self.now;
        let flow = &mut self.senders[slot as usize];
        let end = &mut self.tcp[flow.tcp as usize];
        let mut segment = end.connection.transmit(now, flow.pacer.window())?;
        let ecn = end.connection.ecn();
        let sizes = self.config.packet;
        let wire = if segment.len > 0 { segment.len + sizes.header as u32 } else { sizes.ack as u32 };
        let port = &self.ports[flow.port.ix()];
        let (host, port_rate, line_time) = (port.node, port.rate, port.tx_time(wire));
        let (scheme, cc) = (flow.scheme as usize, flow.cc);
        let mut head = Header {
            seq: segment.seq,
            sent_at: now,
            flow: flow.flow,
            src: host,
            dst: flow.to,
            wire: wire as u16,
            payload: segment.len as u16,
            kind: if segment.len > 0 { Kind::Data } else { Kind::Ack },
            class,
            flags: flags::TCP,
            ..Header::default()
        };
        let course = flow.course;
        flow.pacer.sent(now, wire, port_rate, line_time);
        if segment.len > 0 {
            // Numbers of bytes start behind the SYN's.
            let offset = segment.seq - 1;
            flow.sent += 1;
            flow.resent += segment.retransmitted as u32;
            if let Some((message, from, to)) = end.outgoing.at(offset) {
                let record = &mut self.records[message as usize];
                record.packets_sent += 1;
                record.packets_resent += segment.retransmitted as u32;
                if offset == from {
                    head.flags |= flags::START;
                }
                if offset + segment.len as u64 >= to {
                    head.flags |= flags::END;
                }
            }
            // RFC 3168 section 6.1.5: what is sent again is not ECN-capable.
            if ecn && !segment.retransmitted {
                head.flags |= flags::ECT;
            }
            let sent = Sent {
                wire,
                payload: segment.len,
                sent_to: offset + segment.len as u64,
                retransmitted: segment.retransmitted,
            };
            let (control, cc_tag) = self.schemes[scheme].on_send(cc, now, &sent);
            head.cc_tag = cc_tag;
            self.senders[slot as usize].pacer.set(&control);
            self.arm_flow(slot, control.wake_at);
        }
        let receiver = self.tcp[self.senders[slot as usize].tcp as usize].receiver;
        if segment.has(bits::ACK) && receiver != NO_SLOT {
            let fields = self.schemes[scheme].receiver_ack_fields(host.ix(), now, ReceiverFlow(receiver));
            put_fields(&mut head, &mut segment, &fields, ecn);
        }
        self.tcp_arm(slot);
        self.take_turn_again(slot, line_time);
        let ix = self.new_packet(Packet::new(head, course));
        self.packets.set_segment(ix, segment);
        Some(ix)
    }

    /// Sends an ACK without data.
    fn tcp_ack(&mut self, slot: u32, covers: Covers, fields: &AckFields) {
        let flow = &self.senders[slot as usize];
        let end = &mut self.tcp[flow.tcp as usize];
        let mut segment = end.connection.ack(self.now, covers);
        let ecn = end.connection.ecn();
        let mut head = Header {
            seq: segment.ack,
            sent_at: segment.echo,
            flow: flow.flow,
            src: self.ports[flow.port.ix()].node,
            dst: flow.to,
            wire: self.config.packet.ack,
            kind: Kind::Ack,
            class: self.tcp_config(flow.traffic).ack_class,
            flags: flags::TCP,
            ..Header::default()
        };
        let course = flow.course;
        put_fields(&mut head, &mut segment, fields, ecn);
        self.launch_segment(head, course, segment);
        self.tcp_arm(slot);
    }

    fn launch_segment(&mut self, head: Header, course: Course, segment: Segment) {
        let ix = self.new_packet(Packet::new(head, course));
        self.packets.set_segment(ix, segment);
        self.launch(ix);
    }

    /// What an ACK carries that the scheme's receiver did not plan.
    fn unplanned(&mut self, slot: u32) -> AckFields {
        let flow = &self.senders[slot as usize];
        let receiver = self.tcp[flow.tcp as usize].receiver;
        if receiver == NO_SLOT {
            return AckFields::default();
        }
        let host = self.ports[flow.port.ix()].node.ix();
        self.schemes[flow.scheme as usize].receiver_ack_fields(host, self.now, ReceiverFlow(receiver))
    }

    /// The scheme's receiver sends an ACK of its own accord.
    pub(crate) fn tcp_emit_ack(&mut self, slot: u32, fields: &AckFields) {
        self.tcp_ack(slot, Covers::All, fields);
    }

    /// A packet of a connection reached one of its hosts.
    #[inline(never)]
    pub(crate) fn tcp_arrives(&mut self, node: NodeId, ix: PacketIx) {
        let head = self.packets[ix].head;
        let slots = &self.slots[head.flow.ix()];
        let opener = self.records[head.flow.ix()].src == node.0;
        let slot = if opener { slots.send } else { slots.recv };
        let notice = match head.kind {
            Kind::Cnp => Some(Notice::Cnp),
            Kind::Credit => Some(Notice::Credit(head.cc_tag)),
            _ => None,
        };
        let segment = if notice.is_none() { self.packets.segment(ix) } else { Segment::default() };
        self.consume(ix);
        let vanished = slot == NO_SLOT || self.senders[slot as usize].flow != head.flow;
        match notice {
            _ if vanished => {
                if notice.is_none() && segment.flags & bits::RST == 0 && segment.end() > segment.seq {
                    self.answer_late(node, &head, &segment, opener);
                }
            }
            Some(notice) => {
                let flow = &self.senders[slot as usize];
                let control = self.schemes[flow.scheme as usize].on_notice(flow.cc, self.now, notice);
                self.apply(slot, &control);
            }
            None => self.tcp_segment(node, slot, &head, &segment),
        }
    }

    /// A segment for an end that is done. RFC 9293 section 3.10.7.8: in TIME-WAIT a repeated FIN is acknowledged again,
    /// and its own numbers say how. Section 3.10.7.1: anything else is refused.
    fn answer_late(&mut self, node: NodeId, to: &Header, segment: &Segment, opener: bool) {
        let record = &self.records[to.flow.ix()];
        let name = match self.tcp_config(record.traffic).persistent {
            true => (record.src as u64) << 32 | record.dst as u64,
            false => self.slots[to.flow.ix()].name,
        };
        let seed = if opener { self.streams.seed() } else { !self.streams.seed() };
        let answer = if segment.has(bits::FIN) { bits::ACK } else { bits::RST | bits::ACK };
        let reply = Segment { seq: segment.ack, ack: segment.end(), flags: answer, ..Segment::default() };
        let head = Header {
            seq: reply.seq,
            flow: to.flow,
            src: node,
            dst: to.src,
            wire: self.config.packet.ack,
            kind: Kind::Ack,
            class: self.tcp_config(record.traffic).ack_class,
            flags: flags::TCP,
            ..Header::default()
        };
        self.launch_segment(head, Course::unlabelled(key(seed, name)), reply);
    }

    fn tcp_segment(&mut self, node: NodeId, slot: u32, head: &Header, segment: &Segment) {
        let tcp = self.senders[slot as usize].tcp as usize;
        if self.tcp[tcp].receiver == NO_SLOT {
            self.open_tcp_receiver(node, slot, head);
        }
        let outcome = self.tcp[tcp].connection.on_segment(self.now, segment);
        // Its data first: an ACK that is due must not follow data that already carries it, for that would be a duplicate.
        let mut answered = false;
        if let Some(arrived) = &outcome.arrived {
            answered = self.tcp_data(node, slot, head, arrived);
        }
        if let Some(acked) = &outcome.acked {
            self.tcp_acked(slot, head, segment.ack, acked);
        }
        if outcome.peer_closed && !self.tcp[tcp].closed {
            // Nothing more will be asked, so nothing more is to be said.
            self.close_end(slot);
        }
        if outcome.must_ack && !answered {
            let fields = self.unplanned(slot);
            self.tcp_ack(slot, Covers::All, &fields);
        }
        self.tcp_settle(slot);
    }

    /// The peer's first segment: its flow opens at the receiver role.
    fn open_tcp_receiver(&mut self, node: NodeId, slot: u32, head: &Header) {
        let sender = &self.senders[slot as usize];
        let (traffic, scheme, course, tcp) = (sender.traffic, sender.scheme, sender.course, sender.tcp as usize);
        let flow =
            RecvFlow { flow: head.flow, from: head.src, course, traffic, scheme, tcp: slot, ..RecvFlow::default() };
        let receiver = place(&mut self.receivers, &mut self.free_receivers, flow);
        self.tcp[tcp].receiver = receiver;
        let size = self.tcp[tcp].incoming.messages.front().map(|m| m.2 - m.1).filter(|b| *b < Message::ENDLESS);
        let info = FlowInfo { flow: ReceiverFlow(receiver), id: head.flow, from: head.src, size };
        self.schemes[scheme as usize].receiver_open(node.ix(), self.now, &info);
    }

    /// Data arrived. Returns whether an ACK that covers it went out.
    fn tcp_data(&mut self, node: NodeId, slot: u32, head: &Header, arrived: &Arrived) -> bool {
        let flow = &self.senders[slot as usize];
        let (scheme, tcp) = (flow.scheme as usize, flow.tcp as usize);
        let ce = head.has(flags::CE);
        let traffic = flow.traffic as usize;
        let counters = &mut self.traffics[traffic].counters;
        counters.packets_arrived += 1;
        counters.packets_marked += ce as u64;
        counters.delivered += arrived.delivered;
        let end = &mut self.tcp[tcp];
        if let Some((message, ..)) = end.incoming.at(arrived.offset) {
            let record = &mut self.records[message as usize];
            record.packets_arrived += 1;
            record.packets_marked += ce as u32;
        }
        // The application reads what is in order at once, so the window that the ACK advertises is whole. A sender that may
        // be short of it is told at once: it could not send the segments that a delayed ACK waits for.
        let window_update = end.connection.read(arrived.delivered);
        let data = Data {
            flow: ReceiverFlow(end.receiver),
            from: head.src,
            wire: head.wire as u32,
            payload: head.payload as u32,
            seq: arrived.offset,
            acked_to: arrived.arrived_to,
            ce,
            start: head.has(flags::START),
            end: head.has(flags::END),
            in_order: arrived.in_order,
            ack_due: arrived.ack_due || window_update,
            pending: arrived.pending,
            due_alone: arrived.due_alone,
            cc_tag: head.cc_tag,
            received: self.hosts[node.ix()].received,
        };
        let plan = self.schemes[scheme].receiver_data(node.ix(), self.now, &data);
        if let Some(fields) = &plan.before {
            self.tcp_ack(slot, Covers::AllButLast, fields);
        }
        if let Some(fields) = &plan.now {
            self.tcp_ack(slot, Covers::All, fields);
        }
        self.poll_receiver(node, scheme);
        while let Some(message) = self.tcp[tcp].incoming.whole(arrived.arrived_to) {
            self.message_is_whole(message);
        }
        plan.now.is_some()
    }

    /// An ACK of that number had news.
    fn tcp_acked(&mut self, slot: u32, head: &Header, number: u64, acked: &Acked) {
        let now = self.now;
        let flow = &self.senders[slot as usize];
        let (scheme, cc, tcp) = (flow.scheme as usize, flow.cc, flow.tcp as usize);
        while let Some(message) = self.tcp[tcp].outgoing.whole(acked.acked_to) {
            self.records[message as usize].acked = now;
            if self.slots[message as usize].counts_acked != NO_GATE {
                self.acked_now.push(message);
            }
        }
        self.messages_are_acked();
        let ack = fanin_cc::Ack {
            telemetry: None,
            newly_acked: acked.newly_acked,
            acked_to: acked.acked_to,
            // Numbers of bytes start behind the SYN's, and the FIN's is none.
            seq: number.saturating_sub(1).min(acked.acked_to),
            sent_to: acked.sent_to,
            in_flight: acked.in_flight,
            recovering: acked.recovering,
            ecn_echo: acked.ecn_echo,
            rtt: acked.rtt,
            cc_feedback: head.cc_feedback,
        };
        let mut control = self.schemes[scheme].on_ack(cc, now, &ack);
        if let Some(loss) = &acked.loss {
            control = self.schemes[scheme].on_loss(cc, now, loss);
        }
        self.apply(slot, &control);
    }

    /// The flow's timer event came: one of its connection's timers may be due.
    pub(crate) fn tcp_timer(&mut self, slot: u32) {
        let flow = &self.senders[slot as usize];
        let (scheme, cc, tcp) = (flow.scheme as usize, flow.cc, flow.tcp as usize);
        if self.tcp[tcp].connection.deadline() > self.now {
            self.tcp_arm(slot);
            return;
        }
        let expired = self.tcp[tcp].connection.on_deadline(self.now);
        if expired.timeout.is_some() || expired.control_timeout {
            self.totals.timeouts += 1;
            // It delays the first message that is not done: one that this end sends, or one that waits for its SYN.
            let end = &self.tcp[tcp];
            if let Some((message, ..)) = end.outgoing.messages.front().or(end.incoming.messages.front()) {
                self.records[*message as usize].timeouts += 1;
            }
        }
        if let Some(loss) = &expired.timeout {
            let control = self.schemes[scheme].on_timeout(cc, self.now, loss);
            self.apply(slot, &control);
        }
        if expired.ack_due {
            let fields = self.unplanned(slot);
            self.tcp_ack(slot, Covers::All, &fields);
        }
        self.tcp_settle(slot);
    }

    /// After anything that happened to an end: its timer, its turn at the NIC, its end.
    fn tcp_settle(&mut self, slot: u32) {
        let tcp = self.senders[slot as usize].tcp as usize;
        // What an end in TIME-WAIT would still say needs none of its state: see `answer_late`.
        if matches!(self.tcp[tcp].connection.state(), State::Closed | State::TimeWait) {
            self.free_end(slot);
            return;
        }
        self.tcp_arm(slot);
        self.activate(slot);
    }

    /// Sets the timer of an end to what its connection wants.
    #[inline(always)]
    fn tcp_arm(&mut self, slot: u32) {
        let tcp = self.senders[slot as usize].tcp as usize;
        let deadline = self.tcp[tcp].connection.deadline();
        self.wake_flow(slot, deadline);
    }

    /// An end is gone: its places are free.
    fn free_end(&mut self, slot: u32) {
        let flow = &self.senders[slot as usize];
        let (tcp, scheme, host, first) = (flow.tcp, flow.scheme as usize, self.ports[flow.port.ix()].node, flow.flow);
        let passive = flow.passive;
        let (receiver, peer) = (self.tcp[tcp as usize].receiver, self.tcp[tcp as usize].peer);
        if receiver != NO_SLOT {
            self.schemes[scheme].receiver_close(host.ix(), self.now, ReceiverFlow(receiver));
            self.poll_receiver(host, scheme);
            self.receivers[receiver as usize].flow = MessageId::NONE;
            self.free_receivers.push(receiver);
        }
        if peer != NO_SLOT && peer != ELSEWHERE {
            self.tcp[self.senders[peer as usize].tcp as usize].peer = NO_SLOT;
        }
        let slots = &mut self.slots[first.ix()];
        if passive {
            slots.recv = NO_SLOT
        } else {
            slots.send = NO_SLOT
        }
        self.free_tcp.push(tcp);
        self.senders[slot as usize].tcp = NO_SLOT;
        self.release_sender(slot);
    }
}

/// What the scheme's receiver puts on an ACK.
fn put_fields(head: &mut Header, segment: &mut Segment, fields: &AckFields, ecn: bool) {
    head.cc_feedback = fields.cc_feedback;
    if fields.ecn_echo && ecn && !segment.has(bits::SYN) {
        segment.flags |= bits::ECE;
        head.flags |= flags::ECHO;
    }
    if fields.push {
        head.flags |= flags::PUSH;
    }
}
