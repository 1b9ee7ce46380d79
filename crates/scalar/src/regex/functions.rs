//! The functions and operators over regular expressions.

use posix::Spans;
use types::{Array, Datum, Error, Result, SqlState};

use super::similar::similar;
use super::{Flags, compiled, stopped};
use crate::array;
use crate::function::{Function, functions, sets};
use crate::rows::Rows;

pub(crate) fn is_match(text: &str, pattern: &str, flags: Flags) -> Result<bool> {
    let regex = compiled(pattern, flags, false)?;
    regex.search(text, interrupt::is_told).is_match(0).map_err(stopped)
}

/// The first match, with its groups.
fn find(text: &str, pattern: &str, flags: Flags) -> Result<Option<Spans>> {
    let regex = compiled(pattern, flags, true)?;
    regex.search(text, interrupt::is_told).find(0, true).map_err(stopped)
}

fn invalid_parameter(name: &str, value: i32) -> Error {
    Error::new(
        SqlState::INVALID_PARAMETER_VALUE,
        format!("invalid value for parameter \"{name}\": {value}"),
    )
}

/// Flags for a function that looks at all matches by itself.
fn without_global(letters: &str, function: &str) -> Result<Flags> {
    let flags = Flags::parse(letters)?;
    if flags.global {
        return Err(Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("{function}() does not support the \"global\" option"),
        ));
    }
    Ok(flags)
}

/// The byte where the search begins, for a character counted from 1.
fn start_of(text: &str, start: i32) -> Result<usize> {
    if start < 1 {
        return Err(invalid_parameter("start", start));
    }
    let skipped = text.char_indices().nth(start as usize - 1);
    // One behind the last character is still a place; further on there are none.
    let beyond = text.len() + usize::from(start as usize > text.chars().count() + 1);
    Ok(skipped.map_or(beyond, |(byte, _)| byte))
}

fn part(text: &str, span: Option<(usize, usize)>) -> Option<&str> {
    span.map(|(start, end)| &text[start..end])
}

/// The groups of a match; the whole where the expression has none.
fn groups(text: &str, spans: &Spans) -> Result<Array> {
    let wanted = if spans.len() > 1 { &spans[1..] } else { &spans[..] };
    array::texts(wanted.iter().map(|span| part(text, *span)))
}

/// `substring(text from pattern)`: the first group, or the whole.
fn substring<'a>(text: &'a str, pattern: &str) -> Result<Option<&'a str>> {
    let found = find(text, pattern, Flags::default())?;
    Ok(found.and_then(|spans| part(text, spans.get(1).copied().unwrap_or(spans[0]))))
}

pub(crate) fn first_match(text: &str, pattern: &str, flags: Flags) -> Result<Option<Array>> {
    find(text, pattern, flags)?.map(|spans| groups(text, &spans)).transpose()
}

/// The first match, where flags were given.
pub(crate) fn first_match_of(text: &str, pattern: &str, flags: Flags) -> Result<Option<Array>> {
    if flags.global {
        let message = "regexp_match() does not support the \"global\" option";
        let error = Error::new(SqlState::INVALID_PARAMETER_VALUE, message);
        return Err(error.with_hint("Use the regexp_matches function instead."));
    }
    first_match(text, pattern, flags)
}

pub(crate) fn all_matches(text: &str, pattern: &str, flags: Flags) -> Result<Rows> {
    let regex = compiled(pattern, flags, true)?;
    let limit = if flags.global { usize::MAX } else { 1 };
    let found: Vec<_> = regex
        .search(text, interrupt::is_told)
        .matches(0, true)
        .take(limit)
        .map(|spans| groups(text, &spans.map_err(stopped)?).map(Datum::from))
        .collect();
    Ok(Box::new(found.into_iter()))
}

/// The texts between the matches. Empty matches at the ends and right behind others do not split.
pub(crate) fn split<'a>(text: &'a str, pattern: &str, flags: Flags) -> Result<Vec<&'a str>> {
    let regex = compiled(pattern, flags, false)?;
    let mut pieces = Vec::new();
    let mut from = 0;
    for spans in regex.search(text, interrupt::is_told).matches(0, false) {
        let Some((start, end)) = spans.map_err(stopped)?[0] else { continue };
        if start == end && (start == from || start == text.len()) {
            continue;
        }
        pieces.push(&text[from..start]);
        from = end;
    }
    pieces.push(&text[from..]);
    Ok(pieces)
}

