//! Arithmetic on arrays: sums, differences and products where they are exact for every selected row.

use types::Repr;

use crate::slice::Selection;
use crate::vector::{Decimals, Floats, Ints, SCALE_MAX, Shown, Values, Vector, bound_of, power};

/// The operations that are computed on arrays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
}

/// The numbers of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Numbers {
    Float8,
    Int4,
    Int8,
    Numeric,
}

/// Returns the operation that a function is, if it is one.
pub(crate) fn operation(name: &str) -> Option<(Arithmetic, Numbers)> {
    use Arithmetic::{Add, Multiply, Subtract};
    Some(match name {
        "float8pl" => (Add, Numbers::Float8),
        "float8mi" => (Subtract, Numbers::Float8),
        "float8mul" => (Multiply, Numbers::Float8),
        "int4pl" => (Add, Numbers::Int4),
        "int4mi" => (Subtract, Numbers::Int4),
        "int4mul" => (Multiply, Numbers::Int4),
        "int8pl" => (Add, Numbers::Int8),
        "int8mi" => (Subtract, Numbers::Int8),
        "int8mul" => (Multiply, Numbers::Int8),
        "numeric_add" => (Add, Numbers::Numeric),
        "numeric_sub" => (Subtract, Numbers::Numeric),
        "numeric_mul" => (Multiply, Numbers::Numeric),
        _ => return None,
    })
}

pub(crate) fn either_null(left: &[bool], right: &[bool]) -> Vec<bool> {
    match (left.is_empty(), right.is_empty()) {
        (_, true) => left.to_vec(),
        (true, false) => right.to_vec(),
        (false, false) => left.iter().zip(right).map(|(left, right)| *left | *right).collect(),
    }
}

/// Computes an operation on arrays; `None` if the result is not exact for every selected row. A side of one row stands for
/// a value that is the same in all rows of the other side; its decimal shows [`Shown::Same`].
pub(crate) fn compute<'a>(
    how: Arithmetic,
    numbers: Numbers,
    left: &Vector<'_>,
    right: &Vector<'_>,
    rows: &Selection,
    nulls: &[bool],
) -> Option<Values<'a>> {
    let is_present = |row: usize| !nulls.get(row).is_some_and(|is_null| *is_null);
    match (numbers, &left.values, &right.values) {
        (Numbers::Float8, Values::Floats(left), Values::Floats(right)) => {
            let (left, right) = (&left.values, &right.values);
            let values = floats(how, left, right);
            // A result that is infinite, no number or 0 can be an error.
            let is_fine = |row: usize| {
                let value = values[row];
                let is_zero = |side: &[f64]| side[row.min(side.len() - 1)] == 0.0;
                let may_be_zero = how != Arithmetic::Multiply || is_zero(left) || is_zero(right);
                value.is_finite() && (value != 0.0 || may_be_zero)
            };
            let is_plain = values
                .iter()
                .fold(true, |plain, value| plain & value.is_finite() & (*value != 0.0))
                || rows.all(|row| is_fine(row) || !is_present(row));
            is_plain.then(|| Values::Floats(Floats::of(values)))
        }
        (Numbers::Int4 | Numbers::Int8, Values::Ints(left), Values::Ints(right)) => {
            let repr = if numbers == Numbers::Int4 { Repr::Int4 } else { Repr::Int8 };
            let (values, bound) = ints(how, &left.values, &right.values, left.bound, right.bound)?;
            let fits = numbers == Numbers::Int8 || bound <= i32::MAX as u64;
            fits.then_some(Values::Ints(Ints { repr, values, bound }))
        }
        (Numbers::Numeric, Values::Decimals(left), Values::Decimals(right)) => {
            decimals(how, left, right).map(Values::Decimals)
        }
        _ => None,
    }
}

