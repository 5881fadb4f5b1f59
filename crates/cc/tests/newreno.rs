//! TCP's window on a virtual clock: RFC 5681, RFC 3465, RFC 3168, with numbers computed by hand. A segment is 1000
//! bytes.

use crate::common::tcp::{MSS, Stream};
use crate::common::{cases, data, nic, us};
use fanin_cc::schemes::newreno::{CWR, Flow, NewReno, Params, Threshold, WindowParams};
use fanin_cc::{Action, Data, FlowInfo, Pool, ReceiverFlow, Scheme};
use fanin_units::{Bytes, MessageId, NodeId, Time};
use proptest::prelude::*;

fn stream(preset: &str, change: impl FnOnce(&mut WindowParams)) -> Stream<Flow> {
    let mut params = NewReno::preset(preset);
    change(&mut params.window);
    NewReno::check(&params).unwrap();
    Stream::new(params)
}

/// In congestion avoidance from the start, at this many segments.
fn avoiding(preset: &str, segments: u32) -> Stream<Flow> {
    let mut stream = stream(preset, |p| {
        p.initial_window = segments;
        p.initial_ssthresh = Threshold::Bytes(Bytes(segments as u64 * MSS));
    });
    stream.fill();
    stream
}

// ---- growth: RFC 5681 section 3.1 ----

#[test]
fn slow_start_doubles_the_window_each_round_trip() {
    let mut s = stream("newreno", |_| ());
    s.fill();
    assert_eq!(s.window(), 10 * MSS, "RFC 6928");
    assert_eq!(s.round(|_| false), (11..=20).map(|n| n * MSS).collect::<Vec<_>>());
    s.round(|_| false);
    assert_eq!((s.window(), s.count(Action::Increase)), (40 * MSS, 30));
    // An ACK for less than a segment adds just that.
    s.ack_bytes(400, false);
    assert_eq!(s.window(), 40 * MSS + 400);
}

#[test]
fn one_ack_adds_at_most_the_growth_limit_in_slow_start() {
    for (limit, after) in [(1, 15), (2, 20), (8, 20)] {
        let mut s = stream("newreno", |p| p.growth_limit = limit);
        s.fill();
        // Delayed ACKs: five for ten segments.
        (0..5).for_each(|_| {
            s.ack(2, false);
        });
        assert_eq!(s.window(), after * MSS, "growth_limit {limit}");
    }
}

#[test]
fn slow_start_ends_at_the_threshold() {
    let mut s = stream("newreno", |p| p.initial_ssthresh = Threshold::Bytes(Bytes(12 * MSS)));
    let windows = s.fill().round(|_| false);
    assert_eq!(windows, [11, 12, 12, 12, 12, 12, 12, 12, 12, 12].map(|n| n * MSS));
    // Equal is avoidance; 8 of its 12 segments are acknowledged already.
    assert_eq!(s.ack(3, false).window(), 12 * MSS);
    assert_eq!(s.ack(1, false).window(), 13 * MSS);
}

#[test]
fn avoidance_adds_one_segment_for_each_window_acknowledged() {
    // By single ACKs, delayed ACKs, and ACKs for less than a segment.
    for bytes in [MSS, 2 * MSS, 3 * MSS, 400] {
        let mut s = avoiding("newreno", 10);
        let mut acked = 0;
        while s.window() < 30 * MSS {
            s.ack_bytes(bytes, false).fill();
            acked += bytes;
            // Whole windows of 10, 11, 12, ... segments.
            let (mut windows, mut sum) = (0, 10 * MSS);
            while sum <= acked {
                windows += 1;
                sum += (10 + windows) * MSS;
            }
            assert_eq!(s.window(), (10 + windows) * MSS, "{acked} bytes by {bytes}");
        }
    }
}

