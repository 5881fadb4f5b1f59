//! Limits of lossy queues, and drops that have their cause.

use crate::event::{Hop, Lost, Port};
use crate::law::Law;
use crate::map::Map;
use crate::net::Net;
use crate::report::Tally;
use crate::setup::Buffer;
use fanin_units::Time;
use std::collections::VecDeque;

/// Departures that are kept of a queue, to tell how long it was when a packet came that was dropped.
const KEPT: usize = 1 << 13;

#[derive(Default)]
pub struct Limits {
    queues: Map<(Port, u8), Queue>,
}

#[derive(Default)]
struct Queue {
    gone: u64,
    /// Of the last packets that left: when they came, when they left, and bytes that had left before them.
    past: VecDeque<(Time, Time, u64)>,
    /// Whether others left before those.
    forgot: bool,
    /// Dropped packets that came later than all that have left by now.
    dropped: Vec<(Time, u64)>,
}

impl Queue {
    /// The least and the most bytes in the queue when a packet came: all that came before it and had not left.
    fn when(&self, arrived: Time) -> Option<(u64, u64)> {
        // All that left before this one had left by then, too.
        if self.forgot {
            self.past.front().filter(|(_, left, _)| *left < arrived)?;
        }
        // By arrival, and as queues are first in first out, by departure.
        let came =
            |strictly: bool| self.past.partition_point(|(came, ..)| *came < arrived || !strictly && *came == arrived);
        let left =
            |strictly: bool| self.past.partition_point(|(_, left, _)| *left < arrived || !strictly && *left == arrived);
        let gone = |at: usize| self.past.get(at).map_or(self.gone, |(.., gone)| *gone);
        Some((gone(came(true)).saturating_sub(gone(left(false))), gone(came(false)).saturating_sub(gone(left(true)))))
    }
}

/// The most that a queue of a class at a port may hold in an otherwise empty switch, share included.
fn limit(net: &Net, class: u8, wire: u64) -> Option<f64> {
    let all = &net.setup.classes;
    let of = all.get(usize::from(class)).filter(|of| class != 0 && !of.lossless)?;
    let taken: f64 = all.iter().filter_map(|class| class.share).sum();
    let share = of.share.unwrap_or(1.0 - taken);
    match net.setup.buffer {
        Buffer::PerPort(bytes) => Some(bytes as f64 * share),
        // A packet joins if with it the queue is at most alpha times what is free without it; the queue is not free.
        Buffer::Pool { bytes, alpha, .. } => {
            let alpha = of.alpha.unwrap_or(alpha);
            Some((bytes as f64 * share + wire as f64) * alpha / (1.0 + alpha))
        }
        Buffer::Unlimited | Buffer::Credits => None,
    }
}

impl Law for Limits {
    fn hop(&mut self, hop: &Hop<'_>, net: &Net, tally: &mut Tally) {
        let (class, wire) = (hop.after.class, hop.after.wire);
        let Some(most) = limit(net, class, wire) else { return };
        let queue = self.queues.entry((hop.out, class)).or_default();
        let name = &net.at(hop.out).name;
        let waits = hop.certain && hop.arrived < hop.left;
        if waits
            && let Some((_, left)) = Some(queue.past.partition_point(|(_, left, _)| *left <= hop.arrived))
                .map(|at| (at, queue.past.get(at).map_or(queue.gone, |(.., gone)| *gone)))
        {
            let with = queue.gone - left + hop.after.wire;
            tally.check(with as f64 <= most, hop.arrived, name, || {
                format!("{with} B in the queue with the packet that comes, and its limit is {most:.0} B")
            });
        }
        let came = queue.past.back().map_or(hop.arrived, |(came, ..)| hop.arrived.max(*came));
        queue.past.push_back((came, hop.left, queue.gone));
        queue.gone += hop.after.wire;
        if queue.past.len() > KEPT {
            queue.past.pop_front();
            queue.forgot = true;
        }
        let mut settled = std::mem::take(&mut queue.dropped);
        settled.retain(|(arrived, wire)| {
            if *arrived >= hop.arrived {
                return true;
            }
            judge(queue, (*arrived, *wire), (most, net), name, tally);
            false
        });
        queue.dropped = settled;
    }

    fn lost(&mut self, lost: &Lost<'_>, net: &Net, tally: &mut Tally) {
        let Some(out) = lost.out.filter(|_| lost.certain) else { return };
        let (class, wire) = (lost.packet.class, lost.packet.wire);
        let Some(most) = limit(net, class, wire) else { return };
        let queue = self.queues.entry((out, class)).or_default();
        if queue.past.back().is_some_and(|(came, ..)| *came > lost.arrived) {
            judge(queue, (lost.arrived, lost.packet.wire), (most, net), &net.at(out).name, tally);
        } else {
            queue.dropped.push((lost.arrived, lost.packet.wire));
        }
    }

    fn end(&mut self, _: Time, net: &Net, tally: &mut Tally) {
        let mut all: Vec<_> = self.queues.iter().collect();
        all.sort_by_key(|(place, _)| **place);
        for ((port, class), queue) in all {
            for (arrived, wire) in &queue.dropped {
                if let Some(most) = limit(net, *class, *wire) {
                    judge(queue, (*arrived, *wire), (most, net), &net.at(*port).name, tally);
                }
            }
        }
    }
}

/// A packet was dropped: the queue has to have been full. In a pool others may have filled it, and classes may share.
fn judge(queue: &Queue, (arrived, wire): (Time, u64), (most, net): (f64, &Net), name: &str, tally: &mut Tally) {
    let lossy = net.setup.classes.iter().skip(1).filter(|class| !class.lossless && class.share.is_none()).count();
    if !matches!(net.setup.buffer, Buffer::PerPort(_)) || lossy > 1 {
        return;
    }
    let Some((_, held)) = queue.when(arrived) else { return };
    tally.check((held + wire) as f64 > most, arrived, name, || {
        format!("a packet of {wire} B is dropped with {held} B in the queue, whose limit is {most:.0} B")
    });
}
