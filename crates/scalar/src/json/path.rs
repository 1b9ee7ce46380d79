//! SQL/JSON paths over `jsonb`: `jsonb_path_query` and the like, `@?` and `@@`.
//!
//! ```text
//!   jsonb_path_exists       whether the path finds anything      @?   the same, silently
//!   jsonb_path_match        the truth value that it gives        @@   the same, silently
//!   jsonb_path_query        what it finds, one row each
//!   jsonb_path_query_array  ... as an array      _first: the first only
//! ```
//!
//! Functions whose names end in `_tz` may ask for the time zone of the session; the others refuse
//! to, because their result would not be the same everywhere.

pub use ::json::jsonb::pathlang::Needs;
use ::json::jsonb::pathlang::{Options, Path};
use ::json::jsonb::{Jsonb, JsonbRef};
use types::{Datum, Error, Result};

pub(crate) use super::dates::Calendar;
use crate::function::{Call, Default, Function, functions, sets};
use crate::rows::Rows;

/// Runs a path.
fn run<T>(
    call: &Call<'_>,
    path: &str,
    (vars, silent): (Option<JsonbRef<'_>>, bool),
    use_zone: bool,
    run: impl FnOnce(&Path, Options<'_>) -> Result<T, ::json::jsonb::pathlang::PathError>,
) -> Result<T> {
    let calendar = Calendar { context: &call.context.types, use_zone };
    let path = Path::parse(path)?;
    run(&path, Options { vars, silent, datetimes: &calendar }).map_err(Error::from)
}

/// The members that a value needs for `@?` to be true of it and a path; with `matches`, for `@@`.
///
/// # Errors
/// Fails if the text is not a path.
pub fn path_needs(path: &str, matches: bool) -> Result<Needs> {
    Ok(Path::parse(path)?.needs(matches))
}

type Given<'a> = (Option<JsonbRef<'a>>, bool);

fn exists(
    call: &Call<'_>,
    a: JsonbRef<'_>,
    p: &str,
    given: Given<'_>,
    tz: bool,
) -> Result<Option<bool>> {
    run(call, p, given, tz, |path, options| path.exists(a, options))
}

fn matches(
    call: &Call<'_>,
    a: JsonbRef<'_>,
    p: &str,
    given: Given<'_>,
    tz: bool,
) -> Result<Option<bool>> {
    run(call, p, given, tz, |path, options| path.matches(a, options))
}

fn array(call: &Call<'_>, a: JsonbRef<'_>, p: &str, given: Given<'_>, tz: bool) -> Result<Jsonb> {
    run(call, p, given, tz, |path, options| path.query_array(a, options))
}

fn first(
    call: &Call<'_>,
    a: JsonbRef<'_>,
    p: &str,
    given: Given<'_>,
    tz: bool,
) -> Result<Option<Jsonb>> {
    run(call, p, given, tz, |path, options| {
        path.query_first(a, options)?.map(|item| item.to_jsonb()).transpose()
    })
}

fn rows(call: &Call<'_>, a: JsonbRef<'_>, p: &str, given: Given<'_>, tz: bool) -> Result<Rows> {
    let found = run(call, p, given, tz, |path, options| {
        path.query(a, options)?.map(|item| item.to_jsonb()).collect::<Result<Vec<_>, _>>()
    })?;
    Ok(Box::new(found.into_iter().map(|value| Ok(Datum::from(value)))))
}

/// No variables, and errors are errors.
const PLAIN: &[Default] = &[Default::EmptyObject, Default::Bool(false)];

pub(crate) const TABLE: &[Function] = functions! {
    4005 jsonb_path_exists(JSONB, JSONPATH, JSONB, BOOL) -> BOOL [defaults = PLAIN] =
        (call; a: JsonbRef<'_>, p: &str, vars: JsonbRef<'_>, silent: bool)
        exists(call, a, p, (Some(vars), silent), false);
    1177 jsonb_path_exists_tz(JSONB, JSONPATH, JSONB, BOOL) -> BOOL [stable, defaults = PLAIN] =
        (call; a: JsonbRef<'_>, p: &str, vars: JsonbRef<'_>, silent: bool)
        exists(call, a, p, (Some(vars), silent), true);
    4010 jsonb_path_exists_opr(JSONB, JSONPATH) -> BOOL = (call; a: JsonbRef<'_>, p: &str)
        exists(call, a, p, (None, true), false);
    4009 jsonb_path_match(JSONB, JSONPATH, JSONB, BOOL) -> BOOL [defaults = PLAIN] =
        (call; a: JsonbRef<'_>, p: &str, vars: JsonbRef<'_>, silent: bool)
        matches(call, a, p, (Some(vars), silent), false);
    2030 jsonb_path_match_tz(JSONB, JSONPATH, JSONB, BOOL) -> BOOL [stable, defaults = PLAIN] =
        (call; a: JsonbRef<'_>, p: &str, vars: JsonbRef<'_>, silent: bool)
        matches(call, a, p, (Some(vars), silent), true);
    4011 jsonb_path_match_opr(JSONB, JSONPATH) -> BOOL = (call; a: JsonbRef<'_>, p: &str)
        matches(call, a, p, (None, true), false);
    4007 jsonb_path_query_array(JSONB, JSONPATH, JSONB, BOOL) -> JSONB [defaults = PLAIN] =
        (call; a: JsonbRef<'_>, p: &str, vars: JsonbRef<'_>, silent: bool)
        array(call, a, p, (Some(vars), silent), false);
    1180 jsonb_path_query_array_tz(JSONB, JSONPATH, JSONB, BOOL) -> JSONB
        [stable, defaults = PLAIN] =
        (call; a: JsonbRef<'_>, p: &str, vars: JsonbRef<'_>, silent: bool)
        array(call, a, p, (Some(vars), silent), true);
    4008 jsonb_path_query_first(JSONB, JSONPATH, JSONB, BOOL) -> JSONB [defaults = PLAIN] =
        (call; a: JsonbRef<'_>, p: &str, vars: JsonbRef<'_>, silent: bool)
        first(call, a, p, (Some(vars), silent), false);
    2023 jsonb_path_query_first_tz(JSONB, JSONPATH, JSONB, BOOL) -> JSONB
        [stable, defaults = PLAIN] =
        (call; a: JsonbRef<'_>, p: &str, vars: JsonbRef<'_>, silent: bool)
        first(call, a, p, (Some(vars), silent), true);
};

pub(crate) const SETS: &[Function] = sets! {
    4006 jsonb_path_query(JSONB, JSONPATH, JSONB, BOOL) -> JSONB [defaults = PLAIN] =
        (call; a: JsonbRef<'_>, p: &str, vars: JsonbRef<'_>, silent: bool)
        rows(call, a, p, (Some(vars), silent), false);
    1179 jsonb_path_query_tz(JSONB, JSONPATH, JSONB, BOOL) -> JSONB [stable, defaults = PLAIN] =
        (call; a: JsonbRef<'_>, p: &str, vars: JsonbRef<'_>, silent: bool)
        rows(call, a, p, (Some(vars), silent), true);
};
