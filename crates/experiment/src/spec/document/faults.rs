//! Faults and options of PFC in a spec.

use super::bytes;
use fanin_units::{Bytes, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest response time, so that few frames wait for it at a port.
pub const LONGEST_RESPONSE: Time = Time::from_ms(1);

/// Options of PFC.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PfcOptions {
    /// Quanta after which a pause expires unless it is refreshed, 1 to 65,535; a quantum is the time of 512 bits at the
    /// rate of the link (IEEE 802.1Qbb). A port that still pauses its peer repeats the PAUSE frame after half of that
    /// time. Default: pauses do not expire, as in the ns-3 HPCC simulator.
    pub expiry: Option<u32>,
    /// A storm watchdog at every port of a switch. Default: none.
    pub watchdog: Option<Watchdog>,
    /// Time from the arrival of a PAUSE or RESUME until the port obeys it, at switches and hosts. The
    /// computed headroom covers it. pfc.md has the standard's values. Default: ports obey at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("most" = LONGEST_RESPONSE, "wrong" = "{} is too long; it is at most 1 ms, like \"2 us\""))]
    pub response: Option<Time>,
}

impl PfcOptions {
    /// Whether nothing is set.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A storm watchdog: a class of a port that has been paused for `detect` with packets waiting is no longer protected,
/// until no pause has come or been in force for `restore`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Watchdog {
    /// Time of a pause after which the watchdog looks whether packets wait; it looks again after each further such time
    /// of the same pause.
    #[schemars(extend("above" = "0 s", "wrong" = ZERO))]
    pub detect: Time,
    /// Time without pauses after which the watchdog stops to act.
    #[schemars(extend("above" = "0 s", "wrong" = ZERO))]
    pub restore: Time,
    /// What it does.
    #[serde(default)]
    pub action: WatchdogAction,
}

/// The error of a time of a watchdog.
const ZERO: &str = "the time is zero; write a time above zero, like \"200 ms\"";

/// What a storm watchdog does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WatchdogAction {
    /// Drops the packets of the class that wait at the port and that come for it.
    #[default]
    Drop,
    /// Sends them: pauses of the class are ignored.
    Forward,
}

/// A faulty host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum HostFault {
    /// The NIC takes data packets from its receive buffer slowly, one after the other, in the order of their arrival.
    /// When the buffer is full of a lossless class up to the headroom of the link, the NIC pauses that class; packets
    /// of a lossy class are dropped when there is no room. With `buffer = { credits = .. }` in the network, packets
    /// wait in the buffer of the link, and credits come back as they are taken. After the fault, what waits is taken at
    /// the rate of the link. ACKs and other control packets do not wait.
    SlowReceiver {
        /// Names of the hosts.
        hosts: Vec<String>,
        /// Begin of the fault.
        #[serde(default)]
        from: Time,
        /// End of the fault. Default: it lasts.
        to: Option<Time>,
        /// How fast packets are taken. Either this or `share` is set.
        rate: Option<Rate>,
        /// The same as a share of the rate of the link.
        #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
        #[schemars(extend("wrong" = "{} is not a possible share; it is above 0 and at most 1, like 0.1"))]
        share: Option<f64>,
        /// Bytes of the receive buffer, for each class; without a meaning where links have credits.
        // Of the size of a NIC's memory; no paper gives one.
        #[serde(default = "bytes::<512_000>")]
        buffer: Bytes,
    },
    /// The NIC pauses all lossless classes without a cause, and repeats that; at the end it revokes the pauses.
    PauseStorm {
        /// Names of the hosts.
        hosts: Vec<String>,
        /// Begin of the fault.
        #[serde(default)]
        from: Time,
        /// End of the fault. Default: it lasts.
        to: Option<Time>,
        /// Time between two PAUSE frames. Default: half of the time for which a pause lasts, or half of 65,535 quanta
        /// where pauses do not expire.
        #[schemars(extend("above" = "0 s"))]
        #[schemars(extend("wrong" = "the time between two frames is zero; write a time above zero, or leave it out"))]
        every: Option<Time>,
    },
}
