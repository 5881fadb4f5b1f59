//! Messages on a connection.
//!
//! The sender announces a message (SET_UP: size, incast, senders) until its receiver says that it is ready for it,
//! and then posts it to its host. Each datagram about messages carries the number of the oldest one that its sender
//! still has open. The receiver forgets those before, and takes none that is more than a limit after it, so that what
//! it keeps for a peer is bounded, and a message that has arrived is never taken again.

use super::config::FIRST_UNNAMED;
use super::core::{Core, Event, Local, Number, PeerId, PostError, Reason};
use super::datagram::{Note, kind};
use super::peer::{Incoming, Outgoing, Phase, State, packet_at, wait};
use crate::exchange::{Leaving, Left, Notice, Post};
use crate::frame::MOST_MESSAGES;
use crate::setup::{Control, SetUp};
use crate::{Carried, Path};
use fanin_cc::{Kind, flags};
use fanin_endpoint::host::Recovery;
use fanin_units::{MessageId, NodeId, Time};
use std::sync::Arc;

/// The names of client and server in frames.
const CLIENT: NodeId = NodeId(0);
const SERVER: NodeId = NodeId(1);
/// Why a message is refused, in a note: later it may not be, or it is too long.
const LATER: u32 = 0;
const TOO_LONG: u32 = 1;
/// Messages are not numbered beyond this, so that a note has room for a reason.
const REASON: u32 = 24;

impl Core {
    /// Posts a message. `incast` has a number that all messages of an incast share, and the numbers of their senders.
    ///
    /// # Errors
    /// Where there is no such connection, or the message is impossible.
    pub fn post(
        &mut self,
        now: Time,
        to: PeerId,
        content: Arc<[u8]>,
        incast: Option<(u32, &[u16])>,
    ) -> Result<Number, PostError> {
        self.now = self.now.max(now);
        let too_many = |senders: &[u16]| senders.len() > 1024 || senders.iter().any(|host| *host >= FIRST_UNNAMED);
        if incast.is_some_and(|(_, senders)| too_many(senders)) {
            return Err(PostError::Senders);
        }
        let peer = self.peers.get_mut(&to.0).ok_or(PostError::NoPeer)?;
        if content.is_empty() {
            return Err(PostError::Empty);
        }
        let number = peer.next;
        if number >= MOST_MESSAGES {
            return Err(PostError::TooMany);
        }
        peer.next += 1;
        let incast = incast.map(|(group, all)| (group, all.iter().map(|host| u32::from(*host)).collect()));
        let of = Outgoing { local: MessageId::NONE, content, incast, phase: Phase::Waiting };
        peer.outgoing.insert(number, of);
        self.announce_again(to.0);
        Ok(number)
    }

    /// Bytes of messages that are posted and not known to have arrived.
    pub fn unsent(&self, to: PeerId) -> u64 {
        self.peers.get(&to.0).map_or(0, |peer| peer.outgoing.values().map(|of| of.content.len() as u64).sum())
    }

    fn new_local(&mut self, of: Local) -> MessageId {
        while self.locals.contains_key(&self.next_local) {
            self.next_local = (self.next_local + 1) % MOST_MESSAGES;
        }
        let local = self.next_local;
        self.next_local = (local + 1) % MOST_MESSAGES;
        self.locals.insert(local, of);
        MessageId(local)
    }

    /// A message leaves the host.
    pub(super) fn forget(&mut self, local: MessageId) {
        if self.locals.remove(&local.0).is_some() {
            self.station.forget(local);
        }
    }

    /// Announces the messages to a peer that are due for it.
    pub(super) fn announce_again(&mut self, id: u32) {
        let Some(peer) = self.peers.get(&id).filter(|peer| peer.state == State::Open) else { return };
        let (now, oldest) = (self.now, peer.oldest_outgoing());
        let (node, end) = (peer.node, oldest.saturating_add(self.config.limits.messages));
        let mut due = Vec::new();
        for (number, of) in peer.outgoing.range(..end) {
            match of.phase {
                Phase::Waiting => due.push((*number, 0)),
                Phase::Announced { tries, again } if again <= now => due.push((*number, tries)),
                Phase::Announced { again, .. } => self.due = self.due.min(again),
                Phase::Sending => {}
            }
        }
        for (number, tries) in due {
            if tries == 0 {
                self.add(id, number, node);
            }
            let again = now.saturating_add(wait(tries));
            self.due = self.due.min(again);
            let Some(of) = self.peers.get_mut(&id).and_then(|peer| peer.outgoing.get_mut(&number)) else { return };
            of.phase = Phase::Announced { tries: tries + 1, again };
            let Some(set_up) = self.station.set_up_of(of.local) else { return };
            let (src, dst) = self.ends(id, true);
            let set_up = SetUp { message: MessageId(number), src, dst, ..set_up };
            let note = Note { oldest, message: number, time: now.as_ps() };
            self.send(id, kind::SET_UP, false, |bytes| {
                note.write(bytes);
                Control::SetUp(set_up).encode(bytes);
            });
        }
    }

