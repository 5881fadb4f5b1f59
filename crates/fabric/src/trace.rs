//! Messages that are traced: every hop of their packets, and what kept these in their host before.
//!
//! Why a message does not send follows from what its host knows: the state of its sender, of its connection and of its port.
//! That changes only with an event at the host, and otherwise only when a packet has left or a pacer is due, both of which
//! are known ahead. So a run that traces messages stops after every event, writes down what held from the last look to this
//! one, and looks again; a run that traces none has no part in it.

use crate::host::NO_SLOT;
use crate::packet::PacketIx;
use crate::results::{Cause, Hop, HostWait};
use crate::sim::{KIND_SHIFT, MESSAGE, NUMBER, Simulation, kind};
use fanin_cc::{Header, Kind, flags};
use fanin_endpoint::tcp::State;
use fanin_engine::EventQueue;
use fanin_units::{MessageId, NodeId, PortId, Rate, Time};
use std::collections::BTreeMap;

/// What is known of the traced messages at their hosts.
#[derive(Default)]
pub(crate) struct Watches {
    /// In the order in which they were asked for.
    all: Vec<Watch>,
    /// Those that may still send, by host.
    open: BTreeMap<NodeId, Vec<usize>>,
    /// Those that were asked for before they were loaded.
    unknown: Vec<usize>,
    /// Where traced messages stand in TCP streams, by the connection and the host that sends.
    streams: BTreeMap<(MessageId, NodeId), Vec<Stretch>>,
    waits: Vec<HostWait>,
    left_out: u64,
    /// Whether the run stops after each event, which is too often for what else is done as it stops.
    pub stepping: bool,
}

/// A traced message at its host.
struct Watch {
    message: u32,
    /// What is written down goes so far.
    to: Time,
    /// What holds since then.
    standing: Standing,
    /// Until when a packet of its sender is on the wire, and whether it is one of this message.
    on_wire: (Time, bool),
    /// Its last row.
    last: Option<usize>,
}

/// What keeps a message from sending.
#[derive(Clone, Copy)]
enum Standing {
    /// It is not posted yet, or has been acknowledged whole.
    Away,
    /// This.
    Held(Cause),
    /// Its pacer until then, and then other packets at its port.
    Due(Time),
}

/// A message in a TCP stream.
#[derive(Clone, Copy)]
struct Stretch {
    message: u32,
    from: u64,
    to: u64,
}

impl Watches {
    /// Writes down what held until now.
    fn settle(&mut self, at: usize, now: Time) {
        let watch = &mut self.all[at];
        let mut from = core::mem::replace(&mut watch.to, now);
        let (standing, (wire_to, own)) = (watch.standing, watch.on_wire);
        if matches!(standing, Standing::Away) {
            return;
        }
        let sent = wire_to.clamp(from, now.max(from));
        if !own {
            self.held(at, Cause::Earlier, from, sent);
        }
        from = sent;
        match standing {
            Standing::Away => {}
            Standing::Held(cause) => self.held(at, cause, from, now),
            Standing::Due(due) => {
                let due = due.clamp(from, now.max(from));
                self.held(at, Cause::Pacing, from, due);
                self.held(at, Cause::Nic, due, now);
            }
        }
    }

    fn held(&mut self, at: usize, cause: Cause, begin: Time, end: Time) {
        if end <= begin {
            return;
        }
        let watch = &mut self.all[at];
        if let Some(last) = watch.last.map(|last| &mut self.waits[last])
            && (last.cause, last.end) == (cause, begin)
        {
            last.end = end;
        } else if self.waits.len() < HostWait::KEPT {
            watch.last = Some(self.waits.len());
            self.waits.push(HostWait { message: watch.message, cause, begin, end });
        } else {
            self.left_out += 1;
        }
    }
}

impl<Q: EventQueue> Simulation<Q> {
    /// Writes down each hop of a message's data packets from now on, and what it waits for at its host.
    pub fn trace(&mut self, message: u32) {
        self.watches_links = true;
        let Err(at) = self.traced.binary_search(&MessageId(message)) else { return };
        self.traced.insert(at, MessageId(message));
        let watches = &mut self.watches;
        watches.unknown.push(watches.all.len());
        watches.all.push(Watch {
            message,
            to: self.now,
            standing: Standing::Away,
            on_wire: (Time::ZERO, true),
            last: None,
        });
    }

    /// The hops that were written down, in order of time: the first [`Hop::KEPT`].
    pub fn hops(&self) -> &[Hop] {
        &self.hops
    }

    /// How many more there were.
    pub fn hops_left_out(&self) -> u64 {
        self.hops_left_out
    }

    /// What traced messages waited for at their hosts: the first [`HostWait::KEPT`], those of a message in order of time.
    pub fn host_waits(&self) -> &[HostWait] {
        &self.watches.waits
    }

