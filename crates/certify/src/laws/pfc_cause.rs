//! Pauses and their causes.
//!
//! The accounts of each ingress are kept again from the packets that came and left: below the threshold they are
//! shared, above it they are headroom. A pause frame is due when an arrival reaches the threshold, and one that resumes
//! when a departure leaves enough room; it goes ahead of everything but the packet on the wire. What happens at one
//! picosecond has an order that a capture does not show, so an account may have several possible states until the next
//! frame tells which it is.

use crate::event::{Arrival, Begin, Hop, Kind, Port};
use crate::law::Law;
use crate::map::Map;
use crate::net::Net;
use crate::report::Tally;
use crate::setup::Buffer;
use fanin_units::Time;
use std::collections::{BTreeMap, HashSet};

/// Possible states of an account that are followed.
const STATES: usize = 16;

#[derive(Default)]
pub struct Cause {
    /// By ingress and class.
    accounts: Map<(Port, u8), Vec<State>>,
    /// By switch and pool: shared bytes of all ingresses, the least and the most.
    used: Map<(u32, u8), (u64, u64)>,
    /// What happens at this time, by switch.
    now: Time,
    batch: BTreeMap<u32, Vec<Event>>,
    /// Switches whose accounts are not known any more.
    unknown: HashSet<u32>,
}

/// A possible state of an account.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct State {
    shared: u64,
    headroom: u64,
    paused: bool,
    /// Since when a frame is due.
    due: Option<Time>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Event {
    Comes {
        by: Port,
        class: u8,
        wire: u64,
    },
    Leaves {
        by: Port,
        class: u8,
        wire: u64,
    },
    /// It comes and leaves, and may have taken buffer in between.
    Passes {
        by: Port,
        class: u8,
        wire: u64,
    },
    Frame {
        port: Port,
        told: u8,
        paused: u8,
        free: Time,
    },
    Other {
        port: Port,
    },
}

/// The threshold of an account: the least and the most that it may be at this time.
#[derive(Clone, Copy)]
struct Threshold {
    least: u64,
    most: u64,
    /// Bytes below it for a resume.
    gap: u64,
}

impl Law for Cause {
    fn arrival(&mut self, arrival: &Arrival<'_>, net: &Net, tally: &mut Tally) {
        self.until(arrival.time, net, tally);
        let (info, class) = (net.at(arrival.at), arrival.packet.class);
        if !info.hosts.0 && is_lossless(net, class) && !arrival.packet.is_of_link() {
            let event = Event::Comes { by: arrival.at, class, wire: arrival.packet.wire };
            self.batch.entry(info.nodes.0).or_default().push(event);
        }
    }

    fn hop(&mut self, hop: &Hop<'_>, net: &Net, tally: &mut Tally) {
        self.until(hop.left, net, tally);
        let (by, class, wire) = (hop.by, hop.before.class, hop.before.wire);
        if !is_lossless(net, class) {
            return;
        }
        if !hop.certain {
            // By which ingress it came is not known, and the accounts of this switch are not from now on.
            self.unknown.insert(net.at(by).nodes.0);
        }
        let batch = self.batch.entry(net.at(by).nodes.0).or_default();
        // One that leaves at once takes no buffer, unless its port was about to be free when it came.
        let comes = Event::Comes { by, class, wire };
        let at = batch.iter().position(|event| *event == comes).filter(|_| hop.arrived == hop.left);
        match at {
            Some(at) if hop.free < hop.arrived => {
                batch.remove(at);
            }
            Some(at) => batch[at] = Event::Passes { by, class, wire },
            None => batch.push(Event::Leaves { by, class, wire }),
        }
    }

