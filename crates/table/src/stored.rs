//! The answers of tables to the store: how changes of a row or a document merge into it, how much
//! of the past to keep, and when a table was given up.
//!
//! ```text
//!   csn        10                    30                  50
//!   t          storage 7 ──────────> TRUNCATE  storage 9 ─────> DROP TABLE
//!   storage 7  written, read         ended 30: read at 10..29 as long as its history is kept
//! ```
//!
//! There is one [`StoredTable`] for a table number, for all callers. Numbers that are not known,
//! because the catalog has not been read yet or the commit that makes them is on its way, keep
//! everything.
//!
//! A number below the next one that the catalog gives out, which is neither known nor of a transaction that goes on, is
//! that of an *unread* table: a session's temporary table, a sequence, or a table that one transaction made and gave
//! up. No record tells of it, and compaction takes away all that the store has of it.
//!
//! # Invariants
//! * A table is known before any reader reads at or above the commit that made it.
//! * A table of a transaction's own is drafted until it is known or the transaction is over.
//! * Nothing is written to a table at or above the commit that gave it up: a writer holds a lock on
//!   the relation that keeps it from being dropped.
//! * The store hears of a shorter history only once no flush is on its way that did not know of it.

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
};
use txn::TableResolver;
use types::Oid;

use crate::catalog::CATALOG;
use crate::columnar::Columnar;
use crate::heap::patch;
use crate::rows::{COUNTS, ERASURES};
use crate::shrink::shrink;

/// How much of a table's past is kept: as much as retention says, and nothing before a commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KeptHistory {
    pub retention: Retention,
    pub from: Csn,
}

impl KeptHistory {
    /// All that retention says.
    pub fn all(retention: Retention) -> Self {
        KeptHistory { retention, from: Csn::ZERO }
    }

    /// The same for a collection of documents.
    pub fn history(self) -> document::Retention {
        match self.retention {
            Retention::Forever if self.from == Csn::ZERO => document::Retention::Forever,
            Retention::None => document::Retention::None,
            Retention::Since(us) => document::Retention::For(Duration::from_micros(us)),
            // Not for ever all of it.
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
    /// The commit that gave it up; none did as long as this is the largest number.
    ended: AtomicU64,
    /// True where nobody reads the past of the table that ended.
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

/// The least weight of a row beside its patches, in bytes: a small row gets a fresh image after
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
            // Not for ever all of it.
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
    /// A relation of the newest catalog has it, or a transaction that goes on has made it.
    Present,
    /// It was given up, and its past is read as long as its history is kept.
    Past,
    /// It was given up, and nobody reads its past.
    Unread,
    /// Nothing is known of it: nothing was stored in it, or nobody reads its past.
    Unknown,
}

/// From here to [`BACKFILL`] lie the documents of collections that releases before 0.2 made.
const FIRST_COLLECTION: TableId = TableId(16);

/// From here to [`CATALOG`] lie documents.
const DOCUMENTS: TableId = TableId(0x2000_0000);

/// Where entries lie of versions that were over when an index was made: as far above [`BACKFILL`] as those of
/// the index above [`CATALOG`]. They are kept and given up with the index.
const BACKFILL: TableId = TableId(0x1000_0000);

/// Where entries lie of versions that were over when the index was made whose entries lie there; `None`
/// where there is no number left for that.
pub(crate) fn backfill_of(index: TableId) -> Option<TableId> {
    let number = index.0.checked_sub(CATALOG.0)? + BACKFILL.0;
    (number < DOCUMENTS.0).then_some(TableId(number))
}

/// Where documents lie that begin with the table whose rows lie there: as far above [`DOCUMENTS`] as the
/// rows above [`CATALOG`]. At or above that where there is no number left.
pub(crate) fn documents_of(rows: TableId) -> TableId {
    TableId(rows.0 - CATALOG.0 + DOCUMENTS.0)
}

/// A table of the store that a relation has given up: its rows before `ended` are there as long as
/// its history is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastStorage {
    /// The table.
    pub table: TableId,
    /// The commit that gave it up.
    pub ended: Csn,
}

/// All of SQL's tables, as the store knows them. Cheap to clone; the clones are one.
#[derive(Clone, Debug)]
pub struct Tables {
    known: Arc<RwLock<HashMap<TableId, Arc<StoredTable>, FixedState>>>,
    /// A table that is not known yet keeps everything.
    unknown_rows: Arc<StoredTable>,
    unknown_documents: Arc<StoredTable>,
    /// A table that was given up, of which nobody reads anything.
    unread: Arc<StoredTable>,
    /// Tables that transactions have made which go on.
    drafted: Arc<RwLock<HashSet<TableId, FixedState>>>,
    /// Tables that were given up and that nobody reads, except through snapshots from before.
    leaving: Arc<Mutex<Vec<(TableId, Csn)>>>,
    /// The number of the table that the catalog gives out next, above [`CATALOG`].
    next: Arc<AtomicU32>,
    /// True once a record of the catalog was not read, which may have named any table.
    keeps_unknown: Arc<AtomicBool>,
    /// Histories that became shorter, and of which the store is to be told.
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
            // The index entries of the time before an index are kept as long as the index.
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
        // Its transaction may have committed between the two looks: it is known now.
        known().or_else(unknown).or_else(known).unwrap_or_else(|| Arc::clone(&self.unread))
    }

