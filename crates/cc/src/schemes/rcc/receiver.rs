//! RCC's receiver: one per host, for all flows into it.

use super::assign::{Claim, assign};
use super::params::{Follow, Params, Priority, SenderKind};
use super::queue::{AckQueue, Waiting};
use super::window::{RoundTrip, Seen, Window};
use crate::Action;
use crate::roles::*;
use crate::schemes::newreno::is_old;
use alloc::vec::Vec;
use fanin_units::Time;

/// A flow that was silent for so many timeouts in a row no longer counts as having a window in flight.
const GONE: u32 = 2;
/// And after so many, its receiver no longer asks, and it is no element of `info` until data arrives.
const IDLE: u32 = 6;

/// What a flow keeps in the list of flows; its entry in the host's table has the rest.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowState {
    entry: Option<u32>,
    size: Option<u64>,
    closed: bool,
}

/// An open flow (an element of the paper's `info`).
#[derive(Clone, Debug, Default)]
struct Entry {
    flow: ReceiverFlow,
    /// Its place in the order of opening.
    born: u64,
    size: Option<u64>,
    /// W_i in segments.
    ceiling: u64,
    acked_to: u64,
    /// Behind the last byte that arrived.
    furthest: u64,
    /// The end of the largest window that it was told, and the bytes of its windows that have not arrived.
    told_to: u64,
    in_flight: u64,
    window: Window,
    trip: RoundTrip,
    rto: Time,
    /// When RTO_r expires, and when an ACK of the code leaves after it.
    deadline: Time,
    resend_at: Time,
    /// Timeouts since data arrived.
    silent: u32,
    echo: bool,
}

impl Entry {
    /// Bytes of it that have not arrived.
    fn remaining(&self) -> Option<u64> {
        self.size.map(|size| size.saturating_sub(self.acked_to))
    }

    fn whole(&self) -> bool {
        self.remaining() == Some(0)
    }

    /// Its rank by priority: less goes first. Flows of unknown size come last.
    fn rank(&self, priority: Priority) -> u64 {
        match priority {
            Priority::None => 0,
            Priority::Size => self.size.unwrap_or(u64::MAX),
            Priority::Remaining => self.remaining().unwrap_or(u64::MAX),
        }
    }

    /// Its size for Algorithm 1, in segments.
    fn claim(&self, priority: Priority, segment: u64) -> Claim {
        let bytes = if priority == Priority::Size { self.size } else { self.remaining() };
        Claim::new(bytes.map_or(Claim::UNKNOWN, |bytes| bytes.div_ceil(segment)))
    }
}

/// The state of a host.
#[derive(Debug, Default)]
pub struct Host {
    segment: u64,
    /// queue_maxsize in bytes.
    budget: u64,
    max_skips: u32,
    push_skips: u32,
    first_rtt: Time,
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// The open flows in the order of Algorithm 1, and their claims.
    order: Vec<u32>,
    claims: Vec<Claim>,
    queue: AckQueue,
    /// Flows whose ACK waited when they ended.
    owed: Vec<ReceiverFlow>,
    /// flight_wins in bytes.
    in_flight: u64,
    born: u64,
    /// No timer is due before.
    wake: Time,
}

impl Host {
    /// Bytes of advertised windows that have not arrived, over all flows (flight_wins).
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// The window assigned to a flow by Algorithm 1, in segments.
    pub fn ceiling(&self, state: &FlowState) -> Option<u64> {
        state.entry.map(|at| self.entries[at as usize].ceiling)
    }

    /// The closed loop of a flow, and its smoothed round-trip time.
    pub fn window(&self, state: &FlowState) -> Option<(&Window, Option<Time>)> {
        state.entry.map(|at| (&self.entries[at as usize].window, self.entries[at as usize].trip.mean()))
    }

