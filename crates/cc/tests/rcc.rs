//! RCC's receiver on a virtual clock, rule by rule, with numbers worked out by hand. A segment is 1000 bytes.

mod common;

use common::{PAYLOAD, cases, nic, path, us};
use fanin_cc::schemes::rcc::assign::{Claim, assign};
use fanin_cc::schemes::rcc::queue::{AckQueue, Waiting};
use fanin_cc::schemes::rcc::receiver::{FlowState, Host};
use fanin_cc::schemes::rcc::{Follow, Params, Priority, Rcc, SenderKind};
use fanin_cc::*;
use fanin_units::{MessageId, NodeId, Rate, Time};
use proptest::prelude::*;

const SEGMENT: u64 = PAYLOAD as u64;

/// Or ACKs that wait would leave by themselves.
const _: () = assert!(Host::HOLDS_ACKS);

fn with(id: &str, change: impl FnOnce(&mut Params)) -> Params {
    let mut params = Rcc::preset(id);
    change(&mut params);
    assert_eq!(Rcc::check(&params), Ok(()));
    params
}

/// An ACK that left: its flow, and its window in segments.
type Left = (u32, u64, bool);

/// A receiving host and its flows.
struct World {
    host: Host,
    params: Params,
    flows: Vec<FlowState>,
    next: Vec<u64>,
    /// Segments that arrived ahead of a gap.
    ahead: Vec<std::collections::BTreeSet<u64>>,
    actions: Actions,
    now: Time,
}

impl World {
    fn new(params: Params) -> Self {
        let host = Host::new(&params, &nic(10));
        Self {
            host,
            params,
            flows: Vec::new(),
            next: Vec::new(),
            ahead: Vec::new(),
            actions: Actions::default(),
            now: us(1),
        }
    }

