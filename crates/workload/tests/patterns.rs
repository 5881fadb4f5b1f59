//! Each pattern as its users see it.

mod common;

use common::*;
use fanin_engine::Streams;
use fanin_units::{Rate, Time};
use fanin_workload::*;

fn refusal(pattern: Pattern, places: &Places) -> String {
    let refused = traffic(pattern);
    let error = refused.flows(places, &Streams::new(1), 0, Time::from_ms(1)).err().unwrap();
    assert_eq!(refused.expected(places, Time::from_ms(1)).unwrap_err(), error);
    error.to_string()
}

#[test]
fn an_incast_has_distinct_senders_one_receiver_and_one_size() {
    let places = network(13, 10);
    let load = Load { share: 0.5, of: LoadBase::HostLinks };
    for per_sender in [false, true] {
        let group = Incast { size_per_sender: per_sender, ..incast(12, Time::from_us(50), Arrivals::Load(load)) };
        let flows = run(&traffic(Pattern::Incast(group)), &places, 0, Time::from_ms(20));
        let groups = flows.iter().map(|f| f.group).max().unwrap();
        assert!(groups > 500, "{groups}");
        let mut sizes_differ = false;
        for group in 0..groups.saturating_sub(20) {
            let of: Vec<&Flow> = flows.iter().filter(|f| f.group == group).collect();
            // With degree 12 of 13 hosts, the senders are exactly all others.
            let mut hosts: Vec<u32> = of.iter().map(|f| f.src).chain([of[0].dst]).collect();
            hosts.sort_unstable();
            assert_eq!(hosts, (0..13).collect::<Vec<u32>>(), "{of:?}");
            assert!(of.iter().all(|f| f.dst == of[0].dst));
            let (first, last) = (of[0].start, of[of.len() - 1].start);
            assert!(last - first <= Time::from_us(50));
            sizes_differ |= of.iter().any(|f| f.bytes != of[0].bytes);
        }
        assert_eq!(sizes_differ, per_sender);
        let spread = flows.windows(2).filter(|w| w[0].group > w[1].group).count();
        assert!(spread > 100, "the jitter mixes incasts: {spread}");
    }
}

#[test]
fn jitter_is_uniform_up_to_its_bound() {
    let event = incast(1, Time::from_ns(10), Arrivals::Every(Time::from_us(1)));
    let flows = run(&traffic(Pattern::Incast(event)), &network(13, 10), 0, Time::from_ms(100));
    assert_eq!(flows.len(), 100_000);
    let offsets: Vec<u64> = flows.iter().enumerate().map(|(i, f)| f.start.as_ps() - i as u64 * 1_000_000).collect();
    assert!(offsets.iter().all(|o| *o <= 10_000));
    let mean = offsets.iter().sum::<u64>() as f64 / 1e5;
    assert!((mean - 5000.0).abs() < 40.0, "{mean}");
}

#[test]
fn events_come_once_or_at_intervals_and_start_late() {
    let places = network(13, 10);
    let make =
        |arrivals| Traffic { start: Time::from_us(5), pattern: Pattern::Incast(incast(3, Time::ZERO, arrivals)) };
    let once = run(&make(Arrivals::Once), &places, 7, Time::from_ms(1));
    assert_eq!(once.len(), 3);
    assert!(once.iter().all(|f| f.start == Time::from_us(5) && f.group == 0 && f.traffic == 7));
    assert_eq!(run(&make(Arrivals::Once), &places, 7, Time::from_us(5)), []);
    let starts = |until| {
        let every = make(Arrivals::Every(Time::from_us(10)));
        let flows = run(&every, &places, 0, until);
        assert_eq!(every.expected(&places, until).unwrap().flows, flows.len() as f64);
        flows.iter().step_by(3).map(|f| (f.start.as_ps() / 1_000_000, f.group)).collect::<Vec<_>>()
    };
    assert_eq!(starts(Time::from_us(25)), [(5, 0), (15, 1)]);
    assert_eq!(starts(Time::from_ps(25_000_001)), [(5, 0), (15, 1), (25, 2)]);
    let given = Hosts { receivers: Some(vec![6]), ..Hosts::default() };
    let given = Incast { hosts: given, ..incast(12, Time::ZERO, Arrivals::Once) };
    let flows = run(&traffic(Pattern::Incast(given)), &places, 0, Time::from_ms(1));
    assert!(flows.len() == 12 && flows.iter().all(|f| f.dst == 6 && f.src != 6));
}

