//! From a built experiment to a [`Run`]: the loop that samples, measures, drains and can be stopped.

use crate::built::{Built, Measure, Sampled, Series};
use crate::capture::Traces;
use fanin_fabric::topology::Graph;
use fanin_fabric::{DropCause, FlowRecord, Hop, Message, NetworkConfig, Simulation, TrafficConfig, What};
use fanin_record::{
    Bin, ClassInfo, Event, EventKind, EventLog, Histogram, Part, Run, Sample, Seen, Traced, TrafficInfo, Watched,
    port_names,
};
use fanin_units::{NodeId, PortId, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time reached.
    pub simulated: Time,
    /// Simulated time at which the run ends, as far as it is known: draining may take longer.
    pub end: Time,
    /// Packets sent over one link each.
    pub packet_hops: u64,
    /// Real time since the start.
    pub wall: Duration,
    /// Messages posted.
    pub started: u64,
    /// Messages whose last byte arrived.
    pub finished: u64,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Everything it leaves.
    pub run: Run,
    /// Whether it was stopped before its end.
    pub cancelled: bool,
    /// Real time it took, set-up not counted.
    pub wall: Duration,
}

/// Events between two looks at the clock: some ten milliseconds.
const EVENTS_PER_LOOK: u64 = 50_000;
/// The same where traces are written, so that what was seen stays short.
const EVENTS_PER_TAKE: u64 = 5_000;
/// Real time between two calls of the progress function.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often to look whether all messages have arrived, while draining and where the window ends with the last one.
const DRAIN_STEP: Time = Time::from_us(100);
/// Samples of queues kept over all series, and as many values of what schemes show; histograms still count all.
pub(crate) const MOST_SAMPLES: usize = 4_000_000;

/// Runs an experiment to its end, or until `progress` answers no. The answer is asked for about ten times a second.
pub fn run(built: Built, progress: &mut dyn FnMut(&Progress) -> bool) -> Outcome {
    let Built { network, traffics, messages, measure, warnings } = built;
    let graph = network.graph.clone();
    let mut runner = Runner::new(network, traffics, messages, measure, progress);
    for warning in warnings {
        runner.log.push(Event { time: Time::ZERO, kind: EventKind::Warning, place: "spec".into(), detail: warning });
    }
    runner.go();
    runner.finish(graph)
}

/// What a series samples.
struct Sampler {
    series: Series,
    next: Time,
    /// How often each whole kilobyte of queue was seen.
    counts: Vec<u64>,
    /// Where in [`Run::watched`] what it watches begins.
    first: u32,
}

/// The first values of many, and how many more there were.
struct Kept<T> {
    values: Vec<T>,
    most: usize,
    left_out: u64,
}

impl<T> Kept<T> {
    fn new(most: usize) -> Self {
        Self { values: Vec::new(), most, left_out: 0 }
    }

    fn push(&mut self, value: T) {
        if self.values.len() < self.most {
            self.values.push(value);
        } else {
            self.left_out += 1;
        }
    }
}

/// Width of a bin of the queue histogram, in bytes.
const BIN: u64 = 1000;

struct Runner<'a> {
    sim: Simulation,
    measure: Measure,
    /// When the measured window ends.
    window_end: Time,
    /// Name and scheme of each traffic.
    traffics: Vec<(String, String)>,
    samplers: Vec<Sampler>,
    samples: Kept<Sample>,
    seen: Kept<Seen>,
    traces: Traces,
    log: EventLog,
    progress: &'a mut dyn FnMut(&Progress) -> bool,
    began: Instant,
    looked: Instant,
    cancelled: bool,
    delivered_before: Vec<u64>,
    delivered_in_window: Vec<u64>,
}

