//! Tables as Arrow record batches. Column names carry their units; a missing value is null. [`crate::columns`] defines
//! the meaning of each column, which the tables carry as [`DESCRIPTION`] and [`UNIT`].

use crate::{EventKind, Part, RecordError, Run, port_names, slowdown};
use arrow_array::{
    BooleanArray, Float64Array, RecordBatch, StringArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use fanin_fabric::topology::Link;
use fanin_fabric::{Cause, ClassCounters, FlowRecord, PauseCause, PauseRecord, PortCounters};
use fanin_units::Time;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use column::{Column, PIECE, batch, few, host_names, labels, labels_or_null, texts, u32s, u64s};
pub use column::{DESCRIPTION, UNIT};

mod column;
mod graphs;

/// Makes one table of a run.
pub type Make = fn(&Run) -> Result<RecordBatch, RecordError>;

/// Every table by name.
pub const ALL: [(&str, Make); 14] = [
    ("flows", flows),
    ("ports", ports),
    ("classes", classes),
    ("series", series),
    ("histograms", histograms),
    ("events", events),
    ("watch", watch),
    ("hops", hops),
    ("host_waits", host_waits),
    ("pauses", pauses),
    ("ranks", graphs::ranks),
    ("collectives", graphs::collectives),
    ("nodes", graphs::nodes),
    ("critical", graphs::critical),
];

/// A span that ends at `end`, or null.
fn until(flow: &FlowRecord, end: Time) -> Option<u64> {
    end.is_some().then(|| end.saturating_sub(flow.start).as_ps())
}

/// One row per message, by number.
///
/// # Errors
/// When a flow belongs to no traffic.
pub fn flows(run: &Run) -> Result<RecordBatch, RecordError> {
    run.check()?;
    flows_of(run, 0..run.flows.len())
}

/// The same in pieces, with these columns or with all: what memory has room for after a large run.
///
/// # Errors
/// As above, or a column that is not there.
pub fn flows_with(run: &Run, columns: Option<&[String]>) -> Result<Vec<RecordBatch>, RecordError> {
    let chosen = |piece: RecordBatch| {
        let Some(columns) = columns else { return Ok(piece) };
        let places = columns.iter().map(|name| piece.schema().index_of(name)).collect::<Result<Vec<_>, _>>();
        places.and_then(|places| piece.project(&places)).map_err(|source| RecordError::Table { table: "flows", source })
    };
    flows_in_pieces(run)?.map(|piece| piece.and_then(chosen)).collect()
}

/// A table in pieces.
pub type Pieces<'a> = Box<dyn Iterator<Item = Result<RecordBatch, RecordError>> + 'a>;

/// Each table by name, in pieces, at least one: of large ones at most a piece is in memory at a time.
///
/// # Errors
/// As the table's own.
pub fn in_pieces(run: &Run) -> impl Iterator<Item = Result<(&'static str, Pieces<'_>), RecordError>> {
    ALL.into_iter().map(move |(table, make)| {
        let pieces: Pieces<'_> = match table {
            "flows" => Box::new(flows_in_pieces(run)?),
            "nodes" => Box::new(graphs::nodes_in_pieces(run)),
            _ => Box::new(std::iter::once_with(move || make(run))),
        };
        Ok((table, pieces))
    })
}

fn flows_in_pieces(run: &Run) -> Result<impl Iterator<Item = Result<RecordBatch, RecordError>> + '_, RecordError> {
    run.check()?;
    let rows = run.flows.len();
    let pieces = rows.div_ceil(PIECE).max(1);
    Ok((0..pieces).map(move |piece| flows_of(run, piece * PIECE..rows.min((piece + 1) * PIECE))))
}

