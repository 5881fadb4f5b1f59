//! The one list of schemes. Each line makes the id, the parameters, the dispatch, the docs row and the tests.

use crate::roles::*;
use crate::schemes::*;
use crate::{Actions, Header, Opened, Pool};
use alloc::string::String;
use fanin_units::{MessageId, Time};

/// One row of the registry.
#[derive(Clone, Copy, Debug)]
pub struct SchemeRow {
    /// The name of its file in `schemes/`, without `.rs`.
    pub file: &'static str,
    /// Its ids; the first is the scheme as its paper has it, the others are presets of the same code.
    pub presets: &'static [&'static str],
    /// The text of its file, from which its manual is taken.
    source: &'static str,
}

impl SchemeRow {
    /// The manual: the file's own doc comment, Markdown with fixed headings.
    pub fn manual(&self) -> String {
        let mut manual = String::new();
        for line in self.source.lines().map_while(|line| line.strip_prefix("//!")) {
            manual.push_str(line.strip_prefix(' ').unwrap_or(line));
            manual.push('\n');
        }
        manual
    }
}

/// Calls one method of whichever pool an instance is.
macro_rules! each {
    ($self:expr, $pool:ident => $body:expr; $($variant:ident)*) => {
        match $self { $(Instance::$variant($pool) => $body,)* }
    };
}

