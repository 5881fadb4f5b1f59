//! Cyclic buffer dependencies under PFC or credits, detected at run time: [`crate::deadlock`] proves them impossible
//! for one lane of a network; elsewhere they can occur.
//!
//! A queue (the packets of one class at one port of a switch) that is paused, or lacks credits for its first packet,
//! waits for the account of the ingress at the other end of its link. That account is held by packets in the queues of
//! the switch there; of those queues, the paused ones wait in turn. Queues that wait for each other in a cycle are a
//! cyclic buffer dependency. It may still dissolve, when packets of the same accounts leave by queues that are not
//! paused; with no event left it is a deadlock.
//!
//! The search starts where a PAUSE arrives for packets that wait, or where credits run out for them, and sees the whole
//! network at that moment: a PAUSE already revoked by the ingress, whose RESUME is in flight, is no dependency, nor are
//! credits on their way. A cycle closed by a packet that joins a
//! paused queue is not counted, but is returned by [`crate::Simulation::circular_wait`].

use crate::egress::Egress;
use crate::port::PortIx;
use fanin_units::PortId;

/// Packets that one search reads; with more, it gives up and counts nothing.
const MOST_READ: usize = 1 << 14;

/// Memory of searches, kept to avoid allocation. Queues are numbered by port and class.
#[derive(Default)]
pub(crate) struct CycleSearch {
    /// Queues whose dependencies are still to be followed.
    open: Vec<u32>,
    /// The last search that came to a queue.
    seen: Vec<u32>,
    searches: u32,
}

impl CycleSearch {
    /// Whether a queue is on a cycle. `next` gives the ports of the switch that a port leads to, and `stopped` whether
    /// the account at the other end of a port's link still stops a class of the port.
    pub fn closes<'a>(
        &mut self,
        egress: &Egress,
        next: impl Fn(PortIx) -> &'a [PortIx],
        stopped: impl Fn(PortIx, usize) -> bool,
        (port, class): (PortIx, usize),
    ) -> bool {
        // Where no queue of the next switch is paused too, the search ends at once.
        if next(port).iter().all(|out| egress.stuck(*out) == 0) {
            return false;
        }
        let start = port.ix() * egress.classes() + class;
        self.seen.resize(egress.ports().len() * egress.classes(), 0);
        self.searches += 1;
        self.open.clear();
        self.open.push(start as u32);
        let (mut left, mut found) = (MOST_READ, false);
        while let Some(queue) = self.open.pop() {
            let in_time = behind(egress, &next, &stopped, queue as usize, &mut left, |next| {
                found = next == start;
                if self.seen[next] != self.searches {
                    self.seen[next] = self.searches;
                    self.open.push(next as u32);
                }
                !found
            });
            if found || !in_time {
                break;
            }
        }
        found
    }
}

/// Calls `visit` for each blocked queue that a queue waits for, until it returns false. Subtracts the packets read from
/// `left`; false when that is spent.
fn behind<'a>(
    egress: &Egress,
    next: &impl Fn(PortIx) -> &'a [PortIx],
    stopped: &impl Fn(PortIx, usize) -> bool,
    queue: usize,
    left: &mut usize,
    mut visit: impl FnMut(usize) -> bool,
) -> bool {
    let classes = egress.classes();
    let (port, class) = (PortIx((queue / classes) as u32), queue % classes);
    let account = port.reverse();
    if !stopped(port, class) {
        return true;
    }
    for out in next(port) {
        let stuck = egress.stuck(*out);
        for of in (1..classes).filter(|class| stuck & 1 << class != 0) {
            let mut read = 0;
            let holds = egress.waiting(*out, of).any(|packet| {
                read += 1;
                packet.ingress() == account.0 && packet.ingress_class() == class
            });
            if read > *left {
                return false;
            }
            *left -= read;
            if holds && !visit(out.ix() * classes + of) {
                return true;
            }
        }
    }
    true
}

/// Queues that wait for each other in a cycle now, as ports and classes, each of which waits for the next one and the
/// last one for the first. Reads all queues.
pub(crate) fn find<'a>(
    egress: &Egress,
    next: impl Fn(PortIx) -> &'a [PortIx],
    stopped: impl Fn(PortIx, usize) -> bool,
) -> Option<Vec<(PortId, u8)>> {
    let classes = egress.classes();
    let queues = egress.ports().len() * classes;
    let (mut done, mut place) = (vec![false; queues], vec![0; queues]);
    let mut left = usize::MAX;
    for start in 0..queues {
        if egress.stuck(PortIx((start / classes) as u32)) & 1 << (start % classes) == 0 {
            continue;
        }
        // The current path, each queue with its dependencies still to be visited. Places count from 1.
        let mut path: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut enter = Some(start);
        loop {
            if let Some(queue) = enter.take().filter(|queue| !done[*queue]) {
                if place[queue] != 0 {
                    let cycle = path[place[queue] - 1..].iter();
                    let named =
                        |queue: usize| (egress.port(PortIx((queue / classes) as u32)).id, (queue % classes) as u8);
                    return Some(cycle.map(|(queue, _)| named(*queue)).collect());
                }
                let mut behind_it = Vec::new();
                behind(egress, &next, &stopped, queue, &mut left, |queue| {
                    behind_it.push(queue);
                    true
                });
                path.push((queue, behind_it));
                place[queue] = path.len();
            }
            let Some((queue, behind_it)) = path.last_mut() else { break };
            enter = behind_it.pop();
            if enter.is_none() {
                done[*queue] = true;
                path.pop();
            }
        }
    }
    None
}
