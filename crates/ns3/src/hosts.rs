//! Hosts: opening and scheduling of flows, acknowledgements.

use crate::events::Event;
use crate::flow::Flow;
use crate::network::Network;
use crate::packet::{Kind, LEAST_ACK, LOWER_HEADERS, Packet, UPPER_HEADERS};
use crate::results::{Drop, Seen};
use crate::time;
use crate::wiring::NONE;
use fanin_cc::ns3::TimerOrder;
use fanin_cc::{Ack, Control, Instance, PathInfo, Telemetry};
use fanin_units::{Rate, Time};
use std::collections::BTreeMap;

/// An ACK's own fields.
const ACK_FIELDS: u32 = 12;
/// At most one NACK for the same byte in this time, ns.
const NACK_INTERVAL: u64 = 500_000;

impl Network {
    /// Opens the flows of the file that are due, each in two steps at the same instant, and schedules itself for the
    /// next.
    pub(crate) fn read_flows(&mut self) {
        let now = self.events.now();
        while let Some(flow) = self.file.flows.get(self.file.read).copied()
            && time::seconds(flow.start) == now
        {
            let port = self.file.ports.entry((flow.src, flow.dst)).or_insert(10_000);
            let sport = *port;
            *port = port.wrapping_add(1);
            self.flows.push(Flow {
                src: flow.src,
                dst: flow.dst,
                sport,
                dport: flow.dport,
                pg: flow.pg,
                size: flow.bytes,
                start: now,
                device: NONE,
                wake_at: Time::NEVER,
                arrived_at: u64::MAX,
                done_at: u64::MAX,
                arrived: (0, 0),
                ..Flow::default()
            });
            self.events.push(now, Event::Made(self.flows.len() as u32 - 1));
            self.file.read += 1;
        }
        if let Some(flow) = self.file.flows.get(self.file.read) {
            let at = time::seconds(flow.start);
            self.events.push(at.max(now), Event::Flows);
        }
    }

    /// Adds a flow to its host.
    pub(crate) fn open(&mut self, flow: u32) {
        let f = &self.flows[flow as usize];
        let (src, dst) = (f.src, f.dst);
        let Some(device) = self.wiring.leaves_by(src, dst, f.sport, f.dport) else { return };
        let line = self.wiring.devices[device as usize].rate;
        let window = match (self.config.has_win, self.config.global_t) {
            (false, _) => 0,
            (true, true) => self.largest.1,
            (true, false) => self.wiring.product(src, dst),
        };
        let round_trip = if self.config.global_t { self.largest.0 } else { self.wiring.round_trip(src, dst) };
        let payload = self.config.payload;
        let wire = payload + LOWER_HEADERS + UPPER_HEADERS + self.overhead;
        let path = PathInfo::new(Rate::from_bps(line), Time::from_ns(round_trip), payload, wire);
        let path = PathInfo { network_bdp: window, ..path };
        let now = self.events.now();
        let opened = self.scheme.open(0, &path, Time::from_ns(now));
        let f = &mut self.flows[flow as usize];
        f.device = device;
        f.line = line;
        f.control = opened.slot;
        f.rate = opened.control.rate.as_bps();
        f.window = opened.control.window;
        f.next_at = now;
        let (host, key) = (f.src as usize, f.key());
        if let Some(order) = self.moved.get_mut(host) {
            order.insert(key);
        }
        let nic = self.devices[device as usize].nic as usize;
        self.nics[nic].flows.push(flow);
        self.set_timer(flow, opened.control.wake_at);
        self.serve_host(device);
    }

    /// Whether a flow has data to send and its window allows it.
    pub(crate) fn may_send(&self, flow: u32) -> bool {
        let f = &self.flows[flow as usize];
        f.next < f.size && f.next.wrapping_sub(f.acked) < f.window
    }

    /// ACKs first, then flows in round robin; if none may send, the device checks again when the first of them is due.
    pub(crate) fn serve_host(&mut self, device: u32) {
        if !self.is_free(device) {
            return;
        }
        let d = device as usize;
        let (nic, paused) = (self.devices[d].nic as usize, self.devices[d].paused);
        let ack_queue = if self.config.ack_high_prio { 0 } else { 3 };
        if paused & 1 << ack_queue == 0
            && let Some(ix) = self.nics[nic].acks.pop_front()
        {
            self.note(device, ix, 0, Seen::Dequeued);
            self.transmit(device, ix);
            return;
        }
        let now = self.events.now();
        let count = self.nics[nic].flows.len();
        let mut chosen = None;
        let mut first_done = usize::MAX;
        for step in 1..=count {
            let at = (step + self.nics[nic].last) % count;
            let flow = self.nics[nic].flows[at];
            let f = &self.flows[flow as usize];
            if paused & 1 << f.pg == 0 && self.may_send(flow) {
                if f.next_at <= now {
                    chosen = Some(at);
                    break;
                }
            } else if f.finished {
                first_done = first_done.min(at);
            }
        }
        // Finished flows are removed when the scheduler skips one of them; the indices of those after it shift.
        if first_done != usize::MAX {
            let mut free = first_done;
            for at in first_done + 1..count {
                let flow = self.nics[nic].flows[at];
                if !self.flows[flow as usize].finished {
                    if chosen == Some(at) {
                        chosen = Some(free);
                    }
                    self.nics[nic].flows[free] = flow;
                    free += 1;
                }
            }
            self.nics[nic].flows.truncate(free);
        }
        let Some(at) = chosen else {
            let flows = self.nics[nic].flows.iter().map(|flow| &self.flows[*flow as usize]);
            let due = flows.filter(|f| f.next < f.size).map(|f| f.next_at).min();
            if let Some(due) = due
                && due > now
                && self.nics[nic].look.is_none()
            {
                self.look_at(device, due);
            }
            return;
        };
        let flow = self.nics[nic].flows[at];
        self.nics[nic].last = at;
        let ix = self.next_packet(flow);
        self.note(device, ix, self.flows[flow as usize].pg, Seen::Dequeued);
        self.transmit(device, ix);
        let f = &mut self.flows[flow as usize];
        f.last_size = self.pool.packets[ix as usize].size;
        let paced = if self.config.rate_bound { f.rate } else { f.line };
        f.next_at = now + time::transmission(f.last_size, paced);
    }

