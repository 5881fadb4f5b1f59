//! Claims about windows in flight: rcc-alg2-flightwins, rcc-alg1-min-one-window.

use super::random::held;
use super::replay::*;
use crate::common::*;
use fanin_cc::Action;
use fanin_claims::strict;
use fanin_fabric::*;
use fanin_units::Time;

/// Messages of so many bytes from each sender to the last host, all at once.
fn from_all(senders: u32, bytes: u64) -> Vec<Message> {
    (0..senders).map(|host| message(us(0), host, senders, bytes)).collect()
}

/// What is in flight of a flow, by the packets on the wires.
#[derive(Clone, Copy, Default)]
struct Wire {
    /// Ends of the windows that the receiver told, and that the sender knows.
    told: u64,
    known: u64,
    sent: u64,
    arrived: u64,
}

/// Claim rcc-alg2-flightwins.
#[test]
fn rcc_alg2_flightwins() {
    let senders = 50;
    let traffic = rcc(|p| p.ecn = false);
    let mut sim = simulation(paper(senders, Marking::Off), vec![traffic.clone()], from_all(senders, 10_000_000));
    let switch = senders + 1;
    let mut pairs = vec![(switch, senders), (senders, switch)];
    pairs.extend((0..senders).flat_map(|host| [(host, switch), (switch, host)]));
    let packets = watch(&mut sim, &pairs, Time::from_s(1));
    assert_eq!(sim.totals().drops.total(), 0);

    let mut replay = Replay::new(&sim, params(&traffic));
    arrivals(&packets, senders, sim.now()).for_each(|p| replay.arrive(p, 10_000_000));
    let acks = departures(&packets, senders);
    replay.check_against(&acks);

    // Arrivals first, then what senders know and send, then releases, at the same time.
    let mut events: Vec<(Time, u8, usize)> = Vec::new();
    for (n, packet) in packets.iter().enumerate() {
        match packet {
            p if p.to == senders && p.is_data() => events.push((p.arrives, 0, n)),
            p if p.from == switch && p.to < senders => events.push((p.arrives, 1, n)),
            p if p.from < senders && p.is_data() => events.push((p.left, 2, n)),
            _ => {}
        }
    }
    events.extend(replay.released.iter().enumerate().map(|(n, released)| (released.time, 3, n)));
    events.sort_unstable();
    let mut wires = vec![Wire::default(); senders as usize];
    let mut most = 0;
    for (_, kind, n) in events {
        match kind {
            0 => wires[packets[n].flow as usize].arrived = packets[n].bytes().1,
            1 => wires[packets[n].flow as usize].known = packets[n].edge(),
            2 => wires[packets[n].flow as usize].sent = packets[n].bytes().1,
            _ => {
                let released = &replay.released[n];
                let before: u64 = wires.iter().map(|w| w.told - w.arrived).sum();
                if let Some(ack) = acks.get(n) {
                    wires[released.flow as usize].told = ack.edge();
                }
                let after: u64 = wires.iter().map(|w| w.told - w.arrived).sum();
                if n < acks.len() {
                    assert_eq!(released.in_flight, (before, after), "{released:?}");
                }
                // Every window that a sender knows of is data on its way: the count is that, and what ACKs bring.
                assert!(wires.iter().all(|w| w.sent == w.known), "{released:?}");
                assert!(before <= 40 * PAYLOAD, "released at {before}");
                assert!(after <= 40 * PAYLOAD + PAYLOAD, "{after} with windows of one segment");
                most = most.max(after);
            }
        }
    }
    assert_eq!(most, 41 * PAYLOAD);
    assert!(replay.released.len() > 80_000, "{}", replay.released.len());
    let mut rows = fanin_claims::claim!("rcc-alg2-flightwins");
    let ours = format!("0 of {}", replay.released.len());
    rows.asserted("releases at which the counter is not what is in flight, 50 flows", "0", ours);
    let most = most / PAYLOAD;
    rows.row(
        "most segments in flight",
        "queue_maxsize and a release",
        most.to_string(),
        "at most 41",
        strict(most <= 41),
    );
    rows.asserted("drops", "0", "0");
}

/// Claim rcc-alg1-min-one-window, its second half.
#[test]
fn rcc_alg1_min_one_window_in_an_incast() {
    let mut sim = simulation(paper(100, Marking::Off), vec![rcc(|_| ())], from_all(100, 32_000));
    let mut seen = Vec::new();
    while sim.finished() == 0 {
        sim.run_until(Time::from_s(1), 1);
        seen.push(held(&sim, 0, 100));
    }
    let most = seen.iter().map(|(in_flight, _)| *in_flight).fold(0.0, f64::max);
    assert_eq!(most, 41.0);
    // Those that have no window in flight wait.
    assert!(seen.iter().any(|(_, waiting)| *waiting == 59.0));
    finish(&mut sim);
    check_all_arrived(&sim);
    assert_eq!((sim.totals().drops.total(), sim.totals().hosts.timeouts), (0, 0));
    assert_eq!(sim.traffic_counters()[0].actions.get(Action::Timeout), 0);
    let mut rows = fanin_claims::claim!("rcc-alg1-min-one-window");
    rows.row(
        "most segments in flight to the receiver, 100 senders",
        "40 and one",
        format!("{most}"),
        "at most 41",
        strict(most <= 41.0),
    );
    rows.asserted("drops", "0", "0");
}
