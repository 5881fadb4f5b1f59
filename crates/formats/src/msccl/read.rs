//! The elements of an algorithm's file.

use crate::Error;
use crate::text::quote;
use core::ops::Range;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::collections::BTreeMap;

/// The elements, each inside the one before.
const ELEMENTS: [&str; 4] = ["algo", "gpu", "tb", "step"];

/// Most GPUs, chunks of a vector, and chunks of a message; more are no algorithm.
const MOST: u32 = 1 << 20;

/// Most attributes of an element: the parser compares each with all before it.
const MOST_ATTRIBUTES: usize = 64;

/// Types of steps: name, whether it receives, whether it sends.
const TYPES: [(&str, bool, bool); 9] = [
    ("s", false, true),
    ("r", true, false),
    ("rcs", true, true),
    ("rrc", true, false),
    ("rrs", true, true),
    ("rrcs", true, true),
    ("cpy", false, false),
    ("re", false, false),
    ("nop", false, false),
];

/// What a file has, as it is written there.
#[derive(Default)]
pub(super) struct Read {
    /// `nchunksperloop`.
    pub chunks: u32,
    /// The GPUs 0, 1 and so on.
    pub gpus: BTreeMap<u32, Gpu>,
}

/// The thread blocks of a GPU by `id`.
pub(super) type Gpu = BTreeMap<u32, Block>;

/// A thread block.
pub(super) struct Block {
    pub line: u32,
    /// The GPU to which it sends, if any.
    pub send: Option<u32>,
    /// The GPU from which it receives, if any.
    pub recv: Option<u32>,
    pub channel: u32,
    pub steps: Vec<Step>,
}

/// A step of a thread block.
pub(super) struct Step {
    pub line: u32,
    pub name: &'static str,
    pub receives: bool,
    pub sends: bool,
    /// `srcoff` of a step that sends; 0 of others.
    pub offset: u32,
    /// `cnt` of a step that sends or receives; 0 of others.
    pub count: u32,
    /// `depid` and `deps`: thread block and step of the same GPU that must have ended.
    pub after: Option<(u32, u32)>,
}

impl Step {
    /// The chunks that a step sends.
    pub fn chunks(&self) -> Range<u32> {
        self.offset..self.offset + self.count
    }
}

pub(super) fn error(file: &str, line: u32, what: impl Into<String>) -> Error {
    Error { file: file.into(), line, what: what.into() }
}

/// An element, and how errors call it.
struct Element<'a> {
    file: &'a str,
    line: u32,
    place: String,
    attributes: Vec<(String, String)>,
}

impl Element<'_> {
    fn wrong(&self, what: impl core::fmt::Display) -> Error {
        error(self.file, self.line, format!("{}: {what}", self.place))
    }

    fn text(&self, key: &str) -> Result<&str, Error> {
        let found = self.attributes.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str()).ok_or_else(|| self.wrong(format_args!("{key} is missing")))
    }

    fn wrong_value(&self, key: &str, value: &str, right: impl core::fmt::Display) -> Error {
        self.wrong(format_args!("{key} is {}; {right}", quote(value.as_bytes())))
    }

    /// A whole number of a range.
    fn number(&self, key: &str, least: u32, most: u32) -> Result<u32, Error> {
        let value = self.text(key)?;
        let number = value.parse().ok().filter(|number| (least..=most).contains(number));
        let right = format_args!("it is a whole number from {least} to {most}");
        number.ok_or_else(|| self.wrong_value(key, value, right))
    }

    /// A number below `count`, or nothing for -1.
    fn or_none(&self, key: &str, count: u32, of: &str) -> Result<Option<u32>, Error> {
        let value = self.text(key)?;
        if value == "-1" {
            return Ok(None);
        }
        let number = value.parse().ok().filter(|number| *number < count);
        let right = || format!("it is {of} from 0 to {}, or -1 for none", count - 1);
        number.map(Some).ok_or_else(|| self.wrong_value(key, value, right()))
    }

    /// The GPU at the other end of a thread block.
    fn peer(&self, key: &str, own: u32, ranks: u32) -> Result<Option<u32>, Error> {
        let peer = self.or_none(key, ranks, "a GPU")?;
        match peer {
            Some(peer) if peer == own => Err(self.wrong(format_args!("{key} is {own}, this GPU itself; name another"))),
            peer => Ok(peer),
        }
    }

    fn block(&self, own: u32, ranks: u32) -> Result<Block, Error> {
        Ok(Block {
            line: self.line,
            send: self.peer("send", own, ranks)?,
            recv: self.peer("recv", own, ranks)?,
            channel: self.number("chan", 0, MOST)?,
            steps: Vec::new(),
        })
    }

    /// The step of this number in its block.
    fn step(&self, number: usize, block: &Block) -> Result<Step, Error> {
        if self.number("s", 0, u32::MAX)? as usize != number {
            let right = format_args!("the next step of this thread block is {number}");
            return Err(self.wrong_value("s", self.text("s")?, right));
        }
        let name = self.text("type")?;
        let (name, receives, sends) = *TYPES.iter().find(|(known, ..)| *known == name).ok_or_else(|| {
            let names: Vec<&str> = TYPES.iter().map(|(name, ..)| *name).collect();
            self.wrong_value("type", name, format_args!("the types are {}", names.join(", ")))
        })?;
        for (does, peer, key, what) in
            [(sends, block.send, "send", "sends to"), (receives, block.recv, "recv", "receives from")]
        {
            if does && peer.is_none() {
                let right = format_args!("it needs a GPU that it {what}, and {key} of its thread block is -1");
                return Err(self.wrong_value("type", name, right));
            }
        }
        let after = match self.or_none("depid", u32::MAX, "a thread block")? {
            Some(block) => Some((block, self.number("deps", 0, u32::MAX)?)),
            None => None,
        };
        let offset = if sends { self.number("srcoff", 0, MOST)? } else { 0 };
        let count = if sends || receives { self.number("cnt", 1, MOST)? } else { 0 };
        Ok(Step { line: self.line, name, receives, sends, offset, count, after })
    }
}

