//! Frames between the parts of a network, all in one thread: everything is as in the simulator, to the picosecond.

mod common;
#[path = "common/local.rs"]
mod local;

use common::*;
use fanin_cc::Settings;
use fanin_engine::{Stream, Streams};
use fanin_experiment::built::Built;
use fanin_units::Time;
use local::Local;
use std::cell::Cell;

fn parity(name: &str, text: &str, until: Time) {
    let spec = spec(text);
    assert!(parity_of(name, || spec.build(), until) > 0, "{name}: no messages");
}

fn parity_of(name: &str, build: impl Fn() -> Built, until: Time) -> usize {
    let mut local = Local::new(&build).unwrap();
    local.run_until(until, |_| {});
    compare(name, build(), &local.reports(), until)
}

#[test]
fn an_incast_in_a_star_under_every_scheme() {
    for preset in presets() {
        parity(preset, &experiment(&star(5), preset, INCAST), Time::from_ms(2));
    }
}

#[test]
fn an_incast_in_a_star_with_pauses_under_every_scheme() {
    let mut pauses = 0;
    for preset in presets() {
        let text = experiment(&(star(5) + PAUSES), preset, INCAST);
        // What sends credits drops some of them, which a lossless network must not.
        let Some(spec) = try_spec(&text) else { continue };
        parity(preset, &text, Time::from_ms(1));
        pauses += u32::from(simulated(spec.build(), Time::from_ms(1)).incidents().seen.pauses > 0);
    }
    assert!(pauses > 15, "{pauses} schemes with pauses");
}

#[test]
fn random_messages_in_a_leaf_spine_network_under_every_scheme() {
    for preset in presets() {
        parity(preset, &experiment(LEAF_SPINE, preset, POISSON), Time::from_ms(2));
    }
}

/// Deflection of messages, of packets, with and without the table: both racks send to one host.
#[test]
fn deflection() {
    for preset in presets().filter(|preset| Settings::preset(preset).unwrap().deflection().is_some()) {
        let text = experiment_of(WIDE, &(traffic("t", preset, DENSE) + &traffic("more", "none", MANY)));
        parity(preset, &text, Time::from_ms(2));
        let of = simulated(spec(&text).build(), Time::from_ms(2));
        let deflected: u64 = of.flows().iter().map(|flow| u64::from(flow.deflections)).sum();
        assert!(deflected > 10, "{preset}: {deflected}");
    }
}

#[test]
fn packets_balanced_in_every_way() {
    for balancing in ["random", "round-robin", "least-queue", "flowlets"] {
        let network = format!("{WIDE}balancing = \"{balancing}\"\n");
        let text = experiment(&network, "dcqcn", &format!("{INCAST}rdma = {{ recovery = \"irn\" }}\n"));
        let until = Time::from_ms(1);
        parity(balancing, &text, until);
        let of = simulated(spec(&text).build(), until).totals().hosts.reordered;
        assert!(of > 0 || balancing == "flowlets", "{balancing}: {of}");
    }
}

#[test]
fn pauses_and_losses_under_every_recovery() {
    for (name, scheme, network, recovery) in [
        ("pauses", "none", PAUSES, ""),
        ("go-back-n", "dcqcn", LOSSES, ""),
        ("go-back-0", "dcqcn", LOSSES, "rdma = { recovery = \"go-back-0\" }\n"),
        ("irn", "none", FEW, "rdma = { recovery = \"irn\" }\n"),
        ("selective-repeat", "none", FEW, "rdma = { recovery = \"selective-repeat\" }\n"),
        ("connections", "dcqcn", LOSSES, "rdma = { persistent = true }\n"),
    ] {
        let text = experiment(&(star(5) + network), scheme, &format!("{INCAST}{recovery}"));
        let until = Time::from_ms(3);
        parity(name, &text, until);
        let of = simulated(spec(&text).build(), until);
        let (pauses, drops) = (of.incidents().seen.pauses, of.totals().drops.total());
        assert!(if name == "pauses" { pauses > 10 && drops == 0 } else { drops > 5 }, "{name}: {pauses}, {drops}");
    }
}

#[test]
fn hosts_with_two_links_under_every_scheme() {
    for preset in presets() {
        let spec = spec(&experiment(&star(5), preset, POISSON));
        assert!(parity_of(preset, || with_two_links(spec.build()), Time::from_us(500)) > 5);
    }
}

