//! What each event does. A stale timer does nothing, so it logs itself once it is known to be real.
//!
//! Source: uet-htsim's event list: pending triggers run before each event, the last one first.

use fanin_engine::{prefetch, prefetch_whole};

use crate::events::Event;
use crate::network::Network;
use crate::nic::CONTROL_TURNS;
use crate::packet::{Packet, Type};
use crate::switches::Inside;

impl Network<'_> {
    /// Does the next event, after the triggers that have fired; tells whether there was one.
    pub(crate) fn step(&mut self) -> bool {
        while let Some(at) = self.fired.pop() {
            let (s, message) = self.reused.get(at as usize).map_or((at, None), |&(s, message)| (s, Some(message)));
            let line = format!("{} activate", self.senders[s as usize].name);
            self.print(&line);
            if let Some(message) = message {
                self.beyond("a trigger starts a message of a reused connection");
                let now = self.events.now();
                self.sender(s).messages.triggered(now, message);
                self.messages_due(s);
            } else {
                self.start(s);
                self.send_first(s);
            }
        }
        if self.events.load() {
            self.prefetch_lists();
        }
        let goes_on = self.events.goes_on();
        let Some(event) = self.events.pop() else { return false };
        if !goes_on {
            if let Some(later) = self.events.later() {
                self.prefetch_state(later);
            }
            self.prefetch();
            self.choose_ahead();
        }
        if !matches!(event, Event::Timeout(_) | Event::Probe(_)) {
            self.note_event(event);
        }
        self.happen(event);
        true
    }

    /// Fetches what an event of the near future happens to.
    fn prefetch_state(&self, event: Event) {
        match event {
            Event::Pipe(link) => prefetch(&self.pipes, link as usize),
            Event::Switch(switch) => prefetch(&self.switches, switch as usize),
            Event::Port(link) => {
                prefetch_whole(&self.ports, self.port_index(link));
                prefetch(&self.pipes, link as usize);
            }
            Event::HostQueue(host) => {
                prefetch_whole(&self.host_queues, host as usize);
                prefetch(&self.pipes, host as usize);
            }
            Event::Nic(host) => prefetch_whole(&self.nics, host as usize),
            _ => {}
        }
    }

    /// Fetches the lists of packets of all events at hand.
    fn prefetch_lists(&self) {
        for event in self.events.loaded() {
            match event {
                Event::Pipe(link) => self.pipes[link as usize].prefetch(),
                Event::Switch(switch) => self.switches[switch as usize].pipe.prefetch(),
                Event::Port(link) => prefetch(self.ports[self.port_index(link)].low.as_slices().0, 0),
                _ => {}
            }
        }
    }

    /// Fetches what the next events need, each a step further than at the event before: the first packet; what it
    /// needs where it goes; and what that leads to. Has no other effect.
    fn prefetch(&self) {
        match self.events.ahead(3) {
            Some(Event::Pipe(link)) => {
                if let Some(first) = self.pipes[link as usize].first() {
                    self.packets.prefetch(first.packet);
                }
            }
            Some(Event::Port(link)) => {
                if let Some(first) = self.ports[self.port_index(link)].low.front() {
                    self.packets.prefetch(first.packet);
                }
            }
            _ => {}
        }
        if let Some((into, packet)) = self.arrival(2) {
            match into {
                None if packet.of.comes_from_sender() => prefetch_whole(&self.receivers, packet.connection as usize),
                None => prefetch_whole(&self.senders, packet.connection as usize),
                Some(switch) => prefetch(&self.switches[switch as usize].up_by_host, packet.to as usize),
            }
        }
        if let Some((into, packet)) = self.arrival(1) {
            match into {
                None if packet.of.comes_from_sender() => {
                    self.receivers[packet.connection as usize].prefetch(packet.psn);
                }
                None => self.senders[packet.connection as usize].window.prefetch(packet.psn),
                Some(switch) => {
                    if let Some(list) = self.list_of(&self.switches[switch as usize], packet.to) {
                        prefetch(&self.ways, list);
                    }
                }
            }
        }
    }

    /// If the next event brings a packet to a switch, chooses its link already, if that draws no random numbers, and
    /// fetches the port.
    fn choose_ahead(&mut self) {
        let Some(Event::Pipe(link)) = self.events.ahead(0) else { return };
        let pipe = &self.pipes[link as usize];
        if let (Some(switch), Some(first)) = (pipe.into, pipe.first())
            && let Some(link) = self.choice(switch, self.packets.get(first.packet))
        {
            prefetch_whole(&self.ports, self.port_index(link));
            self.chosen = Some((first.packet, link));
        }
    }

    /// The packet that arrives by an event so many places behind the next one, and the switch that it comes to, or
    /// none at a host.
    fn arrival(&self, places: usize) -> Option<(Option<u32>, &Packet)> {
        let Some(Event::Pipe(link)) = self.events.ahead(places) else { return None };
        let pipe = &self.pipes[link as usize];
        Some((pipe.into, self.packets.get(pipe.first()?.packet)))
    }

    fn port_index(&self, link: u32) -> usize {
        (link - self.topology.hosts) as usize
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Start(_) if self.reuse => {}
            Event::Start(s) => {
                self.start(s);
                self.send_first(s);
            }
            Event::Messages(s) => self.messages_due(s),
            Event::Timeout(s) => self.on_timeout(s),
            Event::Nic(host) => self.nic_done(host),
            Event::Pull(host) => self.pull(host),
            Event::Share(host) => self.adjust_share(host),
            Event::HostQueue(host) => self.host_queue_done(host),
            Event::Port(link) => self.port_done(link),
            Event::Pipe(link) => self.link_done(link),
            Event::Switch(switch) => self.switch_done(switch),
            Event::Probe(s) => self.probe(s),
        }
    }

    pub(crate) fn messages_due(&mut self, s: u32) {
        let now = self.events.now();
        let sender = self.sender(s);
        let first = sender.started.is_none();
        let idle = !sender.blocked && sender.backlog == 0 && sender.window.waiting() == 0;
        for size in sender.messages.due(now) {
            self.add_backlog(s, size);
        }
        if first {
            self.start(s);
        }
        if idle {
            self.send_first(s);
        }
    }

    /// A packet reaches its host.
    pub(crate) fn deliver(&mut self, at: u32) {
        let packet = *self.packets.get(at);
        match packet.of {
            Type::Data | Type::Rts => self.receive(&packet),
            Type::Ack => self.on_ack(&packet),
            Type::Nack => self.on_nack(&packet),
            Type::Pull => self.on_pull(&packet),
        }
        self.free(at);
    }

    /// The first packet in a link reaches its end.
    pub(crate) fn link_done(&mut self, link: u32) {
        let pipe = &mut self.pipes[link as usize];
        let Some(Inside { packet, .. }) = pipe.inside.pop_front() else { return };
        match pipe.into {
            None => self.deliver(packet),
            Some(switch) => self.enter_switch(switch, packet),
        }
        if let Some(next) = self.pipes[link as usize].first() {
            self.events.at(next.due, Event::Pipe(link));
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
}
