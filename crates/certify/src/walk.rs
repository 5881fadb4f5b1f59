//! From packets on links to arrivals at their ends and stays in switches.
//!
//! The state is that of the network at one time: packets on each link, and packets in each switch by their flows.

use crate::event::{Arrival, Begin, Hop, Kind, Lost, Packet, Port, Queue};
use crate::law::Law;
use crate::map::Map;
use crate::net::Net;
use crate::registry::{Entry, LAWS};
use crate::report::{Outcome, Report, Tally};
use fanin_units::Time;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

type Flows<T> = Map<(u64, u64), T>;

/// A packet in a switch.
struct Resident {
    arrived: Time,
    by: Port,
    packet: Packet,
    /// One like it has left, and it may have been this one.
    doubtful: bool,
}

/// A law with what it has counted.
struct Applied {
    law: Option<Box<dyn Law>>,
    tally: Tally,
    missing: Option<String>,
}

/// Follows packets and applies the laws.
pub struct Walk {
    /// The network.
    pub net: Net,
    laws: Vec<Applied>,
    /// By port: when it is free, packets under way, and whether anything has been sent.
    free: Vec<Time>,
    flying: Vec<VecDeque<(Time, Packet)>>,
    /// The first arrival of each port's link.
    next: BinaryHeap<Reverse<(Time, Port)>>,
    /// Packets in switches, by switch and flow, in the order in which they came.
    inside: Flows<VecDeque<Resident>>,
    /// The port by which a flow leaves a switch.
    ways: Flows<Port>,
    /// By port: the classes that are paused.
    paused: Map<Port, u8>,
    /// By port and class: when the last packet that left had come.
    came: Flows<Time>,
    packets: u64,
    now: Time,
}

impl Walk {
    /// In this network, with all laws that its setup has what they need for.
    pub fn new(net: Net) -> Self {
        let apply = |entry: &Entry| {
            let missing = (entry.missing)(&net.setup).map(String::from);
            Applied { law: missing.is_none().then(entry.make), tally: Tally::default(), missing }
        };
        let laws = LAWS.iter().map(apply).collect();
        Self {
            laws,
            net,
            free: Vec::new(),
            flying: Vec::new(),
            next: BinaryHeap::new(),
            inside: Flows::default(),
            ways: Flows::default(),
            paused: Map::default(),
            came: Flows::default(),
            packets: 0,
            now: Time::ZERO,
        }
    }

    fn tell(&mut self, mut told: impl FnMut(&mut dyn Law, &Net, &mut Tally)) {
        for applied in &mut self.laws {
            if let Some(law) = &mut applied.law {
                told(law.as_mut(), &self.net, &mut applied.tally);
            }
        }
    }

    /// The first bit of a packet leaves a port.
    pub fn begin(&mut self, time: Time, port: Port, packet: &Packet) {
        self.packets += 1;
        let told = self.net.setup.has.arrivals;
        if !told {
            self.arrive_until(time);
        }
        self.now = self.now.max(time);
        let at = port as usize;
        self.grow();
        let (info, free) = (self.net.at(port), self.free[at]);
        let (delay, from_host, node) = (info.delay, info.hosts.0, info.nodes.0);
        let gone = time + info.rate.tx_time(packet.wire);
        let begin = Begin { time, port, packet, free };
        if !from_host && !packet.is_of_link() && !self.net.setup.has.partial {
            self.leave(u64::from(node), &begin);
        }
        self.tell(|law, net, tally| law.begin(&begin, net, tally));
        self.free[at] = gone.max(free);
        let arrives = gone + delay;
        if self.flying[at].is_empty() && !told {
            self.next.push(Reverse((arrives, port)));
        }
        self.flying[at].push_back((arrives, *packet));
    }

    /// Packets arrive up to this time.
    fn arrive_until(&mut self, time: Time) {
        while let Some(Reverse((at, port))) = self.next.peek().copied().filter(|Reverse((at, _))| *at <= time) {
            self.next.pop();
            let Some((_, packet)) = self.flying[port as usize].pop_front() else { continue };
            if let Some((next, _)) = self.flying[port as usize].front() {
                self.next.push(Reverse((*next, port)));
            }
            self.arrive(at, port, &packet, None);
        }
    }

    /// The last bit of a packet has crossed the link of a port.
    fn arrive(&mut self, at: Time, port: Port, packet: &Packet, due: Option<(Time, usize)>) {
        self.now = self.now.max(at);
        let info = self.net.at(port);
        let (here, node, host) = (info.reverse, info.nodes.1, info.hosts.1);
        if !host && !packet.is_of_link() && !self.net.setup.has.partial {
            let resident = Resident { arrived: at, by: here, packet: *packet, doubtful: false };
            self.inside.entry((u64::from(node), packet.flow)).or_default().push_back(resident);
        }
        if let Kind::Pause { told, paused } = packet.kind {
            let classes = self.paused.entry(here).or_default();
            *classes = *classes & !told | paused;
        }
        let arrival = Arrival { time: at, from: port, at: here, packet, due };
        self.tell(|law, net, tally| law.arrival(&arrival, net, tally));
    }

    /// A source tells that a packet has arrived, by the port of the node that it reaches.
    pub fn told_arrival(&mut self, time: Time, at: Port, packet: &Packet) {
        self.grow();
        let from = self.net.at(at).reverse;
        let flying = &mut self.flying[from as usize];
        let began = flying.iter().position(|(_, flying)| flying.key == packet.key);
        let due = began.and_then(|missing| flying.drain(..=missing).next_back().map(|(due, _)| (due, missing)));
        self.arrive(time, from, packet, due);
    }

