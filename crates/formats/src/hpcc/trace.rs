//! The binary trace (`.tr`) of that simulator: the format that its tool reads, and the lines that the tool prints.
//!
//! All numbers are little endian. The rates of all ports and the window come first, without gaps; then records of 56
//! bytes in the layout of a C++ compiler. Bytes between the fields are 0 here, and uninitialised in that simulator.

use crate::Error;
use core::fmt;

/// Bytes of a record.
pub const RECORD: usize = 56;

/// The header of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Rates of ports, in that simulator ascending by node and interface.
    pub ports: Vec<PortRate>,
    /// The largest bandwidth-delay product of two hosts, bytes.
    pub window: u32,
}

/// The rate of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRate {
    /// The node.
    pub node: u16,
    /// Its interface, from 1.
    pub interface: u8,
    /// Bits per second.
    pub rate: u64,
}

/// Something that happened to a packet at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When, ns.
    pub time: u64,
    /// The node.
    pub node: u16,
    /// Its interface, from 1.
    pub interface: u8,
    /// The queue at the port.
    pub queue: u8,
    /// Bytes in that queue.
    pub qlen: u32,
    /// Sender's address.
    pub sip: u32,
    /// Receiver's address.
    pub dip: u32,
    /// Bytes of the packet.
    pub size: u16,
    /// The event: one of [`RECV`], [`ENQU`], [`DEQU`], [`DROP`].
    pub event: u8,
    /// The ECN bits of the IP header.
    pub ecn: u8,
    /// 0 at a host, 1 at a switch.
    pub node_type: u8,
    /// The packet.
    pub packet: Packet,
}

/// [`Record::event`]: a packet arrived.
pub const RECV: u8 = 0;
/// [`Record::event`]: a packet joined a queue.
pub const ENQU: u8 = 1;
/// [`Record::event`]: a packet left a queue.
pub const DEQU: u8 = 2;
/// [`Record::event`]: a packet was dropped.
pub const DROP: u8 = 3;

/// The kind of a packet, with its headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// Data over UDP (protocol 0x11).
    Data(Data),
    /// TCP (protocol 0x06).
    Tcp(Data),
    /// An ACK (protocol 0xFC).
    Ack(Ack),
    /// A NACK (protocol 0xFD).
    Nack(Ack),
    /// A pause or resume frame (protocol 0xFE).
    Pfc {
        /// How long, as the frame says; 0 resumes.
        time: u32,
        /// A queue length.
        qlen: u32,
        /// The priority.
        queue: u8,
    },
    /// A congestion notification (protocol 0xFF).
    Cnp {
        /// The flow's port.
        flow: u16,
        /// The priority.
        queue: u8,
        /// ECN bits that it carries.
        ecn: u8,
        /// Sequence number.
        seq: u32,
    },
    /// A queue pair got something to send (protocol 0).
    QueuePair {
        /// Source port.
        sport: u16,
        /// Destination port.
        dport: u16,
    },
    /// Another protocol, with that number.
    Other(u8),
}

/// Headers of data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// Source port.
    pub sport: u16,
    /// Destination port.
    pub dport: u16,
    /// First byte's place in the flow.
    pub seq: u32,
    /// When it was sent, ns.
    pub ts: u64,
    /// Priority group.
    pub pg: u16,
    /// Bytes of payload.
    pub payload: u16,
}

/// Headers of an ACK or NACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// Source port.
    pub sport: u16,
    /// Destination port.
    pub dport: u16,
    /// Flags: bit 0 echoes a mark.
    pub flags: u16,
    /// Priority group.
    pub pg: u16,
    /// The byte that is expected next.
    pub seq: u32,
    /// When the data was sent, ns.
    pub ts: u64,
}

impl Header {
    /// The bytes at the beginning of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(8 + self.ports.len() * 11);
        bytes.extend((self.ports.len() as u32).to_le_bytes());
        for port in &self.ports {
            bytes.extend(port.node.to_le_bytes());
            bytes.push(port.interface);
            bytes.extend(port.rate.to_le_bytes());
        }
        bytes.extend(self.window.to_le_bytes());
        bytes
    }
}

