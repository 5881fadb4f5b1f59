//! Shared and divided switch memory: who gets how much, who is dropped, and who is not touched.

use crate::common::*;
use fanin_claims::strict;
use fanin_fabric::topology::Graph;
use fanin_fabric::*;
use fanin_units::{PortId, Rate, Time};

const PFC: Pfc = Pfc { headroom: None, xon_offset: None };

/// A switch of DCTCP's Table 1: hosts on its ports, the faster ones last.
struct Switch {
    ports: &'static [(u32, u64)],
    pool: u64,
    /// The dynamic threshold as a fraction, so that the test can count in whole numbers.
    alpha: (u64, u64),
}

const TRIUMPH: Switch = Switch { ports: &[(48, 1), (4, 10)], pool: 4_000_000, alpha: (21, 100) };
const SCORPION: Switch = Switch { ports: &[(24, 10)], pool: 4_000_000, alpha: (21, 100) };
const CAT4948: Switch = Switch { ports: &[(48, 1), (2, 10)], pool: 16_000_000, alpha: (1, 1) };

impl Switch {
    fn hosts(&self) -> u32 {
        self.ports.iter().map(|(n, _)| n).sum()
    }

    fn graph(&self) -> Graph {
        let hosts = self.hosts();
        let rates = self.ports.iter().flat_map(|&(n, rate)| std::iter::repeat_n(gbps(rate), n as usize));
        let links: Vec<_> = (0..hosts).zip(rates).map(|(h, rate)| (h, hosts, rate, us(1))).collect();
        graph(hosts, 1, &links)
    }

    /// Two senders for each of `busy` ports, the first of them, which send without control; each port starts 1 ms after
    /// the one before.
    fn busy(&self, busy: u32) -> Simulation {
        let mut config = network(self.graph());
        let alpha = self.alpha.0 as f64 / self.alpha.1 as f64;
        config.buffer = BufferPolicy::Pooled { bytes: self.pool, alpha, pfc_alpha: 1.0, pfc: PFC };
        let hosts = self.hosts();
        // The last hosts send: those of 10 Gb/s at 1 Gb/s ports, else two others for each.
        let senders = if self.ports.len() > 1 { self.ports[1].0 } else { 2 * busy };
        let mut messages = Vec::new();
        for to in 0..busy {
            for i in 0..2 {
                let from = hosts - 1 - (2 * to + i) % senders;
                messages.push(message(us(1000 * to as u64) + ns(1_013 * i as u64), from, to, Message::ENDLESS));
            }
        }
        // Nothing comes again, however much is dropped.
        let mut traffic = traffic("none");
        traffic.endpoint = EndpointConfig {
            retries: u32::MAX,
            timeout: Time::NEVER,
            nack_interval: Time::from_s(100),
            ack_chunk: u32::MAX,
            ..EndpointConfig::default()
        };
        simulation(config, vec![traffic], messages)
    }

    /// Runs to `until` event by event, and checks each arrival. Returns how much each of the busy ports holds on
    /// average over the last fifth of the time.
    fn watch(&self, busy: u32, until: Time) -> Vec<f64> {
        let mut sim = self.busy(busy);
        sim.make_departures_eager();
        let hosts = self.hosts();
        let ports: Vec<PortId> = (0..busy).map(|to| port(&sim, hosts, to)).collect();
        let state = |sim: &Simulation| -> Vec<(u64, u64, u64)> {
            ports
                .iter()
                .map(|p| (sim.queued(*p), sim.port_counter(*p).bytes, sim.class_counter(*p, 1).dropped))
                .collect()
        };
        let mut before = state(&sim);
        let (mut sums, mut samples, mut drops, mut drops_of_pool) = (vec![0.0; ports.len()], 0, 0, 0);
        let late = until.as_ps() / 5 * 4;
        while sim.now() < until {
            sim.run_until(until, 1);
            let after = state(&sim);
            let all: u64 = before.iter().map(|p| p.0).sum();
            let free = self.pool - all;
            for (was, is) in before.iter().zip(&after) {
                let came = is.0 + (is.1 - was.1) - was.0;
                let dropped = is.2 > was.2;
                // q + s <= alpha (B - Q) and Q + s <= B, before the packet.
                let to_queue = was.0 + WIRE;
                let over_its_maximum = to_queue * self.alpha.1 > self.alpha.0 * free;
                let pool_is_empty = WIRE > free;
                if dropped {
                    assert!(over_its_maximum || pool_is_empty, "{was:?} dropped with {free} free");
                    assert_eq!(came, 0);
                    drops += 1;
                    drops_of_pool += u64::from(pool_is_empty);
                } else if came > 0 && is.0 > 0 {
                    assert!(!over_its_maximum && !pool_is_empty, "{was:?} admitted with {free} free");
                }
            }
            let all: u64 = after.iter().map(|p| p.0).sum();
            assert!(all <= self.pool, "{all} bytes in a pool of {}", self.pool);
            if sim.now().as_ps() > late {
                sums.iter_mut().zip(&after).for_each(|(sum, port)| *sum += port.0 as f64);
                samples += 1;
            }
            before = after;
        }
        check_ledger(&sim.totals());
        let held = check_buffers(&sim);
        assert_eq!(held, before.iter().map(|p| p.0).sum::<u64>());
        assert!(drops > 1000, "{drops}");
        assert_eq!(sim.totals().drops, Drops { buffer: drops, ..Drops::default() });
        // No queue takes the last of a pool as long as its factor leaves some free.
        assert_eq!(drops_of_pool, 0);
        sums.iter().map(|sum| sum / samples as f64).collect()
    }
}

