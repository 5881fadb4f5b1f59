//! Marks that depend on every arrival, in a running network: each is compared with what the definition says about the
//! queue that the packet found.

use crate::common::*;
use fanin_cc::aqm::{Aqm, pi, red};
use fanin_engine::Streams;
use fanin_fabric::*;
use fanin_units::{PortId, Time};

/// How busy the link is: so that the queue is often long and often gone.
const LOAD: f64 = 0.8;

/// Something that happened to a queue.
enum Step {
    /// A packet of so many bytes found so many waiting.
    Arrived { wire: u64, found: u64, marked: bool },
    /// A packet of so many bytes began to leave, and left so many behind.
    Left { wire: u64, behind: u64 },
}

/// Runs event by event to the end, and shows what happens to the data queue of a port that carries nothing else.
fn watch(sim: &mut Simulation, port: PortId, mut see: impl FnMut(&Simulation, Time, Step)) {
    let (mut found, mut bytes, mut marks) = (0, 0, 0);
    sim.make_departures_eager();
    while !sim.is_over() {
        sim.run_until(Time::NEVER, 1);
        let (queue, counters) = (sim.queued(port), sim.port_counter(port));
        let sent = counters.bytes - bytes;
        let came = queue + sent - found;
        let marked = counters.marked > marks;
        if came > 0 {
            see(sim, sim.now(), Step::Arrived { wire: came, found, marked });
        } else {
            assert!(!marked, "only what arrives is marked");
        }
        if sent > 0 {
            see(sim, sim.now(), Step::Left { wire: sent, behind: queue });
        }
        (found, bytes, marks) = (queue, counters.bytes, counters.marked);
    }
}

/// Random bursts of three hosts to the fourth that keep its link about as busy as `load`, in a given number of packets.
/// Traffic 0 has full packets, traffic 1 single smaller ones.
fn bursts(packets: u64, load: f64, seed: u64) -> Box<dyn Iterator<Item = Message> + Send> {
    let mut draws = Streams::new(seed).stream("trace", 0);
    let (mut at, mut made) = (0.0, 0);
    Box::new(std::iter::from_fn(move || {
        if made >= packets {
            return None;
        }
        let small = draws.chance(0.5);
        let count = if small { 1 } else { 1 + (draws.unit() * 40.0) as u64 };
        let payload = if small { 1 + (draws.unit() * 1400.0) as u64 } else { PAYLOAD };
        made += count;
        at += draws.exponential(((payload + 40) * count) as f64 * 800.0 / load);
        let from = (draws.unit() * 3.0) as u32;
        Some(Message { traffic: small as u16, ..message(Time::from_ps(at as u64), from, 3, count * payload) })
    }))
}

/// A star under these bursts: traffic 0 may be marked, traffic 1 not.
fn under_bursts(packets: u64, marking: Marking) -> Simulation {
    let config = NetworkConfig { classes: vec![class(false, marking)], ..network(star(4, us(1))) };
    let mut quiet = traffic("none");
    quiet.endpoint.ack_chunk = u32::MAX;
    quiet.endpoint.timeout = Time::NEVER;
    let traffics = vec![quiet.clone(), TrafficConfig { ecn: false, ..quiet }];
    Simulation::new(config, traffics, bursts(packets, LOAD, 7))
}

#[test]
fn dctcp_fig10_marking() {
    const PACKETS: u64 = 1_000_000;
    // DCTCP section 3.3: 65 packets at 10 Gb/s.
    let above = 65 * WIRE;
    let mut sim = under_bursts(PACKETS, Marking::Step { above, at: MarkAt::Enqueue });
    let port = port(&sim, 4, 3);
    let (mut arrived, mut marks, mut deaf_above, mut at_threshold) = (0, 0, 0, 0);
    watch(&mut sim, port, |_, now, step| {
        let Step::Arrived { wire, found, marked } = step else { return };
        // Only packets of traffic 0 are full ones.
        let may = wire == WIRE;
        assert_eq!(marked, may && found > above, "{found} bytes were there at {now}");
        arrived += 1;
        marks += u64::from(marked);
        deaf_above += u64::from(!may && found > above);
        at_threshold += u64::from(may && found == above);
    });
    let totals = sim.traffic_counters();
    let all: u64 = totals.iter().map(|t| t.packets_arrived).sum();
    assert!(all >= PACKETS && arrived == all, "{all} {arrived}");
    assert_eq!((totals[0].packets_marked, totals[1].packets_marked), (marks, 0));
    // The trace has enough of every case.
    assert!(marks > PACKETS / 10 && marks < PACKETS / 2, "{marks}");
    assert!(deaf_above > 1000 && at_threshold > 10, "{deaf_above} {at_threshold}");
    let mut rows = fanin_claims::claim!("dctcp-fig10-marking");
    let ours = format!("0 of {arrived}; {marks} were marked");
    rows.asserted("packets marked at a queue of K or less, or not marked above it", "0", ours);
}

#[test]
fn red_without_memory_is_a_step() {
    // With weight 1 the average is the queue, and without gentleness all is marked from max on.
    for above in [15_000, 30_001] {
        let sharp = red::Config { max: above + 1, weight: 1.0, gentle: false, ..red::Config::new(above, 1500) };
        let run = |marking| {
            let mut sim = under_bursts(20_000, marking);
            finish(&mut sim);
            sim.totals()
        };
        let (red, step) = (run(Marking::RedAverage(sharp)), run(Marking::Step { above, at: MarkAt::Enqueue }));
        assert_eq!(red, step);
        assert_ne!(red.event_hash, run(Marking::Off).event_hash);
    }
}