#[test]
fn flows_of_one_start_come_in_order_of_their_making() {
    let size = SizeDistribution::Fixed(9);
    let rounds = Permutation { hosts: None, size, jitter: Time::ZERO, every: Some(Time::from_us(1)) };
    let flows = run(&traffic(Pattern::Permutation(rounds)), &network(40, 10), 0, Time::from_us(2));
    let order: Vec<(u32, u32)> = flows.iter().map(|f| (f.group, f.src)).collect();
    assert_eq!(order, (0..80).map(|i| (i / 40, i % 40)).collect::<Vec<_>>());
    let receivers: Vec<u32> = flows.iter().map(|f| f.dst).collect();
    // Rounds differ.
    assert_ne!(receivers[..40], receivers[40..]);
}

#[test]
fn all_to_all_holds_each_pair_once_and_is_made_lazily() {
    let size = SizeDistribution::Fixed(1);
    let some = traffic(Pattern::AllToAll(AllToAll { hosts: Some(vec![9, 2, 4]), size: size.clone() }));
    let pairs: Vec<(u32, u32)> =
        run(&some, &network(13, 10), 0, Time::from_ms(1)).iter().map(|f| (f.src, f.dst)).collect();
    assert_eq!(pairs, [(2, 4), (4, 9), (9, 2), (2, 9), (4, 2), (9, 4)]);
    // 10^11 pairs would not fit the memory.
    let places = network(300_000, 10);
    let all = traffic(Pattern::AllToAll(AllToAll { hosts: None, size }));
    let last = all.flows(&places, &Streams::new(1), 0, Time::from_ms(1)).unwrap().nth(1_000_000).unwrap();
    assert_eq!((last.src, last.dst), (100_000, 100_004));
    assert_eq!(all.expected(&places, Time::from_ms(1)).unwrap().flows, 300_000.0 * 299_999.0);
}

#[test]
fn a_run_without_end_is_made_as_it_goes() {
    let places = network(13, 10);
    let size = SizeDistribution::Fixed(1000);
    let load = Load { share: 0.5, of: LoadBase::HostLinks };
    let permutation =
        Permutation { hosts: None, size: size.clone(), jitter: Time::from_us(3), every: Some(Time::from_us(2)) };
    for endless in [
        poisson(Hosts::default(), size, 0.5, LoadBase::HostLinks),
        traffic(Pattern::Incast(incast(7, Time::from_us(30), Arrivals::Load(load)))),
        traffic(Pattern::Incast(incast(7, Time::from_us(30), Arrivals::Every(Time::from_us(1))))),
        traffic(Pattern::Permutation(permutation)),
    ] {
        let flows = merge(vec![endless.flows(&places, &Streams::new(1), 0, Time::NEVER).unwrap()]);
        assert!(flows.take(100_000).is_sorted_by_key(|f| f.start), "{endless:?}");
    }
}

#[test]
fn a_list_gives_its_own_flows() {
    let flow = |us, src, dst, bytes| ListedFlow { start: Time::from_us(us), src, dst, bytes, group: NO_GROUP };
    let list = FlowList::new(vec![flow(9, 0, 1, 30), flow(3, 1, 2, 10), flow(3, 0, 1, 20), flow(50, 0, 1, 40)]);
    let list = Traffic { start: Time::from_us(1), pattern: Pattern::List(list) };
    let flows = run(&list, &network(13, 10), 3, Time::from_us(51));
    let got: Vec<(u64, u64, u16)> = flows.iter().map(|f| (f.start.as_ps() / 1_000_000, f.bytes, f.traffic)).collect();
    assert_eq!(got, [(4, 10, 3), (4, 20, 3), (10, 30, 3)]);
    let expected = list.expected(&network(13, 10), Time::from_us(51)).unwrap();
    assert_eq!((expected.flows, expected.mean_bytes, expected.inter_rack), (3.0, 20.0, 50.0 / 60.0));
    for (bad, says) in [
        (flow(0, 4, 4, 1), "host 4 sends to itself"),
        (flow(0, 1, 13, 1), "no host 13; hosts are 0 to 12"),
        (flow(0, 1, 2, 0), "0 B is not a possible flow size"),
    ] {
        let error = refusal(Pattern::List(FlowList::new(vec![bad])), &network(13, 10));
        assert!(error.starts_with("pattern.flows: flow 1") && error.contains(says), "{error}");
    }
}

