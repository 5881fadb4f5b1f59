//! The law itself: a window in bytes from ACKs, NACKs and timeouts, at times in picoseconds. The scheme drives it, and
//! so does the network of uet-htsim (`crates/uet`).
//!
//! Source: Ultra Ethernet 1.0, network signal congestion control; uet-htsim, with its order of evaluation,
//! its truncations and its counters of 32 bits.

/// What moves a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum Law {
    /// NSCC: delay and marks.
    Nscc,
    /// Marks alone, packet by packet, as uet-htsim's `dctcp`.
    Dctcp,
    /// Nothing.
    Constant,
}

/// What the parameters follow from.
#[derive(Clone, Copy, Debug)]
pub struct Ground {
    /// Bytes of a full packet, as windows count them.
    pub mtu: i64,
    /// Bytes of its payload.
    pub mss: i64,
    /// Rate of NICs in bits per second.
    pub rate: u64,
    /// Round-trip time of the network in picoseconds.
    pub rtt: u64,
    /// Target delay in picoseconds.
    pub target: u64,
    /// Shift of the largest window, below which quick adaptation acts.
    pub gate: u32,
    /// What moves windows.
    pub law: Law,
}

/// Rate times a round-trip time, in bytes.
pub fn product(rtt: u64, rate: u64) -> i64 {
    (rtt as f64 / 1e12 * (rate / 8) as f64) as i64
}

/// The largest window at a round-trip time.
pub fn most(rtt: u64, rate: u64) -> i64 {
    (1.5 * product(rtt, rate) as f64) as i64
}

/// The parameters that all senders share, derived from the network.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// Target delay in picoseconds.
    pub target: u64,
    /// Round-trip time of the network.
    pub network_rtt: u64,
    /// Smallest window in bytes.
    pub least: i64,
    rate: u64,
    gate: u32,
    alpha: f64,
    fair: f64,
    eta: f64,
    fast_scale: f64,
    adjust_bytes: i64,
    law: Law,
}

impl Parameters {
    /// The parameters of a network.
    pub fn new(ground: &Ground) -> Self {
        let (mss, t) = (ground.mss as f64, ground.target as f64);
        let a = product(ground.rtt, ground.rate) as f64 / 150_000.0;
        let b = t / 12_000_000.0;
        Self {
            target: ground.target,
            network_rtt: ground.rtt,
            least: ground.mtu,
            rate: ground.rate,
            gate: ground.gate,
            alpha: 4.0 * mss * a * b / t,
            fair: 5.0 * mss * a,
            eta: 0.15 * mss * a,
            fast_scale: 0.25 * a,
            adjust_bytes: 8 * ground.mtu,
            law: ground.law,
        }
    }
}

/// What changed a window, in bytes; the last line of each flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// By fair increase.
    pub fair: i64,
    /// By proportional increase.
    pub proportional: i64,
    /// By fast increase.
    pub fast: i64,
    /// By the constant increase of each period.
    pub eta: i64,
    /// Lost by multiplicative decrease.
    pub multiplicative: i64,
    /// Lost by quick adaptation.
    pub quick: i64,
    /// Bytes of trimmed packets.
    pub nack: i64,
}

/// The state of a sender.
#[derive(Clone, Debug)]
pub struct Nscc {
    /// Window in bytes.
    pub window: i64,
    /// Largest window.
    pub most: i64,
    /// Smallest round-trip time seen.
    pub base: u64,
    /// Average queueing delay.
    pub average: u64,
    /// Sum of increases, to be divided by the window at the next adjustment.
    pub increase: u32,
    /// Bytes acknowledged in this period of quick adaptation.
    pub achieved: i64,
    /// Bytes acknowledged since the last adjustment.
    pub received: i64,
    /// Bytes of feedback seen since the last quick adaptation.
    pub ignored: i64,
    /// Bytes of feedback to ignore after it.
    pub to_ignore: u32,
    /// Bytes acknowledged in a row without delay.
    pub fast_count: u32,
    /// Whether the window grows fast.
    pub fast: bool,
    /// End of the period of quick adaptation.
    pub quick_end: u64,
    /// Time of the last adjustment.
    pub adjusted: u64,
    /// Time of the last multiplicative decrease.
    pub cut: u64,
    /// What changed the window.
    pub account: Account,
    trigger: bool,
    fair_sum: i64,
    proportional_sum: i64,
}

impl Nscc {
    /// The state of a sender with a round-trip time and a window.
    pub fn new(base: u64, most: i64, window: i64) -> Self {
        Self {
            window,
            most,
            base,
            average: 0,
            increase: 0,
            achieved: 0,
            received: 0,
            ignored: 0,
            to_ignore: 0,
            fast_count: 0,
            fast: false,
            quick_end: 0,
            adjusted: 0,
            cut: 0,
            account: Account::default(),
            trigger: false,
            fair_sum: 0,
            proportional_sum: 0,
        }
    }

    /// Notes bytes that an ACK newly acknowledges.
    pub fn count(&mut self, new: i64) {
        self.achieved += new;
        self.received += new;
        self.ignored += new;
    }

    /// A sample of the round-trip time may lower the base and with it the largest window.
    pub fn sample_base(&mut self, p: &Parameters, rtt: u64) {
        if rtt < self.base {
            self.base = rtt;
            let bdp = ((rtt as f64 / 1e6) * p.rate as f64 / 8_000_000.0) as i64;
            self.most = (1.5 * bdp as f64) as i64;
        }
    }

