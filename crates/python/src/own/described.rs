//! What a class says of itself, whether it is that of a scheme or of a policy.

use fanin_experiment::loaded::Loaded;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value};
use std::sync::Arc;

/// A class that can be made with any parameters.
pub struct Described {
    pub id: &'static str,
    manual: String,
    defaults: Map<String, Value>,
    /// Makes an object of the parameters from JSON text.
    parameters: Py<PyAny>,
}

/// The parameters of a run, as JSON text and as the object of a class.
pub struct Given {
    pub text: String,
    pub params: Py<PyAny>,
}

/// What a class says about this.
pub fn fact<'py>(facts: &Bound<'py, PyDict>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    facts.get_item(name)?.ok_or_else(|| PyValueError::new_err(format!("the class says nothing about {name}")))
}

impl Described {
    /// What `facts` say; `parameters` makes an object of the parameters from JSON text.
    pub fn of(facts: &Bound<'_, PyDict>, parameters: Py<PyAny>) -> PyResult<Self> {
        let (id, defaults): (String, String) = (fact(facts, "id")?.extract()?, fact(facts, "defaults")?.extract()?);
        let defaults = serde_json::from_str(&defaults);
        let defaults = defaults.map_err(|error| PyValueError::new_err(format!("its parameters: {error}")))?;
        Ok(Self { id: super::calls::kept(&id), manual: fact(facts, "manual")?.extract()?, defaults, parameters })
    }

    /// As it is known to the process, with this function from parameters to a program.
    pub fn loaded<P: ?Sized>(self, make: impl Fn(Given) -> Arc<P> + Send + Sync + 'static) -> Loaded<P> {
        let Self { id, manual, defaults, parameters: of } = self;
        let make = move |parameters: &Map<String, Value>| {
            let text = Value::Object(parameters.clone()).to_string();
            let params = Python::attach(|py| match of.bind(py).call1((&text,)) {
                Ok(params) => Ok(params.unbind()),
                Err(error) => Err(error.value(py).to_string()),
            })?;
            Ok(make(Given { text, params }))
        };
        Loaded { id, manual, defaults, make: Box::new(make) }
    }
}