/// The lines of a text, counted as it is passed.
struct Lines<'a> {
    text: &'a [u8],
    passed: usize,
    line: u32,
}

impl Lines<'_> {
    /// The line of a byte at or behind the last one.
    fn at(&mut self, byte: u64) -> u32 {
        let end = usize::try_from(byte).unwrap_or(usize::MAX).clamp(self.passed, self.text.len());
        self.line += self.text[self.passed..end].iter().filter(|byte| **byte == b'\n').count() as u32;
        self.passed = end;
        self.line
    }
}

/// What has been read so far.
struct Building<'a> {
    file: &'a str,
    /// Elements that are open: their lines.
    open: Vec<u32>,
    /// The line of `algo`, and how many GPUs it has.
    head: Option<(u32, u32)>,
    /// The GPU and the thread block that were read last.
    last: (u32, u32),
    read: Read,
}

impl Building<'_> {
    /// Takes an element, which may have others inside if it is `wide`.
    fn element(&mut self, start: &BytesStart<'_>, line: u32, wide: bool) -> Result<(), Error> {
        let name = start.name();
        let name = name.as_ref();
        let depth = self.open.len();
        if ELEMENTS.get(depth) != Some(&name) {
            let inside = depth.checked_sub(1).map_or("outside".into(), |at| format!("inside <{}>", ELEMENTS[at]));
            let right = ELEMENTS.get(depth).map_or("nothing".into(), |right| format!("<{right}>"));
            let what = format!("<{name:.40}> {inside}; what belongs there is {right}");
            return Err(error(self.file, line, what));
        }
        let attributes = attributes(start).map_err(|what| error(self.file, line, format!("<{name}>: {what}")))?;
        let mut element = Element { file: self.file, line, place: name.into(), attributes };
        let ranks = self.head.map_or(0, |(_, ranks)| ranks);
        let (gpu, block) = self.last;
        match depth {
            0 => self.algorithm(&element)?,
            1 => {
                let id = element.number("id", 0, ranks - 1)?;
                if self.read.gpus.insert(id, Gpu::new()).is_some() {
                    return Err(element.wrong(format_args!("id is {id}, which another GPU has; give each its own")));
                }
                self.last = (id, 0);
            }
            2 => {
                element.place = format!("gpu {gpu}, tb");
                let id = element.number("id", 0, MOST)?;
                element.place = format!("gpu {gpu}, tb {id}");
                let of = element.block(gpu, ranks)?;
                if self.read.gpus.entry(gpu).or_default().insert(id, of).is_some() {
                    return Err(element.wrong("another thread block of this GPU has this id; give each its own"));
                }
                self.last = (gpu, id);
            }
            _ => {
                let within = self.read.gpus.get_mut(&gpu).and_then(|gpu| gpu.get_mut(&block));
                let within = within.expect("a step is inside a thread block");
                element.place = format!("gpu {gpu}, tb {block}, step {}", within.steps.len());
                within.steps.push(element.step(within.steps.len(), within)?);
            }
        }
        if wide {
            self.open.push(line);
        }
        Ok(())
    }

    fn algorithm(&mut self, element: &Element<'_>) -> Result<(), Error> {
        if let Some((line, _)) = self.head {
            return Err(element.wrong(format_args!("a second one, after that of line {line}; a file has one")));
        }
        self.head = Some((element.line, element.number("ngpus", 1, MOST)?));
        self.read.chunks = element.number("nchunksperloop", 1, MOST)?;
        Ok(())
    }

    /// What has been read, if all is there.
    fn done(self, line: u32) -> Result<Read, Error> {
        if let Some((depth, opened)) = self.open.iter().enumerate().next_back() {
            let what = format!("the file ends inside <{}> of line {opened}; it is truncated", ELEMENTS[depth]);
            return Err(error(self.file, line, what));
        }
        let (line, ranks) =
            self.head.ok_or_else(|| error(self.file, 0, "there is no <algo>, as MSCCL's files have"))?;
        if let Some(missing) = (0..ranks).zip(self.read.gpus.keys()).find(|(expected, id)| expected != *id) {
            return Err(self.missing(line, ranks, missing.0));
        }
        match self.read.gpus.len() as u32 {
            found if found < ranks => Err(self.missing(line, ranks, found)),
            _ => Ok(self.read),
        }
    }

    fn missing(&self, line: u32, ranks: u32, gpu: u32) -> Error {
        let what = format!("algo: ngpus is {ranks}, and there is no <gpu> with id {gpu}; write one for each GPU");
        error(self.file, line, what)
    }
}