#[test]
fn one_huge_ack_adds_one_segment_in_avoidance() {
    let mut s = avoiding("newreno", 10);
    s.timeout(10 * MSS, false);
    // ssthresh is 5 segments; the retransmission fills the gap and all ten are acknowledged.
    s.ack(10, false);
    assert_eq!(s.window(), 2 * MSS);
    s.round(|_| false);
    s.round(|_| false);
    assert_eq!(s.window(), 5 * MSS, "4 at most by slow start, then avoidance begins at 5");
    // Nor does the rest count towards the next: a mark leaves 19 segments in flight for a window of 10.
    let mut s = avoiding("newreno-ecn", 20);
    s.ack_bytes(MSS, true).ack_bytes(19 * MSS, false).fill();
    assert_eq!(s.window(), 11 * MSS);
    assert_eq!(s.ack(10, false).window(), 11 * MSS);
    assert_eq!(s.ack(1, false).window(), 12 * MSS);
}

proptest! {
    #![proptest_config(cases())]

    /// Growth is bounded by the bytes acknowledged, however they are split into ACKs.
    #[test]
    fn growth_is_bounded(acks in prop::collection::vec((1u64..5000, any::<bool>()), 1..200), limit in 1u32..5) {
        let mut s = stream("newreno", |p| {
            p.growth_limit = limit;
            p.initial_ssthresh = Threshold::Bytes(Bytes(20 * MSS));
        });
        s.fill();
        for (bytes, fill) in acks {
            let (bytes, before) = (bytes.min(s.in_flight()), s.window());
            s.ack_bytes(bytes, false);
            let (grown, most) = (s.window() - before, bytes.min(limit as u64 * MSS));
            // In slow start by no more than was acknowledged, in avoidance by whole segments only.
            let slow_start = before < 20 * MSS;
            prop_assert!(grown == 0 || (slow_start && grown <= most) || (!slow_start && grown == MSS));
            if fill {
                s.fill();
            }
        }
    }
}

// ---- use: RFC 7661 in spirit ----

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    // Slow start: 5 of 10 segments in flight are not enough, 6 are.
    for (in_flight, grows) in [(1, false), (5, false), (6, true), (10, true)] {
        let mut s = stream("newreno", |_| ());
        (0..in_flight).for_each(|_| {
            s.send(false);
        });
        s.ack_bytes(MSS, false);
        assert_eq!(s.window(), if grows { 11 * MSS } else { 10 * MSS }, "{in_flight} in flight");
    }
    // Avoidance: 9 of 10 leave room for one more.
    for (in_flight, grows) in [(9, false), (10, true)] {
        let mut s = stream("newreno", |p| p.initial_ssthresh = Threshold::Bytes(Bytes(10 * MSS)));
        (0..in_flight).for_each(|_| {
            s.send(false);
        });
        for _ in 0..20 {
            s.ack_bytes(MSS, false);
            s.send(false);
        }
        assert_eq!(s.window() > 10 * MSS, grows, "{in_flight} in flight");
    }
    let mut s = stream("newreno", |p| p.grow_only_if_used = false);
    s.send(false);
    s.ack_bytes(MSS, false);
    assert_eq!(s.window(), 11 * MSS);
}

#[test]
fn a_burst_of_acks_does_not_make_a_full_window_look_empty() {
    // All ten ACKs come before a packet can leave.
    let mut s = stream("newreno", |_| ());
    s.fill();
    (0..10).for_each(|_| {
        s.ack_bytes(MSS, false);
    });
    assert_eq!(s.window(), 20 * MSS);
    let mut s = avoiding("newreno", 10);
    (0..10).for_each(|_| {
        s.ack_bytes(MSS, false);
    });
    assert_eq!(s.window(), 11 * MSS);
    // The next window of data is judged by itself: one segment of it is not half of 11.
    s.send(false);
    (0..11).for_each(|_| {
        s.ack_bytes(MSS, false);
        s.send(false);
    });
    assert_eq!(s.window(), 11 * MSS);
}

// ---- loss and timeout: RFC 5681 section 3.1 ----

