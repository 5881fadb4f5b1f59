//! Load balancing and queue disciplines as Python objects, one per switch.

use super::args;
use super::calls::{Caller, Hooks, returned};
use super::described::{Described, Given};
use super::paths::PathSelector;
use fanin_cc::own::Failure;
use fanin_cc::{BalancerProgram, Choice, DisciplineProgram, Header, OwnBalancing, Queued, SwitchInfo, Verdict, flags};
use fanin_experiment::loaded::{self, Kind, Loaded};
use fanin_units::Time;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyType};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// The base class of policies of load balancing.
#[pyclass(subclass, module = "fanin")]
#[derive(Default)]
pub struct Balancer {
    now: Time,
    params: Option<Py<PyAny>>,
}

#[pymethods]
impl Balancer {
    /// The name by which specs select it; by default that of the class.
    #[classattr]
    fn id() -> &'static str {
        ""
    }
    /// A dataclass of its parameters.
    #[classattr]
    #[pyo3(name = "Params")]
    fn params_class() -> Option<Py<PyAny>> {
        None
    }
    #[new]
    fn new() -> Self {
        Self::default()
    }
    /// Now.
    #[getter]
    fn now(&self) -> u64 {
        self.now.as_ps()
    }
    /// The parameters of the spec.
    #[getter]
    fn params(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.params.as_ref().map(|params| params.clone_ref(py))
    }
    /// The switch comes up.
    fn open(&self, switch: &Bound<'_, PyAny>) {
        let _ = switch;
    }
    /// The index in `choices` of the port that a packet takes.
    fn choose(&self, packet: &Bound<'_, PyAny>, hash: u32, choices: &Bound<'_, PyAny>) -> usize {
        let _ = (packet, hash, choices);
        0
    }
}

/// The base class of queue disciplines.
#[pyclass(subclass, module = "fanin")]
#[derive(Default)]
pub struct Discipline {
    now: Time,
    params: Option<Py<PyAny>>,
}

#[pymethods]
impl Discipline {
    /// The name by which specs select it; by default that of the class.
    #[classattr]
    fn id() -> &'static str {
        ""
    }
    /// A dataclass of its parameters.
    #[classattr]
    #[pyo3(name = "Params")]
    fn params_class() -> Option<Py<PyAny>> {
        None
    }
    #[new]
    fn new() -> Self {
        Self::default()
    }
    /// Now.
    #[getter]
    fn now(&self) -> u64 {
        self.now.as_ps()
    }
    /// The parameters of the spec.
    #[getter]
    fn params(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.params.as_ref().map(|params| params.clone_ref(py))
    }
    /// The switch comes up.
    fn open(&self, switch: &Bound<'_, PyAny>) {
        let _ = switch;
    }
    /// A packet is about to join a queue.
    fn on_enqueue(&self, queued: &Bound<'_, PyAny>) {
        let _ = queued;
    }
    /// A packet leaves a queue.
    fn on_dequeue(&self, queued: &Bound<'_, PyAny>) {
        let _ = queued;
    }
}

const OPEN: usize = 0;
const CHOOSE: usize = 1;
const BALANCER: &[&str] = &["open", "choose"];
const ON_ENQUEUE: usize = 1;
const ON_DEQUEUE: usize = 2;
const DISCIPLINE: &[&str] = &["open", "on_enqueue", "on_dequeue"];

/// The base class of a kind of policy.
trait Base: pyo3::PyClass {
    /// Its hooks, by bit.
    const HOOKS: &'static [&'static str];
    fn set_params(&mut self, params: Py<PyAny>);
}

impl Base for Balancer {
    const HOOKS: &'static [&'static str] = BALANCER;
    fn set_params(&mut self, params: Py<PyAny>) {
        self.params = Some(params);
    }
}

impl Base for Discipline {
    const HOOKS: &'static [&'static str] = DISCIPLINE;
    fn set_params(&mut self, params: Py<PyAny>) {
        self.params = Some(params);
    }
}

/// A class with its parameters, which makes an object per switch.
struct Maker<B> {
    class: Py<PyAny>,
    params: Py<PyAny>,
    caller: Caller,
    base: PhantomData<fn() -> B>,
}

impl<B> fmt::Debug for Maker<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.caller.class)
    }
}

/// The object of one switch.
struct Program<B> {
    caller: Caller,
    object: Option<Py<B>>,
    hook_names: Vec<Py<PyString>>,
    node: u32,
    /// See [`SwitchInfo::numbered_paths`].
    numbered_paths: bool,
}

impl<B: Base<Frozen = pyo3::pyclass::boolean_struct::False>> Maker<B> {
    fn program(&self, switch: &SwitchInfo<'_>) -> Program<B> {
        Python::attach(|py| {
            let hook_names = B::HOOKS.iter().map(|name| PyString::intern(py, name).unbind()).collect();
            let (caller, node, numbered_paths) = (self.caller.clone(), switch.node.0, switch.numbered_paths);
            let mut program = Program { caller, object: None, hook_names, node, numbered_paths };
            let made = self.class.bind(py).call0().and_then(|object| {
                let object = object.cast_into::<B>()?;
                object.borrow_mut().set_params(self.params.clone_ref(py));
                if program.caller.wants(OPEN) {
                    let info = Py::new(py, args::SwitchInfo::new(py, switch)?)?;
                    object.as_any().call_method1(B::HOOKS[OPEN], (info,))?;
                }
                Ok(object.unbind())
            });
            match made {
                Ok(object) => program.object = Some(object),
                Err(error) => program.fail(py, OPEN, Time::ZERO, &error),
            }
            program
        })
    }
}

