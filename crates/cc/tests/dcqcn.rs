//! DCQCN on a virtual clock: scripted CNPs, bytes and marks, with numbers computed by hand.
//!
//! Tests named `dN_...` each check one fact of the paper, or of common simulators.

use crate::common::point::{G, Paper, Point, paper, paper_with};
use crate::common::{data, nic, us};
use fanin_cc::schemes::dcqcn::{self, CnpTiming, Dcqcn, FastRecoveryWhile, RateOrShare};
use fanin_cc::{Action, Emit, FlowInfo, Pool, ReceiverFlow, Scheme, Sender};
use fanin_units::{MessageId, NodeId, Rate, Time};

/// A receiver with its clock. Every CNP is noted with its time and flow.
struct Notifier {
    pool: Pool<Dcqcn>,
    now: Time,
    cnps: Vec<(Time, u32)>,
}

impl Notifier {
    fn new(cnp: CnpTiming, flows: u32) -> Self {
        let mut pool = Pool::new(dcqcn::Params { cnp, ..Dcqcn::preset("dcqcn") });
        pool.add_host(&nic(10));
        for i in 0..flows {
            let flow = FlowInfo::new(ReceiverFlow(i), MessageId(i), NodeId(i));
            pool.receiver_open(0, Time::ZERO, &flow);
        }
        Self { pool, now: Time::ZERO, cnps: Vec::new() }
    }

    fn poll(&mut self) {
        while let Some(emit) = self.pool.receiver_poll(0, self.now) {
            let Emit::Cnp(flow) = emit else { panic!("DCQCN sends CNPs and nothing else, not {emit:?}") };
            self.cnps.push((self.now, flow.0));
        }
    }

    fn at(&mut self, t: Time) -> &mut Self {
        while self.pool.receiver_wake_at(0) <= t {
            self.now = self.pool.receiver_wake_at(0);
            self.pool.receiver_timer(0, self.now, 0);
            self.poll();
        }
        self.now = t;
        self
    }

    fn packet(&mut self, flow: u32, ce: bool) -> &mut Self {
        let plan = self.pool.receiver_data(0, self.now, &data(flow, 0, ce));
        assert_eq!(plan.now.map(|ack| ack.ecn_echo), Some(false), "the mark travels in CNPs, not on ACKs");
        self.poll();
        self
    }

    fn marked(&mut self, flow: u32) -> &mut Self {
        self.packet(flow, true)
    }

    fn times(&self, flow: u32) -> Vec<Time> {
        self.cnps.iter().filter(|cnp| cnp.1 == flow).map(|cnp| cnp.0).collect()
    }
}

// ---- the claim about Dart's baseline ----

#[test]
fn dart_baseline_dcqcn() {
    // Two flows, every packet marked, 1.2 us apart: CNPs of one flow are at least 50 us apart, under both readings.
    let mut least = Time::NEVER;
    for cnp in [CnpTiming::AtOnce, CnpTiming::IntervalEnd] {
        let mut receiver = Notifier::new(cnp, 2);
        for i in 0..1000 {
            receiver.at(Time::from_ns(1200 * i)).marked((i % 2) as u32);
        }
        for flow in 0..2 {
            let times = receiver.times(flow);
            assert!(times.len() >= 20, "{} CNPs in 1.2 ms", times.len());
            assert!(times.windows(2).all(|t| t[1] - t[0] >= us(50)), "{times:?}");
            least = times.windows(2).map(|t| t[1] - t[0]).fold(least, Time::min);
        }
    }

    // The first cut halves the rate, and alpha decays by 1 - g each 55 us without a CNP.
    let mut point = paper(10);
    point.at(us(3)).cnp();
    assert_eq!(point.rate(), 5 * G);
    let mut alpha = 1.0;
    for k in 0..20 {
        assert_eq!(point.at(us(3 + 55 * k)).alpha(), alpha);
        assert_eq!(point.at(us(3 + 55 * k + 54)).alpha(), alpha);
        alpha *= 1.0 - 1.0 / 256.0;
    }

    // Byte counter and timer driven in turn: fast recovery up to F = 5, additive until both are past 5, then hyper.
    let mut point = paper(10);
    point.halved(3);
    let (start, mut stages) = (point.now, Vec::new());
    let mut before = point.steps();
    for round in 1..=8 {
        for by_bytes in [true, false] {
            if by_bytes {
                point.send_bytes(10_000_000)
            } else {
                point.at(start + us(55 * round))
            };
            let after = point.steps();
            stages.push(match (after.0 - before.0, after.1 - before.1, after.2 - before.2) {
                (1, 0, 0) => 'f',
                (0, 1, 0) => 'a',
                (0, 0, 1) => 'h',
                other => panic!("one step at a time, not {other:?}"),
            });
            before = after;
        }
    }
    let stages: String = stages.iter().collect();
    assert_eq!(stages, "ffffffffaaahhhhh");
    let mut rows = fanin_claims::claim!("dart-baseline-dcqcn");
    rows.asserted("shortest gap of a flow's CNPs, every packet marked", "50 us at least", least.to_string());
    rows.asserted(
        "rate after the first CNP, and alpha after 55 us without one",
        "1/2, times 1 - g",
        "1/2, times 255/256",
    );
    rows.asserted(
        "stages with byte counter and timer in turn: fast recovery, additive, hyper",
        "in this order, F = 5",
        stages,
    );
}

