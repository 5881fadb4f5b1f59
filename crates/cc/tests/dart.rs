//! Dart's end hosts on a virtual clock. Tests named by a row (`a1_`, `b4_`, `c7_`) hold that row of the manual's list.
//!
//! A packet is 1,040 B on the wire, 832 ns at 10 Gb/s; a window of 10 us holds 12 of them and 16 ns.

mod common;

use common::{PAYLOAD, WIRE, cases, data, nic, path, us};
use fanin_cc::schemes::dart::auss::REMEMBERED_LISTS;
use fanin_cc::schemes::dart::receiver::{Hysteresis, State, classify};
use fanin_cc::schemes::dart::{ClearCount, Dart, Params, Share};
use fanin_cc::schemes::dcqcn::CnpTiming;
use fanin_cc::*;
use fanin_units::{FlowId, NodeId, Rate, Time};
use std::collections::{BTreeMap, BTreeSet};

/// A packet at line rate.
const SLOT: Time = Time::from_ns(832);
const LINE: u64 = 10_000_000_000;

fn with(id: &str, change: impl FnOnce(&mut Params)) -> Params {
    let mut params = Dart::preset(id);
    change(&mut params);
    assert_eq!(Dart::check(&params), Ok(()));
    params
}

/// Numbers that look random, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

// ---- the receiver ----

/// What a message says when it starts.
#[derive(Clone, Copy)]
struct Start<'a> {
    from: u32,
    tenant: u8,
    weight: u16,
    incast: Option<(u32, &'a [u32])>,
}

const fn from(host: u32) -> Start<'static> {
    Start { from: host, tenant: 0, weight: 1, incast: None }
}

/// A receiving host with its clock. Flow, message and, where not said otherwise, sender have one number.
struct Host {
    pool: Pool<Dart>,
    now: Time,
    received: u64,
    packets: BTreeMap<u32, u64>,
    emitted: Vec<(Time, Emit)>,
}

impl Host {
    fn new(params: Params) -> Self {
        let mut pool = Pool::new(params);
        pool.add_host(&nic(10));
        Self { pool, now: us(1), received: 0, packets: BTreeMap::new(), emitted: Vec::new() }
    }

    fn poll(&mut self) {
        while let Some(emit) = self.pool.receiver_poll(0, self.now) {
            self.emitted.push((self.now, emit));
        }
        assert!(self.pool.receiver_wake_at(0) > self.now, "what is due is done");
    }

    /// Goes to `t`, firing what is due by then.
    fn at(&mut self, t: Time) -> &mut Self {
        while self.pool.receiver_wake_at(0) <= t {
            self.now = self.pool.receiver_wake_at(0);
            self.pool.receiver_timer(0, self.now, self.received);
            self.poll();
        }
        self.now = t;
        self
    }

    fn wait(&mut self, span: Time) -> &mut Self {
        self.at(self.now + span)
    }

    /// The first packet of a message is in order; the packet itself is not sent yet.
    fn start_again(&mut self, flow: u32, start: Start) -> &mut Self {
        let message = MessageStart {
            flow: ReceiverFlow(flow),
            id: FlowId(flow),
            from: NodeId(start.from),
            tenant: start.tenant,
            weight: start.weight,
            incast: start.incast.map(|(id, senders)| Incast { id, senders }),
        };
        self.pool.receiver_message_start(0, self.now, &message);
        self
    }

    fn open(&mut self, flow: u32, from: u32) -> &mut Self {
        let info = FlowInfo { flow: ReceiverFlow(flow), id: FlowId(flow), from: NodeId(from), size: None };
        self.pool.receiver_open(0, self.now, &info);
        self.packets.insert(flow, 0);
        self
    }

    /// A message starts, with its first packet.
    fn start(&mut self, flow: u32, start: Start) -> AckFields {
        self.open(flow, start.from).start_again(flow, start);
        self.packet(flow, false)
    }

    fn packet(&mut self, flow: u32, ce: bool) -> AckFields {
        let number = self.packets.get_mut(&flow).unwrap();
        *number += 1;
        self.received += WIRE as u64;
        let packet = Data { received: self.received, ..data(flow, *number - 1, ce) };
        let plan = self.pool.receiver_data(0, self.now, &packet);
        self.poll();
        plan.now.expect("every packet is acknowledged")
    }

    fn end_again(&mut self, flow: u32) -> &mut Self {
        self.pool.receiver_message_end(0, self.now, ReceiverFlow(flow), FlowId(flow));
        self
    }

    /// The last packet of a message arrives, and the flow closes.
    fn end(&mut self, flow: u32) -> AckFields {
        let fields = self.end_again(flow).packet(flow, false);
        self.pool.receiver_close(0, self.now, ReceiverFlow(flow));
        fields
    }

    /// So many packets of a flow, one each `gap`; the ACK of the last one.
    fn stream(&mut self, flow: u32, packets: u32, gap: Time, ce: bool) -> AckFields {
        let mut last = AckFields::default();
        for _ in 0..packets {
            self.wait(gap);
            last = self.packet(flow, ce);
        }
        last
    }

    fn watch(&self, name: &str) -> f64 {
        let mut value = None;
        self.pool.receiver_watch(0, &mut |n, v| {
            if n == name {
                value = Some(v);
            }
        });
        value.unwrap_or_else(|| panic!("nothing named {name} to watch"))
    }

    fn senders(&self) -> u32 {
        self.watch("senders") as u32
    }

    fn state(&self) -> State {
        [State::NoCongestion, State::ReceiverCongestion, State::NonReceiverCongestion][self.watch("state") as usize]
    }

    fn count(&self, action: Action) -> u64 {
        self.pool.actions().get(action)
    }

    fn cnps(&self) -> Vec<(Time, u32)> {
        let cnp = |&(at, emit)| if let Emit::Cnp(flow) = emit { Some((at, flow.0)) } else { None };
        self.emitted.iter().filter_map(cnp).collect()
    }

    /// Until the link is full of marked packets of this flow and the state is receiver congestion.
    fn receiver_congestion(&mut self, flow: u32) -> &mut Self {
        self.stream(flow, 26, SLOT, true);
        assert_eq!(self.state(), State::ReceiverCongestion);
        self
    }

    /// The same for half the rate.
    fn non_receiver_congestion(&mut self, flow: u32) -> &mut Self {
        self.stream(flow, 13, SLOT + SLOT, true);
        assert_eq!(self.state(), State::NonReceiverCongestion);
        self
    }
}

