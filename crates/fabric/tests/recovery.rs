//! Recovery of losses in a network, step by step: losses, their detection, retransmissions; and link failures.

use crate::common::*;
use fanin_fabric::topology::{Graph, LeafSpine};
use fanin_fabric::*;
use fanin_units::Time;
use proptest::prelude::*;

/// Two hosts at one switch, links of 100 ns. Packet i of a message that starts at 0 is on the first link from 1.2 i us
/// on for 1.2 us, and arrives 1.4 us after it left; ACKs take 51.2 ns and 100 ns a link.
fn pair(lost_at: &[Time]) -> Graph {
    let mut graph = star(2, ns(100));
    // The link of the sender goes down for a picosecond: what is on it is lost.
    graph.links[0].outages = lost_at.iter().map(|at| (*at, *at + Time::from_ps(1))).collect();
    graph
}

/// From one end of an idle `pair` to the other.
const DATA: u64 = 2 * (1_200_000 + 100_000);
const ACK: u64 = 2 * (51_200 + 100_000);

fn ps(n: u64) -> Time {
    Time::from_ps(n)
}

fn story(graph: Graph, traffic: TrafficConfig, packets: u64) -> Simulation {
    let mut sim = simulation(network(graph), vec![traffic], vec![message(Time::ZERO, 0, 1, packets * PAYLOAD)]);
    finish(&mut sim);
    check_all_arrived(&sim);
    // Once and in order, whatever was sent.
    assert_eq!(sim.traffic_counters()[0].delivered, packets * PAYLOAD);
    sim
}

#[test]
fn a_lost_packet_makes_a_nack_and_all_from_it_on_is_sent_again() {
    // Packet 1 of ten is lost.
    let sim = story(pair(&[ns(1_800)]), traffic("none"), 10);
    assert_eq!(sim.totals().drops, Drops { link_down: 1, ..Drops::default() });
    assert_eq!((sim.totals().hosts.nacks, sim.totals().hosts.timeouts), (1, 0));
    let flow = sim.flows()[0];
    // Packet 2 arrives at 5 us and makes the NACK, which is back at 5.3024 us, when packet 4 is in flight. Packets 1 to
    // 9 follow from 6 us on.
    assert_eq!((flow.packets_sent, flow.packets_resent), (5 + 9, 4));
    assert_eq!(flow.packets_arrived, 13);
    assert_eq!(flow.finished, ns(6_000 + 8 * 1_200) + ps(DATA));
    assert_eq!(flow.acked, flow.finished + ps(ACK));
}

#[test]
fn a_second_nack_for_the_same_byte_waits_for_its_interval() {
    // Packets 1 and, when it is sent again at 6 us, 1 once more.
    let lost = [ns(1_800), ns(6_600)];
    let sim = story(pair(&lost), traffic("none"), 10);
    // The interval of 500 us has not passed: the timeout, 1 ms after the last progress, comes to help.
    assert_eq!((sim.totals().hosts.nacks, sim.totals().hosts.timeouts), (1, 1));
    // The ACK of packet 0 was the last progress.
    let timeout = ps(DATA + ACK) + Time::from_ms(1);
    assert_eq!(sim.flows()[0].finished, timeout + ns(8 * 1_200) + ps(DATA));

    let mut eager = traffic("none");
    eager.endpoint.nack_interval = us(3);
    let sim = story(pair(&lost), eager, 10);
    assert_eq!((sim.totals().hosts.nacks, sim.totals().hosts.timeouts), (2, 0));
}

#[test]
fn only_the_timer_detects_a_lost_last_packet() {
    // Packet 2 of three is lost; the ACK of packet 1 is back before it is due.
    let sim = story(pair(&[ns(3_000)]), traffic("none"), 3);
    assert_eq!((sim.totals().hosts.nacks, sim.totals().hosts.timeouts), (0, 1));
    let flow = sim.flows()[0];
    let timeout = ns(1_200) + ps(DATA + ACK) + Time::from_ms(1);
    assert_eq!(flow.finished, timeout + ps(DATA));
    assert_eq!((flow.packets_sent, flow.packets_resent, flow.packets_arrived), (4, 1, 3));
}

