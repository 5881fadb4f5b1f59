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
use fanin_units::{NodeId, PortId, Time};
use frame::{Frames, pad};
use std::io::{self, Write};
use timeline::Timeline;

/// The file of a capture in a run's folder.
pub const CAPTURE: &str = "capture.pcapng";
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
            match capture.file.finish(now).and_then(|(file, left_out)| Ok((file.finish()?, left_out))) {
                Ok((spool, left_out)) => {
                    files.push(spool);
                    self.warnings.extend(left_out);
                }
                Err(error) => self.warn(CAPTURE, &error),
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

/// A capture that is being written: frames, by the port that sends them.
pub struct LinkCapture<W> {
    writer: pcapng::Writer<W>,
    /// The interface of each port that is captured.
    interfaces: Vec<Option<u32>>,
    snaplen: usize,
    bytes: Vec<u8>,
}

impl<W: Write> LinkCapture<W> {
    /// Begins it, with an interface for each of its links.
    ///
    /// # Errors
    /// If writing fails.
    pub fn new(out: W, of: &CaptureOf, graph: &Graph) -> io::Result<Self> {
        let names = port_names(graph);
        let mut writer = pcapng::Writer::new(out, of.max_size)?;
        let mut interfaces = vec![None; names.len()];
        for port in &of.links {
            let rate = graph.links[port.ix() / 2].rate;
            interfaces[port.ix()] = Some(writer.interface(&names[port.ix()], rate, of.snaplen)?);
        }
        Ok(Self { writer, interfaces, snaplen: of.snaplen as usize, bytes: Vec::new() })
    }

    /// Whether what a port sends is captured.
    pub fn wants(&self, port: PortId) -> bool {
        self.interfaces.get(port.ix()).copied().flatten().is_some()
    }

    /// Whether the file has its largest size: only counters continue.
    fn is_full(&self) -> bool {
        self.writer.full_at().is_some()
    }

    /// Adds a packet of so many bytes on the wire, of which `bytes` are kept.
    fn put(&mut self, port: PortId, time: Time, bytes: &[u8], original: u32) -> io::Result<()> {
        let Some(interface) = self.interfaces[port.ix()] else { return Ok(()) };
        self.writer.packet(interface, time, bytes, original).map(|_| ())
    }

    /// Adds a whole frame that a port began to send at a time, and that counts so many bytes on its link: bytes beyond
    /// its own are padding, as in the captures of the simulator.
    ///
    /// # Errors
    /// If writing fails.
    pub fn add(&mut self, port: PortId, time: Time, frame: &[u8], counts: u16) -> io::Result<()> {
        if self.is_full() {
            return self.put(port, time, &[], 0);
        }
        let mut bytes = core::mem::take(&mut self.bytes);
        bytes.clear();
        bytes.extend(frame);
        bytes.resize(frame.len().max(usize::from(counts)), 0);
        let kept = bytes.len().min(self.snaplen);
        pad(&mut bytes, frame.len(), kept);
        let added = self.put(port, time, &bytes[..kept], bytes.len() as u32);
        self.bytes = bytes;
        added
    }

    /// Ends it. Returns what it was written to, and a warning if packets were left out.
    ///
    /// # Errors
    /// If writing fails.
    pub fn finish(self, now: Time) -> io::Result<(W, Option<String>)> {
        let (left_out, most) = (self.writer.left_out(), self.writer.most());
        let warning = format!("{left_out} packets beyond the {most} B of {CAPTURE} were left out");
        Ok((self.writer.finish(now)?, (left_out > 0).then_some(warning)))
    }
}

/// The capture of a simulation.
struct Capture {
    file: LinkCapture<SpoolWriter>,
    frames: Frames,
    /// By port: the sending and the receiving node.
    ends: Vec<(NodeId, NodeId)>,
}

impl Capture {
    fn new(file: SpoolWriter, (of, dscps): (&CaptureOf, Dscps), sim: &Simulation) -> io::Result<Self> {
        let file = LinkCapture::new(file, of, &sim.config().graph)?;
        let ends = sim.ports().map(|(_, from, to)| (from, to)).collect();
        Ok(Self { file, frames: Frames::new(sim, of.snaplen as usize, dscps), ends })
    }

    fn add(&mut self, packet: &Captured) -> io::Result<()> {
        let (from, to) = self.ends[packet.port.ix()];
        if self.file.is_full() {
            return self.file.put(packet.port, packet.time, &[], 0);
        }
        let (bytes, original) = self.frames.make(packet, from, to);
        self.file.put(packet.port, packet.time, bytes, original)
    }
}

#[cfg(test)]
mod tests;
