//! The load that traffics will offer, computed from their messages before the run.
//!
//! The messages are those of the run: the same generators with the same seed. Each goes through a fluid model of two
//! resources, the sending NIC and the receiving NIC, first come, first served. That gives approximate completion times,
//! which closed loops depend on, and the share of the messages that a run has time for. The model does not know
//! congestion inside the network beyond the load of each tier, losses, or the effect of a control law.

use super::paths::{Paths, Route};
use crate::CheckedSpec;
use crate::document::Pattern;
use fanin_fabric::{Message, TrafficConfig};
use fanin_units::{Rate, Time};
use fanin_workload::ListedFlow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::time::{Duration, Instant};

/// Most messages examined; later ones are extrapolated.
const MOST_MESSAGES: u64 = 1_000_000;
/// Time limit for it. Results of tests do not depend on the machine.
const LONGEST: Duration = if cfg!(test) { Duration::from_secs(100) } else { Duration::from_millis(500) };
/// Messages between two checks of the clock.
const LOOK_EVERY: u64 = 1024;
/// Steps of all path searches together: some tenths of a second.
const MOST_WORK: u64 = 20_000_000;
/// Pairs of groups that are kept, 4 bytes each.
const MOST_PAIRS: u64 = 1 << 24;
/// Small segments of a connection per message: two to open it, and two more to close it.
const TCP_EXTRA: f64 = 4.0;
/// Segments of an initial window (RFC 6928); each further round trip doubles it.
const FIRST_WINDOW: f64 = 10.0;

/// Routes between groups, each kind once.
pub struct Table<'a> {
    paths: &'a Paths,
    kinds: Vec<Route>,
    number_of: HashMap<(u32, Time, Time, Vec<u32>), u32>,
    columns: BTreeMap<u32, Vec<u32>>,
    work: u64,
}

impl<'a> Table<'a> {
    pub fn new(paths: &'a Paths) -> Self {
        Self { paths, kinds: Vec::new(), number_of: HashMap::new(), columns: BTreeMap::new(), work: 0 }
    }

    /// The groups whose routes there is time to find, evenly spread, and whether they are all.
    pub fn affordable(&self) -> (Vec<u32>, bool) {
        let groups = u64::from(self.paths.groups());
        let most = (MOST_WORK / 2 / self.paths.work().max(1)).min(MOST_PAIRS / 2 / groups.max(1)).max(1);
        if groups <= most {
            return ((0..groups as u32).collect(), true);
        }
        ((0..most).map(|i| (i * groups / most) as u32).collect(), false)
    }

    /// Finds the routes to a group, if there is time left.
    fn find(&mut self, target: u32) -> bool {
        if self.columns.contains_key(&target) {
            return true;
        }
        let work = self.paths.work();
        let pairs = (self.columns.len() as u64 + 1) * u64::from(self.paths.groups());
        if !self.columns.is_empty() && (self.work + work > MOST_WORK || pairs > MOST_PAIRS) {
            return false;
        }
        self.work += work;
        let routes = self.paths.to(target).into_iter().map(|route| {
            let bits: Vec<u32> = route.crossed.iter().map(|share| share.to_bits()).collect();
            let next = self.kinds.len() as u32;
            let number = *self.number_of.entry((route.links, route.rtt.0, route.rtt.1, bits)).or_insert(next);
            if number == next {
                self.kinds.push(route);
            }
            number
        });
        let column = routes.collect();
        self.columns.insert(target, column);
        true
    }

    /// The routes from each group to a group, if there is time left to find them.
    pub fn to(&mut self, target: u32) -> Option<impl Iterator<Item = &Route>> {
        if !self.find(target) {
            return None;
        }
        Some(self.columns[&target].iter().map(|kind| &self.kinds[*kind as usize]))
    }

    /// The longest base round-trip time of the known routes.
    pub fn rtt(&self) -> Time {
        self.kinds.iter().map(|route| route.rtt.1).max().unwrap_or(Time::ZERO)
    }

    /// The largest product of rate and base round-trip time of the known routes, in bytes.
    pub fn bdp(&self) -> f64 {
        let rtt = self.rtt();
        let rate = self.paths.nic.iter().copied().max().unwrap_or(Rate::ZERO);
        rate.bytes_in(rtt) as f64
    }

