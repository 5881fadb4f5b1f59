//! The network: its state, and the effect of each event.

use crate::events::{Event, Queue};
use crate::flow::{Flow, Nic};
use crate::mmu::{Mmu, QUEUES};
use crate::order::Order;
use crate::packet::Pool;
use crate::random::{Decisions, Errors};
use crate::results::{Drop, Finished, Happened, QueueLengths, Seen};
use crate::time;
use crate::wiring::{NONE, Wiring};
use fanin_cc::{Actions, Instance, Settings};
use fanin_formats::hpcc;
use std::collections::{BTreeMap, VecDeque};

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
#[derive(Default)]
pub(crate) struct Running {
    /// Whether it is sending a packet.
    pub(crate) busy: bool,
    /// Bit q: the peer paused queue q.
    pub paused: u8,
    /// Bit q: queue q is not empty.
    pub(crate) waiting: u8,
    /// The queue served last.
    pub(crate) last: u8,
    /// The error source of its link, or none.
    pub(crate) errors: u32,
    /// Index in [`Network::nics`], for a host.
    pub nic: u32,
    /// Bytes in all queues.
    pub(crate) queued: u64,
    /// Its counters.
    pub(crate) counts: Counts,
    pub(crate) bytes: [u32; QUEUES],
    /// Queued packets, for a switch.
    pub(crate) queues: [VecDeque<u32>; QUEUES],
    /// Time at which the peer paused each queue, or `u64::MAX`.
    pub(crate) paused_since: [u64; QUEUES],
}

/// The shared buffers of switches.
pub(crate) struct Buffers {
    pub(crate) mmus: Vec<Mmu>,
    /// By node: index in `mmus`, for a switch.
    pub(crate) switch_of: Vec<u32>,
}

/// The flows of the file.
#[derive(Default)]
pub(crate) struct FlowFile {
    pub(crate) flows: Vec<hpcc::Flow>,
    /// How many have been read so far.
    pub(crate) read: usize,
    /// The next port of each ordered pair of hosts.
    pub(crate) ports: BTreeMap<(u32, u32), u16>,
}

/// Random draws at switches and links.
pub(crate) struct Chance {
    pub(crate) decisions: Decisions,
    /// Error sources, with their rates.
    pub(crate) sources: Vec<(f64, Errors)>,
}

/// The complete state of a run.
pub struct Network {
    pub(crate) config: hpcc::Config,
    pub(crate) wiring: Wiring,
    pub(crate) events: Queue,
    pub(crate) devices: Vec<Running>,
    pub(crate) nics: Vec<Nic>,
    pub(crate) buffers: Buffers,
    pub(crate) pool: Pool,
    pub(crate) flows: Vec<Flow>,
    pub(crate) file: FlowFile,
    /// Each host's flows in the order in which they move to other devices, if a link will fail.
    pub(crate) moved: Vec<Order>,
    pub(crate) scheme: Instance,
    /// Bytes of the scheme's header.
    pub(crate) overhead: u32,
    pub(crate) largest: (u64, u64),
    pub(crate) chance: Chance,
    pub(crate) traced: Vec<bool>,
    pub(crate) acks_first: bool,
    /// Insertion time of the current event, ns.
    pub(crate) asked: u64,
    pub(crate) lengths: QueueLengths,
    pub(crate) stop: u64,
    pub(crate) stopped: bool,
    /// Records since they were last taken.
    pub happened: Happened,
    /// NACKs sent.
    pub nacks: u64,
    pub(crate) drops: BTreeMap<Drop, u64>,
    /// Sum of a hash over finished flows.
    pub(crate) hash: u64,
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
        let buffers = shared_buffers(&config, &wiring, host_rate);
        let (sources, of_link) = error_sources(config.error_rate_per_link, &topology.links);
        let (devices, nics) = idle_devices(&wiring, &of_link);
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
        let switches = buffers.mmus.len();
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
            buffers,
            pool: Pool { stamps: overhead.telemetry, ..Pool::default() },
            flows: Vec::new(),
            file: FlowFile { flows, ..FlowFile::default() },
            moved: vec![Order::default(); if config_moves { nodes } else { 0 }],
            scheme: settings.build(),
            overhead: overhead.data as u32,
            largest,
            chance: Chance { decisions: Decisions::new(first_draw), sources },
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

    /// Bytes that wait at a device.
    pub fn queued(&self, device: u32) -> u64 {
        self.devices[device as usize].queued
    }

