//! SipHash-2-4 (Aumasson and Bernstein, INDOCRYPT 2012): a short keyed hash, here of datagrams.

/// A key.
pub type Key = [u64; 2];

/// The four words of its state.
struct State([u64; 4]);

impl State {
    fn new(key: Key) -> Self {
        let [a, b] = key;
        Self([
            a ^ 0x736f_6d65_7073_6575,
            b ^ 0x646f_7261_6e64_6f6d,
            a ^ 0x6c79_6765_6e65_7261,
            b ^ 0x7465_6462_7974_6573,
        ])
    }

    fn round(&mut self) {
        let [mut a, mut b, mut c, mut d] = self.0;
        a = a.wrapping_add(b);
        b = b.rotate_left(13) ^ a;
        a = a.rotate_left(32);
        c = c.wrapping_add(d);
        d = d.rotate_left(16) ^ c;
        a = a.wrapping_add(d);
        d = d.rotate_left(21) ^ a;
        c = c.wrapping_add(b);
        b = b.rotate_left(17) ^ c;
        c = c.rotate_left(32);
        self.0 = [a, b, c, d];
    }

    fn add(&mut self, word: u64) {
        self.0[3] ^= word;
        self.round();
        self.round();
        self.0[0] ^= word;
    }

    fn finish(mut self) -> u64 {
        self.0[2] ^= 0xFF;
        for _ in 0..4 {
            self.round();
        }
        self.0.iter().fold(0, |all, word| all ^ word)
    }
}

/// The hash of `head`, whose length is a multiple of 8, followed by `rest`.
pub fn hash(key: Key, head: &[u8], rest: &[u8]) -> u64 {
    let mut state = State::new(key);
    let (words, none) = head.as_chunks::<8>();
    debug_assert!(none.is_empty(), "the first part has whole words");
    let (more, last) = rest.as_chunks::<8>();
    words.iter().chain(more).for_each(|word| state.add(u64::from_le_bytes(*word)));
    let len = ((head.len() + rest.len()) as u64) << 56;
    state.add(last.iter().zip(0..).fold(len, |word, (byte, at)| word | u64::from(*byte) << (8 * at)));
    state.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_paper_is_met_however_it_is_cut() {
        // Appendix A: key and message are the bytes from 0.
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        let message: Vec<u8> = (0..15).collect();
        assert_eq!(hash(key, &[], &message), 0xa129_ca61_49be_45e5);
        assert_eq!(hash(key, &message[..8], &message[8..]), 0xa129_ca61_49be_45e5);
    }
}
