//! What an RCC receiver did in a run: the packets to and from its host, and the same receiver fed with them outside the
//! network, whose state can be read at every step.

use crate::common::*;
use fanin_cc::schemes::rcc::receiver::{FlowState, Host};
use fanin_cc::schemes::rcc::window::Window;
use fanin_cc::schemes::rcc::{Params, SenderKind};
use fanin_cc::{AckFields, Actions, Cx, Data, Emit, FlowInfo, NicInfo, Receiver, ReceiverFlow, Settings, flags};
use fanin_endpoint::tcp::{Segment, bits};
use fanin_fabric::tap::{Seen, Wanted};
use fanin_fabric::topology::Graph;
use fanin_fabric::*;
use fanin_units::{MessageId, NodeId, Time};
use std::collections::BTreeMap;

/// The delay of a link in the paper.
pub const LINK: Time = Time::from_us(40);
/// A full packet on a link of 1 Gb/s, and an ACK.
pub const FULL: Time = Time::from_us(12);
pub const ACK: Time = Time::from_ns(512);
/// A round trip of the paper's star: 160 us, and what its four transmissions take.
pub const BASE: Time = Time::from_ns(160_000 + 24_000 + 1024);

/// Section 6: hosts around a switch, 1 Gb/s and 40 us a link, 80 packets a port. The last host receives.
pub fn paper(senders: u32, marking: Marking) -> NetworkConfig {
    let links: Vec<_> = (0..=senders).map(|host| (host, senders + 1, gbps(1), LINK)).collect();
    small(graph(senders + 1, 1, &links), marking)
}

/// The same with a link in the middle, so fast and short that a packet can be lost on it alone: see [`Losses`].
pub fn split(senders: u32, marking: Marking) -> NetworkConfig {
    let (left, right) = (senders + 1, senders + 2);
    let mut links = vec![(left, right, gbps(100), Time::from_ps(1))];
    links.extend((0..senders).map(|host| (host, left, gbps(1), LINK)));
    links.push((senders, right, gbps(1), LINK));
    small(graph(senders + 1, 2, &links), marking)
}

fn small(graph: Graph, marking: Marking) -> NetworkConfig {
    NetworkConfig { classes: vec![class(false, marking)], buffer: lossless(80 * WIRE, None), ..network(graph) }
}

/// Section 6: marks above 40 packets.
pub fn step() -> Marking {
    Marking::Step { above: 40 * WIRE, at: MarkAt::Enqueue }
}

/// RCC whose sender has no window of its own, as the paper's; windows are not scaled. Both timeouts are 10 ms.
pub fn rcc(change: impl FnOnce(&mut Params)) -> TrafficConfig {
    let mut traffic = over_tcp("rcc");
    let Settings::Rcc(_, params) = &mut traffic.scheme else { panic!() };
    params.sender = SenderKind::Advertised;
    change(params);
    traffic.ecn = params.ecn;
    let tcp = &mut traffic.tcp.as_mut().unwrap().connection;
    (tcp.window_scaling, tcp.receive_buffer, tcp.ecn) = (false, 65_535, params.ecn);
    (tcp.initial_rto, tcp.min_rto) = (Time::from_ms(10), Time::from_ms(10));
    traffic
}

pub fn params(traffic: &TrafficConfig) -> &Params {
    let Settings::Rcc(_, params) = &traffic.scheme else { panic!("{} is not RCC", traffic.name) };
    params
}

/// A packet on a link.
#[derive(Clone, Debug)]
pub struct Packet {
    /// When its first bit left, and when its last one arrives if it is not lost.
    pub left: Time,
    pub arrives: Time,
    pub from: u32,
    pub to: u32,
    /// The number of its connection.
    pub flow: u32,
    pub segment: Segment,
    pub ce: bool,
}

impl Packet {
    /// Stream bytes: offset of the first, and the offset behind the last.
    pub fn bytes(&self) -> (u64, u64) {
        let from = self.segment.seq.saturating_sub(1);
        (from, from + self.segment.len as u64)
    }

    /// Whether it carries data.
    pub fn is_data(&self) -> bool {
        self.segment.len > 0
    }

    /// Where the window ends that it tells, as an offset in the stream.
    pub fn edge(&self) -> u64 {
        self.segment.ack.saturating_sub(1) + self.segment.window as u64
    }
}

