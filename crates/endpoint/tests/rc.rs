//! Go-back-N as stories: a sender, a receiver and a wire that loses what the story says.

use fanin_cc::Control;
use fanin_endpoint::Pacer;
use fanin_endpoint::rc::{Arrival, ReceiveHalf, ReceiveRules, Segment, SendHalf};
use fanin_units::{MessageId, Rate, Time};
use proptest::prelude::*;

const PER_PACKET: ReceiveRules = ReceiveRules { ack_chunk: 1, nack_interval: Time::from_us(500) };

fn cases() -> ProptestConfig {
    let cases = std::env::var("FANIN_CASES").ok().and_then(|v| v.parse().ok()).unwrap_or(64);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn queue_pair(bytes: u64) -> (SendHalf, ReceiveHalf) {
    let mut sender = SendHalf::default();
    sender.post(MessageId(7), bytes);
    (sender, ReceiveHalf::default())
}

fn arrives(receiver: &mut ReceiveHalf, packet: &Segment) -> Arrival {
    receiver.on_data(Time::ZERO, packet.offset, packet.len, packet.end, &PER_PACKET)
}

#[test]
fn a_message_has_one_start_one_end_and_all_its_bytes() {
    let (mut sender, mut receiver) = queue_pair(2500);
    let packets: Vec<Segment> = std::iter::from_fn(|| sender.has_data().then(|| sender.take(1000))).collect();
    let shape: Vec<_> = packets.iter().map(|p| (p.offset, p.len, p.start, p.end, p.retransmitted)).collect();
    assert_eq!(
        shape,
        [(0, 1000, true, false, false), (1000, 1000, false, false, false), (2000, 500, false, true, false)]
    );
    for packet in &packets {
        assert_eq!(arrives(&mut receiver, packet), Arrival::InOrder { ack_due: true });
    }
    let mut finished = Vec::new();
    assert_eq!(sender.on_ack(receiver.expected(), |id| finished.push(id)), 2500);
    assert!(sender.done() && finished == [MessageId(7)]);
}

#[test]
fn a_gap_is_refused_once_and_everything_from_it_is_sent_again() {
    let (mut sender, mut receiver) = queue_pair(4000);
    let packets: Vec<Segment> = (0..4).map(|_| sender.take(1000)).collect();
    assert_eq!(arrives(&mut receiver, &packets[0]), Arrival::InOrder { ack_due: true });
    // The second is lost: the third asks for it, the fourth does not ask again.
    assert_eq!(arrives(&mut receiver, &packets[2]), Arrival::Gap { nack_due: true });
    assert_eq!(arrives(&mut receiver, &packets[3]), Arrival::Gap { nack_due: false });
    assert_eq!(sender.on_ack(receiver.expected(), |_| ()), 1000);
    assert!(sender.go_back());
    assert_eq!((sender.sent_to(), sender.in_flight()), (1000, 0));
    let again = sender.take(1000);
    assert!(again.retransmitted && again.offset == 1000);
}

#[test]
fn a_nack_is_repeated_after_its_interval() {
    let (_, mut receiver) = queue_pair(4000);
    let rules = ReceiveRules { ack_chunk: 1, nack_interval: Time::from_us(500) };
    let gap = |receiver: &mut ReceiveHalf, us| receiver.on_data(Time::from_us(us), 1000, 1000, false, &rules);
    assert_eq!(gap(&mut receiver, 10), Arrival::Gap { nack_due: true });
    assert_eq!(gap(&mut receiver, 509), Arrival::Gap { nack_due: false });
    assert_eq!(gap(&mut receiver, 510), Arrival::Gap { nack_due: true });
}

#[test]
fn a_duplicate_is_acknowledged_because_its_ack_may_be_lost() {
    let (mut sender, mut receiver) = queue_pair(1000);
    let packet = sender.take(1000);
    arrives(&mut receiver, &packet);
    assert_eq!(arrives(&mut receiver, &packet), Arrival::Duplicate);
    assert_eq!(receiver.expected(), 1000);
}

#[test]
fn an_ack_per_chunk_still_answers_the_last_packet() {
    let (mut sender, mut receiver) = queue_pair(3500);
    let rules = ReceiveRules { ack_chunk: 2000, nack_interval: Time::ZERO };
    let due: Vec<bool> = (0..4)
        .map(|_| {
            let p = sender.take(1000);
            receiver.on_data(Time::ZERO, p.offset, p.len, p.end, &rules) == Arrival::InOrder { ack_due: true }
        })
        .collect();
    assert_eq!(due, [false, true, false, true]);
}

#[test]
fn acks_of_what_was_never_sent_and_old_ones_do_nothing() {
    let (mut sender, _) = queue_pair(4000);
    sender.take(1000);
    assert_eq!(sender.on_ack(2000, |_| ()), 0);
    assert_eq!(sender.on_ack(1000, |_| ()), 1000);
    assert_eq!(sender.on_ack(500, |_| ()), 0);
    assert_eq!(sender.acked_to(), 1000);
}

#[test]
fn a_late_ack_after_going_back_moves_on() {
    let (mut sender, _) = queue_pair(3000);
    for _ in 0..3 {
        sender.take(1000);
    }
    sender.go_back();
    sender.take(1000);
    assert_eq!(sender.on_ack(3000, |_| ()), 3000);
    assert!(sender.done() && !sender.has_data());
}

#[test]
fn a_connection_never_mixes_two_messages_in_a_packet_and_finds_its_way_back() {
    let mut sender = SendHalf::default();
    sender.post(MessageId(1), 1500);
    sender.post(MessageId(2), 1);
    sender.post(MessageId(3), 1000);
    let take = |sender: &mut SendHalf| {
        let p = sender.take(1000);
        (p.message.0, p.offset, p.len, p.start, p.end)
    };
    let all =
        [(1, 0, 1000, true, false), (1, 1000, 500, false, true), (2, 1500, 1, true, true), (3, 1501, 1000, true, true)];
    let later = |sender: &SendHalf| [1, 2, 3].map(|id| sender.comes_later(MessageId(id)));
    assert_eq!(later(&sender), [false, true, true]);
    for expected in all {
        assert_eq!(take(&mut sender), expected);
    }
    assert_eq!(later(&sender), [false; 3], "all are sent");
    let mut finished = Vec::new();
    sender.on_ack(1000, |id| finished.push(id.0));
    assert!(finished.is_empty());
    sender.go_back();
    assert_eq!(later(&sender), [false, true, true]);
    for expected in &all[1..] {
        assert_eq!(take(&mut sender), *expected);
    }
    sender.on_ack(1501, |id| finished.push(id.0));
    assert_eq!(finished, [1, 2]);
    sender.post(MessageId(4), 10);
    assert_eq!(take(&mut sender), (4, 2501, 10, true, true));
}

#[test]
fn a_pacer_spaces_packets_at_its_rate_and_moves_the_waiting_one_only_if_asked() {
    let line = Rate::from_gbps(10);
    let line_time = line.tx_time(1500);
    let control = |mbps, retime| Control { window: 3000, retime, ..Control::rate(Rate::from_mbps(mbps)) };
    let mut pacer = Pacer::new(&control(5_000, false), 0);
    assert!(pacer.open(2999) && !pacer.open(3000));
    pacer.sent(Time::from_us(10), 1500, line, line_time);
    assert_eq!(pacer.next_at(), Time::from_ns(12_400));
    pacer.set(&control(10_000, false));
    assert_eq!(pacer.next_at(), Time::from_ns(12_400));
    pacer.set(&control(2_500, true));
    assert_eq!(pacer.next_at(), Time::from_ns(14_800));
    // Silence ends at the next rate, whatever the scheme says of moving.
    pacer.set(&control(0, false));
    assert!(!pacer.open(0));
    pacer.set(&control(5_000, false));
    assert_eq!(pacer.next_at(), Time::from_ns(12_400));
}

proptest! {
    #![proptest_config(cases())]

    /// Whatever the wire loses, delays or repeats (in either direction), the receiver takes every byte once and in
    /// order, and the sender ends done after a bounded number of rounds.
    #[test]
    fn everything_arrives_once_and_in_order(
        sizes in prop::collection::vec(1u64..5000, 1..6),
        payload in 1u32..2000,
        chunk in 0u32..6000,
        lose_data in prop::collection::vec(prop::bool::weighted(0.2), 0..400),
        lose_acks in prop::collection::vec(prop::bool::weighted(0.2), 0..400),
    ) {
        let mut sender = SendHalf::default();
        for (i, size) in sizes.iter().enumerate() {
            sender.post(MessageId(i as u32), *size);
        }
        let mut receiver = ReceiveHalf::default();
        let rules = ReceiveRules { ack_chunk: chunk, nack_interval: Time::ZERO };
        let (mut lose_data, mut lose_acks) = (lose_data.into_iter(), lose_acks.into_iter());
        let (mut delivered, mut finished) = (0, Vec::new());
        let mut rounds = 0;
        while !sender.done() {
            rounds += 1;
            prop_assert!(rounds < 3000);
            let mut nack = false;
            while sender.has_data() {
                let p = sender.take(payload);
                prop_assert!(p.len >= 1 && p.len <= payload);
                if lose_data.next().unwrap_or(false) {
                    continue;
                }
                let ack = match receiver.on_data(Time::ZERO, p.offset, p.len, p.end, &rules) {
                    Arrival::InOrder { ack_due } => {
                        prop_assert_eq!(p.offset, delivered);
                        delivered += p.len as u64;
                        ack_due
                    }
                    Arrival::Duplicate => true,
                    Arrival::Gap { nack_due } => {
                        nack |= nack_due;
                        nack_due
                    }
                };
                if ack && !lose_acks.next().unwrap_or(false) {
                    sender.on_ack(receiver.expected(), |id| finished.push(id.0));
                }
            }
            let _ = nack;
            // A NACK or the timer: either way it goes back.
            sender.go_back();
        }
        prop_assert_eq!(delivered, sizes.iter().sum::<u64>());
        prop_assert_eq!(finished, (0..sizes.len() as u32).collect::<Vec<_>>());
    }
}
