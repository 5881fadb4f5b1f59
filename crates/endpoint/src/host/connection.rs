//! TCP on hosts: connections open and close, segments arrive, messages are written to a stream and delimited again.

use super::receive::note_reordered;
use super::state::Opening;
use super::{
    Carrier, ENDLESS, Ends, Hosts, Incoming, Io, NO_SLOT, Needs, PathQuery, REMOTE, RecvQp, Restart, Route, TcpConfig,
    TcpEnd,
};
use crate::tcp::{Acked, Arrived, Connection, Covers, Segment, State, bits};
use alloc::boxed::Box;
use fanin_cc::{Ack, AckFields, Data, FlowInfo, Header, Kind, Notice, ReceiverFlow, flags};
use fanin_units::{MessageId, NodeId, Time};

fn tcp_config<I: Io>(io: &I, traffic: u16) -> &TcpConfig {
    io.traffic(traffic).config.tcp.as_ref().expect("only called for traffics over TCP")
}

impl<P: Copy> Hosts<P> {
    /// Writes a posted message to a stream: of a new connection, of the persistent one between its hosts, or, for an
    /// answer, of the request's connection.
    pub(super) fn open_stream<I: Io<Path = P>>(&mut self, io: &mut I, host: u32, message: MessageId) {
        let record = *io.record(message);
        let persistent = tcp_config(io, record.traffic).persistent;
        let known = match io.answers(message) {
            None if persistent => {
                io.connection(record.traffic, record.src, record.dst).map(|first| (first, io.ends(first)))
            }
            None => None,
            // The reverse direction: this end received the request.
            Some(asked) => {
                let Ends { send, recv } = io.ends(asked);
                Some((io.stream_opener(asked).unwrap_or(asked), Ends { send: recv, recv: send }))
            }
        };
        let alive = |(first, ends): &(MessageId, Ends)| {
            ends.send != NO_SLOT && ends.recv != NO_SLOT && self.can_take_more(*ends, *first)
        };
        let ends = match known.filter(alive) {
            Some((_, ends)) => ends,
            None => match self.open_connection(io, message, io.now()) {
                Some(ends) => ends,
                None => {
                    self.stranded.push(message.0);
                    return;
                }
            },
        };
        debug_assert_eq!(self.senders[ends.send as usize].host, host, "a message leaves from its host");
        self.post(io, message, ends);
        if !persistent && !io.will_be_answered(message) {
            self.close_end(ends.send);
        }
        self.settle(io, ends.send);
    }

    /// Whether these are the two ends of one connection now, and the first has not been closed. Where the other end is
    /// remote, the opening message identifies the connection.
    fn can_take_more(&self, ends: Ends, first: MessageId) -> bool {
        let Some(sender) = self.senders.get(ends.send as usize) else { return false };
        let Carrier::Tcp(end) = &sender.carrier else { return false };
        // The other end exists until this one is closed.
        end.peer == ends.recv && !end.closed && (ends.recv != REMOTE || sender.id == first)
    }

    /// The local ends of a new connection, the passive one waiting for a SYN; `None` without a path between the hosts.
    fn open_connection<I: Io<Path = P>>(&mut self, io: &mut I, message: MessageId, at: Time) -> Option<Ends> {
        let record = *io.record(message);
        let config = *tcp_config(io, record.traffic);
        let (from, to) = (NodeId(record.src), NodeId(record.dst));
        let query = |back: bool| PathQuery {
            message,
            from: if back { to } else { from },
            to: if back { from } else { to },
            back,
            per_pair: config.persistent,
            same_as: None,
        };
        let (there, back) = (io.route(&query(false), Needs::Info), io.route(&query(true), Needs::Info));
        if there.hops == 0 || back.hops == 0 {
            return None;
        }
        let mut ends = Ends { send: REMOTE, recv: REMOTE };
        if let Some(host) = io.host(from) {
            let end = self.new_end(Connection::connect(&config.connection), false);
            ends.send = self.open_end(io, (message, host, to), there, end, at);
        }
        if let Some(host) = io.host(to) {
            let end = self.new_end(Connection::listen(&config.connection), true);
            ends.recv = self.open_end(io, (message, host, from), back, end, at);
        }
        for (end, peer) in [(ends.send, ends.recv), (ends.recv, ends.send)] {
            if end != REMOTE {
                self.senders[end as usize].tcp_mut().peer = peer;
            }
        }
        *io.ends_mut(message) = ends;
        if config.persistent {
            io.open_connection(message);
        }
        Some(ends)
    }