#[test]
fn a_loss_halves_what_is_in_flight() {
    let mut s = avoiding("newreno", 20);
    s.loss();
    assert_eq!((s.window(), s.point.flow.ssthresh()), (10 * MSS, 10 * MSS));
    assert_eq!((s.count(Action::LossReaction), s.count(Action::Cut)), (1, 0));
    // Partial ACKs of the recovery do not grow the window, nor does the one that ends it.
    s.ack_bytes(5 * MSS, false).ack_bytes(0, false).ack_bytes(5 * MSS, false);
    assert_eq!(s.window(), 10 * MSS);
    s.ack_bytes(10 * MSS, false).fill();
    assert_eq!(s.window(), 10 * MSS);
    // From then on it grows as ever: ten segments, one more.
    assert_eq!(s.round(|_| false).last(), Some(&(11 * MSS)));
    // Bytes in flight count, not the window: 6 segments of 11.
    let mut s = avoiding("newreno", 11);
    s.ack_bytes(5 * MSS, false).loss();
    assert_eq!(s.window(), 3 * MSS);
    // Never below two segments.
    let mut s = avoiding("newreno", 3);
    s.loss();
    assert_eq!((s.window(), s.point.flow.ssthresh()), (2 * MSS, 2 * MSS));
}

#[test]
fn a_timeout_starts_again_from_one_segment() {
    let mut s = avoiding("newreno", 20);
    s.timeout(20 * MSS, false);
    assert_eq!((s.window(), s.point.flow.ssthresh()), (MSS, 10 * MSS));
    // The same segment again: RFC 5681 holds ssthresh, though only that segment is in flight.
    s.ack_bytes(0, false).timeout(MSS, true);
    assert_eq!((s.window(), s.point.flow.ssthresh()), (MSS, 10 * MSS));
    assert_eq!((s.count(Action::Timeout), s.count(Action::Cut)), (2, 0));
    // Slow start up to ssthresh, then avoidance.
    s.ack(20, false);
    assert_eq!(s.window(), 2 * MSS);
    let sizes: Vec<u64> = (0..6).map(|_| *s.round(|_| false).last().unwrap() / MSS).collect();
    assert_eq!(sizes, [4, 8, 10, 11, 12, 13]);
    // A timeout in the middle of a recovery ends it: the next ACK grows the window.
    let mut s = avoiding("newreno", 20);
    s.loss().timeout(20 * MSS, false).ack_bytes(MSS, false);
    assert_eq!(s.window(), 2 * MSS);
}

#[test]
fn slow_start_after_a_timeout_adds_one_segment_an_ack() {
    // RFC 3465 section 2.3: L = 1, whatever the limit is otherwise.
    let mut s = stream("newreno", |p| p.growth_limit = 2);
    s.fill().timeout(10 * MSS, false);
    s.ack(10, false).ack(2, false);
    assert_eq!(s.window(), 3 * MSS);
    // The next slow start, after a pause, has the limit again: from 4 segments to ssthresh = 8.
    let mut s = stream("newreno", |p| (p.growth_limit, p.initial_window) = (2, 4));
    s.fill().round(|_| false);
    s.round(|_| false);
    s.timeout(16 * MSS, false).ack(16, false);
    while s.window() < 9 * MSS {
        s.round(|_| false);
    }
    let all = s.in_flight();
    s.ack_bytes(all, false).at(Time::from_s(1)).send(false);
    s.fill().ack(2, false);
    assert_eq!((s.window(), s.point.flow.ssthresh()), (6 * MSS, 8 * MSS));
}

