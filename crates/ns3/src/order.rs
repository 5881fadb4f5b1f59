//! The order in which that simulator iterates over a host's flows when it moves them to other devices: that of a hash
//! map of the C++ library with which it was built.
//!
//! Elements are in one linked list; a bucket points at the element before its first one. A new element goes to the
//! front of its bucket, or of the whole list if the bucket is empty. When there are more elements than buckets, the map
//! grows to the next prime of a table, at least twice as many, and reinserts every element in the order of the list.

/// Bucket counts it grows through, from the library's table of primes.
const PRIMES: [u64; 18] = [
    13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10273, 20753, 42043, 85229, 172_933, 351_061, 712_697, 1_447_153,
    2_938_679,
];

/// Keys in the order of the map.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// The list, first element first.
    keys: Vec<u64>,
    /// Number of times it has grown.
    grown: usize,
}

impl Order {
    fn buckets(&self) -> u64 {
        PRIMES[self.grown.max(1).min(PRIMES.len()) - 1]
    }

    /// Adds a new key.
    pub fn insert(&mut self, key: u64) {
        if self.grown == 0 {
            self.grown = 1;
        } else if self.keys.len() as u64 + 1 > self.buckets() {
            self.grown += 1;
            let old = core::mem::take(&mut self.keys);
            for key in old {
                let at = self.place(key);
                self.keys.insert(at, key);
            }
        }
        let at = self.place(key);
        self.keys.insert(at, key);
    }

    /// Position of a new key: before the first element of its bucket, or at the front.
    fn place(&self, key: u64) -> usize {
        let buckets = self.buckets();
        self.keys.iter().position(|other| other % buckets == key % buckets).unwrap_or(0)
    }

    /// Removes a key.
    pub fn remove(&mut self, key: u64) {
        if let Some(at) = self.keys.iter().position(|k| *k == key) {
            self.keys.remove(at);
        }
    }

    /// The keys, in order.
    pub fn keys(&self) -> &[u64] {
        &self.keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Insertions and removals of keys as in hosts, and the state of the library's map (g++ 12.2): after each 50 steps
    /// its size and an FNV-1a hash over its keys in order.
    #[test]
    fn the_order_is_that_of_the_library() {
        let mut seed = 12345u64;
        let mut draw = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            seed >> 33
        };
        let known = [
            (13, 17116429679128316436),
            (44, 16841073671960377407),
            (67, 15118797194324491118),
            (77, 14179636669353591252),
            (103, 3177108955577968330),
            (121, 14771418810279596296),
            (175, 8219996096087105218),
        ];
        let (mut order, mut live, mut seen) = (Order::default(), Vec::new(), Vec::new());
        for step in 0..400 {
            if live.is_empty() || draw() % 4 != 0 {
                let host = (draw() % 300, draw() % 300);
                let address = 0x0B00_0001 + (host.0 / 256) * 0x1_0000 + (host.1 % 256) * 0x100;
                let key = address << 32 | (10_000 + draw() % 5) << 16 | 3;
                if live.contains(&key) {
                    continue;
                }
                order.insert(key);
                live.push(key);
            } else {
                let at = (draw() % live.len() as u64) as usize;
                order.remove(live.swap_remove(at));
            }
            if step % 50 == 49 {
                let hash = |h: u64, key: &u64| (h ^ key).wrapping_mul(0x0000_0100_0000_01B3);
                seen.push((order.keys().len(), order.keys().iter().fold(1_469_598_103_934_665_603, hash)));
            }
        }
        assert_eq!(seen, known);
    }
}
