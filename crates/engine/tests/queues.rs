//! The calendar queue against the plain heap.

#[path = "common/heap.rs"]
mod heap;

use fanin_engine::{CalendarQueue, Event, EventQueue};
use fanin_units::Time;
use heap::HeapQueue;
use proptest::prelude::*;

fn cases() -> ProptestConfig {
    let cases = std::env::var("FANIN_CASES").ok().and_then(|v| v.parse().ok()).unwrap_or(64);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// One step of a script: push an event this much later than now, or pop up to a limit this much later than now.
#[derive(Clone, Debug)]
enum Step {
    Push { later: u64, source: u32 },
    Pop { limit: u64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Distances from ties at one instant to far beyond the calendar's last bucket.
    let later = prop_oneof![Just(0u64), 0u64..50, 0u64..100_000, 0u64..100_000_000_000];
    let step = prop_oneof![
        3 => (later, 0u32..8).prop_map(|(later, source)| Step::Push { later, source }),
        2 => (0u64..200_000).prop_map(|limit| Step::Pop { limit }),
        1 => Just(Step::Pop { limit: u64::MAX / 2 }),
    ];
    prop::collection::vec(step, 0..400)
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn calendar_and_heap_give_the_same_order(
        seed: u64, spacing in 0u64..10_000, horizon in 0u64..10_000_000, steps in steps(),
    ) {
        let mut calendar = CalendarQueue::new(seed, Time::from_ps(spacing), Time::from_ps(horizon));
        let mut heap = HeapQueue::new(seed);
        let mut now = 0;
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Push { later, source } => {
                    let event = Event { at: Time::from_ps(now + later), source, arg: 0 };
                    calendar.push(event);
                    heap.push(event);
                }
                Step::Pop { limit } => {
                    let limit = Time::from_ps(now + limit);
                    let (a, b) = (calendar.pop_before(limit), heap.pop_before(limit));
                    prop_assert_eq!(a, b, "step {}", number);
                    if let Some(event) = a {
                        now = event.at.as_ps();
                    }
                }
            }
            prop_assert_eq!((calendar.len(), calendar.is_empty()), (heap.len(), heap.is_empty()));
            prop_assert_eq!(calendar.first_at(), heap.first_at(), "step {}", number);
        }
        while let Some(event) = heap.pop_before(Time::NEVER) {
            prop_assert_eq!(calendar.pop_before(Time::NEVER), Some(event));
        }
        prop_assert!(calendar.is_empty());
    }
}

#[test]
fn simultaneous_events_come_in_an_order_that_depends_on_the_seed_and_not_on_insertion() {
    let order = |seed, sources: &[u32]| {
        let mut queue = CalendarQueue::new(seed, Time::from_ns(1), Time::from_us(10));
        for &source in sources {
            queue.push(Event { at: Time::from_us(3), source, arg: 0 });
        }
        core::iter::from_fn(move || queue.pop_before(Time::NEVER)).map(|e| e.source).collect::<Vec<_>>()
    };
    let first = order(1, &[0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(first, order(1, &[7, 3, 5, 1, 0, 2, 4, 6]));
    assert_ne!(first, vec![0, 1, 2, 3, 4, 5, 6, 7]);
    assert_ne!(first, order(2, &[0, 1, 2, 3, 4, 5, 6, 7]));
}

#[test]
fn ties_favour_no_source() {
    // Over many instants each of four sources comes first about a quarter of the time.
    let mut queue = CalendarQueue::new(9, Time::from_ns(1), Time::from_us(10));
    let mut first = [0u32; 4];
    for instant in 0..4000u64 {
        for source in 0..4 {
            queue.push(Event { at: Time::from_ns(instant), source, arg: 0 });
        }
        first[queue.pop_before(Time::NEVER).unwrap().source as usize] += 1;
        while queue.pop_before(Time::NEVER).is_some() {}
    }
    assert!(first.iter().all(|n| (850..1150).contains(n)), "{first:?}");
}

/// Buckets with one event, two, as many as are sorted by counting, and more; in one case an instant each, of so many
/// events that half a word of the hash does not tell all apart.
#[test]
fn crowded_instants_come_in_the_same_order_as_from_a_heap() {
    for (spacing, instants) in [(1, 200), (2048, 2000), (1_000_000, 200)] {
        let mut calendar = CalendarQueue::new(9, Time::from_ps(spacing), Time::from_us(10));
        let mut heap = HeapQueue::new(9);
        for instant in 1..=instants {
            let at = Time::from_ps(instant * 65_536);
            for source in 0..[1, 2, 60, 64, 65, 300][instant as usize % 6] {
                calendar.push(Event { at, source, arg: 0 });
                heap.push(Event { at, source, arg: 0 });
            }
        }
        while let Some(expected) = heap.pop_before(Time::NEVER) {
            assert_eq!(calendar.pop_before(Time::NEVER), Some(expected));
        }
        assert!(calendar.is_empty());
    }
}
