//! Traces for other tools, written while a run is in progress: packets on links as a capture, and messages, queues and
//! pauses as a timeline. Both have a maximum size, and count what exceeds it.

mod frame;
mod timeline;

use crate::built::{Capture as CaptureOf, Measure, Timeline as TimelineOf};
use fanin_fabric::tap::{Captured, Seen, Wanted};
use fanin_fabric::topology::Graph;
use fanin_fabric::{GraphRecords, Placed, Simulation};
use fanin_formats::pcapng;
use fanin_record::{Spool, SpoolWriter, port_names};
use fanin_transport::frame::Dscps;
use fanin_units::{NodeId, Time};
use frame::Frames;
use std::io;
use timeline::Timeline;

/// The file of a capture in a run's folder.
const CAPTURE: &str = "capture.pcapng";
/// The file of a timeline.
const TIMELINE: &str = "trace.perfetto-trace";

/// The traces of a run for other tools.
#[derive(Default)]
pub struct Traces {
    capture: Option<Capture>,
    timeline: Option<Timeline<SpoolWriter>>,
    /// The observations requested from the network.
    wanted: Wanted,
    seen: Vec<Seen>,
    /// Warnings for the results.
    warnings: Vec<String>,
}

impl Traces {
    /// Opens the files that a spec asks for and taps the network for them.
    pub fn new(measure: &Measure, sim: &mut Simulation) -> Self {
        Self::open(measure, sim, Spool::create)
    }

    /// The same with other files.
    fn open(measure: &Measure, sim: &mut Simulation, create: fn(&'static str) -> io::Result<SpoolWriter>) -> Self {
        let mut traces = Self::default();
        if let Some(of) = &measure.capture {
            match create(CAPTURE).and_then(|file| Capture::new(file, (of, measure.dscps), sim)) {
                Ok(capture) => {
                    traces.capture = Some(capture);
                    traces.wanted.links = of.links.clone();
                }
                Err(error) => traces.warn(CAPTURE, &error),
            }
        }
        if let Some(TimelineOf { queues, max_size: most }) = &measure.timeline {
            match create(TIMELINE) {
                Ok(file) => {
                    traces.timeline = Some(Timeline::new(file, *most, sim));
                    traces.wanted.queues = queues.clone();
                    (traces.wanted.pauses, traces.wanted.messages) = (true, true);
                }
                Err(error) => traces.warn(TIMELINE, &error),
            }
        }
        if !traces.wanted.is_empty() {
            sim.tap(&traces.wanted);
        }
        traces
    }

    /// Whether anything is written.
    pub fn any(&self) -> bool {
        self.capture.is_some() || self.timeline.is_some()
    }

    /// Writes the observations since the last call.
    pub fn take(&mut self, sim: &mut Simulation) {
        sim.take_seen(&mut self.seen);
        let seen = std::mem::take(&mut self.seen);
        for what in &seen {
            if let Err((file, error)) = self.write(what, sim) {
                self.fail(file, &error, sim);
            }
        }
        self.seen = seen;
    }

    fn write(&mut self, what: &Seen, sim: &Simulation) -> Result<(), (&'static str, io::Error)> {
        match (what, &mut self.capture, &mut self.timeline) {
            (Seen::Packet(packet), Some(capture), _) => capture.add(packet).map_err(|error| (CAPTURE, error)),
            (Seen::Packet(_), None, _) => Ok(()),
            (_, _, Some(timeline)) => timeline.add(what, sim).map_err(|error| (TIMELINE, error)),
            _ => Ok(()),
        }
    }

    /// A file can no longer be written: the run continues without it, and the partial file is removed so that nobody
    /// takes it for a complete one. The network stops recording observations that are no longer used.
    fn fail(&mut self, file: &'static str, error: &io::Error, sim: &mut Simulation) {
        self.warn(file, error);
        match file {
            CAPTURE => {
                self.capture = None;
                self.wanted.links = Vec::new();
            }
            _ => {
                self.timeline = None;
                self.wanted = Wanted { links: std::mem::take(&mut self.wanted.links), ..Wanted::default() };
            }
        }
        sim.tap(&self.wanted);
    }

    fn warn(&mut self, file: &'static str, error: &io::Error) {
        self.warnings.push(format!("{file} is missing: {error}"));
    }

    /// Writes what the ranks of jobs did.
    pub fn ranks(&mut self, jobs: &[Placed], graphs: &GraphRecords) {
        if let Some(Err(error)) = self.timeline.as_mut().map(|timeline| timeline.ranks(jobs, graphs)) {
            self.warn(TIMELINE, &error);
            self.timeline = None;
        }
    }

    /// Ends the files and returns them, with warnings for the results.
    pub fn finish(mut self, now: Time) -> (Vec<Spool>, Vec<String>) {
        let mut files = Vec::new();
        if let Some(capture) = self.capture.take() {
            let (left_out, most) = (capture.writer.left_out(), capture.most);
            match capture.writer.finish(now).and_then(SpoolWriter::finish) {
                Ok(spool) => files.push(spool),
                Err(error) => self.warn(CAPTURE, &error),
            }
            if left_out > 0 {
                self.warnings.push(format!("{left_out} packets beyond the {most} B of {CAPTURE} were left out"));
            }
        }
        if let Some(timeline) = self.timeline.take() {
            let (left_out, most) = (timeline.left_out(), timeline.most());
            match timeline.finish(now).and_then(SpoolWriter::finish) {
                Ok(spool) => files.push(spool),
                Err(error) => self.warn(TIMELINE, &error),
            }
            if left_out > 0 {
                self.warnings.push(format!("{left_out} events beyond the {most} B of {TIMELINE} were left out"));
            }
        }
        (files, self.warnings)
    }
}

/// A capture that is being written.
struct Capture {
    writer: pcapng::Writer<SpoolWriter>,
    frames: Frames,
    /// By port: its interface, the sending and the receiving node.
    interfaces: Vec<(u32, NodeId, NodeId)>,
    most: u64,
}

impl Capture {
    fn new(file: SpoolWriter, (of, dscps): (&CaptureOf, Dscps), sim: &Simulation) -> io::Result<Self> {
        let graph: &Graph = &sim.config().graph;
        let names = port_names(graph);
        let mut writer = pcapng::Writer::new(file, of.max_size)?;
        let mut interfaces: Vec<_> = sim.ports().map(|(_, from, to)| (u32::MAX, from, to)).collect();
        for port in &of.links {
            let rate = graph.links[port.ix() / 2].rate;
            interfaces[port.ix()].0 = writer.interface(&names[port.ix()], rate, of.snaplen)?;
        }
        Ok(Self { writer, frames: Frames::new(sim, of.snaplen as usize, dscps), interfaces, most: of.max_size })
    }

    fn add(&mut self, packet: &Captured) -> io::Result<()> {
        let (interface, from, to) = self.interfaces[packet.port.ix()];
        // Once the file is full, only counters continue.
        if self.writer.full_at().is_some() {
            return self.writer.packet(interface, packet.time, &[], 0).map(|_| ());
        }
        let (bytes, original) = self.frames.make(packet, from, to);
        self.writer.packet(interface, packet.time, bytes, original).map(|_| ())
    }
}

#[cfg(test)]
mod tests;
