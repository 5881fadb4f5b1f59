//! Load balancing and queue disciplines as Python objects, one per switch.

use super::args;
use super::calls::{Caller, Faults, Hooks};
use fanin_cc::own::Failure;
use fanin_cc::{BalancerProgram, Choice, DisciplineProgram, Header, Queued, SwitchInfo, Verdict, flags};
use fanin_experiment::Programs;
use fanin_units::Time;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use std::fmt;
use std::sync::Arc;

/// The base class of policies of load balancing.
#[pyclass(subclass, module = "fanin")]
#[derive(Default)]
pub struct Balancer {
    now: Time,
}

#[pymethods]
impl Balancer {
    #[new]
    fn new() -> Self {
        Self::default()
    }
    /// Now.
    #[getter]
    fn now(&self) -> u64 {
        self.now.as_ps()
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
}

#[pymethods]
impl Discipline {
    #[new]
    fn new() -> Self {
        Self::default()
    }
    /// Now.
    #[getter]
    fn now(&self) -> u64 {
        self.now.as_ps()
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

/// What makes an object per switch: a class, or anything that can be called without arguments.
struct Maker {
    make: Py<PyAny>,
    hooks: &'static [&'static str],
    faults: Arc<Faults>,
}

impl fmt::Debug for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.hooks[1])
    }
}

/// The object of one switch.
struct Program<B> {
    caller: Caller,
    object: Option<Py<B>>,
    hook_names: Vec<Py<PyString>>,
    node: u32,
}

impl Maker {
    fn program<B: pyo3::PyClass>(&self, switch: &SwitchInfo<'_>) -> Program<B> {
        Python::attach(|py| {
            let hook_names = self.hooks.iter().map(|name| PyString::intern(py, name).unbind()).collect();
            let caller = Caller {
                class: py.get_type::<B>().to_string().into(),
                hooks: Hooks::default(),
                faults: self.faults.clone(),
            };
            let mut program = Program { caller, object: None, hook_names, node: switch.node.0 };
            let made = self.make.bind(py).call0().and_then(|object| {
                let class = object.get_type();
                program.caller.class = class.qualname()?.to_string().into();
                program.caller.hooks = Hooks::of(&class, &py.get_type::<B>(), self.hooks)?;
                let object = object.cast_into::<B>().map_err(|_| {
                    let base = py.get_type::<B>().name().map_or_else(|_| String::new(), |name| name.to_string());
                    PyTypeError::new_err(format!("it derives from fanin.{base}"))
                })?;
                if program.caller.wants(OPEN) {
                    let info = Py::new(py, args::SwitchInfo::new(py, switch)?)?;
                    object.as_any().call_method1(self.hooks[OPEN], (info,))?;
                }
                Ok(object.unbind())
            });
            match made {
                Ok(object) => program.object = Some(object),
                Err(error) => program.fail(py, self.hooks[OPEN], Time::ZERO, error),
            }
            program
        })
    }
}

impl<B> Program<B> {
    fn fail(&self, py: Python<'_>, hook: &str, at: Time, error: PyErr) {
        self.caller.fail(py, hook, &format!("switch {}", self.node), at, error);
    }
}

impl BalancerProgram for Maker {
    fn build(&self, switch: &SwitchInfo<'_>) -> Box<dyn fanin_cc::Balancer> {
        Box::new(self.program::<Balancer>(switch))
    }
    fn interpreted(&self) -> bool {
        true
    }
    fn failure(&self) -> Option<Failure> {
        self.faults.first()
    }
}

impl DisciplineProgram for Maker {
    fn build(&self, switch: &SwitchInfo<'_>) -> Box<dyn fanin_cc::Discipline> {
        Box::new(self.program::<Discipline>(switch))
    }
    fn interpreted(&self) -> bool {
        true
    }
    fn failure(&self) -> Option<Failure> {
        self.faults.first()
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
                let chosen: usize =
                    object.call_method1(self.hook_names[CHOOSE].bind(py), (packet, hash, all))?.extract()?;
                if chosen >= choices.len() {
                    let said = format!("it chose {chosen} of {} ports: they are numbered from 0", choices.len());
                    return Err(PyValueError::new_err(said));
                }
                Ok(chosen)
            })();
            chosen.unwrap_or_else(|error| {
                self.fail(py, BALANCER[CHOOSE], now, error);
                0
            })
        })
    }
}

impl Program<Discipline> {
    fn verdict(&self, hook: usize, now: Time, queued: &mut Queued<'_>) -> Verdict {
        if !self.caller.wants(hook) {
            return Verdict::Admit;
        }
        Python::attach(|py| {
            let Some(object) = &self.object else { return Verdict::Admit };
            let object = object.bind(py);
            object.borrow_mut().now = now;
            let verdict = super::switch::at_queue(py, queued).and_then(|(whole, copy)| {
                let verdict: Option<args::Verdict> =
                    object.call_method1(self.hook_names[hook].bind(py), (whole,))?.extract()?;
                queued.packet.cc_feedback = copy.borrow(py).head.cc_feedback;
                Ok(verdict)
            });
            match verdict {
                Ok(verdict) => verdict.map_or(Verdict::Admit, Into::into),
                Err(error) => {
                    self.fail(py, DISCIPLINE[hook], now, error);
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
            Verdict::Drop => {
                let said = "a packet that leaves its queue cannot be dropped any more";
                Python::attach(|py| self.fail(py, DISCIPLINE[ON_DEQUEUE], now, PyValueError::new_err(said)));
                false
            }
        }
    }
}

/// Load balancing that `make` makes for each switch.
pub fn balancer(make: Py<PyAny>) -> Arc<dyn BalancerProgram> {
    Arc::new(Maker { make, hooks: BALANCER, faults: Arc::default() })
}

/// A queue discipline that `make` makes for each switch.
pub fn discipline(make: Py<PyAny>) -> Arc<dyn DisciplineProgram> {
    Arc::new(Maker { make, hooks: DISCIPLINE, faults: Arc::default() })
}

/// The programs of a run: what makes an object per switch, or nothing.
pub fn programs(balancing: Option<Py<PyAny>>, made_discipline: Option<Py<PyAny>>) -> Programs {
    Programs { balancer: balancing.map(balancer), discipline: made_discipline.map(discipline) }
}
