//! Lazy departures: packets that leave a queue without an event of their own.
//!
//! A port with packets in its queues sends the next one when the last bit of the one before has left. An event at each
//! such moment would make it do so; but nothing outside the port can see whether it did, until the packet arrives at
//! the other end, a delay of the link and its own time later. So the port may be served a delay of the link later than
//! it is free, and send then all that left in between, each packet at its own time; whatever reads or changes the port
//! before that flushes it first. Most busy ports see packets arrive so often that they hardly ever need an event of
//! their own.
//!
//! Nothing may come out otherwise: a departure at the very time of an event happens before or after it as the order of
//! events says, as if there were an event for it. Packets leave the accounts of their ingress late, so these show too
//! much rather than too little; where that could decide anything, the whole switch is flushed. While a switch pauses a
//! peer, every departure may be the one that lets it go on, so its ports are eager then. So are those of hosts, whose
//! senders decide what leaves; and all ports where something watches switches as they are: their programs, the tap, or
//! links that go down. Where a network is cut, ports that lead to another partition are flushed at the end of each
//! step, before what leaves in it is sent there, and need no events at all.

use crate::clock::{kind, source};
use crate::config::Release;
use crate::network::Network;
use crate::port::PortIx;
use fanin_engine::EventQueue;
use fanin_units::Time;

impl<Q: EventQueue> Network<Q> {
    /// Makes departures lazy from now on, where that changes nothing but the time it takes.
    pub fn allow_lazy(&mut self) {
        self.lazy_allowed = self.config().release == Release::Dequeue
            && self.programs.is_empty()
            && self.config().graph.links.iter().all(|link| link.outages.is_empty());
        self.update_lazy();
    }

    /// Makes each departure an event of its own from now on.
    pub fn forbid_lazy(&mut self) {
        self.lazy_allowed = false;
        self.update_lazy();
    }

    /// Whether departures may be lazy may have changed. Not while an event runs.
    pub fn update_lazy(&mut self) {
        let lazy = self.lazy_allowed && !self.core.probes.needs_eager_departures();
        if lazy != self.lazy {
            self.lazy = lazy;
            for switch in 0..self.switches.len() {
                self.set_lazy(switch);
            }
        }
    }

    /// Makes the ports of a switch lazy or eager. They have been flushed.
    fn set_lazy(&mut self, switch: usize) {
        let lazy = self.lazy && self.switches[switch].pausing == 0;
        for out in &self.switches[switch].ports {
            self.egress.set_lazy(&mut self.core, *out, lazy);
        }
    }

    /// An ingress of a switch has begun to pause its peer. All its ports have been flushed.
    pub fn begin_pause(&mut self, switch: u32) {
        let switch = switch as usize;
        self.switches[switch].pausing += 1;
        if self.lazy && self.switches[switch].pausing == 1 {
            self.set_lazy(switch);
        }
    }

    /// It lets it go on.
    pub fn end_pause(&mut self, switch: u32) {
        let switch = switch as usize;
        self.switches[switch].pausing -= 1;
        if self.lazy && self.switches[switch].pausing == 0 {
            self.set_lazy(switch);
        }
    }

    /// Sends what a port should have sent before the event that runs now. Called before anything reads the port or
    /// changes it.
    #[inline(always)]
    pub fn flush(&mut self, out: PortIx) {
        let port = self.egress.port(out);
        // Whether a port is free and whether something waits are unpredictable, so `&` instead of two branches.
        if (port.busy_until <= self.core.clock.now()) & (port.ready() != 0) & port.lazy {
            self.send_due(out, true);
        }
    }

    /// All ports of a switch, because what they hold together matters.
    #[inline(never)]
    pub fn flush_switch(&mut self, switch: u32) {
        let switch = switch as usize;
        if self.lazy && self.switches[switch].pausing == 0 {
            for at in 0..self.switches[switch].ports.len() {
                let out = self.switches[switch].ports[at];
                self.flush(out);
            }
        }
    }

    /// All ports, up to now and not with it: a network is read between events.
    pub fn flush_all(&mut self) {
        for at in 0..self.egress.lazy().words() {
            self.egress.lazy().of_word(at).for_each(|out| self.flush_before_now(out));
        }
        self.flush_remote();
    }

    /// Those that lead to other partitions, at the end of each step, before what leaves in it is sent there.
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
        if port.busy_until < self.core.clock.now() && port.ready() != 0 && port.lazy {
            self.send_due(out, false);
        }
    }

    /// When the first of those that lead to other partitions sends next.
    pub fn next_remote(&self) -> Time {
        let ports = self.egress.lazy_remote().iter().map(|out| self.egress.port(out));
        let free = ports.filter(|port| port.ready() != 0 && port.lazy).map(|port| port.busy_until);
        free.min().unwrap_or(Time::NEVER)
    }

    /// Sends what a port should have sent by now, each packet at its own time. What is due at this very moment has been
    /// sent if its event would have come before the one that runs, and there is one.
    #[inline(never)]
    fn send_due(&mut self, out: PortIx, in_event: bool) {
        let now = self.core.clock.now();
        let own = source(kind::PORT, self.egress.port(out).id.0);
        loop {
            let port = self.egress.port(out);
            let at = port.busy_until;
            if port.ready() == 0 || at > now || at == now && !(in_event && self.core.clock.comes_first(own)) {
                break;
            }
            let Some(next) = self.next_to_send(at, out) else { break };
            self.egress.transmit(&mut self.core, at, out, next.ix(), next.wire());
            let resumes = self.buffers.release(&next);
            debug_assert!(resumes.is_none(), "a switch that pauses a peer is not lazy");
        }
    }
}
