//! The state of one scheme in one run, in dense vectors: senders by slot, receivers by host, switches by switch.

use crate::roles::*;
use crate::{Actions, Header};
use alloc::vec::Vec;
use fanin_units::{MessageId, Time};

/// A sender that was opened: its slot, and how much it may send.
#[derive(Clone, Copy, Debug)]
pub struct Opened {
    /// Pass it to every later call for this flow.
    pub slot: u32,
    /// How much it may send now.
    pub control: Control,
}

/// All state of one scheme with one set of parameters.
pub struct Pool<S: Scheme> {
    params: S::Params,
    senders: Vec<Option<(S::Sender, u32)>>,
    free: Vec<u32>,
    shared: Vec<<S::Sender as Sender>::Shared>,
    flows: Vec<<S::Receiver as Receiver>::Flow>,
    receivers: Vec<S::Receiver>,
    switches: Vec<S::Switch>,
    actions: Actions,
    shared_changed: bool,
}

impl<S: Scheme> Pool<S> {
    /// An empty pool.
    pub fn new(params: S::Params) -> Self {
        Self {
            params,
            senders: Vec::new(),
            free: Vec::new(),
            shared: Vec::new(),
            flows: Vec::new(),
            receivers: Vec::new(),
            switches: Vec::new(),
            actions: Actions::default(),
            shared_changed: false,
        }
    }

    /// The sender in a slot.
    pub(crate) fn sender(&self, slot: u32) -> Option<&S::Sender> {
        self.senders[slot as usize].as_ref().map(|(sender, _)| sender)
    }

