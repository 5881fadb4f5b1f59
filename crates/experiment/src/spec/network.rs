//! The network of a spec: checked, filled in, and turned into the fabric's.

use super::check::Checker;
use super::document::{
    self, Buffer, Class, Headroom, LinkChange, MarkAt, Marking, Network, Packet, PerPort, Policy, Pool, Release,
    Topology,
};
use super::shape::advice;
use fanin_fabric::topology::{
    Cable, Clos, Dumbbell, Explicit, FatTree, Graph, LeafSpine, NamedLink, ParkingLot, Star, TopologyError,
};
use fanin_fabric::{BufferPolicy, ClassConfig, HostFifo, NetworkConfig, PacketSizes, Pfc, pfc};
use fanin_units::{Bytes, NodeId, Rate, Time};
use std::collections::HashMap;

/// Most data classes beside control.
const MAX_CLASSES: usize = 7;
/// Most entries of the route table: 1 GiB.
const MAX_ROUTES: u64 = 1 << 28;
/// Largest buffer, so that sums over all ports stay far from overflow.
const MAX_BUFFER: u64 = 1_000_000_000_000;

/// The fabric's network, or `None` after noting problems. Defaults are filled in where that is possible.
pub fn check_network(network: &mut Network, seed: u64, checker: &mut Checker<'_>) -> Option<NetworkConfig> {
    fill_topology(&mut network.topology);
    let graph = build_topology(&network.topology)
        .map_err(|error| {
            let (path, problem, right) = explain(&network.topology, &error);
            checker.fail(&path, problem, right);
        })
        .ok();
    let packet = check_packet(&network.packet, checker);
    let wire = network.packet.payload.get().saturating_add(network.packet.header.get());
    fill_buffer(&mut network.buffer, wire);
    let inherits = fill_classes(network);
    let classes = check_classes(network, checker);
    let mut graph = graph?;
    let entries = fanin_fabric::route_entries(&graph);
    if entries > MAX_ROUTES {
        let problem = format!(
            "its routes need a table of {entries} entries: {} nodes, few hosts of which share a switch",
            graph.names.len()
        );
        checker.fail("network.topology", problem, format!("at most {MAX_ROUTES} fit; put more hosts on each switch"));
        return None;
    }
    change_links(&network.links, &mut graph, checker);
    // What follows is about whole packets.
    let packet = packet?;
    if let Some(queue) = &network.host_queue {
        check_host_queue(queue, wire, checker);
    }
    let buffer = check_buffer(&network.buffer, wire, checker)?;
    let room = Room { graph: &graph, wire, pause: u64::from(packet.pause), buffer };
    room.check_headroom(&classes, checker);
    for (i, (class, inherits)) in classes.iter().zip(inherits).enumerate() {
        let path = if inherits { "network.marking".to_string() } else { format!("network.classes[{i}].marking") };
        room.check_marking(class, &path, checker);
    }
    let host_fifo = network
        .host_queue
        .as_ref()
        .map(|q| HostFifo { capacity: q.capacity.get(), mark_above: q.mark_above.map(Bytes::get) });
    let release = match network.release {
        Release::Dequeue => fanin_fabric::Release::Dequeue,
        Release::LastBit => fanin_fabric::Release::LastBit,
    };
    Some(NetworkConfig { seed, graph, packet, classes, buffer, release, host_fifo })
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
        | Topology::Graph { .. } => {}
    }
}

fn build_topology(topology: &Topology) -> Result<Graph, TopologyError> {
    let cable = |rate: &Rate, delay: &Time| Cable::new(*rate, *delay);
    // Filled in before, so that the host link is only named for its type.
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
    }
}

/// A builder's error in terms of the spec: path, what is wrong, what would be right.
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
            checker.fail(&path, format!("{bytes} is no size of it"), format!("it is {min} to {max} B"));
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
        Buffer::PerPort(PerPort { resume_gap, .. }) | Buffer::Pool(Pool { resume_gap, .. }) => {
            resume_gap.get_or_insert(Bytes(wire.saturating_mul(2)));
        }
        Buffer::Unlimited(_) => {}
    }
}

