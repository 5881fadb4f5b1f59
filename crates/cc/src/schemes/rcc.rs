//! # rcc: the receiver schedules the windows of its senders
//!
//! ## Idea
//! Many senders to one receiver overflow the queue of its switch port within a round trip, before any signal reaches
//! them. The receiver knows all of these flows. It gives each a window so that all windows together fit into that
//! queue, and holds back ACKs while they do not. Marks tell it of congestion elsewhere. Its windows travel in TCP's
//! own window field, so that an ordinary sender obeys them.
//!
//! ## Signals
//! * Receiver: SYN and FIN of each flow, arriving data with its marks, gaps and silence; the size of a flow if its
//!   sender announces it.
//! * Sender: the advertised window, and an ACK with PSH, which it takes for three duplicate ACKs.
//! * Switch: step marking in the network's `marking` (low = high = K; the paper has K = 40 packets at 1 Gb/s).
//!
//! ## Control law
//! A segment is the largest payload of a packet; windows are whole segments.
//!
//! * Window assignment (Algorithm 1), at every SYN and FIN: flows in falling priority get W_i = p_i / sum of p_j x
//!   `queue_maxsize`, at least 1 and at most the flow's size. What is left goes one by one to the flows that can use
//!   it, from the lowest priority on. p = 1/size, and 0 for a flow whose size is not known; with no sizes or `priority
//!   = "none"` all W_i are equal, and the rest stays unassigned.
//! * Queue of ACKs (Algorithm 2): every ACK, SYN-ACKs included, joins a queue in which each flow has at most one, the
//!   newest. It goes behind all of its own or a higher priority. An ACK that was overtaken `max_skips` times is
//!   overtaken no more. ACKs leave while the windows in flight over all flows are at most `queue_maxsize`. Windows in
//!   flight: the bytes by which each ACK raised the end of its flow's window, less those that have arrived since.
//! * Closed loop: a window of NewReno per flow at the receiver, in which packets out of order stand for duplicate
//!   ACKs, starts at 1 segment and moves between 1 and W_i; it is what the ACK advertises (rwnd).
//! * RTT: the time from an ACK's leaving the queue to the data it asked for last, from ack + rwnd - segment (eq. 2).
//! * ECN: over each RTT alpha is the share of marked packets (or a running mean, with `g` below 1); if there were any,
//!   rwnd = rwnd (1 - alpha/2) (eq. 3).
//! * Retransmission (Algorithm 3): when nothing of a flow has arrived and no ACK of it has left for RTO_r, ssthresh =
//!   max(2 segments, rwnd/2), rwnd = 1 segment, RTO_r doubles, and an ACK with PSH joins the queue with `push_skips`
//!   skips.
//! * Sender: TCP as `newreno`, `cubic` or `dctcp` have it, so that the smaller of its own window and the advertised one
//!   counts, or the `advertised` window alone.
//!
//! In `measure.series`, `what = "receiver"` has per host: `flight_wins` (windows in flight, in segments),
//! `acks_waiting`, the sums over its open flows of W_i (`assigned_windows`) and of the closed loop's windows
//! (`windows`), in segments, and their means of alpha (`alpha`), of alpha at the last cut (`cut_alpha`) and of the RTT
//! (`rtt_us`).
//!
//! Presets: `rcc` is the paper's scheme. `rcc-ecn` is its closed loop alone, without Algorithms 1 and 2. `rcc-ns3`
//! follows the authors' code where it differs (`follow = "code"`): priority by remaining size; all windows clipped to
//! what remains, and the rest dealt out from the highest priority, also without priorities; ACKs leave while the
//! windows in flight are less than the limit; ACKs of whole flows do not wait; a running mean of alpha that forgets no
//! round trip without marks; slow start ends at half the window with a mark; the ACK of a timeout waits 0 to 9 round
//! trips; windows of at most 65535 bytes; RTO_r from the RTT; a sender that obeys the advertised window alone.
//!
//! ## Parameters
//! In a spec: `parameters = { queue_maxsize = 40, priority = "none", sender = "dctcp" }`.
//!
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `queue_maxsize` | segments | 40 | section 6 |
//! | `priority` | `size`, `remaining` or `none` | size | sections 4.1, 6; the code has `remaining`; 6.3.1 `none` |
//! | `scheduler` | true or false | true | sections 4.1, 4.2; false in `rcc-ecn` |
//! | `max_skips` | times, 0 is C RTO_r/2 | 0 | section 4.2; the code has 700 |
//! | `push_skips` | times, 0 is C RTO_r/4 | 0 | section 4.5; the code has 150 |
//! | `rto` | time | 10 ms | section 6: RTO_r, before it doubles |
//! | `rto_from_rtt` | true or false | false | the code: mean + 4 deviations in whole ms, at least `rto` |
//! | `rtt_gain` | gain | 0.125 | RFC 6298; the code has 0.1 |
//! | `first_rtt` | time, 0 is the network's largest | 0 ps | ours; the code has 100 us, also for a mean below that |
//! | `ecn` | true or false | true | section 4.6 |
//! | `g` | gain of alpha | 1 | section 4.6: the share itself; the code has 1/16 |
//! | `initial_ssthresh` | bytes or `unlimited` | unlimited | as in `newreno`; the code has 65535 B |
//! | `max_window` | bytes, 0 is no limit | 0 B | the code: 65535 B |
//! | `follow` | `paper` or `code` | paper | see the presets |
//! | `sender` | `newreno`, `cubic`, `dctcp` or `advertised` | newreno | see below |
//! | `newreno` | table | as there | the sender of `sender = "newreno"` |
//! | `cubic` | table | as there | the sender of `sender = "cubic"` |
//! | `dctcp` | table | as there | the sender of `sender = "dctcp"` |
//!
//! ## Where we differ from the paper and why
//! * The paper's sender takes rwnd for its only window; so does `sender = "advertised"`. By default the sender is an
//!   unmodified TCP.
//! * p_i = 1/size: the paper says that the size is the priority, which must fall with it.
//! * Windows in flight are counted in bytes per flow, and counted exactly whenever no gap is open, because lost and
//!   repeated packets would make the paper's sum drift. Windows beyond a known end of a flow do not count. After RTO_r
//!   those of the flow count as lost or unused; after two timeouts in a row an ACK of it does not count until data
//!   arrives, and after six the flow takes no part until then, in Algorithm 1 either, nor does the receiver ask: flows
//!   that pause or die would stop all others.
//! * While windows in flight are at most `queue_maxsize`, an ACK leaves even if its window exceeds what is left; kept.
//! * A cut by eq. (3) ends slow start, and marked packets do not grow the window (RFC 3168), on which the paper is
//!   silent; otherwise the next packets would undo the cut.
//! * TCP's own timers repeat SYNs, SYN-ACKs and data as well (the paper's footnote 7). RTO_r runs from the SYN-ACK on,
//!   also while an ACK waits (5.1).
//! * The end of a connection that sent the SYN joins with the first data it receives. Until then it advertises 1
//!   segment.
//! * A FIN frees the flow's window, and the ACK that waited leaves at once, so that connections close.
//! * Where a flow's own link is the bottleneck nothing is marked or lost. Without Algorithm 1 nothing then bounds rwnd:
//!   it grows beyond what is in flight, eq. (2) measures the time that a whole rwnd takes, and marks that come later
//!   are answered once in that time. `max_window` bounds it, as does TCP without window scaling, at 65,535 bytes.
//! * The "offered load" x of the authors' code is no traffic: it takes 80 x packets off the switch's queue limit and
//!   off its marking threshold, and delays each packet by the transmission of 80 x packets at every switch. A spec says
//!   so of the network: at 1 Gb/s and x = 0.3 `per_port = "84 KB"`, `above = "24 KB"`, and in a star 144 us more of
//!   `delay` on each link. From x = 0.5 on the limit is not above `queue_maxsize`.
//! * Not here are the code's deadlines and its 12 bytes of header.
//!
//! ## References
//! * The RCC paper (Receiver-oriented congestion control for heavy incast), sections 4 to 6.
//! * The authors' code: github.com/thuxl/rdtcp.
//! * RFC 6582 (NewReno), RFC 5681 (TCP congestion control), RFC 6298 (RTO).

