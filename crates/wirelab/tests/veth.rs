//! Processes in network namespaces, with pairs of virtual interfaces as links: results are those of the simulator.

mod common;

use common::*;
use fanin_experiment::run;
use fanin_wirelab::{Link, Options, WireError, run_with, veth};
use std::ffi::OsString;
use std::process::Command;

const VETH: Options = Options { clock: fanin_wirelab::Clock::Lockstep, link: Link::Veth, stall: None, impatient: true };

/// Whether this machine permits it; says loudly if not, and that the run is then refused before anything starts.
fn permitted() -> bool {
    let Err(reason) = veth::permitted() else { return true };
    eprintln!("SKIPPED: {reason}");
    // The program does not exist: it is not even started.
    let found = run_with(&spec(&experiment(&star(3), "dcqcn", POISSON)), &VETH, &["/none".into()], &mut |_| true);
    assert_eq!(found.unwrap_err(), WireError::Refused(vec![reason]));
    false
}

/// Interfaces of runs of this process that are left in the network of this machine.
fn left() -> Vec<String> {
    let prefix = format!("f{}", std::process::id());
    let all = Command::new("ip").args(["-o", "link"]).output().unwrap();
    String::from_utf8_lossy(&all.stdout).lines().filter(|line| line.contains(&prefix)).map(str::to_string).collect()
}

#[test]
fn a_network_of_namespaces() {
    if !permitted() {
        return;
    }
    for text in [
        experiment(&(star(4) + PAUSES), "dart", &INCAST.replace('4', "3")),
        experiment(LEAF_SPINE, "hpcc", POISSON).replace("2 ms", "500 us"),
    ] {
        let wire = run_with(&spec(&text), &VETH, &program(), &mut |_| true).unwrap();
        equal(&wire.outcome.run, &run(spec(&text).build(), &mut |_| true).run);
    }
    assert_eq!(left(), Vec::<String>::new());
}

#[test]
fn a_process_that_dies_ends_the_run_and_leaves_nothing() {
    if !permitted() {
        return;
    }
    let [binary] = program();
    let dies = format!("timeout -s KILL 0.6 {}", binary.display());
    let program: [OsString; 3] = ["sh".into(), "-c".into(), dies.into()];
    let text = experiment(&star(4), "dcqcn", POISSON).replace("2 ms", "1 s");
    let found = run_with(&spec(&text), &VETH, &program, &mut |_| true);
    assert!(matches!(found, Err(WireError::Failed(_))), "{found:?}");
    assert_eq!(left(), Vec::<String>::new());
}
