//! `jsonb`: its operators and functions under their SQL names.

use ::json::jsonb::{Jsonb, JsonbRef, NullTreatment};
use types::{ArrayRef, Datum, DatumRef, Error, Repr, Result, SqlState, Type};

use crate::function::{Default, Function, functions, sets};
use crate::integer::Integer;
use crate::rows::{Columns, Rows, collected};

/// The texts of an array.
pub(crate) fn texts<'a>(array: ArrayRef<'a>) -> Vec<Option<&'a str>> {
    array
        .iter()
        .map(|text| match text {
            DatumRef::Text(text) => Some(text),
            _ => None,
        })
        .collect()
}

/// The value at the end of a path; none if a step is NULL.
fn path<'a>(value: JsonbRef<'a>, path: ArrayRef<'_>) -> Option<JsonbRef<'a>> {
    let steps: Option<Vec<&str>> = texts(path).into_iter().collect();
    value.path(steps?)
}

fn owned(value: Option<JsonbRef<'_>>) -> Option<Jsonb> {
    value.map(JsonbRef::to_jsonb)
}

/// A value as text: a string without its quotes, nothing for null.
fn text(value: Option<JsonbRef<'_>>) -> Result<Option<String>> {
    Ok(value.map(JsonbRef::to_text).transpose()?.flatten())
}

/// A value cast to a type of numbers.
fn number<T>(
    value: JsonbRef<'_>,
    target: &'static str,
    cast: impl FnOnce(&numeric::Numeric) -> std::result::Result<T, numeric::NumericError>,
) -> Result<T> {
    Ok(cast(&value.to_numeric(target)?)?)
}

fn length(value: JsonbRef<'_>) -> Result<i32> {
    i32::try_from(value.array_length()?).map_err(|_| i32::out_of_range())
}

fn each(value: JsonbRef<'_>) -> Result<Rows> {
    let fields = value.fields("jsonb_each")?;
    let rows = collected(
        fields.map(|(name, value)| Ok([Datum::text(name), Datum::from(value.to_jsonb())])),
    )?;
    let types = [(Type::TEXT, Repr::Text), (Type::JSONB, Repr::Jsonb)];
    Ok(Box::new(Columns::new(types, rows.into_iter())))
}

fn each_text(value: JsonbRef<'_>) -> Result<Rows> {
    let fields = value.fields("jsonb_each_text")?;
    let rows = collected(
        fields.map(|(name, value)| Ok([Datum::text(name), Datum::from(value.to_text()?)])),
    )?;
    let types = [(Type::TEXT, Repr::Text); 2];
    Ok(Box::new(Columns::new(types, rows.into_iter())))
}

fn keys(value: JsonbRef<'_>) -> Result<Rows> {
    let rows = collected(value.names()?.map(|name| Ok(Datum::text(name))))?;
    Ok(Box::new(rows.into_iter()))
}

fn elements(value: JsonbRef<'_>) -> Result<Rows> {
    let rows = collected(value.elements()?.map(|value| Ok(Datum::from(value.to_jsonb()))))?;
    Ok(Box::new(rows.into_iter()))
}

fn elements_text(value: JsonbRef<'_>) -> Result<Rows> {
    let rows = collected(value.elements()?.map(|value| Ok(Datum::from(value.to_text()?))))?;
    Ok(Box::new(rows.into_iter()))
}

/// The names that an array gives for deletion; one that is NULL names nothing.
fn delete(value: JsonbRef<'_>, names: ArrayRef<'_>) -> Result<Jsonb> {
    if names.dimensions().len() > 1 {
        return Err(Error::new(
            SqlState::ARRAY_SUBSCRIPT_ERROR,
            "wrong number of array subscripts",
        ));
    }
    Ok(value.delete_names(texts(names).into_iter().flatten())?)
}