fn share(fields: AckFields) -> (u16, u16) {
    let share = Share::decode(fields.share).expect("the ACK tells a share");
    (share.parts, share.of)
}

/// n where all weights are 1.
fn n(fields: AckFields) -> u16 {
    let (parts, of) = share(fields);
    assert_eq!(parts, 1);
    of
}

// ---- claims ----

#[test]
fn dart_fig4_auss_counting() {
    // The figure: S is in two overlapping incasts and opens a third message; D counts it once until the last one ends.
    let mut d = Host::new(with("dart-dasr", |_| {}));
    let steps = [(true, 1, 7), (true, 2, 8), (true, 3, 7), (true, 4, 9), (true, 5, 7)];
    let counts: Vec<u16> = steps.iter().map(|&(_, flow, host)| n(d.start(flow, from(host)))).collect();
    assert_eq!(counts, [1, 2, 2, 3, 3]);
    let counts: Vec<u16> = [1, 2, 5, 3, 4].iter().map(|&flow| n(d.end(flow))).collect();
    assert_eq!(counts, [3, 2, 2, 1, 1]);

    // 10^5 sequences of 40 events each, against the definition.
    let mut dice = Dice(1);
    for sequence in 0..100_000 {
        let mut d = Host::new(with("dart-dasr", |_| {}));
        let mut open: Vec<(u32, u32)> = Vec::new();
        let mut ended: Vec<(u32, u32)> = Vec::new();
        // A sender that stays connected and has no message.
        d.open(0, 99);
        let mut next = 1;
        for event in 0..40 {
            d.now += Time::from_ns(100);
            let pick = if open.is_empty() { None } else { Some(dice.below(open.len())) };
            match (dice.below(6), pick) {
                (0 | 1, _) | (_, None) => {
                    let host = dice.below(6) as u32;
                    d.open(next, host).start_again(next, from(host));
                    open.push((next, host));
                    next += 1;
                }
                // The start, or the end, arrives once more; of a message that has ended, both.
                (2, Some(at)) => {
                    d.start_again(open[at].0, from(open[at].1));
                }
                (3, _) if !ended.is_empty() => {
                    let (flow, host) = ended[dice.below(ended.len())];
                    d.start_again(flow, from(host)).end_again(flow);
                    d.start_again(flow, from(host));
                }
                (4, Some(at)) => {
                    let _ = d.packet(open[at].0, false);
                }
                (_, Some(at)) => {
                    let (flow, host) = open.swap_remove(at);
                    d.end_again(flow);
                    ended.push((flow, host));
                }
            }
            let distinct: BTreeSet<u32> = open.iter().map(|&(_, host)| host).collect();
            assert_eq!(d.senders() as usize, distinct.len(), "sequence {sequence}, event {event}");
            if let Some(&(flow, _)) = open.first() {
                assert_eq!(n(d.packet(flow, false)) as usize, distinct.len(), "sequence {sequence}, event {event}");
            }
        }
    }
}

#[test]
fn dart_auss_softstate() {
    let mut d = Host::new(with("dart-dasr", |_| {}));
    let ms = Time::from_ms;
    let mut sender = Talker::new(with("dart-dasr", |_| {}));
    let survivor = sender.open();
    let mut cap = |d: &Host, ack: AckFields| {
        sender.now = d.now;
        sender.ack(survivor, ack.share);
        sender.watch(survivor, "cap_bps")
    };
    // 1 and 2 send every 10 ms, 3 dies in its message at 500 ms; 4 sends just often enough, and opens at 3 s.
    for flow in 1..=3 {
        assert_eq!(n(d.start(flow, from(flow))), flow as u16);
    }
    let last = ms(500);
    d.at(last).packet(3, false);
    let (mut early, mut late) = (0, 0);
    for k in 51..=300 {
        d.at(ms(10 * k));
        let acks = [d.packet(1, false), d.packet(2, false)];
        for ack in acks {
            // The timer is the sweep: not a picosecond late.
            let expect = if d.now < last + ms(2000) { 3 } else { 2 };
            assert_eq!(n(ack), expect, "at {}", d.now);
            if expect == 3 { early += 1 } else { late += 1 }
        }
        let expect = LINE as f64 / if d.now < last + ms(2000) { 3.0 } else { 2.0 };
        assert_eq!(cap(&d, acks[0]), expect);
    }
    assert!(early > 100 && late > 100);
    assert_eq!(d.count(Action::SenderExpired), 1);
    // Between packets too: the timer came at that very time.
    let mut quiet = Host::new(with("dart-dasr", |_| {}));
    let begin = quiet.now;
    quiet.start(1, from(1));
    quiet.at(begin + ms(2000) - Time::from_ps(1));
    assert_eq!(quiet.senders(), 1);
    quiet.at(begin + ms(2000));
    assert_eq!((quiet.senders(), quiet.pool.receiver_wake_at(0)), (0, Time::NEVER));
    // Gaps below 2 s never cost a sender its place, even as the others' sweeps pass.
    assert_eq!(n(d.start(4, from(4))), 3);
    for _ in 0..3 {
        let next = d.now + ms(2000) - Time::from_ps(1);
        while d.now + ms(300) < next {
            d.wait(ms(300));
            assert_eq!((n(d.packet(1, false)), n(d.packet(2, false))), (3, 3));
        }
        d.at(next);
        assert_eq!(n(d.packet(4, false)), 3);
    }
    assert_eq!(d.count(Action::SenderExpired), 1);
    // The dead sender wakes up in the middle of its message: it counts again, and its end is one.
    assert_eq!(n(d.packet(3, false)), 4);
    assert_eq!(n(d.end(3)), 3);
    assert_eq!(d.senders(), 3);
}

#[test]
fn dart_fig5_statemachine() {
    use State::*;
    // The figure's table, whatever the state was: the classifier does not look at it.
    for (marks, full, next) in [
        (false, false, NoCongestion),
        (false, true, NoCongestion),
        (true, true, ReceiverCongestion),
        (true, false, NonReceiverCongestion),
    ] {
        assert_eq!(classify(marks, full), next);
        // From each state, in packets: with `leave_after` 1 the automaton is the classifier alone.
        for before in [NoCongestion, ReceiverCongestion, NonReceiverCongestion] {
            let mut d = Host::new(with("dart-dasr", |p| p.leave_after = 1));
            for flow in [1, 2, 3] {
                d.start(flow, from(flow));
            }
            match before {
                NoCongestion => {
                    d.stream(1, 12, SLOT, false);
                }
                ReceiverCongestion => {
                    d.receiver_congestion(1);
                }
                NonReceiverCongestion => {
                    d.non_receiver_congestion(1);
                }
            }
            assert_eq!(d.state(), before);
            // Two windows at least, so that one lies wholly in what follows.
            let (packets, gap) = if full { (40, SLOT) } else { (20, SLOT + SLOT) };
            d.stream(2, packets, gap, marks);
            assert_eq!(d.state(), next, "{before:?} with marks {marks} at line rate {full}");
            // Outputs of the state: n, and what becomes of a mark.
            let cnps = d.cnps().len();
            let ack = d.wait(us(1)).packet(3, true);
            let passed = next == NonReceiverCongestion;
            assert_eq!((n(ack), ack.ecn_echo), (if passed { 1 } else { 3 }, passed));
            assert_eq!(d.cnps().len() - cnps, passed as usize);
        }
    }
}

