//! Dart's switch program: the rules of the deflected flow table one by one.

use crate::common::dart_switch::*;
use crate::common::us;
use fanin_cc::schemes::dart::{Blocked, Dart, Escape, LaneCount, Params};
use fanin_cc::*;
use fanin_claims::strict;
use fanin_units::{MessageId, Time};
use std::collections::HashSet;

/// Upper 1 % point of the chi-square distribution with 9 degrees of freedom (NIST/SEMATECH e-Handbook of Statistical
/// Methods, 1.3.6.7.4).
const CHI_SQUARE_9_01: f64 = 21.666;

#[test]
fn dart_dft_alloc() {
    // only a start packet makes an entry, under its message and tokens, with one of the ports that are allowed
    let mut s = Switch::new(preset(), 1);
    for n in [1, 2] {
        assert_eq!(s.route(&mut packet(1, n, 3), INGRESS, MINIMAL, &hot()), MINIMAL, "packet {n} of 3");
    }
    assert!(s.table.is_empty());
    let mut start = packet(1, 0, 3);
    let out = s.route(&mut start, INGRESS, MINIMAL, &hot());
    assert!((4..10).contains(&out), "{out}");
    let [entry] = s.table.entries() else { panic!("{:?}", s.table.entries()) };
    assert_eq!((entry.flow, entry.attempt, entry.tokens, entry.port), (MessageId(1), 0, 4, out));
    assert_eq!((start.tokens, start.lane), (3, 1));

    // not with a queue at or below the threshold, no tokens (long messages set out without), a full table
    let mut board = hot();
    board.0[MINIMAL as usize].ahead = [50_000, 15_000];
    assert_eq!(s.route(&mut packet(2, 0, 3), INGRESS, MINIMAL, &board), MINIMAL);
    let long = Dart::send_options(&s.params, 1_000_000, 0, false);
    assert_eq!((long.tokens, long.lane), (0, 0));
    let mut spent = Header { tokens: long.tokens, lane: long.lane, ..packet(3, 0, 700) };
    assert_eq!(s.route(&mut spent, INGRESS, MINIMAL, &hot()), MINIMAL);
    assert_eq!((s.table.len(), spent.tokens), (1, 0));
    assert_eq!(s.count(Action::TableFull), 0);
    for flow in 10..17 {
        assert_ne!(s.route(&mut packet(flow, 0, 2), INGRESS, MINIMAL, &hot()), MINIMAL);
    }
    let mut refused = packet(20, 0, 2);
    assert_eq!(s.route(&mut refused, INGRESS, MINIMAL, &hot()), MINIMAL);
    assert_eq!((s.table.len(), s.count(Action::TableFull), refused.tokens, refused.lane), (8, 1, 4, 1));
    // a message of one packet needs no entry (row D11)
    assert_ne!(s.route(&mut packet(21, 0, 1), INGRESS, MINIMAL, &hot()), MINIMAL);
    assert_eq!((s.table.len(), s.count(Action::MessageDeflected), s.count(Action::TokenSpent)), (8, 9, 9));

    // the port is uniform over those allowed: of 14 ports all but 2 hosts', ingress and minimal
    let mut s = Switch::new(Params { avoid_full: false, ..preset() }, 7);
    let mut board = Board::new(2, 12);
    board.0.iter_mut().for_each(|p| p.ahead[1] = 20_000);
    let draws = 100_000u32;
    let mut seen = [0u32; 14];
    for flow in 0..draws {
        let out = s.route(&mut packet(flow, 0, 2), INGRESS, MINIMAL, &board);
        assert_eq!(s.route(&mut packet(flow, 1, 2), INGRESS, MINIMAL, &board), out);
        seen[out as usize] += 1;
    }
    assert_eq!(seen[..4], [0; 4]);
    let expected = f64::from(draws) / 10.0;
    let chi: f64 = seen[4..].iter().map(|n| (f64::from(*n) - expected).powi(2) / expected).sum();
    assert!(chi < CHI_SQUARE_9_01, "{chi}: {seen:?}");
    assert_eq!(s.count(Action::EntryFreed), u64::from(draws));
    let mut rows = fanin_claims::claim!("dart-dft-alloc");
    rows.asserted(
        "entries by others than start packets of short messages with tokens, above the threshold, with room",
        "0",
        "0",
    );
    let accept = format!("below {CHI_SQUARE_9_01}, one chance in a hundred");
    rows.row(
        "chi-square of 100,000 ports, each one of 10",
        "uniform",
        format!("{chi:.1}"),
        &accept,
        strict(chi < CHI_SQUARE_9_01),
    );
}