pub(crate) const TABLE: &[Function] = functions! {
    3478 jsonb_object_field(JSONB, TEXT) -> JSONB = (a: JsonbRef<'_>, name: &str)
        owned(a.field(name));
    3214 jsonb_object_field_text(JSONB, TEXT) -> TEXT = (a: JsonbRef<'_>, name: &str)
        text(a.field(name));
    3215 jsonb_array_element(JSONB, INT4) -> JSONB = (a: JsonbRef<'_>, at: i32)
        owned(a.element(at));
    3216 jsonb_array_element_text(JSONB, INT4) -> TEXT = (a: JsonbRef<'_>, at: i32)
        text(a.element(at));
    3217 jsonb_extract_path(JSONB, TEXT_ARRAY) -> JSONB [variadic] =
        (a: JsonbRef<'_>, steps: ArrayRef<'_>) owned(path(a, steps));
    3940 jsonb_extract_path_text(JSONB, TEXT_ARRAY) -> TEXT [variadic] =
        (a: JsonbRef<'_>, steps: ArrayRef<'_>) text(path(a, steps));
    4046 jsonb_contains(JSONB, JSONB) -> BOOL = (a: JsonbRef<'_>, b: JsonbRef<'_>) a.contains(b);
    4050 jsonb_contained(JSONB, JSONB) -> BOOL = (a: JsonbRef<'_>, b: JsonbRef<'_>) b.contains(a);
    4047 jsonb_exists(JSONB, TEXT) -> BOOL = (a: JsonbRef<'_>, name: &str) a.exists(name);
    4048 jsonb_exists_any(JSONB, TEXT_ARRAY) -> BOOL = (a: JsonbRef<'_>, names: ArrayRef<'_>)
        a.exists_any(texts(names).into_iter().flatten());
    4049 jsonb_exists_all(JSONB, TEXT_ARRAY) -> BOOL = (a: JsonbRef<'_>, names: ArrayRef<'_>)
        a.exists_all(texts(names).into_iter().flatten());
    3301 jsonb_concat(JSONB, JSONB) -> JSONB = (a: JsonbRef<'_>, b: JsonbRef<'_>) a.concat(b);
    3302 jsonb_delete(JSONB, TEXT) -> JSONB = (a: JsonbRef<'_>, name: &str) a.delete_name(name);
    3303 jsonb_delete(JSONB, INT4) -> JSONB = (a: JsonbRef<'_>, at: i32) a.delete_element(at);
    3343 jsonb_delete(JSONB, TEXT_ARRAY) -> JSONB [variadic] =
        (a: JsonbRef<'_>, names: ArrayRef<'_>) delete(a, names);
    3304 jsonb_delete_path(JSONB, TEXT_ARRAY) -> JSONB = (a: JsonbRef<'_>, steps: ArrayRef<'_>)
        a.delete_path(&texts(steps));
    3305 jsonb_set(JSONB, TEXT_ARRAY, JSONB, BOOL) -> JSONB [defaults = &[Default::Bool(true)]] =
        (a: JsonbRef<'_>, steps: ArrayRef<'_>, new: JsonbRef<'_>, create: bool)
        a.set(&texts(steps), new, create);
    3579 jsonb_insert(JSONB, TEXT_ARRAY, JSONB, BOOL) -> JSONB
        [defaults = &[Default::Bool(false)]] =
        (a: JsonbRef<'_>, steps: ArrayRef<'_>, new: JsonbRef<'_>, after: bool)
        a.insert(&texts(steps), new, after);
    5054 jsonb_set_lax(JSONB, TEXT_ARRAY, JSONB, BOOL, TEXT) -> JSONB
        [nullable, defaults = &[Default::Bool(true), Default::Text("use_json_null")]] =
        (a: Option<JsonbRef<'_>>, steps: Option<ArrayRef<'_>>, new: Option<JsonbRef<'_>>,
         create: Option<bool>, nulls: Option<&str>)
        match (a, steps, create) {
            (Some(a), Some(steps), Some(create)) => {
                // The treatment of NULL matters only where the new value is NULL.
                let nulls = match (new, nulls) {
                    (Some(_), Some(_)) => NullTreatment::UseJsonNull,
                    (_, nulls) => NullTreatment::named(nulls)?,
                };
                Some(a.set_lax(&texts(steps), new, create, nulls)?)
            }
            _ => None,
        };
    3262 jsonb_strip_nulls(JSONB) -> JSONB = (a: JsonbRef<'_>) a.strip_nulls();
    3306 jsonb_pretty(JSONB) -> TEXT = (a: JsonbRef<'_>) a.pretty()?;
    3210 jsonb_typeof(JSONB) -> TEXT = (a: JsonbRef<'_>) a.type_name();
    3207 jsonb_array_length(JSONB) -> INT4 = (a: JsonbRef<'_>) length(a);

    3556 bool(JSONB) -> BOOL = (a: JsonbRef<'_>) a.to_bool();
    3449 numeric(JSONB) -> NUMERIC = (a: JsonbRef<'_>) a.to_numeric("numeric");
    3450 int2(JSONB) -> INT2 = (a: JsonbRef<'_>) number(a, "smallint", numeric::Numeric::to_i16);
    3451 int4(JSONB) -> INT4 = (a: JsonbRef<'_>) number(a, "integer", numeric::Numeric::to_i32);
    3452 int8(JSONB) -> INT8 = (a: JsonbRef<'_>) number(a, "bigint", numeric::Numeric::to_i64);
    3453 float4(JSONB) -> FLOAT4 = (a: JsonbRef<'_>) number(a, "real", numeric::Numeric::to_f32);
    2580 float8(JSONB) -> FLOAT8 = (a: JsonbRef<'_>)
        number(a, "double precision", numeric::Numeric::to_f64);
};

pub(crate) const SETS: &[Function] = sets! {
    3208 jsonb_each(JSONB) -> RECORD = (a: JsonbRef<'_>) each(a);
    3932 jsonb_each_text(JSONB) -> RECORD = (a: JsonbRef<'_>) each_text(a);
    3931 jsonb_object_keys(JSONB) -> TEXT = (a: JsonbRef<'_>) keys(a);
    3219 jsonb_array_elements(JSONB) -> JSONB = (a: JsonbRef<'_>) elements(a);
    3465 jsonb_array_elements_text(JSONB) -> TEXT = (a: JsonbRef<'_>) elements_text(a);
};
