//! Several messages from one host to the same receiver under Dart: they take turns (rows B3, C3, C5), on flows of their
//! own and on connections that stay open (C6, D18).

use crate::common::dart::*;
use crate::common::*;
use fanin_fabric::topology::{LeafSpine, Star};
use fanin_fabric::*;
use fanin_units::Time;

/// Around one switch at 100 Gb/s, 1 us a link.
fn fast_star(hosts: u32) -> NetworkConfig {
    darts(Star { hosts, host_link: cable(gbps(100), us(1)) }.build().unwrap())
}

fn ends(sim: &Simulation) -> Vec<f64> {
    sim.flows().iter().map(|f| f.finished.as_ps() as f64 / 1e6).collect()
}

/// h1 sends h0 four messages at once and a fifth later, beside a long one of h2: all of h1's have an equal part of C/2
/// while they are open, and so end together. One after the other, the first ended after a fifth of the time.
#[test]
fn messages_of_a_pair_take_turns() {
    let of_h1 = |start| message(start, 1, 0, 5_000_000);
    let mut messages: Vec<Message> = (0..4).map(|_| of_h1(Time::ZERO)).collect();
    messages.extend([of_h1(us(100)), message(Time::ZERO, 2, 0, 20_000_000)]);
    for preset in ["dart", "dart-dasr"] {
        let mut sim = simulation(fast_star(3), vec![traffic(preset)], messages.clone());
        run_to(&mut sim, us(100));
        let early = delivered(&sim);
        run_to(&mut sim, us(700));
        let got: Vec<u64> = delivered(&sim).iter().zip(&early).map(|(now, then)| now - then).collect();
        let (least, most) = (*got[..4].iter().min().unwrap(), *got[..4].iter().max().unwrap());
        assert!(most - least <= 2 * PAYLOAD, "{got:?}");
        // Half of the line for h1, in five parts after the fifth has come.
        let part = 600e-6 * 100e9 / 8.0 * PAYLOAD as f64 / DART_WIRE as f64 / 2.0 / 5.0;
        assert!((0.9..1.1).contains(&(got[0] as f64 / part)), "{got:?} for {part}");
        finish(&mut sim);
        check_all_arrived(&sim);
        // Messages are numbered by their start: 4 is that of h2.
        let ends = ends(&sim);
        assert!([1, 2, 3, 5].iter().all(|i| (ends[*i] / ends[0] - 1.0).abs() < 0.01), "{ends:?}");
    }
}

/// 26 KB behind 20 MB of the same pair, which has half of the line: the short one waits for the debt of C5 at most, and
/// no longer than its packets need when they have every second turn of C/2.
#[test]
fn a_short_message_passes_a_long_one() {
    let messages = vec![
        message(Time::ZERO, 1, 0, 20_000_000),
        message(Time::ZERO, 2, 0, 20_000_000),
        message(us(1000), 1, 0, 26_000),
        // Longer than a round trip at line rate, so that its first ACK puts it under the bucket.
        message(us(2000), 1, 0, 260_000),
    ];
    let mut sim = simulation(fast_star(3), vec![traffic("dart")], messages);
    finish(&mut sim);
    check_all_arrived(&sim);
    let fct = |i: usize| sim.flows()[i].finished - sim.flows()[i].start;
    let queue = gbps(100).tx_time(225_000);
    assert!(fct(2) < us(10) + queue, "{}", fct(2));
    let fair = gbps(100).tx_time(260_000 * 4);
    assert!(fct(3) < fair + us(10) + queue, "{} for {fair}", fct(3));
}

fn connected(preset: &'static str, change: impl FnOnce(&mut fanin_cc::schemes::dart::Params)) -> TrafficConfig {
    let mut traffic = dart(preset, change);
    traffic.endpoint.connection = true;
    traffic
}

/// 16 hosts answer one, and later each of them alone, on connections that stay open: alone a message begins and ends at
/// line rate, because the share of the incast was forgotten when the connection fell idle (C6, III-A).
#[test]
fn an_idle_connection_forgets_its_share() {
    let incast = (1..17).map(|h| message(Time::ZERO, h, 0, 14_600));
    let alone = (1..17).map(|h| message(us(1000 * h as u64), h, 0, 14_600));
    let mut sim = simulation(fast_star(17), vec![connected("dart", |_| {})], incast.chain(alone).collect());
    finish(&mut sim);
    check_all_arrived(&sim);
    for flow in &sim.flows()[16..] {
        let slowdown = (flow.finished - flow.start).as_ps() as f64 / flow.ideal.as_ps() as f64;
        assert!(slowdown < 1.01, "h{}: {slowdown}", flow.src);
    }
}

/// What arrives on a connection is counted with its message: all of the second incast's packets that were marked and
/// sent.
#[test]
fn messages_on_a_connection_have_counts_of_their_own() {
    let incast = |at: Time| (1..17).map(move |h| message(at, h, 0, 14_600));
    let messages: Vec<Message> = incast(Time::ZERO).chain(incast(us(3000))).collect();
    let run = |connection: bool| {
        let mut traffic = traffic("dart");
        traffic.endpoint.connection = connection;
        let mut sim = simulation(fast_star(17), vec![traffic], messages.clone());
        finish(&mut sim);
        sim.flows()
            .iter()
            .map(|f| (f.packets_sent, f.packets_arrived, f.packets_marked, f.attempts))
            .collect::<Vec<_>>()
    };
    let (own, kept) = (run(false), run(true));
    assert!(kept[16..].iter().any(|(.., marked, _)| *marked > 0), "{kept:?}");
    assert!(kept.iter().all(|(sent, arrived, _, attempts)| (*sent, *arrived, *attempts) == (10, 10, 1)), "{kept:?}");
    let marked = |of: &[(u32, u32, u32, u16)]| of.iter().map(|(.., marked, _)| *marked).sum::<u32>();
    assert_eq!(marked(&own[..16]), marked(&kept[..16]));
}

/// D18: on a connection a message that is deflected and the next that is not come in another order, and go-back-N takes
/// that for a loss. Without deflection nothing is sent again.
#[test]
fn what_shares_a_connection_is_not_deflected() {
    let link = cable(gbps(10), us(5));
    let graph = LeafSpine { leaves: 4, hosts: 4, spines: 4, host_link: link, fabric_link: link }.build().unwrap();
    // Hosts of three racks send short messages to those of the fourth, in quick succession on each connection.
    let messages: Vec<Message> =
        (0..600).map(|i| message(ns(i * 700), 4 + (i % 12) as u32, (i / 12 % 4) as u32, 8_000)).collect();
    let run = |deflect: bool| {
        let traffic = connected("dart", |p| p.deflect_connections = deflect);
        let mut sim = simulation(darts(graph.clone()), vec![traffic], messages.clone());
        finish(&mut sim);
        check_all_arrived(&sim);
        let deflected = sim.flows().iter().filter(|f| f.deflections > 0).count();
        (deflected, sim.totals().hosts.nacks)
    };
    assert_eq!(run(false), (0, 0));
    let (deflected, nacks) = run(true);
    assert!(deflected > 0 && nacks > 0, "{deflected} deflected, {nacks} NACKs");
}
