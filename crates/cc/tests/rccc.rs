//! RCCC: a sender's credit, the pacer and the control of oversubscription, and the scheme that both are in.

use crate::common::{PAYLOAD, WIRE, data, nic, path, us};
use fanin_cc::schemes::rccc::{Credit, Demand, Demands, FIRST_PULL, Pacer, Share, Wanted};
use fanin_cc::*;
use fanin_units::{MessageId, NodeId, Time};

struct All(Vec<Demand>);

impl Demands for All {
    fn of(&mut self, flow: u32) -> &mut Demand {
        &mut self.0[flow as usize]
    }
}

#[test]
fn a_pacer_serves_demand_in_turn_and_then_a_window_more_without_being_asked() {
    // 64 quanta of 256 bytes at 0.99 of 100 Gb/s: 20,686 ps each.
    let (mut pacer, mut all) = (Pacer::new(100_000_000_000), All(vec![Demand::default(); 2]));
    assert!(pacer.demand(0, FIRST_PULL + 100, &mut all));
    assert!(!pacer.demand(1, FIRST_PULL + 64, &mut all));
    assert!(!pacer.demand(1, FIRST_PULL + 10, &mut all), "less than it told before");
    let most = 200 * 256;
    let mut pulls = Vec::new();
    while let Some(pull) = pacer.pull(most, 1.0, &mut all) {
        pulls.push((pull.flow, pull.number - FIRST_PULL, pull.slow, pull.gap / 20_686));
    }
    let asked = [(0, 64, false, 64), (1, 64, false, 64), (0, 100, false, 36)];
    // Of flow 1 the slow pulls begin first, since it had all first; each ends at 200 quanta above its demand.
    let slow = [(1, 128), (0, 164), (1, 192), (0, 228), (1, 256), (0, 292), (1, 320), (0, 356)];
    let expected = asked.into_iter().chain(slow.map(|(flow, number)| (flow, number, true, 64)));
    assert_eq!(pulls, expected.collect::<Vec<_>>());
    // A flow that joins without demand gets the number again, and costs four quanta.
    assert!(pacer.join(0, &mut all));
    let pull = pacer.pull(most, 0.5, &mut all).unwrap();
    assert_eq!((pull.number - FIRST_PULL, pull.gap), (356, 4 * 2 * 20_686));
    pacer.leave(0);
    assert_eq!(pacer.pull(most, 1.0, &mut all), None);
}

#[test]
fn a_pull_target_is_what_is_to_be_sent_and_has_no_credit() {
    let mut credit = Credit::new(10_000);
    let wanted = Wanted { backlog: 50_000, again: 1000, window: None, mtu: 1000, sharers: 1 };
    credit.demand(&wanted, 40_000);
    assert_eq!(credit.target, FIRST_PULL + 30_000u64.div_ceil(256));
    credit.demand(&Wanted { window: Some(20_000), ..wanted }, 40_000);
    assert_eq!(credit.target, FIRST_PULL + 11_000u64.div_ceil(256));
    // While it speculates and has data, at least a packet.
    credit.demand(&Wanted { backlog: 10, again: 0, ..wanted }, 40_000);
    assert_eq!(credit.target, FIRST_PULL + 4);
    credit.on_pull(FIRST_PULL + 10, 2000);
    assert_eq!((credit.bytes, credit.pull, credit.speculating), (2000, FIRST_PULL + 10, false));
    credit.on_pull(FIRST_PULL + 9, 2000);
    assert_eq!(credit.pull, FIRST_PULL + 10, "an old pull");
}

#[test]
fn trims_and_marks_cut_the_share_and_quiet_rounds_raise_it_faster_each_time() {
    let mut share = Share::new(4.0);
    (share.packets, share.trimmed) = (100, 20);
    share.adjust();
    assert_eq!(share.share, 0.8);
    for raised in [0.81, 0.83, 0.87] {
        share.packets = 100;
        share.adjust();
        assert!((share.share - raised).abs() < 1e-9, "{}", share.share);
    }
    // g = 0.5 cuts by (0.5 - 0.3) / 2; last-hop trims have no mark and count for nothing.
    (share.packets, share.last_hop, share.marked) = (100, 50, 50);
    share.adjust();
    assert!((share.share - 0.87 * 0.9).abs() < 1e-9, "{}", share.share);
    (share.packets, share.trimmed) = (10, 10);
    share.adjust();
    assert_eq!(share.share, 0.9 / 4.0);
}

/// A sender with 50 packets to send at 10 Gb/s and 10 us: the first credit is 18,750 bytes.
fn sender() -> (Instance, u32) {
    let mut scheme = Settings::preset("rccc").unwrap().build();
    let opened = scheme.open(0, &path(10, 12_500), Time::ZERO);
    assert_eq!(opened.control.rate, fanin_units::Rate::from_gbps(10));
    (scheme, opened.slot)
}

fn send(scheme: &mut Instance, slot: u32, n: u64, left: u64) -> (Control, u32) {
    let sent = Sent { left: left * PAYLOAD as u64, ..Sent::new(WIRE, PAYLOAD, n * PAYLOAD as u64) };
    scheme.on_send(slot, us(1), &sent)
}

