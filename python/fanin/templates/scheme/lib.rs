//! my-scheme: a window that grows by a packet per round-trip time and is cut where the network marks packets.
//!
//! Build it with `cargo build --release`. Keep state in [`Flow`] alone, never in statics: flows run on several threads.

mod fanin;

use fanin::{Ack, Action, Control, Cx, Loss, Parameter, PathInfo, Scheme, Sender};
use std::ffi::c_void;

const CUT: usize = 0;
const INCREASE: usize = 1;
/// Keys of the spec: `scheme = { id = "my-scheme", cut = 0.7 }`.
static PARAMETERS: [Parameter; 2] = [
    Parameter {
        name: c"cut".as_ptr(),
        doc: c"factor of the window at a congestion mark".as_ptr(),
        initial: 0.5,
        smallest: 0.01,
        largest: 0.99,
        kind: 0,
    },
    Parameter {
        name: c"increase".as_ptr(),
        doc: c"packets that the window grows by per round-trip time".as_ptr(),
        initial: 1.0,
        smallest: 1.0,
        largest: 1000.0,
        kind: 1,
    },
];

/// A flow at its sender. Fanin keeps it, zeroed at first, and frees it without notice.
struct Flow {
    /// The window, with the part of a byte that it has grown.
    allowed: f64,
    largest: f64,
    packet: f64,
    /// No second cut before this offset is acknowledged.
    cut_until: u64,
}

impl Flow {
    /// Sets the window: at least a packet, at most a bandwidth-delay product.
    fn allow(&mut self, size: f64, control: &mut Control) {
        self.allowed = size.clamp(self.packet, self.largest);
        control.window = self.allowed as u64;
    }

    /// The flow opens: a bandwidth-delay product in flight, at line rate, which is no pacing.
    fn open(&mut self, control: &mut Control, path: &PathInfo) {
        self.packet = f64::from(path.payload);
        self.largest = (path.network_bdp as f64).max(self.packet);
        self.allow(self.largest, control);
    }

    /// An ACK arrived. It echoes whether a switch marked its packet, and has the round-trip time `ack.rtt`.
    fn on_ack(&mut self, control: &mut Control, ack: &Ack, cx: &mut Cx) {
        if ack.ecn_echo == 0 {
            // SAFETY: it is an integer in the table.
            let packets = unsafe { cx.parameter(INCREASE).integer } as f64 * self.packet;
            self.allow(self.allowed + packets * ack.newly_acked as f64 / self.allowed, control);
        } else if ack.acked_to > self.cut_until || self.cut_until == 0 {
            // Once per window of data: not again before what is in flight now has been acknowledged.
            self.cut_until = ack.sent_to;
            // SAFETY: it is a number in the table.
            self.allow(self.allowed * unsafe { cx.parameter(CUT).number }, control);
            cx.count(Action::Cuts);
        }
    }

    /// The retransmission timer ran out, and all in flight is sent again: a packet at first.
    fn on_timeout(&mut self, control: &mut Control, loss: &Loss) {
        self.cut_until = loss.sent_to;
        self.allow(self.packet, control);
    }
}

// SAFETY, of all three: `me` is a zeroed `Flow` of this flow alone, which Fanin made with the size below.
unsafe extern "C" fn open(me: *mut c_void, control: &mut Control, path: &PathInfo, _: &mut Cx) {
    unsafe { &mut *me.cast::<Flow>() }.open(control, path);
}
unsafe extern "C" fn on_ack(me: *mut c_void, control: &mut Control, ack: &Ack, cx: &mut Cx) {
    unsafe { &mut *me.cast::<Flow>() }.on_ack(control, ack, cx);
}
unsafe extern "C" fn on_timeout(me: *mut c_void, control: &mut Control, loss: &Loss, _: &mut Cx) {
    unsafe { &mut *me.cast::<Flow>() }.on_timeout(control, loss);
}

static SCHEME: Scheme = Scheme {
    version: fanin::VERSION,
    struct_size: size_of::<Scheme>() as u32,
    id: c"my-scheme".as_ptr(),
    manual: c"A window that grows by a packet per round-trip time and is cut where the network marks packets."
        .as_ptr(),
    parameters: PARAMETERS.as_ptr(),
    check: None,
    parameter_count: PARAMETERS.len() as u32,
    transport: 0,
    no_ecn: 0,
    needs_marks: 1,
    telemetry: 0,
    data_header: 0,
    ack_header: 0,
    holds_acks: 0,
    acks_once_per_rtt: 0,
    sharing: 0,
    shared_size: 0,
    credit: 0,
    credit_burst: 0,
    credit_limit: 0,
    sender: Sender {
        size: size_of::<Flow>() as u64,
        open: Some(open),
        on_send: None,
        on_ack: Some(on_ack),
        on_notice: None,
        on_loss: None,
        on_timeout: Some(on_timeout),
        on_trim: None,
        on_idle: None,
        on_timer: None,
        poll_request: None,
        watch: None,
        close: None,
    },
    receiver: [0; 16],
    switch_program: [0; 9],
};

/// What Fanin looks for in the library.
#[no_mangle]
pub extern "C" fn fanin_scheme() -> &'static Scheme {
    &SCHEME
}