/// Writes out the classes. Returns for each whether its marking is the network's.
fn fill_classes(network: &mut Network) -> Vec<bool> {
    let lossless = match &network.buffer {
        Buffer::PerPort(PerPort { policy, .. }) | Buffer::Pool(Pool { policy, .. }) => *policy == Policy::Lossless,
        Buffer::Unlimited(_) => false,
    };
    let default = || vec![Class { name: "data".into(), lossless: None, marking: None }];
    let classes = network.classes.get_or_insert_with(default);
    let inherits = classes.iter().map(|class| class.marking.is_none()).collect();
    for class in classes {
        class.lossless.get_or_insert(lossless);
        class.marking.get_or_insert_with(|| network.marking.clone());
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
            checker.fail(&path, format!("\"{}\" is empty or there twice", class.name), "give each class its own name");
        }
    }
    let class = |class: &Class| ClassConfig {
        name: class.name.clone(),
        lossless: class.lossless.unwrap_or(false),
        marking: class.marking.as_ref().map_or(fanin_fabric::Marking::Off, marking),
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
    }
}

fn check_buffer(buffer: &Buffer, wire: u64, checker: &mut Checker<'_>) -> Option<BufferPolicy> {
    let before = checker.problems.len();
    let mut size = |path: &str, bytes: Bytes| {
        if bytes.get() < wire || bytes.get() > MAX_BUFFER {
            let right = format!("it is at least one packet, {}, and at most {}", Bytes(wire), Bytes(MAX_BUFFER));
            checker.fail(path, format!("{bytes} is no size of a buffer"), right);
        }
    };
    let pfc = |headroom: Headroom, resume_gap: Option<Bytes>| Pfc {
        headroom: match headroom {
            Headroom::Computed(_) => None,
            Headroom::Bytes(bytes) => Some(bytes.get()),
        },
        resume_gap: resume_gap.map(Bytes::get),
    };
    let policy = match buffer {
        Buffer::PerPort(PerPort { per_port, headroom, resume_gap, .. }) => {
            size("network.buffer.per_port", *per_port);
            BufferPolicy::PerPort { bytes: per_port.get(), pfc: pfc(*headroom, *resume_gap) }
        }
        Buffer::Pool(Pool { pool, alpha, pfc_alpha, headroom, resume_gap, .. }) => {
            size("network.buffer.pool", *pool);
            for (key, factor) in [("alpha", *alpha), ("pfc_alpha", *pfc_alpha)] {
                if !(factor > 0.0 && factor <= 1000.0) {
                    let path = format!("network.buffer.{key}");
                    checker.fail(&path, format!("{factor} is no factor"), "it is above 0 and at most 1000, like 0.125");
                }
            }
            let pfc = pfc(*headroom, *resume_gap);
            BufferPolicy::Pooled { bytes: pool.get(), alpha: *alpha, pfc_alpha: *pfc_alpha, pfc }
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
        let path = format!("network.links[{i}]");
        if !(0.0..1.0).contains(&change.error_rate) {
            let problem = format!("{} is no probability of a loss", change.error_rate);
            checker.fail(&format!("{path}.error_rate"), problem, "it is 0 or more and below 1, like 0.001");
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
            let problem = format!("no link is between \"{one}\" and \"{other}\"");
            checker.fail(&format!("{path}.between"), problem, "name two nodes that are wired to each other");
            continue;
        };
        if let Some(before) = seen.insert(pair, i) {
            let problem =
                format!("the links between \"{one}\" and \"{other}\" are changed in network.links[{before}] too");
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

/// How much the buffers of a network hold.
struct Room<'a> {
    graph: &'a Graph,
    wire: u64,
    pause: u64,
    buffer: BufferPolicy,
}

impl Room<'_> {
    /// Whether lossless ingresses keep something above their headroom.
    fn check_headroom(&self, classes: &[ClassConfig], checker: &mut Checker<'_>) {
        let lossless = classes.iter().filter(|class| class.lossless).count() as u64;
        let pfc = match self.buffer {
            BufferPolicy::PerPort { pfc, .. } | BufferPolicy::Pooled { pfc, .. } if lossless > 0 => pfc,
            _ => return,
        };
        let (mut worst, mut too_small) = ((0, 0), None);
        let mut of_switch: HashMap<NodeId, u128> = HashMap::new();
        for (i, link) in self.graph.links.iter().enumerate() {
            let computed = pfc::headroom(link.rate, link.delay, self.wire, self.pause);
            let needed = pfc.headroom.unwrap_or(computed);
            if needed < computed {
                too_small.get_or_insert((needed, computed));
            }
            worst = worst.max((needed, i));
            for end in [link.a, link.b] {
                *of_switch.entry(end).or_default() += u128::from(needed) * u128::from(lossless);
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
        match self.buffer {
            BufferPolicy::PerPort { bytes, .. } => {
                let share = bytes / lossless;
                if worst.0 >= share {
                    let (from, to) = self.ends(worst.1);
                    let problem = format!(
                        "an ingress has {} for each of {lossless} lossless classes, but the link between \"{from}\" and \
                         \"{to}\" needs {} of headroom alone",
                        Bytes(share),
                        Bytes(worst.0)
                    );
                    checker.fail("network.buffer.per_port", problem, right);
                }
            }
            BufferPolicy::Pooled { bytes, .. } => {
                let switches = of_switch.into_iter().filter(|(node, _)| !self.graph.is_host(*node));
                if let Some((needed, node)) = switches.map(|(node, needed)| (needed, node)).max()
                    && needed >= u128::from(bytes)
                {
                    let name = &self.graph.names[node.ix()];
                    let problem = format!("the lossless ingresses of \"{name}\" need {needed} B of headroom alone");
                    checker.fail("network.buffer.pool", problem, right);
                }
            }
            BufferPolicy::Unlimited => {}
        }
    }

    fn ends(&self, link: usize) -> (&str, &str) {
        let link = &self.graph.links[link];
        (&self.graph.names[link.a.ix()], &self.graph.names[link.b.ix()])
    }

    /// Most bytes that a queue of the class can ever hold.
    fn most_queued(&self, class: &ClassConfig) -> u64 {
        match self.buffer {
            BufferPolicy::PerPort { bytes, .. } if !class.lossless => bytes,
            // The ingresses are limited, not the egress: it may hold what all of them have.
            BufferPolicy::PerPort { bytes, .. } => {
                let mut ports: HashMap<NodeId, u64> = HashMap::new();
                for end in self.graph.links.iter().flat_map(|link| [link.a, link.b]) {
                    *ports.entry(end).or_default() += 1;
                }
                let most = ports.into_iter().filter(|(node, _)| !self.graph.is_host(*node)).map(|(_, n)| n).max();
                bytes.saturating_mul(most.unwrap_or(0))
            }
            // A lone queue settles where q = alpha (pool - q).
            BufferPolicy::Pooled { bytes, alpha, .. } if !class.lossless => {
                (bytes as f64 * alpha / (1.0 + alpha)) as u64
            }
            BufferPolicy::Pooled { bytes, .. } => bytes,
            BufferPolicy::Unlimited => u64::MAX,
        }
    }

    fn check_marking(&self, class: &ClassConfig, path: &str, checker: &mut Checker<'_>) {
        let most = self.most_queued(class);
        let never = |bytes: u64| {
            format!(
                "no queue of class \"{}\" holds more than {}: {} never marks",
                class.name,
                Bytes(most),
                Bytes(bytes)
            )
        };
        match class.marking {
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
                    let problem = format!("{max_probability} is no probability");
                    checker.fail(&format!("{path}.probability"), problem, "it is 0 to 1, like 0.01");
                }
            }
        }
    }
}
