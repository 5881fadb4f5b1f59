//! Set-up of connections: what a receiver has to know of a message before its first packet, and its end.
//!
//! | byte | field of a set-up |
//! |---|---|
//! | 0 | 1 |
//! | 1 | whether a list of senders follows |
//! | 2-3 | traffic |
//! | 4-11 | connection token |
//! | 12-15 | message |
//! | 16-19 | the message that opened its connection, or 2^32 - 1 |
//! | 20-23, 24-27 | sending and receiving host |
//! | 28-35 | bytes of the message |
//! | 36-43 | name of its path, from which the receiver chooses that of its answers |
//! | 44-47 | incast or collective, or 2^32 - 1 |
//! | 48-49 | links on its path |
//! | 50-51 | number of senders |
//! | 52- | senders of the incast, 4 bytes each |
//!
//! | byte | field of a tear-down |
//! |---|---|
//! | 0 | 2 |
//! | 1-3 | 0 |
//! | 4-11 | connection token |
//! | 12-15 | message |
//! | 16-23 | time at which the receiver gets to know it, in ps |
//!
//! Numbers are in network byte order. A tear-down counts only with the token of the set-up.

use fanin_units::{MessageId, NodeId, Time};
use std::sync::Arc;

const SET_UP: u8 = 1;
const TEAR_DOWN: u8 = 2;
const NONE: u32 = u32::MAX;
const SET_UP_LEN: usize = 52;
const TEAR_DOWN_LEN: usize = 24;

/// A message is about to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetUp {
    /// What only its sender and its receiver know.
    pub token: u64,
    /// The message.
    pub message: MessageId,
    /// The message that opened the connection that it uses, where connections stay open.
    pub first: Option<MessageId>,
    /// The sending host.
    pub src: NodeId,
    /// The receiving host.
    pub dst: NodeId,
    /// Its traffic.
    pub traffic: u16,
    /// Its payload.
    pub bytes: u64,
    /// The name of its path.
    pub name: u64,
    /// Incast or collective, or `u32::MAX`.
    pub group: u32,
    /// Links on its path.
    pub hops: u16,
    /// The senders of its incast, where the application named them.
    pub senders: Option<Arc<[u32]>>,
}

/// The sender of a message has given it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TearDown {
    /// See [`SetUp::token`].
    pub token: u64,
    /// The message.
    pub message: MessageId,
    /// When the receiver gets to know it.
    pub at: Time,
}

/// A message about a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// It is set up.
    SetUp(SetUp),
    /// It is given up.
    TearDown(TearDown),
}

impl Control {
    /// Appends it to `bytes`.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::SetUp(of) => {
                let senders = of.senders.as_deref().unwrap_or_default();
                bytes.extend([SET_UP, u8::from(of.senders.is_some())]);
                bytes.extend(of.traffic.to_be_bytes());
                bytes.extend(of.token.to_be_bytes());
                for word in [of.message.0, of.first.map_or(NONE, |first| first.0), of.src.0, of.dst.0] {
                    bytes.extend(word.to_be_bytes());
                }
                bytes.extend(of.bytes.to_be_bytes());
                bytes.extend(of.name.to_be_bytes());
                bytes.extend(of.group.to_be_bytes());
                bytes.extend(of.hops.to_be_bytes());
                bytes.extend((senders.len() as u16).to_be_bytes());
                senders.iter().for_each(|sender| bytes.extend(sender.to_be_bytes()));
            }
            Self::TearDown(of) => {
                bytes.extend([TEAR_DOWN, 0, 0, 0]);
                bytes.extend(of.token.to_be_bytes());
                bytes.extend(of.message.0.to_be_bytes());
                bytes.extend(of.at.as_ps().to_be_bytes());
            }
        }
    }

    /// Reads one that fills `bytes`; `None` for anything else.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let u16_at = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        let u32_at = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let u64_at = |at: usize| Some(u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let (token, message) = (u64_at(4)?, MessageId(u32_at(12)?));
        match *bytes.first()? {
            SET_UP => {
                let count = usize::from(u16_at(50)?);
                if bytes.len() != SET_UP_LEN + 4 * count {
                    return None;
                }
                let senders: Option<Arc<[u32]>> = (0..count).map(|i| u32_at(SET_UP_LEN + 4 * i)).collect();
                let first = u32_at(16)?;
                Some(Self::SetUp(SetUp {
                    token,
                    message,
                    first: (first != NONE).then_some(MessageId(first)),
                    src: NodeId(u32_at(20)?),
                    dst: NodeId(u32_at(24)?),
                    traffic: u16_at(2)?,
                    bytes: u64_at(28)?,
                    name: u64_at(36)?,
                    group: u32_at(44)?,
                    hops: u16_at(48)?,
                    senders: if bytes[1] == 0 { None } else { senders },
                }))
            }
            TEAR_DOWN if bytes.len() == TEAR_DOWN_LEN => {
                Some(Self::TearDown(TearDown { token, message, at: Time::from_ps(u64_at(16)?) }))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else_is() {
        let up = SetUp {
            token: 0x0123_4567_89AB_CDEF,
            message: MessageId(7),
            first: Some(MessageId(3)),
            src: NodeId(1),
            dst: NodeId(2),
            traffic: 4,
            bytes: 1 << 40,
            name: 5 << 32 | 6,
            group: 8,
            hops: 4,
            senders: Some([1, 5, 9].into()),
        };
        let down = TearDown { token: 9, message: MessageId(7), at: Time::from_us(3) };
        let plain = SetUp { first: None, senders: None, ..up.clone() };
        for control in [Control::SetUp(up), Control::SetUp(plain), Control::TearDown(down)] {
            let mut bytes = Vec::new();
            control.encode(&mut bytes);
            assert_eq!(Control::decode(&bytes), Some(control));
            for len in 0..bytes.len() {
                assert_eq!(Control::decode(&bytes[..len]), None, "cut to {len}");
            }
            bytes.push(0);
            assert_eq!(Control::decode(&bytes), None, "with a byte too many");
            bytes[0] = 3;
            assert_eq!(Control::decode(&bytes[..bytes.len() - 1]), None);
        }
    }
}
