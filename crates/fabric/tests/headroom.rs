//! Priority flow control: computed headroom protects lossless classes, and not a packet of it is too much.

use crate::common::random::{congested, steps};
use crate::common::*;
use fanin_fabric::topology::{Graph, ParkingLot};
use fanin_fabric::*;
use fanin_units::{PortId, Rate, Time};
use proptest::prelude::*;

/// Hosts A = 0, B = 1 and R = 2, switches 3 and 4: A and R at switch 3, B behind switch 4 and a slow link.
fn behind_a_slow_link(slow: Rate, delay: Time) -> Graph {
    graph(3, 2, &[(0, 3, gbps(10), delay), (3, 4, slow, delay), (4, 1, gbps(10), delay), (2, 3, gbps(10), delay)])
}

/// The worst case for the ingress of A at switch 3: one byte below the threshold when the next packet comes, the wire
/// back just busy with a full packet, and A at line rate all the time, with packets of such sizes that the last one
/// that A starts before it receives the pause is a full one and starts at the last moment. `headroom` is what is
/// configured of `needed`, and `response` the time that A takes to obey.
fn worst_case((delay, response): (Time, Time), packet: PacketSizes, headroom: Option<u64>, needed: u64) -> Simulation {
    let (payload, header) = (packet.payload as u64, packet.header as u64);
    let wire = payload + header;
    let threshold = 7 * wire + 1;
    let mut config = network(behind_a_slow_link(Rate::from_mbps(1), delay));
    config.packet = packet;
    config.classes = vec![class(true, Marking::Off)];
    config.buffer = lossless(threshold + headroom.unwrap_or(needed), headroom);
    config.pauses.response = response;
    let mut traffics = vec![traffic("none"), traffic("none")];
    // Messages in one sequence, so that A sends packets of these sizes in this order.
    traffics[0].endpoint.connection = true;
    // No ACKs of the data that comes back, so that A's wire has nothing but its own data.
    traffics[1].endpoint.ack_chunk = u32::MAX;
    let slot = gbps(10).tx_time(wire);
    // The packets that A sends while the pause is in flight, before that last packet.
    let span = delay + delay + response + slot + gbps(10).tx_time(packet.pause as u64);
    let meanwhile = gbps(10).bytes_in(span);
    assert!(gbps(10).tx_time(meanwhile) < span - Time::from_ps(1), "choose a delay that is no whole number of bytes");
    let (full, mut small) = (meanwhile / wire, meanwhile % wire);
    // One packet leaves at once, seven wait, one crosses the threshold.
    let mut sizes = vec![(1 + 7 + 1 + full) * payload];
    if small > 0 && small <= header {
        // Too small for a packet: two share what it and a full one have.
        sizes[0] -= payload;
        sizes.push((small + wire) / 2 - header);
        small = (small + wire).div_ceil(2);
    }
    if small > 0 {
        sizes.push(small - header);
    }
    sizes.push(Message::ENDLESS);
    let mut messages: Vec<Message> =
        (0..).zip(sizes).map(|(i, bytes)| message(Time::from_ps(i), 0, 1, bytes)).collect();
    messages.push(Message { traffic: 1, ..message(slot - Time::from_ps(1), 2, 0, Message::ENDLESS) });
    let mut sim = simulation(config, traffics, messages);
    run_to(&mut sim, us(900));
    assert_eq!(counters(&sim, 3, 4).packets, 1, "nothing leaves the switch meanwhile");
    sim
}

fn needed(rate: Rate, delay: Time, packet: &PacketSizes) -> u64 {
    needed_late(rate, (delay, Time::ZERO), packet)
}

fn needed_late(rate: Rate, delays: (Time, Time), packet: &PacketSizes) -> u64 {
    pfc::headroom(rate, delays, packet.payload as u64 + packet.header as u64, packet.pause as u64)
}

