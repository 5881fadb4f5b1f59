//! `dcqcn-ns3` by hand, and against that simulator's events run one by one, each tick of each timer among them.

use crate::common::cases;
use crate::common::ns3::{Event, Flow, What, ns, path_of, to_u64};
use fanin_cc::ns3::TimerOrder;
use fanin_cc::schemes::dcqcn_ns3::{DcqcnNs3, Params};
use fanin_cc::{Scheme, Settings};
use fanin_units::{Rate, Time};
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const LINE: u64 = 100_000_000_000;

fn params(change: impl FnOnce(&mut Params)) -> Params {
    let mut params = DcqcnNs3::preset("dcqcn-ns3");
    change(&mut params);
    params
}

fn flow(p: &Params, most: u64) -> Flow {
    Flow::new(&Settings::DcqcnNs3("dcqcn-ns3", p.clone()), &path_of(100, most, 12_240))
}

/// Rates at the times of the readings, which are scheduled at the start.
fn rates(events: &[Event], p: &Params) -> Vec<u64> {
    let seen = flow(p, 153_000).run(events);
    seen.iter().zip(events).filter(|(_, event)| event.2 == What::Look).map(|(seen, _)| seen.0).collect()
}

/// An event that was scheduled 1.5 us before, as by a link.
fn cnp(at: u64) -> Event {
    (at, at - 1500, What::Cnp)
}

/// A reading before the events of that nanosecond, and one after them.
fn looks(at: u64) -> [Event; 2] {
    [(at, 0, What::Look), (at, at, What::Look)]
}

#[test]
fn its_first_cut_comes_one_interval_and_a_nanosecond_later() {
    let mut f = flow(&params(|_| ()), 153_000);
    assert_eq!((f.rate(), f.control.window, f.control.wake_at), (LINE, u64::MAX, Time::NEVER));
    assert_eq!(f.run(&[cnp(10_000)]), [(LINE, u64::MAX)]);
    assert_eq!((f.rate(), f.control.wake_at), (LINE, ns(14_001)));
    assert_eq!(f.pool.timer_order(f.slot).map(TimerOrder::armed_at), Some(ns(10_000)));
    assert!(!f.control.retime);
    // alpha = (255/256)^4; 300 us later R/2 + RT/2, then RT is at the line in stage F and above; both halves cut off.
    let (cut, fast) = (50_776_684_272, 75_388_342_136);
    let mut events = vec![cnp(10_000)];
    for at in [14_001, 314_001, 614_001, 914_001] {
        events.extend(looks(at));
    }
    events.push((314_001 + 300_000 * 60, 0, What::Look));
    let (third, fourth) = (87_694_171_068, 93_847_085_534);
    // It never returns to the line rate.
    assert_eq!(rates(&events, &params(|_| ())), [LINE, cut, cut, fast, fast, third, third, fourth, LINE - 1]);
}

#[test]
fn it_rests_when_no_step_changes_anything() {
    let mut f = flow(&params(|_| ()), 153_000);
    f.run(&[cnp(10_000), (100_000_000, 0, What::Look)]);
    assert_eq!((f.rate(), f.control.wake_at), (LINE - 1, Time::NEVER));
    // The stage rose meanwhile, so that the target becomes the old rate; the next tick of cuts is at 4 us k + 1 ns.
    f.run(&[cnp(200_000_000)]);
    assert_eq!(f.control.wake_at, ns(200_002_001));
    let after = f.run(&[(200_302_001, 200_302_001, What::Look)]);
    let alpha: f64 = f.watch("target");
    assert_eq!(alpha, (LINE - 1) as f64);
    // Alpha has decayed to nothing by 200 ms, was raised to g by the tick after the CNP and cut 1/512.
    let cut = ((LINE - 1) as f64 * (1.0 - common_alpha() / 2.0)) as u64;
    assert_eq!(after, [(cut / 2 + (LINE - 1) / 2, u64::MAX)]);
}