/// Returns what `f` gives for each pair of values. A side of one value stands for as many as the other side has.
#[inline]
fn each_pair<T: Copy>(left: &[T], right: &[T], f: impl Fn(T, T) -> T) -> Vec<T> {
    match (left, right) {
        (all, [one]) => all.iter().map(|value| f(*value, *one)).collect(),
        ([one], all) => all.iter().map(|value| f(*one, *value)).collect(),
        _ => left.iter().zip(right).map(|(left, right)| f(*left, *right)).collect(),
    }
}

fn floats(how: Arithmetic, left: &[f64], right: &[f64]) -> Vec<f64> {
    match how {
        Arithmetic::Add => each_pair(left, right, |left, right| left + right),
        Arithmetic::Subtract => each_pair(left, right, |left, right| left - right),
        Arithmetic::Multiply => each_pair(left, right, |left, right| left * right),
    }
}

/// Computes with integers whose bounds say that no result has more than 63 bits. Returns the results and their bound.
fn ints(
    how: Arithmetic,
    left: &[i64],
    right: &[i64],
    left_bound: u64,
    right_bound: u64,
) -> Option<(Vec<i64>, u64)> {
    /// A bound up to this is good enough, without a look at the results: many of them can still be added.
    const BOUND_SMALL: u64 = i32::MAX as u64;
    let most = match how {
        Arithmetic::Add | Arithmetic::Subtract => left_bound.checked_add(right_bound)?,
        Arithmetic::Multiply => left_bound.checked_mul(right_bound)?,
    };
    i64::try_from(most).ok()?;
    let values = match how {
        Arithmetic::Add => each_pair(left, right, i64::wrapping_add),
        Arithmetic::Subtract => each_pair(left, right, i64::wrapping_sub),
        Arithmetic::Multiply => each_pair(left, right, i64::wrapping_mul),
    };
    let bound = if most <= BOUND_SMALL { most } else { bound_of(&values) };
    Some((values, bound))
}

fn decimals(how: Arithmetic, left: &Decimals, right: &Decimals) -> Option<Decimals> {
    let (scale, shown, values, bound);
    if how == Arithmetic::Multiply {
        scale = left.scale + right.scale;
        shown = each_shown(left, right, |left, right| left + right);
        (values, bound) = ints(how, &left.mantissas, &right.mantissas, left.bound, right.bound)?;
    } else {
        scale = left.scale.max(right.scale);
        shown = each_shown(left, right, u8::max);
        let (left, left_bound) = rescaled(left, scale)?;
        let (right, right_bound) = rescaled(right, scale)?;
        (values, bound) = ints(how, &left, &right, left_bound, right_bound)?;
    }
    if scale > SCALE_MAX {
        return None;
    }
    Some(Decimals { scale, mantissas: values, shown, bound })
}

/// Returns the mantissas of numbers at a larger scale, and their bound.
pub(crate) fn rescaled(
    numbers: &Decimals,
    scale: u32,
) -> Option<(std::borrow::Cow<'_, [i64]>, u64)> {
    if numbers.scale == scale {
        return Some((numbers.mantissas.as_slice().into(), numbers.bound));
    }
    let factor = power(scale - numbers.scale);
    let bound = numbers.bound.checked_mul(factor as u64).filter(|b| i64::try_from(*b).is_ok())?;
    let all: Vec<i64> = numbers.mantissas.iter().map(|one| one.wrapping_mul(factor)).collect();
    Some((all.into(), bound))
}

fn each_shown(left: &Decimals, right: &Decimals, combine: fn(u8, u8) -> u8) -> Shown {
    match (&left.shown, &right.shown) {
        (Shown::Same(left), Shown::Same(right)) => Shown::Same(combine(*left, *right)),
        (left_shown, right_shown) => {
            let each = |row| combine(left_shown.get(row), right_shown.get(row));
            let rows = left.mantissas.len().max(right.mantissas.len());
            Shown::Each((0..rows).map(each).collect())
        }
    }
}
