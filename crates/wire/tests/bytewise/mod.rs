//! CRC-32 one byte at a time, against which tests and the benchmark compare.

/// The effect of one byte on a CRC.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// The CRC of these bytes.
pub fn crc32(bytes: &[u8]) -> u32 {
    let add = |crc: u32, byte: &u8| TABLE[((crc as u8) ^ byte) as usize] ^ (crc >> 8);
    !bytes.iter().fold(u32::MAX, add)
}
