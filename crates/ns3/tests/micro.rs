//! The micro cases, to the nanosecond and the byte.

mod common;

use common::*;

#[test]
fn one_flow_alone() {
    let settings = fanin_cc::Settings::preset("none").unwrap();
    let (finished, queue) = run(config(1), senders(1, 1_000_000), &settings);
    assert_eq!(finished, [(1, 87_091)]);
    assert_eq!(queue.len(), 1000);
    assert!(queue.iter().all(|(_, bytes)| *bytes == 0));
}
