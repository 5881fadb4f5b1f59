//! The NIC of a host, which lets senders and control packets take turns, and the queue behind it.
//!
//! Source: uet-htsim, uec.cpp (its NIC) and fairpullqueue.cpp.

use std::collections::VecDeque;

use crate::events::Event;
use crate::network::Network;
use crate::packet::{Sending, Type};

/// Control packets for each data packet when both wait.
const CONTROL_TURNS: u32 = 10;

/// A NIC. A sender can be in `waiting` twice after a timeout.
#[derive(Default)]
pub struct Nic {
    busy: bool,
    waiting: VecDeque<u32>,
    control: VecDeque<u32>,
    turn: u32,
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
    inside: Vec<(u8, u32, u32)>,
    served: [Option<u32>; 3],
    serving: Option<u32>,
    bytes: u64,
}

impl HostQueue {
    /// Its bytes, with the packet in service.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Chooses the next packet: the highest level, and there the flow after the last one served.
    fn choose(&mut self) -> Option<u32> {
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
        if let Some(first) = self.nics[host as usize].waiting.pop_front()
            && first != sender
        {
            self.abort("a sender sent before the first in its NIC's list");
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

    fn next_control(&mut self, host: u32) {
        if let Some(at) = self.nics[host as usize].control.pop_front() {
            self.nic_busy(host, u64::from(self.packets.get(at).size));
            self.queue_at_host(host, at);
        }
    }

    /// A NIC has sent its packet.
    pub(crate) fn nic_done(&mut self, host: u32) {
        let nic = &mut self.nics[host as usize];
        nic.busy = false;
        let Some(&first) = nic.waiting.front() else { return self.next_control(host) };
        if !nic.control.is_empty() {
            nic.turn += 1;
            if nic.turn > CONTROL_TURNS {
                nic.turn = 0;
            }
            if nic.turn >= 1 {
                return self.next_control(host);
            }
        }
        self.senders_turn(host, first);
    }

    /// The waiting senders, from the first on, until one can send; else a control packet.
    fn senders_turn(&mut self, host: u32, first: u32) {
        let mut next = Some(first);
        while let Some(sender) = next {
            if self.turn_of(sender) {
                return;
            }
            let waiting = &mut self.nics[host as usize].waiting;
            waiting.pop_front();
            next = waiting.front().copied();
        }
        self.next_control(host);
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
        queue.bytes += u64::from(packet.size);
        queue.inside.push((level, packet.flow, at));
        if queue.serving.is_none() {
            self.serve_host(host);
        }
    }

    fn serve_host(&mut self, host: u32) {
        if let Some(at) = self.host_queues[host as usize].choose() {
            let delay = u64::from(self.packets.get(at).size) * self.host_ps_per_byte;
            self.events.after(delay, Event::HostQueue(host));
        }
    }

    /// A host's queue has sent its packet.
    pub(crate) fn host_queue_done(&mut self, host: u32) {
        let queue = &mut self.host_queues[host as usize];
        let Some(at) = queue.serving.take() else { return };
        queue.bytes -= u64::from(self.packets.get(at).size);
        self.log_host("H-", host, at);
        self.send_into(host, at);
        self.serve_host(host);
    }
}
