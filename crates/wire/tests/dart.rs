//! Dart on the wire: its bytes by hand, what holds for all of them, and that the scheme counts what `wire` writes.
//! Checksums, ICRC and FCS were computed with another program, as in `known_bytes.rs`.

use fanin_cc::schemes::dart as scheme;
use fanin_units::Bytes;
use fanin_wire::{
    DartAck, DartData, DartSend, Ecn, Envelope, MIN_FRAME, Packet, Response, SenderList, Senders, WireError, opcode,
    size,
};
use proptest::prelude::*;

/// Number of random cases, from the environment.
fn config() -> ProptestConfig {
    let cases = std::env::var("FANIN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

#[rustfmt::skip]
const SEND: [u8; 94] = [
    0x02, 0x00, 0x00, 0x00, 0x00, 0x02, // to host 2
    0x02, 0x00, 0x00, 0x00, 0x00, 0x01, // from host 1
    0x08, 0x00, // IPv4
    0x45, 0x6A, 0x00, 0x4C, // DSCP 26, ECT(0); 76 bytes
    0x00, 0x00, 0x40, 0x00,
    0x40, 0x11, 0x26, 0x35,
    10, 0, 0, 1,
    10, 0, 0, 2,
    0xC0, 0x01, 0x12, 0xB7,
    0x00, 0x38, 0x00, 0x00, // 56 bytes
    0xC0, 0x70, 0xFF, 0xFF, // Dart SEND; migrated, 3 bytes of padding; partition
    0x00, 0x12, 0x34, 0x56,
    0x80, 0xAB, 0xCD, 0xEF,
    0xB8, 0x07, 0x01, 0x02, // start, list, lane 1, 4 tokens; tenant 7, weight 258
    0xDE, 0xAD, 0xBE, 0xEF, // message
    0x00, 0x03, 0x00, 0x00, // attempt 3
    0xCA, 0xFE, 0x00, 0x01, // incast
    0x00, 0x03, // 3 senders
    0x00, 0x00, 0x12, 0x34, 0xFF, 0xFF,
    b'h', b'e', b'l', b'l', b'o', 0, 0, 0,
    0x82, 0xE4, 0x01, 0xD4, // ICRC
    0xD8, 0xD2, 0xC6, 0x36, // FCS
];
/// Where Dart's bytes begin in it.
const HEAD: usize = 54;
/// Its list of senders.
const LIST: core::ops::Range<usize> = HEAD + 12..HEAD + 24;

#[rustfmt::skip]
const ACK: [u8; 70] = [
    0x02, 0x00, 0x00, 0x00, 0x00, 0x01,
    0x02, 0x00, 0x00, 0x00, 0x00, 0x02,
    0x08, 0x00,
    0x45, 0xC0, 0x00, 0x34, // DSCP 48, not ECN-capable; 52 bytes
    0x00, 0x00, 0x40, 0x00,
    0x3F, 0x11, 0x26, 0xF7, // TTL 63
    10, 0, 0, 2,
    10, 0, 0, 1,
    0xC0, 0x02, 0x12, 0xB7,
    0x00, 0x20, 0x00, 0x00, // 32 bytes
    0xD1, 0x40, 0xFF, 0xFF, // Dart acknowledge
    0x40, 0x00, 0x01, 0x18, // BECN, queue pair
    0x00, 0xAB, 0xCD, 0xEF,
    0x1F, 0x00, 0x00, 0x07, // AETH: ACK without credits, 7 messages
    0x00, 0x01, 0x00, 0x14, // 1 of 20
    0x3B, 0xCA, 0xC7, 0xEE,
    0x87, 0x53, 0x31, 0x0D,
];

const FORWARD: Envelope = Envelope {
    source_mac: [2, 0, 0, 0, 0, 1],
    destination_mac: [2, 0, 0, 0, 0, 2],
    source_ip: [10, 0, 0, 1],
    destination_ip: [10, 0, 0, 2],
    source_port: 49153,
    dscp: 26,
    ecn: Ecn::Capable0,
    ttl: 64,
};

const BACK: Envelope = Envelope {
    source_mac: FORWARD.destination_mac,
    destination_mac: FORWARD.source_mac,
    source_ip: FORWARD.destination_ip,
    destination_ip: FORWARD.source_ip,
    source_port: 49154,
    dscp: 48,
    ecn: Ecn::NotCapable,
    ttl: 63,
};

const SENDERS: SenderList<'_> = SenderList { incast: 0xCAFE_0001, senders: Senders::new(&[0, 0x1234, 0xFFFF]) };

const DART: DartData<'_> = DartData {
    start: true,
    end: false,
    lane: 1,
    tokens: 4,
    tenant: 7,
    weight: 0x0102,
    message: 0xDEAD_BEEF,
    attempt: 3,
    list: Some(SENDERS),
};

const PLAIN: DartData<'_> = DartData { list: None, ..DART };

const DATA: DartSend<'_> = DartSend {
    envelope: FORWARD,
    destination_qp: 0x123456,
    psn: 0xABCDEF,
    ack_request: true,
    dart: DART,
    payload: b"hello",
};