/// Alpha at the second cut of the test above: all the decays, one raise, and one decay more.
fn common_alpha() -> f64 {
    let g = 1.0 / 256.0;
    // Ticks from 11 us to 200 ms, none of them with a raise.
    let mut alpha = 1.0f64;
    for _ in 0..199_989 {
        alpha *= 1.0 - g;
    }
    // The tick at 200 ms itself was scheduled after the CNP.
    alpha = (1.0 - g) * alpha + g;
    for _ in 0..2 {
        alpha *= 1.0 - g;
    }
    alpha
}

#[test]
fn an_ack_and_a_tick_of_one_nanosecond_act_in_the_order_of_scheduling() {
    let p = params(|_| ());
    // The second CNP coincides with the first tick of alpha. Scheduled 1004 ns before, it comes first and its raise
    // counts at once; scheduled 996 ns before, the tick comes first.
    let alpha_after = |asked: u64| {
        let events = [(10_000, 8_000, What::Cnp), (11_000, asked, What::Cnp), (14_001, 14_001, What::Look)];
        rates(&events, &p)[0]
    };
    let g = 1.0 / 256.0;
    let first = {
        let mut alpha = (1.0 - g) * 1.0f64 + g;
        (0..3).for_each(|_| alpha *= 1.0 - g);
        (1e11 * (1.0 - alpha / 2.0)) as u64
    };
    let second = {
        let mut alpha = (1.0 - g) * ((1.0 - g) * 1.0f64) + g;
        (0..2).for_each(|_| alpha *= 1.0 - g);
        (1e11 * (1.0 - alpha / 2.0)) as u64
    };
    assert_ne!(first, second);
    assert_eq!([alpha_after(9_996), alpha_after(10_004)], [first, second]);

    // A CNP with a tick of cuts at which none is requested (18.001 us, started at 14.001): before it, it cuts at once;
    // after it, four microseconds later.
    let cuts = |asked: u64| {
        let mut events = vec![(10_000, 8_000, What::Cnp), (18_001, asked, What::Cnp)];
        events.extend([(18_001, 18_001, What::Look), (22_001, 22_001, What::Look)]);
        rates(&events, &p)
    };
    let (before, after) = (cuts(14_000), cuts(14_002));
    assert!(before[0] < 40_000_000_000 && before[1] == before[0], "{before:?}");
    assert!(after[0] == 50_776_684_272 && after[1] < 40_000_000_000, "{after:?}");
}

#[test]
fn a_cut_and_an_increase_of_one_nanosecond_act_in_the_order_asked_for() {
    // The increase timer is restarted at 14.001 us and due with the tick of cuts at 26.001: three intervals of 4 us.
    let noted = [cnp(10_000), cnp(24_000)];
    let at = 26_001;
    let longer = params(|p| p.increase_timer = Time::from_us(12));
    // Scheduled first, it comes first: stage 1 at the cut, whose target is then the raised rate.
    let mut f = flow(&longer, 153_000);
    f.run(&noted);
    let cut = f.rate();
    assert_eq!((cut, f.control.wake_at), (50_776_684_272, ns(at)));
    assert_eq!(f.pool.timer_order(f.slot).map(TimerOrder::armed_at), Some(ns(14_001)));
    // A reading between the two has the increase alone.
    let seen = f.run(&[(at, 20_000, What::Look), (at, at, What::Look)]);
    let raised = cut / 2 + LINE / 2;
    assert_eq!(seen[0].0, raised);
    assert_eq!(f.watch("target"), raised as f64);
    assert!(seen[1].0 < raised);

    // Of one length, the cut's tick was scheduled first: stage 0, so the target stays, and the increase is delayed.
    let same = params(|p| (p.cut_interval, p.increase_timer) = (Time::from_us(4), Time::from_us(4)));
    let mut f = flow(&same, 153_000);
    let seen = f.run(&[cnp(10_000), cnp(16_000), (18_001, 18_001, What::Look)]);
    assert_eq!(f.watch("target"), LINE as f64);
    assert!(seen[2].0 < 50_776_684_272, "{seen:?}");
}

