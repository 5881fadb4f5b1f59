//! ECN marks against the configured rule.
//!
//! The queue is that of the packets which came to the switch and leave by the same port and class: as a queue is first
//! in, first out, the bytes that left between two packets are those that waited between them. What happens at one
//! picosecond has an order that the capture does not show, so each queue has a least and a most.

use crate::event::{Hop, Port};
use crate::law::Law;
use crate::map::Map;
use crate::net::Net;
use crate::report::Tally;
use crate::setup::Marking;
use fanin_units::Time;
use fanin_wire::Ecn;
use std::collections::VecDeque;

#[derive(Default)]
pub struct Marks {
    queues: Map<(Port, u8), Queue>,
}

/// A queue, as packets that have left it tell.
#[derive(Default)]
struct Queue {
    /// Bytes that have left.
    gone: u64,
    /// Departures that later packets may have found waiting: when, and bytes that had left with it.
    departures: VecDeque<(Time, u64)>,
    /// Bytes that had left before the oldest of these.
    before: u64,
    /// Packets whose queue at their departure is not known yet.
    open: VecDeque<Open>,
    /// Whether nothing is left in it at the end.
    empty: bool,
    /// How many of those have their least.
    measured: usize,
    drawn: Drawn,
}

/// Of packets between the thresholds: how many, the sum of the probabilities and of their variances, and marks.
type Drawn = (u64, f64, f64, u64);

/// A packet that has left.
struct Open {
    left: Time,
    gone: u64,
    least: u64,
    marked: bool,
}

impl Law for Marks {
    fn hop(&mut self, hop: &Hop<'_>, net: &Net, tally: &mut Tally) {
        let class = hop.after.class;
        if class == 0 {
            return;
        }
        let marking = net.marking(hop.out, class);
        // One that may have been another is judged by neither, though its bytes count.
        let capable = hop.certain && matches!(hop.before.ecn, Ecn::Capable0 | Ecn::Capable1);
        let marked = hop.after.ecn == Ecn::CongestionExperienced && capable;
        let queue = self.queues.entry((hop.out, class)).or_default();
        match marking {
            Marking::Other => {}
            Marking::Off if capable => {
                tally.check(!marked, hop.left, &net.at(hop.out).name, || "a mark where nothing marks".into());
            }
            Marking::Off => {}
            Marking::Red { at_enqueue: true, .. } => {
                let (least, most) = queue.at_arrival(hop.arrived);
                if capable {
                    queue.judge(marking, (least, most), marked, (hop.left, &net.at(hop.out).name), tally);
                }
                queue.leaves(hop);
            }
            Marking::Red { at_enqueue: false, .. } => {
                if hop.certain {
                    queue.settle(hop.arrived, (marking, &net.at(hop.out).name), tally);
                } else {
                    // Whether it waited behind those that have left is not known.
                    (queue.open, queue.measured) = (VecDeque::new(), 0);
                }
                queue.gone += hop.after.wire;
                if capable {
                    let (left, gone) = (hop.left, queue.gone);
                    queue.open.push_back(Open { left, gone, least: 0, marked });
                }
            }
        }
    }

    fn end(&mut self, _: Time, net: &Net, tally: &mut Tally) {
        let mut sum = Drawn::default();
        let mut all: Vec<_> = self.queues.iter_mut().collect();
        all.sort_by_key(|(place, _)| **place);
        for ((port, class), queue) in all {
            let (marking, name) = (net.marking(*port, *class), &net.at(*port).name);
            queue.empty = net.waiting == 0 && !net.cut;
            queue.settle(Time::NEVER, (marking, name), tally);
            likely(queue.drawn, name, tally);
            let (count, expected, variance, marks) = queue.drawn;
            sum = (sum.0 + count, sum.1 + expected, sum.2 + variance, sum.3 + marks);
        }
        likely(sum, "all ports", tally);
    }
}

/// Whether marks are as many as their probabilities give, within five standard deviations: they are not once in two
/// million times by chance.
fn likely((count, expected, variance, marks): Drawn, name: &str, tally: &mut Tally) {
    let off = (marks as f64 - expected).abs();
    if count > 0 {
        tally.check(off <= 5.0 * variance.sqrt() + 1.0, Time::ZERO, name, || {
            format!("{marks} marks of {count} packets between the thresholds, where {expected:.1} are likely")
        });
    }
}

impl Queue {
    /// The least and the most bytes that wait before a packet that comes now, and leaves as the next one.
    fn at_arrival(&mut self, arrived: Time) -> (u64, u64) {
        while self.departures.front().is_some_and(|(left, _)| *left < arrived) {
            self.before = self.departures.pop_front().map_or(self.before, |(_, gone)| gone);
        }
        let tied =
            self.departures.iter().take_while(|(left, _)| *left == arrived).last().map_or(self.before, |of| of.1);
        (self.gone - tied, self.gone - self.before)
    }

    fn leaves(&mut self, hop: &Hop<'_>) {
        self.gone += hop.after.wire;
        self.departures.push_back((hop.left, self.gone));
    }

    /// A packet that came at `arrived` leaves: what left before it and came later than a departure was its queue.
    fn settle(&mut self, arrived: Time, (marking, name): (Marking, &str), tally: &mut Tally) {
        while let Some(open) = self.open.get_mut(self.measured).filter(|open| open.left <= arrived) {
            open.least = self.gone - open.gone;
            self.measured += 1;
        }
        while self.open.front().is_some_and(|open| open.left < arrived) {
            let Some(open) = self.open.pop_front() else { break };
            self.measured -= 1;
            // What is left in the queue at the end never leaves: then the most is not known.
            let most = if arrived == Time::NEVER && !self.empty { u64::MAX } else { self.gone - open.gone };
            self.judge(marking, (open.least, most), open.marked, (open.left, name), tally);
        }
    }

    fn judge(
        &mut self,
        marking: Marking,
        (least, most): (u64, u64),
        marked: bool,
        (time, name): (Time, &str),
        tally: &mut Tally,
    ) {
        let Marking::Red { min, max, most: top, .. } = marking else { return };
        let share = |queue: u64| match queue {
            _ if queue <= min => 0.0,
            _ if queue > max => 1.0,
            _ => top * (queue - min) as f64 / (max - min) as f64,
        };
        let (low, high) = (share(least), share(most));
        let bytes = if least == most { format!("{least} B") } else { format!("{least} to {most} B") };
        tally.check(!(marked && high == 0.0), time, name, || {
            format!("a mark with {bytes} in the queue, where marks begin above {min} B")
        });
        tally.check(marked || low < 1.0, time, name, || {
            format!("no mark with {bytes} in the queue, where every packet above {max} B is marked")
        });
        if low == high && low > 0.0 && low < 1.0 {
            let (count, sum, variance, marks) = &mut self.drawn;
            *count += 1;
            *sum += low;
            *variance += low * (1.0 - low);
            *marks += u64::from(marked);
        }
    }
}