    /// A source tells of a queue.
    pub fn told_queue(&mut self, queue: &Queue) {
        self.tell(|law, net, tally| law.queue(queue, net, tally));
    }

    fn grow(&mut self) {
        if self.free.len() < self.net.ports.len() {
            self.free.resize(self.net.ports.len(), Time::ZERO);
            self.flying.resize_with(self.net.ports.len(), VecDeque::new);
        }
    }

    /// A packet leaves a switch.
    fn leave(&mut self, node: u64, begin: &Begin<'_>) {
        let place = (node, begin.packet.flow);
        let has = &self.net.setup.has;
        let one_way = !has.spraying && !has.programs && !has.outages && !has.trimming;
        // What came before a packet that has left the same queue, and is sent again, has been lost.
        let queue = (u64::from(begin.port), u64::from(begin.packet.class));
        let last = self.came.get(&queue).copied().unwrap_or_default();
        let lossless = self.net.setup.classes.get(usize::from(begin.packet.class)).is_some_and(|class| class.lossless);
        let in_turn = one_way && !has.errors && (lossless || begin.packet.class == 0);
        let same = |resident: &Resident| resident.packet.key == begin.packet.key;
        let (mut found, mut certain) = (None, true);
        if let Some(of) = self.inside.get_mut(&place) {
            let first = of.iter().position(|r| same(r) && r.arrived >= last);
            found = first.or_else(|| of.iter().position(same));
            if let Some(chosen) = found.filter(|_| !in_turn) {
                certain = !of[chosen].doubtful;
                for (_, other) in
                    of.iter_mut().enumerate().filter(|(at, r)| *at != chosen && r.packet.key == begin.packet.key)
                {
                    certain &= other.arrived < last && first.is_some() && one_way;
                    other.doubtful = true;
                }
            }
        }
        let Some(found) = found else {
            self.tell(|law, net, tally| law.stranger(begin, net, tally));
            return;
        };
        let Some(of) = self.inside.get_mut(&place) else { return };
        let Some(resident) = of.remove(found) else { return };
        // Where all packets of a flow take one way, those that it overtook are lost.
        let class = resident.packet.class;
        let mut lost = Vec::new();
        if one_way && found > 0 {
            let mut kept = VecDeque::new();
            for (at, resident) in of.drain(..).enumerate() {
                if at < found && resident.packet.class == class {
                    lost.push(resident)
                } else {
                    kept.push_back(resident)
                }
            }
            *of = kept;
        }
        if of.is_empty() {
            self.inside.remove(&place);
        }
        if one_way {
            self.ways.insert(place, begin.port);
        }
        if certain {
            self.came.insert(queue, resident.arrived.max(last));
        } else {
            self.net.doubts += 1;
        }
        let hop = Hop {
            arrived: resident.arrived,
            left: begin.time,
            by: resident.by,
            out: begin.port,
            free: begin.free,
            before: &resident.packet,
            after: begin.packet,
            certain,
        };
        self.tell(|law, net, tally| law.hop(&hop, net, tally));
        for resident in lost {
            self.lose(&resident, Some(begin.port));
        }
    }

    fn lose(&mut self, resident: &Resident, out: Option<Port>) {
        let Resident { arrived, by, packet, doubtful } = resident;
        let lost = Lost { arrived: *arrived, by: *by, out, certain: !doubtful, packet };
        self.tell(|law, net, tally| law.lost(&lost, net, tally));
    }

    /// Nothing follows; the source goes until `end`. A packet whose port has been free since has been lost.
    pub fn finish(mut self, source: &str, end: Time, mut notes: Vec<String>) -> Report {
        if !self.net.setup.has.arrivals {
            self.arrive_until(end);
        }
        let end = end.max(self.now);
        let mut rest: Vec<_> = std::mem::take(&mut self.inside).into_iter().collect();
        rest.sort_by_key(|(place, _)| *place);
        for (place, residents) in rest {
            let out = self.ways.get(&place).copied();
            // Where its way is not known, all ports of its switch have to be free.
            let ports = 0..self.net.ports.len() as Port;
            let own =
                ports.filter(|p| u64::from(self.net.at(*p).nodes.0) == place.0 && out.is_none_or(|out| out == *p));
            let free = own.map(|port| self.free[port as usize]).max().unwrap_or_default();
            for resident in residents {
                // One that may not leave, or that leaves after the end of the source, is not lost.
                let class = resident.packet.class;
                let held = |port: &u8| port >> class & 1 == 1;
                let held = out.map_or(!self.paused.is_empty(), |out| self.paused.get(&out).is_some_and(held));
                if free.max(resident.arrived) < end && !self.net.setup.has.outages && !self.net.cut && !held {
                    self.lose(&resident, out);
                } else {
                    self.net.waiting += 1;
                }
            }
        }
        self.tell(|law, net, tally| law.end(end, net, tally));
        if self.net.doubts > 0 {
            let said =
                "packets left a switch that had others like them (sent again, or of connections with one name); what";
            notes.push(format!("{} {said} depends on which of them it was is not checked", self.net.doubts));
        }
        let laws = LAWS.iter().zip(self.laws).map(|(entry, applied)| Outcome {
            law: entry.name,
            says: entry.says,
            not_checked: applied.missing,
            tally: applied.tally,
        });
        Report { source: source.to_string(), packets: self.packets, end, laws: laws.collect(), notes }
    }
}