// ---- the paper's facts ----

#[test]
fn d2_cnp_interval() {
    let mut receiver = Notifier::new(CnpTiming::AtOnce, 2);
    // Each flow has its own 50 us, and packets without a mark send nothing.
    receiver.at(us(10)).marked(0).marked(0).packet(1, false);
    receiver.at(us(30)).marked(1).marked(0);
    receiver.at(us(59)).marked(0).at(us(60)).marked(0).marked(1);
    receiver.at(us(80)).marked(1);
    assert_eq!(receiver.cnps, [(us(10), 0), (us(30), 1), (us(60), 0), (us(80), 1)]);
    assert_eq!(receiver.pool.actions().get(Action::CnpSent), 4);
    assert_eq!(receiver.pool.actions().get(Action::MarkSeen), 8);
}

#[test]
fn d3_alpha_timer() {
    // K = 55 us is above N = 50 us: a flow that is always marked keeps alpha at 1 and halves each time.
    let mut point = paper(10);
    point.halved(4);
    assert_eq!((point.alpha(), point.rate()), (1.0, 10 * G / 16));
    // With K below N alpha decays once between any two CNPs: 1 -> 255/256 -> (255/256)^2 + 1/256.
    let mut point = paper_with(|p| p.alpha_timer = us(45));
    point.at(us(50)).cnp().at(us(100)).cnp();
    assert_eq!(point.alpha(), 255.0 * 255.0 / 65536.0 + 1.0 / 256.0);
}

#[test]
fn d4_cut_and_alpha() {
    let mut point = paper(10);
    // First CNP: RT = 10 G, RC = 10 G (1 - 1/2), alpha = (255/256) 1 + 1/256.
    point.cnp();
    assert_eq!((point.rate(), point.target(), point.alpha()), (5 * G, 10 * G, 1.0));
    // At 55 and 110 us: alpha decays twice, and RC goes halfway to 10 G twice.
    point.at(us(120));
    assert_eq!((point.rate(), point.target(), point.alpha()), (8_750_000_000, 10 * G, 65025.0 / 65536.0));
    // Cut by the old alpha: 8.75 G (1 - 65025/131072) = 4 409 112 930.3; then alpha = 65025 255/2^24 + 1/256.
    point.cnp();
    assert_eq!((point.rate(), point.target(), point.alpha()), (4_409_112_930, 8_750_000_000, 16646911.0 / 16777216.0));
    assert_eq!(point.count(Action::Cut), 2);
    // The floor is 10 Mb/s at 10 Gb/s; a CNP there cuts nothing.
    point.halved(12);
    assert_eq!(point.rate(), 10_000_000);
    let cuts = point.count(Action::Cut);
    point.halved(1);
    assert_eq!((point.rate(), point.count(Action::Cut)), (10_000_000, cuts));
}

#[test]
fn d4_a_timer_due_at_the_instant_of_a_cnp_acts_first() {
    // The CNP arrives at the very instant of the first step, before the timer's own call.
    let mut point = paper(10);
    point.cnp();
    point.now = us(55);
    point.cnp();
    // First the step (7.5 G) and the decay (255/256), then the cut: 7.5 G (1 - 255/512) = 3 764 648 437.5, half up.
    assert_eq!((point.rate(), point.target()), (3_764_648_438, 7_500_000_000));
    // The call after it changes nothing.
    point.hook(|flow, cx| flow.on_timer(cx));
    assert_eq!(point.steps(), (1, 0, 0));
}

