//! Random small fabrics with traffic, for property tests.

use super::*;
use fanin_cc::aqm::{pi, red};
use fanin_cc::paths::{PathsKind, Spraying};
use fanin_fabric::topology::{Dumbbell, FatTree, LeafSpine};
use proptest::collection::vec;
use proptest::prelude::*;

/// A simulation before it runs.
#[derive(Clone, Debug)]
pub struct Case {
    pub config: NetworkConfig,
    pub traffics: Vec<TrafficConfig>,
    pub messages: Vec<Message>,
}

impl Case {
    pub fn build(&self) -> Simulation {
        simulation(self.config.clone(), self.traffics.clone(), self.messages.clone())
    }
}

fn rate() -> impl Strategy<Value = Rate> {
    prop::sample::select(vec![1_000_000_000, 10_000_000_000, 25_000_000_000, 100_000_000_000, 3_333_333_333])
        .prop_map(Rate::from_bps)
}

fn any_cable() -> impl Strategy<Value = Cable> {
    (rate(), 1u64..6_000_000).prop_map(|(rate, ps)| Cable::new(rate, Time::from_ps(ps)))
}

/// Every kind of topology, small, and hosts with two NICs at two switches.
pub fn graphs() -> impl Strategy<Value = Graph> {
    let two = || (any_cable(), any_cable());
    prop_oneof![
        (2u32..7, any_cable()).prop_map(|(hosts, host_link)| Star { hosts, host_link }.build().unwrap()),
        (1u32..4, 1u32..4, two()).prop_map(|(left, right, (host_link, bottleneck))| {
            Dumbbell { left, right, host_link, bottleneck }.build().unwrap()
        }),
        (2u32..5, 1u32..3, two()).prop_map(|(switches, hosts, (host_link, chain_link))| {
            ParkingLot { switches, hosts, host_link, chain_link }.build().unwrap()
        }),
        (2u32..4, 1u32..4, 1u32..4, two()).prop_map(|(leaves, hosts, spines, (host_link, fabric_link))| {
            LeafSpine { leaves, hosts, spines, host_link, fabric_link }.build().unwrap()
        }),
        (1u32..3, any_cable()).prop_map(|(half, link)| FatTree { k: 2 * half, link }.build().unwrap()),
        (2u32..5, two()).prop_map(|(hosts, (a, b))| {
            let links: Vec<_> =
                (0..hosts).flat_map(|h| [(h, hosts, a.rate, a.delay), (h, hosts + 1, b.rate, b.delay)]).collect();
            super::graph(hosts, 2, &links)
        }),
    ]
}

pub fn packets() -> impl Strategy<Value = PacketSizes> {
    let payload = prop::sample::select(vec![64, 999, 1000, 1460, 4096]);
    let header = prop::sample::select(vec![18, 40, 78]);
    (payload, header, 18u16..83, 18u16..100).prop_map(|(payload, header, ack, pause)| PacketSizes {
        payload,
        header,
        ack,
        cnp: ack,
        pause,
    })
}

fn marking() -> impl Strategy<Value = Marking> {
    let at = || prop::sample::select(vec![MarkAt::Enqueue, MarkAt::Dequeue]);
    prop_oneof![
        Just(Marking::Off),
        (0u64..20_000, at()).prop_map(|(above, at)| Marking::Step { above, at }),
        (0u64..5_000, 1u64..20_000, 0.0..1.0f64, at()).prop_map(|(min, more, max_probability, at)| Marking::Red {
            min,
            max: min + more,
            max_probability,
            at
        }),
        (0u64..5_000, 1u64..20_000, 0.01..1.0f64, 1i32..10, any::<bool>(), any::<bool>()).prop_map(
            |(min, more, max_probability, shift, gentle, wait)| Marking::RedAverage(red::Config {
                max: min + more,
                max_probability,
                weight: 0.5f64.powi(shift),
                gentle,
                wait,
                ..red::Config::new(min, 1000)
            })
        ),
        (0.0..0.2f64, 0.0..1.0f64, 0u64..10_000, 1u64..20_000).prop_map(|(a, part, target, every)| Marking::Pi(
            pi::Config { a, b: a * part, target, every: ns(every), mean_packet: 1000 }
        )),
    ]
}