impl Record {
    /// The record's bytes.
    pub fn to_bytes(&self) -> [u8; RECORD] {
        let mut out = [0; RECORD];
        let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &self.time.to_le_bytes());
        put(8, &self.node.to_le_bytes());
        put(10, &[self.interface, self.queue]);
        put(12, &self.qlen.to_le_bytes());
        put(16, &self.sip.to_le_bytes());
        put(20, &self.dip.to_le_bytes());
        put(24, &self.size.to_le_bytes());
        put(26, &[self.packet.protocol(), self.event, self.ecn, self.node_type]);
        match self.packet {
            Packet::Data(p) | Packet::Tcp(p) => {
                put(32, &p.sport.to_le_bytes());
                put(34, &p.dport.to_le_bytes());
                put(36, &p.seq.to_le_bytes());
                put(40, &p.ts.to_le_bytes());
                put(48, &p.pg.to_le_bytes());
                put(50, &p.payload.to_le_bytes());
            }
            Packet::Ack(p) | Packet::Nack(p) => {
                put(32, &p.sport.to_le_bytes());
                put(34, &p.dport.to_le_bytes());
                put(36, &p.flags.to_le_bytes());
                put(38, &p.pg.to_le_bytes());
                put(40, &p.seq.to_le_bytes());
                put(48, &p.ts.to_le_bytes());
            }
            Packet::Pfc { time, qlen, queue } => {
                put(32, &time.to_le_bytes());
                put(36, &qlen.to_le_bytes());
                put(40, &[queue]);
            }
            Packet::Cnp { flow, queue, ecn, seq } => {
                put(32, &flow.to_le_bytes());
                put(34, &[queue, ecn]);
                put(36, &seq.to_le_bytes());
            }
            Packet::QueuePair { sport, dport } => {
                put(32, &sport.to_le_bytes());
                put(34, &dport.to_le_bytes());
            }
            Packet::Other(_) => {}
        }
        out
    }

    /// The record of these bytes.
    pub fn from_bytes(bytes: &[u8; RECORD]) -> Self {
        let u16_at = |at| u16::from_le_bytes(part(bytes, at));
        let u32_at = |at| u32::from_le_bytes(part(bytes, at));
        let u64_at = |at| u64::from_le_bytes(part(bytes, at));
        let (sport, dport) = (u16_at(32), u16_at(34));
        let data = || Data { sport, dport, seq: u32_at(36), ts: u64_at(40), pg: u16_at(48), payload: u16_at(50) };
        let ack = || Ack { sport, dport, flags: u16_at(36), pg: u16_at(38), seq: u32_at(40), ts: u64_at(48) };
        let packet = match bytes[26] {
            0x11 => Packet::Data(data()),
            0x06 => Packet::Tcp(data()),
            0xfc => Packet::Ack(ack()),
            0xfd => Packet::Nack(ack()),
            0xfe => Packet::Pfc { time: u32_at(32), qlen: u32_at(36), queue: bytes[40] },
            0xff => Packet::Cnp { flow: sport, queue: bytes[34], ecn: bytes[35], seq: u32_at(36) },
            0 => Packet::QueuePair { sport, dport },
            other => Packet::Other(other),
        };
        Self {
            time: u64_at(0),
            node: u16_at(8),
            interface: bytes[10],
            queue: bytes[11],
            qlen: u32_at(12),
            sip: u32_at(16),
            dip: u32_at(20),
            size: u16_at(24),
            event: bytes[27],
            ecn: bytes[28],
            node_type: bytes[29],
            packet,
        }
    }
}

impl Packet {
    /// The number of its protocol.
    pub const fn protocol(&self) -> u8 {
        match self {
            Self::Data(_) => 0x11,
            Self::Tcp(_) => 0x06,
            Self::Ack(_) => 0xfc,
            Self::Nack(_) => 0xfd,
            Self::Pfc { .. } => 0xfe,
            Self::Cnp { .. } => 0xff,
            Self::QueuePair { .. } => 0,
            Self::Other(number) => *number,
        }
    }
}

