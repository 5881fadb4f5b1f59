//! `hpcc-ns3` by hand, and against a second implementation of that simulator's rules, with its 64-bit word per hop.

use crate::common::cases;
use crate::common::ns3::{Flow, ack, ns, path_of, to_u64};
use fanin_cc::schemes::hpcc_ns3::{HpccNs3, Params};
use fanin_cc::{Ack, HeaderOverhead, IntHop, Scheme, Settings, Telemetry};
use fanin_units::{NodeId, Rate, Time};
use proptest::prelude::*;

const G: u64 = 1_000_000_000;

fn params(change: impl FnOnce(&mut Params)) -> Params {
    let mut params = HpccNs3::preset("hpcc-ns3");
    change(&mut params);
    params
}

/// At 100 Gb/s with T = 12240 ns and W_max = 153000 B, which is their product.
fn flow(change: impl FnOnce(&mut Params)) -> Flow {
    Flow::new(&Settings::HpccNs3("hpcc-ns3", params(change)), &path_of(100, 153_000, 12_240))
}

fn telemetry(hops: &[IntHop]) -> Telemetry {
    let mut telemetry = Telemetry::default();
    hops.iter().enumerate().for_each(|(i, hop)| telemetry.push(NodeId(i as u32), *hop));
    telemetry
}

fn hop(gbps: u64, time: u64, sent: u64, queued: u64) -> IntHop {
    IntHop { rate: Rate::from_gbps(gbps), time: ns(time), sent, queued }
}

/// Rate and window after one ACK with those hops.
fn take(flow: &mut Flow, seq: u64, sent_to: u64, hops: &[IntHop]) -> (u64, u64) {
    let telemetry = telemetry(hops);
    flow.ack(0, &Ack { telemetry: Some(&telemetry), ..ack(seq, sent_to) })
}

#[test]
fn it_starts_at_the_line_and_stores_the_first_ack() {
    let mut f = flow(|_| ());
    assert_eq!((f.rate(), f.control.window, f.control.wake_at), (100 * G, 153_000, Time::NEVER));
    assert_eq!(take(&mut f, 1000, 150_000, &[hop(100, 5_000, 4096, 999_999)]), (100 * G, 153_000));
    assert!(!f.control.retime, "where no rate was made, no packet that waits is moved");
    assert_eq!(f.watch("u"), 1.0);
    assert_eq!(
        HpccNs3::header_overhead(&params(|_| ())),
        HeaderOverhead { telemetry: true, ..HeaderOverhead::new(42, 42) }
    );
}

#[test]
fn it_multiplies_by_the_target_over_the_use() {
    let mut f = flow(|_| ());
    take(&mut f, 1000, 150_000, &[hop(100, 5_000, 0, 0)]);
    // A whole round trip later with 300 units of 512 B sent, and 6400 B of queue now but not before.
    let u = (153_600.0 * 8.0 / (12_240.0 * 1e-9)) / 1e11;
    let first = (1e11 / (u / 0.95)) as u64 + 40_000_000;
    assert_eq!(first, 94_668_906_249, "100 G 0.95 255/256, a hair less, and 40 M");
    let seen = take(&mut f, 2000, 151_000, &[hop(100, 17_240, 153_600 + 511, 6_400)]);
    assert_eq!((seen, f.watch("u")), ((first, 153_000 * first / (100 * G)), u));
    // Half a round trip at the same use, with 20 units of 320 B in both records. The reference is still the line.
    let full = (76_800.0 * 8.0 / (6_120.0 * 1e-9)) / 1e11 + 6_400.0 * 1e11 / 1e11 / 153_000.0;
    let u = (u * 6_120.0 + full * 6_120.0) / 12_240.0;
    let fast = (1e11 / (u / 0.95)) as u64 + 40_000_000;
    let seen = take(&mut f, 3000, 152_000, &[hop(100, 23_360, 153_600 + 76_800, 6_719)]);
    assert_eq!((seen, f.watch("u")), ((fast, 153_000 * fast / (100 * G)), u));
    // The same telemetry again: 0 bytes in 0 ns is NaN, and NaN counts as no load.
    assert_eq!(take(&mut f, 150_001, 160_000, &[hop(100, 23_360, 153_600 + 76_800, 0)]).0, fast);
    assert!(f.control.retime, "a rate moves the packet that waits, and the NIC's look, even where it is the old one");
    assert_eq!(f.watch("u"), u);
}