    /// Gives a message to the host, which posts it when its receiver is ready.
    fn add(&mut self, id: u32, number: Number, node: NodeId) {
        let local = self.new_local(Local { peer: id, number, outgoing: true });
        let Some(of) = self.peers.get_mut(&id).and_then(|peer| peer.outgoing.get_mut(&number)) else { return };
        of.local = local;
        let (group, senders) = match &of.incast {
            Some((group, senders)) => (*group, Some(senders.clone())),
            None => (u32::MAX, None),
        };
        let bytes = of.content.len() as u64;
        self.station.add(Post { message: local, dst: node.0, bytes, traffic: 0, group, name: 0, senders });
    }

    /// The names of this end and of the other in frames; the other way round for what comes in.
    fn ends(&self, id: u32, out: bool) -> (NodeId, NodeId) {
        let is_client = self.peers.get(&id).is_some_and(|peer| peer.is_client);
        if is_client == out { (CLIENT, SERVER) } else { (SERVER, CLIENT) }
    }

    /// A datagram about messages.
    pub(super) fn on_note(&mut self, id: u32, of: u8, note: Note, rest: &[u8]) {
        self.release(id, note.oldest);
        match of {
            kind::SET_UP => self.on_set_up(id, note, rest),
            kind::PING => self.answer(id, kind::PONG, note),
            kind::PONG => self.measured(id, note.time),
            kind::READY => {
                let found = self.peers.get_mut(&id).and_then(|peer| peer.outgoing.get_mut(&note.message));
                let Some(of) = found else { return };
                if let Phase::Announced { tries, .. } = of.phase {
                    of.phase = Phase::Sending;
                    let local = of.local;
                    if tries == 1 {
                        self.measured(id, note.time);
                    }
                    self.station.post_at(local, self.station.now().max(self.now));
                }
            }
            kind::REFUSED if note.message >> REASON == TOO_LONG => {
                let number = note.message & ((1 << REASON) - 1);
                let found = self.peers.get(&id).and_then(|peer| peer.outgoing.get(&number));
                if found.is_some_and(|of| matches!(of.phase, Phase::Announced { .. })) {
                    self.fail(id, number, Reason::TooLong);
                }
            }
            // Announced again later.
            kind::REFUSED => {}
            _ => self.counts.malformed += 1,
        }
    }

    fn answer(&mut self, id: u32, of: u8, note: Note) {
        let Some(peer) = self.peers.get(&id) else { return };
        let note = Note { oldest: peer.oldest_outgoing(), ..note };
        self.send(id, of, false, |bytes| note.write(bytes));
    }

    /// A peer has no message open before this one.
    fn release(&mut self, id: u32, oldest: Number) {
        let Some(peer) = self.peers.get_mut(&id).filter(|peer| oldest > peer.oldest) else { return };
        peer.oldest = oldest;
        let rest = peer.incoming.split_off(&oldest);
        for of in core::mem::replace(&mut peer.incoming, rest).into_values() {
            self.forget(of.local);
        }
    }

    fn fail(&mut self, id: u32, number: Number, reason: Reason) {
        let Some(of) = self.peers.get_mut(&id).and_then(|peer| peer.outgoing.remove(&number)) else { return };
        self.forget(of.local);
        self.events.push_back(Event::Failed { peer: PeerId(id), message: number, reason });
        self.announce_again(id);
    }

    /// A peer announces a message.
    fn on_set_up(&mut self, id: u32, note: Note, rest: &[u8]) {
        let (src, dst) = self.ends(id, false);
        let Some(Control::SetUp(set_up)) = Control::decode(rest) else {
            self.counts.malformed += 1;
            return;
        };
        let right = (set_up.src, set_up.dst, set_up.traffic, set_up.first) == (src, dst, 0, None);
        let number = note.message;
        let hosts = set_up.senders.iter().flat_map(|all| all.iter());
        if !right || set_up.message.0 != number || number >= MOST_MESSAGES || set_up.bytes == 0 {
            self.counts.malformed += 1;
            return;
        }
        let (own, limits) = (self.station_node(), self.config.limits);
        let Some(peer) = self.peers.get(&id).filter(|peer| number >= peer.oldest) else {
            self.counts.out_of_place += 1;
            return;
        };
        if peer.incoming.contains_key(&number) {
            // The answer was lost.
            return self.answer(id, kind::READY, note);
        }
        let many = set_up.senders.as_ref().map_or(0, |all| all.len());
        let known = hosts.clone().all(|host| *host < u32::from(FIRST_UNNAMED));
        if set_up.bytes > limits.message || many > limits.senders || !known {
            return self.answer(id, kind::REFUSED, Note { message: TOO_LONG << REASON | number, ..note });
        }
        let room = limits.unfinished.saturating_sub(peer.unfinished());
        let some = peer.incoming.values().any(|of| !of.done);
        if number - peer.oldest >= limits.messages || (set_up.bytes > room && some) {
            return self.answer(id, kind::REFUSED, Note { message: LATER << REASON | number, ..note });
        }
        let (node, bytes) = (peer.node, set_up.bytes);
        let local = self.new_local(Local { peer: id, number, outgoing: false });
        let (first, payload) = self.config.payloads(bytes, many);
        self.station.on_control(Control::SetUp(SetUp {
            message: local,
            src: node,
            dst: own,
            name: 0,
            hops: 1,
            ..set_up
        }));
        if let Some(peer) = self.peers.get_mut(&id) {
            peer.incoming.insert(number, Incoming { local, bytes, first, payload, content: Vec::new(), done: false });
        }
        self.answer(id, kind::READY, note);
    }

