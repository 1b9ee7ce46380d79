//! Arrays: put together, taken apart, searched.

use interrupt::Pace;
use types::array::Dimension;
use types::{Array, ArrayRef, Datum, DatumRef, Error, Record, Repr, Result, SqlState, Type};

use crate::function::{Argument, Call, Function, functions, internal, sets};
use crate::rows::Rows;

/// The array of one dimension with these values of a type.
pub(crate) fn from_values(call: &Call<'_>, element: Type, values: &[Datum]) -> Result<Array> {
    let dimension = Dimension { length: values.len() as i32, lower: 1 };
    shaped(call, element, &[dimension], values)
}

/// The array of these dimensions with these values of a type.
pub(crate) fn shaped(
    call: &Call<'_>,
    element: Type,
    dimensions: &[Dimension],
    values: &[Datum],
) -> Result<Array> {
    let repr = call.context.types.types.repr_of(element)?;
    Array::new(element, repr, dimensions, values.iter().map(Datum::as_ref))
}

/// The array of texts.
pub(crate) fn texts<'a>(texts: impl IntoIterator<Item = Option<&'a str>>) -> Result<Array> {
    let texts: Vec<_> =
        texts.into_iter().map(|text| text.map_or(DatumRef::Null, DatumRef::Text)).collect();
    Array::from_elements(Type::TEXT, types::Repr::Text, texts)
}

/// The type of the elements of the array type that a call returns or takes.
fn element(call: &Call<'_>, array: Type) -> Result<Type> {
    crate::facts::Facts(call.context.types.types)
        .element(array)
        .ok_or_else(|| internal("the type of an array is none"))
}

fn refuse(message: impl Into<String>) -> Error {
    Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message)
}

/// An array with one element more, at its end or at its beginning.
fn extend(
    call: &Call<'_>,
    array: Option<ArrayRef<'_>>,
    value: DatumRef<'_>,
    front: bool,
) -> Result<Array> {
    let dimensions = array.map(ArrayRef::dimensions).unwrap_or_default();
    let lower = match dimensions[..] {
        [] => 1,
        [only] => only.lower,
        _ => {
            return Err(Error::new(
                SqlState::DATA_EXCEPTION,
                "argument must be empty or one-dimensional array",
            ));
        }
    };
    let mut values = array.map(ArrayRef::to_vec).unwrap_or_default();
    values.insert(if front { 0 } else { values.len() }, value.to_owned());
    let dimension = Dimension { length: values.len() as i32, lower };
    shaped(call, element(call, call.ret)?, &[dimension], &values)
}

/// Two arrays, one behind the other.
fn concatenate(a: Option<ArrayRef<'_>>, b: Option<ArrayRef<'_>>) -> Result<Option<Array>> {
    let (a, b) = match (a, b) {
        (None, None) => return Ok(None),
        (Some(one), None) | (None, Some(one)) => return Ok(Some(one.to_owned())),
        (Some(a), Some(b)) => (a, b),
    };
    // Nothing changes where one is empty.
    if a.is_empty() {
        return Ok(Some(b.to_owned()));
    }
    if b.is_empty() {
        return Ok(Some(a.to_owned()));
    }
    let incompatible =
        |detail: String| refuse("cannot concatenate incompatible arrays").with_detail(detail);
    let (left, right) = (a.dimensions(), b.dimensions());
    let same = |left: &[Dimension], right: &[Dimension]| {
        left.iter().map(|d| d.length).eq(right.iter().map(|d| d.length))
    };
    let differing =
        "Arrays with differing element dimensions are not compatible for concatenation.";
    let dimensions = if left.len() == right.len() {
        if !same(&left[1..], &right[1..]) {
            return Err(incompatible(differing.to_owned()));
        }
        let mut joined = left.clone();
        joined[0].length += right[0].length;
        joined
    } else if left.len() + 1 == right.len() {
        if !same(&left, &right[1..]) {
            let detail = "Arrays with differing dimensions are not compatible for concatenation.";
            return Err(incompatible(detail.to_owned()));
        }
        let mut joined = right.clone();
        joined[0].length += 1;
        joined
    } else if left.len() == right.len() + 1 {
        if !same(&left[1..], &right) {
            let detail = "Arrays with differing dimensions are not compatible for concatenation.";
            return Err(incompatible(detail.to_owned()));
        }
        let mut joined = left.clone();
        joined[0].length += 1;
        joined
    } else {
        return Err(incompatible(format!(
            "Arrays of {} and {} dimensions are not compatible for concatenation.",
            left.len(),
            right.len()
        )));
    };
    let elements = a.iter().chain(b.iter());
    Array::new(a.element_type(), a.element_repr(), &dimensions, elements).map(Some)
}

