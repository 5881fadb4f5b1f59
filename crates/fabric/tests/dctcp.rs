//! DCTCP in a network: what its equations and its section 3.5 say of flows that share a port. The sawtooth itself, eqs.
//! (3) to (6), is measured by the paper's experiments in `papers/specs/dctcp`.

use crate::common::*;
use fanin_cc::schemes::dctcp::{self, Dctcp};
use fanin_cc::{Scheme, Settings};
use fanin_claims::strict;
use fanin_fabric::topology::{Cable, Dumbbell};
use fanin_fabric::*;
use fanin_units::{Rate, Time};

/// As the paper's hosts are taken to be: alpha starts at 0.
fn paper(id: &str, g: f64) -> Settings {
    match id {
        "dctcp" => Settings::Dctcp("dctcp", dctcp::Params { g, initial_alpha: 0.0, ..Dctcp::preset("dctcp") }),
        id => Settings::preset(id).unwrap(),
    }
}
const G: f64 = 1.0 / 16.0;

/// Long flows from as many hosts through one bottleneck whose base round trip is `rtt`; ACKs for every second packet.
/// The step is at `k` packets, the buffer is DCTCP's 700 KB. Flow i starts at `starts[i]`.
fn flows(scheme: Settings, gbps: u64, rtt: Time, k: u64, starts: &[Time]) -> Simulation {
    let rate = Rate::from_gbps(gbps);
    let own = 3 * (rate.tx_time(WIRE).as_ps() + rate.tx_time(64).as_ps());
    let delay = Time::from_ps((rtt.as_ps() - own) / 6);
    let left = starts.len() as u32;
    let graph = Dumbbell { left, right: 1, host_link: Cable::new(rate, delay), bottleneck: Cable::new(rate, delay) };
    let marking = Marking::Step { above: k * WIRE, at: MarkAt::Enqueue };
    let config = NetworkConfig {
        classes: vec![class(false, marking)],
        buffer: lossless(466 * WIRE, None),
        ..network(graph.build().unwrap())
    };
    let mut traffic = TrafficConfig { scheme, ..over_tcp("dctcp") };
    traffic.ecn = traffic.scheme.wants_ecn();
    let tcp = traffic.tcp.as_mut().unwrap();
    tcp.connection.ecn = traffic.ecn;
    tcp.connection.receive_buffer = 16_000_000;
    tcp.connection.ack_every = 2;
    let messages = starts.iter().enumerate().map(|(i, at)| message(*at, i as u32, left, Message::ENDLESS)).collect();
    simulation(config, vec![traffic], messages)
}

fn alpha(sim: &Simulation, message: u32) -> f64 {
    sim.watch(message).iter().find(|(name, _)| *name == "alpha").unwrap().1
}

/// The bottleneck: from the left switch to the right one.
fn queue(sim: &Simulation, senders: u32) -> u64 {
    sim.queued(port(sim, senders + 1, senders + 2))
}

/// Claim dctcp-eq1-alpha, its last part: alpha estimates how often the queue is above K.
#[test]
fn dctcp_eq1_alpha_is_the_share_of_time_above_k() {
    let mut rows = fanin_claims::claim!("dctcp-eq1-alpha");
    for (senders, gbps, k) in [(2, 1, 20), (10, 1, 20), (2, 10, 65)] {
        let rtt = us(100);
        let mut sim = flows(paper("dctcp", G), gbps, rtt, k, &vec![Time::ZERO; senders as usize]);
        run_to(&mut sim, Time::from_ms(200));
        let (mut above, mut sum, mut looks) = (0.0, 0.0, 0.0);
        let step = Rate::from_gbps(gbps).tx_time(WIRE);
        for _ in 0..10_000 {
            let next = sim.now() + step;
            run_to(&mut sim, next);
            above += (queue(&sim, senders) > k * WIRE) as u32 as f64;
            sum += (0..senders).map(|m| alpha(&sim, m)).sum::<f64>() / senders as f64;
            looks += 1.0;
        }
        let (share, mean) = (above / looks, sum / looks);
        assert!((mean - share).abs() <= 0.1, "N = {senders} at {gbps} Gb/s: alpha {mean:.3}, above K {share:.3}");
        assert!(share > 0.02, "the queue was never above K");
        let what = format!("mean alpha, and share of time above K: {senders} flows at {gbps} Gb/s, K = {k}");
        let holds = (mean - share).abs() <= 0.1;
        rows.row(what, "the same", format!("{mean:.3}, {share:.3}"), "within 0.1", strict(holds));
    }
}

