//! Traces that ui.perfetto.dev opens: a stream of `TracePacket`s as protobuf, each one a length-delimited field 1 of a
//! `Trace`, so that a file that is cut behind any packet is a valid trace.
//!
//! It uses only the needed part of the format: tracks grouped as "processes", slices, and counters. Names are written
//! where they are used, so that no packet depends on another one except the description of its track. Times are rounded
//! down to nanoseconds, the unit of the format.
//!
//! [`Writer`] never exceeds its maximum size. It reserves room to close every open slice; the first event that does not
//! fit ends the trace, and later events are counted.

use fanin_units::Time;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Numbers of the fields, from perfetto's published `.proto` files.
mod field {
    pub const TRACE_PACKET: u32 = 1;
    pub mod packet {
        pub const TIMESTAMP: u32 = 8;
        pub const SEQUENCE: u32 = 10;
        pub const EVENT: u32 = 11;
        pub const SEQUENCE_FLAGS: u32 = 13;
        pub const DESCRIPTOR: u32 = 60;
    }
    pub mod descriptor {
        pub const UUID: u32 = 1;
        pub const NAME: u32 = 2;
        pub const PROCESS: u32 = 3;
        pub const PARENT: u32 = 5;
        pub const COUNTER: u32 = 8;
        pub const PROCESS_ID: u32 = 1;
        pub const PROCESS_NAME: u32 = 6;
        pub const COUNTER_UNIT: u32 = 3;
    }
    pub mod event {
        pub const ANNOTATION: u32 = 4;
        pub const TYPE: u32 = 9;
        pub const TRACK: u32 = 11;
        pub const NAME: u32 = 23;
        pub const COUNTER_VALUE: u32 = 30;
        pub const FLOW: u32 = 47;
        pub const LAST_OF_FLOW: u32 = 48;
    }
    pub mod annotation {
        pub const UINT: u32 = 3;
        pub const STRING: u32 = 6;
        pub const NAME: u32 = 10;
    }
}

const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;
/// `COUNTER`'s unit: bytes.
const BYTES: u64 = 3;
/// `SEQ_INCREMENTAL_STATE_CLEARED`: nothing before the first packet is needed.
const CLEARED: u64 = 1;

/// Largest size of the end of a slice with the arguments of [`Writer::finish`].
const END_MOST: u64 = 80;
/// Room for the last event, which marks the end of the trace, and its track.
const LAST_MOST: u64 = 256;

/// A track, or a group of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Track(u64);

/// Arguments of a slice, and its arrows to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A number.
    Number(u64),
    /// A text.
    Text(&'a str),
    /// An arrow of this number begins here; its name is not shown.
    ArrowFrom(u64),
    /// It ends here.
    ArrowTo(u64),
}

