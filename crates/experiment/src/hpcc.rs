//! Configurations of the ns-3 HPCC simulator: read, run on its own network model, and returned like any other run, with
//! the files that its users' scripts read.

pub(crate) mod convert;
#[cfg(test)]
mod fork_tests;
pub mod generate;
mod input;
pub mod ordinary;
mod results;
mod series;
mod setup;
#[cfg(test)]
mod tests;

pub use self::input::{Files, Reading};
pub use self::setup::{Setup, traffic_name};
pub use fanin_formats::hpcc::Dialect;

use self::results::{Pauses, hand_over, hops_of, placed, traced_as, waited};
use self::series::Sampler;
use crate::run::{Outcome, Progress};
use fanin_formats::hpcc::Config;
use fanin_ns3::waits::Follower;
use fanin_ns3::{Network, files};
use fanin_record::{Event, EventKind, Spool, SpoolWriter};
use fanin_units::Time;
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// Simulated time between two checks of the clock, ns.
const SLICE: u64 = 20_000;
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Largest size of a trace in bytes: records beyond are counted and left out.
pub const TRACE_LIMIT: u64 = 1 << 30;

/// The files that its users' scripts read.
struct Outputs {
    fct: SpoolWriter,
    pfc: SpoolWriter,
    qlen: SpoolWriter,
    trace: Option<SpoolWriter>,
    left: u64,
    left_out: u64,
    pauses: Pauses,
}

impl Outputs {
    fn new(network: &Network, trace: bool, limit: u64) -> io::Result<Self> {
        let mut outputs = Self {
            fct: Spool::create("fct.txt")?,
            pfc: Spool::create("pfc.txt")?,
            qlen: Spool::create("qlen.txt")?,
            trace: if trace { Some(Spool::create("trace.tr")?) } else { None },
            left: limit,
            left_out: 0,
            pauses: Pauses::default(),
        };
        if let Some(trace) = &mut outputs.trace {
            let header = network.trace_header().to_bytes();
            outputs.left = outputs.left.saturating_sub(header.len() as u64);
            trace.write_all(&header)?;
        }
        Ok(outputs)
    }

    /// Writes the records since the last call, except those that the run itself keeps.
    fn take(&mut self, network: &mut Network, payload: u32) -> io::Result<()> {
        let happened = core::mem::take(&mut network.happened);
        for finished in &happened.finished {
            writeln!(self.fct, "{}", files::fct(finished, payload))?;
        }
        for pause in &happened.pauses {
            writeln!(self.pfc, "{}", files::pfc(pause))?;
            self.pauses.add(pause);
        }
        for dump in network.dumps(happened.lengths) {
            write!(self.qlen, "{dump}")?;
        }
        if let Some(trace) = &mut self.trace {
            for record in &happened.records {
                let bytes = network.trace_record(record).to_bytes();
                if self.left >= bytes.len() as u64 {
                    self.left -= bytes.len() as u64;
                    trace.write_all(&bytes)?;
                } else {
                    self.left_out += 1;
                }
            }
        }
        network.happened.drops = happened.drops;
        Ok(())
    }

    fn close(self) -> io::Result<Vec<Spool>> {
        let mut spools = vec![self.fct.finish()?, self.pfc.finish()?, self.qlen.finish()?];
        if let Some(trace) = self.trace {
            spools.push(trace.finish()?);
        }
        Ok(spools)
    }
}

/// Runs a configuration to its end, or until `progress` returns false. `trace` enables its binary trace of the nodes in
/// its TRACE_FILE.
///
/// # Errors
/// If a file cannot be written.
pub fn run(setup: &Setup, trace: bool, progress: &mut dyn FnMut(&Progress) -> bool) -> io::Result<Outcome> {
    run_within(setup, trace, None, TRACE_LIMIT, progress)
}

