//! Packing: unreachable objects are deleted, and records older than a moment are removed.
//!
//! ```text
//!   snapshot    oids, refs of all objects in one scan ──> reached from object 0, and from all objects that were
//!                                                         stored after the moment
//!   commits     some thousand objects each, under a lock that keeps writers out meanwhile: objects that were
//!               stored since the last commit count as reached, with all that they refer to
//!   catalog     the history of the table before the moment is forgotten
//! ```
//!
//! A pack keeps writers out for the milliseconds of such a commit. The objects that it is going to remove are listed
//! from the first such commit on ([`Storage`] `doomed`). A writer that refers to a listed object gets an error
//! ([`Writing::write`](crate::Writing::write)). So an object that is still to be removed never gets a new referrer,
//! through which readers could reach objects that are removed already.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use store::Csn;
use table::catalog::{POSTGRES_DATABASE, POSTGRES_ROLE, PUBLIC, ddl::Acting};
use table::objects::{ObjectRows, Tid};
use table::rows::Table;
use table::{Draft, Error, Result};
use txn::{CommitMeta, Isolation, KeyRange, RelationLock, Snapshot, Touched, Transaction, Wait};
use types::SqlState;

use crate::Storage;
use crate::graph::Graph;
use crate::note::Note;

/// So many objects are removed in one commit.
const REMOVED_AT_ONCE: usize = 10_000;

/// The counts of a finished pack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// The unreachable objects that were removed.
    pub objects: u64,
    /// Objects that are left.
    pub left: u64,
}

/// The counts of a pack so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Objects that are gone.
    pub removed: u64,
    /// The objects that were unreachable in the snapshot.
    pub of: u64,
}

impl Storage {
    /// Packs as [`Storage::pack_in_steps`] does, with commits of 10,000 objects.
    ///
    /// # Errors
    /// As [`Storage::pack_in_steps`].
    pub fn pack(&self, upto: Tid, collects_garbage: bool) -> Result<Packed> {
        self.pack_in_steps(upto, collects_garbage, REMOVED_AT_ONCE, &mut |_| ())
    }

    /// Forgets the records that were no longer the newest after a transaction, and removes the objects that nothing
    /// reaches any more if `collects_garbage`: neither the root (object 0), nor an object with a record after that
    /// transaction. Others may read and write meanwhile. A commit removes up to `objects_at_once` objects; `told` is called
    /// after each.
    ///
    /// # Errors
    /// 22023 if the pickle of an object could not be read, so that what it refers to is not known; what the engine
    /// reports. The objects that were removed before an error stay removed.
    pub fn pack_in_steps(
        &self,
        upto: Tid,
        collects_garbage: bool,
        objects_at_once: usize,
        told: &mut dyn FnMut(Step),
    ) -> Result<Packed> {
        let upto = self.upto(upto)?;
        let mut packed = Packed::default();
        if upto == Csn::ZERO {
            return Ok(packed);
        }
        if collects_garbage {
            let _one = self.packing.lock();
            let removed = self.collect(upto, objects_at_once, told);
            *self.doomed.lock() = Arc::default();
            packed.objects = removed?;
        }
        if self.is_to_forget(upto)? {
            let mut txn = self.engine.begin(Isolation::ReadCommitted);
            self.forget(&mut txn, upto)?;
            txn.commit(CommitMeta::default())?;
        }
        self.catalogs.tables().settle(self.engine.store());
        self.forget_old();
        packed.left = self.count()?;
        Ok(packed)
    }

    /// The graph of a snapshot, with what is reached from the root and from all that is younger than a commit.
    fn reached(&self, table: &Table, now: &Snapshot, upto: Csn) -> Result<Graph> {
        let mut graph = self.graph(table, now)?;
        if let Some(oid) = graph.unread() {
            return Err(unread(oid));
        }
        graph.reach(0);
        for oid in graph.younger(upto) {
            self.reach_records(table, now, &mut graph, oid, upto)?;
        }
        graph.follow();
        Ok(graph)
    }

    /// Reaches an object, and what its records refer to: the one that was the newest after a commit, and all later ones.
    /// Old ones count too, because they can be read and brought back.
    fn reach_records(
        &self,
        table: &Table,
        now: &Snapshot,
        graph: &mut Graph,
        oid: u64,
        from: Csn,
    ) -> Result<()> {
        graph.reach(oid);
        for version in table.versions(now, &ObjectRows::key(oid), from, now.csn())? {
            let then = self.engine.snapshot_at(version.from.max(from))?;
            let known = Storage::rows_of(table)?.record(then.view(), oid, |record| {
                record.references(|target| graph.reach(target))
            })?;
            if known == Some(false) {
                return Err(unread(oid));
            }
        }
        Ok(())
    }

