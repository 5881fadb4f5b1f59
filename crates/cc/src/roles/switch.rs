//! The program of a switch: its hooks, and their arguments.

use super::Cx;
use crate::{Header, switch_hooks};
use alloc::vec::Vec;
use fanin_units::{NodeId, Rate, Time};

/// A switch that comes up.
#[derive(Clone, Copy, Debug)]
pub struct SwitchInfo<'a> {
    /// The switch.
    pub node: NodeId,
    /// Seed of this switch's own random draws.
    pub seed: u64,
    /// Its ports, in order.
    pub ports: &'a [PortView],
    /// Largest base round-trip time of any host pair.
    pub network_rtt: Time,
    /// Whether senders put the number of a path into [`Header::cc_feedback`] of data, which no hook may change then.
    pub numbered_paths: bool,
}

impl<'a> SwitchInfo<'a> {
    /// A switch with seed 0 in a network without delays.
    pub const fn new(node: NodeId, ports: &'a [PortView]) -> Self {
        Self { node, seed: 0, ports, network_rtt: Time::ZERO, numbered_paths: false }
    }
}

/// One port of a switch as a program sees it.
#[derive(Clone, Copy, Debug)]
pub struct PortView {
    /// Rate of its link.
    pub rate: Rate,
    /// Whether the other end is a switch.
    pub to_switch: bool,
    /// Bytes queued in its data classes.
    pub queued: u64,
    /// Whether its link is up.
    pub up: bool,
    /// The queue of the packet's class there, in hooks about a packet at a queue of programs that ask for it
    /// ([`SwitchProgram::lanes`]).
    pub lane: LaneView,
}

/// The queue of one class at a port as a switch program sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneView {
    /// Bytes in it, without the packet that is about to join or has just left.
    pub queued: u64,
    /// Bytes that its class may hold of what comes in by a port like this one; `u64::MAX` is no limit.
    pub buffer: u64,
    /// Whether its first packet must not be sent now, if it has one: the peer has paused the class, or credits are
    /// missing.
    pub stopped: bool,
    /// End of the last such time that is over.
    pub stopped_until: Time,
}

impl LaneView {
    /// An empty queue without limits.
    pub const NONE: Self = Self { queued: 0, buffer: u64::MAX, stopped: false, stopped_until: Time::ZERO };
}

impl PortView {
    /// An idle port whose link is up and leads to a host.
    #[inline(always)]
    pub const fn new(rate: Rate) -> Self {
        Self { rate, to_switch: false, queued: 0, up: true, lane: LaneView::NONE }
    }
}

/// The ports of a switch, as its program may query them. Numbered from 0 within the switch.
pub trait Ports {
    /// The number of ports.
    fn count(&self) -> u16;
    /// One of them.
    fn view(&self, port: u16) -> PortView;
    /// Bytes that wait in `lane` of the class of `packet`.
    fn queued(&self, port: u16, packet: &Header, lane: u8) -> u64;
    /// Whether the peer has paused `lane` of the class of `packet`.
    fn paused(&self, port: u16, packet: &Header, lane: u8) -> bool;
}

/// Ports as views, for tests: every lane holds as much as the port, and none is paused.
impl Ports for Vec<PortView> {
    fn count(&self) -> u16 {
        self.len() as u16
    }
    fn view(&self, port: u16) -> PortView {
        self[port as usize]
    }
    fn queued(&self, port: u16, _: &Header, _: u8) -> u64 {
        self[port as usize].queued
    }
    fn paused(&self, _: u16, _: &Header, _: u8) -> bool {
        false
    }
}

/// A packet at a queue.
#[derive(Debug)]
pub struct Queued<'a> {
    /// The number of the queue's port.
    pub port: u16,
    /// That port now.
    pub view: PortView,
    /// The packet.
    pub packet: &'a mut Header,
    /// Whether it is data or a request of this scheme.
    pub own: bool,
}

/// What happens to a packet that is about to join a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It joins.
    Admit,
    /// It joins with a congestion mark.
    Mark,
    /// It is dropped.
    Drop,
    /// Its payload is cut, and its header joins the queue of control packets. Where the network trims no packets, or
    /// this one cannot be, it is dropped.
    Trim,
}

/// The trait of a program of a switch, of the list of its hooks.
macro_rules! switch_program {
    (
        [$this:ident, $cx:ident]
        $($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) -> $out:ty $or:block)*
    ) => {
        /// A scheme's program in a switch. One value per switch; ports are numbered from 0 within it.
        #[allow(unused_variables, reason = "a default looks at few arguments")]
        pub trait SwitchProgram {
            /// The scheme's parameters.
            type Params;
            /// Whether [`SwitchProgram::on_enqueue`] and [`SwitchProgram::on_dequeue`] are called, for packets of every
            /// scheme.
            fn watches(params: &Self::Params) -> bool
            where
                Self: Sized,
            {
                false
            }
            /// Whether it reads [`PortView::lane`] there.
            fn lanes() -> bool
            where
                Self: Sized,
            {
                false
            }

            /// Whether it does anything at all with these parameters; if not, none of its hooks is called.
            fn active(params: &Self::Params) -> bool
            where
                Self: Sized,
            {
                true
            }
            /// A switch comes up.
            fn new(params: &Self::Params, switch: &SwitchInfo<'_>) -> Self
            where
                Self: Sized;
            /// A data packet of this scheme came in at `ingress`; its shortest path goes on at `minimal`. Returns the
            /// port where it leaves. A new [`Header::lane`] applies from this port's queue on.
            fn route(
                &mut self,
                packet: &mut Header,
                ingress: u16,
                minimal: u16,
                ports: &dyn Ports,
                cx: &mut Cx<'_, Self::Params>,
            ) -> u16 {
                minimal
            }
            /// A packet is about to join the queue of `port`.
            fn on_enqueue(&mut self, packet: &mut Queued<'_>, cx: &mut Cx<'_, Self::Params>) -> Verdict {
                Verdict::Admit
            }
            /// A packet leaves the queue of `port`; the port's view no longer counts it.
            fn on_dequeue(&mut self, packet: &mut Queued<'_>, cx: &mut Cx<'_, Self::Params>) {}
            /// The time to call `on_timer`.
            fn wake_at(&self) -> Time {
                Time::NEVER
            }
            /// Reports internal state by name: entries of Dart's table.
            fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {}
            $(
                $(#[$doc])*
                fn $name(&mut $this, $($arg: $type,)* $cx: &mut Cx<'_, Self::Params>) -> $out $or
            )*
        }
    };
}
switch_hooks!(switch_program);

/// The switch program of a scheme that needs none.
pub struct NoSwitch<P>(core::marker::PhantomData<P>);

impl<P> NoSwitch<P> {
    /// Nothing.
    pub const fn none() -> Self {
        Self(core::marker::PhantomData)
    }
}

impl<P> SwitchProgram for NoSwitch<P> {
    type Params = P;
    fn active(_: &P) -> bool {
        false
    }
    fn new(_: &P, _: &SwitchInfo<'_>) -> Self {
        Self::none()
    }
}
