//! [`StoredTable`]: how the store merges the changes of a row or a document, how much of the past it
//! keeps, and when a table was given up.
//!
//! ```text
//!   csn        10                    30                  50
//!   t          storage 7 ──────────> TRUNCATE  storage 9 ─────> DROP TABLE
//!   storage 7  written, read         ended 30: read at 10..29 as long as its history is kept
//! ```
//!
//! There is one [`StoredTable`] for a table number, for all callers. A table whose number is not known keeps
//! everything: the catalog has not been read yet, or the commit that makes the table is not visible yet.
//!
//! A number below the next one that the catalog gives out, which is neither known nor of a running transaction, is
//! that of an *unread* table: a session's temporary table, a sequence, or a table that one transaction made and gave
//! up. The catalog has no record of it, and compaction removes all its data.
//!
//! # Invariants
//! * A table is known before any reader reads at or above the commit that made it.
//! * A table that a running transaction has made is drafted until it is known or the transaction is over.
//! * No commit before the one that makes a table writes to it. A follower does not know of open transactions: it would
//!   take such a table for one that was given up.
//! * No write to a table has the commit that gave it up, or a later one: a writer holds a lock on the
//!   relation, so it cannot be dropped meanwhile.
//! * The store gets a shorter history only once all flushes that began before it have ended.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use document::{CollectionOptions, DocumentTable};
use foldhash::fast::FixedState;
use parking_lot::{Mutex, RwLock};
use std::time::Duration;
use store::{
    ColumnDecoder, ColumnEncoder, Compression, Csn, MergeError, Retention, Store, Table, TableId,
    Write,
};
use txn::TableResolver;
use types::Oid;

use crate::catalog::CATALOG;
use crate::columnar::Columnar;
use crate::heap::patch;
use crate::rows::{COUNTS, ERASURES};
use crate::shrink::shrink;

/// The part of a table's past that is kept: what `retention` keeps, and nothing before the commit `from`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KeptHistory {
    pub retention: Retention,
    pub from: Csn,
}

impl KeptHistory {
    /// By retention alone.
    pub fn all(retention: Retention) -> Self {
        KeptHistory { retention, from: Csn::ZERO }
    }

    /// The same for a collection of documents.
    pub fn history(self) -> document::Retention {
        match self.retention {
            Retention::Forever if self.from == Csn::ZERO => document::Retention::Forever,
            Retention::None => document::Retention::None,
            Retention::Since(us) => document::Retention::For(Duration::from_micros(us)),
            // The past before `from` may be dropped, so `Forever` would promise too much.
            _ => document::Retention::For(Duration::from_micros(u64::MAX)),
        }
    }
}

/// The kind of values in a table of the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Holds {
    Rows,
    Documents,
}

/// One of the tables of the store, as the store knows it.
pub struct StoredTable {
    /// The relation that it belongs to, or belonged to.
    relation: Oid,
    holds: Holds,
    kept: RwLock<KeptHistory>,
    /// The commit that gave the table up; `u64::MAX` as long as none did.
    ended: AtomicU64,
    /// True if the past of the ended table cannot be read.
    is_unread: AtomicBool,
    /// The encoder that keeps the newest rows in columns, where their access method asks for that.
    encoder: RwLock<Option<Arc<dyn ColumnEncoder>>>,
}

impl StoredTable {
    fn new(relation: Oid, holds: Holds, kept: KeptHistory, ended: Option<Csn>) -> Arc<StoredTable> {
        let ended = AtomicU64::new(ended.map_or(u64::MAX, |csn| csn.0));
        let (kept, encoder) = (RwLock::new(kept), RwLock::default());
        let is_unread = AtomicBool::new(false);
        Arc::new(StoredTable { relation, holds, kept, ended, is_unread, encoder })
    }
}

impl fmt::Debug for StoredTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StoredTable { relation, holds, kept, .. } = self;
        let mut shown = f.debug_struct("StoredTable");
        shown.field("relation", relation).field("holds", holds).field("kept", kept);
        shown.finish_non_exhaustive()
    }
}

