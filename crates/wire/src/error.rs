//! Errors in bytes, and helpers to take headers from and put them into buffers.

use core::fmt;

/// Why bytes are not the expected header or packet, or why one cannot be written. Its message includes the correction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WireError {
    /// The input ends inside this header.
    Truncated {
        /// The truncated header.
        header: &'static str,
        /// Number of missing bytes.
        missing: usize,
    },
    /// The output buffer ends inside this header.
    NoRoom {
        /// The header that does not fit.
        header: &'static str,
        /// Number of bytes by which the buffer is too short.
        missing: usize,
    },
    /// A field has an impossible value.
    Field {
        /// The header it belongs to.
        header: &'static str,
        /// Its name.
        field: &'static str,
        /// Its value.
        found: u64,
        /// The correction.
        expected: &'static str,
    },
    /// A checksum does not match the bytes that it covers.
    Checksum {
        /// Its name.
        header: &'static str,
        /// The value in the input.
        found: u32,
        /// The value computed from the bytes.
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

/// Writes a header to the front of the buffer and returns its length.
pub(crate) fn put<const N: usize>(header: &'static str, buffer: &mut [u8], bytes: [u8; N]) -> Result<usize, WireError> {
    let missing = N.saturating_sub(buffer.len());
    *buffer.first_chunk_mut().ok_or(WireError::NoRoom { header, missing })? = bytes;
    Ok(N)
}

/// The error of a field with an impossible value.
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
