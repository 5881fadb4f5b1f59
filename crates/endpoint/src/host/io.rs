//! The interface between hosts and their surroundings.

use super::{Ends, FlowRecord, HostFifo, PacketSizes, Traffic, TrafficCounters};
use crate::tcp::Segment;
use alloc::sync::Arc;
use fanin_cc::{Header, Instance, Kind, PathInfo, Telemetry, flags};
use fanin_units::{MessageId, NodeId, Rate, Time};

/// A timer of a host. Each has at most one valid event, tracked by [`super::Hosts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The scheme's timer of a sender, and the timers of a TCP connection.
    Sender {
        /// The simulator's order of simultaneous events: it depends on the message alone, not on its slot.
        number: u32,
        /// The sender's slot.
        slot: u32,
    },
    /// The retransmission timers of all queue pairs of a host.
    Host {
        /// The host.
        host: u32,
    },
    /// The timer of a scheme's receiver at a host.
    Receiver {
        /// The host.
        host: u32,
        /// The scheme.
        scheme: u16,
    },
    /// Answers of a host that have waited for its CPU.
    Answers {
        /// The host.
        host: u32,
    },
}

/// Whether it is an ACK with a bitmap.
#[inline(always)]
pub fn names(head: &Header) -> bool {
    head.flags & (flags::NAMES | flags::TCP) == flags::NAMES && head.kind == Kind::Ack
}

/// The contents of a packet besides its header.
#[derive(Clone, Copy, Debug)]
pub enum Beside<'a> {
    /// Nothing.
    Nothing,
    /// Space for telemetry of switches.
    RoomForTelemetry,
    /// The telemetry of the packet that it acknowledges.
    Telemetry(&'a Telemetry),
    /// It is a segment of TCP.
    Segment(&'a Segment),
    /// It is an ACK with a bitmap ([`fanin_cc::flags::NAMES`]).
    Arrived(&'a AckBitmap<'a>),
}

/// What an ACK with a bitmap has beside its header: a type of its own, so that [`Beside`] fits two registers.
#[derive(Clone, Copy, Debug)]
pub struct AckBitmap<'a> {
    /// Which packets around the one that it answers have arrived.
    pub bitmap: u64,
    /// Telemetry, where it has that.
    pub telemetry: Option<&'a Telemetry>,
}

/// A request for a path.
#[derive(Clone, Copy, Debug)]
pub struct PathQuery<P> {
    /// The first message on this path.
    pub message: MessageId,
    /// The host it leaves.
    pub from: NodeId,
    /// The host it goes to.
    pub to: NodeId,
    /// The reverse direction of that message's packets.
    pub back: bool,
    /// All messages of the pair of hosts use the same path.
    pub per_pair: bool,
    /// The same path as this one, where one was chosen before.
    pub same_as: Option<P>,
}

/// The properties of a path that a host requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// The information for a scheme's sender.
    Info,
    /// The ideal completion time of a message on it.
    Ideal,
    /// Both.
    Both,
}

/// A path and its properties.
#[derive(Clone, Copy, Debug)]
pub struct Route<P> {
    /// The NIC it leaves its host by; `None` where no path is known now.
    pub nic: Option<u32>,
    /// The route that its packets carry.
    pub path: P,
    /// The information for a scheme's sender; unspecified unless requested.
    pub info: PathInfo,
    /// Completion time of the message alone on it, store-and-forward and without the bytes that schemes add to packets,
    /// or [`Time::NEVER`] for an endless message or unless requested.
    pub ideal: Time,
    /// Links on it.
    pub hops: u16,
}

/// The surroundings of hosts. The implementation numbers hosts, NICs and messages; time never goes back.
pub trait Io {
    /// The route that a packet carries.
    type Path: Copy + core::fmt::Debug;
    /// A handle to an existing packet.
    type Packet: Copy;

    /// The current time.
    fn now(&self) -> Time;
    /// Calls back at a time: [`super::Hosts::on_timer`].
    fn set_timer(&mut self, timer: Timer, at: Time);
    /// 64 random bits of a host, the same whenever it asks for those of a number: from 0 on for its CPU, and from 2^63
    /// on for the paths of a message.
    fn random(&self, host: u32, number: u64) -> u64;

    /// Sizes of packets.
    fn sizes(&self) -> &PacketSizes;
    /// The queue between the pacers of a host and its link; `None` is a NIC that pulls from its flows.
    fn host_fifo(&self) -> Option<HostFifo>;
    /// Largest data packet on the wire.
    fn largest_packet(&self) -> u32;

    /// A traffic.
    fn traffic(&self, traffic: u16) -> &Traffic;
    /// Its counters.
    fn counters(&mut self, traffic: u16) -> &mut TrafficCounters;
    /// The state of a scheme.
    fn scheme(&mut self, scheme: u16) -> &mut Instance;

    /// The state of a scheme and the telemetry of a packet that has it.
    fn scheme_and_telemetry(&mut self, scheme: u16, packet: Self::Packet) -> (&mut Instance, &Telemetry);

