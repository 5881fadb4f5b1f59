//! The receiving half: which ACK goes out when, what it says, and the window.

use crate::wire::*;
use fanin_endpoint::tcp::{Arrived, Config, Connection, Covers, Segment, bits};
use fanin_units::Time;

/// A server whose peer is the test itself.
fn server(config: &Config) -> Connection {
    let mut server = Connection::listen(config);
    let syn =
        Segment { flags: bits::SYN, window: u16::MAX, sack_permitted: true, scale: Some(0), ..Segment::default() };
    server.on_segment(Time::ZERO, &syn);
    assert!(server.transmit(Time::ZERO, u64::MAX).unwrap().has(bits::SYN | bits::ACK));
    let ack = Segment { seq: 1, ack: 1, flags: bits::ACK, window: u16::MAX, ..Segment::default() };
    assert!(server.on_segment(Time::ZERO, &ack).opened);
    server
}

fn data(offset: u64, len: u64, sent_at: Time) -> Segment {
    Segment {
        seq: 1 + offset,
        ack: 1,
        len: len as u32,
        sent_at,
        flags: bits::ACK,
        window: u16::MAX,
        ..Segment::default()
    }
}

fn arrives(server: &mut Connection, segment: Segment) -> Arrived {
    server.on_segment(segment.sent_at + ms(5), &segment).arrived.unwrap()
}

fn ack(server: &mut Connection, at: Time) -> Segment {
    server.ack(at, Covers::All)
}

#[test]
fn every_second_full_segment_is_acknowledged_and_the_echo_is_of_the_first() {
    // RFC 5681 section 4.2, RFC 7323 section 4.3.
    let mut wire = Wire::open(&config());
    let start = wire.now;
    for n in 0..4 {
        wire.run_until(start + ms(n));
        wire.write(CLIENT, MSS);
    }
    wire.run();
    let acks: Vec<_> =
        wire.acks(SERVER).iter().map(|s| (s.at - start, s.segment.ack, s.segment.echo - start)).collect();
    assert_eq!(acks, [(ms(6), 2001, ms(0)), (ms(8), 4001, ms(2))]);
    assert_eq!(wire.acked[CLIENT].iter().map(|(_, a)| a.rtt).collect::<Vec<_>>(), [ms(11), ms(11)]);
}

#[test]
fn small_segments_count_by_their_bytes() {
    let mut end = server(&config());
    let due: Vec<bool> = (0..5).map(|n| arrives(&mut end, data(n * 400, 400, ms(1))).ack_due).collect();
    assert_eq!(due, [false, false, false, false, true]);
}

#[test]
fn a_single_segment_waits_for_the_timer() {
    let mut wire = Wire::open(&config());
    let start = wire.now;
    wire.write(CLIENT, MSS);
    wire.run();
    let acks: Vec<_> = wire.acks(SERVER).iter().map(|s| (s.at - start, s.segment.ack)).collect();
    assert_eq!(acks, [(ms(45), 1001)]);
}

#[test]
fn a_gap_what_is_behind_it_and_what_fills_it_are_acknowledged_at_once() {
    // RFC 5681 section 4.2.
    let mut end = server(&Config { ack_every: 10, ..config() });
    assert!(!arrives(&mut end, data(0, MSS, ms(1))).ack_due);
    let gap = arrives(&mut end, data(2000, MSS, ms(2)));
    assert!(gap.ack_due && gap.due_alone && gap.pending && !gap.in_order && gap.delivered == 0);
    let sent = ack(&mut end, ms(7));
    assert_eq!((sent.ack, sent.sack.as_slice(), sent.echo), (1001, &[(2001, 3001)][..], ms(1)));
    assert!(arrives(&mut end, data(4000, MSS, ms(3))).ack_due);
    assert_eq!(ack(&mut end, ms(8)).echo, ms(3), "nothing in order is newly covered: the segment that came");
    let filled = arrives(&mut end, data(1000, MSS, ms(4)));
    assert!(filled.ack_due && filled.due_alone && !filled.pending && filled.in_order);
    assert_eq!((filled.delivered, filled.arrived_to), (2000, 3000));
    assert_eq!(ack(&mut end, ms(9)).sack.as_slice(), [(4001, 5001)]);
    assert!(arrives(&mut end, data(3000, MSS, ms(5))).ack_due);
    assert_eq!(ack(&mut end, ms(10)).ack, 5001);
    assert!(!arrives(&mut end, data(5000, MSS, ms(6))).ack_due, "no gap left");
    // A duplicate.
    let again = arrives(&mut end, data(5000, MSS, ms(7)));
    assert!(again.ack_due && again.due_alone && !again.in_order && again.delivered == 0);
}