#[test]
fn the_worst_case_fits_and_one_packet_less_loses_one() {
    let odd = PacketSizes { payload: 999, header: 78, pause: 71, ..PACKET };
    // A rest of 30 bytes, less than a header.
    let rest = (800 * (1500 * 9 + 30 - 64) + 400) / 2;
    let delays = [us(5).as_ps() + 7, 10_001, us(1).as_ps() + 1, us(40).as_ps() + 399, rest];
    let cases = delays.into_iter().zip([PACKET, PACKET, odd, odd, PACKET]);
    for ((delay, packet), response) in cases.flat_map(|case| [(case, Time::ZERO), (case, ns(3072))]) {
        let delay = (Time::from_ps(delay), response);
        let wire = packet.payload as u64 + packet.header as u64;
        let needed = needed_late(gbps(10), delay, &packet);
        let sim = worst_case(delay, packet, None, needed);
        assert_eq!(sim.totals().drops, Drops::default(), "{delay:?} {packet:?}");
        assert_eq!(counters(&sim, 0, 3).pauses, 1);
        // All of it is used: packets over the threshold wait to the last byte of the share.
        assert_eq!(counters(&sim, 3, 4).peak_queue, 7 * wire + 1 + needed, "{delay:?} {packet:?}");

        let sim = worst_case(delay, packet, Some(needed - wire), needed);
        assert_eq!(sim.totals().drops, Drops { lossless: 1, ..Drops::default() }, "{delay:?} {packet:?}");
        let drop = sim.incidents().kept.iter().find(|i| matches!(i.what, What::Dropped(_))).unwrap();
        assert_eq!(drop.what, What::Dropped(DropCause::Lossless));
        assert_eq!(drop.port, port(&sim, 3, 4), "the port it wanted to leave by");

        // Not one byte less is enough.
        let sim = worst_case(delay, packet, Some(needed - 1), needed);
        assert_eq!(sim.totals().drops.lossless, 1, "{delay:?} {packet:?}");
    }
}

#[test]
fn pause_and_resume_come_to_the_picosecond() {
    let mut config = network(behind_a_slow_link(gbps(1), us(1)));
    config.classes = vec![class(true, Marking::Off)];
    // PAUSE at three packets and a byte, RESUME two packets below that.
    let headroom = needed(gbps(10), us(1), &PACKET);
    assert_eq!(headroom, 4064 + 1500 + 1499);
    config.buffer = lossless(3 * 1500 + 1 + headroom, None);
    let mut sim = line_rate(config, vec![message(Time::ZERO, 0, 1, 9 * PAYLOAD)]);
    // Packet j arrives at 1 + 1.2 j us, so that the first leaves at 2.2 us and every 12 us another. Packets 2, 3 and 4
    // wait; packet 5, at 7 us, crosses the threshold. The frame takes 51.2 ns and 1 us.
    let paused = us(7) + ns(1051) + Time::from_ps(200);
    // Until then packets 6 and 7 have started. Packets 2 to 6 have to leave, at 62.2 us, until only one is held.
    let resumed = ns(62_200 + 1051) + Time::from_ps(200);
    let at_a = |sim: &Simulation| counters(sim, 0, 3);
    run_to(&mut sim, paused);
    assert_eq!((at_a(&sim).pauses, at_a(&sim).paused, at_a(&sim).packets), (0, Time::ZERO, 7));
    run_to(&mut sim, us(30));
    assert_eq!((at_a(&sim).pauses, at_a(&sim).paused, at_a(&sim).packets), (1, us(30) - paused, 7));
    assert_eq!(sim.queued(port(&sim, 3, 4)), 4 * 1500);
    assert_eq!(sim.incidents().kept, [Incident { time: paused, port: port(&sim, 0, 3), what: What::Paused(1) }]);
    run_to(&mut sim, us(100));
    assert_eq!((at_a(&sim).pauses, at_a(&sim).paused), (1, resumed - paused));
    assert_eq!(resumed - paused, ns(55_200));
    finish(&mut sim);
    check_all_arrived(&sim);
    // The slow link never starved, so the pause cost nothing.
    assert_eq!(sim.flows()[0].finished, sim.flows()[0].ideal);
    // Nine packets and nine ACKs over three links; a pause and a resume over one.
    assert_eq!(sim.totals().packet_hops, 2 * 9 * 3 + 2);
    assert_eq!(counters(&sim, 3, 0).packets, 9 + 2);
}

