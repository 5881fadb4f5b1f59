//! CUBIC on a virtual clock: the rules, numbers and tables of RFC 9438. A segment is 1000 bytes.

use crate::common::tcp::{MSS, Stream};
use crate::common::{cases, data, nic, us};
use fanin_cc::schemes::cubic::{Cubic, Flow, Params};
use fanin_cc::schemes::newreno::{CWR, Threshold};
use fanin_cc::{Action, Data, FlowInfo, Pool, ReceiverFlow, Scheme};
use fanin_units::{Bytes, MessageId, NodeId, Time};
use proptest::prelude::*;

/// RFC 9438 section 4.3 with beta_cubic = 0.7.
const ALPHA: f64 = 9.0 / 17.0;

fn stream(preset: &str, change: impl FnOnce(&mut Params)) -> Stream<Flow> {
    let mut params = Cubic::preset(preset);
    change(&mut params);
    Cubic::check(&params).unwrap();
    Stream::new(params)
}

/// In congestion avoidance from the start, at this many segments, with this round-trip time.
fn avoiding(preset: &str, segments: u32, rtt: Time, change: impl FnOnce(&mut Params)) -> Stream<Flow> {
    let mut stream = stream(preset, |p| {
        p.window.initial_window = segments;
        p.window.initial_ssthresh = Threshold::Bytes(Bytes(segments as u64 * MSS));
        p.window.restart_after = Time::ZERO;
        change(p);
    });
    stream.rtt = rtt;
    stream.fill();
    stream
}

/// So, just after a loss whose repair took no time.
fn after_loss(segments: u32, rtt: Time, change: impl FnOnce(&mut Params)) -> Stream<Flow> {
    let mut stream = avoiding("cubic", segments, rtt, change);
    repair(&mut stream);
    stream
}

/// A loss and its repair, in no time.
fn repair(s: &mut Stream<Flow>) {
    s.loss();
    let all = s.in_flight();
    s.ack_bytes(all, false).fill();
}

/// One ACK for a segment at the pace of a full window. Returns the time since the last.
fn paced_ack(s: &mut Stream<Flow>) -> Time {
    let gap = Time::from_ps(s.rtt.as_ps() * MSS / s.window());
    let now = s.point.now + gap;
    s.at(now).ack(1, false);
    gap
}

/// A round trip of such ACKs: the window after it, in segments.
fn paced_round(s: &mut Stream<Flow>) -> f64 {
    let end = s.point.now + s.rtt;
    while s.point.now < end {
        paced_ack(s);
    }
    s.window() as f64 / MSS as f64
}

fn segments(bytes: u64) -> f64 {
    bytes as f64 / MSS as f64
}

fn k(s: &Stream<Flow>) -> f64 {
    s.point.flow.stage().unwrap().1
}

// ---- section 4.2: the cubic function ----

#[test]
fn k_is_the_time_to_w_max() {
    // Figure 2: cbrt(36 * 0.3 / 0.4) = 3, cbrt(1000 * 0.3 / 0.4) = cbrt(750).
    for (from, seconds) in [(36, 3.0), (1000, 9.085_602_964_160_698), (10, 1.957_433_820_584_431_7)] {
        let mut s = after_loss(from, us(100), |_| ());
        s.ack(1, false);
        assert_eq!(s.point.flow.w_max(), from as f64 * MSS as f64);
        assert!((k(&s) / seconds - 1.0).abs() < 1e-14, "{from} segments: {} s", k(&s));
    }
}

proptest! {
    #![proptest_config(cases())]

    /// The cube root is exact to the last digits at every size.
    #[test]
    fn the_cube_root_is_exact(from in 10u32..100_000, c in -9.0f64..9.0, beta in 0.1f64..0.9) {
        let c = 10f64.powf(c);
        let mut s = avoiding("cubic", from, us(100), |p| (p.c, p.beta) = (c, beta));
        repair(&mut s);
        let epoch = s.window() as f64;
        s.ack(1, false);
        let k = k(&s);
        let root = ((from as u64 * MSS) as f64 - epoch) / (c * MSS as f64);
        prop_assert!((k * k * k / root - 1.0).abs() < 1e-14, "{k} for {root}");
    }
}

