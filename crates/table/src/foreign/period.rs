//! Foreign keys with `PERIOD`: the rows that are referred to must hold, together, all the time.
//!
//! ```text
//!   prices   (7, [Jan, Apr))  (7, [Apr, Jul))            PRIMARY KEY (id, valid WITHOUT OVERLAPS)
//!   orders   (7, [Mar, May))                             FOREIGN KEY (id, PERIOD valid)
//!                └── covered by both; without either it is refused (23503)
//! ```
//!
//! A transaction that refers to rows holds all rows that it needs by KEY SHARE locks. The other
//! rules of foreign keys hold for these too, which have no actions but NO ACTION.

use scalar::range;
use txn::{RowLock, Transaction, View, Wait};
use types::{Datum, DatumRef, Multirange, RangeRef};

use super::comparable::key_of;
use super::{Checks, gone_table, pick};
use crate::Result;
use crate::catalog::{Constraint, ConstraintKind, ForeignKey};
use crate::index::Index;
use crate::rows::{Table, position};

impl Checks {
    /// True if rows have this key all the time of its period; then they are locked (KEY SHARE) and stay.
    pub(super) fn is_covered(
        &self,
        txn: &mut Transaction,
        key: &ForeignKey,
        values: &[Datum],
    ) -> Result<bool> {
        let parent = self.handles.table(&self.catalog, key.references).ok_or_else(gone_table)?;
        let index = parent.indexes().iter().find(|index| index.relation().oid == key.index);
        let index = index.ok_or_else(gone_table)?;
        let mut sought = Vec::with_capacity(values.len());
        for column in index.columns() {
            let at = key.referenced.iter().position(|attnum| position(*attnum) == column);
            let value = at.map(|at| &values[at]).ok_or_else(gone_table)?;
            match key_of(value, self.base(&parent.relation().columns[column])) {
                Some(value) => sought.push(value),
                None => return Ok(false),
            }
        }
        let look = |txn: &Transaction| {
            let latest = txn.latest();
            index.alike(&parent, View::of(txn, &latest), &sought)
        };
        let locked = look(txn)?;
        for row in &locked {
            txn.lock_latest(parent.storage(), row, RowLock::KeyShare, Wait::Allowed)?;
        }
        // Only rows that are there once they are locked, and so cannot go, count.
        let mut held = Vec::new();
        for row_key in look(txn)?.iter().filter(|row| locked.contains(row)) {
            let row = parent.latest(txn, row_key)?.ok_or_else(|| index.leads_nowhere())?;
            let row = row.to_datums()?;
            let mut own: Vec<Datum> = index.columns().map(|column| row[column].clone()).collect();
            let period = own.pop();
            if own[..] == sought[..own.len()] {
                held.extend(period);
            }
        }
        let held = Multirange::of(held.iter().flat_map(ranges));
        let period = sought.last().map_or(DatumRef::Null, Datum::as_ref);
        Ok(!range::is_empty(period) && range::covers(DatumRef::Multirange(held.as_ref()), period))
    }

    /// True if a row that referred to the key `old`, at some time of its period, refers to what is not
    /// there any more.
    pub(super) fn is_missed(
        &self,
        txn: &mut Transaction,
        constraint: &Constraint,
        key: &ForeignKey,
        old: &[Datum],
    ) -> Result<bool> {
        for values in self.referring_within(txn, constraint, key, old)? {
            if !self.is_back(txn, key, &values)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The keys of the rows that refer to the key `old` at some time of its period.
    fn referring_within(
        &self,
        txn: &Transaction,
        constraint: &Constraint,
        key: &ForeignKey,
        old: &[Datum],
    ) -> Result<Vec<Vec<Datum>>> {
        let ([equal @ .., _], [values @ .., period]) = (&key.columns[..], old) else {
            return Ok(Vec::new());
        };
        // All columns but the period are those of a foreign key like any other.
        let plain = ForeignKey {
            columns: equal.to_vec(),
            referenced: key.referenced[..equal.len()].to_vec(),
            is_period: false,
            ..key.clone()
        };
        let lookup = super::lookup::ReferenceLookup::Key(values);
        let rows = self.referring(txn, constraint, &plain, lookup, usize::MAX)?;
        let refers = rows.into_iter().map(|(_, row)| pick(&row, &key.columns));
        let fits = |refers: &Vec<Datum>| {
            let own = refers.last().map_or(DatumRef::Null, Datum::as_ref);
            !refers.iter().any(Datum::is_null) && range::overlap(own, period.as_ref())
        };
        Ok(refers.filter(fits).collect())
    }
}

/// The ranges of a period, which is a range or a list of them.
fn ranges(period: &Datum) -> Vec<RangeRef<'_>> {
    match period.as_ref() {
        DatumRef::Range(range) => vec![range],
        DatumRef::Multirange(ranges) => ranges.iter().collect(),
        _ => Vec::new(),
    }
}

impl Index {
    /// True if foreign keys with `PERIOD` can refer to its columns.
    pub(crate) fn has_periods(&self, table: &Table) -> bool {
        self.exclusion(table).is_some_and(|constraint| {
            matches!(constraint.kind, ConstraintKind::Key { is_period: true, .. })
        })
    }
}
