//! Sequences of events, each of which starts one or many flows.

use crate::Flow;
use crate::merge::Queued;
use fanin_engine::Stream;
use fanin_units::Time;
use std::collections::BinaryHeap;

/// Times of the events of a pattern.
pub(crate) enum Times {
    /// With exponential gaps of this mean in picoseconds; `now` is the last event.
    Poisson { mean_gap_ps: f64, now: f64, stream: Stream },
    /// Periodic with interval `every`, starting with the next one.
    Every { next: Time, every: Time },
    /// At time zero.
    Once(bool),
}

impl Times {
    pub fn poisson(per_second: f64, stream: Stream) -> Self {
        Self::Poisson { mean_gap_ps: 1e12 / per_second, now: 0.0, stream }
    }
    pub fn every(every: Time) -> Self {
        Self::Every { next: Time::ZERO, every }
    }
    pub fn once() -> Self {
        Self::Once(false)
    }

    /// The next event; times never fall.
    pub fn next_time(&mut self) -> Option<Time> {
        match self {
            Self::Poisson { mean_gap_ps, now, stream } => {
                // Summed as a float: 2^53 ps are 2.5 hours, and no gap is rounded before it is added.
                *now += stream.exponential(*mean_gap_ps);
                Some(Time::from_ps(*now as u64))
            }
            Self::Every { next, every } => {
                let time = *next;
                *next = next.saturating_add(*every);
                time.is_some().then_some(time)
            }
            Self::Once(over) => (!std::mem::replace(over, true)).then_some(Time::ZERO),
        }
    }
}

/// Number of events with interval `every` before `span`.
pub(crate) fn events_in(span: Time, every: Time) -> f64 {
    span.as_ps().div_ceil(every.as_ps().max(1)) as f64
}

/// Flows of events, in order of start times. `make` generates the flows of an event, given its time and number; none
/// starts before the event. Only flows that may still be preceded by flows of a later event are buffered.
pub(crate) struct Bursts<F> {
    times: Times,
    until: Time,
    make: F,
    next_event: Option<Time>,
    events: u32,
    made: Vec<Flow>,
    waiting: BinaryHeap<Queued>,
    order: u64,
}

impl<F: FnMut(Time, u32, &mut Vec<Flow>)> Bursts<F> {
    pub fn new(mut times: Times, until: Time, make: F) -> Self {
        let next_event = times.next_time().filter(|t| *t < until);
        Self { times, until, make, next_event, events: 0, made: Vec::new(), waiting: BinaryHeap::new(), order: 0 }
    }
}

impl<F: FnMut(Time, u32, &mut Vec<Flow>)> Iterator for Bursts<F> {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        while let Some(event) = self.next_event {
            if self.waiting.peek().is_some_and(|first| first.flow.start <= event) {
                break;
            }
            (self.make)(event, self.events, &mut self.made);
            // Flow numbers have 32 bits, so no run has more groups.
            self.events = self.events.saturating_add(1);
            for flow in self.made.drain(..).filter(|f| f.start < self.until) {
                self.waiting.push(Queued { flow, order: self.order });
                self.order += 1;
            }
            self.next_event = self.times.next_time().filter(|t| *t < self.until);
        }
        self.waiting.pop().map(|queued| queued.flow)
    }
}
