//! The network of a spec: validates it, fills in defaults, and converts it to the fabric's configuration.

use super::balancing::{check_balancing, check_discipline};
use super::checker::Checker;
use super::classes::{MAX_CLASSES, check_classes, check_shares, fill_classes, marks_with_last_bits};
use super::document::{
    self, Buffer, CreditBuffer, Credits, Cuts, Headroom, Network, Packet, PerPort, Pool, Release, RoomOfRate,
    ThresholdsOfRate, Trimming,
};
use super::faults::check_pauses;
use super::lanes::Needs;
use super::room::{Room, check_rate};
use super::topology::{change_links, check_extent, check_topology};
use fanin_fabric::credits::BLOCK;
use fanin_fabric::shared_buffer::Plan;
use fanin_fabric::topology::Graph;
use fanin_fabric::{BufferPolicy, HostFifo, NetworkConfig, PacketSizes, Pfc};
use fanin_units::{Bytes, Rate};

/// Largest buffer, so that sums over all ports cannot overflow.
const MAX_BUFFER: u64 = 1_000_000_000_000;

/// The fabric's network, or `None` after adding problems. Defaults are filled in where possible.
pub fn check_network(
    network: &mut Network,
    seed: u64,
    (needs, deflects): (&Needs, bool),
    checker: &mut Checker<'_>,
) -> Option<NetworkConfig> {
    let graph = check_topology(network, checker);
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
    let classes = needs.add_lanes(classes, MAX_CLASSES, checker);
    let classes = needs.credit.add_class(classes, network, wire, MAX_CLASSES, checker);
    let mut graph = graph?;
    change_links(&network.links, &mut graph, checker);
    if !check_extent(&graph, wire, network.packet.ack.get(), checker) {
        return None;
    }
    needs.warn_of_circles(&graph, checker);
    // The following checks need valid packet sizes.
    let packet = packet?;
    if let Some(queue) = &network.host_queue {
        check_host_queue(queue, wire, checker);
    }
    let buffer = check_buffer(&network.buffer, wire, checker)?;
    let buffer_by_rate = check_buffer_by_rate(&network.buffer, buffer, (&graph, wire), checker)?;
    let all = buffer_by_rate.iter().map(|(_, buffer)| buffer).chain([&buffer]);
    let smallest = all.min_by_key(|buffer| capacity(buffer)).unwrap_or(&buffer);
    if classes.len() > MAX_CLASSES || !check_shares(network, smallest, wire, checker) {
        return None;
    }
    let pauses = check_pauses(network, &graph, &classes, &packet, wire, checker);
    let plan = Plan::new(&buffer, &buffer_by_rate, &classes, &packet);
    let (pause, response) = (u64::from(packet.pause), pauses.response);
    let room = Room { graph: &graph, wire, pause, response, buffer, plan };
    room.check_headroom(&classes, checker);
    room.check_credits(network, checker);
    room.check_markings(network, &classes, &inherits, checker);
    let host_fifo = network
        .host_queue
        .as_ref()
        .map(|q| HostFifo { capacity: q.capacity.get(), mark_above: q.mark_above.map(Bytes::get) });
    let release = match network.release {
        Release::Dequeue => fanin_fabric::Release::Dequeue,
        Release::LastBit => fanin_fabric::Release::LastBit,
    };
    if release == fanin_fabric::Release::Dequeue && marks_with_last_bits(&classes) {
        let problem = "packets leave the buffer before marking with at = \"last-bit\" looks at them";
        checker.fail("network.release", problem, "set it to \"last-bit\"");
    }
    let detection = network.failure_detection;
    let symmetric = needs.credit.symmetric_routes(network, checker);
    let balancing = check_balancing(network, symmetric, deflects, checker);
    let discipline = check_discipline(network, checker);
    let trimming = check_trimming(network, &buffer, wire, checker);
    Some(NetworkConfig {
        seed,
        graph,
        packet,
        classes,
        buffer,
        buffer_by_rate,
        release,
        detection,
        host_fifo,
        symmetric,
        balancing,
        discipline,
        pauses,
        trimming,
    })
}

/// Packets are cut where a class may lack buffer, to a size between their headers and a whole packet.
fn check_trimming(
    network: &Network,
    buffer: &BufferPolicy,
    wire: u64,
    checker: &mut Checker<'_>,
) -> Option<fanin_fabric::Trimming> {
    let trimming = network.trimming.as_ref()?;
    if matches!(buffer, BufferPolicy::Unlimited | BufferPolicy::Credits { .. }) {
        let problem = "with this network.buffer every packet has room, so none is ever trimmed";
        checker.fail("network.trimming", problem, "leave it out, or give the buffer a limit, as per_port = \"100 KB\"");
        return None;
    }
    let least = network.packet.header.get().max(1);
    if trimming.size.get() < least || trimming.size.get() >= wire {
        let right =
            format!("it is at least a packet's headers, {}, and less than a packet, {}", Bytes(least), Bytes(wire));
        checker.fail("network.trimming.size", format!("{} is not a possible size", trimming.size), right);
        return None;
    }
    // Control packets of every kind have to fit, also those to which schemes add telemetry.
    if trimming.headers.get() < wire {
        let problem = format!("{} is less than a packet, {}", trimming.headers, Bytes(wire));
        checker.fail("network.trimming.headers", problem, "leave it out for 256 KB");
        return None;
    }
    if let Some(weight) = trimming.weight {
        checker.bound::<Trimming>("network.trimming.weight", weight);
    }
    Some(fanin_fabric::Trimming {
        size: trimming.size.get() as u16,
        headers: trimming.headers.get(),
        either: trimming.cuts == Cuts::Either,
        weight: trimming.weight,
    })
}