#[test]
fn a_response_time_puts_off_pause_and_resume_alike() {
    // As above, with 2 us until A obeys, 2,500 bytes, and eleven packets.
    let mut config = network(behind_a_slow_link(gbps(1), us(1)));
    config.classes = vec![class(true, Marking::Off)];
    let headroom = needed_late(gbps(10), (us(1), us(2)), &PACKET);
    assert_eq!(headroom, 4064 + 2500 + 1500 + 1499);
    config.buffer = lossless(3 * 1500 + 1 + headroom, None);
    config.pauses.response = us(2);
    let mut sim = line_rate(config, vec![message(Time::ZERO, 0, 1, 11 * PAYLOAD)]);
    // The frame of 7 us takes 1.0512 us. Until it counts packets 6 to 9 have started. Packets 2 to 8 have to leave, the
    // last at 86.2 us, until only one is held.
    let paused = us(7 + 2) + ns(1051) + Time::from_ps(200);
    let resumed = us(2) + ns(86_200 + 1051) + Time::from_ps(200);
    run_to(&mut sim, paused);
    assert_eq!((counters(&sim, 0, 3).pauses, counters(&sim, 0, 3).packets), (0, 9));
    run_to(&mut sim, resumed);
    assert_eq!((counters(&sim, 0, 3).pauses, counters(&sim, 0, 3).packets), (1, 9));
    assert_eq!(sim.incidents().kept, [Incident { time: paused, port: port(&sim, 0, 3), what: What::Paused(1) }]);
    finish(&mut sim);
    check_all_arrived(&sim);
    assert_eq!((counters(&sim, 0, 3).pauses, counters(&sim, 0, 3).paused), (1, resumed - paused));
    assert_eq!(sim.flows()[0].finished, sim.flows()[0].ideal);
}

#[test]
fn between_switches_a_response_time_puts_off_pauses_as_well() {
    // Host 0, switches 2, 3 and 4, host 1; the last link is slow. With the time of two packets the first pause comes
    // that much later than without, and the second, which follows from it, twice as much.
    let pauses = |response| {
        let slow = (4, 1, gbps(1), us(1));
        let links = [(0, 2, gbps(10), us(1)), (2, 3, gbps(10), us(1)), (3, 4, gbps(10), us(1)), slow];
        let mut config = network(graph(2, 3, &links));
        config.classes = vec![class(true, Marking::Off)];
        let headroom = needed_late(gbps(10), (us(1), ns(2400)), &PACKET);
        config.buffer = lossless(3 * WIRE + 1 + headroom, Some(headroom));
        config.pauses.response = response;
        let mut sim = line_rate(config, vec![message(Time::ZERO, 0, 1, 200 * PAYLOAD)]);
        finish(&mut sim);
        check_all_arrived(&sim);
        assert_eq!(sim.totals().drops, Drops::default());
        [(3, 4), (2, 3)].map(|(from, to)| {
            let at = port(&sim, from, to);
            sim.incidents().kept.iter().find(|incident| incident.port == at).unwrap().time
        })
    };
    let (at_once, late) = (pauses(Time::ZERO), pauses(ns(2400)));
    assert_eq!([late[0] - at_once[0], late[1] - at_once[1]], [ns(2400), ns(4800)]);
}

