//! Load balancing and queue disciplines in a spec: built-in ones, and those that were loaded.

use super::scheme::{SchemeChoice, tables};
use crate::loaded::{self, FIFO, Kind};
use fanin_cc::{DisciplineProgram, OwnBalancing};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;

/// Which of equally short paths a packet takes: an id, or a table with the id of a loaded policy and the parameters
/// that differ from its defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Balancing(pub SchemeChoice);

/// What may join the queues of switches, likewise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Discipline(pub SchemeChoice);

impl Default for Balancing {
    fn default() -> Self {
        Self(SchemeChoice::preset(fanin_cc::Balancing::NAMES[0].0))
    }
}

impl Default for Discipline {
    fn default() -> Self {
        Self(SchemeChoice::preset(FIFO))
    }
}

impl JsonSchema for Balancing {
    fn schema_name() -> Cow<'static, str> {
        "Balancing".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let built_in = fanin_cc::Balancing::NAMES;
        schema::<OwnBalancing>("Which of equally short paths a packet takes.", &built_in)
    }
}

impl JsonSchema for Discipline {
    fn schema_name() -> Cow<'static, str> {
        "Discipline".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let fifo = (FIFO, "What `buffer` has room for, in order of arrival and marked as `marking` says.");
        schema::<dyn DisciplineProgram>("What may join the queues of switches.", &[fifo])
    }
}

/// The schema of a choice of the built-in ones, with what each does, and of those that are loaded.
fn schema<P: Kind + ?Sized>(description: &str, built_in: &[(&str, &str)]) -> Schema {
    let id = |id: &str, does: &str| json!({ "const": id, "description": does, "type": "string" });
    let mut branches: Vec<Value> = built_in.iter().map(|(name, does)| id(name, does)).collect();
    branches.extend(loaded::all::<P>().iter().map(|loaded| id(loaded.id, "One that was loaded.")));
    branches.extend(tables::<P>());
    json_schema!({ "description": description, "oneOf": branches })
}
