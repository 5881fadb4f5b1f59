//! A sketch of RCC's receiver, to try the roles on a scheme whose receiver schedules the ACKs of all its flows.
//!
//! It is a test and no registered scheme: windows by slow start alone, no ECN, priority by remaining size. It shows
//! that a receiver can hold ACKs back, let data of one flow release the ACK of another, order them, measure RTT by the
//! sequence numbers it requested, and request recovery when its own timer expires.

mod common;

use common::net::{Crossed, DELAY, LINE, Net};
use common::{WIRE, us};
use fanin_cc::*;
use fanin_units::Time;
use std::collections::VecDeque;

const SEGMENT: u64 = common::PAYLOAD as u64;

struct Rcc;

#[derive(Clone, Debug, PartialEq)]
struct Params {
    /// Windows in flight over all flows, in segments (queue_maxsize).
    max: i64,
    /// An ACK overtaken so often may not be overtaken again (max skiptime).
    max_skips: u32,
    /// Receiver's retransmission timeout.
    timeout: Time,
}

impl Scheme for Rcc {
    type Params = Params;
    type Sender = Advertised;
    type Receiver = AckScheduler;
    type Switch = NoSwitch<Params>;
    const PRESETS: &'static [&'static str] = &["rcc-sketch"];
    fn preset(_: &str) -> Params {
        Params { max: 40, max_skips: 416, timeout: Time::from_ms(10) }
    }
}

/// The sender obeys the advertised window, which an ACK carries in segments.
struct Advertised(u64);

impl Sender for Advertised {
    type Params = Params;
    type Shared = ();
    fn open(_: &PathInfo, _: &mut Cx<'_, Params>) -> Self {
        Self(SEGMENT)
    }
    fn control(&self, _: &Cx<'_, Params>) -> Control {
        Control { window: self.0, ..Control::rate(LINE) }
    }
    fn on_ack(&mut self, ack: &Ack<'_>, _: &mut Cx<'_, Params>) {
        self.0 = (ack.cc_feedback as u64).max(1) * SEGMENT;
    }
}

/// One open flow.
struct Entry {
    flow: ReceiverFlow,
    /// In segments: remaining size (`u64::MAX` if unknown), the ceiling W_i, the receiver's window, and the highest
    /// ack + rwnd ever advertised.
    left: u64,
    ceiling: u64,
    window: u64,
    advertised: u64,
    next: u64,
    timeout: Time,
    timeout_at: Time,
    /// The last segment of the window that the last ACK opened, and when that ACK left.
    probe: Option<(u64, Time)>,
    rtt: Option<Time>,
}

/// An ACK that waits. At most one per flow.
struct Waiting {
    flow: ReceiverFlow,
    left: u64,
    push: bool,
    skips: u32,
}

struct AckScheduler {
    entries: Vec<Entry>,
    queue: VecDeque<Waiting>,
    in_flight: i64,
}

impl AckScheduler {
    fn entry(&mut self, flow: ReceiverFlow) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|e| e.flow == flow)
    }

    /// RCC Alg. 1: ceilings by weight, at least 1 and at most the remaining size; the rest is dealt out from the last.
    fn assign(&mut self, max: i64) {
        // Priority falls with size: p = 1 / left.
        self.entries.sort_by_key(|e| (e.left, e.flow));
        let total: f64 = self.entries.iter().map(|e| 1.0 / e.left.max(1) as f64).sum();
        let mut sum = 0;
        for e in &mut self.entries {
            let share = (max as f64 / e.left.max(1) as f64 / total) as u64;
            e.ceiling = share.min(e.left).max(1);
            sum += e.ceiling;
        }
        while sum < max as u64 {
            let before = sum;
            for e in self.entries.iter_mut().rev() {
                if e.ceiling < e.left && sum < max as u64 {
                    e.ceiling += 1;
                    sum += 1;
                }
            }
            if sum == before {
                break;
            }
        }
    }

    /// RCC Alg. 2: the newest ACK of a flow replaces the one that waits and keeps its skips; stable by priority.
    fn queue_ack(&mut self, flow: ReceiverFlow, push: bool, cx: &mut Cx<'_, Params>) {
        cx.count(Action::AckHeld);
        let left = self.entry(flow).map_or(0, |e| e.left);
        let old = self.queue.iter().position(|w| w.flow == flow).and_then(|at| self.queue.remove(at));
        let start = if push { cx.params.max_skips / 2 } else { 0 };
        let skips = old.as_ref().map_or(start, |w| w.skips.max(start));
        let push = push || old.is_some_and(|w| w.push);
        let mut at = self.queue.len();
        while at > 0 && self.queue[at - 1].left > left && self.queue[at - 1].skips < cx.params.max_skips {
            at -= 1;
            self.queue[at].skips += 1;
        }
        self.queue.insert(at, Waiting { flow, left, push, skips });
    }
}

