//! Whole packets: Ethernet frames from the destination address to the frame check sequence.

use crate::crc::Crc32;
use crate::dart::{DartAck, DartData};
use crate::error::{WireError, require, take, take_slice, wrong};
use crate::ethernet::{Ethernet, FCS_LEN, MIN_FRAME, Mac, ethertype};
use crate::ip::{Ecn, Ipv4, PROTOCOL_UDP, ROCE_PORT, Udp};
use crate::pfc::{PFC_ADDRESS, Pfc};
use crate::roce::{Aeth, Bth, CNP_RESERVED, DEFAULT_PARTITION, ICRC_LEN, Syndrome, icrc_and_crc, opcode};
use crate::size;

/// A whole packet.
///
/// | packet | layers, bytes |
/// |---|---|
/// | data | Ethernet 14, IPv4 20, UDP 8, BTH 12, payload and 0-3 padding, ICRC 4, FCS 4 |
/// | ACK, NACK | Ethernet 14, IPv4 20, UDP 8, BTH 12, AETH 4, ICRC 4, FCS 4 |
/// | CNP | Ethernet 14, IPv4 20, UDP 8, BTH 12, reserved 16, ICRC 4, FCS 4 |
/// | Dart's data | Ethernet 14, IPv4 20, UDP 8, BTH 12, Dart 12, list of senders, payload, 0-3 padding, ICRC 4, FCS 4 |
/// | Dart's ACK | Ethernet 14, IPv4 20, UDP 8, BTH 12, AETH 4, Dart 4, ICRC 4, FCS 4 |
/// | PFC | Ethernet 14, opcode, vector and quanta 20, zeros 26, FCS 4 |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packet<'a> {
    /// Payload of a message.
    Data(Data<'a>),
    /// Everything up to and with this packet has arrived.
    Ack(Response),
    /// This packet is missing: go back to it.
    Nack(Response),
    /// A packet of this connection met congestion.
    Cnp(Cnp),
    /// Payload of a message under Dart.
    DartData(DartSend<'a>),
    /// An ACK under Dart.
    DartAck {
        /// The header of every ACK.
        ack: Response,
        /// The sender's share.
        dart: DartAck,
    },
    /// PAUSE or RESUME of classes on this link; one frame may do both.
    Pfc {
        /// Address of the port that sends it.
        source: Mac,
        /// The classes and their pause times.
        pfc: Pfc,
    },
}

/// The headers that all RoCEv2 packets have below their transport header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Envelope {
    /// Source Ethernet address.
    pub source_mac: Mac,
    /// Destination Ethernet address.
    pub destination_mac: Mac,
    /// Source IPv4 address.
    pub source_ip: [u8; 4],
    /// Destination IPv4 address.
    pub destination_ip: [u8; 4],
    /// UDP source port, which ECMP hashes.
    pub source_port: u16,
    /// Class of the packet; below 64.
    pub dscp: u8,
    /// Congestion bits.
    pub ecn: Ecn,
    /// Routers it may still cross.
    pub ttl: u8,
}

/// A data packet: an RDMA SEND on a reliable connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Data<'a> {
    /// Addresses, class and marks.
    pub envelope: Envelope,
    /// Queue pair of the receiver; below 2^24.
    pub destination_qp: u32,
    /// Number of the packet on its connection; below 2^24.
    pub psn: u32,
    /// Whether it starts a message.
    pub start: bool,
    /// Whether it ends a message.
    pub end: bool,
    /// Whether the receiver should acknowledge it.
    pub ack_request: bool,
    /// Payload without padding; at most 65,488 B (IPv4 counts 65,535 B with headers).
    pub payload: &'a [u8],
}

/// A data packet of Dart: one of the RDMA SENDs above with what Dart adds, which also says whether it starts or ends
/// a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DartSend<'a> {
    /// Addresses, class and marks.
    pub envelope: Envelope,
    /// Queue pair of the receiver; below 2^24.
    pub destination_qp: u32,
    /// Number of the packet on its connection; below 2^24.
    pub psn: u32,
    /// Whether the receiver should acknowledge it.
    pub ack_request: bool,
    /// Dart's header, with the list of senders if there is one.
    pub dart: DartData<'a>,
    /// Payload without padding; with the list at most 65,476 B.
    pub payload: &'a [u8],
}