    /// The flows whose ACKs wait, in the order in which they will leave, and how often each was overtaken.
    pub fn waiting(&self) -> impl Iterator<Item = (ReceiverFlow, u32)> + '_ {
        self.queue.iter().map(|w| (self.entries[w.flow as usize].flow, w.skips))
    }

    /// How often an ACK may be overtaken, and what PSH adds to its count.
    pub fn skips(&self) -> (u32, u32) {
        (self.max_skips, self.push_skips)
    }

    fn ceiling_bytes(&self, at: u32, p: &Params) -> u64 {
        if p.scheduler { self.entries[at as usize].ceiling.saturating_mul(self.segment) } else { u64::MAX }
    }

    /// Whether an ACK may leave: Algorithm 2, line 3.
    fn room(&self, p: &Params) -> bool {
        !p.scheduler
            || match p.follow {
                Follow::Paper => self.in_flight <= self.budget,
                Follow::Code => self.in_flight < self.budget,
            }
    }

    /// A flow joins `info`, and all windows are assigned anew.
    fn register(&mut self, flow: ReceiverFlow, size: Option<u64>, p: &Params) -> u32 {
        let entry = Entry {
            flow,
            born: self.born,
            size,
            ceiling: 1,
            window: Window::new(self.segment, p),
            rto: p.rto,
            deadline: Time::NEVER,
            resend_at: Time::NEVER,
            ..Entry::default()
        };
        self.born += 1;
        let at = match self.free.pop() {
            Some(at) => {
                self.entries[at as usize] = entry;
                at
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        };
        self.order.push(at);
        self.queue.reserve(self.order.len());
        self.reassign(p);
        at
    }

    /// A flow leaves `info`: its windows are no longer in flight. Returns whether an ACK of it waited.
    fn unregister(&mut self, at: u32, p: &Params) -> bool {
        let entry = &mut self.entries[at as usize];
        self.in_flight -= entry.in_flight;
        (entry.in_flight, entry.deadline, entry.resend_at) = (0, Time::NEVER, Time::NEVER);
        let waited = self.queue.remove(at).is_some();
        self.order.retain(|other| *other != at);
        self.free.push(at);
        self.reassign(p);
        waited
    }

    /// Algorithm 1, on SYN and FIN.
    fn reassign(&mut self, p: &Params) {
        let Self { order, entries, claims, segment, .. } = self;
        // Line 1: Ascend
        order.sort_by_key(|at| {
            let entry = &entries[*at as usize];
            (entry.rank(p.priority), entry.born)
        });
        claims.clear();
        claims.extend(order.iter().map(|at| entries[*at as usize].claim(p.priority, *segment)));
        assign(claims, p.queue_maxsize as u64, p.priority != Priority::None, p.follow);
        for (at, claim) in order.iter().zip(claims.iter()) {
            entries[*at as usize].ceiling = claim.window;
        }
    }

    fn arm(&mut self, at: u32, deadline: Time) {
        self.entries[at as usize].deadline = deadline;
        self.wake = self.wake.min(deadline);
    }

    /// Algorithm 2, lines 1 and 2. `poll_transmit` does the rest.
    fn enqueue(&mut self, at: u32, push: bool, cx: &mut Cx<'_, Params>) {
        if !self.room(cx.params) {
            cx.count(Action::AckHeld);
        }
        let (entries, priority) = (&self.entries, cx.params.priority);
        // Section 4.5: PSH adds to skiptime
        let new = Waiting { flow: at, skips: if push { self.push_skips } else { 0 }, push };
        self.queue.insert(new, self.max_skips, |flow| entries[flow as usize].rank(priority));
    }

    /// An ACK leaves: line 5, and section 4.4.
    fn leave(&mut self, at: u32, push: bool, cx: &Cx<'_, Params>) -> AckFields {
        let p = cx.params;
        let ceiling = self.ceiling_bytes(at, p);
        let entry = &mut self.entries[at as usize];
        let largest = if p.max_window.get() == 0 { u32::MAX as u64 } else { p.max_window.get() };
        let rwnd = entry.window.rwnd(ceiling, largest);
        let end = entry.acked_to + rwnd;
        // A flow uses no window beyond its end.
        let end_used = entry.size.map_or(end, |size| end.min(size.max(entry.acked_to)));
        let more = end_used.saturating_sub(entry.told_to);
        entry.told_to += more;
        if entry.silent < GONE {
            entry.in_flight += more;
            self.in_flight += more;
        }
        // RCC eq. (2)
        entry.trip.on_ack_left(cx.now, end - self.segment, entry.rto);
        let echo = p.sender == SenderKind::Dctcp && core::mem::take(&mut entry.echo);
        if entry.silent < IDLE && !entry.whole() {
            let deadline = cx.now.saturating_add(entry.rto);
            self.arm(at, deadline);
        }
        AckFields { window: Some(rwnd.min(u32::MAX as u64) as u32), push, ecn_echo: echo, ..AckFields::default() }
    }

    /// Algorithm 2's counter: a packet arrived.
    fn count_arrival(&mut self, at: u32, data: &Data) {
        let entry = &mut self.entries[at as usize];
        let before = entry.in_flight;
        if !is_old(data) {
            entry.in_flight = before.saturating_sub(data.payload as u64);
        }
        entry.acked_to = entry.acked_to.max(data.acked_to);
        entry.furthest = entry.furthest.max(data.seq + data.payload as u64);
        if entry.size.is_some_and(|size| entry.acked_to > size) {
            // More than was announced: a connection that stays open.
            entry.size = None;
        }
        // Data of windows that were forgotten may still arrive.
        entry.told_to = entry.told_to.max(entry.acked_to);
        let open = entry.told_to - entry.acked_to;
        // Without a gap the counter is exact; with one it is at most what is still open.
        let gap = entry.furthest > entry.acked_to;
        entry.in_flight = if gap { entry.in_flight.min(open) } else { open };
        self.in_flight = self.in_flight - before + entry.in_flight;
    }

    /// The windows of a flow are lost or unused.
    fn forget_windows(&mut self, at: u32) {
        let entry = &mut self.entries[at as usize];
        self.in_flight -= entry.in_flight;
        entry.in_flight = 0;
        entry.told_to = entry.acked_to;
    }

    /// Algorithm 3.
    fn on_timeout(&mut self, at: u32, cx: &mut Cx<'_, Params>) {
        self.forget_windows(at);
        let p = cx.params;
        let entry = &mut self.entries[at as usize];
        entry.deadline = Time::NEVER;
        cx.count(Action::Timeout);
        entry.window.on_timeout();
        entry.trip.on_timeout();
        entry.silent += 1;
        // Line 6
        entry.rto = entry.rto.saturating_mul(2);
        if entry.silent >= IDLE {
            entry.resend_at = Time::NEVER;
            return;
        }
        let deadline = cx.now.saturating_add(entry.rto);
        let wait = match p.follow {
            Follow::Paper => 0,
            // The code waits between 0 and 9 round-trip times, by the last digit of the time in nanoseconds
            Follow::Code => cx.now.as_ps() / 1000 % 10,
        };
        let resend_at = cx.now.saturating_add(entry.trip.mean().unwrap_or(Time::ZERO).saturating_mul(wait));
        self.arm(at, deadline);
        if resend_at > cx.now {
            self.entries[at as usize].resend_at = resend_at;
        } else {
            // Line 7
            self.enqueue(at, true, cx);
        }
    }

    /// The window and the round-trip time that a packet leaves.
    fn close_loop(&mut self, at: u32, data: &Data, newly: u64, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        let ceiling = self.ceiling_bytes(at, p);
        let first_rtt = self.first_rtt;
        let entry = &mut self.entries[at as usize];
        let limit = entry.rto;
        let count = !entry.window.recovering;
        let sample = entry.trip.on_data(cx.now, data.seq, data.acked_to, limit, count, p.rtt_gain);
        let rtt = match (entry.trip.mean(), p.follow) {
            (None, _) => first_rtt,
            (Some(mean), Follow::Code) if mean < Time::from_us(100) || mean >= Time::from_ms(10) => first_rtt,
            (Some(mean), _) => mean,
        };
        if !is_old(data) {
            let seen = Seen { newly, gap: entry.furthest > entry.acked_to, ce: data.ce };
            let changed = entry.window.on_packet(cx.now, seen, ceiling, rtt, p);
            for (done, action) in [
                (changed.grew && !entry.whole(), Action::Increase),
                (changed.cut, Action::Cut),
                (changed.measured, Action::MarkedWindow),
                (changed.lost, Action::LossReaction),
            ] {
                if done {
                    cx.count(action);
                }
            }
        }
        // A new packet ends the backoff; so does, with Karn's rule, a sample.
        if newly > 0 || sample.is_some() {
            entry.rto = if p.rto_from_rtt { entry.trip.timeout(p.rto) } else { p.rto };
        }
    }
}

