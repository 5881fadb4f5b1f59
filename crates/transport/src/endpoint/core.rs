//! An endpoint without socket and clock: datagrams and the time go in, datagrams and events come out.

use super::around::{Around, PORT};
use super::config::{Config, UNNAMED};
use super::datagram::{self, Head, VERSION};
use super::peer::Peer;
use super::sip::Key;
use crate::Formats;
use crate::station::Station;
use fanin_units::{NodeId, Time};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

/// A connection of an endpoint. Numbers are never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub u32);

/// A message on a connection, numbered from 0 by its sender.
pub type Number = u32;

/// What an application gets to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The connection that this end began is open.
    Connected {
        /// It.
        peer: PeerId,
    },
    /// Another host has connected.
    Accepted {
        /// The connection.
        peer: PeerId,
        /// Where it is.
        address: SocketAddr,
        /// The number by which it calls itself.
        host: Option<u16>,
    },
    /// A message has arrived.
    Arrived {
        /// From whom.
        peer: PeerId,
        /// Its number.
        message: Number,
        /// Its content.
        content: Vec<u8>,
    },
    /// All of a message has arrived at its receiver.
    Sent {
        /// The receiver.
        peer: PeerId,
        /// Its number.
        message: Number,
    },
    /// A message has not been sent, or not known to be.
    Failed {
        /// The receiver.
        peer: PeerId,
        /// Its number.
        message: Number,
        /// Why.
        reason: Reason,
    },
    /// A connection has ended. Its messages have failed before.
    Lost {
        /// It.
        peer: PeerId,
        /// Why.
        reason: Reason,
    },
}

/// Why something failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nothing has been heard of the other end.
    Silent,
    /// The other end ended it.
    Ended,
    /// This end did.
    Closed,
    /// The other end has as many connections as it wants.
    Full,
    /// The other end has another scheme, other parameters or other sizes.
    Different,
    /// The other end has another version of the protocol.
    Version,
    /// The number of this host is in use at the other end.
    HostTaken,
    /// The message is longer than the other end takes, or its list of senders is.
    TooLong,
    /// Too many retransmissions without progress.
    GivenUp,
}

impl core::fmt::Display for Reason {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Silent => "nothing has been heard of the other end",
            Self::Ended => "the other end ended the connection",
            Self::Closed => "the connection was closed here",
            Self::Full => "the other end takes no more connections",
            Self::Different => "the other end has another scheme, other parameters or another size of packets",
            Self::Version => "the other end has another version of the protocol",
            Self::HostTaken => "the number of this host is in use at the other end",
            Self::TooLong => "the message, or its list of senders, is longer than the other end takes",
            Self::GivenUp => "too many retransmissions without progress",
        })
    }
}

/// Why a message was not posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostError {
    /// There is no such connection.
    NoPeer,
    /// It has no content.
    Empty,
    /// A connection has at most 2^24 messages: open another one.
    TooMany,
    /// The list of an incast's senders has a number of a host above 32767, or too many.
    Senders,
}

impl core::fmt::Display for PostError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::NoPeer => "there is no such connection, or it has ended",
            Self::Empty => "a message has at least one byte",
            Self::TooMany => "a connection carries at most 2^24 messages: open another one",
            Self::Senders => "an incast has at most 1024 senders, with numbers below 32768",
        })
    }
}

impl std::error::Error for PostError {}

/// A datagram that leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Its receiver.
    pub to: SocketAddr,
    /// Whether it may be marked: ECT(0) in its IP header.
    pub ect: bool,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// What has happened to datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Datagrams that arrived.
    pub arrived: u64,
    /// Cut, too long, or of no kind or version that this end knows.
    pub malformed: u64,
    /// Of no connection, or not from its address.
    pub unknown: u64,
    /// With a tag of another key.
    pub forged: u64,
    /// Of a number that had arrived before.
    pub replayed: u64,
    /// Set-ups of connections without a cookie that holds.
    pub without_cookie: u64,
    /// Connections refused.
    pub refused: u64,
    /// Invalid packets: a wrong offset, outside the window, an ACK of more than was posted, or an unknown message.
    pub out_of_place: u64,
    /// Packets that arrived with a mark.
    pub marked: u64,
}

/// A message at the host: whose it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Local {
    pub peer: u32,
    pub number: Number,
    pub outgoing: bool,
}

