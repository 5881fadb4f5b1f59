//! The receiver of a host.

use crate::abi;
use crate::calls::Inner;
use crate::convert::{Argument, told, with};
use crate::sender::endless;
use crate::state::State;
use fanin_cc::schemes::own::{OfFlow, Params};
use fanin_cc::{
    AckFields, AckPlan, Actions, Cx, Data, Emit, FlowInfo, MessageStart, NicInfo, Receiver, ReceiverFlow,
    receiver_hooks,
};
use fanin_units::{MessageId, Time};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

type C<'a> = Cx<'a, Params>;

/// Most packets that a receiver sends at one event: more are a loop without end.
const MOST_PACKETS: u32 = 1 << 16;

/// A receiver in a library.
pub struct CReceiver {
    wake_at: u64,
    hooks: &'static abi::Receiver,
    state: State,
    /// The open flows into this host.
    flows: HashMap<u32, State, BuildHasherDefault<Number>>,
    /// The flow that the current hook is about.
    about: Option<u32>,
    now: Time,
    polls: u32,
    /// Whether a hook has failed: then none is called any more, and the defaults hold.
    failed: bool,
    scheme: Arc<Inner>,
}

/// Hashes the number of a flow, which costs less than a hash against chosen keys.
#[derive(Default)]
pub struct Number(u64);

