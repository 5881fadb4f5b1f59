//! # rcp: switches tell every flow its rate
//!
//! ## Idea
//! Each port of a switch computes one rate for all flows that leave by it, from its spare capacity and its queue, and
//! writes it into their packets. A flow sends at the lowest rate of its path, from its first data on, so that short
//! messages are done early and flows are fair without searching.
//!
//! ## Signals
//! * Switch: bytes that arrive at a port, its queue, and the round-trip times that packets of this scheme tell.
//! * Receiver: returns in each ACK the rate that the packet came with.
//! * Sender: that rate. Packets tell the sender's last round-trip time.
//!
//! ## Control law
//! R is a port's rate, C that of its link. Every T the port takes the bytes per second y that have arrived in T, the
//! bytes q that are queued now, and the mean round-trip time of the packets' bytes:
//!
//! * d moves by gain (mean - d), gain = T/d if the mean is above d, else (R/C) (mean/d) (T/d).
//! * R = R (1 + (T/d) (`alpha` (`gamma` C - y) - `beta` q/d) / (`gamma` C)), at least 0.01 packets of 1000 bytes per d
//!   and at most `gamma` C.
//! * T = min(d, `most_interval`). Of a packet whose transmission would end after T, the share behind T counts for the
//!   next one.
//! * It begins with R = `initial_rate` and d = `initial_rtt`. The first interval is 0.6 to 1.4 T long, by chance, so
//!   that ports are not in phase.
//!
//! A packet leaves the port with the lower of its rate and R.
//!
//! A flow sends a request first, a packet without payload, and data once the ACK of the request has brought a rate;
//! without an answer it asks again after two round-trip times of the idle path. It paces at the rate of the newest ACK,
//! also a packet that already waits. While the time between two packets is longer than the round-trip time of the idle
//! path, it sends a request every such time, but not more than four. After each request without an answer it waits
//! twice as long.
//!
//! Presets: `rcp` with an initial round-trip time suited to a datacenter; `rcp-ns2` with that of its authors' ns-2
//! code.
//!
//! ## Parameters
//!
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `alpha` | gain of spare capacity | 0.4 | RCP's ns-2 code; Dart VI-D |
//! | `beta` | gain of the queue | 0.4 | RCP's ns-2 code; Dart VI-D |
//! | `gamma` | share of C aimed at | 1 | RCP's ns-2 code |
//! | `initial_rate` | rate or share of C | 0.05 | RCP's ns-2 code |
//! | `initial_rtt` | time, 0 is the network's largest | 0 ps | the ns-2 code has 200 ms, which is too slow here |
//! | `most_interval` | time | 10 ms | RCP's ns-2 code |
//!
//! ## Where we differ from the paper and why
//! * A port without arrivals and without a queue whose R has reached `gamma` C takes no more intervals until the next
//!   packet: nothing would change in them but their phase.
//! * Rates are told in whole kb/s, from 1 on, rounded to the nearest; round-trip times in nanoseconds. Both take 8
//!   bytes of a packet, and the rate 4 of an ACK; the authors' code has 40 bytes of headers in all.
//! * Requests without an answer become rarer. In the authors' code they do not: on a congested network whose idle
//!   round-trip time is short, the requests alone can fill a link, and no data gets through (the random tests found
//!   that).
//! * Between two packets there are four requests at most. The authors' code has no such limit; in a datacenter, with a
//!   round-trip time of microseconds, those of a thousand flows would be many times what the link carries.
//! * A flow whose rate is very low waits; the authors' sender quits with probability 0.1. Our R never reaches 0.
//! * Hosts do not compute rates: the flows of a host share its link by turns.
//!
//! ## References
//! * Dukkipati, Rate Control Protocol: Congestion control to make flows complete quickly, thesis, Stanford 2008, and
//!   its ns-2 code.
//! * Xue et al., Dart, IEEE/ACM Transactions on Networking 2020, section VI-D.

use super::dcqcn::RateOrShare;
use crate::Action;
use crate::roles::*;
use alloc::vec::Vec;
use fanin_units::{Rate, Time};

