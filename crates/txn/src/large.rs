//! Large transactions: writes to very many keys go to files, not through memory and log.
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
//! written and synced before the commit has a number, by the committing thread, and no other commit waits for them.
//! The commit is one record all the same: after a power loss it is there whole or not at all.
//!
//! Before that, while the transaction goes on, writes that have outgrown memory go to *pieces*, sorted files
//! that only the transaction reads, and that are not synced. The commit merges the pieces and what is left in
//! memory.
//!
//! ```text
//!   memory    k: put      m: delete                the newest operation of a key decides
//!   piece 2   a: put      k: put      z: put
//!   piece 1   a: put      m: put
//!   commit    a: piece 2  k: memory   m: memory   z: piece 2
//! ```
//!
//! Some writes stay in the record: those that observers read from it (the catalog, the revisions of documents),
//! deltas upon values that were committed before, which the store merges by commit number, and
//! erasures.

use std::cmp::Ordering;
use std::collections::HashMap;

use foldhash::fast::FixedState;
use smallvec::SmallVec;
use store::{Bulk, Csn, Loaded, Op, Staged, StagedCursor, Store, TableId, Write};

use crate::engine::Engine;
use crate::error::TxnError;
use crate::observer::Readers;
use crate::record::{size_hint, size_of_write};
use crate::turns::{KEYS, Turns};

/// Bytes of one table that are worth a file.
const TABLE_BYTES_MIN: usize = 64 << 10;

/// Writes what can go to files of a transaction beyond the engine's limit, or that has pieces; returns what
/// is left for the record, in order, and the files. `staged` are the pieces and bulk loads, newest first,
/// which become part of the files where there are pieces. `is_kept` tells the tables whose writes stay in
/// the record.
///
/// # Errors
/// Fails if a file cannot be written; then no file is left.
pub(crate) fn split(
    engine: &Engine,
    writes: Vec<Write>,
    staged: &[&Staged],
    is_kept: impl Fn(TableId) -> bool,
) -> Result<(Vec<Write>, Option<Loaded>), TxnError> {
    let limit = engine.large_bytes;
    if staged.is_empty() && (writes.len() < 2 || size_hint(&writes) <= limit) {
        return Ok((writes, None));
    }
    let mut movable = Movable::default();
    let mut sizes: HashMap<TableId, usize, FixedState> = HashMap::default();
    for write in &writes {
        let size = sizes.entry(write.table).or_insert_with(|| {
            if !is_kept(write.table) {
                movable.add(engine, write.table);
            }
            0
        });
        if movable.take(write) {
            *size += size_of_write(write);
        }
    }
    // Where there are pieces every write of their tables counts, because it may hide a key of theirs.
    let least = if staged.is_empty() { TABLE_BYTES_MIN.min(limit) } else { 0 };
    sizes.retain(|_, size| *size > least);
    let (mut moved, mut rest) = (Vec::new(), Vec::new());
    for write in writes {
        let moves = sizes.contains_key(&write.table) && movable.take(&write);
        if moves { &mut moved } else { &mut rest }.push(write);
    }
    if moved.is_empty() && staged.is_empty() {
        return Ok((rest, None));
    }
    let mut merge = Merge { files: Files::new(engine, Store::bulk), rest };
    merge.run(moved, staged)?;
    let loaded = merge.files.finish()?;
    Ok((merge.rest, loaded))
}

/// Writes a piece of a transaction: puts and deletions, one of a key, in the order of tables and keys. `None`
/// where there are none.
///
/// # Errors
/// Fails if a file cannot be written; then no file is left.
pub(crate) fn piece<'a>(
    engine: &Engine,
    writes: impl IntoIterator<Item = &'a Write>,
) -> Result<Option<Loaded>, TxnError> {
    let mut files = Files::new(engine, Store::scratch);
    for write in writes {
        match &write.op {
            Op::Put(value) => files.write(write.table, &write.key, Some(value))?,
            _ => files.write(write.table, &write.key, None)?,
        }
    }
    files.finish()
}

/// The tables whose writes may go to files, each with the observers that read some of its keys from the record.
#[derive(Default)]
pub(crate) struct Movable(HashMap<TableId, Readers, FixedState>);

impl Movable {
    /// These tables.
    pub fn new(engine: &Engine, tables: impl Iterator<Item = TableId>) -> Movable {
        let mut movable = Movable::default();
        tables.for_each(|table| movable.add(engine, table));
        movable
    }

    fn add(&mut self, engine: &Engine, table: TableId) {
        self.0.insert(table, engine.observers.of(table));
    }

    /// True if a write of this table and key may go to a file.
    pub fn take(&self, write: &Write) -> bool {
        self.0.get(&write.table).is_some_and(|readers| !readers.read(write.table, &write.key))
    }
}

/// True for a write that a file can hold.
pub(crate) fn is_plain(write: &Write) -> bool {
    matches!(write.op, Op::Put(_) | Op::Delete)
}