#[test]
fn the_newest_run_comes_first_and_older_ones_are_repeated() {
    // RFC 2018 section 4.
    let mut end = server(&config());
    let blocks = |end: &mut Connection, offset| {
        arrives(end, data(offset, MSS, ms(1)));
        let runs = ack(end, ms(6)).sack;
        runs.as_slice().iter().map(|r| (r.0 / 1000, r.1 / 1000)).collect::<Vec<_>>()
    };
    assert_eq!(blocks(&mut end, 2000), [(2, 3)]);
    assert_eq!(blocks(&mut end, 8000), [(8, 9), (2, 3)]);
    assert_eq!(blocks(&mut end, 4000), [(4, 5), (8, 9), (2, 3)]);
    assert_eq!(blocks(&mut end, 6000), [(6, 7), (4, 5), (8, 9)]);
    assert_eq!(blocks(&mut end, 9000), [(8, 10), (6, 7), (4, 5)]);
    assert_eq!(blocks(&mut end, 5000), [(4, 7), (8, 10), (2, 3)], "it joins two");
    assert_eq!(blocks(&mut end, 2000), [(2, 3), (4, 7), (8, 10)], "a duplicate is reported too");
    assert_eq!(blocks(&mut end, 0), [(2, 3), (4, 7), (8, 10)]);
    assert_eq!(blocks(&mut end, 1000), [(4, 7), (8, 10)]);
}

#[test]
fn an_ack_for_all_but_the_last_leaves_the_last_to_be_counted_alone() {
    // What DCTCP's receiver does when marks begin or end.
    let mut end = server(&Config { ack_every: 3, ..config() });
    assert!(!arrives(&mut end, data(0, MSS, ms(1))).pending);
    let second = arrives(&mut end, data(1000, MSS, ms(2)));
    assert!(second.pending && !second.ack_due && !second.due_alone);
    let before = end.ack(ms(7), Covers::AllButLast);
    assert_eq!((before.ack, before.echo), (1001, ms(1)));
    assert!(end.owes_ack());
    assert_eq!(end.deadline(), ms(47), "its timer starts anew");
    assert!(!arrives(&mut end, data(2000, MSS, ms(3))).ack_due, "the second of three");
    assert!(arrives(&mut end, data(3000, MSS, ms(4))).ack_due);
    let sent = ack(&mut end, ms(9));
    assert_eq!((sent.ack, sent.echo), (4001, ms(2)));
    assert!(!end.owes_ack() && end.deadline() == Time::NEVER);
}

#[test]
fn an_ack_for_all_but_a_segment_out_of_order_does_not_report_that() {
    let mut end = server(&Config { ack_every: 3, ..config() });
    arrives(&mut end, data(0, MSS, ms(1)));
    arrives(&mut end, data(5000, MSS, ms(2)));
    let before = end.ack(ms(7), Covers::AllButLast);
    assert_eq!((before.ack, before.sack.as_slice(), before.echo), (1001, &[][..], ms(1)));
    let now = ack(&mut end, ms(7));
    assert_eq!((now.ack, now.sack.as_slice(), now.echo), (1001, &[(5001, 6001)][..], ms(2)));
}