/// C x RTO_r / `part` in packets, with C the rate of the host's link.
fn packets_in(nic: &NicInfo, rto: Time, part: u64) -> u32 {
    (nic.line_rate.bytes_in(rto) / nic.wire.max(1) as u64 / part).min(u32::MAX as u64) as u32
}

impl Receiver for Host {
    type Params = Params;
    type Flow = FlowState;
    fn holds_acks(_: &Params) -> bool {
        true
    }

    fn new(p: &Params, nic: &NicInfo) -> Self {
        let segment = nic.payload.max(1) as u64;
        let or = |set: u32, part| if set > 0 { set } else { packets_in(nic, p.rto, part) };
        Self {
            segment,
            budget: p.queue_maxsize as u64 * segment,
            // Section 4.2: C x RTO_r / 2; section 4.5: C x RTO_r / 4
            max_skips: or(p.max_skips, 2),
            push_skips: or(p.push_skips, 4),
            first_rtt: if p.first_rtt > Time::ZERO { p.first_rtt } else { nic.network_rtt },
            wake: Time::NEVER,
            ..Self::default()
        }
    }

    fn on_open(&mut self, info: &FlowInfo, state: &mut FlowState, _: &mut Cx<'_, Params>) {
        state.size = info.size;
    }

    fn on_syn(&mut self, flow: ReceiverFlow, state: &mut FlowState, cx: &mut Cx<'_, Params>) -> Option<AckFields> {
        let at = match state.entry {
            Some(at) => at,
            // A late copy
            None if state.closed => return Some(AckFields::default()),
            None => self.register(flow, state.size, cx.params),
        };
        state.entry = Some(at);
        // Section 4.2: SYN-ACKs wait like every ACK
        self.enqueue(at, false, cx);
        None
    }

