//! Claims about what senders do: rcc-rwnd-only, rcc-alg3-retransmission.

use super::random::held;
use super::replay::*;
use crate::common::*;
use fanin_cc::{Action, Receiver};
use fanin_endpoint::tcp::bits;
use fanin_fabric::*;
use fanin_units::Time;

/// What a sender has, by the packets on its link.
#[derive(Default)]
struct Known {
    una: u64,
    /// The end of the window that the newest ACK told, and that window.
    edge: u64,
    rwnd: u64,
    high: u64,
    /// When its link is free.
    free: Time,
    /// How often it had sent all that it may, and how often more than a window that shrank allows.
    full: u64,
    shrunk: u64,
}

impl Known {
    /// Just before an ACK arrives.
    fn check(&mut self, now: Time, bytes: u64) {
        if self.una > 0 && now > self.free {
            // min(rwnd, data left), unless the window shrank behind what is in flight.
            assert!(self.high >= self.edge.min(bytes), "blocked at {now} with {} of {}", self.high, self.edge);
            self.full += (self.high == self.edge) as u64;
        }
        self.shrunk += (self.high > self.edge) as u64;
    }
}

/// Claim rcc-rwnd-only. What is in flight when a window shrinks stays in flight: no TCP can take it back.
#[test]
fn rcc_rwnd_only() {
    // Below and above what the path holds.
    let mut rows = fanin_claims::claim!("rcc-rwnd-only");
    for limit in [12, 40] {
        let (full, shrunk) = follow_the_window(limit);
        assert!(shrunk > 0 && (full > 500 || limit == 40), "{limit}: {full} {shrunk}");
        let what =
            format!("data sent beyond rwnd, and sent later than rwnd allows, windows of {limit}, sender = advertised");
        rows.asserted(what, "0", "0");
    }
}

/// How often the sender had sent all that it may, and how often a window was behind what it had sent.
fn follow_the_window(limit: u32) -> (u64, u64) {
    let bytes = 10_000_000;
    let traffic = rcc(|p| (p.ecn, p.queue_maxsize) = (false, limit));
    let messages = [message(us(0), 0, 1, bytes)];
    let at = |n: u64| move |p: &Packet| p.is_data() && p.bytes().0 >= n * PAYLOAD;
    let mut losses = Losses::new(split(1, Marking::Off));
    for segment in [100, 300, 302, 303, 600] {
        losses.lose(&traffic, &messages, at(segment));
    }
    let mut sim = simulation(losses.config.clone(), vec![traffic.clone()], messages.to_vec());
    let packets = watch(&mut sim, &[(0, 2), (2, 0)], Time::from_ms(200));
    assert_eq!(sim.totals().drops.link_down, 5);
    let mut events: Vec<(Time, bool, &Packet)> =
        packets.iter().map(|p| (if p.from == 0 { p.left } else { p.arrives }, p.from == 0, p)).collect();
    events.sort_by_key(|(time, sends, _)| (*time, *sends));
    let mut known = Known::default();
    for (time, sends, packet) in events.into_iter().filter(|(time, ..)| *time < sim.now()) {
        if !sends {
            known.check(time, bytes);
            known.una = known.una.max(packet.segment.ack.saturating_sub(1));
            (known.edge, known.rwnd) = (packet.edge(), packet.segment.window as u64);
        } else if packet.is_data() {
            let (from, to) = packet.bytes();
            assert!(to <= known.edge || packet.segment.retransmitted, "{to} of {}", known.edge);
            assert!(to - known.una <= known.rwnd || to <= known.high, "in flight at {time}");
            assert!(from <= known.high);
            known.high = known.high.max(to);
            known.free = time + FULL;
        }
    }
    assert_eq!(sim.totals().hosts.timeouts, 0);
    (known.full, known.shrunk)
}

