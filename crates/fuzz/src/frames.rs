//! Frames from a link, and the headers in them.
//!
//! What is read has to be what was sent: a packet that decodes is encoded again, and must give the bytes that it came
//! from, but for those that [`Packet::decode`] ignores. Few broken frames would get past their checksums, so each is
//! also read with its checksums corrected, and with its lengths ([`Repair`]).

use fanin_wire::{
    Aeth, Bth, Cnp, DartAck, DartData, DartSend, Data, Ecn, Envelope, Ethernet, FCS_LEN, ICRC_LEN, IntHeader,
    IntRecord, Ipv4, MIN_FRAME, Packet, Pfc, Response, Runs, SenderList, Senders, Tcp, Udp, WireError, ethertype, fcs,
    icrc,
};
use std::fmt::Debug;
use std::ops::Range;

/// Where headers begin in a frame.
const IP: usize = Ethernet::LEN;
const UDP: usize = IP + Ipv4::LEN;
const BTH: usize = UDP + Udp::LEN;
const AFTER_BTH: usize = BTH + Bth::LEN;

/// What is corrected in a broken frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repair {
    /// IPv4 checksum, ICRC and FCS, where the lengths place them.
    Checksums,
    /// UDP's length, as that of IPv4 says, then checksums.
    Udp,
    /// IPv4's length, as that of the frame says, then UDP's and checksums.
    Lengths,
}

impl Repair {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Checksums, Self::Udp, Self::Lengths];

    /// Does it, as far as the frame is long enough.
    pub fn apply(self, frame: &mut [u8]) {
        let mut end = MIN_FRAME - FCS_LEN;
        if frame.len() >= AFTER_BTH && frame[12..IP] == ethertype::IPV4.to_be_bytes() {
            if self == Self::Lengths {
                let len = u16::try_from(frame.len() - Ethernet::LEN - FCS_LEN).unwrap_or(u16::MAX);
                frame[IP + 2..IP + 4].copy_from_slice(&len.to_be_bytes());
            }
            let total = u16::from_be_bytes([frame[IP + 2], frame[IP + 3]]);
            if self != Self::Checksums {
                let len = total.saturating_sub(Ipv4::LEN as u16);
                frame[UDP + 4..UDP + 6].copy_from_slice(&len.to_be_bytes());
            }
            if let Err(WireError::Checksum { computed, .. }) = Ipv4::decode(&frame[IP..]) {
                frame[IP + 10..IP + 12].copy_from_slice(&(computed as u16).to_be_bytes());
            }
            let to = IP + total as usize;
            if let Some(datagram) = frame.get_mut(IP..to)
                && let Some((covered, trailer)) = datagram.split_last_chunk_mut::<ICRC_LEN>()
            {
                *trailer = icrc(covered).to_le_bytes();
            }
            end = end.max(to);
        }
        if let Some((covered, after)) = frame.split_at_mut_checked(end)
            && let Some(trailer) = after.first_chunk_mut::<FCS_LEN>()
        {
            *trailer = fcs(covered).to_le_bytes();
        }
    }
}

/// Reads a frame as it is and with each [`Repair`]. Returns the result of each.
pub fn read(bytes: &[u8]) -> [Result<(), WireError>; 4] {
    let mut copy = bytes.to_vec();
    let mut repaired = |repair: Repair| {
        copy.copy_from_slice(bytes);
        repair.apply(&mut copy);
        check(&copy)
    };
    let [checksums, udp, lengths] = Repair::ALL.map(&mut repaired);
    [check(bytes), checksums, udp, lengths]
}

/// Reads one frame; what decodes must encode to the same bytes, and no part of it may decode.
fn check(bytes: &[u8]) -> Result<(), WireError> {
    let (packet, rest) = Packet::decode(bytes).inspect_err(shown)?;
    let len = bytes.len() - rest.len();
    assert_eq!(len, packet.wire_len(), "{packet:?}");
    assert_eq!(Packet::decode_frame(bytes).is_ok(), rest.is_empty());
    let mut again = vec![0xEE; len];
    assert_eq!(packet.encode(&mut again), Ok(len), "{packet:?}");
    assert_eq!(Packet::decode_frame(&again), Ok(packet));
    let mut sent = bytes[..len].to_vec();
    if sent != again {
        as_sent(&packet, &mut sent);
        assert_eq!(sent, again, "{packet:?}");
    }
    // A cut that is another one for every frame.
    let cut = fcs(&again) as usize % len;
    assert!(matches!(Packet::decode(&bytes[..cut]), Err(WireError::Truncated { .. })), "{cut} of {len} B: {packet:?}");
    Ok(())
}

/// Every error can be shown.
fn shown(error: &WireError) {
    struct Nowhere;
    impl std::fmt::Write for Nowhere {
        fn write_str(&mut self, _: &str) -> std::fmt::Result {
            Ok(())
        }
    }
    std::fmt::write(&mut Nowhere, format_args!("{error}")).expect("an error has a message");
}

