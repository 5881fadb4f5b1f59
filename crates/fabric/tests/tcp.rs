//! TCP in a network: what connections cost, what they carry, and that they end.

use crate::common::*;
use fanin_fabric::topology::Graph;
use fanin_fabric::*;
use fanin_units::{Bytes, Time};

/// Hosts around a switch at 10 Gb/s and 5 us: a full packet takes 1.2 us a link, an ACK 51.2 ns.
fn tcp_star(hosts: u32) -> NetworkConfig {
    network(star(hosts, us(5)))
}

const ONE_WAY_ACK: Time = Time::from_ps(2 * (5_000_000 + 51_200));
const OPENED: Time = Time::from_ps(4 * (5_000_000 + 51_200) + 51_200);
const ONE_WAY_FULL: Time = Time::from_ps(2 * (5_000_000 + 1_200_000));

/// A message in a chain.
fn chained(message: Message, dependency: Dependency) -> Message {
    Message { dependency, ..message }
}

#[test]
fn a_message_of_its_own_pays_a_handshake_and_leaves_nothing() {
    let mut sim = simulation(tcp_star(2), vec![over_tcp("newreno")], vec![message(us(3), 0, 1, PAYLOAD)]);
    finish(&mut sim);
    check_all_arrived(&sim);
    let flow = sim.flows()[0];
    // SYN there, SYN and ACK back, data there behind the ACK of the handshake.
    assert_eq!(flow.finished - flow.start, OPENED + ONE_WAY_FULL);
    assert_eq!((flow.packets_sent, flow.packets_arrived, flow.packets_resent, flow.timeouts), (1, 1, 0, 0));
    assert_eq!(flow.start, us(3));
}

#[test]
fn a_connection_that_stays_open_pays_it_once() {
    let mut traffic = over_tcp("newreno");
    traffic.tcp.as_mut().unwrap().persistent = true;
    let messages = vec![message(us(0), 0, 1, PAYLOAD), message(us(500), 0, 1, PAYLOAD), message(us(900), 1, 0, 100)];
    let mut sim = simulation(tcp_star(2), vec![traffic], messages);
    finish(&mut sim);
    check_all_arrived(&sim);
    let took: Vec<Time> = sim.flows().iter().map(|f| f.finished - f.start).collect();
    assert_eq!(took[1], ONE_WAY_FULL);
    // The reverse direction is a connection of its own.
    assert!(took[2] > ONE_WAY_ACK + ONE_WAY_ACK, "{took:?}");
}

#[test]
fn the_hosts_overhead_counts_in_the_completion_time() {
    let traffic = TrafficConfig { overhead: us(300), ..over_tcp("newreno") };
    let mut sim = simulation(tcp_star(2), vec![traffic], vec![message(us(3), 0, 1, PAYLOAD)]);
    finish(&mut sim);
    let flow = sim.flows()[0];
    assert_eq!(flow.finished - flow.start, us(300) + OPENED + ONE_WAY_FULL);
}

/// A client asks two servers, which take 7 us to think, and asks again when both have answered.
fn queries(rounds: u32) -> Vec<Message> {
    let mut messages = Vec::new();
    for round in 0..rounds {
        for server in [1, 2] {
            // Gates: per round one for both answers, and one for each request.
            let (gate, asked) = (3 * round, 3 * round + server);
            let request =
                Dependency { after: (round > 0).then(|| gate - 3), counts: Some(asked), ..Dependency::default() };
            let delay = us(7);
            let answer =
                Dependency { after: Some(asked), delay, answers: true, counts: Some(gate), ..Dependency::default() };
            messages.push(chained(Message { group: round, ..message(us(10), 0, server, 100) }, request));
            messages.push(chained(Message { group: round, ..message(us(10), server, 0, PAYLOAD) }, answer));
        }
    }
    messages
}

