use super::tree::parent;
use super::*;
use std::collections::BTreeSet;

fn planned(operation: Operation, name: &str, ranks: u32, bytes: u64) -> Result<Plan, String> {
    plan(operation, ranks, bytes, &Method { algorithm: Some(name), server: Some(4), ..Method::default() })
}

/// Bytes of all messages by section 5: the optimum of each operation, and what trees and whole vectors take.
fn total(operation: Operation, name: &str, n: u64, bytes: u64) -> u64 {
    match (operation, name) {
        // Each message of the steps of a power of two is the whole vector, and folding takes two more for each other.
        (Operation::AllReduce, "recursive-doubling") => {
            let power = 1 << n.ilog2();
            (power * u64::from(n.ilog2()) + 2 * (n - power)) * bytes
        }
        (Operation::AllReduce, "halving-doubling") => {
            let power = 1 << n.ilog2();
            2 * (power - 1) * bytes + 2 * (n - power) * bytes
        }
        (Operation::AllReduce, _) => 2 * (n - 1) * bytes,
        _ => (n - 1) * bytes,
    }
}

#[test]
fn no_byte_is_lost_or_sent_twice_for_any_number_of_ranks_and_bytes() {
    for algorithm in ALGORITHMS {
        for ranks in 2..20u32 {
            for bytes in [64, 1000, 4097, 1 << 20, (1 << 20) + 13] {
                let plan = match planned(algorithm.operation, algorithm.name, ranks, bytes) {
                    Ok(plan) => plan,
                    Err(why) => {
                        let powers = ["halving", "recursive-doubling"].contains(&algorithm.name);
                        let expected = powers && !ranks.is_power_of_two()
                            || algorithm.name == "hierarchical" && (ranks % 4 != 0 || ranks == 4);
                        assert!(expected, "{} {ranks} {bytes}: {why}", algorithm.name);
                        continue;
                    }
                };
                let sent: u64 = plan.transfers.iter().map(|transfer| transfer.bytes).sum();
                let expected = total(algorithm.operation, algorithm.name, ranks.into(), bytes);
                // In an all-to-all each place keeps its own block, whose size may be a byte more or less.
                let slack = if algorithm.operation == Operation::AllToAll { u64::from(ranks) } else { 0 };
                assert!(sent.abs_diff(expected) <= slack, "{} {ranks} {bytes}: {sent} {expected}", algorithm.name);
                check_order(&plan, ranks);
            }
        }
    }
}

/// Each message waits for messages that come before it and arrive where it leaves, and no place is left out.
fn check_order(plan: &Plan, ranks: u32) {
    let mut places = BTreeSet::new();
    for (number, transfer) in plan.transfers.iter().enumerate() {
        assert!(transfer.from != transfer.to && transfer.from < ranks && transfer.to < ranks);
        for after in &transfer.after {
            assert!((*after as usize) < number && plan.transfers[*after as usize].to == transfer.from);
        }
        places.extend([transfer.from, transfer.to]);
    }
    assert_eq!(places.len() as u32, ranks);
}

/// What each place knows of each block of an all-reduce: which places' parts are in its sum. Followed by messages.
#[test]
fn after_an_all_reduce_each_place_has_heard_of_each_other() {
    for algorithm in ALGORITHMS.iter().filter(|algorithm| algorithm.operation == Operation::AllReduce) {
        for ranks in [2, 3, 5, 8, 12, 16] {
            for chunk in [None, Some(100)] {
                let method = Method { algorithm: Some(algorithm.name), chunk, server: Some(4), channels: 2 };
                let Ok(plan) = plan(Operation::AllReduce, ranks, 10_000, &method) else { continue };
                let mut knows: Vec<u64> = (0..ranks).map(|place| 1 << place).collect();
                plan.transfers.iter().for_each(|t| knows[t.to as usize] |= knows[t.from as usize]);
                assert!(knows.iter().all(|known| *known == (1 << ranks) - 1), "{} {ranks}", algorithm.name);
                let largest = plan.transfers.iter().map(|t| t.bytes).max();
                let whole = ["recursive-doubling", "tree", "double-tree"].contains(&algorithm.name);
                let folds = ["halving-doubling", "hierarchical"].contains(&algorithm.name);
                let most = chunk.map_or(10_000, |chunk| if folds { chunk * u64::from(ranks) } else { chunk });
                assert!(largest <= Some(most) || whole && chunk.is_none(), "{} {ranks} {largest:?}", algorithm.name);
            }
        }
    }
}

/// Evaluated for NCCL's `ncclGetBtree` by hand of its comment: the tree of 14 ranks.
#[test]
fn the_tree_is_the_one_of_nccl() {
    let parents: Vec<Option<u32>> = (0..14).map(|place| parent(place, 14)).collect();
    let expected = [8, 2, 4, 2, 8, 6, 4, 6, 0, 10, 12, 10, 8, 12].map(Some);
    assert_eq!(parents[0], None);
    assert_eq!(parents[1..], expected[1..]);
    assert_eq!([parent(1, 2), parent(2, 3), parent(4, 5), parent(2, 5)], [Some(0), Some(0), Some(0), Some(4)]);
}

#[test]
fn channels_rotate_the_ranks_of_a_server() {
    let method = Method { channels: 2, server: Some(2), ..Method::default() };
    let plan = plan(Operation::AllGather, 4, 800, &method).unwrap();
    let first_turn = |from: usize| plan.transfers[from..from + 4].iter().map(|t| (t.from, t.to)).collect::<Vec<_>>();
    assert_eq!(first_turn(0), [(0, 1), (1, 2), (2, 3), (3, 0)]);
    assert_eq!(first_turn(12), [(1, 0), (0, 3), (3, 2), (2, 1)]);
}

#[test]
fn errors_say_what_would_be_right() {
    let wrong = |operation, ranks, bytes, name| planned(operation, name, ranks, bytes).unwrap_err();
    let all_reduce = Operation::AllReduce;
    assert!(wrong(all_reduce, 8, 100, "star").contains("it has ring, halving-doubling, recursive-doubling, tree"));
    assert!(
        wrong(Operation::AllGather, 6, 100, "recursive-doubling").contains("a power of two, and there are 6 ranks")
    );
    assert!(wrong(all_reduce, 6, 100, "hierarchical").contains("a divisor of the 6 ranks"));
    assert!(wrong(all_reduce, 8, 7, "ring").contains("7 B are too few for 8 ranks; each message has at least 1 B"));
    assert!(wrong(Operation::Barrier, 8, 7, "ring").contains("a collective barrier, which has no algorithm"));
}
