//! The sending half of a host: flows take turns at their NIC, packets are made.

use crate::chain::NO_GATE;
use crate::config::HostFifo;
use crate::host::{NO_SLOT, SendFlow, Turn};
use crate::packet::{Packet, PacketIx};
use crate::routing::Course;
use crate::sim::{Simulation, kind};
use fanin_cc::{Control, Header, Kind, Loss, SendOptions, Sent, flags};
use fanin_endpoint::{Pacer, rc};
use fanin_engine::EventQueue;
use fanin_units::{MessageId, NodeId, PortId, Rate, Time};

impl<Q: EventQueue> Simulation<Q> {
    /// A flow may have become able to send: gives it a place with its NIC, and the NIC a look.
    #[inline]
    pub(crate) fn activate(&mut self, slot: u32) {
        let flow = &mut self.senders[slot as usize];
        match flow.turn {
            Turn::Ready => {}
            Turn::Paced => {
                // Moved forward: the old place in the heap is stale.
                if flow.pacer.next_at() < flow.paced_at {
                    let port = flow.port;
                    self.pace(slot);
                    self.service(port);
                }
            }
            Turn::Idle => {
                let flow = &self.senders[slot as usize];
                if self.can_send(flow) {
                    let port = flow.port;
                    if flow.pacer.next_at() <= self.now {
                        self.ready(slot);
                    } else {
                        self.pace(slot);
                    }
                    self.service(port);
                }
            }
        }
    }

    /// Whether a flow has something that its window lets go.
    #[inline(always)]
    pub(crate) fn can_send(&self, flow: &SendFlow) -> bool {
        if flow.tcp == NO_SLOT {
            flow.half.has_data() && flow.pacer.open(flow.half.in_flight())
        } else {
            self.tcp[flow.tcp as usize].connection.can_transmit(self.now, flow.pacer.window())
        }
    }

    #[inline(always)]
    fn ready(&mut self, slot: u32) {
        let flow = &mut self.senders[slot as usize];
        flow.turn = Turn::Ready;
        let class = flow.class;
        let nic = self.ports[flow.port.ix()].nic as usize;
        self.nics[nic].ready[class as usize].push(&mut self.senders, slot);
        self.nics[nic].ready_mask |= 1 << class;
    }

    #[inline(always)]
    fn pace(&mut self, slot: u32) {
        let flow = &mut self.senders[slot as usize];
        flow.turn = Turn::Paced;
        flow.paced_at = flow.pacer.next_at();
        if flow.paced_at != Time::NEVER {
            let nic = self.ports[flow.port.ix()].nic as usize;
            self.nics[nic].pace(flow.paced_at, flow.order, slot);
        }
    }

    /// Serves a host's port: pause frames and control first, then what is queued or, without a queue, the flows.
    #[inline(never)]
    pub(crate) fn service_nic(&mut self, out: PortId) {
        let now = self.now;
        let nic = self.ports[out.ix()].nic as usize;
        let fifo = self.config.host_fifo;
        self.wake_flows(nic);
        self.fill(out, nic, fifo);
        if self.ports[out.ix()].busy_until <= now {
            let next = match self.next_queued(out) {
                Some(next) => Some((next.ix(), next.wire())),
                None if fifo.is_none() => self.pull(nic, self.ports[out.ix()].paused).map(|ix| {
                    self.packets[ix].epoch = self.ports[out.ix()].epoch;
                    (ix, self.packets[ix].head.wire)
                }),
                None => None,
            };
            if let Some((ix, wire)) = next {
                self.transmit(out, ix, wire);
                self.fill(out, nic, fifo);
            }
        }
        // When to look again: as soon as the port is free if something waits, else when a flow is due.
        let port = &self.ports[out.ix()];
        let queued = port.ready() != 0;
        let pulls = fifo.is_none() && self.nics[nic].ready_mask & !port.paused != 0;
        let mut at = Time::NEVER;
        if queued || pulls {
            at = port.busy_until;
        }
        let due = self.nics[nic].due();
        if due != Time::NEVER {
            at = at.min(if fifo.is_some() { due } else { due.max(port.busy_until) });
        }
        if at > now && at != Time::NEVER {
            self.wake(out, at);
        }
    }

