//! IPv4 (RFC 791, ECN bits of RFC 3168) and UDP (RFC 768).

use crate::error::{WireError, put, require, take};

/// IPv4 protocol number of UDP.
pub const PROTOCOL_UDP: u8 = 17;

/// UDP destination port of RoCEv2.
pub const ROCE_PORT: u16 = 4791;

/// The congestion bits of an IP packet (RFC 3168, section 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: a switch drops it instead of marking it.
    NotCapable = 0,
    /// ECN-capable, ECT(1).
    Capable1 = 1,
    /// ECN-capable, ECT(0): what RoCEv2 senders set.
    Capable0 = 2,
    /// Congestion experienced: a switch marked it.
    CongestionExperienced = 3,
}

impl Ecn {
    const fn from_low_bits(byte: u8) -> Self {
        match byte & 3 {
            0 => Self::NotCapable,
            1 => Self::Capable1,
            2 => Self::Capable0,
            _ => Self::CongestionExperienced,
        }
    }
}

/// The IPv4 header without options. Its checksum is computed by `encode` and checked by `decode`.
///
/// | byte | field |
/// |---|---|
/// | 0 | version 4 (high 4 bits), length of the header in 4 B words, 5 |
/// | 1 | DSCP (high 6 bits), ECN (2 bits) |
/// | 2-3 | total length |
/// | 4-5 | identification |
/// | 6-7 | reserved, do not fragment, more fragments (1 bit each), fragment offset (13 bits) |
/// | 8 | time to live |
/// | 9 | protocol |
/// | 10-11 | header checksum |
/// | 12-15 | source address |
/// | 16-19 | destination address |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ipv4 {
    /// Differentiated services code point, the class of the packet; below 64.
    pub dscp: u8,
    /// Congestion bits.
    pub ecn: Ecn,
    /// Bytes of the IP packet, this header included; 20 or more.
    pub total_length: u16,
    /// Number of the packet, for fragments.
    pub identification: u16,
    /// Whether routers must not fragment it.
    pub dont_fragment: bool,
    /// Routers it may still cross.
    pub ttl: u8,
    /// Protocol of the payload: [`PROTOCOL_UDP`] or any other.
    pub protocol: u8,
    /// Source address.
    pub source: [u8; 4],
    /// Destination address.
    pub destination: [u8; 4],
}

impl Ipv4 {
    /// Bytes of the header.
    pub const LEN: usize = 20;

