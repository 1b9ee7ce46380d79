//! `ltree`: functions, operators and casts of paths through a tree.
//!
//! How values are held, read and matched is in [`types::ltree`].

use std::cmp::Ordering;

use types::ltree::{Lquery, Ltree, Ltxtquery, build, parse};
use types::{ArrayRef, Datum, DatumRef, Error, Result, SqlState};

use crate::function::{Argument, Function, functions, unexpected};
use crate::operators::{Operator, operators};
use types::hash;

impl<'a> Argument<'a> for Ltree<'a> {
    fn read(value: DatumRef<'a>) -> Result<Self> {
        match value {
            DatumRef::Bytea(held) => Ok(Ltree::new(held)),
            other => Err(unexpected("a path", other)),
        }
    }
}

impl<'a> Argument<'a> for Lquery {
    fn read(value: DatumRef<'a>) -> Result<Self> {
        Lquery::parse(<&str>::read(value)?)
    }
}

impl<'a> Argument<'a> for Ltxtquery {
    fn read(value: DatumRef<'a>) -> Result<Self> {
        Ltxtquery::parse(<&str>::read(value)?)
    }
}

/// The order of two paths, and how early they differ: at most ten times the number of labels from there on, and
/// one.
fn compared(a: Ltree<'_>, b: Ltree<'_>) -> i32 {
    let sign = |order: Ordering| order as i32;
    let (a_len, b_len) = (a.len() as i32, b.len() as i32);
    let mut left = a_len;
    for (one, other) in a.labels().zip(b.labels()) {
        let common = one.len().min(other.len());
        let order = one[..common].cmp(&other[..common]);
        if order.is_ne() {
            return sign(order) * 10 * (left + 1);
        }
        if one.len() != other.len() {
            return (one.len() as i32 - other.len() as i32) * 10 * (left + 1);
        }
        left -= 1;
    }
    (a_len - b_len) * 10 * (left + 1)
}

fn sub(path: Ltree<'_>, start: i64, end: i64) -> Result<Vec<u8>> {
    let count = path.len() as i64;
    if start < 0 || end < 0 || start >= count || start > end {
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "invalid positions"));
    }
    build(path.labels().skip(start as usize).take((end.min(count) - start).max(0) as usize))
}

/// The labels from a position on: so many of them, or all but so many at the end.
fn subpath(path: Ltree<'_>, start: i32, length: Option<i32>) -> Result<Vec<u8>> {
    let count = path.len() as i64;
    let (mut start, given) = (i64::from(start), i64::from(length.unwrap_or(0)));
    for _ in 0..2 {
        if start < 0 {
            start += count;
        }
    }
    let end = match length {
        Some(0) => start,
        Some(_) if given < 0 => count + given,
        Some(_) => start + given,
        None => i64::from(u16::MAX),
    };
    sub(path, start, end)
}

/// Where a path is part of another, from a position on; -1 where it is not.
fn index(path: Ltree<'_>, part: Ltree<'_>, start: i32) -> i32 {
    let (labels, wanted): (Vec<_>, Vec<_>) = (path.labels().collect(), part.labels().collect());
    let count = labels.len() as i64;
    let start = match i64::from(start) {
        start if start < 0 && -start >= count => 0,
        start if start < 0 => count + start,
        start => start,
    };
    if wanted.is_empty() || start >= count {
        return -1;
    }
    let start = start as usize;
    let found = labels[start..].windows(wanted.len()).position(|window| window == wanted);
    found.map_or(-1, |at| (start + at) as i32)
}

fn joined(a: Ltree<'_>, b: Ltree<'_>) -> Result<Vec<u8>> {
    build(a.labels().chain(b.labels()))
}

/// The longest path above all of some paths; none if one of them is empty, or there are none.
fn common(paths: &[Ltree<'_>]) -> Result<Option<Vec<u8>>> {
    let [first, rest @ ..] = paths else { return Ok(None) };
    if paths.iter().any(|path| path.is_empty()) {
        return Ok(None);
    }
    let mut count = first.len() - 1;
    for path in rest {
        let most = count.min(path.len() - 1);
        let same = first.labels().zip(path.labels()).take_while(|(one, other)| one == other);
        count = same.count().min(most);
    }
    build(first.labels().take(count)).map(Some)
}

/// The elements of an array, which has one dimension and no NULLs.
fn elements<'a, T: Argument<'a>>(array: ArrayRef<'a>) -> Result<Vec<T>> {
    if array.dimensions().len() > 1 {
        let message = "array must be one-dimensional";
        return Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message));
    }
    if array.has_nulls() {
        let message = "array must not contain nulls";
        return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
    }
    array.iter().map(T::read).collect()
}

