//! A chain: each place passes on what it has got.

use super::plan::{Plan, Shape};

/// From place 0 along the places.
pub(super) fn broadcast(shape: &Shape<'_>, plan: &mut Plan) -> Result<(), String> {
    let mut arrived = None;
    for place in 1..shape.ranks {
        arrived = Some(plan.send((place - 1, place), shape.bytes, arrived));
    }
    Ok(())
}
