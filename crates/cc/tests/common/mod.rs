//! Helpers of several test files.

pub mod dart;
pub mod dart_switch;
pub mod ns3;
pub mod point;
pub mod tcp;

use fanin_cc::{Data, NicInfo, PathInfo, ReceiverFlow};
use fanin_units::{NodeId, Rate, Time};
use proptest::test_runner::Config;

/// Random cases: `FANIN_CASES`, else 64.
pub fn cases() -> Config {
    let cases = std::env::var("FANIN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64);
    Config { cases, failure_persistence: None, ..Config::default() }
}

/// Payload of a full packet.
pub const PAYLOAD: u32 = 1000;
/// That packet on the wire.
pub const WIRE: u32 = 1040;

pub const fn us(us: u64) -> Time {
    Time::from_us(us)
}

/// A path of 10 us.
pub fn path(gbps: u64, network_bdp: u64) -> PathInfo {
    PathInfo { network_bdp, ..PathInfo::new(Rate::from_gbps(gbps), us(10), PAYLOAD, WIRE) }
}

/// A NIC on that path.
pub fn nic(gbps: u64) -> NicInfo {
    NicInfo { seed: 1, ..NicInfo::new(Rate::from_gbps(gbps), us(10), PAYLOAD, WIRE) }
}

/// Full packet number `n` of a flow, in order.
pub fn data(flow: u32, n: u64, ce: bool) -> Data {
    let seq = n * PAYLOAD as u64;
    Data {
        flow: ReceiverFlow(flow),
        from: NodeId(flow),
        wire: WIRE,
        payload: PAYLOAD,
        seq,
        acked_to: seq + PAYLOAD as u64,
        ce,
        start: n == 0,
        in_order: true,
        ack_due: true,
        due_alone: true,
        ..Data::default()
    }
}
