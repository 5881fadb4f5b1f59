//! Schemes in a spec, with a JSON schema generated from the registry.

use crate::loaded::{self, Kind};
use fanin_cc::own::Program;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The id of a scheme.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SchemeId(pub String);

/// A scheme, with default or changed parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SchemeChoice {
    /// With the default parameters.
    Preset(SchemeId),
    /// With some parameters changed.
    Changed {
        /// Its id.
        id: SchemeId,
        /// The parameters that differ.
        #[serde(flatten)]
        parameters: Map<String, Value>,
    },
}

impl SchemeChoice {
    /// A scheme with the default parameters.
    pub fn preset(id: &str) -> Self {
        Self::Preset(SchemeId(id.to_string()))
    }

    /// Its id.
    pub fn id(&self) -> &str {
        match self {
            Self::Preset(id) | Self::Changed { id, .. } => &id.0,
        }
    }

    /// The parameters that differ from the preset.
    pub fn parameters(&self) -> Map<String, Value> {
        match self {
            Self::Preset(_) => Map::new(),
            Self::Changed { parameters, .. } => parameters.clone(),
        }
    }
}

impl JsonSchema for SchemeId {
    fn schema_name() -> Cow<'static, str> {
        "SchemeId".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": loaded::ids::<dyn Program>(), "description": "The id of a scheme." })
    }
}

impl JsonSchema for SchemeChoice {
    fn schema_name() -> Cow<'static, str> {
        "SchemeChoice".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut branches = vec![generator.subschema_for::<SchemeId>().to_value()];
        let parameters = fanin_cc::schemas(generator);
        for (presets, reference) in &parameters {
            let full = definition(generator, reference);
            branches.extend(presets.iter().map(|id| changes(id, &full)));
        }
        // Their definitions are now in the branches. A definition stays if a branch refers to it, as Dart's does to
        // DCQCN's; there, too, all parameters are optional.
        let text = Value::from(branches.clone()).to_string();
        for name in parameters.iter().filter_map(|(_, reference)| defined(reference)) {
            if text.contains(&format!("\"#/$defs/{name}\"")) {
                if let Some(kept) = generator.definitions_mut().get_mut(name).and_then(Value::as_object_mut) {
                    kept.remove("required");
                }
            } else {
                generator.definitions_mut().remove(name);
            }
        }
        branches.extend(tables::<dyn Program>());
        json_schema!({
            "description": "A scheme: its id, or a table with its id and the parameters that differ from the defaults.",
            "anyOf": branches,
        })
    }
}

/// The schema of a table with a preset's id and any of its parameters, derived from that of all its parameters.
fn changes(id: &str, full: &Value) -> Value {
    let defaults = fanin_cc::Settings::preset(id).map(|preset| preset.to_json()).unwrap_or_default();
    let mut properties = Map::new();
    for (name, schema) in full.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let mut schema = schema.clone();
        if let (Some(schema), Some(default)) = (schema.as_object_mut(), defaults.get(name)) {
            schema.insert("default".into(), default.clone());
        }
        properties.insert(name.clone(), schema);
    }
    table(id, properties)
}

/// The schemas of parameters with these defaults.
fn typed(defaults: Map<String, Value>) -> Map<String, Value> {
    let schema = |default: Value| {
        let kind = match &default {
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            _ => "string",
        };
        serde_json::json!({ "type": kind, "default": default })
    };
    defaults.into_iter().map(|(name, default)| (name, schema(default))).collect()
}

/// The schemas of tables with the id of a loaded one and any of its parameters.
pub fn tables<P: Kind + ?Sized>() -> impl Iterator<Item = Value> {
    loaded::all::<P>().into_iter().map(|loaded| table(loaded.id, typed(loaded.defaults.clone())))
}

/// The schema of a table with an id and any of these properties.
fn table(id: &str, parameters: Map<String, Value>) -> Value {
    let mut properties = Map::new();
    properties.insert("id".into(), serde_json::json!({ "const": id }));
    properties.extend(parameters);
    serde_json::json!({
        "type": "object",
        "properties": properties,
        "required": ["id"],
        "additionalProperties": false,
    })
}

/// The name of the definition that a schema refers to.
fn defined(reference: &Schema) -> Option<&str> {
    reference.get("$ref").and_then(Value::as_str)?.rsplit('/').next()
}

/// The target of a reference.
fn definition(generator: &SchemaGenerator, reference: &Schema) -> Value {
    match defined(reference) {
        Some(name) => generator.definitions().get(name).cloned().unwrap_or_default(),
        None => reference.clone().to_value(),
    }
}
