//! Priority flow control (IEEE 802.1Qbb), per ingress port and lossless class.
//!
//! An ingress counts the bytes it holds. When the count reaches the threshold a PAUSE goes to the sender, ahead of
//! everything but the packet on the wire; later arrivals go into the headroom. One frame carries the state of all
//! classes that changed, as the standard's class-enable vector does. A pause lasts until the resume, unless
//! [`crate::pauses::PauseOptions`] has it expire.

use fanin_units::{Rate, Time};

/// The buffer account of one class at one ingress port.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ingress {
    /// Bytes that count against the threshold.
    pub shared: u64,
    /// Bytes that arrived after the PAUSE.
    pub headroom: u64,
    /// The headroom reserved for those.
    pub reserved: u64,
    /// Whether the sender is, or is about to be, paused.
    pub paused: bool,
    /// The switch, by its row.
    pub switch: u32,
    /// The row of its rate among the limits of the buffers.
    pub row: u8,
}

/// An ingress's decision on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Admitted.
    Admit,
    /// Admitted, and the sender must be paused.
    AdmitAndPause,
    /// Rejected.
    Drop,
}

impl Ingress {
    /// A packet of `wire` bytes arrived; `threshold` is the PAUSE threshold and `allowance` the bytes admitted above
    /// it.
    #[inline(always)]
    pub fn admit(&mut self, wire: u64, threshold: u64, allowance: u64) -> Admission {
        if self.paused {
            if self.headroom + wire > allowance {
                return Admission::Drop;
            }
            self.headroom += wire;
            return Admission::Admit;
        }
        self.shared += wire;
        if self.shared >= threshold {
            self.paused = true;
            return Admission::AdmitAndPause;
        }
        Admission::Admit
    }

    /// A packet of `wire` bytes left. Returns the bytes of it that were not in the headroom.
    #[inline(always)]
    pub fn release(&mut self, wire: u64) -> u64 {
        let from_headroom = wire.min(self.headroom);
        self.headroom -= from_headroom;
        let from_shared = wire - from_headroom;
        self.shared -= from_shared;
        from_shared
    }

    /// Whether the sender may resume: an empty headroom, and `gap` bytes below the threshold (or an empty ingress).
    #[inline(always)]
    pub fn may_resume(&self, threshold: u64, gap: u64) -> bool {
        self.paused && self.headroom == 0 && (self.shared == 0 || self.shared + gap <= threshold)
    }
}

/// Bytes that can arrive from the peer after the decision to pause, and still must fit.
///
/// From the decision on, the frame may wait for one full packet on the reverse wire, takes its own time, travels one
/// delay, and takes effect a `response` after it arrived; the peer may have started packets up to one delay before the
/// decision that are still in flight. All packets that start within that span arrive, and the last of them may be a
/// full one that starts at its very end. Whole packets per span would be too few, because packets of different sizes
/// may use it to the last byte.
pub fn allowance(rate: Rate, (delay, response): (Time, Time), wire: u64, pause: u64) -> u64 {
    let span = delay + delay + response + rate.tx_time(wire) + rate.tx_time(pause);
    rate.bytes_in(span) + wire
}

/// The headroom to reserve above the threshold: [`allowance`], and the part of the packet that crossed the threshold
/// which lies above it (at most all but one byte of a full packet).
pub fn headroom(rate: Rate, (delay, response): (Time, Time), wire: u64, pause: u64) -> u64 {
    allowance(rate, (delay, response), wire, pause) + wire - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn darts_links_need_what_is_under_way_and_the_one_that_crossed() {
        // 10 Gb/s, 5 us: 10 us of flight + 1.2 us packet + 51.2 ns frame = 11.2512 us, or 14,064 bytes.
        let delays = (Time::from_us(5), Time::ZERO);
        assert_eq!(allowance(Rate::from_gbps(10), delays, 1500, 64), 14_064 + 1500);
        assert_eq!(headroom(Rate::from_gbps(10), delays, 1500, 64), 14_064 + 1500 + 1499);
        // IEEE 802.1Qbb gives a port 12 quanta of 512 bits at 10 Gb/s: 768 bytes more.
        let delays = (Time::from_us(5), Time::from_ps(614_400));
        assert_eq!(allowance(Rate::from_gbps(10), delays, 1500, 64), 14_064 + 768 + 1500);
    }

    #[test]
    fn an_ingress_pauses_uses_its_headroom_and_resumes() {
        let mut ingress = Ingress::default();
        assert_eq!(ingress.admit(1000, 2001, 1500), Admission::Admit);
        assert_eq!(ingress.admit(1000, 2001, 1500), Admission::Admit);
        assert_eq!(ingress.admit(1000, 2001, 1500), Admission::AdmitAndPause);
        assert_eq!(ingress.admit(1000, 2001, 1500), Admission::Admit);
        assert_eq!(ingress.admit(1000, 2001, 1500), Admission::Drop);
        assert_eq!(ingress.release(1000), 0);
        assert!(!ingress.may_resume(2001, 100));
        assert_eq!(ingress.release(1000), 1000);
        assert!(ingress.may_resume(2100, 100));
        assert!(!ingress.may_resume(2099, 100));
        assert_eq!(ingress.release(2000), 2000);
        assert!(ingress.may_resume(0, 100));
    }
}