/// Replaces the match of number `nth`, or all from the first on for 0.
pub(crate) fn replace(
    text: &str,
    pattern: &str,
    new: &str,
    start: i32,
    nth: i32,
    flags: Flags,
) -> Result<String> {
    if nth < 0 {
        return Err(invalid_parameter("n", nth));
    }
    let names_groups = new.as_bytes().windows(2).any(|two| matches!(two, [b'\\', b'1'..=b'9']));
    let regex = compiled(pattern, flags, names_groups)?;
    let begin = start_of(text, start)?;
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    let search = regex.search(text, interrupt::is_told);
    for (number, spans) in (1..).zip(search.matches(begin, names_groups)) {
        let spans = spans.map_err(stopped)?;
        let Some((start, end)) = spans[0] else { continue };
        if nth > 0 && number != nth {
            continue;
        }
        out.push_str(&text[copied..start]);
        expand(text, new, &spans, &mut out);
        copied = end;
        if nth > 0 {
            break;
        }
    }
    out.push_str(&text[copied..]);
    Ok(out)
}

/// Writes a replacement: `\1` is a group, `\&` the whole match, `\\` a backslash.
fn expand(text: &str, new: &str, spans: &Spans, out: &mut String) {
    let mut chars = new.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('&') => out.extend(part(text, spans[0])),
            Some(digit @ '1'..='9') => {
                let group = digit as usize - '0' as usize;
                out.extend(spans.get(group).and_then(|span| part(text, *span)));
            }
            Some('\\') => out.push('\\'),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
}

fn count(text: &str, pattern: &str, start: i32, flags: Flags) -> Result<i32> {
    let regex = compiled(pattern, flags, false)?;
    let begin = start_of(text, start)?;
    let mut matches = regex.search(text, interrupt::is_told).matches(begin, false);
    matches.try_fold(0, |count, spans| spans.map(|_| count + 1)).map_err(stopped)
}

/// The span of a group of the match of number `nth`.
fn nth_span(
    text: &str,
    pattern: &str,
    (start, nth, group): (i32, i32, i32),
    flags: Flags,
) -> Result<Option<(usize, usize)>> {
    if start < 1 {
        return Err(invalid_parameter("start", start));
    }
    if nth < 1 {
        return Err(invalid_parameter("n", nth));
    }
    if group < 0 {
        return Err(invalid_parameter("subexpr", group));
    }
    let regex = compiled(pattern, flags, group > 0)?;
    // In an expression without groups the whole match is the first one.
    let group = if regex.groups() == 0 && group == 1 { 0 } else { group as usize };
    if group > regex.groups() {
        return Ok(None);
    }
    let begin = start_of(text, start)?;
    let mut matches = regex.search(text, interrupt::is_told).matches(begin, group > 0);
    let found = matches.nth(nth as usize - 1).transpose().map_err(stopped)?;
    Ok(found.and_then(|spans| spans[group]))
}

/// The position, from 1, where a match begins, or the one behind it; 0 for no match.
fn position(
    text: &str,
    pattern: &str,
    which: (i32, i32, i32),
    end: i32,
    flags: Flags,
) -> Result<i32> {
    if !(0..=1).contains(&end) {
        return Err(invalid_parameter("endoption", end));
    }
    let span = nth_span(text, pattern, which, flags)?;
    Ok(span.map_or(0, |(start, stop)| {
        text[..if end == 1 { stop } else { start }].chars().count() as i32 + 1
    }))
}

