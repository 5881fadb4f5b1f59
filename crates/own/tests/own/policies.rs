//! Load balancing and queue disciplines of libraries.

use crate::{compile, of_tests, root};
use fanin_cc::own::Program;
use fanin_cc::{Balancer, BalancerProgram, Choice, DisciplineProgram, Header, OwnBalancing, SwitchInfo};
use fanin_experiment::loaded::{self, Loaded};
use fanin_experiment::{Outcome, Spec, run};
use fanin_own::Ids;
use fanin_units::Time;
use serde_json::Map;
use std::path::Path;
use std::sync::Arc;

/// What an example has.
fn example(name: &str) -> Ids {
    let source = root().join("examples/own").join(format!("{name}.c"));
    fanin_own::load(&compile(&source, &format!("{name}.so"), &[])).unwrap()
}

/// Eight hosts in two racks under four spines, in incasts, with these keys of the network.
fn outcome(network: &str, threads: usize) -> Outcome {
    let text = format!(
        "spec_version = 1\nname = \"x\"\n[network]\ntopology = {{ kind = \"leaf-spine\", leaves = 2, hosts = 4, spines \
         = 4, link = \"10 Gbps\", delay = \"1 us\" }}\nbuffer = {{ policy = \"unlimited\" }}\n{network}\n[[traffic]]\n\
         name = \"in\"\nscheme = \"dctcp-rate\"\nsize = {{ fixed = \"50 KB\" }}\nrdma = {{ recovery = \
         \"selective-repeat\", nack_threshold = 64 }}\npattern = {{ kind = \"incast\", degree = 7, every = \"200 us\" \
         }}\n[measure]\nwindow = \"2 ms\"\n"
    );
    let spec = Spec::from_toml(&text, "x.toml", Path::new("")).unwrap_or_else(|problems| panic!("{problems}"));
    let spec = spec.check().unwrap_or_else(|problems| panic!("{problems}"));
    let mut built = spec.build();
    built.threads = threads;
    run(built, &mut |_| true)
}

/// `two_choices.c`, in Rust.
struct TwoChoices(u64);

impl TwoChoices {
    fn draw(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((((x ^ x >> 31) >> 32) * count as u64) >> 32) as usize
    }
}

impl Balancer for TwoChoices {
    fn choose(&mut self, _: Time, _: &Header, _: u32, choices: &[Choice]) -> usize {
        let first = self.draw(choices.len());
        let other = self.draw(choices.len() - 1);
        let second = if other < first { other } else { other + 1 };
        if choices[second].queued < choices[first].queued { second } else { first }
    }
}

#[derive(Debug)]
struct InRust;

impl BalancerProgram for InRust {
    fn build(&self, switch: &SwitchInfo<'_>) -> Box<dyn Balancer> {
        Box::new(TwoChoices(switch.seed))
    }
}

#[test]
fn two_choices_in_c_is_the_same_in_rust_on_any_number_of_threads() {
    let make = |_: &Map<String, serde_json::Value>| Ok(Arc::new(OwnBalancing::Switches(Arc::new(InRust))));
    let (id, manual, defaults) = ("in-rust", String::new(), Map::new());
    loaded::load(Loaded { id, manual, defaults, make: Box::new(make) }).unwrap();
    let ids = example("two_choices");
    assert_eq!(ids, Ids { scheme: None, balancer: Some("two-choices"), discipline: None });
    let hash = |policy: &str, threads| outcome(&format!("balancing = \"{policy}\""), threads).run.totals.event_hash;
    let in_rust = hash("in-rust", 1);
    assert_eq!(hash("two-choices", 1), in_rust);
    assert_eq!(hash("two-choices", 2), in_rust);
    assert!(hash("random", 1) != in_rust && hash("least-queue", 1) != in_rust && hash("flow-hash", 1) != in_rust);
}