impl<'a> Runner<'a> {
    fn new(
        network: NetworkConfig,
        traffics: Vec<TrafficConfig>,
        messages: Box<dyn Iterator<Item = Message> + Send>,
        measure: Measure,
        progress: &'a mut dyn FnMut(&Progress) -> bool,
    ) -> Self {
        let names = traffics.iter().map(|t| (t.name.clone(), t.scheme.id().to_string())).collect();
        let mut sim = Simulation::new(network, traffics, messages);
        for message in &measure.trace {
            sim.follow(message.traffic, message.number, true);
        }
        for watched in watched(&measure).filter(|watched| watched.part == Part::Flow) {
            sim.follow(watched.traffic, watched.number, false);
        }
        let mut first = 0;
        let samplers = measure.series.iter().map(|series| {
            let sampler = Sampler { series: series.clone(), next: measure.warm_up, counts: Vec::new(), first };
            first += watched_of(series).len() as u32;
            sampler
        });
        let samplers = samplers.collect();
        let traces = Traces::new(&measure, &mut sim);
        let now = Instant::now();
        Self {
            delivered_before: sim.endless_delivered(),
            delivered_in_window: sim.endless_delivered(),
            sim,
            window_end: measure.warm_up.saturating_add(measure.window),
            measure,
            traffics: names,
            samplers,
            samples: Kept::new(MOST_SAMPLES),
            seen: Kept::new(MOST_SAMPLES),
            traces,
            log: EventLog::new(fanin_fabric::Incidents::KEPT as usize),
            progress,
            began: now,
            looked: now,
            cancelled: false,
        }
    }

    fn go(&mut self) {
        if !self.advance(self.measure.warm_up) {
            return;
        }
        self.delivered_before = self.sim.endless_delivered();
        let arrived = self.pass_window();
        self.delivered_in_window =
            self.sim.endless_delivered().iter().zip(&self.delivered_before).map(|(now, then)| now - then).collect();
        if !arrived {
            return;
        }
        // Messages that wait for others must not begin behind the window either.
        self.sim.stop_posting();
        // What is posted is followed to its end, so that slow messages count as slow and not as missing.
        let limit = self.window_end.saturating_add(self.measure.drain_limit);
        while self.measure.drain && self.sim.open_messages() > 0 && self.sim.now() < limit {
            let step = self.sim.now().saturating_add(DRAIN_STEP).min(limit);
            if !self.advance(step) {
                return;
            }
        }
    }

    /// Runs to the end of the window, which comes early where that is wanted and all is done. False when it was stopped.
    fn pass_window(&mut self) -> bool {
        if !self.measure.stop_when_done {
            return self.advance(self.window_end);
        }
        while self.sim.now() < self.window_end {
            let step = self.sim.now().saturating_add(DRAIN_STEP).min(self.window_end);
            if !self.advance(step) {
                return false;
            }
            if self.sim.open_messages() == 0 && self.sim.nothing_to_come() && self.known() {
                self.window_end = step;
            }
        }
        true
    }

    /// Whether senders know of all that arrived, as far as that is wanted.
    fn known(&self) -> bool {
        !self.measure.until_acked || self.sim.flows().iter().all(|f| f.finished.is_some() <= f.acked.is_some())
    }

    /// Runs to `until`, sampling on the way. False when it was stopped.
    fn advance(&mut self, until: Time) -> bool {
        loop {
            let sample = self.samplers.iter().map(|s| s.next).min().unwrap_or(Time::NEVER);
            // A sample sees the state before anything happens at its instant.
            let to = until.min(sample);
            while !self.run_until(to) {
                if !self.look() {
                    return false;
                }
            }
            if !self.look() {
                return false;
            }
            if sample <= until && sample == to {
                self.sample(sample);
            }
            if to == until {
                return true;
            }
        }
    }

    /// Runs a slice towards `until`, and writes traces of it. Returns whether it got there.
    fn run_until(&mut self, until: Time) -> bool {
        if !self.traces.any() {
            return self.sim.run_until(until, EVENTS_PER_LOOK);
        }
        let arrived = self.sim.run_until(until, EVENTS_PER_TAKE);
        self.traces.take(&mut self.sim);
        arrived
    }

    fn look(&mut self) -> bool {
        if self.looked.elapsed() >= LOOK_EVERY {
            self.looked = Instant::now();
            let state = self.state();
            self.cancelled |= !(self.progress)(&state);
        }
        !self.cancelled
    }

    fn state(&self) -> Progress {
        Progress {
            simulated: self.sim.now(),
            end: self.window_end.max(self.sim.now()),
            packet_hops: self.sim.packet_hops(),
            wall: self.began.elapsed(),
            started: self.sim.started(),
            finished: self.sim.finished(),
        }
    }

