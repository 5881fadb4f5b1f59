//! Packet captures in the pcapng format (IETF draft-ietf-opsawg-pcapng), which Wireshark, tshark and tcpdump read.
//!
//! [`Writer`] streams to any [`Write`] and never exceeds its maximum size: the first packet that does not fit ends the
//! capture at a packet boundary, and later packets are counted. Every block is complete when it is written, so a file
//! truncated after any block is a valid capture.
//!
//! | block | what it says here |
//! |---|---|
//! | section header | byte order, version 1.0, who wrote it |
//! | interface description | one per direction of a link: name, Ethernet, picosecond time stamps, 4 B of FCS, rate |
//! | enhanced packet | interface, time, bytes captured and bytes on the wire |
//! | interface statistics | packets seen and left out, and a comment where some were |
//!
//! [`Reader`] accepts any bytes, in both byte orders, and returns the same four; blocks of other types are skipped.
//! [`read`] does the same for a file of any length, a block at a time.

use crate::Error;
use fanin_units::{Rate, Time};
use std::io::{self, Read, Write};

const SECTION: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const STATISTICS: u32 = 5;
const PACKET: u32 = 6;
const MAGIC: u32 = 0x1A2B_3C4D;
/// Ethernet frames (LINKTYPE_ETHERNET).
const ETHERNET: u16 = 1;

/// Codes of options; their meaning depends on the block.
mod option {
    pub const END: u16 = 0;
    pub const COMMENT: u16 = 1;
    pub const SECTION_APPLICATION: u16 = 4;
    pub const INTERFACE_NAME: u16 = 2;
    pub const INTERFACE_SPEED: u16 = 8;
    pub const INTERFACE_TIME_UNIT: u16 = 9;
    pub const INTERFACE_FCS: u16 = 13;
    pub const STATISTICS_RECEIVED: u16 = 4;
    pub const STATISTICS_LEFT_OUT: u16 = 5;
}

/// Time stamps count 10^-12 s.
const PICOSECONDS: u8 = 12;

/// Room for an interface's statistics and the longest comment.
const STATISTICS_MOST: u64 = 256;

