//! Arbitrary input gives a result or an error, never a panic.

use super::*;
use proptest::prelude::*;

/// Reads, checks and builds; what is accepted must read back.
fn try_all(text: &str) {
    if let Ok(spec) = Spec::from_toml(text, "x.toml", Path::new(""))
        && let Ok(checked_spec) = spec.check()
    {
        let first = checked_spec.build().messages.take(50).count();
        let again = checked(&checked_spec.to_toml()).unwrap_or_else(|e| panic!("{e}\n{}", checked_spec.to_toml()));
        assert_eq!(again, checked_spec);
        assert_eq!(again.build().messages.take(50).count(), first);
    }
}

/// Every place of the example's value: its path and the value there.
fn places(value: &Value, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    found.push(path.clone());
    match value {
        Value::Object(values) => {
            for (key, inner) in values {
                path.push(key.clone());
                places(inner, path, found);
                path.pop();
            }
        }
        Value::Array(items) => {
            for (i, inner) in items.iter().enumerate() {
                path.push(i.to_string());
                places(inner, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

fn at<'v>(value: &'v mut Value, path: &[String]) -> &'v mut Value {
    path.iter().fold(value, |value, key| match value {
        Value::Array(items) => &mut items[key.parse::<usize>().unwrap()],
        other => &mut other[key.as_str()],
    })
}

fn example() -> Value {
    serde_json::to_value(Spec::from_toml(EXAMPLE, "x.toml", Path::new("")).unwrap().document()).unwrap()
}

/// Values that are wrong in many places and right in some.
fn other_values() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0u64..20).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-2.0f64..2.0).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0u64..1 << 50, prop::sample::select(vec!["s", "ms", "us", "ps", "Gbps", "bps", "KB", "B", "GB", ""]))
            .prop_map(|(n, unit)| Value::from(format!("{n} {unit}"))),
        (0u64..9, prop::sample::select(vec!["ms", "us", "Gbps", "KB"]))
            .prop_map(|(n, u)| Value::from(format!("{n} {u}"))),
        prop::sample::select(vec![
            "star",
            "red",
            "off",
            "none",
            "lossy",
            "data",
            "h3",
            "tor0>h3",
            "permutation",
            "long",
            "one-to-one",
            "tcp"
        ])
        .prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(serde_json::json!([])),
        Just(serde_json::json!({})),
        Just(serde_json::json!({ "kind": "star", "hosts": 3, "link": "1 Gbps", "delay": "1 us" })),
        Just(serde_json::json!({ "kind": "poisson" })),
        (0u32..9).prop_map(|rounds| serde_json::json!({ "kind": "query", "rounds": rounds })),
        Just(serde_json::json!({ "fixed": "1 KB" })),
        Just(serde_json::json!("endless")),
    ]
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn any_text(text in ".{0,200}") {
        try_all(&text);
        let _ = Spec::from_json(&text, "x.json", Path::new(""));
        let _ = source::read_value(&text);
    }

    #[test]
    fn any_bytes_changed(changes in prop::collection::vec((0usize..10_000, any::<u8>()), 1..6)) {
        let mut bytes = EXAMPLE.as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at % bytes.len();
            bytes[at] = byte % 128;
        }
        try_all(&String::from_utf8(bytes).unwrap());
    }

    #[test]
    fn any_lines_moved_and_lost(order in prop::collection::vec(0usize..60, 0..60)) {
        let lines: Vec<&str> = EXAMPLE.lines().collect();
        let text: Vec<&str> = order.iter().map(|i| lines[i % lines.len()]).collect();
        try_all(&text.join("\n"));
    }

    /// The schema that finds misfits and the types that read must agree: what has no misfit deserialises.
    #[test]
    fn any_values_replaced(
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::option::of(other_values())), 1..4),
    ) {
        let mut value = example();
        for (index, new) in changes {
            let mut found = Vec::new();
            places(&value, &mut Vec::new(), &mut found);
            let path = &found[index.index(found.len())];
            match (new, path.split_last()) {
                (Some(new), _) => *at(&mut value, path) = new,
                (None, Some((last, around))) => match at(&mut value, around) {
                    Value::Object(values) => { values.remove(last); }
                    Value::Array(items) => { items.remove(last.parse::<usize>().unwrap()); }
                    _ => {}
                },
                (None, None) => {}
            }
        }
        let misfits = shape::misfits(&value, &schema_value());
        let reads = serde_json::from_value::<Document>(value.clone()).map_err(|e| e.to_string());
        // Ids and parameters of schemes and policies are known to the registry and not to the types, and serde takes a
        // list for a table.
        let ids = ["scheme", "network.balancing", "network.discipline"];
        let by_id = |path: &str| ids.iter().any(|key| path.contains(key));
        // The ranges of priorities and weights are those of the schema and not of their types.
        let ranged = |m: &shape::Misfit| m.right.starts_with("write a whole number from 1 ");
        let typed = |m: &&shape::Misfit| !by_id(&m.path) && !m.problem.starts_with("a list") && !ranged(m);
        let of_types = misfits.iter().filter(typed).count();
        prop_assert!(of_types == 0 || reads.is_err(), "{}\n{:?}", value, misfits);
        prop_assert!(!misfits.is_empty() || reads.is_ok(), "{}\n{:?}", value, reads);
        let spec = Spec::from_json(&value.to_string(), "x.json", Path::new(""));
        prop_assert!(misfits.is_empty() || spec.is_err(), "{}\n{:?}", value, misfits);
        if let Ok(spec) = spec
            && let Ok(checked_spec) = spec.check()
        {
            try_all(&checked_spec.to_toml());
        }
    }

    #[test]
    fn any_change(key in "[a-z_.\\[\\]0-9]{0,30}", value in ".{0,20}") {
        let spec = Spec::from_toml(EXAMPLE, "x.toml", Path::new("")).unwrap();
        if let Ok(spec) = spec.set(&key, &value) {
            let _ = spec.check();
        }
    }
}
