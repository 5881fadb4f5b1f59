//! GOAL: schedules of sends, receives and calculations, as text and in the binary form of LogGOPSim, ATLAHS and HTSIM.
//!
//! A rank is a block of statements `send 8b to 1 tag 0`, `recv 8b from 1 tag 0`, `calc 100` (nanoseconds), each with an
//! optional label in front (`a:`) and `cpu` and `nic` behind; `b requires a` and `b irequires a` say that b waits for
//! the end, or for the start, of a.

mod binary;
mod schedule;
mod text;

use crate::Error;
use fanin_graph::loggp::{Parameters, finish};
use fanin_graph::{Holds, Rules, check};
pub use schedule::{Goal, Layout, Nodes, Rank};

impl Goal {
    /// Reads either form; a binary file begins with its mark.
    ///
    /// # Errors
    /// What is wrong, with line or byte.
    pub fn read(bytes: &[u8], file: &str) -> Result<Self, Error> {
        let binary = file.ends_with(".bin") || bytes.iter().take(64).any(|byte| *byte == 0);
        if binary { binary::read(bytes, file) } else { text::read(bytes, file) }
    }

    /// As text; nodes have the labels `l1`, `l2`, ....
    pub fn to_text(&self) -> String {
        text::write(self)
    }

    /// In the binary form, byte for byte as LogGOPSim's `txt2bin` writes it.
    pub fn to_binary(&self) -> Vec<u8> {
        binary::write(self)
    }
}

/// For fuzzing: any bytes are a schedule or an error with a place. A schedule that was read is written in both forms as
/// one that reads the same, and is checked and timed.
pub fn fuzz(bytes: &[u8]) {
    for file in ["f.goal", "f.bin"] {
        match Goal::read(bytes, file) {
            Ok(mut goal) => {
                goal.ranks.iter_mut().for_each(|rank| rank.places.clear());
                let mut again = Goal::read(goal.to_text().as_bytes(), "f.goal").expect("a readable text");
                again.ranks.iter_mut().for_each(|rank| rank.places.clear());
                assert_eq!(again, goal);
                assert_eq!(Goal::read(&goal.to_binary(), "f.bin").expect("a readable file"), goal);
                let rules = Rules { holds: Holds::Work, first_ready: true };
                check(&mut goal.sources(), rules, 4).expect("nodes");
                let parameters = Parameters::parse("L=10,o=1,g=1,G=1,O=1,S=100").expect("parameters");
                finish(&mut goal.sources(), parameters, 4).expect("nodes");
            }
            Err(error) => assert!(error.file == file && !error.what.is_empty()),
        }
    }
}
