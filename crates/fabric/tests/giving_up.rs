//! A queue pair that tries in vain is given up after `retries` timeouts in a row.

use crate::common::*;
use fanin_fabric::parallel::cut;
use fanin_fabric::*;
use fanin_units::Time;
use proptest::prelude::*;

const RECOVERIES: [Recovery; 4] = [
    Recovery::GoBackN,
    Recovery::GoBack0,
    Recovery::Selective(Rules {
        cap: Cap::Off,
        timeout_high: Time::from_ms(1),
        low_up_to: 0,
        nacks: 1,
        tell_scheme: false,
    }),
    Recovery::Selective(Rules {
        cap: Cap::Bdp,
        timeout_high: Time::from_ms(3),
        low_up_to: 3,
        nacks: 1,
        tell_scheme: true,
    }),
];

/// Traffic with timeouts after 1 ms that is given up after so many.
fn limited(scheme: &str, recovery: Recovery, retries: u32) -> TrafficConfig {
    let one = traffic(scheme);
    TrafficConfig { endpoint: EndpointConfig { recovery, retries, ..one.endpoint }, ..one }
}

/// A star of 10 Gb/s with the link of host `dead` down in these times.
fn broken(dead: usize, outages: Vec<(Time, Time)>) -> NetworkConfig {
    let mut graph = star(4, us(5));
    graph.links[dead].outages = outages;
    network(graph)
}

/// Two hosts at each of two switches.
fn two_switches() -> fanin_fabric::topology::Graph {
    let links = [(0, 4), (1, 4), (2, 5), (3, 5), (4, 5)].map(|(a, b)| (a, b, gbps(10), us(2)));
    graph(4, 2, &links)
}

fn ms(ms: u64) -> Time {
    Time::from_ms(ms)
}

#[test]
fn a_message_is_given_up_after_so_many_timeouts_and_both_its_ends_are_freed() {
    for recovery in RECOVERIES {
        // The receiver's link fails, or the one between the two switches.
        for dead in [2, 4] {
            let mut graph = two_switches();
            graph.links[dead].outages = vec![(us(60), Time::NEVER)];
            let messages = vec![message(Time::ZERO, 1, 2, 1000 * PAYLOAD), message(us(30), 1, 0, 50 * PAYLOAD)];
            let mut sim = simulation(network(graph), vec![limited("none", recovery, 3)], messages);
            // The last progress was at 70 us at most; three timeouts later nothing is given up yet.
            run_to(&mut sim, ms(3) + us(50));
            assert_eq!((sim.totals().hosts.given_up, sim.open_queue_pairs()), (0, (1, 1)), "{recovery:?}");
            finish(&mut sim);
            let (flow, totals) = (sim.flows()[0], sim.totals());
            assert_eq!((flow.timeouts, totals.hosts.timeouts, totals.hosts.given_up), (3, 3, 1), "{recovery:?}");
            assert_eq!((sim.open_queue_pairs(), sim.open_messages()), ((0, 0), 1), "{recovery:?}");
            assert!(flow.finished == Time::NEVER && flow.delivered > 0 && flow.delivered < flow.bytes, "{flow:?}");
            assert!(flow.packets_sent > 0 && flow.packets_arrived > 0 && flow.packets_resent > 0, "{flow:?}");
            assert!(sim.flows()[1].finished < us(200));
        }
    }
}

#[test]
fn progress_between_timeouts_begins_the_count_again() {
    // Twenty outages of 2.5 ms, each of which costs two or three timeouts or, of 3 ms, one; between them there is
    // progress.
    let outages: Vec<(Time, Time)> = (0..20).map(|i| (us(60 + 4_000 * i), us(2_560 + 4_000 * i))).collect();
    for recovery in RECOVERIES.into_iter().filter(|recovery| *recovery != Recovery::GoBack0) {
        let run = |retries| {
            let messages = vec![message(Time::ZERO, 1, 0, 12_000 * PAYLOAD)];
            let one = limited("none", recovery, retries);
            let mut sim = simulation(broken(0, outages.clone()), vec![one], messages);
            finish(&mut sim);
            (sim.totals().hosts.given_up, sim.flows()[0].timeouts, sim.flows()[0].finished.is_some())
        };
        let (given_up, timeouts, finished) = run(3);
        assert!(given_up == 0 && finished && timeouts > 4, "{recovery:?}: {given_up} {timeouts} {finished}");
        if recovery != RECOVERIES[3] {
            assert_eq!(run(1), (1, 1, false), "{recovery:?}");
        }
    }
}

