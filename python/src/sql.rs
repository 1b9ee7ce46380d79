//! Answers of SQL: values of Python row by row, or columns of Arrow.
//!
//! | SQL | Python |
//! |---|---|
//! | `bool`, `int2`, `int4`, `int8`, `oid` | `bool`, `int` |
//! | `float4`, `float8`; `numeric` | `float`; `Decimal` |
//! | `text`, `varchar`, `char`, enums, and all that is not named here | `str` |
//! | `bytea` | `bytes` |
//! | `date`, `time`, `timetz`, `timestamp` | `date`, `time`, `time`, `datetime` without a zone |
//! | `timestamptz` | `datetime` in UTC |
//! | `interval` | `timedelta`: a month is 30 days, a year 365 |
//! | `uuid` | `UUID` |
//! | `json`, `jsonb` | as documents |
//! | arrays | lists, of lists where there are several dimensions |
//!
//! A date or time that Python has none for (`infinity`, 10000 AD, `24:00`) is an error that says so.

use anywhen::sql::{self, Datum, Oid, Type};
use arrow_array::RecordBatchIterator;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use json::{Kind, Tape};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBytes, PyCapsule, PyDate, PyDateTime, PyDelta, PyList, PyString, PyTime, PyTuple, PyTzInfo,
};
use types::{ArrayRef, DatumRef, Dimension};

use crate::errors::{Failure, Outcome};
use crate::handle::engine;
use crate::numbers::{self, Numbers};
use crate::value::from_json;

/// 2000-01-01 as `date.toordinal` counts: where days of SQL begin.
const EPOCH_ORDINAL: i64 = 730_120;
const DAY_US: i64 = 86_400_000_000;

/// Name, name and number of the type, and precision and scale of a `numeric` that has them.
type ColumnRow = (String, String, u32, Option<(i32, i32)>);

/// The answer to a statement.
#[pyclass(frozen, module = "anywhen._native")]
pub(crate) struct Answer {
    answer: sql::Answer,
}

impl Answer {
    pub(crate) fn new(answer: sql::Answer) -> Answer {
        Answer { answer }
    }
}

#[pymethods]
impl Answer {
    /// Name, name and number of the type, and its precision and scale where it has them, of each column.
    fn columns(&self) -> Vec<ColumnRow> {
        let columns = self.answer.columns.iter().zip(&self.answer.declared);
        columns
            .map(|(column, (oid, ty))| {
                let numeric = (column.ty == Type::NUMERIC).then(|| column.modifier.numeric());
                (column.name.clone(), ty.clone(), oid.0, numeric.flatten())
            })
            .collect()
    }

    /// The tag, such as `INSERT 0 1`.
    #[getter]
    fn tag(&self) -> &str {
        &self.answer.tag
    }

    /// How many rows that were, where the command counts them.
    #[getter]
    fn count(&self) -> Option<u64> {
        self.answer.count
    }

    fn __len__(&self) -> usize {
        self.answer.rows.len()
    }

    /// The rows from `start` up to `stop`, as tuples.
    fn rows<'py>(
        &self,
        py: Python<'py>,
        start: usize,
        stop: usize,
        numbers: Numbers,
    ) -> PyResult<Bound<'py, PyList>> {
        let stop = stop.min(self.answer.rows.len());
        let rows = self.answer.rows.get(start..stop).unwrap_or_default();
        let list = PyList::empty(py);
        for row in rows {
            let values = row.iter().zip(&self.answer.columns);
            let values =
                values.map(|(value, column)| python(py, value.as_ref(), column.ty, numbers));
            list.append(PyTuple::new(py, values.collect::<PyResult<Vec<_>>>()?)?)?;
        }
        Ok(list)
    }

    /// The rows as a stream of Arrow (the Arrow PyCapsule interface).
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The producer of a stream may ignore a requested schema; all callers take the stream
        // as it is.
        let _ = requested_schema;
        let (schema, batches) = engine(py, || Ok(self.answer.to_arrow()?))?;
        let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// The answer that a server gave as texts: columns as name, number of the type and modifier.
#[pyfunction]
pub(crate) fn answer_from_texts(
    py: Python<'_>,
    columns: Vec<(String, u32, i32)>,
    rows: Vec<Vec<Option<String>>>,
    tag: String,
) -> PyResult<Answer> {
    let columns = columns.into_iter().map(|(name, oid, modifier)| (name, Oid(oid), modifier));
    engine(py, || Ok(Answer::new(sql::Answer::from_texts(columns, rows, tag)?)))
}

