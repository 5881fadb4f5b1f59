//! The network of a spec: validates it, fills in defaults, and converts it to the fabric's configuration.

use super::balancing::{Programs, check_balancing, check_discipline};
use super::checker::Checker;
use super::document::{
    self, Buffer, Class, CreditBuffer, Credits, Headroom, LinkChange, MarkAt, Marking, Network, Packet, PerPort,
    Policy, Pool, Release, Topology,
};
use super::faults::check_pauses;
use super::lanes::Needs;
use super::shape::advice;
use super::topology_file;
use fanin_cc::aqm::{pi, red};
use fanin_fabric::credits::{BLOCK, buffer_for};
use fanin_fabric::shared_buffer::{Limit, Plan};
use fanin_fabric::topology::{
    Cable, Clos, Dumbbell, Explicit, FatTree, Graph, LeafSpine, NamedLink, ParkingLot, Star, TopologyError,
};
use fanin_fabric::{BufferPolicy, ClassConfig, HostFifo, NetworkConfig, PacketSizes, Pfc, pfc};
use fanin_units::{Bytes, NodeId, Rate, Time};
use std::collections::HashMap;

/// Most data classes, without control.
const MAX_CLASSES: usize = 7;
/// Most rates with their own marking per class; all classes together stay below the number that a port can distinguish.
const MAX_RATES: usize = 16;
/// Longest time of a packet and its ACK over all links of a network together: 10 days, so that sums of times cannot
/// overflow.
const LONGEST_WAY: Time = Time::from_s(864_000);
/// Most entries of the route table: 1 GiB.
const MAX_ROUTES: u64 = 1 << 28;
/// Largest buffer, so that sums over all ports cannot overflow.
const MAX_BUFFER: u64 = 1_000_000_000_000;
/// Most bytes that credits can tell to be free: 2048 blocks.
const MOST_CREDITS: u64 = 2048 * BLOCK;
/// Shortest sampling interval of a controller: about the interval of packets of 64 B at 400 Gb/s.
const SHORTEST_SAMPLE: Time = Time::from_ns(1);

/// The fabric's network, or `None` after adding problems. Defaults are filled in where possible.
pub fn check_network(
    network: &mut Network,
    seed: u64,
    (needs, deflects, programs): (&Needs, bool, &Programs),
    checker: &mut Checker<'_>,
) -> Option<NetworkConfig> {
    let graph = match &mut network.topology {
        file @ Topology::File(_) => topology_file::read(file, &mut network.links, build_topology, checker),
        topology => {
            fill_topology(topology);
            build_topology(topology)
                .map_err(|error| {
                    let (path, problem, right) = explain(topology, &error);
                    checker.fail(&path, problem, right);
                })
                .ok()
        }
    };
    let packet = check_packet(&network.packet, checker);
    let header = network.packet.header.get().saturating_add(u64::from(needs.overhead));
    let wire = network.packet.payload.get().saturating_add(header);
    if packet.is_some() && wire > u64::from(u16::MAX) {
        let problem = format!("with the {} B that a scheme adds, a packet has {wire} B", needs.overhead);
        checker.fail("network.packet.payload", problem, format!("at most {} B fit", u16::MAX));
    }
    fill_buffer(&mut network.buffer, wire);
    let inherits = fill_classes(network, wire);
    let classes = check_classes(network, checker);
    needs.check_thresholds(&classes, checker);
    let hosts_mark = network.host_queue.as_ref().is_some_and(|queue| queue.mark_above.is_some());
    needs.warn_of_no_marks(&classes, hosts_mark, checker);
    let classes = needs.add_lanes(classes, MAX_CLASSES, checker);
    let classes = needs.credit.add_class(classes, network, wire, MAX_CLASSES, checker);
    let mut graph = graph?;
    // No path crosses a link twice, so no round-trip time is longer.
    let sum = |sum: Time, link: &fanin_fabric::topology::Link| {
        let tx = link.rate.tx_time(wire).saturating_add(link.rate.tx_time(network.packet.ack.get()));
        sum.saturating_add(tx).saturating_add(link.delay).saturating_add(link.delay)
    };
    let longest = graph.links.iter().fold(Time::ZERO, sum);
    if longest > LONGEST_WAY {
        let problem = "a packet and its ACK over each of its links, one after the other, take longer than any run";
        let right = format!("together they take at most {LONGEST_WAY}; use faster links, or fewer");
        checker.fail("network.topology", problem, right);
        return None;
    }
    let entries = fanin_fabric::route_entries(&graph);
    if entries > MAX_ROUTES {
        let problem = format!(
            "its routing table would have {entries} entries: {} nodes, and few of its hosts share a switch",
            graph.names.len()
        );
        checker.fail(
            "network.topology",
            problem,
            format!("at most {MAX_ROUTES} are possible; put more hosts on each switch"),
        );
        return None;
    }
    change_links(&network.links, &mut graph, checker);
    needs.warn_of_circles(&graph, checker);
    // The following checks need valid packet sizes.
    let packet = packet?;
    if let Some(queue) = &network.host_queue {
        check_host_queue(queue, wire, checker);
    }
    let buffer = check_buffer(&network.buffer, wire, checker)?;
    if classes.len() > MAX_CLASSES || !check_shares(network, &buffer, wire, checker) {
        return None;
    }
    let pauses = check_pauses(network, &graph, &classes, &packet, wire, checker);
    let plan = Plan::new(&buffer, &classes, &packet);
    let room = Room { graph: &graph, wire, pause: u64::from(packet.pause), buffer, plan };
    room.check_headroom(&classes, checker);
    room.check_credits(network, checker);
    for (i, (class, inherits)) in classes.iter().zip(inherits).enumerate() {
        let of = if inherits { "network".to_string() } else { format!("network.classes[{i}]") };
        room.check_marking(i, class, &class.marking, &format!("{of}.marking"), checker);
        // A class may have its own list together with the network's marking.
        let listed = network.classes.iter().flatten().nth(i).map(|class| &class.marking_by_rate);
        let of = if listed == Some(&network.marking_by_rate) { of } else { format!("network.classes[{i}]") };
        for (j, (rate, marking)) in class.marking_by_rate.iter().enumerate() {
            let path = format!("{of}.marking_by_rate[{j}]");
            room.check_rate(*rate, &class.marking_by_rate[..j], &path, checker);
            room.check_marking(i, class, marking, &format!("{path}.marking"), checker);
        }
    }
    let host_fifo = network
        .host_queue
        .as_ref()
        .map(|q| HostFifo { capacity: q.capacity.get(), mark_above: q.mark_above.map(Bytes::get) });
    let release = match network.release {
        Release::Dequeue => fanin_fabric::Release::Dequeue,
        Release::LastBit => fanin_fabric::Release::LastBit,
    };
    let detection = network.failure_detection;
    let symmetric = needs.credit.symmetric_routes(network, checker);
    let balancing = check_balancing(network, symmetric, deflects, programs, checker);
    let discipline = check_discipline(network, programs, checker);
    Some(NetworkConfig {
        seed,
        graph,
        packet,
        classes,
        buffer,
        release,
        detection,
        host_fifo,
        symmetric,
        balancing,
        discipline,
        pauses,
    })
}

