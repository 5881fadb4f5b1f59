//! Rings: each place sends to the next one.

use super::plan::{Plan, Shape, block};

/// Steps k = 0..n-2: place p sends block (p - 1 - k) mod n, reduced so far, to p + 1, and ends with block p.
pub(super) fn reduce_scatter(shape: &Shape<'_>, plan: &mut Plan) -> Result<(), String> {
    let members: Vec<u32> = (0..shape.ranks).collect();
    steps(plan, &members, shape.bytes, 1, &vec![None; members.len()]);
    Ok(())
}

/// Steps k = 0..n-2: place p sends block (p - k) mod n to p + 1.
pub(super) fn all_gather(shape: &Shape<'_>, plan: &mut Plan) -> Result<(), String> {
    let members: Vec<u32> = (0..shape.ranks).collect();
    steps(plan, &members, shape.bytes, 0, &vec![None; members.len()]);
    Ok(())
}

/// Reduce-scatter, then all-gather.
pub(super) fn all_reduce(shape: &Shape<'_>, plan: &mut Plan) -> Result<(), String> {
    let members: Vec<u32> = (0..shape.ranks).collect();
    let reduced = steps(plan, &members, shape.bytes, 1, &vec![None; members.len()]);
    steps(plan, &members, shape.bytes, 0, &reduced);
    Ok(())
}

/// The steps of one turn around a ring of these places. Place p first sends block p - `behind`, after the transfer
/// given for it. Returns the last transfer that each receives.
pub(super) fn steps(
    plan: &mut Plan,
    members: &[u32],
    bytes: u64,
    behind: usize,
    first: &[Option<u32>],
) -> Vec<Option<u32>> {
    let n = members.len();
    let mut arrived = first.to_vec();
    for step in 0..n.saturating_sub(1) {
        let before = arrived.clone();
        for place in 0..n {
            let next = (place + 1) % n;
            let number = (place + 2 * n - behind - step) % n;
            let size = block(bytes, number as u64, n as u64);
            arrived[next] = Some(plan.send((members[place], members[next]), size, before[place]));
        }
    }
    arrived
}
