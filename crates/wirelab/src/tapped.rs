//! Captures: the process with the switches writes what hosts send to it, and what its switches send.

use fanin_experiment::LinkCapture;
use fanin_experiment::built::Capture;
use fanin_fabric::tap::Seen;
use fanin_fabric::topology::Graph;
use fanin_transport::frame::without_extension;
use fanin_units::{PortId, Time};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// A frame, and the bytes that it counts on its link.
type Counted = (Vec<u8>, u16);

/// A capture that is being written.
pub(crate) struct Tapped {
    file: LinkCapture<Box<dyn Write + Send>>,
    /// Frames of which an earlier one may still come: by the time at which they began to leave and their port.
    held: BTreeMap<(Time, PortId), Vec<Counted>>,
    /// A frame of a host has arrived at the latest so long after it began to leave.
    latest: Time,
    /// What could not be written; nothing more is then.
    failed: Option<io::Error>,
    /// Memory for what the switches have sent.
    pub seen: Vec<Seen>,
}

impl Tapped {
    /// Begins it.
    pub fn new(out: Box<dyn Write + Send>, of: &Capture, graph: &Graph) -> io::Result<Self> {
        let to_hosts = graph.links.iter().filter(|link| graph.is_host(link.a) || graph.is_host(link.b));
        let crosses = to_hosts.map(|link| link.delay + link.rate.tx_time(u16::MAX.into()));
        Ok(Self {
            file: LinkCapture::new(out, of, graph)?,
            held: BTreeMap::new(),
            latest: crosses.max().unwrap_or(Time::ZERO),
            failed: None,
            seen: Vec::new(),
        })
    }

    /// Adds what a port began to send at a time: the extension and the frame, which counts so many bytes.
    pub fn add(&mut self, port: PortId, time: Time, bytes: &[u8], counts: u16) {
        if self.failed.is_none() && self.file.wants(port) {
            self.held.entry((time, port)).or_default().push((without_extension(bytes).to_vec(), counts));
        }
    }

    /// Writes all that no earlier frame can precede, when everything before `now` has happened.
    pub fn write(&mut self, now: Time) {
        while let Some(first) = self.held.first_entry()
            && first.key().0.saturating_add(self.latest) <= now
        {
            let ((time, port), frames) = first.remove_entry();
            for (frame, counts) in frames {
                if let Err(error) = self.file.add(port, time, &frame, counts) {
                    self.held.clear();
                    self.failed = Some(error);
                    return;
                }
            }
        }
    }

    /// Ends it. Returns a warning if packets were left out.
    ///
    /// # Errors
    /// If some of it could not be written.
    pub fn finish(mut self, now: Time) -> io::Result<Option<String>> {
        self.write(Time::NEVER);
        match self.failed {
            Some(error) => Err(error),
            None => self.file.finish(now).map(|(_, left_out)| left_out),
        }
    }
}
