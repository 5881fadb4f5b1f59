//! # dart: divide and specialise
//!
//! ## Idea
//! Most congestion in a datacenter is at the last link, where many send to one. There the receiver knows the answer: it
//! counts its senders and tells each of them its part of the line (DASR, direct apportioning of sending rates).
//! Congestion of a place inside the network is met by the switch, which deflects short messages around it and keeps
//! each message in order (IOFD, in-order flow deflection). What is left falls back to DCQCN.
//!
//! ## Signals
//! * Each ACK, in the control class, carries the sender's share of the line: parts, and of how many (1 of n).
//! * Start and end marks on the first and last packet of a message; a message is a flow of its own.
//! * With look-ahead, the first packet of an incast's message also carries the incast's number and the list of its
//!   senders, two bytes each. The list is part of the packet and takes room from its payload.
//! * Congestion marks of switches and of the source's NIC (III-C asks NICs to mark by their own queue). The receiver
//!   decides whether a mark is answered, by DCQCN's notification packets and by an echo on the ACK.
//! * What has entered the receiver from its link, in bytes on the wire.
//! * For deflection: tokens, lane and number of the attempt in each data packet (`wire` has the layout).
//!
//! ## Control law
//! Receiver, per host:
//! * The active unique sender set holds each sender with a message that has started and not ended, once (III-B). n is
//!   its size. A message joins with its first packet in order and leaves before the ACK of its last one. A sender of
//!   whom nothing came for `soft_state` leaves; a packet of a message that is still open brings it back.
//! * The first list of an incast puts all its senders into the set at once (III-D). One that does not send leaves
//!   after `soft_state`; later copies of the list say nothing. A tenant has `look_ahead_rate` lists per second and
//!   `look_ahead_silent` announced messages that have not started; lists beyond that are refused whole (III-E).
//! * At the end of each window (III-C, Fig. 5): no marks on data, no congestion; marks and at least `full_rate` of
//!   the line, receiver congestion; marks and less, non-receiver congestion. Congestion is entered at once, and left
//!   when `leave_after` windows in a row show the same other state.
//! * No congestion and receiver congestion: ACKs tell w/W, the sender's weight of all weights in the set (1/n where
//!   all weigh 1), times the tenant's share; marks are not answered. Non-receiver congestion: ACKs tell 1/1 and marks
//!   are answered.
//!
//! Sender:
//! * A message starts at line rate (III-A) and has a DCQCN reaction point of its own.
//! * All messages of a host to one receiver have C parts/of together, C being the smaller of the two NICs' rates: a
//!   bucket of one packet. Every packet adds its bits to the debt, C parts/of drains it, and a message whose first
//!   ACK has come waits until it is gone. Those that wait take turns, packet by packet: the one that sent longest ago
//!   is next. A message without an ACK does not wait, so the older ones pay for it.
//! * Another share takes effect at once: the debt stays, and with it the next packet moves.
//! * The rate of a message is the lower of that and DCQCN's RC. Neither knows of the other.
//! * The share is forgotten when the host has no message to that receiver any more. A connection that stays open has
//!   one while something of it is not acknowledged; what finds it idle begins at line rate, like any message.
//!
//! Switch (IV):
//! * A short message sets out with `tokens` and in the lane of what may be deflected; a long one with none, in the
//!   escape lane. When its start packet finds more than `threshold` ahead of it at its output, it goes to a random
//!   other port that leads to a switch, and the deflected flow table keeps that port for the packets behind it. The
//!   end packet frees the entry. Nothing else overwrites one: with a full table or without a fit port there is no
//!   deflection.
//! * Each deflection takes a token from each packet, and the tokens left are part of the entry's key, so a message
//!   that comes back to a switch makes a second entry and stays in order.
//! * Without tokens a message goes on in the escape lane, where nothing is deflected and routes have no cycle. It
//!   never leaves that lane (IV-B).
//! * A message that a failure hits is dropped and sent again whole, under another number of the attempt; entries of
//!   dropped messages are flushed, and entries idle for `reclaim_after` reclaimed (IV-C).
//!
//! Presets: `dart` is all of it; `dart-lasthop` also deflects in front of the receiver; `dart-dasr` has neither
//! look-ahead nor deflection, `dart-dasr-lookahead` no deflection; `dart-iofd` is deflection over DCQCN, without
//! shares; `dart-packet-deflection` deflects each packet by itself and so reorders, the counter-example of IV-A.
//!
//! ## Parameters
//! Letters and numbers are rows of the list of choices below.
//!
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `apportion` | true or false | true | DASR, III-A; off is DCQCN at both ends |
//! | `look_ahead` | true or false | true | III-D, B6; III-E allows for turning it off |
//! | `deflect` | `off`, `message` or `packet` | `message` | IOFD, IV-A |
//! | `window` | time | 0 ps | A1: not in the paper; 0 is the network's largest base round-trip time |
//! | `window_steps` | steps | 1 | A1: not in the paper |
//! | `full_rate` | share of the line | 0.95 | A2: III-C says "equal to line rate" |
//! | `leave_after` | windows | 2 | A5: not in the paper |
//! | `clear_count` | `senders` or `one` | `senders` | A7: III-A tells n with every ACK; Fig. 5 names none for this state |
//! | `soft_state` | time | 2 s | III-B, as its example; B5, B8 |
//! | `look_ahead_rate` | lists per second | 100000.0 | III-E names the attack; the number is ours |
//! | `look_ahead_burst` | lists | 64 | III-E; the number is ours |
//! | `look_ahead_silent` | announced messages | 1024 | III-E; the number is ours |
//! | `tell_ahead` | true or false | false | B9 |
//! | `tenant_shares` | shares of the line | [] | III-E, B10 |
//! | `bdp_window` | true or false | false | C13 |
//! | `short_up_to` | bytes | 8 KB | IV-B, VI-A: short flows have 2 to 8 KB |
//! | `tokens` | deflections | 4 | VI-A |
//! | `table_entries` | entries | 8 | VI-A |
//! | `table_key` | `message-and-tokens` or `message` | `message-and-tokens` | D7 |
//! | `threshold` | bytes | 15 KB | VI-A |
//! | `force_threshold` | true or false | false | IV-B: the threshold is below that of marks |
//! | `last_hop` | true or false | false | D5 |
//! | `avoid_full` | true or false | true | D3 |
//! | `lanes` | `two` or `one` | `two` | IV-B |
//! | `escape` | `after-last-misroute` or `on-last-misroute` | `after-last-misroute` | D12 |
//! | `blocked` | `stay` or `duato` | `stay` | D14 |
//! | `reclaim_after` | time | 8 ms | D17 |
//! | `deflect_connections` | true or false | false | D18 |
//! | `dcqcn` | parameters of `dcqcn` | as there | III-C, VI-A |
//!
//! ## Where we differ from the paper and why
//! The paper leaves much open. What we chose, row by row:
//!
//! State of the receiver:
//! * A1: windows follow one another, each one base round-trip time long; `window_steps` lets one slide on in so many
//!   steps, each of which is looked at. A window of fewer than 20 packets cannot tell 95 % from the line: windows at
//!   line rate differ by a packet.
//! * A2: full is `full_rate` of the line, since gaps of a packet cannot be told from it.
//! * A3: all bytes that enter the NIC count, whatever they are. A4: marks are those on data of the same window.
//! * A5: the state changes at the end of a window; what would leave a congested state needs `leave_after` windows.
//! * A6: one state per NIC. A7: n without congestion is the number of senders, or 1 by `clear_count`.
//! * A8: marks are answered in non-receiver congestion alone, so the marks of a first window never are. A9: what is
//!   suppressed is the answer, not the mark. A10: a suppressed mark does not count towards the next CNP either.
//! * A11: after a window's time without data the next window starts with the first packet, and one that has slid less
//!   than its length is taken at its real length. Windows without data are windows without marks; once they have
//!   cleared the state no timer runs.
//!
//! The set:
//! * B1, B2: a message counts from the arrival of its first packet to that of its last, both in order. B3: a sender
//!   has a set of open messages and counts once, however many they are (III-B, Fig. 4). B4: a number counts once, and
//!   a real start takes the place of its announcement by (incast, sender). A message that names its incast without a
//!   list is remembered, so that a later list does not wait for it.
//! * B5: a sender expires to the instant, by a timer that is set by the oldest. B6: each of an incast's messages
//!   carries the list. B7: the first to arrive counts, accepted or refused; a set remembers 4,096 incasts, the
//!   latest.
//! * B8: an announced message counts for `soft_state` from the list on, whatever else its sender sends. B9: those who
//!   are announced start at line rate and need not be told; `tell_ahead` sends an ACK to one flow of each active
//!   sender.
//! * B10: the share is a ratio of two 16-bit numbers and not in steps of 1/65,536, because C/n must be exact; one
//!   that does not fit is rounded to a ratio near it that does. A sender weighs what its heaviest open message does;
//!   one that is only announced, what the announcing message does. Tenants beyond `tenant_shares` have one set and
//!   what is left of the line, at least 0.001. In non-receiver congestion all are told 1/1.
//! * B11: nobody left is n = 1.
//!
//! The sender:
//! * C1: C is the smaller NIC rate. C2: the share holds until another is told. C3: it is of a sender, not of a
//!   message: III-B counts S once "because S's two incast flows would be serialized at S's NIC", so what S sends to D
//!   is one stream of C/n, and the NIC serializes packets, not messages. Its messages take turns packet by packet,
//!   each has an equal part of C/n while it has something to send, and a short one passes a long one, which is what
//!   III-A and III-B want of short messages. Message after message would be serial as well, but the later ones would
//!   starve. C4: shares towards different receivers are independent.
//! * C5: a new message pays into the bucket and does not wait for it before its first ACK (III-A: all flows begin at
//!   line rate). If an older message of its host holds 1/n, both pay back at C/n what it sent until then: n - 1 round
//!   trips of silence for a long one, in which no ACK tells another n. After that they take turns. The first message
//!   of a host to a receiver owes nothing, since no share was told before.
//! * C6: no message open, share and debt forgotten; on a connection that stays open, as soon as all of it is
//!   acknowledged, while its reaction point of DCQCN goes on. C7: pacing is per packet on wire bytes, exact in whole
//!   numbers.
//! * C8: C/n has no floor; DCQCN has. C9: min(C/n, RC). C10: n does not touch DCQCN's state.
//! * C11: without CNPs DCQCN's timers raise RC to C. C12: on entering non-receiver congestion senders jump to RC,
//!   which may be C, for a round trip at least: that is the paper's n = 1. C13: no window, or the network's
//!   bandwidth-delay product.
//!
//! Deflection:
//! * D1, D2: what is compared is the bytes ahead in the lane of the message, without ACKs, when its start packet
//!   joins.
//! * D3: ports are random among those that lead to switches, without the one it came from, the one it would take,
//!   and, with `avoid_full`, those above the threshold themselves. D4: other uplinks are among them, and cost a
//!   token.
//! * D5: in front of the receiver nothing is deflected, since I leaves that congestion to DASR; IV can be read
//!   otherwise: `last_hop`. D6: after a deflection the shortest way from there.
//! * D7, D8: the table's key is message, attempt and tokens left, and every deflected packet pays a token. By the
//!   message alone an end packet frees the entry at its first visit and overtakes the others at its second.
//! * D9 to D11: no deflection with a full table; the end packet frees; a message of one packet needs no entry.
//! * D12: the escape lane begins at the switch behind the last misroute, so that no misroute happens in it (IV-B: it
//!   is not deflected). In the queue of the misroute itself (`on-last-misroute`) that lane's channels depend on each
//!   other in a circle in a Clos of three tiers. D13: what may be deflected is in the other lane from the start on.
//! * D14: a message that is blocked stays in its lane. The escape lane is proven acyclic per network; the other lane
//!   is not, and can stand still for ever with small buffers. With `duato` a message whose start packet finds its
//!   output paused goes on whole in the escape lane; packets that already wait have no such way, so this helps and
//!   proves nothing.
//! * D15: lanes are served in turn, behind ACKs, so a long flow keeps half of a port against any number of short
//!   messages. D16: marks go by both lanes together, the threshold of deflection by the message's own: long flows,
//!   which are in the escape lane, never make a port hot for short ones. `lanes = "one"` is the other way in both.
//! * D17: see failures above; `reclaim_after` stands for two timeouts.
//! * D18: messages that share a connection which stays open are not deflected. IV-A keeps the packets of one message
//!   in order; on such a connection all messages have one order, so a deflected message that the next one overtakes
//!   looks lost, and go-back-N sends both again. `deflect_connections` deflects them all the same, to measure that.
//!
//! ## References
//! * Xue et al., Dart: Divide and Specialize for Fast Response to Congestion in RDMA-based Datacenter Networks,
//!   IEEE/ACM Transactions on Networking, 2020.
//! * Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015 (DCQCN).

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
    /// One for all, in which more of a network can deadlock.
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
    /// Whether messages that share a connection which stays open are deflected too. One that is overtaken by the next looks
    /// lost then, and go-back-N sends it again.
    pub deflect_connections: bool,
    /// DCQCN, for what neither of the two resolves.
    pub dcqcn: dcqcn::Params,
}

