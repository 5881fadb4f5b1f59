//! ExpressPass in a network: credits and their queues, short queues of data, shares, losses, symmetric routes.

use crate::common::hpcc::{arrives, taken, tap};
use crate::common::*;
use fanin_cc::schemes::expresspass::Params;
use fanin_cc::{Action, Kind, Settings};
use fanin_fabric::topology::{Dumbbell, FatTree, Graph, LeafSpine};
use fanin_fabric::*;
use fanin_units::{NodeId, PortId, Time};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Bytes of a credit, and of a full packet with the number of its credit.
const CREDIT: u64 = 84;
const LARGEST: u64 = WIRE + 4;

fn express(preset: &'static str, change: impl FnOnce(&mut Params)) -> TrafficConfig {
    let mut traffic = traffic(preset);
    let Settings::ExpressPass(_, params) = &mut traffic.scheme else { panic!("{preset} has other parameters") };
    change(params);
    traffic
}

/// A run over symmetric routes with queues of credits.
fn run(graph: Graph, mut traffic: TrafficConfig, messages: Vec<Message>) -> Simulation {
    let config = NetworkConfig { symmetric: true, ..network(graph) };
    let config = with_credits(config, std::slice::from_mut(&mut traffic));
    simulation(config, vec![traffic], messages)
}

fn dumbbell(pairs: u32) -> Graph {
    let link = cable(gbps(10), us(5));
    Dumbbell { left: pairs, right: pairs, host_link: link, bottleneck: link }.build().unwrap()
}

fn endless(start: Time, src: u32, dst: u32) -> Message {
    message(start, src, dst, Message::ENDLESS)
}

/// One endless flow per pair of a dumbbell.
fn pairs(n: u32) -> Vec<Message> {
    (0..n).map(|i| endless(us(u64::from(i)), i, n + i)).collect()
}

/// Goodput in Gb/s of each message between two times.
fn goodput(sim: &mut Simulation, from: Time, to: Time) -> Vec<f64> {
    run_to(sim, from);
    let count = |sim: &Simulation| (0..sim.flows().len() as u32).map(|m| sim.delivered(m)).collect::<Vec<u64>>();
    let before = count(sim);
    run_to(sim, to);
    let seconds = (to - from).as_ps() as f64 / 1e12;
    count(sim).iter().zip(before).map(|(now, then)| (now - then) as f64 * 8.0 / seconds / 1e9).collect()
}

/// All that credits leave of 10 Gb/s.
fn most_goodput() -> f64 {
    10.0 * PAYLOAD as f64 / (LARGEST + CREDIT) as f64
}

fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    sum * sum / (rates.len() as f64 * rates.iter().map(|r| r * r).sum::<f64>())
}

fn check_no_loss_of_data(sim: &Simulation) {
    let drops = sim.totals().drops;
    assert_eq!(drops.total(), drops.shaper, "{drops:?}");
    assert_eq!((sim.totals().hosts.timeouts, sim.totals().hosts.nacks), (0, 0));
}

#[test]
fn a_flow_alone_fills_what_credits_leave_of_the_link() {
    for preset in ["expresspass", "expresspass-ns2"] {
        let mut sim = run(dumbbell(1), express(preset, |_| ()), pairs(1));
        let [alone] = goodput(&mut sim, Time::from_ms(2), Time::from_ms(6))[..] else { panic!("one flow") };
        // A burst of ten credits is 0.3 % of 4 ms.
        assert!((alone / most_goodput() - 1.0).abs() < 0.004, "{preset}: {alone} of {}", most_goodput());
        check_no_loss_of_data(&sim);
    }
}