    fn sample(&mut self, at: Time) {
        for sampler in self.samplers.iter_mut().filter(|s| s.next == at) {
            match &sampler.series.of {
                Sampled::Queues(ports) => {
                    for &port in ports {
                        let queue_bytes = self.sim.queued(port);
                        // Bin 0 is the empty queue; bin k holds ((k-1) KB, k KB].
                        let bin = queue_bytes.div_ceil(BIN) as usize;
                        if sampler.counts.len() <= bin {
                            sampler.counts.resize(bin + 1, 0);
                        }
                        sampler.counts[bin] += 1;
                        if queue_bytes > 0 || sampler.series.zeros {
                            self.samples.push(Sample { time: at, port, queue_bytes });
                        }
                    }
                }
                Sampled::Watched(watched) => {
                    for (of, watched) in (sampler.first..).zip(watched) {
                        for (name, value) in look_at(&self.sim, watched) {
                            self.seen.push(Seen { time: at, of, name, value });
                        }
                    }
                }
            }
            let next = at.saturating_add(sampler.series.every);
            sampler.next = if next < self.window_end { next } else { Time::NEVER };
        }
    }

    fn finish(mut self, graph: Graph) -> Outcome {
        let wall = self.began.elapsed();
        if !self.cancelled {
            let state = self.state();
            (self.progress)(&state);
        }
        let flows = self.sim.flows();
        let (files, warnings) = std::mem::take(&mut self.traces).finish(self.sim.now());
        for detail in warnings {
            let (time, place) = (self.sim.now(), "run".into());
            self.log.push(Event { time, kind: EventKind::Warning, place, detail });
        }
        self.tell_incidents(&graph, &flows);
        let histograms = self.samplers.iter().filter_map(histogram).collect();
        let switches = graph.switches();
        let counters = self.sim.traffic_counters();
        let traffics = self
            .traffics
            .iter()
            .zip(counters)
            .zip(&self.delivered_in_window)
            .zip(0..)
            .map(|((((name, scheme), counters), bytes), number)| TrafficInfo {
                name: name.clone(),
                scheme: scheme.clone(),
                counters,
                long_bytes_in_window: *bytes,
                table_peak: table_peak(&self.sim, number, switches),
            })
            .collect();
        let (traced, hops) = self.traces(&flows);
        let control = ClassInfo { name: "control".into(), lossless: false };
        let data = self.sim.config().classes.iter();
        let data = data.map(|class| ClassInfo { name: class.name.clone(), lossless: class.lossless });
        let classes = std::iter::once(control).chain(data).collect();
        let measured_from = self.measure.warm_up;
        let run = Run {
            graph,
            traffics,
            measured_from,
            measured_to: self.window_end,
            stopped: self.sim.now(),
            // Those that waited for others to the end were never posted.
            flows: flows.into_iter().filter(|flow| flow.start.is_some()).collect(),
            ports: self.sim.port_counters(),
            classes,
            class_counters: self.sim.class_counters(),
            totals: self.sim.totals(),
            series: self.samples.values,
            histograms,
            watched: watched(&self.measure).cloned().collect(),
            watch: self.seen.values,
            traced,
            hops,
            events: self.log,
            files,
        };
        Outcome { run, cancelled: self.cancelled, wall }
    }

    /// The number of a message that was asked for, if it was posted.
    fn posted(&self, wanted: &Watched, flows: &[FlowRecord]) -> Option<u32> {
        let message = self.sim.followed(wanted.traffic, wanted.number)?;
        flows[message as usize].start.is_some().then_some(message)
    }

    /// The traced messages that were posted, in the order of their numbers, and the hops of these.
    fn traces(&self, flows: &[FlowRecord]) -> (Vec<Traced>, Vec<Hop>) {
        let wanted = self.measure.trace.iter().filter_map(|wanted| Some((self.posted(wanted, flows)?, wanted)));
        let wanted: BTreeMap<u32, &Watched> = wanted.collect();
        // The flow table leaves out what was never posted.
        let posted = (0..).zip(flows).filter(|(_, flow)| flow.start.is_some()).map(|(message, _)| message);
        let traced = (0..).zip(posted).filter_map(|(flow, message): (u32, u32)| {
            wanted.get(&message).map(|wanted| Traced { flow, name: wanted.place.clone() })
        });
        let place_of: BTreeMap<u32, u32> = wanted.keys().copied().zip(0..).collect();
        let hops = self.sim.hops().iter();
        let hops = hops.filter_map(|hop| Some(Hop { message: *place_of.get(&hop.message)?, ..*hop }));
        (traced.collect(), hops.collect())
    }

