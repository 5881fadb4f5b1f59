//! The text form.

use super::schedule::{Goal, Operation, Rank, checked, error};
use crate::Error;
use crate::text::quote;
use ahash::{HashMap, HashMapExt};
use fanin_graph::{ANY, Kind};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The words of a file, with lines. Braces and colons are words of their own.
struct Words<'a> {
    file: &'a str,
    rest: &'a [u8],
    line: u32,
}

impl<'a> Words<'a> {
    /// Passes white space and comments.
    fn skip(&mut self) -> Result<(), Error> {
        loop {
            match self.rest {
                [b'\n', rest @ ..] => (self.line, self.rest) = (self.line + 1, rest),
                [byte, rest @ ..] if byte.is_ascii_whitespace() => self.rest = rest,
                [b'/', b'/', rest @ ..] => {
                    self.rest = &rest[rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())..];
                }
                [b'/', b'*', rest @ ..] => {
                    let end = rest.windows(2).position(|two| two == b"*/");
                    let end = end.ok_or_else(|| error(self.file, self.line, "this comment is not closed"))?;
                    self.line += rest[..end].iter().filter(|byte| **byte == b'\n').count() as u32;
                    self.rest = &rest[end + 2..];
                }
                _ => return Ok(()),
            }
        }
    }

    fn peek(&mut self) -> Result<Option<&'a [u8]>, Error> {
        self.skip()?;
        let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'{' | b'}' | b':' | b'/');
        let end = self.rest.iter().position(ends).unwrap_or(self.rest.len());
        Ok(Some(&self.rest[..end.max(1).min(self.rest.len())]).filter(|word| !word.is_empty()))
    }

    fn next(&mut self) -> Result<Option<&'a [u8]>, Error> {
        let word = self.peek()?;
        self.rest = &self.rest[word.map_or(0, <[u8]>::len)..];
        Ok(word)
    }

    /// The next word, if it is this one.
    fn accept(&mut self, wanted: &str) -> Result<bool, Error> {
        let found = self.peek()? == Some(wanted.as_bytes());
        if found {
            self.next()?;
        }
        Ok(found)
    }

    fn expect(&mut self, wanted: &str) -> Result<(), Error> {
        let line = self.line;
        match self.next()? {
            Some(word) if word == wanted.as_bytes() => Ok(()),
            Some(word) => Err(error(self.file, self.line, format!("{} where {wanted:?} is expected", quote(word)))),
            None => Err(error(self.file, line, format!("{wanted:?} is missing at the end of the file"))),
        }
    }

    fn number(&mut self, what: &str, most: u64) -> Result<u64, Error> {
        let word = self.next()?.unwrap_or(b"");
        let number = core::str::from_utf8(word).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
        match number.and_then(|text| text.parse().ok()) {
            Some(number) if number <= most => Ok(number),
            _ => {
                let what = format!("{what} is {}; it is a whole number up to {most}", quote(word));
                Err(error(self.file, self.line, what))
            }
        }
    }

    /// A rank or a tag; -1 is any.
    fn number_or_any(&mut self, what: &str, any: bool) -> Result<u32, Error> {
        if any && self.accept("-1")? {
            return Ok(ANY);
        }
        Ok(self.number(what, u64::from(ANY - 1))? as u32)
    }

    /// A size such as `8b`.
    fn bytes(&mut self) -> Result<u64, Error> {
        let word = self.next()?.unwrap_or(b"");
        let digits = word.strip_suffix(b"b").and_then(|digits| core::str::from_utf8(digits).ok());
        let bytes =
            digits.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit())).and_then(|text| text.parse().ok());
        bytes.ok_or_else(|| {
            error(self.file, self.line, format!("{} is no size; a size ends with b, as 8b", quote(word)))
        })
    }
}

pub(super) fn read(bytes: &[u8], file: &str) -> Result<Goal, Error> {
    let mut words = Words { file, rest: bytes, line: 1 };
    words.expect("num_ranks")?;
    let count = words.number("the number of ranks", u64::from(ANY - 1))? as u32;
    let mut ranks: BTreeMap<u32, Rank> = BTreeMap::new();
    while words.accept("rank")? {
        let line = words.line;
        let rank = words.number("a rank", u64::from(ANY - 1))? as u32;
        if rank >= count {
            return Err(error(file, line, format!("rank {rank} of {count}; the first rank is 0")));
        }
        words.expect("{")?;
        if ranks.insert(rank, block(&mut words, rank, count, line)?).is_some() {
            return Err(error(file, line, format!("rank {rank} is there twice")));
        }
    }
    if let Some(word) = words.next()? {
        return Err(error(file, words.line, format!("{} where \"rank\" is expected", quote(word))));
    }
    if let Some(missing) = (0..count).find(|rank| !ranks.contains_key(rank)) {
        let what = format!("rank {missing} of {count} is missing; write \"rank {missing} {{ }}\" if it does nothing");
        return Err(error(file, 0, what));
    }
    Ok(Goal { ranks: ranks.into_values().collect() })
}