/// Overwrites all that decoding ignores with what encoding writes there.
fn as_sent(packet: &Packet<'_>, frame: &mut [u8]) {
    let content = match packet {
        Packet::Pfc { pfc, .. } => {
            frame[IP + 2] = 0;
            for (class, _) in pfc.quanta.iter().enumerate().filter(|(_, quanta)| quanta.is_none()) {
                frame[IP + 4 + 2 * class..][..2].fill(0);
            }
            IP + Pfc::LEN
        }
        _ => {
            roce_as_sent(packet, frame);
            IP + u16::from_be_bytes([frame[IP + 2], frame[IP + 3]]) as usize
        }
    };
    let end = frame.len() - FCS_LEN;
    frame[content..end].fill(0);
    Repair::Checksums.apply(frame);
}

fn roce_as_sent(packet: &Packet<'_>, frame: &mut [u8]) {
    // Identification and do-not-fragment; the UDP checksum.
    frame[IP + 4..IP + 8].copy_from_slice(&[0, 0, 0x40, 0]);
    frame[UDP + 6..UDP + 8].fill(0);
    // Solicited event, migrated, partition; FECN and reserved bits.
    let cnp = matches!(packet, Packet::Cnp(_));
    frame[BTH + 1] = frame[BTH + 1] & 0x3F | if cnp { 0 } else { 0x40 };
    frame[BTH + 2..BTH + 4].fill(0xFF);
    frame[BTH + 4] &= 0x40;
    frame[BTH + 8] &= 0x80;
    let padding = (frame[BTH + 1] >> 4 & 3) as usize;
    if let Packet::Data(_) | Packet::DartData(_) = packet {
        frame[BTH + 4] = 0;
        let end = IP + u16::from_be_bytes([frame[IP + 2], frame[IP + 3]]) as usize - ICRC_LEN;
        frame[end - padding..end].fill(0);
    } else {
        // The pad count; the request for an ACK; the reserved bit of the AETH, and credits.
        frame[BTH + 1] &= 0xCF;
        frame[BTH + 8] = 0;
        match packet {
            Packet::Cnp(_) => frame[BTH + 9..AFTER_BTH + 16].fill(0),
            Packet::Nack(_) => frame[AFTER_BTH] &= 0x7F,
            _ => frame[AFTER_BTH] = 31,
        }
    }
}

/// A header, and the bytes after it.
type Read<'a, H> = Result<(H, &'a [u8]), WireError>;

/// Bytes of a header, and bits of each, that decoding ignores or encoding computes.
type Ignored = [(Range<usize>, u8)];

/// Reads headers: each of those in frames, telemetry and TCP.
pub fn read_headers(bytes: &[u8]) {
    header(bytes, Ethernet::decode, Ethernet::encode, &[]);
    // The reserved bit, and the checksum over it.
    header(bytes, Ipv4::decode, Ipv4::encode, &[(6..7, 0x80), (10..12, 0xFF)]);
    header(bytes, Udp::decode, Udp::encode, &[(6..8, 0xFF)]);
    header(bytes, Bth::decode, Bth::encode, &[(4..5, 0x3F), (8..9, 0x7F)]);
    header(bytes, Aeth::decode, Aeth::encode, &[(0..1, 0x80)]);
    // Quanta of classes that are not enabled.
    header(bytes, Pfc::decode, Pfc::encode, &[(2..3, 0xFF), (4..20, 0xFF)]);
    header(bytes, DartAck::decode, DartAck::encode, &[]);
    header(bytes, IntHeader::decode, IntHeader::encode, &[]);
    header(bytes, IntRecord::decode, IntRecord::encode, &[]);
    if let Ok((list, rest)) = SenderList::decode(bytes).inspect_err(shown) {
        same(bytes, rest, |again| list.encode(again), &[]);
    }
    if let Ok((dart, rest)) = DartData::decode(bytes).inspect_err(shown) {
        same(bytes, rest, |again| dart.encode(again), &[]);
    }
    tcp(bytes);
}

/// What decodes encodes to the same bytes, and those decode to the same.
fn header<H: PartialEq + Debug>(
    bytes: &[u8],
    decode: fn(&[u8]) -> Read<'_, H>,
    encode: fn(&H, &mut [u8]) -> Result<usize, WireError>,
    ignored: &Ignored,
) {
    let Ok((header, rest)) = decode(bytes).inspect_err(shown) else { return };
    let again = same(bytes, rest, |again| encode(&header, again), ignored);
    assert_eq!(decode(&again), Ok((header, &[][..])));
}

/// The bytes that `encode` writes, which must be those before `rest` but for what is ignored.
fn same(
    bytes: &[u8],
    rest: &[u8],
    encode: impl FnOnce(&mut [u8]) -> Result<usize, WireError>,
    ignored: &Ignored,
) -> Vec<u8> {
    let mut sent = bytes[..bytes.len() - rest.len()].to_vec();
    let mut again = vec![0xEE; sent.len()];
    assert_eq!(encode(&mut again), Ok(sent.len()));
    for (places, bits) in ignored {
        for at in places.clone() {
            sent[at] = sent[at] & !bits | again[at] & bits;
        }
    }
    assert_eq!(sent, again);
    again
}