#[test]
fn flows_share_a_link_with_queues_of_a_packet_or_two_and_no_loss_of_data() {
    // The paper's feedback cuts twice for one overload: the credits lost before a cut are seen after it.
    for (preset, least, burst) in [("expresspass", 0.75, 2), ("expresspass-ns2", 0.95, 10)] {
        for n in [2, 4, 10, 30] {
            let mut sim = run(dumbbell(n), express(preset, |_| ()), pairs(n));
            let shares = goodput(&mut sim, Time::from_ms(5), Time::from_ms(20));
            let sum: f64 = shares.iter().sum();
            assert!(sum > least * most_goodput() && sum <= 1.004 * most_goodput(), "{preset}, {n}: {sum}");
            assert!(jain(&shares) > 0.9, "{preset}, {n}: {}", jain(&shares));
            let class = sim.class_counters();
            let of = |port: PortId, class_number: usize| class[port.ix() * 3 + class_number];
            let bottleneck = port(&sim, 2 * n, 2 * n + 1);
            assert!(of(bottleneck, 1).peak_queue <= burst * LARGEST, "{preset}, {n}: {:?}", of(bottleneck, 1));
            let back = of(bottleneck.reverse(), 2);
            assert!(back.dropped > 0 && back.peak_queue <= 10 * CREDIT, "{preset}, {n}: {back:?}");
            check_no_loss_of_data(&sim);
        }
    }
}

#[test]
fn irn_neither_slows_flows_down_nor_takes_what_is_in_flight_for_lost() {
    // Its limit to packets in flight holds credits back where ACKs come once per round trip: the measured round-trip
    // time grew with that, and the time between ACKs with it, until every one came after IRN's timeouts.
    let irn = Rules { cap: Cap::Bdp, timeout_high: us(320), low_up_to: 3, nacks: 1, tell_scheme: false };
    let with = |recovery, timeout, n| {
        let mut traffic = express("expresspass", |_| ());
        (traffic.endpoint.recovery, traffic.endpoint.timeout) = (recovery, timeout);
        let mut sim = run(dumbbell(n), traffic, pairs(n));
        let sum: f64 = goodput(&mut sim, Time::from_ms(2), Time::from_ms(10)).iter().sum();
        check_no_loss_of_data(&sim);
        assert_eq!(sim.totals().hosts.duplicates, 0);
        sum
    };
    for n in [1, 2, 10] {
        let (under_irn, plain) = (with(Recovery::Selective(irn), us(100), n), with(Recovery::GoBackN, us(4000), n));
        assert!((under_irn / plain - 1.0).abs() < 0.01, "{n}: {under_irn} of {plain}");
    }
}

#[test]
fn an_incast_loses_no_data_in_a_buffer_of_a_few_packets() {
    let mut traffic = express("expresspass", |_| ());
    let config = NetworkConfig {
        symmetric: true,
        buffer: BufferPolicy::PerPort { bytes: 8 * LARGEST, pfc: Pfc { headroom: None, xon_offset: None } },
        ..network(star(33, us(5)))
    };
    let config = with_credits(config, std::slice::from_mut(&mut traffic));
    let burst = (1..33).map(|host| message(Time::ZERO, host, 0, 100 * PAYLOAD)).collect();
    let mut sim = simulation(config, vec![traffic], burst);
    finish(&mut sim);
    check_all_arrived(&sim);
    check_no_loss_of_data(&sim);
    // 32 messages of 100 packets at the rate of credits take 4.1 ms.
    let end = sim.flows().iter().map(|flow| flow.finished).max().unwrap();
    assert!(end < Time::from_ms(6), "{end}");
}