/// The same, with the packets of a flow at every node, as [`Run::hops`]. `flow` is its number among the messages.
///
/// # Errors
/// If a file cannot be written.
pub fn follow(setup: &Setup, flow: u32, progress: &mut dyn FnMut(&Progress) -> bool) -> io::Result<Outcome> {
    run_within(setup, false, Some(flow), TRACE_LIMIT, progress)
}

/// The same with another limit for the trace, in bytes.
fn run_within(
    setup: &Setup,
    trace: bool,
    followed: Option<u32>,
    limit: u64,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> io::Result<Outcome> {
    let begin = Instant::now();
    let Setup { config, topology, flows, settings, .. } = setup;
    let all: Vec<u32>;
    let traced: &[u32] = match followed {
        Some(_) => {
            all = (0..topology.is_switch.len() as u32).collect();
            &all
        }
        None if trace => &setup.traced,
        None => &[],
    };
    let enable_trace = config.enable_trace || followed.is_some();
    let config = &Config { enable_trace, ..config.clone() };
    let mut network = Network::new(config.clone(), topology, flows.clone(), traced, settings);
    if setup.acks_first {
        network.let_acks_pass();
    }
    let mut outputs = Outputs::new(&network, trace, limit)?;
    let mut hops = Vec::new();
    let mut follower = followed.map(Follower::new);
    let mut run_until = |network: &mut Network, until: u64| match &mut follower {
        None => network.run_until(until),
        Some(follower) => network.run_followed(until, follower),
    };
    let first = flows.first().map_or(0, |flow| fanin_ns3::time::seconds(flow.start));
    let last = flows.last().map_or(0, |flow| fanin_ns3::time::seconds(flow.start)).min(network.stop());
    let mut sampler = setup.series().map(|every| Sampler::new(&network, every, first));
    let (mut looked, mut cancelled) = (Instant::now(), false);
    while !network.is_over() && !cancelled {
        let from = network.next_at().unwrap_or(0).max(network.now());
        let mut until = from.saturating_add(SLICE);
        if let Some(sampler) = &mut sampler {
            // A sample is taken before all events of its instant.
            sampler.take(&network, from);
            until = until.min(sampler.due());
        }
        run_until(&mut network, until);
        hops.extend(followed.into_iter().flat_map(|flow| hops_of(&network, flow)));
        outputs.take(&mut network, config.payload)?;
        if looked.elapsed() >= LOOK_EVERY {
            looked = Instant::now();
            let (started, finished) = network.opened();
            // Flows end some time after the last one starts; the end is not known in advance.
            let end = last.max(network.now()) + (last - first) / 20;
            cancelled = !progress(&Progress {
                simulated: Time::from_ns(network.now().saturating_sub(first)),
                end: Time::from_ns(end.min(network.stop()).saturating_sub(first)),
                packet_hops: network.packet_hops(),
                wall: begin.elapsed(),
                started: started as u64,
                finished: finished as u64,
            });
        }
    }
    if !cancelled {
        run_until(&mut network, u64::MAX);
    }
    hops.extend(followed.into_iter().flat_map(|flow| hops_of(&network, flow)));
    outputs.take(&mut network, config.payload)?;
    let (left_out, pauses) = (outputs.left_out, core::mem::take(&mut outputs.pauses));
    let spools = outputs.close()?;
    let mut run = hand_over(setup, &network, &pauses, (left_out, limit), spools);
    let left_out = sampler.map_or(0, |sampler| sampler.finish(&mut run));
    if left_out > 0 {
        let detail = format!("{left_out} values beyond the first ones were left out of the series");
        run.events.push(Event::new(run.stopped, EventKind::Warning, "run", detail));
    }
    if let Some(flow) = followed {
        (run.traced, run.hops) = (vec![traced_as(&run, flow)], placed(&run, hops));
        run.host_waits = follower.iter().flat_map(|follower| &follower.waits).map(waited).collect();
    }
    Ok(Outcome {
        run,
        cancelled,
        wall: begin.elapsed(),
        threads: 1,
        threads_reason: Some("that simulator's network model runs on one thread".into()),
        failure: None,
    })
}
