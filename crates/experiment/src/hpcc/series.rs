//! Queues and flows of that simulator's network over time. Looking at it changes nothing of what happens there.

use crate::queue_counts::QueueCounts;
use fanin_ns3::Network;
use fanin_record::{Part, Run, Sample, Seen, Watched};
use fanin_units::{PortId, Time};

/// Most instants of a run, and most values that are kept of queues, and as many of flows.
const MOST_INSTANTS: u64 = 10_000_000;
const MOST_KEPT: usize = 4_000_000;
/// Most flows that are watched: the first of the file.
pub const MOST_FLOWS: usize = 1000;

/// What a run samples from its first flow on.
pub struct Sampler {
    every: u64,
    /// Time of the next sample, ns.
    due: u64,
    switches: Vec<u32>,
    samples: Vec<Sample>,
    seen: Vec<Seen>,
    left_out: u64,
    counts: QueueCounts,
}

impl Sampler {
    /// Samples every so many ns, from `first` on.
    pub fn new(network: &Network, every: u64, first: u64) -> Self {
        let wiring = network.wiring();
        let at_switch = |device: &u32| wiring.is_switch[wiring.devices[*device as usize].node as usize];
        let switches = (0..wiring.devices.len() as u32).filter(at_switch).collect();
        Self {
            every,
            due: first,
            switches,
            samples: Vec::new(),
            seen: Vec::new(),
            left_out: 0,
            counts: QueueCounts::default(),
        }
    }

    /// Time of the next sample.
    pub fn due(&self) -> u64 {
        self.due
    }

    /// Takes all samples up to `now`, before which nothing more happens.
    pub fn take(&mut self, network: &Network, now: u64) {
        while self.due <= now {
            let time = Time::from_ns(self.due);
            let before = self.samples.len() + self.seen.len();
            for &device in &self.switches {
                let queue_bytes = network.queued(device);
                self.counts.add(queue_bytes, 1);
                if queue_bytes > 0 && self.samples.len() < MOST_KEPT {
                    self.samples.push(Sample { time, port: PortId(device), queue_bytes });
                } else {
                    self.left_out += u64::from(queue_bytes > 0);
                }
            }
            let flows = (0..).zip(network.flows()).take(MOST_FLOWS);
            for (of, flow) in flows.filter(|(_, flow)| !flow.finished) {
                let values = [
                    ("window_bytes", flow.window() as f64),
                    ("rate_bps", flow.rate() as f64),
                    ("delivered_bytes", flow.delivered() as f64),
                ];
                if self.seen.len() < MOST_KEPT {
                    self.seen.extend(values.map(|(name, value)| Seen { time, of, name, value }));
                } else {
                    self.left_out += values.len() as u64;
                }
            }
            // While nothing is there, nothing comes before `now`.
            let idle = before == self.samples.len() + self.seen.len() && self.left_out == 0;
            let steps = if idle { (now - self.due) / self.every + 1 } else { 1 };
            self.counts.add(0, (steps - 1).saturating_mul(self.switches.len() as u64));
            self.due = self.due.saturating_add(steps.saturating_mul(self.every));
        }
    }

    /// Puts what was sampled into the run. Returns how many values were left out.
    pub fn finish(self, run: &mut Run) -> u64 {
        let watched = |(of, flow): (usize, &fanin_fabric::FlowRecord)| Watched {
            part: Part::Flow,
            place: crate::aftermath::message(run, of),
            traffic: flow.traffic,
            number: run.numbers[of],
        };
        let watched = run.flows.iter().enumerate().take(MOST_FLOWS).map(|(of, flow)| watched((of, &flow))).collect();
        (run.watched, run.series, run.watch) = (watched, self.samples, self.seen);
        run.histograms = vec![self.counts.histogram("switch-ports")];
        self.left_out
    }
}

/// Whether a run from `first` to `stop` may be sampled so often; all in ns.
///
/// # Errors
/// Says what is possible.
pub fn check(every: Time, first: u64, stop: u64) -> Result<u64, String> {
    let ns = every.as_ps() / 1000;
    let least = (stop.saturating_sub(first) / MOST_INSTANTS + 1).max(1);
    if ns < least || !every.as_ps().is_multiple_of(1000) {
        return Err(format!("--series {every}: it is a whole number of ns, here {} or more", Time::from_ns(least)));
    }
    Ok(ns)
}
