//! RoCEv2: InfiniBand transport headers in UDP (InfiniBand Architecture Specification volume 1, chapter 9, and its
//! Annex A17).

use crate::crc::Crc32;
use crate::error::{WireError, put, require, take};
use crate::ethernet::Ethernet;
use crate::ip::{Ipv4, Udp};

/// Bytes of the invariant CRC, the trailer of every RoCEv2 packet.
pub const ICRC_LEN: usize = 4;

/// Bytes after the BTH of a CNP. All reserved: sent as 0, ignored when read (Annex A17.9.3).
pub const CNP_RESERVED: usize = 16;

/// The partition that every port belongs to.
pub const DEFAULT_PARTITION: u16 = 0xFFFF;

/// Opcodes of a BTH. Reliable connection unless stated.
pub mod opcode {
    /// First packet of a message of several.
    pub const SEND_FIRST: u8 = 0x00;
    /// A packet between first and last.
    pub const SEND_MIDDLE: u8 = 0x01;
    /// Last packet of a message of several.
    pub const SEND_LAST: u8 = 0x02;
    /// The one packet of a message.
    pub const SEND_ONLY: u8 = 0x04;
    /// ACK or NACK; an AETH follows.
    pub const ACKNOWLEDGE: u8 = 0x11;
    /// Congestion notification packet; no transport service of its own.
    pub const CNP: u8 = 0x81;
    /// A data packet of Dart; its [`DartData`](crate::DartData) follows. (0xC0-0xFF are the manufacturers', section
    /// 9.2.1.)
    pub const DART_SEND: u8 = 0xC0;
    /// An ACK of Dart; an AETH and a [`DartAck`](crate::DartAck) follow.
    pub const DART_ACKNOWLEDGE: u8 = 0xD1;
}

const BELOW_2_24: &str = "below 2^24";

/// The base transport header (section 9.2). Reserved bits are sent as 0 and ignored when read.
///
/// | byte | field |
/// |---|---|
/// | 0 | opcode |
/// | 1 | solicited event (bit 7), migrated (bit 6), pad count (bits 5-4), version 0 (bits 3-0) |
/// | 2-3 | partition key |
/// | 4 | FECN (bit 7), BECN (bit 6), reserved |
/// | 5-7 | destination queue pair |
/// | 8 | acknowledge request (bit 7), reserved |
/// | 9-11 | packet sequence number (PSN) |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bth {
    /// One of [`opcode`], or any other.
    pub opcode: u8,
    /// Whether the receiver should raise an event.
    pub solicited_event: bool,
    /// Set in ordinary operation (InfiniBand's state "migrated"); clear while a move to another path is prepared.
    pub migrated: bool,
    /// Bytes of padding after the payload; below 4.
    pub pad_count: u8,
    /// Partition.
    pub partition_key: u16,
    /// Forward congestion notification: the packet met congestion (InfiniBand's mark; RoCEv2 marks in the IP header).
    pub fecn: bool,
    /// Backward congestion notification: this answers a packet that met congestion. Always set in a CNP.
    pub becn: bool,
    /// Queue pair it goes to; below 2^24.
    pub destination_qp: u32,
    /// Whether the receiver should acknowledge it.
    pub ack_request: bool,
    /// Data: number of this packet. ACK: number of the last packet received in order. NACK: number of the packet
    /// expected. Below 2^24.
    pub psn: u32,
}

impl Bth {
    /// Bytes of the header.
    pub const LEN: usize = 12;