#[test]
fn a_lost_only_packet_comes_again_after_the_timeout() {
    // And once more, when it is lost again.
    let lost = [ns(600), Time::from_ms(1) + ns(600)];
    let sim = story(pair(&lost), traffic("none"), 1);
    assert_eq!(sim.totals().hosts.timeouts, 2);
    assert_eq!(sim.flows()[0].finished, Time::from_ms(2) + ps(DATA));
}

#[test]
fn a_lost_last_ack_is_repeated_when_the_data_comes_again() {
    // The ACK is on the sender's link from 2.7512 us on.
    let sim = story(pair(&[ns(2_760)]), traffic("none"), 1);
    let flow = sim.flows()[0];
    assert_eq!(flow.finished, ps(DATA), "the receiver had it all along");
    assert_eq!(flow.acked, Time::from_ms(1) + ps(DATA + ACK));
    assert_eq!((flow.packets_sent, flow.packets_resent), (2, 1));
    assert_eq!(sim.totals().drops, Drops { link_down: 1, ..Drops::default() });
    assert_eq!(sim.traffic_counters()[0].finished, 1);
}

#[test]
fn packets_lost_with_their_link_are_not_counted_as_errors_too() {
    let mut graph = pair(&[ns(600)]);
    graph.links[0].error_rate = 1.0;
    let mut sim = simulation(network(graph), vec![traffic("none")], vec![message(Time::ZERO, 0, 1, PAYLOAD)]);
    sim.run_until(us(500), u64::MAX);
    assert_eq!(sim.totals().drops, Drops { link_down: 1, ..Drops::default() });
    // The link is up again when the timeout comes.
    sim.run_until(us(1_500), u64::MAX);
    assert_eq!(sim.totals().drops, Drops { link_down: 1, error: 1, ..Drops::default() });
}

#[test]
fn a_lost_ack_in_the_middle_costs_nothing() {
    // The ACK of packet 0, in flight when packet 2 is half sent: packet 2 is lost as well.
    let sim = story(pair(&[ns(2_800)]), traffic("none"), 10);
    assert_eq!(sim.totals().drops, Drops { link_down: 2, ..Drops::default() });
    assert_eq!((sim.totals().hosts.nacks, sim.totals().hosts.timeouts), (1, 0));
    assert_eq!(sim.flows()[0].packets_arrived, 13);
}

#[test]
fn an_ack_per_chunk_is_fewer_acks() {
    let acks = |ack_chunk| {
        let mut chunked = traffic("none");
        chunked.endpoint.ack_chunk = ack_chunk;
        let sim = story(pair(&[]), chunked, 100);
        let flow = sim.flows()[0];
        assert_eq!(
            (flow.finished, flow.acked),
            (flow.ideal, flow.ideal + ps(ACK)),
            "the last packet is always answered"
        );
        (sim.totals().packet_hops - 200) / 2
    };
    assert_eq!(acks(0), 100);
    assert_eq!(acks(1), 100);
    assert_eq!(acks(1460), 100);
    assert_eq!(acks(1461), 50);
    // Three packets are the first to be 4,000 bytes; 33 times, and the last.
    assert_eq!(acks(4_000), 34);
    assert_eq!(acks(u32::MAX), 1);
}

#[test]
fn an_ack_per_chunk_survives_losses_and_small_windows() {
    // A window of 50 packets and an ACK per 60: the sender would wait for ever without its timer.
    let mut wide = traffic("fixed-window");
    wide.endpoint.ack_chunk = 60 * 1460;
    let sim = story(pair(&[ns(1_800)]), wide, 200);
    assert!(sim.totals().hosts.timeouts > 0);
}

/// Messages between the same two hosts over two leaves and four spines of different lengths.
fn over_unequal_spines(connection: bool, messages: u64) -> Simulation {
    let link = cable(gbps(10), us(1));
    let mut graph = LeafSpine { leaves: 2, hosts: 2, spines: 4, host_link: link, fabric_link: link }.build().unwrap();
    for (i, link) in graph.links.iter_mut().enumerate().skip(4) {
        link.delay = us(1 + i as u64 % 4);
    }
    let mut one = traffic("none");
    one.endpoint.connection = connection;
    let messages = (0..messages).map(|i| message(ns(i), 0, 3, (1 + i % 3) * PAYLOAD)).collect();
    let mut sim = simulation(network(graph), vec![one], messages);
    finish(&mut sim);
    check_all_arrived(&sim);
    assert_eq!((sim.totals().hosts.nacks, sim.totals().hosts.timeouts, sim.totals().drops.total()), (0, 0, 0));
    sim
}

