//! GIN: values taken apart into items, and an entry for each.
//!
//! ```text
//!   array_ops        {a,b}                     'a' · 'b'
//!   jsonb_ops        {"a": [1, "x"], "b": {}}  name a · number 1 · name x · name b
//!   jsonb_path_ops   {"a": [1, "x"], "b": {}}  hash of (a, 1) · hash of (a, "x")
//!   hstore_ops       a=>1, b=>NULL             name a · pair a=>1 · name b · pair b=>NULL
//!   gin_trgm_ops     two                       the trigrams of the text
//!   tsvector_ops     'a':1 'b':2A              lexeme a · lexeme b
//!   int4_ops ...     5                         the value (`btree_gin`, `bloom`)
//!
//!   an item          column of the index, 1 byte │ kind, 1 byte │ key form of the item
//! ```
//!
//! A text within an array counts as a name, as in PostgreSQL, because `?` asks for both. What an index
//! finds may be too much (items are there, but not where they should be, or hashes agree): whoever
//! searches looks at the rows again. It never finds too little, for questions that imply items.

use scalar::extension::trgm;
use types::hstore::{self, Hstore};
use types::search::Vector;
use types::{DatumRef, JsonbRef, KeyOrder, Repr, key};

use super::interval::Intervals;
use crate::catalog::{Index, IndexKey, IndexMethod};

/// How values are taken apart: the operator class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemClass {
    /// Elements of arrays.
    Array,
    /// Names and values of `jsonb`.
    Jsonb,
    /// Hashes of the ways to values of `jsonb`.
    JsonbPath,
    /// Keys and pairs of `hstore`.
    Hstore,
    /// Trigrams of texts.
    Trigram,
    /// Of an index of intervals: the key whose values are intervals.
    Interval,
    /// Of an index of intervals: a key that is compared by `=`.
    Value,
    /// Of an index of intervals: a key by which rows are not found.
    Beside,
    /// Lexemes of `tsvector`.
    Lexeme,
    /// Values that are not taken apart.
    Scalar,
}

impl ItemClass {
    /// The classes of the keys of an index that is asked; `None` of an index that has an order.
    pub fn all(index: &Index) -> Option<Vec<ItemClass>> {
        match index.method {
            _ if !index.excludes.is_empty() => Some(Self::of_intervals(index)),
            IndexMethod::Gin | IndexMethod::Bloom => {
                Some(index.keys.iter().map(ItemClass::of).collect())
            }
            IndexMethod::Gist => Some(Self::of_intervals(index)),
            IndexMethod::Spgist => {
                Intervals::new(index).interval().map(|_| Self::of_intervals(index))
            }
            IndexMethod::Btree | IndexMethod::Hash | IndexMethod::Columnar | IndexMethod::Brin => {
                None
            }
        }
    }

    fn of_intervals(index: &Index) -> Vec<ItemClass> {
        let intervals = Intervals::new(index);
        let mut classes = vec![ItemClass::Beside; index.keys.len()];
        intervals.equal().for_each(|at| classes[at] = ItemClass::Value);
        intervals.interval().iter().for_each(|at| classes[*at] = ItemClass::Interval);
        classes
    }

    /// The class of a key: the one that it names, or the usual one of such values.
    fn of(key: &IndexKey) -> ItemClass {
        match (key.repr, key.class.as_deref()) {
            (Repr::Jsonb, Some("jsonb_path_ops")) => ItemClass::JsonbPath,
            (Repr::Text, Some("gin_trgm_ops")) => ItemClass::Trigram,
            (Repr::Bytea, Some("tsvector_ops")) => ItemClass::Lexeme,
            (_, Some(_)) => ItemClass::Scalar,
            (Repr::Jsonb, _) => ItemClass::Jsonb,
            (Repr::Bytea, _) => ItemClass::Hstore,
            _ => ItemClass::Array,
        }
    }
}

const ELEMENT: u8 = 0;
const NAME: u8 = 1;
const SCALAR: u8 = 2;
const HASH: u8 = 3;
const PAIR: u8 = 4;
const TRIGRAM: u8 = 5;
const LEXEME: u8 = 6;

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
pub(super) fn item_of(class: ItemClass, column: usize, value: DatumRef<'_>) -> Vec<u8> {
    let kind = if class == ItemClass::Array { ELEMENT } else { NAME };
    item(column, kind, value)
}

/// Appends the items of a value: of one that is stored, and of one that stored values shall contain
/// (`@>`), which then have all of them.
pub(super) fn items(class: ItemClass, column: usize, value: DatumRef<'_>, out: &mut Vec<Vec<u8>>) {
    match (class, value) {
        (_, DatumRef::Null) => {}
        (ItemClass::Scalar, value) => out.push(of_value(column, value)),
        (_, DatumRef::Array(array)) => {
            let elements = array.iter().filter(|element| !element.is_null());
            out.extend(elements.map(|element| item(column, ELEMENT, element)));
        }
        (ItemClass::JsonbPath, DatumRef::Jsonb(value)) => hashes(column, value, HASH_START, out),
        (_, DatumRef::Jsonb(value)) => parts(column, value, true, out),
        (ItemClass::Hstore, DatumRef::Bytea(value)) => {
            for (key, value) in Hstore::new(value).pairs() {
                out.push(item(column, NAME, DatumRef::Text(key)));
                let pair = hstore::build([(key, value)]).unwrap_or_default();
                out.push(item(column, PAIR, DatumRef::Bytea(&pair)));
            }
        }
        (ItemClass::Lexeme, DatumRef::Bytea(value)) => {
            let document = Vector::new(value);
            out.extend(document.lexemes().iter().map(|lexeme| of_lexeme(column, lexeme.text)));
        }
        (ItemClass::Trigram, DatumRef::Text(text)) => {
            // Without an interruption there is no error; an entry that is left out would be a lie.
            let all = interrupt::shielded(|| trgm::trigrams(text)).unwrap_or_default();
            out.extend(all.iter().map(|trigram| of_trigram(column, *trigram)));
        }
        _ => {}
    }
}

/// The item of a value that is not taken apart.
pub(super) fn of_value(column: usize, value: DatumRef<'_>) -> Vec<u8> {
    item(column, ELEMENT, value)
}

/// The item of a trigram.
pub(super) fn of_trigram(column: usize, trigram: trgm::Trigram) -> Vec<u8> {
    item(column, TRIGRAM, DatumRef::Bytea(&trigram))
}

/// The item of a lexeme.
pub(super) fn of_lexeme(column: usize, text: &str) -> Vec<u8> {
    item(column, LEXEME, DatumRef::Text(text))
}

/// What the items of all lexemes begin with that begin with a text.
pub(super) fn of_prefix(column: usize, text: &str) -> Vec<u8> {
    let mut item = of_lexeme(column, text);
    // The key form of a text ends with one byte.
    item.pop();
    item
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
