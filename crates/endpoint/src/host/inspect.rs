//! Read-only queries of hosts from outside.

use super::{Carrier, HostTotals, Hosts, Incoming, RecvQp, SendQp, TcpEnd};
use crate::tcp::State;
use crate::{Pacer, rc};
use fanin_units::{MessageId, NodeId};

impl<P: Copy> Hosts<P> {
    /// Totals so far.
    pub fn totals(&self) -> &HostTotals {
        &self.totals
    }

    /// How many hosts there are.
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// A sender, where the slot is in use.
    pub fn sender(&self, slot: u32) -> Option<&SendQp<P>> {
        self.senders.get(slot as usize).filter(|sender| sender.id != MessageId::NONE)
    }

    /// All senders that are open.
    pub fn senders(&self) -> impl Iterator<Item = &SendQp<P>> {
        self.senders.iter().filter(|sender| sender.id != MessageId::NONE)
    }

    /// A receiver, where the slot is in use.
    pub fn receiver(&self, slot: u32) -> Option<&RecvQp<P>> {
        self.receivers.get(slot as usize).filter(|receiver| receiver.id != MessageId::NONE)
    }

    /// The byte that a queue pair of RDMA expects next; `None` for a TCP connection.
    pub fn expected(&self, slot: u32) -> Option<u64> {
        match &self.receivers[slot as usize].incoming {
            Incoming::Rdma(half) => Some(half.expected()),
            Incoming::Whole(half) => Some(half.expected()),
            Incoming::Kept => Some(self.kept[slot as usize].expected()),
            Incoming::Tcp(_) | Incoming::Gone => None,
        }
    }

    /// All receivers that are open.
    pub fn receivers(&self) -> impl Iterator<Item = (u32, &RecvQp<P>)> {
        (0..).zip(&self.receivers).filter(|(_, receiver)| receiver.id != MessageId::NONE)
    }

    /// The port of a NIC.
    pub fn port_of(&self, nic: u32) -> u32 {
        self.nics[nic as usize].port
    }
}

impl<P: Copy> SendQp<P> {
    /// The message that opened it.
    pub fn id(&self) -> MessageId {
        self.id
    }

    /// Its traffic.
    pub fn traffic(&self) -> u16 {
        self.traffic
    }

    /// Its scheme, and its slot there.
    pub fn scheme(&self) -> (u16, u32) {
        (self.scheme, self.cc)
    }

    /// The NIC that it leaves by.
    pub fn nic(&self) -> u32 {
        self.nic
    }

    /// The class of its packets.
    pub fn class(&self) -> u8 {
        self.class
    }

    /// Window and pacing.
    pub fn pacer(&self) -> &Pacer {
        &self.pacer
    }

    /// Data packets sent, those of them that had been sent before, and how often it set out.
    pub fn counts(&self) -> (u32, u32, u16) {
        (self.sent, self.resent, self.attempt.saturating_add(1))
    }

    /// Its transport.
    pub fn carrier(&self) -> &Carrier {
        &self.carrier
    }

    /// Its queue pair's sending half, where it is one of RDMA.
    pub fn as_rdma(&self) -> Option<&rc::SendHalf> {
        match &self.carrier {
            Carrier::Rdma(half) => Some(half),
            Carrier::Selective(half) => Some(half.stream()),
            Carrier::Tcp(_) => None,
        }
    }

    /// The end of a TCP connection that it is, where it is one.
    pub fn as_tcp(&self) -> Option<&TcpEnd> {
        match &self.carrier {
            Carrier::Tcp(end) => Some(end),
            Carrier::Rdma(_) | Carrier::Selective(_) => None,
        }
    }
}

impl<P: Copy> RecvQp<P> {
    /// The message that opened it.
    pub fn id(&self) -> MessageId {
        self.id
    }

    /// Its traffic.
    pub fn traffic(&self) -> u16 {
        self.traffic
    }

    /// Its sender.
    pub fn from(&self) -> NodeId {
        self.from
    }

    /// Data packets received, those of them that were marked, and those that arrived after a later one of their
    /// attempt.
    pub fn counts(&self) -> (u32, u32, u32) {
        (self.arrived, self.marked, self.reordered)
    }
}

impl TcpEnd {
    /// Whether the connection is not open yet.
    pub fn is_opening(&self) -> bool {
        matches!(self.connection.state(), State::Listen | State::SynSent | State::SynReceived)
    }

    /// The peer's window in bytes, as its last ACK gave it in units of 2^scale; `None` before the handshake.
    pub fn peer_window(&self) -> Option<u64> {
        (!self.is_opening()).then(|| self.connection.peer_window())
    }

    /// Offset in the stream of the next byte that it sends; see [`crate::tcp::Connection::next_offset`].
    pub fn next_offset(&self) -> Option<u64> {
        self.connection.next_offset()
    }
}
