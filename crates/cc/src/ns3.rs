//! Questions that only a network asks in which events of one instant run in the order in which they were scheduled, as
//! in ns-3.

use crate::Instance;
pub use crate::roles::TimerOrder;

impl Instance {
    /// The sender in a slot, if the order of its timers matters.
    pub fn timer_order(&self, slot: u32) -> Option<&impl TimerOrder> {
        match self {
            Self::DcqcnNs3(pool) => pool.sender(slot),
            _ => None,
        }
    }
}
