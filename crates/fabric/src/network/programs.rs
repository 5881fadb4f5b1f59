//! Switch programs of schemes, and queue disciplines.

use super::Network;
use crate::clock::{kind, source};
use crate::egress::Egress;
use crate::packet::{Packet, PacketIx};
use crate::path::FlowPath;
use crate::port::PortIx;
use fanin_cc::{Header, Instance, Kind, PortView, Ports, Queued, Verdict, flags};
use fanin_engine::EventQueue;
use fanin_units::Time;

impl<Q: EventQueue> Network<Q> {
    /// Balances load, routes a packet by its scheme, and shows it to all programs that observe queues, and to the
    /// switch's queue discipline. `None` drops it.
    #[inline(never)]
    pub fn run_programs(&mut self, switch: u32, ingress: PortIx, mut out: PortIx, ix: PacketIx) -> Option<PortIx> {
        let switch = switch as usize;
        if self.programs.balance.is_some() {
            out = self.choose_path(switch, out, ix);
        }
        let now = self.core.clock.now();
        let packet = &self.core.packets[ix];
        let scheme = packet.scheme as usize;
        let mut number = self.wiring.port_number[out.ix()];
        if packet.head.kind == Kind::Data && self.programs.schemes[scheme].switch_active() {
            let minimal = number;
            let mut head = packet.head;
            let lane = head.lane;
            let ingress = self.wiring.port_number[ingress.ix()];
            number = self.with_ports(scheme, switch, |scheme, ports| {
                scheme.switch_route(switch, now, &mut head, ingress, minimal, ports)
            });
            let sibling = self.egress.sibling_vl(head.class);
            if head.lane != lane && sibling != 0 {
                head.class = sibling;
            }
            let packet = &mut self.core.packets[ix];
            packet.head = head;
            if number != minimal {
                packet.next_hop.deflect();
                packet.path.source_route = FlowPath::NO_ROUTE;
                self.links.note_deflection(head.flow);
            }
            self.set_program_timer(scheme, switch);
        }
        if self.programs.watch {
            let out = self.switches[switch].ports[number as usize];
            let view = self.view(out, self.core.packets[ix].head.class);
            for at in 0..self.programs.active.len() {
                let scheme = self.programs.active[at] as usize;
                let mut queued = at_queue(&mut self.core.packets[ix], scheme, number, view);
                match self.programs.schemes[scheme].switch_enqueue(switch, now, &mut queued) {
                    Verdict::Admit => {}
                    Verdict::Mark if !queued.packet.has(flags::CE) => {
                        queued.packet.flags |= flags::CE;
                        self.egress.count_mark(out, queued.packet.class);
                    }
                    Verdict::Mark => {}
                    Verdict::Drop => return None,
                    Verdict::Trim if self.trim(switch as u32, out, ix) => return Some(out),
                    Verdict::Trim => return None,
                }
                self.set_program_timer(scheme, switch);
            }
            if let Some(discipline) = self.programs.disciplines.get_mut(switch) {
                let mut queued = Queued { port: number, view, packet: &mut self.core.packets[ix].head, own: true };
                match discipline.on_enqueue(now, &mut queued) {
                    Verdict::Admit => {}
                    Verdict::Mark => self.mark_if_able(out, ix),
                    Verdict::Drop => return None,
                    Verdict::Trim if self.trim(switch as u32, out, ix) => {}
                    Verdict::Trim => return None,
                }
            }
        }
        Some(self.switches[switch].ports[number as usize])
    }

    /// A port as programs see it that watch a packet of a class there.
    #[inline(always)]
    fn view(&self, out: PortIx, class: u8) -> PortView {
        let mut view = self.egress.view(out);
        if self.programs.see_lanes {
            let buffer = match &self.credits {
                Some(credits) if class != 0 => credits.size(out, class as usize),
                _ => self.buffers.most_of(out, class as usize),
            };
            view.lane = self.egress.lane(out, class as usize, buffer);
        }
        view
    }

    /// Runs a scheme's program with access to the ports of its switch.
    #[inline(always)]
    fn with_ports<R>(&mut self, scheme: usize, switch: usize, act: impl FnOnce(&mut Instance, &SwitchView) -> R) -> R {
        let ports = SwitchView { egress: &self.egress, of_switch: &self.switches[switch].ports };
        act(&mut self.programs.schemes[scheme], &ports)
    }

    /// Notifies the program of a packet's scheme that a failure dropped it. `port` is one of the switch.
    pub fn on_lost(&mut self, port: PortIx, ix: PacketIx) {
        let packet = &self.core.packets[ix];
        let (head, scheme, port) = (packet.head, packet.scheme as usize, self.egress.port(port));
        if !port.of_host() && head.kind == Kind::Data && self.programs.schemes[scheme].switch_active() {
            let now = self.core.clock.now();
            self.programs.schemes[scheme].switch_drop(port.home as usize, now, &head);
        }
    }

