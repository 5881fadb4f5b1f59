//! When a flow may send its next packet.

use fanin_cc::Control;
use fanin_units::{Rate, Time};

/// Window and pacing of one flow. Each packet delays the next one by its own transmission time at the flow's rate,
/// counted from when it was sent, or with credit from when it was due.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    window: u64,
    rate: Rate,
    next_at: Time,
    not_before: Time,
    /// From when the last packet delays the next one.
    counted_from: Time,
    last_wire: u32,
    /// Bytes of credit that a flow may have saved.
    credit: u32,
}

impl Pacer {
    /// A flow that may send at once.
    ///
    /// It saves up to `credit` bytes of what its rate allowed while it could not send (HPCC 4.2).
    pub fn new(control: &Control, credit: u32) -> Self {
        Self {
            window: control.window,
            rate: control.rate,
            next_at: Time::ZERO,
            not_before: control.not_before,
            counted_from: Time::ZERO,
            last_wire: 0,
            credit,
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
                self.next_at = self.counted_from.saturating_add(self.rate.tx_time(self.last_wire as u64));
            }
        }
    }

    /// A packet of `wire` bytes is sent now.
    #[inline]
    pub fn sent(&mut self, now: Time, wire: u32, line: Rate, line_time: Time) {
        let paced = self.rate < line;
        // At line rate the NIC itself paces.
        let made_up = paced && self.credit > 0 && self.last_wire > 0;
        self.counted_from = if made_up { self.credited(now) } else { now };
        self.last_wire = wire;
        let gap = if paced { self.rate.tx_time(wire as u64) } else { line_time };
        self.next_at = self.counted_from.saturating_add(gap);
    }

    /// When a packet that is sent now would have been sent without others in its way: when it was due, but no earlier
    /// than the credit allows.
    #[inline(never)]
    fn credited(&self, now: Time) -> Time {
        let saved = self.rate.tx_time(self.credit as u64);
        self.next_at.max(now.saturating_sub(saved)).min(now)
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

    /// When the last packet left, or with credit some packets earlier.
    pub fn counted_from(&self) -> Time {
        self.counted_from
    }

    /// The rate now.
    pub fn rate(&self) -> Rate {
        self.rate
    }
}
