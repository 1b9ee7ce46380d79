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
//! A text within an array counts as a name, as in PostgreSQL, because `?` asks for both. An index
//! may find too much (items are there, but not where they should be, or hashes agree): the reader
//! looks at the rows again. It never finds too little, for questions that imply items.

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
    /// In an index of intervals: the key whose values are intervals.
    Interval,
    /// In an index of intervals: a key that is compared by `=`.
    Value,
    /// In an index of intervals: a key by which rows are not found.
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
    let mut found = Items::default();
    found.hashes(
        column,
        value,
        way.iter().fold(HASH_START, |way, name| step(way, name.as_bytes())),
    );
    found.iter().last().unwrap_or_default().to_vec()
}

/// The item that a name of a `jsonb`, or an element of an array, is: for `?`, and for `&&`.
pub(super) fn item_of(class: ItemClass, column: usize, value: DatumRef<'_>) -> Vec<u8> {
    let kind = if class == ItemClass::Array { ELEMENT } else { NAME };
    item(column, kind, value)
}

/// Items, one behind the other.
#[derive(Debug, Default)]
pub(super) struct Items {
    bytes: Vec<u8>,
    /// Where each begins and ends.
    places: Vec<(usize, usize)>,
    /// The key form of a scalar that is hashed.
    scalar: Vec<u8>,
}

impl Items {
    /// Takes all items out, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    /// The items.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.places.iter().map(|(start, end)| &self.bytes[*start..*end])
    }

    /// Sorts them, and leaves one of those that are equal.
    pub(super) fn sort(&mut self) {
        let Items { bytes, places, .. } = self;
        let item = |(start, end): (usize, usize)| &bytes[start..end];
        places.sort_unstable_by(|one, other| item(*one).cmp(item(*other)));
        places.dedup_by(|one, other| item(*one) == item(*other));
    }

    /// Adds the items of a value: of one that is stored, and of one that stored values shall contain
    /// (`@>`), which then have all of them.
    pub(super) fn add(&mut self, class: ItemClass, column: usize, value: DatumRef<'_>) {
        match (class, value) {
            (_, DatumRef::Null) => {}
            (ItemClass::Scalar, value) => self.push(column, ELEMENT, value),
            (_, DatumRef::Array(array)) => {
                let elements = array.iter().filter(|element| !element.is_null());
                elements.for_each(|element| self.push(column, ELEMENT, element));
            }
            (ItemClass::JsonbPath, DatumRef::Jsonb(value)) => {
                self.hashes(column, value, HASH_START);
            }
            (_, DatumRef::Jsonb(value)) => self.parts(column, value, true),
            (ItemClass::Hstore, DatumRef::Bytea(value)) => {
                for (key, value) in Hstore::new(value).pairs() {
                    self.push(column, NAME, DatumRef::Text(key));
                    let pair = hstore::build([(key, value)]).unwrap_or_default();
                    self.push(column, PAIR, DatumRef::Bytea(&pair));
                }
            }
            (ItemClass::Lexeme, DatumRef::Bytea(value)) => {
                let document = Vector::new(value);
                let lexemes = document.lexemes();
                lexemes
                    .iter()
                    .for_each(|lexeme| self.push(column, LEXEME, DatumRef::Text(lexeme.text)));
            }
            (ItemClass::Trigram, DatumRef::Text(text)) => {
                // Without an interruption there is no error; an entry that is left out would be a lie.
                let all = interrupt::shielded(|| trgm::trigrams(text)).unwrap_or_default();
                all.iter().for_each(|trigram| self.push(column, TRIGRAM, DatumRef::Bytea(trigram)));
            }
            _ => {}
        }
    }

    fn push(&mut self, column: usize, kind: u8, value: DatumRef<'_>) {
        let start = self.bytes.len();
        write_item(column, kind, value, &mut self.bytes);
        self.places.push((start, self.bytes.len()));
    }

    /// Names and scalars. `is_listed`: the value is an element of an array, or the whole.
    fn parts(&mut self, column: usize, value: JsonbRef<'_>, is_listed: bool) {
        if let Some(object) = value.as_object() {
            for (name, value) in object.iter() {
                self.push(column, NAME, DatumRef::Text(name));
                self.parts(column, value, false);
            }
        } else if let Some(array) = value.as_array() {
            array.iter().for_each(|element| self.parts(column, element, true));
        } else {
            match value.as_str().filter(|_| is_listed) {
                Some(text) => self.push(column, NAME, DatumRef::Text(text)),
                None => self.push(column, SCALAR, DatumRef::Jsonb(value)),
            }
        }
    }

    fn hashes(&mut self, column: usize, value: JsonbRef<'_>, way: u64) {
        if let Some(object) = value.as_object() {
            for field in 0..object.len() {
                self.hashes(column, object.value(field), step(way, object.name_bytes(field)));
            }
        } else if let Some(array) = value.as_array() {
            array.iter().for_each(|element| self.hashes(column, element, way));
        } else {
            self.scalar.clear();
            value.write_key(&mut self.scalar);
            let hash = hash(way, &self.scalar) as i64;
            self.push(column, HASH, DatumRef::Int8(hash));
        }
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

/// Returns the prefix of the items of all lexemes that begin with a text.
pub(super) fn of_prefix(column: usize, text: &str) -> Vec<u8> {
    let mut item = of_lexeme(column, text);
    // The key form of a text ends with one byte.
    item.pop();
    item
}

fn item(column: usize, kind: u8, value: DatumRef<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(16);
    write_item(column, kind, value, &mut out);
    out
}

fn write_item(column: usize, kind: u8, value: DatumRef<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(&[column as u8, kind]);
    key::write(value, KeyOrder::ASCENDING, out);
}

const HASH_START: u64 = 0xcbf2_9ce4_8422_2325;

/// The hash of the way to a value by one more name.
fn step(way: u64, name: &[u8]) -> u64 {
    hash(hash(way, name), &[0])
}

/// FNV-1a: it is stored, so it stays what it is.
fn hash(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