/// Claim rcc-rwnd-only: a timeout of the sender leaves the window as it is. NewReno's own would be one segment.
#[test]
fn rcc_rwnd_only_after_a_timeout_of_the_sender() {
    // The receiver waits longer than the sender, which loses a whole window and hears nothing.
    let traffic = rcc(|p| (p.ecn, p.rto) = (false, Time::from_ms(100)));
    let messages = [message(us(0), 0, 1, 10_000_000)];
    let mut config = split(1, Marking::Off);
    config.graph.links[0].outages = vec![(us(20_000), us(21_000))];
    let mut sim = simulation(config, vec![traffic], messages.to_vec());
    let packets = watch(&mut sim, &[(0, 2), (2, 0)], Time::from_ms(60));
    assert_eq!(sim.totals().hosts.timeouts, 1);
    let told = packets.iter().rfind(|p| p.to == 0 && p.arrives < us(25_000)).unwrap();
    let (una, rwnd) = (told.segment.ack - 1, told.segment.window as u64);
    assert_eq!(rwnd, 40 * PAYLOAD);
    let again: Vec<&Packet> = packets.iter().filter(|p| p.from == 0 && p.left > us(25_000)).collect();
    let ack = packets.iter().find(|p| p.to == 0 && p.arrives > us(25_000)).unwrap();
    let burst: Vec<(u64, u64)> = again.iter().filter(|p| p.left < ack.arrives).map(|p| p.bytes()).collect();
    // As many as leave within a round trip, all of them at once.
    assert!(again[0].segment.retransmitted && burst.len() > 10, "{}", burst.len());
    for (n, (packet, bytes)) in again.iter().zip(&burst).enumerate() {
        assert_eq!(*bytes, (una + n as u64 * PAYLOAD, una + (n as u64 + 1) * PAYLOAD));
        assert_eq!(packet.left, again[0].left + FULL.saturating_mul(n as u64));
    }
    let mut rows = fanin_claims::claim!("rcc-rwnd-only");
    rows.asserted("window after a timeout of the sender, segments", "the last rwnd, 40", (rwnd / PAYLOAD).to_string());
}

/// What a run with scripted losses shows: the packets on the links of the first sender and of the receiver.
struct Seen {
    packets: Vec<Packet>,
    sim: Simulation,
    replay: Replay,
}

fn run(config: NetworkConfig, traffic: &TrafficConfig, messages: &[Message], until: Time) -> Seen {
    let mut sim = simulation(config, vec![traffic.clone()], messages.to_vec());
    let host = messages[0].dst;
    let (left, right) = (host + 1, host + 2);
    let packets = watch(&mut sim, &[(0, left), (left, 0), (right, host), (host, right)], until);
    let replay = Replay::new(&sim, params(traffic));
    Seen { packets, sim, replay }
}

/// A sender that repeats nothing by itself within the test.
fn patient(mut traffic: TrafficConfig) -> TrafficConfig {
    let tcp = &mut traffic.tcp.as_mut().unwrap().connection;
    (tcp.initial_rto, tcp.min_rto, tcp.max_rto) = (Time::from_s(5), Time::from_s(5), Time::from_s(20));
    traffic
}

/// Claim rcc-alg3-retransmission: the last packet of a window is lost, which no later one shows.
#[test]
fn rcc_alg3_retransmission() {
    let traffic = patient(rcc(|p| p.ecn = false));
    for segments in [3u64, 16, 30] {
        let bytes = segments * PAYLOAD - 1000;
        let messages = [message(us(0), 0, 1, bytes)];
        let last = |p: &Packet| p.bytes().1 == bytes;
        let mut losses = Losses::new(split(1, Marking::Off));
        let lost = losses.lose(&traffic, &messages, last);
        let mut seen = run(losses.config, &traffic, &messages, Time::from_s(1));
        check_all_arrived(&seen.sim);
        assert_eq!((seen.sim.totals().drops.total(), seen.sim.totals().hosts.timeouts), (1, 0));
        // The variables before and after.
        let replay = &mut seen.replay;
        arrivals(&seen.packets, 1, lost + Time::from_ms(5)).for_each(|p| replay.arrive(p, bytes));
        let (before, last_ack) = (replay.window(0).0.clone(), replay.released.last().unwrap().time);
        assert_eq!(before.cwnd, PAYLOAD * segments);
        let due = last_ack + Time::from_ms(10);
        replay.until(due - ns(1));
        assert_eq!((replay.actions.get(Action::Timeout), replay.window(0).0.cwnd), (0, before.cwnd));
        replay.until(due);
        let after = replay.window(0).0;
        let half = (before.cwnd / 2).max(2 * PAYLOAD);
        assert_eq!((after.cwnd, after.ssthresh, after.recovering), (PAYLOAD, half, false));
        // Without an answer the next one would be due after twice the time.
        assert_eq!(replay.host.wake_at(), due + Time::from_ms(20));
        // The ACK with PSH, and exactly what it asks for within a round trip.
        let push: Vec<_> = seen.packets.iter().filter(|p| p.segment.has(bits::PSH)).collect();
        assert_eq!(push.iter().filter(|p| p.from == 1).count(), 1);
        assert_eq!((push[0].left, push[0].segment.ack - 1), (due, bytes - bytes % PAYLOAD));
        let again: Vec<_> = seen.packets.iter().filter(|p| p.from == 0 && p.is_data() && p.left > due).collect();
        assert_eq!(again.len(), 1);
        assert_eq!(again[0].bytes(), (push[0].segment.ack - 1, bytes));
        assert!(again[0].left < due + BASE);
        assert_eq!(seen.sim.traffic_counters()[0].actions.get(Action::Timeout), 1);
    }
    let mut rows = fanin_claims::claim!("rcc-alg3-retransmission");
    rows.asserted(
        "segments sent again after the ACK with PSH: the last of windows of 3, 16 and 30",
        "that one",
        "that one",
    );
}

