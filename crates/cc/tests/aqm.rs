//! RED and PI against the formulas they come from, written down once more as plain loops.

use fanin_cc::aqm::{Aqm, Pi, Red, pi, red};
use fanin_units::{Rate, Time};
use proptest::collection::vec;
use proptest::prelude::*;

fn cases() -> ProptestConfig {
    let cases = std::env::var("FANIN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// 1 Gb/s: a packet of 1,500 B takes 12 us.
const RATE: Rate = Rate::from_gbps(1);
const SLOT: Time = Time::from_us(12);

fn after(packets: u64) -> Time {
    SLOT.saturating_mul(packets)
}

/// The probability that RED draws with, or 0 or 1 where it draws nothing. `hit` is how the draw ends.
fn ask(red: &mut Red, now: Time, queue: u64, wire: u64, hit: bool) -> f64 {
    let mut asked = None;
    let marked = red.arrives(now, queue, wire, |p| {
        asked = Some(p);
        hit
    });
    asked.unwrap_or(f64::from(u8::from(marked)))
}

/// RED as in ns-2's `red.cc` with bytes, in one function without early exits: average, probability, spreading.
struct Oracle {
    c: red::Config,
    average: f64,
    count_bytes: u64,
    old: bool,
    idle_since: Option<f64>,
}

impl Oracle {
    fn new(c: red::Config) -> Self {
        Self { c, average: 0.0, count_bytes: 0, old: false, idle_since: Some(0.0) }
    }

    fn arrives(&mut self, now: f64, queue: u64, wire: u64, hit: bool) -> f64 {
        let (w, mean) = (self.c.weight, self.c.mean_packet as f64);
        if let Some(since) = self.idle_since.take() {
            let m = (1e9 / 8.0 * (now - since).max(0.0) / self.c.idle_packet as f64 + 1e-9).floor() as u64;
            for _ in 0..m {
                self.average *= 1.0 - w;
            }
        }
        self.average = (1.0 - w) * self.average + w * queue as f64;
        self.count_bytes += wire;
        let (min, max, max_p) = (self.c.min as f64, self.c.max as f64, self.c.max_probability);
        if self.average < min || queue == 0 {
            self.old = false;
            return 0.0;
        }
        let p_b = if self.average < max {
            max_p * (self.average - min) / (max - min)
        } else if self.c.gentle && self.average < 2.0 * max {
            (1.0 - max_p) / max * self.average + 2.0 * max_p - 1.0
        } else {
            1.0
        };
        let always = self.average >= if self.c.gentle { 2.0 * max } else { max };
        if !always && !self.old {
            self.old = true;
            self.count_bytes = wire;
            return 0.0;
        }
        let count = (self.count_bytes / self.c.mean_packet as u64) as f64;
        let p_a = if always {
            1.0
        } else if self.c.wait {
            match count * p_b {
                x if x < 1.0 => 0.0,
                x if x < 2.0 => p_b / (2.0 - x) * wire as f64 / mean,
                _ => 1.0,
            }
        } else {
            match count * p_b {
                x if x < 1.0 => p_b / (1.0 - x) * wire as f64 / mean,
                _ => 1.0,
            }
        };
        if p_a >= 1.0 || p_a > 0.0 && hit {
            self.count_bytes = 0;
        }
        p_a.min(1.0)
    }
}

fn configs() -> impl Strategy<Value = red::Config> {
    let size = || prop::sample::select(vec![100u32, 500, 1000, 1500]);
    (1_500u64..60_000, 1u64..120_000, 0.01..1.0f64, 1u32..11, any::<bool>(), any::<bool>(), size(), size()).prop_map(
        |(min, more, max_probability, shift, gentle, wait, mean_packet, idle_packet)| red::Config {
            min,
            max: min + more,
            max_probability,
            weight: 0.5f64.powi(shift as i32),
            gentle,
            wait,
            mean_packet,
            idle_packet,
        },
    )
}

proptest! {
    #![proptest_config(cases())]

    /// Random walks of a queue, with idle times between; both sides have the same random draws.
    #[test]
    fn red_is_what_its_formulas_say(
        config in configs(),
        steps in vec((-12i64..14, 0u64..40, 64u64..1501, any::<bool>(), prop::bool::weighted(0.05)), 50..400),
    ) {
        let (mut red, mut oracle) = (Red::new(config, RATE), Oracle::new(config));
        let (mut now, mut queue) = (Time::ZERO, 0i64);
        for (step, gap, wire, hit, empties) in steps {
            now += Time::from_us(gap);
            if empties && queue > 0 {
                queue = 0;
                red.idle_from(now + SLOT);
                oracle.idle_since = Some((now + SLOT).as_secs_f64());
                now += after(gap);
            } else {
                queue = (queue + step * 1000).max(0);
            }
            let expected = oracle.arrives(now.as_secs_f64(), queue as u64, wire, hit);
            let got = ask(&mut red, now, queue as u64, wire, hit);
            prop_assert!((red.average() - oracle.average).abs() <= 1e-9 * oracle.average.max(1.0));
            prop_assert!((got - expected).abs() < 1e-6, "{} instead of {}", got, expected);
            queue += wire as i64;
        }
    }

    /// A timer that samples at every instant, against samples taken only when the queue changes.
    #[test]
    fn pi_taken_lazily_is_pi_taken_eagerly(
        (a, part) in (1e-6..0.3f64, 0.0..1.0f64),
        target in 0u64..60_000,
        every in 1u64..5_000_000,
        changes in vec(
            (prop_oneof![3 => 0u64..4_000_000, 1 => 0u64..400_000_000], 0u64..100_000, any::<bool>()),
            1..120,
        ),
    ) {
        let config = pi::Config { a, b: a * part, target, every: Time::from_ps(every), mean_packet: 1500 };
        let mut lazy = Aqm::Pi(Pi::new(config));
        let (mut now, mut queue) = (0u64, 0u64);
        let (mut p, mut old, mut next) = (0.0f64, 0u64, every);
        for (gap, to, joins) in changes {
            // A gap that is a whole number of samples puts the change on an instant.
            now += if gap % 5 == 0 { gap / every * every } else { gap };
            for _ in 0..now.saturating_sub(next).checked_div(every).map_or(0, |n| n + u64::from(next <= now)) {
                let packets = |bytes: u64| (bytes as f64 - target as f64) / 1500.0;
                p = (p + config.a * packets(queue) - config.b * packets(old)).clamp(0.0, 1.0);
                old = queue;
                next += every;
            }
            if joins {
                let mut asked = None;
                let marked = lazy.arrives(Time::from_ps(now), queue, 1500, |p| { asked = Some(p); false });
                prop_assert_eq!(asked.unwrap_or(f64::from(u8::from(marked))), p);
            } else {
                lazy.leaves(Time::from_ps(now), queue, false, Time::from_ps(now));
            }
            let Aqm::Pi(state) = &lazy else { unreachable!() };
            prop_assert_eq!(state.probability(), p);
            queue = to;
        }
    }
}

#[test]
fn the_average_follows_by_its_weight() {
    // DCTCP section 4: weight 9 is 2^-9. A queue of 100 packets is followed to 1 - 1/e of it after 512 arrivals.
    let config = red::Config { weight: 1.0 / 512.0, ..red::Config::new(1_000_000, 1500) };
    let mut red = Red::new(config, RATE);
    for packet in 1..=512u64 {
        assert_eq!(ask(&mut red, after(packet), 150_000, 1500, true), 0.0);
    }
    let share = red.average() / 150_000.0;
    assert!((share - (1.0 - (-1.0f64).exp())).abs() < 1e-3, "{share}");
}

#[test]
fn an_idle_time_counts_as_packets_that_found_nothing() {
    for (idle_packet, m) in [(1500u32, 100i32), (100, 1500)] {
        let config = red::Config { weight: 0.002, idle_packet, ..red::Config::new(1_000_000, 1500) };
        let mut red = Red::new(config, RATE);
        for packet in 1..=1000u64 {
            ask(&mut red, after(packet), 30_000, 1500, false);
        }
        let before = red.average();
        // The last bit leaves at 2000 slots; the next packet arrives 100 slots and a bit later.
        red.idle_from(after(2000));
        ask(&mut red, after(2100) + Time::from_ns(1), 0, 1500, false);
        // The packet itself finds an empty queue: one more.
        let expected = before * 0.998f64.powi(m + 1);
        assert!((red.average() - expected).abs() < 1e-6 * expected, "{} {expected}", red.average());
        // While something waits time alone changes nothing.
        let before = red.average();
        ask(&mut red, after(9000), 1500, 1500, false);
        assert!((red.average() - (0.998 * before + 0.002 * 1500.0)).abs() < 1e-9);
    }
    // A packet that arrives before the last bit has left meets no idle time.
    let mut red = Red::new(red::Config { weight: 0.5, ..red::Config::new(1_000_000, 1500) }, RATE);
    ask(&mut red, after(1), 60_000, 1500, false);
    red.idle_from(after(3));
    ask(&mut red, after(2), 0, 1500, false);
    assert_eq!(red.average(), 15_000.0);
}

/// A queue held where RED's probability is 0.1, so that marks come about every tenth packet: distances between marks
/// with draws that hit as often as they should.
fn distances(wait: bool) -> Vec<u64> {
    let config = red::Config { weight: 1.0, wait, ..red::Config::new(30_000, 1500) };
    let mut red = Red::new(config, RATE);
    // min + (max - min) / 2 gives half of max_probability: p = 0.05.
    let mut seed = 1u64;
    let mut unit = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 11) as f64 / (1u64 << 53) as f64
    };
    let (mut distances, mut last) = (Vec::new(), None);
    for packet in 1..=200_000u64 {
        if red.arrives(after(packet), 60_000, 1500, |p| unit() < p) {
            distances.extend(last.map(|last| packet - last));
            last = Some(packet);
        }
    }
    distances
}