#[test]
fn dctcp_table1_mmu() {
    // DCTCP 2.3.1: one busy port of the Triumph gets about 700 KB, not 4 MB.
    let mut rows = fanin_claims::claim!("dctcp-table1-mmu");
    for (name, switch) in [("Triumph", TRIUMPH), ("Scorpion", SCORPION)] {
        let alone = switch.watch(1, us(20_000))[0];
        assert!((alone - 700_000.0).abs() <= 0.05 * 700_000.0, "{alone}");
        let ours = format!("{:.0}", alone / 1000.0);
        rows.row(
            format!("buffer of one busy port of the {name}, KB"),
            "700",
            ours,
            "within 5 %",
            strict((alone / 7e5 - 1.0).abs() <= 0.05),
        );
    }
    let (mut apart, mut off) = (0.0f64, 0.0f64);
    for switch in [TRIUMPH, SCORPION, CAT4948] {
        for (busy, until) in [(1, 110_000), (2, 110_000), (5, 80_000)] {
            // Faster ports fill sooner.
            let until = if switch.ports.len() > 1 { us(until) } else { us(until / 5) };
            let plateaus = switch.watch(busy, until);
            // Each settles where q = alpha (B - n q).
            let alpha = switch.alpha.0 as f64 / switch.alpha.1 as f64;
            let expected = alpha * switch.pool as f64 / (1.0 + busy as f64 * alpha);
            for plateau in &plateaus {
                assert!((plateau - expected).abs() <= 0.05 * expected, "{busy}: {plateaus:?}, {expected} expected");
            }
            let (least, most) = plateaus.iter().fold((f64::MAX, 0.0f64), |(l, m), p| (l.min(*p), m.max(*p)));
            assert!(most - least <= 0.05 * most, "{busy}: {plateaus:?}");
            assert!(plateaus.iter().sum::<f64>() <= switch.pool as f64);
            apart = apart.max(1.0 - least / most);
            off = plateaus.iter().map(|plateau| (plateau / expected - 1.0).abs()).fold(off, f64::max);
        }
    }
    let ours = format!("{:.1} %, {:.1} %", 100.0 * apart, 100.0 * off);
    let what = "1, 2 and 5 busy ports of three switches: farthest from each other, and from alpha (B - n q)";
    rows.row(what, "equal", ours, "5 %", strict(apart <= 0.05 && off <= 0.05));
}

#[test]
fn a_drop_for_want_of_memory_comes_only_when_the_pool_is_used_up() {
    // A factor so large that no port has a maximum: the other of the two conditions.
    let switch = Switch { alpha: (1_000, 1), pool: 100_000, ..TRIUMPH };
    let mut sim = switch.busy(2);
    run_to(&mut sim, us(10_000));
    let held: u64 = (0..2).map(|to| sim.queued(port(&sim, 52, to))).sum();
    assert!((97_000..=100_000).contains(&held), "{held}");
    assert!(sim.totals().drops.buffer > 1000);
}

/// Class 1 is lossless (RDMA), class 2 lossy (TCP), each with this part of the buffer; `None` is all of it together.
fn side_by_side(buffer: BufferPolicy, release: Release, share: Option<f64>) -> NetworkConfig {
    let mut config = network(star(6, us(1)));
    config.classes = [true, false].map(|lossless| ClassConfig { share, ..class(lossless, Marking::Off) }).to_vec();
    config.buffer = buffer;
    config.release = release;
    config
}

