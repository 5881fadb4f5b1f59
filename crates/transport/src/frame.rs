//! Packets of hosts as whole frames, and back.
//!
//! What a standard header has a place for is there: addresses, class (DSCP), marks (ECN), start and end of a message
//! (opcode), queue pair, echoes (BECN), links crossed (time to live), Dart's header, telemetry. A connection has a
//! queue pair number of its own, from that of the message that opened it. Addresses and names are derived from numbers:
//! node n has the Ethernet address 02:00 followed by n+1 in four bytes and the IPv4 address 10.0.0.0 + n+1. A credit or
//! a request of a scheme has no standard layout and is a frame of the Ethernet type for experiments ([`plain`]).
//!
//! What the schemes need and no standard header holds stands in an extension in front of the frame, in network byte
//! order ([`Carried::encode`]):
//! [`layouts::EXTENSION`] says what stands where in it; records of telemetry follow it: rate in b/s, time in ps, bytes
//! sent, bytes queued, 8 bytes each.
//!
//! Of what is in both, the frame counts: a frame is refused where they differ.

use crate::path::Path;
use fanin_cc::{Header, IntFields, IntHop, Kind, Telemetry, WireFormat, flags};
use fanin_units::{MessageId, NodeId, Rate, Time};
use fanin_wire::{
    Cnp, DartAck, DartData, DartSend, Data, Ecn, Envelope, Ethernet, IntHeader, IntRecord, Ipv4, MIN_FRAME, Mac,
    PROTOCOL_UDP, Packet, Pfc, ROCE_PORT, Response, SenderList, Senders, Udp, WireError, layouts,
};

/// Position of the telemetry header: after the UDP header.
const BEHIND_UDP: usize = Ethernet::LEN + Ipv4::LEN + Udp::LEN;
/// The UDP port of packets with telemetry. HPCC 4.1 names none, and at RoCEv2's own port a reader would take telemetry
/// for a BTH; this one is reserved for experiments (RFC 4727 section 6).
pub const TELEMETRY_PORT: u16 = 1021;
/// Ethernet type for frames without a standard layout: for local experiments (IEEE 802, clause 9.2.3).
const LOCAL_EXPERIMENT: u16 = 0x88B5;
/// Quanta of a PAUSE, which in the simulator holds until it is revoked.
const LONGEST_PAUSE: u16 = u16::MAX;
/// Queue pairs 0 and 1 are reserved (InfiniBand 3.5.9), so numbers start well above.
const FIRST_QP: u32 = 256;
const NUMBERS: u32 = 1 << 24;
/// Most messages that have a queue pair number of their own.
pub const MOST_MESSAGES: u32 = NUMBERS - FIRST_QP;
/// Payloads are zeros.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// The layout of a traffic's packets.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Which headers they have.
    pub format: WireFormat,
    /// The tenant.
    pub tenant: u8,
    /// The weight where a receiver divides its line rate.
    pub weight: u16,
}

/// The DSCPs of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dscps {
    /// By class, of which 0 is control.
    pub of_class: [u8; 8],
    /// That of CNPs, if it is not that of their class.
    pub cnp: Option<u8>,
}

impl Default for Dscps {
    /// Class c as class selector c (RFC 2474 section 4.2.2).
    fn default() -> Self {
        Self { of_class: std::array::from_fn(|class| (class as u8) << 3), cnp: None }
    }
}

impl Dscps {
    /// That of a packet.
    pub fn of(&self, head: &Header) -> u8 {
        let cnp = self.cnp.filter(|_| head.kind == Kind::Cnp);
        cnp.unwrap_or(self.of_class[usize::from(head.class & 7)])
    }

    /// The class of the packets with a DSCP. One that nobody has is read as a class selector.
    pub fn class(&self, dscp: u8) -> u8 {
        if self.cnp == Some(dscp) {
            // No class that packets have has it too.
            return 0;
        }
        let class = self.of_class.iter().zip(0u8..).find(|(of, _)| **of == dscp).map(|(_, class)| class);
        class.unwrap_or(dscp >> 3)
    }
}