fn flows_of(run: &Run, rows: Range<usize>) -> Result<RecordBatch, RecordError> {
    let flows: Vec<FlowRecord> = run.flows.from(rows.start).take(rows.len()).collect();
    let all = || flows.iter();
    let count = run.traffics.len();
    if let Some((number, flow)) = rows.clone().zip(all()).find(|(_, flow)| usize::from(flow.traffic) >= count) {
        return Err(RecordError::Inconsistent(format!("flow {number} is of traffic {} of {count}", flow.traffic)));
    }
    let traffic = || all().map(|f| usize::from(f.traffic));
    let names: Vec<String> = run.traffics.iter().map(|t| t.name.clone()).collect();
    let schemes: Vec<String> = run.traffics.iter().map(|t| t.scheme.clone()).collect();
    let columns: Vec<Column> = vec![
        ("flow_id", false, u64s(rows.start as u64..rows.end as u64)),
        ("traffic", false, labels("flows", &names, traffic())?),
        ("scheme", false, labels("flows", &schemes, traffic())?),
        ("number", false, u32s(run.numbers[rows.clone()].iter().copied())),
        ("src", false, u32s(all().map(|f| f.src))),
        ("dst", false, u32s(all().map(|f| f.dst))),
        ("src_name", false, host_names(run, all().map(|f| f.src))?),
        ("dst_name", false, host_names(run, all().map(|f| f.dst))?),
        ("bytes", false, u64s(all().map(|f| f.bytes))),
        ("start_ps", false, u64s(all().map(|f| f.start.as_ps()))),
        ("completion_ps", true, Arc::new(all().map(|f| until(f, f.finished)).collect::<UInt64Array>())),
        ("acked_ps", true, Arc::new(all().map(|f| until(f, f.acked)).collect::<UInt64Array>())),
        (
            "ideal_ps",
            true,
            Arc::new(all().map(|f| f.ideal.is_some().then(|| f.ideal.as_ps())).collect::<UInt64Array>()),
        ),
        ("slowdown", true, Arc::new(all().map(slowdown).collect::<Float64Array>())),
        ("delivered_bytes", false, u64s(all().map(|f| f.delivered))),
        ("group", true, Arc::new(all().map(|f| (f.group != u32::MAX).then_some(f.group)).collect::<UInt32Array>())),
        ("hops", false, Arc::new(UInt16Array::from_iter_values(all().map(|f| f.hops)))),
        ("links", false, Arc::new(UInt16Array::from_iter_values(all().map(|f| f.links)))),
        ("deflections", false, Arc::new(UInt8Array::from_iter_values(all().map(|f| f.deflections)))),
        ("attempts", false, Arc::new(UInt16Array::from_iter_values(all().map(|f| f.attempts)))),
        ("packets_sent", false, u32s(all().map(|f| f.packets_sent))),
        ("packets_resent", false, u32s(all().map(|f| f.packets_resent))),
        ("timeouts", false, u32s(all().map(|f| f.timeouts))),
        ("packets_marked", false, u32s(all().map(|f| f.packets_marked))),
        ("reordered", false, u32s(all().map(|f| f.reordered))),
        ("packets_arrived", false, u32s(all().map(|f| f.packets_arrived))),
        ("request", false, Arc::new(all().map(|f| Some(f.request)).collect::<BooleanArray>())),
        ("measured", false, Arc::new(all().map(|f| Some(run.is_measured(f))).collect::<BooleanArray>())),
    ];
    batch("flows", columns, HashMap::new())
}

