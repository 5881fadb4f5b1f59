//! The network: its state, and the effect of each event.

use crate::events::{Event, Queue};
use crate::hosts::{Flow, Nic};
use crate::mmu::{Mark, Mmu, QUEUES};
use crate::order::Order;
use crate::random::{Decisions, Errors};
use crate::results::{Drop, Finished, Happened, Pause, QueueLengths, Seen};
use crate::time;
use crate::wiring::{NONE, Wiring};
use fanin_cc::{Actions, Instance, IntHop, Settings, Telemetry};
use fanin_formats::hpcc;
use fanin_units::{NodeId, Rate, Time};
use std::collections::{BTreeMap, VecDeque};

/// Bytes of a PFC frame: PPP, IP, and 9 of its own.
const PAUSE_BYTES: u32 = 43;
/// PPP padded to Ethernet's size, and IP.
pub(crate) const LOWER_HEADERS: u32 = 14 + 20;
/// UDP, and sequence number and priority group.
pub(crate) const UPPER_HEADERS: u32 = 8 + 6;

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Payload.
    Data,
    /// Cumulative acknowledgement.
    Ack,
    /// The same, and a packet is missing.
    Nack,
    /// PAUSE (`true`) or RESUME.
    Pfc(bool),
}

/// A packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Its kind.
    pub kind: Kind,
    /// Whether it carries a congestion mark: data as set by a switch, an ACK as the echo of its data's.
    pub ce: bool,
    /// Queue: the flow's priority group; of a PFC frame the queue that it pauses or resumes.
    pub queue: u8,
    /// Bytes on the wire.
    pub size: u32,
    /// First payload byte; of an ACK or NACK the next one expected.
    pub seq: u32,
    /// The flow it belongs to.
    pub flow: u32,
    /// Payload bytes.
    pub payload: u32,
    /// Its ingress device at the current switch.
    pub(crate) came_by: u16,
    /// Time at which the data was sent, in ns: carried in TIMELY's header.
    pub sent_at: u64,
}

/// Counters of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes sent (what telemetry calls txBytes).
    pub bytes: u64,
    /// Packets sent.
    pub packets: u64,
    /// Data packets and ACKs marked as they left.
    pub marked: u64,
    /// Dropped packets that arrived by it.
    pub dropped: u64,
    /// Largest number of bytes in one of its queues, except queue 0.
    pub peak: u64,
    /// PAUSE frames received.
    pub pauses: u64,
    /// Time that its queues were paused, summed, ns.
    pub paused: u64,
}

/// State of a device; the fields that every packet needs come first.
#[repr(C)]
pub(crate) struct Running {
    /// Whether it is sending a packet.
    busy: bool,
    /// Bit q: the peer paused queue q.
    pub paused: u8,
    /// Bit q: queue q is not empty.
    waiting: u8,
    /// The queue served last.
    last: u8,
    /// The error source of its link, or none.
    errors: u32,
    /// Index in [`Network::nics`], for a host.
    pub nic: u32,
    /// Bytes in all queues.
    queued: u64,
    /// Its counters.
    counts: Counts,
    bytes: [u32; QUEUES],
    /// Queued packets, for a switch.
    queues: [VecDeque<u32>; QUEUES],
    /// Time at which the peer paused each queue, or `u64::MAX`.
    paused_since: [u64; QUEUES],
}