fn fill_topology(topology: &mut Topology) {
    match topology {
        Topology::Dumbbell { link, delay, bottleneck, bottleneck_delay, .. } => {
            bottleneck.get_or_insert(*link);
            bottleneck_delay.get_or_insert(*delay);
        }
        Topology::ParkingLot { link, delay, chain_link, chain_delay, .. } => {
            chain_link.get_or_insert(*link);
            chain_delay.get_or_insert(*delay);
        }
        Topology::LeafSpine { link, delay, fabric_link, fabric_delay, .. } => {
            fabric_link.get_or_insert(*link);
            fabric_delay.get_or_insert(*delay);
        }
        Topology::Clos { tors, uplinks, aggs, agg_uplinks, cores, link, delay, fabric_link, fabric_delay, .. } => {
            let aggs = *aggs.get_or_insert(*uplinks);
            let to_tors = tors.saturating_mul(*uplinks) / aggs.max(1);
            let up = *agg_uplinks.get_or_insert(to_tors);
            cores.get_or_insert(aggs.saturating_mul(up));
            fabric_link.get_or_insert(*link);
            fabric_delay.get_or_insert(*delay);
        }
        Topology::Star { .. }
        | Topology::FatTree { .. }
        | Topology::HpccFatTree {}
        | Topology::RccTree {}
        | Topology::Graph { .. }
        | Topology::File(_) => {}
    }
}