/// One row per port (one direction of a link), by number.
///
/// # Errors
/// When the counters are not those of this network's ports.
pub fn ports(run: &Run) -> Result<RecordBatch, RecordError> {
    run.check()?;
    let names = port_names(&run.graph);
    let node = |id: fanin_units::NodeId| run.graph.names.get(id.ix()).map_or("?", String::as_str);
    let ends = || run.graph.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]);
    let links = || run.graph.links.iter().flat_map(|link| [link; 2]);
    let (tiers, tier) = few(run.graph.tiers().into_iter(), |tier| tier.to_string());
    // A packet counts completely when its transmission starts, so a busy link may seem to have sent more than its rate
    // allows.
    let time = run.measured_to.min(run.stopped).saturating_sub(run.measured_from).as_secs_f64();
    let rate = |number: usize, link: &Link| *run.rates.get(number).unwrap_or(&link.rate);
    let used = |(number, link): (usize, &Link)| {
        let bytes = *run.sent_in_window.get(number)?;
        (time > 0.0).then(|| (bytes as f64 * 8.0 / (rate(number, link).as_bps() as f64 * time)).min(1.0))
    };
    let count = |of: fn(&PortCounters) -> u64| u64s(run.ports.iter().map(of));
    let columns: Vec<Column> = vec![
        ("port", false, texts(names.iter().map(String::as_str))),
        ("from", false, texts(ends().map(|(from, _)| node(from)))),
        ("to", false, texts(ends().map(|(_, to)| node(to)))),
        ("tier", false, labels("ports", &tiers, tier.into_iter())?),
        ("rate_bps", false, u64s(links().enumerate().map(|(number, link)| rate(number, link).as_bps()))),
        ("delay_ps", false, u64s(links().map(|link| link.delay.as_ps()))),
        ("packets", false, count(|p| p.packets)),
        ("bytes", false, count(|p| p.bytes)),
        ("utilisation", true, Arc::new(links().enumerate().map(used).collect::<Float64Array>())),
        ("marked_packets", false, count(|p| p.marked)),
        ("dropped_packets", false, count(|p| p.dropped)),
        ("peak_queue_bytes", false, count(|p| p.peak_queue)),
        ("paused_ps", false, count(|p| p.paused.as_ps())),
        ("pauses", false, count(|p| p.pauses)),
        ("credit_wait_ps", false, count(|p| p.credit_wait.as_ps())),
        ("credit_waits", false, count(|p| p.credit_waits)),
        ("trimmed_packets", false, count(|p| p.trimmed)),
    ];
    batch("ports", columns, HashMap::new())
}

/// One row per port and class, port by port.
///
/// # Errors
/// When the counters are not those of this network's ports and classes.
pub fn classes(run: &Run) -> Result<RecordBatch, RecordError> {
    run.check()?;
    let ports = port_names(&run.graph);
    let names: Vec<String> = run.classes.iter().map(|class| class.name.clone()).collect();
    let number = || (0..run.class_counters.len()).map(|row| row % run.classes.len());
    let count = |of: fn(&ClassCounters) -> u64| u64s(run.class_counters.iter().map(of));
    let columns: Vec<Column> = vec![
        ("port", false, texts((0..run.class_counters.len()).map(|row| ports[row / run.classes.len()].as_str()))),
        ("class", false, u32s(number().map(|class| class as u32))),
        ("class_name", false, labels("classes", &names, number())?),
        (
            "lossless",
            false,
            Arc::new(number().map(|class| Some(run.classes[class].lossless)).collect::<BooleanArray>()),
        ),
        ("marked_packets", false, count(|c| c.marked)),
        ("dropped_packets", false, count(|c| c.dropped)),
        ("peak_queue_bytes", false, count(|c| c.peak_queue)),
        ("paused_ps", false, count(|c| c.paused.as_ps())),
        ("pauses", false, count(|c| c.pauses)),
        ("credit_wait_ps", false, count(|c| c.credit_wait.as_ps())),
        ("credit_waits", false, count(|c| c.credit_waits)),
        ("trimmed_packets", false, count(|c| c.trimmed)),
    ];
    batch("classes", columns, HashMap::new())
}

/// One row per sample of a queue.
///
/// # Errors
/// When a sample is of a port that the network does not have.
pub fn series(run: &Run) -> Result<RecordBatch, RecordError> {
    run.check()?;
    // Only the names of sampled ports.
    let names = port_names(&run.graph);
    let (used, keys) = few(run.series.iter().map(|sample| sample.port.ix()), |port| names[*port].as_str());
    let columns: Vec<Column> = vec![
        ("time_ps", false, u64s(run.series.iter().map(|s| s.time.as_ps()))),
        ("port", false, labels("series", &used, keys.into_iter())?),
        ("queue_bytes", false, u64s(run.series.iter().map(|s| s.queue_bytes))),
    ];
    batch("series", columns, HashMap::new())
}