// ---- A: state machine and measurement ----

#[test]
fn a1_the_window_is_the_base_rtt_unless_given() {
    // Marks at half the rate: the state is known when the first window ends, and not before.
    for (window, ends) in [(Time::ZERO, us(10)), (us(25), us(25))] {
        let mut d = Host::new(with("dart-dasr", |p| p.window = window));
        d.start(1, from(1));
        // The first packet was on the link since 832 ns before.
        let begin = d.now - SLOT;
        while d.now + SLOT + SLOT < begin + ends {
            d.stream(1, 1, SLOT + SLOT, true);
        }
        d.at(begin + ends - Time::from_ps(1));
        assert_eq!(d.state(), State::NoCongestion);
        d.at(begin + ends);
        assert_eq!(d.state(), State::NonReceiverCongestion);
    }
}

#[test]
fn a1_a_sliding_window_is_looked_at_in_each_step() {
    let run = |steps| {
        let mut d = Host::new(with("dart-dasr", |p| (p.window, p.window_steps) = (us(40), steps)));
        d.start(1, from(1));
        let begin = d.now - SLOT;
        // 30 us of line rate without marks, then 10 us at half the rate with them: of 40 us, 87 %.
        d.stream(1, 35, SLOT, false);
        let mut seen = Vec::new();
        for _ in 0..30 {
            d.stream(1, 1, SLOT + SLOT, true);
            seen.push((d.state(), d.now - begin));
        }
        (seen.iter().find(|(state, _)| *state != State::NoCongestion).unwrap().1, d.state())
    };
    // Whole windows: at 40 us. In steps of 10 us: at 40 us as well, its first mark came at 31.6 us.
    assert_eq!(run(1).1, State::NonReceiverCongestion);
    assert_eq!(run(4).1, State::NonReceiverCongestion);
    let (whole, steps) = (run(1).0, run(4).0);
    assert!(whole >= us(40) && whole < us(42), "{whole}");
    assert!(steps >= us(40) && steps < us(42), "{steps}");
    // In steps of 1 us the first mark shows within one: 97 % by then, so at first the receiver seems congested.
    assert!(run(40).0 < us(34), "{}", run(40).0);
}

#[test]
fn a2_line_rate_is_a_share_of_the_line() {
    let state_at = |gap: u64, full_rate| {
        let mut d = Host::new(with("dart-dasr", |p| (p.window, p.full_rate) = (us(200), full_rate)));
        d.start(1, from(1));
        d.stream(1, 500, Time::from_ns(gap), true);
        d.state()
    };
    // 96 % and 94 % of the line: 866 and 885 ns a packet.
    assert_eq!(state_at(866, 0.95), State::ReceiverCongestion);
    assert_eq!(state_at(885, 0.95), State::NonReceiverCongestion);
    assert_eq!(state_at(885, 0.93), State::ReceiverCongestion);
}

#[test]
fn a3_all_bytes_count() {
    // Half the link is data of this scheme, half is something else.
    let mut d = Host::new(with("dart-dasr", |_| {}));
    d.start(1, from(1));
    for _ in 0..30 {
        d.wait(SLOT + SLOT).received += WIRE as u64;
        d.packet(1, true);
    }
    assert_eq!(d.state(), State::ReceiverCongestion);
}

#[test]
fn a4_marks_and_bytes_of_one_window_belong_together() {
    // Marks only in windows below line rate, line rate only in windows without marks: never receiver congestion.
    let mut d = Host::new(with("dart-dasr", |p| p.leave_after = 1));
    d.start(1, from(1));
    let begin = d.now - SLOT;
    for window in 0..10 {
        let end = begin + us(10 * (window + 1));
        let (gap, marks) = if window % 2 == 0 { (SLOT, false) } else { (SLOT + SLOT, true) };
        while d.now + gap < end {
            d.stream(1, 1, gap, marks);
        }
        d.at(end);
        assert_eq!(d.state(), if marks { State::NonReceiverCongestion } else { State::NoCongestion });
    }
}

#[test]
fn a5_congestion_is_entered_at_once_and_left_when_windows_agree() {
    use State::*;
    let states = [NoCongestion, ReceiverCongestion, NonReceiverCongestion];
    // All sequences of 7 windows, against the sentence: leave only if the last `leave` windows all showed the new state.
    for leave in 1..=3u32 {
        for code in 0..3usize.pow(7) {
            let shown: Vec<State> = (0..7).map(|k| states[code / 3usize.pow(k) % 3]).collect();
            let (mut machine, mut expect, mut since) = (Hysteresis::default(), NoCongestion, 0);
            for k in 0..shown.len() {
                let from = since.max((k + 1).saturating_sub(leave as usize));
                let agree = k + 1 - from == leave as usize && shown[from..=k].iter().all(|s| *s == shown[k]);
                let change = shown[k] != expect && (expect == NoCongestion || agree);
                assert_eq!(machine.window(shown[k], leave), change, "{shown:?} leaving after {leave}, window {k}");
                if change {
                    (expect, since) = (shown[k], k + 1);
                }
                assert_eq!(machine.state, expect, "{shown:?} leaving after {leave}, window {k}");
            }
        }
    }
    // In packets: one clean window changes nothing, two do.
    let mut d = Host::new(with("dart-dasr", |_| {}));
    d.start(1, from(1));
    d.receiver_congestion(1);
    d.stream(1, 12, SLOT, false);
    assert_eq!(d.state(), ReceiverCongestion);
    d.stream(1, 26, SLOT, false);
    assert_eq!((d.state(), d.count(Action::StateChange)), (NoCongestion, 2));
}

