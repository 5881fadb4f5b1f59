//! Section 4.3, NewReno at the receiver, and section 4.4, its round-trip time.

use super::world::*;

#[test]
fn the_window_starts_at_one_segment_and_doubles_up_to_its_ceiling() {
    let mut w = World::new(with("rcc", |p| p.queue_maxsize = 6));
    let flow = w.open(None);
    assert_eq!(w.poll(), [(flow, 1, false)]);
    let told: Vec<u64> = (0..8).map(|_| w.data(flow)[0].1).collect();
    assert_eq!(told, [2, 3, 4, 5, 6, 6, 6, 6]);
    // Another flow halves W_i, and its end gives it back: slow start leads there.
    let other = w.open(None);
    let told = w.data(flow);
    assert_eq!((told[told.len() - 1], w.window(flow).0), ((flow, 3, false), 3000));
    w.fin(other);
    let told: Vec<u64> = (0..4).map(|_| w.data(flow)[0].1).collect();
    assert_eq!(told, [4, 5, 6, 6]);
}

#[test]
fn avoidance_adds_a_segment_each_round_trip() {
    let mut w = World::new(with("rcc-ns3", |p| p.follow = Follow::Paper));
    w.params.initial_ssthresh = fanin_cc::schemes::newreno::Threshold::Bytes(fanin_units::Bytes(4000));
    let flow = w.open(None);
    w.poll();
    (0..3).for_each(|_| {
        w.data(flow);
    });
    assert_eq!(w.window(flow).0, 4000);
    w.data(flow);
    assert_eq!(w.window(flow).0, 4250);
    w.data(flow);
    // 10^6 / 4250
    assert_eq!(w.window(flow).0, 4485);
    // Whole segments are advertised.
    assert_eq!(w.data(flow), [(flow, 4, false)]);
}

#[test]
fn three_packets_out_of_order_start_fast_recovery() {
    let mut w = World::new(Rcc::preset("rcc"));
    let flow = w.open(None);
    w.poll();
    (0..9).for_each(|_| {
        w.data(flow);
    });
    assert_eq!(w.window(flow).0, 10_000);
    // 9 and 12 are lost.
    for (n, cwnd) in [(10, 10_000), (11, 10_000), (13, 8000), (14, 9000), (15, 10_000)] {
        w.arrive(flow, n, false);
        assert_eq!(w.window(flow).0, cwnd, "{n}");
    }
    assert_eq!(w.window(flow).1, 5000);
    assert_eq!(w.actions.get(Action::LossReaction), 1);
    // Partial: three segments leave the window and one joins. Full: the threshold.
    w.arrive(flow, 9, false);
    assert_eq!(w.next[flow as usize], 12);
    assert_eq!(w.window(flow).0, 8000);
    w.arrive(flow, 12, false);
    assert_eq!(w.next[flow as usize], 16);
    assert_eq!(w.window(flow).0, 5000);
    w.data(flow);
    assert_eq!(w.window(flow).0, 5200, "avoidance");
}

#[test]
fn two_packets_out_of_order_and_old_ones_change_nothing() {
    let mut w = World::new(Rcc::preset("rcc"));
    let flow = w.open(None);
    w.poll();
    (0..5).for_each(|_| {
        w.data(flow);
    });
    for n in [6, 7, 1, 2, 3, 4] {
        w.arrive(flow, n, false);
    }
    assert_eq!((w.window(flow).0, w.actions.get(Action::LossReaction)), (6000, 0));
    // In order again: the count starts anew.
    w.arrive(flow, 5, false);
    assert_eq!(w.next[flow as usize], 8);
    for n in [9, 10] {
        w.arrive(flow, n, false);
    }
    assert_eq!((w.window(flow).0, w.actions.get(Action::LossReaction)), (7000, 0));
}

#[test]
fn the_round_trip_is_that_of_the_data_which_an_ack_asked_for_last() {
    let mut w = World::new(Rcc::preset("rcc"));
    let flow = w.open(None);
    w.poll();
    // The SYN-ACK asks for segment 0.
    w.now = us(31);
    w.arrive(flow, 0, false);
    assert_eq!(w.rtt(flow), Some(us(30)));
    // Its ACK waits for 9 us, which do not count; it opens segments 1 and 2, and 2 is expected.
    w.now = us(40);
    assert_eq!(w.poll(), [(flow, 2, false)]);
    w.now = us(62);
    w.arrive(flow, 1, false);
    assert_eq!(w.rtt(flow), Some(us(30)));
    w.now = us(78);
    w.arrive(flow, 2, false);
    // 30 + (38 - 30) / 8
    assert_eq!(w.rtt(flow), Some(us(31)));
}

#[test]
fn data_that_waited_longer_than_the_timeout_or_in_recovery_gives_no_round_trip() {
    let mut w = World::new(Rcc::preset("rcc"));
    let flow = w.open(None);
    w.poll();
    w.now = Time::from_ms(12);
    w.arrive(flow, 0, false);
    assert_eq!(w.rtt(flow), None);
    // In recovery.
    let mut w = World::new(Rcc::preset("rcc"));
    let flow = w.open(None);
    w.poll();
    (0..9).for_each(|_| {
        w.data(flow);
    });
    // The last ACK asked for segment 18; 9 is lost.
    for n in 10..14 {
        w.arrive(flow, n, false);
    }
    let before = w.rtt(flow);
    w.now += us(500);
    w.arrive(flow, 18, false);
    assert_eq!((w.rtt(flow), w.actions.get(Action::LossReaction)), (before, 1));
}
