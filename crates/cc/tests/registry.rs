//! The registry agrees with the files of `schemes/`. Parameters as text need `--features spec`.

use fanin_cc::{Settings, rows};
use std::collections::BTreeSet;

const HEADINGS: [&str; 6] = [
    "## Idea",
    "## Signals",
    "## Control law",
    "## Parameters",
    "## Where we differ from the paper and why",
    "## References",
];

#[test]
fn every_file_is_registered_and_every_row_has_a_file() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/schemes");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        // own.rs stands for schemes that are loaded.
        .filter(|name| name != "mod.rs" && name != "own.rs" && name.ends_with(".rs"))
        .collect();
    let registered: BTreeSet<String> = rows().iter().map(|row| format!("{}.rs", row.file)).collect();
    assert_eq!(files, registered);
}

#[test]
fn ids_are_unique_and_known() {
    let mut seen = BTreeSet::new();
    for row in rows() {
        assert_eq!(row.presets[0], row.file.replace('_', "-"), "the first id is the file's name");
        for id in row.presets {
            assert!(seen.insert(id), "{id} is registered twice");
            let settings = Settings::preset(id).unwrap_or_else(|| panic!("{id} is listed but unknown"));
            assert_eq!(settings.id(), *id);
            assert_eq!(settings.check(), Ok(()), "{id}");
            assert!(row.presets[1..].iter().all(|id| row.manual().contains(&format!("`{id}`"))), "{id}: manual");
        }
    }
    assert_eq!(Settings::preset("no-such-scheme"), None);
}

#[test]
fn every_manual_has_its_headings_in_order() {
    for row in rows() {
        let manual = row.manual();
        let title = format!("# {}: ", row.presets[0]);
        assert!(manual.starts_with(&title), "{}: the manual starts with \"{title}\"", row.file);
        let headings: Vec<&str> = manual.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(headings, HEADINGS, "{}", row.file);
        for (heading, next) in headings.iter().zip(&headings[1..]) {
            let from = manual.find(heading).unwrap() + heading.len();
            let text = &manual[from..manual.find(next).unwrap()];
            assert!(!text.trim().is_empty(), "{}: nothing under {heading}", row.file);
        }
    }
}

#[cfg(feature = "spec")]
mod spec {
    use fanin_cc::{Settings, SettingsError, rows, settings};
    use fanin_units::{Rate, Time};
    use serde_json::{Map, Value, json};

    fn with(id: &str, key: &str, value: Value) -> Result<Settings, SettingsError> {
        settings(id, &Map::from_iter([(key.to_string(), value)]))
    }

    /// The `| name | unit | default | source |` rows of a manual.
    fn table(manual: &str) -> Vec<Vec<String>> {
        let (_, from) = manual.split_once("## Parameters").unwrap();
        let (text, _) = from.split_once("\n## ").unwrap();
        text.lines()
            .filter(|line| line.starts_with("| `"))
            .map(|line| line.split('|').map(|cell| cell.trim().trim_matches('`').to_string()).collect())
            .map(|cells: Vec<String>| cells[1..cells.len() - 1].to_vec())
            .collect()
    }

    #[test]
    fn every_parameter_is_in_its_manual_with_unit_default_and_source() {
        for row in rows() {
            let rows = table(&row.manual());
            let documented: Vec<&str> = rows.iter().map(|cells| cells[0].as_str()).collect();
            for id in row.presets {
                let values = Settings::preset(id).unwrap().to_json();
                let fields: Vec<&str> = values.as_object().unwrap().keys().map(String::as_str).collect();
                let sorted = |mut names: Vec<_>| {
                    names.sort_unstable();
                    names
                };
                assert_eq!(sorted(documented.clone()), sorted(fields), "{id}");
            }
            for cells in &rows {
                assert_eq!(cells.len(), 4, "{}: {cells:?}", row.file);
                assert!(cells.iter().all(|cell| !cell.is_empty()), "{}: {cells:?}", row.file);
            }
        }
    }

