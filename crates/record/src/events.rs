//! Drops, pauses, failures and warnings with their times.

use fanin_units::Time;

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EventKind {
    /// A packet was dropped.
    Drop,
    /// A port was paused.
    Pause,
    /// A warning about the results.
    Warning,
    /// A storm watchdog found a class paused for too long.
    Storm,
    /// It no longer acts there.
    StormEnd,
    /// A link went down.
    LinkDown,
    /// A link came up.
    LinkUp,
    /// Switches and hosts have new routes, since a link went down or came up.
    Reroute,
    /// A fault of a host began or ended.
    Fault,
}

impl EventKind {
    /// Every kind.
    pub const ALL: [Self; 9] = [
        Self::Drop,
        Self::Pause,
        Self::Warning,
        Self::Storm,
        Self::StormEnd,
        Self::LinkDown,
        Self::LinkUp,
        Self::Reroute,
        Self::Fault,
    ];

    /// The name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Pause => "pause",
            Self::Warning => "warning",
            Self::Storm => "storm",
            Self::StormEnd => "storm_end",
            Self::LinkDown => "link_down",
            Self::LinkUp => "link_up",
            Self::Reroute => "reroute",
            Self::Fault => "fault",
        }
    }
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub time: Time,
    /// Its kind.
    pub kind: EventKind,
    /// Where: the name of a port, a node, a traffic.
    pub place: String,
    /// Of a drop: its cause, by its name in the summary of drops.
    pub cause: Option<&'static str>,
    /// A description.
    pub detail: String,
}

impl Event {
    /// An event that is no drop.
    pub fn new(time: Time, kind: EventKind, place: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { time, kind, place: place.into(), cause: None, detail: detail.into() }
    }
}

/// The first events of each kind, and the number of further ones. The bound is per kind, so that a storm of pauses
/// cannot displace the one drop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLog {
    limit: usize,
    kept: Vec<Event>,
    seen: [u64; EventKind::ALL.len()],
}

impl EventLog {
    /// Keeps up to `limit` events of each kind.
    pub const fn new(limit: usize) -> Self {
        Self { limit, kept: Vec::new(), seen: [0; EventKind::ALL.len()] }
    }

    /// Whether another event of this kind would be kept; otherwise count it with [`EventLog::leave_out`] and save the
    /// work of describing it.
    pub fn has_room(&self, kind: EventKind) -> bool {
        self.seen[kind as usize] < self.limit as u64
    }

    /// Adds an event, or counts it as left out.
    pub fn push(&mut self, event: Event) {
        if self.has_room(event.kind) {
            self.seen[event.kind as usize] += 1;
            self.kept.push(event);
        } else {
            self.leave_out(event.kind);
        }
    }

    /// Counts an event without keeping it. After the first one, all later ones of its kind are left out as well.
    pub fn leave_out(&mut self, kind: EventKind) {
        let seen = &mut self.seen[kind as usize];
        *seen = (*seen).max(self.limit as u64) + 1;
    }

    /// The events kept, in the order they came.
    pub fn kept(&self) -> &[Event] {
        &self.kept
    }

    /// Number of events of a kind that were left out.
    pub fn left_out(&self, kind: EventKind) -> u64 {
        self.seen[kind as usize].saturating_sub(self.limit as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_of_pauses_does_not_hide_the_drop() {
        let mut log = EventLog::new(2);
        let event = |kind, us| Event::new(Time::from_us(us), kind, "sw0>h1", "x");
        for us in 0..1000 {
            log.push(event(EventKind::Pause, us));
        }
        log.push(event(EventKind::Drop, 1000));
        assert_eq!(log.kept().len(), 3);
        assert_eq!(log.kept()[2].kind, EventKind::Drop);
        assert_eq!(log.left_out(EventKind::Pause), 998);
        assert_eq!(log.left_out(EventKind::Drop), 0);
        assert!(log.has_room(EventKind::Drop) && !log.has_room(EventKind::Pause));
        log.leave_out(EventKind::Pause);
        assert_eq!(log.left_out(EventKind::Pause), 999);
        // Left out although there was room.
        log.leave_out(EventKind::Warning);
        assert_eq!(log.left_out(EventKind::Warning), 1);
    }
}
