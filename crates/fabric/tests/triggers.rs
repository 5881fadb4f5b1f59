//! Gates that are not a query's: those that a last ACK opens, and those that let one message through at a time.

use crate::common::*;
use fanin_fabric::*;
use fanin_units::Time;

fn chained(message: Message, dependency: Dependency) -> Message {
    Message { dependency, ..message }
}

fn waits(gate: u32) -> Dependency {
    Dependency { after: Some(gate), ..Dependency::default() }
}

/// Under RDMA at line rate, and over TCP.
fn both(messages: &[Message]) -> [Vec<FlowRecord>; 2] {
    [traffic("none"), over_tcp("newreno")].map(|traffic| {
        let mut sim = simulation(network(star(8, us(1))), vec![traffic], messages.to_vec());
        finish(&mut sim);
        let flows = sim.flows();
        assert!(flows.iter().all(|flow| flow.finished.is_some() && flow.acked.is_some()));
        flows
    })
}

#[test]
fn a_last_ack_opens_a_gate_and_an_arrival_another() {
    let first = Dependency { counts: Some(0), counts_acked: Some(1), ..Dependency::default() };
    let messages = [
        chained(message(us(3), 0, 1, 5 * PAYLOAD), first),
        chained(message(us(3), 1, 2, 100), waits(0)),
        chained(message(us(3), 0, 3, 100), waits(1)),
    ];
    for flows in both(&messages) {
        assert_eq!((flows[1].start, flows[2].start), (flows[0].finished, flows[0].acked));
        assert!(flows[0].acked > flows[0].finished);
    }
}

#[test]
fn a_gate_may_count_arrivals_and_acks_together() {
    let arrives = Dependency { counts: Some(0), ..Dependency::default() };
    let acked = Dependency { counts_acked: Some(0), ..Dependency::default() };
    let messages = [
        chained(message(us(0), 0, 1, 3 * PAYLOAD), arrives),
        chained(message(us(0), 2, 3, 9 * PAYLOAD), acked),
        chained(message(us(0), 4, 5, 100), waits(0)),
        chained(message(us(0), 6, 7, 100), Dependency { delay: us(2), ..waits(0) }),
    ];
    for flows in both(&messages) {
        assert!(flows[1].acked > flows[0].finished);
        assert_eq!((flows[2].start, flows[3].start), (flows[1].acked, flows[1].acked + us(2)));
    }
}

#[test]
fn a_gate_in_turn_lets_one_through_for_each_that_counts() {
    let counts = Dependency { counts: Some(0), ..Dependency::default() };
    let waits = Dependency { in_turn: true, ..waits(0) };
    // The second to be posted is the first to arrive.
    let mut messages = vec![
        chained(message(us(0), 0, 1, 50 * PAYLOAD), counts),
        chained(message(us(0), 2, 3, 10 * PAYLOAD), counts),
        chained(message(us(0), 4, 1, 10), waits),
        chained(message(us(0), 5, 3, 10), waits),
    ];
    for flows in both(&messages) {
        assert!(flows[1].finished < flows[0].finished);
        assert_eq!((flows[2].start, flows[3].start), (flows[1].finished, flows[0].finished));
    }
    // More that counts than waits opens nothing else.
    messages.pop();
    for flows in both(&messages) {
        assert_eq!(flows[2].start, flows[1].finished);
    }
}

#[test]
fn what_no_turn_reaches_is_never_posted() {
    let counts = Dependency { counts: Some(0), ..Dependency::default() };
    let waits = Dependency { in_turn: true, ..waits(0) };
    let messages = vec![
        chained(message(us(0), 0, 1, 10), counts),
        chained(message(us(0), 1, 2, 10), waits),
        chained(message(us(0), 1, 3, 10), waits),
    ];
    let mut sim = simulation(network(star(4, us(1))), vec![traffic("none")], messages);
    finish(&mut sim);
    let starts: Vec<bool> = sim.flows().iter().map(|flow| flow.start.is_some()).collect();
    assert_eq!((starts, sim.nothing_to_come()), (vec![true, true, false], false));
    assert_eq!(sim.flows()[2].start, Time::NEVER);
}