    /// The route between two hosts. If there was no time to find it, the route to another host as an estimate.
    pub fn between(&mut self, src: u32, dst: u32) -> &Route {
        let (from, to) = (self.paths.group_of[src as usize], self.paths.group_of[dst as usize]);
        let known = if self.find(to) {
            to
        } else {
            // Spread over the known routes, so that no single place represents all.
            let from_here = self.columns.range(dst % self.paths.groups()..).map(|(known, _)| *known);
            from_here.chain(self.columns.keys().copied()).find(|known| *known != from).unwrap_or(to)
        };
        let kind = self.columns.get(&known).map_or(0, |column| column[from as usize]);
        &self.kinds[kind as usize]
    }
}

/// The load of one traffic.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    /// Messages examined, without endless ones.
    pub messages: u64,
    /// Their payload in bytes.
    pub bytes: f64,
    /// Endless messages.
    pub endless: u64,
    /// Packet-hops of all of them that there is time for.
    pub hops: f64,
    /// Their packets, without ACKs.
    pub packets: f64,
    /// Payload by tier in bits per second, once per link crossed, of messages posted in the measured window.
    pub payload: Vec<f64>,
    /// The same with headers.
    pub wire: Vec<f64>,
    /// The same of all messages, in bits.
    all_payload: Vec<f64>,
    all_wire: Vec<f64>,
    /// Factor of all of this for the messages that were not examined.
    pub factor: f64,
}

/// An endless message.
#[derive(Clone, Copy, Debug)]
pub struct Endless {
    pub traffic: u16,
    pub src: u32,
    pub dst: u32,
    pub start: Time,
}

/// The load of all traffics.
pub struct Offers {
    pub traffics: Vec<Offer>,
    pub endless: Vec<Endless>,
    /// Whether only some messages were examined.
    pub extrapolated: bool,
    /// Approximate completion time of the last message with an end, in seconds.
    pub done_s: f64,
    /// Approximate largest number of messages open at once.
    pub open: u64,
    /// Triggers of closed loops.
    pub gates: f64,
    /// Messages of jobs.
    pub of_jobs: f64,
}

/// Seconds of simulated time as the run divides it.
#[derive(Clone, Copy)]
pub struct Span {
    pub warm_up: f64,
    pub window_end: f64,
    /// The latest time at which a message with an end may still be sent.
    pub last: f64,
}

impl Span {
    pub fn of(checked: &CheckedSpec) -> Self {
        let measure = checked.measure();
        let warm_up = measure.warm_up.as_secs_f64();
        let window_end = warm_up + measure.window.as_secs_f64();
        let last = window_end + if measure.drain { measure.drain_limit.as_secs_f64() } else { 0.0 };
        Self { warm_up, window_end, last }
    }
}

/// Packets of a message, and the small packets in the opposite direction.
pub fn packets(config: &TrafficConfig, payload: f64, bytes: f64, answers: bool) -> (f64, f64) {
    let data = (bytes / payload).ceil().max(1.0);
    match &config.tcp {
        Some(tcp) => {
            let every = f64::from(tcp.connection.ack_every.max(1));
            let extra = if tcp.persistent || answers { 0.0 } else { TCP_EXTRA };
            (data, (data / every).ceil() + extra)
        }
        None => {
            let chunk = f64::from(config.endpoint.ack_chunk).max(payload);
            (data, (bytes / chunk).ceil().max(1.0))
        }
    }
}

/// The gates of one traffic.
#[derive(Default)]
struct Gates {
    /// Known activation times in seconds; negative if nothing has counted towards it yet.
    opens: Vec<f64>,
}

impl Gates {
    fn at(&self, gate: u32) -> Option<f64> {
        self.opens.get(gate as usize).copied().filter(|time| *time >= 0.0)
    }

    fn count(&mut self, gate: u32, time: f64) {
        let gate = gate as usize;
        if self.opens.len() <= gate {
            // Triggers are numbered densely in the order of their messages.
            self.opens.resize(gate + 1, -1.0);
        }
        self.opens[gate] = self.opens[gate].max(time);
    }
}

