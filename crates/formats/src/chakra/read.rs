//! A trace, node by node.

use super::files::{Groups, groups_of_metadata};
use super::node;
use crate::Error;
use fanin_graph::{Node, Source};
use flate2::bufread::MultiGzDecoder;
use prost::encoding::{DecodeContext, decode_key, decode_varint, skip_field};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

/// Bytes of the longest message; longer ones are taken for broken files.
const LONGEST: u64 = 1 << 26;

/// The trace of a rank. It holds one message at a time.
pub struct Trace<'a> {
    file: String,
    rank: u32,
    input: Box<dyn BufRead + Send + 'a>,
    /// Bytes before the message, unpacked.
    passed: u64,
    message: Vec<u8>,
    groups: Arc<Groups>,
}

impl<'a> Trace<'a> {
    /// Begins to read a trace.
    ///
    /// # Errors
    /// It does not begin as one.
    pub fn new(input: impl Read + Send + 'a, file: &str, rank: u32) -> Result<Self, Error> {
        let mut input = BufReader::with_capacity(1 << 16, input);
        let packed = input.fill_buf().is_ok_and(|bytes| bytes.starts_with(&[0x1f, 0x8b]));
        let input: Box<dyn BufRead + Send + 'a> = match packed {
            true => Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(input))),
            false => Box::new(input),
        };
        let mut trace = Self { file: file.into(), rank, input, passed: 0, message: Vec::new(), groups: Arc::default() };
        if !trace.next_message()? {
            return Err(trace.error("the file is empty; a trace begins with its metadata"));
        }
        let mut metadata = trace.message.as_slice();
        while !metadata.is_empty() {
            let skipped = decode_key(&mut metadata)
                .and_then(|(field, wire)| skip_field(wire, field, &mut metadata, DecodeContext::default()));
            skipped.map_err(|cause| trace.error(format!("no metadata of a Chakra trace: {cause}")))?;
        }
        Ok(trace)
    }

    /// Opens the trace of a rank.
    ///
    /// # Errors
    /// It cannot be opened, or does not begin as a trace.
    pub fn open(path: &Path, rank: u32) -> Result<Trace<'static>, Error> {
        let file = path.display().to_string();
        match crate::input::open(path) {
            Ok(input) => Trace::new(input, &file, rank),
            Err(cause) => Err(Error { file, line: 0, what: cause.to_string() }),
        }
    }

    /// The trace with these process groups, as a file beside the traces defines them.
    #[must_use]
    pub fn with_groups(mut self, groups: impl Into<Arc<Groups>>) -> Self {
        self.groups = groups.into();
        self
    }

    /// The name of a node, and the byte at which its message lies.
    ///
    /// # Errors
    /// The trace cannot be read up to there.
    pub fn find(mut self, id: u64) -> Result<Option<(String, u64)>, Error> {
        while self.next_message()? {
            let found = node::read(&mut self.message.as_slice(), &mut Vec::new());
            match found.map_err(|cause| self.error(cause.to_string()))? {
                fields if fields.id == id => {
                    let name = String::from_utf8_lossy(fields.name).chars().take(60).collect();
                    return Ok(Some((name, self.passed)));
                }
                _ => self.passed += self.message.len() as u64,
            }
        }
        Ok(None)
    }

    fn error(&self, what: impl std::fmt::Display) -> Error {
        Error { file: self.file.clone(), line: 0, what: format!("byte {}: {what}", self.passed) }
    }

    /// Reads the next message, or finds the end of the file.
    fn next_message(&mut self) -> Result<bool, Error> {
        self.passed += self.message.len() as u64;
        self.message.clear();
        let mut length = [0; 10];
        let mut count = 0;
        loop {
            let byte = match self.input.fill_buf() {
                Ok([]) if count == 0 => return Ok(false),
                Ok([]) => return Err(self.error("the file ends within the length of a message")),
                Ok(bytes) => bytes[0],
                Err(cause) => return Err(self.error(cause)),
            };
            self.input.consume(1);
            length[count] = byte;
            count += 1;
            if byte < 0x80 || count == length.len() {
                break;
            }
        }
        let length = decode_varint(&mut &length[..count]).map_err(|_| self.error("no length of a message"))?;
        let read = self.input.by_ref().take(length.min(LONGEST)).read_to_end(&mut self.message);
        let read = read.map_err(|cause| self.error(cause))? as u64;
        if read < length {
            let file = self.passed + count as u64 + read;
            return Err(self.error(match read {
                LONGEST => format!("a message of {length} B; the longest has {LONGEST} B"),
                _ => format!("a message of {length} B, but the file ends after byte {file}"),
            }));
        }
        self.passed += count as u64;
        Ok(true)
    }
}

impl Source for Trace<'_> {
    type Error = Error;

    fn next(&mut self, node: &mut Node) -> Result<bool, Error> {
        if !self.next_message()? {
            return Ok(false);
        }
        node.after_end.clear();
        node.after_start.clear();
        let mut left = self.message.as_slice();
        let fields = match node::read(&mut left, &mut node.after_end) {
            Ok(fields) => fields,
            Err(cause) => {
                self.passed += (self.message.len() - left.len()) as u64;
                return Err(self.error(format!("rank {}: no node of a trace: {cause}", self.rank)));
            }
        };
        if let Err(what) = fields.to_node(node) {
            let name = crate::text::quote(fields.name);
            return Err(self.error(format!("rank {}: node {} ({name}) {what}", self.rank, fields.id)));
        }
        if fields.kind == 1 && fields.inputs.windows(7).any(|word| word == b"pg_name") {
            let groups = groups_of_metadata(fields.inputs);
            let groups =
                groups.map_err(|what| self.error(format!("rank {}: node {}: {what}", self.rank, fields.id)))?;
            Arc::make_mut(&mut self.groups).extend(groups);
        }
        Ok(true)
    }

    fn members(&self, group: u32) -> Option<&[u32]> {
        self.groups.get(&group).map(Vec::as_slice)
    }
}