impl Receiver for AckScheduler {
    type Params = Params;
    type Flow = ();

    fn new(_: &Params, _: &NicInfo) -> Self {
        Self { entries: Vec::new(), queue: VecDeque::new(), in_flight: 0 }
    }

    fn on_open(&mut self, info: &FlowInfo, _: &mut (), cx: &mut Cx<'_, Params>) {
        let left = info.size.map_or(u64::MAX, |bytes| bytes.div_ceil(SEGMENT));
        self.entries.push(Entry {
            flow: info.flow,
            left,
            ceiling: 1,
            window: 1,
            advertised: 1,
            next: 0,
            timeout: cx.params.timeout,
            timeout_at: cx.now + cx.params.timeout,
            probe: None,
            rtt: None,
        });
        // The sender starts with one segment.
        self.in_flight += 1;
        self.assign(cx.params.max);
    }

    fn on_data(&mut self, data: &Data, _: &mut (), cx: &mut Cx<'_, Params>) -> AckPlan {
        // RCC Alg. 2: each arriving packet leaves the windows in flight
        self.in_flight -= 1;
        let now = cx.now;
        if let Some(e) = self.entry(data.flow) {
            if let Some((seq, left_at)) = e.probe
                && seq == data.seq
            {
                e.rtt = Some(now - left_at);
                e.probe = None;
            }
            if e.left != u64::MAX {
                e.left = e.left.saturating_sub(data.in_order as u64);
            }
            e.window = (e.window + data.in_order as u64).min(e.ceiling);
            e.next = data.acked_to / SEGMENT;
            e.timeout = cx.params.timeout;
            e.timeout_at = now + e.timeout;
            self.queue_ack(data.flow, false, cx);
        }
        AckPlan::default()
    }

    fn on_close(&mut self, flow: ReceiverFlow, _: &mut (), cx: &mut Cx<'_, Params>) {
        if let Some(e) = self.entry(flow) {
            // Advertised window that will not be used; the last packet's own arrival is counted already.
            self.in_flight -= e.advertised as i64 - e.next as i64;
            self.entries.retain(|e| e.flow != flow);
            self.queue.retain(|w| w.flow != flow);
            self.assign(cx.params.max);
        }
    }

    fn on_timer(&mut self, _: u64, cx: &mut Cx<'_, Params>) {
        let now = cx.now;
        let mut late = Vec::new();
        for e in self.entries.iter_mut().filter(|e| e.timeout_at <= now) {
            // RCC Alg. 3: one segment, twice the timeout, and an ACK that asks for recovery
            e.window = 1;
            e.timeout = e.timeout.saturating_mul(2);
            e.timeout_at = now.saturating_add(e.timeout);
            late.push(e.flow);
        }
        for flow in late {
            self.queue_ack(flow, true, cx);
        }
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_, Params>) -> Option<Emit> {
        // RCC Alg. 2: while the windows in flight are at most queue_maxsize
        if self.in_flight > cx.params.max {
            return None;
        }
        let waiting = self.queue.pop_front()?;
        let now = cx.now;
        let e = self.entry(waiting.flow)?;
        let end = e.next + e.window;
        let more = end.saturating_sub(e.advertised);
        e.advertised += more;
        if more > 0 {
            e.probe = Some(((end - 1) * SEGMENT, now));
        }
        let cc_feedback = e.window as u32;
        self.in_flight += more as i64;
        Some(Emit::Ack(waiting.flow, AckFields { push: waiting.push, cc_feedback, ..AckFields::default() }))
    }

