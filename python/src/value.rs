//! Values of JSON: Python objects to text, and text to Python objects.
//!
//! | Python | JSON | and back |
//! |---|---|---|
//! | `None`, `True`, `False` | `null`, `true`, `false` | the same |
//! | `int` of any size | its digits | `int` |
//! | `float` | the shortest text that is that float | see [`crate::numbers`] |
//! | `Decimal` | its digits, all of them | see [`crate::numbers`] |
//! | `WrittenFloat`, `WrittenDecimal` | the text that it was read from | see [`crate::numbers`] |
//! | `str` | a string | `str` |
//! | `list`, `tuple` | an array | `list` |
//! | `dict` | an object, in its order | `dict` |
//!
//! An error names the place of a value that is refused: NaN and infinities, half of a surrogate pair in a
//! `str`, names that are not `str`, objects of other types, and values that are nested deeper than a document
//! can be. A list that contains itself is refused as too deep.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use json::{Kind, Limits, Sink, Stopped};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyNone, PyString, PyTuple};

use crate::errors::Failure;
use crate::numbers::{self, Numbers};

/// Depth of JSON that is no document: what an answer of SQL can hold.
const DEPTH_MAX: usize = 100_000;

/// A value as compact JSON.
///
/// # Errors
/// `TypeError` and `InvalidValueError`, as the documentation of this module says.
pub(crate) fn to_json(value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let mut out = Vec::new();
    let depth_max = anywhen::limits().depth;
    match write(value, &mut out, depth_max) {
        Ok(()) => Ok(out),
        Err(bad) => Err(bad.told(value.py())),
    }
}

/// A value without a place in JSON, and its position.
struct Bad {
    /// The steps that lead there, the last one first.
    steps: Vec<String>,
    what: BadCause,
}

enum BadCause {
    /// A value that JSON cannot hold, of a type that it has.
    Value(String),
    /// A type that JSON does not have.
    Type(String),
    /// Python itself failed.
    Raised(PyErr),
}

impl From<PyErr> for Box<Bad> {
    fn from(error: PyErr) -> Self {
        Box::new(Bad { steps: Vec::new(), what: BadCause::Raised(error) })
    }
}

impl Bad {
    fn value(text: impl Into<String>) -> Box<Bad> {
        Box::new(Bad { steps: Vec::new(), what: BadCause::Value(text.into()) })
    }

    fn of_type(text: impl Into<String>) -> Box<Bad> {
        Box::new(Bad { steps: Vec::new(), what: BadCause::Type(text.into()) })
    }

    fn told(self, py: Python<'_>) -> PyErr {
        /// The most steps of a path that an error shows.
        const SHOWN: usize = 12;
        let mut place = String::from("$");
        let shown: Vec<&str> = self.steps.iter().rev().map(String::as_str).collect();
        place.extend(shown.iter().take(SHOWN).copied());
        if shown.len() > SHOWN {
            place += "...";
        }
        match self.what {
            BadCause::Value(text) => Failure::value(format!("{text} (at {place})")).raise(py),
            BadCause::Type(text) => PyTypeError::new_err(format!("{text} (at {place})")),
            BadCause::Raised(error) => error,
        }
    }
}

/// The name of a step of a path.
fn step(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    match is_plain && !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!(".{name}"),
        false => format!("[{}]", json::text::quote(name)),
    }
}