    /// Moves flows whose time has come into their rings.
    #[inline(always)]
    fn wake_flows(&mut self, nic: usize) {
        while let Some((at, order, slot)) = self.nics[nic].take_due(self.now) {
            let flow = &mut self.senders[slot as usize];
            if flow.order != order || flow.turn != Turn::Paced || flow.paced_at != at {
                continue;
            }
            if flow.pacer.next_at() > self.now {
                self.pace(slot);
            } else {
                self.ready(slot);
            }
        }
    }

    /// Fills the queues behind the pacers, where there are any and a flow is due.
    #[inline(always)]
    fn fill(&mut self, out: PortId, nic: usize, fifo: Option<HostFifo>) {
        if let Some(fifo) = fifo
            && self.nics[nic].ready_mask != 0
        {
            self.fill_fifo(out, nic, fifo.capacity);
        }
    }

    /// Pulls packets from flows that are due into the queues behind the pacers, until those are full. Each class has its
    /// own place, so that one that is paused holds back no other.
    #[inline(never)]
    fn fill_fifo(&mut self, out: PortId, nic: usize, capacity: u64) {
        let mut classes = self.nics[nic].ready_mask;
        let full = self.largest as u64;
        let room = capacity.saturating_sub(full);
        // The turn is that of the link behind the queues; which of them is filled first changes nothing.
        let turn = self.ports[out.ix()].turn;
        while classes != 0 {
            let class = classes.trailing_zeros() as usize;
            let only = 1u8 << class;
            classes &= !only;
            while self.nics[nic].ready_mask & only != 0 && self.queues[out.ix() * self.classes + class].bytes <= room {
                let Some(ix) = self.pull(nic, !only) else { break };
                self.enqueue(out, ix, u32::MAX, class as u8);
            }
        }
        self.ports[out.ix()].turn = turn;
    }

    /// Makes the next packet: data classes in turn, flows of a class in turn.
    #[inline(always)]
    fn pull(&mut self, nic: usize, paused: u8) -> Option<PacketIx> {
        loop {
            let port = self.nics[nic].port;
            let classes = self.nics[nic].ready_mask & !paused;
            if classes == 0 {
                return None;
            }
            let class = self.ports[port.ix()].choose(classes, self.urgent);
            let ring = &mut self.nics[nic].ready[class as usize];
            let slot = ring.pop(&self.senders)?;
            if ring.is_empty() {
                self.nics[nic].ready_mask &= !(1 << class);
            }
            let flow = &mut self.senders[slot as usize];
            flow.turn = Turn::Idle;
            if flow.dead {
                self.free_sender(slot);
                continue;
            }
            let flow = &self.senders[slot as usize];
            if !self.can_send(flow) {
                continue;
            }
            let is_tcp = flow.tcp != NO_SLOT;
            if flow.pacer.next_at() > self.now {
                self.pace(slot);
                continue;
            }
            self.ports[port.ix()].turn = class;
            let made = if is_tcp { self.make_segment(slot, class) } else { Some(self.make_packet(slot, class)) };
            if let Some(ix) = made {
                self.packets[ix].goes_on(&self.routes, &self.far_ends[port.ix()]);
                return made;
            }
        }
    }

