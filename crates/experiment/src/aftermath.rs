//! Warnings at the end of a run, about messages that will never finish and failures that came too late.

use crate::checks::Late;
use fanin_fabric::{Flows, ParallelSimulation};
use fanin_record::Run;
use fanin_units::{Bytes, Time};

/// Most messages that are named; others are counted.
const NAMED: usize = 3;
/// How long a sender must have been silent to be called stuck: a host may take some time for an answer.
const SILENT: Time = Time::from_us(100);

/// The name of a message, as in `measure.trace`.
pub fn message(run: &Run, at: usize) -> String {
    let traffic = run.flows.get(at).map_or(0, |record| usize::from(record.traffic));
    format!("{}:{}", run.traffics[traffic].name, run.numbers[at])
}

/// The same with its ends and its size.
pub fn name(run: &Run, at: usize) -> String {
    let Some(record) = run.flows.get(at) else { return String::new() };
    let [src, dst] = [record.src, record.dst].map(|host| &run.graph.names[host as usize]);
    format!("{} ({src} to {dst}, {})", message(run, at), Bytes(record.bytes))
}

/// The warnings about messages that will never finish, from what is said about each.
pub fn never(stuck: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    let more = stuck.len().saturating_sub(NAMED);
    let mut said: Vec<String> = stuck.take(NAMED).map(|what| format!("{what}: it will never finish")).collect();
    if more > 0 {
        said.push(format!("{more} more messages will never finish for the same reason"));
    }
    said
}

/// The messages of a run in the simulator that will never finish.
pub fn stuck(run: &Run, sim: &ParallelSimulation, flows: &Flows) -> Vec<String> {
    let stuck = sim.stuck(SILENT);
    if stuck.is_empty() {
        return Vec::new();
    }
    // The run has the messages that were posted.
    let posted = (0u32..).zip(flows.iter()).filter(|(_, flow)| flow.start.is_some()).map(|(number, _)| number);
    let posted: Vec<u32> = posted.collect();
    let what = |stuck: &fanin_fabric::Stuck| {
        let at = posted.binary_search(&stuck.message).unwrap_or(posted.len());
        let rest = if stuck.all_sent { "its sender has sent everything" } else { "its sender has used up its window" };
        format!(
            "{}: {rest} and knows of {} that have arrived; its last packet left at about {}, nothing of it is on its \
             way, and rdma.timeout is \"off\"",
            name(run, at),
            Bytes(stuck.acked),
            stuck.since
        )
    };
    never(stuck.iter().map(what))
}

/// The failures that were planned within the measured window, which then ended early.
pub fn too_late(run: &Run, planned_end: Time) -> Option<String> {
    let mut late = Late::default();
    for link in &run.graph.links {
        let times = link.outages.iter().map(|(from, _)| *from);
        for from in times.filter(|from| *from >= run.stopped && *from < planned_end) {
            late.add_link(from, &run.graph, link);
        }
    }
    late.said(&format!("the run has ended at {}", run.stopped))
}