    fn begin(&mut self, begin: &Begin<'_>, net: &Net, tally: &mut Tally) {
        self.until(begin.time, net, tally);
        let (info, port) = (net.at(begin.port), begin.port);
        match begin.packet.kind {
            Kind::Pause { .. } if info.hosts.0 => {
                tally.check(net.setup.has.faults, begin.time, &info.name, || "a host pauses without a fault".into());
            }
            Kind::Pause { told, paused } => {
                let other = (0..8).find(|class| told >> class & 1 == 1 && !is_lossless(net, *class));
                tally.check(other.is_none(), begin.time, &info.name, || {
                    format!("a pause frame tells of class {}, which is not lossless", other.unwrap_or(0))
                });
                let lossless =
                    (1..8).filter(|class| is_lossless(net, *class)).fold(0, |bits, class| bits | 1u8 << class);
                let (told, paused) = (told & lossless, paused & lossless);
                let event = Event::Frame { port, told, paused, free: begin.free };
                self.batch.entry(info.nodes.0).or_default().push(event);
            }
            _ if !info.hosts.0 => self.batch.entry(info.nodes.0).or_default().push(Event::Other { port }),
            _ => {}
        }
    }

    fn end(&mut self, now: Time, net: &Net, tally: &mut Tally) {
        self.until(Time::NEVER, net, tally);
        let mut open: Vec<_> = self.accounts.iter().collect();
        open.sort_by_key(|(place, _)| **place);
        for ((port, class), states) in open {
            let info = net.at(*port);
            if self.unknown.contains(&info.nodes.0) {
                continue;
            }
            let Some(due) = states.iter().map(|state| state.due).min().flatten() else { continue };
            tally.check(due + info.rate.tx_time(net.setup.largest()) >= now, due, &info.name, || {
                format!("a frame for class {class} is due, and none is sent until the end at {now}")
            });
        }
    }
}

/// The pool of a class: its own, where it has a share, or the common one.
fn pool_of(net: &Net, class: u8) -> u8 {
    let of = net.setup.classes.get(usize::from(class));
    if of.is_some_and(|of| of.share.is_some()) { class } else { 0 }
}

fn is_lossless(net: &Net, class: u8) -> bool {
    class != 0 && net.setup.classes.get(usize::from(class)).is_some_and(|class| class.lossless)
}

impl Cause {
    /// Time goes on: what happened at the last one is complete.
    fn until(&mut self, time: Time, net: &Net, tally: &mut Tally) {
        if time > self.now {
            for (switch, events) in std::mem::take(&mut self.batch) {
                self.settle(switch, &events, net, tally);
            }
            self.now = time;
        }
    }

    fn settle(&mut self, switch: u32, events: &[Event], net: &Net, tally: &mut Tally) {
        if self.unknown.contains(&switch) {
            return;
        }
        let mut places: Vec<(Port, u8)> = Vec::new();
        let (mut comes, mut leaves) = ([0; 8], [0; 8]);
        for event in events {
            match *event {
                Event::Comes { by, class, wire } | Event::Passes { by, class, wire } => {
                    comes[usize::from(pool_of(net, class))] += wire;
                    places.push((by, class));
                }
                Event::Leaves { by, class, wire } => {
                    leaves[usize::from(pool_of(net, class))] += wire;
                    places.push((by, class));
                }
                Event::Frame { port, told, .. } => {
                    places.extend((1..8).filter(|class| told >> class & 1 == 1).map(|class| (port, class)));
                }
                Event::Other { port } => {
                    places.extend((1..8).filter(|class| is_lossless(net, *class)).map(|class| (port, class)));
                }
            }
        }
        places.sort_unstable();
        places.dedup();
        let alone =
            events.iter().filter(|event| !matches!(event, Event::Frame { .. } | Event::Other { .. })).count() == 1;
        for place in places {
            let pool = pool_of(net, place.1);
            let (least, most) = self.used.get(&(switch, pool)).copied().unwrap_or_default();
            let [comes, leaves] = [comes, leaves].map(|all| all[usize::from(pool)]);
            let range = if alone { (least, most) } else { (least.saturating_sub(leaves), most + comes) };
            self.settle_account(switch, place, (events, range), net, tally);
        }
    }