    /// A sample of the delay changes the average; a long one without a mark counts as a quarter of the base.
    pub fn sample_delay(&mut self, p: &Parameters, delay: u64, marked: bool) {
        let sample = if !marked && delay > p.target { 0.0125 * self.base as f64 * 0.25 } else { 0.0125 * delay as f64 };
        self.average = (sample + (1.0 - 0.0125) * self.average as f64) as u64;
    }

    fn clamp(&mut self, p: &Parameters) {
        self.window = self.window.min(self.most).max(p.least);
    }

    /// An ACK of `new` bytes with a delay.
    pub fn on_ack(&mut self, p: &Parameters, now: u64, marked: bool, delay: u64, new: i64, in_flight: i64) {
        match p.law {
            Law::Constant => return,
            Law::Dctcp => {
                self.window += if marked { -(new / 3) } else { new * (p.adjust_bytes / 8) / self.window.max(1) };
                return self.clamp(p);
            }
            Law::Nscc => {}
        }
        if self.quick_adapt(p, now, false, marked, delay, in_flight) {
            return;
        }
        match (marked, delay >= p.target) {
            (false, true) => self.fair_sum += self.grow(p.fair * new as f64),
            (false, false) => self.proportional(p, delay, new),
            (true, true) => self.decrease(p, now),
            (true, false) => {}
        }
        self.clamp(p);
        if self.received > p.adjust_bytes || now - self.adjusted > p.network_rtt {
            self.adjust(p, now);
        }
        self.clamp(p);
    }

    fn grow(&mut self, by: f64) -> i64 {
        let before = self.increase;
        // The original's counter has 32 bits, and wraps.
        self.increase = (f64::from(before) + by) as u64 as u32;
        i64::from(self.increase) - i64::from(before)
    }

    fn proportional(&mut self, p: &Parameters, delay: u64, new: i64) {
        if delay < 1_000_000 {
            self.fast_count = self.fast_count.wrapping_add(new as u32);
            if i64::from(self.fast_count) > self.window || self.fast {
                let before = self.window;
                self.window = (self.window as f64 + new as f64 * p.fast_scale) as i64;
                self.account.fast += self.window - before;
                self.fast = true;
                return;
            }
        } else {
            self.fast_count = 0;
        }
        self.fast = false;
        self.proportional_sum += self.grow(p.alpha * new as f64 * (p.target - delay) as f64);
    }

    fn decrease(&mut self, p: &Parameters, now: u64) {
        self.fast = false;
        self.fast_count = 0;
        if self.average > p.target && now - self.cut > self.base {
            let average = self.average as f64;
            let share = (1.0 - 0.8 * (average - p.target as f64) / average).max(0.5);
            let before = self.window;
            self.window = ((self.window as f64 * share) as i64).max(p.least);
            self.account.multiplicative += before - self.window;
            self.cut = now;
        }
    }

    fn adjust(&mut self, p: &Parameters, now: u64) {
        self.window += i64::from(self.increase) / self.window.max(1);
        self.account.fair += self.fair_sum / self.window.max(1);
        self.account.proportional += self.proportional_sum / self.window.max(1);
        (self.fair_sum, self.proportional_sum) = (0, 0);
        if now - self.adjusted >= p.network_rtt {
            self.window = (self.window as f64 + p.eta) as i64;
            self.account.eta = (self.account.eta as f64 + p.eta) as i64;
            self.adjusted = now;
        }
        self.increase = 0;
        self.received = 0;
    }

    /// Sets the window to what was achieved in a period with much congestion; tells whether this feedback is used up.
    fn quick_adapt(&mut self, p: &Parameters, now: u64, loss: bool, skip: bool, delay: u64, in_flight: i64) -> bool {
        let mut hit = false;
        if self.ignored < i64::from(self.to_ignore) && skip {
            hit = true;
        } else if now > self.quick_end {
            let congested = self.trigger || loss || delay > 4 * p.target;
            if self.quick_end != 0 && congested && self.achieved < self.most >> p.gate {
                let before = self.window;
                self.window = self.achieved.max(p.least);
                self.account.quick += before - self.window;
                self.to_ignore = in_flight as u32;
                self.ignored = 0;
                self.trigger = false;
                hit = true;
            }
            self.achieved = 0;
            self.quick_end = now + self.base + p.target;
        }
        if hit {
            self.increase = 0;
            self.received = 0;
        }
        hit
    }

    /// A NACK of a packet of `size` bytes, which still counts as in flight. `spare` tells that the receiver's credit
    /// deals with it, so that the window stays. A NACK counts as a delay of a whole round-trip time, with a mark.
    pub fn on_nack(&mut self, p: &Parameters, now: u64, size: i64, spare: bool, in_flight: i64) {
        match p.law {
            Law::Constant => return,
            Law::Dctcp => {
                self.window -= size;
                return self.clamp(p);
            }
            Law::Nscc => {}
        }
        self.ignored += size;
        self.sample_delay(p, p.network_rtt, true);
        self.trigger = true;
        self.account.nack += size;
        if !self.quick_adapt(p, now, true, true, 0, in_flight) && !spare {
            self.window -= size;
            self.clamp(p);
        }
    }

    /// A packet of `size` bytes was lost.
    pub fn on_timeout(&mut self, p: &Parameters, size: i64) {
        self.window = (self.window - size).max(p.least);
    }
}
