//! Shared by the tests of networks on a wire: specs, and what the simulator makes of them.
#![allow(dead_code, reason = "each test file uses its own part")]

use fanin_cc::Settings;
use fanin_experiment::built::Built;
use fanin_experiment::{CheckedSpec, Spec};
use fanin_fabric::Simulation;
use fanin_fabric::topology::Link;
use fanin_record::Run;
use fanin_transport::Sent;
use fanin_units::{NodeId, PortId, Time};
use fanin_wirelab::{Item, Reports};
use std::ffi::OsString;
use std::path::Path;

/// A checked spec.
pub fn spec(text: &str) -> CheckedSpec {
    Spec::from_toml(text, "test.toml", Path::new("")).unwrap().check().unwrap_or_else(|e| panic!("{e}"))
}

/// A checked spec, if it can run.
pub fn try_spec(text: &str) -> Option<CheckedSpec> {
    Spec::from_toml(text, "test.toml", Path::new("")).ok()?.check().ok()
}

/// Every registered preset that RDMA can carry, and that needs no trimming, which has no frame.
pub fn presets() -> impl Iterator<Item = &'static str> {
    let all = fanin_cc::rows().iter().flat_map(|row| row.presets.iter().copied());
    let on_a_wire = |settings: Settings| settings.tcp_only().is_none() && settings.needs_trimming().is_none();
    all.filter(move |preset| on_a_wire(Settings::preset(preset).unwrap()))
}

/// A star with hosts at 10 Gb/s.
pub fn star(hosts: u32) -> String {
    format!("topology = {{ kind = \"star\", hosts = {hosts}, link = \"10 Gbps\", delay = \"1 us\" }}\n")
}

/// Two racks of two hosts and two spines.
pub const LEAF_SPINE: &str = "topology = { kind = \"leaf-spine\", leaves = 2, hosts = 2, spines = 2, link = \"10 \
                              Gbps\", delay = \"1 us\", fabric_link = \"10 Gbps\" }\n";

/// An experiment with one traffic in this network; `rest` are further keys of the traffic.
pub fn experiment(network: &str, scheme: &str, rest: &str) -> String {
    experiment_of(network, &traffic("t", scheme, rest))
}

/// A traffic over RDMA.
pub fn traffic(name: &str, scheme: &str, rest: &str) -> String {
    let over = if rest.contains("transport") { "" } else { "transport = \"rdma\"\n" };
    format!("[[traffic]]\nname = \"{name}\"\nscheme = \"{scheme}\"\n{over}{rest}")
}

/// An experiment with these traffics in this network.
pub fn experiment_of(network: &str, traffics: &str) -> String {
    let ample = if network.contains("buffer") { "" } else { AMPLE };
    format!(
        "spec_version = 1\nname = \"wire\"\nseed = 3\n[network]\n{network}{ample}{MARKS}{traffics}[measure]\n\
         window = \"2 ms\"\n"
    )
}

/// A simulation of what is on the wire, up to a time.
pub fn simulated(built: Built, until: Time) -> Simulation {
    let mut sim = Simulation::new(built.network, built.traffics, built.messages);
    assert!(sim.run_until(until, u64::MAX));
    sim
}

/// Compares reports from the wire with a simulation of the same. Returns how many messages began.
pub fn compare(name: &str, built: Built, reports: &Reports, until: Time) -> usize {
    let hosts = built.network.graph.hosts as usize;
    let seed = built.network.seed;
    let sim = simulated(built, until);
    let refused: u64 = reports.0.iter().map(|report| report.refused).sum();
    assert_eq!(refused, 0, "{name}: frames refused");
    let flows: Vec<_> = sim.flows().into_iter().filter(|flow| flow.start != Time::NEVER).collect();
    let found: Vec<_> = reports.flows(hosts).into_iter().filter(|flow| flow.start != Time::NEVER).collect();
    assert_eq!(found.len(), flows.len(), "{name}");
    for (number, (found, expected)) in found.iter().zip(&flows).enumerate() {
        // Only TCP asks whether a message will be answered.
        let expected = fanin_fabric::FlowRecord { request: found.request, ..*expected };
        assert_eq!(*found, expected, "{name}: flow {number}");
    }
    let (of_wire, of_sim) = (reports.totals(), sim.totals());
    let apart = fanin_fabric::Ledger { in_flight: of_wire.ledger.in_flight, ..of_sim.ledger };
    assert_eq!(of_wire, fanin_fabric::Totals { ledger: apart, ..of_sim }, "{name}");
    assert_eq!(reports.port_counters(), sim.port_counters(), "{name}");
    assert_eq!(reports.class_counters(), sim.class_counters(), "{name}");
    assert_eq!(&reports.incidents(seed), sim.incidents(), "{name}");
    flows.len()
}

