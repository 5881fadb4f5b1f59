//! Expected load of a traffic.

use crate::{ENDLESS, Places};
use fanin_units::Time;
use std::fmt;

/// Expected load of a traffic over a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Expected {
    /// Number of flows that start.
    pub flows: f64,
    /// Mean size of a flow in bytes.
    pub mean_bytes: f64,
    /// Flows that start per second, for a continuous traffic.
    pub flows_per_second: Option<f64>,
    /// Payload offered in bits per second, for a continuous traffic. Endless flows count with their host's rate.
    pub payload_bps: Option<f64>,
    /// Share of the payload that crosses racks.
    pub inter_rack: f64,
}

impl Expected {
    /// For a continuous traffic over `span` with a rate of flows per second.
    pub(crate) fn steady(flows_per_second: f64, mean_bytes: f64, inter_rack: f64, span: Time) -> Self {
        Self {
            flows: flows_per_second * span.as_secs_f64(),
            mean_bytes,
            flows_per_second: Some(flows_per_second),
            payload_bps: Some(flows_per_second * mean_bytes * 8.0),
            inter_rack,
        }
    }

    /// For a traffic that starts once.
    pub(crate) fn once(flows: f64, mean_bytes: f64, inter_rack: f64) -> Self {
        Self { flows, mean_bytes, flows_per_second: None, payload_bps: None, inter_rack }
    }

    /// The offered payload as a share of all host links.
    pub fn share_of_host_links(&self, places: &Places) -> Option<f64> {
        self.share(1.0, places.host_links.as_bps())
    }

    /// The offered payload between racks as a share of all ToR uplinks.
    pub fn share_of_tor_uplinks(&self, places: &Places) -> Option<f64> {
        self.share(self.inter_rack, places.tor_uplinks.as_bps())
    }

    fn share(&self, counted: f64, capacity: u64) -> Option<f64> {
        self.payload_bps.filter(|_| capacity > 0).map(|bps| bps * counted / capacity as f64)
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} flows", self.flows)?;
        if self.mean_bytes >= ENDLESS as f64 {
            write!(f, " that never end")?;
        } else {
            write!(f, " of {:.1} B on average", self.mean_bytes)?;
        }
        if let Some(rate) = self.flows_per_second {
            write!(f, ", {rate:.1} a second")?;
        }
        if let Some(bps) = self.payload_bps {
            write!(f, ", {:.3} Gb/s of payload", bps / 1e9)?;
        }
        write!(f, ", {:.2} % of it between racks", self.inter_rack * 100.0)
    }
}
