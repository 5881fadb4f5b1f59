//! # dart: divide and specialise
//!
//! ## Idea
//! Most congestion in a datacenter is at the last link, where many send to one. There the receiver knows the answer: it
//! counts its senders and tells each of them its part of the line (DASR, direct apportioning of sending rates). Congestion
//! of a place inside the network is met by the switch, which deflects short messages around it and keeps each message in
//! order (IOFD, in-order flow deflection). What is left falls back to DCQCN.
//!
//! ## Signals
//! to be written
//!
//! ## Control law
//! to be written: presets `dart`, `dart-lasthop`, `dart-dasr`, `dart-dasr-lookahead`, `dart-iofd`,
//! `dart-packet-deflection`.
//!
//! ## Parameters
//! Rows are those of the list of choices below. | name | unit | default | source |
//!
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `apportion` | true or false | true | DASR, III-A |
//! | `look_ahead` | true or false | true | III-D |
//! | `deflect` | `off`, `message` or `packet` | `message` | IOFD, IV-A |
//! | `window` | time | 0 ps | A1 |
//! | `window_steps` | steps | 1 | A1 |
//! | `full_rate` | share of the line | 0.95 | A2 |
//! | `leave_after` | windows | 2 | A5 |
//! | `clear_count` | `senders` or `one` | `senders` | A7 |
//! | `soft_state` | time | 2 s | B5 |
//! | `look_ahead_rate` | lists per second | 100000.0 | III-E |
//! | `look_ahead_burst` | lists | 64 | III-E |
//! | `look_ahead_silent` | senders | 1024 | III-E |
//! | `tell_ahead` | true or false | false | B9 |
//! | `tenant_shares` | shares of the line | [] | B10 |
//! | `bdp_window` | true or false | false | C13 |
//! | `short_up_to` | bytes | 8 KB | IV-B |
//! | `tokens` | deflections | 4 | VI-A |
//! | `table_entries` | entries | 8 | VI-A |
//! | `table_key` | `message-and-tokens` or `message` | `message-and-tokens` | D7 |
//! | `threshold` | bytes | 15 KB | VI-A |
//! | `force_threshold` | true or false | false | IV-B |
//! | `last_hop` | true or false | false | D5 |
//! | `avoid_full` | true or false | true | D3 |
//! | `lanes` | `two` or `one` | `two` | IV-B |
//! | `escape` | `after-last-misroute` or `on-last-misroute` | `after-last-misroute` | D12 |
//! | `blocked` | `stay` or `duato` | `stay` | D14 |
//! | `reclaim_after` | time | 8 ms | D17 |
//! | `dcqcn` | parameters of `dcqcn` | as there | III-C |
//!
//! ## Where we differ from the paper and why
//! to be written
//!
//! ## References
//! * Xue et al., Dart: Divide and Specialize for Fast Response to Congestion in RDMA-based Datacenter Networks, IEEE/ACM
//!   Transactions on Networking, 2020.

pub mod auss;
pub mod deflect;
pub mod receiver;
pub mod sender;

use super::dcqcn;
use crate::roles::*;
use alloc::vec::Vec;
use fanin_units::{Bytes, Time};

/// The scheme.
pub struct Dart;

/// What switches deflect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum Deflect {
    /// Nothing.
    Off,
    /// Whole messages, in order (IOFD).
    Message,
    /// Each packet on its own: the counter-example, which reorders (DIBS).
    Packet,
}

/// n where no marks arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum ClearCount {
    /// The number of active senders.
    Senders,
    /// 1.
    One,
}

/// What finds an entry of the deflected flow table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum TableKey {
    /// Message, attempt and tokens left: one entry per visit of the switch.
    MessageAndTokens,
    /// Message and attempt alone: the counter-example, which reorders when a message comes back to a switch.
    Message,
}

/// How many virtual lanes short messages have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum LaneCount {
    /// One for what may be deflected, and the escape lane.
    Two,
    /// One for all: the counter-example, which can deadlock.
    One,
}

/// Where a message without tokens enters the escape lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum Escape {
    /// At the switch behind its last misroute, so that no deflection ever happens in the escape lane.
    AfterLastMisroute,
    /// In the output queue of the switch that misroutes it last.
    OnLastMisroute,
}

/// What a message does that finds its output paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum Blocked {
    /// It waits.
    Stay,
    /// The whole message goes on in the escape lane, from its start packet on.
    Duato,
}