    fn hook<T>(&mut self, hook: impl FnOnce(&mut Host, &mut [FlowState], &mut Cx<'_, Params>) -> T) -> T {
        let shared = &mut ();
        hook(&mut self.host, &mut self.flows, &mut Cx::new(self.now, &self.params, shared, &mut self.actions))
    }

    /// The ACKs that leave now.
    fn poll(&mut self) -> Vec<Left> {
        let mut left = Vec::new();
        while let Some(emit) = self.hook(|host, _, cx| host.poll_transmit(cx)) {
            let Emit::Ack(flow, fields) = emit else { panic!("{emit:?}") };
            left.push((flow.0, fields.window.map_or(0, |bytes| bytes as u64 / SEGMENT), fields.push));
        }
        left
    }

    /// A SYN arrives, of a flow of so many segments.
    fn open(&mut self, size: Option<u64>) -> u32 {
        let flow = self.flows.len() as u32;
        self.flows.push(FlowState::default());
        self.next.push(0);
        self.ahead.push(Default::default());
        let size = size.map(|segments| segments * SEGMENT);
        let info = FlowInfo { size, ..FlowInfo::new(ReceiverFlow(flow), MessageId(flow), NodeId(flow)) };
        self.hook(|host, flows, cx| host.on_open(&info, &mut flows[flow as usize], cx));
        let fields = self.hook(|host, flows, cx| host.on_syn(ReceiverFlow(flow), &mut flows[flow as usize], cx));
        assert_eq!(fields, None, "the SYN-ACK waits for the queue");
        flow
    }

    /// Segment `n` of a flow arrives.
    fn arrive(&mut self, flow: u32, n: u64, ce: bool) -> AckPlan {
        let (next, ahead) = (&mut self.next[flow as usize], &mut self.ahead[flow as usize]);
        let in_order = n == *next;
        if n >= *next {
            ahead.insert(n);
        }
        while ahead.remove(next) {
            *next += 1;
        }
        let data = Data { in_order, acked_to: *next * SEGMENT, ..common::data(flow, n, ce) };
        self.hook(|host, flows, cx| host.on_data(&data, &mut flows[flow as usize], cx))
    }

    /// The next segment of a flow arrives, and what leaves then.
    fn data(&mut self, flow: u32) -> Vec<Left> {
        let plan = self.arrive(flow, self.next[flow as usize], false);
        assert_eq!(plan, AckPlan::default(), "its ACK waits for the queue");
        self.poll()
    }

    fn fin(&mut self, flow: u32) -> Vec<Left> {
        self.hook(|host, flows, cx| host.on_fin(ReceiverFlow(flow), &mut flows[flow as usize], cx));
        self.poll()
    }

    /// Goes to `to`, with the timers due by then. What left, and when.
    fn until(&mut self, to: Time) -> Vec<(Time, Left)> {
        let mut left = Vec::new();
        while self.host.wake_at() <= to {
            self.now = self.host.wake_at();
            self.hook(|host, _, cx| host.on_timer(0, cx));
            assert!(self.host.wake_at() > self.now);
            let now = self.now;
            left.extend(self.poll().into_iter().map(|ack| (now, ack)));
        }
        self.now = to;
        left
    }

    fn ceiling(&self, flow: u32) -> u64 {
        self.host.ceiling(&self.flows[flow as usize]).unwrap()
    }

    /// The window of a flow in bytes, where its slow start ends, and alpha.
    fn window(&self, flow: u32) -> (u64, u64, f64) {
        let (window, _) = self.host.window(&self.flows[flow as usize]).unwrap();
        (window.cwnd, window.ssthresh, window.alpha)
    }

    fn rtt(&self, flow: u32) -> Option<Time> {
        self.host.window(&self.flows[flow as usize]).unwrap().1
    }

    fn in_flight(&self) -> u64 {
        assert_eq!(self.host.in_flight() % SEGMENT, 0);
        self.host.in_flight() / SEGMENT
    }
}

// ---- Algorithm 1 ----

fn windows(sizes: &[u64], max: u64, by_priority: bool, follow: Follow) -> Vec<u64> {
    let mut claims: Vec<Claim> = sizes.iter().map(|size| Claim::new(*size)).collect();
    assign(&mut claims, max, by_priority, follow);
    claims.iter().map(|claim| claim.window).collect()
}

#[test]
fn windows_are_proportional_to_priority_and_the_rest_goes_out_from_the_lowest() {
    // Priorities 1, 1/2, 1/4 of 7/4: 22.8, 11.4 and 5.7 of 40, and two are left.
    assert_eq!(windows(&[100, 200, 400], 40, true, Follow::Paper), [22, 12, 6]);
    assert_eq!(windows(&[100, 200, 400], 40, true, Follow::Code), [23, 12, 5], "the code starts at the highest");
}

#[test]
fn no_window_is_below_one_even_if_the_sum_exceeds_the_queue() {
    assert_eq!(windows(&[50; 100], 40, true, Follow::Paper), [1; 100]);
    assert_eq!(windows(&[50; 100], 40, false, Follow::Paper), [1; 100]);
}

#[test]
fn no_window_exceeds_its_flow_and_what_that_leaves_is_used() {
    // 39 of 40 for the short flow, which needs 3.
    assert_eq!(windows(&[3, 1000], 40, true, Follow::Paper), [3, 37]);
    // Line 12 lets a flow be one segment short of its size.
    assert_eq!(windows(&[2, 3, 4], 8, true, Follow::Paper), [2, 2, 3]);
    assert_eq!(windows(&[2, 3, 4], 9, true, Follow::Code), [2, 3, 4]);
    // All flows covered: the loop ends.
    assert_eq!(windows(&[3, 5], 40, true, Follow::Paper), [3, 5]);
}

#[test]
fn without_priority_windows_are_equal_and_the_rest_is_left() {
    assert_eq!(windows(&[7, 70, 700], 40, false, Follow::Paper), [13, 13, 13]);
    assert_eq!(windows(&[70, 700, 7000], 40, false, Follow::Code), [14, 13, 13], "the code deals it out");
    assert_eq!(windows(&[7, 70, 700], 40, false, Follow::Code), [7, 17, 16], "and clips to the size");
}

#[test]
fn a_flow_of_unknown_size_has_the_lowest_priority() {
    assert_eq!(windows(&[10, Claim::UNKNOWN], 40, true, Follow::Paper), [10, 30]);
    assert_eq!(windows(&[1000, Claim::UNKNOWN], 40, true, Follow::Paper), [40, 1]);
    assert_eq!(windows(&[Claim::UNKNOWN; 3], 40, true, Follow::Paper), [13; 3], "no size at all: no priorities");
}

#[test]
fn windows_are_assigned_at_syn_and_fin_and_only_then() {
    let mut w = World::new(Rcc::preset("rcc"));
    let long = w.open(Some(400));
    assert_eq!(w.ceiling(long), 40);
    let short = w.open(Some(100));
    // 4/5 and 1/5 of 40.
    assert_eq!((w.ceiling(long), w.ceiling(short)), (8, 32));
    w.poll();
    (0..20).for_each(|_| {
        w.data(short);
    });
    assert_eq!((w.ceiling(long), w.ceiling(short)), (8, 32));
    w.fin(short);
    assert_eq!(w.ceiling(long), 40);
}

#[test]
fn priority_by_what_remains_is_that_at_the_last_syn_or_fin() {
    let mut w = World::new(with("rcc", |p| p.priority = Priority::Remaining));
    let flow = w.open(Some(400));
    w.poll();
    (0..300).for_each(|_| {
        w.data(flow);
    });
    let other = w.open(Some(100));
    assert_eq!((w.ceiling(flow), w.ceiling(other)), (20, 20));
}

// ---- Algorithm 2 ----

#[test]
fn acks_leave_while_windows_in_flight_are_at_most_the_limit() {
    for (follow, first) in [(Follow::Paper, 5), (Follow::Code, 4)] {
        let mut w = World::new(with("rcc", |p| (p.queue_maxsize, p.follow) = (4, follow)));
        for flow in 0..8 {
            assert_eq!(w.open(Some(100)), flow);
            let left = w.poll();
            // SYN-ACKs wait like all others.
            assert_eq!(left.is_empty(), flow >= first, "{follow:?}: {flow} {left:?}");
        }
        assert_eq!(w.in_flight(), first as u64);
        // A packet of one flow lets the SYN-ACK of another go; its own ACK goes behind it.
        assert_eq!(w.data(0), [(first, 1, false)]);
        let waiting: Vec<u32> = w.host.waiting().map(|(flow, _)| flow.0).collect();
        assert_eq!(waiting, (first + 1..8).chain([0]).collect::<Vec<_>>());
        assert!(w.actions.get(Action::AckHeld) > 0);
    }
}

#[test]
fn an_ack_may_exceed_the_limit_by_its_window() {
    let mut w = World::new(with("rcc", |p| p.queue_maxsize = 10));
    let flow = w.open(None);
    w.poll();
    // Slow start: the window grows with each packet, and with it what is in flight.
    let flight: Vec<u64> = (0..12)
        .map(|_| {
            w.data(flow);
            w.in_flight()
        })
        .collect();
    assert_eq!(flight, [2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10]);
    let two = w.open(None);
    assert_eq!(w.poll(), [(two, 1, false)]);
    assert_eq!(w.in_flight(), 11);
    // Now W_i is 5: the end of the first flow's window stays where it is until six more segments have arrived.
    for left in 0..6 {
        w.data(flow);
        assert_eq!(w.in_flight(), 10 - left.min(4), "{left}");
    }
}

fn ack(flow: u32) -> Waiting {
    Waiting { flow, skips: 0, push: false }
}

fn order(queue: &AckQueue) -> Vec<(u32, u32)> {
    queue.iter().map(|w| (w.flow, w.skips)).collect()
}

#[test]
fn acks_wait_by_priority_and_those_of_equal_priority_in_turn() {
    let mut queue = AckQueue::default();
    let ranks = [5, 3, 3, 9, 1];
    for flow in 0..5 {
        queue.insert(ack(flow), 99, |f| ranks[f as usize]);
    }
    assert_eq!(order(&queue), [(4, 0), (1, 1), (2, 1), (0, 3), (3, 1)]);
    assert_eq!(queue.pop(), Some(ack(4)));
    // Without priorities: first in, first out.
    let mut queue = AckQueue::default();
    (0..5).for_each(|flow| queue.insert(ack(flow), 99, |_| 0));
    assert_eq!(order(&queue), [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0)]);
}