/// The line that the simulator's tool prints for a record.
impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let event = match self.event {
            RECV => "Recv",
            ENQU => "Enqu",
            DEQU => "Dequ",
            DROP => "Drop",
            _ => "????",
        };
        write!(f, "{} n:{} {}:{}", self.time, self.node, self.interface, self.queue)?;
        if let Packet::QueuePair { sport, dport } = self.packet {
            return write!(f, " {event} {:08x} {:08x} {sport} {dport}", self.sip, self.dip);
        }
        write!(f, " {} {event} ecn:{:x} {:08x} {:08x}", self.qlen, self.ecn, self.sip, self.dip)?;
        let letter = match self.packet {
            Packet::Tcp(_) => 'T',
            Packet::Nack(_) => 'N',
            Packet::Ack(_) => 'A',
            _ => 'U',
        };
        match self.packet {
            Packet::Data(p) | Packet::Tcp(p) => {
                write!(f, " {} {} {letter} {} {} {} {}({})", p.sport, p.dport, p.seq, p.ts, p.pg, self.size, p.payload)
            }
            Packet::Ack(p) | Packet::Nack(p) => {
                write!(
                    f,
                    " {} {} {letter} 0x{:02X} {} {} {} {}",
                    p.sport, p.dport, p.flags, p.pg, p.seq, p.ts, self.size
                )
            }
            Packet::Pfc { time, qlen, queue } => write!(f, " P {time} {qlen} {queue} {}", self.size),
            Packet::Cnp { flow, queue, ecn, seq } => write!(f, " C {flow} {queue} {ecn} {seq} {}", self.size),
            Packet::QueuePair { .. } => Ok(()),
            Packet::Other(number) => write!(f, " {number:x} {}", self.size),
        }
    }
}

/// Reads a trace: the header, and the records one after the other.
///
/// # Errors
/// A truncated file; lines are counted as records, the header being line 0.
pub fn read_trace<'a>(file: &'a str, bytes: &'a [u8]) -> Result<(Header, Records<'a>), Error> {
    let short = |what: String| Error { file: file.into(), line: 0, what };
    let cut = |at: usize| short(format!("{} bytes, but the rates of ports alone need {at}", bytes.len()));
    let count = u32::from_le_bytes(*bytes.first_chunk().ok_or_else(|| cut(4))?) as usize;
    let end = count.saturating_mul(11).saturating_add(4);
    // Check the length before anything is allocated.
    let ports = bytes.get(4..end).ok_or_else(|| cut(end))?;
    let window = bytes.get(end..).and_then(|rest| rest.first_chunk()).ok_or_else(|| cut(end.saturating_add(4)))?;
    let port = |p: &[u8]| PortRate {
        node: u16::from_le_bytes(part(p, 0)),
        interface: p[2],
        rate: u64::from_le_bytes(part(p, 3)),
    };
    let header = Header { ports: ports.chunks_exact(11).map(port).collect(), window: u32::from_le_bytes(*window) };
    Ok((header, Records { file, rest: &bytes[end + 4..], read: 0 }))
}

/// The records of a trace, in order.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    file: &'a str,
    rest: &'a [u8],
    read: u32,
}

impl Iterator for Records<'_> {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = core::mem::take(&mut self.rest);
        if rest.is_empty() {
            return None;
        }
        self.read = self.read.saturating_add(1);
        match rest.split_first_chunk() {
            Some((record, rest)) => {
                self.rest = rest;
                Some(Ok(Record::from_bytes(record)))
            }
            None => {
                let what = format!("the last record has {} of {RECORD} bytes", rest.len());
                Some(Err(Error { file: self.file.into(), line: self.read, what }))
            }
        }
    }
}

/// `N` bytes from `at`, which exist.
fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&bytes[at..at + N]);
    part
}
