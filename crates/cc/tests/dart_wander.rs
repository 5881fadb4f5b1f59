//! Dart's messages cross random networks of switches and must arrive in order; other ways to deflect reorder them.

use crate::common::cases;
use crate::common::dart_switch::*;
use fanin_cc::schemes::dart::{Blocked, Dart, Deflect, Escape, LaneCount, Params, TableKey};
use fanin_cc::*;
use fanin_units::{Bytes, NodeId, Rate, Time};
use proptest::prelude::*;
use std::collections::VecDeque;

/// Draws of the model below (xorshift64*).
struct Draw(u64);

impl Draw {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % n as u64) as usize
    }
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// A packet in the model, with its history: switch, tokens and lane after each routing decision.
#[derive(Clone, Debug)]
struct Traveller {
    header: Header,
    trace: Vec<(usize, u16, u8, u8)>,
    misroutes: usize,
}

/// One transmission of a message.
#[derive(Clone, Default)]
struct Attempt {
    injected: u16,
    /// Numbers of its packets as they arrived.
    arrived: Vec<u64>,
    /// The history of its first packet.
    way: Vec<(usize, u16, u8, u8)>,
    /// A failure hit it, so it need not arrive, nor in order.
    hit: bool,
}

struct Message {
    src: usize,
    dst: usize,
    packets: u16,
    attempts: Vec<Attempt>,
}

impl Message {
    fn done(&self) -> bool {
        self.attempts.last().expect("one at least").arrived.len() == self.packets as usize
    }
}

/// The links as all switches see them. Port 0 of a switch leads to its host, the others to switches. A link has no
/// delay, so packets wait only in queues.
struct Links {
    /// Behind each port: switch and port there.
    peers: Vec<Vec<(usize, u16)>>,
    distance: Vec<Vec<usize>>,
    queues: Vec<Vec<[VecDeque<Traveller>; 2]>>,
    /// Bytes of others that wait in each lane, and whether it is paused: as the model likes.
    others: Vec<Vec<[u64; 2]>>,
    paused: Vec<Vec<[bool; 2]>>,
}

/// The ports of one switch.
struct At<'a>(&'a Links, usize);

impl Ports for At<'_> {
    fn count(&self) -> u16 {
        self.0.peers[self.1].len() as u16
    }
    fn view(&self, port: u16) -> PortView {
        PortView { to_switch: port > 0, ..PortView::new(Rate::from_gbps(10)) }
    }
    fn queued(&self, port: u16, _: &Header, lane: u8) -> u64 {
        let (port, lane) = (port as usize, lane as usize);
        let own: u64 = self.0.queues[self.1][port][lane].iter().map(|t| t.header.wire as u64).sum();
        own + self.0.others[self.1][port][lane]
    }
    fn paused(&self, port: u16, _: &Header, lane: u8) -> bool {
        self.0.paused[self.1][port as usize][lane as usize]
    }
}

impl Links {
    fn new(switches: usize, edges: &[(usize, usize)]) -> Self {
        let mut peers: Vec<Vec<(usize, u16)>> = (0..switches).map(|_| vec![(usize::MAX, 0)]).collect();
        for &(a, b) in edges {
            let (port_a, port_b) = (peers[a].len() as u16, peers[b].len() as u16);
            peers[a].push((b, port_b));
            peers[b].push((a, port_a));
        }
        let mut distance = vec![vec![usize::MAX; switches]; switches];
        for (from, row) in distance.iter_mut().enumerate() {
            row[from] = 0;
            let mut next = VecDeque::from([from]);
            while let Some(at) = next.pop_front() {
                for &(to, _) in &peers[at][1..] {
                    if row[to] == usize::MAX {
                        row[to] = row[at] + 1;
                        next.push_back(to);
                    }
                }
            }
        }
        let queues = peers.iter().map(|p| p.iter().map(|_| Default::default()).collect()).collect();
        let others = peers.iter().map(|p| vec![[0; 2]; p.len()]).collect();
        let paused = peers.iter().map(|p| vec![[false; 2]; p.len()]).collect();
        Self { peers, distance, queues, others, paused }
    }