#[test]
fn a6_one_state_per_nic() {
    let mut d = Host::new(with("dart-dasr", |_| {}));
    d.start(1, from(1));
    d.start(2, from(2));
    d.non_receiver_congestion(1);
    // The marks were flow 1's alone.
    assert_eq!(n(d.packet(2, false)), 1);
}

#[test]
fn a7_n_without_congestion() {
    for (clear_count, told) in [(ClearCount::Senders, 2), (ClearCount::One, 1)] {
        let mut d = Host::new(with("dart-dasr", |p| p.clear_count = clear_count));
        d.start(1, from(1));
        assert_eq!(n(d.start(2, from(2))), told);
        d.receiver_congestion(1);
        assert_eq!(n(d.packet(2, false)), 2, "receiver congestion counts in any case");
    }
}

#[test]
fn a8_what_each_state_tells_and_lets_through() {
    let mut d = Host::new(with("dart-dasr", |_| {}));
    d.start(1, from(1));
    d.start(2, from(2));
    // 26 marked packets: none passes while the receiver is the bottleneck, nor before that is known.
    d.receiver_congestion(1);
    let ack = d.packet(2, true);
    assert_eq!((n(ack), ack.ecn_echo, d.cnps().len()), (2, false, 0));
    assert_eq!((d.count(Action::MarkSeen), d.count(Action::MarkSuppressed), d.count(Action::MarkPassed)), (27, 27, 0));
    // Below line rate with marks, two windows agree, then all passes.
    d.stream(1, 13, SLOT + SLOT, true);
    assert_eq!(d.state(), State::NonReceiverCongestion);
    let (suppressed, passed) = (d.count(Action::MarkSuppressed), d.count(Action::MarkPassed));
    let ack = d.packet(2, true);
    assert_eq!((n(ack), ack.ecn_echo), (1, true));
    assert_eq!((d.count(Action::MarkSuppressed), d.count(Action::MarkPassed)), (suppressed, passed + 1));
    assert_eq!(d.count(Action::MarkSeen), suppressed + passed + 1, "each mark is seen once");
    assert!(!d.packet(2, false).ecn_echo, "no mark, no echo");
}

#[test]
fn a8_cnps_of_a_flow_are_50_us_apart() {
    let mut d = Host::new(with("dart-dasr", |_| {}));
    d.start(1, from(1));
    d.start(2, from(2));
    d.non_receiver_congestion(1);
    for _ in 0..300 {
        d.stream(1, 1, SLOT, true);
        d.stream(2, 1, SLOT, true);
        d.wait(SLOT);
    }
    assert_eq!(d.state(), State::NonReceiverCongestion);
    for flow in [1, 2] {
        let times: Vec<Time> = d.cnps().iter().filter(|cnp| cnp.1 == flow).map(|cnp| cnp.0).collect();
        assert!(times.len() >= 14, "{} CNPs in 750 us", times.len());
        assert!(times.windows(2).all(|t| t[1] - t[0] >= us(50)), "{times:?}");
    }
    assert_eq!(d.count(Action::CnpSent), d.cnps().len() as u64);
}

#[test]
fn a10_a_suppressed_mark_leaves_no_cnp_behind() {
    for timing in [CnpTiming::AtOnce, CnpTiming::IntervalEnd] {
        let mut d = Host::new(with("dart-dasr", |p| p.dcqcn.cnp = timing));
        d.start(1, from(1));
        // Marked packets for 200 us at line rate, then the marks end.
        d.stream(1, 240, SLOT, true);
        d.stream(1, 1000, SLOT + SLOT, false);
        assert_eq!((d.state(), d.cnps().len()), (State::NoCongestion, 0));
        // Nor did they delay the first one that is due: it goes with the first mark that passes.
        let mut d = Host::new(with("dart-dasr", |p| p.dcqcn.cnp = timing));
        d.start(1, from(1));
        d.receiver_congestion(1);
        while d.count(Action::MarkPassed) == 0 {
            d.stream(1, 1, SLOT + SLOT, true);
        }
        assert_eq!(d.cnps(), [(d.now, 1)]);
    }
}

#[test]
fn a11_a_pause_is_no_part_of_a_window() {
    // Twelve marked packets at line rate after a long pause, at any offset to the windows before: receiver congestion.
    for offset in 0..40 {
        let mut d = Host::new(with("dart-dasr", |_| {}));
        d.start(1, from(1));
        d.wait(us(15) + Time::from_ns(777 * offset));
        d.packet(1, true);
        d.stream(1, 13, SLOT, true);
        assert_eq!(d.state(), State::ReceiverCongestion, "offset {offset}");
    }
}

#[test]
fn a11_an_idle_link_sets_no_timers_and_counts_no_time() {
    let mut d = Host::new(with("dart-dasr", |_| {}));
    d.start(1, from(1));
    d.receiver_congestion(1);
    d.end(1);
    let begin = d.now;
    // Windows without data are windows without marks: two of them clear the state, and the windows end.
    d.at(begin + us(40));
    assert_eq!((d.state(), d.pool.receiver_wake_at(0)), (State::NoCongestion, Time::NEVER));
    // 28 packets are 23.3 us: two windows and the one in which they end.
    let states = [Action::NoCongestion, Action::ReceiverCongestion, Action::NonReceiverCongestion];
    assert_eq!(states.map(|a| d.count(a)), [10_000, 20_000, 0]);
    d.at(Time::from_s(1));
    assert_eq!(states.map(|a| d.count(a)), [10_000, 20_000, 0]);
}

// ---- B: the set and look-ahead ----

const GROUP: [u32; 4] = [11, 12, 13, 14];

fn member(host: u32, id: u32) -> Start<'static> {
    Start { incast: Some((id, &GROUP)), ..from(host) }
}

fn ahead(change: impl FnOnce(&mut Params)) -> Host {
    Host::new(with("dart-dasr-lookahead", change))
}

#[test]
fn b3_b11_counts_and_the_last_ack() {
    let mut d = Host::new(with("dart-dasr", |_| {}));
    assert_eq!(n(d.start(1, from(5))), 1);
    assert_eq!(n(d.start(2, from(5))), 1, "a sender is one");
    assert_eq!(n(d.start(3, from(6))), 2);
    assert_eq!(n(d.end(1)), 2);
    // The message is gone before the ACK of its last packet, and nobody is told 0.
    assert_eq!(n(d.end(2)), 1);
    assert_eq!(d.senders(), 1);
    assert_eq!(n(d.end(3)), 1);
    assert_eq!(d.senders(), 0);
    assert_eq!((d.count(Action::ShareTold), d.count(Action::CountTold)), (6, 1 + 1 + 2 + 2 + 1 + 1));
    // A sender that closes without an end is gone as well.
    d.start(4, from(5));
    d.pool.receiver_close(0, d.now, ReceiverFlow(4));
    assert_eq!(d.senders(), 0);
}