/// The least size, in bytes, with which a row is compared with its patches. So a small row gets a fresh image after
/// some twenty patches that change no byte of it, and not after every second one.
const ROW_WEIGHT_MIN: usize = 256;

impl Table for StoredTable {
    fn subject<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
        match self.holds {
            Holds::Rows => Some(key),
            Holds::Documents => document::table::subject(key),
        }
    }

    fn merge(
        &self,
        key: &[u8],
        base_csn: Csn,
        base: &[u8],
        deltas: &mut dyn Iterator<Item = (Csn, &[u8])>,
        out: &mut Vec<u8>,
    ) -> Result<(), MergeError> {
        match self.holds {
            Holds::Rows => patch::merge(base, deltas.map(|(_, delta)| delta), out),
            Holds::Documents => document::table::merge(key, base_csn, base, deltas, out),
        }
    }

    fn rebase(&self, image_bytes: usize, delta_bytes: usize) -> bool {
        match self.holds {
            Holds::Rows => delta_bytes * 4 > image_bytes.max(ROW_WEIGHT_MIN),
            Holds::Documents => document::table::rebase(image_bytes, delta_bytes),
        }
    }

    fn keeps_history(&self, key: &[u8]) -> bool {
        self.holds == Holds::Rows || document::table::keeps_history(key)
    }

    fn retention(&self) -> Retention {
        match *self.kept.read() {
            // The past before `from` may be dropped, so `Forever` would promise too much.
            KeptHistory { retention: Retention::Forever, from } if from > Csn::ZERO => {
                Retention::Unsettled
            }
            kept => kept.retention,
        }
    }

    fn forgotten(&self) -> Csn {
        self.kept.read().from
    }

    fn column_encoder(&self) -> Option<Arc<dyn ColumnEncoder>> {
        self.encoder.read().clone()
    }

    fn compression(&self) -> Compression {
        match self.holds {
            Holds::Rows => Compression::Fast,
            Holds::Documents => Compression::Small,
        }
    }

    fn packer(&self) -> Option<Box<dyn store::Packer>> {
        (self.holds == Holds::Documents).then(document::table::packer)
    }

    fn column_decoder(&self) -> Option<Arc<dyn ColumnDecoder>> {
        (self.holds == Holds::Rows).then(Columnar::decoder)
    }

    fn ended(&self) -> Option<Csn> {
        let csn = self.ended.load(Ordering::Acquire);
        (csn != u64::MAX).then_some(Csn(csn))
    }

    fn is_unread(&self) -> bool {
        self.is_unread.load(Ordering::Acquire)
    }
}

/// The state of a table of the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// A relation of the newest catalog has it, or a running transaction has made it.
    Present,
    /// It was given up, and its past can be read as long as its history is kept.
    Past,
    /// It was given up, and its past cannot be read.
    Unread,
    /// The catalog has no record of it: nothing was stored in it, or its past cannot be read.
    Unknown,
}

/// From here to [`BACKFILL`] lie the documents of collections that releases before 0.2 made.
const FIRST_COLLECTION: TableId = TableId(16);

/// From here to [`CATALOG`] lie documents.
const DOCUMENTS: TableId = TableId(0x2000_0000);

/// From here to [`DOCUMENTS`] lie the index entries of versions that had ended before the index was made: as far above
/// `BACKFILL` as the entries of the index above [`CATALOG`]. They are kept and given up with the index.
const BACKFILL: TableId = TableId(0x1000_0000);

/// The table with the entries of versions that had ended before an index was made; `None` if no number is left for it.
pub(crate) fn backfill_of(index: TableId) -> Option<TableId> {
    let number = index.0.checked_sub(CATALOG.0)? + BACKFILL.0;
    (number < DOCUMENTS.0).then_some(TableId(number))
}

/// The table with the documents of a new table: as far above [`DOCUMENTS`] as its rows above [`CATALOG`]. The result is
/// at or above [`CATALOG`] if no number is left.
pub(crate) fn documents_of(rows: TableId) -> TableId {
    TableId(rows.0 - CATALOG.0 + DOCUMENTS.0)
}

