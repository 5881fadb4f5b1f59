//! What a part of a network knows of the cut, and what it sends to other parts.

use crate::packet::{Packet, PacketIx};
use crate::results::What;
use crate::sim::{Simulation, kind, source};
use fanin_cc::{Kind, Telemetry, flags};
use fanin_endpoint::tcp::Segment;
use fanin_engine::{Event, EventQueue, prefetch};
use fanin_units::{NodeId, PortId, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Stands for a slot of another part.
pub(crate) const ELSEWHERE: u32 = u32::MAX - 1;

/// The place of a part in its network. A network that is whole owns all nodes.
#[derive(Default)]
pub(crate) struct Part {
    /// The part of each node; empty where the network is whole.
    pub of: Arc<[u16]>,
    /// Which one it is.
    pub number: u16,
    /// Packets that arrive in other parts, which stay in the slab until the step ends.
    pub leaving: Vec<Event>,
    /// What receivers in other parts have to know before packets of a message come.
    pub news: Vec<(u16, News)>,
    /// Messages of TCP from other parts that wait to be answered and did not open their connection, with the one that did.
    pub streams: BTreeMap<u32, u32>,
    /// What caused each of the incidents that are kept.
    pub causes: Vec<u32>,
}

impl Part {
    /// Whether there are other parts.
    #[inline(always)]
    pub fn is_cut(&self) -> bool {
        !self.of.is_empty()
    }

    /// Whether what happens at this node happens here.
    #[inline(always)]
    pub fn owns(&self, node: NodeId) -> bool {
        self.of.get(node.ix()).is_none_or(|part| *part == self.number)
    }

    /// A packet leaves for another part.
    #[inline(never)]
    pub fn leaves(&mut self, at: Time, link: PortId, packet: PacketIx) {
        self.leaving.push(Event { at, source: source(kind::ARRIVE, link.0), arg: packet });
    }

    /// Tells the part of a node something, if that is another one.
    pub fn tell(&mut self, node: NodeId, news: News) {
        if !self.owns(node) {
            self.news.push((self.of[node.ix()], news));
        }
    }
}

/// What a message's receiver looks up of what its sender decided. Packets of the message cross a link after that, so news
/// that travels between windows comes in time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum News {
    /// An RDMA message set out.
    SetOut {
        message: u32,
        /// The first message of its connection, where it has one.
        first: Option<u32>,
        /// Links on its way.
        hops: u16,
    },
    /// A message goes over the TCP connection that `first` opened.
    Stream { message: u32, first: u32, at: Time },
}

/// What one part sends to another at the end of a step.
#[derive(Default)]
pub(crate) struct Mail {
    arrivals: Vec<Event>,
    packets: Vec<Packet>,
    /// Of those packets that have one, in their order.
    segments: Vec<Segment>,
    telemetry: Vec<Telemetry>,
    news: Vec<News>,
}

impl Mail {
    pub fn is_empty(&self) -> bool {
        self.arrivals.is_empty() && self.news.is_empty()
    }
}

/// Whether a packet has a TCP segment beside its header.
fn has_segment(packet: &Packet) -> bool {
    packet.head.has(flags::TCP) && matches!(packet.head.kind, Kind::Data | Kind::Ack)
}

/// Packets between asking for one's memory and reading it.
const LOOK_AHEAD: usize = 8;

impl<Q: EventQueue> Simulation<Q> {
    /// When something happens next: here, by what leaves from here, or by what should have left.
    pub(crate) fn next_at(&mut self) -> Time {
        let message = self.messages.peek().map_or(Time::NEVER, |message| message.start);
        let leaving = self.part.leaving.iter().map(|event| event.at).min().unwrap_or(Time::NEVER);
        self.queue.first_at().min(message).min(leaving).min(self.next_away())
    }

    /// Moves what leaves into the mail of each part.
    pub(crate) fn send_mail(&mut self, mail: &mut [Mail]) {
        self.those_away_catch_up();
        let leaving = core::mem::take(&mut self.part.leaving);
        for (i, event) in leaving.iter().enumerate() {
            if let Some(later) = leaving.get(i + LOOK_AHEAD) {
                prefetch(&self.packets[later.arg]);
            }
            let link = PortId(event.source);
            let to = &mut mail[self.part.of[self.far_ends[link.ix()].node.ix()] as usize];
            let packet = &self.packets[event.arg];
            to.arrivals.push(*event);
            to.packets.push(*packet);
            if has_segment(packet) {
                to.segments.push(self.packets.segment(event.arg));
            }
            if packet.head.has(flags::INT) {
                to.telemetry.push(*self.packets.telemetry(event.arg));
            }
            self.packets.remove(event.arg);
        }
        self.part.leaving = leaving;
        self.part.leaving.clear();
        for (to, news) in self.part.news.drain(..) {
            mail[to as usize].news.push(news);
        }
    }

    /// Takes in what another part sent, and leaves the mail empty.
    pub(crate) fn take_mail(&mut self, mail: &mut Mail) {
        for news in mail.news.drain(..) {
            match news {
                News::SetOut { message, first, hops } => {
                    let record = &mut self.records[message as usize];
                    record.hops = hops;
                    if let Some(first) = first {
                        let pair = (record.traffic, record.src, record.dst);
                        self.connections.insert(pair, first);
                    }
                }
                News::Stream { message, first, at } => self.stream_from_elsewhere(message, first, at),
            }
        }
        let (mut segments, mut telemetry) = (mail.segments.drain(..), mail.telemetry.drain(..));
        for (i, (event, packet)) in mail.arrivals.iter().zip(&mail.packets).enumerate() {
            // They come from another core.
            if let Some(later) = mail.packets.get(i + 2 * LOOK_AHEAD) {
                prefetch(later);
            }
            let ix = self.packets.add(*packet);
            if has_segment(packet) {
                self.packets.set_segment(ix, segments.next().unwrap_or_default());
            }
            if packet.head.has(flags::INT)
                && let Some(telemetry) = telemetry.next()
            {
                self.packets.set_telemetry(ix, &telemetry);
            }
            debug_assert!(event.at >= self.now, "a packet from another part in the past");
            self.queue.push(Event { arg: ix, ..*event });
        }
        mail.arrivals.clear();
        mail.packets.clear();
    }

    /// Something worth a line of its own happened at a port.
    pub(crate) fn incident(&mut self, port: PortId, what: What) {
        let before = self.incidents.kept.len();
        self.incidents.add(self.now, port, what);
        if self.part.is_cut() && self.incidents.kept.len() > before {
            self.part.causes.push(self.cause);
        }
    }
}