/// The scheme.
pub struct Rcp;

/// Its parameters; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(deny_unknown_fields))]
pub struct Params {
    /// Gain of the spare capacity.
    pub alpha: f64,
    /// Gain of the queue.
    pub beta: f64,
    /// Share of the link that is aimed at.
    pub gamma: f64,
    /// A port's rate before the first interval.
    pub initial_rate: RateOrShare,
    /// The round-trip time that a port begins with; zero is the largest of the network.
    pub initial_rtt: Time,
    /// Longest interval.
    pub most_interval: Time,
}

impl Scheme for Rcp {
    type Params = Params;
    type Sender = Flow;
    type Receiver = Echo;
    type Switch = Router;
    const PRESETS: &'static [&'static str] = &["rcp", "rcp-ns2"];

    fn preset(id: &str) -> Params {
        Params {
            alpha: 0.4,
            beta: 0.4,
            gamma: 1.0,
            initial_rate: RateOrShare::Share(0.05),
            initial_rtt: if id == "rcp-ns2" { Time::from_ms(200) } else { Time::ZERO },
            most_interval: Time::from_ms(10),
        }
    }

    fn wants_ecn(_: &Params) -> bool {
        false
    }

    fn needs_switches(_: &Params) -> Option<&'static str> {
        Some("needs switches that write rates into packets")
    }

    fn header_overhead(_: &Params) -> HeaderOverhead {
        HeaderOverhead::new(8, 4)
    }

    fn rdma_only(_: &Params) -> Option<&'static str> {
        Some("asks for its rate before it sends, which TCP's handshake does not carry")
    }

    fn check(p: &Params) -> Result<(), &'static str> {
        require([
            (p.alpha > 0.0 && p.alpha.is_finite(), "alpha must be above 0, or rates never rise"),
            (p.beta >= 0.0 && p.beta.is_finite(), "beta must be 0 or more"),
            (p.gamma > 0.0 && p.gamma <= 1.0, "gamma must be above 0 and at most 1"),
            (p.initial_rate.is_possible(1), "initial_rate must be above 0"),
            (p.most_interval >= Time::from_ns(1), "most_interval must be at least 1 ns"),
        ])
    }
}

/// Most requests in the time between two packets.
const REQUESTS: u64 = 4;

/// Bits per second of one unit of a told rate.
const UNIT: f64 = 1000.0;

/// A flow at its sender.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The last told rate; zero before the first.
    rate: Rate,
    /// The last round-trip time.
    rtt: Time,
    /// That of the idle path.
    idle_rtt: Time,
    wire: u32,
    asks: bool,
    /// Requests sent since the last answer.
    unanswered: u32,
    wake_at: Time,
}

impl Flow {
    /// Sets the timer of the next request.
    fn wait(&mut self, now: Time) {
        let gap = if self.rate == Rate::ZERO { Time::ZERO } else { self.rate.tx_time(self.wire as u64) };
        if self.rate > Rate::ZERO && gap <= self.idle_rtt {
            self.wake_at = Time::NEVER;
            return;
        }
        let pause = self.idle_rtt.max(Time::from_ps(gap.as_ps() / REQUESTS));
        self.wake_at = now.saturating_add(pause.saturating_mul(1 << self.unanswered.min(30)));
    }
}

impl Sender for Flow {
    type Params = Params;
    type Shared = ();

    fn open(path: &PathInfo, cx: &mut Cx<'_, Params>) -> Self {
        let mut flow = Self {
            rate: Rate::ZERO,
            rtt: Time::ZERO,
            idle_rtt: path.base_rtt.max(Time::from_ns(1)),
            wire: path.wire,
            asks: true,
            unanswered: 1,
            wake_at: Time::NEVER,
        };
        flow.wait(cx.now);
        flow
    }

    #[inline(always)]
    fn control(&self, _: &Cx<'_, Params>) -> Control {
        Control { wake_at: self.wake_at, retime: true, ..Control::rate(self.rate) }
    }

