//! Priority flow control (IEEE 802.1Qbb; the frame is in IEEE 802.3, Annex 31D).

use crate::error::{WireError, put, require, take};
use crate::ethernet::Mac;

/// Destination address of every flow control frame. Bridges do not forward it, so it reaches the other end of the link
/// and no one else.
pub const PFC_ADDRESS: Mac = [0x01, 0x80, 0xC2, 0x00, 0x00, 0x01];

/// MAC control opcode of priority flow control (0x0001 is the older PAUSE of the whole link).
const OPCODE: u16 = 0x0101;

/// A priority flow control frame after its Ethernet header.
///
/// | byte | field |
/// |---|---|
/// | 0-1 | opcode 0x0101 |
/// | 2-3 | class-enable vector: bit i (from the lowest) tells whether quanta i count; high byte 0 |
/// | 4-19 | quanta of classes 0 to 7, 2 bytes each |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pfc {
    /// Per class: `Some(0)` is RESUME, `Some(n)` is PAUSE for n quanta, `None` leaves the class as it is.
    pub quanta: [Option<u16>; 8],
}

impl Pfc {
    /// Bytes of opcode, vector and quanta.
    pub const LEN: usize = 20;

    /// Writes opcode, vector and quanta to the front of `buffer` and returns their length. Quanta of classes that are
    /// not enabled are 0.
    ///
    /// # Errors
    /// [`WireError::NoRoom`].
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let mut bytes = [0; Self::LEN];
        [bytes[0], bytes[1]] = OPCODE.to_be_bytes();
        let (head, fields) = bytes.split_at_mut(4);
        for (class, (quanta, field)) in self.quanta.iter().zip(fields.chunks_exact_mut(2)).enumerate() {
            if let Some(quanta) = quanta {
                head[3] |= 1 << class;
                field.copy_from_slice(&quanta.to_be_bytes());
            }
        }
        put("PFC", buffer, bytes)
    }

    /// Reads opcode, vector and quanta from the front of `bytes`; also returns the bytes after them. The high byte of
    /// the vector and the quanta of classes that are not enabled are ignored.
    ///
    /// # Errors
    /// [`WireError::Truncated`]; [`WireError::Field`] for another opcode.
    pub fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (raw, rest) = take::<{ Self::LEN }>("PFC", bytes)?;
        let opcode = u16::from_be_bytes([raw[0], raw[1]]);
        require(opcode == OPCODE, "PFC", "opcode", opcode, "0x101")?;
        let quanta = core::array::from_fn(|class| {
            let enabled = raw[3] >> class & 1 == 1;
            enabled.then(|| u16::from_be_bytes([raw[4 + 2 * class], raw[5 + 2 * class]]))
        });
        Ok((Self { quanta }, rest))
    }
}
