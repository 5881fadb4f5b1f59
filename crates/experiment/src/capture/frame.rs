//! The bytes of a simulated packet, encoded by `wire`.
//!
//! Addresses and names are derived from numbers: node n has the Ethernet address 02:00 followed by n+1 in four bytes
//! and the IPv4 address 10.0.0.0 + n+1; a connection is identified by its first message. docs/traces.md says which
//! parts of these bytes are real.

use fanin_cc::{IntFields, Kind, Telemetry, WireFormat, flags};
use fanin_endpoint::tcp::bits;
use fanin_fabric::Simulation;
use fanin_fabric::tap::Captured;
use fanin_units::{NodeId, Time};
use fanin_wire::{
    Cnp, DartAck, DartData, DartSend, Data, Ecn, Envelope, Ethernet, FCS_LEN, ICRC_LEN, IntHeader, IntRecord, Ipv4,
    MIN_FRAME, Mac, PROTOCOL_TCP, PROTOCOL_UDP, Packet, Pfc, Response, Runs, SenderList, Senders, Tcp, Udp, WireError,
    ethertype, fcs,
};

/// Position of the telemetry header: after the UDP header.
const BEHIND_UDP: usize = Ethernet::LEN + Ipv4::LEN + Udp::LEN;
/// The UDP port of packets with telemetry. HPCC 4.1 names none, and at RoCEv2's own port a reader would take telemetry
/// for a BTH; this one is reserved for experiments (RFC 4727 section 6).
const TELEMETRY_PORT: u16 = 1021;
/// Ethernet type for frames without a standard layout: for local experiments (IEEE 802, clause 9.2.3).
const LOCAL_EXPERIMENT: u16 = 0x88B5;
/// Quanta of a PAUSE, which in the simulator holds until it is revoked.
const LONGEST_PAUSE: u16 = u16::MAX;
/// The TCP port of servers. No tool takes it for a known protocol.
const TCP_PORT: u16 = 40_000;
/// Queue pairs 0 and 1 are reserved (InfiniBand 3.5.9), so numbers start well above.
const FIRST_QP: u32 = 256;
const NUMBERS: u32 = 1 << 24;
/// Payloads are zeros.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// Properties of a traffic's packets.
struct Traffic {
    format: WireFormat,
    tenant: u8,
    weight: u16,
}

/// Encodes frames, one after another in the same memory.
pub struct Frames {
    snaplen: usize,
    /// Largest payload, in which packets are numbered.
    payload: u64,
    /// The simulator's size of an ACK without bytes added by a scheme.
    ack: u16,
    traffics: Vec<Traffic>,
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
    pub fn new(sim: &Simulation, snaplen: usize) -> Self {
        let traffics = sim.traffic_configs().map(|config| Traffic {
            format: config.scheme.wire_format(),
            tenant: config.tenant,
            weight: config.weight,
        });
        let sizes = sim.config().packet;
        let payload = u64::from(sizes.payload).max(1);
        Self { snaplen, payload, ack: sizes.ack, traffics: traffics.collect(), bytes: vec![0; 1 << 17] }
    }

    /// The captured bytes of a packet between two nodes, and its length on the wire: the simulator's, or that of its
    /// real headers and payload if the simulator counts less.
    pub fn make(&mut self, packet: &Captured, from: NodeId, to: NodeId) -> (&[u8], u32) {
        let Made { mut len, missing } = match self.encode(packet, from, to) {
            Ok(made) => made,
            Err(_) => self.plain(packet, from, to),
        };
        if missing > 0 {
            lengthen(&mut self.bytes, missing);
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
            let (frame, trailer) = self.bytes[..original].split_at_mut(original - FCS_LEN);
            frame[len - FCS_LEN..].fill(0);
            if kept > frame.len() {
                trailer.copy_from_slice(&fcs(frame).to_le_bytes());
            }
        }
        (&self.bytes[..kept], original as u32)
    }

    fn traffic(&self, packet: &Captured) -> Option<&Traffic> {
        self.traffics.get(packet.traffic? as usize)
    }

