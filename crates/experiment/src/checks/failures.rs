//! Failures that are planned for a time when the run is over.

use super::exact::Exact;
use crate::CheckedSpec;
use fanin_fabric::topology::{Graph, Link};
use fanin_formats::Warning;
use fanin_units::Time;

/// Most failures that are named; others are counted.
const NAMED: usize = 3;

/// The failures of links and faults of hosts that begin only when the measured window is over.
pub fn after_the_end(checked: &CheckedSpec) -> Vec<String> {
    let (network, measure) = (checked.network(), checked.measure());
    let end = measure.warm_up.saturating_add(measure.window);
    let mut late = Late::default();
    for link in &network.graph.links {
        for (from, _) in link.outages.iter().filter(|(from, _)| *from >= end) {
            late.add_link(*from, &network.graph, link);
        }
    }
    for fault in network.pauses.faults.iter().filter(|fault| fault.from >= end) {
        late.add(fault.from, || format!("host \"{}\"", network.graph.names[fault.host as usize]));
    }
    let drains = if measure.drain { ", but for messages that drain until later" } else { "" };
    late.said(&format!("the measured window ends at {end}{drains}")).into_iter().collect()
}

/// Whether the link of LINK_DOWN fails only when the simulation has stopped.
pub fn after_its_stop(exact: &Exact<'_>) -> Vec<Warning> {
    let Some((after, a, b)) = exact.config.link_down else { return Vec::new() };
    // As that simulator counts it: from 2 s, in us.
    let at = 2_000_000_000 + after.saturating_mul(1000);
    if at < fanin_ns3::time::seconds(exact.config.stop) {
        return Vec::new();
    }
    let (fails, stop) = (at as f64 / 1e9, exact.config.stop);
    vec![exact.warning(format!(
        "LINK_DOWN {after} {a} {b} has no effect: it is {after} us after 2 s, at {fails} s, and SIMULATOR_STOP_TIME is \
         {stop} s"
    ))]
}

/// Failures that come too late, of which some are named.
#[derive(Default)]
pub struct Late {
    named: Vec<String>,
    count: usize,
}

impl Late {
    pub fn add(&mut self, at: Time, whose: impl Fn() -> String) {
        self.count += 1;
        if self.named.len() < NAMED {
            self.named.push(format!("{} at {at}", whose()));
        }
    }

    pub fn add_link(&mut self, at: Time, graph: &Graph, link: &Link) {
        let [a, b] = [link.a, link.b].map(|node| &graph.names[node.ix()]);
        self.add(at, || format!("the link between \"{a}\" and \"{b}\""));
    }

    /// The warning, with the reason.
    pub fn said(&self, since: &str) -> Option<String> {
        let others = match self.count.saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let what = if self.count == 1 { "a failure has" } else { "failures have" };
        (self.count > 0).then(|| format!("{what} no effect, since {since}: {}{others}", self.named.join(", ")))
    }
}
