//! A node of a trace as a message: its fields, and those attributes that say what it does.

use fanin_graph::{ANY, Kind, LARGEST, LONGEST, Node, Operation};
use prost::DecodeError;
use prost::bytes::Buf;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

/// Slots of a rank: computations of the CPU, those of the GPU, and sends and collectives.
pub(super) const CPU: u8 = 0;
pub(super) const GPU: u8 = 1;
pub(super) const COMMUNICATION: u8 = 2;

/// Types of nodes; the last three are of a version that is not released.
const TYPES: [&str; 11] = [
    "INVALID",
    "METADATA",
    "MEM_LOAD",
    "MEM_STORE",
    "COMP",
    "COMM_SEND",
    "COMM_RECV",
    "COMM_COLL",
    "STORAGE",
    "BATCH",
    "CHECKPOINT",
];

/// The fields of a node, in its message.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields<'a> {
    pub(super) id: u64,
    pub(super) name: &'a [u8],
    pub(super) kind: u64,
    micros: u64,
    /// The values of its inputs, a JSON list; metadata nodes have groups there.
    pub(super) inputs: &'a [u8],
    pub(super) group: Option<&'a [u8]>,
    is_cpu: bool,
    operation: Option<i128>,
    size: Option<i128>,
    source: Option<i128>,
    destination: Option<i128>,
    tag: Option<i128>,
}

/// A number; most have one byte.
#[inline]
fn varint(message: &mut &[u8]) -> Result<u64, DecodeError> {
    match *message {
        [byte, rest @ ..] if *byte < 0x80 => {
            *message = rest;
            Ok((*byte).into())
        }
        _ => decode_varint(message),
    }
}

/// The number and the kind of a field; most have one byte.
#[inline]
fn key(message: &mut &[u8]) -> Result<(u32, WireType), DecodeError> {
    match *message {
        [byte @ 8..0x80, rest @ ..] => {
            let wire = WireType::try_from(u64::from(*byte & 7))?;
            *message = rest;
            Ok((u32::from(*byte >> 3), wire))
        }
        _ => decode_key(message),
    }
}

/// A field with a length, which is checked as it is passed over.
fn bytes<'a>(message: &mut &'a [u8]) -> Result<&'a [u8], DecodeError> {
    let mut rest = *message;
    let length = varint(&mut rest).ok().and_then(|length| usize::try_from(length).ok());
    if let Some((field, after)) = length.and_then(|length| rest.split_at_checked(length)) {
        *message = after;
        return Ok(field);
    }
    // It is too short, or has no length.
    skip_field(WireType::LengthDelimited, 1, message, DecodeContext::default())?;
    Ok(&[])
}

/// Reads the fields of a node, and the numbers of nodes that it waits for.
pub(super) fn read<'a>(message: &mut &'a [u8], waits: &mut Vec<u64>) -> Result<Fields<'a>, DecodeError> {
    let mut fields = Fields::default();
    while !message.is_empty() {
        match key(message)? {
            (1, WireType::Varint) => fields.id = varint(message)?,
            (2, WireType::LengthDelimited) => fields.name = bytes(message)?,
            (3, WireType::Varint) => fields.kind = varint(message)?,
            (4 | 5, WireType::Varint) => waits.push(varint(message)?),
            (4 | 5, WireType::LengthDelimited) => {
                let mut packed = bytes(message)?;
                while !packed.is_empty() {
                    waits.push(varint(&mut packed)?);
                }
            }
            (7, WireType::Varint) => fields.micros = varint(message)?,
            (8, WireType::LengthDelimited) => fields.inputs = first_bytes(bytes(message)?)?,
            (10, WireType::LengthDelimited) => attribute(bytes(message)?, &mut fields)?,
            (field, wire) => skip_field(wire, field, message, DecodeContext::default())?,
        }
    }
    Ok(fields)
}

/// Field 1 of a message of texts.
fn first_bytes(mut message: &[u8]) -> Result<&[u8], DecodeError> {
    let mut found: &[u8] = &[];
    while !message.is_empty() {
        match key(&mut message)? {
            (1, WireType::LengthDelimited) => found = bytes(&mut message)?,
            (field, wire) => skip_field(wire, field, &mut message, DecodeContext::default())?,
        }
    }
    Ok(found)
}