/// An ACK or a NACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Response {
    /// Addresses, class and marks.
    pub envelope: Envelope,
    /// Queue pair of the data's sender; below 2^24.
    pub destination_qp: u32,
    /// ACK: the last packet received in order. NACK: the packet expected. Below 2^24.
    pub psn: u32,
    /// Messages completed so far, modulo 2^24; below 2^24.
    pub msn: u32,
    /// Whether it echoes the congestion mark of its data packet.
    pub becn: bool,
}

/// A congestion notification packet (Annex A17.9.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cnp {
    /// Addresses, class and marks.
    pub envelope: Envelope,
    /// Queue pair of the data's sender; below 2^24.
    pub destination_qp: u32,
}

impl<'a> Packet<'a> {
    /// Bytes on the wire, FCS included: what [`Packet::encode`] writes.
    pub fn wire_len(&self) -> usize {
        let bytes = match self {
            Self::Data(data) => size::data(data.payload.len() as u64),
            Self::Ack(_) => size::ACK,
            Self::Nack(_) => size::NACK,
            Self::Cnp(_) => size::CNP,
            Self::DartData(data) => size::dart_data(data.list_and_payload() as u64),
            Self::DartAck { .. } => size::DART_ACK,
            Self::Pfc { .. } => size::PAUSE,
        };
        usize::try_from(bytes.get()).unwrap_or(usize::MAX)
    }

