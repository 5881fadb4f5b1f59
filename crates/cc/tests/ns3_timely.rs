//! `timely-ns3` by hand, and against a second implementation of that simulator's rules, line by line.

use crate::common::cases;
use crate::common::ns3::{Flow, ack, ns, path_of, to_u64};
use fanin_cc::schemes::timely_ns3::{Params, TimelyNs3};
use fanin_cc::{Ack, Scheme, Settings};
use fanin_units::{Rate, Time};
use proptest::prelude::*;

fn flow(change: impl FnOnce(&mut Params)) -> Flow {
    let mut params = TimelyNs3::preset("timely-ns3");
    change(&mut params);
    Flow::new(&Settings::TimelyNs3("timely-ns3", params), &path_of(100, 153_000, 12_240))
}

/// One ACK with that round-trip time. The rate after it.
fn rtt(flow: &mut Flow, seq: u64, sent_to: u64, rtt: u64) -> u64 {
    flow.ack(1_000_000, &Ack { rtt: ns(rtt), ..ack(seq, sent_to) }).0
}

#[test]
fn its_first_decision_only_notes_the_time() {
    let mut f = flow(|_| ());
    assert_eq!((f.rate(), f.control.window, f.control.wake_at), (100_000_000_000, u64::MAX, Time::NEVER));
    assert!(!f.control.retime);
    // 400 us is above t_low and its gradient would be large.
    assert_eq!(rtt(&mut f, 1000, 20_000, 400_000), 100_000_000_000);
    // Not above the mark: no decision, whatever the time.
    assert_eq!(rtt(&mut f, 20_000, 40_000, 900_000), 100_000_000_000);
    // D = 7/8 of -350 us: no rise, so the rate stays at the line.
    assert_eq!(rtt(&mut f, 21_000, 40_000, 50_000), 100_000_000_000);
}

#[test]
fn it_cuts_by_gradient_and_by_distance() {
    let mut f = flow(|p| (p.window, p.var_win) = (true, true));
    assert_eq!(f.control.window, 153_000);
    rtt(&mut f, 1000, 20_000, 52_000);
    // D = 875 ns, gradient 0.04375, factor 0.965.
    assert_eq!(rtt(&mut f, 21_000, 40_000, 53_000), 96_500_000_000);
    assert_eq!(f.control.window, 147_645);
    // 600 us: factor 1 - 0.8 (1 - 500/600).
    assert_eq!(rtt(&mut f, 41_000, 60_000, 600_000), 83_633_333_333);
    assert_eq!(f.control.window, 127_958);
    // Below t_low five steps of 100 Mb/s, then steps of 500.
    for (n, rate) in [100, 200, 300, 400, 500, 1000, 1500].into_iter().enumerate() {
        let seq = 61_000 + n as u64 * 20_000;
        assert_eq!(rtt(&mut f, seq, seq + 19_000, 49_999), 83_633_333_333 + rate * 1_000_000);
    }
    // A gradient above 1.25 takes all, down to the least rate.
    assert_eq!(rtt(&mut f, 201_000, 230_000, 499_999), 1_000_000_000);
}

#[test]
fn its_limits_are_where_that_code_has_them() {
    // With the newest difference alone: at t_low a rise counts, at t_high distance does not, and a gradient of 0 is
    // none.
    let mut f = flow(|p| p.ewma = 1.0);
    rtt(&mut f, 1000, 2000, 49_000);
    assert_eq!(rtt(&mut f, 3000, 4000, 50_000), 96_000_000_000);
    assert_eq!(rtt(&mut f, 5000, 6000, 50_000), 96_100_000_000);
    rtt(&mut f, 7000, 8000, 49_000);
    rtt(&mut f, 9000, 10_000, 499_000);
    assert_eq!(rtt(&mut f, 11_000, 12_000, 500_000), 1_000_000_000);
    assert_eq!(rtt(&mut f, 13_000, 14_000, 500_000), 1_100_000_000);
}

#[test]
fn without_rate_bound_only_the_window_moves() {
    let mut f = flow(|p| (p.window, p.var_win, p.rate_bound) = (true, true, false));
    rtt(&mut f, 1000, 20_000, 52_000);
    assert_eq!(rtt(&mut f, 21_000, 40_000, 53_000), 100_000_000_000);
    assert_eq!(f.control.window, 147_645);
    // A fixed window stays.
    let mut f = flow(|p| p.window = true);
    rtt(&mut f, 1000, 20_000, 52_000);
    assert_eq!(rtt(&mut f, 21_000, 40_000, 53_000), 96_500_000_000);
    assert_eq!(f.control.window, 153_000);
}

