//! The definition of a spec, from which TOML and JSON are deserialised and the JSON schema is generated. Optional keys
//! whose default depends on other keys are `Option`s; a checked spec has all of them filled in.

mod faults;
mod marking;
mod measure;
mod network;
mod topology;
mod traffic;
mod transport;

pub use super::policy::{Balancing, Discipline};
pub use super::scheme::{SchemeChoice, SchemeId};
pub use faults::*;
pub use marking::*;
pub use measure::*;
pub use network::*;
pub use topology::*;
pub use traffic::*;
pub use transport::*;

use fanin_units::{Bytes, Time};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version of the spec language that this program reads.
pub const SPEC_VERSION: u32 = 1;

/// The largest packet.
const LARGEST: &str = "65535 B";

/// A whole spec.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Fanin spec")]
pub struct Document {
    /// Version of the spec language: 1.
    pub spec_version: u32,
    /// Name of the experiment in results.
    pub name: String,
    /// Root seed of all random numbers.
    #[serde(default = "whole::<u64, 1>")]
    #[schemars(extend("maximum" = i64::MAX, "wrong" = "{} is too large; it is at most 9223372036854775807"))]
    pub seed: u64,
    /// The network.
    pub network: Network,
    /// The traffics that share the network, at least one.
    pub traffic: Vec<Traffic>,
    /// The measurements and their duration.
    pub measure: Measure,
    /// The schemes for `fanin compare`.
    pub compare: Option<Compare>,
}

/// A table whose keys all have their defaults.
fn defaults<T: DeserializeOwned>() -> T {
    serde_json::from_value(Value::Object(Map::new())).expect("no key of it is required")
}

// The defaults of keys, as `serde(default)` names them.

fn yes() -> bool {
    true
}

fn whole<T: From<u8>, const NUMBER: u8>() -> T {
    NUMBER.into()
}

fn ratio<const OF: u32, const TO: u32>() -> f64 {
    f64::from(OF) / f64::from(TO)
}

fn bytes<const NUMBER: u64>() -> Bytes {
    Bytes(NUMBER)
}

fn ms<const NUMBER: u64>() -> Time {
    Time::from_ms(NUMBER)
}

/// The schemes for `fanin compare`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// Ids of schemes; the spec runs once with each, for all its traffics.
    pub schemes: Vec<SchemeId>,
}

impl Document {
    /// As JSON, without keys that have no value.
    pub(super) fn to_json(&self) -> serde_json::Result<Value> {
        let mut root = serde_json::to_value(self)?;
        drop_nulls(&mut root);
        Ok(root)
    }
}

/// Deletes keys without a value.
pub(super) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(values) => {
            values.retain(|_, value| !value.is_null());
            values.values_mut().for_each(drop_nulls);
        }
        Value::Array(values) => values.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}
