//! Packing: objects that nothing reaches are deleted, and what is older than a moment is forgotten.
//!
//! ```text
//!   snapshot    oids, refs of all objects in one scan ──> reached from object 0, and from all that is younger than
//!                                                         the moment
//!   commits     some thousand objects each, under a lock that keeps writers out for as long as that takes:
//!               what was stored since the last look is reached too, with all that it refers to
//!   catalog     the history of the table before the moment is forgotten
//! ```
//!
//! Writers are kept out for milliseconds, between their votes. One that refers to an object which a pack has removed
//! is refused ([`Writing::write`](crate::Writing::write)).

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

/// What a pack has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// Objects that nothing reached, and that are gone.
    pub objects: u64,
    /// Objects that are left.
    pub left: u64,
}

impl Storage {
    /// Forgets the records that were no longer the newest after a transaction, and removes the objects that nothing
    /// reaches any more if `collects_garbage`: neither the root (object 0), nor an object with a record after that
    /// transaction. Others may read and write meanwhile.
    ///
    /// # Errors
    /// 22023 if the pickle of an object could not be read, so that what it refers to is not known; what the engine
    /// reports. What was removed until then stays removed.
    pub fn pack(&self, upto: Tid, collects_garbage: bool) -> Result<Packed> {
        let upto = self.upto(upto)?;
        let mut packed = Packed::default();
        if upto == Csn::ZERO {
            return Ok(packed);
        }
        if collects_garbage {
            packed.objects = self.collect(upto)?;
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
        let rows = Storage::rows_of(table)?;
        let mut graph = self.graph(table, now)?;
        if let Some(oid) = graph.unread() {
            let message = format!(
                "the pickle of object {oid:#018x} cannot be read, so that what it refers to is not known"
            );
            let error = types::Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
                .with_hint("Pack without the collection of garbage.");
            return Err(error.into());
        }
        graph.reach(0);
        for oid in graph.younger(upto) {
            graph.reach(oid);
            // The records between count too: they can be read and brought back.
            for version in table.versions(now, &ObjectRows::key(oid), upto, now.csn())? {
                let mut targets = Vec::new();
                let at = self.engine.snapshot_at(version.from.max(upto))?;
                rows.record(at.view(), oid, |record| {
                    record.references(|target| targets.push(target))
                })?;
                targets.into_iter().for_each(|target| graph.reach(target));
            }
        }
        graph.follow();
        Ok(graph)
    }

    /// Removes the objects that nothing reaches. Returns how many.
    fn collect(&self, upto: Csn) -> Result<u64> {
        let table = self.table(self.objects)?;
        let now = self.engine.snapshot();
        let mut graph = self.reached(&table, &now, upto)?;
        let mut seen = now.csn();
        drop(now);
        let garbage: Vec<u64> = graph.unreached(upto).collect();
        let mut removed = 0;
        let mut chunks = garbage.chunks(REMOVED_AT_ONCE).peekable();
        while let Some(some) = chunks.next() {
            let mut txn = self.engine.begin(Isolation::ReadCommitted);
            txn.lock_relation(self.objects.0, RelationLock::Exclusive, Wait::Allowed)?;
            txn.statement();
            let newest = txn.latest().csn();
            self.reach_younger(&table, &mut graph, seen, newest)?;
            seen = newest;
            let doomed: Vec<u64> =
                some.iter().copied().filter(|oid| !graph.is_reached(*oid)).collect();
            // One commit fewer to wait for.
            let forgets = chunks.peek().is_none() && self.is_to_forget(upto)?;
            removed += self.remove(txn, &table, &doomed, (upto, forgets))?;
        }
        Ok(removed)
    }

    /// What was stored after a commit is reached, with all that it refers to. Nobody stores anything meanwhile.
    fn reach_younger(&self, table: &Table, graph: &mut Graph, after: Csn, to: Csn) -> Result<()> {
        let rows = Storage::rows_of(table)?;
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
            graph.reach(oid);
            for version in table.versions(&now, &ObjectRows::key(oid), Csn(after.0 + 1), to)? {
                let then = self.engine.snapshot_at(version.from.max(after))?;
                let mut targets = Vec::new();
                rows.record(then.view(), oid, |record| {
                    record.references(|target| targets.push(target))
                })?;
                targets.into_iter().for_each(|target| graph.reach(target));
            }
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
        for oid in oids {
            // Nobody else has a row: whoever writes one holds a lock that this one excludes.
            let key = ObjectRows::key(*oid);
            let old = if table.has_entries() { table.latest(&txn, &key)? } else { None };
            rows.remove(&mut txn, &key)?;
            if let Some(old) = old {
                let old = old.to_datums()?;
                self.change(&mut txn, |change| table.follow(change, &key, Some(&old), None))?;
            }
            if has_blobs {
                self.remove_parts(&mut txn, &blobs, *oid, 0)?;
            }
        }
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

    /// Has the records be forgotten that were no longer the newest after a commit.
    fn forget(&self, txn: &mut Transaction, upto: Csn) -> Result<()> {
        let mut draft = Draft::new(&self.catalogs);
        let acting = Acting { role: POSTGRES_ROLE, database: POSTGRES_DATABASE, path: &[PUBLIC] };
        let mut ddl = draft.ddl(txn, acting);
        ddl.forget(self.objects, upto)?;
        ddl.forget(self.blobs, upto)?;
        draft.publish(txn)
    }
}
