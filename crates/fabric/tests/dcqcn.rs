//! DCQCN in a network, and every scheme's action counters.

use crate::common::*;
use fanin_cc::schemes::dcqcn::RateOrShare;
use fanin_cc::{Action, Settings};
use fanin_fabric::*;
use fanin_units::Time;

/// Dart VI-A: one 10 Gb/s switch, 5 us a link, 225 KB a port, marks above 22.5 KB, lossless.
fn darts_switch(hosts: u32) -> NetworkConfig {
    NetworkConfig {
        classes: vec![class(true, Marking::Step { above: 22_500, at: MarkAt::Dequeue })],
        buffer: lossless(225_000, None),
        ..network(star(hosts, us(5)))
    }
}

fn endless(start: Time, src: u32, dst: u32) -> Message {
    message(start, src, dst, Message::ENDLESS)
}

#[test]
fn dart_baseline_dcqcn_in_the_network() {
    let messages = vec![endless(Time::ZERO, 1, 0), endless(us(20), 2, 0)];
    let mut sim = simulation(darts_switch(3), vec![traffic("dcqcn")], messages);
    let end = Time::from_ms(20);
    run_to(&mut sim, Time::from_ms(10));
    let half: Vec<u64> = sim.flows().iter().map(|f| f.delivered).collect();
    run_to(&mut sim, end);
    let counters = &sim.traffic_counters()[0];
    let acted = |action| counters.actions.get(action);

    // At most one CNP per flow in 50 us, and none is lost.
    let cnps = acted(Action::CnpSent);
    assert!(cnps > 2 && cnps <= 2 * (end.as_ps() / us(50).as_ps() + 1), "{cnps}");
    assert_eq!(cnps, acted(Action::CnpReceived));
    assert_eq!(cnps, sim.totals().hosts.cnps);
    assert_eq!(cnps, acted(Action::Cut));
    // CNPs come of marks, one of many: the switch marked every packet that the receiver saw marked.
    assert_eq!(acted(Action::MarkSeen), counters.packets_marked);
    assert!(counters.packets_marked > cnps);
    assert!(crate::common::counters(&sim, 3, 0).marked >= counters.packets_marked);
    // Stages: fast recovery and additive increase; hyper needs the byte counter, 8 ms at line rate between cuts.
    assert!(acted(Action::FastRecovery) > 0 && acted(Action::AdditiveIncrease) > 0);
    assert_eq!(acted(Action::HyperIncrease), 0);
    // Both flows go on, neither starves, the port is never idle for long, and nothing is dropped.
    let second: Vec<u64> = sim.flows().iter().zip(&half).map(|(f, half)| f.delivered - half).collect();
    let sum = second.iter().sum::<u64>() as f64 * 8.0 / 0.010;
    assert!(sum > 0.9 * 10e9 && sum < 10e9, "{sum}");
    let ratio = second[0] as f64 / second[1] as f64;
    assert!((0.9..1.1).contains(&ratio), "{second:?}");
    assert_eq!(sim.totals().drops, Drops::default());
    // The queue was controlled: it never filled the port.
    assert!(crate::common::counters(&sim, 3, 0).peak_queue < 225_000);
    let mut rows = fanin_claims::claim!("dart-baseline-dcqcn");
    let (fast, additive) = (acted(Action::FastRecovery), acted(Action::AdditiveIncrease));
    let what = "two flows to one host, 20 ms: CNPs, steps of fast recovery, additive and hyper increase";
    rows.asserted(what, "some, some, some, 0", format!("{cnps}, {fast}, {additive}, {}", acted(Action::HyperIncrease)));
}

#[test]
fn d13_cnps_go_ahead_of_data() {
    // Host 0 sends to 3 over a port that host 1 fills too, while host 2 congests host 0's own downlink: the CNPs that
    // host 0 sends for host 2's flow share its uplink with its data and still come back within an idle round trip.
    let messages =
        vec![endless(Time::ZERO, 0, 3), endless(Time::ZERO, 1, 3), endless(us(5), 2, 0), endless(us(5), 1, 0)];
    let mut sim = simulation(darts_switch(4), vec![traffic("dcqcn")], messages);
    run_to(&mut sim, Time::from_ms(2));
    let acted = sim.traffic_counters()[0].actions.clone();
    assert!(acted.get(Action::CnpSent) > 10);
    // At most those of the last 30 us are still in flight: one per flow.
    assert!(acted.get(Action::CnpSent) - acted.get(Action::CnpReceived) <= 4);
}