#[test]
fn fast_acks_start_from_the_reference_and_leave_it() {
    let mut f = flow(|_| ());
    let mut time = 5_000;
    let mut sent = 0;
    let mut next = |f: &mut Flow, seq, queue| {
        time += 12_240;
        sent += 153_088;
        take(f, seq, 150_000, &[hop(100, time, sent, queue)]).0
    };
    next(&mut f, 1000, 153_600);
    // Use 1.0006 and a queue of a W_max and a little: twice the line.
    let use_of = |queue: f64| 153_088.0 * 8.0 / (12_240.0 * 1e-9) / 1e11 + queue * 1e11 / 1e11 / 153_000.0;
    let rate_of = |rc: u64, queue: f64| (rc as f64 / (use_of(queue) / 0.95)) as u64 + 40_000_000;
    let first = rate_of(100 * G, 153_600.0);
    assert_eq!([next(&mut f, 2000, 153_600), next(&mut f, 3000, 153_600)], [first; 2]);
    let full = rate_of(100 * G, 153_600.0);
    assert_eq!(next(&mut f, 150_001, 153_600), full);
    // The mark is at 150000 still, as nothing more has been sent: every ACK above it is a full update.
    let second = rate_of(full, 153_600.0);
    assert_eq!(next(&mut f, 151_000, 153_600), second);
    assert_eq!(next(&mut f, 150_000, 153_600), rate_of(second, 153_600.0));
    assert_eq!(next(&mut f, 150_000, 153_600), rate_of(second, 153_600.0));
    // Down to the least rate.
    for n in 0..9 {
        next(&mut f, 152_000 + n, 153_600);
    }
    assert_eq!((f.rate(), f.control.window), (G, 1530));

    let mut f = flow(|p| p.fast_react = false);
    take(&mut f, 1000, 150_000, &[hop(100, 5_000, 0, 200_000)]);
    assert_eq!(take(&mut f, 2000, 150_000, &[hop(100, 17_240, 200_000, 200_000)]).0, 100 * G);
    assert!(take(&mut f, 150_001, 160_000, &[hop(100, 17_240, 200_000, 200_000)]).0 < 60 * G);
}

#[test]
fn additive_steps_come_before_a_multiplicative_one() {
    let mut f = flow(|p| (p.mi_thresh, p.rate_ai) = (2, Rate::from_mbps(50)));
    take(&mut f, 1000, 2000, &[hop(100, 0, 0, 153_600)]);
    let full = |f: &mut Flow, n: u64, sent: u64, queue| {
        take(f, 1001 + 1000 * n, 2000 + 1000 * n, &[hop(100, 12_240 * n, sent, queue)]).0
    };
    let cut = full(&mut f, 2, 306_176, 153_600);
    assert!(cut < 60 * G, "{cut}");
    // A unit sent in each round trip: two steps of 50 Mb/s, then by the use of 1/300. Fast ACKs between count no step.
    let mut rates = Vec::new();
    for n in 3..7 {
        rates.push(full(&mut f, n, 306_176 + 512 * n, 0));
        take(&mut f, 1000, 2000 + 1000 * n, &[hop(100, 12_240 * n + 1, 306_176 + 512 * n, 0)]);
    }
    assert_eq!(rates, [cut + 50_000_000, cut + 100_000_000, 100 * G, 100 * G]);
}

#[test]
fn its_mark_never_goes_back() {
    let mut f = flow(|p| p.fast_react = false);
    let mut n = 0;
    let mut rate = |seq, sent_to| {
        n += 1;
        take(&mut f, seq, sent_to, &[hop(100, 12_240 * n, 153_600 * n, 153_600)]).0
    };
    rate(1000, 150_000);
    let full = rate(150_001, 100_000);
    assert!(full < 60 * G);
    // The sender has gone back to 100000; until a number is above 150000 nothing happens.
    assert_eq!([rate(120_000, 140_000), rate(150_000, 160_000)], [full; 2]);
    assert!(rate(150_001, 160_000) < full);
}

