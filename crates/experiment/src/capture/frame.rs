//! The bytes of a simulated packet, encoded by `wire`.
//!
//! Addresses and names are derived from numbers: node n has the Ethernet address 02:00 followed by n+1 in four bytes
//! and the IPv4 address 10.0.0.0 + n+1; a connection is identified by its first message. docs/traces.md says which
//! parts of these bytes are real.

use fanin_cc::{Kind, WireFormat};
use fanin_endpoint::tcp::bits;
use fanin_fabric::Simulation;
use fanin_fabric::tap::Captured;
use fanin_transport::frame::{Described, Dscps, Layout, insert, port, resize, telemetry_header};
use fanin_units::{NodeId, Time};
use fanin_wire::{
    DartSend, Data, Envelope, Ethernet, FCS_LEN, ICRC_LEN, IntHeader, Ipv4, MIN_FRAME, PROTOCOL_TCP, Packet, Runs, Tcp,
    WireError, ethertype, fcs,
};

/// The TCP port of servers. No tool takes it for a known protocol.
const TCP_PORT: u16 = 40_000;
/// Payloads are zeros.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// Encodes frames, one after another in the same memory.
pub struct Frames {
    snaplen: usize,
    /// Largest payload, in which packets are numbered.
    payload: u64,
    /// The simulator's size of an ACK without bytes added by a scheme.
    ack: u16,
    traffics: Vec<Layout>,
    dscps: Dscps,
    bytes: Vec<u8>,
}

/// A frame before it is cut.
struct Made {
    /// Its encoded bytes, FCS included.
    len: usize,
    /// Bytes of payload that are not encoded, because they will be cut off.
    missing: usize,
}

impl Frames {
    /// For packets of this network, cut to `snaplen` bytes.
    pub fn new(sim: &Simulation, snaplen: usize, dscps: Dscps) -> Self {
        let traffics = sim.traffic_configs().map(|config| Layout {
            format: config.scheme.wire_format(),
            tenant: config.tenant,
            weight: config.weight,
        });
        let sizes = sim.config().packet;
        let payload = u64::from(sizes.payload).max(1);
        Self { snaplen, payload, ack: sizes.ack, traffics: traffics.collect(), dscps, bytes: vec![0; 1 << 17] }
    }

    /// The captured bytes of a packet between two nodes, and its length on the wire: the simulator's, or that of its
    /// real headers and payload if the simulator counts less.
    pub fn make(&mut self, packet: &Captured, from: NodeId, to: NodeId) -> (&[u8], u32) {
        let Made { mut len, missing } = self.encode(packet, from, to);
        if missing > 0 {
            resize(&mut self.bytes, missing as i32);
        }
        if let Some(telemetry) = &packet.telemetry {
            let unit = match self.traffic(packet).map(|of| of.format) {
                Some(WireFormat::Int { unit }) => unit,
                _ => 1,
            };
            let mut header = [0; IntHeader::MOST_LEN];
            let bytes = telemetry_header(telemetry, unit).encode(&mut header);
            len += insert(&mut self.bytes, len, bytes.map_or(&[], |bytes| &header[..bytes]));
        }
        let original = (len + missing).max(packet.head.wire as usize);
        let kept = original.min(self.snaplen);
        if missing == 0 {
            // Bytes that the simulator counts beyond the real headers are padding, which goes before the FCS.
            pad(&mut self.bytes[..original], len, kept);
        }
        (&self.bytes[..kept], original as u32)
    }

    fn traffic(&self, packet: &Captured) -> Option<Layout> {
        self.traffics.get(packet.traffic? as usize).copied()
    }

    fn encode(&mut self, packet: &Captured, from: NodeId, to: NodeId) -> Made {
        let announced = packet.incast.as_ref();
        let senders: Vec<u16> = announced.map_or_else(Vec::new, |(_, all)| all.iter().map(|n| *n as u16).collect());
        let described = Described {
            head: &packet.head,
            link: (from, to),
            channel: packet.channel,
            layout: self.traffic(packet),
            payload: self.payload,
            ack: self.ack,
            dscps: self.dscps,
            incast: announced.map(|(incast, _)| (*incast, &senders[..])),
        };
        let made = match packet.segment {
            Some(_) if matches!(packet.head.kind, Kind::Data | Kind::Ack) => {
                self.segment(packet, &described.envelope()).ok()
            }
            _ => self.roce(&described).ok().flatten(),
        };
        made.unwrap_or_else(|| Made { len: described.plain(&mut self.bytes), missing: 0 })
    }