/// A spec drawn at random: topology, buffers, one or two traffics with their recovery, pattern and sizes, seed.
fn draw(draws: &mut Stream, presets: &[&str], seed: u64) -> String {
    let mut pick = |of: &[&str]| of[draws.below(of.len() as u64) as usize].to_string();
    let link = pick(&["10 Gbps", "25 Gbps", "1 Gbps"]);
    let network = pick(&[&star(5), LEAF_SPINE, WIDE]).replace("10 Gbps", &link) + &pick(&["", PAUSES, LOSSES]);
    let count = pick(&["a", "ab"]);
    let mut traffics = String::new();
    for name in count.split("").filter(|name| !name.is_empty()) {
        let mut pick = |of: &[&str]| of[draws.below(of.len() as u64) as usize].to_string();
        let preset = pick(presets);
        let recovery = pick(&[
            "",
            "rdma = { recovery = \"irn\" }\n",
            "rdma = { recovery = \"selective-repeat\" }\n",
            "rdma = { persistent = true }\n",
        ]);
        let pattern = pick(&[POISSON, INCAST]).replace("degree = 4", "degree = 3");
        let size = format!("\"{} B\"", 1 + draws.below(100_000));
        let pattern = pattern.replace("\"30 KB\"", &size).replace("\"200 KB\"", &size);
        traffics += &traffic(name, &preset, &(pattern + &recovery));
    }
    experiment_of(&network, &traffics).replace("seed = 3", &format!("seed = {seed}"))
}

#[test]
fn random_specs() {
    let cases: u64 = std::env::var("FANIN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64) / 8;
    let presets: Vec<_> = presets().collect();
    let mut draws = Streams::new(11).stream("specs", 0);
    let (mut seed, mut ran, mut messages) = (0, 0, 0);
    while ran < cases {
        seed += 1;
        assert!(seed < 10 * cases, "few of the specs can run");
        let text = draw(&mut draws, &presets, seed);
        // Not every scheme goes with every network, recovery or other scheme.
        let Some(spec) = try_spec(&text) else { continue };
        ran += 1;
        let until = Time::from_us(1 + draws.below(1000));
        let two_links = seed % 4 == 0 && text.contains("star");
        let build = || if two_links { with_two_links(spec.build()) } else { spec.build() };
        messages += parity_of(&format!("two links: {two_links}\n{text}"), build, until);
    }
    assert!(messages as u64 > cases);
}

/// Two frames of one link in each other's place, once, is seen under every scheme.
#[test]
fn a_link_that_reorders_is_seen() {
    let until = Time::from_us(1500);
    // Two frames leave within the time for which one part runs ahead of another, which is longer on a long link.
    let network = star(5).replace("1 us", "100 us");
    for preset in presets() {
        let spec = spec(&experiment(&network, preset, INCAST));
        let mut local = Local::new(|| spec.build()).unwrap();
        let mut swapped = false;
        local.run_until(until, |passing| swapped = swapped || swap(passing, |port| port.0 % 2 == 0));
        assert!(swapped, "{preset}");
        assert!(differs(spec.build(), &local.reports(), until), "{preset}: the comparison has to fail");
    }
}

/// A host that lets its paced flows send ahead of their time, as those with more credit than the spec gives them.
#[test]
fn a_paced_flow_that_is_ready_too_early_is_seen() {
    let until = Time::from_ms(1);
    let mut seen = Vec::new();
    for preset in presets() {
        let traffics = traffic("a", preset, INCAST) + &traffic("b", preset, POISSON);
        let Some(spec) = try_spec(&experiment_of(&(star(5) + PAUSES), &traffics)) else { continue };
        // The switches are built first, then the hosts.
        let built = Cell::new(0);
        let mut local = Local::new(|| {
            let mut of = spec.build();
            if built.replace(built.get() + 1) == 2 {
                of.traffics.iter_mut().for_each(|traffic| traffic.endpoint.pacing_credit += 10_000);
            }
            of
        })
        .unwrap();
        local.run_until(until, |_| {});
        if differs(spec.build(), &local.reports(), until) {
            seen.push(preset);
        }
    }
    for preset in ["dcqcn", "dart", "hpcc", "rcp"] {
        assert!(seen.contains(&preset), "{preset}: the comparison has to fail, as under {seen:?}");
    }
}
