//! IRN and selective repeat as stories, packet by packet, and under random loss, reordering and duplication. Packets
//! have 1,000 bytes, so packet n begins at byte 1000 n.

use fanin_endpoint::selective::{Arrived, Cap, Kept, ReceiveHalf, Rules, SendHalf, bitmap_base};
use fanin_endpoint::{rc, whole};
use fanin_units::{MessageId, Time};
use proptest::prelude::*;

const LOW: Time = Time::from_us(100);
const HIGH: Time = Time::from_us(320);

/// The rules of IRN, with `cap` packets in flight.
fn irn(cap: u32) -> Rules {
    Rules { cap: Cap::Packets(cap), timeout_high: HIGH, low_up_to: 3, nacks: 1, tell_scheme: false }
}

fn cases() -> ProptestConfig {
    let cases = std::env::var("FANIN_CASES").ok().and_then(|v| v.parse().ok()).unwrap_or(64);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// A sender with one message of 100 packets.
fn sender(rules: Rules) -> SendHalf {
    let mut half = SendHalf::new(rules, rules.cap.packets(0, 1000));
    half.stream_mut().post(MessageId(7), 100_000);
    half
}

/// Sends while it may. Returns the numbers of the packets.
fn flush(half: &mut SendHalf) -> Vec<u64> {
    std::iter::from_fn(|| half.has_data().then(|| half.take(Time::ZERO, 1000).offset / 1000)).collect()
}

/// Sends a packet. Returns its number.
fn send(half: &mut SendHalf) -> u64 {
    assert!(half.has_data());
    half.take(Time::ZERO, 1000).offset / 1000
}

fn ack(half: &mut SendHalf, next: u64) -> u64 {
    half.on_ack(1000 * next, None, |_| ()) / 1000
}

fn nack(half: &mut SendHalf, next: u64, arrived: u64) -> u64 {
    half.on_ack(1000 * next, Some(1000 * arrived), |_| ()) / 1000
}

/// A packet as it arrives, of message 7.
fn data(number: u64) -> Kept {
    Kept { offset: 1000 * number, len: 1000, message: MessageId(7), start: number == 0, end: number == 99, links: 2 }
}

#[test]
fn at_most_the_cap_is_in_flight() {
    // The authors' model: MAXCAP is 111, and a packet leaves while fewer are outstanding.
    let mut half = SendHalf::new(irn(111), Cap::Bdp.packets(120_000, 1090));
    half.stream_mut().post(MessageId(7), 1_000_000);
    assert_eq!(flush(&mut half).len(), 111);
    assert!(!half.has_data());
    assert_eq!(half.packets_in_flight(), 111);
    assert_eq!(ack(&mut half, 4), 4);
    assert_eq!(flush(&mut half), [111, 112, 113, 114]);
    // What has arrived behind a gap is still in flight: only the cumulative number counts.
    nack(&mut half, 4, 50);
    assert_eq!(flush(&mut half)[0], 4);
    assert_eq!(half.packets_in_flight(), 111);
}

#[test]
fn the_cap_in_packets() {
    let of = |cap: Cap| cap.packets(120_000, 1090);
    assert_eq!(of(Cap::Bdp), 111);
    assert_eq!((of(Cap::Bytes(1090)), of(Cap::Bytes(1091)), of(Cap::Bytes(0))), (1, 2, 1));
    assert_eq!((of(Cap::Packets(0)), of(Cap::Packets(7)), of(Cap::Off)), (1, 7, u32::MAX));
}

#[test]
fn the_first_nack_sends_the_missing_packet_again_and_then_new_data() {
    let mut half = sender(irn(20));
    for n in 0..6 {
        assert_eq!(send(&mut half), n);
    }
    assert_eq!(ack(&mut half, 1), 1);
    // Packet 1 is missing; 2 has arrived.
    assert_eq!(nack(&mut half, 1, 2), 0);
    assert!(half.begins_recovery() && !half.in_recovery());
    let again = half.take(Time::ZERO, 1000);
    assert!(again.retransmitted && again.offset == 1000 && half.in_recovery());
    // Each once: further NACKs for packet 1 send new data only.
    nack(&mut half, 1, 3);
    assert!(!half.begins_recovery());
    assert_eq!(send(&mut half), 6);
    nack(&mut half, 1, 4);
    assert_eq!(send(&mut half), 7);
}

#[test]
fn a_second_nack_before_the_packet_is_sent_again_begins_nothing() {
    let mut half = sender(irn(20));
    for _ in 0..5 {
        send(&mut half);
    }
    nack(&mut half, 0, 1);
    assert!(half.begins_recovery());
    // The link or the pacer is busy: the scheme has been told of the loss.
    nack(&mut half, 0, 2);
    assert!(!half.begins_recovery());
    assert_eq!(send(&mut half), 0);
}

#[test]
fn the_ack_of_a_duplicate_covers_what_waited_for_one() {
    let mut half = ReceiveHalf::default();
    assert_eq!(half.on_data(data(0), 2000), Arrived::InOrder { ack_due: false });
    assert_eq!((half.on_data(data(0), 2000), half.unacked()), (Arrived::Duplicate, 0));
    assert_eq!(half.on_data(data(1), 2000), Arrived::InOrder { ack_due: false });
    assert_eq!(half.on_data(data(2), 2000), Arrived::InOrder { ack_due: true });
}

#[test]
fn in_recovery_each_hole_below_the_highest_arrival_is_sent_once() {
    let mut half = sender(irn(20));
    for _ in 0..10 {
        send(&mut half);
    }
    // 0, 3, 4 and 8 are lost. NACKs come for 1, 2, 5, 6, 7, 9.
    nack(&mut half, 0, 1);
    assert_eq!(send(&mut half), 0);
    nack(&mut half, 0, 2);
    // No later arrival is known: 3 is not lost yet.
    assert_eq!(send(&mut half), 10);
    nack(&mut half, 0, 5);
    assert_eq!([send(&mut half), send(&mut half), send(&mut half)], [3, 4, 11]);
    nack(&mut half, 0, 6);
    nack(&mut half, 0, 7);
    nack(&mut half, 0, 9);
    assert_eq!([send(&mut half), send(&mut half)], [8, 12]);
}

#[test]
fn a_hole_that_arrives_before_it_is_sent_again_is_none() {
    let mut half = sender(irn(20));
    for _ in 0..10 {
        send(&mut half);
    }
    nack(&mut half, 0, 1);
    send(&mut half);
    nack(&mut half, 0, 4);
    // 2 and 3 look lost; 2 was only late.
    nack(&mut half, 0, 2);
    assert_eq!([send(&mut half), send(&mut half)], [3, 10]);
}

#[test]
fn recovery_ends_behind_what_was_sent_when_a_packet_was_last_sent_again() {
    let mut half = sender(irn(20));
    for _ in 0..6 {
        send(&mut half);
    }
    // 1 and 4 are lost. Packet 1 is sent again when 5 was the last one sent.
    ack(&mut half, 1);
    nack(&mut half, 1, 2);
    assert_eq!([send(&mut half), send(&mut half), send(&mut half)], [1, 6, 7]);
    nack(&mut half, 1, 3);
    nack(&mut half, 1, 5);
    // Packet 4 is sent again when 7 was the last one sent, so recovery lasts until that is acknowledged.
    assert_eq!(send(&mut half), 4);
    assert_eq!(ack(&mut half, 4), 3);
    assert!(half.in_recovery());
    // 6 and 7 arrive before 4 does: nothing that is under way again is sent a third time.
    nack(&mut half, 4, 6);
    nack(&mut half, 4, 7);
    assert_eq!(send(&mut half), 8);
    assert_eq!(ack(&mut half, 8), 4);
    assert!(!half.in_recovery());
    // A new loss is a new recovery.
    for _ in 0..3 {
        send(&mut half);
    }
    nack(&mut half, 8, 9);
    assert!(half.begins_recovery());
    assert_eq!(send(&mut half), 8);
}

#[test]
fn a_hole_that_was_sent_again_extends_recovery_too() {
    let mut half = sender(irn(20));
    for _ in 0..6 {
        send(&mut half);
    }
    // 1 is lost, and 6, which is sent after 1 has been sent again.
    ack(&mut half, 1);
    nack(&mut half, 1, 2);
    assert_eq!([send(&mut half), send(&mut half), send(&mut half)], [1, 6, 7]);
    for n in [3, 4, 5, 7] {
        nack(&mut half, 1, n);
    }
    assert_eq!([send(&mut half), send(&mut half)], [6, 8]);
    // 1 arrives, and 8 before 6: it does not look lost once more.
    assert_eq!(ack(&mut half, 6), 5);
    nack(&mut half, 6, 8);
    assert!(half.in_recovery());
    assert_eq!(send(&mut half), 9);
    assert_eq!(ack(&mut half, 9), 3);
    assert!(!half.in_recovery());
}

#[test]
fn a_partial_advance_beyond_the_last_packet_sent_again_sends_the_next_at_once() {
    let mut half = sender(irn(8));
    for _ in 0..8 {
        send(&mut half);
    }
    // 0 and the tail 5, 6, 7 are lost; no packet behind the tail can show it.
    nack(&mut half, 0, 1);
    assert_eq!(send(&mut half), 0);
    for n in 2..5 {
        nack(&mut half, 0, n);
        assert!(!half.has_data(), "the cap is reached");
    }
    assert_eq!(ack(&mut half, 5), 5);
    assert!(half.in_recovery());
    // Packet 5 was sent before 0 was sent again, so it is lost. Then new data.
    assert_eq!([send(&mut half), send(&mut half)], [5, 8]);
    assert_eq!(ack(&mut half, 6), 1);
    assert_eq!([send(&mut half), send(&mut half)], [6, 9]);
}

#[test]
fn a_nack_that_advances_and_shows_a_new_loss_begins_the_next_recovery() {
    let mut half = sender(irn(20));
    for _ in 0..4 {
        send(&mut half);
    }
    nack(&mut half, 0, 1);
    assert_eq!([send(&mut half), send(&mut half), send(&mut half)], [0, 4, 5]);
    // Recovery ends with 4; 4 is lost, and 5 shows it.
    assert_eq!(nack(&mut half, 4, 5), 4);
    assert!(half.begins_recovery() && !half.in_recovery());
    assert_eq!(send(&mut half), 4);
}

#[test]
fn a_packet_that_was_only_late_is_not_sent_again_once_that_is_known() {
    let mut half = sender(irn(20));
    for _ in 0..3 {
        send(&mut half);
    }
    nack(&mut half, 0, 1);
    // Its pacer lets the sender wait meanwhile.
    ack(&mut half, 2);
    assert_eq!(send(&mut half), 3);
}

#[test]
fn a_timeout_begins_again_at_the_first_packet_missing() {
    let mut half = sender(irn(6));
    assert_eq!(flush(&mut half), [0, 1, 2, 3, 4, 5]);
    // 0, 2 and 4 are lost, and 0 and 2 once more.
    nack(&mut half, 0, 1);
    nack(&mut half, 0, 3);
    assert_eq!(flush(&mut half), [0, 2]);
    nack(&mut half, 0, 5);
    assert_eq!(flush(&mut half), [4]);
    assert!(!half.has_data());
    half.on_timeout(LOW, LOW);
    assert_eq!(flush(&mut half), [0, 2, 4]);
    assert_eq!(ack(&mut half, 6), 6);
    assert!(!half.in_recovery());
    assert_eq!(send(&mut half), 6);
}

#[test]
fn what_was_sent_again_before_a_timeout_is_sent_again_after_it() {
    let mut half = sender(irn(6));
    flush(&mut half);
    nack(&mut half, 0, 1);
    nack(&mut half, 0, 3);
    assert_eq!(flush(&mut half), [0, 2]);
    half.on_timeout(LOW, LOW);
    // Packet 0 has arrived after all; its ACK comes before the sender's turn.
    ack(&mut half, 2);
    assert_eq!(send(&mut half), 2);
}

#[test]
fn a_timeout_without_any_nack_sends_the_first_packet_and_then_one_per_advance() {
    let mut half = sender(irn(3));
    assert_eq!(flush(&mut half), [0, 1, 2]);
    half.on_timeout(LOW, LOW);
    assert_eq!(flush(&mut half), [0]);
    ack(&mut half, 1);
    assert_eq!(flush(&mut half), [1, 3]);
    ack(&mut half, 2);
    assert_eq!(flush(&mut half), [2, 4]);
}

#[test]
fn the_short_timeout_holds_for_up_to_three_packets() {
    for (packets, longer) in [(1, None), (3, None), (4, Some(Time::from_us(220)))] {
        let mut half = sender(irn(packets));
        flush(&mut half);
        assert_eq!(half.wait_longer(Time::ZERO, LOW), longer, "{packets} in flight");
        // The long one has passed as well.
        if longer.is_some() {
            assert_eq!(half.wait_longer(Time::ZERO, LOW), None);
        }
        half.on_timeout(LOW, LOW);
        flush(&mut half);
        assert_eq!(half.wait_longer(Time::ZERO, LOW), longer);
    }
    // Progress gives a new short one.
    let mut half = sender(irn(4));
    flush(&mut half);
    half.wait_longer(Time::ZERO, LOW);
    ack(&mut half, 1);
    flush(&mut half);
    assert_eq!(half.wait_longer(Time::ZERO, LOW), Some(Time::from_us(220)));
    // Selective repeat has one timeout.
    let mut one = sender(Rules { timeout_high: HIGH, ..irn(9) });
    flush(&mut one);
    assert_eq!(one.wait_longer(Time::ZERO, HIGH), None);
}

#[test]
fn recovery_may_wait_for_more_nacks_where_packets_overtake() {
    let mut half = sender(Rules { nacks: 3, ..irn(20) });
    for _ in 0..8 {
        send(&mut half);
    }
    nack(&mut half, 0, 1);
    nack(&mut half, 0, 2);
    assert_eq!(send(&mut half), 8);
    // The first has arrived: the count starts anew.
    ack(&mut half, 3);
    nack(&mut half, 3, 4);
    nack(&mut half, 3, 5);
    assert_eq!(send(&mut half), 9);
    nack(&mut half, 3, 6);
    assert_eq!(send(&mut half), 3);
}

#[test]
fn what_is_sent_again_passes_a_closed_window_and_the_cap() {
    let mut half = sender(irn(4));
    flush(&mut half);
    assert_eq!(half.against_window(), 4000);
    nack(&mut half, 0, 1);
    assert_eq!((half.has_data(), half.against_window()), (true, 0));
    send(&mut half);
    assert_eq!((half.has_data(), half.against_window()), (false, 4000));
}

#[test]
fn packets_are_sent_again_as_they_were_whatever_their_sizes() {
    let mut half = SendHalf::new(irn(20), 20);
    half.stream_mut().post(MessageId(1), 1500);
    half.stream_mut().post(MessageId(2), 10);
    // The first packet of a message is shorter here, as with a list of senders.
    let sizes = |half: &mut SendHalf| {
        let payload = if half.at_start() { 900 } else { 1000 };
        half.take(Time::ZERO, payload)
    };
    let first: Vec<_> = (0..3).map(|_| sizes(&mut half)).collect();
    assert_eq!(first.iter().map(|p| (p.offset, p.len)).collect::<Vec<_>>(), [(0, 900), (900, 600), (1500, 10)]);
    half.on_ack(0, Some(1500), |_| ());
    assert_eq!((half.next_message(), half.at_start()), (MessageId(1), true));
    for before in &first[..2] {
        assert_eq!(half.take(Time::ZERO, 333), rc::Segment { retransmitted: true, ..*before });
    }
    let mut finished = Vec::new();
    half.on_ack(1510, None, |id| finished.push(id.0));
    assert_eq!((finished, half.packets_in_flight()), (vec![1, 2], 0));
}

#[test]
fn answers_of_the_past_and_of_what_was_never_sent_change_nothing() {
    let mut half = sender(irn(20));
    for _ in 0..4 {
        send(&mut half);
    }
    assert_eq!(nack(&mut half, 9, 12), 0);
    assert_eq!(ack(&mut half, 3), 3);
    // An old NACK comes late: it begins a recovery at most of what is missing now.
    assert_eq!(nack(&mut half, 0, 1), 0);
    assert_eq!(half.packets_in_flight(), 1);
    ack(&mut half, 4);
    nack(&mut half, 2, 3);
    assert_eq!(send(&mut half), 4, "nothing is in flight that could be missing");
}

#[test]
fn the_receiver_keeps_what_comes_early_and_says_so_once_per_packet() {
    let mut half = ReceiveHalf::default();
    let ready = |half: &mut ReceiveHalf| {
        let list = half.take_ready();
        let numbers: Vec<u64> = list.iter().map(|kept| kept.offset / 1000).collect();
        half.recycle(list);
        numbers
    };
    assert_eq!(half.on_data(data(0), 1), Arrived::InOrder { ack_due: true });
    assert_eq!(ready(&mut half), [0]);
    assert_eq!(half.on_data(data(3), 1), Arrived::Behind { new: true });
    assert_eq!(half.on_data(data(2), 1), Arrived::Behind { new: true });
    assert_eq!(half.on_data(data(3), 1), Arrived::Behind { new: false });
    assert_eq!((half.expected(), half.behind(), ready(&mut half)), (1000, 2, vec![]));
    assert_eq!(half.on_data(data(0), 1), Arrived::Duplicate);
    assert_eq!(half.on_data(data(5), 1), Arrived::Behind { new: true });
    assert_eq!(half.on_data(data(1), 1), Arrived::InOrder { ack_due: true });
    assert_eq!((half.expected(), half.behind(), ready(&mut half)), (4000, 1, vec![1, 2, 3]));
    assert_eq!(half.on_data(data(4), 1), Arrived::InOrder { ack_due: true });
    assert_eq!((half.expected(), half.behind(), ready(&mut half)), (6000, 0, vec![4, 5]));
}

#[test]
fn an_ack_per_chunk_is_due_at_once_when_a_gap_closes() {
    let mut half = ReceiveHalf::default();
    let mut due = |number| half.on_data(data(number), 3000);
    assert_eq!([due(0), due(1)], [Arrived::InOrder { ack_due: false }; 2]);
    assert_eq!(due(2), Arrived::InOrder { ack_due: true });
    assert_eq!(due(4), Arrived::Behind { new: true });
    assert_eq!(due(3), Arrived::InOrder { ack_due: true });
    assert_eq!(due(5), Arrived::InOrder { ack_due: false });
    // An ACK for an earlier packet leaves only the last one unacknowledged.
    half.acked_all_but(1000);
    assert_eq!(half.unacked(), 1000);
    assert_eq!(half.on_data(data(6), 3000), Arrived::InOrder { ack_due: false });
    assert_eq!(half.on_data(data(7), 3000), Arrived::InOrder { ack_due: true });
}

#[test]
fn go_back_0_takes_a_message_only_from_its_first_packet_on() {
    use rc::Arrival::{Duplicate, Gap, InOrder};
    let mut half = whole::ReceiveHalf::default();
    let mut on = |attempt, number: u64, end| {
        let (arrival, new) = half.on_data(attempt, 1000 * number, 1000, end, 1);
        (arrival, new / 1000, half.expected() / 1000)
    };
    let in_order = InOrder { ack_due: true };
    // A message of two packets, and the first three of the next one, of which the third is lost.
    assert_eq!([on(0, 0, false), on(0, 1, true)], [(in_order, 1, 1), (in_order, 1, 2)]);
    assert_eq!([on(0, 2, false), on(0, 3, false)], [(in_order, 1, 3), (in_order, 1, 4)]);
    assert_eq!(on(0, 5, false), (Gap { nack_due: true }, 0, 4));
    assert_eq!(on(0, 6, false), (Gap { nack_due: false }, 0, 4));
    // The next attempt lost its first packet; what it brings counts for nothing.
    assert_eq!(on(1, 3, false), (Gap { nack_due: true }, 0, 2));
    // The third brings it all, of which two packets are not new, while one of the first comes late.
    assert_eq!([on(2, 2, false), on(2, 3, false)], [(in_order, 0, 3), (in_order, 0, 4)]);
    assert_eq!(on(0, 4, false), (Gap { nack_due: false }, 0, 4));
    assert_eq!([on(2, 4, false), on(2, 5, true)], [(in_order, 1, 5), (in_order, 1, 6)]);
    assert_eq!(on(2, 5, true), (Duplicate, 0, 6));
    assert_eq!(on(3, 2, false), (Duplicate, 0, 6), "a message that is complete stays so");
}

#[test]
fn go_back_0_sends_a_message_from_its_first_packet_on_as_if_nothing_had_arrived() {
    let mut half = rc::SendHalf::default();
    half.post(MessageId(1), 1000);
    half.post(MessageId(2), 3000);
    assert!(!half.start_over(), "nothing is in flight");
    for _ in 0..4 {
        half.take(1000);
    }
    half.on_ack(3000, |_| ());
    assert!(half.start_over());
    assert_eq!((half.acked_to(), half.sent_to(), half.in_flight()), (1000, 1000, 0));
    let again = half.take(1000);
    assert!(again.retransmitted && again.start && again.message == MessageId(2));
    assert_eq!((half.in_flight(), half.on_ack(2000, |_| ())), (1000, 1000));
}

/// A packet as it arrives.
fn kept(s: &rc::Segment) -> Kept {
    Kept { offset: s.offset, len: s.len, message: s.message, start: s.start, end: s.end, links: 1 }
}

/// What the wire does with a packet.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Lost,
    Late(usize),
    Twice,
    Well,
}