    fn look_at(&mut self, device: u32, at: u64) {
        let nic = &mut self.nics[self.devices[device as usize].nic as usize];
        nic.number = nic.number.wrapping_add(1);
        nic.look = Some(at);
        self.events.push(at, Event::Look(device, nic.number));
    }

    pub(crate) fn looks(&mut self, device: u32, number: u32) {
        let nic = &mut self.nics[self.devices[device as usize].nic as usize];
        if nic.number == number {
            nic.look = None;
            self.serve_host(device);
        }
    }

    fn next_packet(&mut self, flow: u32) -> u32 {
        let now = self.events.now();
        let f = &mut self.flows[flow as usize];
        let payload = (f.size - f.next).min(self.config.payload as u64) as u32;
        let packet = Packet {
            kind: Kind::Data,
            ce: false,
            queue: f.pg,
            size: payload + LOWER_HEADERS + UPPER_HEADERS + self.overhead,
            seq: f.next as u32,
            flow,
            payload,
            came_by: 0,
            sent_at: now,
        };
        f.sent += 1;
        f.retransmitted += (f.next < f.furthest) as u32;
        f.next += payload as u64;
        f.furthest = f.furthest.max(f.next);
        f.touched = now;
        let telemetry = self.pool.stamps.then(Telemetry::default);
        self.pool.add(packet, telemetry)
    }

    pub(crate) fn host_receives(&mut self, device: u32, ix: u32) {
        let flow = self.pool.packets[ix as usize].flow;
        let f = &self.flows[flow as usize];
        let data = self.pool.packets[ix as usize].kind == Kind::Data;
        let node = self.wiring.devices[device as usize].node;
        if node != if data { f.dst } else { f.src } {
            self.dropped(device, ix, Drop::WrongHost);
            return;
        }
        let (packet, telemetry) = self.pool.consume(ix);
        if data {
            self.data_arrives(packet, telemetry);
        } else {
            self.ack_arrives(packet, telemetry);
        }
    }

    fn data_arrives(&mut self, packet: Packet, telemetry: Option<Telemetry>) {
        let now = self.events.now();
        let f = &mut self.flows[packet.flow as usize];
        f.touched = now;
        f.arrived.0 += 1;
        f.arrived.1 += packet.ce as u32;
        let kind = if packet.seq == f.expected {
            f.expected = f.expected.wrapping_add(packet.payload);
            if f.expected as u64 == f.size {
                f.arrived_at = f.arrived_at.min(now);
            }
            // Each packet resets its milestone, so any interval up to the bytes received requests every ACK.
            let due = f.expected >= self.config.l2_ack_interval || f.expected.is_multiple_of(self.config.l2_chunk_size);
            due.then_some(Kind::Ack)
        } else if packet.seq > f.expected {
            let due = now >= f.nack_after || f.nacked != f.expected;
            if due {
                f.nack_after = now + NACK_INTERVAL;
                f.nacked = f.expected;
                if self.config.l2_back_to_zero {
                    f.expected -= f.expected % self.config.l2_chunk_size;
                }
            }
            self.nacks += due as u64;
            due.then_some(Kind::Nack)
        } else {
            // Duplicates are not answered.
            None
        };
        let Some(kind) = kind else { return };
        let ack = Packet {
            kind,
            size: (LOWER_HEADERS + ACK_FIELDS + self.overhead).max(LEAST_ACK),
            seq: f.expected,
            payload: 0,
            came_by: 0,
            ..packet
        };
        let (from, to, sport, dport) = (f.dst, f.src, f.dport, f.sport);
        let ix = self.pool.add(ack, telemetry);
        let Some(device) = self.wiring.leaves_by(from, to, sport, dport) else {
            self.dropped(self.wiring.of_node[from as usize][0], ix, Drop::NoRoute);
            return;
        };
        self.note(device, ix, 0, Seen::Enqueued);
        self.nics[self.devices[device as usize].nic as usize].acks.push_back(ix);
        self.serve_host(device);
    }

