//! Topology and flow files of the ns-3 HPCC simulator as parts of a spec.

use crate::spec::document::{self, GraphLink, LinkChange};
use crate::{Problem, Problems};
use fanin_formats::hpcc::{Flow, Link, Topology, nanoseconds, read_flows};
use fanin_formats::{Error, Errors};
use fanin_units::{Rate, Time};
use fanin_workload::{FlowList, ListedFlow, NO_GROUP};
use std::collections::HashMap;

/// The network of a topology file, with the losses of its links, and warnings.
pub fn topology(text: &str, file: &str) -> Result<(document::Topology, Vec<LinkChange>, Vec<String>), Problems> {
    let (topology, warnings) = Topology::read(file, text.as_bytes())?;
    let losses = losses(&topology, file, |id| name(&topology, id))?;
    Ok((graph(&topology), losses, warnings.iter().map(ToString::to_string).collect()))
}

/// The changes that make links lose packets as a file says, for nodes of these names.
pub fn losses(topology: &Topology, file: &str, name: impl Fn(u32) -> String) -> Result<Vec<LinkChange>, Problems> {
    let mut losses: Vec<LinkChange> = Vec::new();
    let mut at: HashMap<(u32, u32), usize> = HashMap::new();
    for link in topology.links.iter().filter(|link| link.error_rate > 0.0) {
        if link.error_rate >= 1.0 {
            let what = format!("the link between {} and {} loses every packet; leave it out", link.a, link.b);
            return Err(Problem::from(Error { file: file.into(), line: 0, what }).into());
        }
        let change = LinkChange::lossy([name(link.a), name(link.b)], link.error_rate);
        match at.insert(pair(link), losses.len()) {
            // A change is of all links between two nodes: the last of the file counts, as in that simulator.
            Some(before) => {
                losses[before] = change;
                at.insert(pair(link), before);
            }
            None => losses.push(change),
        }
    }
    Ok(losses)
}

/// A topology as one of a spec.
pub fn graph(topology: &Topology) -> document::Topology {
    named_graph(topology, |id| name(topology, id))
}

/// The same for nodes of these names.
pub fn named_graph(topology: &Topology, name: impl Fn(u32) -> String) -> document::Topology {
    let names = |switches: bool| {
        let of_kind = (0..).zip(&topology.is_switch).filter(move |(_, is_switch)| **is_switch == switches);
        of_kind.map(|(id, _)| name(id)).collect()
    };
    let link = |link: &Link| GraphLink {
        between: [name(link.a), name(link.b)],
        rate: Rate::from_bps(link.rate),
        delay: Time::from_ps(link.delay.ps),
    };
    let links = topology.links.iter().map(link).collect();
    document::Topology::Graph { hosts: names(false), switches: names(true), links }
}

pub fn ends(topology: &Topology, link: &Link) -> [String; 2] {
    [name(topology, link.a), name(topology, link.b)]
}

fn name(topology: &Topology, id: u32) -> String {
    format!("{}{id}", if topology.is_host(id) { "h" } else { "s" })
}

/// The two nodes of a link, which parallel links share.
pub fn pair(link: &Link) -> (u32, u32) {
    (link.a.min(link.b), link.a.max(link.b))
}

/// The flows of a file, or those to one port, with times relative to `from`.
pub fn listed(
    text: &str,
    file: &str,
    number_of: &HashMap<String, u32>,
    dport: Option<u16>,
    from: Time,
) -> Result<FlowList, Problems> {
    let (flows, _) = read_flows(file, text.as_bytes(), None)?;
    let flow = |flow: &Flow| {
        let host = |id: u32| {
            let what = || format!("there is no host \"h{id}\"; it is named \"h\" and its number in the file");
            number_of.get(&format!("h{id}")).copied().ok_or_else(what)
        };
        let start = nanoseconds(flow.start).and_then(|ns| ns.checked_mul(1000)).unwrap_or(u64::MAX - 1);
        let Some(start) = start.checked_sub(from.as_ps()) else {
            return Err(format!("it starts at {} s; with from = {from} it starts at or after that", flow.start));
        };
        let (src, dst) = (host(flow.src)?, host(flow.dst)?);
        Ok(ListedFlow { start: Time::from_ps(start), src, dst, bytes: flow.bytes, group: NO_GROUP })
    };
    let mut errors = Errors::default();
    let mut list = Vec::new();
    for (at, wanted) in flows.iter().enumerate().filter(|(_, flow)| dport.is_none_or(|dport| dport == flow.dport)) {
        match flow(wanted) {
            Ok(flow) => list.push(flow),
            Err(what) => errors.push(Error { file: file.into(), line: 0, what: format!("flow {}: {what}", at + 1) }),
        }
    }
    Ok(FlowList::new(errors.or(list)?))
}