    fn on_data(&mut self, data: &Data, state: &mut FlowState, cx: &mut Cx<'_, Params>) -> AckPlan {
        if data.ce {
            cx.count(Action::MarkSeen);
        }
        let at = match state.entry {
            Some(at) => at,
            None if state.closed => return AckPlan { before: None, now: Some(AckFields::default()) },
            None => {
                // The end that sent the SYN receives data, or no SYN announced the flow.
                let at = self.register(data.flow, state.size, cx.params);
                state.entry = Some(at);
                self.entries[at as usize].told_to = self.segment;
                at
            }
        };
        let newly = data.acked_to.saturating_sub(self.entries[at as usize].acked_to);
        self.count_arrival(at, data);
        let silent = core::mem::take(&mut self.entries[at as usize].silent);
        if silent >= IDLE {
            self.order.push(at);
            self.reassign(cx.params);
        }
        let entry = &mut self.entries[at as usize];
        entry.resend_at = Time::NEVER;
        entry.echo |= data.ce;
        self.close_loop(at, data, newly, cx);
        let entry = &self.entries[at as usize];
        let whole = entry.whole();
        let deadline = if whole { Time::NEVER } else { cx.now.saturating_add(entry.rto) };
        self.arm(at, deadline);
        // Section 4.5: no delayed ACKs. The code lets ACKs of whole flows pass the queue
        if !cx.params.scheduler || (whole && cx.params.follow == Follow::Code) {
            let push = self.queue.remove(at).is_some_and(|w| w.push);
            return AckPlan { before: None, now: Some(self.leave(at, push, cx)) };
        }
        self.enqueue(at, false, cx);
        AckPlan::default()
    }

