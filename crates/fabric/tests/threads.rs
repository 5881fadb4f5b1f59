//! A run on many threads gives the same result as on one, for any cut.

mod common;

use common::random::{Case, Schemes, congested, lossy};
use common::*;
use fanin_fabric::parallel::{cut, why_not_cut};
use fanin_fabric::topology::FatTree;
use fanin_fabric::*;
use fanin_units::Time;
use proptest::prelude::*;

/// All that a run is known by.
#[derive(Debug, PartialEq)]
struct Outcome {
    now: Time,
    totals: Totals,
    flows: Vec<FlowRecord>,
    delivered: Vec<u64>,
    ports: Vec<PortCounters>,
    classes: Vec<ClassCounters>,
    traffics: Vec<TrafficCounters>,
    incidents: Incidents,
    open: u64,
}

fn outcome(mut parts: Parts, stops: &[Time]) -> Vec<Outcome> {
    let stop = |until: &Time| {
        assert!(parts.run_until(*until, 50_000_000), "events without end");
        check_ledger(&parts.totals());
        let flows = parts.flows();
        Outcome {
            now: parts.now(),
            totals: parts.totals(),
            delivered: (0..flows.len() as u32).map(|message| parts.delivered(message)).collect(),
            flows,
            ports: parts.port_counters(),
            classes: parts.class_counters(),
            traffics: parts.traffic_counters(),
            incidents: parts.incidents().into_owned(),
            open: parts.open_messages(),
        }
    };
    stops.iter().map(stop).collect()
}

fn messages(case: &Case) -> Box<dyn Iterator<Item = Message> + Send> {
    let mut messages = case.messages.clone();
    messages.sort_by_key(|m| m.start);
    Box::new(messages.into_iter())
}

fn whole(case: &Case, stops: &[Time]) -> Vec<Outcome> {
    let messages = messages(case);
    outcome(Parts::whole(case.config.clone(), case.traffics.clone(), messages), stops)
}

fn in_parts(case: &Case, of: &[u16], share: bool, stops: &[Time]) -> Vec<Outcome> {
    let messages = messages(case);
    let mut parts = Parts::cut(case.config.clone(), case.traffics.clone(), messages, of);
    if share {
        parts.always_share();
    }
    outcome(parts, stops)
}

/// Any cut, node by node.
fn any_cut(case: &Case, parts: u16, spread: u64) -> Vec<u16> {
    let nodes = case.config.graph.names.len() as u64;
    let mut of: Vec<u16> = (0..nodes).map(|node| (fanin_engine::mix(spread, node) % u64::from(parts)) as u16).collect();
    // Each part once at least, with numbers in a row.
    let mut used: Vec<u16> = of.clone();
    used.sort_unstable();
    used.dedup();
    of.iter_mut().for_each(|part| *part = used.binary_search(part).unwrap() as u16);
    of
}

const STOPS: [Time; 3] = [Time::from_ns(33_333), Time::from_us(150), Time::from_us(700)];

fn check(case: &Case, spread: u64) -> Result<(), TestCaseError> {
    prop_assume!(why_not_cut(&case.config, &case.traffics).is_none());
    let expected = whole(case, &STOPS);
    for parts in [2, 3, 8] {
        let found = in_parts(case, &any_cut(case, parts, spread), true, &STOPS);
        prop_assert_eq!(&found, &expected, "{} parts", parts);
    }
    let own = cut(&case.config.graph, 2);
    prop_assert_eq!(&in_parts(case, &own, false, &STOPS), &expected, "its own cut");
    Ok(())
}

proptest! {
    #![proptest_config(cases(1))]

    #[test]
    fn any_case_is_the_same_on_any_number_of_threads(case in lossy(Schemes::All), spread in any::<u64>()) {
        check(&case, spread)?;
    }

    #[test]
    fn so_is_one_that_pauses(case in congested(), spread in any::<u64>()) {
        check(&case, spread)?;
    }
}

/// A synchronised incast from half a fat tree with all that can act at one instant.
fn incast(seed: u64) -> Case {
    let graph = FatTree { k: 4, link: cable(gbps(10), us(1)) }.build().unwrap();
    let mut config = network(graph);
    config.seed = seed;
    config.classes = vec![class(true, Marking::Step { above: 22_500, at: MarkAt::Dequeue })];
    config.buffer = lossless(100_000, None);
    let messages = (0..16).filter(|h| *h != 5).map(|h| message(Time::ZERO, h, 5, 40 * PAYLOAD)).collect();
    Case { config, traffics: vec![traffic("dcqcn")], messages }
}

#[test]
fn an_incast_with_pauses_and_notices_is_the_same() {
    let case = incast(3);
    let stops = [us(50), Time::from_ms(5)];
    let expected = whole(&case, &stops);
    assert!(expected[1].totals.cnps > 0 && expected[1].incidents.pauses > 0);
    assert!(expected[1].flows.iter().all(|flow| flow.acked.is_some()));
    for parts in [2, 3, 8] {
        assert_eq!(in_parts(&case, &cut(&case.config.graph, parts), true, &stops), expected, "{parts} parts");
    }
}
