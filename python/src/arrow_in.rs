//! Data that come in as a stream of Arrow: frames and tables of other libraries.
//!
//! ```text
//!   pyarrow, polars, pandas ── __arrow_c_stream__ ── batches ── compacted, cut ── IPC messages ──> COPY (FORMAT arrow)
//! ```
//!
//! The batches stay where their owner has them until they are written as messages; no value becomes an object of
//! Python. A message follows when the one before was taken, so a stream may be longer than memory.

use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{
    Array, ArrayRef, GenericListArray, OffsetSizeTrait, RecordBatch, RecordBatchOptions,
    RecordBatchReader, StructArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, FieldRef};
use parking_lot::Mutex;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

use crate::errors::{Failure, Outcome};
use crate::handle::engine;

/// A message has about so many bytes; a row that has more is a message of its own.
const MESSAGE_BYTES: usize = 4 << 20;
/// A message has so many rows at most.
const MESSAGE_ROWS_MAX: usize = 65_536;

/// A stream of Arrow on its way into a table. It can be taken once.
#[pyclass(frozen, module = "anywhen._native")]
pub(crate) struct ArrowIn {
    source: Mutex<Option<Source>>,
}

#[pymethods]
impl ArrowIn {
    /// The stream of an object that has one (the Arrow PyCapsule interface).
    #[new]
    fn new(py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<ArrowIn> {
        let Ok(stream) = data.getattr("__arrow_c_stream__") else {
            let what = data.get_type().name()?;
            let text =
                format!("the data have no __arrow_c_stream__, as tables and frames do: {what}");
            return Err(PyTypeError::new_err(text));
        };
        let given = stream.call0()?;
        let capsule = given.cast::<PyCapsule>()?;
        let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
        // SAFETY: a capsule of this name holds an ArrowArrayStream, which is moved out; what stays is marked as
        // released, so the capsule's destructor leaves it alone.
        let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr().cast()) };
        let source = engine(py, || Source::new(stream).map_err(|error| unread(&error)))?;
        Ok(ArrowIn { source: Mutex::new(Some(source)) })
    }

    /// The next bytes of the stream in the format of IPC; None at its end.
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let bytes = engine(py, || {
            let mut source = self.source.lock();
            let source = source.as_mut().ok_or_else(|| Failure::closed("stream"))?;
            source.message().map_err(|error| unread(&error))
        })?;
        Ok((!bytes.is_empty()).then(|| PyBytes::new(py, &bytes)))
    }
}

impl ArrowIn {
    /// Gives the stream away.
    pub(crate) fn take(&self) -> Outcome<impl Read + Send + 'static> {
        let source = self.source.lock().take().ok_or_else(|| Failure::closed("stream"))?;
        Ok(Bytes { source, message: Vec::new(), read: 0 })
    }
}

fn unread(error: &ArrowError) -> Box<Failure> {
    Failure::sql("58030", format!("could not read: {error}"))
}

/// The batches of a stream as messages of IPC.
struct Source {
    batches: ArrowArrayStreamReader,
    writer: StreamWriter<Vec<u8>>,
    /// The rows of the last batch that no message has yet, and the number of rows of a message.
    rest: Option<(RecordBatch, usize)>,
    has_ended: bool,
}

impl Source {
    fn new(stream: FFI_ArrowArrayStream) -> Result<Source, ArrowError> {
        let batches = ArrowArrayStreamReader::try_new(stream)?;
        let writer = StreamWriter::try_new(Vec::new(), &batches.schema())?;
        Ok(Source { batches, writer, rest: None, has_ended: false })
    }

    /// The next bytes; none at the end.
    fn message(&mut self) -> Result<Vec<u8>, ArrowError> {
        // Data of others may contradict itself, and then the decoder or the writer panics.
        let made = catch_unwind(AssertUnwindSafe(|| self.make_message()));
        made.unwrap_or_else(|_| {
            self.has_ended = true;
            Err(ArrowError::CDataInterface("the data contradict their schema".into()))
        })
    }

    fn make_message(&mut self) -> Result<Vec<u8>, ArrowError> {
        if self.has_ended {
            return Ok(Vec::new());
        }
        if self.rest.is_none() {
            self.rest = self.batches.next().transpose()?.map(|batch| {
                let rows = rows_of_message(&batch);
                (batch, rows)
            });
        }
        match self.rest.take() {
            Some((batch, rows)) => {
                let (head, rest) =
                    batch.num_rows().checked_sub(rows).filter(|rest| *rest > 0).map_or_else(
                        || (batch.clone(), None),
                        |rest| (batch.slice(0, rows), Some((batch.slice(rows, rest), rows))),
                    );
                self.rest = rest;
                let columns = head.columns().iter().map(compacted).collect::<Result<_, _>>()?;
                let options = RecordBatchOptions::new().with_row_count(Some(head.num_rows()));
                let head = RecordBatch::try_new_with_options(head.schema(), columns, &options)?;
                self.writer.write(&head)?;
            }
            None => {
                self.writer.finish()?;
                self.has_ended = true;
            }
        }
        Ok(std::mem::take(self.writer.get_mut()))
    }
}

/// How many rows of a batch make a message.
fn rows_of_message(batch: &RecordBatch) -> usize {
    let row_bytes = batch.get_array_memory_size() / batch.num_rows().max(1);
    (MESSAGE_BYTES / row_bytes.max(1)).clamp(1, MESSAGE_ROWS_MAX)
}

/// Copies the values that the rows refer to. Views point into buffers that belong to all rows, and a message would
/// contain these buffers whole.
fn compacted(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    Ok(match array.data_type() {
        DataType::Utf8View => Arc::new(array.as_string_view().gc()),
        DataType::BinaryView => Arc::new(array.as_binary_view().gc()),
        DataType::List(field) => compacted_list(array.as_list::<i32>(), field)?,
        DataType::LargeList(field) => compacted_list(array.as_list::<i64>(), field)?,
        DataType::Struct(fields) => {
            let values = array.as_struct();
            let columns = values.columns().iter().map(compacted).collect::<Result<_, _>>()?;
            let nulls = values.nulls().cloned();
            let made =
                StructArray::try_new_with_length(fields.clone(), columns, nulls, values.len())?;
            Arc::new(made)
        }
        _ => Arc::clone(array),
    })
}

fn compacted_list<O: OffsetSizeTrait>(
    list: &GenericListArray<O>,
    field: &FieldRef,
) -> Result<ArrayRef, ArrowError> {
    let offsets = list.value_offsets();
    let (first, last) = (offsets[0], offsets[list.len()]);
    let values = list.values().slice(first.as_usize(), (last - first).as_usize());
    let lengths = offsets.windows(2).map(|pair| (pair[1] - pair[0]).as_usize());
    let offsets = OffsetBuffer::<O>::from_lengths(lengths);
    let nulls = list.nulls().cloned();
    let made = GenericListArray::try_new(Arc::clone(field), offsets, compacted(&values)?, nulls)?;
    Ok(Arc::new(made))
}

/// The messages, one behind the other.
struct Bytes {
    source: Source,
    message: Vec<u8>,
    read: usize,
}

impl Read for Bytes {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.read == self.message.len() {
            self.message = self.source.message().map_err(io::Error::other)?;
            self.read = 0;
        }
        let count = (&self.message[self.read..]).read(out)?;
        self.read += count;
        Ok(count)
    }
}