#[test]
fn the_window_follows_the_cubic_function_concave_then_convex() {
    let rtt = Time::from_ms(100);
    let mut s = after_loss(1000, rtt, |_| ());
    let (start, k) = (s.point.now, 750f64.cbrt());
    let mut sizes = vec![700.0];
    for _ in 0..180 {
        sizes.push(paced_round(&mut s));
        let t = (s.point.now - start).as_secs_f64();
        // Figure 1. The window lags behind the target, W(t + RTT), by a round trip.
        let w = 0.4 * (t - k).powi(3) + 1000.0;
        let size = *sizes.last().unwrap();
        assert!((size - w).abs() < 1.5, "at {t} s: {size} segments, W(t) = {w}");
    }
    // The increments of eight round trips fall up to K and rise from there, with no step down.
    let steps: Vec<f64> = sizes.chunks(8).map(|c| c[0]).collect::<Vec<_>>().windows(2).map(|w| w[1] - w[0]).collect();
    let middle = (k / 0.8) as usize;
    assert!(steps[..middle].windows(2).all(|w| w[1] < w[0]), "concave: {steps:?}");
    assert!(steps[middle + 1..].windows(2).all(|w| w[1] > w[0]), "convex: {steps:?}");
    assert!(sizes.windows(2).all(|w| w[1] >= w[0]));
    // It returns to W_max after K, and is as far above it after 2 K as it was below.
    assert!((sizes[91] - 1000.0).abs() < 1.0 && sizes[91 - 30] < 990.0, "{}", sizes[91]);
    assert!((sizes[180] - 1290.0).abs() < 10.0, "{}", sizes[180]);
}

#[test]
fn growth_is_at_most_half_of_slow_starts() {
    // W(t + RTT) is far above 1.5 cwnd: half a segment an ACK.
    let mut s = avoiding("cubic", 20, Time::from_ms(100), |p| p.c = 1e9);
    s.ack(1, false).at(Time::from_ms(10));
    let start = s.window();
    assert_eq!(start, 20 * MSS + 50, "at t = 0 the Reno-friendly region");
    let windows: Vec<u64> = (0..20).map(|_| s.ack(1, false).window()).collect();
    assert_eq!(windows, (1..=20).map(|n| start + n * MSS / 2).collect::<Vec<_>>());
}

#[test]
fn an_ack_never_shrinks_the_window() {
    // A long round-trip time makes the target high; then it falls, and W(t + RTT) is below the window.
    let mut s = after_loss(1000, Time::from_s(1), |_| ());
    s.ack(1, false).at(Time::from_ms(100));
    (0..700).for_each(|_| {
        s.ack(1, false);
    });
    let high = s.window();
    assert!(high > 740 * MSS, "{high}");
    s.rtt = us(1);
    (0..100).for_each(|_| {
        s.ack(1, false);
    });
    // The smoothed time falls by an eighth an ACK, so that only the first few still grow the window.
    let high = s.window();
    for _ in 0..20_000 {
        s.ack(1, false);
        assert!(s.window() >= high && s.window() < high + MSS);
    }
    // So too once W_est is above W(t) = 709.8 segments, and the window above both.
    let (w_est, _) = s.point.flow.stage().unwrap();
    assert!(w_est < s.window() as f64 && w_est > 711.0 * MSS as f64, "{w_est}");
}

#[test]
fn the_target_is_a_smoothed_round_trip_ahead() {
    let mut s = after_loss(1000, Time::from_ms(100), |_| ());
    s.ack(1, false).at(Time::from_ms(10));
    let before = segments(s.window());
    // RFC 6298: 7/8 of 100 ms and 1/8 of 900 ms.
    s.rtt = Time::from_ms(900);
    s.ack(1, false);
    let target = 0.4 * (0.01 + 0.2 - 750f64.cbrt()).powi(3) + 1000.0;
    let grown = segments(s.window()) - before;
    assert!((grown - (target - before) / before).abs() < 0.0011 && grown > 0.028, "{grown}");
}

#[test]
fn an_ack_for_two_segments_grows_the_window_as_two_acks() {
    for rtt in [us(100), Time::from_ms(100)] {
        let (mut one, mut two) = (after_loss(200, rtt, |_| ()), after_loss(200, rtt, |_| ()));
        for n in 1..=2000 {
            let now = Time::from_ps(rtt.as_ps() / 70 * n);
            one.at(now).ack(1, false).ack(1, false);
            two.at(now).ack(2, false);
        }
        let (one, two) = (one.window(), two.window());
        assert!(one > 150 * MSS && one.abs_diff(two) < MSS / 2, "{rtt}: {one} {two}");
    }
}