#[test]
fn the_last_time_is_noted_only_when_the_mark_moves() {
    let mut f = flow(|_| ());
    rtt(&mut f, 1000, 20_000, 60_000);
    // The sender has gone back: the mark stays, and so does the time of 60 us.
    assert_eq!(rtt(&mut f, 21_000, 10_000, 60_000), 100_000_000_000);
    assert_eq!(rtt(&mut f, 21_000, 10_000, 61_000), 96_500_000_000);
    // D = 875/8 + 7/8 (61 - 60) us again.
    assert_eq!(rtt(&mut f, 21_000, 30_000, 61_000), (96_500_000_000f64 * (1.0 - 0.8 * (984.375 / 20_000.0))) as u64);
}

/// The rules line by line: the state, and the visible effect of one ACK.
struct Oracle {
    last_update: u64,
    cur: u64,
    stage: u32,
    last_rtt: u64,
    diff: f64,
}

impl Oracle {
    fn ack(&mut self, p: &Params, max: u64, seq: u64, next: u64, rtt: u64) -> u64 {
        if seq > self.last_update {
            if self.last_update != 0 {
                let low = p.t_low.as_ps() / 1000;
                let high = p.t_high.as_ps() / 1000;
                let min = p.min_rtt.as_ps() / 1000;
                let new = rtt as i128 - self.last_rtt as i128;
                let a = p.ewma * new as f64;
                let b = (1.0 - p.ewma) * self.diff;
                self.diff = b + a;
                let gradient = self.diff / min as f64;
                let go_up = rtt < low || (rtt <= high && gradient <= 0.0);
                if go_up {
                    self.cur += if self.stage >= 5 { p.rate_hai.as_bps() } else { p.rate_ai.as_bps() };
                    if self.cur > max {
                        self.cur = max;
                    }
                    self.stage += 1;
                } else {
                    let mut c;
                    if rtt > high {
                        let part = high as f64 / rtt as f64;
                        c = 1.0 - p.beta * (1.0 - part);
                    } else {
                        c = 1.0 - p.beta * gradient;
                        if c < 0.0 {
                            c = 0.0;
                        }
                    }
                    self.cur = to_u64(self.cur as f64 * c);
                    if self.cur < p.min_rate.as_bps() {
                        self.cur = p.min_rate.as_bps();
                    }
                    self.stage = 0;
                }
            }
            if next > self.last_update {
                self.last_update = next;
                self.last_rtt = rtt;
            }
        }
        self.cur
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn it_is_that_simulators(
        acks in prop::collection::vec(
            (0u64..40_000, 0u64..60_000, prop_oneof![40_000u64..70_000, 0u64..1_000_000]),
            1..200,
        ),
        gbps in prop_oneof![Just(100u64), Just(25), Just(400)],
        wide in any::<bool>(),
    ) {
        let mut params = TimelyNs3::preset("timely-ns3-win");
        if wide {
            params.rate_ai = Rate::from_gbps(1);
            params.min_rate = Rate::from_bps(7);
            params.t_low = Time::from_ps(52_000_999);
        }
        let max = gbps * 1_000_000_000;
        let mut f = Flow::new(&Settings::TimelyNs3("timely-ns3-win", params.clone()), &path_of(gbps, 153_000, 12_240));
        let mut oracle = Oracle { last_update: 0, cur: max, stage: 0, last_rtt: 0, diff: 0.0 };
        let mut seq = 0;
        for (n, &(ahead, flying, time)) in acks.iter().enumerate() {
            // Numbers mostly rise, and sometimes an old one arrives, or the sender has gone back.
            let this = if n % 13 == 12 { seq / 2 } else { seq + ahead };
            seq = seq.max(this);
            let next = if n % 7 == 6 { seq } else { seq + flying };
            let rate = oracle.ack(&params, max, this, next, time);
            let seen = f.ack(n as u64, &Ack { rtt: ns(time), ..ack(this, next) });
            prop_assert_eq!(seen, (rate, (153_000 * rate / max).max(1)));
        }
    }
}