/// Classes of which some have parts of the buffer of their own, and their own thresholds.
fn any_classes() -> impl Strategy<Value = Vec<ClassConfig>> {
    let own = (prop::option::weighted(0.4, 0.05..0.33f64), prop::option::weighted(0.3, 0.1..4.0f64));
    vec((any::<bool>(), marking(), own), 1..4).prop_map(|classes| {
        let class = |(lossless, marking, (share, alpha))| ClassConfig { share, alpha, ..class(lossless, marking) };
        classes.into_iter().map(class).collect()
    })
}

/// The classes, in half of all cases with priorities and weights.
fn with_precedence(mut classes: Vec<ClassConfig>, seed: u64) -> Vec<ClassConfig> {
    for (number, class) in (0..).zip(&mut classes).filter(|_| seed & 2 != 0) {
        let word = fanin_engine::mix(seed, number);
        class.priority = [None, None, Some(1), Some(2)][(word % 4) as usize];
        class.weight = [None, Some(1), Some(3), Some(20)][(word / 4 % 4) as usize];
    }
    classes
}

fn buffers() -> impl Strategy<Value = BufferPolicy> {
    let pfc = Pfc { headroom: None, xon_offset: None };
    prop_oneof![
        Just(BufferPolicy::Unlimited),
        (5_000u64..300_000).prop_map(move |bytes| BufferPolicy::PerPort { bytes, pfc }),
        (0u64..3_000_000, 0.1..4.0f64, 0.05..2.0f64).prop_map(move |(bytes, alpha, pfc_alpha)| BufferPolicy::Pooled {
            bytes,
            alpha,
            pfc_alpha,
            pfc
        }),
    ]
}

/// A buffer big enough for all headroom and ten packets of any one queue beyond it, in each part of it.
fn with_room(
    buffer: BufferPolicy,
    (graph, response): (&Graph, Time),
    packet: &PacketSizes,
    classes: &[ClassConfig],
) -> BufferPolicy {
    let wire = packet.payload as u64 + packet.header as u64;
    let lossless = classes.iter().filter(|c| c.lossless).count() as u64;
    let taken: f64 = classes.iter().filter_map(|c| c.share).sum();
    let smallest = classes.iter().filter_map(|c| c.share).fold(1.0 - taken, f64::min);
    match buffer {
        BufferPolicy::Pooled { bytes, alpha, pfc_alpha, pfc } => {
            let ends =
                graph.links.iter().map(|l| 2 * pfc::headroom(l.rate, (l.delay, response), wire, packet.pause as u64));
            let flattest = classes.iter().filter_map(|c| c.alpha).fold(alpha, f64::min);
            let needed = (lossless * ends.sum::<u64>()) as f64 + 11.0 * wire as f64 * (1.0 + 1.0 / flattest);
            BufferPolicy::Pooled { bytes: bytes + (needed / smallest) as u64, alpha, pfc_alpha, pfc }
        }
        // Ports without shares may well be too small, which go-back-N gets over.
        BufferPolicy::PerPort { bytes, pfc } if taken > 0.0 => {
            let most =
                graph.links.iter().map(|l| pfc::headroom(l.rate, (l.delay, response), wire, packet.pause as u64)).max();
            let needed = lossless * (most.unwrap_or(0) + 1) + 2 * wire;
            BufferPolicy::PerPort { bytes: bytes + (needed as f64 / smallest) as u64, pfc }
        }
        other => other,
    }
}

/// In every second network, more room at ports of some of its rates: up to four times as much.
fn room_by_rate(seed: u64, graph: &Graph, buffer: BufferPolicy) -> Vec<(Rate, BufferPolicy)> {
    let mut rates: Vec<Rate> = graph.links.iter().map(|link| link.rate).collect();
    rates.sort_unstable();
    rates.dedup();
    let of_rate = |(at, rate): (usize, Rate)| {
        let times = 1 + (seed >> (16 + 4 * at)) % 4;
        let more = match buffer {
            BufferPolicy::PerPort { bytes, pfc } => BufferPolicy::PerPort { bytes: bytes * times, pfc },
            BufferPolicy::Pooled { bytes, alpha, pfc_alpha, pfc } => {
                let times = times as f64;
                BufferPolicy::Pooled { bytes, alpha: alpha * times, pfc_alpha: pfc_alpha * times, pfc }
            }
            other => other,
        };
        (times > 1).then_some((rate, more))
    };
    if seed & 4 == 0 { rates.into_iter().take(8).enumerate().filter_map(of_rate).collect() } else { Vec::new() }
}

