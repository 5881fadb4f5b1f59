//! DCTCP on a virtual clock: its claims by their ids, and the corners of its rules. A segment is 1000 bytes.

use crate::common::tcp::{MSS, Stream};
use crate::common::{cases, data, nic, us};
use fanin_cc::schemes::dctcp::{Dctcp, EchoMode, Flow, Params};
use fanin_cc::schemes::newreno::{self, NewReno, Threshold};
use fanin_cc::{Action, Data, FlowInfo, Pool, ReceiverFlow, Scheme, Sender};
use fanin_claims::strict;
use fanin_units::{Bytes, MessageId, NodeId, Time};
use proptest::prelude::*;

const G: f64 = 1.0 / 16.0;

fn params(change: impl FnOnce(&mut Params)) -> Params {
    let mut params = Dctcp::preset("dctcp");
    change(&mut params);
    Dctcp::check(&params).unwrap();
    params
}

/// In congestion avoidance from the start, at this many segments, with this alpha.
fn avoiding(segments: u32, alpha: f64) -> Stream<Flow> {
    let mut stream = Stream::new(params(|p| {
        p.initial_alpha = alpha;
        p.window.initial_window = segments;
        p.window.initial_ssthresh = Threshold::Bytes(Bytes(segments as u64 * MSS));
    }));
    stream.fill();
    stream
}

// ---- the receiver ----

/// An ACK as the sender sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Acked {
    from: u64,
    to: u64,
    echo: bool,
}

/// A receiver behind an endpoint that acknowledges every `m` packets.
struct End {
    pool: Pool<Dctcp>,
    m: u64,
    /// Packets that no ACK covers.
    held: u64,
    packets: u64,
    acked: u64,
    acks: Vec<Acked>,
}

impl End {
    fn new(echo: EchoMode, m: u64) -> Self {
        let mut pool = Pool::new(params(|p| p.echo = echo));
        pool.add_host(&nic(10));
        let flow = FlowInfo::new(ReceiverFlow(0), MessageId(0), NodeId(0));
        pool.receiver_open(0, Time::ZERO, &flow);
        Self { pool, m, held: 0, packets: 0, acked: 0, acks: Vec::new() }
    }

    fn ack(&mut self, to: u64, echo: bool) {
        self.acks.push(Acked { from: self.acked, to, echo });
        self.acked = to;
        self.held = 0;
    }

    /// The next packet arrives. How many ACKs it sent.
    fn packet(&mut self, ce: bool) -> usize {
        let (n, acks) = (self.packets, self.acks.len());
        let packet =
            Data { ack_due: self.held + 1 >= self.m, pending: self.held > 0, due_alone: self.m == 1, ..data(0, n, ce) };
        let plan = self.pool.receiver_data(0, us(n), &packet);
        self.packets += 1;
        self.held += 1;
        if let Some(fields) = plan.before {
            assert!(packet.pending, "an ACK for nothing");
            self.ack(n, fields.ecn_echo);
            self.held = 1;
        }
        if let Some(fields) = plan.now {
            self.ack(n + 1, fields.ecn_echo);
        }
        self.acks.len() - acks
    }

    /// The delay of an ACK runs out.
    fn flush(&mut self) {
        if self.held > 0 {
            let fields = self.pool.receiver_ack_fields(0, us(self.packets), ReceiverFlow(0));
            self.ack(self.packets, fields.ecn_echo);
        }
    }

    /// The mark of each packet as the sender infers it.
    fn rebuilt(&self) -> Vec<bool> {
        self.acks.iter().flat_map(|ack| (ack.from..ack.to).map(|_| ack.echo)).collect()
    }
}

