//! The switch pipeline: route, admit, mark, queue, serve. Hosts use its serving half for their NIC ports.

use crate::config::{MarkAt, Release};
use crate::packet::{Packet, PacketIx};
use crate::pfc::Admission;
use crate::port::{Port, WITHIN};
use crate::queue::{Queue, Queued};
use crate::results::{DropCause, What};
use crate::routing::Course;
use crate::shared_buffer::{Limit, Pool};
use crate::sim::{Simulation, kind, source};
use fanin_cc::aqm::Aqm;
use fanin_cc::{Header, Instance, IntHop, Kind, PortView, Ports, Verdict, flags};
use fanin_engine::{Event, EventQueue};
use fanin_units::{NodeId, PortId, Time};

impl<Q: EventQueue> Simulation<Q> {
    /// A packet came in at a switch by `ingress`, whose way on is `out`.
    #[inline(always)]
    pub(crate) fn switch_receives(
        &mut self,
        node: NodeId,
        ingress: PortId,
        ix: PacketIx,
        (mut class, wire): (u8, u16),
        mut out: PortId,
    ) {
        // What it holds here is of the class that the link behind it was paused by, whatever lane it leaves in.
        let came_in = class;
        if out == PortId::NONE {
            self.tell_of_drop(node, ix);
            self.drop_packet(node, ingress.reverse(), ix, DropCause::NoRoute);
            return;
        };
        if !self.programs.is_empty() || self.rerouted {
            if self.rerouted && self.is_blocked(ix) {
                self.tell_of_drop(node, ix);
                self.drop_packet(node, out, ix, DropCause::Blocked);
                return;
            }
            match self.ask_programs(node, ingress, out, ix) {
                Some(port) => out = port,
                None => {
                    self.drop_packet(node, out, ix, DropCause::Program);
                    return;
                }
            }
            class = self.packets[ix].head.class;
        }
        self.catch_up(out);
        if !self.traced.is_empty() {
            self.note_hop(Some(out), node, ix);
        }
        let port = &self.ports[out.ix()];
        let idle = port.busy_until <= self.now && port.waiting | port.pfc_pending == 0 && port.up;
        if idle && self.at_once & !port.paused & 1 << class != 0 {
            // It leaves at once: it never waits, so it takes no buffer and sees no queue.
            self.packets[ix].epoch = port.epoch;
            if self.marks.remember() {
                self.passes_aqm(out, ix);
            }
            self.transmit(out, ix, wire);
            return;
        }
        if class != 0
            && let Err(cause) = self.admit(node, ingress, out, (class as usize, wire as u64), came_in as usize)
        {
            self.drop_packet(node, out, ix, cause);
            return;
        }
        self.enqueue(out, ix, ingress.0, came_in);
        let port = &self.ports[out.ix()];
        if port.up && port.busy_until > self.now {
            let at = port.looks_at();
            self.wake(out, at);
        } else {
            self.service(out);
        }
    }