impl Hasher for Number {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32((*byte).into());
        }
    }
    fn write_u32(&mut self, number: u32) {
        // By 2^64 / golden ratio, so that neighbours differ in their upper bits too.
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl CReceiver {
    /// A host comes up.
    pub fn open(scheme: Arc<Inner>, nic: &NicInfo) -> Self {
        let (hooks, state) = (scheme.of.receiver, State::new(scheme.of.receiver.host_size));
        let (flows, now) = (HashMap::default(), Time::ZERO);
        let wake_at = abi::NEVER;
        let mut receiver = Self { wake_at, hooks, state, flows, about: None, now, polls: 0, failed: false, scheme };
        if let Some(open) = hooks.open {
            let nic = nic.into();
            receiver.run("receiver.open", now, &mut Actions::default(), |me, cx| open(me, &nic, cx));
        }
        receiver
    }

    /// Runs a hook, and checks what it has set.
    #[inline(always)]
    fn run<T>(
        &mut self,
        name: &str,
        now: Time,
        actions: &mut Actions,
        hook: impl FnOnce(abi::State, &mut abi::Cx) -> T,
    ) -> Option<T> {
        if self.failed {
            return None;
        }
        let mut c = self.scheme.cx(now, actions, self.wake_at);
        let result = hook(self.state.at(), &mut c);
        self.now = now;
        if !c.problem.is_null() | (c.wake_at != self.wake_at && c.wake_at <= c.now) {
            self.fail(name, &self.scheme.complaint(&c, c.wake_at));
        }
        self.wake_at = c.wake_at;
        Some(result)
    }

    /// Runs a hook about a flow.
    #[inline(always)]
    fn about<T>(
        &mut self,
        name: &str,
        flow: u32,
        cx: &mut C<'_>,
        hook: impl FnOnce(abi::State, abi::State, &mut abi::Cx) -> T,
    ) -> Option<T> {
        let size = self.hooks.flow_size;
        let state = self.flows.entry(flow).or_insert_with(|| State::new(size)).at();
        self.about = Some(flow);
        let result = self.run(name, cx.now, cx.actions, |me, cx| hook(me, state, cx));
        self.about = None;
        result
    }

    #[cold]
    fn fail(&mut self, hook: &str, problem: &str) {
        self.failed = true;
        self.scheme.fail(hook, &self.named(), self.now, problem);
    }

    /// What messages call the one whose hook runs.
    fn named(&self) -> String {
        self.about.map_or_else(|| "a receiving host".to_string(), |flow| format!("incoming flow {flow}"))
    }

    /// A packet that a hook wants to send.
    fn emitted(&self, emit: &abi::Emit) -> Result<Emit, String> {
        let flow = ReceiverFlow(emit.flow);
        if !self.flows.contains_key(&emit.flow) {
            return Err(format!("sends to flow {}, which is not open towards this host", emit.flow));
        }
        match (emit.kind, emit.wire) {
            (abi::EMIT_ACK, _) => Ok(Emit::Ack(flow, (&emit.fields).into())),
            (abi::EMIT_CNP, _) => Ok(Emit::Cnp(flow)),
            (abi::EMIT_CREDIT, _) if !self.scheme.sends_credits() => {
                Err("sends a credit, but the scheme has none: set credit, credit_burst and credit_limit".into())
            }
            (abi::EMIT_CREDIT, wire @ 1..=9000) => Ok(Emit::Credit { flow, number: emit.number, wire }),
            (abi::EMIT_CREDIT, wire) => Err(format!("sends a credit of {wire} bytes: 1 to 9000 are possible")),
            (other, _) => Err(format!("sends a packet of kind {other}: write FANIN_EMIT_ACK, _CNP or _CREDIT")),
        }
    }
}

/// A hook about a flow without an answer.
macro_rules! one {
    ($name:ident $this:ident ($of:ident: $type:ty $(, $arg:ident: $more:ty)*) $or:block $state:ident $cx:ident) => {
        #[allow(unused_variables, reason = "the state of flows is the library's")]
        fn $name(&mut $this, $of: $type, $($arg: $more,)* $state: &mut (), $cx: &mut C<'_>) {
            let (name, number) = (concat!("receiver.", stringify!($name)), $of.of_flow().0);
            if name == "receiver.on_open" {
                $this.flows.insert(number, State::new($this.hooks.flow_size));
            }
            if let Some(hook) = $this.hooks.$name {
                with!(($of $($arg)*) $this.about(name, number, $cx, |me, flow, cx| hook(me, flow, $of, $($arg,)* cx)));
            }
            if name == "receiver.on_close" {
                $this.flows.remove(&number);
            }
        }
    };
}

impl Receiver for CReceiver {
    type Params = Params;
    type Flow = ();

    fn new(_: &Params, nic: &NicInfo) -> Self {
        unreachable!("receivers are opened by the scheme's program, not for {nic:?}")
    }
    fn on_syn(&mut self, flow: ReceiverFlow, state: &mut (), cx: &mut C<'_>) -> Option<AckFields> {
        let Some(hook) = self.hooks.on_syn else { return Some(self.ack_fields(flow, state, cx)) };
        let mut fields = abi::AckFields::default();
        let goes = self.about("receiver.on_syn", flow.0, cx, |me, state, cx| hook(me, state, flow.0, &mut fields, cx));
        (goes != Some(0)).then(|| (&fields).into())
    }
    #[inline]
    fn on_data(&mut self, data: &Data, _: &mut (), cx: &mut C<'_>) -> AckPlan {
        let echo = AckFields { ecn_echo: data.ce, ..AckFields::default() };
        let Some(hook) = self.hooks.on_data else {
            return AckPlan { before: None, now: data.ack_due.then_some(echo) };
        };
        let mut plan = abi::AckPlan { send_now: data.ack_due.into(), now: echo.into(), ..abi::AckPlan::default() };
        let c = data.into();
        self.about("receiver.on_data", data.flow.0, cx, |me, flow, cx| hook(me, flow, &c, &mut plan, cx));
        (&plan).into()
    }
    fn on_request(&mut self, request: &Data, _: &mut (), cx: &mut C<'_>) -> Option<AckFields> {
        let hook = self.hooks.on_request?;
        let (c, mut fields) = (request.into(), abi::AckFields::default());
        let flow = request.flow.0;
        let answers = self.about("receiver.on_request", flow, cx, |me, flow, cx| hook(me, flow, &c, &mut fields, cx));
        answers.filter(|answers| *answers != 0).map(|_| (&fields).into())
    }
    fn ack_fields(&mut self, flow: ReceiverFlow, _: &mut (), cx: &mut C<'_>) -> AckFields {
        let Some(hook) = self.hooks.ack_fields else { return AckFields::default() };
        let mut fields = abi::AckFields::default();
        self.about("receiver.ack_fields", flow.0, cx, |me, state, cx| hook(me, state, flow.0, &mut fields, cx));
        (&fields).into()
    }
    fn on_timer(&mut self, received: u64, cx: &mut C<'_>) {
        self.wake_at = abi::NEVER;
        let Some(hook) = self.hooks.on_timer else { return };
        self.run("receiver.on_timer", cx.now, cx.actions, |me, cx| hook(me, received, cx));
    }
    #[inline]
    fn poll_transmit(&mut self, cx: &mut C<'_>) -> Option<Emit> {
        let hook = self.hooks.poll_transmit?;
        let mut emit = abi::Emit::default();
        let sends = self.run("receiver.poll_transmit", cx.now, cx.actions, |me, cx| hook(me, &mut emit, cx));
        if sends.unwrap_or(0) == 0 || self.failed {
            self.polls = 0;
            return None;
        }
        self.polls += 1;
        let endless = (self.polls > MOST_PACKETS).then(|| endless(MOST_PACKETS));
        let emitted = endless.map_or_else(|| self.emitted(&emit), Err);
        emitted.map_err(|problem| self.fail("receiver.poll_transmit", &problem)).ok()
    }
    #[inline]
    fn wake_at(&self) -> Time {
        if self.failed { Time::NEVER } else { Time::from_ps(self.wake_at) }
    }
    receiver_hooks!(told);
    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        if let Some(watch) = self.hooks.watch.filter(|_| !self.failed) {
            self.scheme.watch(watch, ("receiver.watch", self.named()), self.state.read(), self.now, see);
        }
    }
}