#[test]
fn an_ack_overtaken_too_often_is_overtaken_no_more() {
    let mut queue = AckQueue::default();
    for flow in 0..4 {
        queue.insert(ack(flow), 2, |f| 10 - f as u64);
    }
    // Two overtook 0, so 3 stops behind it.
    assert_eq!(order(&queue), [(2, 0), (1, 1), (0, 2), (3, 0)]);
}

#[test]
fn the_newest_ack_of_a_flow_replaces_the_one_that_waits_and_keeps_its_skips() {
    let mut queue = AckQueue::default();
    let rank = |f: u32| 10 - f as u64;
    queue.insert(ack(0), 99, rank);
    queue.insert(ack(1), 99, rank);
    queue.insert(ack(0), 99, rank);
    assert_eq!(order(&queue), [(1, 0), (0, 1)]);
    // PSH adds to them, and stays with the newer ACK.
    queue.insert(Waiting { push: true, skips: 50, ..ack(0) }, 99, rank);
    queue.insert(ack(0), 99, rank);
    assert_eq!(queue.remove(0), Some(Waiting { push: true, skips: 51, ..ack(0) }));
}

#[test]
fn limits_of_skips_follow_from_the_link() {
    // 83,333 packets a second for 10 ms.
    let host = |params| Host::new(&params, &NicInfo::new(Rate::from_gbps(1), us(160), 1460, 1500));
    assert_eq!(host(Rcc::preset("rcc")).skips(), (416, 208));
    assert_eq!(host(Rcc::preset("rcc-ns3")).skips(), (700, 150));
}

