//! TCP segments (RFC 9293), with the options of RFC 7323 (window scale, timestamps) and RFC 2018 (selective
//! acknowledgement).

use crate::error::{WireError, put, require, take, take_slice};
use crate::ip::ones_complement;

/// IPv4 protocol number of TCP.
pub const PROTOCOL_TCP: u8 = 6;

/// Most SACK blocks in a segment: 40 B of options hold four.
const MOST_RUNS: usize = 4;

/// Kinds of options.
mod kind {
    pub const END: u8 = 0;
    pub const NOTHING: u8 = 1;
    pub const MSS: u8 = 2;
    pub const WINDOW_SCALE: u8 = 3;
    pub const SACK_PERMITTED: u8 = 4;
    pub const SACK: u8 = 5;
    pub const TIMESTAMPS: u8 = 8;
}

/// The TCP header.
///
/// | byte | field |
/// |---|---|
/// | 0-1 | source port |
/// | 2-3 | destination port |
/// | 4-7 | sequence number |
/// | 8-11 | acknowledgement number |
/// | 12 | length of the header in 4 B words (high 4 bits), reserved |
/// | 13 | CWR, ECE, URG, ACK, PSH, RST, SYN, FIN (from the highest bit) |
/// | 14-15 | window |
/// | 16-17 | checksum |
/// | 18-19 | urgent pointer, 0 |
/// | 20- | options, padded to a multiple of 4 bytes |
///
/// Options are written in this order: maximum segment size; timestamps or SACK permitted; window scale; SACK. Each is
/// aligned by no-operation options, as in RFC 7323 appendix A.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tcp {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Number of its first byte, or of its SYN.
    pub seq: u32,
    /// The next number that its sender expects.
    pub ack: u32,
    /// Byte 13.
    pub flags: u8,
    /// Window, unscaled as it is on the wire.
    pub window: u16,
    /// Largest segment that the sender takes; on a SYN.
    pub mss: Option<u16>,
    /// Window scale offered; on a SYN.
    pub window_scale: Option<u8>,
    /// Whether SACK is offered; on a SYN.
    pub sack_permitted: bool,
    /// Timestamp and timestamp echo.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks, as first number and number after the last.
    pub runs: Runs,
}

/// SACK blocks: at most four, or three with timestamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Runs {
    runs: [(u32, u32); MOST_RUNS],
    count: u8,
}

impl Runs {
    /// The first four of these.
    pub fn new(runs: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut all = Self::default();
        for (to, run) in all.runs.iter_mut().zip(runs) {
            *to = run;
            all.count += 1;
        }
        all
    }

    /// The blocks.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.runs[..self.count as usize]
    }
}

impl Tcp {
    /// Bytes of the header without options.
    pub const LEN: usize = 20;
    /// Most bytes of a header.
    pub const MOST: usize = 60;
    /// Bytes that timestamps take, aligned.
    pub const TIMESTAMPS_LEN: usize = 12;

    /// Bytes of header and options: what [`Tcp::encode`] writes.
    pub fn wire_len(&self) -> usize {
        let runs = self.runs.as_slice().len();
        let sack = if runs > 0 { 4 + 8 * runs } else { 0 };
        let pair = if self.timestamps.is_some() { Self::TIMESTAMPS_LEN } else { 4 * self.sack_permitted as usize };
        Self::LEN + 4 * self.mss.is_some() as usize + pair + 4 * self.window_scale.is_some() as usize + sack
    }

