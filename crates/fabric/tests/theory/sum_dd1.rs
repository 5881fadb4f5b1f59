//! HPCC A.1: a port that N paced flows share is a queue of N periodic sources with one server (sum-D/D/1). With phases
//! at random the work V before the server has a known distribution (Roberts and Virtamo, IEEE Transactions on
//! Communications 1991), and the queue is short: with 50 sources about 3 packets at 95 % of the capacity, and less than
//! 5 on average even at 100 %. Unequal rates queue less than equal ones.
//!
//! Assumed: equal packets, and no phase is moved on the way; each host's own link here paces its flow, at a 50th of the
//! receiver's link. So nothing is approximate but the trials: means are within four standard errors. Where V is work in
//! packets, ceil(V) packets are there, of which one is being sent: P(waiting >= k) = P(V > k).

use crate::common::*;
use fanin_engine::mix;
use fanin_fabric::*;
use fanin_units::{Rate, Time};

const C: u64 = 10_000_000_000;
const SAMPLES: u64 = 64;
const TRIALS: u64 = 500;

/// P(V > x) with `n` sources of one packet in `period` packet times.
fn work_above(x: f64, n: usize, period: f64) -> f64 {
    let (mut sum, mut choose) = (0.0, 1.0);
    for k in 0..=n {
        let within = (k as f64 - x) / period;
        if within > 0.0 {
            let idle = (period - n as f64 + x) / (period - k as f64 + x);
            sum += choose * within.powi(k as i32) * (1.0 - within).powi((n - k) as i32) * idle;
        }
        choose = choose * (n - k) as f64 / (k + 1) as f64;
    }
    sum
}

/// The queue in packets at `SAMPLES` times of one period of the slowest flow, when all flows have run for two, and its
/// peak since the beginning.
fn trial(rates: &[Rate], number: u64) -> (Vec<u64>, u64) {
    let n = rates.len() as u32;
    let slowest = rates.iter().min().unwrap().tx_time(WIRE).as_ps();
    let draw = |what: u64| mix(mix(7, number), what);
    let mut links: Vec<_> = (0..n).map(|host| (host, n + 1, rates[host as usize], ns(100))).collect();
    links.push((n, n + 1, Rate::from_bps(C), ns(100)));
    let begin = |host: u32| Time::from_ps(draw(host as u64) % slowest);
    let messages = (0..n).map(|host| message(begin(host), host, n, Message::ENDLESS)).collect();
    let mut silent = traffic("none");
    silent.endpoint.ack_chunk = 100_000_000;
    let mut sim = simulation(network(graph(n + 1, 1, &links)), vec![silent], messages);
    let port = port(&sim, n + 1, n);
    let offset = draw(1 << 32) % (slowest / SAMPLES);
    let sample = |i: u64| {
        run_to(&mut sim, Time::from_ps(3 * slowest + offset + i * slowest / SAMPLES));
        sim.queued(port).div_ceil(WIRE)
    };
    let samples = (0..SAMPLES).map(sample).collect();
    (samples, sim.port_counter(port).peak_queue)
}

/// The mean of a quantity of the queue over trials, and its standard error.
fn over_trials(trials: &[Vec<u64>], of: impl Fn(u64) -> f64) -> (f64, f64) {
    let means = trials.iter().map(|queue| queue.iter().map(|packets| of(*packets)).sum::<f64>() / SAMPLES as f64);
    let means: Vec<f64> = means.collect();
    let n = means.len() as f64;
    let mean = means.iter().sum::<f64>() / n;
    let variance = means.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// All trials with these rates. The queue is never longer than all sources but one.
fn trials(rates: &[Rate]) -> Vec<Vec<u64>> {
    let run = |number| {
        let (queue, peak) = trial(rates, number);
        assert!(peak <= (rates.len() as u64 - 1) * WIRE, "{peak}");
        queue
    };
    (0..TRIALS).map(run).collect()
}

#[test]
fn the_queue_of_paced_flows_is_distributed_as_sum_dd1() {
    let n = 50;
    for (percent, band) in [(95, 2.5..=4.0), (100, 3.3..=5.0)] {
        let period = n as f64 * 100.0 / percent as f64;
        let queue = trials(&vec![Rate::from_bps(C * percent / 100 / n); n as usize]);
        for least in [1, 3, 6, 10] {
            let expected = work_above(least as f64, n as usize, period);
            let (share, error) = over_trials(&queue, |packets| (packets >= least) as u64 as f64);
            println!("{percent} %: P(waiting >= {least}) {share:.4} +- {error:.4}, {expected:.4}");
            assert!((share - expected).abs() <= 4.0 * error, "{least}: {share} +- {error}, {expected}");
        }
        let expected: f64 = (1..=n).map(|k| work_above(k as f64, n as usize, period)).sum();
        let (mean, error) = over_trials(&queue, |packets| packets as f64);
        println!("{percent} %: mean {mean:.3} +- {error:.3}, {expected:.3}");
        assert!((mean - expected).abs() <= 4.0 * error, "{mean} +- {error}, {expected}");
        // The paper counts the one that is sent, or the work left: 3 and less than 5.
        assert!(band.contains(&(mean + percent as f64 / 100.0)), "{mean}");
    }
}

#[test]
fn flows_of_unequal_rates_queue_less() {
    let unit = C / 50;
    let equal = trials(&vec![Rate::from_bps(unit); 50]);
    let mixed: Vec<Rate> = [vec![Rate::from_bps(unit); 20], vec![Rate::from_bps(3 * unit); 10]].concat();
    let mixed = trials(&mixed);
    let [(equal, a), (mixed, b)] = [equal, mixed].map(|queue| over_trials(&queue, |packets| packets as f64));
    println!("50 equal flows: {equal:.3} +- {a:.3}; 20 of one and 10 of three 50ths: {mixed:.3} +- {b:.3}");
    assert!(mixed + 4.0 * (a * a + b * b).sqrt() < equal, "{mixed} {equal}");
}
