//! Messages from a partition to the others.

use crate::clock::Clock;
use crate::layout::Layout;
use crate::packet::{Packet, Slab};
use fanin_cc::{Kind, Telemetry, flags};
use fanin_endpoint::host::names;
use fanin_endpoint::tcp::Segment;
use fanin_engine::{Event, EventQueue, prefetch};
use fanin_units::{NodeId, Time};
use std::sync::Arc;

/// Messages from a partition to the others, collected until the step ends. Empty in a network of one partition.
pub(crate) struct Outbox {
    layout: Arc<Layout>,
    number: u16,
    /// By partition; none where the network is whole.
    to: Vec<Letters>,
}

impl Outbox {
    /// The outbox of one partition.
    pub fn new(layout: Arc<Layout>, number: u16) -> Self {
        let letters = if layout.is_cut() { layout.partitions() } else { 0 };
        Self { layout, number, to: (0..letters).map(|_| Letters::default()).collect() }
    }

    /// Whether there are other partitions.
    #[inline(always)]
    pub fn is_cut(&self) -> bool {
        !self.to.is_empty()
    }

    /// Whether this partition owns the node.
    #[inline(always)]
    pub fn is_here(&self, node: NodeId) -> bool {
        self.layout.partition(node) == self.number
    }

    /// A packet arrives in another partition. It stays in the slab until the step ends.
    #[inline(never)]
    pub fn add_arrival(&mut self, partition: u16, arrival: Event) {
        self.to[partition as usize].arrivals.push(arrival);
    }

    /// Sends an update to the partition of a node, if that is another one.
    pub fn add_update(&mut self, node: NodeId, update: RemoteUpdate) {
        if !self.is_here(node) {
            self.to[self.layout.partition(node) as usize].updates.push(update);
        }
    }

    /// Prepares the messages of a step: takes their packets out of the slab.
    pub fn collect(&mut self, packets: &mut Slab) {
        self.to.iter_mut().for_each(|letters| letters.collect(packets));
    }

    /// The messages to each partition.
    pub fn letters(&mut self) -> &mut [Letters] {
        &mut self.to
    }

    /// Whether there are so many partitions that the memory of small buffers between them matters.
    pub fn has_many(&self) -> bool {
        self.to.len() > FEW
    }

    /// Whether nothing waits to be sent.
    pub fn is_empty(&self) -> bool {
        self.to.iter().all(Letters::is_empty)
    }
}

/// A sender's decision that the message's receiver needs. Packets of the message cross a link after the decision, so an
/// update sent at the end of a step arrives before them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RemoteUpdate {
    /// An RDMA message set out.
    SetOut {
        message: u32,
        /// The first message of its connection, where it has one.
        first: Option<u32>,
        /// Links on its path.
        hops: u16,
    },
    /// A message goes over the TCP connection that `first` opened.
    Stream { message: u32, first: u32, at: Time },
    /// The queue pair of an RDMA message was given up; its receiver knows it from this time on.
    GivenUp { message: u32, at: Time },
}

/// Messages from one partition to another in a step.
#[derive(Default)]
pub(crate) struct Letters {
    arrivals: Vec<Event>,
    packets: Vec<Packet>,
    /// Of those packets that have one, in their order.
    segments: Vec<Segment>,
    telemetry: Vec<Telemetry>,
    bitmaps: Vec<u64>,
    /// Decisions of senders that receivers need before the packets arrive.
    updates: Vec<RemoteUpdate>,
}

impl Letters {
    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.arrivals.is_empty() && self.updates.is_empty()
    }

    fn collect(&mut self, packets: &mut Slab) {
        debug_assert!(self.packets.is_empty(), "packets that were not sent");
        self.packets.reserve(self.arrivals.len());
        for (i, event) in self.arrivals.iter().enumerate() {
            if let Some(later) = self.arrivals.get(i + PREFETCH_AHEAD) {
                packets.prefetch(later.arg);
            }
            let packet = &packets[event.arg];
            if packet.head.has(MORE) {
                if has_segment(packet) {
                    self.segments.push(packets.segment(event.arg));
                }
                if packet.head.has(flags::INT) {
                    self.telemetry.push(*packets.telemetry(event.arg));
                }
                if names(&packet.head) {
                    self.bitmaps.push(packets.bitmap(event.arg));
                }
            }
            // `push` would copy it via the stack.
            self.packets.extend_from_slice(core::slice::from_ref(packet));
            packets.remove(event.arg);
        }
    }

    /// The updates, taken out.
    pub fn take_updates(&mut self) -> Vec<RemoteUpdate> {
        core::mem::take(&mut self.updates)
    }

    /// Gives out the packets, with their arrivals and the telemetry of those that have it. Leaves nothing.
    pub fn take(&mut self, mut each: impl FnMut(&Event, &Packet, Option<&Telemetry>)) {
        let mut telemetry = self.telemetry.iter();
        for (event, packet) in self.arrivals.iter().zip(&self.packets) {
            let of_packet = if packet.head.has(flags::INT) { telemetry.next() } else { None };
            each(event, packet, of_packet);
        }
        self.arrivals.clear();
        self.packets.clear();
        self.segments.clear();
        self.telemetry.clear();
        self.bitmaps.clear();
    }

    /// Puts the packets into a slab and their arrivals among the events. Leaves nothing. Large buffers keep their
    /// memory, since allocating them repeatedly fragments the heap; small ones free it where there are `many`.
    pub fn deliver<Q: EventQueue>(&mut self, packets: &mut Slab, clock: &mut Clock<Q>, many: bool) {
        let (mut segments, mut telemetry, mut bitmaps) =
            (self.segments.iter(), self.telemetry.iter(), self.bitmaps.iter());
        for (i, (event, packet)) in self.arrivals.iter().zip(&self.packets).enumerate() {
            // They come from another core.
            prefetch(&self.packets, i + 2 * PREFETCH_AHEAD);
            let ix = packets.add(packet);
            if packet.head.has(MORE) {
                if has_segment(packet)
                    && let Some(segment) = segments.next()
                {
                    packets.set_segment(ix, *segment);
                }
                if packet.head.has(flags::INT)
                    && let Some(of_packet) = telemetry.next()
                {
                    packets.set_telemetry(ix, of_packet);
                }
                if names(&packet.head)
                    && let Some(bitmap) = bitmaps.next()
                {
                    packets.set_bitmap(ix, *bitmap);
                }
            }
            debug_assert!(event.at >= clock.now(), "a packet from another partition in the past");
            clock.push(Event { arg: ix, ..*event });
        }
        if many && self.packets.capacity() < KEPT {
            *self = Self::default();
        }
        self.arrivals.clear();
        self.packets.clear();
        self.segments.clear();
        self.telemetry.clear();
        self.bitmaps.clear();
    }
}

/// Flags of packets that may carry more than their header.
const MORE: u8 = flags::TCP | flags::INT | flags::NAMES;

/// Whether a packet is a segment of TCP.
fn has_segment(packet: &Packet) -> bool {
    packet.head.has(flags::TCP) && matches!(packet.head.kind, Kind::Data | Kind::Ack)
}

/// Packets from which on a buffer always keeps its memory.
const KEPT: usize = 1024;

/// Most partitions between which all buffers keep their memory: their number grows with the square.
const FEW: usize = 8;

/// Packets between the prefetch of a packet and its use.
const PREFETCH_AHEAD: usize = 8;
