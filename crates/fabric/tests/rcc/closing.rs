//! How connections of every scheme over TCP open and close, where receivers hold ACKs: SYN-ACKs that wait, FINs behind
//! ACKs that wait, in one direction and in both, and peers that die.

use super::random::held;
use super::replay::*;
use crate::common::*;
use fanin_cc::schemes::rcc::Follow;
use fanin_cc::{Settings, Transport};
use fanin_endpoint::tcp::bits;
use fanin_fabric::*;
use fanin_units::Time;

/// Every preset over TCP; with a queue of 2 segments where it is RCC, so that ACKs wait.
fn over_every_tcp() -> Vec<TrafficConfig> {
    let presets = fanin_cc::rows().iter().flat_map(|row| row.presets.iter().copied());
    let over = |id: &&str| Settings::preset(id).expect("a listed preset").transport();
    let all: Vec<TrafficConfig> = presets.filter(|id| over(id) == Transport::Tcp).map(over_tcp).map(tight).collect();
    assert!(all.len() >= 9, "newreno, dctcp, cubic, ictcp, rcc and their presets");
    all
}

fn tight(mut traffic: TrafficConfig) -> TrafficConfig {
    if let Settings::Rcc(_, params) = &mut traffic.scheme {
        params.queue_maxsize = 2;
    }
    let tcp = &mut traffic.tcp.as_mut().unwrap().connection;
    (tcp.window_scaling, tcp.receive_buffer) = (false, 65_535);
    traffic
}

/// Whether its receiver holds ACKs.
fn holds(traffic: &TrafficConfig) -> bool {
    matches!(&traffic.scheme, Settings::Rcc(_, params) if params.scheduler)
}

/// The links of host 0 and its switch.
fn watched(sim: &mut Simulation, until: Time) -> (Vec<Packet>, Vec<Packet>) {
    let switch = sim.config().graph.hosts;
    let packets = watch(sim, &[(0, switch), (switch, 0)], until);
    packets.into_iter().partition(|p| p.to == 0)
}

#[test]
fn syn_acks_wait_and_leave_in_turn() {
    for traffic in over_every_tcp() {
        let messages = (1..=12).map(|host| message(us(0), host, 0, 3 * PAYLOAD)).collect();
        let mut sim = simulation(paper(12, Marking::Off), vec![traffic.clone()], messages);
        let (arrived, sent) = watched(&mut sim, Time::from_ms(50));
        check_all_arrived(&sim);
        assert_eq!((sim.totals().hosts.timeouts, sim.open_connections()), (0, 0), "{}", traffic.name);
        let syns: Vec<&Packet> = arrived.iter().filter(|p| p.segment.has(bits::SYN)).collect();
        let answers: Vec<&Packet> = sent.iter().filter(|p| p.segment.has(bits::SYN)).collect();
        assert_eq!((syns.len(), answers.len()), (12, 12), "{}: none is repeated", traffic.name);
        let data = arrived.iter().find(|p| p.is_data()).unwrap().arrives;
        let before = answers.iter().filter(|p| p.left < data).count();
        let Settings::Rcc(_, params) = &traffic.scheme else {
            assert_eq!(before, 12);
            continue;
        };
        // Windows in flight may exceed two segments by the last one, in the code they must be below.
        let expected = match (params.scheduler, params.follow) {
            (false, _) => 12,
            (true, Follow::Paper) => 3,
            (true, Follow::Code) => 2,
        };
        assert_eq!(before, expected, "{}", traffic.name);
        // Of the same size: first in, first out.
        let order = |packets: &[&Packet]| packets.iter().map(|p| p.flow).collect::<Vec<_>>();
        assert_eq!(order(&syns), order(&answers));
    }
}