#[test]
fn a_query_waits_for_all_answers_and_asks_again() {
    for persistent in [false, true] {
        let mut traffic = over_tcp("dctcp");
        traffic.tcp.as_mut().unwrap().persistent = persistent;
        let mut sim = simulation(tcp_star(3), vec![traffic], queries(3));
        assert!(!sim.nothing_to_come());
        finish(&mut sim);
        check_all_arrived(&sim);
        assert!(sim.nothing_to_come());
        let flows = sim.flows();
        for round in 0..3 {
            let of = |i: usize| &flows[4 * round + i];
            for server in [0, 2] {
                assert!(of(server).request && !of(server + 1).request);
                // The server thinks before it answers, on the connection that it was asked on: no second handshake.
                assert_eq!(of(server + 1).start, of(server).finished + us(7));
            }
            let last = of(1).finished.max(of(3).finished);
            // One answer waits for the other's packet at the last hop.
            assert_eq!(last, of(1).start.min(of(3).start) + ONE_WAY_FULL + Time::from_ps(1_200_000), "{persistent}");
            if round < 2 {
                assert_eq!((flows[4 * round + 4].start, flows[4 * round + 6].start), (last, last));
            }
        }
        assert_eq!(sim.totals().drops.total(), 0);
    }
}

#[test]
fn no_round_begins_after_posting_has_stopped_but_what_was_asked_is_answered() {
    let mut sim = simulation(tcp_star(3), vec![over_tcp("newreno")], queries(50));
    sim.run_until(us(100), u64::MAX);
    sim.stop_posting();
    finish(&mut sim);
    let flows = sim.flows();
    let posted: Vec<bool> = flows.iter().map(|f| f.start.is_some()).collect();
    let rounds = posted.iter().filter(|p| **p).count() / 4;
    assert!((1..4).contains(&rounds), "{rounds}");
    assert!(posted[..4 * rounds].iter().all(|p| *p) && posted[4 * rounds..].iter().all(|p| !*p));
    assert!(flows[..4 * rounds].iter().all(|f| f.finished.is_some()));
    assert_eq!((sim.open_messages(), sim.started()), (0, 4 * rounds as u64));
}

#[test]
fn an_incast_that_overflows_its_port_arrives_after_timeouts() {
    let config = NetworkConfig { buffer: lossless(20 * WIRE, None), ..tcp_star(41) };
    let messages: Vec<Message> = (1..41).map(|host| message(us(0), host, 0, 25 * PAYLOAD)).collect();
    let mut sim = simulation(config, vec![over_tcp("newreno")], messages);
    finish(&mut sim);
    check_all_arrived(&sim);
    let flows = sim.flows();
    let timeouts: u32 = flows.iter().map(|f| f.timeouts).sum();
    // A FIN that is lost delays no message.
    assert!(timeouts as u64 <= sim.totals().hosts.timeouts);
    assert!(timeouts > 0 && sim.totals().drops.buffer > 0);
    // What was lost was sent again, and what arrived twice is counted as such.
    for flow in flows {
        assert!(flow.packets_arrived as u64 >= flow.bytes / PAYLOAD && flow.packets_resent < flow.packets_sent);
    }
}

#[test]
fn unmarked_newreno_fills_the_buffer_and_dctcp_stays_at_its_threshold() {
    let peak = |scheme: &str| {
        let marking = Marking::Step { above: 30 * WIRE, at: MarkAt::Enqueue };
        let buffer = lossless(200 * WIRE, None);
        let config = NetworkConfig { classes: vec![class(false, marking)], buffer, ..tcp_star(3) };
        let messages = vec![message(us(0), 1, 0, 20_000_000), message(us(0), 2, 0, 20_000_000)];
        let mut sim = simulation(config, vec![over_tcp(scheme)], messages);
        finish(&mut sim);
        check_all_arrived(&sim);
        let flows = sim.flows();
        assert_eq!(flows.iter().any(|f| f.packets_marked > 0), scheme != "newreno");
        (counters(&sim, 3, 0).peak_queue / WIRE, sim.totals().drops.buffer)
    };
    let (full, dropped) = peak("newreno");
    assert!(full == 200 && dropped > 0, "{full} packets, {dropped} dropped");
    // A first slow start overshoots by at most what is in flight.
    let (short, dropped) = peak("dctcp");
    assert!(short < 100 && dropped == 0, "{short} packets, {dropped} dropped");
    let (ecn, dropped) = peak("newreno-ecn");
    assert!(ecn < 100 && dropped == 0, "{ecn} packets, {dropped} dropped");
}

