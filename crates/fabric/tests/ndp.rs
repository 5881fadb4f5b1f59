//! NDP in a network that trims: many senders to one host, one path and many, and losses.

use crate::common::*;
use fanin_cc::paths::{PathsKind, Spraying};
use fanin_cc::schemes::ndp;
use fanin_cc::{Action, Scheme, Settings};
use fanin_fabric::topology::{Graph, LeafSpine};
use fanin_fabric::*;
use fanin_units::Time;

/// A full packet on the wire, with the number that NDP adds.
const FULL: u64 = WIRE + 4;

fn ndp(changed: ndp::Params) -> TrafficConfig {
    let timeout = us(320);
    let nacks = Rules::UNORDERED;
    let rules = Rules { cap: Cap::Off, timeout_high: timeout, low_up_to: 0, nacks, tell_scheme: true };
    let endpoint = EndpointConfig { timeout, recovery: Recovery::Selective(rules), ..EndpointConfig::default() };
    TrafficConfig { endpoint, scheme: Settings::Ndp("ndp", changed), ecn: false, ..traffic("ndp") }
}

fn paper() -> ndp::Params {
    ndp::Ndp::preset("ndp")
}

/// Switches with the paper's queues of eight packets, and a coin for which packet is cut.
fn switches(graph: Graph) -> NetworkConfig {
    let buffer = BufferPolicy::PerPort { bytes: 8 * FULL, pfc: Pfc { headroom: None, xon_offset: None } };
    let trimming = Some(Trimming { either: true, ..Trimming::default() });
    NetworkConfig { buffer, trimming, ..network(graph) }
}

/// Nothing is lost but payload that was cut, nothing comes twice, and what was cut is all that is sent again.
fn check_trimmed_alone(sim: &Simulation) {
    check_all_arrived(sim);
    let totals = sim.totals();
    let resent: u64 = sim.flows().iter().map(|flow| u64::from(flow.packets_resent)).sum();
    assert_eq!((totals.drops.total(), totals.hosts.timeouts, totals.hosts.duplicates), (0, 0, 0));
    assert_eq!(resent, totals.trimmed);
}

/// When the first byte came at the earliest, and when the receiver's link of 10 Gb/s has taken all, if it never rests.
fn busy_link(sim: &Simulation, packets: u64) -> Time {
    gbps(10).tx_time(packets * FULL + sim.totals().trimmed * 64)
}

const SENDERS: u64 = 8;
const EACH: u64 = 400;

/// Eight hosts send 400 packets each to host 0, all at once.
fn incast(params: ndp::Params) -> Simulation {
    let messages = (1..=SENDERS as u32).map(|src| message(Time::ZERO, src, 0, EACH * PAYLOAD)).collect();
    let mut sim = simulation(switches(star(SENDERS as u32 + 1, us(2))), vec![ndp(params)], messages);
    finish(&mut sim);
    check_trimmed_alone(&sim);
    sim
}

#[test]
fn an_incast_fills_the_link_of_the_receiver_and_cuts_first_windows_alone() {
    let sim = incast(paper());
    let finished: Vec<Time> = sim.flows().iter().map(|flow| flow.finished).collect();
    let (first, last) = (*finished.iter().min().unwrap(), *finished.iter().max().unwrap());
    // One pull a packet at the rate of the link: it rests for no more than a round trip, 11.6 us, in front of the first
    // packet and in front of the last of those that were cut.
    let busy = busy_link(&sim, SENDERS * EACH);
    assert!(last >= busy && last < busy + us(12), "{last} and {busy}");
    // In turn: all are done at nearly the same time.
    assert!(last - first < Time::from_ps(busy.as_ps() / 20), "{finished:?}");
    // Of eight first windows of 30 packets most are cut, and later hardly any more.
    let trimmed = sim.totals().trimmed;
    assert!((150..270).contains(&trimmed), "{trimmed}");
    assert!(sim.traffic_counters()[0].actions.get(Action::CreditSent) >= SENDERS * EACH - 8 * 30);
}

