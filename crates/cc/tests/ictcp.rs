//! ICTCP's receiver on a virtual clock, rule by rule, with numbers worked out by hand: 10 Gb/s, a round trip of 10 us,
//! a segment of 1000 bytes with 1040 on the wire.

use crate::common::{PAYLOAD, WIRE, nic, us};
use fanin_cc::schemes::ictcp::{Host, Ictcp, Params, Share};
use fanin_cc::*;
use fanin_units::{MessageId, NodeId, Time};

const MSS: u64 = PAYLOAD as u64;

/// A window of whole segments as an ACK tells it: with half a segment more.
fn told(segments: u32) -> u32 {
    segments * PAYLOAD + PAYLOAD / 2
}

struct World {
    host: Host,
    params: Params,
    flows: Vec<Share>,
    next: Vec<u64>,
    received: u64,
    actions: Actions,
    now: Time,
}

impl World {
    fn new(change: impl FnOnce(&mut Params)) -> Self {
        let mut params = Ictcp::preset("ictcp");
        change(&mut params);
        assert_eq!(Ictcp::check(&params), Ok(()));
        let host = Host::new(&params, &nic(10));
        let (flows, next, actions) = (Vec::new(), Vec::new(), Actions::default());
        Self { host, params, flows, next, received: 0, actions, now: us(1000) }
    }

    fn open(&mut self) -> usize {
        let flow = self.flows.len();
        self.flows.push(Share::default());
        self.next.push(0);
        let (id, shared) = (ReceiverFlow(flow as u32), &mut ());
        let cx = &mut Cx::new(self.now, &self.params, shared, &mut self.actions);
        let info = FlowInfo::new(id, MessageId(flow as u32), NodeId(flow as u32));
        self.host.on_open(&info, &mut self.flows[flow], cx);
        let fields = self.host.on_syn(id, &mut self.flows[flow], cx).expect("no SYN-ACK waits");
        assert_eq!(fields.window, Some(told(self.params.min_window)));
        flow
    }

    /// A segment of a flow arrives now. With an ACK, the round trip is measured.
    fn arrive(&mut self, flow: usize, ack_due: bool) -> AckPlan {
        self.received += WIRE as u64;
        let data =
            Data { ack_due, received: self.received, ..crate::common::data(flow as u32, self.next[flow], false) };
        self.next[flow] += 1;
        let shared = &mut ();
        let cx = &mut Cx::new(self.now, &self.params, shared, &mut self.actions);
        self.host.on_data(&data, &mut self.flows[flow], cx)
    }

    /// Round trips of 10 us, at the end of each of which `segments` arrive. rwnd in segments after each.
    fn rounds(&mut self, flow: usize, rounds: usize, segments: u64) -> Vec<u64> {
        (0..rounds)
            .map(|_| {
                self.now += us(10);
                (0..segments).for_each(|_| {
                    self.arrive(flow, false);
                });
                self.rwnd(flow)
            })
            .collect()
    }

    fn close(&mut self, flow: usize) {
        let shared = &mut ();
        let cx = &mut Cx::new(self.now, &self.params, shared, &mut self.actions);
        self.host.on_close(ReceiverFlow(flow as u32), &mut self.flows[flow], cx);
    }

    fn rwnd(&self, flow: usize) -> u64 {
        self.flows[flow].rwnd() / MSS
    }

    /// Goes to the second half of a slot with all of a window arriving each round trip.
    fn reach_second_half(&mut self, flow: usize) {
        while !self.host.growing() {
            let segments = self.rwnd(flow);
            self.rounds(flow, 1, segments);
        }
    }

    /// Goes to the first half of a slot with half of a window arriving each round trip, so that it does not grow.
    fn reach_first_half(&mut self, flow: usize) {
        while self.host.growing() {
            let segments = self.rwnd(flow) / 2;
            self.rounds(flow, 1, segments);
        }
    }
}

#[test]
fn windows_grow_in_the_second_half_of_a_slot_alone() {
    let mut w = World::new(|_| ());
    let flow = w.open();
    w.arrive(flow, false);
    // The first half: 100 us.
    assert_eq!(w.rounds(flow, 9, 2), [2; 9]);
    assert!(!w.host.growing());
    // 20 segments have arrived by then: 0.9 - 0.1664 - 0.00832 of the line; the first segment of a round ends the half.
    assert_eq!(w.rounds(flow, 1, 2), [4]);
    assert!(w.host.growing());
    // At the latest 100 us later it is over.
    w.rounds(flow, 10, 4);
    assert!(!w.host.growing());
    let before = w.rwnd(flow);
    assert_eq!(w.rounds(flow, 9, before), [before; 9]);
}

