//! Objects and arrays from lists of parts: the functions that build values from arguments.
//!
//! ```text
//!   jsonb_build_object('a', 1, 'b', 2)      build_object     {"a": 1, "b": 2}
//!   jsonb_build_array(1, 2)                 build_array      [1, 2]
//!   jsonb_object('{a,1,b,2}')               object_of        {"a": "1", "b": "2"}
//!   jsonb_object('{a,b}', '{1,2}')          object_of_two    {"a": "1", "b": "2"}
//! ```

use super::build::Builder;
use super::error::JsonbError;
use super::form::{Jsonb, JsonbRef, OBJECT, Width};

/// `jsonb_build_object`: names and values in turn, here apart from each other. A name that is null
/// is an error, which counts all arguments.
///
/// # Errors
/// [`JsonbError::OddArguments`], [`JsonbError::NullKeyArgument`], and those for what is too large.
pub fn build_object(names: &[Option<&str>], values: &[JsonbRef<'_>]) -> Result<Jsonb, JsonbError> {
    if names.len() != values.len() {
        return Err(JsonbError::OddArguments { function: "jsonb_build_object" });
    }
    let mut builder = Builder::new();
    builder.open_object();
    for (at, (name, value)) in names.iter().zip(values).enumerate() {
        let name = name.ok_or(JsonbError::NullKeyArgument { position: 2 * at + 1 })?;
        builder.name(name).value(*value);
    }
    builder.close_container();
    builder.finish()
}

/// Appends the object of these fields to `out`. Their names differ and ascend as those of objects do: short ones
/// first, then by bytes.
pub fn write_object(fields: &[(&str, JsonbRef<'_>)], out: &mut Vec<u8>) {
    let names: usize = fields.iter().map(|(name, _)| name.len()).sum();
    let values: usize = fields.iter().map(|(_, value)| value.bytes().len()).sum();
    let width = Width::of((names + values).max(fields.len()));
    out.push(width.tag(OBJECT));
    width.write(fields.len(), out);
    let mut end = 0;
    for (name, _) in fields {
        end += name.len();
        width.write(end, out);
    }
    for (_, value) in fields {
        end += value.bytes().len();
        width.write(end, out);
    }
    fields.iter().for_each(|(name, _)| out.extend_from_slice(name.as_bytes()));
    fields.iter().for_each(|(_, value)| out.extend_from_slice(value.bytes()));
}

/// `jsonb_build_array`.
///
/// # Errors
/// [`JsonbError::ArrayTooLarge`].
pub fn build_array<'v>(
    elements: impl IntoIterator<Item = JsonbRef<'v>>,
) -> Result<Jsonb, JsonbError> {
    let mut builder = Builder::new();
    builder.array(|array| {
        for element in elements {
            array.value(element);
        }
    });
    builder.finish()
}

/// `jsonb_object(text[])`: names and values in turn, or in rows of two. `dimensions` are those of
/// the array, `texts` its elements.
///
/// # Errors
/// Those of [`check_pairs`], and [`JsonbError::NullKey`].
pub fn object_of(dimensions: &[usize], texts: &[Option<&str>]) -> Result<Jsonb, JsonbError> {
    check_pairs(dimensions)?;
    object_of_pairs(texts.chunks_exact(2).map(|pair| (pair[0], pair[1])))
}

/// Checks the shape of the one array of `jsonb_object` and `json_object`.
///
/// # Errors
/// [`JsonbError::OddArray`], [`JsonbError::NotTwoColumns`], [`JsonbError::WrongDimensions`].
pub fn check_pairs(dimensions: &[usize]) -> Result<(), JsonbError> {
    match dimensions {
        [] | [_, 2] => Ok(()),
        [len] if len % 2 == 0 => Ok(()),
        [_] => Err(JsonbError::OddArray),
        [_, _] => Err(JsonbError::NotTwoColumns),
        _ => Err(JsonbError::WrongDimensions),
    }
}

/// `jsonb_object(text[], text[])`: names, and as many values.
///
/// # Errors
/// [`JsonbError::DimensionsDiffer`], [`JsonbError::NullKey`].
pub fn object_of_two(names: &[Option<&str>], values: &[Option<&str>]) -> Result<Jsonb, JsonbError> {
    if names.len() != values.len() {
        return Err(JsonbError::DimensionsDiffer);
    }
    object_of_pairs(names.iter().copied().zip(values.iter().copied()))
}

fn object_of_pairs<'t>(
    pairs: impl Iterator<Item = (Option<&'t str>, Option<&'t str>)>,
) -> Result<Jsonb, JsonbError> {
    let mut builder = Builder::new();
    builder.open_object();
    for (name, value) in pairs {
        builder.name(name.ok_or(JsonbError::NullKey)?);
        match value {
            Some(value) => builder.string(value),
            None => builder.null(),
        };
    }
    builder.close_container();
    builder.finish()
}