#[test]
fn after_a_connection_was_given_up_later_messages_get_a_new_one() {
    for recovery in RECOVERIES {
        let outage = (us(60), ms(20));
        let messages: Vec<Message> = vec![
            message(Time::ZERO, 1, 0, 10),
            message(us(20), 1, 0, 200 * PAYLOAD),
            message(us(100), 1, 0, 10),
            message(ms(30), 1, 0, 20 * PAYLOAD),
            message(ms(31), 1, 0, 30 * PAYLOAD),
        ];
        let mut one = limited("dcqcn", recovery, 2);
        one.endpoint.connection = true;
        let mut sim = simulation(broken(0, vec![outage]), vec![one], messages);
        finish(&mut sim);
        let finished: Vec<bool> = sim.flows().iter().map(|flow| flow.finished.is_some()).collect();
        assert_eq!(finished, [true, false, false, true, true], "{recovery:?}");
        assert_eq!((sim.totals().hosts.given_up, sim.open_queue_pairs()), (1, (1, 1)), "{recovery:?}");
        assert!(sim.flows()[4].finished < ms(31) + us(100), "{recovery:?}");
    }
}

proptest! {
    #![proptest_config(cases(4))]
    #[test]
    fn every_message_arrives_or_is_given_up_and_threads_do_not_matter(
        outages in prop_oneof![Just(vec![]), prop::collection::vec((0usize..6, 1u64..3_000, 100u64..20_000), 1..12)],
        error_rate in prop_oneof![0.0..0.02f64, 0.0..0.7f64],
        messages in prop::collection::vec((0u64..40_000, 0u32..4, 1u32..4, 1u64..60_000), 1..25),
        (connection, anew) in any::<(bool, bool)>(),
        recovery in prop_oneof![Just(0usize), Just(1), Just(2), Just(3)],
        scheme in prop::sample::select(vec!["none", "dcqcn", "dart", "hpcc", "expresspass", "rcp", "timely"]),
        retries in 1u32..4,
        timeout in 20u64..400,
        seed in any::<u64>(),
    ) {
        let mut graph = two_switches();
        let mut ends = vec![0; graph.links.len()];
        graph.links.iter_mut().for_each(|link| link.error_rate = error_rate);
        let whole = outages.is_empty();
        for (link, pause, long) in outages {
            let link = link % graph.links.len();
            let from = ends[link] + pause;
            ends[link] = from + long;
            graph.links[link].outages.push((us(from), us(from + long)));
        }
        let mut one = limited(scheme, RECOVERIES[recovery], retries);
        (one.endpoint.connection, one.endpoint.anew) = (connection, anew && connection);
        one.endpoint.timeout = us(timeout);
        let mut traffics = vec![one];
        let config = with_credits(NetworkConfig { seed, ..network(graph) }, &mut traffics);
        let symmetric = traffics[0].scheme.symmetric_routes().is_some();
        let config = NetworkConfig { symmetric, ..config };
        let mut messages: Vec<Message> =
            messages.iter().map(|(at, src, by, bytes)| message(us(*at), *src, (src + by) % 4, *bytes)).collect();
        messages.sort_by_key(|message| message.start);
        let run = |of: &[u16]| {
            let (messages, traffics) = (messages.clone(), traffics.clone());
            let mut sim = ParallelSimulation::cut(config.clone(), traffics, Box::new(messages.into_iter()), of);
            if of.iter().any(|part| *part > 0) {
                sim.always_share();
            }
            assert!(sim.run_until(Time::from_s(100), 3_000_000), "events without end: {:?}", sim.totals());
            assert!(sim.is_over(), "something still waits: {:?}", sim.totals());
            (sim.totals(), sim.flows())
        };
        let one = run(&vec![0; config.graph.names.len()]);
        check_ledger(&one.0);
        let lost = one.1.iter().filter(|flow| flow.finished == Time::NEVER).count() as u64;
        prop_assert!(one.0.hosts.given_up > 0 || lost == 0, "{:?}", one.0);
        // Link failures change all routes at once, and run on one thread.
        if whole {
            prop_assert_eq!(run(&cut(&config.graph, 2)), one);
        }
    }
}
