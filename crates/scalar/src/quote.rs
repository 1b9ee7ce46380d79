//! Quoting, and texts put together from values of any type: `concat`, `format`, `quote_ident`.

use std::borrow::Cow;

use types::bounded::{self, TextBuilder};
use types::{DatumRef, Error, Modifier, Result, SqlState, Type};

use crate::array;
use crate::format::format_text;
use crate::function::{Call, Function, functions};
use crate::search::pieces;

/// The text form of a value of a type; `None` for NULL.
pub(crate) fn text_of(call: &Call<'_>, value: DatumRef<'_>, ty: Type) -> Option<String> {
    types::text::to_string(value, ty, Modifier::NONE, &call.context.types)
}

/// The value as a cast to `text` gives it: a truth value as a word.
fn cast_text(call: &Call<'_>, value: DatumRef<'_>, at: usize) -> String {
    match value {
        DatumRef::Bool(value) => if value { "true" } else { "false" }.to_owned(),
        value => text_of(call, value, call.args[at]).unwrap_or_default(),
    }
}

/// An identifier, in quotes where SQL would read it as something else.
pub fn identifier(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_')
        && !KEYWORDS.split_ascii_whitespace().any(|keyword| keyword == name);
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// A text as a literal.
pub fn literal(text: &str) -> String {
    let escape = if text.contains('\\') { "E" } else { "" };
    format!("{escape}'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// As [`identifier`], of a text that may be long.
pub(crate) fn bounded_identifier(name: &str) -> Result<TextBuilder> {
    let mut out = TextBuilder::new();
    if name.len() <= QUOTED_AT_ONCE_BYTES {
        out.push(&identifier(name))?;
        return Ok(out);
    }
    // No keyword is that long, and a name with a quote in it is in quotes.
    let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_');
    let mark = if is_plain { "" } else { "\"" };
    out.push(mark)?;
    pieces(name).try_for_each(|piece| out.push(&piece.replace('"', "\"\"")))?;
    out.push(mark)?;
    Ok(out)
}

/// As [`literal`], of a text that may be long.
pub(crate) fn bounded_literal(text: &str) -> Result<TextBuilder> {
    let mut out = TextBuilder::new();
    if text.len() <= QUOTED_AT_ONCE_BYTES {
        out.push(&literal(text))?;
        return Ok(out);
    }
    out.push(if text.contains('\\') { "E'" } else { "'" })?;
    pieces(text)
        .try_for_each(|piece| out.push(&piece.replace('\\', "\\\\").replace('\'', "''")))?;
    out.push("'")?;
    Ok(out)
}

/// A text as a literal, and NULL as the word.
fn nullable_literal(text: Option<&str>) -> Result<TextBuilder> {
    if let Some(text) = text {
        return bounded_literal(text);
    }
    let mut out = TextBuilder::new();
    out.push("NULL")?;
    Ok(out)
}

/// Up to how many bytes are quoted in one go.
const QUOTED_AT_ONCE_BYTES: usize = 1 << 16;

/// Keywords that are no identifiers without quotes, everywhere or in some places.
const KEYWORDS: &str = "\
    all analyse analyze and any array as asc asymmetric authorization between bigint binary \
    bit boolean both case cast char character check coalesce collate collation column \
    concurrently constraint create cross current_catalog current_date current_role \
    current_schema current_time current_timestamp current_user dec decimal default \
    deferrable desc distinct do else end except exists extract false fetch float for \
    foreign freeze from full grant greatest group grouping having ilike in initially inner \
    inout int integer intersect interval into is isnull join json json_array json_arrayagg \
    json_exists json_object json_objectagg json_query json_scalar json_serialize json_table \
    json_value lateral leading least left like limit localtime localtimestamp merge_action \
    national natural nchar none normalize not notnull null nullif numeric offset on only or \
    order out outer overlaps overlay placing position precision primary real references \
    returning right row select session_user setof similar smallint some substring symmetric \
    system_user table tablesample then time timestamp to trailing treat trim true union \
    unique user using values varchar variadic verbose when where window with xmlattributes \
    xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot \
    xmlserialize xmltable";

/// The arguments behind the first `fixed`, as values with their types: those of the array where one
/// was spread by `VARIADIC`.
pub(crate) fn variadic<'a>(
    call: &Call<'_>,
    args: &[DatumRef<'a>],
    fixed: usize,
) -> Result<Option<Vec<(DatumRef<'a>, Type)>>> {
    let spread = call.spread;
    let rest = args.get(fixed..).unwrap_or_default();
    if !spread {
        let types = call.args.get(fixed..).unwrap_or_default();
        return Ok(Some(rest.iter().copied().zip(types.iter().copied()).collect()));
    }
    match rest.first() {
        Some(DatumRef::Array(array)) => {
            let element = array.element_type();
            Ok(Some(array.iter().map(|value| (value, element)).collect()))
        }
        _ => Ok(None),
    }
}

/// The texts of all values, NULLs left out.
fn concatenate(
    call: &Call<'_>,
    args: &[DatumRef<'_>],
    fixed: usize,
    separator: &str,
) -> Result<Option<TextBuilder>> {
    let Some(values) = variadic(call, args, fixed)? else { return Ok(None) };
    let texts = values.into_iter().filter_map(|(value, ty)| match value {
        // A text is not copied to be copied again.
        DatumRef::Text(text) if ty == Type::TEXT => Some(Cow::Borrowed(text)),
        value => text_of(call, value, ty).map(Cow::Owned),
    });
    glue(texts, separator).map(Some)
}

/// Two texts, one behind the other.
fn pair(a: &str, b: &str) -> Result<TextBuilder> {
    bounded::check(a.len() + b.len())?;
    let mut out = TextBuilder::with_capacity(a.len() + b.len());
    out.push(a)?;
    out.push(b)?;
    Ok(out)
}

/// Texts with a separator between them.
fn glue<'a>(texts: impl Iterator<Item = Cow<'a, str>>, separator: &str) -> Result<TextBuilder> {
    let (mut out, mut is_first) = (TextBuilder::new(), true);
    for text in texts {
        if !std::mem::take(&mut is_first) {
            out.push(separator)?;
        }
        out.push(&text)?;
    }
    Ok(out)
}

/// The elements of an array, with a separator between them; NULLs as a text, or left out.
fn join(
    call: &Call<'_>,
    array: types::ArrayRef<'_>,
    separator: &str,
    null: Option<&str>,
) -> Result<TextBuilder> {
    let element = array.element_type();
    let texts = array.iter().filter_map(|value| {
        let text = text_of(call, value, element).map(Cow::Owned);
        text.or_else(|| null.map(Cow::Borrowed))
    });
    glue(texts, separator)
}

/// How many of the arguments are NULL, or are not.
fn count_nulls(call: &Call<'_>, args: &[DatumRef<'_>], nulls: bool) -> Result<Option<i32>> {
    let values = variadic(call, args, 0)?;
    Ok(values
        .map(|values| values.iter().filter(|(value, _)| value.is_null() == nulls).count() as i32))
}

/// The parts of a qualified name, unquoted.
fn parse_identifier(text: &str, strict: bool) -> Result<types::Array> {
    let invalid = |detail: Option<String>| {
        let error = Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("string is not a valid identifier: \"{text}\""),
        );
        detail.into_iter().fold(error, |error, detail| error.with_detail(detail))
    };
    let mut parts: Vec<String> = Vec::new();
    let mut rest = text.trim_start();
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut part = String::new();
            let mut chars = quoted.char_indices();
            let end = loop {
                match chars.next() {
                    Some((at, '"')) if quoted[at + 1..].starts_with('"') => {
                        part.push('"');
                        chars.next();
                    }
                    Some((at, '"')) => break at + 1,
                    Some((_, c)) => part.push(c),
                    None => {
                        return Err(invalid(Some("String has unclosed double quotes.".to_owned())));
                    }
                }
            };
            if part.is_empty() {
                return Err(invalid(Some("Quoted identifier must not be empty.".to_owned())));
            }
            parts.push(part);
            rest = &quoted[end..];
        } else {
            let within = |c: char| c.is_alphanumeric() || c == '_' || c == '$' || !c.is_ascii();
            let end = rest.find(|c| !within(c)).unwrap_or(rest.len());
            let part = &rest[..end];
            if part.is_empty() || part.starts_with(|c: char| c.is_ascii_digit() || c == '$') {
                let detail = match rest.chars().next() {
                    Some('.') => Some("No valid identifier before \".\".".to_owned()),
                    _ if !parts.is_empty() => Some("No valid identifier after \".\".".to_owned()),
                    _ => None,
                };
                return Err(invalid(detail));
            }
            parts.push(part.to_lowercase());
            rest = &rest[end..];
        }
        rest = rest.trim_start();
        match rest.strip_prefix('.') {
            Some(after) => rest = after.trim_start(),
            None if rest.is_empty() || !strict => break,
            None => return Err(invalid(None)),
        }
    }
    array::texts(parts.iter().map(|part| Some(part.as_str())))
}

