//! `certify DIR` or `certify TRACE.tr CONFIG.txt`: prints what `fanin certify` finds as JSON.

use std::path::Path;

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let found = match &given[..] {
        [folder] => fanin_certify::folder(Path::new(folder), fanin_certify::Facts::default()),
        [trace, config] => fanin_certify::trace::file(Path::new(trace), Path::new(config)),
        _ => Err("one run folder, or a trace and its configuration".into()),
    };
    match found {
        Ok(report) => println!("{:#}", report.to_json()),
        Err(what) => println!("{what}"),
    }
}
