//! Rows as bytes in temporary files: only the statement that wrote them reads them.
//!
//! ```text
//!   count u16 │ value │ value ...         a value: number of its representation (0: NULL), then
//!                                         fixed numbers as they are, texts with their length, others
//!                                         as a row of one column
//! ```

use types::time::{Date, Timestamp, TimestampTz};
use types::{Datum, Error, Repr, Result, RowView, SqlState};

use crate::op::Row;

/// Appends a row.
pub(crate) fn write_row(row: &[Datum], out: &mut Vec<u8>) {
    out.extend_from_slice(&(row.len() as u16).to_le_bytes());
    for value in row {
        let Some(repr) = value.repr() else {
            out.push(0);
            continue;
        };
        out.push(repr as u8);
        match value {
            Datum::Bool(value) => out.push(u8::from(*value)),
            Datum::Int2(value) => out.extend_from_slice(&value.to_le_bytes()),
            Datum::Int4(value) => out.extend_from_slice(&value.to_le_bytes()),
            Datum::Int8(value) => out.extend_from_slice(&value.to_le_bytes()),
            Datum::Float4(value) => out.extend_from_slice(&value.to_bits().to_le_bytes()),
            Datum::Float8(value) => out.extend_from_slice(&value.to_bits().to_le_bytes()),
            Datum::Date(value) => out.extend_from_slice(&value.0.to_le_bytes()),
            Datum::Timestamp(value) => out.extend_from_slice(&value.0.to_le_bytes()),
            Datum::TimestampTz(value) => out.extend_from_slice(&value.0.to_le_bytes()),
            Datum::Text(value) => bytes(value.as_bytes(), out),
            Datum::Short(value) => bytes(value.as_bytes(), out),
            Datum::Bytea(value) => bytes(value, out),
            other => {
                let start = out.len();
                out.extend_from_slice(&[0; 4]);
                types::row::write(0, [other.as_ref()], out);
                let length = (out.len() - start - 4) as u32;
                out[start..start + 4].copy_from_slice(&length.to_le_bytes());
            }
        }
    }
}

fn bytes(value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(value.len() as u32).to_le_bytes());
    out.extend_from_slice(value);
}

fn damaged() -> Error {
    Error::new(SqlState::DATA_CORRUPTED, "a temporary file is damaged")
}

fn take<const N: usize>(from: &mut &[u8]) -> Result<[u8; N]> {
    let (value, rest) = from.split_first_chunk::<N>().ok_or_else(damaged)?;
    *from = rest;
    Ok(*value)
}

fn take_bytes<'a>(from: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = u32::from_le_bytes(take(from)?) as usize;
    let (value, rest) = from.split_at_checked(length).ok_or_else(damaged)?;
    *from = rest;
    Ok(value)
}

/// Reads a row from the front of `from` into `out`, whose contents before mean nothing.
///
/// # Errors
/// `XX001` where there is none.
pub(crate) fn read_row(from: &mut &[u8], out: &mut Row) -> Result<()> {
    out.clear();
    for _ in 0..u16::from_le_bytes(take(from)?) {
        let [number] = take(from)?;
        if number == 0 {
            out.push(Datum::Null);
            continue;
        }
        let repr = Repr::from_number(number).ok_or_else(damaged)?;
        out.push(match repr {
            Repr::Bool => Datum::Bool(take::<1>(from)? != [0]),
            Repr::Int2 => Datum::Int2(i16::from_le_bytes(take(from)?)),
            Repr::Int4 => Datum::Int4(i32::from_le_bytes(take(from)?)),
            Repr::Int8 => Datum::Int8(i64::from_le_bytes(take(from)?)),
            Repr::Float4 => Datum::Float4(f32::from_bits(u32::from_le_bytes(take(from)?))),
            Repr::Float8 => Datum::Float8(f64::from_bits(u64::from_le_bytes(take(from)?))),
            Repr::Date => Datum::Date(Date(i32::from_le_bytes(take(from)?))),
            Repr::Timestamp => Datum::Timestamp(Timestamp(i64::from_le_bytes(take(from)?))),
            Repr::TimestampTz => Datum::TimestampTz(TimestampTz(i64::from_le_bytes(take(from)?))),
            Repr::Text => {
                let text = std::str::from_utf8(take_bytes(from)?).map_err(|_| damaged())?;
                Datum::text(text)
            }
            Repr::Bytea => Datum::Bytea(take_bytes(from)?.into()),
            _ => {
                let columns = [repr];
                let value = RowView::new(take_bytes(from)?, &columns)?.get(0)?;
                value.ok_or_else(damaged)?.to_owned()
            }
        });
    }
    Ok(())
}
