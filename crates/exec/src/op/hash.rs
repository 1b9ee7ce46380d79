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
#[derive(Default)]
pub(crate) struct KeyTable {
    /// The hash of each key, and its number.
    table: HashTable<(u64, u32)>,
    keys: Rows,
    state: FixedState,
}

impl KeyTable {
    /// The hash that keys are found by.
    #[inline]
    pub(crate) fn hash(&self, key: &[Datum]) -> u64 {
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
        let found = self
            .table
            .find(hash, |(known, at)| *known == hash && self.keys.get(*at as usize) == key);
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
    }
}

/// Puts the values that two sides are compared by into `out`, so that equal ones are held alike:
/// integers as `int8`, floats as `float8`. False where one is NULL, which is equal to nothing.
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
