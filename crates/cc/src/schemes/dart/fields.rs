//! The fields that Dart adds to packets: their sizes, and the share of the line.

use crate::roles::HeaderOverhead;

/// Bytes that Dart adds to each data packet and to each ACK (`wire` has the layout).
pub const HEADER_OVERHEAD: HeaderOverhead = HeaderOverhead::new(12, 4);
/// Bytes of a list of senders before its first entry: the number of the incast and the number of entries.
pub const LIST_HEADER: u16 = 6;
/// Bytes of each entry.
pub const LIST_ENTRY: u16 = 2;
/// Longest list that goes with a packet.
pub const LONGEST_LIST: usize = 500;
/// Most tokens that the field on the wire can hold.
pub const MOST_TOKENS: u8 = 7;

/// Bytes of the list of `senders` hosts (III-D); 0 where there is none, or where it is too long to go with a packet.
pub fn list_bytes(senders: usize) -> u16 {
    if senders == 0 || senders > LONGEST_LIST { 0 } else { LIST_HEADER + LIST_ENTRY * senders as u16 }
}

/// A share of the line as ACKs carry it: numerator in the upper half, denominator in the lower. Zero is no share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Share {
    /// The sender's parts.
    pub parts: u16,
    /// All parts of the line.
    pub of: u16,
}

impl Share {
    /// All of the line.
    pub const ALL: Self = Self { parts: 1, of: 1 };

    /// As one field.
    pub const fn encode(self) -> u32 {
        (self.parts as u32) << 16 | self.of as u32
    }

    /// The share in a field, if it has one.
    pub const fn decode(field: u32) -> Option<Self> {
        let share = Self { parts: (field >> 16) as u16, of: field as u16 };
        if share.parts == 0 || share.of == 0 { None } else { Some(share) }
    }
}