/// An endpoint without socket and clock.
pub struct Core {
    pub(super) config: Config,
    pub(super) formats: Formats,
    pub(super) fingerprint: u64,
    pub(super) station: Station<Around>,
    /// The key of cookies, and the word from which numbers are drawn.
    pub(super) cookies: Key,
    pub(super) draws: (u64, u64),
    pub(super) now: Time,
    pub(super) peers: BTreeMap<u32, Peer>,
    /// Connections by address and the number that their client drew.
    pub(super) openings: BTreeMap<(SocketAddr, u64), u32>,
    pub(super) locals: BTreeMap<u32, Local>,
    pub(super) next_peer: u32,
    pub(super) next_local: u32,
    /// When a peer is due next.
    pub(super) due: Time,
    pub(super) out: VecDeque<Datagram>,
    pub(super) events: VecDeque<Event>,
    pub(super) counts: Counts,
    pub(super) scratch: Vec<u8>,
}

impl Core {
    /// An endpoint at time zero. `random` is what nobody else can know.
    ///
    /// # Errors
    /// What is wrong with its configuration.
    pub fn new(config: Config, random: [u64; 4]) -> Result<Self, String> {
        config.check()?;
        let node = NodeId(u32::from(config.host.unwrap_or(UNNAMED - 1)));
        let around = Around {
            rate: config.rate,
            rtt: config.rtt,
            payload: u32::from(config.payload),
            wire: config.largest(),
            rtts: BTreeMap::new(),
        };
        Ok(Self {
            formats: config.formats(),
            fingerprint: config.fingerprint(),
            station: Station::new(config.station(node, random[3]), around),
            cookies: [random[0], random[1]],
            draws: (random[2], 0),
            now: Time::ZERO,
            peers: BTreeMap::new(),
            openings: BTreeMap::new(),
            locals: BTreeMap::new(),
            next_peer: 1,
            next_local: 0,
            due: Time::NEVER,
            out: VecDeque::new(),
            events: VecDeque::new(),
            counts: Counts::default(),
            scratch: Vec::new(),
            config,
        })
    }

    /// A number that nobody can guess.
    pub(super) fn draw(&mut self) -> u64 {
        self.draws.1 += 1;
        super::sip::hash([self.draws.0, self.cookies[1]], &[], &self.draws.1.to_be_bytes())
    }

    /// Sends a datagram on a connection.
    pub(super) fn send(&mut self, to: u32, of: u8, ect: bool, body: impl FnOnce(&mut Vec<u8>)) {
        let Some(peer) = self.peers.get_mut(&to) else { return };
        peer.sent += 1;
        let mut bytes = Head { version: VERSION, kind: of, session: peer.session, number: peer.sent }.write();
        body(&mut bytes);
        datagram::seal(peer.keys.send, &mut bytes);
        self.out.push_back(Datagram { to: peer.address, ect, bytes });
    }

    /// A peer is due at a time.
    pub(super) fn ask_at(&mut self, peer: u32, at: Time) {
        if let Some(peer) = self.peers.get_mut(&peer) {
            peer.again = at;
            self.due = self.due.min(at);
        }
    }

    /// A round-trip time was measured.
    pub(super) fn measured(&mut self, id: u32, asked: u64) {
        let Some(rtt) = self.now.as_ps().checked_sub(asked).map(Time::from_ps) else { return };
        let Some(peer) = self.peers.get_mut(&id) else { return };
        peer.samples = peer.samples.saturating_add(1);
        // Below a microsecond no two hosts are apart.
        let least = peer.rtt.map_or(rtt, |known| known.min(rtt)).max(Time::from_us(1));
        peer.rtt = Some(least);
        if self.config.measure_rtt {
            self.station.directory_mut().rtts.insert(peer.node.0, least);
        }
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// See [`Config::slack`].
    pub fn slack(&self) -> Time {
        self.config.slack
    }

    /// When something is due next.
    pub fn next_at(&self) -> Time {
        self.station.next_at().min(self.due)
    }

    /// The datagram that leaves next.
    pub fn take_datagram(&mut self) -> Option<Datagram> {
        self.out.pop_front()
    }

    /// What the application gets to know next.
    pub fn take_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// What has happened to datagrams.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Totals of the host: packets, timeouts, NACKs.
    pub fn totals(&self) -> crate::Totals {
        self.station.totals()
    }

    /// Least round-trip time measured to a peer.
    pub fn rtt(&self, peer: PeerId) -> Option<Time> {
        self.peers.get(&peer.0)?.rtt
    }

    /// What is kept for others: connections, messages from them, bytes of their content, and messages of the host.
    pub fn memory(&self) -> [u64; 4] {
        let sum = |of: fn(&Peer) -> u64| self.peers.values().map(of).sum();
        let messages = sum(|peer| peer.incoming.len() as u64);
        [self.peers.len() as u64, messages, sum(Peer::kept), self.station.known() as u64]
    }

    /// The port at the other end of the one link.
    pub(super) fn far_port() -> fanin_units::PortId {
        PORT.reverse()
    }
}