fn spines_used(sim: &Simulation) -> usize {
    (6..10).filter(|spine| counters(sim, 4, *spine).packets > 0).count()
}

#[test]
fn a_connection_carries_messages_in_order_over_one_path() {
    let sim = over_unequal_spines(true, 30);
    assert_eq!(spines_used(&sim), 1);
    let flows = sim.flows();
    assert!(flows.is_sorted_by_key(|f| f.finished) && flows.is_sorted_by_key(|f| f.acked));
    // One pipe: 60 packets back to back.
    let first = flows[0].finished;
    assert_eq!(flows[29].finished - first, gbps(10).tx_time(WIRE).saturating_mul(59));
    assert_eq!(flows.iter().map(|f| f.packets_sent).sum::<u32>(), 60);
}

#[test]
fn messages_with_their_own_queue_pairs_take_different_paths() {
    let sim = over_unequal_spines(false, 30);
    assert_eq!(spines_used(&sim), 4);
    let flows = sim.flows();
    assert!(flows.iter().all(|f| f.packets_sent as u64 == f.bytes / PAYLOAD));
    assert!(!flows.is_sorted_by_key(|f| f.finished));
}

#[test]
fn in_a_connection_a_loss_holds_the_next_message_up_and_alone_it_does_not() {
    for connection in [true, false] {
        let mut one = traffic("none");
        one.endpoint.connection = connection;
        one.endpoint.timeout = us(200);
        // The first of two messages of one packet is lost; the second is not.
        let messages = vec![message(Time::ZERO, 0, 1, PAYLOAD), message(ns(1), 0, 1, PAYLOAD)];
        let mut sim = simulation(network(pair(&[ns(600)])), vec![one], messages);
        finish(&mut sim);
        check_all_arrived(&sim);
        let [first, second] = sim.flows()[..] else { panic!("two messages") };
        if connection {
            assert_eq!(sim.totals().hosts.nacks, 1, "the second shows that the first is missing");
            assert!(first.finished < second.finished && second.finished < us(20), "{first:?} {second:?}");
        } else {
            assert_eq!(sim.totals().hosts.timeouts, 1);
            assert_eq!(second.finished, ns(1_200) + ps(DATA));
            assert_eq!(first.finished, us(200) + ps(DATA));
        }
    }
}

#[test]
fn a_connection_goes_on_after_a_rest() {
    let mut one = traffic("none");
    one.endpoint.connection = true;
    let messages = (0..5).map(|i| message(Time::from_ms(3 * i), 0, 1, 3 * PAYLOAD)).collect();
    let mut sim = simulation(network(pair(&[Time::from_ms(3) + ns(600)])), vec![one], messages);
    finish(&mut sim);
    check_all_arrived(&sim);
    let took: Vec<Time> = sim.flows().iter().map(|f| f.finished - f.start).collect();
    assert_eq!([took[0], took[2], took[3], took[4]], [sim.flows()[0].ideal; 4]);
    assert!(took[1] > took[0]);
}

/// Two leaves of four hosts and two spines, 10 Gb/s. The link of the first leaf to the first spine is down at times.
fn two_spines(outages: &[(Time, Time)]) -> Graph {
    let link = cable(gbps(10), us(1));
    let mut graph = LeafSpine { leaves: 2, hosts: 4, spines: 2, host_link: link, fabric_link: link }.build().unwrap();
    let dying = graph.links.iter_mut().find(|l| (l.a.0, l.b.0) == (8, 10)).unwrap();
    dying.outages = outages.to_vec();
    graph
}