/// Row D3 and IV-A: ports that are no targets.
#[test]
fn targets() {
    let all: HashSet<u16> = (4..10).collect();
    let outs = |s: &mut Switch, board: &Board, minimal: u16| -> HashSet<u16> {
        (0..300).map(|flow| s.route(&mut packet(flow, 0, 1), INGRESS, minimal, board)).collect()
    };
    assert_eq!(outs(&mut Switch::new(preset(), 3), &hot(), MINIMAL), all);

    // down, or above the threshold in the packet's lane
    let mut board = hot();
    board.0[4].up = false;
    board.0[5].ahead = [90_000, 15_000];
    board.0[6].ahead = [0, 15_001];
    assert_eq!(outs(&mut Switch::new(preset(), 3), &board, MINIMAL), HashSet::from([5, 7, 8, 9]));
    let mut s = Switch::new(Params { avoid_full: false, ..preset() }, 3);
    assert_eq!(outs(&mut s, &board, MINIMAL), HashSet::from([5, 6, 7, 8, 9]));

    // none left: counted, and the message stays whole on its way
    let mut s = Switch::new(preset(), 3);
    board.0[5..].iter_mut().for_each(|p| p.ahead[1] = 15_001);
    assert_eq!(outs(&mut s, &board, MINIMAL), HashSet::from([MINIMAL]));
    assert_eq!((s.count(Action::NoPortFit), s.count(Action::TokenSpent)), (300, 0));

    // row D5: the last hop deflects only with `last_hop`, back into the network
    let mut board = Board::new(2, 8);
    board.0[0].ahead[1] = 20_000;
    assert_eq!(outs(&mut Switch::new(preset(), 3), &board, 0), HashSet::from([0]));
    let mut s = Switch::new(Dart::preset("dart-lasthop"), 3);
    assert_eq!(outs(&mut s, &board, 0), (3..10).collect());
}