fn place(write: &Write) -> (TableId, &[u8]) {
    (write.table, &write.key)
}

/// Merges what is in memory with pieces.
struct Merge<'e> {
    files: Files<'e>,
    /// The writes that stay in the record.
    rest: Vec<Write>,
}

impl Merge<'_> {
    fn run(&mut self, mut memory: Vec<Write>, staged: &[&Staged]) -> Result<(), TxnError> {
        memory.sort_by(|one, other| place(one).cmp(&place(other)));
        let mut memory = memory.into_iter().peekable();
        let mut cursors =
            staged.iter().map(|piece| piece.cursor()).collect::<Result<Vec<_>, _>>()?;
        let mut key = Vec::new();
        // The pieces that hold the smallest key, newest first.
        let mut holders: SmallVec<[usize; 8]> = SmallVec::new();
        loop {
            holders.clear();
            let mut least = memory.peek().map(place);
            for (at, cursor) in cursors.iter().enumerate() {
                let Some(found) = cursor.key() else { continue };
                match least.map_or(Ordering::Less, |least| found.cmp(&least)) {
                    Ordering::Less => {
                        least = Some(found);
                        holders.clear();
                        holders.push(at);
                    }
                    Ordering::Equal => holders.push(at),
                    Ordering::Greater => {}
                }
            }
            let Some((table, least)) = least else { return Ok(()) };
            key.clear();
            key.extend_from_slice(least);
            let mut own = Vec::new();
            while let Some(write) = memory.next_if(|write| place(write) == (table, &key)) {
                own.push(write);
            }
            self.key(table, &key, own, holders.first().map(|at| &cursors[*at]))?;
            for at in &holders {
                cursors[*at].advance()?;
            }
        }
    }

    /// Writes one key: what memory has of it, oldest first, upon what the newest piece has.
    fn key(
        &mut self,
        table: TableId,
        key: &[u8],
        mut own: Vec<Write>,
        below: Option<&StagedCursor>,
    ) -> Result<(), TxnError> {
        if own.iter().any(|write| matches!(write.op, Op::Erase { .. })) {
            // An erasure and what is written to its key stay together.
            self.rest.append(&mut own);
            return Ok(());
        }
        match (own.as_slice(), below) {
            ([], Some(below)) => below.value(|value| self.files.write(table, key, value)),
            ([Write { op: Op::Put(value), .. }], _) => self.files.write(table, key, Some(value)),
            ([Write { op: Op::Delete, .. }], _) => self.files.write(table, key, None),
            ([first, ..], Some(below)) if matches!(first.op, Op::Delta(_)) => {
                // The commit has no number yet: 0 stands for that of the image.
                let deltas = own.iter().filter_map(|write| match &write.op {
                    Op::Delta(delta) => Some((Csn::ZERO, delta.as_slice())),
                    _ => None,
                });
                let mut image = Vec::new();
                let kind = self.files.engine.table(table);
                let merged = below.value(|base| {
                    let base = base.ok_or(TxnError::NoBase { table })?;
                    store::merge_into(&*kind, key, Csn::ZERO, base, deltas, &mut image)
                        .map_err(|source| TxnError::Merge { table, source })
                });
                merged?;
                self.files.write(table, key, Some(&image))
            }
            _ => {
                self.rest.append(&mut own);
                Ok(())
            }
        }
    }
}

/// Files under way, one after the other for each table; they are removed where this is dropped before
/// [`Files::finish`].
struct Files<'e> {
    engine: &'e Engine,
    begin: fn(&Store) -> Bulk,
    open: Option<(TableId, Bulk)>,
    done: Vec<Loaded>,
    turns: Turns,
}

impl<'e> Files<'e> {
    fn new(engine: &'e Engine, begin: fn(&Store) -> Bulk) -> Files<'e> {
        Files { engine, begin, open: None, done: Vec::new(), turns: Turns::new(KEYS) }
    }

    /// Adds a key, above the one before: its value, or none for a deletion.
    fn write(&mut self, table: TableId, key: &[u8], value: Option<&[u8]>) -> Result<(), TxnError> {
        if self.open.as_ref().is_none_or(|(open, _)| *open != table) {
            self.end_table()?;
            self.open = Some((table, (self.begin)(self.engine.store())));
        }
        self.turns.step();
        let Some((_, bulk)) = &mut self.open else { return Ok(()) };
        Ok(bulk.write(table, key, value)?)
    }

    fn end_table(&mut self) -> Result<(), TxnError> {
        if let Some((_, bulk)) = self.open.take() {
            self.done.push(bulk.finish()?);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Option<Loaded>, TxnError> {
        self.end_table()?;
        let done = std::mem::take(&mut self.done);
        Ok((!done.is_empty()).then(|| Loaded::join(done)))
    }
}

impl Drop for Files<'_> {
    fn drop(&mut self) {
        self.done.iter().for_each(|loaded| self.engine.store().discard(loaded));
    }
}