    fn ack_fields(&mut self, _: ReceiverFlow, state: &mut FlowState, cx: &mut Cx<'_, Params>) -> AckFields {
        let window = match state.entry {
            // What the queue has not let go is not told by an ACK that travels on data.
            Some(at) => {
                let entry = &self.entries[at as usize];
                Some(entry.told_to.saturating_sub(entry.acked_to))
            }
            None if state.closed || !cx.params.scheduler => None,
            None => Some(self.segment),
        };
        AckFields { window: window.map(|bytes| bytes.min(u32::MAX as u64) as u32), ..AckFields::default() }
    }

    fn on_fin(&mut self, flow: ReceiverFlow, state: &mut FlowState, cx: &mut Cx<'_, Params>) {
        state.closed = true;
        if let Some(at) = state.entry.take()
            && self.unregister(at, cx.params)
        {
            self.owed.push(flow);
        }
    }

    fn on_close(&mut self, flow: ReceiverFlow, state: &mut FlowState, cx: &mut Cx<'_, Params>) {
        if let Some(at) = state.entry.take() {
            self.unregister(at, cx.params);
        }
        self.owed.retain(|owed| *owed != flow);
    }

    fn on_timer(&mut self, _: u64, cx: &mut Cx<'_, Params>) {
        let mut idle = false;
        for n in 0..self.order.len() {
            let at = self.order[n];
            let entry = &mut self.entries[at as usize];
            if entry.resend_at <= cx.now {
                entry.resend_at = Time::NEVER;
                self.enqueue(at, true, cx);
            }
            if self.entries[at as usize].deadline <= cx.now {
                self.on_timeout(at, cx);
                idle |= self.entries[at as usize].silent >= IDLE;
            }
        }
        if idle {
            let Self { order, entries, .. } = self;
            order.retain(|at| entries[*at as usize].silent < IDLE);
            self.reassign(cx.params);
        }
        let times = self.order.iter().map(|at| {
            let entry = &self.entries[*at as usize];
            entry.deadline.min(entry.resend_at)
        });
        self.wake = times.min().unwrap_or(Time::NEVER);
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_, Params>) -> Option<Emit> {
        if let Some(flow) = self.owed.pop() {
            return Some(Emit::Ack(flow, AckFields::default()));
        }
        // Algorithm 2, line 3
        if !self.room(cx.params) {
            return None;
        }
        let next = self.queue.pop()?;
        let fields = self.leave(next.flow, next.push, cx);
        Some(Emit::Ack(self.entries[next.flow as usize].flow, fields))
    }

    fn wake_at(&self) -> Time {
        self.wake
    }

    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("flight_wins", self.in_flight as f64 / self.segment as f64);
        see("acks_waiting", self.queue.len() as f64);
        let entries = || self.order.iter().map(|at| &self.entries[*at as usize]);
        see("assigned_windows", entries().map(|e| e.ceiling as f64).sum());
        see("windows", entries().map(|e| e.window.cwnd as f64).sum::<f64>() / self.segment as f64);
        let flows = self.order.len().max(1) as f64;
        see("alpha", entries().map(|e| e.window.alpha).sum::<f64>() / flows);
        see("cut_alpha", entries().map(|e| e.window.cut_alpha).sum::<f64>() / flows);
        let trips = || entries().filter_map(|e| e.trip.mean());
        see("rtt_us", trips().map(|t| t.as_ps() as f64 / 1e6).sum::<f64>() / trips().count().max(1) as f64);
    }
}
