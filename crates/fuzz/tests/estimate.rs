//! Estimates of memory against what runs take.

use fanin_experiment::{Spec, estimate, run};
use fanin_fuzz::memory::peak;
use std::path::Path;

/// The memory of a run by the estimate, over what it takes at most: from the text to its end.
fn ratio(name: &str, text: &str) -> f64 {
    let checked =
        Spec::from_toml(text, name, Path::new("")).and_then(|spec| spec.check()).unwrap_or_else(|e| panic!("{e}"));
    let estimated = estimate(&checked, &[], Some(1e6));
    drop(checked);
    let (_, most) = peak(|| {
        let spec = Spec::from_toml(text, name, Path::new("")).unwrap();
        let checked = spec.check().unwrap();
        run(checked.build(), &mut |_| true)
    });
    println!("{name}: {:.1} MB by the estimate, {:.1} MB", estimated.memory_bytes / 1e6, most as f64 / 1e6);
    for part in &estimated.memory_of {
        println!("    {:.2} MB for {}", part.amount / 1e6, part.what);
    }
    estimated.memory_bytes / most as f64
}

fn example(name: &str, changes: &[(&str, &str)]) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    let spec = changes.iter().fold(Spec::read(&path).unwrap(), |spec, (key, value)| spec.set(key, value).unwrap());
    toml::to_string(spec.document()).unwrap()
}

fn star(hosts: u32, traffic: &str, window: &str) -> String {
    format!(
        "spec_version = 1\nname = \"x\"\n[network]\ntopology = {{ kind = \"star\", hosts = {hosts}, link = \"10 \
         Gbps\", delay = \"1 us\" }}\nbuffer = {{ policy = \"lossy\", per_port = \"100 KB\" }}\n[[traffic]]\nname = \
         \"t\"\nscheme = \"fixed-window\"\n{traffic}[measure]\nwindow = \"{window}\"\n"
    )
}

#[test]
fn memory_is_within_a_factor_of_two() {
    let many =
        "pattern = { kind = \"poisson\" }\nsize = { fixed = \"1 KB\" }\nload = { share = 0.3, of = \"host-links\" }\n";
    let once = "pattern = { kind = \"incast\", degree = 1 }\nsize = { fixed = \"1 KB\" }\n";
    let asks = "pattern = { kind = \"query\", clients = [\"h0\"], rounds = 2000 }\nsize = { fixed = \"1 KB\" }\n";
    let ring = "pattern = { kind = \"all-reduce\", size = \"1 MB\", channels = 4 }\n";
    let incast = example("incast.toml", &[("measure.warm_up", "100 us"), ("measure.window", "2 ms")]);
    let mixed = example("coexistence.toml", &[("measure.warm_up", "0 s"), ("measure.window", "3 ms")]);
    for (name, text) in [
        ("messages", star(50, many, "5 ms")),
        ("hosts", star(20_000, once, "100 us")),
        ("queries", star(10, asks, "1 ms")),
        ("ring", star(64, ring, "1 s")),
        ("incast", incast),
        ("coexistence", mixed),
    ] {
        let ratio = ratio(name, &text);
        assert!((0.5..2.0).contains(&ratio), "{name}: {ratio:.2} of what it takes");
    }
}
