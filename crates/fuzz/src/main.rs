//! Breaks files for every reader until something is found, Ctrl-C, or a number of seconds.

use fanin_fuzz::{Mutator, TARGETS, Target, name, run};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

/// Where inputs that found something are kept.
const FOLDER: &str = "target/fuzz";

/// An input takes microseconds; this is a reader that hangs.
const HANG: Duration = Duration::from_secs(20);

/// Inputs of a target before the next one's turn.
const TURN: u32 = 200;

/// What runs now, and since when.
type Running = Arc<Mutex<(Instant, Option<(&'static Target, Vec<u8>)>)>>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match &words[..] {
        [] => search(None),
        [seconds] if seconds.parse::<u64>().is_ok() => search(seconds.parse().ok().map(Duration::from_secs)),
        [target, file] => again(target, file),
        _ => {
            let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
            eprintln!("usage: fanin-fuzz [SECONDS] | fanin-fuzz TARGET FILE\ntargets: {}", names.join(", "));
            ExitCode::from(2)
        }
    }
}

/// Runs one input that was kept.
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

/// Writes an input to a file and says how to run it again.
fn keep(target: &Target, input: &[u8], what: &str) -> ExitCode {
    let file = format!("{FOLDER}/{}-{}", target.name, name(input));
    eprintln!("{}: {what}", target.name);
    match std::fs::create_dir_all(FOLDER).and_then(|()| std::fs::write(&file, input)) {
        Ok(()) => eprintln!("run it again: cargo run -p fanin-fuzz -- {} {file}", target.name),
        Err(error) => eprintln!("{file}: {error}; the input is {:?}", String::from_utf8_lossy(input)),
    }
    ExitCode::FAILURE
}