    fn wake_at(&self) -> Time {
        self.entries.iter().map(|e| e.timeout_at).min().unwrap_or(Time::NEVER)
    }
}

fn run(max: i64, sizes: &[u64]) -> Net<Rcc> {
    let mut net = Net::new(Params { max, ..Rcc::preset("") }, 1);
    // All of one priority, so that they take turns.
    net.sizes_known = false;
    for &packets in sizes {
        net.open(0, packets);
    }
    net.run_until(Time::from_ms(8));
    net
}

/// Windows in flight after each entry of the log: advertised data that has not arrived, over the open flows.
fn windows_in_flight(net: &Net<Rcc>, sizes: &[u64]) -> Vec<i64> {
    let mut advertised = vec![1i64; sizes.len()];
    let mut arrived = vec![0i64; sizes.len()];
    net.log
        .iter()
        .map(|(_, flow, what)| {
            let f = *flow as usize;
            match what {
                Crossed::Arrived { .. } => arrived[f] += 1,
                Crossed::Acked { next, fields, .. } => {
                    advertised[f] = advertised[f].max(*next as i64 + fields.cc_feedback as i64);
                }
                _ => {}
            }
            let open = (0..sizes.len()).filter(|&f| arrived[f] < sizes[f] as i64);
            open.map(|f| advertised[f] - arrived[f]).sum()
        })
        .collect()
}

#[test]
fn acks_are_held_back_and_released_by_data_of_other_flows() {
    // More flows than windows: each has a window of one segment, and at most eight ACKs may be out.
    let sizes = [20; 30];
    let net = run(8, &sizes);
    let count = |what: fn(&Crossed) -> bool| net.log.iter().filter(|e| what(&e.2)).count();
    assert_eq!(count(|what| matches!(what, Crossed::Arrived { .. })), 600, "every flow finishes");
    let by_others = count(|what| matches!(what, Crossed::Acked { own: false, .. }));
    assert!(by_others > 400, "{by_others} ACKs were released by a packet of another flow");
    // The first segments come unasked, as each flow opens with one; then at most 8 and the window that overshoots.
    let flight = windows_in_flight(&net, &sizes);
    let settled = net.log.iter().filter(|e| matches!(e.2, Crossed::Acked { .. })).nth(60).unwrap().0;
    let most = net.log.iter().zip(&flight).filter(|(e, _)| e.0 >= settled).map(|(_, f)| *f).max().unwrap();
    assert_eq!(most, 9, "windows in flight");
}

#[test]
fn with_windows_for_all_the_sum_stays_at_its_limit() {
    let sizes = [200; 10];
    let net = run(12, &sizes);
    assert_eq!(windows_in_flight(&net, &sizes).into_iter().max(), Some(12));
    assert!(net.log.iter().filter(|e| matches!(e.2, Crossed::Arrived { .. })).count() == 2000, "every flow finishes");
}

