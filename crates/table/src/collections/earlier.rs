//! Collections of releases before 0.2, which had a catalog of their own.
//!
//! ```text
//!   table 0   "c" name     ->  version | table number | options        a collection that is there
//!             "d" table    ->  the same | commit | name                one that was dropped
//!             "n"          ->  the next table number
//! ```
//!
//! Opening makes tables of them, by one commit: each gets the rows that its documents need, and its
//! documents stay where they are. That commit deletes the records of existing collections and the
//! next number. The records of dropped collections stay: they alone have the names. A collection
//! that existed before that commit is found by the records as of then.

use std::ops::Bound;
use std::time::Duration;

use document::{CollectionOptions, Retention};
use store::{Csn, Op, TableId};
use txn::Snapshot;
use types::{Datum, Oid, SqlState};

use super::{Collections, NewCollection, is_taken, make, stored};
use crate::catalog::ddl::Acting;
use crate::catalog::{POSTGRES_DATABASE, POSTGRES_ROLE, PUBLIC};
use crate::documents::document_row;
use crate::stored::KeptHistory;
use crate::{Draft, Error, PastStorage, Result};

/// The catalog of collections.
const CATALOG: TableId = TableId(0);
/// The key of the next number: there as long as the collections are no tables.
const NEXT: &[u8] = b"n";
/// The schema of those collections whose name another relation has.
const SCHEMA: &str = "collections";

const HASHES: u8 = 1;
const PATH_SUMMARY: u8 = 2;

fn damaged<T>() -> Result<T> {
    Err(Error::Damaged { what: "a collection of an earlier release" })
}

/// Where the documents of the collection lay that had a name, as a snapshot of before the change saw it.
pub(super) fn find(
    snapshot: &Snapshot,
    name: &str,
) -> Result<Option<(TableId, CollectionOptions)>> {
    let key = [b"c", name.as_bytes()].concat();
    let found = snapshot.read(CATALOG, &key)?;
    found.map(|value| Input(value.base()).entry()).transpose()
}

/// The name of a collection that was dropped, and what its documents carry.
pub(super) fn dropped(
    snapshot: &Snapshot,
    storage: TableId,
) -> Result<Option<(String, CollectionOptions)>> {
    let key = [b"d", &storage.0.to_be_bytes()[..]].concat();
    let Some(value) = snapshot.read(CATALOG, &key)? else { return Ok(None) };
    let Dropped { options, name, .. } = Dropped::read(value.base(), value.csn())?;
    Ok(Some((name, options)))
}

/// A collection that was dropped.
#[derive(Debug, PartialEq)]
struct Dropped {
    storage: TableId,
    options: CollectionOptions,
    /// The commit that dropped it.
    csn: Csn,
    name: String,
}

impl Dropped {
    /// Reads the record that commit `written` wrote.
    fn read(value: &[u8], written: Csn) -> Result<Dropped> {
        let mut input = Input(value);
        let (storage, options) = input.entry()?;
        let csn = match u64::from_le_bytes(input.take()?) {
            0 => written,
            csn => Csn(csn),
        };
        Ok(Dropped { storage, options, csn, name: name(input.0)? })
    }
}

fn name(bytes: &[u8]) -> Result<String> {
    String::from_utf8(bytes.to_vec()).or_else(|_| damaged())
}

/// Bytes that are read from the front.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let Some((head, rest)) = self.0.split_first_chunk() else { return damaged() };
        self.0 = rest;
        Ok(*head)
    }

    /// Where the documents of a collection lie, and its options. Version 1 knew of hashes alone.
    fn entry(&mut self) -> Result<(TableId, CollectionOptions)> {
        let [version] = self.take()?;
        let storage = TableId(u32::from_le_bytes(self.take()?));
        let [flags] = self.take()?;
        let history = match version {
            1 if flags & !HASHES == 0 => Retention::Forever,
            2 if flags & !(HASHES | PATH_SUMMARY) == 0 => {
                let [kind] = self.take()?;
                match (kind, u64::from_le_bytes(self.take()?)) {
                    (0, 0) => Retention::Forever,
                    (1, us) => Retention::For(Duration::from_micros(us)),
                    (2, 0) => Retention::None,
                    _ => return damaged(),
                }
            }
            _ => return damaged(),
        };
        let (hashes, path_summary) = (flags & HASHES != 0, flags & PATH_SUMMARY != 0);
        Ok((storage, CollectionOptions { history, hashes, path_summary }))
    }
}