#[test]
fn no_use_at_all_is_no_change() {
    let mut f = flow(|_| ());
    take(&mut f, 1000, 2000, &[hop(100, 0, 0, 0)]);
    // A use of 0 is not above 0, so its time does not count either: U stays 1, and each full update cuts by 0.95.
    let first = (1e11 / (1.0 / 0.95)) as u64 + 40_000_000;
    assert_eq!(take(&mut f, 3000, 4000, &[hop(100, 12_240, 0, 0)]).0, first);
    assert_eq!(
        take(&mut f, 5000, 6000, &[hop(100, 24_480, 0, 0)]).0,
        (first as f64 / (1.0 / 0.95)) as u64 + 40_000_000
    );
}

#[test]
fn each_hop_may_have_its_own_rate() {
    let mut f = flow(|p| p.multi_rate = true);
    let at = |n: u64, queues: [u64; 2]| {
        [hop(100, 12_240 * n, 153_600 * n, queues[0]), hop(400, 12_240 * n, 307_200 * n, queues[1])]
    };
    take(&mut f, 1000, 2000, &at(0, [153_600, 0]));
    // Of the first hop u = 2.007, of the second 0.502: the smallest rate holds, and each has its own reference.
    let u = 153_600.0 * 8.0 / (12_240.0 * 1e-9) / 1e11 + 153_600.0 * 1e11 / 1e11 / 153_000.0;
    let first = (1e11 / (u / 0.95)) as u64 + 40_000_000;
    assert_eq!(take(&mut f, 3000, 4000, &at(1, [153_600, 0])).0, first);
    let second = (first as f64 / (u / 0.95)) as u64 + 40_000_000;
    assert_eq!(take(&mut f, 5000, 6000, &at(2, [153_600, 0])).0, second);
}

#[test]
fn sampled_feedback_leaves_out_empty_hops() {
    let mut f = flow(|p| p.sample_feedback = true);
    take(&mut f, 1000, 2000, &[hop(100, 0, 0, 320)]);
    // An ACK between full updates without a queue changes nothing and stores nothing, 319 B being none.
    assert_eq!(take(&mut f, 1500, 2000, &[hop(100, 1_000, 999_999, 319)]).0, 100 * G);
    let full = take(&mut f, 2001, 3000, &[hop(100, 12_240, 153_600, 0)]).0;
    let u = 153_600.0 * 8.0 / (12_240.0 * 1e-9) / 1e11;
    assert_eq!(full, (1e11 / (u / 0.95)) as u64 + 40_000_000);
}

#[test]
fn a_sixth_switch_ends_it_and_no_switch_changes_nothing() {
    let six: Vec<IntHop> = (0..6).map(|n| hop(100, 1_000, 0, n * 100_000)).collect();
    let later: Vec<IntHop> = six.iter().map(|h| IntHop { time: ns(20_000), sent: 300_000, ..*h }).collect();
    let mut f = flow(|_| ());
    take(&mut f, 1000, 2000, &six);
    assert_eq!(take(&mut f, 3000, 4000, &later).0, 100 * G);
    // Its marks move on: 3500 is no full update any more. On a path that fits it goes by the records of the first.
    assert!(take(&mut f, 3500, 4000, &later[..5]).0 < 60 * G);
    let mut f = flow(|_| ());
    take(&mut f, 1000, 2000, &[]);
    assert_eq!(take(&mut f, 3000, 4000, &[]).0, 100 * G);
    assert_eq!(f.ack(0, &ack(5000, 6000)).0, 100 * G);
}

#[test]
fn a_line_rate_without_a_number_reads_as_25() {
    for (bps, known) in [
        (25 * G, 25),
        (50 * G, 50),
        (100 * G, 100),
        (200 * G, 200),
        (400 * G, 400),
        (10 * G, 25),
        (40 * G, 25),
        (100 * G + 1, 25),
    ] {
        let mut f = flow(|_| ());
        let at = |n: u64| IntHop { rate: Rate::from_bps(bps), ..hop(1, 12_240 * n, 512 * 1000 * n, 0) };
        take(&mut f, 1000, 2000, &[at(0)]);
        let u = 512_000.0 * 8.0 / (12_240.0 * 1e-9) / (known as f64 * 1e9);
        assert_eq!(
            take(&mut f, 3000, 4000, &[at(1)]).0,
            ((1e11 / (u / 0.95)) as u64 + 40_000_000).min(100 * G),
            "{bps}"
        );
    }
}