pub(crate) const TABLE: &[Function] = functions! {
    3058 concat(ANY) -> TEXT [stable, nullable, variadic] = [call, args]
        concatenate(call, args, 0, "");
    3059 concat_ws(TEXT, ANY) -> TEXT [stable, nullable, variadic] = [call, args]
        match args[0] {
            DatumRef::Text(separator) => concatenate(call, args, 1, separator)?,
            _ => None,
        };
    3539 format(TEXT, ANY) -> TEXT [stable, nullable, variadic] = [call, args]
        format_text(call, args);
    3540 format(TEXT) -> TEXT [stable, nullable] = [call, args] format_text(call, args);
    2003 textanycat(TEXT, ANYNONARRAY) -> TEXT [stable] = (call; a: &str, b: DatumRef<'_>)
        pair(a, &cast_text(call, b, 1));
    2004 anytextcat(ANYNONARRAY, TEXT) -> TEXT [stable] = (call; a: DatumRef<'_>, b: &str)
        pair(&cast_text(call, a, 0), b);
    384 array_to_string(ANYARRAY, TEXT, TEXT) -> TEXT [stable, nullable] =
        (call; a: Option<types::ArrayRef<'_>>, separator: Option<&str>, null: Option<&str>)
        match a.zip(separator) {
            Some((a, separator)) => Some(join(call, a, separator, null)?),
            None => None,
        };
    395 array_to_string(ANYARRAY, TEXT) -> TEXT [stable] =
        (call; a: types::ArrayRef<'_>, separator: &str) join(call, a, separator, None);
    1282 quote_ident(TEXT) -> TEXT = (a: &str) bounded_identifier(a);
    1283 quote_literal(TEXT) -> TEXT = (a: &str) bounded_literal(a);
    1285 quote_literal(ANYELEMENT) -> TEXT [stable] = (call; a: DatumRef<'_>)
        bounded_literal(&cast_text(call, a, 0));
    1289 quote_nullable(TEXT) -> TEXT [nullable] = (a: Option<&str>) nullable_literal(a);
    1290 quote_nullable(ANYELEMENT) -> TEXT [stable, nullable] = (call; a: DatumRef<'_>)
        if a.is_null() {
            nullable_literal(None)
        } else {
            nullable_literal(Some(&cast_text(call, a, 0)))
        };
    1268 parse_ident(TEXT, BOOL) -> TEXT_ARRAY [defaults = &[crate::function::Default::Bool(true)]] =
        (a: &str, strict: bool) parse_identifier(a, strict);
    438 num_nulls(ANY) -> INT4 [nullable, variadic] = [call, args] count_nulls(call, args, true);
    440 num_nonnulls(ANY) -> INT4 [nullable, variadic] = [call, args]
        count_nulls(call, args, false);
    1619 pg_typeof(ANY) -> REGTYPE [stable, nullable] = [call, _args]
        call.args.first().map(|ty| ty.oid());
};