/// The state of the fluid model.
struct Fluid<'a, 't> {
    checked: &'a CheckedSpec,
    table: &'a mut Table<'t>,
    span: Span,
    out_free: Vec<f64>,
    in_free: Vec<f64>,
    gates: Vec<Gates>,
    /// Traffics whose messages come from a list.
    listed: Vec<bool>,
    open: BinaryHeap<Reverse<u64>>,
    /// Total time that messages are open, in seconds.
    life: f64,
    found: Offers,
}

impl Fluid<'_, '_> {
    fn take(&mut self, message: &Message) {
        let at = usize::from(message.traffic);
        let config = &self.checked.traffics()[at];
        let packet = &self.checked.network().packet;
        let (payload, header) =
            (f64::from(packet.payload), f64::from(packet.header + config.scheme.header_overhead().data));
        let paths = self.table.paths;
        let (src, dst) = (message.src as usize, message.dst as usize);
        let nic = |host: usize| paths.nic[paths.group_of[host] as usize].as_bps() as f64;
        let (out_bps, in_bps) = (nic(src), nic(dst));
        if message.bytes >= Message::ENDLESS {
            self.found.traffics[at].endless += 1;
            let (traffic, start) = (message.traffic, message.start);
            self.found.endless.push(Endless { traffic, src: message.src, dst: message.dst, start });
            return;
        }
        let dependency = &message.dependency;
        let start = message.start.as_secs_f64();
        let opens = match dependency.after {
            None => start,
            // In a list, the message that activates it may come later; anywhere else it comes before, and has not
            // finished.
            Some(gate) => self.gates[at].at(gate).unwrap_or(if self.listed[at] { start } else { f64::INFINITY }),
        };
        let ready = opens + dependency.delay.as_secs_f64();
        let bytes = message.bytes as f64;
        let (data, small) = packets(config, payload, bytes, dependency.answers);
        let wire = bytes + data * header;
        let route = self.table.between(message.src, message.dst);
        let rtt = route.rtt.1.as_secs_f64();
        let latency = rtt / 2.0
            + config.tcp.as_ref().map_or(0.0, |tcp| {
                let opening = if tcp.persistent || dependency.answers { 0.0 } else { rtt };
                let rounds = (data / FIRST_WINDOW + 1.0).log2();
                opening + rounds * rtt + config.overhead.as_secs_f64()
            });
        let slower = wire * 8.0 / out_bps.min(in_bps);
        // Messages of a closed loop are in the order of their clients and not of time, so they share no link here.
        let waits = dependency.after.is_some() || dependency.counts.is_some() || dependency.counts_acked.is_some();
        let (begins, ends) = if waits {
            (ready, ready + slower + latency)
        } else {
            let begins = self.out_free[src].max(ready);
            self.out_free[src] = begins + wire * 8.0 / out_bps;
            self.in_free[dst] = self.in_free[dst].max(ready) + wire * 8.0 / in_bps;
            let ends = self.out_free[src].max(self.in_free[dst]) + latency;
            (begins.max(ends - latency - slower), ends)
        };
        let offer = &mut self.found.traffics[at];
        offer.messages += 1;
        offer.bytes += bytes;
        // Messages that wait for others are not posted after the window; answers are.
        if ready >= if dependency.answers { self.span.last } else { self.span.window_end } {
            return;
        }
        for gate in [dependency.counts, dependency.counts_acked].into_iter().flatten() {
            self.gates[at].count(gate, ends);
        }
        let share = if ends <= self.span.last {
            1.0
        } else {
            ((self.span.last - begins) / (ends - begins).max(1e-12)).clamp(0.0, 1.0)
        };
        offer.packets += data * share;
        offer.hops += (data + small) * share * f64::from(route.links);
        let measured = f64::from(ready >= self.span.warm_up);
        for (i, crossed) in route.crossed.iter().enumerate() {
            let (payload, wire) = (bytes * 8.0 * f64::from(*crossed), wire * 8.0 * f64::from(*crossed));
            offer.all_payload[i] += payload;
            offer.all_wire[i] += wire;
            offer.payload[i] += measured * payload;
            offer.wire[i] += measured * wire;
        }
        self.found.done_s = self.found.done_s.max(ends.min(self.span.last));
        self.found.of_jobs += f64::from(message.sent_by.is_some());
        if !waits && !self.waits_in_job(message) {
            self.life += (ends.min(self.span.last) - start).max(0.0);
            let now = message.start.as_ps();
            while self.open.peek().is_some_and(|Reverse(end)| *end <= now) {
                self.open.pop();
            }
            self.open.push(Reverse((ends * 1e12) as u64));
            self.found.open = self.found.open.max(self.open.len() as u64);
        }
    }
}

