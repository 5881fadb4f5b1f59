//! Faults and options of PFC: hosts that receive slowly or pause without end, pauses that expire, the storm watchdog,
//! and the record of which pause led to which.

use crate::common::random::{Case, congested};
use crate::common::*;
use fanin_fabric::parallel::why_not_cut;
use fanin_fabric::pauses::{Drain, FaultKind, HostFault, PauseOptions, Watchdog, WatchdogAction};
use fanin_fabric::*;
use fanin_units::{PortId, Rate, Time};
use proptest::prelude::*;

/// A PAUSE frame of 64 bytes at 10 Gb/s, and a link of 1 us: from the decision until it counts.
const FRAME: Time = Time::from_ps(51_200 + 1_000_000);

fn fault(host: u32, from: Time, to: Time, kind: FaultKind) -> HostFault {
    HostFault { host, from, to, kind }
}

fn storm(from: Time, to: Time) -> HostFault {
    fault(1, from, to, FaultKind::PauseStorm { every: None })
}

fn slow(rate: Rate, buffer: u64, to: Time) -> HostFault {
    fault(1, Time::ZERO, to, FaultKind::SlowReceiver { drain: Drain::Rate(rate), buffer })
}

/// Of links of 10 Gb/s and 1 us.
fn headroom() -> u64 {
    pfc::headroom(gbps(10), (us(1), Time::ZERO), WIRE, PACKET.pause as u64)
}

/// Host 0, switches 2, 3 and 4, host 1, and its messages to host 1, without ACKs. A switch pauses at three packets and
/// a byte.
fn three_switches(pauses: PauseOptions, messages: Vec<Message>) -> Simulation {
    three_switches_with("none", pauses, messages)
}

fn three_switches_with(scheme: &str, pauses: PauseOptions, messages: Vec<Message>) -> Simulation {
    let link = |a, b| (a, b, gbps(10), us(1));
    let mut config = network(graph(2, 3, &[link(0, 2), link(2, 3), link(3, 4), link(4, 1)]));
    config.classes = vec![class(true, Marking::Off)];
    config.buffer = lossless(3 * WIRE + 1 + headroom(), None);
    config.pauses = PauseOptions { record: true, ..pauses };
    let mut traffic = traffic(scheme);
    traffic.endpoint.ack_chunk = u32::MAX;
    simulation(config, vec![traffic], messages)
}

fn endless() -> Vec<Message> {
    vec![message(Time::ZERO, 0, 1, Message::ENDLESS)]
}

/// Begin and end of each pause of a port, in nanoseconds.
fn pauses_of(sim: &Simulation, from: u32, to: u32) -> Vec<(f64, f64)> {
    let at = port(sim, from, to);
    let ns = |time: Time| if time == Time::NEVER { f64::INFINITY } else { time.as_ps() as f64 / 1e3 };
    let (records, _) = sim.pause_records();
    records.iter().filter(|pause| pause.port == at).map(|pause| (ns(pause.begin), ns(pause.end))).collect()
}

/// A storm from 100 to 300 us. Packet j reaches switch 2 at 2.2 + 1.2 j us, each further node 2.2 us later, and leaves
/// at once.
fn check_the_chain(sim: &Simulation) {
    // The frame of the storm reaches switch 4 at 101.0512. Packet 78 has left it at 100.2; packets 79 to 82 come at
    // 101.4 to 105.0 and wait; the fourth crosses the threshold. The same 5 us later at each switch before.
    let (records, left_out) = sim.pause_records();
    let ports = [(4, 1), (3, 4), (2, 3), (0, 2)].map(|(from, to)| port(sim, from, to));
    let cause = |i: usize| if i == 0 { PauseCause::Storm } else { PauseCause::Pause(ports[i - 1], 1) };
    let begin = |i: u64| us(100 + 5 * i) + FRAME;
    // The RESUME frame of the storm comes at 301.0512. Switch 4 holds packets 79 to 84, the last two in its headroom;
    // when it has sent five, one may be left: at 301.0512 + 4 x 1.2.
    let first_end = us(300) + FRAME;
    let second_end = first_end + ns(4800) + FRAME;
    for (i, record) in records.iter().take(4).enumerate() {
        let expected = PauseRecord {
            port: ports[i],
            class: 1,
            begin: begin(i as u64),
            end: if i < 2 { [first_end, second_end][i] } else { record.end },
            cause: cause(i),
            parent: (i as u32).checked_sub(1),
            tree: 0,
            depth: 1 + i as u16,
        };
        assert_eq!(*record, expected, "{i}");
    }
    assert!(records.len() >= 4 && left_out == 0);
    assert!(sim.totals().drops == Drops::default());
}

