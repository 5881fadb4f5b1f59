//! What each event does. A stale timer does nothing, so it logs itself once it is known to be real.
//!
//! Source: uet-htsim's event list: pending triggers run before each event, the last one first.

use fanin_engine::prefetch;

use crate::events::Event;
use crate::network::Network;
use crate::nic::CONTROL_TURNS;
use crate::packet::Type;
use crate::switches::switch_index;
use crate::topology::Node;

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
        let Some(event) = self.events.pop() else { return false };
        self.prefetch();
        if !matches!(event, Event::Timeout(..) | Event::Probe(..)) {
            self.log_event(event);
        }
        self.happen(event);
        true
    }

    /// Fetches what the next events need, each a step further than at the event before: the link, switch or port; its
    /// list of packets; the first packet; and what that one needs where it goes. Has no other effect.
    fn prefetch(&self) {
        match self.events.ahead(3) {
            Some(Event::Pipe(link)) => prefetch(&self.pipes, link as usize),
            Some(Event::Switch(switch)) => prefetch(&self.switches, switch as usize),
            Some(Event::Port(link)) => prefetch(&self.ports, self.port_index(link)),
            _ => {}
        }
        match self.events.ahead(2) {
            Some(Event::Pipe(link)) => prefetch(self.pipes[link as usize].inside.as_slices().0, 0),
            Some(Event::Switch(switch)) => prefetch(self.switches[switch as usize].pipe.inside.as_slices().0, 0),
            Some(Event::Port(link)) => {
                prefetch(self.ports[self.port_index(link)].low.as_slices().0, 0);
                prefetch(&self.pipes, link as usize);
            }
            _ => {}
        }
        if let Some(at) = self.events.ahead(1).and_then(|event| self.first_packet(event)) {
            self.packets.prefetch(at);
        }
        let Some(event) = self.events.ahead(0) else { return };
        let Some(at) = self.first_packet(event) else { return };
        let packet = self.packets.get(at);
        match event {
            Event::Pipe(link) => match self.ends[link as usize] {
                Node::Host(_) if matches!(packet.of, Type::Data | Type::Rts) => {
                    prefetch(&self.receivers, packet.connection as usize);
                }
                Node::Host(_) => prefetch(&self.senders, packet.connection as usize),
                node => {
                    let switch = &self.switches[switch_index(&self.topology, node) as usize];
                    prefetch(&switch.up_by_host, packet.to as usize);
                }
            },
            Event::Switch(_) => prefetch(&self.ports, self.port_index(packet.out)),
            _ => {}
        }
    }

    /// The packet that is first in what an event happens to.
    fn first_packet(&self, event: Event) -> Option<u32> {
        match event {
            Event::Pipe(link) => self.pipes[link as usize].first(),
            Event::Switch(switch) => self.switches[switch as usize].pipe.first(),
            Event::Port(link) => self.ports[self.port_index(link)].low.front().copied(),
            _ => None,
        }
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
            Event::Timeout(s, number) => self.on_timeout(s, number),
            Event::Nic(host) => self.nic_done(host),
            Event::Pull(host) => self.pull(host),
            Event::Share(host) => self.adjust_share(host),
            Event::HostQueue(host) => self.host_queue_done(host),
            Event::Port(link) => self.port_done(link),
            Event::Pipe(link) => self.link_done(link),
            Event::Switch(switch) => self.switch_done(switch),
            Event::Probe(s, number) => self.probe(s, number),
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
        let Some((_, at)) = self.pipes[link as usize].inside.pop_front() else { return };
        match self.ends[link as usize] {
            Node::Host(_) => self.deliver(at),
            node => self.enter_switch(switch_index(&self.topology, node), at),
        }
        if let Some(&(due, _)) = self.pipes[link as usize].inside.front() {
            self.events.at(due, Event::Pipe(link));
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
