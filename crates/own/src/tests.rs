//! The structs of Rust are those of the header.

use crate::abi;
use fanin_cc::{Action, receiver_hooks, sender_hooks, switch_hooks};
use std::fmt::Write;
use std::mem::offset_of;
use std::path::PathBuf;
use std::process::Command;

/// Writes a line per struct and field: in Rust to the first text, as C that prints the same to the second.
macro_rules! layout {
    ($rust:ident $c:ident: $($type:ident = $name:literal { $($field:ident)* })*) => { $(
        writeln!($rust, "{} {}", $name, size_of::<abi::$type>()).unwrap();
        writeln!($c, "printf(\"%s %zu\\n\", \"{0}\", sizeof({0}));", $name).unwrap();
        $(
            writeln!($rust, "{}.{} {}", $name, stringify!($field), offset_of!(abi::$type, $field)).unwrap();
            let field = stringify!($field);
            writeln!($c, "printf(\"%s %zu\\n\", \"{0}.{field}\", offsetof({0}, {field}));", $name).unwrap();
        )*
    )* };
}

/// As `layout!`, of the hooks of a list.
macro_rules! listed {
    (
        $rust:ident $c:ident $type:ident $name:literal [$($context:ident),*]
        $($(#[doc = $doc:tt])* fn $hook:ident $args:tt -> $out:ty $or:block)*
    ) => {
        layout! { $rust $c: $type = $name { $($hook)* } }
    };
}

/// The names of a list of hooks.
macro_rules! names {
    ([$($context:ident),*] $($(#[doc = $doc:tt])* fn $hook:ident $args:tt -> $out:ty $or:block)*) => {
        [$(stringify!($hook)),*]
    };
}

#[test]
fn each_hook_of_the_lists_is_in_the_stubs_and_in_the_manual() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |file: &str| std::fs::read_to_string(root.join(file)).unwrap();
    let (stubs, manual) = (read("python/fanin/_core.pyi"), read("docs/own-scheme.md"));
    let part = |text: &str, from: &str, to: &str| {
        let (_, rest) = text.split_once(from).unwrap();
        rest.split_once(to).unwrap().0.to_string()
    };
    let roles: [(&str, &[&str]); 3] = [
        ("Sender", &sender_hooks!(names)),
        ("Receiver", &receiver_hooks!(names)),
        ("SwitchProgram", &switch_hooks!(names)),
    ];
    for (role, hooks) in roles {
        let stub = part(&stubs, &format!("\nclass {role}:\n"), "\n@disjoint_base");
        let manual = part(&manual, &format!("\n### fanin.{role}: "), "\n### ");
        for hook in hooks {
            assert!(stub.contains(&format!("    def {hook}(self")), "_core.pyi has no {role}.{hook}");
            assert!(manual.contains(&format!("| `{hook}(")), "own-scheme.md has no {role}.{hook}: make docs");
        }
    }
}

#[test]
fn the_structs_are_those_of_the_header() {
    let (mut rust, mut c) = (String::new(), String::new());
    layout! { rust c:
        Value = "fanin_value" { number integer }
        Cx = "fanin_cx" { now parameters shared counts problem wake_at shared_changed }
        Watched = "fanin_watched" { name value }
        Control = "fanin_control" { window rate wake_at not_before retime }
        Path = "fanin_path" { line_rate receiver_rate base_rtt network_bdp network_rtt payload wire id from to }
        Sent = "fanin_sent" { sent_to left wire payload retransmitted }
        Hop = "fanin_hop" { rate time sent queued }
        Ack = "fanin_ack" {
            newly_acked acked_to sent_to seq in_flight burst rtt hops hop_count path recovering ecn_echo cc_feedback
        }
        Loss = "fanin_loss" { from sent_to in_flight retransmitted }
        Trim = "fanin_trim" { from sent_to in_flight rtt payload wire last_hop }
        Notified = "fanin_notice" { kind number }
        Sender = "fanin_sender" { size open watch close }
        Nic = "fanin_nic" { line_rate network_rtt seed payload wire }
        FlowInfo = "fanin_flow" { size flow id from }
        MessageStart = "fanin_message" { flow id from tenant weight incast sender_count senders }
        Data = "fanin_data" {
            seq acked_to received flow from wire payload ce start end in_order ack_due pending due_alone cc_tag
            cc_feedback
        }
        AckFields = "fanin_ack_fields" { ecn_echo push has_window window cc_feedback }
        AckPlan = "fanin_ack_plan" { send_before send_now before now }
        Emit = "fanin_emit" { kind flow number wire fields }
        Receiver = "fanin_receiver" { host_size flow_size open on_timer poll_transmit watch }
        Port = "fanin_port" { rate queued of_class to_switch up paused }
        Ports = "fanin_ports" { view of count }
        SwitchInfo = "fanin_switch_info" { ports network_rtt seed port_count node }
        Packet = "fanin_packet" {
            seq sent_at flow from to cc_tag cc_feedback ce ecn wire payload hops kind service_class
        }
        Queue = "fanin_queue" { view port own }
        Switch = "fanin_switch" { size open route on_enqueue on_dequeue watch }
        Choice = "fanin_choice" { rate queued port paused }
        Policy = "struct fanin_policy" {
            version struct_size id manual parameters check parameter_count size open choose on_enqueue on_dequeue
        }
        SelectorInfo = "fanin_selector_info" { seed paths flow from to }
        Selector = "struct fanin_selector" {
            version struct_size id manual parameters check parameter_count size open next_path feedback
        }
        Parameter = "fanin_parameter" { name doc initial smallest largest kind }
        Scheme = "struct fanin_scheme" {
            version struct_size id manual parameters check parameter_count transport no_ecn needs_marks telemetry
            data_header ack_header holds_acks acks_once_per_rtt sharing shared_size credit credit_burst credit_limit
            sender receiver switch_program
        }
    };
    sender_hooks!(listed, rust c Sender "fanin_sender");
    receiver_hooks!(listed, rust c Receiver "fanin_receiver");
    switch_hooks!(listed, rust c Switch "fanin_switch");
    for (action, name) in counted() {
        writeln!(rust, "{name} {action}").unwrap();
        writeln!(c, "printf(\"{name} %d\\n\", (int){name});").unwrap();
    }
    assert_eq!(counted().len(), 21);
    let constants = [
        ("FANIN_SCHEME_VERSION", abi::VERSION),
        ("FANIN_CNP", abi::CNP),
        ("FANIN_CREDIT", abi::CREDIT),
        ("FANIN_EMIT_ACK", abi::EMIT_ACK),
        ("FANIN_EMIT_CNP", abi::EMIT_CNP),
        ("FANIN_EMIT_CREDIT", abi::EMIT_CREDIT),
        ("FANIN_ADMIT", abi::ADMIT),
        ("FANIN_MARK", abi::MARK),
        ("FANIN_DROP", abi::DROP),
        ("FANIN_TRIM", abi::TRIM),
        ("FANIN_GOOD", abi::GOOD),
        ("FANIN_MARKED", abi::MARKED),
        ("FANIN_TRIMMED", abi::TRIMMED),
        ("FANIN_TIMEOUT", abi::TIMEOUT),
        ("FANIN_NUMBER", abi::NUMBER),
        ("FANIN_INTEGER", abi::INTEGER),
        ("FANIN_BOOLEAN", abi::BOOLEAN),
        ("FANIN_ACTIONS", Action::ALL.len() as u32),
    ];
    for (name, value) in constants {
        writeln!(rust, "{name} {value}").unwrap();
        writeln!(c, "printf(\"{name} %d\\n\", (int){name});").unwrap();
    }
    assert_eq!(printed(&c), rust);
}

/// The actions of the header by their numbers: those that are no scheme's own.
fn counted() -> Vec<(usize, String)> {
    let header = crate::HEADER;
    let named = Action::ALL.iter().enumerate();
    let named = named.map(|(at, action)| (at, format!("FANIN_{}", action.name().to_uppercase())));
    named.filter(|(_, name)| header.contains(&format!("{name},")) || header.contains(&format!("{name} ="))).collect()
}

/// What a C program prints whose `main` has these lines.
fn printed(lines: &str) -> String {
    let folder = std::env::temp_dir().join(format!("fanin-own-layout-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (source, program) = (folder.join("layout.c"), folder.join("layout"));
    let includes = "#include <stddef.h>\n#include <stdio.h>\n#include \"fanin_scheme.h\"\n";
    std::fs::write(&source, format!("{includes}int main(void) {{\n{lines}}}\n")).unwrap();
    let include = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("include");
    let done = Command::new("cc").arg("-I").arg(include).arg("-o").arg(&program).arg(&source).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let done = Command::new(&program).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    String::from_utf8(done.stdout).unwrap()
}