#[test]
fn credits_leave_every_port_at_their_rate_and_before_data() {
    // Host 0 both sends data to 1 and receives from 2, so that its port has credits beside data.
    let messages = vec![endless(Time::ZERO, 0, 1), endless(Time::ZERO, 2, 0)];
    let mut sim = run(star(3, us(5)), express("expresspass", |_| ()), messages);
    let links = [(0, 3), (3, 2), (1, 3), (3, 0)];
    tap(&mut sim, &links);
    run_to(&mut sim, Time::from_ms(4));
    let seen = taken(&mut sim);
    for (from, to) in links {
        let out = port(&sim, from, to);
        let credits: Vec<Time> =
            seen.iter().filter(|p| p.port == out && p.head.kind == Kind::Credit).map(|p| p.time).collect();
        assert!(credits.len() > 2000, "{from} to {to}: {}", credits.len());
        // Each makes room for itself and its packet, but for two at once. They wait for a packet on the wire at most.
        let each = gbps(10).tx_time(CREDIT + LARGEST);
        for stretch in [10, 100, 1000] {
            let least = each.saturating_mul(stretch - 3);
            for ends in credits.windows(stretch as usize + 1) {
                assert!(
                    ends[stretch as usize] - ends[0] >= least,
                    "{from} to {to}: {stretch} in {}",
                    ends[1] - ends[0]
                );
            }
        }
        // That of a receiver without competition lets them all through but for the surplus of its feedback.
        let span = Time::from_ms(4).as_ps() / each.as_ps();
        assert!(credits.len() as u64 <= span + 3);
    }
    check_no_loss_of_data(&sim);
}

#[test]
fn data_leaves_once_per_credit_and_carries_its_number() {
    let mut sim = run(dumbbell(2), express("expresspass", |_| ()), pairs(2));
    tap(&mut sim, &[(4, 0), (0, 4)]);
    run_to(&mut sim, Time::from_ms(2));
    let seen = taken(&mut sim);
    let mut unused = BTreeSet::new();
    let mut all: Vec<(Time, bool, u32)> = Vec::new();
    for p in &seen {
        match p.head.kind {
            Kind::Credit => all.push((arrives(&sim, p), false, p.head.cc_tag)),
            Kind::Data => all.push((p.time, true, p.head.cc_tag)),
            _ => {}
        }
    }
    all.sort_unstable();
    for (at, is_data, number) in &all {
        if *is_data {
            assert!(unused.remove(number), "data at {at} without credit {number}");
        } else {
            assert!(unused.insert(*number), "credit {number} came twice");
        }
    }
    assert!(all.len() > 1000 && unused.len() <= 3, "{} packets, {unused:?}", all.len());
    // The request precedes them.
    assert_eq!(seen[0].head.kind, Kind::Request);
}

#[test]
fn the_flows_of_a_parking_lot_share_each_link() {
    // One flow over both links between three switches, and one over each.
    let flows = vec![endless(Time::ZERO, 0, 2), endless(Time::ZERO, 0, 1), endless(Time::ZERO, 1, 2)];
    for (preset, long) in [("expresspass", 0.0..0.1), ("expresspass-ns2", 0.4..0.6)] {
        let mut sim = run(chain(3, gbps(10), us(5)), express(preset, |_| ()), flows.clone());
        let rates = goodput(&mut sim, Time::from_ms(5), Time::from_ms(20));
        assert!(rates[0] + rates[1] > 0.95 * most_goodput(), "{preset}: {rates:?}");
        assert!(rates[0] + rates[2] > 0.95 * most_goodput(), "{preset}: {rates:?}");
        // Max-min has a half for each. The long one loses credits twice. With the paper's target, the same at every
        // rate, it falls until it has next to nothing, how much is chance; that of the ns-2 code allows a slow flow
        // more losses.
        assert!(long.contains(&(rates[0] / most_goodput())), "{preset}: {rates:?}");
        check_no_loss_of_data(&sim);
    }
}

#[test]
fn the_second_flow_has_its_share_after_a_few_round_trips() {
    let rtt = us(30);
    for preset in ["expresspass", "expresspass-ns2"] {
        let joins = Time::from_ms(3);
        let flows = vec![endless(Time::ZERO, 0, 2), endless(joins, 1, 3)];
        let mut sim = run(dumbbell(2), express(preset, |_| ()), flows);
        // Means over five round trips each.
        let from = joins + rtt.saturating_mul(8);
        let rates = goodput(&mut sim, from, from + rtt.saturating_mul(5));
        assert!(jain(&rates) > 0.9, "{preset}: {rates:?}");
    }
}

