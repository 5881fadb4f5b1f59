//! HPCC's small networks and traffics (5.1), and a log of packets on links.

use crate::common::*;
use fanin_cc::schemes::hpcc::{Hpcc, Params};
use fanin_cc::{Scheme, Settings};
use fanin_fabric::tap::{Captured, Seen, Wanted};
use fanin_fabric::topology::Star;
use fanin_fabric::*;
use fanin_units::{Rate, Time};

/// 1,000 bytes of payload under RoCEv2's 62 bytes of headers; telemetry comes on top.
pub const SIZES: PacketSizes = PacketSizes { payload: 1000, header: 62, ack: 66, cnp: 78, pause: 64 };
/// A packet of HPCC on the wire.
pub const HPCC_WIRE: u64 = 1104;
/// The same, of DCQCN.
pub const DCQCN_WIRE: u64 = 1062;

pub fn hosts(hosts: u32, rate: Rate, delay: Time) -> NetworkConfig {
    let graph = Star { hosts, host_link: cable(rate, delay) }.build().unwrap();
    NetworkConfig { packet: SIZES, ..network(graph) }
}

/// Delay of a host's link on the testbed, its NIC's and half of a switch's in it: 64 B there and an ACK back take 5.4
/// us in a rack (5.1).
pub const TESTBED_DELAY: Time = Time::from_ns(1329);
/// The same of a link between switches: 8.5 us from rack to rack (5.1).
pub const TESTBED_UP_DELAY: Time = Time::from_ns(770);

/// One port of the testbed and those that send to it (5.1): 25 Gb/s, PFC, and DCQCN's marks, which the paper gives no
/// place; its public simulator sets them as packets leave.
pub fn rack(n: u32) -> NetworkConfig {
    let marks = Marking::Red { min: 100_000, max: 400_000, max_probability: 0.2, at: MarkAt::Dequeue };
    let config = hosts(n, gbps(25), TESTBED_DELAY);
    NetworkConfig { classes: vec![class(true, marks)], buffer: lossless(16_000_000, None), ..config }
}

/// The testbed (5.1): an aggregation switch, 36, and four ToRs, 32 to 35, at 100 Gb/s; hosts 0 to 15 have a link of 25
/// Gb/s to each of the first two ToRs, 16 to 31 to each of the others.
pub fn testbed_graph() -> topology::Graph {
    let to_host = |h: u32| [0, 1].map(|nic| (h, 32 + h / 16 * 2 + nic, gbps(25), TESTBED_DELAY));
    let up = (32..36).map(|tor| (tor, 36, gbps(100), TESTBED_UP_DELAY));
    let links: Vec<_> = (0..32).flat_map(to_host).chain(up).collect();
    graph(32, 5, &links)
}

pub fn with(preset: &'static str, change: impl FnOnce(&mut Params)) -> TrafficConfig {
    let mut params = Hpcc::preset(preset);
    change(&mut params);
    TrafficConfig { scheme: Settings::Hpcc(preset, params), ecn: false, ..patient(preset) }
}

/// Timers that no queue here reaches.
pub fn patient(preset: &str) -> TrafficConfig {
    let mut traffic = traffic(preset);
    traffic.endpoint.timeout = Time::from_ms(50);
    traffic
}

/// HPCC on the testbed: T = 9 us (5.1).
pub fn testbed() -> TrafficConfig {
    with("hpcc", |p| p.base_rtt = us(9))
}

pub fn endless(start: Time, src: u32, dst: u32) -> Message {
    message(start, src, dst, Message::ENDLESS)
}

pub fn seen(values: &[(&'static str, f64)], name: &str) -> f64 {
    values.iter().find(|(n, _)| *n == name).map_or(f64::NAN, |(_, v)| *v)
}

/// Asks for the packets of these links, each named by the nodes that send and receive.
pub fn tap(sim: &mut Simulation, links: &[(u32, u32)]) {
    let links = links.iter().map(|(from, to)| port(sim, *from, *to)).collect();
    sim.tap(&Wanted { links, ..Wanted::default() });
}

/// The packets that were seen, in order of time.
pub fn taken(sim: &mut Simulation) -> Vec<Captured> {
    let mut seen = Vec::new();
    sim.take_seen(&mut seen);
    let packet = |seen| if let Seen::Packet(packet) = seen { Some(*packet) } else { None };
    seen.into_iter().filter_map(packet).collect()
}

/// When the last bit of a packet that was seen is at the other end of its link.
pub fn arrives(sim: &Simulation, packet: &Captured) -> Time {
    let link = &sim.config().graph.links[packet.port.ix() / 2];
    packet.time + link.rate.tx_time(packet.head.wire as u64) + link.delay
}
