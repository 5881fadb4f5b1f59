//! Captures of runs on a wire: the frames of the simulator's, at the same times.

mod common;
#[path = "common/local.rs"]
mod local;

use common::*;
use fanin_experiment::{CheckedSpec, run};
use fanin_formats::pcapng::{self, Block};
use fanin_units::Time;
use fanin_wirelab::{Options, run_with};
use local::Local;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// A packet of a capture: when, the name of its interface, its bytes on the wire, those that are kept.
type Frame = (Time, String, u32, Vec<u8>);

/// The packets of a capture in order of time and interface. Those of one instant stand in it as events came.
fn frames(file: &[u8]) -> Vec<Frame> {
    let (mut names, mut frames) = (Vec::new(), Vec::new());
    pcapng::read("capture", file, |block| {
        match block {
            Block::Interface { name, .. } => names.push(name.unwrap_or_default().to_string()),
            Block::Packet { interface, time, bytes, original } => {
                frames.push((time, names[interface as usize].clone(), original, bytes.to_vec()));
            }
            _ => {}
        }
        true
    })
    .unwrap();
    assert!(frames.is_sorted_by_key(|(time, ..)| *time), "in order of time");
    frames.sort();
    frames
}

/// A file in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn captured(text: &str, links: &str, snaplen: u32) -> CheckedSpec {
    spec(&format!("{text}capture = {{ links = {links}, snaplen = \"{snaplen} B\" }}\n"))
}

/// The capture of a simulation.
fn simulated(spec: &CheckedSpec) -> (Vec<u8>, Time) {
    let run = run(spec.build(), &mut |_| true).run;
    let [file] = &run.files[..] else { panic!("{:?}", run.files) };
    (std::fs::read(file.path()).unwrap(), run.stopped)
}

/// That of the same on a wire; all parts are in one thread.
fn on_wire(spec: &CheckedSpec, until: Time) -> Vec<u8> {
    let (mut local, memory) = (Local::new(|| spec.build()).unwrap(), Memory::default());
    local.begin_capture(memory.clone());
    local.run_until(until, |_| {});
    assert_eq!(local.end_capture(), None);
    memory.0.lock().unwrap().clone()
}

fn same(name: &str, spec: &CheckedSpec) -> Vec<Frame> {
    let (simulated, until) = simulated(spec);
    let (simulated, wire) = (frames(&simulated), frames(&on_wire(spec, until)));
    for (one, other) in wire.iter().zip(&simulated) {
        let start = |of: &Frame| of.3[..of.3.len().min(64)].to_vec();
        assert!(one == other, "{name}: {:?} {:?}, {:?} {:?}", one.0, start(one), other.0, start(other));
    }
    assert_eq!(wire.len(), simulated.len(), "{name}");
    wire
}

#[test]
fn frames_are_those_of_the_simulator_under_every_scheme() {
    for (preset, snaplen) in presets().zip([128, 65_535].into_iter().cycle()) {
        let text = experiment(LEAF_SPINE, preset, &POISSON.replace("30 KB", "9 KB")).replace("2 ms", "300 us");
        let frames = same(preset, &captured(&text, "\"all\"", snaplen));
        let of = |name: &str| frames.iter().any(|(_, interface, ..)| interface == name);
        assert!(of("h0>leaf0") && of("leaf0>h0") && of("leaf1>spine0"), "{preset}");
    }
}

#[test]
fn pauses_connections_that_stay_and_lists_of_senders() {
    let kept =
        format!("{INCAST}rdma = {{ persistent = true }}\n").replace("degree = 4", "degree = 4, every = \"200 us\"");
    for (scheme, network, rest) in [("none", PAUSES, INCAST), ("dcqcn", LOSSES, &kept), ("dart", PAUSES, INCAST)] {
        let text = experiment(&(star(5) + network), scheme, rest);
        let frames = same(scheme, &captured(&text, "\"all\"", 65_535));
        assert!(frames.len() > 500, "{scheme}: {}", frames.len());
    }
}

#[test]
fn a_full_file_and_some_links_only() {
    let text = experiment(&star(5), "dcqcn", INCAST);
    let spec = captured(&text, "[\"h1>sw0\", \"sw0>h0\"]", 128);
    let names: std::collections::BTreeSet<_> = same("two links", &spec).into_iter().map(|(_, name, ..)| name).collect();
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["h1>sw0", "sw0>h0"]);
}

/// Processes write it, and the run has it with a warning of what did not fit.
#[test]
fn a_run_of_processes_has_its_capture() {
    let text = experiment(&star(5), "dart", INCAST) + "capture = { links = \"all\", max_size = \"20 KB\" }\n";
    let wire = run_with(&spec(&text), &Options::default(), &program(), &mut |_| true).unwrap().outcome.run;
    let simulated = run(spec(&text).build(), &mut |_| true).run;
    let read = |run: &fanin_record::Run| std::fs::read(run.files[0].path()).unwrap();
    assert_eq!(frames(&read(&wire)).len(), frames(&read(&simulated)).len());
    let warned = |run: &fanin_record::Run| {
        let events = run.events.kept().iter();
        events.filter(|event| event.detail.contains("capture.pcapng")).map(|e| e.detail.clone()).collect::<Vec<_>>()
    };
    assert_eq!(warned(&wire), warned(&simulated));
    assert_eq!(warned(&wire).len(), 1);
}