/// The statements of a rank up to its closing brace.
fn block(words: &mut Words<'_>, number: u32, ranks: u32, opened: u32) -> Result<Rank, Error> {
    let mut rank = Rank::default();
    let mut labels: HashMap<&[u8], u32> = HashMap::new();
    loop {
        let file = words.file;
        let Some(word) = words.next()? else {
            let what = format!("rank {number} is not closed; write a closing brace");
            return Err(error(file, opened, what));
        };
        let line = words.line;
        if word == b"}" {
            break;
        }
        if words.accept(":")? {
            if !is_label(word) {
                let what = format!("{} is no label: a letter, then letters, digits and _", quote(word));
                return Err(error(file, line, what));
            }
            let node = rank.nodes.len() as u32;
            if let Some(before) = labels.insert(word, node) {
                let (label, first) = (quote(word), rank.places[before as usize].1);
                return Err(error(file, line, format!("label {label} is already used in line {first}")));
            }
            let kind = words.next()?.unwrap_or(b"");
            operation(words, kind, word, ranks, &mut rank)?;
        } else if let Some(b"requires" | b"irequires") = words.peek()? {
            let start = words.next()? == Some(b"irequires");
            let other = words.next()?.unwrap_or(b"");
            let node = |label: &[u8]| {
                let what = || error(file, line, format!("label {} is not defined in rank {number}", quote(label)));
                labels.get(label).copied().ok_or_else(what)
            };
            rank.edges.push((node(word)?, start, node(other)?));
        } else {
            operation(words, word, b"", ranks, &mut rank)?;
        }
    }
    rank.edges.sort_unstable();
    Ok(rank)
}

fn is_label(word: &[u8]) -> bool {
    word[0].is_ascii_alphabetic() && word.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

fn operation(words: &mut Words<'_>, word: &[u8], label: &[u8], ranks: u32, rank: &mut Rank) -> Result<(), Error> {
    let line = words.line;
    let mut kind = match word {
        b"send" => {
            let bytes = words.bytes()?;
            words.expect("to")?;
            Kind::Send { bytes, to: words.number_or_any("a rank", false)?, tag: 0 }
        }
        b"recv" => {
            let bytes = words.bytes()?;
            words.expect("from")?;
            Kind::Recv { bytes, from: words.number_or_any("a rank", true)?, tag: 0 }
        }
        b"calc" => Kind::Delay { ns: words.number("the time of a calculation", u64::MAX)? },
        _ => {
            let what =
                format!("{} where \"send\", \"recv\", \"calc\", \"requires\" or a brace is expected", quote(word));
            return Err(error(words.file, line, what));
        }
    };
    if let Kind::Send { tag, .. } | Kind::Recv { tag, .. } = &mut kind
        && words.accept("tag")?
    {
        *tag = words.number_or_any("a tag", word == b"recv")?;
    }
    let cpu = if words.accept("cpu")? { words.number("a processor", 255)? as u8 } else { 0 };
    let nic = if words.accept("nic")? { words.number("an interface", 255)? as u8 } else { 0 };
    let kind = checked(kind, ranks).map_err(|what| error(words.file, line, what))?;
    rank.nodes.push(Operation { kind, cpu, nic });
    rank.places.push((String::from_utf8_lossy(label).into(), line));
    Ok(())
}

pub(super) fn write(goal: &Goal) -> String {
    let mut text = format!("num_ranks {}\n", goal.ranks.len());
    let any = |number: u32| if number == ANY { -1 } else { i64::from(number) };
    for (number, rank) in goal.ranks.iter().enumerate() {
        let _ = writeln!(text, "\nrank {number} {{");
        for (node, Operation { kind, cpu, nic }) in rank.nodes.iter().enumerate() {
            let _ = write!(text, "l{}: ", node + 1);
            let _ = match *kind {
                Kind::Send { to, bytes, tag } => write!(text, "send {bytes}b to {to} tag {tag}"),
                Kind::Recv { from, bytes, tag } => write!(text, "recv {bytes}b from {} tag {}", any(from), any(tag)),
                Kind::Delay { ns } => write!(text, "calc {ns}"),
                Kind::Collective { .. } => unreachable!("refused where a schedule is made"),
            };
            for (word, value) in [("cpu", *cpu), ("nic", *nic)] {
                if value > 0 {
                    let _ = write!(text, " {word} {value}");
                }
            }
            text.push('\n');
        }
        for (node, start, before) in &rank.edges {
            let word = if *start { "irequires" } else { "requires" };
            let _ = writeln!(text, "l{} {word} l{}", node + 1, before + 1);
        }
        text.push_str("}\n");
    }
    text
}
