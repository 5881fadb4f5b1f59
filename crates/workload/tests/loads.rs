//! Loads: what is offered is what was asked for, and what was said to expect.

mod common;

use common::*;
use fanin_units::Time;
use fanin_workload::*;

/// Payload bits per second that count for a base, over its capacity.
fn offered(flows: &[Flow], places: &Places, of: LoadBase, receivers: &[u32], span: Time) -> f64 {
    let crosses = |f: &&Flow| places.rack_of[f.src as usize] != places.rack_of[f.dst as usize];
    let bits = |flows: &mut dyn Iterator<Item = &Flow>| flows.map(|f| 8.0 * f.bytes as f64).sum::<f64>();
    let (bits, capacity) = match of {
        LoadBase::HostLinks => (bits(&mut flows.iter()), places.host_links.as_bps()),
        LoadBase::TorUplinks => (bits(&mut flows.iter().filter(crosses)), places.tor_uplinks.as_bps()),
        LoadBase::ReceiverLink => {
            (bits(&mut flows.iter()), receivers.iter().map(|r| places.nic_rate[*r as usize].as_bps()).sum())
        }
    };
    bits / span.as_secs_f64() / capacity as f64
}

#[test]
fn the_offered_load_is_the_load_that_was_asked_for() {
    // Few hosts, so that forgetting the flows within racks, or the sender itself, is more than 2 %.
    let places = network(13, 10);
    let some = Hosts { receivers: Some(vec![0, 2, 9]), ..Hosts::default() };
    let across = Hosts { inter_rack_only: Some(true), ..Hosts::default() };
    let span = Time::from_ms(1500);
    for of in [LoadBase::HostLinks, LoadBase::TorUplinks, LoadBase::ReceiverLink] {
        for hosts in [Hosts::default(), some.clone(), across.clone()] {
            let receivers = hosts.receivers.clone().unwrap_or_else(|| (0..13).collect());
            let uniform = SizeDistribution::Uniform { min: 1, max: 100_000 };
            let load = Load { share: 0.4, of };
            let flows = poisson(hosts.clone(), uniform, 0.4, of);
            let group = Incast { hosts: hosts.clone(), ..incast(5, Time::from_us(20), Arrivals::Load(load)) };
            let group = traffic(Pattern::Incast(Incast { size_per_sender: true, ..group }));
            for traffic in [flows, group] {
                let made = run(&traffic, &places, 0, span);
                let got = offered(&made, &places, of, &receivers, span);
                assert!((got / 0.4 - 1.0).abs() < 0.02, "{got} of {of}: {traffic:?}");
                let expected = traffic.expected(&places, span).unwrap();
                let tor = expected.share_of_tor_uplinks(&places).unwrap();
                let got = offered(&made, &places, LoadBase::TorUplinks, &[], span);
                assert!((tor / got - 1.0).abs() < 0.02, "expected {tor}, got {got}: {traffic:?}");
                let links = expected.share_of_host_links(&places).unwrap();
                let got = offered(&made, &places, LoadBase::HostLinks, &[], span);
                assert!((links / got - 1.0).abs() < 0.02, "expected {links}, got {got}: {traffic:?}");
                assert!((expected.flows / made.len() as f64 - 1.0).abs() < 0.02, "{}: {expected}", made.len());
            }
        }
    }
}

#[test]
fn heavy_tails_offer_their_load_too() {
    let places = network(13, 100);
    let web = SizeDistribution::Cdf(Cdf::built_in("WebSearch").unwrap());
    let span = Time::from_s(2);
    let made = run(&poisson(Hosts::default(), web, 0.5, LoadBase::HostLinks), &places, 0, span);
    let got = offered(&made, &places, LoadBase::HostLinks, &[], span);
    assert!((got / 0.5 - 1.0).abs() < 0.02, "{got} with {} flows", made.len());
}

#[test]
fn darts_typical_mix_is_what_its_rows_say() {
    let places = dart();
    let load = |share| Load { share, of: LoadBase::TorUplinks };
    // 0.16 of 2.56 Tb/s between racks, groups of 16 with 14,000 / 3 B on average, 1008 of 1023 pairs between racks.
    let queries = traffic(Pattern::Incast(incast(16, Time::from_us(20), Arrivals::Load(load(0.16)))));
    let expected = queries.expected(&places, Time::from_ms(50)).unwrap();
    let per_second = 0.16 * 2.56e12 * 1023.0 / 1008.0 / (8.0 * 14_000.0 / 3.0);
    assert!((expected.flows_per_second.unwrap() / per_second - 1.0).abs() < 1e-9, "{expected}");
    assert!((expected.share_of_tor_uplinks(&places).unwrap() - 0.16).abs() < 1e-9);
    let text = expected.to_string();
    assert!(text.contains("of 4666.7 B on average") && text.ends_with("98.53 % of it between racks"), "{text}");
    // 0.24 * 2.56 Tb/s / 10 Gb/s = 61.44.
    let updates = traffic(Pattern::Long(long(LongFlows::Load(load(0.24)), Time::from_us(100))));
    let flows = run(&updates, &places, 1, Time::from_ms(50));
    assert_eq!(flows.len(), 61);
    assert!(flows.iter().all(|f| f.src / 16 != f.dst / 16 && f.bytes == ENDLESS && f.start < Time::from_us(100)));
    let expected = updates.expected(&places, Time::from_ms(50)).unwrap();
    assert_eq!((expected.flows, expected.inter_rack), (61.0, 1.0));
    assert!((expected.share_of_tor_uplinks(&places).unwrap() - 61.0 / 256.0).abs() < 1e-12);
    // Pairs within racks cost more flows: 61.44 * 1023 / 1008 = 62.35.
    let mut any = long(LongFlows::Load(load(0.24)), Time::ZERO);
    any.hosts.inter_rack_only = Some(false);
    assert_eq!(run(&traffic(Pattern::Long(any)), &places, 1, Time::from_ms(50)).len(), 62);
}

#[test]
fn the_share_between_racks_of_collectives_is_exact() {
    // Host 0 has a rack of its own, 1 to 4 share one: of 20 ordered pairs, 12 are within it.
    let size = SizeDistribution::Fixed(9);
    let all = traffic(Pattern::AllToAll(AllToAll { hosts: None, size: size.clone() }));
    let permutation = Permutation { hosts: None, size, jitter: Time::ZERO, every: None };
    for traffic in [all, traffic(Pattern::Permutation(permutation))] {
        let expected = traffic.expected(&network(5, 10), Time::from_us(1)).unwrap();
        assert!((expected.inter_rack - 8.0 / 20.0).abs() < 1e-12, "{expected}");
    }
}
