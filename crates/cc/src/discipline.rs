//! A queue discipline of one's own: whether a packet may join a switch's queue, with or without a congestion mark. It
//! comes before the network's own marking and admission, which remain. Packets leave a queue in the order they joined
//! it.
//!
//! A network has one [`DisciplineProgram`], which builds a [`Discipline`] for each switch. That is asked about the
//! packets of all its ports and classes, control packets (class 0) included: [`Queued::port`] and [`Header::class`] say
//! which queue it is, [`PortView::lane`] what that holds, and [`Queued::own`] is true.
//!
//! [`Header::class`]: crate::Header::class
//! [`PortView::lane`]: crate::PortView::lane

use crate::schemes::own::Failure;
use crate::{Queued, SwitchInfo, Verdict};
use alloc::boxed::Box;
use core::fmt::Debug;
use fanin_units::Time;

/// The discipline of the queues of one switch.
pub trait Discipline: Send {
    /// A packet is about to join a queue. A packet that cannot carry a mark (without [`crate::flags::ECT`]) is admitted
    /// where the verdict is [`Verdict::Mark`]; one that is dropped counts as dropped by a program.
    fn on_enqueue(&mut self, now: Time, queued: &mut Queued<'_>) -> Verdict;

    /// A packet leaves a queue, whose view no longer counts it. Returns whether it is marked now, if it can be.
    fn on_dequeue(&mut self, now: Time, queued: &mut Queued<'_>) -> bool {
        let _ = (now, queued);
        false
    }
}

/// Builds the discipline of each switch.
pub trait DisciplineProgram: Send + Sync + Debug {
    /// The discipline of a switch that comes up.
    fn build(&self, switch: &SwitchInfo<'_>) -> Box<dyn Discipline>;
    /// Whether it runs in an interpreter that one thread at a time may enter.
    fn interpreted(&self) -> bool {
        false
    }
    /// The first failure, after which the run should end.
    fn failure(&self) -> Option<Failure> {
        None
    }
}
