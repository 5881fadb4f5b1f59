//! The ECMP hash.

/// MurmurHash3, 32 bits, of three words.
pub fn murmur3(words: [u32; 3], seed: u32) -> u32 {
    let mut h = words.into_iter().fold(seed, |h, word| {
        let k = word.wrapping_mul(0xCC9E_2D51).rotate_left(15).wrapping_mul(0x1B87_3593);
        (h ^ k).rotate_left(13).wrapping_mul(5).wrapping_add(0xE654_6B64)
    });
    h ^= 12;
    h = (h ^ h >> 16).wrapping_mul(0x85EB_CA6B);
    h = (h ^ h >> 13).wrapping_mul(0xC2B2_AE35);
    h ^ h >> 16
}

/// The address of a host.
pub const fn address(host: u32) -> u32 {
    0x0B00_0001 + (host / 256) * 0x1_0000 + (host % 256) * 0x100
}

/// The hashed fields of a packet: its own addresses and ports.
pub const fn tuple(src: u32, dst: u32, sport: u16, dport: u16) -> [u32; 3] {
    [address(src), address(dst), sport as u32 | (dport as u32) << 16]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_hashes() {
        let key = tuple(1, 262, 10000, 1);
        assert_eq!((murmur3(key, 320), murmur3(key, 340)), (648_528_267, 3_424_858_948));
        assert_eq!(address(262), 0x0B01_0601);
    }
}
