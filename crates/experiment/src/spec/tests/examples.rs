//! Valid specs and the objects built from them.

use super::*;
use crate::built::{Sampled, Series};
use document::{Buffer, Size, Topology, Transport};
use fanin_cc::aqm::{pi, red};
use fanin_endpoint::tcp;
use fanin_fabric::{BufferPolicy, CpuTime, Dependency, HostFifo, MarkAt, Marking, Restart, TcpConfig};
use fanin_record::{Part, Watched};
use fanin_units::{Bytes, PortId, Rate};

#[test]
fn a_spec_becomes_what_it_says() {
    let spec = checked(EXAMPLE).unwrap();
    let built = spec.build();
    let network = &built.network;
    assert_eq!((network.seed, network.graph.hosts), (7, 16));
    assert_eq!((network.packet.payload, network.packet.header, network.packet.ack), (1460, 40, 64));
    assert!(matches!(network.buffer, BufferPolicy::PerPort { bytes: 225_000, pfc } if pfc.headroom.is_none()));
    assert_eq!(network.host_fifo, Some(HostFifo { capacity: 64_000, mark_above: Some(22_500) }));
    assert_eq!(network.release, fanin_fabric::Release::LastBit);
    let [data, bulk] = &network.classes[..] else { panic!("{:?}", network.classes) };
    assert!(data.lossless && !bulk.lossless);
    assert_eq!(data.marking, Marking::Step { above: 22_500, at: MarkAt::Dequeue });
    assert!(matches!(bulk.marking, Marking::Red { min: 5000, max: 200_000, .. }));
    let changed: Vec<_> = network.graph.links.iter().filter(|link| link.error_rate > 0.0).collect();
    assert_eq!(changed.len(), 1);
    assert_eq!(changed[0].outages[1], (Time::from_ms(3), Time::from_ms(4)));
    let [queries, updates, web, asks] = &built.traffics[..] else { panic!("{:?}", built.traffics) };
    assert_eq!((queries.class, updates.class, web.class), (1, 2, 1));
    assert_eq!(queries.scheme.to_json()["packets"], 20);
    assert_eq!((queries.endpoint.timeout, queries.endpoint.ack_chunk), (Time::NEVER, 4000));
    assert_eq!((web.scheme.id(), web.endpoint.timeout), ("dcqcn", Time::from_ms(4)));
    assert!(queries.tcp.is_none() && web.tcp.is_none());
    assert_eq!((asks.ecn, asks.overhead, web.overhead), (true, Time::from_us(300), Time::ZERO));
    let connection = tcp::Config {
        mss: 1460,
        sack: true,
        ecn: true,
        window_scaling: true,
        receive_buffer: 2_000_000,
        ack_every: 2,
        ack_delay: Time::from_ms(1),
        initial_rto: Time::from_s(1),
        min_rto: Time::from_ms(20),
        max_rto: Time::from_s(60),
        timestamps: false,
        offload: 0,
        retries: 15,
    };
    assert_eq!(asks.tcp, Some(TcpConfig { connection, persistent: true, restart: Restart::Pause, ack_class: 0 }));
    let measure = &built.measure;
    assert_eq!((measure.warm_up, measure.window), (Time::from_ms(5), Time::from_ms(50)));
    assert_eq!((measure.drain, measure.report_size, measure.allow_drops), (true, Some(8000), false));
    assert_eq!((measure.series[0].of.values(), measure.series[0].zeros), (16, false));
    let every = Time::from_us(10);
    let of = Sampled::Queues(vec![PortId(7), PortId(6)]);
    let named = Series { place: "tor0>h3, h3>tor0".into(), of, every, zeros: true };
    assert_eq!(measure.series[1], named);
}

