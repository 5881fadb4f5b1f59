//! Every preset of every registered scheme keeps its promises. A scheme that joins the registry is checked without a
//! line here.

use fanin_cc::schemes::dcqcn::{self, CnpTiming, FastRecoveryWhile};
use fanin_cc::schemes::dctcp::{self, EchoMode};
use fanin_cc::schemes::newreno::WindowParams;
use fanin_cc::{Scheme, Settings};
use fanin_check::{Parameters, Subject, World, draws, run, sequences};
use fanin_units::{Bytes, Time};
use proptest::prelude::*;
use proptest::test_runner::Config;

/// Random cases: `FANIN_CASES`, else 64.
fn cases() -> Config {
    let cases = std::env::var("FANIN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64);
    Config { cases, failure_persistence: None, ..Config::default() }
}

fn presets() -> impl Iterator<Item = Settings> {
    let ids = fanin_cc::rows().iter().flat_map(|row| row.presets);
    ids.map(|id| Settings::preset(id).unwrap_or_else(|| panic!("{id} is listed but unknown")))
}

/// Presets with parameters that make their rare branches common.
fn variants() -> impl Iterator<Item = Settings> {
    let often = dcqcn::Params {
        cnp: CnpTiming::IntervalEnd,
        byte_counter: Bytes(5_000),
        fast_recovery_steps: 1,
        fast_recovery_while: FastRecoveryWhile::UpTo,
        ..dcqcn::Dcqcn::preset("dcqcn-win")
    };
    let tcp = |echo| {
        let restart_after = Time::from_us(50);
        let window = WindowParams { min_window: 1, growth_limit: 3, restart_after, ..WindowParams::default() };
        Settings::Dctcp("dctcp", dctcp::Params { echo, window, ..dctcp::Dctcp::preset("dctcp") })
    };
    [Settings::Dcqcn("dcqcn", often), tcp(EchoMode::PerPacket), tcp(EchoMode::Rcc)].into_iter()
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn every_scheme_keeps_its_promises(ops in sequences()) {
        for settings in presets().chain(variants()) {
            let ran = run(&|| settings.clone(), &ops);
            prop_assert!(ran.is_ok(), "{}: {:#?}", settings.id(), ran);
        }
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn every_scheme_keeps_its_promises_with_other_parameters(draws in draws(), ops in sequences()) {
        for id in fanin_cc::rows().iter().flat_map(|row| row.presets) {
            let make = |changes: &Parameters| fanin_cc::settings(id, changes).map_err(|error| format!("{error:?}"));
            let subject = Subject { make: &make, set: None };
            let changes = subject.changes(&subject.scalable().expect("a preset can be made"), &draws);
            if changes.is_empty() {
                continue;
            }
            let settings = make(&changes).expect("it was accepted");
            let ran = run(&|| settings.clone(), &ops);
            prop_assert!(ran.is_ok(), "{id} with {changes:?}: {ran:#?}");
        }
    }
}

#[test]
fn an_idle_network_sees_no_action() {
    for settings in presets() {
        let mut world = World::without_data(&settings);
        (0..3).try_for_each(|_| world.open()).expect("it opens");
        world.wait(Time::from_ms(100)).expect("it waits");
        for (action, count) in world.actions().iter() {
            assert_eq!(count, 0, "{}: {}", settings.id(), action.name());
        }
    }
}