// ---- section 4.3: the Reno-friendly region ----

#[test]
fn in_the_reno_friendly_region_the_window_grows_by_alpha_then_by_one() {
    // In a data center's round trip the cubic function stands still: K is 4.2 s.
    let mut s = after_loss(100, us(100), |_| ());
    let (mut w_est, mut cwnd) = (70.0f64, 70.0f64);
    let mut rounds = vec![70.0];
    for _ in 0..80 {
        let end = s.point.now + s.rtt;
        while s.point.now < end {
            paced_ack(&mut s);
            // Figure 4; alpha is 1 once W_est is at cwnd_prior.
            w_est += if w_est >= 100.0 { 1.0 } else { ALPHA } / cwnd;
            cwnd = cwnd.max(w_est);
            assert!((segments(s.window()) - cwnd).abs() < 0.01, "{} and {cwnd}", s.window());
        }
        rounds.push(cwnd);
    }
    let steps: Vec<f64> = rounds.windows(2).map(|w| w[1] - w[0]).collect();
    // 30 segments at 9/17 a round trip.
    let slow = steps.iter().take_while(|s| **s < 0.6).count();
    assert!((55..=57).contains(&slow), "{slow} round trips");
    assert!(steps[..slow].iter().all(|s| (s - ALPHA).abs() < 0.015), "{steps:?}");
    assert!(steps[slow + 1..].iter().all(|s| (s - 1.0).abs() < 0.015), "{steps:?}");
}

#[test]
fn cwnd_prior_and_not_w_max_ends_alpha() {
    // Fast convergence puts W_max at 0.85 of the window: W_est still grows by alpha up to the window itself.
    let mut s = after_loss(100, us(100), |_| ());
    (0..40).for_each(|_| {
        paced_round(&mut s);
    });
    let prior = segments(s.window());
    assert!(prior < 100.0);
    repair(&mut s);
    assert!((s.point.flow.w_max() / (0.85 * prior * MSS as f64) - 1.0).abs() < 1e-9);
    let mut last = segments(s.window());
    while last < prior - 1.0 {
        let size = paced_round(&mut s);
        assert!((size - last - ALPHA).abs() < 0.02, "{last} to {size}, {prior} before");
        last = size;
    }
}

#[test]
fn the_average_of_the_reno_friendly_region_is_renos() {
    // Section 4.3, Figure 3: AIMD(alpha, beta) and AIMD(1, 0.5) are equal.
    let average = |alpha: f64, beta: f64| (alpha * (1.0 + beta) / (2.0 * (1.0 - beta))).sqrt();
    assert!((average(ALPHA, 0.7) - average(1.0, 0.5)).abs() < 1e-12);
    // Another factor has another alpha: 3 (1 - beta) / (1 + beta) = 1 for 0.5.
    let mut s = after_loss(100, us(100), |p| p.beta = 0.5);
    let steps: Vec<f64> = (0..10).map(|_| paced_round(&mut s)).collect();
    assert!(steps.windows(2).all(|w| (w[1] - w[0] - 1.0).abs() < 0.03), "{steps:?}");
}

// ---- section 5: the average window ----

/// Cycles of the deterministic model, where one of `per_loss` packets is lost, from a loss at `segments`: the average
/// window of the last cycle, which is its packets over its round trips, and the window at its end.
fn cycles(n: u32, c: f64, rtt: Time, per_loss: u64, segments: f64) -> (f64, f64) {
    let mut s = after_loss(segments.round() as u32, rtt, |p| (p.c, p.fast_convergence) = (c, false));
    let (mut mean, mut end) = (0.0, 0.0);
    for _ in 0..n {
        let start = s.point.now;
        (0..per_loss).for_each(|_| {
            paced_ack(&mut s);
        });
        mean = per_loss as f64 * rtt.as_secs_f64() / (s.point.now - start).as_secs_f64();
        end = s.window() as f64 / MSS as f64;
        s.stamps.clear();
        repair(&mut s);
    }
    (mean, end)
}

