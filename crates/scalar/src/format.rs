//! `format`: texts with places for values.

use std::iter::Peekable;
use std::str::Chars;

use crate::function::Call;
use crate::search;
use types::bounded::TextBuilder;
use types::{Datum, DatumRef, Error, Modifier, Result, SqlState, Type};

use crate::quote::{bounded_identifier, bounded_literal, text_of, variadic};

/// The characters of a template that are still ahead.
type Ahead<'t> = Peekable<Chars<'t>>;

fn refuse(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// `format(template, values)`
pub(crate) fn format_text(call: &Call<'_>, args: &[DatumRef<'_>]) -> Result<Option<TextBuilder>> {
    let DatumRef::Text(template) = args[0] else { return Ok(None) };
    let values = variadic(call, args, 1)?.unwrap_or_default();
    let mut out = TextBuilder::with_capacity(template.len());
    let mut chars = template.chars().peekable();
    let mut next = 0;
    let too_few = || refuse("too few arguments for format()");
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push_char(c)?;
            continue;
        }
        if chars.peek() == Some(&'%') {
            chars.next();
            out.push("%")?;
            continue;
        }
        // %[position$][-][width]type
        let mut position = None;
        let mut width = number(&mut chars)?;
        if width.is_some() && chars.peek() == Some(&'$') {
            chars.next();
            position = width.take();
        }
        let mut left = false;
        if width.is_none() {
            while chars.peek() == Some(&'-') {
                left = true;
                chars.next();
            }
            width = number(&mut chars)?;
        }
        if width.is_none() && chars.peek() == Some(&'*') {
            chars.next();
            let at = number(&mut chars)?;
            if at.is_some() && chars.next() != Some('$') {
                return Err(refuse("width argument position must be ended by \"$\""));
            }
            let at = place(at, next)?;
            next = at + 1;
            let wanted = width_of(call, values.get(at).copied().ok_or_else(too_few)?)?;
            left |= wanted < 0;
            width = Some(i64::from(wanted).abs());
        }
        let conversion = conversion(&mut chars)?;
        let at = place(position, next)?;
        next = at + 1;
        let (value, ty) = values.get(at).copied().ok_or_else(too_few)?;
        let text = converted(conversion, text_of(call, value, ty))?;
        let fill = (width.unwrap_or(0) as usize).saturating_sub(search::count(&text)?);
        if !left {
            out.push_repeated(" ", fill)?;
        }
        out.push(&text)?;
        if left {
            out.push_repeated(" ", fill)?;
        }
    }
    Ok(Some(out))
}

fn number(chars: &mut Ahead<'_>) -> Result<Option<i64>> {
    let mut value = None;
    while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
        value = Some(value.unwrap_or(0) * 10 + i64::from(digit));
        if value > Some(i64::from(i32::MAX)) {
            let message = "number is out of range";
            return Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message));
        }
        chars.next();
    }
    Ok(value)
}

/// The place of an argument: that of its position, which counts from 1, or the next one.
fn place(position: Option<i64>, next: usize) -> Result<usize> {
    match position {
        Some(0) => Err(refuse("format specifies argument 0, but arguments are numbered from 1")),
        Some(position) => Ok(position as usize - 1),
        None => Ok(next),
    }
}

/// The width that an argument gives; below 0 for a text that stands on the left.
fn width_of(call: &Call<'_>, (value, ty): (DatumRef<'_>, Type)) -> Result<i32> {
    let text = text_of(call, value, ty).unwrap_or_else(|| "0".to_owned());
    let width = types::text::parse(&text, Type::INT4, Modifier::NONE, &call.context.types)?;
    Ok(if let Datum::Int4(width) = width { width } else { 0 })
}

fn conversion(chars: &mut Ahead<'_>) -> Result<char> {
    let hint = "For a single \"%\" use \"%%\".";
    match chars.next() {
        Some(conversion @ ('s' | 'I' | 'L')) => Ok(conversion),
        Some(other) => {
            let message = format!("unrecognized format() type specifier \"{other}\"");
            Err(refuse(message).with_hint(hint))
        }
        None => Err(refuse("unterminated format() type specifier").with_hint(hint)),
    }
}

/// An argument as text, identifier or literal.
fn converted(conversion: char, text: Option<String>) -> Result<String> {
    Ok(match (conversion, text) {
        ('I', None) => {
            let message = "null values cannot be formatted as an SQL identifier";
            return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
        }
        ('I', Some(text)) => bounded_identifier(&text)?.finish(),
        ('L', None) => "NULL".to_owned(),
        ('L', Some(text)) => bounded_literal(&text)?.finish(),
        (_, text) => text.unwrap_or_default(),
    })
}
