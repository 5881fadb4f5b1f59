//! Losses repaired without SACK (RFC 6582). A round trip is 10 ms, the least timeout 200 ms.

use crate::wire::*;
use fanin_cc::Loss;
use fanin_endpoint::tcp::{Config, Connection, Covers, Segment, bits};
use fanin_units::Time;

fn open(window: Window) -> (Wire, Time) {
    let mut wire = Wire::open(&Config { sack: false, ..config() });
    wire.window[CLIENT] = window;
    let start = wire.now;
    (wire, start)
}

#[test]
fn one_loss_inflates_the_window_and_leaves_it_as_it_was() {
    // 10 in flight, 9 duplicates. Limited transmit sends 2. The third duplicate finds 10 in flight without those: the
    // window is 5, inflated by 3; six more make it 14 with 12 in flight: 2 new segments.
    let (mut wire, start) = open(Window::Reno { cwnd: 10 * MSS, ssthresh: 10 * MSS });
    wire.lose(|s| s.is(0, 0));
    wire.write(CLIENT, 100 * MSS);
    wire.run_until(start + ms(10));
    assert_eq!(
        wire.client_data().split_off(10),
        [(10_000, false), (11_000, false), (0, true), (12_000, false), (13_000, false)]
    );
    assert_eq!(wire.losses().0, [Loss { in_flight: 10_000, ..Loss::new(0, 12_000) }]);
    // Two more duplicates of the limited ones, then the full ACK: 2 + 2 new ones were added, 16 less 12 are in flight,
    // and the window is 5 again: one more.
    wire.run_until(start + ms(20));
    let last = wire.acked[CLIENT].iter().rfind(|(_, a)| a.newly_acked > 0).unwrap().1;
    assert!(!last.recovering);
    assert_eq!(wire.window[CLIENT].now() / MSS, 5);
    assert_eq!(wire.ends[CLIENT].in_flight(), 5 * MSS);
    wire.run();
    assert_eq!(repairs(&wire, start), [(0, ms(10))]);
    wire.assert_arrived(100_000);
}

#[test]
fn each_partial_ack_repairs_the_next_loss_a_round_trip_later() {
    let (mut wire, start) = open(Window::Constant(20 * MSS));
    wire.lose(|s| s.is(0, 0) || s.is(4000, 0) || s.is(9000, 0));
    wire.write(CLIENT, 20 * MSS);
    wire.run();
    assert_eq!(repairs(&wire, start), [(0, ms(10)), (4000, ms(20)), (9000, ms(30))]);
    assert_eq!((wire.losses().0.len(), wire.losses().1.len()), (1, 0));
    wire.assert_arrived(20_000);
}

#[test]
fn a_partial_ack_deflates_the_window_by_what_it_acknowledges_and_gives_a_segment_back() {
    // 20 sent, 0 and 10,000 lost, 18 duplicates, 2 sent by limited transmit: 22 in flight. The window is 10 after the
    // loss.
    let (mut wire, start) = open(Window::Reno { cwnd: 20 * MSS, ssthresh: 20 * MSS });
    wire.lose(|s| s.is(0, 0) || s.is(10_000, 0));
    wire.write(CLIENT, 100 * MSS);
    wire.run_until(start + ms(10));
    let window = wire.window[CLIENT].now();
    assert_eq!(window, 10 * MSS);
    // Inflated by 3 and by 15 duplicates more, it is 28: 6 more than 22. And the repair.
    assert_eq!(wire.client_data().len(), 20 + 2 + 1 + 6);
    wire.forget();
    wire.run_until(start + ms(20));
    // Duplicates of the two limited ones: 30, two new ones. The partial ACK of 10: 30 - 10 + 1 = 21 with 20 in flight:
    // one new beside the repair. Then six duplicates of the new ones: one each.
    let sent = wire.client_data();
    assert_eq!(sent.iter().filter(|s| s.1).copied().collect::<Vec<_>>(), [(10_000, true)]);
    assert_eq!(sent.iter().position(|s| s.1), Some(2));
    assert_eq!(sent.len(), 2 + 1 + 1 + 6);
    wire.run();
    wire.assert_arrived(100_000);
}

