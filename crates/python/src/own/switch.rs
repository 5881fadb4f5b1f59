//! Programs of switches as Python objects.

use super::args;
use super::calls::{Caller, Counted, later, returned};
use super::hooks::{Argument, hooks};
use super::sender::watch;
use fanin_cc::own::Params;
use fanin_cc::{Cx, Header, Ports, Queued, SwitchInfo, Verdict, switch_hooks};
use fanin_units::Time;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

/// The base class of programs of switches.
#[pyclass(subclass, module = "fanin")]
pub struct SwitchProgram {
    wake_at: Time,
    now: Time,
    params: Option<Py<PyAny>>,
    counted: Counted,
}

/// The class of the list of its hooks, and of what else it has.
macro_rules! class {
    (
        [$this:ident, $cx:ident]
        $($(#[doc = $doc:tt])* fn $name:ident($($arg:ident: $type:ty),*) -> $out:ty $or:block)*
    ) => {
        #[pymethods]
        impl SwitchProgram {
            #[new]
            fn new() -> Self {
                Self { wake_at: Time::NEVER, now: Time::ZERO, params: None, counted: Counted::default() }
            }
            /// The time to call `on_timer`, or `None`.
            #[getter]
            fn wake_at(&self) -> Option<u64> {
                args::time(self.wake_at)
            }
            #[setter]
            fn set_wake_at(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
                self.wake_at = later(value, self.now)?;
                Ok(())
            }
            /// Now.
            #[getter]
            fn now(&self) -> u64 {
                self.now.as_ps()
            }
            /// The scheme's parameters.
            #[getter]
            fn params(&self, py: Python<'_>) -> Option<Py<PyAny>> {
                self.params.as_ref().map(|params| params.clone_ref(py))
            }
            /// Counts an action by its name in results.
            #[pyo3(signature = (action, times=1))]
            fn count(&mut self, action: &Bound<'_, PyString>, times: u64) -> PyResult<()> {
                self.counted.count(action, times)
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
            /// The port where a data packet of this scheme leaves.
            fn route(&self, packet: &Bound<'_, PyAny>, ingress: u16, minimal: u16, ports: &Bound<'_, PyAny>) -> u16 {
                let _ = (packet, ingress, ports);
                minimal
            }
            /// Internal state by name.
            fn watch<'py>(&self, py: Python<'py>) -> Bound<'py, PyDict> {
                PyDict::new(py)
            }
            $(
                $(#[doc = $doc])*
                fn $name(&$this, $($arg: &Bound<'_, PyAny>),*) {
                    let _ = ($($arg,)*);
                }
            )*
        }
    };
}
switch_hooks!(class);
switch_hooks!(hooks, open route on_enqueue on_dequeue watch);

/// What calls a program's hooks.
pub struct Calls {
    caller: Caller,
    object: Option<Py<SwitchProgram>>,
    node: u32,
    /// See [`SwitchInfo::numbered_paths`].
    numbered_paths: bool,
    wake_at: Time,
}

impl Calls {
    /// A switch comes up: makes an object of `class`.
    pub fn open(caller: &Caller, class: &Py<PyAny>, params: &Py<PyAny>, switch: &SwitchInfo<'_>) -> Self {
        Python::attach(|py| {
            let (node, numbered_paths) = (switch.node.0, switch.numbered_paths);
            let (caller, wake_at) = (caller.clone(), Time::NEVER);
            let mut calls = Self { caller, object: None, node, numbered_paths, wake_at };
            let made = class.bind(py).call0().and_then(|object| Ok(object.cast_into::<SwitchProgram>()?));
            let opened = made.and_then(|object| {
                object.borrow_mut().params = Some(params.clone_ref(py));
                if calls.caller.wants(hook::open) {
                    object.call_method1(HOOKS[hook::open], (Py::new(py, args::SwitchInfo::new(py, switch)?)?,))?;
                }
                calls.wake_at = object.borrow().wake_at;
                Ok(object)
            });
            match opened {
                Ok(object) => calls.object = Some(object.unbind()),
                Err(error) => calls.fail(py, hook::open, Time::ZERO, error),
            }
            calls
        })
    }

    fn fail(&mut self, py: Python<'_>, hook: usize, now: Time, error: PyErr) {
        self.caller.fail(py, hook, &format!("switch {}", self.node), now, &error);
        self.wake_at = Time::NEVER;
    }

    /// Calls a hook; `act` makes the arguments, makes the call by the function that it is given, and reads the result.
    fn call<T>(
        &mut self,
        hook: usize,
        cx: &mut Cx<'_, Params>,
        act: impl FnOnce(Python<'_>, &dyn Fn(Vec<Py<PyAny>>) -> PyResult<Py<PyAny>>) -> PyResult<T>,
    ) -> Option<T> {
        if !self.caller.wants(hook) {
            return None;
        }
        Python::attach(|py| {
            let object = self.object.as_ref()?.clone_ref(py).into_bound(py);
            {
                let mut program = object.borrow_mut();
                program.now = cx.now;
                if hook == hook::on_timer {
                    program.wake_at = Time::NEVER;
                }
            }
            let call = |arguments: Vec<Py<PyAny>>| {
                let arguments = pyo3::types::PyTuple::new(py, arguments)?;
                Ok(object.call_method1(PyString::intern(py, HOOKS[hook]), arguments)?.unbind())
            };
            let called = act(py, &call);
            let mut program = object.borrow_mut();
            program.counted.take(cx.actions);
            self.wake_at = program.wake_at;
            drop(program);
            called.map_err(|error| self.fail(py, hook, cx.now, error)).ok()
        })
    }
}

/// A packet at a queue in Python, and the packet in it.
pub fn at_queue(py: Python<'_>, queued: &Queued<'_>) -> PyResult<(Py<PyAny>, Py<args::Packet>)> {
    let packet = Py::new(py, args::Packet { head: *queued.packet })?;
    let view = Py::new(py, args::PortView::from(&queued.view))?;
    let whole = args::Queued { port: queued.port, view, packet: packet.clone_ref(py), own: queued.own };
    Ok((Py::new(py, whole)?.into_any(), packet))
}

/// The calls of the list of hooks, and what else a program of a switch does.
macro_rules! calls {
    (
        [$this:ident, $cx:ident]
        $($(#[doc = $doc:tt])* fn $name:ident($($arg:ident: $type:ty),*) -> $out:ty $or:block)*
    ) => {
        impl fanin_cc::SwitchProgram for Calls {
            type Params = Params;

            fn new(_: &Params, _: &SwitchInfo<'_>) -> Self {
                unreachable!("the program makes it")
            }
            fn route(
                &mut self,
                packet: &mut Header,
                ingress: u16,
                minimal: u16,
                ports: &dyn Ports,
                cx: &mut Cx<'_, Params>,
            ) -> u16 {
                let (count, numbered) = (ports.count(), self.numbered_paths);
                let chosen = self.call(hook::route, cx, |py, call| {
                    let copy = Py::new(py, args::Packet { head: *packet })?;
                    let arguments =
                        vec![copy.clone_ref(py).into_any(), ingress.give(py)?, minimal.give(py)?, ports.give(py)?];
                    let port: u16 = returned(call(arguments)?.bind(py), "the number of a port")?;
                    if port >= count {
                        let said = format!("the switch has no port {port}: they are 0 to {}", count - 1);
                        return Err(PyValueError::new_err(said));
                    }
                    args::write_back(&copy.borrow(py), packet, numbered)?;
                    Ok(port)
                });
                chosen.unwrap_or(minimal)
            }
            fn on_enqueue(&mut self, queued: &mut Queued<'_>, cx: &mut Cx<'_, Params>) -> Verdict {
                let numbered = self.numbered_paths;
                let verdict = self.call(hook::on_enqueue, cx, |py, call| {
                    let (whole, copy) = at_queue(py, queued)?;
                    let verdict: Option<args::Verdict> = returned(call(vec![whole])?.bind(py), args::VERDICTS)?;
                    args::write_back(&copy.borrow(py), queued.packet, numbered)?;
                    Ok(verdict)
                });
                verdict.flatten().map_or(Verdict::Admit, Into::into)
            }
            fn on_dequeue(&mut self, queued: &mut Queued<'_>, cx: &mut Cx<'_, Params>) {
                let numbered = self.numbered_paths;
                self.call(hook::on_dequeue, cx, |py, call| {
                    let (whole, copy) = at_queue(py, queued)?;
                    let verdict: Option<args::Verdict> = returned(call(vec![whole])?.bind(py), args::VERDICTS)?;
                    args::write_back(&copy.borrow(py), queued.packet, numbered)?;
                    match verdict {
                        None | Some(args::Verdict::Admit) => Ok(()),
                        Some(args::Verdict::Mark) => {
                            queued.packet.flags |= fanin_cc::flags::CE;
                            Ok(())
                        }
                        Some(args::Verdict::Drop | args::Verdict::Trim) => Err(PyValueError::new_err(
                            "a packet that leaves its queue cannot be dropped or trimmed any more",
                        )),
                    }
                });
            }
            fn wake_at(&self) -> Time {
                self.wake_at
            }
            fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
                if let Some(object) = self.object.as_ref().filter(|_| self.caller.wants(hook::watch)) {
                    let of = (hook::watch, format!("switch {}", self.node));
                    Python::attach(|py| watch(py, object.bind(py).as_any(), &self.caller, of, see));
                }
            }
            $(fn $name(&mut $this, $($arg: $type,)* $cx: &mut Cx<'_, Params>) -> $out {
                if hook::$name == hook::on_timer {
                    $this.wake_at = Time::NEVER;
                }
                $this.call(hook::$name, $cx, |py, call| call(vec![$($arg.give(py)?),*]));
            })*
        }
    };
}
switch_hooks!(calls);