    #[inline(always)]
    fn on_send(&mut self, _: &Sent, _: &mut Cx<'_, Params>) -> u32 {
        told(self.rtt)
    }

    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Cx<'_, Params>) {
        self.rtt = ack.rtt;
        if ack.cc_feedback == 0 {
            return;
        }
        let rate = Rate::from_bps(ack.cc_feedback as u64 * UNIT as u64);
        let before = core::mem::replace(&mut self.rate, rate);
        let waited = core::mem::take(&mut self.unanswered) > 0;
        match rate.cmp(&before) {
            core::cmp::Ordering::Equal if !waited => return,
            core::cmp::Ordering::Equal => {}
            core::cmp::Ordering::Less => cx.count(Action::Cut),
            core::cmp::Ordering::Greater if before > Rate::ZERO => cx.count(Action::Increase),
            core::cmp::Ordering::Greater => {}
        }
        self.wait(cx.now);
    }

    fn on_timer(&mut self, cx: &mut Cx<'_, Params>) {
        if self.wake_at <= cx.now {
            self.asks = true;
            self.unanswered += 1;
            self.wait(cx.now);
        }
    }

    fn on_idle(&mut self, _: &mut Cx<'_, Params>) {
        // What the connection sends next asks by itself.
        self.wake_at = Time::NEVER;
    }

    fn poll_request(&mut self, _: u64, _: &mut Cx<'_, Params>) -> Option<u32> {
        core::mem::take(&mut self.asks).then(|| told(self.rtt))
    }
}

/// A round-trip time as packets tell it, in nanoseconds.
fn told(rtt: Time) -> u32 {
    (rtt.as_ps() / 1000).min(u32::MAX as u64) as u32
}

/// The receiver of a host: returns the rate that each packet came with.
pub struct Echo;

impl Receiver for Echo {
    type Params = Params;
    type Flow = ();

    fn new(_: &Params, _: &NicInfo) -> Self {
        Self
    }

    fn on_data(&mut self, data: &Data, _: &mut (), _: &mut Cx<'_, Params>) -> AckPlan {
        let fields = AckFields { cc_feedback: data.cc_feedback, ..AckFields::default() };
        AckPlan { before: None, now: data.ack_due.then_some(fields) }
    }

    fn on_request(&mut self, request: &Data, _: &mut (), _: &mut Cx<'_, Params>) -> Option<AckFields> {
        Some(AckFields { cc_feedback: request.cc_feedback, ..AckFields::default() })
    }
}

/// A port's rate and what it is computed from. Times in seconds, rates in bytes per second.
#[derive(Clone, Debug, Default)]
struct PortRate {
    capacity: f64,
    rate: f64,
    /// d: the mean round-trip time.
    rtt: f64,
    /// Sum of round-trip times, each times its packet's bytes, and of those bytes.
    rtt_sum: f64,
    rtt_bytes: f64,
    bytes: f64,
    /// Bytes whose transmission would end after the interval.
    spill: f64,
    since: Time,
    /// End of the interval; never while nothing can change.
    until: Time,
}

fn seconds(time: Time) -> f64 {
    time.as_ps() as f64 / 1e12
}

impl PortRate {
    fn interval(&self, p: &Params) -> Time {
        Time::from_ps((self.rtt * 1e12) as u64).min(p.most_interval).max(Time::from_ns(1))
    }

    /// Counts an arriving packet.
    fn count(&mut self, wire: u16, rtt_ns: Option<u32>, now: Time, p: &Params) {
        if self.until == Time::NEVER {
            (self.since, self.until) = (now, now.saturating_add(self.interval(p)));
        }
        let bytes = wire as f64;
        if let Some(rtt) = rtt_ns.filter(|rtt| *rtt > 0) {
            self.rtt_sum += rtt as f64 / 1e9 * bytes;
            self.rtt_bytes += bytes;
        }
        let late = seconds(now) + bytes / self.capacity - seconds(self.until);
        let spill = (late * self.capacity).clamp(0.0, bytes);
        self.spill += spill;
        self.bytes += bytes - spill;
    }