#[test]
fn data_carries_the_ack_that_was_pending() {
    let mut wire = Wire::open(&config());
    let start = wire.now;
    wire.write(CLIENT, MSS);
    wire.run_until(start + ms(6));
    wire.write(SERVER, 300);
    wire.run();
    assert_eq!(wire.acks(SERVER).len(), 0);
    assert_eq!(wire.ends[CLIENT].acked_to(), MSS);
    assert_eq!(wire.acked[CLIENT].iter().map(|(_, a)| a.rtt).collect::<Vec<_>>(), [ms(11)]);
}

#[test]
fn a_closed_window_is_probed_ever_more_rarely_until_it_opens() {
    // RFC 9293 section 3.8.6.1.
    let mut wire = Wire::open(&Config { receive_buffer: 4 * MSS, ..config() });
    wire.reads[SERVER] = false;
    let start = wire.now;
    wire.write(CLIENT, 10 * MSS);
    wire.run_until(start + ms(2000));
    let sent: Vec<_> =
        wire.trace.iter().filter(|s| s.from == CLIENT).map(|s| (s.at - start, s.offset(), s.segment.len)).collect();
    assert_eq!(sent[..4], [(ms(0), 0, 1000), (ms(0), 1000, 1000), (ms(0), 2000, 1000), (ms(0), 3000, 1000)]);
    // The window closes at 10 ms.
    assert_eq!(sent[4..], [(ms(210), 4000, 1), (ms(610), 4000, 1), (ms(1410), 4000, 1)]);
    assert_eq!(wire.delivered[SERVER], 4000);
    let answers: Vec<_> = wire.acks(SERVER).iter().skip(2).map(|s| (s.segment.ack, s.segment.window)).collect();
    assert_eq!(answers, [(4001, 0); 3]);
    assert!(wire.losses().0.is_empty() && wire.losses().1.is_empty(), "a closed window is no loss");
    assert_eq!(ack(&mut wire.ends[CLIENT], wire.now).seq, 4001, "an ACK of its own stays within the window");
    // It opens.
    wire.reads[SERVER] = true;
    wire.read(SERVER, 4 * MSS);
    wire.run();
    wire.assert_arrived(10_000);
    assert!(wire.losses().0.is_empty() && wire.losses().1.is_empty());
}

#[test]
fn a_lost_window_update_is_made_up_for_by_a_probe() {
    let mut wire = Wire::open(&Config { receive_buffer: 4 * MSS, ..config() });
    wire.reads[SERVER] = false;
    let start = wire.now;
    wire.lose(move |s| s.from == SERVER && s.at == start + ms(100));
    wire.write(CLIENT, 6 * MSS);
    wire.run_until(start + ms(100));
    wire.read(SERVER, 4 * MSS);
    wire.run_until(start + ms(209));
    assert_eq!(wire.delivered[SERVER], 4000);
    wire.run();
    wire.assert_arrived(6000);
}

#[test]
fn a_window_closed_while_nothing_waited_is_probed_for_what_is_written_later() {
    let mut wire = Wire::open(&Config { receive_buffer: 2 * MSS, ..config() });
    wire.reads[SERVER] = false;
    let start = wire.now;
    wire.write(CLIENT, 2 * MSS);
    wire.run();
    wire.run_until(start + ms(5000));
    assert_eq!(wire.ends[CLIENT].deadline(), Time::NEVER);
    wire.write(CLIENT, 500);
    assert!(wire.ends[CLIENT].deadline().is_some());
    wire.run_until(start + ms(5100));
    assert_eq!(wire.trace.iter().rfind(|s| s.is_data()).map(|s| (s.offset(), s.segment.len)), Some((2000, 1)));
}

