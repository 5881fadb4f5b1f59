//! The one stream of random numbers of a run.
//!
//! Source: uet-htsim replaces the C library's generators by C++'s `mt19937`, and uses the lower 31 bits of each output.

const WORDS: usize = 624;

/// The largest number that is drawn.
pub const LARGEST: u32 = 0x7FFF_FFFF;

/// The generator, which can keep what was drawn for an event log.
pub struct Random {
    state: [u32; WORDS],
    next: usize,
    /// What was drawn since the log last took it; `None` without a log.
    pub drawn: Option<Vec<u32>>,
}

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u32, logged: bool) -> Self {
        let mut state = [seed; WORDS];
        for i in 1..WORDS {
            let last = state[i - 1];
            state[i] = 1_812_433_253u32.wrapping_mul(last ^ (last >> 30)).wrapping_add(i as u32);
        }
        Self { state, next: WORDS, drawn: logged.then(Vec::new) }
    }

    fn refill(&mut self) {
        for i in 0..WORDS {
            let both = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % WORDS] & LARGEST);
            let odd = if both & 1 == 1 { 0x9908_B0DF } else { 0 };
            self.state[i] = self.state[(i + 397) % WORDS] ^ (both >> 1) ^ odd;
        }
        self.next = 0;
    }

    /// The next number, from 0 to [`LARGEST`].
    pub fn draw(&mut self) -> u32 {
        if self.next == WORDS {
            self.refill();
        }
        let mut x = self.state[self.next];
        self.next += 1;
        x ^= x >> 11;
        x ^= (x << 7) & 0x9D2C_5680;
        x ^= (x << 15) & 0xEFC6_0000;
        x ^= x >> 18;
        let drawn = x & LARGEST;
        if let Some(kept) = &mut self.drawn {
            kept.push(drawn);
        }
        drawn
    }

    /// The next number as a fraction from 0 to 1, both included.
    pub fn fraction(&mut self) -> f64 {
        f64::from(self.draw()) / f64::from(LARGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_seed_begins_as_published() {
        let mut random = Random::new(13, false);
        let first: Vec<u32> = (0..4).map(|_| random.draw()).collect();
        assert_eq!(first, [1_192_722_770, 461_027_504, 1_020_231_754, 1_543_757_328]);
    }
}