#[test]
fn dctcp_fig11_ack_machine() {
    let config = cases();
    let pattern = prop::collection::vec((any::<bool>(), prop::bool::weighted(0.1)), 1..200);
    let runs = prop::collection::vec(1usize..9, 1..40);
    let mut runner = proptest::test_runner::TestRunner::new(config);

    // Any marks, with the delay running out now and then: the sender can rebuild them all.
    let exact = |echo, m, pattern: &[(bool, bool)]| {
        let mut end = End::new(echo, m);
        let mut flushed = 0;
        for &(ce, flush) in pattern {
            let held = end.held;
            let acks = end.packet(ce);
            // A packet that ends the wait of others and is due itself sends two, one of which was theirs.
            assert!(acks <= 1 + usize::from(held > 0));
            assert!(acks == 1 || m > 1, "m = 1 is an ACK for each packet");
            if flush {
                flushed += u64::from(end.held > 0);
                end.flush();
            }
        }
        end.flush();
        let truth: Vec<bool> = pattern.iter().map(|&(ce, _)| ce).collect();
        assert_eq!(end.rebuilt(), truth, "{echo:?}, m = {m}");
        assert!(end.acks.len() <= truth.len(), "at most one ACK per packet");
        assert!(end.acks.iter().all(|ack| ack.to > ack.from && ack.to - ack.from <= m), "an ACK covers 1 to m packets");
        (end, flushed)
    };
    runner
        .run(&pattern, |pattern| {
            for m in 1..=3 {
                exact(EchoMode::TwoState, m, &pattern);
            }
            let (end, flushed) = exact(EchoMode::PerPacket, 3, &pattern);
            // Per-packet mode acknowledges each packet at once, whatever m; so does m = 1.
            assert_eq!((end.acks.len(), flushed), (pattern.len(), 0));
            assert_eq!(exact(EchoMode::TwoState, 1, &pattern).0.acks, end.acks);
            Ok(())
        })
        .unwrap();

    // Runs of equal marks without a timer: an ACK per m packets in each run, one more for the rest at its end.
    runner
        .run(&runs, |runs| {
            for m in 1..=3usize {
                let mut end = End::new(EchoMode::TwoState, m as u64);
                let (mut ce, mut expected, mut at) = (false, Vec::new(), 0);
                for &run in &runs {
                    (0..run).for_each(|_| {
                        end.packet(ce);
                    });
                    for from in (0..run).step_by(m) {
                        let to = run.min(from + m);
                        expected.push(Acked { from: (at + from) as u64, to: (at + to) as u64, echo: ce });
                    }
                    at += run;
                    ce = !ce;
                }
                end.flush();
                assert_eq!(end.acks, expected, "m = {m}, runs {runs:?}");
            }
            Ok(())
        })
        .unwrap();
    let mut rows = fanin_claims::claim!("dctcp-fig11-ack-machine");
    rows.asserted("random patterns of marks that a sender cannot rebuild from its ACKs, m = 1 to 3", "0", "0");
    rows.asserted("ACKs of more than m packets, or of packets with and without marks", "0", "0");
}

#[test]
fn the_ack_at_a_change_of_marks_leaves_out_the_packet_that_changed() {
    // m = 2. An unmarked packet waits; a marked one arrives: the first is acknowledged alone, unmarked, the second
    // waits.
    let mut end = End::new(EchoMode::TwoState, 2);
    assert_eq!((end.packet(false), end.packet(true)), (0, 1));
    assert_eq!((end.acks[0], end.held), (Acked { from: 0, to: 1, echo: false }, 1));
    // Nothing waits when the marks end: no ACK of its own for the change.
    assert_eq!((end.packet(true), end.packet(false)), (1, 0));
    assert_eq!(end.acks[1], Acked { from: 1, to: 3, echo: true });
    assert_eq!(end.pool.actions().get(Action::EchoFlip), 2);
    assert_eq!(end.pool.actions().get(Action::MarkSeen), 2);
    // A packet that is due by itself (the last of a stream, or out of order) goes out with its own mark behind it.
    let packet = Data { ack_due: true, pending: true, due_alone: true, ..data(0, 4, true) };
    let plan = end.pool.receiver_data(0, us(9), &packet);
    assert_eq!((plan.before.map(|f| f.ecn_echo), plan.now.map(|f| f.ecn_echo)), (Some(false), Some(true)));
}

#[test]
fn the_reading_of_rccs_authors_blames_the_wrong_state() {
    // RCC 3.2, footnote 3: the first marked packet is acknowledged at once as unmarked, and so it is the other way
    // round.
    let mut end = End::new(EchoMode::Rcc, 1);
    for ce in [false, true, true, false, false] {
        assert_eq!(end.packet(ce), 1);
    }
    assert_eq!(end.rebuilt(), [false, false, true, true, false]);
    let mut end = End::new(EchoMode::Rcc, 3);
    for ce in [false, true, true, false, true] {
        end.packet(ce);
    }
    let echoes: Vec<(u64, bool)> = end.acks.iter().map(|ack| (ack.to, ack.echo)).collect();
    assert_eq!(echoes, [(2, false), (4, true), (5, false)]);
}