    /// Row D6: a shortest way, the same for all packets of a message.
    fn minimal(&self, at: usize, flow: u32, dst: usize) -> u16 {
        if at == dst {
            return 0;
        }
        let nearer = |port: &usize| self.distance[self.peers[at][*port].0][dst] < self.distance[at][dst];
        let ports: Vec<usize> = (1..self.peers[at].len()).filter(nearer).collect();
        ports[(flow as usize * 7 + at * 3) % ports.len()] as u16
    }
}

struct Net {
    links: Links,
    switches: Vec<Switch>,
    messages: Vec<Message>,
    /// Entries made.
    made: u64,
    /// A message had two entries at a switch, so it has come back there.
    came_back: u64,
}

impl Net {
    fn new(links: Links, params: &Params, seed: u64) -> Self {
        let switches = (0..links.peers.len() as u64).map(|i| Switch::new(params.clone(), seed ^ i << 32)).collect();
        Self { links, switches, messages: Vec::new(), made: 0, came_back: 0 }
    }

    fn post(&mut self, src: usize, dst: usize, packets: u16) {
        self.messages.push(Message { src, dst, packets, attempts: vec![Attempt::default()] });
    }

    /// The host sends the next packet of a message, if there is one.
    fn send(&mut self, message: usize) {
        let options = Dart::send_options(&self.switches[0].params, 1000, 0, false);
        let m = &mut self.messages[message];
        let attempt = m.attempts.len() as u16 - 1;
        let last = m.attempts.last_mut().expect("one at least");
        if last.injected == m.packets {
            return;
        }
        let header = Header {
            attempt,
            tokens: options.tokens,
            lane: options.lane,
            dst: NodeId(m.dst as u32),
            ..packet(message as u32, last.injected, m.packets)
        };
        last.injected += 1;
        let src = m.src;
        self.arrive(src, 0, Traveller { header, trace: Vec::new(), misroutes: 0 });
    }

    fn arrive(&mut self, at: usize, ingress: u16, mut t: Traveller) {
        let before = t.header;
        let minimal = self.links.minimal(at, before.flow.0, before.dst.ix());
        let s = &mut self.switches[at];
        let entries = s.table.len();
        let ports = At(&self.links, at);
        let out = s.cx(|table, cx| table.route(&mut t.header, ingress, minimal, &ports, cx));
        if s.table.len() > entries {
            self.made += 1;
            let own = s.table.entries().iter().filter(|e| (e.flow, e.attempt) == (before.flow, before.attempt));
            self.came_back += u64::from(own.count() > 1);
        }
        assert!(s.table.len() <= s.params.table_entries as usize);
        assert_eq!(s.table.is_empty(), s.table.wake_at() == Time::NEVER);
        let after = t.header;
        assert!(after.tokens <= before.tokens && after.lane <= before.lane, "{before:?} {after:?}");
        let escaped = before.lane == 0 && s.params.lanes == LaneCount::Two;
        assert!(!escaped || out == minimal, "the escape lane is never deflected");
        if out != minimal {
            assert_eq!(after.tokens, before.tokens - 1);
            assert_ne!(out, 0, "never to another host");
            t.misroutes += 1;
        } else if after.tokens != before.tokens {
            assert_eq!((after.tokens, after.lane, s.params.blocked), (0, 0, Blocked::Duato));
        }
        t.trace.push((at, out, after.tokens, after.lane));
        self.links.queues[at][out as usize][after.lane as usize].push_back(t);
    }

    /// A queue serves a packet.
    fn serve(&mut self, at: usize, port: u16, lane: usize) {
        let Some(t) = self.links.queues[at][port as usize][lane].pop_front() else { return };
        let (peer, peer_port) = self.links.peers[at][port as usize];
        if port > 0 {
            return self.arrive(peer, peer_port, t);
        }
        assert_eq!(at, t.header.dst.ix());
        let m = &mut self.messages[t.header.flow.ix()];
        // each misroute costs a hop and at most one more to undo it, where the recovery is by shortest ways
        let most = Dart::send_options(&self.switches[0].params, 1000, 0, false).tokens as usize;
        assert!(t.misroutes <= most, "{t:?}");
        assert!(t.trace.len() - 1 <= self.links.distance[m.src][m.dst] + 2 * t.misroutes, "{t:?}");
        let attempt = &mut m.attempts[t.header.attempt as usize];
        attempt.arrived.push(t.header.seq);
        if t.header.seq == 0 {
            attempt.way = t.trace;
        } else if self.switches[0].params.table_key == TableKey::MessageAndTokens
            && self.switches[0].params.deflect == Deflect::Message
            && !attempt.hit
        {
            assert_eq!(attempt.way, t.trace, "one way, and the same tokens and lanes all along it");
        }
    }