/// The dimension of that number, counted from 1.
fn dimension(array: ArrayRef<'_>, number: i32) -> Option<Dimension> {
    let at = usize::try_from(number).ok()?.checked_sub(1)?;
    array.dimensions().get(at).copied()
}

/// The bounds as they are written: `[1:2][1:3]`.
fn bounds(array: ArrayRef<'_>) -> Option<String> {
    let dimensions = array.dimensions();
    (!dimensions.is_empty())
        .then(|| dimensions.iter().map(|d| format!("[{}:{}]", d.lower, d.upper())).collect())
}

/// True for two values that are not distinct: equal, or both NULL.
fn same(a: DatumRef<'_>, b: DatumRef<'_>) -> bool {
    match (a.is_null(), b.is_null()) {
        (true, true) => true,
        (false, false) => a == b,
        _ => false,
    }
}

/// The subscripts of the elements that are a value, from a subscript on.
fn positions<'a>(
    array: ArrayRef<'a>,
    value: DatumRef<'a>,
    from: Option<i32>,
) -> Result<impl Iterator<Item = i32> + 'a> {
    let lower = match array.dimensions()[..] {
        [] => 1,
        [only] => only.lower,
        _ => {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "searching for elements in multidimensional arrays is not supported",
            ));
        }
    };
    Ok(array
        .iter()
        .enumerate()
        .map(move |(at, element)| (lower + at as i32, element))
        .filter(move |(at, element)| from.is_none_or(|from| *at >= from) && same(*element, value))
        .map(|(at, _)| at))
}

/// An array without the elements that are a value.
fn remove(array: ArrayRef<'_>, value: DatumRef<'_>) -> Result<Array> {
    let lower = match array.dimensions()[..] {
        [] => return Ok(array.to_owned()),
        [only] => only.lower,
        _ => {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "removing elements from multidimensional arrays is not supported",
            ));
        }
    };
    let kept: Vec<_> = array.iter().filter(|element| !same(*element, value)).collect();
    let dimension = Dimension { length: kept.len() as i32, lower };
    Array::new(array.element_type(), array.element_repr(), &[dimension], kept)
}

/// An array with each element that is a value replaced by another one.
fn replace(array: ArrayRef<'_>, from: DatumRef<'_>, to: DatumRef<'_>) -> Result<Array> {
    let elements = array.iter().map(|element| if same(element, from) { to } else { element });
    Array::new(array.element_type(), array.element_repr(), &array.dimensions(), elements)
}

/// An array of the given lengths, all elements alike.
fn fill(
    call: &Call<'_>,
    value: DatumRef<'_>,
    lengths: Option<ArrayRef<'_>>,
    lowers: Option<ArrayRef<'_>>,
) -> Result<Array> {
    let null = |message: &str| Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message);
    let integers = |array: Option<ArrayRef<'_>>| -> Result<Vec<i32>> {
        let array =
            array.ok_or_else(|| null("dimension array or low bound array cannot be null"))?;
        if array.dimensions().len() > 1 {
            return Err(refuse("wrong number of array subscripts")
                .with_detail("Dimension array must be one dimensional."));
        }
        if array.has_nulls() {
            return Err(null("dimension values cannot be null"));
        }
        array.iter().map(i32::read).collect()
    };
    let lengths = integers(lengths)?;
    let lowers = if call.args.len() > 2 { integers(lowers)? } else { vec![1; lengths.len()] };
    if lowers.len() != lengths.len() {
        return Err(refuse("wrong number of array subscripts")
            .with_detail("Low bound array has different size than dimensions array."));
    }
    let dimensions: Vec<_> = lengths
        .into_iter()
        .zip(lowers)
        .map(|(length, lower)| Dimension { length, lower })
        .collect();
    let count = types::array::count(&dimensions)?;
    let element = element(call, call.ret)?;
    let repr = call.context.types.types.repr_of(element)?;
    Array::new(element, repr, &dimensions, std::iter::repeat_n(value, count))
}