/// One row per bin of each histogram.
///
/// # Errors
/// When the columns do not fit together.
pub fn histograms(run: &Run) -> Result<RecordBatch, RecordError> {
    let rows = || run.histograms.iter().flat_map(|h| h.bins.iter().map(move |bin| (h, bin)));
    let columns: Vec<Column> = vec![
        ("what", false, texts(rows().map(|(h, _)| h.what.as_str()))),
        ("where", false, texts(rows().map(|(h, _)| h.place.as_str()))),
        ("lower_bytes", false, u64s(rows().map(|(_, bin)| bin.lower))),
        ("upper_bytes", false, u64s(rows().map(|(_, bin)| bin.upper))),
        ("count", false, u64s(rows().map(|(_, bin)| bin.count))),
    ];
    batch("histograms", columns, HashMap::new())
}

/// One row per value that was watched.
///
/// # Errors
/// When a value is of something that is not watched.
pub fn watch(run: &Run) -> Result<RecordBatch, RecordError> {
    run.check()?;
    let of = || run.watch.iter().map(|seen| seen.of as usize);
    let parts: Vec<&str> = run.watched.iter().map(|watched| watched.part.name()).collect();
    let places: Vec<&str> = run.watched.iter().map(|watched| watched.place.as_str()).collect();
    let names: Vec<&str> = run.traffics.iter().map(|traffic| traffic.name.as_str()).collect();
    let traffic = of().map(|of| &run.watched[of]);
    let traffic = traffic.map(|watched| (watched.part != Part::Port).then_some(usize::from(watched.traffic)));
    let traffics = labels_or_null("watch", &names, traffic)?;
    let (names, keys) = few(run.watch.iter().map(|seen| seen.name), |name| *name);
    let columns: Vec<Column> = vec![
        ("time_ps", false, u64s(run.watch.iter().map(|seen| seen.time.as_ps()))),
        ("what", false, labels("watch", &parts, of())?),
        ("where", false, labels("watch", &places, of())?),
        ("traffic", true, traffics),
        ("name", false, labels("watch", &names, keys.into_iter())?),
        ("value", false, Arc::new(Float64Array::from_iter_values(run.watch.iter().map(|seen| seen.value)))),
    ];
    batch("watch", columns, HashMap::new())
}

/// One row per packet and node of the messages that are traced.
///
/// # Errors
/// When a hop is of no message, node or port of the run.
pub fn hops(run: &Run) -> Result<RecordBatch, RecordError> {
    run.check()?;
    let all = || run.hops.iter();
    let message = || all().map(|hop| hop.message as usize);
    let messages: Vec<&str> = run.traced.iter().map(|traced| traced.name.as_str()).collect();
    // Only the names of nodes and ports that the packets passed.
    let (nodes, at) = few(all().map(|hop| hop.node.ix()), |node| run.graph.names[*node].as_str());
    let names = port_names(&run.graph);
    let (ports, by) = few(all().filter_map(|hop| hop.port), |port| names[port.ix()].as_str());
    let mut by = by.into_iter();
    let by: Vec<Option<usize>> = all().map(|hop| hop.port.and_then(|_| by.next())).collect();
    let columns: Vec<Column> = vec![
        ("time_ps", false, u64s(all().map(|hop| hop.time.as_ps()))),
        ("flow_id", false, u64s(message().map(|message| u64::from(run.traced[message].flow)))),
        ("message", false, labels("hops", &messages, message())?),
        ("seq_bytes", false, u64s(all().map(|hop| hop.seq))),
        ("attempt", false, Arc::new(UInt16Array::from_iter_values(all().map(|hop| hop.attempt)))),
        ("wire_bytes", false, Arc::new(UInt16Array::from_iter_values(all().map(|hop| hop.wire)))),
        ("node", false, labels("hops", &nodes, at.into_iter())?),
        ("port", true, labels_or_null("hops", &ports, by.into_iter())?),
        ("queued_bytes", false, u64s(all().map(|hop| hop.queued))),
        ("tokens", false, Arc::new(UInt8Array::from_iter_values(all().map(|hop| hop.tokens)))),
        ("lane", false, Arc::new(UInt8Array::from_iter_values(all().map(|hop| hop.lane)))),
        ("deflections", false, Arc::new(UInt8Array::from_iter_values(all().map(|hop| hop.deflected)))),
    ];
    batch("hops", columns, HashMap::new())
}

