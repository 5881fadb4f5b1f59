//! What a law is told.

use crate::event::{Arrival, Begin, Hop, Lost, Queue};
use crate::net::Net;
use crate::report::Tally;
use fanin_units::Time;

/// A law sees what happens, in order of time, and counts where it holds and where not.
pub trait Law {
    /// A packet begins on a link.
    fn begin(&mut self, _: &Begin<'_>, _: &Net, _: &mut Tally) {}
    /// A packet is at the end of a link.
    fn arrival(&mut self, _: &Arrival<'_>, _: &Net, _: &mut Tally) {}
    /// A source tells of a queue.
    fn queue(&mut self, _: &Queue, _: &Net, _: &mut Tally) {}
    /// A packet leaves a switch.
    fn hop(&mut self, _: &Hop<'_>, _: &Net, _: &mut Tally) {}
    /// A packet leaves a switch in which it has never arrived.
    fn stranger(&mut self, _: &Begin<'_>, _: &Net, _: &mut Tally) {}
    /// A packet never left a switch.
    fn lost(&mut self, _: &Lost<'_>, _: &Net, _: &mut Tally) {}
    /// Nothing follows.
    fn end(&mut self, _: Time, _: &Net, _: &mut Tally) {}
}