/// Traffic 0 in class 1 and traffic 1 in class 2: `flood` of them overloads the port to host 5 from hosts 0 to 2; the
/// other sends bursts of five packets every 20 us, from host 3 to host 5 and from host 0 to host 4.
fn flood(config: NetworkConfig, flood: u16) -> Simulation {
    let mut traffics = [1, 2].map(|class| TrafficConfig { class, ..traffic("none") }).to_vec();
    // What is lost stays lost.
    traffics[flood as usize].endpoint.timeout = Time::from_s(1);
    let mut messages: Vec<Message> =
        (0..3).map(|h| Message { traffic: flood, ..message(ns(70 * h as u64), h, 5, Message::ENDLESS) }).collect();
    for burst in 0..50 {
        for (from, to) in [(3, 5), (0, 4)] {
            let at = us(50 + 20 * burst);
            messages.push(Message { traffic: 1 - flood, ..message(at, from, to, 5 * PAYLOAD) });
        }
    }
    let mut sim = simulation(config, traffics, messages);
    run_to(&mut sim, us(1_200));
    check_buffers(&sim);
    sim
}

/// Counters of a class, added up over all ports.
fn of_class(sim: &Simulation, class: usize) -> ClassCounters {
    let ports: Vec<PortId> = sim.ports().map(|(p, ..)| p).collect();
    let mut sum = ClassCounters::default();
    for counters in ports.iter().map(|p| sim.class_counter(*p, class)) {
        sum.dropped += counters.dropped;
        sum.pauses += counters.pauses;
        sum.paused += counters.paused;
        sum.peak_queue = sum.peak_queue.max(counters.peak_queue);
    }
    sum
}

fn check_untouched(sim: &Simulation, traffic: u16) {
    let counters = of_class(sim, 1 + traffic as usize);
    assert_eq!((counters.dropped, counters.pauses, counters.paused), (0, 0, Time::ZERO), "{counters:?}");
    let flows = sim.flows();
    assert!(flows.iter().filter(|f| f.traffic == traffic).all(|f| f.finished.is_some()));
}

const RELEASES: [Release; 2] = [Release::Dequeue, Release::LastBit];
const PORT: BufferPolicy = BufferPolicy::PerPort { bytes: 100_000, pfc: PFC };
/// Lossy queues would take nearly all of it, and so would lossless ingresses.
const POOL: BufferPolicy = BufferPolicy::Pooled { bytes: 300_000, alpha: 50.0, pfc_alpha: 8.0, pfc: PFC };

#[test]
fn an_overloaded_lossy_class_neither_pauses_nor_drops_the_lossless_one() {
    for (buffer, most) in [(PORT, 50_000), (POOL, 150_000)] {
        for release in RELEASES {
            let sim = flood(side_by_side(buffer, release, Some(0.5)), 1);
            check_untouched(&sim, 0);
            let lossy = of_class(&sim, 2);
            assert!(lossy.dropped > 500, "{lossy:?}");
            assert!(lossy.peak_queue <= most && lossy.peak_queue > most - 5_000, "{lossy:?}");
        }
    }
    // Together in one pool the lossless class is paused for what the other holds.
    let mut common = side_by_side(POOL, Release::Dequeue, None);
    common.classes[0].alpha = Some(0.5);
    let sim = flood(common, 1);
    assert!(of_class(&sim, 1).pauses > 10);
}

#[test]
fn an_overloaded_lossless_class_drops_nothing_of_the_lossy_one() {
    for buffer in [PORT, POOL] {
        for release in RELEASES {
            let sim = flood(side_by_side(buffer, release, Some(0.5)), 0);
            check_untouched(&sim, 1);
            let lossless = of_class(&sim, 1);
            assert!(lossless.pauses > 10 && lossless.dropped == 0, "{lossless:?}");
        }
    }
    // Together in one pool it takes what the other needs, though it loses nothing itself.
    let mut common = side_by_side(POOL, Release::Dequeue, None);
    common.classes[1].alpha = Some(0.05);
    let sim = flood(common.clone(), 0);
    assert!(of_class(&sim, 2).dropped > 10 && of_class(&sim, 1).dropped == 0);
    // A threshold of its own is enough where the pool still has room.
    common.classes[1].alpha = Some(50.0);
    check_untouched(&flood(common, 0), 1);
}