    /// Writes the header to the front of `buffer` and returns its length.
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Field`] for a DSCP of 64 or more and a total length below 20.
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        require(self.dscp < 64, "IPv4", "DSCP", self.dscp, "below 64")?;
        self.check_total_length()?;
        let [l0, l1] = self.total_length.to_be_bytes();
        let [i0, i1] = self.identification.to_be_bytes();
        let [s0, s1, s2, s3] = self.source;
        let [d0, d1, d2, d3] = self.destination;
        let tos = self.dscp << 2 | self.ecn as u8;
        let flags = (self.dont_fragment as u8) << 6;
        let mut bytes =
            [0x45, tos, l0, l1, i0, i1, flags, 0, self.ttl, self.protocol, 0, 0, s0, s1, s2, s3, d0, d1, d2, d3];
        [bytes[10], bytes[11]] = (!sum(&bytes)).to_be_bytes();
        put("IPv4", buffer, bytes)
    }

    /// Reads the header from the front of `bytes`; also returns the bytes after it, which may be more or fewer than the
    /// total length announces. The reserved bit is ignored.
    ///
    /// # Errors
    /// [`WireError::Truncated`]; [`WireError::Field`] for another version, options, fragments and a total length below
    /// 20; [`WireError::Checksum`].
    pub fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (raw, rest) = take::<{ Self::LEN }>("IPv4", bytes)?;
        let &[v, tos, l0, l1, i0, i1, f0, f1, ttl, protocol, c0, c1, s0, s1, s2, s3, d0, d1, d2, d3] = raw;
        require(v >> 4 == 4, "IPv4", "version", v >> 4, "4")?;
        require(v & 15 == 5, "IPv4", "header length in words", v & 15, "5 (options are not supported)")?;
        if sum(raw) != u16::MAX {
            let mut zeroed = *raw;
            [zeroed[10], zeroed[11]] = [0, 0];
            let found = u16::from_be_bytes([c0, c1]).into();
            return Err(WireError::Checksum { header: "IPv4", found, computed: (!sum(&zeroed)).into() });
        }
        let flags = u16::from_be_bytes([f0, f1]);
        let fragment = flags & 0x3FFF;
        require(fragment == 0, "IPv4", "fragment", fragment, "0 (fragments are not supported)")?;
        let header = Self {
            dscp: tos >> 2,
            ecn: Ecn::from_low_bits(tos),
            total_length: u16::from_be_bytes([l0, l1]),
            identification: u16::from_be_bytes([i0, i1]),
            dont_fragment: flags & 0x4000 != 0,
            ttl,
            protocol,
            source: [s0, s1, s2, s3],
            destination: [d0, d1, d2, d3],
        };
        header.check_total_length()?;
        Ok((header, rest))
    }

    fn check_total_length(&self) -> Result<(), WireError> {
        require(self.total_length as usize >= Self::LEN, "IPv4", "total length", self.total_length, "20 or more")
    }
}

/// Sum of 16-bit words in ones' complement: the checksum is its complement, and over a header with its checksum in
/// place it is all ones (RFC 1071).
fn sum(header: &[u8; Ipv4::LEN]) -> u16 {
    ones_complement([&header[..]])
}

/// The same over several parts, each of which starts with a whole word; an odd last byte is the high half of one.
pub(crate) fn ones_complement<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u16 {
    let mut total = 0u64;
    for part in parts {
        let (words, last) = part.as_chunks();
        total += words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum::<u64>();
        total += last.first().map_or(0, |byte| u64::from(*byte) << 8);
    }
    while total > 0xFFFF {
        total = (total & 0xFFFF) + (total >> 16);
    }
    total as u16
}

/// The UDP header. Its checksum is written as 0, "none", and not looked at when read: RoCEv2 over IPv4 may leave it
/// out, because the ICRC covers all that it would.
///
/// | byte | field |
/// |---|---|
/// | 0-1 | source port |
/// | 2-3 | destination port |
/// | 4-5 | length |
/// | 6-7 | checksum |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Udp {
    /// Source port. RoCEv2 does not use it to find the queue pair, so senders put a hash of the flow here for ECMP.
    pub source_port: u16,
    /// Destination port: [`ROCE_PORT`] or any other.
    pub destination_port: u16,
    /// Bytes of the datagram, this header included; 8 or more.
    pub length: u16,
}

impl Udp {
    /// Bytes of the header.
    pub const LEN: usize = 8;

    /// Writes the header to the front of `buffer` and returns its length.
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Field`] for a length below 8.
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        self.check_length()?;
        let [s0, s1] = self.source_port.to_be_bytes();
        let [d0, d1] = self.destination_port.to_be_bytes();
        let [l0, l1] = self.length.to_be_bytes();
        put("UDP", buffer, [s0, s1, d0, d1, l0, l1, 0, 0])
    }

    /// Reads the header from the front of `bytes`; also returns the bytes after it, which may be more or fewer than the
    /// length announces.
    ///
    /// # Errors
    /// [`WireError::Truncated`]; [`WireError::Field`] for a length below 8.
    pub fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (&[s0, s1, d0, d1, l0, l1, _, _], rest) = take("UDP", bytes)?;
        let header = Self {
            source_port: u16::from_be_bytes([s0, s1]),
            destination_port: u16::from_be_bytes([d0, d1]),
            length: u16::from_be_bytes([l0, l1]),
        };
        header.check_length()?;
        Ok((header, rest))
    }

    fn check_length(&self) -> Result<(), WireError> {
        require(self.length as usize >= Self::LEN, "UDP", "length", self.length, "8 or more")
    }
}