pub(crate) const TABLE: &[Function] = functions! {
    1254 textregexeq(TEXT, TEXT) -> BOOL = (a: &str, p: &str) is_match(a, p, Flags::default());
    1256 textregexne(TEXT, TEXT) -> BOOL = (a: &str, p: &str)
        is_match(a, p, Flags::default()).map(|found| !found);
    79 nameregexeq(NAME, TEXT) -> BOOL = (a: &str, p: &str) is_match(a, p, Flags::default());
    1252 nameregexne(NAME, TEXT) -> BOOL = (a: &str, p: &str)
        is_match(a, p, Flags::default()).map(|found| !found);
    1658 bpcharregexeq(BPCHAR, TEXT) -> BOOL = (a: &str, p: &str) is_match(a, p, Flags::default());
    1659 bpcharregexne(BPCHAR, TEXT) -> BOOL = (a: &str, p: &str)
        is_match(a, p, Flags::default()).map(|found| !found);
    1238 texticregexeq(TEXT, TEXT) -> BOOL = (a: &str, p: &str) is_match(a, p, Flags::any_case());
    1239 texticregexne(TEXT, TEXT) -> BOOL = (a: &str, p: &str)
        is_match(a, p, Flags::any_case()).map(|found| !found);
    1240 nameicregexeq(NAME, TEXT) -> BOOL = (a: &str, p: &str) is_match(a, p, Flags::any_case());
    1241 nameicregexne(NAME, TEXT) -> BOOL = (a: &str, p: &str)
        is_match(a, p, Flags::any_case()).map(|found| !found);
    1656 bpcharicregexeq(BPCHAR, TEXT) -> BOOL = (a: &str, p: &str) is_match(a, p, Flags::any_case());
    1657 bpcharicregexne(BPCHAR, TEXT) -> BOOL = (a: &str, p: &str)
        is_match(a, p, Flags::any_case()).map(|found| !found);
    6263 regexp_like(TEXT, TEXT) -> BOOL = (a: &str, p: &str) is_match(a, p, Flags::default());
    6264 regexp_like(TEXT, TEXT, TEXT) -> BOOL = (a: &str, p: &str, f: &str)
        is_match(a, p, without_global(f, "regexp_like")?);

    2073 substring(TEXT, TEXT) -> TEXT = (a: &str, p: &str) substring(a, p);
    2074 substring(TEXT, TEXT, TEXT) -> TEXT = (a: &str, p: &str, escape: &str)
        substring(a, &similar(p, Some(escape))?);
    1986 similar_to_escape(TEXT, TEXT) -> TEXT = (p: &str, escape: &str) similar(p, Some(escape));
    1987 similar_to_escape(TEXT) -> TEXT = (p: &str) similar(p, None);
    1623 similar_escape(TEXT, TEXT) -> TEXT [nullable] = (p: Option<&str>, escape: Option<&str>)
        p.map(|p| similar(p, escape));

    3396 regexp_match(TEXT, TEXT) -> TEXT_ARRAY = (a: &str, p: &str)
        first_match(a, p, Flags::default());
    3397 regexp_match(TEXT, TEXT, TEXT) -> TEXT_ARRAY = (a: &str, p: &str, f: &str)
        first_match_of(a, p, Flags::parse(f)?);
    2284 regexp_replace(TEXT, TEXT, TEXT) -> TEXT = (a: &str, p: &str, new: &str)
        replace(a, p, new, 1, 1, Flags::default());
    2285 regexp_replace(TEXT, TEXT, TEXT, TEXT) -> TEXT = (a: &str, p: &str, new: &str, f: &str) {
        let flags = replace_flags(f)?;
        replace(a, p, new, 1, i32::from(!flags.global), flags)
    };
    6251 regexp_replace(TEXT, TEXT, TEXT, INT4, INT4, TEXT) -> TEXT =
        (a: &str, p: &str, new: &str, start: i32, nth: i32, f: &str)
        replace(a, p, new, start, nth, Flags::parse(f)?);
    6252 regexp_replace(TEXT, TEXT, TEXT, INT4, INT4) -> TEXT =
        (a: &str, p: &str, new: &str, start: i32, nth: i32)
        replace(a, p, new, start, nth, Flags::default());
    6253 regexp_replace(TEXT, TEXT, TEXT, INT4) -> TEXT =
        (a: &str, p: &str, new: &str, start: i32) replace(a, p, new, start, 1, Flags::default());
    2767 regexp_split_to_array(TEXT, TEXT) -> TEXT_ARRAY = (a: &str, p: &str)
        array::texts(split(a, p, Flags::default())?.into_iter().map(Some));
    2768 regexp_split_to_array(TEXT, TEXT, TEXT) -> TEXT_ARRAY = (a: &str, p: &str, f: &str)
        array::texts(split(a, p, without_global(f, "regexp_split_to_array")?)?.into_iter().map(Some));

    6254 regexp_count(TEXT, TEXT) -> INT4 = (a: &str, p: &str) count(a, p, 1, Flags::default());
    6255 regexp_count(TEXT, TEXT, INT4) -> INT4 = (a: &str, p: &str, start: i32)
        count(a, p, start, Flags::default());
    6256 regexp_count(TEXT, TEXT, INT4, TEXT) -> INT4 = (a: &str, p: &str, start: i32, f: &str)
        count(a, p, start, without_global(f, "regexp_count")?);
    6257 regexp_instr(TEXT, TEXT) -> INT4 = (a: &str, p: &str)
        position(a, p, (1, 1, 0), 0, Flags::default());
    6258 regexp_instr(TEXT, TEXT, INT4) -> INT4 = (a: &str, p: &str, start: i32)
        position(a, p, (start, 1, 0), 0, Flags::default());
    6259 regexp_instr(TEXT, TEXT, INT4, INT4) -> INT4 = (a: &str, p: &str, start: i32, n: i32)
        position(a, p, (start, n, 0), 0, Flags::default());
    6260 regexp_instr(TEXT, TEXT, INT4, INT4, INT4) -> INT4 =
        (a: &str, p: &str, start: i32, n: i32, end: i32)
        position(a, p, (start, n, 0), end, Flags::default());
    6261 regexp_instr(TEXT, TEXT, INT4, INT4, INT4, TEXT) -> INT4 =
        (a: &str, p: &str, start: i32, n: i32, end: i32, f: &str)
        position(a, p, (start, n, 0), end, without_global(f, "regexp_instr")?);
    6262 regexp_instr(TEXT, TEXT, INT4, INT4, INT4, TEXT, INT4) -> INT4 =
        (a: &str, p: &str, start: i32, n: i32, end: i32, f: &str, group: i32)
        position(a, p, (start, n, group), end, without_global(f, "regexp_instr")?);
    6265 regexp_substr(TEXT, TEXT) -> TEXT = (a: &str, p: &str)
        part(a, nth_span(a, p, (1, 1, 0), Flags::default())?);
    6266 regexp_substr(TEXT, TEXT, INT4) -> TEXT = (a: &str, p: &str, start: i32)
        part(a, nth_span(a, p, (start, 1, 0), Flags::default())?);
    6267 regexp_substr(TEXT, TEXT, INT4, INT4) -> TEXT = (a: &str, p: &str, start: i32, n: i32)
        part(a, nth_span(a, p, (start, n, 0), Flags::default())?);
    6268 regexp_substr(TEXT, TEXT, INT4, INT4, TEXT) -> TEXT =
        (a: &str, p: &str, start: i32, n: i32, f: &str)
        part(a, nth_span(a, p, (start, n, 0), without_global(f, "regexp_substr")?)?);
    6269 regexp_substr(TEXT, TEXT, INT4, INT4, TEXT, INT4) -> TEXT =
        (a: &str, p: &str, start: i32, n: i32, f: &str, group: i32)
        part(a, nth_span(a, p, (start, n, group), without_global(f, "regexp_substr")?)?);
};