#[test]
fn a_fin_behind_acks_that_wait_is_answered_once() {
    for traffic in over_every_tcp() {
        // Each flow is one segment with its FIN: its ACK waits behind SYN-ACKs of the others.
        let messages: Vec<Message> = (1..=12).map(|host| message(us(host as u64), host, 0, 1000)).collect();
        let mut sim = simulation(paper(12, Marking::Off), vec![traffic.clone()], messages);
        let (arrived, sent) = watched(&mut sim, Time::from_ms(50));
        check_all_arrived(&sim);
        assert_eq!((sim.totals().hosts.timeouts, sim.open_connections()), (0, 0), "{}", traffic.name);
        for flow in 0..12 {
            let fin = arrived.iter().find(|p| p.flow == flow && p.segment.has(bits::FIN)).unwrap();
            let answers = sent.iter().filter(|p| p.flow == flow && p.left >= fin.arrives);
            let answers: Vec<(u64, bool)> = answers.map(|p| (p.segment.ack, p.segment.has(bits::FIN))).collect();
            // SYN, 1000 bytes, FIN; then this end's own FIN.
            assert_eq!(answers, [(1002, false), (1002, true)], "{} {flow}", traffic.name);
            let waited = sent.iter().find(|p| p.flow == flow && p.left >= fin.arrives).unwrap().left - fin.arrives;
            assert!(waited <= ACK + ACK, "{} {flow}: {waited}", traffic.name);
        }
    }
}

#[test]
fn both_directions_close_where_both_ends_hold_acks() {
    for persistent in [false, true] {
        for mut traffic in over_every_tcp() {
            traffic.tcp.as_mut().unwrap().persistent = persistent;
            // Connections from each end to the other, and answers on some of them.
            let mut messages = Vec::new();
            for n in 0..12u32 {
                let (src, dst) = if n % 2 == 0 { (0, 1) } else { (1, 0) };
                let at = us(n as u64 * 7);
                let asked = Dependency { counts: Some(n), ..Dependency::default() };
                messages.push(Message { dependency: asked, ..message(at, src, dst, 1 + 900 * n as u64) });
                if n % 3 == 0 {
                    let answer = Dependency { after: Some(n), answers: true, ..Dependency::default() };
                    messages.push(Message { dependency: answer, ..message(at, dst, src, 5000) });
                }
            }
            let mut sim = simulation(paper(1, Marking::Off), vec![traffic.clone()], messages);
            finish(&mut sim);
            check_all_arrived(&sim);
            assert_eq!((sim.totals().hosts.timeouts, sim.totals().drops.total()), (0, 0), "{}", traffic.name);
            assert_eq!(sim.open_connections() == 0, !persistent, "{}", traffic.name);
            if holds(&traffic) {
                let held = [held(&sim, 0, 0), held(&sim, 0, 1)];
                assert_eq!(held.map(|(_, waiting)| waiting), [0.0, 0.0]);
                assert!(persistent || held.iter().all(|(in_flight, _)| *in_flight == 0.0));
            }
        }
    }
}

/// A network whose host 1 dies at a time; the messages of hosts 1 to 6 to host 0, 60 segments each.
fn dying(traffic: &TrafficConfig, at: Time) -> Simulation {
    let mut config = NetworkConfig { buffer: BufferPolicy::Unlimited, ..paper(6, Marking::Off) };
    config.graph.links[1].outages = vec![(at, Time::NEVER)];
    let mut traffic = traffic.clone();
    traffic.tcp.as_mut().unwrap().connection.retries = 4;
    let messages = (1..=6).map(|host| message(us(0), host, 0, 60 * PAYLOAD)).collect();
    let mut sim = simulation(config, vec![traffic], messages);
    assert!(sim.run_until(Time::from_s(20), 3_000_000) && sim.is_over());
    sim
}

#[test]
fn a_peer_that_dies_holds_nobody_back() {
    for traffic in over_every_tcp() {
        let live = dying(&traffic, Time::from_s(1));
        check_all_arrived(&live);
        let last = |sim: &Simulation| sim.flows()[1..].iter().map(|f| f.finished).max().unwrap();
        // During the handshake, with its SYN-ACK waiting where ACKs are held; and with data under way.
        for at in [us(50), us(100), us(500), us(900)] {
            let sim = dying(&traffic, at);
            assert_eq!((sim.flows()[0].finished, sim.finished()), (Time::NEVER, 5), "{} at {at}", traffic.name);
            // What it was allowed to send counts for RTO_r at most, and again after that.
            let rto = Time::from_ms(if holds(&traffic) { 40 } else { 1 });
            assert!(last(&sim) < last(&live) + rto, "{} at {at}: {} and {}", traffic.name, last(&sim), last(&live));
            if holds(&traffic) {
                assert_eq!(held(&sim, 0, 0), (0.0, 0.0), "{} at {at}", traffic.name);
            }
        }
    }
}