/// Claim dctcp-eq7-g, its simulated part: gains across the bound of eq. (7), 0.080 here. Above it alpha is restless,
/// and so is the queue; the link stays full on both sides.
#[test]
fn dctcp_eq7_g_a_larger_gain_makes_alpha_and_the_queue_restless() {
    // Mean and standard deviation.
    let moments = |seen: &[f64]| {
        let mean = seen.iter().sum::<f64>() / seen.len() as f64;
        let square = seen.iter().map(|a| (a - mean) * (a - mean)).sum::<f64>() / seen.len() as f64;
        (mean, square.sqrt())
    };
    let mut found = Vec::new();
    for g in [0.25, 1.0 / 16.0, 1.0 / 64.0] {
        let mut sim = flows(paper("dctcp", g), 10, us(100), 65, &[Time::ZERO; 2]);
        run_to(&mut sim, Time::from_ms(100));
        let sent = |sim: &Simulation| sim.port_counter(port(sim, 3, 4)).bytes;
        let (mut alphas, mut queues, before) = (Vec::new(), Vec::new(), sent(&sim));
        for _ in 0..2_000 {
            let next = sim.now() + us(100);
            run_to(&mut sim, next);
            alphas.push(alpha(&sim, 0));
            queues.push(queue(&sim, 2) as f64 / WIRE as f64);
        }
        let load = (sent(&sim) - before) as f64 * 8.0 / 0.2 / 10e9;
        let ((mean, spread), (length, varies)) = (moments(&alphas), moments(&queues));
        println!("g {g:.4}: alpha {mean:.3} +- {spread:.3}, queue {length:.1} +- {varies:.1}, load {load:.4}");
        found.push((spread / mean, varies, load));
    }
    assert!(found.windows(2).all(|g| g[0].0 > g[1].0), "the spread of alpha: {found:.3?}");
    assert!(found[0].1 > found[1].1, "that of the queue: {found:.3?}");
    assert!(found.iter().all(|g| g.2 > 0.99), "the load: {found:.3?}");
    let mut rows = fanin_claims::claim!("dctcp-eq7-g");
    let ours: Vec<String> = found.iter().map(|(spread, ..)| format!("{spread:.3}")).collect();
    let more = found.windows(2).all(|g| g[0].0 > g[1].0);
    let what = "standard deviation of alpha over its mean with g = 1/4, 1/16, 1/64";
    rows.row(what, "more with a larger g", ours.join(", "), "in this order", strict(more));
}

/// How long a flow that joins another takes to 90 % of its fair share, in milliseconds; its goodput is smoothed over
/// 100 round trips.
fn convergence_ms(id: &str, gbps: u64, rtt: Time, k: u64, joins_ms: u64) -> f64 {
    let mut sim = flows(paper(id, G), gbps, rtt, k, &[Time::ZERO, Time::from_ms(joins_ms)]);
    run_to(&mut sim, Time::from_ms(joins_ms));
    let step = Time::from_ps(rtt.as_ps() * 5);
    let mut delivered = vec![0];
    for _ in 0..20_000 {
        let next = sim.now() + step;
        run_to(&mut sim, next);
        delivered.push(sim.flows()[1].delivered);
        let n = delivered.len();
        if n > 20 {
            let bits = (delivered[n - 1] - delivered[n - 21]) as f64 * 8.0 / (step.as_secs_f64() * 20.0);
            let fair = gbps as f64 * 1e9 * (PAYLOAD as f64 / WIRE as f64) / 2.0;
            if bits >= 0.9 * fair {
                return (sim.now().as_secs_f64() - joins_ms as f64 / 1e3) * 1e3;
            }
        }
    }
    f64::INFINITY
}

/// Claim dctcp-sec35-convergence, as far as it holds: VALIDATION.md has the cases in which it does not.
#[test]
fn dctcp_sec35_convergence() {
    let mean = |id: &str, gbps: u64, rtt: Time, k: u64| {
        let times: Vec<f64> = (0..20).map(|i| convergence_ms(id, gbps, rtt, k, 150 + 7 * i)).collect();
        times.iter().sum::<f64>() / times.len() as f64
    };
    let mut rows = fanin_claims::claim!("dctcp-sec35-convergence");
    let mut within = |gbps: u64, rtt: Time, k: u64, low: f64, high: f64| {
        let (dctcp, newreno) = (mean("dctcp", gbps, rtt, k), mean("newreno", gbps, rtt, k));
        println!("{gbps} Gb/s, {rtt}: dctcp {dctcp:.1} ms, newreno {newreno:.1} ms");
        assert!((low..=high).contains(&dctcp), "{gbps} Gb/s, {rtt}: {dctcp:.1} ms");
        let (says, least, most) = if gbps == 1 { ("20 to 30", 10.0, 60.0) } else { ("80 to 150", 40.0, 300.0) };
        let at = format!("at {gbps} Gb/s and {rtt}, mean of 20 joins");
        rows.within(format!("time until a new flow has 90 % of its share {at}, ms"), says, (dctcp, 0), least, most);
        rows.within(format!("the same over NewReno's {at}"), "2 to 3", (dctcp / newreno, 2), 1.2, 6.0);
        dctcp / newreno
    };
    // TCP is as slow there: its queue of 700 KB is 56 RTTs.
    let ratio = within(1, us(100), 20, 10.0, 60.0);
    assert!((0.6..1.2).contains(&ratio), "{ratio:.1} times as long as newreno");
    // Beyond the claim's 60 ms.
    let ratio = within(1, us(250), 20, 60.0, 110.0);
    assert!((1.2..=6.0).contains(&ratio), "{ratio:.1} times as long as newreno");
    for rtt in [us(100), us(250)] {
        let ratio = within(10, rtt, 65, 40.0, 300.0);
        assert!((1.2..=6.0).contains(&ratio), "{ratio:.1} times as long as newreno");
    }
}
