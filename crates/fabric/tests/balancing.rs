//! Load balancing per packet: every message completes whole under every policy, no policy loses or duplicates bytes,
//! queues and failures are heeded, reordering is counted, and results do not depend on threads. Own policies and own
//! queue disciplines.

use crate::common::*;
use fanin_cc::{
    Balancer, BalancerProgram, Choice, Discipline, DisciplineProgram, Header, Kind, Queued, SwitchInfo, Verdict, flags,
};
use fanin_fabric::topology::{Cable, Graph, LeafSpine};
use fanin_fabric::*;
use fanin_units::Time;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Two leaves of four hosts and four spines; the paths differ in nothing but their load.
fn fabric() -> Graph {
    let cable = Cable::new(gbps(10), ns(500));
    LeafSpine { leaves: 2, hosts: 4, spines: 4, host_link: cable, fabric_link: cable }.build().unwrap()
}

/// The switches of [`fabric`]: two leaves, then the spines.
const LEAF: u32 = 8;
const SPINE: u32 = 10;

fn policies() -> [Balancing; 4] {
    [Balancing::Random, Balancing::RoundRobin, Balancing::LeastQueue, Balancing::Flowlets { gap: us(2) }]
}

fn balanced(balancing: Balancing) -> NetworkConfig {
    NetworkConfig { balancing, ..network(fabric()) }
}

/// Every host sends to two hosts across the spines, of different sizes and from different times on.
fn crossing() -> Vec<Message> {
    let of = |src: u32| {
        let to = |n: u32| 4 * (1 - src / 4) + (src + n) % 4;
        [message(ns(u64::from(src) * 700), src, to(0), 150 * PAYLOAD), message(us(40), src, to(1), 31_001)]
    };
    (0..8).flat_map(of).collect()
}

fn recovering(recovery: Recovery) -> TrafficConfig {
    let endpoint = EndpointConfig { recovery, ..traffic("none").endpoint };
    TrafficConfig { endpoint, ..traffic("none") }
}

/// IRN, and selective repeat that tolerates reordering by `nacks` packets.
fn irn() -> TrafficConfig {
    let rules = Rules { cap: Cap::Bdp, timeout_high: us(500), low_up_to: 3, nacks: 1, tell_scheme: false };
    recovering(Recovery::Selective(rules))
}

fn tolerant(nacks: u32) -> TrafficConfig {
    let rules = Rules { cap: Cap::Off, timeout_high: Time::from_ms(1), low_up_to: 0, nacks, tell_scheme: true };
    recovering(Recovery::Selective(rules))
}

fn finished(config: NetworkConfig, traffic: TrafficConfig) -> Simulation {
    let mut sim = simulation(config, vec![traffic], crossing());
    finish(&mut sim);
    check_all_arrived(&sim);
    sim
}

#[test]
fn every_message_arrives_whole_and_no_policy_loses_a_packet() {
    let mut reordered = Vec::new();
    for balancing in policies() {
        for traffic in [irn(), tolerant(1000), traffic("none"), over_tcp("newreno")] {
            let bytes: u64 = crossing().iter().map(|message| message.bytes).sum();
            let sim = finished(balanced(balancing.clone()), traffic.clone());
            assert_eq!(sim.traffic_counters()[0].delivered, bytes, "{balancing:?} {traffic:?}");
            assert_eq!(sim.totals().drops, Drops::default(), "{balancing:?} {traffic:?}");
            reordered.push((sim.totals().hosts.reordered, sim.totals().hosts.reorder_distance));
        }
        // With a tolerance that reordering does not reach, nothing is sent again.
        let resent = finished(balanced(balancing.clone()), tolerant(1000));
        assert!(resent.flows().iter().all(|flow| flow.packets_resent == 0), "{balancing:?}");
    }
    // Packets at random are reordered under every transport.
    assert!(reordered[..4].iter().all(|(packets, bytes)| *packets > 0 && *bytes >= PAYLOAD), "{reordered:?}");
    assert_eq!(finished(balanced(Balancing::FlowHash), over_tcp("newreno")).totals().hosts.reordered, 0);
}

