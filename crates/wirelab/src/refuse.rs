//! What cannot run on a wire, said before anything starts.

use fanin_cc::Balancing;
use fanin_experiment::CheckedSpec;
use fanin_experiment::built::{Measure, Sampled};
use fanin_fabric::BufferPolicy;
use fanin_record::Part;
use fanin_units::Time;

/// Most hosts of a run: each is a process.
pub const MOST_HOSTS: u32 = 64;
/// Largest payload that fits into a frame with all headers.
const MOST_PAYLOAD: u16 = 65_000;

/// All reasons why an experiment cannot run on a wire; none where it can.
pub fn reasons(spec: &CheckedSpec) -> Vec<String> {
    let (network, measure) = (spec.network(), spec.measure());
    let graph = &network.graph;
    let of_host = |link: &&fanin_fabric::topology::Link| graph.is_host(link.a) || graph.is_host(link.b);
    let mut reasons = Vec::new();
    let mut refuse = |is: bool, reason: &str| {
        if is {
            reasons.push(reason.to_string());
        }
    };
    for traffic in spec.traffics().iter().filter(|traffic| traffic.tcp.is_some()) {
        refuse(true, &format!("traffic \"{}\" is over TCP; only RDMA runs on the wire", traffic.name));
    }
    for traffic in spec.traffics().iter().filter(|traffic| traffic.scheme.loaded().is_some()) {
        refuse(true, &format!("the scheme \"{}\" was loaded into this process alone", traffic.scheme.id()));
    }
    for (own, key, choice) in [
        (network.balancing.own().is_some(), "balancing", &spec.document().network.balancing.0),
        (network.discipline.is_some(), "discipline", &spec.document().network.discipline.0),
    ] {
        refuse(own, &format!("network.{key} = \"{}\" was loaded into this process alone", choice.id()));
    }
    for name in spec.jobs() {
        refuse(true, &format!("traffic \"{name}\" is a job of many ranks; jobs run in the simulator alone"));
    }
    let hosts = graph.hosts;
    refuse(
        hosts > MOST_HOSTS,
        &format!("{hosts} hosts would be {hosts} processes; at most {MOST_HOSTS} hosts run on the wire"),
    );
    refuse(graph.links.iter().any(|link| !link.outages.is_empty()), "links that go down do not run on the wire");
    refuse(
        graph.links.iter().filter(of_host).any(|link| link.error_rate > 0.0),
        "errors of links to hosts do not run on the wire",
    );
    refuse(
        graph.links.iter().any(|link| graph.is_host(link.a) && graph.is_host(link.b)),
        "a link from host to host has no switch and does not run on the wire",
    );
    refuse(
        matches!(network.buffer, BufferPolicy::Credits { .. }),
        "flow control by credits has no frame on Ethernet and does not run on the wire",
    );
    refuse(
        network.trimming.is_some(),
        "packets that are trimmed have no frame of their own and do not run on the wire",
    );
    refuse(
        matches!(&network.balancing, Balancing::Senders(spraying) if spraying.own().is_none()),
        "paths that senders choose have no field in RoCEv2's headers and do not run on the wire",
    );
    refuse(network.pauses.quanta.is_some(), "pauses that expire do not run on the wire yet");
    refuse(network.pauses.response > Time::ZERO, "a response time of PFC does not run on the wire yet");
    refuse(!network.pauses.faults.is_empty(), "faulty hosts do not run on the wire yet");
    refuse(network.pauses.record, "recording of pauses does not run on the wire yet");
    refuse(
        network.packet.payload > MOST_PAYLOAD,
        &format!("a payload of {} B does not fit into a frame", network.packet.payload),
    );
    refuse(spec.build().one_thread.is_some(), "triggers between hosts do not run on the wire");
    measured(measure, &mut refuse);
    reasons
}

fn measured(measure: &Measure, refuse: &mut impl FnMut(bool, &str)) {
    refuse(measure.capture.is_some(), "measure.capture is of the simulator only");
    refuse(measure.timeline.is_some(), "measure.timeline is of the simulator only");
    refuse(!measure.trace.is_empty(), "measure.trace is of the simulator only");
    let outside = |of: &Sampled| match of {
        Sampled::Queues(_) => true,
        Sampled::Watched(watched) => watched.iter().all(|of| matches!(of.part, Part::Port | Part::Traffic)),
    };
    let outside = measure.series.iter().all(|series| outside(&series.of));
    refuse(!outside, "of measure.series, only queues, ports and traffics are sampled on the wire");
}