/// Bytes that Dart adds to each data packet and to each ACK (`wire` has the layout).
pub const HEADER_OVERHEAD: HeaderOverhead = HeaderOverhead { data: 12, ack: 4, telemetry: false };
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
            deflect_connections: false,
            dcqcn: dcqcn::Dcqcn::preset("dcqcn"),
        }
    }

    fn lanes(p: &Params) -> Lanes {
        if p.deflect != Deflect::Off && p.lanes == LaneCount::Two { Lanes::Escape } else { Lanes::One }
    }

    fn send_options(p: &Params, bytes: u64, senders: usize, connection: bool) -> SendOptions {
        // row D18: IV-A keeps the packets of one message in order, not messages among themselves
        let may = p.deflect != Deflect::Off && (!connection || p.deflect_connections);
        // IV-B: tokens for short messages, none for long ones
        let short = may && bytes <= p.short_up_to.get();
        SendOptions {
            tokens: if short { p.tokens } else { 0 },
            lane: (short && p.tokens > 0 && Self::lanes(p) == Lanes::Escape) as u8,
            list: if p.apportion && p.look_ahead { list_bytes(senders) } else { 0 },
            whole: short,
            pinned: p.deflect != Deflect::Off,
        }
    }

    fn header_overhead(_: &Params) -> HeaderOverhead {
        HEADER_OVERHEAD
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