    fn tell_incidents(&mut self, graph: &Graph, flows: &[FlowRecord]) {
        let names = port_names(graph);
        let incidents = self.sim.incidents();
        for incident in &incidents.kept {
            let (kind, detail) = match incident.what {
                What::Dropped(cause) => (EventKind::Drop, cause_text(cause).to_string()),
                What::Paused(class) => (EventKind::Pause, format!("class {class}")),
                What::CircularWait(class) => {
                    (EventKind::Warning, format!("class {class} waits for itself in a circle of paused queues"))
                }
            };
            let place = names.get(incident.port.ix()).cloned().unwrap_or_default();
            self.log.push(Event { time: incident.time, kind, place, detail });
        }
        let kinds = [
            (EventKind::Drop, incidents.drops),
            (EventKind::Pause, incidents.pauses),
            (EventKind::Warning, incidents.circular_waits),
        ];
        for (kind, seen) in kinds {
            for _ in fanin_fabric::Incidents::KEPT..seen {
                self.log.leave_out(kind);
            }
        }
        let messages = watched(&self.measure).chain(&self.measure.trace).filter(|watched| watched.part == Part::Flow);
        let missing = messages.filter(|message| self.posted(message, flows).is_none());
        let missing: BTreeSet<String> = missing.map(|message| message.place.clone()).collect();
        let circle = self.sim.circular_wait();
        let now = self.sim.now();
        let mut warn = |detail: String| {
            self.log.push(Event { time: now, kind: EventKind::Warning, place: "run".into(), detail });
        };
        if let Some(circle) = circle {
            let ports: Vec<&str> =
                circle.iter().filter_map(|(port, _)| names.get(port.ix()).map(String::as_str)).collect();
            warn(format!("at the end queues waited for each other in a circle: {}", ports.join(", ")));
        }
        if self.samples.left_out > 0 {
            warn(format!(
                "{} samples above the {MOST_SAMPLES} kept were left out of the series; the histograms have them",
                self.samples.left_out
            ));
        }
        if self.seen.left_out > 0 {
            warn(format!(
                "{} values above the {MOST_SAMPLES} kept were left out of what was watched",
                self.seen.left_out
            ));
        }
        if self.sim.hops_left_out() > 0 {
            warn(format!("{} hops above the {} kept were left out", self.sim.hops_left_out(), Hop::KEPT));
        }
        for name in missing {
            warn(format!("there was no message \"{name}\", which measure asks for"));
        }
        if self.measure.drain && self.sim.open_messages() > 0 && !self.cancelled {
            warn(format!(
                "{} messages had not arrived when draining reached measure.drain_limit = {}",
                self.sim.open_messages(),
                self.measure.drain_limit
            ));
        }
    }
}

fn cause_text(cause: DropCause) -> &'static str {
    match cause {
        DropCause::Buffer => "no buffer for a lossy class",
        DropCause::Lossless => "no buffer for a lossless class",
        DropCause::Error => "link error",
        DropCause::LinkDown => "link down",
        DropCause::NoRoute => "no route",
        DropCause::Program => "by the scheme's switch program",
        DropCause::Blocked => "of a message that a failure blocked",
        DropCause::WrongHost => "at a host that it was not for",
    }
}

/// What a series watches; nothing where it samples queues.
fn watched_of(series: &Series) -> &[Watched] {
    match &series.of {
        Sampled::Queues(_) => &[],
        Sampled::Watched(watched) => watched,
    }
}

/// All that is watched, series by series.
fn watched(measure: &Measure) -> impl Iterator<Item = &Watched> {
    measure.series.iter().flat_map(watched_of)
}