#[test]
fn an_ingress_pauses_at_its_class_share_to_the_packet() {
    // As in headroom.rs: host 0 at 10 Gb/s into 1 Mb/s; the packet that reaches share minus headroom pauses.
    let links = [(0, 2, gbps(10), us(1)), (2, 3, Rate::from_mbps(1), us(1)), (3, 1, gbps(10), us(1))];
    let headroom = pfc::headroom(gbps(10), (us(1), Time::ZERO), WIRE, 64);
    for (share, waiting) in [(0.25, 4u64), (0.5, 8)] {
        let mut config = network(graph(2, 2, &links));
        config.classes = vec![class_with(true, share), class_with(false, 1.0 - share)];
        // A quarter holds the headroom and four packets.
        let quarter = headroom + 4 * WIRE;
        let buffer = lossless(4 * quarter, None);
        // Also where ports of another rate have other room.
        (config.buffer, config.buffer_by_rate) = match waiting {
            4 => (buffer, vec![(Rate::from_mbps(1), lossless(90 * quarter, None))]),
            _ => (lossless(90 * quarter, None), vec![(gbps(10), buffer)]),
        };
        let pause_at = (4.0 * quarter as f64 * share) as u64 - headroom;
        let mut sim = line_rate(config, vec![message(Time::ZERO, 0, 1, Message::ENDLESS)]);
        run_to(&mut sim, us(900));
        let paused = sim.incidents().kept[0];
        assert_eq!(paused.what, What::Paused(1));
        // One packet leaves at once; packet j arrives 1.2 j + 1 us after the start; the frame takes 51.2 ns and 1 us.
        let crossing = 1 + pause_at.div_ceil(WIRE);
        assert!(crossing > waiting, "{crossing}");
        // One delay for the packet, one for the frame.
        assert_eq!(paused.time, us(2) + ns(1_200 * crossing + 51) + Time::from_ps(200));
        assert_eq!(sim.totals().drops, Drops::default());
    }
}

#[test]
fn classes_without_a_share_use_the_rest_together() {
    // A fifth for class 1; classes 2 and 3 have 40 KB at each port between them.
    let mut config = network(star(4, us(1)));
    config.classes = vec![class_with(false, 0.2), class(false, Marking::Off), class(false, Marking::Off)];
    config.buffer = BufferPolicy::PerPort { bytes: 50_000, pfc: PFC };
    let traffics = [1, 2, 3].map(|class| TrafficConfig { class, ..traffic("none") }).to_vec();
    let messages =
        (0..3).map(|h| Message { traffic: h as u16, ..message(ns(70 * h as u64), h, 3, Message::ENDLESS) }).collect();
    let mut sim = simulation(config, traffics, messages);
    let port = port(&sim, 4, 3);
    let mut most = 0;
    for stop in 1..1_000 {
        run_to(&mut sim, ns(911 * stop));
        most = most.max(sim.queued(port));
    }
    let peak = |class| sim.class_counter(port, class).peak_queue;
    assert_eq!(peak(1), 9_000, "six packets of 10 KB");
    assert!((peak(2).max(peak(3)), peak(2).min(peak(3)) > 15_000) == (39_000, true), "{} {}", peak(2), peak(3));
    assert!(most <= 9_000 + 39_000 && most > 45_000, "{most}");
}

#[test]
fn queues_at_ports_of_a_rate_have_room_of_their_own() {
    let per_port = |bytes| BufferPolicy::PerPort { bytes, pfc: PFC };
    let pool = |alpha| BufferPolicy::Pooled { bytes: 300_000, alpha, pfc_alpha: 1.0, pfc: PFC };
    // A queue alone in the pool grows to alpha / (1 + alpha) of it.
    for (usual, of_slow, most) in
        [(per_port(60_000), per_port(15_000), [60_000, 15_000]), (pool(0.25), pool(0.1), [0; 2])]
    {
        let links = [0, 1, 2].map(|host| (host, 4, gbps(10), us(1)));
        let mut config = network(graph(4, 1, &[links[0], links[1], links[2], (3, 4, gbps(1), us(1))]));
        (config.buffer, config.buffer_by_rate) = (usual, vec![(gbps(1), of_slow)]);
        let to = |host: u32| [0, 1].map(|from| message(ns(70 * from as u64), from, host, Message::ENDLESS));
        let peak = |host: u32| {
            let mut sim = line_rate(config.clone(), to(host).to_vec());
            run_to(&mut sim, Time::from_ms(1));
            sim.class_counter(port(&sim, 4, host), 1).peak_queue
        };
        let most = if most == [0; 2] { [300_000 / 5, 300_000 / 11] } else { most };
        for (peak, most) in [peak(2), peak(3)].into_iter().zip(most) {
            assert!(peak <= most && peak + WIRE > most, "{peak} of {most}");
        }
    }
}