#[test]
fn cpu_time_and_offload_are_what_the_keys_say() {
    let of = |key: &str, value: &str| {
        let text = EXAMPLE.replace("ack_chunk = \"4 KB\"", &format!("ack_chunk = \"4 KB\", {key} = {value}"));
        checked(&text).unwrap().build().traffics[0].endpoint.cpu_time
    };
    let us = Time::from_us;
    assert_eq!(checked(EXAMPLE).unwrap().build().traffics[0].endpoint.cpu_time, CpuTime::Zero);
    assert_eq!(of("cpu_time", "\"5 us\""), CpuTime::Constant(us(5)));
    assert_eq!(of("cpu_time", "\"0 s\""), CpuTime::Zero);
    assert_eq!(of("cpu_time", "[\"1 us\", \"9 us\"]"), CpuTime::Uniform(us(1), us(9)));
    let log_normal = CpuTime::LogNormal { median: us(5), p999: us(25) };
    assert_eq!(of("cpu_time", "{ median = \"5 us\", p999 = \"25 us\" }"), log_normal);
    let text = EXAMPLE.replace("receive_buffer = \"2 MB\"", "offload = \"64 KB\"");
    let built = checked(&text).unwrap().build();
    assert_eq!(built.traffics[3].tcp.as_ref().map(|tcp| tcp.connection.offload), Some(64_000));
}

#[test]
fn what_is_watched_has_a_traffic_and_a_number() {
    let text = EXAMPLE.replace(
        "series = [",
        "trace = [\"web:17\", \"queries:3\", \"web:017\"]\nseries = [{ what = \"flow\", where = [\"updates:1\"], every \
         = \"1 us\" }, { what = \"receiver\", where = [\"h3\"], every = \"1 us\" }, { what = \"switch\", where = \
         [\"tor1\"], every = \"1 us\" }, ",
    );
    let spec = checked(&text).unwrap();
    let measure = &spec.build().measure;
    let watched = |i: usize| match &measure.series[i].of {
        Sampled::Watched(watched) => watched.clone(),
        Sampled::Queues(ports) => panic!("{ports:?}"),
    };
    let of = |part, place: &str, traffic, number| Watched { part, place: place.into(), traffic, number };
    assert_eq!(watched(0), [of(Part::Flow, "updates:1", 1, 1)]);
    // Each traffic has a scheme of its own there.
    assert_eq!(watched(1), [0, 1, 2, 3].map(|traffic| of(Part::Receiver, "h3", traffic, 3)));
    let tor1 = spec.network().graph.names.iter().position(|name| name == "tor1").unwrap() as u32;
    assert_eq!(watched(2)[3], of(Part::Switch, "tor1", 3, tor1 - spec.network().graph.hosts));
    assert!(matches!(measure.series[3].of, Sampled::Queues(_)));
    // Each message once.
    assert_eq!(measure.trace, [of(Part::Flow, "queries:3", 0, 3), of(Part::Flow, "web:17", 2, 17)]);
    assert_eq!(checked(&spec.to_toml()).unwrap(), spec);
}

/// The example with its second class in other words.
fn with_bulk(bulk: &str) -> String {
    let marking =
        "lossless = false\nmarking = { kind = \"red\", min = \"5 KB\", max = \"200 KB\", probability = 0.01 }";
    assert_eq!(EXAMPLE.matches(marking).count(), 1);
    EXAMPLE.replace(marking, &format!("lossless = false\n{bulk}"))
}

#[test]
fn queues_that_remember_have_the_defaults_of_ns_2() {
    let read = |marking: &str| {
        let spec = checked(&with_bulk(&format!("marking = {marking}"))).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(checked(&spec.to_toml()).unwrap(), spec, "{}", spec.to_toml());
        spec.build().network.classes[1].marking
    };
    let red = red::Config::new(30_000, 1500);
    assert_eq!(read("{ kind = \"red-average\", min = \"30 KB\" }"), Marking::RedAverage(red));
    // DCTCP section 4: weight 9, thresholds of 50 and 150 packets; ns-2 can decay by small packets.
    let all = "{ kind = \"red-average\", min = \"75 KB\", max = \"200 KB\", probability = 0.2, weight = 0.001953125, \
               gentle = false, wait = false, mean_packet = \"1 KB\", idle_packet = \"100 B\" }";
    let expected = red::Config {
        min: 75_000,
        max: 200_000,
        max_probability: 0.2,
        weight: 1.0 / 512.0,
        gentle: false,
        wait: false,
        mean_packet: 1000,
        idle_packet: 100,
    };
    assert_eq!(read(all), Marking::RedAverage(expected));
    assert_eq!(read("{ kind = \"pi\" }"), Marking::Pi(pi::Config::new(1500)));
    let all = "{ kind = \"pi\", target = \"60 KB\", a = 0.01, b = 0.009, every = \"20 us\", mean_packet = \"1 KB\" }";
    let expected = pi::Config { a: 0.01, b: 0.009, target: 60_000, every: Time::from_us(20), mean_packet: 1000 };
    assert_eq!(read(all), Marking::Pi(expected));
}

