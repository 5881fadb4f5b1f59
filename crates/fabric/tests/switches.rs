//! The switches of a network alone: packets enter and leave at the same times as in a whole simulation.

use crate::common::*;
use fanin_cc::{Header, Kind, Settings};
use fanin_fabric::switches::Exit;
use fanin_fabric::tap::{Seen, Wanted};
use fanin_fabric::*;
use fanin_units::{MessageId, NodeId, PortId, Time};

fn packet(flow: u32, src: u32, dst: u32) -> Header {
    let (src, dst) = (NodeId(src), NodeId(dst));
    Header { flow: MessageId(flow), src, dst, wire: 1500, payload: 1460, class: 1, ..Header::default() }
}

fn exits(switches: &mut SwitchFabric) -> Vec<Exit> {
    let mut exits = Vec::new();
    switches.take_exits(&mut exits);
    exits
}

#[test]
fn a_packet_takes_its_links_and_waits_behind_others() {
    let mut switches = SwitchFabric::new(network(star(3, us(1))), &[]).unwrap();
    // 1.2 us on each link, and 1 us of delay.
    switches.enter(Time::ZERO, packet(0, 0, 2), 0);
    switches.enter(ns(100), packet(1, 1, 2), 0);
    switches.enter(ns(100), packet(2, 0, 2), 0);
    assert_eq!(switches.next_at(), Time::ZERO);
    switches.run_until(us(100));
    let left: Vec<(u32, Time, NodeId)> =
        exits(&mut switches).iter().map(|exit| (exit.header.flow.0, exit.time, exit.host)).collect();
    // The third leaves its host 1.2 us after the first, and is at the switch when the second has 100 ns left there.
    assert_eq!(left, [(0, ns(4400), NodeId(2)), (1, ns(5600), NodeId(2)), (2, ns(6800), NodeId(2))]);
    let totals = switches.totals();
    assert_eq!((totals.packet_hops, totals.ledger.delivered, totals.ledger.in_flight), (6, 4500, 0));
    assert!(exits(&mut switches).is_empty(), "they are given out once");
}

#[test]
fn a_host_outside_sees_that_it_is_paused() {
    let mut config = network(star(3, us(1)));
    config.classes = vec![class(true, Marking::Off)];
    config.buffer = lossless(40_000, None);
    let mut switches = SwitchFabric::new(config, &[]).unwrap();
    for flow in 0..200 {
        switches.enter(Time::ZERO, packet(flow, flow % 2, 2), 0);
    }
    let mut paused = 0;
    for step in 0..400 {
        switches.run_until(us(step));
        paused += u32::from((0..6).any(|port| switches.is_paused(PortId(port), 1)));
    }
    let totals = switches.totals();
    assert_eq!((paused > 0, switches.incidents().pauses > 0, totals.drops.total()), (true, true, 0));
    assert_eq!(exits(&mut switches).len(), 200);
}

#[test]
fn links_that_go_down_are_refused() {
    let mut config = network(star(2, us(1)));
    config.graph.links[0].outages = vec![(us(1), us(2))];
    assert!(SwitchFabric::new(config, &[]).is_err());
}

/// Packets that leave hosts in a whole simulation enter the switches alone; packets that reach hosts there must come
/// out, with the same marks at the same times.
fn is_the_same(config: NetworkConfig, messages: Vec<Message>) -> Incidents {
    let of = traffic("dcqcn");
    let schemes: Vec<Settings> = vec![of.scheme.clone()];
    let mut whole = Simulation::new(config.clone(), vec![of], Box::new(messages.into_iter()));
    let links: Vec<PortId> = (0..2 * config.graph.links.len() as u32).map(PortId).collect();
    whole.tap(&Wanted { links, ..Wanted::default() });
    assert!(whole.run_until(Time::from_ms(20), u64::MAX));
    let mut seen = Vec::new();
    whole.take_seen(&mut seen);
    let mut switches = SwitchFabric::new(config.clone(), &schemes).unwrap();
    let mut expected = Vec::new();
    let key = |time: Time, head: &Header| {
        (time, head.flow, head.seq, head.kind as u8, head.flags, head.sent_at, head.cc_tag, head.cc_feedback)
    };
    for seen in &seen {
        let Seen::Packet(captured) = seen else { continue };
        let link = &config.graph.links[captured.port.ix() / 2];
        let from_a = captured.port.ix().is_multiple_of(2);
        let (from, to) = if from_a { (link.a, link.b) } else { (link.b, link.a) };
        if captured.head.kind == Kind::Pause {
            continue;
        }
        if config.graph.is_host(from) {
            switches.enter(captured.time, captured.head, 0);
        } else if config.graph.is_host(to) {
            let arrives = captured.time + link.rate.tx_time(captured.head.wire as u64) + link.delay;
            expected.push(key(arrives, &captured.head));
        }
    }
    switches.run_until(Time::from_ms(20));
    let mut found: Vec<_> = exits(&mut switches).iter().map(|exit| key(exit.time, &exit.header)).collect();
    expected.sort_unstable();
    found.sort_unstable();
    assert!(expected.len() > 1000);
    assert_eq!(found, expected);
    let (of_whole, alone) = (whole.totals(), switches.totals());
    assert_eq!((alone.packet_hops, alone.drops), (of_whole.packet_hops, of_whole.drops));
    assert_eq!(switches.incidents(), whole.incidents());
    whole.incidents().clone()
}

fn incast() -> Vec<Message> {
    (0..3).flat_map(|n| (0..8).map(move |host| message(us(20 * n + host as u64), host, 8, 200_000))).collect()
}

#[test]
fn an_incast_with_marks_and_drops_passes_as_in_a_whole_simulation() {
    let mut config = network(star(9, us(1)));
    let red = Marking::Red { min: 5_000, max: 60_000, max_probability: 0.1, at: MarkAt::Dequeue };
    config.classes = vec![class(false, red)];
    config.buffer = BufferPolicy::PerPort { bytes: 120_000, pfc: Pfc { headroom: None, xon_offset: None } };
    assert!(is_the_same(config, incast()).drops > 0);
}

#[test]
fn so_does_one_with_pauses() {
    let mut config = network(star(9, us(1)));
    let red = Marking::Red { min: 5_000, max: 60_000, max_probability: 0.1, at: MarkAt::Dequeue };
    config.classes = vec![class(true, red)];
    config.buffer = lossless(80_000, None);
    assert!(is_the_same(config, incast()).pauses > 0);
}
