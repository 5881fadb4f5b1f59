//! The state of a sender.
//!
//! Source: uet-htsim's source of UEC.

use crate::matrix::Connection;
use crate::messages::Messages;
use crate::window::Window;
use fanin_cc::paths::Paths;
use fanin_cc::uet::Credit;
use fanin_cc::uet::Window as Nscc;

/// The state of a sender's loss recovery (`-sleek`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Recovery {
    /// All packets below this sequence number are to be acknowledged before it ends.
    pub(crate) until: Option<u32>,
    /// The number of the event of its next probe, or 0.
    pub(crate) timer: u64,
}

impl Recovery {
    /// Whether a loss is being repaired, so that what is sent again need not fit into the window.
    pub fn goes_on(&self) -> bool {
        self.until.is_some()
    }
}

/// A running retransmission timer.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    /// When it expires.
    pub expires: u64,
    /// When the packet was sent that it is for.
    pub sent: u64,
    /// The number of its event.
    pub number: u64,
}

/// What a sender counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// New packets.
    pub new: u64,
    /// Packets sent again.
    pub again: u64,
    /// Requests for credit.
    pub rts: u64,
    /// ACKs processed.
    pub acks: u64,
    /// NACKs processed.
    pub nacks: u64,
    /// Pulls processed.
    pub pulls: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// Packets that loss recovery (`-sleek`) sends again.
    pub sleek: u64,
}

/// The state of a sender.
pub struct Sender {
    /// `Uec_FROM_TO`.
    pub(crate) name: String,
    pub(crate) flow: u32,
    pub(crate) host: u32,
    pub(crate) to: u32,
    pub(crate) done_trigger: Option<u32>,
    /// Payload due so far.
    pub(crate) size: u64,
    /// Messages due so far, those to come, and the payload of those not sent whole.
    pub(crate) messages: Messages,
    pub(crate) acknowledged: u64,
    pub(crate) backlog: i64,
    pub(crate) highest: u32,
    pub(crate) window: Window,
    pub(crate) in_flight: i64,
    pub(crate) received: u64,
    pub(crate) credit: Credit,
    pub(crate) blocked: bool,
    pub(crate) started: Option<u64>,
    pub(crate) finished: Option<u64>,
    pub(crate) nscc: Nscc,
    pub(crate) paths: Paths,
    pub(crate) counters: Counters,
    pub(crate) timer: Option<Timer>,
    /// When the next event of a timer comes, be it this one or one that was cancelled.
    pub(crate) timeout: u64,
    pub(crate) last_rts: u64,
    pub(crate) cumulative: u32,
    pub(crate) recovery: Recovery,
}

impl Sender {
    /// A sender that has not started.
    pub fn new(connection: &Connection, flow: u32, nscc: Nscc, paths: Paths) -> Self {
        Self {
            name: format!("Uec_{}_{}", connection.from, connection.to),
            flow,
            host: connection.from,
            to: connection.to,
            done_trigger: connection.done,
            size: 0,
            messages: Messages::default(),
            acknowledged: 0,
            backlog: 0,
            highest: 0,
            window: Window::default(),
            in_flight: 0,
            received: 0,
            credit: Credit::new(0),
            blocked: false,
            started: None,
            finished: None,
            nscc,
            paths,
            counters: Counters::default(),
            timer: None,
            timeout: u64::MAX,
            last_rts: 0,
            cumulative: 0,
            recovery: Recovery::default(),
        }
    }
}