pub mod assign;
mod params;
pub mod queue;
pub mod receiver;
pub mod window;

pub use params::{Follow, Params, Priority, SenderKind};

use super::newreno::{Threshold, Unlimited};
use super::{cubic, dctcp, newreno};
use crate::roles::*;
use fanin_units::{Bytes, Rate, Time};

/// The scheme.
pub struct Rcc;

impl Scheme for Rcc {
    type Params = Params;
    type Sender = Flow;
    type Receiver = receiver::Host;
    type Switch = NoSwitch<Params>;
    fn transport(_: &Params) -> Transport {
        Transport::Tcp
    }
    const PRESETS: &'static [&'static str] = &["rcc", "rcc-ecn", "rcc-ns3"];

    fn preset(id: &str) -> Params {
        let paper = Params {
            queue_maxsize: 40,
            priority: Priority::Size,
            scheduler: id != "rcc-ecn",
            max_skips: 0,
            push_skips: 0,
            rto: Time::from_ms(10),
            rto_from_rtt: false,
            rtt_gain: 0.125,
            first_rtt: Time::ZERO,
            ecn: true,
            g: 1.0,
            initial_ssthresh: Threshold::Unlimited(Unlimited::Unlimited),
            max_window: Bytes(0),
            follow: Follow::Paper,
            sender: SenderKind::Newreno,
            newreno: newreno::NewReno::preset("newreno"),
            cubic: cubic::Cubic::preset("cubic"),
            dctcp: dctcp::Dctcp::preset("dctcp"),
        };
        if id != "rcc-ns3" {
            return paper;
        }
        Params {
            priority: Priority::Remaining,
            max_skips: 700,
            push_skips: 150,
            rto_from_rtt: true,
            rtt_gain: 0.1,
            first_rtt: Time::from_us(100),
            g: 1.0 / 16.0,
            initial_ssthresh: Threshold::Bytes(Bytes(65_535)),
            max_window: Bytes(65_535),
            follow: Follow::Code,
            sender: SenderKind::Advertised,
            ..paper
        }
    }

    fn needs_marks(p: &Params) -> bool {
        p.ecn && !p.scheduler
    }

    fn tcp_only(_: &Params) -> Option<&'static str> {
        Some("assigns TCP's receive windows, which RDMA has not")
    }

    fn wants_ecn(p: &Params) -> bool {
        p.ecn || p.sender == SenderKind::Dctcp
    }

    fn check(p: &Params) -> Result<(), &'static str> {
        require([
            (p.queue_maxsize > 0, "queue_maxsize must be at least 1 segment, or no ACK ever leaves"),
            (p.rto > Time::ZERO, "rto must be above 0"),
            (p.rtt_gain > 0.0 && p.rtt_gain <= 1.0, "rtt_gain must be above 0 and at most 1"),
            (p.g > 0.0 && p.g <= 1.0, "g must be above 0 and at most 1"),
        ])?;
        newreno::NewReno::check(&p.newreno)?;
        cubic::Cubic::check(&p.cubic)?;
        dctcp::Dctcp::check(&p.dctcp)
    }
}

