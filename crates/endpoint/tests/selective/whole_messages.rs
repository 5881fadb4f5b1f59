//! Messages that are sent again from their first packet on.

use fanin_endpoint::{rc, whole};
use fanin_units::MessageId;

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