/// Any way to repair losses. Timers of go-back-0 and messages are such that a message gets through.
pub fn any_recovery() -> impl Strategy<Value = Recovery> {
    prop_oneof![3 => Just(Recovery::GoBackN), 1 => Just(Recovery::GoBack0), 3 => any_selective()]
}

/// Any selective retransmission.
pub fn any_selective() -> impl Strategy<Value = Recovery> {
    let cap = prop_oneof![Just(Cap::Off), Just(Cap::Bdp), (1u32..20).prop_map(Cap::Packets)];
    let nacks = prop_oneof![3 => 1u32..4, 1 => Just(Rules::UNORDERED)];
    let rules = (cap, 20u64..400, 0u32..6, nacks, any::<bool>());
    rules.prop_map(|(cap, high, low_up_to, nacks, tell_scheme)| {
        let cap = if nacks == Rules::UNORDERED { Cap::Off } else { cap };
        Recovery::Selective(Rules { cap, timeout_high: us(high), low_up_to, nacks, tell_scheme })
    })
}

/// A sender that may have fewer packets in flight than an ACK is for would wait for its timer every time.
pub fn let_the_cap_fill_chunks(endpoint: &mut EndpointConfig) {
    if let Recovery::Selective(Rules { cap: Cap::Bdp | Cap::Packets(_), .. }) = endpoint.recovery {
        endpoint.ack_chunk = 0;
    }
}

/// Which schemes traffic may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schemes {
    All,
    /// Those that deflect nothing. What deflects reorders where messages share a connection, and a whole message that
    /// is sent again over a small lossy buffer may lose the same packets each time; `dart_random.rs` has fabrics for
    /// it.
    WithoutDeflection,
}

// Timers are longer than any queue here: with shorter ones go-back-N without control sends the same bytes again while
// they still wait, and may never get through, which is its nature and not the fabric's.
fn any_traffic(schemes: Schemes) -> impl Strategy<Value = TrafficConfig> {
    let presets: Vec<&str> = fanin_cc::rows().iter().flat_map(|r| r.presets.iter().copied()).collect();
    let pinned = |id: &&str| fanin_cc::Settings::preset(id).expect("a listed preset").send_options(1, 0, false).pinned;
    let presets: Vec<&str> = presets.into_iter().filter(|id| schemes == Schemes::All || !pinned(id)).collect();
    (
        prop::sample::select(presets),
        1u8..8,
        any::<bool>(),
        20_000u64..60_000,
        10_000u64..40_000,
        0u32..10_000,
        (any::<(bool, bool)>(), any_cpu_time()),
        prop_oneof![Just(Recovery::GoBackN), any_selective()],
        prop::option::of(any_tcp()),
    )
        // A spec refuses schemes that need RDMA over TCP.
        .prop_map(|(scheme, class, ecn, timeout, nack, ack_chunk, connection, recovery, tcp)| {
            let settings = fanin_cc::Settings::preset(scheme).expect("a listed preset");
            let tcp = tcp.filter(|_| settings.rdma_only().is_none());
            (scheme, class, ecn, timeout, nack, ack_chunk, connection, recovery, tcp)
        })
        .prop_map(
            |(scheme, class, ecn, timeout, nack, ack_chunk, ((connection, anew), cpu_time), recovery, tcp)| {
                TrafficConfig {
                    class,
                    ecn,
                    endpoint: EndpointConfig {
                        timeout: us(timeout),
                        nack_interval: us(nack),
                        ack_chunk,
                        connection,
                        anew,
                        pacing_credit: if timeout % 2 == 0 { 0 } else { 3000 },
                        recovery,
                        cpu_time,
                        retries: u32::MAX,
                    },
                    spraying: spraying(timeout, scheme),
                    tcp: tcp.map(|(tcp, _)| TcpConfig { connection: tcp::Config { ecn, ..tcp.connection }, ..tcp }),
                    overhead: tcp.map_or(Time::ZERO, |(_, overhead)| overhead),
                    ..traffic(scheme)
                }
            },
        )
}

