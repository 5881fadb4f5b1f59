use super::*;
use crate::Spec;
use fanin_units::Rate;
use std::path::Path;

/// Two messages of 100 KB at 1 Gb/s, the second at 1 ms, together with an endless flow; the window is 50 ms.
fn outcome(measure: &str) -> Outcome {
    let queues = "{ what = \"queue\", where = \"last-hop\", every = \"100 us\", zeros = true }";
    outcome_of(queues, measure)
}

fn outcome_of(series: &str, measure: &str) -> Outcome {
    let text = format!(
        "spec_version = 1\nname = \"x\"\n[network]\ntopology = {{ kind = \"star\", hosts = 4, link = \"1 Gbps\", \
         delay = \"1 us\" }}\nbuffer = {{ policy = \"unlimited\" }}\n[[traffic]]\nname = \"once\"\nscheme = \
         \"none\"\nsize = {{ fixed = \"100 KB\" }}\npattern = {{ kind = \"incast\", degree = 1, senders = [\"h0\"], \
         receivers = [\"h1\"] }}\n[[traffic]]\nname = \"later\"\nstart = \"1 ms\"\nscheme = \"none\"\nsize = {{ fixed \
         = \"100 KB\" }}\npattern = {{ kind = \"incast\", degree = 1, senders = [\"h0\"], receivers = [\"h1\"] \
         }}\n[[traffic]]\nname = \"long\"\nscheme = \"none\"\npattern = {{ kind = \"long\", count = 1, senders = \
         [\"h2\"], receivers = [\"h3\"] }}\n[measure]\nwindow = \"50 ms\"\nseries = [{series}]\n{measure}"
    );
    let spec = Spec::from_toml(&text, "x.toml", Path::new("")).unwrap().check().unwrap();
    run(spec.build(), &mut |_| true)
}

#[test]
fn a_window_may_end_when_all_is_done() {
    let run = outcome("stop_when_done = true\n").run;
    let last = run.flows.iter().map(|f| f.finished).filter(|f| f.is_some()).max().unwrap();
    // 100 KB take 0.8 ms and headers, so between the two messages nothing is open, yet one is to come.
    assert!(run.flows[0].finished.is_some() && run.flows[0].finished < Time::from_ms(1));
    assert!(last > Time::from_us(1800) && last < Time::from_us(1900), "{last}");
    assert!(run.measured_to >= last && run.measured_to <= last + DRAIN_STEP, "{} and {last}", run.measured_to);
    assert_eq!(run.stopped, run.measured_to);
    // Averages over the window are over this one.
    let goodput = run.traffics[2].long_bytes_in_window as f64 * 8.0 / run.measured_to.as_secs_f64();
    assert!((0.93e9..0.97e9).contains(&goodput), "{goodput}");
    assert!(run.series.iter().all(|sample| sample.time < run.measured_to + DRAIN_STEP));
    let whole = outcome("").run;
    assert_eq!((whole.measured_to, whole.stopped), (Time::from_ms(50), Time::from_ms(50)));
    let once = |run: &Run| run.flows.iter().filter(|f| f.bytes == 100_000).collect::<Vec<_>>();
    assert_eq!(once(&whole), once(&run));
}

/// The warnings of a run but for that of queues which never fill: these are small runs.
fn warnings(run: &Run) -> Vec<&str> {
    let all = run.events.kept().iter().filter(|e| e.kind == EventKind::Warning).map(|e| e.detail.as_str());
    all.filter(|warning| !warning.starts_with("no queue of a switch")).collect()
}

#[test]
fn messages_are_watched_while_they_send() {
    let series = "{ what = \"flow\", where = [\"later:0\", \"long:0\", \"once:5\"], every = \"100 us\" }, { what = \
                  \"receiver\", where = [\"h1\"], every = \"1 ms\" }";
    let run = outcome_of(series, "").run;
    let of = |name: &str| run.watched.iter().position(|watched| watched.place == name).unwrap() as u32;
    let seen = |name: &str| run.watch.iter().filter(|s| s.of == of(name)).copied().collect::<Vec<Seen>>();
    // 100 KB from 1 ms on: a sample sees what was before its instant.
    let times: Vec<Time> = seen("later:0").iter().filter(|s| s.name == "rate_bps").map(|s| s.time).collect();
    assert_eq!(times, (11..=18).map(|i| Time::from_us(100 * i)).collect::<Vec<_>>());
    // Every 100 us of the window of 50 ms but at its start.
    let rates: Vec<f64> = seen("long:0").iter().filter(|s| s.name == "rate_bps").map(|s| s.value).collect();
    assert_eq!((rates.len(), rates[0]), (499, 1e9));
    assert_eq!(seen("long:0").iter().filter(|s| s.name == "window_bytes").count(), 499);
    assert_eq!(warnings(&run), ["measure names the message \"once:5\", but there was none"]);
    assert!(run.histograms.is_empty() && run.series.is_empty());
    // One of each traffic, whose scheme shows nothing.
    assert_eq!(run.watched.iter().filter(|watched| watched.part == Part::Receiver).count(), 3);
    // To look changes nothing.
    assert_eq!(run.totals.event_hash, outcome("").run.totals.event_hash);
}