    /// Removes the objects that nothing reaches. Returns how many.
    fn collect(
        &self,
        upto: Csn,
        objects_at_once: usize,
        told: &mut dyn FnMut(Step),
    ) -> Result<u64> {
        let table = self.table(self.objects)?;
        let now = self.engine.snapshot();
        let mut graph = self.reached(&table, &now, upto)?;
        let mut seen = now.csn();
        drop(now);
        let garbage: Arc<[u64]> = graph.unreached(upto).collect();
        let mut step = Step { removed: 0, of: garbage.len() as u64 };
        let mut chunks = garbage.chunks(objects_at_once.max(1)).peekable();
        while let Some(some) = chunks.next() {
            let mut txn = self.engine.begin(Isolation::ReadCommitted);
            txn.lock_relation(self.objects.0, RelationLock::Exclusive, Wait::Allowed)?;
            txn.statement();
            let newest = txn.latest().csn();
            self.reach_younger(&table, &mut graph, seen, newest)?;
            if step.removed == 0 {
                // The writers before this commit have ended. The writers after it see the list.
                let doomed = garbage.iter().copied().filter(|oid| !graph.is_reached(*oid));
                *self.doomed.lock() = doomed.collect();
            }
            seen = newest;
            let doomed: Vec<u64> =
                some.iter().copied().filter(|oid| !graph.is_reached(*oid)).collect();
            // One commit fewer to wait for.
            let forgets = chunks.peek().is_none() && self.is_to_forget(upto)?;
            step.removed += self.remove(txn, &table, &doomed, (upto, forgets))?;
            told(step);
        }
        Ok(step.removed)
    }

    /// Reaches all objects that were written after a commit, with all that they refer to. The caller keeps writers out.
    fn reach_younger(&self, table: &Table, graph: &mut Graph, after: Csn, to: Csn) -> Result<()> {
        let mut oids = HashSet::new();
        for change in self.engine.changes(table.storage(), after, to)? {
            let (csn, touched) = change?;
            if self.is_pack(csn)? {
                continue;
            }
            match touched {
                Touched::Keys(keys) => {
                    for key in keys {
                        oids.insert(ObjectRows::oid(&key)?);
                    }
                }
                Touched::All => {
                    let then = self.engine.snapshot_at(csn)?;
                    let mut cursor = txn::Cursor::new(table.storage(), KeyRange::ALL, false);
                    cursor.fill(then.view(), |key, found| {
                        if found.csn() == csn {
                            oids.insert(ObjectRows::oid(key)?);
                        }
                        Ok::<_, Error>(ControlFlow::Continue(()))
                    })?;
                }
            }
        }
        let now = self.engine.snapshot_at(to)?;
        for oid in oids {
            self.reach_records(table, &now, graph, oid, after)?;
        }
        graph.follow();
        Ok(())
    }

    /// Removes objects, with their blobs, in a commit that is no transaction of the storage.
    fn remove(
        &self,
        mut txn: Transaction,
        table: &Table,
        oids: &[u64],
        (upto, forgets): (Csn, bool),
    ) -> Result<u64> {
        if oids.is_empty() {
            return Ok(0);
        }
        let rows = Storage::rows_of(table)?;
        let blobs = self.table(self.blobs)?;
        let has_blobs = self.handles.row_count(blobs.storage()) > 0;
        if has_blobs {
            txn.lock_relation(self.blobs.0, RelationLock::RowExclusive, Wait::Allowed)?;
        }
        self.with_values(table, |values| {
            for oid in oids {
                // The lock of the table keeps writers out: no row is locked.
                let key = ObjectRows::key(*oid);
                let old = if table.has_entries() { table.latest(&txn, &key)? } else { None };
                rows.remove(&mut txn, &key)?;
                if let Some(old) = old {
                    let old = old.to_datums()?;
                    self.change(&mut txn, values, |change| {
                        table.follow(change, &key, Some(&old), None)
                    })?;
                }
                if has_blobs {
                    self.remove_parts(&mut txn, &blobs, *oid, 0)?;
                }
            }
            Ok(())
        })?;
        txn.note_rows(table.storage(), -(oids.len() as i64));
        let number = self.engine.visible().0 as i64;
        let (tid, count) = (self.tid_of(upto)?.to_i64(), oids.len() as i64);
        self.insert_row(&mut txn, self.packs, &[number, tid, count])?;
        if forgets {
            self.forget(&mut txn, upto)?;
        }
        let collected = Arc::clone(&self.collected);
        txn.on_publish(move |commit| {
            collected.fetch_max(commit.csn.0, Ordering::AcqRel);
        });
        txn.commit(Note { is_pack: true, ..Note::default() }.to_meta())?;
        Ok(oids.len() as u64)
    }

    /// True if records are kept that were no longer the newest after a commit.
    fn is_to_forget(&self, upto: Csn) -> Result<bool> {
        Ok(self.kept_from(self.table(self.objects)?.storage()) < upto)
    }

    /// Forgets the records that were no longer the newest after a commit.
    fn forget(&self, txn: &mut Transaction, upto: Csn) -> Result<()> {
        let mut draft = Draft::new(&self.catalogs);
        let acting = Acting { role: POSTGRES_ROLE, database: POSTGRES_DATABASE, path: &[PUBLIC] };
        let mut ddl = draft.ddl(txn, acting);
        ddl.forget(self.objects, upto)?;
        ddl.forget(self.blobs, upto)?;
        draft.publish(txn)
    }
}

/// The error for an object whose references are not known.
fn unread(oid: u64) -> Error {
    let message = format!(
        "the pickle of object {oid:#018x} cannot be read, so that what it refers to is not known"
    );
    let error = types::Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
        .with_hint("Pack without the collection of garbage.");
    error.into()
}
