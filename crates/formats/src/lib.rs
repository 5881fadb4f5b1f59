//! Other simulators' files, users' tables and other tools' traces: bytes in, checked values out, and the reverse.
//!
//! Readers survive any bytes. What they cannot use is an [`Error`] with file, line and what would be right; nothing is
//! allocated on the word of a file.
#![forbid(unsafe_code)]

mod error;
pub mod hpcc;
pub mod htsim;
pub mod pcapng;
pub mod perfetto;
pub mod tables;
mod text;

pub use error::{Error, Warning};
