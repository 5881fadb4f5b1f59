//! The retransmission timer (RFC 6298). A round trip is 10 ms.

use crate::wire::*;
use fanin_endpoint::tcp::{Config, Covers};
use fanin_units::Time;

/// Timeouts of the client with data in flight, after `start`, and whether the same byte had timed out before.
fn timeouts(wire: &Wire, start: Time) -> Vec<(Time, bool)> {
    wire.expired[CLIENT].iter().filter_map(|(at, e)| Some((*at - start, e.timeout?.retransmitted))).collect()
}

#[test]
fn it_follows_the_round_trip_time() {
    // Sections 2.2 and 2.3: the handshake gives 10 + 4 * 5 = 30 ms, then the variation falls by a quarter: 25 ms.
    let mut wire = Wire::open(&Config { min_rto: Time::ZERO, ack_every: 1, ..config() });
    assert_eq!(wire.ends[CLIENT].rto(), ms(30));
    wire.write(CLIENT, MSS);
    wire.run();
    assert_eq!(wire.ends[CLIENT].rto(), ms(25));
    wire.script(|s| if s.is_data() { Fate::Late(Time::from_us(12_000)) } else { Fate::Deliver });
    wire.write(CLIENT, MSS);
    wire.run();
    // 12 ms more: R = 22. Variation 3/4 * 3.75 + 1/4 * 12 = 5.8125, smoothed 7/8 * 10 + 22/8 = 11.5.
    assert_eq!(wire.ends[CLIENT].rto(), Time::from_us(11_500 + 4 * 5812) + Time::from_us(2));
}

#[test]
fn it_has_a_minimum_and_doubles_up_to_a_maximum() {
    // Rule 2.4, rule 5.5.
    let mut wire = Wire::open(&Config { max_rto: ms(1000), ..config() });
    let start = wire.now;
    wire.lose(|s| s.from == CLIENT);
    wire.write(CLIENT, 3 * MSS);
    wire.run_until(start + ms(4000));
    assert_eq!(
        timeouts(&wire, start),
        [(ms(200), false), (ms(600), true), (ms(1400), true), (ms(2400), true), (ms(3400), true)]
    );
}

#[test]
fn a_new_ack_starts_it_anew_and_the_last_one_stops_it() {
    // Rules 5.2 and 5.3.
    let mut wire = Wire::open(&Config { ack_every: 1, ..config() });
    let start = wire.now;
    wire.write(CLIENT, MSS);
    wire.run_until(start + ms(4));
    wire.write(CLIENT, MSS);
    assert_eq!(wire.ends[CLIENT].deadline(), start + ms(200), "more data does not move it");
    wire.run_until(start + ms(10));
    assert_eq!(wire.ends[CLIENT].deadline(), start + ms(210));
    wire.run_until(start + ms(14));
    assert_eq!(wire.ends[CLIENT].deadline(), Time::NEVER);
}

#[test]
fn what_was_sent_twice_gives_no_sample_and_the_backoff_stays_until_one_comes() {
    // Section 3, Karn's algorithm.
    let mut wire = Wire::open(&Config { ack_every: 1, ..config() });
    let start = wire.now;
    wire.lose(|s| s.is(0, 0));
    wire.write(CLIENT, MSS);
    wire.run();
    assert_eq!(timeouts(&wire, start), [(ms(200), false)]);
    assert_eq!(wire.ends[CLIENT].acked_to(), MSS);
    assert_eq!(wire.ends[CLIENT].rto(), ms(400), "the ACK of what was sent twice says nothing");
    wire.write(CLIENT, MSS);
    wire.run();
    assert_eq!(wire.ends[CLIENT].rto(), ms(200));
}

#[test]
fn a_spurious_timeout_is_no_sample_of_ten_milliseconds() {
    // The segment is late by 300 ms. Its ACK comes right after it was sent again: a sample would be wrong either way.
    let mut wire = Wire::open(&Config { ack_every: 1, min_rto: ms(1), ..config() });
    wire.script(|s| if s.is(0, 0) { Fate::Late(ms(25)) } else { Fate::Deliver });
    let before = wire.ends[CLIENT].rto();
    wire.write(CLIENT, MSS);
    wire.run();
    assert_eq!(wire.repaired(), [0]);
    assert_eq!(wire.ends[CLIENT].rto(), before + before);
}

#[test]
fn a_deadline_called_early_or_twice_does_nothing() {
    let mut wire = Wire::open(&config());
    wire.write(CLIENT, MSS);
    let before = wire.ends[CLIENT].deadline();
    let early = wire.ends[CLIENT].on_deadline(wire.now);
    assert_eq!(early, Default::default());
    assert_eq!(wire.ends[CLIENT].deadline(), before);
    assert!(wire.ends[CLIENT].on_deadline(before).timeout.is_some());
    let ack = wire.ends[CLIENT].ack(before, Covers::All);
    assert_eq!(ack.seq, 1 + MSS, "an ACK still has the highest number sent (RFC 9293 section 3.10.7.4)");
    assert_eq!(wire.ends[CLIENT].on_deadline(before), Default::default());
}