/// Runs a simulation to a time and returns every packet on the links between these nodes, in order of time.
pub fn watch(sim: &mut Simulation, pairs: &[(u32, u32)], until: Time) -> Vec<Packet> {
    let links = pairs.iter().map(|(from, to)| port(sim, *from, *to)).collect();
    sim.tap(&Wanted { links, ..Wanted::default() });
    let graph = sim.config().graph.clone();
    let (mut packets, mut seen) = (Vec::new(), Vec::new());
    while sim.now() < until && !sim.is_over() {
        run_to(sim, (sim.now() + Time::from_ms(5)).min(until));
        sim.take_seen(&mut seen);
        for seen in &seen {
            let Seen::Packet(packet) = seen else { continue };
            let link = &graph.links[packet.port.ix() / 2];
            let (a, b) = (link.a.0, link.b.0);
            let (from, to) = if packet.port.ix() % 2 == 0 { (a, b) } else { (b, a) };
            packets.push(Packet {
                left: packet.time,
                arrives: packet.time + link.rate.tx_time(packet.head.wire as u64) + link.delay,
                from,
                to,
                flow: packet.channel.0,
                segment: packet.segment.expect("all is TCP"),
                ce: packet.head.has(flags::CE),
            });
        }
    }
    packets
}

/// Losses by script, of packets between the switches of [`split`].
pub struct Losses {
    pub config: NetworkConfig,
    after: Time,
}

impl Losses {
    pub fn new(config: NetworkConfig) -> Self {
        Self { config, after: Time::ZERO }
    }

    /// The next packet for which `which` holds, after those that are lost already, is lost too. Its link is down while
    /// it is sent. When that is.
    pub fn lose(&mut self, traffic: &TrafficConfig, messages: &[Message], which: impl Fn(&Packet) -> bool) -> Time {
        let mut sim = simulation(self.config.clone(), vec![traffic.clone()], messages.to_vec());
        let (a, b) = (self.config.graph.links[0].a.0, self.config.graph.links[0].b.0);
        let packets = watch(&mut sim, &[(a, b), (b, a)], Time::from_s(2));
        let lost = packets.iter().find(|p| p.left > self.after && which(p)).expect("there is such a packet");
        let beside = packets.iter().filter(|p| p.left <= lost.left + ns(2) && p.arrives > lost.left + ns(1)).count();
        assert_eq!(beside, 1, "another packet would be lost too");
        self.config.graph.links[0].outages.push((lost.left + ns(1), lost.left + ns(2)));
        self.after = lost.left + ns(2);
        lost.left
    }
}

/// An ACK that left the queue.
#[derive(Clone, Copy, Debug)]
pub struct Released {
    pub time: Time,
    pub flow: u32,
    pub fields: AckFields,
    /// Windows in flight before and after.
    pub in_flight: (u64, u64),
}

#[derive(Default)]
struct Stream {
    state: FlowState,
    slot: u32,
    next: u64,
    ahead: BTreeMap<u64, u64>,
}

/// An RCC receiver fed with the packets that arrived at a host.
pub struct Replay {
    pub host: Host,
    pub actions: Actions,
    pub released: Vec<Released>,
    params: Params,
    streams: BTreeMap<u32, Stream>,
    names: Vec<u32>,
    now: Time,
}

impl Replay {
    pub fn new(sim: &Simulation, params: &Params) -> Self {
        let nic = NicInfo::new(gbps(1), sim.network_rtt(), PAYLOAD as u32, WIRE as u32);
        Self {
            host: Host::new(params, &nic),
            actions: Actions::default(),
            released: Vec::new(),
            params: params.clone(),
            streams: BTreeMap::new(),
            names: Vec::new(),
            now: Time::ZERO,
        }
    }

