//! Segmentation offload at the NIC: a burst leaves in one piece.

use crate::common::*;
use fanin_cc::schemes::newreno::{NewReno, Threshold};
use fanin_cc::{Kind, Scheme, Settings};
use fanin_fabric::TrafficConfig;
use fanin_fabric::tap::{Seen, Wanted};
use fanin_units::{Bytes, Time};

/// How host 0 alternates between two connections that open at once, with windows of 10 segments: segments of the same
/// one in a row, until each has sent 10; and how far apart those in a row leave at most.
fn runs(offload: u64) -> (Vec<usize>, Time) {
    let mut one = over_tcp("newreno");
    one.tcp.as_mut().unwrap().connection.offload = offload as u32;
    let messages = [1, 2].map(|to| message(us(0), 0, to, 10 * PAYLOAD)).to_vec();
    let mut sim = simulation(network(star(3, us(1))), vec![one], messages);
    sim.tap(&Wanted { links: vec![port(&sim, 0, 3)], ..Wanted::default() });
    finish(&mut sim);
    check_all_arrived(&sim);
    let mut seen = Vec::new();
    sim.take_seen(&mut seen);
    let sent = seen.iter().filter_map(|one| match one {
        Seen::Packet(packet) if packet.head.kind == Kind::Data => Some((packet.time, packet.head.flow)),
        _ => None,
    });
    let sent: Vec<_> = sent.take(20).collect();
    let apart = |two: &[(Time, _)]| two[1].0 - two[0].0;
    let in_row = sent.windows(2).filter(|two| two[0].1 == two[1].1).map(apart).max();
    (sent.chunk_by(|a, b| a.1 == b.1).map(<[_]>::len).collect(), in_row.unwrap_or(Time::ZERO))
}

/// Bursts of 8 segments, then the 2 that are left; each segment 1.2 us after the one before. Without bursts the
/// connections take turns once the second is open.
#[test]
fn no_segment_of_another_connection_comes_between() {
    assert_eq!(runs(8 * PAYLOAD), (vec![8, 8, 2, 2], ns(1_200)));
    let (turns, _) = runs(0);
    assert!(turns.len() > 15, "{turns:?}");
}

/// Segments of the window after `ms` of a long flow in congestion avoidance from 30 segments on, on a path of 400 us
/// that holds 333 of them.
fn window_after(ms: u64, offload: u64) -> f64 {
    let mut params = NewReno::preset("newreno");
    (params.window.initial_window, params.window.initial_ssthresh) = (30, Threshold::Bytes(Bytes(30 * PAYLOAD)));
    let mut one = TrafficConfig { scheme: Settings::NewReno("newreno", params), ..over_tcp("newreno") };
    let connection = &mut one.tcp.as_mut().unwrap().connection;
    (connection.offload, connection.receive_buffer) = (offload as u32, 10_000_000);
    let mut sim = simulation(network(star(2, us(100))), vec![one], vec![message(us(0), 0, 1, 1_000_000_000)]);
    run_to(&mut sim, Time::from_ms(ms));
    let watched = sim.watch(0);
    watched.iter().find(|(name, _)| *name == "window_bytes").expect("a window").1 / PAYLOAD as f64
}

/// RFC 5681: a segment more each round trip, also while a burst waits for the window (Linux's is_cwnd_limited).
#[test]
fn a_window_that_a_burst_waits_for_grows() {
    for bursts in [0, 4 * PAYLOAD, 8 * PAYLOAD] {
        let grown = window_after(41, bursts) - window_after(1, bursts);
        // 100 round trips, each longer by what the segments of a burst wait for each other.
        assert!((90.0..=101.0).contains(&grown), "bursts of {bursts} B: {grown} segments in 40 ms");
    }
}
