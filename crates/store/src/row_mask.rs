//! [`RowMask`]: which rows of a block a scan sees.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The rows of a block that a scan sees: a bit for each row.
#[derive(Clone)]
pub struct RowMask(Arc<Kept>);

struct Kept {
    /// The bits of 64 rows each, the lowest one first.
    words: Box<[u64]>,
    /// The number of rows that are seen.
    len: usize,
    derived: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl fmt::Debug for RowMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowMask").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl RowMask {
    /// Returns the mask of the rows that are not hidden. `hidden` says it of each row of the block.
    pub(crate) fn of_shown(hidden: &[bool]) -> RowMask {
        let word = |rows: &[bool]| {
            (0..).zip(rows).fold(0, |word, (at, is_hidden)| word | u64::from(!is_hidden) << at)
        };
        RowMask::of_words(hidden.chunks(64).map(word).collect())
    }

    /// Returns the mask of its rows that are not hidden. `hidden` says it of each row of the block.
    pub(crate) fn without(&self, hidden: &[bool]) -> RowMask {
        let shown = RowMask::of_shown(hidden);
        let both = self.words().iter().zip(shown.words()).map(|(one, other)| one & other);
        RowMask::of_words(both.collect())
    }

    fn of_words(words: Box<[u64]>) -> RowMask {
        let len = words.iter().map(|word| word.count_ones() as usize).sum();
        RowMask(Arc::new(Kept { words, len, derived: OnceLock::new() }))
    }

    /// Returns the number of rows that are seen.
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// Returns true if no row is seen.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if a row of the block is seen.
    pub fn has(&self, row: usize) -> bool {
        self.words().get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    /// Returns the bits of 64 rows each, the lowest bit first: 1 for a row that is seen.
    pub fn words(&self) -> &[u64] {
        &self.0.words
    }

    /// Returns the value that readers have derived from the rows that are seen. `make` makes it if there is none. The cache
    /// does not count it, so it may take some bytes for each column, and none for each row. `None` if its type is not `T`.
    /// The value goes with the mask: the cache keeps those that runs of files decide, until these change.
    pub fn derived<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Option<&T> {
        self.0.derived.get_or_init(|| Box::new(make())).downcast_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(mask: &RowMask) -> Vec<usize> {
        (0..1_000).filter(|row| mask.has(*row)).collect()
    }

    /// A mask has the rows that are not hidden, and after more are hidden, those that are left.
    #[test]
    fn a_mask_has_the_rows_that_are_not_hidden() {
        for count in [1, 63, 64, 65, 130, 192] {
            let hidden: Vec<bool> = (0..count).map(|row| row % 3 == 1).collect();
            let later: Vec<bool> = (0..count).map(|row| row % 64 > 60 || row % 5 == 0).collect();
            let mask = RowMask::of_shown(&hidden);
            let expected: Vec<usize> = (0..count).filter(|row| !hidden[*row]).collect();
            assert_eq!((rows(&mask), mask.len()), (expected.clone(), expected.len()));
            let left: Vec<usize> = expected.into_iter().filter(|row| !later[*row]).collect();
            let mask = mask.without(&later);
            assert_eq!((rows(&mask), mask.len()), (left.clone(), left.len()));
        }
        assert!(RowMask::of_shown(&[true; 70]).is_empty());
    }
}
