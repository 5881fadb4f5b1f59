//! # nscc: Ultra Ethernet's window from delay, marks and trimmed packets
//!
//! ## Idea
//! A sender starts with a full window and classifies each ACK by two signals: whether its packet was marked, and
//! whether the delay in queues is above a target. A mark says that a queue grows, the delay how full the queues are.
//! Only both together cut the window. Packets that switches trim and very long delays set it, once a round trip, to
//! what got through. It is made for packets that are sprayed over many paths, whose marks and delays differ from each
//! other.
//!
//! ## Signals
//! * Switch: marks by RED, between 0.2 and 0.8 bandwidth-delay products in uet-htsim; the payload of packets is cut
//!   when a queue of one bandwidth-delay product is full.
//! * Sender: for each ACK its mark, the round-trip time of its packet, and the bytes acknowledged for the first time;
//!   each packet that was trimmed, or lost.
//!
//! ## Control law
//! d is the round-trip time less the smallest one seen (at first that of the network), T the target delay, n the bytes
//! of an ACK, B the bandwidth-delay product of the network, a = B/150,000 bytes, b = T/12 us. The largest window W is
//! 1.5 bandwidth-delay products of the smallest round-trip time. Each ACK adds to a sum s or changes the window w:
//!
//! | | d at least T | d below T |
//! |---|---|---|
//! | not marked | s += 5 a MSS n (fair increase) | s += 4 MSS a b (T - d)/T n (proportional increase) |
//! | marked | once a round trip: w = w max(1 - 0.8 (m - T)/m, 1/2), if m is above T | nothing |
//!
//! * The ACK of a packet that was sent again more than once, or that is known to have arrived, gives no sample: d is m
//!   then.
//! * m is the average delay, with weight 0.0125 for each ACK. A delay above T without a mark counts as a quarter of the
//!   smallest round-trip time.
//! * Fast increase: while d is below 1 us for a whole window, w += 0.25 a n instead of the proportional increase.
//! * After 8 packets or a round-trip time: w += s/w and s = 0; after each round-trip time also w += 0.15 a MSS.
//! * Quick adaptation: in each time of the smallest round trip and T, if a packet was trimmed or lost or d was above 4
//!   T, and fewer than W/2^`gate` bytes were acknowledged, w becomes those bytes. Marked ACKs are ignored for as many
//!   bytes as were in flight then.
//! * A trimmed packet of n bytes: w -= n unless quick adaptation acts; it counts as a delay of a round-trip time with a
//!   mark. A timeout: w -= n.
//! * w is between a packet and W. A packet leaves if it fits into the window whole.
//! * All these bytes are bytes on the wire; only MSS is payload.
//!
//! With `law = "dctcp"`: an ACK adds n MTU/w without a mark, and takes n/3 with one; a trimmed packet takes n. With
//! `law = "constant"` ACKs and trims change nothing.
//!
//! ## Parameters
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `law` | `nscc`, `dctcp` or `constant` | nscc | uet-htsim: `-sender_cc_algo` |
//! | `target_delay` | time, zero is `target_share` | 0 ps | uet-htsim: `-target_q_delay` |
//! | `target_share` | share of the network's round-trip time | 0.75 | uet-htsim; 1 without trimming |
//! | `gate` | power of 2 | 3 | uet-htsim: `-qa_gate` |
//! | `initial_window` | packets, 0 is 1.5 bandwidth-delay products | 0 | uet-htsim: `-cwnd` |
//! | `base_rtt` | time, zero is the network's largest | 0 ps | uet-htsim: that of its topology, whatever is slow in it |
//! | `accurate_rtt` | true or false | false | uet-htsim: `-enable_accurate_base_rtt` |
//!
//! ## Where we differ from the paper and why
//! * The text of Ultra Ethernet 1.0 leaves numbers open, and was not at hand: the rules are those of uet-htsim (commit
//!   40ccb052), whose every recorded window this code repeats in the network of `crates/uet`.
//! * Endpoints tell payload bytes. A header is added for each full payload that they may hold, which is exact but for
//!   several short packets in one ACK.
//! * A loss that the endpoint finds without a trimmed header (out of order, on a network that keeps order) counts as a
//!   trimmed packet. uet-htsim finds losses by its timer alone, or with `-sleek`, which is not here.
//! * uet-htsim's counter of 32 bits for s can wrap at large rates; so does ours, because recorded runs do.
//!
//! ## References
//! * Ultra Ethernet Specification 1.0, section 3.6.13 (NSCC).
//! * uet-htsim, `uec.cpp`: https://github.com/ultraethernet/uet-htsim

