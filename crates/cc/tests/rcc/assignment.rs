//! Claims about Algorithm 1 at random: rcc-alg1-assignment, rcc-alg1-min-one-window, rcc-info-syn-fin.

use super::world::*;
use crate::common::dart::Dice;
use fanin_claims::strict;

/// Algorithm 1 line by line, with priorities 1/size in 2^100ths. `None` is a size that is not known.
fn oracle(sizes: &[Option<u64>], queue_maxsize: u64, use_flow_priority: bool) -> Vec<u64> {
    let n = sizes.len();
    let p: Vec<u128> = sizes.iter().map(|size| size.map_or(0, |size| (1 << 100) / size as u128)).collect();
    let sum_p: u128 = p.iter().sum();
    // Section 4.1: without sizes there is no priority.
    let use_flow_priority = use_flow_priority && sum_p > 0;
    // Line 1: the flows come in falling priority.
    assert!(p.is_sorted_by(|a, b| a >= b) || !use_flow_priority);
    let size = |i: usize| sizes[i].map_or(i64::MAX / 2, |size| size as i64);
    let mut win = vec![0i64; n];
    let (mut i, mut sum_win) = (0, 0);
    // Lines 2 to 9. A share within 1e-9 of a whole number is that number.
    while i < n {
        win[i] = if use_flow_priority {
            ((p[i] * queue_maxsize as u128 + sum_p / 1_000_000_000) / sum_p) as i64
        } else {
            queue_maxsize as i64 / n as i64
        };
        if win[i] < 1 {
            win[i] = 1;
        } else if use_flow_priority && win[i] > size(i) {
            win[i] = size(i);
        }
        sum_win += win[i];
        i += 1;
    }
    // Lines 10 to 19.
    let mut i = n as i64 - 1;
    let mut no_need = 0;
    while use_flow_priority && sum_win < queue_maxsize as i64 {
        if (win[i as usize] - size(i as usize)).abs() <= 1 {
            no_need += 1;
            if no_need >= n {
                break;
            }
        } else {
            win[i as usize] += 1;
            sum_win += 1;
        }
        i -= 1;
        if i == -1 {
            i = n as i64 - 1;
            no_need = 0;
        }
    }
    win.into_iter().map(|win| win as u64).collect()
}

fn assigned(sizes: &[Option<u64>], max: u64, by_priority: bool) -> Vec<u64> {
    let mut claims: Vec<Claim> = sizes.iter().map(|size| Claim::new(size.unwrap_or(Claim::UNKNOWN))).collect();
    assign(&mut claims, max, by_priority, Follow::Paper);
    claims.iter().map(|claim| claim.window).collect()
}

/// Claim rcc-alg1-assignment. The sum of windows is not bounded by max(queue_maxsize, n): shares are rounded down, but
/// those below one segment are raised to it.
#[test]
fn rcc_alg1_assignment() {
    let mut dice = Dice(1);
    let mut above = 0;
    for round in 0..20_000 {
        let n = 1 + dice.below(200);
        let by_priority = dice.below(4) > 0;
        let unknown = dice.below(3);
        let mut sizes: Vec<Option<u64>> =
            (0..n).map(|_| (dice.below(10) >= unknown).then(|| 1 + dice.below(1000) as u64)).collect();
        sizes.sort_by_key(|size| size.unwrap_or(u64::MAX));
        let max = if round % 2 == 0 { 40 } else { 1 + dice.below(300) as u64 };
        let windows = assigned(&sizes, max, by_priority);
        assert_eq!(windows, oracle(&sizes, max, by_priority), "{sizes:?} {max} {by_priority}");
        let sum: u64 = windows.iter().sum();
        let known = sizes.iter().any(|size| size.is_some());
        for (window, size) in windows.iter().zip(&sizes) {
            assert!(*window >= 1 && (!by_priority || !known || *window <= size.unwrap_or(u64::MAX)));
            assert!(by_priority && known || *window == (max / n as u64).max(1));
        }
        let raised = windows.iter().filter(|window| **window == 1).count() as u64;
        assert!(sum <= max + raised);
        above += (round % 2 == 0 && sum > max.max(n as u64)) as u32;
    }
    println!("the sum exceeds max(queue_maxsize, n) in {above} of 10000 draws with 40");
    assert!(above > 0);
    // For instance: a flow of 30 segments among thirty of 1000 has half of all priority.
    let sizes: Vec<Option<u64>> = [30].into_iter().chain([1000; 30]).map(Some).collect();
    assert_eq!(assigned(&sizes, 40, true).iter().sum::<u64>(), 21 + 30);
    let mut rows = fanin_claims::claim!("rcc-alg1-assignment");
    rows.asserted(
        "draws in which a window is not a line-by-line oracle's, or not from 1 to the size",
        "0",
        "0 of 20,000",
    );
    let what = "draws in which the windows sum to more than the larger of queue_maxsize (40) and n";
    rows.row(what, "0", format!("{above} of 10,000"), "0", strict(above == 0));
}