    fn ack_arrives(&mut self, packet: Packet, telemetry: Option<Telemetry>) {
        let now = self.events.now();
        let flow = packet.flow;
        let f = &mut self.flows[flow as usize];
        f.touched = now;
        if f.finished || self.config.l2_ack_interval == 0 {
            return;
        }
        let in_flight = f.next.wrapping_sub(f.acked);
        let before = f.acked;
        let to = match self.config.l2_back_to_zero {
            true => packet.seq - packet.seq % self.config.l2_chunk_size,
            false => packet.seq,
        };
        f.acked = f.acked.max(to as u64);
        if f.acked >= f.size {
            self.finish(flow);
        }
        let f = &mut self.flows[flow as usize];
        if packet.kind == Kind::Nack {
            f.next = f.acked;
        }
        let ack = Ack {
            // Its own sequence number, even if the sender rounds it down to a chunk.
            seq: packet.seq as u64,
            newly_acked: f.acked - before,
            acked_to: f.acked,
            sent_to: f.next,
            in_flight,
            ecn_echo: packet.ce,
            rtt: Time::from_ns(now - packet.sent_at),
            telemetry: telemetry.as_ref(),
            ..Ack::default()
        };
        // A check at this instant that was inserted before the packet comes first, though nothing waits for it.
        let hidden = |scheme: &Instance, slot| {
            scheme.timer_order(slot).map_or(Time::NEVER, |timers| timers.hidden_tick(Time::from_ns(now)))
        };
        while packet.ce && hidden(&self.scheme, f.control) < Time::from_ns(self.asked) {
            let control = self.scheme.on_timer(f.control, Time::from_ns(now));
            (f.window, f.rate) = (control.window, control.rate.as_bps());
        }
        let control = self.scheme.on_ack(f.control, Time::from_ns(now), &ack);
        let device = f.device;
        self.apply(flow, &control);
        if self.flows[flow as usize].finished {
            let slot = self.flows[flow as usize].control;
            self.scheme.close(slot, Time::from_ns(now));
        }
        self.serve_host(device);
    }

    /// Applies the answer of a flow's control law. Only HPCC reschedules a waiting packet.
    fn apply(&mut self, flow: u32, control: &Control) {
        let f = &mut self.flows[flow as usize];
        let rate = control.rate.as_bps();
        f.window = control.window;
        if control.retime {
            let (old, new) = (time::transmission(f.last_size, f.rate), time::transmission(f.last_size, rate));
            f.next_at = (f.next_at + new).saturating_sub(old);
            f.rate = rate;
            let (device, next_at) = (f.device, f.next_at);
            let nic = &self.nics[self.devices[device as usize].nic as usize];
            if nic.look.is_some_and(|look| next_at < look) {
                self.look_at(device, next_at.max(self.events.now()));
            }
        }
        self.flows[flow as usize].rate = rate;
        self.set_timer(flow, control.wake_at);
    }

    fn set_timer(&mut self, flow: u32, wake_at: Time) {
        let f = &mut self.flows[flow as usize];
        if f.finished || wake_at == f.wake_at {
            return;
        }
        f.wake_at = wake_at;
        f.timer = f.timer.wrapping_add(1);
        if wake_at != Time::NEVER {
            let now = self.events.now();
            let armed = self.scheme.timer_order(f.control).map_or(Time::ZERO, TimerOrder::armed_at);
            let armed = (armed.as_ps() / 1000).min(now);
            self.events.push_as_of((wake_at.as_ps() / 1000).max(now), armed, Event::Timer(flow, f.timer));
        }
    }

    pub(crate) fn timer(&mut self, flow: u32, number: u32) {
        let now = Time::from_ns(self.events.now());
        let f = &mut self.flows[flow as usize];
        if f.timer != number || f.finished {
            return;
        }
        f.wake_at = Time::NEVER;
        let control = self.scheme.on_timer(f.control, now);
        self.apply(flow, &control);
    }

    /// After a link failure, every flow selects its device again, host by host, in the order of that simulator's map of
    /// flows.
    pub(crate) fn redistribute(&mut self) {
        for nic in &mut self.nics {
            nic.flows.clear();
        }
        let mut open: BTreeMap<(u32, u64), u32> = BTreeMap::new();
        for (number, f) in self.flows.iter().enumerate().filter(|(_, f)| !f.finished && f.device != NONE) {
            open.insert((f.src, f.key()), number as u32);
        }
        for host in 0..self.moved.len() as u32 {
            for key in self.moved[host as usize].keys().to_vec() {
                let Some(&flow) = open.get(&(host, key)) else { continue };
                let f = &self.flows[flow as usize];
                let device = self.wiring.leaves_by(f.src, f.dst, f.sport, f.dport).unwrap_or(f.device);
                self.flows[flow as usize].device = device;
                self.nics[self.devices[device as usize].nic as usize].flows.push(flow);
                self.serve_host(device);
            }
        }
    }
}