const RESPONSE: Packet<'_> = Packet::DartAck {
    ack: Response { envelope: BACK, destination_qp: 0x118, psn: 0xABCDEF, msn: 7, becn: true },
    dart: DartAck { parts: 1, of: 20 },
};

fn encoded(encode: impl FnOnce(&mut [u8]) -> Result<usize, WireError>) -> Vec<u8> {
    let mut buffer = vec![0xEE; 140_000];
    let len = encode(&mut buffer).unwrap();
    assert!(buffer[len..].iter().all(|b| *b == 0xEE), "wrote past the end");
    buffer.truncate(len);
    buffer
}

/// Header, field and value that an error names.
fn field<T: core::fmt::Debug>(result: Result<T, WireError>) -> (&'static str, &'static str, u64) {
    match result {
        Err(WireError::Field { header, field, found, .. }) => (header, field, found),
        other => panic!("{other:?}"),
    }
}

/// Dart III-D: "20 two-byte sender-ids, each of which can address 64K sender NICs, amount to 40-byte or 2% overhead".
#[test]
fn dart_lookahead_overhead() {
    let ids: Vec<u16> = (0..20).map(|host| 3277 * host).collect();
    let bytes = encoded(|b| SenderList { incast: 1, senders: Senders::new(&ids) }.encode(b));
    let (group, list) = bytes.split_at(SenderList::HEADER_LEN);
    // What the paper does not count: the incast's number and the count.
    assert_eq!((group.len(), list.len()), (6, 40));
    for payload in [2000.0, 2048.0] {
        let percent = 100.0 * list.len() as f64 / payload;
        assert!((1.9..=2.0).contains(&percent), "{percent} % of {payload} B");
    }

    // All of 64 K hosts can be named. A list holds one less than there are, so they come in two.
    let all: Vec<u16> = (0..=u16::MAX).collect();
    let mut seen = Vec::new();
    for half in all.chunks(1 << 15) {
        let bytes = encoded(|b| SenderList { incast: 1, senders: Senders::new(half) }.encode(b));
        assert_eq!(bytes.len(), 6 + 2 * half.len());
        let (list, rest) = SenderList::decode(&bytes).unwrap();
        assert!(rest.is_empty());
        seen.extend(list.senders.iter());
    }
    assert_eq!(seen, all);
    let mut rows = fanin_claims::claim!("dart-lookahead-overhead");
    rows.asserted(
        "bytes of a list of 20 senders, and of its own header",
        "40",
        format!("{}, {}", list.len(), group.len()),
    );
    let percent = |payload: f64| 100.0 * list.len() as f64 / payload;
    rows.asserted(
        "part of 2,048 and of 2,000 B",
        "2 %",
        format!("{:.2} and {:.2} %", percent(2048.0), percent(2000.0)),
    );
    rows.asserted("hosts that can be told apart", "64 K", seen.len().to_string());
}

#[test]
fn each_packet_has_the_bytes_of_its_layout() {
    for (packet, bytes) in [(Packet::DartData(DATA), &SEND[..]), (RESPONSE, &ACK[..])] {
        assert_eq!(encoded(|b| packet.encode(b)), bytes);
        assert_eq!(Packet::decode(bytes), Ok((packet, &[][..])));
        assert_eq!(packet.wire_len(), bytes.len());
    }
}

