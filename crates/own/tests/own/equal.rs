//! A scheme in C is the built-in one, event for event.

use crate::{compile, of_tests, root};
use fanin_cc::SettingsError;
use fanin_experiment::{Outcome, Spec, bench, loaded, run};
use serde_json::json;
use std::path::Path;

/// The example.
fn load(example: &str) -> &'static str {
    let source = root().join("examples/own").join(format!("{example}.c"));
    fanin_own::load(&compile(&source, &format!("{example}.so"), &[])).unwrap().scheme.unwrap()
}

/// Eight senders to one receiver over a switch, under a scheme as a spec writes it.
pub fn spec(scheme: &str) -> String {
    format!(
        "spec_version = 1\nname = \"x\"\n[network]\ntopology = {{ kind = \"star\", hosts = 9, link = \"10 Gbps\", \
         delay = \"1 us\" }}\nbuffer = {{ policy = \"unlimited\" }}\n[[traffic]]\nname = \"in\"\nscheme = {scheme}\n\
         size = {{ fixed = \"100 KB\" }}\npattern = {{ kind = \"incast\", degree = 8, receivers = [\"h0\"] \
         }}\n[measure]\nwindow = \"2 ms\"\nseries = [{{ what = \"flow\", where = [\"in:0\"], every = \"20 us\" }}, {{ \
         what = \"receiver\", where = [\"h0\"], every = \"20 us\" }}]\n"
    )
}

/// A run of it.
pub fn outcome(scheme: &str) -> Outcome {
    let spec = Spec::from_toml(&spec(scheme), "x.toml", Path::new("")).unwrap();
    let spec = spec.check().unwrap_or_else(|problems| panic!("{problems}"));
    run(spec.build(), &mut |_| true)
}

#[test]
fn fixed_window_in_c_is_the_built_in_one() {
    let id = load("fixed_window");
    let built_in = outcome("{ id = \"fixed-window\", packets = 8 }");
    let in_c = outcome(&format!("{{ id = \"{id}\", packets = 8 }}"));
    assert_eq!(in_c.run.totals.event_hash, built_in.run.totals.event_hash);
    assert_eq!(in_c.run.flows, built_in.run.flows);
    let counts = |outcome: &Outcome| {
        outcome.run.traffics[0].counters.actions.iter().map(|(_, count)| count).collect::<Vec<u64>>()
    };
    assert_eq!(counts(&in_c), counts(&built_in));
    assert!(counts(&in_c).iter().sum::<u64>() > 0, "the window was full at times");
    let other = outcome(&format!("{{ id = \"{id}\", packets = 9 }}"));
    assert_ne!(other.run.totals.event_hash, built_in.run.totals.event_hash, "the parameter counts");

    for threads in [1, 2] {
        let of = |scheme: &str| bench::run_with("e", Some(scheme), threads, 0.04).unwrap();
        let (built_in, in_c) = (of("fixed-window"), of(id));
        assert_eq!(in_c.event_hash, built_in.event_hash, "{threads} threads");
        assert_eq!((in_c.packet_hops, in_c.finished), (built_in.packet_hops, 128));
        assert_eq!(in_c.scheme.as_deref(), Some("fixed-window-c"));
    }
}

#[test]
fn the_example_of_three_roles_keeps_its_queue_short() {
    let id = load("marked_share");
    let run = outcome(&format!("\"{id}\"")).run;
    let count = |name: &str| run.traffics[0].counters.actions.iter().find(|(a, _)| a.name() == name).unwrap().1;
    assert!(count("marks_seen") > 0 && count("cuts") > 0);
    let most = |name: &str| run.watch.iter().filter(|s| s.name == name).map(|s| s.value).fold(0.0, f64::max);
    assert!((0.01..=1.0).contains(&most("marked_share")), "{}", most("marked_share"));
    assert!(most("packets") >= 1.0);
    assert!(run.flows.iter().all(|flow| flow.finished.is_some()));
    let without = outcome(&format!("{{ id = \"{id}\", mark_above = 1000000000 }}")).run;
    let finished = without.flows.iter().map(|flow| flow.finished).max().unwrap();
    assert_eq!(without.traffics[0].counters.actions.iter().map(|(_, n)| n).sum::<u64>(), 0, "nothing was marked");
    assert!(finished > fanin_units::Time::from_us(640), "800 KB at 10 Gb/s");
}

#[test]
fn a_wrong_parameter_names_its_key() {
    let id = load("fixed_window");
    let document =
        Spec::from_toml(&spec(&format!("{{ id = \"{id}\", packets = 0 }}")), "x.toml", Path::new("")).unwrap();
    let text = document.check().err().unwrap().to_string();
    let expected = "traffic[0].scheme.packets: packets is 0; write a whole number from 1 to 1000000";
    assert!(text.contains(expected), "{text}");
    let every = fanin_own::load(&compile(&of_tests("every_hook.c"), "every_hook_3.so", &[])).unwrap().scheme.unwrap();
    let refused =
        |id: &str, changes: serde_json::Value| loaded::settings(id, changes.as_object().unwrap()).unwrap_err();
    let cases = [
        (json!({ "limit": 1.5 }), "limit is 1.5: write a whole number from 1 to 100"),
        (json!({ "limit": 101 }), "limit is 101: write a whole number from 1 to 100"),
        (json!({ "ratio": 1.5 }), "ratio is 1.5: write a number from 0 to 1"),
        (json!({ "ratio": "half" }), "ratio is \"half\": write a number from 0 to 1"),
        (json!({ "switched": 1 }), "switched is 1: write true or false"),
        (json!({ "limit": 13 }), "limit is 13: any other number"),
    ];
    for (changes, expected) in cases {
        assert_eq!(refused(every, changes), SettingsError::Value(expected.into()));
    }
    assert_eq!(
        refused(id, json!({ "packet": 8 })),
        SettingsError::UnknownParameter("packet".into(), vec!["packets".into()])
    );
}