#[test]
fn a_flow_that_ends_stops_its_credits() {
    for preset in ["expresspass", "expresspass-ns2"] {
        let traffic = express(preset, |_| ());
        let mut sim = run(dumbbell(1), traffic, vec![message(Time::ZERO, 0, 1, 300 * PAYLOAD)]);
        finish(&mut sim);
        check_all_arrived(&sim);
        let actions = &sim.traffic_counters()[0].actions;
        let get = |action| actions.get(action);
        // Those of a round trip of 30 us and of the queues come too late, beside the ones that were dropped.
        let unused = get(Action::CreditSent) - 300;
        assert!(unused <= sim.totals().drops.shaper + 24 + 16, "{preset}: {unused}, {actions:?}");
        assert!((1..=2).contains(&get(Action::CreditStop)), "{preset}: {actions:?}");
        assert_eq!(sim.flows()[0].packets_sent, 300);
    }
}

#[test]
fn a_connection_asks_again_for_each_burst_and_sends_a_lost_stop_again() {
    let mut traffic = express("expresspass", |p| p.stop_timeout = us(50));
    traffic.endpoint.connection = true;
    let mut graph = star(2, us(5));
    graph.links[0].error_rate = 0.3;
    let messages = (0..30).map(|n| message(Time::from_ms(3 * n), 0, 1, 5 * PAYLOAD)).collect();
    let mut sim = run(graph, traffic, messages);
    // It ends: no stop is lost for good, or credits would come without end.
    finish(&mut sim);
    check_all_arrived(&sim);
    let actions = &sim.traffic_counters()[0].actions;
    assert!(actions.get(Action::CreditRequest) >= 30 && actions.get(Action::CreditStop) >= 30, "{actions:?}");
    assert!(actions.get(Action::CreditWasted) > 0);
}

#[test]
fn a_thousand_flows_into_one_host_all_end() {
    for preset in ["expresspass", "expresspass-ns2"] {
        let messages = (0..1000).map(|n| message(ns(n), 1 + n as u32 % 40, 0, 3 * PAYLOAD)).collect();
        let mut sim = run(star(41, us(1)), express(preset, |_| ()), messages);
        finish(&mut sim);
        check_all_arrived(&sim);
        check_no_loss_of_data(&sim);
    }
}

/// The links of a path, by their smaller port.
fn links_of(walked: &[PortId]) -> BTreeSet<u32> {
    walked.iter().map(|port| port.0 / 2).collect()
}

#[test]
fn credits_and_data_cross_the_same_links() {
    let link = cable(gbps(10), us(1));
    for (graph, symmetric) in
        [(FatTree { k: 4, link }.build().unwrap(), true), (FatTree { k: 4, link }.build().unwrap(), false)]
    {
        let hosts = graph.hosts;
        let mut traffic = express("expresspass", |_| ());
        let config = NetworkConfig { symmetric, ..network(graph.clone()) };
        let config = with_credits(config, std::slice::from_mut(&mut traffic));
        let messages: Vec<Message> =
            (0..hosts).map(|h| message(Time::ZERO, h, (h + 5) % hosts, 20 * PAYLOAD)).collect();
        let mut sim = simulation(config, vec![traffic], messages);
        let all: Vec<(u32, u32)> = sim.ports().map(|(_, a, b)| (a.0, b.0)).collect();
        tap(&mut sim, &all);
        finish(&mut sim);
        let seen = taken(&mut sim);
        let mut differ = 0;
        for message in 0..hosts {
            let of = |kind| {
                let packets = seen.iter().filter(move |p| p.head.flow.0 == message && p.head.kind == kind);
                links_of(&packets.map(|p| p.port).collect::<Vec<_>>())
            };
            differ += u32::from(of(Kind::Data) != of(Kind::Credit));
        }
        assert_eq!(differ == 0, symmetric, "{differ} of {hosts}");
    }
}

