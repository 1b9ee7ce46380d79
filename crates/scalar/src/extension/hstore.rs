//! `hstore`: functions, operators and casts of sets of keys and values.
//!
//! How a value is held, read and written is in [`types::hstore`].

use std::cmp::Ordering;

use json::jsonb::{Builder, Jsonb};
use types::hstore::{Hstore, Pair, build};
use types::{
    Array, ArrayRef, Datum, DatumRef, Dimension, Error, Modifier, Record, RecordRef, Repr, Result,
    Shape, SqlState, Type,
};

use crate::array::texts;
use crate::cast::{Cast, casts};
use crate::facts::Facts;
use crate::function::{Argument, Call, Function, functions, internal, sets};
use crate::operators::{Operator, operators};
use crate::rows::{Columns, Rows};
use types::hash;

impl<'a> Argument<'a> for Hstore<'a> {
    fn read(value: DatumRef<'a>) -> Result<Self> {
        match value {
            DatumRef::Bytea(bytes) => Ok(Hstore::new(bytes)),
            other => Err(internal(format!("an argument should be an hstore and is {other:?}"))),
        }
    }
}

/// The texts of an array that are not NULL.
fn keys_of(array: ArrayRef<'_>) -> impl Iterator<Item = &str> {
    array.iter().filter_map(text_of)
}

fn text_of(value: DatumRef<'_>) -> Option<&str> {
    match value {
        DatumRef::Text(text) => Some(text),
        _ => None,
    }
}

fn made<'a>(pairs: impl IntoIterator<Item = Pair<'a>>) -> Result<Datum> {
    build(pairs).map(Datum::bytea)
}

fn wrong_subscripts() -> Error {
    Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts")
}

fn null_key() -> Error {
    Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "null value not allowed for hstore key")
}

/// `hstore(text[])`: keys and values in turn, or an array of pairs.
fn of_array(array: ArrayRef<'_>) -> Result<Datum> {
    let dimensions = array.dimensions();
    match dimensions[..] {
        [] => return made([]),
        [one] if one.length % 2 != 0 => {
            let message = "array must have even number of elements";
            return Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message));
        }
        [_, two] if two.length != 2 => {
            let message = "array must have two columns";
            return Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message));
        }
        [_] | [_, _] => {}
        _ => return Err(wrong_subscripts()),
    }
    let all: Vec<_> = array.iter().map(text_of).collect();
    let pairs = all.chunks_exact(2).map(|pair| Ok((pair[0].ok_or_else(null_key)?, pair[1])));
    made(pairs.collect::<Result<Vec<_>>>()?)
}

/// `hstore(text[], text[])`: keys, and their values or none.
fn of_arrays(keys: Option<ArrayRef<'_>>, values: Option<ArrayRef<'_>>) -> Result<Option<Datum>> {
    let Some(keys) = keys else { return Ok(None) };
    let dimensions = keys.dimensions();
    if dimensions.len() > 1 {
        return Err(wrong_subscripts());
    }
    let values: Vec<_> = match values {
        None => vec![None; keys.len()],
        Some(values) => {
            if values.dimensions().len() > 1 {
                return Err(wrong_subscripts());
            }
            if dimensions != values.dimensions() {
                let message = "arrays must have same bounds";
                return Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message));
            }
            values.iter().map(text_of).collect()
        }
    };
    let pairs = keys.iter().zip(values);
    let pairs = pairs.map(|(key, value)| Ok((text_of(key).ok_or_else(null_key)?, value)));
    made(pairs.collect::<Result<Vec<_>>>()?).map(Some)
}

