//! The surroundings of the host code: its state. `io.rs` is its interface.

use crate::directory::Directory;
use crate::exchange::{Leaving, Left, Notice, Totals};
use crate::frame::{Carried, Formats};
use crate::messages::{Entry, Incident, Messages, Packet, Packets, What};
use crate::port::Port;
use crate::setup::{Control, SetUp};
use fanin_cc::{Instance, Kind, Telemetry};
use fanin_endpoint::host::{HostFifo, PacketSizes, Traffic, TrafficCounters, announced_incast};
use fanin_engine::clock::{SHAPER, kind, source};
use fanin_engine::{CalendarQueue, Clock};
use fanin_units::{MessageId, NodeId, PortId, Time};

/// What stays as it was configured.
pub(crate) struct Setting {
    pub node: NodeId,
    pub host_count: u32,
    pub cpu_word: u64,
    pub token_word: u64,
    pub sizes: PacketSizes,
    pub host_fifo: Option<HostFifo>,
    pub largest: u32,
    pub traffics: Vec<Traffic>,
    pub formats: Formats,
}

/// The surroundings of the host code.
pub(crate) struct World<D> {
    pub directory: D,
    pub clock: Clock<CalendarQueue>,
    pub setting: Setting,
    pub counters: Vec<TrafficCounters>,
    pub schemes: Vec<Instance>,
    pub messages: Messages,
    pub packets: Packets,
    pub ports: Vec<Port>,
    pub notices: Vec<Notice>,
    pub out: Vec<Left>,
    pub incidents: Vec<Incident>,
    /// Drops, and pauses.
    pub incidents_seen: [u64; 2],
    pub totals: Totals,
    /// Packets dropped, by scheme.
    pub dropped: Vec<u64>,
}

impl<D: Directory> World<D> {
    /// Schedules a step of a message's start.
    pub fn schedule_start(&mut self, message: MessageId, step: u32, at: Time) {
        self.clock.schedule(at, source(kind::START, message.0), step);
    }

    /// A packet is lost at this host.
    pub fn lose(&mut self, ix: u32) {
        let Packet { head, scheme, .. } = *self.packets.at(ix);
        self.directory.note(self.clock.now(), self.setting.node, &head, true);
        self.totals.dropped += u64::from(head.wire);
        if head.kind != Kind::Pause && head.kind != Kind::Credit {
            self.dropped[usize::from(scheme)] += 1;
        }
        self.packets.remove(ix);
    }

    pub fn incident(&mut self, port: PortId, what: What) {
        let seen = &mut self.incidents_seen[usize::from(matches!(what, What::Paused(_)))];
        *seen += 1;
        if *seen <= Incident::KEPT {
            self.incidents.push(Incident { time: self.clock.now(), port, what, cause: self.clock.cause() });
        }
    }

    /// A pause frame has arrived at a port.
    pub fn pauses(&mut self, port: usize, ix: u32, classes: u32) {
        let now = self.clock.now();
        self.totals.delivered += u64::from(self.packets.at(ix).head.wire);
        self.packets.remove(ix);
        let (changed, paused) = ((classes >> 8) as u8, classes as u8);
        for class in (1..self.ports[port].classes()).filter(|class| changed & 1 << class != 0) {
            let pauses = paused & 1 << class != 0;
            if pauses {
                self.incident(self.ports[port].link.port, What::Paused(class));
            }
            self.ports[port].set_paused(now, class, pauses);
        }
    }

    /// Looks at the shapers of a port at a time.
    pub fn look_at(&mut self, port: u32, at: Time) {
        let number = self.ports[port as usize].link.port.0 | SHAPER;
        self.clock.schedule(at, source(kind::SWITCH, number), port);
    }

    pub fn refill(&mut self, port: u32) {
        let (now, mut again) = (self.clock.now(), Vec::new());
        self.ports[port as usize].refill(now, |at| again.push(at));
        again.into_iter().for_each(|at| self.look_at(port, at));
    }

    /// A packet leaves by a port that is free.
    pub fn transmit(&mut self, port: u32, ix: u32) {
        let now = self.clock.now();
        let Packet { head, path, scheme, deflections, telemetry } = *self.packets.at(ix);
        let of = &mut self.ports[port as usize];
        debug_assert!(of.busy_until <= now, "one packet at a time");
        let left = now + of.tx_time(u32::from(head.wire));
        of.busy_until = left;
        of.packets += 1;
        of.bytes += u64::from(head.wire);
        let (arrives, link) = (left + of.link.delay, of.link.port);
        let telemetry: Option<Telemetry> = head.has(fanin_cc::flags::INT).then_some(telemetry);
        let channel = self.channel(head.flow);
        let carried = Carried { head, channel, path, scheme, deflections, telemetry };
        let announces = head.kind == Kind::Data && head.has(fanin_cc::flags::START);
        let announces = announces && self.messages.get(head.flow).is_some();
        let incast = if announces { announced_incast(self, head.flow) } else { None };
        let incast = incast.map(|(incast, all)| (incast, all.iter().map(|host| *host as u16).collect()));
        self.out.push(Left::Packet(Box::new(Leaving { port: link, arrives, carried, incast })));
        self.packets.remove(ix);
    }

    /// The message that opened a message's connection.
    fn channel(&self, message: MessageId) -> MessageId {
        let of = |entry: &Entry| (entry.record.traffic, entry.record.src, entry.record.dst);
        let open = || self.messages.connections.get(&of(self.messages.get(message)?)).copied();
        if self.messages.connections.is_empty() { message } else { open().unwrap_or(message) }
    }

    /// Tells the receiver of a message about it.
    pub fn set_up(&mut self, message: MessageId, first: Option<MessageId>) {
        let of = self.set_up_of(message, first);
        self.out.push(Left::Control(of.dst, Control::SetUp(of)));
    }

    pub fn set_up_of(&self, message: MessageId, first: Option<MessageId>) -> SetUp {
        let entry = self.messages.of(message);
        let record = &entry.record;
        SetUp {
            token: entry.token,
            message,
            first,
            src: NodeId(record.src),
            dst: NodeId(record.dst),
            traffic: record.traffic,
            bytes: record.bytes,
            name: entry.name,
            group: record.group,
            hops: record.hops,
            senders: entry.senders.clone(),
        }
    }

    /// A host's packet joins the queue of its class. It is lost where that is full.
    pub fn queue(&mut self, port: u32, ix: u32) {
        let (now, head) = (self.clock.now(), self.packets.at(ix).head);
        let of = &mut self.ports[port as usize];
        if !of.takes(head.class, head.wire) {
            let link = of.link.port;
            self.totals.shaper += 1;
            self.incident(link, What::Dropped);
            return self.lose(ix);
        }
        if let Some(at) = of.enqueue(now, ix, &head) {
            self.look_at(port, at);
        }
    }

    /// The row of a port of this host.
    pub fn row(&self, port: PortId) -> Option<u32> {
        self.ports.iter().zip(0..).find(|(of, _)| of.link.port == port).map(|(_, row)| row)
    }

    /// Marks a packet.
    pub fn mark(&mut self, ix: u32) {
        self.packets.at_mut(ix).head.flags |= fanin_cc::flags::CE;
    }
}