#[test]
fn b4_b7_the_first_list_counts_all_and_later_ones_nothing() {
    let mut d = ahead(|_| {});
    d.start(1, from(9));
    // 12's packet comes first: 11, 13 and 14 are counted with it.
    assert_eq!(n(d.start(2, member(12, 77))), 5);
    // The other members replace their announcements, the copies of the list do nothing.
    assert_eq!(n(d.start(3, member(11, 77))), 5);
    assert_eq!(n(d.end(2)), 4);
    assert_eq!(n(d.start(4, member(13, 77))), 4);
    assert_eq!(n(d.end(4)), 3);
    assert_eq!(n(d.end(3)), 2);
    assert_eq!(n(d.start(5, member(14, 77))), 2);
    assert_eq!(n(d.end(5)), 1);
    let count = |a| d.count(a);
    assert_eq!(
        (count(Action::LookAheadUsed), count(Action::LookAheadRepeated), count(Action::LookAheadRefused)),
        (1, 3, 0)
    );
    // A second message of a member in the same incast counts by itself only.
    assert_eq!(n(d.start(6, member(11, 77))), 2);
    assert_eq!(n(d.end(6)), 1);
    // Another incast is another list.
    assert_eq!(n(d.start(7, member(11, 78))), 5);
}

#[test]
fn b4_a_member_that_sends_already_is_one_sender() {
    let mut d = ahead(|_| {});
    d.start(1, from(13));
    d.start(2, from(9));
    assert_eq!(n(d.start(3, member(11, 1))), 5);
    // Its other message ends: it stays, for its part in the incast.
    assert_eq!(n(d.end(1)), 5);
    assert_eq!(n(d.start(4, member(13, 1))), 5);
    assert_eq!(n(d.end(4)), 4);
}

#[test]
fn b4_a_member_that_ended_before_the_list_is_not_waited_for() {
    let mut d = ahead(|_| {});
    // 11's message says which incast it belongs to, and had no room for the list.
    d.start(1, Start { incast: Some((5, &[])), ..from(11) });
    d.end(1);
    assert_eq!((d.senders(), d.count(Action::LookAheadUsed)), (0, 0));
    assert_eq!(n(d.start(2, member(12, 5))), 3);
    assert_eq!(d.senders(), 3);
}

#[test]
fn b8_a_silent_member_is_counted_for_2_s() {
    let mut d = ahead(|_| {});
    let begin = d.now;
    d.start(2, member(12, 77));
    // 13 sends something else all the time, and 14 nothing; 11 starts late.
    let mut flow = 100;
    let mut other = |d: &mut Host| {
        flow += 1;
        d.start(flow, from(13));
        d.end(flow);
    };
    for k in 1..20 {
        d.at(begin + Time::from_ms(100 * k));
        d.packet(2, false);
        other(&mut d);
        assert_eq!(d.senders(), 4);
    }
    d.start(3, member(11, 77));
    d.at(begin + Time::from_ms(2000) - Time::from_ps(1));
    assert_eq!(d.senders(), 4);
    d.at(begin + Time::from_ms(2000));
    assert_eq!((d.senders(), d.count(Action::SenderExpired)), (2, 2));
    other(&mut d);
    assert_eq!(d.senders(), 2);
    // Even a member that comes this late does not make its copy of the list count.
    assert_eq!(n(d.start(4, member(14, 77))), 3);
}

#[test]
fn b9_senders_are_told_at_once_if_asked_for() {
    let acks = |d: &Host| -> Vec<(u32, u16)> {
        let ack = |&(_, emit)| if let Emit::Ack(flow, fields) = emit { Some((flow.0, n(fields))) } else { None };
        d.emitted.iter().filter_map(ack).collect()
    };
    let mut d = ahead(|p| p.tell_ahead = true);
    d.start(1, from(9));
    d.start(2, from(8));
    d.start(3, from(9));
    assert_eq!(n(d.start(4, member(11, 1))), 6);
    // One flow of each active sender, not the one whose ACK says it anyhow, and not those that are only announced.
    assert_eq!(acks(&d), [(2, 6), (1, 6)]);
    d.start(5, member(12, 1));
    assert_eq!(acks(&d).len(), 2, "a later copy tells nobody");
    // Not where n is 1 all the same.
    d.non_receiver_congestion(1);
    d.start(6, member(11, 2));
    assert_eq!(acks(&d).len(), 2);
    // Off by default.
    let mut d = ahead(|_| {});
    d.start(1, from(9));
    d.start(4, member(11, 1));
    assert_eq!(acks(&d), []);
}

#[test]
fn b10_weights() {
    let mut d = Host::new(with("dart-dasr", |_| {}));
    let heavy = |host, weight| Start { weight, ..from(host) };
    d.start(1, heavy(1, 1));
    d.start(2, heavy(2, 2));
    d.start(3, heavy(3, 5));
    assert_eq!([1, 2, 3].map(|flow| share(d.packet(flow, false))), [(1, 8), (1, 4), (5, 8)]);
    // A sender weighs as much as its heaviest message.
    d.start(4, heavy(1, 5));
    assert_eq!([1, 2, 3].map(|flow| share(d.packet(flow, false))), [(5, 12), (1, 6), (5, 12)]);
    d.end(4);
    assert_eq!(share(d.packet(1, false)), (1, 8));
    d.end(3);
    assert_eq!([1, 2].map(|flow| share(d.packet(flow, false))), [(1, 3), (2, 3)]);
    // The last ACK of one that outweighs all who are left tells no more than the line.
    d.start(5, heavy(5, 9));
    assert_eq!(share(d.end(5)), (1, 1));
    // Announced members weigh what the message that names them does.
    let mut d = ahead(|_| {});
    d.start(1, from(1));
    assert_eq!(share(d.start(2, Start { weight: 3, ..member(11, 1) })), (3, 13));
    assert_eq!(share(d.packet(1, false)), (1, 13));
}