#[test]
fn a_pause_that_waits_for_its_response_time_is_void_when_the_link_goes_down() {
    // It arrives at 8.05 us and would count from 10.05 us on, without a resume ever.
    let mut config = network(behind_a_slow_link(gbps(1), us(1)));
    config.graph.links[0].outages = vec![(us(9), ns(9_100))];
    config.classes = vec![class(true, Marking::Off)];
    config.buffer = lossless(3 * 1500 + 1 + needed_late(gbps(10), (us(1), us(2)), &PACKET), None);
    config.pauses.response = us(2);
    let mut sim = line_rate(config, vec![message(Time::ZERO, 0, 1, 12 * PAYLOAD)]);
    run_to(&mut sim, us(11));
    assert_eq!(counters(&sim, 0, 3).pauses, 0);
    finish(&mut sim);
    check_all_arrived(&sim);
}

#[test]
fn the_threshold_itself_pauses() {
    // As above, but three packets are the threshold: packet 4, the third to wait, reaches it at 5.8 us.
    let mut config = network(behind_a_slow_link(gbps(1), us(1)));
    config.classes = vec![class(true, Marking::Off)];
    config.buffer = lossless(3 * 1500 + needed(gbps(10), us(1), &PACKET), None);
    let mut sim = line_rate(config, vec![message(Time::ZERO, 0, 1, 9 * PAYLOAD)]);
    finish(&mut sim);
    assert_eq!(sim.incidents().kept[0].time, us(5) + ns(800 + 1051) + Time::from_ps(200));
}

#[test]
fn with_release_at_the_last_bit_the_resume_comes_one_packet_later() {
    let mut config = network(behind_a_slow_link(gbps(1), us(1)));
    config.classes = vec![class(true, Marking::Off)];
    config.buffer = lossless(3 * 1500 + 1 + needed(gbps(10), us(1), &PACKET), None);
    config.release = Release::LastBit;
    let mut sim = line_rate(config, vec![message(Time::ZERO, 0, 1, 8 * PAYLOAD)]);
    finish(&mut sim);
    check_all_arrived(&sim);
    // Packet 1 counts too: packet 4, at 5.8 us, crosses; packets 5 and 6 come after it. Space is free when a packet has
    // left, 12 us after its start at 2.2 + 12 (j - 1) us: that of packet 5 at 62.2 us leaves one packet.
    let at_a = counters(&sim, 0, 3);
    assert_eq!((at_a.pauses, at_a.paused), (1, ns(62_200) - ns(5_800)));
    assert_eq!(sim.flows()[0].finished, sim.flows()[0].ideal);
}

#[test]
fn pauses_travel_hop_by_hop_to_the_hosts_and_everything_empties_after() {
    let link = cable(gbps(10), us(2));
    let graph = ParkingLot { switches: 4, hosts: 1, host_link: link, chain_link: link }.build().unwrap();
    let (h0, h2, s0, s1, s2, s3) = (0, 2, 4, 5, 6, 7);
    let mut config = network(graph);
    config.classes = vec![class(true, Marking::Off)];
    config.buffer = lossless(60_000, None);
    // Both want the whole link from the third switch to the fourth.
    let messages = vec![message(Time::ZERO, h0, 3, 400 * PAYLOAD), message(Time::ZERO, h2, 3, 400 * PAYLOAD)];
    let mut sim = line_rate(config, messages);
    finish(&mut sim);
    check_all_arrived(&sim);
    assert_eq!(sim.totals().drops, Drops::default());
    // Who is paused first: h2 and s1 by s2, then s0 by s1, then h0 by s0. The tree never grows beyond its root.
    let first = |from, to| {
        let at: PortId = port(&sim, from, to);
        sim.incidents().kept.iter().find(|i| i.port == at).map(|i| i.time)
    };
    let hops = [first(s1, s2), first(s0, s1), first(h0, s0)];
    assert!(first(h2, s2).is_some() && hops.iter().all(Option::is_some), "{hops:?}");
    assert!(hops.is_sorted(), "{hops:?}");
    // A hop takes at least the time of the frame.
    assert!(hops[1].unwrap() - hops[0].unwrap() >= us(2));
    assert_eq!(first(s2, s3), None);
    assert_eq!(first(3, s3), None);
    // Each pause is a frame on the link, and so is the resume that ends it.
    let (pauses, hops) = (sim.incidents().seen.pauses, sim.totals().packet_hops);
    assert!(pauses > 4);
    assert_eq!(hops, 400 * 2 * (5 + 3) + 2 * pauses);
    // The bottleneck was never without work: 800 packets back to back.
    let last = sim.flows().iter().map(|f| f.finished).max().unwrap();
    let ideal = us(3 * 2) + gbps(10).tx_time(WIRE).saturating_mul(800 + 2);
    assert!(last.saturating_sub(ideal) <= gbps(10).tx_time(WIRE), "{last} {ideal}");
    // Fair by port at the switch where they meet: at any time as many of each.
    let finished: Vec<Time> = sim.flows().iter().map(|f| f.finished).collect();
    assert!(finished[0].as_ps().abs_diff(finished[1].as_ps()) < us(120).as_ps(), "{finished:?}");
}