/// Names and values of an element's attributes.
fn attributes(start: &BytesStart<'_>) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        if found.len() == MOST_ATTRIBUTES {
            return Err(format!("it has more than {MOST_ATTRIBUTES} attributes"));
        }
        found.push((attribute.key.as_ref().to_string(), attribute.value.into_owned()));
    }
    Ok(found)
}

/// The dependencies name steps that are there.
fn check_dependencies(read: &Read, file: &str) -> Result<(), Error> {
    for (id, gpu) in &read.gpus {
        for (tb, block) in gpu {
            for (number, step) in block.steps.iter().enumerate() {
                let Some((depid, deps)) = step.after else { continue };
                let place = format!("gpu {id}, tb {tb}, step {number}");
                let Some(other) = gpu.get(&depid) else {
                    let what = format!("{place}: depid is {depid}, and this GPU has no such thread block");
                    return Err(error(file, step.line, what));
                };
                if deps as usize >= other.steps.len() {
                    let steps = other.steps.len();
                    let what = format!("{place}: deps is {deps}, and tb {depid} has {steps} steps, the first is 0");
                    return Err(error(file, step.line, what));
                }
            }
        }
    }
    Ok(())
}

/// Reads a file.
///
/// # Errors
/// What is wrong, with line, GPU, thread block, step and attribute.
pub(super) fn read(bytes: &[u8], file: &str) -> Result<Read, Error> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut lines = Lines { text: bytes, passed: 0, line: 1 };
    let text = core::str::from_utf8(bytes).map_err(|cause| {
        let line = lines.at(cause.valid_up_to() as u64);
        error(file, line, "it has bytes that are no UTF-8, so it is no XML file of MSCCL")
    })?;
    let mut reader = Reader::from_str(text);
    let mut building = Building { file, open: Vec::new(), head: None, last: (0, 0), read: Read::default() };
    loop {
        let line = lines.at(reader.buffer_position());
        match reader.read_event() {
            Ok(Event::Start(start)) => building.element(&start, line, true)?,
            Ok(Event::Empty(start)) => building.element(&start, line, false)?,
            Ok(Event::End(_)) => drop(building.open.pop()),
            Ok(Event::Text(text)) if text.trim().is_empty() => {}
            Ok(Event::Text(_) | Event::CData(_) | Event::GeneralRef(_)) => {
                return Err(error(file, line, "text between elements; an algorithm has elements alone"));
            }
            Ok(Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_)) => {}
            Ok(Event::Eof) => break,
            Err(cause) => {
                let line = lines.at(reader.error_position());
                return Err(error(file, line, format!("this is no XML: {cause}")));
            }
        }
    }
    let read = building.done(lines.line)?;
    check_dependencies(&read, file)?;
    Ok(read)
}
