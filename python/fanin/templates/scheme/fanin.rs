//! The part of Fanin's `fanin_scheme.h` that a sender needs, in Rust: see there for what each field means. Fanin
//! refuses a library whose description has another version or size.
#![allow(dead_code, reason = "a scheme needs only a part of it")]

use std::ffi::{c_char, c_void};

/// `FANIN_SCHEME_VERSION`.
pub const VERSION: u32 = 3;
/// `FANIN_NEVER`: a timer that is not set.
pub const NEVER: u64 = u64::MAX;
/// `FANIN_NO_WINDOW`: any number of bytes may be in flight.
pub const NO_WINDOW: u64 = u64::MAX;

/// The value of a parameter. A boolean is an integer, 0 or 1.
#[repr(C)]
#[derive(Clone, Copy)]
pub union Value {
    pub number: f64,
    pub integer: i64,
}

/// The context of a hook.
#[repr(C)]
pub struct Cx {
    pub now: u64,
    pub parameters: *const Value,
    pub shared: *mut c_void,
    pub counts: *mut u64,
    pub problem: *const c_char,
    pub wake_at: u64,
    pub shared_changed: u32,
}

/// What results count, in the order of `enum fanin_action`.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum Action {
    Cuts,
    Increases,
    MarksSeen,
}

impl Cx {
    /// Counts an action.
    pub fn count(&mut self, action: Action) {
        // SAFETY: Fanin has a count for each action.
        unsafe { *self.counts.add(action as usize) += 1 }
    }
    /// The parameter at this place of the table.
    pub fn parameter(&self, at: usize) -> Value {
        // SAFETY: Fanin has a value for each row of the table.
        unsafe { *self.parameters.add(at) }
    }
}

/// How much a flow may send.
#[repr(C)]
pub struct Control {
    pub window: u64,
    pub rate: u64,
    pub wake_at: u64,
    pub not_before: u64,
    pub retime: u32,
}

/// The path of a flow when it opens.
#[repr(C)]
pub struct PathInfo {
    pub line_rate: u64,
    pub receiver_rate: u64,
    pub base_rtt: u64,
    pub network_bdp: u64,
    pub network_rtt: u64,
    pub payload: u32,
    pub wire: u32,
}

/// An acknowledgement.
#[repr(C)]
pub struct Ack {
    pub newly_acked: u64,
    pub acked_to: u64,
    pub sent_to: u64,
    pub seq: u64,
    pub in_flight: u64,
    pub burst: u64,
    pub rtt: u64,
    pub hops: *const c_void,
    pub hop_count: u32,
    pub path: u32,
    pub recovering: u32,
    pub ecn_echo: u32,
    pub cc_feedback: u32,
}

/// A loss that the endpoint found.
#[repr(C)]
pub struct Loss {
    pub from: u64,
    pub sent_to: u64,
    pub in_flight: u64,
    pub retransmitted: u32,
}

/// A packet whose payload a switch cut.
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

/// A data packet that left.
#[repr(C)]
pub struct Sent {
    pub sent_to: u64,
    pub left: u64,
    pub wire: u32,
    pub payload: u32,
    pub retransmitted: u32,
}

/// A CNP (kind 1) or a credit (kind 2).
#[repr(C)]
pub struct Notice {
    pub kind: u32,
    pub number: u32,
}

/// Hooks of a sender; `me` is the state of a flow.
#[repr(C)]
pub struct Sender {
    pub size: u64,
    pub open: Option<unsafe extern "C" fn(*mut c_void, &mut Control, &PathInfo, &mut Cx)>,
    pub on_send: Option<unsafe extern "C" fn(*mut c_void, &mut Control, &Sent, &mut Cx) -> u32>,
    pub on_ack: Option<unsafe extern "C" fn(*mut c_void, &mut Control, &Ack, &mut Cx)>,
    pub on_notice: Option<unsafe extern "C" fn(*mut c_void, &mut Control, &Notice, &mut Cx)>,
    pub on_loss: Option<unsafe extern "C" fn(*mut c_void, &mut Control, &Loss, &mut Cx)>,
    pub on_timeout: Option<unsafe extern "C" fn(*mut c_void, &mut Control, &Loss, &mut Cx)>,
    pub on_trim: Option<unsafe extern "C" fn(*mut c_void, &mut Control, &Trim, &mut Cx)>,
    pub on_idle: Option<unsafe extern "C" fn(*mut c_void, &mut Control, &mut Cx)>,
    pub on_timer: Option<unsafe extern "C" fn(*mut c_void, &mut Control, &mut Cx)>,
    pub poll_request: Option<unsafe extern "C" fn(*mut c_void, &mut Control, u64, &mut u32, &mut Cx) -> u32>,
    pub watch: Option<unsafe extern "C" fn(*const c_void, u32, *mut c_void) -> u32>,
    pub close: Option<unsafe extern "C" fn(*mut c_void, &mut Control, &mut Cx)>,
}

/// A key of the spec.
#[repr(C)]
pub struct Parameter {
    pub name: *const c_char,
    pub doc: *const c_char,
    pub initial: f64,
    pub smallest: f64,
    pub largest: f64,
    /// 0 a number, 1 an integer, 2 a boolean.
    pub kind: u32,
}

/// `struct fanin_scheme`.
#[repr(C)]
pub struct Scheme {
    pub version: u32,
    pub struct_size: u32,
    pub id: *const c_char,
    pub manual: *const c_char,
    pub parameters: *const Parameter,
    pub check: Option<unsafe extern "C" fn(*const Value) -> *const c_char>,
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
    /// `fanin_receiver`: two sizes and 14 hooks, none of them set.
    pub receiver: [usize; 16],
    /// `fanin_switch`: a size and 8 hooks, none of them set.
    pub switch_program: [usize; 9],
}

// SAFETY: it is constant, and what it points to is too.
unsafe impl Sync for Scheme {}
unsafe impl Sync for Parameter {}
