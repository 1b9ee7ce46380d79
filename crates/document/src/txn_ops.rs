//! Operations on documents in a transaction of the caller, which changes more than documents: tables of SQL.
//!
//! ```text
//!   statement 1   tree as the view sees it ── edits ──> writes of chunks, an entry of the list of revisions
//!   statement 2   the same, its own writes over it ───> more of both
//!   commit        all entries of one commit are one revision
//! ```
//!
//! Nothing is kept but the transaction's writes: going back to a savepoint takes a document back by
//! itself, and every reader of the transaction sees it as it is.
//!
//! # Invariants
//! * A transaction that changes a document holds the lock of its row until the end, which keeps all others
//!   from it.

use crate::chunk::Chunk;
use crate::collection::Collection;
use crate::edit::Edit;
use crate::error::DocumentError;
use crate::key::{Prefix, Record, record_of};
use crate::large::{JsonbPart, Part};
use crate::meta::{Committed, Meta};
use crate::observe::hint;
use crate::paths::Counts;
use crate::revisions::{Page, page_after};
use crate::state::{RevisionList, State, Timed};
use crate::stream::ChunkStream;
use crate::tree::Tree;
use crate::working::{Working, write_chunk};
use crate::{NodeKey, Result, Revision};
use json::Tape;
use json::jsonb::Jsonb;
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use store::{Csn, Op};
use txn::{Cursor, KeyRange, Transaction, View};

impl Collection {
    /// The document as a view sees it, `None` if there is none. `keep` where it will be asked for
    /// again soon.
    pub fn tree_in_view(&self, view: View<'_>, key: &str, keep: bool) -> Result<Option<Arc<Tree>>> {
        let prefix = Prefix::new(key)?;
        if view.transaction().is_some_and(|txn| txn.has_written(self.id())) {
            return Ok(self.state_in_view(view, &prefix)?.0.tree);
        }
        self.tree_then(&prefix, view.csn(), keep)
    }

    /// The document as of a commit, `None` if there was none then.
    pub fn tree_as_of(&self, key: &str, csn: Csn) -> Result<Option<Arc<Tree>>> {
        self.tree_then(&Prefix::new(key)?, csn, false)
    }

    /// The document as of a commit that is visible. Nothing of the past is kept in memory.
    fn tree_then(&self, prefix: &Prefix, csn: Csn, keep: bool) -> Result<Option<Arc<Tree>>> {
        match self.cached(prefix, Csn::MAX) {
            Some(newest) if newest.csn <= csn => Ok(newest.tree),
            None if keep && csn >= self.engine().visible() => Ok(self.state(prefix, csn)?.tree),
            newest => {
                let newest = newest.and_then(|newest| newest.tree);
                self.past_tree(prefix, csn, newest.as_ref())
            }
        }
    }

    /// The state of a document as a view sees it, and true if the view's transaction has changed it.
    /// The revision is the newest committed one.
    fn state_in_view(&self, view: View<'_>, prefix: &Prefix) -> Result<(State, bool)> {
        let mut committed = self.state(prefix, view.csn())?;
        if !view.transaction().is_some_and(|txn| txn.has_written(self.id())) {
            return Ok((committed, false));
        }
        if self.has_erased(view, prefix, committed.revision)? {
            let growth = Arc::clone(self.documents().cache().growth());
            let list = RevisionList::new(self.id(), prefix.clone(), 0, Timed::default(), growth);
            let (csn, revision) = (Csn::ZERO, Revision(0));
            committed = State { csn, revision, tree: None, next_key: 1, list: Arc::new(list) };
        }
        let page = page_after(committed.revision)?;
        let found = view.read(self.id(), &prefix.record(Record::Revisions(page)))?;
        let Some(row) = found.filter(|row| row.is_own()) else { return Ok((committed, false)) };
        let page = Page::read(row.base_csn(), row.base(), row.deltas())?;
        let last = page.csns.len().checked_sub(1).and_then(|last| page.entry(last));
        let state = match last.and_then(|entry| entry.deleted) {
            Some(next_key) => State { tree: None, next_key, ..committed },
            None => State { tree: self.own_tree(view, prefix)?.map(Arc::new), ..committed },
        };
        Ok((state, true))
    }

