//! Dart's end hosts on a virtual clock: a receiving host, and a sending one.
//!
//! A packet is 1,040 B on the wire, 832 ns at 10 Gb/s; a window of 10 us holds 12 of them and 16 ns.

use super::{PAYLOAD, WIRE, data, nic, path, us};
use fanin_cc::schemes::dart::receiver::State;
use fanin_cc::schemes::dart::{Dart, Params, Share};
use fanin_cc::*;
use fanin_units::{MessageId, NodeId, Time};
use std::collections::BTreeMap;

/// A packet at line rate.
pub const SLOT: Time = Time::from_ns(832);
pub const LINE: u64 = 10_000_000_000;

pub fn with(id: &str, change: impl FnOnce(&mut Params)) -> Params {
    let mut params = Dart::preset(id);
    change(&mut params);
    assert_eq!(Dart::check(&params), Ok(()));
    params
}

/// Pseudorandom numbers, the same in every run.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

/// The announcement of a message when it starts.
#[derive(Clone, Copy)]
pub struct Start<'a> {
    pub from: u32,
    pub tenant: u8,
    pub weight: u16,
    pub incast: Option<(u32, &'a [u32])>,
}

pub const fn from(host: u32) -> Start<'static> {
    Start { from: host, tenant: 0, weight: 1, incast: None }
}

/// A receiving host with its clock. Flow, message and, where not said otherwise, sender have one number.
pub struct Host {
    pub pool: Pool<Dart>,
    pub now: Time,
    pub received: u64,
    pub packets: BTreeMap<u32, u64>,
    pub emitted: Vec<(Time, Emit)>,
}

impl Host {
    pub fn new(params: Params) -> Self {
        let mut pool = Pool::new(params);
        pool.add_host(&nic(10));
        Self { pool, now: us(1), received: 0, packets: BTreeMap::new(), emitted: Vec::new() }
    }

    pub fn poll(&mut self) {
        while let Some(emit) = self.pool.receiver_poll(0, self.now) {
            self.emitted.push((self.now, emit));
        }
        assert!(self.pool.receiver_wake_at(0) > self.now, "what is due is done");
    }

    /// Advances to `t` and runs all timers due by then.
    pub fn at(&mut self, t: Time) -> &mut Self {
        while self.pool.receiver_wake_at(0) <= t {
            self.now = self.pool.receiver_wake_at(0);
            self.pool.receiver_timer(0, self.now, self.received);
            self.poll();
        }
        self.now = t;
        self
    }

    pub fn wait(&mut self, span: Time) -> &mut Self {
        self.at(self.now + span)
    }

    /// The first packet of a message is in order; the packet itself is not sent yet.
    pub fn start_again(&mut self, flow: u32, start: Start) -> &mut Self {
        let message = MessageStart {
            tenant: start.tenant,
            weight: start.weight,
            incast: start.incast.map(|(id, senders)| Incast { id, senders }),
            ..MessageStart::new(ReceiverFlow(flow), MessageId(flow), NodeId(start.from))
        };
        self.pool.receiver_message_start(0, self.now, &message);
        self
    }

    pub fn open(&mut self, flow: u32, from: u32) -> &mut Self {
        let info = FlowInfo::new(ReceiverFlow(flow), MessageId(flow), NodeId(from));
        self.pool.receiver_open(0, self.now, &info);
        self.packets.insert(flow, 0);
        self
    }

    /// A message starts, with its first packet.
    pub fn start(&mut self, flow: u32, start: Start) -> AckFields {
        self.open(flow, start.from).start_again(flow, start);
        self.packet(flow, false)
    }

    pub fn packet(&mut self, flow: u32, ce: bool) -> AckFields {
        let number = self.packets.get_mut(&flow).unwrap();
        *number += 1;
        self.received += WIRE as u64;
        let packet = Data { received: self.received, ..data(flow, *number - 1, ce) };
        let plan = self.pool.receiver_data(0, self.now, &packet);
        self.poll();
        plan.now.expect("every packet is acknowledged")
    }

    pub fn end_again(&mut self, flow: u32) -> &mut Self {
        self.pool.receiver_message_end(0, self.now, ReceiverFlow(flow), MessageId(flow));
        self
    }