#[test]
fn the_short_flow_goes_first() {
    let mut w = World::new(with("rcc", |p| p.queue_maxsize = 2));
    for size in [300, 300, 300, 5] {
        w.open(Some(size));
    }
    assert_eq!(w.poll(), [(3, 1, false), (0, 1, false), (1, 1, false)]);
    assert_eq!(w.data(0), [(2, 1, false)]);
    assert_eq!(w.data(3), [(3, 1, false)], "ahead of the ACK that has waited longer");
    let waiting: Vec<_> = w.host.waiting().collect();
    assert_eq!(waiting, [(ReceiverFlow(0), 1)]);
}

#[test]
fn windows_beyond_the_end_of_a_flow_are_not_in_flight() {
    let mut w = World::new(Rcc::preset("rcc"));
    let flow = w.open(Some(6));
    w.poll();
    let flight: Vec<u64> = (0..6)
        .map(|_| {
            w.data(flow);
            w.in_flight()
        })
        .collect();
    assert_eq!(flight, [2, 3, 3, 2, 1, 0]);
}

#[test]
fn what_is_lost_or_repeated_does_not_make_the_count_drift() {
    let mut w = World::new(Rcc::preset("rcc"));
    let flow = w.open(None);
    w.poll();
    (0..5).for_each(|_| {
        w.data(flow);
    });
    // Next is 5, and the window reaches to 11.
    assert_eq!(w.in_flight(), 6);
    for n in [6, 7, 7, 7] {
        w.arrive(flow, n, false);
    }
    assert!(w.in_flight() >= 2, "at least segments 5 and 8, {}", w.in_flight());
    w.arrive(flow, 5, false);
    assert_eq!(w.next[flow as usize], 8);
    assert_eq!(w.in_flight(), 3, "segments 8, 9 and 10");
    // An old one says nothing.
    w.arrive(flow, 2, false);
    assert_eq!(w.in_flight(), 3);
}

#[test]
fn an_ack_that_travels_on_data_opens_no_window() {
    let mut w = World::new(with("rcc", |p| p.queue_maxsize = 1));
    let flows = [w.open(Some(50)), w.open(Some(60)), w.open(Some(70))];
    w.poll();
    w.arrive(flows[1], 0, false);
    let fields = |w: &mut World, flow: u32| {
        w.hook(|host, flows, cx| host.ack_fields(ReceiverFlow(flow), &mut flows[flow as usize], cx))
    };
    // The ACK of the second waits; what it was told has arrived.
    assert_eq!(fields(&mut w, flows[1]).window, Some(0));
    assert_eq!(fields(&mut w, flows[0]).window, Some(1000));
    // The end that sent the SYN: nothing is scheduled before data arrives.
    w.flows.push(FlowState::default());
    w.next.push(0);
    w.ahead.push(Default::default());
    assert_eq!(fields(&mut w, 3).window, Some(1000));
    assert_eq!(w.host.ceiling(&w.flows[3]), None);
    w.arrive(3, 0, false);
    assert_eq!(w.host.ceiling(&w.flows[3]), Some(1));
}

#[test]
fn a_fin_frees_the_window_and_the_ack_that_waited() {
    let mut w = World::new(with("rcc", |p| p.queue_maxsize = 1));
    for size in [50, 60, 70] {
        w.open(Some(size));
    }
    assert_eq!(w.poll(), [(0, 1, false), (1, 1, false)]);
    assert_eq!(w.data(0), [(0, 1, false)]);
    w.arrive(1, 0, false);
    assert_eq!(w.in_flight(), 1);
    // The ACKs of 1 and 2 can leave: 2's is behind.
    assert_eq!(w.poll(), [(1, 1, false)]);
    // 1 has nothing in flight any more, so that 2 may go.
    assert_eq!(w.fin(1), [(2, 1, false)]);
    w.arrive(0, 1, false);
    w.open(Some(10));
    let left = w.fin(0);
    assert_eq!(left[0], (0, 0, false), "its last ACK leaves at once, with the endpoint's own window");
    assert_eq!(left[1], (3, 1, false));
    // Late segments are acknowledged at once.
    assert_eq!(w.arrive(0, 1, false).now, Some(AckFields::default()));
}

