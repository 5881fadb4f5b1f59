//! One packet of each kind, byte by byte. The bytes are written from the standards; checksums, ICRC and FCS were
//! computed with another program (zlib's `crc32` over bytes masked by hand). The same steps there give the ICRC of a
//! CNP captured from a ConnectX-4 Lx adapter.

use fanin_units::Bytes;
use fanin_wire::{Aeth, Bth, Cnp, Data, Ecn, Envelope, Ethernet, Ipv4, Packet, Pfc, Response, Udp, WireError, size};

#[rustfmt::skip]
const DATA: [u8; 70] = [
    0x02, 0x00, 0x00, 0x00, 0x00, 0x02, // to host 2
    0x02, 0x00, 0x00, 0x00, 0x00, 0x01, // from host 1
    0x08, 0x00, // IPv4
    0x45, 0x6A, 0x00, 0x34, // version 4, 5 words; DSCP 26, ECT(0); 52 bytes
    0x00, 0x00, 0x40, 0x00, // identification 0, do not fragment
    0x40, 0x11, 0x26, 0x4D, // TTL 64, UDP, checksum
    10, 0, 0, 1,
    10, 0, 0, 2,
    0xC0, 0x01, 0x12, 0xB7, // ports 49153 and 4791
    0x00, 0x20, 0x00, 0x00, // 32 bytes, no checksum
    0x04, 0x70, 0xFF, 0xFF, // RC SEND only; migrated, 3 bytes of padding; partition
    0x00, 0x12, 0x34, 0x56, // no congestion, queue pair
    0x80, 0xAB, 0xCD, 0xEF, // acknowledge request, PSN
    b'h', b'e', b'l', b'l', b'o', 0, 0, 0,
    0xCA, 0x36, 0x60, 0x71, // ICRC
    0x45, 0x66, 0xBB, 0xDB, // FCS
];

#[rustfmt::skip]
const ACK: [u8; 66] = [
    0x02, 0x00, 0x00, 0x00, 0x00, 0x01,
    0x02, 0x00, 0x00, 0x00, 0x00, 0x02,
    0x08, 0x00,
    0x45, 0xC0, 0x00, 0x30, // DSCP 48, not ECN-capable; 48 bytes
    0x00, 0x00, 0x40, 0x00,
    0x3F, 0x11, 0x26, 0xFB, // TTL 63
    10, 0, 0, 2,
    10, 0, 0, 1,
    0xC0, 0x02, 0x12, 0xB7,
    0x00, 0x1C, 0x00, 0x00, // 28 bytes
    0x11, 0x40, 0xFF, 0xFF, // RC acknowledge
    0x40, 0x00, 0x01, 0x18, // BECN, queue pair
    0x00, 0xAB, 0xCD, 0xEF, // PSN received
    0x1F, 0x00, 0x00, 0x07, // AETH: ACK without credits, 7 messages
    0x9C, 0xDB, 0x8A, 0x6F,
    0x7F, 0x08, 0x12, 0xDF,
];

#[rustfmt::skip]
const NACK: [u8; 66] = [
    0x02, 0x00, 0x00, 0x00, 0x00, 0x01,
    0x02, 0x00, 0x00, 0x00, 0x00, 0x02,
    0x08, 0x00,
    0x45, 0xC0, 0x00, 0x30,
    0x00, 0x00, 0x40, 0x00,
    0x3F, 0x11, 0x26, 0xFB,
    10, 0, 0, 2,
    10, 0, 0, 1,
    0xC0, 0x02, 0x12, 0xB7,
    0x00, 0x1C, 0x00, 0x00,
    0x11, 0x40, 0xFF, 0xFF,
    0x00, 0x00, 0x01, 0x18,
    0x00, 0xAB, 0xCD, 0xF0, // PSN expected
    0x60, 0x00, 0x00, 0x07, // AETH: NACK, sequence error
    0x05, 0x6B, 0x66, 0xBE,
    0x85, 0xFE, 0x6C, 0xF1,
];