/// One row per stretch of time in which a traced message waited at its host.
///
/// # Errors
/// When a wait is of no traced message.
pub fn host_waits(run: &Run) -> Result<RecordBatch, RecordError> {
    run.check()?;
    let all = || run.host_waits.iter();
    let message = || all().map(|wait| wait.message as usize);
    let messages: Vec<&str> = run.traced.iter().map(|traced| traced.name.as_str()).collect();
    let causes = Cause::ALL.map(Cause::name);
    let columns: Vec<Column> = vec![
        ("flow_id", false, u64s(message().map(|message| u64::from(run.traced[message].flow)))),
        ("message", false, labels("host_waits", &messages, message())?),
        ("cause", false, labels("host_waits", &causes, all().map(|wait| wait.cause as usize))?),
        ("begin_ps", false, u64s(all().map(|wait| wait.begin.as_ps()))),
        ("end_ps", false, u64s(all().map(|wait| wait.end.as_ps()))),
    ];
    batch("host_waits", columns, HashMap::new())
}

/// One row per pause, where these are recorded.
///
/// # Errors
/// When a pause is of a port that the network does not have.
pub fn pauses(run: &Run) -> Result<RecordBatch, RecordError> {
    run.check()?;
    let names = port_names(&run.graph);
    let all = || run.pauses.iter();
    let (used, ports) = few(all().map(|pause| pause.port.ix()), |port| names[*port].as_str());
    let by = |pause: &PauseRecord| match pause.cause {
        PauseCause::Congestion(by, _) | PauseCause::Pause(by, _) => names.get(by.ix()).map(String::as_str),
        _ => None,
    };
    let (by_used, by_key) = few(all().map(by), |name| name.unwrap_or_default());
    let by_key = by_key.into_iter().zip(all().map(by)).map(|(key, name)| name.map(|_| key));
    let (causes, cause) = few(all().map(|pause| pause.cause.name()), |name| *name);
    let end = |pause: &PauseRecord| pause.end.is_some().then(|| pause.end.as_ps());
    let columns: Vec<Column> = vec![
        ("pause", false, u32s((0..).zip(all()).map(|(number, _)| number))),
        ("port", false, labels("pauses", &used, ports.into_iter())?),
        ("class", false, u32s(all().map(|pause| u32::from(pause.class)))),
        ("begin_ps", false, u64s(all().map(|pause| pause.begin.as_ps()))),
        ("end_ps", true, Arc::new(all().map(end).collect::<UInt64Array>())),
        ("cause", false, labels("pauses", &causes, cause.into_iter())?),
        ("by", true, labels_or_null("pauses", &by_used, by_key)?),
        ("parent", true, Arc::new(all().map(|pause| pause.parent).collect::<UInt32Array>())),
        ("tree", false, u32s(all().map(|pause| pause.tree))),
        ("depth", false, Arc::new(UInt16Array::from_iter_values(all().map(|pause| pause.depth)))),
    ];
    batch("pauses", columns, HashMap::new())
}

/// One row per event that was kept.
///
/// # Errors
/// When the columns do not fit together.
pub fn events(run: &Run) -> Result<RecordBatch, RecordError> {
    let kept = || run.events.kept().iter();
    let left_out = EventKind::ALL
        .iter()
        .map(|&kind| (format!("left_out.{}", kind.name()), run.events.left_out(kind).to_string()))
        .collect();
    let columns: Vec<Column> = vec![
        ("time_ps", false, u64s(kept().map(|e| e.time.as_ps()))),
        ("kind", false, texts(kept().map(|e| e.kind.name()))),
        ("where", false, texts(kept().map(|e| e.place.as_str()))),
        ("cause", true, Arc::new(kept().map(|e| e.cause).collect::<StringArray>())),
        ("detail", false, texts(kept().map(|e| e.detail.as_str()))),
    ];
    batch("events", columns, left_out)
}