/// Its parameters; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(deny_unknown_fields))]
pub struct Params {
    /// Whether receivers apportion the line among their senders (DASR).
    pub apportion: bool,
    /// Whether the first packet of an incast's message lists the senders, and receivers count them ahead.
    pub look_ahead: bool,
    /// What switches deflect.
    pub deflect: Deflect,
    /// The window over which a receiver looks at its throughput and its marks; 0 is the largest base round-trip time.
    pub window: Time,
    /// In how many steps that window slides on; 1 is one fixed window after another.
    pub window_steps: u32,
    /// Part of the line rate from which on the last link counts as full.
    pub full_rate: f64,
    /// A state of congestion is left when so many windows in a row agree.
    pub leave_after: u32,
    /// n in the state without congestion.
    pub clear_count: ClearCount,
    /// A sender is forgotten when nothing came from it for so long.
    pub soft_state: Time,
    /// Lists of senders that a receiver takes from a tenant per second.
    pub look_ahead_rate: f64,
    /// Lists that it takes at once.
    pub look_ahead_burst: u32,
    /// Announced senders of a tenant that have not sent yet, at most.
    pub look_ahead_silent: u32,
    /// Whether active senders are told n at once when a list arrives, by an ACK of its own.
    pub tell_ahead: bool,
    /// Parts of the line by tenant, each with a set of senders of its own. Empty: one set for all.
    pub tenant_shares: Vec<f64>,
    /// Whether a window of the network's bandwidth-delay product holds as well.
    pub bdp_window: bool,
    /// Messages up to this size are short and may be deflected.
    pub short_up_to: Bytes,
    /// Deflections that a short message may take.
    pub tokens: u8,
    /// Entries of a switch's deflected flow table.
    pub table_entries: u32,
    /// What finds an entry.
    pub table_key: TableKey,
    /// A message is deflected when more than this waits ahead of its first packet.
    pub threshold: Bytes,
    /// Whether a threshold at or above that of congestion marks is taken as meant.
    pub force_threshold: bool,
    /// Whether the queue towards the destination host may deflect, back into the network.
    pub last_hop: bool,
    /// Whether ports whose own queue is above the threshold are no targets.
    pub avoid_full: bool,
    /// Virtual lanes.
    pub lanes: LaneCount,
    /// Where a message without tokens enters the escape lane.
    pub escape: Escape,
    /// What a message does that finds its output paused.
    pub blocked: Blocked,
    /// An entry of the table is reclaimed when nothing came for it for so long.
    pub reclaim_after: Time,
    /// DCQCN, for what neither of the two resolves.
    pub dcqcn: dcqcn::Params,
}

/// Bytes that Dart adds to each data packet and to each ACK (`wire` has the layout).
pub const EXTRA: Extra = Extra { data: 12, ack: 4 };
/// Bytes of a list of senders before its first entry: the number of the incast and the number of entries.
pub const LIST_HEADER: u16 = 6;
/// Bytes of each entry.
pub const LIST_ENTRY: u16 = 2;
/// Longest list that goes with a packet.
pub const LONGEST_LIST: usize = 500;
/// Tokens that the field on the wire can say.
pub const MOST_TOKENS: u8 = 7;

/// Bytes of the list of `senders` hosts (III-D); 0 where there is none, or where it is too long to go with a packet.
pub fn list_bytes(senders: usize) -> u16 {
    if senders == 0 || senders > LONGEST_LIST { 0 } else { LIST_HEADER + LIST_ENTRY * senders as u16 }
}

/// A share of the line as ACKs carry it: parts in the upper half, of so many in the lower. Zero says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Share {
    /// Parts that are the sender's.
    pub parts: u16,
    /// Parts that the line has.
    pub of: u16,
}

impl Share {
    /// All of the line.
    pub const ALL: Self = Self { parts: 1, of: 1 };

    /// As one field.
    pub const fn encode(self) -> u32 {
        (self.parts as u32) << 16 | self.of as u32
    }

    /// Out of the field; `None` where it says nothing.
    pub const fn decode(field: u32) -> Option<Self> {
        let share = Self { parts: (field >> 16) as u16, of: field as u16 };
        if share.parts == 0 || share.of == 0 { None } else { Some(share) }
    }
}