/// TCP aligns its options, so that a header that has them all tight may have no room for them aligned.
fn tcp(bytes: &[u8]) {
    let Ok((header, rest)) = Tcp::decode(bytes).inspect_err(shown) else { return };
    let mut again = [0; Tcp::MOST];
    match header.encode([0; 4], [0; 4], rest, &mut again) {
        Ok(len) => assert_eq!(Tcp::decode(&again[..len]), Ok((header, &[][..]))),
        Err(_) => assert!(header.wire_len() > Tcp::MOST, "{header:?}"),
    }
}

const ENVELOPE: Envelope = Envelope {
    source_mac: [2, 0, 0, 0, 0, 1],
    destination_mac: [2, 0, 0, 0, 0, 2],
    source_ip: [10, 0, 0, 1],
    destination_ip: [10, 0, 0, 2],
    source_port: 49153,
    dscp: 26,
    ecn: Ecn::Capable0,
    ttl: 64,
};

/// Every kind of packet, with the lengths that differ.
pub fn packets() -> Vec<Packet<'static>> {
    static PAYLOAD: [u8; 1000] = [0x5A; 1000];
    const SENDERS: &[u16] = &[0, 0x1234, 0xFFFF];
    let (envelope, destination_qp, psn, ack_request) = (ENVELOPE, 0x123456, 0xABCDEF, true);
    let data = |start, end, len: usize| {
        Packet::Data(Data { envelope, destination_qp, psn, start, end, ack_request, payload: &PAYLOAD[..len] })
    };
    let dart = |list: Option<SenderList<'static>>, len: usize| {
        let start = list.is_some();
        let (tenant, weight, message, attempt) = (7, 0x0102, 0xDEAD_BEEF, 3);
        let dart = DartData { start, end: len < 9, lane: 1, tokens: 4, tenant, weight, message, attempt, list };
        let payload = &PAYLOAD[..len];
        Packet::DartData(DartSend { envelope, destination_qp, psn, ack_request, dart, payload })
    };
    let list = |senders| Some(SenderList { incast: 0xCAFE_0001, senders: Senders::new(senders) });
    let ack = Response { envelope, destination_qp, psn, msn: 7, becn: true };
    let pfc = |quanta| Packet::Pfc { source: ENVELOPE.source_mac, pfc: Pfc { quanta } };
    vec![
        data(true, true, 0),
        data(true, true, 5),
        data(true, false, 256),
        data(false, false, 1000),
        data(false, true, 7),
        Packet::Ack(ack),
        Packet::Nack(ack),
        Packet::Cnp(Cnp { envelope, destination_qp }),
        dart(None, 0),
        dart(list(&[]), 8),
        dart(list(SENDERS), 5),
        dart(list(SENDERS), 999),
        Packet::DartAck { ack, dart: DartAck { parts: 1, of: 20 } },
        Packet::DartAck { ack, dart: DartAck::NOTHING },
        pfc([None, None, None, Some(u16::MAX), None, None, None, Some(0)]),
        pfc([Some(3); 8]),
    ]
}

/// Their frames.
pub fn frames() -> Vec<Vec<u8>> {
    let frame = |packet: Packet<'_>| {
        let mut bytes = vec![0; packet.wire_len()];
        packet.encode(&mut bytes).expect("a valid packet");
        bytes
    };
    packets().into_iter().map(frame).collect()
}

/// Headers: those in frames, telemetry of no, two and seven switches, and TCP with options.
pub fn headers() -> Vec<Vec<u8>> {
    let starts = [0, IP, UDP, BTH, AFTER_BTH, AFTER_BTH + DartData::LEN];
    let parts = |frame: Vec<u8>| starts.map(|start| frame.get(start..).unwrap_or_default().to_vec());
    let mut all: Vec<_> = frames().into_iter().flat_map(parts).collect();
    for switches in [0, 2, 7u16] {
        let mut telemetry = IntHeader::default();
        let record = IntRecord { speed: 0xA, time: 0x12_3456, sent: 0x7_89AB, queued: 0xCDEF };
        (0..switches).for_each(|switch| telemetry.push(switch, record));
        let mut bytes = vec![0; telemetry.wire_len()];
        telemetry.encode(&mut bytes).expect("valid telemetry");
        all.push(bytes);
    }
    let syn = Tcp { mss: Some(1460), window_scale: Some(7), sack_permitted: true, ..Tcp::default() };
    let ack = Tcp { timestamps: Some((5, 6)), runs: Runs::new([(1, 9), (20, 30)]), ..Tcp::default() };
    for tcp in [syn, ack, Tcp { timestamps: Some((1, 2)), ..syn }] {
        let mut bytes = vec![0; tcp.wire_len()];
        tcp.encode([10, 0, 0, 1], [10, 0, 0, 2], &[], &mut bytes).expect("a valid segment");
        all.push(bytes);
    }
    all
}