#[test]
fn the_codes_acks_of_whole_flows_do_not_wait() {
    for (follow, passes) in [(Follow::Paper, false), (Follow::Code, true)] {
        let mut w = World::new(with("rcc", |p| (p.queue_maxsize, p.follow) = (2, follow)));
        for size in [1, 1, 1, 1, 1] {
            w.open(Some(size));
        }
        w.poll();
        let plan = w.arrive(0, 0, false);
        assert_eq!(plan.now.is_some(), passes, "{follow:?}");
    }
}

// ---- section 4.3: NewReno at the receiver ----

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

// ---- section 4.4: RTT ----

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

// ---- section 4.5: Algorithm 3 ----

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

// ---- section 4.6: ECN ----

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

// ---- the sender ----

#[test]
fn the_sender_is_an_ordinary_tcp_or_none() {
    let loss = Loss::new(0, 10_000);
    for (sender, ecn, first, after) in [
        (SenderKind::Newreno, false, 10_000, 5000),
        (SenderKind::Dctcp, false, 10_000, 5000),
        (SenderKind::Dctcp, true, 10_000, 5000),
        (SenderKind::Advertised, false, u64::MAX, u64::MAX),
    ] {
        let params = with("rcc", |p| (p.sender, p.ecn) = (sender, false));
        assert_eq!(Rcc::wants_ecn(&params), sender == SenderKind::Dctcp);
        let mut pool = Pool::<Rcc>::new(params);
        let opened = pool.open(0, &path(10, 25_000), us(1));
        assert_eq!(opened.control.window, first, "{sender:?}");
        (1..=10).for_each(|n| {
            pool.on_send(opened.slot, us(1), &Sent::new(1040, 1000, n * 1000));
        });
        let control = if ecn {
            // Alpha starts at 1.
            let ack = Ack { newly_acked: 1000, acked_to: 1000, sent_to: 10_000, ecn_echo: true, ..Ack::default() };
            pool.on_ack(opened.slot, us(9), &ack)
        } else {
            pool.on_loss(opened.slot, us(9), &loss)
        };
        assert_eq!(control.window, after, "{sender:?}");
    }
}

#[test]
fn marks_are_echoed_for_dctcp_alone() {
    for (sender, echo) in [(SenderKind::Newreno, false), (SenderKind::Dctcp, true)] {
        let mut w = World::new(with("rcc-ecn", |p| p.sender = sender));
        let flow = w.open(None);
        w.poll();
        assert_eq!(w.arrive(flow, 0, true).now.unwrap().ecn_echo, echo);
        assert!(!w.arrive(flow, 1, false).now.unwrap().ecn_echo);
    }
}

// ---- all of it, at random ----

#[derive(Clone, Copy, Debug)]
enum Op {
    Open(Option<u64>),
    /// Data that the windows allow arrives, or is lost until the receiver or the sender asks.
    Deliver(u8, bool),
    Lose(u8),
    Fin(u8),
    Wait(u64),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => prop::option::of(1u64..200).prop_map(Op::Open),
        20 => (any::<u8>(), any::<bool>()).prop_map(|(f, ce)| Op::Deliver(f, ce)),
        2 => any::<u8>().prop_map(Op::Lose),
        1 => any::<u8>().prop_map(Op::Fin),
        3 => (1u64..40_000).prop_map(Op::Wait),
    ]
}

/// What the senders of a world may have in flight.
struct Senders {
    /// Per flow: the segments under way, in order; the next to send; the end of the window; whether the SYN-ACK came.
    flows: Vec<(std::collections::VecDeque<u64>, u64, u64, bool)>,
    sizes: Vec<u64>,
    open: Vec<u32>,
}

impl Senders {
    fn told(&mut self, w: &World, left: &[Left]) {
        for (flow, window, push) in left {
            let acked = w.next[*flow as usize];
            let sender = &mut self.flows[*flow as usize];
            sender.3 = true;
            sender.2 = sender.2.max(acked + window);
            if *push && sender.0.is_empty() && sender.1 > acked {
                sender.1 = acked;
            }
            while sender.1 < sender.2.min(self.sizes[*flow as usize]) {
                sender.0.push_back(sender.1);
                sender.1 += 1;
            }
        }
    }

    fn under_way(&self) -> u64 {
        self.open.iter().map(|f| self.flows[*f as usize].0.len() as u64).sum()
    }
}