#[test]
fn b10_shares_that_do_not_fit_the_field_are_rounded_to_a_ratio_that_does() {
    let mut d = Host::new(with("dart-dasr", |_| {}));
    for k in 0..10 {
        d.start(k, Start { weight: 65_521 - k as u16 * 7, ..from(k) });
    }
    let sum: f64 = (0..10).map(|k| 65_521.0 - k as f64 * 7.0).sum();
    let mut told = 0.0;
    for k in 0..10 {
        let (parts, of) = share(d.packet(k, false));
        let (real, got) = ((65_521.0 - k as f64 * 7.0) / sum, parts as f64 / of as f64);
        assert!((got / real - 1.0).abs() < 1e-4, "{got} for {real}");
        told += got;
    }
    assert!((told - 1.0).abs() < 1e-4);
    // Too small to be told: the smallest that can be.
    let mut d = Host::new(with("dart-dasr", |p| p.tenant_shares = vec![0.001]));
    d.start(1, from(1));
    d.start(2, Start { weight: 65_535, ..from(2) });
    assert_eq!(share(d.packet(1, false)), (1, 65_535));
}

#[test]
fn b10_tenants_have_sets_of_their_own() {
    let mut d = ahead(|p| p.tenant_shares = vec![0.5, 0.3]);
    let of = |tenant, host| Start { tenant, ..from(host) };
    d.start(1, of(0, 1));
    d.start(2, of(0, 2));
    assert_eq!(share(d.packet(1, false)), (1, 4));
    // The same host, for another tenant, is another sender. Tenant 1 announces an incast; tenant 0 does not feel it.
    d.start(3, of(1, 1));
    assert_eq!(share(d.start(4, Start { tenant: 1, ..member(11, 1) })), (3, 50));
    assert_eq!([1, 2, 3].map(|flow| share(d.packet(flow, false))), [(1, 4), (1, 4), (3, 50)]);
    // Tenants that are not listed share what is left.
    assert_eq!(share(d.start(5, of(2, 1))), (1, 5));
    assert_eq!(share(d.start(6, of(9, 2))), (1, 10));
    // A third of the line is no whole number of millionths, and is told as a third.
    let mut d = Host::new(with("dart-dasr", |p| p.tenant_shares = vec![1.0 / 3.0; 3]));
    d.start(1, of(1, 1));
    assert_eq!(share(d.packet(1, false)), (1, 3));
    d.start(2, of(1, 2));
    assert_eq!(share(d.packet(1, false)), (1, 6));
    // The last ACK of a tenant still tells its own share.
    d.end(1);
    assert_eq!(share(d.end(2)), (1, 3));
}

#[test]
fn forged_lists_are_bounded() {
    // 20 names in each list, all new.
    let lists: Vec<Vec<u32>> = (0..200).map(|k| (1000 + 20 * k..1020 + 20 * k).collect()).collect();
    let flood = |d: &mut Host, gap: Time| {
        for (k, list) in lists.iter().enumerate() {
            d.wait(gap);
            let flow = 10 + k as u32;
            d.start(flow, Start { tenant: 1, incast: Some((k as u32, list)), ..from(500) });
            d.end(flow);
        }
        (d.count(Action::LookAheadUsed), d.count(Action::LookAheadRefused))
    };
    // By how many are silent: 10 lists of 20 make 200.
    let mut d = ahead(|p| p.look_ahead_silent = 200);
    d.start(1, from(1));
    assert_eq!(flood(&mut d, us(20)), (10, 190));
    assert_eq!(n(d.packet(1, false)), 201);
    // A refused list is not tried again by a later copy, although there would be room.
    d.at(Time::from_s(3));
    assert_eq!(n(d.packet(1, false)), 1);
    assert_eq!(n(d.start(2, Start { incast: Some((150, &lists[150])), ..from(3000 + 1000) })), 2);
    assert_eq!(d.count(Action::LookAheadRepeated), 1);
    // By rate: 4 at once, then 10,000 per second.
    let mut d = ahead(|p| (p.look_ahead_burst, p.look_ahead_rate, p.look_ahead_silent) = (4, 10_000.0, 60_000));
    d.start(1, from(1));
    let (used, refused) = flood(&mut d, us(10));
    // 4 at first, and one each 100 us of the 2 ms.
    assert!((23..=25).contains(&used), "{used}");
    assert_eq!(used + refused, 200);
    // With sets per tenant the flood reaches only its own.
    let mut d = ahead(|p| p.tenant_shares = vec![0.5, 0.5]);
    d.start(1, from(1));
    flood(&mut d, us(20));
    assert_eq!((share(d.packet(1, false)), d.senders()), ((1, 2), 1 + 1020));
    // Off: a list is not even looked at.
    let mut d = Host::new(with("dart-dasr", |_| {}));
    d.start(1, from(1));
    assert_eq!(flood(&mut d, us(20)), (0, 0));
    assert_eq!(n(d.packet(1, false)), 1);
}

#[test]
fn no_flood_of_lists_makes_the_memory_grow() {
    // More incasts than are remembered: the oldest are forgotten, so that only their copies would count again.
    let mut d = ahead(|p| (p.look_ahead_rate, p.look_ahead_silent) = (1e9, 8));
    let list = [11, 12];
    let many = REMEMBERED_LISTS as u32 + 100;
    for id in 0..many {
        d.wait(us(1));
        d.start(1, Start { incast: Some((id, &list)), ..from(11) });
        d.end(1);
    }
    let seen = d.count(Action::LookAheadUsed) + d.count(Action::LookAheadRefused);
    assert_eq!((seen, d.count(Action::LookAheadRepeated)), (many as u64, 0));
    for id in [many - 1, many - REMEMBERED_LISTS as u32, 0] {
        d.start(1, Start { incast: Some((id, &list)), ..from(11) });
        d.end(1);
    }
    assert_eq!(d.count(Action::LookAheadRepeated), 2);
}

#[test]
fn random_incasts_follow_the_definition() {
    // A sender counts while a message of it is open, or while a list has named it and its message has not started.
    let mut dice = Dice(2);
    let sequences = cases().cases.max(16) as usize * 16;
    for sequence in 0..sequences {
        let mut d = ahead(|p| (p.look_ahead_rate, p.look_ahead_burst) = (1e9, 1000));
        let groups: Vec<Vec<u32>> =
            (0..4).map(|_| (0..8).filter(|_| dice.below(2) == 0).collect::<Vec<u32>>()).collect();
        let mut waiting: BTreeSet<(usize, u32)> = BTreeSet::new();
        let mut heard: BTreeSet<usize> = BTreeSet::new();
        let mut open: Vec<(u32, u32)> = Vec::new();
        for flow in 0..60 {
            d.wait(us(1));
            let group = dice.below(5);
            if dice.below(3) == 0 && !open.is_empty() {
                let (flow, _) = open.swap_remove(dice.below(open.len()));
                d.end(flow);
            } else if group < 4 && !groups[group].is_empty() {
                let host = groups[group][dice.below(groups[group].len())];
                d.start(flow, Start { incast: Some((group as u32, &groups[group])), ..from(host) });
                if heard.insert(group) {
                    waiting.extend(groups[group].iter().map(|&member| (group, member)));
                }
                waiting.remove(&(group, host));
                open.push((flow, host));
            } else {
                let host = dice.below(8) as u32;
                d.start(flow, from(host));
                open.push((flow, host));
            }
            let active: BTreeSet<u32> =
                open.iter().map(|&(_, host)| host).chain(waiting.iter().map(|&(_, host)| host)).collect();
            assert_eq!(d.senders() as usize, active.len(), "sequence {sequence}, flow {flow}");
        }
    }
}