#[test]
fn d5_timer_byte_counter_and_steps() {
    let mut point = paper(40);
    point.halved(5);
    let start = point.now;
    assert_eq!((point.rate(), point.target()), (1_250_000_000, 2_500_000_000));
    // Not a step before 55 us, nor before 10 MB.
    point.send_bytes(9_999_999).at(start + us(55) - Time::from_ps(1));
    assert_eq!(point.steps(), (0, 0, 0));
    point.send(1);
    assert_eq!((point.steps(), point.rate()), ((1, 0, 0), 1_875_000_000));
    point.at(start + us(55));
    assert_eq!((point.steps(), point.rate()), ((2, 0, 0), 2_187_500_000));
    // Bytes beyond the 10 MB count towards the next step.
    point.send_bytes(9_999_500).send(1000).send_bytes(9_999_499);
    assert_eq!(point.steps(), (3, 0, 0));
    point.send(1);
    assert_eq!(point.steps(), (4, 0, 0));
    // The timer's fifth step is the first additive one: R_AI = 40 Mb/s at 40 Gb/s.
    point.at(start + us(4 * 55));
    assert_eq!((point.steps(), point.target()), ((7, 0, 0), 2_500_000_000));
    point.at(start + us(5 * 55));
    assert_eq!((point.steps(), point.target()), ((7, 1, 0), 2_540_000_000));
}

#[test]
fn d6_additive_step_scales_with_the_line() {
    for (gbps, mbps) in [(10, 10), (40, 40), (100, 100)] {
        let mut point = paper(gbps);
        point.halved(2);
        let (start, target) = (point.now, point.target());
        point.at(start + us(4 * 55));
        assert_eq!(point.target(), target);
        point.at(start + us(7 * 55));
        assert_eq!(point.target(), target + 3 * mbps * 1_000_000);
    }
    let mut point = paper_with(|p| p.additive_increase = RateOrShare::Rate(Rate::from_mbps(7)));
    point.halved(2).at(us(100 + 5 * 55));
    assert_eq!(point.target(), 5 * G + 7_000_000);
}

#[test]
fn d9_gain() {
    assert_eq!(Dcqcn::preset("dcqcn").g, 1.0 / 256.0);
    // With g = 1/16 one decay takes 1/16 of alpha.
    let mut point = paper_with(|p| p.g = 1.0 / 16.0);
    point.cnp().at(us(55));
    assert_eq!(point.alpha(), 15.0 / 16.0);
}

#[test]
fn d10_initial_alpha() {
    // 1 by default; simulators that start at 0.5 cut a quarter first.
    let mut point = paper_with(|p| p.initial_alpha = 0.5);
    // No timer runs before the first CNP, however late it is.
    point.at(us(10_000)).cnp();
    assert_eq!((point.rate(), point.alpha()), (7_500_000_000, 0.5 * 255.0 / 256.0 + 1.0 / 256.0));
}

#[test]
fn d11_hyper_step_is_ten_additive_ones() {
    let mut point = paper(10);
    point.halved(4);
    let start = point.now;
    for round in 1..=6 {
        point.send_bytes(10_000_000).at(start + us(55 * round));
    }
    // Target 1.25 G, three additive steps of 10 Mb/s, one hyper step of 100 Mb/s.
    assert_eq!((point.steps(), point.target()), ((8, 3, 1), 1_380_000_000));
}

#[test]
fn d12_line_rate_start_and_resets() {
    let mut point = paper(10);
    assert_eq!((point.rate(), point.control().wake_at), (10 * G, Time::NEVER));
    // Bytes before the first CNP count for nothing.
    point.send_bytes(9_999_999).cnp().send(1);
    assert_eq!(point.steps(), (0, 0, 0));
    // Three steps, and 9 MB and 54 us towards the next, all forgotten at the next cut.
    point.at(us(3 * 55 + 54)).send_bytes(9_000_000).cnp();
    assert_eq!(point.steps(), (3, 0, 0));
    assert_eq!(point.control().wake_at, us(3 * 55 + 54 + 55));
    point.send_bytes(9_999_999);
    assert_eq!(point.steps(), (3, 0, 0));
    point.send(1);
    assert_eq!(point.steps(), (4, 0, 0));
    // T is back at 0: four steps of fast recovery again (one was the byte counter's), then an additive one.
    point.at(us(3 * 55 + 54 + 5 * 55));
    assert_eq!(point.steps(), (8, 1, 0));
}

#[test]
fn d12_a_flow_that_got_back_to_line_rate_rests() {
    let mut point = paper(10);
    point.cnp();
    // 5 G short: 33 halvings leave less than half a bit per second.
    point.at(us(32 * 55));
    assert_eq!(point.rate(), 10 * G - 1);
    point.at(us(33 * 55));
    assert_eq!((point.rate(), point.control().wake_at), (10 * G, Time::NEVER));
    // Its alpha went on decaying: 1000 times in 55 ms.
    point.at(us(55_000));
    let alpha = (0..1000).fold(1.0, |alpha, _| alpha * (1.0 - 1.0 / 256.0));
    assert_eq!(point.alpha(), alpha);
    point.cnp();
    assert_eq!(point.rate(), (1e10 * (1.0 - alpha / 2.0) + 0.5) as u64);
}

