//! GIN: values taken apart into items, and an entry for each.
//!
//! ```text
//!   array_ops        {a,b}                     'a' · 'b'
//!   jsonb_ops        {"a": [1, "x"], "b": {}}  name a · number 1 · name x · name b
//!   jsonb_path_ops   {"a": [1, "x"], "b": {}}  hash of (a, 1) · hash of (a, "x")
//!
//!   an item          column of the index, 1 byte │ kind, 1 byte │ key form of the item
//! ```
//!
//! A text within an array counts as a name, as in PostgreSQL, because `?` asks for both. What an index
//! finds may be too much (items are there, but not where they should be, or hashes agree): whoever
//! searches looks at the rows again. It never finds too little, for questions that imply items.

use types::{DatumRef, JsonbRef, KeyOrder, Repr, key};

/// How values are taken apart: the operator class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GinClass {
    /// Elements of arrays.
    Array,
    /// Names and values of `jsonb`.
    Jsonb,
    /// Hashes of the ways to values of `jsonb`.
    JsonbPath,
}

impl GinClass {
    /// The class with this name, or the usual one of such values.
    pub fn of(repr: Repr, class: Option<&str>) -> GinClass {
        match (repr, class) {
            (Repr::Jsonb, Some("jsonb_path_ops")) => GinClass::JsonbPath,
            (Repr::Jsonb, _) => GinClass::Jsonb,
            _ => GinClass::Array,
        }
    }
}

const ELEMENT: u8 = 0;
const NAME: u8 = 1;
const SCALAR: u8 = 2;
const HASH: u8 = 3;

/// The item of a scalar of a `jsonb` that is the value of a field.
pub(super) fn scalar(column: usize, value: JsonbRef<'_>) -> Vec<u8> {
    item(column, SCALAR, DatumRef::Jsonb(value))
}

/// The item of a scalar of a `jsonb` at the end of a way of names.
pub(super) fn hashed(column: usize, way: &[String], value: JsonbRef<'_>) -> Vec<u8> {
    let way = way.iter().fold(HASH_START, |way, name| hash(hash(way, name.as_bytes()), &[0]));
    let mut found = Vec::with_capacity(1);
    hashes(column, value, way, &mut found);
    found.pop().unwrap_or_default()
}

/// The item that a name of a `jsonb`, or an element of an array, is: for `?`, and for `&&`.
pub(super) fn item_of(class: GinClass, column: usize, value: DatumRef<'_>) -> Vec<u8> {
    let kind = if class == GinClass::Array { ELEMENT } else { NAME };
    item(column, kind, value)
}

/// Appends the items of a value: of one that is stored, and of one that stored values shall contain
/// (`@>`), which then have all of them.
pub(super) fn items(class: GinClass, column: usize, value: DatumRef<'_>, out: &mut Vec<Vec<u8>>) {
    match (class, value) {
        (_, DatumRef::Array(array)) => {
            let elements = array.iter().filter(|element| !element.is_null());
            out.extend(elements.map(|element| item(column, ELEMENT, element)));
        }
        (GinClass::JsonbPath, DatumRef::Jsonb(value)) => hashes(column, value, HASH_START, out),
        (_, DatumRef::Jsonb(value)) => parts(column, value, true, out),
        _ => {}
    }
}

fn item(column: usize, kind: u8, value: DatumRef<'_>) -> Vec<u8> {
    let mut out = vec![column as u8, kind];
    key::write(value, KeyOrder::ASCENDING, &mut out);
    out
}

/// Names and scalars. `is_listed`: the value is an element of an array, or the whole.
fn parts(column: usize, value: JsonbRef<'_>, is_listed: bool, out: &mut Vec<Vec<u8>>) {
    if let Some(object) = value.as_object() {
        for (name, value) in object.iter() {
            out.push(item(column, NAME, DatumRef::Text(name)));
            parts(column, value, false, out);
        }
    } else if let Some(array) = value.as_array() {
        array.iter().for_each(|element| parts(column, element, true, out));
    } else {
        match value.as_str().filter(|_| is_listed) {
            Some(text) => out.push(item(column, NAME, DatumRef::Text(text))),
            None => out.push(item(column, SCALAR, DatumRef::Jsonb(value))),
        }
    }
}

fn hashes(column: usize, value: JsonbRef<'_>, way: u64, out: &mut Vec<Vec<u8>>) {
    if let Some(object) = value.as_object() {
        for (name, value) in object.iter() {
            hashes(column, value, hash(hash(way, name.as_bytes()), &[0]), out);
        }
    } else if let Some(array) = value.as_array() {
        array.iter().for_each(|element| hashes(column, element, way, out));
    } else {
        let mut key = Vec::new();
        value.write_key(&mut key);
        out.push(item(column, HASH, DatumRef::Int8(hash(way, &key) as i64)));
    }
}

const HASH_START: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a: it is stored, so it stays what it is.
fn hash(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