#[test]
fn classes_may_have_parts_of_the_buffer() {
    let spec = checked(&with_bulk("share = 0.25")).unwrap();
    let shares: Vec<_> = spec.network().classes.iter().map(|class| (class.share, class.alpha)).collect();
    assert_eq!(shares, [(None, None), (Some(0.25), None)]);
    assert_eq!(checked(&spec.to_toml()).unwrap(), spec);
    let pool = with_bulk("share = 0.25\nalpha = 0.5").replace("per_port = \"225 KB\"", "pool = \"2 MB\"");
    let pool = checked(&pool).unwrap();
    assert_eq!(pool.network().classes[1].alpha, Some(0.5));
    assert_eq!(checked(&pool.to_toml()).unwrap(), pool);
    // Decimal fractions that make a whole, and a share that no class has.
    let both = with_bulk("share = 0.9").replace("name = \"data\"", "name = \"data\"\nshare = 0.1");
    assert!(checked(&both).unwrap().build().warnings.is_empty());
    let half = both.replace("share = 0.9", "share = 0.4");
    let warnings = checked(&half).unwrap().build().warnings;
    assert!(warnings.iter().any(|w| w.contains("add up to 0.5; no class uses the other 112.5 KB")), "{warnings:?}");
}

#[test]
fn classes_may_have_priorities_and_weights() {
    let spec = checked(&with_bulk("priority = 7\nweight = 1000")).unwrap();
    let turns = |spec: &CheckedSpec| -> Vec<_> {
        spec.network().classes.iter().map(|class| (class.name.clone(), class.priority, class.weight)).collect()
    };
    assert_eq!(turns(&spec), [("data".into(), None, None), ("bulk".into(), Some(7), Some(1000))]);
    assert_eq!(checked(&spec.to_toml()).unwrap(), spec);
    let told = "network.classes[1].weight = 1000 has no effect: no other class has priority 7";
    assert!(spec.build().warnings.iter().any(|warning| warning == told), "{:?}", spec.build().warnings);
    let alone = checked(&with_bulk("priority = 1").replace("name = \"data\"", "name = \"data\"\nweight = 3"));
    let told = "network.classes[0].weight = 3 has no effect: no other class is without a priority";
    assert!(alone.unwrap().build().warnings.iter().any(|warning| warning == told));
    let both = checked(&with_bulk("weight = 5").replace("name = \"data\"", "name = \"data\"\nweight = 15")).unwrap();
    assert!(!both.build().warnings.iter().any(|warning| warning.contains("weight")));
    // A lane that a scheme adds has the turns of its class.
    let lanes = with_bulk("priority = 2").replace("scheme = \"none\"", "scheme = \"dcqcn-priq\"");
    let lanes = checked(&lanes).unwrap();
    assert_eq!(turns(&lanes)[2], ("bulk.urgent".into(), Some(2), None));
}

#[test]
fn each_recovery_has_its_rules_and_their_defaults() {
    use fanin_fabric::{Cap, Recovery, Rules};
    let spec = Spec::from_toml(EXAMPLE, "x.toml", Path::new("")).unwrap();
    let endpoint = |changes: &[(&str, &str)]| {
        let set =
            |spec: Spec, (key, value): &(&str, &str)| spec.set(&format!("traffic.web.rdma.{key}"), value).unwrap();
        let checked = changes.iter().fold(spec.clone(), set).check().unwrap();
        let endpoint = checked.build().traffics[2].endpoint;
        // What is filled in means the same when it is read again.
        let again =
            Spec::from_json(&checked.to_json().to_string(), "again.json", Path::new("")).unwrap().check().unwrap();
        assert_eq!(again.build().traffics[2].endpoint, endpoint);
        endpoint
    };
    let us = Time::from_us;
    let of = |changes: &[(&str, &str)]| {
        let endpoint = endpoint(changes);
        (endpoint.recovery, endpoint.timeout, endpoint.nack_interval)
    };
    assert_eq!(of(&[]), (Recovery::GoBackN, us(4000), us(500)));
    assert_eq!(of(&[("recovery", "go-back-0")]), (Recovery::GoBack0, us(4000), Time::ZERO));
    let irn = Rules { cap: Cap::Bdp, timeout_high: us(320), low_up_to: 3, nacks: 1, tell_scheme: false };
    assert_eq!(of(&[("recovery", "irn")]), (Recovery::Selective(irn), us(100), Time::ZERO));
    let repeat = Rules { cap: Cap::Off, low_up_to: 0, ..irn };
    assert_eq!(of(&[("recovery", "selective-repeat")]), (Recovery::Selective(repeat), us(320), Time::ZERO));
    let all = [("recovery", "irn"), ("timeout", "50 us"), ("timeout_low_packets", "7"), ("nack_threshold", "2")];
    let rules = Rules { timeout_high: us(50), low_up_to: 7, nacks: 2, tell_scheme: true, cap: Cap::Packets(9) };
    let more = [("loss_reaction", "true"), ("cap", "{ packets = 9 }")];
    assert_eq!(of(&[&all[..], &more].concat()), (Recovery::Selective(rules), us(50), Time::ZERO));
    let off = [("recovery", "irn"), ("timeout", "off"), ("cap", "120 KB")];
    let never = Rules { timeout_high: Time::NEVER, cap: Cap::Bytes(120_000), ..irn };
    assert_eq!(of(&off), (Recovery::Selective(never), Time::NEVER, Time::ZERO));
}

