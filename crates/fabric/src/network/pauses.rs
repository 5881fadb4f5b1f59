//! Faults and options of PFC as packets and pause frames arrive ([`crate::pauses`]), and the causes of pauses, as they
//! are recorded. What their timers do is in `faults.rs`.

use super::Network;
use super::pause_state::{PauseFrame, PauseTimers, each};
use crate::clock::{PAUSE_TIMER, kind, source};
use crate::packet::PacketIx;
use crate::pause_log::PauseCause;
use crate::pauses::PauseOptions;
use crate::port::PortIx;
use crate::receive::Arrival;
use crate::results::DropCause;
use fanin_engine::EventQueue;
use fanin_units::{PortId, Time};

impl<Q: EventQueue> Network<Q> {
    /// Schedules the first fault of each host.
    pub fn schedule_faults(&mut self) {
        for port in 0..self.pauses.as_ref().map_or(0, |pauses| pauses.ports.len()) {
            self.set_pause_timer(PortIx(port as u32));
        }
    }

    pub(super) fn set_pause_timer(&mut self, port: PortIx) {
        let Some(pauses) = &mut self.pauses else { return };
        let timers = &mut pauses.ports[port.ix()];
        let at = timers.next_at();
        if at < timers.wake_at {
            timers.wake_at = at;
            let number = PAUSE_TIMER | self.egress.port(port).id.0;
            self.core.clock.schedule(at.max(self.core.clock.now()), source(kind::LINK, number), port.0);
        }
    }

    /// A port sends a frame with the state of its pauses. Returns the classes whose pauses it repeats: where pauses
    /// expire, all that last. Those of a storm are repeated by the storm itself.
    pub(super) fn pauses_sent(&mut self, port: PortIx) -> u8 {
        let (now, rate) = (self.core.clock.now(), self.egress.port(port).rate);
        let Some(pauses) = &mut self.pauses else { return 0 };
        let Some(quanta) = pauses.options.quanta else { return 0 };
        let lasting = self.buffers.pausing(port) | pauses.full(port);
        let half = Time::from_ps(PauseOptions::lasts(quanta, rate).as_ps() / 2);
        pauses.ports[port.ix()].refresh_at = if lasting != 0 { now + half } else { Time::NEVER };
        self.set_pause_timer(port);
        lasting
    }

    /// Puts a pause frame off until the response time of the port is over, if it has one.
    pub(super) fn obeys_later(&mut self, port: PortIx, frame: PauseFrame) -> bool {
        let now = self.core.clock.now();
        let Some(pauses) = &mut self.pauses else { return false };
        let response = pauses.options.response;
        if response == Time::ZERO {
            return false;
        }
        pauses.ports[port.ix()].coming.push_back((now.saturating_add(response), frame));
        self.set_pause_timer(port);
        true
    }

    /// Takes the pause frame of a port that takes effect now, the first of several.
    pub(super) fn frame_due(&mut self, port: PortIx, now: Time) -> Option<PauseFrame> {
        let coming = &mut self.pauses.as_mut()?.ports[port.ix()].coming;
        let due = coming.front().is_some_and(|(at, _)| *at <= now);
        if due { coming.pop_front().map(|(_, frame)| frame) } else { None }
    }

    /// The classes whose pause state in a frame from the peer counts for a port: not those of a storm that the watchdog
    /// ignores.
    pub(super) fn heed_pauses(&mut self, port: PortIx, changed: u8, paused: u8) -> u8 {
        let (now, rate) = (self.core.clock.now(), self.egress.port(port).rate);
        let Some(pauses) = &mut self.pauses else { return changed };
        let watchdog = pauses.options.watchdog.filter(|_| !self.egress.port(port).of_host());
        let lasts = pauses.options.quanta.map(|quanta| PauseOptions::lasts(quanta, rate));
        let ignored = pauses.ignored(port);
        let timers = &mut pauses.ports[port.ix()];
        for class in each(changed & paused) {
            timers.expires[class] = lasts.map_or(Time::NEVER, |lasts| now.saturating_add(lasts));
            timers.restore_at[class] = Time::NEVER;
            let bit = 1 << class;
            if let Some(watchdog) = watchdog
                && timers.by_peer & bit == 0
                && timers.storm & bit == 0
            {
                timers.look_at[class] = now.saturating_add(watchdog.detect);
            }
            timers.by_peer |= bit;
        }
        self.pauses_absent(port, changed & !paused);
        self.set_pause_timer(port);
        changed & !ignored
    }

