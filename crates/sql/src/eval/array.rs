//! Arrays in expressions: made of elements, taken apart, and changed in one place; `jsonb` likewise.
//!
//! ```text
//!   a[2]  a[1:2]  j['a'][0]            taken apart
//!   a[2] = x     one element; an array of one dimension grows where that is needed
//!   a[2:3] = b   the elements of b in their order, into as many places
//!   j['a'] = x   a field or an element, which is made where it is not there
//! ```

use interrupt::Pace;
use json::jsonb::{self, Jsonb};
use types::{Array, Datum, DatumRef, Dimension, Error, Repr, Result, SqlState, Type};

use super::{Op, Value, fixed};

/// A subscript before it is computed.
#[derive(Debug)]
pub(super) enum Subscript {
    Index(Op),
    Slice(Option<Op>, Option<Op>),
}

/// A subscript: an index, NULL where it is none, the name of a field, or the ends of a slice.
pub(super) enum Bounds {
    Index(Option<i32>),
    Name(String),
    Slice(End, End),
}

/// An end of a slice.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum End {
    Open,
    At(i32),
    Null,
}

/// The array of these elements, or of one dimension more where they are arrays themselves.
pub(super) fn construct(
    values: &[Value<'_>],
    nested: bool,
    element: Type,
    repr: Repr,
) -> Result<Datum> {
    if !nested {
        return Ok(Array::from_elements(element, repr, values.iter().map(Value::get))?.into());
    }
    let mismatch = || {
        Error::new(
            SqlState::ARRAY_SUBSCRIPT_ERROR,
            "multidimensional arrays must have array expressions with matching dimensions",
        )
    };
    let mut dimensions: Option<Vec<Dimension>> = None;
    let mut elements = Vec::new();
    for value in values {
        let DatumRef::Array(array) = value.get() else { return Err(mismatch()) };
        let inner = array.dimensions();
        if *dimensions.get_or_insert_with(|| inner.clone()) != inner {
            return Err(mismatch());
        }
        elements.extend(array.to_vec());
    }
    let inner = dimensions.unwrap_or_default();
    if inner.is_empty() {
        return Ok(Array::empty(element, repr).into());
    }
    let length = i32::try_from(values.len()).unwrap_or(i32::MAX);
    let mut all = vec![Dimension { length, lower: 1 }];
    all.extend(inner);
    Ok(Array::new(element, repr, &all, elements.iter().map(Datum::as_ref))?.into())
}

/// An element or a slice of an array; NULL where there is none.
pub(super) fn subscript(base: DatumRef<'_>, steps: &[Bounds]) -> Result<Datum> {
    let array = match base {
        DatumRef::Array(array) => array,
        DatumRef::Null => return Ok(Datum::Null),
        DatumRef::Jsonb(value) => {
            let path: Option<Vec<String>> = steps
                .iter()
                .map(|step| match step {
                    Bounds::Index(index) => index.map(|index| index.to_string()),
                    Bounds::Name(name) => Some(name.clone()),
                    Bounds::Slice(..) => None,
                })
                .collect();
            let Some(path) = path else { return Ok(Datum::Null) };
            let found = value.path(path.iter().map(String::as_str));
            return Ok(found.map_or(Datum::Null, |found| found.to_jsonb().into()));
        }
        DatumRef::Bytea(held) => return Ok(fixed::part(held, steps)),
        _ => return Err(unsupported("subscripts of this type in a program")),
    };
    let indexes: Option<Vec<i32>> = steps
        .iter()
        .map(|step| match step {
            Bounds::Index(index) => *index,
            Bounds::Name(_) | Bounds::Slice(..) => None,
        })
        .collect();
    let slice = steps.iter().any(|step| matches!(step, Bounds::Slice(..)));
    if !slice {
        let element = indexes.and_then(|indexes| array.at(&indexes));
        return Ok(element.map_or(Datum::Null, DatumRef::to_owned));
    }
    let dimensions = array.dimensions();
    let empty = || Datum::Array(Array::empty(array.element_type(), array.element_repr()));
    if steps.len() > dimensions.len() {
        return Ok(empty());
    }
    let mut ranges = Vec::with_capacity(dimensions.len());
    for (place, dimension) in dimensions.iter().enumerate() {
        let (mut low, mut high) = (dimension.lower, dimension.upper());
        if let Some(Bounds::Slice(first, last)) = steps.get(place) {
            if *first == End::Null || *last == End::Null {
                return Ok(Datum::Null);
            }
            if let End::At(at) = first {
                low = low.max(*at);
            }
            if let End::At(at) = last {
                high = high.min(*at);
            }
        }
        if low > high {
            return Ok(empty());
        }
        ranges.push((low, high));
    }
    let out: Vec<Dimension> =
        ranges.iter().map(|(low, high)| Dimension { length: high - low + 1, lower: 1 }).collect();
    let mut elements = Vec::new();
    let mut at: Vec<i32> = ranges.iter().map(|(low, _)| *low).collect();
    // The elements wanted come in the order of the array: one pass finds them all.
    let (mut rest, mut passed, mut pace) = (array.iter(), 0, Pace::new());
    loop {
        let within = |at: i32, lower: i32| (i64::from(at) - i64::from(lower)) as usize;
        let place = at.iter().zip(&dimensions).fold(0, |place, (at, dimension)| {
            place * dimension.length as usize + within(*at, dimension.lower)
        });
        pace.step(16 * (place + 1 - passed))?;
        elements.push(rest.nth(place - passed).unwrap_or(DatumRef::Null));
        passed = place + 1;
        // The next place, the last dimension first.
        let mut place = at.len();
        loop {
            if place == 0 {
                let array = Array::new(array.element_type(), array.element_repr(), &out, elements)?;
                return Ok(array.into());
            }
            place -= 1;
            at[place] += 1;
            if at[place] <= ranges[place].1 {
                break;
            }
            at[place] = ranges[place].0;
        }
    }
}

/// The array with one element replaced; one of one dimension grows where that is needed.
pub(super) fn assign(
    base: DatumRef<'_>,
    steps: &[Bounds],
    value: DatumRef<'_>,
    element: Type,
    repr: Repr,
) -> Result<Datum> {
    if element == Type::NONE {
        return fixed::with_part(base, steps, value);
    }
    let mut indexes = Vec::with_capacity(steps.len());
    for step in steps {
        match step {
            Bounds::Index(Some(index)) => indexes.push(*index),
            Bounds::Index(None) => {
                return Err(Error::new(
                    SqlState::NULL_VALUE_NOT_ALLOWED,
                    "array subscript in assignment must not be null",
                ));
            }
            Bounds::Name(_) => return Err(unsupported("the name of a field in an array")),
            Bounds::Slice(..) => return assign_slice(base, steps, value, element, repr),
        }
    }
    let wrong = |message: &str| Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message));
    let array = match base {
        DatumRef::Array(array) if !array.is_empty() => array,
        DatumRef::Array(_) | DatumRef::Null => {
            let dimensions: Vec<Dimension> =
                indexes.iter().map(|index| Dimension { length: 1, lower: *index }).collect();
            return Ok(Array::new(element, repr, &dimensions, [value])?.into());
        }
        _ => return Err(unsupported("assignment to a part of this type in a program")),
    };
    let mut dimensions = array.dimensions();
    if indexes.len() != dimensions.len() {
        return wrong("wrong number of array subscripts");
    }
    let mut elements: Vec<DatumRef<'_>> = array.iter().collect();
    if let ([index], [dimension]) = (&indexes[..], &mut dimensions[..]) {
        let (index, lower) = (i64::from(*index), i64::from(dimension.lower));
        let upper = i64::from(dimension.upper());
        let added = (lower - index).max(index - upper).max(0);
        if added + elements.len() as i64 > MAX_ELEMENTS {
            return Err(too_many());
        }
        let nulls = vec![DatumRef::Null; added as usize];
        if index < lower {
            elements.splice(0..0, nulls);
            dimension.lower = index as i32;
        } else {
            elements.extend(nulls);
        }
        dimension.length += added as i32;
        elements[(index - i64::from(dimension.lower)) as usize] = value;
        return Ok(Array::new(element, repr, &dimensions, elements)?.into());
    }
    let mut at = 0;
    for (index, dimension) in indexes.iter().zip(&dimensions) {
        if *index < dimension.lower || *index > dimension.upper() {
            return wrong("array subscript out of range");
        }
        at = at * dimension.length as usize + (index - dimension.lower) as usize;
    }
    elements[at] = value;
    Ok(Array::new(element, repr, &dimensions, elements)?.into())
}