fn write(value: &Bound<'_, PyAny>, out: &mut Vec<u8>, levels: usize) -> Result<(), Box<Bad>> {
    if let Ok(text) = value.cast::<PyString>() {
        return write_string(text, out);
    }
    if value.cast::<PyBool>().is_ok() {
        out.extend_from_slice(if value.is_truthy()? { b"true" } else { b"false" });
    } else if let Ok(number) = value.cast::<PyInt>() {
        out.extend_from_slice(numbers::integer_text(number)?.as_bytes());
    } else if let Ok(number) = value.cast::<PyFloat>() {
        if !number.value().is_finite() {
            return Err(Bad::value(format!("JSON has no {}", value.repr()?)));
        }
        let text = match value.is_exact_instance_of::<PyFloat>() {
            true => numbers::float_text(number.value()),
            false => numbers::float_object_text(number)?,
        };
        out.extend_from_slice(text.as_bytes());
    } else if value.cast::<PyNone>().is_ok() {
        out.extend_from_slice(b"null");
    } else if let Ok(object) = value.cast::<PyDict>() {
        write_object(object, out, levels)?;
    } else if let Ok(list) = value.cast::<PyList>() {
        write_array(list.iter(), out, levels)?;
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        write_array(tuple.iter(), out, levels)?;
    } else if value.is_instance(numbers::decimal_type(value.py())?)? {
        if !value.call_method0("is_finite")?.is_truthy()? {
            return Err(Bad::value(format!("JSON has no {}", value.repr()?)));
        }
        out.extend_from_slice(numbers::decimal_text(value)?.as_bytes());
    } else {
        let ty = value.get_type();
        return Err(Bad::of_type(format!(
            "a document cannot hold an object of type {}: only dict, list, tuple, str, int, float, \
             Decimal, bool and None",
            ty.fully_qualified_name()?
        )));
    }
    Ok(())
}

fn write_string(text: &Bound<'_, PyString>, out: &mut Vec<u8>) -> Result<(), Box<Bad>> {
    let text = text.to_str().map_err(|_| {
        Bad::value("a str with half of a surrogate pair is no text and cannot be stored")
    })?;
    out.push(b'"');
    json::text::escape_into(text, out);
    out.push(b'"');
    Ok(())
}

/// The levels below a container.
fn below(levels: usize) -> Result<usize, Box<Bad>> {
    levels.checked_sub(1).ok_or_else(|| {
        let depth = anywhen::limits().depth;
        Bad::value(format!("the value is nested deeper than {depth} levels, or holds itself"))
    })
}

fn write_array<'py>(
    values: impl Iterator<Item = Bound<'py, PyAny>>,
    out: &mut Vec<u8>,
    levels: usize,
) -> Result<(), Box<Bad>> {
    let levels = below(levels)?;
    out.push(b'[');
    for (at, value) in values.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write(&value, out, levels).map_err(|mut bad| {
            bad.steps.push(format!("[{at}]"));
            bad
        })?;
    }
    out.push(b']');
    Ok(())
}

fn write_object(
    object: &Bound<'_, PyDict>,
    out: &mut Vec<u8>,
    levels: usize,
) -> Result<(), Box<Bad>> {
    let levels = below(levels)?;
    out.push(b'{');
    // A list of its own: another thread may change the dict meanwhile.
    for (at, pair) in object.items().iter().enumerate() {
        let (name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
        let Ok(name) = name.cast::<PyString>() else {
            let ty = name.get_type().fully_qualified_name()?;
            return Err(Bad::of_type(format!("the names of an object are str, not {ty}")));
        };
        if at > 0 {
            out.push(b',');
        }
        write_string(name, out)?;
        out.push(b':');
        write(&value, out, levels).map_err(|mut bad| {
            bad.steps.push(name.to_str().map_or_else(|_| "[?]".to_owned(), step));
            bad
        })?;
    }
    out.push(b'}');
    Ok(())
}

/// Reads a JSON text as a Python value.
///
/// # Errors
/// `InvalidValueError` if the text is not JSON.
pub(crate) fn from_json<'py>(
    py: Python<'py>,
    text: &[u8],
    numbers: Numbers,
) -> PyResult<Bound<'py, PyAny>> {
    let mut builder = Builder {
        py,
        numbers,
        open: Vec::new(),
        name: None,
        names: HashMap::default(),
        root: None,
        error: None,
    };
    let limits = Limits { depth: DEPTH_MAX, ..Limits::default() };
    match json::parse_slice(text, &limits, &mut builder) {
        Ok(()) => Ok(builder.root.expect("a text that parses has a value")),
        Err(error) => Err(builder.error.take().unwrap_or_else(|| {
            let failure: Box<Failure> = error.into();
            failure.raise(py)
        })),
    }
}