    /// Whether a data packet finds room. Counts it in, and pauses its sender if need be.
    #[inline(always)]
    fn admit(
        &mut self,
        node: NodeId,
        ingress: PortId,
        out: PortId,
        (leaves_in, wire): (usize, u64),
        class: usize,
    ) -> Result<(), DropCause> {
        let limit = self.plan.limits[class];
        if self.lossless & 1 << class == 0 {
            match limit {
                Limit::None => {}
                Limit::Port { bytes, classes } => {
                    if self.queued_in(out, classes) + wire > bytes {
                        return Err(DropCause::Buffer);
                    }
                }
                Limit::Pool { pool, alpha } => {
                    let queued = self.queues[out.ix() * self.classes + leaves_in].bytes;
                    if !self.pool(node, pool).admits(alpha, queued, wire) {
                        self.switch_catches_up(node);
                        if !self.pool(node, pool).admits(alpha, queued, wire) {
                            return Err(DropCause::Buffer);
                        }
                    }
                    self.pool(node, pool).used += wire;
                }
            }
            return Ok(());
        }
        let reserved = self.ingress[ingress.ix() * self.classes + class].reserved;
        let threshold = |sim: &mut Self| match limit {
            Limit::None => u64::MAX,
            Limit::Port { bytes, .. } => bytes.saturating_sub(reserved),
            Limit::Pool { pool, alpha } => sim.pool(node, pool).pause_threshold(alpha),
        };
        if limit == Limit::None {
            return Ok(());
        }
        let mut pauses_at = threshold(self);
        let held = &self.ingress[ingress.ix() * self.classes + class];
        if !held.paused && held.shared + wire >= pauses_at {
            self.switch_catches_up(node);
            pauses_at = threshold(self);
        }
        // The headroom also covers the part of the packet that crossed the threshold which lies above it.
        let allowance = reserved.saturating_sub(self.largest as u64 - 1);
        let held = &mut self.ingress[ingress.ix() * self.classes + class];
        let shared_before = held.shared;
        let admission = held.admit(wire, pauses_at, allowance);
        if let Limit::Pool { pool, .. } = limit {
            let shared = held.shared - shared_before;
            self.pool(node, pool).used += shared;
        }
        match admission {
            Admission::Admit => Ok(()),
            Admission::AdmitAndPause => {
                self.begins_to_pause(node);
                self.announce(ingress, class);
                Ok(())
            }
            Admission::Drop => Err(DropCause::Lossless),
        }
    }

    /// Bytes of these classes queued at a port.
    #[inline(always)]
    fn queued_in(&self, port: PortId, classes: u8) -> u64 {
        let first = port.ix() * self.classes;
        (1..self.classes).filter(|c| classes & 1 << c != 0).map(|c| self.queues[first + c].bytes).sum()
    }

    /// One of the pools of a switch.
    #[inline(always)]
    fn pool(&mut self, node: NodeId, pool: usize) -> &mut Pool {
        let switch = (node.0 - self.config.graph.hosts) as usize;
        &mut self.pools[switch * self.plan.pools.len() + pool]
    }

    /// Gives buffer space back, and lets the sender go on if that frees enough.
    #[inline(always)]
    pub(crate) fn give_back(&mut self, packet: &Queued) {
        if packet.ingress() == u32::MAX || packet.class() == 0 {
            return;
        }
        let (ingress, class, wire) = (PortId(packet.ingress()), packet.came_in(), packet.wire() as u64);
        let limit = self.plan.limits[class];
        if self.lossless & 1 << class == 0 {
            if let Limit::Pool { pool, .. } = limit {
                let node = self.ports[ingress.ix()].node;
                self.pool(node, pool).used -= wire;
            }
            return;
        }
        if limit == Limit::None {
            return;
        }
        let held = &mut self.ingress[ingress.ix() * self.classes + class];
        let shared = held.release(wire);
        let held = *held;
        if let Limit::Pool { pool, .. } = limit {
            let node = self.ports[ingress.ix()].node;
            self.pool(node, pool).used -= shared;
        }
        if !held.paused {
            return;
        }
        let threshold = match limit {
            Limit::None => u64::MAX,
            Limit::Port { bytes, .. } => bytes.saturating_sub(held.reserved),
            Limit::Pool { pool, alpha } => {
                let node = self.ports[ingress.ix()].node;
                self.pool(node, pool).pause_threshold(alpha)
            }
        };
        if held.may_resume(threshold, self.plan.resume_gap) {
            self.ingress[ingress.ix() * self.classes + class].paused = false;
            let node = self.ports[ingress.ix()].node;
            self.ends_to_pause(node);
            self.announce(ingress, class);
        }
    }

