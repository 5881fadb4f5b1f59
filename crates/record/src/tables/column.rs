//! Columns of tables, and tables of columns.

use crate::{RecordError, Run, columns};
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{ArrowError, Field, Schema};
use std::collections::HashMap;
use std::sync::Arc;

/// Rows per piece of a table that is written in pieces.
pub(super) const PIECE: usize = 1 << 16;

/// One column: name, whether it has nulls, values.
pub(super) type Column = (&'static str, bool, ArrayRef);

/// Key in the metadata of a table's schema for the content of its rows, and in that of a field for the meaning of its
/// values.
pub const DESCRIPTION: &str = "description";
/// Key in the metadata of a field for the unit of its values, if they have one.
pub const UNIT: &str = "unit";

/// A table with its metadata, whose columns [`crate::columns`] describes.
pub(super) fn batch(
    table: &'static str,
    columns: Vec<Column>,
    mut metadata: HashMap<String, String>,
) -> Result<RecordBatch, RecordError> {
    let fail = |source| RecordError::Table { table, source };
    let unknown = |what: &str| fail(ArrowError::SchemaError(format!("{what} has no description")));
    let described = columns::table(table).ok_or_else(|| unknown("it"))?;
    metadata.insert(DESCRIPTION.into(), described.meaning.into());
    let mut fields = Vec::with_capacity(columns.len());
    for (name, nulls, values) in &columns {
        let column = described.column(name).ok_or_else(|| unknown(name))?;
        let mut says = HashMap::from([(DESCRIPTION.into(), column.meaning.into())]);
        if !column.unit.is_empty() {
            says.insert(UNIT.into(), column.unit.into());
        }
        fields.push(Field::new(*name, values.data_type().clone(), *nulls).with_metadata(says));
    }
    let schema = Schema::new_with_metadata(fields, metadata);
    let values = columns.into_iter().map(|(_, _, values)| values).collect();
    RecordBatch::try_new(Arc::new(schema), values).map_err(fail)
}

/// A column of few distinct texts, as a dictionary without repetitions; each key is below the number of `texts`.
pub(super) fn labels(
    table: &'static str,
    texts: &[impl AsRef<str>],
    keys: impl Iterator<Item = usize>,
) -> Result<ArrayRef, RecordError> {
    labels_or_null(table, texts, keys.map(Some))
}

/// The same with null where there is no key.
pub(super) fn labels_or_null(
    table: &'static str,
    texts: &[impl AsRef<str>],
    keys: impl Iterator<Item = Option<usize>>,
) -> Result<ArrayRef, RecordError> {
    let mut different: Vec<&str> = Vec::new();
    let mut known: HashMap<&str, i32> = HashMap::new();
    let place_of: Vec<i32> = texts
        .iter()
        .map(|text| {
            *known.entry(text.as_ref()).or_insert_with(|| {
                different.push(text.as_ref());
                different.len() as i32 - 1
            })
        })
        .collect();
    let keys = Int32Array::from_iter(keys.map(|key| key.map(|key| place_of[key])));
    DictionaryArray::<Int32Type>::try_new(keys, Arc::new(StringArray::from(different)))
        .map(|column| Arc::new(column) as ArrayRef)
        .map_err(|source| RecordError::Table { table, source })
}

/// A column of host names. All names are distinct, so the dictionary has all of them in order.
pub(super) fn host_names(run: &Run, hosts: impl Iterator<Item = u32>) -> Result<ArrayRef, RecordError> {
    let names = StringArray::from_iter_values(&run.graph.names[..run.graph.hosts as usize]);
    let keys = Int32Array::from_iter_values(hosts.map(|host| host as i32));
    DictionaryArray::<Int32Type>::try_new(keys, Arc::new(names))
        .map(|column| Arc::new(column) as ArrayRef)
        .map_err(|source| RecordError::Table { table: "flows", source })
}

pub(super) fn u64s(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(values))
}
pub(super) fn u32s(values: impl Iterator<Item = u32>) -> ArrayRef {
    Arc::new(UInt32Array::from_iter_values(values))
}
pub(super) fn texts<'a>(values: impl Iterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

/// The texts of a column with few distinct values, and the index of each value's text.
pub(super) fn few<K: std::hash::Hash + Eq, T>(
    keys: impl Iterator<Item = K>,
    text: impl Fn(&K) -> T,
) -> (Vec<T>, Vec<usize>) {
    let mut key_of: HashMap<K, usize> = HashMap::new();
    let mut used = Vec::new();
    let places = keys.map(|key| match key_of.get(&key) {
        Some(place) => *place,
        None => {
            used.push(text(&key));
            key_of.insert(key, used.len() - 1);
            used.len() - 1
        }
    });
    let places = places.collect();
    (used, places)
}
