//! Lists of nodes to trace, and distributions of sizes.

use super::flows::MAX_BYTES;
use crate::text::{Words, quote, real};
use crate::{Error, Warning};

/// Reads a trace file: the number of nodes, then their ids. Ids from `nodes` on are skipped, as in that simulator.
///
/// # Errors
/// The problem with its line and a correction.
pub fn read_trace_nodes(file: &str, text: &[u8], nodes: u32) -> Result<(Vec<u32>, Vec<Warning>), Error> {
    let mut words = Words::new(file, text);
    let count = words.whole("the number of nodes to trace", u32::MAX as u64)?;
    let mut traced = Vec::new();
    let mut skipped = None;
    for at in 0..count {
        let Some(word) = words.next() else {
            return Err(words.error(1, format!("the first line says {count} nodes, but there are {at}")));
        };
        match words.whole_of(word, "a node to trace", u32::MAX as u64)? as u32 {
            id if id < nodes => traced.push(id),
            id => skipped = skipped.or(Some((word.line, id))),
        }
    }
    let skipped = skipped.map(|(line, id)| words.warning(line, format!("there is no node {id} to trace")));
    Ok((traced, skipped.into_iter().collect()))
}

/// Sizes of flows by points of their cumulative distribution, linear in size between two points.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeCdf {
    // At least two points, both values non-decreasing, percents from 0 to 100.
    points: Vec<(f64, f64)>,
}

impl SizeCdf {
    /// Reads a file with `bytes percent` in each line; empty lines and what follows a `#` are skipped.
    ///
    /// # Errors
    /// The problem with its line and a correction.
    pub fn read(file: &str, text: &[u8]) -> Result<Self, Error> {
        const RIGHT: &str = "a line is a size in bytes and a cumulative percent, like 10000 15";
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let mut points: Vec<(f64, f64)> = Vec::new();
        let (mut line, mut last) = (0, 0);
        for content in text.split(|b| *b == b'\n') {
            line += 1;
            let error = |what: String| Error { file: file.into(), line, what };
            let content = content.split(|b| *b == b'#').next().unwrap_or_default();
            let mut words = Words::new(file, content);
            let Some(bytes) = words.next() else { continue };
            last = line;
            let (Some(percent), None) = (words.next(), words.next()) else {
                return Err(error(format!("{} are not two numbers; {RIGHT}", quote(content))));
            };
            let number =
                |word: &[u8]| real(word).ok_or_else(|| error(format!("{} is not a number; {RIGHT}", quote(word))));
            let (bytes, percent) = (number(bytes.bytes)?, number(percent.bytes)?);
            if !(0.0..=MAX_BYTES as f64).contains(&bytes) {
                return Err(error(format!("a size of {bytes} bytes; sizes are 0 to {MAX_BYTES}")));
            }
            match points.last() {
                None if percent != 0.0 => return Err(error(format!("the first point is at {percent} percent, not 0"))),
                Some((before, _)) if bytes < *before => {
                    return Err(error(format!("the size falls from {before} to {bytes}")));
                }
                Some((_, before)) if percent < *before => {
                    return Err(error(format!("the percent falls from {before} to {percent}")));
                }
                _ => points.push((bytes, percent)),
            }
        }
        match points.last() {
            Some((_, 100.0)) => Ok(Self { points }),
            Some((_, 1.0)) => {
                let what = "the last point is at 1, as if the second column went from 0 to 1; it is in percent, from 0 \
                            to 100: multiply by 100";
                Err(Error { file: file.into(), line: last, what: what.into() })
            }
            Some((_, percent)) => Err(Error {
                file: file.into(),
                line: last,
                what: format!("the last point is at {percent} percent, not 100"),
            }),
            None => Err(Error { file: file.into(), line: 0, what: format!("no points; {RIGHT}") }),
        }
    }

    /// Bytes, and the percent of flows up to this size.
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// The exact mean of the sizes according to that simulator's generator: of the lines between the points.
    pub fn mean(&self) -> f64 {
        let part = |pair: &[(f64, f64)]| (pair[0].0 + pair[1].0) / 2.0 * (pair[1].1 - pair[0].1);
        self.points.windows(2).map(part).sum::<f64>() / 100.0
    }

    /// The quantile of a fraction `u` in [0, 1), before rounding.
    pub fn quantile(&self, u: f64) -> f64 {
        let percent = u * 100.0;
        let last = self.points.len() - 1;
        let above = self.points.partition_point(|point| point.1 <= percent).clamp(1, last);
        let ((x0, p0), (x1, p1)) = (self.points[above - 1], self.points[above]);
        if p1 > p0 { x0 + (x1 - x0) * ((percent - p0) / (p1 - p0)) } else { x1 }
    }
}
