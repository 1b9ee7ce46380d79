//! [`TextTest`]: conditions on the texts of a column that has no dictionary, without a program.
//!
//! ```text
//!   note LIKE '%special%requests%'                        Like
//!   substring(phone, 1, 2) IN ('13', '31', '23')          Among the part of the text
//!   segment = 'BUILDING'                                  Among one text
//! ```

use memchr::memmem::Finder;
use scalar::cast::CoercionPath;
use scalar::registry;
use sql::plan::{Cast, Expr, ExprKind};
use types::{Datum, DatumRef, Type};

use crate::value::{column_and_name, uncast};

/// A test of a text.
#[derive(Clone, Debug)]
pub(crate) enum TextTest {
    Like(Like),
    Among(Among),
}

impl TextTest {
    /// Returns the test that an expression is of the texts of a column, if it has nothing else in it.
    pub fn of(expr: &Expr) -> Option<TextTest> {
        Like::of(expr).map(TextTest::Like).or_else(|| Among::of(expr).map(TextTest::Among))
    }

    /// Returns true if the test is true of a value; false for NULL.
    #[inline]
    pub fn is_true(&self, value: DatumRef<'_>) -> bool {
        let DatumRef::Text(text) = value else { return false };
        match self {
            TextTest::Like(like) => like.matches(text.as_bytes()) != like.is_negated,
            TextTest::Among(among) => among.has(text),
        }
    }
}

/// A pattern of `LIKE` of texts, some of them with any text between.
#[derive(Clone, Debug)]
pub(crate) struct Like {
    first: Vec<u8>,
    middle: Vec<Finder<'static>>,
    last: Vec<u8>,
    /// True for `NOT LIKE`.
    is_negated: bool,
}

impl Like {
    /// Returns the pattern that an expression matches a column with, if it has nothing else in it.
    fn of(expr: &Expr) -> Option<Like> {
        let ExprKind::Call(call) = &expr.kind else { return None };
        let is_negated = match registry::function(call.function)?.name {
            "textlike" => false,
            "textnlike" => true,
            _ => return None,
        };
        let (_, pattern) = column_and_name(&call.args)?;
        if pattern.contains(['_', '\\']) {
            return None;
        }
        let parts: Vec<&str> = pattern.split('%').collect();
        let [first, middle @ .., last] = &parts[..] else { return None };
        let middle = middle.iter().filter(|part| !part.is_empty());
        Some(Like {
            first: first.as_bytes().to_vec(),
            middle: middle.map(|part| Finder::new(part).into_owned()).collect(),
            last: last.as_bytes().to_vec(),
            is_negated,
        })
    }

    fn matches(&self, text: &[u8]) -> bool {
        let mut rest = text;
        if !self.first.is_empty() || !self.last.is_empty() {
            let inner = text.strip_prefix(&self.first[..]);
            match inner.and_then(|inner| inner.strip_suffix(&self.last[..])) {
                Some(inner) => rest = inner,
                None => return false,
            }
        }
        // The first place of each part leaves the most room for those behind.
        self.middle.iter().all(|part| match part.find(rest) {
            Some(at) => {
                rest = &rest[at + part.needle().len()..];
                true
            }
            None => false,
        })
    }
}

/// A list of texts, of which the text of a column, or a part of it, is to be one.
#[derive(Clone, Debug)]
pub(crate) struct Among {
    /// True if blanks at the end do not count: the column is a `char(n)`.
    is_trimmed: bool,
    /// The number of characters before the part, and how many it has at most.
    part: Option<(usize, usize)>,
    /// In order.
    texts: Vec<Box<str>>,
}

impl Among {
    fn of(expr: &Expr) -> Option<Among> {
        let call = match &expr.kind {
            ExprKind::AnyAll { call, all: false } | ExprKind::Call(call) => call,
            _ => return None,
        };
        let [text, list] = &call.args[..] else { return None };
        let is_of_chars = match registry::function(call.function)?.name {
            "texteq" => false,
            "bpchareq" => true,
            _ => return None,
        };
        let (is_trimmed, part) = part_of(text)?;
        let is_trimmed = is_trimmed || is_of_chars;
        let mut texts = texts_of(list)?;
        if is_of_chars {
            texts.iter_mut().for_each(|text| *text = text.trim_end_matches(' ').into());
        }
        texts.sort_unstable();
        Some(Among { is_trimmed, part, texts })
    }