fn fates(most: usize) -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![
        2 => Just(Fate::Lost),
        2 => (1usize..9).prop_map(Fate::Late),
        1 => Just(Fate::Twice),
        10 => Just(Fate::Well),
    ];
    prop::collection::vec(fate, 0..most)
}

/// A wire: what is on it, first to arrive last, and the fates of what comes.
struct Wire<T> {
    items: std::collections::VecDeque<T>,
    fates: std::vec::IntoIter<Fate>,
}

impl<T: Copy> Wire<T> {
    fn new(fates: Vec<Fate>) -> Self {
        Self { items: Default::default(), fates: fates.into_iter() }
    }

    fn send(&mut self, item: T) {
        match self.fates.next().unwrap_or(Fate::Well) {
            Fate::Lost => {}
            Fate::Late(by) => self.items.insert(self.items.len().saturating_sub(by), item),
            Fate::Twice => self.items.extend([item, item]),
            Fate::Well => self.items.push_back(item),
        }
    }
}

proptest! {
    #![proptest_config(cases())]

    /// Whatever the wire loses, delays or repeats, in either direction and however much of it travels at once, every
    /// byte is in order once, no more than the cap is in flight, and the end comes after a bounded number of packets.
    #[test]
    fn everything_arrives_once(
        sizes in prop::collection::vec(1u64..20_000, 1..6),
        payload in 1u32..2000,
        (cap, nacks, chunk) in (1u32..40, 1u32..4, 0u32..6000),
        batch in 1usize..12,
        data_fates in fates(400),
        ack_fates in fates(400),
    ) {
        // Small packets of large messages take long and show nothing more.
        let payload = payload.max((sizes.iter().sum::<u64>() / 200) as u32);
        let mut sender = SendHalf::new(Rules { nacks, ..irn(cap) }, cap);
        for (i, size) in sizes.iter().enumerate() {
            sender.stream_mut().post(MessageId(i as u32), *size);
        }
        let total: u64 = sizes.iter().sum();
        let mut receiver = ReceiveHalf::default();
        let (mut there, mut back) = (Wire::new(data_fates), Wire::new(ack_fates));
        let (mut delivered, mut ended, mut finished) = (0, Vec::new(), Vec::new());
        let mut sent = 0;
        while !sender.stream().done() {
            let mut moved = false;
            for _ in 0..batch {
                if sender.has_data() {
                    let segment = sender.take(Time::ZERO, payload);
                    prop_assert!(segment.len >= 1 && segment.len <= payload);
                    prop_assert!(sender.packets_in_flight() <= cap as usize);
                    there.send(segment);
                    (sent, moved) = (sent + 1, true);
                }
            }
            for _ in 0..batch.min(there.items.len()) {
                moved = true;
                let Some(s) = there.items.pop_front() else { break };
                let kept = kept(&s);
                match receiver.on_data(kept, chunk) {
                    Arrived::InOrder { ack_due: false } => {}
                    Arrived::InOrder { .. } | Arrived::Duplicate => back.send((receiver.expected(), None)),
                    Arrived::Behind { .. } => back.send((receiver.expected(), Some(s.offset))),
                }
                let ready = receiver.take_ready();
                for kept in &ready {
                    prop_assert_eq!(kept.offset, delivered);
                    delivered += u64::from(kept.len);
                    if kept.end {
                        ended.push(kept.message.0);
                    }
                }
                receiver.recycle(ready);
            }
            for _ in 0..batch.min(back.items.len()) {
                moved = true;
                let Some((to, arrived)) = back.items.pop_front() else { break };
                sender.on_ack(to, arrived, |id| finished.push(id.0));
            }
            if !moved {
                prop_assert!(sender.packets_in_flight() > 0, "it waits for nothing");
                sender.on_timeout(LOW, LOW);
                prop_assert!(sender.has_data());
            }
            prop_assert!(sent < 5000, "without end");
        }
        prop_assert_eq!(delivered, total);
        let all: Vec<u32> = (0..sizes.len() as u32).collect();
        prop_assert_eq!((&ended, &finished), (&all, &all));
        prop_assert_eq!((receiver.behind(), sender.packets_in_flight()), (0, 0));
    }

    /// A wire that loses nothing and keeps the order: nothing is sent again.
    #[test]
    fn nothing_is_sent_again_without_need(bytes in 1u64..200_000, cap in 1u32..50, batch in 1usize..12) {
        let mut sender = SendHalf::new(irn(cap), cap);
        sender.stream_mut().post(MessageId(0), bytes);
        let mut receiver = ReceiveHalf::default();
        while !sender.stream().done() {
            let mut acks = Vec::new();
            for _ in 0..batch {
                if sender.has_data() {
                    let s = sender.take(Time::ZERO, 1000);
                    prop_assert!(!s.retransmitted);
                    let kept = kept(&s);
                    prop_assert_eq!(receiver.on_data(kept, 1), Arrived::InOrder { ack_due: true });
                    acks.push(receiver.expected());
                }
            }
            for to in acks {
                sender.on_ack(to, None, |_| ());
            }
        }
    }
}

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
