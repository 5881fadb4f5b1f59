//! # dart: divide and specialise
//!
//! ## Idea
//! Most congestion in a datacenter occurs at the last link, where many hosts send to one. The receiver can resolve it:
//! it counts its senders and gives each of them a share of its line (DASR, direct apportioning of sending rates).
//! Congestion inside the network is resolved by the switch, which deflects short messages around it and keeps the
//! packets of each message in order (IOFD, in-order flow deflection). DCQCN handles the rest.
//!
//! ## Signals
//! * Each ACK, in the control class, carries the sender's share of the line as a fraction (1/n).
//! * The first and last packet of a message carry start and end marks; a message is a flow of its own.
//! * With look-ahead, the first packet of an incast's message also carries the number of the incast and the list of its
//!   senders, two bytes each. The list takes room from the packet's payload.
//! * Switches set congestion marks, and so does the source's NIC (III-C asks NICs to mark by their own queue). The
//!   receiver decides whether to answer a mark, by a notification packet of DCQCN and an echo on the ACK.
//! * The receiver measures the bytes on the wire that have entered it.
//! * For deflection, each data packet carries tokens, lane and attempt number (`wire` has the layout).
//!
//! ## Control law
//! Receiver, per host:
//! * The active unique sender set contains each host with a message that has started and not ended, once (III-B); n is
//!   its size. A message joins with its first packet in order and leaves before the ACK of its last one. A sender that
//!   has been silent for `soft_state` leaves; a packet of a message that is still open brings it back.
//! * The first list of an incast adds all its senders to the set at once (III-D). One that does not send leaves after
//!   `soft_state`; later copies of the list are ignored. A tenant has `look_ahead_rate` lists per second and
//!   `look_ahead_silent` announced messages that have not started; a list beyond that is refused whole (III-E).
//! * At the end of each window (III-C, Fig. 5) the receiver decides its state: without marks on data, no congestion;
//!   with marks and at least `full_rate` of the line in use, receiver congestion; with marks and less in use,
//!   non-receiver congestion. A congested state is entered at once, and left when `leave_after` windows in a row show
//!   the same other state.
//! * Without congestion and in receiver congestion, ACKs carry w/W, the sender's weight over the sum of weights in the
//!   set (1/n where all weigh 1), times the tenant's share; marks are not answered. In non-receiver congestion, ACKs
//!   carry 1/1 and marks are answered.
//!
//! Sender:
//! * A message starts at line rate (III-A) and has a DCQCN reaction point of its own.
//! * All messages of a host to one receiver together have the rate C parts/of, where C is the lower of the two NICs'
//!   rates and parts/of is the share. A token bucket of one packet enforces it: every packet adds its bits to a debt,
//!   the debt drains at C parts/of, and a message whose first ACK has arrived waits until it is zero. Waiting messages
//!   take turns, packet by packet, the least recently served first. A message without an ACK does not wait, so the
//!   older ones pay for it.
//! * A new share takes effect at once: the debt stays, and the time of the next packet changes accordingly.
//! * The rate of a message is the lower of that and DCQCN's RC. The two do not interact.
//! * The share is forgotten when the host has no message to that receiver any more. A connection that stays open has a
//!   message while it has unacknowledged data; a message posted on an idle connection starts at line rate, like any
//!   other.
//!
//! Switch (IV):
//! * A short message starts with `tokens` tokens in the deflectable lane, a long one with none in the escape lane. When
//!   more than `threshold` bytes wait ahead of its start packet at its output, the packet goes to a random other port
//!   that leads to a switch, and the deflected flow table stores that port for the packets behind it. The end packet
//!   frees the entry. No entry is overwritten: with a full table or without a suitable port the message is not
//!   deflected.
//! * Each deflection takes a token from each packet, and the remaining tokens are part of the entry's key, so a message
//!   that returns to a switch makes a second entry and stays in order.
//! * Without tokens a message continues in the escape lane, where nothing is deflected and routes have no cycle. It
//!   never leaves that lane (IV-B).
//! * A message hit by a failure is dropped and retransmitted whole, with another attempt number; entries of dropped
//!   messages are flushed, and entries idle for `reclaim_after` are reclaimed (IV-C).
//!
//! Presets: `dart` is the whole scheme; `dart-lasthop` also deflects in front of the receiver; `dart-dasr` has neither
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
//! | `line_share` | share of the line | 1 | C14: not in the paper; 1 is the paper's C |
//! | `leave_after` | windows | 2 | A5: not in the paper |
//! | `clear_count` | `senders` or `one` | `senders` | A7: in III-A every ACK carries n; Fig. 5 names none here |
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
//! The paper leaves many details open. Our choices, row by row:
//!
//! State of the receiver:
//! * A1: windows follow one another, each one base round-trip time long; `window_steps` makes one window slide in that
//!   many steps, with a decision after each. A window of fewer than 20 packets cannot distinguish 95 % from full line
//!   rate, since windows at line rate differ by a packet.
//! * A2: full is `full_rate` of the line, because a gap of one packet cannot be distinguished from full use.
//! * A3: all bytes that enter the NIC count, of any kind. A4: the marks that count are those on data in the same
//!   window.
//! * A5: the state changes at the end of a window; leaving a congested state needs `leave_after` windows.
//! * A6: one state per NIC. A7: n without congestion is the number of senders, or 1 by `clear_count`.
//! * A8: marks are answered in non-receiver congestion alone, so the marks of a first window never are. A9: the answer
//!   is suppressed, not the mark. A10: a suppressed mark does not count towards the next CNP either.
//! * A11: after a window's time without data the next window starts with the first packet, and a sliding window that is
//!   not yet full is evaluated over its actual length. Windows without data count as windows without marks; once they
//!   have cleared the state no timer runs.
//!
//! The set:
//! * B1, B2: a message counts from the arrival of its first packet to that of its last, both in order. B3: a sender has
//!   a set of open messages and counts once, however many they are (III-B, Fig. 4). B4: a number counts once, and an
//!   actual start replaces its announcement by (incast, sender). A message that names its incast without a list is
//!   remembered, so that a later list does not wait for it.
//! * B5: a sender expires exactly on time, by a timer set for the oldest. B6: each message of an incast carries the
//!   list. B7: the first list to arrive counts, accepted or refused; a set remembers the latest 4,096 incasts.
//! * B8: an announced message counts for `soft_state` from the arrival of the list, whatever else its sender sends. B9:
//!   announced senders start at line rate and need no notification; `tell_ahead` sends an ACK to one flow of each
//!   active sender.
//! * B10: the share is a ratio of two 16-bit numbers and not a multiple of 1/65,536, because C/n must be exact; a ratio
//!   that does not fit is rounded to a close one that does. The weight of a sender is that of its heaviest open
//!   message, or, if it is only announced, that of the announcing message. Tenants beyond `tenant_shares` have one set
//!   and the rest of the line, at least 0.001. In non-receiver congestion every share is 1/1.
//! * B11: with no sender left n is 1.
//!
//! The sender:
//! * C1: C is the lower rate of the two NICs, since C/n divides the receiver's line and no NIC is faster than its own.
//!   The receiver's rate comes with its first share: before its first ACK a message does not wait for the bucket, so
//!   nothing uses it. The paper's NICs are equal and its headers need no field for the rate; neither have ours. C2: a
//!   share holds until the next one arrives. C3: it belongs to a sender, not to a message: III-B counts S once
//!   "because S's two incast flows would be serialized at S's NIC", so all messages from S to D form one stream of
//!   C/n, and the NIC serializes packets, not messages. Its messages take turns packet by packet, each gets an equal
//!   part of C/n while it has data to send, and a short one overtakes a long one, as III-A and III-B intend for short
//!   messages. Sending message after message would be serial as well, but the later ones would starve. C4: shares
//!   towards different receivers are independent.
//! * C5: a new message adds to the debt and does not wait for it before its first ACK (III-A: all flows begin at line
//!   rate). If an older message of its host holds 1/n, both pay back at C/n the bytes that the new one sent until then:
//!   n - 1 round trips of silence for a long one, in which no ACK brings another n. After that they take turns. The
//!   first message of a host to a receiver owes nothing, since no share was known before.
//! * C6: with no message open, share and debt are forgotten; on a connection that stays open, as soon as all of it is
//!   acknowledged, while its DCQCN reaction point continues. C7: pacing is per packet on wire bytes, exact in integers.
//! * C8: C/n has no floor; DCQCN has. C9: min(C/n, RC). C10: n does not change DCQCN's state.
//! * C11: without CNPs DCQCN's timers raise RC to C. C12: on entering non-receiver congestion senders jump to RC, which
//!   may be C, for at least a round trip: this is the paper's n = 1. C13: no window, or the network's bandwidth-delay
//!   product. C14: shares that add up to exactly C leave nothing of the line for a queue that has formed, so it stays
//!   until a sender pauses; C/n is of `line_share` of the line, which is all of it unless set.
//!
//! Deflection:
//! * D1, D2: the threshold applies to the bytes ahead in the lane of the message, without ACKs, when its start packet
//!   joins.
//! * D3: the port is random among those that lead to switches, except the one it came from, the one it would take, and,
//!   with `avoid_full`, those above the threshold themselves. D4: other uplinks are among them, and cost a token.
//! * D5: nothing is deflected in front of the receiver, because I leaves that congestion to DASR; IV can be read
//!   otherwise: `last_hop`. D6: after a deflection the message follows the shortest path from there.
//! * D7, D8: the table's key is message, attempt and remaining tokens, and every deflected packet pays a token. With
//!   the message alone as key, an end packet frees the entry at its first visit and overtakes the others at its second.
//! * D9 to D11: no deflection with a full table; the end packet frees the entry; a message of one packet needs none.
//! * D12: the escape lane begins at the switch behind the last misroute, so that no misroute happens in it (IV-B: it is
//!   not deflected). If it began in the queue of the misroute itself (`on-last-misroute`), the channels of that lane
//!   would depend on each other in a cycle in a Clos of three tiers. D13: a deflectable message is in the other lane
//!   from the start.
//! * D14: a blocked message stays in its lane. The escape lane is proven acyclic per network; the other lane is not,
//!   and can deadlock with small buffers. With `duato` a message whose start packet finds its output paused continues
//!   whole in the escape lane; packets that already wait have no such way out, so this helps and proves nothing.
//! * D15: lanes are served in turn, behind ACKs, so a long flow keeps half of a port against any number of short
//!   messages. D16: marking counts both lanes together, the threshold of deflection only the message's own: long flows,
//!   which are in the escape lane, never cause short ones to be deflected. `lanes = "one"` is the opposite choice in
//!   both.
//! * D17: see failures above; `reclaim_after` stands for two timeouts.
//! * D18: messages that share a connection which stays open are not deflected. IV-A keeps the packets of one message in
//!   order; on such a connection all messages have one order, so a deflected message overtaken by the next one appears
//!   lost, and go-back-N retransmits both. `deflect_connections` deflects them all the same, to measure the effect.
//!
//! ## References
//! * Xue et al., Dart: Divide and Specialize for Fast Response to Congestion in RDMA-based Datacenter Networks,
//!   IEEE/ACM Transactions on Networking, 2020.
//! * Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015 (DCQCN).

