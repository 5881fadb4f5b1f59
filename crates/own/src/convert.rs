//! Arguments and results of hooks, from Rust to C and back.

use crate::abi;
use fanin_cc::paths::NUMBER_CHANGED;
use fanin_cc::{
    Ack, AckFields, AckPlan, Choice, Data, FlowInfo, Header, IntHop, Loss, MessageStart, NicInfo, Notice, PathInfo,
    PortView, Queued, ReceiverFlow, Sent, SwitchInfo, Telemetry, Trim, flags,
};
use fanin_units::MessageId;

/// An argument of a hook in a list.
pub trait Argument {
    /// As C gets it.
    type C<'a>;
    /// Calls a hook with it.
    fn with<T>(self, hook: impl FnOnce(Self::C<'_>) -> T) -> T;
}

/// Arguments that C gets the address of, as a struct.
macro_rules! by_address {
    ($($type:ty => $c:ident)*) => { $(
        impl Argument for $type {
            type C<'a> = &'a abi::$c;
            #[inline(always)]
            fn with<T>(self, hook: impl FnOnce(Self::C<'_>) -> T) -> T {
                hook(&self.into())
            }
        }
    )* };
}
by_address! {
    Notice => Notified &Loss => Loss &Trim => Trim &Data => Data &FlowInfo => FlowInfo
    &MessageStart<'_> => MessageStart
}

impl Argument for &Ack<'_> {
    type C<'a> = &'a abi::Ack;
    #[inline(always)]
    fn with<T>(self, hook: impl FnOnce(Self::C<'_>) -> T) -> T {
        let mut c = abi::Ack::new(self);
        let mut hops = [abi::Hop::default(); Telemetry::MOST];
        if let Some(telemetry) = self.telemetry {
            for (to, from) in hops.iter_mut().zip(telemetry.hops()) {
                *to = from.into();
            }
            c.hops = hops.as_ptr();
            (c.hop_count, c.path) = (telemetry.hops().len() as u32, telemetry.path().into());
        }
        hook(&c)
    }
}

impl Argument for ReceiverFlow {
    type C<'a> = u32;
    #[inline(always)]
    fn with<T>(self, hook: impl FnOnce(u32) -> T) -> T {
        hook(self.0)
    }
}

impl Argument for MessageId {
    type C<'a> = u32;
    #[inline(always)]
    fn with<T>(self, hook: impl FnOnce(u32) -> T) -> T {
        hook(self.0)
    }
}

/// A value, where these names are arguments as C gets them.
macro_rules! with {
    (() $value:expr) => { $value };
    (($arg:ident $($rest:ident)*) $value:expr) => { $arg.with(|$arg| with!(($($rest)*) $value)) };
}
pub(crate) use with;

/// The hooks of a list that answer nothing, each as the caller's macro `one!` makes it, with what happens without it;
/// the others are written out.
macro_rules! told {
    ([$($context:ident),*]) => {};
    (
        [$this:ident $(, $context:ident)*]
        $(#[doc = $doc:tt])* fn $name:ident($($arg:ident: $type:ty),*) -> () $or:block $($rest:tt)*
    ) => {
        one! { $name $this ($($arg: $type),*) $or $($context)* }
        told! { [$this $(, $context)*] $($rest)* }
    };
    (
        [$($context:ident),*]
        $(#[doc = $doc:tt])* fn $name:ident $args:tt -> $out:ty $or:block $($rest:tt)*
    ) => {
        told! { [$($context),*] $($rest)* }
    };
}
pub(crate) use told;

impl From<&PathInfo> for abi::Path {
    fn from(path: &PathInfo) -> Self {
        Self {
            line_rate: path.line_rate.as_bps(),
            receiver_rate: path.receiver_rate.as_bps(),
            base_rtt: path.base_rtt.as_ps(),
            network_bdp: path.network_bdp,
            network_rtt: path.network_rtt.as_ps(),
            payload: path.payload,
            wire: path.wire,
            id: path.id.0,
            from: path.from.0,
            to: path.to.0,
        }
    }
}

impl From<&Sent> for abi::Sent {
    #[inline(always)]
    fn from(sent: &Sent) -> Self {
        let Sent { wire, payload, sent_to, retransmitted, left } = *sent;
        Self { sent_to, left, wire, payload, retransmitted: retransmitted.into() }
    }
}

impl From<&IntHop> for abi::Hop {
    fn from(hop: &IntHop) -> Self {
        Self { rate: hop.rate.as_bps(), time: hop.time.as_ps(), sent: hop.sent, queued: hop.queued }
    }
}

impl abi::Ack {
    /// An ACK without telemetry.
    #[inline(always)]
    fn new(ack: &Ack<'_>) -> Self {
        Self {
            newly_acked: ack.newly_acked,
            acked_to: ack.acked_to,
            sent_to: ack.sent_to,
            seq: ack.seq,
            in_flight: ack.in_flight,
            burst: ack.burst,
            rtt: ack.rtt.as_ps(),
            hops: std::ptr::null(),
            hop_count: 0,
            path: 0,
            recovering: ack.recovering.into(),
            ecn_echo: ack.ecn_echo.into(),
            cc_feedback: ack.cc_feedback,
        }
    }
}

impl From<&Loss> for abi::Loss {
    fn from(loss: &Loss) -> Self {
        let Loss { from, sent_to, in_flight, retransmitted } = *loss;
        Self { from, sent_to, in_flight, retransmitted: retransmitted.into() }
    }
}

impl From<&Trim> for abi::Trim {
    fn from(trim: &Trim) -> Self {
        let Trim { from, payload, wire, sent_to, in_flight, last_hop, rtt } = *trim;
        Self { from, sent_to, in_flight, rtt: rtt.as_ps(), payload, wire, last_hop: last_hop.into() }
    }
}

impl From<Notice> for abi::Notified {
    fn from(notice: Notice) -> Self {
        match notice {
            Notice::Cnp => Self { kind: abi::CNP, number: 0 },
            Notice::Credit(number) => Self { kind: abi::CREDIT, number },
        }
    }
}

impl From<&NicInfo> for abi::Nic {
    fn from(nic: &NicInfo) -> Self {
        let NicInfo { line_rate, payload, wire, network_rtt, seed } = *nic;
        Self { line_rate: line_rate.as_bps(), network_rtt: network_rtt.as_ps(), seed, payload, wire }
    }
}

impl From<&FlowInfo> for abi::FlowInfo {
    fn from(flow: &FlowInfo) -> Self {
        let FlowInfo { flow: ReceiverFlow(flow), id, from, size } = *flow;
        Self { size: size.unwrap_or(0), flow, id: id.0, from: from.0 }
    }
}

impl From<&MessageStart<'_>> for abi::MessageStart {
    fn from(message: &MessageStart<'_>) -> Self {
        let (incast, senders) = message.incast.map_or((0, None), |incast| (incast.id, Some(incast.senders)));
        Self {
            flow: message.flow.0,
            id: message.id.0,
            from: message.from.0,
            tenant: message.tenant.into(),
            weight: message.weight.into(),
            incast,
            sender_count: senders.map_or(0, <[u32]>::len) as u32,
            senders: senders.map_or(std::ptr::null(), <[u32]>::as_ptr),
        }
    }
}

impl From<&Data> for abi::Data {
    #[inline(always)]
    fn from(data: &Data) -> Self {
        Self {
            seq: data.seq,
            acked_to: data.acked_to,
            received: data.received,
            flow: data.flow.0,
            from: data.from.0,
            wire: data.wire,
            payload: data.payload,
            ce: data.ce.into(),
            start: data.start.into(),
            end: data.end.into(),
            in_order: data.in_order.into(),
            ack_due: data.ack_due.into(),
            pending: data.pending.into(),
            due_alone: data.due_alone.into(),
            cc_tag: data.cc_tag,
            cc_feedback: data.cc_feedback,
        }
    }
}

impl From<AckFields> for abi::AckFields {
    #[inline(always)]
    fn from(fields: AckFields) -> Self {
        let AckFields { ecn_echo, push, window, cc_feedback } = fields;
        Self {
            ecn_echo: ecn_echo.into(),
            push: push.into(),
            has_window: window.is_some().into(),
            window: window.unwrap_or(0),
            cc_feedback,
        }
    }
}

impl From<&abi::AckFields> for AckFields {
    #[inline(always)]
    fn from(fields: &abi::AckFields) -> Self {
        Self {
            ecn_echo: fields.ecn_echo != 0,
            push: fields.push != 0,
            window: (fields.has_window != 0).then_some(fields.window),
            cc_feedback: fields.cc_feedback,
        }
    }
}

impl From<&abi::AckPlan> for AckPlan {
    #[inline(always)]
    fn from(plan: &abi::AckPlan) -> Self {
        Self {
            before: (plan.send_before != 0).then(|| (&plan.before).into()),
            now: (plan.send_now != 0).then(|| (&plan.now).into()),
        }
    }
}

impl From<&PortView> for abi::Port {
    fn from(view: &PortView) -> Self {
        let PortView { rate, to_switch, queued, up, lane: _ } = *view;
        Self { rate: rate.as_bps(), queued, of_class: 0, to_switch: to_switch.into(), up: up.into(), paused: 0 }
    }
}

impl abi::SwitchInfo {
    /// A switch that comes up with these ports.
    pub fn new(switch: &SwitchInfo<'_>, ports: &[abi::Port]) -> Self {
        Self {
            ports: ports.as_ptr(),
            network_rtt: switch.network_rtt.as_ps(),
            seed: switch.seed,
            port_count: ports.len() as u32,
            node: switch.node.0,
        }
    }
}

impl From<&Choice> for abi::Choice {
    fn from(choice: &Choice) -> Self {
        let Choice { port, rate, queued, paused } = *choice;
        Self { rate: rate.as_bps(), queued, port: port.into(), paused: paused.into() }
    }
}

impl From<&Queued<'_>> for abi::Queue {
    fn from(queued: &Queued<'_>) -> Self {
        Self { view: (&queued.view).into(), port: queued.port.into(), own: queued.own.into() }
    }
}

impl From<&Header> for abi::Packet {
    fn from(packet: &Header) -> Self {
        Self {
            seq: packet.seq,
            sent_at: packet.sent_at.as_ps(),
            flow: packet.flow.0,
            from: packet.src.0,
            to: packet.dst.0,
            cc_tag: packet.cc_tag,
            cc_feedback: packet.cc_feedback,
            ce: packet.has(flags::CE).into(),
            ecn: packet.has(flags::ECT).into(),
            wire: packet.wire.into(),
            payload: packet.payload.into(),
            hops: packet.hops.into(),
            kind: packet.kind as u32,
            service_class: packet.class.into(),
        }
    }
}

impl abi::Packet {
    /// Writes the scheme's own fields back. `numbered_paths` is that of the switch.
    ///
    /// # Errors
    /// Where one of them is the number of the packet's path, and has changed.
    #[inline(always)]
    pub fn write_to(&self, packet: &mut Header, numbered_paths: bool) -> Result<(), &'static str> {
        if numbered_paths && packet.cc_feedback != self.cc_feedback && packet.has_path_number() {
            return Err(NUMBER_CHANGED);
        }
        packet.cc_tag = self.cc_tag;
        packet.cc_feedback = self.cc_feedback;
        Ok(())
    }
    /// Whether a hook has marked it. Only a packet that may be marked is.
    pub fn marks(&self, packet: &Header) -> bool {
        self.ce != 0 && packet.has(flags::ECT) && !packet.has(flags::CE)
    }
}
