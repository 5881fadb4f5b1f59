//! Warnings about uninformative runs: no queue fills, so they show nothing of congestion control.

use fanin_fabric::Message;
use fanin_record::Run;

/// Full packets up to which a queue is no congestion: two flows whose packets happen to meet.
const PACKETS: u64 = 2;

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
