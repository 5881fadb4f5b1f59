//! Packets sent by receivers: ACKs, also of TCP, NACKs, CNPs and credits.

use super::io::{AckBitmap, names};
use super::send::put_fields;
use super::{Beside, CpuTime, Hosts, Incoming, Io, Timer};
use crate::selective::bitmap_base;
use crate::tcp::{Covers, Segment, State};
use fanin_cc::{AckFields, Emit, Header, Kind, flags};
use fanin_units::{MessageId, Time};

/// A NACK of selective retransmission is longer than an ACK by a second packet number, and so four bytes.
pub const ARRIVED_BYTES: u16 = 4;

/// An ACK that names a packet has a bitmap of 64 bits besides.
const BITMAP_BYTES: u16 = 8;

impl<P: Copy> Hosts<P> {
    /// Sends the packets that a scheme's receiver emits on its own, and sets its timer.
    #[inline(always)]
    pub(super) fn poll_receiver<I: Io<Path = P>>(&mut self, io: &mut I, host: u32, scheme: u16) {
        let now = io.now();
        while let Some(emit) = io.scheme(scheme).receiver_poll(host as usize, now) {
            match emit {
                Emit::Ack(flow, fields) => match self.receivers[flow.0 as usize].incoming {
                    Incoming::Rdma(half) => self.send_ack(io, flow.0, Kind::Ack, half.expected(), fields),
                    Incoming::Whole(half) => self.send_ack(io, flow.0, Kind::Ack, half.expected(), fields),
                    Incoming::Kept => {
                        let expected = self.kept[flow.0 as usize].expected();
                        self.send_ack(io, flow.0, Kind::Ack, expected, fields);
                    }
                    Incoming::Tcp(slot) => self.send_held_ack(io, slot, flow.0, &fields),
                    Incoming::Gone => {}
                },
                Emit::Cnp(flow) => {
                    let size = io.sizes().cnp;
                    self.totals.cnps += 1;
                    self.send_notice(io, flow.0, Kind::Cnp, size, (0, 0));
                }
                Emit::Credit { flow, number, wire } => {
                    let class = io.traffic(self.receivers[flow.0 as usize].traffic).config.credit_class;
                    self.send_notice(io, flow.0, Kind::Credit, wire as u16, (number, class));
                }
            }
        }
        // A window that began with the first bit of a packet may be over before its last.
        let at = io.scheme(scheme).receiver_wake_at(host as usize).max(now);
        if at != Time::NEVER {
            let event = &mut self.receiver_events[scheme as usize * self.hosts.len() + host as usize];
            if at < *event {
                *event = at;
                io.set_timer(Timer::Receiver { host, scheme }, at);
            }
        }
    }