/// The names and types of the fields of a row.
fn fields_of(
    call: &Call<'_>,
    record: Option<RecordRef<'_>>,
) -> Option<Vec<(String, Type, Modifier)>> {
    let types = call.context.types.types;
    let ty = Facts(types).base(call.args[0]);
    if let Some(Shape::Composite(fields)) = types.shape(ty).filter(|_| !ty.is_builtin()) {
        let field = |field: &types::Field| (field.name.to_string(), field.ty, field.modifier);
        return Some(fields.iter().map(field).collect());
    }
    let record = record?;
    let types = record.iter().map(|(ty, _, _)| ty);
    Some(match record.names() {
        Some(names) => {
            let named = types.zip(names);
            named.map(|(ty, (name, modifier))| (name.to_string(), ty, modifier)).collect()
        }
        None => {
            let numbered = types.zip(1..);
            numbered.map(|(ty, at)| (format!("f{at}"), ty, Modifier::NONE)).collect()
        }
    })
}

/// `hstore(record)`: the names of the fields and their texts.
fn of_record(call: &Call<'_>, record: Option<RecordRef<'_>>) -> Result<Datum> {
    let Some(fields) = fields_of(call, record) else { return Ok(Datum::Null) };
    let values: Vec<Option<String>> = match record {
        Some(record) => {
            let values = record.iter().zip(&fields);
            values
                .map(|((_, _, value), (_, ty, modifier))| {
                    types::text::try_to_string(value, *ty, *modifier, &call.context.types)
                })
                .collect::<Result<_>>()?
        }
        None => vec![None; fields.len()],
    };
    made(fields.iter().zip(&values).map(|((name, ..), value)| (name.as_str(), value.as_deref())))
}

/// `populate_record(row, hstore)`: the row with the values of its fields' names.
fn populate(
    call: &Call<'_>,
    row: Option<RecordRef<'_>>,
    with: Option<Hstore<'_>>,
) -> Result<Datum> {
    let types = call.context.types.types;
    let Some(fields) = fields_of(call, row) else {
        let message = "could not determine row type for result of populate_record";
        let hint = "Provide a non-null record argument.";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_hint(hint));
    };
    let Some(with) = with else {
        return Ok(row.map_or(Datum::Null, |row| Datum::Record(row.to_owned())));
    };
    if let Some(row) = row.filter(|_| with.is_empty()) {
        return Ok(Datum::Record(row.to_owned()));
    }
    let mut values = Vec::with_capacity(fields.len());
    for (at, (name, ty, modifier)) in fields.iter().enumerate() {
        let value = match with.get(name) {
            Some(text) => types::text::parse_nullable(text, *ty, *modifier, &call.context.types)?,
            None => match row.and_then(|row| row.iter().nth(at)) {
                Some((_, _, value)) if !value.is_null() => value.to_owned(),
                _ => call.context.types.null_of(*ty)?,
            },
        };
        values.push((*ty, types.repr_of(*ty)?, value));
    }
    let values = values.iter().map(|(ty, repr, value)| (*ty, *repr, value.as_ref()));
    Ok(Record::new(values).into())
}

/// A row that is the first argument, which must be one.
fn row<'a>(value: DatumRef<'a>) -> Result<Option<RecordRef<'a>>> {
    match value {
        DatumRef::Null => Ok(None),
        DatumRef::Record(record) => Ok(Some(record)),
        _ => {
            let message = "first argument must be a rowtype";
            Err(Error::new(SqlState::DATATYPE_MISMATCH, message))
        }
    }
}

fn without<'a>(value: Hstore<'a>, keeps: impl Fn(&Pair<'a>) -> bool) -> Result<Datum> {
    made(value.pairs().filter(keeps))
}

fn slice(value: Hstore<'_>, keys: ArrayRef<'_>) -> Result<Datum> {
    made(keys_of(keys).filter_map(|key| Some((key, value.get(key)?))))
}

fn slice_array(value: Hstore<'_>, keys: ArrayRef<'_>) -> Result<Array> {
    texts(keys.iter().map(|key| value.get(text_of(key)?).flatten()))
}

/// Keys and values in turn.
fn alternating(value: Hstore<'_>) -> Result<Array> {
    texts(value.pairs().flat_map(|(key, value)| [Some(key), value]))
}

