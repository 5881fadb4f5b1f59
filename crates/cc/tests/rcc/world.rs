//! A receiving host on a virtual clock, and its flows.

pub(crate) use crate::common::{self, PAYLOAD, cases, nic, path, us};
pub(crate) use fanin_cc::schemes::rcc::assign::{Claim, assign};
pub(crate) use fanin_cc::schemes::rcc::queue::{AckQueue, Waiting};
pub(crate) use fanin_cc::schemes::rcc::receiver::{FlowState, Host};
pub(crate) use fanin_cc::schemes::rcc::{Follow, Params, Priority, Rcc, SenderKind};
pub(crate) use fanin_cc::*;
pub(crate) use fanin_units::{MessageId, NodeId, Rate, Time};

pub const SEGMENT: u64 = PAYLOAD as u64;

// Or ACKs that wait would leave by themselves.
#[test]
fn rcc_decides_about_every_ack() {
    assert!(Host::holds_acks(&Rcc::preset("rcc")));
}

pub fn with(id: &str, change: impl FnOnce(&mut Params)) -> Params {
    let mut params = Rcc::preset(id);
    change(&mut params);
    assert_eq!(Rcc::check(&params), Ok(()));
    params
}

/// An ACK that left: its flow, and its window in segments.
pub type Left = (u32, u64, bool);

/// A receiving host and its flows.
pub struct World {
    pub host: Host,
    pub params: Params,
    pub flows: Vec<FlowState>,
    pub next: Vec<u64>,
    /// Segments that arrived ahead of a gap.
    pub ahead: Vec<std::collections::BTreeSet<u64>>,
    pub actions: Actions,
    pub now: Time,
}

impl World {
    pub fn new(params: Params) -> Self {
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

    pub fn hook<T>(&mut self, hook: impl FnOnce(&mut Host, &mut [FlowState], &mut Cx<'_, Params>) -> T) -> T {
        let shared = &mut ();
        hook(&mut self.host, &mut self.flows, &mut Cx::new(self.now, &self.params, shared, &mut self.actions))
    }

    /// The ACKs that leave now.
    pub fn poll(&mut self) -> Vec<Left> {
        let mut left = Vec::new();
        while let Some(emit) = self.hook(|host, _, cx| host.poll_transmit(cx)) {
            let Emit::Ack(flow, fields) = emit else { panic!("{emit:?}") };
            left.push((flow.0, fields.window.map_or(0, |bytes| bytes as u64 / SEGMENT), fields.push));
        }
        left
    }

    /// A SYN arrives, of a flow of so many segments.
    pub fn open(&mut self, size: Option<u64>) -> u32 {
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
    pub fn arrive(&mut self, flow: u32, n: u64, ce: bool) -> AckPlan {
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
    pub fn data(&mut self, flow: u32) -> Vec<Left> {
        let plan = self.arrive(flow, self.next[flow as usize], false);
        assert_eq!(plan, AckPlan::default(), "its ACK waits for the queue");
        self.poll()
    }

    pub fn fin(&mut self, flow: u32) -> Vec<Left> {
        self.hook(|host, flows, cx| host.on_fin(ReceiverFlow(flow), &mut flows[flow as usize], cx));
        self.poll()
    }

    /// Goes to `to`, with the timers due by then. What left, and when.
    pub fn until(&mut self, to: Time) -> Vec<(Time, Left)> {
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

    pub fn ceiling(&self, flow: u32) -> u64 {
        self.host.ceiling(&self.flows[flow as usize]).unwrap()
    }

    /// The window of a flow in bytes, where its slow start ends, and alpha.
    pub fn window(&self, flow: u32) -> (u64, u64, f64) {
        let (window, _) = self.host.window(&self.flows[flow as usize]).unwrap();
        (window.cwnd, window.ssthresh, window.alpha)
    }

    pub fn rtt(&self, flow: u32) -> Option<Time> {
        self.host.window(&self.flows[flow as usize]).unwrap().1
    }

    pub fn in_flight(&self) -> u64 {
        assert_eq!(self.host.in_flight() % SEGMENT, 0);
        self.host.in_flight() / SEGMENT
    }
}
