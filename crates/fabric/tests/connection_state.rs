//! What a message finds on a queue pair that stays open: the state of the one before, or none.

use crate::common::lanes::*;
use crate::common::*;
use fanin_cc::{Lanes, Settings};
use fanin_fabric::*;
use fanin_units::Time;

/// A message of 1 MB that is alone on its network, after an incast of which its sender was a part.
fn after_an_incast(scheme: &str, connection: bool, anew: bool) -> FlowRecord {
    let two = Settings::preset(scheme).unwrap().lanes() != Lanes::One;
    let mut traffic = traffic(scheme);
    traffic.lane_class = if two { DEFLECTABLE } else { 0 };
    traffic.endpoint = EndpointConfig { timeout: Time::from_ms(20), connection, anew, ..traffic.endpoint };
    let mut messages: Vec<Message> = (0..4).map(|from| message(us(0), from, 4, 400_000)).collect();
    messages.push(message(Time::from_ms(8), 0, 4, 1_000_000));
    let mut config = network(star(5, us(1)));
    let class = class(true, Marking::Step { above: 20_000, at: MarkAt::Enqueue });
    config.classes = if two { two_lanes(class) } else { vec![class] };
    let mut sim = simulation(config, vec![traffic], messages);
    finish(&mut sim);
    check_all_arrived(&sim);
    assert!(sim.flows()[..4].iter().all(|flow| flow.acked < sim.flows()[4].start), "{scheme}");
    sim.flows()[4]
}

fn took(flow: &FlowRecord) -> Time {
    flow.finished - flow.start
}

/// With `anew` it is as fast as on a queue pair of its own, to the picosecond, for every scheme whose receivers do not
/// decide (what they know of a flow stays); without, it is slower where the scheme has learnt that the network is full.
#[test]
fn a_message_begins_anew_or_inherits() {
    let mut slower = Vec::new();
    for preset in fanin_cc::rows().iter().flat_map(|row| row.presets.iter().copied()) {
        let settings = Settings::preset(preset).unwrap();
        let receivers_decide = settings.credits().is_some() || preset.ends_with("rccc") || preset == "ndp";
        if settings.transport() != fanin_cc::Transport::Rdma || receivers_decide {
            continue;
        }
        let [own, anew, kept] =
            [(false, false), (true, true), (true, false)].map(|(stays, anew)| after_an_incast(preset, stays, anew));
        assert_eq!(took(&anew), took(&own), "{preset}");
        if took(&kept) > took(&own) {
            slower.push(preset);
        }
    }
    for preset in ["dcqcn", "hpcc", "timely", "dart"] {
        assert!(slower.contains(&preset), "{slower:?}");
    }
    assert!(!slower.contains(&"none"));
}

/// The timeouts of an open queue pair are those of the messages that were under way.
#[test]
fn a_timeout_is_counted_for_the_message_under_way() {
    let mut graph = star(2, us(1));
    // The second message is sent while the link is down.
    graph.links[1].outages = vec![(Time::from_ms(1), Time::from_ms(2))];
    let mut traffic = traffic("none");
    traffic.endpoint.connection = true;
    let messages = vec![message(us(0), 0, 1, 1_000), message(us(1_500), 0, 1, 1_000)];
    let mut config = network(graph);
    config.detection = Time::from_ms(10);
    let mut sim = simulation(config, vec![traffic], messages);
    finish(&mut sim);
    check_all_arrived(&sim);
    assert_eq!(sim.flows().iter().map(|flow| flow.timeouts).collect::<Vec<_>>(), [0, 1]);
}

/// A new sender does not wait for the time that the one before would have waited.
#[test]
fn what_begins_anew_sends_at_once() {
    let first_sent = |anew: bool| {
        let mut traffic = traffic("dcqcn");
        traffic.endpoint = EndpointConfig { connection: true, anew, ..traffic.endpoint };
        // Fifteen other senders keep the rate low.
        let mut config = network(star(17, us(1)));
        config.classes = vec![class(false, Marking::Step { above: 0, at: MarkAt::Enqueue })];
        let none = Dependency::default();
        let dependencies = [Dependency { counts_acked: Some(0), ..none }, Dependency { after: Some(0), ..none }];
        let messages = [200_000, 1_000].into_iter().zip(dependencies);
        let messages = messages.map(|(bytes, dependency)| Message { dependency, ..message(us(0), 0, 16, bytes) });
        let messages = messages.chain((1..16).map(|from| message(us(0), from, 16, 1_000_000))).collect();
        let mut sim = simulation(config, vec![traffic], messages);
        sim.trace(1);
        finish(&mut sim);
        let at = sim.hops().iter().find(|hop| hop.message == 1).map(|hop| hop.time).unwrap();
        at - sim.flows()[1].start
    };
    assert!(first_sent(false) > us(10), "{}", first_sent(false));
    assert!(first_sent(true) < us(2), "{}", first_sent(true));
}