/// A table of the store that a relation has given up. Its rows before `ended` can be read as long as its history is
/// kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastStorage {
    /// The table.
    pub table: TableId,
    /// The commit that gave it up.
    pub ended: Csn,
}

/// The tables of the store that belong to SQL. Cheap to clone; clones share their state.
#[derive(Clone, Debug)]
pub struct Tables {
    known: Arc<RwLock<HashMap<TableId, Arc<StoredTable>, FixedState>>>,
    /// A table that is not known yet keeps everything.
    unknown_rows: Arc<StoredTable>,
    unknown_documents: Arc<StoredTable>,
    /// A table that was given up and whose past cannot be read.
    unread: Arc<StoredTable>,
    /// Tables that running transactions have made, each with the write that waits for the commit.
    drafted: Arc<RwLock<HashMap<TableId, Option<Write>, FixedState>>>,
    /// Tables that were given up and can be read only through older snapshots.
    leaving: Arc<Mutex<Vec<(TableId, Csn)>>>,
    /// The number of the table that the catalog gives out next, above [`CATALOG`].
    next: Arc<AtomicU32>,
    /// True once a record of the catalog could not be read, which may have named any table.
    keeps_unknown: Arc<AtomicBool>,
    /// Histories that became shorter, which the store does not know yet.
    shortened: Arc<Mutex<BTreeMap<TableId, KeptHistory>>>,
    /// The state that the holders of collections share, one for each table with documents that has
    /// holders.
    documents: Arc<RwLock<HashMap<TableId, Weak<DocumentTable>, FixedState>>>,
}

impl Default for Tables {
    fn default() -> Self {
        let rows = |kept| StoredTable::new(Oid::NONE, Holds::Rows, KeptHistory::all(kept), None);
        let system = [
            (CATALOG, rows(Retention::Forever)),
            (COUNTS, rows(Retention::None)),
            (ERASURES, rows(Retention::Forever)),
        ];
        let unsettled = KeptHistory::all(Retention::Unsettled);
        let unread = rows(Retention::None);
        unread.ended.store(0, Ordering::Release);
        unread.is_unread.store(true, Ordering::Release);
        Tables {
            known: Arc::new(RwLock::new(system.into_iter().collect())),
            unknown_rows: rows(Retention::Unsettled),
            unknown_documents: StoredTable::new(Oid::NONE, Holds::Documents, unsettled, None),
            unread,
            drafted: Arc::default(),
            leaving: Arc::default(),
            next: Arc::default(),
            keeps_unknown: Arc::default(),
            shortened: Arc::default(),
            documents: Arc::default(),
        }
    }
}

impl Tables {
    /// No tables: those of a database are known once its catalog has been read.
    pub fn new() -> Tables {
        Tables::default()
    }

    /// The table of a number.
    fn find(&self, table: TableId) -> Arc<StoredTable> {
        let known = |table, unknown: &Arc<StoredTable>| {
            Arc::clone(self.known.read().get(&table).unwrap_or(unknown))
        };
        match table {
            _ if Tables::has_documents(table) => known(table, &self.unknown_documents),
            _ if table >= CATALOG => self.find_rows(table),
            // The entries of versions that ended before the index was made are kept as long as the index.
            _ if table >= BACKFILL => self.find_rows(TableId(table.0 - BACKFILL.0 + CATALOG.0)),
            _ => known(CATALOG, &self.unknown_rows),
        }
    }

    fn find_rows(&self, table: TableId) -> Arc<StoredTable> {
        let known = || self.known.read().get(&table).cloned();
        let unknown = || match self.is_drafted_or_new(table) {
            true => Some(Arc::clone(&self.unknown_rows)),
            false => None,
        };
        // Its transaction may have committed between the two look-ups: then it is known now.
        known().or_else(unknown).or_else(known).unwrap_or_else(|| Arc::clone(&self.unread))
    }