/// Claim rcc-alg3-retransmission: an ACK is lost while its sender waits for it alone.
#[test]
fn rcc_alg3_retransmission_of_an_ack() {
    let traffic = patient(rcc(|p| p.ecn = false));
    let messages = [message(us(0), 0, 1, 20 * PAYLOAD)];
    let mut losses = Losses::new(split(1, Marking::Off));
    // The ACK of the first data, which would open the window for more.
    losses.lose(&traffic, &messages, |p| p.to == 2 && p.segment.ack == 1 + PAYLOAD);
    let seen = run(losses.config, &traffic, &messages, Time::from_s(1));
    check_all_arrived(&seen.sim);
    let acks = departures(&seen.packets, 1);
    let push = acks.iter().position(|p| p.segment.has(bits::PSH)).unwrap();
    assert_eq!(acks[push].left, acks[push - 1].left + Time::from_ms(10));
    assert_eq!(acks[push].segment.ack, 1 + PAYLOAD);
    let next = seen.packets.iter().find(|p| p.from == 0 && p.left > acks[push].left).unwrap();
    assert_eq!(next.bytes(), (PAYLOAD, 2 * PAYLOAD));
    assert!(next.left < acks[push].left + BASE);
    assert_eq!((seen.sim.totals().hosts.timeouts, seen.sim.traffic_counters()[0].actions.get(Action::Timeout)), (0, 1));
    let mut rows = fanin_claims::claim!("rcc-alg3-retransmission");
    rows.asserted("after a lost ACK the next data comes within a round trip of the ACK with PSH", "yes", "yes");
}

/// Claim rcc-alg3-retransmission, with 100 flows: one of them loses its only packet in flight; the others' ACKs wait in
/// the queue, which is no timeout. With an RTO_r below that wait there are timeouts, and the count keeps its limit.
#[test]
fn rcc_alg3_retransmission_among_100_flows() {
    let messages: Vec<Message> = (0..100).map(|host| message(us(0), host, 100, 32_000)).collect();
    let mut rows = fanin_claims::claim!("rcc-alg3-retransmission");
    for (rto, expected) in [(Time::from_ms(10), 1..=1), (us(500), 100..=u64::MAX)] {
        let traffic = patient(rcc(|p| (p.ecn, p.rto) = (false, rto)));
        let mut losses = Losses::new(split(100, Marking::Off));
        losses.lose(&traffic, &messages, |p| p.flow == 7 && p.is_data() && p.bytes().0 == 5 * PAYLOAD);
        let mut sim = simulation(losses.config, vec![traffic], messages.clone());
        let mut most = 0.0f64;
        while !sim.is_over() && sim.now() < Time::from_s(2) {
            sim.run_until(Time::from_s(2), 1);
            most = most.max(held(&sim, 0, 100).0);
        }
        check_all_arrived(&sim);
        assert!(most <= 41.0, "{most}");
        assert_eq!((sim.totals().drops.total(), sim.totals().hosts.timeouts), (1, 0));
        let timeouts = sim.traffic_counters()[0].actions.get(Action::Timeout);
        assert!(expected.contains(&timeouts), "{timeouts} with {rto}");
        if rto == Time::from_ms(10) {
            let what = "timeouts of 100 flows, one of which lost a packet while the others' ACKs wait";
            rows.asserted(what, "1", timeouts.to_string());
        }
    }
}
