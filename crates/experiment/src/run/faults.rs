//! What fails in a run as events: links go down and come up, routes change, faults of hosts begin and end. All of it is
//! known from the network, so nothing is recorded while it runs.

use fanin_fabric::NetworkConfig;
use fanin_fabric::pauses::FaultKind;
use fanin_fabric::topology::Graph;
use fanin_record::{Event, EventKind, EventLog, port_names};
use fanin_units::Time;

/// Adds what failed until the run stopped, in order of time.
pub(super) fn tell(log: &mut EventLog, graph: &Graph, config: &NetworkConfig, stopped: Time) {
    let mut found = of_links(graph, config.detection);
    found.extend(of_hosts(graph, config));
    found.retain(|event| event.time <= stopped);
    found.sort_by_key(|event| event.time);
    found.into_iter().for_each(|event| log.push(event));
}

/// A link is used as soon as it comes up, and routes lead around it once its ends have detected that it is down, unless
/// it is up again by then.
fn of_links(graph: &Graph, detection: Time) -> Vec<Event> {
    let mut found = Vec::new();
    if graph.links.iter().all(|link| link.outages.is_empty()) {
        return found;
    }
    let names = port_names(graph);
    for (link, place) in graph.links.iter().zip(names.iter().step_by(2)) {
        for &(down, up) in &link.outages {
            found.push(Event::new(down, EventKind::LinkDown, place, "the link went down"));
            let known = down.saturating_add(detection);
            if known < up {
                found.push(Event::new(known, EventKind::Reroute, place, "routes lead around the link"));
            }
            found.push(Event::new(up, EventKind::LinkUp, place, "the link came up"));
            found.push(Event::new(up, EventKind::Reroute, place, "routes use the link again"));
        }
    }
    found
}

fn of_hosts(graph: &Graph, config: &NetworkConfig) -> Vec<Event> {
    let faults = config.pauses.faults.iter();
    let both = faults.flat_map(|fault| {
        let what = match fault.kind {
            FaultKind::SlowReceiver { .. } => "slow receiver",
            FaultKind::PauseStorm { .. } => "pause storm",
        };
        let host = graph.names.get(fault.host as usize).cloned().unwrap_or_default();
        [(fault.from, "begins"), (fault.to, "ends")]
            .map(|(at, does)| Event::new(at, EventKind::Fault, host.clone(), format!("{what} {does}")))
    });
    both.collect()
}