    #[test]
    fn documented_defaults_are_the_real_ones() {
        for row in rows() {
            let values = Settings::preset(row.presets[0]).unwrap().to_json();
            for cells in table(&row.manual()) {
                let value = &values[&cells[0]];
                let real = match value {
                    Value::String(text) => text.clone(),
                    Value::Object(_) => "as there".to_string(),
                    Value::Number(n) if n.as_f64() == Some(1.0 / 256.0) => "1/256".to_string(),
                    Value::Number(n) if n.as_f64() == Some(1.0) => "1".to_string(),
                    other => other.to_string(),
                };
                assert_eq!(cells[2], real, "{}: {}", row.file, cells[0]);
            }
        }
    }

    #[test]
    fn no_overrides_give_the_preset_and_text_reads_back() {
        for id in rows().iter().flat_map(|row| row.presets) {
            let preset = Settings::preset(id).unwrap();
            assert_eq!(settings(id, &Map::new()), Ok(preset.clone()));
            let Value::Object(all) = preset.to_json() else { panic!("{id}: parameters are a table") };
            assert_eq!(settings(id, &all), Ok(preset));
        }
    }

    #[test]
    fn unknown_names_are_refused_with_the_known_ones() {
        let Err(SettingsError::UnknownScheme(known)) = settings("dcqnc", &Map::new()) else { panic!("accepted") };
        assert!(known.contains(&"dcqcn") && known.contains(&"none"));
        let Err(SettingsError::UnknownParameter(name, known)) = with("dcqcn", "alpha", json!(1)) else {
            panic!("accepted")
        };
        assert_eq!(name, "alpha");
        assert!(known.iter().any(|k| k == "initial_alpha"), "{known:?}");
    }

    #[test]
    fn bad_values_are_refused_with_what_would_be_right() {
        for (id, key, value, say) in [
            ("fixed-window", "packets", json!(0), "at least 1"),
            ("fixed-window", "packets", json!("many"), "many"),
            ("fixed-rate", "rate", json!(0), "rate must be above 0"),
            ("fixed-rate", "rate", json!("0 bps"), "rate must be above 0"),
            ("fixed-rate", "rate", json!(1.5), "at most 1"),
            ("fixed-rate", "rate", json!("10"), "a rate like"),
            ("dcqcn", "alpha_timer", json!(55), "5 us"),
            ("dcqcn", "alpha_timer", json!("55"), "unit is missing"),
            ("dcqcn", "alpha_timer", json!("0 us"), "alpha_timer must be above 0"),
            ("dcqcn", "increase_timer", json!("0 us"), "increase_timer must be above 0"),
            ("dcqcn", "byte_counter", json!("0 B"), "byte_counter must be above 0"),
            ("dcqcn", "g", json!(0), "g must be above 0"),
            ("dcqcn", "g", json!(1.5), "at most 1"),
            ("dcqcn", "initial_alpha", json!(-1), "initial_alpha must be above 0"),
            ("dcqcn", "cnp", json!("sometimes"), "at-once"),
            ("dcqcn", "fast_recovery_while", json!("<"), "up-to"),
            ("dcqcn", "min_rate", json!("0 bps"), "min_rate must be above 0"),
            ("dcqcn", "min_rate", json!(0), "min_rate must be above 0"),
            ("dcqcn", "additive_increase", json!("10"), "a rate like"),
            ("dcqcn", "additive_increase", json!(2), "share of 0 to 1"),
            ("newreno", "initial_window", json!(0), "initial_window must be at least 1 segment"),
            ("newreno", "growth_limit", json!(0), "growth_limit must be at least 1 segment"),
            ("newreno", "initial_ssthresh", json!("lots"), "expected bytes like \"64 KB\", or \"unlimited\""),
            ("cubic", "c", json!(0), "c must be above 0"),
            ("cubic", "beta", json!(1), "beta must be above 0 and below 1"),
            ("dctcp", "min_window", json!(0), "min_window must be at least 1 segment"),
            ("dctcp", "g", json!(0), "g must be above 0"),
            ("dctcp", "initial_alpha", json!(1.5), "initial_alpha must be 0 to 1"),
            ("dctcp", "echo", json!("latched"), "two-state"),
            ("dctcp", "restart_after", json!(200), "200"),
            ("dctcp-rate", "additive_increase", json!(0), "or no flow ever speeds up"),
            ("dctcp-rate", "min_rate", json!(0), "min_rate must be above 0"),
            ("timely", "t_low", json!("1 ms"), "t_low must be at most t_high"),
            ("timely-patched", "t_low", json!("0 us"), "the patched law divides by it"),
            ("timely-dart", "bursts", json!(true), "so bursts must be false"),
            ("timely", "min_rate", json!(0), "min_rate must be above 0"),
            ("timely", "decide", json!("ack"), "round-trip"),
            ("rcc", "queue_maxsize", json!(0), "or no ACK ever leaves"),
            ("rcc", "rto", json!("0 ms"), "rto must be above 0"),
            ("rcc", "g", json!(1.5), "g must be above 0 and at most 1"),
            ("rcc", "priority", json!("deadline"), "remaining"),
            ("rcc", "newreno", json!({"min_window": 0}), "min_window must be at least 1 segment"),
            ("rcc", "dctcp", json!({"initial_alpha": 2}), "initial_alpha must be 0 to 1"),
            ("ictcp", "alpha", json!(0), "no window ever grows"),
            ("ictcp", "gamma1", json!(0.6), "at most gamma2"),
            ("ictcp", "beta", json!(1), "beta must be 0 or more and below 1"),
            ("ictcp", "min_window", json!(0), "min_window must be at least 1 segment"),
            ("dcqcn-vendor", "cut_interval", json!("0 us"), "cut_interval must be above 0"),
            ("hpcc", "eta", json!(0), "eta must be above 0"),
            ("hpcc", "additive_increase", json!("0 B"), "or flows never become fair"),
            ("hpcc", "telemetry", json!("some"), "exact"),
            ("hpcc", "wire_unit", json!(0), "wire_unit must be 1 to 1024"),
            ("hpcc", "wire_gap", json!("0 us"), "wire_gap must be above 0"),
            ("hpcc-alpha", "alpha", json!(0), "alpha must be above 0"),
            ("hpcc-alpha", "idle_cost", json!(1), "idle_cost must be above 0 and below 1"),
            ("hpcc-alpha", "additive_increase", json!("0 B"), "or flows never become fair"),
        ] {
            match with(id, key, value.clone()) {
                Err(SettingsError::Value(error)) => assert!(error.contains(say), "{id} {key} = {value}: {error}"),
                other => panic!("{id} {key} = {value}: {other:?}"),
            }
        }
        // Two parameters that do not go together.
        let both =
            Map::from_iter([("cnp".to_string(), json!("interval-end")), ("cnp_interval".to_string(), json!("0 us"))]);
        let Err(SettingsError::Value(error)) = settings("dcqcn", &both) else { panic!("accepted") };
        assert!(error.contains("cnp_interval must be above 0 when cnp is"), "{error}");
    }