#[test]
fn traced_messages_leave_their_hops() {
    let traced = outcome("trace = [\"later:0\", \"once:0\"]\n").run;
    let names: Vec<&str> = traced.traced.iter().map(|t| t.name.as_str()).collect();
    let starts: Vec<Time> = traced.traced.iter().map(|t| traced.flows[t.flow as usize].start).collect();
    assert_eq!((names, starts), (vec!["once:0", "later:0"], vec![Time::ZERO, Time::from_ms(1)]));
    let hops: Vec<&Hop> = traced.hops.iter().filter(|hop| hop.message == 1).collect();
    assert_eq!(hops.len() as u32, 3 * traced.flows[traced.traced[1].flow as usize].packets_sent);
    assert!(hops.iter().all(|hop| hop.time >= Time::from_ms(1)));
    // The first packet of 1522 B: at the switch, then at its host, a microsecond and its own time later.
    let first: Vec<&&Hop> = hops.iter().filter(|hop| hop.seq == 0).collect();
    let names = |hop: &Hop| {
        let port = hop.port.map(|port| port_names(&traced.graph)[port.ix()].clone());
        (traced.graph.names[hop.node.ix()].clone(), port)
    };
    assert_eq!(names(first[0]), ("h0".into(), Some("h0>sw0".into())));
    assert_eq!(names(first[1]), ("sw0".into(), Some("sw0>h1".into())));
    assert_eq!(names(first[2]), ("h1".into(), None));
    // It leaves as its message is posted, and takes as long on either link.
    assert_eq!((first[0].time, first[0].queued), (Time::from_ms(1), 0));
    let link = Time::from_us(1) + Rate::from_gbps(1).tx_time(1522);
    assert_eq!([first[1].time, first[2].time], [first[0].time + link, first[0].time + link + link]);
    // The second one leaves when the first has left.
    let second = hops.iter().find(|hop| hop.seq == 1460).unwrap();
    assert_eq!(second.time, first[0].time + Rate::from_gbps(1).tx_time(1522));
    assert_eq!(traced.totals.event_hash, outcome("").run.totals.event_hash);
    assert!(outcome("").run.hops.is_empty());
}

#[test]
fn a_traced_message_is_the_same_row_where_others_were_never_posted() {
    // Of ten rounds the window has room for two, but all are known before the other message.
    let text = "spec_version = 1\nname = \"x\"\n[network]\ntopology = { kind = \"star\", hosts = 3, link = \"1 Gbps\", \
                delay = \"1 us\" }\nbuffer = { policy = \"unlimited\" }\n[[traffic]]\nname =                     \
                \"asks\"\nscheme = \"newreno\"\npattern = { kind = \"query\", clients = [\"h0\"], servers = \
                [\"h1\"],                     rounds = 10, total = \"1 KB\", service_time = [\"1 ms\", \"1 ms\"] \
                }\n[[traffic]]\nname = \"late\"\nstart                     = \"1 ms\"\nscheme = \"none\"\nsize = { \
                fixed = \"8 KB\" }\npattern = { kind = \"incast\", degree =                     1, senders = [\"h2\"], \
                receivers = [\"h1\"] }\n[measure]\nwindow = \"2 ms\"\ndrain = false\ntrace =                     \
                [\"late:0\", \"asks:19\"]\n";
    let spec = Spec::from_toml(text, "x.toml", Path::new("")).unwrap().check().unwrap();
    let run = run(spec.build(), &mut |_| true).run;
    assert!(run.flows.len() < 21, "{} messages were posted", run.flows.len());
    let [traced] = &run.traced[..] else { panic!("{:?}", run.traced) };
    assert_eq!((traced.name.as_str(), run.flows[traced.flow as usize].traffic), ("late:0", 1));
    assert!(!run.hops.is_empty() && run.hops.iter().all(|hop| hop.message == 0));
    assert_eq!(warnings(&run), ["measure names the message \"asks:19\", but there was none"]);
}

