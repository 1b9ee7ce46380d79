//! `citext`: text whose case does not count.
//!
//! The order of [`types::Repr::Folded`] compares small letters. This module has the functions and operators of the
//! extension. Those for patterns are the functions that ignore case.

use std::cmp::Ordering;

use types::{Datum, DatumRef, Result};

use crate::aggregate::Kind;
use crate::aggregate::aggregates;
use crate::aggregate::collect::Extreme;
use crate::array::texts;
use crate::cast::{Cast, casts};
use crate::function::{Function, functions, sets};
use crate::operators::{Operator, operators};
use crate::pattern::like_any_case;
use crate::regex::{self, Flags};
use crate::string::{self, lower, upper};
use types::hash;

/// Text that is looked at as `citext`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Folded<'a>(DatumRef<'a>);

fn cmp(a: &str, b: &str) -> Ordering {
    Folded(DatumRef::Folded(a)).cmp(&Folded(DatumRef::Folded(b)))
}

fn small(text: &str) -> Result<String> {
    Ok(lower(text)?.get().to_owned())
}

/// The flags of a call, without case unless it says so.
fn any_case(letters: &str) -> Result<Flags> {
    match letters.contains('c') {
        true => Flags::parse(letters),
        false => Flags::parse(&format!("{letters}i")),
    }
}