/// The first path of an array that meets a condition.
fn first<'a>(
    array: ArrayRef<'a>,
    meets: impl Fn(Ltree<'a>) -> Result<bool>,
) -> Result<Option<Datum>> {
    for (path, value) in elements::<Ltree<'a>>(array)?.into_iter().zip(array.iter()) {
        if meets(path)? {
            return Ok(Some(value.to_owned()));
        }
    }
    Ok(None)
}

fn any<'a>(array: ArrayRef<'a>, meets: impl Fn(Ltree<'a>) -> Result<bool>) -> Result<bool> {
    Ok(first(array, meets)?.is_some())
}

/// True if a path matches one of some patterns.
fn matches_any(path: Ltree<'_>, queries: ArrayRef<'_>) -> Result<bool> {
    for query in elements::<Lquery>(queries)? {
        if query.matches(path)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// True if one of some paths matches one of some patterns.
fn any_matches_any(paths: ArrayRef<'_>, queries: ArrayRef<'_>) -> Result<bool> {
    for query in elements::<Lquery>(queries)? {
        if any(paths, |path| query.matches(path))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A hash of all labels, each of which is hashed with a seed.
fn hashed(path: Ltree<'_>, seed: i64) -> u64 {
    let hash =
        |hash: u64, label: &[u8]| hash.wrapping_mul(31).wrapping_add(hash::bytes(label, seed));
    if path.is_empty() { 1_u64.wrapping_add(seed as u64) } else { path.labels().fold(1, hash) }
}

pub(crate) const TABLE: &[Function] = functions! {
    15880 ltree_cmp(LTREE, LTREE) -> INT4 = (a: Ltree<'_>, b: Ltree<'_>) compared(a, b);
    15881 ltree_lt(LTREE, LTREE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a < b;
    15882 ltree_le(LTREE, LTREE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a <= b;
    15883 ltree_eq(LTREE, LTREE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a == b;
    15884 ltree_ge(LTREE, LTREE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a >= b;
    15885 ltree_gt(LTREE, LTREE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a > b;
    15886 ltree_ne(LTREE, LTREE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a != b;
    15887 subltree(LTREE, INT4, INT4) -> LTREE = (a: Ltree<'_>, start: i32, end: i32)
        sub(a, start.into(), end.into());
    15888 subpath(LTREE, INT4, INT4) -> LTREE = (a: Ltree<'_>, start: i32, length: i32)
        subpath(a, start, Some(length));
    15889 subpath(LTREE, INT4) -> LTREE = (a: Ltree<'_>, start: i32) subpath(a, start, None);
    15890 index(LTREE, LTREE) -> INT4 = (a: Ltree<'_>, b: Ltree<'_>) index(a, b, 0);
    15891 index(LTREE, LTREE, INT4) -> INT4 = (a: Ltree<'_>, b: Ltree<'_>, start: i32)
        index(a, b, start);
    15892 nlevel(LTREE) -> INT4 = (a: Ltree<'_>) a.len() as i32;
    15893 ltree2text(LTREE) -> TEXT = (a: Ltree<'_>) a.to_text();
    15894 text2ltree(TEXT) -> LTREE = (a: &str) parse(a);
    15895 lca(LTREE_ARRAY) -> LTREE = (a: ArrayRef<'_>) {
        // The last one is compared with the others.
        let mut paths = elements::<Ltree<'_>>(a)?;
        paths.reverse();
        common(&paths)
    };
    15896 lca(LTREE, LTREE) -> LTREE = (a: Ltree<'_>, b: Ltree<'_>) common(&[a, b]);
    15897 lca(LTREE, LTREE, LTREE) -> LTREE = (a: Ltree<'_>, b: Ltree<'_>, c: Ltree<'_>)
        common(&[a, b, c]);
    15898 lca(LTREE, LTREE, LTREE, LTREE) -> LTREE
        = (a: Ltree<'_>, b: Ltree<'_>, c: Ltree<'_>, d: Ltree<'_>) common(&[a, b, c, d]);
    15899 lca(LTREE, LTREE, LTREE, LTREE, LTREE) -> LTREE
        = (a: Ltree<'_>, b: Ltree<'_>, c: Ltree<'_>, d: Ltree<'_>, e: Ltree<'_>)
        common(&[a, b, c, d, e]);
    15900 lca(LTREE, LTREE, LTREE, LTREE, LTREE, LTREE) -> LTREE
        = (a: Ltree<'_>, b: Ltree<'_>, c: Ltree<'_>, d: Ltree<'_>, e: Ltree<'_>, f: Ltree<'_>)
        common(&[a, b, c, d, e, f]);
    15901 lca(LTREE, LTREE, LTREE, LTREE, LTREE, LTREE, LTREE) -> LTREE
        = (a: Ltree<'_>, b: Ltree<'_>, c: Ltree<'_>, d: Ltree<'_>, e: Ltree<'_>, f: Ltree<'_>,
           g: Ltree<'_>) common(&[a, b, c, d, e, f, g]);
    15902 lca(LTREE, LTREE, LTREE, LTREE, LTREE, LTREE, LTREE, LTREE) -> LTREE
        = (a: Ltree<'_>, b: Ltree<'_>, c: Ltree<'_>, d: Ltree<'_>, e: Ltree<'_>, f: Ltree<'_>,
           g: Ltree<'_>, h: Ltree<'_>) common(&[a, b, c, d, e, f, g, h]);
    15903 ltree_isparent(LTREE, LTREE) -> BOOL = (a: Ltree<'_>, b: Ltree<'_>) a.contains(b);
    15904 ltree_risparent(LTREE, LTREE) -> BOOL = (a: Ltree<'_>, b: Ltree<'_>) b.contains(a);
    15905 ltree_addltree(LTREE, LTREE) -> LTREE = (a: Ltree<'_>, b: Ltree<'_>) joined(a, b);
    15906 ltree_addtext(LTREE, TEXT) -> LTREE = (a: Ltree<'_>, b: &str)
        joined(a, Ltree::new(&parse(b)?));
    15907 ltree_textadd(TEXT, LTREE) -> LTREE = (a: &str, b: Ltree<'_>)
        joined(Ltree::new(&parse(a)?), b);
    15908 ltq_regex(LTREE, LQUERY) -> BOOL = (a: Ltree<'_>, query: Lquery) query.matches(a);
    15909 ltq_rregex(LQUERY, LTREE) -> BOOL = (query: Lquery, a: Ltree<'_>) query.matches(a);
    15910 lt_q_regex(LTREE, LQUERY_ARRAY) -> BOOL = (a: Ltree<'_>, queries: ArrayRef<'_>)
        matches_any(a, queries);
    15911 lt_q_rregex(LQUERY_ARRAY, LTREE) -> BOOL = (queries: ArrayRef<'_>, a: Ltree<'_>)
        matches_any(a, queries);
    15912 ltxtq_exec(LTREE, LTXTQUERY) -> BOOL = (a: Ltree<'_>, query: Ltxtquery) query.matches(a);
    15913 ltxtq_rexec(LTXTQUERY, LTREE) -> BOOL = (query: Ltxtquery, a: Ltree<'_>) query.matches(a);
    15914 _ltree_isparent(LTREE_ARRAY, LTREE) -> BOOL = (a: ArrayRef<'_>, b: Ltree<'_>)
        any(a, |path| Ok(path.contains(b)));
    15915 _ltree_r_isparent(LTREE, LTREE_ARRAY) -> BOOL = (b: Ltree<'_>, a: ArrayRef<'_>)
        any(a, |path| Ok(path.contains(b)));
    15916 _ltree_risparent(LTREE_ARRAY, LTREE) -> BOOL = (a: ArrayRef<'_>, b: Ltree<'_>)
        any(a, |path| Ok(b.contains(path)));
    15917 _ltree_r_risparent(LTREE, LTREE_ARRAY) -> BOOL = (b: Ltree<'_>, a: ArrayRef<'_>)
        any(a, |path| Ok(b.contains(path)));
    15918 _ltq_regex(LTREE_ARRAY, LQUERY) -> BOOL = (a: ArrayRef<'_>, query: Lquery)
        any(a, |path| query.matches(path));
    15919 _ltq_rregex(LQUERY, LTREE_ARRAY) -> BOOL = (query: Lquery, a: ArrayRef<'_>)
        any(a, |path| query.matches(path));
    15920 _lt_q_regex(LTREE_ARRAY, LQUERY_ARRAY) -> BOOL = (a: ArrayRef<'_>, queries: ArrayRef<'_>)
        any_matches_any(a, queries);
    15921 _lt_q_rregex(LQUERY_ARRAY, LTREE_ARRAY) -> BOOL = (queries: ArrayRef<'_>, a: ArrayRef<'_>)
        any_matches_any(a, queries);
    15922 _ltxtq_exec(LTREE_ARRAY, LTXTQUERY) -> BOOL = (a: ArrayRef<'_>, query: Ltxtquery)
        any(a, |path| query.matches(path));
    15923 _ltxtq_rexec(LTXTQUERY, LTREE_ARRAY) -> BOOL = (query: Ltxtquery, a: ArrayRef<'_>)
        any(a, |path| query.matches(path));
    15924 _ltree_extract_isparent(LTREE_ARRAY, LTREE) -> LTREE = (a: ArrayRef<'_>, b: Ltree<'_>)
        first(a, |path| Ok(path.contains(b)));
    15925 _ltree_extract_risparent(LTREE_ARRAY, LTREE) -> LTREE = (a: ArrayRef<'_>, b: Ltree<'_>)
        first(a, |path| Ok(b.contains(path)));
    15926 _ltq_extract_regex(LTREE_ARRAY, LQUERY) -> LTREE = (a: ArrayRef<'_>, query: Lquery)
        first(a, |path| query.matches(path));
    15927 _ltxtq_extract_exec(LTREE_ARRAY, LTXTQUERY) -> LTREE = (a: ArrayRef<'_>, query: Ltxtquery)
        first(a, |path| query.matches(path));
    15928 hash_ltree(LTREE) -> INT4 = (a: Ltree<'_>) hashed(a, 0) as i32;
    15929 hash_ltree_extended(LTREE, INT8) -> INT8 = (a: Ltree<'_>, seed: i64) hashed(a, seed) as i64;
};

pub(crate) const OPERATORS: &[Operator] = operators! {
    "<" {
        15990 LTREE LTREE -> BOOL = 15881;
    }
    "<=" {
        15991 LTREE LTREE -> BOOL = 15882;
    }
    "<>" {
        15992 LTREE LTREE -> BOOL = 15886;
    }
    "<@" {
        15993 LTREE LTREE -> BOOL = 15904;
        15994 LTREE LTREE_ARRAY -> BOOL = 15915;
        15995 LTREE_ARRAY LTREE -> BOOL = 15916;
    }
    "=" {
        15996 LTREE LTREE -> BOOL = 15883;
    }
    ">" {
        15997 LTREE LTREE -> BOOL = 15885;
    }
    ">=" {
        15998 LTREE LTREE -> BOOL = 15884;
    }
    "?" {
        15999 LQUERY_ARRAY LTREE -> BOOL = 15911;
        16000 LTREE LQUERY_ARRAY -> BOOL = 15910;
        16001 LQUERY_ARRAY LTREE_ARRAY -> BOOL = 15921;
        16002 LTREE_ARRAY LQUERY_ARRAY -> BOOL = 15920;
    }
    "?<@" {
        16003 LTREE_ARRAY LTREE -> LTREE = 15925;
    }
    "?@" {
        16004 LTREE_ARRAY LTXTQUERY -> LTREE = 15927;
    }
    "?@>" {
        16005 LTREE_ARRAY LTREE -> LTREE = 15924;
    }
    "?~" {
        16006 LTREE_ARRAY LQUERY -> LTREE = 15926;
    }
    "@" {
        16007 LTXTQUERY LTREE -> BOOL = 15913;
        16008 LTREE LTXTQUERY -> BOOL = 15912;
        16009 LTXTQUERY LTREE_ARRAY -> BOOL = 15923;
        16010 LTREE_ARRAY LTXTQUERY -> BOOL = 15922;
    }
    "@>" {
        16011 LTREE LTREE -> BOOL = 15903;
        16012 LTREE_ARRAY LTREE -> BOOL = 15914;
        16013 LTREE LTREE_ARRAY -> BOOL = 15917;
    }
    "^<@" {
        16014 LTREE LTREE -> BOOL = 15904;
        16015 LTREE LTREE_ARRAY -> BOOL = 15915;
        16016 LTREE_ARRAY LTREE -> BOOL = 15916;
    }
    "^?" {
        16017 LQUERY_ARRAY LTREE -> BOOL = 15911;
        16018 LTREE LQUERY_ARRAY -> BOOL = 15910;
        16019 LQUERY_ARRAY LTREE_ARRAY -> BOOL = 15921;
        16020 LTREE_ARRAY LQUERY_ARRAY -> BOOL = 15920;
    }
    "^@" {
        16021 LTXTQUERY LTREE -> BOOL = 15913;
        16022 LTREE LTXTQUERY -> BOOL = 15912;
        16023 LTXTQUERY LTREE_ARRAY -> BOOL = 15923;
        16024 LTREE_ARRAY LTXTQUERY -> BOOL = 15922;
    }
    "^@>" {
        16025 LTREE LTREE -> BOOL = 15903;
        16026 LTREE_ARRAY LTREE -> BOOL = 15914;
        16027 LTREE LTREE_ARRAY -> BOOL = 15917;
    }
    "^~" {
        16028 LQUERY LTREE -> BOOL = 15909;
        16029 LTREE LQUERY -> BOOL = 15908;
        16030 LQUERY LTREE_ARRAY -> BOOL = 15919;
        16031 LTREE_ARRAY LQUERY -> BOOL = 15918;
    }
    "||" {
        16032 LTREE LTREE -> LTREE = 15905;
        16033 LTREE TEXT -> LTREE = 15906;
        16034 TEXT LTREE -> LTREE = 15907;
    }
    "~" {
        16035 LQUERY LTREE -> BOOL = 15909;
        16036 LTREE LQUERY -> BOOL = 15908;
        16037 LQUERY LTREE_ARRAY -> BOOL = 15919;
        16038 LTREE_ARRAY LQUERY -> BOOL = 15918;
    }
};