    /// A packet of RoCEv2 or of PFC; `None` where there is no standard layout.
    fn roce(&mut self, described: &Described<'_>) -> Result<Option<Made>, WireError> {
        // What is left of a packet that was cut is its headers.
        let cut = described.head.kind == Kind::Trimmed;
        let whole = &ZEROS[..if cut { 0 } else { described.head.payload as usize }];
        let Some(full) = described.packet(whole)? else { return Ok(None) };
        // Checksums over payload that is cut off need not be computed. The omitted length is a multiple of four, so
        // that the padding is unchanged.
        let missing = full.wire_len().saturating_sub(self.snaplen + ICRC_LEN + FCS_LEN).min(whole.len()) & !3;
        let payload = &whole[missing..];
        let (cut, missing) = match full {
            Packet::DartData(data) => (Packet::DartData(DartSend { payload, ..data }), missing),
            Packet::Data(data) => (Packet::Data(Data { payload, ..data }), missing),
            other => (other, 0),
        };
        Ok(Some(Made { len: cut.encode(&mut self.bytes)?, missing }))
    }

    /// A TCP segment.
    fn segment(&mut self, packet: &Captured, envelope: &Envelope) -> Result<Made, WireError> {
        let Captured { head, segment, channel, opener, .. } = packet;
        let segment = segment.unwrap_or_default();
        let ports = (port(channel.0), TCP_PORT);
        let (source_port, destination_port) = if head.src == *opener { ports } else { (ports.1, ports.0) };
        let payload = &ZEROS[..segment.len as usize];
        // Only the lower 32 bits are transmitted.
        let low = |number: u64| number as u32;
        let mut tcp = Tcp {
            source_port,
            destination_port,
            seq: low(segment.seq),
            ack: low(segment.ack),
            flags: segment.flags,
            window: segment.window,
            mss: segment.has(bits::SYN).then_some(self.payload as u16),
            window_scale: segment.scale,
            sack_permitted: segment.sack_permitted,
            timestamps: None,
            runs: Runs::new(segment.sack.as_slice().iter().map(|(first, behind)| (low(*first), low(*behind)))),
        };
        let headers = Ethernet::LEN + Ipv4::LEN;
        let around = headers + FCS_LEN + payload.len();
        // The simulator's sizes may leave no room for timestamps.
        let stamped = Tcp { timestamps: Some((microseconds(segment.sent_at), microseconds(segment.echo))), ..tcp };
        if stamped.wire_len() <= Tcp::MOST && around + stamped.wire_len() <= head.wire as usize {
            tcp = stamped;
        }
        let total = Ipv4::LEN + tcp.wire_len() + payload.len();
        let Ok(total_length) = u16::try_from(total) else {
            return Err(WireError::NoRoom { header: "IPv4", missing: total - usize::from(u16::MAX) });
        };
        let ip = Ipv4 {
            dscp: envelope.dscp,
            ecn: envelope.ecn,
            total_length,
            identification: 0,
            dont_fragment: true,
            ttl: envelope.ttl,
            protocol: PROTOCOL_TCP,
            source: envelope.source_ip,
            destination: envelope.destination_ip,
        };
        let ethernet =
            Ethernet { destination: envelope.destination_mac, source: envelope.source_mac, ethertype: ethertype::IPV4 };
        let mut at = ethernet.encode(&mut self.bytes)?;
        at += ip.encode(&mut self.bytes[at..])?;
        at += tcp.encode(ip.source, ip.destination, payload, &mut self.bytes[at..])?;
        let len = (around + tcp.wire_len()).max(MIN_FRAME);
        self.bytes[at..len].fill(0);
        Ok(Made { len, missing: 0 })
    }
}

fn microseconds(time: Time) -> u32 {
    (time.as_ps() / 1_000_000) as u32
}

/// The padding of a frame of `len` bytes that counts as all of `bytes`: zeros before its FCS, which covers them. It is
/// needed only where some of the FCS is kept.
pub fn pad(bytes: &mut [u8], len: usize, kept: usize) {
    let before = bytes.len() - FCS_LEN;
    let (frame, trailer) = bytes.split_at_mut(before);
    frame[len - FCS_LEN..].fill(0);
    if kept > frame.len() {
        trailer.copy_from_slice(&fcs(frame).to_le_bytes());
    }
}