    fn encode(&mut self, packet: &Captured, from: NodeId, to: NodeId) -> Result<Made, WireError> {
        let Captured { head, channel, .. } = packet;
        let envelope = Envelope {
            source_mac: mac(from),
            destination_mac: mac(to),
            source_ip: ip(head.src),
            destination_ip: ip(head.dst),
            source_port: port(channel.0),
            dscp: dscp(head.class),
            ecn: ecn(head.flags),
            ttl: ttl(head.hops),
        };
        let destination_qp = FIRST_QP + channel.0 % (NUMBERS - FIRST_QP);
        let psn_of = |offset: u64| (offset.div_ceil(self.payload) % u64::from(NUMBERS)) as u32;
        let psn = psn_of(head.seq);
        let becn = head.has(flags::ECHO);
        let dart = self.traffic(packet).filter(|of| of.format == WireFormat::Dart);
        let made = match head.kind {
            // It has no form on Ethernet, and is not captured.
            Kind::FlowControl => return Err(WireError::NoRoom { header: "Ethernet", missing: 0 }),
            Kind::Pause => Packet::Pfc { source: mac(from), pfc: pfc(head.cc_tag) },
            Kind::Data | Kind::Ack if packet.segment.is_some() => return self.segment(packet, &envelope),
            Kind::Data => {
                let ack_request = head.has(flags::END);
                let (start, end) = (head.has(flags::START), head.has(flags::END));
                let senders: Vec<u16>;
                let whole = &ZEROS[..head.payload as usize];
                let data = Data { envelope, destination_qp, psn, start, end, ack_request, payload: whole };
                let full = match dart {
                    None => Packet::Data(data),
                    Some(of) => {
                        let announced = packet.incast.as_ref();
                        senders = announced.map_or_else(Vec::new, |(_, all)| all.iter().map(|n| *n as u16).collect());
                        let list = announced
                            .map(|(incast, _)| SenderList { incast: *incast, senders: Senders::new(&senders) });
                        let dart = DartData {
                            start,
                            end,
                            lane: head.lane & 1,
                            tokens: head.tokens.min(7),
                            tenant: of.tenant,
                            weight: of.weight,
                            message: head.flow.0,
                            attempt: head.attempt,
                            list,
                        };
                        Packet::DartData(DartSend { envelope, destination_qp, psn, ack_request, dart, payload: whole })
                    }
                };
                // Checksums over payload that is cut off need not be computed. The omitted length is a multiple of
                // four, so that the padding is unchanged.
                let missing = full.wire_len().saturating_sub(self.snaplen + ICRC_LEN + FCS_LEN).min(whole.len()) & !3;
                let payload = &whole[missing..];
                let cut = match full {
                    Packet::DartData(data) => Packet::DartData(DartSend { payload, ..data }),
                    _ => Packet::Data(Data { payload, ..data }),
                };
                return Ok(Made { len: cut.encode(&mut self.bytes)?, missing });
            }
            Kind::Ack => {
                // The packet before the expected one.
                let psn = psn.wrapping_sub(1) % NUMBERS;
                let ack = Response { envelope, destination_qp, psn, msn: 0, becn };
                if dart.is_some() && head.wire > self.ack {
                    let (dart, _) = DartAck::decode(&head.cc_feedback.to_be_bytes())?;
                    Packet::DartAck { ack, dart }
                } else {
                    Packet::Ack(ack)
                }
            }
            Kind::Nack => {
                // With selective retransmission, the packet that it answers; RoCEv2 has no field for that.
                let msn = if head.cc_tag > 0 { psn_of(head.seq + u64::from(head.cc_tag)) } else { 0 };
                Packet::Nack(Response { envelope, destination_qp, psn, msn, becn })
            }
            Kind::Cnp => Packet::Cnp(Cnp { envelope, destination_qp }),
            Kind::Credit | Kind::Request => return Ok(self.plain(packet, from, to)),
        };
        Ok(Made { len: made.encode(&mut self.bytes)?, missing: 0 })
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

    /// A packet without a standard layout, such as a credit: kind, class, connection and `cc_tag` after an Ethernet
    /// header of a type for experiments.
    fn plain(&mut self, packet: &Captured, from: NodeId, to: NodeId) -> Made {
        let head = &packet.head;
        self.bytes[..MIN_FRAME].fill(0);
        self.bytes[..6].copy_from_slice(&mac(to));
        self.bytes[6..12].copy_from_slice(&mac(from));
        self.bytes[12..14].copy_from_slice(&LOCAL_EXPERIMENT.to_be_bytes());
        self.bytes[14..16].copy_from_slice(&[head.kind as u8, head.class]);
        self.bytes[16..20].copy_from_slice(&packet.channel.0.to_be_bytes());
        self.bytes[20..24].copy_from_slice(&head.cc_tag.to_be_bytes());
        Made { len: MIN_FRAME, missing: 0 }
    }
}

/// The telemetry of a packet as a header between its UDP header and its BTH (HPCC 4.1).
fn telemetry_header(telemetry: &Telemetry, unit: u32) -> IntHeader {
    let mut header = IntHeader::default();
    let mut records = telemetry.hops().iter().map(|hop| {
        let IntFields { speed, time, sent, queued } = IntFields::of(hop, unit);
        IntRecord { speed, time, sent, queued }
    });
    for switch in 0..telemetry.count() {
        // The individual switches are no longer known, but the XOR of their numbers is.
        let path = if switch == 0 { telemetry.path() } else { 0 };
        header.push(path, records.next().unwrap_or_default());
    }
    header
}

/// Inserts a header between UDP and BTH of a frame of `len` bytes and returns its length. The ICRC remains that of the
/// packet without it, sent to RoCEv2's port, because switches change the header and the ICRC only covers invariant
/// fields.
fn insert(frame: &mut [u8], len: usize, header: &[u8]) -> usize {
    if header.is_empty() || frame[23] != PROTOCOL_UDP {
        return 0;
    }
    frame.copy_within(BEHIND_UDP..len, BEHIND_UDP + header.len());
    frame[BEHIND_UDP..BEHIND_UDP + header.len()].copy_from_slice(header);
    let at = Ethernet::LEN + Ipv4::LEN;
    frame[at + 2..at + 4].copy_from_slice(&TELEMETRY_PORT.to_be_bytes());
    lengthen(frame, header.len());
    header.len()
}

/// Increases the lengths in the IPv4 and UDP headers of a frame.
fn lengthen(frame: &mut [u8], by: usize) {
    let (at, behind) = (Ethernet::LEN, Ethernet::LEN + Ipv4::LEN);
    let read = (Ipv4::decode(&frame[at..]), Udp::decode(&frame[behind..]));
    let (Ok((mut ip, _)), Ok((mut udp, _))) = read else { return };
    // A frame has less than 2^16 B in all.
    ip.total_length = ip.total_length.saturating_add(by as u16);
    udp.length = udp.length.saturating_add(by as u16);
    let written = ip.encode(&mut frame[at..]).and_then(|_| udp.encode(&mut frame[behind..]));
    debug_assert!(written.is_ok(), "what was read can be written");
}

fn mac(node: NodeId) -> Mac {
    let [a, b, c, d] = node.0.wrapping_add(1).to_be_bytes();
    [2, 0, a, b, c, d]
}

fn ip(node: NodeId) -> [u8; 4] {
    let [_, b, c, d] = node.0.wrapping_add(1).to_be_bytes();
    [10, b, c, d]
}

/// A port from the dynamic range (RFC 6335).
fn port(connection: u32) -> u16 {
    0xC000 | (connection & 0x3FFF) as u16
}

/// Class c as class selector c (RFC 2474 section 4.2.2).
fn dscp(class: u8) -> u8 {
    (class & 7) << 3
}

fn ecn(bits: u8) -> Ecn {
    match (bits & flags::CE != 0, bits & flags::ECT != 0) {
        (true, _) => Ecn::CongestionExperienced,
        (false, true) => Ecn::Capable0,
        (false, false) => Ecn::NotCapable,
    }
}

/// Hosts send with TTL 64; every switch decrements it.
fn ttl(links: u8) -> u8 {
    64u8.saturating_sub(links).max(1)
}

/// The simulator's pause frame: the classes that changed, and which of them are paused.
fn pfc(cc_tag: u32) -> Pfc {
    let (changed, paused) = ((cc_tag >> 8) as u8, cc_tag as u8);
    let quanta = |class: usize| if paused >> class & 1 == 1 { LONGEST_PAUSE } else { 0 };
    Pfc { quanta: std::array::from_fn(|class| (changed >> class & 1 == 1).then(|| quanta(class))) }
}

fn microseconds(time: Time) -> u32 {
    (time.as_ps() / 1_000_000) as u32
}