#[test]
fn a_loss_policy_behind_a_scheme_sets_buffers_and_recoveries() {
    use fanin_fabric::Recovery;
    let spec = Spec::from_toml(EXAMPLE, "x.toml", Path::new("")).unwrap();
    let built = |scheme: &str| {
        let checked = spec.with_scheme(scheme).check().unwrap();
        let (name, built) = (checked.document().name.clone(), checked.build());
        assert!(built.traffics.iter().all(|traffic| traffic.scheme.id() == "dcqcn"));
        let lossless = built.network.classes.iter().any(|class| class.lossless);
        (name, lossless, built.traffics[0].endpoint.recovery)
    };
    let name = &spec.document().name;
    for (policy, lossless, recovery) in
        [("pfc", true, Recovery::GoBackN), ("gbn", false, Recovery::GoBackN), ("gb0", false, Recovery::GoBack0)]
    {
        assert_eq!(built(&format!("dcqcn+{policy}")), (format!("{name}+{policy}"), lossless, recovery));
    }
    for (policy, capped) in [("sr", false), ("irn", true)] {
        let (_, lossless, recovery) = built(&format!("dcqcn+{policy}"));
        let Recovery::Selective(rules) = recovery else { panic!("{recovery:?}") };
        assert_eq!((lossless, rules.cap != fanin_fabric::Cap::Off), (false, capped));
    }
    let problems = spec.with_scheme("dcqcn+tlt").check().err().unwrap();
    assert!(problems.to_string().contains("there is no scheme \"dcqcn+tlt\""), "{problems}");
}

#[test]
fn messages_come_in_order_and_within_the_window() {
    let built = checked(EXAMPLE).unwrap().build();
    let mut last = Time::ZERO;
    let mut seen = [0u32; 4];
    for message in built.messages {
        assert!(last <= message.start && message.start < Time::from_ms(55));
        last = message.start;
        seen[usize::from(message.traffic)] += 1;
        if message.traffic == 0 {
            assert!([0, 9].contains(&message.dst) && [2000, 4000, 8000].contains(&message.bytes));
        }
        assert_eq!(message.traffic == 1, message.bytes == Message::ENDLESS);
    }
    assert!(seen.iter().all(|n| *n > 0), "{seen:?}");
}

