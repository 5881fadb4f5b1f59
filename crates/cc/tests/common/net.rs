//! The smallest network that can carry a scheme: flows share one link of 10 Gb/s through one switch.
//!
//! Data waits for the link, takes its time on it and `DELAY` to the receiver; packets of a receiver take `DELAY` back,
//! through the scheme's switch program. A flow's opening reaches the receiver like a packet, by handshake. Loss is
//! scripted, and an ACK that asks for it makes the sender go back. Everything that crosses is logged.

use super::{PAYLOAD, WIRE, data, nic, path};
use fanin_cc::*;
use fanin_units::{MessageId, NodeId, Rate, Time};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

pub const LINE: Rate = Rate::from_gbps(10);
pub const DELAY: Time = Time::from_us(5);

/// A packet that crossed, with its time and flow. Packets are numbered per flow from 0.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Crossed {
    Sent {
        n: u64,
        cc_tag: u32,
    },
    Arrived {
        n: u64,
    },
    /// The receiver sent an ACK for everything before packet `next`; `own` when a packet of the same flow had it sent.
    Acked {
        next: u64,
        fields: AckFields,
        own: bool,
    },
    CreditSent(u32),
    CreditDropped(u32),
    CreditArrived(u32),
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Open(u32),
    Data(u32, Data),
    Ack(u32, u64, AckFields),
    Notice(u32, Notice),
    SenderTimer(u32),
    ReceiverTimer(usize),
    Send(u32),
}

struct Flow {
    host: usize,
    slot: u32,
    control: Control,
    packets: u64,
    next: u64,
    acked: u64,
    expected: u64,
    may_send_at: Time,
}

pub struct Net<S: Scheme> {
    pub log: Vec<(Time, u32, Crossed)>,
    /// Packets (flow, number) that are lost the first time they are sent.
    pub lose: BTreeSet<(u32, u64)>,
    /// Whether a flow announces its size when it opens.
    pub sizes_known: bool,
    pool: Pool<S>,
    now: Time,
    flows: Vec<Flow>,
    link_free: Time,
    events: BinaryHeap<Reverse<(Time, usize)>>,
    scheduled: Vec<Event>,
}

impl<S: Scheme> Net<S> {
    pub fn new(params: S::Params, hosts: usize) -> Self {
        let mut pool = Pool::new(params);
        (0..hosts as u64).for_each(|seed| pool.add_host(&NicInfo { seed, ..nic(10) }));
        let port = PortView::new(LINE);
        pool.add_switch(&SwitchInfo { seed: 1, ..SwitchInfo::new(NodeId(0), &[port]) });
        Self {
            log: Vec::new(),
            lose: BTreeSet::new(),
            sizes_known: true,
            pool,
            now: Time::ZERO,
            flows: Vec::new(),
            link_free: Time::ZERO,
            events: BinaryHeap::new(),
            scheduled: Vec::new(),
        }
    }

    pub fn actions(&self) -> &Actions {
        self.pool.actions()
    }