    /// True if the view's transaction has erased the document, whatever it has done with it since: its
    /// last page of revisions is gone, or is the first of a document that was put after.
    fn has_erased(&self, view: View<'_>, prefix: &Prefix, revision: Revision) -> Result<bool> {
        let Some(before) = revision.0.checked_sub(1) else { return Ok(false) };
        let page = prefix.record(Record::Revisions(page_after(Revision(before))?));
        let found = view.read(self.id(), &page)?;
        Ok(found.is_none_or(|row| row.base_csn() == Csn::MAX))
    }

    /// The tree that a transaction has made.
    fn own_tree(&self, view: View<'_>, prefix: &Prefix) -> Result<Option<Tree>> {
        let bound = |record| prefix.record(record).to_vec();
        let range = KeyRange {
            lower: Bound::Included(bound(Record::Chunk(0))),
            upper: Bound::Excluded(bound(Record::Revisions(0))),
        };
        let mut chunks = BTreeMap::new();
        Cursor::new(self.id(), range, false).fill(view, |key, row| {
            if let Some(Record::Chunk(number)) = record_of(key) {
                chunks.insert(number, Chunk::merged(row.base_csn(), row.base(), row.deltas())?);
            }
            Ok::<_, DocumentError>(ControlFlow::Continue(()))
        })?;
        match chunks.contains_key(&0) {
            true => Tree::of_chunks(Csn::MAX, chunks).map(Some),
            false => Ok(None),
        }
    }

    /// Gives the document this value, as part of a transaction. Equal parts keep their nodes.
    pub fn put_in_txn(&self, txn: &mut Transaction, key: &str, tape: &Tape) -> Result<()> {
        self.change_in_txn(txn, key, |working| working.put_tape(tape)).map(drop)
    }

    /// Gives the document this value, as part of a transaction. Equal parts keep their nodes. Returns true if it becomes
    /// another.
    pub fn put_value_in_txn(
        &self,
        txn: &mut Transaction,
        key: &str,
        value: &Jsonb,
    ) -> Result<bool> {
        let prefix = Prefix::new(key)?;
        let latest = txn.latest();
        let state = self.state_in_view(View::of(txn, &latest), &prefix)?;
        let (mut working, part) =
            (Working::in_txn(state, self.options()), JsonbPart::from(value.root()));
        if working.is_streamed(part)? {
            let counts = self.stream_into(txn, &prefix, &working, part)?;
            self.update_row(txn, key, working.existence_after_put())?;
            working.write_loaded(txn, self.id(), prefix, counts)?;
            return Ok(true);
        }
        working.put_part(part, &mut |number, write| {
            write_chunk(txn, self.id(), &prefix, number, write)
        })?;
        Ok(self.write_into(txn, key, prefix, working, false)?.is_some())
    }

    /// Writes the chunks of a large value in place of those that the document has, so that nothing but the value is in
    /// memory. Returns the path summary, where the collection keeps one.
    pub(crate) fn stream_into(
        &self,
        txn: &mut Transaction,
        prefix: &Prefix,
        working: &Working,
        value: impl Part,
    ) -> Result<Option<Counts>> {
        let mut write = |number, op: Op| write_chunk(txn, self.id(), prefix, number, op);
        let first_key = NodeKey(working.next_key());
        let before = working.found().tree.as_ref().map_or(0, |tree| tree.chunk_count());
        // Chunk 0 has the header, and the first new chunk may have had old nodes: both are written anew.
        for number in (1..before).filter(|number| *number != first_key.chunk()) {
            write(number, Op::Delete)?;
        }
        let put = |number, image| write(number, Op::Put(image));
        let mut stream = ChunkStream::new(first_key.0, &self.options(), put);
        value.feed(&mut stream)?;
        let (stragglers, counts) = stream.finish()?;
        stragglers.into_iter().try_for_each(|(number, image)| write(number, Op::Put(image)))?;
        Ok(counts)
    }

