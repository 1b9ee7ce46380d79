//! Numbers of JSON and SQL as numbers of Python. No digit is lost unless the caller asks for floats.
//!
//! | text | with `exact` | `float` | `decimal` |
//! |---|---|---|---|
//! | `7`, `-12345678901234567890` | `int` | `int` | `int` |
//! | `0.1`, `1e16` | `float` | `float` | `Decimal` |
//! | `1.10`, `1E5`, `-0` | `WrittenFloat` | `float` | `Decimal`; `WrittenDecimal` for `1E5` |
//! | `0.1234567890123456789`, `1e400` | `Decimal`; `WrittenDecimal` for `1e400` | `float` (`inf` is refused) | `Decimal` |
//!
//! `exact` gives a `float` where a float holds the number: where the shortest text of the float, which is
//! what Python shows, is the same number. A number that would be written with another text than it was read
//! from is of a class that remembers the text (`anywhen/_numbers.py`). So a number that is put back unchanged
//! is stored unchanged.

use num_bigint::BigInt;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyFloat, PyInt, PyString};

use crate::errors::Failure;

/// How numbers with a fraction or an exponent come out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Numbers {
    /// `float` where it holds the number, else `Decimal`.
    Exact,
    /// Always `float`, the nearest.
    Float,
    /// Always `Decimal`.
    Decimal,
}

impl<'py> FromPyObject<'_, 'py> for Numbers {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.extract::<&str>()? {
            "exact" => Ok(Numbers::Exact),
            "float" => Ok(Numbers::Float),
            "decimal" => Ok(Numbers::Decimal),
            other => {
                let text = format!("numbers={other:?} is none of exact, float, decimal");
                Err(PyValueError::new_err(text))
            }
        }
    }
}

/// The number that a text of JSON stands for.
pub(crate) fn read<'py>(
    py: Python<'py>,
    text: &str,
    numbers: Numbers,
) -> PyResult<Bound<'py, PyAny>> {
    // An int has no sign of zero.
    if !text.contains(['.', 'e', 'E']) && text != "-0" {
        return integer(py, text);
    }
    match numbers {
        Numbers::Decimal => written_decimal(py, text),
        Numbers::Float => {
            let value: f64 = text.parse().expect("a number of JSON is one of Rust");
            if value.is_infinite() {
                let shown =
                    text.get(..SHOWN).map_or_else(|| text.into(), |cut| format!("{cut}..."));
                let mut failure = Failure::value(format!("{shown} is too large for a float"));
                failure.advise("numbers=\"exact\" gives a Decimal for what no float holds");
                return Err(failure.raise(py));
            }
            Ok(value.into_pyobject(py)?.into_any())
        }
        Numbers::Exact => match held_by_float(text) {
            Some(value) if is_as_written(text, value) => Ok(value.into_pyobject(py)?.into_any()),
            Some(value) => written_float(py, text, value),
            None => written_decimal(py, text),
        },
    }
}

/// Digits of a number that an error shows.
const SHOWN: usize = 40;

/// The text that a float is written as: the shortest that is that float.
pub(crate) fn float_text(value: f64) -> String {
    format!("{value:?}")
}

/// The text that a float of a class below `float` is written as.
pub(crate) fn float_object_text(number: &Bound<'_, PyFloat>) -> PyResult<String> {
    let is_written = number.get_type().is(written_float_type(number.py())?);
    written_or(number.as_any(), is_written, || Ok(float_text(number.value())))
}

/// The text that a `Decimal` is written as.
pub(crate) fn decimal_text(number: &Bound<'_, PyAny>) -> PyResult<String> {
    let is_written = number.get_type().is(written_decimal_type(number.py())?);
    written_or(number, is_written, || Ok(number.str()?.to_str()?.to_owned()))
}

/// Returns the text from which a number was read, if it has one that is a number of JSON; else the result of `or`.
fn written_or(
    number: &Bound<'_, PyAny>,
    is_written: bool,
    or: impl FnOnce() -> PyResult<String>,
) -> PyResult<String> {
    if is_written {
        let text: String = number.getattr("written")?.extract()?;
        if is_number(&text) {
            return Ok(text);
        }
    }
    or()
}

/// True for a text that is a number of JSON. Python code can make the remembering classes with any text.
fn is_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|text| digits(text.strip_prefix(['+', '-']).unwrap_or(text)))
}