#[test]
fn packets_out_of_order_and_old_ones() {
    for echo in [EchoMode::TwoState, EchoMode::PerPacket] {
        let mut end = End::new(echo, 2);
        end.packet(false);
        let pending = echo == EchoMode::TwoState;
        // Packet 2 before packet 1, marked: an ACK for the waiting packet, then a duplicate with its own mark.
        let early = Data { in_order: false, acked_to: MSS, pending, due_alone: true, ..data(0, 2, true) };
        let plan = end.pool.receiver_data(0, us(1), &early);
        assert_eq!(plan.before.map(|f| f.ecn_echo), pending.then_some(false), "{echo:?}");
        assert_eq!(plan.now.map(|f| f.ecn_echo), Some(true), "{echo:?}");
        // Packet 1 fills the gap, unmarked: both are covered by its ACK.
        let filling = Data { acked_to: 3 * MSS, due_alone: true, ..data(0, 1, false) };
        let plan = end.pool.receiver_data(0, us(2), &filling);
        assert_eq!((plan.before, plan.now.map(|f| f.ecn_echo)), (None, Some(false)), "{echo:?}");
        // A duplicate packet changes nothing, marked or not; its ACK goes out by the endpoint's rules.
        let old = Data { in_order: false, acked_to: 3 * MSS, ..data(0, 1, true) };
        let plan = end.pool.receiver_data(0, us(3), &old);
        assert_eq!((plan.before, plan.now.map(|f| f.ecn_echo)), (None, Some(false)), "{echo:?}");
        assert_eq!(end.pool.actions().get(Action::EchoFlip), 2, "{echo:?}");
    }
}

// ---- the estimate ----

/// Eq. (1) and the windows of RFC 8257, as plainly as can be.
struct Oracle {
    alpha: f64,
    end: u64,
    bytes: Vec<(u64, bool)>,
}

impl Oracle {
    fn take(&mut self, bytes: u64, echo: bool, acked_to: u64, sent_to: u64) {
        self.bytes.push((bytes, echo));
        if acked_to > self.end {
            let sum = |of: &dyn Fn(bool) -> bool| -> u64 { self.bytes.iter().filter(|b| of(b.1)).map(|b| b.0).sum() };
            let fraction = sum(&|echo| echo) as f64 / sum(&|_| true) as f64;
            self.alpha = self.alpha * (1.0 - G) + G * fraction;
            self.end = sent_to;
            self.bytes.clear();
        }
    }
}

#[test]
fn dctcp_eq1_alpha() {
    // A constant fraction of each window of 20 packets: alpha goes there geometrically, by 15/16 a window.
    for (marked, initial) in [(0, 1.0), (2, 1.0), (2, 0.0), (10, 1.0), (20, 0.0)] {
        let fraction = marked as f64 / 20.0;
        let mut s = Stream::<Flow>::new(params(|p| p.initial_alpha = initial));
        (0..20).for_each(|_| {
            s.send(false);
        });
        let mut one_ack = |n: u64| {
            s.ack_bytes(MSS, n % 20 < marked);
            s.send(false);
            s.point.flow.alpha()
        };
        // RFC 8257: the first ACK is a window of its own.
        let mut alpha = one_ack(0);
        let first = if marked > 0 { 1.0 } else { 0.0 };
        assert_eq!(alpha, initial * (1.0 - G) + G * first);
        let mut updates = 1;
        let start = alpha;
        for window in 1..=100 {
            let mut moved = 0;
            for n in 1..=20 {
                let now = one_ack(n);
                moved += u32::from(now != alpha);
                alpha = now;
            }
            // At F there is nothing left to move, and the 20th of them is a mark, if any are.
            assert!(moved <= 1, "one update per window");
            updates += 1;
            let expected = fraction + (start - fraction) * (15.0f64 / 16.0).powi(window);
            assert!((alpha - expected).abs() < 1e-12, "F = {fraction}, window {window}: {alpha}, not {expected}");
            assert!((0.0..=1.0).contains(&alpha));
        }
        assert_eq!(s.count(Action::MarkedWindow), if marked > 0 { updates } else { 0 });
    }

    // Any ACKs at all: the oracle's number, bit by bit.
    let acks = prop::collection::vec((0u64..4000, any::<bool>(), prop::bool::weighted(0.8)), 1..300);
    let mut runner = proptest::test_runner::TestRunner::new(cases());
    runner
        .run(&acks, |acks| {
            let mut s = Stream::<Flow>::new(params(|_| ()));
            let mut oracle = Oracle { alpha: 1.0, end: 0, bytes: Vec::new() };
            s.fill();
            for (bytes, echo, fill) in acks {
                let bytes = bytes.min(s.in_flight());
                s.ack_bytes(bytes, echo);
                oracle.take(bytes, echo, s.acked_to, s.sent_to);
                prop_assert_eq!(s.point.flow.alpha(), oracle.alpha);
                if fill {
                    s.fill();
                }
            }
            Ok(())
        })
        .unwrap();
    let mut rows = fanin_claims::claim!("dctcp-eq1-alpha");
    rows.asserted("difference of alpha from a plain loop, after any ACKs", "0", "0, bit by bit");
}