/// Writes a capture.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    most: u64,
    written: u64,
    /// Packets seen and left out, per interface.
    counts: Vec<(u64, u64)>,
    /// Time of the first packet that was left out.
    full: Option<Time>,
    block: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// The header of a capture of at most `most` bytes. The headers of the file and of its interfaces are written even
    /// if they alone exceed it.
    ///
    /// # Errors
    /// If writing to `out` fails.
    pub fn new(out: W, most: u64) -> io::Result<Self> {
        let mut writer = Self { out, most, written: 0, counts: Vec::new(), full: None, block: Vec::new() };
        writer.start(SECTION);
        writer.put(&MAGIC.to_le_bytes());
        writer.put(&[1, 0, 0, 0]);
        // The length of the section is not known in advance.
        writer.put(&u64::MAX.to_le_bytes());
        writer.option(option::SECTION_APPLICATION, concat!("Fanin ", env!("CARGO_PKG_VERSION")).as_bytes());
        writer.end()?;
        Ok(writer)
    }

    /// Adds an interface, numbered from 0, for a direction of a link. `snaplen` is the largest number of bytes per
    /// packet.
    ///
    /// # Errors
    /// If writing fails.
    pub fn interface(&mut self, name: &str, rate: Rate, snaplen: u32) -> io::Result<u32> {
        self.start(INTERFACE);
        self.put(&ETHERNET.to_le_bytes());
        self.put(&[0; 2]);
        self.put(&snaplen.to_le_bytes());
        self.option(option::INTERFACE_NAME, name.as_bytes());
        self.option(option::INTERFACE_SPEED, &rate.as_bps().to_le_bytes());
        self.option(option::INTERFACE_TIME_UNIT, &[PICOSECONDS]);
        self.option(option::INTERFACE_FCS, &[4]);
        self.end()?;
        self.counts.push((0, 0));
        Ok(self.counts.len() as u32 - 1)
    }

    /// A packet of `original` bytes on the wire, of which `bytes` are kept. Returns whether it was written: once a
    /// packet does not fit, no more are written.
    ///
    /// # Errors
    /// If writing fails or the interface does not exist.
    pub fn packet(&mut self, interface: u32, time: Time, bytes: &[u8], original: u32) -> io::Result<bool> {
        let Some(counts) = self.counts.get_mut(interface as usize) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("there is no interface {interface}")));
        };
        counts.0 += 1;
        let reserved = STATISTICS_MOST * self.counts.len() as u64;
        let wanted = 32 + bytes.len().next_multiple_of(4) as u64;
        if self.full.is_some() || self.written + wanted + reserved > self.most {
            self.counts[interface as usize].1 += 1;
            self.full.get_or_insert(time);
            return Ok(false);
        }
        self.start(PACKET);
        self.put(&interface.to_le_bytes());
        self.put_time(time);
        self.put(&(bytes.len() as u32).to_le_bytes());
        self.put(&original.to_le_bytes());
        self.put(bytes);
        self.pad();
        self.end()?;
        Ok(true)
    }

    /// Packets left out so far.
    pub fn left_out(&self) -> u64 {
        self.counts.iter().map(|(_, left_out)| left_out).sum()
    }

    /// Largest size of the file, in bytes.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// Time of the first packet that was left out.
    pub fn full_at(&self) -> Option<Time> {
        self.full
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Writes the statistics of each interface and returns `out`, flushed.
    ///
    /// # Errors
    /// If writing fails.
    pub fn finish(mut self, now: Time) -> io::Result<W> {
        for (interface, (seen, left_out)) in (0u32..).zip(std::mem::take(&mut self.counts)) {
            self.start(STATISTICS);
            self.put(&interface.to_le_bytes());
            self.put_time(now);
            if let Some(full) = self.full.filter(|_| left_out > 0) {
                let told = format!(
                    "{left_out} of {seen} packets are left out: the bound of {} B was reached at {} ps",
                    self.most,
                    full.as_ps()
                );
                self.option(option::COMMENT, told.as_bytes());
            }
            self.option(option::STATISTICS_RECEIVED, &seen.to_le_bytes());
            self.option(option::STATISTICS_LEFT_OUT, &left_out.to_le_bytes());
            self.end()?;
        }
        self.out.flush()?;
        Ok(self.out)
    }

    fn start(&mut self, kind: u32) {
        self.block.clear();
        self.put(&kind.to_le_bytes());
        // The length, known only at the end.
        self.put(&[0; 4]);
    }

    fn put(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
    }

    /// The upper half of a time comes first in either byte order.
    fn put_time(&mut self, time: Time) {
        let ps = time.as_ps();
        self.put(&((ps >> 32) as u32).to_le_bytes());
        self.put(&(ps as u32).to_le_bytes());
    }

    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        let value = &value[..value.len().min(u16::MAX as usize)];
        self.put(&code.to_le_bytes());
        self.put(&(value.len() as u16).to_le_bytes());
        self.put(value);
        self.pad();
    }

    fn end(&mut self) -> io::Result<()> {
        let kind = u32::from_le_bytes([self.block[0], self.block[1], self.block[2], self.block[3]]);
        if kind != PACKET {
            self.option(option::END, &[]);
        }
        let len = self.block.len() as u32 + 4;
        self.block[4..8].copy_from_slice(&len.to_le_bytes());
        self.put(&len.to_le_bytes());
        self.written += u64::from(len);
        self.out.write_all(&self.block)
    }
}

/// The contents of a capture, block by block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block<'a> {
    /// A section begins; interfaces are numbered anew.
    Section,
    /// One more interface.
    Interface {
        /// Its name, if it has one.
        name: Option<&'a str>,
        /// Largest number of bytes kept of a packet; 0 for all.
        snaplen: u32,
        /// Its link type; 1 is Ethernet.
        link: u16,
    },
    /// A packet.
    Packet {
        /// Number of its interface.
        interface: u32,
        /// When.
        time: Time,
        /// Its captured bytes.
        bytes: &'a [u8],
        /// Its bytes on the wire.
        original: u32,
    },
    /// Counts of an interface.
    Statistics {
        /// Number of the interface.
        interface: u32,
        /// Packets that it saw.
        seen: Option<u64>,
        /// Of those, packets that are not in the file.
        left_out: Option<u64>,
        /// A comment of the writer.
        comment: Option<&'a str>,
    },
}

/// Reads a capture block by block.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    file: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// Bytes of the file before these.
    before: u64,
    big_endian: bool,
    /// Time stamps' units of the section's interfaces.
    units: Vec<u8>,
    /// Nothing can be read after an error.
    broken: bool,
}

impl<'a> Reader<'a> {
    /// A reader of these bytes; `file` is the name in errors.
    pub fn new(file: &'a str, bytes: &'a [u8]) -> Self {
        Self { file, bytes, at: 0, before: 0, big_endian: false, units: Vec::new(), broken: false }
    }

    fn wrong(&self, what: impl std::fmt::Display) -> Error {
        Error { file: self.file.to_string(), line: 0, what: format!("byte {}: {what}", self.before + self.at as u64) }
    }