#[test]
fn step_mark_in_c_is_the_built_in_step() {
    assert_eq!(example("step_mark").discipline, Some("step-mark"));
    let ours = |above: u32, threads| {
        let keys = format!("marking = {{ kind = \"off\" }}\ndiscipline = {{ id = \"step-mark\", above = {above} }}");
        outcome(&keys, threads).run
    };
    let built_in = outcome("marking = { kind = \"step\", above = \"20 KB\", at = \"enqueue\" }", 1).run;
    let unmarked = outcome("marking = { kind = \"off\" }", 1).run;
    assert_ne!(built_in.totals.event_hash, unmarked.totals.event_hash, "marks slow senders down");
    for threads in [1, 2] {
        let run = ours(20_000, threads);
        assert_eq!(run.totals.event_hash, built_in.totals.event_hash, "{threads} threads");
        assert_eq!(run.flows, built_in.flows);
    }
    assert_ne!(ours(40_000, 1).totals.event_hash, built_in.totals.event_hash, "the parameter counts");
}

#[test]
fn one_library_may_have_all_three() {
    let library = compile(&of_tests("policies.c"), "policies.so", &[]);
    let ids = fanin_own::load(&library).unwrap();
    assert_eq!(ids, Ids { scheme: Some("beside"), balancer: Some("first"), discipline: Some("queue") });
    assert!(loaded::find::<dyn Program>("beside").is_some() && loaded::find::<dyn Program>("first").is_none());
    assert!(loaded::find::<dyn DisciplineProgram>("queue").unwrap().manual.starts_with("# queue\n"));
    let expected = [
        ("balancing", "first", 1, "open of switch 10 at 0 ps reports: there are too few ports"),
        ("balancing", "first", 2, "choose of switch "),
        ("balancing", "first", 3, "choose of switch "),
        ("discipline", "queue", 4, "on_enqueue of switch "),
        ("discipline", "queue", 5, "on_dequeue of switch "),
    ];
    let said = [
        "there are too few ports",
        " chose 4 of 4 ports: they are numbered from 0",
        " set wake_at, but load balancing and queue disciplines have no timer: leave it",
        " answered 4: return FANIN_ADMIT, FANIN_MARK, FANIN_DROP or FANIN_TRIM",
        " reports: it left too early",
    ];
    for ((key, id, wrong, starts), ends) in expected.into_iter().zip(said) {
        let outcome = outcome(&format!("{key} = {{ id = \"{id}\", wrong = {wrong} }}"), 1);
        let failure = outcome.failure.unwrap_or_else(|| panic!("no failure for {wrong}"));
        let expected = format!("{id} ({}): {starts}", library.display());
        assert!(failure.problem.starts_with(&expected), "{wrong}: {}", failure.problem);
        assert!(failure.problem.ends_with(ends), "{wrong}: {}", failure.problem);
        assert!(failure.problem.contains(&format!(" at {}", failure.at)), "{wrong}: {}", failure.problem);
        assert!(outcome.cancelled, "{wrong}: what was measured is marked as incomplete");
    }
    let right = outcome("balancing = \"first\"\ndiscipline = \"queue\"", 1);
    assert!(right.failure.is_none() && !right.cancelled);
}

#[test]
fn impossible_policies_are_refused() {
    let cases = [
        ("BUT=.choose = 0", "its fanin_balancer() has other hooks than `open` and `choose`, or no `choose`"),
        ("BUT=.on_enqueue = on_enqueue", "its fanin_balancer() has other hooks than `open` and `choose`"),
        ("BUT=.id = \"random\"", "there is a built-in policy of load balancing \"random\": "),
        ("BUT=.id = \"My\"", "\"My\" is no id of a policy of load balancing: "),
        ("BUT=.id = 0", "its id is no text: write one like \"my-balancer\""),
        ("BUT=.size = 1u << 30", "size is 1073741824: at most 16777216 bytes"),
        ("BUT=.struct_size = 8", "its struct fanin_policy says that it has 8 bytes instead of "),
        ("BUT=.version = 1", "it was built for version 1 of fanin_scheme.h"),
    ];
    for (at, (change, expected)) in cases.into_iter().enumerate() {
        let flags = [&*format!("-D{change}"), "-DSCHEME=\"beside-refused\""];
        let library = compile(&of_tests("policies.c"), &format!("policies-{at}.so"), &flags);
        let error = fanin_own::load(&library).expect_err(change);
        assert!(error.problem.starts_with(expected), "{change}: {}", error.problem);
        assert!(loaded::find::<dyn Program>("beside-refused").is_none(), "{change}: nothing of it is known");
    }
}
