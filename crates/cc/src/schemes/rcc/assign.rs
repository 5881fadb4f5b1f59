//! RCC's Algorithm 1: a window for each open flow.

use super::params::Follow;

/// A flow that takes part, in whole segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its size; [`Claim::UNKNOWN`] has the lowest priority.
    pub size: u64,
    /// The window assigned to it.
    pub window: u64,
}

impl Claim {
    /// A size that the sender did not announce.
    pub const UNKNOWN: u64 = u64::MAX;

    /// A flow before its first assignment.
    pub const fn new(size: u64) -> Self {
        Self { size, window: 1 }
    }

    /// p_i, which falls with the size; zero where that is unknown (section 4.1).
    fn priority(self) -> f64 {
        if self.size == Self::UNKNOWN { 0.0 } else { 1.0 / self.size.max(1) as f64 }
    }

    fn covered(self, follow: Follow) -> bool {
        match follow {
            // Line 12: |win - flowsize| <= 1
            Follow::Paper => self.window.abs_diff(self.size) <= 1,
            Follow::Code => self.window >= self.size,
        }
    }
}

/// Assigns windows that share `max` segments (queue_maxsize). `claims` stand in falling priority, which is line 1.
pub fn assign(claims: &mut [Claim], max: u64, by_priority: bool, follow: Follow) {
    let flows = claims.len();
    let total: f64 = claims.iter().map(|c| c.priority()).sum();
    let by_priority = by_priority && total > 0.0;
    let mut sum = 0;
    for claim in claims.iter_mut() {
        // Section 4.1: w_i = p_i / sum of p_j; without sizes all priorities are equal
        let share =
            if by_priority { (claim.priority() / total * max as f64 + 1e-9) as u64 } else { max / flows as u64 };
        claim.window = if share < 1 {
            // Line 4: never stop a flow
            1
        } else if (by_priority || follow == Follow::Code) && share > claim.size {
            // Lines 5 and 6
            claim.size.max(1)
        } else {
            share
        };
        sum += claim.window;
    }
    if by_priority || follow == Follow::Code {
        fill(claims, max, sum, follow);
    }
}

/// Lines 10 to 19: what is left goes one by one to the flows that can use it. The paper starts at the lowest priority,
/// its code at the highest.
fn fill(claims: &mut [Claim], max: u64, mut sum: u64, follow: Follow) {
    let flows = claims.len();
    let (mut at, mut covered) = (0, 0);
    while sum < max && flows > 0 {
        let index = if follow == Follow::Paper { flows - 1 - at } else { at };
        let claim = &mut claims[index];
        if claim.covered(follow) {
            covered += 1;
            if covered >= flows {
                return;
            }
        } else {
            claim.window += 1;
            sum += 1;
        }
        at += 1;
        if at == flows {
            (at, covered) = (0, 0);
        }
    }
}