fn build_topology(topology: &Topology) -> Result<Graph, TopologyError> {
    let cable = |rate: &Rate, delay: &Time| Cable::new(*rate, *delay);
    // The options were filled in before, so the host link is only needed for its type.
    let other = |rate: &Option<Rate>, delay: &Option<Time>, host: Cable| {
        Cable::new(rate.unwrap_or(host.rate), delay.unwrap_or(host.delay))
    };
    match topology {
        Topology::Star { hosts, link, delay } => Star { hosts: *hosts, host_link: cable(link, delay) }.build(),
        Topology::Dumbbell { left, right, link, delay, bottleneck, bottleneck_delay } => {
            let host_link = cable(link, delay);
            let bottleneck = other(bottleneck, bottleneck_delay, host_link);
            Dumbbell { left: *left, right: *right, host_link, bottleneck }.build()
        }
        Topology::ParkingLot { switches, hosts, link, delay, chain_link, chain_delay } => {
            let host_link = cable(link, delay);
            let chain_link = other(chain_link, chain_delay, host_link);
            ParkingLot { switches: *switches, hosts: *hosts, host_link, chain_link }.build()
        }
        Topology::LeafSpine { leaves, hosts, spines, link, delay, fabric_link, fabric_delay } => {
            let host_link = cable(link, delay);
            let fabric_link = other(fabric_link, fabric_delay, host_link);
            LeafSpine { leaves: *leaves, hosts: *hosts, spines: *spines, host_link, fabric_link }.build()
        }
        Topology::FatTree { k, link, delay } => FatTree { k: *k, link: cable(link, delay) }.build(),
        Topology::HpccFatTree {} => Clos::hpcc().build(),
        Topology::Clos {
            pods,
            tors,
            hosts,
            uplinks,
            aggs,
            agg_uplinks,
            cores,
            link,
            delay,
            fabric_link,
            fabric_delay,
        } => {
            let host_link = cable(link, delay);
            let fabric = other(fabric_link, fabric_delay, host_link);
            Clos {
                pods: *pods,
                tors: *tors,
                hosts: *hosts,
                uplinks: *uplinks,
                aggs: aggs.unwrap_or(0),
                agg_uplinks: agg_uplinks.unwrap_or(0),
                cores: cores.unwrap_or(0),
                host_link,
                tor_link: fabric,
                core_link: fabric,
            }
            .build()
        }
        Topology::RccTree {} => LeafSpine::rcc().build(),
        Topology::Graph { hosts, switches, links } => {
            let named = |l: &document::GraphLink| NamedLink::new(&l.between[0], &l.between[1], l.rate, l.delay);
            let links = links.iter().map(named).collect();
            Explicit { hosts: hosts.clone(), switches: switches.clone(), links }.build()
        }
        // Files were converted to graphs before.
        Topology::File(file) => {
            Err(TopologyError { parameter: "file".into(), problem: format!("{} is not read", file.file) })
        }
    }
}

/// A builder's error in terms of the spec: path, problem, correction.
fn explain(topology: &Topology, error: &TopologyError) -> (String, String, String) {
    let parameter = error.parameter.as_str();
    let (first, rest) = parameter.split_once('.').unwrap_or((parameter, ""));
    let between = matches!(topology, Topology::Graph { .. });
    let key = match (first, rest) {
        // Several keys together.
        (several, _) if several.contains(", ") => String::new(),
        (link, "a") if between => format!("{link}.between[0]"),
        (link, "b") if between => format!("{link}.between[1]"),
        ("host_link" | "link", "rate") => "link".into(),
        ("host_link" | "link", "delay") => "delay".into(),
        ("bottleneck", "rate") => "bottleneck".into(),
        ("bottleneck", "delay") => "bottleneck_delay".into(),
        ("chain_link", "rate") => "chain_link".into(),
        ("chain_link", "delay") => "chain_delay".into(),
        ("fabric_link" | "tor_link" | "core_link", "rate") => "fabric_link".into(),
        ("fabric_link" | "tor_link" | "core_link", "delay") => "fabric_delay".into(),
        _ => parameter.to_string(),
    };
    let path = if key.is_empty() { "network.topology".into() } else { format!("network.topology.{key}") };
    let (problem, right) = error.problem.split_once("; ").unwrap_or((&error.problem, ""));
    let problem = if key.is_empty() { format!("{parameter}: {problem}") } else { problem.to_string() };
    (path, problem, right.to_string())
}

fn check_packet(packet: &Packet, checker: &mut Checker<'_>) -> Option<PacketSizes> {
    let before = checker.problems.len();
    let mut size = |key: &str, bytes: Bytes, min: u64| {
        let max = u64::from(u16::MAX);
        if bytes.get() < min || bytes.get() > max {
            let path = format!("network.packet.{key}");
            checker.fail(&path, format!("{bytes} is not a possible size"), format!("it is {min} to {max} B"));
        }
        bytes.get() as u16
    };
    let sizes = PacketSizes {
        payload: size("payload", packet.payload, 1),
        header: size("header", packet.header, 0),
        ack: size("ack", packet.ack, 1),
        cnp: size("cnp", packet.cnp, 1),
        pause: size("pause", packet.pause, 1),
    };
    if checker.problems.len() > before {
        return None;
    }
    let wire = packet.payload.get() + packet.header.get();
    if wire > u64::from(u16::MAX) {
        let problem = format!("with its header a packet has {wire} B");
        checker.fail("network.packet.payload", problem, format!("a packet has at most {} B on the wire", u16::MAX));
        return None;
    }
    Some(sizes)
}

fn fill_buffer(buffer: &mut Buffer, wire: u64) {
    match buffer {
        Buffer::PerPort(PerPort { xon_offset, .. }) | Buffer::Pool(Pool { xon_offset, .. }) => {
            xon_offset.get_or_insert(Bytes(wire.saturating_mul(2)));
        }
        Buffer::Credits(_) | Buffer::Unlimited(_) => {}
    }
}