/// The complete state of a run.
pub struct Network {
    pub(crate) config: hpcc::Config,
    pub(crate) wiring: Wiring,
    pub(crate) events: Queue,
    pub(crate) devices: Vec<Running>,
    pub(crate) nics: Vec<Nic>,
    mmus: Vec<Mmu>,
    /// Index of each switch in `mmus`.
    switch_of: Vec<u32>,
    pub(crate) packets: Vec<Packet>,
    telemetry: Vec<Telemetry>,
    free: Vec<u32>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) file: Vec<hpcc::Flow>,
    /// Flows read from the file so far.
    pub(crate) read: usize,
    /// The next port of each ordered pair.
    pub(crate) ports: BTreeMap<(u32, u32), u16>,
    /// Each host's flows in the order in which they move to other devices, if a link will fail.
    pub(crate) moved: Vec<Order>,
    pub(crate) scheme: Instance,
    /// Bytes of the scheme's header.
    pub(crate) overhead: u32,
    pub(crate) stamps: bool,
    pub(crate) largest: (u64, u64),
    decisions: Decisions,
    sources: Vec<(f64, Errors)>,
    traced: Vec<bool>,
    acks_first: bool,
    /// Insertion time of the current event, ns.
    pub(crate) asked: u64,
    lengths: QueueLengths,
    stop: u64,
    stopped: bool,
    /// Records since they were last taken.
    pub happened: Happened,
    /// NACKs sent.
    pub nacks: u64,
    drops: BTreeMap<Drop, u64>,
    /// Sum of a hash over finished flows.
    hash: u64,
}

impl Network {
    /// A network before its first event. `settings` is one of the `*-ns3` schemes, with the parameters of the
    /// configuration; `traced` are the nodes whose packets are recorded.
    pub fn new(
        config: hpcc::Config,
        topology: &hpcc::Topology,
        flows: Vec<hpcc::Flow>,
        traced: &[u32],
        settings: &Settings,
    ) -> Self {
        let wiring = Wiring::new(topology, config.payload);
        let nodes = wiring.is_switch.len();
        let first_host = wiring.hosts.first().and_then(|host| wiring.of_node[*host as usize].first());
        let host_rate = first_host.map_or(0, |device| wiring.devices[*device as usize].rate);
        let mut switch_of = vec![NONE; nodes];
        let mut mmus = Vec::new();
        for node in (0..nodes).filter(|n| wiring.is_switch[*n]) {
            switch_of[node] = mmus.len() as u32;
            let of = |d: &u32| (wiring.devices[*d as usize].rate, wiring.devices[*d as usize].delay);
            let devices: Vec<(u64, u64)> = wiring.of_node[node].iter().map(of).collect();
            mmus.push(Mmu::new(&config, &devices, host_rate));
        }
        // One error source for all links without their own rate, and one for each of the others.
        let mut sources = vec![(config.error_rate_per_link, Errors::default())];
        let mut of_link = Vec::new();
        for link in &topology.links {
            if link.error_rate > 0.0 {
                of_link.push(sources.len() as u32);
                sources.push((link.error_rate, Errors::default()));
            } else {
                of_link.push(if config.error_rate_per_link > 0.0 { 0 } else { NONE });
            }
        }
        let mut nics = Vec::new();
        let devices = wiring.devices.iter().enumerate().map(|(i, device)| {
            let is_switch = wiring.is_switch[device.node as usize];
            if !is_switch {
                nics.push(Nic::default());
            }
            Running {
                busy: false,
                paused: 0,
                queues: Default::default(),
                bytes: [0; QUEUES],
                waiting: 0,
                queued: 0,
                last: 0,
                counts: Counts::default(),
                paused_since: [u64::MAX; QUEUES],
                errors: of_link[i / 2],
                nic: if is_switch { NONE } else { nics.len() as u32 - 1 },
            }
        });
        let devices: Vec<Running> = devices.collect();
        // Each node takes six random streams when it is created, then two more before the run, and two for each link
        // with errors.
        let first_draw = 6 * nodes as u64 + 2 + 2 * (sources.len() as u64 - 1);
        let mut watched = vec![false; nodes];
        for node in traced.iter().filter(|node| (**node as usize) < nodes) {
            watched[*node as usize] = config.enable_trace;
        }
        let largest = wiring.largest();
        let config_moves = config.link_down.is_some();
        let mut events = Queue::default();
        if let Some(flow) = flows.first() {
            events.push(time::seconds(flow.start), Event::Flows);
        }
        if let Some((us, ..)) = config.link_down {
            events.push(2_000_000_000 + us * 1000, Event::LinkDown);
        }
        let stop = time::seconds(config.stop);
        let overhead = settings.header_overhead();
        let switches = mmus.len();
        let ports = wiring.of_node.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let lengths = QueueLengths::new(config.qlen_start, config.qlen_end, stop, switches, ports);
        if let Some(at) = lengths.first() {
            events.push(at, Event::Sample);
        }
        Self {
            lengths,
            config,
            events,
            devices,
            nics,
            mmus,
            switch_of,
            packets: Vec::new(),
            telemetry: Vec::new(),
            free: Vec::new(),
            flows: Vec::new(),
            file: flows,
            read: 0,
            ports: BTreeMap::new(),
            moved: vec![Order::default(); if config_moves { nodes } else { 0 }],
            scheme: settings.build(),
            overhead: overhead.data as u32,
            stamps: overhead.telemetry,
            largest,
            decisions: Decisions::new(first_draw),
            sources,
            traced: watched,
            acks_first: false,
            asked: 0,
            stop,
            stopped: false,
            happened: Happened::default(),
            nacks: 0,
            drops: BTreeMap::new(),
            hash: 0,
            wiring,
        }
    }

