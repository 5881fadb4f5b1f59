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
        (1, "sender.on_ack of flow ", "set wake_at to "),
        (2, "sender.on_ack of flow ", "reports: the window is not what I thought"),
        (3, "sender.on_timer of flow ", "set wake_at to "),
        (4, "sender.poll_request of flow ", "did not answer 0 in 65536 calls: it is called until it does"),
        (5, "sender.watch of flow ", "reported window as NaN, which is no number"),
        (6, "sender.watch of flow ", "gave value 0 no name: set value->name to a text"),
        (7, "sender.watch of flow ", "has more than 64 values: return 0 behind the last one"),
        (8, "receiver.on_data of incoming flow ", "set wake_at to "),
        (9, "receiver.poll_transmit of a receiving host", "sends to flow 12345, which is not open towards this host"),
        (10, "receiver.poll_transmit of a receiving host", "sends a credit, but the scheme has none: set credit, "),
        (
            11,
            "receiver.poll_transmit of a receiving host",
            "sends a packet of kind 17: write FANIN_EMIT_ACK, _CNP or _CREDIT",
        ),
        (
            12,
            "receiver.poll_transmit of a receiving host",
            "did not answer 0 in 65536 calls: it is called until it does",
        ),
        (13, "switch_program.route of switch ", "named port 9, but the switch has 9: they are numbered from 0"),
        (14, "switch_program.route of switch ", "set wake_at to 1 ps, but it is "),
        (15, "switch_program.route of switch ", "named port 65536, but the switch has 9: they are numbered from 0"),
        (
            16,
            "switch_program.on_enqueue of switch ",
            "answered 4: return FANIN_ADMIT, FANIN_MARK, FANIN_DROP or FANIN_TRIM",
        ),
    ];
    for (wrong, hook, problem) in expected {
        let outcome = outcome(&format!("{{ id = \"{id}\", wrong = {wrong} }}"));
        let failure = outcome.failure.unwrap_or_else(|| panic!("no failure for {wrong}: {problem}"));
        let (begins, at) = (format!("wrong ({}): {hook}", library.display()), format!(" at {} {problem}", failure.at));
        let said = &failure.problem;
        assert!(said.starts_with(&begins) && said.contains(&at), "{wrong}: {said}\nand not {begins} ...{at}");
        assert!(outcome.cancelled, "{wrong}: what was measured is marked as incomplete");
        assert!((Time::from_us(5)..Time::from_ms(2)).contains(&failure.at), "{wrong}: at {}", failure.at);
    }
}
