//! A small network made by hand: its capture is certified, and with one thing wrong it is not.

use fanin_certify::{Facts, Report, Spec, stream};
use fanin_formats::pcapng::Writer;
use fanin_units::{Rate, Time};
use fanin_wire::{Data, Ecn, Envelope, Packet};
use proptest::prelude::*;

const SPEC: &str = r#"
[network.topology]
kind = "star"
hosts = 3
link = "10 Gbps"
delay = "1 us"
[network.buffer]
policy = "lossy"
per_port = "500 KB"
[network.marking]
kind = "step"
above = "4566 B"
at = "dequeue"
[[traffic]]
scheme = { id = "none" }
[measure.capture]
links = "all"
"#;
const PORTS: [&str; 6] = ["h0>sw0", "sw0>h0", "h1>sw0", "sw0>h1", "h2>sw0", "sw0>h2"];
const WIRE: u64 = 1522;

/// A packet that begins on a link.
#[derive(Clone, Debug)]
struct Sent {
    time: u64,
    port: u32,
    host: u32,
    psn: u32,
    payload: usize,
    marked: bool,
    ttl: u8,
}

/// Two hosts send to a third, with these pauses between packets: everything as it should be.
fn network(pauses: &[(u64, u64)]) -> Vec<Sent> {
    let (takes, delay) = (Rate::from_gbps(10).tx_time(WIRE).as_ps(), 1_000_000);
    let mut all = Vec::new();
    let mut arrivals = Vec::new();
    for host in [1u32, 2] {
        let mut free = u64::from(host);
        for (psn, (first, second)) in (0..).zip(pauses) {
            let time = free + if host == 1 { *first } else { *second };
            free = time + takes;
            let sent = Sent { time, port: 2 * host, host, psn, payload: 1460, marked: false, ttl: 64 };
            arrivals.push((free + delay, sent.clone()));
            all.push(sent);
        }
    }
    arrivals.sort_by_key(|(at, sent)| (*at, sent.host));
    let mut free = 0;
    let mut departures: Vec<(u64, u64)> = Vec::new();
    for (at, sent) in &arrivals {
        let time = free.max(*at);
        free = time + takes;
        departures.push((*at, time));
        all.push(Sent { time, port: 1, ttl: 63, ..sent.clone() });
    }
    let first = all.len() - departures.len();
    for (number, (_, left)) in departures.iter().enumerate() {
        let waiting = departures[number + 1..].iter().filter(|(at, _)| at <= left).count() as u64;
        all[first + number].marked = waiting * WIRE > 4566;
    }
    all.sort_by_key(|sent| sent.time);
    all
}

fn capture(all: &[Sent]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), u64::MAX).unwrap();
    for name in PORTS {
        writer.interface(name, Rate::from_gbps(10), 2048).unwrap();
    }
    let mac = |node: u32| [2, 0, 0, 0, 0, node as u8 + 1];
    for sent in all {
        let envelope = Envelope {
            source_mac: mac(sent.host),
            destination_mac: mac(3),
            source_ip: [10, 0, 0, sent.host as u8 + 1],
            destination_ip: [10, 0, 0, 1],
            source_port: 49_152,
            dscp: 8,
            ecn: if sent.marked { Ecn::CongestionExperienced } else { Ecn::Capable0 },
            ttl: sent.ttl,
        };
        let payload = vec![0; sent.payload];
        let (start, end) = (sent.psn == 0, false);
        let (destination_qp, psn) = (256 + sent.host, sent.psn);
        let packet =
            Packet::Data(Data { envelope, destination_qp, psn, start, end, ack_request: end, payload: &payload });
        let mut bytes = [0; 2048];
        let len = packet.encode(&mut bytes).unwrap();
        writer.packet(sent.port, Time::from_ps(sent.time), &bytes[..len.min(128)], len as u32).unwrap();
    }
    writer.finish(Time::from_ms(100)).unwrap()
}

fn certified(all: &[Sent]) -> Report {
    stream("test", &capture(all)[..], Spec::read(SPEC).unwrap(), Facts::default()).unwrap()
}

/// The laws that do not hold.
fn broken(report: &Report) -> Vec<&'static str> {
    report.laws.iter().filter(|law| law.tally.violations > 0).map(|law| law.law).collect()
}

fn pauses() -> impl Strategy<Value = Vec<(u64, u64)>> {
    // Short ones queue, and some let the port become idle.
    let pause = || prop_oneof![Just(0u64), 0..200_000u64, 3_000_000..6_000_000u64];
    proptest::collection::vec((pause(), pause()), 8..40)
}