#[test]
fn a_target_at_the_rate_is_no_rest_below_the_line() {
    // Eight cuts in a row with the target clamped: both are the least rate.
    let p = params(|p| p.clamp_target = true);
    let mut f = flow(&p, 153_000);
    f.run(&(0..40).map(|n| cnp(10_000 + 1_000 * n)).collect::<Vec<_>>());
    f.run(&[(60_000, 0, What::Look)]);
    assert_eq!((f.rate(), f.watch("target")), (1_000_000_000, 1e9));
    // The last cut is at 50.001 us; fast recovery has nothing to go to, then come 20 Mb/s and 200.
    let steps = [350_001, 650_001, 950_001].map(|at| f.run(&[(at, at, What::Look)])[0].0);
    assert_eq!(steps, [1_000_000_000, 1_010_000_000, 1_115_000_000]);
}

#[test]
fn its_window_follows_and_its_timers_are_whole_microseconds() {
    let p = DcqcnNs3::preset("dcqcn-ns3-win");
    assert!(p.window && p.var_win);
    let mut f = Flow::new(&Settings::DcqcnNs3("dcqcn-ns3-win", p), &path_of(100, 153_000, 12_240));
    let seen = f.run(&[cnp(10_000), (14_001, 14_001, What::Look)]);
    assert_eq!(seen, [(LINE, 153_000), (50_776_684_272, 153_000 * 50_776_684_272 / LINE)]);
    // 4.9 us are 4, and a window that does not vary stays.
    let odd = params(|p| {
        (p.cut_interval, p.window, p.rate_bound) = (Time::from_ns(4_900), true, false);
        p.clamp_target = true;
    });
    let mut f = flow(&odd, 153_000);
    f.run(&[cnp(10_000)]);
    assert_eq!(f.control.wake_at, ns(14_001));
    assert_eq!(f.run(&[(20_000, 20_000, What::Look)]), [(LINE, 153_000)]);
    for wrong in [
        params(|p| p.alpha_timer = ns(999)),
        params(|p| p.cut_interval = Time::ZERO),
        params(|p| p.increase_timer = ns(1)),
        params(|p| p.min_rate = Rate::ZERO),
        params(|p| p.g = f64::NAN),
    ] {
        assert!(DcqcnNs3::check(&wrong).is_err());
    }
}

/// That simulator's events: each is run at its time, those of one time in the order in which they were scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Do {
    Ask(usize),
    Outside(usize),
    Alpha,
    Decrease,
    Increase(u32),
}

struct Oracle {
    queue: BinaryHeap<Reverse<(u64, u64, Do)>>,
    scheduled: u64,
    now: u64,
    rate: u64,
    target: u64,
    alpha: f64,
    alpha_cnp: bool,
    first: bool,
    dec_cnp: bool,
    stage: u32,
    /// The increase timer that counts; an older one has been cancelled.
    increase: u32,
}

impl Oracle {
    fn schedule(&mut self, at: u64, what: Do) {
        self.queue.push(Reverse((at, self.scheduled, what)));
        self.scheduled += 1;
    }

    fn start_increase(&mut self, p: &Params) {
        self.increase += 1;
        self.schedule(self.now + p.increase_timer.as_ps() / 1_000_000 * 1000, Do::Increase(self.increase));
    }

