//! What can be wrong with bytes, and the two ways that headers get at them.

use core::fmt;

/// Why bytes are not the header or packet they should be, or why one cannot be written. Its display says what would be
/// right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WireError {
    /// The input ends inside this header.
    Truncated {
        /// The header that is cut.
        header: &'static str,
        /// How many of its bytes are not there.
        missing: usize,
    },
    /// The output buffer ends inside this header.
    NoRoom {
        /// The header that does not fit.
        header: &'static str,
        /// How many bytes longer the buffer should be.
        missing: usize,
    },
    /// A field has a value that it cannot have.
    Field {
        /// The header it belongs to.
        header: &'static str,
        /// Its name.
        field: &'static str,
        /// Its value.
        found: u64,
        /// What would be right.
        expected: &'static str,
    },
    /// A checksum is not that of the bytes it covers.
    Checksum {
        /// Which one.
        header: &'static str,
        /// As it is in the input.
        found: u32,
        /// As the bytes have it.
        computed: u32,
    },
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Truncated { header, missing } => write!(f, "{header}: the input ends {missing} B too early"),
            Self::NoRoom { header, missing } => write!(f, "{header}: the output buffer is {missing} B too short"),
            Self::Field { header, field, found, expected } => {
                write!(f, "{header}: {field} is {found} ({found:#x}); it must be {expected}")
            }
            Self::Checksum { header, found, computed } => {
                write!(f, "{header}: the checksum is {found:#x}, but that of the bytes is {computed:#x}")
            }
        }
    }
}
impl core::error::Error for WireError {}

/// The first `N` bytes, and the rest.
pub(crate) fn take<'a, const N: usize>(
    header: &'static str,
    bytes: &'a [u8],
) -> Result<(&'a [u8; N], &'a [u8]), WireError> {
    bytes.split_first_chunk().ok_or(WireError::Truncated { header, missing: N.saturating_sub(bytes.len()) })
}

/// The first `len` bytes, and the rest.
pub(crate) fn take_slice<'a>(
    header: &'static str,
    bytes: &'a [u8],
    len: usize,
) -> Result<(&'a [u8], &'a [u8]), WireError> {
    bytes.split_at_checked(len).ok_or(WireError::Truncated { header, missing: len.saturating_sub(bytes.len()) })
}

/// Writes a header to the front of the buffer and says how long it is.
pub(crate) fn put<const N: usize>(header: &'static str, buffer: &mut [u8], bytes: [u8; N]) -> Result<usize, WireError> {
    let missing = N.saturating_sub(buffer.len());
    *buffer.first_chunk_mut().ok_or(WireError::NoRoom { header, missing })? = bytes;
    Ok(N)
}

/// The error of a field that cannot have this value.
pub(crate) fn wrong(
    header: &'static str,
    field: &'static str,
    found: impl Into<u64>,
    expected: &'static str,
) -> WireError {
    let found = found.into();
    WireError::Field { header, field, found, expected }
}

/// That error, unless `right`.
pub(crate) fn require(
    right: bool,
    header: &'static str,
    field: &'static str,
    found: impl Into<u64>,
    expected: &'static str,
) -> Result<(), WireError> {
    if right { Ok(()) } else { Err(wrong(header, field, found, expected)) }
}