/// Tables 1 and 2: round-trip time in ms, 1/p, and the average window for C = 0.04, 0.4 and 4.
const TABLES: [(u64, u64, [f64; 3]); 10] = [
    (100, 100, [12.0, 12.0, 12.0]),
    (100, 1_000, [38.0, 38.0, 59.0]),
    (100, 10_000, [120.0, 187.0, 333.0]),
    (100, 100_000, [593.0, 1054.0, 1874.0]),
    (100, 1_000_000, [3332.0, 5926.0, 10538.0]),
    (10, 100, [12.0, 12.0, 12.0]),
    (10, 1_000, [38.0, 38.0, 38.0]),
    (10, 10_000, [120.0, 120.0, 120.0]),
    (10, 100_000, [379.0, 379.0, 379.0]),
    (10, 1_000_000, [1200.0, 1200.0, 1874.0]),
];

/// Figure 7, the average window, and Figure 3 with Reno's factors.
fn averages(c: f64, rtt: Time, per_loss: u64) -> (f64, f64) {
    let per_loss = per_loss as f64;
    ((c * 3.7 / 1.2).powf(0.25) * (rtt.as_secs_f64() * per_loss).powf(0.75), (1.5 * per_loss).sqrt())
}

#[test]
fn average_windows_are_those_of_the_rfcs_tables() {
    for (ms, per_loss, row) in TABLES {
        for (c, expected) in [0.04, 0.4, 4.0].into_iter().zip(row) {
            let rtt = Time::from_ms(ms);
            let (cubic, reno) = averages(c, rtt, per_loss);
            // The window at a loss: averages are (3 + beta) / 4 and (1 + beta) / 2 of it.
            let at_loss = (cubic / 0.925).max(reno / 0.85);
            let (mean, end) = cycles(6, c, rtt, per_loss, at_loss);
            println!("{ms} ms, p = 1/{per_loss}, C = {c}: {mean:.1} to {end:.1}; {expected} {cubic:.1} {reno:.1}");
            let (low, high) = (cubic.min(reno), cubic.max(reno));
            assert!((high / expected - 1.0).abs() < 0.035, "the table has {expected}, its formulas {high}");
            // Where the two are close, a cycle has a part in either region, and its average is above both.
            let above = if high < 2.5 * low { 0.08 } else { 0.02 };
            let off = mean / high - 1.0;
            assert!((-0.025..above).contains(&off), "{ms} ms, 1/{per_loss}, C = {c}: {mean:.1} for {high:.1}");
            // A cycle ends where it began: at W_max.
            assert!((end / at_loss - 1.0).abs() < 0.03, "{ms} ms, 1/{per_loss}, C = {c}: {end:.1}, {at_loss:.1}");
        }
    }
}

#[test]
fn cycles_come_closer_to_the_rfcs_average_from_both_sides() {
    let (c, rtt, per_loss) = (0.4, Time::from_ms(100), 100_000);
    let (cubic, _) = averages(c, rtt, per_loss);
    for from in [0.6, 1.5] {
        let off = |n| (cycles(n, c, rtt, per_loss, from * cubic / 0.925).0 / cubic - 1.0).abs();
        let (first, third, tenth) = (off(1), off(3), off(10));
        // Slowly: the function is flat where the loss comes.
        assert!(first > third && third > tenth && tenth < 0.35, "from {from}: {first} {third} {tenth}");
    }
}

// ---- sections 4.6 and 4.7: reductions ----

#[test]
fn a_loss_leaves_seven_tenths_of_what_is_in_flight() {
    let mut s = avoiding("cubic", 20, us(100), |_| ());
    s.loss();
    assert_eq!((s.window(), s.point.flow.ssthresh()), (14 * MSS, 14 * MSS));
    assert_eq!((s.count(Action::LossReaction), s.count(Action::Cut)), (1, 0));
    // Neither partial ACKs of the repair nor the one that ends it grow the window.
    s.ack_bytes(5 * MSS, false).ack_bytes(15 * MSS, false);
    assert_eq!(s.window(), 14 * MSS);
    assert!(s.point.flow.stage().is_none());
    // Bytes in flight count, not the window; W_max is of the window.
    let mut s = avoiding("cubic", 20, us(100), |_| ());
    s.lose(10 * MSS, false);
    assert_eq!((s.window(), s.point.flow.w_max()), (7 * MSS, 20_000.0));
    // At most the window counts: the rest arrived behind an earlier loss.
    let mut s = avoiding("cubic", 20, us(100), |_| ());
    s.lose(30 * MSS, false);
    assert_eq!(s.window(), 14 * MSS);
    s.timeout(30 * MSS, false);
    assert_eq!(s.point.flow.ssthresh(), 9_800);
    // At least two segments.
    let mut s = avoiding("cubic", 2, us(100), |_| ());
    s.loss();
    assert_eq!((s.window(), s.point.flow.ssthresh()), (2 * MSS, 2 * MSS));
}