    #[inline]
    fn has(&self, text: &str) -> bool {
        let text = if self.is_trimmed { text.trim_end_matches(' ') } else { text };
        let text = match self.part {
            Some((before, most)) => part(text, before, most),
            None => text,
        };
        self.texts.binary_search_by(|one| (**one).cmp(text)).is_ok()
    }
}

/// Returns up to so many characters of a text, behind so many others.
#[inline]
fn part(text: &str, before: usize, most: usize) -> &str {
    let end = before.saturating_add(most);
    // The usual text has one byte for each character.
    if let Some(head) = text.as_bytes().get(..end)
        && head.is_ascii()
    {
        return &text[before..end];
    }
    let skip = |text: &str, characters: usize| {
        text.char_indices().nth(characters).map_or(text.len(), |(at, _)| at)
    };
    let text = &text[skip(text, before)..];
    &text[..skip(text, most)]
}

/// Returns the texts of a list, or the one that stands in its place, without NULL: a condition that compares with NULL is
/// not true.
fn texts_of(list: &Expr) -> Option<Vec<Box<str>>> {
    let text = |value: DatumRef<'_>| match value {
        DatumRef::Text(text) => Some(Some(text.into())),
        DatumRef::Null => Some(None),
        _ => None,
    };
    let texts: Option<Vec<Option<Box<str>>>> = match &list.kind {
        ExprKind::Array { elements, nested: false } => {
            let element = |element: &Expr| match &element.kind {
                ExprKind::Const(value) => text(value.as_ref()),
                _ => None,
            };
            elements.iter().map(element).collect()
        }
        ExprKind::Const(Datum::Array(array)) => array.as_ref().iter().map(text).collect(),
        ExprKind::Const(value) => text(value.as_ref()).map(|text| vec![text]),
        _ => None,
    };
    texts.map(|texts| texts.into_iter().flatten().collect())
}

/// Returns which part of the text of a column an expression is, and whether the text is without blanks at its end.
fn part_of(expr: &Expr) -> Option<(bool, Option<(usize, usize)>)> {
    match &uncast(expr).kind {
        ExprKind::Column { levels_up: 0, .. } => Some((false, None)),
        ExprKind::Cast { expr: inner, how: Cast::Type { how: CoercionPath::Function(_), .. } }
            if inner.ty == Type::BPCHAR
                && matches!(expr.ty, Type::TEXT | Type::VARCHAR)
                && matches!(inner.kind, ExprKind::Column { levels_up: 0, .. }) =>
        {
            Some((true, None))
        }
        ExprKind::Call(call) => {
            let name = registry::function(call.function)?.name;
            let [text, start, count] = &call.args[..] else { return None };
            let (is_trimmed, None) = part_of(text)? else { return None };
            if !matches!(name, "substring" | "substr") || text.ty != Type::TEXT {
                return None;
            }
            let number = |expr: &Expr| match expr.kind {
                ExprKind::Const(Datum::Int4(number)) => usize::try_from(number).ok(),
                _ => None,
            };
            let before = number(start)?.checked_sub(1)?;
            Some((is_trimmed, Some((before, number(count)?))))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The part of a text is that of its characters, however many bytes these have.
    #[test]
    fn a_part_has_whole_characters() {
        let all = [("13-555", "13"), ("1", "1"), ("", ""), ("ä€-x", "ä€"), ("x€", "x€")];
        for (text, expected) in all {
            assert_eq!(part(text, 0, 2), expected, "{text}");
        }
        assert_eq!(part("äbcd", 1, 2), "bc");
        assert_eq!(part("äb", 2, 2), "");
        assert_eq!(part("ab", 3, usize::MAX), "");
        assert_eq!(part("abc", 1, usize::MAX), "bc");
    }
}