#[test]
fn what_is_kept_has_a_limit_and_the_rest_is_counted() {
    let mut kept = Kept::new(2);
    (0..5).for_each(|i| kept.push(i));
    assert_eq!((kept.values, kept.left_out), (vec![0, 1], 3));
    let text = "spec_version = 1\nname = \"x\"\n[network]\ntopology = { kind = \"star\", hosts = 2, link = \"400 \
                Gbps\", delay = \"1 us\" }\nbuffer = { policy = \"unlimited\" }\n[[traffic]]\nname = \"long\"\nscheme \
                = \"none\"\npattern = { kind = \"long\", count = 1, senders = [\"h0\"], receivers = [\"h1\"] \
                }\n[measure]\nwindow = \"20 ms\"\ntrace = [\"long:0\"]\n";
    let spec = Spec::from_toml(text, "x.toml", Path::new("")).unwrap().check().unwrap();
    let run = run(spec.build(), &mut |_| true).run;
    // Each packet left its host, and arrived at the switch and then at the host, but for those under way.
    let sent = u64::from(run.flows[0].packets_sent);
    assert_eq!((run.hops.len(), sent > 600_000), (Hop::KEPT, true), "{sent} packets");
    let told: Vec<u64> = warnings(&run)[0].split(' ').filter_map(|word| word.parse().ok()).collect();
    assert!(told[0].abs_diff(3 * sent - Hop::KEPT as u64) < 1000 && told[1] == Hop::KEPT as u64, "{told:?}");
}

/// The values of one name at one place, in order of time.
fn values(run: &Run, place: &str, name: &str) -> Vec<(Time, f64)> {
    let of = |seen: &&Seen| run.watched[seen.of as usize].place == place && seen.name == name;
    run.watch.iter().filter(of).map(|seen| (seen.time, seen.value)).collect()
}

/// Packets of 1522 B take this many nanoseconds at 1 Gb/s.
const PACKET_NS: u64 = 12_176;

/// Number of packets of a flow at line rate that have begun to pass, when the first one did after `first` nanoseconds.
fn passed(at: Time, first: u64) -> f64 {
    (at.as_ps() / 1000).saturating_sub(first).div_ceil(PACKET_NS) as f64
}

#[test]
fn a_lone_flow_at_line_rate_passes_ports_and_arrives_packet_by_packet() {
    let series = "{ what = \"flow\", where = [\"long:0\", \"later:0\"], every = \"100 us\" }, { what = \"port\", where \
                  = [\"h2>sw0\", \"sw0>h3\", \"h3>sw0\"], every = \"100 us\" }, { what = \"traffic\", where = \
                  [\"long\", \"later\"], every = \"100 us\" }";
    let run = outcome_of(series, "").run;
    // The first packet leaves the host at once, the switch a link later (12.176 us and 1 us), and is there after two.
    let link = PACKET_NS + 1000;
    let sent = values(&run, "h2>sw0", "sent_bytes");
    assert_eq!(sent.len(), 500);
    assert!(sent.iter().all(|(at, bytes)| *bytes == 1522.0 * passed(*at, 0)), "{sent:?}");
    let forwarded = values(&run, "sw0>h3", "sent_bytes");
    assert!(forwarded.iter().all(|(at, bytes)| *bytes == 1522.0 * passed(*at, link)), "{forwarded:?}");
    // At 100 us: 9 packets have begun to leave the host, 8 the switch, and 7 have arrived.
    assert_eq!((sent[1].1, forwarded[1].1), (9.0 * 1522.0, 8.0 * 1522.0));
    for (place, first) in [("long:0", 1), ("long", 0)] {
        let delivered = values(&run, place, "delivered_bytes");
        assert_eq!(delivered.iter().find(|(at, _)| *at == Time::from_us(100)).unwrap().1, 7.0 * 1460.0);
        assert_eq!(delivered.len(), 500 - first);
        assert!(delivered.iter().all(|(at, bytes)| *bytes == 1460.0 * passed(*at, 2 * link)), "{delivered:?}");
    }
    // A message shows what arrived to the end of the window, and its sender only while it sends.
    let delivered = values(&run, "later:0", "delivered_bytes");
    assert_eq!((delivered[0].0, delivered.len()), (Time::from_us(1100), 489));
    // Its first packet left at 1 ms.
    assert_eq!(delivered[0].1, 1460.0 * passed(Time::from_us(100), 2 * link));
    assert!(delivered.iter().skip(8).all(|(_, bytes)| *bytes == 100_000.0), "{delivered:?}");
    let of_traffic = values(&run, "later", "delivered_bytes");
    assert_eq!(of_traffic[11..], delivered[..]);
    assert!(of_traffic[..11].iter().all(|(_, bytes)| *bytes == 0.0));
    // Posted at 1 ms, 69 packets: open from 1.1 ms to 1.8 ms.
    let open: Vec<Time> = values(&run, "later", "open_messages").iter().filter(|v| v.1 > 0.0).map(|v| v.0).collect();
    assert_eq!(open, (11..=18).map(|i| Time::from_us(100 * i)).collect::<Vec<_>>());
    assert!(values(&run, "long", "open_messages").iter().skip(1).all(|(_, open)| *open == 1.0));
    assert!(values(&run, "sw0>h3", "paused_us").iter().all(|(_, us)| *us == 0.0));
    // To look changes nothing.
    assert_eq!(run.totals.event_hash, outcome("").run.totals.event_hash);
}

