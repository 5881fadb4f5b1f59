//! Exchanges in which each place has something for each other one, and sends it there itself.

use super::plan::{Plan, Shape, block};

/// Most waits of a direct all-reduce.
const MOST_OF_PIECE: u64 = 1 << 24;

/// All-to-all: all at once, beginning with the next place; with a window, to so many places at once.
pub(super) fn direct(shape: &Shape<'_>, plan: &mut Plan) -> Result<(), String> {
    let start = vec![Vec::new(); shape.ranks as usize];
    rounds(plan, shape, shape.window, &start, |from, to| shape.pair(from, to));
    Ok(())
}

/// All-to-all in rounds: to p + s after the message of round s - 1 has arrived.
pub(super) fn rotation(shape: &Shape<'_>, plan: &mut Plan) -> Result<(), String> {
    let start = vec![Vec::new(); shape.ranks as usize];
    rounds(plan, shape, Some(1), &start, |from, to| shape.pair(from, to));
    Ok(())
}

/// All-to-all around a ring: what place p has for p + s passes s times to the next place, the nearest first.
pub(super) fn around(shape: &Shape<'_>, plan: &mut Plan) -> Result<(), String> {
    let n = shape.ranks as usize;
    let mut arrived = vec![None; n];
    for step in 1..n {
        for hop in 0..step {
            for (place, before) in arrived.clone().into_iter().enumerate() {
                let (origin, next) = ((place + n - hop) % n, (place + 1) % n);
                let size = shape.pair(origin as u32, ((origin + step) % n) as u32);
                if size > 0 || shape.sizes.is_none() {
                    arrived[next] = Some(plan.send((place as u32, next as u32), size, before));
                }
            }
        }
    }
    Ok(())
}

/// Reduce-scatter: each place gets its block of each other one.
pub(super) fn reduce_scatter(shape: &Shape<'_>, plan: &mut Plan) -> Result<(), String> {
    direct(shape, plan)
}

/// All-gather: each place sends its block to each other one.
pub(super) fn all_gather(shape: &Shape<'_>, plan: &mut Plan) -> Result<(), String> {
    let start = vec![Vec::new(); shape.ranks as usize];
    rounds(plan, shape, shape.window, &start, |from, _| block(shape.bytes, from.into(), shape.ranks.into()));
    Ok(())
}

/// Reduce-scatter, then all-gather, which a place begins when all parts of its block are there.
pub(super) fn all_reduce(shape: &Shape<'_>, plan: &mut Plan) -> Result<(), String> {
    let n = u64::from(shape.ranks);
    let waits = n * (n - 1) * shape.window.map_or(n - 1, u64::from).min(n - 1);
    if waits > MOST_OF_PIECE {
        return Err(format!("direct has {waits} waits among {n} ranks; give a window, or fewer ranks"));
    }
    let start = vec![Vec::new(); shape.ranks as usize];
    let reduced = rounds(plan, shape, shape.window, &start, |from, to| shape.pair(from, to));
    rounds(plan, shape, shape.window, &reduced, |from, _| block(shape.bytes, from.into(), n));
    Ok(())
}

/// In round s each place sends to p + s: after `start` in the first `window` rounds, and then after what has arrived
/// last by round s - `window`, so that so many peers are served at once. Where sizes are given, nothing is sent where
/// they are 0. Returns what arrives at each place.
fn rounds(
    plan: &mut Plan,
    shape: &Shape<'_>,
    window: Option<u32>,
    start: &[Vec<u32>],
    size: impl Fn(u32, u32) -> u64,
) -> Vec<Vec<u32>> {
    let n = shape.ranks;
    let window = window.unwrap_or(n).max(1);
    let mut all: Vec<Vec<u32>> = vec![Vec::new(); n as usize];
    // By round and place: what has arrived last.
    let mut last: Vec<Vec<Option<u32>>> = vec![vec![None; n as usize]];
    for step in 1..n {
        let mut now = last[step as usize - 1].clone();
        for place in 0..n {
            let to = ((u64::from(place) + u64::from(step)) % u64::from(n)) as u32;
            let bytes = size(place, to);
            if bytes == 0 && shape.sizes.is_some() {
                continue;
            }
            let before = step.checked_sub(window).and_then(|round| last[round as usize][place as usize]);
            let sent = match before {
                Some(before) => plan.send((place, to), bytes, [before]),
                None => plan.send((place, to), bytes, start[place as usize].iter().copied()),
            };
            now[to as usize] = Some(sent);
            all[to as usize].push(sent);
        }
        last.push(now);
    }
    all
}