    fn waiting(&self) -> Vec<(usize, u16, usize)> {
        let mut waiting = Vec::new();
        for (at, ports) in self.links.queues.iter().enumerate() {
            for (port, lanes) in ports.iter().enumerate() {
                for (lane, queue) in lanes.iter().enumerate() {
                    if !queue.is_empty() {
                        waiting.push((at, port as u16, lane));
                    }
                }
            }
        }
        waiting
    }

    /// A failure hit this transmission: the host sends the whole message again.
    fn hit(&mut self, message: usize, attempt: u16) {
        let attempts = &mut self.messages[message].attempts;
        attempts[attempt as usize].hit = true;
        if attempt as usize + 1 == attempts.len() {
            attempts.push(Attempt::default());
        }
    }

    fn drop_one(&mut self, at: usize, port: u16, lane: usize) {
        let Some(t) = self.links.queues[at][port as usize][lane].pop_front() else { return };
        self.switches[at].cx(|table, cx| table.on_drop(&t.header, cx));
        let (flow, attempt) = (t.header.flow, t.header.attempt);
        assert!(!self.switches[at].table.entries().iter().any(|e| (e.flow, e.attempt) == (flow, attempt)));
        self.hit(flow.ix(), attempt);
    }

    /// The link goes down and up again.
    fn flap(&mut self, at: usize, port: u16) {
        for (at, port) in [(at, port), self.links.peers[at][port as usize]] {
            for lane in [0, 1] {
                while !self.links.queues[at][port as usize][lane].is_empty() {
                    self.drop_one(at, port, lane);
                }
            }
            let gone: Vec<_> = self.switches[at].table.entries().iter().filter(|e| e.port == port).copied().collect();
            self.switches[at].cx(|table, cx| table.on_link_down(port, cx));
            gone.iter().for_each(|e| self.hit(e.flow.ix(), e.attempt));
        }
    }

    fn count(&self, action: Action) -> u64 {
        self.switches.iter().map(|s| s.count(action)).sum()
    }

    /// Transmissions that no failure hit and whose packets came in another order, and those where the end packet
    /// overtook.
    fn reordered(&self) -> (usize, usize) {
        let (mut reordered, mut ends) = (0, 0);
        for m in &self.messages {
            for a in m.attempts.iter().filter(|a| !a.hit) {
                reordered += usize::from(!a.arrived.is_sorted());
                ends += usize::from(a.arrived.last() != Some(&(m.packets as u64 - 1)));
            }
        }
        (reordered, ends)
    }
}

