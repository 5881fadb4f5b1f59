//! Shared by the tests of the fabric: small networks, messages, and running them to their end.

pub mod dart;
#[path = "../../../engine/tests/common/heap.rs"]
pub mod heap;
pub mod hpcc;
pub mod lanes;
pub mod random;
pub mod windowed;

use fanin_cc::schemes::dcqcn::RateOrShare;
use fanin_cc::{CreditQueue, Settings, schemes};
use fanin_endpoint::tcp;
use fanin_engine::EventQueue;
use fanin_fabric::topology::{Cable, Graph, Link, ParkingLot, Star};
use fanin_fabric::*;
use fanin_units::{NodeId, PortId, Rate, Time};
use proptest::test_runner::Config;

/// A full packet of 1,500 bytes on the wire.
pub const PACKET: PacketSizes = PacketSizes { payload: 1460, header: 40, ack: 64, cnp: 64, pause: 64 };
/// Payload of a full packet.
pub const PAYLOAD: u64 = 1460;
/// Its bytes on the wire.
pub const WIRE: u64 = 1500;

/// Random cases per property: `FANIN_CASES`, divided where a case is a whole simulation that takes long.
pub fn cases(divisor: u32) -> Config {
    let cases: u32 = std::env::var("FANIN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64);
    Config { cases: (cases / divisor).max(1), failure_persistence: None, max_shrink_iters: 60, ..Config::default() }
}

/// The least and the largest of some numbers.
pub fn span(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(*value), most.max(*value)))
}

pub fn us(n: u64) -> Time {
    Time::from_us(n)
}
pub fn ns(n: u64) -> Time {
    Time::from_ns(n)
}
pub fn gbps(n: u64) -> Rate {
    Rate::from_gbps(n)
}
pub fn cable(rate: Rate, delay: Time) -> Cable {
    Cable::new(rate, delay)
}

/// Hosts around one switch at 10 Gb/s.
pub fn star(hosts: u32, delay: Time) -> Graph {
    Star { hosts, host_link: cable(gbps(10), delay) }.build().unwrap()
}

/// A chain of switches with one host each.
pub fn chain(switches: u32, rate: Rate, delay: Time) -> Graph {
    ParkingLot { switches, hosts: 1, host_link: cable(rate, delay), chain_link: cable(rate, delay) }.build().unwrap()
}

/// Any graph: links as (node, node, rate, delay), hosts first.
pub fn graph(hosts: u32, switches: u32, links: &[(u32, u32, Rate, Time)]) -> Graph {
    Graph {
        hosts,
        names: (0..hosts).map(|h| format!("h{h}")).chain((0..switches).map(|s| format!("s{s}"))).collect(),
        links: links.iter().map(|&(a, b, rate, delay)| Link::new(NodeId(a), NodeId(b), rate, delay)).collect(),
    }
}

/// A network with one lossy class, no limit to its buffers, and no marks.
pub fn network(graph: Graph) -> NetworkConfig {
    NetworkConfig {
        seed: 1,
        graph,
        packet: PACKET,
        classes: vec![class(false, Marking::Off)],
        buffer: BufferPolicy::Unlimited,
        buffer_by_rate: Vec::new(),
        release: Release::Dequeue,
        detection: Time::ZERO,
        host_fifo: None,
        symmetric: false,
        balancing: Balancing::FlowHash,
        discipline: None,
        trimming: None,
        pauses: Default::default(),
    }
}

/// A class with a part of the buffer of its own.
pub fn class_with(lossless: bool, share: f64) -> ClassConfig {
    ClassConfig { share: Some(share), ..class(lossless, Marking::Off) }
}

pub fn class(lossless: bool, marking: Marking) -> ClassConfig {
    ClassConfig {
        name: "data".into(),
        lossless,
        marking,
        marking_by_rate: Vec::new(),
        share: None,
        alpha: None,
        sibling_vl: None,
        urgent: false,
        priority: None,
        weight: None,
        shaper: None,
    }
}

/// The network with the queues of credits that the schemes of these traffics need, as a spec adds them, and with room
/// for 2 credits in the buckets and 8 in the queues.
pub fn with_credits(mut config: NetworkConfig, traffics: &mut [TrafficConfig]) -> NetworkConfig {
    let most = traffics.iter().map(|traffic| traffic.scheme.header_overhead().data).max().unwrap_or(0);
    let largest = config.packet.payload + config.packet.header + most;
    for traffic in traffics {
        let Some(CreditQueue { credit, burst, limit }) = traffic.scheme.credits() else { continue };
        if config.classes.iter().all(|class| class.shaper.is_none()) {
            if config.classes.len() == 7 {
                continue;
            }
            let share = f64::from(credit) / (f64::from(credit) + f64::from(largest));
            let shaper = Some(Shaper { share, burst, limit: limit.into() });
            let credits = ClassConfig { name: "credit".into(), urgent: true, shaper, ..class(false, Marking::Off) };
            config.classes.push(credits);
        }
        traffic.credit_class = config.classes.len() as u8;
    }
    config
}

/// Lossless ports of this many bytes.
pub fn lossless(bytes: u64, headroom: Option<u64>) -> BufferPolicy {
    BufferPolicy::PerPort { bytes, pfc: Pfc { headroom, xon_offset: None } }
}

