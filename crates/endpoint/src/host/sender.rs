//! The sending end: ACKs, NACKs, CNPs and credits arrive, timers run out.

use super::io::names;
use super::{Carrier, Hosts, Io, NO_SLOT, Recovery};
use crate::selective::bitmap_base;
use alloc::vec::Vec;
use fanin_cc::paths::Feedback;
use fanin_cc::{Ack, Header, Kind, Loss, Notice, Trim, flags};
use fanin_units::{MessageId, Time};

impl<P: Copy> Hosts<P> {
    /// The scheme's timer of a sender, or one of its connection.
    #[inline(never)]
    pub(super) fn sender_timer<I: Io<Path = P>>(&mut self, io: &mut I, number: u32, slot: u32) {
        let now = io.now();
        let sender = &mut self.senders[slot as usize];
        if sender.id == MessageId::NONE || sender.timer_number() != number || sender.timer_event != now {
            return;
        }
        sender.timer_event = Time::NEVER;
        if sender.timer_at <= now {
            sender.timer_at = Time::NEVER;
            let control = io.scheme(sender.scheme).on_timer(sender.cc, now);
            debug_assert!(control.wake_at > now, "a scheme asked to be woken in the past");
            if self.has_asked_enough(io, slot) {
                self.give_up(io, slot);
                return;
            }
            self.apply(io, slot, &control);
            self.send_requests(io, slot);
        }
        let sender = &self.senders[slot as usize];
        let at = sender.timer_at;
        if let Carrier::Tcp(_) = sender.carrier {
            self.tcp_timer(io, slot);
        }
        if self.senders[slot as usize].id != MessageId::NONE && at != Time::NEVER {
            self.wake_sender(io, slot, at);
        }
    }

    /// Checks the retransmission timers of a host's queue pairs. One event serves all of them, because progress only
    /// ever moves a timer later.
    #[inline(never)]
    pub(super) fn host_timer<I: Io<Path = P>>(&mut self, io: &mut I, host: u32) {
        let now = io.now();
        if self.hosts[host as usize].timer_event != now {
            return;
        }
        self.hosts[host as usize].timer_event = Time::NEVER;
        let mut next = Time::NEVER;
        // By number of the sender, so that the order does not depend on the slots.
        let mut expired: Vec<(MessageId, u32)> = Vec::new();
        for &slot in &self.hosts[host as usize].senders {
            let sender = &self.senders[slot as usize];
            if sender.deadline <= now {
                expired.push((sender.id, slot));
            } else {
                next = next.min(sender.deadline);
            }
        }
        if next != Time::NEVER {
            self.wake_host(io, host, next);
        }
        expired.sort_unstable();
        for (_, slot) in expired {
            self.time_out(io, slot);
        }
    }