    fn station_node(&self) -> NodeId {
        NodeId(u32::from(self.config.host.unwrap_or(super::config::UNNAMED - 1)))
    }

    /// A packet.
    pub(super) fn on_frame(&mut self, id: u32, ce: bool, bytes: &[u8]) {
        let mut scratch = core::mem::take(&mut self.scratch);
        let decoded = Carried::decode_with(&self.formats, bytes, &mut scratch);
        match decoded {
            Some((carried, payload)) if self.takes(id, ce, carried, payload).is_some() => {}
            Some(_) => self.counts.out_of_place += 1,
            None => self.counts.malformed += 1,
        }
        self.scratch = scratch;
    }

    /// Gives a packet to the host, if it is one of an open message and at its place.
    fn takes(&mut self, id: u32, ce: bool, mut carried: Carried, payload: &[u8]) -> Option<()> {
        let (src, dst) = self.ends(id, false);
        let own = self.station_node();
        let telemetry = self.config.scheme.header_overhead().telemetry;
        let head = &mut carried.head;
        let number = head.flow.0;
        let data = matches!(head.kind, Kind::Data | Kind::Request);
        let peer = self.peers.get_mut(&id)?;
        // The sender of a flow has the telemetry of its data, and the other way round.
        let flagged = head.has(flags::INT);
        let right = (head.src, head.dst, carried.scheme) == (src, dst, 0)
            && !head.has(flags::TCP)
            && match head.kind {
                Kind::Data => flagged == telemetry,
                Kind::Request => !flagged && !telemetry,
                Kind::Ack | Kind::Nack => !flagged || telemetry,
                Kind::Cnp | Kind::Credit => !flagged,
                Kind::Pause | Kind::FlowControl | Kind::Trimmed => false,
            };
        if !right {
            return None;
        }
        let local = if data {
            let of = peer.incoming.get_mut(&number)?;
            if head.kind == Kind::Data {
                let len = packet_at(head.seq, of.bytes, of.first, of.payload)?;
                let ends = (head.seq == 0, head.seq + len == of.bytes);
                if payload.len() as u64 != len || (head.has(flags::START), head.has(flags::END)) != ends {
                    return None;
                }
                let expected = self.station.delivered(of.local);
                keep(of, head.seq, expected, payload, (self.config.endpoint.recovery, self.config.limits.ahead))?;
            } else if head.seq > of.bytes {
                return None;
            }
            of.local
        } else {
            let of = peer.outgoing.get(&number).filter(|of| of.phase == Phase::Sending)?;
            let (bytes, ahead) = (of.content.len() as u64, u64::from(head.cc_tag));
            let many = of.incast.as_ref().map_or(0, |(_, all)| all.len());
            if matches!(head.kind, Kind::Ack | Kind::Nack) {
                let (first, payload) = self.config.payloads(bytes, many);
                let is_place = |at: u64| at == bytes || packet_at(at, bytes, first, payload).is_some();
                let nack = head.kind == Kind::Nack;
                // No RTT is negative.
                if !is_place(head.seq)
                    || (nack && !head.seq.checked_add(ahead).is_some_and(is_place))
                    || head.sent_at > self.now.max(self.station.now())
                {
                    return None;
                }
            }
            of.local
        };
        if ce {
            // RFC 6040: the mark outside is that of the packet.
            head.flags |= flags::CE;
            self.counts.marked += 1;
        }
        (head.flow, head.src, head.dst) = (local, peer.node, own);
        (head.class, head.hops) = (if head.kind == Kind::Data { 1 } else { 0 }, 0);
        head.wire = head.wire.min(u16::try_from(self.config.largest()).unwrap_or(u16::MAX));
        (carried.path, carried.deflections) = (Path { key: 0, route: 0 }, 0);
        // A source has one event at an instant.
        let at = self.now.max(self.station.now().saturating_add(Time::from_ps(1)));
        self.station.on_packet(Self::far_port(), at, carried);
        self.run_station();
        Some(())
    }