#[test]
fn a_storm_pauses_a_chain_of_three_switches_and_the_host_behind_it() {
    let faults = vec![storm(us(100), us(300))];
    let mut sim = three_switches(PauseOptions { faults, ..PauseOptions::default() }, endless());
    run_to(&mut sim, us(400));
    check_the_chain(&sim);
    // Without expiry a storm repeats its pauses after half of 65,535 quanta, 1.678 ms: one frame, and no more.
    assert_eq!(counters(&sim, 4, 1).pauses, 1);
    assert_eq!(counters(&sim, 4, 1).paused, us(200));
}

#[test]
fn pauses_are_refreshed_every_half_of_their_time_and_then_never_expire() {
    // 1,000 quanta of 512 bits at 10 Gb/s: 51.2 us.
    let faults = vec![storm(us(100), us(300))];
    let mut sim = three_switches(PauseOptions { faults, quanta: Some(1000), ..PauseOptions::default() }, endless());
    run_to(&mut sim, us(400));
    check_the_chain(&sim);
    // Frames at 100 us and every 25.6 us before 300 us; and of the ingress of switch 4, from 105 us to 305.8512.
    assert_eq!(counters(&sim, 4, 1).pauses, 8);
    assert_eq!(counters(&sim, 3, 4).pauses, 8);
    assert_eq!(counters(&sim, 4, 1).paused, us(200));
}

#[test]
fn a_pause_that_is_not_refreshed_expires_after_its_quanta() {
    let kind = FaultKind::PauseStorm { every: Some(us(60)) };
    let faults = vec![fault(1, us(100), us(170), kind)];
    let mut sim = three_switches(PauseOptions { faults, quanta: Some(1000), ..PauseOptions::default() }, endless());
    run_to(&mut sim, us(400));
    // Frames at 100 and 160 us: each counts for 51.2 us from its arrival, the second one until the RESUME at 170 us.
    assert_eq!(pauses_of(&sim, 4, 1), [(101_051.2, 152_251.2), (161_051.2, 171_051.2)]);
    let (records, _) = sim.pause_records();
    // Both are of one storm, but there was time between them.
    let trees: Vec<u32> = records.iter().filter(|p| p.port == port(&sim, 4, 1)).map(|p| p.tree).collect();
    assert_eq!(trees, [0, 1]);
    assert!(records.iter().all(|pause| pause.cause != PauseCause::Unknown));
    assert_eq!(sim.totals().drops, Drops::default());
}

#[test]
fn a_pause_expires_at_a_host_too() {
    // Host 0 is paused by switch 2, which is paused by host 1; the refresh of switch 2 comes every 25.6 us. Pauses of
    // 2 quanta, 102.4 ns, expire before that of the storm is repeated.
    let kind = FaultKind::PauseStorm { every: Some(us(10)) };
    let mut config = network(star(2, us(1)));
    config.classes = vec![class(true, Marking::Off)];
    config.buffer = lossless(3 * WIRE + 1 + headroom(), None);
    let faults = vec![fault(0, us(100), us(115), kind)];
    config.pauses = PauseOptions { faults, quanta: Some(2), record: true, ..PauseOptions::default() };
    // Host 0 sends pauses although it only receives; host 1 receives from no one.
    let mut traffic = traffic("none");
    traffic.endpoint.ack_chunk = u32::MAX;
    let mut sim = simulation(config, vec![traffic], vec![message(Time::ZERO, 1, 0, Message::ENDLESS)]);
    run_to(&mut sim, us(200));
    assert_eq!(pauses_of(&sim, 2, 0), [(101_051.2, 101_153.6), (111_051.2, 111_153.6)]);
}

