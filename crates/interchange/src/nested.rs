//! Values of nested Arrow types as JSON: structs and maps as objects, lists as arrays.
//!
//! Numbers and truth values stand as they are. NaN, infinities and all other values are strings in PostgreSQL's text
//! form, as `to_jsonb` writes them.

use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};
use types::{Context, Datum, Result, Style};

use crate::decode::{Cells, list_range};

/// How deep values may be nested: `jsonb` has a limit of its own, and this one keeps the stack small.
const DEPTH_MAX: usize = 200;

/// Writes the value of a row.
pub(crate) fn write(array: &ArrayRef, row: usize, out: &mut String) -> Result<()> {
    let field = Field::new("", array.data_type().clone(), true);
    write_value(array, &field, row, 0, out)
}

fn write_value(
    array: &ArrayRef,
    field: &Field,
    row: usize,
    depth: usize,
    out: &mut String,
) -> Result<()> {
    if depth > DEPTH_MAX {
        let message = format!("a value is nested more than {DEPTH_MAX} levels deep");
        return Err(types::Error::new(types::SqlState::PROGRAM_LIMIT_EXCEEDED, message));
    }
    if array.is_null(row) {
        out.push_str("null");
        return Ok(());
    }
    match array.data_type() {
        DataType::Struct(fields) => {
            out.push('{');
            for (at, (field, column)) in fields.iter().zip(array.as_struct().columns()).enumerate()
            {
                if at > 0 {
                    out.push(',');
                }
                write_string(field.name(), out);
                out.push(':');
                write_value(column, field, row, depth + 1, out)?;
            }
            out.push('}');
        }
        DataType::Map(..) => {
            let map = array.as_map();
            let (keys, values) = (map.keys(), map.values());
            let key_field = Field::new("", keys.data_type().clone(), true);
            let value_field = Field::new("", values.data_type().clone(), true);
            let offsets = map.value_offsets();
            out.push('{');
            for at in offsets[row] as usize..offsets[row + 1] as usize {
                if at > offsets[row] as usize {
                    out.push(',');
                }
                let key = Cells::new(&keys.slice(at, 1), &key_field)?;
                let text = match key.text(0) {
                    Some(text) => text.to_owned(),
                    None => shown(&key)?,
                };
                write_string(&text, out);
                out.push(':');
                write_value(values, &value_field, at, depth + 1, out)?;
            }
            out.push('}');
        }
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            let values = match array.data_type() {
                DataType::List(_) => array.as_list::<i32>().values(),
                DataType::LargeList(_) => array.as_list::<i64>().values(),
                _ => array.as_fixed_size_list().values(),
            };
            let range = list_range(array, row);
            out.push('[');
            for at in range.clone() {
                if at > range.start {
                    out.push(',');
                }
                write_value(values, item, at, depth + 1, out)?;
            }
            out.push(']');
        }
        _ => {
            // For one row alone: a column with a dictionary is prepared row by row.
            let cells = Cells::new(&array.slice(row, 1), field)?;
            let value = cells.get(0)?;
            match &value {
                Datum::Null => out.push_str("null"),
                Datum::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
                Datum::Int2(_) | Datum::Int4(_) | Datum::Int8(_) => out.push_str(&shown(&cells)?),
                Datum::Float4(number) if number.is_finite() => out.push_str(&shown(&cells)?),
                Datum::Float8(number) if number.is_finite() => out.push_str(&shown(&cells)?),
                Datum::Numeric(number) if number.is_finite() => out.push_str(&number.to_string()),
                Datum::Jsonb(_) => out.push_str(&shown(&cells)?),
                _ => write_string(&shown(&cells)?, out),
            }
        }
    }
    Ok(())
}

/// The text form of the first value; empty for NULL.
fn shown(cells: &Cells) -> Result<String> {
    let (value, natural, style) = (cells.get(0)?, cells.natural(), Style::default());
    let context = Context::new(&style);
    let text = types::text::try_to_string(value.as_ref(), natural.ty, natural.modifier, &context)?;
    Ok(text.unwrap_or_default())
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            letter if (letter as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", letter as u32);
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
}