    /// How many more there were.
    pub fn host_waits_left_out(&self) -> u64 {
        self.watches.left_out
    }

    /// Whether messages are traced, or will be.
    pub(crate) fn traces(&self) -> bool {
        !self.traced.is_empty() || self.followed.values().any(|followed| followed.trace)
    }

    /// As [`Simulation::advance`], with a look at the senders of traced messages after each event.
    pub(crate) fn advance_and_look(&mut self, until: Time, budget: u64) -> bool {
        self.watches.stepping = true;
        let mut arrived = false;
        for _ in 0..budget.max(1) {
            arrived = self.advance(until, 1);
            if arrived {
                break;
            }
            self.look();
        }
        self.watches.stepping = false;
        if !arrived {
            self.pack_messages();
        }
        arrived
    }

    /// Looks at the host of the event that ran last.
    fn look(&mut self) {
        if self.watches.open.is_empty() && self.watches.unknown.is_empty() {
            return;
        }
        let number = self.cause & NUMBER;
        match self.cause >> KIND_SHIFT {
            kind::ARRIVE => self.look_at_host(self.far_ends[number as usize].node),
            kind::PORT => self.look_at_host(self.ports[number as usize].node),
            kind::HOST => self.look_at_host(NodeId(number)),
            kind::RECEIVER => self.look_at_host(NodeId(number % self.hosts.len() as u32)),
            kind::SWITCH => {}
            kind::LINK => {
                let hosts: Vec<NodeId> = self.watches.open.keys().copied().collect();
                hosts.into_iter().for_each(|host| self.look_at_host(host));
            }
            // A message is posted, or one of its sender's timers is due, which may be at either end of a connection.
            _ => {
                let record = &self.records[(number & MESSAGE) as usize];
                let (src, dst) = (NodeId(record.src), NodeId(record.dst));
                self.look_at_host(src);
                self.look_at_host(dst);
            }
        }
    }

    /// Messages that were asked for before they were loaded may be known by now.
    fn find_hosts(&mut self) {
        for at in core::mem::take(&mut self.watches.unknown) {
            let message = self.watches.all[at].message;
            if (message as usize) < self.records.len() {
                let host = NodeId(self.records[message as usize].src);
                self.watches.open.entry(host).or_default().push(at);
            } else {
                self.watches.unknown.push(at);
            }
        }
    }

    fn look_at_host(&mut self, host: NodeId) {
        if !self.watches.unknown.is_empty() {
            self.find_hosts();
        }
        let Some(mut open) = self.watches.open.remove(&host) else { return };
        open.retain(|&at| {
            self.watches.settle(at, self.now);
            let message = self.watches.all[at].message;
            let standing = self.standing(message);
            self.watches.all[at].standing = standing;
            // One that is acknowledged sends no more.
            self.records[message as usize].acked == Time::NEVER
        });
        if !open.is_empty() {
            self.watches.open.insert(host, open);
        }
    }

    /// What keeps a message from sending now: the first that holds, in the order of [`Cause`].
    fn standing(&self, message: u32) -> Standing {
        let record = &self.records[message as usize];
        if record.start == Time::NEVER || record.acked != Time::NEVER {
            return Standing::Away;
        }
        let traffic = &self.traffics[record.traffic as usize].config;
        let slot = self.slots[message as usize].send;
        if slot == NO_SLOT {
            let busy = self.now < record.start.saturating_add(traffic.overhead);
            return Standing::Held(if busy { Cause::Overhead } else { Cause::Link });
        }
        let flow = &self.senders[slot as usize];
        let port = &self.ports[flow.port.ix()];
        if let Some(class) = self.class_behind_pacer(flow.port, message) {
            return Standing::Held(match port.paused & 1 << class {
                _ if !port.up => Cause::Link,
                0 => Cause::Nic,
                _ => Cause::Pfc,
            });
        }
        if flow.tcp == NO_SLOT {
            if flow.half.comes_later(MessageId(message)) {
                return Standing::Held(Cause::Earlier);
            }
            if !flow.half.has_data() || flow.half.next_message() != MessageId(message) {
                return Standing::Held(Cause::Acks);
            }
        } else {
            let end = &self.tcp[flow.tcp as usize];
            if matches!(end.connection.state(), State::Listen | State::SynSent | State::SynReceived) {
                return Standing::Held(Cause::Handshake);
            }
            match (end.bounds(message), end.connection.next_offset()) {
                (Some((from, _)), Some(next)) if next < from => return Standing::Held(Cause::Earlier),
                (Some((_, to)), Some(next)) if next < to => {}
                _ => return Standing::Held(Cause::Acks),
            }
        }
        if !port.up {
            return Standing::Held(Cause::Link);
        }
        if port.paused & 1 << flow.class != 0 {
            return Standing::Held(Cause::Pfc);
        }
        if !self.can_send(flow) {
            return Standing::Held(if flow.pacer.rate() == Rate::ZERO { Cause::Pacing } else { Cause::Window });
        }
        Standing::Due(flow.pacer.next_at())
    }