#[test]
fn results_do_not_depend_on_threads() {
    for balancing in policies() {
        let config = NetworkConfig { buffer: lossless(60_000, None), ..balanced(balancing) };
        let config = NetworkConfig { classes: vec![class(true, Marking::Off)], ..config };
        let messages = || Box::new(crossing().into_iter()) as Box<dyn Iterator<Item = Message> + Send>;
        let mut outcomes = Vec::new();
        // Whole; each leaf with its hosts, and the spines; the leaves, and each spine alone.
        let cuts: [Vec<u16>; 2] = [
            vec![0, 0, 0, 0, 1, 1, 1, 1, 0, 1, 2, 2, 2, 2],
            (0..14u16).map(|node| if node < 10 { 0 } else { node - 9 }).collect(),
        ];
        let sims = [None, Some(&cuts[0]), Some(&cuts[1])].map(|cut| match cut {
            None => ParallelSimulation::whole(config.clone(), vec![irn()], sorted(messages())),
            Some(cut) => ParallelSimulation::cut(config.clone(), vec![irn()], sorted(messages()), cut),
        });
        for mut sim in sims {
            assert!(sim.run_until(Time::from_ms(100), 3_000_000));
            outcomes.push((sim.totals(), sim.flows(), sim.port_counters(), sim.traffic_counters()));
        }
        assert!(outcomes[0].1.iter().all(|flow| flow.finished.is_some()));
        assert!(outcomes[0] == outcomes[1] && outcomes[0] == outcomes[2], "{:?}", config.balancing);
    }
}

fn sorted(messages: Box<dyn Iterator<Item = Message> + Send>) -> Box<dyn Iterator<Item = Message> + Send> {
    let mut messages: Vec<Message> = messages.collect();
    messages.sort_by_key(|message| message.start);
    Box::new(messages.into_iter())
}

#[test]
fn reordering_is_counted_as_rfc_4737_defines_it() {
    for balancing in policies() {
        let mut sim = simulation(balanced(balancing), vec![tolerant(1000)], crossing());
        (0..crossing().len() as u32).for_each(|message| sim.trace(message));
        finish(&mut sim);
        // By message: the end of the furthest packet that arrived.
        let (mut furthest, mut late, mut distance) = (BTreeMap::new(), BTreeMap::new(), 0);
        for hop in sim.hops().iter().filter(|hop| hop.port.is_none()) {
            let end = hop.seq + u64::from(hop.wire - PACKET.header);
            let next = furthest.entry(hop.message).or_insert(0);
            if hop.seq < *next {
                *late.entry(hop.message).or_insert(0) += 1;
                distance = distance.max(*next - hop.seq);
            }
            *next = end.max(*next);
        }
        let all: u64 = late.values().map(|packets| u64::from(*packets)).sum();
        assert_eq!((sim.totals().hosts.reordered, sim.totals().hosts.reorder_distance), (all, distance));
        let counters = &sim.traffic_counters()[0];
        assert_eq!((counters.reordered, counters.reorder_distance), (all, distance));
        for (message, flow) in (0..).zip(sim.flows().iter()) {
            assert_eq!(flow.reordered, late.get(&message).copied().unwrap_or(0), "{message}");
        }
    }
}

/// What the senders of TCP send again is no reordering: losses alone, on one path per flow.
#[test]
fn segments_sent_again_are_not_reordered() {
    let mut graph = fabric();
    graph.links.iter_mut().for_each(|link| link.error_rate = 0.01);
    let sim = finished(network(graph), over_tcp("newreno"));
    assert!(sim.flows().iter().map(|flow| flow.packets_resent).sum::<u32>() > 10);
    assert_eq!((sim.totals().hosts.reordered, sim.totals().hosts.reorder_distance), (0, 0));
    let sprayed = finished(balanced(Balancing::Random), over_tcp("newreno"));
    let by_flow: u64 = sprayed.flows().iter().map(|flow| u64::from(flow.reordered)).sum();
    assert!(by_flow > 0 && by_flow == sprayed.totals().hosts.reordered);
    assert_eq!(by_flow, sprayed.traffic_counters()[0].reordered);
}

#[test]
fn round_robin_counts_at_a_leaf_differ_by_one_at_most() {
    // One direction each, so that the leaf's packets to the spines are data to one set of ports, and the other leaf's
    // are their ACKs.
    let messages = (0..4).map(|src| message(Time::ZERO, src, 4 + src, 101 * PAYLOAD)).collect();
    let mut sim = simulation(balanced(Balancing::RoundRobin), vec![tolerant(1000)], messages);
    finish(&mut sim);
    for leaf in [LEAF, LEAF + 1] {
        let sent: Vec<u64> = (SPINE..SPINE + 4).map(|spine| counters(&sim, leaf, spine).packets).collect();
        assert!(sent.iter().sum::<u64>() >= 404);
        assert!(sent.iter().max().unwrap() - sent.iter().min().unwrap() <= 1, "{sent:?}");
    }
}