/// When a host's message of ten packets arrives over one switch at a slow host.
fn ten_packets(faults: Vec<HostFault>, lossless_class: bool) -> Simulation {
    let mut config = network(star(2, us(1)));
    config.classes = vec![class(lossless_class, Marking::Off)];
    config.buffer = lossless(3 * WIRE + 1 + headroom(), None);
    config.pauses = PauseOptions { faults, record: true, ..PauseOptions::default() };
    let mut sim = line_rate(config, vec![message(Time::ZERO, 0, 1, 10 * PAYLOAD)]);
    finish(&mut sim);
    sim
}

#[test]
fn a_slow_host_takes_packets_at_its_rate() {
    // The first packet comes at 4.4 us; 1 Gb/s is 12 us a packet.
    let sim = ten_packets(vec![slow(gbps(1), 1_000_000, Time::NEVER)], true);
    assert_eq!(sim.flows()[0].finished, ns(4_400 + 10 * 12_000));
    assert_eq!(sim.incidents().seen.pauses, 0);
    check_all_arrived(&sim);
    // The same as a share of its link.
    let kind = FaultKind::SlowReceiver { drain: Drain::Share(0.1), buffer: 1_000_000 };
    let sim = ten_packets(vec![fault(1, Time::ZERO, Time::NEVER, kind)], true);
    assert_eq!(sim.flows()[0].finished, ns(4_400 + 10 * 12_000));
    // A rate above that of the link changes nothing.
    let sim = ten_packets(vec![slow(gbps(40), 1_000_000, Time::NEVER)], true);
    assert_eq!(sim.flows()[0].finished, sim.flows()[0].ideal);
}

#[test]
fn when_it_is_slow_no_longer_it_takes_what_waits_at_line_rate() {
    // Packets are taken at 16.4, 28.4 and 40.4 us; the fourth would be at 52.4, but is at 50 + 1.2; then six more.
    let sim = ten_packets(vec![slow(gbps(1), 1_000_000, us(50))], true);
    assert_eq!(sim.flows()[0].finished, ns(51_200 + 6 * 1_200));
    // One that is never slow again is as if it had never been.
    let sim = ten_packets(vec![fault(1, us(20), us(21), slow(gbps(1), 1_000_000, us(1)).kind)], true);
    assert_eq!(sim.flows()[0].finished, sim.flows()[0].ideal);
}

#[test]
fn a_slow_host_pauses_its_switch_and_loses_nothing() {
    // Four packets and a byte above its headroom: the fifth packet, at 9.2 us, fills the buffer.
    let sim = ten_packets(vec![slow(gbps(1), 4 * WIRE + 1 + headroom(), Time::NEVER)], true);
    check_all_arrived(&sim);
    assert_eq!(sim.totals().drops, Drops::default());
    // It is still what limits the message.
    assert_eq!(sim.flows()[0].finished, ns(4_400 + 10 * 12_000));
    let first = sim.pause_records().0[0];
    assert_eq!((first.port, first.begin), (port(&sim, 2, 1), ns(9_200) + FRAME));
    assert_eq!((first.cause, first.depth, first.parent), (PauseCause::Receiver, 1, None));
}

#[test]
fn a_slow_host_loses_packets_of_a_lossy_class() {
    let sim = ten_packets(vec![slow(gbps(1), 5 * WIRE, Time::NEVER)], false);
    check_all_arrived(&sim);
    let drops = sim.totals().drops;
    assert!(drops.receiver > 0);
    assert_eq!(drops, Drops { receiver: drops.receiver, ..Drops::default() });
    assert_eq!(counters(&sim, 2, 1).dropped, drops.receiver, "counted at the port that sent them");
    assert_eq!(sim.incidents().seen.pauses, 0);
}

