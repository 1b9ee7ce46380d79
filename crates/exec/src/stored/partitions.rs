//! Rows of partitioned tables: each goes to the partition that it belongs to, and is found there again.
//!
//! A partitioned table knows a row by the OID of the partition that it is in, and the key there.

use std::sync::Arc;

use sql::plan::system;
use table::catalog::Relation;
use table::rows::{Table, placing};
use types::{Datum, Error, Oid, Result, SqlState};

use super::{Stored, error, whole};
use crate::tables::{Inserted, Tables};

/// The key of a row of a partition in the table that it is a partition of.
pub(super) fn placed(partition: Oid, key: &[u8]) -> Vec<u8> {
    [&partition.0.to_be_bytes()[..], key].concat()
}

/// The columns of a partition that have the names of those of its table.
pub(super) fn placed_columns(of: &Relation, part: &Relation, attnums: &[i16]) -> Vec<i16> {
    let own = |attnum: i16| {
        let name = of.column(attnum).map(|column| &column.name);
        name.and_then(|name| part.column_named(name)).map_or(attnum, |column| column.attnum)
    };
    let place = |attnum: &i16| match *attnum {
        system::KEY => system::PLACED_KEY,
        text if text <= system::TEXT_OF => system::TEXT_OF - own(system::TEXT_OF - text),
        other => own(other),
    };
    attnums.iter().map(place).collect()
}

impl Stored<'_> {
    /// The handle of a partitioned table; `None` for any other.
    pub(super) fn partitioned(&self, relation: Oid) -> Result<Option<Arc<Table>>> {
        let table = self.table(relation)?;
        Ok(table.relation().partitioning().is_some().then_some(table))
    }

    /// The partition that has a row, and the key of the row there.
    pub(super) fn placed_at<'k>(&self, key: &'k [u8]) -> Result<(Arc<Table>, &'k [u8])> {
        let (oid, own) = key.split_first_chunk::<4>().ok_or_else(|| {
            Error::new(SqlState::INTERNAL_ERROR, "a key of a partitioned table is too short")
        })?;
        Ok((self.table(Oid(u32::from_be_bytes(*oid)))?, own))
    }

    /// The partition that a row belongs to, and the row as it is there, which meets the constraints of the partition
    /// in addition to those of its table.
    fn place(&self, of: &Arc<Table>, row: &[Datum]) -> Result<(Arc<Table>, Vec<Datum>)> {
        let mut values = self.values.borrow_mut();
        let known = (self.handles, self.catalog);
        let (part, mut row) =
            placing::place(known, &mut **values, of, &whole(of, row)).map_err(error)?;
        if placing::has_own_checks(self.catalog, &part) {
            values.complete(part.relation(), &mut row).map_err(error)?;
        }
        Ok((part, row))
    }

    /// Whether a row belongs to the partition that it is to be in.
    pub(super) fn is_at_home(&self, relation: Oid, row: &[Datum]) -> Result<bool> {
        let table = self.table(relation)?;
        let mut values = self.values.borrow_mut();
        let known = (self.handles, self.catalog);
        placing::is_at_home(known, &mut **values, &table, &whole(&table, row)).map_err(error)
    }

    pub(super) fn insert_placed(
        &self,
        of: &Arc<Table>,
        row: &[Datum],
        arbiters: Option<&[Oid]>,
    ) -> Result<Inserted> {
        let (part, row) = self.place(of, row)?;
        let oid = part.relation().oid;
        let own = arbiters.map(|arbiters| -> Vec<Oid> {
            let of_part = |index: &Oid| self.catalog.partition_index(part.def(), *index);
            arbiters.iter().filter_map(of_part).collect()
        });
        Ok(match self.insert(oid, &row, own.as_deref())? {
            Inserted::Done(key) => Inserted::Done(placed(oid, &key)),
            Inserted::Conflict(key) => Inserted::Conflict(placed(oid, &key)),
            Inserted::Loading => Inserted::Loading,
        })
    }

    pub(super) fn update_placed(
        &self,
        of: &Arc<Table>,
        key: &[u8],
        old: &[Datum],
        new: &[Datum],
    ) -> Result<()> {
        let (part, key) = self.placed_at(key)?;
        let full = whole(of, old);
        let old = placing::moved(of.relation(), part.relation(), &full);
        let (next, new) = self.place(of, new)?;
        let (from, to) = (part.relation().oid, next.relation().oid);
        if from == to {
            return self.update(from, key, &old, &new);
        }
        // To those who refer to it, the row is changed and not deleted.
        let there = placing::moved(next.relation(), part.relation(), &new).into_owned();
        self.checks.borrow_mut().set_moving(Some(there));
        let deleted = self.delete(from, key, &old);
        self.checks.borrow_mut().set_moving(None);
        deleted?;
        part.note_left(&mut self.txn.borrow_mut(), key);
        self.insert(to, &new, None).map(drop)
    }

    pub(super) fn delete_placed(&self, of: &Table, key: &[u8], old: &[Datum]) -> Result<()> {
        let (part, key) = self.placed_at(key)?;
        let full = whole(of, old);
        let old = placing::moved(of.relation(), part.relation(), &full);
        self.delete(part.relation().oid, key, &old)
    }
}
