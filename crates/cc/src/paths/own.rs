//! Selectors of paths of one's own.

use super::feedback::Feedback;
use crate::schemes::own::Failure;
use alloc::boxed::Box;
use core::fmt::Debug;
use fanin_units::{MessageId, NodeId, Time};

/// What is wrong with a hook that changes the number of a path in a packet.
pub const NUMBER_CHANGED: &str = "wrote cc_feedback, where senders put the number of a packet's path under this \
                                  network.balancing: leave the field as it is, or set network.balancing = \
                                  \"random\", with which switches choose";

/// A sender that begins to choose paths.
#[derive(Clone, Copy, Debug)]
pub struct SelectorInfo {
    /// When it begins.
    pub now: Time,
    /// The number of its flow's first message in the run.
    pub flow: MessageId,
    /// The sending host.
    pub from: NodeId,
    /// The receiving host.
    pub to: NodeId,
    /// The number of paths in the spec, a power of two up to 65,536.
    pub paths: u32,
    /// Seed of this sender's own random draws.
    pub seed: u64,
}

/// A selector of paths of one's own: one per sender.
pub trait PathSelector: Send {
    /// The path of the packet with this number; the congestion window has `window` packets.
    fn next_path(&mut self, now: Time, psn: u32, window: u64) -> u16;
    /// What became of a packet of a path. After a timeout the path is not known: it is 0.
    fn feedback(&mut self, now: Time, path: u16, feedback: Feedback);
}

/// Builds the selector of each sender. Results are the same on any number of threads if a selector draws only on what
/// it is given.
pub trait SelectorProgram: Send + Sync + Debug {
    /// The selector of a sender that begins.
    fn build(&self, sender: &SelectorInfo) -> Box<dyn PathSelector>;
    /// Whether it runs in an interpreter that one thread at a time may enter.
    fn interpreted(&self) -> bool {
        false
    }
    /// The first failure, after which the run should end.
    fn failure(&self) -> Option<Failure> {
        None
    }
}