/// A traffic in class 1 that may be marked; timeouts after 1 ms.
pub fn traffic(scheme: &str) -> TrafficConfig {
    TrafficConfig {
        name: scheme.into(),
        scheme: Settings::preset(scheme).unwrap_or_else(|| panic!("no scheme {scheme}")),
        lane_class: 0,
        credit_class: 0,
        weight: 1,
        tenant: 0,
        announce_size: true,
        class: 1,
        ecn: true,
        endpoint: EndpointConfig { timeout: Time::from_ms(1), ..EndpointConfig::default() },
        tcp: None,
        spraying: None,
        overhead: Time::ZERO,
    }
}

/// One end of a connection as a data center has it: every packet acknowledged, timeouts of at least 10 ms.
pub const TCP: tcp::Config = tcp::Config {
    mss: PACKET.payload as u32,
    sack: true,
    ecn: true,
    window_scaling: true,
    receive_buffer: 4_000_000,
    ack_every: 1,
    ack_delay: Time::from_ms(1),
    initial_rto: Time::from_ms(20),
    min_rto: Time::from_ms(10),
    max_rto: Time::from_s(1),
    timestamps: false,
    offload: 0,
    retries: u32::MAX,
};

/// A traffic over TCP, in class 1, its ACKs too; a connection per message.
pub fn over_tcp(scheme: &str) -> TrafficConfig {
    let traffic = traffic(scheme);
    let ecn = traffic.scheme.wants_ecn();
    let tcp =
        TcpConfig { connection: tcp::Config { ecn, ..TCP }, persistent: false, restart: Restart::Pause, ack_class: 1 };
    TrafficConfig { ecn, tcp: Some(tcp), ..traffic }
}

pub fn message(start: Time, src: u32, dst: u32, bytes: u64) -> Message {
    Message { start, src, dst, bytes, group: u32::MAX, ..Message::default() }
}

/// As [`traffic`], of flows that send at this rate each.
pub fn fixed_rate(rate: RateOrShare) -> TrafficConfig {
    let scheme = Settings::FixedRate("fixed-rate", schemes::fixed_rate::Params { rate });
    TrafficConfig { scheme, ..traffic("fixed-rate") }
}

/// A simulation of traffic of scheme `none`.
pub fn line_rate(config: NetworkConfig, messages: Vec<Message>) -> Simulation {
    simulation(config, vec![traffic("none")], messages)
}

pub fn simulation(config: NetworkConfig, traffics: Vec<TrafficConfig>, mut messages: Vec<Message>) -> Simulation {
    messages.sort_by_key(|m| m.start);
    Simulation::new(config, traffics, Box::new(messages.into_iter()))
}

/// Runs until nothing is left to happen, which must come within 100 simulated seconds and 3 million events.
pub fn finish<Q: EventQueue>(sim: &mut Simulation<Q>) {
    finish_within(sim, 3_000_000);
}

/// Runs until nothing is left to happen, which must come within 100 simulated seconds and so many events.
pub fn finish_within<Q: EventQueue>(sim: &mut Simulation<Q>, events: u64) {
    assert!(sim.run_until(Time::from_s(100), events), "events without end: {:?}", sim.totals());
    assert!(sim.is_over(), "something still waits after 100 s: {:?}", sim.totals());
    check_ledger(&sim.totals());
    assert_eq!(check_buffers(sim), 0, "what has left holds nothing");
}

/// Runs up to a time.
pub fn run_to<Q: EventQueue>(sim: &mut Simulation<Q>, until: Time) {
    assert!(sim.run_until(until, 50_000_000), "events without end");
    check_ledger(&sim.totals());
}

pub fn check_ledger(totals: &Totals) {
    let l = totals.ledger;
    assert_eq!(l.sent, l.delivered + l.dropped + l.in_flight, "{totals:?}");
}

/// Every account of a switch's buffer says what its queues hold. Returns how much that is.
pub fn check_buffers<Q: EventQueue>(sim: &Simulation<Q>) -> u64 {
    let accounts = sim.buffer_use();
    for (i, account) in accounts.iter().enumerate() {
        assert_eq!(account.counted, account.held, "account {i} at {}: {accounts:?}", sim.now());
    }
    accounts.iter().map(|account| account.held).sum()
}

/// All posted messages are delivered whole and acknowledged, and no byte is left anywhere.
pub fn check_all_arrived<Q: EventQueue>(sim: &Simulation<Q>) {
    for (i, flow) in sim.flows().iter().enumerate() {
        assert!(flow.finished.is_some() && flow.acked.is_some(), "message {i}: {flow:?}");
        assert_eq!(flow.delivered, flow.bytes, "message {i}");
    }
    assert_eq!(sim.finished(), sim.started());
    assert_eq!(sim.open_messages(), 0);
    assert_eq!(sim.totals().ledger.in_flight, 0);
}

/// The egress port from one node to another.
pub fn port<Q: EventQueue>(sim: &Simulation<Q>, from: u32, to: u32) -> PortId {
    sim.ports().find(|(_, a, b)| (a.0, b.0) == (from, to)).map(|(p, ..)| p).expect("the two nodes are neighbours")
}

pub fn counters<Q: EventQueue>(sim: &Simulation<Q>, from: u32, to: u32) -> PortCounters {
    sim.port_counters()[port(sim, from, to).ix()]
}