#[test]
fn two_threads_find_what_one_finds() {
    let link = cable(gbps(10), us(1));
    let graph = LeafSpine { leaves: 4, hosts: 4, spines: 2, host_link: link, fabric_link: link }.build().unwrap();
    for preset in ["expresspass", "expresspass-ns2"] {
        let mut traffic = express(preset, |p| (p.credit_least, p.credit_most) = (76, 92));
        let config = NetworkConfig { symmetric: true, ..network(graph.clone()) };
        let config = with_credits(config, std::slice::from_mut(&mut traffic));
        let messages: Vec<Message> =
            (0..64).map(|n| message(us(n), n as u32 % 16, (n as u32 + 5) % 16, 40 * PAYLOAD)).collect();
        let outcome = |of: &[u16]| {
            let messages = Box::new(messages.clone().into_iter());
            let mut run = ParallelSimulation::cut(config.clone(), vec![traffic.clone()], messages, of);
            run.always_share();
            assert!(run.run_until(Time::from_ms(20), 50_000_000));
            assert_eq!(run.open_messages(), 0);
            (run.totals(), run.flows(), run.port_counters(), run.class_counters(), run.traffic_counters())
        };
        let one = outcome(&[0; 22]);
        assert!(one.0.drops.shaper > 0);
        let two: Vec<u16> = (0..22).map(|node| u16::from(node % 4 > 1)).collect();
        assert_eq!(outcome(&two), one);
    }
}

/// A graph of hosts and switches with any links, several between the same nodes too, which all hosts hang together by.
fn any_graph() -> impl Strategy<Value = Graph> {
    (2u32..7, 1u32..8).prop_flat_map(|(hosts, switches)| {
        let nodes = hosts + switches;
        let more = prop::collection::vec((0..nodes, 0..nodes), 0..20);
        let at = prop::collection::vec(0..switches, nodes as usize);
        (Just(hosts), Just(switches), at, more).prop_map(|(hosts, switches, at, more)| {
            let link = |a, b| (a, b, gbps(10), us(1));
            let tree = (0..hosts).map(|h| (h, hosts + at[h as usize]));
            let tree = tree.chain((1..switches).map(|s| (hosts + s, hosts + at[(hosts + s) as usize] % s)));
            let more = more.into_iter().filter(|(a, b)| a != b);
            graph(hosts, switches, &tree.chain(more).map(|(a, b)| link(a, b)).collect::<Vec<_>>())
        })
    })
}