#[test]
fn what_a_record_cannot_hold_turns_around() {
    let mut f = flow(|_| ());
    // Time turns around at 16777216 ns, bytes at 2^20 units of 512 B, the queue at 2^17 units of 320 B.
    take(&mut f, 1000, 2000, &[hop(100, 16_777_000, 512 * ((1 << 20) - 1), 320 << 17)]);
    let seen = take(&mut f, 3000, 4000, &[hop(100, 16_777_216 + 12_024, 512 * ((1 << 20) + 299), 320 << 17)]).0;
    let u = 153_600.0 * 8.0 / (12_240.0 * 1e-9) / 1e11;
    assert_eq!(seen, (1e11 / (u / 0.95)) as u64 + 40_000_000);
}

#[test]
fn without_a_window_it_goes_as_the_division_by_zero_goes() {
    let p = HpccNs3::preset("hpcc-ns3-nowin");
    assert!(!p.window && !p.var_win);
    let mut f = Flow::new(&Settings::HpccNs3("hpcc-ns3-nowin", p), &path_of(100, 153_000, 12_240));
    let mut n = 0;
    let mut next = |gap: u64, queue| {
        n += gap;
        let seq = n + 1;
        take(&mut f, seq, seq, &[hop(100, n, n * 12, queue)])
    };
    assert_eq!(next(12_240, 0), (100 * G, u64::MAX));
    // No queue: 0/0 is no number and not above anything, so U stays 1 and c = 1/0.95.
    let once = (1e11 / (1.0 / 0.95)) as u64 + 40_000_000;
    assert_eq!(next(12_240, 0).0, once);
    for _ in 0..200 {
        next(12_240, 0);
    }
    assert_eq!(next(12_240, 640).0, G);
    // The queue has to be in two records. Then U is infinite, and the rate the least one.
    assert_eq!(next(6_000, 640).0, G);
    assert_eq!(next(6_000, 640).0, G);
    // A whole round trip: infinite times 0 is no number, which x86-64 takes for 2^63.
    assert_eq!([next(12_240, 640).0, next(6_000, 0).0, next(50_000, 0).0], [100 * G; 3]);
    assert!(f.watch("u").is_nan());
}

/// One word as that simulator's bit-field has it: line rate in 3 bits, time in 24, bytes in 20, queue in 17.
#[derive(Clone, Copy, Default)]
struct Word(u64);

const RATES: [u64; 8] = [25 * G, 50 * G, 100 * G, 200 * G, 400 * G, 0, 0, 0];

impl Word {
    fn set(hop: &IntHop, multi: u32) -> Self {
        let line = RATES[..5].iter().position(|r| *r == hop.rate.as_bps()).unwrap_or(0) as u64;
        let time = hop.time.as_ps() / 1000 % (1 << 24);
        let bytes = hop.sent / (128 * multi as u64) % (1 << 20);
        let queue = hop.queued / (80 * multi as u64) % (1 << 17);
        Self(line | time << 3 | bytes << 27 | queue << 47)
    }
    fn line(self) -> u64 {
        RATES[(self.0 % 8) as usize]
    }
    fn time(self) -> u64 {
        (self.0 >> 3) % (1 << 24)
    }
    fn bytes(self) -> u64 {
        (self.0 >> 27) % (1 << 20)
    }
    fn queue(self, multi: u32) -> u64 {
        (self.0 >> 47) * 80 * multi as u64 % (1 << 32)
    }
}

/// The rules line by line.
struct Oracle {
    max: u64,
    win: u64,
    base_rtt: u64,
    rate: u64,
    last_update: u64,
    cur: u64,
    stage: u32,
    u: f64,
    hop: [Word; 5],
    hop_u: [f64; 5],
    hop_rc: [u64; 5],
    hop_stage: [u32; 5],
}