    /// The last packet of a message arrives, and the flow closes.
    pub fn end(&mut self, flow: u32) -> AckFields {
        let fields = self.end_again(flow).packet(flow, false);
        self.pool.receiver_close(0, self.now, ReceiverFlow(flow));
        fields
    }

    /// So many packets of a flow, one each `gap`; the ACK of the last one.
    pub fn stream(&mut self, flow: u32, packets: u32, gap: Time, ce: bool) -> AckFields {
        let mut last = AckFields::default();
        for _ in 0..packets {
            self.wait(gap);
            last = self.packet(flow, ce);
        }
        last
    }

    pub fn watch(&self, name: &str) -> f64 {
        let mut value = None;
        self.pool.receiver_watch(0, &mut |n, v| {
            if n == name {
                value = Some(v);
            }
        });
        value.unwrap_or_else(|| panic!("nothing named {name} to watch"))
    }

    pub fn senders(&self) -> u32 {
        self.watch("senders") as u32
    }

    pub fn state(&self) -> State {
        [State::NoCongestion, State::ReceiverCongestion, State::NonReceiverCongestion][self.watch("state") as usize]
    }

    pub fn count(&self, action: Action) -> u64 {
        self.pool.actions().get(action)
    }

    pub fn cnps(&self) -> Vec<(Time, u32)> {
        let cnp = |&(at, emit)| if let Emit::Cnp(flow) = emit { Some((at, flow.0)) } else { None };
        self.emitted.iter().filter_map(cnp).collect()
    }

    /// Until the link is full of marked packets of this flow and the state is receiver congestion.
    pub fn receiver_congestion(&mut self, flow: u32) -> &mut Self {
        self.stream(flow, 26, SLOT, true);
        assert_eq!(self.state(), State::ReceiverCongestion);
        self
    }

    /// The same for half the rate.
    pub fn non_receiver_congestion(&mut self, flow: u32) -> &mut Self {
        self.stream(flow, 13, SLOT + SLOT, true);
        assert_eq!(self.state(), State::NonReceiverCongestion);
        self
    }
}

pub fn share(fields: AckFields) -> (u16, u16) {
    let share = Share::decode(fields.cc_feedback).expect("the ACK tells a share");
    (share.parts, share.of)
}

/// n where all weights are 1.
pub fn n(fields: AckFields) -> u16 {
    let (parts, of) = share(fields);
    assert_eq!(parts, 1);
    of
}

/// The messages of a host to one receiver.
pub struct Talker {
    pub pool: Pool<Dart>,
    pub now: Time,
    pub changed: bool,
}

impl Talker {
    pub fn new(params: Params) -> Self {
        Self { pool: Pool::new(params), now: us(1), changed: false }
    }

    pub fn open(&mut self) -> u32 {
        let opened = self.pool.open(0, &path(10, 25_000), self.now);
        assert_eq!(opened.control.not_before, Time::ZERO);
        opened.slot
    }

    /// A message under the bucket, with the share 1/n.
    pub fn old(&mut self, n: u16) -> u32 {
        let slot = self.open();
        self.ack(slot, Share { parts: 1, of: n }.encode());
        slot
    }

    pub fn send(&mut self, slot: u32) -> Control {
        let sent = Sent::new(WIRE, PAYLOAD, 0);
        let control = self.pool.on_send(slot, self.now, &sent).0;
        self.changed = self.pool.take_shared_changed();
        control
    }

    pub fn ack(&mut self, slot: u32, cc_feedback: u32) -> Control {
        let ack = Ack { rtt: us(10), cc_feedback, ..Ack::default() };
        let control = self.pool.on_ack(slot, self.now, &ack);
        self.changed = self.pool.take_shared_changed();
        control
    }

    pub fn told(&mut self, slot: u32, parts: u16, of: u16) -> Control {
        self.ack(slot, Share { parts, of }.encode())
    }

    pub fn free_at(&mut self, slot: u32) -> Time {
        self.pool.control(slot, self.now).not_before
    }

    pub fn watch(&self, slot: u32, name: &str) -> f64 {
        let mut value = None;
        self.pool.watch(slot, &mut |n, v| {
            if n == name {
                value = Some(v);
            }
        });
        value.unwrap_or_else(|| panic!("nothing named {name} to watch"))
    }
}

pub fn dasr() -> Talker {
    Talker::new(with("dart-dasr", |_| {}))
}
