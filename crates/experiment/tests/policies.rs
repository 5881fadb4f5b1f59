//! Load balancing and queue disciplines that were loaded. What is loaded is known to the whole process, so this is a
//! test program of its own.

use fanin_cc::{
    Balancer, BalancerProgram, Balancing, Choice, Discipline, DisciplineProgram, Header, OwnBalancing, Queued,
    SwitchInfo, Verdict,
};
use fanin_experiment::loaded::{self, Kind, Loaded};
use fanin_experiment::{CheckedSpec, Problems, Spec};
use fanin_units::Time;
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;

/// A spec of a network with several paths, with these keys of the network.
fn checked(network: &str, scheme: &str) -> Result<CheckedSpec, Problems> {
    let text = format!(
        "spec_version = 1\nname = \"x\"\n[network]\ntopology = {{ kind = \"leaf-spine\", leaves = 2, hosts = 2, spines \
         = 2, link = \"10 Gbps\", delay = \"1 us\" }}\nbuffer = {{ policy = \"unlimited\" }}\n{network}\n[[traffic]]\n\
         name = \"in\"\nscheme = {scheme}\nsize = {{ fixed = \"10 KB\" }}\npattern = {{ kind = \"permutation\" \
         }}\n[measure]\nwindow = \"1 ms\"\n"
    );
    Spec::from_toml(&text, "x.toml", Path::new(""))?.check()
}

/// Programs that do nothing.
#[derive(Debug)]
struct Idle;

impl BalancerProgram for Idle {
    fn build(&self, _: &SwitchInfo<'_>) -> Box<dyn Balancer> {
        Box::new(Self)
    }
}

impl Balancer for Idle {
    fn choose(&mut self, _: Time, _: &Header, _: u32, _: &[Choice]) -> usize {
        0
    }
}

impl DisciplineProgram for Idle {
    fn build(&self, _: &SwitchInfo<'_>) -> Box<dyn Discipline> {
        Box::new(Self)
    }
}

impl Discipline for Idle {
    fn on_enqueue(&mut self, _: Time, _: &mut Queued<'_>) -> Verdict {
        Verdict::Admit
    }
}

/// Loads both with these ids and a parameter.
fn load_idle(balancing: &'static str, discipline: &'static str) {
    fn idle<P: Kind + ?Sized>(id: &'static str, made: fn() -> Arc<P>) {
        let defaults = Map::from_iter([("gap".to_string(), Value::from("5 us")), ("n".to_string(), Value::from(1))]);
        let make = move |parameters: &Map<String, Value>| match &parameters["n"] {
            n if *n == 0 => Err("n is 0: write 1 or more".to_string()),
            _ => Ok(made()),
        };
        loaded::load(Loaded { id, manual: String::new(), defaults, make: Box::new(make) }).unwrap();
    }
    idle::<OwnBalancing>(balancing, || Arc::new(OwnBalancing::Switches(Arc::new(Idle))));
    idle::<dyn DisciplineProgram>(discipline, || Arc::new(Idle));
}

#[test]
fn loaded_policies_are_named_in_the_spec() {
    let of = |network: &str| checked(network, "\"dcqcn\"");
    assert!(of("balancing = \"idle-b\"").is_err(), "it is not loaded");
    load_idle("idle-b", "idle-d");
    let own = of("balancing = \"idle-b\"\ndiscipline = { id = \"idle-d\", n = 3 }").unwrap();
    assert!(matches!(own.network().balancing, Balancing::Own(_)) && own.network().discipline.is_some());
    // What was written has all parameters, and runs with the same programs.
    let text = own.to_toml();
    assert!(text.contains("id = \"idle-b\"\ngap = \"5 us\"\nn = 1") && text.contains("n = 3"), "{text}");
    assert!(Spec::from_toml(&text, "x.toml", Path::new("")).unwrap().check().unwrap() == own);
    // One of the two alone leaves the other as it is, and what is built in may be set later.
    let one = of("balancing = \"idle-b\"").unwrap();
    assert!(one.network().discipline.is_none() && one.to_toml().contains("discipline = \"fifo\""));
    let spec = Spec::from_toml(&text, "x.toml", Path::new("")).unwrap();
    let random = spec.set("network.balancing", "random").unwrap().check().unwrap();
    assert!(matches!(random.network().balancing, Balancing::Random));
    assert!(spec.set("network.balancing", "{ id = \"idle-b\", n = 2 }").unwrap().check().is_ok());

    let refused = |network: &str, scheme: &str, parts: &[&str]| {
        let shown = checked(network, scheme).expect_err("impossible").to_string();
        parts.iter().for_each(|part| assert!(shown.contains(part), "{part:?} is not in {shown}"));
    };
    let dcqcn = "\"dcqcn\"";
    refused("balancing = \"idle-bb\"", dcqcn, &["network.balancing", "did you mean \"idle-b\"?", "is loaded first"]);
    refused("discipline = \"idle-b\"", dcqcn, &["network.discipline", "did you mean \"idle-d\"?"]);
    refused("balancing = { id = \"idle-b\", n = 0 }", dcqcn, &["network.balancing.n: n is 0; write 1 or more"]);
    refused("balancing = { id = \"idle-b\", gab = 1 }", dcqcn, &["network.balancing.gab", "did you mean \"gap\"?"]);
    refused("balancing = \"idle-b\"\nflowlet_gap = \"7 us\"", dcqcn, &["only balancing = \"flowlets\" has a gap"]);
    refused("balancing = \"idle-b\"", "\"dart\"", &["network.balancing", "deflects"]);
    refused("routing = \"symmetric\"\nbalancing = \"idle-b\"", dcqcn, &["network.balancing", "\"flow-hash\""]);
}