macro_rules! schemes {
    ($($file:ident :: $variant:ident,)*) => {
        /// Every registered scheme, in order.
        pub fn rows() -> &'static [SchemeRow] {
            &[$(SchemeRow {
                file: stringify!($file),
                presets: <$file::$variant as Scheme>::PRESETS,
                source: include_str!(concat!("schemes/", stringify!($file), ".rs")),
            },)*]
        }

        /// A scheme with its parameters, checked and ready to run.
        #[derive(Clone, PartialEq, Debug)]
        pub enum Settings { $(
            #[doc = concat!("See [`crate::schemes::", stringify!($file), "`].")]
            $variant(&'static str, <$file::$variant as Scheme>::Params),
        )* }

        impl Settings {
            /// A preset as it is.
            pub fn preset(id: &str) -> Option<Self> {
                $(if let Some(&id) = <$file::$variant as Scheme>::PRESETS.iter().find(|p| **p == id) {
                    return Some(Self::$variant(id, <$file::$variant as Scheme>::preset(id)));
                })*
                None
            }
            /// The id it was asked for under.
            pub fn id(&self) -> &'static str {
                match self { $(Self::$variant(id, _) => id,)* }
            }
            /// The endpoint that carries its flows unless the spec asks for the other one.
            pub fn transport(&self) -> Transport {
                match self { $(Self::$variant(..) => <$file::$variant as Scheme>::TRANSPORT,)* }
            }
            /// Whether it understands congestion marks.
            pub fn wants_ecn(&self) -> bool {
                match self { $(Self::$variant(_, params) => <$file::$variant as Scheme>::wants_ecn(params),)* }
            }
            /// See [`Scheme::lanes`].
            pub fn lanes(&self) -> Lanes {
                match self { $(Self::$variant(_, params) => <$file::$variant as Scheme>::lanes(params),)* }
            }
            /// See [`Scheme::send_options`].
            pub fn send_options(&self, bytes: u64, senders: usize, connection: bool) -> SendOptions {
                match self {
                    $(Self::$variant(_, params) =>
                        <$file::$variant as Scheme>::send_options(params, bytes, senders, connection),)*
                }
            }
            /// See [`Scheme::header_overhead`].
            pub fn header_overhead(&self) -> HeaderOverhead {
                match self { $(Self::$variant(_, params) => <$file::$variant as Scheme>::header_overhead(params),)* }
            }
            /// Refuses impossible parameters.
            pub fn check(&self) -> Result<(), &'static str> {
                match self { $(Self::$variant(_, params) => <$file::$variant as Scheme>::check(params),)* }
            }
            /// The state it runs on.
            pub fn build(&self) -> Instance {
                match self { $(Self::$variant(_, params) => Instance::$variant(Pool::new(params.clone())),)* }
            }
            /// Its parameters as JSON, every default shown.
            #[cfg(feature = "spec")]
            pub fn to_json(&self) -> serde_json::Value {
                let params = match self { $(Self::$variant(_, params) => serde_json::to_value(params),)* };
                params.expect("parameters are plain values and always serialise")
            }
            #[cfg(feature = "spec")]
            fn with(&self, values: serde_json::Value) -> Result<Self, String> {
                use alloc::string::ToString;
                match self { $(Self::$variant(id, _) => serde_json::from_value(values)
                    .map(|params| Self::$variant(id, params))
                    .map_err(|e| e.to_string()),)* }
            }
        }

        /// The JSON schema of each preset's parameters.
        #[cfg(feature = "spec")]
        pub fn schemas(generator: &mut schemars::SchemaGenerator)
            -> alloc::vec::Vec<(&'static [&'static str], schemars::Schema)>
        {
            alloc::vec![$((
                <$file::$variant as Scheme>::PRESETS,
                generator.subschema_for::<<$file::$variant as Scheme>::Params>(),
            ),)*]
        }

        /// A scheme in a run. Which one is asked once per call by a match, so that mixed schemes run side by side.
        pub enum Instance { $(
            #[doc = concat!("See [`crate::schemes::", stringify!($file), "`].")]
            $variant(Pool<$file::$variant>),
        )* }

        dispatch! { [$($variant)*]
            /// See [`Pool::add_host`].
            fn add_host(&mut self, nic: &NicInfo);
            /// See [`Pool::add_switch`].
            fn add_switch(&mut self, switch: &SwitchInfo<'_>);
            /// See [`Pool::switch_active`].
            fn switch_active(&self) -> bool;
            /// See [`Pool::switch_watches`].
            fn switch_watches(&self) -> bool;
            /// See [`Pool::shares`].
            fn shares(&self) -> bool;
            /// See [`Pool::actions`].
            fn actions(&self) -> &Actions;
            /// See [`Pool::open`].
            fn open(&mut self, shared: u32, path: &PathInfo, now: Time) -> Opened;
            /// See [`Pool::close`].
            fn close(&mut self, slot: u32, now: Time);
            /// See [`Pool::control`].
            fn control(&mut self, slot: u32, now: Time) -> Control;
            /// See [`Sender::watch`].
            fn watch(&self, slot: u32, see: &mut dyn FnMut(&'static str, f64));
            /// See [`Sender::armed_at`].
            fn armed_at(&self, slot: u32) -> Time;
            /// See [`Sender::hidden_tick`].
            fn hidden_tick(&self, slot: u32, at: Time) -> Time;
            /// See [`Pool::take_shared_changed`].
            fn take_shared_changed(&mut self) -> bool;
            /// See [`Sender::on_send`].
            fn on_send(&mut self, slot: u32, now: Time, sent: &Sent) -> (Control, u32);
            /// See [`Sender::on_ack`].
            fn on_ack(&mut self, slot: u32, now: Time, ack: &Ack<'_>) -> Control;
            /// See [`Sender::on_notice`].
            fn on_notice(&mut self, slot: u32, now: Time, notice: Notice) -> Control;
            /// See [`Sender::on_loss`].
            fn on_loss(&mut self, slot: u32, now: Time, loss: &Loss) -> Control;
            /// See [`Sender::on_timeout`].
            fn on_timeout(&mut self, slot: u32, now: Time, loss: &Loss) -> Control;
            /// See [`Sender::on_idle`].
            fn on_idle(&mut self, slot: u32, now: Time) -> Control;
            /// See [`Sender::on_timer`].
            fn on_timer(&mut self, slot: u32, now: Time) -> Control;
            /// See [`Receiver::on_open`].
            fn receiver_open(&mut self, host: usize, now: Time, flow: &FlowInfo);
            /// See [`Receiver::on_message_start`].
            fn receiver_message_start(&mut self, host: usize, now: Time, message: &MessageStart<'_>);
            /// See [`Receiver::on_message_end`].
            fn receiver_message_end(&mut self, host: usize, now: Time, flow: ReceiverFlow, id: MessageId);
            /// See [`Receiver::watch`].
            fn receiver_watch(&self, host: usize, see: &mut dyn FnMut(&'static str, f64));
            /// See [`Receiver::on_data`].
            fn receiver_data(&mut self, host: usize, now: Time, data: &Data) -> AckPlan;
            /// See [`Receiver::ack_fields`].
            fn receiver_ack_fields(&mut self, host: usize, now: Time, flow: ReceiverFlow) -> AckFields;
            /// See [`Receiver::on_close`].
            fn receiver_close(&mut self, host: usize, now: Time, flow: ReceiverFlow);
            /// See [`Receiver::on_timer`].
            fn receiver_timer(&mut self, host: usize, now: Time, received: u64);
            /// See [`Receiver::poll_transmit`].
            fn receiver_poll(&mut self, host: usize, now: Time) -> Option<Emit>;
            /// See [`Receiver::wake_at`].
            fn receiver_wake_at(&self, host: usize) -> Time;
            /// See [`SwitchProgram::route`].
            fn switch_route(&mut self, switch: usize, now: Time, packet: &mut Header, ingress: u16, minimal: u16,
                            ports: &(impl Ports + ?Sized)) -> u16;
            /// See [`SwitchProgram::on_enqueue`].
            fn switch_enqueue(&mut self, switch: usize, now: Time, port: u16, packet: &mut Header,
                              view: &PortView) -> Verdict;
            /// See [`SwitchProgram::on_dequeue`].
            fn switch_dequeue(&mut self, switch: usize, now: Time, port: u16, packet: &mut Header, view: &PortView);
            /// See [`SwitchProgram::on_timer`].
            fn switch_timer(&mut self, switch: usize, now: Time, ports: &(impl Ports + ?Sized));
            /// See [`SwitchProgram::on_drop`].
            fn switch_drop(&mut self, switch: usize, now: Time, packet: &Header);
            /// See [`SwitchProgram::on_link_down`].
            fn switch_link_down(&mut self, switch: usize, now: Time, port: u16);
            /// See [`SwitchProgram::watch`].
            fn switch_watch(&self, switch: usize, see: &mut dyn FnMut(&'static str, f64));
            /// See [`SwitchProgram::wake_at`].
            fn switch_wake_at(&self, switch: usize) -> Time;
        }
    };
}

/// Writes one forwarding method per line of the list above.
macro_rules! dispatch {
    ([$($variant:ident)*] $($rest:tt)*) => {
        impl Instance { dispatch!(@each [$($variant)*] $($rest)*); }
    };
    (@each $variants:tt $(#[$doc:meta])* fn $name:ident(&mut self $(, $arg:ident : $type:ty)*) $(-> $out:ty)?; $($rest:tt)*) => {
        $(#[$doc])*
        #[inline]
        #[allow(clippy::too_many_arguments)]
        pub fn $name(&mut self $(, $arg: $type)*) $(-> $out)? { dispatch!(@match $variants self $name ($($arg),*)) }
        dispatch!(@each $variants $($rest)*);
    };
    (@each $variants:tt $(#[$doc:meta])* fn $name:ident(&self $(, $arg:ident : $type:ty)*) $(-> $out:ty)?; $($rest:tt)*) => {
        $(#[$doc])*
        #[inline]
        pub fn $name(&self $(, $arg: $type)*) $(-> $out)? { dispatch!(@match $variants self $name ($($arg),*)) }
        dispatch!(@each $variants $($rest)*);
    };
    (@each $variants:tt) => {};
    (@match [$($variant:ident)*] $self:ident $name:ident ($($arg:ident),*)) => {
        each!($self, pool => pool.$name($($arg),*); $($variant)*)
    };
}

/// Why a scheme's parameters were refused.
#[cfg(feature = "spec")]
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SettingsError {
    /// No scheme has this id; the known ones are listed.
    UnknownScheme(alloc::vec::Vec<&'static str>),
    /// The scheme has no such parameter; its own are listed.
    UnknownParameter(String, alloc::vec::Vec<String>),
    /// A parameter's value is wrong.
    Value(String),
}

/// Puts a value in. A table changes only the keys it names, as the parameters of a scheme that another is built on.
#[cfg(feature = "spec")]
fn merge(into: &mut serde_json::Map<String, serde_json::Value>, key: &str, value: &serde_json::Value) {
    match (into.get_mut(key), value) {
        (Some(serde_json::Value::Object(old)), serde_json::Value::Object(new)) => {
            for (key, value) in new {
                merge(old, key, value);
            }
        }
        _ => {
            into.insert(key.into(), value.clone());
        }
    }
}

/// A preset with some of its parameters changed.
///
/// # Errors
/// When the scheme or a parameter is unknown, or a value is no value of its parameter or impossible.
#[cfg(feature = "spec")]
pub fn settings(id: &str, overrides: &serde_json::Map<String, serde_json::Value>) -> Result<Settings, SettingsError> {
    use alloc::string::ToString;
    let Some(preset) = Settings::preset(id) else {
        return Err(SettingsError::UnknownScheme(rows().iter().flat_map(|r| r.presets.iter().copied()).collect()));
    };
    let mut values = preset.to_json();
    if let Some(known) = values.as_object_mut() {
        for (key, value) in overrides {
            if !known.contains_key(key) {
                return Err(SettingsError::UnknownParameter(key.clone(), known.keys().cloned().collect()));
            }
            merge(known, key, value);
        }
    }
    let settings = preset.with(values).map_err(SettingsError::Value)?;
    settings.check().map_err(|e| SettingsError::Value(e.to_string()))?;
    Ok(settings)
}

schemes! {
    none::None,
    fixed_window::FixedWindow,
    dcqcn::Dcqcn,
    dcqcn_vendor::DcqcnVendor,
    newreno::NewReno,
    dctcp::Dctcp,
    dctcp_rate::DctcpRate,
    dart::Dart,
    hpcc::Hpcc,
    hpcc_ns3::HpccNs3,
    dcqcn_ns3::DcqcnNs3,
    timely_ns3::TimelyNs3,
    dctcp_ns3::DctcpNs3,
}
