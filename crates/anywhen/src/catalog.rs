//! The catalog: which collections there are, and were, and in which table of the store each lies.
//!
//! ```text
//!   table 0   "c" name     ->  version | table number | options        a collection that is there
//!             "d" table    ->  the same | commit | name                one that was dropped
//!             "n"          ->  the next table number
//! ```
//!
//! The catalog is a table like any other: creating, altering or dropping a collection is a commit, and
//! the catalog of an older commit can be read like any other past.
//!
//! # Dropping
//! ```text
//!   csn        10        20        30        40        50
//!   "books"    table 16 ──────────> dropped   table 17 ──────────>
//!   read at         16        16         -         17
//! ```
//! A drop writes two records, however large the collection is: from its commit on the name is free, and
//! the table's documents are as good as gone. They are still what they were at any commit before, as
//! long as the collection's history is kept; compaction takes away what no history reaches back to.
//!
//! Readers use the catalog in memory. It observes the engine and takes in the records that a commit writes,
//! whether a transaction of this process or a leader made it.
//!
//! # Invariants
//! * A table number is given once.
//! * There is one [`DocumentTable`] for a table number, known to the store before the first commit
//!   that writes to it.

mod record;

use crate::{Error, Result};
use document::{CollectionOptions, DocumentTable, Retention};
use parking_lot::{Mutex, RwLock};
use record::{Dropped, Entry, Input};
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Arc, Weak};
use store::{Csn, MergeError, Store, Table, TableId};
use txn::{CommitMeta, Engine, Isolation, Observed, Observer, OpRef};

/// The catalog's own table.
const CATALOG: TableId = TableId(0);
/// Tables below this number belong to the system.
pub(crate) const FIRST_TABLE: u32 = 16;
/// The longest name of a collection, in bytes.
pub const NAME_BYTES_MAX: usize = 255;

/// The catalog's table: records are put whole.
struct CatalogTable;

impl Table for CatalogTable {
    fn merge(
        &self,
        _key: &[u8],
        _base_csn: Csn,
        _base: &[u8],
        _deltas: &mut dyn Iterator<Item = (Csn, &[u8])>,
        _out: &mut Vec<u8>,
    ) -> Result<(), MergeError> {
        Err(MergeError::new("the catalog has no deltas"))
    }
}

/// The tables that the store asks for: those of collections, there or dropped, by number.
#[derive(Clone)]
pub(crate) struct Tables {
    known: Arc<RwLock<HashMap<TableId, Arc<DocumentTable>>>>,
    /// Stands for all until the catalog has been read.
    unknown: Arc<DocumentTable>,
}

impl Tables {
    pub fn new() -> Tables {
        Tables { known: Arc::default(), unknown: Arc::new(DocumentTable::unknown()) }
    }

    /// The table of a number.
    pub fn resolve(&self, id: TableId) -> Arc<dyn Table> {
        match id {
            CATALOG => Arc::new(CatalogTable),
            _ => self.known.read().get(&id).cloned().unwrap_or_else(|| self.unknown.clone()),
        }
    }

    /// The table of an entry, which is made where it is not known yet.
    fn add(&self, entry: &Entry) -> Known {
        let mut known = self.known.write();
        let new = || Arc::new(DocumentTable::new(entry.options));
        Known { id: entry.id, table: Arc::clone(known.entry(entry.id).or_insert_with(new)) }
    }
}

/// A collection's table and its number.
#[derive(Clone)]
pub(crate) struct Known {
    pub id: TableId,
    pub table: Arc<DocumentTable>,
}

/// A collection that was dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DroppedCollection {
    /// Its name; others may have had it since.
    pub name: String,
    /// The commit that dropped it: at any before it can be read, as far as its history is kept.
    pub csn: Csn,
    /// How much of its past is kept.
    pub history: Retention,
}

/// The collections of a database, kept in memory and in table 0.
pub(crate) struct Catalog {
    tables: Tables,
    known: RwLock<HashMap<String, Known>>,
    dropped: RwLock<BTreeMap<TableId, (String, Known)>>,
    /// Tables of which the store is to be told that less of their past is kept.
    shortened: Mutex<Vec<Arc<DocumentTable>>>,
    /// The first commit whose records did not decode; none did as long as there is none.
    damaged: Mutex<Option<Csn>>,
    /// One change at a time.
    changing: Mutex<()>,
}

impl Observer for Catalog {
    fn follows(&self, table: TableId) -> bool {
        table == CATALOG
    }

    fn observe(&self, commit: &mut Observed<'_>) {
        for write in commit.writes().filter(|write| write.table == CATALOG) {
            if self.take_in(commit.csn(), write.key, write.op).is_err() {
                self.damaged.lock().get_or_insert(commit.csn());
            }
        }
    }
}

fn key_of(name: &str) -> Vec<u8> {
    [b"c", name.as_bytes()].concat()
}

fn dropped_key_of(id: TableId) -> Vec<u8> {
    [&b"d"[..], &id.0.to_be_bytes()].concat()
}