impl Scheme for Dart {
    type Params = Params;
    type Sender = sender::Flow;
    type Receiver = receiver::Receiver;
    type Switch = deflect::Table;
    const PRESETS: &'static [&'static str] =
        &["dart", "dart-lasthop", "dart-dasr", "dart-dasr-lookahead", "dart-iofd", "dart-packet-deflection"];

    fn preset(id: &str) -> Params {
        Params {
            apportion: id != "dart-iofd" && id != "dart-packet-deflection",
            look_ahead: matches!(id, "dart" | "dart-lasthop" | "dart-dasr-lookahead"),
            deflect: match id {
                "dart-dasr" | "dart-dasr-lookahead" => Deflect::Off,
                "dart-packet-deflection" => Deflect::Packet,
                _ => Deflect::Message,
            },
            window: Time::ZERO,
            window_steps: 1,
            full_rate: 0.95,
            leave_after: 2,
            clear_count: ClearCount::Senders,
            soft_state: Time::from_ms(2000),
            look_ahead_rate: 100_000.0,
            look_ahead_burst: 64,
            look_ahead_silent: 1024,
            tell_ahead: false,
            tenant_shares: Vec::new(),
            bdp_window: false,
            short_up_to: Bytes(8000),
            tokens: 4,
            table_entries: 8,
            table_key: TableKey::MessageAndTokens,
            threshold: Bytes(15_000),
            force_threshold: false,
            last_hop: id == "dart-lasthop",
            avoid_full: true,
            lanes: LaneCount::Two,
            escape: Escape::AfterLastMisroute,
            blocked: Blocked::Stay,
            reclaim_after: Time::from_ms(8),
            dcqcn: dcqcn::Dcqcn::preset("dcqcn"),
        }
    }

    fn lanes(p: &Params) -> Lanes {
        if p.deflect != Deflect::Off && p.lanes == LaneCount::Two { Lanes::Escape } else { Lanes::One }
    }

    fn launch(p: &Params, bytes: u64, senders: usize) -> Launch {
        // IV-B: tokens for short messages, none for long ones
        let short = p.deflect != Deflect::Off && bytes <= p.short_up_to.get();
        Launch {
            tokens: if short { p.tokens } else { 0 },
            lane: (short && p.tokens > 0 && Self::lanes(p) == Lanes::Escape) as u8,
            list: if p.apportion && p.look_ahead { list_bytes(senders) } else { 0 },
            whole: short,
            pinned: p.deflect != Deflect::Off,
        }
    }

    fn extra(_: &Params) -> Extra {
        EXTRA
    }

    fn check(p: &Params) -> Result<(), &'static str> {
        let rules = [
            ((1..=64).contains(&p.window_steps), "window_steps must be 1 to 64"),
            (p.full_rate > 0.0 && p.full_rate <= 1.0, "full_rate must be above 0 and at most 1, like 0.95"),
            (p.leave_after > 0, "leave_after must be at least 1"),
            (p.soft_state > Time::ZERO, "soft_state must be above 0, like \"2 s\""),
            (
                p.look_ahead_rate > 0.0 && p.look_ahead_rate.is_finite(),
                "look_ahead_rate must be above 0, like 100000; look_ahead = false refuses all lists",
            ),
            (p.look_ahead_burst > 0, "look_ahead_burst must be at least 1; look_ahead = false refuses all lists"),
            (p.look_ahead_silent <= 60_000, "look_ahead_silent must be at most 60000"),
            (
                p.tenant_shares.len() <= 256 && p.tenant_shares.iter().all(|s| *s >= 0.001 && *s <= 1.0),
                "tenant_shares must be up to 256 shares of the line from 0.001 to 1, like [0.5, 0.5]",
            ),
            (
                p.tenant_shares.iter().sum::<f64>() <= 1.000_001,
                "tenant_shares must not add up to more than 1, or the line is promised twice",
            ),
            (p.tokens <= MOST_TOKENS, "tokens must be 0 to 7, which is what three bits on the wire can say"),
            ((1..=4096).contains(&p.table_entries), "table_entries must be 1 to 4096"),
            (p.reclaim_after > Time::ZERO, "reclaim_after must be above 0, like \"8 ms\""),
        ];
        rules.into_iter().find(|(holds, _)| !holds).map_or(dcqcn::Dcqcn::check(&p.dcqcn), |(_, rule)| Err(rule))
    }
}