#[test]
fn d12_a_flow_starts_at_line_rate() {
    let mut sim = simulation(darts_switch(2), vec![traffic("dcqcn")], vec![message(Time::ZERO, 0, 1, 100 * PAYLOAD)]);
    finish(&mut sim);
    let flow = sim.flows()[0];
    assert_eq!(flow.finished - flow.start, flow.ideal);
}

/// Actions of the scheme of the first traffic that limit a sender: a share of the whole line does not, and credits for
/// what it has do not.
fn acts(sim: &Simulation) -> impl Iterator<Item = (Action, u64)> {
    let told = [
        Action::ShareTold,
        Action::CountTold,
        Action::NoCongestion,
        Action::CreditSent,
        Action::CreditRequest,
        Action::CreditStop,
        Action::CreditWasted,
    ];
    let actions = sim.traffic_counters()[0].actions.clone();
    actions.iter().filter(|(action, _)| !told.contains(action)).collect::<Vec<_>>().into_iter()
}

#[test]
fn every_scheme_acts_under_congestion_and_rests_without() {
    for row in fanin_cc::rows() {
        for preset in row.presets {
            // Idle: one short message, alone. RCP's ports offer a twentieth of the line at first, and more soon.
            let quiet = vec![message(Time::ZERO, 0, 1, 10)];
            let mut alone = traffic(preset);
            if let Settings::Rcp(_, params) = &mut alone.scheme {
                params.initial_rate = RateOrShare::Share(1.0);
            }
            let mut sim = simulation(darts_switch(2), vec![alone], quiet);
            finish(&mut sim);
            let acted: u64 = acts(&sim).map(|(_, n)| n).sum();
            assert_eq!(acted, 0, "{preset} acted on an idle network");

            // Eight long messages into one port.
            let burst = (1..9).map(|h| message(Time::ZERO, h, 0, 300 * PAYLOAD)).collect();
            let mut sim = simulation(darts_switch(9), vec![traffic(preset)], burst);
            finish(&mut sim);
            check_all_arrived(&sim);
            let acted: u64 = acts(&sim).map(|(_, n)| n).sum();
            // Two schemes have no actions, credits are all of two others, and the first interval of one more, with a
            // round-trip time of 200 ms, is longer than the run.
            assert_eq!(
                acted > 0,
                !["none", "fixed-rate", "rccc", "ndp", "rcp-ns2"].contains(preset),
                "{preset}: {acted}"
            );
            // That of ns-3 has no CNPs: ACKs carry the marks.
            if preset.starts_with("dcqcn") && !preset.contains("ns3") {
                let get = |a| sim.traffic_counters()[0].actions.get(a);
                assert!(get(Action::Cut) > 0 && get(Action::CnpSent) > 0, "{preset}");
            }
        }
    }
}