/// Fills in the defaults of a marking that depend on other values.
fn fill_marking(marking: &mut Marking, wire: u64) {
    match marking {
        Marking::RedAverage { min, max, mean_packet, idle_packet, .. } => {
            max.get_or_insert(Bytes(min.get().saturating_mul(3)));
            let mean = *mean_packet.get_or_insert(Bytes(wire));
            idle_packet.get_or_insert(mean);
        }
        Marking::Pi { target, mean_packet, .. } => {
            let mean = *mean_packet.get_or_insert(Bytes(wire));
            target.get_or_insert(Bytes(mean.get().saturating_mul(50)));
        }
        Marking::Off | Marking::Step { .. } | Marking::Red { .. } => {}
    }
}

/// Fills in the classes. Returns for each whether its marking is the network's.
fn fill_classes(network: &mut Network, wire: u64) -> Vec<bool> {
    fill_marking(&mut network.marking, wire);
    network.marking_by_rate.iter_mut().for_each(|of| fill_marking(&mut of.marking, wire));
    let lossless = match &network.buffer {
        Buffer::PerPort(PerPort { policy, .. }) | Buffer::Pool(Pool { policy, .. }) => *policy == Policy::Lossless,
        Buffer::Credits(_) => true,
        Buffer::Unlimited(_) => false,
    };
    let default = || {
        vec![Class {
            name: "data".into(),
            lossless: None,
            marking: None,
            marking_by_rate: Vec::new(),
            share: None,
            alpha: None,
        }]
    };
    let classes = network.classes.get_or_insert_with(default);
    let inherits = classes.iter().map(|class| class.marking.is_none()).collect();
    for class in classes {
        class.lossless.get_or_insert(lossless);
        if class.marking.is_none() && class.marking_by_rate.is_empty() {
            class.marking_by_rate.clone_from(&network.marking_by_rate);
        }
        class.marking_by_rate.iter_mut().for_each(|of| fill_marking(&mut of.marking, wire));
        fill_marking(class.marking.get_or_insert_with(|| network.marking.clone()), wire);
    }
    inherits
}

fn check_classes(network: &Network, checker: &mut Checker<'_>) -> Vec<ClassConfig> {
    let classes = network.classes.as_deref().unwrap_or_default();
    if classes.is_empty() || classes.len() > MAX_CLASSES {
        let right = format!("there are 1 to {MAX_CLASSES}; leave the key out for one class \"data\"");
        checker.fail("network.classes", format!("there are {} classes", classes.len()), right);
    }
    for (i, class) in classes.iter().enumerate() {
        if class.name.is_empty() || classes[..i].iter().any(|other| other.name == class.name) {
            let path = format!("network.classes[{i}].name");
            checker.fail(&path, format!("\"{}\" is empty or used twice", class.name), "give each class its own name");
        }
    }
    let class = |class: &Class| ClassConfig {
        name: class.name.clone(),
        lossless: class.lossless.unwrap_or(false),
        marking: class.marking.as_ref().map_or(fanin_fabric::Marking::Off, marking),
        marking_by_rate: class.marking_by_rate.iter().map(|of| (of.rate, marking(&of.marking))).collect(),
        share: class.share,
        alpha: class.alpha,
        sibling_vl: None,
        urgent: false,
        shaper: None,
    };
    classes.iter().map(class).collect()
}

fn marking(marking: &Marking) -> fanin_fabric::Marking {
    let at = |at: MarkAt| match at {
        MarkAt::Enqueue => fanin_fabric::MarkAt::Enqueue,
        MarkAt::Dequeue => fanin_fabric::MarkAt::Dequeue,
    };
    match *marking {
        Marking::Off => fanin_fabric::Marking::Off,
        Marking::Step { above, at: when } => fanin_fabric::Marking::Step { above: above.get(), at: at(when) },
        Marking::Red { min, max, probability, at: when } => {
            fanin_fabric::Marking::Red { min: min.get(), max: max.get(), max_probability: probability, at: at(when) }
        }
        Marking::RedAverage { min, max, probability, weight, gentle, wait, mean_packet, idle_packet } => {
            fanin_fabric::Marking::RedAverage(red::Config {
                min: min.get(),
                max: bytes_of(max),
                max_probability: probability,
                weight,
                gentle,
                wait,
                mean_packet: size_of(mean_packet),
                idle_packet: size_of(idle_packet),
            })
        }
        Marking::Pi { target, a, b, every, mean_packet } => fanin_fabric::Marking::Pi(pi::Config {
            a,
            b,
            target: bytes_of(target),
            every,
            mean_packet: size_of(mean_packet),
        }),
    }
}

/// A value that was filled in.
fn bytes_of(filled: Option<Bytes>) -> u64 {
    filled.map_or(0, Bytes::get)
}

/// A size that was filled in; one that is too large becomes 0, which is refused as well.
fn size_of(filled: Option<Bytes>) -> u32 {
    u32::try_from(bytes_of(filled)).unwrap_or(0)
}

