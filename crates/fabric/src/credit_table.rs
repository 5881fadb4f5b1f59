//! The credits of a network: both ends of every link, by port and class.

use crate::config::{BufferPolicy, NetworkConfig};
use crate::credits::{BLOCK, Receiving, Sending, blocks, buffer_for};
use crate::deadlock::{Entry, prove};
use crate::egress::Egress;
use crate::port::{Port, PortIx};
use crate::queue::Queued;
use crate::results::BufferUse;
use fanin_units::Time;

/// Credits of a network, by port and class.
pub(crate) struct Credits {
    classes: usize,
    pub sending: Vec<Sending>,
    /// Of the peer's packets.
    pub receiving: Vec<Receiving>,
    /// When the last FCP left.
    pub told_at: Vec<Time>,
    /// Whether one will leave because the link has lost something.
    pub repeats: Vec<bool>,
    /// Blocks of the largest packet: a host starts a packet only if any would be covered.
    largest: u32,
    /// Whether classes may wait for each other in a circle.
    pub may_lock: bool,
}

impl Credits {
    /// The credits of a network that has any. All ends know those of empty buffers. `deflects` is whether packets may
    /// leave their shortest paths.
    pub fn new(config: &NetworkConfig, ports: &[Port], largest: u32, deflects: bool) -> Option<Box<Self>> {
        let BufferPolicy::Credits { bytes } = config.buffer else { return None };
        let lanes = config.classes.len() as u64;
        let classes = config.classes.len() + 1;
        let size = |port: &Port| {
            let bytes = bytes.unwrap_or_else(|| buffer_for(port.rate, port.delay, largest as u64, lanes));
            (bytes / BLOCK).min(u32::MAX as u64) as u32
        };
        // Both ends of a link compute the same, since its rate and delay are those of both directions.
        let of = |port: &Port| std::iter::repeat_n(Receiving::new(size(port)), classes);
        let receiving: Vec<Receiving> = ports.iter().flat_map(of).collect();
        let sending = receiving.iter().map(|end| Sending { sent: 0, limit: end.limit() }).collect();
        Some(Box::new(Self {
            classes,
            sending,
            told_at: vec![Time::ZERO; receiving.len()],
            repeats: vec![false; receiving.len()],
            receiving,
            largest: blocks(largest as u64),
            may_lock: deflects || !prove(&config.graph, Entry::AfterLastMisroute).holds(),
        }))
    }

    /// The row of a class of a port.
    pub fn at(&self, port: PortIx, class: usize) -> usize {
        port.ix() * self.classes + class
    }

    /// Bytes of the buffer of a class at a port.
    pub fn size(&self, port: PortIx, class: usize) -> u64 {
        u64::from(self.receiving[self.at(port, class)].size()) * BLOCK
    }

    /// Blocks of the packet that a port would send next in a class; 0 for none.
    pub fn wanted(&self, egress: &Egress, port: PortIx, class: usize) -> u32 {
        match egress.port(port).of_host() {
            true => self.largest,
            false => egress.first_wire(port, class).map_or(0, |wire| blocks(wire as u64)),
        }
    }

    /// Whether a class of a port would still lack credits if it knew all there are. In a network of one partition.
    pub fn stopped(&self, egress: &Egress, port: PortIx, class: usize) -> bool {
        let limit = self.receiving[self.at(port.reverse(), class)].limit();
        let known = Sending { limit, ..self.sending[self.at(port, class)] };
        !known.covers(self.wanted(egress, port, class))
    }

    /// Each buffer by its account and by the packets that it holds: the queues of its switch, and at a host what its
    /// NIC is slow to take, `received`: the port, the class and the size of each.
    pub fn check(
        &self,
        egress: &Egress,
        leaving: impl Iterator<Item = Queued>,
        received: impl Iterator<Item = (PortIx, usize, u64)>,
    ) -> Vec<BufferUse> {
        let of = |end: &Receiving| BufferUse { counted: u64::from(end.used()) * BLOCK, held: 0 };
        let mut uses: Vec<BufferUse> = self.receiving.iter().map(of).collect();
        let ports = (0..egress.ports().len() as u32).map(PortIx).filter(|port| !egress.port(*port).of_host());
        let queued = ports.flat_map(|port| (1..self.classes).flat_map(move |class| egress.waiting(port, class)));
        for packet in queued.copied().chain(leaving) {
            let at = self.at(PortIx(packet.ingress()), packet.ingress_class());
            uses[at].held += u64::from(blocks(packet.wire() as u64)) * BLOCK;
        }
        for (port, class, wire) in received {
            uses[self.at(port, class)].held += u64::from(blocks(wire)) * BLOCK;
        }
        for (at, end) in self.receiving.iter().enumerate() {
            assert!(end.peak() <= end.size(), "the buffer of port {} overflowed", at / self.classes);
        }
        uses
    }
}
