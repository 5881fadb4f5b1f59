//! What holds for any traffic.

mod common;

use common::*;
use fanin_engine::Streams;
use fanin_units::Time;
use fanin_workload::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Random cases of a property: `FANIN_CASES`, or 64.
fn cases() -> ProptestConfig {
    let cases = std::env::var("FANIN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64);
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

/// Patterns of all kinds, sound or not.
fn any_pattern() -> impl Strategy<Value = Pattern> {
    let size = prop_oneof![
        (1u64..20_000).prop_map(SizeDistribution::Fixed),
        Just(SizeDistribution::Uniform { min: 1, max: 9000 }),
        Just(SizeDistribution::Cdf(Cdf::built_in("AliStorage").unwrap())),
        Just(SizeDistribution::Pareto { mean: 5000, shape: 1.2, cap: Some(1_000_000) }),
    ];
    let base = prop_oneof![Just(LoadBase::HostLinks), Just(LoadBase::TorUplinks), Just(LoadBase::ReceiverLink)];
    let load = (0.01f64..1.2, base).prop_map(|(share, of)| Load { share, of });
    let some = prop::option::weighted(0.3, prop::collection::btree_set(0u32..9, 2..6).prop_map(Vec::from_iter));
    let hosts = (some.clone(), some.clone(), prop::option::of(any::<bool>()))
        .prop_map(|(senders, receivers, inter_rack_only)| Hosts { senders, receivers, inter_rack_only });
    let jitter = prop_oneof![Just(Time::ZERO), (0u64..50_000_000).prop_map(Time::from_ps)];
    let every = (1u64..30).prop_map(Time::from_us);
    let arrivals = prop_oneof![
        load.clone().prop_map(Arrivals::Load),
        every.clone().prop_map(Arrivals::Every),
        Just(Arrivals::Once),
    ];
    let amount = prop_oneof![
        load.clone().prop_map(LongFlows::Load),
        (0u32..15).prop_map(LongFlows::Count),
        Just(LongFlows::OneToOne)
    ];
    prop_oneof![
        (hosts.clone(), size.clone(), load).prop_map(|(hosts, size, load)| Pattern::Poisson(Poisson {
            hosts,
            size,
            load
        })),
        (hosts.clone(), 0u32..7, jitter.clone(), size.clone(), any::<bool>(), arrivals).prop_map(
            |(hosts, degree, jitter, size, size_per_sender, arrivals)| {
                Pattern::Incast(Incast { hosts, degree, jitter, size, size_per_sender, arrivals })
            }
        ),
        (some.clone(), size.clone(), jitter.clone(), prop::option::of(every))
            .prop_map(|(hosts, size, jitter, every)| Pattern::Permutation(Permutation { hosts, size, jitter, every })),
        (some, size.clone()).prop_map(|(hosts, size)| Pattern::AllToAll(AllToAll { hosts, size })),
        any_query().prop_map(Pattern::Query),
        (hosts, size, amount, jitter).prop_map(|(hosts, size, amount, spread)| Pattern::Long(Long {
            hosts,
            size,
            amount,
            spread
        })),
    ]
}

/// Queries, sound or not.
fn any_query() -> impl Strategy<Value = Query> {
    let some = prop::option::of(prop::collection::btree_set(0u32..9, 1..5).prop_map(Vec::from_iter).prop_shuffle());
    let response = prop_oneof![
        (1u64..5000).prop_map(Response::Total),
        Just(Response::Each(SizeDistribution::Uniform { min: 1, max: 9000 })),
    ];
    let time = || (0u64..3).prop_map(Time::from_us);
    let times = (time(), time(), time(), time());
    (some.clone(), some, prop::option::of(0u32..4), 0u32..6, 1u64..4000, response, times).prop_map(
        |(clients, servers, degree, rounds, request, response, (least, most, jitter, think_time))| {
            let service_time = [least, least + most];
            Query { clients, servers, degree, rounds, request, response, service_time, jitter, think_time }
        },
    )
}

/// All flows of a query traffic, or none where it is not sound.
fn asked(query: &Query, places: &Places, seed: u64) -> Vec<Flow> {
    let flows = traffic(Pattern::Query(query.clone())).flows(places, &Streams::new(seed), 0, Time::from_us(1));
    flows.map_or(Vec::new(), |flows| flows.collect())
}

proptest! {
    #![proptest_config(cases())]
    #[test]
    fn the_gates_of_queries_are_well_formed(query in any_query(), hosts in 6u32..16, seed: u64) {
        let places = network(hosts, 10);
        let flows = asked(&query, &places, seed);
        let clients = query.clients_in_order(&places).unwrap_or_default();
        // By trigger: how many count towards it and to which host they go, how many wait and from which they leave.
        let mut triggers: BTreeMap<u32, (Vec<u32>, Vec<u32>)> = BTreeMap::new();
        for f in &flows {
            prop_assert_eq!(f.start, Time::ZERO);
            let (client, server) = if f.dependency.answers { (f.dst, f.src) } else { (f.src, f.dst) };
            prop_assert_eq!(client, clients[(f.group / query.rounds) as usize]);
            prop_assert!(query.servers.as_ref().is_none_or(|s| s.contains(&server)) && client != server);
            f.dependency.counts.into_iter().for_each(|trigger| triggers.entry(trigger).or_default().0.push(f.dst));
            f.dependency.after.into_iter().for_each(|trigger| triggers.entry(trigger).or_default().1.push(f.src));
            // Only the first requests of a client wait for nothing, and only the last responses bring nothing about.
            let round = f.group % query.rounds;
            prop_assert_eq!(f.dependency.after.is_none(), !f.dependency.answers && round == 0);
            prop_assert_eq!(f.dependency.counts.is_none(), f.dependency.answers && round + 1 == query.rounds);
        }
        prop_assert!(triggers.keys().copied().eq(0..triggers.len() as u32), "triggers are numbered from 0");
        for (trigger, (counting, waiting)) in &triggers {
            prop_assert!(!counting.is_empty() && !waiting.is_empty(), "trigger {}", trigger);
            prop_assert!(counting.iter().chain(waiting).all(|host| *host == counting[0]), "trigger {}", trigger);
        }
        // Request and response belong together: one waits for the trigger that the other alone counts towards.
        for pair in flows.chunks(2) {
            let [request, response] = pair else { panic!("{} flows", flows.len()) };
            prop_assert!(!request.dependency.answers && response.dependency.answers && request.group == response.group);
            prop_assert_eq!((request.src, request.dst), (response.dst, response.src));
            let trigger = request.dependency.counts.unwrap();
            prop_assert_eq!(response.dependency.after, Some(trigger));
            prop_assert_eq!((triggers[&trigger].0.len(), triggers[&trigger].1.len()), (1, 1));
        }
        // Each query asks its servers once each, and its answers add up.
        let queries: Vec<&[Flow]> = flows.chunk_by(|a, b| a.group == b.group).collect();
        prop_assert!(queries.iter().enumerate().all(|(i, of)| of[0].group == i as u32));
        prop_assert!(flows.is_empty() || queries.len() == clients.len() * query.rounds as usize);
        for of in queries {
            let mut servers: Vec<u32> = of.iter().filter(|f| f.dependency.answers).map(|f| f.src).collect();
            let answers: Vec<u64> = of.iter().filter(|f| f.dependency.answers).map(|f| f.bytes).collect();
            if let Some(degree) = query.degree {
                prop_assert_eq!(servers.len(), degree as usize);
            } else if let Some(listed) = &query.servers {
                let others: Vec<u32> = listed.iter().copied().filter(|s| *s != of[0].src).collect();
                prop_assert_eq!(&servers, &others, "in the order of the list");
            }
            servers.sort_unstable();
            prop_assert!(servers.windows(2).all(|two| two[0] < two[1]), "{:?}", servers);
            prop_assert!(of.iter().all(|f| f.dependency.answers || f.bytes == query.request));
            if let Response::Total(total) = query.response {
                prop_assert_eq!(answers.iter().sum::<u64>(), total);
                prop_assert!(answers.iter().max().unwrap() - answers.iter().min().unwrap() <= 1);
            }
        }
    }

    #[test]
    fn queries_draw_from_streams_of_their_own(query in any_query(), hosts in 6u32..16, seed: u64) {
        let places = network(hosts, 10);
        let flows = asked(&query, &places, seed);
        // Neither think times nor offsets nor sizes shift who is asked; sizes shift no times, nor think times the
        // offsets.
        let response = Response::Total(5000);
        let still = Query { service_time: [Time::ZERO; 2], jitter: Time::ZERO, response, ..query.clone() };
        let ends = |flows: &[Flow]| flows.iter().map(|f| (f.src, f.dst, f.group)).collect::<Vec<_>>();
        let other = asked(&still, &places, seed);
        prop_assert!(flows.is_empty() || ends(&other) == ends(&flows));
        let sized = asked(&Query { response: Response::Total(5000), ..query.clone() }, &places, seed);
        let delays = |flows: &[Flow]| flows.iter().map(|f| f.dependency.delay).collect::<Vec<_>>();
        prop_assert!(flows.is_empty() || delays(&sized) == delays(&flows));
        let unhurried = asked(&Query { service_time: [Time::ZERO, Time::from_us(9)], ..query.clone() }, &places, seed);
        let of = |flows: &[Flow]| {
            flows.iter().filter(|f| !f.dependency.answers).map(|f| f.dependency.delay).collect::<Vec<_>>()
        };
        prop_assert_eq!(of(&unhurried), of(&flows));
        // Another traffic beside it changes nothing.
        let streams = Streams::new(seed);
        let query = traffic(Pattern::Query(query));
        if let Ok(beside) = query.flows(&places, &streams, 0, Time::from_us(1)) {
            let size = SizeDistribution::Fixed(9);
            let noise = poisson(Hosts::default(), size, 0.3, LoadBase::HostLinks);
            let noise = noise.flows(&places, &streams, 1, Time::from_us(50)).unwrap();
            let both = merge(vec![noise, beside]);
            prop_assert_eq!(both.filter(|f| f.traffic == 0).collect::<Vec<_>>(), flows);
        }
    }
}

proptest! {
    #![proptest_config(cases())]
    #[test]
    fn flows_are_in_order_sound_and_the_same_again(
        pattern in any_pattern(), hosts in 6u32..16, seed: u64, start_us in 0u64..50, until_us in 0u64..300,
    ) {
        let places = network(hosts, 10);
        let (start, until) = (Time::from_us(start_us), Time::from_us(until_us));
        let traffic = Traffic { start, pattern };
        let streams = Streams::new(seed);
        let flows = match traffic.flows(&places, &streams, 5, until) {
            Ok(flows) => flows.collect::<Vec<_>>(),
            Err(error) => {
                prop_assert_eq!(traffic.expected(&places, until), Err(error));
                return Ok(());
            }
        };
        prop_assert!(flows.is_sorted_by_key(|f| f.start));
        for f in &flows {
            prop_assert!(f.start >= start && f.start < until && f.traffic == 5, "{:?}", f);
            prop_assert!(f.src < hosts && f.dst < hosts && f.src != f.dst && f.bytes >= 1, "{:?}", f);
            let (of, across) = match &traffic.pattern {
                Pattern::Poisson(p) => (&p.hosts, p.hosts.inter_rack_only == Some(true)),
                Pattern::Incast(p) => (&p.hosts, p.hosts.inter_rack_only == Some(true)),
                Pattern::Long(p) => {
                    let on_uplinks = matches!(p.amount, LongFlows::Load(Load { of: LoadBase::TorUplinks, .. }));
                    let drawn = p.amount != LongFlows::OneToOne;
                    (&p.hosts, drawn && p.hosts.inter_rack_only.unwrap_or(on_uplinks))
                }
                _ => continue,
            };
            prop_assert!(of.senders.as_ref().is_none_or(|s| s.contains(&f.src)));
            prop_assert!(of.receivers.as_ref().is_none_or(|r| r.contains(&f.dst)));
            prop_assert!(!across || places.rack_of[f.src as usize] != places.rack_of[f.dst as usize]);
        }
        let again: Vec<Flow> = traffic.flows(&places, &streams, 5, until).unwrap().collect();
        prop_assert_eq!(&again, &flows);
        // A longer run begins with the flows of the shorter one.
        let longer = traffic.flows(&places, &streams, 5, until + Time::from_us(50)).unwrap();
        prop_assert_eq!(longer.take_while(|f| f.start < until).collect::<Vec<_>>(), flows.clone());
        let expected = traffic.expected(&places, until).unwrap();
        prop_assert!(expected.inter_rack >= 0.0 && expected.inter_rack <= 1.0 + 1e-12);
        prop_assert!(expected.flows.is_finite() && expected.mean_bytes >= 1.0);
    }

    #[test]
    fn a_permutation_has_no_fixed_point_and_each_host_sends_and_receives_once(
        hosts in 2u32..40, seed: u64, jitter_us in 0u64..30,
    ) {
        let all = Permutation {
            hosts: None,
            size: SizeDistribution::Fixed(9),
            jitter: Time::from_us(jitter_us),
            every: Some(Time::from_us(10)),
        };
        let flows: Vec<Flow> = traffic(Pattern::Permutation(all))
            .flows(&network(hosts, 10), &Streams::new(seed), 0, Time::from_us(100)).unwrap().collect();
        for round in 0..(100 - jitter_us as u32) / 10 {
            let of: Vec<&Flow> = flows.iter().filter(|f| f.group == round).collect();
            prop_assert!(of.iter().all(|f| f.src != f.dst));
            for side in [|f: &&Flow| f.src, |f: &&Flow| f.dst] {
                let mut ends: Vec<u32> = of.iter().map(side).collect();
                ends.sort_unstable();
                prop_assert_eq!(&ends, &(0..hosts).collect::<Vec<u32>>());
            }
        }
    }
}