#[test]
fn short_flows_overtake() {
    // Nine long flows keep the queue full when a short one starts: it finishes long before any of them.
    let mut net = Net::<Rcc>::new(Params { max: 6, ..Rcc::preset("") }, 1);
    (0..9).for_each(|_| {
        net.open(0, 300);
    });
    net.run_until(us(300));
    let short = net.open(0, 5);
    net.run_until(Time::from_ms(8));
    let done = |flow: u32, last: u64| {
        let end = net.of(flow).find(|e| e.1 == Crossed::Arrived { n: last });
        end.unwrap_or_else(|| panic!("flow {flow} never finishes")).0
    };
    let fair_share = us(300) + LINE.tx_time(WIRE as u64 * 10).saturating_mul(5);
    assert!(done(short, 4) < fair_share + DELAY.saturating_mul(15), "{}", done(short, 4));
    assert!((0..9).all(|long| done(long, 299) > done(short, 4)));
}

#[test]
fn an_ack_overtaken_too_often_is_overtaken_no_more() {
    let params = Params { max_skips: 2, ..Rcc::preset("") };
    let mut actions = Actions::default();
    let shared = &mut ();
    let mut cx = Cx::new(us(1), &params, shared, &mut actions);
    let mut receiver = AckScheduler { entries: Vec::new(), queue: VecDeque::new(), in_flight: 0 };
    for (flow, size) in [(0, 100), (1, 3), (2, 2), (3, 1)] {
        let (flow, size) = (ReceiverFlow(flow), Some(size * SEGMENT));
        let info = FlowInfo { size, ..FlowInfo::new(flow, fanin_units::MessageId(flow.0), fanin_units::NodeId(0)) };
        receiver.on_open(&info, &mut (), &mut cx);
    }
    for flow in 0..4 {
        receiver.queue_ack(ReceiverFlow(flow), false, &mut cx);
    }
    // 1 and 2 overtook 0, which then was full; 3 stands behind it.
    let order: Vec<u32> = receiver.queue.iter().map(|w| w.flow.0).collect();
    assert_eq!(order, [2, 1, 0, 3]);
}

#[test]
fn the_receivers_timeout_asks_for_recovery() {
    let mut net = Net::<Rcc>::new(Rcc::preset(""), 1);
    let flow = net.open(0, 20);
    // The tail is lost: nothing arrives to show it, and only the receiver has a timer.
    net.lose = [(flow, 18), (flow, 19)].into();
    net.run_until(Time::from_ms(9));
    assert!(net.of(flow).all(|e| e.1 != Crossed::Arrived { n: 19 }));
    net.run_until(Time::from_ms(12));
    let pushes: Vec<_> = net
        .of(flow)
        .filter_map(|(at, what)| match what {
            Crossed::Acked { next, fields, .. } if fields.push => Some((at, next)),
            _ => None,
        })
        .collect();
    assert_eq!(pushes.len(), 1);
    assert!(pushes[0].0 > Time::from_ms(10) && pushes[0].1 == 18, "{pushes:?}");
    assert!(net.of(flow).any(|e| e.1 == Crossed::Arrived { n: 19 }));
}

#[test]
fn the_receiver_measures_rtt_by_the_segment_it_asked_for() {
    let params = Rcc::preset("");
    let mut actions = Actions::default();
    let shared = &mut ();
    let mut cx = Cx::new(us(1), &params, shared, &mut actions);
    let mut receiver = AckScheduler { entries: Vec::new(), queue: VecDeque::new(), in_flight: 0 };
    let flow = ReceiverFlow(0);
    let info = FlowInfo::new(flow, fanin_units::MessageId(0), fanin_units::NodeId(0));
    receiver.on_open(&info, &mut (), &mut cx);
    receiver.on_data(&common::data(0, 0, false), &mut (), &mut cx);
    // The ACK opens segments 1 and 2; the RTT is that of segment 2, not of 1.
    assert!(receiver.poll_transmit(&mut cx).is_some());
    cx.now = us(20);
    receiver.on_data(&common::data(0, 1, false), &mut (), &mut cx);
    assert_eq!(receiver.entries[0].rtt, None);
    cx.now = us(24);
    receiver.on_data(&common::data(0, 2, false), &mut (), &mut cx);
    assert_eq!(receiver.entries[0].rtt, Some(us(23)));
}
