//! How often sampled queues had which length.

use fanin_record::{Bin, Histogram};

/// Bytes of a bin.
const BIN: u64 = 1000;

/// Samples by length: the first are those of an empty queue, then those of up to 1 KB, and so on.
#[derive(Debug, Default)]
pub struct QueueCounts(Vec<u64>);

impl QueueCounts {
    /// Counts `times` samples of a queue with so many bytes.
    pub fn add(&mut self, queue_bytes: u64, times: u64) {
        let bin = queue_bytes.div_ceil(BIN) as usize;
        if self.0.len() <= bin {
            self.0.resize(bin + 1, 0);
        }
        self.0[bin] += times;
    }

    /// The histogram of the queues at a place, as the spec names it.
    pub fn histogram(&self, place: &str) -> Histogram {
        // Values are whole bytes: (0, 1000] is [1, 1001).
        let bounds = |bin: u64| if bin == 0 { (0, 1) } else { ((bin - 1) * BIN + 1, bin * BIN + 1) };
        let counted = (0..).zip(&self.0).filter(|(_, count)| **count > 0);
        let bin = |(bin, &count): (u64, &u64)| {
            let (lower, upper) = bounds(bin);
            Bin { lower, upper, count }
        };
        Histogram { what: "queue".into(), place: place.into(), bins: counted.map(bin).collect() }
    }
}