#[test]
fn a_window_does_not_open_by_little_steps() {
    // RFC 9293 section 3.8.6.2.2: neither an update nor a later ACK shows less than a segment.
    let mut wire = Wire::open(&Config { receive_buffer: 8 * MSS, ..config() });
    wire.reads[SERVER] = false;
    wire.write(CLIENT, 8 * MSS);
    wire.run();
    assert!(!wire.ends[SERVER].read(900));
    assert_eq!(ack(&mut wire.ends[SERVER], wire.now).window, 0);
    assert!(!wire.ends[SERVER].read(900), "1800 are less than two segments");
    assert!(wire.ends[SERVER].read(200));
    assert_eq!(ack(&mut wire.ends[SERVER], wire.now).window, 2000);
    assert!(!wire.ends[SERVER].read(0));
}

#[test]
fn a_reader_that_keeps_up_sends_no_updates() {
    let mut end = server(&Config { ack_every: 8, ..config() });
    for n in 0..7 {
        assert!(!arrives(&mut end, data(n * MSS, MSS, ms(1))).ack_due);
        assert!(!end.read(MSS));
    }
}

#[test]
fn more_than_64_kib_are_in_flight_only_with_scaling() {
    // RFC 7323 section 2.
    for (scaling, at_most) in [(true, 500 * MSS), (false, 65_535)] {
        let mut wire = Wire::open(&Config { window_scaling: scaling, ..config() });
        wire.window[CLIENT] = Window::Constant(500 * MSS);
        let mut most = 0;
        wire.write(CLIENT, 2000 * MSS);
        while wire.step(Time::from_s(100)) {
            most = most.max(wire.ends[CLIENT].in_flight());
        }
        assert_eq!(most, at_most / MSS * MSS, "scaling {scaling}");
        assert!(wire.repaired().is_empty());
        wire.assert_arrived(2000 * MSS);
    }
}

#[test]
fn segments_outside_the_window_are_dropped_and_answered() {
    // RFC 9293 section 3.10.7.4.
    let mut end = server(&Config { receive_buffer: 4 * MSS, ..config() });
    let beyond = end.on_segment(ms(1), &data(4000, MSS, ms(1)));
    assert!(beyond.must_ack && beyond.arrived.is_none());
    // What fits is kept.
    let partly = arrives(&mut end, data(3500, MSS, ms(1)));
    assert_eq!(partly.delivered, 0);
    assert_eq!(ack(&mut end, ms(6)).sack.as_slice(), [(3501, 4001)]);
}

#[test]
fn an_ack_of_what_was_never_sent_is_answered_and_ignored() {
    let mut end = server(&config());
    end.write(500);
    assert!(end.transmit(ms(1), 10 * MSS).is_some());
    let wrong = Segment { seq: 1, ack: 502, flags: bits::ACK, window: u16::MAX, ..Segment::default() };
    let outcome = end.on_segment(ms(2), &wrong);
    assert!(outcome.must_ack && outcome.acked.is_none());
    assert_eq!(end.acked_to(), 0);
    assert!(end.on_segment(ms(3), &Segment { ack: 501, ..wrong }).acked.is_some());
}

#[test]
fn less_than_a_segment_of_window_waits_while_something_is_in_flight() {
    // RFC 9293 section 3.8.6.2.1: 2.5 segments of window carry two, and one of 0.5 carries a whole one.
    let mut wire = Wire::open(&config());
    wire.window[CLIENT] = Window::Constant(2500);
    wire.write(CLIENT, 10 * MSS);
    assert_eq!(wire.client_data().len(), 2);
    let mut wire = Wire::open(&config());
    wire.window[CLIENT] = Window::Constant(500);
    wire.write(CLIENT, 2 * MSS);
    assert_eq!(wire.trace.iter().map(|s| s.segment.len).collect::<Vec<_>>(), [1000]);
    // A receiver with half a segment of room gets that, and one at a time.
    let mut wire = Wire::open(&Config { receive_buffer: 500, ..config() });
    wire.write(CLIENT, 2 * MSS);
    assert_eq!(wire.trace.iter().map(|s| s.segment.len).collect::<Vec<_>>(), [500]);
    wire.run();
    wire.assert_arrived(2000);
}