    /// Lets ACKs and NACKs bypass data at switches: an attribute that its main program never sets.
    pub fn let_acks_pass(&mut self) {
        self.acks_first = true;
    }

    /// Runs all events before `until` (ns), or until the configuration's stop.
    pub fn run_until(&mut self, until: u64) {
        let limit = until.min(self.stop);
        while let Some((asked, event)) = self.events.pop_before(limit) {
            self.asked = asked;
            match event {
                Event::Sent(device) => {
                    self.devices[device as usize].busy = false;
                    self.serve(device);
                }
                Event::Arrives(device, packet) => self.arrives(device, packet),
                Event::Look(device, number) => self.looks(device, number),
                Event::Timer(flow, number) => self.timer(flow, number),
                Event::Flows => self.read_flows(),
                Event::Made(flow) => self.events.push(self.events.now(), Event::Opens(flow)),
                Event::Opens(flow) => self.open(flow),
                Event::LinkDown => self.link_down(),
                Event::Sample => self.sample(),
            }
        }
        self.stopped |= limit == self.stop;
    }

    /// Samples all queues.
    fn sample(&mut self) {
        let (mmus, now, quiet) = (&self.mmus, self.events.now(), self.events.is_empty());
        let next = self.lengths.look(now, quiet, &mut self.happened.lengths, |switch, port| mmus[switch].queued(port));
        if let Some(next) = next {
            self.events.push(next, Event::Sample);
        }
    }

    /// Now, in ns: the time of the last event.
    pub fn now(&self) -> u64 {
        self.events.now()
    }

    /// Whether no event is left before the configuration's stop.
    pub fn is_over(&self) -> bool {
        self.stopped || self.events.next_at().is_none_or(|at| at >= self.stop)
    }

    /// Time of the next event, in ns.
    pub fn next_at(&self) -> Option<u64> {
        self.events.next_at()
    }

    /// Time at which the configuration stops, in ns.
    pub fn stop(&self) -> u64 {
        self.stop
    }

    /// Packets sent over one link each.
    pub fn packet_hops(&self) -> u64 {
        self.devices.iter().map(|d| d.counts.packets).sum()
    }