#[test]
fn a_mark_reduces_as_a_loss_but_down_to_one_segment() {
    let mut s = avoiding("cubic-ecn", 20, us(100), |_| ());
    assert!(s.round(|_| true).iter().all(|&w| w == 14 * MSS), "once for each window of data");
    assert_eq!((s.point.flow.ssthresh(), s.count(Action::Cut)), (14 * MSS, 1));
    // The next window of data cuts again: 9.8 segments.
    assert_eq!(s.ack(1, true).window(), 9_800);
    (0..12).for_each(|_| {
        s.round(|_| true);
    });
    assert_eq!((s.window(), s.point.flow.ssthresh()), (MSS, 2 * MSS));
    // Without marks slow start leads back to ssthresh.
    s.fill().ack(1, false);
    assert_eq!(s.window(), 2 * MSS);
}

#[test]
fn marks_and_losses_of_one_window_reduce_it_once() {
    let mut s = avoiding("cubic-ecn", 20, us(100), |_| ());
    s.ack(1, true).ack_bytes(4 * MSS, false).loss();
    assert_eq!((s.window() / MSS, s.count(Action::LossReaction)), (14, 0));
    // Unless the lost data was a retransmission.
    let mut s = avoiding("cubic-ecn", 20, us(100), |_| ());
    s.ack(1, true).lose(12 * MSS, true);
    assert_eq!((s.window(), s.count(Action::LossReaction)), (8_400, 1));
    // Marks on data sent before a loss was found.
    let mut s = avoiding("cubic-ecn", 20, us(100), |_| ());
    s.loss().ack_bytes(10 * MSS, true).ack_bytes(10 * MSS, true);
    assert_eq!((s.window(), s.count(Action::Cut)), (14 * MSS, 0));
    // A mark cannot raise the window of a timeout.
    let mut s = avoiding("cubic-ecn", 4, us(100), |_| ());
    s.timeout(4 * MSS, false).ack_bytes(4 * MSS, true);
    s.send(false);
    s.ack_bytes(MSS, true);
    assert_eq!((s.window(), s.point.flow.ssthresh()), (MSS, 2 * MSS));
}

#[test]
fn fast_convergence_lowers_w_max_below_a_previous_one() {
    for (on, lowered) in [(true, 0.85), (false, 1.0)] {
        let mut s = after_loss(100, us(100), |p| p.fast_convergence = on);
        assert_eq!(s.point.flow.w_max(), 100_000.0, "the first has none before it");
        s.ack(70, false);
        let below = s.window() as f64;
        repair(&mut s);
        assert!(s.point.flow.stage().is_none(), "the next stage begins with an ACK that may grow the window");
        assert!((s.point.flow.w_max() - lowered * below).abs() < 1e-6, "{on}: {}", s.point.flow.w_max());
        // By a mark as by a loss: at 49 segments of 59.5.
        s.point.params.ecn = true;
        let below = s.window() as f64;
        s.ack(1, true);
        assert!((s.point.flow.w_max() - lowered * below).abs() < 1e-6);
    }
    // At or above it the window itself is remembered.
    let mut s = after_loss(20, us(100), |_| ());
    while s.window() < 21 * MSS {
        paced_round(&mut s);
    }
    let above = s.window() as f64;
    repair(&mut s);
    assert_eq!(s.point.flow.w_max(), above);
}

// ---- section 4.8: timeout ----