#[test]
fn dart_dft_no_overwrite() {
    let mut s = Switch::new(preset(), 1);
    // 64 messages of three packets, one packet of each in turn
    let outs: Vec<u16> = (0..64).map(|flow| s.route(&mut packet(flow, 0, 3), INGRESS, MINIMAL, &hot())).collect();
    let entries = s.table.entries().to_vec();
    let flows: HashSet<u32> = entries.iter().map(|e| e.flow.0).collect();
    assert_eq!(flows, (0..8).collect());
    assert!(outs[..8].iter().all(|out| *out != MINIMAL) && outs[8..].iter().all(|out| *out == MINIMAL), "{outs:?}");
    for flow in (0..64).rev() {
        let before = s.table.entries().to_vec();
        let mut middle = packet(flow, 1, 3);
        assert_eq!(s.route(&mut middle, INGRESS, MINIMAL, &hot()), outs[flow as usize]);
        assert_eq!(middle.tokens, if flow < 8 { 3 } else { 4 });
        // and a message of one packet takes none and frees none
        s.route(&mut packet(1000 + flow, 0, 1), INGRESS, MINIMAL, &hot());
        assert_eq!(s.table.entries(), before);
    }
    assert_eq!(s.table.entries(), entries);
    // the ends of the messages that had no room free nothing
    for flow in 8..64 {
        assert_eq!(s.route(&mut packet(flow, 2, 3), INGRESS, MINIMAL, &hot()), MINIMAL);
        assert_eq!(s.table.len(), 8);
    }
    s.now = us(3);
    for flow in 0..8 {
        // the queue has drained meanwhile
        assert_eq!(s.route(&mut packet(flow, 2, 3), INGRESS, MINIMAL, &Board::new(2, 8)), outs[flow as usize]);
        assert!(!s.table.entries().iter().any(|e| e.flow.0 <= flow), "{flow}");
        assert_eq!(s.table.len(), 7 - flow as usize);
    }
    assert!(s.table.is_empty());
    assert_eq!((s.count(Action::EntryFreed), s.count(Action::TableFull)), (8, 56));
    assert_eq!((s.count(Action::MessageDeflected), s.count(Action::TokenSpent)), (8 + 64, 8 * 3 + 64));
    assert_eq!(s.count(Action::EntryTime), 8 * 3000);
    assert_eq!(s.watched(), [("table_entries", 0.0), ("table_peak", 8.0)]);
    // there is room again
    assert_ne!(s.route(&mut packet(99, 0, 2), INGRESS, MINIMAL, &hot()), MINIMAL);
    let mut rows = fanin_claims::claim!("dart-dft-no-overwrite");
    let (freed, full) = (s.count(Action::EntryFreed), s.count(Action::TableFull));
    rows.asserted("entries that change before the end packet of their message, 64 messages at a table of 8", "0", "0");
    rows.asserted(
        "entries freed by end packets, and start packets that found the table full",
        "8, 56",
        format!("{freed}, {full}"),
    );
}

#[test]
fn dart_fig7_lookup() {
    // the only port that is fit is number 12
    let mut board = Board::new(2, 12);
    board.0[2..].iter_mut().for_each(|p| p.up = false);
    board.0[12].up = true;
    board.0[MINIMAL as usize] = Port { up: true, ahead: [0, 20_000], ..board.0[MINIMAL as usize] };
    let mut s = Switch::new(preset(), 1);
    assert_eq!(s.route(&mut packet(0xBC, 0, 100), INGRESS, MINIMAL, &board), 12);
    for ahead in [20_000, 15_000, 0] {
        board.0[MINIMAL as usize].ahead[1] = ahead;
        assert_eq!(s.route(&mut packet(0xBC, 1, 100), INGRESS, MINIMAL, &board), 12);
        // a miss takes its normal way, whatever port that is
        for bit in 0..32 {
            let mut other = packet(0xBC ^ 1 << bit, 1, 100);
            assert_eq!(s.route(&mut other, INGRESS, MINIMAL, &board), MINIMAL, "bit {bit}");
            assert_eq!(s.route(&mut other, INGRESS, 7, &board), 7, "bit {bit}");
        }
        for bit in 0..16 {
            let mut other = Header { attempt: 1 << bit, ..packet(0xBC, 1, 100) };
            assert_eq!(s.route(&mut other, INGRESS, MINIMAL, &board), MINIMAL, "attempt, bit {bit}");
        }
        for tokens in [0, 1, 2, 3, 5, 6, 7] {
            let mut other = Header { tokens, ..packet(0xBC, 1, 100) };
            assert_eq!(s.route(&mut other, INGRESS, MINIMAL, &board), MINIMAL, "{tokens} tokens");
        }
    }
    assert_eq!(s.table.len(), 1);
    let mut rows = fanin_claims::claim!("dart-fig7-lookup");
    rows.asserted("port of message 0xBC, with queues of 20 KB, 15 KB and none", "12", "12");
    rows.asserted("messages that match although a bit, the attempt or the tokens differ", "0", "0");
}

