//! Packets leave hosts: through the NIC, then the queue behind it.
//!
//! Source: uet-htsim's NIC of UEC, and its fair queue of priorities.

use crate::events::Event;
use crate::network::Network;
use crate::packet::{Sending, Type};
use crate::port::Waiting;

impl Network<'_> {
    /// A sender asks whether it may send; if not, it waits.
    pub(crate) fn ask_nic(&mut self, host: u32, sender: u32) -> bool {
        let nic = &mut self.nics[host as usize];
        if nic.busy {
            nic.waiting.push_back(sender);
        }
        !nic.busy
    }

    /// A sender has sent a packet: the NIC is busy for as many bytes.
    pub(crate) fn occupy_nic(&mut self, host: u32, sender: u32, bytes: i64) {
        let waiting = &mut self.nics[host as usize].waiting;
        if waiting.front().is_some_and(|first| *first != sender) {
            let own = waiting.iter().position(|waiting| *waiting == sender);
            own.map(|at| waiting.remove(at));
            self.beyond("a sender sent before the first in its NIC's list");
        } else {
            waiting.pop_front();
        }
        self.nic_busy(host, bytes as u64);
    }

    fn nic_busy(&mut self, host: u32, bytes: u64) {
        self.nics[host as usize].busy = true;
        self.events.after(bytes * 8 * 1_000_000_000_000 / self.settings.rate, Event::Nic(host));
    }

    /// A control packet is to be sent.
    pub(crate) fn send_control(&mut self, host: u32, at: u32) {
        self.nics[host as usize].control.push_back(at);
        if !self.nics[host as usize].busy {
            self.next_control(host);
        }
    }

    pub(crate) fn next_control(&mut self, host: u32) {
        if let Some(at) = self.nics[host as usize].control.pop_front() {
            self.nic_busy(host, u64::from(self.packets.get(at).size));
            self.queue_at_host(host, at);
        }
    }

    /// A packet comes to a host's queue.
    pub(crate) fn queue_at_host(&mut self, host: u32, at: u32) {
        self.log_host("H+", host, at);
        let packet = self.packets.get(at);
        let level = match (packet.of, packet.sending) {
            (Type::Data, Sending::Speculative) => 2,
            (Type::Data, _) => 1,
            _ => 0,
        };
        let queue = &mut self.host_queues[host as usize];
        let waiting = Waiting { packet: at, size: packet.size.into() };
        queue.bytes += u64::from(waiting.size);
        queue.inside.push((level, packet.flow, waiting));
        if queue.serving.is_none() {
            self.serve_host(host);
        }
    }

    fn serve_host(&mut self, host: u32) {
        if let Some(Waiting { size, .. }) = self.host_queues[host as usize].choose() {
            let delay = u64::from(size) * self.host_ps_per_byte;
            self.events.after(delay, Event::HostQueue(host));
        }
    }

    /// A host's queue has sent its packet.
    pub(crate) fn host_queue_done(&mut self, host: u32) {
        let queue = &mut self.host_queues[host as usize];
        let Some(Waiting { packet: at, size }) = queue.serving.take() else { return };
        queue.bytes -= u64::from(size);
        queue.counts.packets += 1;
        queue.counts.bytes += u64::from(size);
        self.log_host("H-", host, at);
        self.send_into(host, at);
        self.serve_host(host);
    }
}
