//! A scheme and its three roles.

mod hooks;
mod ns3;
mod receiver;
mod sender;
mod switch;

pub use ns3::*;
pub use receiver::*;
pub use sender::*;
pub use switch::*;

use crate::{Action, Actions};
use fanin_units::{Bytes, Time};

/// A scheme: its parameters and its three roles. Implemented once per file of [`crate::schemes`].
pub trait Scheme: 'static {
    /// Its parameters. Each field's doc comment gives unit, default and source.
    type Params: Clone + core::fmt::Debug + PartialEq;
    /// Runs per flow at the sender.
    type Sender: Sender<Params = Self::Params>;
    /// Runs per host at the receiver.
    type Receiver: Receiver<Params = Self::Params>;
    /// Runs per switch.
    type Switch: SwitchProgram<Params = Self::Params>;

    /// The endpoint that carries its flows unless the spec asks for the other one.
    fn transport(_params: &Self::Params) -> Transport {
        Transport::Rdma
    }

    /// The ids by which a spec selects it; the first is the paper's scheme.
    const PRESETS: &'static [&'static str];

    /// The parameters of one of [`Self::PRESETS`].
    fn preset(id: &str) -> Self::Params;

    /// Whether it understands congestion marks. If not, its data is never marked.
    fn wants_ecn(_params: &Self::Params) -> bool {
        true
    }

    /// The lanes that its messages use within their data class.
    fn lanes(_params: &Self::Params) -> Lanes {
        Lanes::One
    }

    /// The queues of its receivers' credits at every port; `None` if they send none.
    fn credits(_params: &Self::Params) -> Option<CreditQueue> {
        None
    }

    /// Why the packets of a flow have to go the same way in both directions; `None` if they need not.
    fn symmetric_routes(_params: &Self::Params) -> Option<&'static str> {
        None
    }

    /// Whether its receivers send an ACK per flow and round-trip time over RDMA instead of one per packet. Packets stay
    /// in flight for a second round trip then, as far as their sender knows.
    fn acks_once_per_rtt(_params: &Self::Params) -> bool {
        false
    }

    /// Whose flows share state, where its senders have any to share.
    fn sharing(_params: &Self::Params) -> Sharing {
        Sharing::Pair
    }

    /// How a message of so many bytes is sent. `senders` is the size of the incast that it belongs to, 0 for none;
    /// `connection` is whether it shares a connection, and so one order of packets, with other messages.
    fn send_options(_params: &Self::Params, _bytes: u64, _senders: usize, _connection: bool) -> SendOptions {
        SendOptions::default()
    }

    /// The bytes that it adds to every packet.
    fn header_overhead(_params: &Self::Params) -> HeaderOverhead {
        HeaderOverhead::default()
    }

    /// Why TCP cannot carry its flows; `None` if it can.
    fn rdma_only(params: &Self::Params) -> Option<&'static str> {
        Self::header_overhead(params).telemetry.then_some("needs telemetry, and TCP's ACKs carry none back")
    }

    /// Why RDMA cannot carry its flows; `None` if it can.
    fn tcp_only(_params: &Self::Params) -> Option<&'static str> {
        None
    }

    /// Why it cannot do without switches that have its program; `None` if it can.
    fn needs_switches(_params: &Self::Params) -> Option<&'static str> {
        None
    }

    /// Whether congestion marks are what it slows down by, so that in a network that never marks it is not itself.
    fn needs_marks(_params: &Self::Params) -> bool {
        false
    }

    /// Why it cannot do without switches that trim its packets and endpoints that take them in any order; `None` if it
    /// can.
    fn needs_trimming(_params: &Self::Params) -> Option<&'static str> {
        None
    }

    /// The rates of links in Gb/s that its telemetry has numbers for, of which it takes the first for every other rate;
    /// `None` where it knows all.
    fn telemetry_rates(_params: &Self::Params) -> Option<&'static [u64]> {
        None
    }

    /// How switches deflect its messages; `None` if they do not.
    fn deflection(_params: &Self::Params) -> Option<Deflection> {
        None
    }

    /// The layout of its packets in a capture.
    fn wire_format(_params: &Self::Params) -> WireFormat {
        WireFormat::Roce
    }

    /// Refuses impossible parameters with a sentence that names the parameter and a possible value.
    fn check(_params: &Self::Params) -> Result<(), &'static str> {
        Ok(())
    }
}