    /// The log of one flow.
    pub fn of(&self, flow: u32) -> impl Iterator<Item = (Time, Crossed)> + '_ {
        self.log.iter().filter(move |entry| entry.1 == flow).map(|entry| (entry.0, entry.2))
    }

    /// Opens a flow of this many packets to a receiving host.
    pub fn open(&mut self, host: usize, packets: u64) -> u32 {
        let id = self.flows.len() as u32;
        let Opened { slot, control } = self.pool.open(0, &path(10, 25_000), self.now);
        let may_send_at = self.now;
        self.flows.push(Flow { host, slot, control, packets, next: 0, acked: 0, expected: 0, may_send_at });
        self.schedule(self.now + DELAY, Event::Open(id));
        self.told(id, control);
        id
    }

    pub fn run_until(&mut self, end: Time) {
        while let Some(&Reverse((at, event))) = self.events.peek() {
            if at > end {
                break;
            }
            self.events.pop();
            self.now = at;
            self.step(self.scheduled[event]);
        }
        self.now = end;
    }

    fn schedule(&mut self, at: Time, event: Event) {
        if at.is_some() {
            self.events.push(Reverse((at, self.scheduled.len())));
            self.scheduled.push(event);
        }
    }

    fn cross(&mut self, flow: u32, what: Crossed) {
        self.log.push((self.now, flow, what));
    }

    fn told(&mut self, id: u32, control: Control) {
        self.flows[id as usize].control = control;
        self.schedule(control.wake_at, Event::SenderTimer(id));
        self.schedule(self.flows[id as usize].may_send_at.max(self.now), Event::Send(id));
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Open(id) => {
                let f = &self.flows[id as usize];
                let (host, size) = (f.host, self.sizes_known.then_some(f.packets * PAYLOAD as u64));
                let info = FlowInfo { size, ..FlowInfo::new(ReceiverFlow(id), MessageId(id), NodeId(id)) };
                self.pool.receiver_open(host, self.now, &info);
                self.poll(host, None);
            }
            Event::Send(id) => self.send(id),
            Event::Data(id, packet) => self.arrive(id, packet),
            Event::Ack(id, acked_to, fields) => {
                let f = &mut self.flows[id as usize];
                let newly_acked = acked_to.saturating_sub(f.acked);
                f.acked += newly_acked;
                f.next = f.next.max(f.acked);
                let ack = Ack {
                    newly_acked,
                    acked_to: f.acked,
                    seq: acked_to,
                    sent_to: f.next,
                    in_flight: f.next - f.acked + newly_acked,
                    ecn_echo: fields.ecn_echo,
                    cc_feedback: fields.cc_feedback,
                    ..Ack::default()
                };
                let mut control = self.pool.on_ack(f.slot, self.now, &ack);
                if fields.push && f.acked < f.next {
                    let loss = Loss::new(f.acked, f.next);
                    f.next = f.acked;
                    control = self.pool.on_loss(f.slot, self.now, &loss);
                }
                self.told(id, control);
            }
            Event::Notice(id, notice) => {
                if let Notice::Credit(number) = notice {
                    self.cross(id, Crossed::CreditArrived(number));
                }
                let control = self.pool.on_notice(self.flows[id as usize].slot, self.now, notice);
                self.told(id, control);
            }
            Event::SenderTimer(id) => {
                let f = &self.flows[id as usize];
                if f.control.wake_at == self.now {
                    let control = self.pool.on_timer(f.slot, self.now);
                    self.told(id, control);
                }
            }
            Event::ReceiverTimer(host) => {
                if self.pool.receiver_wake_at(host) == self.now {
                    self.pool.receiver_timer(host, self.now, 0);
                    self.poll(host, None);
                }
            }
        }
    }

    fn send(&mut self, id: u32) {
        let f = &mut self.flows[id as usize];
        let (in_flight, end) = (f.next - f.acked, f.packets * PAYLOAD as u64);
        if self.now < f.may_send_at || f.next >= end || in_flight >= f.control.window || f.control.rate == Rate::ZERO {
            return;
        }
        let n = f.next / PAYLOAD as u64;
        f.next += PAYLOAD as u64;
        f.may_send_at = self.now + f.control.rate.tx_time(WIRE as u64);
        let sent = Sent::new(WIRE, PAYLOAD, f.next);
        let (control, cc_tag) = self.pool.on_send(f.slot, self.now, &sent);
        self.cross(id, Crossed::Sent { n, cc_tag });
        self.link_free = self.link_free.max(self.now) + LINE.tx_time(WIRE as u64);
        if !self.lose.remove(&(id, n)) {
            let packet = Data { cc_tag, ..data(id, n, false) };
            self.schedule(self.link_free + DELAY, Event::Data(id, packet));
        }
        self.told(id, control);
    }

    fn arrive(&mut self, id: u32, mut packet: Data) {
        self.cross(id, Crossed::Arrived { n: packet.seq / PAYLOAD as u64 });
        let f = &mut self.flows[id as usize];
        packet.in_order = packet.seq == f.expected;
        if packet.in_order {
            f.expected += PAYLOAD as u64;
        }
        packet.acked_to = f.expected;
        let (host, acked_to, done) = (f.host, f.expected, f.expected == f.packets * PAYLOAD as u64);
        let plan = self.pool.receiver_data(host, self.now, &packet);
        if let Some(fields) = plan.now {
            self.ack(id, acked_to, fields, true);
        }
        self.poll(host, Some(id));
        if done && packet.in_order {
            self.pool.receiver_close(host, self.now, ReceiverFlow(id));
            self.poll(host, Some(id));
        }
    }

    fn ack(&mut self, id: u32, acked_to: u64, fields: AckFields, own: bool) {
        self.cross(id, Crossed::Acked { next: acked_to / PAYLOAD as u64, fields, own });
        self.schedule(self.now + DELAY, Event::Ack(id, acked_to, fields));
    }

    fn poll(&mut self, host: usize, cause: Option<u32>) {
        while let Some(emit) = self.pool.receiver_poll(host, self.now) {
            match emit {
                Emit::Ack(flow, fields) => {
                    let acked_to = self.flows[flow.0 as usize].expected;
                    self.ack(flow.0, acked_to, fields, cause == Some(flow.0));
                }
                Emit::Cnp(flow) => self.schedule(self.now + DELAY, Event::Notice(flow.0, Notice::Cnp)),
                Emit::Credit { flow, number, wire } => {
                    self.cross(flow.0, Crossed::CreditSent(number));
                    let mut header = Header { kind: Kind::Credit, wire: wire as u16, ..Header::default() };
                    let mut at = Queued { port: 0, view: PortView::new(LINE), packet: &mut header, own: false };
                    if self.pool.switch_enqueue(0, self.now, &mut at) == Verdict::Drop {
                        self.cross(flow.0, Crossed::CreditDropped(number));
                    } else {
                        self.schedule(self.now + DELAY, Event::Notice(flow.0, Notice::Credit(number)));
                    }
                }
            }
        }
        self.schedule(self.pool.receiver_wake_at(host), Event::ReceiverTimer(host));
    }
}
