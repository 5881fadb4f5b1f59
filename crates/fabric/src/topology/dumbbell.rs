//! Dumbbell.

use super::draft::{Draft, at_least, total};
use super::{Cable, Graph, TopologyError};

/// Two switches, "left" and "right", joined by one bottleneck. The left hosts have the first numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dumbbell {
    /// Number of hosts on the left, at least 1.
    pub left: u32,
    /// Number of hosts on the right, at least 1.
    pub right: u32,
    /// Host to its switch.
    pub host_link: Cable,
    /// Left to right switch.
    pub bottleneck: Cable,
}

impl Dumbbell {
    /// The network, or the invalid parameter.
    pub fn build(&self) -> Result<Graph, TopologyError> {
        at_least(1, "left", self.left)?;
        at_least(1, "right", self.right)?;
        self.host_link.check("host_link")?;
        self.bottleneck.check("bottleneck")?;
        let hosts = total(&[self.left.into(), self.right.into()]);
        let mut draft = Draft::new("left, right", hosts, 2, hosts + 1)?;
        let left = draft.switch("left");
        let right = draft.switch("right");
        for host in 0..self.left {
            draft.link(host, left, self.host_link);
        }
        for host in self.left..self.left + self.right {
            draft.link(host, right, self.host_link);
        }
        draft.link(left, right, self.bottleneck);
        Ok(draft.finish())
    }
}