/// Senders that choose paths, for one traffic in four, where its scheme has them.
fn spraying(draw: u64, scheme: &str) -> Option<Spraying> {
    let settings = fanin_cc::Settings::preset(scheme).expect("a listed preset");
    let fits = settings.needs_switches().is_none() && settings.deflection().is_none();
    let kinds: Vec<_> = PathsKind::NAMES.iter().filter_map(|(id, _)| PathsKind::named(id)).collect();
    let kind = kinds[(draw / 4) as usize % kinds.len()];
    (fits && draw % 4 == 1).then_some(Spraying::by(kind, 1 << (draw / 32 % 8)))
}

/// CPU times of receiving hosts, which most have not.
fn any_cpu_time() -> impl Strategy<Value = CpuTime> {
    prop_oneof![
        3 => Just(CpuTime::Zero),
        1 => (1u64..10_000).prop_map(|time| CpuTime::Constant(ns(time))),
        1 => (0u64..5_000, 0u64..5_000).prop_map(|(from, more)| CpuTime::Uniform(ns(from), ns(from + more))),
        1 => (1u64..2_000, 0u64..9_000)
            .prop_map(|(median, more)| CpuTime::LogNormal { median: ns(median), p999: ns(median + more) }),
    ]
}

/// The largest ACK chunk that no window of the scheme is too small for. A receiver that waits for more than may be in
/// flight answers nothing until the timer has sent it all again, every round anew: a message of 900 packets then takes
/// a minute and tests nothing but patience. TCP's windows are two packets at least but for the first one after a timer
/// (RFC 5681 section 3.1), and so are those of a bandwidth-delay product, as any path has two links of a packet's time
/// each; one that is scaled down with a rate comes back with it, by DCQCN's own timers. HPCC's may be below one packet
/// for long, and its manual asks for an ACK of each; NSCC's and Swift's may be at one packet or less for long, too.
/// Without a window any chunk fills.
fn most_ack_chunk(scheme: &Settings, payload: u32) -> u32 {
    let rate = Rate::from_gbps(10);
    let path = fanin_cc::PathInfo::new(rate, us(10), payload, payload + 40);
    let windowed = scheme.build().open(0, &path, Time::ZERO).control.window < u64::MAX;
    let small = matches!(scheme, Settings::Nscc(..) | Settings::NsccRccc(..) | Settings::Swift(..));
    match (windowed, scheme.header_overhead().telemetry || small) {
        (false, _) => u32::MAX,
        (true, true) => payload,
        (true, false) => 2 * payload,
    }
}

/// TCP and the overhead of its host. Its payload is that of the network's packets, its ACKs may be in its own class.
fn any_tcp() -> impl Strategy<Value = (TcpConfig, Time)> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (flags, 1u32..4, 1u64..8_000, 10_000u64..30_000, 5_000u64..200_000, prop_oneof![Just(0u64), 1u64..50]).prop_map(
        |((sack, window_scaling, persistent, own_class), ack_every, delay, rto, receive_buffer, overhead)| {
            let connection = tcp::Config {
                mss: 0,
                sack,
                window_scaling,
                receive_buffer,
                ack_every,
                ack_delay: us(delay),
                initial_rto: us(2 * rto),
                min_rto: us(rto),
                // Half of them; a burst has 2 to 20 segments or more.
                offload: if delay % 2 == 0 { 30_000 } else { 0 },
                ..TCP
            };
            (TcpConfig { connection, persistent, restart: Restart::Pause, ack_class: own_class as u8 }, us(overhead))
        },
    )
}

fn any_message() -> impl Strategy<Value = Message> {
    let bytes = prop_oneof![4 => 1u64..5_000, 4 => 1u64..60_000];
    (0u64..60_000, any::<u32>(), any::<u32>(), bytes, any::<u16>()).prop_map(|(at, src, dst, bytes, traffic)| Message {
        start: ns(at),
        src,
        dst,
        bytes,
        traffic,
        group: u32::MAX,
        ..Message::default()
    })
}

/// Whether packets that find no room are cut, in every third network: to their headers or more, with room for few of
/// them or many.
fn trimming(seed: u64, packet: &PacketSizes, classes: &[ClassConfig]) -> Option<Trimming> {
    if classes.iter().any(|class| class.lossless) {
        // Control packets are not limited there: frames of flow control are never lost.
        return None;
    }
    let size = packet.header.max(1) + (seed >> 8) as u16 % packet.payload.max(1);
    let whole = u64::from(packet.payload) + u64::from(packet.header) + 100;
    let headers = whole * [1, 4, 100][(seed >> 24) as usize % 3];
    let (either, weight) = (seed & 1 << 32 != 0, [None, Some(1), Some(10)][(seed >> 40) as usize % 3]);
    seed.is_multiple_of(3).then_some(Trimming { size, headers, either, weight })
}

