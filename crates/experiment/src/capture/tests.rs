//! Traces that cannot be written.

use super::*;
use crate::Spec;
use fanin_record::columns;
use std::fs::File;
use std::path::Path;

fn full(name: &'static str) -> io::Result<SpoolWriter> {
    let file = File::options().write(true).open("/dev/full")?;
    Ok(SpoolWriter::new(name, std::env::temp_dir().join(format!("fanin-{}-nowhere", std::process::id())), file))
}

/// The capture finds a full disk, the timeline does not.
fn half_full(name: &'static str) -> io::Result<SpoolWriter> {
    if name == CAPTURE { full(name) } else { Spool::create(name) }
}

fn none(name: &'static str) -> io::Result<SpoolWriter> {
    Err(io::Error::other(format!("no place for {name}")))
}

/// A flow at 10 Gb/s for 2 ms. Gives its traces' files and warnings, its event hash, and the most that was ever seen at
/// once.
fn traced(create: fn(&'static str) -> io::Result<SpoolWriter>) -> (Vec<Spool>, Vec<String>, u64, usize) {
    let text = "spec_version = 1\nname = \"x\"\n[network]\ntopology = { kind = \"star\", hosts = 3, link = \"10 \
                Gbps\", delay = \"1 us\" }\nbuffer = { policy = \"unlimited\" }\n[[traffic]]\nname = \"long\"\nscheme \
                = \"none\"\npattern = { kind = \"long\", count = 2, senders = [\"h0\", \"h1\"], receivers = [\"h2\"] \
                }\n[measure]\nwindow = \"2 ms\"\ncapture = { links = \"all\" }\nperfetto = { queues = \"all\" }\n";
    let built = Spec::from_toml(text, "x.toml", Path::new("")).unwrap().check().unwrap().build();
    let mut sim = Simulation::new(built.network, built.traffics, built.messages);
    let mut traces = Traces::open(&built.measure, &mut sim, create);
    let mut most = 0;
    for us in 1..=2000 {
        sim.run_until(Time::from_us(us), u64::MAX);
        if traces.any() {
            traces.take(&mut sim);
            most = most.max(traces.seen.len());
        }
    }
    let mut left = Vec::new();
    sim.take_seen(&mut left);
    most = most.max(left.len());
    let hash = sim.totals().event_hash;
    let (files, warnings) = traces.finish(sim.now());
    (files, warnings, hash, most)
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_costs_the_trace_and_not_the_run() {
    let names = |files: &[Spool]| files.iter().map(Spool::name).collect::<Vec<_>>();
    let (files, warnings, hash, most) = traced(Spool::create);
    assert_eq!((names(&files), warnings.len()), (vec![CAPTURE, TIMELINE], 0));
    let (files, warnings, same, seen) = traced(full);
    assert_eq!((files.len(), same), (0, hash));
    assert_eq!(warnings.len(), 2);
    for (warning, file) in warnings.iter().zip([CAPTURE, TIMELINE]) {
        assert!(warning.starts_with(&format!("{file} is missing: cannot write {file}, which waits at ")), "{warning}");
        assert!(warning.contains("No space left on device"), "{warning}");
    }
    // Unused observations do not accumulate.
    assert!(seen <= most, "{seen} and {most}");
    let (files, warnings, same, seen) = traced(half_full);
    assert_eq!((names(&files), warnings.len(), same), (vec![TIMELINE], 1, hash));
    assert!(seen <= most, "{seen} and {most}");
    let (files, warnings, same, seen) = traced(none);
    assert_eq!((files.len(), same, seen), (0, hash, 0));
    assert_eq!(warnings[0], format!("{CAPTURE} is missing: no place for {CAPTURE}"));
}

#[test]
fn the_folder_says_what_these_files_are() {
    for name in [CAPTURE, TIMELINE] {
        assert!(columns::FILES.iter().any(|(file, _)| *file == name), "{name}");
    }
}
