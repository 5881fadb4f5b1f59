//! Events of a network whose hosts are elsewhere.

use super::Network;
use super::switch::AtHost;
use crate::clock::{PAUSE_TIMER, SHAPER, kind, kind_of, number_of};
use crate::port::PortIx;
use fanin_engine::{Event, EventQueue};
use fanin_units::PortId;

impl<Q: EventQueue> Network<Q> {
    /// Handles an event. Returns the part that concerns a host.
    pub fn handle(&mut self, event: Event) -> Option<AtHost> {
        let number = number_of(event.source);
        match kind_of(event.source) {
            kind::ARRIVE => self.arrive(PortId(number), event.arg),
            kind::PORT => self.port_wakes(PortIx(event.arg)),
            kind::SWITCH if number & SHAPER != 0 => self.refill(PortIx(event.arg)),
            kind::LINK if number & PAUSE_TIMER != 0 => self.pause_timer(PortIx(event.arg)),
            kind::LINK => self.repeats_credits(number).and_then(|port| {
                let nic = self.egress.port(port).nic();
                if nic.is_none() {
                    self.serve(port);
                }
                nic.map(AtHost::Nic)
            }),
            _ => {
                self.program_timer(event.arg);
                None
            }
        }
    }
}
