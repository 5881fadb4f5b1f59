//! Dart's headers in RoCEv2 packets. The paper publishes no layout; this one is ours, in network byte order.
//!
//! [`DartData`] follows the BTH of every data packet (12 bytes):
//!
//! | byte | field |
//! |---|---|
//! | 0 | start (bit 7), end (bit 6), list follows (bit 5), lane (bit 4), tokens (bits 3-1), reserved (bit 0) |
//! | 1 | tenant |
//! | 2-3 | weight |
//! | 4-7 | message |
//! | 8-9 | attempt |
//! | 10-11 | reserved |
//!
//! [`SenderList`] follows it in the first packet of an incast's message, if the message announces the incast
//! (look-ahead, Dart III-D; 6 bytes and 2 per sender):
//!
//! | byte | field |
//! |---|---|
//! | 0-3 | incast |
//! | 4-5 | count of senders |
//! | 6- | senders, 2 bytes each |
//!
//! [`DartAck`] follows the AETH of every ACK (4 bytes). With n active senders of weight 1, it carries the share 1 of n:
//!
//! | byte | field |
//! |---|---|
//! | 0-1 | parts of the line that are the sender's |
//! | 2-3 | parts that the line has; 0 of 0 says nothing |
//!
//! Padding comes once, after list and payload, to a multiple of 4 bytes. Reserved bits are sent as 0, and a packet with
//! other values is refused: unlike those of the standards they may have any meaning in a later layout.
//!
//! To identify the header after the BTH, Dart's packets have their own opcodes from the range 0xC0-0xFF that InfiniBand
//! leaves to manufacturers (section 9.2.1): [`DART_SEND`](crate::opcode::DART_SEND) and
//! [`DART_ACKNOWLEDGE`](crate::opcode::DART_ACKNOWLEDGE). The start and end of a message are only in [`DartData`],
//! which switches have to read anyway. NACKs and CNPs have no Dart header.

use crate::error::{WireError, put, require, take, take_slice, wrong};
use core::fmt;

const DATA: &str = "Dart data";
const LIST: &str = "sender list";
const ACK: &str = "Dart ACK";

/// Dart's header in a data packet, with the list of senders if there is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DartData<'a> {
    /// Whether the packet starts a message.
    pub start: bool,
    /// Whether it ends a message.
    pub end: bool,
    /// Virtual lane; 0 (escape lane) or 1 (may be deflected).
    pub lane: u8,
    /// Deflections that its message may still take; below 8.
    pub tokens: u8,
    /// Tenant that it belongs to.
    pub tenant: u8,
    /// Weight of its message among those of other senders.
    pub weight: u16,
    /// Number of the message.
    pub message: u32,
    /// Number of earlier attempts of the message, modulo 2^16.
    pub attempt: u16,
    /// The incast that the message belongs to; only in its first packet.
    pub list: Option<SenderList<'a>>,
}

impl<'a> DartData<'a> {
    /// Bytes of the header without a list.
    pub const LEN: usize = 12;

    /// Bytes of header and list: what [`DartData::encode`] writes.
    pub fn wire_len(&self) -> usize {
        Self::LEN + self.list.map_or(0, |list| list.wire_len())
    }

