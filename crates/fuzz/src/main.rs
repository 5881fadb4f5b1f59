//! Breaks files for every reader until something is found, Ctrl-C, or a number of seconds; or a number of specs.

use fanin_fuzz::{Mutator, TARGETS, Target, name, run, specs};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

/// Folder for inputs that found a bug.
const FOLDER: &str = "target/fuzz";

/// An input takes microseconds; this is a reader that hangs.
const HANG: Duration = Duration::from_secs(20);

/// Inputs of a target before the next target's turn.
const TURN: u32 = 200;

/// The current input and its start time.
type Running = Arc<Mutex<(Instant, Option<(&'static Target, Vec<u8>)>)>>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match &words[..] {
        [] => search(None),
        [seconds] if seconds.parse::<u64>().is_ok() => search(seconds.parse().ok().map(Duration::from_secs)),
        [specs, count] if specs == "specs" && count.parse::<u64>().is_ok() => {
            break_specs(0, count.parse().unwrap_or_default())
        }
        [specs, seed, count] if specs == "specs" => match (seed.parse(), count.parse()) {
            (Ok(seed), Ok(count)) => break_specs(seed, count),
            _ => usage(),
        },
        [target, file] => again(target, file),
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
    eprintln!(
        "usage: fanin-fuzz [SECONDS] | fanin-fuzz TARGET FILE | fanin-fuzz specs [SEED] COUNT\ntargets: {}",
        names.join(", ")
    );
    ExitCode::from(2)
}

/// Runs this number of broken specs, starting with a seed; reports each bug and continues.
fn break_specs(seed: u64, count: u64) -> ExitCode {
    let folder = match specs::Folder::new() {
        Ok(folder) => folder,
        Err(error) => {
            eprintln!("no folder for the files of specs: {error}");
            return ExitCode::FAILURE;
        }
    };
    let (began, mut found, mut ends) = (Instant::now(), 0u64, [0u64; 3]);
    let mut longest = Duration::ZERO;
    for number in seed..seed.saturating_add(count) {
        let case = specs::Case::new(number);
        // Saved beforehand: a stack overflow could not report it.
        let kept = keep_spec(&case, "now");
        let one = Instant::now();
        match specs::run(&case, &folder) {
            Ok(end) => ends[end as usize] += 1,
            Err(what) => {
                found += 1;
                let kept = keep_spec(&case, &number.to_string()).or(kept);
                eprintln!("spec {number}: {what}\n  {}", kept.unwrap_or_else(|error| error.to_string()));
            }
        }
        longest = longest.max(one.elapsed());
        if (number - seed + 1).is_multiple_of(1000) || number - seed + 1 == count {
            println!(
                "{} specs in {:.0} s: {} refused, {} too large, {} run, {found} found; the longest took {longest:.1?}",
                number - seed + 1,
                began.elapsed().as_secs_f64(),
                ends[0],
                ends[1],
                ends[2],
            );
        }
    }
    if found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Writes a spec and its files to a folder, whose name it returns.
fn keep_spec(case: &specs::Case, name: &str) -> std::io::Result<String> {
    let folder = format!("{FOLDER}/spec-{name}");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(format!("{folder}/spec.toml"), &case.text)?;
    for (name, bytes) in &case.files {
        std::fs::write(format!("{folder}/{name}"), bytes)?;
    }
    Ok(folder)
}

/// Runs one saved input.
fn again(name: &str, file: &str) -> ExitCode {
    let Some(target) = TARGETS.iter().find(|target| target.name == name) else {
        eprintln!("there is no target {name}");
        return ExitCode::from(2);
    };
    let input = match std::fs::read(file) {
        Ok(input) => input,
        Err(error) => {
            eprintln!("{file}: {error}");
            return ExitCode::from(2);
        }
    };
    match run(target, &input) {
        Ok(()) => println!("{name}: nothing wrong with {} bytes", input.len()),
        Err(what) => {
            eprintln!("{name}: {what}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn search(limit: Option<Duration>) -> ExitCode {
    let seed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let mut mutator = Mutator::new(seed);
    let seeds: Vec<_> = TARGETS.iter().map(|target| (target.seeds)()).collect();
    let running: Running = Arc::new(Mutex::new((Instant::now(), None)));
    let watched = running.clone();
    std::thread::spawn(move || watch(&watched));
    let (start, mut told, mut inputs) = (Instant::now(), Duration::ZERO, 0u64);
    loop {
        for (target, seeds) in TARGETS.iter().zip(&seeds) {
            for _ in 0..TURN {
                let input = mutator.input(seeds);
                set(&running, Some((target, input.clone())));
                if let Err(what) = run(target, &input) {
                    return keep(target, &input, &what);
                }
            }
            set(&running, None);
            inputs += TURN as u64;
        }
        let passed = start.elapsed();
        let over = limit.is_some_and(|limit| passed >= limit);
        if over || passed >= told + Duration::from_secs(5) {
            told = passed;
            let rate = inputs as f64 / passed.as_secs_f64().max(1e-9);
            println!(
                "{inputs} inputs for {} readers in {:.0} s, {rate:.0} a second",
                TARGETS.len(),
                passed.as_secs_f64()
            );
        }
        if over {
            return ExitCode::SUCCESS;
        }
    }
}

fn set(running: &Running, what: Option<(&'static Target, Vec<u8>)>) {
    if let Ok(mut running) = running.lock() {
        *running = (Instant::now(), what);
    }
}

/// Ends the program when an input hangs: the reader itself cannot be stopped.
fn watch(running: &Running) {
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let Ok(running) = running.lock() else { return };
        if let (since, Some((target, input))) = &*running
            && since.elapsed() > HANG
        {
            keep(target, input, &format!("still reading after {} s", HANG.as_secs()));
            std::process::exit(1);
        }
    }
}

/// Writes an input to a file and prints how to run it again.
fn keep(target: &Target, input: &[u8], what: &str) -> ExitCode {
    let file = format!("{FOLDER}/{}-{}", target.name, name(input));
    eprintln!("{}: {what}", target.name);
    match std::fs::create_dir_all(FOLDER).and_then(|()| std::fs::write(&file, input)) {
        Ok(()) => eprintln!("run it again: cargo run -p fanin-fuzz -- {} {file}", target.name),
        Err(error) => eprintln!("{file}: {error}; the input is {:?}", String::from_utf8_lossy(input)),
    }
    ExitCode::FAILURE
}