impl Collections {
    /// Makes tables of the collections of an earlier release, where there are any that are none.
    pub(super) fn take_over(&self) -> Result<()> {
        let snapshot = self.engine.snapshot();
        if snapshot.read(CATALOG, NEXT)?.is_none() {
            return Ok(());
        }
        let (mut there, mut dropped) = (Vec::new(), Vec::new());
        for item in snapshot.scan(CATALOG, Bound::Unbounded, Bound::Unbounded, false) {
            let (key, value) = item?;
            match key.split_first() {
                Some((b'c', bytes)) => {
                    let (storage, options) = Input(value.base()).entry()?;
                    there.push((name(bytes)?, storage, options));
                }
                Some((b'd', _)) => dropped.push(Dropped::read(value.base(), value.csn())?),
                _ => {}
            }
        }
        drop(snapshot);
        self.change(POSTGRES_ROLE, |draft, txn, acting| {
            for (name, storage, options) in &there {
                self.take_over_one(draft, txn, acting, (name, *storage, *options))?;
                txn.write(CATALOG, [b"c", name.as_bytes()].concat(), Op::Delete)?;
            }
            for Dropped { storage, options, csn, .. } in &dropped {
                let kept = KeptHistory::all(stored(options.history));
                let (past, relation) =
                    (PastStorage { table: *storage, ended: *csn }, self.catalogs.allocate()?);
                let unsettled = KeptHistory::all(store::Retention::Unsettled);
                self.catalogs.tables().add(*storage, relation, unsettled, Some(*csn));
                draft.keep_past(txn, relation, past, kept)?;
            }
            txn.write(CATALOG, NEXT.to_vec(), Op::Delete)?;
            Ok(())
        })
    }

    fn take_over_one(
        &self,
        draft: &mut Draft,
        txn: &mut txn::Transaction,
        acting: Acting<'_>,
        (name, storage, options): (&str, TableId, CollectionOptions),
    ) -> Result<()> {
        let new = |schema| NewCollection { name, options, schema, storage: Some(storage) };
        let made = make(draft, txn, acting, new(PUBLIC), true);
        // Or the schema was dropped.
        let has_no_place =
            |error: &Error| is_taken(error) || error.sqlstate() == SqlState::INVALID_SCHEMA_NAME;
        let relation = match made {
            Err(error) if has_no_place(&error) => {
                let schema = own_schema(draft, txn, acting)?;
                make(draft, txn, acting, new(schema), true)?
            }
            made => made?,
        };
        // The store keeps everything until it has been told what the catalog says.
        let tables = self.catalogs.tables();
        tables.add(storage, relation.oid, KeptHistory::all(store::Retention::Unsettled), None);
        let table = self.handles.table(draft.catalog(), relation.oid);
        let Some(table) = table else { return damaged() };
        let collection = self.documents.collection(storage, tables.documents(storage, options));
        let mut rows = 0;
        for key in collection.keys("") {
            let (key, row) = document_row(&table, vec![Datum::text(key?)])?;
            txn.write(table.storage(), key, Op::Put(row))?;
            rows += 1;
        }
        if rows > 0 {
            txn.note_changes(table.storage());
            txn.note_rows(table.storage(), rows);
        }
        Ok(())
    }
}

/// The schema for collections whose name another relation has; made where there is none.
fn own_schema(draft: &mut Draft, txn: &mut txn::Transaction, acting: Acting<'_>) -> Result<Oid> {
    if let Some(schema) = draft.catalog().schema_named(POSTGRES_DATABASE, SCHEMA) {
        return Ok(schema.oid);
    }
    draft.ddl(txn, acting).create_schema(SCHEMA, POSTGRES_ROLE).map(|schema| schema.oid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(version: u8, flags: u8, history: &[u8]) -> Vec<u8> {
        [&[version, 44, 1, 0, 0, flags], history].concat()
    }

    /// The records of both versions are read; a record that was cut, or that no release wrote, is
    /// refused.
    #[test]
    fn records_of_earlier_releases_are_read() {
        let an_hour = [&[1][..], &3_600_000_000_u64.to_le_bytes()].concat();
        let read = |bytes: &[u8]| Input(bytes).entry();
        let options = CollectionOptions { hashes: true, ..CollectionOptions::default() };
        assert_eq!(read(&entry(1, 1, &[])).unwrap(), (TableId(300), options));
        let history = Retention::For(Duration::from_secs(3600));
        let options = CollectionOptions { history, hashes: false, path_summary: true };
        assert_eq!(read(&entry(2, 2, &an_hour)).unwrap(), (TableId(300), options));
        for bad in
            [entry(3, 0, &an_hour), entry(1, 2, &[]), entry(2, 4, &an_hour), entry(2, 0, &[9])]
        {
            assert!(read(&bad).is_err(), "{bad:?}");
        }

        let dropped =
            [&entry(2, 0, &an_hour)[..], &7_u64.to_le_bytes(), "bücher".as_bytes()].concat();
        let read = Dropped::read(&dropped, Csn(9)).unwrap();
        assert_eq!((read.csn, &*read.name), (Csn(7), "bücher"));
        let by_the_record = [&entry(2, 0, &an_hour)[..], &[0; 8], b"a"].concat();
        assert_eq!(Dropped::read(&by_the_record, Csn(9)).unwrap().csn, Csn(9));
        for len in 0..dropped.len() - "bücher".len() {
            assert!(Dropped::read(&dropped[..len], Csn(9)).is_err(), "cut to {len} bytes");
        }
    }
}