/// A flow at its sender.
#[derive(Clone, Debug)]
pub enum Flow {
    /// TCP's window.
    NewReno(newreno::Flow),
    /// CUBIC's window.
    Cubic(cubic::Flow),
    /// DCTCP's window.
    Dctcp(dctcp::Flow),
    /// No window of its own.
    Advertised(Rate),
}

/// Runs a hook of the sender that a flow is.
macro_rules! inner {
    ($flow:expr, $cx:expr, $inner:ident, $with:ident => $hook:expr, $none:expr) => {{
        let p = $cx.params;
        match $flow {
            Self::NewReno($inner) => {
                let shared = &mut ();
                let $with = &mut $cx.inner(&p.newreno, shared);
                $hook
            }
            Self::Cubic($inner) => {
                let shared = &mut ();
                let $with = &mut $cx.inner(&p.cubic, shared);
                $hook
            }
            Self::Dctcp($inner) => {
                let shared = &mut ();
                let $with = &mut $cx.inner(&p.dctcp, shared);
                $hook
            }
            Self::Advertised(_) => $none,
        }
    }};
}

impl Sender for Flow {
    type Params = Params;
    type Shared = ();

    fn open(path: &PathInfo, cx: &mut Cx<'_, Params>) -> Self {
        let p = cx.params;
        match p.sender {
            SenderKind::Newreno => Self::NewReno(newreno::Flow::open(path, &mut cx.inner(&p.newreno, &mut ()))),
            SenderKind::Cubic => Self::Cubic(cubic::Flow::open(path, &mut cx.inner(&p.cubic, &mut ()))),
            SenderKind::Dctcp => Self::Dctcp(dctcp::Flow::open(path, &mut cx.inner(&p.dctcp, &mut ()))),
            SenderKind::Advertised => Self::Advertised(path.line_rate),
        }
    }

    #[inline(always)]
    fn control(&self, _: &Cx<'_, Params>) -> Control {
        match self {
            Self::NewReno(flow) => flow.allowed(),
            Self::Cubic(flow) => flow.allowed(),
            Self::Dctcp(flow) => flow.allowed(),
            Self::Advertised(rate) => Control::rate(*rate),
        }
    }

    fn on_send(&mut self, sent: &Sent, cx: &mut Cx<'_, Params>) -> u32 {
        inner!(self, cx, flow, cx => flow.on_send(sent, cx), 0)
    }

    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Cx<'_, Params>) {
        inner!(self, cx, flow, cx => flow.on_ack(ack, cx), ());
    }

    fn on_loss(&mut self, loss: &Loss, cx: &mut Cx<'_, Params>) {
        inner!(self, cx, flow, cx => flow.on_loss(loss, cx), ());
    }

    fn on_timeout(&mut self, loss: &Loss, cx: &mut Cx<'_, Params>) {
        inner!(self, cx, flow, cx => flow.on_timeout(loss, cx), ());
    }

    fn on_idle(&mut self, cx: &mut Cx<'_, Params>) {
        inner!(self, cx, flow, cx => flow.on_idle(cx), ());
    }

    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        if let Self::Dctcp(flow) = self {
            flow.watch(see);
        }
    }
}
