//! RCC beside all other senders of TCP in random fabrics with losses, outages and tiny receive buffers.

use crate::common::random::{Case, graphs, packets};
use crate::common::*;
use fanin_cc::schemes::rcc::{Follow, Params, Priority, SenderKind};
use fanin_cc::{Action, Settings};
use fanin_endpoint::tcp;
use fanin_fabric::topology::Graph;
use fanin_fabric::*;
use fanin_units::Time;
use proptest::collection::vec;
use proptest::prelude::*;

/// Any RCC: its three presets with any sender, priority, limit, and wording to follow.
fn any_rcc() -> impl Strategy<Value = Settings> {
    let senders =
        prop::sample::select(vec![SenderKind::Newreno, SenderKind::Cubic, SenderKind::Dctcp, SenderKind::Advertised]);
    let priorities = prop::sample::select(vec![Priority::Size, Priority::Remaining, Priority::None]);
    let follows = prop::sample::select(vec![Follow::Paper, Follow::Code]);
    let presets = prop::sample::select(vec!["rcc", "rcc", "rcc", "rcc-ecn", "rcc-ns3"]);
    let limits = prop_oneof![2 => 1u32..10, 1 => 10u32..60];
    let skips = prop_oneof![Just(0u32), 1u32..10];
    (presets, senders, priorities, follows, limits, skips, any::<bool>(), 1u64..20).prop_map(
        |(preset, sender, priority, follow, queue_maxsize, max_skips, ecn, rto)| {
            let Some(Settings::Rcc(id, params)) = Settings::preset(preset) else { panic!("{preset} is not RCC's") };
            let rto = Time::from_ms(rto);
            Settings::Rcc(id, Params { sender, priority, follow, queue_maxsize, max_skips, ecn, rto, ..params })
        },
    )
}

/// RCC, or another scheme over TCP.
fn any_scheme() -> impl Strategy<Value = Settings> {
    let others = vec!["newreno", "newreno-ecn", "dctcp", "cubic", "cubic-ecn", "ictcp"];
    let others = prop::sample::select(others).prop_map(|id| Settings::preset(id).expect("a listed preset"));
    prop_oneof![3 => any_rcc(), 2 => others]
}

fn any_traffic() -> impl Strategy<Value = TrafficConfig> {
    let flags = any::<[bool; 6]>();
    let times = (5_000u64..20_000, 1u64..8_000, prop_oneof![3 => Just(0u64), 1 => 1u64..50]);
    let buffer = prop_oneof![1 => 1u64..3_000, 2 => 3_000u64..60_000, 1 => Just(4_000_000u64)];
    (any_scheme(), flags, 1u32..4, times, buffer).prop_map(
        |(scheme, [sack, scaling, persistent, own_class, timestamps, request], ack_every, times, receive_buffer)| {
            let (rto, ack_delay, overhead) = times;
            let ecn = scheme.wants_ecn();
            let connection = tcp::Config {
                mss: 0,
                sack,
                ecn,
                window_scaling: scaling,
                receive_buffer,
                ack_every,
                ack_delay: us(ack_delay),
                initial_rto: us(2 * rto),
                min_rto: us(rto),
                timestamps,
                ..TCP
            };
            let restart = if request { Restart::Request } else { Restart::Pause };
            let tcp = TcpConfig { connection, persistent, restart, ack_class: own_class as u8 };
            TrafficConfig { scheme, ecn, tcp: Some(tcp), overhead: us(overhead), ..traffic("newreno") }
        },
    )
}

/// A message as it is drawn: start in ns, source, destination, bytes, traffic, and the bytes of its answer.
type Post = (u64, u32, u32, u64, u16, Option<u64>);

/// Messages between any hosts, more of them to host 0; some are answered on their connection.
fn any_messages() -> impl Strategy<Value = Vec<Post>> {
    let dst = prop_oneof![4 => Just(u32::MAX), 1 => any::<u32>()];
    let bytes = prop_oneof![1 => 1u64..10, 3 => 1u64..5_000, 4 => 1u64..100_000];
    let answer = prop::option::weighted(0.2, 1u64..30_000);
    vec((0u64..200_000, any::<u32>(), dst, bytes, any::<u16>(), answer), 1..50)
}

/// The same with numbers of hosts and traffics that exist.
fn messages(drawn: &[Post], hosts: u32, traffics: usize) -> Vec<Message> {
    let mut all: Vec<(Message, Option<u64>)> = (drawn.iter())
        .map(|&(at, src, dst, bytes, traffic, answer)| {
            let dst = if dst == u32::MAX { 0 } else { dst % hosts };
            let src = if src % hosts == dst { (dst + 1) % hosts } else { src % hosts };
            (Message { traffic: traffic % traffics as u16, ..message(ns(at), src, dst, bytes) }, answer)
        })
        .collect();
    all.sort_by_key(|(message, _)| message.start);
    let mut messages = Vec::new();
    for (gate, (asked, answer)) in (0u32..).zip(all) {
        let counts = answer.map(|_| gate);
        let back = answer.map(|bytes| Message {
            dependency: Dependency { after: Some(gate), answers: true, ..Dependency::default() },
            ..Message { traffic: asked.traffic, ..message(asked.start, asked.dst, asked.src, bytes) }
        });
        messages.push(Message { dependency: Dependency { counts, ..Dependency::default() }, ..asked });
        messages.extend(back);
    }
    messages
}