#[rustfmt::skip]
const CNP: [u8; 78] = [
    0x02, 0x00, 0x00, 0x00, 0x00, 0x01,
    0x02, 0x00, 0x00, 0x00, 0x00, 0x02,
    0x08, 0x00,
    0x45, 0xC2, 0x00, 0x3C, // DSCP 48, ECT(0); 60 bytes
    0x00, 0x00, 0x40, 0x00,
    0x3F, 0x11, 0x26, 0xED,
    10, 0, 0, 2,
    10, 0, 0, 1,
    0xC0, 0x02, 0x12, 0xB7,
    0x00, 0x28, 0x00, 0x00, // 40 bytes
    0x81, 0x00, 0xFF, 0xFF, // CNP
    0x40, 0x00, 0x01, 0x18, // BECN, queue pair
    0x00, 0x00, 0x00, 0x00, // PSN 0
    0, 0, 0, 0, 0, 0, 0, 0, // reserved
    0, 0, 0, 0, 0, 0, 0, 0,
    0xA2, 0xA2, 0xA2, 0x76,
    0xAC, 0x4B, 0xC7, 0x6D,
];

#[rustfmt::skip]
const PAUSE: [u8; 64] = [
    0x01, 0x80, 0xC2, 0x00, 0x00, 0x01, // flow control address
    0x02, 0x00, 0x00, 0x00, 0x00, 0x02,
    0x88, 0x08, // MAC control
    0x01, 0x01, // priority flow control
    0x00, 0x08, // class 3
    0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0, // 65535 quanta for class 3
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // padding
    0xC4, 0xC5, 0xB0, 0x89, // FCS
];

#[rustfmt::skip]
const RESUME: [u8; 64] = [
    0x01, 0x80, 0xC2, 0x00, 0x00, 0x01,
    0x02, 0x00, 0x00, 0x00, 0x00, 0x02,
    0x88, 0x08,
    0x01, 0x01,
    0x00, 0x08,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // 0 quanta for class 3
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0xA5, 0x46, 0xE1, 0xE6,
];

const HOST_1: [u8; 6] = [2, 0, 0, 0, 0, 1];
const HOST_2: [u8; 6] = [2, 0, 0, 0, 0, 2];

const FORWARD: Envelope = Envelope {
    source_mac: HOST_1,
    destination_mac: HOST_2,
    source_ip: [10, 0, 0, 1],
    destination_ip: [10, 0, 0, 2],
    source_port: 49153,
    dscp: 26,
    ecn: Ecn::Capable0,
    ttl: 64,
};

const BACK: Envelope = Envelope {
    source_mac: HOST_2,
    destination_mac: HOST_1,
    source_ip: [10, 0, 0, 2],
    destination_ip: [10, 0, 0, 1],
    source_port: 49154,
    dscp: 48,
    ecn: Ecn::NotCapable,
    ttl: 63,
};

const RESPONSE: Response = Response { envelope: BACK, destination_qp: 0x118, psn: 0xABCDEF, msn: 7, becn: true };

fn packets() -> [(Packet<'static>, &'static [u8], Bytes); 6] {
    let data = Data {
        envelope: FORWARD,
        destination_qp: 0x123456,
        psn: 0xABCDEF,
        start: true,
        end: true,
        ack_request: true,
        payload: b"hello",
    };
    let nack = Response { psn: 0xABCDF0, becn: false, ..RESPONSE };
    let cnp = Cnp { envelope: Envelope { ecn: Ecn::Capable0, ..BACK }, destination_qp: 0x118 };
    let pfc = |quanta| {
        let mut all = [None; 8];
        all[3] = Some(quanta);
        Packet::Pfc { source: HOST_2, pfc: Pfc { quanta: all } }
    };
    [
        (Packet::Data(data), &DATA, size::data(5)),
        (Packet::Ack(RESPONSE), &ACK, size::ACK),
        (Packet::Nack(nack), &NACK, size::NACK),
        (Packet::Cnp(cnp), &CNP, size::CNP),
        (pfc(u16::MAX), &PAUSE, size::PAUSE),
        (pfc(0), &RESUME, size::PAUSE),
    ]
}

#[test]
fn each_packet_has_the_bytes_of_the_standards() {
    for (packet, bytes, size) in packets() {
        let mut buffer = [0xEE; 100];
        let len = packet.encode(&mut buffer).unwrap();
        assert_eq!(buffer[..len], *bytes, "{packet:?}");
        assert!(buffer[len..].iter().all(|b| *b == 0xEE), "wrote past the end: {packet:?}");
        assert_eq!(Packet::decode(bytes), Ok((packet, &[][..])));
        assert_eq!((len, Bytes(len as u64)), (packet.wire_len(), size), "{packet:?}");
    }
}

