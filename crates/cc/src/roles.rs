//! The three roles, and what their hooks are told.

use crate::{Action, Actions, Header, Telemetry};
use fanin_units::{MessageId, NodeId, Rate, Time};

/// A scheme: its parameters and its three roles. Implemented once per file of [`crate::schemes`].
pub trait Scheme: 'static {
    /// Its parameters. Each field's doc comment gives unit, default and source.
    type Params: Clone + core::fmt::Debug + PartialEq;
    /// What runs per flow at the sender.
    type Sender: Sender<Params = Self::Params>;
    /// What runs per host at the receiver.
    type Receiver: Receiver<Params = Self::Params>;
    /// What runs per switch.
    type Switch: SwitchProgram<Params = Self::Params>;

    /// The endpoint that carries its flows unless the spec asks for the other one.
    const TRANSPORT: Transport = Transport::Rdma;

    /// The ids under which it can be asked for; the first is the paper's scheme.
    const PRESETS: &'static [&'static str];

    /// The parameters of one of [`Self::PRESETS`].
    fn preset(id: &str) -> Self::Params;

    /// Whether it understands congestion marks. Data of a scheme that does not is never marked.
    fn wants_ecn(_params: &Self::Params) -> bool {
        true
    }

    /// The lanes that its messages use within their data class.
    fn lanes(_params: &Self::Params) -> Lanes {
        Lanes::One
    }

    /// How a message of so many bytes sets out. `senders` is the size of the incast that it belongs to, 0 for none;
    /// `connection` whether it shares a connection, and with it one order of packets, with other messages.
    fn send_options(_params: &Self::Params, _bytes: u64, _senders: usize, _connection: bool) -> SendOptions {
        SendOptions::default()
    }

    /// What it adds to every packet.
    fn header_overhead(_params: &Self::Params) -> HeaderOverhead {
        HeaderOverhead::default()
    }

    /// Refuses impossible parameters with a sentence that names the parameter and says what would be right.
    fn check(_params: &Self::Params) -> Result<(), &'static str> {
        Ok(())
    }
}

/// How many lanes a scheme's messages use within their data class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Lanes {
    /// One: all messages share the queues of their class.
    #[default]
    One,
    /// Two, served in turn: lane 1 for what may be deflected, lane 0 to escape to.
    Escape,
    /// Two: lane 1 is served before lane 0.
    Strict,
}

/// How a message sets out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SendOptions {
    /// Deflections it may take.
    pub tokens: u8,
    /// The lane it starts in.
    pub lane: u8,
    /// Bytes of the list of its incast's senders in its first packet; 0 is no list. The packet carries that much less
    /// payload.
    pub list: u16,
    /// Whether after a loss the whole message is sent again, and not only what is missing.
    pub whole: bool,
    /// Whether a failure on its way ends the attempt: its packets go on by no other way (Dart IV-C).
    pub pinned: bool,
}

/// Bytes that a scheme adds to packets on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HeaderOverhead {
    /// To each data packet.
    pub data: u16,
    /// To each ACK.
    pub ack: u16,
    /// Switches write telemetry into its data packets, and ACKs carry that back ([`Ack::telemetry`]).
    pub telemetry: bool,
}

/// The reliable endpoint that carries a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Messages over an RDMA-like reliable connection.
    Rdma,
    /// A TCP byte stream.
    Tcp,
}

/// What a hook may use besides its own state: the time, its parameters, what the host's flows to the same receiver
/// share, and the counters.
pub struct Cx<'a, P, S = ()> {
    /// Now.
    pub now: Time,
    /// The scheme's parameters.
    pub params: &'a P,
    /// What all flows of this host to the same receiver share (Dart's rate cap).
    pub shared: &'a mut S,
    /// Set it when `shared` changed so that the other flows' control must be asked again.
    pub shared_changed: bool,
    /// How often the scheme acted.
    pub actions: &'a mut Actions,
}

impl<P, S> Cx<'_, P, S> {
    /// Counts one action.
    #[inline(always)]
    pub fn count(&mut self, action: Action) {
        self.actions.count(action);
    }
    /// The same for a scheme that this one is built on.
    #[inline(always)]
    pub fn inner<'b, Q>(&'b mut self, params: &'b Q, shared: &'b mut ()) -> Cx<'b, Q> {
        Cx { now: self.now, params, shared, shared_changed: false, actions: self.actions }
    }
}