#[test]
fn another_traffic_or_size_shifts_no_draw() {
    let places = network(13, 10);
    let until = Time::from_ms(5);
    let size = SizeDistribution::Cdf(Cdf::built_in("FB_Hadoop").unwrap());
    let first = poisson(Hosts::default(), size, 0.3, LoadBase::HostLinks);
    let second = traffic(Pattern::Incast(incast(4, Time::from_us(9), Arrivals::Every(Time::from_us(30)))));
    let streams = Streams::new(8);
    let alone: Vec<Flow> = first.flows(&places, &streams, 0, until).unwrap().collect();
    let both = merge(vec![
        second.flows(&places, &streams, 1, until).unwrap(),
        first.flows(&places, &streams, 0, until).unwrap(),
    ]);
    assert_eq!(both.filter(|f| f.traffic == 0).collect::<Vec<_>>(), alone);
    // Traffics of one kind are not copies of each other, nor are runs of other seeds.
    let pairs = |number, seed| -> Vec<(u32, u32)> {
        first.flows(&places, &Streams::new(seed), number, until).unwrap().take(20).map(|f| (f.src, f.dst)).collect()
    };
    assert_ne!(pairs(0, 8), pairs(1, 8));
    assert_ne!(pairs(0, 8), pairs(0, 9));
    // Other sizes of the same mean keep who sends when; only the sizes differ.
    let sized = |size| -> Vec<Flow> {
        let flows = run(&poisson(Hosts::default(), size, 0.3, LoadBase::HostLinks), &places, 0, until);
        flows.into_iter().map(|f| Flow { bytes: 0, ..f }).collect()
    };
    assert_eq!(sized(SizeDistribution::Fixed(5000)), sized(SizeDistribution::Uniform { min: 1, max: 9999 }));
}

#[test]
fn what_cannot_run_is_refused_with_what_would_be_right() {
    let places = network(13, 10);
    let size = SizeDistribution::Fixed(1000);
    let load = |share, of| Load { share, of };
    let poisson = |load| Pattern::Poisson(Poisson { hosts: Hosts::default(), size: size.clone(), load });
    for share in [0.0, -0.4, f64::NAN, f64::INFINITY, 40.0] {
        let error = refusal(poisson(load(share, LoadBase::HostLinks)), &places);
        assert!(error.starts_with("load.share: ") && error.contains("write 0.4 for 40 %"), "{error}");
    }
    let one_rack = Places { rack_of: vec![0; 13], ..network(13, 10) };
    let error = refusal(poisson(load(0.4, LoadBase::TorUplinks)), &one_rack);
    assert!(error.starts_with("load.of: no flow of this pattern crosses racks"), "{error}");
    let no_uplinks = Places { tor_uplinks: Rate::ZERO, ..network(13, 10) };
    let error = refusal(poisson(load(0.4, LoadBase::TorUplinks)), &no_uplinks);
    assert!(error.starts_with("load.of: this network has no tor-uplinks"), "{error}");
    for (degree, says) in [(0, "it is 1 to 12 here"), (13, "13 different senders"), (u32::MAX, "1 to 12")] {
        let error = refusal(Pattern::Incast(incast(degree, Time::ZERO, Arrivals::Once)), &places);
        assert!(error.starts_with("pattern.degree: ") && error.contains(says), "{error}");
    }
    let error = refusal(Pattern::Incast(incast(4, Time::ZERO, Arrivals::Every(Time::ZERO))), &places);
    assert!(error.starts_with("pattern.every: "), "{error}");
    let error = refusal(Pattern::Incast(incast(4, Time::from_s(9), Arrivals::Every(Time::from_ps(1)))), &places);
    assert!(error.starts_with("pattern.jitter: "), "{error}");
    let permutation = |hosts, every| Permutation { hosts, size: size.clone(), jitter: Time::from_s(9), every };
    let error = refusal(Pattern::Permutation(permutation(None, Some(Time::from_ps(1)))), &places);
    assert!(error.starts_with("pattern.jitter: "), "{error}");
    let error = refusal(Pattern::Permutation(permutation(Some(vec![1]), None)), &places);
    assert!(error.starts_with("pattern.hosts: a single host cannot send"), "{error}");
    let error = refusal(Pattern::Long(long(LongFlows::Count(0), Time::ZERO)), &places);
    assert!(error.starts_with("pattern.count: ") && error.contains("1 to 13 here"), "{error}");
    let error = refusal(Pattern::Long(long(LongFlows::Load(load(2.0, LoadBase::HostLinks)), Time::ZERO)), &places);
    assert!(error.starts_with("load.share: 26 long flows"), "{error}");
    let bad_size = Pattern::AllToAll(AllToAll { hosts: None, size: SizeDistribution::Fixed(0) });
    assert!(refusal(bad_size, &places).starts_with("size.fixed: "));
    let broken = Places { nic_rate: vec![Rate::ZERO; 13], ..network(13, 10) };
    assert!(refusal(poisson(load(0.4, LoadBase::HostLinks)), &broken).starts_with("network: host 0 has no rate"));
    let error = refusal(poisson(load(0.4, LoadBase::HostLinks)), &network(1, 10));
    assert!(error.starts_with("network: 1 hosts"), "{error}");
}

