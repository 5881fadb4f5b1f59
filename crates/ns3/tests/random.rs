//! Any small network with any flows runs to an end: nothing is lost but by a cause that is counted, nothing is counted
//! twice, and the same comes out again however the run is cut into steps.

mod common;

use common::*;
use fanin_formats::hpcc::{Config, Delay, Flow, Link, Topology, check};
use fanin_ns3::results::Drop;
use fanin_ns3::time::transmission;
use fanin_ns3::{Network, law};
use proptest::collection::vec;
use proptest::prelude::*;

/// Bytes before the payload of every data packet, whatever the scheme adds: PPP, IP, UDP and its own sequence number.
const HEADERS: u32 = 48;

fn cases() -> ProptestConfig {
    let cases = std::env::var("FANIN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64);
    ProptestConfig { cases, ..ProptestConfig::default() }
}

/// Two tiers: hosts at leaves, leaves at spines; hosts may hang on two leaves.
fn topology() -> impl Strategy<Value = Topology> {
    let rate = || prop::sample::select(vec![25 * G, 50 * G, 100 * G, 200 * G, 400 * G]);
    let delay = || prop::sample::select(vec![1u64, 500, 1000, 1000, 5000]);
    (1u32..4, 1u32..3, 1u32..4, any::<bool>(), rate(), rate(), delay(), delay()).prop_map(
        |(leaves, spines, each, two, host_rate, up_rate, host_delay, up_delay)| {
            let hosts = leaves * each + 1;
            let (leaf, spine) = (|i: u32| hosts + i % leaves, |i: u32| hosts + leaves + i);
            let link = |a, b, rate, delay| Link { a, b, rate, delay: Delay::from_ns(delay), error_rate: 0.0 };
            let mut links: Vec<Link> = (0..hosts).map(|h| link(h, leaf(h), host_rate, host_delay)).collect();
            if two && leaves > 1 {
                links.push(link(0, leaf(1), host_rate, host_delay));
            }
            links.extend(
                (0..leaves)
                    .flat_map(|l| (0..spines).map(move |s| (l, s)))
                    .map(|(l, s)| link(leaf(l), spine(s), up_rate, up_delay)),
            );
            Topology { is_switch: (0..hosts + leaves + spines).map(|n| n >= hosts).collect(), links }
        },
    )
}

fn flows(hosts: u32) -> impl Strategy<Value = Vec<Flow>> {
    let flow = (0..hosts, 1..hosts, 1u32..200_000, 0u32..40_000, prop::sample::select(vec![100u16, 200]), 1u8..8);
    vec(flow, 1..12).prop_map(move |flows| {
        let mut flows: Vec<Flow> = flows
            .into_iter()
            .map(|(src, other, bytes, ns, dport, pg)| {
                let start = 2.0 + (ns / 100 * 100) as f64 * 1e-9;
                Flow {
                    src,
                    dst: (src + other) % hosts,
                    pg: if pg > 4 { 3 } else { pg },
                    dport,
                    bytes: u64::from(bytes),
                    start,
                }
            })
            .collect();
        flows.sort_by(|a, b| a.start.total_cmp(&b.start));
        flows
    })
}

#[derive(Clone, Debug)]
struct Case {
    config: Config,
    topology: Topology,
    flows: Vec<Flow>,
}

fn any_case() -> impl Strategy<Value = Case> {
    let scheme = prop::sample::select(vec!["hp", "dcqcn", "dcqcn_vwin", "timely", "dctcp"]);
    let network = topology().prop_flat_map(|topology| {
        let hosts = topology.is_switch.iter().filter(|s| !**s).count() as u32;
        (Just(topology), flows(hosts))
    });
    let knobs = (1u32..=2, 64u32..1500, prop::sample::select(vec![0.0, 0.0, 0.0, 0.01]), any::<[bool; 7]>(), 0u32..40);
    (scheme, network, knobs).prop_map(|(scheme, (topology, flows), (mib, payload, error, bits, us))| {
        let [high, global, multi, fast, backto0, down, sample] = bits;
        let mut config = Config { payload, ack_high_prio: high, global_t: global, ..micro(scheme) };
        config.buffer_mib = mib;
        (config.multi_rate, config.fast_react, config.sample_feedback) = (multi, fast, sample);
        config.error_rate_per_link = error;
        // That way of going back leaves flows unfinished whose size is no multiple of the chunk.
        config.l2_back_to_zero = backto0 && error > 0.0;
        if down && let Some(link) = topology.links.last() {
            config.link_down = Some((us as u64, link.a, link.b));
        }
        for rate in [25, 50, 100, 200, 400] {
            let kb = rate as u32;
            config.kmin.push((rate * G, kb / 5));
            config.kmax.push((rate * G, kb));
            config.pmax.push((rate * G, 0.5));
        }
        (config.qlen_start, config.qlen_end) = (2_000_000_000, 2_000_200_000);
        Case { config, topology, flows }
    })
}

fn run(case: &Case, step: u64) -> Network {
    let settings = law::settings(&case.config).unwrap();
    let mut network = Network::new(case.config.clone(), &case.topology, case.flows.clone(), &[], &settings);
    let mut until = 2_000_000_000;
    while !network.is_over() {
        until = (until + step).max(network.next_at().unwrap_or(0) + 1);
        network.run_until(until);
    }
    network.run_until(u64::MAX);
    network
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn networks_run_to_an_end(case in any_case()) {
        // What the simulator itself could not run, readers refuse.
        prop_assume!(check("config", &case.config, &case.topology, &case.flows).is_ok());
        let network = run(&case, u64::MAX / 2);
        // Its headroom, three times rate times delay, has no room for the packets at both ends where links are short.
        let lossless = case.topology.links.iter().all(|l| {
            let under_way = l.rate * l.delay.ns / 8_000_000_000;
            under_way > 3 * (case.config.payload as u64 + 90) + 43
        });
        // ACKs with priority leave a host whatever is paused there, but switches count them with the data of their
        // class: a host that does nothing but acknowledge can overfill the headroom by them alone.
        let full = network.drops().any(|(why, count)| why == Drop::Full && count > 0);
        let overfilled = full && case.config.ack_high_prio;
        let safe =
            lossless && !overfilled && case.config.error_rate_per_link == 0.0 && case.config.link_down.is_none();
        for flow in network.flows() {
            prop_assert!(flow.delivered() <= flow.size);
            prop_assert!(!flow.finished || (flow.delivered() == flow.size && flow.arrived_at <= flow.done_at));
            if flow.finished {
                // No faster than its full packets one after the other on its own link, by that simulator's clock: 250
                // bytes take 4 ns at 400 Gb/s where they should take 5.
                let full = flow.size / case.config.payload as u64;
                let each = transmission(case.config.payload + HEADERS, case.topology.links[0].rate);
                prop_assert!(flow.done_at - flow.start >= full * each);
            }
            if safe {
                prop_assert!(flow.finished, "{flow:?}");
                prop_assert_eq!(flow.retransmitted, 0);
            }
        }
        prop_assert_eq!(network.flows().len(), case.flows.len());
        for (why, _) in network.drops() {
            let may = match why {
                Drop::Error => case.config.error_rate_per_link > 0.0,
                Drop::LinkDown | Drop::NoRoute => case.config.link_down.is_some(),
                // Link errors and failures take PAUSE frames too, and then buffers run over.
                Drop::Full => !safe,
                Drop::WrongHost => false,
            };
            prop_assert!(may, "{why:?}");
        }
        // At their end all pauses are over, unless a failure took the frame that would have ended one.
        if safe {
            let pauses = network.happened.pauses.iter().map(|p| if p.pause { 1i64 } else { -1 }).sum::<i64>();
            prop_assert_eq!(pauses, 0);
        }
        let again = run(&case, 700);
        prop_assert_eq!(network.hash(), again.hash());
        prop_assert_eq!(network.packet_hops(), again.packet_hops());
        prop_assert_eq!(&network.happened.finished, &again.happened.finished);
        prop_assert_eq!(&network.happened.pauses, &again.happened.pauses);
        prop_assert_eq!(&network.happened.lengths, &again.happened.lengths);
    }
}
