//! From a built experiment to a [`Run`]: the loop that samples, measures, drains and can be stopped.

use crate::built::{Built, MOST_SAMPLES, Measure, Sampled, Series};
use crate::capture::Traces;
use crate::queue_counts::QueueCounts;
use crate::spec::CheckedSpec;
use crate::{aftermath, congested, unmeasured};
use fanin_cc::own::Failure;
use fanin_fabric::parallel::plan;
use fanin_fabric::topology::Graph;
use fanin_fabric::{
    ClassConfig, DropCause, Flows, Hop, HostWait, ParallelSimulation, PauseRecord, Placed, TrafficConfig,
    TrafficCounters, What,
};
use fanin_record::{
    ClassInfo, Event, EventKind, EventLog, Histogram, Manifest, Part, Run, Sample, Seen, SizeRange, Summary, Traced,
    TrafficInfo, Watched, numbers, port_names, summarise,
};
use fanin_units::{PortId, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::DerefMut;
use std::time::{Duration, Instant};

mod engine;
mod faults;
mod loaded;
mod online;

pub use engine::Engine;
pub use loaded::{OwnPrograms, earliest};
pub use online::Online;

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time reached.
    pub simulated: Time,
    /// Simulated time at which the run ends, as far as known: draining may take longer.
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

/// Outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its results.
    pub run: Run,
    /// Whether it was stopped before its end.
    pub cancelled: bool,
    /// Real time it took, set-up not counted.
    pub wall: Duration,
    /// Threads that ran it.
    pub threads: usize,
    /// Why the run used fewer threads than allowed.
    pub threads_reason: Option<String>,
    /// The failure of a loaded scheme that ended it.
    pub failure: Option<Failure>,
}

/// The summary and the manifest of a run of a spec.
pub fn left_by_spec(outcome: &Outcome, checked: &CheckedSpec) -> (Summary, Manifest) {
    let (measure, document) = (checked.measure(), checked.document());
    let sizes = measure.report_size.map_or(SizeRange::ALL, SizeRange::only);
    left_by(outcome, sizes, measure.allow_drops, (&document.name, document.seed))
}

/// The same of any run, of this name and seed.
pub fn left_by(
    outcome: &Outcome,
    sizes: SizeRange,
    allow_drops: bool,
    (name, seed): (&str, u64),
) -> (Summary, Manifest) {
    let mut summary = summarise(&outcome.run, sizes, allow_drops);
    summary.errors.extend(outcome.failure.iter().map(|failure| failure.problem.clone()));
    let wall_s = outcome.wall.as_secs_f64();
    let manifest = Manifest {
        threads: outcome.threads,
        threads_reason: outcome.threads_reason.clone(),
        ..Manifest::new(name, seed, &outcome.run, wall_s, outcome.cancelled)
    };
    (summary, manifest)
}

/// Events between two checks of the clock: some ten milliseconds. All threads synchronise for each.
const EVENTS_PER_LOOK: u64 = 200_000;
/// The same for runs with traces, so that few observations accumulate.
const EVENTS_PER_TAKE: u64 = 5_000;
/// The same for runs with loaded programs, which may be slow.
const EVENTS_PER_LOADED: u64 = 20_000;
/// Real time between two calls of the progress function.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Interval between checks whether all messages have arrived, while draining and if the window ends with the last one.
const DRAIN_STEP: Time = Time::from_us(100);

/// Runs an experiment to its end, or until `progress` returns false. It is called about ten times a second.
pub fn run(mut built: Built, progress: &mut dyn FnMut(&Progress) -> bool) -> Outcome {
    let (mut sim, reason) = network(&mut built);
    run_with(built, &mut sim as &mut dyn Engine, reason, progress)
}

/// The same on another engine, which runs the network, the traffics and the messages of the same experiment.
pub fn run_on(built: Built, engine: &mut dyn Engine, progress: &mut dyn FnMut(&Progress) -> bool) -> Outcome {
    run_with(built, engine, None, progress)
}

