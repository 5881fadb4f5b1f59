//! Algorithm 2: the queue of ACKs.

use super::world::*;
use crate::common::dart::Dice;

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

/// Lines 1 and 2 of Algorithm 2, on a list: flow, skiptime, PSH.
struct Listed {
    waiting: Vec<(u32, u32, bool)>,
    /// How often each was overtaken since it last left.
    overtaken: [u32; FLOWS],
}

/// Flows of the claims about the queue.
const FLOWS: usize = 100;

impl Listed {
    fn erase(&mut self, flow: u32) -> (u32, bool) {
        let at = self.waiting.iter().position(|w| w.0 == flow);
        at.map_or((0, false), |at| {
            let (_, skips, push) = self.waiting.remove(at);
            (skips, push)
        })
    }

    fn insert(&mut self, new: Waiting, limit: u32, ranks: &[u64; FLOWS]) {
        let (skiptime, push) = self.erase(new.flow);
        let stops = |w: &(u32, u32, bool)| ranks[w.0 as usize] <= ranks[new.flow as usize] || w.1 >= limit;
        let at = self.waiting.iter().rposition(stops).map_or(0, |at| at + 1);
        for overtaken in &mut self.waiting[at..] {
            overtaken.1 += 1;
            self.overtaken[overtaken.0 as usize] += 1;
        }
        self.waiting.insert(at, (new.flow, skiptime + new.skips, push || new.push));
    }
}

/// Claim rcc-alg2-queue. A newer ACK of a flow goes behind those of its priority, as lines 1 and 2 say, and keeps its
/// skiptime.
#[test]
fn rcc_alg2_queue() {
    let mut dice = Dice(3);
    // Priorities all equal, of few kinds, all different; and limits.
    for (kinds, limit) in [(1, 416), (1, u32::MAX), (4, u32::MAX), (4, 7), (FLOWS, 50), (FLOWS, 416)] {
        let ranks: [u64; FLOWS] = core::array::from_fn(|n| if kinds == FLOWS { n as u64 } else { (n % kinds) as u64 });
        let mut queue = AckQueue::default();
        assert_eq!(queue.pop(), None);
        let mut listed = Listed { waiting: Vec::new(), overtaken: [0; FLOWS] };
        let mut stamps = [0; FLOWS];
        for stamp in 0..200_000 {
            let flow = dice.below(FLOWS) as u32;
            match dice.below(9) {
                0..5 => {
                    let push = dice.below(50) == 0;
                    let new = Waiting { flow, skips: if push { 5 } else { 0 }, push };
                    queue.insert(new, limit, |flow| ranks[flow as usize]);
                    listed.insert(new, limit, &ranks);
                    stamps[flow as usize] = stamp;
                }
                5..8 => {
                    let first = (!listed.waiting.is_empty()).then(|| listed.waiting.remove(0));
                    let popped = queue.pop();
                    assert_eq!(popped.map(|w| (w.flow, w.skips, w.push)), first);
                    if let Some(popped) = popped {
                        let overtaken = core::mem::take(&mut listed.overtaken[popped.flow as usize]);
                        assert!(overtaken <= limit, "overtaken {overtaken} times");
                    }
                }
                _ => {
                    let (skips, push) = listed.erase(flow);
                    let removed = queue.remove(flow).map_or((0, false), |w| (w.skips, w.push));
                    assert_eq!(removed, (skips, push));
                    listed.overtaken[flow as usize] = 0;
                }
            }
            assert!(queue.iter().map(|w| (w.flow, w.skips, w.push)).eq(listed.waiting.iter().copied()));
            if limit == u32::MAX || kinds == 1 {
                // By priority, and the newest of equal ones last.
                let key = |w: &Waiting| (ranks[w.flow as usize], stamps[w.flow as usize]);
                assert!(queue.iter().map(key).is_sorted_by(|a, b| a < b));
            }
        }
    }
    let mut rows = fanin_claims::claim!("rcc-alg2-queue");
    rows.asserted("operations after which the queue is not an oracle's", "0", "0 of 1,200,000");
}

/// Claim rcc-skiptime, with the paper's link: 83,333 packets a second, and RTO_r = 10 ms.
#[test]
fn rcc_skiptime() {
    let params = with("rcc", |p| p.queue_maxsize = 3);
    let host = Host::new(&params, &NicInfo::new(Rate::from_gbps(1), us(160), PAYLOAD, 1500));
    // floor(C RTO_r / 2) and floor(C RTO_r / 4)
    let (first, second) = host.skips();
    assert_eq!((first, second), (416, 208));
    // A long flow, whose ACK waits, and short ones that never end.
    let mut w = World { host, ..World::new(params) };
    let short: Vec<u32> = (0..10).map(|_| w.open(Some(1000))).collect();
    let left = w.poll();
    let long = w.open(Some(1_000_000));
    assert_eq!((left.len(), w.poll().len()), (4, 0));
    let waiting = w.host.waiting().count() as u64;
    let mut in_flight: std::collections::VecDeque<u32> = left.iter().map(|ack| ack.0).collect();
    let (mut releases, mut skips) = (0, 0);
    let served = 'served: loop {
        let flow = in_flight.pop_front().expect("a window is in flight");
        // All windows are of one segment.
        for (left, ..) in w.data(flow) {
            releases += 1;
            if left == long {
                break 'served releases;
            }
            in_flight.push_back(left);
        }
        let now = w.host.waiting().find(|(flow, _)| flow.0 == long).expect("it waits").1;
        assert!(now >= skips && now <= 416);
        skips = now;
        assert!(short.contains(&flow));
    };
    println!("{served} releases, {skips} skips");
    assert_eq!(skips, 416);
    assert!(served <= 416 + waiting, "{served}");
    let mut rows = fanin_claims::claim!("rcc-skiptime");
    rows.asserted(
        "limits of overtaking, floor(C RTO_r / 2) and floor(C RTO_r / 4)",
        "416, 208",
        format!("{first}, {second}"),
    );
    rows.asserted(
        "times that the lowest priority was overtaken, and releases until its own",
        "416",
        format!("{skips}, {served}"),
    );
}