// ---- the cut ----

/// An event at a sender, apart from marks.
#[derive(Clone, Copy, Debug)]
enum Step {
    Ack(u64),
    Fill,
    Loss,
    Timeout(bool),
    Pause(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0u64..4000).prop_map(Step::Ack),
        8 => Just(Step::Fill),
        1 => Just(Step::Loss),
        1 => any::<bool>().prop_map(Step::Timeout),
        1 => (0u64..500).prop_map(Step::Pause),
    ]
}

fn take<F: Sender<Shared = ()>>(s: &mut Stream<F>, step: Step, echo: bool) -> u64 {
    match step {
        Step::Ack(bytes) => {
            let bytes = bytes.min(s.in_flight());
            s.ack_bytes(bytes, echo)
        }
        Step::Fill => s.fill(),
        Step::Loss if s.in_flight() >= MSS => s.loss(),
        Step::Timeout(again) if s.in_flight() >= MSS => s.timeout(s.in_flight(), again),
        Step::Pause(ms) => {
            let then = s.point.now + Time::from_ms(ms);
            s.at(then)
        }
        Step::Loss | Step::Timeout(_) => s,
    };
    s.window()
}

#[test]
fn dctcp_eq2_cut() {
    // The factor is exact, and ssthresh is the new window: W = 40, alpha after the first window (no marks) is 15/16 of
    // what it was, and the mark in the middle of the next one cuts by it.
    for alpha in [0.0, 0.05, 0.3, 0.77, 1.0] {
        let mut s = avoiding(40, alpha);
        (0..10).for_each(|_| {
            s.ack(1, false);
        });
        let alpha = alpha * (1.0 - G);
        assert_eq!(s.point.flow.alpha(), alpha);
        s.ack_bytes(MSS, true);
        let cut = (40_000.0 * (1.0 - alpha / 2.0) + 0.5) as u64;
        assert_eq!((s.window(), s.point.flow.ssthresh()), (cut, cut), "alpha {alpha}");
        // Once per window of data: the data in flight brings 39 more marks, which neither cut nor grow.
        for _ in 0..39 {
            s.ack(1, true);
            assert_eq!(s.window(), cut);
        }
        assert_eq!(s.count(Action::Cut), u64::from(alpha > 0.0));
        // The first byte sent after the cut cuts again, by the present alpha.
        s.ack(1, true);
        let again = (cut as f64 * (1.0 - s.point.flow.alpha() / 2.0) + 0.5) as u64;
        assert_eq!(s.window(), again);
        assert!(again < cut);
    }

    // In one ACK alpha moves first: the first ACK ends a window, so its mark makes alpha 1/16 before it cuts by 1/32.
    let mut s = avoiding(32, 0.0);
    assert_eq!(s.ack(1, true).window(), 31_000);

    // The floor is two segments.
    let mut s = avoiding(3, 1.0);
    assert_eq!(s.ack(1, true).window(), 2 * MSS);

    // Slow start is TCP's, and a cut ends it.
    let mut s = Stream::<Flow>::new(params(|_| ()));
    s.fill();
    s.round(|_| false);
    assert_eq!(s.window(), 20 * MSS);
    s.ack(1, true);
    let after = s.window();
    assert!(after < 20 * MSS && s.point.flow.ssthresh() == after);
    s.round(|_| false);
    assert!(s.window() <= after + 2 * MSS, "avoidance, not slow start: {after} to {}", s.window());

    // Without marks the trace is TCP's, losses and timeouts included; a mark with alpha at 1 is TCP's too.
    let mut runner = proptest::test_runner::TestRunner::new(cases());
    runner
        .run(&prop::collection::vec(step(), 1..200), |steps| {
            let mut dctcp = Stream::<Flow>::new(params(|_| ()));
            let mut tcp = Stream::<newreno::Flow>::new(NewReno::preset("newreno"));
            for step in steps {
                prop_assert_eq!(take(&mut dctcp, step, false), take(&mut tcp, step, false), "{:?}", step);
                prop_assert_eq!(dctcp.point.flow.ssthresh(), tcp.point.flow.ssthresh());
            }
            Ok(())
        })
        .unwrap();
    let mut dctcp = avoiding(64, 1.0);
    let mut tcp_params = NewReno::preset("newreno-ecn");
    tcp_params.window = params(|p| {
        p.window.initial_window = 64;
        p.window.initial_ssthresh = Threshold::Bytes(Bytes(64 * MSS));
    })
    .window;
    let mut tcp = Stream::<newreno::Flow>::new(tcp_params);
    tcp.fill();
    for _ in 0..200 {
        assert_eq!(dctcp.ack(1, true).window(), tcp.ack(1, true).window());
    }
    assert_eq!((dctcp.window(), dctcp.point.flow.alpha()), (2 * MSS, 1.0));
    let mut rows = fanin_claims::claim!("dctcp-eq2-cut");
    rows.asserted("cuts of a window of 40 packets by its 40 marks, each by the factor of alpha", "1", "1");
    rows.asserted("windows other than TCP's without marks, losses and timeouts included", "0", "0");
}