/// Writes a trace.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    most: u64,
    written: u64,
    tracks: u64,
    /// Number of open slices on a track.
    open: BTreeMap<Track, u32>,
    opened: u64,
    left_out: u64,
    /// The time of the last event.
    last: Time,
    /// Time at which the trace became full.
    full: Option<Time>,
    packet: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// A trace of at most `most` bytes.
    pub fn new(out: W, most: u64) -> Self {
        Self {
            out,
            most,
            written: 0,
            tracks: 0,
            open: BTreeMap::new(),
            opened: 0,
            left_out: 0,
            last: Time::ZERO,
            full: None,
            packet: Vec::new(),
        }
    }

    /// A group of tracks.
    ///
    /// # Errors
    /// If writing fails.
    pub fn group(&mut self, name: &str) -> io::Result<Track> {
        let number = self.tracks + 1;
        self.describe(|bytes| {
            let mut process = Vec::new();
            varint_field(&mut process, field::descriptor::PROCESS_ID, number);
            bytes_field(&mut process, field::descriptor::PROCESS_NAME, name.as_bytes());
            bytes_field(bytes, field::descriptor::PROCESS, &process);
        })
    }

    /// A track of slices. Slices of one track must not overlap unless nested; tracks with the same name in one group
    /// are shown together.
    ///
    /// # Errors
    /// If writing fails.
    pub fn slices(&mut self, group: Track, name: &str) -> io::Result<Track> {
        self.describe(|bytes| {
            bytes_field(bytes, field::descriptor::NAME, name.as_bytes());
            varint_field(bytes, field::descriptor::PARENT, group.0);
        })
    }

    /// A track of a number of bytes over time.
    ///
    /// # Errors
    /// If writing fails.
    pub fn bytes(&mut self, group: Track, name: &str) -> io::Result<Track> {
        self.describe(|bytes| {
            bytes_field(bytes, field::descriptor::NAME, name.as_bytes());
            varint_field(bytes, field::descriptor::PARENT, group.0);
            let mut counter = Vec::new();
            varint_field(&mut counter, field::descriptor::COUNTER_UNIT, BYTES);
            bytes_field(bytes, field::descriptor::COUNTER, &counter);
        })
    }

    /// A slice begins.
    ///
    /// # Errors
    /// If writing fails.
    pub fn begin(&mut self, track: Track, time: Time, name: &str, args: &[(&str, Value<'_>)]) -> io::Result<()> {
        self.packet.clear();
        event(&mut self.packet, time, track, SLICE_BEGIN, name, args, None);
        if self.emit(time, END_MOST)? {
            *self.open.entry(track).or_insert(0) += 1;
            self.opened += 1;
        }
        Ok(())
    }

    /// Ends the most recent open slice of the track.
    ///
    /// # Errors
    /// If writing fails.
    pub fn end(&mut self, track: Track, time: Time, args: &[(&str, Value<'_>)]) -> io::Result<()> {
        if self.open.get(&track).is_none_or(|count| *count == 0) {
            // It began after the trace was full.
            self.left_out += 1;
            return Ok(());
        }
        self.packet.clear();
        event(&mut self.packet, time, track, SLICE_END, "", args, None);
        if self.emit(time, 0)? {
            self.close(track);
        }
        Ok(())
    }

    /// A number of bytes changes.
    ///
    /// # Errors
    /// If writing fails.
    pub fn count(&mut self, track: Track, time: Time, value: u64) -> io::Result<()> {
        self.packet.clear();
        event(&mut self.packet, time, track, COUNTER, "", &[], Some(value));
        self.emit(time, 0).map(|_| ())
    }

    /// Events left out so far.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Ends the trace and returns `out`, flushed. Open slices end here, or where the trace became full, with the
    /// argument "open at".
    ///
    /// # Errors
    /// If writing fails.
    pub fn finish(mut self, now: Time) -> io::Result<W> {
        let (at, why) = match self.full {
            Some(full) => (full, "the end of the trace, which is full"),
            None => (now, "the end of the run"),
        };
        for (track, count) in std::mem::take(&mut self.open) {
            for _ in 0..count {
                self.packet.clear();
                event(&mut self.packet, at, track, SLICE_END, "", &[("open at", Value::Text(why))], None);
                self.put()?;
            }
        }
        if self.full.is_some() {
            let told = format!("the trace is full at {} B: {} later events are left out", self.most, self.left_out);
            self.tracks += 1;
            let track = Track(self.tracks);
            self.packet.clear();
            describe(&mut self.packet, track, |bytes| bytes_field(bytes, field::descriptor::NAME, b"fanin"));
            self.put()?;
            self.packet.clear();
            event(&mut self.packet, at, track, INSTANT, &told, &[], None);
            self.put()?;
        }
        self.out.flush()?;
        Ok(self.out)
    }

    fn close(&mut self, track: Track) {
        if let Some(count) = self.open.get_mut(&track) {
            *count -= 1;
            self.opened -= 1;
            if *count == 0 {
                self.open.remove(&track);
            }
        }
    }

    fn describe(&mut self, fill: impl FnOnce(&mut Vec<u8>)) -> io::Result<Track> {
        self.tracks += 1;
        let track = Track(self.tracks);
        self.packet.clear();
        describe(&mut self.packet, track, fill);
        if self.full.is_none() && self.fits(0) {
            self.put()?;
        } else {
            // Events on a track without description would be meaningless.
            self.full.get_or_insert(self.last);
        }
        Ok(track)
    }

    /// Whether the packet and its frame fit, with `later` bytes reserved.
    fn fits(&self, later: u64) -> bool {
        let reserved = LAST_MOST + self.opened * END_MOST + later;
        self.written + self.packet.len() as u64 + 6 + reserved <= self.most
    }

    /// Writes an event if there is room; otherwise the trace is full.
    fn emit(&mut self, time: Time, later: u64) -> io::Result<bool> {
        if self.full.is_some() || !self.fits(later) {
            self.full.get_or_insert(time.max(self.last));
            self.left_out += 1;
            return Ok(false);
        }
        self.last = time.max(self.last);
        self.put()?;
        Ok(true)
    }

    fn put(&mut self) -> io::Result<()> {
        let mut head = Vec::with_capacity(6);
        varint(&mut head, u64::from(field::TRACE_PACKET << 3 | 2));
        varint(&mut head, self.packet.len() as u64);
        self.out.write_all(&head)?;
        self.out.write_all(&self.packet)?;
        self.written += (head.len() + self.packet.len()) as u64;
        Ok(())
    }
}

/// Fills a packet with the description of a track.
fn describe(packet: &mut Vec<u8>, track: Track, fill: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = Vec::new();
    varint_field(&mut bytes, field::descriptor::UUID, track.0);
    fill(&mut bytes);
    varint_field(packet, field::packet::SEQUENCE, 1);
    if track.0 == 1 {
        varint_field(packet, field::packet::SEQUENCE_FLAGS, CLEARED);
    }
    bytes_field(packet, field::packet::DESCRIPTOR, &bytes);
}

/// Fills a packet with an event.
fn event(
    packet: &mut Vec<u8>,
    time: Time,
    track: Track,
    kind: u64,
    name: &str,
    args: &[(&str, Value<'_>)],
    count: Option<u64>,
) {
    let mut bytes = Vec::with_capacity(64);
    varint_field(&mut bytes, field::event::TYPE, kind);
    varint_field(&mut bytes, field::event::TRACK, track.0);
    if !name.is_empty() {
        bytes_field(&mut bytes, field::event::NAME, name.as_bytes());
    }
    for (name, value) in args {
        match value {
            Value::ArrowFrom(number) => fixed_field(&mut bytes, field::event::FLOW, *number),
            Value::ArrowTo(number) => fixed_field(&mut bytes, field::event::LAST_OF_FLOW, *number),
            Value::Number(_) | Value::Text(_) => {}
        }
        let mut annotation = Vec::with_capacity(32);
        bytes_field(&mut annotation, field::annotation::NAME, name.as_bytes());
        match value {
            Value::Number(number) => varint_field(&mut annotation, field::annotation::UINT, *number),
            Value::Text(text) => bytes_field(&mut annotation, field::annotation::STRING, text.as_bytes()),
            Value::ArrowFrom(_) | Value::ArrowTo(_) => continue,
        }
        bytes_field(&mut bytes, field::event::ANNOTATION, &annotation);
    }
    if let Some(count) = count {
        varint_field(&mut bytes, field::event::COUNTER_VALUE, count);
    }
    varint_field(packet, field::packet::TIMESTAMP, time.as_ps() / 1000);
    varint_field(packet, field::packet::SEQUENCE, 1);
    bytes_field(packet, field::packet::EVENT, &bytes);
}

fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn varint_field(bytes: &mut Vec<u8>, number: u32, value: u64) {
    varint(bytes, u64::from(number << 3));
    varint(bytes, value);
}

fn fixed_field(bytes: &mut Vec<u8>, number: u32, value: u64) {
    varint(bytes, u64::from(number << 3 | 1));
    bytes.extend_from_slice(&value.to_le_bytes());
}

fn bytes_field(bytes: &mut Vec<u8>, number: u32, value: &[u8]) {
    varint(bytes, u64::from(number << 3 | 2));
    varint(bytes, value.len() as u64);
    bytes.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths of the packets, and what of the last one is not whole.
    fn packets(mut bytes: &[u8]) -> (Vec<&[u8]>, usize) {
        let mut found = Vec::new();
        while let Some((&head, rest)) = bytes.split_first() {
            assert_eq!(head, 0x0A, "every packet is field 1");
            let (mut len, mut used) = (0usize, 0);
            for byte in rest {
                len |= usize::from(byte & 0x7F) << (7 * used);
                used += 1;
                if byte & 0x80 == 0 {
                    break;
                }
            }
            let Some(packet) = rest.get(used..used + len) else { return (found, bytes.len()) };
            found.push(packet);
            bytes = &rest[used + len..];
        }
        (found, 0)
    }

    #[test]
    fn the_bytes_are_those_of_the_format() {
        let mut writer = Writer::new(Vec::new(), 1 << 20);
        let group = writer.group("queues").unwrap();
        let track = writer.bytes(group, "a>b").unwrap();
        writer.count(track, Time::from_ns(300), 1500).unwrap();
        let bytes = writer.finish(Time::from_us(1)).unwrap();
        #[rustfmt::skip]
        let expected = [
            // Sequence 1, nothing before is needed; a description: track 1, process 1 "queues".
            0x0A, 21, 0x50, 1, 0x68, 1, 0xE2, 3, 14, 8, 1, 0x1A, 10, 8, 1, 0x32, 6, b'q', b'u', b'e', b'u', b'e', b's',
            // Track 2 "a>b" of group 1, in bytes.
            0x0A, 18, 0x50, 1, 0xE2, 3, 13, 8, 2, 0x12, 3, b'a', b'>', b'b', 0x28, 1, 0x42, 2, 0x18, 3,
            // At 300 ns an event: a number of track 2, which is 1500.
            0x0A, 15, 0x40, 0xAC, 2, 0x50, 1, 0x5A, 8, 0x48, 4, 0x58, 2, 0xF0, 1, 0xDC, 11,
        ];
        assert_eq!(bytes, expected);
    }

    #[test]
    fn arrows_are_numbers_of_two_events() {
        let mut writer = Writer::new(Vec::new(), 1 << 20);
        let group = writer.group("r").unwrap();
        let track = writer.slices(group, "s").unwrap();
        writer.begin(track, Time::from_ns(1), "a", &[("", Value::ArrowFrom(258))]).unwrap();
        writer.end(track, Time::from_ns(2), &[("", Value::ArrowTo(258))]).unwrap();
        let bytes = writer.finish(Time::from_us(1)).unwrap();
        let (found, _) = packets(&bytes);
        // Fields 47 and 48 of an event are numbers of eight bytes.
        let ends = |packet: &[u8], tag: [u8; 2]| packet.ends_with(&[tag[0], tag[1], 2, 1, 0, 0, 0, 0, 0, 0]);
        assert!(ends(found[2], [0xF9, 2]) && ends(found[3], [0x81, 3]), "{:?}", &found[2..]);
    }

    #[test]
    fn the_bound_holds_with_every_slice_closed() {
        let trace = |most: u64| {
            let mut writer = Writer::new(Vec::new(), most);
            let group = writer.group("flows").unwrap();
            let tracks: Vec<Track> = (0..40).map(|i| writer.slices(group, &format!("h{i}")).unwrap()).collect();
            for (i, track) in tracks.iter().enumerate() {
                let args = [("bytes", Value::Number(u64::MAX)), ("to", Value::Text("h1"))];
                writer.begin(*track, Time::from_us(i as u64), "a message", &args).unwrap();
            }
            for (i, track) in tracks.iter().enumerate().skip(10) {
                writer.end(*track, Time::from_us(100 + i as u64), &[("fct_ps", Value::Number(u64::MAX))]).unwrap();
            }
            let left_out = writer.left_out();
            (writer.finish(Time::from_ms(20_000_000)).unwrap(), left_out)
        };
        let (whole, none) = trace(1 << 20);
        assert_eq!(none, 0);
        let count = |bytes: &[u8], kind: u8| {
            let (found, rest) = packets(bytes);
            assert_eq!(rest, 0);
            found.iter().filter(|p| p.windows(2).any(|w| w == [0x48, kind]) && p[0] == 0x40).count()
        };
        assert_eq!((count(&whole, 1), count(&whole, 2), count(&whole, 3)), (40, 40, 0));
        for most in (400..whole.len() as u64).step_by(61) {
            let (bytes, left_out) = trace(most);
            assert!(bytes.len() as u64 <= most, "{} B of {most}", bytes.len());
            let (begun, ended) = (count(&bytes, 1), count(&bytes, 2));
            assert_eq!((begun, count(&bytes, 3)), (ended, usize::from(left_out > 0)));
        }
        assert!(trace(2000).1 > 0);
    }
}
