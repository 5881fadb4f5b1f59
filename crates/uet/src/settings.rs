//! What follows from options and topology before a run: sizes, times and thresholds, in the original's arithmetic.
//!
//! Source: uet-htsim's program for UEC.

use crate::error::{Error, Place, error};
use crate::options::{Options, QueueSize};
use crate::topology::Topology;
use fanin_cc::uet::{self, Ground, Law, Parameters};

/// Bytes of a header without payload.
pub const HEADER: i64 = 64;

/// The most packets that hosts may have under way, since all are kept in memory.
const MOST_UNDER_WAY: u64 = 1 << 24;

/// Derived values.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes of a full packet.
    pub mtu: i64,
    /// Payload of a full packet.
    pub mss: i64,
    /// Rate of NICs in bits per second.
    pub rate: u64,
    /// Round-trip time of the longest path, with a data packet and an ACK.
    pub rtt: u64,
    /// Size of queues in bytes.
    pub queue: u64,
    /// Bytes from which packets may be marked, and above which all are.
    pub ecn: (u64, u64),
    /// Retransmission timeout.
    pub timeout: u64,
    /// Rate times round-trip time, in bytes.
    pub bdp: i64,
    /// Target delay of NSCC.
    pub target: u64,
    /// NSCC is on.
    pub nscc: bool,
    /// RCCC is on.
    pub rccc: bool,
    /// Shift of the window below which quick adaptation acts.
    pub gate: u32,
    /// The law of windows.
    pub law: Law,
    /// The ratio of oversubscription that RCCC reacts to.
    pub oversubscription: Option<f64>,
    /// Loss recovery without trimming is on.
    pub sleek: bool,
}

/// Picoseconds that a data packet and a control packet take at a rate, over a number of hops.
fn serialisation(mtu: f64, rate: u64, hops: f64) -> (f64, f64) {
    let gbps = rate as f64 / 1e9;
    (mtu * 8.0 / gbps * hops * 1000.0, HEADER as f64 * 8.0 / gbps * hops * 1000.0)
}

impl Settings {
    /// The values of a run.
    pub fn new(options: &Options, topology: &Topology) -> Result<Self, Error> {
        let mtu = i64::from(options.mtu);
        let rate = options.link_speed * 1_000_000;
        let rtt = Self::round_trip(mtu, rate, topology, topology.latency());
        let packets = ((rtt as f64 / 1e12 * (rate / 8) as f64) / mtu as f64).ceil() as u64;
        let bytes = mtu as u64;
        let queue = match options.queue {
            Some(QueueSize::Packets(q)) => q.saturating_mul(bytes),
            Some(QueueSize::Products(q)) => q.saturating_mul(packets).saturating_mul(bytes),
            None => packets.saturating_mul(bytes).saturating_mul(if options.disable_trim { 5 } else { 1 }),
        };
        let part = |share: f64| (packets as f64 * share).ceil() as u64 * bytes;
        let ecn = options.ecn.map_or((part(0.2), part(0.8)), |(low, high)| (low * bytes, high * bytes));
        if packets.saturating_mul(u64::from(topology.hosts)) > MOST_UNDER_WAY {
            return error(
                Place::Options,
                format!(
                    "{packets} packets of each of {} hosts can be under way, more than {MOST_UNDER_WAY} in all; use a \
                     lower -linkspeed or a lower latency",
                    topology.hosts
                ),
            );
        }
        if queue > 1 << 36 {
            let what = format!("queues of {queue} bytes are too large; use -q, a lower -linkspeed or a lower latency");
            return error(Place::Options, what);
        }
        if ecn.1 > queue {
            let (high, queue) = (ecn.1 / bytes, queue / bytes);
            let what =
                format!("-ecn: marks reach up to {high} packets and a queue has {queue}; set it lower, or -q higher");
            return error(Place::Options, what);
        }
        let target = match options.target_delay {
            Some(us) => (us * 1e6) as u64,
            None if options.disable_trim => rtt,
            None => (0.75 * rtt as f64) as u64,
        };
        let oversubscribed = options.oversubscribed.unwrap_or(topology.oversubscription > 1.0);
        let pure_rccc = options.rccc && !options.nscc;
        Ok(Self {
            mtu,
            mss: mtu - HEADER,
            rate,
            rtt,
            queue,
            ecn,
            timeout: ((15.0 + queue as f64 * 6.0 * 8.0 * 1_000_000.0 / rate as f64) * 1e6) as u64,
            bdp: uet::product(rtt, rate),
            target,
            nscc: options.nscc,
            rccc: options.rccc,
            gate: options.gate,
            law: options.law,
            oversubscription: (pure_rccc && oversubscribed).then_some(topology.oversubscription),
            sleek: options.sleek,
        })
    }

    /// The round-trip time over a latency in one direction.
    fn round_trip(mtu: i64, rate: u64, topology: &Topology, latency: u64) -> u64 {
        let (data, control) = serialisation(mtu as f64, rate, f64::from(topology.diameter()));
        ((2 * latency) as f64 + data + control) as u64
    }

    /// The round-trip time of a pair of hosts.
    pub fn pair_rtt(&self, topology: &Topology, from: u32, to: u32) -> u64 {
        Self::round_trip(self.mtu, self.rate, topology, topology.pair_latency(from, to))
    }

    /// The largest window at a round-trip time.
    pub fn most(&self, rtt: u64) -> i64 {
        uet::most(rtt, self.rate)
    }

    /// The parameters of NSCC. Where it is off, the original leaves its statics as they are.
    pub fn nscc_parameters(&self) -> Parameters {
        let Self { mtu, mss, rate, rtt, target, gate, law, .. } = *self;
        let mut parameters = Parameters::new(&Ground { mtu, mss, rate, rtt, target, gate, law });
        if !self.nscc {
            (parameters.target, parameters.network_rtt, parameters.least) = (6_000_000, 0, 0);
        }
        parameters
    }
}
