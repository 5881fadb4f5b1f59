//! HPCC at its sender: the paper's Algorithm 1, rule by rule, and against a second writing of it.

use crate::common::{PAYLOAD, WIRE, us};
use fanin_cc::schemes::hpcc::{Flow, Hpcc, Params, additive_increase, initial_window};
use fanin_cc::{Ack, Action, Actions, Cx, IntHop, Loss, PathInfo, Scheme, Sender, Telemetry};
use fanin_claims::strict;
use fanin_units::{Bytes, NodeId, Rate, Time};

const MSS: u64 = PAYLOAD as u64;

/// A flow at 100 Gb/s with T = 13 us, its clock and its counters.
struct Bed {
    flow: Flow,
    params: Params,
    actions: Actions,
    now: Time,
}

impl Bed {
    fn new(preset: &str, gbps: u64, rtt: Time, change: impl FnOnce(&mut Params)) -> Self {
        let mut params = Hpcc::preset(preset);
        params.base_rtt = rtt;
        change(&mut params);
        let mut actions = Actions::default();
        let (shared, now) = (&mut (), Time::ZERO);
        let mut cx = Cx::new(now, &params, shared, &mut actions);
        let line = Rate::from_gbps(gbps);
        let path = PathInfo { base_rtt: us(10), network_bdp: 1, ..PathInfo::new(line, us(12), PAYLOAD, WIRE) };
        let flow = Flow::open(&path, &mut cx);
        Self { flow, params, actions, now }
    }

    fn paper() -> Self {
        Self::new("hpcc", 100, us(13), |_| ())
    }

    fn cx<T>(&mut self, hook: impl FnOnce(&mut Flow, &mut Cx<'_, Params>) -> T) -> T {
        hook(&mut self.flow, &mut Cx::new(self.now, &self.params, &mut (), &mut self.actions))
    }

    /// An ACK up to `acked_to`, when `sent_to` is next, with telemetry.
    fn ack(&mut self, acked_to: u64, sent_to: u64, telemetry: Option<&Telemetry>) -> f64 {
        let ack = Ack {
            seq: acked_to,
            newly_acked: MSS,
            acked_to,
            sent_to,
            in_flight: sent_to - acked_to,
            ecn_echo: true,
            rtt: us(13),
            telemetry,
            ..Ack::default()
        };
        self.cx(|flow, cx| flow.on_ack(&ack, cx));
        self.flow.window()
    }

    fn count(&self, action: Action) -> u64 {
        self.actions.get(action)
    }
}

/// Telemetry of one path; switches have the numbers 1, 2, ...
fn path(hops: &[IntHop]) -> Telemetry {
    let mut telemetry = Telemetry::default();
    (1..).zip(hops).for_each(|(switch, hop)| telemetry.push(NodeId(switch), *hop));
    telemetry
}

fn hop(gbps: u64, ns: u64, sent: u64, queued: u64) -> IntHop {
    IntHop { rate: Rate::from_gbps(gbps), time: Time::from_ns(ns), sent, queued }
}

/// A link of 100 Gb/s that is read every `T` = 13 us, so that U is the last reading. The test sets its load.
struct Steady {
    bed: Bed,
    ns: u64,
    sent: u64,
    /// Next byte acknowledged, in packets.
    packet: u64,
}

impl Steady {
    fn new(preset: &str, change: impl FnOnce(&mut Params)) -> Self {
        let mut it = Self { bed: Bed::new(preset, 100, us(13), change), ns: 1000, sent: 0, packet: 0 };
        // The first only records.
        it.ack(0.0, 0, 0);
        it
    }

