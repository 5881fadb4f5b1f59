//! TIMELY on a virtual clock, with numbers computed by hand. A packet has 1000 bytes of payload and 1040 on the wire.

use crate::common::point::{G, Point};
use crate::common::{PAYLOAD, WIRE, us};
use fanin_cc::schemes::dcqcn::RateOrShare;
use fanin_cc::schemes::timely::{Flow, HaiCounts, Params, Timely, Window};
use fanin_cc::{Ack, Action, Scheme, Sender, Sent};
use fanin_units::{Rate, Time};

const M: u64 = 1_000_000;

/// At 10 Gb/s, with segments of ten packets.
fn flow(id: &str, change: impl FnOnce(&mut Params)) -> Point<Flow> {
    let mut params = Timely::preset(id);
    params.segment = fanin_units::Bytes(10_000);
    change(&mut params);
    Timely::check(&params).unwrap();
    Point::new(params, 10, 125_000)
}

fn rate(point: &Point<Flow>) -> u64 {
    point.flow.rate()
}

/// The ACK that completes segment `n`, counted from 1, with a round-trip time without serialisation of `rtt`. The rate
/// after it.
fn complete(point: &mut Point<Flow>, n: u64, rtt: Time) -> u64 {
    let seq = n * 10_000;
    // 1040 B at 10 Gb/s: 832 ns, which the scheme takes off again.
    let ack = Ack { seq, acked_to: seq, sent_to: seq + 50_000, rtt: rtt + Time::from_ns(832), ..Ack::default() };
    point.hook(|flow, cx| flow.on_ack(&ack, cx));
    rate(point)
}

/// Sends a full packet at the time of the clock.
fn send(point: &mut Point<Flow>) {
    let sent = Sent::new(WIRE, PAYLOAD, 0);
    point.hook(|flow, cx| {
        flow.on_send(&sent, cx);
    });
}

/// The first decision, a cut to 6 Gb/s: 1 - 0.8 (1 - 500/1000).
fn cut(point: &mut Point<Flow>) -> u64 {
    complete(point, 1, us(1000))
}

#[test]
fn it_starts_at_line_rate_and_short_round_trips_keep_it_there() {
    let mut f = flow("timely", |_| ());
    assert_eq!(rate(&f), 10 * G);
    (1..20).for_each(|n| assert_eq!(complete(&mut f, n, us(40)), 10 * G));
    assert_eq!((f.count(Action::Cut), f.count(Action::Increase)), (0, 0));
}

#[test]
fn above_t_high_it_cuts_by_the_distance_from_it() {
    let mut f = flow("timely", |_| ());
    // 1 - 0.8 (1 - 500/1000) = 0.6
    assert_eq!(complete(&mut f, 1, us(1000)), 6 * G);
    // The gradient is zero and does not matter: again.
    assert_eq!(complete(&mut f, 2, us(1000)), 3600 * M);
    // At t_high itself the gradient decides, and it falls.
    assert_eq!(complete(&mut f, 3, us(500)), 3610 * M);
    assert_eq!((f.count(Action::Cut), f.count(Action::Increase)), (2, 1));
}

#[test]
fn a_rising_round_trip_cuts_by_the_gradient() {
    let mut f = flow("timely", |p| p.ewma = 0.5);
    // The first one has no gradient: an increase, at line rate already.
    assert_eq!(complete(&mut f, 1, us(100)), 10 * G);
    // D = 0.5 * 10 us; gradient 0.25 of 20 us: 1 - 0.8 * 0.25.
    assert_eq!(complete(&mut f, 2, us(110)), 8 * G);
    // D = 0.5 * 5 + 0.5 * 0 us; gradient 0.125.
    assert_eq!(complete(&mut f, 3, us(110)), 7200 * M);
    // D = 1.25 - 5 us < 0: a step of 10 Mb/s.
    assert_eq!(complete(&mut f, 4, us(100)), 7210 * M);
    // Below t_low the gradient does not matter, however steep.
    complete(&mut f, 5, us(20));
    assert_eq!(complete(&mut f, 6, us(49)), 7230 * M);
    // A steep one would cut to less than nothing: the floor is 1 % of the line.
    assert_eq!(complete(&mut f, 7, us(499)), 100 * M);
}