#[test]
fn long_flows_have_random_senders_of_their_own() {
    let places = network(16, 10);
    let mut count_of = [0u32; 16];
    for seed in 0..400 {
        let many = traffic(Pattern::Long(long(LongFlows::Count(4), Time::from_us(100))));
        let flows = many.flows(&places, &Streams::new(seed), 0, Time::from_ms(1)).unwrap();
        let mut senders: Vec<u32> = flows.map(|f| f.src).collect();
        senders.sort_unstable();
        senders.dedup();
        assert_eq!(senders.len(), 4);
        senders.iter().for_each(|s| count_of[*s as usize] += 1);
    }
    assert!(count_of.iter().all(|c| c.abs_diff(100) < 40), "{count_of:?}");
}

#[test]
fn long_flows_one_to_one_keep_the_order_of_the_lists() {
    let hosts = Hosts { senders: Some(vec![7, 2, 9]), receivers: Some(vec![1, 12, 7]), inter_rack_only: None };
    let pairs = |hosts: &Hosts| Pattern::Long(Long { hosts: hosts.clone(), ..long(LongFlows::OneToOne, Time::ZERO) });
    let places = network(13, 10);
    let ends: Vec<(u32, u32)> =
        run(&traffic(pairs(&hosts)), &places, 0, Time::from_ms(1)).iter().map(|f| (f.src, f.dst)).collect();
    assert_eq!(ends, [(7, 1), (2, 12), (9, 7)]);
    // Racks are {0}, {1 to 4}, {5 to 8}, {9 to 12}: all three cross. Each sender can fill its 10 Gb/s.
    let expected = traffic(pairs(&hosts)).expected(&places, Time::from_ms(1)).unwrap();
    assert_eq!((expected.flows, expected.inter_rack, expected.payload_bps), (3.0, 1.0, Some(3e10)));
    let error = refusal(pairs(&Hosts { receivers: Some(vec![1, 12]), ..hosts.clone() }), &places);
    assert!(error.starts_with("pattern.receivers: 2 receivers for 3 senders"), "{error}");
    let error = refusal(pairs(&Hosts { receivers: Some(vec![1, 2, 7]), ..hosts }), &places);
    assert!(error.starts_with("pattern.receivers: host 2 would send to itself"), "{error}");
}

/// 3 rounds of 2 servers.
fn query() -> Query {
    Query {
        clients: Some(vec![4]),
        servers: Some(vec![9, 1]),
        degree: None,
        rounds: 3,
        request: 1600,
        response: Response::Total(1001),
        service_time: [Time::from_us(2); 2],
        jitter: Time::ZERO,
        think_time: Time::from_us(7),
    }
}

#[test]
fn a_query_asks_all_its_servers_and_waits_for_all_answers() {
    let places = network(13, 10);
    let asked = Traffic { start: Time::from_us(5), pattern: Pattern::Query(query()) };
    let flows = run(&asked, &places, 3, Time::from_us(6));
    let expected = asked.expected(&places, Time::from_us(6)).unwrap();
    // 4 and 1 share a rack. Of 2 flows in a pair, one carries 1600 B and the other 500.5 B on average.
    assert_eq!((expected.flows, expected.mean_bytes, expected.inter_rack), (12.0, 1050.25, 0.5));
    let depends = |after, us, answers, counts| Dependency {
        after,
        delay: Time::from_us(us),
        answers,
        counts,
        ..Dependency::default()
    };
    let flow = |src, dst, bytes, group, dependency| Flow {
        start: Time::from_us(5),
        src,
        dst,
        bytes,
        traffic: 3,
        group,
        dependency,
        ..Flow::default()
    };
    let round = |group, before, first: u32, after: Option<u32>| {
        let think_time = if group > 0 { 7 } else { 0 };
        [
            flow(4, 9, 1600, group, depends(before, think_time, false, Some(first))),
            flow(9, 4, 501, group, depends(Some(first), 2, true, after)),
            flow(4, 1, 1600, group, depends(before, think_time, false, Some(first + 1))),
            flow(1, 4, 500, group, depends(Some(first + 1), 2, true, after)),
        ]
    };
    assert_eq!(flows, [round(0, None, 0, Some(2)), round(1, Some(2), 3, Some(5)), round(2, Some(5), 6, None)].concat());
    // Nothing begins after the end.
    assert_eq!(run(&asked, &places, 3, Time::from_us(5)), []);
}

