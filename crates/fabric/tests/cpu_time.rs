//! CPU time of a receiving host: how long its ACKs and NACKs wait, and in which order they leave.

use crate::common::*;
use fanin_cc::Kind;
use fanin_fabric::tap::{Captured, Seen, Wanted};
use fanin_fabric::*;
use fanin_units::Time;

/// Each link has 1 us. At 10 Gb/s a full packet takes 1.2 us, an ACK 51.2 ns.
fn run(endpoint: EndpointConfig, messages: Vec<Message>) -> (Simulation, Vec<Captured>) {
    let mut one = traffic("none");
    one.endpoint = endpoint;
    let mut sim = simulation(network(star(2, us(1))), vec![one], messages);
    // What host 1 sends.
    sim.tap(&Wanted { links: vec![port(&sim, 1, 2)], ..Wanted::default() });
    finish(&mut sim);
    check_all_arrived(&sim);
    let mut seen = Vec::new();
    sim.take_seen(&mut seen);
    let answers = seen.into_iter().filter_map(|one| match one {
        Seen::Packet(packet) => Some(*packet),
        _ => None,
    });
    (sim, answers.collect())
}

fn with(cpu_time: CpuTime) -> EndpointConfig {
    EndpointConfig { timeout: Time::from_ms(1), cpu_time, ..EndpointConfig::default() }
}

/// The last of three packets arrives after 4 x 1.2 + 2 x 1 us, and its ACK is back after 2 x 51.2 ns and 2 x 1 us more.
/// With a CPU time of 5 us it waits so long first. The message has arrived all the same.
#[test]
fn an_ack_leaves_after_the_cpu_time() {
    for (cpu_time, wait) in [(CpuTime::Zero, 0), (CpuTime::Constant(us(5)), 5_000)] {
        let (sim, answers) = run(with(cpu_time), vec![message(us(0), 0, 1, 3 * PAYLOAD)]);
        let flow = sim.flows()[0];
        assert_eq!(flow.finished, ns(6_800));
        assert_eq!(flow.acked, ns(6_800 + wait + 2_000) + Time::from_ps(102_400));
        // Times of different packets overlap.
        let left: Vec<Time> = answers.iter().map(|packet| packet.time).collect();
        assert_eq!(left, [4_400, 5_600, 6_800].map(|arrival| ns(arrival + wait)));
    }
}

/// With one ACK for 4 packets it is a time for these.
#[test]
fn with_an_ack_chunk_it_is_a_time_per_chunk() {
    let endpoint = EndpointConfig { ack_chunk: 4 * PAYLOAD as u32, ..with(CpuTime::Constant(us(2))) };
    let (_, answers) = run(endpoint, vec![message(us(0), 0, 1, 8 * PAYLOAD)]);
    let left: Vec<Time> = answers.iter().map(|packet| packet.time).collect();
    assert_eq!(left, [8_000, 12_800].map(|arrival| ns(arrival + 2_000)));
}

/// Times of up to 50 us for packets that come every 1.2 us: ACKs leave in order, each not before the ones ahead of it,
/// and never later than 50 us after its packet.
#[test]
fn answers_of_a_queue_pair_keep_their_order() {
    let (_, answers) = run(with(CpuTime::Uniform(Time::ZERO, us(50))), vec![message(us(0), 0, 1, 400 * PAYLOAD)]);
    assert_eq!(answers.len(), 400);
    let waits: Vec<Time> =
        answers.iter().zip(1u64..).map(|(packet, n)| packet.time - ns(3_200) - ns(1_200 * n)).collect();
    assert!(answers.windows(2).all(|two| two[0].head.seq < two[1].head.seq && two[0].time < two[1].time));
    // A draw of less than the one before lets several leave together: 51.2 ns apart.
    let together = answers.windows(2).filter(|two| two[1].time - two[0].time == Time::from_ps(51_200)).count();
    assert!(together > 100, "{together}");
    // What leaves together takes its turn at the link: at most a queue of as many as had come in 50 us.
    assert!(waits.iter().all(|wait| *wait < us(50) + ns(42 * 52)), "{waits:?}");
    assert!(waits.iter().any(|wait| *wait > us(45)));
}

/// Another queue pair of the same hosts does not wait behind the first one's answers.
#[test]
fn queue_pairs_do_not_wait_for_each_other() {
    let times = CpuTime::LogNormal { median: us(20), p999: us(200) };
    let endpoint = EndpointConfig { ack_chunk: 10_000_000, ..with(times) };
    let (sim, answers) = run(endpoint, (0..60).map(|n| message(us(10 * n), 0, 1, PAYLOAD)).collect());
    assert_eq!(answers.len(), 60);
    let overtaken = sim.flows().windows(2).filter(|two| two[1].acked < two[0].acked).count();
    assert!(overtaken > 5, "{overtaken}");
    // Of 60 times, a median of 20 us to within the spread of a median.
    let mut waits: Vec<Time> = sim.flows().iter().map(|flow| flow.acked - flow.finished - ns(2_102)).collect();
    waits.sort_unstable();
    assert!(waits[30] > us(14) && waits[30] < us(29), "{}", waits[30]);
}

/// A NACK waits as an ACK does, and so does the ACK that is repeated for a message that had arrived whole.
#[test]
fn a_nack_and_a_repeated_ack_wait_too() {
    let mut graph = star(2, us(1));
    graph.links[0].error_rate = 0.02;
    graph.links[1].error_rate = 0.05;
    let mut one = traffic("none");
    one.endpoint = EndpointConfig { timeout: us(60), nack_interval: us(20), ..with(CpuTime::Constant(us(9))) };
    let messages = (0..40).map(|n| message(us(100 * n), 0, 1, 10 * PAYLOAD)).collect();
    let mut sim = simulation(network(graph), vec![one], messages);
    let links = vec![port(&sim, 1, 2), port(&sim, 2, 1)];
    sim.tap(&Wanted { links, ..Wanted::default() });
    finish(&mut sim);
    check_all_arrived(&sim);
    let mut seen = Vec::new();
    sim.take_seen(&mut seen);
    let packets = |data: bool| {
        seen.iter().filter_map(move |one| match one {
            Seen::Packet(packet) if (packet.head.kind == Kind::Data) == data => Some(packet.as_ref()),
            _ => None,
        })
    };
    let arrivals: Vec<Time> = packets(true).map(|packet| packet.time + ns(2_200)).collect();
    let (mut nacks, mut repeated) = (0, 0);
    for packet in packets(false) {
        // Each leaves 9 us after a packet; those of one instant take turns at the link.
        let at = packet.time - us(9);
        let after = arrivals.iter().any(|arrival| (*arrival..*arrival + ns(400)).contains(&at));
        assert!(after, "{:?} at {}", packet.head.kind, packet.time);
        nacks += (packet.head.kind == Kind::Nack) as u32;
        let flow = &sim.flows()[packet.head.flow.ix()];
        repeated += (at > flow.finished) as u32;
    }
    assert!(nacks > 2 && repeated > 2, "{nacks} {repeated}");
}