/// The part of a switch; the network's part is tested in the fabric.
#[test]
fn dart_iofd_threshold_order_in_the_switch() {
    // whole packets wait ahead, as many as it takes: the first deflection is above 15 KB and at most a packet above
    let mut s = Switch::new(preset(), 1);
    let mut board = Board::new(2, 8);
    let first = (0..60_000).step_by(10).find(|ahead| {
        board.0[MINIMAL as usize].ahead = [60_000 - ahead, *ahead];
        s.route(&mut packet(*ahead as u32, 0, 1), INGRESS, MINIMAL, &board) != MINIMAL
    });
    assert_eq!(first, Some(15_010));
    board.0[MINIMAL as usize].ahead[1] = 15_000;
    assert_eq!(s.route(&mut packet(1, 0, 1), INGRESS, MINIMAL, &board), MINIMAL);
    board.0[MINIMAL as usize].ahead[1] = 15_001;
    assert_ne!(s.route(&mut packet(1, 0, 1), INGRESS, MINIMAL, &board), MINIMAL);
    let mut rows = fanin_claims::claim!("dart-iofd-threshold-order");
    rows.asserted(
        "queue at which a switch deflects first, in steps of 10 B",
        "above 15,000 B",
        format!("{} B", first.unwrap_or(0)),
    );
}

/// The part of switches: one message through a chain of congested ones. The network's part is tested in the fabric.
#[test]
fn dart_iofd_tokens_in_the_switch() {
    assert!(Dart::check(&Params { tokens: 7, ..preset() }).is_ok());
    assert!(Dart::check(&Params { tokens: 8, ..preset() }).is_err(), "three bits");
    assert_eq!(Dart::send_options(&preset(), 8000, 0, false).tokens, 4);
    for (escape, lanes) in [
        (Escape::AfterLastMisroute, LaneCount::Two),
        (Escape::OnLastMisroute, LaneCount::Two),
        (Escape::AfterLastMisroute, LaneCount::One),
        (Escape::OnLastMisroute, LaneCount::One),
    ] {
        let params = Params { escape, lanes, ..preset() };
        let lane = Dart::send_options(&params, 8000, 0, false).lane;
        let mut board = hot();
        board.0[MINIMAL as usize].ahead = [20_000; 2];
        let mut packets: Vec<Header> = (0..6).map(|n| Header { lane, ..packet(1, n, 6) }).collect();
        let (mut misroutes, mut escapes) = (0, 0);
        let mut lanes_seen = Vec::new();
        for hop in 0..10 {
            let mut s = Switch::new(params.clone(), hop);
            let seen: HashSet<(u16, u8, u8)> = packets
                .iter_mut()
                .map(|p| {
                    let out = s.route(p, INGRESS, MINIMAL, &board);
                    (out, p.tokens, p.lane)
                })
                .collect();
            let [(out, tokens, lane)] = seen.into_iter().collect::<Vec<_>>()[..] else { panic!("not one way") };
            misroutes += u8::from(out != MINIMAL);
            assert_eq!(tokens, 4 - misroutes);
            assert_eq!(s.count(Action::TokenSpent), if out != MINIMAL { 6 } else { 0 });
            assert_eq!(s.count(Action::MessageDeflected), u64::from(out != MINIMAL));
            escapes += s.count(Action::Escaped);
            lanes_seen.push(lane);
            assert!(s.table.is_empty());
        }
        assert_eq!(misroutes, 4);
        // row D12 and the hop that we add to it
        let non_escape = match (lanes, escape) {
            (LaneCount::One, _) => 0,
            (_, Escape::AfterLastMisroute) => 4,
            (_, Escape::OnLastMisroute) => 3,
        };
        let expected: Vec<u8> = (0..10).map(|hop| u8::from(hop < non_escape)).collect();
        assert_eq!((lanes_seen, escapes), (expected, u64::from(lanes == LaneCount::Two)));
    }
    let mut rows = fanin_claims::claim!("dart-iofd-tokens");
    rows.asserted(
        "misroutes of each of a message's packets at ten hot switches, and tokens that a header may have",
        "4, 3 bits",
        "4, up to 7",
    );
}