    /// Writes the header to the front of `buffer` and returns its length.
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Field`] for a pad count, queue pair or PSN out of range.
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        require(self.pad_count < 4, "BTH", "pad count", self.pad_count, "below 4")?;
        require(self.destination_qp < 1 << 24, "BTH", "destination queue pair", self.destination_qp, BELOW_2_24)?;
        require(self.psn < 1 << 24, "BTH", "PSN", self.psn, BELOW_2_24)?;
        let flags = (self.solicited_event as u8) << 7 | (self.migrated as u8) << 6 | self.pad_count << 4;
        let congestion = (self.fecn as u8) << 7 | (self.becn as u8) << 6;
        let [k0, k1] = self.partition_key.to_be_bytes();
        let [_, q0, q1, q2] = self.destination_qp.to_be_bytes();
        let request = (self.ack_request as u8) << 7;
        let [_, p0, p1, p2] = self.psn.to_be_bytes();
        put("BTH", buffer, [self.opcode, flags, k0, k1, congestion, q0, q1, q2, request, p0, p1, p2])
    }

    /// Reads the header from the front of `bytes`; also returns the bytes after it.
    ///
    /// # Errors
    /// [`WireError::Truncated`]; [`WireError::Field`] for a version other than 0.
    pub fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (&[opcode, flags, k0, k1, congestion, q0, q1, q2, request, p0, p1, p2], rest) = take("BTH", bytes)?;
        require(flags & 15 == 0, "BTH", "version", flags & 15, "0")?;
        let header = Self {
            opcode,
            solicited_event: flags & 0x80 != 0,
            migrated: flags & 0x40 != 0,
            pad_count: flags >> 4 & 3,
            partition_key: u16::from_be_bytes([k0, k1]),
            fecn: congestion & 0x80 != 0,
            becn: congestion & 0x40 != 0,
            destination_qp: u32::from_be_bytes([0, q0, q1, q2]),
            ack_request: request & 0x80 != 0,
            psn: u32::from_be_bytes([0, p0, p1, p2]),
        };
        Ok((header, rest))
    }
}

/// The syndrome of an AETH. (Section 9.7.5. "Receiver not ready" and the reserved kind are not supported.)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Syndrome {
    /// Everything up to the PSN was received.
    Ack {
        /// Coded count of receive buffers; 31 when the receiver does not count them. Below 32.
        credits: u8,
    },
    /// An error at the PSN.
    Nack {
        /// The code; 0 for a gap in the sequence numbers. Below 32.
        code: u8,
    },
}

impl Syndrome {
    /// The ACK of a receiver that does not count credits.
    pub const PLAIN_ACK: Self = Self::Ack { credits: 31 };
    /// The NACK for a gap in the sequence numbers: the sender must go back.
    pub const SEQUENCE_ERROR: Self = Self::Nack { code: 0 };
}

/// The acknowledge extended transport header (section 9.3.5). It follows the BTH of an ACK or NACK.
///
/// | byte | field |
/// |---|---|
/// | 0 | syndrome: reserved (bit 7), kind (bits 6-5: 00 ACK, 11 NACK), credits or code (bits 4-0) |
/// | 1-3 | message sequence number (MSN) |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Aeth {
    /// ACK or NACK.
    pub syndrome: Syndrome,
    /// Messages completed so far, modulo 2^24; below 2^24.
    pub msn: u32,
}

impl Aeth {
    /// Bytes of the header.
    pub const LEN: usize = 4;

    /// Writes the header to the front of `buffer` and returns its length.
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Field`] for credits, a code or an MSN out of range.
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let (kind, field, value) = match self.syndrome {
            Syndrome::Ack { credits } => (0b00, "credits", credits),
            Syndrome::Nack { code } => (0b11, "NACK code", code),
        };
        require(value < 32, "AETH", field, value, "below 32")?;
        require(self.msn < 1 << 24, "AETH", "MSN", self.msn, BELOW_2_24)?;
        let [_, m0, m1, m2] = self.msn.to_be_bytes();
        put("AETH", buffer, [kind << 5 | value, m0, m1, m2])
    }

    /// Reads the header from the front of `bytes`; also returns the bytes after it.
    ///
    /// # Errors
    /// [`WireError::Truncated`]; [`WireError::Field`] for a kind that is neither ACK nor NACK.
    pub fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (&[syndrome, m0, m1, m2], rest) = take("AETH", bytes)?;
        let value = syndrome & 31;
        let kind = syndrome >> 5 & 3;
        require(kind == 0b00 || kind == 0b11, "AETH", "kind", kind, "0 (ACK) or 3 (NACK)")?;
        let syndrome = if kind == 0b00 { Syndrome::Ack { credits: value } } else { Syndrome::Nack { code: value } };
        Ok((Self { syndrome, msn: u32::from_be_bytes([0, m0, m1, m2]) }, rest))
    }
}

/// Bytes from the IPv4 header to the BTH.
const HEADERS: usize = Ipv4::LEN + Udp::LEN + Bth::LEN;

/// Offsets, from the start of the IPv4 header, of bytes that may change on the path and are not covered by the ICRC:
/// DSCP and ECN, time to live, IPv4 checksum, UDP checksum, and the byte of the BTH with FECN and BECN. (Annex A17.3.3;
/// the last one is "Resv8a" in section 7.8.1.)
const VARIANT: [usize; 7] = [1, 8, 10, 11, 26, 27, 32];

/// The invariant CRC of a RoCEv2 packet over IPv4 without options (Annex A17.3.3). `datagram` is the IPv4 packet
/// without its last four bytes, where the ICRC goes with its low byte first.
///
/// It is the CRC-32 of Ethernet over eight bytes of ones (in place of InfiniBand's own link header) and the datagram,
/// with ones in all bytes that may change on the path.
pub fn icrc(datagram: &[u8]) -> u32 {
    let (headers, rest) = datagram.split_at(datagram.len().min(HEADERS));
    let mut crc = invariant(headers);
    crc.add(rest);
    crc.finish()
}

/// The ICRC of a frame that begins with its Ethernet header and ends before the ICRC, and the CRC of all these bytes,
/// with which its FCS begins. What both cover is read once.
pub(crate) fn icrc_and_crc(frame: &[u8]) -> (u32, Crc32) {
    let (front, rest) = frame.split_at(frame.len().min(Ethernet::LEN + HEADERS));
    let mut icrc = invariant(front.get(Ethernet::LEN..).unwrap_or_default());
    let mut crc = Crc32::new();
    crc.add(front);
    Crc32::add_to_both(&mut icrc, &mut crc, rest);
    (icrc.finish(), crc)
}

/// The CRC with which an ICRC begins. At most [`HEADERS`] bytes.
fn invariant(headers: &[u8]) -> Crc32 {
    let mut bytes = [0xFF; 8 + HEADERS];
    let bytes = &mut bytes[..8 + headers.len()];
    bytes[8..].copy_from_slice(headers);
    for offset in VARIANT {
        if let Some(byte) = bytes.get_mut(8 + offset) {
            *byte = 0xFF;
        }
    }
    let mut crc = Crc32::new();
    crc.add(bytes);
    crc
}
