//! The event loop: each event is handled by the device that it is for.

use crate::events::Event;
use crate::mmu::QUEUES;
use crate::network::Network;
use crate::packet::{Kind, Packet};
use crate::results::{Drop, Pause, Seen};
use crate::waits::Follower;
use crate::wiring::NONE;

impl Network {
    /// Runs all events before `until` (ns), or until the configuration's stop.
    pub fn run_until(&mut self, until: u64) {
        while self.step(until) {}
    }

    /// The same, and the follower sees each event.
    pub fn run_followed(&mut self, until: u64, follower: &mut Follower) {
        while self.step(until) {
            follower.after_event(self);
        }
    }

    /// Runs the next event if it is before `until` and before the configuration's stop.
    #[inline]
    fn step(&mut self, until: u64) -> bool {
        let limit = until.min(self.stop);
        let Some((asked, event)) = self.events.pop_before(limit) else {
            self.stopped |= limit == self.stop;
            return false;
        };
        self.asked = asked;
        match event {
            Event::Sent(device) => {
                self.devices[device as usize].busy = false;
                self.serve(device);
            }
            Event::Arrives(device, packet) => self.arrives(device, packet),
            Event::Look(device, number) => self.looks(device, number),
            Event::Timer(flow, number) => self.timer(flow, number),
            Event::Flows => self.read_flows(),
            Event::Made(flow) => self.events.push(self.events.now(), Event::Opens(flow)),
            Event::Opens(flow) => self.open(flow),
            Event::LinkDown => self.link_down(),
            Event::Sample => self.sample(),
        }
        true
    }

    /// Sends the next packet of a device, if it is free.
    fn serve(&mut self, device: u32) {
        if self.devices[device as usize].nic == NONE {
            self.serve_switch(device);
        } else {
            self.serve_host(device);
        }
    }

    /// Samples all queues.
    fn sample(&mut self) {
        let (mmus, now, quiet) = (&self.buffers.mmus, self.events.now(), self.events.is_empty());
        let next = self.lengths.look(now, quiet, &mut self.happened.lengths, |switch, port| mmus[switch].queued(port));
        if let Some(next) = next {
            self.events.push(next, Event::Sample);
        }
    }

    fn arrives(&mut self, device: u32, ix: u32) {
        let d = device as usize;
        if !self.wiring.devices[d].up {
            self.note(device, ix, 0, Seen::Dropped);
            self.dropped(device, ix, Drop::LinkDown);
            return;
        }
        if let Some((rate, draws)) = self.chance.sources.get_mut(self.devices[d].errors as usize)
            && draws.draw() < *rate
        {
            self.dropped(device, ix, Drop::Error);
            return;
        }
        let Packet { kind, queue, .. } = self.pool.packets[ix as usize];
        self.note(device, ix, if matches!(kind, Kind::Pfc(_)) { 0 } else { queue }, Seen::Received);
        if let Kind::Pfc(pause) = kind {
            self.pool.free.push(ix);
            self.paused(device, queue, pause);
        } else if self.devices[d].nic == NONE {
            self.forward(device, ix);
        } else {
            self.host_receives(device, ix);
        }
    }

    fn paused(&mut self, device: u32, queue: u8, pause: bool) {
        let wire = &self.wiring.devices[device as usize];
        let at = self.events.now();
        let is_switch = self.wiring.is_switch[wire.node as usize];
        self.happened.pauses.push(Pause { at, node: wire.node, is_switch, device: wire.number, pause });
        let bit = 1u8 << queue;
        let running = &mut self.devices[device as usize];
        let since = &mut running.paused_since[queue as usize];
        if pause {
            running.paused |= bit;
            running.counts.pauses += 1;
            *since = at.min(*since);
        } else {
            running.paused &= !bit;
            running.counts.paused += at.saturating_sub(core::mem::replace(since, u64::MAX));
            self.serve(device);
        }
    }

    /// The link of the configuration fails: packets queued at its ends are lost, and all paths are computed again.
    fn link_down(&mut self) {
        let Some((_, a, b)) = self.config.link_down else { return };
        let Some((one, two)) = self.wiring.take_down(a, b) else { return };
        for device in [one, two] {
            let running = &mut self.devices[device as usize];
            let lost: Vec<u32> = if running.nic == NONE {
                // Their buffer is not released.
                (running.paused, running.waiting, running.queued) = (0, 0, 0);
                running.bytes = [0; QUEUES];
                running.queues.iter_mut().flat_map(core::mem::take).collect()
            } else {
                self.nics[running.nic as usize].acks.drain(..).collect()
            };
            for ix in lost {
                self.dropped(device, ix, Drop::LinkDown);
            }
        }
        self.redistribute();
    }
}