#[test]
fn a_stream_goes_on_after_its_link_was_down() {
    let mut graph: Graph = star(2, us(5));
    graph.links[1].outages = vec![(us(300), us(900))];
    let mut sim = simulation(network(graph), vec![over_tcp("newreno")], vec![message(us(0), 0, 1, 2_000_000)]);
    finish(&mut sim);
    check_all_arrived(&sim);
    assert!(sim.flows()[0].timeouts > 0 && sim.totals().drops.link_down > 0);
}

#[test]
fn acks_may_travel_in_front_of_data_or_among_it() {
    for ack_class in [0, 1] {
        let mut traffic = over_tcp("newreno");
        traffic.tcp.as_mut().unwrap().ack_class = ack_class;
        let mut sim = simulation(tcp_star(2), vec![traffic], vec![message(us(0), 0, 1, 50 * PAYLOAD)]);
        finish(&mut sim);
        check_all_arrived(&sim);
        // What the receiver's own queue held of each class: ACKs only.
        let queue = port(&sim, 1, 2).ix() * 2;
        let peaks: Vec<u64> = sim.class_counters()[queue..queue + 2].iter().map(|c| c.peak_queue).collect();
        assert_eq!(peaks, if ack_class == 1 { [0, 64] } else { [64, 0] });
    }
}

#[test]
fn tcp_and_rdma_share_a_port_in_classes_of_their_own() {
    let classes = vec![class_with(false, 0.5), class_with(true, 0.5)];
    let buffer = BufferPolicy::Pooled {
        bytes: 2_000_000,
        alpha: 1.0,
        pfc_alpha: 0.5,
        pfc: Pfc { headroom: None, xon_offset: None },
    };
    let config = NetworkConfig { classes, buffer, ..tcp_star(5) };
    let traffics = vec![over_tcp("newreno"), TrafficConfig { class: 2, ..traffic("none") }];
    let messages = vec![
        message(us(0), 1, 0, 5_000_000),
        message(us(0), 2, 0, 5_000_000),
        Message { traffic: 1, ..message(us(0), 3, 0, 5_000_000) },
        Message { traffic: 1, ..message(us(0), 4, 0, 5_000_000) },
    ];
    let mut sim = simulation(config, traffics, messages);
    finish(&mut sim);
    check_all_arrived(&sim);
    // The lossless class paused its senders and lost nothing; each class had half the port while both had data.
    assert_eq!(sim.totals().drops.lossless, 0);
    let flows = sim.flows();
    let last = |of: std::ops::Range<usize>| flows[of].iter().map(|f| f.finished).max().unwrap();
    let (tcp, rdma) = (last(0..2), last(2..4));
    assert!(tcp.as_ps().abs_diff(rdma.as_ps()) < rdma.as_ps() / 5, "{tcp} and {rdma}");
}