enum Open<'py> {
    List(Bound<'py, PyList>),
    Dict(Bound<'py, PyDict>),
}

/// Makes Python objects of the tokens of a text, as they come.
struct Builder<'py> {
    py: Python<'py>,
    numbers: Numbers,
    /// Containers that have not ended, the innermost last.
    open: Vec<Open<'py>>,
    /// The name of the field whose value comes next.
    name: Option<Bound<'py, PyString>>,
    /// Names that came before: objects of an array mostly have the same.
    names: HashMap<Box<[u8]>, Bound<'py, PyString>, RandomState>,
    root: Option<Bound<'py, PyAny>>,
    /// The exception of Python where it failed.
    error: Option<PyErr>,
}

impl<'py> Builder<'py> {
    fn put(&mut self, value: Bound<'py, PyAny>) -> PyResult<()> {
        match self.open.last() {
            None => self.root = Some(value),
            Some(Open::List(list)) => list.append(value)?,
            Some(Open::Dict(dict)) => {
                let name = self.name.take().expect("a field has a name");
                dict.set_item(name, value)?;
            }
        }
        Ok(())
    }

    fn done(&mut self, done: PyResult<()>) -> Result<(), Stopped> {
        done.map_err(|error| {
            self.error = Some(error);
            Stopped
        })
    }

    fn made(&mut self, kind: Kind, text: &[u8]) -> PyResult<()> {
        let py = self.py;
        let value = match kind {
            Kind::Null => py.None().into_bound(py),
            Kind::True | Kind::False => PyBool::new(py, kind == Kind::True).to_owned().into_any(),
            Kind::Number => {
                let text = std::str::from_utf8(text).expect("numbers are ASCII");
                numbers::read(py, text, self.numbers)?
            }
            Kind::String => PyString::new(py, &json::text::unescape(text)).into_any(),
            Kind::Array => {
                let list = PyList::empty(py);
                self.put(list.clone().into_any())?;
                self.open.push(Open::List(list));
                return Ok(());
            }
            Kind::Object => {
                let dict = PyDict::new(py);
                self.put(dict.clone().into_any())?;
                self.open.push(Open::Dict(dict));
                return Ok(());
            }
        };
        self.put(value)
    }
}

impl Sink for Builder<'_> {
    fn name(&mut self, text: &[u8]) -> Result<(), Stopped> {
        let name = match self.names.get(text) {
            Some(name) => name.clone(),
            None => {
                let name = PyString::new(self.py, &json::text::unescape(text));
                self.names.insert(text.into(), name.clone());
                name
            }
        };
        self.name = Some(name);
        Ok(())
    }

    fn scalar(&mut self, kind: Kind, text: &[u8]) -> Result<(), Stopped> {
        let made = self.made(kind, text);
        self.done(made)
    }

    fn open(&mut self, kind: Kind) -> Result<(), Stopped> {
        let made = self.made(kind, &[]);
        self.done(made)
    }

    fn close(&mut self) -> Result<(), Stopped> {
        self.open.pop();
        Ok(())
    }
}

/// A value as compact JSON.
#[pyfunction]
pub(crate) fn dumps<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(value.py(), &to_json(value)?))
}

/// The value of a text of JSON, as `bytes` or `str`.
#[pyfunction]
pub(crate) fn loads<'py>(
    text: &Bound<'py, PyAny>,
    numbers: Numbers,
) -> PyResult<Bound<'py, PyAny>> {
    let py = text.py();
    match text.cast::<PyBytes>() {
        Ok(bytes) => from_json(py, bytes.as_bytes(), numbers),
        Err(_) => from_json(py, text.extract::<&str>()?.as_bytes(), numbers),
    }
}