/// The flags of `regexp_replace`, where a number in their place is a likely mistake.
fn replace_flags(letters: &str) -> Result<Flags> {
    let flags = Flags::parse(letters);
    if letters.starts_with(|c: char| c.is_ascii_digit()) {
        return flags.map_err(|error| {
            error.with_hint(
                "If you meant to use regexp_replace() with a start parameter, cast the fourth \
                 argument to integer explicitly.",
            )
        });
    }
    flags
}

pub(crate) const SETS: &[Function] = sets! {
    2763 regexp_matches(TEXT, TEXT) -> TEXT_ARRAY = (a: &str, p: &str)
        all_matches(a, p, Flags::default());
    2764 regexp_matches(TEXT, TEXT, TEXT) -> TEXT_ARRAY = (a: &str, p: &str, f: &str)
        all_matches(a, p, Flags::parse(f)?);
    2765 regexp_split_to_table(TEXT, TEXT) -> TEXT = (a: &str, p: &str)
        Ok(pieces(split(a, p, Flags::default())?));
    2766 regexp_split_to_table(TEXT, TEXT, TEXT) -> TEXT = (a: &str, p: &str, f: &str)
        Ok(pieces(split(a, p, without_global(f, "regexp_split_to_table")?)?));
};

pub(crate) fn pieces(pieces: Vec<&str>) -> Rows {
    let pieces: Vec<_> = pieces.into_iter().map(|piece| Ok(Datum::text(piece))).collect();
    Box::new(pieces.into_iter())
}