    /// One ACK that reports this load and queue, with `flight` packets on the way.
    fn ack(&mut self, load: f64, queued: u64, flight: u64) -> f64 {
        self.ns += 13_000;
        self.sent += (162_500.0 * load) as u64;
        self.packet += 1;
        let telemetry = path(&[hop(100, self.ns, self.sent, queued)]);
        self.bed.ack(self.packet * MSS, (self.packet + flight) * MSS, Some(&telemetry))
    }
}

#[test]
fn hpcc_winit_is_a_round_trip_of_the_nic() {
    assert_eq!(initial_window(Rate::from_gbps(100), us(13)), 162_500.0);
    assert_eq!(initial_window(Rate::from_gbps(25), us(9)), 28_125.0);
    let mut bed = Bed::paper();
    let control = bed.cx(|flow, cx| flow.control(cx));
    assert_eq!((control.window, control.rate, control.retime), (162_500, Rate::from_gbps(100), true));
    // Without a T of its own, the network's.
    let mut bed = Bed::new("hpcc", 25, Time::ZERO, |_| ());
    let control = bed.cx(|flow, cx| flow.control(cx));
    assert_eq!((control.window, control.rate), (37_500, Rate::from_gbps(25)));
    // The window is a number of bytes, rounded so that in-flight < window means in-flight < W; R = W/T.
    let mut it = Steady::new("hpcc", |_| ());
    let w = it.ack(1.5, 0, 10);
    let control = it.bed.cx(|flow, cx| flow.control(cx));
    assert!(control.window as f64 >= w && (control.window as f64) < w + 1.0);
    assert!((control.rate.as_bps() as f64 - w * 8.0 / 13e-6).abs() <= 0.5);
}

#[test]
fn hpcc_wai_rule() {
    let w = initial_window(Rate::from_gbps(100), us(13));
    let small = initial_window(Rate::from_gbps(100), us(4));
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
    let mut rows = fanin_claims::claim!("hpcc-wai-rule");
    for (window, flows, says) in [(w, 100, 81.25), (small, 16, 156.25), (small, 100, 25.0)] {
        let found = additive_increase(window, 0.95, flows);
        near(found, says);
        let what = format!("W_AI for {flows} flows with a window of {window} B, B");
        rows.row(what, &says.to_string(), format!("{found:.2}"), "exactly this", strict((found - says).abs() < 1e-9));
    }
    // As a parameter it takes the place of the 80 B.
    let mut it = Steady::new("hpcc", |p| p.expected_flows = 100);
    near(it.ack(1.9, 0, 10), w / 2.0 + 81.25);
    let mut it = Steady::new("hpcc", |_| ());
    near(it.ack(1.9, 0, 10), w / 2.0 + 80.0);
}

/// S1's P1 and P2 both leave a queue of four packets behind. The link carries four packets in T, so that with
/// eta = 1 either ACK alone asks for half the window.
#[test]
fn hpcc_fig5_overreaction() {
    let after = |preset: &str| {
        let mut bed = Bed::new(preset, 100, Time::from_ns(320), |p| {
            (p.eta, p.additive_increase) = (1.0, Bytes(0));
        });
        // The queue was long, and an ACK before these two showed it: min(qlen, last qlen) = 4 packets.
        let seen = |n: u64| path(&[hop(100, 320 * n, 4000 * n, 4000)]);
        bed.ack(1000, 9000, Some(&seen(0)));
        let w0 = bed.flow.window();
        // P1 and P2 were sent before S1 had any ACK.
        let halves = [1, 2].map(|n| bed.ack(1000 + 1000 * n, 9000, Some(&seen(n))) / w0);
        (halves, w0)
    };
    let mut rows = fanin_claims::claim!("hpcc-fig5-overreaction");
    for (preset, what, paper, expected) in [
        ("hpcc", "with the reference window", "W/2, W/2", [0.5, 0.5]),
        ("hpcc-per-ack", "where each ACK counts", "W/2, W/4", [0.5, 0.25]),
    ] {
        let (found, w0) = after(preset);
        assert_eq!((found, w0), (expected, 4000.0));
        let ours = format!("W/{}, W/{}", 1.0 / found[0], 1.0 / found[1]);
        rows.row(format!("windows after P1 and P2, {what}"), paper, ours, "exactly these", strict(found == expected));
    }
    // Neither P1 nor P2 was sent after the last change.
    assert_eq!(after("hpcc-per-rtt"), ([1.0, 1.0], 4000.0));
}

#[test]
fn hpcc_alg1_stages() {
    // U = eta/2 throughout, from a small window: five additive rounds, then one that doubles.
    let mut it = Steady::new("hpcc", |_| ());
    it.ack(30.0, 0, 0);
    let mut w = it.bed.flow.window();
    assert_eq!(it.bed.flow.stage(), 0);
    for round in 0..18 {
        let next = it.ack(0.475, 0, 0);
        let expected = if round % 6 == 5 { 2.0 * w + 80.0 } else { w + 80.0 };
        // A byte counter has no half bytes: 77,187 of 77,187.5.
        assert!((next / expected - 1.0).abs() < 1e-5, "round {round}: {next} {expected}");
        assert_eq!(it.bed.flow.stage(), if round % 6 == 5 { 0 } else { round % 6 + 1 });
        assert_eq!(it.bed.flow.reference(), next);
        w = next;
    }
    assert_eq!(it.bed.count(Action::AdditiveIncrease), 15);
    // At eta or above the count starts again at once, whatever it was.
    for before in 0..5 {
        (0..before).for_each(|_| {
            it.ack(0.475, 0, 0);
        });
        assert_eq!(it.bed.flow.stage(), before);
        it.ack(0.951, 0, 0);
        assert_eq!(it.bed.flow.stage(), 0);
    }
    // U = eta is not below it.
    let mut even = Steady::new("hpcc", |p| p.eta = 0.5);
    (0..2).for_each(|_| {
        even.ack(0.25, 0, 0);
    });
    assert_eq!((even.ack(0.5, 0, 0), even.bed.flow.stage()), (162_500.0, 0));
    // Within a round trip neither W_c nor the count moves.
    it.ack(0.475, 0, 50);
    let (reference, stage) = (it.bed.flow.reference(), it.bed.flow.stage());
    for load in [0.2, 0.95, 3.0, 0.5] {
        let expected = if load >= 0.95 { reference / (load / 0.95) + 80.0 } else { reference + 80.0 };
        let w = it.ack(load, 0, 50);
        assert!((w / expected - 1.0).abs() < 1e-4, "{load}: {w} {expected}");
        assert_eq!((it.bed.flow.reference(), it.bed.flow.stage()), (reference, stage));
    }
    let mut rows = fanin_claims::claim!("hpcc-alg1-stages");
    rows.asserted(
        "additive rounds before one that multiplies, and after a load of eta or more",
        "5, then anew",
        "5, then anew",
    );
}

#[test]
fn a_window_is_at_most_the_first_one_and_never_nothing() {
    let mut it = Steady::new("hpcc", |_| ());
    (0..30).for_each(|_| {
        it.ack(0.1, 0, 0);
    });
    assert_eq!(it.bed.flow.window(), 162_500.0);
    // The paper has no floor but the additive step.
    (0..40).for_each(|_| {
        it.ack(1.0, 100_000_000, 0);
    });
    let control = it.bed.cx(|flow, cx| flow.control(cx));
    assert_eq!((it.bed.flow.window().floor(), control.window), (80.0, 81));
    let mut it = Steady::new("hpcc", |p| p.min_window = Bytes(MSS));
    (0..40).for_each(|_| {
        it.ack(1.0, 100_000_000, 0);
    });
    assert_eq!(it.bed.flow.window(), 1000.0);
}

#[test]
fn hpcc_alg1_measure_corners() {
    let mut bed = Bed::paper();
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    // The first ACK only records, and takes its place as an update.
    let first = path(&[hop(100, 1000, 5000, 70_000)]);
    bed.ack(MSS, 50 * MSS, Some(&first));
    assert_eq!((bed.flow.utilisation(), bed.flow.window(), bed.flow.updated_to()), (None, 162_500.0, 50 * MSS));
    // Records of one time: nothing is divided, U stays unknown and W with it.
    bed.ack(2 * MSS, 50 * MSS, Some(&path(&[hop(100, 1000, 5000, 70_000)])));
    assert_eq!((bed.flow.utilisation(), bed.flow.window()), (None, 162_500.0));
    // 1,300 ns on: the smaller queue, 16,250 B, is a tenth of B T; 13,000 B in 1.3 us are 0.8 B. The first is taken
    // whole.
    bed.ack(3 * MSS, 50 * MSS, Some(&path(&[hop(100, 2300, 18_000, 16_250)])));
    near(bed.flow.utilisation().unwrap(), 0.9);
    // A tenth of T on: a tenth of the weight. u = 0 + 0.4.
    bed.ack(4 * MSS, 50 * MSS, Some(&path(&[hop(100, 3600, 24_500, 0)])));
    near(bed.flow.utilisation().unwrap(), 0.9 * 0.9 + 0.1 * 0.4);
    // One time again, now with a U: it stays.
    let u = bed.flow.utilisation();
    bed.ack(5 * MSS, 50 * MSS, Some(&path(&[hop(100, 3600, 90_000, 9_000_000)])));
    assert_eq!(bed.flow.utilisation(), u);
    // T and more on: U is u.
    bed.ack(6 * MSS, 50 * MSS, Some(&path(&[hop(100, 16_600, 171_250, 0)])));
    near(bed.flow.utilisation().unwrap(), 0.5);
    bed.ack(7 * MSS, 50 * MSS, Some(&path(&[hop(100, 116_600, 1_421_250, 0)])));
    near(bed.flow.utilisation().unwrap(), 1.0);
    // ACKs without telemetry (NACKs, repeated ones) are ignored, also by line 22.
    let (w, to) = (bed.flow.window(), bed.flow.updated_to());
    bed.ack(60 * MSS, 90 * MSS, None);
    bed.ack(61 * MSS, 90 * MSS, Some(&Telemetry::default()));
    assert_eq!((bed.flow.window(), bed.flow.updated_to()), (w, to));
    let mut rows = fanin_claims::claim!("hpcc-alg1-measure");
    rows.asserted(
        "the first ACK only records, equal times leave U, and U moves by the share of T",
        "as Algorithm 1",
        "as Algorithm 1",
    );
}

#[test]
fn the_busiest_link_counts_with_its_own_time() {
    let mut bed = Bed::paper();
    bed.ack(MSS, 50 * MSS, Some(&path(&[hop(25, 1000, 0, 0), hop(100, 1000, 0, 0), hop(400, 1000, 0, 0)])));
    // 0.5, 0.8 and 0.1; the middle one's time is 2.6 us of 13 us, and it is the first U.
    let second = [hop(25, 2000, 1562, 0), hop(100, 3600, 26_000, 0), hop(400, 9000, 40_000, 0)];
    bed.ack(2 * MSS, 50 * MSS, Some(&path(&second)));
    assert!((bed.flow.utilisation().unwrap() - 0.8).abs() < 1e-12);
    // Now the last one is busiest, 0.6 + a queue of 0.6, with 1.3 us of weight.
    let third = [hop(25, 9000, 1562, 0), hop(100, 9000, 26_000, 0), hop(400, 10_300, 79_000, 390_000)];
    bed.ack(3 * MSS, 50 * MSS, Some(&path(&third)));
    let u = 0.6 + 0.0;
    assert!((bed.flow.utilisation().unwrap() - (0.9 * 0.8 + 0.1 * u)).abs() < 1e-12, "the smaller queue was 0");
}

#[test]
fn lost_bytes_take_the_next_update_back_with_them() {
    let mut it = Steady::new("hpcc", |_| ());
    it.ack(0.5, 0, 100);
    let to = it.bed.flow.updated_to();
    assert_eq!(to, it.packet * MSS + 100 * MSS);
    let from = (it.packet + 10) * MSS;
    let loss = Loss::new(from, to);
    it.bed.cx(|flow, cx| flow.on_loss(&loss, cx));
    assert_eq!(it.bed.flow.updated_to(), from);
    // A loss beyond it changes nothing.
    let later = Loss::new(to, to + 1);
    it.bed.cx(|flow, cx| flow.on_timeout(&later, cx));
    assert_eq!(it.bed.flow.updated_to(), from);
    // Data sent before the loss does not trigger an update, the first retransmitted byte does.
    let updates = it.bed.count(Action::ReferenceUpdate);
    it.packet += 9;
    it.ack(0.5, 0, 0);
    assert_eq!(it.bed.count(Action::ReferenceUpdate), updates);
    it.ack(0.5, 0, 0);
    assert_eq!(it.bed.count(Action::ReferenceUpdate), updates + 1);
    // Nothing of it is a signal: the window is that of the load alone.
    assert_eq!(it.bed.count(Action::LossReaction), 0);
}

/// Algorithm 1 as it is printed, in seconds and bits, for the claims that compare with an oracle.
struct Oracle {
    eta: f64,
    max_stage: u32,
    a: f64,
    t: f64,
    most: f64,
    w: f64,
    wc: f64,
    u: Option<f64>,
    inc_stage: u32,
    last_update_seq: u64,
    l: Vec<IntHop>,
}

impl Oracle {
    fn of(p: &Params, gbps: u64) -> Self {
        let t = p.base_rtt.as_secs_f64();
        let most = gbps as f64 * 1e9 / 8.0 * t;
        let (eta, max_stage, a) = (p.eta, p.max_stage, p.additive_increase.get() as f64);
        Self { eta, max_stage, a, t, most, w: most, wc: most, u: None, inc_stage: 0, last_update_seq: 0, l: vec![] }
    }

