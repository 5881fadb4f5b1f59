//! Routes of networks in tiers, without a search: to a host that is not below it a switch sends by any link upwards.

use super::ecmp::{EcmpGroups, HERE, NONE};
use super::ports::{Links, Out};
use crate::topology::UpDown;
use fanin_units::{PortId, Rate, Time};
use std::collections::BTreeMap;

/// The routes of a network in tiers whose hosts have a link each, all of a tier with equal round-trip times.
pub(super) struct Tiers<'a> {
    links: Links<'a>,
    out: &'a Out,
    shape: UpDown,
    /// By row: the group of the links upwards.
    pub upwards: Vec<u32>,
    /// Row of each switch.
    row_of: Vec<u32>,
    /// The ports of each node to the tier above, per node a range.
    up: Vec<PortId>,
    up_of: Vec<(u32, u32)>,
    /// Contribution to a round-trip time of the links above each tier.
    costs: Vec<Time>,
    rate: Rate,
    /// By node: the last target that it is above, and the port that leads down to it; [`NONE`] if there are several.
    seen: Vec<(u32, u32)>,
    /// The switches above a target, tier by tier, and ports down where several lead to it.
    above: Vec<u32>,
    several: Vec<(u32, PortId)>,
    known: BTreeMap<Vec<PortId>, u32>,
    /// See [`super::search::Search`].
    pub farthest: (Time, u64),
}

impl<'a> Tiers<'a> {
    /// Of a network that is like this.
    pub fn of(
        links: Links<'a>,
        out: &'a Out,
        has_row: &[u32],
        sizes: (u32, u32),
        ecmp: &mut EcmpGroups,
    ) -> Option<Self> {
        let hosts = links.hosts();
        if (0..hosts).any(|host| out.of(host).len() != 1) {
            return None;
        }
        let shape = UpDown::of(links.whole()?)?;
        let mut costs: Vec<Option<Time>> = Vec::new();
        let mut rate = None;
        for port in out.all() {
            let (level, peer) = (shape.levels[links.node(*port).ix()], shape.levels[links.peer(*port).ix()]);
            if level > peer {
                continue;
            }
            costs.resize(costs.len().max(level as usize + 1), None);
            let cost = links.round_trip(*port, sizes);
            let alike = *costs[level as usize].get_or_insert(cost) == cost;
            if !alike || level == 0 && *rate.get_or_insert(links.rate(*port)) != links.rate(*port) {
                return None;
            }
        }
        let mut row_of = vec![u32::MAX; links.nodes() as usize];
        (0..).zip(has_row).for_each(|(row, node)| row_of[*node as usize] = row);
        let (mut up, mut up_of) = (Vec::with_capacity(links.ports() as usize / 2), Vec::new());
        for node in 0..links.nodes() {
            let (start, level) = (up.len() as u32, shape.levels[node as usize]);
            up.extend(out.of(node).iter().filter(|port| shape.levels[links.peer(**port).ix()] > level));
            up_of.push((start, up.len() as u32));
        }
        let mut tiers = Self {
            links,
            out,
            shape,
            upwards: Vec::new(),
            row_of,
            up,
            up_of,
            costs: costs.into_iter().flatten().collect(),
            rate: rate?,
            seen: vec![(u32::MAX, NONE); links.nodes() as usize],
            above: Vec::new(),
            several: Vec::new(),
            known: BTreeMap::new(),
            farthest: (Time::ZERO, 0),
        };
        let Self { up, up_of, known, .. } = &mut tiers;
        let upwards = has_row.iter().map(|node| group(known, up_in(up, up_of, *node), ecmp));
        tiers.upwards = upwards.collect();
        Some(tiers)
    }

    /// Writes the routes to a target into a column in which all switches send upwards, and calls `touched` with the
    /// rows of those that do not.
    pub fn column(&mut self, target: u32, ecmp: &mut EcmpGroups, column: &mut [u32], mut touched: impl FnMut(usize)) {
        let rack = self.links.peer(self.out.of(target)[0]).0;
        self.reaches(rack);
        self.above.clear();
        self.above.push(rack);
        let row = self.row_of[rack as usize] as usize;
        column[row] = HERE;
        touched(row);
        let mut begin = 0;
        while begin < self.above.len() {
            let end = self.above.len();
            self.several.clear();
            for at in begin..end {
                for port in up_in(&self.up, &self.up_of, self.above[at]) {
                    let up = self.links.peer(*port).0;
                    let (seen, down) = &mut self.seen[up as usize];
                    if *seen != target {
                        (*seen, *down) = (target, port.reverse().0);
                        self.above.push(up);
                        continue;
                    }
                    if *down != NONE {
                        self.several.push((up, PortId(*down)));
                        *down = NONE;
                    }
                    self.several.push((up, port.reverse()));
                }
            }
            self.several.sort_unstable();
            for &up in &self.above[end..] {
                let row = self.row_of[up as usize] as usize;
                column[row] = self.seen[up as usize].1;
                touched(row);
            }
            for of_one in self.several.chunk_by(|a, b| a.0 == b.0) {
                let ports: Vec<PortId> = of_one.iter().map(|(_, port)| *port).collect();
                column[self.row_of[of_one[0].0 as usize] as usize] = group(&mut self.known, &ports, ecmp);
            }
            begin = end;
        }
    }

    /// Notes how far a host of a rack is from the farthest one: they meet at the lowest switch that has all racks below
    /// it that any switch above has.
    fn reaches(&mut self, rack: u32) {
        let (mut at, mut way, mut farthest) = (rack, self.costs[0] + self.costs[0], None);
        let up = |node| up_in(&self.up, &self.up_of, node);
        let hosts = self.out.of(rack).len() - up(rack).len();
        if hosts > 1 {
            farthest = Some(way);
        }
        while let Some(port) = up(at).first() {
            let cost = self.costs[self.shape.levels[at as usize] as usize];
            let next = self.links.peer(*port).0;
            way = way + cost + cost;
            if self.shape.racks_below[next as usize] > self.shape.racks_below[at as usize] {
                farthest = Some(way);
            }
            at = next;
        }
        if let Some(rtt) = farthest {
            self.farthest = (self.farthest.0.max(rtt), self.farthest.1.max(self.rate.bytes_in(rtt)));
        }
    }
}

/// The ports of a node to the tier above, of those of all nodes.
fn up_in<'u>(up: &'u [PortId], up_of: &[(u32, u32)], node: u32) -> &'u [PortId] {
    let (start, end) = up_of[node as usize];
    &up[start as usize..end as usize]
}

/// The group of next hops.
fn group(known: &mut BTreeMap<Vec<PortId>, u32>, ports: &[PortId], ecmp: &mut EcmpGroups) -> u32 {
    match *ports {
        [] => NONE,
        [only] => only.0,
        _ => match known.get(ports) {
            Some(group) => *group,
            None => {
                let group = ecmp.add(ports);
                known.insert(ports.to_vec(), group);
                group
            }
        },
    }
}
