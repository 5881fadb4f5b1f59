//! Processes in real time. What is asserted holds under any load of the machine.

mod common;

use common::*;
use fanin_experiment::{Outcome, Progress};
use fanin_units::Time;
use fanin_wirelab::{Clock, Link, OnWire, Options, Stall, WireError, run_unjudged, run_with, veth};
use std::time::{Duration, Instant};

fn slowed(n: u32, link: Link) -> Options {
    Options { clock: Clock::Slowed(n), link, stall: None, impatient: false }
}

/// 20 KB from three hosts to one, and a window in which they arrive.
fn incast(scheme: &str) -> String {
    let pattern = INCAST.replace('4', "3").replace("200 KB", "20 KB");
    experiment(&star(4), scheme, &pattern).replace("2 ms", "60 us")
}

fn all_arrive(of: &Outcome) {
    let run = &of.run;
    assert!(run.flows.len() >= 3);
    for flow in run.flows.iter() {
        assert_eq!((flow.delivered, flow.bytes), (20_000, 20_000));
        assert!(flow.finished != Time::NEVER && flow.acked != Time::NEVER && flow.finished > flow.start);
    }
    let ledger = &run.totals.ledger;
    assert_eq!(ledger.sent, ledger.delivered + ledger.dropped + ledger.in_flight);
    assert_eq!((ledger.dropped, ledger.in_flight), (0, 0));
}

#[test]
fn all_messages_arrive_in_real_time() {
    for (scheme, link) in [("dart", Link::Udp), ("dcqcn", Link::Veth)] {
        if link == Link::Veth
            && let Err(reason) = veth::permitted()
        {
            eprintln!("SKIPPED: {reason}");
            continue;
        }
        let OnWire { outcome, timing, .. } =
            run_unjudged(&spec(&incast(scheme)), &slowed(5000, link), &program(), &mut |_| true).unwrap();
        all_arrive(&outcome);
        assert_eq!(timing.len(), 5);
        let frames: u64 = timing.iter().map(|of| of.lateness.count()).sum();
        // 60 frames over two links each.
        assert!(frames > 120 && timing.iter().all(|of| of.behind.count() > 0), "{frames}");
    }
}

#[test]
fn a_part_that_stalls_is_rejected() {
    // 150 us of network time.
    let stall = Some(Stall { part: 2, at: Time::from_us(5), lasts: Duration::from_millis(150) });
    let options = Options { stall, ..slowed(1000, Link::Udp) };
    let found = run_with(&spec(&incast("dcqcn")), &options, &program(), &mut |_| true);
    let Err(WireError::Rejected(reason)) = found else { panic!("{found:?}") };
    assert!(reason.contains("host 1 got ") && reason.contains("behind"), "{reason}");
}

#[test]
fn a_hopeless_run_ends_early_and_is_rejected() {
    // Behind by more than 300 ms of real time, in a window of which the rest would take an hour.
    let stall = Some(Stall { part: 1, at: Time::from_us(1), lasts: Duration::from_millis(400) });
    let options = Options { stall, impatient: true, ..slowed(1000, Link::Udp) };
    let text = incast("dcqcn").replace("60 us", "3600 ms");
    let found = run_with(&spec(&text), &options, &program(), &mut |_| true);
    assert!(matches!(found, Err(WireError::Rejected(_))), "{found:?}");
}

#[test]
fn links_to_hosts_without_a_delay_are_refused() {
    let text = incast("dcqcn").replace("delay = \"1 us\"", "delay = \"0 us\"");
    let found = run_with(&spec(&text), &slowed(10, Link::Udp), &["/none".into()], &mut |_| true);
    assert!(matches!(found, Err(WireError::Refused(_))), "{found:?}");
}

#[test]
fn a_run_in_real_time_can_be_stopped_and_keeps_its_results() {
    // The window would take 5 hours.
    let text = incast("dcqcn").replace("60 us", "3600 ms");
    let (began, mut looks) = (Instant::now(), 0);
    let mut progress = |_: &Progress| {
        looks += 1;
        looks < 3
    };
    let found = run_unjudged(&spec(&text), &slowed(5000, Link::Udp), &program(), &mut progress).unwrap();
    let stopped = found.outcome.run.stopped;
    // After each step of at most 0.5 s.
    assert!(stopped > Time::ZERO && stopped < Time::from_ms(1), "{stopped:?}");
    assert!(began.elapsed() < Duration::from_secs(60) && found.timing.len() == 5);
    assert!(found.outcome.run.flows.iter().any(|flow| flow.delivered > 0));
}