/// True if a float that was read from `text` is written as the same text.
fn is_as_written(text: &str, value: f64) -> bool {
    // Fifteen digits with nothing to leave out are the shortest text, unless it has an exponent.
    let is_short = text.len() <= 16 && !text.contains(['e', 'E']);
    let is_plain = text.contains('.') && (!text.ends_with('0') || text.ends_with(".0"));
    if is_short && is_plain && value.abs() >= 1e-4 {
        return true;
    }
    float_text(value) == text
}

fn integer<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(small) = text.parse::<i64>() {
        return Ok(small.into_pyobject(py)?.into_any());
    }
    // Digits to base 16 are taken in any number, and in linear time.
    let number: BigInt = text.parse().expect("digits are a number");
    py.get_type::<PyInt>().call1((format!("{number:x}"), 16))
}

/// The text of a whole number of any size.
pub(crate) fn integer_text(number: &Bound<'_, PyInt>) -> PyResult<String> {
    if let Ok(small) = number.extract::<i64>() {
        return Ok(small.to_string());
    }
    let format = number.py().get_type::<PyInt>().getattr("__format__")?;
    let hex = format.call1((number, "x"))?;
    let hex = hex.cast::<PyString>()?.to_str()?;
    let number = BigInt::parse_bytes(hex.as_bytes(), 16).expect("Python writes digits to base 16");
    Ok(number.to_string())
}

/// A `Decimal` that is written with the text that it was read from.
fn written_decimal<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let number = decimal(py, text).map_err(|_| {
        let shown = text.get(..SHOWN).map_or_else(|| text.into(), |cut| format!("{cut}..."));
        Failure::value(format!("{shown} is beyond what Python's Decimal holds")).raise(py)
    })?;
    match text.contains(['e', 'E']) && number.str()?.to_str()? != text {
        true => written_decimal_type(py)?.call1((text,)),
        false => Ok(number),
    }
}

/// A `WrittenFloat`, made without the steps of Python that its own constructor takes.
fn written_float<'py>(py: Python<'py>, text: &str, value: f64) -> PyResult<Bound<'py, PyAny>> {
    static NEW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let new = NEW.get_or_try_init(py, || {
        PyResult::Ok(py.get_type::<PyFloat>().getattr("__new__")?.unbind())
    })?;
    let number = new.bind(py).call1((written_float_type(py)?, value))?;
    number.setattr(intern!(py, "written"), text)?;
    Ok(number)
}

fn written_float_type<'py>(py: Python<'py>) -> PyResult<&'py Bound<'py, PyAny>> {
    static TYPE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    TYPE.import(py, "anywhen._numbers", "WrittenFloat")
}

fn written_decimal_type<'py>(py: Python<'py>) -> PyResult<&'py Bound<'py, PyAny>> {
    static TYPE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    TYPE.import(py, "anywhen._numbers", "WrittenDecimal")
}

/// A `Decimal` of the digits.
pub(crate) fn decimal<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    decimal_type(py)?.call1((text,))
}

pub(crate) fn decimal_type<'py>(py: Python<'py>) -> PyResult<&'py Bound<'py, PyAny>> {
    static DECIMAL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    DECIMAL.import(py, "decimal", "Decimal")
}

/// The float that is this number and no other.
fn held_by_float(text: &str) -> Option<f64> {
    let value: f64 = text.parse().ok()?;
    // Fifteen digits always come back as they were, but for numbers that are hardly any.
    if text.len() <= 16 && !text.contains(['e', 'E']) {
        return Some(value);
    }
    (value.is_finite() && parts(text) == parts(&format!("{value:e}"))).then_some(value)
}

/// A number as its significant digits and the power of ten that the first of them stands for.
fn parts(text: &str) -> (String, i64) {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let mantissa = mantissa.trim_start_matches('-');
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0');
    let first = whole.len() as i64 - (digits.len() - significant.len()) as i64;
    let significant = significant.trim_end_matches('0');
    if significant.is_empty() {
        return (String::new(), 0);
    }
    // An exponent that is no number of 64 bits belongs to no float.
    let exponent = exponent.trim_start_matches('+').parse::<i64>().unwrap_or(i64::MAX / 2);
    (significant.to_owned(), first.saturating_add(exponent))
}
