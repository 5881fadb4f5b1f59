//! The vendor's form of DCQCN on a virtual clock, and both forms against versions that tick every timer and never rest.

use crate::common::point::{G, paper_with, vendor};
use crate::common::{cases, us};
use fanin_cc::Action;
use fanin_cc::schemes::{dcqcn, dcqcn_vendor};
use fanin_units::{Bytes, Rate, Time};
use proptest::prelude::*;

#[test]
fn d18_vendor_limits_cuts_at_the_sender() {
    let mut point = vendor();
    // A CNP per microsecond from 0.5 us on. The first cuts nothing; cuts come 4 us + 1 ns after it and then each 4 us.
    for i in 0..4 {
        point.at(us(i) + Time::from_ns(500)).cnp();
    }
    // Alpha moves at 1.5, 2.5, 3.5 and 4.5 us: the first CNP raised nothing, the others did.
    let mut alpha = 255.0 / 256.0;
    for _ in 0..3 {
        alpha = (1.0 - 1.0 / 256.0) * alpha + 1.0 / 256.0;
    }
    point.at(Time::from_ns(4500));
    assert_eq!((point.rate(), point.alpha()), (100 * G, alpha));
    point.at(Time::from_ns(4501));
    assert_eq!(point.rate(), (1e11 * (1.0 - alpha / 2.0) + 0.5) as u64);
    // Four more CNPs, one more cut.
    for i in 5..9 {
        point.at(us(i)).cnp();
    }
    assert_eq!(point.at(Time::from_ns(8500)).count(Action::Cut), 1);
    assert_eq!(point.at(Time::from_ns(8501)).count(Action::Cut), 2);
}

#[test]
fn vendor_first_cut_comes_one_interval_later() {
    let mut point = vendor();
    point.at(us(10)).cnp();
    assert_eq!((point.rate(), point.control().wake_at), (100 * G, us(14) + Time::from_ns(1)));
    // Four decays without a raise: alpha = (255/256)^4, cut to 100 G (1 - alpha/2).
    point.at(us(14) + Time::from_ns(1));
    let alpha = (255.0f64 / 256.0) * (255.0 / 256.0) * (255.0 / 256.0) * (255.0 / 256.0);
    assert_eq!(point.alpha(), alpha);
    let cut = (1e11 * (1.0 - alpha / 2.0) + 0.5) as u64;
    assert_eq!(point.rate(), cut);
    // 300 us later fast recovery (F = 1), then one additive step (at the target's limit C), then hyper.
    point.at(us(314) + Time::from_ns(1));
    assert_eq!((point.rate(), point.steps()), ((cut + 100 * G).div_ceil(2), (1, 0, 0)));
    point.at(us(14 + 300 * 5) + Time::from_ns(1));
    assert_eq!(point.steps(), (1, 1, 3));
}

#[test]
fn vendor_keeps_its_target_between_cuts_without_an_increase() {
    let mut point = vendor();
    for i in 0..40 {
        point.at(us(i)).cnp();
    }
    assert_eq!(point.count(Action::Cut), 7, "seven near-halvings reach the floor");
    assert_eq!(point.flow.target(), Rate::from_gbps(100));
    assert_eq!(point.rate(), G, "the floor is 1 Gb/s at 100 Gb/s");
    // After the last cut: fast recovery, then R_AI = 20 Mb/s is cut off at C, as the target never left it.
    let mut clamped = vendor();
    clamped.params.clamp_target = true;
    for i in 0..40 {
        clamped.at(us(i)).cnp();
    }
    clamped.at(us(2000));
    let (fast, additive, hyper) = clamped.steps();
    assert_eq!((fast, additive), (1, 1));
    assert_eq!(clamped.flow.target().as_bps(), G + 20_000_000 + hyper * 200_000_000);
}

// ---- against versions that tick ----

/// The paper's reaction point with every timer ticking for ever.
struct TickingPaper {
    rc: u64,
    rt: u64,
    alpha: f64,
    t: u64,
    bc: u64,
    bytes: u64,
    alpha_at: Time,
    increase_at: Time,
}

impl TickingPaper {
    fn increase(&mut self, c: u64, p: &dcqcn::Params) {
        let f = p.fast_recovery_steps as u64;
        let (most, least) = (self.t.max(self.bc), self.t.min(self.bc));
        if most < f {
        } else if least > f {
            self.rt += (least - f) * (c / 100);
        } else {
            self.rt += c / 1000;
        }
        self.rt = self.rt.min(c);
        self.rc = (self.rt + self.rc).div_ceil(2);
    }

    fn at(&mut self, t: Time, c: u64, p: &dcqcn::Params) {
        while self.alpha_at.min(self.increase_at) <= t {
            if self.alpha_at <= self.increase_at {
                self.alpha *= 1.0 - p.g;
                self.alpha_at += p.alpha_timer;
            } else {
                self.t += 1;
                self.increase(c, p);
                self.increase_at += p.increase_timer;
            }
        }
    }
}