    fn hook<T>(&mut self, flow: u32, hook: impl FnOnce(&mut Host, &mut FlowState, &mut Cx<'_, Params>) -> T) -> T {
        let state = &mut self.streams.get_mut(&flow).expect("an open flow").state;
        hook(&mut self.host, state, &mut Cx::new(self.now, &self.params, &mut (), &mut self.actions))
    }

    fn poll(&mut self) {
        loop {
            let (before, shared) = (self.host.in_flight(), &mut ());
            let cx = &mut Cx::new(self.now, &self.params, shared, &mut self.actions);
            let Some(Emit::Ack(slot, fields)) = self.host.poll_transmit(cx) else { return };
            let flow = self.names[slot.0 as usize];
            self.released.push(Released { time: self.now, flow, fields, in_flight: (before, self.host.in_flight()) });
        }
    }

    /// The timers until a time.
    pub fn until(&mut self, time: Time) {
        while self.host.wake_at() <= time {
            self.now = self.host.wake_at();
            let shared = &mut ();
            let cx = &mut Cx::new(self.now, &self.params, shared, &mut self.actions);
            self.host.on_timer(0, cx);
            self.poll();
        }
        self.now = time;
    }

    /// A packet arrives, of a flow of `size` bytes.
    pub fn arrive(&mut self, packet: &Packet, size: u64) {
        self.until(packet.arrives);
        let (flow, segment) = (packet.flow, &packet.segment);
        if !self.streams.contains_key(&flow) {
            let slot = self.names.len() as u32;
            self.names.push(flow);
            self.streams.insert(flow, Stream { slot, ..Stream::default() });
            let info = FlowInfo::new(ReceiverFlow(slot), MessageId(flow), NodeId(packet.from));
            let info = FlowInfo { size: (size < Message::ENDLESS).then_some(size), ..info };
            self.hook(flow, |host, state, cx| host.on_open(&info, state, cx));
            self.hook(flow, |host, state, cx| host.on_syn(ReceiverFlow(slot), state, cx));
            self.poll();
        }
        if packet.is_data() {
            let stream = self.streams.get_mut(&flow).expect("an open flow");
            let (from, to) = packet.bytes();
            let before = stream.next;
            if to > stream.next {
                stream.ahead.insert(from, to);
            }
            while let Some((_, to)) = stream.ahead.range(..=stream.next).next_back().map(|(f, t)| (*f, *t))
                && to > stream.next
            {
                stream.next = to;
            }
            let data = Data {
                flow: ReceiverFlow(stream.slot),
                seq: from,
                acked_to: stream.next,
                in_order: stream.next > before,
                payload: segment.len,
                wire: segment.len + PACKET.header as u32,
                ce: packet.ce,
                ..Data::default()
            };
            self.hook(flow, |host, state, cx| host.on_data(&data, state, cx));
            self.poll();
        }
        if segment.has(bits::FIN) {
            let slot = ReceiverFlow(self.streams[&flow].slot);
            self.hook(flow, |host, state, cx| host.on_fin(slot, state, cx));
            self.poll();
        }
    }

    /// The offset up to which a flow has arrived.
    pub fn next(&self, flow: u32) -> u64 {
        self.streams[&flow].next
    }

    /// The window of a flow, and its smoothed round-trip time.
    pub fn window(&self, flow: u32) -> (&Window, Option<Time>) {
        self.host.window(&self.streams[&flow].state).expect("an open flow")
    }

    /// W_i of a flow, in segments.
    pub fn ceiling(&self, flow: u32) -> u64 {
        self.host.ceiling(&self.streams[&flow].state).expect("an open flow")
    }

    /// The same ACKs left the host in the run, in the same order, at most when some ACKs before them had left.
    pub fn check_against(&self, sent: &[&Packet]) {
        assert!(self.released.len() - sent.len().min(self.released.len()) <= 1, "{}", sent.len());
        for (released, sent) in self.released.iter().zip(sent) {
            let of = |window: Option<u32>| window.map_or(65_535, |window| window.min(65_535));
            let (window, push) = (of(released.fields.window), sent.segment.has(bits::PSH));
            // On a SYN-ACK the bit is an agreement.
            let echo = sent.segment.has(bits::ECE) && !sent.segment.has(bits::SYN);
            assert_eq!(
                (released.flow, window, released.fields.push, released.fields.ecn_echo),
                (sent.flow, sent.segment.window as u32, push, echo),
                "{released:?} {sent:?}"
            );
            assert!(sent.left >= released.time && sent.left < released.time + us(60), "{released:?} {sent:?}");
        }
    }
}

/// The packets that reached a host before a time, in order.
pub fn arrivals(packets: &[Packet], host: u32, until: Time) -> impl Iterator<Item = &Packet> {
    packets.iter().filter(move |p| p.to == host && p.arrives < until)
}

/// The packets that left a host.
pub fn departures(packets: &[Packet], host: u32) -> Vec<&Packet> {
    packets.iter().filter(|p| p.from == host).collect()
}
