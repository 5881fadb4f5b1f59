//! Packets in any order: sprayed and cut.

use super::{HIGH, LOW, ack, cases, data, irn, nack, send, sender};
use fanin_endpoint::selective::{Arrived, Cap, ReceiveHalf, Rules, SendHalf, bitmap_base};
use fanin_units::Time;
use proptest::prelude::*;

/// The rules of packets that are sprayed.
fn sprayed() -> Rules {
    Rules { cap: Cap::Off, timeout_high: HIGH, low_up_to: 0, nacks: Rules::UNORDERED, tell_scheme: true }
}

fn cut(half: &mut SendHalf, number: u64) -> bool {
    half.on_cut(1000 * number).is_some()
}

#[test]
fn where_packets_are_sprayed_a_gap_is_no_loss_and_what_arrived_is_not_in_flight() {
    let mut half = sender(sprayed());
    (0..5).for_each(|n| assert_eq!(send(&mut half), n));
    assert_eq!(half.in_flight(), 5_000);
    // Packets 3, 1 and 3 again, by name: each counts once.
    assert_eq!([nack(&mut half, 0, 3), nack(&mut half, 0, 1), nack(&mut half, 0, 3)], [1, 1, 0]);
    assert_eq!((half.in_flight(), half.begins_recovery(), send(&mut half)), (3_000, false, 5));
    // All up to 3: two of these four were known.
    assert_eq!((ack(&mut half, 4), half.in_flight()), (2, 2_000));
    assert_eq!((ack(&mut half, 6), half.in_flight()), (2, 0));
}

#[test]
fn a_packet_that_was_cut_is_sent_again_first_and_once_by_nack() {
    let mut half = sender(sprayed());
    (0..6).for_each(|n| assert_eq!(send(&mut half), n));
    assert!(cut(&mut half, 4) && cut(&mut half, 2));
    assert!(!cut(&mut half, 4), "it is to be sent again already");
    assert_eq!((half.in_flight(), half.against_window()), (4_000, 4_000));
    let again = half.take(Time::ZERO, 1000);
    assert!(again.retransmitted && again.offset == 4_000);
    assert_eq!((send(&mut half), send(&mut half)), (2, 6));
    assert_eq!(half.in_flight(), 7_000);
    // It may be cut again. One that arrives before it is sent again is not.
    assert!(cut(&mut half, 4));
    assert_eq!((nack(&mut half, 0, 4), half.in_flight(), send(&mut half)), (1, 6_000, 7));
    assert!(!cut(&mut half, 4), "it has arrived");
    // Nor is one that a later ACK covers.
    assert!(cut(&mut half, 3));
    assert_eq!((ack(&mut half, 5), half.in_flight(), send(&mut half)), (4, 3_000, 8));
    assert!(!cut(&mut half, 3));
}

#[test]
fn an_ack_is_of_a_packet_that_was_sent_again_so_many_times() {
    let mut half = sender(sprayed());
    (0..4).for_each(|n| assert_eq!(send(&mut half), n));
    for _ in 0..2 {
        assert!(cut(&mut half, 1));
        assert_eq!(send(&mut half), 1);
    }
    let mut answered = |number| {
        nack(&mut half, 0, number);
        half.answered()
    };
    assert_eq!([answered(2), answered(1), answered(1)], [0, 2, 255]);
    assert!(cut(&mut half, 0));
    assert_eq!(send(&mut half), 0);
    ack(&mut half, 1);
    assert_eq!(half.answered(), 1);
    ack(&mut half, 3);
    assert_eq!(half.answered(), 255, "both were known");
}

#[test]
fn where_packets_are_sprayed_each_packet_has_its_own_timeout() {
    let mut half = sender(sprayed());
    let us = Time::from_us;
    for n in 0..3 {
        assert_eq!(half.take(us(10 * n), 1000).offset, 1000 * n);
    }
    nack(&mut half, 0, 1);
    // Progress alone does not put it off: it is that of packet 0.
    assert_eq!(half.wait_longer(us(60), us(100)), Some(us(40)));
    assert_eq!(half.wait_longer(us(100), us(100)), None);
    half.on_timeout(us(100), us(100));
    assert_eq!((half.in_flight(), half.take(us(100), 1000).offset), (1_000, 0));
    assert_eq!(half.wait_longer(us(100), us(100)), Some(us(20)), "then that of packet 2");
    half.on_timeout(us(120), us(100));
    assert_eq!(half.take(us(120), 1000).offset, 2_000);
    assert_eq!(half.take(us(120), 1000).offset, 3_000, "and nothing else");
}

