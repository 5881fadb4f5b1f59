//! IRN and selective repeat as stories.

use super::{HIGH, LOW, ack, data, flush, irn, nack, send, sender};
use fanin_endpoint::rc;
use fanin_endpoint::selective::{Arrived, Cap, ReceiveHalf, Rules, SendHalf};
use fanin_units::{MessageId, Time};

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