#[test]
fn traffic_moves_to_the_other_of_two_equal_paths() {
    let (down, up) = (us(200), us(600));
    // Small messages all the time, and one in flight when the link fails.
    let mut messages: Vec<Message> =
        (0..400).map(|i| message(us(2 * i), (i % 4) as u32, 4 + (i / 4 % 4) as u32, 1000)).collect();
    messages.extend((0..8).map(|i| message(us(190), i % 4, 4 + i / 4, 30 * PAYLOAD)));
    let mut sim = line_rate(network(two_spines(&[(down, up)])), messages);
    run_to(&mut sim, down + Time::from_ps(1));
    let before = (counters(&sim, 8, 10).packets, counters(&sim, 8, 11).packets);
    assert!(before.0 > 20 && before.1 > 20, "both ways are used: {before:?}");
    run_to(&mut sim, up);
    let meanwhile = (counters(&sim, 8, 10).packets - before.0, counters(&sim, 8, 11).packets - before.1);
    assert!(meanwhile.0 == 0 && meanwhile.1 > 200, "{meanwhile:?}");
    finish(&mut sim);
    check_all_arrived(&sim);
    assert!(counters(&sim, 8, 10).packets > before.0 + 20, "it comes back into use");
    assert!(sim.totals().drops.link_down > 0);
    assert_eq!(sim.totals().drops.total(), sim.totals().drops.link_down, "the other way is found at once");
    // Messages that start while the link is down are not affected.
    let lucky = sim.flows().into_iter().filter(|f| f.start > us(250) && f.finished < us(600) && f.bytes == 1000);
    assert_eq!(lucky.filter(|f| f.packets_resent > 0).count(), 0);
}

#[test]
fn a_lossless_network_is_not_stopped_by_a_pause_that_died_with_its_link() {
    // The first spine's link dies while leaf and spine pause each other's classes.
    let mut config = network(two_spines(&[(us(60), us(300))]));
    config.classes = vec![class(true, Marking::Off)];
    config.buffer = lossless(30_000, None);
    let messages =
        (0..8).flat_map(|i| [message(Time::ZERO, i % 4, 4, 60 * PAYLOAD), message(ns(1), 4 + i % 4, 0, 60 * PAYLOAD)]);
    let mut sim = line_rate(config, messages.collect());
    run_to(&mut sim, us(60));
    let paused: u64 = [(8, 10), (10, 8)].iter().map(|(a, b)| counters(&sim, *a, *b).pauses).sum();
    assert!(paused > 0, "one of them was paused");
    finish(&mut sim);
    check_all_arrived(&sim);
}

#[test]
fn a_link_that_stays_down_leaves_messages_unfinished_and_the_rest_alone() {
    // Host 1's only link dies for ever at 10 us: from there it can neither send nor receive.
    let mut graph = star(3, us(1));
    graph.links[1].outages = vec![(us(10), Time::NEVER)];
    let messages = vec![
        message(Time::ZERO, 0, 1, 100 * PAYLOAD),
        message(us(1), 1, 2, 100 * PAYLOAD),
        message(us(20), 1, 2, PAYLOAD),
        message(us(50), 0, 2, 10 * PAYLOAD),
        message(us(50), 2, 1, PAYLOAD),
    ];
    let mut sim = line_rate(network(graph), messages);
    run_to(&mut sim, Time::from_ms(20));
    let flows = sim.flows();
    let finished: Vec<bool> = flows.iter().map(|f| f.finished.is_some()).collect();
    assert_eq!(finished, [false, false, false, true, false]);
    assert_eq!((sim.started(), sim.finished(), sim.open_messages()), (5, 1, 4));
    assert!(flows[0].delivered > 0 && flows[0].delivered < flows[0].bytes);
    assert_eq!(flows[2].packets_sent, 0);
    // Once per timeout all of it is tried again, and dropped at the switch; nothing else happens.
    let totals = sim.totals();
    assert!(totals.drops.no_route > 0 && (30..60).contains(&totals.hosts.timeouts), "{totals:?}");
    assert!(totals.events < 20_000, "{totals:?}");
}

#[test]
fn a_run_whose_senders_are_all_cut_off_is_over() {
    let mut graph = star(2, us(1));
    graph.links[0].outages = vec![(us(10), Time::NEVER)];
    let mut sim = line_rate(network(graph), vec![message(Time::ZERO, 0, 1, 100 * PAYLOAD), message(us(20), 0, 1, 1)]);
    finish(&mut sim);
    assert_eq!((sim.started(), sim.finished(), sim.open_messages()), (2, 0, 2));
    assert_eq!(sim.totals().ledger.in_flight, 0);
}