/// Row D14 with `duato`.
#[test]
fn a_blocked_message_escapes_whole() {
    let params = Params { blocked: Blocked::Duato, ..preset() };
    let mut board = Board::new(2, 8);
    board.0[MINIMAL as usize].paused = [false, true];
    let escaped = |p: &Header| (p.lane, p.tokens) == (0, 0);
    let mut s = Switch::new(params.clone(), 1);
    // from its start packet on, even when the pause is over and its shortest way is another one
    let mut start = packet(1, 0, 3);
    assert_eq!(s.route(&mut start, INGRESS, MINIMAL, &board), MINIMAL);
    assert!(escaped(&start) && s.table.entries()[0].to_escape);
    let mut middle = packet(1, 1, 3);
    assert_eq!(s.route(&mut middle, INGRESS, 5, &Board::new(2, 8)), MINIMAL);
    let mut end = packet(1, 2, 3);
    assert_eq!(s.route(&mut end, INGRESS, MINIMAL, &Board::new(2, 8)), MINIMAL);
    assert!(escaped(&middle) && escaped(&end) && s.table.is_empty());
    assert_eq!((s.count(Action::Escaped), s.count(Action::EntryFreed), s.count(Action::TokenSpent)), (1, 1, 0));
    // not a message under way, none where the escape lane is paused as well, none that is deflected, none by default
    let mut p = packet(2, 1, 3);
    s.route(&mut p, INGRESS, MINIMAL, &board);
    assert!(!escaped(&p));
    board.0[MINIMAL as usize].paused = [true, true];
    let mut p = packet(2, 0, 3);
    s.route(&mut p, INGRESS, MINIMAL, &board);
    assert!(!escaped(&p) && s.table.is_empty());
    board.0[MINIMAL as usize] = Port { ahead: [0, 20_000], paused: [false, true], ..board.0[MINIMAL as usize] };
    let mut p = packet(2, 0, 3);
    assert_ne!(s.route(&mut p, INGRESS, MINIMAL, &board), MINIMAL);
    assert_eq!((p.lane, p.tokens), (1, 3));
    board.0[MINIMAL as usize].ahead[1] = 0;
    for params in [preset(), Params { lanes: LaneCount::One, ..params.clone() }] {
        let mut p = packet(2, 0, 3);
        Switch::new(params, 1).route(&mut p, INGRESS, MINIMAL, &board);
        assert_eq!((p.lane, p.tokens), (1, 4));
    }
    // no room for the entry: it stays, unless no packet follows
    let mut s = Switch::new(Params { table_entries: 1, ..params }, 1);
    s.route(&mut packet(1, 0, 3), INGRESS, MINIMAL, &board);
    let (mut two, mut one) = (packet(2, 0, 2), packet(3, 0, 1));
    s.route(&mut two, INGRESS, MINIMAL, &board);
    s.route(&mut one, INGRESS, MINIMAL, &board);
    assert!(!escaped(&two) && escaped(&one));
    assert_eq!((s.table.len(), s.count(Action::Escaped), s.count(Action::TableFull)), (1, 2, 0));
}

