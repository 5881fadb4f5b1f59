//! Faults and options of PFC at the ports of a network ([`crate::pauses`]): slow receivers and pause storms of hosts,
//! pauses that expire and are refreshed, and the watchdog. Each port has one timer for all of these. Also the causes of
//! pauses, as they are recorded.

use super::Network;
use super::switch::AtHost;
use crate::clock::{PAUSE_TIMER, kind, source};
use crate::packet::PacketIx;
use crate::pause_log::PauseCause;
use crate::pauses::{FaultKind, HostFault, PauseOptions, WatchdogAction};
use crate::pfc;
use crate::port::{Port, PortIx};
use crate::receive::{Arrival, ReceiveBuffer};
use crate::results::{DropCause, What};
use fanin_engine::EventQueue;
use fanin_units::{PortId, Time};

/// Classes of a port at most, control included.
const CLASSES: usize = 8;

/// What the ports of a partition need for these faults and options.
pub(super) struct PauseTimers {
    options: PauseOptions,
    ports: Vec<PortTimers>,
    /// Bit c: class c is lossless.
    lossless: u8,
}

struct PortTimers {
    /// The one valid timer event; others are stale.
    wake_at: Time,
    /// When the pauses that the port has sent are repeated, if they last.
    refresh_at: Time,
    /// Bit c: the last frame of the peer paused class c, and that has not expired.
    by_peer: u8,
    /// Bit c: the watchdog has found a storm in class c.
    storm: u8,
    /// By class: when the peer's pause expires, when the watchdog looks again, when it stops to act.
    expires: [Time; CLASSES],
    look_at: [Time; CLASSES],
    restore_at: [Time; CLASSES],
    /// Of a host with faults.
    fault: Option<Box<Faulty>>,
}

/// A host's port with faults.
struct Faulty {
    receive: ReceiveBuffer,
    /// The faults that have not ended, by their begin.
    faults: Vec<HostFault>,
    /// Whether each of them has begun.
    begun: Vec<bool>,
    /// Bit c: a storm pauses class c.
    storm: u8,
    /// When it repeats that.
    repeat_at: Time,
}

impl PauseTimers {
    /// Of these ports; `None` if nothing is wanted.
    pub fn new(options: &PauseOptions, ports: &[Port], lossless: u8, sizes: (u32, u16)) -> Option<Box<Self>> {
        let (largest, pause) = (sizes.0 as u64, sizes.1 as u64);
        let of = |port: &Port| {
            let mut faults: Vec<HostFault> = options.faults.clone();
            faults.retain(|fault| port.of_host() && fault.host == port.node.0);
            faults.sort_by_key(|fault| fault.from);
            let headroom = pfc::headroom(port.rate, port.delay, largest, pause);
            let faulty = || Faulty {
                receive: ReceiveBuffer::new(CLASSES, port.rate, headroom, largest),
                begun: vec![false; faults.len()],
                faults: faults.clone(),
                storm: 0,
                repeat_at: Time::NEVER,
            };
            PortTimers {
                wake_at: Time::NEVER,
                refresh_at: Time::NEVER,
                by_peer: 0,
                storm: 0,
                expires: [Time::NEVER; CLASSES],
                look_at: [Time::NEVER; CLASSES],
                restore_at: [Time::NEVER; CLASSES],
                fault: (!faults.is_empty()).then(|| Box::new(faulty())),
            }
        };
        let timers = || Self { options: options.clone(), ports: ports.iter().map(of).collect(), lossless };
        options.any_timers().then(|| Box::new(timers()))
    }

    /// Whether a host's NIC may be slow.
    pub fn any_slow(&self) -> bool {
        self.options.faults.iter().any(|fault| matches!(fault.kind, FaultKind::SlowReceiver { .. }))
    }

    /// The classes that a port pauses apart from those whose ingress is full.
    pub fn pausing(&self, port: PortIx) -> u8 {
        self.ports[port.ix()].fault.as_ref().map_or(0, |fault| fault.storm) | self.full(port)
    }

    /// The classes whose receive buffer is full.
    fn full(&self, port: PortIx) -> u8 {
        self.ports[port.ix()].fault.as_ref().map_or(0, |fault| fault.receive.full())
    }

