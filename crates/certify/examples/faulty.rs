//! `faulty SPEC.toml...`: runs each spec with the simulator that it was built with, certifies its capture, and prints a
//! line of JSON: the laws that are broken, with their violations, and what the run failed of. `tools/faults` builds it
//! with faults in the simulator.

use fanin_certify::{Facts, Spec as Rules, stream};
use fanin_experiment::{Outcome, Spec, run};
use fanin_record::port_names;
use serde_json::json;
use std::fs::File;
use std::io::BufReader;
use std::panic::catch_unwind;
use std::path::Path;

/// The queue pair of the first connection in a capture.
const FIRST_QUEUE_PAIR: usize = 256;

fn main() {
    for file in std::env::args().skip(1) {
        let found = catch_unwind(|| certified(&file)).unwrap_or_else(|_| Err("the simulator panicked".to_string()));
        let found = found.unwrap_or_else(|failed| json!({"failed": failed}));
        println!("{}", json!({"spec": file, "found": found}));
    }
}

fn certified(file: &str) -> Result<serde_json::Value, String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let spec = Spec::from_toml(&text, file, Path::new(".")).map_err(|error| error.to_string())?;
    let checked = spec.check().map_err(|error| error.to_string())?;
    let outcome = run(checked.build(), &mut |_| true);
    let capture = outcome.run.files.iter().find(|of| of.name() == "capture.pcapng").ok_or("it has no capture")?;
    let read = BufReader::new(File::open(capture.path()).map_err(|error| error.to_string())?);
    let report = stream("capture.pcapng", read, Rules::read(&checked.to_toml())?, facts(&outcome))?;
    let broken = report.laws.iter().filter(|law| law.tally.violations > 0);
    let first = report.laws.iter().find_map(|law| law.tally.first.first());
    Ok(json!({
        "packets": report.packets,
        "checked": report.laws.iter().map(|law| (law.law, law.tally.checked)).collect::<Vec<_>>(),
        "broken": broken.map(|law| (law.law, law.tally.violations)).collect::<Vec<_>>(),
        "first": first.map(|of| format!("{} ps, {}: {}", of.time.as_ps(), of.place, of.what)),
        "notes": report.notes,
    }))
}

fn facts(outcome: &Outcome) -> Facts {
    let run = &outcome.run;
    let counters = run.ports.iter().map(|of| [of.packets, of.bytes, of.marked, of.dropped]);
    let ports = port_names(&run.graph).into_iter().zip(counters).collect();
    let ended = run.flows.iter().enumerate().filter(|(_, flow)| flow.finished.is_some() && flow.bytes > 0);
    let messages = ended.map(|(n, flow)| ((FIRST_QUEUE_PAIR + n) as u32, [flow.bytes, flow.finished.as_ps()]));
    Facts { ports, messages: messages.collect() }
}
