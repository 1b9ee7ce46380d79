//! Patches: the difference between the stored forms of a row before and after a small change.
//!
//! ```text
//!   before    03 04 00 │ 07 00 00 00 │ 05 h e l l o │ 2a 00 00 00 │ 90 01 ...400 bytes...
//!   after     03 04 00 │ 07 00 00 00 │ 03 b y e     │ 2b 00 00 00 │ 90 01 ...400 bytes...
//!   patch     keep 7 · instead of 6 put 4: 03 b y e · keep 0 · instead of 4 put 4: 2b 00 00 00
//!
//!   a piece   keep     varint   bytes of the old row that stay
//!             drop     varint   bytes that follow there and go
//!             add      varint   bytes that come in their place, and then these
//! ```
//!
//! So a version of a large row in which one column changes costs the column, not the row. The
//! comparison is of whole values, so there are as many pieces as columns that changed. But a patch
//! knows nothing of columns, and a merge needs no catalog. It fits the one row that it was made from:
//! rows are changed one after the other, under their locks.

use store::MergeError;
use types::RowView;

use crate::Result;
use crate::rows::Layout;

/// Rows of fewer bytes are always written whole: a read of them costs less so, and history little.
pub(crate) const ROW_BYTES_MIN: usize = 192;

/// The patch of a row of which nothing changes, as where its document does. It has some weight, so that the
/// store writes a fresh image after so many of them, and a read does not go through all that ever were.
pub(crate) const UNCHANGED: &[u8] = &[0, 0, 0];

/// The patch that makes `after` of `before`; `None` if `after` is better written whole.
pub(crate) fn diff(before: &[u8], after: &[u8], layout: &Layout) -> Result<Option<Vec<u8>>> {
    if before.len() < ROW_BYTES_MIN || after.len() < ROW_BYTES_MIN {
        return Ok(None);
    }
    let (mut olds, mut news) = (Vec::new(), Vec::new());
    RowView::new(before, layout.reprs())?.places(before, &mut olds)?;
    RowView::new(after, layout.reprs())?.places(after, &mut news)?;
    if olds.len() != news.len() {
        return Ok(None); // Columns were added since the row was written.
    }
    let bytes_max = after.len() / 4;
    let mut patch = Vec::new();
    let (mut keep, mut old_at, mut new_at) = (0, 0, 0);
    for (&old_end, &new_end) in olds.iter().zip(&news) {
        let (old, new) = (&before[old_at..old_end], &after[new_at..new_end]);
        if old == new {
            keep += old.len();
        } else {
            put_varint(&mut patch, keep);
            put_varint(&mut patch, old.len());
            put_varint(&mut patch, new.len());
            patch.extend_from_slice(new);
            keep = 0;
        }
        if patch.len() > bytes_max {
            return Ok(None);
        }
        (old_at, new_at) = (old_end, new_end);
    }
    Ok(Some(if patch.is_empty() { UNCHANGED.to_vec() } else { patch }))
}

/// Appends what patches, oldest first, make of a row.
pub(crate) fn merge<'p>(
    base: &[u8],
    patches: impl Iterator<Item = &'p [u8]>,
    out: &mut Vec<u8>,
) -> Result<(), MergeError> {
    let mut before = base.to_vec();
    let mut after = Vec::with_capacity(before.len());
    for patch in patches.filter(|patch| *patch != UNCHANGED) {
        after.clear();
        apply(&before, patch, &mut after)
            .ok_or_else(|| MergeError::new("a patch of another row"))?;
        std::mem::swap(&mut before, &mut after);
    }
    out.extend_from_slice(&before);
    Ok(())
}

fn apply(mut row: &[u8], mut patch: &[u8], out: &mut Vec<u8>) -> Option<()> {
    while !patch.is_empty() {
        let keep = take_varint(&mut patch)?;
        let drop = take_varint(&mut patch)?;
        let add = take_varint(&mut patch)?;
        let (kept, rest) = row.split_at_checked(keep)?;
        out.extend_from_slice(kept);
        row = rest.get(drop..)?;
        let (added, rest) = patch.split_at_checked(add)?;
        out.extend_from_slice(added);
        patch = rest;
    }
    out.extend_from_slice(row);
    Some(())
}

pub(crate) fn put_varint(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(crate) fn take_varint(input: &mut &[u8]) -> Option<usize> {
    let mut number = 0usize;
    for shift in (0..35).step_by(7) {
        let (byte, rest) = input.split_first()?;
        *input = rest;
        number |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A patch gives back the very row; one that was cut, or is of another row, is refused or gives
    /// another row, and never fails otherwise.
    #[test]
    fn patches_are_applied_or_refused() {
        let before: Vec<u8> = (0..200u8).collect();
        let mut patch = Vec::new();
        for (keep, drop, add) in [(3usize, 2usize, &b"xyz"[..]), (150, 0, b""), (10, 35, b"end")] {
            put_varint(&mut patch, keep);
            put_varint(&mut patch, drop);
            put_varint(&mut patch, add.len());
            patch.extend_from_slice(add);
        }
        let mut expected = before[..3].to_vec();
        expected.extend_from_slice(b"xyz");
        expected.extend_from_slice(&before[5..165]);
        expected.extend_from_slice(b"end");
        let mut out = b"!".to_vec();
        merge(&before, [patch.as_slice()].into_iter(), &mut out).unwrap();
        assert_eq!(out, [b"!", expected.as_slice()].concat());
        assert!(merge(&before[..100], [patch.as_slice()].into_iter(), &mut Vec::new()).is_err());
        for end in 1..patch.len() {
            let _ = merge(&before, [&patch[..end]].into_iter(), &mut Vec::new());
        }
    }
}