    fn time_out<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32) {
        let now = io.now();
        let sender = &mut self.senders[slot as usize];
        sender.deadline = Time::NEVER;
        if sender.rdma().in_flight() == 0 {
            // A restarted message is still retransmitting bytes that had arrived before; no others are missing.
            return;
        }
        if let Carrier::Selective(half) = &mut sender.carrier
            && let Some(more) = half.wait_longer(now, io.traffic(sender.traffic).config.endpoint.timeout)
        {
            let (deadline, host) = (now.saturating_add(more), sender.host);
            sender.deadline = deadline;
            self.wake_host(io, host, deadline);
            return;
        }
        let (acked_to, retries) = (sender.rdma().acked_to(), io.traffic(sender.traffic).config.endpoint.retries);
        if sender.tried.is_over(acked_to, retries) {
            self.give_up(io, slot);
            return;
        }
        self.totals.timeouts += 1;
        self.note_path(slot, 0, Feedback::Timeout, now);
        let sender = &self.senders[slot as usize];
        // On a connection that stays open it is the message at whose first missing byte sending goes on.
        let message = sender.rdma().under_way().next().unwrap_or(sender.id);
        io.record_mut(message).timeouts += 1;
        let sent_to = sender.rdma().sent_to();
        let tell = self.resend(io, slot);
        let sender = &mut self.senders[slot as usize];
        // Go-back-0 takes back what was acknowledged of its message.
        let after = sender.rdma().acked_to();
        sender.tried.note_timeout(acked_to, after);
        if tell {
            let loss = Loss::new(sender.rdma().acked_to(), sent_to);
            let control = io.scheme(sender.scheme).on_timeout(sender.cc, now, &loss);
            self.apply(io, slot, &control);
        } else {
            self.activate(io, slot);
        }
        self.send_requests(io, slot);
    }

    /// Unacknowledged data is sent again, after a timeout or because the receiver asks for it at once. Returns whether
    /// the scheme is told.
    #[inline(never)]
    fn resend<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32) -> bool {
        let sender = &mut self.senders[slot as usize];
        let timeout = io.traffic(sender.traffic).config.endpoint.timeout;
        let Carrier::Selective(half) = &mut sender.carrier else {
            self.go_back(io, slot);
            return true;
        };
        half.on_timeout(io.now(), timeout);
        let (tell, waits) = (half.rules().tell_scheme, half.rules().unordered() && half.in_flight() > 0);
        if waits {
            // What the window holds back may not leave before something is known of the packets sent later.
            let (deadline, host) = (io.now().saturating_add(timeout), sender.host);
            sender.deadline = deadline;
            self.wake_host(io, host, deadline);
        }
        self.set_out(io, slot);
        tell
    }

    /// Retransmits unacknowledged data as a new attempt. Returns whether there was any.
    #[inline(never)]
    fn go_back<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32) -> bool {
        let sender = &mut self.senders[slot as usize];
        let whole = io.traffic(sender.traffic).config.endpoint.recovery == Recovery::GoBack0;
        let half = sender.rdma_mut();
        if !(if whole { half.start_over() } else { half.go_back() }) {
            return false;
        }
        sender.attempt = sender.attempt.saturating_add(1);
        // The message gone back to may have to restart, not the one that was being sent.
        self.set_out(io, slot);
        let sender = &mut self.senders[slot as usize];
        if sender.options.whole {
            sender.rdma_mut().restart();
        }
        if io.traffic(sender.traffic).config.endpoint.connection {
            let record = io.record_mut(sender.message);
            record.attempts = record.attempts.saturating_add(1);
        }
        true
    }

    /// A NACK, or an ACK that asks for repair at once, has been taken. Returns whether the scheme is told of a loss.
    #[inline(never)]
    fn repair<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32, kind: Kind) -> bool {
        let Carrier::Selective(half) = &mut self.senders[slot as usize].carrier else { return self.go_back(io, slot) };
        if kind != Kind::Nack {
            return half.stream().in_flight() > 0 && self.resend(io, slot);
        }
        let tell = half.rules().tell_scheme && half.begins_recovery();
        // The packet to send again may belong to another message.
        self.set_out(io, slot);
        tell
    }

    /// An ACK, NACK, CNP or credit reached the sender of its queue pair.
    #[inline(always)]
    pub(super) fn on_control<I: Io<Path = P>>(&mut self, io: &mut I, packet: I::Packet) {
        let head = *io.header(packet);
        io.consume(packet);
        let slot = io.ends(head.flow).send;
        if slot == NO_SLOT {
            return;
        }
        match head.kind {
            Kind::Nack if head.has(flags::CUT) && self.keeps(slot) => self.on_cut(io, slot, &head),
            Kind::Ack | Kind::Nack => self.on_answer(io, slot, packet, &head),
            Kind::Cnp => self.on_notice(io, slot, Notice::Cnp),
            Kind::Credit => {
                self.on_notice(io, slot, Notice::Credit(head.cc_tag));
                self.send_requests(io, slot);
            }
            Kind::Data | Kind::Request | Kind::Pause | Kind::FlowControl | Kind::Trimmed => {}
        }
    }

    /// Whether the other end of a queue pair keeps what arrives behind a gap.
    fn keeps(&self, slot: u32) -> bool {
        matches!(self.senders[slot as usize].carrier, Carrier::Selective(_))
    }

    /// A CNP or credit.
    #[inline(always)]
    fn on_notice<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32, notice: Notice) {
        let now = io.now();
        let sender = &self.senders[slot as usize];
        let control = io.scheme(sender.scheme).on_notice(sender.cc, now, notice);
        self.apply(io, slot, &control);
    }

    /// An ACK or NACK, with the telemetry of its packet.
    #[inline(always)]
    fn on_answer<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32, packet: I::Packet, head: &Header) {
        let now = io.now();
        let sender = &self.senders[slot as usize];
        let (scheme, cc) = (sender.scheme, sender.cc);
        let config = &io.traffic(sender.traffic).config;
        let (endpoint, sprays) = (config.endpoint, config.spraying.is_some());
        if endpoint.recovery == Recovery::GoBack0 && head.attempt != sender.attempt {
            // Of what has started over since.
            return;
        }
        let in_flight = sender.in_flight();
        if sprays {
            let feedback = match (head.kind == Kind::Nack && head.has(flags::CUT), head.has(flags::MARKED)) {
                (true, _) => Feedback::Trimmed,
                (false, true) => Feedback::Marked,
                (false, false) => Feedback::Good,
            };
            self.note_path(slot, head.payload, feedback, now);
        }
        let mut newly_acked = self.advance(io, slot, head, endpoint.timeout);
        if head.has(flags::NAMES) {
            newly_acked += self.take_bitmap(io, slot, packet, head);
        }
        let sender = &self.senders[slot as usize];
        let half = sender.rdma();
        let (acked_to, sent_to, done) = (half.acked_to(), half.sent_to(), half.done());
        let sent_again = match &sender.carrier {
            Carrier::Selective(half) => half.answered(),
            _ => 0,
        };
        let mut ack = Ack {
            newly_acked,
            acked_to,
            seq: head.seq,
            sent_to,
            in_flight,
            ecn_echo: head.has(flags::ECHO),
            rtt: now.saturating_sub(head.sent_at),
            sent_again,
            cc_feedback: head.cc_feedback,
            ..Ack::default()
        };
        let mut control = if head.has(flags::INT) {
            let (scheme, telemetry) = io.scheme_and_telemetry(scheme, packet);
            ack.telemetry = Some(telemetry);
            scheme.on_ack(cc, now, &ack)
        } else {
            io.scheme(scheme).on_ack(cc, now, &ack)
        };
        let asks_for_repair = head.kind == Kind::Nack || head.has(flags::PUSH);
        if asks_for_repair && self.repair(io, slot, head.kind) {
            let from = self.senders[slot as usize].rdma().acked_to();
            control = io.scheme(scheme).on_loss(cc, now, &Loss::new(from, sent_to));
        }
        if done && !endpoint.connection {
            self.finish(io, slot);
            return;
        }
        if done && newly_acked > 0 {
            control = io.scheme(scheme).on_idle(cc, now);
        }
        self.apply(io, slot, &control);
        if asks_for_repair {
            self.send_requests(io, slot);
        }
    }

    /// Takes the bitmap of an ACK that has one. Returns the bytes newly known to have arrived.
    #[inline(never)]
    fn take_bitmap<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32, packet: I::Packet, head: &Header) -> u64 {
        let Carrier::Selective(half) = &mut self.senders[slot as usize].carrier else { return 0 };
        if !names(head) {
            return 0;
        }
        let payload = u64::from(io.sizes().payload);
        let named = head.seq.wrapping_add_signed((head.cc_tag as i32).into());
        let newly = half.on_bitmap(bitmap_base(head.seq, named, payload), payload, io.bitmap(packet));
        // A packet that was to be sent again may have arrived.
        self.set_out(io, slot);
        newly
    }

    /// A NACK arrived: a switch cut the packet that it names, which is sent again at once.
    #[inline(never)]
    fn on_cut<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32, head: &Header) {
        let now = io.now();
        let sender = &mut self.senders[slot as usize];
        let (scheme, cc) = (sender.scheme, sender.cc);
        if io.traffic(sender.traffic).config.spraying.is_some() {
            self.note_path(slot, head.payload, Feedback::Trimmed, now);
        }
        let sender = &mut self.senders[slot as usize];
        let Carrier::Selective(half) = &mut sender.carrier else { return };
        let (in_flight, sent_to, tell) = (half.in_flight(), half.stream().sent_to(), half.rules().tell_scheme);
        let Some(packet) = half.on_cut(head.seq + u64::from(head.cc_tag)) else { return };
        let overhead = io.traffic(sender.traffic).overhead.data;
        let wire = packet.len + u32::from(io.sizes().header) + u32::from(overhead);
        let rtt = now.saturating_sub(head.sent_at);
        let trim = Trim { rtt, ..Trim::new(packet.offset, packet.len, wire, sent_to, in_flight) };
        // The packet to send again may belong to another message.
        self.set_out(io, slot);
        if tell {
            let control = io.scheme(scheme).on_trim(cc, now, &trim);
            self.apply(io, slot, &control);
            self.send_requests(io, slot);
        } else {
            self.activate(io, slot);
        }
    }

    /// Takes what an ACK or NACK acknowledges, and sets the timer of what is still in flight. Returns the bytes
    /// acknowledged for the first time.
    #[inline(always)]
    fn advance<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32, head: &Header, timeout: Time) -> u64 {
        let now = io.now();
        let sender = &mut self.senders[slot as usize];
        let before = sender.rdma().acked_to();
        let newly_acked = sender.take_ack(head, |message| {
            io.record_mut(message).acked = now;
            io.on_acked(message);
        });
        if sender.rdma().acked_to() > before {
            let waits = sender.rdma().in_flight() > 0;
            sender.deadline = if waits { now.saturating_add(timeout) } else { Time::NEVER };
            // After going back, its next message may be another one.
            self.set_out(io, slot);
            io.after_acked();
        }
        newly_acked
    }

    /// All of a message on a queue pair of its own is acknowledged.
    #[inline(always)]
    fn finish<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32) {
        // Its last ACK may have changed what it shares with others.
        if io.scheme(self.senders[slot as usize].scheme).take_shared_changed() {
            self.tell_pair(io, slot);
            self.activate_pair(io, slot);
        }
        self.close_sender(io, slot);
    }

    /// Whether a queue pair has asked for leave to send as often as it may, without getting any.
    fn has_asked_enough<I: Io<Path = P>>(&self, io: &I, slot: u32) -> bool {
        let sender = &self.senders[slot as usize];
        let retries = io.traffic(sender.traffic).config.endpoint.retries;
        let Some(half) = sender.as_rdma() else { return false };
        sender.left() > 0 && sender.tried.asked_enough(half.sent_to(), retries)
    }

    /// A queue pair has tried often enough (`retry_cnt` of ibv_modify_qp): it is closed, and what was posted to it and
    /// is not acknowledged stays unfinished. The other end is told, which takes a round-trip time; until then a
    /// connection between the two hosts is not opened again.
    #[inline(never)]
    fn give_up<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32) {
        self.totals.given_up += 1;
        let sender = &self.senders[slot as usize];
        let (id, traffic) = (sender.id, sender.traffic);
        let mut messages: Vec<MessageId> = sender.rdma().unfinished().collect();
        if !io.traffic(traffic).config.endpoint.connection {
            io.give_up(id);
            self.close_sender(io, slot);
            return;
        }
        let pair = (traffic, sender.host, sender.to);
        for message in &messages {
            io.ends_mut(*message).send = NO_SLOT;
            io.forget_incast(*message);
        }
        // It may have finished long ago, and it names the queue pair.
        if !messages.contains(&id) {
            messages.push(id);
            io.ends_mut(id).send = NO_SLOT;
        }
        let mut until = io.now();
        for message in messages {
            until = until.max(io.give_up(message));
        }
        self.closing.insert(pair, (until, 0));
        self.release_sender(io, slot);
    }

    /// Gives up the queue pair of a message that has one of its own, if it is open.
    pub fn abandon<I: Io<Path = P>>(&mut self, io: &mut I, message: MessageId) {
        let slot = io.ends(message).send;
        if slot != NO_SLOT {
            self.give_up(io, slot);
        }
    }

    /// All of a queue pair is acknowledged.
    #[inline(never)]
    fn close_sender<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32) {
        let sender = &self.senders[slot as usize];
        let id = sender.id;
        let record = io.record_mut(id);
        record.packets_sent = sender.sent;
        record.packets_resent = sender.resent;
        record.attempts = sender.attempt.saturating_add(1);
        io.ends_mut(id).send = NO_SLOT;
        io.forget_incast(id);
        self.release_sender(io, slot);
    }
}