#[test]
fn each_header_has_the_bytes_of_its_layout() {
    assert_eq!(encoded(|b| DART.encode(b)), SEND[HEAD..LIST.end]);
    assert_eq!(DartData::decode(&SEND[HEAD..]), Ok((DART, &SEND[LIST.end..])));
    assert_eq!(encoded(|b| SENDERS.encode(b)), SEND[LIST]);
    let (list, rest) = SenderList::decode(&SEND[LIST]).unwrap();
    assert_eq!((list.incast, list.senders.len(), rest), (SENDERS.incast, 3, &[][..]));
    assert!(list.senders.iter().eq([0, 0x1234, 0xFFFF]));
    assert_eq!(format!("{:?}", list.senders), "[0, 4660, 65535]");
    assert_ne!(list.senders, Senders::new(&[0, 0x1234]));
    assert_ne!(list.senders, Senders::new(&[0, 0x1234, 0xFFFE]));

    // Each field of the first byte alone.
    let none = DartData { start: false, lane: 0, tokens: 0, ..PLAIN };
    let first = |dart: DartData<'_>| encoded(|b| dart.encode(b))[0];
    assert_eq!(first(none), 0);
    assert_eq!(first(DartData { start: true, ..none }), 0b1000_0000);
    assert_eq!(first(DartData { end: true, ..none }), 0b0100_0000);
    assert_eq!(first(DartData { start: true, list: Some(SENDERS), ..none }), 0b1010_0000);
    assert_eq!(first(DartData { lane: 1, ..none }), 0b0001_0000);
    assert_eq!([1, 2, 4].map(|tokens| first(DartData { tokens, ..none })), [0b0010, 0b0100, 0b1000]);

    assert_eq!(encoded(|b| DartAck { parts: 1, of: 20 }.encode(b)), [0, 1, 0, 20]);
    assert_eq!(encoded(|b| DartAck { parts: 0x0102, of: 0x0304 }.encode(b)), [1, 2, 3, 4]);
    assert_eq!(encoded(|b| DartAck::NOTHING.encode(b)), [0; 4]);
}

#[test]
fn sizes_are_those_of_the_layout() {
    assert_eq!([size::DART_DATA_HEADER, size::DART_ACK], [Bytes(74), Bytes(70)]);
    // An empty packet needs no padding to the shortest frame: Dart's 12 bytes are where it would be.
    assert_eq!([0, 1, 4, 5, 46, 1000].map(size::dart_data), [74, 78, 78, 82, 122, 1074].map(Bytes));
    assert!(size::dart_data(0).get() > MIN_FRAME as u64);
    assert_eq!(size::dart_data(u64::MAX), Bytes(u64::MAX));
    let empty = DartSend { dart: PLAIN, payload: &[], ..DATA };
    let bytes = encoded(|b| Packet::DartData(empty).encode(b));
    assert_eq!((bytes.len(), Packet::decode(&bytes)), (74, Ok((Packet::DartData(empty), &[][..]))));
}

/// The simulator counts packets by the scheme's constants and writes none of them.
#[test]
fn the_scheme_counts_what_is_written() {
    assert_eq!(scheme::HEADER_OVERHEAD.data as usize, DartData::LEN);
    assert_eq!(scheme::HEADER_OVERHEAD.ack as usize, DartAck::LEN);
    assert_eq!(scheme::LIST_HEADER as usize, SenderList::HEADER_LEN);
    assert_eq!(scheme::LIST_ENTRY as usize, SenderList::ENTRY_LEN);
    assert_eq!(size::DART_DATA_HEADER.get(), size::DATA_HEADER.get() + u64::from(scheme::HEADER_OVERHEAD.data));
    assert_eq!(size::DART_ACK.get(), size::ACK.get() + u64::from(scheme::HEADER_OVERHEAD.ack));
    // Not so for empty packets, where the scheme's sum has the padding to 64 B too.
    for payload in 1..3000 {
        let counted = size::data(payload).get() + u64::from(scheme::HEADER_OVERHEAD.data);
        assert_eq!(size::dart_data(payload).get(), counted, "{payload} B");
    }

    let ids: Vec<u16> = (0..scheme::LONGEST_LIST as u16).collect();
    for senders in 1..=ids.len() {
        let list = SenderList { incast: 9, senders: Senders::new(&ids[..senders]) };
        assert_eq!(encoded(|b| list.encode(b)).len(), scheme::list_bytes(senders) as usize, "{senders}");
    }

    let with = |tokens| DartData { tokens, ..PLAIN }.encode(&mut [0; 12]);
    assert_eq!(with(scheme::MOST_TOKENS), Ok(12));
    assert_eq!(field(with(scheme::MOST_TOKENS + 1)), ("Dart data", "tokens", 8));

    for (parts, of) in [(0, 0), (1, 1), (1, 20), (3, 1000), (u16::MAX, u16::MAX)] {
        let share = scheme::Share { parts, of };
        let bytes = encoded(|b| DartAck { parts, of }.encode(b));
        assert_eq!(bytes, share.encode().to_be_bytes());
        assert_eq!(scheme::Share::decode(share.encode()).is_none(), DartAck { parts, of } == DartAck::NOTHING);
    }
}