/// Whether the shares of classes are possible, and leave enough for classes without one.
fn check_shares(network: &Network, buffer: &BufferPolicy, wire: u64, checker: &mut Checker<'_>) -> bool {
    let before = checker.problems.len();
    let classes = network.classes.as_deref().unwrap_or_default();
    let all = match *buffer {
        BufferPolicy::PerPort { bytes, .. } | BufferPolicy::Pooled { bytes, .. } => bytes,
        BufferPolicy::Credits { .. } | BufferPolicy::Unlimited => u64::MAX,
    };
    let (mut sum, mut last) = (0.0, None);
    for (i, class) in classes.iter().enumerate() {
        if let Some(share) = class.share {
            let path = format!("network.classes[{i}].share");
            if matches!(buffer, BufferPolicy::Credits { .. }) {
                let problem =
                    "with credits each class has a buffer of its own at every port, so there is none to divide";
                checker.fail(&path, problem, "leave it out");
            } else if *buffer == BufferPolicy::Unlimited {
                checker.fail(&path, "an unlimited buffer cannot be divided", "leave it out, or give the buffer a size");
            } else if !(share > 0.0 && share <= 1.0) {
                checker.fail(
                    &path,
                    format!("{share} is not a possible share"),
                    "it is above 0 and at most 1, like 0.5",
                );
            } else if ((all as f64 * share) as u64) < wire {
                let problem = format!("{share} of {} is less than one packet of {}", Bytes(all), Bytes(wire));
                checker.fail(&path, problem, "give it a larger share, or more buffer");
            } else {
                sum += share;
                last = Some(path);
            }
        }
        if let Some(alpha) = class.alpha {
            let path = format!("network.classes[{i}].alpha");
            if !matches!(buffer, BufferPolicy::Pooled { .. }) {
                let right = "leave it out, or use a pool";
                checker.fail(&path, "only a pool has dynamic thresholds", right);
            } else {
                check_factor(&path, alpha, checker);
            }
        }
    }
    let without: Vec<&str> = classes.iter().filter(|c| c.share.is_none()).map(|c| c.name.as_str()).collect();
    let Some(path) = last else { return checker.problems.len() == before };
    let left = all as f64 * (1.0 - sum);
    // In the form in which it would be written by hand.
    let shown = (sum * 1e6).round() / 1e6;
    // A sum of decimal fractions may differ from 1 by rounding.
    if sum > 1.0 + 1e-9 {
        checker.fail(&path, format!("the shares of all classes add up to {shown}"), "together they are at most 1");
    } else if !without.is_empty() && left < wire as f64 {
        let problem = format!(
            "the shares add up to {shown} and leave less than one packet for {} that has none: \"{}\"",
            if without.len() == 1 { "the class" } else { "each class" },
            without.join("\", \"")
        );
        checker.fail(&path, problem, "give that class a share too, or make the shares smaller");
    } else if without.is_empty() && left >= wire as f64 {
        let unused = Bytes(left as u64);
        checker
            .warnings
            .push(format!("network.classes: the shares add up to {shown}; no class uses the other {unused}"));
    }
    checker.problems.len() == before
}

fn check_factor(path: &str, factor: f64, checker: &mut Checker<'_>) {
    if !(factor > 0.0 && factor <= 1000.0) {
        checker.fail(path, format!("{factor} is not a possible factor"), "it is above 0 and at most 1000, like 0.125");
    }
}

fn check_buffer(buffer: &Buffer, wire: u64, checker: &mut Checker<'_>) -> Option<BufferPolicy> {
    let before = checker.problems.len();
    let mut size = |path: &str, bytes: Bytes| {
        if bytes.get() < wire || bytes.get() > MAX_BUFFER {
            let right = format!("it is at least one packet, {}, and at most {}", Bytes(wire), Bytes(MAX_BUFFER));
            checker.fail(path, format!("{bytes} is not a possible buffer size"), right);
        }
    };
    let pfc = |headroom: Headroom, xon_offset: Option<Bytes>| Pfc {
        headroom: match headroom {
            Headroom::Computed(_) => None,
            Headroom::Bytes(bytes) => Some(bytes.get()),
        },
        xon_offset: xon_offset.map(Bytes::get),
    };
    let policy = match buffer {
        Buffer::PerPort(PerPort { per_port, headroom, xon_offset, .. }) => {
            size("network.buffer.per_port", *per_port);
            BufferPolicy::PerPort { bytes: per_port.get(), pfc: pfc(*headroom, *xon_offset) }
        }
        Buffer::Pool(Pool { pool, alpha, pfc_alpha, headroom, xon_offset, .. }) => {
            size("network.buffer.pool", *pool);
            for (key, factor) in [("alpha", *alpha), ("pfc_alpha", *pfc_alpha)] {
                check_factor(&format!("network.buffer.{key}"), factor, checker);
            }
            let pfc = pfc(*headroom, *xon_offset);
            BufferPolicy::Pooled { bytes: pool.get(), alpha: *alpha, pfc_alpha: *pfc_alpha, pfc }
        }
        Buffer::Credits(Credits { credits: CreditBuffer::Computed(_) }) => BufferPolicy::Credits { bytes: None },
        Buffer::Credits(Credits { credits: CreditBuffer::Bytes(bytes) }) => {
            // Whole blocks count, and a packet that never fits would wait for ever.
            size("network.buffer.credits", Bytes(bytes.get() / BLOCK * BLOCK));
            BufferPolicy::Credits { bytes: Some(bytes.get()) }
        }
        Buffer::Unlimited(_) => BufferPolicy::Unlimited,
    };
    (checker.problems.len() == before).then_some(policy)
}