#[test]
fn with_irn_a_packet_that_was_cut_is_sent_again_at_once_too() {
    let mut half = sender(irn(10));
    (0..10).for_each(|n| assert_eq!(send(&mut half), n));
    assert!(!half.has_data() && cut(&mut half, 7));
    assert_eq!(send(&mut half), 7);
    assert!(!half.has_data(), "and nothing else");
}

#[test]
fn an_ack_for_several_packets_is_due_when_something_asks_for_it() {
    let mut half = ReceiveHalf::default();
    let mut due = |n, asks, marked| half.on_unordered(data(n), 4000, asks, marked).1;
    // The first; then every fourth, in any order; one that is marked; one that had arrived, after which it counts anew.
    assert!(due(0, false, false));
    assert_eq!([7, 5, 1, 6].map(|n| due(n, false, false)), [false, false, false, true]);
    assert_eq!([(8, false), (10, true), (10, false)].map(|(n, marked)| due(n, false, marked)), [false, true, true]);
    // Packet 12 asks, and again the one that closes the last gap before it.
    assert!(due(12, true, false));
    assert_eq!([2, 3, 4, 9].map(|n| due(n, false, false)), [false, false, false, true]);
    assert_eq!([11, 13].map(|n| due(n, false, false)), [true, false]);
}

#[test]
fn the_bitmap_of_an_ack_says_what_arrived_around_the_packet() {
    // Behind what the ACK says anyway, or back from the packet that it names.
    assert_eq!([bitmap_base(3000, 2000, 1000), bitmap_base(3000, 5000, 1000)], [4000, 4000]);
    assert_eq!([bitmap_base(3000, 66_000, 1000), bitmap_base(3000, 70_000, 1000)], [4000, 7000]);
    // After a first packet with 960 bytes.
    assert_eq!([bitmap_base(1960, 960, 1000), bitmap_base(0, 3960, 1000)], [2960, 960]);
    let (mut receiver, mut half) = (ReceiveHalf::default(), sender(sprayed()));
    (0..80).for_each(|n| assert_eq!(send(&mut half), n));
    for n in [0, 1, 3, 4, 66, 67, 70] {
        receiver.on_unordered(data(n), 4000, false, false);
    }
    receiver.note_answer(7_000, 1000);
    assert_eq!(receiver.answer(), 1 << 59 | 1 << 60 | 1 << 63, "from packet 7 to packet 70");
    receiver.note_answer(3_000, 1000);
    assert_eq!(receiver.answer(), 0b11 | 1 << 63);
    assert_eq!(half.on_ack(2_000, Some(4_000), |_| ()), 3_000);
    // Packet 4 was named already; nothing is known of packet 5.
    assert_eq!((half.on_bitmap(3_000, 1000, receiver.answer()), half.in_flight()), (2_000, 75_000));
    assert_eq!(half.on_bitmap(3_000, 1000, receiver.answer()), 0);
    assert_eq!(half.on_bitmap(60_000, 1000, u64::MAX), 19_000, "no more than was sent");
}

/// How an ACK answers.
#[derive(Clone, Copy, Debug)]
enum Answer {
    Plain,
    Cut(u64),
    Arrived(u64),
    Bitmap(u64, u64),
}

#[derive(Clone, Debug)]
enum Trip {
    Arrives,
    Cut,
    Lost,
}

