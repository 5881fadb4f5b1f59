//! Exchanges between places whose numbers differ in one bit.

use super::plan::{Plan, Shape, block};

/// Halving: in steps j = 1..x, place p exchanges half of its present range with p xor n/2^j. Only for n = 2^x.
pub(super) fn reduce_scatter(shape: &Shape<'_>, plan: &mut Plan) -> Result<(), String> {
    power(shape.ranks, "halving")?;
    halve(plan, shape.ranks, shape.bytes, vec![None; shape.ranks as usize]);
    Ok(())
}

/// Doubling: in steps j = 0..x-1, place p exchanges all that it has so far with p xor 2^j. Only for n = 2^x.
pub(super) fn all_gather(shape: &Shape<'_>, plan: &mut Plan) -> Result<(), String> {
    power(shape.ranks, "recursive-doubling")?;
    double(plan, shape.ranks, shape.bytes, vec![None; shape.ranks as usize]);
    Ok(())
}

/// Halving, then doubling. Of n ranks that are no power of two, the highest beyond it give all to a partner first, and
/// get the result last.
pub(super) fn all_reduce_halving(shape: &Shape<'_>, plan: &mut Plan) -> Result<(), String> {
    folded(shape, plan, |plan, n, arrived| {
        let halved = halve(plan, n, shape.bytes, arrived);
        double(plan, n, shape.bytes, halved)
    });
    Ok(())
}

/// The whole vector in every step, for small ones.
pub(super) fn all_reduce(shape: &Shape<'_>, plan: &mut Plan) -> Result<(), String> {
    folded(shape, plan, |plan, n, arrived| {
        exchange(plan, n, (0..n.ilog2()).map(|j| 1 << j), arrived, |_, _| shape.bytes)
    });
    Ok(())
}

fn power(ranks: u32, name: &str) -> Result<(), String> {
    match ranks.is_power_of_two() {
        true => Ok(()),
        false => Err(format!("{name} needs a power of two, and there are {ranks} ranks")),
    }
}

/// Runs the steps of a power of two between the two that fold the other places into it.
fn folded(
    shape: &Shape<'_>,
    plan: &mut Plan,
    steps: impl FnOnce(&mut Plan, u32, Vec<Option<u32>>) -> Vec<Option<u32>>,
) {
    let n = 1 << shape.ranks.ilog2();
    let mut arrived = vec![None; n as usize];
    for place in n..shape.ranks {
        arrived[(place - n) as usize] = Some(plan.send((place, place - n), shape.bytes, None));
    }
    let arrived = steps(plan, n, arrived);
    for place in n..shape.ranks {
        plan.send((place - n, place), shape.bytes, arrived[(place - n) as usize]);
    }
}

fn halve(plan: &mut Plan, n: u32, bytes: u64, arrived: Vec<Option<u32>>) -> Vec<Option<u32>> {
    // What goes to the partner is the half that has the partner's own block.
    exchange(plan, n, (1..=n.ilog2()).map(|j| n >> j), arrived, |distance, to| range(bytes, n, to, distance))
}

fn double(plan: &mut Plan, n: u32, bytes: u64, arrived: Vec<Option<u32>>) -> Vec<Option<u32>> {
    exchange(plan, n, (0..n.ilog2()).map(|j| 1 << j), arrived, |distance, to| range(bytes, n, to ^ distance, distance))
}

/// Bytes of the aligned range of `length` blocks of n that contains a block.
fn range(bytes: u64, n: u32, number: u32, length: u32) -> u64 {
    let first = number / length * length;
    (first..first + length).map(|number| block(bytes, number.into(), n.into())).sum()
}

/// One exchange for each distance; `size` of a message by distance and receiver. Returns what arrived last.
fn exchange(
    plan: &mut Plan,
    n: u32,
    distances: impl Iterator<Item = u32>,
    mut arrived: Vec<Option<u32>>,
    size: impl Fn(u32, u32) -> u64,
) -> Vec<Option<u32>> {
    for distance in distances {
        let before = arrived.clone();
        for place in 0..n {
            let to = place ^ distance;
            arrived[to as usize] = Some(plan.send((place, to), size(distance, to), before[place as usize]));
        }
    }
    arrived
}