/// Links that lose packets, and links that are down for a while, once or twice.
fn damage(graph: &mut Graph, errors: &[f64], outages: &[(u32, [u64; 4])]) {
    for (link, rate) in graph.links.iter_mut().zip(errors.iter().cycle()) {
        link.error_rate = *rate;
    }
    let links = graph.links.len();
    for (link, [from, long, then, again]) in outages {
        let up = ns(from + long);
        graph.links[*link as usize % links].outages =
            vec![(ns(*from), up), (up + ns(*then), up + ns(*then) + ns(*again))];
    }
}

/// A network in which TCP of all kinds meets, and in which all messages can end.
fn fabrics() -> impl Strategy<Value = Case> {
    let marking =
        prop_oneof![Just(Marking::Off), (0u64..30_000).prop_map(|above| Marking::Step { above, at: MarkAt::Enqueue }),];
    let buffer = prop_oneof![
        1 => Just(BufferPolicy::Unlimited),
        3 => (5_000u64..50_000).prop_map(|bytes| lossless(bytes, None)),
    ];
    let errors = prop_oneof![1 => Just(vec![0.0]), 2 => vec(prop_oneof![2 => Just(0.0), 1 => 0.0..0.02f64], 8)];
    let spans = [0u64..300_000, 1..400_000, 1..50_000, 1..20_000_000];
    let outages = vec((any::<u32>(), spans), 0..4);
    let drawn = (any::<u64>(), graphs(), packets(), marking, buffer, errors, outages, any::<bool>());
    (drawn, vec(any_traffic(), 1..5), any_messages()).prop_map(|(drawn, mut traffics, posts)| {
        let (seed, mut graph, packet, marking, buffer, errors, outages, late) = drawn;
        damage(&mut graph, &errors, &outages);
        let mut messages = messages(&posts, graph.hosts, traffics.len());
        // A window of one segment takes a round trip for each, and a timeout for each that is lost.
        messages.iter_mut().for_each(|m| m.bytes = m.bytes.min(200 * packet.payload as u64));
        let largest = messages.iter().map(|m| m.bytes).max().unwrap_or(1);
        for traffic in &mut traffics {
            let tcp = &mut traffic.tcp.as_mut().expect("all are over TCP").connection;
            tcp.mss = packet.payload as u32;
            // Fewer windows than this keep a case short.
            tcp.receive_buffer = tcp.receive_buffer.max(largest / 100);
        }
        let detection = if late { us(100) } else { Time::ZERO };
        let classes = vec![class(false, marking)];
        Case {
            config: NetworkConfig { classes, buffer, packet, detection, seed, ..network(graph) },
            traffics,
            messages,
        }
    })
}

/// What the receiver of a traffic has at a host: windows in flight in segments, and ACKs that wait.
pub fn held(sim: &Simulation, traffic: u16, host: u32) -> (f64, f64) {
    let seen = sim.watch_host(traffic, host);
    let get = |name| seen.iter().find(|(of, _)| *of == name).map(|(_, value)| *value).expect("RCC shows it");
    (get("flight_wins"), get("acks_waiting"))
}

/// What Algorithm 2 allows in flight to a host at most, in segments: its limit and the window of the ACK that left
/// last, which no W_i exceeds. Where packets were lost or came too late, the one segment of each flow that its receiver
/// asked for in vain counts as lost until data arrives; and the end that sent a SYN advertises a segment before it
/// joins.
fn allowed(sim: &Simulation, case: &Case, traffic: u16, params: &Params, host: u32) -> u64 {
    let to_host = case.messages.iter().filter(|m| m.dst == host && m.traffic == traffic);
    let undisturbed =
        sim.totals().drops.total() == 0 && sim.traffic_counters()[traffic as usize].actions.get(Action::Timeout) == 0;
    let more = to_host.filter(|m| m.dependency.answers || !undisturbed).count();
    2 * params.queue_maxsize as u64 + more as u64
}

/// Runs a case, looks at every RCC receiver every few events, and at what is left in the end.
fn check(case: &Case) {
    let mut sim = case.build();
    let hosts = case.config.graph.hosts;
    let rcc: Vec<(u16, &Params)> = (0..)
        .zip(&case.traffics)
        .filter_map(|(n, traffic)| match &traffic.scheme {
            Settings::Rcc(_, params) => Some((n, params)),
            _ => None,
        })
        .collect();
    let receivers = || rcc.iter().flat_map(|(traffic, params)| (0..hosts).map(move |host| (*traffic, *params, host)));
    for _ in 0..300 {
        sim.run_until(Time::from_s(100), 40);
        for (traffic, params, host) in receivers().filter(|(_, params, _)| params.scheduler) {
            let (in_flight, _) = held(&sim, traffic, host);
            let most = allowed(&sim, case, traffic, params, host);
            assert!(in_flight <= most as f64, "{in_flight} of {most} in flight to host {host} at {}", sim.now());
        }
    }
    finish(&mut sim);
    check_all_arrived(&sim);
    let open = |traffic: u16| case.traffics[traffic as usize].tcp.as_ref().is_some_and(|tcp| tcp.persistent);
    for (traffic, _, host) in receivers() {
        let (in_flight, waiting) = held(&sim, traffic, host);
        assert_eq!(waiting, 0.0, "ACKs held for ever at host {host}");
        assert!(open(traffic) || in_flight == 0.0, "{in_flight} in flight to host {host} of what is closed");
    }
    let closes = (0..case.traffics.len() as u16).all(|traffic| !open(traffic));
    assert!(!closes || sim.open_connections() == 0, "{} connections are still open", sim.open_connections());
}

proptest! {
    #![proptest_config(cases(1))]

    #[test]
    fn every_byte_arrives_once_and_no_ack_is_held_for_ever(case in fabrics()) {
        check(&case);
    }
}