    /// The next packet of a flow.
    #[inline(never)]
    fn make_packet(&mut self, slot: u32, class: u8) -> PacketIx {
        let now = self.now;
        let sizes = self.config.packet;
        let flow = &mut self.senders[slot as usize];
        // The list of an incast's senders takes the place of payload, so that no packet grows beyond the largest.
        let list = if flow.options.list > 0 && flow.half.at_start() { flow.options.list as u32 } else { 0 };
        let options = flow.options;
        let segment = flow.half.take((sizes.payload as u32).saturating_sub(list).max(1));
        let wire = segment.len + list + sizes.header as u32 + self.overhead[flow.traffic as usize].data as u32;
        if self.traffics[flow.traffic as usize].config.endpoint.connection {
            let record = &mut self.records[segment.message.ix()];
            record.packets_sent += 1;
            record.packets_resent += segment.retransmitted as u32;
            record.attempts = record.attempts.max(1);
        } else {
            flow.sent += 1;
            flow.resent += segment.retransmitted as u32;
        }
        let port = &self.ports[flow.port.ix()];
        let line_time = port.tx_time(wire);
        flow.pacer.sent(now, wire, port.rate, line_time);
        let sent =
            Sent { wire, payload: segment.len, sent_to: flow.half.sent_to(), retransmitted: segment.retransmitted };
        let (control, cc_tag) = self.schemes[flow.scheme as usize].on_send(flow.cc, now, &sent);
        flow.pacer.set(&control);
        let traffic = &self.traffics[flow.traffic as usize].config;
        let mut bits = 0;
        if traffic.ecn {
            bits |= flags::ECT;
        }
        if segment.start {
            bits |= flags::START;
        }
        if segment.end {
            bits |= flags::END;
        }
        let telemetry = self.overhead[flow.traffic as usize].telemetry;
        if telemetry {
            bits |= flags::INT;
        }
        let head = Header {
            seq: segment.offset,
            sent_at: now,
            flow: segment.message,
            src: port.node,
            dst: flow.to,
            cc_tag,
            wire: wire as u16,
            payload: segment.len as u16,
            attempt: flow.attempt,
            kind: Kind::Data,
            class,
            flags: bits,
            tokens: options.tokens,
            lane: options.lane,
            ..Header::default()
        };
        let packet = Packet { scheme: flow.scheme, ..Packet::new(head, flow.course) };
        if flow.deadline == Time::NEVER {
            let deadline = now.saturating_add(traffic.endpoint.timeout);
            flow.deadline = deadline;
            let host = port.node.0;
            self.arm_host(host, deadline);
        }
        if segment.end {
            self.set_out(slot);
        }
        self.arm_flow(slot, control.wake_at);
        let scheme = self.senders[slot as usize].scheme as usize;
        if self.schemes[scheme].take_shared_changed() {
            self.tell_pair(slot);
        }
        if self.senders[slot as usize].pair != NO_SLOT {
            self.had_turn(slot);
        }
        self.take_turn_again(slot, line_time);
        let ix = self.new_packet(packet);
        if telemetry {
            self.packets.start_telemetry(ix);
        }
        ix
    }

    /// A flow that shares something with others of its pair comes after them now.
    #[inline(never)]
    pub(crate) fn had_turn(&mut self, slot: u32) {
        let flow = &mut self.senders[slot as usize];
        let nic = &mut self.nics[self.ports[flow.port.ix()].nic as usize];
        nic.turns = nic.turns.wrapping_add(1);
        flow.order = nic.turns;
    }

    /// After a packet: the flow goes back to the end of its ring, into the heap, or to rest.
    #[inline(always)]
    pub(crate) fn take_turn_again(&mut self, slot: u32, line_time: Time) {
        let flow = &self.senders[slot as usize];
        if self.can_send(flow) {
            // Without a queue behind the pacers a flow at line rate is due again just when the port is free.
            let free = if self.config.host_fifo.is_some() { self.now } else { self.now + line_time };
            if flow.pacer.next_at() <= free && self.config.host_fifo.is_none() {
                self.ready(slot);
            } else {
                self.pace(slot);
            }
        }
    }

    /// A scheme gave a new answer for a flow.
    #[inline]
    pub(crate) fn apply(&mut self, slot: u32, control: &Control) {
        self.senders[slot as usize].pacer.set(control);
        self.arm_flow(slot, control.wake_at);
        let scheme = self.senders[slot as usize].scheme as usize;
        if self.schemes[scheme].take_shared_changed() {
            self.tell_pair(slot);
            self.activate_pair(slot);
        }
        self.activate(slot);
    }

    /// The other flows of a pair may have become able to send.
    #[inline(never)]
    fn activate_pair(&mut self, changed: u32) {
        let pair = self.senders[changed as usize].pair as usize;
        for at in 0..self.pair_flows[pair].len() {
            let other = self.pair_flows[pair][at];
            if other != changed {
                self.activate(other);
            }
        }
    }

    /// What a pair of hosts shares has changed: asks the control of its other flows again.
    #[inline(never)]
    fn tell_pair(&mut self, changed: u32) {
        let pair = self.senders[changed as usize].pair as usize;
        for at in 0..self.pair_flows[pair].len() {
            let slot = self.pair_flows[pair][at];
            if slot != changed {
                let flow = &self.senders[slot as usize];
                let control = self.schemes[flow.scheme as usize].control(flow.cc, self.now);
                self.senders[slot as usize].pacer.set(&control);
                self.arm_flow(slot, control.wake_at);
            }
        }
    }

