//! Selective retransmission, packet by packet and under random loss, reordering and duplication. Packets have 1,000
//! bytes, so packet n begins at byte 1000 n.

mod irn;
mod random;
mod unordered;
mod whole_messages;

use fanin_endpoint::selective::{Cap, Kept, Rules, SendHalf};
use fanin_units::{MessageId, Time};
use proptest::prelude::ProptestConfig;

const LOW: Time = Time::from_us(100);
const HIGH: Time = Time::from_us(320);

/// The rules of IRN, with `cap` packets in flight.
fn irn(cap: u32) -> Rules {
    Rules { cap: Cap::Packets(cap), timeout_high: HIGH, low_up_to: 3, nacks: 1, tell_scheme: false }
}

fn cases() -> ProptestConfig {
    let cases = std::env::var("FANIN_CASES").ok().and_then(|v| v.parse().ok()).unwrap_or(64);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// A sender with one message of 100 packets.
fn sender(rules: Rules) -> SendHalf {
    let mut half = SendHalf::new(rules, rules.cap.packets(0, 1000));
    half.stream_mut().post(MessageId(7), 100_000);
    half
}

/// Sends while it may. Returns the numbers of the packets.
fn flush(half: &mut SendHalf) -> Vec<u64> {
    std::iter::from_fn(|| half.has_data().then(|| half.take(Time::ZERO, 1000).offset / 1000)).collect()
}

/// Sends a packet. Returns its number.
fn send(half: &mut SendHalf) -> u64 {
    assert!(half.has_data());
    half.take(Time::ZERO, 1000).offset / 1000
}

fn ack(half: &mut SendHalf, next: u64) -> u64 {
    half.on_ack(1000 * next, None, |_| ()) / 1000
}

fn nack(half: &mut SendHalf, next: u64, arrived: u64) -> u64 {
    half.on_ack(1000 * next, Some(1000 * arrived), |_| ()) / 1000
}

/// A packet as it arrives, of message 7.
fn data(number: u64) -> Kept {
    Kept { offset: 1000 * number, len: 1000, message: MessageId(7), start: number == 0, end: number == 99, links: 2 }
}