    /// The buffer of a switch.
    ///
    /// # Panics
    /// If the node is none.
    pub fn buffer(&self, switch: u32) -> &Mmu {
        &self.buffers.mmus[self.buffers.switch_of[switch as usize] as usize]
    }

    /// Devices and paths.
    pub fn wiring(&self) -> &Wiring {
        &self.wiring
    }

    /// Number of flows opened, and of those finished.
    pub fn opened(&self) -> (usize, usize) {
        (self.flows.len(), self.flows.iter().filter(|flow| flow.finished).count())
    }

    /// Records an event of a packet at a traced node.
    #[inline]
    pub(crate) fn note(&mut self, device: u32, ix: u32, queue: u8, seen: Seen) {
        let node = self.wiring.devices[device as usize].node;
        if !self.traced[node as usize] {
            return;
        }
        let queued = self.devices[device as usize].bytes[queue as usize] as u64;
        self.happened.record(
            self.events.now(),
            &self.wiring,
            device,
            queue,
            queued,
            &self.pool.packets[ix as usize],
            seen,
        );
    }

    /// Whether a device can send now.
    pub(crate) fn is_free(&self, device: u32) -> bool {
        self.wiring.devices[device as usize].up && !self.devices[device as usize].busy
    }

    /// Starts the transmission of a packet. The event of its end is inserted before that of its arrival.
    pub(crate) fn transmit(&mut self, device: u32, ix: u32) {
        let wire = &self.wiring.devices[device as usize];
        let running = &mut self.devices[device as usize];
        running.busy = true;
        let size = self.pool.packets[ix as usize].size;
        running.counts.packets += 1;
        running.counts.bytes += size as u64;
        let takes = time::transmission(size, wire.rate);
        let now = self.events.now();
        self.events.push(now + takes, Event::Sent(device));
        self.events.push(now + takes + wire.delay, Event::Arrives(wire.peer, ix));
    }

    pub(crate) fn dropped(&mut self, device: u32, ix: u32, why: Drop) {
        self.pool.free.push(ix);
        *self.drops.entry(why).or_insert(0) += 1;
        self.devices[device as usize].counts.dropped += 1;
        let node = self.wiring.devices[device as usize].node;
        let at = self.events.now();
        if let Some(flow) = self.flows.get_mut(self.pool.packets[ix as usize].flow as usize) {
            flow.touched = at;
        }
        self.happened.drop(at, node, why);
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

/// The shared buffer of each switch.
fn shared_buffers(config: &hpcc::Config, wiring: &Wiring, host_rate: u64) -> Buffers {
    let mut switch_of = vec![NONE; wiring.is_switch.len()];
    let mut mmus = Vec::new();
    for (node, number) in switch_of.iter_mut().enumerate().filter(|(node, _)| wiring.is_switch[*node]) {
        *number = mmus.len() as u32;
        let of = |d: &u32| (wiring.devices[*d as usize].rate, wiring.devices[*d as usize].delay);
        let devices: Vec<(u64, u64)> = wiring.of_node[node].iter().map(of).collect();
        mmus.push(Mmu::new(config, &devices, host_rate));
    }
    Buffers { mmus, switch_of }
}

/// One error source for all links without a rate of their own, and one for each of the others; then the source of each
/// link.
fn error_sources(common: f64, links: &[hpcc::Link]) -> (Vec<(f64, Errors)>, Vec<u32>) {
    let mut sources = vec![(common, Errors::default())];
    let mut of_link = Vec::new();
    for link in links {
        if link.error_rate > 0.0 {
            of_link.push(sources.len() as u32);
            sources.push((link.error_rate, Errors::default()));
        } else {
            of_link.push(if common > 0.0 { 0 } else { NONE });
        }
    }
    (sources, of_link)
}

/// The devices of all links, two each, and the NICs of those at hosts.
fn idle_devices(wiring: &Wiring, errors_of_link: &[u32]) -> (Vec<Running>, Vec<Nic>) {
    let mut nics = Vec::new();
    let devices = wiring.devices.iter().enumerate().map(|(i, device)| {
        let is_switch = wiring.is_switch[device.node as usize];
        if !is_switch {
            nics.push(Nic::default());
        }
        Running {
            paused_since: [u64::MAX; QUEUES],
            errors: errors_of_link[i / 2],
            nic: if is_switch { NONE } else { nics.len() as u32 - 1 },
            ..Running::default()
        }
    });
    (devices.collect(), nics)
}