fn check_host_queue(queue: &document::HostQueue, wire: u64, checker: &mut Checker<'_>) {
    if queue.capacity.get() < wire {
        let problem = format!("{} is less than one packet of {}", queue.capacity, Bytes(wire));
        checker.fail("network.host_queue.capacity", problem, "it holds at least one packet");
    }
    if let Some(above) = queue.mark_above
        && above >= queue.capacity
    {
        let problem = format!("the queue never holds more than {above}: its capacity is {}", queue.capacity);
        checker.fail("network.host_queue.mark_above", problem, "mark below the capacity, or leave the key out");
    }
}

fn change_links(changes: &[LinkChange], graph: &mut Graph, checker: &mut Checker<'_>) {
    if changes.is_empty() {
        return;
    }
    let mut links_of: HashMap<(NodeId, NodeId), Vec<usize>> = HashMap::new();
    for (i, link) in graph.links.iter().enumerate() {
        links_of.entry((link.a.min(link.b), link.a.max(link.b))).or_default().push(i);
    }
    let node_of: HashMap<String, NodeId> = graph.names.iter().cloned().zip((0..).map(NodeId)).collect();
    let mut seen = HashMap::new();
    for (i, change) in changes.iter().enumerate() {
        if checker.has_enough() {
            break;
        }
        let path = format!("network.links[{i}]");
        if !(0.0..1.0).contains(&change.error_rate) {
            let problem = format!("{} is not a probability of loss", change.error_rate);
            checker.fail(&format!("{path}.error_rate"), problem, "it is at least 0 and below 1, like 0.001");
        }
        check_outages(&change.down, &path, checker);
        let mut ends = Vec::with_capacity(2);
        for (j, name) in change.between.iter().enumerate() {
            match node_of.get(name) {
                Some(node) => ends.push(*node),
                None => {
                    let right = advice(name, graph.names.iter().map(String::as_str));
                    checker.fail(&format!("{path}.between[{j}]"), format!("there is no node \"{name}\""), right);
                }
            }
        }
        let [a, b] = ends[..] else { continue };
        let pair = (a.min(b), a.max(b));
        let [one, other] = &change.between;
        let Some(links) = links_of.get(&pair) else {
            let problem = format!("there is no link between \"{one}\" and \"{other}\"");
            checker.fail(&format!("{path}.between"), problem, "name two nodes that share a link");
            continue;
        };
        if let Some(before) = seen.insert(pair, i) {
            let problem =
                format!("the links between \"{one}\" and \"{other}\" are also changed in network.links[{before}]");
            checker.fail(&format!("{path}.between"), problem, "put both changes into one entry");
        }
        for link in links {
            graph.links[*link].error_rate = change.error_rate;
            graph.links[*link].outages = change.down.iter().map(|[from, to]| (*from, *to)).collect();
        }
    }
}

fn check_outages(down: &[[Time; 2]], path: &str, checker: &mut Checker<'_>) {
    for (i, [from, to]) in down.iter().enumerate() {
        let path = format!("{path}.down[{i}]");
        if from >= to {
            checker.fail(&path, format!("it goes from {from} to {to}"), "its end is later than its start");
        } else if i > 0 && *from <= down[i - 1][1] {
            let problem = format!("it starts at {from}, but the one before ends at {}", down[i - 1][1]);
            checker.fail(&path, problem, "list them in order, with time between them");
        }
    }
}

/// Capacities of the buffers of a network.
struct Room<'a> {
    graph: &'a Graph,
    wire: u64,
    pause: u64,
    buffer: BufferPolicy,
    plan: Plan,
}

