//! Dart's set of senders and look-ahead on a virtual clock. Tests named by a row (`b4_`) hold that row of the manual's
//! list. `common::dart` has the host and its clock.

use crate::common::dart::*;
use crate::common::{cases, us};
use fanin_cc::schemes::dart::Params;
use fanin_cc::schemes::dart::auss::REMEMBERED_LISTS;
use fanin_cc::*;
use fanin_units::Time;
use std::collections::BTreeSet;

const GROUP: [u32; 4] = [11, 12, 13, 14];

fn member(host: u32, id: u32) -> Start<'static> {
    Start { incast: Some((id, &GROUP)), ..from(host) }
}

fn ahead(change: impl FnOnce(&mut Params)) -> Host {
    Host::new(with("dart-dasr-lookahead", change))
}

#[test]
fn b3_b11_counts_and_the_last_ack() {
    let mut d = Host::new(with("dart-dasr", |_| {}));
    assert_eq!(n(d.start(1, from(5))), 1);
    assert_eq!(n(d.start(2, from(5))), 1, "a sender is one");
    assert_eq!(n(d.start(3, from(6))), 2);
    assert_eq!(n(d.end(1)), 2);
    // The message leaves before the ACK of its last packet, and n is never 0.
    assert_eq!(n(d.end(2)), 1);
    assert_eq!(d.senders(), 1);
    assert_eq!(n(d.end(3)), 1);
    assert_eq!(d.senders(), 0);
    assert_eq!((d.count(Action::ShareTold), d.count(Action::CountTold)), (6, 1 + 1 + 2 + 2 + 1 + 1));
    // A sender that closes without an end leaves as well.
    d.start(4, from(5));
    d.pool.receiver_close(0, d.now, ReceiverFlow(4));
    assert_eq!(d.senders(), 0);
}

#[test]
fn b4_b7_the_first_list_counts_all_and_later_ones_nothing() {
    let mut d = ahead(|_| {});
    d.start(1, from(9));
    // 12's packet arrives first: 11, 13 and 14 are counted with it.
    assert_eq!(n(d.start(2, member(12, 77))), 5);
    // The other members replace their announcements, the copies of the list do nothing.
    assert_eq!(n(d.start(3, member(11, 77))), 5);
    assert_eq!(n(d.end(2)), 4);
    assert_eq!(n(d.start(4, member(13, 77))), 4);
    assert_eq!(n(d.end(4)), 3);
    assert_eq!(n(d.end(3)), 2);
    assert_eq!(n(d.start(5, member(14, 77))), 2);
    assert_eq!(n(d.end(5)), 1);
    let count = |a| d.count(a);
    assert_eq!(
        (count(Action::LookAheadUsed), count(Action::LookAheadRepeated), count(Action::LookAheadRefused)),
        (1, 3, 0)
    );
    // A second message of a member in the same incast counts by itself only.
    assert_eq!(n(d.start(6, member(11, 77))), 2);
    assert_eq!(n(d.end(6)), 1);
    // Another incast is another list.
    assert_eq!(n(d.start(7, member(11, 78))), 5);
}

#[test]
fn b4_a_member_that_sends_already_is_one_sender() {
    let mut d = ahead(|_| {});
    d.start(1, from(13));
    d.start(2, from(9));
    assert_eq!(n(d.start(3, member(11, 1))), 5);
    // Its other message ends: it stays, for its part in the incast.
    assert_eq!(n(d.end(1)), 5);
    assert_eq!(n(d.start(4, member(13, 1))), 5);
    assert_eq!(n(d.end(4)), 4);
}

#[test]
fn b4_a_member_that_ended_before_the_list_is_not_waited_for() {
    let mut d = ahead(|_| {});
    // 11's message names its incast, and had no room for the list.
    d.start(1, Start { incast: Some((5, &[])), ..from(11) });
    d.end(1);
    assert_eq!((d.senders(), d.count(Action::LookAheadUsed)), (0, 0));
    assert_eq!(n(d.start(2, member(12, 5))), 3);
    assert_eq!(d.senders(), 3);
}

