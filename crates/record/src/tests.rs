//! A small run to test with, and tests of the tables and the summary on it.

use crate::*;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use fanin_cc::Action;
use fanin_fabric::topology::{Cable, Star};
use fanin_fabric::{
    Cause, ClassCounters, Drops, FlowRecord, Hop, HostTotals, HostWait, Message, PauseCause, PauseRecord, PortCounters,
    Totals, TrafficCounters,
};
use fanin_units::{NodeId, PortId, Rate, Time};

/// Number of random cases of a property test.
pub fn cases() -> proptest::test_runner::Config {
    let cases = std::env::var("FANIN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64);
    proptest::test_runner::Config { cases, ..Default::default() }
}

fn flow(traffic: u16, start_us: u64, took_us: Option<u64>, bytes: u64) -> FlowRecord {
    let finished = took_us.map_or(Time::NEVER, |us| Time::from_us(start_us + us));
    FlowRecord {
        start: Time::from_us(start_us),
        finished,
        acked: if finished.is_some() { finished + Time::from_us(1) } else { Time::NEVER },
        bytes,
        delivered: if took_us.is_some() { bytes } else { 0 },
        ideal: Time::from_us(10),
        src: 0,
        dst: 1,
        group: if traffic == 0 { 7 } else { u32::MAX },
        packets_sent: 4,
        packets_resent: 1,
        timeouts: 0,
        request: false,
        given_up: false,
        packets_marked: 1,
        packets_arrived: 4,
        traffic,
        hops: 2,
        links: 0,
        deflections: 0,
        attempts: 0,
        reordered: 0,
    }
}

/// Of the traced message, at a node of the example.
fn hop(us: u64, node: u32, port: Option<u32>) -> Hop {
    Hop {
        time: Time::from_us(us),
        message: 0,
        seq: 1000,
        attempt: 1,
        wire: 1048,
        node: NodeId(node),
        port: port.map(PortId),
        queued: if port.is_some() { 1500 } else { 0 },
        tokens: 3,
        lane: 1,
        deflected: 2,
    }
}

/// Three hosts on a switch; queries of which one never ends, and a long flow.
pub fn example() -> Run {
    let graph = Star { hosts: 3, host_link: Cable::new(Rate::from_gbps(10), Time::from_us(1)) }.build().unwrap();
    let mut counters = TrafficCounters::default();
    counters.actions.count(Action::CnpSent);
    counters.actions.count(Action::CnpSent);
    let info = |name: &str, long| TrafficInfo {
        name: name.into(),
        scheme: "dcqcn".into(),
        transport: "rdma",
        class_name: "data".into(),
        counted_with: Vec::new(),
        counters: counters.clone(),
        bytes_in_window: Some(long + 500),
        long_bytes_in_window: long,
        table_peak: None,
    };
    let mut events = EventLog::new(1);
    for us in [40, 50] {
        let of_drop = Event::new(Time::from_us(us), EventKind::Drop, "sw0>h1", "no buffer");
        events.push(Event { cause: Some("buffer"), ..of_drop });
    }
    let mut ports = vec![PortCounters::default(); 6];
    let us3 = Time::from_us(3);
    ports[3] =
        PortCounters { peak_queue: 9000, pauses: 2, paused: us3, credit_wait: us3 + us3, ..PortCounters::default() };
    let mut class_counters = vec![ClassCounters::default(); 12];
    let us3 = Time::from_us(3);
    class_counters[7] = ClassCounters {
        marked: 4,
        dropped: 5,
        trimmed: 7,
        peak_queue: 9000,
        pauses: 2,
        paused: us3,
        credit_wait: us3,
        credit_waits: 6,
    };
    // A host's own queue is no switch queue.
    ports[2].peak_queue = 1_000_000;
    Run {
        graph,
        traffics: vec![info("queries", 0), info("updates", 125_000)],
        measured_from: Time::from_us(100),
        measured_to: Time::from_us(200),
        stopped: Time::from_us(500),
        slowdown_ideal: "store-and-forward",
        flows: vec![
            flow(0, 99, Some(1000), 8000),
            flow(0, 100, Some(20), 8000),
            flow(0, 150, Some(40), 8000),
            flow(0, 160, Some(30), 2000),
            flow(0, 199, None, 8000),
            flow(0, 200, Some(1000), 8000),
            flow(1, 150, None, Message::ENDLESS),
        ]
        .into(),
        // A query that was never posted is no row.
        numbers: vec![0, 1, 2, 3, 5, 6, 0],
        ports,
        rates: Vec::new(),
        sent_in_window: Vec::new(),
        classes: [("control", false), ("data", true)]
            .map(|(name, lossless)| ClassInfo { name: name.into(), lossless })
            .to_vec(),
        class_counters,
        totals: Totals {
            packet_hops: 1000,
            event_hash: 0xabc,
            // Traffics of one scheme share its actions, so these two cannot be added up.
            hosts: HostTotals { cnps: 2, ..HostTotals::default() },
            drops: Drops { buffer: 1, lossless: 2, ..Drops::default() },
            ..Totals::default()
        },
        series: vec![
            Sample { time: Time::from_us(1), port: PortId(3), queue_bytes: 10 },
            Sample { time: Time::from_us(1), port: PortId(1), queue_bytes: 20 },
            Sample { time: Time::from_us(2), port: PortId(3), queue_bytes: 30 },
        ],
        histograms: vec![Histogram {
            what: "queue".into(),
            place: "last-hop".into(),
            bins: vec![Bin { lower: 0, upper: 1000, count: 5 }, Bin { lower: 1000, upper: 2000, count: 6 }],
        }],
        watched: [(Part::Flow, "updates:0", 1), (Part::Receiver, "h1", 0), (Part::Receiver, "h1", 1)]
            .map(|(part, place, traffic)| Watched { part, place: place.into(), traffic, number: 0 })
            .to_vec(),
        watch: [(1, 0, "rate_bps", 1e9), (1, 2, "n", 3.0), (2, 0, "rate_bps", 5e8), (2, 1, "n", f64::NAN)]
            .map(|(us, of, name, value)| Seen { time: Time::from_us(us), of, name, value })
            .to_vec(),
        traced: vec![Traced { flow: 3, name: "queries:3".into() }],
        hops: vec![hop(1, 3, Some(3)), hop(3, 1, None)],
        host_waits: [(Cause::Overhead, 0, 1), (Cause::Nic, 1, 4)]
            .map(|(cause, from, to)| HostWait { message: 0, cause, begin: Time::from_us(from), end: Time::from_us(to) })
            .to_vec(),
        pauses: pauses(),
        jobs: Vec::new(),
        graphs: Default::default(),
        events,
        files: Vec::new(),
    }
}

fn u64_column(batch: &RecordBatch, name: &str) -> Vec<Option<u64>> {
    batch.column_by_name(name).unwrap().as_primitive::<UInt64Type>().iter().collect()
}

fn label_column(batch: &RecordBatch, name: &str) -> Vec<String> {
    let column = batch.column_by_name(name).unwrap().as_dictionary::<Int32Type>();
    let values = column.downcast_dict::<arrow_array::StringArray>().unwrap();
    values.into_iter().map(|text| text.unwrap().to_string()).collect()
}

#[test]
fn the_flow_table_has_nulls_for_what_did_not_happen() {
    let batch = tables::flows(&example()).unwrap();
    assert_eq!(batch.num_rows(), 7);
    assert_eq!(u64_column(&batch, "flow_id")[6], Some(6));
    assert_eq!(label_column(&batch, "traffic")[5..], ["queries", "updates"]);
    assert_eq!(label_column(&batch, "scheme")[6], "dcqcn");
    // Readers refuse a dictionary that repeats a value, as both traffics' scheme would.
    assert_eq!(batch.column_by_name("scheme").unwrap().as_dictionary::<Int32Type>().values().len(), 1);
    assert_eq!(u64_column(&batch, "completion_ps")[1..5], [Some(20_000_000), Some(40_000_000), Some(30_000_000), None]);
    assert_eq!(u64_column(&batch, "acked_ps")[3..5], [Some(31_000_000), None]);
    let slowdown = batch.column_by_name("slowdown").unwrap().as_primitive::<Float64Type>();
    assert_eq!(slowdown.value(2), 4.0);
    assert!(slowdown.is_null(4));
    let group = batch.column_by_name("group").unwrap().as_primitive::<UInt32Type>();
    assert_eq!(group.iter().skip(5).collect::<Vec<_>>(), [Some(7), None]);
    let measured = batch.column_by_name("measured").unwrap().as_boolean();
    let measured: Vec<bool> = measured.iter().map(|m| m.unwrap()).collect();
    // The window takes in its start but not its end; an endless flow is never a measured message.
    assert_eq!(measured, [false, true, true, true, true, false, false]);
}

#[test]
fn flows_may_have_some_columns_alone() {
    let run = example();
    let whole = tables::flows(&run).unwrap();
    let some = tables::flows_with(&run, Some(&["bytes".into(), "flow_id".into()])).unwrap();
    assert_eq!(some, [whole.project(&[8, 0]).unwrap()]);
    assert_eq!(tables::flows_with(&run, None).unwrap(), [whole]);
    let wrong = tables::flows_with(&run, Some(&["byte".into()])).unwrap_err();
    assert!(wrong.to_string().contains("byte"), "{wrong}");
}

#[test]
fn hosts_of_flows_have_their_names_beside_their_numbers() {
    let mut run = example();
    let names = ["web-1", "web-2", "db"];
    run.graph.names[..3].clone_from_slice(&names.map(String::from));
    let batch = tables::flows(&run).unwrap();
    for (numbers, column) in [("src", "src_name"), ("dst", "dst_name")] {
        let numbers = batch.column_by_name(numbers).unwrap().as_primitive::<UInt32Type>();
        let named: Vec<&str> = numbers.values().iter().map(|host| names[*host as usize]).collect();
        assert_eq!(label_column(&batch, column), named);
    }
    assert_ne!(label_column(&batch, "src_name")[0], label_column(&batch, "dst_name")[0]);
}

#[test]
fn ports_have_names_and_ends() {
    let batch = tables::ports(&example()).unwrap();
    let text = |name, row| batch.column_by_name(name).unwrap().as_string::<i32>().value(row).to_string();
    assert_eq!(batch.num_rows(), 6);
    assert_eq!((text("port", 2), text("from", 2), text("to", 2)), ("h1>sw0".into(), "h1".into(), "sw0".into()));
    assert_eq!(text("port", 3), "sw0>h1");
    assert_eq!(u64_column(&batch, "paused_ps")[3], Some(3_000_000));
    assert_eq!(u64_column(&batch, "rate_bps")[5], Some(10_000_000_000));
    assert_eq!(u64_column(&batch, "delay_ps"), [Some(1_000_000); 6]);
    assert_eq!(label_column(&batch, "tier"), ["host-uplink", "last-hop"].repeat(3));
}

#[test]
fn utilisation_is_the_share_of_the_time_that_a_link_was_busy() {
    let mut run = detoured();
    // Bytes sent before and after the window do not count. 10 Gb/s carry 500,000 B in a window of 400 us; its
    // last packet may have more to go than is left.
    run.measured_from = Time::from_us(100);
    run.measured_to = Time::from_us(500);
    run.stopped = Time::from_us(2_000);
    run.ports.iter_mut().for_each(|port| port.bytes = 2_500_000);
    run.sent_in_window = vec![10_000, 0, 500_001, 32_000, 0, 0];
    let utilisation = |run: &Run| {
        let batch = tables::ports(run).unwrap();
        let column = batch.column_by_name("utilisation").unwrap().as_primitive::<Float64Type>();
        column.iter().collect::<Vec<_>>()
    };
    let expected = [0.02, 0.0, 1.0, 0.064, 0.0, 0.0];
    assert_eq!(utilisation(&run), expected.map(Some));
    // Stopped in the window, it is over what there was of it.
    run.stopped = Time::from_us(300);
    assert_eq!(utilisation(&run), [0.04, 0.0, 1.0, 0.128, 0.0, 0.0].map(Some));
    // Stopped before it, nothing is known.
    (run.stopped, run.sent_in_window) = (Time::from_us(50), Vec::new());
    assert_eq!(utilisation(&run), [None; 6]);
}

#[test]
fn what_a_port_shows_is_of_no_traffic() {
    let mut run = example();
    run.watched.push(Watched { part: Part::Port, place: "sw0>h1".into(), traffic: 0, number: 3 });
    run.watched.push(Watched { part: Part::Traffic, place: "updates".into(), traffic: 1, number: 0 });
    let seen = |of, name, value| Seen { time: Time::from_us(3), of, name, value };
    run.watch = vec![seen(3, "sent_bytes", 1500.0), seen(4, "delivered_bytes", 1460.0)];
    let batch = tables::watch(&run).unwrap();
    assert_eq!(label_column(&batch, "what"), ["port", "traffic"]);
    assert_eq!(label_column(&batch, "where"), ["sw0>h1", "updates"]);
    let traffic = batch.column_by_name("traffic").unwrap().as_dictionary::<Int32Type>();
    let names = traffic.downcast_dict::<arrow_array::StringArray>().unwrap();
    assert_eq!(names.into_iter().collect::<Vec<_>>(), [None, Some("updates")]);
}

#[test]
fn each_port_has_a_row_for_each_class() {
    let batch = tables::classes(&example()).unwrap();
    assert_eq!(batch.num_rows(), 12);
    let port = batch.column_by_name("port").unwrap().as_string::<i32>();
    assert_eq!([5, 6, 7].map(|row| port.value(row)), ["h1>sw0", "sw0>h1", "sw0>h1"]);
    assert_eq!(label_column(&batch, "class_name")[6..9], ["control", "data", "control"]);
    let class = batch.column_by_name("class").unwrap().as_primitive::<UInt32Type>();
    assert_eq!((class.value(6), class.value(7)), (0, 1));
    let lossless = batch.column_by_name("lossless").unwrap().as_boolean();
    assert_eq!((lossless.value(6), lossless.value(7)), (false, true));
    let row = |name| u64_column(&batch, name)[7];
    assert_eq!([row("marked_packets"), row("dropped_packets"), row("pauses")], [Some(4), Some(5), Some(2)]);
    assert_eq!((row("peak_queue_bytes"), row("paused_ps")), (Some(9000), Some(3_000_000)));
}

#[test]
fn parallel_links_have_ports_of_their_own() {
    let mut graph = example().graph;
    let again = graph.links[0].clone();
    graph.links.push(again);
    assert_eq!(port_names(&graph)[6..], ["h0>sw0#2", "sw0>h0#2"]);
}

#[test]
fn series_histograms_and_events_are_tables() {
    let run = example();
    let series = tables::series(&run).unwrap();
    assert_eq!(label_column(&series, "port"), ["sw0>h1", "sw0>h0", "sw0>h1"]);
    assert_eq!(u64_column(&series, "queue_bytes"), [Some(10), Some(20), Some(30)]);
    let histograms = tables::histograms(&run).unwrap();
    assert_eq!(u64_column(&histograms, "upper_bytes"), [Some(1000), Some(2000)]);
    assert_eq!(u64_column(&histograms, "count"), [Some(5), Some(6)]);
    let events = tables::events(&run).unwrap();
    assert_eq!(events.num_rows(), 1);
    assert_eq!(events.schema().metadata()["left_out.drop"], "1");
    assert_eq!(events.schema().metadata()["left_out.pause"], "0");
}

#[test]
fn what_schemes_show_is_a_table_with_a_row_per_value() {
    let batch = tables::watch(&example()).unwrap();
    assert_eq!(u64_column(&batch, "time_ps"), [1, 1, 2, 2].map(|us| Some(us * 1_000_000)));
    assert_eq!(label_column(&batch, "what"), ["flow", "receiver", "flow", "receiver"]);
    assert_eq!(label_column(&batch, "where"), ["updates:0", "h1", "updates:0", "h1"]);
    // The same host is there for each traffic.
    assert_eq!(label_column(&batch, "traffic"), ["updates", "updates", "updates", "queries"]);
    assert_eq!(label_column(&batch, "name"), ["rate_bps", "n", "rate_bps", "n"]);
    let values = batch.column_by_name("value").unwrap().as_primitive::<Float64Type>();
    assert_eq!([values.value(0), values.value(1), values.value(2)], [1e9, 3.0, 5e8]);
    assert!(values.value(3).is_nan() && values.null_count() == 0);
}

#[test]
fn hops_name_where_a_packet_was_and_have_no_port_at_its_host() {
    let batch = tables::hops(&example()).unwrap();
    assert_eq!(u64_column(&batch, "time_ps"), [Some(1_000_000), Some(3_000_000)]);
    assert_eq!(u64_column(&batch, "flow_id"), [Some(3); 2]);
    assert_eq!(label_column(&batch, "message"), ["queries:3"; 2]);
    assert_eq!(label_column(&batch, "node"), ["sw0", "h1"]);
    let port = batch.column_by_name("port").unwrap().as_dictionary::<Int32Type>();
    let names = port.downcast_dict::<arrow_array::StringArray>().unwrap();
    assert_eq!(names.into_iter().collect::<Vec<_>>(), [Some("sw0>h1"), None]);
    assert_eq!(u64_column(&batch, "seq_bytes"), [Some(1000); 2]);
    assert_eq!(u64_column(&batch, "queued_bytes"), [Some(1500), Some(0)]);
    assert_eq!(batch.column_by_name("attempt").unwrap().as_primitive::<UInt16Type>().value(0), 1);
    let small = |name| batch.column_by_name(name).unwrap().as_primitive::<UInt8Type>().value(1);
    assert_eq!([small("tokens"), small("lane"), small("deflections")], [3, 1, 2]);
}

/// A pause by congestion, one that it led to and that lasts, and one by a storm.
fn pauses() -> Vec<PauseRecord> {
    let pause = |port, begin, cause, parent: Option<u32>, tree, depth| PauseRecord {
        port: PortId(port),
        class: 1,
        begin: Time::from_us(begin),
        end: if parent.is_some() { Time::NEVER } else { Time::from_us(begin + 5) },
        cause,
        parent,
        tree,
        depth,
    };
    vec![
        pause(1, 2, PauseCause::Congestion(PortId(3), 1), None, 0, 1),
        pause(2, 3, PauseCause::Pause(PortId(1), 1), Some(0), 0, 2),
        pause(1, 9, PauseCause::Storm, None, 1, 1),
    ]
}

#[test]
fn pauses_name_their_cause_and_what_they_follow_from() {
    let batch = tables::pauses(&example()).unwrap();
    let names = port_names(&example().graph);
    assert_eq!(label_column(&batch, "port"), [1, 2, 1].map(|port: usize| names[port].as_str()));
    assert_eq!(label_column(&batch, "cause"), ["congestion", "pause", "storm"]);
    assert_eq!(u64_column(&batch, "begin_ps"), [2, 3, 9].map(|us| Some(us * 1_000_000)));
    assert_eq!(u64_column(&batch, "end_ps"), [Some(7_000_000), None, Some(14_000_000)]);
    let by = batch.column_by_name("by").unwrap().as_dictionary::<Int32Type>();
    let by = by.downcast_dict::<arrow_array::StringArray>().unwrap();
    assert_eq!(by.into_iter().collect::<Vec<_>>(), [Some(names[3].as_str()), Some(names[1].as_str()), None]);
    let parent = batch.column_by_name("parent").unwrap().as_primitive::<UInt32Type>();
    assert_eq!(parent.iter().collect::<Vec<_>>(), [None, Some(0), None]);
    let depth = batch.column_by_name("depth").unwrap().as_primitive::<UInt16Type>();
    assert_eq!(depth.values(), &[1, 2, 1]);
}

#[test]
fn waits_at_hosts_name_their_cause() {
    let batch = tables::host_waits(&example()).unwrap();
    assert_eq!(u64_column(&batch, "flow_id"), [Some(3); 2]);
    assert_eq!(label_column(&batch, "message"), ["queries:3"; 2]);
    assert_eq!(label_column(&batch, "cause"), ["overhead", "nic"]);
    assert_eq!(u64_column(&batch, "begin_ps"), [Some(0), Some(1_000_000)]);
    assert_eq!(u64_column(&batch, "end_ps"), [Some(1_000_000), Some(4_000_000)]);
}

/// The example with two messages that came by longer ways, in other order and again, and one that never arrived.
fn detoured() -> Run {
    let mut run = example();
    for (flow, links, deflections) in [(1, 2, 0), (2, 6, 2), (3, 3, 1), (4, 0, 0), (5, 9, 3)] {
        let flow = &mut run.flows[flow];
        *flow = FlowRecord { links, deflections, attempts: 2, reordered: 5, ..*flow };
    }
    run.totals.drops = Drops { blocked: 3, wrong_host: 4, ..Drops::default() };
    run.totals.hosts.reordered = 10;
    run.totals.hosts.reorder_distance = 3000;
    run.totals.hosts.detour_bytes = 2500;
    run.ports[0].bytes = 12_500;
    run.ports[3].bytes = 40_000;
    run
}

#[test]
fn flows_tell_of_detours_attempts_and_order() {
    let batch = tables::flows(&detoured()).unwrap();
    let wide = |name| batch.column_by_name(name).unwrap().as_primitive::<UInt16Type>().value(2);
    assert_eq!([wide("hops"), wide("links"), wide("attempts")], [2, 6, 2]);
    assert_eq!(batch.column_by_name("deflections").unwrap().as_primitive::<UInt8Type>().value(2), 2);
    assert_eq!(batch.column_by_name("reordered").unwrap().as_primitive::<UInt32Type>().value(2), 5);
}

#[test]
fn a_summary_tells_what_deflection_costs() {
    let summary = summarise(&detoured(), SizeRange::only(8000), false);
    let queries = &summary.traffics[0];
    // Of all sizes, in the window, where the first packet arrived: (2 + 6 + 3) links instead of 3 times 2.
    assert_eq!((queries.path_dilation, queries.deflected), (Some(11.0 / 6.0 - 1.0), 2));
    assert_eq!((summary.traffics[1].path_dilation, summary.traffics[1].deflected), (None, 0));
    let network = &summary.network;
    assert_eq!((network.drops.total, network.drops.blocked, network.drops.wrong_host), (7, 3, 4));
    assert_eq!((network.reordered, network.reorder_distance_bytes), (10, 3000));
    assert_eq!((network.link_bytes, network.detour_bytes), (52_500, 2500));
    assert_eq!(network.load_increase, Some(0.05));
    assert_eq!(summarise(&example(), SizeRange::ALL, false).network.load_increase, None);
}

#[test]
fn dart_tells_of_its_states_its_counts_and_its_tables() {
    // DCQCN sends CNPs too, and is not Dart.
    assert_eq!(summarise(&example(), SizeRange::ALL, false).traffics[0].of_scheme.dart, None);
    let mut run = example();
    let actions = &mut run.traffics[0].counters.actions;
    actions.add_up(Action::ShareTold, 4);
    actions.add_up(Action::CountTold, 10);
    actions.add_up(Action::NoCongestion, 1500);
    actions.add_up(Action::ReceiverCongestion, 2000);
    actions.add_up(Action::NonReceiverCongestion, 250);
    // One switch over 500 us.
    actions.add_up(Action::EntryTime, 1_000_000);
    // Tables alone tell that it is Dart, though nothing was deflected.
    run.traffics[1].table_peak = Some(0);
    let summary = |run: &Run| -> Vec<fanin_cc::schemes::dart::Summary> {
        summarise(run, SizeRange::ALL, false).traffics.into_iter().map(|t| t.of_scheme.dart.unwrap()).collect()
    };
    let [queries, updates] = summary(&run)[..] else { panic!("two traffics") };
    assert_eq!(queries.sender_count, Some(2.5));
    let us = [queries.no_congestion_us, queries.receiver_congestion_us, queries.non_receiver_congestion_us];
    assert_eq!(us, [1.5, 2.0, 0.25]);
    assert_eq!((queries.table_entries, queries.table_peak), (None, None));
    assert_eq!((updates.sender_count, updates.table_entries, updates.table_peak), (None, Some(0.0), Some(0)));
    run.traffics[0].table_peak = Some(7);
    let queries = summary(&run)[0];
    assert_eq!((queries.table_entries, queries.table_peak), (Some(2.0), Some(7)));
    // With two more switches each has a third of that.
    run.graph.names.extend(["sw1".into(), "sw2".into()]);
    assert_eq!(summary(&run)[0].table_entries, Some(2.0 / 3.0));
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let watched = |change: fn(&mut Run)| {
        let mut run = example();
        change(&mut run);
        tables::watch(&run).unwrap_err().to_string()
    };
    assert!(watched(|run| run.watched[0].traffic = 2).contains("updates:0 is of traffic 2 of 2"));
    assert!(watched(|run| run.watch[3].of = 3).contains("a value of watched part 3 of 3"));
    assert!(watched(|run| run.traced[0].flow = 7).contains("queries:3 is flow 7 of 7"));
    assert!(watched(|run| run.hops[1].message = 1).contains("a hop of traced message 1 of 1"));
    assert!(watched(|run| run.host_waits[1].message = 1).contains("a wait of traced message 1 of 1"));
    assert!(watched(|run| run.hops[1].node = NodeId(4)).contains("beyond the 4 nodes and 6 ports"));
    assert!(watched(|run| run.hops[0].port = Some(PortId(6))).contains("beyond the 4 nodes and 6 ports"));
    let mut run = example();
    run.flows[2].traffic = 2;
    assert!(tables::flows(&run).unwrap_err().to_string().contains("flow 2 is of traffic 2 of 2"));
    let mut run = example();
    run.ports.pop();
    assert!(tables::ports(&run).unwrap_err().to_string().contains("5 ports, but the network has 6"));
    let mut run = example();
    run.class_counters.pop();
    assert!(tables::classes(&run).unwrap_err().to_string().contains("11 counters by class, but the network has 6"));
    let mut run = example();
    run.series[0].port = PortId(6);
    assert!(tables::series(&run).unwrap_err().to_string().contains("port 6 of 6"));
}

#[test]
fn a_summary_counts_unfinished_messages_and_only_the_window() {
    let summary = summarise(&example(), SizeRange::only(8000), false);
    let queries = &summary.traffics[0];
    assert_eq!((queries.started, queries.finished, queries.unfinished), (4, 3, 1));
    assert_eq!((queries.sized_started, queries.sized_unfinished), (3, 1));
    let times = queries.completion_us;
    assert_eq!((times.count, times.p50, times.p99, times.p999), (2, Some(20.0), Some(40.0), Some(40.0)));
    assert_eq!(times.mean, Some(30.0));
    assert_eq!((queries.slowdown.p50, queries.slowdown.max), (Some(2.0), Some(4.0)));
    assert_eq!(queries.marked_share, Some(0.25));
    assert_eq!(queries.packets_resent, 4);
    assert_eq!(queries.actions["cnps_sent"], 2);
    assert_eq!(queries.actions["cuts"], 0);
    let updates = &summary.traffics[1];
    assert_eq!((updates.started, updates.endless), (0, 1));
    // 125 KB in 100 us.
    assert_eq!(updates.long_goodput_gbps, 10.0);
    assert_eq!((updates.completion_us.p50, updates.marked_share), (None, None));
    let network = &summary.network;
    assert_eq!((network.cnps, network.pauses, network.paused_us, network.credit_wait_us), (2, 2, 3.0, 6.0));
    assert_eq!((network.drops.total, network.drops.lossless), (3, 2));
    assert_eq!(network.peak_queue_bytes, 9000);
    assert_eq!(network.events_left_out["drop"], 1);
    assert_eq!(summarise(&example(), SizeRange::ALL, false).traffics[0].completion_us.count, 3);
}

#[test]
fn a_lossless_drop_is_an_error_unless_allowed() {
    let errors = summarise(&example(), SizeRange::ALL, false).errors;
    assert_eq!(errors.len(), 1);
    assert!(errors[0].contains("2 packets of lossless classes") && errors[0].contains("measure.allow_drops"));
    assert!(summarise(&example(), SizeRange::ALL, true).errors.is_empty());
    let mut run = example();
    run.totals.drops.lossless = 0;
    assert!(summarise(&run, SizeRange::ALL, false).errors.is_empty());
}

#[test]
fn requests_count_in_nothing_and_queries_last_from_first_request_to_last_answer() {
    let mut run = example();
    let of = |group, src, dst, start_us, took_us| FlowRecord { group, src, dst, ..flow(0, start_us, took_us, 8000) };
    run.flows = vec![
        // Client 2 begins before the window, and ends in it.
        of(0, 2, 1, 90, Some(5)),
        of(0, 1, 2, 110, Some(20)),
        // It asks two servers in the second round; each has its own time to answer.
        of(1, 2, 1, 150, Some(5)),
        of(1, 2, 0, 151, Some(5)),
        of(1, 1, 2, 170, Some(40)),
        of(1, 0, 2, 160, Some(10)),
        // Client 0 is left without one of two answers, and never asks again.
        of(2, 0, 1, 120, Some(5)),
        of(2, 0, 2, 120, Some(5)),
        of(2, 2, 0, 131, None),
        of(2, 1, 0, 130, Some(9)),
        // The server of this one still thinks when the run stops.
        of(4, 0, 1, 140, Some(5)),
        FlowRecord { start: Time::NEVER, ..of(3, 0, 1, 0, None) },
        FlowRecord { start: Time::NEVER, ..of(3, 1, 0, 0, None) },
    ]
    .into();
    run.numbers = numbers(run.flows.iter()).collect();
    for number in 0..run.flows.len() {
        let flow = &mut run.flows[number];
        flow.request = flow.src == if flow.group < 2 { 2 } else { 0 };
    }
    run.flows[4].timeouts = 2;
    let summary = &summarise(&run, SizeRange::ALL, true).traffics[0];
    assert_eq!((summary.started, summary.finished, summary.unfinished), (5, 4, 1));
    assert_eq!(
        (summary.completion_us.count, summary.completion_us.p50, summary.completion_us.max),
        (4, Some(10.0), Some(40.0))
    );
    let queries = summary.queries.as_ref().unwrap();
    assert_eq!((queries.started, queries.finished, queries.timed_out), (3, 1, 1));
    assert_eq!((queries.completion_us.count, queries.completion_us.mean), (1, Some(60.0)));
    // The same flows without that knowledge are messages like any others.
    (0..run.flows.len()).for_each(|number| run.flows[number].request = false);
    let summary = &summarise(&run, SizeRange::ALL, true).traffics[0];
    assert_eq!((summary.started, summary.queries.is_none()), (10, true));
}
