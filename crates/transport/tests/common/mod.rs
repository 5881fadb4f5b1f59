//! Endpoints in virtual time: datagrams take a delay, cross a bottleneck that marks, and get lost.
#![allow(dead_code, reason = "each test file uses its own part")]

use fanin_cc::Settings;
use fanin_engine::{Stream, Streams};
use fanin_transport::endpoint::{Config, Core, Event, PeerId};
use fanin_units::{Rate, Time};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// What a network does to datagrams.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    pub delay: Time,
    /// Of the queue in front of each host.
    pub rate: Rate,
    pub mark_above: Time,
    pub drop_above: Time,
    /// In a thousand.
    pub lost: u64,
    pub twice: u64,
    pub late: u64,
}

impl Default for Wire {
    fn default() -> Self {
        let (delay, rate) = (Time::from_us(20), Rate::from_gbps(1));
        let (mark_above, drop_above) = (Time::from_us(100), Time::from_ms(2));
        Self { delay, rate, mark_above, drop_above, lost: 0, twice: 0, late: 0 }
    }
}

/// A datagram on its way.
#[derive(Clone, Debug)]
pub struct OnWay {
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub ce: bool,
    pub bytes: Vec<u8>,
}

/// Endpoints and a network.
pub struct World {
    pub hosts: Vec<Core>,
    pub wire: Wire,
    pub now: Time,
    pub events: Vec<(usize, Event)>,
    /// All datagrams that ever arrived, where they are kept.
    pub captured: Option<Vec<OnWay>>,
    /// Hosts that are gone.
    pub gone: Vec<bool>,
    pub marks: u64,
    on_way: BTreeMap<(Time, u64), OnWay>,
    number: u64,
    /// Until when the queue in front of each host is busy.
    busy: Vec<Time>,
    pub draws: Stream,
}

pub fn address(host: usize) -> SocketAddr {
    (Ipv4Addr::new(127, 0, 0, 1), 10_000 + host as u16).into()
}

pub fn scheme(id: &str) -> Settings {
    Settings::preset(id).expect("it is registered")
}

/// Bytes that are not zeros.
pub fn content(seed: u64, len: usize) -> Arc<[u8]> {
    let mut draws = Streams::new(seed).stream("content", 0);
    (0..len).map(|_| draws.bits() as u8).collect()
}

impl World {
    pub fn new(seed: u64, configs: Vec<Config>, wire: Wire) -> Self {
        let count = configs.len();
        let host = |(config, n): (Config, u64)| Core::new(config, [seed, n + 7, n + 11, n + 13]).expect("it is right");
        Self {
            hosts: configs.into_iter().zip(0..).map(host).collect(),
            wire,
            now: Time::ZERO,
            events: Vec::new(),
            captured: None,
            gone: vec![false; count],
            marks: 0,
            on_way: BTreeMap::new(),
            number: 0,
            busy: vec![Time::ZERO; count],
            draws: Streams::new(seed).stream("wire", 0),
        }
    }

    pub fn connect(&mut self, from: usize, to: usize) -> PeerId {
        self.hosts[from].connect(self.now, address(to))
    }

    pub fn post(&mut self, from: usize, to: PeerId, content: Arc<[u8]>) -> u32 {
        self.hosts[from].post(self.now, to, content, None).expect("it is connected")
    }

    fn below(&mut self, of: u64) -> bool {
        of > 0 && self.draws.below(1000) < of
    }

    /// Puts a datagram onto the network.
    pub fn put(&mut self, at: Time, of: OnWay) {
        self.number += 1;
        self.on_way.insert((at, self.number), of);
    }

    fn carry(&mut self, from: usize, to: SocketAddr, ect: bool, bytes: Vec<u8>) {
        let Some(host) = (0..self.hosts.len()).find(|host| address(*host) == to) else { return };
        let Wire { delay, rate, mark_above, drop_above, lost, twice, late } = self.wire;
        let waits = self.busy[host].saturating_sub(self.now);
        if waits > drop_above || self.below(lost) {
            return;
        }
        self.busy[host] = self.busy[host].max(self.now) + rate.tx_time(bytes.len() as u64 + 46);
        let ce = ect && waits > mark_above;
        self.marks += u64::from(ce);
        let of = OnWay { from: address(from), to, ce, bytes };
        let mut at = self.busy[host] + delay;
        if self.below(twice) {
            self.put(at + Time::from_us(30), of.clone());
        }
        if self.below(late) {
            at += Time::from_us(200);
        }
        self.put(at, of);
    }

    fn collect(&mut self, host: usize) {
        while let Some(of) = self.hosts[host].take_datagram() {
            self.carry(host, of.to, of.ect, of.bytes);
        }
        while let Some(event) = self.hosts[host].take_event() {
            self.events.push((host, event));
        }
    }

    /// Runs until this time, or until `done`. Returns whether it was.
    pub fn run(&mut self, until: Time, mut done: impl FnMut(&[(usize, Event)]) -> bool) -> bool {
        loop {
            (0..self.hosts.len()).for_each(|host| self.collect(host));
            if done(&self.events) {
                return true;
            }
            let next = self.hosts.iter().zip(&self.gone).filter(|(_, gone)| !**gone);
            let next = next.map(|(host, _)| host.next_at()).min().unwrap_or(Time::NEVER);
            let arrives = self.on_way.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
            let at = next.min(arrives).max(self.now);
            if at > until {
                self.now = until;
                return false;
            }
            self.now = at;
            if arrives <= at
                && let Some((_, of)) = self.on_way.pop_first()
            {
                self.deliver(of);
                continue;
            }
            for (host, gone) in self.hosts.iter_mut().zip(&self.gone) {
                if !gone && host.next_at() <= at {
                    host.run(at);
                }
            }
        }
    }

    fn deliver(&mut self, of: OnWay) {
        let Some(host) = (0..self.hosts.len()).find(|host| address(*host) == of.to) else { return };
        if self.gone[host] {
            return;
        }
        self.hosts[host].on_datagram(self.now, of.from, of.ce, &of.bytes);
        self.hosts[host].run(self.now);
        if let Some(captured) = &mut self.captured {
            captured.push(of);
        }
    }
}

/// Contents that arrived at a host, in order.
pub fn arrived(events: &[(usize, Event)], at: usize) -> Vec<&[u8]> {
    events
        .iter()
        .filter_map(|(host, event)| match event {
            Event::Arrived { content, .. } if *host == at => Some(&content[..]),
            _ => None,
        })
        .collect()
}
