//! Congestion marks in a running network: which packets, at enqueue and at dequeue, in switches and in hosts.

use crate::common::*;
use fanin_cc::Action;
use fanin_cc::schemes::dcqcn::RateOrShare;
use fanin_fabric::topology::Graph;
use fanin_fabric::*;
use fanin_units::{Rate, Time};
use proptest::prelude::*;

/// Hosts 0 and 1 at switch 3, host 2 behind switch 4 and a link on which a packet takes 1.25 us.
fn two_to_one() -> Graph {
    let slow = Rate::from_mbps(9_600);
    graph(3, 2, &[(0, 3, gbps(10), us(1)), (1, 3, gbps(10), us(1)), (3, 4, slow, us(1)), (4, 2, gbps(10), us(1))])
}

/// Both hosts send `packets` back to back, host 1 130 ns later, so that no two events at the switch coincide.
fn burst(packets: u64, marking: Marking, seed: u64) -> Simulation {
    let config = NetworkConfig { classes: vec![class(false, marking)], seed, ..network(two_to_one()) };
    let messages = vec![message(Time::ZERO, 0, 2, packets * PAYLOAD), message(ns(130), 1, 2, packets * PAYLOAD)];
    let mut sim = line_rate(config, messages);
    finish(&mut sim);
    check_all_arrived(&sim);
    sim
}

fn step(above: u64, at: MarkAt) -> Marking {
    Marking::Step { above, at }
}

fn marked(sim: &Simulation) -> Vec<u32> {
    sim.flows().iter().map(|f| f.packets_marked).collect()
}

#[test]
fn a_small_burst_counted_by_hand() {
    // Arrivals at 2.20, 2.33, 3.40, 3.53, 4.60, 4.73 us, of hosts 0, 1, 0, 1, 0, 1;
    // departures at 2.20, 3.45, 4.70, 5.95, 7.20, 8.45 us.
    // They find waiting: 0, 0, 1, 1, 2, 2 packets. They leave behind: 0, 1, 2, 2, 1, 0.
    for (above, at, expected) in [
        (0, MarkAt::Enqueue, [2, 2]),
        (1499, MarkAt::Enqueue, [2, 2]),
        (1500, MarkAt::Enqueue, [1, 1]),
        (2999, MarkAt::Enqueue, [1, 1]),
        (3000, MarkAt::Enqueue, [0, 0]),
        (1499, MarkAt::Dequeue, [2, 2]),
        (1500, MarkAt::Dequeue, [1, 1]),
        (3000, MarkAt::Dequeue, [0, 0]),
    ] {
        let sim = burst(3, step(above, at), 1);
        assert_eq!(marked(&sim), expected, "above {above} at {at:?}");
        let total: u64 = expected.iter().map(|n| *n as u64).sum();
        assert_eq!(counters(&sim, 3, 4).marked, total);
        let traffic = &sim.traffic_counters()[0];
        assert_eq!((traffic.packets_marked, traffic.packets_arrived), (total, 6));
        // Only that queue marks.
        assert_eq!(sim.port_counters().iter().map(|p| p.marked).sum::<u64>(), total);
    }
}

/// The queue that each packet of `burst` finds and leaves behind, in packets, by the definition of a queue.
fn queues(packets: u64) -> Vec<(u64, u64)> {
    let mut arrivals: Vec<u64> = (1..=packets).flat_map(|j| [1_000 + 1_200 * j, 1_130 + 1_200 * j]).collect();
    arrivals.sort_unstable();
    let mut departures: Vec<u64> = Vec::new();
    for at in &arrivals {
        departures.push(departures.last().map_or(*at, |last| *at.max(&(last + 1_250))));
    }
    (0..arrivals.len())
        .map(|i| {
            let found = departures[..i].iter().filter(|d| **d > arrivals[i]).count();
            let left = arrivals[i + 1..].iter().filter(|a| **a < departures[i]).count();
            (found as u64, left as u64)
        })
        .collect()
}

