//! Ranges and multiranges as text.
//!
//! ```text
//!   [1,3)   (,"2024-01-01 12:00:00"]   empty          a bound that does not exist is not written
//!   {[1,3),[5,7)}   {}
//! ```

use super::number::is_space;
use super::record::{take_quoted, write_quoted};
use crate::range::{Bound, Multirange, MultirangeRef, Range, RangeRef};
use crate::{Context, Datum, DatumRef, Error, Modifier, Result, SqlState, Type};

fn malformed(what: &str, text: &str, detail: &str) -> Error {
    let message = format!("malformed {what} literal: \"{text}\"");
    Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message).with_detail(detail)
}

/// Reads a range of the type `ty`, whose bounds have the type `element`.
///
/// # Errors
/// 22P02 if the text is no range, 22000 if the bounds are in the wrong order, and the errors of the bounds.
pub(super) fn parse(text: &str, ty: Type, element: Type, context: &Context<'_>) -> Result<Range> {
    let malformed = |detail| malformed("range", text, detail);
    let is_over = |rest: &str| rest.trim_start_matches(is_space).is_empty();
    let ended = || malformed("Unexpected end of input.");
    let repr = context.types.repr_of(element)?;
    let start = text.trim_start_matches(is_space);
    if let Some((word, rest)) = start.split_at_checked("empty".len())
        && word.eq_ignore_ascii_case("empty")
    {
        return match is_over(rest) {
            true => Ok(Range::empty(element, repr)),
            false => Err(malformed("Junk after \"empty\" key word.")),
        };
    }
    let has_lower = match start.chars().next() {
        Some('[') => true,
        Some('(') => false,
        _ => return Err(malformed("Missing left parenthesis or bracket.")),
    };
    let (lower, rest) = bound_text(&start[1..]).ok_or_else(ended)?;
    let rest =
        rest.strip_prefix(',').ok_or_else(|| malformed("Missing comma after lower bound."))?;
    let (upper, rest) = bound_text(rest).ok_or_else(ended)?;
    let has_upper = match rest.chars().next() {
        Some(']') => true,
        Some(')') => false,
        _ => return Err(malformed("Too many commas.")),
    };
    if !is_over(&rest[1..]) {
        return Err(malformed("Junk after right parenthesis or bracket."));
    }
    let value = |text: Option<String>| match text {
        Some(text) => super::parse(&text, element, Modifier::NONE, context),
        None => Ok(Datum::Null),
    };
    let (lower, upper) = (value(lower)?, value(upper)?);
    let (lower, upper) =
        (Bound::lower(lower.as_ref(), has_lower), Bound::upper(upper.as_ref(), has_upper));
    Range::new(element, repr, lower, upper)?.canonical(ty)
}

/// Takes the text of a bound off the front, up to a comma or the end of the range; `None` if it does not end. A bound
/// that does not exist has no text.
fn bound_text(text: &str) -> Option<(Option<String>, &str)> {
    const ENDS: [char; 3] = [',', ')', ']'];
    if text.starts_with(ENDS) {
        return Some((None, text));
    }
    let mut out = String::new();
    let rest = take_quoted(text, &ENDS, &mut out)?;
    Some((Some(out), rest))
}

/// Reads a multirange of ranges of the type `range`, whose bounds have the type `element`.
///
/// # Errors
/// 22P02 if the text is no multirange, and the errors of the ranges.
pub(super) fn parse_multi(
    text: &str,
    range: Type,
    element: Type,
    context: &Context<'_>,
) -> Result<Multirange> {
    let malformed = |detail| malformed("multirange", text, detail);
    let trimmed = |text: &'_ str| text.len() - text.trim_start_matches(is_space).len();
    let start = &text[trimmed(text)..];
    let mut rest = start.strip_prefix('{').ok_or_else(|| malformed("Missing left brace."))?;
    let mut ranges: Vec<Range> = Vec::new();
    rest = &rest[trimmed(rest)..];
    if let Some(end) = rest.strip_prefix('}') {
        rest = end;
    } else {
        loop {
            rest = &rest[trimmed(rest)..];
            let is_range = rest.starts_with(['[', '('])
                || rest.get(.."empty".len()).is_some_and(|word| word.eq_ignore_ascii_case("empty"));
            if !is_range {
                return Err(malformed("Expected range start."));
            }
            let end = end_of_range(rest).ok_or_else(|| malformed("Unexpected end of input."))?;
            ranges.push(parse(&rest[..end], range, element, context)?);
            rest = &rest[end..];
            rest = &rest[trimmed(rest)..];
            match rest.chars().next() {
                Some(',') => rest = &rest[1..],
                Some('}') => {
                    rest = &rest[1..];
                    break;
                }
                None => return Err(malformed("Unexpected end of input.")),
                Some(_) => return Err(malformed("Expected comma or end of multirange.")),
            }
        }
    }
    if !rest.trim_start_matches(is_space).is_empty() {
        return Err(malformed("Junk after closing right brace."));
    }
    Ok(Multirange::of(ranges.iter().map(Range::as_ref)))
}

/// Returns where the range ends that the text begins with.
fn end_of_range(text: &str) -> Option<usize> {
    if !text.starts_with(['[', '(']) {
        return Some("empty".len());
    }
    let mut is_quoted = false;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()?),
            '"' => is_quoted = !is_quoted,
            ')' | ']' if !is_quoted => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Writes a range.
pub(super) fn write(range: RangeRef<'_>, context: &Context<'_>, out: &mut String) -> Result<()> {
    let Some((lower, upper)) = range.bounds() else {
        out.push_str("empty");
        return Ok(());
    };
    let element = range.element_type();
    out.push(if lower.is_inclusive { '[' } else { '(' });
    write_bound(lower.value, element, context, out)?;
    out.push(',');
    write_bound(upper.value, element, context, out)?;
    out.push(if upper.is_inclusive { ']' } else { ')' });
    Ok(())
}

fn write_bound(
    value: Option<DatumRef<'_>>,
    element: Type,
    context: &Context<'_>,
    out: &mut String,
) -> Result<()> {
    let Some(value) = value else { return Ok(()) };
    let mut text = String::new();
    super::write(value, element, Modifier::NONE, context, &mut text)?;
    write_quoted(&text, &['(', ')', '[', ']', ','], out);
    Ok(())
}

/// Writes a multirange.
pub(super) fn write_multi(
    ranges: MultirangeRef<'_>,
    context: &Context<'_>,
    out: &mut String,
) -> Result<()> {
    out.push('{');
    for (at, range) in ranges.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write(range, context, out)?;
    }
    out.push('}');
    Ok(())
}
