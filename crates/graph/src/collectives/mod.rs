//! Collective operations as messages, each algorithm a function from a [`Shape`] to a [`Plan`].
//!
//! Ranks of a group have places from 0. A vector of S bytes is divided into blocks whose sizes differ by at most a
//! byte, block b being bytes floor(b S / n) to floor((b + 1) S / n), so that nothing is lost. A place sends as soon as
//! what it sends has arrived. A channel has its share of S and messages of its own; with chunks, rings and exchanges
//! work on one piece after another, and trees and chains on all at once, in order.

mod chain;
mod doubling;
mod exchange;
mod hierarchical;
mod plan;
mod ring;
mod tree;

use crate::Operation;
use plan::block;
pub use plan::{Plan, Shape, Transfer};

/// An algorithm of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// The operation.
    pub operation: Operation,
    /// Its name in a spec.
    pub name: &'static str,
    /// Whether a chunk is the size of one of n blocks; otherwise of the whole vector.
    blocks: bool,
    /// Whether a place begins a chunk before it is done with the one before.
    pipelined: bool,
    plan: Planner,
}

/// All algorithms; the first of an operation is its default.
pub const ALGORITHMS: &[Algorithm] = &[
    of(Operation::AllReduce, "ring", true, false, ring::all_reduce),
    of(Operation::AllReduce, "halving-doubling", true, false, doubling::all_reduce_halving),
    of(Operation::AllReduce, "recursive-doubling", false, false, doubling::all_reduce),
    of(Operation::AllReduce, "tree", false, true, tree::all_reduce),
    of(Operation::AllReduce, "double-tree", false, true, tree::all_reduce_double),
    of(Operation::AllReduce, "hierarchical", true, false, hierarchical::all_reduce),
    of(Operation::AllReduce, "direct", true, false, exchange::all_reduce),
    of(Operation::AllGather, "ring", true, false, ring::all_gather),
    of(Operation::AllGather, "recursive-doubling", true, false, doubling::all_gather),
    of(Operation::AllGather, "direct", true, false, exchange::all_gather),
    of(Operation::ReduceScatter, "ring", true, false, ring::reduce_scatter),
    of(Operation::ReduceScatter, "halving", true, false, doubling::reduce_scatter),
    of(Operation::ReduceScatter, "direct", true, false, exchange::reduce_scatter),
    of(Operation::AllToAll, "direct", true, false, exchange::direct),
    of(Operation::AllToAll, "rotation", true, false, exchange::rotation),
    of(Operation::AllToAll, "ring", true, false, exchange::around),
    of(Operation::Broadcast, "chain", false, true, chain::broadcast),
    of(Operation::Broadcast, "tree", false, true, tree::broadcast),
];

type Planner = fn(&Shape<'_>, &mut Plan) -> Result<(), String>;

const fn of(operation: Operation, name: &'static str, blocks: bool, pipelined: bool, plan: Planner) -> Algorithm {
    Algorithm { operation, name, blocks, pipelined, plan }
}

/// Most messages of a collective, and of all collectives of a job that come from files.
pub const MOST_MESSAGES: u64 = 60_000_000;

/// Most waits of a collective's messages for others.
const MOST_WAITS: u64 = 4 * MOST_MESSAGES;

/// How collectives are carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Method<'a> {
    /// The algorithm by name; the operation's default without one.
    pub algorithm: Option<&'a str>,
    /// Channels, each with its share of the bytes; 0 is one.
    pub channels: u32,
    /// Largest message, in bytes; where messages have several blocks, as in halving, the largest block.
    pub chunk: Option<u64>,
    /// Ranks of a server.
    pub server: Option<u32>,
    /// Peers to which a rank sends at once, of algorithms called direct.
    pub window: Option<u32>,
    /// Whether what is for another place of another server goes over the place in the own server that has the same
    /// number there, as NCCL's PXN has it: inside the server first, and then on the rail of the receiver.
    pub pxn: bool,
    /// Bytes of an all-to-all from each place to each, row by row; nothing is sent where they are 0.
    pub sizes: Option<&'a [u64]>,
}

/// The algorithm of this name for an operation, or its default.
///
/// # Errors
/// The names that it has.
pub fn algorithm(operation: Operation, name: Option<&str>) -> Result<&'static Algorithm, String> {
    let mut all = ALGORITHMS.iter().filter(|algorithm| algorithm.operation == operation);
    let known: Vec<&str> = all.clone().map(|algorithm| algorithm.name).collect();
    let found = all.find(|algorithm| name.is_none_or(|name| algorithm.name == name));
    found.ok_or_else(|| match (known.is_empty(), name) {
        (true, _) => format!("a collective {}, which has no algorithm here", operation.name()),
        (_, name) => {
            format!("{} has no algorithm {:?}; it has {}", operation.name(), name.unwrap_or(""), known.join(", "))
        }
    })
}

