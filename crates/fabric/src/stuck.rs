//! Messages that will never finish, since their endpoint has no retransmission timeout.

use crate::parallel::ParallelSimulation;
use crate::sim::Simulation;
use fanin_units::{MessageId, Time};
use std::collections::BTreeSet;

/// A message whose sender waits for an answer that nothing will bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Its number; of a connection, that of the first message.
    pub message: u32,
    /// When its last packet left, about.
    pub since: Time,
    /// Bytes that are acknowledged.
    pub acked: u64,
    /// Whether all bytes have been sent; otherwise the window is used up.
    pub all_sent: bool,
}

impl Simulation {
    /// Senders without a timeout that wait for an ACK and may send nothing before it.
    fn waiting(&self) -> impl Iterator<Item = Stuck> + '_ {
        let traffics = self.world.messages.traffics();
        self.hosts.senders().filter_map(|sender| {
            let endpoint = &traffics[usize::from(sender.traffic())].config.endpoint;
            let (half, pacer) = (sender.as_rdma()?, sender.pacer());
            let waits = half.in_flight() > 0 && !sender.can_send(self.now());
            (waits && endpoint.timeout == Time::NEVER).then(|| Stuck {
                message: sender.id().0,
                since: pacer.counted_from(),
                acked: half.acked_to(),
                all_sent: !half.has_data(),
            })
        })
    }

    /// The channels that have a packet in this partition.
    fn channels(&self) -> impl Iterator<Item = MessageId> + '_ {
        self.world.net.core().packets.all().map(|packet| packet.head.flow)
    }
}

impl ParallelSimulation {
    /// Messages that have sent nothing for this time, nothing of which is on its way, and that will never finish.
    pub fn stuck(&self, silent: Time) -> Vec<Stuck> {
        let before = self.now().saturating_sub(silent);
        let mut waiting: Vec<Stuck> = self.all().flat_map(Simulation::waiting).filter(|s| s.since < before).collect();
        if !waiting.is_empty() {
            let under_way: BTreeSet<MessageId> = self.all().flat_map(Simulation::channels).collect();
            waiting.retain(|stuck| !under_way.contains(&MessageId(stuck.message)));
            waiting.sort_by_key(|stuck| stuck.message);
        }
        waiting
    }
}