    /// True for a table that a transaction has made which goes on, for a number that the catalog has not given out for
    /// rows, and for all tables once a record of the catalog was not read.
    fn is_drafted_or_new(&self, table: TableId) -> bool {
        let number = table.0.checked_sub(CATALOG.0);
        number.is_none_or(|number| number >= self.next.load(Ordering::Acquire))
            || self.keeps_unknown.load(Ordering::Acquire)
            || self.drafted.read().contains(&table)
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

    /// True where a relation has a table of the store that was not given up.
    pub(crate) fn has_present(&self, relation: Oid) -> bool {
        let known = self.known.read();
        known.values().any(|stored| stored.relation == relation && stored.ended().is_none())
    }

    /// All numbers below `next` have been given out, and those that are neither known nor drafted are unread. Returns
    /// where the next number is kept.
    pub(crate) fn given_below(&self, next: Oid) -> Arc<AtomicU32> {
        self.next.store(next.0, Ordering::Release);
        Arc::clone(&self.next)
    }

    /// A record of the catalog was not read: tables that are not known keep everything from now on.
    pub(crate) fn keep_unknown(&self) {
        self.keeps_unknown.store(true, Ordering::Release);
    }

    /// A transaction has made a table, which nobody else knows until the transaction commits.
    pub(crate) fn draft(&self, table: TableId) {
        self.drafted.write().insert(table);
    }

    /// The transaction that made these tables is over.
    pub(crate) fn undraft(&self, tables: &HashSet<TableId>) {
        let mut drafted = self.drafted.write();
        drafted.retain(|table| !tables.contains(table));
        if drafted.is_empty() {
            *drafted = HashSet::default();
        }
    }

    /// The relation whose rows or documents lie in a table, or lay there until it gave them up; `None` where
    /// that is not known, and for a table that is not SQL's.
    pub fn relation_of(&self, table: TableId) -> Option<Oid> {
        let known = self.known.read().get(&table).map(|stored| stored.relation);
        known.filter(|relation| *relation != Oid::NONE)
    }

    /// The relation whose documents lie in a table, or lay there until it gave them up; [`Oid::NONE`] where
    /// that is not known. `None` for a table that has no documents of SQL.
    pub fn relation_of_documents(&self, table: TableId) -> Option<Oid> {
        let known = || self.known.read().get(&table).map_or(Oid::NONE, |stored| stored.relation);
        Tables::has_documents(table).then(known)
    }

    /// True for the number of a table that has documents.
    pub fn has_documents(table: TableId) -> bool {
        (FIRST_COLLECTION..BACKFILL).contains(&table) || (DOCUMENTS..CATALOG).contains(&table)
    }

    /// Returns the state that all holders of the documents in a table share: how much of the past
    /// is kept, and the commit that gave them up, which change for all of them at once. `options`
    /// say what else the documents carry.
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
        // Looked at under the lock, so that a change that comes meanwhile finds what is made here.
        let history = self.kept(table).map_or(options.history, KeptHistory::history);
        let ended = self.known.read().get(&table).and_then(|stored| stored.ended());
        let new = Arc::new(DocumentTable::new(CollectionOptions { history, ..options }));
        ended.into_iter().for_each(|csn| new.end(csn));
        if documents.len() == documents.capacity() {
            // The map would grow: often all that it needs is to let go of those without holders.
            documents.retain(|_, held| held.strong_count() > 0);
            shrink(&mut documents);
        }
        documents.insert(table, Arc::downgrade(&new));
        new
    }

