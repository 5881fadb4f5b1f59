//! CPU time of a receiving host: an ACK or NACK of RDMA leaves some time after the packet that it answers has arrived.

use super::{Beside, Hosts, Io, Timer};
use alloc::collections::BinaryHeap;
use core::cmp::{Ordering, Reverse};
use fanin_cc::{Header, Telemetry, flags};
use fanin_units::{MessageId, Time};

/// The standard normal distribution's 99.9th percentile.
const NORMAL_P999: f64 = 3.090_232_306_167_813;

/// How long the CPU of a receiving host takes for one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CpuTime {
    /// None: the NIC answers by itself.
    #[default]
    Zero,
    /// Always this long.
    Constant(Time),
    /// Uniform from the first to the second.
    Uniform(Time, Time),
    /// Log-normal.
    LogNormal {
        /// Half of the answers take longer.
        median: Time,
        /// One answer in 1,000 takes longer.
        p999: Time,
    },
}

impl CpuTime {
    /// The time of one answer, at least 1 ps; `word` gives 64 random bits.
    pub fn draw(self, mut word: impl FnMut() -> u64) -> Time {
        let mut unit = || (word() >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
        let ps = match self {
            Self::Zero => 0.0,
            Self::Constant(time) => return time.max(Time::from_ps(1)),
            Self::Uniform(from, to) => from.as_ps() as f64 + unit() * to.saturating_sub(from).as_ps() as f64,
            Self::LogNormal { median, p999 } => {
                // Box and Muller 1958; 1 - unit is above 0.
                let radius = libm::sqrt(-2.0 * libm::log(1.0 - unit()));
                let normal = radius * libm::cos(2.0 * core::f64::consts::PI * unit());
                let median = median.as_ps() as f64;
                let sigma = libm::log(p999.as_ps() as f64 / median) / NORMAL_P999;
                median * libm::exp(sigma * normal)
            }
        };
        Time::from_ps(libm::round(ps).max(1.0) as u64)
    }
}

/// An answer that waits for the CPU.
pub(super) struct Answer<P> {
    /// When it leaves.
    at: Time,
    /// Its number at its host.
    number: u64,
    head: Header,
    path: P,
    scheme: u16,
    telemetry: Telemetry,
}

impl<P> PartialEq for Answer<P> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<P> Eq for Answer<P> {}

impl<P> PartialOrd for Answer<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> Ord for Answer<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// The answers of one host that wait.
pub(super) struct Cpu<P> {
    waiting: BinaryHeap<Reverse<Answer<P>>>,
    /// Answers and random words so far.
    answers: u64,
    words: u64,
    /// The one valid timer event.
    event: Time,
}

impl<P> Cpu<P> {
    fn new() -> Self {
        Self { waiting: BinaryHeap::new(), answers: 0, words: 0, event: Time::NEVER }
    }
}

impl<P: Copy> Hosts<P> {
    /// An answer of this host waits for the CPU. `slot`: its receiver, whose answers keep their order; `None` where
    /// that is gone.
    #[inline(never)]
    pub(super) fn hold_answer<I: Io<Path = P>>(
        &mut self,
        io: &mut I,
        slot: Option<u32>,
        head: &Header,
        (path, scheme): (P, u16),
        time: CpuTime,
    ) {
        let Some(host) = io.host(head.src) else { return };
        let telemetry = match slot {
            Some(slot) if head.has(flags::INT) => self.telemetry[slot as usize],
            _ => Telemetry::default(),
        };
        if self.cpus.len() <= host as usize {
            self.cpus.resize_with(self.hosts.len(), Cpu::new);
        }
        let cpu = &mut self.cpus[host as usize];
        let time = time.draw(|| {
            cpu.words += 1;
            io.random(host, cpu.words)
        });
        let mut at = io.now().saturating_add(time);
        if let Some(slot) = slot {
            let slot = slot as usize;
            if self.answered.len() <= slot {
                self.answered.resize(slot + 1, (MessageId::NONE, Time::ZERO));
            }
            let (id, last) = self.answered[slot];
            if id == self.receivers[slot].id {
                at = at.max(last);
            }
            self.answered[slot] = (self.receivers[slot].id, at);
        }
        cpu.answers += 1;
        cpu.waiting.push(Reverse(Answer { at, number: cpu.answers, head: *head, path, scheme, telemetry }));
        if at < cpu.event {
            cpu.event = at;
            io.set_timer(Timer::Answers { host }, at);
        }
    }

    /// Sends the answers whose time has come.
    #[inline(never)]
    pub(super) fn answers_timer<I: Io<Path = P>>(&mut self, io: &mut I, host: u32) {
        let now = io.now();
        if self.cpus[host as usize].event != now {
            return;
        }
        self.cpus[host as usize].event = Time::NEVER;
        while let Some(Reverse(first)) = self.cpus[host as usize].waiting.peek() {
            let at = first.at;
            if at > now {
                self.cpus[host as usize].event = at;
                io.set_timer(Timer::Answers { host }, at);
                break;
            }
            let Some(Reverse(answer)) = self.cpus[host as usize].waiting.pop() else { break };
            let has = answer.head.has(flags::INT);
            let beside = if has { Beside::Telemetry(&answer.telemetry) } else { Beside::Nothing };
            let nic = io.make_control(&answer.head, answer.path, answer.scheme, beside);
            self.serve_any(io, nic);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn draws(time: CpuTime) -> Vec<f64> {
        let mut state = 1u64;
        let mut word = || {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^ (z >> 31)
        };
        let mut all: Vec<f64> = (0..100_000).map(|_| time.draw(&mut word).as_ps() as f64 / 1e6).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    #[test]
    fn a_log_normal_time_has_its_percentiles() {
        let all = draws(CpuTime::LogNormal { median: Time::from_us(5), p999: Time::from_us(25) });
        // The 84.13th percentile is a standard deviation above the median: 5 us 5^(1/3.0902) = 8.417 us.
        for (rank, value, tolerance) in [(50_000, 5.0, 0.05), (84_134, 8.417, 0.1), (99_900, 25.0, 1.5)] {
            assert!((all[rank] - value).abs() < tolerance, "{rank}: {}", all[rank]);
        }
    }

    #[test]
    fn constant_and_uniform_times_are_within_their_bounds() {
        assert_eq!(CpuTime::Constant(Time::from_us(3)).draw(|| 0), Time::from_us(3));
        let uniform = CpuTime::Uniform(Time::from_us(2), Time::from_us(4));
        assert_eq!([uniform.draw(|| 0), uniform.draw(|| 1 << 63)], [Time::from_us(2), Time::from_us(3)]);
        let all = draws(uniform);
        assert!(all[0] >= 2.0 && all[99_999] <= 4.0 && (all[25_000] - 2.5).abs() < 0.02, "{}", all[25_000]);
    }
}
