//! What the tables of a run say, to be held against its capture.

use serde_json::Value;
use std::collections::HashMap;

/// Numbers of the tables.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// By port: packets, bytes, marked packets, dropped packets.
    pub ports: HashMap<String, [u64; 4]>,
    /// By connection of one message over RoCEv2: bytes, and when its last byte arrived, in ps.
    pub messages: HashMap<u32, [u64; 2]>,
}

impl Facts {
    /// Reads `{"ports": {"h0>tor0": [packets, bytes, marked, dropped]}, "messages": {"256": [bytes, completion_ps]}}`.
    ///
    /// # Errors
    /// If it is of another form.
    pub fn read(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let table = |key: &str| value.get(key).and_then(Value::as_object).into_iter().flatten();
        let mut facts = Self::default();
        for (name, row) in table("ports") {
            facts.ports.insert(name.clone(), numbers(row).ok_or_else(|| format!("{name}: four numbers are needed"))?);
        }
        for (name, row) in table("messages") {
            let wrong = || format!("{name}: a number with two numbers is needed");
            facts.messages.insert(name.parse().map_err(|_| wrong())?, numbers(row).ok_or_else(wrong)?);
        }
        Ok(facts)
    }
}

fn numbers<const N: usize>(row: &Value) -> Option<[u64; N]> {
    let row: Vec<u64> = row.as_array()?.iter().map(Value::as_u64).collect::<Option<_>>()?;
    row.try_into().ok()
}