/// A packet, with all that its frame depends on.
#[derive(Clone, Copy, Debug)]
pub struct Described<'a> {
    /// What it says of itself.
    pub head: &'a Header,
    /// The nodes at the two ends of the link.
    pub link: (NodeId, NodeId),
    /// The message whose number is that of the queue pair.
    pub channel: MessageId,
    /// The layout of its traffic's packets, where it is of one.
    pub layout: Option<Layout>,
    /// Largest payload, in which packets are numbered.
    pub payload: u64,
    /// Bytes of an ACK without those added by a scheme.
    pub ack: u16,
    /// The DSCPs of the network.
    pub dscps: Dscps,
    /// The incast that it announces, and its senders.
    pub incast: Option<(u32, &'a [u16])>,
}

impl<'a> Described<'a> {
    /// The headers below the transport header.
    pub fn envelope(&self) -> Envelope {
        let head = self.head;
        Envelope {
            source_mac: mac(self.link.0),
            destination_mac: mac(self.link.1),
            source_ip: ip(head.src),
            destination_ip: ip(head.dst),
            source_port: port(self.channel.0),
            dscp: self.dscps.of(head),
            ecn: ecn(head.flags),
            ttl: ttl(head.hops),
        }
    }

    /// Its packet with this payload; `None` where it has no standard layout ([`plain`]).
    ///
    /// # Errors
    /// Where it has no form on Ethernet (flow control of InfiniBand), and for fields out of range.
    pub fn packet(&self, payload: &'a [u8]) -> Result<Option<Packet<'a>>, WireError> {
        let (head, envelope) = (self.head, self.envelope());
        let destination_qp = FIRST_QP + self.channel.0 % MOST_MESSAGES;
        let psn_of = |offset: u64| (offset.div_ceil(self.payload) % u64::from(NUMBERS)) as u32;
        let psn = psn_of(head.seq);
        let becn = head.has(flags::ECHO);
        let dart = self.layout.filter(|of| of.format == WireFormat::Dart);
        Ok(Some(match head.kind {
            Kind::FlowControl => return Err(WireError::NoRoom { header: "Ethernet", missing: 0 }),
            Kind::Pause => Packet::Pfc { source: mac(self.link.0), pfc: pfc(head.cc_tag) },
            Kind::Data | Kind::Trimmed => {
                let ack_request = head.has(flags::END);
                let (start, end) = (head.has(flags::START), head.has(flags::END));
                match dart {
                    None => Packet::Data(Data { envelope, destination_qp, psn, start, end, ack_request, payload }),
                    Some(of) => {
                        let list = self.incast.map(|(incast, all)| SenderList { incast, senders: Senders::new(all) });
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
                        Packet::DartData(DartSend { envelope, destination_qp, psn, ack_request, dart, payload })
                    }
                }
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
                let msn = if head.cc_tag > 0 { psn_of(head.seq.saturating_add(head.cc_tag.into())) } else { 0 };
                Packet::Nack(Response { envelope, destination_qp, psn, msn, becn })
            }
            Kind::Cnp => Packet::Cnp(Cnp { envelope, destination_qp }),
            Kind::Credit | Kind::Request => return Ok(None),
        }))
    }

    /// The frame of a packet without a standard layout, such as a credit, at the front of `bytes`; returns its length.
    /// [`layouts::PLAIN`] says what stands where behind the Ethernet header.
    pub fn plain(&self, bytes: &mut [u8]) -> usize {
        let head = self.head;
        bytes[..MIN_FRAME].fill(0);
        bytes[..6].copy_from_slice(&mac(self.link.1));
        bytes[6..12].copy_from_slice(&mac(self.link.0));
        bytes[12..14].copy_from_slice(&LOCAL_EXPERIMENT.to_be_bytes());
        bytes[14..16].copy_from_slice(&[head.kind as u8, head.class]);
        bytes[16..20].copy_from_slice(&self.channel.0.to_be_bytes());
        bytes[20..24].copy_from_slice(&head.cc_tag.to_be_bytes());
        bytes[24..28].copy_from_slice(&head.src.0.to_be_bytes());
        bytes[28..32].copy_from_slice(&head.dst.0.to_be_bytes());
        bytes[32] = head.hops;
        MIN_FRAME
    }
}

/// The telemetry of a packet as a header between its UDP header and its BTH (HPCC 4.1).
pub fn telemetry_header(telemetry: &Telemetry, unit: u32) -> IntHeader {
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
pub fn insert(frame: &mut [u8], len: usize, header: &[u8]) -> usize {
    if header.is_empty() || frame[23] != PROTOCOL_UDP {
        return 0;
    }
    frame.copy_within(BEHIND_UDP..len, BEHIND_UDP + header.len());
    frame[BEHIND_UDP..BEHIND_UDP + header.len()].copy_from_slice(header);
    let at = Ethernet::LEN + Ipv4::LEN;
    frame[at + 2..at + 4].copy_from_slice(&TELEMETRY_PORT.to_be_bytes());
    resize(frame, header.len() as i32);
    header.len()
}

/// Changes the lengths in the IPv4 and UDP headers of a frame. Returns whether it has both and they may have these.
pub fn resize(frame: &mut [u8], by: i32) -> bool {
    let (at, behind) = (Ethernet::LEN, Ethernet::LEN + Ipv4::LEN);
    let read = (Ipv4::decode(&frame[at..]), Udp::decode(&frame[behind..]));
    let (Ok((mut ip, _)), Ok((mut udp, _))) = read else { return false };
    // A frame has less than 2^16 B in all.
    let changed = |length: u16| (i32::from(length) + by).clamp(0, i32::from(u16::MAX)) as u16;
    (ip.total_length, udp.length) = (changed(ip.total_length), changed(udp.length));
    ip.encode(&mut frame[at..]).and_then(|_| udp.encode(&mut frame[behind..])).is_ok()
}

/// The Ethernet address of a node.
pub fn mac(node: NodeId) -> Mac {
    let [a, b, c, d] = node.0.wrapping_add(1).to_be_bytes();
    [2, 0, a, b, c, d]
}

/// The IPv4 address of a node.
pub fn ip(node: NodeId) -> [u8; 4] {
    let [_, b, c, d] = node.0.wrapping_add(1).to_be_bytes();
    [10, b, c, d]
}

/// The node with an IPv4 address.
fn node([_, b, c, d]: [u8; 4]) -> NodeId {
    NodeId(u32::from_be_bytes([0, b, c, d]).wrapping_sub(1))
}

/// A port from the dynamic range (RFC 6335).
pub fn port(connection: u32) -> u16 {
    0xC000 | (connection & 0x3FFF) as u16
}

/// Congestion bits of a packet with these flags.
pub fn ecn(bits: u8) -> Ecn {
    match (bits & flags::CE != 0, bits & flags::ECT != 0) {
        (true, _) => Ecn::CongestionExperienced,
        (false, true) => Ecn::Capable0,
        (false, false) => Ecn::NotCapable,
    }
}

/// Hosts send with TTL 64; every switch decrements it.
pub fn ttl(links: u8) -> u8 {
    64u8.saturating_sub(links).max(1)
}

/// The simulator's pause frame: the classes that changed, and which of them are paused.
fn pfc(cc_tag: u32) -> Pfc {
    let (changed, paused) = ((cc_tag >> 8) as u8, cc_tag as u8);
    let quanta = |class: usize| if paused >> class & 1 == 1 { LONGEST_PAUSE } else { 0 };
    Pfc { quanta: std::array::from_fn(|class| (changed >> class & 1 == 1).then(|| quanta(class))) }
}

/// The classes of a pause frame, as [`pfc`] has them.
fn classes(pfc: &Pfc) -> u32 {
    let bits = |is: &dyn Fn(u16) -> bool| {
        (0..8u32).filter(|class| pfc.quanta[*class as usize].is_some_and(is)).fold(0, |bits, class| bits | 1 << class)
    };
    bits(&|_| true) << 8 | bits(&|quanta| quanta > 0)
}

/// A packet with all that a receiver needs.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    /// What it says of itself.
    pub head: Header,
    /// The message that opened its connection, whose number is that of its queue pair.
    pub channel: MessageId,
    /// The path that it follows.
    pub path: Path,
    /// The number of its scheme.
    pub scheme: u16,
    /// Deflections so far.
    pub deflections: u8,
    /// What switches wrote into it.
    pub telemetry: Option<Telemetry>,
}

/// What frames look like in a network.
#[derive(Clone, Debug)]
pub struct Formats {
    /// Largest payload.
    pub payload: u16,
    /// Bytes of an ACK.
    pub ack: u16,
    /// The DSCPs.
    pub dscps: Dscps,
    /// By scheme.
    pub layouts: Vec<Layout>,
}

/// Bytes of the extension without records of telemetry.
const EXTENSION: usize = layouts::EXTENSION.len();
const RECORD: usize = 32;
/// Where the extension has the number of its records.
const RECORDS: usize = 46;
const NO_TELEMETRY: u8 = u8::MAX;

/// Flags that a frame of a kind shows.
const fn shown(kind: Kind) -> u8 {
    match kind {
        Kind::Data => flags::CE | flags::ECT | flags::START | flags::END | flags::INT,
        Kind::Ack | Kind::Nack => flags::CE | flags::ECT | flags::ECHO | flags::INT,
        Kind::Cnp => flags::CE | flags::ECT,
        Kind::Credit | Kind::Request | Kind::Pause | Kind::FlowControl | Kind::Trimmed => 0,
    }
}

/// The frame behind an extension.
pub fn without_extension(bytes: &[u8]) -> &[u8] {
    let records = bytes.get(RECORDS).filter(|records| **records != NO_TELEMETRY).copied().unwrap_or(0);
    let records = usize::from(records).min(Telemetry::MOST);
    bytes.get(EXTENSION + RECORD * records..).unwrap_or_default()
}

impl Carried {
    /// Appends the extension and the frame to `bytes`, with zeros as its payload. `link` has the nodes at the ends of
    /// the link that it takes, and `incast` what it announces.
    ///
    /// # Errors
    /// Where it has no form on Ethernet.
    pub fn encode(
        &self,
        formats: &Formats,
        link: (NodeId, NodeId),
        incast: Option<(u32, &[u16])>,
        bytes: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        self.encode_with(formats, link, incast, &ZEROS[..usize::from(self.head.payload)], bytes)
    }