/// The messages of a collective.
///
/// # Errors
/// The algorithm is unknown, or does not fit the number of ranks or the bytes.
pub fn plan(operation: Operation, ranks: u32, bytes: u64, method: &Method) -> Result<Plan, String> {
    let algorithm = algorithm(operation, method.algorithm)?;
    let mut whole = Plan::default();
    if ranks < 2 {
        return Ok(whole);
    }
    if method.window.is_some() && algorithm.name != "direct" {
        return Err(format!("window goes with direct, and this is {}; leave it out", algorithm.name));
    }
    let relays = match (method.pxn, method.server) {
        (false, _) => None,
        (true, Some(server)) if server > 1 && ranks.is_multiple_of(server) => Some(server),
        (true, server) => {
            let of =
                server.map_or("no number of ranks of a server".to_string(), |server| format!("servers of {server}"));
            return Err(format!("pxn needs servers of equal size and at least 2, and there are {ranks} ranks in {of}"));
        }
    };
    let channels = u64::from(method.channels.max(1));
    let largest = method.chunk.unwrap_or(u64::MAX).max(1);
    let piece = if algorithm.blocks { largest.saturating_mul(ranks.into()) } else { largest };
    let longest = method.sizes.map(|sizes| sizes.iter().max().map_or(0, |size| size.div_ceil(channels)));
    let pieces = longest.map_or(bytes.div_ceil(channels).div_ceil(piece), |longest| longest.div_ceil(largest)).max(1);
    if most_of_piece(algorithm, ranks.into()).saturating_mul(channels).saturating_mul(pieces) > MOST_MESSAGES {
        let of = format!("{channels} channels and {pieces} pieces of each");
        return Err(format!("has too many messages: {ranks} ranks, {of}; at most {MOST_MESSAGES} are possible"));
    }
    for channel in 0..channels {
        let share = block(bytes, channel, channels);
        let order = order(ranks, method.server, channel as u32);
        let pieces = longest.map_or(share.div_ceil(piece), |longest| longest.div_ceil(largest)).max(1);
        let mut last: Vec<Option<u32>> = vec![None; ranks as usize];
        for number in 0..pieces {
            let part = |size: u64| block(block(size, channel, channels), number, pieces);
            let sizes: Option<Vec<u64>> = method.sizes.map(|sizes| {
                let pairs = order.iter().flat_map(|from| order.iter().map(move |to| (*from, *to)));
                pairs.map(|(from, to)| part(sizes[(from * ranks + to) as usize])).collect()
            });
            let (sizes, bytes_here) = (sizes.as_deref(), block(share, number, pieces));
            let (server, window) = (method.server, method.window);
            let shape = Shape { ranks, bytes: bytes_here, server, window, sizes };
            let mut part = Plan::default();
            (algorithm.plan)(&shape, &mut part)?;
            if (part.waits() as u64).saturating_mul(channels).saturating_mul(pieces) > MOST_WAITS {
                return Err(format!("has too many waits: {} among {ranks} ranks in a piece", part.waits()));
            }
            if part.transfers.iter().any(|transfer| transfer.bytes == 0) {
                let share = if channels > 1 { format!(" in each of {channels} channels") } else { String::new() };
                return Err(format!("{bytes} B are too few for {ranks} ranks{share}; each message has at least 1 B"));
            }
            let before = last.clone();
            // By the numbers of the part, with which message each has arrived.
            let mut arrived: Vec<u32> = Vec::with_capacity(part.transfers.len());
            for (number, transfer) in part.transfers.iter().enumerate() {
                let (from, to) = (order[transfer.from as usize], order[transfer.to as usize]);
                let after = part.after(number);
                let idle = before[from as usize].filter(|_| after.is_empty() && !algorithm.pipelined);
                let after = after.iter().map(|after| arrived[*after as usize]).chain(idle);
                let message = match relays.and_then(|server| relay(from, to, server)) {
                    None => whole.send((from, to), transfer.bytes, after),
                    Some(by) => {
                        let there = whole.send((from, by), transfer.bytes, after);
                        whole.send((by, to), transfer.bytes, [there])
                    }
                };
                arrived.push(message);
                last[to as usize] = Some(message);
            }
        }
    }
    Ok(whole)
}

/// The rank over which a message to another server goes: that of the own server on the receiver's rail, unless the
/// sender is on it (SimAI, MockNcclGroup.cc, where a channel leaves a server).
fn relay(from: u32, to: u32, server: u32) -> Option<u32> {
    let by = from / server * server + to % server;
    (from / server != to / server && by != from).then_some(by)
}

/// At least as many messages as a piece of a channel has.
fn most_of_piece(algorithm: &Algorithm, n: u64) -> u64 {
    match (algorithm.operation, algorithm.name) {
        // What goes s places further passes s links.
        (Operation::AllToAll, "ring") => n.saturating_mul(n).saturating_mul(n) / 2,
        // Trees and chains: each rank once in each direction, in two trees.
        _ if algorithm.pipelined => n.saturating_mul(4),
        _ => n.saturating_mul(n).saturating_mul(2),
    }
}

/// The ranks at the places of a channel: servers in order, and in each the ranks rotated by the channel (SimAI,
/// MockNcclGroup.cc), so that channels leave a server by different ranks.
fn order(ranks: u32, server: Option<u32>, channel: u32) -> Vec<u32> {
    let server = server.filter(|server| ranks.is_multiple_of(*server.max(&1))).unwrap_or(1).max(1);
    (0..ranks).map(|place| place / server * server + (place + channel) % server).collect()
}

/// nccl-tests' factor of bus bandwidth: busbw = algbw x f (PERFORMANCE.md of nccl-tests).
pub fn bus_factor(operation: Operation, ranks: u32) -> f64 {
    let n = f64::from(ranks.max(1));
    match operation {
        Operation::AllReduce => 2.0 * (n - 1.0) / n,
        Operation::AllGather
        | Operation::ReduceScatter
        | Operation::ReduceScatterBlock
        | Operation::AllToAll
        | Operation::Gather
        | Operation::Scatter => (n - 1.0) / n,
        Operation::Reduce | Operation::Broadcast | Operation::Barrier => 1.0,
    }
}

#[cfg(test)]
mod tests;
