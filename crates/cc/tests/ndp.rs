//! NDP: a sender's first window and its pulls, and the one pacer of a receiver.

use crate::common::{PAYLOAD, WIRE, data, nic, path, us};
use fanin_cc::schemes::ndp::{Ndp, Params};
use fanin_cc::*;
use fanin_units::{MessageId, NodeId, Rate, Time};

/// A scheme with one sender at 10 Gb/s and 10 us, whose window is of so many packets.
fn sender(initial_window: u32) -> (Instance, u32) {
    let params = Params { initial_window, ..Ndp::preset("ndp") };
    let mut scheme = Settings::Ndp("ndp", params).build();
    let opened = scheme.open(0, &path(10, 12_500), Time::ZERO);
    assert_eq!(opened.control.rate, Rate::from_gbps(10), "at line rate and without asking");
    (scheme, opened.slot)
}

/// Sends while the flow may, up to `most` packets behind the first `sent`; returns how many, and the last number.
fn send_all(scheme: &mut Instance, slot: u32, now: Time, sent: &mut u64, most: u64) -> (u64, u32) {
    let (before, mut number) = (*sent, 0);
    while scheme.control(slot, now).rate > Rate::ZERO && *sent - before < most {
        *sent += 1;
        let packet = Sent { left: 1_000_000, ..Sent::new(WIRE, PAYLOAD, *sent * u64::from(PAYLOAD)) };
        number = scheme.on_send(slot, now, &packet).1;
    }
    (*sent - before, number)
}

#[test]
fn a_window_leaves_at_once_and_then_a_packet_per_pull() {
    let (mut scheme, slot) = sender(15);
    let mut sent = 0;
    assert_eq!(send_all(&mut scheme, slot, us(1), &mut sent, 100), (15, 15));
    // ACKs and NACKs release nothing: only pulls do.
    scheme.on_ack(slot, us(10), &Ack { newly_acked: 1000, acked_to: 1000, sent_to: 15_000, ..Ack::default() });
    scheme.on_trim(slot, us(10), &Trim::new(3000, PAYLOAD, WIRE, 15_000, 14_000));
    assert_eq!(send_all(&mut scheme, slot, us(10), &mut sent, 100), (0, 0));
    let pull = |scheme: &mut Instance, n| scheme.on_notice(slot, us(11), Notice::Credit(n));
    pull(&mut scheme, 1);
    assert_eq!(send_all(&mut scheme, slot, us(11), &mut sent, 100), (1, 16));
    // Pulls 2 and 3 were lost, and 3 comes late.
    pull(&mut scheme, 4);
    assert_eq!(send_all(&mut scheme, slot, us(12), &mut sent, 100), (3, 19));
    pull(&mut scheme, 3);
    assert_eq!(send_all(&mut scheme, slot, us(13), &mut sent, 100), (0, 0));
}

#[test]
fn the_window_is_the_papers_or_what_fills_the_path() {
    let first = |gbps, bdp| {
        let mut scheme = Settings::preset("ndp").unwrap().build();
        let slot = scheme.open(0, &path(gbps, bdp), Time::ZERO).slot;
        send_all(&mut scheme, slot, us(1), &mut 0, 1000).0
    };
    assert_eq!(first(10, 12_500), 30);
    assert_eq!(first(100, 125_000), u64::from(125_000u32.div_ceil(WIRE)));
}

#[test]
fn a_timeout_lets_one_packet_go_whose_pull_pays_for_it() {
    let (mut scheme, slot) = sender(15);
    let mut sent = 0;
    send_all(&mut scheme, slot, us(1), &mut sent, 100);
    // All 15 are lost.
    let loss = Loss::new(0, 15_000);
    scheme.on_timeout(slot, us(300), &loss);
    assert_eq!(send_all(&mut scheme, slot, us(300), &mut sent, 100), (1, 16));
    // Its number shows the receiver that 16 have left: it pulls them all, and one of the pulls is spent already.
    scheme.on_notice(slot, us(320), Notice::Credit(16));
    assert_eq!(send_all(&mut scheme, slot, us(320), &mut sent, 100).0, 15);
    // With credit left a timeout adds nothing.
    scheme.on_notice(slot, us(330), Notice::Credit(18));
    scheme.on_timeout(slot, us(700), &loss);
    assert_eq!(send_all(&mut scheme, slot, us(700), &mut sent, 100).0, 2);
}