#[test]
fn a_loss_is_halved_even_right_after_a_cut() {
    // RFC 8257 section 3.5: a small alpha must not stand in for a loss.
    let mut s = avoiding(40, 0.0);
    s.ack(1, false).ack(1, true);
    assert_eq!((s.window(), s.count(Action::Cut)), (40 * MSS, 0));
    s.loss();
    assert_eq!(s.window(), 40 * MSS / 2);
    // Marks on the data in flight then do not cut again.
    let all = s.in_flight();
    s.ack_bytes(all, true);
    assert_eq!((s.window(), s.count(Action::Cut), s.count(Action::LossReaction)), (20 * MSS, 0, 1));
    // Nor do they after a timeout.
    let mut s = avoiding(40, 1.0);
    s.timeout(40 * MSS, false).ack_bytes(40 * MSS, true);
    assert_eq!((s.window(), s.point.flow.ssthresh()), (MSS, 20 * MSS));
}

#[test]
fn a_duplicate_ack_with_a_mark_cuts_but_moves_no_bytes() {
    let mut s = avoiding(40, 1.0);
    s.ack(1, false);
    let alpha = s.point.flow.alpha();
    s.ack_bytes(0, true);
    assert_eq!(s.point.flow.alpha(), alpha);
    assert_eq!(s.window(), (40_000.0 * (1.0 - alpha / 2.0) + 0.5) as u64);
    // Even if it is the first ACK of all, before any byte is acknowledged.
    let mut s = avoiding(40, 1.0);
    s.ack_bytes(0, true);
    assert_eq!((s.window(), s.point.flow.alpha()), (20 * MSS, 1.0));
}

#[test]
fn the_sender_sends_no_cwr() {
    let mut s = avoiding(10, 1.0);
    s.ack(1, true).loss();
    s.round(|n| n % 2 == 0);
    assert!(s.stamps.iter().all(|&cc_tag| cc_tag == 0));
}

// ---- arithmetic of section 3.3 and 3.4; the simulated parts are elsewhere ----

/// The root of an increasing function.
fn root(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if f(middle) < 0.0 { low = middle } else { high = middle }
    }
    low
}

