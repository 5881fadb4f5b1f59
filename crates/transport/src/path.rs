//! The path of a packet.

/// The path of a packet: the key that switches hash, and the result of all these hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The key.
    pub key: u32,
    /// The source route.
    pub route: u32,
}