/// Reads an attribute. An integer may be of any of the ten kinds.
fn attribute<'a>(mut message: &'a [u8], fields: &mut Fields<'a>) -> Result<(), DecodeError> {
    let (mut name, mut text, mut number): (&[u8], Option<&[u8]>, Option<i128>) = (&[], None, None);
    while !message.is_empty() {
        let (field, wire) = key(&mut message)?;
        match (field, wire) {
            (1, WireType::LengthDelimited) => name = bytes(&mut message)?,
            (7 | 9, WireType::Varint) => number = Some((varint(&mut message)? as i64).into()),
            (11 | 13 | 27, WireType::Varint) => number = Some(varint(&mut message)?.into()),
            (15 | 17, WireType::Varint) => {
                let zigzag = varint(&mut message)?;
                number = Some(((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64)).into());
            }
            (19 | 23, WireType::ThirtyTwoBit) if message.len() >= 4 => {
                let bits = message.get_u32_le();
                number = Some(if field == 19 { bits.into() } else { (bits as i32).into() });
            }
            (21 | 25, WireType::SixtyFourBit) if message.len() >= 8 => {
                let bits = message.get_u64_le();
                number = Some(if field == 21 { bits.into() } else { (bits as i64).into() });
            }
            (29, WireType::LengthDelimited) => text = Some(bytes(&mut message)?),
            (field, wire) => skip_field(wire, field, &mut message, DecodeContext::default())?,
        }
    }
    match name {
        b"is_cpu_op" => fields.is_cpu = number.is_some_and(|number| number != 0),
        b"comm_type" => fields.operation = number,
        b"comm_size" => fields.size = number,
        b"comm_src" => fields.source = number,
        b"comm_dst" => fields.destination = number,
        b"comm_tag" => fields.tag = number,
        b"pg_name" => fields.group = text,
        _ => {}
    }
    Ok(())
}

impl Fields<'_> {
    /// Fills in what the node does, its number and its slot; or says what is wrong.
    pub(super) fn to_node(&self, node: &mut Node) -> Result<(), String> {
        (node.id, node.nic) = (self.id, 0);
        (node.kind, node.slot) = match self.kind {
            0 | 1 => (Kind::Delay { ns: 0 }, None),
            2 | 3 => (Kind::Delay { ns: self.time()? }, None),
            // ASTRA-sim lets a computation without a duration take a nanosecond.
            4 => (Kind::Delay { ns: self.time()?.max(1) }, Some(if self.is_cpu { CPU } else { GPU })),
            5 => {
                let bytes = self.bytes()?;
                self.lacks(&[("comm_dst", self.destination), ("comm_size", self.size), ("comm_tag", self.tag)])?;
                let [to, tag] = [rank("comm_dst", self.destination)?, rank("comm_tag", self.tag)?];
                (Kind::Send { to, bytes, tag }, Some(COMMUNICATION))
            }
            6 => {
                let bytes = self.bytes()?;
                self.lacks(&[("comm_src", self.source), ("comm_size", self.size), ("comm_tag", self.tag)])?;
                let [from, tag] = [rank("comm_src", self.source)?, rank("comm_tag", self.tag)?];
                (Kind::Recv { from, bytes, tag }, None)
            }
            7 => (self.collective()?, Some(COMMUNICATION)),
            other => {
                let name = usize::try_from(other).ok().and_then(|other| TYPES.get(other));
                let name = name.map_or(String::new(), |name| format!(" ({name})"));
                return Err(format!(
                    "has type {other}{name}, which is not known here; known: {}",
                    TYPES[..8].join(", ")
                ));
            }
        };
        Ok(())
    }

    fn time(&self) -> Result<u64, String> {
        let ns = self.micros.checked_mul(1000).filter(|ns| *ns <= LONGEST);
        ns.ok_or_else(|| format!("duration_micros {} is beyond {LONGEST} ns", self.micros))
    }

    fn lacks(&self, attributes: &[(&str, Option<i128>)]) -> Result<(), String> {
        let lacking: Vec<&str> =
            attributes.iter().filter(|(_, value)| value.is_none()).map(|(name, _)| *name).collect();
        match lacking.as_slice() {
            [] => Ok(()),
            names => {
                Err(format!("has no {}; the PyTorch converter does not write such attributes", names.join(", no ")))
            }
        }
    }

    fn bytes(&self) -> Result<u64, String> {
        let size = self.size.unwrap_or(0);
        let bytes = u64::try_from(size).ok().filter(|bytes| *bytes <= LARGEST);
        bytes.ok_or_else(|| format!("comm_size {size} is not possible; it is 0 to {LARGEST} bytes"))
    }

    fn collective(&self) -> Result<Kind, String> {
        self.lacks(&[("comm_type", self.operation)])?;
        let number = self.operation.unwrap_or(0);
        let operation = usize::try_from(number).ok().and_then(|number| Operation::ALL.get(number));
        let (operation, _) = *operation.ok_or_else(|| format!("comm_type {number} is no collective; it is 0 to 9"))?;
        let bytes = self.bytes()?;
        if bytes == 0 && operation != Operation::Barrier {
            return Err(format!("a collective ({}) of 0 B: comm_size is missing or 0", operation.name()));
        }
        let group = match self.group {
            None | Some(b"") => 0,
            Some(name) => {
                let number = core::str::from_utf8(name).ok().and_then(|name| name.parse().ok());
                number.ok_or_else(|| format!("pg_name {} is no number of a process group", crate::text::quote(name)))?
            }
        };
        Ok(Kind::Collective { operation, bytes, group })
    }
}

/// A rank or a tag.
fn rank(name: &str, value: Option<i128>) -> Result<u32, String> {
    let value = value.unwrap_or(0);
    let number = u32::try_from(value).ok().filter(|number| *number != ANY);
    number.ok_or_else(|| format!("{name} {value} is not possible; it is 0 or more"))
}
