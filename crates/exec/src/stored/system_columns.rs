//! Columns that no attribute of the row holds: system columns, texts of documents, columns of versions.

use super::{Stored, error, position, row_number};

use sql::plan::system;
use store::Csn;
use table::rows::{RowRef, Table};
use txn::View;
use types::time::TimestampTz;
use types::{Datum, Oid, Result};

/// From 1970, where the engine's times begin, to 2000, where PostgreSQL's do.
const EPOCH_US: i64 = 946_684_800_000_000;

/// A time of the engine as SQL has it.
fn time(us: u64) -> TimestampTz {
    TimestampTz(i64::try_from(us).unwrap_or(i64::MAX).saturating_sub(EPOCH_US))
}

impl Stored<'_> {
    /// The time of a commit.
    fn time_of(&self, csn: Csn) -> Result<TimestampTz> {
        let mut times = Vec::new();
        let txn = self.txn.borrow();
        txn.engine().times(&[csn], &mut times).map_err(|source| error(source.into()))?;
        Ok(time(times.first().copied().unwrap_or_default()))
    }

    /// The newest commit at or before a time that the transaction sees.
    pub(super) fn csn_at(&self, time: TimestampTz) -> Result<Csn> {
        let us = i128::from(time.0) + i128::from(EPOCH_US);
        let us = u64::try_from(us.clamp(0, i128::from(u64::MAX))).unwrap_or_default();
        let txn = self.txn.borrow();
        let csn = txn.engine().csn_at(us).map_err(|source| error(source.into()))?;
        Ok(csn.min(txn.snapshot().csn()))
    }

    /// The text of a column of a row that a view has, which was read without values that are out of line. The table
    /// may be one of the past, in which the column was not out of line, or did not exist.
    pub(super) fn text_column(
        &self,
        table: &Table,
        view: View<'_>,
        row: RowRef<'_>,
        attnum: i16,
    ) -> Result<Datum> {
        let at = position(system::TEXT_OF - attnum);
        if table.rows().is_out_of_line(at) {
            let text = table.rows().text(view, row, at).map_err(error)?;
            return Ok(text.map_or(Datum::Null, Datum::text));
        }
        let Some(column) = table.relation().columns.get(at) else { return Ok(Datum::Null) };
        let value = row.column(at).map_err(error)?;
        let values = self.values.borrow();
        let text = types::text::to_string(value, column.ty, column.modifier, &values.context());
        Ok(text.map_or(Datum::Null, Datum::text))
    }

    /// Describes the version of a row that the transaction sees, or its newest one (`latest`).
    pub(super) fn system_column(
        &self,
        table: &Table,
        key: &[u8],
        attnum: i16,
        latest: bool,
    ) -> Result<Datum> {
        match attnum {
            system::STAMP => return self.stamp_of(table, key, latest),
            system::END_STAMP => return Ok(Datum::Oid(Oid(0))),
            system::ROW => return row_number(table, key),
            _ => {}
        }
        let txn = self.txn.borrow();
        let now = txn.snapshot();
        let versions = table.versions(now, key, now.csn(), now.csn()).map_err(error)?;
        drop(txn);
        // A row that the transaction itself has written has no version yet.
        let Some(version) = versions.last() else { return Ok(Datum::Null) };
        self.version_column(version.from, version.to, attnum)
    }

    /// A column of a row as it was, as the type says that the column has now. NULL where the column was
    /// not there yet, or had a value that the type does not have.
    pub(super) fn column_then(
        &self,
        then: &Table,
        now: &Table,
        row: RowRef<'_>,
        attnum: i16,
    ) -> Result<Datum> {
        let at = position(attnum);
        let columns = (then.relation().columns.get(at), now.relation().columns.get(at));
        let (Some(before), Some(after)) = columns else { return Ok(Datum::Null) };
        let value = row.column(at).map_err(error)?;
        if value.is_null() {
            return Ok(Datum::Null);
        }
        if before.repr == after.repr {
            return now.carry(then, at, value);
        }
        let values = self.values.borrow();
        let context = values.context();
        let Some(text) = types::text::to_string(value, before.ty, before.modifier, &context) else {
            return Ok(Datum::Null);
        };
        let as_now = types::text::parse(&text, after.ty, after.modifier, &context);
        Ok(as_now.unwrap_or(Datum::Null))
    }

    /// `xmin` of a row: the stamp of the commit that has written it, or that of the transaction itself.
    fn stamp_of(&self, table: &Table, key: &[u8], latest: bool) -> Result<Datum> {
        let txn = self.txn.borrow();
        let newest = latest.then(|| txn.latest());
        let view = newest.as_ref().map_or_else(|| txn.view(), |newest| View::of(&txn, newest));
        let found = view.read(table.storage(), key).map_err(|source| error(source.into()))?;
        let stamp = match found.map(|row| row.csn()) {
            Some(Csn::MAX) => Ok(txn.own_stamp()),
            Some(csn) => txn.engine().stamp(csn),
            None => return Ok(Datum::Null),
        };
        Ok(Datum::Oid(Oid(stamp.map_err(|source| error(source.into()))?)))
    }

    fn stamp(&self, csn: Csn) -> Result<Datum> {
        let stamp = self.txn.borrow().engine().stamp(csn);
        Ok(Datum::Oid(Oid(stamp.map_err(|source| error(source.into()))?)))
    }

    pub(super) fn version_column(&self, from: Csn, to: Option<Csn>, attnum: i16) -> Result<Datum> {
        Ok(match attnum {
            system::FROM => Datum::TimestampTz(self.time_of(from)?),
            system::TO => Datum::TimestampTz(match to {
                Some(to) => self.time_of(to)?,
                None => TimestampTz::INFINITY,
            }),
            system::VERSION => Datum::Int8(i64::try_from(from.0).unwrap_or(i64::MAX)),
            system::STAMP => self.stamp(from)?,
            system::END_STAMP => match to {
                Some(to) => self.stamp(to)?,
                None => Datum::Oid(Oid(0)),
            },
            _ => Datum::Null,
        })
    }
}
