//! The choice of paths at senders: the walks, penalties and recycled paths of uet-htsim's rules.

use fanin_cc::paths::{Feedback, PathSelector, Paths, PathsKind, Selector, SelectorInfo, SelectorProgram, Sprayer};
use fanin_units::{MessageId, NodeId, Time};
use std::sync::Arc;

/// Paths with random numbers 3, 1003, 2003, ...: the first are 3 and 1003.
fn paths(kind: PathsKind, count: u32) -> (Paths, impl FnMut() -> u32) {
    let mut next = 3;
    let mut draw = move || {
        next += 1000;
        next - 1000
    };
    (Paths::new(kind, count, &mut draw), draw)
}

fn take(paths: &mut Paths, draw: &mut impl FnMut() -> u32, from: u32, count: u32) -> Vec<u16> {
    (from..from + count).map(|psn| paths.next_path(psn, 4, draw)).collect()
}

#[test]
fn a_walk_takes_all_paths_in_an_order_that_each_round_draws() {
    // r = 3, so no upper bits; x = 1003 mod 8 = 3, then 2003 & 7 = 3, 3003 & 7 = 3, 4003 & 7 = 3: each round the same.
    let (mut p, mut draw) = paths(PathsKind::Oblivious, 8);
    assert_eq!(take(&mut p, &mut draw, 0, 9), [3, 2, 1, 0, 7, 6, 5, 4, 3]);
    p.feedback(3, Feedback::Timeout, 0);
    assert_eq!(take(&mut p, &mut draw, 9, 2), [2, 1]);
    // The upper bits are those of r; here r = 3 and there are two paths: 2 stays.
    let (mut p, mut draw) = paths(PathsKind::Oblivious, 2);
    assert_eq!(take(&mut p, &mut draw, 0, 2), [3, 2]);
}

#[test]
fn a_path_with_a_penalty_is_skipped_as_often_as_packets_meet_it_first() {
    let (mut p, mut draw) = paths(PathsKind::Bitmap, 4);
    assert_eq!(take(&mut p, &mut draw, 0, 4), [3, 2, 1, 0]);
    p.feedback(3, Feedback::Marked, 0);
    p.feedback(2, Feedback::Trimmed, 0);
    // The packet at 3 takes one from it and skips 2 without taking anything from that.
    assert_eq!(take(&mut p, &mut draw, 4, 2), [1, 0]);
    assert_eq!(take(&mut p, &mut draw, 6, 3), [3, 1, 0]);
    // Of a round with penalties everywhere, each packet takes one of the first, goes round once and one further.
    for path in 0..4 {
        p.feedback(path, Feedback::Timeout, 0);
    }
    assert_eq!(take(&mut p, &mut draw, 9, 1), [3]);
}

#[test]
fn good_paths_come_back_first_in_first_out() {
    for (kind, without) in [(PathsKind::Mixed, [3, 2]), (PathsKind::RepsLegacy, [1, 2])] {
        let (mut p, mut draw) = paths(kind, 4);
        assert_eq!(take(&mut p, &mut draw, 0, 2), without, "{kind:?}");
        for (path, what) in [(9, Feedback::Good), (8, Feedback::Marked), (7, Feedback::Good)] {
            p.feedback(path, what, 0);
        }
        assert_eq!(take(&mut p, &mut draw, 4, 2), [9, 7], "{kind:?}");
        // Then the list is empty, and the walk or a draw decides.
        assert_ne!(take(&mut p, &mut draw, 6, 1), [9], "{kind:?}");
    }
}

#[test]
fn a_list_of_good_paths_has_an_end() {
    let (mut p, mut draw) = paths(PathsKind::RepsLegacy, 4);
    for path in 0..(1u32 << 16) + 5 {
        p.feedback((path % 60_000) as u16, Feedback::Good, 0);
    }
    assert_eq!(take(&mut p, &mut draw, 4, 1), [5]);
}

#[test]
fn a_timeout_freezes_the_ring_and_then_packets_explore() {
    let (mut p, mut draw) = paths(PathsKind::Reps, 1024);
    for path in [11, 12, 13] {
        p.feedback(path, Feedback::Good, 0);
    }
    assert_eq!(take(&mut p, &mut draw, 0, 2), [11, 12]);
    p.feedback(0, Feedback::Timeout, 0);
    // Frozen, the ring goes round, whether or not a path was used before.
    assert_eq!(take(&mut p, &mut draw, 2, 4), [11, 12, 13, 11]);
    // After 10 ms any feedback thaws it: 16 random paths follow, of draws 3, 1003, 2003, ...
    p.feedback(500, Feedback::Marked, 10_000_000_001);
    assert_eq!(take(&mut p, &mut draw, 6, 2), [3, 1003]);
    p.feedback(77, Feedback::Good, 10_000_000_002);
    assert!(!take(&mut p, &mut draw, 8, 14).contains(&77));
    assert_eq!(take(&mut p, &mut draw, 22, 1), [77]);
}

#[test]
fn a_selector_of_ones_own_is_asked_and_told() {
    struct Last(u16);
    impl PathSelector for Last {
        fn next_path(&mut self, now: Time, psn: u32, window: u64) -> u16 {
            self.0 + now.as_ps() as u16 + psn as u16 + window as u16
        }
        fn feedback(&mut self, _: Time, path: u16, _: Feedback) {
            self.0 = path;
        }
    }
    #[derive(Debug)]
    struct Lasts;
    impl SelectorProgram for Lasts {
        fn build(&self, sender: &SelectorInfo) -> Box<dyn PathSelector> {
            Box::new(Last(sender.paths as u16))
        }
    }
    let (flow, from, to) = (MessageId(1), NodeId(2), NodeId(3));
    let sender = SelectorInfo { now: Time::ZERO, flow, from, to, paths: 128, seed: 4 };
    let mut p = Sprayer::new(&Selector::Own(Arc::new(Lasts)), &sender);
    assert_eq!(p.next_path(Time::from_ps(4), 20, 3), 155);
    p.feedback(Time::ZERO, 100, Feedback::Good);
    assert_eq!(p.next_path(Time::from_ps(4), 20, 3), 127);
    for (id, _) in PathsKind::NAMES {
        assert!(PathsKind::named(id).is_some());
    }
    assert_eq!(PathsKind::named("reps_legacy"), None);
}