#[test]
fn a_timeout_starts_from_one_segment_and_then_from_the_plateau() {
    let rtt = Time::from_ms(100);
    let mut s = avoiding("cubic", 100, rtt, |_| ());
    s.timeout(100 * MSS, false);
    assert_eq!((s.window(), s.point.flow.ssthresh()), (MSS, 70 * MSS));
    // The same segment again: ssthresh is held.
    s.timeout(MSS, true);
    assert_eq!((s.window(), s.point.flow.ssthresh(), s.count(Action::Timeout)), (MSS, 70 * MSS, 2));
    let all = s.in_flight();
    s.ack_bytes(all, false).fill();
    while s.window() < 70 * MSS {
        s.round(|_| false);
    }
    assert!(s.window() < 72 * MSS, "slow start ends at ssthresh");
    // K = 0, W_max = W_est = cwnd: convex from the start, and alpha up to the window before the timeout.
    let start = s.point.now;
    s.ack(1, false);
    let epoch = s.point.flow.w_max() / MSS as f64;
    assert_eq!(k(&s), 0.0);
    assert!((70.0..71.1).contains(&epoch), "{epoch}");
    let mut rounds = 0.0;
    while s.window() < 99 * MSS {
        let size = paced_round(&mut s);
        rounds += 1.0;
        let t = (s.point.now - start).as_secs_f64();
        let expected = (epoch + 0.4 * t.powi(3)).max(epoch + ALPHA * rounds);
        assert!((size - expected).abs() < 1.0, "at {t} s: {size}, {expected}");
    }
}

#[test]
fn a_loss_in_the_slow_start_after_a_timeout_remembers_the_window() {
    let mut s = avoiding("cubic", 100, us(100), |_| ());
    s.timeout(100 * MSS, false);
    let all = s.in_flight();
    s.ack_bytes(all, false).fill();
    (0..4).for_each(|_| {
        s.round(|_| false);
    });
    let cwnd = s.window() as f64;
    assert!(cwnd < 70_000.0);
    repair(&mut s);
    assert_eq!(s.point.flow.w_max(), cwnd);
    s.ack(1, false);
    assert!(k(&s) > 0.0);
}

// ---- section 4.10: slow start, and its end without a loss ----

#[test]
fn slow_start_doubles_the_window_each_round_trip_up_to_the_threshold() {
    let mut s = stream("cubic", |p| p.window.initial_ssthresh = Threshold::Bytes(Bytes(40 * MSS)));
    s.fill();
    assert_eq!(s.round(|_| false), (11..=20).map(|n| n * MSS).collect::<Vec<_>>());
    assert!(s.point.flow.stage().is_none());
    s.round(|_| false);
    assert_eq!(s.window(), 40 * MSS);
    // No loss yet: K = 0, W_max = cwnd = cwnd_prior, so that alpha is 1.
    s.ack(1, false);
    assert_eq!((k(&s), s.point.flow.w_max()), (0.0, 40_000.0));
    assert_eq!(s.point.flow.stage().unwrap().0, 40_000.0 + 1000.0 / 40.0);
    s.ack(39, false);
    assert!(s.window().abs_diff(41 * MSS) < 50, "{}", s.window());
}

// ---- section 5.8: flows that the application limits ----

#[test]
fn time_does_not_pass_while_nothing_is_in_flight() {
    let rtt = Time::from_ms(100);
    let (mut idle, mut busy) = (after_loss(1000, rtt, |_| ()), after_loss(1000, rtt, |_| ()));
    for s in [&mut idle, &mut busy] {
        (0..10).for_each(|_| {
            paced_round(s);
        });
        let all = s.in_flight();
        s.ack_bytes(all, false);
    }
    assert_eq!(idle.window(), busy.window());
    let now = idle.point.now;
    idle.at(now + Time::from_s(20));
    for s in [&mut idle, &mut busy] {
        s.fill();
        (0..10).for_each(|_| {
            paced_round(s);
        });
    }
    assert_eq!(idle.window(), busy.window(), "W(t) 20 s later would be far above");
}

#[test]
fn time_does_not_pass_while_the_window_is_not_used() {
    let rtt = Time::from_ms(100);
    let mut s = after_loss(1000, rtt, |_| ());
    (0..10).for_each(|_| {
        paced_round(&mut s);
    });
    // One or two segments in flight, never none, for 20 s; the window of data before it was full.
    let rest = s.in_flight() - MSS;
    s.ack_bytes(rest, false);
    let mut before = s.window();
    for n in 0..200 {
        let now = s.point.now;
        s.at(now + rtt).send(false);
        s.ack_bytes(MSS, false);
        if n == 2 {
            before = s.window();
        }
    }
    assert_eq!(s.window(), before);
    s.fill();
    let (mut last, mut grown) = (segments(before), 0.0);
    for _ in 0..3 {
        let size = paced_round(&mut s);
        grown += size - last;
        last = size;
    }
    // The slope at 1.1 s: 3 C (t - K)^2, 76 segments a second. At 21 s the curve would be 200 segments above W_max.
    assert!((10.0..26.0).contains(&grown), "{grown} segments in three round trips");
}

