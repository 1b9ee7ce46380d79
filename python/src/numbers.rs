//! Numbers of JSON and SQL as numbers of Python: nothing of their digits is lost unasked.
//!
//! | text | with `exact` | `float` | `decimal` |
//! |---|---|---|---|
//! | `7`, `-12345678901234567890` | `int` | `int` | `int` |
//! | `0.1`, `1e16` | `float` | `float` | `Decimal` |
//! | `0.1234567890123456789`, `1e400` | `Decimal` | `float` (`inf` is refused) | `Decimal` |
//!
//! `exact` gives a `float` where a float holds the number: where the shortest text of the float, which is
//! what Python shows, is the same number.

use num_bigint::BigInt;
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyString};

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
    if !text.contains(['.', 'e', 'E']) {
        return integer(py, text);
    }
    match numbers {
        Numbers::Decimal => decimal(py, text),
        Numbers::Float => {
            let value: f64 = text.parse().expect("a number of JSON is one of Rust");
            if value.is_infinite() {
                return Err(PyOverflowError::new_err(format!("{text} is too large for a float")));
            }
            Ok(value.into_pyobject(py)?.into_any())
        }
        Numbers::Exact => match held_by_float(text) {
            Some(value) => Ok(value.into_pyobject(py)?.into_any()),
            None => decimal(py, text),
        },
    }
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
