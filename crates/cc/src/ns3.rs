//! Questions that only a network asks in which events of one instant run in the order in which they were scheduled, as
//! in ns-3.

use crate::Instance;
use crate::schemes::dcqcn_ns3;
use fanin_units::Time;

impl Instance {
    /// When the timer behind [`Control::wake_at`](crate::Control::wake_at) was started.
    pub fn armed_at(&self, slot: u32) -> Time {
        self.with_timers(slot).map_or(Time::ZERO, dcqcn_ns3::Flow::armed_at)
    }

    /// When a tick due at `at` was started that [`Control::wake_at`](crate::Control::wake_at) leaves out because it
    /// changes neither window nor rate; [`Time::NEVER`] if there is none. The network calls `on_timer` for it before an
    /// event of `at` that was scheduled later.
    pub fn hidden_tick(&self, slot: u32, at: Time) -> Time {
        self.with_timers(slot).map_or(Time::NEVER, |sender| sender.hidden_tick(at))
    }

    /// The sender in a slot, if it is one with timers.
    fn with_timers(&self, slot: u32) -> Option<&dcqcn_ns3::Flow> {
        match self {
            Self::DcqcnNs3(pool) => pool.sender(slot),
            _ => None,
        }
    }
}
