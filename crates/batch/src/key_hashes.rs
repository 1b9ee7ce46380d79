//! Hashes of keys, by which rows are divided into partitions. These are not the hashes of a hash table.

use std::hash::BuildHasher;

use foldhash::quality::FixedState;
use types::{Datum, Result};

use crate::slice::{Selection, Slice};
use crate::vector::{Values, Vector, int_of};

/// A function that takes the hash of a row's key, and the row.
pub type TakeHashed<'f> = dyn FnMut(u64, &[Datum]) -> Result<()> + 'f;

/// Puts the hash of each selected row's key into `out`, which gets a place for each row of the slice. Equal keys have equal
/// hashes, in whatever form the vectors have them.
pub(crate) fn put_key_hashes(
    keys: &[&Vector<'_>],
    rows: &Selection,
    slice_rows: usize,
    out: &mut Vec<u64>,
) {
    out.clear();
    out.resize(slice_rows, 0);
    let state = FixedState::default();
    for key in keys {
        match &key.values {
            Values::Ints(ints) if key.nulls.is_empty() => {
                rows.each(|row| out[row] = state.hash_one((out[row], ints.values[row])));
            }
            _ => rows.each(|row| {
                out[row] = key.with(row, |value| match int_of(value) {
                    Some(int) => state.hash_one((out[row], int)),
                    None => state.hash_one((out[row], value)),
                });
            }),
        }
    }
}

/// Calls `f` with the selected rows.
///
/// # Errors
/// If a column cannot be read, and the errors of `f`.
pub(crate) fn give_hashed(
    slice: &Slice<'_>,
    rows: &Selection,
    hashes: &[u64],
    f: &mut TakeHashed<'_>,
) -> Result<()> {
    let mut given = slice.to_rows(rows)?.into_iter();
    rows.try_each(|row| match given.next() {
        Some(values) => f(hashes[row], &values),
        None => Ok(()),
    })
}