impl Oracle {
    fn new(max: u64, win: u64, base_rtt: u64) -> Self {
        Self {
            max,
            win,
            base_rtt,
            rate: max,
            last_update: 0,
            cur: max,
            stage: 0,
            u: 1.0,
            hop: [Word(0); 5],
            hop_u: [1.0; 5],
            hop_rc: [max; 5],
            hop_stage: [0; 5],
        }
    }

    fn bounded(&self, p: &Params, rate: u64) -> u64 {
        let mut rate = rate;
        if rate < p.min_rate.as_bps() {
            rate = p.min_rate.as_bps();
        }
        if rate > self.max {
            rate = self.max;
        }
        rate
    }

    fn ack(&mut self, p: &Params, seq: u64, next: u64, hops: &[IntHop]) {
        if seq > self.last_update {
            self.update(p, next, hops, false);
        } else if p.fast_react {
            self.update(p, next, hops, true);
        }
    }

    fn update(&mut self, p: &Params, next: u64, hops: &[IntHop], fast: bool) {
        if self.last_update == 0 {
            self.last_update = next;
            for (kept, hop) in self.hop.iter_mut().zip(hops) {
                *kept = Word::set(hop, p.int_multi);
            }
            return;
        }
        if hops.len() <= 5 {
            self.react(p, hops, fast);
        }
        if !fast && next > self.last_update {
            self.last_update = next;
        }
    }

    fn react(&mut self, p: &Params, hops: &[IntHop], fast: bool) {
        let mut updated = vec![false; hops.len()];
        let mut big_u = 0.0;
        let mut dt = 0;
        for i in 0..hops.len() {
            let ih = Word::set(&hops[i], p.int_multi);
            let was = self.hop[i];
            if p.sample_feedback && fast && ih.queue(p.int_multi) == 0 {
                continue;
            }
            updated[i] = true;
            let mut tau =
                if ih.time() >= was.time() { ih.time() - was.time() } else { ih.time() + (1 << 24) - was.time() };
            let units =
                if ih.bytes() >= was.bytes() { ih.bytes() - was.bytes() } else { ih.bytes() + (1 << 20) - was.bytes() };
            let bytes = units * 128 * p.int_multi as u64 % (1 << 32);
            let duration = tau as f64 * 1e-9;
            let tx = (bytes * 8) as f64 / duration;
            let q = u64::min(ih.queue(p.int_multi), was.queue(p.int_multi)) as f64;
            let mut part = q * self.max as f64;
            part /= ih.line() as f64;
            part /= self.win as f64;
            let u = tx / ih.line() as f64 + part;
            if p.multi_rate {
                if tau > self.base_rtt {
                    tau = self.base_rtt;
                }
                self.hop_u[i] = (self.hop_u[i] * (self.base_rtt - tau) as f64 + u * tau as f64) / self.base_rtt as f64;
            } else if u > big_u {
                big_u = u;
                dt = tau;
            }
            self.hop[i] = ih;
        }
        let any = updated.iter().any(|u| *u);
        let mut new_rate = 0;
        let mut new_stage = 0;
        let mut per_hop = [(0, 0); 5];
        if p.multi_rate {
            new_rate = self.max;
            for i in 0..hops.len() {
                if updated[i] {
                    let c = self.hop_u[i] / p.u_target;
                    per_hop[i] = if c >= 1.0 || self.hop_stage[i] >= p.mi_thresh {
                        (to_u64(self.hop_rc[i] as f64 / c).wrapping_add(p.rate_ai.as_bps()), 0)
                    } else {
                        (self.hop_rc[i] + p.rate_ai.as_bps(), self.hop_stage[i] + 1)
                    };
                    per_hop[i].0 = self.bounded(p, per_hop[i].0);
                    new_rate = new_rate.min(per_hop[i].0);
                } else {
                    new_rate = new_rate.min(self.hop_rc[i]);
                }
            }
        } else if any {
            if dt > self.base_rtt {
                dt = self.base_rtt;
            }
            self.u = (self.u * (self.base_rtt - dt) as f64 + big_u * dt as f64) / self.base_rtt as f64;
            let max_c = self.u / p.u_target;
            if max_c >= 1.0 || self.stage >= p.mi_thresh {
                new_rate = to_u64(self.cur as f64 / max_c).wrapping_add(p.rate_ai.as_bps());
                new_stage = 0;
            } else {
                new_rate = self.cur + p.rate_ai.as_bps();
                new_stage = self.stage + 1;
            }
            new_rate = self.bounded(p, new_rate);
        }
        if any {
            self.rate = new_rate;
        }
        if !fast {
            if any {
                self.cur = new_rate;
                self.stage = new_stage;
            }
            for i in 0..hops.len() {
                if updated[i] && p.multi_rate {
                    (self.hop_rc[i], self.hop_stage[i]) = per_hop[i];
                }
            }
        }
    }