#[test]
fn red_averages_what_each_packet_found_and_the_time_without_any() {
    for release in [Release::Dequeue, Release::LastBit] {
        let config = red::Config { weight: 1.0 / 64.0, max_probability: 0.5, ..red::Config::new(10_000, 1500) };
        let mut sim = under_bursts(5_000, Marking::RedAverage(config));
        if release == Release::LastBit {
            let fabric = NetworkConfig { release, ..sim.config().clone() };
            sim = Simulation::new(fabric, vec![traffic("none"), traffic("none")], bursts(5_000, LOAD, 7));
        }
        let port = port(&sim, 4, 3);
        let (mut average, mut idle_from) = (0.0f64, Some(Time::ZERO));
        let (mut packets, mut long_idle, mut marks) = (0, 0, 0);
        watch(&mut sim, port, |sim, now, step| match step {
            Step::Arrived { found, marked, .. } => {
                if let Some(from) = idle_from.take() {
                    // 1,500 B at 10 Gb/s take 1.2 us.
                    let m = now.saturating_sub(from).as_ps() / 1_200_000;
                    average *= (1.0 - config.weight).powi(m as i32);
                    long_idle += u32::from(m > 0);
                }
                average += config.weight * (found as f64 - average);
                let Some(Aqm::Red(red)) = sim.aqm(port, 1) else { panic!("no RED") };
                assert!((red.average() - average).abs() < 1e-6, "{} {average} at {now}", red.average());
                assert!(!marked || average >= config.min as f64 && found > 0);
                packets += 1;
                marks += u32::from(marked);
            }
            Step::Left { wire, behind } => {
                if behind == 0 {
                    idle_from = Some(now + gbps(10).tx_time(wire));
                }
            }
        });
        assert!(packets > 5_000 && long_idle > 30 && marks > 100, "{packets} {long_idle} {marks}");
    }
}

#[test]
fn pi_in_a_switch_is_pi_with_a_timer() {
    let config = pi::Config { a: 1e-3, b: 0.9e-3, target: 60_000, every: ns(7_300), mean_packet: 1500 };
    let fabric = NetworkConfig { classes: vec![class(false, Marking::Pi(config))], ..network(star(3, us(1))) };
    // Two hosts at line rate into one: the queue grows by a packet every 1.2 us, and changes all the time.
    let messages = (0..2).map(|h| message(ns(77 * h as u64), h, 2, Message::ENDLESS)).collect();
    let mut sim = line_rate(fabric, messages);
    let port = port(&sim, 3, 2);
    let (mut p, mut old, mut expected, mut variance, mut arrived) = (0.0f64, 0, 0.0, 0.0, 0);
    for sample in 1..150 {
        let at = config.every.saturating_mul(sample);
        let before = sim.queued(port) + counters(&sim, 3, 2).bytes;
        run_to(&mut sim, at);
        let came = (sim.queued(port) + counters(&sim, 3, 2).bytes - before) / WIRE;
        arrived += came;
        // All of these found the probability of the sample before.
        expected += came as f64 * p;
        variance += came as f64 * p * (1.0 - p);
        if sample > 1 {
            let Some(Aqm::Pi(pi)) = sim.aqm(port, 1) else { panic!("no controller") };
            assert_eq!(pi.probability(), p, "sample {sample}");
        }
        let queue = sim.queued(port);
        let packets = |bytes: u64| (bytes as f64 - 60_000.0) / 1500.0;
        p = (p + config.a * packets(queue) - config.b * packets(old)).clamp(0.0, 1.0);
        old = queue;
    }
    assert!(p > 0.3 && arrived > 1500, "{p} {arrived}");
    let marked = sim.class_counter(port, 1).marked as f64;
    assert!((marked - expected).abs() < 4.0 * variance.sqrt() + 2.0, "{marked} marks, {expected} expected");
}

#[test]
fn what_cannot_be_marked_passes_by_an_aqm() {
    for marking in [
        Marking::RedAverage(red::Config { weight: 1.0, ..red::Config::new(1500, 1500) }),
        Marking::Pi(pi::Config { a: 0.5, b: 0.0, target: 0, every: ns(100), mean_packet: 1500 }),
    ] {
        let mut sim = under_bursts(20_000, marking);
        finish(&mut sim);
        check_all_arrived(&sim);
        let traffics = sim.traffic_counters();
        assert!(traffics[0].packets_marked > 1000, "{marking:?}");
        assert_eq!(traffics[1].packets_marked, 0);
        assert_eq!(sim.totals().drops, Drops::default());
        // Only the queue that fills marks, and hosts never do.
        assert_eq!(counters(&sim, 4, 3).marked, traffics[0].packets_marked);
    }
}

#[test]
fn a_class_without_aqm_is_not_touched_by_that_of_another() {
    let run = |other: Marking| {
        let mut config = network(star(4, us(1)));
        config.classes = vec![class(false, Marking::Step { above: 15_000, at: MarkAt::Enqueue }), class(false, other)];
        let messages = bursts(5_000, LOAD, 3).map(|m| Message { traffic: 0, ..m }).collect();
        let mut sim = line_rate(config, messages);
        finish(&mut sim);
        sim.totals()
    };
    let averaged = Marking::RedAverage(red::Config::new(15_000, 1500));
    assert_eq!(run(Marking::Off), run(averaged));
}
