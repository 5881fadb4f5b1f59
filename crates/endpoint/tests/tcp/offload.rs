//! Segmentation offload: new data goes to the NIC in bursts.

use crate::wire::*;
use fanin_endpoint::tcp::{Config, Connection};
use fanin_units::Time;

/// Bursts of up to 8 segments, and an ACK of each.
fn bursts() -> Config {
    Config { offload: 8 * MSS as u32, ack_every: 1, ..config() }
}

/// When new data leaves: the time after the first of it in units of 100 us, and how many segments. ACKs come back 100
/// us apart, the first one 10 ms after the data.
fn leaves(config: &Config, segments: u64) -> Vec<(u64, usize)> {
    let mut wire = Wire::open(config);
    wire.window[CLIENT] = Window::Constant(12 * MSS);
    let mut acks = 0;
    wire.script(move |sent| {
        if sent.from == CLIENT {
            return Fate::Deliver;
        }
        acks += 1;
        Fate::Late(Time::from_us(100 * (acks - 1)))
    });
    let from = wire.now;
    wire.write(CLIENT, segments * MSS);
    wire.run();
    let mut found: Vec<(u64, usize)> = Vec::new();
    for sent in wire.trace.iter().filter(|sent| sent.is_data()) {
        let at = (sent.at - from).as_ps() / 100_000_000;
        match found.last_mut().filter(|last| last.0 == at) {
            Some(last) => last.1 += 1,
            None => found.push((at, 1)),
        }
    }
    found
}

#[test]
fn a_burst_waits_for_a_third_of_the_window() {
    // 12 segments fill the window. Without bursts each ACK releases one more; with them every fourth ACK four.
    let one_by_one: Vec<(u64, usize)> = (0..12).map(|n| (100 + n, 1)).collect();
    assert_eq!(leaves(&Config { offload: 0, ..bursts() }, 24), [&[(0, 12)][..], &one_by_one].concat());
    assert_eq!(leaves(&bursts(), 24), [(0, 12), (103, 4), (107, 4), (111, 4)]);
}

#[test]
fn a_burst_has_at_most_its_size() {
    // Two segments are less than a third of the window: they leave as soon as the window allows two.
    let two = Config { offload: 2 * MSS as u32, ..bursts() };
    assert_eq!(leaves(&two, 16), [(0, 12), (101, 2), (103, 2)]);
}

#[test]
fn the_rest_of_the_data_does_not_wait() {
    assert_eq!(leaves(&bursts(), 13), [(0, 12), (100, 1)]);
    assert_eq!(leaves(&bursts(), 18), [(0, 12), (103, 4), (105, 2)]);
}

/// A client that has sent the first segment of a burst of eight.
fn in_burst() -> (Wire, Connection) {
    let mut wire = Wire::open(&bursts());
    let mut end = wire.ends[CLIENT].clone();
    end.write(100 * MSS);
    assert!(!end.in_burst());
    assert!(end.transmit(wire.now, 12 * MSS).is_some_and(|segment| segment.len == MSS as u32));
    assert!(end.in_burst());
    wire.forget();
    (wire, end)
}

#[test]
fn what_the_nic_has_leaves_though_the_window_shrinks() {
    let (wire, mut end) = in_burst();
    let rest = core::iter::from_fn(|| end.transmit(wire.now, MSS)).count();
    assert_eq!((rest, end.in_burst()), (7, false));
}

#[test]
fn a_timeout_ends_a_burst() {
    let (wire, mut end) = in_burst();
    let at = end.deadline();
    assert!(at > wire.now && end.on_deadline(at).timeout.is_some());
    assert!(!end.in_burst());
    // The segment that was sent, and no more: its window is one segment.
    let again = core::iter::from_fn(|| end.transmit(at, MSS)).collect::<Vec<_>>();
    assert_eq!(again.iter().map(|segment| (segment.seq, segment.retransmitted)).collect::<Vec<_>>(), [(1, true)]);
}
