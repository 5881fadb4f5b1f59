//! # Schemes that are loaded at run time
//!
//! A [`Program`] makes senders, receivers and switch programs as values behind `dyn`, with the roles and hooks that
//! built-in schemes have. Where it comes from (a Python class, a shared library) is not known here.

use crate::roles::*;
use crate::{Action, Header, receiver_hooks, sender_hooks, switch_hooks};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::any::Any;
use core::fmt;
use fanin_units::{MessageId, Time};

/// The scheme.
pub struct Own;

/// What everyone else must know of such a scheme. The same as the functions of [`Scheme`].
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// The id by which a spec selects it.
    pub id: &'static str,
    /// See [`Scheme::transport`].
    pub transport: Transport,
    /// See [`Scheme::wants_ecn`].
    pub wants_ecn: bool,
    /// See [`Scheme::needs_marks`].
    pub needs_marks: bool,
    /// See [`Scheme::sharing`].
    pub sharing: Sharing,
    /// See [`Scheme::header_overhead`].
    pub overhead: HeaderOverhead,
    /// See [`Scheme::acks_once_per_rtt`].
    pub acks_once_per_rtt: bool,
    /// See [`Scheme::credits`].
    pub credits: Option<CreditQueue>,
    /// See [`Receiver::holds_acks`].
    pub holds_acks: bool,
    /// Whether it has a program for switches.
    pub switch: bool,
    /// See [`SwitchProgram::watches`].
    pub watches: bool,
}

impl About {
    /// A scheme over RDMA that understands marks, without anything else.
    pub const fn new(id: &'static str) -> Self {
        Self {
            id,
            transport: Transport::Rdma,
            wants_ecn: true,
            needs_marks: false,
            sharing: Sharing::Nothing,
            overhead: HeaderOverhead::new(0, 0),
            acks_once_per_rtt: false,
            credits: None,
            holds_acks: false,
            switch: false,
            watches: false,
        }
    }
}

/// A failure of such a scheme: an exception, or a value that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// When it happened.
    pub at: Time,
    /// What happened, in which hook, and where.
    pub problem: String,
}

/// A scheme with its parameters, loaded at run time.
pub trait Program: Send + Sync + fmt::Debug {
    /// What everyone else must know.
    fn about(&self) -> &About;
    /// Its parameters as a JSON object, every default shown.
    fn parameters(&self) -> String;
    /// A sender, for a flow that opens.
    fn sender(&self, path: &PathInfo, cx: &mut Cx<'_, Params, Shared>) -> Box<OwnSender>;
    /// The receiver of a host.
    fn receiver(&self, nic: &NicInfo) -> Box<OwnReceiver>;
    /// The program of a switch.
    fn switch(&self, switch: &SwitchInfo<'_>) -> Box<OwnSwitch>;
    /// Whether its hooks are called in an interpreter that one thread at a time may enter.
    fn interpreted(&self) -> bool {
        false
    }
    /// The earliest failure, after which that flow, host or switch does nothing any more, and the run should end.
    fn failure(&self) -> Option<Failure> {
        None
    }
}

/// The parameters of a scheme that was loaded, with the scheme itself.
#[derive(Clone, Debug)]
pub struct Params {
    /// The scheme.
    pub program: Arc<dyn Program>,
}

impl PartialEq for Params {
    fn eq(&self, other: &Self) -> bool {
        let (ours, theirs) = (&self.program, &other.program);
        Arc::ptr_eq(ours, theirs) || ours.about() == theirs.about() && ours.parameters() == theirs.parameters()
    }
}

/// State that flows share ([`About::sharing`]); empty until the first sender puts something in.
#[derive(Default)]
pub struct Shared(pub Option<Box<dyn Any + Send>>);

/// A sender of such a scheme.
pub type OwnSender = dyn Sender<Params = Params, Shared = Shared> + Send;
/// A receiver of such a scheme. It keeps its flows' state itself.
pub type OwnReceiver = dyn Receiver<Params = Params, Flow = ()> + Send;
/// A switch program of such a scheme.
pub type OwnSwitch = dyn SwitchProgram<Params = Params> + Send;

impl Scheme for Own {
    type Params = Params;
    type Sender = Box<OwnSender>;
    type Receiver = Box<OwnReceiver>;
    type Switch = Box<OwnSwitch>;

    const PRESETS: &'static [&'static str] = &[];

    fn preset(id: &str) -> Params {
        unreachable!("{id} is no preset: a scheme that is loaded has none")
    }
    fn transport(params: &Params) -> Transport {
        params.program.about().transport
    }
    fn wants_ecn(params: &Params) -> bool {
        params.program.about().wants_ecn
    }
    fn needs_marks(params: &Params) -> bool {
        params.program.about().needs_marks
    }
    fn sharing(params: &Params) -> Sharing {
        params.program.about().sharing
    }
    fn header_overhead(params: &Params) -> HeaderOverhead {
        params.program.about().overhead
    }
    fn acks_once_per_rtt(params: &Params) -> bool {
        params.program.about().acks_once_per_rtt
    }
    fn credits(params: &Params) -> Option<CreditQueue> {
        params.program.about().credits
    }
}

/// A role behind `dyn`: `$more` of it, and its hooks, of their list, with `$context` besides their arguments.
macro_rules! behind {
    (
        $role:ident for $own:ident $context:tt { $($more:tt)* } [$this:ident $(, $_name:ident)*]
        $($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) -> $out:ty $or:block)*
    ) => {
        impl $role for Box<$own> {
            type Params = Params;
            $($more)*
            $(behind! { $name $this ($($arg: $type),*) $context $out })*
            fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
                (**self).watch(see);
            }
        }
    };
    ($name:ident $this:ident ($($arg:ident: $type:ty),*) ($($context:ident: $of:ty),*) $out:ty) => {
        #[inline]
        fn $name(&mut $this, $($arg: $type,)* $($context: &mut $of),*) -> $out {
            (**$this).$name($($arg,)* $($context),*)
        }
    };
}