#[test]
fn a_restart_after_a_pause_begins_a_stage() {
    let rtt = Time::from_ms(100);
    let mut s = avoiding("cubic", 20, rtt, |p| p.window.restart_after = Time::from_ms(200));
    repair(&mut s);
    while s.window() < 25 * MSS {
        paced_round(&mut s);
    }
    let all = s.in_flight();
    s.ack_bytes(all, false);
    let now = s.point.now;
    s.at(now + Time::from_ms(500)).fill();
    // The initial window, 20 segments, is above ssthresh, 14 segments.
    assert_eq!((s.window(), s.count(Action::IdleRestart)), (20 * MSS, 1));
    s.ack(1, false);
    let (w_est, k) = s.point.flow.stage().unwrap();
    assert!(w_est < 20_100.0 && k == 0.0, "{w_est} {k}");
    assert!(s.window() < 20_100);
}

// ---- ECN: RFC 3168, as in newreno ----

#[test]
fn the_first_new_packet_after_a_reduction_says_so() {
    let mut s = avoiding("cubic-ecn", 10, us(100), |_| ());
    assert!(s.stamps.iter().all(|&cc_tag| cc_tag == 0));
    s.ack_bytes(MSS, true);
    assert_eq!((s.send(true), s.send(false), s.send(false)), (0, CWR, 0));
    let end = s.in_flight();
    s.ack_bytes(end, false).fill().loss();
    assert_eq!((s.send(true), s.send(false), s.send(false)), (0, CWR, 0));
    s.timeout(MSS, false);
    assert_eq!((s.send(true), s.send(false), s.send(false)), (0, CWR, 0));
    // Without ECN nothing is said, and an echo means nothing.
    let mut s = avoiding("cubic", 10, us(100), |_| ());
    s.ack(1, true);
    assert!(s.window() >= 10 * MSS);
    s.loss();
    assert_eq!((s.send(false), s.send(false)), (0, 0));
    assert!(!Cubic::wants_ecn(&Cubic::preset("cubic")) && Cubic::wants_ecn(&Cubic::preset("cubic-ecn")));
}

#[test]
fn the_receiver_echoes_a_mark_until_the_sender_says_that_it_reduced() {
    let receiver = |preset: &str| {
        let mut pool = Pool::<Cubic>::new(Cubic::preset(preset));
        pool.add_host(&nic(10));
        pool.receiver_open(0, Time::ZERO, &FlowInfo::new(ReceiverFlow(0), MessageId(0), NodeId(0)));
        pool
    };
    let mut pool = receiver("cubic-ecn");
    let mut take = |n, ce, cc_tag| {
        let plan = pool.receiver_data(0, us(n), &Data { cc_tag, ..data(0, n, ce) });
        plan.now.map(|fields| fields.ecn_echo)
    };
    assert_eq!(take(0, false, 0), Some(false));
    assert_eq!((take(1, true, 0), take(2, false, 0)), (Some(true), Some(true)));
    assert_eq!((take(3, false, CWR), take(4, true, CWR)), (Some(false), Some(true)));
    assert!(pool.receiver_ack_fields(0, us(8), ReceiverFlow(0)).ecn_echo);
    let mut pool = receiver("cubic");
    assert_eq!(pool.receiver_data(0, us(1), &data(0, 0, true)).now.map(|f| f.ecn_echo), Some(false));
}

#[test]
fn impossible_parameters_are_refused() {
    let refused = |change: fn(&mut Params), say: &str| {
        let mut params = Cubic::preset("cubic");
        change(&mut params);
        assert!(Cubic::check(&params).unwrap_err().contains(say));
    };
    refused(|p| p.c = 0.0, "c must be above 0");
    refused(|p| p.c = f64::NAN, "c must be above 0");
    refused(|p| p.c = 1e10, "at most 1e9");
    refused(|p| p.beta = 1.0, "beta must be above 0 and below 1");
    refused(|p| p.beta = 0.0, "beta must be above 0 and below 1");
    refused(|p| p.window.initial_window = 0, "initial_window must be at least 1");
}
