//! The speed benchmark: fixed cases, packet-hops per second, and the share of the time spent in the event queue.

use crate::spec::Spec;
use fanin_engine::{CalendarQueue, Event, EventQueue, Streams};
use fanin_fabric::ParallelSimulation;
use fanin_fabric::parallel::{cut, why_not_cut};
use fanin_units::{Bytes, Time};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// Events between two counts of the pending events; a count walks over all buckets and synchronises all threads.
const EVENTS_PER_LOOK: u64 = 400_000;

/// A case of the benchmark.
pub struct Case {
    /// Its letter, and its scheme unless it is the letter's default.
    pub id: &'static str,
    /// Its description.
    pub about: &'static str,
    spec: &'static str,
    /// The key that scales its length, and the value at scale 1.
    length: (&'static str, Length),
}

enum Length {
    Bytes(u64),
    Time(Time),
}

/// All cases.
pub const CASES: &[Case] = &[
    Case {
        id: "a",
        about: "permutation on a 1,024-host fat tree, 10 Gb/s, fixed windows",
        spec: include_str!("../bench/a.toml"),
        length: ("traffic[0].size.fixed", Length::Bytes(1_460_000)),
    },
    Case {
        id: "b",
        about: "HPCC's 320-host fat tree, FB_Hadoop at 50 % for 2 ms, DCQCN with a window, PFC",
        spec: include_str!("../bench/b.toml"),
        length: ("measure.window", Length::Time(Time::from_ms(2))),
    },
    Case {
        id: "b-hpcc",
        about: "the same under HPCC: telemetry in every packet",
        spec: include_str!("../bench/b-hpcc.toml"),
        length: ("measure.window", Length::Time(Time::from_ms(2))),
    },
    Case {
        id: "c",
        about: "Dart's 1,024-host network, typical mix at 40 % for 20 ms, DCQCN, PFC",
        spec: include_str!("../bench/c.toml"),
        length: ("measure.window", Length::Time(Time::from_ms(20))),
    },
    Case {
        id: "d",
        about: "64-to-1 incast of 1 MB on a 128-host fat tree, 100 Gb/s, DCQCN, PFC",
        spec: include_str!("../bench/d.toml"),
        length: ("traffic[0].size.fixed", Length::Bytes(1_000_000)),
    },
    Case {
        id: "e",
        about: "permutation of 10 MB flows in 4,000 B packets on that tree, DCQCN with a window, PFC",
        spec: include_str!("../bench/e.toml"),
        length: ("traffic[0].size.fixed", Length::Bytes(10_000_000)),
    },
    Case {
        id: "e-hpcc",
        about: "the same under HPCC: telemetry in every packet",
        spec: include_str!("../bench/e-hpcc.toml"),
        length: ("traffic[0].size.fixed", Length::Bytes(10_000_000)),
    },
    Case {
        id: "f",
        about: "the network and mix of (c) for 10 ms, DCTCP over TCP, a connection per message",
        spec: include_str!("../bench/f.toml"),
        length: ("measure.window", Length::Time(Time::from_ms(10))),
    },
];

/// Result of a case.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// The case.
    pub case: String,
    /// The scheme, if not the case's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
    /// Threads that ran it.
    pub threads: usize,
    /// Packets sent over one link each, ACKs and control included.
    pub packet_hops: u64,
    /// Real seconds of the event loop, set-up not counted.
    pub seconds: f64,
    /// The two above, divided.
    pub packet_hops_per_second: f64,
    /// Events processed, without switches checking their ports.
    pub events: u64,
    /// The event hash, in hexadecimal.
    pub event_hash: String,
    /// Seconds of set-up: routes, queues, states.
    pub setup_seconds: f64,
    /// Simulated microseconds.
    pub simulated_us: f64,
    /// Pending events in the queue, averaged over counts at equal numbers of events.
    pub pending_events: u64,
    /// Nanoseconds per event of the queue alone (one push, one pop) with the same number of pending events.
    pub queue_ns_per_event: f64,
    /// Nanoseconds per event of the run.
    pub run_ns_per_event: f64,
    /// The two above, divided: the share of the run that its event queue alone would take.
    pub queue_share: f64,
    /// Packets dropped.
    pub drops: u64,
    /// Messages whose last byte arrived.
    pub finished: u64,
}

/// Runs one case. `scale` below 1 makes it shorter, above 1 longer.
///
/// # Errors
/// For an unknown case, number of threads or scale; lists the valid ones.
pub fn run(id: &str, threads: usize, scale: f64) -> Result<Measured, String> {
    run_with(id, None, threads, scale)
}