proptest! {
    #![proptest_config(cases(4))]

    /// On any graph, also after links have failed and come up again: what a flow sends and what comes back to it
    /// crosses the same links. Packets under way as routes change are excepted, so each message begins afterwards.
    #[test]
    fn routes_are_symmetric(
        graph in any_graph(),
        seed in any::<u64>(),
        down in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let mut graph = graph;
        for link in &down {
            let link = link.index(graph.links.len());
            graph.links[link].outages = vec![(us(1), us(500))];
        }
        let hosts = graph.hosts;
        let flows: Vec<Message> = (0..hosts * 6).map(|n| {
            let (src, dst) = (n % hosts, (n + 1 + n / hosts % (hosts - 1)) % hosts);
            message(us(if n % 2 == 0 { 10 } else { 600 }), src, dst, 3 * PAYLOAD)
        }).collect();
        let config = NetworkConfig { seed, symmetric: true, ..network(graph) };
        let mut sim = simulation(config, vec![traffic("none")], flows);
        let ports: Vec<PortId> = sim.ports().map(|(port, ..)| port).collect();
        sim.tap(&fanin_fabric::tap::Wanted { links: ports, ..Default::default() });
        run_to(&mut sim, us(400));
        let before = taken(&mut sim);
        run_to(&mut sim, us(590));
        taken(&mut sim);
        run_to(&mut sim, us(900));
        let after = taken(&mut sim);
        for (seen, even) in [(before, true), (after, false)] {
            let early = |n: &u32| sim.flows()[*n as usize].start < us(100);
            for message in (0..sim.flows().len() as u32).filter(|n| early(n) == even) {
                // The order of the links, as well: the way back is the same backwards.
                let way = |kind| {
                    let packets = seen.iter().filter(move |p: &&fanin_fabric::tap::Captured| {
                        p.head.flow.0 == message && p.head.kind == kind
                    });
                    let mut links: Vec<(u8, PortId)> = packets.map(|p| (p.head.hops, p.port)).collect();
                    links.sort_unstable();
                    links.dedup();
                    links.into_iter().map(|(_, port)| port).collect::<Vec<PortId>>()
                };
                let (there, mut back) = (way(Kind::Data), way(Kind::Ack));
                back.reverse();
                if !back.is_empty() {
                    prop_assert_eq!(there, back.into_iter().map(PortId::reverse).collect::<Vec<_>>());
                }
            }
        }
    }

    /// Whatever is lost, requests, credits, stops, data or ACKs, and whichever links go down for a while: all arrives.
    #[test]
    fn nothing_stands_still(
        preset in prop::sample::select(vec!["expresspass", "expresspass-ns2"]),
        connection in any::<bool>(),
        rate in prop_oneof![Just(0.0), 0.0..0.2f64],
        outage in prop::option::of((any::<prop::sample::Index>(), 0u64..400, 1u64..2000)),
        sizes in prop::collection::vec(
            (0u64..300, 0u32..6, 1u32..6, prop_oneof![1u64..3000, Just(40 * PAYLOAD)]), 1..20
        ),
        seed in any::<u64>(),
    ) {
        let link = cable(gbps(10), us(1));
        let tree = LeafSpine { leaves: 2, hosts: 3, spines: 2, host_link: link, fabric_link: link };
        let mut graph = tree.build().unwrap();
        for (n, link) in graph.links.iter_mut().enumerate() {
            link.error_rate = if n % 2 == 0 { rate } else { 0.0 };
        }
        if let Some((link, from, span)) = outage {
            let link = link.index(graph.links.len());
            graph.links[link].outages = vec![(us(from), us(from + span))];
        }
        let mut traffic = express(preset, |p| p.request_timeout = us(300));
        traffic.endpoint.connection = connection;
        let config = NetworkConfig { seed, symmetric: true, ..network(graph) };
        let config = with_credits(config, std::slice::from_mut(&mut traffic));
        let of = |(at, src, to, bytes): &(u64, u32, u32, u64)| message(us(*at), *src, (src + to) % 6, *bytes);
        let messages = sizes.iter().map(of).collect();
        let mut sim = simulation(config, vec![traffic], messages);
        finish(&mut sim);
        check_all_arrived(&sim);
    }
}

#[test]
fn a_way_beside_the_path_still_leads_to_the_destination() {
    // Two equal ways between two leaves; the link of the one that a flow uses fails, and comes back.
    let link = cable(gbps(10), us(1));
    let mut graph = LeafSpine { leaves: 2, hosts: 1, spines: 2, host_link: link, fabric_link: link }.build().unwrap();
    let spines: Vec<usize> = (0..graph.links.len()).filter(|l| graph.links[*l].a >= NodeId(2)).collect();
    for (n, l) in spines.iter().enumerate() {
        graph.links[*l].outages = vec![(us(100 + 50 * n as u64), us(130 + 50 * n as u64))];
    }
    let mut sim = run(graph, express("expresspass", |_| ()), vec![message(Time::ZERO, 1, 0, 600 * PAYLOAD)]);
    finish(&mut sim);
    check_all_arrived(&sim);
}
