//! Congestion marks by queue length: step and RED/WRED, at enqueue or at dequeue, and the state of queues whose marks
//! depend on more than their current length.

use crate::config::{ClassConfig, MarkAt, Marking, NetworkConfig};
use crate::port::{Port, PortIx};
use fanin_cc::aqm::{Aqm, Pi, Red};
use fanin_engine::{Stream, Streams};
use fanin_units::{Rate, Time};

/// How the queues of a network mark, their random streams and their state.
pub(crate) struct Marks {
    /// With control, which is never marked.
    classes: usize,
    /// By the row of the port and the class.
    markings: Vec<Marking>,
    /// Bit c: some queue of class c marks packets at enqueue, at dequeue, or with their last bit.
    pub joining: u8,
    pub leaving: u8,
    pub last: u8,
    /// By port.
    draws: Vec<Stream>,
    /// State of the queues, `classes` per port; empty where every marking depends on the queue length alone.
    memory: Vec<Aqm>,
}

impl Marks {
    /// The markings of a network. Assigns each port its row: the default one, one for each rate with markings of its
    /// own, or the row of NICs.
    pub fn new(config: &NetworkConfig, ports: &mut [Port], streams: &Streams) -> Self {
        let by_rate = config.classes.iter().flat_map(|class| class.marking_by_rate.iter().map(|(rate, _)| *rate));
        let mut rates: Vec<Rate> = by_rate.collect();
        rates.sort_unstable();
        rates.dedup();
        assert!(rates.len() < 255, "a port tells its row in a byte");
        for port in &mut *ports {
            let of_rate = rates.binary_search(&port.rate).map_or(0, |row| row + 1);
            port.marking = (if port.of_host() { rates.len() + 1 } else { of_rate }) as u8;
        }
        let of = |class: &ClassConfig, rate: Option<Rate>| {
            let own = class.marking_by_rate.iter().find(|(of, _)| Some(*of) == rate);
            own.map_or(class.marking, |(_, marking)| *marking)
        };
        let above = config.host_fifo.and_then(|fifo| fifo.mark_above);
        let of_nics = above.map_or(Marking::Off, |above| Marking::Step { above, at: MarkAt::Dequeue });
        let rows = std::iter::once(None).chain(rates.into_iter().map(Some));
        let row = |rate| std::iter::once(Marking::Off).chain(config.classes.iter().map(move |class| of(class, rate)));
        let row_of_nics = std::iter::once(Marking::Off).chain(config.classes.iter().map(|_| of_nics));
        let markings: Vec<Marking> = rows.flat_map(row).chain(row_of_nics).collect();
        let classes = config.classes.len() + 1;
        let of_port = |port: &Port| {
            let row = &markings[port.marking as usize * classes..][..classes];
            row.iter().map(|marking| memory(marking, port.rate)).collect::<Vec<_>>()
        };
        let mut memory: Vec<Aqm> = ports.iter().flat_map(of_port).collect();
        if memory.iter().all(|aqm| *aqm == Aqm::Off) {
            memory = Vec::new();
        }
        Self {
            classes,
            joining: looks(&markings, classes, MarkAt::Enqueue),
            leaving: looks(&markings, classes, MarkAt::Dequeue),
            last: looks(&markings, classes, MarkAt::LastBit),
            markings,
            draws: ports.iter().map(|port| streams.stream("ecn", port.id.0 as u64)).collect(),
            memory,
        }
    }

    /// Whether a packet of `wire` bytes is marked as it joins or leaves the queue of a data class at a port that holds
    /// `queue` bytes without it.
    #[inline(always)]
    pub fn marks(
        &mut self,
        (out, port, class): (PortIx, &Port, usize),
        at: MarkAt,
        now: Time,
        queue: u64,
        wire: u16,
    ) -> bool {
        let draws = &mut self.draws;
        match &self.markings[port.marking as usize * self.classes + class] {
            // An average and a controller are updated by every packet, also by one that cannot be marked.
            Marking::RedAverage(_) | Marking::Pi(_) => {
                at == MarkAt::Enqueue
                    && self.memory[out.ix() * self.classes + class]
                        .arrives(now, queue, wire as u64, |p| draws[out.ix()].chance(p))
            }
            marking => marks(marking, at, queue, |p| draws[out.ix()].chance(p)),
        }
    }

    /// Whether some queue has state beyond its length.
    #[inline(always)]
    pub fn remember(&self) -> bool {
        !self.memory.is_empty()
    }

    /// The state of a queue, where some have one.
    pub fn memory(&self, port: PortIx, class: usize) -> Option<&Aqm> {
        self.memory.get(port.ix() * self.classes + class)
    }

    /// See [`Self::memory`].
    pub fn memory_mut(&mut self, port: PortIx, class: usize) -> &mut Aqm {
        &mut self.memory[port.ix() * self.classes + class]
    }
}

/// The classes, as bits from 1, of which some queue marks packets at this moment. There are rows of `classes` markings.
fn looks(markings: &[Marking], classes: usize, when: MarkAt) -> u8 {
    let at = |marking: &Marking| match marking {
        Marking::Off => false,
        Marking::Step { at, .. } | Marking::Red { at, .. } => *at == when,
        Marking::RedAverage(_) | Marking::Pi(_) => when == MarkAt::Enqueue,
    };
    markings.iter().enumerate().filter(|(_, m)| at(m)).fold(0, |bits, (i, _)| bits | 1 << (i % classes))
}

/// Whether a packet is marked when its class holds `queue` bytes at the port without it.
///
/// DCQCN's congestion point (DCQCN III-B; Dart VI-A gives only the step): instantaneous queue, no averaging; nothing up
/// to the minimum, everything above the maximum, linear in between. A step is the same with minimum = maximum.
/// A draw is made only between the two.
#[inline(always)]
fn marks(marking: &Marking, at: MarkAt, queue: u64, draws: impl FnOnce(f64) -> bool) -> bool {
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
        // These depend on the state of the queue.
        Marking::RedAverage(_) | Marking::Pi(_) => false,
    }
}

/// The state that a marking needs per queue at a link of this rate.
fn memory(marking: &Marking, rate: Rate) -> Aqm {
    match *marking {
        Marking::Off | Marking::Step { .. } | Marking::Red { .. } => Aqm::Off,
        Marking::RedAverage(config) => Aqm::Red(Red::new(config, rate)),
        Marking::Pi(config) => Aqm::Pi(Pi::new(config)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The probability of a mark, found by marking with recorded draws.
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
