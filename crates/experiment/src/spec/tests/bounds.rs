//! Bounds of keys: what a declaration says is found in the schema, in reading and in errors.

use super::*;
use crate::spec::bounds::outside;
use fanin_units::{Bytes, Time};
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A table that no spec has.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Shelf {
    /// Packets on it.
    #[serde(default = "four")]
    #[schemars(extend("minimum" = 1, "maximum" = 9, "wrong" = "{} packets do not fit; write 1 to 9"))]
    packets: u32,
    /// Its length.
    #[schemars(extend("least" = "1 KB", "below" = "1 MB", "wrong" = "{} is no length; try another"))]
    length: Option<Bytes>,
    /// Its age.
    #[schemars(extend("above" = "0 s", "most" = "1 s", "wrong" = "it is {} old"))]
    age: Option<Time>,
    /// Its slope.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "wrong" = "{} is too steep"))]
    slope: Option<f64>,
}

fn four() -> u32 {
    4
}

#[test]
fn a_key_that_is_declared_once_is_in_the_schema_is_read_and_has_its_error() {
    let schema = schema_for!(Shelf).to_value();
    let declared = json!({
        "description": "Packets on it.", "type": "integer", "format": "uint32", "default": 4,
        "minimum": 1, "maximum": 9, "wrong": "{} packets do not fit; write 1 to 9",
    });
    assert_eq!(schema["properties"]["packets"], declared);
    let read = |value: Value| serde_json::from_value::<Shelf>(value).map(|shelf| shelf.packets);
    assert_eq!(read(json!({})).unwrap(), 4);
    assert_eq!(shape::misfits(&json!({ "packets": 10 }), &schema).len(), 0, "its own error comes later");
    let misfits = shape::misfits(&json!({ "packets": 1u64 << 32, "length": "1 s" }), &schema);
    assert_eq!(misfits.iter().map(|m| m.path.as_str()).collect::<Vec<_>>(), ["length", "packets"]);
    for (value, error) in [
        (json!({ "packets": 0 }), "0 packets do not fit; write 1 to 9"),
        (json!({ "packets": 10 }), "10 packets do not fit; write 1 to 9"),
        (json!({ "length": "999 B" }), "999 B is no length; try another"),
        (json!({ "length": "1 MB" }), "1 MB is no length; try another"),
        (json!({ "age": "0 ps" }), "it is 0 ps old"),
        (json!({ "age": "1.1 s" }), "it is 1.1 s old"),
        (json!({ "slope": 0.0 }), "0 is too steep"),
        (json!({ "slope": 1.0 }), "1 is too steep"),
    ] {
        let found = outside(&value, "Shelf", &schema);
        assert_eq!(found.iter().map(|(_, error)| error.as_str()).collect::<Vec<_>>(), [error]);
    }
    let fine = json!({ "packets": 9, "length": "1 KB", "age": "1 s", "slope": 0.999 });
    assert_eq!(outside(&fine, "Shelf", &schema), []);
    assert_eq!(outside(&json!({ "length": null, "age": "off" }), "Shelf", &schema), []);
}

/// A spec that leaves a key out is not told that it is outside of its bounds.
#[test]
fn defaults_are_within_their_bounds() {
    let root = schema();
    let mut bounded = 0;
    for (name, table) in root["$defs"].as_object().unwrap() {
        let kinds = table["oneOf"].as_array().map_or(vec![table], |kinds| kinds.iter().collect());
        for kind in kinds {
            let keys = kind["properties"].as_object().into_iter().flatten();
            let mut defaults: serde_json::Map<_, _> =
                keys.filter_map(|(key, of)| Some((key.clone(), of.get("default")?.clone()))).collect();
            defaults.insert("kind".into(), kind["properties"]["kind"]["const"].clone());
            assert_eq!(outside(&Value::Object(defaults), name, &root), [], "{name}");
            bounded += kind.to_string().matches("\"wrong\"").count();
        }
    }
    assert!(bounded > 40, "{bounded}");
}
