//! Segmentation offload at the NIC: a burst leaves in one piece.

mod common;

use common::*;
use fanin_cc::Kind;
use fanin_fabric::tap::{Seen, Wanted};
use fanin_units::Time;

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