impl<B> Program<B> {
    fn fail(&mut self, py: Python<'_>, hook: usize, at: Time, error: &PyErr) {
        self.caller.fail(py, hook, &format!("switch {}", self.node), at, error);
    }
}

impl BalancerProgram for Maker<Balancer> {
    fn build(&self, switch: &SwitchInfo<'_>) -> Box<dyn fanin_cc::Balancer> {
        Box::new(self.program(switch))
    }
    fn interpreted(&self) -> bool {
        true
    }
    fn failure(&self) -> Option<Failure> {
        self.caller.faults.first()
    }
}

impl DisciplineProgram for Maker<Discipline> {
    fn build(&self, switch: &SwitchInfo<'_>) -> Box<dyn fanin_cc::Discipline> {
        Box::new(self.program(switch))
    }
    fn interpreted(&self) -> bool {
        true
    }
    fn failure(&self) -> Option<Failure> {
        self.caller.faults.first()
    }
}

impl fanin_cc::Balancer for Program<Balancer> {
    fn choose(&mut self, now: Time, packet: &Header, hash: u32, choices: &[Choice]) -> usize {
        if !self.caller.wants(CHOOSE) {
            return 0;
        }
        Python::attach(|py| {
            let Some(object) = &self.object else { return 0 };
            let object = object.bind(py);
            object.borrow_mut().now = now;
            let chosen = (|| {
                let all = choices.iter().map(|choice| Py::new(py, args::Choice::from(choice)));
                let all = PyList::new(py, all.collect::<PyResult<Vec<_>>>()?)?;
                let packet = Py::new(py, args::Packet { head: *packet })?;
                let chosen = object.call_method1(self.hook_names[CHOOSE].bind(py), (packet, hash, all))?;
                let chosen: usize = returned(&chosen, "an index in choices")?;
                if chosen >= choices.len() {
                    let said = format!("it chose {chosen} of {} ports: they are numbered from 0", choices.len());
                    return Err(PyValueError::new_err(said));
                }
                Ok(chosen)
            })();
            chosen.unwrap_or_else(|error| {
                self.fail(py, CHOOSE, now, &error);
                0
            })
        })
    }
}

impl Program<Discipline> {
    fn verdict(&mut self, hook: usize, now: Time, queued: &mut Queued<'_>) -> Verdict {
        if !self.caller.wants(hook) {
            return Verdict::Admit;
        }
        Python::attach(|py| {
            let Some(object) = &self.object else { return Verdict::Admit };
            let object = object.bind(py);
            object.borrow_mut().now = now;
            let verdict = super::switch::at_queue(py, queued).and_then(|(whole, copy)| {
                let verdict = object.call_method1(self.hook_names[hook].bind(py), (whole,))?;
                let verdict: Option<args::Verdict> = returned(&verdict, args::VERDICTS)?;
                args::write_back(&copy.borrow(py), queued.packet, self.numbered_paths)?;
                Ok(verdict)
            });
            match verdict {
                Ok(verdict) => verdict.map_or(Verdict::Admit, Into::into),
                Err(error) => {
                    self.fail(py, hook, now, &error);
                    Verdict::Admit
                }
            }
        })
    }
}

impl fanin_cc::Discipline for Program<Discipline> {
    fn on_enqueue(&mut self, now: Time, queued: &mut Queued<'_>) -> Verdict {
        self.verdict(ON_ENQUEUE, now, queued)
    }
    fn on_dequeue(&mut self, now: Time, queued: &mut Queued<'_>) -> bool {
        let can = queued.packet.has(flags::ECT);
        match self.verdict(ON_DEQUEUE, now, queued) {
            Verdict::Admit => false,
            Verdict::Mark => can,
            Verdict::Drop | Verdict::Trim => {
                let said = "a packet that leaves its queue cannot be dropped or trimmed any more";
                Python::attach(|py| self.fail(py, ON_DEQUEUE, now, &PyValueError::new_err(said)));
                false
            }
        }
    }
}

/// Makes a subclass of `fanin.Balancer`, `fanin.PathSelector` or `fanin.Discipline` known by its id. `facts` and
/// `parameters` are as those of a scheme.
#[pyfunction]
pub fn load_policy(policy: &Bound<'_, PyType>, facts: &Bound<'_, PyDict>, parameters: Py<PyAny>) -> PyResult<()> {
    let described = Described::of(facts, parameters)?;
    if policy.is_subclass_of::<Balancer>()? {
        let maker = maker::<Balancer>(policy)?;
        load(described.loaded(move |made| Arc::new(OwnBalancing::Switches(Arc::new(maker(made))))))
    } else if policy.is_subclass_of::<PathSelector>()? {
        load(super::paths::described(policy, described)?)
    } else {
        let maker = maker::<Discipline>(policy)?;
        load(described.loaded(move |made| Arc::new(maker(made)) as Arc<dyn DisciplineProgram>))
    }
}

fn load<P: Kind + ?Sized>(loaded: Loaded<P>) -> PyResult<()> {
    loaded::load(loaded).map_err(PyValueError::new_err)
}

/// What makes a class with its parameters.
fn maker<B: Base>(class: &Bound<'_, PyType>) -> PyResult<impl Fn(Given) -> Maker<B> + Send + Sync + 'static> {
    let hooks = Hooks::of(class, &class.py().get_type::<B>(), B::HOOKS)?;
    let (name, class): (Arc<str>, _) = (class.qualname()?.to_string().into(), class.clone().into_any().unbind());
    Ok(move |given: Given| Maker {
        class: Python::attach(|py| class.clone_ref(py)),
        params: given.params,
        caller: Caller { class: name.clone(), hooks: hooks.clone(), faults: Arc::default() },
        base: PhantomData,
    })
}