#[test]
fn before_its_message_starts_a_flow_is_told_nothing() {
    // Its first packet was lost: a later one arrives, and nobody knows whose it is.
    let mut d = Host::new(with("dart-dasr", |_| {}));
    d.start(1, from(1));
    d.open(2, 2);
    assert_eq!(d.packet(2, false).share, 0);
    assert_eq!(d.senders(), 1);
}

#[test]
fn without_apportioning_the_receiver_is_dcqcns() {
    let mut d = Host::new(with("dart-iofd", |_| {}));
    d.start(1, member(11, 1));
    let ack = d.stream(1, 200, SLOT, true);
    assert_eq!(ack, AckFields::default());
    // 166 us of marks: at once, and each 50 us and up to a packet.
    assert_eq!(d.cnps().len(), 4);
    assert_eq!((d.count(Action::MarkSeen), d.count(Action::MarkPassed)), (200, 200));
    assert_eq!((d.count(Action::ShareTold), d.count(Action::LookAheadUsed), d.count(Action::StateChange)), (0, 0, 0));
    assert_eq!(d.pool.receiver_wake_at(0), Time::NEVER);
}

// ---- C: the sender ----

/// The messages of a host to one receiver.
struct Talker {
    pool: Pool<Dart>,
    now: Time,
    changed: bool,
}

impl Talker {
    fn new(params: Params) -> Self {
        Self { pool: Pool::new(params), now: us(1), changed: false }
    }

    fn open(&mut self) -> u32 {
        let opened = self.pool.open(0, &path(10, 25_000), self.now);
        assert_eq!(opened.control.not_before, Time::ZERO);
        opened.slot
    }

    /// A message that is under the bucket, told 1/n.
    fn old(&mut self, n: u16) -> u32 {
        let slot = self.open();
        self.ack(slot, Share { parts: 1, of: n }.encode());
        slot
    }

    fn send(&mut self, slot: u32) -> Control {
        let sent = Sent { wire: WIRE, payload: PAYLOAD, sent_to: 0, again: false };
        let control = self.pool.on_send(slot, self.now, &sent).0;
        self.changed = self.pool.take_shared_changed();
        control
    }

    fn ack(&mut self, slot: u32, share: u32) -> Control {
        let ack = Ack {
            telemetry: None,
            newly_acked: 0,
            acked_to: 0,
            seq: 0,
            sent_to: 0,
            in_flight: 0,
            recovering: false,
            ecn_echo: false,
            rtt: us(10),
            share,
        };
        let control = self.pool.on_ack(slot, self.now, &ack);
        self.changed = self.pool.take_shared_changed();
        control
    }

    fn told(&mut self, slot: u32, parts: u16, of: u16) -> Control {
        self.ack(slot, Share { parts, of }.encode())
    }

    fn free_at(&mut self, slot: u32) -> Time {
        self.pool.control(slot, self.now).not_before
    }

    fn watch(&self, slot: u32, name: &str) -> f64 {
        let mut value = None;
        self.pool.watch(slot, &mut |n, v| {
            if n == name {
                value = Some(v);
            }
        });
        value.unwrap_or_else(|| panic!("nothing named {name} to watch"))
    }
}

fn dasr() -> Talker {
    Talker::new(with("dart-dasr", |_| {}))
}

#[test]
fn c2_c3_a_host_has_one_nth_of_the_line() {
    let mut s = dasr();
    let (a, b) = (s.old(3), s.old(3));
    // Each packet of either keeps both back for three packet times, from when it left.
    let begin = s.now;
    for k in 0..10 {
        s.now = begin + SLOT.saturating_mul(3 * k);
        assert!(s.free_at(a) <= s.now && s.free_at(b) <= s.now);
        s.send(if k % 3 == 0 { a } else { b });
        assert_eq!((s.free_at(a), s.free_at(b)), (s.now + SLOT.saturating_mul(3), s.now + SLOT.saturating_mul(3)));
        assert!(s.changed, "the other one is asked again");
    }
    // A pause saves nothing up beyond the one packet.
    s.now += us(1000);
    s.send(a);
    assert_eq!(s.free_at(a), s.now + SLOT.saturating_mul(3));
    // n stays what it was while nothing is told.
    assert_eq!((s.watch(a, "n"), s.watch(a, "cap_bps")), (3.0, LINE as f64 / 3.0));
    // Alone, nobody needs to be asked again.
    s.pool.close(b, s.now);
    s.pool.take_shared_changed();
    s.send(a);
    assert!(!s.changed);
}

#[test]
fn c2_the_debt_is_exact() {
    // 3/7 of the line: 1,941,333 1/3 ps a packet. Three of them are whole picoseconds.
    let mut s = dasr();
    let a = s.open();
    s.told(a, 3, 7);
    let begin = s.now;
    let mut at = Vec::new();
    for _ in 0..6 {
        s.send(a);
        at.push((s.free_at(a) - begin).as_ps());
    }
    assert_eq!(at, [1_941_334, 3_882_667, 5_824_000, 7_765_334, 9_706_667, 11_648_000]);
    // The smallest share that can be told, and a large debt: no overflow.
    let mut s = dasr();
    let a = s.open();
    s.told(a, 1, 65_535);
    for _ in 0..1000 {
        s.send(a);
    }
    assert_eq!(s.free_at(a), us(1) + SLOT.saturating_mul(65_535_000));
    // And after any number of changes what was sent is what the shares allowed, to a picosecond per change.
    let (mut s, mut dice) = (dasr(), Dice(3));
    let a = s.open();
    s.told(a, 1, 2);
    let (begin, mut sent, mut allowed, mut share) = (s.now, 0u64, 0.0, 0.5);
    for _ in 0..1000 {
        let next = s.free_at(a).max(s.now);
        let change = s.now + Time::from_ps(dice.below(4_000_000) as u64);
        if change < next {
            allowed += share * (change - s.now).as_ps() as f64;
            s.now = change;
            let (parts, of) = (1 + dice.below(9) as u16, 10 + dice.below(9) as u16);
            s.told(a, parts, of);
            share = parts as f64 / of as f64;
        } else {
            allowed += share * (next - s.now).as_ps() as f64;
            s.now = next;
            s.send(a);
            sent += SLOT.as_ps();
        }
    }
    let owed = share * (s.free_at(a).saturating_sub(s.now)).as_ps() as f64;
    assert!((allowed + owed - sent as f64).abs() < 2000.0, "{allowed} + {owed} for {sent} since {begin}");
}

