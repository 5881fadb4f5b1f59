//! The retransmission timer (RFC 6298). A round trip is 10 ms.

use crate::wire::*;
use fanin_endpoint::tcp::{Config, Covers, State};
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

/// When an end of the wire gave its connection up.
fn given_up(wire: &Wire, end: usize) -> Vec<Time> {
    wire.expired[end].iter().filter(|(_, e)| e.given_up).map(|(at, _)| *at).collect()
}

#[test]
fn a_connection_is_given_up_after_so_many_repetitions_of_a_segment() {
    // RFC 9293 section 3.8.3: R2. Three retransmissions, 200, 600 and 1400 ms behind the first; the fourth would leave
    // at 3000 ms.
    let mut wire = Wire::open(&Config { retries: 3, ..config() });
    let start = wire.now;
    wire.lose(|s| s.from == CLIENT && s.offset() >= 2000);
    wire.write(CLIENT, 2 * MSS);
    wire.run_until(start + ms(100));
    let again = wire.now;
    wire.write(CLIENT, 2 * MSS);
    wire.run();
    assert_eq!(timeouts(&wire, again).len(), 3);
    assert_eq!(given_up(&wire, CLIENT), [again + ms(3000)]);
    assert_eq!((wire.ends[CLIENT].state(), wire.ends[CLIENT].deadline()), (State::Closed, Time::NEVER));
    assert_eq!(wire.ends[CLIENT].transmit(wire.now, u64::MAX), None);
    assert_eq!(wire.delivered[SERVER], 2 * MSS);
    // A SYN that nobody answers.
    let mut wire = Wire::new(&Config { retries: 2, ..config() });
    wire.lose(|s| s.from == CLIENT);
    wire.run();
    assert_eq!((wire.trace.len(), given_up(&wire, CLIENT)), (3, vec![ms(7000)]));
}

#[test]
fn progress_starts_the_count_of_repetitions_anew() {
    // Each of 20 segments is lost twice.
    let mut wire = Wire::open(&Config { retries: 2, ack_every: 1, ..config() });
    wire.window[CLIENT] = Window::Constant(MSS);
    wire.lose(|s| s.from == CLIENT && s.is_data() && s.nth < 2);
    wire.write(CLIENT, 20 * MSS);
    wire.run();
    wire.assert_arrived(20 * MSS);
    assert!(given_up(&wire, CLIENT).is_empty());
}

#[test]
fn a_closed_window_is_probed_as_long_as_its_receiver_answers() {
    // RFC 9293 section 3.8.6.1.
    let mut wire = Wire::open(&Config { retries: 3, receive_buffer: 4 * MSS, ..config() });
    wire.reads[SERVER] = false;
    let start = wire.now;
    wire.write(CLIENT, 10 * MSS);
    wire.run_until(start + Time::from_s(20));
    assert!(wire.trace.iter().filter(|s| s.segment.probe).count() > 5 && given_up(&wire, CLIENT).is_empty());
    // From now on nobody does.
    let silent = wire.now;
    wire.forget();
    wire.lose(|s| s.from == SERVER);
    wire.run_until(silent + Time::from_s(1000));
    assert_eq!(wire.trace.iter().filter(|s| s.segment.probe).count(), 3);
    assert_eq!((given_up(&wire, CLIENT).len(), wire.ends[CLIENT].state()), (1, State::Closed));
}

#[test]
fn timestamps_tell_which_copy_was_acknowledged() {
    // RFC 7323 section 4: as above, with a sample of what was sent twice, which ends the backoff.
    let mut wire = Wire::open(&Config { ack_every: 1, timestamps: true, ..config() });
    wire.lose(|s| s.is(0, 0));
    wire.write(CLIENT, MSS);
    wire.run();
    assert_eq!((wire.repaired(), wire.ends[CLIENT].rto()), (vec![0], ms(200)));
}

#[test]
fn many_samples_in_a_round_trip_weigh_less_each() {
    // RFC 7323 appendix G. The handshake leaves 10 ms and a variation of 5. Four segments with R = 22 ms: 4 and 3 in
    // flight are 2 expected samples, 2 and 1 are one each. Variation 5.875, 6.546875, 7.546875, 7.967285; smoothed
    // 10.75, 11.453125, 12.771484, 13.925049.
    let mut wire = Wire::open(&Config { ack_every: 1, timestamps: true, min_rto: Time::ZERO, ..config() });
    wire.script(|s| if s.is_data() { Fate::Late(Time::from_us(12_000)) } else { Fate::Deliver });
    wire.write(CLIENT, 4 * MSS);
    wire.run();
    let expected = Time::from_ns(13_925_049 + 4 * 7_967_285);
    assert!(wire.ends[CLIENT].rto().as_ps().abs_diff(expected.as_ps()) < 1_000_000, "{}", wire.ends[CLIENT].rto());
}
