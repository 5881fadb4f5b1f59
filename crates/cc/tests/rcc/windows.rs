//! Algorithm 1: the assignment of windows.

use super::world::*;

fn windows(sizes: &[u64], max: u64, by_priority: bool, follow: Follow) -> Vec<u64> {
    let mut claims: Vec<Claim> = sizes.iter().map(|size| Claim::new(*size)).collect();
    assign(&mut claims, max, by_priority, follow);
    claims.iter().map(|claim| claim.window).collect()
}

#[test]
fn windows_are_proportional_to_priority_and_the_rest_goes_out_from_the_lowest() {
    // Priorities 1, 1/2, 1/4 of 7/4: 22.8, 11.4 and 5.7 of 40, and two are left.
    assert_eq!(windows(&[100, 200, 400], 40, true, Follow::Paper), [22, 12, 6]);
    assert_eq!(windows(&[100, 200, 400], 40, true, Follow::Code), [23, 12, 5], "the code starts at the highest");
}

#[test]
fn no_window_is_below_one_even_if_the_sum_exceeds_the_queue() {
    assert_eq!(windows(&[50; 100], 40, true, Follow::Paper), [1; 100]);
    assert_eq!(windows(&[50; 100], 40, false, Follow::Paper), [1; 100]);
}

#[test]
fn no_window_exceeds_its_flow_and_what_that_leaves_is_used() {
    // 39 of 40 for the short flow, which needs 3.
    assert_eq!(windows(&[3, 1000], 40, true, Follow::Paper), [3, 37]);
    // Line 12 lets a flow be one segment short of its size.
    assert_eq!(windows(&[2, 3, 4], 8, true, Follow::Paper), [2, 2, 3]);
    assert_eq!(windows(&[2, 3, 4], 9, true, Follow::Code), [2, 3, 4]);
    // All flows covered: the loop ends.
    assert_eq!(windows(&[3, 5], 40, true, Follow::Paper), [3, 5]);
}

#[test]
fn without_priority_windows_are_equal_and_the_rest_is_left() {
    assert_eq!(windows(&[7, 70, 700], 40, false, Follow::Paper), [13, 13, 13]);
    assert_eq!(windows(&[70, 700, 7000], 40, false, Follow::Code), [14, 13, 13], "the code deals it out");
    assert_eq!(windows(&[7, 70, 700], 40, false, Follow::Code), [7, 17, 16], "and clips to the size");
}

#[test]
fn a_flow_of_unknown_size_has_the_lowest_priority() {
    assert_eq!(windows(&[10, Claim::UNKNOWN], 40, true, Follow::Paper), [10, 30]);
    assert_eq!(windows(&[1000, Claim::UNKNOWN], 40, true, Follow::Paper), [40, 1]);
    assert_eq!(windows(&[Claim::UNKNOWN; 3], 40, true, Follow::Paper), [13; 3], "no size at all: no priorities");
}

#[test]
fn windows_are_assigned_at_syn_and_fin_and_only_then() {
    let mut w = World::new(Rcc::preset("rcc"));
    let long = w.open(Some(400));
    assert_eq!(w.ceiling(long), 40);
    let short = w.open(Some(100));
    // 4/5 and 1/5 of 40.
    assert_eq!((w.ceiling(long), w.ceiling(short)), (8, 32));
    w.poll();
    (0..20).for_each(|_| {
        w.data(short);
    });
    assert_eq!((w.ceiling(long), w.ceiling(short)), (8, 32));
    w.fin(short);
    assert_eq!(w.ceiling(long), 40);
}

#[test]
fn priority_by_what_remains_is_that_at_the_last_syn_or_fin() {
    let mut w = World::new(with("rcc", |p| p.priority = Priority::Remaining));
    let flow = w.open(Some(400));
    w.poll();
    (0..300).for_each(|_| {
        w.data(flow);
    });
    let other = w.open(Some(100));
    assert_eq!((w.ceiling(flow), w.ceiling(other)), (20, 20));
}