fn matrix(value: Hstore<'_>) -> Result<Array> {
    if value.is_empty() {
        return texts([]);
    }
    let all = value.pairs().flat_map(|(key, value)| [Some(key), value]);
    let all = all.map(|text| text.map_or(DatumRef::Null, DatumRef::Text));
    let length = value.len() as i32;
    let dimensions = [Dimension { length, lower: 1 }, Dimension { length: 2, lower: 1 }];
    Array::new(Type::TEXT, Repr::Text, &dimensions, all)
}

/// True for a text that JSON has as a number, as far as `hstore_to_json_loose` takes it for one.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let mut rest = digits.bytes().peekable();
    match rest.next() {
        Some(b'0') => {}
        Some(b'1'..=b'9') => while rest.next_if(u8::is_ascii_digit).is_some() {},
        _ => return false,
    }
    if rest.next_if(|byte| *byte == b'.').is_some() {
        let mut count = 0;
        while rest.next_if(u8::is_ascii_digit).is_some() {
            count += 1;
        }
        if count == 0 {
            return false;
        }
    }
    if rest.next_if(|byte| matches!(byte, b'e' | b'E')).is_some() {
        rest.next_if(|byte| matches!(byte, b'+' | b'-'));
        let mut count = 0;
        while rest.next_if(u8::is_ascii_digit).is_some() {
            count += 1;
        }
        if count == 0 {
            return false;
        }
    }
    rest.next().is_none()
}

/// `loose`: numbers and truth values become these.
pub(crate) fn to_json(value: Hstore<'_>, loose: bool) -> String {
    let mut out = String::from("{");
    for (at, (key, value)) in value.pairs().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        out.push_str(&json::text::quote(key));
        out.push_str(": ");
        match value {
            None => out.push_str("null"),
            Some("t") if loose => out.push_str("true"),
            Some("f") if loose => out.push_str("false"),
            Some(value) if loose && is_number(value) => out.push_str(value),
            Some(value) => out.push_str(&json::text::quote(value)),
        }
    }
    out.push('}');
    out
}

fn to_jsonb(value: Hstore<'_>, loose: bool) -> Result<Jsonb> {
    if loose {
        return Ok(Jsonb::parse(&to_json(value, true))?);
    }
    let mut builder = Builder::new();
    builder.object(|object| {
        for (key, value) in value.pairs() {
            let place = object.name(key);
            match value {
                Some(value) => place.string(value),
                None => place.null(),
            };
        }
    });
    Ok(builder.finish()?)
}

fn cmp(a: DatumRef<'_>, b: DatumRef<'_>) -> Ordering {
    a.cmp(&b)
}

/// The bytes that the hash is made of: every value of equal ones has the same.
fn hashed(value: DatumRef<'_>, seed: i64) -> u64 {
    match value {
        DatumRef::Bytea(bytes) => hash::bytes(bytes, seed),
        _ => 0,
    }
}

