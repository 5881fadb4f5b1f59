//! Frames: a million broken ones, and what none of them may do.

use fanin_fuzz::frames::{self, Repair};
use fanin_fuzz::{Mutator, guarded, memory, name};
use fanin_wire::{Packet, WireError, fcs};
use std::collections::BTreeSet;
use std::hint::black_box;

/// Where headers begin in a frame.
const IP: usize = 14;
const UDP: usize = 34;
const BTH: usize = 42;

/// Broken frames to read: a million in `make test`, in some seconds.
fn count() -> u32 {
    2000 * std::env::var("FANIN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64)
}

/// The header and field that an error names.
fn named(error: &WireError) -> (&'static str, &'static str) {
    match *error {
        WireError::Truncated { header, .. } => (header, "cut"),
        WireError::NoRoom { header, .. } => (header, "no room"),
        WireError::Field { header, field, .. } => (header, field),
        WireError::Checksum { header, .. } => (header, "checksum"),
    }
}

/// What a reader of frames can find wrong; broken frames must get as far as each of them.
const ERRORS: &[(&str, &str)] = &[
    ("AETH", "NACK code"),
    ("AETH", "kind"),
    ("BTH", "BECN"),
    ("BTH", "cut"),
    ("BTH", "opcode"),
    ("BTH", "pad count"),
    ("BTH", "version"),
    ("CNP", "cut"),
    ("Dart ACK", "parts"),
    ("Dart data", "cut"),
    ("Dart data", "length past the end of the packet"),
    ("Dart data", "list"),
    ("Dart data", "reserved bit of byte 0"),
    ("Dart data", "reserved bytes 10-11"),
    ("Ethernet", "cut"),
    ("Ethernet", "destination"),
    ("Ethernet", "type"),
    ("Ethernet FCS", "checksum"),
    ("Ethernet FCS", "cut"),
    ("Ethernet padding", "cut"),
    ("ICRC", "checksum"),
    ("ICRC", "cut"),
    ("IPv4", "checksum"),
    ("IPv4", "cut"),
    ("IPv4", "fragment"),
    ("IPv4", "header length in words"),
    ("IPv4", "protocol"),
    ("IPv4", "total length"),
    ("IPv4", "version"),
    ("PFC", "cut"),
    ("PFC", "opcode"),
    ("UDP", "cut"),
    ("UDP", "destination port"),
    ("UDP", "length"),
    ("payload", "cut"),
    ("payload", "padded length"),
    ("sender list", "length past the end of the packet"),
];

#[test]
fn broken_frames_are_refused_or_are_what_was_sent() {
    let seeds = frames::frames();
    let mut mutator = Mutator::new(1);
    let (mut found, mut read) = (BTreeSet::new(), [0u32; 4]);
    for _ in 0..count() {
        let input = mutator.input(&seeds);
        match guarded(|| frames::read(&input)) {
            Ok((outcomes, _)) => {
                for (read, outcome) in read.iter_mut().zip(outcomes) {
                    match outcome {
                        Ok(()) => *read += 1,
                        Err(error) => _ = found.insert(named(&error)),
                    }
                }
            }
            Err(what) => panic!("frame: {what}\ninput {}: {input:02x?}", name(&input)),
        }
    }
    let missed: Vec<_> = ERRORS.iter().filter(|error| !found.contains(error)).collect();
    assert!(missed.is_empty() || count() < 100_000, "no broken frame was so broken: {missed:?}");
    // Of those that are read as they are, most were broken behind their end.
    let [as_it_is, checksums, udp, lengths] = read.map(|read| f64::from(read) / f64::from(count()));
    println!("read: {as_it_is:.3}, checksums {checksums:.3}, UDP {udp:.3}, lengths {lengths:.3}; {found:?}");
    assert!(as_it_is > 0.005 && checksums > 0.1 && udp > checksums && lengths > 0.1, "{read:?}");
}

#[test]
fn each_packet_is_the_same_bytes_again() {
    for (packet, frame) in frames::packets().into_iter().zip(frames::frames()) {
        assert_eq!(Packet::decode_frame(&frame), Ok(packet));
        let mut again = vec![0xEE; frame.len()];
        assert_eq!(packet.encode(&mut again), Ok(frame.len()));
        assert_eq!(again, frame);
        for repair in Repair::ALL.into_iter().filter(|repair| *repair != Repair::Lengths || frame.len() > 64) {
            repair.apply(&mut again);
            assert_eq!(again, frame, "nothing is to be corrected: {repair:?}");
        }
        let more = [&frame[..], &[0]].concat();
        assert!(matches!(Packet::decode(&more), Ok((same, [0])) if same == packet));
        let refused = Packet::decode_frame(&more).unwrap_err();
        assert_eq!(refused.to_string(), "frame: number of bytes after the FCS is 1 (0x1); it must be 0");
    }
}

#[test]
fn nothing_is_allocated_for_a_frame() {
    for (packet, frame) in frames::packets().into_iter().zip(frames::frames()) {
        let mut buffer = vec![0; frame.len()];
        let (read, bytes) = memory::peak(|| {
            packet.encode(black_box(&mut buffer)).is_ok() && Packet::decode_frame(black_box(&buffer)).is_ok()
        });
        assert_eq!((read, bytes), (true, 0), "{packet:?}");
    }
}

/// What may change on the path (Annex A17.3.3): DSCP and ECN, time to live, both checksums, FECN and BECN.
#[test]
fn the_icrc_covers_every_bit_that_may_not_change() {
    let may_change = [IP + 1, IP + 8, IP + 10, IP + 11, UDP + 6, UDP + 7, BTH + 4];
    for frame in frames::frames().into_iter().filter(|frame| frame[12..IP] == [8, 0]) {
        let total = u16::from_be_bytes([frame[IP + 2], frame[IP + 3]]) as usize;
        let icrc = frame[IP + total - 4..IP + total].to_vec();
        for bit in 8 * IP..8 * (IP + total) {
            let (byte, mut changed) = (bit / 8, frame.clone());
            changed[byte] ^= 1 << (bit % 8);
            // As a switch would send it: IPv4 checksum and FCS are right, the ICRC is left as it is.
            let kept = changed[IP + total - 4..IP + total].to_vec();
            Repair::Checksums.apply(&mut changed);
            if let Some(place) = changed.get_mut(IP + total - 4..IP + total) {
                place.copy_from_slice(&kept);
            }
            let end = changed.len() - 4;
            let trailer = fcs(&changed[..end]).to_le_bytes();
            changed[end..].copy_from_slice(&trailer);
            let result = Packet::decode_frame(&changed);
            let cnp_without_becn = frame[BTH] == 0x81 && bit == 8 * (BTH + 4) + 6;
            if may_change.contains(&byte) && !cnp_without_becn {
                assert!(result.is_ok(), "bit {bit}: {result:?}");
                assert_eq!(changed[IP + total - 4..IP + total], icrc);
            } else {
                let error = result.expect_err("a changed bit");
                let payload = byte >= BTH + 12 + 28;
                if payload {
                    assert!(matches!(error, WireError::Checksum { header: "ICRC", .. }), "bit {bit}: {error}");
                    assert!(error.to_string().starts_with("ICRC: the checksum is "), "{error}");
                }
            }
        }
    }
}

#[test]
fn lengths_that_lie_are_refused() {
    for frame in frames::frames().into_iter().filter(|frame| frame[12..IP] == [8, 0]) {
        let right = u16::from_be_bytes([frame[IP + 2], frame[IP + 3]]);
        let mut changed = frame.clone();
        for length in 0..=u16::MAX {
            changed.copy_from_slice(&frame);
            changed[IP + 2..IP + 4].copy_from_slice(&length.to_be_bytes());
            Repair::Udp.apply(&mut changed);
            assert_eq!(Packet::decode_frame(&changed).is_ok(), length == right, "{length} B for {right}");
            // UDP's length alone.
            changed.copy_from_slice(&frame);
            changed[UDP + 4..UDP + 6].copy_from_slice(&length.to_be_bytes());
            let udp = Packet::decode_frame(&changed).map(|_| ()).map_err(|error| named(&error));
            let expected = if length == right - 20 { Ok(()) } else { Err(("UDP", "length")) };
            assert_eq!(udp, expected, "{length} B of UDP for {right} of IPv4");
        }
    }
}

#[test]
fn other_versions_options_protocols_and_opcodes_are_refused() {
    for frame in frames::frames().into_iter().filter(|frame| frame[12..IP] == [8, 0]) {
        let with = |at: usize, value: u8| {
            let mut changed = frame.clone();
            changed[at] = value;
            Repair::Checksums.apply(&mut changed);
            Packet::decode_frame(&changed).map(|packet| packet.wire_len()).map_err(|error| named(&error))
        };
        for value in 0..=u8::MAX {
            let version =
                if value >> 4 == 4 { Err(("IPv4", "header length in words")) } else { Err(("IPv4", "version")) };
            assert_eq!(with(IP, value), if value == 0x45 { Ok(frame.len()) } else { version });
            let protocol = if value == 17 { Ok(frame.len()) } else { Err(("IPv4", "protocol")) };
            assert_eq!(with(IP + 9, value), protocol);
            if value & 15 != 0 {
                assert_eq!(with(BTH + 1, frame[BTH + 1] & 0xF0 | value & 15), Err(("BTH", "version")));
            }
            if !matches!(value, 0 | 1 | 2 | 4 | 0x11 | 0x81 | 0xC0 | 0xD1) {
                assert_eq!(with(BTH, value), Err(("BTH", "opcode")));
            }
        }
    }
}