/// The answer of `POST /v1/sql`.
#[pyfunction]
pub(crate) fn answer_from_http(py: Python<'_>, body: &[u8]) -> PyResult<Answer> {
    engine(py, || {
        let tape = Tape::parse(body)?;
        let bad = || Failure::sql("08P01", "this is no answer of /v1/sql".into());
        let root = tape.root();
        let mut columns = Vec::new();
        for column in root.get("columns").ok_or_else(bad)?.children() {
            let name = column.get("name").and_then(|name| name.as_str()).ok_or_else(bad)?;
            let ty = column.get("type").and_then(|ty| ty.as_str()).ok_or_else(bad)?;
            let oid = sql::Answer::type_named(&ty).unwrap_or(Type::TEXT.oid());
            columns.push((name.into_owned(), oid, -1));
        }
        let rows = root.get("rows").ok_or_else(bad)?.children();
        let rows: Vec<Vec<Option<String>>> = rows
            .map(|row| {
                row.children().zip(&columns).map(|(value, (_, oid, _))| text(value, *oid)).collect()
            })
            .collect();
        let command = root.get("command").and_then(|tag| tag.as_str()).unwrap_or_default();
        let count = root.get("count").and_then(|count| count.as_u64());
        // As PostgreSQL writes it: with the OID of the row, which is 0 because tables no longer have OIDs.
        let counted = if command == "INSERT" { "INSERT 0" } else { &command };
        let tag = count.map_or_else(|| command.to_string(), |count| format!("{counted} {count}"));
        let mut answer = sql::Answer::from_texts(columns, rows, tag)?;
        answer.count = count;
        Ok(Answer::new(answer))
    })
}

/// The text of a value that came as JSON.
fn text(value: json::Node<'_>, oid: Oid) -> Option<String> {
    let is_json = [Type::JSON.oid(), Type::JSONB.oid()].contains(&oid);
    match value.kind() {
        // A NULL of SQL, or one of JSON: over HTTP they look alike.
        Kind::Null => None,
        Kind::String if !is_json => value.as_str().map(|text| text.into_owned()),
        _ => Some(value.to_json()),
    }
}

/// Microseconds since 1970 of an instant as people write it, such as `2026-11-21 10:00:00+00`.
///
/// # Errors
/// Where it is no time, or leaves open in which time zone.
#[pyfunction]
pub(crate) fn parse_time(py: Python<'_>, text: &str) -> PyResult<u64> {
    let read = || -> Outcome<u64> {
        if anywhen::time::parse(text).is_some() && !has_zone(text.trim()) {
            let text =
                format!("{text:?} has no time zone: add one, such as +00 for UTC, or +01:00");
            return Err(Failure::time(text));
        }
        anywhen::time::parse(text).ok_or_else(|| {
            Failure::time(format!("{text:?} is no time such as 2026-11-21 10:30:00+01:00"))
        })
    };
    engine(py, read)
}

/// True if a text that is a time says where: by an offset, or because it counts from 1970.
fn has_zone(text: &str) -> bool {
    let clock = text.find(['T', 't', ' ']).map_or("", |at| &text[at..]);
    text.starts_with('@') || clock.contains(['Z', 'z', '+', '-'])
}

fn unfit(py: Python<'_>, value: DatumRef<'_>, ty: Type) -> PyErr {
    let style = types::Style::default();
    let context = types::Context::new(&style);
    let shown = types::text::to_string(value, ty, types::Modifier::NONE, &context);
    let shown = shown.unwrap_or_default();
    let message = format!("{} {shown} is beyond what Python's datetime holds", sql::type_name(ty));
    Failure::sql("22008", format!("{message}; cast it to text")).raise(py)
}