/// An array without its last elements.
fn trim(array: ArrayRef<'_>, count: i32) -> Result<Array> {
    let dimensions = array.dimensions();
    let length = dimensions.first().map_or(0, |outer| outer.length);
    if count < 0 || count > length {
        return Err(refuse(format!("number of elements to trim must be between 0 and {length}")));
    }
    // A slice counts from 1, whatever the array did.
    let mut kept: Vec<_> =
        dimensions.iter().map(|dimension| Dimension { lower: 1, ..*dimension }).collect();
    if let Some(outer) = kept.first_mut() {
        outer.length -= count;
    }
    let number = types::array::count(&kept)?;
    Array::new(array.element_type(), array.element_repr(), &kept, array.iter().take(number))
}

/// How many of sorted thresholds a value has reached.
fn width_bucket(value: DatumRef<'_>, thresholds: ArrayRef<'_>) -> Result<i32> {
    if thresholds.dimensions().len() > 1 {
        return Err(refuse("thresholds must be one-dimensional array"));
    }
    if thresholds.has_nulls() {
        return Err(Error::new(
            SqlState::NULL_VALUE_NOT_ALLOWED,
            "thresholds array must not contain NULLs",
        ));
    }
    let thresholds: Vec<_> = thresholds.iter().collect();
    Ok(thresholds.partition_point(|threshold| *threshold <= value) as i32)
}

