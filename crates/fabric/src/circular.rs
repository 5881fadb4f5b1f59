//! Circular waits under PFC, seen at run time: what [`crate::deadlock`] proves impossible for one lane of a network, and what
//! can happen everywhere else.
//!
//! A queue (the packets of one class at one port of a switch) that is paused waits for the account of the ingress behind its
//! link. That account is held by packets that sit in the queues of the switch there; of those queues, the paused ones wait
//! in turn. Queues that wait for each other in a circle are a circular wait. It may still dissolve, when packets of the
//! same accounts leave by queues that are not paused; with nothing left to happen it is a deadlock.
//!
//! The search starts where a PAUSE arrives for packets that wait, and sees the whole network at that moment: a PAUSE that
//! the ingress has taken back already, whose RESUME is under way, is nothing to wait for. A circle that is closed by a
//! packet that joins a paused queue is not counted, but stands in [`Simulation::circular_wait`].

use crate::port::Port;
use crate::results::What;
use crate::sim::Simulation;
use fanin_engine::EventQueue;
use fanin_units::PortId;

/// Packets that one search looks at; with more, it gives up and counts nothing.
const PATIENCE: usize = 1 << 14;

/// What a search keeps from the one before, so as not to allocate again. Queues are numbered as in `Simulation::queues`.
#[derive(Default)]
pub(crate) struct Search {
    /// Queues to look behind.
    open: Vec<u32>,
    /// The last search that came to a queue.
    seen: Vec<u32>,
    searches: u32,
}

impl<Q: EventQueue> Simulation<Q> {
    /// A PAUSE arrived for these classes of a port. Counts one for each that closes a circle.
    #[inline]
    pub(crate) fn look_for_circles(&mut self, port: PortId, classes: u8) {
        let stuck = classes & self.stuck(&self.ports[port.ix()]);
        // A network that is cut is proven to have none.
        if stuck == 0 || self.part.is_cut() {
            return;
        }
        // Where no queue of the next switch is paused too, nobody goes on.
        let peer = self.ports[port.ix()].peer.0 - self.config.graph.hosts;
        if self.switches[peer as usize].ports.iter().any(|next| self.stuck(&self.ports[next.ix()]) != 0) {
            for class in (1..self.classes).filter(|class| stuck & 1 << class != 0) {
                if self.is_in_circle(port.ix() * self.classes + class) {
                    self.incident(port, What::CircularWait(class as u8));
                }
            }
        }
    }

    /// Classes of a port that are paused by a switch, from a switch, and have packets.
    #[inline]
    fn stuck(&self, port: &Port) -> u8 {
        let hosts = self.config.graph.hosts;
        if port.node.0 < hosts || port.peer.0 < hosts { 0 } else { port.paused & port.waiting }
    }

    /// Calls `visit` for each queue that a queue waits for and that waits itself, until that says false. Takes the packets
    /// that it looks at from `patience`; false when that is spent.
    fn behind(&self, queue: usize, patience: &mut usize, mut visit: impl FnMut(usize) -> bool) -> bool {
        let (port, class) = (PortId((queue / self.classes) as u32), queue % self.classes);
        let account = port.reverse();
        if !self.ingress[account.ix() * self.classes + class].paused {
            return true;
        }
        let switch = &self.switches[(self.ports[port.ix()].peer.0 - self.config.graph.hosts) as usize];
        for next in &switch.ports {
            let stuck = self.stuck(&self.ports[next.ix()]);
            for of in (1..self.classes).filter(|class| stuck & 1 << class != 0) {
                let queue = next.ix() * self.classes + of;
                let mut looked = 0;
                let holds = self.queues[queue].iter(&self.shelves).any(|packet| {
                    looked += 1;
                    packet.ingress() == account.0 && packet.came_in() == class
                });
                if looked > *patience {
                    return false;
                }
                *patience -= looked;
                if holds && !visit(queue) {
                    return true;
                }
            }
        }
        true
    }

    /// Whether a queue waits for itself.
    fn is_in_circle(&mut self, start: usize) -> bool {
        let mut search = core::mem::take(&mut self.circles);
        search.seen.resize(self.queues.len(), 0);
        search.searches += 1;
        search.open.clear();
        search.open.push(start as u32);
        let (mut patience, mut found) = (PATIENCE, false);
        while let Some(queue) = search.open.pop() {
            let in_time = self.behind(queue as usize, &mut patience, |next| {
                found = next == start;
                if search.seen[next] != search.searches {
                    search.seen[next] = search.searches;
                    search.open.push(next as u32);
                }
                !found
            });
            if found || !in_time {
                break;
            }
        }
        self.circles = search;
        found
    }

    /// Queues that wait for each other in a circle now, as ports and classes, each of which waits for the next one and the
    /// last one for the first. Looks at all queues.
    pub fn circular_wait(&self) -> Option<Vec<(PortId, u8)>> {
        let (mut done, mut place) = (vec![false; self.queues.len()], vec![0; self.queues.len()]);
        let mut patience = usize::MAX;
        for start in 0..self.queues.len() {
            if self.stuck(&self.ports[start / self.classes]) & 1 << (start % self.classes) == 0 {
                continue;
            }
            // The way here, each queue with those behind it that are still to be looked at. Places count from 1.
            let mut way: Vec<(usize, Vec<usize>)> = Vec::new();
            let mut enter = Some(start);
            loop {
                if let Some(queue) = enter.take().filter(|queue| !done[*queue]) {
                    if place[queue] != 0 {
                        let circle = way[place[queue] - 1..].iter();
                        let named =
                            |queue: usize| (PortId((queue / self.classes) as u32), (queue % self.classes) as u8);
                        return Some(circle.map(|(queue, _)| named(*queue)).collect());
                    }
                    let mut next = Vec::new();
                    self.behind(queue, &mut patience, |queue| {
                        next.push(queue);
                        true
                    });
                    way.push((queue, next));
                    place[queue] = way.len();
                }
                let Some((queue, next)) = way.last_mut() else { break };
                enter = next.pop();
                if enter.is_none() {
                    done[*queue] = true;
                    way.pop();
                }
            }
        }
        None
    }
}
