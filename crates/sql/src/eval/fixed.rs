//! Parts of values in the plane, which count as arrays of a fixed length: `p[0]` is the x coordinate.

use types::{Datum, DatumRef, Error, Result, SqlState};

use super::array::Bounds;

const NUMBER_BYTES: usize = 8;
const POINT_BYTES: usize = 16;

/// How many bytes a part has of a value with so many: a point and a line are made of numbers, a segment and a box
/// of points.
fn part_bytes(held: usize) -> usize {
    if held == 2 * POINT_BYTES { POINT_BYTES } else { NUMBER_BYTES }
}

/// A part of a value; NULL where there is none.
pub(super) fn part(held: &[u8], steps: &[Bounds]) -> Datum {
    let [Bounds::Index(Some(index))] = steps else { return Datum::Null };
    let parts = held.chunks_exact(part_bytes(held.len()));
    let found = usize::try_from(*index).ok().and_then(|index| parts.clone().nth(index));
    match found {
        Some(part) if part.len() == POINT_BYTES => Datum::bytea(part),
        Some(part) => part.try_into().map_or(Datum::Null, |bytes| f64::from_be_bytes(bytes).into()),
        None => Datum::Null,
    }
}

/// A value with another part. Where either is NULL, the value stays what it is.
pub(super) fn with_part(
    base: DatumRef<'_>,
    steps: &[Bounds],
    value: DatumRef<'_>,
) -> Result<Datum> {
    let DatumRef::Bytea(held) = base else { return Ok(base.to_owned()) };
    let wrong = |message: &str| Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message);
    let part: Vec<u8> = match value {
        DatumRef::Float8(number) => number.to_be_bytes().to_vec(),
        DatumRef::Bytea(point) => point.to_vec(),
        _ => return Ok(base.to_owned()),
    };
    let index = match steps {
        [Bounds::Index(Some(index))] => *index,
        [Bounds::Index(None)] => {
            let message = "array subscript in assignment must not be null";
            return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
        }
        _ => return Err(wrong("wrong number of array subscripts")),
    };
    let mut changed = held.to_vec();
    let place =
        usize::try_from(index).ok().and_then(|at| changed.chunks_exact_mut(part.len()).nth(at));
    let place = place.ok_or_else(|| wrong("array subscript out of range"))?;
    place.copy_from_slice(&part);
    Ok(Datum::bytea(changed))
}