#[test]
fn b8_a_silent_member_is_counted_for_2_s() {
    let mut d = ahead(|_| {});
    let begin = d.now;
    d.start(2, member(12, 77));
    // 13 sends something else all the time, and 14 nothing; 11 starts late.
    let mut flow = 100;
    let mut other = |d: &mut Host| {
        flow += 1;
        d.start(flow, from(13));
        d.end(flow);
    };
    for k in 1..20 {
        d.at(begin + Time::from_ms(100 * k));
        d.packet(2, false);
        other(&mut d);
        assert_eq!(d.senders(), 4);
    }
    d.start(3, member(11, 77));
    d.at(begin + Time::from_ms(2000) - Time::from_ps(1));
    assert_eq!(d.senders(), 4);
    d.at(begin + Time::from_ms(2000));
    assert_eq!((d.senders(), d.count(Action::SenderExpired)), (2, 2));
    other(&mut d);
    assert_eq!(d.senders(), 2);
    // Even the copy of such a late member does not count.
    assert_eq!(n(d.start(4, member(14, 77))), 3);
}

#[test]
fn b9_senders_are_told_at_once_if_asked_for() {
    let acks = |d: &Host| -> Vec<(u32, u16)> {
        let ack = |&(_, emit)| if let Emit::Ack(flow, fields) = emit { Some((flow.0, n(fields))) } else { None };
        d.emitted.iter().filter_map(ack).collect()
    };
    let mut d = ahead(|p| p.tell_ahead = true);
    d.start(1, from(9));
    d.start(2, from(8));
    d.start(3, from(9));
    assert_eq!(n(d.start(4, member(11, 1))), 6);
    // One flow of each active sender, except the one with an ACK due anyway and those only announced.
    assert_eq!(acks(&d), [(2, 6), (1, 6)]);
    d.start(5, member(12, 1));
    assert_eq!(acks(&d).len(), 2, "a later copy tells nobody");
    // Not where n is 1 all the same.
    d.non_receiver_congestion(1);
    d.start(6, member(11, 2));
    assert_eq!(acks(&d).len(), 2);
    // Off by default.
    let mut d = ahead(|_| {});
    d.start(1, from(9));
    d.start(4, member(11, 1));
    assert_eq!(acks(&d), []);
}

#[test]
fn b10_weights() {
    let mut d = Host::new(with("dart-dasr", |_| {}));
    let heavy = |host, weight| Start { weight, ..from(host) };
    d.start(1, heavy(1, 1));
    d.start(2, heavy(2, 2));
    d.start(3, heavy(3, 5));
    assert_eq!([1, 2, 3].map(|flow| share(d.packet(flow, false))), [(1, 8), (1, 4), (5, 8)]);
    // A sender weighs as much as its heaviest message.
    d.start(4, heavy(1, 5));
    assert_eq!([1, 2, 3].map(|flow| share(d.packet(flow, false))), [(5, 12), (1, 6), (5, 12)]);
    d.end(4);
    assert_eq!(share(d.packet(1, false)), (1, 8));
    d.end(3);
    assert_eq!([1, 2].map(|flow| share(d.packet(flow, false))), [(1, 3), (2, 3)]);
    // The last ACK of a sender heavier than all the others carries at most the line.
    d.start(5, heavy(5, 9));
    assert_eq!(share(d.end(5)), (1, 1));
    // Announced members have the weight of the message that names them.
    let mut d = ahead(|_| {});
    d.start(1, from(1));
    assert_eq!(share(d.start(2, Start { weight: 3, ..member(11, 1) })), (3, 13));
    assert_eq!(share(d.packet(1, false)), (1, 13));
}

#[test]
fn b10_shares_that_do_not_fit_the_field_are_rounded_to_a_ratio_that_does() {
    let mut d = Host::new(with("dart-dasr", |_| {}));
    for k in 0..10 {
        d.start(k, Start { weight: 65_521 - k as u16 * 7, ..from(k) });
    }
    let sum: f64 = (0..10).map(|k| 65_521.0 - k as f64 * 7.0).sum();
    let mut told = 0.0;
    for k in 0..10 {
        let (parts, of) = share(d.packet(k, false));
        let (real, got) = ((65_521.0 - k as f64 * 7.0) / sum, parts as f64 / of as f64);
        assert!((got / real - 1.0).abs() < 1e-4, "{got} for {real}");
        told += got;
    }
    assert!((told - 1.0).abs() < 1e-4);
    // Too small for the field: the smallest that fits.
    let mut d = Host::new(with("dart-dasr", |p| p.tenant_shares = vec![0.001]));
    d.start(1, from(1));
    d.start(2, Start { weight: 65_535, ..from(2) });
    assert_eq!(share(d.packet(1, false)), (1, 65_535));
}

