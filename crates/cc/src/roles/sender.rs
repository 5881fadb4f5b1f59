//! The sender of a flow: its hooks, and their arguments.

use super::Cx;
use crate::{Telemetry, sender_hooks};
use fanin_units::{MessageId, NodeId, Rate, Time};

/// The path of a flow when it opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathInfo {
    /// Line rate: that of the sender's own NIC, and so what leaves it without pacing. A NIC knows of no link beyond its
    /// own until feedback arrives.
    pub line_rate: Rate,
    /// Line rate of the receiver's NIC, for schemes whose feedback carries it: no sender knows it before.
    pub receiver_rate: Rate,
    /// Round-trip time of a full packet and its ACK on an idle network.
    pub base_rtt: Time,
    /// Largest payload of a packet in bytes.
    pub payload: u32,
    /// Bytes on the wire of a packet with that payload.
    pub wire: u32,
    /// Largest bandwidth-delay product of any host pair, in bytes (HPCC's W_max).
    pub network_bdp: u64,
    /// Largest base round-trip time of any host pair (HPCC's T).
    pub network_rtt: Time,
    /// Number of the flow's first message in the run; none where the caller does not know it.
    pub id: MessageId,
    /// The sending host, likewise.
    pub from: NodeId,
    /// The destination host, likewise.
    pub to: NodeId,
}

impl PathInfo {
    /// A path in a network where all paths have this rate and round-trip time.
    #[inline]
    pub fn new(rate: Rate, rtt: Time, payload: u32, wire: u32) -> Self {
        let network_bdp = rate.bytes_in(rtt);
        Self {
            line_rate: rate,
            receiver_rate: rate,
            base_rtt: rtt,
            payload,
            wire,
            network_bdp,
            network_rtt: rtt,
            id: MessageId::NONE,
            from: NodeId::NONE,
            to: NodeId::NONE,
        }
    }
}

/// How much a flow may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// Bytes that may be in flight; `u64::MAX` is no window. RDMA: a packet may leave while bytes in flight < window.
    /// TCP: a segment may leave if bytes in flight and its own together are at most the window (RFC 5681).
    pub window: u64,
    /// Pacing rate in wire bytes. At or above the line rate nothing is paced; zero stops the flow until the rate
    /// changes.
    pub rate: Rate,
    /// The time to call `on_timer`, or [`Time::NEVER`].
    pub wake_at: Time,
    /// Whether a change of rate also moves a packet that already waits for its time (HPCC: yes; DCQCN: no).
    pub retime: bool,
    /// Nothing leaves before this time, whatever the rate; [`Time::ZERO`] is no such limit. Dart uses it for the token
    /// bucket that a host's messages to one receiver share.
    pub not_before: Time,
}

impl Control {
    /// A rate alone: no window, no timer.
    #[inline(always)]
    pub const fn rate(rate: Rate) -> Self {
        Self { window: u64::MAX, rate, wake_at: Time::NEVER, retime: false, not_before: Time::ZERO }
    }
}

/// A data packet that left.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Bytes on the wire.
    pub wire: u32,
    /// Payload bytes.
    pub payload: u32,
    /// Offset behind its last byte: the next byte to send.
    pub sent_to: u64,
    /// Whether it was sent before.
    pub retransmitted: bool,
    /// Payload bytes posted behind it and not sent yet. RDMA only; 0 over TCP.
    pub left: u64,
}

impl Sent {
    /// A packet that was not sent before, behind which nothing is posted.
    #[inline(always)]
    pub const fn new(wire: u32, payload: u32, sent_to: u64) -> Self {
        Self { wire, payload, sent_to, retransmitted: false, left: 0 }
    }
}

