//! The structs of `include/fanin_scheme.h`, field for field. Their meaning is documented there; `tests.rs` compares
//! the layout of both.
//!
//! The types of hooks are safe functions, because all that Rust can check about them is checked when a library is
//! loaded (`foreign.rs`): what a function in C does beyond its arguments is in the hands of its author.

use fanin_cc::{receiver_hooks, sender_hooks};
use std::ffi::{c_char, c_void};

pub const VERSION: u32 = 3;
pub const NEVER: u64 = u64::MAX;

pub const CNP: u32 = 1;
pub const CREDIT: u32 = 2;
pub const EMIT_ACK: u32 = 1;
pub const EMIT_CNP: u32 = 2;
pub const EMIT_CREDIT: u32 = 3;
pub const ADMIT: u32 = 0;
pub const MARK: u32 = 1;
pub const DROP: u32 = 2;
pub const TRIM: u32 = 3;
pub const GOOD: u32 = 0;
pub const MARKED: u32 = 1;
pub const TRIMMED: u32 = 2;
pub const TIMEOUT: u32 = 3;
pub const NUMBER: u32 = 0;
pub const INTEGER: u32 = 1;
pub const BOOLEAN: u32 = 2;

/// The state of a flow, host or switch.
pub type State = *mut c_void;

#[derive(Clone, Copy)]
#[repr(C)]
pub union Value {
    pub number: f64,
    pub integer: i64,
}

#[repr(C)]
pub struct Cx {
    pub now: u64,
    pub parameters: *const Value,
    pub shared: State,
    pub counts: *mut u64,
    pub problem: *const c_char,
    pub wake_at: u64,
    pub shared_changed: u32,
}

#[repr(C)]
pub struct Watched {
    pub name: *const c_char,
    pub value: f64,
}

pub type Watch = extern "C" fn(*const c_void, u32, &mut Watched) -> u32;

#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub struct Control {
    pub window: u64,
    pub rate: u64,
    pub wake_at: u64,
    pub not_before: u64,
    pub retime: u32,
}

#[repr(C)]
pub struct Path {
    pub line_rate: u64,
    pub receiver_rate: u64,
    pub base_rtt: u64,
    pub network_bdp: u64,
    pub network_rtt: u64,
    pub payload: u32,
    pub wire: u32,
    pub id: u32,
    pub from: u32,
    pub to: u32,
}