#[test]
fn queries_draw_as_many_servers_as_they_ask_and_serve_within_bounds() {
    let places = network(13, 10);
    let some = Query {
        clients: None,
        servers: None,
        degree: Some(3),
        rounds: 200,
        response: Response::Each(SizeDistribution::UniformOf(vec![2000, 4000])),
        service_time: [Time::from_us(2), Time::from_us(4)],
        jitter: Time::from_us(10),
        ..query()
    };
    let flows = run(&traffic(Pattern::Query(some)), &places, 0, Time::from_ms(1));
    assert_eq!(flows.len(), 13 * 200 * 3 * 2);
    let mut asked = [0u32; 13];
    for round in flows.chunks(6) {
        let mut servers: Vec<u32> = round.iter().filter(|f| !f.dependency.answers).map(|f| f.dst).collect();
        servers.sort_unstable();
        servers.dedup();
        assert_eq!(servers.len(), 3, "{round:?}");
        servers.iter().for_each(|s| asked[*s as usize] += 1);
    }
    // 12 clients x 200 queries x 3 of 12 servers.
    assert!(asked.iter().all(|n| n.abs_diff(600) < 90), "{asked:?}");
    let mean_us = |answers: bool, first_round: bool| {
        let of = flows.iter().filter(|f| f.dependency.answers == answers && (f.group % 200 == 0) == first_round);
        let delays: Vec<f64> = of.map(|f| f.dependency.delay.as_secs_f64() * 1e6).collect();
        let (least, most) = delays.iter().fold((f64::MAX, 0.0f64), |(a, b), d| (a.min(*d), b.max(*d)));
        (least, delays.iter().sum::<f64>() / delays.len() as f64, most)
    };
    // Think times are 2 to 4 us, offsets of requests 0 to 10 us, and the pause between queries is 7 us.
    for (answers, first_round, from, to) in
        [(true, false, 2.0, 4.0), (false, false, 7.0, 17.0), (false, true, 0.0, 10.0)]
    {
        let (least, mean, most) = mean_us(answers, first_round);
        assert!(least >= from && most <= to, "{least} to {most}");
        assert!((mean - (from + to) / 2.0).abs() < 0.2 * (to - from), "{mean}");
        assert!(most - least > 0.8 * (to - from), "{least} to {most}");
    }
}

#[test]
fn queries_that_cannot_run_are_refused() {
    let places = network(13, 10);
    let refused = |change: fn(&mut Query), starts: &str| {
        let mut query = query();
        change(&mut query);
        let error = refusal(Pattern::Query(query), &places);
        assert!(error.starts_with(starts), "{error}");
    };
    refused(|q| q.clients = Some(vec![]), "pattern.clients: no host is given");
    refused(|q| q.clients = Some(vec![13]), "pattern.clients: there is no host 13");
    refused(|q| q.servers = Some(vec![1, 1]), "pattern.servers: host 1 is named twice");
    refused(|q| q.servers = Some(vec![4]), "pattern.servers: host 4 has no server other than itself");
    refused(
        |q| q.degree = Some(0),
        "pattern.degree: 0 different servers, but host 4 has 2 possible ones; it is 1 to 2",
    );
    refused(|q| q.degree = Some(3), "pattern.degree: 3 different");
    refused(|q| q.rounds = 0, "pattern.rounds: no client sends a request");
    refused(|q| q.rounds = u32::MAX, "pattern.rounds: that makes 4.3e9 queries with 1.3e10 triggers; lower it");
    refused(|q| q.request = 0, "pattern.request: 0 B is not a possible request size");
    refused(|q| q.request = ENDLESS, "pattern.request: ");
    refused(|q| q.response = Response::Total(1), "pattern.total: 1 B cannot be 2 responses; each response has 1 B");
    refused(|q| q.response = Response::Each(SizeDistribution::Fixed(0)), "size.fixed: 0 B");
    refused(
        |q| q.response = Response::Each(SizeDistribution::Fixed(ENDLESS)),
        "size: a query with an endless response",
    );
    refused(|q| q.service_time = [Time::from_us(3), Time::from_us(2)], "pattern.service_time: 3 us is above 2 us");
    refused(|q| q.think_time = Time::NEVER, "pattern.think_time: ");
    refused(|q| q.jitter = Time::from_s(1_000_000), "pattern.jitter: 1000000 s is longer than any run");
}
