//! Flow files.

use super::{Flow, Topology, nanoseconds};
use crate::text::{Words, quote};
use crate::{Error, Warning};
use core::fmt::Write as _;

/// Reads a flow file: the number of flows, then `src dst pg dport bytes start` of each, in ascending order of start.
/// With a topology, the ends are checked to be its hosts.
///
/// # Errors
/// The problem with its line and a correction.
pub fn read_flows(file: &str, text: &[u8], topology: Option<&Topology>) -> Result<(Vec<Flow>, Vec<Warning>), Error> {
    let mut words = Words::new(file, text);
    let count_word = words.need(format_args!("the number of flows"))?;
    let count = words.whole_of(count_word, "the number of flows", u32::MAX as u64)?;
    // "0 1 1 1 1 0" is the shortest flow, and one more byte before it.
    let mut flows: Vec<Flow> = Vec::with_capacity(count.min(words.left() as u64 / 12) as usize);
    let mut last = f64::NEG_INFINITY;
    for at in 0..count {
        let Some(src) = words.next() else { return Err(too_few(&words, count_word.bytes, count, at)) };
        let line = src.line;
        let src = words.whole_of(src, "a flow's source", u32::MAX as u64)? as u32;
        let dst = words.whole("a flow's destination", u32::MAX as u64)? as u32;
        let pg = words.whole("a flow's priority group", u32::MAX as u64)?;
        let dport = words.whole("a flow's destination port", u16::MAX as u64)? as u16;
        // 32 bits in that simulator: 4 GB and more wrap around.
        let bytes = words.whole("a flow's size", u32::MAX as u64)? as u32;
        let start = words.real("a flow's start")?;
        let pg = u8::try_from(pg).unwrap_or(u8::MAX);
        let flow = Flow { src, dst, pg, dport, bytes, start };
        check_flow(&flow, topology).map_err(|what| words.error(line, what))?;
        if start < last {
            let problem = format!("a flow starts at {start} s, before the one above it at {last} s; sort by start");
            return Err(words.error(line, problem));
        }
        last = start;
        flows.push(flow);
    }
    let mut warnings = Vec::new();
    if let Some(word) = words.next() {
        let odd =
            format!("{} and the rest of the file are ignored: the first line says {count} flows", quote(word.bytes));
        warnings.push(words.warning(word.line, odd));
    }
    Ok((flows, warnings))
}

/// The file of these flows, starts with nine decimals.
pub fn flows_to_text(flows: &[Flow]) -> String {
    let mut text = String::with_capacity(16 + flows.len() * 40);
    let _ = writeln!(text, "{}", flows.len());
    for Flow { src, dst, pg, dport, bytes, start } in flows {
        let _ = writeln!(text, "{src} {dst} {pg} {dport} {bytes} {start:.9}");
    }
    text
}

/// The problem with a single flow.
pub(super) fn check_flow(flow: &Flow, topology: Option<&Topology>) -> Result<(), String> {
    let Flow { src, dst, pg, bytes, start, .. } = *flow;
    if let Some(topology) = topology {
        for (end, name) in [(src, "from"), (dst, "to")] {
            if !topology.is_host(end) {
                let is = if (end as usize) < topology.is_switch.len() { "a switch" } else { "not in the topology" };
                return Err(format!("a flow {name} node {end}, which is {is}"));
            }
        }
    }
    if src == dst {
        return Err(format!("a flow from host {src} to itself"));
    }
    if !(1..=7).contains(&pg) {
        return Err(format!("a flow's priority group is {pg}; it is 1 to 7 (0 is for control packets)"));
    }
    if bytes == 0 {
        return Err("a flow of 0 bytes; it has at least 1".into());
    }
    match nanoseconds(start) {
        Some(_) => Ok(()),
        None => Err(format!("a flow starts at {start} s; a start is seconds from 0")),
    }
}

#[cold]
fn too_few(words: &Words<'_>, count_word: &[u8], count: u64, there: u64) -> Error {
    let what = format!("the first line says {count} flows, but there are {there}");
    let digits = there.to_string();
    // Its generator writes an estimate first and overwrites it with the true count, so digits of a longer estimate
    // remain.
    if count_word.len() > digits.len() && count_word.starts_with(digits.as_bytes()) {
        let why = "the traffic generator overwrote its estimate with a shorter count";
        return words.error(1, format!("{what}: {why}; write {there}"));
    }
    let there_it = "that simulator would start the last flow again for each missing one";
    words.error(1, format!("{what}; {there_it}"))
}