#[test]
fn a_pause_brings_the_initial_window_back() {
    let mut s = stream("newreno", |_| ());
    s.fill();
    s.round(|_| false);
    let all = s.in_flight();
    s.at(us(100)).ack_bytes(all, false);
    assert_eq!(s.window(), 21 * MSS);
    // 200 ms from the last packet are not longer than 200 ms, and one picosecond more is; but not with data in flight.
    s.at(Time::from_ms(200)).send(false);
    s.at(Time::from_s(1)).send(false);
    assert_eq!(s.window(), 21 * MSS);
    s.ack_bytes(2 * MSS, false).at(Time::from_ms(1200) + Time::from_ps(1)).send(false);
    assert_eq!((s.window(), s.count(Action::IdleRestart)), (10 * MSS, 1));
    // Never upwards.
    s.timeout(MSS, false).ack_bytes(MSS, false).at(Time::from_s(3)).send(false);
    assert_eq!((s.window(), s.count(Action::IdleRestart)), (2 * MSS, 1));
    // Zero is never.
    let mut s = stream("newreno", |p| p.restart_after = Time::ZERO);
    s.fill().round(|_| false);
    let all = s.in_flight();
    s.ack_bytes(all, false).at(Time::from_s(9)).send(false);
    assert_eq!(s.window(), 21 * MSS);
}

// ---- marks: RFC 3168 section 6.1.2 ----

#[test]
fn an_echoed_mark_halves_the_window_once_per_window_of_data() {
    let mut s = avoiding("newreno-ecn", 20);
    // All ACKs of the window that was in flight are marked: one cut, no growth.
    assert!(s.round(|_| true).iter().all(|&w| w == 10 * MSS));
    assert_eq!((s.point.flow.ssthresh(), s.count(Action::Cut)), (10 * MSS, 1));
    // They were sent before the cut, up to the last one; the first sent after it cuts again.
    assert_eq!(s.ack(1, true).window(), 5 * MSS);
    // A mark ends slow start.
    let mut s = stream("newreno-ecn", |_| ());
    s.fill().ack(1, true).ack(3, false);
    assert_eq!((s.window(), s.point.flow.ssthresh()), (5 * MSS, 5 * MSS));
    // The floor is two segments.
    let mut s = avoiding("newreno-ecn", 3);
    assert_eq!(s.ack(1, true).window(), 2 * MSS);
}

#[test]
fn an_echo_cannot_raise_the_window() {
    let mut s = avoiding("newreno-ecn", 4);
    s.timeout(4 * MSS, false);
    assert_eq!(s.window(), MSS);
    // All that was sent before the timeout is acknowledged, then the ACK of one new segment is marked.
    s.ack_bytes(4 * MSS, true);
    s.send(false);
    s.ack_bytes(MSS, true);
    assert_eq!((s.window(), s.point.flow.ssthresh()), (MSS, 2 * MSS));
}

#[test]
fn the_first_new_packet_after_a_reduction_says_so() {
    let mut s = avoiding("newreno-ecn", 10);
    assert!(s.stamps.iter().all(|&cc_tag| cc_tag == 0));
    // After a mark; a retransmission does not carry it.
    s.ack_bytes(MSS, true);
    assert_eq!(s.send(true), 0);
    assert_eq!((s.send(false), s.send(false)), (CWR, 0));
    // After a loss, once the data sent before that cut is acknowledged.
    let end = s.in_flight();
    s.ack_bytes(end, false).fill().loss();
    assert_eq!((s.send(true), s.send(false), s.send(false)), (0, CWR, 0));
    // After a timeout.
    s.timeout(MSS, false);
    assert_eq!((s.send(true), s.send(false), s.send(false)), (0, CWR, 0));
}

#[test]
fn drops_and_marks_of_one_window_reduce_it_once() {
    // A mark, then a loss of data sent before the cut.
    let mut s = avoiding("newreno-ecn", 20);
    s.ack(1, true).ack_bytes(4 * MSS, false).loss();
    assert_eq!((s.window(), s.count(Action::LossReaction)), (10 * MSS, 0));
    // RFC 3168: unless the lost data was a retransmission, which is a new instance of congestion.
    let mut s = avoiding("newreno-ecn", 20);
    s.ack(1, true).lose(12 * MSS, true);
    assert_eq!((s.window(), s.count(Action::LossReaction)), (6 * MSS, 1));
    // A loss, then marks on data sent before it was found: until the recovery ends and beyond it.
    let mut s = avoiding("newreno-ecn", 20);
    s.loss().ack_bytes(10 * MSS, true).ack_bytes(10 * MSS, true);
    assert_eq!((s.window(), s.count(Action::Cut)), (10 * MSS, 0));
    s.fill().ack(1, true);
    assert_eq!((s.window(), s.count(Action::Cut)), (5 * MSS, 1));
    // A loss of data sent after a cut is a new one. The 19 unmarked segments made the window 11.
    let mut s = avoiding("newreno-ecn", 20);
    s.ack_bytes(MSS, true).ack_bytes(19 * MSS, false).fill().loss();
    assert_eq!((s.window(), s.count(Action::LossReaction)), (11 * MSS / 2, 1));
}

