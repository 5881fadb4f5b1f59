//! The micro cases, to the nanosecond and the byte: one sender of 1 MB, two of 5 MB and sixteen of 500 KB under all
//! control laws, against what that simulator made of them.

mod common;

use common::*;

const KNOWN: &str = include_str!("data/micro.txt");

fn cases(scheme: &str) {
    let mut seen = 0;
    for line in KNOWN.lines().filter(|line| !line.starts_with('#')) {
        let [case, queue, fct] = line.split(" | ").collect::<Vec<_>>()[..] else { panic!("{line}") };
        let (case, its) = case.split_once(' ').unwrap();
        if its != scheme {
            continue;
        }
        seen += 1;
        let (senders_of, bytes) = match case {
            "1to1" => (1, 1_000_000),
            "2to1" => (2, 5_000_000),
            _ => (16, 500_000),
        };
        let config = micro(scheme);
        let settings = fanin_ns3::law::settings(&config).unwrap();
        let (finished, lengths) = run(config, senders(senders_of, bytes), &settings);
        let finished: Vec<String> = finished.iter().map(|(src, took)| format!("{src}:{took}")).collect();
        assert_eq!(finished.join(" "), fct, "{case} {scheme}");
        let most = lengths.iter().map(|(_, bytes)| *bytes).max().unwrap();
        let text: String = lengths.iter().map(|(at, bytes)| format!("{at},{bytes}\n")).collect();
        let hash =
            text.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |h, b| (h ^ b as u64).wrapping_mul(0x0000_0100_0000_01B3));
        assert_eq!(format!("{} {most} {hash:016x}", lengths.len()), queue, "{case} {scheme}");
    }
    assert_eq!(seen, 3);
}

#[test]
fn hpcc() {
    cases("hp");
}

#[test]
fn dcqcn_with_and_without_window() {
    cases("dcqcn");
    cases("dcqcn_vwin");
}

#[test]
fn timely() {
    cases("timely");
}

#[test]
fn dctcp() {
    cases("dctcp");
}

/// Queue lengths, sampled every 100 ns and written out at 2.1 s, against what packets that join and leave say. Where a
/// packet moves in the very nanosecond of a sample, either may come first.
#[test]
fn queue_lengths_are_those_that_packets_make() {
    use fanin_ns3::results::Seen;
    let config = fanin_formats::hpcc::Config {
        stop: 2.15,
        qlen_start: 2_000_000_000,
        qlen_end: 2_120_000_000,
        ..micro("dcqcn_vwin")
    };
    let settings = fanin_ns3::law::settings(&config).unwrap();
    let mut network = fanin_ns3::Network::new(config, &star(), senders(16, 500_000), &[17], &settings);
    network.run_until(u64::MAX);
    let happened = &network.happened;
    let (first, second): (Vec<_>, Vec<_>) = happened.lengths.iter().partition(|l| l.at == 2 * G);
    assert_eq!((first.len(), second.len()), (17, 17), "at 2.0 s and at 2.1 s, every device of the one switch");
    assert!(first.iter().all(|l| l.counts == [1]) && second.iter().all(|l| l.at == 2_100_000_000));
    let counts = &second[0].counts;
    assert_eq!(counts.iter().map(|c| u64::from(*c)).sum::<u64>(), 1_000_001);

    let moves: Vec<(u64, u64)> = (happened.records.iter())
        .filter(|r| r.device == 1 && r.queue == 3 && matches!(r.seen, Seen::Enqueued | Seen::Dequeued))
        .map(|r| (r.at, if r.seen == Seen::Enqueued { r.queued + r.packet.size as u64 } else { r.queued }))
        .collect();
    let mut expected = vec![0i64; counts.len()];
    let (mut at, mut length, mut ties) = (0, 0, 0);
    for sample in (0..=1_000_000u64).map(|k| 2 * G + 100 * k) {
        while let Some((_, after)) = moves.get(at).filter(|(time, _)| *time < sample) {
            (at, length) = (at + 1, *after);
        }
        ties += moves.get(at).is_some_and(|(time, _)| *time == sample) as i64;
        expected[(length / 1000) as usize] += 1;
    }
    let off: i64 = counts.iter().zip(&expected).map(|(a, b)| (i64::from(*a) - b).abs()).sum();
    println!("{ties} ties, {off} off, longest {} KB", counts.len() - 1);
    // Few against the 6,600 samples in which the queue moved.
    assert!(off <= 2 * ties && ties < 200 && counts.len() > 800, "{off} off, {ties} ties, {} KB", counts.len());
}

/// With `L2_BACK_TO_ZERO` a sender takes acknowledgements down to whole chunks, but its control law sees the number
/// that the ACK itself carries: with one chunk for all, nothing is acknowledged until the end, and HPCC still acts.
#[test]
fn the_law_sees_an_acks_own_number() {
    let config = fanin_formats::hpcc::Config {
        fast_react: false,
        l2_back_to_zero: true,
        l2_chunk_size: 1_000_000,
        ..micro("hp")
    };
    let settings = fanin_ns3::law::settings(&config).unwrap();
    let mut network = fanin_ns3::Network::new(config, &star(), senders(2, 1_000_000), &[], &settings);
    network.run_until(u64::MAX);
    assert_eq!(network.opened(), (2, 0), "its window is full of what was never acknowledged");
    assert!(network.actions().get(fanin_cc::Action::Cut) > 0);
}
