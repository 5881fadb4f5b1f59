//! What leaves a network while it runs: packets on chosen links, queues, pauses, messages. Off, it costs nothing on links
//! (the question is asked together with that for telemetry) and a branch per packet that waits.
//!
//! What was seen waits in one list until [`Simulation::take_seen`] empties it; whoever taps a network takes it after every
//! slice of a run, so that the list stays as short as a slice.

use crate::config::TrafficConfig;
use crate::packet::PacketIx;
use crate::results::FlowRecord;
use crate::sim::Simulation;
use fanin_cc::{Header, Kind, Telemetry, flags};
use fanin_endpoint::tcp::Segment;
use fanin_engine::EventQueue;
use fanin_units::{MessageId, NodeId, PortId, Time};
use std::sync::Arc;

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Links, by the port that sends, whose packets are seen as they start to leave.
    pub links: Vec<PortId>,
    /// Ports whose queues are seen whenever they change.
    pub queues: Vec<PortId>,
    /// Whether pauses are seen, of every port.
    pub pauses: bool,
    /// Whether messages are seen as they are posted and as they have arrived.
    pub messages: bool,
}

impl Wanted {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Something that was seen.
#[derive(Clone, Debug)]
pub enum Seen {
    /// A packet started to leave.
    Packet(Box<Captured>),
    /// A queue changed.
    Queue {
        /// When.
        time: Time,
        /// The port.
        port: PortId,
        /// Data bytes that wait there now, all classes.
        bytes: u64,
    },
    /// The peer of a port paused a class of it, or let it go on.
    Pause {
        /// When.
        time: Time,
        /// The port that was paused.
        port: PortId,
        /// The class.
        class: u8,
        /// Whether it is paused now.
        paused: bool,
    },
    /// A message was posted.
    Posted {
        /// When.
        time: Time,
        /// Its number: see [`Simulation::message`].
        message: u32,
    },
    /// The last byte of a message arrived in order.
    Arrived {
        /// When.
        time: Time,
        /// Its number.
        message: u32,
    },
}

/// A packet on a link.
#[derive(Clone, Debug)]
pub struct Captured {
    /// When its first bit left.
    pub time: Time,
    /// The port that sends it.
    pub port: PortId,
    /// What it says of itself.
    pub head: Header,
    /// What it says as a segment of TCP.
    pub segment: Option<Segment>,
    /// What switches have written into it, this one included, or what an ACK carries back.
    pub telemetry: Option<Telemetry>,
    /// Its traffic; nothing where it belongs to no message.
    pub traffic: Option<u16>,
    /// The first message of its connection, which names the connection.
    pub channel: MessageId,
    /// The host that opened the connection; nothing where there is none.
    pub opener: NodeId,
    /// The incast that it announces, and all senders of it.
    pub incast: Option<(u32, Arc<[u32]>)>,
}

/// What a network keeps for its tap.
#[derive(Default)]
pub(crate) struct Tap {
    /// By port; empty where none is asked for.
    links: Vec<bool>,
    queues: Vec<bool>,
    pub pauses: bool,
    pub messages: bool,
    seen: Vec<Seen>,
}

impl Tap {
    /// Whether packets of some link are asked for.
    #[inline(always)]
    pub fn any_link(&self) -> bool {
        !self.links.is_empty()
    }
}

impl<Q: EventQueue> Simulation<Q> {
    /// Asks for what is seen from now on; what was asked for before is not any more.
    pub fn tap(&mut self, wanted: &Wanted) {
        let marks = |chosen: &[PortId]| {
            let mut marks = vec![false; if chosen.is_empty() { 0 } else { self.ports.len() }];
            chosen.iter().for_each(|port| marks[port.ix()] = true);
            marks
        };
        let (links, queues) = (marks(&wanted.links), marks(&wanted.queues));
        self.watches_links = self.telemetry || !links.is_empty() || !self.traced.is_empty();
        self.watches_queues = !queues.is_empty();
        self.tap = Tap {
            links,
            queues,
            pauses: wanted.pauses,
            messages: wanted.messages,
            seen: core::mem::take(&mut self.tap.seen),
        };
        self.set_patience();
    }