    fn settle_account(
        &mut self,
        switch: u32,
        (port, class): (Port, u8),
        (events, used): (&[Event], (u64, u64)),
        net: &Net,
        tally: &mut Tally,
    ) {
        let before = self.accounts.remove(&(port, class)).unwrap_or_else(|| vec![State::default()]);
        let info = net.at(port);
        if matches!(net.setup.buffer, Buffer::PerPort(_))
            && threshold(net, (port, class), used).most < 2 * net.setup.largest()
        {
            // Each packet pauses and resumes, several times in a picosecond.
            self.accounts.insert((port, class), before);
            return;
        }
        let mine = |of: &&Event| match **of {
            Event::Comes { by, class: c, .. }
            | Event::Leaves { by, class: c, .. }
            | Event::Passes { by, class: c, .. } => (by, c) == (port, class),
            _ => false,
        };
        let changes: Vec<Event> = events.iter().filter(mine).copied().collect();
        let threshold =
            |of_departure: u64| threshold(net, (port, class), (used.0.saturating_sub(of_departure), used.1));
        let after = |states: &[State]| {
            let mut all = Vec::new();
            for state in states {
                for order in orders(&changes) {
                    let mut possible = vec![*state];
                    for event in &order {
                        possible = possible.iter().flat_map(|state| state.after(event, &threshold, self.now)).collect();
                    }
                    all.extend(possible);
                }
            }
            distinct(all)
        };
        let mut states = after(&before);
        let frame = events.iter().find_map(|event| match *event {
            Event::Frame { port: at, told, paused, free } if at == port && told >> class & 1 == 1 => {
                Some((paused >> class & 1 == 1, free))
            }
            _ => None,
        });
        let sends = events.contains(&Event::Other { port });
        match frame {
            Some((paused, free)) => {
                let said = |state: &State| state.due.is_some() && state.paused == paused;
                let due = before.iter().chain(&states).filter(|state| said(state)).filter_map(|state| state.due).max();
                let cleared = |states: &[State]| -> Vec<State> {
                    states.iter().filter(|state| said(state)).map(|state| State { due: None, ..*state }).collect()
                };
                let mut possible = after(&cleared(&before));
                possible.extend(cleared(&states));
                let name = if paused { "PAUSE" } else { "RESUME" };
                match due {
                    None => tally.broken(self.now, &info.name, || {
                        let held = states.first().map_or(0, |state| state.shared + state.headroom);
                        let at = threshold(0);
                        format!(
                            "a {name} of class {class} without its cause: {held} B are held, and the threshold is {}",
                            at.most
                        )
                    }),
                    Some(due) => tally.check(self.now <= due.max(free) + net.setup.tick, self.now, &info.name, || {
                        format!("a {name} of class {class} is due since {due}, and leaves at {}", self.now)
                    }),
                }
                states = if possible.is_empty() {
                    states.iter().map(|state| State { paused, due: None, ..*state }).collect()
                } else {
                    distinct(possible)
                };
            }
            None if sends => {
                let due = before.iter().map(|state| state.due).min().flatten().filter(|due| *due < self.now);
                if let Some(due) = due {
                    tally.broken(self.now, &info.name, || {
                        format!("a frame for class {class} is due since {due}, and another packet leaves before it")
                    });
                    states.iter_mut().for_each(|state| state.due = None);
                }
            }
            None => {}
        }
        let allowance = net.headroom(port).saturating_sub(net.setup.largest().saturating_sub(1));
        if let Some(least) = states.iter().map(|state| state.headroom).min() {
            tally.check(least <= allowance, self.now, &info.name, || {
                format!("{least} B of class {class} arrived after the pause, and the headroom has {allowance} B")
            });
        }
        let shared = |states: &[State]| {
            let each = || states.iter().map(|state| state.shared);
            (each().min().unwrap_or(0), each().max().unwrap_or(0))
        };
        let (was, is) = (shared(&before), shared(&states));
        let used = self.used.entry((switch, pool_of(net, class))).or_default();
        *used = ((used.0 + is.0).saturating_sub(was.0), (used.1 + is.1).saturating_sub(was.1));
        self.accounts.insert((port, class), states);
    }
}