    /// The same with a payload, which has the length that the packet says.
    ///
    /// # Errors
    /// Where it has no form on Ethernet.
    pub fn encode_with(
        &self,
        formats: &Formats,
        link: (NodeId, NodeId),
        incast: Option<(u32, &[u16])>,
        payload: &[u8],
        bytes: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let head = &self.head;
        self.extension(bytes);
        let layout = formats.layouts.get(usize::from(self.scheme)).copied();
        let largest = u64::from(formats.payload).max(1);
        let described = Described {
            head,
            link,
            channel: self.channel,
            layout,
            payload: largest,
            ack: formats.ack,
            dscps: formats.dscps,
            incast,
        };
        let at = bytes.len();
        let Some(packet) = described.packet(payload)? else {
            bytes.resize(at + MIN_FRAME, 0);
            described.plain(&mut bytes[at..]);
            return Ok(());
        };
        bytes.resize(at + packet.wire_len() + IntHeader::MOST_LEN, 0);
        let mut len = packet.encode(&mut bytes[at..])?;
        if let Some(telemetry) = &self.telemetry {
            let unit = match layout.map(|of| of.format) {
                Some(WireFormat::Int { unit }) => unit,
                _ => 1,
            };
            let mut header = [0; IntHeader::MOST_LEN];
            let of = telemetry_header(telemetry, unit).encode(&mut header)?;
            len += insert(&mut bytes[at..], len, &header[..of]);
        }
        bytes.truncate(at + len);
        Ok(())
    }