/// A text as an expression that matches it.
fn literally(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if !letter.is_ascii_alphanumeric() && letter != '_' {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}

/// The piece with a number, which counts from the end if it is negative; NULL beyond the last.
fn split_part(text: &str, delimiter: &str, number: i32) -> Result<Option<String>> {
    let pieces = regex::split(text, &literally(delimiter), Flags::any_case())?;
    let at = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    Ok(at.and_then(|at| pieces.get(at)).map(|piece| (*piece).to_owned()))
}

fn replace(text: &str, part: &str, new: &str) -> Result<String> {
    regex::replace(text, &literally(part), new, 1, 0, Flags::any_case())
}

fn translate(text: &str, from: &str, to: &str) -> Result<String> {
    let first = string::translate(text, lower(from)?.get(), to)?;
    Ok(string::translate(first.get(), upper(from)?.get(), to)?.get().to_owned())
}

fn folded(text: &str) -> Datum {
    Datum::Folded(text.into())
}

pub(crate) const TABLE: &[Function] = functions! {
    15110 citext(BPCHAR) -> CITEXT = (a: &str) folded(a);
    15111 citext(BOOL) -> CITEXT = (a: bool) folded(if a { "true" } else { "false" });
    15112 citext_eq(CITEXT, CITEXT) -> BOOL = (a: &str, b: &str) cmp(a, b).is_eq();
    15113 citext_ne(CITEXT, CITEXT) -> BOOL = (a: &str, b: &str) cmp(a, b).is_ne();
    15114 citext_lt(CITEXT, CITEXT) -> BOOL = (a: &str, b: &str) cmp(a, b).is_lt();
    15115 citext_le(CITEXT, CITEXT) -> BOOL = (a: &str, b: &str) cmp(a, b).is_le();
    15116 citext_gt(CITEXT, CITEXT) -> BOOL = (a: &str, b: &str) cmp(a, b).is_gt();
    15117 citext_ge(CITEXT, CITEXT) -> BOOL = (a: &str, b: &str) cmp(a, b).is_ge();
    15118 citext_cmp(CITEXT, CITEXT) -> INT4 = (a: &str, b: &str) cmp(a, b) as i32;
    15119 citext_hash(CITEXT) -> INT4 = (a: &str) small(a).map(|a| hash::bytes(a.as_bytes(), 0) as i32);
    15120 citext_hash_extended(CITEXT, INT8) -> INT8 = (a: &str, seed: i64)
        small(a).map(|a| hash::bytes(a.as_bytes(), seed) as i64);
    15121 citext_smaller(CITEXT, CITEXT) -> CITEXT = (a: &str, b: &str)
        folded(if cmp(a, b).is_lt() { a } else { b });
    15122 citext_larger(CITEXT, CITEXT) -> CITEXT = (a: &str, b: &str)
        folded(if cmp(a, b).is_gt() { a } else { b });
    15123 texticlike(CITEXT, CITEXT) -> BOOL = (a: &str, p: &str) like_any_case(a, p);
    15124 texticnlike(CITEXT, CITEXT) -> BOOL = (a: &str, p: &str)
        like_any_case(a, p).map(|found| !found);
    15125 texticregexeq(CITEXT, CITEXT) -> BOOL = (a: &str, p: &str)
        regex::is_match(a, p, Flags::any_case());
    15126 texticregexne(CITEXT, CITEXT) -> BOOL = (a: &str, p: &str)
        regex::is_match(a, p, Flags::any_case()).map(|found| !found);
    15127 texticlike(CITEXT, TEXT) -> BOOL = (a: &str, p: &str) like_any_case(a, p);
    15128 texticnlike(CITEXT, TEXT) -> BOOL = (a: &str, p: &str)
        like_any_case(a, p).map(|found| !found);
    15129 texticregexeq(CITEXT, TEXT) -> BOOL = (a: &str, p: &str)
        regex::is_match(a, p, Flags::any_case());
    15130 texticregexne(CITEXT, TEXT) -> BOOL = (a: &str, p: &str)
        regex::is_match(a, p, Flags::any_case()).map(|found| !found);
    15131 regexp_match(CITEXT, CITEXT) -> TEXT_ARRAY = (a: &str, p: &str)
        regex::first_match(a, p, Flags::any_case());
    15132 regexp_match(CITEXT, CITEXT, TEXT) -> TEXT_ARRAY = (a: &str, p: &str, f: &str)
        regex::first_match_of(a, p, any_case(f)?);
    15133 regexp_replace(CITEXT, CITEXT, TEXT) -> TEXT = (a: &str, p: &str, new: &str)
        regex::replace(a, p, new, 1, 1, Flags::any_case());
    15134 regexp_replace(CITEXT, CITEXT, TEXT, TEXT) -> TEXT
        = (a: &str, p: &str, new: &str, f: &str) {
        let flags = any_case(f)?;
        regex::replace(a, p, new, 1, i32::from(!flags.global), flags)
    };
    15135 regexp_split_to_array(CITEXT, CITEXT) -> TEXT_ARRAY = (a: &str, p: &str)
        texts(regex::split(a, p, Flags::any_case())?.into_iter().map(Some));
    15136 regexp_split_to_array(CITEXT, CITEXT, TEXT) -> TEXT_ARRAY = (a: &str, p: &str, f: &str)
        texts(regex::split(a, p, any_case(f)?)?.into_iter().map(Some));
    15137 strpos(CITEXT, CITEXT) -> INT4 = (a: &str, part: &str)
        Ok::<_, types::Error>(string::position(&small(a)?, &small(part)?));
    15138 replace(CITEXT, CITEXT, CITEXT) -> TEXT = (a: &str, part: &str, new: &str)
        replace(a, part, new);
    15139 split_part(CITEXT, CITEXT, INT4) -> TEXT = (a: &str, delimiter: &str, n: i32)
        split_part(a, delimiter, n);
    15140 translate(CITEXT, CITEXT, TEXT) -> TEXT = (a: &str, from: &str, to: &str)
        translate(a, from, to);
    15141 citext_pattern_lt(CITEXT, CITEXT) -> BOOL = (a: &str, b: &str) cmp(a, b).is_lt();
    15142 citext_pattern_le(CITEXT, CITEXT) -> BOOL = (a: &str, b: &str) cmp(a, b).is_le();
    15143 citext_pattern_gt(CITEXT, CITEXT) -> BOOL = (a: &str, b: &str) cmp(a, b).is_gt();
    15144 citext_pattern_ge(CITEXT, CITEXT) -> BOOL = (a: &str, b: &str) cmp(a, b).is_ge();
    15145 citext_pattern_cmp(CITEXT, CITEXT) -> INT4 = (a: &str, b: &str) cmp(a, b) as i32;
};

pub(crate) const SETS: &[Function] = sets! {
    15146 regexp_matches(CITEXT, CITEXT) -> TEXT_ARRAY = (_call; a: &str, p: &str)
        regex::all_matches(a, p, Flags::any_case());
    15147 regexp_matches(CITEXT, CITEXT, TEXT) -> TEXT_ARRAY = (_call; a: &str, p: &str, f: &str)
        regex::all_matches(a, p, any_case(f)?);
    15148 regexp_split_to_table(CITEXT, CITEXT) -> TEXT = (_call; a: &str, p: &str)
        Ok(regex::pieces(regex::split(a, p, Flags::any_case())?));
    15149 regexp_split_to_table(CITEXT, CITEXT, TEXT) -> TEXT = (_call; a: &str, p: &str, f: &str)
        Ok(regex::pieces(regex::split(a, p, any_case(f)?)?));
};

pub(crate) const AGGREGATES: &[Function] = aggregates! { Kind::Normal =>
    15150 max(CITEXT) -> CITEXT = @args Extreme::new(args, Ordering::Greater);
    15151 min(CITEXT) -> CITEXT = @args Extreme::new(args, Ordering::Less);
};

pub(crate) const OPERATORS: &[Operator] = operators! {
    "!~" {
        15200 CITEXT CITEXT -> BOOL = 15126;
        15201 CITEXT TEXT -> BOOL = 15130;
    }
    "!~*" {
        15202 CITEXT CITEXT -> BOOL = 15126;
        15203 CITEXT TEXT -> BOOL = 15130;
    }
    "!~~" {
        15204 CITEXT CITEXT -> BOOL = 15124;
        15205 CITEXT TEXT -> BOOL = 15128;
    }
    "!~~*" {
        15206 CITEXT CITEXT -> BOOL = 15124;
        15207 CITEXT TEXT -> BOOL = 15128;
    }
    "<" {
        15208 CITEXT CITEXT -> BOOL = 15114;
    }
    "<=" {
        15209 CITEXT CITEXT -> BOOL = 15115;
    }
    "<>" {
        15210 CITEXT CITEXT -> BOOL = 15113;
    }
    "=" {
        15211 CITEXT CITEXT -> BOOL = 15112;
    }
    ">" {
        15212 CITEXT CITEXT -> BOOL = 15116;
    }
    ">=" {
        15213 CITEXT CITEXT -> BOOL = 15117;
    }
    "~" {
        15214 CITEXT CITEXT -> BOOL = 15125;
        15215 CITEXT TEXT -> BOOL = 15129;
    }
    "~*" {
        15216 CITEXT CITEXT -> BOOL = 15125;
        15217 CITEXT TEXT -> BOOL = 15129;
    }
    "~<=~" {
        15218 CITEXT CITEXT -> BOOL = 15142;
    }
    "~<~" {
        15219 CITEXT CITEXT -> BOOL = 15141;
    }
    "~>=~" {
        15220 CITEXT CITEXT -> BOOL = 15144;
    }
    "~>~" {
        15221 CITEXT CITEXT -> BOOL = 15143;
    }
    "~~" {
        15222 CITEXT CITEXT -> BOOL = 15123;
        15223 CITEXT TEXT -> BOOL = 15127;
    }
    "~~*" {
        15224 CITEXT CITEXT -> BOOL = 15123;
        15225 CITEXT TEXT -> BOOL = 15127;
    }
};

pub(crate) const CASTS: &[Cast] = casts! {
    CITEXT -> TEXT Implicit Binary;
    CITEXT -> VARCHAR Implicit Binary;
    CITEXT -> BPCHAR Assignment Binary;
    TEXT -> CITEXT Assignment Binary;
    VARCHAR -> CITEXT Assignment Binary;
    BPCHAR -> CITEXT Assignment Function(15110);
    BOOL -> CITEXT Assignment Function(15111);
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Case does not count, and the rest is compared by its code points.
    #[test]
    fn small_letters_are_compared() {
        assert!(cmp("ÄBC", "äbc").is_eq() && cmp("a", "B").is_lt() && cmp("a_", "aB").is_lt());
        assert_eq!(split_part("1xX2X3", "x", 3).expect("a piece").as_deref(), Some("2"));
        assert_eq!(replace("aBcB", "b", "-").expect("a text"), "a-c-");
        assert_eq!(translate("abcABC", "b", "x").expect("a text"), "axcAxC");
    }
}