/// `jsonb` with one value replaced or added; NULL becomes what the subscripts need.
pub(super) fn assign_json(
    base: DatumRef<'_>,
    steps: &[Bounds],
    value: DatumRef<'_>,
) -> Result<Datum> {
    let base = match base {
        DatumRef::Jsonb(base) => Some(base),
        _ => None,
    };
    let subscripts: Vec<_> = steps
        .iter()
        .map(|step| match step {
            Bounds::Index(index) => index.map(jsonb::Subscript::Position),
            Bounds::Name(name) => Some(jsonb::Subscript::Name(name)),
            Bounds::Slice(..) => None,
        })
        .collect();
    let null = Jsonb::default();
    let value = match value {
        DatumRef::Jsonb(value) => value,
        _ => null.root(),
    };
    Ok(jsonb::assign(base, &subscripts, value)?.into())
}

/// The array with a slice replaced by the elements of another.
fn assign_slice(
    base: DatumRef<'_>,
    steps: &[Bounds],
    value: DatumRef<'_>,
    element: Type,
    repr: Repr,
) -> Result<Datum> {
    let wrong = |message: &str| Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message);
    let DatumRef::Array(source) = value else {
        // NULL leaves the array as it is.
        return Ok(base.to_owned());
    };
    let old = match base {
        DatumRef::Array(array) if !array.is_empty() => Some(array),
        _ => None,
    };
    let mut dimensions = old.map(types::ArrayRef::dimensions).unwrap_or_default();
    if old.is_some() && dimensions.len() < steps.len() {
        return Err(wrong("wrong number of array subscripts"));
    }
    let mut ranges: Vec<(i32, i32)> = Vec::with_capacity(steps.len());
    for (place, step) in steps.iter().enumerate() {
        let Bounds::Slice(low, high) = step else { return Err(unsupported("such a subscript")) };
        let known = dimensions.get(place);
        let bound = |end: &End, open: Option<i32>| match end {
            End::At(at) => Ok(*at),
            End::Null => Err(Error::new(
                SqlState::NULL_VALUE_NOT_ALLOWED,
                "array subscript in assignment must not be null",
            )),
            End::Open => open.ok_or_else(|| {
                wrong("array slice subscript must provide both boundaries").with_detail(
                    "When assigning to a slice of an empty array value, slice boundaries must be \
                     fully specified.",
                )
            }),
        };
        let low = bound(low, known.map(|known| known.lower))?;
        let high = bound(high, known.map(|known| known.upper()))?;
        if low > high {
            return Err(wrong("upper bound cannot be less than lower bound"));
        }
        ranges.push((low, high));
    }
    for dimension in dimensions.iter().skip(ranges.len()) {
        ranges.push((dimension.lower, dimension.upper()));
    }
    let length = |(low, high): (i32, i32)| i64::from(high) - i64::from(low) + 1;
    let wanted = ranges.iter().fold(1, |all: i64, range| all.saturating_mul(length(*range)));
    if wanted > MAX_ELEMENTS {
        return Err(too_many());
    }
    if wanted > source.len() as i64 {
        return Err(wrong("source array too small"));
    }
    let Some(old) = old else {
        let dimensions: Vec<Dimension> = ranges
            .iter()
            .map(|range| Dimension { length: length(*range) as i32, lower: range.0 })
            .collect();
        let elements: Vec<DatumRef<'_>> = source.iter().take(wanted as usize).collect();
        return Ok(Array::new(element, repr, &dimensions, elements)?.into());
    };
    let mut elements: Vec<DatumRef<'_>> = old.iter().collect();
    if let ([(low, high)], [dimension]) = (&ranges[..], &mut dimensions[..]) {
        // One dimension grows on either side, with NULLs between.
        let front = (i64::from(dimension.lower) - i64::from(*low)).max(0);
        let back = (i64::from(*high) - i64::from(dimension.upper())).max(0);
        if front + back + elements.len() as i64 > MAX_ELEMENTS {
            return Err(too_many());
        }
        elements.splice(0..0, std::iter::repeat_n(DatumRef::Null, front as usize));
        elements.extend(std::iter::repeat_n(DatumRef::Null, back as usize));
        dimension.lower -= front as i32;
        dimension.length += (front + back) as i32;
    }
    let mut at: Vec<i32> = ranges.iter().map(|(low, _)| *low).collect();
    for new in source.iter().take(wanted as usize) {
        let mut place = 0;
        for (index, dimension) in at.iter().zip(&dimensions) {
            if *index < dimension.lower || *index > dimension.upper() {
                return Err(wrong("array subscript out of range"));
            }
            place = place * dimension.length as usize + (index - dimension.lower) as usize;
        }
        elements[place] = new;
        // The next place, the last dimension first.
        for (index, (low, high)) in at.iter_mut().zip(&ranges).rev() {
            *index += 1;
            if *index <= *high {
                break;
            }
            *index = *low;
        }
    }
    Ok(Array::new(element, repr, &dimensions, elements)?.into())
}

fn too_many() -> Error {
    Error::new(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        format!("array size exceeds the maximum allowed ({MAX_ELEMENTS})"),
    )
}

/// The most elements of an array, which is PostgreSQL's.
const MAX_ELEMENTS: i64 = 134_217_727;

fn unsupported(what: &str) -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{what} is not supported"))
}