/// The vendor's reaction point with every timer ticking for ever, as its pseudocode has it.
struct TickingVendor {
    rc: u64,
    rt: u64,
    alpha: f64,
    alpha_flag: bool,
    cut_flag: bool,
    stage: u64,
    alpha_at: Time,
    cut_at: Time,
    increase_at: Time,
}

impl TickingVendor {
    fn at(&mut self, t: Time, c: u64, p: &dcqcn_vendor::Params) {
        loop {
            let next = self.increase_at.min(self.alpha_at).min(self.cut_at);
            if next > t {
                return;
            }
            if self.increase_at == next {
                if self.stage == p.fast_recovery_steps as u64 {
                    self.rt = (self.rt + c / 5000).min(c);
                } else if self.stage > p.fast_recovery_steps as u64 {
                    self.rt = (self.rt + c / 500).min(c);
                }
                self.rc = (self.rt + self.rc).div_ceil(2);
                self.stage += 1;
                self.increase_at += p.increase_timer;
            } else if self.alpha_at == next {
                self.alpha = (1.0 - p.g) * self.alpha + if self.alpha_flag { p.g } else { 0.0 };
                self.alpha_flag = false;
                self.alpha_at += p.alpha_timer;
            } else {
                if self.cut_flag {
                    if p.clamp_target || self.stage != 0 {
                        self.rt = self.rc;
                    }
                    self.rc = ((self.rc as f64 * (1.0 - self.alpha / 2.0) + 0.5) as u64).max(c / 100);
                    self.stage = 0;
                    self.cut_flag = false;
                    self.increase_at = next + p.increase_timer;
                }
                self.cut_at += p.cut_interval;
            }
        }
    }
}

/// Gaps of every length that matters, some a whole number of microseconds so that timers and CNPs meet.
fn gap() -> impl Strategy<Value = Time> {
    prop_oneof![
        (0u64..120).prop_map(us),
        (1u64..200_000).prop_map(Time::from_ns),
        (1u64..12).prop_map(|n| us(n * 275)),
        Just(Time::from_ms(5)),
    ]
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn paper_equals_one_that_ticks(
        events in prop::collection::vec((gap(), prop_oneof![Just(true), Just(false)]), 1..60),
        clamp in any::<bool>(),
    ) {
        let c = 10 * G;
        let mut point = paper_with(|p| {
            p.clamp_target = clamp;
            // So small that bytes drive steps as often as time does.
            p.byte_counter = Bytes(40_000);
        });
        let p = point.params.clone();
        let mut slow = TickingPaper {
            rc: c, rt: c, alpha: 1.0, t: 0, bc: 0, bytes: 0, alpha_at: Time::NEVER, increase_at: Time::NEVER,
        };
        let mut now = Time::ZERO;
        for (gap, is_cnp) in events {
            now += gap;
            point.at(now);
            slow.at(now, c, &p);
            if is_cnp {
                point.cnp();
                if clamp || slow.t > 0 || slow.bc > 0 {
                    slow.rt = slow.rc;
                }
                slow.rc = ((slow.rc as f64 * (1.0 - slow.alpha / 2.0) + 0.5) as u64).max(c / 1000);
                slow.alpha = (1.0 - p.g) * slow.alpha + p.g;
                (slow.t, slow.bc, slow.bytes) = (0, 0, 0);
                (slow.alpha_at, slow.increase_at) = (now + p.alpha_timer, now + p.increase_timer);
            } else {
                point.send(9_000);
                if slow.increase_at.is_some() {
                    slow.bytes += 9_000;
                    if slow.bytes >= 40_000 {
                        slow.bytes -= 40_000;
                        slow.bc += 1;
                        slow.increase(c, &p);
                    }
                }
            }
            prop_assert_eq!((point.rate(), point.target()), (slow.rc, slow.rt));
            prop_assert_eq!(point.alpha().to_bits(), slow.alpha.to_bits());
        }
    }

    #[test]
    fn vendor_equals_one_that_ticks(gaps in prop::collection::vec(gap(), 1..60), clamp in any::<bool>()) {
        let c = 100 * G;
        let mut point = vendor();
        point.params.clamp_target = clamp;
        let p = point.params.clone();
        let mut slow = TickingVendor {
            rc: c, rt: c, alpha: 1.0, alpha_flag: false, cut_flag: false, stage: 0,
            alpha_at: Time::NEVER, cut_at: Time::NEVER, increase_at: Time::NEVER,
        };
        let mut now = Time::ZERO;
        for gap in gaps {
            now += gap;
            point.at(now);
            slow.at(now, c, &p);
            prop_assert_eq!(point.rate(), slow.rc);
            prop_assert_eq!(point.alpha().to_bits(), slow.alpha.to_bits());
            point.cnp();
            if slow.alpha_at.is_some() {
                slow.alpha_flag = true;
            } else {
                (slow.alpha_at, slow.cut_at) = (now + p.alpha_timer, now + p.cut_interval + Time::from_ns(1));
            }
            slow.cut_flag = true;
        }
    }
}
