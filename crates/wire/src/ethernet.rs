//! Ethernet II frames (IEEE 802.3, clause 3).

use crate::crc::Crc32;
use crate::error::{WireError, put, take};

/// An Ethernet address.
pub type Mac = [u8; 6];

/// Bytes of the frame check sequence, the trailer of every frame.
pub const FCS_LEN: usize = 4;

/// Bytes of the shortest frame, FCS included; shorter ones are padded with zeros before the FCS.
pub const MIN_FRAME: usize = 64;

/// Types of the payload of a frame.
pub mod ethertype {
    /// An IPv4 packet.
    pub const IPV4: u16 = 0x0800;
    /// MAC control: flow control frames.
    pub const MAC_CONTROL: u16 = 0x8808;
}

/// The Ethernet II header.
///
/// | byte | field |
/// |---|---|
/// | 0-5 | destination address |
/// | 6-11 | source address |
/// | 12-13 | type of what follows |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ethernet {
    /// Destination address.
    pub destination: Mac,
    /// Source address.
    pub source: Mac,
    /// One of [`ethertype`], or any other.
    pub ethertype: u16,
}

impl Ethernet {
    /// Bytes of the header; the FCS is not part of it.
    pub const LEN: usize = 14;

    /// Writes the header to the front of `buffer` and returns its length.
    ///
    /// # Errors
    /// [`WireError::NoRoom`].
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let [d0, d1, d2, d3, d4, d5] = self.destination;
        let [s0, s1, s2, s3, s4, s5] = self.source;
        let [t0, t1] = self.ethertype.to_be_bytes();
        put("Ethernet", buffer, [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1])
    }

    /// Reads the header from the front of `bytes`; also returns the bytes after it.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    pub fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (&[d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1], rest) = take("Ethernet", bytes)?;
        let header = Self {
            destination: [d0, d1, d2, d3, d4, d5],
            source: [s0, s1, s2, s3, s4, s5],
            ethertype: u16::from_be_bytes([t0, t1]),
        };
        Ok((header, rest))
    }
}

/// The frame check sequence of a frame: CRC-32 from the destination address to the padding. It goes onto the wire with
/// its low byte first.
pub fn fcs(frame: &[u8]) -> u32 {
    let mut crc = Crc32::new();
    crc.add(frame);
    crc.finish()
}