fn check_other_classes_pass(host_fifo: Option<HostFifo>) {
    let mut config = network(behind_a_slow_link(Rate::from_mbps(10), us(1)));
    config.classes = vec![class(true, Marking::Off), class(true, Marking::Off)];
    config.buffer = lossless(40_000, None);
    config.host_fifo = host_fifo;
    let traffics = vec![traffic("none"), TrafficConfig { class: 2, ..traffic("none") }];
    let messages = vec![
        message(Time::ZERO, 0, 1, Message::ENDLESS),
        // Same NIC, other class, other path.
        Message { traffic: 1, ..message(us(50), 0, 2, 100 * PAYLOAD) },
        // Answered by A, whose class 1 is paused.
        message(us(250), 2, 0, 10 * PAYLOAD),
    ];
    let mut sim = simulation(config, traffics, messages);
    run_to(&mut sim, us(45));
    let before = counters(&sim, 0, 3);
    assert_eq!(before.pauses, 1);
    run_to(&mut sim, us(400));
    let (flows, after) = (sim.flows(), counters(&sim, 0, 3));
    assert_eq!(after.pauses, 1);
    assert_eq!(after.paused - before.paused, us(400 - 45), "class 1 was paused all the time");
    // The paused class fills its own place, which holds one packet at least.
    let waiting = sim.queued(port(&sim, 0, 3));
    assert_eq!(waiting, host_fifo.map_or(0, |fifo| fifo.capacity.max(WIRE)));
    assert_eq!(flows[0].packets_sent as u64 + 100 + 10, after.packets + waiting / WIRE);
    assert_eq!(flows[1].finished - flows[1].start, flows[1].ideal);
    assert_eq!(flows[2].finished - flows[2].start, flows[2].ideal);
    assert_eq!(flows[2].acked - flows[2].finished, ns(2 * 1000) + Time::from_ps(2 * 51_200));
    assert_eq!(sim.totals().drops, Drops::default());
}

#[test]
fn a_paused_class_stops_neither_another_class_nor_control() {
    check_other_classes_pass(None);
}

#[test]
fn a_paused_class_stops_no_other_in_the_queue_behind_the_pacers() {
    // Places of 20 packets, and of one.
    check_other_classes_pass(Some(HostFifo { capacity: 30_000, mark_above: None }));
    check_other_classes_pass(Some(HostFifo { capacity: 0, mark_above: None }));
}

