//! Records as text.
//!
//! ```text
//!   (1,two,"a, b","say ""hi""",,)        the last two fields are NULL
//! ```

use super::number::is_space;
use crate::{Context, DatumRef, Error, Field, Modifier, Record, RecordRef, Result, SqlState};

/// Reads a row with these columns.
///
/// # Errors
/// 22P02 for what is no such row, and the errors of the fields.
pub(super) fn parse(text: &str, fields: &[Field], context: &Context<'_>) -> Result<Record> {
    let malformed = |detail: &str| {
        Error::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!("malformed record literal: \"{text}\""),
        )
        .with_detail(detail)
    };
    let mut rest = text
        .trim_start_matches(is_space)
        .strip_prefix('(')
        .ok_or_else(|| malformed("Missing left parenthesis."))?;
    let mut values = Vec::with_capacity(fields.len());
    for (at, field) in fields.iter().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix(',').ok_or_else(|| malformed("Too few columns."))?;
        }
        let repr = context.types.repr_of(field.ty)?;
        let value = if rest.starts_with([',', ')']) {
            context.null_of(field.ty)?
        } else {
            let mut text = String::new();
            rest = take_quoted(rest, &[',', ')'], &mut text)
                .ok_or_else(|| malformed("Unexpected end of input."))?;
            super::parse(&text, field.ty, field.modifier, context)?
        };
        values.push((field.ty, repr, value));
    }
    rest = rest.strip_prefix(')').ok_or_else(|| malformed("Too many columns."))?;
    if !rest.trim_start_matches(is_space).is_empty() {
        return Err(malformed("Junk after right parenthesis."));
    }
    Ok(Record::new(values.iter().map(|(ty, repr, value)| (*ty, *repr, value.as_ref()))))
}

/// Takes a text that may be in quotes off the front, up to one of `ends`. Returns the rest; `None` if it does not end.
pub(super) fn take_quoted<'a>(text: &'a str, ends: &[char], out: &mut String) -> Option<&'a str> {
    let mut is_quoted = false;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            c if !is_quoted && ends.contains(&c) => return Some(&text[at..]),
            '\\' => out.push(chars.next()?.1),
            '"' if !is_quoted => is_quoted = true,
            // Two quotes inside of quotes are one.
            '"' => match chars.next_if(|(_, c)| *c == '"') {
                Some(_) => out.push('"'),
                None => is_quoted = false,
            },
            c => out.push(c),
        }
    }
    None
}

/// Writes a record. Its fields take the types that the record says.
pub(super) fn write(record: RecordRef<'_>, context: &Context<'_>, out: &mut String) -> Result<()> {
    out.push('(');
    let mut text = String::new();
    for (at, (ty, _, value)) in record.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        if let DatumRef::Null = value {
            continue;
        }
        text.clear();
        super::write(value, ty, Modifier::NONE, context, &mut text)?;
        write_quoted(&text, &['(', ')', ','], out);
    }
    out.push(')');
    Ok(())
}

/// Writes a text, in quotes if it is empty or has spaces, quotes, backslashes or one of `special`.
pub(super) fn write_quoted(text: &str, special: &[char], out: &mut String) {
    let is_special = |c: char| matches!(c, '"' | '\\') || is_space(c) || special.contains(&c);
    if !text.is_empty() && !text.contains(is_special) {
        out.push_str(text);
        return;
    }
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push(c);
        }
        out.push(c);
    }
    out.push('"');
}
