//! Section 4.6: marks cut the window.

use super::world::*;

/// A flow at 10 segments with a round trip of 200 us by its first segment, and ACKs that wait from then on.
fn marked(params: Params) -> (World, u32) {
    let mut w = World::new(params);
    let flow = w.open(None);
    w.poll();
    w.now += us(200);
    for n in 0..9 {
        w.arrive(flow, n, false);
    }
    assert_eq!((w.window(flow).0, w.rtt(flow)), (10_000, Some(us(200))));
    (w, flow)
}

#[test]
fn each_round_trip_the_share_of_marks_cuts_the_window() {
    let (mut w, flow) = marked(Rcc::preset("rcc"));
    // 9 packets so far, and 11 more of which 5 are marked: alpha is 5/20.
    for n in 0..10 {
        w.arrive(flow, 9 + n, n < 4);
    }
    // 4 marked ones did not grow it, 6 others did.
    assert_eq!((w.window(flow).0, w.window(flow).2), (16_000, 0.0));
    w.now += us(200);
    w.arrive(flow, 19, true);
    // RCC eq. (3): 16,000 (1 - 1/8), and no growth by the marked packet.
    assert_eq!(w.window(flow), (14_000, 14_000, 0.25));
    assert_eq!(w.actions.get(Action::Cut), 1);
    // Slow start is over: 1000 x 1000 / 14,000.
    w.arrive(flow, 20, false);
    assert_eq!(w.window(flow).0, 14_071);
    // A round trip without marks: alpha is 0.
    w.now += us(200);
    w.arrive(flow, 21, false);
    assert_eq!((w.window(flow).2, w.actions.get(Action::Cut)), (0.0, 1));
}

#[test]
fn the_codes_alpha_is_a_mean_that_keeps_what_clean_round_trips_counted() {
    let (mut w, flow) = marked(Rcc::preset("rcc-ns3"));
    w.now += us(200);
    w.arrive(flow, 9, false);
    // Nothing was marked in 10 packets: they stay counted.
    w.now += us(200);
    w.arrive(flow, 10, true);
    let (cwnd, ssthresh, alpha) = w.window(flow);
    assert_eq!(alpha, (1.0 / 11.0) / 16.0);
    // Half the window is where slow start ends; then the cut, which rounds.
    assert_eq!((cwnd, ssthresh), ((11_000.0 * (1.0 - alpha / 2.0) + 0.5) as u64, 5500));
}

#[test]
fn alone_it_neither_assigns_windows_nor_holds_acks() {
    let mut w = World::new(with("rcc-ecn", |p| p.queue_maxsize = 1));
    let flow = w.open(Some(100));
    let other = w.open(Some(100));
    assert_eq!(w.poll(), [(flow, 1, false), (other, 1, false)]);
    for n in 0..20 {
        let now = w.arrive(flow, n, false).now.expect("an ACK at once");
        assert_eq!(now.window, Some(1000 * (n as u32 + 2)));
    }
    // Marks cut it as before, and silence asks for a retransmission.
    let before = w.window(flow).0;
    w.now += us(200);
    w.arrive(flow, 20, true);
    assert!(w.window(flow).0 < before);
    let asked: Vec<Left> = w.until(Time::from_ms(11)).into_iter().map(|(_, ack)| ack).collect();
    assert_eq!(asked, [(other, 1, true), (flow, 1, true)]);
}

#[test]
fn what_a_host_decides_by_can_be_sampled() {
    let (mut w, flow) = marked(Rcc::preset("rcc"));
    for n in 0..10 {
        w.arrive(flow, 9 + n, n < 4);
    }
    w.now += us(200);
    w.arrive(flow, 19, true);
    let seen = |w: &World| {
        let mut seen = Vec::new();
        w.host.watch(&mut |name, value| seen.push((name, value)));
        seen
    };
    // After the cut from 16 to 14 segments; the ACK waits, and the window that was told before has arrived.
    let names = ["flight_wins", "acks_waiting", "assigned_windows", "windows", "alpha", "cut_alpha", "rtt_us"];
    assert_eq!(seen(&w), names.into_iter().zip([0.0, 1.0, 40.0, 14.0, 0.25, 0.25, 200.0]).collect::<Vec<_>>());
    // A second flow has half of the 40 segments, a window of one, and no alpha and no round trip yet; sums and means.
    w.open(None);
    w.now += us(200);
    w.arrive(flow, 20, false);
    let expected = [0.0, 2.0, 40.0, 15.071, 0.0, 0.125, 200.0];
    assert_eq!(seen(&w), names.into_iter().zip(expected).collect::<Vec<_>>());
}