#[test]
fn a_pull_that_finds_nothing_to_send_is_kept_for_what_its_nack_brings() {
    let (mut scheme, slot) = sender(15);
    // The only packet leaves, and was cut; the pull that its header earned overtakes the NACK.
    scheme.on_send(slot, us(1), &Sent::new(WIRE, PAYLOAD, 1000));
    for _ in 0..14 {
        scheme.on_send(slot, us(1), &Sent::new(WIRE, PAYLOAD, 1000));
    }
    scheme.on_notice(slot, us(10), Notice::Credit(1));
    scheme.on_trim(slot, us(11), &Trim::new(0, PAYLOAD, WIRE, 1000, 1000));
    assert_eq!(scheme.control(slot, us(11)).rate, Rate::from_gbps(10));
    // When all has arrived, pulls for it are counted as wasted.
    let wasted = |scheme: &Instance| scheme.actions().get(Action::CreditWasted);
    assert_eq!(wasted(&scheme), 0);
    scheme.on_ack(slot, us(20), &Ack { newly_acked: 1000, acked_to: 1000, sent_to: 1000, ..Ack::default() });
    scheme.on_notice(slot, us(21), Notice::Credit(2));
    assert_eq!(wasted(&scheme), 1);
}

#[test]
fn a_sender_that_waits_in_vain_asks_again() {
    let (mut scheme, slot) = sender(2);
    let mut sent = 0;
    send_all(&mut scheme, slot, us(1), &mut sent, 100);
    assert_eq!(scheme.poll_request(slot, us(2), 1_000_000).0, None);
    let wake_at = scheme.control(slot, us(2)).wake_at;
    assert_eq!(wake_at, us(200));
    // A pull makes it patient again.
    scheme.on_notice(slot, us(150), Notice::Credit(1));
    send_all(&mut scheme, slot, us(150), &mut sent, 100);
    scheme.on_timer(slot, wake_at);
    assert_eq!(scheme.poll_request(slot, wake_at, 1_000_000).0, None);
    assert_eq!(scheme.control(slot, wake_at).wake_at, us(350));
    assert_eq!(scheme.on_timer(slot, us(350)).wake_at, us(550));
    // It tells how many packets it has sent, once.
    assert_eq!(scheme.poll_request(slot, us(350), 1_000_000).0, Some(3));
    assert_eq!(scheme.poll_request(slot, us(350), 1_000_000).0, None);
    // With credit, or with nothing to send, it does not ask.
    scheme.on_notice(slot, us(360), Notice::Credit(2));
    scheme.on_timer(slot, us(560));
    assert_eq!(scheme.poll_request(slot, us(560), 1_000_000).0, None);
    scheme.on_send(slot, us(561), &Sent::new(WIRE, PAYLOAD, 4000));
    scheme.on_ack(slot, us(570), &Ack { newly_acked: 1000, acked_to: 4000, sent_to: 4000, ..Ack::default() });
    assert_eq!(scheme.on_timer(slot, us(760)).wake_at, Time::NEVER);
    assert_eq!(scheme.poll_request(slot, us(760), 0).0, None);
    // A new message on the connection wakes it.
    scheme.poll_request(slot, us(800), 5000);
    assert_eq!(scheme.control(slot, us(800)).wake_at, us(1000));
}

/// A receiver at 10 Gb/s, where a packet takes 832 ns, with so many flows.
fn receiver(flows: u32, pull_rate: f64) -> Instance {
    let params = Params { pull_rate, ..Ndp::preset("ndp") };
    let mut scheme = Settings::Ndp("ndp", params).build();
    scheme.add_host(&nic(10));
    for flow in 0..flows {
        scheme.receiver_open(0, us(1), &FlowInfo::new(ReceiverFlow(flow), MessageId(flow), NodeId(flow)));
    }
    scheme
}

/// A packet that shows how many its sender has sent.
fn nth(flow: u32, sent: u32) -> Data {
    Data { cc_tag: sent, ..data(flow, u64::from(sent) - 1, false) }
}

