//! The built-in policies of load balancing keep their promises; broken ones, and broken disciplines, are found.

use fanin_cc::*;
use fanin_check::{Checked, Plan, check_balancer, check_discipline};
use fanin_units::Time;
use std::fmt::{self, Debug};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Builds a policy by a function.
struct By<F>(F);

impl<F> Debug for By<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a policy of a test")
    }
}

impl<F: Fn(&SwitchInfo<'_>) -> Box<dyn Balancer> + Send + Sync> BalancerProgram for By<F> {
    fn build(&self, switch: &SwitchInfo<'_>) -> Box<dyn Balancer> {
        (self.0)(switch)
    }
}

/// Chooses by a function of the number of choices.
struct Chooses<F>(F);

impl<F: FnMut(usize) -> usize + Send> Balancer for Chooses<F> {
    fn choose(&mut self, _: Time, _: &Header, _: u32, choices: &[Choice]) -> usize {
        (self.0)(choices.len())
    }
}

fn plan(go_on: &mut dyn FnMut(u32, bool) -> bool) -> Plan<'_> {
    Plan { cases: 200, seed: 0, go_on }
}

fn balancer<B: Balancer + 'static>(build: impl Fn() -> B + Clone + Send + Sync + 'static) -> Checked {
    let make = || {
        let build = build.clone();
        Arc::new(By(move |_: &SwitchInfo<'_>| Box::new(build()) as Box<dyn Balancer>)) as Arc<dyn BalancerProgram>
    };
    check_balancer(&make, plan(&mut |_, _| true))
}

#[track_caller]
fn broken(checked: Checked, rule: &str, most_events: usize) -> String {
    let found = checked.found.expect("a broken policy is found");
    assert_eq!(found.broken.rule, rule, "{found:#?}");
    assert!((1..=most_events).contains(&found.events.len()), "{found:#?}");
    found.broken.detail
}

#[test]
fn built_in_policies_keep_their_promises() {
    let gap = Time::from_us(50);
    for policy in [Balancing::Random, Balancing::RoundRobin, Balancing::LeastQueue, Balancing::Flowlets { gap }] {
        let make = || {
            let policy = policy.clone();
            Arc::new(By(move |switch: &SwitchInfo<'_>| policy.build(switch).expect("it has a balancer")))
                as Arc<dyn BalancerProgram>
        };
        let checked = check_balancer(&make, plan(&mut |_, _| true));
        assert!(checked.found.is_none(), "{policy:?}: {checked:#?}");
        assert_eq!(checked.cases, 200);
    }
}

#[test]
fn an_index_that_is_none_is_found_and_shown_in_one_event() {
    let detail = broken(balancer(|| Chooses(|choices| choices)), "the answer is the index of a choice", 1);
    assert!(detail.contains("the answer is 2, and the indices are 0 to 1"), "{detail}");
}

#[test]
fn a_panic_is_found() {
    let third = || {
        let mut asked = 0;
        Chooses(move |_| {
            asked += 1;
            assert!(asked < 3, "the third packet");
            0
        })
    };
    let detail = broken(balancer(third), "no hook fails", 3);
    assert!(detail.contains("the third packet"), "{detail}");
}

#[test]
fn switches_that_share_a_turn_are_found() {
    // Made anew for each run, so that a plain replay would have the same answers.
    let make = || {
        let turn = Arc::new(AtomicUsize::new(0));
        let build = move |_: &SwitchInfo<'_>| {
            let turn = turn.clone();
            Box::new(Chooses(move |choices| turn.fetch_add(1, Ordering::Relaxed) % choices)) as Box<dyn Balancer>
        };
        Arc::new(By(build)) as Arc<dyn BalancerProgram>
    };
    let checked = check_balancer(&make, plan(&mut |_, _| true));
    let detail = broken(checked, "a replay gives the same answers", 2);
    assert!(detail.contains("in the replay, one switch after the other"), "{detail}");
}

/// Marks above some bytes, and drops above more.
struct Above {
    mark: u64,
    drop: u64,
}

impl Discipline for Above {
    fn on_enqueue(&mut self, _: Time, queued: &mut Queued<'_>) -> Verdict {
        match queued.view.lane.queued {
            bytes if bytes >= self.drop => Verdict::Drop,
            bytes if bytes >= self.mark => Verdict::Mark,
            _ => Verdict::Admit,
        }
    }
}

impl<F: Fn(u64) -> Above + Send + Sync> DisciplineProgram for By<F> {
    fn build(&self, switch: &SwitchInfo<'_>) -> Box<dyn Discipline> {
        Box::new((self.0)(switch.seed))
    }
}

fn discipline(above: impl Fn(u64) -> Above + Clone + Send + Sync + 'static) -> Checked {
    let make = || Arc::new(By(above.clone())) as Arc<dyn DisciplineProgram>;
    check_discipline(&make, plan(&mut |_, _| true))
}

#[test]
fn a_discipline_that_marks_and_drops_keeps_its_promises() {
    let checked = discipline(|_| Above { mark: 5_000, drop: 20_000 });
    assert!(checked.found.is_none(), "{checked:#?}");
}

#[test]
fn a_discipline_that_never_lets_a_packet_in_is_found() {
    let checked = discipline(|seed| Above { mark: 0, drop: if seed == 2 { 0 } else { u64::MAX } });
    let detail = broken(checked, "an empty queue lets packets in", 2);
    assert!(detail.contains("port 0 is empty, and it drops 1000 data packets"), "{detail}");
}

#[test]
fn disciplines_whose_switches_differ_from_run_to_run_are_found() {
    let runs = Arc::new(AtomicUsize::new(0));
    // Three switches each.
    let odd = move || (runs.fetch_add(1, Ordering::Relaxed) / 3) % 2 == 1;
    let checked = discipline(move |_| Above { mark: if odd() { 0 } else { u64::MAX }, drop: u64::MAX });
    broken(checked, "a replay gives the same answers", 1);
}

#[test]
fn a_check_stops_when_it_is_told_to() {
    let make = || {
        Arc::new(By(|_: &SwitchInfo<'_>| Box::new(Chooses(|_| 0_usize)) as Box<dyn Balancer>))
            as Arc<dyn BalancerProgram>
    };
    let checked = check_balancer(&make, plan(&mut |cases, _| cases < 5));
    assert!(checked.stopped && checked.found.is_none());
    assert_eq!(checked.cases, 5);
}