mod law;

pub use law::{Account, Ground, Law, Nscc as Window, Parameters, most, product};

use crate::Action;
use crate::roles::*;
use fanin_units::Time;

/// The scheme.
pub struct Nscc;

/// Its parameters; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", schemars(rename = "Nscc", extend("additionalProperties" = false)))]
pub struct Params {
    /// The window's.
    #[cfg_attr(feature = "spec", serde(flatten))]
    pub window: WindowParams,
}

/// Parameters of a window; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", schemars(rename = "NsccWindow"))]
pub struct WindowParams {
    /// What moves windows.
    pub law: Law,
    /// Target of the delay in queues; zero is `target_share`.
    pub target_delay: Time,
    /// That target as a share of the network's round-trip time.
    pub target_share: f64,
    /// Quick adaptation acts below the largest window divided by 2 to this power.
    pub gate: u32,
    /// First window in packets; 0 is 1.5 bandwidth-delay products.
    pub initial_window: u32,
    /// The network's round-trip time, from which windows and the target follow; zero is the largest base round-trip
    /// time.
    pub base_rtt: Time,
    /// Whether the smallest round-trip time begins with that of the pair of hosts, and not of the network.
    pub accurate_rtt: bool,
}

impl WindowParams {
    /// Those of uet-htsim.
    pub(super) const DEFAULT: Self = Self {
        law: Law::Nscc,
        target_delay: Time::ZERO,
        target_share: 0.75,
        gate: 3,
        initial_window: 0,
        base_rtt: Time::ZERO,
        accurate_rtt: false,
    };

    /// Refuses what is impossible.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        require([
            (
                self.target_share > 0.0 && self.target_share <= 100.0,
                "target_share must be above 0 and at most 100, like 0.75",
            ),
            (
                self.target_delay == Time::ZERO || self.target_delay >= Time::from_ns(1),
                "target_delay must be at least 1 ns, or 0 for target_share",
            ),
            (self.gate < 32, "gate must be below 32: 3 means an eighth of the largest window"),
            (self.initial_window < 1 << 24, "initial_window must be below 16777216 packets"),
        ])
    }
}

impl Scheme for Nscc {
    type Params = Params;
    type Sender = Flow;
    type Receiver = NoReceiver<Params>;
    type Switch = NoSwitch<Params>;
    const PRESETS: &'static [&'static str] = &["nscc"];

    fn preset(_: &str) -> Params {
        Params { window: WindowParams::DEFAULT }
    }

    fn needs_marks(_: &Params) -> bool {
        true
    }

    fn rdma_only(_: &Params) -> Option<&'static str> {
        Some("counts packets that ACKs answer one by one, which TCP's do not")
    }

    fn check(p: &Params) -> Result<(), &'static str> {
        p.window.check()
    }
}

/// A window at its sender, in the units of an endpoint.
#[derive(Clone, Debug)]
pub(super) struct Windowed {
    window: Window,
    parameters: Parameters,
    /// Bytes of a full packet on the wire, and of its payload.
    wire: u64,
    payload: u64,
    allowed: u64,
}

/// The most bytes that one event may tell of: more are impossible in flight.
const MOST: u64 = 1 << 40;

impl Windowed {
    pub(super) fn new(path: &PathInfo, p: &WindowParams) -> Self {
        // Times from 1 ns to 1000 s and rates of at least 8 b/s keep all that follows finite.
        let time = |time: Time| time.as_ps().clamp(1000, 1 << 50);
        let network = time(if p.base_rtt > Time::ZERO { p.base_rtt } else { path.network_rtt });
        let rate = path.line_rate.as_bps().max(8);
        let payload = path.payload.max(1);
        let wire = path.wire.max(payload);
        let mtu = i64::from(wire);
        let target = match p.target_delay {
            Time::ZERO => (p.target_share * network as f64) as u64,
            delay => time(delay),
        };
        let ground =
            Ground { mtu, mss: payload.into(), rate, rtt: network, target: target.max(1), gate: p.gate, law: p.law };
        let base = if p.accurate_rtt { time(path.base_rtt) } else { network };
        let most = most(base, rate).max(mtu);
        let first = if p.initial_window == 0 { most } else { i64::from(p.initial_window) * mtu };
        let (window, parameters) = (Window::new(base, most, first), Parameters::new(&ground));
        let mut of = Self { window, parameters, wire: wire.into(), payload: payload.into(), allowed: 0 };
        of.allow();
        of
    }

    /// The window in bytes on the wire.
    pub(super) fn bytes(&self) -> i64 {
        self.window.window
    }