/// The pulls until `until`: when, in nanoseconds behind 1 us, for which flow, and their numbers.
fn pulls(scheme: &mut Instance, mut now: Time, until: Time) -> Vec<(u64, u32, u32)> {
    let mut found = Vec::new();
    loop {
        while let Some(emit) = scheme.receiver_poll(0, now) {
            let Emit::Credit { flow, number, wire: 64 } = emit else { panic!("{emit:?}") };
            found.push(((now - us(1)).as_ps() / 1000, flow.0, number));
        }
        now = scheme.receiver_wake_at(0);
        if now > until {
            return found;
        }
        scheme.receiver_timer(0, now, 0);
    }
}

#[test]
fn packets_and_headers_earn_a_pull_each_in_turn_at_the_rate_of_the_link() {
    let mut scheme = receiver(3, 1.0);
    // Of flow 0 four arrive at once, of flow 1 two headers, of flow 2 one packet.
    for n in 1..5 {
        scheme.receiver_data(0, us(1), &nth(0, n));
    }
    for n in 1..3 {
        scheme.receiver_trim(0, us(1), &nth(1, n));
    }
    scheme.receiver_data(0, us(1), &nth(2, 1));
    let found = pulls(&mut scheme, us(1), us(100));
    // Flow 0 is pulled at once, since the pacer has rested; then each in turn.
    let turns = [(0, 1), (0, 2), (1, 1), (2, 1), (0, 3), (1, 2), (0, 4)];
    let expected: Vec<_> = turns.iter().enumerate().map(|(i, &(flow, n))| (832 * i as u64, flow, n)).collect();
    assert_eq!(found, expected);
    assert_eq!(scheme.receiver_wake_at(0), Time::NEVER);
    // The gap behind the last pull holds for whoever comes next.
    let last = us(1) + Time::from_ns(6 * 832);
    scheme.receiver_data(0, last + Time::from_ns(100), &nth(2, 2));
    assert_eq!(pulls(&mut scheme, last + Time::from_ns(100), us(100)), [(7 * 832, 2, 2)]);
}

#[test]
fn a_share_of_the_link_leaves_room() {
    let mut scheme = receiver(1, 0.5);
    for n in 1..4 {
        scheme.receiver_data(0, us(1), &nth(0, n));
    }
    assert_eq!(pulls(&mut scheme, us(1), us(100)), [(0, 0, 1), (1664, 0, 2), (3328, 0, 3)]);
}

#[test]
fn a_packet_lost_whole_is_pulled_for_by_the_next_and_an_overtaken_one_only_once() {
    let mut scheme = receiver(1, 1.0);
    scheme.receiver_data(0, us(1), &nth(0, 1));
    scheme.receiver_data(0, us(1), &nth(0, 4));
    scheme.receiver_data(0, us(1), &nth(0, 3));
    let numbers: Vec<u32> = pulls(&mut scheme, us(1), us(100)).iter().map(|pull| pull.2).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
}

#[test]
fn a_request_repeats_the_last_number_and_makes_up_for_what_was_lost() {
    let mut scheme = receiver(1, 1.0);
    scheme.receiver_data(0, us(1), &nth(0, 1));
    assert_eq!(pulls(&mut scheme, us(1), us(100)), [(0, 0, 1)]);
    let ask = |scheme: &mut Instance, now, sent| {
        scheme.receiver_request(0, now, &nth(0, sent));
        pulls(scheme, now, us(100)).iter().map(|pull| pull.2).collect::<Vec<_>>()
    };
    assert_eq!(ask(&mut scheme, us(10), 1), [1]);
    assert_eq!(ask(&mut scheme, us(20), 3), [2, 3]);
}

#[test]
fn a_complete_message_takes_its_pulls_with_it() {
    let mut scheme = receiver(2, 1.0);
    for flow in 0..2 {
        for n in 1..4 {
            scheme.receiver_data(0, us(1), &nth(flow, n));
        }
    }
    scheme.receiver_close(0, us(1), ReceiverFlow(0));
    // What was decided before is on its way.
    assert_eq!(pulls(&mut scheme, us(1), us(100)), [(0, 0, 1), (832, 1, 1), (1664, 1, 2), (2496, 1, 3)]);
    // Another flow in its place begins anew.
    scheme.receiver_open(0, us(200), &FlowInfo::new(ReceiverFlow(2), MessageId(2), NodeId(2)));
    scheme.receiver_data(0, us(200), &nth(2, 1));
    assert_eq!(scheme.receiver_poll(0, us(200)), Some(Emit::Credit { flow: ReceiverFlow(2), number: 1, wire: 64 }));
}