fn check_name(name: &str) -> Result<()> {
    let bad = |why| Err(Error::BadName { name: name.to_owned(), why });
    match name {
        "" => bad("it is empty"),
        _ if name.len() > NAME_BYTES_MAX => bad("it is longer than 255 bytes"),
        _ if name.contains(['/', '\\', '\0']) || name == "." || name == ".." => {
            bad("it contains a slash, a backslash or NUL, or is . or ..")
        }
        _ => Ok(()),
    }
}

impl Catalog {
    /// Reads the catalog of an engine that resolves tables by `tables`.
    pub fn load(engine: &Arc<Engine>, tables: Tables) -> Result<Arc<Catalog>> {
        let snapshot = engine.snapshot();
        let range = |from: &[u8], to: &[u8]| {
            let (from, to) = (Bound::Included(from.to_vec()), Bound::Excluded(to.to_vec()));
            snapshot.scan(CATALOG, from, to, false)
        };
        let (mut known, mut dropped) = (HashMap::new(), BTreeMap::new());
        for item in range(b"c", b"d") {
            let (key, value) = item?;
            known.insert(record::name(&key[1..])?, tables.add(&read_entry(value.base())?));
        }
        for item in range(b"d", b"e") {
            let (_, value) = item?;
            let found = Dropped::decode(value.base(), value.csn())?;
            let of = tables.add(&found.entry);
            of.table.end(found.csn);
            dropped.insert(found.entry.id, (found.name, of));
        }
        let catalog = Arc::new(Catalog {
            tables,
            known: RwLock::new(known),
            dropped: RwLock::new(dropped),
            shortened: Mutex::default(),
            damaged: Mutex::default(),
            changing: Mutex::default(),
        });
        let following: Weak<Catalog> = Arc::downgrade(&catalog);
        engine.observe(following);
        Ok(catalog)
    }

    /// Takes in a record that a commit has written.
    fn take_in(&self, csn: Csn, key: &[u8], op: OpRef<'_>) -> Result<()> {
        match (key.split_first(), op) {
            (Some((b'c', name)), OpRef::Put(value)) => {
                let entry = read_entry(value)?;
                let known = self.tables.add(&entry);
                self.keep(&known.table, entry.options.history);
                self.known.write().insert(record::name(name)?, known);
            }
            (Some((b'c', name)), OpRef::Delete) => {
                self.known.write().remove(&record::name(name)?);
            }
            (Some((b'd', _)), OpRef::Put(value)) => {
                let found = Dropped::decode(value, csn)?;
                let known = self.tables.add(&found.entry);
                known.table.end(found.csn);
                self.keep(&known.table, found.entry.options.history);
                self.dropped.write().insert(known.id, (found.name, known));
            }
            _ => {}
        }
        Ok(())
    }

    fn keep(&self, table: &Arc<DocumentTable>, history: Retention) {
        if table.options().history != history {
            table.keep(history);
            self.shortened.lock().push(Arc::clone(table));
        }
    }

    /// Tells the store of histories that became shorter: to be called after a commit that changed the
    /// catalog.
    pub fn settle(&self, store: &Store) {
        let shortened = std::mem::take(&mut *self.shortened.lock());
        shortened.iter().for_each(|table| table.settle(store));
    }

    /// Fails once a commit has written a record that does not decode.
    fn check(&self) -> Result<()> {
        match *self.damaged.lock() {
            Some(_) => Err(Error::Catalog("a record of a commit")),
            None => Ok(()),
        }
    }