impl Room<'_> {
    /// Whether lossless ingress ports have some buffer besides their headroom.
    fn check_headroom(&self, classes: &[ClassConfig], checker: &mut Checker<'_>) {
        let lossless = classes.iter().filter(|class| class.lossless).count() as u64;
        let pfc = match self.buffer {
            BufferPolicy::PerPort { pfc, .. } | BufferPolicy::Pooled { pfc, .. } if lossless > 0 => pfc,
            _ => return,
        };
        let (mut worst, mut too_small) = ((0, 0), None);
        let mut of_node = vec![0u128; self.graph.names.len()];
        // There are many links, but few kinds.
        let mut kind = (Rate::ZERO, Time::NEVER, 0);
        for (i, link) in self.graph.links.iter().enumerate() {
            if (kind.0, kind.1) != (link.rate, link.delay) {
                kind = (link.rate, link.delay, pfc::headroom(link.rate, link.delay, self.wire, self.pause));
            }
            let computed = kind.2;
            let needed = pfc.headroom.unwrap_or(computed);
            if needed < computed {
                too_small.get_or_insert((needed, computed));
            }
            worst = worst.max((needed, i));
            for end in [link.a, link.b] {
                of_node[end.ix()] += u128::from(needed);
            }
        }
        if let Some((needed, computed)) = too_small {
            checker.warnings.push(format!(
                "network.buffer.headroom = {} may lose packets of lossless classes; some link needs {}",
                Bytes(needed),
                Bytes(computed)
            ));
        }
        let right = "give more buffer, a smaller headroom, shorter or slower links, or policy = \"lossy\"";
        let own = |i: usize| format!("network.classes[{i}].share");
        let mut common_done = false;
        for (i, class) in classes.iter().enumerate().filter(|(_, class)| class.lossless) {
            // Classes without a share have the same limits, so the first represents all.
            if class.share.is_none() && std::mem::replace(&mut common_done, true) {
                continue;
            }
            match self.plan.limits[i + 1] {
                Limit::Port { bytes, .. } if worst.0 >= bytes => {
                    let common = classes.iter().filter(|class| class.lossless && class.share.is_none()).count();
                    let (path, whom) = match class.share {
                        Some(_) => (own(i), format!("class \"{}\"", class.name)),
                        None => ("network.buffer.per_port".to_string(), format!("each of {common} lossless classes")),
                    };
                    let (from, to) = self.ends(worst.1);
                    let problem = format!(
                        "an ingress port has {} for {whom}, but the link between \"{from}\" and \"{to}\" needs {} of \
                         headroom alone",
                        Bytes(bytes),
                        Bytes(worst.0)
                    );
                    checker.fail(&path, problem, right);
                }
                Limit::Pool { pool, .. } => {
                    let (bytes, lossless) = self.plan.pools[pool];
                    let switches = (0..).map(NodeId).zip(&of_node).filter(|(node, _)| !self.graph.is_host(*node));
                    let all = switches.map(|(node, needed)| (needed * u128::from(lossless.count_ones()), node)).max();
                    if let Some((needed, node)) = all
                        && needed >= u128::from(bytes)
                    {
                        let name = &self.graph.names[node.ix()];
                        let problem = format!("the lossless ingresses of \"{name}\" need {needed} B of headroom alone");
                        let path = if class.share.is_some() { own(i) } else { "network.buffer.pool".to_string() };
                        checker.fail(&path, problem, right);
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether credits are the flow control of all classes, and enough for each link.
    fn check_credits(&self, network: &Network, checker: &mut Checker<'_>) {
        let BufferPolicy::Credits { bytes } = self.buffer else { return };
        for (i, class) in network.classes.iter().flatten().enumerate() {
            if class.lossless == Some(false) {
                let problem =
                    "with credits a packet is sent only where it fits, so no class loses any for lack of buffer";
                let right = "leave it out, or use per_port or pool";
                checker.fail(&format!("network.classes[{i}].lossless"), problem, right);
            }
        }
        let lanes = network.classes.iter().flatten().count() as u64;
        let needed = |link: &fanin_fabric::topology::Link| buffer_for(link.rate, link.delay, self.wire, lanes);
        let Some((needed, link)) = self.graph.links.iter().map(needed).zip(0..).max() else { return };
        let most = bytes.unwrap_or(needed).min(MOST_CREDITS);
        if needed > most {
            let (from, to) = self.ends(link);
            let why =
                if bytes.is_none_or(|bytes| bytes > most) { "more than credits can tell" } else { "more than it has" };
            checker.warnings.push(format!(
                "network.buffer.credits: the link between \"{from}\" and \"{to}\" needs {} to carry full packets at \
                 its rate, {why}; it will be idle at times",
                Bytes(needed),
            ));
        }
    }

    fn ends(&self, link: usize) -> (&str, &str) {
        let link = &self.graph.links[link];
        (&self.graph.names[link.a.ix()], &self.graph.names[link.b.ix()])
    }

    /// Most bytes that a queue of a class can hold.
    fn most_queued(&self, number: usize, class: &ClassConfig) -> u64 {
        match self.plan.limits[number + 1] {
            Limit::Port { bytes, .. } if !class.lossless => bytes,
            // The ingress ports are limited, not the egress: it may hold the bytes of all of them.
            Limit::Port { bytes, .. } => {
                let mut ports: HashMap<NodeId, u64> = HashMap::new();
                for end in self.graph.links.iter().flat_map(|link| [link.a, link.b]) {
                    *ports.entry(end).or_default() += 1;
                }
                let most = ports.into_iter().filter(|(node, _)| !self.graph.is_host(*node)).map(|(_, n)| n).max();
                bytes.saturating_mul(most.unwrap_or(0))
            }
            // A single queue settles at q = alpha (pool - q).
            Limit::Pool { pool, alpha } if !class.lossless => {
                (self.plan.pools[pool].0 as f64 * alpha / (1.0 + alpha)) as u64
            }
            Limit::Pool { pool, .. } => self.plan.pools[pool].0,
            Limit::None | Limit::Credits => u64::MAX,
        }
    }

    /// Whether a rate with its own marking occurs in the network, and only once in the list.
    fn check_rate(&self, rate: Rate, before: &[(Rate, fanin_fabric::Marking)], path: &str, checker: &mut Checker<'_>) {
        let path = format!("{path}.rate");
        let mut rates: Vec<Rate> = self.graph.links.iter().map(|link| link.rate).collect();
        rates.sort_unstable();
        rates.dedup();
        if !rates.contains(&rate) {
            let known: Vec<String> = rates.iter().take(10).map(Rate::to_string).collect();
            checker.fail(&path, format!("no link has the rate {rate}"), format!("the rates are {}", known.join(", ")));
        } else if before.iter().any(|(other, _)| *other == rate) {
            checker.fail(&path, format!("{rate} is listed twice"), "give each rate one marking");
        } else if before.len() >= MAX_RATES {
            checker.fail(&path, "the list is too long", format!("it has at most {MAX_RATES} rates"));
        }
    }

    fn check_marking(
        &self,
        number: usize,
        class: &ClassConfig,
        marking: &fanin_fabric::Marking,
        path: &str,
        checker: &mut Checker<'_>,
    ) {
        let most = self.most_queued(number, class);
        let never = |bytes: u64| {
            format!(
                "no queue of class \"{}\" holds more than {}: a threshold of {} never marks",
                class.name,
                Bytes(most),
                Bytes(bytes)
            )
        };
        match *marking {
            fanin_fabric::Marking::Off => {}
            fanin_fabric::Marking::Step { above, .. } => {
                if above >= most {
                    checker.fail(&format!("{path}.above"), never(above), "lower the threshold, or give more buffer");
                }
            }
            fanin_fabric::Marking::Red { min, max, max_probability, .. } => {
                if min > max {
                    let problem = format!("{} is above max = {}", Bytes(min), Bytes(max));
                    checker.fail(&format!("{path}.min"), problem, "swap them");
                } else if min >= most {
                    checker.fail(&format!("{path}.min"), never(min), "lower the threshold, or give more buffer");
                }
                if !(0.0..=1.0).contains(&max_probability) {
                    let problem = format!("{max_probability} is not a probability");
                    checker.fail(&format!("{path}.probability"), problem, "it is 0 to 1, like 0.01");
                }
            }
            fanin_fabric::Marking::RedAverage(red) => {
                if red.min >= red.max {
                    let problem = format!("{} is not below max = {}", Bytes(red.min), Bytes(red.max));
                    checker.fail(&format!("{path}.min"), problem, "give a larger max, like 3 times min");
                } else if red.min >= most {
                    checker.fail(&format!("{path}.min"), never(red.min), "lower the threshold, or give more buffer");
                }
                let parts = [("probability", red.max_probability, 0.1), ("weight", red.weight, 0.002)];
                for (key, value, like) in parts {
                    if !(value > 0.0 && value <= 1.0) {
                        let right = format!("it is above 0 and at most 1, like {like}");
                        checker.fail(&format!("{path}.{key}"), format!("{value} is not possible"), right);
                    }
                }
                check_packet_size(path, "mean_packet", red.mean_packet, checker);
                check_packet_size(path, "idle_packet", red.idle_packet, checker);
            }
            fanin_fabric::Marking::Pi(pi) => {
                if pi.target >= most {
                    checker.fail(&format!("{path}.target"), never(pi.target), "lower the target, or give more buffer");
                }
                if !(pi.a > 0.0 && pi.a <= 1.0) {
                    let right = "it is above 0 and at most 1, like 1.822e-5";
                    checker.fail(&format!("{path}.a"), format!("{} is not a possible gain", pi.a), right);
                } else if !(pi.b >= 0.0 && pi.b < pi.a) {
                    let problem =
                        format!("{} is not below a = {}: a constant deviation would have no effect", pi.b, pi.a);
                    checker.fail(&format!("{path}.b"), problem, "it is 0 or more and below a, like 1.816e-5");
                }
                if pi.every < SHORTEST_SAMPLE {
                    let right = format!("it is at least {SHORTEST_SAMPLE}, like \"5882 us\"");
                    checker.fail(&format!("{path}.every"), format!("{} is too short", pi.every), right);
                }
                check_packet_size(path, "mean_packet", pi.mean_packet, checker);
            }
        }
    }
}

fn check_packet_size(path: &str, key: &str, bytes: u32, checker: &mut Checker<'_>) {
    if bytes == 0 || bytes > u32::from(u16::MAX) {
        let right = format!("it is 1 to {} B; leave it out for a full packet", u16::MAX);
        checker.fail(&format!("{path}.{key}"), "this is not a possible packet size", right);
    }
}