#[test]
fn messages_on_one_connection_show_what_arrived_of_each() {
    let folder = std::env::temp_dir().join(format!("fanin-{}-three", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("three.csv"), "src,dst,bytes,start_us\n0,1,100000,0\n0,1,100000,0\n0,1,50000,1500\n")
        .unwrap();
    for (scheme, transport) in [("none", "rdma = { persistent = true }"), ("dctcp", "tcp = { persistent = true }")] {
        let text = format!(
            "spec_version = 1\nname = \"x\"\n[network]\ntopology = {{ kind = \"star\", hosts = 2, link = \"1 Gbps\", \
             delay = \"1 us\" }}\nbuffer = {{ policy = \"unlimited\" }}\n[[traffic]]\nname = \"three\"\nscheme = \
             \"{scheme}\"\n{transport}\npattern = {{ kind = \"list\", file = \"three.csv\" }}\n[measure]\nwindow = \"5 \
             ms\"\nseries = [{{ what = \"flow\", where = [\"three:0\", \"three:1\", \"three:2\"], every = \"100 us\" \
             }}, {{ what = \"traffic\", where = [\"three\"], every = \"100 us\" }}]\n"
        );
        let spec = Spec::from_toml(&text, "x.toml", &folder).unwrap().check().unwrap();
        let run = run(spec.build(), &mut |_| true).run;
        let [first, second, third, all] = ["three:0", "three:1", "three:2", "three"]
            .map(|place| values(&run, place, "delivered_bytes").into_iter().collect::<BTreeMap<Time, f64>>());
        let mut parts = 0;
        for (at, sum) in all {
            let [first, second, third] = [&first, &second, &third].map(|of| of.get(&at).copied().unwrap_or(0.0));
            assert_eq!(first + second + third, sum, "{scheme} at {at}");
            assert!(second == 0.0 || first == 100_000.0, "in order: {scheme} at {at}");
            parts += u32::from(second > 0.0 && second < 100_000.0);
        }
        assert!(parts > 3, "{scheme}: {parts}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_pause_that_lasts_counts_so_far() {
    // Two hosts into one: the switch pauses both again and again.
    let spec = |series: &str| {
        format!(
            "spec_version = 1\nname = \"x\"\n[network]\ntopology = {{ kind = \"star\", hosts = 3, link = \"10 Gbps\", \
             delay = \"1 us\" }}\nbuffer = {{ policy = \"lossless\", per_port = \"200 KB\" }}\n[[traffic]]\nname = \
             \"long\"\nscheme = \"none\"\npattern = {{ kind = \"long\", count = 2, senders = [\"h0\", \"h1\"], \
             receivers = [\"h2\"] }}\n[measure]\nwindow = \"2 ms\"\nseries = [{series}]\n"
        )
    };
    let of = |series: &str| {
        let spec = Spec::from_toml(&spec(series), "x.toml", Path::new("")).unwrap().check().unwrap();
        run(spec.build(), &mut |_| true).run
    };
    let run = of("{ what = \"port\", where = [\"h0>sw0\"], every = \"100 ns\" }");
    let paused = values(&run, "h0>sw0", "paused_us");
    let steps: Vec<f64> = paused.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
    assert!(steps.iter().all(|step| (-1e-9..=0.1 + 1e-9).contains(step)), "no faster than time");
    let whole = steps.iter().filter(|step| (**step - 0.1).abs() < 1e-9).count();
    assert!(whole > 1000, "{whole} samples in the middle of a pause");
    let all = run.ports[0].paused.as_ps() as f64 / 1e6;
    assert!(all - paused.last().unwrap().1 <= 0.1 + 1e-9 && all > 500.0, "{all} us in all");
    assert_eq!(run.totals.event_hash, of("").totals.event_hash);
}