    /// Puts a packet into its class queue at a port. `ingress` is the port it came in by, or `u32::MAX` at a host, and
    /// `came_in` the class that it came in.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, out: PortId, ix: PacketIx, ingress: u32, came_in: u8) {
        let class = self.packets[ix].head.class;
        if self.marks.joining & 1 << class != 0 {
            self.mark(out, ix, class as usize, MarkAt::Enqueue);
        }
        let port = &mut self.ports[out.ix()];
        port.waiting |= 1 << class;
        let packet = &mut self.packets[ix];
        packet.epoch = port.epoch;
        let markable = packet.head.flags & (flags::ECT | flags::CE) == flags::ECT;
        let queued = Queued::new(ix, ingress, packet.head.wire, came_in, class, markable);
        if class != 0 {
            port.queued += queued.wire() as u64;
            // With one data class its queue knows the peak, and this line of the cache is left alone.
            if self.classes > 2 && port.queued > port.peak_queue {
                port.peak_queue = port.queued;
            }
            if self.watches_queues {
                self.see_queue(out);
            }
        }
        self.queues[out.ix() * self.classes + class as usize].push(&mut self.shelves, queued);
    }

    /// Takes the first packet of a class at a port.
    #[inline(always)]
    pub(crate) fn take(&mut self, out: PortId, class: usize) -> Option<Queued> {
        let at = out.ix() * self.classes + class;
        let queue = &mut self.queues[at];
        let queued = queue.pop(&mut self.shelves)?;
        let port = &mut self.ports[out.ix()];
        let last = queue.is_empty();
        if last {
            port.waiting &= !(1 << class);
        }
        if class != 0 {
            port.queued -= queued.wire() as u64;
        }
        if self.marks.remember() {
            let gone = self.now + port.tx_time(queued.wire() as u32);
            self.marks.memory_mut(out, class).leaves(self.now, queue.bytes + queued.wire() as u64, last, gone);
        }
        if self.watches_queues && class != 0 {
            self.see_queue(out);
        }
        Some(queued)
    }

    /// Sets the congestion mark of a packet that may be marked, if the queue says so.
    #[inline(always)]
    fn mark(&mut self, out: PortId, ix: PacketIx, class: usize, at: MarkAt) {
        let mut queue = self.queues[out.ix() * self.classes + class].bytes;
        // row D16: marks look at what all lanes of the class hold
        if self.beside[class] != 0 {
            queue += self.queues[out.ix() * self.classes + self.beside[class] as usize].bytes;
        }
        let port = &self.ports[out.ix()];
        let head = &mut self.packets[ix].head;
        if self.marks.marks((out, port, class), at, self.now, queue, head.wire)
            && head.flags & (flags::ECT | flags::CE) == flags::ECT
        {
            head.flags |= flags::CE;
            self.counters[out.ix() * self.classes + class].marked += 1;
        }
    }

    /// A packet that leaves at once goes by the queue's active management, which sees an empty queue.
    #[inline(never)]
    fn passes_aqm(&mut self, out: PortId, ix: PacketIx) {
        let head = &self.packets[ix].head;
        let (class, wire) = (head.class as usize, head.wire as u32);
        if *self.marks.memory_mut(out, class) != Aqm::Off {
            self.mark(out, ix, class, MarkAt::Enqueue);
            let gone = self.now + self.ports[out.ix()].tx_time(wire);
            self.marks.memory_mut(out, class).leaves(self.now, 0, true, gone);
        }
    }

    /// The wake-up of a port.
    #[inline(always)]
    pub(crate) fn port_wakes(&mut self, out: PortId) {
        let port = &mut self.ports[out.ix()];
        if !port.of_host {
            // How often it looks depends on how the network is cut, so that is no event of the model.
            self.totals.events -= 1;
        }
        if port.wake_at == self.now {
            port.wake_at = Time::NEVER;
            if port.late {
                self.late.remove(out);
                self.catch_up(out);
            }
            self.service(out);
        }
    }

    /// Makes sure that the port is looked at again at `at`.
    #[inline(always)]
    pub(crate) fn wake(&mut self, out: PortId, at: Time) {
        let port = &mut self.ports[out.ix()];
        if at < port.wake_at {
            match (port.late, port.to_part) {
                (true, WITHIN) => self.late.insert(out),
                // Every step looks at it.
                (true, _) => return self.late_away.insert(out),
                _ => {}
            }
            port.wake_at = at;
            self.schedule(at, kind::PORT, out.0, 0);
        }
    }

    /// Sends the next packet of a port if it is free, and makes sure that it is looked at again if more waits.
    #[inline]
    pub(crate) fn service(&mut self, out: PortId) {
        let port = &self.ports[out.ix()];
        if !port.up {
            return;
        }
        if port.of_host {
            self.service_nic(out);
            return;
        }
        if port.busy_until > self.now {
            // The packet on the wire may hold space that has to be given back, even if nothing waits behind it.
            if port.waiting | port.pfc_pending != 0 || self.leaving.get(out.ix()).is_some_and(Option::is_some) {
                let at = port.looks_at();
                self.wake(out, at);
            }
            return;
        }
        if self.config.release == Release::LastBit
            && let Some(left) = self.leaving[out.ix()].take()
        {
            self.give_back(&left);
            if self.ports[out.ix()].busy_until > self.now {
                // That let the peer of another port go on, which gave space back too and had news for ours.
                return;
            }
        }
        if let Some(next) = self.next_queued(out) {
            self.transmit(out, next.ix(), next.wire());
            // Only now that the port is busy: what this frees may have news for the port itself.
            match self.config.release {
                Release::Dequeue => self.give_back(&next),
                // The packet holds its space until its last bit has left, and the port has to look then.
                Release::LastBit if next.class() != 0 => {
                    self.leaving[out.ix()] = Some(next);
                    let left = self.ports[out.ix()].busy_until;
                    self.wake(out, left);
                }
                Release::LastBit => {}
            }
            let port = &self.ports[out.ix()];
            if port.ready() != 0 {
                let at = port.looks_at();
                self.wake(out, at);
            }
        }
    }

    /// What a free port sends next: a pause frame, then control, then its data classes in turn.
    #[inline(always)]
    pub(crate) fn next_queued(&mut self, out: PortId) -> Option<Queued> {
        let port = &self.ports[out.ix()];
        if port.pfc_pending != 0 {
            return Some(self.pause_frame(out));
        }
        if port.waiting & 1 != 0 {
            let next = self.take(out, 0)?;
            if self.watching {
                self.tell_programs(out, next.ix());
            }
            return Some(next);
        }
        let ready = port.waiting & !port.paused;
        if ready == 0 {
            return None;
        }
        let class = port.choose(ready, self.urgent);
        self.ports[out.ix()].turn = class;
        let next = self.take(out, class as usize)?;
        if next.markable() && self.marks.leaving & 1 << class != 0 {
            self.mark(out, next.ix(), class as usize, MarkAt::Dequeue);
        }
        if self.watching {
            self.tell_programs(out, next.ix());
        }
        Some(next)
    }

    /// Puts a packet on the wire: it arrives at the other end after its own time and the delay of the link.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, out: PortId, ix: PacketIx, wire: u16) {
        if self.watches_links {
            if self.telemetry {
                self.stamp(out, ix);
            }
            self.watch_departure(out, ix);
        }
        let port = &mut self.ports[out.ix()];
        debug_assert!(port.busy_until <= self.now && port.up, "one packet at a time, on a link that is up");
        let left = self.now + port.tx_time(wire as u32);
        port.busy_until = left;
        port.packets += 1;
        port.bytes += wire as u64;
        let at = left + port.delay;
        if port.to_part == WITHIN {
            self.queue.push(Event { at, source: source(kind::ARRIVE, out.0), arg: ix });
        } else {
            self.part.leaves(port.to_part, at, out, ix);
        }
    }

    /// Lets the tap and the traces of messages look at a packet that leaves.
    #[inline(never)]
    fn watch_departure(&mut self, out: PortId, ix: PacketIx) {
        if self.tap.any_link() {
            self.see_packet(out, ix);
        }
        if !self.traced.is_empty() && self.ports[out.ix()].of_host {
            self.note_departure(out, ix);
        }
    }

    /// A switch writes telemetry into a data packet that asks for it, as it takes it from its queue (HPCC 4.1). The packet
    /// itself counts in neither number. ACKs carry back what the data packet had, and switches leave them alone (3.1).
    #[inline(always)]
    fn stamp(&mut self, out: PortId, ix: PacketIx) {
        let port = &self.ports[out.ix()];
        let head = &self.packets[ix].head;
        if port.of_host || !head.has(flags::INT) || head.kind != Kind::Data {
            return;
        }
        let hop = IntHop { rate: port.rate, time: self.now, sent: port.bytes, queued: port.queued };
        let switch = port.node;
        self.packets.stamp(ix, switch, hop);
    }

    /// Tells the peer of an ingress, ahead of everything, whether a class is paused.
    pub(crate) fn announce(&mut self, ingress: PortId, class: usize) {
        self.ports[ingress.ix()].pfc_pending |= 1 << class;
        self.service(ingress);
    }

    /// One frame with the state of every class that changed.
    #[inline(never)]
    fn pause_frame(&mut self, out: PortId) -> Queued {
        let changed = core::mem::take(&mut self.ports[out.ix()].pfc_pending);
        let mut paused = 0u8;
        for class in 1..self.classes {
            if self.ingress[out.ix() * self.classes + class].paused {
                paused |= 1 << class;
            }
        }
        let port = &self.ports[out.ix()];
        let head = Header {
            src: port.node,
            dst: port.peer,
            cc_tag: (changed as u32) << 8 | (paused & changed) as u32,
            wire: self.config.packet.pause,
            kind: Kind::Pause,
            ..Header::default()
        };
        let (wire, epoch) = (head.wire, port.epoch);
        let ix = self.new_packet(Packet { epoch, ..Packet::new(head, Course::default()) });
        Queued::new(ix, u32::MAX, wire, 0, 0, false)
    }

    /// A pause frame from the peer of `port`.
    #[inline(never)]
    pub(crate) fn pause_arrives(&mut self, port: PortId, ix: PacketIx) {
        let cc_tag = self.packets[ix].head.cc_tag;
        self.consume(ix);
        self.catch_up(port);
        let (changed, paused) = ((cc_tag >> 8) as u8, cc_tag as u8);
        for class in (1..self.classes).filter(|c| changed & 1 << c != 0) {
            self.set_paused(port, class, paused & 1 << class != 0);
        }
        self.look_for_circles(port, paused);
        self.service(port);
    }

    fn set_paused(&mut self, port: PortId, class: usize, paused: bool) {
        if paused {
            self.incident(port, What::Paused(class as u8));
        }
        let since = &mut self.paused_since[port.ix() * self.classes + class];
        if paused {
            self.ports[port.ix()].paused |= 1 << class;
            self.counters[port.ix() * self.classes + class].pauses += 1;
            if *since == Time::NEVER {
                *since = self.now;
                if self.tap.pauses {
                    self.see_pause(port, class as u8, true);
                }
            }
        } else {
            self.ports[port.ix()].paused &= !(1 << class);
            if *since != Time::NEVER {
                self.counters[port.ix() * self.classes + class].paused += self.now - *since;
                *since = Time::NEVER;
                if self.tap.pauses {
                    self.see_pause(port, class as u8, false);
                }
            }
        }
    }

    /// A link went down: neither end is paused by the other any more.
    pub(crate) fn forget_pauses(&mut self, port: PortId) {
        for class in 1..self.classes {
            self.set_paused_quietly(port, class);
            let held = &mut self.ingress[port.ix() * self.classes + class];
            let node = self.ports[port.ix()].node;
            if core::mem::take(&mut held.paused) && node.0 >= self.config.graph.hosts {
                self.ends_to_pause(node);
            }
        }
        self.ports[port.ix()].pfc_pending = 0;
    }

    fn set_paused_quietly(&mut self, port: PortId, class: usize) {
        if self.ports[port.ix()].paused & 1 << class != 0 {
            self.set_paused(port, class, false);
        }
    }

    /// A packet comes into being.
    #[inline(always)]
    pub(crate) fn new_packet(&mut self, packet: Packet) -> PacketIx {
        self.totals.ledger.sent += packet.head.wire as u64;
        self.packets.add(packet)
    }

    /// A packet has reached its end.
    #[inline(always)]
    pub(crate) fn consume(&mut self, ix: PacketIx) {
        self.totals.ledger.delivered += self.packets[ix].head.wire as u64;
        self.packets.remove(ix);
    }

    fn view(&self, port: PortId) -> PortView {
        let p = &self.ports[port.ix()];
        PortView { rate: p.rate, to_switch: p.peer.0 >= self.config.graph.hosts, queued: p.queued, up: p.up }
    }

    /// Lets the packet's scheme route it and all programs that watch look at it. `None` drops it.
    #[inline(never)]
    fn ask_programs(&mut self, node: NodeId, ingress: PortId, out: PortId, ix: PacketIx) -> Option<PortId> {
        let switch = (node.0 - self.config.graph.hosts) as usize;
        let packet = &self.packets[ix];
        let scheme = packet.scheme as usize;
        let mut number = self.port_number[out.ix()];
        if packet.head.kind == Kind::Data && self.schemes[scheme].switch_active() {
            let minimal = number;
            let mut head = packet.head;
            let lane = head.lane;
            debug_assert!(
                self.beside[head.class as usize] == 0
                    || (lane == 1) == self.config.classes[head.class as usize - 1].beside.is_some(),
                "a packet's class is that of its lane"
            );
            let ingress = self.port_number[ingress.ix()];
            let now = self.now;
            number = self.with_ports(scheme, switch, |scheme, ports| {
                scheme.switch_route(switch, now, &mut head, ingress, minimal, ports)
            });
            if head.lane != lane && self.beside[head.class as usize] != 0 {
                head.class = self.beside[head.class as usize];
            }
            let packet = &mut self.packets[ix];
            packet.head = head;
            if number != minimal {
                packet.onward.deflect();
                packet.course.label = Course::NO_LABEL;
                self.slots[head.flow.ix()].deflected = true;
            }
            self.arm_switch(scheme, switch);
        }
        if self.watching {
            let view = self.view(self.switches[switch].ports[number as usize]);
            for at in 0..self.programs.len() {
                let scheme = self.programs[at] as usize;
                let head = &mut self.packets[ix].head;
                match self.schemes[scheme].switch_enqueue(switch, self.now, number, head, &view) {
                    Verdict::Admit => {}
                    Verdict::Mark => head.flags |= flags::CE,
                    Verdict::Drop => return None,
                }
                self.arm_switch(scheme, switch);
            }
        }
        Some(self.switches[switch].ports[number as usize])
    }

    /// Lets a scheme's program act on the ports of its switch that it may see.
    #[inline(always)]
    fn with_ports<R>(&mut self, scheme: usize, switch: usize, act: impl FnOnce(&mut Instance, &SwitchView) -> R) -> R {
        let ports = SwitchView {
            ports: &self.ports,
            queues: &self.queues,
            of_switch: &self.switches[switch].ports,
            classes: self.classes,
            beside: &self.beside,
            hosts: self.config.graph.hosts,
        };
        act(&mut self.schemes[scheme], &ports)
    }

    /// Whether a failure cut the way of the packet's message since its attempt set out.
    fn is_blocked(&self, ix: PacketIx) -> bool {
        let head = &self.packets[ix].head;
        head.kind == Kind::Data && !head.has(flags::TCP) && head.attempt < self.slots[head.flow.ix()].first_attempt
    }

    /// Tells the program of a packet's scheme that a failure took it.
    pub(crate) fn tell_of_drop(&mut self, node: NodeId, ix: PacketIx) {
        let Packet { head, scheme, .. } = self.packets[ix];
        if node.0 >= self.config.graph.hosts && head.kind == Kind::Data && self.schemes[scheme as usize].switch_active()
        {
            let switch = (node.0 - self.config.graph.hosts) as usize;
            self.schemes[scheme as usize].switch_drop(switch, self.now, &head);
        }
    }

    /// Tells all programs of a switch that a link went down.
    pub(crate) fn tell_of_link(&mut self, port: PortId) {
        let node = self.ports[port.ix()].node;
        if node.0 < self.config.graph.hosts {
            return;
        }
        let switch = (node.0 - self.config.graph.hosts) as usize;
        for at in 0..self.programs.len() {
            let number = self.port_number[port.ix()];
            self.schemes[self.programs[at] as usize].switch_link_down(switch, self.now, number);
        }
    }

    /// Lets the switch programs look at a packet that leaves a queue.
    #[inline(never)]
    fn tell_programs(&mut self, out: PortId, ix: PacketIx) {
        let node = self.ports[out.ix()].node;
        if node.0 < self.config.graph.hosts {
            return;
        }
        let switch = (node.0 - self.config.graph.hosts) as usize;
        let view = self.view(out);
        for at in 0..self.programs.len() {
            let scheme = self.programs[at] as usize;
            let head = &mut self.packets[ix].head;
            self.schemes[scheme].switch_dequeue(switch, self.now, self.port_number[out.ix()], head, &view);
            self.arm_switch(scheme, switch);
        }
    }

    /// Programs whose timers start by themselves.
    pub(crate) fn start_programs(&mut self) {
        for at in 0..self.programs.len() {
            for switch in 0..self.switches.len() {
                if !self.part.owns(NodeId(self.config.graph.hosts + switch as u32)) {
                    continue;
                }
                self.arm_switch(self.programs[at] as usize, switch);
            }
        }
    }

    fn arm_switch(&mut self, scheme: usize, switch: usize) {
        let at = self.schemes[scheme].switch_wake_at(switch);
        let event = &mut self.switches[switch].timer_event;
        if at < *event {
            *event = at;
            self.schedule(at, kind::SWITCH, switch as u32, 0);
        }
    }

    #[inline(never)]
    pub(crate) fn switch_timer(&mut self, switch: u32) {
        let switch = switch as usize;
        if self.switches[switch].timer_event != self.now {
            return;
        }
        self.switches[switch].timer_event = Time::NEVER;
        for at in 0..self.programs.len() {
            let scheme = self.programs[at] as usize;
            if self.schemes[scheme].switch_wake_at(switch) <= self.now {
                let now = self.now;
                self.with_ports(scheme, switch, |scheme, ports| scheme.switch_timer(switch, now, ports));
            }
            self.arm_switch(scheme, switch);
        }
    }
}

