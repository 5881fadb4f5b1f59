//! The messages that a station sends and receives, its packets, and what happens to them.

use crate::path::Path;
use crate::port::PacketIx;
use fanin_cc::{Header, Telemetry};
use fanin_endpoint::host::{Ends, FlowRecord};
use fanin_units::{MessageId, PortId, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A message at one of its ends.
pub(crate) struct Entry {
    pub record: FlowRecord,
    pub ends: Ends,
    /// The name of its path.
    pub name: u64,
    /// The senders of its incast.
    pub senders: Option<Arc<[u32]>>,
    /// What whoever speaks for its sender knows.
    pub token: u64,
    /// The message that opened its connection.
    pub first: Option<MessageId>,
}

/// Messages by their number in the network.
#[derive(Default)]
pub(crate) struct Messages {
    entries: BTreeMap<u32, Entry>,
    /// The message that opened each connection: by traffic and hosts.
    pub connections: BTreeMap<(u16, u32, u32), MessageId>,
}

impl Messages {
    /// Adds one.
    pub fn add(&mut self, number: u32, entry: Entry) {
        self.entries.insert(number, entry);
    }

    /// Removes one.
    pub fn remove(&mut self, message: MessageId) {
        self.entries.remove(&message.0);
    }

    /// Whether it is known.
    pub fn get(&self, message: MessageId) -> Option<&Entry> {
        self.entries.get(&message.0)
    }

    /// One that is known.
    pub fn of(&self, message: MessageId) -> &Entry {
        &self.entries[&message.0]
    }

    /// The same, to change it.
    pub fn of_mut(&mut self, message: MessageId) -> &mut Entry {
        self.entries.get_mut(&message.0).expect("frames of unknown messages are refused before")
    }

    /// All of them, by number.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Entry)> {
        self.entries.iter().map(|(number, entry)| (*number, entry))
    }
}

/// A packet at a station.
#[derive(Clone, Copy)]
pub(crate) struct Packet {
    pub head: Header,
    pub path: Path,
    pub scheme: u16,
    pub deflections: u8,
    pub telemetry: Telemetry,
}

/// All packets at a station. The contents of one that was removed stay until another is added.
#[derive(Default)]
pub(crate) struct Packets {
    packets: Vec<Packet>,
    free: Vec<PacketIx>,
}

impl Packets {
    /// Adds one.
    pub fn add(&mut self, packet: Packet) -> PacketIx {
        if let Some(ix) = self.free.pop() {
            self.packets[ix as usize] = packet;
            return ix;
        }
        self.packets.push(packet);
        self.packets.len() as PacketIx - 1
    }

    /// Removes one.
    pub fn remove(&mut self, ix: PacketIx) {
        self.free.push(ix);
    }

    pub fn at(&self, ix: PacketIx) -> &Packet {
        &self.packets[ix as usize]
    }

    pub fn at_mut(&mut self, ix: PacketIx) -> &mut Packet {
        &mut self.packets[ix as usize]
    }
}

/// A drop or a pause at a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incident {
    /// When.
    pub time: Time,
    /// The port of the station.
    pub port: PortId,
    /// What.
    pub what: What,
    /// The number of the event that caused it, which orders those of one instant.
    pub cause: u32,
}

impl Incident {
    /// Drops, and pauses, that a station keeps.
    pub const KEPT: u64 = 1000;
}

/// The kind of an [`Incident`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The queue of a shaped class was full.
    Dropped,
    /// No path leads to the destination.
    NoRoute,
    /// The peer paused a class.
    Paused(u8),
}
