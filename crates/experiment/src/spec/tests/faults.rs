//! Faults and options of PFC: what a spec means, and what is refused.

use super::*;
use fanin_fabric::pauses::{Drain, FaultKind, HostFault, Watchdog, WatchdogAction};
use fanin_units::{Rate, Time};

/// A small network with this in its table of the network, and this policy.
fn spec(policy: &str, lines: &str) -> String {
    format!(
        "spec_version = 1\nname = \"x\"\n[network]\ntopology = {{ kind = \"star\", hosts = 4, link = \"10 Gbps\", \
         delay = \"1 us\" }}\npacket = {{ payload = \"1460 B\", header = \"40 B\" }}\nbuffer = {{ policy = \
         \"{policy}\", per_port = \"100 KB\" }}\n{lines}\n[[traffic]]\nname = \"t\"\nscheme = \"none\"\n\
         pattern = {{ kind = \"permutation\" }}\nsize = {{ fixed = \"1 MB\" }}\n[measure]\nwindow = \"1 ms\"\n\
         pauses = true\n"
    )
}

#[test]
fn faults_and_options_become_what_they_say() {
    let lines = "pfc = { expiry = 1000, watchdog = { detect = \"2 ms\", restore = \"1 ms\", action = \"forward\" } }\n\
                 faults = [{ kind = \"pause-storm\", hosts = [\"h1\", \"h3\"], from = \"1 us\", to = \"2 us\", every = \
                 \"3 us\" }, { kind = \"slow-receiver\", hosts = [\"h1\"], rate = \"1 Gbps\" }, { kind = \
                 \"slow-receiver\", hosts = [\"h0\"], share = 0.25, buffer = \"64 KB\", from = \"1 us\" }]";
    let pauses = checked(&spec("lossless", lines)).unwrap().build().network.pauses.clone();
    assert_eq!((pauses.quanta, pauses.record), (Some(1000), true));
    let (detect, restore) = (Time::from_ms(2), Time::from_ms(1));
    assert_eq!(pauses.watchdog, Some(Watchdog { detect, restore, action: WatchdogAction::Forward }));
    let us = Time::from_us;
    let storm = |host| HostFault { host, from: us(1), to: us(2), kind: FaultKind::PauseStorm { every: Some(us(3)) } };
    let slow = |host, from, drain, buffer| HostFault {
        host,
        from,
        to: Time::NEVER,
        kind: FaultKind::SlowReceiver { drain, buffer },
    };
    let expected = [
        storm(1),
        storm(3),
        slow(1, Time::ZERO, Drain::Rate(Rate::from_gbps(1)), 512_000),
        slow(0, us(1), Drain::Share(0.25), 64_000),
    ];
    assert_eq!(pauses.faults, expected);
    // None of it unless it is set.
    let plain = checked(&spec("lossless", "").replace("pauses = true\n", "")).unwrap();
    assert_eq!(plain.build().network.pauses, Default::default());
}

#[test]
fn what_makes_no_sense_is_refused() {
    let storm = |rest: &str| format!("faults = [{{ kind = \"pause-storm\", {rest} }}]");
    let slow = |rest: &str| format!("faults = [{{ kind = \"slow-receiver\", hosts = [\"h0\"]{rest} }}]");
    let twice = "faults = [{ kind = \"pause-storm\", hosts = [\"h0\"], to = \"5 us\" }, { kind = \"pause-storm\", \
                 hosts = [\"h0\"], from = \"4 us\" }]";
    for (lines, says) in [
        // (1,500 + 64) / 32 = 48.9
        ("pfc = { expiry = 48 }".to_string(), "network.pfc.expiry: 48 quanta are not possible; it is 49 to 65535"),
        ("pfc = { expiry = 65536 }".into(), "network.pfc.expiry: 65536 quanta are not possible"),
        ("pfc = { response = \"2 ms\" }".into(), "network.pfc.response: 2 ms is too long; it is at most 1 ms"),
        (
            "pfc = { watchdog = { detect = \"0 us\", restore = \"1 us\" } }".into(),
            "network.pfc.watchdog.detect: the time is zero",
        ),
        (storm("hosts = [\"h9\"]"), "network.faults[0].hosts[0]: there is no host \"h9\"; did you mean"),
        (storm("hosts = []"), "network.faults[0].hosts: it names 0 hosts"),
        (storm("hosts = [\"sw0\"]"), "network.faults[0].hosts[0]: there is no host \"sw0\""),
        (storm("hosts = [\"h0\"], from = \"2 us\", to = \"2 us\""), "network.faults[0].to: it lasts from 2 us to 2 us"),
        (storm("hosts = [\"h0\"], every = \"0 us\""), "network.faults[0].every: the time between two frames is zero"),
        (twice.into(), "network.faults[1].hosts[0]: \"h0\" has the same fault from 0"),
        (slow(""), "network.faults[0]: it does not say how fast the host is; give a rate"),
        (slow(", rate = \"1 Gbps\", share = 0.5"), "network.faults[0].share: there is a rate too"),
        (slow(", share = 1.5"), "network.faults[0].share: 1.5 is not a possible share"),
        (slow(", share = 0.5, buffer = \"5 KB\""), "network.faults[0].buffer: 5 KB is too small; the headroom"),
    ] {
        let shown = checked(&spec("lossless", &lines)).unwrap_err().to_string();
        assert!(shown.contains(says), "{lines}: {shown}");
    }
    // Without a lossless class there is nothing to pause, but a slow host loses packets.
    for (lines, says) in [
        ("pfc = { response = \"1 us\" }".into(), "network.pfc: no class is lossless, so nothing is paused"),
        ("pfc = { expiry = 1000 }".to_string(), "network.pfc: no class is lossless, so nothing is paused"),
        (storm("hosts = [\"h0\"]"), "network.faults[0]: no class is lossless, so there is nothing to pause"),
        (slow(", share = 0.5, buffer = \"1 KB\""), "network.faults[0].buffer: 1 KB is too small; a full packet needs"),
    ] {
        let shown = checked(&spec("lossy", &lines)).unwrap_err().to_string();
        assert!(shown.contains(says), "{lines}: {shown}");
    }
    assert!(checked(&spec("lossy", &slow(", share = 0.5"))).is_ok());
}