#[test]
fn without_ecn_an_echo_means_nothing() {
    assert!(!NewReno::wants_ecn(&NewReno::preset("newreno")));
    assert!(NewReno::wants_ecn(&NewReno::preset("newreno-ecn")));
    let (mut with, mut without) = (avoiding("newreno", 10), avoiding("newreno", 10));
    for n in 0..50 {
        assert_eq!(with.ack(1, n % 3 == 0).window(), without.ack(1, false).window());
    }
    with.loss();
    assert!(with.send(false) == 0 && with.send(false) == 0);
}

// ---- the receiver: RFC 3168 section 6.1.3 ----

fn receiver(preset: &str) -> Pool<NewReno> {
    let mut pool = Pool::<NewReno>::new(Params { ..NewReno::preset(preset) });
    pool.add_host(&nic(10));
    for flow in 0..2 {
        let info = FlowInfo::new(ReceiverFlow(flow), MessageId(flow), NodeId(0));
        pool.receiver_open(0, Time::ZERO, &info);
    }
    pool
}

#[test]
fn a_mark_is_echoed_until_the_sender_says_that_it_reduced() {
    let mut pool = receiver("newreno-ecn");
    let mut take = |n, ce, cc_tag, ack_due| {
        let packet = Data { cc_tag, ack_due, ..data(0, n, ce) };
        let plan = pool.receiver_data(0, us(n), &packet);
        assert_eq!(plan.before, None);
        plan.now.map(|fields| fields.ecn_echo)
    };
    assert_eq!(take(0, false, 0, true), Some(false));
    // The mark arrives on a packet whose ACK is delayed; the next ACKs echo it, marked or not.
    assert_eq!(take(1, true, 0, false), None);
    assert_eq!(take(2, false, 0, true), Some(true));
    assert_eq!(take(3, false, 0, true), Some(true));
    // CWR ends it, a marked packet with CWR starts it again.
    assert_eq!(take(4, false, CWR, true), Some(false));
    assert_eq!(take(5, false, 0, true), Some(false));
    assert_eq!(take(6, true, CWR, true), Some(true));
    assert_eq!(take(7, false, 0, true), Some(true));
    // An ACK that on_data did not plan (a delayed one, a window update) carries the same, and only for its flow.
    assert!(pool.receiver_ack_fields(0, us(8), ReceiverFlow(0)).ecn_echo);
    assert!(!pool.receiver_ack_fields(0, us(8), ReceiverFlow(1)).ecn_echo);
    assert_eq!(pool.actions().get(Action::MarkSeen), 2);
}

#[test]
fn marks_on_old_data_do_not_count_but_those_out_of_order_do() {
    let mut pool = receiver("newreno-ecn");
    let old = Data { in_order: false, acked_to: 5 * MSS, ..data(0, 4, true) };
    assert_eq!(pool.receiver_data(0, us(1), &old).now.map(|f| f.ecn_echo), Some(false));
    let early = Data { in_order: false, acked_to: 5 * MSS, ..data(0, 6, true) };
    assert_eq!(pool.receiver_data(0, us(2), &early).now.map(|f| f.ecn_echo), Some(true));
    let mut pool = receiver("newreno");
    assert_eq!(pool.receiver_data(0, us(1), &data(0, 0, true)).now.map(|f| f.ecn_echo), Some(false));
}
