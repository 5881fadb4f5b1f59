//! `cargo run -p fanin-certify --example certify -- DIR`: certifies a run folder and prints the result as JSON.

fn main() {
    for folder in std::env::args().skip(1) {
        match fanin_certify::folder(std::path::Path::new(&folder), fanin_certify::Facts::default()) {
            Ok(report) => println!("{:#}", report.to_json()),
            Err(what) => println!("{what}"),
        }
    }
}
