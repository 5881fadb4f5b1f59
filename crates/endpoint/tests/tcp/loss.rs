//! Losses repaired by SACK (RFC 6675, RFC 3042). A round trip is 10 ms, the least timeout 200 ms.

use crate::wire::*;
use fanin_cc::Loss;
use fanin_units::Time;

fn open(window: Window) -> (Wire, Time) {
    let mut wire = Wire::open(&config());
    wire.window[CLIENT] = window;
    let start = wire.now;
    (wire, start)
}

#[test]
fn the_first_packet_is_lost_and_the_third_duplicate_brings_it_back() {
    let (mut wire, start) = open(Window::Constant(10 * MSS));
    wire.lose(|s| s.is(0, 0));
    wire.write(CLIENT, 10 * MSS);
    wire.run();
    assert_eq!(repairs(&wire, start), [(0, ms(10))]);
    let (found, timeouts) = wire.losses();
    assert_eq!(found, [Loss::new(0, 10_000)]);
    assert!(timeouts.is_empty());
    // Which duplicate it was: one SACKed segment each.
    let entry = wire.acked[CLIENT].iter().position(|(_, a)| a.loss.is_some()).unwrap();
    assert_eq!(entry, 2);
    assert!(wire.acked[CLIENT][entry].1.recovering);
    let last = wire.acked[CLIENT].last().unwrap().1;
    assert!(!last.recovering && last.newly_acked == 10_000);
    wire.assert_arrived(10_000);
}

#[test]
fn a_packet_in_the_middle_is_lost_and_nothing_else_is_sent_again() {
    let (mut wire, start) = open(Window::Constant(20 * MSS));
    wire.lose(|s| s.is(7000, 0));
    wire.write(CLIENT, 20 * MSS);
    wire.run();
    assert_eq!(repairs(&wire, start), [(7000, ms(10))]);
    assert!(wire.losses().1.is_empty());
    wire.assert_arrived(20_000);
}

#[test]
fn the_last_packet_is_lost_and_only_the_timer_can_tell() {
    let (mut wire, start) = open(Window::Constant(10 * MSS));
    wire.lose(|s| s.is(9000, 0));
    wire.write(CLIENT, 10 * MSS);
    wire.run();
    // The ninth segment is alone: its ACK waits 40 ms, and arrives 50 ms after the start. Then 200 ms.
    assert_eq!(repairs(&wire, start), [(9000, ms(250))]);
    let (found, timeouts) = wire.losses();
    assert!(found.is_empty());
    assert_eq!(timeouts, [Loss::new(9000, 10_000)]);
    wire.assert_arrived(10_000);
}

#[test]
fn two_losses_in_a_window_are_one_recovery_and_one_round_trip() {
    let (mut wire, start) = open(Window::Constant(20 * MSS));
    wire.lose(|s| s.is(3000, 0) || s.is(7000, 0));
    wire.write(CLIENT, 60 * MSS);
    wire.run();
    assert_eq!(repairs(&wire, start), [(3000, ms(10)), (7000, ms(10))]);
    assert_eq!((wire.losses().0.len(), wire.losses().1.len()), (1, 0));
    wire.assert_arrived(60_000);
}

#[test]
fn in_recovery_a_segment_leaves_for_each_that_left_once_pipe_is_below_the_window() {
    // 20 segments in flight, the first lost. Two duplicates send two by limited transmit, which the flight size leaves
    // out: the window becomes 10. The third: pipe = 22 - 1 lost - 3 arrived + 1 sent again = 19. Ten more duplicates
    // bring it to 9, so from the tenth on each of the 16 that follow sends one: 7.
    let (mut wire, start) = open(Window::Reno { cwnd: 20 * MSS, ssthresh: 20 * MSS });
    wire.lose(|s| s.is(0, 0));
    wire.write(CLIENT, 100 * MSS);
    wire.run_until(start + ms(10));
    let after: Vec<_> = wire.client_data().split_off(20);
    let expected: Vec<_> =
        [(20_000, false), (21_000, false), (0, true)].into_iter().chain((22..29).map(|n| (n * 1000, false))).collect();
    assert_eq!(after, expected);
    assert_eq!(wire.losses().0, [Loss { in_flight: 20_000, ..Loss::new(0, 22_000) }]);
    assert_eq!(wire.ends[CLIENT].in_flight(), 10 * MSS);
    wire.run();
    assert_eq!(repairs(&wire, start).len(), 1);
    wire.assert_arrived(100_000);
}

#[test]
fn the_repair_is_lost_too_and_after_the_timeout_nothing_that_arrived_is_sent_again() {
    // RFC 6675 section 5.1: the scoreboard outlives the timeout.
    let (mut wire, start) = open(Window::Constant(20 * MSS));
    wire.lose(|s| s.is(2000, 0) || s.is(2000, 1) || s.is(9000, 0) || s.is(9000, 1));
    wire.write(CLIENT, 20 * MSS);
    wire.run();
    assert_eq!(repairs(&wire, start), [(2000, ms(10)), (9000, ms(10)), (2000, ms(210)), (9000, ms(210))]);
    let (found, timeouts) = wire.losses();
    assert_eq!(found.len(), 1);
    assert_eq!(timeouts, [Loss::new(2000, 20_000)]);
    wire.assert_arrived(20_000);
}

