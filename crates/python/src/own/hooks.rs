//! What the lists of hooks (`fanin_cc::sender_hooks` and its like) become in Python: the bits and names of hooks, the
//! arguments that a function gets, and the meaning of what it returns.

use super::args;
use super::calls::returned;
use fanin_cc::{self as cc, ReceiverFlow};
use fanin_units::MessageId;
use pyo3::prelude::*;

/// The hooks of a role by bit, in `hook`, and by name, in `HOOKS`: `$more` and those of its list.
macro_rules! hooks {
    (
        $($more:ident)* [$($context:ident),*]
        $($(#[doc = $doc:tt])* fn $name:ident $args:tt -> $out:ty $or:block)*
    ) => {
        /// The bits of hooks.
        #[allow(non_upper_case_globals, non_camel_case_types, dead_code, reason = "they are called as the hooks")]
        pub mod hook {
            enum Bit { $($more,)* $($name,)* }
            $(pub const $more: usize = Bit::$more as usize;)*
            $(pub const $name: usize = Bit::$name as usize;)*
        }
        /// The names of hooks, by bit.
        pub const HOOKS: &[&str] = &[$(stringify!($more),)* $(stringify!($name),)*];
    };
}
pub(super) use hooks;

/// An argument of a hook.
pub trait Argument {
    /// As Python gets it.
    fn give(self, py: Python<'_>) -> PyResult<Py<PyAny>>;
}

/// Arguments that become objects of a class, or numbers.
macro_rules! arguments {
    ($($type:ty: $value:ident, $py:ident => $given:expr;)*) => { $(
        impl Argument for $type {
            fn give(self, $py: Python<'_>) -> PyResult<Py<PyAny>> {
                let $value = self;
                Ok($given.into_pyobject($py)?.into_any().unbind())
            }
        }
    )* };
}

arguments! {
    &cc::Sent: sent, py => args::Sent::from(sent);
    &cc::Ack<'_>: ack, py => args::Ack::from(ack);
    cc::Notice: notice, py => args::Notice::from(notice);
    &cc::Loss: loss, py => args::Loss::from(loss);
    &cc::Trim: trim, py => args::Trim::from(trim);
    &cc::FlowInfo: flow, py => args::FlowInfo::from(flow);
    &cc::MessageStart<'_>: message, py => args::MessageStart::from(message);
    &cc::Data: data, py => args::Data::from(data);
    &cc::Header: packet, py => args::Packet { head: *packet };
    &dyn cc::Ports: ports, py => views(py, ports)?;
    ReceiverFlow: flow, py => flow.0;
    MessageId: id, py => id.0;
    u16: number, py => number;
    u64: number, py => number;
}

fn views<'py>(py: Python<'py>, ports: &dyn cc::Ports) -> PyResult<Bound<'py, pyo3::types::PyList>> {
    let views = (0..ports.count()).map(|port| Py::new(py, args::PortView::from(&ports.view(port))));
    pyo3::types::PyList::new(py, views.collect::<PyResult<Vec<_>>>()?)
}

/// The answer of a hook, by default that of one that has failed.
pub trait Answer: Default {
    /// What the value means that the hook returned.
    fn of(value: &Bound<'_, PyAny>) -> PyResult<Self>;
}

impl Answer for () {
    fn of(_: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(())
    }
}

impl Answer for Option<u32> {
    fn of(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if value.is_none() {
            return Ok(None);
        }
        returned(value, "a whole number from 0 to 2^32 - 1, or None").map(Some)
    }
}

impl Answer for u32 {
    fn of(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Option::of(value)?.unwrap_or(0))
    }
}

impl Answer for Option<cc::AckFields> {
    fn of(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(returned::<Option<args::AckFields>>(value, "fanin.AckFields or None")?.map(|fields| fields.0))
    }
}

impl Answer for cc::AckFields {
    fn of(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Option::of(value)?.unwrap_or_default())
    }
}

/// Fields of an ACK that covers the packet, or a pair of those for what came before and of these; `None` for no ACK.
impl Answer for cc::AckPlan {
    fn of(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok((before, now)) = value.extract::<(Option<args::AckFields>, Option<args::AckFields>)>() {
            return Ok(Self { before: before.map(|fields| fields.0), now: now.map(|fields| fields.0) });
        }
        let now: Option<args::AckFields> = returned(value, "fanin.AckFields, None, or a pair of those")?;
        Ok(Self { before: None, now: now.map(|fields| fields.0) })
    }
}