    /// The peer no longer pauses these classes of a port.
    pub(super) fn pauses_absent(&mut self, port: PortIx, classes: u8) {
        let now = self.core.clock.now();
        let Some(pauses) = &mut self.pauses else { return };
        let restore = pauses.options.watchdog.map_or(Time::NEVER, |watchdog| watchdog.restore);
        let timers = &mut pauses.ports[port.ix()];
        for class in each(classes & timers.by_peer) {
            (timers.expires[class], timers.look_at[class]) = (Time::NEVER, Time::NEVER);
            if timers.storm & 1 << class != 0 {
                timers.restore_at[class] = now.saturating_add(restore);
            }
        }
        timers.by_peer &= !classes;
    }

    /// All pauses across a link are void.
    pub(super) fn forget_peer_pauses(&mut self, port: PortIx) {
        self.pauses_absent(port, u8::MAX);
        if let Some(pauses) = &mut self.pauses {
            let timers = &mut pauses.ports[port.ix()];
            timers.refresh_at = Time::NEVER;
            timers.coming.clear();
        }
        self.set_pause_timer(port);
    }

    /// Whether the watchdog drops the packets of a class at a port.
    pub(super) fn watchdog_drops(&self, port: PortIx, class: u8) -> bool {
        let drops = |pauses: &PauseTimers| pauses.ports[port.ix()].storm & 1 << class != 0 && !pauses.forwards();
        self.pauses.as_ref().is_some_and(|pauses| drops(pauses))
    }

    /// A data packet arrives at a host whose NIC may be slow. Returns whether it passes.
    #[cold]
    #[inline(never)]
    pub(super) fn receive_slowly(&mut self, port: PortIx, ix: PacketIx) -> bool {
        let now = self.core.clock.now();
        let head = &self.core.packets[ix].head;
        let (class, wire, node) = (head.class, head.wire, head.dst);
        let Some(pauses) = &mut self.pauses else { return true };
        // Credits are given for room that there is, so nothing is paused or dropped.
        let lossless = pauses.lossless & 1 << class != 0 && self.credits.is_none();
        let fault = pauses.ports[port.ix()].fault.as_mut();
        let Some(fault) = fault.filter(|fault| class != 0 && !fault.receive.passes()) else { return true };
        match fault.receive.arrive(now, ix, (class, wire), lossless) {
            Arrival::Dropped => {
                let cause = if lossless { DropCause::Lossless } else { DropCause::Receiver };
                self.drop_arriving(node, port, ix, cause);
            }
            Arrival::Waits { filled } => {
                if filled {
                    self.note_cause(port, class, PauseCause::Receiver);
                    self.egress.announce(port, class as usize);
                    let free = self.egress.port(port).busy_until.max(now);
                    self.egress.wake(&mut self.core, port, free);
                }
                self.set_pause_timer(port);
            }
        }
        false
    }

    /// Records why a port pauses a class of its peer, if that is recorded.
    pub(super) fn note_cause(&mut self, port: PortIx, class: u8, cause: PauseCause) {
        let (now, id) = (self.core.clock.now(), self.egress.port(port).id);
        if let Some(log) = self.core.probes.pause_log() {
            log.decide(now, (id, class), cause, Time::NEVER);
        }
    }

    /// The same for an ingress of a switch that has just admitted a packet for class `of` of `out`, which is not queued
    /// yet. The cause is the queue with the most packets of this ingress. Reads all packets in the switch.
    #[cold]
    #[inline(never)]
    pub(super) fn note_full_ingress(&mut self, ingress: PortIx, class: usize, wire: u64, (out, of): (PortIx, usize)) {
        let switch = self.egress.port(ingress).home as usize;
        let mut most = (0, out, of);
        for port in &self.switches[switch].ports {
            for queue in each(self.egress.port(*port).waiting) {
                let waiting = self.egress.waiting(*port, queue);
                let own = waiting.filter(|packet| packet.ingress() == ingress.0 && packet.ingress_class() == class);
                let last = if (*port, queue) == (out, of) { wire } else { 0 };
                let bytes = last + own.map(|packet| packet.wire() as u64).sum::<u64>();
                if bytes > most.0 {
                    most = (bytes, *port, queue);
                }
            }
        }
        let (_, by, queue) = most;
        let at = self.egress.port(by).id;
        let paused = self.egress.port(by).paused & 1 << queue != 0;
        let cause = if paused { PauseCause::Pause } else { PauseCause::Congestion }(at, queue as u8);
        let since = self.egress.paused_since(by, queue);
        let (now, id): (Time, PortId) = (self.core.clock.now(), self.egress.port(ingress).id);
        if let Some(log) = self.core.probes.pause_log() {
            log.decide(now, (id, class as u8), cause, since);
        }
    }
}