    /// True for a table of a running transaction, for a number that the catalog has not given out for rows, and for all
    /// tables once a record of the catalog could not be read.
    fn is_drafted_or_new(&self, table: TableId) -> bool {
        let number = table.0.checked_sub(CATALOG.0);
        number.is_none_or(|number| number >= self.next.load(Ordering::Acquire))
            || self.keeps_unknown.load(Ordering::Acquire)
            || self.drafted.read().contains_key(&table)
    }

    /// The state of a table.
    pub(crate) fn standing(&self, table: TableId) -> Standing {
        let known = || {
            let known = self.known.read();
            let stored = known.get(&table)?;
            Some(match (stored.ended(), stored.is_unread()) {
                (None, _) => Standing::Present,
                (Some(_), false) => Standing::Past,
                (Some(_), true) => Standing::Unread,
            })
        };
        let unknown = || self.is_drafted_or_new(table).then_some(Standing::Present);
        known().or_else(unknown).or_else(known).unwrap_or(Standing::Unknown)
    }

    /// True if a relation has a table of the store that was not given up.
    pub(crate) fn has_present(&self, relation: Oid) -> bool {
        let known = self.known.read();
        known.values().any(|stored| stored.relation == relation && stored.ended().is_none())
    }

    /// Says that all numbers below `next` have been given out. Unless such a table is known or drafted, it is unread.
    /// Returns the counter of the next number.
    pub(crate) fn given_below(&self, next: Oid) -> Arc<AtomicU32> {
        self.next.store(next.0, Ordering::Release);
        Arc::clone(&self.next)
    }

    /// Says that a record of the catalog could not be read: from now on unknown tables keep everything.
    pub(crate) fn keep_unknown(&self) {
        self.keeps_unknown.store(true, Ordering::Release);
    }

    /// Says that a running transaction has made a table.
    pub(crate) fn draft(&self, table: TableId) {
        self.drafted.write().insert(table, None);
    }

    /// Keeps a write to a table that a running transaction has made until that transaction commits
    /// ([`Tables::take_waiting`]). A later write replaces it. Returns false for any other table: the caller can write
    /// to it at once.
    pub(crate) fn wait_with(&self, write: &Write) -> bool {
        let mut drafted = self.drafted.write();
        let waiting = drafted.get_mut(&write.table);
        waiting.map(|waiting| *waiting = Some(write.clone())).is_some()
    }

    /// Takes the write to a table that waits for the commit of the transaction that has made the table.
    pub(crate) fn take_waiting(&self, table: TableId) -> Option<Write> {
        self.drafted.write().get_mut(&table)?.take()
    }

    /// Says that the transaction that made these tables is over.
    pub(crate) fn undraft(&self, tables: &HashSet<TableId>) {
        let mut drafted = self.drafted.write();
        drafted.retain(|table, _| !tables.contains(table));
        if drafted.is_empty() {
            *drafted = HashMap::default();
        }
    }

    /// The relation that has, or had, its rows or documents in a table; `None` if it is not known, and for a table that
    /// does not belong to SQL.
    pub fn relation_of(&self, table: TableId) -> Option<Oid> {
        let known = self.known.read().get(&table).map(|stored| stored.relation);
        known.filter(|relation| *relation != Oid::NONE)
    }

    /// The relation that has, or had, its documents in a table; [`Oid::NONE`] if it is not known. `None` for a table
    /// without documents of SQL.
    pub fn relation_of_documents(&self, table: TableId) -> Option<Oid> {
        let known = || self.known.read().get(&table).map_or(Oid::NONE, |stored| stored.relation);
        Tables::has_documents(table).then(known)
    }

    /// True for the number of a table that has documents.
    pub fn has_documents(table: TableId) -> bool {
        (FIRST_COLLECTION..BACKFILL).contains(&table) || (DOCUMENTS..CATALOG).contains(&table)
    }