/// What is known of a flow's way when it opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathInfo {
    /// Line rate C: the smaller of the sender's and the receiver's NIC rate.
    pub line_rate: Rate,
    /// Rate of the sender's NIC: what leaves it when nothing paces it.
    pub nic_rate: Rate,
    /// Round-trip time of a full packet and its ACK on an idle network.
    pub base_rtt: Time,
    /// Largest payload of a packet in bytes.
    pub payload: u32,
    /// That packet on the wire, in bytes.
    pub wire: u32,
    /// Largest bandwidth-delay product of any host pair, in bytes (HPCC's W_max).
    pub network_bdp: u64,
    /// Largest base round-trip time of any host pair (HPCC's T).
    pub network_rtt: Time,
}

/// How much a flow may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// Bytes that may be in flight; `u64::MAX` is no window. RDMA: a packet may leave while in-flight bytes < window.
    /// TCP: a segment may leave if it fits whole, in-flight bytes + its own <= window (RFC 5681).
    pub window: u64,
    /// Pacing rate on wire bytes. At or above line rate is no pacing; zero is silence until the next change.
    pub rate: Rate,
    /// When `on_timer` is to be called, or [`Time::NEVER`].
    pub wake_at: Time,
    /// Whether a change of rate also moves a packet that already waits for its time (HPCC: yes; DCQCN: no).
    pub retime: bool,
    /// Nothing is sent before this, whatever the rate says; [`Time::ZERO`] where the scheme has no such limit (Dart: the
    /// bucket that a host's messages to one receiver share).
    pub not_before: Time,
}

/// A data packet that left.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Bytes on the wire.
    pub wire: u32,
    /// Payload bytes.
    pub payload: u32,
    /// Offset behind it: next byte to send.
    pub sent_to: u64,
    /// Whether it was sent before.
    pub retransmitted: bool,
}

/// An acknowledgement that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// Payload bytes acknowledged for the first time.
    pub newly_acked: u64,
    /// Everything before this offset has arrived.
    pub acked_to: u64,
    /// The number that the ACK itself carries: less than `acked_to` where a later one has overtaken it.
    pub seq: u64,
    /// Next byte to send.
    pub sent_to: u64,
    /// Bytes in flight just before this ACK was taken.
    pub in_flight: u64,
    /// Whether the endpoint repairs a loss: its window stands still (RFC 6675, RFC 6582).
    pub recovering: bool,
    /// Whether it echoes a congestion mark.
    pub ecn_echo: bool,
    /// Time since the data packet that caused it left the sender.
    pub rtt: Time,
    /// The scheme-defined field of the ACK.
    pub cc_feedback: u32,
    /// What switches wrote into the data packet that caused it, for schemes that ask for it ([`HeaderOverhead::telemetry`]).
    pub telemetry: Option<&'a Telemetry>,
}

/// A loss that the endpoint found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// First byte missing.
    pub from: u64,
    /// Next byte that was to be sent when the loss was found.
    pub sent_to: u64,
    /// Bytes in flight when the loss was found (RFC 5681's FlightSize).
    pub in_flight: u64,
    /// Whether this very byte was found lost by a timeout before.
    pub retransmitted: bool,
}

/// A control packet for this flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Congestion notification packet.
    Cnp,
    /// Permission to send one packet; the data packet carries the number back in its `cc_tag`.
    Credit(u32),
}

/// What a flow may send. One value per flow.
pub trait Sender: Sized {
    /// The scheme's parameters.
    type Params;
    /// State shared by this host's flows to the same receiver; `()` for most.
    type Shared: Default;

