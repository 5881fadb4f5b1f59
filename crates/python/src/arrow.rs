//! Columns in and out through the Arrow PyCapsule interface, without a copy.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::DataType;
use fanin_experiment::ListedFlow;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Columns that leave through the Arrow PyCapsule interface.
#[pyclass(frozen)]
pub struct ArrowTable(RecordBatch);

impl ArrowTable {
    pub fn new(batch: RecordBatch) -> Self {
        Self(batch)
    }
}

#[pymethods]
impl ArrowTable {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows a producer to ignore the wanted schema.
        let _ = requested_schema;
        let schema = self.0.schema();
        let reader = RecordBatchIterator::new([Ok(self.0.clone())], schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// Flows from a table with the columns src, dst, bytes and start_us.
pub fn listed_flows(table: &Bound<'_, PyAny>) -> PyResult<Vec<ListedFlow>> {
    let capsule = table
        .call_method0("__arrow_c_stream__")
        .map_err(|_| PyTypeError::new_err("flows must be a table with __arrow_c_stream__ (polars, pyarrow, pandas)"))?
        .cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: the PyCapsule interface guarantees that a capsule of this name holds an ArrowArrayStream; `from_raw` moves
    // it out and leaves a released one behind, as the interface asks of a consumer.
    let reader = unsafe { RecordBatchStreamReader::from_raw(pointer.as_ptr().cast()) };
    let reader = reader.map_err(|e| PyValueError::new_err(format!("flows: {e}")))?;
    let schema = reader.schema();
    let column = |name: &str| {
        schema.index_of(name).map_err(|_| {
            let have: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
            PyValueError::new_err(format!(
                "flows has no column \"{name}\"; it needs src, dst, bytes and start_us, and has {}",
                have.join(", ")
            ))
        })
    };
    let (src, dst, bytes, start) = (column("src")?, column("dst")?, column("bytes")?, column("start_us")?);
    let mut flows = Vec::new();
    for batch in reader {
        let batch = batch.map_err(|e| PyValueError::new_err(format!("flows: {e}")))?;
        let whole = |at: usize, name: &str| whole_numbers(batch.column(at), name);
        let (src, dst, bytes) = (whole(src, "src")?, whole(dst, "dst")?, whole(bytes, "bytes")?);
        let start = real_numbers(batch.column(start), "start_us")?;
        for row in 0..batch.num_rows() {
            let host = |value: u64, name: &str| {
                u32::try_from(value).map_err(|_| PyValueError::new_err(format!("flows.{name}: {value} is no host")))
            };
            let us = start[row];
            if !(0.0..=1e12).contains(&us) {
                return Err(PyValueError::new_err(format!("flows.start_us: {us} is no time from 0 to 10^12 us")));
            }
            flows.push(ListedFlow {
                src: host(src[row], "src")?,
                dst: host(dst[row], "dst")?,
                bytes: bytes[row],
                start: fanin_experiment::Time::from_ps((us * 1e6) as u64),
                group: u32::MAX,
            });
        }
    }
    Ok(flows)
}

fn whole_numbers(column: &dyn Array, name: &str) -> PyResult<Vec<u64>> {
    if column.null_count() > 0 {
        return Err(PyValueError::new_err(format!("flows.{name} has missing values")));
    }
    let wrong = || PyValueError::new_err(format!("flows.{name} must be whole numbers from 0"));
    let cast = |v: i64| u64::try_from(v).map_err(|_| wrong());
    use arrow_array::types::{Int32Type, UInt32Type};
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