#[test]
fn sizes_are_those_of_the_standards() {
    // Sums done by hand from the tables of the standards.
    let sizes = [size::DATA_HEADER, size::ACK, size::NACK, size::CNP, size::PAUSE];
    assert_eq!(sizes, [Bytes(62), Bytes(66), Bytes(66), Bytes(78), Bytes(64)]);
    // Padding to 4 bytes and to the shortest frame.
    assert_eq!([0, 1, 4, 5, 1000].map(size::data), [64, 66, 66, 70, 1062].map(Bytes));
    assert_eq!(size::data(u64::MAX), Bytes(u64::MAX));
}

#[test]
fn an_empty_message_is_padded_to_the_shortest_frame() {
    let data =
        Data { envelope: FORWARD, destination_qp: 1, psn: 2, start: true, end: true, ack_request: false, payload: &[] };
    let mut buffer = [0xEE; 64];
    assert_eq!(Packet::Data(data).encode(&mut buffer), Ok(64));
    assert_eq!(buffer[58..60], [0, 0]);
    assert_eq!(Packet::decode(&buffer), Ok((Packet::Data(data), &[][..])));
}

#[test]
fn marks_do_not_change_the_icrc_and_payload_does() {
    let icrc = |packet: Packet<'_>| {
        let mut buffer = [0; 100];
        let len = packet.encode(&mut buffer).unwrap();
        buffer[len - 8..len - 4].to_vec()
    };
    let (Packet::Data(data), _, _) = packets()[0] else { unreachable!() };
    let original = icrc(Packet::Data(data));
    let marked = Envelope { ecn: Ecn::CongestionExperienced, dscp: 1, ttl: 3, ..FORWARD };
    assert_eq!(icrc(Packet::Data(Data { envelope: marked, ..data })), original);
    assert_ne!(icrc(Packet::Data(Data { payload: b"jello", ..data })), original);
    assert_ne!(icrc(Packet::Data(Data { psn: 1, ..data })), original);
    let echo = icrc(Packet::Ack(RESPONSE));
    assert_eq!(icrc(Packet::Ack(Response { becn: false, ..RESPONSE })), echo);
}

#[test]
fn truncated_packets_name_the_header_and_what_is_missing() {
    let headers: [&[(&str, usize)]; 5] = [
        &[("Ethernet", 14), ("IPv4", 20), ("UDP", 8), ("BTH", 12), ("payload", 8), ("ICRC", 4), ("Ethernet FCS", 4)],
        &[("Ethernet", 14), ("IPv4", 20), ("UDP", 8), ("BTH", 12), ("AETH", 4), ("ICRC", 4), ("Ethernet FCS", 4)],
        &[("Ethernet", 14), ("IPv4", 20), ("UDP", 8), ("BTH", 12), ("AETH", 4), ("ICRC", 4), ("Ethernet FCS", 4)],
        &[("Ethernet", 14), ("IPv4", 20), ("UDP", 8), ("BTH", 12), ("CNP", 16), ("ICRC", 4), ("Ethernet FCS", 4)],
        &[("Ethernet", 14), ("PFC", 20), ("Ethernet padding", 26), ("Ethernet FCS", 4)],
    ];
    for ((_, bytes, _), layers) in packets().iter().zip(headers) {
        let mut end = 0;
        for &(header, len) in layers {
            for missing in 1..=len {
                let cut = Packet::decode(&bytes[..end + len - missing]);
                assert_eq!(cut, Err(WireError::Truncated { header, missing }));
            }
            end += len;
        }
        assert_eq!(end, bytes.len());
    }
    let error = Packet::decode(&DATA[..20]).unwrap_err();
    assert_eq!(error.to_string(), "IPv4: the input ends 14 B too early");
}

#[test]
fn short_buffers_name_the_header_and_what_is_missing() {
    for (packet, bytes, _) in packets() {
        for missing in 1..=bytes.len() {
            let mut buffer = [0; 100];
            let error = packet.encode(&mut buffer[..bytes.len() - missing]);
            assert_eq!(error, Err(WireError::NoRoom { header: "packet", missing }));
        }
    }
    let bth = Bth::decode(&DATA[42..]).unwrap().0;
    let error = bth.encode(&mut [0; 5]).unwrap_err();
    assert_eq!(error.to_string(), "BTH: the output buffer is 7 B too short");
}

