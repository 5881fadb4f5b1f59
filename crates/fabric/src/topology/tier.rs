//! The distance of nodes from hosts, and the tiers of links that follow from it.

use super::Graph;
use fanin_units::NodeId;
use std::collections::VecDeque;
use std::fmt;

/// The direction of a link relative to hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// To a node farther from hosts.
    Up,
    /// To a node nearer to hosts.
    Down,
    /// To a node at the same distance from hosts.
    Across,
}

/// The tier of one direction of a link. Its name is that of its lower end: "tor-uplink" leads from a switch with hosts
/// to one without, "tor-downlink" is the same link in the other direction, and "last-hop" is a host's link towards the
/// host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tier {
    /// Links from its lower end to the nearest host: 0 is a host, 1 a switch with hosts (ToR), 2 one above those (agg).
    pub level: u32,
    /// Its direction from there.
    pub way: Way,
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.level, self.way) {
            (0, Way::Down) => return f.write_str("last-hop"),
            (0, _) => f.write_str("host")?,
            (1, _) => f.write_str("tor")?,
            (2, _) => f.write_str("agg")?,
            (u32::MAX, _) => f.write_str("isolated")?,
            (level, _) => write!(f, "level-{level}")?,
        }
        f.write_str(match self.way {
            Way::Up => "-uplink",
            Way::Down => "-downlink",
            Way::Across => "-across",
        })
    }
}

impl Graph {
    /// Links from each node to the nearest host: 0 for hosts, 1 for switches with hosts, `u32::MAX` for a switch that
    /// no host reaches.
    pub fn levels(&self) -> Vec<u32> {
        let adjacency = self.adjacency();
        let mut levels = vec![u32::MAX; self.names.len()];
        let mut queue: VecDeque<NodeId> = (0..self.hosts).map(NodeId).collect();
        levels[..self.hosts as usize].fill(0);
        while let Some(node) = queue.pop_front() {
            for &(_, peer) in adjacency.of(node) {
                if levels[peer.ix()] == u32::MAX {
                    levels[peer.ix()] = levels[node.ix()] + 1;
                    queue.push_back(peer);
                }
            }
        }
        levels
    }

    /// The tier of each port.
    pub fn tiers(&self) -> Vec<Tier> {
        let levels = self.levels();
        let tier = |from: NodeId, to: NodeId| {
            let (from, to) = (levels[from.ix()], levels[to.ix()]);
            let way = match from.cmp(&to) {
                std::cmp::Ordering::Less => Way::Up,
                std::cmp::Ordering::Greater => Way::Down,
                std::cmp::Ordering::Equal => Way::Across,
            };
            Tier { level: from.min(to), way }
        };
        self.links.iter().flat_map(|link| [tier(link.a, link.b), tier(link.b, link.a)]).collect()
    }
}
