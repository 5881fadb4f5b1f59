//! Schemes whose roles are Python classes, load balancing of switches and of senders, and queue disciplines: the
//! classes they derive from, and what calls their hooks.
//!
//! A role is a Python object whose numbers (window, rate, time of the next timer) are fields here, so reading them
//! calls no Python. A hook that a class does not define is never called.

mod args;
mod calls;
mod check;
mod described;
mod hooks;
mod network;
mod paths;
mod program;
mod receiver;
mod sender;
mod switch;

pub use program::load_class;

use pyo3::prelude::*;

/// Adds the classes to the native module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<sender::Sender>()?;
    module.add_class::<receiver::Receiver>()?;
    module.add_class::<switch::SwitchProgram>()?;
    module.add_class::<network::Balancer>()?;
    module.add_class::<paths::PathSelector>()?;
    module.add_class::<network::Discipline>()?;
    module.add_class::<args::Choice>()?;
    module.add_class::<args::PathInfo>()?;
    module.add_class::<args::NicInfo>()?;
    module.add_class::<args::SelectorInfo>()?;
    module.add_class::<args::Feedback>()?;
    module.add_class::<args::SwitchInfo>()?;
    module.add_class::<args::Sent>()?;
    module.add_class::<args::Ack>()?;
    module.add_class::<args::IntHop>()?;
    module.add_class::<args::Loss>()?;
    module.add_class::<args::Trim>()?;
    module.add_class::<args::Notice>()?;
    module.add_class::<args::FlowInfo>()?;
    module.add_class::<args::MessageStart>()?;
    module.add_class::<args::Data>()?;
    module.add_class::<args::AckFields>()?;
    module.add_class::<args::Packet>()?;
    module.add_class::<args::PortView>()?;
    module.add_class::<args::Queued>()?;
    module.add_class::<args::Verdict>()?;
    module.add_function(wrap_pyfunction!(load_class, module)?)?;
    module.add_function(wrap_pyfunction!(network::load_policy, module)?)?;
    module.add_function(wrap_pyfunction!(check::check_scheme, module)?)?;
    module.add_function(wrap_pyfunction!(check::check_policy, module)?)?;
    module.add_function(wrap_pyfunction!(check::parameters_of, module)?)?;
    Ok(())
}