    /// The names of the collections, in order.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.known.read().keys().cloned().collect();
        names.sort_unstable();
        names
    }

    /// The collection of that name, where there is one.
    pub fn find(&self, name: &str) -> Option<Known> {
        self.known.read().get(name).cloned()
    }

    /// The collection that had that name at a commit, where there was one: it may have been dropped
    /// since.
    pub fn find_at(&self, engine: &Arc<Engine>, name: &str, at: Csn) -> Result<Option<Known>> {
        let mut bytes = Vec::new();
        if engine.snapshot_at(at)?.get(CATALOG, &key_of(name), &mut bytes)?.is_none() {
            return Ok(None);
        }
        let id = read_entry(&bytes)?.id;
        if let Some(known) = self.find(name).filter(|known| known.id == id) {
            return Ok(Some(known));
        }
        let dropped = self.dropped.read();
        let (_, known) = dropped.get(&id).ok_or(Error::Catalog("a table of no collection"))?;
        Ok(Some(known.clone()))
    }

    /// The collections that were dropped, in the order in which that was.
    pub fn dropped(&self) -> Vec<DroppedCollection> {
        let dropped = self.dropped.read();
        let describe = |(name, known): &(String, Known)| DroppedCollection {
            name: name.clone(),
            csn: known.table.ended().unwrap_or_default(),
            history: known.table.options().history,
        };
        let mut dropped: Vec<DroppedCollection> = dropped.values().map(describe).collect();
        dropped.sort_unstable_by_key(|of| of.csn);
        dropped
    }

    /// The collections that were dropped by the commits after `after` up to `to`, by name, in the order of
    /// these.
    pub fn dropped_between(&self, after: Csn, to: Csn) -> Vec<(String, Known)> {
        // A collection that is being dropped is among both for a moment.
        let known =
            self.known.read().clone().into_iter().map(|(name, known)| (known.id, (name, known)));
        let mut all: BTreeMap<TableId, (String, Known)> = known.collect();
        all.extend(self.dropped.read().iter().map(|(id, dropped)| (*id, dropped.clone())));
        let ended = |known: &Known| known.table.ended().filter(|csn| after < *csn && *csn <= to);
        let mut found: Vec<_> =
            all.into_values().filter(|(_, known)| ended(known).is_some()).collect();
        found.sort_by_key(|(_, known)| ended(known));
        found
    }

    /// The collection of that name, made where there is none.
    pub fn find_or_create(
        &self,
        engine: &Arc<Engine>,
        name: &str,
        options: Option<CollectionOptions>,
    ) -> Result<Known> {
        let found = |known: Known| match options {
            Some(asked) if asked != known.table.options() => {
                Err(Error::OptionsDiffer { name: name.to_owned() })
            }
            _ => Ok(known),
        };
        if let Some(known) = self.find(name) {
            return found(known);
        }
        check_name(name)?;
        let _one = self.changing.lock();
        if let Some(known) = self.find(name) {
            return found(known);
        }
        let mut txn = engine.begin(Isolation::ReadCommitted);
        let mut next = Vec::new();
        let number = match txn.get(CATALOG, b"n", &mut next)? {
            None => FIRST_TABLE,
            Some(_) => {
                let mut input = Input(&next);
                let number = input.u32()?;
                input.end()?;
                number
            }
        };
        let entry = Entry { id: TableId(number), options: options.unwrap_or_default() };
        txn.put(CATALOG, b"n", (number + 1).to_le_bytes().to_vec())?;
        txn.put(CATALOG, &key_of(name), encoded(&entry))?;
        txn.commit(CommitMeta::default())?;
        self.check()?;
        self.find(name).ok_or(Error::Catalog("a collection that was just made"))
    }

    /// Keeps another part of the past of a collection from now on.
    pub fn alter(&self, engine: &Arc<Engine>, name: &str, history: Retention) -> Result<()> {
        let _one = self.changing.lock();
        let no_collection = || Error::NoCollection { name: name.to_owned() };
        let Known { id, table } = self.find(name).ok_or_else(no_collection)?;
        let options = CollectionOptions { history, ..table.options() };
        if options == table.options() {
            return Ok(());
        }
        let mut txn = engine.begin(Isolation::ReadCommitted);
        txn.put(CATALOG, &key_of(name), encoded(&Entry { id, options }))?;
        txn.commit(CommitMeta::default())?;
        self.settle(engine.store());
        self.check()
    }

    /// Drops a collection; false where there is none.
    pub fn drop_collection(&self, engine: &Arc<Engine>, name: &str) -> Result<bool> {
        let _one = self.changing.lock();
        let Some(Known { id, table }) = self.find(name) else { return Ok(false) };
        let entry = Entry { id, options: table.options() };
        let record = Dropped { entry, csn: Csn(0), name: name.to_owned() };
        let _nobody_writes = table.close();
        let mut txn = engine.begin(Isolation::ReadCommitted);
        // In this order, so that it is at no moment in neither list.
        txn.put(CATALOG, &dropped_key_of(id), record.encode())?;
        txn.delete(CATALOG, &key_of(name))?;
        txn.commit(CommitMeta::default())?;
        self.check()?;
        Ok(true)
    }

    /// Lets go of the past of all collections of that name that were dropped; returns how many.
    pub fn purge(&self, engine: &Arc<Engine>, name: &str) -> Result<u64> {
        let _one = self.changing.lock();
        let of_name = |(called, known): &&(String, Known)| {
            called == name && known.table.options().history != Retention::None
        };
        let found: Vec<Known> =
            self.dropped.read().values().filter(of_name).map(|(_, known)| known.clone()).collect();
        if found.is_empty() {
            return Ok(0);
        }
        let mut txn = engine.begin(Isolation::ReadCommitted);
        for Known { id, table } in &found {
            let options = CollectionOptions { history: Retention::None, ..table.options() };
            let csn = table.ended().unwrap_or_default();
            let entry = Entry { id: *id, options };
            let record = Dropped { entry, csn, name: name.to_owned() };
            txn.put(CATALOG, &dropped_key_of(*id), record.encode())?;
        }
        txn.commit(CommitMeta::default())?;
        self.settle(engine.store());
        self.check()?;
        Ok(found.len() as u64)
    }
}

fn encoded(entry: &Entry) -> Vec<u8> {
    let mut bytes = Vec::new();
    entry.encode(&mut bytes);
    bytes
}

fn read_entry(bytes: &[u8]) -> Result<Entry> {
    let mut input = Input(bytes);
    let entry = Entry::decode(&mut input)?;
    input.end()?;
    Ok(entry)
}