proptest! {
    #![proptest_config(cases())]

    /// A network that delivers in any order, cuts and loses; answers come in any order and may be lost too. Everything
    /// arrives, nothing that is known to have arrived is sent again but by a timeout, and the bytes in flight are those
    /// of the packets of which nothing is known. With an ACK per packet or for several.
    #[test]
    fn in_any_order_everything_arrives(
        fates in prop::collection::vec(prop_oneof![
            8 => Just(Trip::Arrives), 3 => Just(Trip::Cut), 1 => Just(Trip::Lost)
        ], 1..200),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 400),
        per_ack in 1u32..9,
    ) {
        let mut half = sender(sprayed());
        let mut receiver = ReceiveHalf::default();
        // Packets and answers under way: a packet's number, and whether it asks; an answer's next byte, and the rest.
        let mut packets: Vec<(u64, bool)> = Vec::new();
        let mut answers: Vec<(u64, Answer)> = Vec::new();
        let mut known: std::collections::BTreeMap<u64, bool> = Default::default();
        let (mut fates, mut picks) = (fates.into_iter(), picks.into_iter().cycle());
        let (mut acked, mut timed_out) = (0, false);
        for _ in 0..20_000 {
            while half.has_data() && half.against_window() < 16_000 {
                let n = half.take(Time::ZERO, 1000).offset / 1000;
                prop_assert!(timed_out || !known.get(&n).copied().unwrap_or(false), "{n} was known to have arrived");
                known.insert(n, false);
                let asks = n == 99 || !half.has_data() || half.against_window() >= 16_000;
                packets.push((n, asks));
            }
            if receiver.expected() == 100_000 {
                break;
            }
            if let Some((to, named)) = (!answers.is_empty()).then(|| answers.remove(0)) {
                match named {
                    Answer::Cut(n) => {
                        let waits = half.on_cut(1000 * n).is_some();
                        prop_assert!(!waits || !known[&n], "{n} has arrived");
                        if waits {
                            known.remove(&n);
                        }
                    }
                    answer => {
                        let before = known.values().filter(|arrived| **arrived).count() as u64;
                        let named = match answer {
                            Answer::Arrived(n) | Answer::Bitmap(n, _) => Some(n),
                            _ => None,
                        };
                        let mut newly = half.on_ack(to, named.map(|n| 1000 * n), |_| ());
                        acked = acked.max(to / 1000);
                        known.extend(named.map(|n| (n, true)));
                        if let Answer::Bitmap(n, bits) = answer {
                            let base = bitmap_base(to, 1000 * n, 1000);
                            newly += half.on_bitmap(base, 1000, bits);
                            known.extend((0..64).filter(|i| bits & 1 << i != 0).map(|i| (base / 1000 + i, true)));
                        }
                        (0..acked).for_each(|n| _ = known.insert(n, true));
                        let after = known.values().filter(|arrived| **arrived).count() as u64;
                        prop_assert_eq!(newly, 1000 * (after - before));
                    }
                }
                (0..acked).for_each(|n| _ = known.insert(n, true));
                let unknown = known.values().filter(|arrived| !**arrived).count() as u64;
                prop_assert_eq!(half.in_flight(), 1000 * unknown);
            } else if packets.is_empty() {
                half.on_timeout(LOW, LOW);
                timed_out = true;
            } else {
                let (n, asks) = packets.remove(picks.next().unwrap().index(packets.len()));
                match fates.next().unwrap_or(Trip::Arrives) {
                    Trip::Arrives => {
                        if per_ack > 1 {
                            if receiver.on_unordered(data(n), 1000 * per_ack, asks, false).1 {
                                receiver.note_answer(bitmap_base(receiver.expected(), 1000 * n, 1000), 1000);
                                answers.push((receiver.expected(), Answer::Bitmap(n, receiver.answer())));
                            }
                        } else {
                            let behind = matches!(receiver.on_data(data(n), 0), Arrived::Behind { .. });
                            let answer = if behind { Answer::Arrived(n) } else { Answer::Plain };
                            answers.push((receiver.expected(), answer));
                        }
                    }
                    Trip::Cut if receiver.has(1000 * n) => answers.push((receiver.expected(), Answer::Plain)),
                    Trip::Cut => answers.push((receiver.expected(), Answer::Cut(n))),
                    Trip::Lost => {}
                }
            }
        }
        prop_assert_eq!(receiver.expected(), 100_000);
    }
}
