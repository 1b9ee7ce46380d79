//! Keys in a hash table, numbered in the order in which they came.

use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use sql::eval::{Program, Row as EvalRow};
use types::{Datum, Result};

use super::Row;
use super::rows::Rows;
use crate::ctx::Env;

/// The distinct keys so far.
///
/// The hash of a single integer or day is one that no other value of its type has. As long as all keys are such
/// values of one type, which hash a key has tells that it is this one, and it is not looked at.
#[derive(Default)]
pub(crate) struct KeyTable {
    /// The hash of each key, and its number.
    table: HashTable<(u64, u32)>,
    keys: Rows,
    state: FixedState,
    told: Told,
}

/// Whether the hash of a key tells which it is.
#[derive(Clone, Copy, Default, PartialEq)]
enum Told {
    /// There are no keys yet.
    #[default]
    Empty,
    /// All are single values of this kind.
    By(Whole),
    /// It does not.
    No,
}

/// The types whose values a hash tells.
#[derive(Clone, Copy, PartialEq)]
enum Whole {
    Int4,
    Int8,
    Date,
}

/// A key that is a single value of a type whose values a hash tells.
#[inline]
fn whole(key: &[Datum]) -> Option<(Whole, i64)> {
    match key {
        [Datum::Int4(value)] => Some((Whole::Int4, i64::from(*value))),
        [Datum::Int8(value)] => Some((Whole::Int8, *value)),
        [Datum::Date(value)] => Some((Whole::Date, i64::from(value.0))),
        _ => None,
    }
}

/// A number that differs for different ones: each step can be undone (the end of MurmurHash3, Appleby 2011).
#[inline]
fn mixed(value: i64) -> u64 {
    let mut bits = value as u64;
    bits = (bits ^ (bits >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    bits = (bits ^ (bits >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    bits ^ (bits >> 33)
}

impl KeyTable {
    /// The hash that keys are found by.
    #[inline]
    pub(crate) fn hash(&self, key: &[Datum]) -> u64 {
        if let Some((_, value)) = whole(key) {
            return mixed(value);
        }
        let mut hasher = self.state.build_hasher();
        key.iter().for_each(|value| value.hash(&mut hasher));
        hasher.finish()
    }

    /// The number of a key.
    pub(crate) fn find(&self, key: &[Datum]) -> Option<usize> {
        self.find_hashed(self.hash(key), key)
    }

    /// The number of a key with this hash.
    #[inline]
    pub(crate) fn find_hashed(&self, hash: u64, key: &[Datum]) -> Option<usize> {
        let is_told = whole(key).is_some_and(|(of, _)| self.told == Told::By(of));
        let found = self.table.find(hash, |(known, at)| {
            *known == hash && (is_told || self.keys.get(*at as usize) == key)
        });
        found.map(|(_, at)| *at as usize)
    }

    /// The number of a key, and whether it is new. NULLs are equal to each other.
    pub(crate) fn insert(&mut self, key: &[Datum]) -> (usize, bool) {
        let hash = self.hash(key);
        match self.find_hashed(hash, key) {
            Some(at) => (at, false),
            None => (self.insert_hashed(hash, key), true),
        }
    }

    /// The number of a key with this hash, which is new.
    pub(crate) fn insert_hashed(&mut self, hash: u64, key: &[Datum]) -> usize {
        let at = self.keys.len();
        self.told = match (self.told, whole(key)) {
            (Told::Empty, Some((of, _))) => Told::By(of),
            (Told::By(known), Some((of, _))) if known == of => self.told,
            _ => Told::No,
        };
        self.keys.push_copy(key);
        self.table.insert_unique(hash, (hash, at as u32), |(hash, _)| *hash);
        at
    }

    /// The key with this number.
    pub(crate) fn key(&self, at: usize) -> &[Datum] {
        self.keys.get(at)
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(crate) fn clear(&mut self) {
        self.table.clear();
        self.keys.clear();
        self.told = Told::Empty;
    }
}

/// Puts the values that two sides are compared by into `out`, so that equal ones are held alike:
/// integers as `int8`, floats as `float8`. False if one is NULL, which is equal to nothing.
pub(crate) fn join_key<'r>(
    env: &Env<'_>,
    programs: &[Program],
    row: impl Into<EvalRow<'r>>,
    out: &mut Row,
) -> Result<bool> {
    let row = row.into();
    out.clear();
    for program in programs {
        let value = canonical(env.value(program, row)?);
        if value.is_null() {
            return Ok(false);
        }
        out.push(value);
    }
    Ok(true)
}

/// A value as it is held in a table of keys of two types.
pub(crate) fn canonical(value: Datum) -> Datum {
    match value {
        Datum::Int2(value) => Datum::Int8(value.into()),
        Datum::Int4(value) => Datum::Int8(value.into()),
        Datum::Float4(value) => Datum::Float8(value.into()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys are told apart by their values, whether all are of one type or of several.
    #[test]
    fn keys_of_all_types_are_told_apart() {
        let mut table = KeyTable::default();
        let ints = || (-500..500).map(Datum::Int4);
        for (at, key) in ints().enumerate() {
            assert_eq!(table.insert(&[key]), (at, true));
        }
        assert!(table.told == Told::By(Whole::Int4));
        assert_eq!(table.find(&[Datum::Int8(7)]), None, "it is another type");
        assert_eq!(table.find(&[Datum::Null]), None);
        let others = [Datum::Null, Datum::Int8(7), Datum::text("7"), Datum::Bool(true)];
        for (at, key) in others.iter().enumerate() {
            assert_eq!(table.insert(std::slice::from_ref(key)), (1_000 + at, true));
        }
        assert!(table.told == Told::No);
        for (at, key) in ints().chain(others).enumerate() {
            assert_eq!(table.insert(&[key]), (at, false));
        }
        table.clear();
        assert_eq!(table.find(&[Datum::Int4(7)]), None);
    }
}