    /// Writes header and options to the front of `buffer`, with the checksum of the segment that `payload` makes of
    /// them between these addresses, and returns their length.
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Field`] where there is no room for all options in 60 B.
    pub fn encode(
        &self,
        source: [u8; 4],
        destination: [u8; 4],
        payload: &[u8],
        buffer: &mut [u8],
    ) -> Result<usize, WireError> {
        let len = self.wire_len();
        require(len <= Self::MOST, "TCP", "length of the header", len as u64, "60 B or less")?;
        let mut bytes = [0; Self::MOST];
        [bytes[0], bytes[1]] = self.source_port.to_be_bytes();
        [bytes[2], bytes[3]] = self.destination_port.to_be_bytes();
        [bytes[4], bytes[5], bytes[6], bytes[7]] = self.seq.to_be_bytes();
        [bytes[8], bytes[9], bytes[10], bytes[11]] = self.ack.to_be_bytes();
        bytes[12] = ((len / 4) as u8) << 4;
        bytes[13] = self.flags;
        [bytes[14], bytes[15]] = self.window.to_be_bytes();
        self.options(&mut bytes[Self::LEN..])?;
        let sum = checksum(source, destination, &bytes[..len], payload);
        [bytes[16], bytes[17]] = sum.to_be_bytes();
        let missing = len.saturating_sub(buffer.len());
        let place = buffer.get_mut(..len).ok_or(WireError::NoRoom { header: "TCP", missing })?;
        place.copy_from_slice(&bytes[..len]);
        Ok(len)
    }

    fn options(&self, bytes: &mut [u8]) -> Result<(), WireError> {
        let mut at = 0;
        if let Some(mss) = self.mss {
            let [m0, m1] = mss.to_be_bytes();
            at += put("TCP", &mut bytes[at..], [kind::MSS, 4, m0, m1])?;
        }
        // SACK permitted fits where timestamps would be aligned.
        let fill = if self.sack_permitted { [kind::SACK_PERMITTED, 2] } else { [kind::NOTHING; 2] };
        if let Some((stamp, echo)) = self.timestamps {
            at += put("TCP", &mut bytes[at..], [fill[0], fill[1], kind::TIMESTAMPS, 10])?;
            at += put("TCP", &mut bytes[at..], stamp.to_be_bytes())?;
            at += put("TCP", &mut bytes[at..], echo.to_be_bytes())?;
        } else if self.sack_permitted {
            at += put("TCP", &mut bytes[at..], [kind::NOTHING, kind::NOTHING, fill[0], fill[1]])?;
        }
        if let Some(scale) = self.window_scale {
            at += put("TCP", &mut bytes[at..], [kind::NOTHING, kind::WINDOW_SCALE, 3, scale])?;
        }
        let runs = self.runs.as_slice();
        if !runs.is_empty() {
            let len = 2 + 8 * runs.len() as u8;
            at += put("TCP", &mut bytes[at..], [kind::NOTHING, kind::NOTHING, kind::SACK, len])?;
            for (first, behind) in runs {
                at += put("TCP", &mut bytes[at..], first.to_be_bytes())?;
                at += put("TCP", &mut bytes[at..], behind.to_be_bytes())?;
            }
        }
        Ok(())
    }

    /// Reads header and options from the front of `bytes`; also returns the bytes after them. The checksum is not
    /// looked at, since it needs addresses and payload: see [`checksum`]. Ignored: reserved bits, the urgent pointer,
    /// options of other kinds.
    ///
    /// # Errors
    /// [`WireError::Truncated`]; [`WireError::Field`] for a header of fewer than 5 words and options that reach beyond
    /// it.
    pub fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (raw, rest) = take::<{ Self::LEN }>("TCP", bytes)?;
        let len = (raw[12] >> 4) as usize * 4;
        require(len >= Self::LEN, "TCP", "header length in words", raw[12] >> 4, "5 or more")?;
        let (options, rest) = take_slice("TCP", rest, len - Self::LEN)?;
        let word = |at: usize| u32::from_be_bytes([raw[at], raw[at + 1], raw[at + 2], raw[at + 3]]);
        let mut header = Self {
            source_port: u16::from_be_bytes([raw[0], raw[1]]),
            destination_port: u16::from_be_bytes([raw[2], raw[3]]),
            seq: word(4),
            ack: word(8),
            flags: raw[13],
            window: u16::from_be_bytes([raw[14], raw[15]]),
            ..Self::default()
        };
        header.read_options(options)?;
        Ok((header, rest))
    }

    fn read_options(&mut self, mut bytes: &[u8]) -> Result<(), WireError> {
        while let Some((&found, rest)) = bytes.split_first() {
            match found {
                kind::END => return Ok(()),
                kind::NOTHING => {
                    bytes = rest;
                    continue;
                }
                _ => {}
            }
            let len = rest.first().copied().unwrap_or(0);
            let fits = len >= 2 && len as usize <= bytes.len();
            require(fits, "TCP", "length of an option", len, "2 or more, within the header")?;
            let (option, after) = bytes.split_at(len as usize);
            bytes = after;
            match (found, &option[2..]) {
                (kind::MSS, &[m0, m1]) => self.mss = Some(u16::from_be_bytes([m0, m1])),
                (kind::WINDOW_SCALE, &[scale]) => self.window_scale = Some(scale),
                (kind::SACK_PERMITTED, []) => self.sack_permitted = true,
                (kind::TIMESTAMPS, &[a, b, c, d, e, f, g, h]) => {
                    self.timestamps = Some((u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])));
                }
                (kind::SACK, value) => {
                    let (pairs, _) = value.as_chunks::<8>();
                    self.runs = Runs::new(pairs.iter().map(|&[a, b, c, d, e, f, g, h]| {
                        (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]))
                    }));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The checksum of a segment whose own field is 0 (RFC 9293 section 3.1): over addresses, protocol and length, then
/// header and payload. Over a segment with its checksum in place it is 0.
pub fn checksum(source: [u8; 4], destination: [u8; 4], header: &[u8], payload: &[u8]) -> u16 {
    let len = ((header.len() + payload.len()) as u32).to_be_bytes();
    // Headers are whole 16-bit words, so the payload starts with one.
    let pseudo = [&source[..], &destination, &[0, PROTOCOL_TCP], &len];
    !ones_complement(pseudo.into_iter().chain([header, payload]))
}
