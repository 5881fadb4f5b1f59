//! Files of htsim (csg-htsim and its forks, such as uet-htsim): connection matrices (`.cm`) and fat trees (`.topo`).
//!
//! A line consists of words separated by white space; empty lines and text after `#` are ignored. Both readers refuse
//! errors that htsim's own reader would stop at later, or ignore silently.

mod matrix;
mod topo;

pub use matrix::{Connection, Failure, Matrix, Start, Trigger, TriggerKind};
pub use topo::{Counts, Link, Node, Tier, Topo};

use crate::Error;

/// The problem with a line and the correction.
type Wrong = String;

/// For fuzzing: any bytes are a connection matrix or an error with a place, and a matrix that was read is written as a
/// file that reads the same.
pub fn fuzz_matrix(bytes: &[u8]) {
    match Matrix::read(bytes, "f") {
        Ok(matrix) => {
            let again = Matrix::read(matrix.to_text().as_bytes(), "f").expect("what was read is written readably");
            assert_eq!(again.to_text(), matrix.to_text());
        }
        Err(error) => assert!(error.file == "f" && !error.what.is_empty()),
    }
}

/// For fuzzing: any bytes are a fat tree with consistent counts, or an error with a place.
pub fn fuzz_topo(bytes: &[u8]) {
    match Topo::read(bytes, "f") {
        Ok(topo) => {
            let counts = topo.counts();
            assert_eq!(
                u64::from(counts.pods) * u64::from(counts.tors) * u64::from(counts.hosts),
                u64::from(topo.nodes)
            );
            // A tree may be much larger than its file.
            assert!(topo.links().take(1000).all(|link| link.between[0] != link.between[1]));
        }
        Err(error) => assert!(error.file == "f" && !error.what.is_empty()),
    }
}

/// The words of each non-empty line, with its number.
fn lines<'a>(bytes: &'a [u8], file: &str) -> Result<impl Iterator<Item = (u32, Vec<&'a str>)>, Error> {
    let text = core::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() as u32;
        Error { file: file.into(), line, what: "this is not a text file; save the file as UTF-8".into() }
    })?;
    let words = |line: &'a str| line.split('#').next().unwrap_or("").split_ascii_whitespace().collect::<Vec<_>>();
    let lines = text.trim_start_matches('\u{feff}').lines().zip(1..);
    Ok(lines.map(move |(line, number)| (number, words(line))).filter(|(_, words)| !words.is_empty()))
}

/// A quoted word for a message.
fn quote(word: &str) -> String {
    let short: String = word.chars().take(40).collect();
    if short.len() < word.len() { format!("{short:?}...") } else { format!("{short:?}") }
}

/// A whole number from `min` to `max`.
fn number(name: &str, word: Option<&&str>, min: u64, max: u64) -> Result<u64, Wrong> {
    let Some(word) = word else {
        return Err(format!("{name} has no value; write a whole number after it"));
    };
    let value = word.parse().ok().filter(|value| (min..=max).contains(value));
    value.ok_or_else(|| format!("{name} {} is not possible; it is a whole number from {min} to {max}", quote(word)))
}

/// The same in 32 bits.
fn number32(name: &str, word: Option<&&str>, min: u32, max: u32) -> Result<u32, Wrong> {
    number(name, word, min.into(), max.into()).map(|value| value as u32)
}

/// The only value of a line of two words.
fn only(words: &[&str], min: u32, max: u32) -> Result<u32, Wrong> {
    if let Some(more) = words.get(2) {
        return Err(format!("{} has one value, and {} is a second; leave it out", words[0], quote(more)));
    }
    number32(words[0], words.get(1), min, max)
}

/// Largest count in htsim: its numbers have 31 bits.
const MOST: u32 = i32::MAX as u32;