#[test]
fn each_action_of_each_scheme_happens_where_it_must() {
    use Action::*;
    let dcqcn = [Cut, Increase, MarkSeen, CnpSent, CnpReceived, FastRecovery, AdditiveIncrease, HyperIncrease];
    for preset in fanin_cc::rows().iter().flat_map(|r| r.presets) {
        let expected: &[Action] = match *preset {
            "none" | "fixed-rate" => &[],
            "fixed-window" => &[WindowLimited],
            // No congestion to deflect around: plain DCQCN.
            "dart-iofd" | "dart-packet-deflection" => &[
                Cut,
                Increase,
                MarkSeen,
                CnpSent,
                CnpReceived,
                FastRecovery,
                AdditiveIncrease,
                HyperIncrease,
                MarkPassed,
            ],
            "dcqcn" | "dcqcn-win" | "dcqcn-priq" | "dcqcn-vendor" | "dcqcn-vendor-win" => &dcqcn,
            "newreno" | "cubic" => &[Increase, MarkSeen],
            "newreno-ecn" | "cubic-ecn" => &[Cut, Increase, MarkSeen],
            "dctcp" => &[Cut, Increase, MarkSeen, MarkedWindow, EchoFlip],
            "dctcp-rate" | "dctcp-ns3" | "dctcp-ns3-nowin" => &[Cut, Increase, MarkedWindow],
            "dcqcn-ns3" | "dcqcn-ns3-win" => {
                &[Cut, Increase, CnpReceived, FastRecovery, AdditiveIncrease, HyperIncrease]
            }
            "timely" | "timely-patched" | "timely-hpcc" | "timely-ns3" | "hpcc-ns3" => &[Cut, Increase],
            "rcp" => &[Cut, Increase],
            // Nothing drops credits in a network without their queues.
            "expresspass" | "expresspass-ns2" => &[Increase],
            "infiniband" | "infiniband-mellanox" | "infiniband-simula" | "infiniband-gran" => {
                &[Cut, Increase, MarkSeen]
            }
            // Its round-trip time of 200 ms is longer than the run.
            "rcp-ns2" => &[],
            // Its round trips grow until it is done, a step being 1 Mb/s.
            "timely-dart" => &[Cut],
            // Two windows of one round trip stay below its t_low of 50 us.
            "timely-win" | "timely-ns3-win" => &[],
            // Divides by its window of 0, and so never sees less than full use.
            "hpcc-ns3-nowin" => &[Cut],
            "hpcc" | "hpcc-per-ack" | "hpcc-per-rtt" | "hpcc-rxrate" => {
                &[Cut, Increase, AdditiveIncrease, ReferenceUpdate]
            }
            "hpcc-alpha" => &[Cut, Increase, ReferenceUpdate],
            // All of it is receiver congestion, which DCQCN never receives as feedback.
            "dart" | "dart-lasthop" | "dart-dasr" | "dart-dasr-lookahead" => {
                &[MarkSeen, ReceiverCongestion, StateChange, ShareChange, MarkSuppressed]
            }
            // Over RDMA nothing obeys their windows, so that no flow ever falls short of its own.
            "rcc" => &[Cut, Increase, MarkSeen, AckHeld, MarkedWindow],
            "rcc-ecn" | "rcc-ns3" => &[Cut, Increase, MarkSeen, MarkedWindow],
            "ictcp" => &[Increase],
            "nscc" => &[Cut, Increase],
            "rccc" | "ndp" => &[],
            // Its target is 25 us above the idle round-trip time, which two windows do not reach in 4 ms.
            "swift" => &[Increase],
            "powertcp" | "powertcp-delay" => &[Cut, Increase],
            "nscc-rccc" => &[Cut, Increase],
            _ => panic!("say here which actions {preset} counts when a second flow joins for a while at 400 Gb/s"),
        };
        // At 400 Gb/s the byte counter of 10 MB is reached every 200 us, so that 4 ms see every stage.
        let mut config = network(star(3, us(1)));
        config.graph.links.iter_mut().for_each(|link| link.rate = gbps(400));
        config.packet.payload = 9000;
        config.classes = vec![class(false, Marking::Step { above: 22_500, at: MarkAt::Dequeue })];
        let messages = vec![endless(Time::ZERO, 1, 0), message(us(20), 2, 0, 400 * 9000)];
        let mut sim = simulation(config, vec![traffic(preset)], messages);
        run_to(&mut sim, Time::from_ms(4));
        let acted: Vec<Action> = acts(&sim).filter(|(_, n)| *n > 0).map(|(action, _)| action).collect();
        assert_eq!(acted, expected, "{preset}");
    }
}

#[test]
fn a_window_keeps_the_queue_shorter() {
    let peak = |preset: &str| {
        let burst = (1..17).map(|h| message(Time::ZERO, h, 0, 200 * PAYLOAD)).collect();
        let mut sim = simulation(darts_switch(17), vec![traffic(preset)], burst);
        finish(&mut sim);
        counters(&sim, 17, 0).peak_queue
    };
    // W_max is one bandwidth-delay product of 25 KB here: 16 windows at once, and no more until ACKs come.
    let (with, without) = (peak("dcqcn-win"), peak("dcqcn"));
    assert!(with < without / 2, "{with} {without}");
    assert!(with < 16 * 30_000, "{with}");
}
