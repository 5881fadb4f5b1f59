//! Binary trees as NCCL lays them out.

use super::plan::{Plan, Shape, block};

/// Up to the root and down again.
pub(super) fn all_reduce(shape: &Shape<'_>, plan: &mut Plan) -> Result<(), String> {
    up_and_down(plan, shape.ranks, shape.bytes, |place| place);
    Ok(())
}

/// Half of the bytes in each of two trees. The second has the places mirrored for even n, and shifted by one for odd
/// (NCCL, `ncclGetDtree`), so that a place has children in one of them at most.
pub(super) fn all_reduce_double(shape: &Shape<'_>, plan: &mut Plan) -> Result<(), String> {
    let n = shape.ranks;
    up_and_down(plan, n, block(shape.bytes, 0, 2), |place| place);
    let second = |place: u32| if n.is_multiple_of(2) { n - 1 - place } else { (place + 1) % n };
    up_and_down(plan, n, block(shape.bytes, 1, 2), second);
    Ok(())
}

/// From the root down.
pub(super) fn broadcast(shape: &Shape<'_>, plan: &mut Plan) -> Result<(), String> {
    down(plan, shape.ranks, shape.bytes, &|place| place, None);
    Ok(())
}

/// The parent of a place; the root is 0 (NCCL, `ncclGetBtree`): with its lowest set bit b, (place xor b) or 2b if that
/// is below n, otherwise place xor b.
fn parent(place: u32, n: u32) -> Option<u32> {
    let lowest = 1u32.checked_shl(place.trailing_zeros())?;
    let up = (place ^ lowest) | lowest << 1;
    Some(if up >= n { place ^ lowest } else { up })
}

/// The places, each after its parent.
fn from_the_root(n: u32) -> Vec<u32> {
    let mut children = vec![Vec::new(); n as usize];
    (1..n).for_each(|place| children[parent(place, n).unwrap_or(0) as usize].push(place));
    let mut order = vec![0];
    let mut at = 0;
    while at < order.len() {
        let more = std::mem::take(&mut children[order[at] as usize]);
        order.extend(more);
        at += 1;
    }
    order
}

fn up_and_down(plan: &mut Plan, n: u32, bytes: u64, name: impl Fn(u32) -> u32) {
    let mut from_children: Vec<Vec<u32>> = vec![Vec::new(); n as usize];
    for place in from_the_root(n).into_iter().rev() {
        if let Some(up) = parent(place, n) {
            let after = std::mem::take(&mut from_children[place as usize]);
            let sent = plan.send((name(place), name(up)), bytes, after);
            from_children[up as usize].push(sent);
        }
    }
    let reduced = std::mem::take(&mut from_children[0]);
    down(plan, n, bytes, &name, Some(reduced));
}

fn down(plan: &mut Plan, n: u32, bytes: u64, name: &dyn Fn(u32) -> u32, reduced: Option<Vec<u32>>) {
    let mut arrived: Vec<Vec<u32>> = vec![Vec::new(); n as usize];
    arrived[0] = reduced.unwrap_or_default();
    for place in from_the_root(n).into_iter().skip(1) {
        let up = parent(place, n).unwrap_or(0);
        let after = arrived[up as usize].clone();
        arrived[place as usize] = vec![plan.send((name(up), name(place)), bytes, after)];
    }
}