pub(crate) const TABLE: &[Function] = functions! {
    15370 fetchval(HSTORE, TEXT) -> TEXT = (a: Hstore<'_>, key: &str) a.get(key).flatten();
    15371 slice_array(HSTORE, TEXT_ARRAY) -> TEXT_ARRAY = (a: Hstore<'_>, keys: ArrayRef<'_>)
        slice_array(a, keys);
    15372 slice(HSTORE, TEXT_ARRAY) -> HSTORE = (a: Hstore<'_>, keys: ArrayRef<'_>) slice(a, keys);
    15373 isexists(HSTORE, TEXT) -> BOOL = (a: Hstore<'_>, key: &str) a.get(key).is_some();
    15374 exist(HSTORE, TEXT) -> BOOL = (a: Hstore<'_>, key: &str) a.get(key).is_some();
    15375 exists_any(HSTORE, TEXT_ARRAY) -> BOOL = (a: Hstore<'_>, keys: ArrayRef<'_>)
        keys_of(keys).any(|key| a.get(key).is_some());
    15376 exists_all(HSTORE, TEXT_ARRAY) -> BOOL = (a: Hstore<'_>, keys: ArrayRef<'_>)
        keys_of(keys).all(|key| a.get(key).is_some());
    15377 isdefined(HSTORE, TEXT) -> BOOL = (a: Hstore<'_>, key: &str)
        a.get(key).flatten().is_some();
    15378 defined(HSTORE, TEXT) -> BOOL = (a: Hstore<'_>, key: &str) a.get(key).flatten().is_some();
    15379 delete(HSTORE, TEXT) -> HSTORE = (a: Hstore<'_>, key: &str)
        without(a, |(own, _)| *own != key);
    15380 delete(HSTORE, TEXT_ARRAY) -> HSTORE = (a: Hstore<'_>, keys: ArrayRef<'_>) {
        let gone: std::collections::HashSet<&str> = keys_of(keys).collect();
        without(a, |(own, _)| !gone.contains(own))
    };
    15381 delete(HSTORE, HSTORE) -> HSTORE = (a: Hstore<'_>, b: Hstore<'_>)
        without(a, |(key, value)| b.get(key) != Some(*value));
    15382 hs_concat(HSTORE, HSTORE) -> HSTORE = (a: Hstore<'_>, b: Hstore<'_>)
        made(b.pairs().chain(a.pairs()));
    15383 hs_contains(HSTORE, HSTORE) -> BOOL = (a: Hstore<'_>, b: Hstore<'_>) a.contains(b);
    15384 hs_contained(HSTORE, HSTORE) -> BOOL = (a: Hstore<'_>, b: Hstore<'_>) b.contains(a);
    15385 tconvert(TEXT, TEXT) -> HSTORE [nullable] = (key: Option<&str>, value: Option<&str>)
        key.map(|key| made([(key, value)])).transpose();
    15386 hstore(TEXT, TEXT) -> HSTORE [nullable] = (key: Option<&str>, value: Option<&str>)
        key.map(|key| made([(key, value)])).transpose();
    15387 hstore(TEXT_ARRAY, TEXT_ARRAY) -> HSTORE [nullable]
        = (keys: Option<ArrayRef<'_>>, values: Option<ArrayRef<'_>>) of_arrays(keys, values);
    15388 hstore(TEXT_ARRAY) -> HSTORE = (array: ArrayRef<'_>) of_array(array);
    15389 hstore_to_json(HSTORE) -> JSON = (a: Hstore<'_>) to_json(a, false);
    15390 hstore_to_json_loose(HSTORE) -> JSON = (a: Hstore<'_>) to_json(a, true);
    15391 hstore_to_jsonb(HSTORE) -> JSONB = (a: Hstore<'_>) to_jsonb(a, false);
    15392 hstore_to_jsonb_loose(HSTORE) -> JSONB = (a: Hstore<'_>) to_jsonb(a, true);
    15393 hstore(RECORD) -> HSTORE [nullable] = (call; record: Option<RecordRef<'_>>)
        of_record(call, record);
    15394 hstore_to_array(HSTORE) -> TEXT_ARRAY = (a: Hstore<'_>) alternating(a);
    15395 hstore_to_matrix(HSTORE) -> TEXT_ARRAY = (a: Hstore<'_>) matrix(a);
    15396 akeys(HSTORE) -> TEXT_ARRAY = (a: Hstore<'_>) texts(a.pairs().map(|(key, _)| Some(key)));
    15397 avals(HSTORE) -> TEXT_ARRAY = (a: Hstore<'_>) texts(a.pairs().map(|(_, value)| value));
    15398 populate_record(ANYELEMENT, HSTORE) -> ANYELEMENT [nullable]
        = (call; base: DatumRef<'_>, with: Option<Hstore<'_>>) populate(call, row(base)?, with);
    15399 hstore_eq(HSTORE, HSTORE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) cmp(a, b).is_eq();
    15400 hstore_ne(HSTORE, HSTORE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) cmp(a, b).is_ne();
    15401 hstore_gt(HSTORE, HSTORE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) cmp(a, b).is_gt();
    15402 hstore_ge(HSTORE, HSTORE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) cmp(a, b).is_ge();
    15403 hstore_lt(HSTORE, HSTORE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) cmp(a, b).is_lt();
    15404 hstore_le(HSTORE, HSTORE) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) cmp(a, b).is_le();
    15405 hstore_cmp(HSTORE, HSTORE) -> INT4 = (a: DatumRef<'_>, b: DatumRef<'_>) cmp(a, b) as i32;
    15406 hstore_hash(HSTORE) -> INT4 = (a: DatumRef<'_>) hashed(a, 0) as i32;
    15407 hstore_hash_extended(HSTORE, INT8) -> INT8 = (a: DatumRef<'_>, seed: i64)
        hashed(a, seed) as i64;
    15408 hstore_version_diag(HSTORE) -> INT4 = (_a: Hstore<'_>) 2;
};

pub(crate) const SETS: &[Function] = sets! {
    15410 skeys(HSTORE) -> TEXT = (_call; a: Hstore<'_>) {
        let keys: Vec<_> = a.pairs().map(|(key, _)| Ok(Datum::text(key))).collect();
        Ok(Box::new(keys.into_iter()) as Rows)
    };
    15411 svals(HSTORE) -> TEXT = (_call; a: Hstore<'_>) {
        let values: Vec<_> = a.pairs().map(|(_, value)| Ok(value.into())).collect();
        Ok(Box::new(values.into_iter()) as Rows)
    };
    15412 each(HSTORE) -> RECORD = (_call; a: Hstore<'_>) {
        let pairs = a.pairs().map(|(key, value)| Ok([Datum::text(key), value.into()]));
        let pairs: Vec<_> = pairs.collect();
        Ok(Box::new(Columns::new([(Type::TEXT, Repr::Text); 2], pairs.into_iter())) as Rows)
    };
};

pub(crate) const OPERATORS: &[Operator] = operators! {
    "#<#" {
        15500 HSTORE HSTORE -> BOOL = 15403;
    }
    "#<=#" {
        15501 HSTORE HSTORE -> BOOL = 15404;
    }
    "#=" {
        15502 ANYELEMENT HSTORE -> ANYELEMENT = 15398;
    }
    "#>#" {
        15503 HSTORE HSTORE -> BOOL = 15401;
    }
    "#>=#" {
        15504 HSTORE HSTORE -> BOOL = 15402;
    }
    "%#" {
        15505 NONE HSTORE -> TEXT_ARRAY = 15395;
    }
    "%%" {
        15506 NONE HSTORE -> TEXT_ARRAY = 15394;
    }
    "-" {
        15507 HSTORE TEXT -> HSTORE = 15379;
        15508 HSTORE TEXT_ARRAY -> HSTORE = 15380;
        15509 HSTORE HSTORE -> HSTORE = 15381;
    }
    "->" {
        15510 HSTORE TEXT -> TEXT = 15370;
        15511 HSTORE TEXT_ARRAY -> TEXT_ARRAY = 15371;
    }
    "<>" {
        15512 HSTORE HSTORE -> BOOL = 15400;
    }
    "<@" {
        15513 HSTORE HSTORE -> BOOL = 15384;
    }
    "=" {
        15514 HSTORE HSTORE -> BOOL = 15399;
    }
    "?" {
        15515 HSTORE TEXT -> BOOL = 15374;
    }
    "?&" {
        15516 HSTORE TEXT_ARRAY -> BOOL = 15376;
    }
    "?|" {
        15517 HSTORE TEXT_ARRAY -> BOOL = 15375;
    }
    "@>" {
        15518 HSTORE HSTORE -> BOOL = 15383;
    }
    "||" {
        15519 HSTORE HSTORE -> HSTORE = 15382;
    }
};

pub(crate) const CASTS: &[Cast] = casts! {
    TEXT_ARRAY -> HSTORE Explicit Function(15388);
    HSTORE -> JSON Explicit Function(15389);
    HSTORE -> JSONB Explicit Function(15391);
};