/// Claim dctcp-sec32-limit, its first half: one packet of each of N synchronised senders overflows a buffer below N.
#[test]
fn dctcp_sec32_limit_one_packet_each_is_too_much_for_any_sender() {
    for scheme in ["newreno", "dctcp"] {
        for (senders, buffer) in [(120u32, 100u64), (200, 100), (100, 80)] {
            let mut traffic = over_tcp(scheme);
            // Their connections are open: each has sent a byte before.
            traffic.tcp.as_mut().unwrap().persistent = true;
            let mut messages: Vec<Message> =
                (1..=senders).map(|host| message(us(40 * host as u64), host, 0, 1)).collect();
            messages.extend((1..=senders).map(|host| message(Time::from_ms(20), host, 0, PAYLOAD)));
            let config = NetworkConfig { buffer: lossless(buffer * WIRE, None), ..tcp_star(senders + 1) };
            let mut sim = simulation(config, vec![traffic], messages);
            run_to(&mut sim, Time::from_ms(19));
            assert_eq!(sim.totals().drops.total(), 0);
            run_to(&mut sim, Time::from_ms(20) + us(200));
            let drops = sim.totals().drops.buffer;
            // One leaves while the others wait.
            assert!(drops >= senders as u64 - buffer - 1, "{scheme}, {senders} into {buffer}: {drops}");
            finish(&mut sim);
            check_all_arrived(&sim);
        }
    }
}

#[test]
fn a_message_knows_its_size_in_bytes_however_the_stream_is_cut() {
    // Three messages of one connection, posted at once: segments span their ends.
    let mut traffic = over_tcp("newreno");
    traffic.tcp.as_mut().unwrap().persistent = true;
    let sizes = [Bytes(700), Bytes(2000), Bytes(1680)];
    let messages = (1..).zip(&sizes).map(|(at, b)| message(us(at), 0, 1, b.get())).collect();
    let mut sim = simulation(tcp_star(2), vec![traffic], messages);
    finish(&mut sim);
    check_all_arrived(&sim);
    let flows = sim.flows();
    assert!(flows.windows(2).all(|w| w[0].finished <= w[1].finished));
    // 4,380 bytes are three full segments.
    assert_eq!(flows.iter().map(|f| f.packets_sent).sum::<u32>(), 3);
}

#[test]
fn flows_without_end_may_share_a_connection() {
    let mut traffic = over_tcp("newreno");
    traffic.tcp.as_mut().unwrap().persistent = true;
    let messages = (0..20).map(|at| message(us(at), 0, 1, Message::ENDLESS)).collect();
    let mut sim = simulation(tcp_star(2), vec![traffic], messages);
    run_to(&mut sim, us(300));
    assert!(sim.flows()[0].delivered > 0);
}

#[test]
fn a_request_may_have_several_answers() {
    for persistent in [false, true] {
        for apart in [us(0), us(2), us(30), Time::from_ms(3)] {
            let mut traffic = over_tcp("newreno");
            traffic.tcp.as_mut().unwrap().persistent = persistent;
            let answer = |delay| Dependency { after: Some(0), delay, answers: true, ..Dependency::default() };
            let messages = vec![
                chained(message(us(0), 0, 1, 100), Dependency { counts: Some(0), ..Dependency::default() }),
                chained(message(us(0), 1, 0, PAYLOAD), answer(us(0))),
                chained(message(us(0), 1, 0, PAYLOAD), answer(apart)),
            ];
            let mut sim = simulation(tcp_star(2), vec![traffic], messages);
            finish(&mut sim);
            check_all_arrived(&sim);
        }
    }
}

#[test]
fn a_window_that_is_used_up_is_opened_again_at_once() {
    let mut traffic = over_tcp("newreno");
    let connection = &mut traffic.tcp.as_mut().unwrap().connection;
    // Two segments fill the window, and only four would be acknowledged by their number.
    connection.receive_buffer = 2 * PAYLOAD;
    connection.ack_every = 4;
    let mut sim = simulation(tcp_star(2), vec![traffic], vec![message(us(0), 0, 1, 20 * PAYLOAD)]);
    finish(&mut sim);
    check_all_arrived(&sim);
    let flow = sim.flows()[0];
    assert!(flow.finished - flow.start < Time::from_ms(1), "{}", flow.finished - flow.start);
}

