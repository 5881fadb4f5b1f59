//! HPCC's telemetry on the wire: its bytes by hand, what holds for all of them, and that the scheme counts what `wire`
//! writes.

use fanin_cc::schemes::hpcc::{Fields, HEADER_OVERHEAD, SPEEDS};
use fanin_cc::{IntHop, Telemetry};
use fanin_units::{Bytes, NodeId, Rate, Time};
use fanin_wire::{Aeth, Bth, Ethernet, FCS_LEN, ICRC_LEN, IntHeader, IntRecord, Ipv4, Udp, WireError, size};
use proptest::prelude::*;

/// Number of random cases, from the environment.
fn config() -> ProptestConfig {
    let cases = std::env::var("FANIN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

const RECORD: IntRecord = IntRecord { speed: 0xA, time: 0x12_3456, sent: 0x7_89AB, queued: 0xCDEF };

fn encoded(header: &IntHeader) -> Vec<u8> {
    let mut buffer = [0xEE; 60];
    let len = header.encode(&mut buffer).unwrap();
    assert!(buffer[len..].iter().all(|b| *b == 0xEE), "wrote past the end");
    buffer[..len].to_vec()
}

#[test]
fn each_field_has_its_bits() {
    let mut header = IntHeader::default();
    assert_eq!(encoded(&header), [0, 0]);
    header.push(0x0ABC, RECORD);
    assert_eq!(encoded(&header), [0x1A, 0xBC, 0xA1, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF]);
    header.push(0x0FFF, IntRecord::default());
    assert_eq!(encoded(&header)[..2], [0x25, 0x43]);
    // Each field alone, full.
    let none = IntRecord::default();
    let bytes = |record: IntRecord| {
        let mut bytes = [0; 8];
        record.encode(&mut bytes).unwrap();
        u64::from_be_bytes(bytes)
    };
    assert_eq!(bytes(IntRecord { speed: 15, ..none }), 0xF << 60);
    assert_eq!(bytes(IntRecord { time: 0xFF_FFFF, ..none }), 0xFF_FFFF << 36);
    assert_eq!(bytes(IntRecord { sent: 0xF_FFFF, ..none }), 0xF_FFFF << 16);
    assert_eq!(bytes(IntRecord { queued: 0xFFFF, ..none }), 0xFFFF);
}

#[test]
fn five_switches_take_42_bytes_and_a_sixth_none() {
    let mut header = IntHeader::default();
    for switch in 1..=20u16 {
        header.push(switch, IntRecord { sent: switch as u32, ..RECORD });
        let records = (switch as usize).min(5);
        assert_eq!((header.wire_len(), encoded(&header).len()), (2 + 8 * records, 2 + 8 * records));
        assert_eq!(header.hops() as u16, switch.min(15));
        assert!(header.records().iter().map(|r| r.sent).eq(1..=records as u32));
    }
    assert_eq!((header.wire_len(), IntHeader::MOST_LEN), (42, 42));
    assert_eq!(header.path(), (1..=20).fold(0, |a, b| a ^ b));
    // 4.2 % of a packet with 1,000 bytes.
    assert_eq!(IntHeader::MOST_LEN as f64 / 1000.0, 0.042);
    assert_eq!(size::INT_DATA_HEADER, Bytes(size::DATA_HEADER.0 + 42));
    assert_eq!(size::INT_ACK.get() as usize, 14 + 20 + 8 + 42 + 12 + 4 + 4 + 4);
}

/// Between UDP and BTH (Fig. 7): a whole data packet of 1,000 bytes, layer by layer.
#[test]
fn a_packet_with_telemetry() {
    let mut header = IntHeader::default();
    (1..=5).for_each(|switch| header.push(switch, RECORD));
    let bth = Bth {
        opcode: 4,
        solicited_event: false,
        migrated: true,
        pad_count: 0,
        partition_key: 0xFFFF,
        fecn: false,
        becn: false,
        destination_qp: 5,
        ack_request: true,
        psn: 6,
    };
    let below = Ethernet::LEN + Ipv4::LEN + Udp::LEN;
    let len = below + header.wire_len() + Bth::LEN + 1000 + ICRC_LEN + FCS_LEN;
    assert_eq!(len as u64, size::INT_DATA_HEADER.get() + 1000);
    let mut frame = vec![0; len];
    let at = below + header.encode(&mut frame[below..]).unwrap();
    bth.encode(&mut frame[at..]).unwrap();
    let (read, rest) = IntHeader::decode(&frame[below..]).unwrap();
    assert_eq!(read, header);
    assert_eq!(Bth::decode(rest).unwrap().0, bth);
    assert_eq!(rest.len(), Bth::LEN + 1000 + ICRC_LEN + FCS_LEN);
    // A packet that has met no switch has two bytes of it, and ACKs have an AETH behind the BTH.
    assert_eq!(size::INT_ACK.get(), (below + 42 + Bth::LEN + Aeth::LEN + ICRC_LEN + FCS_LEN) as u64);
}

#[test]
fn what_does_not_fit_is_named() {
    let refused = |record: IntRecord| {
        let mut header = IntHeader::default();
        header.push(1, record);
        match header.encode(&mut [0; 42]) {
            Err(WireError::Field { header, field, found, .. }) => (header, field, found),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refused(IntRecord { speed: 16, ..RECORD }), ("INT", "B", 16));
    assert_eq!(refused(IntRecord { time: 1 << 24, ..RECORD }), ("INT", "TS", 1 << 24));
    assert_eq!(refused(IntRecord { sent: 1 << 20, ..RECORD }), ("INT", "txBytes", 1 << 20));
}

fn record() -> impl Strategy<Value = IntRecord> {
    (0u8..16, 0u32..1 << 24, 0u32..1 << 20, any::<u16>()).prop_map(|(speed, time, sent, queued)| IntRecord {
        speed,
        time,
        sent,
        queued,
    })
}

fn hop() -> impl Strategy<Value = IntHop> {
    (1u64..1 << 45, any::<u64>(), any::<u64>(), 0u64..20_000_000).prop_map(|(rate, time, sent, queued)| IntHop {
        rate: Rate::from_bps(rate),
        time: Time::from_ps(time),
        sent,
        queued,
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn headers_survive_encoding_and_cuts_are_named(
        switches in prop::collection::vec((any::<u16>(), record()), 0..18),
        after in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut header = IntHeader::default();
        switches.iter().for_each(|(switch, record)| header.push(*switch, *record));
        let mut bytes = encoded(&header);
        let len = bytes.len();
        bytes.extend(&after);
        prop_assert_eq!(IntHeader::decode(&bytes), Ok((header, &after[..])));
        for kept in 0..len {
            let missing = if kept < 2 { 2 } else { len } - kept;
            prop_assert_eq!(IntHeader::decode(&bytes[..kept]), Err(WireError::Truncated { header: "INT", missing }));
            let short = header.encode(&mut vec![0; kept]);
            prop_assert_eq!(short, Err(WireError::NoRoom { header: "INT", missing: len - kept }));
        }
    }

    #[test]
    fn any_bytes_are_a_header_or_too_few(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        if let Ok((header, rest)) = IntHeader::decode(&bytes) {
            // All bits mean something: what was read is what is written.
            prop_assert_eq!([&encoded(&header)[..], rest].concat(), bytes);
        } else {
            prop_assert!(bytes.len() < 42);
        }
    }

    /// The scheme's fields are those that `wire` writes, and both number paths alike.
    #[test]
    fn the_scheme_reads_what_is_written(
        hops in prop::collection::vec((any::<u16>(), hop()), 0..10),
        unit in 1u32..1025,
    ) {
        let (mut header, mut telemetry) = (IntHeader::default(), Telemetry::default());
        for (switch, hop) in &hops {
            let Fields { speed, time, sent, queued } = Fields::of(hop, unit);
            header.push(*switch, IntRecord { speed, time, sent, queued });
            telemetry.push(NodeId(*switch as u32), *hop);
        }
        let bytes = encoded(&header);
        let (read, _) = IntHeader::decode(&bytes).unwrap();
        prop_assert_eq!(read.path(), telemetry.path());
        prop_assert_eq!(read.hops(), telemetry.count());
        prop_assert_eq!(read.records().len(), telemetry.hops().len());
        for (record, hop) in read.records().iter().zip(telemetry.hops()) {
            let again = Fields::of(hop, unit);
            prop_assert_eq!((record.speed, record.time), (again.speed, again.time));
            prop_assert_eq!((record.sent, record.queued), (again.sent, again.queued));
            prop_assert!(SPEEDS[record.speed as usize] <= hop.rate.max(SPEEDS[1]));
        }
    }
}

#[test]
fn the_scheme_counts_what_is_written() {
    assert_eq!([HEADER_OVERHEAD.data as usize, HEADER_OVERHEAD.ack as usize], [IntHeader::MOST_LEN; 2]);
    assert_eq!(Telemetry::MOST, IntHeader::MOST);
    assert_eq!(size::INT_ACK.get(), size::ACK.get() + HEADER_OVERHEAD.ack as u64);
    for payload in [1, 64, 999, 1000, 1460, 4096] {
        let header = size::INT_DATA_HEADER.get() + payload + payload.wrapping_neg() % 4;
        assert_eq!(header, size::data(payload).get() + HEADER_OVERHEAD.data as u64);
    }
}