fn run_with(
    built: Built,
    engine: &mut dyn Engine,
    reason: Option<String>,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Outcome {
    let (mut runner, graph, jobs) = runner(built, engine, progress);
    runner.threads_reason = reason;
    runner.go();
    runner.finish(graph, jobs)
}

/// What runs an experiment on an engine, its network, and its jobs.
fn runner<'e, 'p, S: DerefMut<Target = dyn Engine + 'e>>(
    built: Built,
    engine: S,
    progress: impl FnMut(&Progress) -> bool + 'p,
) -> (Runner<'p, S>, Graph, Vec<Placed>) {
    let Built { network, traffics, measure, warnings, jobs, .. } = built;
    let loaded = OwnPrograms::of(&network, &traffics);
    let traffics = (0..traffics.len()).map(|number| described(&traffics, number, &network.classes)).collect();
    let mut runner = Runner::new(engine, traffics, measure, Box::new(progress));
    runner.loaded = loaded;
    for warning in warnings {
        runner.log.push(Event::new(Time::ZERO, EventKind::Warning, "spec", warning));
    }
    (runner, network.graph, jobs)
}

/// Most traffics that one names as counted together with it: 10,000 traffics of one scheme would name each other.
pub(crate) const MOST_NAMED: usize = 8;

/// A traffic before the run. Those with the same scheme and parameters share one instance of the scheme.
fn described(traffics: &[TrafficConfig], number: usize, classes: &[ClassConfig]) -> TrafficInfo {
    let traffic = &traffics[number];
    let others = traffics.iter().enumerate().filter(|(other, of)| *other != number && of.scheme == traffic.scheme);
    TrafficInfo {
        name: traffic.name.clone(),
        scheme: traffic.scheme.id().to_string(),
        transport: if traffic.tcp.is_some() { "tcp" } else { "rdma" },
        class_name: classes[usize::from(traffic.class) - 1].name.clone(),
        counted_with: others.map(|(_, of)| of.name.clone()).take(MOST_NAMED).collect(),
        counters: TrafficCounters::default(),
        bytes_in_window: Some(0),
        long_bytes_in_window: 0,
        table_peak: None,
    }
}

/// The network in partitions, at least as many as there are threads for it, and the reason for fewer.
fn network(built: &mut Built) -> (ParallelSimulation, Option<String>) {
    let (network, traffics, measure) = (built.network.clone(), built.traffics.clone(), &built.measure);
    let messages = std::mem::replace(&mut built.messages, Box::new(std::iter::empty()));
    let seen = measure.capture.is_some() || measure.timeline.is_some() || !measure.trace.is_empty();
    let planned = match built.one_thread {
        Some(reason) => Err(reason),
        None if seen => Err("captures, traces and timelines need one order of all events"),
        None => plan(&network, &traffics, built.threads),
    };
    let (mut sim, reason) = match planned {
        Ok(parts) => {
            let count = parts.iter().max().map_or(1, |last| usize::from(*last) + 1);
            let reason = format!("the network is partitioned by racks, and has {count}");
            let sim = ParallelSimulation::cut(network, traffics, messages, &parts).on(built.threads);
            (sim, (count < built.threads).then_some(reason))
        }
        Err(reason) => (ParallelSimulation::whole(network, traffics, messages), Some(reason.to_string())),
    };
    if !built.jobs.is_empty() {
        sim.run_graphs(&built.jobs);
    }
    (sim, reason.filter(|_| built.threads > 1))
}

/// The samples of a series.
struct Sampler {
    series: Series,
    next: Time,
    /// Number of samples by whole kilobytes of queue.
    counts: QueueCounts,
    /// First index of its entries in [`Run::watched`].
    first: u32,
}

/// The first values of many, and the number of further ones.
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

struct Runner<'p, S> {
    sim: S,
    /// Why it has fewer partitions than threads available.
    threads_reason: Option<String>,
    loaded: OwnPrograms,
    failure: Option<Failure>,
    measure: Measure,
    /// End of the measured window.
    window_end: Time,
    traffics: Vec<TrafficInfo>,
    samplers: Vec<Sampler>,
    samples: Kept<Sample>,
    seen: Kept<Seen>,
    traces: Traces,
    log: EventLog,
    progress: Box<dyn FnMut(&Progress) -> bool + 'p>,
    began: Instant,
    looked: Instant,
    cancelled: bool,
    /// Of each traffic: the payload of all messages, and of endless flows, that had arrived when the window began ...
    delivered_before: Vec<[u64; 2]>,
    /// ... and that arrived in the window.
    delivered_in_window: Vec<[u64; 2]>,
    /// Bytes on the wire that each port had sent when the window began, and sent in the window.
    sent_before: Vec<u64>,
    sent_in_window: Vec<u64>,
}

