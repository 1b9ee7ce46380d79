//! Exclusion: no two rows may have keys of which all operators of a constraint are true.
//!
//! ```text
//!   EXCLUDE USING gist (room WITH =, during WITH &&)
//!
//!   insert (101, [9, 11))   lock room 101 ── entries of 101 that overlap ── && on their rows? 23P01
//! ```
//!
//! A transaction that adds a row locks the keys that are compared by `=` till the commit, so
//! writers of different rooms do not meet, and writers of the same room come one after the other. A
//! constraint without such a key has one lock for the whole table.
//!
//! `UNIQUE` and `PRIMARY KEY` with `WITHOUT OVERLAPS` are such constraints, whose last operator is `&&`.

use std::sync::Arc;

use scalar::{geometry, operators, range};
use txn::{RowLock, View, Wait};
use types::geometry::is_geometric;
use types::{Datum, Inet, Object, SqlState};

use super::search::{Query, ScanKey, Strategy};
use super::{Index, Intervals};
use crate::catalog::{Constraint, ConstraintKind};
use crate::rows::{Change, Table};
use crate::{Error, Result};

/// The byte behind the keys that are compared by `=`, for the key that is locked. No entry has such
/// a key.
const LOCK: u8 = u8::MAX;

/// A row that conflicts with another one under an exclusion constraint: its key and its values.
pub(crate) type ConflictingRow = (Vec<u8>, Vec<Datum>);

impl Index {
    /// True if rows of the index may exclude each other.
    pub(crate) fn excludes(&self) -> bool {
        self.relation().index().is_some_and(|index| !index.excludes.is_empty())
    }

    /// True if all operators of the constraint are true of the keys of two rows, none of the first NULL.
    fn are_excluding(&self, one: &[Datum], other: &[Datum]) -> Result<bool> {
        let Some(index) = self.relation().index() else { return Ok(false) };
        let holds = |at: usize| {
            let operator = operators::by_oid(index.excludes[at]).map_or("", |known| known.name);
            Ok(match (&one[at], &other[at], operator) {
                (_, Datum::Null, _) => false,
                (one, other, _) if is_geometric(index.keys[at].ty) => {
                    let ty = index.keys[at].ty;
                    return geometry::holds(operator, one.as_ref(), other.as_ref(), ty);
                }
                (one, other, "=") => one == other,
                (one, other, "<>") => one != other,
                (one, other, "-|-") => range::is_adjacent(one.as_ref(), other.as_ref()),
                (Datum::Bytea(one), Datum::Bytea(other), _) => networks_overlap(one, other)?,
                (one, other, _) => range::overlap(one.as_ref(), other.as_ref()),
            })
        };
        for at in 0..index.excludes.len() {
            if !holds(at)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The rows that may have equal keys and an interval that overlaps that of these keys, none of which is
    /// NULL. Of an index of intervals.
    pub(crate) fn alike(
        &self,
        table: &Table,
        view: View<'_>,
        keys: &[Datum],
    ) -> Result<Vec<Vec<u8>>> {
        let Some(intervals) = self.intervals() else { return Ok(Vec::new()) };
        // Without a key that tells, any row may be one.
        let all = || Query::Item(Vec::new());
        let query = intervals.query(&asked_of(intervals, keys)).unwrap_or_else(all);
        self.rows_with(table, view, &query)
    }

    /// The exclusion constraint for whose sake the index is there, as its table knows it.
    pub(crate) fn exclusion<'t>(&self, table: &'t Table) -> Option<&'t Arc<Constraint>> {
        let index = self.relation().index().filter(|index| !index.excludes.is_empty())?;
        table.def().constraints.iter().find(|constraint| Some(constraint.oid) == index.constraint)
    }
}

impl Table {
    /// Refuses the row at `key`, which is new or changed, where another row excludes it. Where the
    /// constraint may be checked later, notes that it is to be.
    pub(crate) fn exclude(
        &self,
        change: &mut Change<'_>,
        index: &Index,
        key: &[u8],
        row: &[Datum],
    ) -> Result<()> {
        let Some(constraint) = index.exclusion(self) else { return Ok(()) };
        self.check_period(index, constraint, row)?;
        if constraint.is_deferrable {
            change.checks.excluded(self, index, Arc::clone(constraint), key);
            return Ok(());
        }
        self.check_excluded(change, index, key, row)
    }

    /// Refuses the row at `key` where another row excludes it.
    pub(crate) fn check_excluded(
        &self,
        change: &mut Change<'_>,
        index: &Index,
        key: &[u8],
        row: &[Datum],
    ) -> Result<()> {
        let Some((_, other)) = self.conflicting_row(change, index, Some(key), row)? else {
            return Ok(());
        };
        // A serializable transaction that had looked for such a row fails for another reason.
        change.txn.check_reads()?;
        let words = ("conflicting key value violates", "existing key");
        Err(self.excluded(change, index, (row, &other), words))
    }

