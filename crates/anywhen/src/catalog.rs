//! The catalog: which collections there are, and in which table of the store each lies.
//!
//! ```text
//!   table 0   "c" name      ->  version | table number | options      one entry a collection
//!             "n"           ->  the next table number
//! ```
//!
//! The catalog is a table like any other: creating or dropping a collection is a commit, and the
//! catalog of an older commit can be read like any other past.

use crate::{Error, Result};
use document::CollectionOptions;
use parking_lot::RwLock;
use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;
use store::{Csn, MergeError, Table, TableId};
use txn::{CommitMeta, Engine, Isolation, Transaction};

/// The catalog's own table.
const CATALOG: TableId = TableId(0);
/// Tables below this number belong to the system.
const FIRST_TABLE: u32 = 16;
/// The longest name of a collection, in bytes.
pub const NAME_BYTES_MAX: usize = 255;
const VERSION: u8 = 1;

/// The catalog's table: entries are put whole.
pub(crate) struct CatalogTable;

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

/// A collection as the catalog knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub table: TableId,
    pub options: CollectionOptions,
}

impl Entry {
    fn encode(self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&self.table.0.to_le_bytes());
        bytes.push(self.options.hashes as u8);
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Entry> {
        match bytes {
            [VERSION, table @ .., hashes @ 0..=1] => match table.try_into() {
                Ok(table) => Ok(Entry {
                    table: TableId(u32::from_le_bytes(table)),
                    options: CollectionOptions { hashes: *hashes == 1 },
                }),
                Err(_) => Err(Error::Catalog("an entry of the wrong length")),
            },
            _ => Err(Error::Catalog("an entry of an unknown version")),
        }
    }
}

/// The collections of a database, kept in memory and in table 0.
pub(crate) struct Catalog {
    known: RwLock<HashMap<String, Entry>>,
}

fn key_of(name: &str) -> Vec<u8> {
    [b"c", name.as_bytes()].concat()
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
    /// Reads the catalog.
    pub fn load(engine: &Arc<Engine>) -> Result<Catalog> {
        let snapshot = engine.snapshot();
        let (from, to) = (Bound::Included(b"c".to_vec()), Bound::Excluded(b"d".to_vec()));
        let mut known = HashMap::new();
        for item in snapshot.scan(CATALOG, from, to, false) {
            let (key, value) = item?;
            let name = String::from_utf8(key[1..].to_vec())
                .map_err(|_| Error::Catalog("a name that is not UTF-8"))?;
            known.insert(name, Entry::decode(value.base())?);
        }
        Ok(Catalog { known: RwLock::new(known) })
    }

    /// The names of the collections, in order.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.known.read().keys().cloned().collect();
        names.sort_unstable();
        names
    }

    /// The entry of a collection, where there is one.
    pub fn find(&self, name: &str) -> Option<Entry> {
        self.known.read().get(name).copied()
    }

    /// The entry of a collection, made where there is none.
    pub fn find_or_create(
        &self,
        engine: &Arc<Engine>,
        name: &str,
        options: Option<CollectionOptions>,
    ) -> Result<Entry> {
        check_name(name)?;
        loop {
            if let Some(entry) = self.find(name) {
                return match options {
                    Some(asked) if asked != entry.options => {
                        Err(Error::OptionsDiffer { name: name.to_owned() })
                    }
                    _ => Ok(entry),
                };
            }
            let mut txn = engine.begin(Isolation::ReadCommitted);
            txn.lock(CATALOG, b"n")?;
            txn.statement();
            if let Some(entry) = read_entry(&txn, name)? {
                // Another thread was first; it tells the map just before its commit is visible.
                self.known.write().insert(name.to_owned(), entry);
                continue;
            }
            let mut next = Vec::new();
            txn.get(CATALOG, b"n", &mut next)?;
            let number = match next.as_slice().try_into() {
                Ok(bytes) => u32::from_le_bytes(bytes),
                Err(_) if next.is_empty() => FIRST_TABLE,
                Err(_) => return Err(Error::Catalog("a table number of the wrong length")),
            };
            let entry = Entry { table: TableId(number), options: options.unwrap_or_default() };
            txn.put(CATALOG, b"n", (number + 1).to_le_bytes().to_vec())?;
            txn.put(CATALOG, &key_of(name), entry.encode())?;
            txn.commit(CommitMeta::default())?;
            self.known.write().insert(name.to_owned(), entry);
            return Ok(entry);
        }
    }

    /// Removes a collection and the documents that are in it now; false where there is none.
    pub fn drop_collection(&self, engine: &Arc<Engine>, name: &str) -> Result<bool> {
        let Some(entry) = self.find(name) else { return Ok(false) };
        let mut txn = engine.begin(Isolation::ReadCommitted);
        txn.lock(CATALOG, &key_of(name))?;
        let snapshot = engine.snapshot();
        for item in snapshot.scan(entry.table, Bound::Unbounded, Bound::Unbounded, false) {
            txn.delete(entry.table, &item?.0)?;
        }
        txn.delete(CATALOG, &key_of(name))?;
        txn.commit(CommitMeta::default())?;
        self.known.write().remove(name);
        Ok(true)
    }
}

fn read_entry(txn: &Transaction, name: &str) -> Result<Option<Entry>> {
    let mut bytes = Vec::new();
    match txn.get(CATALOG, &key_of(name), &mut bytes)? {
        Some(_) => Entry::decode(&bytes).map(Some),
        None => Ok(None),
    }
}