pub mod auss;
pub mod deflect;
mod fields;
mod params;
pub mod receiver;
pub mod sender;
mod summary;

pub use fields::{HEADER_OVERHEAD, LIST_ENTRY, LIST_HEADER, LONGEST_LIST, MOST_TOKENS, Share, list_bytes};
pub use params::{Blocked, ClearCount, Deflect, Escape, LaneCount, Params, TableKey};
pub use summary::Summary;

use super::dcqcn;
use crate::roles::*;
use alloc::vec::Vec;
use fanin_units::{Bytes, Time};

/// The scheme.
pub struct Dart;

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
            line_share: 1.0,
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
        let list = if p.apportion && p.look_ahead { list_bytes(senders) } else { 0 };
        let long = SendOptions { list, pinned: p.deflect != Deflect::Off, ..SendOptions::default() };
        let lane = (p.tokens > 0 && Self::lanes(p) == Lanes::Escape) as u8;
        if short { SendOptions { tokens: p.tokens, lane, whole: true, ..long } } else { long }
    }

    fn header_overhead(_: &Params) -> HeaderOverhead {
        HEADER_OVERHEAD
    }

    fn rdma_only(_: &Params) -> Option<&'static str> {
        // III-B: it counts messages by their marked starts and ends
        Some("counts messages, and a TCP stream does not mark where they start and end")
    }

    fn deflection(p: &Params) -> Option<Deflection> {
        let entry = match p.escape {
            Escape::AfterLastMisroute => EscapeEntry::AfterLastMisroute,
            Escape::OnLastMisroute => EscapeEntry::OnLastMisroute { last_hop: p.last_hop },
        };
        let escape = (Self::lanes(p) == Lanes::Escape).then_some(entry);
        let deflection = Deflection { threshold: p.threshold, above_marks: p.force_threshold, escape };
        (p.deflect != Deflect::Off).then_some(deflection)
    }

    fn wire_format(_: &Params) -> WireFormat {
        WireFormat::Dart
    }

    fn check(p: &Params) -> Result<(), &'static str> {
        let rules = [
            ((1..=64).contains(&p.window_steps), "window_steps must be 1 to 64"),
            (p.full_rate > 0.0 && p.full_rate <= 1.0, "full_rate must be above 0 and at most 1, like 0.95"),
            (
                p.line_share >= p.full_rate && p.line_share <= 1.0,
                "line_share must be from full_rate to 1, like 0.98, or a full line never counts as full",
            ),
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
