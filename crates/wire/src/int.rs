//! HPCC's in-network telemetry (HPCC 4.1, Fig. 7), which switches write into data packets and ACKs carry back.
//!
//! [`IntHeader`] is between the UDP header and the BTH, on data packets and on their ACKs. The figure draws the fields
//! in order and names their bits; here the first one is in the highest bits of the first byte, as in all network
//! headers:
//!
//! | byte | field |
//! |---|---|
//! | 0-1 | nHop (bits 15-12), pathID (bits 11-0) |
//! | 2-9 | first switch's record |
//! | 10-17 | second switch's record, and so on |
//!
//! [`IntRecord`], 64 bits:
//!
//! | bits | field |
//! |---|---|
//! | 63-60 | B: type of the egress port's speed; `fanin_cc::IntFields::SPEEDS` has a list |
//! | 59-36 | TS: when the packet was emitted, nanoseconds modulo 2^24 |
//! | 35-16 | txBytes: sent from the egress port so far, units of 128 B modulo 2^20 |
//! | 15-0 | qLen: of the egress port, units of 80 B, 2^16 - 1 for that and more |
//!
//! A sender starts with two bytes of 0, and the header grows by a record per switch, up to 42 bytes with five. Further
//! switches have no room for a record, but increment nHop and add their number to pathID. nHop saturates at 15.
//! (Simulations count 42 bytes from the first link on, as HPCC 5.1 does.)
//!
//! Switches modify it, so an end-to-end checksum (ICRC) cannot cover it.
//!
//! Nothing in the figure distinguishes a packet with telemetry from one without, so [`Packet`](crate::Packet) does not
//! guess: a reader must know from elsewhere (a DSCP, a UDP port) that the header is present.

use crate::error::{WireError, put, require, take};

const INT: &str = "INT";

/// A switch's record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IntRecord {
    /// B; below 2^4.
    pub speed: u8,
    /// TS; below 2^24.
    pub time: u32,
    /// txBytes; below 2^20.
    pub sent: u32,
    /// qLen.
    pub queued: u16,
}

impl IntRecord {
    /// Bytes of a record.
    pub const LEN: usize = 8;

    /// Writes the record to the front of `buffer` and returns its length.
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Field`] for a speed, time or count out of range.
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        require(self.speed < 1 << 4, INT, "B", self.speed, "below 2^4")?;
        require(self.time < 1 << 24, INT, "TS", self.time, "below 2^24")?;
        require(self.sent < 1 << 20, INT, "txBytes", self.sent, "below 2^20")?;
        let bits = (self.speed as u64) << 60 | (self.time as u64) << 36 | (self.sent as u64) << 16 | self.queued as u64;
        put(INT, buffer, bits.to_be_bytes())
    }

    /// Reads the record from the front of `bytes`; also returns the bytes after it.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    pub fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (record, rest) = take(INT, bytes)?;
        let bits = u64::from_be_bytes(*record);
        let record = Self {
            speed: (bits >> 60) as u8,
            time: (bits >> 36) as u32 & 0xFF_FFFF,
            sent: (bits >> 16) as u32 & 0xF_FFFF,
            queued: bits as u16,
        };
        Ok((record, rest))
    }
}

/// The telemetry of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IntHeader {
    hops: u8,
    path: u16,
    records: [IntRecord; Self::MOST],
}

impl IntHeader {
    /// Most records.
    pub const MOST: usize = 5;
    /// Bytes of nHop and pathID.
    pub const HEAD_LEN: usize = 2;
    /// Bytes with all records.
    pub const MOST_LEN: usize = Self::HEAD_LEN + Self::MOST * IntRecord::LEN;

    /// A switch adds itself: one to nHop, its number (12 bits) to pathID, and its record while there is room.
    pub fn push(&mut self, switch: u16, record: IntRecord) {
        if let Some(free) = self.records.get_mut(self.hops as usize) {
            *free = record;
        }
        self.hops = (self.hops + 1).min(15);
        self.path ^= switch & 0xFFF;
    }

    /// nHop: number of switches on the path, in 4 bits.
    pub fn hops(&self) -> u8 {
        self.hops
    }

    /// pathID: XOR of the switches' numbers.
    pub fn path(&self) -> u16 {
        self.path
    }

    /// The records, first switch first.
    pub fn records(&self) -> &[IntRecord] {
        &self.records[..(self.hops as usize).min(Self::MOST)]
    }

    /// Bytes of the header: what [`IntHeader::encode`] writes.
    pub fn wire_len(&self) -> usize {
        Self::HEAD_LEN + self.records().len() * IntRecord::LEN
    }

    /// Writes the header to the front of `buffer` and returns its length.
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Field`] for a record that does not fit.
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let len = self.wire_len();
        let missing = len.saturating_sub(buffer.len());
        let buffer = buffer.get_mut(..len).ok_or(WireError::NoRoom { header: INT, missing })?;
        let mut at = put(INT, buffer, ((self.hops as u16) << 12 | self.path).to_be_bytes())?;
        for record in self.records() {
            at += record.encode(&mut buffer[at..])?;
        }
        Ok(at)
    }

    /// Reads the header from the front of `bytes`; also returns the bytes after it.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    pub fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (head, mut rest) = take(INT, bytes)?;
        let head = u16::from_be_bytes(*head);
        let mut header = Self { hops: (head >> 12) as u8, path: head & 0xFFF, ..Self::default() };
        let count = header.records().len();
        let missing = (count * IntRecord::LEN).saturating_sub(rest.len());
        if missing > 0 {
            return Err(WireError::Truncated { header: INT, missing });
        }
        for record in &mut header.records[..count] {
            (*record, rest) = IntRecord::decode(rest)?;
        }
        Ok((header, rest))
    }
}
