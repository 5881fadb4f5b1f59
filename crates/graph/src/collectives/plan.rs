//! What an algorithm makes: the messages of a collective and who waits for whom.

/// What an algorithm needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape<'a> {
    /// How many ranks there are.
    pub ranks: u32,
    /// Bytes by nccl-tests' counting: the vector of an all-reduce, a broadcast or a reduce-scatter, the result of an
    /// all-gather, what each rank has for the others and itself in an all-to-all.
    pub bytes: u64,
    /// Ranks of a server, for hierarchical algorithms and for the order of channels.
    pub server: Option<u32>,
    /// Peers to which a place sends at once in a direct exchange; none is no limit.
    pub window: Option<u32>,
    /// Bytes of an all-to-all from each place to each, row by row, if they are not blocks of `bytes`.
    pub sizes: Option<&'a [u64]>,
}

impl Shape<'_> {
    /// Bytes that a place has for another one in an all-to-all.
    pub(super) fn pair(&self, from: u32, to: u32) -> u64 {
        match self.sizes {
            Some(sizes) => sizes[from as usize * self.ranks as usize + to as usize],
            None => block(self.bytes, to.into(), self.ranks.into()),
        }
    }
}

/// A message between two places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The place that sends it.
    pub from: u32,
    /// The place that receives it.
    pub to: u32,
    /// Its size.
    pub bytes: u64,
    /// Where its waits end in those of the plan; they begin where those of the one before end.
    waits: u32,
}

/// The messages of a collective. A place sends what is ready at once in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// In an order in which each comes after those that it waits for.
    pub transfers: Vec<Transfer>,
    waits: Vec<u32>,
}

impl Plan {
    /// Adds a message that waits for others, and returns its number.
    pub(super) fn send(&mut self, (from, to): (u32, u32), bytes: u64, after: impl IntoIterator<Item = u32>) -> u32 {
        self.waits.extend(after);
        self.transfers.push(Transfer { from, to, bytes, waits: self.waits.len() as u32 });
        self.transfers.len() as u32 - 1
    }

    /// Waits of all its messages.
    pub(super) fn waits(&self) -> usize {
        self.waits.len()
    }

    /// The transfers that must have arrived at the place that sends this one.
    pub fn after(&self, number: usize) -> &[u32] {
        let begin = number.checked_sub(1).map_or(0, |before| self.transfers[before].waits);
        &self.waits[begin as usize..self.transfers[number].waits as usize]
    }
}

/// Bytes of a block of a vector in n blocks.
pub(super) fn block(bytes: u64, number: u64, blocks: u64) -> u64 {
    let edge = |number: u64| (u128::from(bytes) * u128::from(number) / u128::from(blocks)) as u64;
    edge(number + 1) - edge(number)
}
