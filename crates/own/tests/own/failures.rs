//! Hooks that do what would make the simulator hang or crash: the run ends, and says which hook it was and when.

use crate::equal::outcome;
use crate::{compile, of_tests};
use fanin_units::Time;

#[test]
fn a_wrong_value_ends_the_run_and_names_its_hook() {
    let library = compile(&of_tests("wrong.c"), "wrong.so", &[]);
    let id = fanin_own::load(&library).unwrap().scheme.unwrap();
    let right = outcome(&format!("\"{id}\""));
    assert!(right.failure.is_none() && !right.cancelled);
    assert!(right.run.flows.iter().all(|flow| flow.finished.is_some()));
    let expected = [
        (1, "sender.on_ack set wake_at to "),
        (2, "sender.on_ack reports: the window is not what I thought"),
        (3, "sender.on_timer set wake_at to "),
        (4, "sender.poll_request did not answer 0 in 65536 calls at "),
        (5, "sender.watch reported window as NaN, which is no number"),
        (6, "sender.watch gave value 0 no name: set value->name to a text"),
        (7, "sender.watch has more than 64 values: return 0 behind the last one"),
        (8, "receiver.on_data set wake_at to "),
        (9, "receiver.poll_transmit sends to flow 12345, which is not open towards this host"),
        (10, "receiver.poll_transmit sends a credit, but the scheme has none: set credit, "),
        (11, "receiver.poll_transmit sends a packet of kind 17: write FANIN_EMIT_ACK, _CNP or _CREDIT"),
        (12, "receiver.poll_transmit did not answer 0 in 65536 calls at "),
        (13, "switch_program.route named port 9, but the switch has 9: they are numbered from 0"),
        (14, "switch_program.route set wake_at to 1 ps, but it is "),
        (15, "switch_program.route named port 65536, but the switch has 9: they are numbered from 0"),
        (16, "switch_program.on_enqueue answered 3: return FANIN_ADMIT, FANIN_MARK or FANIN_DROP"),
    ];
    for (wrong, problem) in expected {
        let outcome = outcome(&format!("{{ id = \"{id}\", wrong = {wrong} }}"));
        let failure = outcome.failure.unwrap_or_else(|| panic!("no failure for {wrong}: {problem}"));
        let expected = format!("wrong ({}): {problem}", library.display());
        assert!(failure.problem.starts_with(&expected), "{wrong}: {}\nand not {expected}", failure.problem);
        assert!(outcome.cancelled, "{wrong}: what was measured is marked as incomplete");
        assert!((Time::from_us(5)..Time::from_ms(2)).contains(&failure.at), "{wrong}: at {}", failure.at);
    }
}
