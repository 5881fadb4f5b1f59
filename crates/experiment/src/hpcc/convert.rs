//! Topology and flow files of the ns-3 HPCC simulator as parts of a spec.

use crate::Problem;
use crate::spec::document::{self, GraphLink, LinkChange};
use fanin_formats::Error;
use fanin_formats::hpcc::{Flow, Link, Topology, nanoseconds, read_flows};
use fanin_units::{Rate, Time};
use fanin_workload::{FlowList, ListedFlow, NO_GROUP};
use std::collections::HashMap;

/// The network of a topology file, with the losses of its links, and warnings.
pub fn topology(text: &str, file: &str) -> Result<(document::Topology, Vec<LinkChange>, Vec<String>), Problem> {
    let (topology, warnings) = Topology::read(file, text.as_bytes())?;
    let links = ways(&topology);
    let mut losses = Vec::new();
    for link in links.iter().filter(|link| link.error_rate > 0.0) {
        let between = ends(&topology, link);
        if link.error_rate >= 1.0 {
            let what = format!("the link between {} and {} loses every packet; leave it out", link.a, link.b);
            return Err(Error { file: file.into(), line: 0, what }.into());
        }
        losses.push(LinkChange { between, error_rate: link.error_rate, down: Vec::new() });
    }
    Ok((graph(&topology, &links), losses, warnings.iter().map(ToString::to_string).collect()))
}

/// A topology with these links as one of a spec.
pub fn graph(topology: &Topology, links: &[Link]) -> document::Topology {
    let names = |switches: bool| {
        let of_kind = (0..).zip(&topology.is_switch).filter(move |(_, is_switch)| **is_switch == switches);
        of_kind.map(|(id, _)| name(topology, id)).collect()
    };
    let link = |link: &Link| GraphLink {
        between: ends(topology, link),
        rate: Rate::from_bps(link.rate),
        delay: Time::from_ns(link.delay),
    };
    document::Topology::Graph { hosts: names(false), switches: names(true), links: links.iter().map(link).collect() }
}

pub fn ends(topology: &Topology, link: &Link) -> [String; 2] {
    [name(topology, link.a), name(topology, link.b)]
}

fn name(topology: &Topology, id: u32) -> String {
    format!("{}{id}", if topology.is_host(id) { "h" } else { "s" })
}

/// The links that carry packets in that simulator: of parallel links, the last.
pub fn ways(topology: &Topology) -> Vec<Link> {
    let pair = |link: &Link| (link.a.min(link.b), link.a.max(link.b));
    let last: HashMap<_, _> = topology.links.iter().enumerate().map(|(at, link)| (pair(link), at)).collect();
    topology.links.iter().enumerate().filter(|(at, link)| last[&pair(link)] == *at).map(|(_, link)| *link).collect()
}

/// The flows of a file, or those to one port, with times relative to `from`.
pub fn listed(
    text: &str,
    file: &str,
    number_of: &HashMap<String, u32>,
    dport: Option<u16>,
    from: Time,
) -> Result<FlowList, Problem> {
    let (flows, _) = read_flows(file, text.as_bytes(), None)?;
    let fail = |at: usize, what: String| {
        Problem::from(Error { file: file.into(), line: 0, what: format!("flow {}: {what}", at + 1) })
    };
    let flow = |(at, flow): (usize, &Flow)| {
        let host = |id: u32| {
            let what = || format!("there is no host \"h{id}\"; it is named \"h\" and its number in the file");
            number_of.get(&format!("h{id}")).copied().ok_or_else(|| fail(at, what()))
        };
        let start = nanoseconds(flow.start).and_then(|ns| ns.checked_mul(1000)).unwrap_or(u64::MAX - 1);
        let Some(start) = start.checked_sub(from.as_ps()) else {
            return Err(fail(
                at,
                format!("it starts at {} s; with from = {from} it starts at or after that", flow.start),
            ));
        };
        let (src, dst, bytes) = (host(flow.src)?, host(flow.dst)?, u64::from(flow.bytes));
        Ok(ListedFlow { start: Time::from_ps(start), src, dst, bytes, group: NO_GROUP })
    };
    let wanted = flows.iter().enumerate().filter(|(_, flow)| dport.is_none_or(|dport| dport == flow.dport));
    Ok(FlowList::new(wanted.map(flow).collect::<Result<_, _>>()?))
}