fn cases() -> ProptestConfig {
    let cases = std::env::var("FANIN_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(64);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// The numbers of the packets that leave the switch.
fn departures(all: &[Sent]) -> Vec<usize> {
    (0..all.len()).filter(|at| all[*at].port == 1).collect()
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_faultless_network_breaks_no_law(pauses in pauses()) {
        let report = certified(&network(&pauses));
        prop_assert_eq!(broken(&report), Vec::<&str>::new());
        prop_assert_eq!(report.packets, 4 * pauses.len() as u64);
        for law in ["rate", "conserved", "unchanged", "order", "eager", "marks", "sequence"] {
            let of = report.laws.iter().find(|of| of.law == law).unwrap();
            prop_assert!(of.tally.checked > 0 && of.not_checked.is_none(), "{}", law);
        }
    }

    #[test]
    fn one_fault_is_found(pauses in pauses(), fault in 0..10usize, place in any::<prop::sample::Index>()) {
        let mut all = network(&pauses);
        let of_switch = departures(&all);
        // What is lost right at the end of a capture may still wait.
        let at = of_switch[place.index(of_switch.len() - 4)];
        let (expected, sorts): (&[&str], bool) = match fault {
            0 => {
                all.remove(at);
                (&["limits", "eager", "rate"], false)
            }
            1 => {
                let copy = all[at].clone();
                all.insert(at, copy);
                (&["conserved"], false)
            }
            2 => {
                all[at].time -= 1;
                (&["rate", "conserved"], true)
            }
            3 => {
                all[at].time += 1;
                (&["rate", "eager"], true)
            }
            4 => {
                all[at].marked = !all[at].marked;
                (&["marks"], false)
            }
            5 => {
                all[at].payload -= 4;
                (&["conserved"], false)
            }
            6 => {
                let next = of_switch[of_switch.iter().position(|other| *other == at).unwrap() + 1];
                let (one, other) = (all[at].time, all[next].time);
                (all[at].time, all[next].time) = (other, one);
                (&["order", "conserved"], true)
            }
            7 => {
                let (host, psn) = (all[at].host, all[at].psn);
                all.iter_mut().filter(|of| of.host == host && of.psn >= psn).for_each(|of| of.psn += 1);
                (&["sequence"], false)
            }
            8 => {
                all[at].ttl = 64;
                (&["unchanged"], false)
            }
            _ => {
                // 1 % too fast, from here on.
                let begin = all[at].time;
                let scaled = |time: u64| begin + (time - begin) * 99 / 100;
                all.iter_mut().filter(|of| of.port == 1 && of.time > begin).for_each(|of| of.time = scaled(of.time));
                (&["rate", "conserved"], true)
            }
        };
        if sorts {
            all.sort_by_key(|sent| sent.time);
        }
        let found = broken(&certified(&all));
        prop_assert!(found.iter().any(|law| expected.contains(law)), "fault {}: {:?}", fault, found);
    }
}

#[test]
fn what_a_capture_of_some_links_cannot_tell_is_not_checked() {
    let spec = Spec::read(&SPEC.replace("links = \"all\"", "links = [\"h1>sw0\"]")).unwrap();
    let mut all = network(&[(0, 0), (0, 0)]);
    all.retain(|sent| sent.port == 2);
    let report = stream("test", &capture(&all)[..], spec, Facts::default()).unwrap();
    assert_eq!(broken(&report), Vec::<&str>::new());
    let of = |law: &str| report.laws.iter().find(|of| of.law == law).unwrap();
    assert_eq!(of("rate").tally.checked, 2);
    assert_eq!(of("conserved").not_checked.as_deref(), Some("the capture has some links only"));
}

#[test]
fn tables_that_differ_from_the_capture_are_found() {
    let all = network(&[(0, 0), (0, 0)]);
    let certified = |packets: u64, end: u64| {
        let text =
            format!(r#"{{"ports": {{"sw0>h0": [{packets}, 6088, 0, 0]}}, "messages": {{"257": [2920, {end}]}}}}"#);
        let facts = Facts::read(&text).unwrap();
        broken(&stream("test", &capture(&all)[..], Spec::read(SPEC).unwrap(), facts).unwrap())
    };
    assert_eq!(certified(4, 0), Vec::<&str>::new());
    assert_eq!(certified(5, 0), ["tables"]);
    assert!(Facts::read("{\"ports\": {\"a\": [1]}}").unwrap_err().contains("a: four numbers"));
}

#[test]
fn at_most_twenty_violations_of_a_law_are_listed() {
    let mut all = network(&[(0, 0); 40]);
    all.iter_mut().filter(|sent| sent.port == 1).for_each(|sent| sent.ttl = 64);
    let report = certified(&all);
    let law = report.laws.iter().find(|law| law.law == "unchanged").unwrap();
    assert_eq!((law.tally.violations, law.tally.first.len()), (80, 20));
    assert_eq!(report.to_json()["violations"], 80);
}

#[test]
fn a_file_that_is_no_capture_of_this_network_is_refused() {
    let refused = |bytes: &[u8]| stream("x.pcapng", bytes, Spec::read(SPEC).unwrap(), Facts::default()).unwrap_err();
    assert!(refused(b"no capture, but a text").contains("this is not a pcapng file"));
    let mut writer = Writer::new(Vec::new(), u64::MAX).unwrap();
    writer.interface("the uplink", Rate::from_gbps(10), 128).unwrap();
    let other = refused(&writer.finish(Time::ZERO).unwrap());
    assert!(other.contains("\"the uplink\" is no port like"), "{other}");
}