#[test]
fn slow_start_doubles_in_two_round_trips_until_the_quota_does_not_cover_it() {
    let mut w = World::new(|_| ());
    let flow = w.open();
    w.reach_second_half(flow);
    // A window of 4 segments in 10 us; doubling from 2 took 2.08 of 12.5.
    assert_eq!(w.rwnd(flow), 4);
    let mut seen = Vec::new();
    for _ in 0..9 {
        let segments = w.rwnd(flow);
        seen.extend(w.rounds(flow, 1, segments));
    }
    // 4 more segments cost a third of the line, 8 more two thirds, which are not left: then one at a time, each 8.3 %,
    // while it lasts.
    assert_eq!(seen, [4, 8, 8, 9, 9, 10, 10, 10, 10]);
    assert!(w.host.quota() < 0.0832, "{}", w.host.quota());
    // It left slow start for good.
    let grown: Vec<u64> = (0..60)
        .map(|_| {
            w.rounds(flow, 1, 10);
            w.rwnd(flow)
        })
        .collect();
    assert!(grown.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{grown:?}");
}

#[test]
fn the_quota_is_what_is_left_of_the_share_of_the_line() {
    // Other traffic: 9,000 B in each 10 us of 12,500.
    let mut w = World::new(|p| p.spare = 0.0);
    let flow = w.open();
    w.arrive(flow, false);
    for _ in 0..10 {
        w.received += 9000;
        w.rounds(flow, 1, 2);
    }
    assert!(w.host.growing());
    // 0.9 - 0.72 - 0.166 and one packet, which is not the 16.6 % of doubling nor the 8.3 % of one segment.
    assert_eq!(w.rwnd(flow), 2);
    assert!((0.0..0.03).contains(&w.host.quota()), "{}", w.host.quota());
    assert_eq!(w.actions.get(Action::Increase), 0);
}

#[test]
fn a_flow_that_does_not_use_its_window_loses_a_segment_after_three_round_trips() {
    // Without memory d is that of each round trip.
    let mut w = World::new(|p| p.beta = 0.0);
    let flow = w.open();
    w.reach_second_half(flow);
    w.rounds(flow, 1, 4);
    w.rounds(flow, 1, 8);
    assert_eq!(w.rwnd(flow), 8);
    // 3 of 8: d = 5/8, seen by the first segment of the next round trip.
    assert_eq!(w.rounds(flow, 7, 3), [8, 8, 8, 7, 7, 7, 6]);
    // 3 of 6 is not above a half; nor in a row are two and two.
    assert_eq!(w.rounds(flow, 4, 3), [6; 4]);
    w.rounds(flow, 2, 2);
    w.rounds(flow, 1, 4);
    assert_eq!(w.rounds(flow, 2, 2), [6; 2]);
    // Never below two.
    for _ in 0..60 {
        w.now += us(30);
        w.arrive(flow, false);
    }
    assert_eq!(w.rwnd(flow), 2);
}

#[test]
fn the_measured_rate_falls_slowly_and_rises_at_once() {
    for beta in [0.9, 0.2] {
        let mut w = World::new(|p| p.beta = beta);
        let flow = w.open();
        w.arrive(flow, false);
        w.rounds(flow, 1, 1);
        // The rate that the last packet of each round trip sees: what came since the last.
        let first = w.flows[flow].measured();
        assert!((first - 2e8).abs() < 1.0, "{first}");
        w.rounds(flow, 1, 1);
        let expected = beta * 2e8 + (1.0 - beta) * 1e8;
        assert!((w.flows[flow].measured() - expected).abs() < 1.0, "beta {beta}: {}", w.flows[flow].measured());
    }
}

#[test]
fn with_little_left_windows_above_the_mean_shrink_once_a_slot() {
    let mut w = World::new(|_| ());
    // One at 4 segments, one at 8, and one that came and went.
    let small = w.open();
    w.reach_second_half(small);
    w.reach_first_half(small);
    let large = w.open();
    w.reach_second_half(large);
    w.rounds(large, 1, 4);
    w.rounds(large, 1, 4);
    w.reach_first_half(large);
    assert_eq!((w.rwnd(small), w.rwnd(large)), (4, 8));
    let gone = w.open();
    w.arrive(gone, false);
    w.close(gone);
    let mut cuts = Vec::new();
    for _ in 0..200 {
        w.received += 9000;
        w.now += us(10);
        // Both use what they have.
        let before = w.rwnd(large);
        for flow in [large, small] {
            (0..w.rwnd(flow)).for_each(|_| {
                w.arrive(flow, false);
            });
        }
        assert_eq!(w.rwnd(small), 4);
        if w.rwnd(large) < before {
            cuts.push((w.now, w.rwnd(large)));
        }
    }
    let windows: Vec<u64> = cuts.iter().map(|cut| cut.1).collect();
    assert_eq!(windows, [7, 6, 5, 4], "down to the mean");
    assert!(cuts.windows(2).all(|pair| pair[1].0 - pair[0].0 >= us(200)), "{cuts:?}");
}

#[test]
fn a_flow_alone_or_with_room_left_is_not_cut() {
    // Alone, on a full link.
    let mut w = World::new(|_| ());
    let flow = w.open();
    w.reach_second_half(flow);
    w.reach_first_half(flow);
    for _ in 0..100 {
        w.received += 9000;
        w.rounds(flow, 1, 4);
    }
    assert_eq!((w.rwnd(flow), w.actions.get(Action::Cut)), (4, 0));
    // Beside another, which then ends: the mean is its own again.
    let other = w.open();
    w.arrive(other, false);
    w.close(other);
    for _ in 0..100 {
        w.received += 9000;
        w.rounds(flow, 1, 4);
    }
    assert_eq!(w.actions.get(Action::Cut), 0);
}

#[test]
fn the_halves_of_a_slot_last_the_mean_round_trip_weighted_by_bytes() {
    let mut w = World::new(|p| p.min_slot = us(1));
    let flow = w.open();
    // A round trip of 40 us: the first ACK asks for segment 2.
    let plan = w.arrive(flow, true);
    assert_eq!(plan.now.unwrap().window, Some(told(2)));
    w.arrive(flow, false);
    w.now += us(40);
    w.arrive(flow, false);
    // From here on 40 us; a second flow with 10 us has two of three bytes: a mean of 20 us.
    let other = w.open();
    let mut changes = Vec::new();
    let mut growing = w.host.growing();
    for _ in 0..400 {
        w.now += us(1);
        w.arrive(flow, false);
        w.arrive(other, false);
        w.arrive(other, false);
        if w.host.growing() != growing {
            growing = !growing;
            changes.push(w.now);
        }
    }
    let halves: Vec<Time> = changes.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(halves.len() > 10 && halves[2..].iter().all(|half| *half == us(20)), "{halves:?}");
}

#[test]
fn a_pause_starts_a_new_slot() {
    let mut w = World::new(|_| ());
    let flow = w.open();
    w.reach_second_half(flow);
    w.now += Time::from_ms(50);
    w.arrive(flow, false);
    assert!(!w.host.growing(), "what was measured before the pause says nothing");
    // Nor does a pause within the first half.
    w.now += Time::from_ms(50);
    w.arrive(flow, false);
    assert!(!w.host.growing());
    w.now += us(100);
    w.arrive(flow, false);
    assert!(w.host.growing());
}

#[test]
fn the_window_is_on_every_ack_and_the_sender_is_tcp() {
    let mut w = World::new(|_| ());
    let flow = w.open();
    w.reach_second_half(flow);
    let window = Some(told(4));
    assert_eq!(w.arrive(flow, true).now.unwrap().window, window);
    let shared = &mut ();
    let cx = &mut Cx::new(w.now, &w.params, shared, &mut w.actions);
    assert_eq!(w.host.ack_fields(ReceiverFlow(0), &mut w.flows[flow], cx).window, window);
    let mut pool = Pool::<Ictcp>::new(Ictcp::preset("ictcp"));
    let opened = pool.open(0, &crate::common::path(10, 25_000), us(1));
    assert_eq!(opened.control.window, 10_000);
    assert_eq!(pool.on_loss(opened.slot, us(9), &Loss::new(0, 8000)).window, 4000);
    assert_eq!(pool.on_timeout(opened.slot, us(9), &Loss::new(0, 8000)).window, 1000);
    assert!(!Ictcp::wants_ecn(&w.params));
}