#[test]
fn the_fifth_increase_by_gradient_in_a_row_is_five_steps() {
    let mut f = flow("timely", |_| ());
    assert_eq!(cut(&mut f), 6 * G);
    let steps = |f: &mut Point<Flow>, first: u64, rtts: &[u64]| -> Vec<u64> {
        let mut before = rate(f);
        let step = |(n, rtt): (usize, &u64)| {
            let now = complete(f, first + n as u64, us(*rtt));
            let by = (now - before) / (10 * M);
            before = now;
            by
        };
        rtts.iter().enumerate().map(step).collect()
    };
    // Below t_low: single steps, which the count ignores.
    assert_eq!(steps(&mut f, 2, &[100, 100, 40, 40, 40, 40, 40, 40]), [1, 1, 1, 1, 1, 1, 1, 1]);
    // Two by gradient were counted before; D falls back to below zero after the rise from 40.
    complete(&mut f, 10, us(100));
    let after_cut = rate(&f);
    assert!(after_cut < 6 * G, "the rise from 40 us cuts");
    complete(&mut f, 11, us(60));
    assert_eq!(steps(&mut f, 12, &[60, 60, 60, 60, 60]), [1, 1, 1, 5, 5]);
}

#[test]
fn hpccs_form_counts_every_increase_and_decides_once_per_round_trip() {
    let mut f = flow("timely-hpcc", |_| ());
    let ack = |f: &mut Point<Flow>, seq: u64, sent_to: u64, rtt: Time| {
        let ack = Ack { seq, acked_to: seq, sent_to, rtt, ..Ack::default() };
        f.hook(|flow, cx| flow.on_ack(&ack, cx));
        rate(f)
    };
    // The first only stores, the others up to the 20 packets in flight then decide nothing.
    assert_eq!(ack(&mut f, 1000, 20_000, us(1000)), 10 * G);
    assert_eq!(ack(&mut f, 20_000, 40_000, us(1000)), 10 * G);
    // Nothing is taken off: 1 - 0.8 (1 - 500/1000).
    assert_eq!(ack(&mut f, 21_000, 41_000, us(1000)), 6 * G);
    let mut sent_to = 41_000;
    let mut step = |f: &mut Point<Flow>| {
        let before = rate(f);
        let now = ack(f, sent_to + 1000, sent_to + 20_000, us(40));
        sent_to += 20_000;
        (now - before) / M
    };
    // rdma-hw.cc: the stage is compared before it rises, so the sixth is the first fast one.
    let steps: Vec<u64> = (0..8).map(|_| step(&mut f)).collect();
    assert_eq!(steps, [10, 10, 10, 10, 10, 50, 50, 50]);
    assert_eq!(f.params.hai_counts, HaiCounts::Increases);
}

#[test]
fn it_agrees_with_the_simulators_form_but_for_whole_nanoseconds_and_bits() {
    use fanin_cc::schemes::timely_ns3::TimelyNs3;
    let mut ours = flow("timely-hpcc", |p| {
        p.additive_increase = RateOrShare::Rate(Rate::from_mbps(100));
        p.min_rate = RateOrShare::Rate(Rate::from_mbps(100));
    });
    let mut params = TimelyNs3::preset("timely-ns3");
    (params.min_rate, params.rate_hai) = (Rate::from_mbps(100), Rate::from_mbps(500));
    let mut theirs: Point<fanin_cc::schemes::timely_ns3::Flow> = Point::new(params, 10, 125_000);
    let mut random = 1u64;
    for n in 0..500u64 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let rtt = Time::from_ns(20_000 + (random >> 33) % 600_000);
        let (seq, sent_to) = (n * 20_000 + 1000, (n + 1) * 20_000);
        let ack = Ack { seq, acked_to: seq, sent_to, rtt, ..Ack::default() };
        ours.hook(|flow, cx| flow.on_ack(&ack, cx));
        theirs.hook(|flow, cx| flow.on_ack(&ack, cx));
        // Each decision truncates there and rounds here: a bit at most, which later cuts only shrink.
        assert!(rate(&ours).abs_diff(theirs.rate()) < 50, "decision {n}: {} {}", rate(&ours), theirs.rate());
    }
}