#[test]
fn after_a_timeout_slow_start_counts_only_what_had_not_arrived() {
    // Window of one segment after the timeout: 5000 may leave as soon as 2000 is acknowledged, although the numbers
    // between them are more than a window.
    let (mut wire, start) = open(Window::Reno { cwnd: 10 * MSS, ssthresh: 10 * MSS });
    wire.lose(|s| s.is(2000, 0) || s.is(2000, 1) || s.is(5000, 0) || s.is(5000, 1) || s.is(8000, 0) || s.is(8000, 1));
    wire.write(CLIENT, 10 * MSS);
    wire.run();
    let late: Vec<_> = repairs(&wire, start).into_iter().filter(|r| r.1 > ms(100)).collect();
    assert_eq!(late, [(2000, ms(210)), (5000, ms(220)), (8000, ms(220))]);
    wire.assert_arrived(10_000);
}

#[test]
fn after_a_timeout_sacked_bytes_are_not_in_flight() {
    // Three segments of window carry the three that are missing, however far apart they are.
    let (mut wire, start) = open(Window::Constant(10 * MSS));
    wire.lose(|s| s.is(2000, 0) || s.is(2000, 1) || s.is(5000, 0) || s.is(5000, 1) || s.is(8000, 0) || s.is(8000, 1));
    wire.write(CLIENT, 10 * MSS);
    wire.run_until(start + ms(200));
    wire.window[CLIENT] = Window::Constant(3 * MSS);
    wire.run();
    let late: Vec<_> = repairs(&wire, start).into_iter().filter(|r| r.1 > ms(100)).collect();
    assert_eq!(late, [(2000, ms(210)), (5000, ms(210)), (8000, ms(210))]);
    wire.assert_arrived(10_000);
}

#[test]
fn after_a_timeout_no_recovery_begins_before_the_ack_reaches_what_was_sent() {
    // RFC 6675 section 5.1. Five segments are 250 ms late, their repairs lost: they report themselves after the
    // timeout, above a segment whose third copy is lost as well.
    let (mut wire, start) = open(Window::Reno { cwnd: 20 * MSS, ssthresh: 20 * MSS });
    wire.script(move |s| match s.segment.seq.saturating_sub(1) {
        2000 if s.from == CLIENT && s.nth < 3 => Fate::Drop,
        10_000..15_000 if s.from == CLIENT && s.nth == 0 => Fate::Late(ms(250)),
        10_000..15_000 if s.from == CLIENT => Fate::Drop,
        _ => Fate::Deliver,
    });
    wire.write(CLIENT, 20 * MSS);
    wire.run();
    let late = wire.acked[CLIENT].iter().filter(|(at, a)| *at == start + ms(260) && a.newly_acked == 0).count();
    assert_eq!(late, 5, "duplicates enough");
    let times: Vec<_> = repairs(&wire, start).into_iter().filter(|r| r.0 == 2000).map(|r| r.1).collect();
    assert_eq!(times, [ms(10), ms(210), ms(610)]);
    assert_eq!((wire.losses().0.len(), wire.losses().1.len()), (1, 2));
    assert_eq!(wire.losses().1.iter().map(|l| l.retransmitted).collect::<Vec<_>>(), [false, true]);
    wire.assert_arrived(20_000);
}

#[test]
fn the_last_segment_lost_with_another_is_rescued() {
    // RFC 6675 section 4, NextSeg rule 4: when the repair of 2000 is acknowledged, the last one outstanding goes again.
    let (mut wire, start) = open(Window::Constant(10 * MSS));
    wire.lose(|s| s.is(2000, 0) || s.is(9000, 0));
    wire.write(CLIENT, 10 * MSS);
    wire.run();
    assert_eq!(repairs(&wire, start), [(2000, ms(10)), (9000, ms(20))]);
    assert_eq!((wire.losses().0.len(), wire.losses().1.len()), (1, 0));
    wire.assert_arrived(10_000);
}

#[test]
fn the_ack_of_the_first_repair_alone_rescues_nothing() {
    // RFC 6675 section 5 (4.3) sets RescueRxt to the first repair, so that the next, which is in flight, is not
    // doubled.
    let (mut wire, start) = open(Window::Constant(10 * MSS));
    wire.lose(|s| s.is(2000, 0) || s.is(3000, 0));
    wire.write(CLIENT, 10 * MSS);
    wire.run();
    assert_eq!(repairs(&wire, start), [(2000, ms(10)), (3000, ms(10))]);
    wire.assert_arrived(10_000);
}

