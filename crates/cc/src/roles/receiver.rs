//! The receiver of a host: its hooks, and their arguments.

use super::Cx;
use crate::{Header, flags, receiver_hooks};
use fanin_units::{MessageId, NodeId, Rate, Time};

/// A flow as the receiving host knows it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ReceiverFlow(pub u32);

/// The NIC of a receiving host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NicInfo {
    /// Its line rate.
    pub line_rate: Rate,
    /// Largest payload of a packet in bytes.
    pub payload: u32,
    /// Bytes on the wire of a packet with that payload.
    pub wire: u32,
    /// Largest base round-trip time in the network.
    pub network_rtt: Time,
    /// Seed of this host's own random draws.
    pub seed: u64,
}

impl NicInfo {
    /// A NIC with seed 0.
    pub const fn new(line_rate: Rate, network_rtt: Time, payload: u32, wire: u32) -> Self {
        Self { line_rate, payload, wire, network_rtt, seed: 0 }
    }
}

/// A flow that opens towards this host.
#[derive(Clone, Copy, Debug)]
pub struct FlowInfo {
    /// The flow.
    pub flow: ReceiverFlow,
    /// Number of its first message in the run.
    pub id: MessageId,
    /// The sending host.
    pub from: NodeId,
    /// Bytes it will carry, if the sender says so.
    pub size: Option<u64>,
}

impl FlowInfo {
    /// A flow of unknown size.
    pub const fn new(flow: ReceiverFlow, id: MessageId, from: NodeId) -> Self {
        Self { flow, id, from, size: None }
    }
}

/// A message whose first packet arrived in order. RDMA only; once per message.
#[derive(Clone, Copy, Debug)]
pub struct MessageStart<'a> {
    /// Its flow.
    pub flow: ReceiverFlow,
    /// Its number in the run.
    pub id: MessageId,
    /// The sending host.
    pub from: NodeId,
    /// The tenant it belongs to.
    pub tenant: u8,
    /// Its weight relative to other senders' messages.
    pub weight: u16,
    /// The incast that its first packet announces.
    pub incast: Option<Incast<'a>>,
}

impl MessageStart<'_> {
    /// A message of tenant 0 and weight 1 that announces no incast.
    pub const fn new(flow: ReceiverFlow, id: MessageId, from: NodeId) -> Self {
        Self { flow, id, from, tenant: 0, weight: 1, incast: None }
    }
}

/// An incast as its messages announce it (Dart III-D).
#[derive(Clone, Copy, Debug)]
pub struct Incast<'a> {
    /// Its number, the same in all its messages.
    pub id: u32,
    /// The hosts that will send.
    pub senders: &'a [u32],
}

/// A data packet that arrived.
#[derive(Clone, Copy, Debug, Default)]
pub struct Data {
    /// Its flow.
    pub flow: ReceiverFlow,
    /// The sending host.
    pub from: NodeId,
    /// Bytes on the wire.
    pub wire: u32,
    /// Payload bytes.
    pub payload: u32,
    /// Offset of its first payload byte.
    pub seq: u64,
    /// Next byte expected of this flow, this packet included: the number that an ACK sent now would carry.
    pub acked_to: u64,
    /// Whether it carries a congestion mark.
    pub ce: bool,
    /// First packet of a message.
    pub start: bool,
    /// Last packet of a message.
    pub end: bool,
    /// Whether it was the next one expected. Selective retransmission keeps others too: `acked_to` then moves over them
    /// with the one that closes their gap.
    pub in_order: bool,
    /// Whether the endpoint's rules ask for an ACK now.
    pub ack_due: bool,
    /// Whether earlier packets have arrived that no ACK has covered yet (delayed ACK).
    pub pending: bool,
    /// Whether the rules would ask for an ACK now even after an ACK for those earlier packets.
    pub due_alone: bool,
    /// The field that the sender's scheme wrote ([`Header::cc_tag`]).
    pub cc_tag: u32,
    /// The field that switches wrote on its way ([`Header::cc_feedback`]); 0 if none did.
    pub cc_feedback: u32,
    /// Bytes on the wire that have entered this host so far, of any kind, this packet included.
    pub received: u64,
}

impl Data {
    /// The ACK that is due, with an echo of the packet's mark.
    #[inline(always)]
    pub fn due(&self) -> AckPlan {
        let fields = AckFields { ecn_echo: self.ce, ..AckFields::default() };
        AckPlan { before: None, now: self.ack_due.then_some(fields) }
    }