#[test]
fn marks_are_spread_evenly_with_and_without_wait() {
    // Without wait the distance is uniform over 1 .. 1/p; with it over 1/p .. 2/p. Here 1/p = 20.
    for (wait, from, to) in [(false, 1, 20), (true, 20, 40)] {
        let distances = distances(wait);
        let (least, most) = (distances.iter().min().unwrap(), distances.iter().max().unwrap());
        assert!(*least >= from && *most <= to, "{wait}: {least} {most}");
        let mean = distances.iter().sum::<u64>() as f64 / distances.len() as f64;
        let expected = (from + to) as f64 / 2.0;
        assert!((mean - expected).abs() < 0.05 * expected, "{wait}: {mean}");
        // Every distance is about as likely as any other.
        let (low, high) = (distances.iter().filter(|d| **d <= (from + to) / 2).count(), distances.len());
        assert!((0.45..0.58).contains(&(low as f64 / high as f64)), "{wait}: {low} of {high}");
    }
}

#[test]
fn above_its_thresholds_red_marks_always() {
    for (gentle, queue) in [(true, 180_000), (false, 90_000)] {
        let config = red::Config { weight: 1.0, gentle, ..red::Config::new(30_000, 1500) };
        let mut red = Red::new(config, RATE);
        // Also the first packet that sees it, and small ones.
        for packet in 1..100 {
            assert!(red.arrives(after(packet), queue, 64, |_| panic!("nothing to draw")), "{gentle} {packet}");
        }
        // Just below only some.
        assert!(!red.arrives(after(100), queue - 1, 1500, |_| false), "{gentle}");
    }
}