fn watched(action: WatchdogAction, messages: Vec<Message>) -> Simulation {
    let watchdog = Some(Watchdog { detect: us(50), restore: us(20), action });
    let faults = vec![storm(us(100), us(300))];
    three_switches(PauseOptions { faults, watchdog, ..PauseOptions::default() }, messages)
}

fn storms(sim: &Simulation) -> Vec<(Time, PortId)> {
    let kept = &sim.incidents().kept;
    kept.iter().filter(|i| i.what == What::Storm(1)).map(|i| (i.time, i.port)).collect()
}

#[test]
fn a_watchdog_drops_from_its_time_until_pauses_have_been_absent() {
    let mut sim = watched(WatchdogAction::Drop, endless());
    run_to(&mut sim, us(151) + Time::from_ps(51_200));
    let waiting = sim.queued(port(&sim, 4, 1));
    assert_eq!((waiting, sim.totals().storms), (6 * WIRE, 0));
    run_to(&mut sim, us(500));
    // 50 us after the pause at 101.0512. What waited at switches 3 and 4 upstream can go on then: a RESUME.
    assert_eq!(storms(&sim), [(us(150) + FRAME, port(&sim, 4, 1))]);
    assert_eq!((sim.totals().storms, sim.incidents().seen.storms), (1, 1));
    assert_eq!(pauses_of(&sim, 3, 4), [(106_051.2, 152_102.4)]);
    // The storm ends at 301.0512; 20 us later packets pass.
    let dropped: Vec<Time> = (sim.incidents().kept.iter())
        .filter(|i| i.what == What::Dropped(DropCause::Watchdog) && i.port == port(&sim, 4, 1))
        .map(|i| i.time)
        .collect();
    assert_eq!(dropped.iter().filter(|at| **at == us(150) + FRAME).count() as u64, waiting / WIRE);
    let ends = sim.incidents().kept.iter().filter(|i| i.what == What::StormEnd(1)).map(|i| (i.time, i.port));
    assert_eq!(ends.collect::<Vec<_>>(), [(us(320) + FRAME, port(&sim, 4, 1))]);
    assert_eq!(sim.incidents().seen.storm_ends, 1);
    let last = *dropped.last().unwrap();
    assert!(last < us(320) + FRAME && last + ns(1200) >= us(320) + FRAME, "{last}");
    let drops = sim.totals().drops;
    assert_eq!(drops, Drops { watchdog: drops.watchdog, ..Drops::default() });
    assert_eq!(drops.watchdog, dropped.len() as u64);
    // The pause itself lasted until the storm ended.
    assert_eq!(pauses_of(&sim, 4, 1), [(101_051.2, 301_051.2)]);
}

#[test]
fn a_watchdog_may_ignore_the_pauses_instead() {
    let mut sim = watched(WatchdogAction::Forward, endless());
    run_to(&mut sim, us(500));
    // Switch 4 would resume switch 3 when five of six packets have left, at 151.0512 + 4 x 1.2, and the frame counts at
    // 156.9024. The watchdogs before it also see pauses of 50 us, each 5 us later than the one behind it.
    assert_eq!(
        storms(&sim),
        [(4, 1), (3, 4), (2, 3)].map(|(from, to)| { (us(150 + 5 * (4 - from as u64)) + FRAME, port(&sim, from, to)) })
    );
    assert_eq!(pauses_of(&sim, 4, 1), [(101_051.2, 151_051.2)]);
    assert_eq!(pauses_of(&sim, 3, 4)[0], (106_051.2, 156_051.2));
    assert_eq!(sim.totals().drops, Drops::default());
}

#[test]
fn where_switches_run_programs_it_drops_nothing_either() {
    // Packets go through the programs of switches, where a watchdog that drops would drop them.
    let watchdog = Some(Watchdog { detect: us(50), restore: us(20), action: WatchdogAction::Forward });
    let options = PauseOptions { faults: vec![storm(us(100), us(300))], watchdog, ..PauseOptions::default() };
    let mut sim = three_switches_with("infiniband", options, endless());
    assert!(traffic("infiniband").scheme.build().switch_active());
    run_to(&mut sim, us(500));
    assert_eq!((storms(&sim).len(), sim.totals().drops), (3, Drops::default()));
}

