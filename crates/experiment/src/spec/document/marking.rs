//! ECN marking in a spec.

use super::{LARGEST, yes};
use fanin_cc::aqm::{pi, red};
use fanin_units::{Bytes, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a queue sets the congestion mark, by the data bytes queued in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Marking {
    /// Never.
    #[default]
    Off,
    /// Whenever the queue is above a threshold.
    Step {
        /// The threshold; a queue of exactly this size does not mark.
        above: Bytes,
        /// When the queue is compared with the threshold.
        #[serde(default)]
        at: MarkAt,
    },
    /// With a probability that rises from 0 at `min` to `probability` at `max`, and is 1 above.
    Red {
        /// At or below this, no packet is marked.
        min: Bytes,
        /// Above this, every packet is marked.
        max: Bytes,
        /// Probability at `max`.
        #[schemars(extend("minimum" = 0, "maximum" = 1))]
        #[schemars(extend("wrong" = "{} is not a probability; it is 0 to 1, like 0.01"))]
        probability: f64,
        /// When the queue is compared with the thresholds.
        #[serde(default)]
        at: MarkAt,
    },
    /// RED on a moving average of the queue, as in ns-2 and with its defaults, but without drops. Packets are marked as
    /// they are enqueued.
    RedAverage {
        /// Below this average, no packet is marked.
        min: Bytes,
        /// The average at which the marking probability reaches `probability`. Default: 3 times `min`.
        max: Option<Bytes>,
        /// Probability at `max`.
        #[serde(default = "red_probability")]
        #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
        #[schemars(extend("wrong" = "{} is not possible; it is above 0 and at most 1, like 0.1"))]
        probability: f64,
        /// Weight of a new sample in the average; DCTCP's "weight 9" is 2^-9 = 0.001953125.
        #[serde(default = "red_weight")]
        #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
        #[schemars(extend("wrong" = "{} is not possible; it is above 0 and at most 1, like 0.002"))]
        weight: f64,
        /// Whether the probability rises from `probability` at `max` to 1 at twice `max`; otherwise it is 1 from `max`
        /// on.
        #[serde(default = "yes")]
        gentle: bool,
        /// Whether marks are at least 1/p packets apart (ns-2's `wait`); otherwise their distance is uniform from the
        /// first packet on.
        #[serde(default = "yes")]
        wait: bool,
        /// Mean packet size, in which queue lengths are counted. Default: a full packet.
        #[schemars(extend("least" = "1 B", "most" = LARGEST, "wrong" = NO_MEAN_SIZE))]
        mean_packet: Option<Bytes>,
        /// Packet size for the decay over an idle time, as if packets of this size had been sent. Default:
        /// `mean_packet`.
        #[schemars(extend("least" = "1 B", "most" = LARGEST, "wrong" = NO_MEAN_SIZE))]
        idle_packet: Option<Bytes>,
    },
    /// A proportional-integral (PI) controller, as in ns-2 and with its defaults, but without drops: once per `every`,
    /// p += a (queue - target) - b (previous queue - target), and each packet is marked with probability p.
    Pi {
        /// Target length of the queue. Default: 50 times `mean_packet`.
        target: Option<Bytes>,
        /// Gain on the present deviation from the target, per packet of mean size.
        #[serde(default = "pi_a")]
        #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
        #[schemars(extend("wrong" = "{} is not a possible gain; it is above 0 and at most 1, like 1.822e-5"))]
        a: f64,
        /// Gain on the deviation one sample before, per packet of mean size; below `a`.
        #[serde(default = "pi_b")]
        b: f64,
        /// Time between two samples. Default: 1/170 s.
        // About the interval of packets of 64 B at 400 Gb/s.
        #[serde(default = "pi_every")]
        #[schemars(extend("least" = "1 ns", "wrong" = "{} is too short; it is at least 1 ns, like \"5882 us\""))]
        every: Time,
        /// Mean packet size. Default: a full packet.
        #[schemars(extend("least" = "1 B", "most" = LARGEST, "wrong" = NO_MEAN_SIZE))]
        mean_packet: Option<Bytes>,
    },
}

fn red_probability() -> f64 {
    red::Config::new(0, 1).max_probability
}
fn red_weight() -> f64 {
    red::Config::new(0, 1).weight
}
fn pi_a() -> f64 {
    pi::Config::new(1).a
}
fn pi_b() -> f64 {
    pi::Config::new(1).b
}
fn pi_every() -> Time {
    pi::Config::new(1).every
}

/// When a queue is compared with its marking threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MarkAt {
    /// When a packet is enqueued; the packet itself is not counted.
    Enqueue,
    /// When a packet is dequeued; the packet itself is not counted.
    #[default]
    Dequeue,
    /// When the last bit of a packet has left, as in htsim; the packet itself is not counted. It goes with `release =
    /// "last-bit"`.
    LastBit,
}

/// ECN marking on ports of one rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MarkingOfRate {
    /// The rate of the port's link.
    pub rate: Rate,
    /// The marking there.
    pub marking: Marking,
}

/// The error of an impossible mean size.
const NO_MEAN_SIZE: &str = "this is not a possible packet size; it is 1 to 65535 B; leave it out for a full packet";
