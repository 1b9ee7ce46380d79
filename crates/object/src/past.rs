//! Transactions in their order, and the records of each.
//!
//! ```text
//!   commit   2   3   4   5 │ 6   7   8
//!            rows that were  the table of changes
//!            the newest at 5
//!                          └ horizon: what is before is kept only as far as it was the newest there
//! ```

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use store::Csn;
use table::objects::{ObjectRows, Tid};
use table::rows::Table;
use table::{Error, Result};
use txn::{KeyRange, Touched, TxnError};

use crate::Storage;

/// The metadata of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionInfo {
    /// Its id.
    pub tid: Tid,
    /// True if a pack reached a time after it: it cannot be undone.
    pub is_packed: bool,
    /// Its user.
    pub user: Vec<u8>,
    /// Why.
    pub description: Vec<u8>,
    /// The pickle of its extension; may be empty.
    pub extension: Vec<u8>,
}

/// The record that a transaction wrote for an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRecord {
    /// The object.
    pub oid: u64,
    /// The pickles of class and state; `None` if the object was deleted, or its creation undone.
    pub data: Option<Vec<u8>>,
    /// The transaction whose record this one brings back.
    pub data_tid: Option<Tid>,
}

/// A transaction, and the objects that it has written.
pub type Changed = (Tid, Vec<u64>);

/// Objects that have not changed since the horizon, by the commits that made their records.
pub(crate) struct Old {
    horizon: Csn,
    records: Vec<(Csn, u64)>,
}

impl Old {
    /// The commits, ascending, each once.
    pub fn csns(&self) -> impl DoubleEndedIterator<Item = Csn> + '_ {
        self.records.chunk_by(|one, other| one.0 == other.0).map(|records| records[0].0)
    }

    /// The objects whose records a commit made.
    fn of(&self, csn: Csn) -> impl Iterator<Item = u64> + '_ {
        let from = self.records.partition_point(|record| record.0 < csn);
        self.records[from..].iter().take_while(move |record| record.0 == csn).map(|record| record.1)
    }
}

impl Storage {
    /// The commit after which the table of changes lists all transactions.
    fn horizon(&self, table: &Table) -> Csn {
        self.kept_from(table.storage()).max(self.engine.changes_kept(table.storage()))
    }

