//! Lazy departures: packets leave a queue without an event of their own.
//!
//! A port with packets in its queues sends the next one when the last bit of the one before has left. An eager port has
//! an event at each such time; but no other part of the network depends on the departure until the packet arrives at
//! the other end, after its transmission time and the link's delay. So a port may be served one link delay after it
//! became free, and then sends all packets due in between, each at its own time; code that reads or changes the port
//! before that flushes it first. Packets arrive at most busy ports so often that the ports hardly ever need an event of
//! their own.
//!
//! Results must not change: a departure at the time of another event happens before or after it by the order of events,
//! as if it had an event. Packets leave the accounts of their ingress late, so these are too high rather than too low;
//! where that could change a decision, the whole switch is flushed. While a switch pauses a peer, every departure may
//! resume it, so its ports are eager then. So are ports of hosts, whose senders choose each packet at its departure;
//! and all ports where the current state of switches is observed: by credits, by switch programs, by queue disciplines,
//! by shapers, by the tap, or when links go down. Where a network is cut, ports to another partition are flushed at the
//! end of each step, before the packets of the step are sent there, and need no events at all.

use super::Network;
use crate::clock::{kind, source};
use crate::config::Release;
use crate::port::PortIx;
use fanin_engine::EventQueue;
use fanin_units::Time;

impl<Q: EventQueue> Network<Q> {
    /// Makes departures lazy from now on, where that changes no result.
    pub fn allow_lazy(&mut self) {
        self.modes.lazy_allowed = self.config().release == Release::Dequeue
            && self.programs.active.is_empty()
            && self.programs.disciplines.is_empty()
            && self.egress.shaped() == 0
            && self.credits.is_none()
            && self.config().graph.links.iter().all(|link| link.outages.is_empty());
        self.update_lazy();
    }

    /// Makes each departure an event of its own from now on.
    pub fn forbid_lazy(&mut self) {
        self.modes.lazy_allowed = false;
        self.update_lazy();
    }

    /// Updates whether departures are lazy. Not while an event runs.
    pub fn update_lazy(&mut self) {
        let lazy = self.modes.lazy_allowed && !self.core.probes.needs_eager_departures();
        if lazy != self.modes.lazy {
            self.modes.lazy = lazy;
            for switch in 0..self.switches.len() {
                self.set_lazy(switch);
            }
        }
    }

    /// Makes the ports of a switch lazy or eager. They have been flushed.
    fn set_lazy(&mut self, switch: usize) {
        let lazy = self.modes.lazy && self.switches[switch].pausing == 0;
        for out in &self.switches[switch].ports {
            self.egress.set_lazy(&mut self.core, *out, lazy);
        }
    }

    /// An ingress of a switch has begun to pause its peer. All its ports have been flushed.
    pub fn begin_pause(&mut self, switch: u32) {
        let switch = switch as usize;
        self.switches[switch].pausing += 1;
        if self.modes.lazy && self.switches[switch].pausing == 1 {
            self.set_lazy(switch);
        }
    }

    /// The ingress resumes its peer.
    pub fn end_pause(&mut self, switch: u32) {
        let switch = switch as usize;
        self.switches[switch].pausing -= 1;
        if self.modes.lazy && self.switches[switch].pausing == 0 {
            self.set_lazy(switch);
        }
    }

    /// Sends the packets due at a port before the current event. Called before any code reads or changes the port.
    #[inline(always)]
    pub fn flush(&mut self, out: PortIx) {
        let port = self.egress.port(out);
        // Whether a port is free and whether packets wait are unpredictable, so `&` instead of two branches. Whether a
        // pause holds up all that waits is seen behind it.
        if (port.busy_until <= self.core.clock.now()) & (port.waiting | port.pfc_pending != 0) & port.lazy() {
            self.send_due(out, true);
        }
    }

    /// Flushes all ports of a switch, because their total matters.
    #[inline(never)]
    pub fn flush_switch(&mut self, switch: u32) {
        let switch = switch as usize;
        if self.modes.lazy && self.switches[switch].pausing == 0 {
            for at in 0..self.switches[switch].ports.len() {
                let out = self.switches[switch].ports[at];
                self.flush(out);
            }
        }
    }

    /// Flushes all ports up to now, exclusive: a network is read between events.
    pub fn flush_all(&mut self) {
        for at in 0..self.egress.lazy().words() {
            self.egress.lazy().of_word(at).for_each(|out| self.flush_before_now(out));
        }
        self.flush_remote();
    }

    /// Flushes the ports to other partitions, at the end of each step, before the packets of the step are sent there.
    pub fn flush_remote(&mut self) {
        for at in 0..self.egress.lazy_remote().words() {
            for out in self.egress.lazy_remote().of_word(at) {
                self.flush_before_now(out);
                self.egress.flushed_remote(out);
            }
        }
    }

    #[inline(always)]
    fn flush_before_now(&mut self, out: PortIx) {
        let port = self.egress.port(out);
        if port.busy_until < self.core.clock.now() && port.ready() != 0 && port.lazy() {
            self.send_due(out, false);
        }
    }

    /// The next departure of any port to another partition.
    pub fn next_remote(&self) -> Time {
        let ports = self.egress.lazy_remote().iter().map(|out| self.egress.port(out));
        let free = ports.filter(|port| port.ready() != 0 && port.lazy()).map(|port| port.busy_until);
        free.min().unwrap_or(Time::NEVER)
    }

    /// Sends the packets due at a port by now, each at its own time. A packet due exactly now is sent if `in_event` and
    /// its event would precede the current one.
    #[inline(never)]
    fn send_due(&mut self, out: PortIx, in_event: bool) {
        let now = self.core.clock.now();
        loop {
            let port = self.egress.port(out);
            let at = port.busy_until;
            let own = || source(kind::PORT, port.id.0);
            if port.ready() == 0 || at > now || at == now && !(in_event && self.core.clock.comes_first(own())) {
                break;
            }
            let Some(next) = self.next_to_send(at, out) else { break };
            self.egress.transmit(&mut self.core, at, out, next.ix(), next.wire());
            let resumes = self.buffers.release(&next);
            debug_assert!(resumes.is_none(), "a switch that pauses a peer is not lazy");
        }
    }
}