    /// Sets when a flow's scheme wants to be woken.
    #[inline(always)]
    pub(crate) fn arm_flow(&mut self, slot: u32, at: Time) {
        let flow = &mut self.senders[slot as usize];
        if at == flow.timer_at {
            return;
        }
        flow.timer_at = at;
        self.wake_flow(slot, at);
    }

    /// Makes sure that a flow's timers are looked at again at `at`. One event serves all of a flow's timers; one that has
    /// moved back is found too early and set anew.
    #[inline(always)]
    pub(crate) fn wake_flow(&mut self, slot: u32, at: Time) {
        let flow = &mut self.senders[slot as usize];
        if at < flow.timer_event {
            let at = at.max(self.now);
            flow.timer_event = at;
            let number = flow.timer_number();
            self.schedule(at, kind::FLOW, number, slot);
        }
    }

    #[inline(never)]
    pub(crate) fn flow_timer(&mut self, number: u32, slot: u32) {
        let flow = &mut self.senders[slot as usize];
        if flow.flow == MessageId::NONE || flow.timer_number() != number || flow.timer_event != self.now {
            return;
        }
        flow.timer_event = Time::NEVER;
        if flow.timer_at <= self.now {
            flow.timer_at = Time::NEVER;
            let (scheme, cc) = (flow.scheme as usize, flow.cc);
            let control = self.schemes[scheme].on_timer(cc, self.now);
            debug_assert!(control.wake_at > self.now, "a scheme asked to be woken in the past");
            self.apply(slot, &control);
        }
        let flow = &self.senders[slot as usize];
        let at = flow.timer_at;
        if flow.tcp != NO_SLOT {
            self.tcp_timer(slot);
        }
        if self.senders[slot as usize].flow != MessageId::NONE && at != Time::NEVER {
            self.wake_flow(slot, at);
        }
    }

    #[inline(always)]
    pub(crate) fn arm_host(&mut self, host: u32, at: Time) {
        if at < self.hosts[host as usize].timer_event {
            self.hosts[host as usize].timer_event = at;
            self.schedule(at, kind::HOST, host, 0);
        }
    }

    /// Looks at the retransmission timers of a host's flows. One event serves all of them, because progress only ever
    /// moves a timer back.
    #[inline(never)]
    pub(crate) fn host_timer(&mut self, host: u32) {
        if self.hosts[host as usize].timer_event != self.now {
            return;
        }
        self.hosts[host as usize].timer_event = Time::NEVER;
        let mut next = Time::NEVER;
        // By number of the flow, so that the order is the model's own and not that of the slots.
        let mut expired: Vec<(MessageId, u32)> = Vec::new();
        for &slot in &self.hosts[host as usize].flows {
            let flow = &self.senders[slot as usize];
            if flow.deadline <= self.now {
                expired.push((flow.flow, slot));
            } else {
                next = next.min(flow.deadline);
            }
        }
        if next != Time::NEVER {
            self.arm_host(host, next);
        }
        expired.sort_unstable();
        for (_, slot) in expired {
            self.time_out(slot);
        }
    }

    fn time_out(&mut self, slot: u32) {
        let now = self.now;
        let flow = &mut self.senders[slot as usize];
        flow.deadline = Time::NEVER;
        if flow.tcp == NO_SLOT && flow.half.in_flight() == 0 {
            // Of a message that started over, what had arrived before is still being sent again; nothing else is missing.
            return;
        }
        self.totals.timeouts += 1;
        self.records[flow.flow.ix()].timeouts += 1;
        let (from, sent_to) = (flow.half.acked_to(), flow.half.sent_to());
        let loss = Loss { from, sent_to, in_flight: sent_to.saturating_sub(from), retransmitted: false };
        self.go_back(slot);
        let flow = &mut self.senders[slot as usize];
        let control = self.schemes[flow.scheme as usize].on_timeout(flow.cc, now, &loss);
        self.apply(slot, &control);
    }