#[test]
fn below_the_rate_of_the_link_the_queue_empties_and_nothing_is_cut_anymore() {
    let messages = (1..=SENDERS as u32).map(|src| message(Time::ZERO, src, 0, EACH * PAYLOAD)).collect();
    let params = ndp::Params { pull_rate: 0.9, ..paper() };
    let mut sim = simulation(switches(star(SENDERS as u32 + 1, us(2))), vec![ndp(params)], messages);
    run_to(&mut sim, us(500));
    let trimmed = sim.totals().trimmed;
    run_to(&mut sim, us(3000));
    assert_eq!(sim.totals().trimmed, trimmed, "after the first windows");
    let longest = sim.ports().map(|(port, ..)| sim.queued(port)).max();
    assert!(longest <= Some(2 * FULL), "{longest:?}");
    finish(&mut sim);
    check_trimmed_alone(&sim);
}

#[test]
fn a_host_that_sends_little_gets_its_turn_among_others() {
    // Six long messages, and one of three packets that starts when the others have the link to themselves.
    let mut messages: Vec<Message> = (1..7).map(|src| message(Time::ZERO, src, 0, 1000 * PAYLOAD)).collect();
    messages.push(message(us(600), 7, 0, 3 * PAYLOAD));
    let mut sim = simulation(switches(star(8, us(2))), vec![ndp(paper())], messages);
    finish(&mut sim);
    check_trimmed_alone(&sim);
    let short = sim.flows()[6];
    // Its three packets may all be cut once; each is pulled within a turn of seven packets, 8.4 us, and a round trip.
    assert!(short.finished - short.start < us(60), "{}", short.finished - short.start);
}

#[test]
fn over_many_paths_packets_come_in_any_order_and_the_link_is_as_full() {
    let link = cable(gbps(10), us(1));
    let mut graph = LeafSpine { leaves: 3, hosts: 4, spines: 4, host_link: link, fabric_link: link }.build().unwrap();
    // One spine is farther away, so that what goes over it is overtaken.
    let last = graph.names.len() as u32 - 1;
    graph.links.iter_mut().filter(|link| link.a.0 == last || link.b.0 == last).for_each(|link| link.delay = us(20));
    let spraying = Spraying::by(PathsKind::Oblivious, 64);
    let config = NetworkConfig { balancing: Balancing::Senders(spraying.clone()), ..switches(graph) };
    let mut traffic = ndp(paper());
    traffic.spraying = Some(spraying);
    let messages = (4..12).map(|src| message(ns(u64::from(src) * 37), src, 0, EACH * PAYLOAD)).collect();
    let mut sim = simulation(config, vec![traffic], messages);
    finish(&mut sim);
    check_trimmed_alone(&sim);
    let reordered = sim.totals().hosts.reordered;
    assert!(reordered > 8 * EACH / 10, "{reordered}");
    let (last, busy) = (sim.flows().iter().map(|flow| flow.finished).max().unwrap(), busy_link(&sim, 8 * EACH));
    // Two round trips of 84 us over the farther spine: one before the first pull's packet, and one for the last.
    assert!(last < busy + us(170), "{last} and {busy}");
}

#[test]
fn a_window_that_is_lost_whole_is_a_window_again() {
    let mut graph = star(3, us(5));
    graph.links[1].outages = vec![(us(100), us(150))];
    let config = NetworkConfig { detection: Time::from_ms(10), ..switches(graph) };
    let mut sim = simulation(config, vec![ndp(paper())], vec![message(Time::ZERO, 1, 0, 2000 * PAYLOAD)]);
    finish(&mut sim);
    check_all_arrived(&sim);
    assert!(sim.totals().drops.link_down > 0 && sim.totals().hosts.timeouts > 0);
    // 2,000 packets take 2.4 ms, and the outage 320 us of timeout. With one packet a round trip it would be 45 ms.
    assert!(sim.flows()[0].finished < Time::from_ms(4), "{}", sim.flows()[0].finished);
}

#[test]
fn a_pull_that_is_lost_is_asked_for() {
    // While the link of the receiver is down nothing reaches the sender, which has nothing left to time out for.
    let mut params = paper();
    params.initial_window = 2;
    let mut graph = star(3, us(5));
    graph.links.iter_mut().for_each(|link| link.error_rate = 0.05);
    let mut sim = simulation(switches(graph), vec![ndp(params)], vec![message(Time::ZERO, 1, 0, 500 * PAYLOAD)]);
    finish(&mut sim);
    check_all_arrived(&sim);
    assert!(sim.traffic_counters()[0].actions.get(Action::CreditRequest) > 0);
}