impl State {
    /// What it may be after an event.
    fn after(&self, event: &Event, threshold: &dyn Fn(u64) -> Threshold, now: Time) -> Vec<State> {
        let mut state = *self;
        match *event {
            Event::Comes { wire, .. } if state.paused => state.headroom += wire,
            Event::Comes { wire, .. } => {
                state.shared += wire;
                let at = threshold(0);
                let paused = State { paused: true, due: state.due.or(Some(now)), ..state };
                return match state.shared {
                    shared if shared >= at.most => vec![paused],
                    shared if shared >= at.least => vec![state, paused],
                    _ => vec![state],
                };
            }
            Event::Leaves { wire, .. } => {
                let from_headroom = wire.min(state.headroom);
                let from_shared = (wire - from_headroom).min(state.shared);
                state.headroom -= from_headroom;
                state.shared -= from_shared;
                let at = threshold(from_shared);
                let resumed = State { paused: false, due: state.due.or(Some(now)), ..state };
                let room = |threshold: u64| state.shared == 0 || state.shared + at.gap <= threshold;
                return match state.paused && state.headroom == 0 {
                    true if room(at.least) => vec![resumed],
                    true if room(at.most) => vec![state, resumed],
                    _ => vec![state],
                };
            }
            Event::Passes { by, class, wire } => {
                let there = self.after(&Event::Comes { by, class, wire }, threshold, now);
                let gone = Event::Leaves { by, class, wire };
                let mut all = vec![state];
                all.extend(there.iter().flat_map(|state| state.after(&gone, threshold, now)));
                return all;
            }
            Event::Frame { .. } | Event::Other { .. } => {}
        }
        vec![state]
    }
}

/// The orders in which events of one picosecond may have happened: all of a few, else two.
fn orders(events: &[Event]) -> Vec<Vec<Event>> {
    let comes = |event: &Event| matches!(event, Event::Comes { .. });
    if events.iter().all(comes) || !events.iter().any(comes) {
        return vec![events.to_vec()];
    }
    if events.len() > 4 {
        let (first, last): (Vec<Event>, Vec<Event>) = events.iter().partition(|event| comes(event));
        return vec![[first.clone(), last.clone()].concat(), [last, first].concat()];
    }
    let mut all = vec![Vec::new()];
    for event in events {
        all = all
            .iter()
            .flat_map(|order: &Vec<Event>| {
                (0..=order.len()).map(move |at| {
                    let mut order = order.clone();
                    order.insert(at, *event);
                    order
                })
            })
            .collect();
    }
    all
}

fn distinct(mut states: Vec<State>) -> Vec<State> {
    let mut all: Vec<State> = Vec::new();
    for state in states.drain(..) {
        if !all.contains(&state) && all.len() < STATES {
            all.push(state);
        }
    }
    all
}

/// The threshold of an ingress, with so many shared bytes in its switch.
fn threshold(net: &Net, (port, class): (Port, u8), (least, most): (u64, u64)) -> Threshold {
    let gap = net.setup.xon_offset;
    match net.setup.buffer {
        Buffer::PerPort(bytes) => {
            let at = net.share(bytes, class).saturating_sub(net.headroom(port));
            Threshold { least: at, most: at, gap }
        }
        Buffer::Pool { bytes, pfc_alpha, .. } => {
            let all = &net.setup.classes;
            let of = &all[usize::from(class)];
            let alpha = of.alpha.unwrap_or(pfc_alpha);
            let switch = net.at(port).nodes.0;
            let reserved: u64 =
                (0..net.ports.len() as Port).filter(|p| net.at(*p).nodes.0 == switch).map(|p| net.headroom(p)).sum();
            let own = |share: f64| (bytes as f64 * share) as u64;
            let taken: u64 = all.iter().filter_map(|class| class.share).map(own).sum();
            let others = all.iter().skip(1).filter(|class| class.share.is_none() && class.lossless).count() as u64;
            let (bytes, classes) = of.share.map_or((bytes.saturating_sub(taken), others), |share| (own(share), 1));
            let pool = bytes.saturating_sub(reserved * classes);
            let at = |used: u64| (alpha * pool.saturating_sub(used) as f64) as u64;
            Threshold { least: at(most), most: at(least), gap }
        }
        Buffer::Unlimited | Buffer::Credits => Threshold { least: u64::MAX, most: u64::MAX, gap },
    }
}
