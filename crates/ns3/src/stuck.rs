//! Flows that will never finish: that simulator has no retransmission timeout.

use crate::network::Network;
use crate::wiring::NONE;
use std::collections::BTreeSet;

/// A flow whose sender waits for an answer that nothing will bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Its number, in the order of the file.
    pub flow: usize,
    /// When the last of its packets arrived or was lost, ns.
    pub since: u64,
    /// Bytes that its sender knows to have arrived.
    pub acked: u64,
    /// Bytes sent so far, from the first on.
    pub sent: u64,
}

impl Network {
    /// The flows that may send nothing, with bytes that are not acknowledged and no packet on its way.
    pub fn stuck(&self) -> Vec<Stuck> {
        let waits = |flow: u32| {
            let f = &self.flows[flow as usize];
            f.device != NONE && !f.finished && f.next > f.acked && !self.may_send(flow)
        };
        let waiting: Vec<u32> = (0..self.flows.len() as u32).filter(|flow| waits(*flow)).collect();
        if waiting.is_empty() {
            return Vec::new();
        }
        let free: BTreeSet<u32> = self.pool.free.iter().copied().collect();
        let packets = (0..).zip(&self.pool.packets).filter(|(ix, _)| !free.contains(ix));
        let under_way: BTreeSet<u32> = packets.map(|(_, packet)| packet.flow).collect();
        let stuck = |flow: u32| {
            let f = &self.flows[flow as usize];
            Stuck { flow: flow as usize, since: f.touched, acked: f.acked, sent: f.furthest }
        };
        waiting.into_iter().filter(|flow| !under_way.contains(flow)).map(stuck).collect()
    }
}