    /// The class in which a packet of a message stands in the queue behind the pacers, where hosts have one.
    fn class_behind_pacer(&self, port: PortId, message: u32) -> Option<usize> {
        self.config.host_fifo?;
        (1..self.classes).find(|class| {
            let mut queued = self.queues[port.ix() * self.classes + class].iter(&self.shelves);
            queued.any(|queued| self.is_of(&self.packets[queued.ix()].head, message))
        })
    }

    /// Whether a data packet at the host that sends it holds bytes of a message.
    fn is_of(&self, head: &Header, message: u32) -> bool {
        if head.kind != Kind::Data {
            return false;
        }
        if !head.has(flags::TCP) {
            return head.flow.0 == message;
        }
        let Some(slot) = self.sender_of(head) else { return false };
        let bounds = self.tcp.get(self.senders[slot as usize].tcp as usize).and_then(|end| end.bounds(message));
        self.slots[message as usize].send == slot && bounds.is_some_and(|bounds| overlaps(head, bounds))
    }

    /// The sender that a data packet left by, if that still exists.
    fn sender_of(&self, head: &Header) -> Option<u32> {
        let slots = &self.slots[head.flow.ix()];
        let opener = self.records[head.flow.ix()].src == head.src.0;
        let slot = if opener { slots.send } else { slots.recv };
        (slot != NO_SLOT).then_some(slot)
    }

    /// A host starts to send a packet.
    #[cold]
    pub(crate) fn note_departure(&mut self, port: PortId, ix: PacketIx) {
        let Header { kind, src: host, wire, .. } = self.packets[ix].head;
        if kind != Kind::Data {
            return;
        }
        let left = self.now + self.ports[port.ix()].tx_time(wire as u32);
        self.find_hosts();
        for at in self.watches.open.get(&host).cloned().unwrap_or_default() {
            self.note_on_wire(at, ix, left);
        }
        let before = self.hops.len();
        self.note_hop(Some(port), host, ix);
        // What waits there now waits behind it.
        self.hops[before..].iter_mut().for_each(|hop| hop.queued = 0);
    }

    /// A packet that starts to leave a host may be one of a traced message, or of an earlier one of its connection.
    fn note_on_wire(&mut self, at: usize, ix: PacketIx, left: Time) {
        let head = &self.packets[ix].head;
        let message = self.watches.all[at].message;
        let slot = self.slots[message as usize].send;
        if slot == NO_SLOT || self.sender_of(head) != Some(slot) && head.flow.0 != message {
            return;
        }
        let own = self.is_of(head, message);
        if own && head.has(flags::TCP) {
            let bounds = self.tcp[self.senders[slot as usize].tcp as usize].bounds(message);
            let known = self.watches.streams.entry((head.flow, head.src)).or_default();
            if let Some((from, to)) = bounds
                && known.iter().all(|stretch| stretch.message != message)
            {
                known.push(Stretch { message, from, to });
            }
        }
        self.watches.settle(at, self.now);
        self.watches.all[at].on_wire = (left, own);
    }

    /// A packet came by a node, or leaves its host.
    #[cold]
    pub(crate) fn note_hop(&mut self, at: Option<PortId>, node: NodeId, ix: PacketIx) {
        let packet = &self.packets[ix];
        let head = &packet.head;
        if head.kind != Kind::Data {
            return;
        }
        let of: Vec<u32> = if head.has(flags::TCP) {
            let known = self.watches.streams.get(&(head.flow, head.src));
            let of = known.into_iter().flatten().filter(|known| overlaps(head, (known.from, known.to)));
            of.map(|known| known.message).collect()
        } else {
            self.traced.binary_search(&head.flow).is_ok().then_some(head.flow.0).into_iter().collect()
        };
        let queued = at.map_or(0, |port| self.queues[port.ix() * self.classes + head.class as usize].bytes);
        for message in of {
            if self.hops.len() >= Hop::KEPT {
                self.hops_left_out += 1;
                continue;
            }
            self.hops.push(Hop {
                time: self.now,
                message,
                seq: head.seq,
                attempt: head.attempt,
                wire: head.wire,
                node,
                port: at,
                queued,
                tokens: head.tokens,
                lane: head.lane,
                deflected: packet.onward.deflections(),
            });
        }
    }
}

/// Whether a TCP segment holds bytes of a stretch of its stream. Its numbers of bytes start behind the SYN's.
fn overlaps(head: &Header, (from, to): (u64, u64)) -> bool {
    let first = head.seq.saturating_sub(1);
    first < to && first + head.payload as u64 > from
}