#[test]
fn a_sender_spends_its_first_credit_and_then_what_is_granted() {
    let (mut scheme, slot) = sender();
    let mut sent = 0;
    let mut told = 0;
    while scheme.control(slot, us(1)).rate > fanin_units::Rate::ZERO {
        sent += 1;
        told = send(&mut scheme, slot, sent, 50 - sent).1;
    }
    // 18 packets are 18,720 bytes; one more may leave for what is left.
    assert_eq!(sent, 19);
    // It asks for 18,750 bytes and for the 1,010 that it has overdrawn.
    assert_eq!(told as u64, FIRST_PULL + (18_750 + 1010u64).div_ceil(256));
    // A credit of 8 quanta covers the debt and a packet.
    let control = scheme.on_notice(slot, us(5), Notice::Credit(FIRST_PULL as u32 + 8));
    assert!(control.rate > fanin_units::Rate::ZERO);
    assert_eq!(send(&mut scheme, slot, 20, 30).0.rate, fanin_units::Rate::ZERO);
    // Credits that overtook each other give no more than the highest number does.
    let control = scheme.on_notice(slot, us(6), Notice::Credit(FIRST_PULL as u32 + 7));
    assert_eq!(control.rate, fanin_units::Rate::ZERO);
}

#[test]
fn feedback_ends_what_was_sent_without_a_grant_and_silence_makes_a_sender_ask() {
    let (mut scheme, slot) = sender();
    send(&mut scheme, slot, 1, 49);
    let ack = Ack { newly_acked: PAYLOAD as u64, ..Ack::default() };
    let control = scheme.on_ack(slot, us(10), &ack);
    assert_eq!(control.rate, fanin_units::Rate::ZERO);
    // The credit that it has is gone, so it wants more than it has told: 18,750 and not 17,710 less.
    let (asked, _) = scheme.poll_request(slot, us(11), 49_000);
    assert_eq!(asked, Some((FIRST_PULL + 18_750u64.div_ceil(256)) as u32));
    assert_eq!(scheme.poll_request(slot, us(12), 49_000).0, None);
    let wake_at = scheme.control(slot, us(12)).wake_at;
    assert_eq!(wake_at, us(200));
    let control = scheme.on_timer(slot, wake_at);
    assert_eq!(control.wake_at, us(400));
    assert_eq!(scheme.poll_request(slot, wake_at, 49_000).0, asked);
}

#[test]
fn a_sender_that_has_sent_everything_again_falls_silent() {
    let (mut scheme, slot) = sender();
    send(&mut scheme, slot, 1, 0);
    // The sender does not know how large the packet was that is lost, and takes it for a full one.
    scheme.on_loss(slot, us(10), &Loss::new(0, PAYLOAD as u64));
    let small = Sent { retransmitted: true, ..Sent::new(100, 20, 20) };
    scheme.on_send(slot, us(11), &small);
    // Its timer would run for ever for the rest.
    scheme.on_notice(slot, us(12), Notice::Credit(FIRST_PULL as u32 + 64));
    let (asked, control) = scheme.poll_request(slot, us(12), 0);
    assert_eq!(asked, None);
    assert_eq!(scheme.on_timer(slot, control.wake_at).wake_at, Time::NEVER);
}

#[test]
fn a_receiver_grants_in_turn_and_answers_trimmed_packets() {
    let mut scheme = Settings::preset("rccc").unwrap().build();
    scheme.add_host(&nic(10));
    for flow in 0..2 {
        scheme.receiver_open(0, us(1), &FlowInfo::new(ReceiverFlow(flow), MessageId(flow), NodeId(flow)));
    }
    let mut now = us(1);
    let tagged = |flow, quanta: u64| Data { cc_tag: (FIRST_PULL + quanta) as u32, ..data(flow, 0, false) };
    scheme.receiver_data(0, now, &tagged(0, 70));
    scheme.receiver_trim(0, now, &tagged(1, 0));
    let mut credits = Vec::new();
    for _ in 0..4 {
        while let Some(Emit::Credit { flow, number, wire }) = scheme.receiver_poll(0, now) {
            credits.push((now.as_ps() - us(1).as_ps(), flow.0, u64::from(number) - FIRST_PULL));
            assert_eq!(wire, 64);
        }
        now = scheme.receiver_wake_at(0);
        scheme.receiver_timer(0, now, 0);
    }
    // 256 bytes at 9.9 Gb/s are 206,868 ps. The trimmed flow wants nothing by its target, and is pulled all the same.
    let q = 206_868;
    assert_eq!(credits, [(0, 0, 64), (64 * q, 0, 70), (70 * q, 1, 0), (74 * q, 0, 134)]);
    // Nobody that has ended is pulled.
    scheme.receiver_close(0, now, ReceiverFlow(0));
    scheme.receiver_close(0, now, ReceiverFlow(1));
    while scheme.receiver_poll(0, now).is_some() {}
    now = scheme.receiver_wake_at(0);
    scheme.receiver_timer(0, now, 0);
    assert_eq!((scheme.receiver_poll(0, now), scheme.receiver_wake_at(0)), (None, Time::NEVER));
}

#[test]
fn both_laws_hold_a_packet_back() {
    let mut scheme = Settings::preset("nscc-rccc").unwrap().build();
    let slot = scheme.open(0, &path(10, 12_500), Time::ZERO).slot;
    // A window of 18,750 bytes, of which 17,710 before a packet of 1,040 hold 17,028 of payload.
    let control = scheme.control(slot, us(1));
    assert_eq!((control.window, control.rate), (17_029, fanin_units::Rate::from_gbps(10)));
    let trim = |last_hop| Trim { last_hop, ..Trim::new(0, PAYLOAD, WIRE, 5000, 5000) };
    let at_the_end = scheme.on_trim(slot, us(2), &trim(true));
    assert_eq!((at_the_end.window, at_the_end.rate), (17_029, fanin_units::Rate::ZERO));
    assert_eq!(scheme.on_trim(slot, us(3), &trim(false)).window, 16_029);
    let control = scheme.on_notice(slot, us(4), Notice::Credit(FIRST_PULL as u32 + 64));
    assert!(control.rate > fanin_units::Rate::ZERO);
}