#[test]
fn only_the_first_partial_ack_restarts_the_timer() {
    // RFC 6582 section 3.2 step 3. 40 losses take 40 round trips; the timer runs out 200 ms after the first partial
    // ACK, which comes at 20 ms.
    let (mut wire, start) = open(Window::Constant(100 * MSS));
    wire.lose(|s| s.is_data() && s.nth == 0 && s.offset() % 2000 == 0 && s.offset() < 80_000);
    wire.write(CLIENT, 100 * MSS);
    wire.run_until(start + ms(230));
    let timeouts: Vec<_> =
        wire.expired[CLIENT].iter().filter(|(_, e)| e.timeout.is_some()).map(|e| e.0 - start).collect();
    assert_eq!(timeouts, [ms(220)]);
    wire.run();
    wire.assert_arrived(100_000);
}

#[test]
fn after_a_timeout_duplicates_of_what_was_sent_again_are_no_loss() {
    // RFC 6582 section 3.2 steps 2 and 4. All ACKs are lost; after the timeout ten segments go again that had all
    // arrived. The first ACK sends new data, and nine duplicates follow that cover no more than `recover`.
    let (mut wire, start) = open(Window::Constant(10 * MSS));
    wire.lose(move |s| s.from == SERVER && s.at < start + ms(100));
    wire.write(CLIENT, 20 * MSS);
    wire.run();
    let all: Vec<u64> = (0..10).map(|n| n * MSS).collect();
    assert_eq!(wire.repaired(), all, "each once, by the timeout");
    assert_eq!((wire.losses().0.len(), wire.losses().1.len()), (0, 1));
    wire.assert_arrived(20_000);
}

#[test]
fn duplicates_with_data_or_another_window_do_not_count() {
    // RFC 5681 section 2.
    let (mut wire, start) = open(Window::Constant(10 * MSS));
    wire.write(CLIENT, 10 * MSS);
    wire.run_until(start + ms(4));
    let ack = wire.ends[SERVER].ack(wire.now, Covers::All);
    for n in 0..5u16 {
        let other_window = Segment { window: ack.window - n % 2, ..ack };
        wire.ends[CLIENT].on_segment(wire.now, &other_window);
    }
    for _ in 0..5 {
        let with_data = Segment { len: 100, ..ack };
        wire.ends[CLIENT].on_segment(wire.now, &with_data);
    }
    wire.run();
    assert!(wire.repaired().is_empty());
    assert!(wire.losses().0.is_empty());
}

#[test]
fn a_repair_stays_within_the_window_of_the_receiver() {
    let mut end = Connection::connect(&Config { sack: false, window_scaling: false, ..config() });
    let window = 10 * MSS;
    end.write(3 * MSS);
    end.transmit(ms(0), window).unwrap();
    let syn = Segment { ack: 1, window: 1500, flags: bits::SYN | bits::ACK, ..Segment::default() };
    end.on_segment(ms(10), &syn);
    assert_eq!(end.transmit(ms(10), window).unwrap().len, 1000);
    // Half a segment fits behind the first one.
    let ack = Segment { seq: 1, ack: 1 + MSS, window: 500, flags: bits::ACK, ..Segment::default() };
    end.on_segment(ms(20), &ack);
    assert_eq!(end.transmit(ms(20), window).unwrap().len, 500);
    for _ in 0..3 {
        end.on_segment(ms(30), &ack);
    }
    let repair = end.transmit(ms(30), window).unwrap();
    assert_eq!((repair.seq, repair.len), (1 + MSS, 500));
    // Where the window closes behind it, a probe asks when it opens.
    end.on_segment(ms(40), &Segment { ack: 1 + MSS + 500, window: 0, ..ack });
    assert!(end.transmit(ms(40), window).is_none() && end.deadline().is_some());
}
