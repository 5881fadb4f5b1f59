//! Warnings about runs that tell nothing about congestion control: no queue fills, or no ACK returns in time.

use crate::CheckedSpec;
use crate::explain::longest_rtt;
use fanin_fabric::Message;
use fanin_record::Run;

/// Full packets up to which a queue is no congestion: two flows whose packets happen to meet.
const PACKETS: u64 = 2;
/// Links there and back on the longest paths that are considered; a window that is longer is not examined.
const MOST_LINKS: u64 = 40;

/// The warning, if no queue of a switch ever held more than a packet or two. `packet` is a full packet on the wire.
///
/// Schemes that keep queues empty by design show otherwise that they had something to do: credits dropped, or pauses.
pub fn idle_queues(run: &Run, packet: u64) -> Option<String> {
    let measured = run.flows.iter().filter(|flow| flow.bytes >= Message::ENDLESS || run.is_measured(flow));
    let several = measured.take(2).count() == 2;
    let ports = || run.graph.links.iter().flat_map(|link| [link.a, link.b]).zip(&run.ports);
    let longest = ports().filter(|(from, _)| !run.graph.is_host(*from)).map(|(_, port)| port.peak_queue).max()?;
    let acted = run.totals.drops.total() > 0 || run.ports.iter().any(|port| port.pauses > 0 || port.marked > 0);
    if !several || acted || longest > PACKETS * packet {
        return None;
    }
    let held = match longest {
        0 => "no queue of a switch ever held a packet".to_string(),
        _ => format!("no queue of a switch ever held more than {longest} B, with packets of up to {packet} B"),
    };
    Some(format!("{held}: nothing was congested, so this run tells little about congestion control"))
}

/// The warning, if the measured window of a spec is shorter than a round trip.
pub fn short_window(checked: &CheckedSpec) -> Option<String> {
    let (network, window) = (checked.network(), checked.measure().window);
    let packet = u64::from(network.packet.payload) + u64::from(network.packet.header);
    let links = network.graph.links.iter().map(|link| link.delay.saturating_add(link.rate.tx_time(packet)));
    if window > links.max()?.saturating_mul(MOST_LINKS) {
        return None;
    }
    let rtt = longest_rtt(checked);
    (window < rtt).then(|| {
        format!(
            "measure.window = {window} is shorter than a round trip of the network, {rtt}: no sender learns of \
             congestion within it"
        )
    })
}