/// Refuses parameters that break one of these rules: a condition, and the sentence for [`Scheme::check`].
pub(crate) fn require<const N: usize>(rules: [(bool, &'static str); N]) -> Result<(), &'static str> {
    rules.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, rule)| Err(rule))
}

/// The lanes that a scheme's messages use within their data class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Lanes {
    /// One: all messages share the queues of their class.
    #[default]
    One,
    /// Two, served in turn: lane 1 for messages that may be deflected, lane 0 as their escape.
    Escape,
    /// Two: lane 1 is served before lane 0.
    Strict,
}

/// The queue of credits at each port, of hosts too. Credits leave it before data, at the rate at which the data that
/// they bring back fills the link: the share credit / (credit + largest data packet) of the link's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditQueue {
    /// Mean bytes of a credit on the wire.
    pub credit: u32,
    /// Bytes of credits that may leave at once after a pause.
    pub burst: u32,
    /// Most bytes in the queue; credits beyond it are dropped.
    pub limit: u32,
}

/// Which flows of a host share the state [`Sender::Shared`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// None.
    Nothing,
    /// Those to the same receiver.
    Pair,
    /// All of this scheme.
    Host,
}

/// How switches deflect a scheme's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deflection {
    /// A message is deflected when more than this waits ahead of its first packet.
    pub threshold: Bytes,
    /// Whether the threshold may be at or above that of congestion marks.
    pub above_marks: bool,
    /// How messages enter the escape lane; `None` without such a lane.
    pub escape: Option<EscapeEntry>,
}

/// The place where messages enter the escape lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EscapeEntry {
    /// At hosts, and in the queue towards a shortest path of any switch: no hop of the lane is a misroute.
    AfterLastMisroute,
    /// There, and already for the hop of the last misroute, from any switch to any switch next to it.
    OnLastMisroute {
        /// Whether the switch next to the destination host misroutes too.
        last_hop: bool,
    },
}

/// The layout of a scheme's packets on the wire. The `wire` crate has the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireFormat {
    /// RoCEv2.
    Roce,
    /// RoCEv2 with Dart's headers behind the BTH of data packets and the AETH of ACKs.
    Dart,
    /// RoCEv2 with telemetry behind the UDP header.
    Int {
        /// Multiple of the units of [`IntFields`](crate::IntFields).
        unit: u32,
    },
}

/// How a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SendOptions {
    /// Deflections that it may take.
    pub tokens: u8,
    /// The lane in which it starts.
    pub lane: u8,
    /// Bytes of the list of its incast's senders in its first packet; 0 is no list. The list takes room from the
    /// packet's payload.
    pub list: u16,
    /// Whether a loss makes the sender retransmit the whole message, and not only the missing part.
    pub whole: bool,
    /// Whether a failure on its path ends the attempt: its packets are not rerouted (Dart IV-C).
    pub pinned: bool,
}

/// Bytes that a scheme adds to packets on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HeaderOverhead {
    /// To each data packet.
    pub data: u16,
    /// To each ACK.
    pub ack: u16,
    /// Whether switches write telemetry into its data packets, which ACKs carry back ([`Ack::telemetry`]).
    pub telemetry: bool,
}

impl HeaderOverhead {
    /// Bytes without telemetry.
    pub const fn new(data: u16, ack: u16) -> Self {
        Self { data, ack, telemetry: false }
    }
}

/// The reliable endpoint that carries a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Messages over an RDMA-like reliable connection.
    Rdma,
    /// A TCP byte stream.
    Tcp,
}

/// The context of a hook: the time, the scheme's parameters, the state that the host's flows to one receiver share, and
/// the counters.
pub struct Cx<'a, P, S = ()> {
    /// Now.
    pub now: Time,
    /// The scheme's parameters.
    pub params: &'a P,
    /// State shared by all flows of this host to the same receiver (Dart's rate cap), or by all of them
    /// ([`Scheme::sharing`]).
    pub shared: &'a mut S,
    /// Set it when a change of `shared` changes the control of the other flows.
    pub shared_changed: bool,
    /// How often the scheme acted.
    pub actions: &'a mut Actions,
}

impl<'a, P, S> Cx<'a, P, S> {
    /// The context of a call.
    #[inline(always)]
    pub fn new(now: Time, params: &'a P, shared: &'a mut S, actions: &'a mut Actions) -> Self {
        Self { now, params, shared, shared_changed: false, actions }
    }
    /// Counts one action.
    #[inline(always)]
    pub fn count(&mut self, action: Action) {
        self.actions.count(action);
    }
    /// The context of a scheme that this one is built on.
    #[inline(always)]
    pub fn inner<'b, Q>(&'b mut self, params: &'b Q, shared: &'b mut ()) -> Cx<'b, Q> {
        Cx::new(self.now, params, shared, self.actions)
    }
}
