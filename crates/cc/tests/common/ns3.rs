//! A flow of a scheme that copies the public ns-3 HPCC simulator, driven as a network of its kind drives it: a clock of
//! whole nanoseconds, and events of one nanosecond in the order in which they were scheduled.

use super::{nic, path};
use fanin_cc::ns3::TimerOrder;
use fanin_cc::{Ack, Control, Instance, PathInfo, Settings};
use fanin_units::Time;

pub const fn ns(ns: u64) -> Time {
    Time::from_ns(ns)
}

/// A double as a rate on x86-64, said in another way than the schemes do.
pub fn to_u64(x: f64) -> u64 {
    if x.is_nan() || x < i64::MIN as f64 {
        0x8000_0000_0000_0000
    } else if x < 0.0 {
        x as i64 as u64
    } else if x < 2.0 * (1u64 << 63) as f64 {
        x as u64
    } else {
        0
    }
}

/// A path with that W_max and T.
pub fn path_of(gbps: u64, most: u64, round_trip: u64) -> PathInfo {
    PathInfo { network_bdp: most, network_rtt: ns(round_trip), ..path(gbps, 0) }
}

/// An ACK of that number with the next byte to send.
pub fn ack<'a>(seq: u64, sent_to: u64) -> Ack<'a> {
    Ack { acked_to: seq, seq, sent_to, in_flight: sent_to.saturating_sub(seq), rtt: ns(12_000), ..Ack::default() }
}

/// The kind of an event of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// An ACK with an echo arrives.
    Cnp,
    /// The test reads the rate.
    Look,
}

/// An event: its time, the time at which it was scheduled, and its kind.
pub type Event = (u64, u64, What);

pub struct Flow {
    pub pool: Instance,
    pub slot: u32,
    pub control: Control,
}

impl Flow {
    pub fn new(settings: &Settings, path: &PathInfo) -> Self {
        assert_eq!(settings.check(), Ok(()));
        let mut pool = settings.build();
        pool.add_host(&nic(path.line_rate.as_bps() / 1_000_000_000));
        let opened = pool.open(0, path, Time::ZERO);
        Self { pool, slot: opened.slot, control: opened.control }
    }

    pub fn rate(&self) -> u64 {
        self.control.rate.as_bps()
    }

    pub fn ack(&mut self, now: u64, ack: &Ack<'_>) -> (u64, u64) {
        self.control = self.pool.on_ack(self.slot, ns(now), ack);
        (self.rate(), self.control.window)
    }

    pub fn watch(&self, name: &str) -> f64 {
        let mut value = None;
        self.pool.watch(self.slot, &mut |at, x| value = if at == name { Some(x) } else { value });
        value.unwrap()
    }

    fn timer(&mut self, now: u64) {
        self.control = self.pool.on_timer(self.slot, ns(now));
        assert!(self.control.wake_at > ns(now));
    }

    /// Runs the timers that come before an event of `at` that was scheduled at `asked`.
    fn timers_before(&mut self, at: u64, asked: u64) {
        loop {
            let wake = self.control.wake_at.as_ps() / 1000;
            let armed = self.pool.timer_order(self.slot).map_or(Time::ZERO, TimerOrder::armed_at);
            if wake > at || (wake == at && armed > ns(asked)) {
                return;
            }
            self.timer(wake);
        }
    }

    /// Runs the events, which are in order, and returns rate and window before each.
    pub fn run(&mut self, events: &[Event]) -> Vec<(u64, u64)> {
        let mut seen = Vec::new();
        for &(at, asked, what) in events {
            self.timers_before(at, asked);
            seen.push((self.rate(), self.control.window));
            if what == What::Cnp {
                while self.pool.timer_order(self.slot).is_some_and(|timers| timers.hidden_tick(ns(at)) < ns(asked)) {
                    self.timer(at);
                }
                self.ack(at, &Ack { ecn_echo: true, ..ack(0, 0) });
            }
        }
        seen
    }
}
