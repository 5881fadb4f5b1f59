//! Section 4.5, Algorithm 3: the receiver asks for a retransmission.

use super::world::*;

#[test]
fn silence_asks_for_a_retransmission_and_doubles_the_timeout() {
    let mut w = World::new(Rcc::preset("rcc"));
    let flow = w.open(Some(100));
    w.poll();
    (0..9).for_each(|_| {
        w.now += us(10);
        w.data(flow);
    });
    let ms = Time::from_ms;
    let last = w.now;
    assert_eq!(w.window(flow).0, 10_000);
    // 10, then 20, then 40 ms after the ACK before.
    let left = w.until(last + ms(75));
    let at: Vec<Time> = left.iter().map(|(at, _)| *at - last).collect();
    assert_eq!(at, [ms(10), ms(30), ms(70)]);
    assert!(left.iter().all(|(_, ack)| *ack == (flow, 1, true)), "{left:?}");
    // ssthresh is half the window, then two segments.
    assert_eq!((w.window(flow).0, w.window(flow).1), (1000, 2000));
    assert_eq!(w.actions.get(Action::Timeout), 3);
    // Data ends the backoff.
    w.data(flow);
    let last = w.now;
    assert_eq!(w.until(last + ms(15))[0].0 - last, ms(10));
}

#[test]
fn lost_windows_are_in_flight_no_more_and_a_flow_that_pauses_does_not_stop_others() {
    let mut w = World::new(with("rcc", |p| p.queue_maxsize = 4));
    let quiet = w.open(None);
    w.poll();
    (0..4).for_each(|_| {
        w.data(quiet);
    });
    let busy = w.open(Some(50));
    assert_eq!(w.poll(), [(busy, 1, false)]);
    assert_eq!(w.in_flight(), 5);
    w.arrive(busy, 0, false);
    // Its ACK opens no more than its window of 3, one segment beyond the limit and its own.
    assert_eq!(w.poll(), [(busy, 2, false)]);
    assert_eq!(w.in_flight(), 6);
    w.arrive(busy, 1, false);
    assert_eq!(w.poll(), []);
    // After the timeout of the quiet one there is room.
    let left = w.until(Time::from_ms(12));
    assert!(left.iter().any(|(_, ack)| ack.0 == busy), "{left:?}");
    // It is asked six times at most, and counts for nothing.
    let left = w.until(Time::from_s(30));
    assert!(left.iter().filter(|(_, ack)| ack.0 == quiet).count() <= 5, "{left:?}");
    assert_eq!(w.host.wake_at(), Time::NEVER);
    assert_eq!(w.in_flight(), 0);
}

#[test]
fn the_timeout_runs_from_the_syn_ack_and_ends_with_the_last_data() {
    let mut w = World::new(Rcc::preset("rcc"));
    let flow = w.open(Some(2));
    w.poll();
    let left = w.until(Time::from_ms(15));
    assert_eq!(left, [(us(1) + Time::from_ms(10), (flow, 1, true))]);
    w.data(flow);
    w.data(flow);
    assert_eq!(w.until(Time::from_s(1)), []);
}

#[test]
fn the_round_trip_after_a_timeout_is_that_of_the_ack_which_asked_again() {
    let mut w = World::new(Rcc::preset("rcc"));
    let flow = w.open(Some(100));
    w.poll();
    // What the SYN-ACK asked for is lost, and asked for again 10 ms later.
    let asked = w.until(Time::from_ms(11))[0];
    assert_eq!(asked, (us(1) + Time::from_ms(10), (flow, 1, true)));
    w.now = asked.0 + us(54);
    w.data(flow);
    // Not 10,054 us: RTO_r is 20 ms now.
    assert_eq!(w.rtt(flow), Some(us(54)));
}

#[test]
fn the_codes_ack_of_a_timeout_waits_for_up_to_nine_round_trips() {
    let mut w = World::new(Rcc::preset("rcc-ns3"));
    let flow = w.open(Some(100));
    w.poll();
    w.now = Time::from_ns(31_000);
    w.data(flow);
    assert_eq!(w.rtt(flow), Some(us(30)));
    // 10 ms after 31,007 ns: seven round trips.
    w.now = Time::from_ns(31_007);
    w.arrive(flow, 0, false);
    w.poll();
    let left = w.until(Time::from_ms(11));
    assert_eq!(left, [(Time::from_ns(10_031_007) + us(210), (flow, 1, true))]);
}