#[test]
fn reserved_bits_and_misplaced_lists_are_named() {
    let decode = |change: fn(&mut [u8])| {
        let mut bytes = SEND[HEAD..LIST.end].to_vec();
        change(&mut bytes);
        field(DartData::decode(&bytes))
    };
    assert_eq!(decode(|b| b[0] |= 1), ("Dart data", "reserved bit of byte 0", 1));
    assert_eq!(decode(|b| b[10] = 1), ("Dart data", "reserved bytes 10-11", 0x0100));
    assert_eq!(decode(|b| b[11] = 0x80), ("Dart data", "reserved bytes 10-11", 0x80));
    assert_eq!(decode(|b| b[0] &= 0x7F), ("Dart data", "list", 1));
    let error = DartData { start: false, ..DART }.encode(&mut [0; 40]).unwrap_err();
    assert_eq!(error.to_string(), "Dart data: list is 1 (0x1); it must be 0 where no message starts");
    assert_eq!(field(DartData { lane: 2, ..PLAIN }.encode(&mut [0; 12])), ("Dart data", "lane", 2));
}

#[test]
fn parts_that_are_no_share_are_refused() {
    for (parts, of) in [(0, 1), (1, 0), (2, 1), (u16::MAX, 0), (0, u16::MAX), (u16::MAX, u16::MAX - 1)] {
        let expected = ("Dart ACK", "parts", u64::from(parts));
        assert_eq!(field(DartAck { parts, of }.encode(&mut [0; 4])), expected);
        let bytes = scheme::Share { parts, of }.encode().to_be_bytes();
        assert_eq!(field(DartAck::decode(&bytes)), expected);
    }
}

#[test]
fn lists_that_are_cut_or_count_wrong_are_named() {
    let list = &SEND[LIST];
    for kept in 0..list.len() {
        let missing = if kept < 6 { 6 } else { 12 } - kept;
        assert_eq!(SenderList::decode(&list[..kept]), Err(WireError::Truncated { header: "sender list", missing }));
        let short = SENDERS.encode(&mut vec![0; kept]);
        assert_eq!(short, Err(WireError::NoRoom { header: "sender list", missing: 12 - kept }));
    }
    let too_many = vec![0; 1 << 16];
    let list = SenderList { incast: 1, senders: Senders::new(&too_many) };
    assert_eq!(field(list.encode(&mut vec![0; 140_000])), ("sender list", "count", 1 << 16));
    let most = SenderList { incast: 1, senders: Senders::new(&too_many[1..]) };
    assert_eq!(encoded(|b| most.encode(b)).len(), 6 + 2 * 65_535);

    // In a packet that is all there a larger count is a wrong field: no more bytes will come.
    let mut bytes = SEND;
    bytes[LIST.start + 5] = 6;
    // 3 more senders are 6 bytes, and the payload has 5: its padding is no sender.
    let error = Packet::decode(&bytes).unwrap_err();
    assert_eq!(error.to_string(), "sender list: length past the end of the packet is 1 (0x1); it must be 0");
    let mut bytes = [&SEND[..], &[0; 140_000]].concat();
    bytes[LIST.start + 4] = 0xFF;
    assert_eq!(field(Packet::decode(&bytes)).0, "sender list");
}

#[test]
fn cut_packets_name_the_header_and_what_is_missing() {
    let below = [("Ethernet", 14), ("IPv4", 20), ("UDP", 8), ("BTH", 12)];
    let data = [("Dart data", 12), ("sender list", 6), ("sender list", 6), ("payload", 8)];
    let ack = [("AETH", 4), ("Dart ACK", 4)];
    let above = [("ICRC", 4), ("Ethernet FCS", 4)];
    for (bytes, layers) in [(&SEND[..], &data[..]), (&ACK[..], &ack[..])] {
        let mut end = 0;
        for (header, len) in below.iter().chain(layers).chain(&above).copied() {
            for missing in 1..=len {
                let cut = Packet::decode(&bytes[..end + len - missing]);
                assert_eq!(cut, Err(WireError::Truncated { header, missing }));
            }
            end += len;
        }
        assert_eq!(end, bytes.len());
        let (packet, _) = Packet::decode(bytes).unwrap();
        let short = packet.encode(&mut vec![0; bytes.len() - 1]);
        assert_eq!(short, Err(WireError::NoRoom { header: "packet", missing: 1 }));
    }
}