    /// Returns the state that all handles of the documents in a table share: how much of the past is kept,
    /// and the commit that gave them up. A change applies to all handles at once. `options` are the
    /// options of the documents.
    pub(crate) fn documents(
        &self,
        table: TableId,
        options: CollectionOptions,
    ) -> Arc<DocumentTable> {
        if let Some(found) = self.held_documents(table) {
            return found;
        }
        let mut documents = self.documents.write();
        if let Some(found) = documents.get(&table).and_then(Weak::upgrade) {
            return found;
        }
        // Read under the lock, so that a concurrent change finds the new state.
        let history = self.kept(table).map_or(options.history, KeptHistory::history);
        let ended = self.known.read().get(&table).and_then(|stored| stored.ended());
        let new = Arc::new(DocumentTable::new(CollectionOptions { history, ..options }));
        ended.into_iter().for_each(|csn| new.end(csn));
        if documents.len() == documents.capacity() {
            // Instead of growing, the map first drops the entries without handles.
            documents.retain(|_, held| held.strong_count() > 0);
            shrink(&mut documents);
        }
        documents.insert(table, Arc::downgrade(&new));
        new
    }

    /// Returns the state that the handles of the documents in a table share; `None` without handles.
    fn held_documents(&self, table: TableId) -> Option<Arc<DocumentTable>> {
        self.documents.read().get(&table).and_then(Weak::upgrade)
    }

    /// The number of known tables, and of tables with handles of documents.
    #[cfg(test)]
    pub(crate) fn sizes(&self) -> [usize; 2] {
        let held = |held: &&Weak<DocumentTable>| held.strong_count() > 0;
        [self.known.read().len(), self.documents.read().values().filter(held).count()]
    }

    /// Returns the function by which an engine finds tables by their numbers.
    pub fn resolver(&self) -> TableResolver {
        let tables = self.clone();
        Arc::new(move |table| tables.find(table))
    }

    /// Forgets the past before `from` of the storages that a relation has given up.
    pub(crate) fn forget_past(&self, relation: Oid, from: Csn) {
        if from == Csn::ZERO {
            return;
        }
        for past in self.past_of(relation) {
            if let Some(kept) = self.kept(past.table).filter(|kept| kept.from < from) {
                self.keep(past.table, KeptHistory { from, ..kept });
            }
        }
    }

    /// How much of a table's past is kept, or will be once that is settled.
    pub(crate) fn kept(&self, table: TableId) -> Option<KeptHistory> {
        let known = self.known.read();
        let stored = known.get(&table)?;
        Some(self.shortened.lock().get(&table).copied().unwrap_or_else(|| *stored.kept.read()))
    }

    /// The tables that a relation has given up and whose past is read, oldest first.
    pub fn past_of(&self, relation: Oid) -> Vec<PastStorage> {
        let known = self.known.read();
        let of = known.iter().filter(|(_, stored)| stored.relation == relation);
        let mut past: Vec<PastStorage> = of
            .filter(|(_, stored)| !stored.is_unread())
            .filter_map(|(table, stored)| {
                Some(PastStorage { table: *table, ended: stored.ended()? })
            })
            .collect();
        past.sort_unstable_by_key(|storage| (storage.ended, storage.table));
        past
    }

    /// The tables that relations have given up by the commits after `after` up to `to`, oldest first.
    pub fn past_between(&self, after: Csn, to: Csn) -> Vec<(Oid, PastStorage)> {
        let is_between = |(_, _, ended): &(TableId, Oid, Csn)| after < *ended && *ended <= to;
        let found = self.ended().into_iter().filter(is_between);
        let mut past: Vec<(Oid, PastStorage)> = found
            .map(|(table, relation, ended)| (relation, PastStorage { table, ended }))
            .collect();
        past.sort_unstable_by_key(|(_, storage)| (storage.ended, storage.table));
        past
    }

    /// Every table that was given up and whose past can be read, with its relation and the commit that gave it up.
    pub(crate) fn ended(&self) -> Vec<(TableId, Oid, Csn)> {
        let known = self.known.read();
        let ended = known.iter().filter(|(_, stored)| !stored.is_unread());
        ended.filter_map(|(id, stored)| Some((*id, stored.relation, stored.ended()?))).collect()
    }

