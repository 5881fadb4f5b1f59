//! Runs one case of the benchmark and prints it as JSON: `case ID [SCALE] [THREADS]`. For profilers, without Python
//! around it.

fn main() {
    let mut arguments = std::env::args().skip(1);
    let id = arguments.next().unwrap_or_else(|| "a".into());
    let scale = arguments.next().and_then(|s| s.parse().ok()).unwrap_or(1.0);
    let threads = arguments.next().and_then(|s| s.parse().ok()).unwrap_or(1);
    match fanin_experiment::bench::run(&id, threads, scale) {
        Ok(measured) => println!("{}", serde_json::to_string(&measured).expect("plain numbers serialise")),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    }
}