#[test]
fn every_packet_of_a_burst_is_marked_that_should_be() {
    let queues = queues(12);
    assert_eq!(queues.iter().map(|q| q.0).max(), Some(12));
    for above in (0..13).flat_map(|packets: u64| [packets * 1500, packets * 1500 + 1499]) {
        let expected = |of: &dyn Fn(&(u64, u64)) -> u64| queues.iter().filter(|q| of(q) * 1500 > above).count() as u64;
        let total = |sim: &Simulation| sim.traffic_counters()[0].packets_marked;
        assert_eq!(total(&burst(12, step(above, MarkAt::Enqueue), 1)), expected(&|q| q.0), "above {above}");
        assert_eq!(total(&burst(12, step(above, MarkAt::Dequeue), 1)), expected(&|q| q.1), "above {above}");
        // RED with both thresholds there is the same step.
        let red = Marking::Red { min: above, max: above, max_probability: 1.0, at: MarkAt::Enqueue };
        assert_eq!(total(&burst(12, red, 1)), expected(&|q| q.0), "above {above}");
    }
}

#[test]
fn red_marks_with_its_probability_and_by_the_seed() {
    let queues = queues(12);
    for (at, max_probability) in [(MarkAt::Enqueue, 0.8), (MarkAt::Dequeue, 0.3)] {
        let (min, max) = (1_500.0, 12_000.0);
        let marking = Marking::Red { min: min as u64, max: max as u64, max_probability, at };
        let (mut mean, mut variance) = (0.0, 0.0);
        for (found, left) in &queues {
            let queue = 1500.0 * *(if at == MarkAt::Enqueue { found } else { left }) as f64;
            let p = if queue > max { 1.0 } else { (max_probability * (queue - min) / (max - min)).max(0.0) };
            mean += p;
            variance += p * (1.0 - p);
        }
        let counts: Vec<u64> =
            (0..300).map(|seed| burst(12, marking, seed).traffic_counters()[0].packets_marked).collect();
        let sum: u64 = counts.iter().sum();
        let error = sum as f64 - 300.0 * mean;
        assert!(error.abs() < 4.0 * (300.0 * variance).sqrt(), "{sum} marks, {} expected", 300.0 * mean);
        assert!(counts.iter().any(|n| *n != counts[0]), "the seed draws");
    }
}

#[test]
fn only_packets_that_may_be_marked_are() {
    let mut config = network(two_to_one());
    config.classes = vec![class(false, step(0, MarkAt::Enqueue))];
    let traffics = vec![TrafficConfig { ecn: false, ..traffic("dcqcn") }, traffic("dcqcn")];
    let messages =
        vec![message(Time::ZERO, 0, 2, 50 * PAYLOAD), Message { traffic: 1, ..message(ns(130), 1, 2, 50 * PAYLOAD) }];
    let mut sim = simulation(config, traffics, messages);
    finish(&mut sim);
    let [deaf, hearing] = &sim.traffic_counters()[..] else { panic!("two traffics") };
    assert_eq!((deaf.packets_marked, deaf.packets_arrived), (0, 50));
    // All but the first of it find a queue of the other's, as long as that lasts.
    assert!(hearing.packets_marked > 40, "{hearing:?}");
    assert_eq!(counters(&sim, 3, 4).marked, hearing.packets_marked);
    // The two share a scheme with the same parameters, so its receiver saw just these.
    assert_eq!(hearing.actions.get(Action::MarkSeen), hearing.packets_marked);
    assert!(sim.totals().hosts.cnps > 0 && sim.flows()[0].packets_marked == 0);
}