    /// 23P01: two rows exclude each other. The words are those in front of the constraint and of the second key.
    fn excluded(
        &self,
        change: &mut Change<'_>,
        index: &Index,
        (row, other): (&[Datum], &[Datum]),
        (what, with): (&str, &str),
    ) -> Error {
        let mut shown = |row| index.describe(self.relation(), row, change.values);
        let (own, other) = match (shown(row), shown(other)) {
            (Ok(own), Ok(other)) => (own, other),
            (Err(error), _) | (_, Err(error)) => return error,
        };
        let name = &*index.relation().name;
        let message = format!("{what} exclusion constraint \"{name}\"");
        let detail = format!("Key {own} conflicts with {with} {other}.");
        let error = types::Error::new(SqlState::EXCLUSION_VIOLATION, message).with_detail(detail);
        self.about(error).about(Object::Constraint, name).into()
    }

    /// A row, other than that at `key`, that excludes one with these values. Where there is none, no other
    /// transaction can add one any more.
    pub(crate) fn conflicting_row(
        &self,
        change: &mut Change<'_>,
        index: &Index,
        key: Option<&[u8]>,
        row: &[Datum],
    ) -> Result<Option<ConflictingRow>> {
        let (Some(storage), Some(intervals)) = (index.storage(), index.intervals()) else {
            return Ok(None);
        };
        let Some(keys) = index.keys(row, change.values)? else { return Ok(None) };
        let Some(mut lock) = intervals.prefix(&keys) else { return Ok(None) };
        lock.push(LOCK);
        change.txn.lock_latest(storage, &lock, RowLock::Update, Wait::Allowed)?;
        let latest = change.txn.latest();
        let candidates = index.alike(self, View::of(change.txn, &latest), &keys)?;
        for candidate in candidates.iter().filter(|candidate| Some(&candidate[..]) != key) {
            interrupt::check().map_err(types::Error::from)?;
            let view = View::of(change.txn, &latest);
            let other = self.get(view, candidate)?.ok_or_else(|| index.leads_nowhere())?;
            let other = other.to_datums()?;
            let Some(others) = index.keys(&other, change.values)? else { continue };
            if index.are_excluding(&keys, &others)? {
                return Ok(Some((candidate.clone(), other)));
            }
        }
        Ok(None)
    }

    /// Refuses an index of rows that are there already, of which two exclude each other.
    pub(super) fn check_exclusion(
        &self,
        change: &mut Change<'_>,
        index: &Index,
        key: &[u8],
        row: &[Datum],
    ) -> Result<()> {
        if let Some(constraint) = index.exclusion(self) {
            self.check_period(index, constraint, row)?;
        }
        match self.conflicting_row(change, index, Some(key), row)? {
            Some((_, other)) => {
                Err(self.excluded(change, index, (row, &other), ("could not create", "key")))
            }
            None => Ok(()),
        }
    }

    /// 23514 where a row holds at no time, by a key `WITHOUT OVERLAPS`.
    fn check_period(&self, index: &Index, constraint: &Constraint, row: &[Datum]) -> Result<()> {
        let ConstraintKind::Key { is_period: true, .. } = constraint.kind else { return Ok(()) };
        let Some(column) = index.columns().last() else { return Ok(()) };
        if row[column].is_null() || !range::is_empty(row[column].as_ref()) {
            return Ok(());
        }
        let relation = self.relation();
        let message = format!(
            "empty WITHOUT OVERLAPS value found in column \"{}\" in relation \"{}\"",
            relation.columns[column].name, relation.name
        );
        Err(Error::new(SqlState::CHECK_VIOLATION, message))
    }
}

/// Returns true if one of two networks lies in the other.
///
/// # Errors
/// XX001 if the bytes of one are no network.
fn networks_overlap(one: &[u8], other: &[u8]) -> types::Result<bool> {
    let (one, other) = (Inet::held(one)?, Inet::held(other)?);
    Ok(one.is_within_or_equal(other) || other.is_within_or_equal(one))
}

/// Returns the conditions of rows that may exclude one with these keys, none of which is NULL.
fn asked_of(intervals: &Intervals, keys: &[Datum]) -> Vec<ScanKey> {
    let equal = intervals.equal().map(|part| (part, Strategy::Equal));
    let interval = intervals.interval().map(|part| (part, Strategy::Overlaps));
    let asked =
        |(part, strategy): (usize, Strategy)| ScanKey { part, strategy, value: keys[part].clone() };
    equal.chain(interval).map(asked).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that are no network are damage, and never networks that lie apart.
    #[test]
    fn networks_that_cannot_be_read_are_damage() {
        let held = |text: &str| {
            let datum = types::text::parse(
                text,
                types::Type::INET,
                types::Modifier::NONE,
                &types::Context::new(&types::Style::default()),
            );
            match datum.expect("it is a network") {
                Datum::Bytea(bytes) => bytes.to_vec(),
                other => panic!("{other:?}"),
            }
        };
        let (wide, narrow, other) = (held("10.0.0.0/8"), held("10.1.0.0/16"), held("11.0.0.0/8"));
        assert!(networks_overlap(&wide, &narrow).unwrap());
        assert!(networks_overlap(&narrow, &wide).unwrap());
        assert!(!networks_overlap(&wide, &other).unwrap());
        for damaged in [&[][..], &[9, 9], &wide[..wide.len() - 1]] {
            for pair in [[&wide[..], damaged], [damaged, &wide[..]]] {
                let error = networks_overlap(pair[0], pair[1]).unwrap_err();
                assert_eq!(error.state(), SqlState::DATA_CORRUPTED, "{error}");
            }
        }
    }
}