    /// In memory of an end that was closed, if there is any.
    fn new_end(&mut self, connection: Connection, passive: bool) -> Box<TcpEnd> {
        match self.spare_ends.pop() {
            Some(mut end) => {
                end.renew(connection, passive);
                end
            }
            None => Box::new(TcpEnd::new(connection, passive)),
        }
    }

    fn open_end<I: Io<Path = P>>(
        &mut self,
        io: &mut I,
        (message, host, to): (MessageId, u32, NodeId),
        route: Route<P>,
        end: Box<TcpEnd>,
        at: Time,
    ) -> u32 {
        let opening = Opening {
            id: message,
            traffic: io.record(message).traffic,
            host,
            nic: route.nic.unwrap_or_default(),
            to,
            path: route.path,
            info: route.info,
            carrier: Carrier::Tcp(end),
            at,
        };
        self.open_sender(io, opening)
    }

    /// Adds a message to the stream from one end to the other.
    fn post<I: Io<Path = P>>(&mut self, io: &mut I, message: MessageId, ends: Ends) {
        let record = *io.record(message);
        let sender = &self.senders[ends.send as usize];
        let (path, first) = (sender.path, sender.id);
        let query = PathQuery {
            message,
            from: NodeId(record.src),
            to: NodeId(record.dst),
            back: false,
            per_pair: false,
            same_as: Some(path),
        };
        let route = io.route(&query, Needs::Ideal);
        let row = io.record_mut(message);
        (row.ideal, row.hops) = (route.ideal, route.hops);
        *io.ends_mut(message) = ends;
        if tcp_config(io, record.traffic).restart == Restart::Request {
            self.restart(io, ends.send);
        }
        self.senders[ends.send as usize].tcp_mut().outgoing.push(message.0, record.bytes);
        if ends.recv == REMOTE {
            io.announce_stream(message, first);
        } else {
            self.senders[ends.recv as usize].tcp_mut().incoming.push(message.0, record.bytes);
        }
        self.senders[ends.send as usize].tcp_mut().connection.write(record.bytes);
    }