    /// The part that its header gives.
    #[inline(always)]
    pub fn of(head: &Header) -> Self {
        Self {
            from: head.src,
            wire: head.wire as u32,
            payload: head.payload as u32,
            seq: head.seq,
            ce: head.has(flags::CE),
            start: head.has(flags::START),
            end: head.has(flags::END),
            cc_tag: head.cc_tag,
            cc_feedback: head.cc_feedback,
            ..Self::default()
        }
    }
}

/// Fields that a receiver puts on an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AckFields {
    /// Echo a congestion mark.
    pub ecn_echo: bool,
    /// Ask the sender to recover at once, as after three duplicate ACKs. TCP: the segment's PSH.
    pub push: bool,
    /// TCP: the most bytes beyond the acknowledgement number that may be in flight; `None` for no limit but the free
    /// buffer. The window field holds the lower of both, rounded down to its unit (RFC 7323 section 2.3), and may be
    /// less than an earlier ACK allowed.
    pub window: Option<u32>,
    /// One number for the sender's scheme: a share, a window, a rate.
    pub cc_feedback: u32,
}

/// The ACKs that go out for a data packet. The endpoint fills in their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AckPlan {
    /// An ACK for everything that arrived before this packet (DCTCP's two-state echo).
    pub before: Option<AckFields>,
    /// An ACK that covers this packet.
    pub now: Option<AckFields>,
}

/// A packet that a receiver sends on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emit {
    /// An ACK that was held back. It covers everything that has arrived by now. On a TCP connection that is not open
    /// yet it is the SYN-ACK.
    Ack(ReceiverFlow, AckFields),
    /// A congestion notification packet.
    Cnp(ReceiverFlow),
    /// A numbered credit of `wire` bytes.
    Credit {
        /// To the sender of this flow.
        flow: ReceiverFlow,
        /// The number that data will carry back.
        number: u32,
        /// Bytes on the wire.
        wire: u32,
    },
}

/// The trait of a receiver, of the list of its hooks.
macro_rules! receiver {
    (
        [$this:ident, $state:ident, $cx:ident]
        $($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) -> $out:ty $or:block)*
    ) => {
        /// State of a host about all flows into it. One value per host.
        #[allow(unused_variables, reason = "a default looks at few arguments")]
        pub trait Receiver {
            /// The scheme's parameters.
            type Params;
            /// State per flow.
            type Flow: Default;

            /// Whether it decides about every ACK. If so, a TCP endpoint sends no ACK without data by itself except
            /// where the connection would stand still: for a handshake, a FIN that ends the connection or follows
            /// acknowledged data, and a segment outside the receiver's window.
            fn holds_acks(params: &Self::Params) -> bool
            where
                Self: Sized,
            {
                false
            }
            /// A host comes up.
            fn new(params: &Self::Params, nic: &NicInfo) -> Self
            where
                Self: Sized;
            /// The time of [`Receiver::wake_at`] has come. `received` is as in [`Data::received`].
            fn on_timer(&mut self, received: u64, cx: &mut Cx<'_, Self::Params>) {}
            /// The next packet to send. Polled after every hook until it is `None`.
            fn poll_transmit(&mut self, cx: &mut Cx<'_, Self::Params>) -> Option<Emit> {
                None
            }
            /// The time to call `on_timer`.
            fn wake_at(&self) -> Time {
                Time::NEVER
            }
            /// Reports internal state by name: Dart's n.
            fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {}
            $(
                $(#[$doc])*
                fn $name(
                    &mut $this,
                    $($arg: $type,)*
                    $state: &mut Self::Flow,
                    $cx: &mut Cx<'_, Self::Params>,
                ) -> $out $or
            )*
        }
    };
}
receiver_hooks!(receiver);

/// The receiver of a scheme that needs none: every ACK that is due goes out and echoes its packet's mark.
pub struct NoReceiver<P>(core::marker::PhantomData<P>);

impl<P> NoReceiver<P> {
    /// Nothing.
    pub const fn none() -> Self {
        Self(core::marker::PhantomData)
    }
}

impl<P> Receiver for NoReceiver<P> {
    type Params = P;
    type Flow = ();
    fn new(_: &P, _: &NicInfo) -> Self {
        Self::none()
    }
}