#[test]
fn a_slow_host_whose_pauses_are_ignored_loses_packets_of_a_lossless_class() {
    let watchdog = Some(Watchdog { detect: us(50), restore: us(20), action: WatchdogAction::Forward });
    let faults = vec![slow(gbps(1), 4 * WIRE + 1 + headroom(), Time::NEVER)];
    let mut sim = three_switches(PauseOptions { faults, watchdog, ..PauseOptions::default() }, endless());
    run_to(&mut sim, Time::from_ms(2));
    let drops = sim.totals().drops;
    assert!(drops.lossless > 0, "{drops:?}");
    assert_eq!(drops, Drops { lossless: drops.lossless, ..Drops::default() }, "flow control has failed it");
}

#[test]
fn a_storm_that_starts_again_within_the_restore_time_finds_the_watchdog_at_work() {
    let watchdog = Some(Watchdog { detect: us(50), restore: us(20), action: WatchdogAction::Forward });
    for (gap, found) in [(us(19), 1), (us(21), 2)] {
        let faults = vec![storm(us(100), us(200)), storm(us(200) + gap, us(400))];
        let mut sim = three_switches(PauseOptions { faults, watchdog, ..PauseOptions::default() }, endless());
        run_to(&mut sim, us(450));
        let at = port(&sim, 4, 1);
        assert_eq!(storms(&sim).iter().filter(|(_, port)| *port == at).count(), found, "{gap}");
        assert_eq!(pauses_of(&sim, 4, 1).len(), found);
        assert_eq!(counters(&sim, 4, 1).pauses, 2, "frames count all the same");
    }
}

#[test]
fn a_watchdog_waits_for_packets_that_wait() {
    // The first packet comes to switch 4 at 160 + 6.6 us: not at 151.0512 yet, but at 201.0512.
    let mut sim = watched(WatchdogAction::Drop, vec![message(us(160), 0, 1, PAYLOAD)]);
    run_to(&mut sim, us(250));
    assert_eq!(storms(&sim), [(us(200) + FRAME, port(&sim, 4, 1))]);
    // A pause that ends before its time is no storm.
    let watchdog = Some(Watchdog { detect: us(50), restore: us(20), action: WatchdogAction::Drop });
    let faults = vec![storm(us(100), us(140)), storm(us(155), us(195))];
    let mut sim = three_switches(PauseOptions { faults, watchdog, ..PauseOptions::default() }, endless());
    run_to(&mut sim, us(400));
    assert_eq!((sim.totals().storms, sim.totals().drops), (0, Drops::default()));
}

#[test]
fn congestion_is_an_origin_and_each_ingress_it_fills_a_root() {
    // Hosts 0 and 1 at switch 4, host 2 at switch 5, all to host 3 at switch 5.
    let link = |a, b| (a, b, gbps(10), us(1));
    let mut config = network(graph(4, 2, &[link(0, 4), link(1, 4), link(2, 5), link(5, 3), link(4, 5)]));
    config.classes = vec![class(true, Marking::Off)];
    config.buffer = lossless(3 * WIRE + 1 + headroom(), None);
    config.pauses.record = true;
    let mut sim = line_rate(config, (0..3).map(|h| message(Time::ZERO, h, 3, 200 * PAYLOAD)).collect());
    finish(&mut sim);
    check_all_arrived(&sim);
    let (records, _) = sim.pause_records();
    let of = |from, to| records.iter().filter(|p| p.port == port(&sim, from, to)).copied().collect::<Vec<_>>();
    let full = PauseCause::Congestion(port(&sim, 5, 3), 1);
    assert!(of(2, 5).iter().chain(&of(4, 5)).all(|pause| pause.cause == full && pause.depth == 1));
    // Both hosts behind it are paused because of the pause between the switches, or of the queue before it.
    let behind: Vec<PauseRecord> = of(0, 4).into_iter().chain(of(1, 4)).collect();
    let led: Vec<&PauseRecord> = behind.iter().filter(|pause| pause.parent.is_some()).collect();
    assert!(!led.is_empty());
    for pause in led {
        let parent = records[pause.parent.unwrap() as usize];
        assert_eq!((pause.cause, parent.port), (PauseCause::Pause(parent.port, 1), port(&sim, 4, 5)));
        assert_eq!((pause.depth, pause.tree), (2, parent.tree));
        assert!(parent.begin < pause.begin);
    }
    let own = PauseCause::Congestion(port(&sim, 4, 5), 1);
    assert!(behind.iter().all(|pause| pause.parent.is_some() || pause.cause == own));
    // The roots of one tree have one origin.
    for a in records.iter().filter(|pause| pause.depth == 1) {
        assert!(records.iter().filter(|b| b.depth == 1 && b.tree == a.tree).all(|b| b.cause == a.cause));
    }
}