/// The ports of one switch as its programs see them.
struct SwitchView<'a> {
    ports: &'a [Port],
    queues: &'a [Queue],
    of_switch: &'a [PortId],
    classes: usize,
    beside: &'a [u8],
    hosts: u32,
}

impl SwitchView<'_> {
    /// The class of a packet in a lane.
    fn class(&self, packet: &Header, lane: u8) -> usize {
        let other = self.beside[packet.class as usize];
        (if lane == packet.lane || other == 0 { packet.class } else { other }) as usize
    }
}

impl Ports for SwitchView<'_> {
    fn count(&self) -> u16 {
        self.of_switch.len() as u16
    }

    fn view(&self, port: u16) -> PortView {
        let p = &self.ports[self.of_switch[port as usize].ix()];
        PortView { rate: p.rate, to_switch: p.peer.0 >= self.hosts, queued: p.queued, up: p.up }
    }

    fn queued(&self, port: u16, packet: &Header, lane: u8) -> u64 {
        self.queues[self.of_switch[port as usize].ix() * self.classes + self.class(packet, lane)].bytes
    }

    fn paused(&self, port: u16, packet: &Header, lane: u8) -> bool {
        self.ports[self.of_switch[port as usize].ix()].paused & 1 << self.class(packet, lane) != 0
    }
}
