//! The state of a switch's port: packets with payload and headers wait apart.
//!
//! Source: uet-htsim's composite queue.

use std::collections::VecDeque;

use crate::random::LARGEST;

/// Which of its two queues a port serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Serving {
    #[default]
    Nothing,
    Payload,
    Headers,
}

/// Headers in a row after which one packet with payload is served.
const HEADERS_IN_A_ROW: u32 = 100_000;

/// What a port counts, or the queue of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Packets marked.
    pub marked: u64,
    /// Packets cut to their headers.
    pub trimmed: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Most bytes of packets with payload that waited.
    pub peak: u64,
}

/// A packet that waits, with its bytes, so that the packet itself is not read.
#[derive(Clone, Copy)]
pub(crate) struct Waiting {
    pub(crate) packet: u32,
    pub(crate) size: u32,
}

/// A port, in three cache lines. Bytes include the packet in service.
#[derive(Default)]
#[repr(align(64))]
pub struct Port {
    pub(crate) low: VecDeque<Waiting>,
    pub(crate) high: VecDeque<Waiting>,
    pub(crate) low_bytes: u64,
    pub(crate) high_bytes: u64,
    pub(crate) serving: Serving,
    pub(crate) row: u32,
    pub(crate) limit: u64,
    pub(crate) mark_from: u64,
    pub(crate) mark_above: u64,
    pub(crate) ps_per_byte: u64,
    pub(crate) last_hop: bool,
    pub(crate) counts: Counts,
}

const _: () = assert!(size_of::<Port>() == 192);

impl Port {
    /// A port of a size. Without thresholds of marks it marks nothing. `last_hop` tells that a host is behind it.
    pub fn new(limit: u64, marks: Option<(u64, u64)>, ps_per_byte: u64, last_hop: bool) -> Self {
        let (mark_from, mark_above) = marks.unwrap_or((2 * limit, 2 * limit));
        Self { limit, mark_from, mark_above, ps_per_byte, last_hop, ..Self::default() }
    }

    /// Bytes of payload packets, and of headers.
    pub fn bytes(&self) -> (u64, u64) {
        (self.low_bytes, self.high_bytes)
    }

    pub(crate) fn choose(&mut self) {
        self.serving = match (self.low.is_empty(), self.high.is_empty()) {
            (true, true) => Serving::Nothing,
            (true, false) => Serving::Headers,
            (false, true) => Serving::Payload,
            (false, false) => {
                self.row += 1;
                if self.row > HEADERS_IN_A_ROW {
                    self.row = 0;
                }
                if self.row < HEADERS_IN_A_ROW { Serving::Headers } else { Serving::Payload }
            }
        };
    }
}

/// The bound below which a random number marks.
pub(crate) fn chance(over: u64, range: u64) -> u32 {
    (u128::from(LARGEST) * u128::from(over) / u128::from(range)) as u32
}