/// Hosts 0 and 1 on switch 4, hosts 2 and 3 on switch 5, and messages both ways over a link of 1 Gb/s in two classes,
/// so that RESUME frames wait behind data.
fn both_ways(quanta: u16) -> Simulation {
    let mut links = vec![(4, 5, gbps(1), us(1))];
    links.extend([(0, 4), (1, 4), (2, 5), (3, 5)].map(|(host, switch)| (host, switch, gbps(2), us(4))));
    let mut config = network(graph(4, 2, &links));
    config.classes = vec![class(true, Marking::Off), class(true, Marking::Off)];
    config.buffer =
        lossless(2 * (pfc::headroom(gbps(2), (us(4), Time::ZERO), WIRE, PACKET.pause as u64) + 3 * WIRE), None);
    config.pauses.quanta = Some(quanta);
    let of_class = |class| TrafficConfig { class, ..traffic("fixed-window") };
    let pairs = [(0, 2, 0), (1, 3, 1), (2, 0, 0), (3, 1, 1), (0, 3, 1), (2, 1, 0)];
    let message = |(at, (src, dst, of)): (u64, (u32, u32, u16))| Message {
        traffic: of,
        ..message(ns(700 * at), src, dst, 60_000 + 5_000 * at)
    };
    let messages = (0..).zip(pairs).map(message).collect();
    simulation(config, vec![of_class(1), of_class(2)], messages)
}

#[test]
fn pauses_are_refreshed_the_same_where_each_departure_is_an_event() {
    for quanta in (100..1000).step_by(9) {
        let (mut lazy, mut eager) = (both_ways(quanta), both_ways(quanta));
        eager.make_departures_eager();
        finish(&mut lazy);
        finish(&mut eager);
        assert!(lazy.port_counters().iter().any(|port| port.pauses > 2));
        assert_eq!(lazy.totals(), eager.totals(), "{quanta}");
    }
}