#[test]
fn a_message_posted_while_its_host_is_cut_off_waits_for_the_link() {
    for connection in [false, true] {
        let mut graph = star(2, us(1));
        graph.links[0].outages = vec![(us(10), us(30))];
        let mut one = traffic("none");
        one.endpoint.connection = connection;
        let messages = vec![message(us(20), 0, 1, PAYLOAD), message(us(25), 0, 1, PAYLOAD)];
        let mut sim = simulation(network(graph), vec![one], messages);
        finish(&mut sim);
        check_all_arrived(&sim);
        let flows = sim.flows();
        assert_eq!(flows[0].finished, us(30) + ns(2 * 1_200 + 2 * 1_000));
        assert_eq!(flows[1].finished, us(30) + ns(3 * 1_200 + 2 * 1_000));
        assert_eq!(sim.totals().drops, Drops::default());
    }
}

/// Hosts 0, 1 and 2 with a NIC at switch 3 and one at switch 4 each.
fn two_nics() -> Graph {
    let links: Vec<_> = (0..3).flat_map(|h| [(h, 3, gbps(10), us(1)), (h, 4, gbps(10), us(1))]).collect();
    graph(3, 2, &links)
}

#[test]
fn a_host_with_two_nics_uses_both() {
    let messages = (0..40).map(|i| message(ns(i), 0, 1 + (i % 2) as u32, 50 * PAYLOAD)).collect();
    let mut sim = line_rate(network(two_nics()), messages);
    finish(&mut sim);
    check_all_arrived(&sim);
    assert_eq!(sim.totals().drops, Drops::default());
    let (one, other) = (counters(&sim, 0, 3).packets, counters(&sim, 0, 4).packets);
    assert_eq!(one + other, 40 * 50);
    assert!(one > 500 && other > 500, "{one} {other}");
    // Both at line rate from the first 40 ns on: done when the busier one is.
    let last = sim.flows().iter().map(|f| f.finished).max().unwrap();
    let busy = gbps(10).tx_time(WIRE).saturating_mul(one.max(other) + 1) + us(2);
    assert!(last >= busy && last - busy < ns(40), "{last} {busy}");
}

#[test]
fn flows_move_to_the_other_nic_when_theirs_dies() {
    for host_fifo in [None, Some(HostFifo { capacity: 64_000, mark_above: None })] {
        for scheme in ["none", "fixed-window", "dcqcn"] {
            for nic in [0, 1] {
                let mut graph = two_nics();
                graph.links[nic].outages = vec![(us(100), Time::NEVER)];
                let config = NetworkConfig { host_fifo, ..network(graph) };
                let messages = (0..10).map(|i| message(ns(i), 0, 1, 100 * PAYLOAD)).collect();
                let mut sim = simulation(config, vec![traffic(scheme)], messages);
                run_to(&mut sim, Time::from_ms(50));
                assert_eq!(sim.finished(), 10, "{scheme}, NIC {nic}, {host_fifo:?}");
                finish(&mut sim);
                check_all_arrived(&sim);
            }
        }
    }
}

#[test]
fn endless_flows_leave_a_nic_whose_path_is_cut_further_on() {
    // Host 1's link to switch 3 dies for ever, so that switch 3 leads nowhere for flows that never rest.
    let mut graph = two_nics();
    graph.links[2].outages = vec![(us(100), Time::NEVER)];
    let messages = (0..10).map(|i| message(ns(i), 0, 1, Message::ENDLESS)).collect();
    let mut sim = line_rate(network(graph), messages);
    run_to(&mut sim, Time::from_ms(3));
    let before: Vec<u64> = sim.flows().iter().map(|f| f.delivered).collect();
    run_to(&mut sim, Time::from_ms(4));
    assert!(sim.flows().iter().zip(before).all(|(f, before)| f.delivered > before), "{:?}", sim.flows());
}

#[test]
fn data_for_a_host_with_two_nics_takes_the_one_that_lives() {
    let mut graph = two_nics();
    // Links 2 and 3 are host 1's.
    graph.links[2].outages = vec![(us(50), us(400))];
    let messages = (0..20).map(|i| message(us(10 * i), 0, 1, 20 * PAYLOAD)).collect();
    let mut sim = line_rate(network(graph), messages);
    finish(&mut sim);
    check_all_arrived(&sim);
    let total = counters(&sim, 3, 1).packets + counters(&sim, 4, 1).packets;
    assert!(counters(&sim, 4, 1).packets > total / 2);
}