sender_hooks!(behind, Sender for OwnSender (cx: Cx<'_, Params, Shared>) {
    type Shared = Shared;

    fn open(path: &PathInfo, cx: &mut Cx<'_, Params, Shared>) -> Self {
        let params = cx.params;
        params.program.sender(path, cx)
    }
    #[inline]
    fn control(&self, cx: &Cx<'_, Params, Shared>) -> Control {
        (**self).control(cx)
    }
    fn close(&mut self, cx: &mut Cx<'_, Params, Shared>) {
        (**self).close(cx);
    }
});

receiver_hooks!(behind, Receiver for OwnReceiver (state: (), cx: Cx<'_, Params>) {
    type Flow = ();

    fn holds_acks(params: &Params) -> bool {
        params.program.about().holds_acks
    }
    fn new(params: &Params, nic: &NicInfo) -> Self {
        params.program.receiver(nic)
    }
    fn on_timer(&mut self, received: u64, cx: &mut Cx<'_, Params>) {
        (**self).on_timer(received, cx);
    }
    #[inline]
    fn poll_transmit(&mut self, cx: &mut Cx<'_, Params>) -> Option<Emit> {
        (**self).poll_transmit(cx)
    }
    #[inline]
    fn wake_at(&self) -> Time {
        (**self).wake_at()
    }
});

switch_hooks!(behind, SwitchProgram for OwnSwitch (cx: Cx<'_, Params>) {
    fn watches(params: &Params) -> bool {
        params.program.about().watches
    }
    fn active(params: &Params) -> bool {
        params.program.about().switch
    }
    fn new(params: &Params, switch: &SwitchInfo<'_>) -> Self {
        if params.program.about().switch { params.program.switch(switch) } else { Box::new(NoSwitch::none()) }
    }
    fn route(
        &mut self,
        packet: &mut Header,
        ingress: u16,
        minimal: u16,
        ports: &dyn Ports,
        cx: &mut Cx<'_, Params>,
    ) -> u16 {
        // A port that the switch does not have would be an index out of bounds far away.
        let to = (**self).route(packet, ingress, minimal, ports, cx);
        if to < ports.count() { to } else { minimal }
    }
    fn on_enqueue(&mut self, packet: &mut Queued<'_>, cx: &mut Cx<'_, Params>) -> Verdict {
        (**self).on_enqueue(packet, cx)
    }
    fn on_dequeue(&mut self, packet: &mut Queued<'_>, cx: &mut Cx<'_, Params>) {
        (**self).on_dequeue(packet, cx);
    }
    fn wake_at(&self) -> Time {
        (**self).wake_at()
    }
});

/// The first argument of a receiver's hook.
pub trait OfFlow {
    /// The flow that it is about.
    fn of_flow(&self) -> ReceiverFlow;
}

macro_rules! of_flow {
    ($($type:ty: $this:ident => $flow:expr;)*) => {
        $(impl OfFlow for $type {
            #[inline(always)]
            fn of_flow(&$this) -> ReceiverFlow {
                $flow
            }
        })*
    };
}

of_flow! {
    ReceiverFlow: self => *self;
    FlowInfo: self => self.flow;
    MessageStart<'_>: self => self.flow;
    Data: self => self.flow;
}

/// The action of a name, as results have it; `None` for a name that is none.
pub fn action(name: &str) -> Option<Action> {
    Action::ALL.iter().copied().find(|action| action.name() == name)
}

#[cfg(feature = "spec")]
mod text {
    use super::Params;
    use serde::de::Error as _;
    use serde::ser::Error as _;

    impl serde::Serialize for Params {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let values: serde_json::Value =
                serde_json::from_str(&self.program.parameters()).map_err(S::Error::custom)?;
            values.serialize(serializer)
        }
    }

    impl<'de> serde::Deserialize<'de> for Params {
        fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
            Err(D::Error::custom("a scheme that is loaded is no text"))
        }
    }

    impl schemars::JsonSchema for Params {
        fn schema_name() -> alloc::borrow::Cow<'static, str> {
            "OwnParams".into()
        }
        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            schemars::json_schema!({ "type": "object", "description": "Parameters of a scheme that is loaded." })
        }
    }
}
