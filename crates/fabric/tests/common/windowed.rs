//! The event order of a parallel run, reproduced on one thread: a test that a run may be partitioned.

use fanin_engine::{Event, EventQueue};
use fanin_units::Time;

/// Assigns sources to partitions and runs each one for a whole window before the next one starts, like threads with a
/// barrier per window. The result must equal that of one queue if no event reaches another partition within a window,
/// that is, if the window is at most the lookahead: the delay of the shortest link between partitions.
pub struct WindowedQueue<Q> {
    parts: Vec<Q>,
    part_of: Box<dyn Fn(&Event) -> usize>,
    window: Time,
    /// End of the current window.
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