impl Fluid<'_, '_> {
    /// Whether a node of a job sends the message, and only after others: about as many are open as send at once.
    fn waits_in_job(&self, message: &Message) -> bool {
        let job = || self.checked.job_of(message.traffic);
        message
            .sent_by
            .is_some_and(|(rank, node)| job().is_some_and(|job| job.step(rank, node).after_end().count() > 0))
    }
}

/// Examines the messages of a spec, and `flows` that its caller adds to them.
pub fn offers(checked: &CheckedSpec, flows: &[ListedFlow], table: &mut Table<'_>) -> Offers {
    let hosts = checked.network().graph.hosts as usize;
    let count = checked.traffics().len();
    let none = vec![0.0; table.paths.tiers.len()];
    let offer = Offer {
        payload: none.clone(),
        wire: none.clone(),
        all_payload: none.clone(),
        all_wire: none,
        factor: 1.0,
        ..Offer::default()
    };
    let span = Span::of(checked);
    let mut fluid = Fluid {
        checked,
        table,
        span,
        out_free: vec![0.0; hosts],
        in_free: vec![0.0; hosts],
        gates: (0..count).map(|_| Gates::default()).collect(),
        listed: checked.document().traffic.iter().map(|t| matches!(t.pattern, Pattern::Htsim { .. })).collect(),
        open: BinaryHeap::new(),
        life: 0.0,
        found: Offers {
            traffics: vec![offer; count],
            endless: Vec::new(),
            extrapolated: false,
            done_s: 0.0,
            open: 0,
            gates: 0.0,
            of_jobs: 0.0,
        },
    };
    // Flows of the caller that do not fit the network are reported when the run is built.
    let Ok(messages) = checked.messages(flows.to_vec()) else { return fluid.found };
    let began = Instant::now();
    for (number, message) in (0u64..).zip(messages) {
        if number >= MOST_MESSAGES || (number.is_multiple_of(LOOK_EVERY) && began.elapsed() > LONGEST) {
            fluid.found.extrapolated = true;
            break;
        }
        fluid.take(&message);
    }
    let gates: usize = fluid.gates.iter().map(|gates| gates.opens.len()).sum();
    let life = fluid.life;
    let mut found = fluid.found;
    found.gates = gates as f64;
    let window = (span.window_end - span.warm_up).max(1e-12);
    let expected = if found.extrapolated { checked.expected() } else { Vec::new() };
    for (at, offer) in found.traffics.iter_mut().enumerate() {
        if !found.extrapolated {
            offer.payload.iter_mut().chain(&mut offer.wire).for_each(|bits| *bits /= window);
            continue;
        }
        // Later messages are assumed to be like the examined ones, in the number that their traffic expects.
        let all =
            expected.get(at).map_or(0.0, |expected| expected.flows) + if at == 0 { flows.len() as f64 } else { 0.0 };
        offer.factor = (all / ((offer.messages + offer.endless) as f64).max(1.0)).max(1.0);
        let per_second = offer.factor / span.window_end.max(1e-12);
        offer.payload = offer.all_payload.iter().map(|bits| bits * per_second).collect();
        offer.wire = offer.all_wire.iter().map(|bits| bits * per_second).collect();
    }
    if found.extrapolated {
        let most = found.traffics.iter().map(|offer| offer.factor).fold(1.0, f64::max);
        found.done_s = (found.done_s * most).max(span.window_end).min(span.last);
        found.gates *= most;
        found.of_jobs *= most;
        // The examined messages may end before the largest number is open: by Little's law.
        let all_life = life * most;
        found.open = found.open.max((all_life / found.done_s.max(1e-12)) as u64);
    }
    found
}