    /// Returns the state that the holders of the documents in a table share; `None` without
    /// holders.
    fn held_documents(&self, table: TableId) -> Option<Arc<DocumentTable>> {
        self.documents.read().get(&table).and_then(Weak::upgrade)
    }

    /// How many tables are known, and for how many the holders of documents share something.
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

    /// Every table that was given up and whose past is read, with the relation that it belonged to and the commit that did so.
    pub(crate) fn ended(&self) -> Vec<(TableId, Oid, Csn)> {
        let known = self.known.read();
        let ended = known.iter().filter(|(_, stored)| !stored.is_unread());
        ended.filter_map(|(id, stored)| Some((*id, stored.relation, stored.ended()?))).collect()
    }

    pub(crate) fn add(&self, table: TableId, relation: Oid, kept: KeptHistory, ended: Option<Csn>) {
        let holds = if Tables::has_documents(table) { Holds::Documents } else { Holds::Rows };
        self.known.write().insert(table, StoredTable::new(relation, holds, kept, ended));
    }

    /// A relation has given up a table, of which nothing is known from now on.
    pub(crate) fn forget(&self, table: TableId) {
        let mut known = self.known.write();
        let mut shortened = self.shortened.lock();
        known.remove(&table);
        shortened.remove(&table);
        shrink(&mut known);
    }

    /// A relation has given up a table by this commit, and nobody reads its past: the table is forgotten once no snapshot
    /// is older than the commit ([`Tables::settle`]).
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

    /// There is such a table, of which so much is kept.
    pub(crate) fn know(&self, table: TableId, relation: Oid, kept: KeptHistory) {
        if self.known.read().contains_key(&table) {
            self.keep(table, kept);
        } else {
            self.add(table, relation, kept, None);
        }
    }

    /// The newest rows of a table that is known are kept in columns by this encoder, or as rows.
    pub(crate) fn encode_by(&self, table: TableId, encoder: Option<Arc<dyn ColumnEncoder>>) {
        if let Some(stored) = self.known.read().get(&table) {
            *stored.encoder.write() = encoder;
        }
    }

    /// The table was given up by this commit.
    pub(crate) fn end(&self, table: TableId, relation: Oid, kept: KeptHistory, csn: Csn) {
        self.know(table, relation, kept);
        if let Some(stored) = self.known.read().get(&table) {
            stored.ended.store(csn.0, Ordering::Release);
        }
        if let Some(documents) = self.held_documents(table) {
            documents.end(csn);
        }
    }

    /// Keeps another part of a table's past: more at once, less after [`Tables::settle`].
    pub(crate) fn keep(&self, table: TableId, kept: KeptHistory) {
        let known = self.known.read();
        let Some(stored) = known.get(&table) else { return };
        let mut shortened = self.shortened.lock();
        let before = *stored.kept.read();
        if before == kept && !shortened.contains_key(&table) {
            return;
        }
        // A merge that drops something may be on its way: what is kept for ever is so for certain
        // only once the store has been opened again.
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

    /// Tells the store of histories that became shorter, and forgets tables that nobody reads any more. To be called
    /// after a commit that changed the catalog; waits for a flush that is on its way, where there is something to tell.
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
