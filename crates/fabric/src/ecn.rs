//! Congestion marks by queue length: step and RED/WRED, at enqueue or at dequeue, and the memory of queues whose marks
//! depend on more than what they hold now.

use crate::config::{MarkAt, Marking};
use fanin_cc::aqm::{Aqm, Pi, Red};
use fanin_engine::Stream;
use fanin_units::Rate;

/// The classes, as bits from 1, of which some queue looks at packets at this moment. There are rows of `classes` markings.
pub fn looks(markings: &[Marking], classes: usize, when: MarkAt) -> u8 {
    let at = |marking: &Marking| match marking {
        Marking::Off => false,
        Marking::Step { at, .. } | Marking::Red { at, .. } => *at == when,
        Marking::RedAverage(_) | Marking::Pi(_) => when == MarkAt::Enqueue,
    };
    markings.iter().enumerate().filter(|(_, m)| at(m)).fold(0, |bits, (i, _)| bits | 2 << (i % classes.max(1)))
}

/// Whether a packet is marked that sees `queue` bytes of its class at the port, itself not counted.
///
/// DCQCN's congestion point (DCQCN III-B; Dart VI-A gives only the step): instantaneous queue, no averaging; nothing up
/// to the minimum, everything above the maximum, linear in between. A step is the same with minimum = maximum.
/// A draw is made only between the two.
#[inline(always)]
pub fn marks(marking: &Marking, at: MarkAt, queue: u64, draws: impl FnOnce(f64) -> bool) -> bool {
    match *marking {
        Marking::Off => false,
        Marking::Step { above, at: when } => when == at && queue > above,
        Marking::Red { min, max, max_probability, at: when } => {
            if when != at || queue <= min {
                false
            } else if queue > max {
                true
            } else {
                draws(max_probability * (queue - min) as f64 / (max - min) as f64)
            }
        }
        // These ask the memory of the queue.
        Marking::RedAverage(_) | Marking::Pi(_) => false,
    }
}

/// The memory that a marking needs of a queue at a link of this rate.
pub fn memory(marking: &Marking, rate: Rate) -> Aqm {
    match *marking {
        Marking::Off | Marking::Step { .. } | Marking::Red { .. } => Aqm::Off,
        Marking::RedAverage(config) => Aqm::Red(Red::new(config, rate)),
        Marking::Pi(config) => Aqm::Pi(Pi::new(config)),
    }
}

/// A draw from a port's stream.
#[inline]
pub fn draw(stream: &mut Stream, probability: f64) -> bool {
    stream.chance(probability)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The probability that a queue is marked with, found by asking with draws that are recorded.
    fn probability(marking: &Marking, at: MarkAt, queue: u64) -> f64 {
        let mut asked = None;
        let marked = marks(marking, at, queue, |p| {
            asked = Some(p);
            false
        });
        asked.unwrap_or(if marked { 1.0 } else { 0.0 })
    }

    #[test]
    fn d1_the_congestion_point_is_red_on_the_instantaneous_queue() {
        let red = Marking::Red { min: 5_000, max: 200_000, max_probability: 0.01, at: MarkAt::Dequeue };
        for (queue, expected) in
            [(0, 0.0), (5_000, 0.0), (102_500, 0.005), (200_000, 0.01), (200_001, 1.0), (1_000_000, 1.0)]
        {
            assert!((probability(&red, MarkAt::Dequeue, queue) - expected).abs() < 1e-12, "{queue}");
            assert_eq!(probability(&red, MarkAt::Enqueue, queue), 0.0);
        }
    }

    #[test]
    fn a_step_marks_strictly_above_its_threshold() {
        let step = Marking::Step { above: 22_500, at: MarkAt::Enqueue };
        assert_eq!(probability(&step, MarkAt::Enqueue, 22_500), 0.0);
        assert_eq!(probability(&step, MarkAt::Enqueue, 22_501), 1.0);
        assert_eq!(probability(&Marking::Off, MarkAt::Enqueue, u64::MAX), 0.0);
    }

    #[test]
    fn d1_a_step_is_red_with_equal_thresholds() {
        let step = Marking::Step { above: 22_500, at: MarkAt::Dequeue };
        let red = Marking::Red { min: 22_500, max: 22_500, max_probability: 1.0, at: MarkAt::Dequeue };
        for queue in [0, 22_499, 22_500, 22_501, 50_000] {
            assert_eq!(
                probability(&step, MarkAt::Dequeue, queue),
                probability(&red, MarkAt::Dequeue, queue),
                "{queue}"
            );
        }
    }
}