    fn run(p: &Params, events: &[Event]) -> Vec<u64> {
        let mut o = Self {
            queue: BinaryHeap::new(),
            scheduled: 0,
            now: 0,
            rate: LINE,
            target: LINE,
            alpha: 1.0,
            alpha_cnp: false,
            first: true,
            dec_cnp: false,
            stage: 0,
            increase: 0,
        };
        for (i, event) in events.iter().enumerate() {
            o.schedule(event.1, Do::Ask(i));
        }
        let mut seen = vec![None; events.len()];
        let us = |t: Time| t.as_ps() / 1_000_000 * 1000;
        while seen.iter().any(Option::is_none) {
            let Reverse((at, _, what)) = o.queue.pop().unwrap();
            o.now = at;
            match what {
                Do::Ask(i) => o.schedule(events[i].0, Do::Outside(i)),
                Do::Outside(i) => {
                    seen[i] = Some(o.rate);
                    if events[i].2 == What::Cnp {
                        o.alpha_cnp = true;
                        o.dec_cnp = true;
                        if o.first {
                            o.first = false;
                            o.alpha = 1.0;
                            o.alpha_cnp = false;
                            o.schedule(at + us(p.alpha_timer), Do::Alpha);
                            o.schedule(at + us(p.cut_interval) + 1, Do::Decrease);
                        }
                    }
                }
                Do::Alpha => {
                    o.alpha *= 1.0 - p.g;
                    if o.alpha_cnp {
                        o.alpha += p.g;
                    }
                    o.alpha_cnp = false;
                    o.schedule(at + us(p.alpha_timer), Do::Alpha);
                }
                Do::Decrease => {
                    o.schedule(at + us(p.cut_interval), Do::Decrease);
                    if o.dec_cnp {
                        if p.clamp_target || o.stage > 0 {
                            o.target = o.rate;
                        }
                        o.rate = to_u64(o.rate as f64 * (1.0 - o.alpha / 2.0));
                        if o.rate < p.min_rate.as_bps() {
                            o.rate = p.min_rate.as_bps();
                        }
                        o.stage = 0;
                        o.dec_cnp = false;
                        o.start_increase(p);
                    }
                }
                Do::Increase(number) => {
                    if number == o.increase {
                        o.start_increase(p);
                        if o.stage >= p.fast_recovery_times {
                            let step = if o.stage == p.fast_recovery_times { p.rate_ai } else { p.rate_hai };
                            o.target += step.as_bps();
                            if o.target > LINE {
                                o.target = LINE;
                            }
                        }
                        o.rate = to_u64(o.rate as f64 / 2.0) + to_u64(o.target as f64 / 2.0);
                        o.stage += 1;
                    }
                }
            }
        }
        seen.into_iter().map(Option::unwrap).collect()
    }
}

/// One event to come: how long after the last, whether it is pushed onto a tick and onto which, how long before it was
/// asked for, and whether it is a CNP.
type Step = (u64, u8, u64, bool);

fn events(steps: &[Step], shortest: u64) -> Vec<Event> {
    let first = 1_000_000;
    let mut at = first;
    let mut events = vec![(first, first - 1500, What::Cnp)];
    for &(gap, onto, before, is_cnp) in steps {
        at += gap;
        // Ticks of alpha fall on whole microseconds after the first CNP, the others a nanosecond later.
        let us = (at - first).next_multiple_of(shortest);
        at = match onto {
            0 => first + us,
            1 | 2 => first + us + 1,
            _ => at,
        };
        // The times do not determine the order of an event and a tick that were scheduled in the same nanosecond.
        let mut asked = at - before;
        while asked > first && (asked - first) % 1000 < 2 {
            asked -= 1;
        }
        events.push((at, asked, if is_cnp { What::Cnp } else { What::Look }));
    }
    events.sort_by_key(|event| (event.0, event.1));
    events
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn it_is_that_simulators(
        steps in prop::collection::vec(
            (prop_oneof![0u64..3_000, 0u64..20_000, 0u64..1_000_000], 0u8..6,
             prop_oneof![2u64..2_500, 2u64..30_000, Just(1004u64), Just(4004)], prop::bool::weighted(0.6)), 1..120),
        timers in prop_oneof![
            5 => prop::sample::select(vec![(1u64, 4u64, 300u64), (50, 50, 55), (1, 4, 12), (3, 8, 4), (2, 5, 5)]),
            1 => (1u64..9, 1u64..9, 1u64..30),
        ],
        clamp_target in any::<bool>(),
        fast_recovery_times in 0u32..4,
        ai in prop_oneof![Just(20u64), 0u64..5_000],
    ) {
        let p = params(|p| {
            p.alpha_timer = Time::from_us(timers.0);
            p.cut_interval = Time::from_us(timers.1);
            p.increase_timer = Time::from_us(timers.2);
            p.clamp_target = clamp_target;
            p.fast_recovery_times = fast_recovery_times;
            p.rate_ai = Rate::from_mbps(ai);
            p.rate_hai = Rate::from_mbps(10 * ai);
        });
        let events = events(&steps, 1000);
        let seen: Vec<u64> = flow(&p, 153_000).run(&events).into_iter().map(|seen| seen.0).collect();
        prop_assert_eq!(seen, Oracle::run(&p, &events), "{:?}", events);
    }
}