#[test]
fn an_outage_in_the_middle_of_a_message_affects_no_other_flow() {
    // Fifty short outages of one link: everything arrives once, in order.
    let mut graph = star(4, us(1));
    graph.links[0].outages = (1..50).map(|i| (us(7 * i), us(7 * i) + ns(300))).collect();
    let mut quick = traffic("none");
    quick.endpoint.timeout = us(50);
    quick.endpoint.nack_interval = us(10);
    let messages = vec![
        message(Time::ZERO, 0, 1, 200 * PAYLOAD),
        message(Time::ZERO, 1, 0, 200 * PAYLOAD),
        message(Time::ZERO, 2, 3, 200 * PAYLOAD),
    ];
    let mut sim = simulation(network(graph), vec![quick], messages);
    finish(&mut sim);
    check_all_arrived(&sim);
    let flows = sim.flows();
    assert!(flows[0].packets_resent > 0 && flows[1].packets_resent > 0);
    assert_eq!((flows[2].packets_resent, flows[2].finished), (0, flows[2].ideal));
    assert_eq!(sim.traffic_counters()[0].delivered, 600 * PAYLOAD);
}

/// IRN with so many packets in flight, or selective repeat.
fn selective(cap: Cap) -> Recovery {
    Recovery::Selective(Rules { cap, timeout_high: Time::from_ms(1), low_up_to: 3, nacks: 1, tell_scheme: false })
}

fn with(scheme: &str, recovery: Recovery) -> TrafficConfig {
    let one = traffic(scheme);
    TrafficConfig { endpoint: EndpointConfig { recovery, ..one.endpoint }, ..one }
}

#[test]
fn selective_retransmission_sends_the_lost_packet_alone() {
    // Packet 1 of ten is lost.
    let sim = story(pair(&[ns(1_800)]), with("none", selective(Cap::Off)), 10);
    let flow = sim.flows()[0];
    // Packet 2 arrives at 5 us, and its NACK is back before packet 4 has left. Packet 1 goes between 4 and 5.
    assert_eq!((flow.packets_sent, flow.packets_resent, flow.packets_arrived, flow.attempts), (11, 1, 10, 1));
    assert_eq!(flow.finished, ns(6_000 + 5 * 1_200) + ps(DATA));
    // Packets 2, 3 and 4 arrive before it. That is a loss and no reordering.
    let totals = sim.totals();
    assert_eq!(
        (totals.hosts.nacks, totals.hosts.timeouts, totals.hosts.duplicates, totals.hosts.reordered),
        (3, 0, 0, 0)
    );
}

#[test]
fn the_short_timeout_repairs_a_lost_tail() {
    // Packet 9 of ten is lost: one is in flight when the others are acknowledged.
    let lost = [ns(9 * 1_200 + 600)];
    for (packets, timeout) in [(3, us(100)), (0, us(320))] {
        let rules = Rules { cap: Cap::Bdp, timeout_high: us(320), low_up_to: packets, nacks: 1, tell_scheme: false };
        let mut one = with("none", Recovery::Selective(rules));
        one.endpoint.timeout = us(100);
        let sim = story(pair(&lost), one, 10);
        assert_eq!((sim.totals().hosts.timeouts, sim.flows()[0].packets_resent), (1, 1));
        // Packet 8 is the last one acknowledged.
        assert_eq!(sim.flows()[0].finished, ns(8 * 1_200) + ps(DATA + ACK) + timeout + ps(DATA));
    }
}

#[test]
fn at_most_the_cap_is_on_the_way() {
    // A window of four packets on a path of 5.2 + 1.2 us: a packet per 1.45 us instead of 1.2 us.
    let sim = story(star(2, us(1)), with("none", selective(Cap::Packets(4))), 400);
    let flow = sim.flows()[0];
    let round = ns(2 * (1_200 + 1_000)) + ps(2 * (51_200 + 1_000_000));
    let rounds = round.saturating_mul(99);
    let last = ns(3 * 1_200 + 2 * 2_200);
    assert_eq!((flow.finished, flow.packets_resent), (rounds + last, 0));
}

