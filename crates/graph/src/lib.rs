//! The work of many ranks as graphs of sends, receives, delays and collectives.
//!
//! Every edge lies inside one rank: a node waits for the end, or for the start, of other nodes of its rank. Ranks meet
//! through messages alone, so whoever owns a rank can drive it ([`Host`]) without seeing the others. [`check()`] finds
//! what could not run; [`loggp`] estimates finishing times without packets.
//!
//! Nothing here reads files. A [`Source`] gives the nodes of a rank one by one, and a [`Host`] keeps those that have
//! not ended, up to a window.
#![forbid(unsafe_code)]

mod check;
pub mod collectives;
pub mod critical;
mod ended;
mod host;
pub mod job;
pub mod loggp;
mod matching;
pub mod pipeline;
mod problem;
mod stuck;
pub mod training;
mod under_way;

pub use check::check;
pub use host::{Host, Next, State, Waiting};
pub use job::Job;
pub use matching::Message;
pub use problem::Problem;
pub use stuck::stuck;
pub use under_way::UnderWay;

/// Any source, or any tag, of a receive.
pub const ANY: u32 = u32::MAX;

/// Unfinished nodes of a rank that are seen at once, unless the owner of the rank says otherwise.
pub const WINDOW: usize = 1 << 20;

/// The longest delay, in nanoseconds: numbers up to here are exact in every program that handles them.
pub const LONGEST: u64 = 1 << 53;

/// The largest message, in bytes.
pub const LARGEST: u64 = 1 << 50;

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Sends a message.
    Send {
        /// The rank that receives it.
        to: u32,
        /// Its size.
        bytes: u64,
        /// Its tag.
        tag: u32,
    },
    /// Receives a message.
    Recv {
        /// The rank that sends it, or [`ANY`].
        from: u32,
        /// Its size.
        bytes: u64,
        /// Its tag, or [`ANY`].
        tag: u32,
    },
    /// Computes, or does something else that takes a known time.
    Delay {
        /// The time in nanoseconds.
        ns: u64,
    },
    /// Takes part in a collective operation.
    Collective {
        /// The operation.
        operation: Operation,
        /// Bytes, as the file counts them.
        bytes: u64,
        /// Its group; 0 has all ranks.
        group: u32,
    },
}

/// A collective operation, in the order of Chakra's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are those of every library of collectives")]
pub enum Operation {
    AllReduce,
    Reduce,
    AllGather,
    Gather,
    Scatter,
    Broadcast,
    AllToAll,
    ReduceScatter,
    ReduceScatterBlock,
    Barrier,
}

impl Operation {
    /// All of them with their names.
    pub const ALL: [(Self, &str); 10] = [
        (Self::AllReduce, "all-reduce"),
        (Self::Reduce, "reduce"),
        (Self::AllGather, "all-gather"),
        (Self::Gather, "gather"),
        (Self::Scatter, "scatter"),
        (Self::Broadcast, "broadcast"),
        (Self::AllToAll, "all-to-all"),
        (Self::ReduceScatter, "reduce-scatter"),
        (Self::ReduceScatterBlock, "reduce-scatter-block"),
        (Self::Barrier, "barrier"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// A node of a rank and what it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its number, unique in its rank.
    pub id: u64,
    /// What it does.
    pub kind: Kind,
    /// The processor or engine that it needs, if any; [`Rules`] say how long it holds it.
    pub slot: Option<u8>,
    /// The network interface that its message uses.
    pub nic: u8,
    /// Nodes that must have ended.
    pub after_end: Vec<u64>,
    /// Nodes that must have started.
    pub after_start: Vec<u64>,
}

impl Default for Node {
    fn default() -> Self {
        Self { id: 0, kind: Kind::Delay { ns: 0 }, slot: None, nic: 0, after_end: Vec::new(), after_start: Vec::new() }
    }
}

/// How the nodes of a rank share its slots.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Which nodes hold their slot to the end. For the others it only has to be free when they start.
    pub holds: Holds,
    /// Whether the node that became ready first gets a slot; otherwise the one with the lowest number.
    pub first_ready: bool,
}

/// Nodes that hold their slot to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// None.
    Nothing,
    /// Delays and collectives.
    Work,
    /// Delays, collectives and sends.
    WorkAndSends,
}

/// The nodes of a rank, one by one, in any order.
pub trait Source {
    /// Why a node could not be read.
    type Error;

    /// Fills in the next node, and returns whether there was one.
    ///
    /// # Errors
    /// The source cannot be read any further.
    fn next(&mut self, node: &mut Node) -> Result<bool, Self::Error>;

    /// The ranks of a group other than 0, if it has been defined so far.
    fn members(&self, _group: u32) -> Option<&[u32]> {
        None
    }

    /// Whether the bytes of an all-gather are those that a rank has at its end, instead of those that it contributes.
    fn all_gather_of_all(&self) -> bool {
        false
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    type Error = S::Error;

    fn next(&mut self, node: &mut Node) -> Result<bool, S::Error> {
        (**self).next(node)
    }

    fn members(&self, group: u32) -> Option<&[u32]> {
        (**self).members(group)
    }

    fn all_gather_of_all(&self) -> bool {
        (**self).all_gather_of_all()
    }
}
