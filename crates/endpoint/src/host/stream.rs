//! An end of a TCP connection at a host, and the positions of messages in its stream.

use super::NO_SLOT;
use crate::tcp::Connection;
use alloc::collections::VecDeque;
use core::mem;
use fanin_cc::AckFields;

/// One end of a connection.
#[derive(Debug)]
pub struct TcpEnd {
    pub(super) connection: Connection,
    /// Messages that it sends, until they are acknowledged.
    pub(super) outgoing: Boundaries,
    /// Messages that it receives, until they have arrived.
    pub(super) incoming: Boundaries,
    /// Its flow at the receiver role of its scheme; [`NO_SLOT`] until the peer's first segment.
    pub(super) receiver: u32,
    /// Whether that role decides about every ACK.
    pub(super) holds_acks: bool,
    /// What that role put on the SYN-ACK.
    pub(super) syn_fields: AckFields,
    /// The sending slot of the other end, as long as that exists; [`super::REMOTE`] for a remote one.
    pub(super) peer: u32,
    /// Whether it is the end that waited for the SYN.
    pub(super) passive: bool,
    /// Whether the application has closed it.
    pub(super) closed: bool,
}

impl TcpEnd {
    pub(super) fn new(connection: Connection, passive: bool) -> Self {
        Self {
            connection,
            outgoing: Boundaries::default(),
            incoming: Boundaries::default(),
            receiver: NO_SLOT,
            holds_acks: false,
            syn_fields: AckFields::default(),
            peer: NO_SLOT,
            passive,
            closed: false,
        }
    }

    /// The end of another connection, in the memory of this one.
    pub(super) fn renew(&mut self, connection: Connection, passive: bool) {
        let (mut outgoing, mut incoming) = (mem::take(&mut self.outgoing), mem::take(&mut self.incoming));
        outgoing.clear();
        incoming.clear();
        *self = Self { outgoing, incoming, ..Self::new(connection, passive) };
    }

    /// Whether a message is being sent, or waits for it.
    pub fn sends(&self, message: u32) -> bool {
        self.bounds(message).is_some()
    }

    /// Start and end in the stream of a message that it sends, until it is acknowledged.
    pub fn bounds(&self, message: u32) -> Option<(u64, u64)> {
        self.outgoing.messages.iter().find(|m| m.0 == message).map(|m| (m.1, m.2))
    }

    /// The message being received, and the bytes of it received.
    pub fn under_way(&self) -> Option<(u32, u64)> {
        let (message, from, _) = *self.incoming.messages.front()?;
        Some((message, self.connection.arrived_to().saturating_sub(from)))
    }
}

/// The bounds of messages in a stream.
#[derive(Debug, Default)]
pub(super) struct Boundaries {
    /// Message, offset of its first byte, offset after its last.
    messages: VecDeque<(u32, u64, u64)>,
    end: u64,
}

impl Boundaries {
    fn clear(&mut self) {
        self.messages.clear();
        self.end = 0;
    }

    pub(super) fn push(&mut self, message: u32, bytes: u64) {
        // No message after an endless one is ever sent, so its offset does not matter.
        let end = self.end.saturating_add(bytes);
        self.messages.push_back((message, self.end, end));
        self.end = end;
    }

    /// The first message: its number and its size.
    pub(super) fn first(&self) -> Option<(u32, u64)> {
        self.messages.front().map(|m| (m.0, m.2 - m.1))
    }

    /// The message that holds the byte at `offset`, with its bounds.
    #[inline]
    pub(super) fn at(&self, offset: u64) -> Option<(u32, u64, u64)> {
        let first = self.messages.front()?;
        if (first.1..first.2).contains(&offset) {
            return Some(*first);
        }
        let i = self.messages.partition_point(|m| m.2 <= offset);
        self.messages.get(i).filter(|m| m.1 <= offset).copied()
    }

    /// The next message that ends at or before `offset`, taken out.
    #[inline]
    pub(super) fn whole(&mut self, offset: u64) -> Option<u32> {
        let first = self.messages.front().filter(|m| m.2 <= offset)?.0;
        self.messages.pop_front();
        Some(first)
    }
}
