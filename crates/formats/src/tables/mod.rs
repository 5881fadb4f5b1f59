//! Comma-separated tables written by hand or exported: flows, links and nodes.
//!
//! The first line names the columns, in any order. Fields may be in double quotes, as some programs write them; a field
//! contains no comma. Empty lines are skipped.

mod csv;
mod flows;
mod links;
mod sizes;

pub(crate) use csv::Csv;
pub use flows::{FlowRow, FlowTable};
pub use links::{LinkRow, LinkTable};
pub use sizes::{fuzz_sizes, read_sizes};

/// For fuzzing: any bytes are a table of flows or an error with a place.
pub fn fuzz_flows(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let read = FlowTable::read("f", &text).and_then(|table| {
        table.ignored();
        table.rows().collect::<Result<Vec<_>, _>>()
    });
    match read {
        Ok(rows) => assert!(rows.iter().all(|row| row.line > 1)),
        Err(error) => assert!(error.file == "f" && error.line > 0 && error.what.contains("; ")),
    }
}

/// For fuzzing: any bytes are a table of links or an error with a place. The bytes after the first null byte are the
/// table of nodes.
pub fn fuzz_links(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (links, nodes) = text.split_once('\0').map_or((&*text, None), |(links, nodes)| (links, Some(nodes)));
    match LinkTable::read("f", links, nodes.map(|nodes| ("n", nodes))) {
        Ok(table) => {
            let known = |name: &String| table.hosts.contains(name) != table.switches.contains(name);
            assert!(table.links.iter().take(100).all(|link| link.a != link.b && known(&link.a) && known(&link.b)));
        }
        Err(error) => assert!(["f", "n"].contains(&&*error.file) && error.what.contains("; ")),
    }
}
