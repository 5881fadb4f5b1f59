//! Mutates files: bytes, words and numbers of valid ones, and random noise.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Most bytes of an input.
const MAX_BYTES: usize = 1 << 16;

/// Words that readers may mishandle.
const WORDS: &[&[u8]] = &[
    b"",
    b"0",
    b"1",
    b"-1",
    b"+",
    b".",
    b"00000000000000000001",
    b"127",
    b"128",
    b"255",
    b"256",
    b"257",
    b"65535",
    b"65536",
    b"2147483648",
    b"4294967295",
    b"4294967296",
    b"4000000000",
    b"9223372036854775808",
    b"18446744073709551615",
    b"18446744073709551616",
    b"99999999999999999999999999",
    b"1e308",
    b"1e400",
    b"-0.0",
    b"1e-320",
    b"0.1",
    b"nan",
    b"inf",
    b"0x10",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\0",
    b"\r",
    b"\x0b",
    b"#",
    b"{",
    b"}",
    b"//",
    b"->",
    b"\"",
    b"999999999999999999Gbps",
    b"0Gbps",
    b"9e18s",
];

/// Numbers that binary readers may mishandle.
const NUMBERS: &[u64] = &[0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 63, u64::MAX];

/// Makes inputs; the same ones for the same seed.
#[derive(Debug)]
pub struct Mutator(Xoshiro256PlusPlus);

impl Mutator {
    /// A stream of inputs.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        // Bias does no harm here.
        (self.0.next_u64() % n.max(1) as u64) as usize
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One input with a few mutations; words and endings come from `seeds`.
    pub fn input_of(&mut self, good: &[u8], seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut input = good.to_vec();
        for _ in 0..1 + self.below(4) {
            self.breaks(&mut input, seeds);
        }
        input.truncate(MAX_BYTES);
        input
    }

    /// An input: mostly one of `seeds` with a few mutations.
    pub fn input(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut input = match self.below(20) {
            0 => self.noise(),
            1 => self.words(seeds),
            _ if seeds.is_empty() => self.noise(),
            _ => seeds[self.below(seeds.len())].clone(),
        };
        for _ in 0..1 + self.below(4) {
            self.breaks(&mut input, seeds);
        }
        input.truncate(MAX_BYTES);
        input
    }

    fn noise(&mut self) -> Vec<u8> {
        let length = self.below(300);
        (0..length).map(|_| self.0.next_u64() as u8).collect()
    }

    /// Words of the seeds and odd ones in any order.
    fn words(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut input = Vec::new();
        for _ in 0..self.below(60) {
            let word = self.word(seeds);
            input.extend(word);
            input.push(b" \n\t\r "[self.below(5)]);
        }
        input
    }

    fn word(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        if seeds.is_empty() || self.below(2) == 0 {
            return WORDS[self.below(WORDS.len())].to_vec();
        }
        let seed = &seeds[self.below(seeds.len())];
        let (from, to) = self.word_of(seed);
        seed[from..to].to_vec()
    }

    /// Where some word of a text begins and ends.
    fn word_of(&mut self, text: &[u8]) -> (usize, usize) {
        let at = self.below(text.len());
        let from = text[..at].iter().rposition(u8::is_ascii_whitespace).map_or(0, |before| before + 1);
        let to = text[at..].iter().position(u8::is_ascii_whitespace).map_or(text.len(), |after| at + after);
        (from, to)
    }

    fn range(&mut self, length: usize) -> (usize, usize) {
        let from = self.below(length);
        let most = if self.below(4) == 0 { length - from } else { (length - from).min(16) };
        (from, from + self.below(most + 1))
    }

    fn breaks(&mut self, input: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        if input.is_empty() {
            *input = self.noise();
            return;
        }
        let at = self.below(input.len());
        match self.below(10) {
            0 => input[at] ^= 1 << self.below(8),
            1 => input[at] = self.0.next_u64() as u8,
            2 => input.truncate(at),
            3 => {
                let (from, to) = self.range(input.len());
                input.drain(from..to);
            }
            4 => {
                let (from, to) = self.range(input.len());
                let again = input[from..to].to_vec();
                input.splice(at..at, again);
            }
            5 => {
                // A number of a binary file or, in network byte order, of a header.
                let number = NUMBERS[self.below(NUMBERS.len())];
                let width = [1, 2, 4, 8][self.below(4)].min(input.len() - at);
                let (little, big) = (number.to_le_bytes(), number.to_be_bytes());
                let bytes = if self.one_in(2) { &little[..width] } else { &big[8 - width..] };
                input[at..at + width].copy_from_slice(bytes);
            }
            6 => {
                let line = input.iter().position(|b| *b == b'\n').map_or(input.len(), |end| end + 1);
                let first = input[..line].to_vec();
                input.splice(at..at, first);
            }
            7 => {
                // The end of another good file.
                if let Some(other) = seeds.get(self.below(seeds.len())) {
                    input.truncate(at);
                    input.extend(&other[self.below(other.len() + 1)..]);
                }
            }
            _ => {
                let (from, to) = self.word_of(input);
                let word = self.word(seeds);
                input.splice(from..to, word);
            }
        }
    }
}
