//! Sending: senders take turns at their NIC, and packets are created.

use super::{Beside, Carrier, Hosts, Io, NO_SLOT, Turn};
use crate::rc;
use crate::tcp::{Connection, Segment, bits};
use fanin_cc::paths::{Feedback, SelectorInfo, Sprayer};
use fanin_cc::{AckFields, Control, Header, Kind, ReceiverFlow, Sent, flags};
use fanin_units::{MessageId, Time};

impl<P: Copy> Hosts<P> {
    /// A sender may have become able to send: queues it at its NIC, and serves the NIC.
    #[inline]
    pub(super) fn activate<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32) {
        let sender = &self.senders[slot as usize];
        match sender.turn {
            Turn::Ready => {}
            Turn::Paced => {
                // Moved forward: the old place in the heap is stale.
                if sender.pacer.next_at() < sender.paced_at {
                    let nic = sender.nic;
                    self.pace(slot);
                    self.serve(io, nic);
                }
            }
            Turn::Idle => {
                if sender.can_send(io.now()) {
                    let nic = sender.nic;
                    if sender.pacer.next_at() <= io.now() {
                        self.make_ready(slot);
                    } else {
                        self.pace(slot);
                    }
                    self.serve(io, nic);
                }
            }
        }
    }

    #[inline(always)]
    fn make_ready(&mut self, slot: u32) {
        let sender = &mut self.senders[slot as usize];
        sender.turn = Turn::Ready;
        let (class, nic) = (sender.class, sender.nic as usize);
        self.nics[nic].ready[class as usize].push(&mut self.senders, slot);
        self.nics[nic].ready_mask |= 1 << class;
    }

    #[inline(always)]
    fn pace(&mut self, slot: u32) {
        let sender = &mut self.senders[slot as usize];
        sender.turn = Turn::Paced;
        sender.paced_at = sender.pacer.next_at();
        if sender.paced_at != Time::NEVER {
            self.nics[sender.nic as usize].pace(sender.paced_at, sender.order, slot);
        }
    }

    /// Serves a NIC: first the queues of its port (pause frames, control, data behind the pacers), then senders. Does
    /// nothing while its link is down.
    #[inline(never)]
    pub fn serve<I: Io<Path = P>>(&mut self, io: &mut I, nic: u32) {
        let (nic, port) = (nic as usize, self.nics[nic as usize].port);
        if !io.is_up(port) {
            return;
        }
        let now = io.now();
        let fifo = io.host_fifo();
        self.wake_paced(now, nic);
        if fifo.is_some() && self.nics[nic].ready_mask != 0 {
            self.fill(io, nic);
        }
        if io.free_at(port) <= now {
            let mut sent = io.send_queued(port);
            if !sent
                && fifo.is_none()
                && let Some(packet) = self.pull(io, nic, io.paused(port))
            {
                io.send(port, packet);
                sent = true;
            }
            if sent && fifo.is_some() && self.nics[nic].ready_mask != 0 {
                self.fill(io, nic);
            }
        }
        // When to serve it again: as soon as the port is free if packets wait, else when a sender is due.
        let pulls = fifo.is_none() && self.nics[nic].ready_mask & !io.paused(port) != 0;
        let mut at = Time::NEVER;
        if io.has_queued(port) || pulls {
            at = io.free_at(port);
        }
        let due = self.nics[nic].due();
        if due != Time::NEVER {
            at = at.min(if fifo.is_some() { due } else { due.max(io.free_at(port)) });
        }
        if at > now && at != Time::NEVER {
            io.wake_port(port, at);
        }
    }

    /// Moves senders whose time has come into their rings.
    #[inline(always)]
    fn wake_paced(&mut self, now: Time, nic: usize) {
        while let Some((at, order, slot)) = self.nics[nic].take_due(now) {
            let sender = &mut self.senders[slot as usize];
            if sender.order != order || sender.turn != Turn::Paced || sender.paced_at != at {
                continue;
            }
            if sender.pacer.next_at() > now {
                self.pace(slot);
            } else {
                self.make_ready(slot);
            }
        }
    }

    /// Pulls packets from senders that are due into the queues behind the pacers, until those are full. Each class has
    /// its own queue, so that a paused class does not block others.
    #[inline(never)]
    fn fill<I: Io<Path = P>>(&mut self, io: &mut I, nic: usize) {
        let Some(fifo) = io.host_fifo() else { return };
        let port = self.nics[nic].port;
        let mut classes = self.nics[nic].ready_mask;
        let room = fifo.capacity.saturating_sub(io.largest_packet() as u64);
        // The turn is that of the link behind the queues; which of them is filled first changes nothing.
        let turn = io.last_class(port);
        while classes != 0 {
            let class = classes.trailing_zeros() as u8;
            let only = 1u8 << class;
            classes &= !only;
            while self.nics[nic].ready_mask & only != 0 && io.queued(port, class) <= room {
                let Some(packet) = self.pull(io, nic, !only) else { break };
                io.enqueue(port, packet);
            }
        }
        io.set_last_class(port, turn);
    }

    /// Creates the next packet: round robin over data classes and over the senders of a class.
    #[inline(always)]
    fn pull<I: Io<Path = P>>(&mut self, io: &mut I, nic: usize, paused: u8) -> Option<I::Packet> {
        loop {
            let port = self.nics[nic].port;
            let classes = self.nics[nic].ready_mask & !paused;
            if classes == 0 {
                return None;
            }
            let class = io.choose_class(port, classes);
            let ring = &mut self.nics[nic].ready[class as usize];
            let slot = ring.pop(&self.senders)?;
            if ring.is_empty() {
                self.nics[nic].ready_mask &= !(1 << class);
            }
            let sender = &mut self.senders[slot as usize];
            sender.turn = Turn::Idle;
            if sender.dead {
                self.free_sender(slot);
                continue;
            }
            if !sender.can_send(io.now()) {
                continue;
            }
            if sender.pacer.next_at() > io.now() && !sender.in_burst() {
                self.pace(slot);
                continue;
            }
            io.set_last_class(port, class);
            let made = match sender.carrier {
                Carrier::Rdma(_) | Carrier::Selective(_) => Some(self.make_packet(io, slot, class)),
                Carrier::Tcp(_) => self.make_segment(io, slot, class),
            };
            if made.is_some() {
                return made;
            }
        }
    }

    /// The next packet of a queue pair.
    #[inline(never)]
    fn make_packet<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32, class: u8) -> I::Packet {
        let now = io.now();
        let sizes = *io.sizes();
        let sender = &mut self.senders[slot as usize];
        let options = sender.options;
        // The list of an incast's senders takes the place of payload, so that no packet grows beyond the largest.
        let list_of = |start: bool| if start { options.list as u32 } else { 0 };
        let segment = sender.take(now, |start| (sizes.payload as u32).saturating_sub(list_of(start)).max(1));
        let left = sender.left();
        let (list, sent_to) = (list_of(segment.start), segment.offset + segment.len as u64);
        let traffic = io.traffic(sender.traffic);
        let wire = segment.len + list + sizes.header as u32 + traffic.overhead.data as u32;
        let telemetry = traffic.overhead.telemetry;
        let (timeout, sprays) = (traffic.config.endpoint.timeout, traffic.config.spraying.is_some());
        let mut bits = if traffic.config.ecn { flags::ECT } else { 0 };
        if traffic.config.endpoint.connection {
            let record = io.record_mut(segment.message);
            record.packets_sent += 1;
            record.packets_resent += segment.retransmitted as u32;
            record.attempts = record.attempts.max(1);
        } else {
            sender.sent += 1;
            sender.resent += segment.retransmitted as u32;
        }
        let port = self.nics[sender.nic as usize].port;
        let line_time = io.tx_time(port, wire);
        sender.pacer.sent(now, wire, io.rate(port), line_time);
        let sent = Sent { retransmitted: segment.retransmitted, left, ..Sent::new(wire, segment.len, sent_to) };
        let (control, cc_tag) = io.scheme(sender.scheme).on_send(sender.cc, now, &sent);
        sender.pacer.set(&control);
        if segment.start {
            bits |= flags::START;
        }
        if segment.retransmitted {
            bits |= self.note_resent(slot, &segment);
        }
        let sender = &mut self.senders[slot as usize];
        if segment.end {
            bits |= flags::END;
        }
        if let Carrier::Selective(_) = sender.carrier {
            bits |= sender.asks(left, io.traffic(sender.traffic));
        }
        if telemetry {
            bits |= flags::INT;
        }
        let mut head = Header {
            seq: segment.offset,
            sent_at: now,
            flow: segment.message,
            src: self.hosts[sender.host as usize].node,
            dst: sender.to,
            cc_tag,
            wire: wire as u16,
            payload: segment.len as u16,
            attempt: sender.attempt,
            kind: Kind::Data,
            class,
            flags: bits,
            tokens: options.tokens,
            lane: options.lane,
            ..Header::default()
        };
        let (mut path, scheme, pair) = (sender.path, sender.scheme, sender.pair);
        if sender.deadline == Time::NEVER {
            let deadline = now.saturating_add(timeout);
            sender.deadline = deadline;
            let host = sender.host;
            self.wake_host(io, host, deadline);
        }
        if segment.end || segment.retransmitted {
            self.set_out(io, slot);
        }
        self.set_scheme_timer(io, slot, control.wake_at);
        if io.scheme(scheme).take_shared_changed() {
            self.tell_pair(io, slot);
        }
        if pair != NO_SLOT {
            self.had_turn(slot);
        }
        self.take_turn_again(io, slot, line_time);
        if sprays {
            let before = (!segment.retransmitted).then_some(segment.offset);
            let number = self.next_path(io, slot, before);
            head.cc_feedback = u32::from(number);
            path = io.numbered_path(path, head.src, head.dst, number);
        }
        let beside = if telemetry { Beside::RoomForTelemetry } else { Beside::Nothing };
        io.make(port, &head, path, scheme, beside)
    }

    /// The path of a packet that begins at `new`, or that is sent again.
    fn next_path<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32, new: Option<u64>) -> u16 {
        let sender = &self.senders[slot as usize];
        // uet-htsim: selectors see the number of the next new packet, also for one that is sent again.
        let sent_to = new.unwrap_or(sender.rdma().sent_to());
        let payload = u64::from(io.sizes().payload.max(1));
        let (psn, window) = ((sent_to / payload) as u32, (sender.pacer.window() / payload).max(1));
        if self.sprayers.len() <= slot as usize {
            self.sprayers.resize_with(slot as usize + 1, || None);
        }
        let sprayer = match &mut self.sprayers[slot as usize] {
            Some((id, sprayer)) if *id == sender.id => sprayer,
            place => {
                let seed = io.random(sender.host, 1 << 63 | u64::from(sender.id.0));
                let Some(spraying) = &io.traffic(sender.traffic).config.spraying else { return 0 };
                let (from, to) = (self.hosts[sender.host as usize].node, sender.to);
                let info = SelectorInfo { now: io.now(), flow: sender.id, from, to, paths: spraying.paths, seed };
                &mut place.insert((sender.id, Sprayer::new(&spraying.selector, &info))).1
            }
        };
        sprayer.next_path(io.now(), psn, window)
    }

    /// What became of a packet of a sender that chooses paths.
    pub(super) fn note_path(&mut self, slot: u32, path: u16, feedback: Feedback, now: Time) {
        if let Some(Some((id, sprayer))) = self.sprayers.get_mut(slot as usize)
            && *id == self.senders[slot as usize].id
        {
            sprayer.feedback(now, path, feedback);
        }
    }

    /// A packet is sent again. Returns its flags for that.
    #[inline(never)]
    fn note_resent(&mut self, slot: u32, segment: &rc::Segment) -> u8 {
        let sender = &mut self.senders[slot as usize];
        let Carrier::Selective(half) = &sender.carrier else { return 0 };
        // Switches drop the attempt that a failure has ended (Dart IV-C).
        if sender.options.pinned && segment.offset == half.stream().acked_to() {
            sender.attempt = sender.attempt.saturating_add(1);
        }
        flags::RESENT
    }

    /// Sends the requests of a queue pair's scheme.
    #[inline(never)]
    pub(super) fn send_requests<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32) {
        let now = io.now();
        let (scheme, cc) = self.senders[slot as usize].scheme();
        if matches!(self.senders[slot as usize].carrier, Carrier::Tcp(_)) {
            return;
        }
        loop {
            let left = self.senders[slot as usize].left();
            let (request, control) = io.scheme(scheme).poll_request(cc, now, left);
            self.senders[slot as usize].pacer.set(&control);
            self.set_scheme_timer(io, slot, control.wake_at);
            let Some(cc_tag) = request else { break };
            let sender = &mut self.senders[slot as usize];
            if left > 0 {
                sender.tried.note_request(sender.rdma().sent_to());
            }
            let head = Header {
                seq: sender.rdma().sent_to(),
                sent_at: now,
                flow: sender.message,
                src: self.hosts[sender.host as usize].node,
                dst: sender.to,
                cc_tag,
                wire: io.sizes().ack + io.traffic(sender.traffic).overhead.data,
                attempt: sender.attempt,
                kind: Kind::Request,
                class: sender.class,
                ..Header::default()
            };
            let (nic, path) = (sender.nic, sender.path);
            let port = self.nics[nic as usize].port;
            let packet = io.make(port, &head, path, scheme, Beside::Nothing);
            io.enqueue(port, packet);
            self.serve(io, nic);
        }
    }

    /// The next segment of a connection.
    fn make_segment<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32, class: u8) -> Option<I::Packet> {
        let now = io.now();
        let sender = &mut self.senders[slot as usize];
        let window = sender.pacer.window();
        let mut segment = sender.tcp_mut().connection.transmit(now, window)?;
        let end = sender.tcp();
        let (ecn, receiver) = (end.connection.ecn(), end.receiver);
        let sizes = io.sizes();
        let wire = if segment.len > 0 { segment.len + sizes.header as u32 } else { sizes.ack as u32 };
        let port = self.nics[sender.nic as usize].port;
        let line_time = io.tx_time(port, wire);
        let (scheme, cc, host, path) = (sender.scheme, sender.cc, sender.host, sender.path);
        let mut head = Header {
            seq: segment.seq,
            sent_at: now,
            flow: sender.id,
            src: self.hosts[host as usize].node,
            dst: sender.to,
            wire: wire as u16,
            payload: segment.len as u16,
            kind: if segment.len > 0 { Kind::Data } else { Kind::Ack },
            class,
            flags: flags::TCP,
            ..Header::default()
        };
        sender.pacer.sent(now, wire, io.rate(port), line_time);
        if segment.len > 0 {
            // Byte numbers start after the SYN's.
            let offset = segment.seq - 1;
            sender.sent += 1;
            sender.resent += segment.retransmitted as u32;
            if let Some((message, from, to)) = sender.tcp().outgoing.at(offset) {
                let record = io.record_mut(MessageId(message));
                record.packets_sent += 1;
                record.packets_resent += segment.retransmitted as u32;
                if offset == from {
                    head.flags |= flags::START;
                }
                if offset + segment.len as u64 >= to {
                    head.flags |= flags::END;
                }
            }
            if ecn && may_be_marked(&segment) {
                head.flags |= flags::ECT;
            }
            let sent = Sent::new(wire, segment.len, offset + segment.len as u64);
            let sent = Sent { retransmitted: segment.retransmitted, ..sent };
            let (control, cc_tag) = io.scheme(scheme).on_send(cc, now, &sent);
            head.cc_tag = cc_tag;
            self.senders[slot as usize].pacer.set(&control);
            self.set_scheme_timer(io, slot, control.wake_at);
        }
        if segment.has(bits::ACK) && receiver != NO_SLOT {
            let fields = if segment.has(bits::SYN) {
                self.senders[slot as usize].tcp().syn_fields
            } else {
                io.scheme(scheme).receiver_ack_fields(host as usize, now, ReceiverFlow(receiver))
            };
            put_fields(&mut head, &mut segment, &fields, &self.senders[slot as usize].tcp().connection);
        }
        self.set_tcp_timer(io, slot);
        if self.senders[slot as usize].tcp().connection.in_burst() {
            self.keep_turn(slot);
        } else {
            self.take_turn_again(io, slot, line_time);
        }
        Some(io.make(port, &head, path, scheme, Beside::Segment(&segment)))
    }

    /// Sets the timer of an end to its connection's deadline.
    #[inline(always)]
    pub(super) fn set_tcp_timer<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32) {
        let deadline = self.senders[slot as usize].tcp().connection.deadline();
        self.wake_sender(io, slot, deadline);
    }

    /// After a packet: the sender goes back to the end of its ring, into the heap, or to rest.
    #[inline(always)]
    fn take_turn_again<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32, line_time: Time) {
        let sender = &self.senders[slot as usize];
        if sender.can_send(io.now()) {
            // Without a queue behind the pacers a sender at line rate is due again just when the port is free. One with
            // credit may be due now.
            let free_at = if io.host_fifo().is_none() { io.now() + line_time } else { io.now() };
            if sender.pacer.next_at() <= free_at {
                self.make_ready(slot);
            } else {
                self.pace(slot);
            }
        }
    }

    /// In a burst that its NIC segments (segmentation offload), a sender is the next again, whatever its pace.
    #[inline(never)]
    fn keep_turn(&mut self, slot: u32) {
        let sender = &mut self.senders[slot as usize];
        sender.turn = Turn::Ready;
        let (class, nic) = (sender.class, sender.nic as usize);
        self.nics[nic].ready[class as usize].push_first(&mut self.senders, slot);
        self.nics[nic].ready_mask |= 1 << class;
    }

    /// Applies a new decision of the scheme to a sender.
    #[inline]
    pub(super) fn apply<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32, control: &Control) {
        let sender = &mut self.senders[slot as usize];
        sender.pacer.set(control);
        let scheme = sender.scheme;
        self.set_scheme_timer(io, slot, control.wake_at);
        if io.scheme(scheme).take_shared_changed() {
            self.tell_pair(io, slot);
            self.activate_pair(io, slot);
        }
        self.activate(io, slot);
    }

    /// The other senders of a pair may have become able to send.
    #[inline(never)]
    pub(super) fn activate_pair<I: Io<Path = P>>(&mut self, io: &mut I, changed: u32) {
        let pair = self.senders[changed as usize].pair as usize;
        for at in 0..self.pair_senders[pair].len() {
            let other = self.pair_senders[pair][at];
            if other != changed {
                self.activate(io, other);
            }
        }
    }

    /// The shared state of a pair of hosts has changed: asks the scheme for new decisions of its other senders.
    #[inline(never)]
    pub(super) fn tell_pair<I: Io<Path = P>>(&mut self, io: &mut I, changed: u32) {
        let pair = self.senders[changed as usize].pair as usize;
        for at in 0..self.pair_senders[pair].len() {
            let slot = self.pair_senders[pair][at];
            if slot != changed {
                let now = io.now();
                let sender = &mut self.senders[slot as usize];
                let control = io.scheme(sender.scheme).control(sender.cc, now);
                sender.pacer.set(&control);
                self.set_scheme_timer(io, slot, control.wake_at);
            }
        }
    }

    /// Finds the message that a queue pair sends next, and its send options.
    pub(super) fn set_out<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32) {
        let sender = &mut self.senders[slot as usize];
        let message = sender.next_message();
        if message == sender.message || message == MessageId::NONE {
            return;
        }
        sender.message = message;
        let config = &io.traffic(sender.traffic).config;
        let senders = io.incast(message).map_or(0, |s| s.len());
        sender.options = config.send_options(io.record(message).bytes, senders);
        let old = core::mem::replace(&mut sender.class, config.class_of_lane(sender.options.lane));
        if sender.class != old && sender.turn == Turn::Ready {
            // It is in the ring of a class that it no longer sends in; the caller that made it go back activates it
            // again.
            sender.turn = Turn::Idle;
            let nic = sender.nic as usize;
            let ring = &mut self.nics[nic].ready[old as usize];
            ring.remove(&mut self.senders, slot);
            if ring.is_empty() {
                self.nics[nic].ready_mask &= !(1 << old);
            }
        }
    }

    /// Routes have changed: senders of hosts with several links may have to use another one, in any state.
    pub(super) fn choose_nics_again<I: Io<Path = P>>(&mut self, io: &mut I) {
        for host in 0..self.hosts.len() {
            let senders = self.hosts[host].senders.clone();
            let nic_of = |this: &Self, io: &I, slot: u32| {
                let sender = &this.senders[slot as usize];
                io.nic_of(this.hosts[host].node, sender.to, sender.path).unwrap_or(sender.nic)
            };
            if senders.iter().all(|slot| nic_of(self, io, *slot) == self.senders[*slot as usize].nic) {
                continue;
            }
            for nic in 0..self.nics.len() {
                if self.nics[nic].host as usize == host {
                    self.empty_rings(nic);
                }
            }
            for &slot in &senders {
                self.senders[slot as usize].nic = nic_of(self, io, slot);
                self.senders[slot as usize].turn = Turn::Idle;
            }
            for slot in senders {
                self.activate(io, slot);
            }
        }
    }

    /// Removes all senders of this NIC.
    fn empty_rings(&mut self, nic: usize) {
        self.nics[nic].ready_mask = 0;
        self.nics[nic].forget_paced();
        for class in 0..self.nics[nic].ready.len() {
            while let Some(slot) = self.nics[nic].ready[class].pop(&self.senders) {
                if self.senders[slot as usize].dead {
                    self.free_sender(slot);
                }
            }
        }
    }
}