#[test]
fn a_corrupt_ipv4_checksum_is_reported() {
    let mut bytes = DATA;
    bytes[22] = 63; // TTL
    let error = Packet::decode(&bytes).unwrap_err();
    // One less in the high byte of a word is 0x100 more in the complement.
    assert_eq!(error, WireError::Checksum { header: "IPv4", found: 0x264D, computed: 0x274D });
    assert_eq!(error.to_string(), "IPv4: the checksum is 0x264d, but that of the bytes is 0x274d");
    assert_eq!(Ipv4::decode(&bytes[14..]).unwrap_err(), error);
}

#[test]
fn corrupt_payload_and_padding_are_reported() {
    let mut bytes = DATA;
    bytes[54] ^= 1;
    assert!(matches!(Packet::decode(&bytes), Err(WireError::Checksum { header: "ICRC", .. })));
    let mut bytes = PAUSE;
    bytes[50] ^= 1;
    assert!(matches!(Packet::decode(&bytes), Err(WireError::Checksum { header: "Ethernet FCS", .. })));
}

/// The field that is reported when `change` is done to `bytes` and, where there is one, the IPv4 checksum corrected.
fn field(bytes: &[u8], change: impl FnOnce(&mut [u8])) -> (&'static str, &'static str, u64) {
    let mut bytes = bytes.to_vec();
    change(&mut bytes);
    if let Err(WireError::Checksum { header: "IPv4", computed, .. }) = Packet::decode(&bytes) {
        bytes[24..26].copy_from_slice(&(computed as u16).to_be_bytes());
    }
    match Packet::decode(&bytes) {
        Err(WireError::Field { header, field, found, .. }) => (header, field, found),
        other => panic!("{other:?}"),
    }
}

#[test]
fn fields_that_cannot_be_are_named() {
    assert_eq!(field(&DATA, |b| b[12..14].copy_from_slice(&[0x86, 0xDD])), ("Ethernet", "type", 0x86DD));
    assert_eq!(field(&DATA, |b| b[14] = 0x65), ("IPv4", "version", 6));
    assert_eq!(field(&DATA, |b| b[14] = 0x46), ("IPv4", "header length in words", 6));
    assert_eq!(field(&DATA, |b| b[17] = 19), ("IPv4", "total length", 19));
    assert_eq!(field(&DATA, |b| b[20] = 0x20), ("IPv4", "fragment", 0x2000));
    assert_eq!(field(&DATA, |b| b[21] = 1), ("IPv4", "fragment", 1));
    assert_eq!(field(&DATA, |b| b[23] = 6), ("IPv4", "protocol", 6));
    assert_eq!(field(&DATA, |b| b[37] = 0xB6), ("UDP", "destination port", 4790));
    assert_eq!(field(&DATA, |b| b[39] = 7), ("UDP", "length", 7));
    assert_eq!(field(&DATA, |b| b[39] = 33), ("UDP", "length", 33));
    assert_eq!(field(&DATA, |b| (b[17], b[39]) = (43, 23)), ("UDP", "length", 23));
    assert_eq!(field(&DATA, |b| (b[17], b[39]) = (51, 31)), ("payload", "padded length", 7));
    assert_eq!(field(&DATA, |b| (b[17], b[39]) = (44, 24)), ("BTH", "pad count", 3));
    assert_eq!(field(&DATA, |b| b[43] |= 1), ("BTH", "version", 1));
    assert_eq!(field(&DATA, |b| b[42] = 0x03), ("BTH", "opcode", 3));
    assert_eq!(field(&DATA, |b| b[42] = 0x11), ("UDP", "length", 32));
    assert_eq!(field(&ACK, |b| b[42] = 0x81), ("UDP", "length", 28));
    assert_eq!(field(&ACK, |b| b[54] = 0x20), ("AETH", "kind", 1));
    assert_eq!(field(&NACK, |b| b[54] = 0x61), ("AETH", "NACK code", 1));
    assert_eq!(field(&CNP, |b| b[46] = 0), ("BTH", "BECN", 0));
    assert_eq!(field(&PAUSE, |b| b[5] = 2), ("Ethernet", "destination", 0x0180_C200_0002));
    assert_eq!(field(&PAUSE, |b| b[15] = 2), ("PFC", "opcode", 0x0102));
}

