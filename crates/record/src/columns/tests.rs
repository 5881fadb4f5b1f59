use super::*;
use crate::tests::example;
use crate::{SizeRange, WirePart, WireRun, WireTiming, summarise, tables};
use std::collections::BTreeSet;

#[test]
fn every_column_of_every_table_is_described_and_nothing_else() {
    let named: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
    assert_eq!(tables::ALL.map(|(name, _)| name).to_vec(), named);
    for (name, make) in tables::ALL {
        let schema = make(&example()).unwrap().schema();
        let table = table(name).unwrap();
        assert_eq!(schema.metadata()[tables::DESCRIPTION], table.meaning);
        let columns: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(columns, table.columns.iter().map(|column| column.name).collect::<Vec<_>>(), "{name}");
        for (field, column) in schema.fields().iter().zip(table.columns) {
            let place = format!("{name}.{}", column.name);
            assert_eq!(field.metadata()[tables::DESCRIPTION], column.meaning, "{place}");
            assert_eq!(field.metadata().get(tables::UNIT).map_or("", String::as_str), column.unit, "{place}");
            assert!(column.meaning.ends_with('.') && !column.meaning.contains('\n'), "{place}");
            // Names carry units; what a packet counter counts is in its name, too.
            for (end, unit) in [("_ps", "ps"), ("_bytes", "B"), ("_bps", "b/s"), ("_packets", "packets")] {
                assert!(!column.name.ends_with(end) || column.unit == unit, "{place} is in {}", column.unit);
            }
            if field.is_nullable() {
                assert!(column.meaning.contains("null"), "{place} may be null and does not say when");
            }
        }
    }
}

/// Where values are, as [`fields::of`] names it.
fn paths(value: &serde_json::Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                let path = format!("{path}{}{name}", if path.is_empty() { "" } else { "." });
                paths(value, &path, found);
                found.insert(path);
            }
        }
        serde_json::Value::Array(entries) => {
            entries.iter().for_each(|entry| paths(entry, &format!("{path}[]"), found));
        }
        _ => {}
    }
}

#[test]
fn every_field_of_the_json_files_is_described() {
    let mut run = example();
    run.traffics[0].table_peak = Some(3);
    let summary = summarise(&run, SizeRange::ALL, false);
    let part = WirePart { name: "0".to_string(), behind_p99_us: 1.0, behind_max_us: 2.0, gap_max_us: 3.0 };
    let timing = WireTiming { parts: vec![part], ..WireTiming::default() };
    let (clock, link) = ("slowed:5000".to_string(), "udp".to_string());
    let wire = Some(WireRun { clock, link, timing: Some(timing) });
    let manifest = Manifest { wire, ..Manifest::new("x", 1, &run, 1.0, false) };
    let files = [
        (serde_json::to_value(&summary).unwrap(), fields::of::<Summary>()),
        (serde_json::to_value(&manifest).unwrap(), fields::of::<Manifest>()),
    ];
    for (value, fields) in files {
        let mut found = BTreeSet::new();
        paths(&value, "", &mut found);
        for (field, meaning) in &fields {
            assert!(meaning.ends_with('.') && !meaning.contains("None"), "{field}: {meaning}");
            // No query and no job in the example.
            let absent = ["traffics[].queries.", "traffics[].job."].iter().any(|table| field.starts_with(table));
            assert!(found.remove(field) || absent, "{field} is not in the file");
        }
        // The rest are entries of maps.
        found.retain(|path| !path.starts_with("traffics[].actions.") && !path.starts_with("network.events_left_out."));
        assert_eq!(found, BTreeSet::new());
    }
    // In the order of the file.
    let fields: Vec<String> = fields::of::<Summary>().into_iter().map(|(field, _)| field).collect();
    assert_eq!(fields[..4], ["slowdown_ideal", "errors", "traffics", "traffics[].traffic"]);
    assert!(fields.contains(&"traffics[].queries.completion_us.p999".to_string()));
}

#[test]
fn the_page_is_made_of_whole_tables() {
    let page = markdown();
    assert!(page.contains("\n### hops\n\nOne row per packet and node"));
    assert!(page.contains("\n| `utilisation` |  | Bytes on the wire in the measured window as a share"));
    assert!(page.contains("\n| `network.drops.buffer` | No buffer for a lossy class. |\n"));
    for line in page.lines().filter(|line| line.starts_with('|')) {
        let cells = line.matches('|').count() - 1;
        assert!(cells == 2 || cells == 3, "{line}");
    }
}
