//! Questions that only a network asks in which events of one instant run in the order in which they were scheduled, as
//! in ns-3.

use crate::Instance;
use fanin_units::Time;

/// When a sender's timers were started.
pub trait Ns3Sender {
    /// When the timer behind [`Control::wake_at`](crate::Control::wake_at) was started.
    fn armed_at(&self) -> Time {
        Time::ZERO
    }
    /// When a tick due at `at` was started that [`Control::wake_at`](crate::Control::wake_at) leaves out because it
    /// changes neither window nor rate; [`Time::NEVER`] if there is none. The network calls `on_timer` for it before an
    /// event of `at` that was scheduled later.
    fn hidden_tick(&self, _at: Time) -> Time {
        Time::NEVER
    }
}

/// A sender without timers.
impl Ns3Sender for () {}

impl Instance {
    /// The timers of the sender in a slot.
    pub fn ns3_sender(&self, slot: u32) -> &dyn Ns3Sender {
        match self {
            Self::DcqcnNs3(pool) => pool.sender(slot).map_or(&(), |sender| sender),
            _ => &(),
        }
    }
}
