//! Which of equal-cost paths a packet takes.

use fanin_engine::mix;

/// Which of equal-cost paths a packet takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowPath {
    /// The key that every switch hashes with a multiplier of its own.
    pub key: u32,
    /// The source route: the result of all these hashes while routes are those of the start, so that no switch needs a
    /// look-up. The number of the port out of the first switch in the lowest bits, that out of the second above it, and
    /// so on. Or [`FlowPath::NO_ROUTE`], where they do not fit or the packet has left this path.
    pub source_route: u32,
}

impl FlowPath {
    /// No source route.
    pub const NO_ROUTE: u32 = u32::MAX;

    /// A path without a source route, which every switch looks up.
    pub const fn by_hash(key: u32) -> Self {
        Self { key, source_route: Self::NO_ROUTE }
    }
}

impl Default for FlowPath {
    fn default() -> Self {
        Self::by_hash(0)
    }
}

/// A source route under construction, port by port.
#[derive(Clone, Copy)]
pub struct SourceRoute {
    bits: u32,
    route: u64,
    /// Position of the next number; `None` before the first port, that of the host, whose number no switch needs.
    at: Option<u32>,
}

impl SourceRoute {
    /// An empty source route with `bits` bits per switch.
    pub fn new(bits: u32) -> Self {
        Self { bits, route: 0, at: None }
    }

    /// Adds the next port of the path, by its number among those of its node.
    #[inline(always)]
    pub fn add(&mut self, number: u32) {
        self.at = Some(self.at.map_or(0, |at| {
            self.route |= u64::from(number).checked_shl(at).unwrap_or(0);
            at + self.bits
        }));
    }

    /// The route, if the path is complete and fits.
    pub fn finish(self, reaches: bool) -> u32 {
        let fits = self.at.is_some_and(|at| at <= u32::BITS);
        if reaches && fits { self.route as u32 } else { FlowPath::NO_ROUTE }
    }
}

/// The hash key of one direction of a flow.
pub fn key(a: u64, b: u64) -> u32 {
    (mix(a, b) >> 32) as u32
}