/// What can be seen there now.
fn look_at(sim: &Simulation, watched: &Watched) -> Vec<(&'static str, f64)> {
    match watched.part {
        Part::Flow => sim.followed(watched.traffic, watched.number).map_or_else(Vec::new, |message| sim.watch(message)),
        Part::Receiver => sim.watch_host(watched.traffic, watched.number),
        Part::Switch => sim.watch_switch(watched.traffic, watched.number),
    }
}

/// What a switch program calls the most entries that its deflected flow table ever had.
const TABLE_PEAK: &str = "table_peak";

/// The largest of all switches' tables.
fn table_peak(sim: &Simulation, traffic: u16, switches: u32) -> Option<u64> {
    let seen = (0..switches).flat_map(|switch| sim.watch_switch(traffic, switch));
    seen.filter(|(name, _)| *name == TABLE_PEAK).map(|(_, value)| value as u64).max()
}

fn histogram(sampler: &Sampler) -> Option<Histogram> {
    if matches!(sampler.series.of, Sampled::Watched(_)) {
        return None;
    }
    // Values are whole bytes: (0, 1000] is [1, 1001).
    let bounds = |bin: u64| if bin == 0 { (0, 1) } else { ((bin - 1) * BIN + 1, bin * BIN + 1) };
    let bins = sampler
        .counts
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
        .map(|(bin, &count)| {
            let (lower, upper) = bounds(bin as u64);
            Bin { lower, upper, count }
        })
        .collect();
    Some(Histogram { what: "queue".into(), place: sampler.series.place.clone(), bins })
}

