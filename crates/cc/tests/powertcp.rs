//! PowerTCP: its power by telemetry and by delay, and where flows that share a link come to rest.

use crate::common::{path, us};
use fanin_cc::schemes::powertcp::{Flow, Params, PowerTcp};
use fanin_cc::*;
use fanin_units::{NodeId, Rate, Time};

/// A link of 10 Gb/s; with 10 us its bandwidth-delay product is 12,500 bytes.
const LINE: Rate = Rate::from_gbps(10);

struct World {
    p: Params,
    actions: Actions,
    flow: Flow,
}

impl World {
    fn new(p: Params) -> Self {
        let mut actions = Actions::default();
        let flow = Flow::open(&path(10, 12_500), &mut Cx::new(Time::ZERO, &p, &mut (), &mut actions));
        Self { p, actions, flow }
    }

    fn ack(&mut self, now: Time, ack: &Ack<'_>) {
        self.flow.on_ack(ack, &mut Cx::new(now, &self.p, &mut (), &mut self.actions));
    }

    /// An ACK with a record of the link, from which `sent` bytes left by then.
    fn told(&mut self, now: Time, link: u32, sent: u64, queued: u64, up_to: (u64, u64)) {
        let mut telemetry = Telemetry::default();
        telemetry.push(NodeId(link), IntHop { rate: LINE, time: now, sent, queued });
        let ack = Ack { acked_to: up_to.0, sent_to: up_to.1, telemetry: Some(&telemetry), ..Ack::default() };
        self.ack(now, &ack);
    }
}

#[test]
fn power_is_what_arrives_times_what_a_link_holds() {
    let mut w = World::new(PowerTcp::preset("powertcp"));
    w.told(us(10), 1, 0, 0, (1, 1000));
    assert_eq!(w.flow.power(), None);
    // In 4 us 5,000 bytes left, all that the link carries, and the queue grew to 2,500: (5,000 + 2,500)/5,000 times
    // (2,500 + 12,500)/12,500 is 1.5 times 1.2.
    w.told(us(14), 1, 5000, 2500, (2, 1000));
    assert!((w.flow.power().unwrap() - 1.8).abs() < 1e-9);
    // w_old/G + B/10, of which gamma is 0.9.
    let expected = 0.9 * (12_500.0 / 1.8 + 1250.0) + 0.1 * 12_500.0;
    assert!((w.flow.window() - expected).abs() < 1e-6, "{}", w.flow.window());
    // Then 2,500 of 5,000 bytes, and the queue drains: nothing arrives, and P = 0. G = (1.8 (10 - 4) + 0) / 10. The
    // window of before counts until an ACK for what was sent after it.
    w.told(us(18), 1, 7500, 0, (3, 2000));
    assert!((w.flow.power().unwrap() - 1.08).abs() < 1e-9);
    let second = 0.9 * (12_500.0 / 1.08 + 1250.0) + 0.1 * expected;
    assert!((w.flow.window() - second.min(12_500.0)).abs() < 1e-6, "{}", w.flow.window());
    // Another path: nothing to compare with.
    let before = w.flow.window();
    w.told(us(22), 2, 100_000, 90_000, (4, 2000));
    assert_eq!((w.flow.power(), w.flow.window()), (None, before));
    assert_eq!(w.actions.get(Action::PathChange), 1);
}

#[test]
fn by_delay_the_window_changes_once_a_round_trip() {
    let mut w = World::new(PowerTcp::preset("powertcp-delay"));
    let ack = |rtt, acked_to, sent_to| Ack { rtt, acked_to, sent_to, ..Ack::default() };
    w.ack(us(10), &ack(us(10), 1, 1000));
    // (1 + 5/10) 15/10.
    w.ack(us(20), &ack(us(15), 2, 1000));
    assert!((w.flow.power().unwrap() - 2.25).abs() < 1e-9);
    assert_eq!(w.flow.window(), 12_500.0);
    w.ack(us(30), &ack(us(15), 1001, 2000));
    // dt is tau, so only the last sample counts: 1.5.
    let expected = 0.9 * (12_500.0 / 1.5 + 1250.0) + 0.1 * 12_500.0;
    assert!((w.flow.window() - expected).abs() < 1e-6, "{}", w.flow.window());
    // Two ACKs at one instant have no time between them.
    w.ack(us(30), &ack(us(99), 1002, 2000));
    assert!((w.flow.power().unwrap() - 1.5).abs() < 1e-9);
}

/// Flows on the link, of which the first has all of it at first; each step of 1 us all get an ACK. Returns their
/// windows and the queue after 20 ms.
fn share(preset: &str, count: usize) -> (Vec<f64>, f64) {
    let mut worlds: Vec<World> = (0..count).map(|_| World::new(PowerTcp::preset(preset))).collect();
    let (mut queue, mut sent, per_step) = (0.0f64, 0.0f64, 1250.0);
    let mut last = vec![(0u64, 0u64); count];
    for step in 1..20_000u64 {
        let rtt = 10.0 + queue / per_step;
        let active = if step < 200 { 1 } else { count };
        let arriving: f64 = worlds[..active].iter().map(|w| w.flow.window()).sum::<f64>() / rtt;
        let leaving = (queue + arriving).min(per_step);
        queue += arriving - leaving;
        sent += leaving;
        let rtt = 10.0 + queue / per_step;
        for (w, last) in worlds[..active].iter_mut().zip(&mut last) {
            // Numbers are steps: an ACK at a step answers what left a round trip before.
            *last = (step.saturating_sub(rtt as u64).max(last.0), step);
            let now = us(step);
            if preset == "powertcp" {
                w.told(now, 1, sent as u64, queue as u64, *last);
            } else {
                let rtt = Time::from_ps((rtt * 1e6) as u64);
                w.ack(now, &Ack { rtt, acked_to: last.0, sent_to: last.1, ..Ack::default() });
            }
        }
    }
    (worlds.iter().map(|w| w.flow.window()).collect(), queue)
}

#[test]
fn flows_rest_at_equal_windows_with_the_queue_of_their_additive_steps() {
    for (preset, count) in [("powertcp", 2), ("powertcp", 5), ("powertcp-delay", 2), ("powertcp-delay", 5)] {
        let (windows, queue) = share(preset, count);
        // n B/10.
        let expected = count as f64 * 1250.0;
        assert!((queue / expected - 1.0).abs() < 0.1, "{preset}, {count}: a queue of {queue}, not {expected}");
        let mean = (12_500.0 + expected) / count as f64;
        assert!(windows.iter().all(|w| (w / mean - 1.0).abs() < 0.1), "{preset}, {count}: {windows:?}, not {mean}");
    }
}
