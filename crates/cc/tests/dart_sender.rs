//! Dart's sender on a virtual clock. Tests named by a row (`c7_`) hold that row of the manual's list.
//! `common::dart` has the host and its clock.

use crate::common::dart::*;
use crate::common::{path, us};
use fanin_cc::schemes::dart::{Dart, Params};
use fanin_cc::*;
use fanin_units::{Rate, Time};

#[test]
fn c2_c3_a_host_has_one_nth_of_the_line() {
    let mut s = dasr();
    let (a, b) = (s.old(3), s.old(3));
    // Each packet of either keeps both back for three packet times, from when it left.
    let begin = s.now;
    for k in 0..10 {
        s.now = begin + SLOT.saturating_mul(3 * k);
        assert!(s.free_at(a) <= s.now && s.free_at(b) <= s.now);
        s.send(if k % 3 == 0 { a } else { b });
        assert_eq!((s.free_at(a), s.free_at(b)), (s.now + SLOT.saturating_mul(3), s.now + SLOT.saturating_mul(3)));
        assert!(s.changed, "the other one is asked again");
    }
    // A pause saves nothing up beyond the one packet.
    s.now += us(1000);
    s.send(a);
    assert_eq!(s.free_at(a), s.now + SLOT.saturating_mul(3));
    // n stays the same without a new share.
    assert_eq!((s.watch(a, "n"), s.watch(a, "cap_bps")), (3.0, LINE as f64 / 3.0));
    // Alone, no other control changes.
    s.pool.close(b, s.now);
    s.pool.take_shared_changed();
    s.send(a);
    assert!(!s.changed);
}

#[test]
fn c2_the_debt_is_exact() {
    // 3/7 of the line: 1,941,333 1/3 ps a packet. Three of them are whole picoseconds.
    let mut s = dasr();
    let a = s.open();
    s.told(a, 3, 7);
    let begin = s.now;
    let mut at = Vec::new();
    for _ in 0..6 {
        s.send(a);
        at.push((s.free_at(a) - begin).as_ps());
    }
    assert_eq!(at, [1_941_334, 3_882_667, 5_824_000, 7_765_334, 9_706_667, 11_648_000]);
    // The smallest share and a large debt: no overflow.
    let mut s = dasr();
    let a = s.open();
    s.told(a, 1, 65_535);
    for _ in 0..1000 {
        s.send(a);
    }
    assert_eq!(s.free_at(a), us(1) + SLOT.saturating_mul(65_535_000));
    // After any number of changes the bytes sent match the shares, to a picosecond per change.
    let (mut s, mut dice) = (dasr(), Dice(3));
    let a = s.open();
    s.told(a, 1, 2);
    let (begin, mut sent, mut allowed, mut share) = (s.now, 0u64, 0.0, 0.5);
    for _ in 0..1000 {
        let next = s.free_at(a).max(s.now);
        let change = s.now + Time::from_ps(dice.below(4_000_000) as u64);
        if change < next {
            allowed += share * (change - s.now).as_ps() as f64;
            s.now = change;
            let (parts, of) = (1 + dice.below(9) as u16, 10 + dice.below(9) as u16);
            s.told(a, parts, of);
            share = parts as f64 / of as f64;
        } else {
            allowed += share * (next - s.now).as_ps() as f64;
            s.now = next;
            s.send(a);
            sent += SLOT.as_ps();
        }
    }
    let owed = share * (s.free_at(a).saturating_sub(s.now)).as_ps() as f64;
    assert!((allowed + owed - sent as f64).abs() < 2000.0, "{allowed} + {owed} for {sent} since {begin}");
}

#[test]
fn c4_shares_towards_different_receivers_are_independent() {
    let mut s = dasr();
    let a = s.old(4);
    let b = s.pool.open(1, &path(10, 25_000), s.now).slot;
    s.told(b, 1, 2);
    s.send(a);
    s.send(b);
    assert_eq!((s.free_at(a), s.free_at(b)), (s.now + SLOT.saturating_mul(4), s.now + SLOT.saturating_mul(2)));
}

#[test]
fn c5_a_new_message_is_at_line_rate_until_its_first_ack_and_older_ones_pay() {
    let mut s = dasr();
    let old = s.old(4);
    let new = s.open();
    let begin = s.now;
    for k in 0..5 {
        s.now = begin + SLOT.saturating_mul(k);
        let control = s.send(new);
        assert_eq!((control.not_before, control.rate.as_bps()), (Time::ZERO, LINE));
    }
    // Five packets at a quarter of the line.
    assert_eq!(s.free_at(old), begin + SLOT.saturating_mul(20));
    // A CNP is no ACK.
    assert_eq!(s.pool.on_notice(new, s.now, Notice::Cnp).not_before, Time::ZERO);
    // Its first ACK puts it under the same bucket, even one without a share.
    assert_eq!(s.ack(new, 0).not_before, begin + SLOT.saturating_mul(20));
}

