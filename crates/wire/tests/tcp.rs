//! TCP segments byte by byte, and any of them through encode and decode.

use fanin_wire::{Runs, Tcp, WireError, tcp_checksum};
use proptest::prelude::*;

const FROM: [u8; 4] = [10, 0, 0, 1];
const TO: [u8; 4] = [10, 0, 0, 2];

fn encoded(header: &Tcp, payload: &[u8]) -> Vec<u8> {
    let mut bytes = [0xEE; Tcp::MOST];
    let len = header.encode(FROM, TO, payload, &mut bytes).unwrap();
    assert_eq!(len, header.wire_len());
    bytes[..len].to_vec()
}

#[test]
fn a_syn_is_these_bytes() {
    let syn = Tcp {
        source_port: 0x8001,
        destination_port: 0x9C40,
        flags: 0xC2,
        window: 0xFFFF,
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: Some((3, 0)),
        ..Tcp::default()
    };
    #[rustfmt::skip]
    let expected = [
        0x80, 0x01, 0x9C, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0xA0, 0xC2, 0xFF, 0xFF, 0, 0, 0, 0,
        2, 4, 0x05, 0xB4, 4, 2, 8, 10, 0, 0, 0, 3, 0, 0, 0, 0, 1, 3, 3, 7,
    ];
    let bytes = encoded(&syn, &[]);
    assert_eq!((&bytes[..16], &bytes[18..]), (&expected[..16], &expected[18..]));
    // 0A00 + 0001 + 0A00 + 0002 + 0006 + 0028 and the words above: 0x2E904 in all, folded 0xE906.
    assert_eq!(bytes[16..18], (!0xE906u16).to_be_bytes());
}

#[test]
fn an_ack_reports_runs() {
    let runs = Runs::new([(0x1000, 0x2000), (0x3000, 0x4000)]);
    let ack = Tcp { flags: 0x10, ack: 0x500, runs, ..Tcp::default() };
    let bytes = encoded(&ack, &[]);
    #[rustfmt::skip]
    let expected = [1, 1, 5, 18, 0, 0, 0x10, 0, 0, 0, 0x20, 0, 0, 0, 0x30, 0, 0, 0, 0x40, 0];
    assert_eq!((bytes.len(), &bytes[20..]), (40, &expected[..]));
    let four = Tcp { runs: Runs::new([(1, 2); 5]), timestamps: Some((1, 2)), ..ack };
    let refused = four.encode(FROM, TO, &[], &mut [0; 100]);
    assert!(matches!(refused, Err(WireError::Field { found: 68, .. })), "{refused:?}");
}

fn any_tcp() -> impl Strategy<Value = Tcp> {
    let options = (any::<Option<u16>>(), any::<Option<u8>>(), any::<bool>(), any::<Option<(u32, u32)>>());
    let runs = proptest::collection::vec(any::<(u32, u32)>(), 0..=1).prop_map(Runs::new);
    (any::<[u16; 3]>(), any::<[u32; 2]>(), any::<u8>(), options, runs).prop_map(
        |([source_port, destination_port, window], [seq, ack], flags, options, runs)| {
            let (mss, window_scale, sack_permitted, timestamps) = options;
            Tcp {
                source_port,
                destination_port,
                seq,
                ack,
                flags,
                window,
                mss,
                window_scale,
                sack_permitted,
                timestamps,
                runs,
            }
        },
    )
}

fn cases() -> ProptestConfig {
    let cases = std::env::var("FANIN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(100);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn what_is_written_is_read(header in any_tcp(), payload in proptest::collection::vec(any::<u8>(), 0..99)) {
        let mut bytes = encoded(&header, &payload);
        prop_assert_eq!(tcp_checksum(FROM, TO, &bytes, &payload), 0);
        let len = bytes.len();
        bytes.extend(&payload);
        let (read, rest) = Tcp::decode(&bytes).unwrap();
        prop_assert_eq!((read, rest), (header, &payload[..]));
        for cut in 0..len {
            let truncated = matches!(Tcp::decode(&bytes[..cut]), Err(WireError::Truncated { .. }));
            prop_assert!(truncated);
            let mut short = vec![0; cut];
            let no_room = matches!(header.encode(FROM, TO, &payload, &mut short), Err(WireError::NoRoom { .. }));
            prop_assert!(no_room);
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let _ = Tcp::decode(&bytes);
    }
}
