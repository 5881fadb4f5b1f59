//! Broken specs: read, checked, estimated, built, run for a moment, summarised and converted to tables. Each ends in a
//! result or in problems of one line each; none panics, hangs, or uses unlimited memory.

mod breaks;
mod corpus;
mod folder;

pub use corpus::{corpus, files};
pub use folder::Folder;

use crate::{Mutator, guarded};
use fanin_experiment::{Limits, Problems, Spec, estimate};
use fanin_record::{SizeRange, summarise, tables};
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Most processor time of one spec, all steps together, on a machine that does [`work`] in [`WORK`].
pub const LONGEST: Duration = Duration::from_secs(2);
const WORK: Duration = Duration::from_millis(400);
/// Largest memory of one spec.
pub const MOST_MEMORY: usize = 1_000_000_000;
/// Estimated set-up time above which a spec is not run here.
const LONGEST_SETUP: f64 = 0.5;
/// Time limit of a run; it is checked ten times a second.
const RUN: Duration = Duration::from_millis(30);
/// A speed for estimates, in packet-hops per second.
const SPEED: f64 = 5e6;
/// Most characters of a problem.
const LONGEST_LINE: usize = 4000;

/// One broken spec, and the files that it may name.
#[derive(Clone, Debug)]
pub struct Case {
    /// The text of the spec.
    pub text: String,
    /// Its files.
    pub files: Vec<(&'static str, Vec<u8>)>,
}

impl Case {
    /// The same case for the same seed.
    pub fn new(seed: u64) -> Self {
        let mut mutator = Mutator::new(seed);
        let text = breaks::text(&mut mutator);
        let mut break_one = |(name, good): &(&'static str, &str)| {
            let good = good.as_bytes().to_vec();
            (*name, if mutator.one_in(4) { mutator.input(&[good]) } else { good })
        };
        let files = files().iter().map(&mut break_one).collect();
        Self { text, files }
    }
}

/// Outcome of a case without a bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Problems of one line each.
    Refused,
    /// Above the limits, or with a set-up that takes too long for a test.
    TooLarge,
    /// It ran, at least for a moment.
    Ran,
}

/// Runs one case and returns its outcome.
///
/// # Errors
/// The bug: a panic, too much time or memory, a problem without a place.
pub fn run(case: &Case, folder: &Folder) -> Result<End, String> {
    for (name, bytes) in &case.files {
        std::fs::write(folder.path().join(name), bytes).map_err(|error| error.to_string())?;
    }
    let timed = || {
        let began = own_time();
        let (end, peak) = guarded(|| go(&case.text, folder.path()))?;
        Ok::<_, String>((end?, peak, own_time().saturating_sub(began)))
    };
    let (end, peak, mut took) = timed()?;
    // A busy machine makes any spec slow, even by its own time, but hardly three times.
    for _ in 0..2 {
        if took > LONGEST {
            took = took.min(timed()?.2);
        }
    }
    if took > LONGEST {
        let slowness = work().div_duration_f64(WORK).max(1.0);
        let fair = LONGEST.mul_f64(slowness);
        if took > fair {
            return Err(format!("{took:.1?}; at most {fair:.1?} are fair ({end:?})"));
        }
    }
    if peak > MOST_MEMORY {
        return Err(format!("{peak} bytes of memory; at most {MOST_MEMORY} are fair ({end:?})"));
    }
    Ok(end)
}

/// How long a piece of work takes here and now that has nothing to do with Fanin: half a million texts, sorted.
fn work() -> Duration {
    let began = own_time();
    let numbers = (0..500_000u64).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut texts: Vec<String> = numbers.map(|n| format!("{n:x}")).collect();
    texts.sort_unstable();
    std::hint::black_box(&texts);
    own_time().saturating_sub(began)
}

/// What this thread has had of the processor; where the system does not tell, the time that has passed.
fn own_time() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.as_deref().and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| START.get_or_init(Instant::now).elapsed(), Duration::from_nanos)
}

/// Reads, checks and estimates only; returns whether it was refused.
///
/// # Errors
/// As [`run`].
pub fn check(text: &str) -> Result<End, String> {
    let refused = |problems: Problems| one_line_each(&problems).map(|()| End::Refused);
    let (end, _) = guarded(|| {
        let checked = match Spec::from_toml(text, "broken.toml", Path::new("")).and_then(|spec| spec.check()) {
            Ok(checked) => checked,
            Err(problems) => return refused(problems),
        };
        estimate(&checked, &[], Some(SPEED));
        Ok(End::Ran)
    })?;
    end
}

fn go(text: &str, folder: &Path) -> Result<End, String> {
    let refused = |problems: Problems| one_line_each(&problems).map(|()| End::Refused);
    let checked = match Spec::from_toml(text, "broken.toml", folder).and_then(|spec| spec.check()) {
        Ok(checked) => checked,
        Err(problems) => return refused(problems),
    };
    let cost = estimate(&checked, &[], Some(SPEED));
    if !cost.packet_hops.is_finite() || !cost.memory_bytes.is_finite() || !cost.wall_s.is_finite() {
        return Err(format!("the estimate is not a number: {cost:?}"));
    }
    let limits = Limits { memory_bytes: Some(MOST_MEMORY as u64 / 2), wall_s: None };
    if let Err(exceeded) = limits.of(&cost, &checked.document().name) {
        let text = exceeded.to_string();
        return if text.contains("--max-memory") { Ok(End::TooLarge) } else { Err(format!("{text:?} names no flag")) };
    }
    if cost.setup_s > LONGEST_SETUP {
        return Ok(End::TooLarge);
    }
    let began = Instant::now();
    let outcome = fanin_experiment::run(checked.build(), &mut |_| began.elapsed() < RUN);
    let measure = checked.measure();
    let sizes = measure.report_size.map_or(SizeRange::ALL, SizeRange::only);
    let summary = summarise(&outcome.run, sizes, measure.allow_drops);
    serde_json::to_string(&summary).map_err(|error| format!("the summary is no JSON: {error}"))?;
    let all = [tables::flows, tables::ports, tables::classes, tables::series, tables::histograms, tables::events];
    for table in all.iter().chain(&[tables::watch, tables::hops]) {
        table(&outcome.run).map_err(|error| format!("no table: {error}"))?;
    }
    Ok(End::Ran)
}

/// Whether each problem is one line with a place.
fn one_line_each(problems: &Problems) -> Result<(), String> {
    for problem in problems.iter() {
        let line = problem.to_string();
        if line.contains(['\n', '\r']) {
            return Err(format!("a problem of several lines: {line:?}"));
        }
        if problem.file.is_empty() || problem.problem.trim().is_empty() {
            return Err(format!("a problem that does not say where or what: {line:?}"));
        }
        if line.chars().count() > LONGEST_LINE {
            return Err(format!("a problem of {} characters: {:?}...", line.len(), line.get(..200)));
        }
    }
    Ok(())
}
