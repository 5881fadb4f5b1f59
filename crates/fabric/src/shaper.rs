//! Shapers: a class may send at most a share of each link's rate, and its queue has a limit of its own.
//!
//! The bucket of a class at a port fills with tokens at the class's rate up to its burst, and a packet leaves when the
//! bucket has tokens for all its bytes. It is kept as the time at which it is full: a packet of `s` bytes moves that
//! time by `s` at the rate, and the next one may leave once the tokens still missing leave it enough. While the first
//! packet of its queue has to wait, the class does not count as waiting at its port, and an event lets it count again.
//! So ports have nothing to do for it per packet of other classes.

use crate::config::NetworkConfig;
use crate::port::{Port, PortIx};
use fanin_endpoint::shaper::Bucket;

/// The shapers of all ports of a partition.
pub(crate) struct Shapers {
    /// Bit c: class c has one.
    pub classes: u8,
    /// By port, one per such class.
    rows: Vec<Bucket>,
}

impl Shapers {
    /// Those of a network's ports.
    pub fn new(config: &NetworkConfig, ports: &[Port]) -> Self {
        let row = |port: &Port| {
            let rate = port.rate;
            config.classes.iter().filter_map(move |class| Some(Bucket::new(rate, class.shaper?)))
        };
        Self {
            classes: config.classes_with(|class| class.shaper.is_some()),
            rows: ports.iter().flat_map(row).collect(),
        }
    }

    /// Whether a class has one.
    #[inline(always)]
    pub fn has(&self, class: u8) -> bool {
        self.classes & 1 << class != 0
    }

    /// That of a class that has one.
    pub fn of(&mut self, out: PortIx, class: u8) -> &mut Bucket {
        let before = (self.classes & ((1 << class) - 1)).count_ones();
        &mut self.rows[out.ix() * self.classes.count_ones() as usize + before as usize]
    }
}
