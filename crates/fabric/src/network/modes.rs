//! What may happen in a network, so that packets skip what cannot.

use super::pause_state::PauseTimers;
use super::program_set::Programs;
use crate::config::{NetworkConfig, Release};
use crate::credit_table::Credits;
use crate::links::LinkStates;

/// What may happen in a partition. A set of classes has bit c for class c.
pub(super) struct Modes {
    /// When packets release their buffer.
    pub release: Release,
    /// Classes whose packets leave at once when they find their egress idle.
    pub at_once: u8,
    /// Classes whose packets take room in buffers, or are limited, as control is where packets are trimmed.
    pub buffered: u8,
    /// Whether arriving packets concern more than their queues.
    pub inspects: bool,
    /// Whether packets that leave a switch's queue do.
    pub observes: bool,
    /// Whether packets may be redirected or dropped at a switch: by programs, load balancing, failures or the watchdog
    /// of pauses.
    pub redirects: bool,
    /// Whether some host's NIC may be slow.
    pub slow_hosts: bool,
    /// Whether routes have changed since the start: source routes are invalid then.
    pub routes_changed: bool,
    /// Whether departures may ever be lazy.
    pub lazy_allowed: bool,
    /// Whether they are now.
    pub lazy: bool,
}

impl Modes {
    /// Those at time zero.
    pub fn new(
        config: &NetworkConfig,
        programs: &Programs,
        links: &LinkStates,
        credits: Option<&Credits>,
        pauses: Option<&PauseTimers>,
    ) -> Self {
        let shaped = config.classes_with(|class| class.shaper.is_some());
        Self {
            release: config.release,
            at_once: match config.release == Release::Dequeue && !programs.watch {
                true if credits.is_some() => 1,
                true => !shaped,
                false => 0,
            },
            buffered: !shaped & !1 | u8::from(config.trimming.is_some()),
            inspects: links.can_fail() || credits.is_some(),
            observes: programs.watch || credits.is_some(),
            redirects: !programs.active.is_empty() || programs.balance.is_some() || !programs.disciplines.is_empty(),
            slow_hosts: pauses.is_some_and(PauseTimers::any_slow),
            routes_changed: false,
            lazy_allowed: false,
            lazy: false,
        }
    }
}
