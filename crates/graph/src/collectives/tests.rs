use super::*;
use std::collections::BTreeSet;

fn planned(operation: Operation, name: &str, ranks: u32, bytes: u64) -> Result<Plan, String> {
    plan(operation, ranks, bytes, &Method { algorithm: Some(name), server: Some(4), ..Method::default() })
}

#[test]
fn a_plan_without_bound_is_refused_before_it_is_made() {
    for (name, ranks, method) in [
        ("ring", 1 << 20, Method::default()),
        ("ring", 8, Method { chunk: Some(1), ..Method::default() }),
        ("tree", 8, Method { channels: u32::MAX, ..Method::default() }),
    ] {
        let method = Method { algorithm: Some(name), ..method };
        let why = plan(Operation::AllReduce, ranks, 1 << 40, &method).unwrap_err();
        assert!(why.starts_with(&format!("has too many messages: {ranks} ranks, ")), "{why}");
    }
    assert!(
        plan(Operation::AllToAll, 2000, 1 << 40, &Method { algorithm: Some("ring"), ..Method::default() }).is_err()
    );
    // A ring of 1,024 ranks in 8 channels has 16.8 million, and a tree of a million ranks two million.
    let of = |name, channels| Method { algorithm: Some(name), channels, ..Method::default() };
    assert_eq!(plan(Operation::AllReduce, 256, 1 << 30, &of("ring", 8)).unwrap().transfers.len(), 8 * 2 * 255 * 256);
    assert_eq!(plan(Operation::AllReduce, 1 << 20, 1 << 30, &of("tree", 1)).unwrap().transfers.len(), (2 << 20) - 2);
    for algorithm in ALGORITHMS {
        for ranks in [2u32, 4, 8, 16, 64] {
            if let Ok(plan) = planned(algorithm.operation, algorithm.name, ranks, 1 << 20) {
                let most = most_of_piece(algorithm, ranks.into());
                assert!(plan.transfers.len() as u64 <= most, "{} {ranks}", algorithm.name);
            }
        }
    }
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
        // What goes to the place s further passes s links.
        (Operation::AllToAll, "ring") => n * (n - 1) / 2 * bytes,
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
        for after in plan.after(number) {
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
                let name = Some(algorithm.name);
                let method = Method { algorithm: name, chunk, server: Some(4), channels: 2, ..Method::default() };
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

/// NCCL's `ncclGetDtree` (5067397), evaluated for 2 to 17 ranks: who is whose parent in both trees.
#[test]
fn the_double_tree_is_the_one_of_nccl() {
    let rows: Vec<&str> = include_str!("double_trees.csv").lines().skip(1).collect();
    assert_eq!(rows.len(), 16);
    for row in rows {
        let cells: Vec<&str> = row.split(',').collect();
        let ranks: u32 = cells[0].parse().unwrap();
        let plan = planned(Operation::AllReduce, "double-tree", ranks, 1000).unwrap();
        // Each tree is climbed, and then descended.
        let ways: Vec<&[Transfer]> = plan.transfers.chunks(ranks as usize - 1).collect();
        assert_eq!(ways.len(), 4);
        for (tree, parents) in cells[1..].iter().enumerate() {
            let mut found = vec!["-".to_string(); ranks as usize];
            ways[2 * tree].iter().for_each(|t| found[t.from as usize] = t.to.to_string());
            assert_eq!(found.join(" "), *parents, "{ranks}");
            ways[2 * tree + 1].iter().for_each(|t| assert_eq!(found[t.to as usize], t.from.to_string()));
        }
    }
}

#[test]
fn channels_rotate_the_ranks_of_a_server() {
    let method = Method { channels: 2, server: Some(2), ..Method::default() };
    let plan = plan(Operation::AllGather, 4, 800, &method).unwrap();
    let first_turn = |from: usize| plan.transfers[from..from + 4].iter().map(|t| (t.from, t.to)).collect::<Vec<_>>();
    assert_eq!(first_turn(0), [(0, 1), (1, 2), (2, 3), (3, 0)]);
    assert_eq!(first_turn(12), [(1, 0), (0, 3), (3, 2), (2, 1)]);
}

/// The messages of each place of a direct exchange, as receiver, bytes and the senders for which each waits.
fn sent(plan: &Plan, from: u32) -> Vec<(u32, u64, Vec<u32>)> {
    let senders = |of: usize| plan.after(of).iter().map(|after| plan.transfers[*after as usize].from).collect();
    let sent = plan.transfers.iter().enumerate().filter(|(_, t)| t.from == from);
    sent.map(|(number, t)| (t.to, t.bytes, senders(number))).collect()
}

#[test]
fn a_window_serves_so_many_peers_at_once() {
    let of = |operation, window| {
        plan(operation, 5, 50, &Method { algorithm: Some("direct"), window, ..Method::default() }).unwrap()
    };
    let exchange = of(Operation::AllToAll, Some(2));
    assert_eq!(sent(&exchange, 1), [(2, 10, vec![]), (3, 10, vec![]), (4, 10, vec![0]), (0, 10, vec![4])]);
    let reduce = of(Operation::AllReduce, Some(3));
    let (scatter, gather) = (&sent(&reduce, 1)[..4], &sent(&reduce, 1)[4..]);
    assert_eq!(scatter, [(2, 10, vec![]), (3, 10, vec![]), (4, 10, vec![]), (0, 10, vec![0])]);
    let all = vec![0, 4, 3, 2];
    assert_eq!(gather, [(2, 10, all.clone()), (3, 10, all.clone()), (4, 10, all), (0, 10, vec![0])]);
    // All at once, and one at a time.
    assert!((0..20).all(|number| of(Operation::AllToAll, None).after(number).is_empty()));
    let rotation = plan(Operation::AllToAll, 5, 50, &Method { algorithm: Some("rotation"), ..Method::default() });
    assert_eq!(rotation.unwrap(), of(Operation::AllToAll, Some(1)));
    let wrong = Method { window: Some(2), ..Method::default() };
    let wrong = plan(Operation::AllReduce, 5, 50, &wrong).unwrap_err();
    assert_eq!(wrong, "window goes with direct, and this is ring; leave it out");
}

#[test]
fn an_all_to_all_has_a_size_for_each_pair_and_sends_nothing_where_it_is_0() {
    let sizes = [9, 0, 5, 7, 0, 1, 0, 0, 3, 2, 9, 4, 8, 6, 0, 0];
    let sum = |from: usize, to: usize| if from == to { 0 } else { sizes[from * 4 + to] };
    for (algorithm, window) in [("direct", None), ("direct", Some(2)), ("rotation", None), ("ring", None)] {
        for (channels, chunk) in [(1, None), (2, None), (1, Some(2))] {
            let server = Some(2).filter(|_| algorithm != "ring");
            let method =
                Method { algorithm: Some(algorithm), channels, chunk, server, window, sizes: Some(&sizes), pxn: false };
            let plan = plan(Operation::AllToAll, 4, 13, &method).unwrap();
            check_order(&plan, 4);
            assert!(plan.transfers.iter().all(|transfer| transfer.bytes > 0));
            assert!(chunk.is_none_or(|chunk| plan.transfers.iter().all(|transfer| transfer.bytes <= chunk)));
            for from in 0..4 {
                let total: u64 = sent(&plan, from as u32).iter().map(|(_, bytes, _)| bytes).sum();
                let own: u64 = (0..4).map(|to| sum(from, to)).sum();
                // What passes through a place besides its own, where the messages go around.
                let passed = (1..4).flat_map(|hop| (hop + 1..4).map(move |far| (hop, far)));
                let passed: u64 = passed.map(|(hop, far)| sum((from + 4 - hop) % 4, (from + far - hop) % 4)).sum();
                assert_eq!(total, own + if algorithm == "ring" { passed } else { 0 }, "{algorithm} {from} {channels}");
            }
        }
    }
    let method = Method { algorithm: Some("rotation"), sizes: Some(&sizes), ..Method::default() };
    let plan = plan(Operation::AllToAll, 4, 13, &method).unwrap();
    // Round 1 brings place 2 nothing, so what it sends in round 2 goes at once.
    assert_eq!(sent(&plan, 2), [(3, 4, vec![]), (0, 3, vec![]), (1, 2, vec![0])]);
    assert_eq!(sent(&plan, 0), [(2, 5, vec![3]), (3, 7, vec![2])]);
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

#[test]
fn what_is_for_another_server_goes_on_the_rail_of_its_receiver() {
    for algorithm in ALGORITHMS.iter().filter(|algorithm| algorithm.operation != Operation::Broadcast) {
        for channels in [1, 2] {
            let method = Method { algorithm: Some(algorithm.name), server: Some(4), channels, ..Method::default() };
            let plain = plan(algorithm.operation, 16, 160_000, &method).unwrap();
            let relayed = plan(algorithm.operation, 16, 160_000, &Method { pxn: true, ..method }).unwrap();
            check_order(&relayed, 16);
            let same = |t: &&Transfer| t.from / 4 == t.to / 4 || t.from % 4 == t.to % 4;
            assert!(relayed.transfers.iter().all(|t| same(&t)), "{}", algorithm.name);
            let more = plain.transfers.iter().filter(|t| !same(t)).count();
            assert_eq!(relayed.transfers.len(), plain.transfers.len() + more, "{}", algorithm.name);
            // What leaves the servers is what left them before.
            let out =
                |plan: &Plan| plan.transfers.iter().filter(|t| t.from / 4 != t.to / 4).map(|t| t.bytes).sum::<u64>();
            assert_eq!(out(&relayed), out(&plain), "{}", algorithm.name);
        }
    }
    // 5 has something for 2: over 6, its neighbour on the rail of 2, which sends it on when it is there.
    let method = Method { server: Some(4), pxn: true, ..Method::default() };
    let all = plan(Operation::AllToAll, 8, 80, &method).unwrap();
    let number = all.transfers.iter().position(|t| (t.from, t.to) == (6, 2) && t.bytes == 10);
    assert!(number.is_some());
    let over = (0..all.transfers.len()).filter(|of| (all.transfers[*of].from, all.transfers[*of].to) == (6, 2));
    let waits: Vec<u32> =
        over.flat_map(|of| all.after(of).to_vec()).map(|before| all.transfers[before as usize].from).collect();
    assert_eq!(waits.len(), 3, "of the four messages from this server to 2, three come from neighbours");
    assert!([4, 5, 7].iter().all(|from| waits.contains(from)));
    let wrong = plan(Operation::AllToAll, 6, 80, &method).unwrap_err();
    assert_eq!(wrong, "pxn needs servers of equal size and at least 2, and there are 6 ranks in servers of 4");
}
