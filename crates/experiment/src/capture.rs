//! Traces for other tools, written while a run goes on: packets on links as a capture, and messages, queues and pauses as
//! a timeline. Both have a bound, and say what they left out.

mod frame;
mod timeline;

use crate::built::{Capture as CaptureOf, Measure, Timeline as TimelineOf};
use fanin_fabric::Simulation;
use fanin_fabric::tap::{Captured, Seen, Wanted};
use fanin_fabric::topology::Graph;
use fanin_formats::pcapng;
use fanin_record::{Spool, port_names};
use fanin_units::{NodeId, Time};
use frame::Frames;
use std::fs::File;
use std::io::{self, BufWriter};
use timeline::Timeline;

/// The file of a capture in a run's folder.
const CAPTURE: &str = "capture.pcapng";
/// The file of a timeline.
const TIMELINE: &str = "trace.perfetto-trace";

/// What a run writes for other tools.
#[derive(Default)]
pub struct Traces {
    capture: Option<(Spool, Capture)>,
    timeline: Option<(Spool, Timeline<BufWriter<File>>)>,
    seen: Vec<Seen>,
    /// What a reader of the results should know.
    warnings: Vec<String>,
}

impl Traces {
    /// Opens the files that a spec asks for and taps the network for them.
    pub fn new(measure: &Measure, sim: &mut Simulation) -> Self {
        let mut traces = Self::default();
        let mut wanted = Wanted::default();
        if let Some(of) = &measure.capture {
            wanted.links = of.links.clone();
            match Spool::create(CAPTURE).and_then(|(spool, file)| Ok((spool, Capture::new(file, of, sim)?))) {
                Ok(open) => traces.capture = Some(open),
                Err(error) => traces.fail(CAPTURE, &error),
            }
        }
        if let Some(of) = &measure.timeline {
            let TimelineOf { queues, file: most } = of;
            wanted.queues = queues.clone();
            (wanted.pauses, wanted.messages) = (true, true);
            match Spool::create(TIMELINE) {
                Ok((spool, file)) => {
                    traces.timeline = Some((spool, Timeline::new(BufWriter::new(file), *most, sim)));
                }
                Err(error) => traces.fail(TIMELINE, &error),
            }
        }
        if !wanted.is_empty() {
            sim.tap(&wanted);
        }
        traces
    }

    /// Whether anything is written.
    pub fn any(&self) -> bool {
        self.capture.is_some() || self.timeline.is_some()
    }

    /// Writes what was seen since the last call.
    pub fn take(&mut self, sim: &mut Simulation) {
        sim.take_seen(&mut self.seen);
        let seen = std::mem::take(&mut self.seen);
        for what in &seen {
            if let Err((file, error)) = self.write(what, sim) {
                self.fail(file, &error);
            }
        }
        self.seen = seen;
    }

    fn write(&mut self, what: &Seen, sim: &Simulation) -> Result<(), (&'static str, io::Error)> {
        match (what, &mut self.capture, &mut self.timeline) {
            (Seen::Packet(packet), Some((_, capture)), _) => capture.add(packet).map_err(|error| (CAPTURE, error)),
            (Seen::Packet(_), None, _) => Ok(()),
            (_, _, Some((_, timeline))) => timeline.add(what, sim).map_err(|error| (TIMELINE, error)),
            _ => Ok(()),
        }
    }

    /// A file cannot be written: the run goes on without.
    fn fail(&mut self, file: &'static str, error: &io::Error) {
        self.warnings.push(format!("{file} is missing: it could not be written ({error})"));
        match file {
            CAPTURE => self.capture = None,
            _ => self.timeline = None,
        }
    }

    /// Ends the files and gives them, with what a reader of the results should know.
    pub fn finish(mut self, now: Time) -> (Vec<Spool>, Vec<String>) {
        let mut files = Vec::new();
        if let Some((spool, capture)) = self.capture.take() {
            let (left_out, most) = (capture.writer.left_out(), capture.most);
            match capture.writer.finish(now) {
                Ok(_) => files.push(spool),
                Err(error) => self.fail(CAPTURE, &error),
            }
            if left_out > 0 {
                self.warnings.push(format!("{left_out} packets beyond the {most} B of {CAPTURE} were left out"));
            }
        }
        if let Some((spool, timeline)) = self.timeline.take() {
            let (left_out, most) = (timeline.left_out(), timeline.most());
            match timeline.finish(now) {
                Ok(_) => files.push(spool),
                Err(error) => self.fail(TIMELINE, &error),
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
    writer: pcapng::Writer<BufWriter<File>>,
    frames: Frames,
    /// By port: its interface, who sends and who receives.
    interfaces: Vec<(u32, NodeId, NodeId)>,
    most: u64,
}

impl Capture {
    fn new(file: File, of: &CaptureOf, sim: &Simulation) -> io::Result<Self> {
        let graph: &Graph = &sim.config().graph;
        let names = port_names(graph);
        let mut writer = pcapng::Writer::new(BufWriter::new(file), of.file)?;
        let mut interfaces: Vec<_> = sim.ports().map(|(_, from, to)| (u32::MAX, from, to)).collect();
        for port in &of.links {
            let rate = graph.links[port.ix() / 2].rate;
            interfaces[port.ix()].0 = writer.interface(&names[port.ix()], rate, of.snap)?;
        }
        Ok(Self { writer, frames: Frames::new(sim, of.snap as usize), interfaces, most: of.file })
    }

    fn add(&mut self, packet: &Captured) -> io::Result<()> {
        let (interface, from, to) = self.interfaces[packet.port.ix()];
        // Once full, only counts go on.
        if self.writer.full_at().is_some() {
            return self.writer.packet(interface, packet.time, &[], 0).map(|_| ());
        }
        let (bytes, original) = self.frames.make(packet, from, to);
        self.writer.packet(interface, packet.time, bytes, original).map(|_| ())
    }
}
