//! The meaning of the fields of JSON files: the doc comments of the structs that they are serialised from.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// Every field of `T` in JSON with its meaning, in order: nested fields follow the field that contains them ("sizes",
/// then "sizes.min"), and those of a list's entries have "[]" ("traffics[].started").
pub fn of<T: JsonSchema>() -> Vec<(String, String)> {
    let schema = SchemaSettings::default().for_serialize().into_generator().into_root_schema_for::<T>().to_value();
    let mut found = Vec::new();
    walk(&schema, &schema, "", &mut found);
    found
}

fn walk(root: &Value, schema: &Value, path: &str, found: &mut Vec<(String, String)>) {
    // Properties are sorted by name; the required ones, which are all of them, are in the order of the struct.
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let field = &schema["properties"][name];
        let path = format!("{path}{}{name}", if path.is_empty() { "" } else { "." });
        let meaning = field["description"].as_str().unwrap_or_default();
        // Doc comments are about Rust, the file is JSON.
        found.push((path.clone(), meaning.replace('\n', " ").replace("`None`", "null")));
        if let Some((inner, list)) = inside(root, field) {
            walk(root, inner, &format!("{path}{}", if list { "[]" } else { "" }), found);
        }
    }
}

/// The struct in a field, if there is one, and whether it is in a list.
fn inside<'a>(root: &'a Value, field: &'a Value) -> Option<(&'a Value, bool)> {
    if let Some(name) = field["$ref"].as_str() {
        return Some((root.pointer(name.strip_prefix('#')?)?, false));
    }
    if let Some(either) = field["anyOf"].as_array() {
        return either.iter().find_map(|one| inside(root, one));
    }
    field.get("items").and_then(|items| inside(root, items)).map(|(inner, _)| (inner, true))
}
