//! What holds for any traffic.

mod common;

use common::*;
use fanin_engine::Streams;
use fanin_units::Time;
use fanin_workload::*;
use proptest::prelude::*;

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
    let amount = prop_oneof![load.clone().prop_map(LongFlows::Load), (0u32..15).prop_map(LongFlows::Count)];
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
        (hosts, size, amount, jitter).prop_map(|(hosts, size, amount, spread)| Pattern::Long(Long {
            hosts,
            size,
            amount,
            spread
        })),
    ]
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
                    (&p.hosts, p.hosts.inter_rack_only.unwrap_or(on_uplinks))
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
            hosts: None, size: SizeDistribution::Fixed(9), jitter: Time::from_us(jitter_us), every: Some(Time::from_us(10)),
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
