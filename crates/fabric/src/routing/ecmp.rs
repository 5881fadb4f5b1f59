//! Groups of equal-cost next hops.

use fanin_units::PortId;

/// Result of the search: no path.
pub(super) const NONE: u32 = u32::MAX;
/// Result of the search: the host is adjacent.
pub(super) const HERE: u32 = u32::MAX - 1;

/// Equal-cost next hops: of `members`, the `n` from `start` on; to an adjacent host, `each` for every host of its
/// group, in order.
#[derive(Clone, Copy)]
pub(super) struct EcmpGroup {
    pub start: u32,
    pub n: u32,
    pub each: u32,
}

/// All groups, by number: first each port alone, then no path, then all others.
pub(super) struct EcmpGroups {
    pub groups: Vec<EcmpGroup>,
    pub members: Vec<PortId>,
}

impl EcmpGroups {
    /// Each port alone, and no path.
    pub fn of_ports(ports: u32) -> Self {
        Self {
            groups: (0..=ports).map(|port| EcmpGroup { start: port, n: 1, each: 0 }).collect(),
            members: (0..ports).map(PortId).chain([PortId::NONE]).collect(),
        }
    }

    /// The members of a group.
    pub fn members(&self, group: u32) -> Option<&[PortId]> {
        let group = self.groups.get(group as usize)?;
        Some(&self.members[group.start as usize..][..group.n as usize])
    }

    /// Adds a group. Returns its number.
    pub fn add(&mut self, members: &[PortId]) -> u32 {
        let start = self.members.len() as u32;
        self.members.extend_from_slice(members);
        self.groups.push(EcmpGroup { start, n: members.len() as u32, each: 0 });
        self.groups.len() as u32 - 1
    }
}