/// What a recording policy saw: the queues to choose from, and which it took.
type Seen = Arc<Mutex<Vec<(Time, Header, Vec<Choice>, usize)>>>;

/// Another policy, recorded.
#[derive(Debug)]
struct Recorded {
    policy: Balancing,
    seen: Seen,
}

impl BalancerProgram for Recorded {
    fn build(&self, switch: &SwitchInfo<'_>) -> Box<dyn Balancer> {
        Box::new(Recorder { inner: self.policy.build(switch).unwrap(), seen: self.seen.clone() })
    }
}

struct Recorder {
    inner: Box<dyn Balancer>,
    seen: Seen,
}

impl Balancer for Recorder {
    fn choose(&mut self, now: Time, packet: &Header, hash: u32, choices: &[Choice]) -> usize {
        let at = self.inner.choose(now, packet, hash, choices);
        self.seen.lock().unwrap().push((now, *packet, choices.to_vec(), at));
        at
    }
}

/// When a balancer was asked, about which packet, with which choices, and what it chose.
type Asked = (Time, Header, Vec<Choice>, usize);

fn recorded(policy: Balancing) -> (Simulation, Vec<Asked>) {
    let seen = Seen::default();
    let own = Balancing::Own(Arc::new(Recorded { policy, seen: seen.clone() }));
    let sim = finished(balanced(own), irn());
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (sim, seen)
}

#[test]
fn an_own_policy_gives_the_same_run_as_the_built_in_one_that_it_wraps() {
    for policy in policies() {
        let (sim, seen) = recorded(policy.clone());
        assert_eq!(sim.totals(), finished(balanced(policy), irn()).totals());
        // All packets that cross the spines, data and control, at their first switch.
        assert!([Kind::Data, Kind::Ack, Kind::Nack].iter().all(|kind| seen.iter().any(|of| of.1.kind == *kind)));
        assert!(seen.iter().all(|(_, _, choices, _)| choices.len() == 4 && choices[0].rate == gbps(10)));
    }
}

#[test]
fn the_least_queue_sees_the_queues_as_they_are() {
    let (sim, seen) = recorded(Balancing::LeastQueue);
    for (now, _, choices, at) in &seen {
        assert!(choices.iter().all(|choice| choices[*at].queued <= choice.queued), "{now}: {choices:?}");
    }
    assert!(seen.iter().any(|(_, _, choices, at)| choices.iter().any(|choice| choice.queued > choices[*at].queued)));
    // Four sources of a leaf over four paths: queues at the spines' side stay far below those of flow hash.
    let peak = |sim: &Simulation| {
        let up = (SPINE..SPINE + 4).flat_map(|spine| [counters(sim, LEAF, spine), counters(sim, LEAF + 1, spine)]);
        up.map(|of| of.peak_queue).max().unwrap()
    };
    let hashed = finished(network(fabric()), irn());
    assert!(peak(&sim) * 2 < peak(&hashed), "{} {}", peak(&sim), peak(&hashed));
}

#[test]
fn no_packet_takes_a_link_that_is_known_to_be_down() {
    for balancing in policies() {
        let mut config = balanced(balancing);
        let dead =
            config.graph.links.iter().position(|l| (l.a.0, l.b.0) == (LEAF, SPINE) || (l.b.0, l.a.0) == (LEAF, SPINE));
        let dead = dead.unwrap();
        config.graph.links[dead].outages = vec![(us(20), Time::from_ms(50))];
        config.detection = us(5);
        let mut sim = simulation(config, vec![tolerant(64)], crossing());
        assert!(sim.run_until(us(26), 3_000_000));
        let before = counters(&sim, LEAF, SPINE).packets;
        assert!(before > 0 && sim.totals().drops.link_down > 0);
        assert!(sim.run_until(Time::from_ms(40), 3_000_000));
        check_all_arrived(&sim);
        assert_eq!(counters(&sim, LEAF, SPINE).packets, before);
    }
}

/// Takes a path that there is not.
#[derive(Debug)]
struct Astray;

