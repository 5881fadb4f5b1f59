//! Every action that a scheme can count is counted in a network built to cause it. Dart's are in the tests of its
//! parts.

use crate::common::*;
use fanin_cc::schemes::infiniband::Becn;
use fanin_cc::{Action, Lanes, Settings, Transport};
use fanin_fabric::topology::{Dumbbell, LeafSpine};
use fanin_fabric::*;
use fanin_units::Time;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

type Names = BTreeSet<&'static str>;

/// The actions of each scheme, by its file, besides those that its file names: of the schemes that it is made of.
const ALSO: &[(&str, &[Action])] = &[
    ("cubic", NEW_RENO),
    ("dctcp", NEW_RENO),
    ("ictcp", &[Action::IdleRestart, Action::LossReaction, Action::Timeout]),
    ("rcc", &[Action::IdleRestart]),
    ("dcqcn_vendor", &[Action::Cut, Action::Increase]),
    ("dctcp_rate", &[Action::MarkedWindow]),
    ("hpcc_ns3", NS3),
    ("dcqcn_ns3", NS3),
    ("timely_ns3", NS3),
    ("dctcp_ns3", NS3),
    (
        "nscc_rccc",
        &[
            Action::Cut,
            Action::Increase,
            Action::Timeout,
            Action::CreditSent,
            Action::CreditRequest,
            Action::CreditWasted,
        ],
    ),
];

/// Those of `ns3_rate.rs`.
const NS3: &[Action] = &[Action::Cut, Action::Increase];

const NEW_RENO: &[Action] =
    &[Action::Cut, Action::Increase, Action::MarkSeen, Action::LossReaction, Action::Timeout, Action::IdleRestart];

/// A preset over the transport that carries it unless a spec says otherwise.
fn plain(preset: &'static str) -> TrafficConfig {
    let scheme = Settings::preset(preset).unwrap();
    let mut traffic = match scheme.transport() {
        Transport::Rdma => traffic(preset),
        Transport::Tcp => over_tcp(preset),
    };
    traffic.ecn = scheme.wants_ecn();
    traffic.lane_class = if scheme.lanes() == Lanes::One { 0 } else { 2 };
    traffic
}

fn marked(lossless_class: bool) -> Vec<ClassConfig> {
    vec![class(lossless_class, Marking::Step { above: 22_500, at: MarkAt::Dequeue })]
}

fn endless(start: Time, src: u32, dst: u32) -> Message {
    message(start, src, dst, Message::ENDLESS)
}

/// A second flow joins for a while at 400 Gb/s, where 10 MB are sent every 200 us.
fn joined(one: TrafficConfig) -> Simulation {
    let mut config = network(star(3, us(1)));
    config.graph.links.iter_mut().for_each(|link| link.rate = gbps(400));
    config.packet.payload = 9000;
    config.classes = marked(false);
    let messages = vec![endless(Time::ZERO, 1, 0), message(us(20), 2, 0, 400 * 9000)];
    let mut sim = simulation(config, vec![one], messages);
    run_to(&mut sim, Time::from_ms(4));
    sim
}

/// Eight flows to one host, in a lossless class.
fn burst(one: TrafficConfig) -> Simulation {
    let config = NetworkConfig { classes: marked(true), buffer: lossless(225_000, None), ..network(star(9, us(5))) };
    let mut sim = simulation(config, vec![one], (1..9).map(|h| endless(Time::ZERO, h, 0)).collect());
    run_to(&mut sim, Time::from_ms(8));
    sim
}

/// Eight flows to one host through a short queue that drops.
fn drops(one: TrafficConfig) -> Simulation {
    let pfc = Pfc { headroom: None, xon_offset: None };
    let config = NetworkConfig {
        classes: vec![class(false, Marking::Off)],
        buffer: BufferPolicy::PerPort { bytes: 30_000, pfc },
        ..network(star(9, us(5)))
    };
    let mut sim = simulation(config, vec![one], (1..9).map(|h| endless(Time::ZERO, h, 0)).collect());
    run_to(&mut sim, Time::from_ms(20));
    sim
}

