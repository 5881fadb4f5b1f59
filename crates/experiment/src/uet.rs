//! Connection matrices of uet-htsim: read, run on its own network, and returned like any other run, with the lines that
//! it prints as `uec.txt`.

mod results;
mod setup;
#[cfg(test)]
mod tests;

pub use setup::{Setup, TRAFFIC};

use crate::run::{Outcome, Progress};
use fanin_record::Spool;
use fanin_units::Time;
use std::io;
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Runs it to its end, or until `progress` returns false.
///
/// # Errors
/// If its file cannot be written.
pub fn run(setup: &Setup, progress: &mut dyn FnMut(&Progress) -> bool) -> io::Result<Outcome> {
    let begin = Instant::now();
    let mut lines = results::Lines { file: Spool::create("uec.txt")?, hash: results::FNV, failed: None };
    let (mut looked, mut cancelled) = (Instant::now(), false);
    let end = Time::from_us(setup.network().options().end_us);
    let found = setup.network().run(&mut |line| lines.add(line), None, &mut |state| {
        if looked.elapsed() >= LOOK_EVERY {
            looked = Instant::now();
            cancelled = !progress(&Progress {
                simulated: Time::from_ps(state.now),
                end,
                packet_hops: state.hops,
                wall: begin.elapsed(),
                started: state.started,
                finished: state.finished,
            });
        }
        !cancelled
    });
    let hash = lines.hash;
    let run = results::hand_over(setup, found, lines.finish()?, hash);
    Ok(Outcome {
        run,
        cancelled,
        wall: begin.elapsed(),
        threads: 1,
        threads_reason: Some("that simulator's network model runs on one thread".into()),
        failure: None,
    })
}
