//! The ports of a network, as a source names them.

use crate::event::Port;
use crate::facts::Facts;
use crate::setup::{Marking, Setup, Spec};
use fanin_units::{Rate, Time};
use std::collections::HashMap;

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct PortInfo {
    /// Its name, like `h0>tor0`.
    pub name: String,
    /// Its rate.
    pub rate: Rate,
    /// The delay of its link.
    pub delay: Time,
    /// The port of the other direction.
    pub reverse: Port,
    /// The node that sends, and the one that receives.
    pub nodes: (u32, u32),
    /// Whether each of these is a host.
    pub hosts: (bool, bool),
}

/// The network.
#[derive(Clone, Debug, Default)]
pub struct Net {
    /// What it was asked to be.
    pub setup: Setup,
    /// By port.
    pub ports: Vec<PortInfo>,
    /// What the tables of the run say.
    pub facts: Facts,
    /// Whether the source ends before the run.
    pub cut: bool,
    /// Packets that are in switches at the end, lost or not.
    pub waiting: u64,
    /// Packets that left a switch while others like them were in it.
    pub doubts: u64,
    nodes: HashMap<String, u32>,
    by_name: HashMap<String, Port>,
}

impl Net {
    /// A network without ports.
    pub fn new(mut setup: Setup, facts: Facts) -> Self {
        (setup.has.ports, setup.has.messages) = (!facts.ports.is_empty(), !facts.messages.is_empty());
        Self { setup, facts, ..Self::default() }
    }

    /// The port of this name, made with its other direction if it is new.
    ///
    /// # Errors
    /// If the name is no pair of nodes, or the spec has no such link.
    pub fn port(&mut self, name: &str, spec: &Spec) -> Result<Port, String> {
        if let Some(port) = self.by_name.get(name) {
            return Ok(*port);
        }
        let (from, rest) = name.split_once('>').ok_or_else(|| format!("{name:?} is no port like \"h0>tor0\""))?;
        let (to, number) = rest.split_once('#').map_or((rest, String::new()), |(to, n)| (to, format!("#{n}")));
        let (rate, delay) =
            spec.port(from, to).ok_or_else(|| format!("the spec has no link between {from} and {to}"))?;
        let hosts = (self.setup.is_host(from), self.setup.is_host(to));
        Ok(self.add((from, to, &number), (rate, delay), hosts))
    }

    /// Adds both directions of a link and returns the first.
    pub fn add(
        &mut self,
        (from, to, number): (&str, &str, &str),
        (rate, delay): (Rate, Time),
        hosts: (bool, bool),
    ) -> Port {
        let nodes = (self.node(from), self.node(to));
        let first = self.ports.len() as Port;
        let names = [format!("{from}>{to}{number}"), format!("{to}>{from}{number}")];
        let turned = [(nodes, hosts), ((nodes.1, nodes.0), (hosts.1, hosts.0))];
        for ((at, name), (nodes, hosts)) in (0..).zip(names).zip(turned) {
            self.by_name.insert(name.clone(), first + at);
            self.ports.push(PortInfo { name, rate, delay, reverse: first + 1 - at, nodes, hosts });
        }
        first
    }

    /// The number of a node.
    fn node(&mut self, name: &str) -> u32 {
        let next = self.nodes.len() as u32;
        *self.nodes.entry(name.to_string()).or_insert(next)
    }

    /// A port.
    pub fn at(&self, port: Port) -> &PortInfo {
        &self.ports[port as usize]
    }

    /// How a port marks a class.
    pub fn marking(&self, port: Port, class: u8) -> Marking {
        let Some(class) = self.setup.classes.get(class as usize) else { return Marking::Off };
        let rate = self.at(port).rate;
        let own = class.marking_by_rate.iter().find(|(of, _)| *of == rate);
        own.map_or(class.marking, |(_, marking)| *marking)
    }

    /// Bytes reserved at an ingress for what arrives after its pause: a packet on the wire of each direction, the
    /// pause frame, both delays of the link and the response, and the part of the packet that crossed the threshold
    /// which lies above it.
    pub fn headroom(&self, port: Port) -> u64 {
        let (info, setup) = (self.at(port), &self.setup);
        let largest = setup.largest();
        setup.headroom.unwrap_or_else(|| {
            let times = info.rate.tx_time(largest) + info.rate.tx_time(setup.sizes.pause);
            let span = info.delay + info.delay + setup.response + times;
            info.rate.bytes_in(span) + 2 * largest - 1
        })
    }

    /// The part of a port's bytes that a lossless class has.
    pub fn share(&self, bytes: u64, class: u8) -> u64 {
        let all = &self.setup.classes;
        let own = |share: f64| (bytes as f64 * share) as u64;
        if let Some(share) = all[usize::from(class)].share {
            return own(share);
        }
        let taken: u64 = all.iter().filter_map(|class| class.share).map(own).sum();
        let others = all.iter().skip(1).filter(|class| class.share.is_none() && class.lossless).count() as u64;
        bytes.saturating_sub(taken) / others.max(1)
    }
}
