//! Arrays in expressions: made of elements, taken apart, and changed in one place.

use types::{Array, Datum, DatumRef, Dimension, Error, Repr, Result, SqlState, Type};

use super::{Op, Value};

/// A subscript before it is computed.
#[derive(Debug)]
pub(super) enum Subscript {
    Index(Op),
    Slice(Option<Op>, Option<Op>),
}

/// A subscript: an index, NULL where it is none, or the ends of a slice.
pub(super) enum Bounds {
    Index(Option<i32>),
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
        _ => return Err(unsupported("subscripts of this type in a program")),
    };
    let indexes: Option<Vec<i32>> = steps
        .iter()
        .map(|step| match step {
            Bounds::Index(index) => *index,
            Bounds::Slice(..) => None,
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
    loop {
        elements.push(array.at(&at).unwrap_or(DatumRef::Null));
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
            Bounds::Slice(..) => return Err(unsupported("assignment to a slice")),
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
            return Err(Error::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                format!("array size exceeds the maximum allowed ({MAX_ELEMENTS})"),
            ));
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

/// The most elements of an array, which is PostgreSQL's.
const MAX_ELEMENTS: i64 = 134_217_727;

fn unsupported(what: &str) -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{what} is not supported"))
}