#[test]
fn a_resolved_spec_shows_every_default_and_reads_back() {
    let spec = checked(EXAMPLE).unwrap();
    let document = spec.document();
    let Topology::Clos { aggs, agg_uplinks, cores, fabric_link, fabric_delay, .. } = document.network.topology else {
        panic!("{:?}", document.network.topology)
    };
    assert_eq!((aggs, agg_uplinks, cores), (Some(2), Some(2), Some(4)));
    assert_eq!((fabric_link, fabric_delay), (Some(Rate::from_gbps(10)), Some(Time::from_us(5))));
    let Buffer::PerPort(buffer) = &document.network.buffer else { panic!() };
    assert_eq!(buffer.xon_offset, Some(Bytes(3000)));
    assert_eq!(document.network.classes.as_ref().unwrap()[0].lossless, Some(true));
    assert_eq!(document.traffic[2].class.as_deref(), Some("data"));
    assert_eq!(document.traffic[1].size, Some(Size::Endless));
    assert!(matches!(document.traffic[1].pattern, document::Pattern::Long { inter_rack_only: Some(true), .. }));
    assert!(document.traffic[2].scheme.parameters().contains_key("byte_counter"));
    let transports: Vec<Option<Transport>> = document.traffic.iter().map(|t| t.transport).collect();
    let rdma = Some(Transport::Rdma);
    assert_eq!(transports, [rdma, rdma, rdma, Some(Transport::Tcp)]);
    let toml = spec.to_toml();
    assert!(toml.contains("drain = true") && toml.contains("slowdown = \"store-and-forward\""), "{toml}");
    assert_eq!(checked(&toml).unwrap(), spec, "{toml}");
    assert_eq!(checked(&toml).unwrap().to_toml(), toml);
    let json = spec.to_json().to_string();
    assert_eq!(Spec::from_json(&json, "x.json", Path::new("")).unwrap().check().unwrap(), spec);
}