    fn window(&self, p: &Params) -> u64 {
        if self.win == 0 {
            u64::MAX
        } else if p.var_win {
            ((self.win as u128 * self.rate as u128 % (1 << 64)) as u64 / self.max).max(1)
        } else {
            self.win
        }
    }
}

/// A hop since the last ACK: nanoseconds, bytes, and its present queue.
type Change = (u64, u64, u64);

fn change() -> impl Strategy<Value = Change> {
    (
        prop_oneof![8 => 1u64..3_000, 2 => 0u64..40_000, 1 => 0u64..60_000_000, 1 => Just(0u64)],
        prop_oneof![8 => 0u64..40_000, 2 => 0u64..600_000, 1 => 0u64..2_000_000_000],
        prop_oneof![4 => Just(0u64), 8 => 0u64..300_000, 1 => 0u64..100_000_000],
    )
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn it_is_that_simulators(
        acks in prop::collection::vec((0u64..9_000, 0u64..160_000, prop::collection::vec(change(), 7)), 1..150),
        lines in prop::collection::vec(prop::sample::select(vec![100u64, 400, 25, 50, 200, 40]), 7),
        (hops, flips) in (0usize..7, any::<bool>()),
        gbps in prop::sample::select(vec![100u64, 33, 400]),
        most in prop_oneof![Just(153_000u64), 1u64..400_000_000],
        round_trip in prop_oneof![Just(12_240u64), 0u64..60_000],
        switches in prop::collection::vec(any::<bool>(), 5),
        mi_thresh in prop_oneof![Just(0u32), Just(5), 0u32..3],
        int_multi in prop_oneof![Just(4u32), Just(1), 1u32..5_000],
        no_window in prop::bool::weighted(0.1),
    ) {
        let p = params(|p| {
            (p.mi_thresh, p.int_multi) = (mi_thresh, int_multi);
            (p.fast_react, p.multi_rate) = (switches[0], switches[1]);
            (p.sample_feedback, p.var_win) = (switches[2], switches[3]);
            p.window = !no_window;
            if switches[4] {
                p.u_target = 0.5;
                p.rate_ai = Rate::from_bps(40_000_001);
                p.min_rate = Rate::from_bps(3);
            }
        });
        let max = gbps * G;
        let mut f = Flow::new(&Settings::HpccNs3("hpcc-ns3", p.clone()), &path_of(gbps, most, round_trip));
        let mut oracle = Oracle::new(max, if no_window { 0 } else { most }, round_trip);
        let mut at: Vec<IntHop> = lines.iter().map(|gbps| hop(*gbps, 1_000, 0, 0)).collect();
        let mut seq = 0;
        for (n, (ahead, flying, changes)) in acks.iter().enumerate() {
            for (hop, change) in at.iter_mut().zip(changes) {
                hop.time += ns(change.0);
                hop.sent += change.1;
                hop.queued = change.2;
            }
            let here = if flips && n % 11 == 10 { &at[..(hops + 3) % 7] } else { &at[..hops] };
            let this = if n % 13 == 12 { seq / 2 } else { seq + ahead };
            seq = seq.max(this);
            // Sometimes the sender has gone back below the number.
            let next = if n % 7 == 6 { seq.saturating_sub(500) } else { seq + flying };
            oracle.ack(&p, this, next, here);
            let seen = take(&mut f, this, next, here);
            prop_assert_eq!(seen, (oracle.rate, oracle.window(&p)), "ACK {}", n);
            if !p.multi_rate {
                let (u, there) = (f.watch("u"), oracle.u);
                prop_assert!(u.to_bits() == there.to_bits() || u.is_nan() && there.is_nan(), "{} {}", u, there);
            }
        }
    }
}
