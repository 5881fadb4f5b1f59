//! The words of a text file with their lines, without copies.

use crate::{Error, Warning};
use core::fmt;

/// White space as in C's `isspace`.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// One word and its line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) line: u32,
}

/// The words of a file in order, as the `>>` of a C++ stream reads them.
#[derive(Clone, Debug)]
pub(crate) struct Words<'a> {
    pub(crate) file: &'a str,
    rest: &'a [u8],
    line: u32,
}

impl<'a> Words<'a> {
    pub(crate) fn new(file: &'a str, text: &'a [u8]) -> Self {
        Self { file, rest: text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text), line: 1 }
    }

    /// The words of a single line.
    pub(crate) fn of_line(file: &'a str, text: &'a [u8], line: u32) -> Self {
        Self { file, rest: text, line }
    }

    /// Unread bytes, which bound every count in a file.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    /// The line of the next byte.
    pub(crate) fn line(&self) -> u32 {
        self.line
    }

    /// The words that are left on this line, without moving on.
    pub(crate) fn on_line(&self) -> impl Iterator<Item = &'a [u8]> {
        let end = self.rest.iter().position(|b| *b == b'\n').unwrap_or(self.rest.len());
        self.rest[..end].split(|b| is_space(*b)).filter(|word| !word.is_empty())
    }

    /// The next word, without moving on.
    pub(crate) fn peek(&self) -> Option<Word<'a>> {
        self.clone().next()
    }

    /// Reads the rest of the line.
    pub(crate) fn skip_line(&mut self) -> &'a [u8] {
        let end = self.rest.iter().position(|b| *b == b'\n').unwrap_or(self.rest.len());
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest;
        line
    }

    /// Moves the reader after the next `byte`, or to the end; returns the bytes in between.
    pub(crate) fn skip_past(&mut self, byte: u8) -> &'a [u8] {
        let end = self.rest.iter().position(|b| *b == byte).map_or(self.rest.len(), |at| at + 1);
        let (passed, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.line += passed.iter().filter(|b| **b == b'\n').count() as u32;
        passed
    }

    /// The next word, or an error that `what` is missing.
    pub(crate) fn need(&mut self, what: fmt::Arguments<'_>) -> Result<Word<'a>, Error> {
        match self.next() {
            Some(word) => Ok(word),
            None => Err(self.error(self.line, format!("{what} is missing"))),
        }
    }

    /// The next word as a whole number from 0 to `most`.
    #[inline]
    pub(crate) fn whole(&mut self, what: &str, most: u64) -> Result<u64, Error> {
        let word = self.need(format_args!("{what}"))?;
        self.whole_of(word, what, most)
    }

    /// A word as a whole number from 0 to `most`.
    #[inline]
    pub(crate) fn whole_of(&self, word: Word<'_>, what: &str, most: u64) -> Result<u64, Error> {
        match whole(word.bytes) {
            Some(value) if value <= most => Ok(value),
            Some(_) => Err(self.error(word.line, format!("{what} is {}; it is at most {most}", quote(word.bytes)))),
            None => Err(self.error(word.line, format!("{what} is {}; it is a whole number", quote(word.bytes)))),
        }
    }

    /// The next word as a finite number.
    #[inline]
    pub(crate) fn real(&mut self, what: &str) -> Result<f64, Error> {
        let word = self.need(format_args!("{what}"))?;
        real(word.bytes)
            .ok_or_else(|| self.error(word.line, format!("{what} is {}; it is a number", quote(word.bytes))))
    }

    #[cold]
    pub(crate) fn error(&self, line: u32, what: impl Into<String>) -> Error {
        Error { file: self.file.into(), line, what: what.into() }
    }

    #[cold]
    pub(crate) fn warning(&self, line: u32, what: impl Into<String>) -> Warning {
        Warning { file: self.file.into(), line, what: what.into() }
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    #[inline]
    fn next(&mut self) -> Option<Word<'a>> {
        let mut start = 0;
        loop {
            match *self.rest.get(start)? {
                b'\n' => self.line += 1,
                byte if is_space(byte) => {}
                _ => break,
            }
            start += 1;
        }
        let rest = &self.rest[start..];
        let end = rest.iter().position(|b| is_space(*b)).unwrap_or(rest.len());
        let (bytes, rest) = rest.split_at(end);
        self.rest = rest;
        Some(Word { bytes, line: self.line })
    }
}

/// A whole number in decimal digits, with an optional plus sign.
#[inline]
pub(crate) fn whole(word: &[u8]) -> Option<u64> {
    let digits = word.strip_prefix(b"+").unwrap_or(word);
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, digit| match digit {
        b'0'..=b'9' => value.checked_mul(10)?.checked_add((digit - b'0') as u64),
        _ => None,
    })
}

/// A finite number in decimal notation.
pub(crate) fn real(word: &[u8]) -> Option<f64> {
    // No "inf" and "nan", which C++ streams do not read.
    if !word.iter().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')) {
        return None;
    }
    core::str::from_utf8(word).ok()?.parse().ok().filter(|value: &f64| value.is_finite())
}

/// An excerpt of a file for a message, truncated if it is long.
pub(crate) fn quote(word: &[u8]) -> String {
    let cut = &word[..word.len().min(160)];
    let text = String::from_utf8_lossy(cut);
    let mut short: String = text.chars().take(40).collect();
    if short.len() < word.len() && short.chars().count() == 40 {
        short.push_str("...");
    }
    format!("{short:?}")
}
