//! Columns in and out through the Arrow PyCapsule interface, without a copy.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use fanin_experiment::{HostNames, ListedFlow};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::collections::BTreeMap;

/// Columns that leave through the Arrow PyCapsule interface, in pieces, at least one.
#[pyclass(frozen)]
pub struct ArrowTable(Vec<RecordBatch>);

impl ArrowTable {
    pub fn new(pieces: Vec<RecordBatch>) -> Self {
        Self(pieces)
    }
}

#[pymethods]
impl ArrowTable {
    /// What is said of the table, and of its columns as `COLUMN.description` and `COLUMN.unit`.
    fn descriptions(&self) -> BTreeMap<String, String> {
        let Some(schema) = self.0.first().map(RecordBatch::schema) else { return BTreeMap::new() };
        let of_columns = schema.fields().iter().flat_map(|field| {
            field.metadata().iter().map(|(key, value)| (format!("{}.{key}", field.name()), value.clone()))
        });
        of_columns.chain(schema.metadata().clone()).collect()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows a producer to ignore the wanted schema.
        let _ = requested_schema;
        let schema = self.0.first().map_or_else(|| SchemaRef::new(Schema::empty()), RecordBatch::schema);
        let reader = RecordBatchIterator::new(self.0.clone().into_iter().map(Ok), schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// A table of flows from the caller.
pub struct FlowTable {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

/// Its columns; all but `group` are required, and `start_ps` may replace `start_us`.
const COLUMNS: [&str; 6] = ["src", "dst", "bytes", "start_us", "start_ps", "group"];

impl FlowTable {
    /// From any table of the Arrow PyCapsule interface.
    pub fn read(table: &Bound<'_, PyAny>) -> PyResult<Self> {
        let capsule = table
            .call_method0("__arrow_c_stream__")
            .map_err(|_| {
                PyTypeError::new_err("flows must be a table with __arrow_c_stream__ (polars, pyarrow, pandas)")
            })?
            .cast_into::<PyCapsule>()?;
        let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
        // SAFETY: the PyCapsule interface guarantees that a capsule of this name holds an ArrowArrayStream; `from_raw`
        // moves it out and leaves a released one behind, as the interface asks of a consumer.
        let reader = unsafe { RecordBatchStreamReader::from_raw(pointer.as_ptr().cast()) };
        let reader = reader.map_err(|e| PyValueError::new_err(format!("flows: {e}")))?;
        let schema = reader.schema();
        // Polars and arrow-rs represent a column without values differently.
        let empty = |field: &&FieldRef| *field.data_type() == DataType::Null;
        let empty: Vec<&str> = schema.fields().iter().filter(empty).map(|field| field.name().as_str()).collect();
        let batches = reader.collect::<Result<_, _>>().map_err(|error| {
            PyValueError::new_err(match empty[..] {
                [] => format!("flows: {error}"),
                _ => format!("flows: {} has no values; leave it out of the table", empty.join(", ")),
            })
        })?;
        Ok(Self { schema, batches })
    }

    /// The flows on a network with these hosts, and a warning about ignored columns.
    pub fn flows(&self, hosts: &HostNames) -> PyResult<(Vec<ListedFlow>, Option<String>)> {
        let have: Vec<&str> = self.schema.fields().iter().map(|f| f.name().as_str()).collect();
        let find = |name: &str| have.iter().position(|column| *column == name);
        let exact = find("start_us").is_none() && find("start_ps").is_some();
        let required = if exact { 3 } else { 4 };
        let missing: Vec<&str> = COLUMNS[..required].iter().copied().filter(|name| find(name).is_none()).collect();
        if !missing.is_empty() {
            let (missing, have) = (missing.join(", "), have.join(", "));
            return Err(PyValueError::new_err(format!(
                "flows: no column {missing}: the table has {have}; it needs src, dst (names or numbers of hosts), \
                 bytes and start_us, and may have group"
            )));
        }
        let mut flows = Vec::with_capacity(self.batches.iter().map(RecordBatch::num_rows).sum());
        for batch in &self.batches {
            let column = |name: &str| batch.column(find(name).unwrap_or(0));
            let src = host_column(column("src"), "src", hosts, flows.len())?;
            let dst = host_column(column("dst"), "dst", hosts, flows.len())?;
            let bytes = whole_numbers(column("bytes"), "bytes")?;
            let start = if exact {
                whole_numbers(column("start_ps"), "start_ps")?
            } else {
                let us = real_numbers(column("start_us"), "start_us")?;
                if let Some(us) = us.iter().find(|us| !(0.0..=1e12).contains(*us)) {
                    let wrong = format!("flows.start_us: {us} is not a time from 0 to 10^12 us");
                    return Err(PyValueError::new_err(wrong));
                }
                us.iter().map(|us| (us * 1e6) as u64).collect()
            };
            let group = find("group").map(|_| groups(column("group"))).transpose()?;
            for row in 0..batch.num_rows() {
                flows.push(ListedFlow {
                    src: src[row],
                    dst: dst[row],
                    bytes: bytes[row],
                    start: fanin_experiment::Time::from_ps(start[row]),
                    group: group.as_ref().map_or(u32::MAX, |group| group[row]),
                });
            }
        }
        let others: Vec<&str> = have.iter().copied().filter(|name| !COLUMNS.contains(name)).collect();
        let shown = others[..others.len().min(20)].join(", ") + if others.len() > 20 { ", ..." } else { "" };
        let warning = match others.len() {
            0 => None,
            1 => Some(format!("flows: column {shown} is not used")),
            _ => Some(format!("flows: columns {shown} are not used")),
        };
        Ok((flows, warning))
    }
}

/// The numbers of the hosts in a column of names or numbers. `before` is the number of rows before it.
fn host_column(column: &dyn Array, name: &str, hosts: &HostNames, before: usize) -> PyResult<Vec<u32>> {
    let numbers = |found: Vec<Result<u32, (String, String)>>| {
        let with_row = found.into_iter().enumerate().map(|(row, found)| {
            let at = before + row;
            found.map_err(|(problem, right)| {
                PyValueError::new_err(format!("flows.{name}, row {at}: {problem}; {right}"))
            })
        });
        with_row.collect::<PyResult<Vec<u32>>>()
    };
    let texts = |texts: &mut dyn Iterator<Item = Option<&str>>| {
        let find = |text: Option<&str>| match text {
            Some(text) => hosts.find(text),
            None => Err(("no host is given".to_string(), "write its name or its number".to_string())),
        };
        numbers(texts.map(find).collect())
    };
    match column.data_type() {
        DataType::Utf8 => texts(&mut column.as_string::<i32>().iter()),
        DataType::LargeUtf8 => texts(&mut column.as_string::<i64>().iter()),
        DataType::Utf8View => texts(&mut column.as_string_view().iter()),
        kind if kind.is_integer() => {
            let of = whole_numbers(column, name)?.into_iter().map(|number| hosts.find_number(number));
            numbers(of.collect())
        }
        _ => Err(PyValueError::new_err(format!("flows.{name} must be names of hosts, or their numbers from 0"))),
    }
}

/// A column of groups; missing values mean no group.
fn groups(column: &dyn Array) -> PyResult<Vec<u32>> {
    let wrong = || PyValueError::new_err("flows.group must be whole numbers from 0 to 2^32 - 2, or missing");
    let none = u32::MAX;
    let known = |value: u64| u32::try_from(value).ok().filter(|group| *group != none).ok_or_else(wrong);
    match column.data_type() {
        DataType::UInt32 => Ok(column.as_primitive::<UInt32Type>().iter().map(|v| v.unwrap_or(none)).collect()),
        DataType::Int64 => {
            let values = column.as_primitive::<Int64Type>().iter();
            values.map(|v| v.map_or(Ok(none), |v| u64::try_from(v).map_err(|_| wrong()).and_then(known))).collect()
        }
        DataType::Null => Ok(vec![none; column.len()]),
        _ => whole_numbers(column, "group")?.into_iter().map(known).collect(),
    }
}

fn whole_numbers(column: &dyn Array, name: &str) -> PyResult<Vec<u64>> {
    if column.null_count() > 0 {
        return Err(PyValueError::new_err(format!("flows.{name} has missing values")));
    }
    let wrong = || PyValueError::new_err(format!("flows.{name} must be whole numbers from 0"));
    let cast = |v: i64| u64::try_from(v).map_err(|_| wrong());
    match column.data_type() {
        DataType::UInt64 => Ok(column.as_primitive::<UInt64Type>().values().to_vec()),
        DataType::Int64 => column.as_primitive::<Int64Type>().values().iter().map(|v| cast(*v)).collect(),
        DataType::UInt32 => Ok(column.as_primitive::<UInt32Type>().values().iter().map(|v| *v as u64).collect()),
        DataType::Int32 => column.as_primitive::<Int32Type>().values().iter().map(|v| cast(*v as i64)).collect(),
        _ => Err(wrong()),
    }
}

fn real_numbers(column: &dyn Array, name: &str) -> PyResult<Vec<f64>> {
    match column.data_type() {
        DataType::Float64 if column.null_count() == 0 => Ok(column.as_primitive::<Float64Type>().values().to_vec()),
        _ => Ok(whole_numbers(column, name)?.into_iter().map(|v| v as f64).collect()),
    }
}