/// C x RTT in packets of 1500 bytes.
fn packets(gbps: f64, rtt_us: f64) -> f64 {
    gbps * rtt_us * 1000.0 / 12_000.0
}

/// Eq. (4) over the amplitude by the exact alpha at which the sawtooth stands, for a window of `w` packets at K.
fn exact_over_eq4(w: f64) -> f64 {
    // A flow overshoots for one round trip in which it sends w + 1 packets of the 1 + (w + 1) alpha/2 windows between.
    let alpha = root(0.0, 1.0, |a| a * a * (1.0 - a / 4.0) - (2.0 * w + 1.0) / ((w + 1.0) * (w + 1.0)));
    ((w + 1.0) * alpha / 2.0) / (0.5 * (2.0 * w).sqrt())
}

#[test]
fn dctcp_eq4_amplitude_arithmetic() {
    let bdp = packets(10.0, 100.0);
    for (n, says) in [(2.0, 12.2), (10.0, 27.2), (40.0, 54.5)] {
        let amplitude = 0.5 * (2.0 * n * (bdp + 65.0f64)).sqrt();
        assert!((amplitude - says).abs() < 0.05, "N = {n}: {amplitude}");
    }
    // The ratio depends on W = (C RTT + K)/N alone. It is within 7 % where the paper calls (4) accurate (N up to 10 at
    // 10 Gb/s, W = 14.8), and grows as W falls: 17 % at N = 40.
    for n in 1..=10 {
        let ratio = exact_over_eq4((bdp + 65.0) / n as f64);
        assert!((ratio - 1.0).abs() < 0.07, "N = {n}: {ratio}");
    }
    assert!((exact_over_eq4((bdp + 65.0) / 40.0) - 1.169).abs() < 0.001);
}

#[test]
fn dctcp_eq6_kbound_arithmetic() {
    for bdp in [packets(1.0, 100.0), packets(10.0, 100.0), packets(10.0, 500.0)] {
        // d/dN (K + N - 1/2 sqrt(2 N X)) = 1 - sqrt(2 X/N)/4 with X = C RTT + K, so that Q_min is least at its root.
        let least_at = |k: f64| root(1e-9, 1e9, |n| 1.0 - (2.0 * (bdp + k) / n).sqrt() / 4.0);
        let q_min = |k: f64, n: f64| k + n - 0.5 * (2.0 * n * (bdp + k)).sqrt();
        let k = root(0.0, 1e6, |k| q_min(k, least_at(k)));
        let n = least_at(k);
        assert!((n / ((bdp + k) / 8.0) - 1.0).abs() < 1e-9, "N = {n}");
        assert!((k / (bdp / 7.0) - 1.0).abs() < 1e-9, "K = {k}");
        assert!(q_min(k, n * 0.99) > q_min(k, n) && q_min(k, n * 1.01) > q_min(k, n));
    }
    assert!((packets(10.0, 500.0) / 7.0 - 59.5).abs() < 0.05);
}

#[test]
fn dctcp_eq7_g_arithmetic() {
    let bound = |gbps, rtt_us, k: f64| 1.386 / (2.0 * (packets(gbps, rtt_us) + k)).sqrt();
    let mut rows = fanin_claims::claim!("dctcp-eq7-g");
    for (gbps, rtt_us, k, says, holds) in
        [(1.0, 100.0, 20.0, 0.184, true), (10.0, 100.0, 65.0, 0.080, true), (10.0, 250.0, 65.0, 0.059, false)]
    {
        let bound = bound(gbps, rtt_us, k);
        assert!((bound - says).abs() < 0.0006, "{gbps} Gb/s, {rtt_us} us: {bound}");
        assert_eq!(Dctcp::preset("dctcp").g < bound, holds);
        let what = format!("bound of g at {gbps} Gb/s and {rtt_us} us, K = {k}");
        rows.row(
            what,
            &says.to_string(),
            format!("{bound:.3}"),
            "within 0.0006",
            strict((bound - says).abs() < 0.0006),
        );
    }
    // 1.386 is 2 ln 2: over one sawtooth of N = 1, eq. (5), the old estimate then keeps half its weight.
    assert!((2.0 * std::f64::consts::LN_2 - 1.386).abs() < 0.0005);
}
