//! The rate of a flow in the simulator that HPCC's authors published, and the window that follows from it: what its
//! four schemes share (rdma-hw.cc, rdma-queue-pair.cc).

use crate::Action;
use crate::roles::{Control, Cx, PathInfo};
use fanin_units::Rate;

/// A double converted to a rate: truncated, and outside 64 bits as on x86-64, where that simulator's results come from.
pub fn whole(x: f64) -> u64 {
    const HALF: f64 = 9_223_372_036_854_775_808.0;
    let signed = |x: f64| if (-HALF..HALF).contains(&x) { x as i64 as u64 } else { 1 << 63 };
    if x >= HALF { signed(x - HALF) ^ (1 << 63) } else { signed(x) }
}

/// The window at `rate` (GetWin); `most` 0 is no window.
fn window(most: u64, variable: bool, rate: u64, line: u64) -> u64 {
    match most {
        0 => u64::MAX,
        _ if variable => (most.wrapping_mul(rate) / line.max(1)).max(1),
        _ => most,
    }
}

/// How rate and window limit a flow.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Lower bound of the rate (MIN_RATE).
    pub min_rate: Rate,
    /// Whether a window applies as well (HAS_WIN).
    pub window: bool,
    /// Whether that window shrinks with the rate (VAR_WIN).
    pub var_win: bool,
    /// Whether packets are paced at the rate, or at the NIC's (RATE_BOUND).
    pub rate_bound: bool,
}

/// The rate of a flow in whole bits per second, between its bounds, and its window.
#[derive(Clone, Debug)]
pub struct FlowRate {
    rate: u64,
    window: u64,
    /// Rate of the sender's NIC.
    line: u64,
    /// W_max, the network's largest bandwidth-delay product; 0 for none.
    most: u64,
    limits: Limits,
}

impl FlowRate {
    /// A flow that starts at the rate of its NIC.
    pub fn new(path: &PathInfo, limits: Limits) -> Self {
        let line = path.line_rate.as_bps();
        let most = if limits.window { path.network_bdp } else { 0 };
        Self { rate: line, window: window(most, limits.var_win, line, line), line, most, limits }
    }

    /// The rate.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.rate
    }

    /// Rate of the sender's NIC.
    #[inline(always)]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// W_max, or 0.
    #[inline(always)]
    pub fn most(&self) -> u64 {
        self.most
    }

    /// The rate `by` above `rate`, within the bounds.
    #[inline(always)]
    pub fn raised(&self, rate: u64, by: Rate) -> u64 {
        rate.wrapping_add(by.as_bps()).min(self.line)
    }

    /// The rate times `factor`, within the bounds.
    #[inline(always)]
    pub fn scaled(&self, factor: f64) -> u64 {
        whole(self.rate as f64 * factor).max(self.limits.min_rate.as_bps())
    }

    /// Changes the rate and counts a cut or an increase.
    #[inline(always)]
    pub fn change<P>(&mut self, rate: u64, cx: &mut Cx<'_, P>) {
        if rate < self.rate {
            cx.count(Action::Cut);
        } else if rate > self.rate {
            cx.count(Action::Increase);
        }
        self.set(rate);
    }

    /// Changes the rate.
    #[inline(always)]
    pub fn set(&mut self, rate: u64) {
        self.rate = rate;
        self.window = window(self.most, self.limits.var_win, rate, self.line);
    }

    /// How much the flow may send.
    #[inline(always)]
    pub fn control(&self) -> Control {
        let rate = Rate::from_bps(if self.limits.rate_bound { self.rate } else { self.line });
        Control { window: self.window, ..Control::rate(rate) }
    }
}

#[cfg(test)]
mod tests {
    use super::{whole, window};

    #[test]
    fn a_double_is_a_rate_as_g_plus_plus_has_it_on_x86_64() {
        for (x, rate) in [
            (3.9, 3),
            (-1.5, u64::MAX),
            (9_223_372_036_854_775_808.0, 1 << 63),
            (1e19, 10_000_000_000_000_000_000),
            (1.9e19, 0),
            (1e20, 0),
            (f64::INFINITY, 0),
            (f64::NEG_INFINITY, 1 << 63),
            (-1e30, 1 << 63),
            (f64::NAN, 1 << 63),
        ] {
            assert_eq!(whole(x), rate, "{x}");
        }
    }

    #[test]
    fn a_window_is_at_least_a_byte_and_wraps_around() {
        assert_eq!(window(0, true, 1, 100), u64::MAX);
        assert_eq!([window(153_000, true, 99, 100), window(153_000, false, 99, 100)], [151_470, 153_000]);
        assert_eq!(window(1, true, 99, 100), 1);
        // 2^34 10^10 is 9 times 2^64 and a remainder.
        assert_eq!(window(1 << 34, true, 10_000_000_000, 10_000_000_000), 577_799_517);
    }
}
