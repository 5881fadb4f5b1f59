//! Every hook of every role is called with its arguments, and its results are taken. `c/every_hook.c` checks the
//! arguments; the numbers there are those here.

use crate::{compile, of_tests};
use fanin_cc::*;
use fanin_experiment::loaded;
use fanin_units::{MessageId, NodeId, Rate, Time};
use serde_json::{Map, json};

fn at(ps: u64) -> Time {
    Time::from_ps(ps)
}

fn parameters(limit: u32) -> Map<String, serde_json::Value> {
    json!({ "limit": limit, "ratio": 0.25, "switched": false }).as_object().unwrap().clone()
}

#[test]
fn each_hook_gets_its_arguments_and_its_results_are_taken() {
    let id = fanin_own::load(&compile(&of_tests("every_hook.c"), "every_hook.so", &[])).unwrap().scheme.unwrap();
    let settings = loaded::settings(id, &parameters(9)).unwrap();
    assert_eq!(settings.to_json(), json!({ "limit": 9, "ratio": 0.25, "switched": false }));
    assert_eq!(settings.transport(), Transport::Rdma);
    assert_eq!(settings.header_overhead(), HeaderOverhead { data: 42, ack: 43, telemetry: true });
    assert_eq!((settings.wants_ecn(), settings.needs_marks()), (true, true));
    assert_eq!(settings.credits(), Some(CreditQueue { credit: 84, burst: 168, limit: 840 }));
    let mut scheme = settings.build();
    let program = settings.loaded().unwrap().clone();
    assert_eq!(scheme.sharing(), Sharing::Pair);
    assert!(scheme.switch_active() && scheme.switch_watches());

    sender(&mut scheme);
    receiver(&mut scheme);
    switch(&mut scheme);
    assert_eq!(program.failure(), None);
    let counts: Vec<u64> = scheme.actions().iter().map(|(_, count)| count).collect();
    let mut expected = [1; 29];
    // Two notices, two SYNs, three polls of requests, four of packets.
    (expected[3], expected[8], expected[11], expected[20]) = (2, 2, 2, 4);
    assert_eq!(counts[..29], expected);
    assert!(counts[29..].iter().all(|count| *count == 0));
}

fn sender(scheme: &mut Instance) {
    let path = PathInfo {
        receiver_rate: Rate::from_gbps(2),
        network_bdp: 4,
        network_rtt: at(5000),
        id: MessageId(8),
        from: NodeId(9),
        to: NodeId(10),
        ..PathInfo::new(Rate::from_gbps(1), at(3000), 6, 7)
    };
    let Opened { slot, control } = scheme.open(0, &path, at(1000));
    let expected =
        Control { window: 11, rate: Rate::from_bps(12), wake_at: at(5000), retime: true, not_before: at(14) };
    assert_eq!(control, expected);
    let sent = Sent { wire: 1, payload: 2, sent_to: 3, retransmitted: true, left: 4 };
    assert_eq!(scheme.on_send(slot, at(2000), &sent), (expected, 77));
    assert!(scheme.take_shared_changed());
    let mut telemetry = Telemetry::default();
    telemetry.push(NodeId(21), IntHop { queued: 100, ..IntHop::default() });
    telemetry.push(NodeId(22), IntHop { rate: Rate::from_gbps(3), time: at(31_000), sent: 32, queued: 33 });
    let ack = Ack {
        newly_acked: 1,
        acked_to: 2,
        seq: 3,
        sent_to: 4,
        in_flight: 5,
        burst: 6,
        recovering: true,
        ecn_echo: true,
        rtt: at(7000),
        sent_again: 0,
        cc_feedback: 8,
        telemetry: Some(&telemetry),
    };
    assert_eq!(scheme.on_ack(slot, at(3000), &ack), Control { window: 111, ..expected });
    scheme.on_notice(slot, at(3000), Notice::Cnp);
    scheme.on_notice(slot, at(3000), Notice::Credit(9));
    let loss = Loss { from: 1, sent_to: 2, in_flight: 3, retransmitted: true };
    scheme.on_loss(slot, at(3000), &loss);
    scheme.on_timeout(slot, at(3000), &loss);
    let trim = Trim { last_hop: true, rtt: at(6000), ..Trim::new(1, 2, 3, 4, 5) };
    scheme.on_trim(slot, at(3000), &trim);
    scheme.on_idle(slot, at(3000));
    assert_eq!(scheme.on_timer(slot, at(5000)).wake_at, Time::NEVER);
    assert_eq!(scheme.poll_request(slot, at(5000), 123).0, Some(88));
    assert_eq!(scheme.poll_request(slot, at(5000), 123).0, None);
    let mut seen = Vec::new();
    scheme.watch(slot, &mut |name, value| seen.push((name, value)));
    assert_eq!(seen, [("hooks", 3.0), ("half", 0.5)]);
    scheme.close(slot, at(6000));
}