#[test]
fn go_back_0_never_gets_a_long_message_over_a_link_that_loses_one_packet_in_256() {
    let finished = |recovery| {
        let mut graph = pair(&[]);
        graph.links[0].error_rate = 1.0 / 256.0;
        let mut one = with("none", recovery);
        one.endpoint.nack_interval = us(50);
        let mut sim = simulation(network(graph), vec![one], vec![message(Time::ZERO, 0, 1, 4_000_000)]);
        run_to(&mut sim, Time::from_ms(30));
        (sim.flows()[0].finished < Time::NEVER, sim.flows()[0].delivered)
    };
    // 2,740 packets all arrive in one attempt of 44,000.
    let (done, arrived) = finished(Recovery::GoBack0);
    assert!(!done && arrived < 2_000_000, "{arrived}");
    assert_eq!(finished(Recovery::GoBackN), (true, 4_000_000));
    assert_eq!(finished(selective(Cap::Bdp)), (true, 4_000_000));
}

/// Sixteen hosts send to one; the time until all have arrived, and the packets sent again.
fn incast_of_16(scheme: &str, recovery: Recovery, buffer: BufferPolicy, lossless: bool) -> (Time, u64, Simulation) {
    let marking = Marking::Red { min: 5_000, max: 100_000, max_probability: 0.1, at: MarkAt::Dequeue };
    let classes = vec![class(lossless, marking)];
    let config = NetworkConfig { buffer, classes, ..network(star(17, us(1))) };
    let messages = (1..17).map(|src| message(ns(src.into()), src, 0, 100 * PAYLOAD)).collect();
    let mut sim = simulation(config, vec![with(scheme, recovery)], messages);
    finish(&mut sim);
    check_all_arrived(&sim);
    let flows = sim.flows();
    let last = flows.iter().map(|flow| flow.finished).max().unwrap();
    (last, flows.iter().map(|flow| u64::from(flow.packets_resent)).sum(), sim)
}

#[test]
fn without_pfc_selective_retransmission_is_faster_than_go_back_n() {
    // The dynamic threshold of HPCC 5.3: half of what is free for one busy port.
    let pfc = Pfc { headroom: None, xon_offset: None };
    let pool = BufferPolicy::Pooled { bytes: 200_000, alpha: 1.0, pfc_alpha: 0.125, pfc };
    for scheme in ["none", "dcqcn"] {
        let run = |recovery| {
            let (last, resent, sim) = incast_of_16(scheme, recovery, pool, false);
            assert!(sim.totals().drops.buffer > 0);
            (last, resent)
        };
        // Go-back-0 never ends here: each attempt of a message loses a packet.
        let [irn, repeat, back] = [selective(Cap::Bdp), selective(Cap::Off), Recovery::GoBackN].map(run);
        for better in [irn, repeat] {
            assert!(better.0 < back.0 && better.1 < back.1, "{scheme}: {better:?} {back:?}");
        }
    }
}

#[test]
fn without_losses_every_recovery_gives_the_same_run() {
    for scheme in ["none", "dcqcn", "hpcc", "dart"] {
        let run = |recovery| incast_of_16(scheme, recovery, lossless(400_000, None), true);
        let of = |recovery| {
            let (last, resent, sim) = run(recovery);
            let totals = sim.totals();
            assert_eq!(
                (totals.drops.total(), resent, totals.hosts.duplicates, totals.hosts.nacks),
                (0, 0, 0, 0),
                "{scheme}"
            );
            (last, totals.event_hash)
        };
        let back = of(Recovery::GoBackN);
        assert_eq!(of(Recovery::GoBack0), back, "{scheme}");
        assert_eq!(of(selective(Cap::Off)), back, "{scheme}");
        assert_ne!(of(selective(Cap::Packets(2))), back, "{scheme}");
    }
}

#[test]
fn only_a_recovery_that_says_so_makes_a_scheme_react_to_losses() {
    let reactions = |tell_scheme| {
        let rules = Rules { cap: Cap::Off, timeout_high: us(320), low_up_to: 3, nacks: 1, tell_scheme };
        let mut graph = pair(&[]);
        graph.links[0].error_rate = 0.01;
        let sim = story(graph, with("dctcp", Recovery::Selective(rules)), 2_000);
        sim.traffic_counters()[0].actions.get(fanin_cc::Action::LossReaction)
    };
    assert_eq!(reactions(false), 0);
    assert!(reactions(true) > 5);
}