fn check_packet(packet: &Packet, checker: &mut Checker<'_>) -> Option<PacketSizes> {
    // Of its DSCP, `check_dscps` says what is wrong.
    if !checker.bounds("network.packet", &Packet { cnp_dscp: None, ..packet.clone() }) {
        return None;
    }
    let size = |bytes: Bytes| bytes.get() as u16;
    let sizes = PacketSizes {
        payload: size(packet.payload),
        header: size(packet.header),
        ack: size(packet.ack),
        cnp: size(packet.cnp),
        pause: size(packet.pause),
    };
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

fn check_size(path: &str, bytes: Bytes, wire: u64, checker: &mut Checker<'_>) {
    if bytes.get() < wire || bytes.get() > MAX_BUFFER {
        let right = format!("it is at least one packet, {}, and at most {}", Bytes(wire), Bytes(MAX_BUFFER));
        checker.fail(path, format!("{bytes} is not a possible buffer size"), right);
    }
}

fn check_buffer(buffer: &Buffer, wire: u64, checker: &mut Checker<'_>) -> Option<BufferPolicy> {
    let before = checker.problems.len();
    let pfc = |headroom: Headroom, xon_offset: Option<Bytes>| Pfc {
        headroom: match headroom {
            Headroom::Computed(_) => None,
            Headroom::Bytes(bytes) => Some(bytes.get()),
        },
        xon_offset: xon_offset.map(Bytes::get),
    };
    let policy = match buffer {
        Buffer::PerPort(PerPort { per_port, headroom, xon_offset, .. }) => {
            check_size("network.buffer.per_port", *per_port, wire, checker);
            BufferPolicy::PerPort { bytes: per_port.get(), pfc: pfc(*headroom, *xon_offset) }
        }
        Buffer::Pool(pool) => {
            check_size("network.buffer.pool", pool.pool, wire, checker);
            checker.bounds("network.buffer", pool);
            let pfc = pfc(pool.headroom, pool.xon_offset);
            BufferPolicy::Pooled { bytes: pool.pool.get(), alpha: pool.alpha, pfc_alpha: pool.pfc_alpha, pfc }
        }
        Buffer::Credits(Credits { credits: CreditBuffer::Computed(_) }) => BufferPolicy::Credits { bytes: None },
        Buffer::Credits(Credits { credits: CreditBuffer::Bytes(bytes) }) => {
            // Whole blocks count, and a packet that never fits would wait for ever.
            check_size("network.buffer.credits", Bytes(bytes.get() / BLOCK * BLOCK), wire, checker);
            BufferPolicy::Credits { bytes: Some(bytes.get()) }
        }
        Buffer::Unlimited(_) => BufferPolicy::Unlimited,
    };
    (checker.problems.len() == before).then_some(policy)
}

/// The buffers of ports of certain rates, where the usual one is `buffer`.
fn check_buffer_by_rate(
    written: &Buffer,
    buffer: BufferPolicy,
    (graph, wire): (&Graph, u64),
    checker: &mut Checker<'_>,
) -> Option<Vec<(Rate, BufferPolicy)>> {
    let before = checker.problems.len();
    let mut listed = Vec::new();
    let mut add = |rate: Rate, checker: &mut Checker<'_>| {
        let path = format!("network.buffer.by_rate[{}]", listed.len());
        check_rate(graph, rate, &listed, &path, checker);
        listed.push(rate);
        path
    };
    let of_rates = match (written, buffer) {
        (Buffer::PerPort(PerPort { by_rate, .. }), BufferPolicy::PerPort { pfc, .. }) => {
            let of_rate = |&RoomOfRate { rate, per_port }: &RoomOfRate| {
                let path = add(rate, checker);
                check_size(&format!("{path}.per_port"), per_port, wire, checker);
                (rate, BufferPolicy::PerPort { bytes: per_port.get(), pfc })
            };
            by_rate.iter().map(of_rate).collect()
        }
        (Buffer::Pool(Pool { by_rate, .. }), BufferPolicy::Pooled { bytes, alpha, pfc_alpha, pfc }) => {
            let of_rate = |own: &ThresholdsOfRate| {
                let path = add(own.rate, checker);
                checker.bounds(&path, own);
                if own.alpha.is_none() && own.pfc_alpha.is_none() {
                    checker.fail(&path, "it changes nothing", "give alpha, pfc_alpha, or both");
                }
                let (alpha, pfc_alpha) = (own.alpha.unwrap_or(alpha), own.pfc_alpha.unwrap_or(pfc_alpha));
                (own.rate, BufferPolicy::Pooled { bytes, alpha, pfc_alpha, pfc })
            };
            by_rate.iter().map(of_rate).collect()
        }
        _ => Vec::new(),
    };
    (checker.problems.len() == before).then_some(of_rates)
}

fn capacity(buffer: &BufferPolicy) -> u64 {
    match *buffer {
        BufferPolicy::PerPort { bytes, .. } | BufferPolicy::Pooled { bytes, .. } => bytes,
        BufferPolicy::Credits { .. } | BufferPolicy::Unlimited => u64::MAX,
    }
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
