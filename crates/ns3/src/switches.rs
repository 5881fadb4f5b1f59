//! Switches: packets are forwarded, queued, marked and paused.

use crate::flow::Flow;
use crate::mmu::Mark;
use crate::network::Network;
use crate::packet::{Kind, PAUSE_BYTES, Packet};
use crate::results::{Drop, Seen};
use crate::wiring::NONE;
use fanin_cc::IntHop;
use fanin_units::{NodeId, Rate, Time};

impl Network {
    /// Sends the next packet of a switch's device, if it is free.
    pub(crate) fn serve_switch(&mut self, device: u32) {
        if !self.is_free(device) {
            return;
        }
        // Queue 0 has strict priority and is never paused, then the others in round robin.
        let running = &mut self.devices[device as usize];
        let ready = running.waiting & (!running.paused | 1);
        if ready == 0 {
            return;
        }
        let queue = if ready & 1 != 0 {
            0
        } else {
            let after = ready & 0xFEu8.checked_shl(running.last as u32).unwrap_or(0);
            let queue = (if after != 0 { after } else { ready }).trailing_zeros();
            running.last = queue as u8;
            queue as usize
        };
        let Some(ix) = running.queues[queue].pop_front() else { return };
        let size = self.pool.packets[ix as usize].size;
        running.bytes[queue] -= size;
        running.queued -= size as u64;
        if running.queues[queue].is_empty() {
            running.waiting &= !(1 << queue);
        }
        self.leaves_switch(device, queue, ix);
        self.note(device, ix, queue as u8, Seen::Dequeued);
        self.transmit(device, ix);
    }

    /// Dequeues a packet at a switch: releases its buffer, marks it, resumes its ingress, and writes telemetry.
    fn leaves_switch(&mut self, device: u32, queue: usize, ix: u32) {
        let d = device as usize;
        let node = self.wiring.devices[d].node;
        let number = self.wiring.devices[d].number as usize - 1;
        let Packet { size, came_by, kind, .. } = self.pool.packets[ix as usize];
        if queue != 0 {
            let switch = self.buffers.switch_of[node as usize] as usize;
            let mmu = &mut self.buffers.mmus[switch];
            self.lengths.changes(switch, number, mmu.queued(number));
            mmu.release(came_by as usize, number, queue, size);
            if self.config.enable_qcn {
                let marked = match mmu.marks(number, queue) {
                    Mark::No => false,
                    Mark::Yes => true,
                    Mark::Perhaps(p) => self.chance.decisions.draw() < p,
                };
                // A mark on an ACK stays in its IP header, which is ignored.
                self.pool.packets[ix as usize].ce |= marked && kind == Kind::Data;
                self.devices[d].counts.marked += marked as u64;
            }
            if self.buffers.mmus[switch].resumes(came_by as usize, queue) {
                let ingress = self.wiring.of_node[node as usize][came_by as usize];
                self.send_pfc(ingress, queue, false);
            }
        }
        if self.pool.stamps && kind == Kind::Data {
            let running = &self.devices[d];
            let hop = IntHop {
                rate: Rate::from_bps(self.wiring.devices[d].rate),
                time: Time::from_ns(self.events.now()),
                sent: running.counts.bytes,
                queued: running.queued,
            };
            self.pool.telemetry[ix as usize].push(NodeId(node), hop);
        }
    }

    /// A packet arrives at a switch.
    pub(crate) fn forward(&mut self, device: u32, ix: u32) {
        let wire = &self.wiring.devices[device as usize];
        let (node, came_by) = (wire.node, wire.number - 1);
        let Packet { kind, queue, size, flow, .. } = self.pool.packets[ix as usize];
        let Flow { src, dst, sport, dport, .. } = self.flows[flow as usize];
        // An ACK has swapped addresses and ports and is hashed separately.
        let out = match kind {
            Kind::Data => self.wiring.next(node, src, dst, sport, dport),
            _ => self.wiring.next(node, dst, src, dport, sport),
        };
        let Some(out) = out else {
            self.dropped(device, ix, Drop::NoRoute);
            return;
        };
        let number = self.wiring.devices[out as usize].number as usize - 1;
        let queue = if self.acks_first && kind != Kind::Data { 0 } else { queue as usize };
        self.pool.packets[ix as usize].came_by = came_by;
        if queue != 0 {
            let switch = self.buffers.switch_of[node as usize] as usize;
            self.lengths.changes(switch, number, self.buffers.mmus[switch].queued(number));
            if !self.buffers.mmus[switch].admit(came_by as usize, number, queue, size) {
                self.dropped(device, ix, Drop::Full);
                return;
            }
            if self.buffers.mmus[switch].pauses(came_by as usize, queue) {
                self.send_pfc(device, queue, true);
            }
        }
        self.enqueue(out, queue, ix);
    }

    fn enqueue(&mut self, device: u32, queue: usize, ix: u32) {
        self.note(device, ix, queue as u8, Seen::Enqueued);
        let running = &mut self.devices[device as usize];
        let size = self.pool.packets[ix as usize].size;
        running.bytes[queue] += size;
        running.queued += size as u64;
        running.waiting |= 1 << queue;
        if queue != 0 {
            running.counts.peak = running.counts.peak.max(running.bytes[queue] as u64);
        }
        running.queues[queue].push_back(ix);
        self.serve_switch(device);
    }

    /// Sends PAUSE or RESUME to the peer of a device. The id of its IP header takes a random stream.
    fn send_pfc(&mut self, device: u32, queue: usize, pause: bool) {
        self.chance.decisions.skip();
        let packet = Packet {
            kind: Kind::Pfc(pause),
            ce: false,
            queue: queue as u8,
            size: PAUSE_BYTES,
            seq: 0,
            flow: NONE,
            payload: 0,
            came_by: 0,
            sent_at: 0,
        };
        let ix = self.pool.add(packet, None);
        self.enqueue(device, 0, ix);
    }
}
