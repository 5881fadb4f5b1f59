//! Hosts whose NICs have different rates. A sender knows its own line rate and nothing of the links beyond before
//! feedback arrives, so a fast one fills the queue in front of a slow receiver. Every preset of the registry, against
//! values worked out by hand.

use crate::common::*;
use crate::every_scheme::{plain, presets};
use fanin_cc::{Lanes, Settings};
use fanin_fabric::*;
use fanin_units::Time;

/// Host 0 sends to host 1 through a switch, 5 us from either; the buffer has no limit. `rates` are those of the hosts.
fn two_hosts(preset: &'static str, rates: [u64; 2], packets: u64, marking: Marking) -> Simulation {
    let links = [(0, 2, gbps(rates[0]), us(5)), (1, 2, gbps(rates[1]), us(5))];
    let mut config = network(graph(2, 1, &links));
    config.classes = vec![class(false, marking)];
    if Settings::preset(preset).unwrap().lanes() != Lanes::One {
        config.classes.push(ClassConfig { name: "lane 1".into(), sibling_vl: Some(1), ..class(false, marking) });
    }
    let mut traffics = vec![plain(preset, us(5000))];
    let config = with_credits(config, &mut traffics);
    let mut sim = simulation(config, traffics, vec![message(Time::ZERO, 0, 1, packets * PAYLOAD)]);
    finish(&mut sim);
    check_all_arrived(&sim);
    sim
}

/// Most bytes that waited at the switch for the receiver.
fn peak(sim: &Simulation) -> u64 {
    counters(sim, 2, 1).peak_queue
}

/// Bytes on the wire of a full packet of a preset.
fn wire(preset: &str) -> u64 {
    WIRE + Settings::preset(preset).unwrap().header_overhead().data as u64
}

/// Most of 20 packets that wait at once, where the sender's NIC is four times as fast as the receiver's and the first
/// feedback comes after 20 us.
fn waiting(preset: &str) -> u64 {
    match preset.split('-').next().unwrap() {
        // They ask first, and what they then send is paced by the receiver or the switch.
        "rcp" | "expresspass" => 0,
        // A window of 10 leaves at line rate (RFC 6928). The link to the receiver has begun packets 0, 4 and 8 when the
        // last one arrives. Of the second flight each ACK releases two, in the time that one takes.
        "newreno" | "cubic" => 10 - 3,
        "dctcp" if preset == "dctcp" => 10 - 3,
        // One packet in the first flight, and each ACK releases two, in the time that one takes: half a flight waits.
        // Flights of 1, 2, 4, 8 and 5; and where the window doubles more slowly, of at most 4.
        "rcc" => 8 / 2,
        "ictcp" => 4 / 2,
        // All others start at the line rate of their NIC: when packet 19 arrives, the link to the receiver has begun
        // packets 0, 4, 8, 12 and 16.
        _ => 20 - 5,
    }
}

#[test]
fn a_fast_sender_fills_the_queue_of_a_slow_receiver() {
    for (preset, rates) in presets().flat_map(|preset| [[400, 100], [100, 25], [25, 100]].map(|rates| (preset, rates)))
    {
        let sim = two_hosts(preset, rates, 20, Marking::Off);
        let waiting = if rates[0] > rates[1] { waiting(preset) * wire(preset) } else { 0 };
        // Where a switch runs a program, each packet passes through the queue, even without waiting; credits have 68 B.
        let passing = if waiting == 0 { wire(preset) } else { waiting };
        assert!([waiting, passing].contains(&peak(&sim)) || peak(&sim) < 100, "{preset}, {rates:?}: {}", peak(&sim));
        let paced = ["rcp", "expresspass"].contains(&preset.split('-').next().unwrap());
        if sim.traffic_configs().any(|traffic| traffic.tcp.is_some()) || paced {
            continue;
        }
        // One packet over the faster link, all one after the other over the slower.
        let time = |rate: u64, packets: u64| gbps(rate).tx_time(packets * wire(preset));
        let (fast, slow) = (rates[0].max(rates[1]), rates[0].min(rates[1]));
        let took = us(10) + time(fast, 1) + time(slow, 20);
        assert_eq!(sim.flows()[0].finished, took, "{preset}, {rates:?}");
    }
}

#[test]
fn a_window_bounds_the_queue_in_front_of_a_slow_receiver() {
    // 50 packets in flight: when the last of them arrives the link has begun 13. Then each ACK lets one follow.
    assert_eq!(peak(&two_hosts("fixed-window", [400, 100], 2000, Marking::Off)), 37 * WIRE);
    assert_eq!(peak(&two_hosts("fixed-window", [25, 100], 2000, Marking::Off)), 0);
}

/// Dart's C/n divides the receiver's line, whose rate comes with the first ACK.
#[test]
fn dart_keeps_to_a_slow_receivers_line_from_its_first_ack_on() {
    let sim = two_hosts("dart-dasr", [400, 100], 2000, Marking::Off);
    // The first packet and its ACK of 68 B take 20 us and (30.24 + 120.96 + 5.44 + 1.36) ns. By then 667 packets have
    // left, one each 30.24 ns. The link to the receiver has begun 167 of them when the last one arrives.
    assert_eq!(peak(&sim), 500 * 1512);
    // They count as sent at 100 Gb/s, so the next one follows when the queue is empty, and the link is never idle.
    assert_eq!(sim.flows()[0].finished, us(10) + gbps(400).tx_time(1512) + gbps(100).tx_time(2000 * 1512));
}

#[test]
fn marks_reach_a_sender_that_is_faster_than_its_receiver() {
    let sim = two_hosts("dcqcn", [400, 100], 2600, Marking::Step { above: 400_000, at: MarkAt::Enqueue });
    // Packet 356 finds 400 KB before it, waits for them for 32 us, and its CNP is back at 62.9 us: 2,096 packets have
    // left, and 1,572 of them wait when the last one arrives. At half of its rate the sender is still too fast.
    assert!((1_572 * WIRE..1_950 * WIRE).contains(&peak(&sim)), "{}", peak(&sim));
    assert!(sim.totals().hosts.cnps > 0);
}
