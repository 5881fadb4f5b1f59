//! What a part of a network knows of the cut, and what it sends to other parts.

use crate::packet::{Packet, PacketIx, Slab};
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
    /// What leaves for each part, until the step ends.
    pub out: Vec<Mail>,
    /// Messages of TCP from other parts that wait to be answered and did not open their connection, with the one that did.
    pub streams: BTreeMap<u32, u32>,
    /// What caused each of the incidents that are kept.
    pub causes: Vec<u32>,
}

impl Part {
    /// One of so many.
    pub fn new(of: Arc<[u16]>, number: u16, parts: usize) -> Self {
        let out = (0..parts).map(|_| Mail::default()).collect();
        Self { of, number, out, ..Self::default() }
    }

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

    /// A packet leaves for another part. It stays in the slab until the step ends.
    #[inline(never)]
    pub fn leaves(&mut self, part: u16, at: Time, link: PortId, packet: PacketIx) {
        let mail = &mut self.out[part as usize];
        mail.arrivals.push(Event { at, source: source(kind::ARRIVE, link.0), arg: packet });
    }

    /// Tells the part of a node something, if that is another one.
    pub fn tell(&mut self, node: NodeId, news: News) {
        if !self.owns(node) {
            self.out[self.of[node.ix()] as usize].news.push(news);
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

/// What one part sends to another in a step.
#[derive(Default)]
pub(crate) struct Mail {
    arrivals: Vec<Event>,
    packets: Vec<Packet>,
    /// Of those packets that have one, in their order.
    segments: Vec<Segment>,
    telemetry: Vec<Telemetry>,
    /// What receivers have to know before packets of a message come.
    news: Vec<News>,
}

impl Mail {
    pub fn is_empty(&self) -> bool {
        self.arrivals.is_empty() && self.news.is_empty()
    }

    /// Takes the packets that arrive out of the slab.
    fn collect(&mut self, packets: &mut Slab) {
        debug_assert!(self.packets.is_empty(), "mail that was not sent");
        for (i, event) in self.arrivals.iter().enumerate() {
            if let Some(later) = self.arrivals.get(i + LOOK_AHEAD) {
                prefetch(&packets[later.arg]);
            }
            let packet = &packets[event.arg];
            if packet.head.has(BESIDE) {
                if has_segment(packet) {
                    self.segments.push(packets.segment(event.arg));
                }
                if packet.head.has(flags::INT) {
                    self.telemetry.push(*packets.telemetry(event.arg));
                }
            }
            // Pushed, it would be copied by way of the stack.
            self.packets.extend_from_slice(core::slice::from_ref(packet));
            packets.remove(event.arg);
        }
    }
}

/// How many segments and how much telemetry were taken out of some mail.
#[derive(Default)]
struct Beside {
    segments: usize,
    telemetry: usize,
}

impl Beside {
    /// Gives a packet what it has beside its header.
    #[inline(never)]
    fn take(&mut self, mail: &Mail, packets: &mut Slab, ix: PacketIx) {
        if has_segment(&packets[ix]) {
            packets.set_segment(ix, mail.segments[self.segments]);
            self.segments += 1;
        }
        if packets[ix].head.has(flags::INT) {
            packets.set_telemetry(ix, &mail.telemetry[self.telemetry]);
            self.telemetry += 1;
        }
    }
}

/// Flags of packets that may have something beside their header.
const BESIDE: u8 = flags::TCP | flags::INT;

/// Whether a packet has a TCP segment beside its header.
fn has_segment(packet: &Packet) -> bool {
    packet.head.has(flags::TCP) && matches!(packet.head.kind, Kind::Data | Kind::Ack)
}

/// Packets between asking for one's memory and reading it.
const LOOK_AHEAD: usize = 8;

impl<Q: EventQueue> Simulation<Q> {
    /// When something happens next: here, or by what should have left. All mail has been sent.
    pub(crate) fn next_at(&mut self) -> Time {
        let message = self.messages.peek().map_or(Time::NEVER, |message| message.start);
        debug_assert!(self.part.out.iter().all(Mail::is_empty), "mail that was not sent");
        self.queue.first_at().min(message).min(self.next_away())
    }

    /// Makes the mail of a step ready to be sent.
    pub(crate) fn collect_mail(&mut self) {
        self.those_away_catch_up();
        self.part.out.iter_mut().for_each(|mail| mail.collect(&mut self.packets));
    }

    /// Takes in what another part sent, and leaves the mail empty.
    pub(crate) fn take_mail(&mut self, mail: &mut Mail) {
        if !mail.news.is_empty() {
            self.take_news(mail);
        }
        let mut beside = Beside::default();
        for (i, (event, packet)) in mail.arrivals.iter().zip(&mail.packets).enumerate() {
            // They come from another core.
            if let Some(later) = mail.packets.get(i + 2 * LOOK_AHEAD) {
                prefetch(later);
            }
            let ix = self.packets.add_copy(packet);
            if packet.head.has(BESIDE) {
                beside.take(mail, &mut self.packets, ix);
            }
            debug_assert!(event.at >= self.now, "a packet from another part in the past");
            self.queue.push(Event { arg: ix, ..*event });
        }
        mail.arrivals.clear();
        mail.packets.clear();
        mail.segments.clear();
        mail.telemetry.clear();
    }

    #[inline(never)]
    fn take_news(&mut self, mail: &mut Mail) {
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