#[test]
fn packets_that_cannot_be_are_refused() {
    let send = |change: fn(&mut [u8])| refused(&SEND, change);
    // The packet says to be so many words shorter, of the 8 after its BTH. 3 bytes of the last one are padding.
    let short = |words: u8| {
        refused(&SEND, |b| {
            b[17] -= 4 * words;
            b[39] -= 4 * words;
        })
    };
    assert_eq!(short(2), ("sender list", "length past the end of the packet", 3));
    assert_eq!(short(3), ("sender list", "length past the end of the packet", 1));
    assert_eq!(short(5), ("Dart data", "length past the end of the packet", 3));
    assert_eq!(short(8), ("BTH", "pad count", 3));
    assert_eq!(send(|b| (b[17], b[39]) = (0x4B, 0x37)), ("payload", "padded length", 31));
    assert_eq!(send(|b| b[42] = opcode::DART_ACKNOWLEDGE), ("UDP", "length", 56));
    assert_eq!(send(|b| b[42] = 0xC1), ("BTH", "opcode", 0xC1));
    assert_eq!(refused(&ACK, |b| b[42] = opcode::ACKNOWLEDGE), ("UDP", "length", 32));
    assert_eq!(refused(&ACK, |b| b[54] = 0x60), ("AETH", "kind", 3));
    assert_eq!(refused(&ACK, |b| b[59] = 0), ("Dart ACK", "parts", 0));

    // IPv4 counts 65,535 B, so 65,476 B are left for list and payload.
    let bytes = vec![7; 65_477];
    let ids = [5; 32_735];
    let mut buffer = vec![0; 70_000];
    let fits = |list: Option<SenderList<'_>>, payload: &[u8], buffer: &mut [u8]| {
        let data = DartSend { dart: DartData { list, ..DART }, payload, ..DATA };
        let len = Packet::DartData(data).encode(buffer)?;
        assert_eq!(Packet::decode(&buffer[..len]), Ok((Packet::DartData(data), &[][..])));
        Ok(len)
    };
    let list = SenderList { incast: 1, senders: Senders::new(&ids) };
    assert_eq!(fits(None, &bytes[1..], &mut buffer), Ok(65_476 + 74));
    assert_eq!(fits(Some(list), &[], &mut buffer), Ok(65_476 + 74));
    let too_long = ("Dart data and payload", "length", 65_489);
    assert_eq!(field(fits(None, &bytes, &mut buffer)), too_long);
    assert_eq!(field(fits(Some(list), &[1], &mut buffer)), too_long);
}

/// The field that is reported when `change` is done to `bytes` and the IPv4 checksum corrected.
fn refused(bytes: &[u8], change: impl FnOnce(&mut [u8])) -> (&'static str, &'static str, u64) {
    let mut bytes = bytes.to_vec();
    change(&mut bytes);
    if let Err(WireError::Checksum { header: "IPv4", computed, .. }) = Packet::decode(&bytes) {
        bytes[24..26].copy_from_slice(&(computed as u16).to_be_bytes());
    }
    field(Packet::decode(&bytes))
}

/// Lists beside headers, because headers borrow them.
fn head() -> impl Strategy<Value = (DartData<'static>, Option<(u32, Vec<u16>)>)> {
    let list = prop::option::of((any::<u32>(), prop::collection::vec(any::<u16>(), 0..40)));
    let fields = (0u8..2, 0u8..8, any::<u8>(), any::<u16>(), any::<u32>(), any::<u16>());
    (any::<[bool; 2]>(), fields, list).prop_map(
        |([start, end], (lane, tokens, tenant, weight, message, attempt), list)| {
            let start = start || list.is_some();
            let dart = DartData { start, end, lane, tokens, tenant, weight, message, attempt, list: None };
            (dart, list)
        },
    )
}

fn with_list<'a>(dart: DartData<'a>, list: &'a Option<(u32, Vec<u16>)>) -> DartData<'a> {
    let list = list.as_ref().map(|(incast, ids)| SenderList { incast: *incast, senders: Senders::new(ids) });
    DartData { list, ..dart }
}

