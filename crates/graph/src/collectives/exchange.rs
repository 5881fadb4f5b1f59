//! All-to-all: each place has a block for each other.

use super::plan::{Plan, Shape, block};

/// All at once, beginning with the next place.
pub(super) fn direct(shape: &Shape, plan: &mut Plan) -> Result<(), String> {
    rounds(shape, plan, false);
    Ok(())
}

/// In rounds: to p + s after the message of round s - 1 has arrived.
pub(super) fn rotation(shape: &Shape, plan: &mut Plan) -> Result<(), String> {
    rounds(shape, plan, true);
    Ok(())
}

fn rounds(shape: &Shape, plan: &mut Plan, wait: bool) {
    let n = shape.ranks;
    let mut arrived = vec![None; n as usize];
    for step in 1..n {
        let before = arrived.clone();
        for place in 0..n {
            let to = ((u64::from(place) + u64::from(step)) % u64::from(n)) as u32;
            let size = block(shape.bytes, to.into(), n.into());
            let after = before[place as usize].filter(|_| wait);
            arrived[to as usize] = Some(plan.send((place, to), size, after));
        }
    }
}
