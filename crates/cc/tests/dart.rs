//! Dart's receiver on a virtual clock: the claims, and the state machine. Tests named by a row (`a1_`) hold that row of
//! the manual's list. `common::dart` has the host and its clock.

use crate::common::dart::*;
use crate::common::{WIRE, us};
use fanin_cc::schemes::dart::ClearCount;
use fanin_cc::schemes::dart::receiver::{Hysteresis, State, classify};
use fanin_cc::schemes::dcqcn::CnpTiming;
use fanin_cc::*;
use fanin_units::Time;
use std::collections::BTreeSet;

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
    let mut rows = fanin_claims::claim!("dart-fig4-auss-counting");
    rows.asserted("sequences of 40 starts, ends and copies of them in which n is not an oracle's", "0", "0 of 100,000");
}

#[test]
fn dart_auss_softstate() {
    let mut d = Host::new(with("dart-dasr", |_| {}));
    let ms = Time::from_ms;
    let mut sender = Talker::new(with("dart-dasr", |_| {}));
    let survivor = sender.open();
    let mut cap = |d: &Host, ack: AckFields| {
        sender.now = d.now;
        sender.ack(survivor, ack.cc_feedback);
        sender.watch(survivor, "cap_bps")
    };
    // 1 and 2 send every 10 ms, 3 dies in its message at 500 ms; 4 sends just often enough, and opens at 3 s.
    for flow in 1..=3 {
        assert_eq!(n(d.start(flow, from(flow))), flow as u16);
    }
    let last = ms(500);
    d.at(last).packet(3, false);
    let (mut early, mut late, mut cap_after) = (0, 0, 0.0);
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
        cap_after = cap(&d, acks[0]);
        assert_eq!(cap_after, expect);
    }
    assert!(early > 100 && late > 100);
    assert_eq!(d.count(Action::SenderExpired), 1);
    // Between packets too: the timer runs at that very time.
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
    let mut rows = fanin_claims::claim!("dart-auss-softstate");
    let (told, cap) = (format!("{early} ACKs, then {late}"), format!("{:.4} of the line", cap_after / LINE as f64));
    rows.asserted("n = 3 until 2 s after a sender's last packet, to the picosecond, then n = 2", "2 s", told);
    rows.asserted("cap of the others after that", "1/2 of the line", cap);
    rows.asserted("senders forgotten in gaps of a picosecond less than 2 s", "0", "0");
}

#[test]
fn dart_fig5_statemachine() {
    use State::*;
    // The figure's table, whatever the state: the classifier does not depend on it.
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
            // At least two windows, so that one lies wholly within.
            let (packets, gap) = if full { (40, SLOT) } else { (20, SLOT + SLOT) };
            d.stream(2, packets, gap, marks);
            assert_eq!(d.state(), next, "{before:?} with marks {marks} at line rate {full}");
            // Outputs of the state: n, and the treatment of a mark.
            let cnps = d.cnps().len();
            let ack = d.wait(us(1)).packet(3, true);
            let passed = next == NonReceiverCongestion;
            assert_eq!((n(ack), ack.ecn_echo), (if passed { 1 } else { 3 }, passed));
            assert_eq!(d.cnps().len() - cnps, passed as usize);
        }
    }
    let mut rows = fanin_claims::claim!("dart-fig5-statemachine");
    rows.asserted(
        "combinations of a state, marks and a full line with another next state than the figure's",
        "0",
        "0 of 12",
    );
}

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
    // Whole windows: at 40 us. In steps of 10 us: at 40 us as well, since its first mark arrived at 31.6 us.
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
    // All sequences of 7 windows, against the sentence: leave only if the last `leave` windows all showed the new
    // state.
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