    /// Lets the host act until now, or just behind the last arrival, and takes what it sends and tells.
    pub(super) fn run_station(&mut self) {
        let until = self.now.max(self.station.now().saturating_add(Time::from_ps(1)));
        let after = until.saturating_add(Time::from_ps(1));
        while self.station.step(after) {}
        self.station.advance_to(until);
        for left in self.station.take_left() {
            match left {
                Left::Packet(of) => self.send_packet(*of),
                Left::Control(_, Control::TearDown(of)) => {
                    let of = self.locals.get(&of.message.0).copied().filter(|of| of.outgoing);
                    if let Some(of) = of {
                        self.fail(of.peer, of.number, Reason::GivenUp);
                    }
                }
                // Its receiver has told that it is ready.
                Left::Control(_, Control::SetUp(_)) => {}
            }
        }
        for notice in self.station.take_notices() {
            match notice {
                Notice::Arrived(local) => self.on_arrived(local),
                Notice::Acked(local) => self.on_acked(local),
            }
        }
    }

    fn on_arrived(&mut self, local: MessageId) {
        let Some(of) = self.locals.get(&local.0).copied().filter(|of| !of.outgoing) else { return };
        let found = self.peers.get_mut(&of.peer).and_then(|peer| peer.incoming.get_mut(&of.number));
        if let Some(message) = found {
            message.done = true;
            let content = core::mem::take(&mut message.content);
            debug_assert_eq!(content.len() as u64, message.bytes, "all of a message has arrived");
            self.events.push_back(Event::Arrived { peer: PeerId(of.peer), message: of.number, content });
        }
    }

    fn on_acked(&mut self, local: MessageId) {
        let Some(of) = self.locals.get(&local.0).copied().filter(|of| of.outgoing) else { return };
        if self.peers.get_mut(&of.peer).and_then(|peer| peer.outgoing.remove(&of.number)).is_some() {
            self.forget(local);
            self.events.push_back(Event::Sent { peer: PeerId(of.peer), message: of.number });
            self.announce_again(of.peer);
        }
    }

    /// A packet leaves the host. One of a message that is gone is lost.
    fn send_packet(&mut self, leaving: Leaving) {
        let Leaving { mut carried, incast, .. } = leaving;
        let head = &mut carried.head;
        let data = matches!(head.kind, Kind::Data | Kind::Request);
        let Some(of) = self.locals.get(&head.flow.0).copied().filter(|of| of.outgoing == data) else { return };
        let ends = self.ends(of.peer, true);
        let content = self.peers.get(&of.peer).and_then(|peer| peer.outgoing.get(&of.number)).map(|of| &of.content);
        let (content, ect) = (content.cloned(), head.has(flags::ECT));
        let (from, len) = (usize::try_from(head.seq).unwrap_or(usize::MAX), usize::from(head.payload));
        let payload = match &content {
            Some(content) if head.kind == Kind::Data => content.get(from..from.saturating_add(len)),
            _ => Some(&[][..]),
        };
        let Some(payload) = payload else { return };
        (head.flow, head.src, head.dst) = (MessageId(of.number), ends.0, ends.1);
        let incast = incast.as_ref().map(|(incast, senders)| (*incast, &senders[..]));
        let mut body = Vec::new();
        if carried.encode_with(&self.formats, ends, incast, payload, &mut body).is_ok() {
            self.send(of.peer, kind::FRAME, ect, |bytes| bytes.extend_from_slice(&body));
        }
    }
}

/// Keeps the payload of a packet that the host will take, if it does. `None` where it is beyond the window.
fn keep(
    of: &mut Incoming,
    offset: u64,
    expected: u64,
    payload: &[u8],
    (recovery, ahead): (Recovery, u64),
) -> Option<()> {
    let end = offset + payload.len() as u64;
    let (behind, over) = match recovery {
        Recovery::GoBackN => (0, false),
        // It may begin again.
        Recovery::GoBack0 => (0, true),
        Recovery::Selective(_) => (ahead, false),
    };
    if offset > expected {
        if behind == 0 {
            // The host answers that it is missing something, and drops it.
            return Some(());
        }
        if end > expected.saturating_add(behind) {
            return None;
        }
    }
    if of.done || (end <= expected && !over) {
        return Some(());
    }
    let (from, to) = (usize::try_from(offset).ok()?, usize::try_from(end).ok()?);
    if of.content.len() < to {
        of.content.resize(to, 0);
    }
    of.content[from..to].copy_from_slice(payload);
    Some(())
}