/// An acknowledgement that arrived.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack<'a> {
    /// Payload bytes acknowledged for the first time, whether or not all before them has arrived.
    pub newly_acked: u64,
    /// Everything before this offset has arrived.
    pub acked_to: u64,
    /// The number in the ACK itself: less than `acked_to` if a later ACK has overtaken this one.
    pub seq: u64,
    /// Next byte to send.
    pub sent_to: u64,
    /// Bytes in flight just before this ACK.
    pub in_flight: u64,
    /// Bytes that the sender had ready just before this ACK to hand to its NIC at once (segmentation offload): they
    /// wait until they, or a third of the window, fit into the window. 0 where segments go one by one.
    pub burst: u64,
    /// Whether the endpoint is repairing a loss, so that the window must not change (RFC 6675, RFC 6582).
    pub recovering: bool,
    /// Whether it echoes a congestion mark.
    pub ecn_echo: bool,
    /// Time since the data packet that it answers left the sender.
    pub rtt: Time,
    /// How often that packet was sent again; 255 where it was acknowledged before, 0 where that is not counted.
    pub sent_again: u8,
    /// The scheme's field in the ACK ([`AckFields::cc_feedback`](crate::AckFields::cc_feedback)).
    pub cc_feedback: u32,
    /// Telemetry of its packet, if asked for by [`HeaderOverhead::telemetry`](crate::HeaderOverhead::telemetry).
    pub telemetry: Option<&'a Telemetry>,
}

/// A loss that the endpoint found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// First byte missing.
    pub from: u64,
    /// Next byte to send when the loss was found.
    pub sent_to: u64,
    /// Bytes in flight when the loss was found (RFC 5681's FlightSize).
    pub in_flight: u64,
    /// Whether a timeout had found this very byte lost before.
    pub retransmitted: bool,
}

impl Loss {
    /// Bytes found lost for the first time, with all that was sent behind them in flight.
    pub const fn new(from: u64, sent_to: u64) -> Self {
        Self { from, sent_to, in_flight: sent_to.saturating_sub(from), retransmitted: false }
    }
}

/// A packet whose payload a switch cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trim {
    /// Offset of its first byte.
    pub from: u64,
    /// Bytes of payload that it had.
    pub payload: u32,
    /// Bytes on the wire that it had.
    pub wire: u32,
    /// Next byte to send when its NACK arrived.
    pub sent_to: u64,
    /// Payload bytes in flight just before its NACK, this packet included.
    pub in_flight: u64,
    /// Whether it was cut in front of the receiver's own link; false where that is not known.
    pub last_hop: bool,
    /// Time since it left the sender.
    pub rtt: Time,
}

impl Trim {
    /// A packet cut anywhere but at the last hop, at no known distance in time.
    pub const fn new(from: u64, payload: u32, wire: u32, sent_to: u64, in_flight: u64) -> Self {
        Self { from, payload, wire, sent_to, in_flight, last_hop: false, rtt: Time::NEVER }
    }

    /// What it is to a scheme that knows losses alone.
    #[inline]
    pub const fn loss(&self) -> Loss {
        Loss { from: self.from, sent_to: self.sent_to, in_flight: self.in_flight, retransmitted: false }
    }
}

/// A control packet for this flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Congestion notification packet.
    Cnp,
    /// Permission to send one packet. The data packet carries the number back in its `cc_tag`.
    Credit(u32),
}

/// The trait of a sender, of the list of its hooks.
macro_rules! sender {
    (
        [$this:ident, $cx:ident]
        $($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) -> $out:ty $or:block)*
    ) => {
        /// Decides how much a flow may send. One value per flow.
        #[allow(unused_variables, reason = "a default looks at few arguments")]
        pub trait Sender {
            /// The scheme's parameters.
            type Params;
            /// State shared by this host's flows to the same receiver, or by all of them
            /// ([`Scheme::sharing`](super::Scheme)); `()` for most schemes.
            type Shared: Default;

            /// A flow opens.
            fn open(path: &PathInfo, cx: &mut Cx<'_, Self::Params, Self::Shared>) -> Self
            where
                Self: Sized;
            /// How much the flow may send now. Read after every hook.
            fn control(&self, cx: &Cx<'_, Self::Params, Self::Shared>) -> Control;
            /// The flow ends.
            fn close(&mut self, cx: &mut Cx<'_, Self::Params, Self::Shared>) {}
            /// Reports internal state by name, beside window and rate: DCTCP's alpha.
            fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {}
            $(
                $(#[$doc])*
                fn $name(&mut $this, $($arg: $type,)* $cx: &mut Cx<'_, Self::Params, Self::Shared>) -> $out $or
            )*
        }
    };
}
sender_hooks!(sender);