    /// Writes header and list to the front of `buffer` and returns their length.
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Field`] for a lane or tokens out of range, a list that is too long, and a
    /// list where no message starts.
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        require(self.lane < 2, DATA, "lane", self.lane, "0 or 1")?;
        require(self.tokens < 8, DATA, "tokens", self.tokens, "below 8")?;
        let listed = self.list.is_some();
        only_at_start(listed, self.start)?;
        let flags =
            (self.start as u8) << 7 | (self.end as u8) << 6 | (listed as u8) << 5 | self.lane << 4 | self.tokens << 1;
        let [w0, w1] = self.weight.to_be_bytes();
        let [m0, m1, m2, m3] = self.message.to_be_bytes();
        let [a0, a1] = self.attempt.to_be_bytes();
        let at = put(DATA, buffer, [flags, self.tenant, w0, w1, m0, m1, m2, m3, a0, a1, 0, 0])?;
        match self.list {
            Some(list) => Ok(at + list.encode(&mut buffer[at..])?),
            None => Ok(at),
        }
    }

    /// Reads header and list from the front of `bytes`; also returns the bytes after them.
    ///
    /// # Errors
    /// [`WireError::Truncated`]; [`WireError::Field`] for reserved bits that are not 0, and for a list where no message
    /// starts.
    pub fn decode(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), WireError> {
        let (&[flags, tenant, w0, w1, m0, m1, m2, m3, a0, a1, r0, r1], rest) = take(DATA, bytes)?;
        require(flags & 1 == 0, DATA, "reserved bit of byte 0", flags & 1, "0")?;
        let reserved = u16::from_be_bytes([r0, r1]);
        require(reserved == 0, DATA, "reserved bytes 10-11", reserved, "0")?;
        let (start, listed) = (flags & 0x80 != 0, flags & 0x20 != 0);
        only_at_start(listed, start)?;
        let (list, rest) = if listed {
            let (list, rest) = SenderList::decode(rest)?;
            (Some(list), rest)
        } else {
            (None, rest)
        };
        let header = Self {
            start,
            end: flags & 0x40 != 0,
            lane: flags >> 4 & 1,
            tokens: flags >> 1 & 7,
            tenant,
            weight: u16::from_be_bytes([w0, w1]),
            message: u32::from_be_bytes([m0, m1, m2, m3]),
            attempt: u16::from_be_bytes([a0, a1]),
            list,
        };
        Ok((header, rest))
    }
}

/// Receivers count an incast once, when a message of it starts; a list in a later packet would be useless.
fn only_at_start(listed: bool, start: bool) -> Result<(), WireError> {
    require(!listed || start, DATA, "list", listed, "0 where no message starts")
}

/// An incast and its senders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SenderList<'a> {
    /// Number of the incast, the same in all its messages.
    pub incast: u32,
    /// The senders; at most 65,535.
    pub senders: Senders<'a>,
}

impl<'a> SenderList<'a> {
    /// Bytes before the first sender.
    pub const HEADER_LEN: usize = 6;
    /// Bytes of each sender.
    pub const ENTRY_LEN: usize = 2;

    /// Bytes of the list: what [`SenderList::encode`] writes.
    pub fn wire_len(&self) -> usize {
        Self::HEADER_LEN + Self::ENTRY_LEN * self.senders.len()
    }

    /// Writes the list to the front of `buffer` and returns its length.
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Field`] for more senders than 65,535.
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let Ok(count) = u16::try_from(self.senders.len()) else {
            return Err(wrong(LIST, "count", self.senders.len() as u64, "below 2^16"));
        };
        let len = self.wire_len();
        let missing = len.saturating_sub(buffer.len());
        let list = buffer.get_mut(..len).ok_or(WireError::NoRoom { header: LIST, missing })?;
        let [i0, i1, i2, i3] = self.incast.to_be_bytes();
        let [c0, c1] = count.to_be_bytes();
        let at = put(LIST, list, [i0, i1, i2, i3, c0, c1])?;
        for (entry, sender) in list[at..].chunks_exact_mut(Self::ENTRY_LEN).zip(self.senders.iter()) {
            entry.copy_from_slice(&sender.to_be_bytes());
        }
        Ok(len)
    }

    /// Reads the list from the front of `bytes`; also returns the bytes after it.
    ///
    /// # Errors
    /// [`WireError::Truncated`], also where the count is larger than the number of senders that follow.
    pub fn decode(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), WireError> {
        let (&[i0, i1, i2, i3, c0, c1], rest) = take(LIST, bytes)?;
        let count = u16::from_be_bytes([c0, c1]) as usize;
        let (entries, rest) = take_slice(LIST, rest, Self::ENTRY_LEN * count)?;
        let senders = Senders(Ids::Wire(entries));
        Ok((Self { incast: u32::from_be_bytes([i0, i1, i2, i3]), senders }, rest))
    }
}

/// Numbers of hosts, in the caller's memory or in that of a packet; equal where the numbers are.
#[derive(Clone, Copy)]
pub struct Senders<'a>(Ids<'a>);

#[derive(Clone, Copy)]
enum Ids<'a> {
    Numbers(&'a [u16]),
    /// Two bytes each.
    Wire(&'a [u8]),
}

impl<'a> Senders<'a> {
    /// These hosts.
    pub const fn new(ids: &'a [u16]) -> Self {
        Self(Ids::Numbers(ids))
    }

    /// Number of senders.
    pub const fn len(&self) -> usize {
        match self.0 {
            Ids::Numbers(ids) => ids.len(),
            Ids::Wire(bytes) => bytes.len() / SenderList::ENTRY_LEN,
        }
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Iterates over the senders.
    pub fn iter(&self) -> impl Iterator<Item = u16> + Clone + 'a {
        let (numbers, bytes) = match self.0 {
            Ids::Numbers(ids) => (ids, &[][..]),
            Ids::Wire(bytes) => (&[][..], bytes),
        };
        let (pairs, _) = bytes.as_chunks();
        numbers.iter().copied().chain(pairs.iter().map(|pair| u16::from_be_bytes(*pair)))
    }
}

impl PartialEq for Senders<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}
impl Eq for Senders<'_> {}

impl fmt::Debug for Senders<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Dart's header in an ACK: the sender's share of the line (Dart III-A; as a fraction, so that it also expresses
/// weights).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DartAck {
    /// Numerator of the share; at most `of`, and 0 only if that is.
    pub parts: u16,
    /// Denominator of the share; 0 for no share.
    pub of: u16,
}

impl DartAck {
    /// Bytes of the header.
    pub const LEN: usize = 4;

    /// Without a share.
    pub const NOTHING: Self = Self { parts: 0, of: 0 };

    /// Writes the header to the front of `buffer` and returns its length.
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Field`] for parts that are no share.
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        self.check()?;
        let ([p0, p1], [o0, o1]) = (self.parts.to_be_bytes(), self.of.to_be_bytes());
        put(ACK, buffer, [p0, p1, o0, o1])
    }

    /// Reads the header from the front of `bytes`; also returns the bytes after it.
    ///
    /// # Errors
    /// [`WireError::Truncated`]; [`WireError::Field`] for parts that are no share.
    pub fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (&[p0, p1, o0, o1], rest) = take(ACK, bytes)?;
        let header = Self { parts: u16::from_be_bytes([p0, p1]), of: u16::from_be_bytes([o0, o1]) };
        header.check()?;
        Ok((header, rest))
    }

    fn check(&self) -> Result<(), WireError> {
        require(self.parts <= self.of, ACK, "parts", self.parts, "at most the parts of the line")?;
        require((self.parts == 0) == (self.of == 0), ACK, "parts", self.parts, "1 or more of a line that has parts")
    }
}
