//! Reasons not to cut a network.

use super::crew::WORTH;
use super::cut::cut;
use crate::config::{BufferPolicy, NetworkConfig, TrafficConfig};
use crate::deadlock::{Entry, in_tiers, prove};
use crate::topology::Graph;
use fanin_cc::{PathInfo, Sharing};
use fanin_units::{Rate, Time};

/// Why a network must not be cut anywhere, or `None`. Dependencies between messages are not checked here: those of
/// patterns are local to a host; those of htsim's triggers are not, and a caller with such triggers must not cut.
pub fn why_not_cut(config: &NetworkConfig, traffics: &[TrafficConfig]) -> Option<&'static str> {
    if config.graph.links.iter().any(|link| !link.outages.is_empty()) {
        return Some("a link failure changes the routes of all nodes at once");
    }
    if traffics.iter().any(|traffic| traffic.tcp.is_some() && acts_by_itself(traffic)) {
        return Some("a scheme over TCP acts before the other end of its connection is notified");
    }
    if matches!(config.buffer, BufferPolicy::Credits { .. }) && config.graph.links.iter().any(|l| l.error_rate > 0.0) {
        return Some("the credits of a lost packet are restored by the other end of its link");
    }
    if config.classes.iter().any(|class| class.lossless) {
        if traffics.iter().any(|traffic| traffic.scheme.send_options(1, 0, traffic.endpoint.connection).pinned) {
            return Some(
                "deflections under flow control may deadlock, and the search for deadlocks sees all switches at once",
            );
        }
        if !in_tiers(&config.graph) && !prove(&config.graph, Entry::AfterLastMisroute).holds() {
            return Some(
                "its queues may deadlock under flow control, and the search for deadlocks sees all switches at once",
            );
        }
    }
    None
}

/// Links whose ports, with the queues, packets, events and messages at them, one partition has: some 2,000 hosts of a
/// fat tree of three tiers, whose memory in use fits a cache that cores share. A number, and not a property of this
/// machine, so that the partitions of a network are the same everywhere.
const LINKS: usize = 6144;

/// Most partitions: buffers between them grow with the square.
const MOST: usize = 128;

/// The best partitioning for at most `threads` threads: the partition of each node, or why the network stays whole. A
/// large network has more partitions than threads: each is run for a whole lookahead window, in which its memory
/// stays in the cache.
///
/// # Errors
/// A short sentence, the reason.
pub fn plan(config: &NetworkConfig, traffics: &[TrafficConfig], threads: usize) -> Result<Vec<u16>, &'static str> {
    let for_cache = (config.graph.links.len() / LINKS).min(MOST);
    let partitions = if for_cache > threads { for_cache.next_multiple_of(threads) } else { threads };
    if partitions < 2 {
        return Err("it was given one");
    }
    let of = cut(&config.graph, partitions);
    if of.iter().all(|partition| *partition == 0) {
        return Err("all hosts are at one switch");
    }
    let window = lookahead(&config.graph, &of).unwrap_or(Time::from_ms(1));
    if window == Time::ZERO {
        return Err("links between its partitions have no delay");
    }
    let wire = u64::from(config.packet.payload) + u64::from(config.packet.header);
    let packets = config.graph.links.iter().map(|link| 2 * link.rate.bytes_in(window) / wire).sum::<u64>();
    if packets < WORTH {
        return Err("too few events per synchronisation window");
    }
    why_not_cut(config, traffics).map_or(Ok(of), Err)
}

/// Whether a sender of a traffic's scheme has a timer or shared state from its creation on.
fn acts_by_itself(traffic: &TrafficConfig) -> bool {
    let path = PathInfo::new(Rate::from_gbps(10), Time::from_us(10), 1000, 1040);
    let mut scheme = traffic.scheme.build();
    scheme.sharing() != Sharing::Nothing || scheme.open(0, &path, Time::ZERO).control.wake_at != Time::NEVER
}

/// How far partitions may run ahead of each other: the delay of the shortest link between two of them. `None` without
/// such a link.
pub fn lookahead(graph: &Graph, of: &[u16]) -> Option<Time> {
    let between = graph.links.iter().filter(|link| of[link.a.ix()] != of[link.b.ix()]);
    between.map(|link| link.delay).min()
}
