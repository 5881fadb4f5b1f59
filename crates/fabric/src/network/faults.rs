//! Faults and options of PFC at their times ([`crate::pauses`]): hosts become faulty and whole, storms and other pauses
//! are repeated, pauses expire, and the watchdog looks for storms.

use super::Network;
use super::pause_state::{due, each};
use super::switch::AtHost;
use crate::packet::PacketIx;
use crate::pause_log::PauseCause;
use crate::pauses::{FaultKind, HostFault, PauseOptions, WatchdogAction};
use crate::port::PortIx;
use crate::results::{DropCause, What};
use fanin_engine::EventQueue;
use fanin_units::Time;

impl<Q: EventQueue> Network<Q> {
    /// The timer of a port.
    #[cold]
    #[inline(never)]
    pub fn pause_timer(&mut self, port: PortIx) -> Option<AtHost> {
        let now = self.core.clock.now();
        let timers = &mut self.pauses.as_mut()?.ports[port.ix()];
        if timers.wake_at > now {
            return None;
        }
        timers.wake_at = Time::NEVER;
        // If the RESUME frame of a lazy port was due before now, nothing has to be repeated any more.
        self.flush(port);
        self.obey_late(port, now);
        self.change_faults(port, now);
        self.refresh_pauses(port, now);
        self.expire_pauses(port, now);
        self.watch_for_storms(port, now);
        let taken = self.take_received(port, now);
        self.set_pause_timer(port);
        let (node, home) = (self.egress.port(port).node, self.egress.port(port).home);
        taken.map(|ix| AtHost::Packet(node, home, ix))
    }

    /// Has a port served that may have something to send now.
    fn serve_soon(&mut self, port: PortIx) {
        if self.egress.port(port).of_host() {
            let at = self.egress.port(port).busy_until.max(self.core.clock.now());
            self.wake(port, at);
        } else {
            self.serve(port);
        }
    }

    /// Sends the peer of a port the state of classes that it pauses or no longer does.
    fn signal(&mut self, port: PortIx, classes: u8) {
        each(classes).for_each(|class| self.egress.announce(port, class));
        if classes != 0 {
            self.serve_soon(port);
        }
    }

    /// Pause frames take effect whose response time is over.
    fn obey_late(&mut self, port: PortIx, now: Time) {
        while let Some(frame) = self.frame_due(port, now) {
            self.obey(port, frame);
            self.serve_soon(port);
        }
    }

    /// Faults of a host begin and end, and a storm repeats its pauses.
    fn change_faults(&mut self, port: PortIx, now: Time) {
        let line = self.egress.port(port).rate;
        let credits = self.credits.is_some();
        let Some(pauses) = &mut self.pauses else { return };
        let (lossless, quanta) = (pauses.lossless, pauses.options.quanta.unwrap_or(u16::MAX));
        let Some(fault) = &mut pauses.ports[port.ix()].fault else { return };
        let half = Time::from_ps(PauseOptions::lasts(quanta, line).as_ps() / 2);
        let (mut classes, mut storms) = (0, false);
        // First those that end: another one may begin at that time.
        for at in (0..fault.faults.len()).rev().filter(|at| fault.faults[*at].to <= now).collect::<Vec<_>>() {
            let ended = fault.faults.remove(at);
            fault.begun.remove(at);
            match ended.kind {
                FaultKind::SlowReceiver { .. } => fault.receive.reset(now),
                FaultKind::PauseStorm { .. } => {
                    (fault.storm, fault.repeat_at) = (0, Time::NEVER);
                    classes |= lossless;
                }
            }
        }
        for (begins, begun) in fault.faults.iter().zip(&mut fault.begun).filter(|(f, begun)| f.from <= now && !**begun)
        {
            *begun = true;
            match begins.kind {
                FaultKind::SlowReceiver { drain, buffer } => {
                    fault.receive.set(now, drain.rate(line), if credits { u64::MAX } else { buffer });
                }
                FaultKind::PauseStorm { .. } => {
                    (fault.storm, fault.repeat_at) = (lossless, now);
                    storms = true;
                }
            }
        }
        if fault.repeat_at <= now {
            let of_storm = |fault: &HostFault| match fault.kind {
                FaultKind::PauseStorm { every } => Some(every.unwrap_or(half)),
                FaultKind::SlowReceiver { .. } => None,
            };
            let storm = fault.faults.iter().zip(&fault.begun).filter(|(_, begun)| **begun);
            let every = storm.filter_map(|(fault, _)| of_storm(fault)).next().unwrap_or(Time::NEVER);
            fault.repeat_at = now.saturating_add(every);
            classes |= fault.storm;
        }
        if storms {
            each(lossless).for_each(|class| self.note_cause(port, class as u8, PauseCause::Storm));
        }
        self.signal(port, classes);
    }