/// A network without errors and outages, under traffic whose messages all end.
pub fn calm(schemes: Schemes) -> impl Strategy<Value = Case> {
    let network = (
        any::<u64>(),
        graphs(),
        packets(),
        any_classes(),
        buffers(),
        prop::sample::select(vec![Release::Dequeue, Release::LastBit]),
        prop::option::weighted(0.3, (0u64..64_000, prop::option::of(0u64..22_500))),
    );
    let traffics = vec(any_traffic(schemes), 1..4);
    (network, traffics, vec(any_message(), 1..25)).prop_map(|(network, mut traffics, mut messages)| {
        let (seed, graph, packet, classes, buffer, release, fifo) = network;
        let hosts = graph.hosts;
        for traffic in &mut traffics {
            traffic.class = 1 + traffic.class % classes.len() as u8;
            let rdma = &mut traffic.endpoint;
            rdma.ack_chunk = rdma.ack_chunk.min(most_ack_chunk(&traffic.scheme, packet.payload as u32));
            let_the_cap_fill_chunks(rdma);
            if let Some(tcp) = &mut traffic.tcp {
                tcp.connection.mss = packet.payload as u32;
                tcp.ack_class = if tcp.ack_class == 0 { 0 } else { traffic.class };
            }
        }
        for message in &mut messages {
            message.traffic %= traffics.len() as u16;
            message.src %= hosts;
            message.dst = (message.src + 1 + message.dst % (hosts - 1)) % hosts;
        }
        messages.sort_by_key(|m| m.start);
        let classes = with_precedence(classes, seed);
        let buffer = with_room(buffer, (&graph, Time::ZERO), &packet, &classes);
        let host_fifo = fifo.map(|(capacity, mark_above)| HostFifo { capacity, mark_above });
        let detection = Time::ZERO;
        let symmetric = seed % 2 == 1;
        // NDP 3.1.1: where headers always go first, those of senders that never slow down let no data pass.
        let trimming = trimming(seed, &packet, &classes).map(|t| Trimming { weight: t.weight.or(Some(10)), ..t });
        let config = NetworkConfig {
            seed,
            buffer_by_rate: room_by_rate(seed, &graph, buffer),
            graph,
            packet,
            classes,
            buffer,
            release,
            detection,
            host_fifo,
            symmetric,
            balancing: Balancing::FlowHash,
            discipline: None,
            trimming,
            pauses: Default::default(),
        };
        let mut traffics = traffics;
        let config = with_credits(config, &mut traffics);
        Case { config, traffics, messages }
    })
}

/// The same with links that lose packets.
pub fn lossy(schemes: Schemes) -> impl Strategy<Value = Case> {
    let errors = prop::option::of(vec(prop_oneof![2 => Just(0.0), 1 => 0.0..0.01f64], 8));
    (calm(schemes), errors).prop_map(|(mut case, rates)| {
        if let Some(rates) = rates {
            let links = case.config.graph.links.iter_mut();
            links.zip(rates.iter().cycle()).for_each(|(link, rate)| link.error_rate = *rate);
        }
        case
    })
}

/// The same with links that go down, some for ever, and flows that never end.
pub fn stormy(schemes: Schemes) -> impl Strategy<Value = Case> {
    let outage = (any::<u32>(), 0u64..150_000, 1u64..50_000, 1u64..50_000, prop::option::weighted(0.8, 1u64..50_000));
    (lossy(schemes), vec(outage, 0..4), prop::option::weighted(0.3, any::<usize>())).prop_map(
        |(mut case, outages, endless)| {
            let links = case.config.graph.links.len();
            for (link, from, long, then, again) in outages {
                let link = &mut case.config.graph.links[link as usize % links];
                let second = ns(from + long + then);
                link.outages =
                    vec![(ns(from), ns(from + long)), (second, again.map_or(Time::NEVER, |n| second + ns(n)))];
            }
            if let Some(which) = endless {
                let which = which % case.messages.len();
                case.messages[which].bytes = Message::ENDLESS;
            }
            case
        },
    )
}