/// 200 KB from four hosts to one.
pub const INCAST: &str = "pattern = { kind = \"incast\", degree = 4, receivers = [\"h0\"] }\nsize = { fixed = \
                          \"200 KB\" }\n";
/// Messages at random.
pub const POISSON: &str = "pattern = { kind = \"poisson\" }\nsize = { fixed = \"30 KB\" }\nload = { share = 0.6, of = \
                           \"host-links\" }\n";
/// Six senders to one host, often.
pub const DENSE: &str = "pattern = { kind = \"poisson\" }\nsize = { fixed = \"8 KB\" }\nload = { share = 0.5, of = \
                         \"host-links\" }\n";
/// Long messages that heat links.
pub const MANY: &str = "pattern = { kind = \"poisson\" }\nsize = { fixed = \"100 KB\" }\nload = { share = 0.4, of = \
                        \"host-links\" }\n";
/// Four racks and two spines, whose links are too few.
pub const WIDE: &str = "topology = { kind = \"leaf-spine\", leaves = 4, hosts = 2, spines = 2, link = \"10 Gbps\", \
                        delay = \"1 us\", fabric_link = \"10 Gbps\" }\n";
/// Buffers that never fill here.
const AMPLE: &str = "buffer = { policy = \"lossless\", per_port = \"1 MB\" }\n";
/// Marks, above the threshold from which Dart deflects.
const MARKS: &str = "marking = { kind = \"red\", min = \"20 KB\", max = \"60 KB\", probability = 0.1 }\n";
/// Buffers so small that switches pause hosts.
pub const PAUSES: &str = "buffer = { policy = \"lossless\", per_port = \"60 KB\" }\n";
/// Buffers so small that packets are lost.
pub const LOSSES: &str = "buffer = { policy = \"lossy\", per_port = \"40 KB\" }\n";

/// Still smaller ones, for senders that have few bytes in flight.
pub const FEW: &str = "buffer = { policy = \"lossy\", per_port = \"21 KB\" }\n";

/// The same with two switches, to each of which each host has a link.
pub fn with_two_links(mut built: Built) -> Built {
    let (hosts, like) = (built.network.graph.hosts, built.network.graph.links[0].clone());
    let ends = (0..hosts).flat_map(|host| [(host, hosts), (host, hosts + 1)]);
    let graph = &mut built.network.graph;
    graph.links = ends.map(|(host, switch)| Link { a: NodeId(host), b: NodeId(switch), ..like.clone() }).collect();
    graph.names = (0..hosts).map(|host| format!("h{host}")).chain(["s0".into(), "s1".into()]).collect();
    built
}

/// Lets two data frames on one link arrive in each other's place. Returns whether there are two, from a port to a port
/// of `from`.
pub fn swap(passing: &mut [(usize, Item)], from: impl Fn(PortId) -> bool) -> bool {
    let mut first: Option<&mut Sent> = None;
    for (_, item) in passing {
        let Item::Frame(sent) = item else { continue };
        if sent.bytes.len() < 500 || !from(sent.port) {
            continue;
        }
        match first {
            Some(earlier) if earlier.port == sent.port && earlier.bytes != sent.bytes => {
                core::mem::swap(&mut earlier.bytes, &mut sent.bytes);
                return true;
            }
            _ => first = Some(sent),
        }
    }
    false
}

/// Whether a comparison with a simulation of the same finds a difference.
pub fn differs(built: Built, reports: &Reports, until: Time) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| compare("a fault", built, reports, until))).is_err()
}

/// A process of a run.
pub fn program() -> [OsString; 1] {
    [env!("CARGO_BIN_EXE_fanin-wire").into()]
}

/// Two runs are equal, to the picosecond.
pub fn equal(wire: &Run, simulated: &Run) {
    assert!(wire.flows.len() > 1);
    for (wire, simulated) in wire.flows.iter().zip(simulated.flows.iter()) {
        assert_eq!(wire, simulated);
    }
    assert_eq!(wire.flows.len(), simulated.flows.len());
    assert_eq!(wire.numbers, simulated.numbers);
    assert_eq!((&wire.ports, &wire.sent_in_window), (&simulated.ports, &simulated.sent_in_window));
    assert_eq!(wire.class_counters, simulated.class_counters);
    assert_eq!(wire.totals.event_hash, simulated.totals.event_hash);
    assert_eq!(wire.totals, simulated.totals);
    assert_eq!((wire.measured_to, wire.stopped), (simulated.measured_to, simulated.stopped));
    assert_eq!(format!("{:?}", wire.traffics), format!("{:?}", simulated.traffics));
    assert_eq!(wire.series, simulated.series);
    assert_eq!(wire.watch, simulated.watch);
    assert_eq!(format!("{:?}", wire.events.kept()), format!("{:?}", simulated.events.kept()));
}