/// A value as one of Python.
fn python<'py>(
    py: Python<'py>,
    value: DatumRef<'_>,
    ty: Type,
    numbers: Numbers,
) -> PyResult<Bound<'py, PyAny>> {
    let bad = |_: PyErr| unfit(py, value, ty);
    Ok(match value {
        DatumRef::Null => py.None().into_bound(py),
        DatumRef::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        DatumRef::Int2(value) => value.into_pyobject(py)?.into_any(),
        DatumRef::Int4(value) => value.into_pyobject(py)?.into_any(),
        DatumRef::Int8(value) => value.into_pyobject(py)?.into_any(),
        DatumRef::Oid(value) => value.0.into_pyobject(py)?.into_any(),
        DatumRef::Float4(value) => {
            // The shortest text decides: a `float4` of 0.1 becomes 0.1, and not 0.10000000149011612.
            let shown: f64 = value.to_string().parse().unwrap_or(f64::from(value));
            shown.into_pyobject(py)?.into_any()
        }
        DatumRef::Float8(value) => value.into_pyobject(py)?.into_any(),
        DatumRef::Numeric(value) => numbers::decimal(py, &value.get().to_string())?,
        DatumRef::Text(text) if ty == Type::JSON => from_json(py, text.as_bytes(), numbers)?,
        DatumRef::Text(text) | DatumRef::Folded(text) => PyString::new(py, text).into_any(),
        DatumRef::Bytea(bytes) => PyBytes::new(py, bytes).into_any(),
        DatumRef::Date(date) => {
            let day = EPOCH_ORDINAL + i64::from(date.0);
            py.get_type::<PyDate>().call_method1("fromordinal", (day,)).map_err(bad)?
        }
        DatumRef::Time(time) => clock(py, time.0, None).map_err(bad)?.into_any(),
        DatumRef::TimeTz(time) => {
            let east = PyDelta::new(py, 0, -time.west_s, 0, true)?;
            let zone = PyTzInfo::fixed_offset(py, east).map_err(bad)?;
            clock(py, time.time.0, Some(&zone)).map_err(bad)?.into_any()
        }
        DatumRef::Timestamp(moment) => instant(py, moment.0, false).map_err(bad)?,
        DatumRef::TimestampTz(moment) => instant(py, moment.0, true).map_err(bad)?,
        DatumRef::Interval(span) if span.is_finite() => {
            let days = span.months / 12 * 365 + span.months % 12 * 30;
            let days = i64::from(days) + i64::from(span.days) + span.us.div_euclid(DAY_US);
            delta(py, days, span.us.rem_euclid(DAY_US)).map_err(bad)?.into_any()
        }
        DatumRef::Interval(_) => return Err(unfit(py, value, ty)),
        DatumRef::Uuid(bytes) => {
            static UUID: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            let bytes = PyBytes::new(py, &bytes);
            UUID.import(py, "uuid", "UUID")?.call1((py.None(), bytes))?
        }
        DatumRef::Jsonb(_) => {
            let style = types::Style::default();
            let context = types::Context::new(&style);
            let text = types::text::to_string(value, ty, types::Modifier::NONE, &context);
            let text = text.unwrap_or_default();
            from_json(py, text.as_bytes(), numbers)?
        }
        DatumRef::Array(array) => {
            let mut at = 0;
            let values: Vec<Datum> = array.to_vec();
            list(py, array, &array.dimensions(), &values, &mut at, numbers)?.into_any()
        }
        DatumRef::Record(_) | DatumRef::Enum(_) | DatumRef::Range(_) | DatumRef::Multirange(_) => {
            unreachable!("an answer has them as text")
        }
    })
}

/// The values of an array, the first dimension outermost.
fn list<'py>(
    py: Python<'py>,
    array: ArrayRef<'_>,
    dimensions: &[Dimension],
    values: &[Datum],
    at: &mut usize,
    numbers: Numbers,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    let Some((first, rest)) = dimensions.split_first() else { return Ok(list) };
    for _ in 0..first.length {
        if rest.is_empty() {
            list.append(python(py, values[*at].as_ref(), array.element_type(), numbers)?)?;
            *at += 1;
        } else {
            list.append(self::list(py, array, rest, values, at, numbers)?)?;
        }
    }
    Ok(list)
}

fn delta<'py>(py: Python<'py>, days: i64, us: i64) -> PyResult<Bound<'py, PyDelta>> {
    let days = i32::try_from(days).unwrap_or(i32::MAX);
    PyDelta::new(py, days, (us / 1_000_000) as i32, (us % 1_000_000) as i32, false)
}

/// A time of day; 24:00 is none of Python's.
fn clock<'py>(
    py: Python<'py>,
    us: i64,
    zone: Option<&Bound<'py, PyTzInfo>>,
) -> PyResult<Bound<'py, PyTime>> {
    let seconds = us / 1_000_000;
    let (hour, minute) = ((seconds / 3600) as u8, (seconds / 60 % 60) as u8);
    PyTime::new(py, hour, minute, (seconds % 60) as u8, (us % 1_000_000) as u32, zone)
}

/// An instant, in microseconds since 2000.
fn instant<'py>(py: Python<'py>, us: i64, has_zone: bool) -> PyResult<Bound<'py, PyAny>> {
    static EPOCHS: PyOnceLock<[Py<PyDateTime>; 2]> = PyOnceLock::new();
    let epochs = EPOCHS.get_or_try_init(py, || {
        let utc = PyTzInfo::utc(py)?.to_owned();
        let epoch = |zone| PyDateTime::new(py, 2000, 1, 1, 0, 0, 0, 0, zone);
        PyResult::Ok([epoch(None)?.unbind(), epoch(Some(&utc))?.unbind()])
    })?;
    let since = delta(py, us.div_euclid(DAY_US), us.rem_euclid(DAY_US))?;
    epochs[usize::from(has_zone)].bind(py).add(since)
}
