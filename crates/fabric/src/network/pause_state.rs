//! What the ports of a network have to know for the faults and options of PFC ([`crate::pauses`]). Each port has one
//! timer for all of them.

use crate::pauses::{FaultKind, HostFault, PauseOptions, WatchdogAction};
use crate::pfc;
use crate::port::{Port, PortIx};
use crate::receive::ReceiveBuffer;
use fanin_units::Time;
use std::collections::VecDeque;

/// Classes of a port at most, control included.
pub(super) const CLASSES: usize = 8;

/// What the ports of a partition need for these faults and options.
pub(super) struct PauseTimers {
    pub options: PauseOptions,
    pub ports: Vec<PortTimers>,
    /// Bit c: class c is lossless.
    pub lossless: u8,
}

/// What a pause frame says: the classes whose state it has, and which of those are paused.
#[derive(Clone, Copy)]
pub(super) struct PauseFrame {
    pub changed: u8,
    pub paused: u8,
}

/// The timers of a port.
pub(super) struct PortTimers {
    /// The one valid timer event; others are stale.
    pub wake_at: Time,
    /// When the pauses that the port has sent are repeated, if they last.
    pub refresh_at: Time,
    /// Frames of the peer that have arrived and not taken effect: when they do, and what they say.
    pub coming: VecDeque<(Time, PauseFrame)>,
    /// Bit c: the last frame of the peer paused class c, and that has not expired.
    pub by_peer: u8,
    /// Bit c: the watchdog has found a storm in class c.
    pub storm: u8,
    /// By class: when the peer's pause expires, when the watchdog looks again, when it stops to act.
    pub expires: [Time; CLASSES],
    pub look_at: [Time; CLASSES],
    pub restore_at: [Time; CLASSES],
    /// Of a host with faults.
    pub fault: Option<Box<Faulty>>,
}

/// A host's port with faults.
pub(super) struct Faulty {
    pub receive: ReceiveBuffer,
    /// The faults that have not ended, by their begin.
    pub faults: Vec<HostFault>,
    /// Whether each of them has begun.
    pub begun: Vec<bool>,
    /// Bit c: a storm pauses class c.
    pub storm: u8,
    /// When it repeats that.
    pub repeat_at: Time,
}

impl PauseTimers {
    /// Of these ports; `None` if nothing is wanted.
    pub fn new(options: &PauseOptions, ports: &[Port], lossless: u8, sizes: (u32, u16)) -> Option<Box<Self>> {
        let (largest, pause) = (sizes.0 as u64, sizes.1 as u64);
        let of = |port: &Port| {
            let mut faults: Vec<HostFault> = options.faults.clone();
            faults.retain(|fault| port.of_host() && fault.host == port.node.0);
            faults.sort_by_key(|fault| fault.from);
            let headroom = pfc::headroom(port.rate, (port.delay, options.response), largest, pause);
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
                coming: VecDeque::new(),
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

    /// Whether data that arrives at a port now waits in the receive buffer of a slow NIC.
    pub fn is_slow(&self, port: PortIx) -> bool {
        self.ports[port.ix()].fault.as_ref().is_some_and(|fault| !fault.receive.passes())
    }

    /// The packets that wait in the receive buffers of slow NICs: the port, the class and the size of each.
    pub fn waiting(&self) -> impl Iterator<Item = (PortIx, usize, u64)> {
        let ports = (0..).map(PortIx).zip(&self.ports);
        ports.flat_map(|(port, timers)| {
            let receive = timers.fault.as_ref().map(|fault| fault.receive.waiting());
            receive.into_iter().flatten().map(move |(class, wire)| (port, class as usize, wire as u64))
        })
    }

    /// The classes that a port pauses apart from those whose ingress is full.
    pub fn pausing(&self, port: PortIx) -> u8 {
        self.ports[port.ix()].fault.as_ref().map_or(0, |fault| fault.storm) | self.full(port)
    }

    /// The classes whose receive buffer is full.
    pub fn full(&self, port: PortIx) -> u8 {
        self.ports[port.ix()].fault.as_ref().map_or(0, |fault| fault.receive.full())
    }

    /// Whether a watchdog ignores pauses.
    pub fn forwards(&self) -> bool {
        self.options.watchdog.is_some_and(|watchdog| watchdog.action == WatchdogAction::Forward)
    }

    /// The classes of a port whose pauses the watchdog ignores.
    pub fn ignored(&self, port: PortIx) -> u8 {
        if self.forwards() { self.ports[port.ix()].storm } else { 0 }
    }
}

impl PortTimers {
    /// When something has to be done next.
    pub fn next_at(&self) -> Time {
        let lists = [&self.expires, &self.look_at, &self.restore_at];
        let of_classes = lists.into_iter().flatten().copied().min().unwrap_or(Time::NEVER);
        let of_fault = self.fault.as_ref().map_or(Time::NEVER, |fault| fault.next_at());
        let coming = self.coming.front().map_or(Time::NEVER, |(at, _)| *at);
        of_classes.min(of_fault).min(self.refresh_at).min(coming)
    }
}

impl Faulty {
    /// When something has to be done next.
    pub fn next_at(&self) -> Time {
        let change = |(fault, begun): (&HostFault, &bool)| if *begun { fault.to } else { fault.from };
        let changes = self.faults.iter().zip(&self.begun).map(change).min().unwrap_or(Time::NEVER);
        changes.min(self.receive.next_at()).min(self.repeat_at)
    }
}

/// Takes the classes whose time has come.
pub(super) fn due(times: &mut [Time; CLASSES], now: Time) -> u8 {
    let mut classes = 0;
    for (class, time) in times.iter_mut().enumerate().filter(|(_, time)| **time <= now) {
        classes |= 1 << class;
        *time = Time::NEVER;
    }
    classes
}

/// The data classes of a mask.
pub(super) fn each(classes: u8) -> impl Iterator<Item = usize> {
    (1..CLASSES).filter(move |class| classes & 1 << class != 0)
}