#[test]
fn a_class_paused_between_switches_lets_the_other_pass() {
    // Host 0 at switch 3, host 2 at switch 4, host 1 behind switch 5 and a slow link; class 1 goes to host 1.
    let slow = Rate::from_mbps(10);
    let links = [
        (0, 3, gbps(10), us(1)),
        (3, 4, gbps(10), us(1)),
        (4, 5, slow, us(1)),
        (5, 1, gbps(10), us(1)),
        (4, 2, gbps(10), us(1)),
    ];
    let mut config = network(graph(3, 3, &links));
    config.classes = vec![class(true, Marking::Off), class(true, Marking::Off)];
    config.buffer = lossless(60_000, None);
    let traffics = vec![traffic("none"), TrafficConfig { class: 2, ..traffic("none") }];
    let messages = vec![
        message(Time::ZERO, 0, 1, Message::ENDLESS),
        Message { traffic: 1, ..message(us(200), 0, 2, 100 * PAYLOAD) },
    ];
    let mut sim = simulation(config, traffics, messages);
    run_to(&mut sim, us(400));
    // Both the host and the first switch are paused, the switch with packets of class 1 in its queue.
    assert_eq!((counters(&sim, 0, 3).pauses, counters(&sim, 3, 4).pauses), (1, 1));
    assert!(sim.queued(port(&sim, 3, 4)) > 10_000);
    let flow = sim.flows()[1];
    assert_eq!(flow.finished - flow.start, flow.ideal);
}

#[test]
fn a_class_that_is_not_lossless_is_never_paused() {
    let mut config = network(behind_a_slow_link(gbps(1), us(1)));
    config.classes = vec![class(true, Marking::Off), class(false, Marking::Off)];
    config.buffer = lossless(20_000, None);
    let traffics = vec![traffic("none"), TrafficConfig { class: 2, ..traffic("none") }];
    let lossy = Message { traffic: 1, ..message(Time::ZERO, 0, 1, 300 * PAYLOAD) };
    let mut sim = simulation(config, traffics, vec![lossy]);
    finish(&mut sim);
    check_all_arrived(&sim);
    assert_eq!(sim.incidents().seen.pauses, 0);
    let drops = sim.totals().drops;
    assert!(drops.buffer > 0);
    assert_eq!(drops, Drops { buffer: drops.buffer, ..Drops::default() });
    assert_eq!(counters(&sim, 3, 4).peak_queue, 19_500, "thirteen full packets fit");
    assert_eq!(counters(&sim, 3, 4).dropped, drops.buffer);
}

#[test]
fn a_link_that_dies_with_a_packet_on_it_gives_the_space_back() {
    // Any packet held pauses A: what the dead link's packet holds for ever would pause it for ever.
    let mut graph = star(3, us(1));
    graph.links[1].outages = vec![(us(5), Time::NEVER)];
    for release in [Release::Dequeue, Release::LastBit] {
        let mut config = network(graph.clone());
        config.classes = vec![class(true, Marking::Off)];
        config.buffer = lossless(1 + needed(gbps(10), us(1), &PACKET), None);
        config.release = release;
        let messages = vec![message(Time::ZERO, 0, 1, 3 * PAYLOAD), message(us(100), 0, 2, 3 * PAYLOAD)];
        let mut sim = line_rate(config, messages);
        run_to(&mut sim, us(200));
        let flows = sim.flows();
        assert_eq!(flows[0].finished, Time::NEVER);
        assert!(flows[1].finished.is_some(), "{release:?}: {flows:?}");
    }
}

#[test]
fn a_pause_or_resume_lost_with_its_link_stops_no_sender_for_ever() {
    // As above: the pause is in flight from 7 us on and the resume from 62.2 us on, for 1.05 us each.
    for outage in [(ns(7_500), ns(7_700)), (ns(62_500), ns(62_700))] {
        let mut config = network(behind_a_slow_link(gbps(1), us(1)));
        config.graph.links[0].outages = vec![outage];
        config.classes = vec![class(true, Marking::Off)];
        config.buffer = lossless(3 * 1500 + 1 + needed(gbps(10), us(1), &PACKET), None);
        let mut sim = line_rate(config, vec![message(Time::ZERO, 0, 1, 9 * PAYLOAD)]);
        run_to(&mut sim, outage.1 + us(2));
        assert!(sim.totals().ledger.dropped >= 64, "the frame is lost");
        finish(&mut sim);
        check_all_arrived(&sim);
        let drops = sim.totals().drops;
        assert_eq!(drops, Drops { link_down: drops.link_down, ..Drops::default() });
        // Paused from the pause that arrived to the outage, which ends it, or not at all before it.
        let at_a = counters(&sim, 0, 3);
        assert!(at_a.pauses > 0 && at_a.paused < us(60), "{at_a:?}");
    }
}