/// Fan-in over lossless classes only, with buffers as small as the headroom allows.
pub fn congested() -> impl Strategy<Value = Case> {
    let schemes = vec(prop::sample::select(vec!["none", "none", "fixed-window", "dcqcn"]), 1..4);
    let messages = vec((0u64..5_000, any::<u32>(), 0u32..2, 1u64..80_000), 5..40);
    let network = (any::<u64>(), graphs(), packets(), prop::sample::select(vec![Release::Dequeue, Release::LastBit]));
    let buffer = (any::<bool>(), 0u64..20_000, 0.05..2.0f64, prop::option::of(0u64..10_000));
    let response = prop_oneof![Just(0u64), 1u64..10_000];
    (network, schemes, messages, buffer, response).prop_map(|(network, schemes, messages, buffer, response)| {
        let response = ns(response);
        let ((seed, graph, packet, release), (pooled, extra, pfc_alpha, xon_offset)) = (network, buffer);
        let hosts = graph.hosts;
        let classes: Vec<ClassConfig> = schemes.iter().map(|_| class(true, Marking::Off)).collect();
        let classes = with_precedence(classes, seed);
        let pfc = Pfc { headroom: None, xon_offset };
        let buffer = if pooled {
            let pool = BufferPolicy::Pooled { bytes: extra, alpha: 1.0, pfc_alpha, pfc };
            with_room(pool, (&graph, response), &packet, &classes)
        } else {
            let wire = packet.payload as u64 + packet.header as u64;
            let most =
                graph.links.iter().map(|l| pfc::headroom(l.rate, (l.delay, response), wire, packet.pause as u64)).max();
            BufferPolicy::PerPort { bytes: classes.len() as u64 * (most.unwrap_or(0) + 1 + extra), pfc }
        };
        let traffics: Vec<TrafficConfig> = (1u8..)
            .zip(&schemes)
            .map(|(class, scheme)| {
                let mut traffic = TrafficConfig { class, ..traffic(scheme) };
                // Pauses may hold a packet back for long; a timeout would send it again for nothing.
                traffic.endpoint.timeout = Time::from_ms(500);
                traffic
            })
            .collect();
        let messages = (messages.into_iter().enumerate())
            .map(|(i, (at, src, dst, bytes))| {
                let (src, dst) = (src % hosts, dst % hosts);
                let src = if src == dst { (src + 1) % hosts } else { src };
                Message { traffic: (i % traffics.len()) as u16, ..message(ns(at), src, dst, bytes) }
            })
            .collect();
        let detection = Time::ZERO;
        let symmetric = seed % 2 == 1;
        let trimming = trimming(seed, &packet, &classes);
        let config = NetworkConfig {
            seed,
            buffer_by_rate: Vec::new(),
            graph,
            packet,
            classes,
            buffer,
            release,
            detection,
            host_fifo: None,
            symmetric,
            balancing: Balancing::FlowHash,
            discipline: None,
            trimming,
            pauses: pauses::PauseOptions { response, ..Default::default() },
        };
        let mut traffics = traffics;
        let config = with_credits(config, &mut traffics);
        Case { config, traffics, messages }
    })
}

/// The same by credits, with buffers of one packet and more.
pub fn credited() -> impl Strategy<Value = Case> {
    (congested(), prop::option::of(0u64..40_000)).prop_map(|(mut case, extra)| {
        let largest = case.config.packet.payload as u64 + case.config.packet.header as u64;
        case.config.buffer = BufferPolicy::Credits { bytes: extra.map(|extra| largest.next_multiple_of(64) + extra) };
        case
    })
}

/// Stops: so many nanoseconds, but so many events at most.
pub fn steps() -> impl Strategy<Value = Vec<(u64, u64)>> {
    vec((0u64..20_000, 1u64..400), 1..40)
}

/// A synchronised incast from half a fat tree with all that can act at one instant.
pub fn incast(seed: u64) -> Case {
    let graph = FatTree { k: 4, link: cable(gbps(10), us(1)) }.build().unwrap();
    let mut config = network(graph);
    config.seed = seed;
    config.classes = vec![class(true, Marking::Step { above: 22_500, at: MarkAt::Dequeue })];
    config.buffer = lossless(100_000, None);
    let messages = (0..16).filter(|h| *h != 5).map(|h| message(Time::ZERO, h, 5, 40 * PAYLOAD)).collect();
    Case { config, traffics: vec![traffic("dcqcn")], messages }
}