#[test]
fn a_rescue_happens_once_per_recovery() {
    let (mut wire, start) = open(Window::Constant(10 * MSS));
    wire.lose(|s| s.is(2000, 0) || s.is(8000, 0) || s.is(9000, 0) || s.is(9000, 1));
    wire.write(CLIENT, 10 * MSS);
    wire.run();
    // Rescued is the last one, 9000, whose loss leaves the rest to the timer. It was restarted at 20 ms, by the ACK of
    // the repair.
    assert_eq!(repairs(&wire, start), [(2000, ms(10)), (9000, ms(20)), (8000, ms(220)), (9000, ms(220))]);
    assert_eq!((wire.losses().0.len(), wire.losses().1.len()), (1, 1));
    wire.assert_arrived(10_000);
}

#[test]
fn a_hole_not_yet_lost_is_repaired_only_when_there_is_nothing_new_to_send() {
    // RFC 6675 section 4, NextSeg rules 2 and 3. Above 8000 only one segment has arrived.
    let lose = |s: &Sent| s.is(2000, 0) || s.is(8000, 0);
    let (mut wire, start) = open(Window::Constant(10 * MSS));
    wire.lose(lose);
    wire.write(CLIENT, 10 * MSS);
    wire.run();
    // The third is the rescue, which rule 4 grants as soon as the repair of 2000 is acknowledged: the RFC does not ask
    // whether the last segment outstanding was repaired a moment before.
    assert_eq!(repairs(&wire, start), [(2000, ms(10)), (8000, ms(10)), (8000, ms(20))]);
    assert!(wire.losses().1.is_empty());

    let (mut wire, start) = open(Window::Constant(10 * MSS));
    wire.lose(lose);
    wire.write(CLIENT, 60 * MSS);
    wire.run();
    assert_eq!(repairs(&wire, start), [(2000, ms(10)), (8000, ms(20))], "new data first, then it is lost by rule 1");
    wire.assert_arrived(60_000);
}

/// A flow of ten segments in flight of which 3000 arrives behind the `by` next ones.
fn reordered(by: u64) -> Wire {
    let (mut wire, _) = open(Window::Constant(10 * MSS));
    wire.script(move |s| match s.offset() {
        _ if s.from == SERVER || s.nth > 0 => Fate::Deliver,
        3000 => Fate::Late(Time::from_us(1)),
        offset if offset > 3000 + by * MSS && offset < 10_000 => Fate::Late(Time::from_us(2)),
        _ => Fate::Deliver,
    });
    wire.write(CLIENT, 30 * MSS);
    wire.run();
    wire.assert_arrived(30_000);
    wire
}

#[test]
fn a_packet_overtaken_by_one_or_two_is_not_sent_again_and_by_three_is() {
    // RFC 5681 section 3.2, RFC 6675 section 4: two segments above are exactly 2 * SMSS, and not lost.
    for by in [1, 2] {
        let wire = reordered(by);
        assert!(wire.repaired().is_empty(), "overtaken by {by}");
        assert!(wire.losses().0.is_empty());
    }
    let wire = reordered(3);
    assert_eq!(wire.repaired(), [3000]);
    assert_eq!(wire.losses().0.len(), 1);
}

#[test]
fn each_of_the_first_two_duplicates_lets_a_new_segment_leave() {
    // RFC 3042, by pipe as RFC 6675 section 5 (3) has it.
    let (mut wire, start) = open(Window::Constant(10 * MSS));
    wire.script(|s| match s.offset() {
        _ if s.from == SERVER || s.nth > 0 => Fate::Deliver,
        0 => Fate::Late(ms(2)),
        // Two arrive ahead of it, the rest a little behind it.
        offset if offset > 2000 => Fate::Late(ms(3)),
        _ => Fate::Deliver,
    });
    wire.write(CLIENT, 30 * MSS);
    wire.run_until(start + ms(11));
    let new: Vec<_> = wire.client_data().split_off(10);
    assert_eq!(new, [(10_000, false), (11_000, false)]);
    wire.run();
    assert!(wire.repaired().is_empty());
}

#[test]
fn duplicates_are_no_sign_of_loss() {
    let (mut wire, _) = open(Window::Constant(10 * MSS));
    wire.script(|s| if s.is_data() { Fate::Twice(ms(1)) } else { Fate::Deliver });
    wire.write(CLIENT, 40 * MSS);
    wire.run();
    assert!(wire.repaired().is_empty());
    assert!(wire.losses().0.is_empty() && wire.losses().1.is_empty());
    wire.assert_arrived(40_000);
}

#[test]
fn lost_acks_cost_nothing_while_later_ones_arrive() {
    let (mut wire, _) = open(Window::Constant(10 * MSS));
    let mut count = 0;
    wire.lose(move |s| {
        count += u32::from(s.from == SERVER);
        s.from == SERVER && count % 3 != 0
    });
    wire.write(CLIENT, 200 * MSS);
    wire.run();
    assert!(wire.losses().0.is_empty());
    wire.assert_arrived(200_000);
}
