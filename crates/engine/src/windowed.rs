//! The order in which partitions would run: the proof, on one thread, that a run may be cut.

use crate::{Event, EventQueue};
use fanin_units::Time;

/// Spreads sources over partitions and lets each run a whole window ahead before the next one starts, as threads
/// with a barrier per window would. A run must give the same result as on one queue, as long as no event reaches
/// another partition within a window: the window may be as long as the shortest link.
pub struct WindowedQueue<Q> {
    parts: Vec<Q>,
    part_of: Box<dyn Fn(&Event) -> usize>,
    window: Time,
    /// End of the window that runs now.
    end: Time,
    running: usize,
}

impl<Q: EventQueue> WindowedQueue<Q> {
    /// `part_of` maps an event to one of `parts`.
    pub fn new(parts: Vec<Q>, window: Time, part_of: impl Fn(&Event) -> usize + 'static) -> Self {
        Self { parts, part_of: Box::new(part_of), window, end: window, running: 0 }
    }
}

impl<Q: EventQueue> EventQueue for WindowedQueue<Q> {
    fn push(&mut self, event: Event) {
        let part = (self.part_of)(&event);
        self.parts[part].push(event);
    }
    fn pop_before(&mut self, limit: Time) -> Option<Event> {
        loop {
            if let Some(event) = self.parts[self.running].pop_before(self.end.min(limit)) {
                return Some(event);
            }
            self.running += 1;
            if self.running == self.parts.len() {
                self.running = 0;
                if self.end >= limit || self.is_empty() {
                    return None;
                }
                self.end += self.window;
            }
        }
    }
    fn first_at(&self) -> Time {
        self.parts.iter().map(Q::first_at).min().unwrap_or(Time::NEVER)
    }
    fn len(&self) -> usize {
        self.parts.iter().map(Q::len).sum()
    }
}
