//! Senders that choose the path of each packet.

use crate::common::*;
use fanin_cc::paths::{PathsKind, Spraying};
use fanin_cc::{Discipline, DisciplineProgram, Header, Kind, Queued, SwitchInfo, Verdict, flags};
use fanin_fabric::topology::{FatTree, Graph, LeafSpine};
use fanin_fabric::*;
use fanin_units::{NodeId, Rate, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// Two leaves of eight hosts and eight spines, all links with 10 Gb/s.
fn fabric() -> Graph {
    let link = cable(gbps(10), ns(500));
    LeafSpine { leaves: 2, hosts: 8, spines: 8, host_link: link, fabric_link: link }.build().unwrap()
}

const SPINE: u32 = 18;

/// DCTCP whose packets may arrive in any order and take paths by their senders' choice.
fn sprayed(kind: PathsKind, paths: u32) -> TrafficConfig {
    let timeout = us(320);
    let nacks = Rules::UNORDERED;
    let rules = Rules { cap: Cap::Off, timeout_high: timeout, low_up_to: 0, nacks, tell_scheme: true };
    let recovery = Recovery::Selective(rules);
    TrafficConfig {
        endpoint: EndpointConfig { timeout, recovery, ..EndpointConfig::default() },
        spraying: Some(Spraying::by(kind, paths)),
        ..traffic("dctcp-rate")
    }
}

/// Each host of the first leaf sends a message to one of the second.
fn across(graph: Graph, traffic: TrafficConfig, packets: u64) -> Simulation {
    let spraying = traffic.spraying.clone().unwrap();
    let classes = vec![class(false, Marking::Step { above: 30_000, at: MarkAt::Enqueue })];
    let config = NetworkConfig { balancing: Balancing::Senders(spraying), classes, ..network(graph) };
    let messages = (0..8).map(|src| message(ns(u64::from(src) * 90), src, 8 + src, packets * PAYLOAD)).collect();
    let mut sim = simulation(config, vec![traffic], messages);
    finish(&mut sim);
    check_all_arrived(&sim);
    sim
}

/// Bytes that each spine has sent.
fn by_spine(sim: &Simulation) -> Vec<u64> {
    let mut bytes = vec![0; 8];
    for ((_, from, _), counters) in sim.ports().zip(sim.port_counters()) {
        if let Some(spine) = from.0.checked_sub(SPINE) {
            bytes[spine as usize] += counters.bytes;
        }
    }
    bytes
}

#[test]
fn many_paths_use_every_spine_alike() {
    let (least, most) = {
        let sim = across(fabric(), sprayed(PathsKind::Oblivious, 1024), 1024);
        assert_eq!(sim.totals().hosts.timeouts, 0);
        let bytes = by_spine(&sim);
        (bytes.iter().copied().min().unwrap() as f64, bytes.iter().copied().max().unwrap() as f64)
    };
    assert!(most / least < 1.2, "{least} to {most}");
    // With one path each flow has one spine, and eight flows do not all have another.
    let bytes = by_spine(&across(fabric(), sprayed(PathsKind::Oblivious, 1), 256));
    assert!(bytes.contains(&0), "{bytes:?}");
}

#[test]
fn a_number_is_a_path() {
    // With two paths each flow crosses two spines at most.
    for src in 0..8 {
        let traffic = sprayed(PathsKind::Oblivious, 2);
        let balancing = Balancing::Senders(traffic.spraying.clone().unwrap());
        let config = NetworkConfig { balancing, ..network(fabric()) };
        let mut sim = simulation(config, vec![traffic], vec![message(Time::ZERO, src, 15 - src, 200 * PAYLOAD)]);
        finish(&mut sim);
        let large = by_spine(&sim).into_iter().filter(|bytes| *bytes > 50 * PAYLOAD).count();
        assert!((1..=2).contains(&large), "host {src}: {large} spines");
    }
}

/// The same where all links of one spine have a tenth of their rate.
fn slow() -> Graph {
    let mut graph = fabric();
    for link in graph.links.iter_mut().filter(|link| link.a.0 == SPINE || link.b.0 == SPINE) {
        link.rate = gbps(1);
    }
    graph
}

#[test]
fn the_ideal_of_sprayed_packets_has_the_fastest_paths() {
    let ideals = |graph, traffic| {
        let sim = across(graph, traffic, 500);
        let flows = sim.flows();
        assert!(flows.iter().all(|flow| flow.finished - flow.start >= flow.ideal));
        flows.iter().map(|flow| flow.ideal).collect::<BTreeSet<_>>()
    };
    let even = ideals(fabric(), sprayed(PathsKind::Reps, 128));
    assert_eq!(even.len(), 1);
    assert_eq!(ideals(slow(), sprayed(PathsKind::Reps, 128)), even);

    // Hosts have 10 Gb/s, and each of eight paths 2 Gb/s: packets wait for each other at the links of hosts alone.
    let (host_link, fabric_link) = (cable(gbps(10), ns(500)), cable(gbps(2), ns(500)));
    let graph = LeafSpine { leaves: 2, hosts: 8, spines: 8, host_link, fabric_link }.build().unwrap();
    let traffic = sprayed(PathsKind::Oblivious, 1024);
    let balancing = Balancing::Senders(traffic.spraying.clone().unwrap());
    let config = NetworkConfig { balancing, ..network(graph) };
    let mut sim = simulation(config, vec![traffic], vec![message(Time::ZERO, 0, 8, 100 * PAYLOAD)]);
    finish(&mut sim);
    let flow = sim.flows()[0];
    let at = |rate: Rate, packets: u64| rate.tx_time(packets * u64::from(PACKET.payload + PACKET.header));
    assert_eq!(flow.ideal, at(gbps(10), 101) + at(gbps(2), 2) + us(2));
    assert!(flow.finished - flow.start >= flow.ideal);
}

#[test]
fn reps_avoids_a_slow_link_and_oblivious_does_not() {
    let last = |kind| across(slow(), sprayed(kind, 128), 500).flows().iter().map(|flow| flow.finished).max().unwrap();
    let (reps, bitmap, oblivious) = (last(PathsKind::Reps), last(PathsKind::Bitmap), last(PathsKind::Oblivious));
    // Alone 500 packets take 600 us.
    assert!(reps < us(1_400) && bitmap < oblivious && oblivious > reps + reps, "{reps} {bitmap} {oblivious}");
}

#[test]
fn a_path_that_fails_is_found_anew() {
    let mut graph = fabric();
    let fails = |link: &&mut topology::Link| link.a.0 == SPINE || link.b.0 == SPINE;
    for link in graph.links.iter_mut().filter(fails) {
        link.outages = vec![(us(100), us(300))];
    }
    let sim = across(graph, sprayed(PathsKind::Reps, 128), 500);
    assert!(sim.totals().drops.link_down > 0);
    // Routes change at once; what was lost is sent again after its timeout.
    let last = sim.flows().iter().map(|flow| flow.finished).max().unwrap();
    assert!(last < us(1_400), "{last}");
}

/// What joined the queues of switches: the switch, the number of the port, and the packet.
type Seen = Arc<Mutex<Vec<(NodeId, u16, Header)>>>;

/// Notes what joins the queues, and admits it.
#[derive(Clone, Debug)]
struct Noted(Seen, NodeId);

impl DisciplineProgram for Noted {
    fn build(&self, switch: &SwitchInfo<'_>) -> Box<dyn Discipline> {
        Box::new(Self(self.0.clone(), switch.node))
    }
}

impl Discipline for Noted {
    fn on_enqueue(&mut self, _: Time, queued: &mut Queued<'_>) -> Verdict {
        self.0.lock().unwrap().push((self.1, queued.port, *queued.packet));
        Verdict::Admit
    }
}

/// All packets at all switches, of eight messages over small queues that mark and cut packets.
fn noted(traffic: TrafficConfig) -> Vec<(NodeId, u16, Header)> {
    let seen = Seen::default();
    let config = NetworkConfig {
        classes: vec![class(false, Marking::Step { above: 2_000, at: MarkAt::Enqueue })],
        balancing: Balancing::Senders(traffic.spraying.clone().unwrap()),
        buffer: BufferPolicy::PerPort { bytes: 6_000, pfc: Pfc { headroom: None, xon_offset: None } },
        trimming: Some(Trimming { size: 64, headers: 100_000, ..Trimming::default() }),
        discipline: Some(Arc::new(Noted(seen.clone(), NodeId::NONE))),
        ..network(fabric())
    };
    let messages = (0..8).map(|src| message(Time::ZERO, src, 8 + src % 6, 60 * PAYLOAD)).collect();
    let mut sim = simulation(config, vec![traffic], messages);
    finish(&mut sim);
    check_all_arrived(&sim);
    std::mem::take(&mut *seen.lock().unwrap())
}

/// The number of a packet's path, where it has one.
fn number(head: &Header) -> Option<u32> {
    match head.kind {
        Kind::Data | Kind::Trimmed => Some(head.cc_feedback),
        Kind::Ack | Kind::Nack => Some(u32::from(head.payload)),
        _ => None,
    }
}

#[test]
fn packets_of_a_flow_with_the_same_number_take_the_same_ports() {
    let seen = noted(sprayed(PathsKind::Reps, 128));
    let mut ports: BTreeMap<_, BTreeSet<u16>> = BTreeMap::new();
    for (switch, port, head) in &seen {
        let Some(number) = number(head) else { continue };
        ports.entry((*switch, head.flow, head.src, number)).or_default().insert(*port);
    }
    assert!(ports.len() > 300 && ports.values().all(|ports| ports.len() == 1), "{}", ports.len());
    // Different numbers take different ones: of the first leaf all eight.
    let up: BTreeSet<u16> =
        ports.iter().filter(|((at, ..), _)| at.0 == 16).flat_map(|(_, ports)| ports).copied().collect();
    assert!(up.len() >= 8, "{up:?}");
}

#[test]
fn an_answer_has_the_number_of_the_packet_that_it_answers() {
    let selective = sprayed(PathsKind::Bitmap, 64);
    let endpoint = EndpointConfig { recovery: Recovery::GoBackN, ..selective.endpoint };
    for traffic in [selective.clone(), TrafficConfig { endpoint, ..selective }] {
        let seen = noted(traffic);
        // A flow sends one packet at a time, so that its time names it.
        let sent: BTreeMap<_, u32> = seen
            .iter()
            .filter(|(_, _, head)| head.kind == Kind::Data)
            .map(|(_, _, head)| ((head.flow, head.sent_at), head.cc_feedback))
            .collect();
        let (mut answers, mut cut, mut numbers) = (0, 0, BTreeSet::new());
        for (_, _, head) in seen.iter().filter(|(_, _, head)| matches!(head.kind, Kind::Ack | Kind::Nack)) {
            assert_eq!(sent[&(head.flow, head.sent_at)], u32::from(head.payload), "{head:?}");
            answers += 1;
            cut += u32::from(head.kind == Kind::Nack && head.has(flags::CUT));
            numbers.insert(head.payload);
        }
        assert!(answers > 480 && cut > 10 && numbers.len() > 50, "{answers} {cut} {}", numbers.len());
    }
}

#[test]
fn answers_say_that_a_packet_was_marked_where_the_receiver_of_the_scheme_does_not() {
    // DCQCN's receivers send notifications of their own, and its ACKs echo nothing.
    let seen = noted(TrafficConfig { scheme: traffic("dcqcn").scheme, ..sprayed(PathsKind::Bitmap, 64) });
    // Marked on the way to the second leaf, whose own queue to the receiver may mark as well.
    let marked: BTreeSet<_> = seen
        .iter()
        .filter(|(switch, _, head)| switch.0 == 17 && head.kind == Kind::Data && head.has(flags::CE))
        .map(|(_, _, head)| (head.flow, head.sent_at))
        .collect();
    let (mut with, mut without) = (0, 0);
    for (_, _, head) in seen.iter().filter(|(_, _, head)| head.kind == Kind::Ack) {
        let says = head.has(flags::MARKED);
        assert!(says || !marked.contains(&(head.flow, head.sent_at)), "{head:?}");
        with += u32::from(says);
        without += u32::from(!says);
    }
    assert!(marked.len() > 20 && with > 50 && without > 50, "{} {with} {without}", marked.len());
}

#[test]
fn a_permutation_under_ultra_ethernet_ends_with_an_ack_for_several_packets() {
    let last = |kind| {
        let graph = FatTree { k: 6, link: cable(gbps(100), us(1)) }.build().unwrap();
        let mut traffic = TrafficConfig { scheme: traffic("nscc").scheme, ..sprayed(kind, 64) };
        (traffic.endpoint.ack_chunk, traffic.endpoint.timeout) = (16 << 10, us(100));
        let marking = Marking::Step { above: 37_000, at: MarkAt::Dequeue };
        let config = NetworkConfig {
            packet: PacketSizes { payload: 4086, header: 64, ack: 64, ..PACKET },
            balancing: Balancing::Senders(traffic.spraying.clone().unwrap()),
            classes: vec![class(false, marking)],
            buffer: BufferPolicy::PerPort { bytes: 178_450, pfc: Pfc { headroom: None, xon_offset: None } },
            trimming: Some(Trimming { either: true, ..Trimming::default() }),
            ..network(graph)
        };
        let messages: Vec<_> = (0..54).map(|src| message(Time::ZERO, src, (src * 5 + 7) % 54, 2_000_000)).collect();
        // In two parts, between which ACKs take their bitmaps along, all is the same.
        let of = parallel::cut(&config.graph, 2);
        let iter = Box::new(messages.clone().into_iter());
        let mut parts = ParallelSimulation::cut(config.clone(), vec![traffic.clone()], iter, &of);
        assert!(parts.run_until(Time::NEVER, 50_000_000));
        let mut sim = simulation(config, vec![traffic], messages);
        finish(&mut sim);
        check_all_arrived(&sim);
        assert_eq!(parts.totals().event_hash, sim.totals().event_hash);
        assert!(sim.totals().trimmed > 0, "{:?}", sim.totals());
        sim.flows().iter().map(|flow| flow.finished).max().unwrap()
    };
    // Alone 2 MB take 166 us. Good paths are known by one packet in four.
    let (oblivious, reps) = (last(PathsKind::Oblivious), last(PathsKind::Reps));
    assert!(reps + us(8) < oblivious && oblivious < us(300), "{reps} {oblivious}");
}
