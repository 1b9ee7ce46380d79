//! [`Store::stripes`]: the stripes of columns that the files have of a table, for people.
//!
//! ```text
//!   current run     stripe 0: block block block │ stripe 1: block block │ blocks of groups ...
//!   late run        stripe 2: block                                       of no stripe
//! ```
//!
//! A stripe has no header. Its blocks are known by the parts that they share: a block with a part that lies
//! before its own bytes continues the stripe. Blocks that share nothing are counted to a stripe until it has as
//! many rows as the table's encoder puts into one.

use crate::TableId;
use crate::columns::STRIPE_ROWS_MAX;
use crate::error::StoreError;
use crate::key;
use crate::segment::Segment;
use crate::store::Store;

/// A stripe in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StripeStats {
    /// The number of the file.
    pub file: u64,
    /// Where the stripe begins in the file.
    pub offset: u64,
    /// The blocks, in order.
    pub blocks: Vec<BlockStats>,
}

/// A block of a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockStats {
    /// The number of entries, deletions among them.
    pub rows: usize,
    /// The number of entries that are deletions.
    pub deleted: usize,
    /// The bytes in the file. Those of shared parts count to the first block of a stripe.
    pub bytes: u64,
}

impl StripeStats {
    /// Returns the number of rows, without deletions.
    pub fn rows(&self) -> usize {
        self.blocks.iter().map(|block| block.rows - block.deleted).sum()
    }

    /// Returns the bytes in the file.
    pub fn bytes(&self) -> u64 {
        self.blocks.iter().map(|block| block.bytes).sum()
    }

    fn entries(&self) -> usize {
        self.blocks.iter().map(|block| block.rows).sum()
    }
}

impl Store {
    /// Returns the stripes of a table in its current files, run by run. A row that several runs hold counts in
    /// each. Rows in memory, and rows that are not kept in columns, are in no stripe. Reads the header of each
    /// block.
    ///
    /// # Errors
    /// If a file cannot be read, or is damaged.
    pub fn stripes(&self, table: TableId) -> Result<Vec<StripeStats>, StoreError> {
        let state = self.shared.state();
        let encoder = (self.shared.resolve)(table).column_encoder();
        let rows_max = encoder.map_or(STRIPE_ROWS_MAX, |encoder| encoder.stripe_rows());
        let mut stripes = Vec::new();
        for segment in state.images().chain(state.late()).flat_map(|run| &run.segments) {
            add(segment, table, rows_max, &mut stripes)?;
        }
        Ok(stripes)
    }
}

/// Appends the stripes of a segment.
fn add(
    segment: &Segment,
    table: TableId,
    rows_max: usize,
    stripes: &mut Vec<StripeStats>,
) -> Result<(), StoreError> {
    let (from, to) = (table.0.to_be_bytes(), key::after(table));
    let meta = &segment.meta;
    if meta.last_key.as_slice() < &from[..] || meta.first.0 >= to {
        return Ok(());
    }
    let guide = segment.guide()?;
    let mut open: Option<StripeStats> = None;
    for (at, info) in guide.blocks().iter().enumerate() {
        let columns = match info.header {
            0 => None,
            _ => Some(segment.columns(&guide, at)?).filter(|columns| columns.table() == table),
        };
        let Some(columns) = columns else {
            stripes.extend(open.take());
            continue;
        };
        let (rows, deleted) = (columns.rows(), columns.deleted());
        let shares = columns.begins().is_some_and(|first| first < info.offset);
        let fits = |stripe: &StripeStats| shares || stripe.entries() + rows <= rows_max;
        if !open.as_ref().is_some_and(fits) {
            stripes.extend(open.take());
        }
        let new = || StripeStats { file: meta.number, offset: info.offset, blocks: Vec::new() };
        let block = BlockStats { rows, deleted, bytes: u64::from(info.len) };
        open.get_or_insert_with(new).blocks.push(block);
    }
    stripes.extend(open);
    Ok(())
}
