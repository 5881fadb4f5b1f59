//! What a receiver role may do with a connection: hold back the SYN-ACK and ACKs, shrink the window, and ask for a
//! retransmission.

use crate::wire::*;
use fanin_cc::Loss;
use fanin_endpoint::tcp::{Config, Connection, Covers, Segment, State, bits};
use fanin_units::Time;

fn syn() -> Segment {
    Segment { flags: bits::SYN, window: u16::MAX, scale: Some(0), sack_permitted: true, ..Segment::default() }
}

#[test]
fn a_held_syn_ack_leaves_when_it_is_answered() {
    let mut end = Connection::listen(&config());
    assert!(end.on_segment(ms(1), &syn()).asked);
    end.hold_syn();
    assert!(!end.can_transmit(ms(1), u64::MAX) && end.transmit(ms(1), u64::MAX).is_none());
    assert_eq!(end.deadline(), Time::NEVER, "what was not sent has no timer");
    // The peer repeats its SYN; that is no second request.
    assert!(!end.on_segment(ms(2), &syn()).asked);
    assert!(end.transmit(ms(2), u64::MAX).is_none());
    assert!(end.answer_syn());
    assert!(end.transmit(ms(3), u64::MAX).unwrap().has(bits::SYN | bits::ACK));
    // Lost: the peer's next SYN is answered without asking.
    end.on_segment(ms(4), &syn());
    let again = end.transmit(ms(4), u64::MAX).unwrap();
    assert!(again.has(bits::SYN | bits::ACK) && again.retransmitted);
    let ack = Segment { seq: 1, ack: 1, flags: bits::ACK, window: u16::MAX, ..Segment::default() };
    assert!(end.on_segment(ms(5), &ack).opened);
    assert!(!end.answer_syn() && end.transmit(ms(5), u64::MAX).is_none(), "an open connection has no SYN to answer");
}

#[test]
fn held_acks_are_due_by_no_timer() {
    let mut wire = Wire::open(&config());
    wire.ends[SERVER].hold_acks();
    wire.write(CLIENT, MSS);
    wire.run_until(wire.now + ms(150));
    assert_eq!(wire.delivered[SERVER], MSS);
    assert!(wire.acks(SERVER).is_empty(), "the timer of a delayed ACK ran out after 40 ms");
    assert!(wire.ends[SERVER].owes_ack_of_data());
    wire.send_ack(SERVER);
    assert!(!wire.ends[SERVER].owes_ack_of_data());
    wire.run_until(wire.now + ms(10));
    wire.assert_arrived(MSS);
    // Nor one that an ACK of all but the last starts anew.
    let mut end = opened_server();
    end.hold_acks();
    for n in 0..2 {
        end.on_segment(ms(1), &Segment { seq: 1 + n * MSS, len: MSS as u32, ack: 1, flags: bits::ACK, ..syn() });
    }
    assert_eq!(end.ack(ms(2), Covers::AllButLast).ack, 1 + MSS);
    assert_eq!(end.deadline(), Time::NEVER);
    // A FIN alone is no data.
    end.ack(ms(3), Covers::All);
    end.on_segment(ms(4), &Segment { seq: 1 + 2 * MSS, ack: 1, flags: bits::ACK | bits::FIN, ..syn() });
    assert!(end.owes_ack() && !end.owes_ack_of_data());
}

fn opened_server() -> Connection {
    let mut end = Connection::listen(&config());
    end.on_segment(ms(0), &syn());
    end.transmit(ms(0), u64::MAX).unwrap();
    end.on_segment(ms(0), &Segment { seq: 1, ack: 1, flags: bits::ACK, ..syn() });
    assert_eq!(end.state(), State::Established);
    end
}

/// A client whose peer is the test itself, with a window scale of 4, and `sent` segments in flight at time zero.
fn client(config: &Config, sent: u64) -> Connection {
    let mut end = Connection::connect(config);
    end.transmit(ms(0), u64::MAX).unwrap();
    let answer = Segment { ack: 1, flags: bits::SYN | bits::ACK, scale: Some(4), ..syn() };
    assert!(end.on_segment(ms(0), &answer).opened);
    end.write(100 * MSS);
    for _ in 0..sent {
        assert_eq!(end.transmit(ms(0), sent * MSS).unwrap().len as u64, MSS);
    }
    end
}

/// An ACK of stream bytes, sent at a time, with a window in units of 16 bytes.
fn ack(bytes: u64, sent_at: Time, window: u16) -> Segment {
    Segment { seq: 1, ack: 1 + bytes, sent_at, window, flags: bits::ACK, ..Segment::default() }
}

#[test]
fn a_window_may_shrink_and_the_segment_sent_last_decides() {
    let mut end = client(&config(), 4);
    end.on_segment(ms(10), &ack(MSS, ms(5), 5000 / 16));
    // 5000 / 16 rounds down to 4992: three are in flight, and less than two more fit.
    assert_eq!(end.peer_window(), 4992);
    end.on_segment(ms(11), &ack(2 * MSS, ms(6), 3984 / 16));
    assert_eq!(end.peer_window(), 3992, "8 bytes less, by rounding: the window is where it was");
    end.on_segment(ms(12), &ack(3 * MSS, ms(7), 2000 / 16));
    assert_eq!(end.peer_window(), 2000, "it shrank by 992");
    // Overtaken: what it allowed counts no more.
    end.on_segment(ms(13), &ack(3 * MSS, ms(6), 4000 / 16));
    assert_eq!(end.peer_window(), 2000);
    assert_eq!(end.transmit(ms(13), 100 * MSS).map(|s| s.seq), Some(1 + 4 * MSS));
    assert_eq!(end.transmit(ms(13), 100 * MSS), None);
    // It opens again.
    end.on_segment(ms(14), &ack(3 * MSS, ms(9), 3008 / 16));
    assert!(end.transmit(ms(14), 100 * MSS).is_some() && end.transmit(ms(14), 100 * MSS).is_none());
}