#[test]
fn b10_tenants_have_sets_of_their_own() {
    let mut d = ahead(|p| p.tenant_shares = vec![0.5, 0.3]);
    let of = |tenant, host| Start { tenant, ..from(host) };
    d.start(1, of(0, 1));
    d.start(2, of(0, 2));
    assert_eq!(share(d.packet(1, false)), (1, 4));
    // The same host, for another tenant, is another sender. Tenant 1 announces an incast; tenant 0 does not feel it.
    d.start(3, of(1, 1));
    assert_eq!(share(d.start(4, Start { tenant: 1, ..member(11, 1) })), (3, 50));
    assert_eq!([1, 2, 3].map(|flow| share(d.packet(flow, false))), [(1, 4), (1, 4), (3, 50)]);
    // Tenants that are not listed share the rest.
    assert_eq!(share(d.start(5, of(2, 1))), (1, 5));
    assert_eq!(share(d.start(6, of(9, 2))), (1, 10));
    // A third of the line is no whole number of millionths, and is still sent as a third.
    let mut d = Host::new(with("dart-dasr", |p| p.tenant_shares = vec![1.0 / 3.0; 3]));
    d.start(1, of(1, 1));
    assert_eq!(share(d.packet(1, false)), (1, 3));
    d.start(2, of(1, 2));
    assert_eq!(share(d.packet(1, false)), (1, 6));
    // The last ACK of a tenant still carries its own share.
    d.end(1);
    assert_eq!(share(d.end(2)), (1, 3));
}

#[test]
fn forged_lists_are_bounded() {
    // 20 names in each list, all new.
    let lists: Vec<Vec<u32>> = (0..200).map(|k| (1000 + 20 * k..1020 + 20 * k).collect()).collect();
    let flood = |d: &mut Host, gap: Time| {
        for (k, list) in lists.iter().enumerate() {
            d.wait(gap);
            let flow = 10 + k as u32;
            d.start(flow, Start { tenant: 1, incast: Some((k as u32, list)), ..from(500) });
            d.end(flow);
        }
        (d.count(Action::LookAheadUsed), d.count(Action::LookAheadRefused))
    };
    // By how many are silent: 10 lists of 20 make 200.
    let mut d = ahead(|p| p.look_ahead_silent = 200);
    d.start(1, from(1));
    assert_eq!(flood(&mut d, us(20)), (10, 190));
    assert_eq!(n(d.packet(1, false)), 201);
    // A later copy of a refused list is not accepted, although there would be room.
    d.at(Time::from_s(3));
    assert_eq!(n(d.packet(1, false)), 1);
    assert_eq!(n(d.start(2, Start { incast: Some((150, &lists[150])), ..from(3000 + 1000) })), 2);
    assert_eq!(d.count(Action::LookAheadRepeated), 1);
    // By rate: 4 at once, then 10,000 per second.
    let mut d = ahead(|p| (p.look_ahead_burst, p.look_ahead_rate, p.look_ahead_silent) = (4, 10_000.0, 60_000));
    d.start(1, from(1));
    let (used, refused) = flood(&mut d, us(10));
    // 4 at first, and one each 100 us of the 2 ms.
    assert!((23..=25).contains(&used), "{used}");
    assert_eq!(used + refused, 200);
    // With sets per tenant the flood reaches only its own.
    let mut d = ahead(|p| p.tenant_shares = vec![0.5, 0.5]);
    d.start(1, from(1));
    flood(&mut d, us(20));
    assert_eq!((share(d.packet(1, false)), d.senders()), ((1, 2), 1 + 1020));
    // Off: a list is not even looked at.
    let mut d = Host::new(with("dart-dasr", |_| {}));
    d.start(1, from(1));
    assert_eq!(flood(&mut d, us(20)), (0, 0));
    assert_eq!(n(d.packet(1, false)), 1);
}

