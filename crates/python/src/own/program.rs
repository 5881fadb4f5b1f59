//! A scheme that is a Python class.

use super::calls::{Caller, Faults, Hooks};
use super::described::{Described, Given, fact};
use super::{receiver, sender, switch};
use fanin_cc::own::{About, Failure, OwnReceiver, OwnSender, OwnSwitch, Params, Program, Shared};
use fanin_cc::{
    CreditQueue, Cx, HeaderOverhead, NicInfo, NoReceiver, NoSwitch, PathInfo, Sharing, SwitchInfo, Transport,
};
use fanin_experiment::loaded;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use std::fmt;
use std::sync::Arc;

/// One role: its class and the hooks that it defines.
struct Role {
    class: Py<PyAny>,
    caller: Caller,
}

impl Role {
    /// The role of a scheme's class by this name, if it has one.
    fn of<B: pyo3::PyTypeInfo>(
        scheme: &Bound<'_, PyAny>,
        name: &str,
        hooks: &'static [&'static str],
    ) -> PyResult<Kind> {
        let class = scheme.getattr(name)?;
        if class.is_none() {
            return Ok(None);
        }
        let base = scheme.py().get_type::<B>();
        let class = class.cast_into::<PyType>()?;
        if !class.is_subclass(&base)? {
            let said = format!("{name} = {}: it derives from fanin.{}", class.qualname()?, base.name()?);
            return Err(PyValueError::new_err(said));
        }
        let hooks = Hooks::of(&class, &base, hooks)?;
        Ok(Some((class.clone().into_any().unbind(), class.qualname()?.to_string().into(), hooks)))
    }

    fn with(of: &Kind, py: Python<'_>, faults: &Arc<Faults>) -> Option<Self> {
        let (class, name, hooks) = of.as_ref()?;
        let caller = Caller { class: name.clone(), hooks: hooks.clone(), faults: faults.clone() };
        Some(Self { class: class.clone_ref(py), caller })
    }
}

type Kind = Option<(Py<PyAny>, Arc<str>, Hooks)>;

/// A class with its parameters.
struct PythonScheme {
    about: About,
    text: String,
    params: Py<PyAny>,
    sender: Option<Role>,
    receiver: Option<Role>,
    switch: Option<Role>,
    faults: Arc<Faults>,
}

impl fmt::Debug for PythonScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.about.id, self.text)
    }
}

impl Program for PythonScheme {
    fn about(&self) -> &About {
        &self.about
    }
    fn parameters(&self) -> String {
        self.text.clone()
    }
    fn sender(&self, path: &PathInfo, cx: &mut Cx<'_, Params, Shared>) -> Box<OwnSender> {
        let role = self.sender.as_ref().expect("a class without a sender is refused when it is loaded");
        Box::new(sender::Calls::open(&role.caller, &role.class, &self.params, path, cx))
    }
    fn receiver(&self, nic: &NicInfo) -> Box<OwnReceiver> {
        match &self.receiver {
            Some(role) => {
                let credits = self.about.credits.is_some();
                Box::new(receiver::Calls::open(&role.caller, &role.class, &self.params, nic, credits))
            }
            None => Box::new(NoReceiver::<Params>::none()),
        }
    }
    fn switch(&self, info: &SwitchInfo<'_>) -> Box<OwnSwitch> {
        match &self.switch {
            Some(role) => Box::new(switch::Calls::open(&role.caller, &role.class, &self.params, info)),
            None => Box::new(NoSwitch::<Params>::none()),
        }
    }
    fn interpreted(&self) -> bool {
        true
    }
    fn failure(&self) -> Option<Failure> {
        self.faults.first()
    }
}

/// Makes a subclass of `fanin.Scheme` known by its id. `facts` has what `Scheme._facts` says; `parameters` makes an
/// object of its parameters from JSON text.
#[pyfunction]
pub fn load_class(scheme: &Bound<'_, PyAny>, facts: &Bound<'_, PyDict>, parameters: Py<PyAny>) -> PyResult<()> {
    let wrong = |said: String| PyValueError::new_err(said);
    let fact = |name: &str| fact(facts, name);
    let yes = |name: &str| fact(name)?.extract::<bool>();
    let described = Described::of(facts, parameters)?;
    let sender = Role::of::<sender::Sender>(scheme, "Sender", sender::HOOKS)?;
    let receiver = Role::of::<receiver::Receiver>(scheme, "Receiver", receiver::HOOKS)?;
    let switch = Role::of::<switch::SwitchProgram>(scheme, "Switch", switch::HOOKS)?;
    if sender.is_none() {
        return Err(wrong("it has no Sender: write one that derives from fanin.Sender".to_string()));
    }
    let transport: String = fact("transport")?.extract()?;
    let sharing: String = fact("sharing")?.extract()?;
    let credits: Option<(u32, u32, u32)> = fact("credits")?.extract()?;
    let about = About {
        transport: match &*transport {
            "rdma" => Transport::Rdma,
            "tcp" => Transport::Tcp,
            other => return Err(wrong(format!("transport = \"{other}\": it is \"rdma\" or \"tcp\""))),
        },
        wants_ecn: yes("wants_ecn")?,
        needs_marks: yes("needs_marks")?,
        sharing: match &*sharing {
            "nothing" => Sharing::Nothing,
            "pair" => Sharing::Pair,
            "host" => Sharing::Host,
            other => {
                return Err(wrong(format!("sharing = \"{other}\": it is \"nothing\", \"pair\" or \"host\"")));
            }
        },
        overhead: HeaderOverhead {
            data: fact("header_data")?.extract()?,
            ack: fact("header_ack")?.extract()?,
            telemetry: yes("telemetry")?,
        },
        acks_once_per_rtt: yes("acks_once_per_rtt")?,
        credits: credits.map(|(credit, burst, limit)| CreditQueue { credit, burst, limit }),
        holds_acks: yes("holds_acks")?,
        switch: switch.is_some(),
        watches: switch
            .as_ref()
            .is_some_and(|(_, _, hooks)| hooks.has(switch::hook::on_enqueue) || hooks.has(switch::hook::on_dequeue)),
        ..About::new(described.id)
    };
    let make = move |given: Given| {
        let faults = Arc::new(Faults::default());
        Python::attach(|py| {
            Arc::new(PythonScheme {
                about: about.clone(),
                text: given.text,
                params: given.params,
                sender: Role::with(&sender, py, &faults),
                receiver: Role::with(&receiver, py, &faults),
                switch: Role::with(&switch, py, &faults),
                faults,
            }) as Arc<dyn Program>
        })
    };
    loaded::load(described.loaded(make)).map_err(PyValueError::new_err)
}