/// Claim rcc-alg1-min-one-window: 100 windows of one segment, though queue_maxsize is 40.
#[test]
fn rcc_alg1_min_one_window() {
    for by_priority in [true, false] {
        let windows = assigned(&[Some(23); 100], 40, by_priority);
        assert_eq!(windows, [1; 100]);
        assert_eq!(windows.iter().sum::<u64>(), 100);
    }
    let mut rows = fanin_claims::claim!("rcc-alg1-min-one-window");
    rows.asserted("windows of 100 flows with queue_maxsize of 40, segments", "1 each", "1 each");
}

/// The windows of all flows of a world are those that the oracle gives the open ones, and nobody else has one.
fn check_info(w: &World, open: &[(u32, Option<u64>)]) {
    let mut info = open.to_vec();
    info.sort_by_key(|(flow, size)| (size.unwrap_or(u64::MAX), *flow));
    let sizes: Vec<Option<u64>> = info.iter().map(|(_, size)| *size).collect();
    let windows = oracle(&sizes, w.params.queue_maxsize as u64, true);
    for ((flow, _), window) in info.iter().zip(windows) {
        assert_eq!(w.ceiling(*flow), window, "flow {flow} of {info:?}");
    }
    let known = w.flows.iter().filter(|state| w.host.ceiling(state).is_some()).count();
    assert_eq!(known, open.len());
}

/// Claim rcc-info-syn-fin.
#[test]
fn rcc_info_syn_fin() {
    let mut dice = Dice(2);
    for _ in 0..200 {
        let mut w = World::new(Rcc::preset("rcc"));
        let mut open: Vec<(u32, Option<u64>)> = Vec::new();
        let mut gone: Vec<u32> = Vec::new();
        for _ in 0..100 {
            let any = dice.below(open.len().max(1));
            match (dice.below(6), open.get(any).copied()) {
                (0 | 1, _) if open.len() < 60 => {
                    let size = (dice.below(5) > 0).then(|| 1 + dice.below(1000) as u64);
                    open.push((w.open(size), size));
                }
                // A copy of a SYN, and of one of a flow that has ended.
                (2, Some((flow, _))) => {
                    w.hook(|host, flows, cx| host.on_syn(ReceiverFlow(flow), &mut flows[flow as usize], cx));
                    if let Some(&flow) = gone.last() {
                        let late =
                            w.hook(|host, flows, cx| host.on_syn(ReceiverFlow(flow), &mut flows[flow as usize], cx));
                        assert_eq!(late, Some(AckFields::default()));
                    }
                }
                (3, Some((flow, _))) => {
                    w.fin(flow);
                    open.swap_remove(any);
                    gone.push(flow);
                    // And a copy of the FIN.
                    w.fin(flow);
                }
                (_, Some((flow, size))) if size.is_none_or(|size| w.next[flow as usize] < size) => {
                    w.arrive(flow, w.next[flow as usize], false);
                    w.poll();
                }
                _ => {}
            }
            check_info(&w, &open);
        }
    }
    let mut rows = fanin_claims::claim!("rcc-info-syn-fin");
    let what = "sequences of SYNs, data and FINs, with copies, after which the table is not the set of open flows";
    rows.asserted(what, "0", "0 of 200");
}

/// Claim rcc-info-syn-fin: a flow that dies without a FIN leaves after six timeouts in a row, 63 RTO_r, and is back
/// with its next data. Others keep their windows when they have all that they were sent.
#[test]
fn rcc_info_syn_fin_forgets_the_dead() {
    let mut w = World::new(Rcc::preset("rcc"));
    let (dead, live) = (w.open(Some(100)), w.open(Some(100)));
    w.poll();
    w.data(dead);
    let ms = Time::from_ms;
    for n in 1..63 {
        w.until(ms(10 * n));
        w.data(live);
    }
    assert_eq!([w.ceiling(dead), w.ceiling(live)], [20, 20]);
    w.until(ms(640));
    assert_eq!(w.ceiling(live), 40);
    let more = w.open(Some(100));
    assert_eq!([w.ceiling(live), w.ceiling(more)], [20, 20]);
    w.data(dead);
    assert_eq!([w.ceiling(dead), w.ceiling(live), w.ceiling(more)], [13, 13, 14]);
    // It may end as every other.
    w.fin(dead);
    assert_eq!([w.ceiling(live), w.ceiling(more)], [20, 20]);
    let mut rows = fanin_claims::claim!("rcc-info-syn-fin");
    rows.asserted("a flow that ends without a FIN leaves the table", "by a timeout", "after six timeouts, 63 RTO_r");
}