#[test]
fn a_receiver_that_is_gone_costs_one_packet_per_timeout() {
    let mut graph = star(3, us(1));
    graph.links[1].outages = vec![(us(50), Time::NEVER)];
    for recovery in [selective(Cap::Bdp), selective(Cap::Off), Recovery::GoBack0] {
        let messages = vec![message(Time::ZERO, 0, 1, 100 * PAYLOAD), message(Time::ZERO, 2, 0, 100 * PAYLOAD)];
        let mut sim = simulation(network(graph.clone()), vec![with("none", recovery)], messages);
        run_to(&mut sim, Time::from_ms(20));
        let flows = sim.flows();
        assert!(flows[0].finished == Time::NEVER && flows[1].finished < us(200), "{flows:?}");
        assert!(flows[0].delivered > 0 && flows[0].delivered < flows[0].bytes);
        assert!((8..25).contains(&flows[0].timeouts), "{:?}", flows[0]);
        assert_eq!((sim.open_messages(), flows[1].packets_resent), (1, 0));
    }
}

#[test]
fn messages_of_a_connection_end_in_order_when_a_gap_closes() {
    // Ten messages of one packet each; the second is lost.
    let mut one = with("none", selective(Cap::Off));
    one.endpoint.connection = true;
    let messages = (0..10).map(|i| message(ns(i), 0, 1, PAYLOAD)).collect();
    let mut sim = simulation(network(pair(&[ns(1_800)])), vec![one], messages);
    finish(&mut sim);
    check_all_arrived(&sim);
    let flows = sim.flows();
    // Packet 1 is sent again at 6 us, when 4 has left; 2, 3 and 4 wait for it.
    let closed = ns(6_000) + ps(DATA);
    let ends: Vec<Time> = flows.iter().map(|flow| flow.finished).collect();
    assert_eq!(ends[..5], [ps(DATA), closed, closed, closed, closed]);
    assert!(ends.is_sorted() && ends[9] == closed + ns(5 * 1_200), "{ends:?}");
    assert_eq!(flows.iter().map(|flow| flow.packets_resent).collect::<Vec<_>>(), [0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
}

proptest! {
    #![proptest_config(cases(2))]
    #[test]
    fn whatever_is_lost_everything_is_delivered_once(
        outages in prop::collection::vec((1u64..4_000, 1u64..3_000), 0..12),
        error_rate in prop_oneof![Just(0.0), 0.0..0.05f64],
        sizes in prop::collection::vec((0u64..30_000, 1u64..40_000), 1..8),
        (connection, anew) in any::<(bool, bool)>(),
        ack_chunk in 0u32..6_000,
        timeout in 20u64..200,
        recovery in random::any_recovery(),
        cpu_time in 0u64..10_000,
        seed in any::<u64>(),
    ) {
        let mut graph = pair(&[]);
        let mut at = 0;
        for (pause, long) in outages {
            at += pause;
            graph.links[0].outages.push((ns(at), ns(at + long)));
            at += long;
        }
        graph.links[1].error_rate = error_rate;
        let mut one = traffic("none");
        let nack_interval = us(10);
        let cpu_time = CpuTime::Uniform(Time::ZERO, ns(cpu_time));
        // Eight messages share the link, so that ACKs of five packets come every 50 us. Timeouts before that would
        // begin a message again and again.
        let timeout = us(if recovery == Recovery::GoBack0 { timeout.max(100) } else { timeout });
        one.endpoint =
            EndpointConfig { timeout, nack_interval, ack_chunk, connection, anew, recovery, cpu_time, ..one.endpoint };
        let messages: Vec<Message> = sizes.iter().map(|(at, bytes)| message(ns(*at), 0, 1, *bytes)).collect();
        let total: u64 = sizes.iter().map(|(_, bytes)| bytes).sum();
        let mut sim = simulation(NetworkConfig { seed, ..network(graph) }, vec![one], messages);
        finish(&mut sim);
        check_all_arrived(&sim);
        prop_assert_eq!(sim.traffic_counters()[0].delivered, total);
    }
}