fn receiver(scheme: &mut Instance) {
    scheme.add_host(&NicInfo { seed: 5, ..NicInfo::new(Rate::from_gbps(1), at(2000), 3, 4) });
    let flow = ReceiverFlow(1);
    scheme.receiver_open(0, at(1000), &FlowInfo { size: Some(4), ..FlowInfo::new(flow, MessageId(2), NodeId(3)) });
    assert_eq!(scheme.receiver_wake_at(0), at(9000));
    assert_eq!(scheme.receiver_syn(0, at(1000), flow), None);
    let syn = AckFields { window: Some(1234), ..AckFields::default() };
    assert_eq!(scheme.receiver_syn(0, at(2000), flow), Some(syn));
    let incast = Some(Incast { id: 6, senders: &[7, 8] });
    let message = MessageStart { tenant: 4, weight: 5, incast, ..MessageStart::new(flow, MessageId(2), NodeId(3)) };
    scheme.receiver_message_start(0, at(2000), &message);
    let data = Data {
        flow,
        from: NodeId(2),
        wire: 3,
        payload: 4,
        seq: 5,
        acked_to: 6,
        ce: true,
        start: true,
        end: false,
        in_order: true,
        ack_due: true,
        pending: true,
        due_alone: false,
        cc_tag: 7,
        cc_feedback: 8,
        received: 9,
    };
    let before = AckFields { cc_feedback: 55, ..AckFields::default() };
    let now = AckFields { ecn_echo: true, push: true, ..AckFields::default() };
    assert_eq!(scheme.receiver_data(0, at(2000), &data), AckPlan { before: Some(before), now: Some(now) });
    let answer = AckFields { cc_feedback: 66, ..AckFields::default() };
    assert_eq!(scheme.receiver_request(0, at(2000), &data), Some(answer));
    scheme.receiver_trim(0, at(2000), &data);
    let fields = AckFields { ecn_echo: true, ..AckFields::default() };
    assert_eq!(scheme.receiver_ack_fields(0, at(2000), flow), fields);
    let packets: Vec<Emit> = std::iter::from_fn(|| scheme.receiver_poll(0, at(2000))).collect();
    let push = AckFields { push: true, ..AckFields::default() };
    assert_eq!(packets, [Emit::Ack(flow, push), Emit::Cnp(flow), Emit::Credit { flow, number: 44, wire: 84 }]);
    scheme.receiver_message_end(0, at(2000), flow, MessageId(2));
    let mut seen = Vec::new();
    scheme.receiver_watch(0, &mut |name, value| seen.push((name, value)));
    assert_eq!(seen, [("flows", 1.0)]);
    scheme.receiver_timer(0, at(9000), 321);
    assert_eq!(scheme.receiver_wake_at(0), Time::NEVER);
    scheme.receiver_fin(0, at(9000), flow);
    scheme.receiver_close(0, at(9000), flow);
}

fn switch(scheme: &mut Instance) {
    let second = PortView { queued: 500, to_switch: true, ..PortView::new(Rate::from_gbps(2)) };
    let ports = vec![PortView::new(Rate::from_gbps(1)), second];
    scheme.add_switch(&SwitchInfo { seed: 2, network_rtt: at(3000), ..SwitchInfo::new(NodeId(1), &ports) });
    let mut packet = Header {
        seq: 1,
        sent_at: at(2000),
        flow: MessageId(3),
        src: NodeId(4),
        dst: NodeId(5),
        cc_tag: 6,
        cc_feedback: 7,
        wire: 8,
        payload: 9,
        class: 2,
        flags: flags::ECT,
        hops: 3,
        ..Header::default()
    };
    assert_eq!(scheme.switch_route(0, at(1000), &mut packet, 0, 0, &ports), 1);
    assert_eq!((packet.cc_tag, packet.cc_feedback), (60, 70));
    assert_eq!(scheme.switch_wake_at(0), at(7000));
    let mut queued = Queued { port: 1, view: second, packet: &mut packet, own: true };
    assert_eq!(scheme.switch_enqueue(0, at(1000), &mut queued), Verdict::Mark);
    scheme.switch_dequeue(0, at(1000), &mut queued);
    assert_eq!((packet.cc_feedback, packet.flags), (71, flags::ECT | flags::CE));
    scheme.switch_drop(0, at(1000), &packet);
    scheme.switch_link_down(0, at(1000), 1);
    let mut seen = Vec::new();
    scheme.switch_watch(0, &mut |name, value| seen.push((name, value)));
    assert_eq!(seen, [("ports", 2.0)]);
    scheme.switch_timer(0, at(7000), &ports);
    assert_eq!(scheme.switch_wake_at(0), Time::NEVER);
}

#[test]
fn packets_of_others_are_marked_and_not_changed() {
    let id = fanin_own::load(&compile(&of_tests("every_hook.c"), "every_hook_2.so", &[])).unwrap().scheme.unwrap();
    let settings = loaded::settings(id, &parameters(9)).unwrap();
    let mut scheme = settings.build();
    let view = PortView { queued: 500, ..PortView::new(Rate::from_gbps(2)) };
    let ports = [view, view];
    scheme.add_switch(&SwitchInfo { seed: 2, network_rtt: at(3000), ..SwitchInfo::new(NodeId(1), &ports) });
    let mut nack = Header { kind: Kind::Nack, cc_tag: 60, cc_feedback: 5, ..Header::default() };
    let mut queued = Queued { port: 1, view, packet: &mut nack, own: false };
    assert_eq!(scheme.switch_enqueue(0, at(1), &mut queued), Verdict::Admit, "it may not be marked");
    scheme.switch_dequeue(0, at(1), &mut queued);
    assert_eq!((nack.cc_tag, nack.cc_feedback, nack.flags), (60, 5, 0));
    assert_eq!(settings.loaded().unwrap().failure(), None);
}