    /// Counters of each device, in order: two for each link.
    pub fn counts(&self) -> impl Iterator<Item = Counts> + '_ {
        let now = self.events.now();
        self.devices.iter().map(move |device| {
            let open: u64 = device.paused_since.iter().map(|since| now.saturating_sub(*since)).sum();
            Counts { paused: device.counts.paused + open, ..device.counts }
        })
    }

    /// The flows that have been added to their hosts, in the order of the file.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// Packets lost, by cause.
    pub fn drops(&self) -> impl Iterator<Item = (Drop, u64)> + '_ {
        self.drops.iter().map(|(why, count)| (*why, *count))
    }

    /// Number of actions of the control law.
    pub fn actions(&self) -> &Actions {
        self.scheme.actions()
    }

    /// A hash over all finished flows with their times, to compare runs.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The FCT record of a flow; an unfinished one has a time of zero.
    pub fn record(&self, flow: &Flow) -> Finished {
        Finished {
            src: flow.src,
            dst: flow.dst,
            sport: flow.sport,
            dport: flow.dport,
            bytes: flow.size,
            start: flow.start,
            took: if flow.finished { flow.done_at - flow.start } else { 0 },
            round_trip: self.wiring.round_trip(flow.src, flow.dst),
            narrowest: self.wiring.narrowest(flow.src, flow.dst),
        }
    }

    /// Events that have run.
    pub fn events_run(&self) -> u64 {
        self.events.popped()
    }

    /// Largest base round-trip time (ns) and bandwidth-delay product (bytes) of any pair of hosts.
    pub fn largest(&self) -> (u64, u64) {
        self.largest
    }

    /// Devices and paths.
    pub fn wiring(&self) -> &Wiring {
        &self.wiring
    }

    /// Number of flows opened, and of those finished.
    pub fn opened(&self) -> (usize, usize) {
        (self.flows.len(), self.flows.iter().filter(|flow| flow.finished).count())
    }

    pub(crate) fn new_packet(&mut self, packet: Packet, telemetry: Option<Telemetry>) -> u32 {
        let ix = match self.free.pop() {
            Some(ix) => {
                self.packets[ix as usize] = packet;
                ix
            }
            None => {
                self.packets.push(packet);
                if self.stamps {
                    self.telemetry.push(Telemetry::default());
                }
                self.packets.len() as u32 - 1
            }
        };
        if let Some(telemetry) = telemetry {
            self.telemetry[ix as usize] = telemetry;
        }
        ix
    }

    /// Removes a packet; its telemetry is returned to the pool.
    pub(crate) fn consume(&mut self, ix: u32) -> (Packet, Option<Telemetry>) {
        self.free.push(ix);
        (self.packets[ix as usize], self.stamps.then(|| self.telemetry[ix as usize]))
    }

    /// Records an event of a packet at a traced node.
    #[inline]
    pub(crate) fn note(&mut self, device: u32, ix: u32, queue: u8, seen: Seen) {
        let node = self.wiring.devices[device as usize].node;
        if !self.traced[node as usize] {
            return;
        }
        let queued = self.devices[device as usize].bytes[queue as usize] as u64;
        self.happened.record(self.events.now(), &self.wiring, device, queue, queued, &self.packets[ix as usize], seen);
    }

    /// Sends the next packet of a device, if it is idle.
    pub(crate) fn serve(&mut self, device: u32) {
        let d = device as usize;
        if !self.wiring.devices[d].up || self.devices[d].busy {
            return;
        }
        if self.devices[d].nic != NONE {
            self.serve_host(device);
            return;
        }
        // Queue 0 has strict priority and is never paused, then the others in round robin.
        let running = &mut self.devices[d];
        let ready = running.waiting & (!running.paused | 1);
        if ready == 0 {
            return;
        }
        let queue = if ready & 1 != 0 {
            0
        } else {
            let after = ready & 0xFEu8.checked_shl(running.last as u32).unwrap_or(0);
            let queue = (if after != 0 { after } else { ready }).trailing_zeros();
            running.last = queue as u8;
            queue as usize
        };
        let Some(ix) = running.queues[queue].pop_front() else { return };
        let size = self.packets[ix as usize].size;
        running.bytes[queue] -= size;
        running.queued -= size as u64;
        if running.queues[queue].is_empty() {
            running.waiting &= !(1 << queue);
        }
        self.leaves_switch(device, queue, ix);
        self.note(device, ix, queue as u8, Seen::Dequeued);
        self.transmit(device, ix);
    }

    /// Dequeues a packet at a switch: releases its buffer, marks it, resumes its ingress, and writes telemetry.
    fn leaves_switch(&mut self, device: u32, queue: usize, ix: u32) {
        let d = device as usize;
        let node = self.wiring.devices[d].node;
        let number = self.wiring.devices[d].number as usize - 1;
        let Packet { size, came_by, kind, .. } = self.packets[ix as usize];
        if queue != 0 {
            let switch = self.switch_of[node as usize] as usize;
            let mmu = &mut self.mmus[switch];
            self.lengths.changes(switch, number, mmu.queued(number));
            mmu.release(came_by as usize, number, queue, size);
            if self.config.enable_qcn {
                let marked = match mmu.marks(number, queue) {
                    Mark::No => false,
                    Mark::Yes => true,
                    Mark::Perhaps(p) => self.decisions.draw() < p,
                };
                // A mark on an ACK stays in its IP header, which is ignored.
                self.packets[ix as usize].ce |= marked && kind == Kind::Data;
                self.devices[d].counts.marked += marked as u64;
            }
            if self.mmus[switch].resumes(came_by as usize, queue) {
                let ingress = self.wiring.of_node[node as usize][came_by as usize];
                self.send_pfc(ingress, queue, false);
            }
        }
        if self.stamps && kind == Kind::Data {
            let running = &self.devices[d];
            let hop = IntHop {
                rate: Rate::from_bps(self.wiring.devices[d].rate),
                time: Time::from_ns(self.events.now()),
                sent: running.counts.bytes,
                queued: running.queued,
            };
            self.telemetry[ix as usize].push(NodeId(node), hop);
        }
    }

    /// Starts the transmission of a packet. The event of its end is inserted before that of its arrival.
    pub(crate) fn transmit(&mut self, device: u32, ix: u32) {
        let wire = &self.wiring.devices[device as usize];
        let running = &mut self.devices[device as usize];
        running.busy = true;
        let size = self.packets[ix as usize].size;
        running.counts.packets += 1;
        running.counts.bytes += size as u64;
        let takes = time::transmission(size, wire.rate);
        let now = self.events.now();
        self.events.push(now + takes, Event::Sent(device));
        self.events.push(now + takes + wire.delay, Event::Arrives(wire.peer, ix));
    }

    fn arrives(&mut self, device: u32, ix: u32) {
        let d = device as usize;
        if !self.wiring.devices[d].up {
            self.note(device, ix, 0, Seen::Dropped);
            self.dropped(device, ix, Drop::LinkDown);
            return;
        }
        if let Some((rate, draws)) = self.sources.get_mut(self.devices[d].errors as usize)
            && draws.draw() < *rate
        {
            self.dropped(device, ix, Drop::Error);
            return;
        }
        let Packet { kind, queue, .. } = self.packets[ix as usize];
        self.note(device, ix, if matches!(kind, Kind::Pfc(_)) { 0 } else { queue }, Seen::Received);
        if let Kind::Pfc(pause) = kind {
            self.free.push(ix);
            self.paused(device, queue, pause);
        } else if self.devices[d].nic == NONE {
            self.forward(device, ix);
        } else {
            self.host_receives(device, ix);
        }
    }

    fn paused(&mut self, device: u32, queue: u8, pause: bool) {
        let wire = &self.wiring.devices[device as usize];
        let at = self.events.now();
        let is_switch = self.wiring.is_switch[wire.node as usize];
        self.happened.pauses.push(Pause { at, node: wire.node, is_switch, device: wire.number, pause });
        let bit = 1u8 << queue;
        let running = &mut self.devices[device as usize];
        let since = &mut running.paused_since[queue as usize];
        if pause {
            running.paused |= bit;
            running.counts.pauses += 1;
            *since = at.min(*since);
        } else {
            running.paused &= !bit;
            running.counts.paused += at.saturating_sub(core::mem::replace(since, u64::MAX));
            self.serve(device);
        }
    }

    /// A packet arrives at a switch.
    fn forward(&mut self, device: u32, ix: u32) {
        let wire = &self.wiring.devices[device as usize];
        let (node, came_by) = (wire.node, wire.number - 1);
        let Packet { kind, queue, size, flow, .. } = self.packets[ix as usize];
        let Flow { src, dst, sport, dport, .. } = self.flows[flow as usize];
        // An ACK has swapped addresses and ports and is hashed separately.
        let out = match kind {
            Kind::Data => self.wiring.next(node, src, dst, sport, dport),
            _ => self.wiring.next(node, dst, src, dport, sport),
        };
        let Some(out) = out else {
            self.dropped(device, ix, Drop::NoRoute);
            return;
        };
        let number = self.wiring.devices[out as usize].number as usize - 1;
        let queue = if self.acks_first && kind != Kind::Data { 0 } else { queue as usize };
        self.packets[ix as usize].came_by = came_by;
        if queue != 0 {
            let switch = self.switch_of[node as usize] as usize;
            self.lengths.changes(switch, number, self.mmus[switch].queued(number));
            if !self.mmus[switch].admit(came_by as usize, number, queue, size) {
                self.dropped(device, ix, Drop::Full);
                return;
            }
            if self.mmus[switch].pauses(came_by as usize, queue) {
                self.send_pfc(device, queue, true);
            }
        }
        self.enqueue(out, queue, ix);
    }

    fn enqueue(&mut self, device: u32, queue: usize, ix: u32) {
        self.note(device, ix, queue as u8, Seen::Enqueued);
        let running = &mut self.devices[device as usize];
        let size = self.packets[ix as usize].size;
        running.bytes[queue] += size;
        running.queued += size as u64;
        running.waiting |= 1 << queue;
        if queue != 0 {
            running.counts.peak = running.counts.peak.max(running.bytes[queue] as u64);
        }
        running.queues[queue].push_back(ix);
        self.serve(device);
    }

    /// Sends PAUSE or RESUME to the peer of a device. The id of its IP header takes a random stream.
    fn send_pfc(&mut self, device: u32, queue: usize, pause: bool) {
        self.decisions.skip();
        let packet = Packet {
            kind: Kind::Pfc(pause),
            ce: false,
            queue: queue as u8,
            size: PAUSE_BYTES,
            seq: 0,
            flow: NONE,
            payload: 0,
            came_by: 0,
            sent_at: 0,
        };
        let ix = self.new_packet(packet, None);
        self.enqueue(device, 0, ix);
    }

    pub(crate) fn dropped(&mut self, device: u32, ix: u32, why: Drop) {
        self.free.push(ix);
        *self.drops.entry(why).or_insert(0) += 1;
        self.devices[device as usize].counts.dropped += 1;
        let node = self.wiring.devices[device as usize].node;
        let at = self.events.now();
        self.happened.drop(at, node, why);
    }

    /// The link of the configuration fails: packets queued at its ends are lost, and all paths are computed again.
    fn link_down(&mut self) {
        let Some((_, a, b)) = self.config.link_down else { return };
        let Some((one, two)) = self.wiring.take_down(a, b) else { return };
        for device in [one, two] {
            let running = &mut self.devices[device as usize];
            let lost: Vec<u32> = if running.nic == NONE {
                // Their buffer is not released.
                (running.paused, running.waiting, running.queued) = (0, 0, 0);
                running.bytes = [0; QUEUES];
                running.queues.iter_mut().flat_map(core::mem::take).collect()
            } else {
                self.nics[running.nic as usize].acks.drain(..).collect()
            };
            for ix in lost {
                self.dropped(device, ix, Drop::LinkDown);
            }
        }
        self.redistribute();
    }

    /// A flow is finished, for its sender.
    pub(crate) fn finish(&mut self, flow: u32) {
        let now = self.events.now();
        let f = &mut self.flows[flow as usize];
        f.finished = true;
        f.done_at = now;
        let (host, key) = (f.src as usize, f.key());
        if let Some(order) = self.moved.get_mut(host) {
            order.remove(key);
        }
        let finished = self.record(&self.flows[flow as usize]);
        // FNV-1a over the numbers of the flow's line; summed, so that the order of lines does not matter.
        let numbers = [finished.src as u64, finished.dst as u64, finished.sport as u64, finished.start, finished.took];
        let line =
            numbers.into_iter().fold(0xCBF2_9CE4_8422_2325_u64, |h, n| (h ^ n).wrapping_mul(0x0000_0100_0000_01B3));
        self.hash = self.hash.wrapping_add(line);
        self.happened.finished.push(finished);
    }
}