#[test]
fn c4_shares_towards_different_receivers_are_independent() {
    let mut s = dasr();
    let a = s.old(4);
    let b = s.pool.open(1, &path(10, 25_000), s.now).slot;
    s.told(b, 1, 2);
    s.send(a);
    s.send(b);
    assert_eq!((s.free_at(a), s.free_at(b)), (s.now + SLOT.saturating_mul(4), s.now + SLOT.saturating_mul(2)));
}

#[test]
fn c5_a_new_message_is_at_line_rate_until_its_first_ack_and_older_ones_pay() {
    let mut s = dasr();
    let old = s.old(4);
    let new = s.open();
    let begin = s.now;
    for k in 0..5 {
        s.now = begin + SLOT.saturating_mul(k);
        let control = s.send(new);
        assert_eq!((control.not_before, control.rate.as_bps()), (Time::ZERO, LINE));
    }
    // Five packets at a quarter of the line.
    assert_eq!(s.free_at(old), begin + SLOT.saturating_mul(20));
    // A CNP is no ACK.
    assert_eq!(s.pool.on_notice(new, s.now, Notice::Cnp).not_before, Time::ZERO);
    // Its first ACK puts it under the same bucket, even one that tells nothing.
    assert_eq!(s.ack(new, 0).not_before, begin + SLOT.saturating_mul(20));
}

#[test]
fn c6_a_stale_n_is_forgotten() {
    let mut s = dasr();
    let a = s.old(100);
    s.send(a);
    let b = s.open();
    s.pool.close(a, s.now);
    // b is open: n holds for it.
    assert_eq!(s.ack(b, 0).not_before, s.now + SLOT.saturating_mul(100));
    s.pool.close(b, s.now);
    // Nobody is: it does not.
    let c = s.open();
    assert_eq!((s.ack(c, 0).not_before <= s.now, s.watch(c, "n")), (true, 1.0));
    s.send(c);
    assert_eq!(s.free_at(c), s.now + SLOT);
}

#[test]
fn c7_another_n_moves_the_packet_that_waits() {
    let mut s = dasr();
    let (a, b) = (s.old(4), s.old(4));
    let begin = s.now;
    s.send(a);
    assert_eq!(s.free_at(a), begin + SLOT.saturating_mul(4));
    // After one of the four packet times n falls to 2: three quarters of the packet take 1.5 packet times.
    s.now = begin + SLOT;
    s.told(a, 1, 2);
    assert!(s.changed);
    let free = begin + SLOT + Time::from_ps(SLOT.as_ps() * 3 / 2);
    assert_eq!((s.free_at(a), s.free_at(b)), (free, free));
    // The same again changes nothing; a larger n makes it later.
    s.told(b, 1, 2);
    assert!(!s.changed);
    s.told(b, 1, 8);
    assert!(s.changed);
    assert_eq!(s.free_at(a), begin + SLOT + SLOT.saturating_mul(6));
    // 1 to 4, 4 to 2, 2 to 8.
    assert_eq!(s.pool.actions().get(Action::ShareChange), 3);
    // C12: n = 1 releases all of them to RC at once, but for the packet that is under way.
    s.now = begin + SLOT + SLOT.saturating_mul(6);
    s.send(a);
    s.told(b, 1, 1);
    assert_eq!(s.free_at(a), s.now + SLOT);
    // A debt that is gone stays gone.
    s.now += us(100);
    s.told(a, 1, 100);
    assert!(s.free_at(a) <= s.now);
}

#[test]
fn c8_c9_c10_dcqcn_goes_on_underneath() {
    let mut s = dasr();
    let a = s.old(4);
    s.send(a);
    let free = s.free_at(a);
    // RC halves, the share stays; the next n leaves RC alone.
    let control = s.pool.on_notice(a, s.now, Notice::Cnp);
    assert_eq!((control.rate, control.not_before), (Rate::from_bps(LINE / 2), free));
    assert_eq!(control.wake_at, s.now + us(55));
    assert_eq!(s.told(a, 1, 1000).rate, Rate::from_bps(LINE / 2));
    // C/n has no floor: 10 Mb/s here.
    s.now = s.free_at(a);
    s.send(a);
    assert_eq!(s.free_at(a), s.now + SLOT.saturating_mul(1000));
    // Its timer raises RC.
    s.now = us(56);
    assert_eq!(s.pool.on_timer(a, s.now).rate, Rate::from_bps(LINE * 3 / 4));
    assert_eq!(s.pool.actions().get(Action::Cut), 1);
}

#[test]
fn c13_a_window_if_asked_for() {
    let mut s = dasr();
    let a = s.open();
    assert_eq!(s.pool.control(a, s.now).window, u64::MAX);
    let mut s = Talker::new(with("dart-dasr", |p| p.bdp_window = true));
    let a = s.open();
    assert_eq!(s.pool.control(a, s.now).window, 25_000);
    // DCQCN's own where it is smaller.
    let mut s = Talker::new(with("dart-dasr", |p| (p.bdp_window, p.dcqcn.window) = (true, true)));
    let a = s.open();
    assert_eq!(s.pool.on_notice(a, s.now, Notice::Cnp).window, 12_500);
}

#[test]
fn without_apportioning_the_sender_is_dcqcns() {
    let mut s = Talker::new(with("dart-iofd", |_| {}));
    let (a, b) = (s.open(), s.open());
    s.told(a, 1, 16);
    for _ in 0..10 {
        s.send(a);
        assert!(!s.changed);
    }
    for slot in [a, b] {
        let control = s.pool.control(slot, s.now);
        assert_eq!((control.not_before, control.rate.as_bps()), (Time::ZERO, LINE));
    }
    assert_eq!(s.pool.actions().get(Action::ShareChange), 0);
}
