//! Dart's small networks, and a log of what its receivers tell and its senders hold, event by event.

use crate::common::*;
use fanin_cc::schemes::dart::Params;
use fanin_cc::{Action, Lanes, Scheme, Settings};
use fanin_fabric::topology::Graph;
use fanin_fabric::*;
use fanin_units::Time;
use std::sync::Arc;

/// Line rate of every link.
pub const LINE: f64 = 10e9;
/// A full packet with what Dart adds to it.
pub const DART_WIRE: u64 = WIRE + 12;
/// What a link carries of payload when it is full of Dart's packets.
pub const GOODPUT: f64 = LINE * PAYLOAD as f64 / DART_WIRE as f64;

/// Time of a full packet on a link.
pub fn packet_time() -> Time {
    gbps(10).tx_time(DART_WIRE)
}

/// Dart VI-A: 225 KB a port, marks above 22.5 KB, lossless.
pub fn darts(graph: Graph) -> NetworkConfig {
    NetworkConfig {
        classes: vec![class(true, Marking::Step { above: 22_500, at: MarkAt::Dequeue })],
        buffer: lossless(225_000, None),
        ..network(graph)
    }
}

/// The same around one switch, 5 us a link.
pub fn darts_star(hosts: u32) -> NetworkConfig {
    darts(star(hosts, us(5)))
}

/// Two switches joined by one link, 5 us each.
pub fn darts_pair(left: u32, right: u32) -> NetworkConfig {
    let link = cable(gbps(10), us(5));
    darts(fanin_fabric::topology::Dumbbell { left, right, host_link: link, bottleneck: link }.build().unwrap())
}

/// The lane that a traffic's scheme may need beside class 1.
pub fn with_lanes(config: NetworkConfig, traffics: &mut [TrafficConfig]) -> NetworkConfig {
    let mut config = config;
    for traffic in traffics {
        if traffic.scheme.lanes() == Lanes::Escape {
            if config.classes.len() == 1 {
                let of = config.classes[0].clone();
                config.classes.push(ClassConfig { name: "data.deflectable".into(), sibling_vl: Some(1), ..of });
            }
            traffic.lane_class = 2;
        }
    }
    config
}

/// Dart with parameters of one's own.
pub fn dart(preset: &'static str, change: impl FnOnce(&mut Params)) -> TrafficConfig {
    let mut params = fanin_cc::schemes::dart::Dart::preset(preset);
    change(&mut params);
    TrafficConfig { scheme: Settings::Dart(preset, params), ..traffic(preset) }
}

pub fn endless(start: Time, src: u32, dst: u32) -> Message {
    message(start, src, dst, Message::ENDLESS)
}

/// What a scheme did so far.
pub fn acted(sim: &Simulation, action: Action) -> u64 {
    sim.traffic_counters()[0].actions.get(action)
}

pub fn seen(values: &[(&'static str, f64)], name: &str) -> f64 {
    values.iter().find(|(n, _)| *n == name).map_or(f64::NAN, |(_, v)| *v)
}

/// n on an ACK.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    pub at: Time,
    pub n: u64,
    /// The receiver's state: 0 no, 1 receiver, 2 non-receiver congestion.
    pub state: u8,
}

/// What a run showed.
#[derive(Default, Debug)]
pub struct Log {
    /// Every ACK that the receivers sent.
    pub told: Vec<Told>,
    /// Changes of the number of senders in the watched host's set.
    pub senders: Vec<(Time, u32)>,
    /// Changes of that host's state.
    pub states: Vec<(Time, u8)>,
    /// Changes of the cap that each watched message's sender holds, in bits per second.
    pub caps: Vec<Vec<(Time, f64)>>,
    /// Lowest rate of DCQCN that each watched message's sender had.
    pub lowest: Vec<f64>,
}

/// Runs event by event up to a time, and watches one receiver and some messages.
pub fn observe(sim: &mut Simulation, host: u32, messages: &[u32], until: Time, log: &mut Log) {
    log.caps.resize(messages.len(), Vec::new());
    log.lowest.resize(messages.len(), f64::INFINITY);
    let mut before = sim.traffic_counters()[0].actions.clone();
    loop {
        let done = sim.run_until(until, 1);
        let now = sim.now();
        let actions = sim.traffic_counters()[0].actions.clone();
        let of_host = sim.watch_host(0, host);
        let state = seen(&of_host, "state") as u8;
        let told = actions.get(Action::ShareTold) - before.get(Action::ShareTold);
        if told > 0 {
            // One event is at most one ACK, but for `tell_ahead`.
            let n = actions.get(Action::CountTold) - before.get(Action::CountTold);
            assert_eq!(n % told, 0, "{told} ACKs at once");
            log.told.extend((0..told).map(|_| Told { at: now, n: n / told, state }));
        }
        before = actions;
        if log.states.last().is_none_or(|(_, s)| *s != state) {
            log.states.push((now, state));
        }
        let senders = seen(&of_host, "senders") as u32;
        if log.senders.last().is_none_or(|(_, n)| *n != senders) {
            log.senders.push((now, senders));
        }
        for (i, &message) in messages.iter().enumerate() {
            let of_message = sim.watch(message);
            if of_message.is_empty() {
                continue;
            }
            let cap = seen(&of_message, "cap_bps");
            if log.caps[i].last().is_none_or(|(_, c)| *c != cap) {
                log.caps[i].push((now, cap));
            }
            log.lowest[i] = log.lowest[i].min(seen(&of_message, "rate_bps"));
        }
        if done {
            return;
        }
    }
}

/// The settled cap of a message's sender and since when it holds.
pub fn settled(caps: &[(Time, f64)]) -> (Time, f64) {
    *caps.last().expect("the message was watched while it was sent")
}

/// When the packets of a traced message came to a node.
pub fn arrivals(sim: &Simulation, message: u32, node: u32) -> Vec<Time> {
    sim.hops().iter().filter(|h| h.message == message && h.node.0 == node).map(|h| h.time).collect()
}

/// All messages of an incast with the list of its senders, which are `hosts`.
pub fn incast(group: u32, start: Time, hosts: core::ops::Range<u32>, bytes: u64) -> Vec<Message> {
    let senders: Arc<[u32]> = hosts.clone().collect();
    hosts.map(|h| Message { group, senders: Some(senders.clone()), ..message(start, h, 0, bytes) }).collect()
}

/// Payload bytes that each message has delivered in order.
pub fn delivered(sim: &Simulation) -> Vec<u64> {
    sim.flows().iter().map(|f| f.delivered).collect()
}

/// Bits per second of a number of bytes in a time.
pub fn rate(bytes: u64, time: Time) -> f64 {
    bytes as f64 * 8e12 / time.as_ps() as f64
}