#[test]
fn a_window_shrunk_to_nothing_behind_data_in_flight_is_probed_in_the_end() {
    // RFC 9293 section 3.8.6: the data was lost, and the window that it was sent in is gone.
    let mut end = client(&config(), 3);
    end.on_segment(ms(10), &ack(MSS, ms(5), 0));
    assert!(!end.can_transmit(ms(10), u64::MAX));
    let mut probes = Vec::new();
    for _ in 0..4 {
        let at = end.deadline();
        assert!(at.is_some(), "no timer is left");
        end.on_deadline(at);
        probes.extend(end.transmit(at, u64::MAX).map(|s| (at, s.seq, s.len)));
    }
    let rto = ms(210);
    // The timeout doubled once, then the intervals of probes.
    assert_eq!(probes, [(rto + ms(400), 1 + MSS, 1), (rto + ms(800), 1 + MSS, 1), (rto + ms(1600), 1 + MSS, 1)]);
    // It opens: the lost data is repeated.
    end.on_segment(ms(5000), &ack(MSS, ms(4995), 2000 / 16));
    let again = end.transmit(ms(5000), 10 * MSS).unwrap();
    assert_eq!((again.seq, u64::from(again.len), again.retransmitted), (1 + MSS, MSS, true));
}

#[test]
fn an_ack_with_push_is_three_duplicates() {
    // RCC section 4.5. Two segments, the first lost: one duplicate could never show it.
    for sack in [true, false] {
        let mut end = client(&Config { sack, ..config() }, 2);
        let push = |sent_at| Segment { flags: bits::ACK | bits::PSH, ..ack(0, sent_at, u16::MAX) };
        let outcome = end.on_segment(ms(10), &push(ms(5)));
        let acked = outcome.acked.unwrap();
        assert_eq!(acked.loss, Some(Loss { in_flight: 2 * MSS, ..Loss::new(0, 2 * MSS) }), "sack {sack}");
        assert!(acked.recovering && acked.newly_acked == 0);
        let again = end.transmit(ms(10), MSS).unwrap();
        assert_eq!((again.seq, again.retransmitted), (1, true));
        // The repair is lost too: it is sent again, and is no second loss.
        let outcome = end.on_segment(ms(20), &push(ms(15)));
        assert_eq!(outcome.acked.unwrap().loss, None);
        assert_eq!(end.transmit(ms(20), MSS).map(|s| s.seq), Some(1));
        // It arrives; what asks for the acknowledged byte again is too late.
        assert!(!end.on_segment(ms(30), &ack(2 * MSS, ms(25), u16::MAX)).acked.unwrap().recovering);
        assert!(!end.transmit(ms(31), MSS).unwrap().retransmitted);
        assert_eq!(end.on_segment(ms(31), &push(ms(15))).acked, None);
        // Nothing is outstanding: there is nothing to repeat.
        let idle = Segment { flags: bits::ACK | bits::PSH, ..ack(3 * MSS, ms(36), u16::MAX) };
        assert_eq!(end.on_segment(ms(41), &idle).acked.unwrap().loss, None);
        assert!(!end.transmit(ms(41), MSS).unwrap().retransmitted);
    }
}

#[test]
fn push_asks_again_for_what_a_timeout_has_repeated() {
    // RFC 6582 counts no duplicates then: the receiver's request is none.
    for sack in [true, false] {
        let mut end = client(&Config { sack, ..config() }, 4);
        end.on_deadline(end.deadline());
        assert_eq!(end.transmit(ms(200), MSS).map(|s| s.seq), Some(1));
        let push = Segment { flags: bits::ACK | bits::PSH, ..ack(0, ms(205), u16::MAX) };
        let loss = end.on_segment(ms(210), &push).acked.unwrap().loss.unwrap();
        assert!(loss.retransmitted && loss.from == 0);
        assert_eq!(end.transmit(ms(210), MSS).map(|s| s.seq), Some(1), "sack {sack}");
    }
}

#[test]
fn a_recovery_with_nothing_outstanding_uses_what_the_window_has_room_for() {
    // A timeout, and a request for what it repeats: a recovery begins while most of what was sent counts as not sent.
    for sack in [true, false] {
        let mut end = client(&Config { sack, ..config() }, 4);
        end.on_deadline(end.deadline());
        assert_eq!(end.transmit(ms(200), MSS).map(|s| s.seq), Some(1));
        let push = Segment { flags: bits::ACK | bits::PSH, ..ack(0, ms(205), u16::MAX) };
        assert!(end.on_segment(ms(210), &push).acked.unwrap().recovering);
        assert_eq!(end.transmit(ms(210), MSS).map(|s| s.seq), Some(1));
        // The rest is lost, and the window has no room for a whole segment: nothing else would ever follow.
        end.on_segment(ms(220), &ack(MSS, ms(215), 960 / 16));
        let next = end.transmit(ms(220), MSS).expect("something to wait for");
        assert_eq!((next.seq, next.retransmitted), (1 + MSS, true), "sack {sack}");
        assert!(end.deadline().is_some());
    }
}