#[test]
fn no_flood_of_lists_makes_the_memory_grow() {
    // More incasts than are remembered: the oldest are forgotten, so that only their copies would count again.
    let mut d = ahead(|p| (p.look_ahead_rate, p.look_ahead_silent) = (1e9, 8));
    let list = [11, 12];
    let many = REMEMBERED_LISTS as u32 + 100;
    for id in 0..many {
        d.wait(us(1));
        d.start(1, Start { incast: Some((id, &list)), ..from(11) });
        d.end(1);
    }
    let seen = d.count(Action::LookAheadUsed) + d.count(Action::LookAheadRefused);
    assert_eq!((seen, d.count(Action::LookAheadRepeated)), (many as u64, 0));
    for id in [many - 1, many - REMEMBERED_LISTS as u32, 0] {
        d.start(1, Start { incast: Some((id, &list)), ..from(11) });
        d.end(1);
    }
    assert_eq!(d.count(Action::LookAheadRepeated), 2);
}

#[test]
fn random_incasts_follow_the_definition() {
    // A sender counts while a message of it is open, or while a list has named it and its message has not started.
    let mut dice = Dice(2);
    let sequences = cases().cases.max(16) as usize * 16;
    for sequence in 0..sequences {
        let mut d = ahead(|p| (p.look_ahead_rate, p.look_ahead_burst) = (1e9, 1000));
        let groups: Vec<Vec<u32>> =
            (0..4).map(|_| (0..8).filter(|_| dice.below(2) == 0).collect::<Vec<u32>>()).collect();
        let mut waiting: BTreeSet<(usize, u32)> = BTreeSet::new();
        let mut heard: BTreeSet<usize> = BTreeSet::new();
        let mut open: Vec<(u32, u32)> = Vec::new();
        for flow in 0..60 {
            d.wait(us(1));
            let group = dice.below(5);
            if dice.below(3) == 0 && !open.is_empty() {
                let (flow, _) = open.swap_remove(dice.below(open.len()));
                d.end(flow);
            } else if group < 4 && !groups[group].is_empty() {
                let host = groups[group][dice.below(groups[group].len())];
                d.start(flow, Start { incast: Some((group as u32, &groups[group])), ..from(host) });
                if heard.insert(group) {
                    waiting.extend(groups[group].iter().map(|&member| (group, member)));
                }
                waiting.remove(&(group, host));
                open.push((flow, host));
            } else {
                let host = dice.below(8) as u32;
                d.start(flow, from(host));
                open.push((flow, host));
            }
            let active: BTreeSet<u32> =
                open.iter().map(|&(_, host)| host).chain(waiting.iter().map(|&(_, host)| host)).collect();
            assert_eq!(d.senders() as usize, active.len(), "sequence {sequence}, flow {flow}");
        }
    }
}

#[test]
fn before_its_message_starts_a_flow_is_told_nothing() {
    // Its first packet was lost: a later one arrives, of an unknown message.
    let mut d = Host::new(with("dart-dasr", |_| {}));
    d.start(1, from(1));
    d.open(2, 2);
    assert_eq!(d.packet(2, false).cc_feedback, 0);
    assert_eq!(d.senders(), 1);
}

#[test]
fn without_apportioning_the_receiver_is_dcqcns() {
    let mut d = Host::new(with("dart-iofd", |_| {}));
    d.start(1, member(11, 1));
    let ack = d.stream(1, 200, SLOT, true);
    assert_eq!(ack, AckFields::default());
    // 166 us of marks: at once, and each 50 us and up to a packet.
    assert_eq!(d.cnps().len(), 4);
    assert_eq!((d.count(Action::MarkSeen), d.count(Action::MarkPassed)), (200, 200));
    assert_eq!((d.count(Action::ShareTold), d.count(Action::LookAheadUsed), d.count(Action::StateChange)), (0, 0, 0));
    assert_eq!(d.pool.receiver_wake_at(0), Time::NEVER);
}
