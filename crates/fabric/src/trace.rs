//! Traced messages: why their packets waited at their host.
//!
//! The reason why a message does not send follows from the state of its sender, of its connection and of its port. That
//! state changes only with an event at the host, or when a packet has left or a pacer is due, and both of these times
//! are known in advance. So a run that traces messages stops after every event, records the reason since the previous
//! one, and determines the current one; a run that traces none has no cost. The hops themselves are recorded by the
//! probes.

use crate::clock::{ANSWERS, MESSAGE, kind, kind_of, number_of};
use crate::path::FlowPath;
use crate::port::PortIx;
use crate::probes::{Departure, overlaps};
use crate::results::{Cause, HostWait};
use crate::world::World;
use fanin_cc::{Header, Kind, flags};
use fanin_endpoint::host::{Carrier, Hosts, NO_SLOT};
use fanin_engine::EventQueue;
use fanin_units::{MessageId, NodeId, Rate, Time};
use std::collections::BTreeMap;

/// State of the traced messages at their hosts.
#[derive(Default)]
pub(crate) struct Tracer {
    /// In the order in which they were requested.
    all: Vec<Traced>,
    /// Those that may still send, by host.
    open: BTreeMap<NodeId, Vec<usize>>,
    /// Those that were requested before they were loaded.
    unknown: Vec<usize>,
    /// Messages that were loaded when these were looked up last.
    loaded: usize,
    waits: Vec<HostWait>,
    left_out: u64,
    /// Whether the run stops after each event, which is too often for other work done at a stop.
    pub stepping: bool,
}

/// A traced message at its host.
struct Traced {
    message: u32,
    /// It is recorded up to this time.
    to: Time,
    /// The reason since then.
    standing: Standing,
    /// Until when a packet of its sender is on the wire, and whether it is one of this message.
    on_wire: (Time, bool),
    /// Its last row.
    last: Option<usize>,
}

/// Why a message does not send.
#[derive(Clone, Copy)]
enum Standing {
    /// It is not posted yet, or is completely acknowledged.
    Away,
    /// This cause.
    Held(Cause),
    /// Its pacer until this time, and then other packets at its port.
    Due(Time),
}

impl Tracer {
    /// Follows a message from now on.
    pub fn add(&mut self, message: u32, now: Time) {
        self.unknown.push(self.all.len());
        self.loaded = 0;
        self.all.push(Traced { message, to: now, standing: Standing::Away, on_wire: (Time::ZERO, true), last: None });
    }

    /// Waits of traced messages at their hosts: the first [`HostWait::KEPT`], in order of time for each message; and
    /// the number of waits not recorded.
    pub fn waits(&self) -> (&[HostWait], u64) {
        (&self.waits, self.left_out)
    }

    /// Records the changes of the last event at its host.
    pub fn after_event<Q: EventQueue>(&mut self, world: &mut World<Q>, hosts: &Hosts<FlowPath>) {
        if !self.unknown.is_empty() && world.messages.len() > self.loaded {
            self.loaded = world.messages.len();
            self.find_hosts(world);
        }
        for departure in world.net.core_mut().probes.take_departures() {
            self.note_departure(world, hosts, &departure);
        }
        if self.open.is_empty() {
            return;
        }
        let cause = world.net.core().clock.cause();
        let number = number_of(cause);
        let config = world.net.config();
        match kind_of(cause) {
            kind::ARRIVE => {
                let node = world.net.plan().far_ends[number as usize].node;
                self.update_host(world, hosts, node);
            }
            kind::PORT => {
                let link = &config.graph.links[number as usize / 2];
                let node = if number.is_multiple_of(2) { link.a } else { link.b };
                self.update_host(world, hosts, node);
            }
            kind::HOST => self.update_host(world, hosts, NodeId(number & !ANSWERS)),
            kind::RECEIVER => {
                let host = NodeId(number % config.graph.hosts);
                self.update_host(world, hosts, host);
            }
            kind::SWITCH => {}
            kind::LINK => {
                let of: Vec<NodeId> = self.open.keys().copied().collect();
                of.into_iter().for_each(|host| self.update_host(world, hosts, host));
            }
            // A message is posted, or one of its sender's timers is due, which may be at either end of a connection.
            _ => {
                let record = &world.messages.records()[(number & MESSAGE) as usize];
                let (src, dst) = (NodeId(record.src), NodeId(record.dst));
                self.update_host(world, hosts, src);
                self.update_host(world, hosts, dst);
            }
        }
    }

    /// Messages requested before they were loaded may have been loaded by now.
    fn find_hosts<Q: EventQueue>(&mut self, world: &World<Q>) {
        for at in core::mem::take(&mut self.unknown) {
            let message = self.all[at].message as usize;
            if message < world.messages.len() {
                let host = NodeId(world.messages.records()[message].src);
                self.open.entry(host).or_default().push(at);
            } else {
                self.unknown.push(at);
            }
        }
    }

    fn update_host<Q: EventQueue>(&mut self, world: &World<Q>, hosts: &Hosts<FlowPath>, host: NodeId) {
        let Some(mut open) = self.open.remove(&host) else { return };
        open.retain(|&at| {
            self.settle(at, world.net.core().clock.now());
            let message = MessageId(self.all[at].message);
            self.all[at].standing = standing(world, hosts, message);
            // An acknowledged message sends no more.
            world.messages.records()[message.ix()].acked == Time::NEVER
        });
        if !open.is_empty() {
            self.open.insert(host, open);
        }
    }