/// Hosts 1 and 2 send packets to host 0, whose link takes 3.43 us for each. They arrive at the switch from 1.3 us on
/// every 1.2 us, and 650 ns later.
struct TwoToOne {
    each: u64,
    release: Release,
}

impl TwoToOne {
    fn run(&self, bytes: u64, marking: Marking) -> Simulation {
        let mut graph = star(3, ns(100));
        graph.links[0].rate = Rate::from_mbps(3500);
        let buffer = BufferPolicy::PerPort { bytes, pfc: PFC };
        let config =
            NetworkConfig { buffer, classes: vec![class(false, marking)], release: self.release, ..network(graph) };
        let message = |start, from| message(start, from, 0, self.each * PAYLOAD);
        line_rate(config, vec![message(Time::ZERO, 1), message(ns(650), 2)])
    }

    fn arrivals(&self) -> Vec<Time> {
        (0..self.each).flat_map(|i| [ns(1_300 + 1_200 * i), ns(1_950 + 1_200 * i)]).collect()
    }

    /// When each packet leaves the queue, which is never empty in between.
    fn departures(&self) -> Vec<Time> {
        let first = usize::from(self.release == Release::LastBit);
        let next = |at: &Time| Some(*at + Rate::from_mbps(3500).tx_time(WIRE));
        std::iter::successors(Some(ns(1_300)), next).skip(first).take(2 * self.each as usize).collect()
    }

    /// How many packets each one leaves behind.
    fn behind(&self) -> Vec<u64> {
        let arrivals = self.arrivals();
        let come = |by: Time| arrivals.iter().filter(|at| **at <= by).count() as u64;
        (1..).zip(self.departures()).map(|(gone, at)| come(at) - gone).collect()
    }
}

#[test]
fn a_packet_takes_room_until_it_begins_to_leave_or_its_last_bit_has_left() {
    let marks = RELEASES.map(|release| {
        let case = TwoToOne { each: 12, release };
        let at = if release == Release::LastBit { MarkAt::LastBit } else { MarkAt::Dequeue };
        let mut sim = case.run(100 * WIRE, Marking::Step { above: 5 * WIRE, at });
        finish(&mut sim);
        check_all_arrived(&sim);
        let marked = case.behind().iter().filter(|behind| **behind > 5).count() as u64;
        assert_eq!(sim.traffic_counters()[0].packets_marked, marked, "{release:?}");
        // With room for four packets, the first is lost that finds four which have not left.
        let (mut arrivals, departures) = (case.arrivals(), case.departures());
        arrivals.sort();
        let inside = |n: usize, at: Time| n - departures.iter().filter(|left| **left < at).count();
        let lost = arrivals.iter().enumerate().find(|(n, at)| inside(*n, **at) >= 4);
        let mut sim = case.run(4 * WIRE, Marking::Off);
        while sim.totals().drops.buffer == 0 {
            sim.run_until(Time::NEVER, 1);
        }
        assert_eq!(Some(sim.now()), lost.map(|(_, at)| *at), "{release:?}");
        marked
    });
    assert_ne!(marks[0], marks[1]);
}

#[test]
fn each_packet_is_marked_once_wherever_its_queue_ends() {
    for (release, at) in RELEASES.into_iter().zip([MarkAt::Dequeue, MarkAt::LastBit]) {
        let case = TwoToOne { each: 600, release };
        let red = Marking::Red { min: 0, max: 1_400 * WIRE, max_probability: 1.0, at };
        let mut sim = case.run(2_000 * WIRE, red);
        finish(&mut sim);
        let chances = case.behind().into_iter().map(|behind| behind as f64 / 1_400.0);
        let (expected, variance) = chances.fold((0.0, 0.0), |(sum, of_all), p| (sum + p, of_all + p * (1.0 - p)));
        let marked = sim.traffic_counters()[0].packets_marked as f64;
        assert!((marked - expected).abs() < 5.0 * variance.sqrt(), "{release:?}: {marked} of {expected}");
    }
}
