//! The questions of a network in which events of one instant run in the order in which they were scheduled.

use fanin_units::Time;

/// A sender whose timers such a network orders among other events of the same instant.
pub trait TimerOrder {
    /// When the timer behind [`Control::wake_at`](crate::Control::wake_at) was started.
    fn armed_at(&self) -> Time;
    /// When a tick due at `at` was started that [`Control::wake_at`](crate::Control::wake_at) leaves out because it
    /// changes neither window nor rate; [`Time::NEVER`] if there is none. The network calls `on_timer` for it before an
    /// event of `at` that was scheduled later.
    fn hidden_tick(&self, at: Time) -> Time;
}