/// True if each element of one is an element of the other; NULLs are in none.
fn contains(whole: ArrayRef<'_>, part: ArrayRef<'_>) -> Result<bool> {
    for wanted in part.iter() {
        if wanted.is_null() || !has(whole, wanted)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn overlaps(a: ArrayRef<'_>, b: ArrayRef<'_>) -> Result<bool> {
    for left in a.iter() {
        if !left.is_null() && has(b, left)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// True if an element is a value.
fn has(array: ArrayRef<'_>, value: DatumRef<'_>) -> Result<bool> {
    let mut pace = Pace::new();
    interrupt::check()?;
    for element in array.iter() {
        pace.step(16)?;
        if element == value {
            return Ok(true);
        }
    }
    Ok(false)
}

fn unnest(array: ArrayRef<'_>) -> Rows {
    Box::new(array.to_owned().into_iter().map(Ok))
}

/// The elements, each with its number from 1.
fn expand(array: ArrayRef<'_>) -> Rows {
    let (ty, repr) = (array.element_type(), array.element_repr());
    let rows = array.to_owned().into_iter().zip(1..).map(move |(element, number)| {
        let number = (Type::INT4, Repr::Int4, DatumRef::Int4(number));
        Ok(Datum::from(Record::new([(ty, repr, element.as_ref()), number])))
    });
    Box::new(rows)
}

/// The subscripts of a dimension.
fn subscripts(array: ArrayRef<'_>, number: i32, reverse: bool) -> Rows {
    let Some(dimension) = dimension(array, number) else { return Box::new(std::iter::empty()) };
    let all = (dimension.lower..=dimension.upper()).map(|at| Ok(Datum::Int4(at)));
    if reverse { Box::new(all.rev()) } else { Box::new(all) }
}

pub(crate) const TABLE: &[Function] = functions! {
    378 array_append(ANYCOMPATIBLEARRAY, ANYCOMPATIBLE) -> ANYCOMPATIBLEARRAY [nullable] =
        (call; array: Option<ArrayRef<'_>>, value: DatumRef<'_>) extend(call, array, value, false);
    379 array_prepend(ANYCOMPATIBLE, ANYCOMPATIBLEARRAY) -> ANYCOMPATIBLEARRAY [nullable] =
        (call; value: DatumRef<'_>, array: Option<ArrayRef<'_>>) extend(call, array, value, true);
    383 array_cat(ANYCOMPATIBLEARRAY, ANYCOMPATIBLEARRAY) -> ANYCOMPATIBLEARRAY [nullable] =
        (a: Option<ArrayRef<'_>>, b: Option<ArrayRef<'_>>) concatenate(a, b);
    748 array_ndims(ANYARRAY) -> INT4 = (a: ArrayRef<'_>)
        Some(a.dimensions().len() as i32).filter(|n| *n > 0);
    747 array_dims(ANYARRAY) -> TEXT = (a: ArrayRef<'_>) bounds(a);
    2091 array_lower(ANYARRAY, INT4) -> INT4 = (a: ArrayRef<'_>, n: i32)
        dimension(a, n).map(|d| d.lower);
    2092 array_upper(ANYARRAY, INT4) -> INT4 = (a: ArrayRef<'_>, n: i32)
        dimension(a, n).map(Dimension::upper);
    2176 array_length(ANYARRAY, INT4) -> INT4 = (a: ArrayRef<'_>, n: i32)
        dimension(a, n).map(|d| d.length);
    3179 cardinality(ANYARRAY) -> INT4 = (a: ArrayRef<'_>) a.len() as i32;
    3277 array_position(ANYCOMPATIBLEARRAY, ANYCOMPATIBLE) -> INT4 [nullable] =
        (a: Option<ArrayRef<'_>>, value: DatumRef<'_>) match a {
            Some(a) => positions(a, value, None)?.next(),
            None => None,
        };
    3278 array_position(ANYCOMPATIBLEARRAY, ANYCOMPATIBLE, INT4) -> INT4 [nullable] =
        (a: Option<ArrayRef<'_>>, value: DatumRef<'_>, from: Option<i32>) match (a, from) {
            (None, _) => None,
            (_, None) => return Err(Error::new(
                SqlState::NULL_VALUE_NOT_ALLOWED,
                "initial position must not be null",
            )),
            (Some(a), from) => positions(a, value, from)?.next(),
        };
    3279 array_positions(ANYCOMPATIBLEARRAY, ANYCOMPATIBLE) -> INT4_ARRAY [nullable] =
        (a: Option<ArrayRef<'_>>, value: DatumRef<'_>) match a {
            Some(a) => {
                let found: Vec<_> = positions(a, value, None)?.map(DatumRef::Int4).collect();
                Some(Array::from_elements(Type::INT4, types::Repr::Int4, found)?)
            }
            None => None,
        };
    3167 array_remove(ANYCOMPATIBLEARRAY, ANYCOMPATIBLE) -> ANYCOMPATIBLEARRAY [nullable] =
        (a: Option<ArrayRef<'_>>, value: DatumRef<'_>) a.map(|a| remove(a, value));
    3168 array_replace(ANYCOMPATIBLEARRAY, ANYCOMPATIBLE, ANYCOMPATIBLE) -> ANYCOMPATIBLEARRAY
        [nullable] = (a: Option<ArrayRef<'_>>, from: DatumRef<'_>, to: DatumRef<'_>)
        a.map(|a| replace(a, from, to));
    1193 array_fill(ANYELEMENT, INT4_ARRAY) -> ANYARRAY [nullable] =
        (call; value: DatumRef<'_>, lengths: Option<ArrayRef<'_>>)
        fill(call, value, lengths, None);
    1286 array_fill(ANYELEMENT, INT4_ARRAY, INT4_ARRAY) -> ANYARRAY [nullable] =
        (call; value: DatumRef<'_>, lengths: Option<ArrayRef<'_>>, lowers: Option<ArrayRef<'_>>)
        fill(call, value, lengths, lowers);
    3218 width_bucket(ANYCOMPATIBLE, ANYCOMPATIBLEARRAY) -> INT4 =
        (value: DatumRef<'_>, thresholds: ArrayRef<'_>) width_bucket(value, thresholds);
    6172 trim_array(ANYARRAY, INT4) -> ANYARRAY = (a: ArrayRef<'_>, n: i32) trim(a, n);
    2748 arraycontains(ANYARRAY, ANYARRAY) -> BOOL = (a: ArrayRef<'_>, b: ArrayRef<'_>)
        contains(a, b);
    2749 arraycontained(ANYARRAY, ANYARRAY) -> BOOL = (a: ArrayRef<'_>, b: ArrayRef<'_>)
        contains(b, a);
    2747 arrayoverlap(ANYARRAY, ANYARRAY) -> BOOL = (a: ArrayRef<'_>, b: ArrayRef<'_>)
        overlaps(a, b);
};

pub(crate) const SETS: &[Function] = sets! {
    13135 _pg_expandarray(ANYARRAY) -> RECORD = (a: ArrayRef<'_>) Ok(expand(a));
    2331 unnest(ANYARRAY) -> ANYELEMENT = (a: ArrayRef<'_>) Ok(unnest(a));
    1191 generate_subscripts(ANYARRAY, INT4, BOOL) -> INT4 = (a: ArrayRef<'_>, n: i32, reverse: bool)
        Ok(subscripts(a, n, reverse));
    1192 generate_subscripts(ANYARRAY, INT4) -> INT4 = (a: ArrayRef<'_>, n: i32)
        Ok(subscripts(a, n, false));
};
