//! A peer: the state of a connection, and of the messages on it.

use super::sip::{self, Key};
use fanin_units::{MessageId, NodeId, Time};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// What is not answered is sent again after this time, then after twice as long, up to the longest.
const AGAIN: Time = Time::from_ms(20);
const LONGEST: Time = Time::from_s(1);

/// The wait before the next try.
pub(super) fn wait(tries: u32) -> Time {
    AGAIN.saturating_mul(1 << tries.min(16)).min(LONGEST)
}

/// Where a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// A client that has no cookie yet.
    Asking,
    /// A client that has come with its cookie.
    Opening { time: u64, cookie: u64 },
    /// A server that has accepted, and has not heard its client since.
    Half,
    /// Both ends know.
    Open,
}

/// A message to a peer.
pub(super) struct Outgoing {
    /// Its number at the host.
    pub local: MessageId,
    pub content: Arc<[u8]>,
    pub incast: Option<(u32, Arc<[u32]>)>,
    pub phase: Phase,
}

/// Where a message to a peer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It waits until fewer are open.
    Waiting,
    /// Its receiver has been told of it so often, and is told again at this time.
    Announced { tries: u32, again: Time },
    /// It is being sent.
    Sending,
}

/// A message from a peer.
pub(super) struct Incoming {
    /// Its number at the host.
    pub local: MessageId,
    pub bytes: u64,
    /// Payload of its first packet, and of the others.
    pub first: u64,
    pub payload: u64,
    /// What has arrived of it, up to the first gap and, of selective retransmission, behind.
    pub content: Vec<u8>,
    /// It has arrived, and the application has it.
    pub done: bool,
}

/// The payload of the packet of a message of so many bytes that begins at `offset`; `None` where none does.
pub(super) fn packet_at(offset: u64, bytes: u64, first: u64, payload: u64) -> Option<u64> {
    let left = bytes.checked_sub(offset).filter(|left| *left > 0)?;
    match offset {
        0 => Some(left.min(first)),
        _ if offset >= first && (offset - first).is_multiple_of(payload) => Some(left.min(payload)),
        _ => None,
    }
}

/// The numbers of datagrams that have arrived: the highest, and which of those just below it.
#[derive(Debug, Default)]
pub(super) struct Seen {
    highest: u64,
    /// Bit n % 2048: number n has arrived, of the last 2048.
    bits: Vec<u64>,
}

const SEEN: u64 = 2048;

impl Seen {
    /// Whether this number is new. It counts as seen from now on. Numbers that are too old count as seen.
    pub fn is_new(&mut self, number: u64) -> bool {
        if self.bits.is_empty() {
            self.bits = vec![0; SEEN as usize / 64];
        }
        if number == 0 || self.highest.saturating_sub(number) >= SEEN {
            return false;
        }
        let at = |number: u64| ((number % SEEN / 64) as usize, 1u64 << (number % 64));
        if number > self.highest {
            let from = (self.highest + 1).max(number.saturating_sub(SEEN - 1));
            for skipped in from..=number {
                let (word, bit) = at(skipped);
                self.bits[word] &= !bit;
            }
            self.highest = number;
        }
        let (word, bit) = at(number);
        let new = self.bits[word] & bit == 0;
        self.bits[word] |= bit;
        new
    }
}

/// The keys of a connection, by direction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Keys {
    pub send: Key,
    pub receive: Key,
}

impl Keys {
    /// Those of one end, from the shared secret and the numbers that the two ends have drawn.
    pub fn new(secret: Key, client: u64, server: u64, is_client: bool) -> Self {
        let word = |label: u64| {
            let parts: Vec<u8> = [label, client, server].iter().flat_map(|word| word.to_be_bytes()).collect();
            sip::hash(secret, &parts, b"fanin")
        };
        let (up, down) = ([word(1), word(2)], [word(3), word(4)]);
        if is_client { Self { send: up, receive: down } } else { Self { send: down, receive: up } }
    }
}

/// A peer.
pub(super) struct Peer {
    pub address: SocketAddr,
    pub state: State,
    /// Whether this end is the client.
    pub is_client: bool,
    /// The numbers that client and server have drawn.
    pub drawn: (u64, u64),
    /// The number that the other end gave to the connection.
    pub session: u32,
    pub keys: Keys,
    /// Datagrams sent.
    pub sent: u64,
    pub seen: Seen,
    /// Its name at the host.
    pub node: NodeId,
    /// The number by which it calls itself.
    pub host: Option<u16>,
    /// Least round-trip time measured, and how often it was.
    pub rtt: Option<Time>,
    pub samples: u32,
    /// When it was heard last; before it ever was, when the connection began.
    pub heard: Time,
    /// Next datagram of the set-up, or probe.
    pub again: Time,
    /// When the last one was sent, and how many.
    pub asked: Time,
    pub tries: u32,
    pub outgoing: BTreeMap<u32, Outgoing>,
    pub incoming: BTreeMap<u32, Incoming>,
    /// The number of the next message to it.
    pub next: u32,
    /// Its oldest message that is open.
    pub oldest: u32,
}

impl Peer {
    /// A new connection.
    pub fn new(address: SocketAddr, state: State, drawn: (u64, u64), node: NodeId, now: Time) -> Self {
        Self {
            address,
            state,
            is_client: state == State::Asking,
            drawn,
            session: 0,
            keys: Keys::default(),
            sent: 0,
            seen: Seen::default(),
            node,
            host: None,
            rtt: None,
            samples: 0,
            heard: now,
            again: now,
            asked: now,
            tries: 0,
            outgoing: BTreeMap::new(),
            incoming: BTreeMap::new(),
            next: 0,
            oldest: 0,
        }
    }

    /// The oldest message to it that is open.
    pub fn oldest_outgoing(&self) -> u32 {
        self.outgoing.first_key_value().map_or(self.next, |(number, _)| *number)
    }

    /// Bytes announced of messages from it that are not complete.
    pub fn unfinished(&self) -> u64 {
        self.incoming.values().filter(|of| !of.done).map(|of| of.bytes).sum()
    }

    /// Bytes of content of messages from it that are kept.
    pub fn kept(&self) -> u64 {
        self.incoming.values().map(|of| of.content.capacity() as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_new_once_and_old_ones_never() {
        let mut seen = Seen::default();
        assert!(!seen.is_new(0), "numbers begin at 1");
        assert!(seen.is_new(1) && !seen.is_new(1));
        assert!(seen.is_new(5) && seen.is_new(3) && !seen.is_new(3) && seen.is_new(2));
        assert!(seen.is_new(5 + SEEN) && !seen.is_new(5) && !seen.is_new(4), "too old");
        assert!(seen.is_new(6) && !seen.is_new(6), "the oldest that can be told");
        assert!(seen.is_new(1 << 40) && !seen.is_new(5 + SEEN));
        for number in (1 << 40) + 1 - SEEN..1 << 40 {
            assert!(seen.is_new(number) && !seen.is_new(number));
        }
        assert!(seen.is_new(u64::MAX) && !seen.is_new(u64::MAX) && seen.is_new(u64::MAX - 1));
    }

    #[test]
    fn packets_of_a_message_are_on_a_grid() {
        let at = |offset| packet_at(offset, 2500, 900, 1000);
        assert_eq!([0, 900, 1900].map(at), [Some(900), Some(1000), Some(600)]);
        assert!([1, 899, 901, 1000, 2500, u64::MAX].map(at).iter().all(Option::is_none));
        assert_eq!(packet_at(0, 1, 900, 1000), Some(1));
    }
}
