//! `pg_column_size`: the bytes of a value, as PostgreSQL counts them for computed values.
//!
//! A value of variable length has a header of 4 bytes. Values of types that lie otherwise here (`jsonb`,
//! ranges of composite values) count as long as they are here, and the header.

use types::{DatumRef, Result, Type, builtin};

/// The bytes of a header in front of what varies in length.
const HEADER: usize = 4;

/// The bytes of a value of a type.
pub(super) fn of(value: DatumRef<'_>, ty: Type) -> Result<usize> {
    if let Some(facts) = builtin::facts(ty)
        && let Ok(length) = usize::try_from(facts.length)
    {
        return Ok(length);
    }
    Ok(match value {
        DatumRef::Null => 0,
        DatumRef::Bool(_) => 1,
        DatumRef::Int2(_) => 2,
        DatumRef::Int4(_) | DatumRef::Float4(_) | DatumRef::Oid(_) => 4,
        DatumRef::Int8(_) | DatumRef::Float8(_) => 8,
        DatumRef::Text(text) => HEADER + text.len(),
        DatumRef::Bytea(bytes) => HEADER + bytes.len(),
        DatumRef::Numeric(value) => {
            let mut wire = Vec::new();
            value.get().to_wire(&mut wire);
            // On the wire stand four numbers of two bytes before the digits; in memory one or two.
            let digits = wire.len().saturating_sub(8);
            let weight = wire.get(2..4).map_or(0, |bytes| i16::from_be_bytes([bytes[0], bytes[1]]));
            let scale = wire.get(6..8).map_or(0, |bytes| u16::from_be_bytes([bytes[0], bytes[1]]));
            let is_short = (-64..64).contains(&weight) && scale < 64;
            HEADER + if is_short { 2 } else { 4 } + digits
        }
        DatumRef::Array(array) => array_size(array)?,
        other => HEADER + other.heap_bytes(),
    })
}

/// An array: header, dimensions, and its elements, each at its alignment.
fn array_size(array: types::ArrayRef<'_>) -> Result<usize> {
    let element = array.element_type();
    let align = builtin::facts(element).map_or(4, |facts| match facts.align {
        'c' => 1,
        's' => 2,
        'd' => 8,
        _ => 4,
    });
    let dimensions = array.dimensions().len();
    let has_nulls = array.has_nulls();
    let mut size = 16 + 8 * dimensions;
    if has_nulls {
        size += array.len().div_ceil(8);
        size = size.next_multiple_of(8);
    }
    for value in array.iter().filter(|value| !value.is_null()) {
        size += of(value, element)?;
        size = size.next_multiple_of(align);
    }
    Ok(size)
}