/// RFC 3168 sections 6.1.5 and 6.1.6: neither a retransmission nor a window probe is ECN-capable.
fn may_be_marked(data: &Segment) -> bool {
    !data.retransmitted && !data.probe
}

/// The fields that the scheme's receiver sets on an ACK of TCP.
pub(super) fn put_fields(head: &mut Header, segment: &mut Segment, fields: &AckFields, connection: &Connection) {
    head.cc_feedback = fields.cc_feedback;
    let syn = segment.has(bits::SYN);
    if fields.ecn_echo && connection.ecn() && !syn {
        segment.flags |= bits::ECE;
        head.flags |= flags::ECHO;
    }
    if fields.push {
        segment.flags |= bits::PSH;
        head.flags |= flags::PUSH;
    }
    if let Some(bytes) = fields.window {
        // RFC 7323 sections 2.2 and 2.3: in units of 2^scale bytes, rounded down; the window of a SYN has no unit.
        let field = if syn { bytes } else { bytes >> connection.window_scale() };
        segment.window = segment.window.min(field.min(u32::from(u16::MAX)) as u16);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::{Config, State};

    /// A server with a buffer of 4 MB and so a scale of 6, open; and its SYN-ACK.
    fn server() -> (Connection, Segment) {
        let config = Config {
            mss: 1460,
            sack: true,
            ecn: false,
            window_scaling: true,
            receive_buffer: 4_000_000,
            ack_every: 1,
            ack_delay: Time::from_ms(1),
            initial_rto: Time::from_s(1),
            min_rto: Time::from_ms(10),
            max_rto: Time::from_s(60),
            timestamps: false,
            offload: 0,
            retries: 15,
        };
        let mut end = Connection::listen(&config);
        let syn = Segment { flags: bits::SYN, window: u16::MAX, scale: Some(6), ..Segment::default() };
        end.on_segment(Time::ZERO, &syn);
        let answer = end.transmit(Time::ZERO, 0).expect("the SYN-ACK");
        end.on_segment(Time::ZERO, &Segment { seq: 1, ack: 1, flags: bits::ACK, ..Segment::default() });
        assert_eq!((end.state(), end.window_scale()), (State::Established, 6));
        (end, answer)
    }

    #[test]
    fn the_window_field_is_the_lower_of_both_in_units_rounded_down() {
        // RFC 7323 sections 2.2 and 2.3.
        let (mut end, answer) = server();
        let own = end.ack(Time::ZERO, crate::tcp::Covers::All);
        let field = |segment: Segment, window| {
            let mut segment = segment;
            put_fields(&mut Header::default(), &mut segment, &AckFields { window, ..AckFields::default() }, &end);
            segment.window
        };
        assert_eq!(field(own, None), own.window);
        // 1460 bytes are 22 units of 64 and 52 bytes that no field can say.
        assert_eq!([field(own, Some(1460)), field(own, Some(63)), field(own, Some(0))], [22, 0, 0]);
        assert_eq!(field(own, Some(u32::MAX)), own.window, "it cannot promise more than the buffer");
        // The window of a SYN has no unit.
        assert_eq!([field(answer, Some(1460)), field(answer, Some(70_000))], [1460, u16::MAX]);
    }

    #[test]
    fn new_data_may_be_marked_and_a_window_probe_may_not() {
        let (mut end, _) = server();
        end.write(65);
        let ack = Segment { seq: 1, ack: 1, flags: bits::ACK, ..Segment::default() };
        end.on_segment(Time::ZERO, &Segment { window: 1, ..ack });
        assert!(may_be_marked(&end.transmit(Time::ZERO, 1460).expect("the unit that fits")));
        end.on_segment(Time::ZERO, &Segment { ack: 65, ..ack });
        end.on_deadline(end.deadline());
        let probe = end.transmit(end.deadline(), 1460).expect("a probe");
        assert!(probe.len == 1 && !probe.retransmitted && !may_be_marked(&probe));
    }

    #[test]
    fn a_request_for_recovery_is_the_push_flag() {
        let (mut end, _) = server();
        let mut segment = end.ack(Time::ZERO, crate::tcp::Covers::All);
        let fields = AckFields { push: true, ..AckFields::default() };
        put_fields(&mut Header::default(), &mut segment, &fields, &end);
        assert_eq!(segment.flags, bits::ACK | bits::PSH);
    }
}