    /// Writes the whole frame, with padding and all checksums, to the front of `buffer` and returns its length. After
    /// an error the buffer holds nothing of use.
    ///
    /// RoCEv2 packets go out unfragmentable with identification 0, UDP checksum 0, in the default partition.
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Field`] for values out of the ranges their fields name.
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let len = self.wire_len();
        let missing = len.saturating_sub(buffer.len());
        let frame = buffer.get_mut(..len).ok_or(WireError::NoRoom { header: "packet", missing })?;
        let (content, trailer) = frame.split_at_mut(len - FCS_LEN);
        let (at, mut crc) = match self {
            Self::Data(data) => encode_roce(&data.envelope, data.bth(), None, data.payload, content)?,
            Self::Ack(ack) => ack.encode(Syndrome::PLAIN_ACK, None, content)?,
            Self::Nack(nack) => nack.encode(Syndrome::SEQUENCE_ERROR, None, content)?,
            Self::Cnp(cnp) => encode_roce(&cnp.envelope, cnp.bth(), None, &[0; CNP_RESERVED], content)?,
            Self::DartData(data) => encode_roce(&data.envelope, data.bth(), Some(&data.dart), data.payload, content)?,
            Self::DartAck { ack, dart } => ack.encode(Syndrome::PLAIN_ACK, Some(dart), content)?,
            Self::Pfc { source, pfc } => {
                let ethernet =
                    Ethernet { destination: PFC_ADDRESS, source: *source, ethertype: ethertype::MAC_CONTROL };
                let mut at = ethernet.encode(content)?;
                at += pfc.encode(&mut content[at..])?;
                (at, crc_of(&content[..at]))
            }
        };
        content[at..].fill(0);
        crc.add(&content[at..]);
        trailer.copy_from_slice(&crc.finish().to_le_bytes());
        Ok(len)
    }

    /// Reads a whole frame from the front of `bytes`; also returns the bytes after it.
    ///
    /// Checks run from the first header to the last, then ICRC and FCS, so an error names the first header that is
    /// known to be wrong. Ignored: reserved bits of the standards, contents of padding, identification and
    /// do-not-fragment, UDP checksum, partition, solicited event, migrated, credits, and what else of the BTH a variant
    /// has no field for.
    ///
    /// # Errors
    /// Any [`WireError`] but `NoRoom`.
    pub fn decode(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), WireError> {
        let (ethernet, inner) = Ethernet::decode(bytes)?;
        let (packet, rest, mut crc) = match ethernet.ethertype {
            ethertype::IPV4 => decode_roce(&ethernet, bytes, inner)?,
            ethertype::MAC_CONTROL => {
                let [d0, d1, d2, d3, d4, d5] = ethernet.destination;
                let found = u64::from_be_bytes([0, 0, d0, d1, d2, d3, d4, d5]);
                let right = ethernet.destination == PFC_ADDRESS;
                require(right, "Ethernet", "destination", found, "01-80-C2-00-00-01, as for all PFC")?;
                let (pfc, rest) = Pfc::decode(inner)?;
                (Self::Pfc { source: ethernet.source, pfc }, rest, crc_of(&bytes[..bytes.len() - rest.len()]))
            }
            other => {
                return Err(wrong("Ethernet", "type", other, "0x800 (IPv4) or 0x8808 (MAC control)"));
            }
        };
        let used = bytes.len() - rest.len();
        let (padding, rest) = take_slice("Ethernet padding", rest, (MIN_FRAME - FCS_LEN).saturating_sub(used))?;
        crc.add(padding);
        let (trailer, rest) = take("Ethernet FCS", rest)?;
        check("Ethernet FCS", u32::from_le_bytes(*trailer), crc.finish())?;
        Ok((packet, rest))
    }

    /// Reads a frame from a link that delivers one at a time: bytes after it are an error too.
    ///
    /// # Errors
    /// Those of [`Packet::decode`]; [`WireError::Field`] for bytes after the FCS.
    pub fn decode_frame(bytes: &'a [u8]) -> Result<Self, WireError> {
        let (packet, rest) = Self::decode(bytes)?;
        require(rest.is_empty(), "frame", "number of bytes after the FCS", rest.len() as u64, "0")?;
        Ok(packet)
    }
}

impl Data<'_> {
    fn bth(&self) -> Bth {
        let opcode = match (self.start, self.end) {
            (true, true) => opcode::SEND_ONLY,
            (true, false) => opcode::SEND_FIRST,
            (false, false) => opcode::SEND_MIDDLE,
            (false, true) => opcode::SEND_LAST,
        };
        let pad_count = (self.payload.len().wrapping_neg() % 4) as u8;
        let (ack_request, psn) = (self.ack_request, self.psn);
        Bth { opcode, pad_count, ack_request, psn, ..plain_bth(self.destination_qp) }
    }
}

impl DartSend<'_> {
    /// Bytes that are padded together: nothing between them is.
    fn list_and_payload(&self) -> usize {
        self.dart.wire_len() - DartData::LEN + self.payload.len()
    }

    fn bth(&self) -> Bth {
        let pad_count = (self.list_and_payload().wrapping_neg() % 4) as u8;
        let (ack_request, psn) = (self.ack_request, self.psn);
        Bth { opcode: opcode::DART_SEND, pad_count, ack_request, psn, ..plain_bth(self.destination_qp) }
    }
}

impl Response {
    fn encode(
        &self,
        syndrome: Syndrome,
        dart: Option<&DartAck>,
        content: &mut [u8],
    ) -> Result<(usize, Crc32), WireError> {
        let mut body = [0; Aeth::LEN + DartAck::LEN];
        let mut len = Aeth { syndrome, msn: self.msn }.encode(&mut body)?;
        let mut opcode = opcode::ACKNOWLEDGE;
        if let Some(dart) = dart {
            len += dart.encode(&mut body[len..])?;
            opcode = opcode::DART_ACKNOWLEDGE;
        }
        let (becn, psn) = (self.becn, self.psn);
        let bth = Bth { opcode, becn, psn, ..plain_bth(self.destination_qp) };
        encode_roce(&self.envelope, bth, None, &body[..len], content)
    }

    fn of(bth: &Bth, aeth: &Aeth, envelope: Envelope) -> Self {
        Self { envelope, destination_qp: bth.destination_qp, psn: bth.psn, msn: aeth.msn, becn: bth.becn }
    }
}

impl Cnp {
    fn bth(&self) -> Bth {
        Bth { opcode: opcode::CNP, becn: true, migrated: false, ..plain_bth(self.destination_qp) }
    }
}

/// A BTH with the values that most packets share.
const fn plain_bth(destination_qp: u32) -> Bth {
    Bth {
        opcode: opcode::SEND_ONLY,
        solicited_event: false,
        migrated: true,
        pad_count: 0,
        partition_key: DEFAULT_PARTITION,
        fecn: false,
        becn: false,
        destination_qp,
        ack_request: false,
        psn: 0,
    }
}

/// Writes everything from the Ethernet header to the ICRC; returns its length and its CRC. `content` is long enough.
fn encode_roce(
    envelope: &Envelope,
    bth: Bth,
    dart: Option<&DartData<'_>>,
    body: &[u8],
    content: &mut [u8],
) -> Result<(usize, Crc32), WireError> {
    let body_len = dart.map_or(0, DartData::wire_len) + body.len();
    let length = Udp::LEN + Bth::LEN + body_len + bth.pad_count as usize + ICRC_LEN;
    let Ok(total_length) = u16::try_from(Ipv4::LEN + length) else {
        let header = if dart.is_some() { "Dart data and payload" } else { "payload" };
        return Err(wrong(header, "length", body_len as u64, "65,488 B or less"));
    };
    let ethernet =
        Ethernet { destination: envelope.destination_mac, source: envelope.source_mac, ethertype: ethertype::IPV4 };
    let ip = Ipv4 {
        dscp: envelope.dscp,
        ecn: envelope.ecn,
        total_length,
        identification: 0,
        dont_fragment: true,
        ttl: envelope.ttl,
        protocol: PROTOCOL_UDP,
        source: envelope.source_ip,
        destination: envelope.destination_ip,
    };
    let udp =
        Udp { source_port: envelope.source_port, destination_port: ROCE_PORT, length: total_length - Ipv4::LEN as u16 };
    let mut at = ethernet.encode(content)?;
    at += ip.encode(&mut content[at..])?;
    at += udp.encode(&mut content[at..])?;
    at += bth.encode(&mut content[at..])?;
    if let Some(dart) = dart {
        at += dart.encode(&mut content[at..])?;
    }
    content[at..at + body.len()].copy_from_slice(body);
    at += body.len();
    let padding = bth.pad_count as usize;
    content[at..at + padding].fill(0);
    at += padding;
    let (icrc, mut crc) = icrc_and_crc(&content[..at]);
    let trailer = icrc.to_le_bytes();
    content[at..at + ICRC_LEN].copy_from_slice(&trailer);
    crc.add(&trailer);
    Ok((at + ICRC_LEN, crc))
}

/// Reads everything from the IPv4 header to the ICRC of a frame, the bytes `inner` on; also returns the bytes after it
/// and the CRC of the frame up to them.
fn decode_roce<'a>(
    ethernet: &Ethernet,
    frame: &'a [u8],
    inner: &'a [u8],
) -> Result<(Packet<'a>, &'a [u8], Crc32), WireError> {
    let (ip, rest) = Ipv4::decode(inner)?;
    require(ip.protocol == PROTOCOL_UDP, "IPv4", "protocol", ip.protocol, "17 (UDP)")?;
    let (udp, rest) = Udp::decode(rest)?;
    require(udp.destination_port == ROCE_PORT, "UDP", "destination port", udp.destination_port, "4791 (RoCEv2)")?;
    let fills_ip = Ipv4::LEN + udp.length as usize == ip.total_length as usize;
    require(fills_ip, "UDP", "length", udp.length, "the total length of IPv4 less 20")?;
    let Some(body_len) = (udp.length as usize).checked_sub(Udp::LEN + Bth::LEN + ICRC_LEN) else {
        return Err(wrong("UDP", "length", udp.length, "24 or more, for BTH and ICRC"));
    };
    let (bth, rest) = Bth::decode(rest)?;
    let envelope = Envelope {
        source_mac: ethernet.source,
        destination_mac: ethernet.destination,
        source_ip: ip.source,
        destination_ip: ip.destination,
        source_port: udp.source_port,
        dscp: ip.dscp,
        ecn: ip.ecn,
        ttl: ip.ttl,
    };
    let (packet, rest) = match bth.opcode {
        opcode::SEND_FIRST | opcode::SEND_MIDDLE | opcode::SEND_LAST | opcode::SEND_ONLY => {
            let Some(len) = body_len.checked_sub(bth.pad_count as usize) else {
                return Err(wrong("BTH", "pad count", bth.pad_count, "the length of the padded payload or less"));
            };
            require(body_len % 4 == 0, "payload", "padded length", body_len as u64, "a multiple of 4")?;
            let (body, rest) = take_slice("payload", rest, body_len)?;
            let data = Data {
                envelope,
                destination_qp: bth.destination_qp,
                psn: bth.psn,
                start: matches!(bth.opcode, opcode::SEND_FIRST | opcode::SEND_ONLY),
                end: matches!(bth.opcode, opcode::SEND_LAST | opcode::SEND_ONLY),
                ack_request: bth.ack_request,
                payload: &body[..len],
            };
            (Packet::Data(data), rest)
        }
        opcode::ACKNOWLEDGE => {
            require(body_len == Aeth::LEN, "UDP", "length", udp.length, "28, for BTH, AETH and ICRC")?;
            let (aeth, rest) = Aeth::decode(rest)?;
            let response = Response::of(&bth, &aeth, envelope);
            match aeth.syndrome {
                Syndrome::Ack { .. } => (Packet::Ack(response), rest),
                Syndrome::SEQUENCE_ERROR => (Packet::Nack(response), rest),
                Syndrome::Nack { code } => return Err(wrong("AETH", "NACK code", code, "0 (sequence error)")),
            }
        }
        opcode::CNP => {
            require(body_len == CNP_RESERVED, "UDP", "length", udp.length, "40, for BTH, 16 reserved bytes and ICRC")?;
            require(bth.becn, "BTH", "BECN", bth.becn, "1 in a CNP")?;
            let (_, rest) = take_slice("CNP", rest, CNP_RESERVED)?;
            let destination_qp = bth.destination_qp;
            (Packet::Cnp(Cnp { envelope, destination_qp }), rest)
        }
        opcode::DART_SEND => {
            require(body_len % 4 == 0, "payload", "padded length", body_len as u64, "a multiple of 4")?;
            let Some(len) = body_len.checked_sub(bth.pad_count as usize) else {
                return Err(wrong("BTH", "pad count", bth.pad_count, "the length of the padded payload or less"));
            };
            // Never past the end of the packet, whatever the list says of its length.
            let whole = rest.len() >= len;
            let (dart, payload) = match DartData::decode(&rest[..len.min(rest.len())]) {
                Err(WireError::Truncated { header, missing }) if whole => {
                    return Err(wrong(header, "length past the end of the packet", missing as u64, "0"));
                }
                read => read?,
            };
            let (_, rest) = take_slice("payload", rest, body_len)?;
            let (destination_qp, psn, ack_request) = (bth.destination_qp, bth.psn, bth.ack_request);
            (Packet::DartData(DartSend { envelope, destination_qp, psn, ack_request, dart, payload }), rest)
        }
        opcode::DART_ACKNOWLEDGE => {
            let right = body_len == Aeth::LEN + DartAck::LEN;
            require(right, "UDP", "length", udp.length, "32, for BTH, AETH, Dart ACK and ICRC")?;
            let (aeth, rest) = Aeth::decode(rest)?;
            let (dart, rest) = DartAck::decode(rest)?;
            let ack = Response::of(&bth, &aeth, envelope);
            match aeth.syndrome {
                Syndrome::Ack { .. } => (Packet::DartAck { ack, dart }, rest),
                Syndrome::Nack { .. } => return Err(wrong("AETH", "kind", 3u8, "0 (ACK) in a packet of Dart")),
            }
        }
        other => {
            let expected = "0x0, 0x1, 0x2 or 0x4 (SEND), 0x11 (acknowledge), 0x81 (CNP), or 0xC0 or 0xD1 (Dart)";
            return Err(wrong("BTH", "opcode", other, expected));
        }
    };
    let covered = &frame[..frame.len() - rest.len()];
    let (trailer, rest) = take("ICRC", rest)?;
    let (icrc, mut crc) = icrc_and_crc(covered);
    check("ICRC", u32::from_le_bytes(*trailer), icrc)?;
    crc.add(trailer);
    Ok((packet, rest, crc))
}

fn crc_of(bytes: &[u8]) -> Crc32 {
    let mut crc = Crc32::new();
    crc.add(bytes);
    crc
}

fn check(header: &'static str, found: u32, computed: u32) -> Result<(), WireError> {
    if found == computed { Ok(()) } else { Err(WireError::Checksum { header, found, computed }) }
}
