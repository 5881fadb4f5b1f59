//! Weights and priorities of classes, packet by packet: shares of bytes that follow from the weights alone.

use crate::common::*;
use fanin_fabric::pauses::{FaultKind, HostFault};
use fanin_fabric::*;
use fanin_units::{Rate, Time};

/// The time of a full packet at 10 Gb/s.
const SLOT: Time = Time::from_ns(1200);

fn classes<const N: usize>(of: [(Option<u8>, Option<u16>); N]) -> Vec<ClassConfig> {
    of.map(|(priority, weight)| ClassConfig { priority, weight, ..class(false, Marking::Off) }).to_vec()
}

fn weights<const N: usize>(of: [u16; N]) -> Vec<ClassConfig> {
    classes(of.map(|weight| (None, Some(weight))))
}

/// Endless flows to a host, each from a host of its own in a class of its own, and other messages. Nothing is sent
/// again, however long it waits.
fn flows(mut config: NetworkConfig, classes: Vec<ClassConfig>, messages: Vec<Message>) -> Simulation {
    let of = |number: usize| {
        let mut traffic = TrafficConfig { class: number as u8 + 1, ..traffic("none") };
        traffic.endpoint.timeout = Time::from_s(10);
        traffic
    };
    let traffics = (0..classes.len()).map(of).collect();
    config.classes = classes;
    simulation(config, traffics, messages)
}

fn endless(traffic: u16, src: u32, dst: u32) -> Message {
    Message { traffic, ..message(Time::ZERO, src, dst, Message::ENDLESS) }
}

/// Payload bytes of each traffic that arrive in so many slots from a time on.
fn delivered(sim: &mut Simulation, from: Time, slots: u64) -> Vec<u64> {
    let now = |sim: &Simulation| {
        let mut of = vec![0; sim.config().classes.len()];
        sim.flows().iter().for_each(|flow| of[flow.traffic as usize] += flow.delivered);
        of
    };
    run_to(sim, from);
    let before = now(sim);
    run_to(sim, from + SLOT.saturating_mul(slots));
    now(sim).iter().zip(before).map(|(after, before)| after - before).collect()
}

fn packets(sim: &mut Simulation, from: Time, slots: u64) -> Vec<u64> {
    delivered(sim, from, slots).iter().map(|bytes| bytes / PAYLOAD).collect()
}

/// In the middle of a slot at the receiver, when all queues stand.
const BEGIN: Time = Time::from_ns(50_900);

#[test]
fn weights_share_a_port_and_a_nic_to_the_packet() {
    let to_one = || vec![endless(0, 0, 2), endless(1, 1, 2)];
    let of_one = || vec![endless(0, 0, 1), endless(1, 0, 1)];
    let fifo = Some(HostFifo { capacity: 64_000, mark_above: None });
    for (host_fifo, messages) in [(None, to_one()), (None, of_one()), (fifo, of_one())] {
        let config = NetworkConfig { host_fifo, ..network(star(3, us(1))) };
        let mut sim = flows(config.clone(), weights([15, 5]), messages.clone());
        assert_eq!(packets(&mut sim, BEGIN, 400), [300, 100]);
        let mut sim = flows(config, weights([1, 3]), messages);
        assert_eq!(packets(&mut sim, BEGIN, 400), [100, 300]);
    }
}

#[test]
fn shares_are_of_bytes_and_not_of_packets() {
    // Class 2 has messages of one packet of 300 B: five of them are one of class 1.
    for src in [0, 1] {
        for (weight, small_packets) in [(1, 500), (3, 750)] {
            let small = |_| Message { traffic: 1, ..message(Time::ZERO, src, 2, 260) };
            let messages = std::iter::once(endless(0, 0, 2)).chain((0..1500).map(small)).collect();
            let mut sim = flows(network(star(3, us(1))), weights([1, weight]), messages);
            let found = delivered(&mut sim, BEGIN, 200);
            assert_eq!([found[0] / PAYLOAD, found[1] / 260], [200 - small_packets / 5, small_packets], "from {src}");
        }
    }
}

#[test]
fn a_class_of_priority_leaves_nothing_to_the_next_while_it_sends() {
    for src in [0, 1] {
        let first = Message { bytes: 1000 * PAYLOAD, ..endless(0, 0, 2) };
        let mut sim = flows(
            network(star(3, us(1))),
            classes([(Some(1), None), (Some(2), None)]),
            vec![first, endless(1, src, 2)],
        );
        assert_eq!(packets(&mut sim, BEGIN, 900), [900, 0], "from {src}");
        let begin = BEGIN + SLOT.saturating_mul(1000);
        assert_eq!(packets(&mut sim, begin, 100), [0, 100], "from {src}");
    }
}

#[test]
fn the_rest_of_a_priority_is_shared_by_weight() {
    // Class 2 has a quarter of the port by its host's link; classes 1 and 3 have what it leaves, two to one.
    let link = |host| (host, 4, gbps(10), us(1));
    // Its packets come in the middle of a slot.
    let slow = (1, 4, Rate::from_bps(2_500_000_000), ns(1600));
    let graph = graph(4, 1, &[link(0), slow, link(2), link(3)]);
    let classes = classes([(None, Some(2)), (Some(1), None), (None, None)]);
    let mut sim = flows(network(graph), classes, vec![endless(0, 0, 3), endless(1, 1, 3), endless(2, 2, 3)]);
    assert_eq!(packets(&mut sim, BEGIN, 400), [200, 100, 100]);
    // It waits for no more than the packet on the wire.
    let port = port(&sim, 4, 3).ix();
    assert_eq!(sim.class_counters()[4 * port + 2].peak_queue, WIRE);
}

#[test]
fn a_paused_class_loses_its_turns_and_saves_none_up() {
    // The receiver pauses class 1 for 200 us, and class 2 alone is not lossless.
    let storm = HostFault { host: 2, from: us(200), to: us(400), kind: FaultKind::PauseStorm { every: None } };
    let mut classes = weights([3, 1]);
    classes[0].lossless = true;
    let mut config = network(star(3, us(1)));
    config.pauses.faults = vec![storm];
    let mut sim = flows(config, classes, vec![endless(0, 0, 2), endless(1, 1, 2)]);
    assert_eq!(packets(&mut sim, BEGIN, 100), [75, 25]);
    assert_eq!(packets(&mut sim, us(210) + ns(500), 100), [0, 100]);
    assert_eq!(packets(&mut sim, us(410) + ns(500), 100), [75, 25]);
}

#[test]
fn weights_hold_between_virtual_lanes_with_credits() {
    let mut classes = weights([3, 1]);
    classes.iter_mut().for_each(|class| class.lossless = true);
    let config = NetworkConfig { buffer: BufferPolicy::Credits { bytes: None }, ..network(star(3, us(1))) };
    let mut sim = flows(config, classes, vec![endless(0, 0, 2), endless(1, 1, 2)]);
    let found = packets(&mut sim, BEGIN, 400);
    assert!(found[0].abs_diff(300) <= 1 && found[1].abs_diff(100) <= 1, "{found:?}");
}
