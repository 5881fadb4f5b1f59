//! Flows with equal pacers share a bottleneck equally, to the packet, at any time.

use crate::common::*;
use fanin_cc::schemes::dcqcn::RateOrShare;
use fanin_fabric::*;
use fanin_units::{Rate, Time};

/// Payload bytes that each of the endless flows has delivered by now.
fn delivered(sim: &Simulation) -> Vec<u64> {
    sim.flows().iter().map(|f| f.delivered).collect()
}

/// Looks every 700 ns from `begin` on, when the bottleneck of `rate` delivers packets back to back.
fn check_equal_shares(sim: &mut Simulation, n: u64, rate: Rate, begin: Time) {
    let slot = rate.tx_time(WIRE).as_ps();
    run_to(sim, begin);
    let before = delivered(sim);
    for step in 0..800 {
        let at = begin + ns(700 * step);
        run_to(sim, at);
        let each: Vec<u64> = delivered(sim).iter().zip(&before).map(|(now, then)| now - then).collect();
        assert_eq!(each.len() as u64, n);
        let packets = each.iter().map(|b| b / PAYLOAD);
        let (least, most) = (packets.clone().min().unwrap(), packets.clone().max().unwrap());
        assert!(most - least <= 1, "at {at}: {each:?}");
        // The bottleneck is never idle: one packet per slot, so each flow is within one packet of C/n.
        let served: u64 = packets.sum();
        let expected = (at - begin).as_ps() / slot;
        assert!(served.abs_diff(expected) <= 1, "at {at}: {served} of {expected}");
    }
}

/// One host at 10 Gb/s, n receivers whose links run at 1/n of that.
fn one_to_many(n: u32) -> NetworkConfig {
    let slow = Rate::from_bps(10_000_000_000 / n as u64);
    let mut links = vec![(0, n + 1, gbps(10), us(1))];
    links.extend((1..=n).map(|h| (h, n + 1, slow, us(1))));
    network(graph(n + 1, 1, &links))
}

#[test]
fn flows_paced_at_an_nth_share_their_own_nic() {
    for n in [2, 5, 8] {
        let messages = (1..=n).map(|h| message(Time::ZERO, 0, h, Message::ENDLESS)).collect();
        let rate = RateOrShare::Rate(Rate::from_bps(10_000_000_000 / n as u64));
        let mut sim = simulation(one_to_many(n), vec![fixed_rate(rate)], messages);
        run_to(&mut sim, us(400));
        // The NIC never rests, and every receiver's link is just as full.
        let nic = counters(&sim, 0, n + 1);
        assert!(nic.packets.abs_diff(us(400).as_ps() / gbps(10).tx_time(WIRE).as_ps()) <= 1, "{nic:?}");
        for h in 1..=n {
            let receiver = counters(&sim, n + 1, h);
            assert!(receiver.packets.abs_diff(nic.packets / n as u64) <= 2, "{h}: {receiver:?}");
            assert_eq!(receiver.peak_queue, 0, "a flow sent two packets within one of its times");
        }
        let packets: Vec<u64> = delivered(&sim).iter().map(|b| b / PAYLOAD).collect();
        assert!(packets.iter().max().unwrap() - packets.iter().min().unwrap() <= 1, "{packets:?}");
    }
}

#[test]
fn flows_at_line_rate_take_turns_at_their_nic() {
    for n in [2, 3, 7] {
        let messages = (1..=n).map(|h| message(Time::ZERO, 0, h, Message::ENDLESS)).collect();
        let mut sim = line_rate(network(star(n + 1, us(1))), messages);
        // The flow that starts first is alone for one packet; from then on they take turns.
        check_equal_shares(&mut sim, n as u64, gbps(10), ns(2 * 1_200 + 2 * 1_000 + 1));
    }
}

#[test]
fn flows_at_line_rate_take_turns_behind_a_host_fifo() {
    let fifo = HostFifo { capacity: 64_000, mark_above: None };
    let messages = (1..=3).map(|h| message(Time::ZERO, 0, h, Message::ENDLESS)).collect();
    let mut sim = line_rate(NetworkConfig { host_fifo: Some(fifo), ..network(star(4, us(1))) }, messages);
    check_equal_shares(&mut sim, 3, gbps(10), ns(1_200 + 2 * 1_000));
}

#[test]
fn a_flow_that_joins_gets_its_share_at_once() {
    let mut sim = line_rate(
        network(star(4, us(1))),
        vec![message(Time::ZERO, 0, 1, Message::ENDLESS), message(us(100), 0, 2, Message::ENDLESS)],
    );
    run_to(&mut sim, us(104));
    let before = delivered(&sim);
    run_to(&mut sim, us(224));
    let after = delivered(&sim);
    // 100 slots of 1.2 us, 50 each.
    for flow in 0..2 {
        assert!(((after[flow] - before[flow]) / PAYLOAD).abs_diff(50) <= 1, "{before:?} {after:?}");
    }
}

