//! The codecs put every field where the tables of layouts say.

use fanin_wire::layouts::{ALL, DART_ACK, DART_DATA, INT, INT_RECORD, SENDER_LIST};
use fanin_wire::{DartAck, DartData, IntHeader, IntRecord, SenderList, Senders};

/// Numbers that differ in every bit they may have, one after another.
fn numbers(count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(|n| (n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(n as u32 % 64))
}

#[test]
fn tables_have_the_length_of_their_headers() {
    assert_eq!(DART_DATA.len(), DartData::LEN);
    assert_eq!((SENDER_LIST.len(), DART_ACK.len()), (SenderList::HEADER_LEN, DartAck::LEN));
    assert_eq!((INT.len(), INT_RECORD.len()), (IntHeader::HEAD_LEN, IntRecord::LEN));
    for header in ALL {
        let bits: u32 = header.fields.iter().map(|field| field.bits).sum();
        assert_eq!(bits % 8, 0, "{}", header.key);
        let whole = header.fields.iter().all(|field| field.bits % 8 == 0);
        assert!(whole || !header.little_endian, "{}", header.key);
    }
}

#[test]
fn dart_is_where_its_tables_say() {
    for n in numbers(500) {
        let ids = [n as u16, (n >> 9) as u16];
        let list = SenderList { incast: (n >> 3) as u32, senders: Senders::new(&ids) };
        let data = DartData {
            start: true,
            end: n & 1 != 0,
            lane: (n >> 1 & 1) as u8,
            tokens: (n >> 2 & 7) as u8,
            tenant: (n >> 5) as u8,
            weight: (n >> 13) as u16,
            message: (n >> 29) as u32,
            attempt: (n >> 48) as u16,
            list: (n & 2 != 0).then_some(list),
        };
        let mut bytes = [0; 64];
        let len = data.encode(&mut bytes).expect("it fits");
        let of = |name: &str| DART_DATA.value(&bytes, name).expect("a field");
        let expected: [(&str, u64); 9] = [
            ("start", 1),
            ("end", data.end.into()),
            ("list", data.list.is_some().into()),
            ("lane", data.lane.into()),
            ("tokens", data.tokens.into()),
            ("tenant", data.tenant.into()),
            ("weight", data.weight.into()),
            ("message", data.message.into()),
            ("attempt", data.attempt.into()),
        ];
        assert_eq!(expected.map(|(name, _)| (name, of(name))), expected);
        if let Some(list) = data.list {
            let of = |name: &str| SENDER_LIST.value(&bytes[DART_DATA.len()..len], name);
            assert_eq!([of("incast"), of("count")], [Some(list.incast.into()), Some(2)]);
        }
        let ack = DartAck { parts: 1 + (n as u16 & 0x7FF), of: 0x800 + (n >> 20) as u16 % 0x7000 };
        ack.encode(&mut bytes).expect("it fits");
        let of = |name: &str| DART_ACK.value(&bytes, name);
        assert_eq!([of("parts"), of("of")], [Some(ack.parts.into()), Some(ack.of.into())]);
    }
}

#[test]
fn telemetry_is_where_its_tables_say() {
    for n in numbers(500) {
        let record = IntRecord {
            speed: n as u8 & 0xF,
            time: (n >> 4) as u32 & 0xFF_FFFF,
            sent: (n >> 28) as u32 & 0xF_FFFF,
            queued: (n >> 48) as u16,
        };
        let mut header = IntHeader::default();
        (0..1 + n % 3).for_each(|_| header.push(n as u16, record));
        let mut bytes = [0; IntHeader::MOST_LEN];
        let len = header.encode(&mut bytes).expect("it fits");
        let of = |name: &str| INT.value(&bytes, name);
        assert_eq!([of("hops"), of("path")], [Some(1 + n % 3), Some(header.path().into())]);
        let last = &bytes[len - INT_RECORD.len()..];
        let of = |name: &str| INT_RECORD.value(last, name).expect("a field");
        let expected: [u64; 4] = [record.speed.into(), record.time.into(), record.sent.into(), record.queued.into()];
        assert_eq!(["speed", "time", "sent", "queued"].map(of), expected);
    }
}

#[test]
fn what_is_not_there_has_no_value() {
    assert_eq!((INT.value(&[0x5A], "hops"), INT.value(&[0x5A], "path")), (Some(5), None));
    assert_eq!(INT.value(&[0, 0], "speed"), None);
}