#[test]
fn every_topology_and_pattern_is_reachable() {
    let topologies = [
        ("{ kind = \"star\", hosts = 8, link = \"10 Gbps\", delay = \"1 us\" }", 8),
        (
            "{ kind = \"dumbbell\", left = 4, right = 4, link = \"10 Gbps\", delay = \"1 us\", bottleneck = \"1 Gbps\" \
             }",
            8,
        ),
        ("{ kind = \"parking-lot\", switches = 3, hosts = 2, link = \"10 Gbps\", delay = \"1 us\" }", 6),
        ("{ kind = \"leaf-spine\", leaves = 2, hosts = 3, spines = 2, link = \"10 Gbps\", delay = \"1 us\" }", 6),
        ("{ kind = \"fat-tree\", k = 4, link = \"10 Gbps\", delay = \"1 us\" }", 16),
        ("{ kind = \"hpcc-fat-tree\" }", 320),
        ("{ kind = \"rcc-tree\" }", 1000),
        (
            "{ kind = \"graph\", hosts = [\"a\", \"b\"], switches = [\"s\"], links = [{ between = [\"a\", \"s\"], rate \
             = \"1 Gbps\", delay = \"1 us\" }, { between = [\"s\", \"b\"], rate = \"1 Gbps\", delay = \"1 us\" }] }",
            2,
        ),
    ];
    let patterns = [
        "pattern = { kind = \"poisson\" }\nload = { share = 0.1, of = \"receiver-link\" }",
        "pattern = { kind = \"incast\", degree = 1 }",
        "pattern = { kind = \"incast\", degree = 1, every = \"1 ms\" }",
        "pattern = { kind = \"permutation\", every = \"1 ms\" }",
        "pattern = { kind = \"all-to-all\" }",
        "pattern = { kind = \"long\", count = 1 }",
        "pattern = { kind = \"query\", rounds = 3 }",
        "transport = \"tcp\"\npattern = { kind = \"query\", rounds = 2, degree = 1, jitter = \"1 us\", think_time = \
         \"2 us\" }",
    ];
    let sizes = [
        "{ fixed = \"1 MB\" }",
        "{ uniform = [\"1 KB\", \"1 MB\"] }",
        "{ pareto = { mean = \"50 KB\", shape = 1.2 } }",
        "{ cdf = \"FB_Hadoop\" }",
        "{ cdf_points = [[0.0, 0.0], [1000.0, 100.0]] }",
    ];
    for (topology, hosts) in topologies {
        for (i, pattern) in patterns.iter().enumerate() {
            let text = format!(
                "spec_version = 1\nname = \"x\"\nnetwork = {{ topology = {topology}, buffer = {{ policy = \
                 \"unlimited\" }} }}\nmeasure = {{ window = \"10 us\" }}\n[[traffic]]\nname = \"t\"\nscheme = \
                 \"none\"\n{pattern}\nsize = {}\n",
                sizes[i % sizes.len()]
            );
            let spec = checked(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            assert_eq!(spec.network().graph.hosts, hosts);
            assert_eq!(checked(&spec.to_toml()).unwrap(), spec);
        }
    }
}

#[test]
fn files_are_found_from_the_specs_folder_and_the_resolved_spec_stands_alone() {
    let folder = std::env::temp_dir().join(format!("fanin-spec-files-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("sizes.txt"), "1000 0\n2000 50\n4000 100\n").unwrap();
    std::fs::write(folder.join("flows.csv"), "src,dst,bytes,start_us\n0,1,500,7\n2,0,600,1.5\n").unwrap();
    let text = EXAMPLE.replace("{ cdf = \"WebSearch\" }", "{ cdf = \"sizes.txt\" }").replace(
        "pattern = { kind = \"long\", spread = \"1 ms\" }\nload = { share = 0.24, of = \"tor-uplinks\" }",
        "pattern = { kind = \"list\", file = \"flows.csv\" }",
    );
    std::fs::write(folder.join("spec.toml"), text).unwrap();
    let spec = Spec::read(&folder.join("spec.toml")).unwrap().check().unwrap();
    let listed: Vec<Message> = spec.build().messages.filter(|m| m.traffic == 1).collect();
    assert_eq!(
        listed.iter().map(|m| (m.start, m.src, m.bytes)).collect::<Vec<_>>(),
        [(Time::from_ns(1500), 2, 600), (Time::from_us(7), 0, 500)]
    );
    // From another folder, and without the file of sizes.
    std::fs::remove_file(folder.join("sizes.txt")).unwrap();
    assert_eq!(checked(&spec.to_toml()).unwrap(), spec);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn schemes_seeds_and_single_keys_can_be_replaced() {
    let spec = Spec::from_toml(EXAMPLE, "x.toml", Path::new("")).unwrap();
    let none = spec.with_scheme("none").check().unwrap();
    assert!(none.build().traffics.iter().all(|t| t.scheme.id() == "none"));
    assert_eq!(spec.with_seed(99).check().unwrap().network().seed, 99);
    let hosts = |spec: &Spec| spec.check().unwrap().network().graph.hosts;
    assert_eq!(hosts(&spec.set("network.topology.pods", "4").unwrap()), 32);
    let set = |key, value| spec.set(key, value).unwrap().document().clone();
    assert_eq!(set("traffic[1].load.share", "0.5").traffic[1].load.as_ref().unwrap().share, 0.5);
    assert_eq!(set("traffic.updates.load.share", "0.5").traffic[1].load.as_ref().unwrap().share, 0.5);
    assert_eq!(set("measure.window", "10 ms").measure.window, Time::from_ms(10));
    assert_eq!(set("measure.window", "\"10 ms\"").measure.window, Time::from_ms(10));
    assert_eq!(set("traffic.web.scheme", "none").traffic[2].scheme.id(), "none");
    // An id alone becomes a table of it and the parameter.
    let web = serde_json::to_value(&set("traffic.web.scheme.g", "0.5").traffic[2].scheme).unwrap();
    assert_eq!(web, serde_json::json!({ "id": spec.document().traffic[2].scheme.id(), "g": 0.5 }));
    assert!(set("traffic.web.rdma.persistent", "true").traffic[2].rdma.persistent);
    let red = set("network.marking", "{ kind = \"red\", min = \"1 KB\", max = \"2 KB\", probability = 0.5 }");
    assert!(matches!(red.network.marking, document::Marking::Red { .. }));
}

#[test]
fn a_new_scheme_brings_its_own_transport_unless_another_was_chosen() {
    let spec = Spec::from_toml(EXAMPLE, "x.toml", Path::new("")).unwrap();
    let transports = |spec: &Spec| -> Vec<bool> {
        spec.with_scheme("none").check().unwrap().build().traffics.iter().map(|t| t.tcp.is_some()).collect()
    };
    assert_eq!(transports(&spec), [false, false, false, true]);
    // The resolved spec shows transports that were filled in; they are the schemes' own and no choice of anyone's.
    let resolved = Spec::from_toml(&spec.check().unwrap().to_toml(), "x.toml", Path::new("")).unwrap();
    assert_eq!(transports(&resolved), [false, false, false, true]);
    assert_eq!(resolved.with_scheme("none").document().traffic[0].transport, None);
    assert_eq!(resolved.with_scheme("none").document().traffic[3].transport, Some(Transport::Tcp));
    // Both tables may stand there; the transport says which one counts.
    let both = spec.set("traffic.queries.transport", "tcp").unwrap().check().unwrap().build();
    assert_eq!((both.traffics[0].endpoint.ack_chunk, both.traffics[0].tcp.unwrap().ack_class), (4000, 1));
    let rdma = spec.set("traffic.asks.transport", "rdma").unwrap().check().unwrap().build();
    assert_eq!((rdma.traffics[3].tcp, rdma.traffics[3].overhead), (None, Time::ZERO));
    let unmarked = spec.set("traffic.asks.ecn", "false").unwrap().check().unwrap().build();
    assert!(!unmarked.traffics[3].ecn && !unmarked.traffics[3].tcp.unwrap().connection.ecn);
}

#[test]
fn queries_wait_for_each_other() {
    let spec = checked(EXAMPLE).unwrap();
    let asked: Vec<Message> = spec.build().messages.filter(|m| m.traffic == 3).collect();
    assert_eq!(asked.len(), 40);
    assert!(asked.iter().all(|m| m.start == Time::ZERO && m.group < 10));
    let chain = |after, answers, counts| Dependency { after, answers, counts, ..Dependency::default() };
    // Two servers in the order of their list, half a megabyte each; gates 0 and 1 are the requests', 2 is the round's.
    let shown: Vec<(u32, u32, u64, Dependency)> = asked[..6]
        .iter()
        .map(|m| {
            assert!(!m.dependency.answers || (1..=2).contains(&(m.dependency.delay.as_ps() / 1_000_000)), "{m:?}");
            (m.src, m.dst, m.bytes, Dependency { delay: Time::ZERO, ..m.dependency })
        })
        .collect();
    let expected = [
        (1, 7, 1600, chain(None, false, Some(0))),
        (7, 1, 500_000, chain(Some(0), true, Some(2))),
        (1, 2, 1600, chain(None, false, Some(1))),
        (2, 1, 500_000, chain(Some(1), true, Some(2))),
        (1, 7, 1600, chain(Some(2), false, Some(3))),
        (7, 1, 500_000, chain(Some(3), true, Some(5))),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn flows_of_the_callers_join_the_first_traffic() {
    let spec = checked(EXAMPLE).unwrap();
    let flow = |dst| ListedFlow { start: Time::from_us(3), src: 1, dst, bytes: 4242, group: fanin_workload::NO_GROUP };
    let built = spec.build_with(vec![flow(2)]).unwrap();
    let mine: Vec<Message> = built.messages.filter(|m| m.bytes == 4242).collect();
    assert_eq!(mine.len(), 1);
    assert_eq!((mine[0].traffic, mine[0].dst, mine[0].start), (0, 2, Time::from_us(3)));
    let error = spec.build_with(vec![flow(16)]).err().unwrap().to_string();
    assert!(error.contains("there is no host 16") && error.contains("hosts are 0 to 15"), "{error}");
}

#[test]
fn doubtful_specs_are_warned_of() {
    assert!(checked(EXAMPLE).unwrap().warnings().is_empty());
    let text =
        EXAMPLE.replace("share = 0.24", "share = 0.9").replace("lossless\" }", "lossless\", headroom = \"1 KB\" }");
    let spec = checked(&text).unwrap();
    let [headroom, load] = spec.warnings() else { panic!("{:?}", spec.warnings()) };
    assert!(headroom.contains("headroom = 1 KB") && headroom.contains("17.063 KB"), "{headroom}");
    assert!(load.contains("106 % of tor-uplinks"), "{load}");
    let late = EXAMPLE.replace("min_rto = \"20 ms\"", "min_rto = \"1 ms\"");
    let spec = checked(&late).unwrap();
    let [delay] = spec.warnings() else { panic!("{:?}", spec.warnings()) };
    assert!(delay.starts_with("traffic[3].tcp: ") && delay.contains("ack_delay = 1 ms"), "{delay}");
    // Over RDMA nothing of it counts.
    assert!(checked(&late.replace("transport = \"tcp\"", "transport = \"rdma\"")).unwrap().warnings().is_empty());
}

#[test]
fn a_network_whose_routes_do_not_fit_is_refused_before_it_is_built() {
    let text = r#"
spec_version = 1
name = "long"
[network]
topology = { kind = "parking-lot", switches = 20000, hosts = 1, link = "10 Gbps", delay = "1 us" }
buffer = { policy = "unlimited" }
[[traffic]]
name = "all"
scheme = "none"
pattern = { kind = "permutation" }
size = { fixed = "1 KB" }
[measure]
warm_up = "0 s"
window = "1 ms"
"#;
    let error = checked(text).err().unwrap().to_string();
    assert!(error.contains("network.topology") && error.contains("400000000 entries"), "{error}");
}

#[test]
fn the_specs_of_this_repository_can_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut seen = 0;
    for folder in ["examples", "tests/data", "papers/specs/dart", "papers/specs/dctcp", "crates/experiment/bench"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "toml") {
                seen += 1;
                let text = std::fs::read_to_string(&path).unwrap();
                let spec = Spec::from_toml(&text, &path.display().to_string(), path.parent().unwrap());
                let spec = spec.and_then(|spec| spec.check()).unwrap_or_else(|e| panic!("{e}"));
                assert_eq!(spec.warnings(), [""; 0], "{}", path.display());
            }
        }
    }
    assert!(seen >= 10);
}

/// Whether the schema in docs is this one; with UPDATE=1 in the environment it is written.
#[test]
fn the_schema_in_docs_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/spec.schema.json");
    let text = format!("{}\n", serde_json::to_string_pretty(&schema()).unwrap());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == text, "docs/spec.schema.json is stale; run the tests of fanin-experiment with UPDATE=1");
}

#[test]
fn the_schema_knows_every_scheme_and_its_defaults() {
    let schema = schema();
    let branches = schema["$defs"]["SchemeChoice"]["anyOf"].as_array().unwrap();
    for id in crate::loaded::ids::<dyn fanin_cc::own::Program>() {
        let branch = branches.iter().find(|b| b["properties"]["id"]["const"] == id);
        let branch = branch.unwrap_or_else(|| panic!("{id} is not in {branches:?}"));
        let defaults = fanin_cc::Settings::preset(id).unwrap().to_json();
        for (name, value) in defaults.as_object().unwrap() {
            assert_eq!(&branch["properties"][name]["default"], value, "{id}.{name}");
        }
    }
}

#[test]
fn tcp_schemes_bring_tcp_and_only_those_that_understand_marks_offer_ecn() {
    let spec = Spec::from_toml(EXAMPLE, "x.toml", Path::new("")).unwrap();
    for (id, tcp, ecn) in
        [("dctcp", true, true), ("newreno", true, false), ("newreno-ecn", true, true), ("dcqcn", false, true)]
    {
        let built = spec.with_scheme(id).check().unwrap().build();
        let web = &built.traffics[2];
        assert_eq!((web.tcp.is_some(), web.ecn), (tcp, ecn), "{id}");
        assert!(web.tcp.is_none_or(|tcp| tcp.connection.ecn == ecn), "{id}");
        // Of the traffic that chose TCP it stays.
        assert!(built.traffics[3].tcp.is_some(), "{id}");
    }
}

/// A scheme that slows down by marks is told where nothing marks: in its class, by a rate, or at hosts.
#[test]
fn a_scheme_that_needs_marks_is_told_where_nothing_marks() {
    let warned = |scheme: &str, network: &str, traffic: &str| {
        let text = format!(
            "spec_version = 1\nname = \"x\"\n[network]\ntopology = {{ kind = \"star\", hosts = 2, link = \"1 Gbps\", \
             delay = \"1 us\" }}\nbuffer = {{ policy = \"unlimited\" }}\n{network}\n[[traffic]]\nname = \"t\"\nscheme \
             = \"{scheme}\"\npattern = {{ kind = \"long\", count = 1 }}\n{traffic}\n[measure]\nwindow = \"1 ms\"\n"
        );
        let warnings = checked(&text).unwrap().warnings().to_vec();
        warnings.iter().any(|text| text.starts_with("traffic[0].scheme: ") && text.contains("congestion marks"))
    };
    for scheme in [
        "dcqcn",
        "dcqcn-vendor",
        "dctcp",
        "dctcp-rate",
        "newreno-ecn",
        "cubic-ecn",
        "rcc-ecn",
        "dcqcn-ns3",
        "dctcp-ns3",
    ] {
        assert!(warned(scheme, "", ""), "{scheme}");
        assert!(!warned(scheme, "marking = { kind = \"step\", above = \"5 KB\" }", ""), "{scheme}");
    }
    for scheme in ["none", "newreno", "hpcc", "dart", "rcc", "timely"] {
        assert!(!warned(scheme, "", ""), "{scheme}");
    }
    assert!(!warned("dcqcn", "host_queue = { capacity = \"64 KB\", mark_above = \"20 KB\" }", ""));
    assert!(!warned("dcqcn", "", "ecn = false"), "it was asked for");
}