/// Faults of any kind, which all end within a millisecond.
fn faulty() -> impl Strategy<Value = (Case, bool)> {
    let kind = prop_oneof![
        (0.01..1.0f64, 0u64..30_000).prop_map(|(share, more)| (Some((share, more)), None)),
        prop::option::of(1u64..200).prop_map(|every| (None, every)),
    ];
    let faults = prop::collection::vec((any::<u32>(), 0u64..300, 1u64..300, kind), 1..4);
    let dog = prop::option::of((1u64..300, 1u64..100, any::<bool>()));
    (congested(), faults, dog, prop::option::of(500u16..)).prop_map(|(mut case, faults, dog, quanta)| {
        let config = &mut case.config;
        let wire = config.packet.payload as u64 + config.packet.header as u64;
        let most = |l: &topology::Link| {
            pfc::headroom(l.rate, (l.delay, config.pauses.response), wire, config.packet.pause as u64)
        };
        let room = config.graph.links.iter().map(most).max().unwrap();
        for (host, from, long, (slow, every)) in faults {
            let kind = match slow {
                Some((share, more)) => FaultKind::SlowReceiver { drain: Drain::Share(share), buffer: room + 1 + more },
                None => FaultKind::PauseStorm { every: every.map(us) },
            };
            let (host, from, to) = (host % config.graph.hosts, us(from), us(from + long));
            let clashes = |other: &HostFault| {
                let same = core::mem::discriminant(&other.kind) == core::mem::discriminant(&kind);
                same && other.host == host && other.from < to && from < other.to
            };
            if !config.pauses.faults.iter().any(clashes) {
                config.pauses.faults.push(fault(host, from, to, kind));
            }
        }
        let action = |forward| if forward { WatchdogAction::Forward } else { WatchdogAction::Drop };
        config.pauses.watchdog =
            dog.map(|(detect, restore, f)| Watchdog { detect: us(detect), restore: us(restore), action: action(f) });
        config.pauses.quanta = quanta;
        config.pauses.record = true;
        let drops = dog.is_some_and(|(_, _, forward)| !forward);
        (case, drops)
    })
}

/// Whether a watchdog ignores pauses: packets that overrun the next switch or a slow host are lost then, and senders at
/// line rate may send them again without end.
fn ignores_pauses(case: &Case) -> bool {
    case.config.pauses.watchdog.is_some_and(|watchdog| watchdog.action == WatchdogAction::Forward)
}

proptest! {
    #![proptest_config(cases(4))]

    #[test]
    fn nothing_is_lost_but_what_the_watchdog_drops_and_all_ends_after_the_faults((case, drops) in faulty()) {
        let mut sim = case.build();
        if ignores_pauses(&case) {
            run_to(&mut sim, Time::from_ms(3));
            check_buffers(&sim);
            let found = sim.totals().drops;
            prop_assert_eq!(found, Drops { lossless: found.lossless, ..Drops::default() });
            return Ok(());
        }
        finish(&mut sim);
        check_all_arrived(&sim);
        let found = sim.totals().drops;
        prop_assert_eq!(found, Drops { watchdog: if drops { found.watchdog } else { 0 }, ..Drops::default() });
        let (records, left_out) = sim.pause_records();
        prop_assert_eq!(left_out, 0);
        let paused: Time = records.iter().map(|pause| pause.end - pause.begin).fold(Time::ZERO, |sum, one| sum + one);
        let counted = sim.port_counters().iter().fold(Time::ZERO, |sum, port| sum + port.paused);
        prop_assert_eq!(paused, counted, "each pause has ended, and is recorded once");
        for pause in &records {
            prop_assert!(pause.cause != PauseCause::Unknown, "{:?}", pause);
            let Some(parent) = pause.parent else { continue };
            let parent = records[parent as usize];
            prop_assert_eq!((pause.tree, pause.depth), (parent.tree, parent.depth + 1));
            prop_assert!(parent.begin < pause.begin);
        }
    }

    #[test]
    fn it_is_the_same_on_any_number_of_threads((case, _) in faulty(), spread in any::<u64>()) {
        prop_assume!(why_not_cut(&case.config, &case.traffics).is_none());
        let run = |of: &[u16]| {
            let mut messages = case.messages.clone();
            messages.sort_by_key(|m| m.start);
            let messages = Box::new(messages.into_iter());
            let mut sim = ParallelSimulation::cut(case.config.clone(), case.traffics.clone(), messages, of);
            sim.always_share();
            assert!(sim.run_until(Time::from_ms(3), 50_000_000), "events without end");
            (sim.totals(), sim.flows(), sim.port_counters(), sim.incidents().into_owned(), sim.pause_records())
        };
        let nodes = case.config.graph.names.len();
        let whole = run(&vec![0; nodes]);
        let mut of: Vec<u16> = (0..nodes).map(|node| (fanin_engine::mix(spread, node as u64) % 2) as u16).collect();
        of[0] = 0;
        of[nodes - 1] = 1;
        prop_assert_eq!(run(&of), whole);
    }
}