#[repr(C)]
pub struct Sent {
    pub sent_to: u64,
    pub left: u64,
    pub wire: u32,
    pub payload: u32,
    pub retransmitted: u32,
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Hop {
    pub rate: u64,
    pub time: u64,
    pub sent: u64,
    pub queued: u64,
}

#[repr(C)]
pub struct Ack {
    pub newly_acked: u64,
    pub acked_to: u64,
    pub sent_to: u64,
    pub seq: u64,
    pub in_flight: u64,
    pub burst: u64,
    pub rtt: u64,
    pub hops: *const Hop,
    pub hop_count: u32,
    pub path: u32,
    pub recovering: u32,
    pub ecn_echo: u32,
    pub cc_feedback: u32,
}

#[repr(C)]
pub struct Loss {
    pub from: u64,
    pub sent_to: u64,
    pub in_flight: u64,
    pub retransmitted: u32,
}

#[repr(C)]
pub struct Trim {
    pub from: u64,
    pub sent_to: u64,
    pub in_flight: u64,
    pub rtt: u64,
    pub payload: u32,
    pub wire: u32,
    pub last_hop: u32,
}

#[repr(C)]
pub struct Notified {
    pub kind: u32,
    pub number: u32,
}

/// What the lists of hooks call these arguments.
pub type Notice<'a> = &'a Notified;
pub type ReceiverFlow = u32;
pub type MessageId = u32;

/// The table of a role: what stands before the hooks of its list, those, and what stands behind them. `$me` is what
/// each of them gets before its arguments; where its answer may be none, or is a struct, it also gets a place for it.
macro_rules! table {
    ($role:ident $before:tt $behind:tt $me:tt [$($context:ident),*] $($hooks:tt)*) => {
        table! { @ $role $before $behind $me $($hooks)* }
    };
    (@ $role:ident { $($before:tt)* } { $($behind:tt)* } $me:tt) => {
        #[repr(C)]
        pub struct $role { $($before)* $($behind)* }
    };
    (
        @ $role:ident $before:tt $behind:tt $me:tt $(#[$doc:meta])*
        fn $name:ident $args:tt -> () $or:block $($rest:tt)*
    ) => {
        table! { @ $role $before $behind $me $name $args () () $($rest)* }
    };
    (
        @ $role:ident $before:tt $behind:tt $me:tt $(#[$doc:meta])*
        fn $name:ident $args:tt -> u32 $or:block $($rest:tt)*
    ) => {
        table! { @ $role $before $behind $me $name $args () (u32) $($rest)* }
    };
    (
        @ $role:ident $before:tt $behind:tt $me:tt $(#[$doc:meta])*
        fn $name:ident $args:tt -> Option<$out:ident> $or:block $($rest:tt)*
    ) => {
        table! { @ $role $before $behind $me $name $args (&mut $out) (u32) $($rest)* }
    };
    (
        @ $role:ident $before:tt $behind:tt $me:tt $(#[$doc:meta])*
        fn $name:ident $args:tt -> $out:ident $or:block $($rest:tt)*
    ) => {
        table! { @ $role $before $behind $me $name $args (&mut $out) () $($rest)* }
    };
    (
        @ $role:ident { $($before:tt)* } $behind:tt ($($me:ty),*)
        $name:ident ($($arg:ident: $type:ty),*) ($($place:ty)?) ($($answer:ty)?) $($rest:tt)*
    ) => {
        table! { @ $role {
            $($before)* pub $name: Option<extern "C" fn($($me,)* $($type,)* $($place,)? &mut Cx) $(-> $answer)?>,
        } $behind ($($me),*) $($rest)* }
    };
}

sender_hooks!(table, Sender {
    pub size: u64,
    pub open: Option<extern "C" fn(State, &mut Control, &Path, &mut Cx)>,
} {
    pub watch: Option<Watch>,
    pub close: Option<extern "C" fn(State, &mut Control, &mut Cx)>,
} (State, &mut Control));

#[repr(C)]
pub struct Nic {
    pub line_rate: u64,
    pub network_rtt: u64,
    pub seed: u64,
    pub payload: u32,
    pub wire: u32,
}

#[repr(C)]
pub struct FlowInfo {
    pub size: u64,
    pub flow: u32,
    pub id: u32,
    pub from: u32,
}

#[repr(C)]
pub struct MessageStart {
    pub flow: u32,
    pub id: u32,
    pub from: u32,
    pub tenant: u32,
    pub weight: u32,
    pub incast: u32,
    pub sender_count: u32,
    pub senders: *const u32,
}

#[repr(C)]
pub struct Data {
    pub seq: u64,
    pub acked_to: u64,
    pub received: u64,
    pub flow: u32,
    pub from: u32,
    pub wire: u32,
    pub payload: u32,
    pub ce: u32,
    pub start: u32,
    pub end: u32,
    pub in_order: u32,
    pub ack_due: u32,
    pub pending: u32,
    pub due_alone: u32,
    pub cc_tag: u32,
    pub cc_feedback: u32,
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct AckFields {
    pub ecn_echo: u32,
    pub push: u32,
    pub has_window: u32,
    pub window: u32,
    pub cc_feedback: u32,
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct AckPlan {
    pub send_before: u32,
    pub send_now: u32,
    pub before: AckFields,
    pub now: AckFields,
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Emit {
    pub kind: u32,
    pub flow: u32,
    pub number: u32,
    pub wire: u32,
    pub fields: AckFields,
}

receiver_hooks!(table, Receiver {
    pub host_size: u64,
    pub flow_size: u64,
    pub open: Option<extern "C" fn(State, &Nic, &mut Cx)>,
} {
    pub on_timer: Option<extern "C" fn(State, u64, &mut Cx)>,
    pub poll_transmit: Option<extern "C" fn(State, &mut Emit, &mut Cx) -> u32>,
    pub watch: Option<Watch>,
} (State, State));

#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Port {
    pub rate: u64,
    pub queued: u64,
    pub of_class: u64,
    pub to_switch: u32,
    pub up: u32,
    pub paused: u32,
}

#[repr(C)]
pub struct Ports {
    pub view: extern "C" fn(&Ports, u32, &mut Port),
    pub of: *const c_void,
    pub count: u32,
}

#[repr(C)]
pub struct SwitchInfo {
    pub ports: *const Port,
    pub network_rtt: u64,
    pub seed: u64,
    pub port_count: u32,
    pub node: u32,
}

#[repr(C)]
pub struct Packet {
    pub seq: u64,
    pub sent_at: u64,
    pub flow: u32,
    pub from: u32,
    pub to: u32,
    pub cc_tag: u32,
    pub cc_feedback: u32,
    pub ce: u32,
    pub ecn: u32,
    pub wire: u32,
    pub payload: u32,
    pub hops: u32,
    pub kind: u32,
    pub service_class: u32,
}

#[repr(C)]
pub struct Queue {
    pub view: Port,
    pub port: u32,
    pub own: u32,
}

#[repr(C)]
pub struct Switch {
    pub size: u64,
    pub open: Option<extern "C" fn(State, &SwitchInfo, &mut Cx)>,
    pub route: Option<extern "C" fn(State, &mut Packet, u32, u32, &Ports, &mut Cx) -> u32>,
    pub on_enqueue: Option<extern "C" fn(State, &mut Packet, &Queue, &mut Cx) -> u32>,
    pub on_dequeue: Option<extern "C" fn(State, &mut Packet, &Queue, &mut Cx)>,
    pub on_drop: Option<extern "C" fn(State, &Packet, &mut Cx)>,
    pub on_link_down: Option<extern "C" fn(State, u32, &mut Cx)>,
    pub on_timer: Option<extern "C" fn(State, &Ports, &mut Cx)>,
    pub watch: Option<Watch>,
}

#[repr(C)]
pub struct Choice {
    pub rate: u64,
    pub queued: u64,
    pub port: u32,
    pub paused: u32,
}

#[repr(C)]
pub struct Parameter {
    pub name: *const c_char,
    pub doc: *const c_char,
    pub initial: f64,
    pub smallest: f64,
    pub largest: f64,
    pub kind: u32,
}

pub type Check = extern "C" fn(*const Value) -> *const c_char;

#[repr(C)]
pub struct Scheme {
    pub version: u32,
    pub struct_size: u32,
    pub id: *const c_char,
    pub manual: *const c_char,
    pub parameters: *const Parameter,
    pub check: Option<Check>,
    pub parameter_count: u32,
    pub transport: u32,
    pub no_ecn: u32,
    pub needs_marks: u32,
    pub telemetry: u32,
    pub data_header: u32,
    pub ack_header: u32,
    pub holds_acks: u32,
    pub acks_once_per_rtt: u32,
    pub sharing: u32,
    pub shared_size: u64,
    pub credit: u32,
    pub credit_burst: u32,
    pub credit_limit: u32,
    pub sender: Sender,
    pub receiver: Receiver,
    pub switch_program: Switch,
}

#[repr(C)]
pub struct Policy {
    pub version: u32,
    pub struct_size: u32,
    pub id: *const c_char,
    pub manual: *const c_char,
    pub parameters: *const Parameter,
    pub check: Option<Check>,
    pub parameter_count: u32,
    pub size: u64,
    pub open: Option<extern "C" fn(State, &SwitchInfo, &mut Cx)>,
    pub choose: Option<extern "C" fn(State, &Packet, u32, *const Choice, u32, &mut Cx) -> u32>,
    pub on_enqueue: Option<extern "C" fn(State, &mut Packet, &Queue, &mut Cx) -> u32>,
    pub on_dequeue: Option<extern "C" fn(State, &mut Packet, &Queue, &mut Cx)>,
}

#[repr(C)]
pub struct SelectorInfo {
    pub seed: u64,
    pub paths: u32,
    pub flow: u32,
    pub from: u32,
    pub to: u32,
}

#[repr(C)]
pub struct Selector {
    pub version: u32,
    pub struct_size: u32,
    pub id: *const c_char,
    pub manual: *const c_char,
    pub parameters: *const Parameter,
    pub check: Option<Check>,
    pub parameter_count: u32,
    pub size: u64,
    pub open: Option<extern "C" fn(State, &SelectorInfo, &mut Cx)>,
    pub next_path: Option<extern "C" fn(State, u32, u64, &mut Cx) -> u32>,
    pub feedback: Option<extern "C" fn(State, u32, u32, &mut Cx)>,
}