    /// A message is written to a connection: its window restarts if everything before is acknowledged.
    fn restart<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32) {
        let sender = &mut self.senders[slot as usize];
        let connection = &sender.tcp().connection;
        if connection.sent_to() > 0 && connection.next_offset().is_none() && connection.in_flight() == 0 {
            let now = io.now();
            let control = io.scheme(sender.scheme).on_idle(sender.cc, now);
            self.apply(io, slot, &control);
        }
    }

    /// A remote host wrote a message to a stream to one of these hosts. Opens the passive end if the message opened its
    /// connection: it was posted at `at`, and no segment has reached the end since.
    pub fn on_remote_stream<I: Io<Path = P>>(&mut self, io: &mut I, message: MessageId, first: MessageId, at: Time) {
        if message == first {
            self.open_connection(io, message, at);
        }
        let answers = io.record(message).src != io.record(first).src;
        let opened = io.ends(first);
        let end = if answers { opened.send } else { opened.recv };
        if message != first {
            io.note_stream_opener(message, first);
        }
        *io.ends_mut(message) = Ends { send: REMOTE, recv: end };
        if end != NO_SLOT {
            let bytes = io.record(message).bytes;
            self.senders[end as usize].tcp_mut().incoming.push(message.0, bytes);
        }
    }

    fn close_end(&mut self, slot: u32) {
        let end = self.senders[slot as usize].tcp_mut();
        if !end.closed {
            end.closed = true;
            end.connection.close();
        }
    }

    /// The contents of an ACK that the scheme's receiver did not request.
    fn unplanned<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32) -> AckFields {
        let sender = &self.senders[slot as usize];
        let receiver = sender.tcp().receiver;
        if receiver == NO_SLOT {
            return AckFields::default();
        }
        let now = io.now();
        io.scheme(sender.scheme).receiver_ack_fields(sender.host as usize, now, ReceiverFlow(receiver))
    }

    /// A packet of a connection reached one of its hosts.
    #[inline(never)]
    pub(super) fn on_tcp_packet<I: Io<Path = P>>(&mut self, io: &mut I, host: u32, packet: I::Packet) {
        let head = *io.header(packet);
        let opener = io.record(head.flow).src == self.node_of(host).0;
        let ends = io.ends(head.flow);
        let slot = if opener { ends.send } else { ends.recv };
        let notice = match head.kind {
            Kind::Cnp => Some(Notice::Cnp),
            Kind::Credit => Some(Notice::Credit(head.cc_tag)),
            _ => None,
        };
        let segment = if notice.is_none() { io.segment(packet) } else { Segment::default() };
        io.consume(packet);
        let vanished = slot == NO_SLOT || self.senders[slot as usize].id != head.flow;
        match notice {
            _ if vanished => {
                if notice.is_none() && segment.flags & bits::RST == 0 && segment.end() > segment.seq {
                    self.answer_late(io, host, &head, &segment, opener);
                }
            }
            Some(notice) => {
                let now = io.now();
                let sender = &self.senders[slot as usize];
                let control = io.scheme(sender.scheme).on_notice(sender.cc, now, notice);
                self.apply(io, slot, &control);
            }
            None => self.on_segment(io, slot, &head, &segment),
        }
    }

    /// A segment for an end that is closed. RFC 9293 section 3.10.7.8: in TIME-WAIT a repeated FIN is acknowledged
    /// again, with the numbers taken from the segment. Section 3.10.7.1: anything else is refused.
    fn answer_late<I: Io<Path = P>>(&mut self, io: &mut I, host: u32, to: &Header, segment: &Segment, opener: bool) {
        let here = self.node_of(host);
        let traffic = io.record(to.flow).traffic;
        let (config, scheme) = (*tcp_config(io, traffic), io.traffic(traffic).scheme);
        let answer = if segment.has(bits::FIN) { bits::ACK } else { bits::RST | bits::ACK };
        let reply = Segment { seq: segment.ack, ack: segment.end(), flags: answer, ..Segment::default() };
        let head = Header {
            seq: reply.seq,
            flow: to.flow,
            src: here,
            dst: to.src,
            wire: io.sizes().ack,
            kind: Kind::Ack,
            class: config.ack_class,
            flags: flags::TCP,
            ..Header::default()
        };
        let path = io.path_by_hash(&PathQuery {
            message: to.flow,
            from: here,
            to: to.src,
            back: !opener,
            per_pair: config.persistent,
            same_as: None,
        });
        self.send_segment(io, &head, path, scheme, &reply);
    }

    fn on_segment<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32, head: &Header, segment: &Segment) {
        let opens = self.senders[slot as usize].tcp().receiver == NO_SLOT;
        if opens {
            self.open_tcp_receiver(io, slot, head);
        }
        let outcome = self.senders[slot as usize].tcp_mut().connection.on_segment(io.now(), segment);
        if outcome.asked {
            self.on_syn(io, slot);
        }
        if opens {
            let sender = &self.senders[slot as usize];
            self.poll_receiver(io, sender.host, sender.scheme);
        }
        // Data first: a due ACK must not follow data that already carries it, because it would be a duplicate.
        let mut answered = false;
        if let Some(arrived) = &outcome.arrived {
            answered = self.on_stream_data(io, slot, head, arrived);
        }
        if let Some(acked) = &outcome.acked {
            self.on_stream_acked(io, slot, head, segment.ack, acked);
        }
        if outcome.peer_closed && !self.senders[slot as usize].tcp().closed {
            // No more requests will arrive, so there are no more answers.
            self.close_end(slot);
        }
        if outcome.peer_closed {
            self.on_fin(io, slot);
            // The scheme may have released an ACK that covers the FIN.
            answered |= !self.senders[slot as usize].tcp().connection.owes_ack();
        }
        if outcome.must_ack && !answered && !self.holds_ack(slot, segment) {
            let fields = self.unplanned(io, slot);
            self.send_tcp_ack(io, slot, Covers::All, &fields);
        }
        self.settle(io, slot);
    }

    /// The peer's SYN arrived: the scheme says what the SYN-ACK carries, or holds it back.
    fn on_syn<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32) {
        let sender = &mut self.senders[slot as usize];
        let (scheme, host) = (sender.scheme, sender.host);
        let end = sender.tcp_mut();
        let (now, flow) = (io.now(), ReceiverFlow(end.receiver));
        match io.scheme(scheme).receiver_syn(host as usize, now, flow) {
            Some(fields) => end.syn_fields = fields,
            None => end.connection.hold_syn(),
        }
    }

    /// The peer's FIN arrived behind all its data.
    fn on_fin<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32) {
        let sender = &self.senders[slot as usize];
        let (scheme, host, receiver) = (sender.scheme, sender.host, sender.tcp().receiver);
        let now = io.now();
        io.scheme(scheme).receiver_fin(host as usize, now, ReceiverFlow(receiver));
        self.poll_receiver(io, host, scheme);
    }

    /// Whether the ACK of a segment waits for the scheme, with that of the data before it: only a FIN's on a connection
    /// that stays open.
    fn holds_ack(&self, slot: u32, segment: &Segment) -> bool {
        let end = self.senders[slot as usize].tcp();
        end.holds_acks
            && segment.has(bits::FIN)
            && end.connection.owes_ack_of_data()
            && !matches!(end.connection.state(), State::TimeWait | State::Closed)
    }

    /// The peer's first segment: its flow opens at the receiver role.
    fn open_tcp_receiver<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32, head: &Header) {
        let sender = &self.senders[slot as usize];
        let (scheme, host) = (sender.scheme, sender.host);
        let ends = (head.src, self.node_of(host));
        let rules = (sender.traffic, scheme);
        let announced = io.traffic(sender.traffic).config.announce_size;
        let receiver = self.place_receiver(RecvQp::new(head.flow, Incoming::Tcp(slot), ends, sender.path, rules));
        let end = self.senders[slot as usize].tcp_mut();
        end.receiver = receiver;
        let size = end.incoming.first().map(|(_, bytes)| bytes).filter(|bytes| announced && *bytes < ENDLESS);
        let info = FlowInfo { size, ..FlowInfo::new(ReceiverFlow(receiver), head.flow, head.src) };
        let now = io.now();
        end.holds_acks = io.scheme(scheme).receiver_holds_acks();
        if end.holds_acks {
            end.connection.hold_acks();
        }
        io.scheme(scheme).receiver_open(host as usize, now, &info);
    }

    /// Data arrived. Returns whether an ACK that covers it went out.
    fn on_stream_data<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32, head: &Header, arrived: &Arrived) -> bool {
        let now = io.now();
        let sender = &mut self.senders[slot as usize];
        let (scheme, host, traffic) = (sender.scheme, sender.host, sender.traffic);
        let ce = head.has(flags::CE);
        let counters = io.counters(traffic);
        counters.packets_arrived += 1;
        counters.packets_marked += ce as u64;
        counters.delivered += arrived.delivered;
        let receiver = &mut self.receivers[sender.tcp().receiver as usize];
        // What is sent again is sent later than what it then lies behind, and is no reordering.
        let late = head.sent_at <= receiver.last_sent_at;
        let distance = if late { receiver.furthest.saturating_sub(arrived.offset) } else { 0 };
        receiver.last_sent_at = receiver.last_sent_at.max(head.sent_at);
        receiver.furthest = receiver.furthest.max(arrived.offset + u64::from(head.payload));
        let end = sender.tcp_mut();
        if let Some((message, ..)) = end.incoming.at(arrived.offset) {
            let record = io.record_mut(MessageId(message));
            record.packets_arrived += 1;
            record.packets_marked += ce as u32;
            if distance > 0 {
                record.reordered += 1;
                note_reordered(&mut self.totals, io.counters(traffic), distance);
            }
        }
        // The application reads in-order data at once, so the ACK advertises the full window. A sender that may exhaust
        // it gets an update at once: it could not send the segments that a delayed ACK waits for.
        let window_update = end.connection.read(arrived.delivered);
        let data = Data {
            flow: ReceiverFlow(end.receiver),
            seq: arrived.offset,
            acked_to: arrived.arrived_to,
            in_order: arrived.in_order,
            ack_due: arrived.ack_due || window_update,
            pending: arrived.pending,
            due_alone: arrived.due_alone,
            received: self.hosts[host as usize].received,
            ..Data::of(head)
        };
        let plan = io.scheme(scheme).receiver_data(host as usize, now, &data);
        if let Some(fields) = &plan.before {
            self.send_tcp_ack(io, slot, Covers::AllButLast, fields);
        }
        if let Some(fields) = &plan.now {
            self.send_tcp_ack(io, slot, Covers::All, fields);
        }
        self.poll_receiver(io, host, scheme);
        while let Some(message) = self.senders[slot as usize].tcp_mut().incoming.whole(arrived.arrived_to) {
            self.on_stream_message(io, slot, MessageId(message));
        }
        plan.now.is_some()
    }

    /// A message has arrived whole. Where one answer waits for several requests, it goes back on the connection of the
    /// last one; this end closes the others.
    fn on_stream_message<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32, message: MessageId) {
        let kept = io.will_be_answered(message);
        let answered = io.on_arrived(message);
        if kept && !answered && !tcp_config(io, self.senders[slot as usize].traffic).persistent {
            self.close_end(slot);
        }
    }

    /// The scheme processes an ACK of this number.
    fn on_stream_acked<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32, head: &Header, number: u64, acked: &Acked) {
        let now = io.now();
        let sender = &mut self.senders[slot as usize];
        let (scheme, cc) = (sender.scheme, sender.cc);
        while let Some(message) = sender.tcp_mut().outgoing.whole(acked.acked_to) {
            io.record_mut(MessageId(message)).acked = now;
            io.on_acked(MessageId(message));
        }
        io.after_acked();
        let ack = Ack {
            newly_acked: acked.newly_acked,
            acked_to: acked.acked_to,
            // Byte numbers start after the SYN's, and the FIN's is not a byte.
            seq: number.saturating_sub(1).min(acked.acked_to),
            sent_to: acked.sent_to,
            in_flight: acked.in_flight,
            burst: acked.burst,
            recovering: acked.recovering,
            ecn_echo: acked.ecn_echo,
            rtt: acked.rtt,
            cc_feedback: head.cc_feedback,
            ..Ack::default()
        };
        let mut control = io.scheme(scheme).on_ack(cc, now, &ack);
        if let Some(loss) = &acked.loss {
            control = io.scheme(scheme).on_loss(cc, now, loss);
        }
        self.apply(io, slot, &control);
    }

    /// The sender's timer event: one of its connection's timers may be due.
    pub(super) fn tcp_timer<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32) {
        let now = io.now();
        let sender = &mut self.senders[slot as usize];
        let (scheme, cc) = (sender.scheme, sender.cc);
        let end = sender.tcp_mut();
        if end.connection.deadline() > now {
            self.set_tcp_timer(io, slot);
            return;
        }
        let expired = end.connection.on_deadline(now);
        if expired.timeout.is_some() || expired.control_timeout {
            self.totals.timeouts += 1;
            // It delays the first unfinished message: one that this end sends, or one that waits for its SYN.
            if let Some((message, _)) = end.outgoing.first().or(end.incoming.first()) {
                io.record_mut(MessageId(message)).timeouts += 1;
            }
        }
        if expired.given_up {
            // What it was sending stays unfinished.
            self.totals.given_up += 1;
        }
        if let Some(loss) = &expired.timeout {
            let control = io.scheme(scheme).on_timeout(cc, now, loss);
            self.apply(io, slot, &control);
        }
        if expired.ack_due {
            let fields = self.unplanned(io, slot);
            self.send_tcp_ack(io, slot, Covers::All, &fields);
        }
        self.settle(io, slot);
    }

    /// After every event at an end: sets its timer, schedules it at the NIC, or closes it.
    fn settle<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32) {
        // The answers of an end in TIME-WAIT need none of its state: see `answer_late`.
        if matches!(self.senders[slot as usize].tcp().connection.state(), State::Closed | State::TimeWait) {
            self.free_end(io, slot);
            return;
        }
        self.set_tcp_timer(io, slot);
        self.activate(io, slot);
    }

    /// An end is gone: frees its slots.
    fn free_end<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32) {
        let sender = &self.senders[slot as usize];
        let (scheme, host, first) = (sender.scheme, sender.host, sender.id);
        let end = sender.tcp();
        let (receiver, peer, passive) = (end.receiver, end.peer, end.passive);
        if receiver != NO_SLOT {
            let now = io.now();
            io.scheme(scheme).receiver_close(host as usize, now, ReceiverFlow(receiver));
            self.poll_receiver(io, host, scheme);
            self.release_receiver(receiver);
        }
        if peer != NO_SLOT && peer != REMOTE {
            self.senders[peer as usize].tcp_mut().peer = NO_SLOT;
        }
        let ends = io.ends_mut(first);
        if passive {
            ends.recv = NO_SLOT;
        } else {
            ends.send = NO_SLOT;
        }
        self.release_sender(io, slot);
    }
}
