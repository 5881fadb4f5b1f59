//! Waits of a traced message at its host: every picosecond until its last packet left has one cause, or was sending.

use crate::common::random::{Schemes, steps, stormy};
use crate::common::*;
use fanin_fabric::*;
use fanin_units::Time;
use proptest::prelude::*;

const TX: Time = Time::from_ns(1200);

/// How long a message waited for each cause.
fn waited(sim: &Simulation, message: u32) -> Vec<(Cause, Time)> {
    let of = |cause| sim.host_waits().iter().filter(move |wait| (wait.message, wait.cause) == (message, cause));
    let sum = |cause| of(cause).fold(Time::ZERO, |sum, wait| sum + (wait.end - wait.begin));
    Cause::ALL.map(|cause| (cause, sum(cause))).into_iter().filter(|(_, sum)| *sum > Time::ZERO).collect()
}

/// When packets of a message left its host, and when their last bits had.
fn sent(sim: &Simulation, message: u32) -> Vec<(Time, Time)> {
    let links = &sim.config().graph.links;
    let from = sim.flows()[message as usize].src;
    let left = sim.hops().iter().filter(|hop| (hop.message, hop.node.0) == (message, from));
    let left =
        left.filter_map(|hop| Some((hop.time, hop.time + links[hop.port?.ix() / 2].rate.tx_time(hop.wire as u64))));
    left.collect()
}

proptest! {
    #![proptest_config(cases(1))]

    #[test]
    fn every_wait_has_one_cause_and_tracing_changes_nothing(case in stormy(Schemes::All), steps in steps()) {
        let (mut traced, mut plain) = (case.build(), case.build());
        (0..case.messages.len() as u32).for_each(|message| traced.trace(message));
        for &(nanoseconds, events) in &steps {
            traced.run_until((traced.now() + ns(nanoseconds)).min(us(500)), events);
        }
        run_to(&mut traced, us(500));
        run_to(&mut plain, us(500));
        prop_assert_eq!(traced.totals(), plain.totals());
        prop_assert_eq!(traced.flows(), plain.flows());
        prop_assert!(plain.host_waits().is_empty() && plain.hops().is_empty());
        for message in 0..case.messages.len() as u32 {
            let flow = traced.flows()[message as usize];
            // What was sent again for nothing may still stand in a queue behind the pacers when all is acknowledged.
            let mut sent: Vec<(Time, Time)> = sent(&traced, message);
            sent.retain(|(at, _)| *at <= flow.acked);
            let waits = traced.host_waits().iter().filter(|wait| wait.message == message);
            let mut spans: Vec<(Time, Time, Option<Cause>)> =
                waits.map(|wait| (wait.begin, wait.end, Some(wait.cause))).collect();
            prop_assert!(spans.iter().all(|(begin, end, _)| flow.start <= *begin && begin < end));
            prop_assert!(spans.is_sorted_by(|one, next| one.1 <= next.0), "one cause at a time, in order: {:?}", spans);
            prop_assert!(spans.windows(2).all(|two| two[0].1 < two[1].0 || two[0].2 != two[1].2), "as few as can be");
            let Some(&(last, _)) = sent.last() else { continue };
            spans.extend(sent.iter().map(|(begin, end)| (*begin, *end, None)));
            spans.sort_by_key(|span| (span.0, span.1));
            let mut known = flow.start;
            for &(begin, end, cause) in spans.iter().filter(|span| span.0 < last) {
                prop_assert!(begin <= known, "message {} from {} to {}: {:?}", message, known, begin, spans);
                // Where routes change, a packet may leave by one link while one before it leaves by another.
                let links = traced.ports().filter(|(_, from, _)| from.0 == flow.src).count();
                prop_assert!(cause.is_none() || begin == known || links > 1, "{:?} while it sends: {:?}", cause, spans);
                known = known.max(end);
            }
            prop_assert!(known >= last, "message {}: {} of {}", message, known, last);
            let overhead = traced.traffic_configs().nth(flow.traffic as usize).map(|traffic| traffic.overhead);
            let waited = waited(&traced, message);
            let seen = waited.iter().find(|(cause, _)| *cause == Cause::Overhead).map(|(_, time)| *time);
            prop_assert_eq!(seen.unwrap_or_default(), overhead.unwrap_or_default());
        }
    }
}