/// The ports that a place of a spec means: "switch-ports", "last-hop" (a switch to a host), "tor-uplinks" (a switch
/// with hosts to another switch) or the name of one port.
pub fn ports_of(graph: &Graph, place: &str) -> Option<Vec<PortId>> {
    let has_hosts: Vec<bool> = {
        let mut has = vec![false; graph.names.len()];
        for link in &graph.links {
            for (a, b) in [(link.a, link.b), (link.b, link.a)] {
                has[a.ix()] |= graph.is_host(b);
            }
        }
        has
    };
    let wanted = |from: NodeId, to: NodeId| match place {
        "switch-ports" => !graph.is_host(from),
        "last-hop" => !graph.is_host(from) && graph.is_host(to),
        "tor-uplinks" => !graph.is_host(from) && has_hosts[from.ix()] && !graph.is_host(to),
        _ => false,
    };
    if matches!(place, "switch-ports" | "last-hop" | "tor-uplinks") {
        let ends = graph.links.iter().flat_map(|l| [(l.a, l.b), (l.b, l.a)]);
        return Some(ends.enumerate().filter(|(_, (a, b))| wanted(*a, *b)).map(|(i, _)| PortId(i as u32)).collect());
    }
    port_names(graph).iter().position(|name| name == place).map(|i| vec![PortId(i as u32)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;
    use fanin_units::Rate;
    use std::path::Path;

    /// Two messages of 100 KB at 1 Gb/s, the second at 1 ms, beside an endless flow; the window is 50 ms.
    fn outcome(measure: &str) -> Outcome {
        let queues = "{ what = \"queue\", where = \"last-hop\", every = \"100 us\", zeros = true }";
        outcome_of(queues, measure)
    }

    fn outcome_of(series: &str, measure: &str) -> Outcome {
        let text = format!(
            "spec_version = 1\nname = \"x\"\n[network]\ntopology = {{ kind = \"star\", hosts = 4, link = \"1 Gbps\", \
             delay = \"1 us\" }}\nbuffer = {{ policy = \"unlimited\" }}\n[[traffic]]\nname = \"once\"\nscheme = \
             \"none\"\nsize = {{ fixed = \"100 KB\" }}\npattern = {{ kind = \"incast\", degree = 1, senders = [\"h0\"], \
             receivers = [\"h1\"] }}\n[[traffic]]\nname = \"later\"\nstart = \"1 ms\"\nscheme = \"none\"\nsize = {{ fixed \
             = \"100 KB\" }}\npattern = {{ kind = \"incast\", degree = 1, senders = [\"h0\"], receivers = [\"h1\"] \
             }}\n[[traffic]]\nname = \"long\"\nscheme = \"none\"\npattern = {{ kind = \"long\", count = 1, senders = \
             [\"h2\"], receivers = [\"h3\"] }}\n[measure]\nwindow = \"50 ms\"\nseries = [{series}]\n{measure}"
        );
        let spec = Spec::from_toml(&text, "x.toml", Path::new("")).unwrap().check().unwrap();
        run(spec.build(), &mut |_| true)
    }

    #[test]
    fn a_window_may_end_when_all_is_done() {
        let run = outcome("stop_when_done = true\n").run;
        let last = run.flows.iter().map(|f| f.finished).filter(|f| f.is_some()).max().unwrap();
        // 100 KB take 0.8 ms and headers, so between the two messages nothing is open, yet one is to come.
        assert!(run.flows[0].finished.is_some() && run.flows[0].finished < Time::from_ms(1));
        assert!(last > Time::from_us(1800) && last < Time::from_us(1900), "{last}");
        assert!(run.measured_to >= last && run.measured_to <= last + DRAIN_STEP, "{} and {last}", run.measured_to);
        assert_eq!(run.stopped, run.measured_to);
        // What is averaged over the window is averaged over this one.
        let goodput = run.traffics[2].long_bytes_in_window as f64 * 8.0 / run.measured_to.as_secs_f64();
        assert!((0.93e9..0.97e9).contains(&goodput), "{goodput}");
        assert!(run.series.iter().all(|sample| sample.time < run.measured_to + DRAIN_STEP));
        let whole = outcome("").run;
        assert_eq!((whole.measured_to, whole.stopped), (Time::from_ms(50), Time::from_ms(50)));
        let once = |run: &Run| run.flows.iter().filter(|f| f.bytes == 100_000).copied().collect::<Vec<_>>();
        assert_eq!(once(&whole), once(&run));
    }

    fn warnings(run: &Run) -> Vec<&str> {
        run.events.kept().iter().filter(|e| e.kind == EventKind::Warning).map(|e| e.detail.as_str()).collect()
    }

    #[test]
    fn messages_are_watched_while_they_send() {
        let series = "{ what = \"flow\", where = [\"later:0\", \"long:0\", \"once:5\"], every = \"100 us\" }, { what = \
                      \"receiver\", where = [\"h1\"], every = \"1 ms\" }";
        let run = outcome_of(series, "").run;
        let of = |name: &str| run.watched.iter().position(|watched| watched.place == name).unwrap() as u32;
        let seen = |name: &str| run.watch.iter().filter(|s| s.of == of(name)).copied().collect::<Vec<Seen>>();
        // 100 KB from 1 ms on: a sample sees what was before its instant.
        let times: Vec<Time> = seen("later:0").iter().filter(|s| s.name == "rate_bps").map(|s| s.time).collect();
        assert_eq!(times, (11..=18).map(|i| Time::from_us(100 * i)).collect::<Vec<_>>());
        // Every 100 us of the window of 50 ms but at its start.
        let rates: Vec<f64> = seen("long:0").iter().filter(|s| s.name == "rate_bps").map(|s| s.value).collect();
        assert_eq!((rates.len(), rates[0]), (499, 1e9));
        assert_eq!(seen("long:0").iter().filter(|s| s.name == "window_bytes").count(), 499);
        assert_eq!(warnings(&run), ["there was no message \"once:5\", which measure asks for"]);
        assert!(run.histograms.is_empty() && run.series.is_empty());
        // One of each traffic, whose scheme shows nothing.
        assert_eq!(run.watched.iter().filter(|watched| watched.part == Part::Receiver).count(), 3);
        // To look changes nothing.
        assert_eq!(run.totals.event_hash, outcome("").run.totals.event_hash);
    }

    #[test]
    fn traced_messages_leave_their_hops() {
        let traced = outcome("trace = [\"later:0\", \"once:0\"]\n").run;
        let names: Vec<&str> = traced.traced.iter().map(|t| t.name.as_str()).collect();
        let starts: Vec<Time> = traced.traced.iter().map(|t| traced.flows[t.flow as usize].start).collect();
        assert_eq!((names, starts), (vec!["once:0", "later:0"], vec![Time::ZERO, Time::from_ms(1)]));
        let hops: Vec<&Hop> = traced.hops.iter().filter(|hop| hop.message == 1).collect();
        assert_eq!(hops.len() as u32, 2 * traced.flows[traced.traced[1].flow as usize].packets_sent);
        assert!(hops.iter().all(|hop| hop.time >= Time::from_ms(1)));
        // The first packet of 1522 B: at the switch, then at its host, a microsecond and its own time later.
        let first: Vec<&&Hop> = hops.iter().filter(|hop| hop.seq == 0).collect();
        let names = |hop: &Hop| {
            let port = hop.port.map(|port| port_names(&traced.graph)[port.ix()].clone());
            (traced.graph.names[hop.node.ix()].clone(), port)
        };
        assert_eq!(names(first[0]), ("sw0".into(), Some("sw0>h1".into())));
        assert_eq!(names(first[1]), ("h1".into(), None));
        let took = first[1].time.saturating_sub(first[0].time);
        assert_eq!(took, Time::from_us(1) + Rate::from_gbps(1).tx_time(1522));
        assert_eq!(traced.totals.event_hash, outcome("").run.totals.event_hash);
        assert!(outcome("").run.hops.is_empty());
    }

    #[test]
    fn a_traced_message_is_the_same_row_where_others_were_never_posted() {
        // Of ten rounds the window has room for two, but all are known before the other message.
        let text = "spec_version = 1\nname = \"x\"\n[network]\ntopology = { kind = \"star\", hosts = 3, link = \"1 \
                    Gbps\", delay = \"1 us\" }\nbuffer = { policy = \"unlimited\" }\n[[traffic]]\nname =                     \"asks\"\nscheme = \"dctcp\"\npattern = { kind = \"query\", clients = [\"h0\"], servers = [\"h1\"],                     rounds = 10, total = \"1 KB\", think = [\"1 ms\", \"1 ms\"] }\n[[traffic]]\nname = \"late\"\nstart                     = \"1 ms\"\nscheme = \"dcqcn\"\nsize = { fixed = \"8 KB\" }\npattern = { kind = \"incast\", degree =                     1, senders = [\"h2\"], receivers = [\"h1\"] }\n[measure]\nwindow = \"2 ms\"\ndrain = false\ntrace =                     [\"late:0\", \"asks:19\"]\n";
        let spec = Spec::from_toml(text, "x.toml", Path::new("")).unwrap().check().unwrap();
        let run = run(spec.build(), &mut |_| true).run;
        assert!(run.flows.len() < 21, "{} messages were posted", run.flows.len());
        let [traced] = &run.traced[..] else { panic!("{:?}", run.traced) };
        assert_eq!((traced.name.as_str(), run.flows[traced.flow as usize].traffic), ("late:0", 1));
        assert!(!run.hops.is_empty() && run.hops.iter().all(|hop| hop.message == 0));
        assert_eq!(warnings(&run), ["there was no message \"asks:19\", which measure asks for"]);
    }

    #[test]
    fn what_is_kept_has_a_limit_and_the_rest_is_counted() {
        let mut kept = Kept::new(2);
        (0..5).for_each(|i| kept.push(i));
        assert_eq!((kept.values, kept.left_out), (vec![0, 1], 3));
        let text = "spec_version = 1\nname = \"x\"\n[network]\ntopology = { kind = \"star\", hosts = 2, link = \"400 \
                    Gbps\", delay = \"1 us\" }\nbuffer = { policy = \"unlimited\" }\n[[traffic]]\nname = \"long\"\nscheme \
                    = \"none\"\npattern = { kind = \"long\", count = 1, senders = [\"h0\"], receivers = [\"h1\"] \
                    }\n[measure]\nwindow = \"20 ms\"\ntrace = [\"long:0\"]\n";
        let spec = Spec::from_toml(text, "x.toml", Path::new("")).unwrap().check().unwrap();
        let run = run(spec.build(), &mut |_| true).run;
        // Each packet that was sent arrived at the switch and then at the host, but for those under way.
        let sent = u64::from(run.flows[0].packets_sent);
        assert_eq!((run.hops.len(), sent > 600_000), (Hop::KEPT, true), "{sent} packets");
        let told: Vec<u64> = warnings(&run)[0].split(' ').filter_map(|word| word.parse().ok()).collect();
        assert!(told[0].abs_diff(2 * sent - Hop::KEPT as u64) < 1000 && told[1] == Hop::KEPT as u64, "{told:?}");
    }
}
