//! The state of a NIC, and of the queue behind it.
//!
//! Source: uet-htsim's NIC of UEC, and its fair queue of priorities.

use std::collections::VecDeque;

use crate::port::{Counts, Waiting};

/// Control packets for each data packet when both wait.
pub const CONTROL_TURNS: u32 = 10;

/// A NIC. A sender can be in `waiting` twice after a timeout.
#[derive(Default)]
pub struct Nic {
    pub(crate) busy: bool,
    pub(crate) waiting: VecDeque<u32>,
    pub(crate) control: VecDeque<u32>,
    pub(crate) turn: u32,
}

impl Nic {
    /// How many senders wait.
    pub fn senders(&self) -> usize {
        self.waiting.len()
    }
}

/// The queue between a NIC and its link: three strict levels, flows in turn within each. Since the NIC paces, it holds
/// at most two packets.
#[derive(Default)]
pub struct HostQueue {
    pub(crate) inside: Vec<(u8, u32, Waiting)>,
    pub(crate) served: [Option<u32>; 3],
    pub(crate) serving: Option<Waiting>,
    pub(crate) bytes: u64,
    pub(crate) counts: Counts,
}

impl HostQueue {
    /// Its bytes, with the packet in service.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Chooses the next packet: the highest level, and there the flow after the last one served.
    pub(crate) fn choose(&mut self) -> Option<Waiting> {
        let level = self.inside.iter().map(|&(level, ..)| level).min()?;
        let last = self.served[level as usize];
        let rank = |flow: u32| (last.is_some_and(|last| flow <= last), flow);
        let in_level = self.inside.iter().enumerate().filter(|(_, entry)| entry.0 == level);
        let (index, &(_, flow, at)) = in_level.min_by_key(|(_, entry)| rank(entry.1))?;
        self.served[level as usize] = Some(flow);
        self.inside.remove(index);
        self.serving = Some(at);
        self.serving
    }
}