    /// Bytes of payload that may be in flight before one more packet.
    #[inline(always)]
    pub(super) fn allowed(&self) -> u64 {
        self.allowed
    }

    /// uet-htsim: a packet leaves if it fits into the window whole.
    fn allow(&mut self) {
        let room = (self.window.window.clamp(0, MOST as i64) as u64).saturating_sub(self.wire);
        self.allowed = room * self.payload / self.wire + 1;
    }

    /// Bytes on the wire of so many bytes of payload, as full packets and a last one.
    fn on_the_wire(&self, payload: u64) -> i64 {
        let payload = payload.min(MOST);
        (payload + payload.div_ceil(self.payload) * (self.wire - self.payload)) as i64
    }

    /// The window may have changed: counts what the change was.
    fn changed<P>(&mut self, before: i64, cx: &mut Cx<'_, P>) {
        self.allow();
        match self.window.window.cmp(&before) {
            core::cmp::Ordering::Less => cx.count(Action::Cut),
            core::cmp::Ordering::Greater => cx.count(Action::Increase),
            core::cmp::Ordering::Equal => {}
        }
    }

    #[inline]
    pub(super) fn on_ack<P>(&mut self, ack: &Ack<'_>, cx: &mut Cx<'_, P>) {
        let (new, in_flight) = (self.on_the_wire(ack.newly_acked), self.on_the_wire(ack.in_flight));
        let (window, p, now) = (&mut self.window, &self.parameters, cx.now.as_ps());
        window.count(new);
        let sampled = ack.sent_again <= 1;
        if sampled {
            window.sample_base(p, ack.rtt.as_ps());
        }
        // A lower base lowers the largest window, which is no congestion.
        let before = window.window.min(window.most);
        let mut delay = window.average;
        if sampled {
            delay = ack.rtt.as_ps().saturating_sub(window.base);
            window.sample_delay(p, delay, ack.ecn_echo);
        }
        window.on_ack(p, now, ack.ecn_echo, delay, new, in_flight - new);
        self.changed(before, cx);
    }

    /// A packet was cut; `spare` tells that the receiver's credit deals with it.
    pub(super) fn on_trim<P>(&mut self, trim: &Trim, spare: bool, cx: &mut Cx<'_, P>) {
        let (before, in_flight) = (self.window.window, self.on_the_wire(trim.in_flight));
        let (window, p) = (&mut self.window, &self.parameters);
        window.sample_base(p, trim.rtt.as_ps());
        window.on_nack(p, cx.now.as_ps(), i64::from(trim.wire), spare, in_flight);
        self.changed(before, cx);
    }

    pub(super) fn on_loss<P>(&mut self, loss: &Loss, cx: &mut Cx<'_, P>) {
        let (before, in_flight) = (self.window.window, self.on_the_wire(loss.in_flight));
        self.window.on_nack(&self.parameters, cx.now.as_ps(), self.wire as i64, false, in_flight);
        self.changed(before, cx);
    }

    pub(super) fn on_timeout<P>(&mut self, cx: &mut Cx<'_, P>) {
        let before = self.window.window;
        self.window.on_timeout(&self.parameters, self.wire as i64);
        cx.count(Action::Timeout);
        self.changed(before, cx);
    }

    pub(super) fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("average_delay_us", self.window.average as f64 / 1e6);
        see("base_rtt_us", self.window.base as f64 / 1e6);
    }
}

/// A flow at its sender.
#[derive(Clone, Debug)]
pub struct Flow(Windowed, fanin_units::Rate);

impl Sender for Flow {
    type Params = Params;
    type Shared = ();

    fn open(path: &PathInfo, cx: &mut Cx<'_, Params>) -> Self {
        Self(Windowed::new(path, &cx.params.window), path.line_rate)
    }

    #[inline(always)]
    fn control(&self, _: &Cx<'_, Params>) -> Control {
        Control { window: self.0.allowed(), ..Control::rate(self.1) }
    }

    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Cx<'_, Params>) {
        self.0.on_ack(ack, cx);
    }

    fn on_loss(&mut self, loss: &Loss, cx: &mut Cx<'_, Params>) {
        self.0.on_loss(loss, cx);
    }

    fn on_timeout(&mut self, _: &Loss, cx: &mut Cx<'_, Params>) {
        self.0.on_timeout(cx);
    }

    fn on_trim(&mut self, trim: &Trim, cx: &mut Cx<'_, Params>) {
        self.0.on_trim(trim, false, cx);
    }

    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.0.watch(see);
    }
}
