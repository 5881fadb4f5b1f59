//! The micro cases and the exact vectors against the results of that simulator, where a folder with them is named by
//! `FANIN_GOLDEN`.

mod common;

use common::*;
use std::fs;
use std::path::PathBuf;

fn golden() -> Option<PathBuf> {
    let folder = std::env::var_os("FANIN_GOLDEN").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("SKIPPED: FANIN_GOLDEN names no folder with that simulator's results");
    }
    folder
}

#[test]
fn micro_cases() {
    let Some(folder) = golden() else { return };
    let mut differ = Vec::new();
    for scheme in ["dctcp", "timely", "hp", "dcqcn_vwin", "dcqcn"] {
        for (case, count, bytes) in [("1to1", 1, 1_000_000), ("2to1", 2, 5_000_000), ("16to1", 16, 500_000)] {
            let tag = format!("micro_{case}_{scheme}");
            let config = micro(scheme);
            let settings = fanin_ns3::law::settings(&config).unwrap();
            let (finished, queue) = run(config, senders(count, bytes), &settings);
            let fct = fs::read_to_string(folder.join(format!("micro/{tag}.fct"))).unwrap();
            let expected: Vec<(u32, u64)> = fct
                .lines()
                .map(|line| {
                    let words: Vec<&str> = line.split_whitespace().collect();
                    ((u32::from_str_radix(words[0], 16).unwrap() >> 8) & 0xFFFF, words[6].parse().unwrap())
                })
                .collect();
            let seen = fs::read_to_string(folder.join(format!("micro/{tag}.queue.csv"))).unwrap();
            let seen: Vec<(u64, u64)> = seen
                .lines()
                .skip(1)
                .map(|line| {
                    let (at, bytes) = line.split_once(',').unwrap();
                    (at.parse().unwrap(), bytes.parse().unwrap())
                })
                .collect();
            let first = seen.iter().zip(&queue).position(|(a, b)| a != b);
            println!(
                "{tag}: fct equal {}, queue {} of {}, first difference {first:?}",
                finished == expected,
                queue.len(),
                seen.len()
            );
            if finished != expected || seen != queue {
                if let Some(at) = first {
                    let end = (at + 4).min(seen.len());
                    println!(
                        "   theirs {:?}\n   ours   {:?}",
                        &seen[at.saturating_sub(1)..end],
                        &queue[at.saturating_sub(1)..end]
                    );
                }
                println!("   {:?}\n   {:?}", &expected[..expected.len().min(4)], &finished[..finished.len().min(4)]);
                differ.push(tag);
            }
        }
    }
    assert!(differ.is_empty(), "{differ:?}");
}