    /// What was seen since the last call, in order of time. `into` is emptied first and its memory used again.
    pub fn take_seen(&mut self, into: &mut Vec<Seen>) {
        into.clear();
        core::mem::swap(into, &mut self.tap.seen);
    }

    /// The traffics, by number.
    pub fn traffic_configs(&self) -> impl Iterator<Item = &TrafficConfig> {
        self.traffics.iter().map(|traffic| &traffic.config)
    }

    /// What is known of a message by now.
    pub fn message(&self, number: u32) -> &FlowRecord {
        &self.records[number as usize]
    }

    /// A packet starts to leave.
    #[cold]
    pub(crate) fn see_packet(&mut self, port: PortId, ix: PacketIx) {
        if !self.tap.links[port.ix()] {
            return;
        }
        let head = self.packets[ix].head;
        // Notices of TCP's flows and pause frames have nothing beside their header.
        let segment = head.has(flags::TCP) && matches!(head.kind, Kind::Data | Kind::Ack);
        let mut captured = Captured {
            time: self.now,
            port,
            head,
            segment: segment.then(|| self.packets.segment(ix)),
            telemetry: head.has(flags::INT).then(|| *self.packets.telemetry(ix)),
            traffic: None,
            channel: head.flow,
            opener: NodeId::NONE,
            incast: None,
        };
        if head.kind != Kind::Pause {
            let record = &self.records[head.flow.ix()];
            captured.traffic = Some(record.traffic);
            captured.opener = NodeId(record.src);
            let one_for_all = self.traffics[record.traffic as usize].config.endpoint.connection;
            if one_for_all && let Some(first) = self.connections.get(&(record.traffic, record.src, record.dst)) {
                captured.channel = MessageId(*first);
            }
            if head.kind == Kind::Data && head.has(flags::START) && !head.has(flags::TCP) {
                captured.incast = self.announced(head.flow.0);
            }
        }
        self.tap.seen.push(Seen::Packet(Box::new(captured)));
    }

    /// The incast that a message's first packet announces, and its senders.
    pub(crate) fn announced(&self, message: u32) -> Option<(u32, Arc<[u32]>)> {
        let record = &self.records[message as usize];
        let senders = self.slots[message as usize].senders.as_ref()?;
        let traffic = &self.traffics[record.traffic as usize].config;
        let listed = traffic.scheme.send_options(record.bytes, senders.len(), traffic.endpoint.connection).list > 0;
        // Traffic and incast in one number; both run from 0 and neither gets near its half in practice.
        listed.then(|| ((record.traffic as u32) << 24 ^ record.group, senders.clone()))
    }

    /// The queue of a port changed.
    #[cold]
    pub(crate) fn see_queue(&mut self, port: PortId) {
        if !self.tap.queues[port.ix()] {
            return;
        }
        let (time, bytes) = (self.now, self.ports[port.ix()].queued);
        // What comes and goes within an instant never waited.
        if let Some(Seen::Queue { time: then, port: same, bytes: held }) = self.tap.seen.last_mut()
            && (*then, *same) == (time, port)
        {
            *held = bytes;
            return;
        }
        self.tap.seen.push(Seen::Queue { time, port, bytes });
    }

    /// A class of a port was paused, or goes on.
    #[cold]
    pub(crate) fn see_pause(&mut self, port: PortId, class: u8, paused: bool) {
        self.tap.seen.push(Seen::Pause { time: self.now, port, class, paused });
    }

    /// A message was posted, or has arrived.
    #[cold]
    pub(crate) fn see_message(&mut self, message: u32, arrived: bool) {
        let time = self.now;
        self.tap.seen.push(if arrived { Seen::Arrived { time, message } } else { Seen::Posted { time, message } });
    }
}