#[test]
fn a_packet_is_marked_once_however_many_queues_would() {
    // Two bottlenecks in a row, the second slower: both queues would mark.
    let slow = |mbps| Rate::from_mbps(mbps);
    let links = [
        (0, 3, gbps(10), us(1)),
        (1, 3, gbps(10), us(1)),
        (3, 4, slow(5_000), us(1)),
        (4, 5, slow(2_000), us(1)),
        (5, 2, gbps(10), us(1)),
    ];
    let config =
        NetworkConfig { classes: vec![class(false, step(0, MarkAt::Dequeue))], ..network(graph(3, 3, &links)) };
    let messages = (0..2).map(|h| message(ns(100 * h as u64), h, 2, 20 * PAYLOAD)).collect();
    let mut sim = line_rate(config, messages);
    finish(&mut sim);
    let (first, second) = (counters(&sim, 3, 4).marked, counters(&sim, 4, 5).marked);
    // The first packet and the last leave nothing behind in either queue.
    assert_eq!((first, second), (38, 0));
    assert!(counters(&sim, 4, 5).peak_queue > 20 * WIRE);
    assert_eq!(sim.traffic_counters()[0].packets_marked, 38);
}

#[test]
fn each_class_marks_by_its_own_queue() {
    let mut config = network(two_to_one());
    config.classes = vec![class(false, step(0, MarkAt::Enqueue)), class(false, step(0, MarkAt::Enqueue))];
    let traffics = vec![traffic("none"), TrafficConfig { class: 2, ..traffic("none") }];
    // One packet of class 2 while class 1 has a queue.
    let messages = vec![
        message(Time::ZERO, 0, 2, 30 * PAYLOAD),
        message(ns(130), 1, 2, 30 * PAYLOAD),
        Message { traffic: 1, ..message(us(20), 0, 2, 100) },
    ];
    let mut sim = simulation(config, traffics, messages);
    finish(&mut sim);
    let traffics = sim.traffic_counters();
    assert!(traffics[0].packets_marked > 50);
    assert_eq!(traffics[1].packets_marked, 0);
}

/// Row E6: a FIFO of 64 KB behind the pacers that marks above 22.5 KB. Two flows of host 0 start at once.
fn two_flows_of_a_host(packets: u64, host_fifo: Option<HostFifo>) -> Simulation {
    let config = NetworkConfig { host_fifo, ..network(star(3, us(5))) };
    let messages = (1..3).map(|h| message(Time::ZERO, 0, h, packets * PAYLOAD)).collect();
    let mut sim = line_rate(config, messages);
    finish(&mut sim);
    check_all_arrived(&sim);
    assert_eq!(sim.totals().drops, Drops::default(), "a full FIFO stops pulling and drops nothing");
    // However long the FIFO, the link never rests: two messages back to back.
    let last = sim.flows().iter().map(|f| f.finished).max().unwrap();
    assert_eq!(last, us(2 * 5) + gbps(10).tx_time(WIRE).saturating_mul(2 * packets + 1));
    sim
}

const E6: HostFifo = HostFifo { capacity: 64_000, mark_above: Some(22_500) };

#[test]
fn e6_the_host_marks_at_its_own_queue() {
    // In slot m two packets join and one leaves, which leaves m + 1 behind; after slot 29 only one leaves. 16 or more
    // are above 22.5 KB: slots 15 to 43.
    let sim = two_flows_of_a_host(30, Some(E6));
    let nic = counters(&sim, 0, 3);
    assert_eq!(nic.marked, 29);
    assert_eq!(nic.peak_queue, 31 * 1500);
    assert_eq!(sim.traffic_counters()[0].packets_marked, 29);
    assert_eq!(sim.port_counters().iter().map(|p| p.marked).sum::<u64>(), 29);
    assert!(marked(&sim).iter().all(|n| (14..=15).contains(n)), "{:?}", marked(&sim));
}

#[test]
fn e6_the_host_queue_stops_at_its_capacity() {
    // 42 packets are 63 KB; a 43rd does not fit.
    let sim = two_flows_of_a_host(200, Some(E6));
    let nic = counters(&sim, 0, 3);
    assert_eq!(nic.peak_queue, 63_000);
    assert!(nic.marked > 350 && nic.marked < 400, "{nic:?}");
}

#[test]
fn e6_without_marks_and_without_a_queue() {
    assert_eq!(marked(&two_flows_of_a_host(200, Some(HostFifo { mark_above: None, ..E6 }))), [0, 0]);
    let sim = two_flows_of_a_host(200, None);
    assert_eq!(marked(&sim), [0, 0]);
    assert_eq!(counters(&sim, 0, 3).peak_queue, 0, "a NIC that pulls has no queue");
}

