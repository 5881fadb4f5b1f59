//! The micro cases, to the nanosecond and the byte: one sender of 1 MB, two of 5 MB and sixteen of 500 KB under all control
//! laws, against what that simulator made of them.

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
