//! Senders' choice of paths by libraries.

use crate::{compile, of_tests, root};
use fanin_cc::OwnBalancing;
use fanin_experiment::{Outcome, Spec, loaded, run};
use fanin_own::Ids;
use std::path::Path;

/// Eight hosts in two racks under four spines, one of them slow, whose short queues mark, cut and drop packets, for
/// longer than the 10 ms for which a timeout freezes REPS.
fn outcome(scheme: &str, network: &str, threads: usize) -> Outcome {
    let text = format!(
        "spec_version = 1\nname = \"x\"\n[network]\ntopology = {{ kind = \"leaf-spine\", leaves = 2, hosts = 4, spines \
         = 4, link = \"10 Gbps\", delay = \"1 us\" }}\nbuffer = {{ policy = \"lossy\", per_port = \"30 KB\" }}\n\
         links = [{{ at = \"spine1\", speed = 0.1, error_rate = 0.02 }}]\ntrimming = {{ headers = \"2 KB\" }}\n\
         marking = {{ kind = \"step\", above = \"10 KB\" }}\n{network}\n[[traffic]]\nname = \"in\"\n\
         scheme = \"{scheme}\"\nsize = {{ fixed = \"3 MB\" }}\nrdma = {{ recovery = \"unordered\", \
         timeout = \"100 us\" }}\npattern = {{ kind = \"incast\", degree = 7, every = \"100 ms\" }}\n\
         [measure]\nwindow = \"1 ms\"\ndrain = true\n"
    );
    let spec = Spec::from_toml(&text, "x.toml", Path::new("")).unwrap_or_else(|problems| panic!("{problems}"));
    let spec = spec.check().unwrap_or_else(|problems| panic!("{problems}"));
    let mut built = spec.build();
    built.threads = threads;
    run(built, &mut |_| true)
}

#[test]
fn reps_in_c_is_the_built_in_reps_on_any_number_of_threads() {
    let source = root().join("examples/own/reps.c");
    let ids = fanin_own::load(&compile(&source, "reps.so", &[])).unwrap();
    assert_eq!(ids, Ids { scheme: None, balancer: Some("c-reps"), discipline: None });
    let run = |keys: &str, threads| outcome("dctcp-rate", keys, threads).run;
    let built_in = run("balancing = \"reps\"", 1);
    let totals = &built_in.totals;
    assert!(totals.hosts.timeouts > 0 && totals.trimmed > 0, "every feedback occurs: {totals:?}");
    for threads in 1..=3 {
        let ours = run("balancing = \"c-reps\"", threads);
        assert_eq!(ours.totals.event_hash, totals.event_hash, "{threads} threads");
        assert_eq!(ours.flows, built_in.flows);
    }
    assert_ne!(run("balancing = \"c-reps\"\npaths = 8", 1).totals.event_hash, totals.event_hash);
    assert_eq!(
        run("balancing = \"c-reps\"\npaths = 8", 1).totals.event_hash,
        run("balancing = \"reps\"\npaths = 8", 1).totals.event_hash
    );
}

#[test]
fn what_a_selector_does_wrong_ends_the_run() {
    let library = compile(&of_tests("selectors.c"), "selectors.so", &[]);
    let ids = fanin_own::load(&library).unwrap();
    assert_eq!(ids, Ids { scheme: Some("writes"), balancer: Some("in-turn"), discipline: Some("writes-too") });
    let failure = |wrong: u32| {
        let keys = format!("paths = 64\nbalancing = {{ id = \"in-turn\", wrong = {wrong} }}");
        outcome("dctcp-rate", &keys, 1).failure.map(|failure| failure.problem)
    };
    assert_eq!(failure(0), None);
    let said = [
        ("open of flow ", " reports: there are too few paths"),
        ("next_path of flow ", " answered 65536: a path is a number from 0 to 65535"),
        ("next_path of flow ", " set wake_at, but a selector of paths has no timer: leave it"),
        ("feedback of flow ", " reports: it was marked"),
    ];
    for (wrong, (starts, ends)) in (1..).zip(said) {
        let problem = failure(wrong).unwrap_or_else(|| panic!("no failure for {wrong}"));
        let expected = format!("in-turn ({}): {starts}", library.display());
        assert!(problem.starts_with(&expected) && problem.ends_with(ends), "{wrong}: {problem}");
    }
}

#[test]
fn no_switch_may_write_where_senders_put_the_number_of_a_path() {
    fanin_own::load(&compile(&of_tests("selectors.c"), "writes.so", &[])).unwrap();
    for (scheme, keys, hook) in
        [("writes", "", "writes ("), ("dctcp-rate", "discipline = \"writes-too\"\n", "writes-too (")]
    {
        let of = |balancing: &str| outcome(scheme, &format!("{keys}balancing = \"{balancing}\""), 1).failure;
        let problem = of("reps").expect("a failure").problem;
        assert!(problem.starts_with(hook) && problem.contains("on_enqueue of switch "), "{problem}");
        let why = "wrote cc_feedback, where senders put the number of a packet's path under this network.balancing: \
                   leave the field as it is, or set network.balancing = \"random\", with which switches choose";
        assert!(problem.ends_with(why), "{problem}");
        assert_eq!(of("random"), None);
    }
}

#[test]
fn impossible_selectors_are_refused() {
    let cases = [
        ("BUT=.next_path = 0", "its fanin_selector() has no `next_path`: every selector needs it"),
        ("BUT=.id = \"reps\"", "there is a built-in policy of load balancing \"reps\": "),
        ("BUT=.id = 0", "its id is no text: write one like \"my-selector\""),
        ("BUT=.size = 1u << 30", "size is 1073741824: at most 16777216 bytes"),
        ("BUT=.struct_size = 8", "its struct fanin_selector says that it has 8 bytes instead of "),
        ("BESIDE", "it exports both fanin_balancer and fanin_selector, and a network has one load balancing: "),
    ];
    for (at, (change, expected)) in cases.into_iter().enumerate() {
        let library = compile(&of_tests("selectors.c"), &format!("selectors-{at}.so"), &[&format!("-D{change}")]);
        let error = fanin_own::load(&library).expect_err(change);
        assert!(error.problem.starts_with(expected), "{change}: {}", error.problem);
    }
    assert!(loaded::find::<OwnBalancing>("beside-it").is_none());
}
