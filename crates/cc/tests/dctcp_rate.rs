//! The rate form of DCTCP on a virtual clock, with numbers computed by hand. A segment is 1000 bytes.

use crate::common::point::{G, Point};
use crate::common::tcp::{MSS, Stream};
use crate::common::us;
use fanin_cc::schemes::dcqcn::RateOrShare;
use fanin_cc::schemes::dctcp_rate::{DctcpRate, Flow, Params};
use fanin_cc::{Action, Scheme};
use fanin_units::{Rate, Time};

/// At 10 Gb/s with 20 segments in flight, and without a window of its own.
fn flow(change: impl FnOnce(&mut Params)) -> Stream<Flow> {
    let mut params = Params { window: false, ..DctcpRate::preset("dctcp-rate") };
    change(&mut params);
    DctcpRate::check(&params).unwrap();
    let mut stream = Stream::new(params);
    (0..20).for_each(|_| {
        stream.send(false);
    });
    stream
}

/// One ACK, upon which one segment goes out. The rate after it.
fn ack(s: &mut Stream<Flow>, echo: bool) -> u64 {
    s.ack_bytes(MSS, echo);
    s.send(false);
    s.point.rate()
}

#[test]
fn it_starts_at_line_rate_and_stays_there_without_marks() {
    let mut s = flow(|_| ());
    assert_eq!(s.point.rate(), 10 * G);
    (0..100).for_each(|_| assert_eq!(ack(&mut s, false), 10 * G));
    assert_eq!((s.count(Action::Cut), s.count(Action::Increase)), (0, 0));
    // Six windows have ended, the first with the first ACK.
    let alpha = (0..5).fold(1.0, |alpha, _| alpha * (15.0 / 16.0));
    assert_eq!(s.point.flow.alpha(), alpha);
}

#[test]
fn it_cuts_by_alpha_once_per_window_of_data() {
    let mut s = flow(|_| ());
    // The first ACK ends a window without marks: alpha = 15/16; the second is marked: 10 G (1 - 15/32).
    ack(&mut s, false);
    assert_eq!(ack(&mut s, true), 5_312_500_000);
    // Data in flight at the cut (19 segments) neither cuts nor raises, though a window of alpha ends in it.
    for _ in 0..19 {
        assert_eq!(ack(&mut s, true), 5_312_500_000);
    }
    assert_eq!((s.point.flow.alpha(), s.count(Action::Cut)), (15.0 / 16.0 * 15.0 / 16.0 + 1.0 / 16.0, 1));
    // The first byte sent after the cut may cut again.
    let expected = (5_312_500_000.0 * (1.0 - s.point.flow.alpha() / 2.0) + 0.5) as u64;
    assert_eq!((ack(&mut s, true), s.count(Action::Cut)), (expected, 2));
}

#[test]
fn it_climbs_by_a_constant_each_window_of_data() {
    let mut s = flow(|_| ());
    ack(&mut s, true);
    // alpha stays 1 by the mark on the first ACK: half.
    assert_eq!(s.point.rate(), 5 * G);
    // Nothing for data in flight at the cut, then 61.5 Mb/s for each window of 20: 0.615 % of 10 Gb/s.
    let mut steps = Vec::new();
    let mut rate = 5 * G;
    for n in 1..=100 {
        let now = ack(&mut s, false);
        if now != rate {
            assert_eq!(now, rate + 61_500_000);
            steps.push(n);
        }
        rate = now;
    }
    // The first window ends with the ACK that is the first beyond the cut, so it counts.
    assert_eq!(steps, [20, 40, 60, 80, 100]);
    assert_eq!(s.count(Action::Increase), 5);
    // Not above the line.
    let mut s = flow(|p| p.additive_increase = RateOrShare::Rate(Rate::from_gbps(3)));
    ack(&mut s, true);
    (0..100).for_each(|_| {
        ack(&mut s, false);
    });
    assert_eq!((s.point.rate(), s.count(Action::Increase)), (10 * G, 2));
}

#[test]
fn it_never_falls_below_its_floor() {
    let mut s = flow(|_| ());
    (0..500).for_each(|_| {
        ack(&mut s, true);
    });
    assert_eq!(s.point.rate(), G / 10);
    // 5, 2.5, 1.25, 0.625, 0.3125, 0.15625, 0.1: seven cuts, and none where there is nothing to cut.
    assert_eq!(s.count(Action::Cut), 7);
    let mut s = flow(|p| p.min_rate = RateOrShare::Rate(Rate::from_gbps(2)));
    (0..500).for_each(|_| {
        ack(&mut s, true);
    });
    assert_eq!(s.point.rate(), 2 * G);
}

#[test]
fn its_window_is_the_networks_bdp_times_rate_over_line() {
    let mut point: Point<Flow> = Point::new(DctcpRate::preset("dctcp-rate"), 100, 163_001);
    assert_eq!((point.control().window, point.control().wake_at), (163_001, Time::NEVER));
    let ack = fanin_cc::Ack {
        newly_acked: MSS,
        acked_to: MSS,
        seq: MSS,
        sent_to: 20 * MSS,
        in_flight: 20 * MSS,
        ecn_echo: true,
        rtt: us(13),
        ..fanin_cc::Ack::default()
    };
    point.hook(|flow, cx| fanin_cc::Sender::on_ack(flow, &ack, cx));
    // HPCC's simulator at 100 Gb/s: half of the line, floor(163001/2), later steps of 615 Mb/s.
    assert_eq!((point.rate(), point.control().window), (50 * G, 81_500));
    let later = |acked_to, sent_to| fanin_cc::Ack { acked_to, seq: acked_to, sent_to, ecn_echo: false, ..ack };
    point.hook(|flow, cx| fanin_cc::Sender::on_ack(flow, &later(21 * MSS, 40 * MSS), cx));
    assert_eq!((point.rate(), point.control().window), (50_615_000_000, (163_001u64 * 50_615 / 100_000)));
    assert_eq!(flow(|_| ()).window(), u64::MAX);
}