#[test]
fn hosts_paced_at_an_nth_share_one_port() {
    for n in [2, 5, 8] {
        // The senders' own links run at C/n.
        let slow = Rate::from_bps(10_000_000_000 / n as u64);
        let mut links: Vec<_> = (0..n).map(|h| (h, n + 1, slow, us(1))).collect();
        links.push((n, n + 1, gbps(10), us(1)));
        let messages = (0..n).map(|h| message(Time::ZERO, h, n, Message::ENDLESS)).collect();
        let mut sim = line_rate(network(graph(n + 1, 1, &links)), messages);
        let begin = slow.tx_time(WIRE) + us(2);
        check_equal_shares(&mut sim, n as u64, gbps(10), begin);
        // All n packets of a round come at once; no more than the other n - 1 ever wait.
        assert_eq!(counters(&sim, n + 1, n).peak_queue, (n as u64 - 1) * WIRE);
    }
}

#[test]
fn hosts_at_line_rate_share_one_port() {
    for n in [2, 5, 8] {
        let messages = (0..n).map(|h| message(Time::ZERO, h, n, Message::ENDLESS)).collect();
        let mut sim = line_rate(network(star(n + 1, us(1))), messages);
        check_equal_shares(&mut sim, n as u64, gbps(10), ns(1_200 + 2 * 1_000));
    }
}

#[test]
fn data_classes_take_turns_packet_by_packet() {
    let fifo = HostFifo { capacity: 64_000, mark_above: None };
    for host_fifo in [None, Some(fifo)] {
        let mut config = network(star(3, us(1)));
        config.host_fifo = host_fifo;
        config.classes = vec![class(false, Marking::Off), class(false, Marking::Off)];
        let traffics = vec![traffic("none"), TrafficConfig { class: 2, ..traffic("none") }];
        let mut messages: Vec<Message> = (0..4).map(|_| message(Time::ZERO, 0, 2, Message::ENDLESS)).collect();
        messages[3].traffic = 1;
        let mut sim = simulation(config, traffics, messages);
        run_to(&mut sim, us(4) + ns(1200 * 600));
        let each: Vec<u64> = delivered(&sim).iter().map(|b| b / PAYLOAD).collect();
        // Half for the class with one flow, a sixth for each of the three in the other.
        assert!(each[3].abs_diff(300) <= 2 && each[..3].iter().all(|p| p.abs_diff(100) <= 2), "{each:?}");
    }
}

#[test]
fn a_class_that_is_paced_takes_its_turns_behind_a_host_fifo() {
    // Class 1 always waits; class 2 has a packet every third slot or so, which goes as soon as its turn comes.
    let mut config = network(star(3, us(1)));
    config.classes = vec![class(false, Marking::Off), class(false, Marking::Off)];
    config.host_fifo = Some(HostFifo { capacity: 64_000, mark_above: None });
    let traffics = vec![traffic("none"), TrafficConfig { class: 2, ..traffic("none") }];
    let mut messages: Vec<Message> = (0..2).map(|_| message(Time::ZERO, 0, 2, Message::ENDLESS)).collect();
    messages.extend((0..300).map(|i| Message { traffic: 1, ..message(us(10) + ns(3_700 * i), 0, 2, PAYLOAD) }));
    let mut sim = simulation(config, traffics, messages);
    run_to(&mut sim, us(1_200));
    for flow in &sim.flows()[2..] {
        // At worst it waits for the packet on the wire and one of the other class.
        let most = gbps(10).tx_time(WIRE).saturating_mul(2 + 2) + us(2);
        assert!(flow.finished.saturating_sub(flow.start) <= most, "{flow:?}");
    }
}

#[test]
fn a_fixed_rate_is_one_packet_in_its_time_and_at_most_the_line() {
    // 1,500 B at 4 Gb/s are 3 us; each of the two links takes 1.2 us and 1 us.
    let run = |rate| {
        let mut sim =
            simulation(network(star(2, us(1))), vec![fixed_rate(rate)], vec![message(us(5), 0, 1, 21 * PAYLOAD)]);
        finish(&mut sim);
        let flow = sim.flows()[0];
        (flow.finished - flow.start, flow.ideal)
    };
    for rate in [RateOrShare::Rate(gbps(4)), RateOrShare::Share(0.4)] {
        assert_eq!(run(rate).0, us(20 * 3) + ns(2 * 2200), "{rate:?}");
    }
    let (took, ideal) = run(RateOrShare::Rate(gbps(25)));
    assert_eq!(took, ideal);
}

#[test]
fn an_incast_at_fixed_rates_fills_the_queue_with_what_is_too_much() {
    // Four times 4 Gb/s into 10 Gb/s, with marks that change nothing: four packets come at 2.2 us and every 3 us after
    // that, the last of 400 at 299.2 us, and one leaves every 1.2 us, the 250th at 301 us.
    let mut config = network(star(5, us(1)));
    config.classes = vec![class(false, Marking::Step { above: 3000, at: MarkAt::Dequeue })];
    let messages = (1..5).map(|host| message(Time::ZERO, host, 0, Message::ENDLESS)).collect();
    let mut sim = simulation(config, vec![fixed_rate(RateOrShare::Rate(gbps(4)))], messages);
    run_to(&mut sim, ns(302_100));
    assert_eq!(sim.queued(port(&sim, 5, 0)), 150 * WIRE);
    assert!(sim.traffic_counters()[0].actions.iter().all(|(_, n)| n == 0));
    for host in 1..5 {
        assert_eq!(counters(&sim, host, 5).packets, 101, "at 0, 3, ..., 300 us");
    }
}
