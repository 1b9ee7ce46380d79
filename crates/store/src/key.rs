//! How the key of a table becomes a key of the store.
//!
//! ```text
//!   table 7, key "abc"   ->   00 00 00 07 61 62 63
//! ```
//!
//! The table's number stands first, most significant byte first, so that the tables lie one after
//! the other in one order of bytes and every structure below knows only plain keys.
//!
//! # Invariants
//! * The order of full keys is the order of (table, key).
//! * A full key has at least [`TABLE_LEN`] bytes and at most `TABLE_LEN + KEY_MAX`.

use crate::TableId;
use smallvec::SmallVec;
use std::ops::Bound;

/// Bytes of the table's number in front of every key.
pub const TABLE_LEN: usize = 4;
/// The longest key of a table, in bytes.
pub const KEY_MAX: usize = 65_000;

/// A full key that lives on the stack where it is short.
pub type FullKey = SmallVec<[u8; 32]>;

/// Joins table and key.
#[inline]
pub fn full(table: TableId, key: &[u8]) -> FullKey {
    let mut out = FullKey::with_capacity(TABLE_LEN + key.len());
    out.extend_from_slice(&table.0.to_be_bytes());
    out.extend_from_slice(key);
    out
}

/// The same, in the place of what `out` holds.
pub fn write(table: TableId, key: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&table.0.to_be_bytes());
    out.extend_from_slice(key);
}

/// Splits a full key.
#[inline]
pub fn split(full: &[u8]) -> (TableId, &[u8]) {
    let (head, key) = full.split_at(TABLE_LEN);
    (TableId(u32::from_be_bytes([head[0], head[1], head[2], head[3]])), key)
}

/// Above all full keys of a table, and not above those of the next.
pub fn after(table: TableId) -> Vec<u8> {
    match table.0.checked_add(1) {
        Some(next) => next.to_be_bytes().to_vec(),
        // Longer than any key, and of nothing but the largest byte.
        None => vec![0xff; TABLE_LEN + KEY_MAX + 1],
    }
}

/// A range of full keys.
pub type Range = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// The range of full keys that a range of one table's keys means.
pub fn range(table: TableId, lower: Bound<Vec<u8>>, upper: Bound<Vec<u8>>) -> Range {
    let widen = |key: Vec<u8>| full(table, &key).to_vec();
    let lower = match lower {
        Bound::Unbounded => Bound::Included(table.0.to_be_bytes().to_vec()),
        Bound::Included(key) => Bound::Included(widen(key)),
        Bound::Excluded(key) => Bound::Excluded(widen(key)),
    };
    let upper = match upper {
        Bound::Unbounded => match table.0.checked_add(1) {
            Some(next) => Bound::Excluded(next.to_be_bytes().to_vec()),
            None => Bound::Unbounded,
        },
        Bound::Included(key) => Bound::Included(widen(key)),
        Bound::Excluded(key) => Bound::Excluded(widen(key)),
    };
    (lower, upper)
}

/// True if no key can lie in the range.
pub fn is_empty(range: &Range) -> bool {
    match range {
        (Bound::Included(a), Bound::Included(b)) => a > b,
        (Bound::Included(a), Bound::Excluded(b)) | (Bound::Excluded(a), Bound::Included(b)) => {
            a >= b
        }
        (Bound::Excluded(a), Bound::Excluded(b)) => a >= b,
        _ => false,
    }
}

/// True if `key` is not below the lower bound.
#[inline]
pub fn above(lower: &Bound<Vec<u8>>, key: &[u8]) -> bool {
    match lower {
        Bound::Unbounded => true,
        Bound::Included(b) => key >= b.as_slice(),
        Bound::Excluded(b) => key > b.as_slice(),
    }
}

/// True if `key` is not above the upper bound.
#[inline]
pub fn below(upper: &Bound<Vec<u8>>, key: &[u8]) -> bool {
    match upper {
        Bound::Unbounded => true,
        Bound::Included(b) => key <= b.as_slice(),
        Bound::Excluded(b) => key < b.as_slice(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Full keys order as (table, key), and an unbounded range stays inside its table.
    #[test]
    fn tables_lie_one_after_the_other() {
        assert!(full(TableId(1), b"\xff\xff") < full(TableId(2), b""));
        assert!(full(TableId(256), b"a") < full(TableId(256), b"ab"));
        assert_eq!(split(&full(TableId(9), b"xy")), (TableId(9), b"xy".as_slice()));
        let (lower, upper) = range(TableId(u32::MAX), Bound::Unbounded, Bound::Unbounded);
        assert!(
            above(&lower, &full(TableId(u32::MAX), b""))
                && below(&upper, &full(TableId(u32::MAX), b"z"))
        );
        let (lower, upper) = range(TableId(3), Bound::Unbounded, Bound::Unbounded);
        assert!(!above(&lower, &full(TableId(2), b"z")) && !below(&upper, &full(TableId(4), b"")));
    }
}