    /// A flow opens.
    fn open(path: &PathInfo, cx: &mut Cx<'_, Self::Params, Self::Shared>) -> Self;
    /// How much it may send now. Asked after every hook.
    fn control(&self, cx: &Cx<'_, Self::Params, Self::Shared>) -> Control;
    /// A packet left; the answer goes into its [`Header::cc_tag`].
    fn on_send(&mut self, _sent: &Sent, _cx: &mut Cx<'_, Self::Params, Self::Shared>) -> u32 {
        0
    }
    /// An acknowledgement came.
    fn on_ack(&mut self, _ack: &Ack<'_>, _cx: &mut Cx<'_, Self::Params, Self::Shared>) {}
    /// A control packet came.
    fn on_notice(&mut self, _notice: Notice, _cx: &mut Cx<'_, Self::Params, Self::Shared>) {}
    /// The endpoint found a loss and will send again.
    fn on_loss(&mut self, _loss: &Loss, _cx: &mut Cx<'_, Self::Params, Self::Shared>) {}
    /// The retransmission timer ran out.
    fn on_timeout(&mut self, _loss: &Loss, _cx: &mut Cx<'_, Self::Params, Self::Shared>) {}
    /// All that was posted on a connection that stays open is acknowledged. The next message that is posted finds it idle.
    /// RDMA only; comes after the `on_ack` of the last ACK.
    fn on_idle(&mut self, _cx: &mut Cx<'_, Self::Params, Self::Shared>) {}
    /// The time asked for in [`Control::wake_at`] has come.
    fn on_timer(&mut self, _cx: &mut Cx<'_, Self::Params, Self::Shared>) {}
    /// When the timer behind [`Control::wake_at`] was started. Only a network in which events of one instant run in the
    /// order in which they were asked for (ns-3) wants to know.
    fn armed_at(&self) -> Time {
        Time::ZERO
    }
    /// When a tick due at `at` was started that [`Control::wake_at`] does not ask for because it changes nothing that can
    /// be seen; [`Time::NEVER`] if there is none. Only such a network wants to know: before an event of `at` that was asked
    /// for later it calls `on_timer`.
    fn hidden_tick(&self, _at: Time) -> Time {
        Time::NEVER
    }
    /// What of its state a curious reader may watch, by name, beside window and rate: DCTCP's alpha.
    fn watch(&self, _see: &mut dyn FnMut(&'static str, f64)) {}
    /// The flow ends.
    fn close(&mut self, _cx: &mut Cx<'_, Self::Params, Self::Shared>) {}
}

/// A flow as the receiving host knows it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ReceiverFlow(pub u32);

/// What a receiving host's NIC is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NicInfo {
    /// Its line rate.
    pub line_rate: Rate,
    /// Largest payload of a packet in bytes.
    pub payload: u32,
    /// That packet on the wire, in bytes.
    pub wire: u32,
    /// Largest base round-trip time in the network.
    pub network_rtt: Time,
    /// Seed of this host's own random draws.
    pub seed: u64,
}

/// A flow that opens towards this host.
#[derive(Clone, Copy, Debug)]
pub struct FlowInfo {
    /// The flow.
    pub flow: ReceiverFlow,
    /// Its run-wide number.
    pub id: MessageId,
    /// The sending host.
    pub from: NodeId,
    /// Bytes it will carry, where the sender says so.
    pub size: Option<u64>,
}

/// A message whose first packet arrived in order: RDMA only, once per message.
#[derive(Clone, Copy, Debug)]
pub struct MessageStart<'a> {
    /// Its flow.
    pub flow: ReceiverFlow,
    /// Its run-wide number.
    pub id: MessageId,
    /// The sending host.
    pub from: NodeId,
    /// The tenant it belongs to.
    pub tenant: u8,
    /// Its weight among the messages of others.
    pub weight: u16,
    /// The incast that its first packet announces.
    pub incast: Option<Incast<'a>>,
}

/// An incast as a message of it announces it (Dart III-D).
#[derive(Clone, Copy, Debug)]
pub struct Incast<'a> {
    /// Its number, the same in all its messages.
    pub id: u32,
    /// The hosts that will send.
    pub senders: &'a [u32],
}

/// A data packet that arrived.
#[derive(Clone, Copy, Debug)]
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
    /// Next byte expected of this flow, this packet included: what an ACK sent now would say.
    pub acked_to: u64,
    /// Whether it carries a congestion mark.
    pub ce: bool,
    /// First packet of a message.
    pub start: bool,
    /// Last packet of a message.
    pub end: bool,
    /// Whether it was the next one expected.
    pub in_order: bool,
    /// The endpoint's rules ask for an ACK now.
    pub ack_due: bool,
    /// Earlier packets have arrived that no ACK has covered yet (delayed ACK).
    pub pending: bool,
    /// The rules would ask for an ACK now even if an ACK for those went out first.
    pub due_alone: bool,
    /// The sender's scheme-defined field.
    pub cc_tag: u32,
    /// Bytes on the wire that have entered this host so far, whatever they carried, this packet included.
    pub received: u64,
}

/// What a receiver puts on an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AckFields {
    /// Echo a congestion mark.
    pub ecn_echo: bool,
    /// Ask the sender to recover at once, as on three duplicate ACKs.
    pub push: bool,
    /// The scheme-defined field (share, window, rate).
    pub cc_feedback: u32,
}

/// Which ACKs go out for a data packet. The endpoint fills in the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AckPlan {
    /// An ACK for what had arrived before this packet (DCTCP's two-state echo).
    pub before: Option<AckFields>,
    /// An ACK that covers this packet.
    pub now: Option<AckFields>,
}

/// A packet that a receiver sends on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emit {
    /// An ACK held back before; it covers all that has arrived by now.
    Ack(ReceiverFlow, AckFields),
    /// A congestion notification packet.
    Cnp(ReceiverFlow),
    /// A credit of `wire` bytes with a number.
    Credit {
        /// To the sender of this flow.
        flow: ReceiverFlow,
        /// The number that data will carry back.
        number: u32,
        /// Bytes on the wire.
        wire: u32,
    },
}

/// What a host remembers about all flows into it. One value per host.
pub trait Receiver: Sized {
    /// The scheme's parameters.
    type Params;
    /// What it remembers per flow.
    type Flow: Default;

    /// A host comes up.
    fn new(params: &Self::Params, nic: &NicInfo) -> Self;
    /// A flow opens: its first packet, or its handshake, arrived.
    fn on_open(&mut self, _flow: &FlowInfo, _state: &mut Self::Flow, _cx: &mut Cx<'_, Self::Params>) {}
    /// A message starts. Comes before `on_data` of its first packet.
    fn on_message_start(
        &mut self,
        _message: &MessageStart<'_>,
        _state: &mut Self::Flow,
        _cx: &mut Cx<'_, Self::Params>,
    ) {
    }
    /// A message has arrived whole. Comes before `on_data` of its last packet. RDMA only, once per message.
    fn on_message_end(
        &mut self,
        _flow: ReceiverFlow,
        _id: MessageId,
        _state: &mut Self::Flow,
        _cx: &mut Cx<'_, Self::Params>,
    ) {
    }
    /// Data arrived. The default sends each ACK that is due and echoes the packet's mark.
    fn on_data(&mut self, data: &Data, _state: &mut Self::Flow, _cx: &mut Cx<'_, Self::Params>) -> AckPlan {
        let fields = AckFields { ecn_echo: data.ce, ..AckFields::default() };
        AckPlan { before: None, now: data.ack_due.then_some(fields) }
    }
    /// What an ACK carries that `on_data` did not plan: one whose delay has run out, one that travels on data, a window
    /// update.
    fn ack_fields(
        &mut self,
        _flow: ReceiverFlow,
        _state: &mut Self::Flow,
        _cx: &mut Cx<'_, Self::Params>,
    ) -> AckFields {
        AckFields::default()
    }
    /// A flow ends.
    fn on_close(&mut self, _flow: ReceiverFlow, _state: &mut Self::Flow, _cx: &mut Cx<'_, Self::Params>) {}
    /// The time of [`Receiver::wake_at`] has come. `received` is as in [`Data::received`].
    fn on_timer(&mut self, _received: u64, _cx: &mut Cx<'_, Self::Params>) {}
    /// The next packet to send, asked after every hook until it is `None`.
    fn poll_transmit(&mut self, _cx: &mut Cx<'_, Self::Params>) -> Option<Emit> {
        None
    }
    /// When `on_timer` is to be called.
    fn wake_at(&self) -> Time {
        Time::NEVER
    }
    /// What of its state a curious reader may watch, by name: Dart's n.
    fn watch(&self, _see: &mut dyn FnMut(&'static str, f64)) {}
}

/// What a switch is.
#[derive(Clone, Copy, Debug)]
pub struct SwitchInfo<'a> {
    /// The switch.
    pub node: NodeId,
    /// Seed of this switch's own random draws.
    pub seed: u64,
    /// Its ports, in order.
    pub ports: &'a [PortView],
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
}

/// The ports of a switch, as its program may ask about them. Numbered from 0 within the switch.
pub trait Ports {
    /// How many there are.
    fn count(&self) -> u16;
    /// One of them.
    fn view(&self, port: u16) -> PortView;
    /// Bytes that wait in `lane` of the class that `packet` belongs to.
    fn queued(&self, port: u16, packet: &Header, lane: u8) -> u64;
    /// Whether the peer has paused `lane` of the class that `packet` belongs to.
    fn paused(&self, port: u16, packet: &Header, lane: u8) -> bool;
}

/// Ports as a slice of views, for tests: every lane holds what the port does, and none is paused.
impl Ports for [PortView] {
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

/// What a switch does with a packet that is about to join a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Let it in.
    Admit,
    /// Let it in with a congestion mark.
    Mark,
    /// Drop it.
    Drop,
}

/// What runs in a switch. One value per switch; ports are numbered from 0 within it.
pub trait SwitchProgram: Sized {
    /// The scheme's parameters.
    type Params;
    /// Whether it watches queues: [`SwitchProgram::on_enqueue`] and [`SwitchProgram::on_dequeue`] of all packets, whatever
    /// their scheme.
    const WATCHES: bool = false;

    /// Whether it does anything at all with these parameters; a switch asks no program that does not.
    fn active(_params: &Self::Params) -> bool {
        true
    }
    /// A switch comes up.
    fn new(params: &Self::Params, switch: &SwitchInfo<'_>) -> Self;
    /// A data packet of this scheme came in at `ingress` and would leave at `minimal`; the answer is where it leaves. A new
    /// [`Header::lane`] holds from this port's queue on.
    fn route<P: Ports + ?Sized>(
        &mut self,
        _packet: &mut Header,
        _ingress: u16,
        minimal: u16,
        _ports: &P,
        _cx: &mut Cx<'_, Self::Params>,
    ) -> u16 {
        minimal
    }
    /// A packet is about to join the queue of `port`.
    fn on_enqueue(
        &mut self,
        _port: u16,
        _packet: &mut Header,
        _view: &PortView,
        _cx: &mut Cx<'_, Self::Params>,
    ) -> Verdict {
        Verdict::Admit
    }
    /// A packet leaves the queue of `port`; `view` no longer counts it.
    fn on_dequeue(&mut self, _port: u16, _packet: &mut Header, _view: &PortView, _cx: &mut Cx<'_, Self::Params>) {}
    /// A data packet of this scheme was dropped at this switch because of a failure.
    fn on_drop(&mut self, _packet: &Header, _cx: &mut Cx<'_, Self::Params>) {}
    /// The link of `port` went down.
    fn on_link_down(&mut self, _port: u16, _cx: &mut Cx<'_, Self::Params>) {}
    /// The time of [`SwitchProgram::wake_at`] has come.
    fn on_timer<P: Ports + ?Sized>(&mut self, _ports: &P, _cx: &mut Cx<'_, Self::Params>) {}
    /// When `on_timer` is to be called.
    fn wake_at(&self) -> Time {
        Time::NEVER
    }
    /// What of its state a curious reader may watch, by name: entries of Dart's table.
    fn watch(&self, _see: &mut dyn FnMut(&'static str, f64)) {}
}

/// The receiver of a scheme that needs none: every ACK that is due goes out and echoes its packet's mark.
pub struct NoReceiver<P>(core::marker::PhantomData<P>);

impl<P> Receiver for NoReceiver<P> {
    type Params = P;
    type Flow = ();
    fn new(_: &P, _: &NicInfo) -> Self {
        Self(core::marker::PhantomData)
    }
}

/// The switch program of a scheme that needs none.
pub struct NoSwitch<P>(core::marker::PhantomData<P>);

impl<P> SwitchProgram for NoSwitch<P> {
    type Params = P;
    fn active(_: &P) -> bool {
        false
    }
    fn new(_: &P, _: &SwitchInfo<'_>) -> Self {
        Self(core::marker::PhantomData)
    }
}