#[test]
fn e6_one_flow_alone_fills_no_host_queue() {
    let config = NetworkConfig { host_fifo: Some(E6), ..network(star(2, us(5))) };
    let mut sim = line_rate(config, vec![message(Time::ZERO, 0, 1, 300 * PAYLOAD)]);
    finish(&mut sim);
    assert_eq!(counters(&sim, 0, 2).peak_queue, 1500);
    assert_eq!(marked(&sim), [0]);
}

#[test]
fn e6_a_pause_fills_the_host_queue_and_loses_nothing() {
    let mut config = network(two_to_one());
    config.graph.links[2].rate = gbps(1);
    config.classes = vec![class(true, Marking::Off)];
    config.buffer = lossless(30_000, None);
    config.host_fifo = Some(E6);
    let mut sim = line_rate(config, vec![message(Time::ZERO, 0, 2, 300 * PAYLOAD)]);
    finish(&mut sim);
    check_all_arrived(&sim);
    let nic = counters(&sim, 0, 3);
    assert!(nic.pauses > 5 && nic.marked > 200, "{nic:?}");
    assert_eq!(nic.peak_queue, 63_000);
    assert_eq!(sim.totals().drops, Drops::default());
    assert_eq!(sim.flows()[0].finished, sim.flows()[0].ideal, "the slow link never starves");
}

proptest! {
    #![proptest_config(cases(2))]
    #[test]
    fn e6_the_host_queue_never_exceeds_its_capacity(
        capacity in 0u64..70_000,
        sizes in prop::collection::vec((0u64..20_000, 1u32..4, 1u64..60_000), 1..12),
        payload in prop::sample::select(vec![100u16, 1460, 4096]),
    ) {
        let mut config = network(star(4, us(1)));
        config.packet.payload = payload;
        config.host_fifo = Some(HostFifo { capacity, mark_above: Some(capacity / 2) });
        let messages = sizes.iter().map(|(at, dst, bytes)| message(ns(*at), 0, *dst, *bytes)).collect();
        let mut sim = line_rate(config, messages);
        finish(&mut sim);
        check_all_arrived(&sim);
        // One full packet always fits.
        prop_assert!(counters(&sim, 0, 4).peak_queue <= capacity.max(payload as u64 + 40));
        prop_assert_eq!(sim.totals().drops, Drops::default());
        prop_assert_eq!(counters(&sim, 0, 4).marked, sim.traffic_counters()[0].packets_marked);
    }
}

#[test]
fn a_port_of_a_rate_of_its_own_has_a_marking_of_its_own() {
    // Two senders each into 1 Gb/s and into 10 Gb/s, at those rates: the queue of either port grows to 40 packets.
    let links: Vec<_> = [10, 10, 10, 10, 1, 10].iter().zip(0..).map(|(r, host)| (host, 6, gbps(*r), us(1))).collect();
    let step = |packets: u64| Marking::Step { above: packets * WIRE, at: MarkAt::Enqueue };
    let classes = vec![ClassConfig { marking_by_rate: vec![(gbps(10), step(30))], ..class(false, step(5)) }];
    let config = NetworkConfig { classes, ..network(graph(6, 1, &links)) };
    let mut messages: Vec<_> = (0..4).map(|host| message(Time::ZERO, host, 4 + host / 2, 40 * PAYLOAD)).collect();
    messages[..2].iter_mut().for_each(|m| m.traffic = 1);
    let mut sim = simulation(config, vec![traffic("none"), fixed_rate(RateOrShare::Rate(gbps(1)))], messages);
    finish(&mut sim);
    let marked = |host: u32| counters(&sim, 6, host).marked;
    // Of 80 packets the queue grows by one with every second.
    assert!((64..=70).contains(&marked(4)), "{}", marked(4));
    assert!((14..=20).contains(&marked(5)), "{}", marked(5));
}