    /// The records that were the newest at the horizon, by their commits.
    pub(crate) fn old(&self, to: Csn) -> Result<Arc<Old>> {
        let table = self.table(self.objects)?;
        let horizon = self.horizon(&table).min(to);
        let mut kept = self.old.lock();
        if let Some(old) = kept.as_ref().filter(|old| old.horizon == horizon) {
            return Ok(Arc::clone(old));
        }
        let then = self.engine.snapshot_at(horizon)?;
        let now = self.engine.snapshot();
        let mut records = Vec::new();
        let mut cursor = txn::Cursor::new(table.storage(), KeyRange::ALL, false);
        cursor.fill(then.view(), |key, found| {
            records.push((found.csn(), ObjectRows::oid(key)?));
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        let mut left = Vec::with_capacity(records.len());
        for (csn, oid) in records {
            if !self.is_removed(&now, &table, oid, csn)? {
                left.push((csn, oid));
            }
        }
        left.sort_unstable();
        let old = Arc::new(Old { horizon, records: left });
        *kept = Some(Arc::clone(&old));
        Ok(old)
    }

    /// Lets go of what [`Storage::old`] has kept.
    pub(crate) fn forget_old(&self) {
        *self.old.lock() = None;
    }

    /// True if a pack has removed an object after a commit.
    fn is_removed(&self, now: &txn::Snapshot, table: &Table, oid: u64, after: Csn) -> Result<bool> {
        if self.collected.load(std::sync::atomic::Ordering::Acquire) <= after.0 {
            return Ok(false);
        }
        let key = ObjectRows::key(oid);
        if now.read(table.storage(), &key)?.is_some() {
            return Ok(false);
        }
        match self.newest_change_of(now, table.storage(), oid)? {
            Some(csn) => self.is_pack(csn),
            // The store has dropped all of it.
            None => Ok(true),
        }
    }

    /// The commits after `after` up to `to` that are transactions of the storage, up to so many.
    fn csns(&self, after: Csn, to: Csn, newest_first: bool, count: usize) -> Result<Vec<Csn>> {
        let table = self.table(self.objects)?;
        let horizon = self.horizon(&table);
        let (mut csns, now) = (Vec::new(), self.engine.snapshot());
        let recent = |csns: &mut Vec<Csn>| -> Result<()> {
            let storage = table.storage().0;
            let mut changed =
                self.changed_csns(storage, after.max(horizon), to.min(now.csn()), newest_first);
            while csns.len() < count
                && let Some(csn) = changed.advance()?
            {
                if !self.is_pack(csn)? {
                    csns.push(csn);
                }
            }
            Ok(())
        };
        let old = |csns: &mut Vec<Csn>| -> Result<()> {
            if after >= horizon {
                return Ok(());
            }
            let old = self.old(now.csn())?;
            let between = old.csns().filter(|csn| after < *csn && *csn <= to);
            let left = count.saturating_sub(csns.len());
            match newest_first {
                true => csns.extend(between.rev().take(left)),
                false => csns.extend(between.take(left)),
            }
            Ok(())
        };
        if newest_first {
            recent(&mut csns)?;
            old(&mut csns)?;
        } else {
            old(&mut csns)?;
            recent(&mut csns)?;
        }
        Ok(csns)
    }

    /// Returns up to so many of the transactions with ids from `first` to `last`.
    ///
    /// # Errors
    /// The errors of reading.
    pub fn transactions(
        &self,
        first: Tid,
        last: Tid,
        newest_first: bool,
        count: usize,
    ) -> Result<Vec<TransactionInfo>> {
        let packed_upto = self.packed_upto();
        let csns = self.csns(self.csn_before(first)?, self.upto(last)?, newest_first, count)?;
        let info = |csn: Csn| {
            let note = self.note(csn)?;
            Ok(TransactionInfo {
                tid: self.tid_of(csn)?,
                is_packed: csn <= packed_upto || note.is_packed,
                user: note.user,
                description: note.description,
                extension: note.extension,
            })
        };
        csns.into_iter().map(info).collect()
    }

    /// The commit after which all transactions up to an id have happened.
    pub(crate) fn upto(&self, tid: Tid) -> Result<Csn> {
        match tid.0.checked_add(1) {
            Some(next) => self.csn_before(Tid(next)),
            None => Ok(self.engine.visible()),
        }
    }

    /// Returns the transactions after one up to another, each with the objects that it has written; `None` if that is
    /// not kept so far back.
    ///
    /// # Errors
    /// The errors of reading.
    pub fn changes(&self, after: Tid, upto: Tid) -> Result<Option<Vec<Changed>>> {
        let table = self.table(self.objects)?;
        let (after, to) = (self.upto(after)?, self.upto(upto)?);
        let changes = match self.engine.changes(table.storage(), after, to) {
            Ok(changes) => changes,
            Err(TxnError::ChangesForgotten { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut found = Vec::new();
        for change in changes {
            let (csn, touched) = change?;
            if self.is_pack(csn)? {
                continue;
            }
            let Touched::Keys(keys) = touched else { return Ok(None) };
            let oids = keys.iter().map(|key| ObjectRows::oid(key)).collect::<Result<Vec<u64>>>()?;
            found.push((self.tid_of(csn)?, oids));
        }
        Ok(Some(found))
    }

    /// Returns what a transaction has written, in the order of objects; nothing if there is no such transaction.
    ///
    /// # Errors
    /// The errors of reading.
    pub fn records(&self, tid: Tid) -> Result<Vec<ObjectRecord>> {
        let table = self.table(self.objects)?;
        let now = self.engine.snapshot();
        let Some(csn) = self.csn_of(tid)?.filter(|csn| *csn <= now.csn()) else {
            return Ok(Vec::new());
        };
        let horizon = self.horizon(&table);
        let oids: BTreeSet<u64> = if csn <= horizon {
            self.old(now.csn())?.of(csn).collect()
        } else {
            self.written_by(&table, csn)?
        };
        let rows = Storage::rows_of(&table)?;
        let then = self.engine.snapshot_at(csn.max(horizon))?;
        let mut records = Vec::with_capacity(oids.len());
        for oid in oids {
            if self.is_removed(&now, &table, oid, csn)? {
                continue;
            }
            let found = rows.record(then.view(), oid, |record| {
                Ok((record.csn, record.pickle()?.to_vec(), record.data_tid()?))
            })?;
            match found {
                Some((made, data, data_tid)) if made == csn => {
                    records.push(ObjectRecord { oid, data: Some(data), data_tid });
                }
                Some(_) => {}
                None => records.push(ObjectRecord { oid, data: None, data_tid: None }),
            }
        }
        Ok(records)
    }

    /// The objects that a commit has written.
    fn written_by(&self, table: &Table, csn: Csn) -> Result<BTreeSet<u64>> {
        match self.engine.change(table.storage(), csn)? {
            None => Ok(BTreeSet::new()),
            Some(Touched::Keys(keys)) => keys.iter().map(|key| ObjectRows::oid(key)).collect(),
            Some(Touched::All) => {
                // Too many to be noted: all keys are asked.
                let now = self.engine.snapshot();
                let store = self.engine.store();
                let all = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
                let mut keys = store.keys(table.storage(), all.0, all.1, false);
                let mut oids = BTreeSet::new();
                while let Some(key) = keys.advance()? {
                    let mut is_it = false;
                    now.versions(table.storage(), key, csn, |version| {
                        is_it = version.csn == csn;
                        ControlFlow::Break(())
                    })?;
                    if is_it {
                        oids.insert(ObjectRows::oid(key)?);
                    }
                }
                Ok(oids)
            }
        }
    }
}
