//! When a flow may send its next packet.

use fanin_cc::Control;
use fanin_units::{Rate, Time};

/// Window and pacing of one flow. Each packet delays the next one by its own transmission time at the flow's rate.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    window: u64,
    rate: Rate,
    next_at: Time,
    not_before: Time,
    last_sent: Time,
    last_wire: u32,
}

impl Pacer {
    /// A flow that may send at once.
    pub fn new(control: &Control) -> Self {
        Self {
            window: control.window,
            rate: control.rate,
            next_at: Time::ZERO,
            not_before: control.not_before,
            last_sent: Time::ZERO,
            last_wire: 0,
        }
    }

    /// Applies a new decision of the congestion control. If it asks for rescheduling, the time of the waiting packet
    /// follows the new rate; otherwise only those of later packets do.
    #[inline]
    pub fn set(&mut self, control: &Control) {
        self.window = control.window;
        self.not_before = control.not_before;
        if control.rate != self.rate {
            let silent = self.rate == Rate::ZERO;
            self.rate = control.rate;
            if (control.retime || silent) && self.last_wire > 0 {
                self.next_at = self.last_sent.saturating_add(self.rate.tx_time(self.last_wire as u64));
            }
        }
    }

    /// A packet of `wire` bytes is sent now.
    #[inline]
    pub fn sent(&mut self, now: Time, wire: u32, line: Rate, line_time: Time) {
        self.last_sent = now;
        self.last_wire = wire;
        let gap = if self.rate >= line { line_time } else { self.rate.tx_time(wire as u64) };
        self.next_at = now.saturating_add(gap);
    }

    /// Whether the window allows another packet with this many bytes in flight.
    #[inline(always)]
    pub fn open(&self, in_flight: u64) -> bool {
        in_flight < self.window && self.rate != Rate::ZERO
    }

    /// Bytes that may be in flight.
    #[inline(always)]
    pub fn window(&self) -> u64 {
        if self.rate == Rate::ZERO { 0 } else { self.window }
    }

    /// The earliest time of the next packet.
    #[inline(always)]
    pub fn next_at(&self) -> Time {
        self.next_at.max(self.not_before)
    }

    /// The rate now.
    pub fn rate(&self) -> Rate {
        self.rate
    }
}
