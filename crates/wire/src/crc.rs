//! CRC-32 of IEEE 802.3: polynomial 0x04C11DB7, bits reflected, all ones before and after.

/// A CRC over bytes that come in pieces.
#[derive(Clone, Copy)]
pub(crate) struct Crc32(u32);

impl Crc32 {
    pub(crate) const fn new() -> Self {
        Self(u32::MAX)
    }

    pub(crate) fn add(&mut self, byte: u8) {
        let [low, ..] = self.0.to_le_bytes();
        self.0 = TABLE[(low ^ byte) as usize] ^ (self.0 >> 8);
    }

    pub(crate) fn finish(self) -> u32 {
        !self.0
    }
}

/// The effect of one byte on a CRC.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            // 0xEDB88320 is the polynomial with its bits reflected.
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_crc_32_is_met() {
        // The value that catalogues of CRCs give for the nine digits.
        let mut crc = Crc32::new();
        b"123456789".iter().for_each(|b| crc.add(*b));
        assert_eq!(crc.finish(), 0xCBF4_3926);
        assert_eq!(Crc32::new().finish(), 0);
    }
}
