//! Swift: its target, its window above and below a packet, and many flows on a link.

use crate::common::{PAYLOAD, WIRE, path, us};
use fanin_cc::schemes::swift::{Flow, Params, Swift};
use fanin_cc::*;
use fanin_units::{Rate, Time};

fn params() -> Params {
    Params { base_target: us(20), ..Swift::preset("swift") }
}

struct World {
    p: Params,
    actions: Actions,
}

impl World {
    fn run<T>(&mut self, now: Time, hook: impl FnOnce(&mut Cx<'_, Params>) -> T) -> T {
        hook(&mut Cx::new(now, &self.p, &mut (), &mut self.actions))
    }
    fn open(&mut self) -> Flow {
        let path = path(10, 12_500);
        self.run(Time::ZERO, |cx| Flow::open(&path, cx))
    }
    fn ack(&mut self, flow: &mut Flow, now: Time, rtt: Time, packets: u64) -> Control {
        let ack = Ack { newly_acked: packets * PAYLOAD as u64, rtt, in_flight: 1 << 30, ..Ack::default() };
        self.run(now, |cx| {
            flow.on_ack(&ack, cx);
            flow.control(cx)
        })
    }
}

fn world(p: Params) -> World {
    World { p, actions: Actions::default() }
}

#[test]
fn a_small_window_has_a_higher_target() {
    let above = |packets: f64| (params().target(packets, us(10)) - us(20)).as_ps() as f64 / 1e6;
    // a = 32.7 us and b = -3.3 us.
    for (packets, expected) in [(1.0, 29.4), (10.0, 7.1), (100.0, 0.0), (0.1, 100.0), (0.001, 100.0), (500.0, 0.0)] {
        assert!((above(packets) - expected).abs() < 0.05, "{packets}: {}", above(packets));
    }
    let by_path = Params { base_target: Time::ZERO, ..params() };
    assert_eq!(by_path.target(100.0, us(10)), us(35));
}

#[test]
fn a_window_grows_by_a_packet_a_round_trip_and_is_cut_once_by_how_far_the_delay_is_above() {
    let mut w = world(Params { initial_window: 10.0, ..params() });
    let mut flow = w.open();
    for _ in 0..10 {
        w.ack(&mut flow, us(20), us(15), 1);
    }
    assert!((flow.window() - 10.95).abs() < 0.05, "{}", flow.window());
    let target = w.p.target(flow.window(), us(10));
    let before = flow.window();
    // Twice the target: 1 - 0.8/2.
    let delay = target.saturating_mul(2);
    assert_eq!(w.ack(&mut flow, us(100), delay, 1).window, (before * 0.6 * PAYLOAD as f64).ceil() as u64);
    let cut = flow.window();
    w.ack(&mut flow, us(100) + delay - Time::from_ps(1), delay, 1);
    assert_eq!(flow.window(), cut, "less than a round trip later");
    // A window that was not used does not grow.
    let unused = Ack { newly_acked: PAYLOAD as u64, rtt: us(10), in_flight: 1000, ..Ack::default() };
    w.run(us(130), |cx| flow.on_ack(&unused, cx));
    assert_eq!(flow.window(), cut);
    // Ten times: at most half.
    w.ack(&mut flow, us(200), us(2000), 1);
    assert_eq!(flow.window(), cut, "the round-trip time counts, not the target");
    w.ack(&mut flow, us(2200), us(2000), 1);
    assert_eq!(flow.window(), cut / 2.0);
}

#[test]
fn below_a_packet_the_window_is_a_gap() {
    let mut w = world(Params { initial_window: 0.25, ..params() });
    let mut flow = w.open();
    let control = w.ack(&mut flow, us(50), us(4000), 0);
    // The cut leaves 0.125: a packet of 1,040 bytes each 4000/0.125 us = 32 ms.
    assert_eq!((flow.window(), control.window), (0.125, 1));
    assert_eq!(control.rate, Rate::from_bps(WIRE as u64 * 8 * 1000 / 32));
    // It grows by a packet for each acknowledged, not by 1/w of it.
    let mut flow = w.open();
    w.ack(&mut flow, us(50), us(15), 1);
    assert_eq!(flow.window(), 1.25);
}

#[test]
fn timeouts_in_a_row_lead_to_the_least_window() {
    let mut w = world(Params { initial_window: 8.0, ..params() });
    let mut flow = w.open();
    let loss = Loss::new(0, 1000);
    let mut seen = Vec::new();
    for i in 1..=5u64 {
        w.run(us(1000 * i), |cx| flow.on_timeout(&loss, cx));
        seen.push(flow.window());
    }
    assert_eq!(seen, [4.0, 2.0, 1.0, 0.5, 0.001]);
    w.ack(&mut flow, us(9000), us(10), 1);
    w.run(us(10_000), |cx| flow.on_timeout(&loss, cx));
    assert_eq!(flow.window(), 0.5005, "an ACK begins the count anew");
}

/// Flows on a link of 10 Gb/s with an idle round-trip time of 10 us, which is 12 packets: each round trip all have the
/// delay that their windows make. Returns the windows and the delays of the last 200 round trips.
fn share(count: usize, first: impl Fn(usize) -> f64) -> (Vec<f64>, Vec<f64>) {
    let mut worlds: Vec<World> = (0..count).map(|i| world(Params { initial_window: first(i), ..params() })).collect();
    let mut flows: Vec<Flow> = worlds.iter_mut().map(World::open).collect();
    let (mut now, mut delays, mut owed) = (us(10), Vec::new(), vec![0.0; count]);
    let packet = 0.832;
    for round in 0..4000 {
        let all: f64 = flows.iter().map(Flow::window).sum();
        let rtt = (all * packet).max(10.0);
        now += Time::from_ps((rtt * 1e6) as u64);
        for ((flow, w), owed) in flows.iter_mut().zip(&mut worlds).zip(&mut owed) {
            *owed += flow.window();
            while *owed >= 1.0 {
                *owed -= 1.0;
                w.ack(flow, now, Time::from_ps((rtt * 1e6) as u64), 1);
            }
        }
        if round >= 3800 {
            delays.push(rtt);
        }
    }
    (flows.iter().map(Flow::window).collect(), delays)
}

#[test]
fn flows_come_to_equal_windows_and_to_the_target_of_these() {
    // Below a packet, windows differ by when their last ACK came.
    for (count, first, fair) in [(2, 40.0, 0.95), (16, 20.0, 0.95), (200, 1.0, 0.75)] {
        let (windows, delays) = share(count, |i| first * (1.0 + i as f64 / count as f64 * 3.0));
        let mean = windows.iter().sum::<f64>() / count as f64;
        let squares: f64 = windows.iter().map(|w| w * w).sum();
        let jain = (mean * count as f64).powi(2) / (squares * count as f64);
        assert!(jain > fair, "{count}: {jain}");
        let delay = delays.iter().sum::<f64>() / delays.len() as f64;
        let target = params().target(mean, us(10)).as_ps() as f64 / 1e6;
        // Windows are cut a round trip late, so the mean is a little off the target.
        let off = if mean < 1.0 { 0.4 } else { 0.25 };
        assert!((delay / target - 1.0).abs() < off, "{count}: {delay} us, target {target} us");
    }
}