#[test]
fn headers_check_their_own_lengths() {
    // The first 4 bytes are the ports.
    let error = Udp::decode(&[0xC0, 1, 0x12, 0xB7, 0, 7, 0, 0]).unwrap_err();
    assert_eq!(error.to_string(), "UDP: length is 7 (0x7); it must be 8 or more");
    assert_eq!(Udp::decode(&[0xC0, 1, 0x12, 0xB7, 0, 8, 9, 9, 5]).unwrap().1, [5]);
}

#[test]
fn the_opcode_tells_where_in_its_message_a_packet_is() {
    let (Packet::Data(data), _, _) = packets()[0] else { unreachable!() };
    for (start, end, opcode) in [(true, false, 0), (false, false, 1), (false, true, 2), (true, true, 4)] {
        let packet = Packet::Data(Data { start, end, ..data });
        let mut buffer = [0; 70];
        packet.encode(&mut buffer).unwrap();
        assert_eq!(buffer[42], opcode);
        assert_eq!(Packet::decode(&buffer), Ok((packet, &[][..])));
    }
}

#[test]
fn the_ipv4_checksum_is_right_for_every_carry() {
    let (header, _) = Ipv4::decode(&DATA[14..]).unwrap();
    for identification in 0..=u16::MAX {
        // The address of ones makes some sums carry a second time when their carry is added.
        let source = [255; 4];
        let header = Ipv4 { identification, source, ..header };
        let mut bytes = [0; 20];
        header.encode(&mut bytes).unwrap();
        // A sum in ones' complement is the sum modulo 65535.
        let sum: u32 = bytes.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
        assert_eq!(sum % 65_535, 0, "{header:?}");
        assert_eq!(Ipv4::decode(&bytes), Ok((header, &[][..])));
    }
}

#[test]
fn values_out_of_range_are_not_written() {
    let mut buffer = [0; 100];
    let mut reported = |packet: Packet<'_>| match packet.encode(&mut buffer) {
        Err(WireError::Field { header, field, found, .. }) => (header, field, found),
        other => panic!("{other:?}"),
    };
    let dscp = Envelope { dscp: 64, ..BACK };
    assert_eq!(reported(Packet::Ack(Response { envelope: dscp, ..RESPONSE })), ("IPv4", "DSCP", 64));
    assert_eq!(reported(Packet::Ack(Response { psn: 1 << 24, ..RESPONSE })), ("BTH", "PSN", 1 << 24));
    assert_eq!(reported(Packet::Nack(Response { msn: 1 << 24, ..RESPONSE })), ("AETH", "MSN", 1 << 24));
    let cnp = Cnp { envelope: BACK, destination_qp: 1 << 24 };
    assert_eq!(reported(Packet::Cnp(cnp)), ("BTH", "destination queue pair", 1 << 24));

    let bth = Bth { pad_count: 4, ..Bth::decode(&DATA[42..]).unwrap().0 };
    let error = bth.encode(&mut [0; 12]).unwrap_err();
    assert_eq!(error.to_string(), "BTH: pad count is 4 (0x4); it must be below 4");
    let ip = Ipv4 { total_length: 19, ..Ipv4::decode(&DATA[14..]).unwrap().0 };
    assert!(ip.encode(&mut [0; 20]).is_err());
    let udp = Udp { length: 7, ..Udp::decode(&DATA[34..]).unwrap().0 };
    assert!(udp.encode(&mut [0; 8]).is_err());
    let aeth = Aeth { syndrome: fanin_wire::Syndrome::Ack { credits: 32 }, msn: 0 };
    assert!(aeth.encode(&mut [0; 4]).is_err());
    assert_eq!(Ethernet::decode(&DATA).unwrap().1.len(), DATA.len() - Ethernet::LEN);
}

#[test]
fn payload_is_limited_by_ipv4() {
    let (Packet::Data(data), _, _) = packets()[0] else { unreachable!() };
    let payload = vec![7; 65_489];
    let mut buffer = vec![0; 66_000];
    let longest = Packet::Data(Data { payload: &payload[..65_488], ..data });
    let len = longest.encode(&mut buffer).unwrap();
    assert_eq!(Packet::decode(&buffer[..len]), Ok((longest, &[][..])));
    let error = Packet::Data(Data { payload: &payload, ..data }).encode(&mut buffer).unwrap_err();
    assert_eq!(error.to_string(), "payload: length is 65489 (0xffd1); it must be 65,488 B or less");
}
