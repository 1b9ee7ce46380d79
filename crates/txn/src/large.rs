//! Large commits: what one transaction writes to very many keys goes to files, not through the log.
//!
//! ```text
//!   writes of the transaction      to whom                       at the commit
//!   ─────────────────────────      ───────────────────────       ─────────────────────────────
//!   puts and deletions of rows ──> files of the store, sorted ──> named by the record, a few bytes
//!   everything else            ──> the record                ──> as in any other commit
//! ```
//!
//! The log orders all commits, so a record of hundreds of megabytes would keep every other commit waiting
//! for the disk, and its writes would be applied to memory one by one under the commit mutex. The files are
//! written and synced before the commit has a number, by the committing thread, and nobody waits for them.
//! The commit is one record all the same: after a power loss it is there whole or not at all.
//!
//! What observers read from the record stays in the record: the catalog, documents. So do deltas, which the
//! store merges by commit number, and erasures.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use store::{Loaded, Op, TableId, Write};

use crate::engine::Engine;
use crate::error::TxnError;
use crate::record::{size_hint, size_of_write};

/// Bytes of one table that are worth a file.
const TABLE_BYTES_MIN: usize = 64 << 10;

/// Writes what can go to files of a transaction beyond the engine's limit; returns what is left for the
/// record, in order, and the files. `keeps` tells the tables whose writes stay in the record.
///
/// # Errors
/// What writing files reports; then no file is left.
pub(crate) fn split(
    engine: &Engine,
    writes: Vec<Write>,
    keeps: impl Fn(TableId) -> bool,
) -> Result<(Vec<Write>, Option<Loaded>), TxnError> {
    let limit = engine.large_bytes;
    if writes.len() < 2 || size_hint(&writes) <= limit {
        return Ok((writes, None));
    }
    let mut sizes: HashMap<TableId, usize, FixedState> = HashMap::default();
    for write in &writes {
        let size = sizes.entry(write.table).or_default();
        *size = match write.op {
            // Erasures of keys and writes to them stay together.
            Op::Erase { .. } => 0,
            _ => size.saturating_add(size_of_write(write)),
        };
    }
    let erased = writes.iter().filter(|write| matches!(write.op, Op::Erase { .. }));
    let erased: Vec<TableId> = erased.map(|write| write.table).collect();
    let least = TABLE_BYTES_MIN.min(limit);
    sizes.retain(|table, size| *size > least && !erased.contains(table) && !keeps(*table));
    if sizes.is_empty() {
        return Ok((writes, None));
    }
    let mut rest = Vec::new();
    let mut tables: HashMap<TableId, Vec<Write>, FixedState> = HashMap::default();
    for write in writes {
        match sizes.contains_key(&write.table) {
            true => tables.entry(write.table).or_default().push(write),
            false => rest.push(write),
        }
    }
    let mut files = Files { engine, done: Vec::new() };
    for writes in tables.into_values() {
        files.write(writes, &mut rest)?;
    }
    let loaded = Loaded::join(files.done.drain(..));
    Ok((rest, Some(loaded)))
}

/// The files written so far; they are removed where this is dropped with any.
struct Files<'e> {
    engine: &'e Engine,
    done: Vec<Loaded>,
}

impl Files<'_> {
    /// Writes the keys of one table that have one write each; the others go to `rest`, in order.
    fn write(&mut self, mut writes: Vec<Write>, rest: &mut Vec<Write>) -> Result<(), TxnError> {
        writes.sort_by(|one, other| one.key.cmp(&other.key));
        let mut bulk = self.engine.store().bulk();
        let mut all = writes.into_iter().peekable();
        while let Some(write) = all.next() {
            let has_more = all.peek().is_some_and(|next| next.key == write.key);
            match &write.op {
                Op::Put(value) if !has_more => bulk.write(write.table, &write.key, Some(value))?,
                Op::Delete if !has_more => bulk.write(write.table, &write.key, None)?,
                _ => {
                    let key = write.key.clone();
                    rest.push(write);
                    while let Some(next) = all.next_if(|next| next.key == key) {
                        rest.push(next);
                    }
                }
            }
        }
        self.done.push(bulk.finish()?);
        Ok(())
    }
}

impl Drop for Files<'_> {
    fn drop(&mut self) {
        self.done.iter().for_each(|loaded| self.engine.store().discard(loaded));
    }
}