#[test]
fn an_empty_queue_is_never_marked_whatever_its_average() {
    let mut red = Red::new(red::Config { weight: 0.1, ..red::Config::new(30_000, 1500) }, RATE);
    for packet in 1..100 {
        red.arrives(after(packet), 1_000_000, 1500, |_| true);
    }
    assert!(red.average() > 900_000.0);
    assert!(!red.arrives(after(100), 0, 1500, |_| true));
}

#[test]
fn pi_settles_the_probability_where_its_queue_is_on_target() {
    // ns-2's defaults; on the target p stays for ever.
    let config = pi::Config::new(500);
    assert_eq!((config.target, config.every.as_ps()), (25_000, 5_882_352_941));
    let mut pi = Pi::new(config);
    let second = Time::from_s(1);
    pi.advance(second, 0);
    assert_eq!(pi.probability(), 0.0, "below its target it never rises");
    // 150 packets too many: the step from 50 too few is a x 150 + b x 50, then (a - b) x 150 a sample, 170 a second.
    pi.advance(second + second, 100_000);
    let expected = 1.822e-5 * 150.0 + 1.816e-5 * 50.0 + 169.0 * 6e-8 * 150.0;
    assert!((pi.probability() - expected).abs() < 1e-9, "{} {expected}", pi.probability());
    let before = pi.probability();
    pi.advance(Time::from_s(3), 25_000);
    let on_target = pi.probability();
    assert!((before - on_target - 1.816e-5 * 150.0).abs() < 1e-9);
    // However long, it takes no time to find out.
    pi.advance(Time::from_s(10_000_000), 25_000);
    assert_eq!(pi.probability(), on_target);
}

#[test]
fn pi_stays_between_never_and_always() {
    let config = pi::Config { a: 0.5, b: 0.1, target: 1500, every: Time::from_us(1), mean_packet: 1500 };
    let mut pi = Pi::new(config);
    assert!(!pi.arrives(Time::ZERO, 1_000_000, |_| panic!("nothing to draw")));
    assert!(pi.arrives(Time::from_us(1), 1_000_000, |_| panic!("nothing to draw")), "sampled at the instant itself");
    assert_eq!(pi.probability(), 1.0);
    pi.advance(Time::from_s(1_000_000), 0);
    assert_eq!(pi.probability(), 0.0);
}