impl<'e, 'p, S: DerefMut<Target = dyn Engine + 'e>> Runner<'p, S> {
    fn new(
        mut sim: S,
        traffics: Vec<TrafficInfo>,
        measure: Measure,
        progress: Box<dyn FnMut(&Progress) -> bool + 'p>,
    ) -> Self {
        if let Some(sim) = sim.simulator_mut() {
            for message in &measure.trace {
                sim.follow(message.traffic, message.number, true);
            }
            for watched in watched(&measure).filter(|watched| watched.part == Part::Flow) {
                sim.follow(watched.traffic, watched.number, false);
            }
        }
        let mut first = 0;
        let samplers = measure.series.iter().map(|series| {
            let sampler =
                Sampler { series: series.clone(), next: measure.warm_up, counts: QueueCounts::default(), first };
            first += watched_of(series).len() as u32;
            sampler
        });
        let samplers = samplers.collect();
        let one = sim.simulator_mut().and_then(ParallelSimulation::one_mut);
        let traces = one.map_or_else(Traces::default, |sim| Traces::new(&measure, sim));
        let now = Instant::now();
        Self {
            delivered_before: sim.delivered(),
            delivered_in_window: sim.delivered(),
            sent_before: Vec::new(),
            sent_in_window: Vec::new(),
            sim,
            window_end: measure.warm_up.saturating_add(measure.window),
            measure,
            threads_reason: None,
            loaded: OwnPrograms::default(),
            failure: None,
            traffics,
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
        self.delivered_before = self.sim.delivered();
        self.sent_before = sent(&*self.sim);
        let arrived = self.pass_window();
        self.close_window();
        if !arrived {
            return;
        }
        // Messages that wait for others must not start after the window either.
        self.sim.stop_posting();
        // Posted messages are simulated until they arrive, so that slow messages count as slow and not as missing.
        let limit = self.window_end.saturating_add(self.measure.drain_limit);
        while self.measure.drain && self.sim.open_messages() > 0 && self.sim.now() < limit {
            let step = self.sim.now().saturating_add(DRAIN_STEP).min(limit);
            if !self.advance(step) {
                return;
            }
        }
    }

    /// Counts what arrived and what was sent in the window, at its end.
    fn close_window(&mut self) {
        let both = self.sim.delivered().into_iter().zip(&self.delivered_before);
        self.delivered_in_window = both.map(|(now, then)| [now[0] - then[0], now[1] - then[1]]).collect();
        self.sent_in_window = sent(&*self.sim).iter().zip(&self.sent_before).map(|(now, then)| now - then).collect();
    }

    /// Runs to the end of the window, which may end early when all messages are done. Returns false if it was stopped.
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

    /// Whether senders know of all arrivals, if that is required.
    fn known(&mut self) -> bool {
        !self.measure.until_acked || self.sim.all_known()
    }

    /// Runs to `until`, with samples. Returns false if it was stopped.
    fn advance(&mut self, until: Time) -> bool {
        loop {
            let sample = self.samplers.iter().map(|s| s.next).min().unwrap_or(Time::NEVER);
            // A sample is taken before all events of its instant.
            let to = until.min(sample).min(self.loaded.next_check(self.sim.now()));
            while !self.run_until(to) {
                if !self.look() {
                    return false;
                }
            }
            if !self.look() || self.has_failed() {
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

    /// Runs a slice towards `until`, and writes its traces. Returns whether it reached `until`.
    fn run_until(&mut self, until: Time) -> bool {
        if !self.traces.any() {
            let budget = if self.loaded.is_empty() { EVENTS_PER_LOOK } else { EVENTS_PER_LOADED };
            return self.sim.run_until(until, budget);
        }
        let arrived = self.sim.run_until(until, EVENTS_PER_TAKE);
        if let Some(sim) = self.sim.simulator_mut().and_then(ParallelSimulation::one_mut) {
            self.traces.take(sim);
        }
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

    /// Whether a loaded program has failed: then the run ends.
    fn has_failed(&mut self) -> bool {
        self.failure = self.loaded.check(&*self.sim);
        self.cancelled |= self.failure.is_some();
        self.cancelled
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
                        sampler.counts.add(queue_bytes, 1);
                        if queue_bytes > 0 || sampler.series.zeros {
                            self.samples.push(Sample { time: at, port, queue_bytes });
                        }
                    }
                }
                Sampled::Watched(watched) => {
                    for (of, watched) in (sampler.first..).zip(watched) {
                        for (name, value) in look_at(&*self.sim, watched) {
                            self.seen.push(Seen { time: at, of, name, value });
                        }
                    }
                }
            }
            let next = at.saturating_add(sampler.series.every);
            sampler.next = if next < self.window_end { next } else { Time::NEVER };
        }
    }

    fn finish(mut self, graph: Graph, jobs: Vec<Placed>) -> Outcome {
        let wall = self.began.elapsed();
        if !self.cancelled {
            let state = self.state();
            (self.progress)(&state);
        }
        let flows = self.sim.take_flows();
        let graphs = self.sim.simulator_mut().map(ParallelSimulation::take_graphs).unwrap_or_default();
        self.traces.ranks(&jobs, &graphs);
        let (mut files, warnings) = std::mem::take(&mut self.traces).finish(self.sim.now());
        let (more, also) = self.sim.take_traces();
        files.extend(more);
        for detail in warnings.into_iter().chain(also) {
            self.log.push(Event::new(self.sim.now(), EventKind::Warning, "run", detail));
        }
        self.tell_incidents(&graph, &flows);
        let histograms = self.samplers.iter().filter_map(histogram).collect();
        let counters = self.sim.traffic_counters();
        let counted = counters.into_iter().zip(&self.delivered_in_window).zip(0..);
        let traffics = std::mem::take(&mut self.traffics)
            .into_iter()
            .zip(counted)
            .map(|(info, ((counters, [all, endless]), number))| TrafficInfo {
                counters,
                bytes_in_window: Some(*all),
                long_bytes_in_window: *endless,
                table_peak: self.sim.table_peak(number),
                ..info
            })
            .collect();
        let (traced, hops, host_waits) = self.traces(&flows);
        let (pauses, left_out) = self.sim.simulator().map(ParallelSimulation::pause_records).unwrap_or_default();
        if left_out > 0 {
            let detail = format!("{left_out} pauses beyond the first {} were left out", PauseRecord::KEPT);
            self.log.push(Event::new(self.sim.now(), EventKind::Warning, "run", detail));
        }
        let control = ClassInfo { name: "control".into(), lossless: false };
        let data = self.sim.config().classes.iter();
        let data = data.map(|class| ClassInfo { name: class.name.clone(), lossless: class.lossless });
        let classes = std::iter::once(control).chain(data).collect();
        let measured_from = self.measure.warm_up;
        let numbers = numbers(flows.iter()).zip(flows.iter()).filter(|(_, flow)| flow.start.is_some());
        let numbers = numbers.map(|(number, _)| number).collect();
        let mut run = Run {
            graph,
            traffics,
            measured_from,
            measured_to: self.window_end,
            stopped: self.sim.now(),
            slowdown_ideal: "store-and-forward",
            // Messages that waited for others until the end were never posted.
            flows: flows.iter().filter(|flow| flow.start.is_some()).collect(),
            numbers,
            ports: self.sim.port_counters(),
            rates: Vec::new(),
            sent_in_window: std::mem::take(&mut self.sent_in_window),
            classes,
            class_counters: self.sim.class_counters(),
            totals: self.sim.totals(),
            series: self.samples.values,
            histograms,
            watched: watched(&self.measure).cloned().collect(),
            watch: self.seen.values,
            traced,
            hops,
            host_waits,
            pauses,
            jobs,
            graphs,
            events: self.log,
            files,
        };
        if !self.cancelled {
            let stuck = self.sim.simulator().map(|sim| aftermath::stuck(&run, sim, &flows)).unwrap_or_default();
            let planned = self.measure.warm_up.saturating_add(self.measure.window);
            for detail in stuck.into_iter().chain(aftermath::too_late(&run, planned)) {
                run.events.push(Event::new(run.stopped, EventKind::Warning, "run", detail));
            }
        }
        let packet = self.sim.config().packet;
        let packet = u64::from(packet.payload) + u64::from(packet.header);
        if self.cancelled {
        } else if let Some(detail) = unmeasured::seen(&run) {
            // The same under every scheme, like the warnings of the spec.
            run.events.push(Event::new(run.stopped, EventKind::Warning, "spec", detail));
        } else if let Some(detail) = congested::idle_queues(&run, packet) {
            run.events.push(Event::new(run.stopped, EventKind::Warning, "run", detail));
        }
        let (threads, most) = self.sim.simulator().map_or((1, 1), |sim| (sim.threads(), sim.most_threads()));
        let idle = (threads < most).then_some("too few events per synchronisation window");
        let threads_reason = idle.map(str::to_string).or(self.threads_reason);
        Outcome { run, cancelled: self.cancelled, wall, threads, threads_reason, failure: self.failure }
    }

    /// The number of a requested message, if it was posted.
    fn posted(&self, wanted: &Watched, flows: &Flows) -> Option<u32> {
        let message = self.sim.simulator()?.followed(wanted.traffic, wanted.number)?;
        flows.get(message as usize).filter(|flow| flow.start.is_some()).map(|_| message)
    }

    /// The traced messages that were posted, in the order of their numbers, their hops, and their waits at their hosts.
    fn traces(&self, flows: &Flows) -> (Vec<Traced>, Vec<Hop>, Vec<HostWait>) {
        let wanted = self.measure.trace.iter().filter_map(|wanted| Some((self.posted(wanted, flows)?, wanted)));
        let wanted: BTreeMap<u32, &Watched> = wanted.collect();
        // The flow table omits messages that were never posted.
        let posted = (0..).zip(flows.iter()).filter(|(_, flow)| flow.start.is_some()).map(|(message, _)| message);
        let traced = (0..).zip(posted).filter_map(|(flow, message): (u32, u32)| {
            wanted.get(&message).map(|wanted| Traced { flow, name: wanted.place.clone() })
        });
        let place_of: BTreeMap<u32, u32> = wanted.keys().copied().zip(0..).collect();
        let sim = self.sim.simulator();
        let hops = sim.map_or(&[][..], ParallelSimulation::hops).iter();
        let hops = hops.filter_map(|hop| Some(Hop { message: *place_of.get(&hop.message)?, ..*hop }));
        let waits = sim.map_or(&[][..], ParallelSimulation::host_waits).iter();
        let waits = waits.filter_map(|wait| Some(HostWait { message: *place_of.get(&wait.message)?, ..*wait }));
        let mut waits: Vec<HostWait> = waits.collect();
        waits.sort_by_key(|wait| (wait.message, wait.begin));
        (traced.collect(), hops.collect(), waits)
    }

    fn tell_incidents(&mut self, graph: &Graph, flows: &Flows) {
        let names = port_names(graph);
        let incidents = self.sim.incidents();
        for incident in &incidents.kept {
            let (kind, detail) = match incident.what {
                What::Dropped(cause) => (EventKind::Drop, cause_text(cause).1.to_string()),
                What::Paused(class) => (EventKind::Pause, format!("class {class}")),
                What::Storm(class) => {
                    (EventKind::Storm, format!("class {class} was paused for too long: the watchdog acts"))
                }
                What::StormEnd(class) => {
                    (EventKind::StormEnd, format!("class {class} is no longer paused: the watchdog stops to act"))
                }
                What::CircularWait(class) => {
                    (EventKind::Warning, format!("deadlock: a cycle of paused queues in class {class}"))
                }
            };
            let place = names.get(incident.port.ix()).cloned().unwrap_or_default();
            let cause = match incident.what {
                What::Dropped(cause) => Some(cause_text(cause).0),
                _ => None,
            };
            self.log.push(Event { time: incident.time, kind, place, cause, detail });
        }
        faults::tell(&mut self.log, graph, self.sim.config(), self.sim.now());
        let kinds = [
            (EventKind::Drop, incidents.seen.drops),
            (EventKind::Pause, incidents.seen.pauses),
            (EventKind::Storm, incidents.seen.storms),
            (EventKind::StormEnd, incidents.seen.storm_ends),
            (EventKind::Warning, incidents.seen.circular_waits),
        ];
        for (kind, seen) in kinds {
            for _ in fanin_fabric::Incidents::KEPT..seen {
                self.log.leave_out(kind);
            }
        }
        let messages = watched(&self.measure).chain(&self.measure.trace).filter(|watched| watched.part == Part::Flow);
        let missing = messages.filter(|message| self.posted(message, flows).is_none());
        let missing: BTreeSet<String> = missing.map(|message| message.place.clone()).collect();
        let circle = self.sim.simulator().and_then(ParallelSimulation::circular_wait);
        let now = self.sim.now();
        let mut warn = |detail: String| {
            self.log.push(Event::new(now, EventKind::Warning, "run", detail));
        };
        if let Some(circle) = circle {
            let ports: Vec<&str> =
                circle.iter().filter_map(|(port, _)| names.get(port.ix()).map(String::as_str)).collect();
            warn(format!("deadlock at the end of the run, a cycle of paused queues: {}", ports.join(", ")));
        }
        if self.samples.left_out > 0 {
            warn(format!(
                "{} samples beyond the first {MOST_SAMPLES} were left out of the series; the histograms include them",
                self.samples.left_out
            ));
        }
        if self.seen.left_out > 0 {
            warn(format!(
                "{} values beyond the first {MOST_SAMPLES} were left out of the table watch",
                self.seen.left_out
            ));
        }
        let left_out = self.sim.simulator().map_or(0, ParallelSimulation::hops_left_out);
        if left_out > 0 {
            warn(format!("{left_out} hops beyond the first {} were left out", Hop::KEPT));
        }
        let left_out = self.sim.simulator().map_or(0, ParallelSimulation::host_waits_left_out);
        if left_out > 0 {
            let kept = HostWait::KEPT;
            warn(format!("{left_out} waits of traced messages at their hosts beyond the first {kept} were left out"));
        }
        for name in missing {
            warn(format!("measure names the message \"{name}\", but there was none"));
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

/// The cause of a drop, by its name in the summary and in words.
fn cause_text(cause: DropCause) -> (&'static str, &'static str) {
    match cause {
        DropCause::Buffer => ("buffer", "no buffer for a lossy class"),
        DropCause::Lossless => ("lossless", "no buffer for a lossless class"),
        DropCause::Error => ("error", "link error"),
        DropCause::LinkDown => ("link_down", "link down"),
        DropCause::NoRoute => ("no_route", "no route"),
        DropCause::Program => ("program", "dropped by the scheme's switch program"),
        DropCause::Blocked => ("blocked", "message blocked by a failure"),
        DropCause::WrongHost => ("wrong_host", "at a host that was not its destination"),
        DropCause::Shaper => ("credits", "beyond a queue of credits"),
        DropCause::Watchdog => ("watchdog", "by the storm watchdog"),
        DropCause::Receiver => ("receiver", "no room in the receive buffer of a slow host"),
    }
}

/// The entries that a series watches; none if it samples queues.
fn watched_of(series: &Series) -> &[Watched] {
    match &series.of {
        Sampled::Queues(_) => &[],
        Sampled::Watched(watched) => watched,
    }
}

/// All watched entries, series by series.
fn watched(measure: &Measure) -> impl Iterator<Item = &Watched> {
    measure.series.iter().flat_map(watched_of)
}

/// The current values of a watched entry. What is inside of hosts and switches only the simulator shows.
fn look_at(engine: &dyn Engine, watched: &Watched) -> Vec<(&'static str, f64)> {
    match (watched.part, engine.simulator()) {
        (Part::Port, _) => engine.watch_port(PortId(watched.number)).to_vec(),
        (Part::Traffic, _) => engine.watch_traffic(watched.traffic).to_vec(),
        (Part::Flow, Some(sim)) => {
            let message = sim.followed(watched.traffic, watched.number);
            let Some(message) = message.filter(|message| sim.message(*message).start.is_some()) else {
                return Vec::new();
            };
            let mut seen = sim.watch(message);
            // Until the window ends, so that the last arrivals are included.
            seen.push(("delivered_bytes", sim.delivered(message) as f64));
            seen
        }
        (Part::Receiver, Some(sim)) => sim.watch_host(watched.traffic, watched.number),
        (Part::Switch, Some(sim)) => sim.watch_switch(watched.traffic, watched.number),
        (_, None) => Vec::new(),
    }
}

/// Bytes on the wire that each port has sent.
fn sent(sim: &dyn Engine) -> Vec<u64> {
    sim.port_counters().iter().map(|port| port.bytes).collect()
}

fn histogram(sampler: &Sampler) -> Option<Histogram> {
    if matches!(sampler.series.of, Sampled::Watched(_)) {
        return None;
    }
    Some(sampler.counts.histogram(&sampler.series.place))
}

#[cfg(test)]
mod tests;
