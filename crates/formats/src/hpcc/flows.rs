//! Flow files.

use super::dialect::columns;
use super::{Flow, Topology, nanoseconds};
use crate::text::{Word, Words, quote};
use crate::{Error, Errors, Warning};
use core::fmt::Write as _;

/// Most bytes of a flow.
pub(super) const MAX_BYTES: u64 = (1 << 60) - 1;
/// The destination port of flows without a column for it: that of background traffic.
const PORT: u16 = 100;

/// Reads a flow file for any network: the number of flows, then `src dst pg dport bytes start` of each. If they are
/// in lines of five columns, they are ConWeave's and without `dport`. With a topology, the ends are checked to be its
/// hosts.
///
/// # Errors
/// All problems with their lines and corrections.
pub fn read_flows(file: &str, text: &[u8], topology: Option<&Topology>) -> Result<(Vec<Flow>, Vec<Warning>), Errors> {
    read(file, text, topology, false)
}

/// The same for that simulator's own network: flows of less than 4 GiB, in priority groups from 1, in the order of
/// their starts.
///
/// # Errors
/// As [`read_flows`].
pub fn read_exact_flows(
    file: &str,
    text: &[u8],
    topology: Option<&Topology>,
) -> Result<(Vec<Flow>, Vec<Warning>), Errors> {
    read(file, text, topology, true)
}

fn read(
    file: &str,
    text: &[u8],
    topology: Option<&Topology>,
    exact: bool,
) -> Result<(Vec<Flow>, Vec<Warning>), Errors> {
    let mut words = Words::new(file, text);
    let count_word = words.need(format_args!("the number of flows"))?;
    let count = words.whole_of(count_word, "the number of flows", u32::MAX as u64)?;
    // With each flow in a line of its own, an error ends with the line.
    let columns = columns(text);
    let port = columns != Some(5);
    // "0 1 1 1 0" is the shortest flow, and one more byte before it.
    let mut flows: Vec<Flow> = Vec::with_capacity(count.min(words.left() as u64 / 10) as usize);
    let mut errors = Errors::default();
    let mut last = f64::NEG_INFINITY;
    for at in 0..count {
        let Some(src) = words.next() else {
            errors.push(too_few(&words, count_word.bytes, count, at));
            break;
        };
        // A file that is one long line has no columns, and is not searched for its end again and again.
        let there = columns.map(|columns| (columns, 1 + words.on_line().count()));
        let flow = match there {
            Some((columns, there)) if there != columns => {
                let like = if port { "src dst priority port bytes start" } else { "src dst priority bytes start" };
                Err(words.error(src.line, format!("a flow of {there} columns; it has {columns}, {like}")))
            }
            _ => flow(&mut words, src, port),
        };
        let flow = flow.and_then(|flow| {
            let wrong =
                check_flow(&flow, topology).and_then(|()| if exact { check_exact(&flow, last) } else { Ok(()) });
            last = flow.start;
            wrong.map_err(|what| words.error(src.line, what)).map(|()| flow)
        });
        match flow {
            Ok(flow) => flows.push(flow),
            Err(error) => {
                errors.push(error);
                if columns.is_none() {
                    break;
                }
                // What a flow lacks may have been read from the next line only if it had all its columns.
                if words.line() == src.line {
                    words.skip_line();
                }
            }
        }
    }
    let mut warnings = Vec::new();
    if let Some(word) = words.next().filter(|_| errors.is_empty()) {
        let odd =
            format!("{} and the rest of the file are ignored: the first line says {count} flows", quote(word.bytes));
        warnings.push(words.warning(word.line, odd));
    }
    errors.or((flows, warnings))
}

/// The flow that begins with this word.
fn flow(words: &mut Words<'_>, src: Word<'_>, port: bool) -> Result<Flow, Error> {
    let src = words.whole_of(src, "a flow's source", u32::MAX as u64)? as u32;
    let dst = words.whole("a flow's destination", u32::MAX as u64)? as u32;
    let pg = words.whole("a flow's priority group", u32::MAX as u64)?;
    let dport = if port { words.whole("a flow's destination port", u16::MAX as u64)? as u16 } else { PORT };
    let bytes = words.whole("a flow's size", MAX_BYTES)?;
    let start = words.real("a flow's start")?;
    Ok(Flow { src, dst, pg: u8::try_from(pg).unwrap_or(u8::MAX), dport, bytes, start })
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

/// The problem with a single flow on any network.
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
    if pg > 7 {
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

/// The problem of that simulator's own network with a flow behind one that starts at `last`.
pub(super) fn check_exact(flow: &Flow, last: f64) -> Result<(), String> {
    let Flow { pg, bytes, start, .. } = *flow;
    if pg == 0 {
        return Err("a flow's priority group is 0; it is 1 to 7 (0 is for control packets)".into());
    }
    // 32 bits in that simulator: 4 GiB and more wrap around.
    if bytes > u64::from(u32::MAX) {
        return Err(format!("a flow's size is {bytes}; in that simulator it is at most {}", u32::MAX));
    }
    if start < last {
        return Err(format!("a flow starts at {start} s, before the one above it at {last} s; sort by start"));
    }
    Ok(())
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
