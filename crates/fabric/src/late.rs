//! Departures that are worked out late.
//!
//! A port with packets in its queues sends the next one when the last bit of the one before has left. An event at each such
//! moment would tell the port to do so; but nothing outside the port can see whether it did, until the packet arrives at the
//! other end, a delay of the link and its own time later. So the port may look a delay of the link later than it is free, and
//! send then all that left in between, each at its own time; whatever looks at the port or changes it before that makes it
//! catch up first. Most ports that are busy see packets arrive so often that they hardly ever need an event of their own.
//!
//! What has to be as it was: a departure at the very time of an event happens before or after it as the order of events says,
//! as if there were an event for it. Packets leave the accounts of the ingress that they came in by late, so these show too
//! much rather than too little; where that could decide anything, all ports of the switch catch up. While a switch pauses a
//! peer, every departure may be the one that lets it go on, so its ports send promptly. So do those of hosts, whose flows
//! decide what they send; and all where something looks at switches as they are: their programs, the tap, or links that go down.
//! Where a network is cut, ports that lead to another part catch up at the end of each step, before what leaves in it is sent
//! there, and need no events at all.

use crate::config::Release;
use crate::sim::{Simulation, kind, source};
use fanin_engine::{Event, EventQueue};
use fanin_units::{NodeId, PortId, Time};

/// A set of ports.
pub(crate) struct PortSet(Vec<u64>);

impl PortSet {
    /// None of so many ports.
    pub fn none_of(ports: usize) -> Self {
        Self(vec![0; ports.div_ceil(64)])
    }

    pub fn insert(&mut self, port: PortId) {
        self.0[port.ix() / 64] |= 1 << (port.ix() % 64);
    }

    pub fn remove(&mut self, port: PortId) {
        self.0[port.ix() / 64] &= !(1 << (port.ix() % 64));
    }

    fn of_word(at: usize, mut word: u64) -> impl Iterator<Item = PortId> {
        std::iter::from_fn(move || {
            let bit = (word != 0).then(|| word.trailing_zeros())?;
            word &= word - 1;
            Some(PortId((64 * at) as u32 + bit))
        })
    }

    fn iter(&self) -> impl Iterator<Item = PortId> {
        self.0.iter().enumerate().flat_map(|(at, word)| Self::of_word(at, *word))
    }
}

impl<Q: EventQueue> Simulation<Q> {
    /// Lets ports be late from now on, where that changes nothing but the time it takes.
    pub(crate) fn be_patient(&mut self) {
        self.patience_allowed = self.config.release == Release::Dequeue
            && self.programs.is_empty()
            && self.config.graph.links.iter().all(|link| link.outages.is_empty());
        self.set_patience();
    }

    /// Makes each departure an event of its own from now on, for who looks at the network after every event. What happens
    /// stays the same.
    pub fn be_prompt(&mut self) {
        self.patience_allowed = false;
        self.set_patience();
    }

    /// Whether ports may be late may have changed. Not while an event runs.
    pub(crate) fn set_patience(&mut self) {
        let patient = self.patience_allowed && !self.tap.any_link() && !self.watches_queues;
        if patient != self.patient {
            self.patient = patient;
            for switch in 0..self.switches.len() {
                self.set_timing(switch);
            }
        }
    }

    /// Lets the ports of a switch be late, or makes them prompt. They have caught up.
    fn set_timing(&mut self, switch: usize) {
        let late = self.patient && self.switches[switch].pausing == 0;
        for at in 0..self.switches[switch].ports.len() {
            let out = self.switches[switch].ports[at];
            let port = &mut self.ports[out.ix()];
            // A packet has to arrive after the port looked.
            let late = late && port.delay > Time::ZERO && port.tx_time(1) > Time::ZERO;
            port.late = late;
            if !late && port.ready() != 0 {
                let at = port.busy_until;
                self.wake(out, at);
            }
        }
    }

    /// An ingress of a switch has begun to pause its peer. All its ports have caught up.
    pub(crate) fn begins_to_pause(&mut self, node: NodeId) {
        let switch = self.switch_of(node);
        self.switches[switch].pausing += 1;
        if self.patient && self.switches[switch].pausing == 1 {
            self.set_timing(switch);
        }
    }

    /// It lets it go on.
    pub(crate) fn ends_to_pause(&mut self, node: NodeId) {
        let switch = self.switch_of(node);
        self.switches[switch].pausing -= 1;
        if self.patient && self.switches[switch].pausing == 0 {
            self.set_timing(switch);
        }
    }

    fn switch_of(&self, node: NodeId) -> usize {
        (node.0 - self.config.graph.hosts) as usize
    }

    /// Sends what a port should have sent before the event that runs now. Called before anything looks at it or changes it.
    #[inline(always)]
    pub(crate) fn catch_up(&mut self, out: PortId) {
        let port = &self.ports[out.ix()];
        // One question: whether a port is free and whether something waits are as good as drawn by lot.
        if (port.busy_until <= self.now) & (port.ready() != 0) & port.late {
            self.send_late(out, true);
        }
    }

    /// All ports of a switch, because what they hold together matters.
    #[inline(never)]
    pub(crate) fn switch_catches_up(&mut self, node: NodeId) {
        let switch = self.switch_of(node);
        if self.patient && self.switches[switch].pausing == 0 {
            for at in 0..self.switches[switch].ports.len() {
                let out = self.switches[switch].ports[at];
                self.catch_up(out);
            }
        }
    }

    /// All ports, up to now and not with it: what is asked of a network is asked between events.
    pub(crate) fn all_catch_up(&mut self) {
        for at in 0..self.late.0.len() {
            PortSet::of_word(at, self.late.0[at]).for_each(|out| self.catch_up_to_now(out));
        }
        self.those_away_catch_up();
    }

    /// Those that lead to other parts, at the end of each step, before what leaves in it is sent there.
    pub(crate) fn those_away_catch_up(&mut self) {
        for at in 0..self.late_away.0.len() {
            for out in PortSet::of_word(at, self.late_away.0[at]) {
                self.catch_up_to_now(out);
                let port = &self.ports[out.ix()];
                if port.ready() == 0 || !port.late {
                    self.late_away.remove(out);
                }
            }
        }
    }

    #[inline(always)]
    fn catch_up_to_now(&mut self, out: PortId) {
        let port = &self.ports[out.ix()];
        if port.busy_until < self.now && port.ready() != 0 && port.late {
            self.send_late(out, false);
        }
    }

    /// When the first of them sends next.
    pub(crate) fn next_away(&self) -> Time {
        let ports = self.late_away.iter().map(|out| &self.ports[out.ix()]);
        let free = ports.filter(|port| port.ready() != 0 && port.late).map(|port| port.busy_until);
        free.min().unwrap_or(Time::NEVER)
    }

    /// Sends what a port should have sent by now, each packet at its own time. What is due at this very moment has been sent
    /// if its event would have come before the one that runs, and there is one.
    #[inline(never)]
    fn send_late(&mut self, out: PortId, in_event: bool) {
        let (now, cause) = (self.now, self.cause);
        let itself = source(kind::PORT, out.0);
        loop {
            let port = &self.ports[out.ix()];
            let at = port.busy_until;
            if port.ready() == 0 || at > now {
                break;
            }
            let event = |source| Event { at, source, arg: 0 };
            if at == now && !(in_event && self.order.before(&event(itself), &event(cause))) {
                break;
            }
            (self.now, self.cause) = (at, itself);
            let Some(next) = self.next_queued(out) else { break };
            self.transmit(out, next.ix(), next.wire());
            self.give_back(&next);
        }
        (self.now, self.cause) = (now, cause);
    }
}