#[test]
fn d14_two_readings_of_the_interval() {
    let marks = |receiver: &mut Notifier| {
        receiver.at(us(10)).marked(0).at(us(15)).marked(0).at(us(40)).marked(0);
        receiver.at(us(75)).marked(0).at(us(200)).marked(0).at(us(300)).marked(0);
        receiver.at(us(1000));
        receiver.times(0)
    };
    // The first mark after 50 us have passed.
    assert_eq!(marks(&mut Notifier::new(CnpTiming::AtOnce, 1)), [us(10), us(75), us(200), us(300)]);
    // The windows after 10 us and after 60 us had marks; those after 110, 200 and 300 us had none.
    assert_eq!(marks(&mut Notifier::new(CnpTiming::IntervalEnd, 1)), [us(10), us(60), us(110), us(200), us(300)]);
}

#[test]
fn d14_a_closed_flow_sends_no_late_cnp() {
    let mut receiver = Notifier::new(CnpTiming::IntervalEnd, 2);
    receiver.at(us(1)).marked(0).marked(0).at(us(2)).marked(1).marked(1);
    receiver.pool.receiver_close(0, us(3), ReceiverFlow(0));
    receiver.at(us(500));
    assert_eq!(receiver.cnps, [(us(1), 0), (us(2), 1), (us(52), 1)]);
}

#[test]
fn d14_a_mark_at_the_very_end_of_a_window_comes_before_its_timer() {
    let mut receiver = Notifier::new(CnpTiming::IntervalEnd, 1);
    receiver.at(us(1)).marked(0).marked(0);
    receiver.now = us(51);
    receiver.marked(0);
    assert_eq!(receiver.cnps, [(us(1), 0), (us(51), 0)]);
    // That was the flow's last packet: nothing of it is left for the timer.
    receiver.pool.receiver_close(0, us(51), ReceiverFlow(0));
    receiver.at(us(500));
    assert_eq!(receiver.cnps, [(us(1), 0), (us(51), 0)]);
}

#[test]
fn d16_fast_recovery_steps() {
    let fast = |until| {
        let mut point = paper_with(|p| p.fast_recovery_while = until);
        point.cnp().at(us(55 * 20));
        point.steps()
    };
    assert_eq!(fast(FastRecoveryWhile::Below), (4, 16, 0));
    assert_eq!(fast(FastRecoveryWhile::UpTo), (5, 15, 0));
}

#[test]
fn d17_hyper_needs_both_counters() {
    // The timer alone, far past F: always additive.
    let mut point = paper(10);
    point.halved(4).at(us(200 + 55 * 30));
    assert_eq!(point.steps(), (4, 26, 0));
    // Then the byte counter: its steps 1 to 5 are additive, from the sixth on min(T, BC) - F = 1, 2, 3.
    let mut point = paper(10);
    point.halved(4).at(us(200 + 55 * 10));
    let target = point.target();
    point.send_bytes(50_000_000);
    assert_eq!((point.steps(), point.target()), ((4, 11, 0), target + 50_000_000));
    point.send_bytes(30_000_000);
    assert_eq!((point.steps(), point.target()), ((4, 11, 3), target + 50_000_000 + 600_000_000));
}

#[test]
fn window_is_the_networks_bdp_times_rate_over_line() {
    let mut point: Paper = Point::new(Dcqcn::preset("dcqcn-win"), 10, 75_001);
    assert_eq!(point.control().window, 75_001);
    point.cnp();
    assert_eq!(point.control().window, 37_500);
    point.at(us(55));
    assert_eq!(point.control().window, 56_250);
    let mut point: Paper = Point::new(Dcqcn::preset("dcqcn-win"), 10, 100);
    point.halved(12);
    assert_eq!(point.control().window, 1, "never below one byte");
    assert_eq!(paper(10).control().window, u64::MAX);
}

#[test]
fn unclamped_target_stays_until_an_increase_step() {
    let mut point = paper_with(|p| p.clamp_target = false);
    point.halved(3);
    assert_eq!((point.rate(), point.target()), (1_250_000_000, 10 * G));
    // One step makes the next CNP set it.
    point.at(us(150 + 60)).cnp();
    assert_eq!(point.target(), (1_250_000_000 + 10 * G) / 2);
}
