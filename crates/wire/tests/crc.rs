//! CRCs: known answers, and the same as byte by byte.

use fanin_wire::{Crc32, Packet, fcs, icrc};
use proptest::prelude::*;

mod bytewise;

/// Number of random cases, from the environment.
fn config() -> ProptestConfig {
    let cases = std::env::var("FANIN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

#[test]
fn crc_32_meets_known_answers() {
    // The first is the value that catalogues of CRCs give; all are those of zlib's `crc32`.
    assert_eq!(fcs(b"123456789"), 0xCBF4_3926);
    assert_eq!(fcs(b""), 0);
    assert_eq!(fcs(b"a"), 0xE8B7_BE43);
    assert_eq!(fcs(b"The quick brown fox jumps over the lazy dog"), 0x414F_A339);
    assert_eq!(fcs(&[0; 32]), 0x190A_55AD);
    assert_eq!(fcs(&[0xFF; 32]), 0xFF6C_AB0B);
    let counting: [u8; 256] = core::array::from_fn(|i| i as u8);
    assert_eq!(fcs(&counting), 0x2905_8C73);
    assert_eq!(Crc32::default().finish(), 0);
}

/// A CNP captured from a ConnectX-4 Lx adapter, from the Ethernet header to the ICRC (published with the RoCE layer of
/// Scapy, `test/contrib/roce.uts`).
#[rustfmt::skip]
const CAPTURED: [u8; 78] = [
    0xE4, 0x1D, 0x2D, 0xAB, 0x2B, 0xC2, 0x7C, 0xFE, 0x90, 0x64, 0x3B, 0x32, 0x08, 0x00, 0x45, 0xC2,
    0x00, 0x3C, 0x71, 0x8C, 0x40, 0x00, 0x40, 0x11, 0x91, 0x61, 0x0A, 0x00, 0x11, 0x01, 0x0A, 0x00,
    0x12, 0x01, 0x00, 0x00, 0x12, 0xB7, 0x00, 0x28, 0x00, 0x00, 0x81, 0x00, 0xFF, 0xFF, 0x40, 0x00,
    0x01, 0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x82, 0xFD, 0x00, 0x2A, 0x00, 0x00, 0x00, 0x00,
];

#[test]
fn the_icrc_is_that_of_adapters() {
    assert_eq!(icrc(&CAPTURED[14..70]).to_le_bytes(), CAPTURED[70..74]);
    // Captures have no FCS.
    let mut frame = CAPTURED;
    let trailer = fcs(&frame[..74]).to_le_bytes();
    frame[74..].copy_from_slice(&trailer);
    let Ok(Packet::Cnp(cnp)) = Packet::decode_frame(&frame) else { panic!("no CNP") };
    assert_eq!((cnp.destination_qp, cnp.envelope.dscp), (0x118, 48));
}

/// A packet of an unreliable connection with 22 bytes of payload and 2 of padding, of the same source.
#[test]
fn the_icrc_covers_payload_and_padding() {
    #[rustfmt::skip]
    let datagram = [
        0x45, 0x01, 0x00, 0x40, 0x04, 0x78, 0x40, 0x00, 0x40, 0x11, 0xB4, 0xD5, 192, 168, 0, 7, 192, 168, 0, 7,
        0xC0, 0x00, 0x12, 0xB7, 0x00, 0x2C, 0xAC, 0xA2,
        0x24, 0x60, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0xD3, 0x00, 0xCF, 0x17, 0x10,
        b'F', b'0', 0x81, 0x8B, 0xE2, 0x89, b'5', 0xD9, 0x0E, 0x9A, 0x95, b'P', b'T', 0x01, 0xBE, 0x88, b'^', b'P',
        0x00, 0x00,
    ];
    assert_eq!(icrc(&datagram).to_le_bytes(), [0x78, 0xF3, 0x53, 0xF3]);
}

proptest! {
    #![proptest_config(config())]

    /// Four bytes lead to every state in which a CRC can be.
    #[test]
    fn crcs_are_those_of_byte_by_byte(
        before in any::<[[u8; 4]; 2]>(),
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        skipped in 0usize..16,
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        // Wherever they start in memory.
        let bytes = &bytes[skipped.min(bytes.len())..];
        let expected = before.map(|before| bytewise::crc32(&[&before, bytes].concat()));
        let mut crcs = before.map(|before| {
            let mut crc = Crc32::new();
            crc.add(&before);
            crc
        });
        let starts = crcs;
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        let mut from = 0;
        for to in cuts.into_iter().chain([bytes.len()]) {
            crcs.iter_mut().for_each(|crc| crc.add(&bytes[from..to]));
            from = to;
        }
        prop_assert_eq!(crcs.map(Crc32::finish), expected);
        let [mut first, mut second] = starts;
        Crc32::add_to_both(&mut first, &mut second, bytes);
        prop_assert_eq!([first, second].map(Crc32::finish), expected);
    }

    /// The rule of Annex A17.3.3 done literally: ones in place of the link header and in all that may change.
    #[test]
    fn the_icrc_is_that_of_ones_and_the_masked_datagram(datagram in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut masked = [vec![0xFF; 8], datagram.clone()].concat();
        for offset in [1, 8, 10, 11, 20 + 6, 20 + 7, 28 + 4] {
            if let Some(byte) = masked.get_mut(8 + offset) {
                *byte = 0xFF;
            }
        }
        prop_assert_eq!(icrc(&datagram), bytewise::crc32(&masked));
    }
}

#[test]
fn every_length_at_every_place_is_right() {
    let bytes: Vec<u8> = (0..200u32).map(|i| (i * i * 31 + i) as u8).collect();
    for from in 0..32 {
        for to in from..bytes.len() {
            assert_eq!(fcs(&bytes[from..to]), bytewise::crc32(&bytes[from..to]), "{from}..{to}");
        }
    }
}