    fn extension(&self, bytes: &mut Vec<u8>) {
        let head = &self.head;
        bytes.extend(head.seq.to_be_bytes());
        bytes.extend(head.sent_at.as_ps().to_be_bytes());
        for word in [head.cc_tag, head.cc_feedback, self.path.key, self.path.route, head.flow.0] {
            bytes.extend(word.to_be_bytes());
        }
        for word in [head.wire, head.attempt, self.scheme] {
            bytes.extend(word.to_be_bytes());
        }
        // A marked packet's frame does not say whether it was ECN-capable.
        let capable = if head.has(flags::CE) { head.flags & flags::ECT } else { 0 };
        bytes.extend([head.flags & !shown(head.kind) | capable, head.lane, head.tokens, self.deflections]);
        let telemetry = self.telemetry.as_ref();
        bytes.extend([telemetry.map_or(NO_TELEMETRY, Telemetry::count), 0]);
        bytes.extend(telemetry.map_or(0, Telemetry::path).to_be_bytes());
        for hop in telemetry.map_or(&[][..], Telemetry::hops) {
            for word in [hop.rate.as_bps(), hop.time.as_ps(), hop.sent, hop.queued] {
                bytes.extend(word.to_be_bytes());
            }
        }
    }

    /// Reads extension and frame, which fill `bytes`; `None` for anything else. `scratch` is memory for a copy.
    pub fn decode(formats: &Formats, bytes: &[u8], scratch: &mut Vec<u8>) -> Option<Self> {
        Self::decode_with(formats, bytes, scratch).map(|(carried, _)| carried)
    }

