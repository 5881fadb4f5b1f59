//! # powertcp: a window divided by the power of the busiest link
//!
//! ## Idea
//! A queue alone says how much is too much, its growth alone how fast that changes. Power is their product: what a link
//! holds times what arrives at it. A sender divides its window by the power of its busiest link, as a share of what the
//! link has when it is full without a queue, and so answers to both at once, within a round trip. Switches tell it by
//! telemetry; without, the round-trip time and its change take the place of the queue and its growth.
//!
//! ## Signals
//! * Switch: telemetry as for `hpcc`: the bytes that a port sent, its queue, and the time. Not for `powertcp-delay`.
//! * Receiver: an ACK for each packet, with that telemetry.
//! * Sender: ACKs; for `powertcp-delay` their round-trip times.
//!
//! ## Control law
//! w is the window in bytes, tau the round-trip time of the idle path, B = C tau its bandwidth-delay product at the
//! line rate C. A flow starts at w = B.
//!
//! * Telemetry: of a link with rate b and queue q, between two ACKs' records dt apart: current = growth of q/dt + bytes
//!   sent/dt, voltage = q + b tau, power P = current voltage/(b^2 tau). The link with the largest P counts.
//! * Delay: P = (1 + (r - the last r)/dt) r/tau, where r is the round-trip time and dt the time since the last ACK.
//! * G = (G (tau - dt) + P dt)/tau, with dt at most tau; the first P is G.
//! * w = `gamma` (w_old/G + B/`flows`) + (1 - `gamma`) w, at least a packet and at most B. w_old is the window at the
//!   last update of it, which is once a round trip. With telemetry each ACK changes w, and by delay the one that
//!   updates w_old.
//! * Packets are paced at w/tau.
//!
//! Where n flows share a link it is full and its queue is n B/`flows`.
//!
//! Presets: `powertcp` has telemetry, `powertcp-delay` does without.
//!
//! ## Parameters
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `form` | `telemetry` or `delay` | telemetry | paper: PowerTCP and theta-PowerTCP; `powertcp-delay` delay |
//! | `gamma` | weight of the new window | 0.9 | paper, as the authors' Linux code says; their ns-3 code by delay 0.7 |
//! | `flows` | flows expected on a link | 10 | the authors' Linux code |
//! | `least_current` | share of the link's rate | 0.0 | paper has none; the authors' ns-3 code 0.5 |
//! | `base_rtt` | time, zero is that of the path | 0 ps | tau |
//!
//! ## Where we differ from the paper and why
//! * The paper was not at hand. The rules are those of the comments and code of its authors' Linux module; their ns-3
//!   code differs: it divides by 0.95, adds 150 Mb/s, reacts to each ACK by delay too, and has no current below half a
//!   link.
//! * There telemetry holds the bytes that entered a queue, which are the current by themselves. Ours holds those that
//!   left, so the growth of the queue is added, as in the paper.
//! * w_old is stored once a round trip, as in that code; the paper has the window of the time when the packet left.
//! * With another path the records are dropped, and one ACK changes nothing. Losses are no signal.
//!
//! ## References
//! * Addanki, Michel and Schmid, PowerTCP: Pushing the Performance Limits of Datacenter Networks, NSDI 2022.
//! * Its authors' code: https://github.com/inet-tub/powertcp-linux, https://github.com/inet-tub/ns3-datacenter

use super::hpcc::{HEADER_OVERHEAD, initial_window};
use crate::roles::*;
use crate::{Action, IntHop, Telemetry};
use fanin_units::{Rate, Time};

/// The scheme.
pub struct PowerTcp;

/// Where power comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "spec", schemars(rename = "PowerForm"))]
pub enum Form {
    /// Switches tell it.
    Telemetry,
    /// It follows from round-trip times.
    Delay,
}

/// Its parameters; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(deny_unknown_fields))]
#[cfg_attr(feature = "spec", schemars(rename = "PowerTcp"))]
pub struct Params {
    /// Where power comes from.
    pub form: Form,
    /// Weight of the new window.
    pub gamma: f64,
    /// Flows expected on a link: each adds the bandwidth-delay product divided by this.
    pub flows: u32,
    /// The least current that counts, as a share of the link's rate.
    pub least_current: f64,
    /// The round-trip time tau; zero is that of the idle path.
    pub base_rtt: Time,
}

impl Scheme for PowerTcp {
    type Params = Params;
    type Sender = Flow;
    type Receiver = NoReceiver<Params>;
    type Switch = NoSwitch<Params>;
    const PRESETS: &'static [&'static str] = &["powertcp", "powertcp-delay"];

    fn preset(id: &str) -> Params {
        let form = if id == "powertcp" { Form::Telemetry } else { Form::Delay };
        Params { form, gamma: 0.9, flows: 10, least_current: 0.0, base_rtt: Time::ZERO }
    }

    fn wants_ecn(_: &Params) -> bool {
        false
    }

    fn wire_format(p: &Params) -> WireFormat {
        match p.form {
            Form::Telemetry => WireFormat::Int { unit: 1 },
            Form::Delay => WireFormat::Roce,
        }
    }

    fn header_overhead(p: &Params) -> HeaderOverhead {
        match p.form {
            Form::Telemetry => HEADER_OVERHEAD,
            Form::Delay => HeaderOverhead::default(),
        }
    }

    fn check(p: &Params) -> Result<(), &'static str> {
        require([
            (p.gamma > 0.0 && p.gamma <= 1.0, "gamma must be above 0 and at most 1, like 0.9"),
            (p.flows > 0, "flows must be at least 1: the flows expected on a link"),
            ((0.0..=1.0).contains(&p.least_current), "least_current must be 0 to 1"),
        ])
    }
}

