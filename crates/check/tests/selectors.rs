//! The built-in selectors of paths keep their promises; broken ones are found.

use fanin_cc::paths::{Feedback, PathSelector, PathsKind, Selector, SelectorInfo, SelectorProgram, Sprayer, Spraying};
use fanin_cc::{Balancing, OwnBalancing};
use fanin_check::{Checked, Plan, check_balancing};
use fanin_units::Time;
use std::fmt::{self, Debug};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Builds selectors by a function.
struct By<F>(F);

impl<F> Debug for By<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a selector of a test")
    }
}

impl<F: Fn(&SelectorInfo) -> Box<dyn PathSelector> + Send + Sync> SelectorProgram for By<F> {
    fn build(&self, sender: &SelectorInfo) -> Box<dyn PathSelector> {
        (self.0)(sender)
    }
}

/// A built-in selector.
struct BuiltIn(Sprayer);

impl PathSelector for BuiltIn {
    fn next_path(&mut self, now: Time, psn: u32, window: u64) -> u16 {
        self.0.next_path(now, psn, window)
    }
    fn feedback(&mut self, now: Time, path: u16, feedback: Feedback) {
        self.0.feedback(now, path, feedback);
    }
}

/// The next path by a function of the last path that was good.
struct After<F>(u16, F);

impl<F: FnMut(u16) -> u16 + Send> PathSelector for After<F> {
    fn next_path(&mut self, _: Time, _: u32, _: u64) -> u16 {
        (self.1)(self.0)
    }
    fn feedback(&mut self, _: Time, path: u16, feedback: Feedback) {
        if feedback == Feedback::Good {
            self.0 = path;
        }
    }
}

fn check(build: impl Fn(&SelectorInfo) -> Box<dyn PathSelector> + Clone + Send + Sync + 'static) -> Checked {
    let make = || Arc::new(OwnBalancing::Senders(Arc::new(By(build.clone()))));
    check_balancing(&make, Plan { cases: 200, seed: 0, go_on: &mut |_, _| true })
}

#[test]
fn built_in_selectors_keep_their_promises() {
    for (id, _) in PathsKind::NAMES {
        let kind = PathsKind::named(id).unwrap();
        let checked = check(move |sender| Box::new(BuiltIn(Sprayer::new(&Selector::BuiltIn(kind), sender))));
        assert!(checked.found.is_none(), "{id}: {checked:#?}");
        assert_eq!(checked.cases, 200);
    }
}

#[test]
fn a_panic_is_found_and_shown_in_a_few_events() {
    let third = |_: &SelectorInfo| {
        let mut asked = 0;
        let next = move |last: u16| {
            asked += u32::from(last == 1);
            assert!(asked < 3, "the third packet after path 1 was good");
            1_u16
        };
        Box::new(After(0, next)) as Box<dyn PathSelector>
    };
    let found = check(third).found.expect("a panic is found");
    assert_eq!(found.broken.rule, "no hook fails", "{found:#?}");
    assert!(found.broken.detail.contains("the third packet after path 1 was good"), "{found:#?}");
    assert!(found.events.len() <= 4, "{found:#?}");
    assert!(found.events.iter().all(|(_, said)| said.starts_with("sender ")), "{found:#?}");
}

#[test]
fn senders_that_share_a_turn_are_found() {
    // Made anew for each run, so that a plain replay would have the same answers.
    let make = || {
        let turn = Arc::new(AtomicU32::new(0));
        let build = move |_: &SelectorInfo| {
            let turn = turn.clone();
            Box::new(After(0, move |_| turn.fetch_add(1, Ordering::Relaxed) as u16)) as Box<dyn PathSelector>
        };
        Arc::new(OwnBalancing::Senders(Arc::new(By(build))))
    };
    let checked = check_balancing(&make, Plan { cases: 200, seed: 0, go_on: &mut |_, _| true });
    let found = checked.found.expect("a shared turn is found");
    assert_eq!(found.broken.rule, "a replay gives the same answers", "{found:#?}");
    assert!(found.broken.detail.contains("in the replay, one sender after the other"), "{found:#?}");
}

#[test]
fn ones_own_among_the_balancings_is_known() {
    let program: Arc<dyn SelectorProgram> =
        Arc::new(By(|_: &SelectorInfo| Box::new(After(0, |last| last)) as Box<dyn PathSelector>));
    let own = Balancing::Senders(Spraying { selector: Selector::Own(program), paths: 8 });
    assert!(matches!(own.own(), Some(OwnBalancing::Senders(_))) && !own.is_at_switches());
    assert!(Balancing::Senders(Spraying::by(PathsKind::Reps, 8)).own().is_none());
}
