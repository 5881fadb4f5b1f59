//! The datagrams of an endpoint.
//!
//! | byte | field |
//! |---|---|
//! | 0 | version of the protocol, 1 |
//! | 1 | kind |
//! | 2-3 | 0 |
//! | 4-7 | session: the number that the receiver of the datagram gave to the connection; 0 where it has none yet |
//! | 8-15 | number of the datagram in its direction, from 1; of the set-up, a number that the client drew |
//! | 16-23 | tag: keyed hash of all other bytes |
//! | 24- | body |
//!
//! Set-up of a connection. All of these have 64 bytes, so that none is answered by more than it has. The tag's key is
//! the shared secret:
//!
//! | byte | field |
//! |---|---|
//! | 24-27, 28-31 | sessions of client and server |
//! | 32-39 | COOKIE, OPEN: when the cookie was made. ACCEPT: a number drawn by the server |
//! | 40-47 | COOKIE, OPEN: the cookie |
//! | 48-55 | OPEN, ACCEPT: fingerprint of scheme, parameters and sizes |
//! | 56-57 | OPEN, ACCEPT: number of the host, or 65535 |
//! | 58-59 | REFUSE: why |
//! | 60-63 | 0 |
//!
//! On a connection, the tag's key is that of connection and direction:
//!
//! | kind | body |
//! |---|---|
//! | FRAME | extension and frame of a packet ([`crate::frame`]); its nodes are 0 for the client and 1 for the server |
//! | SET_UP | note, and the message ([`crate::SetUp`]) |
//! | READY, REFUSED | note |
//! | PING, PONG | note |
//! | BYE | nothing |
//!
//! | byte | field of a note |
//! |---|---|
//! | 24-27 | the oldest message of the sender of this datagram that is still open |
//! | 28-31 | the message that it is about; of REFUSED, why in the upper 8 bits |
//! | 32-39 | time of whoever asked, in ps; the answer repeats it |

use super::sip::{self, Key};

/// The version of the protocol.
pub const VERSION: u8 = 1;
/// Bytes before the body.
pub const HEADER: usize = 24;
/// Bytes of a datagram of the set-up of a connection.
pub const OPENING: usize = 64;
/// Bytes of a note with the header before it.
pub const NOTE: usize = HEADER + 16;
const TAG: usize = 16;

/// Kinds of datagrams.
pub mod kind {
    /// A client asks for a cookie.
    pub const HELLO: u8 = 1;
    /// The server gives it one, and remembers nothing.
    pub const COOKIE: u8 = 2;
    /// The client comes with the cookie.
    pub const OPEN: u8 = 3;
    /// The connection is open.
    pub const ACCEPT: u8 = 4;
    /// It is not.
    pub const REFUSE: u8 = 5;
    /// A packet.
    pub const FRAME: u8 = 8;
    /// A message is about to be sent.
    pub const SET_UP: u8 = 9;
    /// Its receiver is ready for it.
    pub const READY: u8 = 10;
    /// Its receiver does not want it.
    pub const REFUSED: u8 = 11;
    /// Whether the other end is there.
    pub const PING: u8 = 12;
    /// It is.
    pub const PONG: u8 = 13;
    /// The connection ends.
    pub const BYE: u8 = 14;
}

/// The header of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// See [`VERSION`].
    pub version: u8,
    /// See [`kind`].
    pub kind: u8,
    /// See the module.
    pub session: u32,
    /// See the module.
    pub number: u64,
}

/// The body of the set-up of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// The client's session.
    pub client: u32,
    /// The server's session.
    pub server: u32,
    /// See the module.
    pub time: u64,
    /// The cookie.
    pub cookie: u64,
    /// Both ends need the same.
    pub fingerprint: u64,
    /// The number of the host, or `u16::MAX`.
    pub host: u16,
    /// Why it was refused.
    pub reason: u16,
}

/// The body of most other datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// The oldest message of its sender that is still open.
    pub oldest: u32,
    /// The message that it is about.
    pub message: u32,
    /// The time of whoever asked.
    pub time: u64,
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

impl Head {
    /// The header with an empty tag.
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = vec![self.version, self.kind, 0, 0];
        bytes.extend(self.session.to_be_bytes());
        bytes.extend(self.number.to_be_bytes());
        bytes.extend([0; HEADER - TAG]);
        bytes
    }

    /// The header of a datagram; `None` where it is cut or its zeros are none.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (session, number) = (u32_at(bytes, 4)?, u64_at(bytes, 8)?);
        let head = Self { version: bytes[0], kind: bytes[1], session, number };
        (bytes.len() >= HEADER && bytes[2..4] == [0, 0]).then_some(head)
    }
}

impl Opening {
    /// Appends it to a header.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.client.to_be_bytes());
        bytes.extend(self.server.to_be_bytes());
        for word in [self.time, self.cookie, self.fingerprint] {
            bytes.extend(word.to_be_bytes());
        }
        bytes.extend(self.host.to_be_bytes());
        bytes.extend(self.reason.to_be_bytes());
        bytes.extend([0; 4]);
    }

    /// That of a datagram, which has no other length.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != OPENING {
            return None;
        }
        let last = u32_at(bytes, 56)?;
        Some(Self {
            client: u32_at(bytes, 24)?,
            server: u32_at(bytes, 28)?,
            time: u64_at(bytes, 32)?,
            cookie: u64_at(bytes, 40)?,
            fingerprint: u64_at(bytes, 48)?,
            host: (last >> 16) as u16,
            reason: last as u16,
        })
    }
}

impl Note {
    /// Appends it to a header.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.oldest.to_be_bytes());
        bytes.extend(self.message.to_be_bytes());
        bytes.extend(self.time.to_be_bytes());
    }

    /// That of a datagram, and what follows it.
    pub fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let note = Self { oldest: u32_at(bytes, 24)?, message: u32_at(bytes, 28)?, time: u64_at(bytes, 32)? };
        Some((note, bytes.get(NOTE..)?))
    }
}

/// Writes the tag of a datagram.
pub fn seal(key: Key, bytes: &mut [u8]) {
    let tag = sip::hash(key, &bytes[..TAG], &bytes[HEADER..]);
    bytes[TAG..HEADER].copy_from_slice(&tag.to_be_bytes());
}

/// Whether a datagram has the tag of this key.
pub fn is_sealed(key: Key, bytes: &[u8]) -> bool {
    bytes.len() >= HEADER && u64_at(bytes, TAG) == Some(sip::hash(key, &bytes[..TAG], &bytes[HEADER..]))
}