    fn forwards(&self) -> bool {
        self.options.watchdog.is_some_and(|watchdog| watchdog.action == WatchdogAction::Forward)
    }

    /// The classes of a port whose pauses the watchdog ignores.
    fn ignored(&self, port: PortIx) -> u8 {
        if self.forwards() { self.ports[port.ix()].storm } else { 0 }
    }
}

impl PortTimers {
    fn next_at(&self) -> Time {
        let lists = [&self.expires, &self.look_at, &self.restore_at];
        let of_classes = lists.into_iter().flatten().copied().min().unwrap_or(Time::NEVER);
        let of_fault = self.fault.as_ref().map_or(Time::NEVER, |fault| fault.next_at());
        of_classes.min(of_fault).min(self.refresh_at)
    }
}

impl Faulty {
    fn next_at(&self) -> Time {
        let change = |(fault, begun): (&HostFault, &bool)| if *begun { fault.to } else { fault.from };
        let changes = self.faults.iter().zip(&self.begun).map(change).min().unwrap_or(Time::NEVER);
        changes.min(self.receive.next_at()).min(self.repeat_at)
    }
}

/// Takes the classes whose time has come.
fn due(times: &mut [Time; CLASSES], now: Time) -> u8 {
    let mut classes = 0;
    for (class, time) in times.iter_mut().enumerate().filter(|(_, time)| **time <= now) {
        classes |= 1 << class;
        *time = Time::NEVER;
    }
    classes
}

fn each(classes: u8) -> impl Iterator<Item = usize> {
    (1..CLASSES).filter(move |class| classes & 1 << class != 0)
}

impl<Q: EventQueue> Network<Q> {
    /// Schedules the first fault of each host.
    pub fn schedule_faults(&mut self) {
        for port in 0..self.pauses.as_ref().map_or(0, |pauses| pauses.ports.len()) {
            self.set_pause_timer(PortIx(port as u32));
        }
    }

    fn set_pause_timer(&mut self, port: PortIx) {
        let Some(pauses) = &mut self.pauses else { return };
        let timers = &mut pauses.ports[port.ix()];
        let at = timers.next_at();
        if at < timers.wake_at {
            timers.wake_at = at;
            let number = PAUSE_TIMER | self.egress.port(port).id.0;
            self.core.clock.schedule(at.max(self.core.clock.now()), source(kind::LINK, number), port.0);
        }
    }

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

    /// Faults of a host begin and end, and a storm repeats its pauses.
    fn change_faults(&mut self, port: PortIx, now: Time) {
        let line = self.egress.port(port).rate;
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
                FaultKind::SlowReceiver { drain, buffer } => fault.receive.set(now, drain.rate(line), buffer),
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
    fn pauses_absent(&mut self, port: PortIx, classes: u8) {
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
            pauses.ports[port.ix()].refresh_at = Time::NEVER;
        }
        self.set_pause_timer(port);
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
        timers.storm &= !due(&mut timers.restore_at, now);
        let looked = due(&mut timers.look_at, now);
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
            let id = self.egress.port(port).id;
            self.core.incident(id, What::Storm(class as u8));
            match watchdog.action {
                WatchdogAction::Drop => {
                    self.redirects = true;
                    self.drop_class(port, class, DropCause::Watchdog);
                }
                WatchdogAction::Forward => {
                    self.egress.set_paused(&mut self.core, port, class, false);
                    self.serve(port);
                }
            }
        }
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
        let lossless = pauses.lossless & 1 << class != 0;
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
                    self.signal(port, 1 << class);
                }
                self.set_pause_timer(port);
            }
        }
        false
    }

    /// The packet that a slow NIC has taken from its receive buffer by now.
    fn take_received(&mut self, port: PortIx, now: Time) -> Option<PacketIx> {
        let fault = self.pauses.as_mut()?.ports[port.ix()].fault.as_mut()?;
        let (ix, resumes) = fault.receive.take(now)?;
        if let Some(class) = resumes {
            self.signal(port, 1 << class);
        }
        Some(ix)
    }

    /// Records why a port pauses a class of its peer, if that is recorded.
    fn note_cause(&mut self, port: PortIx, class: u8, cause: PauseCause) {
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