    /// Sends again what was not acknowledged, as a new attempt. Answers whether there was anything.
    #[inline(never)]
    fn go_back(&mut self, slot: u32) -> bool {
        let flow = &mut self.senders[slot as usize];
        let went_back = flow.half.go_back();
        if went_back {
            flow.attempt = flow.attempt.saturating_add(1);
            // It is the message that was gone back to that may have to start over, not the one that was being sent.
            self.set_out(slot);
            let flow = &mut self.senders[slot as usize];
            if flow.options.whole {
                flow.half.restart();
            }
            if self.traffics[flow.traffic as usize].config.endpoint.connection {
                let record = &mut self.records[flow.message.ix()];
                record.attempts = record.attempts.saturating_add(1);
            }
        }
        went_back
    }

    /// Which of its host's links a flow leaves by now; the one it has if there is no way.
    fn port_of(&self, slot: u32) -> PortId {
        let flow = &self.senders[slot as usize];
        let from = self.ports[flow.port.ix()].node;
        self.routes.next(&self.ports, from, flow.to, flow.course.key).unwrap_or(flow.port)
    }

    /// Routes have changed: flows of hosts with several links may have to leave by another one, wherever they stand.
    pub(crate) fn reroute_flows(&mut self) {
        for host in 0..self.hosts.len() {
            let flows = self.hosts[host].flows.clone();
            if flows.iter().all(|slot| self.port_of(*slot) == self.senders[*slot as usize].port) {
                continue;
            }
            for nic in 0..self.nics.len() {
                if self.ports[self.nics[nic].port.ix()].node.ix() == host {
                    self.empty_rings(nic);
                }
            }
            for &slot in &flows {
                self.senders[slot as usize].port = self.port_of(slot);
                self.senders[slot as usize].turn = Turn::Idle;
            }
            for slot in flows {
                self.activate(slot);
            }
        }
    }

    /// No flow stands with this NIC any more.
    fn empty_rings(&mut self, nic: usize) {
        self.nics[nic].ready_mask = 0;
        self.nics[nic].forget_paced();
        for class in 0..self.classes {
            while let Some(slot) = self.nics[nic].ready[class].pop(&self.senders) {
                if self.senders[slot as usize].dead {
                    self.free_sender(slot);
                }
            }
        }
    }

    /// An ACK, NACK, CNP or credit reached the sender of its flow.
    #[inline(always)]
    pub(crate) fn sender_receives(&mut self, ix: PacketIx) {
        let now = self.now;
        let head = self.packets[ix].head;
        self.consume(ix);
        let slot = self.slots[head.flow.ix()].send;
        if slot == NO_SLOT {
            return;
        }
        let flow = &mut self.senders[slot as usize];
        let control = match head.kind {
            Kind::Ack | Kind::Nack => {
                let records = &mut self.records;
                let in_flight = flow.half.in_flight();
                let (slots, acked_now) = (&self.slots, &mut self.acked_now);
                let newly_acked = flow.half.on_ack(head.seq, |message| {
                    records[message.ix()].acked = now;
                    if slots[message.ix()].counts_acked != NO_GATE {
                        acked_now.push(message.0);
                    }
                });
                if newly_acked > 0 {
                    let timeout = self.traffics[flow.traffic as usize].config.endpoint.timeout;
                    let in_flight = flow.half.in_flight() > 0;
                    flow.deadline = if in_flight { now.saturating_add(timeout) } else { Time::NEVER };
                    // One that had gone back may find that its next message is another.
                    self.set_out(slot);
                    self.messages_are_acked();
                }
                let flow = &mut self.senders[slot as usize];
                let scheme = &mut self.schemes[flow.scheme as usize];
                let mut control = scheme.on_ack(
                    flow.cc,
                    now,
                    &fanin_cc::Ack {
                        newly_acked,
                        acked_to: flow.half.acked_to(),
                        seq: head.seq,
                        sent_to: flow.half.sent_to(),
                        in_flight,
                        recovering: false,
                        ecn_echo: head.has(flags::ECHO),
                        rtt: now.saturating_sub(head.sent_at),
                        cc_feedback: head.cc_feedback,
                        telemetry: head.has(flags::INT).then(|| self.packets.telemetry(ix)),
                    },
                );
                if head.kind == Kind::Nack || head.has(flags::PUSH) {
                    let (from, sent_to) = (flow.half.acked_to(), flow.half.sent_to());
                    let loss = Loss { from, sent_to, in_flight: sent_to.saturating_sub(from), retransmitted: false };
                    if self.go_back(slot) {
                        let flow = &self.senders[slot as usize];
                        control = self.schemes[flow.scheme as usize].on_loss(flow.cc, now, &loss);
                    }
                }
                let flow = &self.senders[slot as usize];
                if flow.half.done() {
                    if !self.traffics[flow.traffic as usize].config.endpoint.connection {
                        self.close_sender(slot);
                        return;
                    }
                    if newly_acked > 0 {
                        control = self.fall_idle(slot);
                    }
                }
                control
            }
            Kind::Cnp => self.schemes[flow.scheme as usize].on_notice(flow.cc, now, fanin_cc::Notice::Cnp),
            Kind::Credit => {
                let credit = fanin_cc::Notice::Credit(head.cc_tag);
                self.schemes[flow.scheme as usize].on_notice(flow.cc, now, credit)
            }
            Kind::Data | Kind::Pause => return,
        };
        self.apply(slot, &control);
    }