fn share() -> impl Strategy<Value = DartAck> {
    (any::<u16>(), any::<u16>()).prop_map(|(a, b)| {
        let of = a.max(b);
        DartAck { parts: a.min(b).max((of > 0) as u16), of }
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn headers_survive_encoding_whatever_follows(
        (dart, list) in head(),
        ack in share(),
        after in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let dart = with_list(dart, &list);
        let mut bytes = encoded(|b| dart.encode(b));
        prop_assert_eq!(bytes.len(), dart.wire_len());
        for kept in 0..bytes.len() {
            let cut = DartData::decode(&bytes[..kept]);
            let truncated = matches!(cut, Err(WireError::Truncated { missing, .. }) if missing <= bytes.len() - kept);
            prop_assert!(truncated, "{:?}", cut);
            let short = dart.encode(&mut vec![0; kept]);
            prop_assert!(matches!(short, Err(WireError::NoRoom { .. })), "{:?}", short);
        }
        bytes.extend(&after);
        let (read, rest) = DartData::decode(&bytes).unwrap();
        prop_assert_eq!((read, rest), (dart, &after[..]));
        // What was read can be written again.
        prop_assert_eq!(encoded(|b| read.encode(b)), &bytes[..bytes.len() - after.len()]);

        let bytes = [encoded(|b| ack.encode(b)), after.clone()].concat();
        prop_assert_eq!(DartAck::decode(&bytes), Ok((ack, &after[..])));
    }

    #[test]
    fn packets_survive_encoding_and_their_parts_are_none(
        ((dart, list), ack) in (head(), share()),
        (qp, psn, msn, [ack_request, becn]) in (0u32..1 << 24, 0u32..1 << 24, 0u32..1 << 24, any::<[bool; 2]>()),
        payload in prop::collection::vec(any::<u8>(), 0..200),
        after in prop::collection::vec(any::<u8>(), 0..80),
        (cut, bit) in any::<(prop::sample::Index, prop::sample::Index)>(),
    ) {
        let dart = with_list(dart, &list);
        let data = DartSend { envelope: FORWARD, destination_qp: qp, psn, ack_request, dart, payload: &payload };
        let response = Response { envelope: BACK, destination_qp: qp, psn, msn, becn };
        for packet in [Packet::DartData(data), Packet::DartAck { ack: response, dart: ack }] {
            let bytes = encoded(|b| packet.encode(b));
            prop_assert_eq!(bytes.len(), packet.wire_len());
            let whole = [&bytes[..], &after].concat();
            prop_assert_eq!(Packet::decode(&whole), Ok((packet, &after[..])));

            let kept = &bytes[..cut.index(bytes.len())];
            let Err(WireError::Truncated { missing, .. }) = Packet::decode(kept) else {
                return Err(TestCaseError::fail("not reported as truncated"));
            };
            prop_assert!((1..=bytes.len() - kept.len()).contains(&missing));

            let mut flipped = bytes.clone();
            let bit = bit.index(8 * bytes.len());
            flipped[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Packet::decode(&flipped).is_err());
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        if let Ok((dart, rest)) = DartData::decode(&bytes) {
            prop_assert_eq!(encoded(|b| dart.encode(b)), &bytes[..bytes.len() - rest.len()]);
        }
        if let Ok((list, rest)) = SenderList::decode(&bytes) {
            prop_assert_eq!(encoded(|b| list.encode(b)), &bytes[..bytes.len() - rest.len()]);
        }
        if let Ok((ack, rest)) = DartAck::decode(&bytes) {
            prop_assert_eq!(encoded(|b| ack.encode(b)), &bytes[..bytes.len() - rest.len()]);
        }
    }

    /// Random bytes where Dart's headers are, behind right headers below and any opcode of theirs.
    #[test]
    fn damaged_packets_never_panic(
        is_ack in any::<bool>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        (total, kept) in (any::<u8>(), any::<prop::sample::Index>()),
    ) {
        let mut bytes = if is_ack { ACK.to_vec() } else { SEND.to_vec() };
        for (at, value) in damage {
            let at = 42 + at.index(bytes.len() - 42);
            bytes[at] = value;
        }
        // A length of the packet that both IPv4 and UDP believe in.
        (bytes[17], bytes[39]) = (total.max(52), total.max(52) - 20);
        if let Err(WireError::Checksum { header: "IPv4", computed, .. }) = Packet::decode(&bytes) {
            bytes[24..26].copy_from_slice(&(computed as u16).to_be_bytes());
        }
        for bytes in [&bytes[..], &bytes[..kept.index(bytes.len())]] {
            if let Ok((Packet::DartData(data), rest)) = Packet::decode(bytes) {
                prop_assert!(data.payload.len() + rest.len() < bytes.len());
            }
        }
    }
}