    fn u16(&self, bytes: &[u8], at: usize) -> Option<u16> {
        let raw = bytes.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if self.big_endian { u16::from_be_bytes(raw) } else { u16::from_le_bytes(raw) })
    }

    fn u32(&self, bytes: &[u8], at: usize) -> Option<u32> {
        let raw = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(if self.big_endian { u32::from_be_bytes(raw) } else { u32::from_le_bytes(raw) })
    }

    /// An 8-byte number of an option.
    fn u64(&self, value: &[u8]) -> Option<u64> {
        let raw = value.try_into().ok()?;
        Some(if self.big_endian { u64::from_be_bytes(raw) } else { u64::from_le_bytes(raw) })
    }

    fn block(&mut self) -> Result<Option<Block<'a>>, Error> {
        let rest = &self.bytes[self.at..];
        let cut = "the file ends inside a block; the blocks before it can be used";
        let kind = self.u32(rest, 0).ok_or_else(|| self.wrong(cut))?;
        if kind == SECTION {
            let magic = rest.get(8..12).ok_or_else(|| self.wrong(cut))?;
            self.big_endian = match magic {
                [0x1A, 0x2B, 0x3C, 0x4D] => true,
                [0x4D, 0x3C, 0x2B, 0x1A] => false,
                _ => return Err(self.wrong("no byte order: a section has the number 0x1A2B3C4D at its byte 8")),
            };
        } else if self.at == 0 && self.before == 0 {
            return Err(self.wrong(NO_CAPTURE));
        }
        let len = self.u32(rest, 4).ok_or_else(|| self.wrong(cut))? as usize;
        if len < 12 || !len.is_multiple_of(4) {
            return Err(self.wrong(format!("a block of {len} B; one has 12 B or more, a multiple of 4")));
        }
        let whole = rest.get(..len).ok_or_else(|| self.wrong(cut))?;
        if self.u32(whole, len - 4) != Some(len as u32) {
            return Err(self.wrong(format!("the block says {len} B at its start and another length at its end")));
        }
        let body = &whole[8..len - 4];
        let read = match kind {
            SECTION => self.section(body).map(Some),
            INTERFACE => self.interface(body).map(Some),
            PACKET => self.packet(body).map(Some),
            STATISTICS => self.statistics(body).map(Some),
            _ => Ok(None),
        }?;
        self.at += len;
        Ok(read)
    }

    fn section(&mut self, body: &'a [u8]) -> Result<Block<'a>, Error> {
        match self.u16(body, 4) {
            Some(1) if body.len() >= 16 => {}
            version => return Err(self.wrong(format!("version {}; this reads version 1", version.unwrap_or(0)))),
        }
        self.units.clear();
        Ok(Block::Section)
    }

    fn interface(&mut self, body: &'a [u8]) -> Result<Block<'a>, Error> {
        let (Some(link), Some(snaplen)) = (self.u16(body, 0), self.u32(body, 4)) else {
            return Err(self.wrong("an interface's description has 20 B or more"));
        };
        let (mut name, mut unit) = (None, 6);
        self.options(&body[8..], |code, value| match code {
            option::INTERFACE_NAME => name = name.or(std::str::from_utf8(value).ok()),
            option::INTERFACE_TIME_UNIT => unit = value.first().copied().unwrap_or(unit),
            _ => {}
        })?;
        self.units.push(unit);
        Ok(Block::Interface { name, snaplen, link })
    }

    fn packet(&self, body: &'a [u8]) -> Result<Block<'a>, Error> {
        let word = |at| self.u32(body, at).ok_or_else(|| self.wrong("a packet's block has 32 B or more"));
        let interface = word(0)?;
        let Some(&unit) = self.units.get(interface as usize) else {
            return Err(self.wrong(format!("interface {interface} of {}", self.units.len())));
        };
        let ticks = u64::from(word(4)?) << 32 | u64::from(word(8)?);
        let (kept, original) = (word(12)? as usize, word(16)?);
        let Some(bytes) = body[20..].get(..kept) else {
            return Err(self.wrong(format!("{kept} B of a packet in a block that has {}", body.len() - 20)));
        };
        self.options(&body[20 + kept.next_multiple_of(4).min(body.len() - 20)..], |_, _| {})?;
        Ok(Block::Packet { interface, time: self.time(ticks, unit)?, bytes, original })
    }

    fn statistics(&self, body: &'a [u8]) -> Result<Block<'a>, Error> {
        let Some(interface) = self.u32(body, 0).filter(|_| body.len() >= 12) else {
            return Err(self.wrong("an interface's statistics have 24 B or more"));
        };
        let (mut seen, mut left_out, mut comment) = (None, None, None);
        self.options(&body[12..], |code, value| match code {
            option::COMMENT => comment = comment.or(std::str::from_utf8(value).ok()),
            option::STATISTICS_RECEIVED => seen = self.u64(value),
            option::STATISTICS_LEFT_OUT => left_out = self.u64(value),
            _ => {}
        })?;
        Ok(Block::Statistics { interface, seen, left_out, comment })
    }

    fn options(&self, mut bytes: &'a [u8], mut each: impl FnMut(u16, &'a [u8])) -> Result<(), Error> {
        while let (Some(code), Some(len)) = (self.u16(bytes, 0), self.u16(bytes, 2)) {
            if code == option::END {
                return Ok(());
            }
            let len = len as usize;
            let Some(value) = bytes[4..].get(..len) else {
                return Err(self.wrong(format!("an option of {len} B reaches beyond its block")));
            };
            each(code, value);
            bytes = bytes.get(4 + len.next_multiple_of(4)..).unwrap_or(&[]);
        }
        Ok(())
    }

    /// Units are powers of ten, or of two if the top bit is set.
    fn time(&self, ticks: u64, unit: u8) -> Result<Time, Error> {
        let ps = match unit {
            0..=12 => u128::from(ticks) * 10u128.pow(u32::from(12 - unit)),
            13..=31 => u128::from(ticks) / 10u128.pow(u32::from(unit - 12)),
            0x80.. => (u128::from(ticks) * 1_000_000_000_000) >> (unit & 0x7F).min(127),
            _ => 0,
        };
        let ps = u64::try_from(ps).map_err(|_| self.wrong("a time beyond 2^64 ps, which is 213 days"))?;
        Ok(Time::from_ps(ps))
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<Block<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.broken && self.at < self.bytes.len() {
            match self.block() {
                Ok(None) => {}
                Ok(Some(block)) => return Some(Ok(block)),
                Err(error) => {
                    self.broken = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

const NO_CAPTURE: &str = "this is not a pcapng file: one starts with the bytes 0A 0D 0D 0A";

/// Bytes of the largest block that [`read`] accepts.
const LARGEST_BLOCK: usize = 1 << 24;

/// Reads a capture of any length from `from`, and gives each block to `each` until that returns false. The memory is
/// that of the largest block. `file` is the name in errors.
///
/// # Errors
/// If the file cannot be read or is no capture; what came before has been given to `each`.
pub fn read<R: Read>(file: &str, mut from: R, mut each: impl FnMut(Block<'_>) -> bool) -> Result<(), Error> {
    let (mut bytes, mut before, mut big_endian, mut units) = (Vec::new(), 0u64, false, Vec::new());
    loop {
        bytes.clear();
        let wrong = |what: String| Error { file: file.to_string(), line: 0, what: format!("byte {before}: {what}") };
        let io = |error: io::Error| wrong(error.to_string());
        // Kind, length, and the byte order of a section.
        (&mut from).take(12).read_to_end(&mut bytes).map_err(io)?;
        if bytes.is_empty() {
            return Ok(());
        }
        if before == 0 && !bytes.starts_with(&SECTION.to_le_bytes()) {
            return Err(wrong(NO_CAPTURE.into()));
        }
        if let (Some(length), Some(magic)) = (bytes.get(4..8), bytes.get(8..12)) {
            let order =
                if bytes.starts_with(&SECTION.to_le_bytes()) { magic == MAGIC.to_be_bytes() } else { big_endian };
            let length: [u8; 4] = length.try_into().unwrap_or_default();
            let length = if order { u32::from_be_bytes(length) } else { u32::from_le_bytes(length) } as usize;
            if length > LARGEST_BLOCK {
                return Err(wrong(format!("a block of {length} B; this reads blocks of at most {LARGEST_BLOCK} B")));
            }
            (&mut from).take(length.saturating_sub(12) as u64).read_to_end(&mut bytes).map_err(io)?;
        }
        let mut reader = Reader { file, bytes: &bytes, at: 0, before, big_endian, units, broken: false };
        let block = reader.block()?;
        (big_endian, units) = (reader.big_endian, reader.units);
        if block.is_some_and(|block| !each(block)) {
            return Ok(());
        }
        before += bytes.len() as u64;
    }
}

/// For fuzzing: reads any bytes to their end or first error. Returns the number of valid blocks.
pub fn fuzz(bytes: &[u8]) -> usize {
    Reader::new("fuzz", bytes).filter(Result::is_ok).count()
}

#[cfg(test)]
mod tests;