/// Random messages cross a random network until all have arrived.
fn wander(seed: u64, failures: bool, change: impl Fn(&mut Params)) -> Net {
    let mut draw = Draw::new(seed);
    // a ring with a few chords: deflected messages come back often
    let switches = 3 + draw.below(5);
    let mut edges: Vec<(usize, usize)> = (0..switches).map(|i| (i, (i + 1) % switches)).collect();
    for _ in 0..draw.below(4) {
        let (a, b) = (draw.below(switches), draw.below(switches));
        if a != b {
            edges.push((a, b));
        }
    }
    let mut params = Params {
        tokens: 1 + draw.below(7) as u8,
        table_entries: 1 + draw.below(10) as u32,
        threshold: Bytes(draw.below(15_000) as u64),
        last_hop: draw.one_in(2),
        avoid_full: draw.one_in(2),
        escape: if draw.one_in(2) { Escape::AfterLastMisroute } else { Escape::OnLastMisroute },
        lanes: if draw.one_in(4) { LaneCount::One } else { LaneCount::Two },
        blocked: if draw.one_in(3) { Blocked::Duato } else { Blocked::Stay },
        ..preset()
    };
    change(&mut params);
    let mut net = Net::new(Links::new(switches, &edges), &params, seed);
    for _ in 0..4 + draw.below(30) {
        let (src, dst) = (draw.below(switches), draw.below(switches));
        net.post(src, dst, 1 + draw.below(6) as u16);
    }
    let open = 1 + draw.below(12);
    let hot = 1 + draw.below(3);
    let mut now = Time::ZERO;
    for step in 0.. {
        now += Time::from_ns(draw.below(100) as u64);
        net.switches.iter_mut().for_each(|s| s.now = now);
        // the others come and go
        for _ in 0..if step == 0 { 10 * switches } else { 1 } {
            let at = draw.below(switches);
            let (port, lane) = (draw.below(net.links.peers[at].len()), draw.below(2));
            net.links.others[at][port][lane] = if draw.one_in(hot) { 20_000 } else { draw.below(15_000) as u64 };
            net.links.paused[at][port][lane] = draw.one_in(3);
        }
        let waiting = net.waiting();
        let unfinished: Vec<usize> = (0..net.messages.len()).filter(|m| !net.messages[*m].done()).take(open).collect();
        if waiting.is_empty() && unfinished.is_empty() {
            break;
        }
        // failures end, or the messages would not
        if failures && step < 2000 && draw.one_in(40) {
            if let Some(&(at, port, lane)) = waiting.get(draw.below(20)) {
                net.drop_one(at, port, lane);
            }
            let at = draw.below(switches);
            if draw.one_in(4) {
                net.flap(at, 1 + draw.below(net.links.peers[at].len() - 1) as u16);
            }
        } else if !unfinished.is_empty() && draw.one_in(3) {
            net.send(unfinished[draw.below(unfinished.len())]);
        } else if !waiting.is_empty() {
            let (at, port, lane) = waiting[draw.below(waiting.len())];
            net.serve(at, port, lane);
        }
    }
    net
}

proptest! {
    #![proptest_config(cases())]

    /// In order, by one way, no entry left, no token below zero, no hop too many (the last two in [`Net`]).
    #[test]
    fn messages_stay_in_order(seed: u64) {
        let net = wander(seed, false, |_| {});
        prop_assert_eq!(net.reordered(), (0, 0));
        for s in &net.switches {
            prop_assert!(s.table.is_empty());
            prop_assert_eq!(s.table.wake_at(), Time::NEVER);
        }
        prop_assert_eq!(net.count(Action::EntryFreed), net.made);
        prop_assert_eq!(net.count(Action::EntryFlushed) + net.count(Action::EntryReclaimed), 0);
    }

    /// Messages not hit by a failure keep their order beside those that are, and stale entries are reclaimed.
    #[test]
    fn failures_leave_the_others_in_order(seed: u64) {
        let mut net = wander(seed, true, |_| {});
        prop_assert_eq!(net.reordered(), (0, 0));
        for i in 0..net.switches.len() {
            let (end, after) = (net.switches[i].now, net.switches[i].params.reclaim_after);
            for e in net.switches[i].table.entries() {
                prop_assert!(net.messages[e.flow.ix()].attempts[e.attempt as usize].hit, "leaked: {:?}", e);
            }
            while net.switches[i].table.wake_at() != Time::NEVER {
                let wake_at = net.switches[i].table.wake_at();
                prop_assert!(wake_at <= end + after, "{:?}", wake_at);
                net.switches[i].now = wake_at;
                net.switches[i].timer();
                prop_assert!(net.switches[i].table.wake_at() > wake_at);
            }
            prop_assert!(net.switches[i].table.is_empty());
        }
        let gone = [Action::EntryFreed, Action::EntryFlushed, Action::EntryReclaimed];
        prop_assert_eq!(gone.iter().map(|a| net.count(*a)).sum::<u64>(), net.made);
    }
}