#[test]
fn c6_a_stale_n_is_forgotten() {
    let mut s = dasr();
    let a = s.old(100);
    s.send(a);
    let b = s.open();
    s.pool.close(a, s.now);
    // b is open: n holds for it.
    assert_eq!(s.ack(b, 0).not_before, s.now + SLOT.saturating_mul(100));
    s.pool.close(b, s.now);
    // Alone: it does not.
    let c = s.open();
    assert_eq!((s.ack(c, 0).not_before <= s.now, s.watch(c, "n")), (true, 1.0));
    s.send(c);
    assert_eq!(s.free_at(c), s.now + SLOT);
}

#[test]
fn c7_another_n_moves_the_packet_that_waits() {
    let mut s = dasr();
    let (a, b) = (s.old(4), s.old(4));
    let begin = s.now;
    s.send(a);
    assert_eq!(s.free_at(a), begin + SLOT.saturating_mul(4));
    // After one of the four packet times n falls to 2: three quarters of the packet take 1.5 packet times.
    s.now = begin + SLOT;
    s.told(a, 1, 2);
    assert!(s.changed);
    let free = begin + SLOT + Time::from_ps(SLOT.as_ps() * 3 / 2);
    assert_eq!((s.free_at(a), s.free_at(b)), (free, free));
    // The same again changes nothing; a larger n makes it later.
    s.told(b, 1, 2);
    assert!(!s.changed);
    s.told(b, 1, 8);
    assert!(s.changed);
    assert_eq!(s.free_at(a), begin + SLOT + SLOT.saturating_mul(6));
    // 1 to 4, 4 to 2, 2 to 8.
    assert_eq!(s.pool.actions().get(Action::ShareChange), 3);
    // C12: n = 1 releases all of them to RC at once, but for the packet that is under way.
    s.now = begin + SLOT + SLOT.saturating_mul(6);
    s.send(a);
    s.told(b, 1, 1);
    assert_eq!(s.free_at(a), s.now + SLOT);
    // A drained debt stays zero.
    s.now += us(100);
    s.told(a, 1, 100);
    assert!(s.free_at(a) <= s.now);
}

#[test]
fn c8_c9_c10_dcqcn_goes_on_underneath() {
    let mut s = dasr();
    let a = s.old(4);
    s.send(a);
    let free = s.free_at(a);
    // RC halves, the share stays; the next n leaves RC alone.
    let control = s.pool.on_notice(a, s.now, Notice::Cnp);
    assert_eq!((control.rate, control.not_before), (Rate::from_bps(LINE / 2), free));
    assert_eq!(control.wake_at, s.now + us(55));
    assert_eq!(s.told(a, 1, 1000).rate, Rate::from_bps(LINE / 2));
    // C/n has no floor: 10 Mb/s here.
    s.now = s.free_at(a);
    s.send(a);
    assert_eq!(s.free_at(a), s.now + SLOT.saturating_mul(1000));
    // Its timer raises RC.
    s.now = us(56);
    assert_eq!(s.pool.on_timer(a, s.now).rate, Rate::from_bps(LINE * 3 / 4));
    assert_eq!(s.pool.actions().get(Action::Cut), 1);
}

#[test]
fn c13_a_window_if_asked_for() {
    let mut s = dasr();
    let a = s.open();
    assert_eq!(s.pool.control(a, s.now).window, u64::MAX);
    let mut s = Talker::new(with("dart-dasr", |p| p.bdp_window = true));
    let a = s.open();
    assert_eq!(s.pool.control(a, s.now).window, 25_000);
    // DCQCN's own where it is smaller.
    let mut s = Talker::new(with("dart-dasr", |p| (p.bdp_window, p.dcqcn.window) = (true, true)));
    let a = s.open();
    assert_eq!(s.pool.on_notice(a, s.now, Notice::Cnp).window, 12_500);
}

#[test]
fn without_apportioning_the_sender_is_dcqcns() {
    let mut s = Talker::new(with("dart-iofd", |_| {}));
    let (a, b) = (s.open(), s.open());
    s.told(a, 1, 16);
    for _ in 0..10 {
        s.send(a);
        assert!(!s.changed);
    }
    for slot in [a, b] {
        let control = s.pool.control(slot, s.now);
        assert_eq!((control.not_before, control.rate.as_bps()), (Time::ZERO, LINE));
    }
    assert_eq!(s.pool.actions().get(Action::ShareChange), 0);
}

#[test]
fn c14_shares_may_be_of_less_than_the_line() {
    let mut s = Talker::new(with("dart-dasr", |p| p.line_share = 0.96));
    let a = s.old(3);
    s.send(a);
    // 3 packets at 0.96 of the line take 3 / 0.96 = 3.125 of their times.
    assert_eq!(s.free_at(a), s.now + Time::from_ps(SLOT.as_ps() * 3125 / 1000));
    assert_eq!(s.watch(a, "cap_bps"), LINE as f64 * 0.96 / 3.0);
    // At 0.95 a line counts as full; less than that would never be full.
    for (share, holds) in [(1.0, true), (0.95, true), (0.94, false), (1.01, false), (f64::NAN, false)] {
        let params = Params { line_share: share, ..Dart::preset("dart-dasr") };
        assert_eq!(Dart::check(&params).is_ok(), holds, "{share}");
    }
}
