//! A measured window within which no sender learns anything.

use crate::CheckedSpec;
use crate::explain::longest_rtt;

/// Links there and back on the longest paths that are considered; a window that is longer is not examined.
const MOST_LINKS: u64 = 40;

/// Whether the measured window is shorter than a round trip.
pub fn too_short(checked: &CheckedSpec) -> Vec<String> {
    let (network, window) = (checked.network(), checked.measure().window);
    let packet = u64::from(network.packet.payload) + u64::from(network.packet.header);
    let links = network.graph.links.iter().map(|link| link.delay.saturating_add(link.rate.tx_time(packet)));
    if links.max().is_none_or(|longest| window > longest.saturating_mul(MOST_LINKS)) {
        return Vec::new();
    }
    let rtt = longest_rtt(checked);
    let warning = || {
        format!(
            "measure.window = {window} is shorter than a round trip of the network, {rtt}: no sender learns of \
             congestion within it"
        )
    };
    (window < rtt).then(warning).into_iter().collect()
}
