//! A job without a network: each message takes the time that its caller says, whatever else is under way.

use crate::graph_records::GraphRecords;
use crate::graphs::{Graphs, Placed};
use fanin_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Runs a job. `takes` has the times from the post of a message to its last byte and to its last ACK, by the number of
/// the message in the job.
pub fn alone(placed: Placed, takes: &mut dyn FnMut(u32) -> (Time, Time)) -> GraphRecords {
    let sends: Vec<(u32, u32)> = placed.job.sends().map(|(rank, node, ..)| (rank, node)).collect();
    let traffic = placed.traffic;
    let mut graphs = Graphs::new(vec![placed], |_| true);
    for (number, send) in (0..).zip(sends) {
        graphs.load(number, traffic, send);
    }
    // By time; what arrives comes before ACKs.
    let mut network: BinaryHeap<Reverse<(Time, bool, u32)>> = BinaryHeap::new();
    let mut now = Time::ZERO;
    loop {
        let due = graphs.next_at();
        match network.peek().copied() {
            // At one instant, the network first.
            Some(Reverse((at, acked, number))) if at <= due => {
                network.pop();
                now = at;
                match acked {
                    true => graphs.acked(number, at),
                    false => graphs.arrived(number, at),
                }
            }
            _ if due == Time::NEVER => break,
            _ => {
                now = due;
                graphs.step(due);
                while let Some(number) = graphs.next_post() {
                    let (arrives, acked) = takes(number);
                    network.push(Reverse((due.saturating_add(arrives), false, number)));
                    network.push(Reverse((due.saturating_add(acked), true, number)));
                }
            }
        }
    }
    let mut records = GraphRecords::default();
    graphs.take_records(now, &mut records);
    records.sort();
    records
}
