//! CRC-32 of IEEE 802.3 (clause 3.2.9): polynomial 0x04C11DB7, bits reflected, all ones before and after.
//!
//! A CRC is linear, so the effects of several bytes, each looked up in a table of its own, add up (XOR). Only the first
//! four meet the CRC before them, so that sixteen bytes take less than twice the time of one (Kounavis and Berry,
//! "Novel Table Lookup-Based Algorithms for High-Performance CRC Generation", IEEE Transactions on Computers 57(11),
//! 2008, who slice by 4 and 8).

/// Bytes that are looked up together.
const BLOCK: usize = 16;

/// A CRC over bytes that come in pieces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crc32(u32);

impl Crc32 {
    /// Over no bytes yet.
    pub const fn new() -> Self {
        Self(u32::MAX)
    }

    /// Adds these bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        [self.0] = advance([self.0], bytes);
    }

    /// Adds the same bytes to two CRCs, in little more time than to one.
    pub fn add_to_both(first: &mut Self, second: &mut Self, bytes: &[u8]) {
        [first.0, second.0] = advance([first.0, second.0], bytes);
    }

    /// The CRC of all bytes added. On the wire its low byte comes first.
    pub const fn finish(self) -> u32 {
        !self.0
    }
}

impl Default for Crc32 {
    fn default() -> Self {
        Self::new()
    }
}

/// CRCs after the same bytes.
fn advance<const CRCS: usize>(mut crcs: [u32; CRCS], bytes: &[u8]) -> [u32; CRCS] {
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    for block in blocks {
        crcs = after(crcs, block);
    }
    let (words, rest) = rest.as_chunks::<4>();
    for word in words {
        crcs = after(crcs, word);
    }
    for byte in rest {
        crcs = crcs.map(|crc| TABLES[0][usize::from(crc as u8 ^ byte)] ^ (crc >> 8));
    }
    crcs
}

/// CRCs after the same 4 bytes or more.
#[inline(always)]
fn after<const CRCS: usize, const N: usize>(crcs: [u32; CRCS], bytes: &[u8; N]) -> [u32; CRCS] {
    let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    // Of bytes that meet no CRC, and thus the same for all.
    let mut others = 0;
    for (at, byte) in bytes.iter().enumerate().skip(4) {
        others ^= TABLES[N - 1 - at][usize::from(*byte)];
    }
    crcs.map(|crc| {
        let [a, b, c, d] = (crc ^ word).to_le_bytes().map(usize::from);
        others ^ TABLES[N - 1][a] ^ TABLES[N - 2][b] ^ TABLES[N - 3][c] ^ TABLES[N - 4][d]
    })
}

/// `TABLES[n][byte]`: the effect on a CRC of this byte with `n` bytes after it.
static TABLES: [[u32; 256]; BLOCK] = {
    let mut tables = [[0; 256]; BLOCK];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut n = 0;
        while n < BLOCK {
            let mut bit = 0;
            while bit < 8 {
                // 0xEDB88320 is the polynomial with its bits reflected.
                crc = if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
                bit += 1;
            }
            tables[n][byte] = crc;
            n += 1;
        }
        byte += 1;
    }
    tables
};