impl BalancerProgram for Astray {
    fn build(&self, _: &SwitchInfo<'_>) -> Box<dyn Balancer> {
        Box::new(Self)
    }
}

impl Balancer for Astray {
    fn choose(&mut self, _: Time, _: &Header, _: u32, choices: &[Choice]) -> usize {
        choices.len() + 5
    }
}

#[test]
#[should_panic(expected = "at switch leaf0 it chose path 9, counted from 0, of 4")]
fn a_path_that_does_not_exist_is_named() {
    finished(balanced(Balancing::Own(Arc::new(Astray))), irn());
}

/// Marks or drops what meets more than `above` bytes in its queue.
#[derive(Clone, Debug)]
struct Threshold {
    above: u64,
    verdict: Verdict,
    at_dequeue: bool,
}

impl DisciplineProgram for Threshold {
    fn build(&self, _: &SwitchInfo<'_>) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}

impl Discipline for Threshold {
    fn on_enqueue(&mut self, _: Time, queued: &mut Queued<'_>) -> Verdict {
        assert!(queued.own);
        let data = queued.packet.class > 0 && queued.view.lane.queued > self.above;
        if data && !self.at_dequeue { self.verdict } else { Verdict::Admit }
    }

    fn on_dequeue(&mut self, _: Time, queued: &mut Queued<'_>) -> bool {
        self.at_dequeue && queued.packet.class > 0 && queued.view.lane.queued > self.above
    }
}

#[test]
fn an_own_discipline_trims_where_the_network_does() {
    let own = || Some(Arc::new(Threshold { above: 30_000, verdict: Verdict::Trim, at_dequeue: false }) as _);
    let trimming = Some(Trimming { size: 64, headers: 1_000_000, ..Trimming::default() });
    let sim = incast(NetworkConfig { discipline: own(), trimming, ..network(fabric()) });
    assert!(sim.totals().trimmed > 10 && sim.totals().drops.total() == 0, "{:?}", sim.totals());
    assert!(sim.port_counters().iter().all(|port| port.peak_queue <= 30_000 + WIRE || port.trimmed == 0));
    // Elsewhere it drops.
    let sim = incast(NetworkConfig { discipline: own(), ..network(fabric()) });
    assert!(sim.totals().trimmed == 0 && sim.totals().drops.program > 10, "{:?}", sim.totals());
}

fn incast(config: NetworkConfig) -> Simulation {
    let messages = (1..8).map(|src| message(ns(u64::from(src) * 90), src, 0, 60 * PAYLOAD)).collect();
    let dctcp = TrafficConfig { endpoint: tolerant(1).endpoint, ..traffic("dctcp-rate") };
    let mut sim = simulation(config, vec![dctcp], messages);
    finish(&mut sim);
    check_all_arrived(&sim);
    sim
}

#[test]
fn an_own_discipline_marks_as_the_built_in_step_does() {
    for at in [MarkAt::Enqueue, MarkAt::Dequeue] {
        let step =
            NetworkConfig { classes: vec![class(false, Marking::Step { above: 30_000, at })], ..network(fabric()) };
        let own = Threshold { above: 30_000, verdict: Verdict::Mark, at_dequeue: at == MarkAt::Dequeue };
        let own = NetworkConfig { discipline: Some(Arc::new(own)), ..network(fabric()) };
        let (step, own) = (incast(step), incast(own));
        let marked = step.traffic_counters()[0].packets_marked;
        assert!(marked > 30, "{marked}");
        assert_eq!(own.totals().event_hash, step.totals().event_hash, "{at:?}");
        let marks = |sim: &Simulation| sim.class_counters().iter().map(|of| of.marked).collect::<Vec<_>>();
        assert_eq!(marks(&own), marks(&step), "{at:?}");
    }
}

#[test]
fn an_own_discipline_drops_and_nothing_else_is_lost() {
    let own = Threshold { above: 30_000, verdict: Verdict::Drop, at_dequeue: false };
    let sim = incast(NetworkConfig { discipline: Some(Arc::new(own)), ..network(fabric()) });
    let drops = sim.totals().drops;
    assert!(drops.program > 10 && drops.total() == drops.program, "{drops:?}");
    // A full packet joins a queue of the threshold at most.
    assert!(sim.port_counters().iter().all(|port| port.peak_queue <= 30_000 + WIRE || port.dropped == 0));
    assert!(!sim.flows().iter().any(|flow| flow.packets_sent == 0 || flags::CE == 0));
}