/// The same with all traffics under another scheme, built in or loaded, with its default parameters.
///
/// # Errors
/// Also for a scheme that cannot run the case.
pub fn run_with(id: &str, scheme: Option<&str>, threads: usize, scale: f64) -> Result<Measured, String> {
    let Some(case) = CASES.iter().find(|c| c.id == id) else {
        let known: Vec<&str> = CASES.iter().map(|c| c.id).collect();
        return Err(format!("no case \"{id}\"; the cases are {}", known.join(", ")));
    };
    if !(scale > 0.0 && scale <= 1000.0) {
        return Err(format!("scale must be above 0 and at most 1000, not {scale}"));
    }
    let built = build(case, scheme, scale)?;
    let of = cut(&built.network.graph, threads);
    let parts = of.iter().max().map_or(1, |most| usize::from(*most) + 1);
    if threads == 0 || parts < threads {
        return Err(format!("case {id} runs on 1 to {parts} threads, not {threads}"));
    }
    if let Some(reason) = why_not_cut(&built.network, &built.traffics).filter(|_| threads > 1) {
        return Err(format!("case {id} runs on 1 thread, not {threads}: {reason}"));
    }
    let began = Instant::now();
    let mut sim = ParallelSimulation::cut(built.network, built.traffics, built.messages, &of);
    let setup_seconds = began.elapsed().as_secs_f64();
    let window = built.measure.warm_up.saturating_add(built.measure.window);
    let (mut pending, mut looks) = (0, 0);
    let began = Instant::now();
    let mut until = window;
    loop {
        while !sim.run_until(until, EVENTS_PER_LOOK) {
            pending += sim.pending_events() as u64;
            looks += 1;
        }
        if !built.measure.drain || sim.open_messages() == 0 {
            break;
        }
        until = until.saturating_add(Time::from_us(100));
    }
    let seconds = began.elapsed().as_secs_f64();
    let totals = sim.totals();
    let pending_events = pending / looks.max(1);
    let queue_ns_per_event = queue_alone(pending_events.max(1));
    let run_ns_per_event = seconds * 1e9 / totals.events.max(1) as f64;
    Ok(Measured {
        case: id.to_string(),
        scheme: scheme.map(str::to_string),
        threads: sim.threads(),
        packet_hops: totals.packet_hops,
        seconds,
        packet_hops_per_second: totals.packet_hops as f64 / seconds.max(1e-9),
        events: totals.events,
        event_hash: format!("{:016x}", totals.event_hash),
        setup_seconds,
        simulated_us: sim.now().as_ps() as f64 / 1e6,
        pending_events,
        queue_ns_per_event,
        run_ns_per_event,
        queue_share: queue_ns_per_event / run_ns_per_event,
        drops: totals.drops.total(),
        finished: sim.finished(),
    })
}

fn build(case: &Case, scheme: Option<&str>, scale: f64) -> Result<crate::spec::built::Built, String> {
    let (key, length) = &case.length;
    let length = match length {
        Length::Bytes(bytes) => Bytes(((*bytes as f64 * scale) as u64).max(1)).to_string(),
        Length::Time(time) => Time::from_ps(((time.as_ps() as f64 * scale) as u64).max(1)).to_string(),
    };
    let spec = Spec::from_toml(case.spec, case.id, Path::new(".")).map_err(|e| e.to_string())?;
    let spec = spec.set(key, &format!("{length:?}")).map_err(|e| e.to_string())?;
    let spec = scheme.map_or_else(|| spec.clone(), |scheme| spec.with_scheme(scheme));
    Ok(spec.check().map_err(|e| e.to_string())?.build())
}

/// Nanoseconds of one push and one pop on a calendar queue that holds `pending` events, spread like those of a network
/// of 10 Gb/s links of 5 us: each popped event is pushed again one packet and one delay later.
fn queue_alone(pending: u64) -> f64 {
    let horizon = Time::from_ns(6200);
    let mut queue = CalendarQueue::new(1, Time::from_ps(horizon.as_ps() / pending), horizon);
    let mut draws = Streams::new(1).stream("queue alone", 0);
    for source in 0..pending as u32 {
        queue.push(Event { at: Time::from_ps(draws.below(horizon.as_ps())), source, arg: 0 });
    }
    let rounds = (4 * pending).clamp(200_000, 2_000_000);
    let began = Instant::now();
    for _ in 0..rounds {
        if let Some(event) = queue.pop_before(Time::NEVER) {
            let later = if event.source.is_multiple_of(2) { horizon } else { Time::from_ps(5_051_200) };
            queue.push(Event { at: event.at + later, ..event });
        }
    }
    began.elapsed().as_secs_f64() * 1e9 / rounds as f64
}