    /// The pauses that a port has sent are repeated before they expire.
    fn refresh_pauses(&mut self, port: PortIx, now: Time) {
        let Some(pauses) = &mut self.pauses else { return };
        if pauses.ports[port.ix()].refresh_at > now {
            return;
        }
        pauses.ports[port.ix()].refresh_at = Time::NEVER;
        let classes = pauses.full(port) | self.buffers.pausing(port);
        self.signal(port, classes);
    }

    /// Pauses expire that were not refreshed (IEEE 802.1Qbb).
    fn expire_pauses(&mut self, port: PortIx, now: Time) {
        let Some(pauses) = &mut self.pauses else { return };
        let classes = due(&mut pauses.ports[port.ix()].expires, now);
        if classes == 0 {
            return;
        }
        self.pauses_absent(port, classes);
        self.flush(port);
        for class in each(classes) {
            self.egress.set_paused(&mut self.core, port, class, false);
        }
        self.serve_soon(port);
    }

    /// The watchdog looks at classes that have been paused for long, and stops to act where pauses have been absent.
    fn watch_for_storms(&mut self, port: PortIx, now: Time) {
        let Some(pauses) = &mut self.pauses else { return };
        let Some(watchdog) = pauses.options.watchdog else { return };
        let timers = &mut pauses.ports[port.ix()];
        let ended = due(&mut timers.restore_at, now) & timers.storm;
        timers.storm &= !ended;
        let looked = due(&mut timers.look_at, now);
        let id = self.egress.port(port).id;
        each(ended).for_each(|class| self.core.incident(id, What::StormEnd(class as u8)));
        if looked == 0 {
            return;
        }
        self.flush(port);
        for class in each(looked) {
            let waits = !self.egress.queue(port, class).is_empty();
            let Some(pauses) = &mut self.pauses else { return };
            let timers = &mut pauses.ports[port.ix()];
            if !waits {
                timers.look_at[class] = now.saturating_add(watchdog.detect);
                continue;
            }
            timers.storm |= 1 << class;
            self.core.probes.totals.storms += 1;
            self.core.incident(id, What::Storm(class as u8));
            match watchdog.action {
                WatchdogAction::Drop => {
                    self.modes.redirects = true;
                    self.drop_class(port, class, DropCause::Watchdog);
                }
                WatchdogAction::Forward => {
                    self.egress.set_paused(&mut self.core, port, class, false);
                    self.serve(port);
                }
            }
        }
    }

    /// The packet that a slow NIC has taken from its receive buffer by now.
    fn take_received(&mut self, port: PortIx, now: Time) -> Option<PacketIx> {
        let fault = self.pauses.as_mut()?.ports[port.ix()].fault.as_mut()?;
        let (ix, resumes) = fault.receive.take(now)?;
        if let Some(class) = resumes {
            self.signal(port, 1 << class);
        }
        if self.credits.is_some() {
            let head = &self.core.packets[ix].head;
            self.take_at_host(port, head.class as usize, head.wire as u64);
        }
        Some(ix)
    }
}