    /// The same, and the payload, which is empty but for data.
    pub fn decode_with<'a>(formats: &Formats, bytes: &'a [u8], scratch: &'a mut Vec<u8>) -> Option<(Self, &'a [u8])> {
        let mut carried = Self::read_extension(bytes)?;
        let telemetry = carried.telemetry.as_ref();
        let frame = &bytes[EXTENSION + RECORD * telemetry.map_or(0, |of| of.hops().len())..];
        let (head, channel) = (&mut carried.head, &mut carried.channel);
        if frame.get(12..14)? == LOCAL_EXPERIMENT.to_be_bytes() {
            read_plain(head, channel, frame)?;
            return Some((carried, &[]));
        }
        let mut frame = frame;
        if let Some(telemetry) = telemetry {
            let unit = match formats.layouts.get(usize::from(carried.scheme))?.format {
                WireFormat::Int { unit } => unit,
                _ => 1,
            };
            scratch.clear();
            scratch.extend(frame);
            let (header, _) = IntHeader::decode(frame.get(BEHIND_UDP..)?).ok()?;
            if header != telemetry_header(telemetry, unit) || frame.get(36..38)? != TELEMETRY_PORT.to_be_bytes() {
                return None;
            }
            scratch.drain(BEHIND_UDP..BEHIND_UDP + header.wire_len());
            scratch[36..38].copy_from_slice(&ROCE_PORT.to_be_bytes());
            if !resize(scratch, -(header.wire_len() as i32)) {
                return None;
            }
            frame = scratch;
            head.flags |= flags::INT;
        }
        let (packet, rest) = Packet::decode(frame).ok()?;
        if !rest.is_empty() {
            return None;
        }
        let consistent = read_packet(head, channel, &packet, formats);
        let payload = match packet {
            Packet::Data(data) => data.payload,
            Packet::DartData(data) => data.payload,
            _ => &[],
        };
        consistent.then_some((carried, payload))
    }

    fn read_extension(bytes: &[u8]) -> Option<Self> {
        let fixed: &[u8; EXTENSION] = bytes.first_chunk()?;
        let u64_at = |at: usize| bytes.get(at..at + 8).map(|b| u64::from_be_bytes(b.try_into().unwrap_or_default()));
        let u32_at = |at: usize| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
        let u16_at = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let head = Header {
            seq: u64_at(0)?,
            sent_at: Time::from_ps(u64_at(8)?),
            cc_tag: u32_at(16),
            cc_feedback: u32_at(20),
            flow: MessageId(u32_at(32)),
            wire: u16_at(36),
            attempt: u16_at(38),
            flags: fixed[42],
            lane: fixed[43],
            tokens: fixed[44],
            ..Header::default()
        };
        let telemetry = if fixed[RECORDS] == NO_TELEMETRY {
            None
        } else {
            let mut telemetry = Telemetry::default();
            for record in 0..usize::from(fixed[RECORDS]) {
                let at = EXTENSION + RECORD * record;
                let hop = if record < Telemetry::MOST {
                    let (rate, time) = (Rate::from_bps(u64_at(at)?), Time::from_ps(u64_at(at + 8)?));
                    IntHop { rate, time, sent: u64_at(at + 16)?, queued: u64_at(at + 24)? }
                } else {
                    IntHop::default()
                };
                // The XOR of all switches' numbers, at once.
                telemetry.push(NodeId(if record == 0 { u32::from(u16_at(48)) } else { 0 }), hop);
            }
            Some(telemetry)
        };
        let path = Path { key: u32_at(24), route: u32_at(28) };
        // The frame says which connection it is of.
        Some(Self { head, channel: head.flow, path, scheme: u16_at(40), deflections: fixed[45], telemetry })
    }
}