/// A flow at its sender.
#[derive(Clone, Debug)]
pub struct Flow {
    /// w and w_old in bytes.
    window: f64,
    old: f64,
    /// G, once there is one.
    power: Option<f64>,
    /// The ACK above this byte updates w_old.
    updated_to: u64,
    /// The records, or the round-trip time, of the last ACK, and when it came.
    seen: Telemetry,
    last_rtt: Option<(Time, Time)>,
    most: f64,
    least: f64,
    tau: f64,
    line: Rate,
    control: (u64, Rate),
}

impl Flow {
    /// w in bytes.
    pub fn window(&self) -> f64 {
        self.window
    }

    /// G; none before the first two ACKs.
    pub fn power(&self) -> Option<f64> {
        self.power
    }

    fn set_control(&mut self) {
        let rate = self.window * 8e12 / self.tau;
        let rate = Rate::from_bps((rate as u64).clamp(1, self.line.as_bps().max(1)));
        self.control = (libm::ceil(self.window).max(1.0) as u64, rate);
    }

    /// The power of a link between two records, and the picoseconds between these.
    fn of_link(&self, new: &IntHop, old: &IntHop, least: f64) -> Option<(f64, f64)> {
        let dt = new.time.as_ps().checked_sub(old.time.as_ps()).filter(|dt| *dt > 0)? as f64;
        // Bytes per picosecond.
        let b = new.rate.as_bps().max(1) as f64 / 8e12;
        let growth = new.queued as f64 - old.queued as f64;
        let current = ((growth + new.sent.saturating_sub(old.sent) as f64) / dt).max(least * b);
        let voltage = new.queued as f64 + b * self.tau;
        Some((current * voltage / (b * b * self.tau), dt))
    }

    /// The largest power of the path.
    fn of_path(&mut self, telemetry: &Telemetry, cx: &mut Cx<'_, Params>) -> Option<(f64, f64)> {
        if self.seen.count() == 0 {
            return None;
        }
        if (telemetry.path(), telemetry.count()) != (self.seen.path(), self.seen.count()) {
            cx.count(Action::PathChange);
            self.power = None;
            return None;
        }
        let links = telemetry.hops().iter().zip(self.seen.hops());
        let powers = links.filter_map(|(new, old)| self.of_link(new, old, cx.params.least_current));
        powers.reduce(|most, next| if next.0 > most.0 { next } else { most })
    }

    /// Power by the round-trip time and its change.
    fn of_delay(&self, rtt: Time, now: Time, least: f64) -> Option<(f64, f64)> {
        let (last, at) = self.last_rtt?;
        let dt = now.saturating_sub(at).as_ps() as f64;
        if dt == 0.0 {
            return None;
        }
        let change = (rtt.as_ps() as f64 - last.as_ps() as f64) / dt;
        Some(((change + 1.0).max(least) * rtt.as_ps() as f64 / self.tau, dt))
    }
}

impl Sender for Flow {
    type Params = Params;
    type Shared = ();

    fn open(path: &PathInfo, cx: &mut Cx<'_, Params>) -> Self {
        let p = cx.params;
        let tau = if p.base_rtt > Time::ZERO { p.base_rtt } else { path.base_rtt }.max(Time::from_ps(1));
        let least = f64::from(path.payload.max(1));
        let most = initial_window(path.line_rate, tau).max(least);
        let mut flow = Self {
            window: most,
            old: most,
            power: None,
            updated_to: 0,
            seen: Telemetry::default(),
            last_rtt: None,
            most,
            least,
            tau: tau.as_ps() as f64,
            line: path.line_rate,
            control: (0, Rate::ZERO),
        };
        flow.set_control();
        flow
    }

    #[inline(always)]
    fn control(&self, _: &Cx<'_, Params>) -> Control {
        let (window, rate) = self.control;
        Control { window, retime: true, ..Control::rate(rate) }
    }

    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        let update = ack.acked_to > self.updated_to;
        let sample = match p.form {
            Form::Telemetry => {
                let Some(telemetry) = ack.telemetry.filter(|telemetry| telemetry.count() > 0) else { return };
                let sample = self.of_path(telemetry, cx);
                self.seen = *telemetry;
                sample
            }
            Form::Delay => {
                let sample = self.of_delay(ack.rtt, cx.now, p.least_current);
                if self.last_rtt.is_none_or(|(_, at)| cx.now > at) {
                    self.last_rtt = Some((ack.rtt, cx.now));
                }
                sample
            }
        };
        if let Some((power, dt)) = sample {
            let dt = dt.min(self.tau);
            self.power = Some(self.power.map_or(power, |old| (old * (self.tau - dt) + power * dt) / self.tau));
        }
        if let Some(power) = self.power
            && (update || p.form == Form::Telemetry)
        {
            let before = self.window;
            // A window divided by next to nothing is the largest.
            let to = self.old / power.max(1e-6) + self.most / f64::from(p.flows);
            self.window = (p.gamma * to + (1.0 - p.gamma) * before).min(self.most).max(self.least);
            if self.window != before {
                cx.count(if self.window < before { Action::Cut } else { Action::Increase });
                self.set_control();
            }
        }
        if update {
            self.old = self.window;
            self.updated_to = ack.sent_to;
        }
    }

    fn on_loss(&mut self, loss: &Loss, _: &mut Cx<'_, Params>) {
        // Go-back-N retransmits from here on, and those packets are newer than the last update.
        self.updated_to = self.updated_to.min(loss.from);
    }

    fn on_timeout(&mut self, loss: &Loss, cx: &mut Cx<'_, Params>) {
        self.on_loss(loss, cx);
    }

    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("power", self.power.unwrap_or(0.0));
    }
}