    /// The record of a message.
    fn record(&self, message: MessageId) -> &FlowRecord;
    /// As above, for writing.
    fn record_mut(&mut self, message: MessageId) -> &mut FlowRecord;
    /// The ends of a message.
    fn ends(&self, message: MessageId) -> Ends;
    /// As above, for writing.
    fn ends_mut(&mut self, message: MessageId) -> &mut Ends;
    /// All senders of the message's incast, where the application named them.
    fn incast(&self, message: MessageId) -> Option<&Arc<[u32]>>;
    /// Releases these senders.
    fn forget_incast(&mut self, message: MessageId);
    /// The message that this one answers on its connection, if any.
    fn answers(&self, message: MessageId) -> Option<MessageId>;
    /// Whether an answer to this message will go back on its connection.
    fn will_be_answered(&self, message: MessageId) -> bool;
    /// The message that opened the connection between two hosts, where a traffic's connections stay open.
    fn connection(&self, traffic: u16, from: u32, to: u32) -> Option<MessageId>;
    /// Notes that this message opens it.
    fn open_connection(&mut self, message: MessageId);
    /// A message has arrived completely. Returns whether an answer to it follows.
    fn on_arrived(&mut self, message: MessageId) -> bool;
    /// The sender of a message knows that it has arrived completely. Messages that depend on that start no earlier than
    /// [`Io::after_acked`].
    fn on_acked(&mut self, message: MessageId);
    /// All messages that an ACK covers have been processed.
    fn after_acked(&mut self);
    /// The sender of a message gives its queue pair up. The host at the other end gets to know it, for
    /// [`super::Hosts::on_given_up`], at the time that is returned.
    fn give_up(&mut self, message: MessageId) -> Time;
    /// The message is posted again at a time: [`super::Hosts::send_message`].
    fn post_again(&mut self, message: MessageId, at: Time);

    /// The number of a local host.
    fn host(&self, node: NodeId) -> Option<u32>;
    /// An RDMA message starts to a host that may be remote: sends the receiver the properties chosen by the sender.
    fn announce_message(&mut self, message: MessageId, first: Option<MessageId>);
    /// A message uses the TCP connection that `first` opened, to a remote host.
    fn announce_stream(&mut self, message: MessageId, first: MessageId);
    /// The message that opened the connection of a message received from a remote host, if it is a different one.
    fn stream_opener(&self, message: MessageId) -> Option<MessageId>;
    /// Stores that message, for an answer on the same connection.
    fn note_stream_opener(&mut self, message: MessageId, first: MessageId);

    /// A path with the requested properties.
    fn route(&mut self, query: &PathQuery<Self::Path>, needs: Needs) -> Route<Self::Path>;
    /// The path without its properties.
    fn path(&self, query: &PathQuery<Self::Path>) -> Self::Path;
    /// The path with a number among those of a flow, whose own is `path`. Where paths have no numbers, all are that.
    fn numbered_path(&self, path: Self::Path, _from: NodeId, _to: NodeId, _number: u16) -> Self::Path {
        path
    }
    /// A path that is chosen hop by hop, for a single packet.
    fn path_by_hash(&self, query: &PathQuery<Self::Path>) -> Self::Path;
    /// The NIC that a path to a host leaves by now.
    fn nic_of(&self, from: NodeId, to: NodeId, path: Self::Path) -> Option<u32>;

    /// Creates a data packet, or a segment of TCP, that is to leave by a port. `scheme` is that of its traffic.
    fn make(&mut self, port: u32, head: &Header, path: Self::Path, scheme: u16, beside: Beside<'_>) -> Self::Packet;
    /// Puts a control packet into the queue of the link that it leaves by. Returns its NIC, which is to be served;
    /// `None` where there is no path and the packet is lost.
    fn make_control(&mut self, head: &Header, path: Self::Path, scheme: u16, beside: Beside<'_>) -> Option<u32>;
    /// The header of a packet.
    fn header(&self, packet: Self::Packet) -> &Header;
    /// The TCP segment of a packet that is one.
    fn segment(&self, packet: Self::Packet) -> Segment;
    /// The bitmap of an ACK that has one ([`fanin_cc::flags::NAMES`]).
    fn bitmap(&self, packet: Self::Packet) -> u64;
    /// The telemetry of a packet that has it.
    fn telemetry(&self, packet: Self::Packet) -> &Telemetry;
    /// Deflections so far.
    fn deflections(&self, packet: Self::Packet) -> u8;
    /// The packet has reached its destination. Its contents stay readable until the next packet is created.
    fn consume(&mut self, packet: Self::Packet);

    /// Whether the link of a port is up.
    fn is_up(&self, port: u32) -> bool;
    /// The rate of the link of a port.
    fn rate(&self, port: u32) -> Rate;
    /// The transmission time of a packet.
    fn tx_time(&self, port: u32, wire: u32) -> Time;
    /// The time from which the link is idle.
    fn free_at(&self, port: u32) -> Time;
    /// Bit c: PFC paused class c.
    fn paused(&self, port: u32) -> u8;
    /// Whether the queues of the port hold packets that it may send.
    fn has_queued(&self, port: u32) -> bool;
    /// Bytes queued of a class.
    fn queued(&self, port: u32, class: u8) -> u64;
    /// The next of these classes in round-robin order.
    fn choose_class(&self, port: u32, classes: u8) -> u8;
    /// The class served last.
    fn last_class(&self, port: u32) -> u8;
    /// Notes that a class was served.
    fn set_last_class(&mut self, port: u32, class: u8);
    /// Sends a queued packet of a port, if it may send one. Returns whether it did.
    fn send_queued(&mut self, port: u32) -> bool;
    /// Sends a packet past the queues.
    fn send(&mut self, port: u32, packet: Self::Packet);
    /// Puts a data packet into its class's queue.
    fn enqueue(&mut self, port: u32, packet: Self::Packet);
    /// Serves the NIC again at a time.
    fn wake_port(&mut self, port: u32, at: Time);
}
