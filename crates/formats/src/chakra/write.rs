//! Traces as files.

use super::node::{COMMUNICATION, CPU, GPU};
use crate::Error;
use fanin_graph::{ANY, Kind, Node, Source};
use prost::encoding::{WireType, encode_key, encode_varint};
use std::io::Write;

/// Version of the format in the metadata.
const VERSION: &str = "0.0.4";

/// Writes the trace of a rank.
///
/// # Errors
/// Of the source, of the output, and of a node that a trace cannot express.
pub fn write<S: Source<Error = Error>>(source: &mut S, output: &mut impl Write, file: &str) -> Result<(), Error> {
    let wrong = |what: String| Error { file: file.into(), line: 0, what };
    let (mut message, mut framed) = (Vec::new(), Vec::new());
    let mut node = Node::default();
    text(1, VERSION, &mut message);
    loop {
        framed.clear();
        encode_varint(message.len() as u64, &mut framed);
        framed.append(&mut message);
        output.write_all(&framed).map_err(|cause| wrong(cause.to_string()))?;
        if !source.next(&mut node)? {
            return Ok(());
        }
        one(&node, &mut message).map_err(|what| wrong(format!("node {}: {what}", node.id)))?;
    }
}

fn one(node: &Node, message: &mut Vec<u8>) -> Result<(), String> {
    if !node.after_start.is_empty() {
        return Err("it waits for the start of another node; a trace has only waits for ends".into());
    }
    let (mut attributes, mut micros) = (Vec::new(), 0);
    let (kind, name) = match node.kind {
        Kind::Delay { ns: 0 } => (1, "metadata"),
        Kind::Delay { ns } => {
            if ns != 1 && ns % 1000 != 0 {
                return Err(format!("a calculation of {ns} ns; a trace counts microseconds"));
            }
            // One nanosecond is what a computation of 0 us takes.
            micros = ns / 1000;
            (4, "comp")
        }
        Kind::Send { to, bytes, tag } => {
            attributes.extend([("comm_dst", 7, u64::from(to)), ("comm_size", 9, bytes), ("comm_tag", 7, tag.into())]);
            (5, "send")
        }
        Kind::Recv { from: ANY, .. } | Kind::Recv { tag: ANY, .. } => {
            return Err("a receive from any source or with any tag; a trace names both".into());
        }
        Kind::Recv { from, bytes, tag } => {
            attributes.extend([("comm_src", 7, u64::from(from)), ("comm_size", 9, bytes), ("comm_tag", 7, tag.into())]);
            (6, "recv")
        }
        Kind::Collective { operation, bytes, .. } => {
            attributes.extend([("comm_type", 9, operation as u64), ("comm_size", 9, bytes)]);
            (7, operation.name())
        }
    };
    let is_cpu = match (kind, node.slot) {
        (4, Some(CPU)) => 1,
        (4, Some(slot)) if slot != GPU => {
            return Err(format!("a calculation on processor {slot}; a trace has {CPU}, its CPU, and {GPU}, its GPU"));
        }
        (5 | 7, Some(slot)) if slot != COMMUNICATION && slot > GPU => {
            return Err(format!("communication on processor {slot}; a trace has one engine for it"));
        }
        _ => 0,
    };
    number(1, node.id, message);
    text(2, name, message);
    number(3, kind, message);
    if !node.after_end.is_empty() {
        let mut packed = Vec::new();
        node.after_end.iter().for_each(|id| encode_varint(*id, &mut packed));
        bytes(5, &packed, message);
    }
    number(7, micros, message);
    attribute("is_cpu_op", 27, is_cpu, message);
    attributes.into_iter().for_each(|(name, field, value)| attribute(name, field, value, message));
    if let Kind::Collective { group: group @ 1.., .. } = node.kind {
        let mut attribute = Vec::new();
        text(1, "pg_name", &mut attribute);
        text(29, &group.to_string(), &mut attribute);
        bytes(10, &attribute, message);
    }
    Ok(())
}

/// A number; 0 is left out.
fn number(field: u32, value: u64, message: &mut Vec<u8>) {
    if value != 0 {
        encode_key(field, WireType::Varint, message);
        encode_varint(value, message);
    }
}

fn bytes(field: u32, value: &[u8], message: &mut Vec<u8>) {
    encode_key(field, WireType::LengthDelimited, message);
    encode_varint(value.len() as u64, message);
    message.extend(value);
}

fn text(field: u32, value: &str, message: &mut Vec<u8>) {
    bytes(field, value.as_bytes(), message);
}

/// An attribute with an integer, which is written even if it is 0.
fn attribute(name: &str, field: u32, value: u64, message: &mut Vec<u8>) {
    let mut attribute = Vec::new();
    text(1, name, &mut attribute);
    encode_key(field, WireType::Varint, &mut attribute);
    encode_varint(value, &mut attribute);
    bytes(10, &attribute, message);
}