/// The same messages by Dart, by a table found by message alone, and packet by packet: only the first keeps their
/// order.
#[test]
fn counter_examples_reorder() {
    let run = |change: fn(&mut Params)| {
        let (mut reordered, mut ends, mut came_back, mut spent) = (0, 0, 0, 0);
        for seed in 0..300 {
            let net = wander(seed, false, change);
            let (r, e) = net.reordered();
            (reordered, ends) = (reordered + r, ends + e);
            (came_back, spent) = (came_back + net.came_back, spent + net.count(Action::TokenSpent));
        }
        (reordered, ends, came_back, spent)
    };
    let (reordered, _, came_back, spent) = run(|_| {});
    assert_eq!(reordered, 0);
    assert!(came_back > 100 && spent > 10_000, "{came_back} {spent}");
    let (reordered, ends, ..) = run(|p| p.table_key = TableKey::Message);
    assert!(reordered > 20 && ends > 20, "{reordered} {ends}");
    let (reordered, ends, _, spent) = run(|p| p.deflect = Deflect::Packet);
    assert!(reordered > 500 && ends > 500 && spent > 10_000, "{reordered} {ends} {spent}");
}

/// An event at the switches A (0), B (1) and C (2), A linked to both others. A message goes from A's host to
/// B's.
#[derive(Clone, Copy)]
enum Step {
    Send,
    /// Packets that wait at A for B in this lane.
    ToB(usize),
    /// A packet goes from A to C, or returns.
    ToC(usize),
    BackToA(usize),
    /// The queue from A to B drains.
    Cool,
}

/// The order in which the message's packets arrive. The queue from A to B is long at first, so that it is deflected to
/// C, from where its shortest way leads back.
fn script(params: Params, packets: u16, steps: &[Step]) -> Vec<u64> {
    let mut net = Net::new(Links::new(3, &[(0, 1), (0, 2)]), &params, 1);
    net.post(0, 1, packets);
    net.links.others[0][1] = [20_000; 2];
    for step in steps {
        match *step {
            Step::Send => net.send(0),
            Step::ToB(lane) => net.serve(0, 1, lane),
            Step::ToC(lane) => net.serve(0, 2, lane),
            Step::BackToA(lane) => net.serve(2, 1, lane),
            Step::Cool => net.links.others[0][1] = [0; 2],
        }
        // the last link never holds anything up
        (0..2).for_each(|lane| net.serve(1, 0, lane));
    }
    while let Some(&(at, port, lane)) = net.waiting().first() {
        net.serve(at, port, lane);
    }
    assert!(net.messages[0].done());
    std::mem::take(&mut net.messages[0].attempts[0].arrived)
}

/// A table found by message alone sends the first packet to C and back until its tokens are gone, into the escape lane;
/// the end packet frees the entry, comes back once and passes it in the other lane (the key of row D7 is what prevents
/// it).
#[test]
fn a_table_found_by_message_alone_lets_the_end_overtake() {
    use Step::*;
    let naive = Params { tokens: 2, table_key: TableKey::Message, ..preset() };
    let dart = Params { table_key: TableKey::MessageAndTokens, ..naive.clone() };
    let bounced = [Send, ToC(1), BackToA(1), ToC(1), BackToA(0)];
    let end = [Send, ToC(1), BackToA(1), ToB(1), ToB(0)];
    let steps = [&bounced[..], &end[..]].concat();
    assert_eq!(script(naive, 2, &steps), [1, 0]);
    assert_eq!(script(dart, 2, &steps), [0, 1]);
}

/// It needs no second lane for that: once the end packet has freed the entry, the second packet goes on from A while
/// the first, which came back before, is on its way to C again.
#[test]
fn a_table_found_by_message_alone_reorders_in_one_lane() {
    use Step::*;
    let naive = Params { lanes: LaneCount::One, table_key: TableKey::Message, ..preset() };
    let dart = Params { table_key: TableKey::MessageAndTokens, ..naive.clone() };
    let steps = [Send, Send, ToC(0), BackToA(0), ToC(0), Send, BackToA(0), Cool];
    assert_eq!(script(naive, 3, &steps), [1, 0, 2]);
    assert_eq!(script(dart, 3, &steps), [0, 1, 2]);
}

/// Packet by packet (DIBS): the first is deflected, the second finds the queue drained.
#[test]
fn deflection_packet_by_packet_reorders() {
    use Step::*;
    let steps = [Send, Cool, Send, ToB(1)];
    assert_eq!(script(Dart::preset("dart-packet-deflection"), 2, &steps), [1, 0]);
    assert_eq!(script(preset(), 2, &steps), [0, 1]);
}