    #[test]
    fn parameters_of_tcps_window_stand_beside_a_schemes_own() {
        use fanin_cc::schemes::newreno::Threshold;
        use fanin_units::Bytes;
        let Ok(Settings::Dctcp(_, p)) = with("dctcp", "initial_ssthresh", json!("64 KB")) else { panic!() };
        assert_eq!(p.window.initial_ssthresh, Threshold::Bytes(Bytes(64_000)));
        let Ok(Settings::NewReno(_, p)) = with("newreno-ecn", "restart_after", json!("10 ms")) else { panic!() };
        assert_eq!((p.window.restart_after, p.ecn), (Time::from_ms(10), true));
        // A name that no scheme has is refused although the two sets are read from one table.
        assert!(matches!(with("dctcp", "ecn", json!(true)), Err(SettingsError::UnknownParameter(..))));
    }

    #[test]
    fn rates_are_written_as_rates_or_as_shares_of_the_line() {
        use fanin_cc::schemes::dcqcn::RateOrShare;
        let Ok(Settings::Dcqcn(_, p)) = with("dcqcn", "additive_increase", json!("40 Mbps")) else { panic!() };
        assert_eq!(p.additive_increase, RateOrShare::Rate(Rate::from_mbps(40)));
        let Ok(Settings::Dcqcn(_, p)) = with("dcqcn", "additive_increase", json!(0.004)) else { panic!() };
        assert_eq!(p.additive_increase, RateOrShare::Share(0.004));
        let Ok(Settings::Dcqcn(_, p)) = with("dcqcn-win", "increase_timer", json!("300 us")) else { panic!() };
        assert_eq!((p.increase_timer, p.window), (Time::from_us(300), true));
    }
}