/// Runs operations. Without loss and pauses, the windows in flight are never below what is under way, and never above
/// the budget by more than the window of one ACK and what Algorithm 1 already had promised.
fn at_random(params: Params, ops: &[Op], lossless: bool) {
    let budget = params.queue_maxsize as u64;
    let mut w = World::new(params);
    let mut senders = Senders { flows: Vec::new(), sizes: Vec::new(), open: Vec::new() };
    let step = |w: &mut World, senders: &mut Senders, op: Op| {
        let pick = |senders: &Senders, f: u8| {
            (!senders.open.is_empty()).then(|| senders.open[f as usize % senders.open.len()])
        };
        match op {
            Op::Open(size) if senders.open.len() < 60 => {
                let flow = w.open(size);
                senders.sizes.push(size.unwrap_or(1_000_000));
                senders.flows.push((Default::default(), 0, 0, false));
                senders.open.push(flow);
            }
            Op::Deliver(f, ce) => {
                if let Some(flow) = pick(senders, f)
                    && let Some(n) = senders.flows[flow as usize].0.pop_front()
                {
                    let next = w.next[flow as usize];
                    if n >= next {
                        w.arrive(flow, n, ce);
                    }
                }
            }
            Op::Lose(f) if !lossless => {
                if let Some(flow) = pick(senders, f) {
                    // What was behind it is sent again too: go-back-N.
                    senders.flows[flow as usize].0.clear();
                }
            }
            Op::Fin(f) => {
                if let Some(flow) = pick(senders, f)
                    && senders.flows[flow as usize].0.is_empty()
                    && senders.flows[flow as usize].3
                {
                    senders.open.retain(|open| *open != flow);
                    let left = w.fin(flow);
                    senders.told(w, &left);
                }
            }
            Op::Wait(micros) if !lossless => {
                let to = w.now + us(micros);
                while w.host.wake_at() <= to {
                    let at = w.host.wake_at();
                    let left: Vec<Left> = w.until(at).into_iter().map(|(_, ack)| ack).collect();
                    senders.told(w, &left);
                }
                w.now = to;
            }
            Op::Wait(micros) => w.now += us(micros % 50),
            _ => {}
        }
        // One ACK after the other, to see what each adds.
        loop {
            let before = w.host.in_flight();
            let Some(emit) = w.hook(|host, _, cx| host.poll_transmit(cx)) else { break };
            let Emit::Ack(flow, fields) = emit else { panic!("{emit:?}") };
            let window = fields.window.map_or(0, |bytes| bytes as u64);
            assert!(before <= budget * SEGMENT || fields.window.is_none(), "released at {before}");
            assert!(w.host.in_flight() <= budget * SEGMENT + window, "{} with {window}", w.host.in_flight());
            senders.told(w, &[(flow.0, window / SEGMENT, fields.push)]);
        }
        if lossless {
            assert!(senders.under_way() * SEGMENT <= w.host.in_flight(), "{} under way", senders.under_way());
        }
    };
    for op in ops {
        step(&mut w, &mut senders, *op);
    }
    // Everything that can still arrive does, and time passes: then no ACK waits.
    for round in 0..200_000u64 {
        let sent = senders.under_way() > 0;
        for f in 0..senders.open.len() as u8 {
            let room = senders.sizes[senders.open[f as usize] as usize] < 1_000_000;
            if room || round < 4 {
                step(&mut w, &mut senders, Op::Deliver(f, false));
            }
        }
        if !sent && w.host.waiting().next().is_none() {
            break;
        }
        step(&mut w, &mut senders, Op::Wait(if lossless { 1 } else { 5000 }));
        if lossless && round > 20_000 {
            break;
        }
    }
    if !lossless {
        w.until(w.now + Time::from_s(60));
    }
    let held: Vec<_> = w.host.waiting().collect();
    let endless = senders.open.iter().any(|f| senders.sizes[*f as usize] == 1_000_000);
    assert!(held.is_empty() || (lossless && endless), "held for ever: {held:?}");
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn windows_in_flight_keep_their_limit(
        ops in prop::collection::vec(op(), 1..400), max in 1u32..60, lossless: bool, priority in 0..3u8, code: bool,
    ) {
        let params = with(if code { "rcc-ns3" } else { "rcc" }, |p| {
            p.queue_maxsize = max;
            p.priority = [Priority::Size, Priority::Remaining, Priority::None][priority as usize];
        });
        at_random(params, &ops, lossless);
    }
}
