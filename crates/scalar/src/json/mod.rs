//! `json`: JSON kept as it was written; its operators and functions under their SQL names.
//!
//! ```text
//!   mod        parts of a text                json_object_field, json_each ...
//!   convert    values as JSON                 what all that make JSON stand on
//!   make       JSON from values               to_json, json_build_object ...
//!   populate   rows from JSON                 json_populate_record, json_to_recordset ...
//!   path       SQL/JSON paths                 jsonb_path_query ...
//!   dates      dates and times in paths
//! ```
//!
//! A function that is the same for `jsonb` stands next to it; functions that only `jsonb` has are
//! in [`crate::jsonb`].

pub(crate) mod convert;
mod dates;
pub(crate) mod make;
pub(crate) mod path;
pub(crate) mod populate;

use ::json::jsonb::Jsonb;
use ::json::written::{self, Path, Written};
pub use dates::Dates;
pub use path::{Needs, path_needs};
use types::{ArrayRef, Context, Datum, DatumRef, Repr, Result, Type};

use crate::function::{Function, functions, sets};
use crate::integer::Integer;
use crate::rows::{Columns, Rows, collected};

/// A value of a type as `jsonb`: what `to_jsonb` makes of it.
///
/// # Errors
/// For a text of type `json` with a value that `jsonb` cannot hold, and for values that are too large.
pub fn to_jsonb(value: DatumRef<'_>, ty: Type, context: &Context<'_>) -> Result<Jsonb> {
    convert::Form::of(value, ty, context).to_jsonb(context)
}

fn as_json(value: Option<Written<'_>>) -> Option<&str> {
    value.map(Written::json)
}

fn as_text(value: Option<Written<'_>>) -> Option<String> {
    value.and_then(Written::to_text)
}

/// The value at the end of a path; none if a step is NULL.
fn path<'a>(value: &'a str, steps: ArrayRef<'_>) -> Result<Option<Written<'a>>> {
    let steps: Option<Vec<Path<'_>>> = steps
        .iter()
        .map(|step| match step {
            DatumRef::Text(step) => Some(Path::either(step)),
            _ => None,
        })
        .collect();
    let Some(steps) = steps else { return Ok(None) };
    Ok(written::get_path(value, &steps)?)
}

fn length(value: &str) -> Result<i32> {
    i32::try_from(written::array_length(value)?).map_err(|_| i32::out_of_range())
}

fn each(value: &str, text: bool) -> Result<Rows> {
    let ty = if text { Type::TEXT } else { Type::JSON };
    let rows = collected(written::each(value)?.map(|field| {
        let (name, value) = field?;
        let text = if text { value.to_text() } else { Some(value.json().to_owned()) };
        Ok([Datum::text(&*name), Datum::from(text)])
    }))?;
    let types = [(Type::TEXT, Repr::Text), (ty, Repr::Text)];
    Ok(Box::new(Columns::new(types, rows.into_iter())))
}

fn elements(value: &str) -> Result<Rows> {
    let elements = written::elements(value, "json_array_elements")?;
    let rows = collected(elements.map(|element| Ok(Datum::text(element?.json()))))?;
    Ok(Box::new(rows.into_iter()))
}

fn elements_text(value: &str) -> Result<Rows> {
    let elements = written::elements(value, "json_array_elements_text")?;
    let rows = collected(elements.map(|element| Ok(Datum::from(element?.to_text()))))?;
    Ok(Box::new(rows.into_iter()))
}

fn keys(value: &str) -> Result<Rows> {
    let names = written::object_names(value)?;
    Ok(Box::new(names.into_iter().map(|name| Ok(Datum::from(name)))))
}

pub(crate) const TABLE: &[Function] = functions! {
    3947 json_object_field(JSON, TEXT) -> JSON = (a: &str, name: &str)
        as_json(written::field(a, name)?);
    3948 json_object_field_text(JSON, TEXT) -> TEXT = (a: &str, name: &str)
        as_text(written::field(a, name)?);
    3949 json_array_element(JSON, INT4) -> JSON = (a: &str, at: i32) as_json(written::get(a, at)?);
    3950 json_array_element_text(JSON, INT4) -> TEXT = (a: &str, at: i32)
        as_text(written::get(a, at)?);
    3951 json_extract_path(JSON, TEXT_ARRAY) -> JSON [variadic] = (a: &str, steps: ArrayRef<'_>)
        as_json(path(a, steps)?);
    3953 json_extract_path_text(JSON, TEXT_ARRAY) -> TEXT [variadic] =
        (a: &str, steps: ArrayRef<'_>) as_text(path(a, steps)?);
    3956 json_array_length(JSON) -> INT4 = (a: &str) length(a);
    3261 json_strip_nulls(JSON) -> JSON = (a: &str) written::strip_nulls(a);
    3968 json_typeof(JSON) -> TEXT = (a: &str) written::type_name(a);
};

pub(crate) const SETS: &[Function] = sets! {
    3955 json_array_elements(JSON) -> JSON = (a: &str) elements(a);
    3969 json_array_elements_text(JSON) -> TEXT = (a: &str) elements_text(a);
    3957 json_object_keys(JSON) -> TEXT = (a: &str) keys(a);
    3958 json_each(JSON) -> RECORD = (a: &str) each(a, false);
    3959 json_each_text(JSON) -> RECORD = (a: &str) each(a, true);
};