    /// Edits the document, as part of a transaction. Fails if there is none.
    pub fn edit_in_txn<R>(
        &self,
        txn: &mut Transaction,
        key: &str,
        f: impl FnOnce(&mut Edit<'_>) -> Result<R>,
    ) -> Result<R> {
        Ok(self.edit_told(txn, key, f)?.0)
    }

    /// Edits the document as [`Collection::edit_in_txn`] does, and tells whether it became another.
    pub(crate) fn edit_told<R>(
        &self,
        txn: &mut Transaction,
        key: &str,
        f: impl FnOnce(&mut Edit<'_>) -> Result<R>,
    ) -> Result<(R, bool)> {
        self.change_in_txn(txn, key, |working| {
            working.edit(f)?.ok_or_else(|| crate::collection::no_document(key))
        })
    }

    /// Removes the document where there is one, as part of a transaction; its history stays.
    pub fn remove_in_txn(&self, txn: &mut Transaction, key: &str) -> Result<()> {
        self.change_in_txn(txn, key, |working| Ok(working.remove())).map(drop)
    }

    /// Erases the document from the commit of a transaction on: its nodes, its revisions, in no
    /// version. It was removed before, where it was there.
    pub fn erase_in_txn(&self, txn: &mut Transaction, key: &str) -> Result<()> {
        let prefix = Prefix::new(key)?;
        self.erase_records(txn, &prefix)?;
        let id = self.id();
        hint(txn, move |cache, commit| cache.erased().note(commit.csn, id, &prefix));
        Ok(())
    }

    /// Erases all records of a document.
    fn erase_records(&self, txn: &mut Transaction, prefix: &Prefix) -> Result<()> {
        let latest = txn.latest();
        let state = match self.dropped() {
            Some(_) => self.state(prefix, self.last(latest.csn()))?,
            None => self.state_in_view(View::of(txn, &latest), prefix)?.0,
        };
        let chunks = (0..=NodeKey(state.next_key).chunk()).map(Record::Chunk);
        let pages = (0..=page_after(state.revision)?).map(Record::Revisions);
        for record in chunks.chain(pages).chain([Record::Paths]) {
            // Earlier writes of this very commit are not in the past that is erased.
            for op in [Op::Erase { from: Csn::ZERO, to: None }, Op::Delete] {
                txn.write(self.id(), prefix.record(record).to_vec(), op)?;
            }
        }
        let committed = self.state_in_passing(prefix, latest.csn())?;
        let (csns, _) = committed.list.newest_first(self.engine(), 1, committed.revision.0)?;
        txn.erase_changes(self.id(), prefix.subject(), csns)?;
        let key = (self.id(), prefix.clone());
        hint(txn, move |cache, commit| cache.forget(&key, commit.csn));
        Ok(())
    }

    /// Gives the document this value as if there had never been one before: all that it was is erased, in
    /// the same commit, and this is its revision 1. A document that never was is put.
    ///
    /// # Errors
    /// [`DocumentError::Refused`] where rows stand beside the documents that have more than a document;
    /// [`DocumentError::Stale`] where the document is not as `meta` says.
    pub fn replace(&self, key: &str, tape: &Tape, meta: &Meta) -> Result<Committed> {
        let mut writing = self.begin_write(key, meta)?;
        let is_new = writing.working.found().tree.is_none();
        if writing.working.found().revision.0 > 0 {
            if let Some(rows) = &self.rows {
                rows.erase(&mut writing.txn, key)?;
            }
            self.erase_records(&mut writing.txn, &writing.prefix)?;
        }
        self.put_in_txn(&mut writing.txn, key, tape)?;
        writing.commit_replaced(is_new, meta)
    }

    /// Changes the document, and tells whether it became another.
    fn change_in_txn<R>(
        &self,
        txn: &mut Transaction,
        key: &str,
        f: impl FnOnce(&mut Working) -> Result<R>,
    ) -> Result<(R, bool)> {
        let prefix = Prefix::new(key)?;
        let latest = txn.latest();
        let state = self.state_in_view(View::of(txn, &latest), &prefix)?;
        let mut working = Working::in_txn(state, self.options());
        let done = f(&mut working)?;
        let written = self.write_into(txn, key, prefix, working, false)?;
        Ok((done, written.is_some()))
    }
}