/// See [`Described::plain`].
fn read_plain(head: &mut Header, channel: &mut MessageId, frame: &[u8]) -> Option<()> {
    let frame: &[u8; MIN_FRAME] = frame.try_into().ok()?;
    let u32_at = |at: usize| u32::from_be_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]);
    head.kind = match frame[14] {
        of if of == Kind::Credit as u8 => Kind::Credit,
        of if of == Kind::Request as u8 => Kind::Request,
        _ => return None,
    };
    (head.class, head.hops) = (frame[15] & 7, frame[32]);
    *channel = MessageId(u32_at(16));
    (head.src, head.dst) = (NodeId(u32_at(24)), NodeId(u32_at(28)));
    (head.cc_tag == u32_at(20)).then_some(())
}

/// Adds to a header what its frame says. Returns whether that agrees with what the header has from the extension.
fn read_packet(head: &mut Header, channel: &mut MessageId, packet: &Packet<'_>, formats: &Formats) -> bool {
    let payload = u64::from(formats.payload).max(1);
    let psn = |offset: u64| (offset.div_ceil(payload) % u64::from(NUMBERS)) as u32;
    let mut at = |envelope: &Envelope, qp: u32| {
        (head.src, head.dst) = (node(envelope.source_ip), node(envelope.destination_ip));
        (head.class, head.hops) = (formats.dscps.class(envelope.dscp), 64 - envelope.ttl.min(64));
        *channel = MessageId(qp.wrapping_sub(FIRST_QP));
        head.flags |= match envelope.ecn {
            Ecn::CongestionExperienced => flags::CE,
            Ecn::Capable0 | Ecn::Capable1 => flags::ECT,
            Ecn::NotCapable => 0,
        };
    };
    let ends = |start: bool, end: bool| if start { flags::START } else { 0 } | if end { flags::END } else { 0 };
    match packet {
        Packet::Data(data) => {
            at(&data.envelope, data.destination_qp);
            (head.kind, head.payload) = (Kind::Data, data.payload.len() as u16);
            head.flags |= ends(data.start, data.end);
            psn(head.seq) == data.psn
        }
        Packet::DartData(data) => {
            at(&data.envelope, data.destination_qp);
            (head.kind, head.payload) = (Kind::Data, data.payload.len() as u16);
            head.flags |= ends(data.dart.start, data.dart.end);
            let dart = (head.flow.0, head.attempt, head.lane & 1, head.tokens.min(7));
            psn(head.seq) == data.psn
                && dart == (data.dart.message, data.dart.attempt, data.dart.lane, data.dart.tokens)
        }
        Packet::Ack(ack) | Packet::DartAck { ack, .. } => {
            at(&ack.envelope, ack.destination_qp);
            head.kind = Kind::Ack;
            head.flags |= if ack.becn { flags::ECHO } else { 0 };
            let share = match packet {
                Packet::DartAck { dart, .. } => {
                    let mut share = [0; DartAck::LEN];
                    dart.encode(&mut share).is_ok() && u32::from_be_bytes(share) == head.cc_feedback
                }
                _ => true,
            };
            share && psn(head.seq).wrapping_sub(1) % NUMBERS == ack.psn
        }
        Packet::Nack(nack) => {
            at(&nack.envelope, nack.destination_qp);
            head.kind = Kind::Nack;
            head.flags |= if nack.becn { flags::ECHO } else { 0 };
            psn(head.seq) == nack.psn
        }
        Packet::Cnp(cnp) => {
            at(&cnp.envelope, cnp.destination_qp);
            head.kind = Kind::Cnp;
            true
        }
        Packet::Pfc { source, pfc } => {
            let [_, _, a, b, c, d] = *source;
            (head.kind, head.flow) = (Kind::Pause, Header::default().flow);
            head.src = NodeId(u32::from_be_bytes([a, b, c, d]).wrapping_sub(1));
            head.cc_tag == classes(pfc)
        }
    }
}