    fn measure_inflight(&mut self, l: &[IntHop]) {
        let (mut u, mut tau) = (0.0, None);
        for (new, old) in l.iter().zip(&self.l) {
            if new.time == old.time {
                continue;
            }
            let b = new.rate.as_bps() as f64 / 8.0;
            let ts = (new.time - old.time).as_secs_f64();
            let tx_rate = (new.sent - old.sent) as f64 / ts;
            let u_link = new.queued.min(old.queued) as f64 / (b * self.t) + tx_rate / b;
            if u_link > u || tau.is_none() {
                (u, tau) = (u_link, Some(ts));
            }
        }
        let Some(tau) = tau else { return };
        let part = tau.min(self.t) / self.t;
        self.u = Some(match self.u {
            Some(before) => (1.0 - part) * before + part * u,
            None => u,
        });
    }

    fn new_ack(&mut self, seq: u64, snd_nxt: u64, l: &[IntHop]) {
        let update = seq > self.last_update_seq;
        if !self.l.is_empty() {
            self.measure_inflight(l);
            if let Some(u) = self.u {
                if u >= self.eta || self.inc_stage >= self.max_stage {
                    self.w = self.wc / (u / self.eta) + self.a;
                    self.inc_stage = if update { 0 } else { self.inc_stage };
                } else {
                    self.w = self.wc + self.a;
                    self.inc_stage += update as u32;
                }
                self.w = self.w.min(self.most);
                self.wc = if update { self.w } else { self.wc };
            }
        }
        self.last_update_seq = if update { snd_nxt } else { self.last_update_seq };
        self.l = l.to_vec();
    }
}

/// A fixed stream of numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// 10^5 random sequences of ACKs over paths of 1 to 5 links of 25, 100 and 400 Gb/s, T = 9 or 13 us, 0 to 100 us apart.
fn against_the_oracle(mut check: impl FnMut(&Flow, &Oracle)) {
    let mut dice = Dice(7);
    for _ in 0..100_000 {
        let rtt = us([9, 13][dice.below(2) as usize]);
        let nic = [25, 100, 400][dice.below(3) as usize];
        let mut bed = Bed::new("hpcc", nic, rtt, |p| p.max_stage = 5);
        let mut oracle = Oracle::of(&bed.params, nic);
        let mut hops: Vec<IntHop> = (0..1 + dice.below(5))
            .map(|_| hop([25, 100, 400][dice.below(3) as usize], dice.below(1000), dice.below(1 << 40), 0))
            .collect();
        let (mut acked, mut sent) = (0, MSS * (1 + dice.below(100)));
        let calm = dice.below(2) == 0;
        for _ in 0..12 {
            for hop in &mut hops {
                let gap = [0, dice.below(1000), dice.below(20_000), dice.below(100_000)][dice.below(4) as usize];
                hop.time += Time::from_ns(gap);
                // At most the link's capacity, and half of it where queues are short.
                let most = hop.rate.bytes_in(Time::from_ns(gap)) / (1 + calm as u64);
                hop.sent += dice.below(most + 1);
                let up_to = 1 << dice.below(21);
                hop.queued = if calm { 0 } else { dice.below(up_to) };
            }
            acked += MSS * dice.below(1 + (sent - acked) / MSS);
            sent += MSS * dice.below(40);
            bed.ack(acked, sent, Some(&path(&hops)));
            oracle.new_ack(acked, sent, &hops);
            check(&bed.flow, &oracle);
        }
    }
}

#[test]
fn hpcc_alg1_measure() {
    let mut measured = 0;
    against_the_oracle(|flow, oracle| {
        let (u, expected) = (flow.utilisation(), oracle.u);
        assert_eq!(u.is_some(), expected.is_some());
        if let (Some(u), Some(expected)) = (u, expected) {
            assert!((u - expected).abs() <= 1e-9 * expected, "{u} {expected}");
            measured += 1;
        }
    });
    assert!(measured > 1_000_000);
    let mut rows = fanin_claims::claim!("hpcc-alg1-measure");
    rows.asserted("values of U other than an oracle's", "0", format!("0 of {measured}"));
}

#[test]
fn hpcc_eq4_window() {
    let (mut multiplicative, mut additive, mut fast) = (0, 0, 0);
    against_the_oracle(|flow, oracle| {
        assert!((flow.window() - oracle.w).abs() <= 1e-9 * oracle.w, "{} {}", flow.window(), oracle.w);
        assert!((flow.reference() - oracle.wc).abs() <= 1e-9 * oracle.wc);
        assert_eq!((flow.stage(), flow.updated_to()), (oracle.inc_stage, oracle.last_update_seq));
        if oracle.w != oracle.wc {
            fast += 1;
        } else if oracle.inc_stage > 0 {
            additive += 1;
        } else {
            multiplicative += 1;
        }
    });
    // Each branch was met often.
    assert!(multiplicative.min(additive).min(fast) > 50_000, "{multiplicative} {additive} {fast}");
    let mut rows = fanin_claims::claim!("hpcc-eq4-window");
    rows.asserted(
        "windows other than an oracle's: multiplicative, additive, within a round trip",
        "0",
        format!("0 of {multiplicative}, {additive}, {fast}"),
    );
}