/// IV-C, row D17.
#[test]
fn failures_flush_and_time_reclaims() {
    let mut s = Switch::new(preset(), 1);
    assert_eq!(s.table.wake_at(), Time::NEVER);
    let outs: Vec<u16> = (0..8).map(|flow| s.route(&mut packet(flow, 0, 3), INGRESS, MINIMAL, &hot())).collect();
    let gone = outs.iter().filter(|out| **out == outs[0]).count();
    s.now = us(5);
    s.cx(|table, cx| table.on_link_down(outs[0], cx));
    assert_eq!((s.table.len(), s.count(Action::EntryFlushed)), (8 - gone, gone as u64));
    assert_eq!(s.count(Action::EntryTime), gone as u64 * 5000);
    assert!(s.table.entries().iter().all(|e| e.port != outs[0]));
    // a dropped packet takes the entries of its message and attempt with it, whatever tokens it had
    let left = s.table.entries()[0].flow.0;
    let mut again = Header { tokens: 2, ..packet(left, 0, 3) };
    let again_out = s.route(&mut again, INGRESS, MINIMAL, &hot());
    s.cx(|table, cx| table.on_drop(&Header { attempt: 1, ..packet(left, 1, 3) }, cx));
    assert_eq!(s.table.len(), 9 - gone);
    s.cx(|table, cx| table.on_drop(&packet(left, 1, 3), cx));
    assert_eq!((s.table.len(), s.count(Action::EntryFlushed)), (7 - gone, gone as u64 + 2));
    assert!(again_out != MINIMAL && s.table.entries().iter().all(|e| e.flow.0 != left));

    // an idle entry is reclaimed after 8 ms; until the timer runs, its time is only a bound
    let mut s = Switch::new(preset(), 1);
    let after = s.params.reclaim_after;
    let outs: Vec<u16> = (0..2)
        .map(|flow| {
            s.now = us(flow as u64);
            s.route(&mut packet(flow, 0, 3), INGRESS, MINIMAL, &hot())
        })
        .collect();
    assert_eq!(s.table.wake_at(), after);
    s.now = us(100);
    assert_eq!(s.route(&mut packet(0, 1, 3), INGRESS, MINIMAL, &hot()), outs[0]);
    s.now = after;
    s.timer();
    assert_eq!((s.table.len(), s.table.wake_at()), (2, after + us(1)));
    s.now = after + us(1);
    s.timer();
    assert_eq!((s.table.len(), s.table.wake_at(), s.count(Action::EntryReclaimed)), (1, after + us(100), 1));
    assert_eq!(s.count(Action::EntryTime), 8_000_000);
    s.now = after + us(100);
    s.timer();
    assert_eq!((s.table.len(), s.table.wake_at(), s.count(Action::EntryReclaimed)), (0, Time::NEVER, 2));
    // late packets take the shortest path and make no entry
    assert_eq!(s.route(&mut packet(0, 2, 3), INGRESS, MINIMAL, &hot()), MINIMAL);
    // by ends and failures, too, an empty table never wakes
    s.route(&mut packet(5, 0, 2), INGRESS, MINIMAL, &hot());
    assert_eq!(s.table.wake_at(), s.now + after);
    s.route(&mut packet(5, 1, 2), INGRESS, MINIMAL, &hot());
    assert_eq!(s.table.wake_at(), Time::NEVER);
}

/// A retransmission finds no entry of an attempt before it.
#[test]
fn attempts_are_apart() {
    let mut s = Switch::new(preset(), 1);
    s.route(&mut packet(1, 0, 3), INGRESS, MINIMAL, &hot());
    let idle = Board::new(2, 8);
    for n in 0..3 {
        let mut again = Header { attempt: 1, ..packet(1, n, 3) };
        assert_eq!(s.route(&mut again, INGRESS, MINIMAL, &idle), MINIMAL);
        assert_eq!(again.tokens, 4);
    }
    assert_eq!(s.table.len(), 1);
}

/// The counter-example has no table, and counts its deflections all the same.
#[test]
fn packet_by_packet_keeps_no_entry() {
    let mut s = Switch::new(Dart::preset("dart-packet-deflection"), 1);
    let outs: HashSet<u16> = (0..300).map(|n| s.route(&mut packet(1, n, 300), INGRESS, MINIMAL, &hot())).collect();
    assert_eq!(outs, (4..10).collect());
    assert_eq!((s.count(Action::TokenSpent), s.count(Action::MessageDeflected)), (300, 1));
    assert!(s.table.is_empty() && s.table.wake_at() == Time::NEVER);
}
