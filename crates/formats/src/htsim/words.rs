//! The words of a line, and the numbers among them.

use crate::Error;

/// The problem with a line and the correction.
pub type Wrong = String;

/// The words of each non-empty line, with its number.
pub fn lines<'a>(bytes: &'a [u8], file: &str) -> Result<impl Iterator<Item = (u32, Vec<&'a str>)>, Error> {
    let text = core::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() as u32;
        Error { file: file.into(), line, what: "this is not a text file; save the file as UTF-8".into() }
    })?;
    let words = |line: &'a str| line.split('#').next().unwrap_or("").split_ascii_whitespace().collect::<Vec<_>>();
    let lines = text.trim_start_matches('\u{feff}').lines().zip(1..);
    Ok(lines.map(move |(line, number)| (number, words(line))).filter(|(_, words)| !words.is_empty()))
}

/// A quoted word for a message.
pub fn quote(word: &str) -> String {
    let short: String = word.chars().take(40).collect();
    if short.len() < word.len() { format!("{short:?}...") } else { format!("{short:?}") }
}

/// A whole number from `min` to `max`.
pub fn number(name: &str, word: Option<&&str>, min: u64, max: u64) -> Result<u64, Wrong> {
    let Some(word) = word else {
        return Err(format!("{name} has no value; write a whole number after it"));
    };
    let value = word.parse().ok().filter(|value| (min..=max).contains(value));
    value.ok_or_else(|| format!("{name} {} is not possible; it is a whole number from {min} to {max}", quote(word)))
}

/// The same in 32 bits.
pub fn number32(name: &str, word: Option<&&str>, min: u32, max: u32) -> Result<u32, Wrong> {
    number(name, word, min.into(), max.into()).map(|value| value as u32)
}

/// The only value of a line of two words.
pub fn only(words: &[&str], min: u32, max: u32) -> Result<u32, Wrong> {
    if let Some(more) = words.get(2) {
        return Err(format!("{} has one value, and {} is a second; leave it out", words[0], quote(more)));
    }
    number32(words[0], words.get(1), min, max)
}

/// Largest count in htsim: its numbers have 31 bits.
pub const MOST: u32 = i32::MAX as u32;