#[test]
fn nothing_but_its_window_holds_a_sender_back_not_even_a_slow_receiver() {
    // 10 Gb/s into 1 Gb/s: the first window leaves as a burst and waits at the last hop.
    let links = [(0, 2, gbps(10), us(5)), (1, 2, gbps(1), us(5))];
    let mut sim =
        simulation(network(graph(2, 1, &links)), vec![over_tcp("newreno")], vec![message(us(0), 0, 1, 10 * PAYLOAD)]);
    finish(&mut sim);
    check_all_arrived(&sim);
    // Ten packets come within 10.8 us, while the first takes 12 us to leave.
    assert_eq!(counters(&sim, 2, 1).peak_queue, 9 * WIRE);
}

#[test]
fn a_connection_whose_packets_all_vanish_is_given_up_and_its_message_stays_unfinished() {
    let mut graph: Graph = star(2, us(5));
    // Host 1 hears the handshake and nothing more.
    graph.links[1].outages = vec![(us(60), Time::from_s(1000))];
    let mut traffic = over_tcp("newreno");
    traffic.tcp.as_mut().unwrap().connection.retries = 5;
    let mut sim = simulation(network(graph), vec![traffic], vec![message(us(0), 0, 1, 2_000_000)]);
    assert!(sim.run_until(Time::from_s(50), 3_000_000));
    let (flow, totals) = (sim.flows()[0], sim.totals());
    assert!(flow.finished == Time::NEVER && flow.delivered > 0 && flow.delivered < flow.bytes, "{flow:?}");
    assert_eq!((flow.timeouts, totals.hosts.timeouts, totals.hosts.given_up), (5, 5, 1));
    assert_eq!(sim.open_messages(), 1);
}

#[test]
fn a_window_restarts_with_each_request_where_that_is_asked_for() {
    // DCTCP Fig. 22: chunks of a connection that stays open, each begun when the one before is acknowledged.
    let took = |scheme: &str, restart: Restart| {
        let mut traffic = over_tcp(scheme);
        let tcp = traffic.tcp.as_mut().unwrap();
        (tcp.persistent, tcp.restart) = (true, restart);
        let messages = (0..3).map(|n| message(us(1000 * n), 0, 1, 60 * PAYLOAD)).collect();
        let mut sim = simulation(tcp_star(2), vec![traffic], messages);
        finish(&mut sim);
        check_all_arrived(&sim);
        let restarts = sim.traffic_counters()[0].actions.get(fanin_cc::Action::IdleRestart);
        (sim.flows().iter().map(|f| f.finished - f.start).collect::<Vec<_>>(), restarts)
    };
    for scheme in ["newreno", "dctcp"] {
        let (kept, none) = took(scheme, Restart::Pause);
        let (restarted, both) = took(scheme, Restart::Request);
        assert_eq!((none, both), (0, 2), "{scheme}: the first has nothing to restart");
        assert_eq!(kept[0], restarted[0]);
        // 60 segments by 10, 20 and 30 instead of all at once: two round trips more, less what the link was busy.
        assert!(restarted[1] > kept[1] + us(10) && restarted[1] == restarted[2], "{scheme}: {kept:?} {restarted:?}");
        // The handshake apart they are the first one's.
        assert_eq!(restarted[1], restarted[0] - OPENED);
    }
}

#[test]
fn one_answer_to_several_requests_leaves_no_connection_open() {
    // Two clients ask server 1, and it answers the last one when both have asked.
    for persistent in [false, true] {
        let mut traffic = over_tcp("newreno");
        traffic.tcp.as_mut().unwrap().persistent = persistent;
        let asks = Dependency { counts: Some(0), ..Dependency::default() };
        let answers = Dependency { after: Some(0), delay: us(7), answers: true, ..Dependency::default() };
        let messages = vec![
            chained(message(us(0), 0, 1, 100), asks),
            chained(message(us(0), 2, 1, PAYLOAD), asks),
            chained(message(us(0), 1, 2, PAYLOAD), answers),
        ];
        let mut sim = simulation(tcp_star(3), vec![traffic], messages);
        finish(&mut sim);
        check_all_arrived(&sim);
        assert_eq!(sim.open_connections(), if persistent { 4 } else { 0 });
    }
}
