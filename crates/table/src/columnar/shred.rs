//! Objects of a `jsonb` column taken apart: frequent fields are columns of their own.
//!
//! ```text
//!   {"os": "ios", "n": 1}            rest  {}            os  "ios"    n  1
//!   {"os": "mac", "x": [1, 2]}             {"x": [1, 2]}     "mac"       -
//!   [3]                                    [3]               -           -
//! ```
//!
//! # Invariants
//! * A value put together from its parts is byte for byte what it was. An object for which that is not so stays whole
//!   in the rest, and its block says so.
//! * In a block without such objects the rest has no field that is a column.

use std::cmp::Ordering;
use std::collections::HashMap;

use json::jsonb::{JsonbRef, Object, write_object};
use stripe::ByteStrings;

/// The most fields of one column that are columns.
const FIELDS_MAX: usize = 64;
/// A field is frequent if at least one of so many objects has it.
const FREQUENT: usize = 8;

/// Compares names as objects do: short ones first, then by bytes.
fn by_name(one: &str, other: &str) -> Ordering {
    one.len().cmp(&other.len()).then_with(|| one.cmp(other))
}

/// Returns the names of the fields that are worth a column, in the order of objects.
pub(super) fn frequent_fields<'v>(values: impl Iterator<Item = &'v [u8]>) -> Vec<String> {
    let (mut counts, mut objects): (Vec<(&str, usize)>, usize) = (Vec::new(), 0);
    let mut places: HashMap<&str, usize> = HashMap::new();
    for value in values {
        let Some(object) = JsonbRef::new(value).as_object() else { continue };
        objects += 1;
        // Most objects have the names of the one before, in the same order.
        let mut next = 0;
        for name in object.names() {
            let at = match counts.get(next) {
                Some((known, _)) if *known == name => next,
                _ => *places.entry(name).or_insert_with(|| {
                    counts.push((name, 0));
                    counts.len() - 1
                }),
            };
            counts[at].1 += 1;
            next = at + 1;
        }
    }
    let mut frequent: Vec<(&str, usize)> =
        counts.into_iter().filter(|(_, count)| count * FREQUENT >= objects).collect();
    frequent
        .sort_unstable_by(|one, other| other.1.cmp(&one.1).then_with(|| by_name(one.0, other.0)));
    frequent.truncate(FIELDS_MAX);
    let mut names: Vec<String> = frequent.into_iter().map(|(name, _)| name.to_owned()).collect();
    names.sort_unstable_by(|one, other| by_name(one, other));
    names
}

/// The values of a column of a block, taken apart.
#[derive(Default)]
pub(super) struct Shredded {
    /// Each value without the fields that are columns.
    pub rest: ByteStrings,
    /// For each field its values, and where there are none.
    pub fields: Vec<(ByteStrings, Vec<bool>)>,
    /// True if every value is an object.
    pub has_only_objects: bool,
    /// True if an object is whole in the rest.
    pub has_whole: bool,
}

impl Shredded {
    /// Takes values apart. `is_null` has as many entries.
    pub fn of(values: &ByteStrings, is_null: &[bool], names: &[String]) -> Shredded {
        // Most objects have no other fields: the rest of each is an empty object, of two bytes.
        let rest = ByteStrings::with_capacity(values.len(), 2 * values.len());
        let mut shredded = Shredded { has_only_objects: true, rest, ..Shredded::default() };
        shredded.fields.resize_with(names.len(), || {
            let bytes = values.byte_len() / names.len() / 2;
            (ByteStrings::with_capacity(values.len(), bytes), Vec::with_capacity(values.len()))
        });
        let (mut object_bytes, mut found, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        for (value, is_null) in values.iter().zip(is_null) {
            let object = JsonbRef::new(value).as_object().filter(|_| !is_null);
            let Some(object) = object else {
                shredded.has_only_objects &= *is_null;
                shredded.put_whole(value);
                continue;
            };
            if !object.is_as_written() {
                shredded.has_whole = true;
                shredded.put_whole(value);
                continue;
            }
            split(object, names, &mut found, &mut rest);
            object_bytes.clear();
            write_object(&rest, &mut object_bytes);
            shredded.rest.push(&object_bytes);
            for ((values, nulls), found) in shredded.fields.iter_mut().zip(&found) {
                values.push(found.map(JsonbRef::bytes).unwrap_or_default());
                nulls.push(found.is_none());
            }
        }
        shredded
    }

    fn put_whole(&mut self, value: &[u8]) {
        self.rest.push(value);
        for (values, nulls) in &mut self.fields {
            values.push(&[]);
            nulls.push(true);
        }
    }
}

type Fields<'v> = Vec<(&'v str, JsonbRef<'v>)>;

/// Finds the values of the fields with these names, and the other fields.
fn split<'v>(
    object: Object<'v>,
    names: &[String],
    found: &mut Vec<Option<JsonbRef<'v>>>,
    rest: &mut Fields<'v>,
) {
    found.clear();
    found.resize(names.len(), None);
    rest.clear();
    let mut at = 0;
    for (name, value) in object.iter() {
        // The next name is that of the next field in most objects.
        if names.get(at).is_none_or(|known| known != name) {
            while names.get(at).is_some_and(|known| by_name(known, name).is_lt()) {
                at += 1;
            }
        }
        match names.get(at) {
            Some(known) if known == name => {
                found[at] = Some(value);
                at += 1;
            }
            _ => rest.push((name, value)),
        }
    }
}

/// Appends the object of these fields and of those with names, as far as `value` has them.
fn merge<'v>(
    rest: &[(&'v str, JsonbRef<'v>)],
    names: &'v [String],
    value: impl Fn(usize) -> Option<&'v [u8]>,
    out: &mut Vec<u8>,
) {
    let mut all = Vec::with_capacity(rest.len() + names.len());
    let mut rest = rest.iter().copied().peekable();
    for (at, name) in names.iter().enumerate() {
        let Some(value) = value(at) else { continue };
        while let Some(field) = rest.next_if(|(other, _)| by_name(other, name).is_lt()) {
            all.push(field);
        }
        all.push((name.as_str(), JsonbRef::new(value)));
    }
    all.extend(rest);
    write_object(&all, out);
}

/// Appends the value that `rest` is left of. `value` gives the value of a field, by its position in `names`.
pub(super) fn put_together<'v>(
    rest: &'v [u8],
    names: &'v [String],
    value: impl Fn(usize) -> Option<&'v [u8]>,
    out: &mut Vec<u8>,
) {
    match JsonbRef::new(rest).as_object() {
        Some(object) => merge(&object.iter().collect::<Fields<'_>>(), names, value, out),
        None => out.extend_from_slice(rest),
    }
}