    /// Notifies all programs of a switch that a link went down.
    pub fn on_link_down(&mut self, out: PortIx) {
        let port = self.egress.port(out);
        if port.of_host() {
            return;
        }
        let now = self.core.clock.now();
        for scheme in &self.programs.active {
            let number = self.wiring.port_number[out.ix()];
            self.programs.schemes[*scheme as usize].switch_link_down(port.home as usize, now, number);
        }
    }

    /// Lets the programs of a switch see a packet that leaves a queue.
    #[inline(never)]
    pub fn on_dequeue(&mut self, out: PortIx, ix: PacketIx) {
        let switch = self.egress.port(out).home as usize;
        let (now, view) = (self.core.clock.now(), self.view(out, self.core.packets[ix].head.class));
        for at in 0..self.programs.active.len() {
            let scheme = self.programs.active[at] as usize;
            let mut queued = at_queue(&mut self.core.packets[ix], scheme, self.wiring.port_number[out.ix()], view);
            let marked = queued.packet.has(flags::CE);
            self.programs.schemes[scheme].switch_dequeue(switch, now, &mut queued);
            if !marked && queued.packet.has(flags::CE) {
                self.egress.count_mark(out, queued.packet.class);
            }
            self.set_program_timer(scheme, switch);
        }
        if let Some(discipline) = self.programs.disciplines.get_mut(switch) {
            let port = self.wiring.port_number[out.ix()];
            let mut queued = Queued { port, view, packet: &mut self.core.packets[ix].head, own: true };
            if discipline.on_dequeue(now, &mut queued) {
                self.mark_if_able(out, ix);
            }
        }
    }

    /// The queue discipline of `out` marks a packet, if that can carry a mark and has none.
    fn mark_if_able(&mut self, out: PortIx, ix: PacketIx) {
        let head = &mut self.core.packets[ix].head;
        if head.flags & (flags::ECT | flags::CE) == flags::ECT {
            head.flags |= flags::CE;
            let class = head.class;
            self.egress.count_mark(out, class);
        }
    }

    /// Sets the timers of programs that have one from the start.
    pub fn start_programs(&mut self) {
        for at in 0..self.programs.active.len() {
            for switch in 0..self.switches.len() {
                self.set_program_timer(self.programs.active[at] as usize, switch);
            }
        }
    }

    fn set_program_timer(&mut self, scheme: usize, switch: usize) {
        let at = self.programs.schemes[scheme].switch_wake_at(switch);
        let row = &mut self.switches[switch];
        if at < row.timer_event {
            row.timer_event = at;
            let number = row.node.0 - self.wiring.plan.config.graph.hosts;
            self.core.clock.schedule(at, source(kind::SWITCH, number), switch as u32);
        }
    }

    /// The timer of a switch's programs.
    #[inline(never)]
    pub fn program_timer(&mut self, switch: u32) {
        let (switch, now) = (switch as usize, self.core.clock.now());
        if self.switches[switch].timer_event != now {
            return;
        }
        self.switches[switch].timer_event = Time::NEVER;
        for at in 0..self.programs.active.len() {
            let scheme = self.programs.active[at] as usize;
            if self.programs.schemes[scheme].switch_wake_at(switch) <= now {
                self.with_ports(scheme, switch, |scheme, ports| scheme.switch_timer(switch, now, ports));
            }
            self.set_program_timer(scheme, switch);
        }
    }
}

/// A packet as the program of a scheme sees it at a queue.
fn at_queue(packet: &mut Packet, scheme: usize, port: u16, view: PortView) -> Queued<'_> {
    let head = &packet.head;
    let own =
        packet.scheme as usize == scheme && matches!(head.kind, Kind::Data | Kind::Request) && !head.has(flags::TCP);
    Queued { port, view, packet: &mut packet.head, own }
}

/// The ports of one switch as its programs see them.
struct SwitchView<'a> {
    egress: &'a Egress,
    of_switch: &'a [PortIx],
}

impl SwitchView<'_> {
    /// The class of a packet in a lane.
    fn class(&self, packet: &Header, lane: u8) -> usize {
        let other = self.egress.sibling_vl(packet.class);
        (if lane == packet.lane || other == 0 { packet.class } else { other }) as usize
    }
}

impl Ports for SwitchView<'_> {
    fn count(&self) -> u16 {
        self.of_switch.len() as u16
    }

    fn view(&self, port: u16) -> PortView {
        self.egress.view(self.of_switch[port as usize])
    }

    fn queued(&self, port: u16, packet: &Header, lane: u8) -> u64 {
        self.egress.queue(self.of_switch[port as usize], self.class(packet, lane)).bytes
    }

    fn paused(&self, port: u16, packet: &Header, lane: u8) -> bool {
        self.egress.port(self.of_switch[port as usize]).paused & 1 << self.class(packet, lane) != 0
    }
}