    pub(crate) fn add(&self, table: TableId, relation: Oid, kept: KeptHistory, ended: Option<Csn>) {
        let holds = if Tables::has_documents(table) { Holds::Documents } else { Holds::Rows };
        self.known.write().insert(table, StoredTable::new(relation, holds, kept, ended));
    }

    /// Forgets a table that a relation has given up.
    pub(crate) fn forget(&self, table: TableId) {
        let mut known = self.known.write();
        let mut shortened = self.shortened.lock();
        known.remove(&table);
        shortened.remove(&table);
        shrink(&mut known);
    }

    /// Forgets a table that a relation has given up by this commit and whose past cannot be read, once no snapshot is
    /// older than the commit ([`Tables::settle`]).
    pub(crate) fn leave(&self, table: TableId, csn: Csn) {
        if let Some(stored) = self.known.read().get(&table) {
            stored.is_unread.store(true, Ordering::Release);
            stored.ended.store(csn.0, Ordering::Release);
            self.leaving.lock().push((table, csn));
        }
    }

    fn forget_leaving(&self, store: &Store) {
        let mut leaving = self.leaving.lock();
        if leaving.is_empty() {
            return;
        }
        let held = store.oldest_hold();
        let (gone, held): (Vec<_>, Vec<_>) =
            leaving.drain(..).partition(|(_, ended)| held.is_none_or(|held| *ended <= held));
        *leaving = held;
        drop(leaving);
        gone.into_iter().for_each(|(table, _)| self.forget(table));
    }

    /// Registers a table, with how much of its past is kept.
    pub(crate) fn know(&self, table: TableId, relation: Oid, kept: KeptHistory) {
        if self.known.read().contains_key(&table) {
            self.keep(table, kept);
        } else {
            self.add(table, relation, kept, None);
        }
    }

    /// Sets the encoder that keeps the newest rows of a known table in columns; `None` for rows.
    pub(crate) fn encode_by(&self, table: TableId, encoder: Option<Arc<dyn ColumnEncoder>>) {
        if let Some(stored) = self.known.read().get(&table) {
            *stored.encoder.write() = encoder;
        }
    }

    /// Marks a table as given up by this commit.
    pub(crate) fn end(&self, table: TableId, relation: Oid, kept: KeptHistory, csn: Csn) {
        self.know(table, relation, kept);
        if let Some(stored) = self.known.read().get(&table) {
            stored.ended.store(csn.0, Ordering::Release);
        }
        if let Some(documents) = self.held_documents(table) {
            documents.end(csn);
        }
    }

    /// Changes how much of a table's past is kept: a longer history at once, a shorter one after [`Tables::settle`].
    pub(crate) fn keep(&self, table: TableId, kept: KeptHistory) {
        let known = self.known.read();
        let Some(stored) = known.get(&table) else { return };
        let mut shortened = self.shortened.lock();
        let before = *stored.kept.read();
        if before == kept && !shortened.contains_key(&table) {
            return;
        }
        // A merge that drops versions may be running, so `Forever` is certain only after the store has
        // been opened again.
        *stored.kept.write() = KeptHistory { retention: Retention::Unsettled, from: before.from };
        if kept == KeptHistory::all(Retention::Forever) {
            shortened.remove(&table);
        } else {
            shortened.insert(table, kept);
        }
        drop((shortened, known));
        if let Some(documents) = self.held_documents(table) {
            documents.keep(kept.history());
        }
    }

    /// Gives shorter histories to the store, and forgets tables that no snapshot can read any more. The caller calls it
    /// after a commit that changed the catalog. If a history became shorter, it waits for running flushes.
    pub fn settle(&self, store: &Store) {
        self.forget_leaving(store);
        if self.shortened.lock().is_empty() {
            return;
        }
        // A history that is shortened after this has another flush to wait for.
        let asked = self.shortened.lock().clone();
        store.after_flush();
        let known = self.known.read();
        let mut shortened = self.shortened.lock();
        for (table, kept) in asked {
            if shortened.get(&table) == Some(&kept) {
                shortened.remove(&table);
                if let Some(stored) = known.get(&table) {
                    *stored.kept.write() = kept;
                }
            }
        }
    }
}