/// The receiver is away for 30 ms, and a second message follows a second later on an open connection.
fn away(mut one: TrafficConfig) -> Simulation {
    one.endpoint.connection = one.tcp.is_none();
    if let Some(tcp) = &mut one.tcp {
        tcp.persistent = true;
    }
    let mut graph = star(3, us(5));
    graph.links[0].outages = vec![(us(60), Time::from_ms(30))];
    let messages = vec![message(Time::ZERO, 1, 0, 300 * PAYLOAD), message(Time::from_s(1), 1, 0, 300 * PAYLOAD)];
    let mut sim = simulation(network(graph), vec![one], messages);
    finish(&mut sim);
    sim
}

/// The way over one of two spines fails.
fn moved(one: TrafficConfig) -> Simulation {
    let link = cable(gbps(10), us(1));
    let mut graph = LeafSpine { leaves: 2, hosts: 2, spines: 2, host_link: link, fabric_link: link }.build().unwrap();
    let last = graph.names.len() as u32 - 1;
    graph.links.iter_mut().filter(|link| link.a.0 == last || link.b.0 == last).for_each(|link| {
        link.outages = vec![(us(500), us(1000))];
    });
    let messages = (0..2).flat_map(|i| [endless(Time::ZERO, i, 2 + i), endless(Time::ZERO, 2 + i, i)]).collect();
    let mut sim = simulation(NetworkConfig { classes: marked(false), ..network(graph) }, vec![one], messages);
    run_to(&mut sim, Time::from_ms(3));
    sim
}

/// Flows through one link, with the queues of credits that a scheme may need.
fn credited(one: TrafficConfig) -> Simulation {
    let link = cable(gbps(10), us(5));
    let graph = Dumbbell { left: 4, right: 4, host_link: link, bottleneck: link }.build().unwrap();
    let mut traffics = vec![one];
    let config = with_credits(NetworkConfig { symmetric: true, ..network(graph) }, &mut traffics);
    let messages = (0..4).map(|i| message(us(i), i as u32, 4 + i as u32, 500 * PAYLOAD)).collect();
    let mut sim = simulation(config, traffics, messages);
    run_to(&mut sim, Time::from_ms(10));
    sim
}

/// One flow to a host alone at first, then with another one, and then with a third.
fn later(one: TrafficConfig) -> Simulation {
    let messages = (0..3).map(|i| endless(us(2_000 * i), 1 + i as u32, 0)).collect();
    let mut sim = simulation(network(star(4, us(5))), vec![one], messages);
    run_to(&mut sim, Time::from_ms(7));
    sim
}

const TRIALS: [fn(TrafficConfig) -> Simulation; 7] = [joined, burst, drops, away, moved, credited, later];

/// The traffics of a scheme: its presets, and what none of them has.
fn traffics(presets: &[&'static str]) -> Vec<TrafficConfig> {
    let mut traffics: Vec<TrafficConfig> = presets.iter().map(|preset| plain(preset)).collect();
    let mut first = traffics[0].clone();
    if let Settings::InfiniBand(_, params) = &mut first.scheme {
        params.becn = Becn::Cnp;
        traffics.push(first);
    }
    traffics
}

/// The actions that a scheme's files name.
fn named(file: &str) -> Names {
    let schemes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cc/src/schemes");
    let mut text = fs::read_to_string(schemes.join(format!("{file}.rs"))).unwrap();
    for part in fs::read_dir(schemes.join(file)).into_iter().flatten() {
        text += &fs::read_to_string(part.unwrap().path()).unwrap();
    }
    let is_named = |action: &&Action| {
        let name = format!("Action::{action:?}");
        text.match_indices(&name).any(|(at, _)| !text[at + name.len()..].starts_with(|c: char| c.is_alphanumeric()))
    };
    Action::ALL.iter().filter(is_named).map(|action| action.name()).collect()
}

#[test]
fn every_action_of_every_scheme_happens_where_it_is_caused() {
    for row in fanin_cc::rows().iter().filter(|row| row.file != "dart") {
        let mut seen = Names::new();
        for traffic in traffics(row.presets) {
            for trial in TRIALS {
                let sim = trial(traffic.clone());
                let counters = sim.traffic_counters();
                seen.extend(counters[0].actions.iter().filter(|(_, n)| *n > 0).map(|(action, _)| action.name()));
            }
        }
        let also = ALSO.iter().filter(|(file, _)| *file == row.file).flat_map(|(_, actions)| actions.iter());
        let expected: Names = named(row.file).into_iter().chain(also.map(|action| action.name())).collect();
        assert_eq!(seen, expected, "{}", row.file);
    }
}