    /// All of a connection that stays open is acknowledged.
    #[inline(never)]
    fn fall_idle(&mut self, slot: u32) -> Control {
        let flow = &self.senders[slot as usize];
        self.schemes[flow.scheme as usize].on_idle(flow.cc, self.now)
    }

    /// All of a flow is acknowledged.
    #[inline(never)]
    fn close_sender(&mut self, slot: u32) {
        let flow = &mut self.senders[slot as usize];
        let id = flow.flow;
        let record = &mut self.records[id.ix()];
        record.packets_sent = flow.sent;
        record.packets_resent = flow.resent;
        record.attempts = flow.attempt.saturating_add(1);
        self.slots[id.ix()].send = NO_SLOT;
        self.slots[id.ix()].senders = None;
        self.release_sender(slot);
    }

    /// Gives a sender's slot back; if it stands in a ring, as soon as it comes to the front.
    pub(crate) fn release_sender(&mut self, slot: u32) {
        let flow = &mut self.senders[slot as usize];
        flow.flow = MessageId::NONE;
        flow.deadline = Time::NEVER;
        let (scheme, cc, host, at) = (flow.scheme as usize, flow.cc, self.ports[flow.port.ix()].node, flow.at_host);
        let in_ring = flow.turn == Turn::Ready;
        flow.dead = in_ring;
        if flow.pair != NO_SLOT {
            self.pair_flows[flow.pair as usize].retain(|other| *other != slot);
        }
        self.schemes[scheme].close(cc, self.now);
        let flows = &mut self.hosts[host.ix()].flows;
        flows.swap_remove(at as usize);
        if let Some(&moved) = flows.get(at as usize) {
            self.senders[moved as usize].at_host = at;
        }
        if !in_ring {
            self.free_sender(slot);
        }
    }

    fn free_sender(&mut self, slot: u32) {
        self.senders[slot as usize].dead = false;
        self.free_senders.push(slot);
    }
}

impl SendFlow {
    /// What its scheme's timer events go by: both ends of a TCP connection have its flow's number.
    fn timer_number(&self) -> u32 {
        self.flow.0 | (self.passive as u32) << 28
    }

    /// An empty slot.
    pub(crate) fn free() -> Self {
        let control =
            Control { window: 0, rate: Rate::ZERO, wake_at: Time::NEVER, retime: false, not_before: Time::ZERO };
        Self {
            flow: MessageId::NONE,
            half: rc::SendHalf::default(),
            pacer: Pacer::new(&control),
            cc: 0,
            scheme: 0,
            traffic: 0,
            port: PortId::NONE,
            to: NodeId::NONE,
            course: Course::default(),
            message: MessageId::NONE,
            options: SendOptions::default(),
            class: 0,
            pair: NO_SLOT,
            turn: Turn::Idle,
            dead: false,
            next_ready: NO_SLOT,
            paced_at: Time::NEVER,
            order: 0,
            timer_at: Time::NEVER,
            timer_event: Time::NEVER,
            deadline: Time::NEVER,
            at_host: 0,
            sent: 0,
            resent: 0,
            attempt: 0,
            tcp: NO_SLOT,
            passive: false,
        }
    }
}