#[test]
fn a_link_that_is_down_holds_a_message_at_its_host() {
    // Posted while the only link of its host is down, and cut by it a second time.
    let mut graph = star(2, us(1));
    graph.links[0].outages = vec![(Time::ZERO, us(20)), (us(25), us(40))];
    let mut sim = line_rate(network(graph), vec![message(us(5), 0, 1, 10 * PAYLOAD)]);
    sim.trace(0);
    finish(&mut sim);
    check_all_arrived(&sim);
    let waits = sim.host_waits();
    assert_eq!((waits[0].cause, waits[0].begin, waits[0].end), (Cause::Link, us(5), us(20)));
    // The packet that was on the wire counts as sent, and then nothing is until the link is back.
    let again = waits.iter().filter(|wait| wait.cause == Cause::Link).nth(1).expect("the link was down twice");
    assert_eq!((again.begin, again.end), (us(20) + TX.saturating_mul(5), us(40)));
}

#[test]
fn packets_queued_behind_the_pacers_wait_for_the_nic() {
    // Two messages of a host fill its queue at once, so both wait there and not at their pacers.
    let run = |host_fifo| {
        let config = NetworkConfig { host_fifo, ..network(star(3, us(5))) };
        let mut sim = line_rate(config, (1..3).map(|to| message(Time::ZERO, 0, to, 30 * PAYLOAD)).collect());
        (0..2).for_each(|message| sim.trace(message));
        finish(&mut sim);
        [0, 1].map(|message| {
            let left = sent(&sim, message).last().map(|(time, _)| *time).unwrap_or_default();
            let waits = sim.host_waits().iter().filter(|wait| wait.message == message && wait.begin < left);
            let causes: Vec<Cause> = waits.clone().map(|wait| wait.cause).collect();
            assert!(causes.iter().all(|cause| *cause == Cause::Nic), "{causes:?}");
            waits.fold(Time::ZERO, |sum, wait| sum + (wait.end - wait.begin))
        })
    };
    let mut queued = run(Some(HostFifo { capacity: 64_000, mark_above: None }));
    queued.sort_unstable();
    assert_eq!(queued, [29, 30].map(|packets| TX.saturating_mul(packets)));
    assert_eq!(run(None).iter().max(), Some(&TX.saturating_mul(30)));
}

#[test]
fn a_pause_holds_packets_queued_behind_the_pacers() {
    let mut config = network(star(3, us(1)));
    config.classes = vec![class(true, Marking::Off)];
    config.buffer = lossless(30_000, None);
    config.host_fifo = Some(HostFifo { capacity: 64_000, mark_above: None });
    let mut sim = line_rate(config, (0..2).map(|from| message(Time::ZERO, from, 2, 200 * PAYLOAD)).collect());
    sim.trace(0);
    finish(&mut sim);
    let paused = counters(&sim, 0, 3);
    assert!(paused.pauses > 5);
    let left = sent(&sim, 0);
    let waits = waited(&sim, 0);
    let held = waits.iter().find(|(cause, _)| *cause == Cause::Pfc).map(|(_, time)| *time).unwrap_or_default();
    assert!(!waits.iter().any(|(cause, _)| matches!(cause, Cause::Nic | Cause::Pacing | Cause::Window)), "{waits:?}");
    // Nothing else keeps it: what it did not send until its last packet left.
    let sending = TX.saturating_mul(left.len() as u64 - 1);
    assert_eq!(held, left[left.len() - 1].0 - sending);
}