    /// The end of an interval, with these bytes in the queue.
    fn update(&mut self, queued: u64, now: Time, p: &Params) {
        let interval = seconds(now.saturating_sub(self.since));
        let arriving = self.bytes / interval;
        if self.rtt_bytes > 0.0 {
            let mean = self.rtt_sum / self.rtt_bytes;
            let step = interval / self.rtt;
            let gain = if mean >= self.rtt { step } else { self.rate / self.capacity * (mean / self.rtt) * step };
            self.rtt += gain.min(1.0) * (mean - self.rtt);
        }
        // RCP's equation
        let aim = p.gamma * self.capacity;
        let spare = p.alpha * (aim - arriving) - p.beta * queued as f64 / self.rtt;
        let rate = self.rate * (1.0 + interval / self.rtt * spare / aim);
        self.rate = rate.max(0.01 * 1000.0 / self.rtt).min(aim);
        let idle = self.bytes == 0.0 && self.spill == 0.0 && queued == 0 && self.rate >= aim;
        (self.rtt_sum, self.rtt_bytes) = (0.0, 0.0);
        (self.bytes, self.spill) = (self.spill, 0.0);
        self.since = now;
        self.until = if idle { Time::NEVER } else { now.saturating_add(self.interval(p)) };
    }
}

/// The ports of a switch.
pub struct Router {
    ports: Vec<PortRate>,
    wake_at: Time,
}

impl Router {
    fn set_timer(&mut self) {
        self.wake_at = self.ports.iter().map(|port| port.until).min().unwrap_or(Time::NEVER);
    }
}

impl SwitchProgram for Router {
    type Params = Params;
    fn watches(_: &Params) -> bool {
        true
    }

    fn new(p: &Params, switch: &SwitchInfo<'_>) -> Self {
        let rtt = if p.initial_rtt == Time::ZERO { switch.network_rtt.max(Time::from_ns(1)) } else { p.initial_rtt };
        let port = |(number, view): (usize, &PortView)| {
            let mut port = PortRate {
                capacity: view.rate.as_bps() as f64 / 8.0,
                rate: p.initial_rate.at(view.rate.as_bps()) as f64 / 8.0,
                rtt: seconds(rtt),
                until: Time::NEVER,
                ..PortRate::default()
            };
            // Not in phase with other ports: 0.6 to 1.4 of an interval.
            let chance =
                (switch.seed ^ (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xD1B5_4A32_D192_ED03);
            let share = 0.6 + 0.8 * ((chance >> 40) as f64 / (1u64 << 24) as f64);
            port.until = Time::from_ps((port.interval(p).as_ps() as f64 * share) as u64);
            port
        };
        let mut router = Self { ports: switch.ports.iter().enumerate().map(port).collect(), wake_at: Time::NEVER };
        router.set_timer();
        router
    }

    fn on_enqueue(&mut self, at: &mut Queued<'_>, cx: &mut Cx<'_, Params>) -> Verdict {
        let port = &mut self.ports[at.port as usize];
        port.count(at.packet.wire, at.own.then_some(at.packet.cc_tag), cx.now, cx.params);
        self.wake_at = self.wake_at.min(port.until);
        Verdict::Admit
    }

    fn on_dequeue(&mut self, at: &mut Queued<'_>, _: &mut Cx<'_, Params>) {
        if at.own {
            let told = (self.ports[at.port as usize].rate * 8.0 / UNIT + 0.5).clamp(1.0, u32::MAX as f64) as u32;
            let field = &mut at.packet.cc_feedback;
            if *field == 0 || *field > told {
                *field = told;
            }
        }
    }

    fn on_timer(&mut self, ports: &dyn Ports, cx: &mut Cx<'_, Params>) {
        for (number, port) in self.ports.iter_mut().enumerate() {
            if port.until <= cx.now {
                port.update(ports.view(number as u16).queued, cx.now, cx.params);
            }
        }
        self.set_timer();
    }

    fn wake_at(&self) -> Time {
        self.wake_at
    }

    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let least = self.ports.iter().map(|port| port.rate * 8.0).fold(f64::INFINITY, f64::min);
        see("least_rate_bps", least);
    }
}