    /// Runs one sender hook and reads the control after it.
    #[inline(always)]
    fn with_sender(
        &mut self,
        slot: u32,
        now: Time,
        hook: impl FnOnce(&mut S::Sender, &mut Cx<'_, S::Params, <S::Sender as Sender>::Shared>),
    ) -> Control {
        let (sender, shared) =
            self.senders[slot as usize].as_mut().expect("a hook is only called between open and close of its flow");
        let mut cx = Cx::new(now, &self.params, &mut self.shared[*shared as usize], &mut self.actions);
        hook(sender, &mut cx);
        let control = sender.control(&cx);
        self.shared_changed |= cx.shared_changed;
        control
    }

    #[inline(always)]
    fn with_receiver<T>(
        &mut self,
        host: usize,
        now: Time,
        hook: impl FnOnce(&mut S::Receiver, &mut Vec<<S::Receiver as Receiver>::Flow>, &mut Cx<'_, S::Params>) -> T,
    ) -> T {
        hook(&mut self.receivers[host], &mut self.flows, &mut Cx::new(now, &self.params, &mut (), &mut self.actions))
    }

    #[inline(always)]
    fn with_switch<T>(
        &mut self,
        switch: usize,
        now: Time,
        hook: impl FnOnce(&mut S::Switch, &mut Cx<'_, S::Params>) -> T,
    ) -> T {
        hook(&mut self.switches[switch], &mut Cx::new(now, &self.params, &mut (), &mut self.actions))
    }
}

/// Methods of [`Pool`], and `pool_methods!`, which hands the signature of each to a macro `forward!`.
macro_rules! methods {
    ($(
        $(#[doc = $doc:literal])*
        $(#[inline $($how:tt)?])?
        pub fn $name:ident($($signature:tt)*) $(-> $out:ty)? $body:block
    )*) => {
        impl<S: Scheme> Pool<S> { $(
            $(#[doc = $doc])*
            $(#[inline $($how)?])?
            pub fn $name($($signature)*) $(-> $out)? $body
        )* }
        macro_rules! pool_methods {
            () => { $(forward!([$(#[doc = $doc])*] $name ($($signature)*) $(-> $out)?);)* };
        }
        pub(crate) use pool_methods;
    };
}

methods! {
    /// How often the scheme acted.
    pub fn actions(&self) -> &Actions {
        &self.actions
    }

    /// Adds a host; hosts are added in order.
    pub fn add_host(&mut self, nic: &NicInfo) {
        self.receivers.push(S::Receiver::new(&self.params, nic));
    }

    /// Adds a switch; switches are added in order.
    pub fn add_switch(&mut self, switch: &SwitchInfo<'_>) {
        self.switches.push(S::Switch::new(&self.params, switch));
    }

    /// Whether its switch program does anything.
    pub fn switch_active(&self) -> bool {
        S::Switch::active(&self.params)
    }

    /// Whether its switch program watches queues.
    pub fn switch_watches(&self) -> bool {
        S::Switch::watches(&self.params) && S::Switch::active(&self.params)
    }

    /// Which flows of a host share anything.
    pub fn sharing(&self) -> Sharing {
        match size_of::<<S::Sender as Sender>::Shared>() {
            0 => Sharing::Nothing,
            _ => S::sharing(&self.params),
        }
    }

    /// Whether its switch program looks at the queue of each packet's class.
    pub fn switch_lanes(&self) -> bool {
        S::Switch::lanes()
    }

    /// Opens a flow. `shared` is the caller's dense number of the pair of hosts, or of the host.
    pub fn open(&mut self, shared: u32, path: &PathInfo, now: Time) -> Opened {
        let shared = if self.sharing() == Sharing::Nothing { 0 } else { shared };
        if self.shared.len() <= shared as usize {
            self.shared.resize_with(shared as usize + 1, Default::default);
        }
        let mut cx = Cx::new(now, &self.params, &mut self.shared[shared as usize], &mut self.actions);
        let sender = S::Sender::open(path, &mut cx);
        let control = sender.control(&cx);
        self.shared_changed |= cx.shared_changed;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.senders.push(None);
            self.senders.len() as u32 - 1
        });
        self.senders[slot as usize] = Some((sender, shared));
        Opened { slot, control }
    }

    /// Ends a flow and frees its slot.
    pub fn close(&mut self, slot: u32, now: Time) {
        let open = self.senders[slot as usize].take();
        let (mut sender, shared) = open.expect("a flow is closed once, and after it was opened");
        let mut cx = Cx::new(now, &self.params, &mut self.shared[shared as usize], &mut self.actions);
        // How much it may send is not asked any more.
        sender.close(&mut cx);
        self.shared_changed |= cx.shared_changed;
        self.free.push(slot);
    }

    /// Ends a flow and opens it again in the same slot, with the same shared state. Returns how much it may send.
    pub fn reopen(&mut self, slot: u32, path: &PathInfo, now: Time) -> Control {
        self.with_sender(slot, now, |s, cx| {
            s.close(cx);
            *s = S::Sender::open(path, cx);
        })
    }

    /// How much a flow may send now, without any event.
    pub fn control(&mut self, slot: u32, now: Time) -> Control {
        self.with_sender(slot, now, |_, _| {})
    }

    /// Whether shared state changed since the last call, so that the control of other flows of the pair may have
    /// changed.
    #[inline(always)]
    pub fn take_shared_changed(&mut self) -> bool {
        core::mem::take(&mut self.shared_changed)
    }

    /// See [`Sender::on_send`]. Also returns the packet's `cc_tag`.
    #[inline(always)]
    pub fn on_send(&mut self, slot: u32, now: Time, sent: &Sent) -> (Control, u32) {
        let mut cc_tag = 0;
        let control = self.with_sender(slot, now, |s, cx| cc_tag = s.on_send(sent, cx));
        (control, cc_tag)
    }
    /// See [`Sender::on_ack`].
    #[inline(always)]
    pub fn on_ack(&mut self, slot: u32, now: Time, ack: &Ack<'_>) -> Control {
        self.with_sender(slot, now, |s, cx| s.on_ack(ack, cx))
    }
    /// See [`Sender::on_notice`].
    pub fn on_notice(&mut self, slot: u32, now: Time, notice: Notice) -> Control {
        self.with_sender(slot, now, |s, cx| s.on_notice(notice, cx))
    }
    /// See [`Sender::on_loss`].
    pub fn on_loss(&mut self, slot: u32, now: Time, loss: &Loss) -> Control {
        self.with_sender(slot, now, |s, cx| s.on_loss(loss, cx))
    }
    /// See [`Sender::on_timeout`].
    pub fn on_timeout(&mut self, slot: u32, now: Time, loss: &Loss) -> Control {
        self.with_sender(slot, now, |s, cx| s.on_timeout(loss, cx))
    }
    /// See [`Sender::on_trim`].
    pub fn on_trim(&mut self, slot: u32, now: Time, trim: &Trim) -> Control {
        self.with_sender(slot, now, |s, cx| s.on_trim(trim, cx))
    }
    /// See [`Sender::on_idle`].
    pub fn on_idle(&mut self, slot: u32, now: Time) -> Control {
        self.with_sender(slot, now, |s, cx| s.on_idle(cx))
    }
    /// See [`Sender::on_timer`].
    pub fn on_timer(&mut self, slot: u32, now: Time) -> Control {
        self.with_sender(slot, now, |s, cx| s.on_timer(cx))
    }
    /// See [`Sender::poll_request`]. Also how much the flow may send then.
    pub fn poll_request(&mut self, slot: u32, now: Time, left: u64) -> (Option<u32>, Control) {
        let mut request = None;
        let control = self.with_sender(slot, now, |s, cx| request = s.poll_request(left, cx));
        (request, control)
    }
    /// See [`Sender::watch`].
    pub fn watch(&self, slot: u32, see: &mut dyn FnMut(&'static str, f64)) {
        if let Some(sender) = self.sender(slot) {
            sender.watch(see);
        }
    }

    /// See [`Receiver::on_open`]. The flow's receiver state starts anew.
    pub fn receiver_open(&mut self, host: usize, now: Time, flow: &FlowInfo) {
        let slot = flow.flow.0 as usize;
        if self.flows.len() <= slot {
            self.flows.resize_with(slot + 1, Default::default);
        }
        self.flows[slot] = Default::default();
        self.with_receiver(host, now, |r, flows, cx| r.on_open(flow, &mut flows[slot], cx));
    }
    /// See [`Receiver::holds_acks`].
    pub fn receiver_holds_acks(&self) -> bool {
        S::Receiver::holds_acks(&self.params)
    }
    /// See [`Receiver::on_syn`].
    pub fn receiver_syn(&mut self, host: usize, now: Time, flow: ReceiverFlow) -> Option<AckFields> {
        self.with_receiver(host, now, |r, flows, cx| r.on_syn(flow, &mut flows[flow.0 as usize], cx))
    }
    /// See [`Receiver::on_message_start`].
    pub fn receiver_message_start(&mut self, host: usize, now: Time, message: &MessageStart<'_>) {
        let slot = message.flow.0 as usize;
        self.with_receiver(host, now, |r, flows, cx| r.on_message_start(message, &mut flows[slot], cx));
    }
    /// See [`Receiver::on_message_end`].
    pub fn receiver_message_end(&mut self, host: usize, now: Time, flow: ReceiverFlow, id: MessageId) {
        self.with_receiver(host, now, |r, flows, cx| r.on_message_end(flow, id, &mut flows[flow.0 as usize], cx));
    }
    /// See [`Receiver::on_data`].
    #[inline(always)]
    pub fn receiver_data(&mut self, host: usize, now: Time, data: &Data) -> AckPlan {
        self.with_receiver(host, now, |r, flows, cx| r.on_data(data, &mut flows[data.flow.0 as usize], cx))
    }
    /// See [`Receiver::on_request`].
    pub fn receiver_request(&mut self, host: usize, now: Time, request: &Data) -> Option<AckFields> {
        self.with_receiver(host, now, |r, flows, cx| r.on_request(request, &mut flows[request.flow.0 as usize], cx))
    }
    /// See [`Receiver::on_trim`].
    pub fn receiver_trim(&mut self, host: usize, now: Time, data: &Data) {
        self.with_receiver(host, now, |r, flows, cx| r.on_trim(data, &mut flows[data.flow.0 as usize], cx));
    }
    /// See [`Receiver::ack_fields`].
    pub fn receiver_ack_fields(&mut self, host: usize, now: Time, flow: ReceiverFlow) -> AckFields {
        self.with_receiver(host, now, |r, flows, cx| r.ack_fields(flow, &mut flows[flow.0 as usize], cx))
    }
    /// See [`Receiver::on_fin`].
    pub fn receiver_fin(&mut self, host: usize, now: Time, flow: ReceiverFlow) {
        self.with_receiver(host, now, |r, flows, cx| r.on_fin(flow, &mut flows[flow.0 as usize], cx));
    }
    /// See [`Receiver::on_close`].
    pub fn receiver_close(&mut self, host: usize, now: Time, flow: ReceiverFlow) {
        self.with_receiver(host, now, |r, flows, cx| r.on_close(flow, &mut flows[flow.0 as usize], cx));
    }
    /// See [`Receiver::on_timer`].
    pub fn receiver_timer(&mut self, host: usize, now: Time, received: u64) {
        self.with_receiver(host, now, |r, _, cx| r.on_timer(received, cx));
    }
    /// See [`Receiver::poll_transmit`].
    #[inline(always)]
    pub fn receiver_poll(&mut self, host: usize, now: Time) -> Option<Emit> {
        self.with_receiver(host, now, |r, _, cx| r.poll_transmit(cx))
    }
    /// See [`Receiver::wake_at`].
    #[inline(always)]
    pub fn receiver_wake_at(&self, host: usize) -> Time {
        self.receivers[host].wake_at()
    }
    /// See [`Receiver::watch`].
    pub fn receiver_watch(&self, host: usize, see: &mut dyn FnMut(&'static str, f64)) {
        self.receivers[host].watch(see);
    }

    /// See [`SwitchProgram::route`].
    #[inline]
    pub fn switch_route(
        &mut self,
        switch: usize,
        now: Time,
        packet: &mut Header,
        ingress: u16,
        minimal: u16,
        ports: &dyn Ports,
    ) -> u16 {
        self.with_switch(switch, now, |s, cx| s.route(packet, ingress, minimal, ports, cx))
    }
    /// See [`SwitchProgram::on_enqueue`].
    pub fn switch_enqueue(&mut self, switch: usize, now: Time, packet: &mut Queued<'_>) -> Verdict {
        self.with_switch(switch, now, |s, cx| s.on_enqueue(packet, cx))
    }
    /// See [`SwitchProgram::on_dequeue`].
    pub fn switch_dequeue(&mut self, switch: usize, now: Time, packet: &mut Queued<'_>) {
        self.with_switch(switch, now, |s, cx| s.on_dequeue(packet, cx));
    }
    /// See [`SwitchProgram::on_timer`].
    pub fn switch_timer(&mut self, switch: usize, now: Time, ports: &dyn Ports) {
        self.with_switch(switch, now, |s, cx| s.on_timer(ports, cx));
    }
    /// See [`SwitchProgram::on_drop`].
    pub fn switch_drop(&mut self, switch: usize, now: Time, packet: &Header) {
        self.with_switch(switch, now, |s, cx| s.on_drop(packet, cx));
    }
    /// See [`SwitchProgram::on_link_down`].
    pub fn switch_link_down(&mut self, switch: usize, now: Time, port: u16) {
        self.with_switch(switch, now, |s, cx| s.on_link_down(port, cx));
    }
    /// See [`SwitchProgram::wake_at`].
    pub fn switch_wake_at(&self, switch: usize) -> Time {
        self.switches[switch].wake_at()
    }
    /// See [`SwitchProgram::watch`].
    pub fn switch_watch(&self, switch: usize, see: &mut dyn FnMut(&'static str, f64)) {
        self.switches[switch].watch(see);
    }
}
