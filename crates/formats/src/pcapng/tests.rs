use super::*;
use proptest::prelude::*;

fn cases() -> ProptestConfig {
    let cases = std::env::var("FANIN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(100);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// A capture of two interfaces and packets of 1 to `count` bytes, and whether each was kept.
fn capture(most: u64, count: u8) -> (Vec<u8>, Vec<bool>) {
    let mut writer = Writer::new(Vec::new(), most).unwrap();
    assert_eq!(writer.interface("h12>tor3", Rate::from_gbps(100), 128).unwrap(), 0);
    assert_eq!(writer.interface("tor3>h12", Rate::from_gbps(100), 128).unwrap(), 1);
    let kept = (1..=count).map(|n| {
        let bytes = vec![n; n as usize];
        writer.packet(u32::from(n) % 2, Time::from_ps((1 << 40) + u64::from(n)), &bytes, 1000 + u32::from(n)).unwrap()
    });
    let kept = kept.collect();
    (writer.finish(Time::from_ms(2)).unwrap(), kept)
}

fn blocks(bytes: &[u8]) -> Vec<Block<'_>> {
    Reader::new("x.pcapng", bytes).map(|block| block.unwrap()).collect()
}

#[test]
fn the_bytes_are_those_of_the_format() {
    let mut writer = Writer::new(Vec::new(), 1 << 20).unwrap();
    let head = writer.written() as usize;
    writer.interface("a>b", Rate::from_bps(5), 96).unwrap();
    writer.packet(0, Time::from_ps(0x0102_0304_0506_0708), &[0xAA, 0xBB, 0xCC], 64).unwrap();
    let bytes = writer.finish(Time::ZERO).unwrap();
    assert_eq!(bytes[..4], [0x0A, 0x0D, 0x0D, 0x0A]);
    assert_eq!(bytes[8..24], [0x4D, 0x3C, 0x2B, 0x1A, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
    #[rustfmt::skip]
    let interface = [
        1, 0, 0, 0, 60, 0, 0, 0, 1, 0, 0, 0, 96, 0, 0, 0,
        2, 0, 3, 0, b'a', b'>', b'b', 0,
        8, 0, 8, 0, 5, 0, 0, 0, 0, 0, 0, 0,
        9, 0, 1, 0, 12, 0, 0, 0,
        13, 0, 1, 0, 4, 0, 0, 0,
        0, 0, 0, 0, 60, 0, 0, 0,
    ];
    assert_eq!(bytes[head..head + 60], interface);
    #[rustfmt::skip]
    let packet = [
        6, 0, 0, 0, 36, 0, 0, 0, 0, 0, 0, 0, 4, 3, 2, 1, 8, 7, 6, 5,
        3, 0, 0, 0, 64, 0, 0, 0, 0xAA, 0xBB, 0xCC, 0, 36, 0, 0, 0,
    ];
    assert_eq!(bytes[head + 60..head + 96], packet);
}

#[test]
fn what_is_written_is_read() {
    let (bytes, kept) = capture(1 << 20, 9);
    assert!(kept.iter().all(|kept| *kept));
    let read = blocks(&bytes);
    assert_eq!(read[0], Block::Section);
    assert_eq!(read[1], Block::Interface { name: Some("h12>tor3"), snaplen: 128, link: 1 });
    let time = Time::from_ps((1 << 40) + 7);
    assert_eq!(read[9], Block::Packet { interface: 1, time, bytes: &[7; 7], original: 1007 });
    let none = Block::Statistics { interface: 1, seen: Some(5), left_out: Some(0), comment: None };
    assert_eq!((read.len(), read.last()), (14, Some(&none)));
}

#[test]
fn the_bound_holds_and_what_is_left_out_is_counted() {
    let (whole, _) = capture(1 << 20, 200);
    for most in (1000..whole.len() as u64).step_by(97) {
        let (bytes, kept) = capture(most, 200);
        assert!(bytes.len() as u64 <= most, "{} B of {most}", bytes.len());
        // All up to one, none after it, so that the capture has no hole.
        let first = kept.iter().position(|kept| !kept).unwrap_or(200);
        assert!(kept[first..].iter().all(|kept| !kept));
        let read = blocks(&bytes);
        assert_eq!(read.iter().filter(|block| matches!(block, Block::Packet { .. })).count(), first);
        let left_out: u64 =
            read.iter().map(|b| if let Block::Statistics { left_out, .. } = b { left_out.unwrap() } else { 0 }).sum();
        assert_eq!(left_out, 200 - first as u64);
        if let Some(Block::Statistics { comment, .. }) = read.last() {
            let at = (1u64 << 40) + first as u64 + 1;
            let told = format!("of 100 packets are left out: the bound of {most} B was reached at {at} ps");
            assert_eq!(comment.is_some_and(|comment| comment.ends_with(&told)), first < 199, "{comment:?}");
        }
    }
}

#[test]
fn a_file_cut_behind_any_block_is_whole() {
    let (bytes, _) = capture(1 << 20, 5);
    let all = blocks(&bytes);
    let mut ends = vec![0];
    while let Some(len) = bytes.get(ends[ends.len() - 1] + 4..).and_then(|rest| rest.first_chunk()) {
        ends.push(ends[ends.len() - 1] + u32::from_le_bytes(*len) as usize);
    }
    assert_eq!(ends.len(), all.len() + 1);
    for (count, end) in ends.iter().enumerate() {
        assert_eq!(blocks(&bytes[..*end]), all[..count]);
        // One byte less is an error that says so, behind the blocks before it.
        if count > 0 {
            let mut reader = Reader::new("x.pcapng", &bytes[..end - 1]);
            assert_eq!(reader.by_ref().take_while(Result::is_ok).count(), count - 1);
            let error = Reader::new("x.pcapng", &bytes[..end - 1]).last().unwrap().unwrap_err();
            assert!(error.to_string().contains("the file ends inside a block"), "{error}");
        }
    }
}

#[test]
fn other_byte_orders_units_and_blocks_are_read() {
    #[rustfmt::skip]
    let bytes = [
        0x0A, 0x0D, 0x0D, 0x0A, 0, 0, 0, 28, 0x1A, 0x2B, 0x3C, 0x4D, 0, 1, 0, 0,
        255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 28,
        // Of an unknown type.
        0, 0, 0x0B, 0xAD, 0, 0, 0, 12, 0, 0, 0, 12,
        // Microseconds, for it does not say otherwise.
        0, 0, 0, 1, 0, 0, 0, 20, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20,
        0, 0, 0, 6, 0, 0, 0, 36, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 60, 9, 0, 0, 0, 0, 0, 0, 36,
    ];
    let packet = Block::Packet { interface: 0, time: Time::from_us(3), bytes: &[9], original: 60 };
    assert_eq!(blocks(&bytes), [Block::Section, Block::Interface { name: None, snaplen: 0, link: 1 }, packet]);
}

#[test]
fn what_is_no_capture_is_told() {
    let tell = |bytes: &[u8]| Reader::new("x.pcapng", bytes).last().unwrap().unwrap_err().to_string();
    assert!(tell(b"a,b,c\n1,2,3\n").contains("x.pcapng: byte 0: this is not a pcapng file"));
    assert!(tell(&[0x0A, 0x0D, 0x0D, 0x0A, 0, 0, 0, 0, 1, 2, 3, 4]).contains("no byte order"));
    let (mut bytes, _) = capture(1 << 20, 1);
    let end = bytes.len();
    bytes[end - 4] ^= 4;
    assert!(tell(&bytes).contains("another length at its end"));
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        fuzz(&bytes);
    }

    #[test]
    fn any_change_is_survived(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let (mut bytes, _) = capture(1 << 20, 9);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        prop_assert!(fuzz(&bytes[..cut.index(bytes.len() + 1)]) <= 14);
    }
}

#[test]
fn a_capture_is_read_from_a_stream_as_from_memory() {
    let mut writer = Writer::new(Vec::new(), 1 << 20).unwrap();
    let port = writer.interface("a>b", Rate::from_gbps(10), 64).unwrap();
    for time in 0..3 {
        writer.packet(port, Time::from_ns(time), &[7; 61], 100).unwrap();
    }
    let bytes = writer.finish(Time::from_us(1)).unwrap();
    let text = |block: Block<'_>| format!("{block:?}");
    let whole: Vec<String> = Reader::new("x", &bytes).map(|block| text(block.unwrap())).collect();
    let mut parts = Vec::new();
    read("x", &bytes[..], |block| {
        parts.push(text(block));
        true
    })
    .unwrap();
    assert_eq!(parts, whole);
    // It ends where the reader wants to, and says where a file breaks off.
    let mut seen = 0;
    let mut stop = |_: Block<'_>| {
        seen += 1;
        seen < 3
    };
    assert_eq!(read("x", &bytes[..], &mut stop), Ok(()));
    assert_eq!(seen, 3);
    let cut = read("x", &bytes[..bytes.len() - 5], |_| true).unwrap_err();
    assert!(cut.what.contains("ends inside a block"), "{cut}");
    let none = read("x", &b"a text"[..], |_| true).unwrap_err();
    assert!(none.what.contains("not a pcapng file"), "{none}");
}