#[test]
fn the_patched_law_rests_where_its_terms_cancel() {
    let mut f = flow("timely-patched", |_| ());
    // Level: w = 1/2, so the rate goes to delta (1 - w) / (beta w error) = 10 Mb/s / (0.008 * 0.2) at 60 us.
    let mut n = 1;
    let mut level = |f: &mut Point<Flow>, rtt: u64, times: u64| {
        (0..times).for_each(|_| {
            complete(f, n, us(rtt));
            n += 1;
        });
        rate(f)
    };
    let rest = level(&mut f, 60, 40_000);
    assert!(rest.abs_diff(6250 * M) < 2 * M, "{rest}");
    // From below as well.
    level(&mut f, 1000, 2000);
    assert!(rate(&f) < 1000 * M);
    let rest = level(&mut f, 60, 40_000);
    assert!(rest.abs_diff(6250 * M) < 2 * M, "{rest}");
    // A steep rise: w = 1, no step: R (1 - 0.008 * 1), D = 0.875 * 40 us.
    let before = rate(&f) as f64;
    assert_eq!(level(&mut f, 100, 1), (before * (1.0 - 0.008) + 0.5) as u64);
    // A steep fall: w = 0, a whole step.
    let before = rate(&f);
    assert_eq!(level(&mut f, 60, 1), before + 10 * M);
}

#[test]
fn segments_leave_at_line_rate_and_begin_at_the_pace_of_the_rate() {
    let mut f = flow("timely", |_| ());
    assert_eq!(cut(&mut f), 6 * G);
    f.now = us(2000);
    assert!(f.control().not_before <= f.now);
    for packet in 0..10 {
        assert_eq!(f.control().rate.as_bps(), 10 * G);
        assert!(f.control().not_before <= f.now, "packet {packet}");
        send(&mut f);
        f.now += Time::from_ns(832);
    }
    // 10,400 B at 6 Gb/s: 13.87 us after the first packet.
    assert_eq!(f.control().not_before, us(2000) + Time::from_ps(13_866_667));
    // A cut in the gap moves the next segment: 3.6 Gb/s.
    assert_eq!(complete(&mut f, 2, us(1000)), 3600 * M);
    assert_eq!(f.control().not_before, us(2000) + Time::from_ps(23_111_112));
    // One within the next segment does not stop it.
    f.now = us(2030);
    send(&mut f);
    complete(&mut f, 3, us(1000));
    assert!(f.control().not_before <= f.now);
}

#[test]
fn darts_form_has_a_window_of_the_rate_times_the_last_round_trip() {
    let mut f = flow("timely-dart", |_| ());
    // No pacing; it begins with the bandwidth-delay product of the idle path (10 us).
    assert_eq!((f.control().rate.as_bps(), f.control().window), (10 * G, 12_500));
    let ack = |f: &mut Point<Flow>, n: u64, rtt: Time| {
        let ack = Ack { seq: n * 20_000 + 1, sent_to: (n + 1) * 20_000, rtt, ..Ack::default() };
        f.hook(|flow, cx| flow.on_ack(&ack, cx));
    };
    ack(&mut f, 0, us(100));
    ack(&mut f, 1, us(1000));
    // 6 Gb/s for 1 ms.
    assert_eq!((rate(&f), f.control().window), (6 * G, 750_000));
    // Dart VI-A: a step of 1 Mb/s; D is measured in units of the path's 10 us.
    ack(&mut f, 2, us(40));
    assert_eq!((rate(&f), f.control().window), (6001 * M, 30_005));
    // Never less than a packet.
    let mut f = flow("timely-dart", |p| p.min_rate = RateOrShare::Rate(Rate::from_mbps(1)));
    (0..40).for_each(|n| ack(&mut f, n, us(5000)));
    ack(&mut f, 40, us(1));
    assert_eq!((rate(&f), f.control().window), (2 * M, 1000));
}

#[test]
fn the_window_of_hpccs_comparison_shrinks_with_the_rate() {
    let mut f = flow("timely-win", |_| ());
    assert_eq!((f.params.window, f.control().window), (Window::Bdp, 125_000));
    let ack = |n: u64| Ack { seq: n * 20_000 + 1, sent_to: (n + 1) * 20_000, rtt: us(1000), ..Ack::default() };
    (0..2).for_each(|n| {
        f.hook(|flow, cx| flow.on_ack(&ack(n), cx));
    });
    assert_eq!((f.rate(), f.control().window), (6 * G, 75_000));
}