#[test]
fn links_that_lose_packets_spare_pauses() {
    // A lost resume would stop the sender for ever, and a lost pause would cost packets of a lossless class.
    for seed in 0..20 {
        let mut config = network(behind_a_slow_link(gbps(1), us(1)));
        config.seed = seed;
        config.graph.links[0].error_rate = 0.3;
        config.classes = vec![class(true, Marking::Off)];
        config.buffer = lossless(3 * 1500 + 1 + needed(gbps(10), us(1), &PACKET), None);
        let mut sim = line_rate(config, vec![message(Time::ZERO, 0, 1, 60 * PAYLOAD)]);
        finish(&mut sim);
        check_all_arrived(&sim);
        let drops = sim.totals().drops;
        assert!(drops.error > 0 && counters(&sim, 0, 3).pauses > 0);
        assert_eq!(drops, Drops { error: drops.error, ..Drops::default() });
    }
}

#[test]
fn a_port_sends_one_packet_at_a_time_while_pauses_and_releases_recurse() {
    // Any packet held pauses its sender, and all ports send and receive: releasing buffer at one port lets another send
    // a pause frame, which releases buffer for the first.
    for release in [Release::Dequeue, Release::LastBit] {
        for seed in 0..20 {
            let mut config = network(chain(4, gbps(10), us(1)));
            config.seed = seed;
            config.classes = vec![class(true, Marking::Off)];
            config.buffer = lossless(1 + needed(gbps(10), us(1), &PACKET), None);
            config.release = release;
            let pairs = [(0, 3), (3, 0), (1, 2), (2, 1), (0, 2), (2, 0), (1, 3), (3, 1)];
            let messages = pairs.map(|(src, dst)| message(Time::ZERO, src, dst, 40 * PAYLOAD));
            let mut sim = line_rate(config, messages.to_vec());
            for stop in 1..200 {
                run_to(&mut sim, us(5 * stop));
                for (i, port) in sim.port_counters().iter().enumerate() {
                    assert!(port.bytes <= gbps(10).bytes_in(sim.now()) + WIRE, "port {i}: {port:?}");
                }
            }
            finish(&mut sim);
            check_all_arrived(&sim);
            assert_eq!(sim.totals().drops, Drops::default());
        }
    }
}

proptest! {
    #![proptest_config(cases(1))]
    #[test]
    fn computed_headroom_loses_nothing_anywhere(case in congested(), steps in steps()) {
        let mut sim = case.build();
        let hosts = case.config.graph.hosts;
        for (nanoseconds, events) in steps {
            sim.run_until(sim.now() + ns(nanoseconds), events);
            // The lossless classes of a switch fit into its buffer.
            for switch in hosts..case.config.graph.node_count() {
                let of_switch = || sim.ports().filter(|(_, from, _)| from.0 == switch).map(|(p, ..)| p);
                let held: u64 = of_switch().map(|p| sim.queued(p)).sum();
                let buffer = match case.config.buffer {
                    BufferPolicy::PerPort { bytes, .. } => bytes * of_switch().count() as u64,
                    BufferPolicy::Pooled { bytes, .. } => bytes,
                    BufferPolicy::Credits { .. } | BufferPolicy::Unlimited => u64::MAX,
                };
                prop_assert!(held <= buffer, "switch {} holds {} of {}", switch, held, buffer);
            }
        }
        finish(&mut sim);
        check_all_arrived(&sim);
        prop_assert_eq!(sim.totals().drops, Drops::default());
        prop_assert_eq!(sim.totals().hosts.nacks, 0);
    }
}
