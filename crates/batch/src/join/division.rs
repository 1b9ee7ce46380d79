//! The rows of both sides of a join with the hashes of their keys, for a caller that divides them into partitions.
//!
//! ```text
//!   build ──> key ──> hash ──> KeyFilter
//!                      └─────> partition
//!   probe ──> key ──> hash ──> KeyFilter, which has most keys without a partner left out ──> partition
//! ```
//!
//! Equal keys have equal hashes on both sides.

use types::Result;

use super::{Builder, Join, Partners, Prober};
use crate::key_hashes::{TakeHashed, give_hashed, put_key_hashes};
use crate::key_table::with_keys;
use crate::reader::Piece;
use crate::slice::{Selection, Slice};
use crate::value::{Run, Value};
use crate::vector::{Lent, Vector};

/// A set of hashes that may seem to have others, too: a Bloom filter (Bloom 1970) with two bits for each.
#[derive(Debug)]
pub struct KeyFilter {
    /// As many as a power of two.
    words: Vec<u64>,
}

impl KeyFilter {
    /// Returns an empty filter that takes at most so many bytes, or 8 if that is more.
    pub fn new(bytes_max: usize) -> KeyFilter {
        let words = (bytes_max / size_of::<u64>()).max(1);
        KeyFilter { words: vec![0; 1 << words.ilog2()] }
    }

    /// Returns the number of bytes that it takes.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.words[..])
    }

    /// Returns the two words of a hash, and the bit of each.
    fn bits(&self, hash: u64) -> [(usize, u64); 2] {
        let mask = self.words.len() - 1;
        [hash, hash.rotate_left(32)].map(|hash| ((hash >> 6) as usize & mask, 1 << (hash & 63)))
    }

    /// Adds a hash.
    pub fn add(&mut self, hash: u64) {
        for (word, bit) in self.bits(hash) {
            self.words[word] |= bit;
        }
    }

    /// Returns false if the hash was not added.
    pub fn may_have(&self, hash: u64) -> bool {
        self.bits(hash).iter().all(|(word, bit)| self.words[*word] & bit != 0)
    }
}

impl Join {
    /// Calls `f` with the rows of a piece of the build side that can have a partner, or come out without one, and adds
    /// the hashes of their keys to `filter`. Returns how many rows the condition of the side wants.
    ///
    /// # Errors
    /// The errors of reading the rows, the programs and `f`.
    pub fn divide_build(
        &mut self,
        run: Run<'_>,
        piece: &Piece<'_, '_>,
        filter: &mut KeyFilter,
        f: &mut TakeHashed<'_>,
    ) -> Result<u64> {
        let Builder { reader, keys, drops_without_key, .. } = &mut self.builder;
        let mut hashes = Vec::new();
        reader.read(run, piece, &mut |slice, mut rows| {
            put_hashes(run, slice, keys, &mut rows, *drops_without_key, &mut hashes)?;
            rows.each(|row| filter.add(hashes[row]));
            give_hashed(slice, &rows, &hashes, f)
        })
    }

    /// Calls `f` with the rows of a piece of the probe side that may have a partner, or come out without one. `filter`
    /// has the hashes of the whole build side. Returns how many rows the condition of the side wants.
    ///
    /// # Errors
    /// As [`Join::divide_build`].
    pub fn divide_probe(
        &mut self,
        run: Run<'_>,
        piece: &Piece<'_, '_>,
        filter: &KeyFilter,
        f: &mut TakeHashed<'_>,
    ) -> Result<u64> {
        let Prober { reader, keys, .. } = &mut self.prober;
        let needs_partner = !matches!(
            self.built.partners,
            Partners::None | Partners::Pairs { keeps_probe: true, .. }
        );
        let mut hashes = Vec::new();
        reader.read(run, piece, &mut |slice, mut rows| {
            put_hashes(run, slice, keys, &mut rows, needs_partner, &mut hashes)?;
            if needs_partner {
                rows.retain(|row| filter.may_have(hashes[row]));
            }
            give_hashed(slice, &rows, &hashes, f)
        })
    }
}

/// Puts the hashes of the selected rows' keys into `out`, which gets a place for each row.
fn put_hashes(
    run: Run<'_>,
    slice: &Slice<'_>,
    keys: &[Value],
    rows: &mut Selection,
    drops_without_key: bool,
    out: &mut Vec<u64>,
) -> Result<()> {
    let vectors = keys.iter().map(|key| key.vector(run, slice, rows));
    let vectors = vectors.collect::<Result<Vec<Lent<'_, '_>>>>()?;
    let vectors: Vec<&Vector<'_>> = vectors.iter().map(|key| &**key).collect();
    if drops_without_key {
        *rows = with_keys(&vectors, rows).into_owned();
    }
    put_key_hashes(&vectors, rows, slice.rows(), out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher;

    use foldhash::quality::FixedState;

    use super::*;

    /// A filter has every hash that was added, and few others as long as it has eight bits for each.
    #[test]
    fn a_filter_has_what_was_added_and_little_else() {
        let (mut filter, state) = (KeyFilter::new(10_000), FixedState::default());
        assert_eq!(filter.bytes(), 8_192);
        let count = 8_192_u64;
        (0..count).for_each(|number| filter.add(state.hash_one(number)));
        assert!((0..count).all(|number| filter.may_have(state.hash_one(number))));
        let others =
            (count..11 * count).filter(|number| filter.may_have(state.hash_one(*number))).count();
        assert!((others as u64) < count, "{others} of {}", 10 * count);
        assert_eq!(KeyFilter::new(0).bytes(), 8);
    }
}