    /// A host started to send a packet: it may belong to a traced message, or to an earlier one of its connection.
    fn note_departure<Q: EventQueue>(&mut self, world: &mut World<Q>, hosts: &Hosts<FlowPath>, of: &Departure) {
        let now = world.net.core().clock.now();
        let head = &of.head;
        for at in self.open.get(&head.src).cloned().unwrap_or_default() {
            let message = MessageId(self.all[at].message);
            let slot = world.messages.state(message).ends.send;
            if slot == NO_SLOT || sender_of(world, head) != Some(slot) && head.flow != message {
                continue;
            }
            let own = is_of(world, hosts, head, message);
            if own
                && let Some(bounds) = hosts.sender(slot).and_then(|s| s.as_tcp()).and_then(|end| end.bounds(message.0))
            {
                world.net.core_mut().probes.trace_stream(head.flow, head.src, message.0, bounds);
            }
            self.settle(at, now);
            self.all[at].on_wire = (of.left, own);
        }
        // Packets queued at the port now wait behind it.
        world.net.core_mut().probes.add_hop(now, head.src, Some((of.port, 0)), head, of.deflections);
    }

    /// Records the reason until now.
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

/// Why a port does not send a class that it otherwise could.
fn stopped<Q: EventQueue>(world: &World<Q>) -> Cause {
    if world.net.egress().has_credits() { Cause::Credits } else { Cause::Pfc }
}

/// Why a message does not send now: the first cause that holds, in the order of [`Cause`].
fn standing<Q: EventQueue>(world: &World<Q>, hosts: &Hosts<FlowPath>, message: MessageId) -> Standing {
    let now = world.net.core().clock.now();
    let record = &world.messages.records()[message.ix()];
    if record.start == Time::NEVER || record.acked != Time::NEVER {
        return Standing::Away;
    }
    let traffic = &world.messages.traffics()[record.traffic as usize].config;
    let Some(sender) = hosts.sender(world.messages.state(message).ends.send) else {
        let busy = now < record.start.saturating_add(traffic.overhead);
        return Standing::Held(if busy { Cause::Overhead } else { Cause::Link });
    };
    let out = PortIx(hosts.port_of(sender.nic()));
    let port = world.net.egress().port(out);
    if let Some(class) = class_behind_pacer(world, hosts, out, message) {
        return Standing::Held(match port.paused & 1 << class {
            _ if !port.up() => Cause::Link,
            0 => Cause::Nic,
            _ => stopped(world),
        });
    }
    match sender.carrier() {
        Carrier::Rdma(_) | Carrier::Selective(_) => {
            if sender.as_rdma().is_some_and(|half| half.comes_later(message)) {
                return Standing::Held(Cause::Earlier);
            }
            if !sender.has_data() || sender.next_message() != message {
                return Standing::Held(Cause::Acks);
            }
        }
        Carrier::Tcp(end) => {
            if end.is_opening() {
                return Standing::Held(Cause::Handshake);
            }
            match (end.bounds(message.0), end.next_offset()) {
                (Some((from, _)), Some(next)) if next < from => return Standing::Held(Cause::Earlier),
                (Some((_, to)), Some(next)) if next < to => {}
                _ => return Standing::Held(Cause::Acks),
            }
        }
    }
    if !port.up() {
        return Standing::Held(Cause::Link);
    }
    if port.paused & 1 << sender.class() != 0 {
        return Standing::Held(stopped(world));
    }
    if !sender.can_send(now) {
        return Standing::Held(if sender.pacer().rate() == Rate::ZERO { Cause::Pacing } else { Cause::Window });
    }
    Standing::Due(sender.pacer().next_at())
}

/// The class of a message's packets in the queue behind the pacers, where hosts have one.
fn class_behind_pacer<Q: EventQueue>(
    world: &World<Q>,
    hosts: &Hosts<FlowPath>,
    out: PortIx,
    message: MessageId,
) -> Option<usize> {
    world.net.config().host_fifo?;
    let is_own = |ix: u32| is_of(world, hosts, &world.net.core().packets[ix].head, message);
    (1..world.net.egress().classes())
        .find(|class| world.net.egress().waiting(out, *class).any(|queued| is_own(queued.ix())))
}

/// Whether a data packet at the host that sends it holds bytes of a message.
fn is_of<Q: EventQueue>(world: &World<Q>, hosts: &Hosts<FlowPath>, head: &Header, message: MessageId) -> bool {
    if head.kind != Kind::Data {
        return false;
    }
    if !head.has(flags::TCP) {
        return head.flow == message;
    }
    let Some(slot) = sender_of(world, head) else { return false };
    let bounds = hosts.sender(slot).and_then(|sender| sender.as_tcp()).and_then(|end| end.bounds(message.0));
    world.messages.state(message).ends.send == slot && bounds.is_some_and(|bounds| overlaps(head, bounds))
}

/// The sender that a data packet left by, if that still exists.
fn sender_of<Q: EventQueue>(world: &World<Q>, head: &Header) -> Option<u32> {
    let ends = world.messages.state(head.flow).ends;
    let opener = world.messages.records()[head.flow.ix()].src == head.src.0;
    let slot = if opener { ends.send } else { ends.recv };
    (slot != NO_SLOT).then_some(slot)
}
