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

/// What is right where a wire lacks something.
const SIMULATOR: &str = "run it in the simulator";
const LEAVE: &str = "leave it out, or run it in the simulator";

/// All reasons why an experiment cannot run on a wire, each with its place in the spec; none where it can.
pub fn reasons(spec: &CheckedSpec) -> Vec<String> {
    let (network, measure) = (spec.network(), spec.measure());
    let graph = &network.graph;
    let of_host = |link: &&fanin_fabric::topology::Link| graph.is_host(link.a) || graph.is_host(link.b);
    let mut reasons = Vec::new();
    let mut refuse = |is: bool, key: &str, reason: &str, right: &str| {
        if is {
            reasons.push(spec.problem(key, reason, right).to_string());
        }
    };
    for (number, traffic) in spec.traffics().iter().enumerate() {
        let key = format!("traffic[{number}].scheme");
        let name = &traffic.name;
        let over_tcp = format!("traffic \"{name}\" is over TCP; only RDMA runs on the wire");
        refuse(traffic.tcp.is_some(), &key, &over_tcp, "use a scheme over RDMA, or the simulator");
        let key = format!("traffic[{number}].rdma.ack_chunk");
        let bitmap = "with recovery = \"unordered\" an ACK for several packets has a bitmap, which RoCEv2's have not";
        refuse(traffic.endpoint.names_packets(), &key, bitmap, LEAVE);
    }
    for name in spec.jobs() {
        let job = format!("traffic \"{name}\" is a job of many ranks; jobs run in the simulator alone");
        refuse(true, "traffic", &job, SIMULATOR);
    }
    let hosts = graph.hosts;
    refuse(
        hosts > MOST_HOSTS,
        "network.topology",
        &format!("{hosts} hosts would be {hosts} processes; at most {MOST_HOSTS} hosts run on the wire"),
        "use fewer hosts",
    );
    let down = graph.links.iter().any(|link| !link.outages.is_empty());
    refuse(down, "network.links", "links that go down do not run on the wire", "leave out `down`");
    refuse(
        graph.links.iter().filter(of_host).any(|link| link.error_rate > 0.0),
        "network.links",
        "errors of links to hosts do not run on the wire",
        "give errors to links between switches",
    );
    refuse(
        graph.links.iter().any(|link| graph.is_host(link.a) && graph.is_host(link.b)),
        "network.topology",
        "a link from host to host has no switch and does not run on the wire",
        "put a switch between hosts",
    );
    refuse(
        matches!(network.buffer, BufferPolicy::Credits { .. }),
        "network.buffer",
        "flow control by credits has no frame on Ethernet and does not run on the wire",
        "give it another policy, like \"lossless\"",
    );
    refuse(
        network.trimming.is_some(),
        "network.trimming",
        "packets that are trimmed have no frame of their own and do not run on the wire",
        LEAVE,
    );
    refuse(
        matches!(&network.balancing, Balancing::Senders(_)),
        "network.balancing",
        "paths that senders choose have no field in RoCEv2's headers and do not run on the wire",
        "set it to a policy of switches, like \"flow-hash\" or \"random\", or run it in the simulator",
    );
    refuse(network.pauses.quanta.is_some(), "network.pfc", "pauses that expire do not run on the wire yet", LEAVE);
    let response = network.pauses.response > Time::ZERO;
    refuse(response, "network.pfc", "a response time of PFC does not run on the wire yet", LEAVE);
    refuse(!network.pauses.faults.is_empty(), "network.faults", "faulty hosts do not run on the wire yet", LEAVE);
    refuse(network.pauses.record, "network.pfc", "recording of pauses does not run on the wire yet", LEAVE);
    refuse(
        network.packet.payload > MOST_PAYLOAD,
        "network.packet.payload",
        &format!("a payload of {} B does not fit into a frame", network.packet.payload),
        &format!("at most {MOST_PAYLOAD} B fit"),
    );
    let triggers = spec.build().one_thread.is_some();
    refuse(triggers, "traffic", "triggers between hosts do not run on the wire", SIMULATOR);
    measured(measure, &mut |is, key, reason| refuse(is, key, reason, LEAVE));
    reasons
}

fn measured(measure: &Measure, refuse: &mut impl FnMut(bool, &str, &str)) {
    refuse(measure.timeline.is_some(), "measure.timeline", "it is of the simulator only");
    refuse(!measure.trace.is_empty(), "measure.trace", "it is of the simulator only");
    let outside = |of: &Sampled| match of {
        Sampled::Queues(_) => true,
        Sampled::Watched(watched) => watched.iter().all(|of| matches!(of.part, Part::Port | Part::Traffic)),
    };
    let outside = measure.series.iter().all(|series| outside(&series.of));
    let reason = "only queues, ports and traffics are sampled on the wire";
    refuse(!outside, "measure.series", reason);
}