    /// Sends an ACK or a NACK of go-back-N.
    #[inline(never)]
    pub(super) fn send_ack<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32, kind: Kind, to: u64, fields: AckFields) {
        let receiver = &self.receivers[slot as usize];
        let attempt = if let Incoming::Whole(half) = &receiver.incoming { half.attempt() } else { 0 };
        let head = Header { seq: to, kind, attempt, ..Header::default() };
        self.send_answer(io, slot, head, io.sizes().ack, kind == Kind::Ack, fields);
    }

    /// Sends a NACK of selective retransmission: the packet that begins at `arrived` has arrived. It carries what an
    /// ACK of that packet would.
    #[inline(never)]
    pub(super) fn send_selective_nack<I: Io<Path = P>>(
        &mut self,
        io: &mut I,
        slot: u32,
        (to, arrived): (u64, u64),
        fields: AckFields,
    ) {
        self.totals.nacks += 1;
        let cc_tag = u32::try_from(arrived - to).unwrap_or(u32::MAX);
        let head = Header { seq: to, kind: Kind::Nack, cc_tag, ..Header::default() };
        self.send_answer(io, slot, head, io.sizes().ack + ARRIVED_BYTES, true, fields);
    }

    /// Sends an ACK of an endpoint whose packets may arrive in any order: it names the packet that begins at `named`,
    /// and has a bitmap of those around it.
    #[inline(never)]
    pub(super) fn send_named_ack<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32, named: u64, fields: AckFields) {
        let half = &mut self.kept[slot as usize];
        let (to, payload) = (half.expected(), u64::from(io.sizes().payload));
        half.note_answer(bitmap_base(to, named, payload), payload);
        let cc_tag = named.wrapping_sub(to) as u32;
        let head = Header { seq: to, kind: Kind::Ack, cc_tag, flags: flags::NAMES, ..Header::default() };
        self.send_answer(io, slot, head, io.sizes().ack + ARRIVED_BYTES + BITMAP_BYTES, true, fields);
    }

    /// Sends a NACK of selective retransmission: a switch cut the packet that begins at `cut`.
    #[inline(never)]
    pub(super) fn send_cut_nack<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32, (to, cut): (u64, u64)) {
        self.totals.nacks += 1;
        let cc_tag = u32::try_from(cut - to).unwrap_or(u32::MAX);
        let head = Header { seq: to, kind: Kind::Nack, cc_tag, flags: flags::CUT, ..Header::default() };
        self.send_answer(io, slot, head, io.sizes().ack + ARRIVED_BYTES, false, AckFields::default());
    }

    /// Sends an ACK or NACK of `wire` bytes, and of those that its scheme adds where it carries the scheme's fields.
    #[inline(always)]
    pub(super) fn send_answer<I: Io<Path = P>>(
        &mut self,
        io: &mut I,
        slot: u32,
        head: Header,
        wire: u16,
        for_scheme: bool,
        fields: AckFields,
    ) {
        let receiver = &self.receivers[slot as usize];
        let traffic = io.traffic(receiver.traffic);
        let (overhead, cpu_time) = (traffic.overhead, traffic.config.endpoint.cpu_time);
        let (mut path, mut payload, mut bits) = (receiver.path, 0, head.flags);
        if traffic.config.spraying.is_some() {
            // UEC 1.0: an answer has the entropy value of the packet that it answers.
            payload = receiver.last_path;
            path = io.numbered_path(path, receiver.here, receiver.from, payload);
            bits |= if receiver.last_flags & flags::CE != 0 { flags::MARKED } else { 0 };
        }
        if overhead.telemetry && for_scheme {
            bits |= flags::INT;
        }
        if fields.ecn_echo {
            bits |= flags::ECHO;
        }
        if fields.push {
            bits |= flags::PUSH;
        }
        let head = Header {
            sent_at: receiver.last_sent_at,
            flow: receiver.id,
            src: receiver.here,
            dst: receiver.from,
            cc_feedback: fields.cc_feedback,
            wire: wire + if for_scheme { overhead.ack } else { 0 },
            payload,
            flags: bits,
            ..head
        };
        if cpu_time != CpuTime::Zero {
            let way = (path, receiver.scheme);
            return self.hold_answer(io, Some(slot), &head, way, cpu_time);
        }
        // HPCC 3.1: the receiver copies the telemetry of switches into the ACK
        let telemetry = head.has(flags::INT).then(|| &self.telemetry[slot as usize]);
        let arrived;
        let beside = if names(&head) {
            arrived = AckBitmap { bitmap: self.kept[slot as usize].answer(), telemetry };
            Beside::Arrived(&arrived)
        } else {
            telemetry.map_or(Beside::Nothing, Beside::Telemetry)
        };
        let nic = io.make_control(&head, path, receiver.scheme, beside);
        self.serve_any(io, nic);
    }

    /// Sends a CNP or a credit, in a class.
    fn send_notice<I: Io<Path = P>>(
        &mut self,
        io: &mut I,
        slot: u32,
        kind: Kind,
        wire: u16,
        (cc_tag, class): (u32, u8),
    ) {
        let receiver = &self.receivers[slot as usize];
        let bits = if matches!(receiver.incoming, Incoming::Tcp(_)) { flags::TCP } else { 0 };
        let (src, dst) = (receiver.here, receiver.from);
        let head = Header { flow: receiver.id, src, dst, cc_tag, wire, kind, class, flags: bits, ..Header::default() };
        let nic = io.make_control(&head, receiver.path, receiver.scheme, Beside::Nothing);
        self.serve_any(io, nic);
    }

    /// Sends an ACK of TCP that the scheme held back: the SYN-ACK, where that is still to be acknowledged. A connection
    /// that is gone needs none.
    #[inline(never)]
    fn send_held_ack<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32, receiver: u32, fields: &AckFields) {
        let sender = &mut self.senders[slot as usize];
        if sender.id != self.receivers[receiver as usize].id || sender.id == MessageId::NONE {
            return;
        }
        let end = sender.tcp_mut();
        if end.connection.answer_syn() {
            end.syn_fields = *fields;
            self.activate(io, slot);
        } else if !matches!(end.connection.state(), State::TimeWait | State::Closed) {
            self.send_tcp_ack(io, slot, Covers::All, fields);
        }
    }

    /// Sends an ACK of TCP without data.
    pub(super) fn send_tcp_ack<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32, covers: Covers, fields: &AckFields) {
        let now = io.now();
        let sender = &mut self.senders[slot as usize];
        let mut segment = sender.tcp_mut().connection.ack(now, covers);
        let mut head = Header {
            seq: segment.ack,
            sent_at: segment.echo,
            flow: sender.id,
            src: self.hosts[sender.host as usize].node,
            dst: sender.to,
            wire: io.sizes().ack,
            kind: Kind::Ack,
            class: io.traffic(sender.traffic).config.tcp.as_ref().map_or(0, |tcp| tcp.ack_class),
            flags: flags::TCP,
            ..Header::default()
        };
        let (path, scheme) = (sender.path, sender.scheme);
        put_fields(&mut head, &mut segment, fields, &sender.tcp().connection);
        self.send_segment(io, &head, path, scheme, &segment);
        self.set_tcp_timer(io, slot);
    }

    /// Sends a segment without data.
    pub(super) fn send_segment<I: Io<Path = P>>(
        &mut self,
        io: &mut I,
        head: &Header,
        path: P,
        scheme: u16,
        segment: &Segment,
    ) {
        let nic = io.make_control(head, path, scheme, Beside::Segment(segment));
        self.serve_any(io, nic);
    }

    /// Serves the NIC that a control packet leaves by, if it has a path.
    #[inline(always)]
    pub(super) fn serve_any<I: Io<Path = P>>(&mut self, io: &mut I, nic: Option<u32>) {
        if let Some(nic) = nic {
            self.serve(io, nic);
        }
    }
}
