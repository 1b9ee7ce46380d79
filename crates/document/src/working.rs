//! A document inside a transaction: its state before the transaction, and its state in it.

use crate::admit::check_values;
use crate::draft::{Draft, Sealed, TakeWrite, Write};
use crate::edit::Edit;
use crate::error::DocumentError;
use crate::key::{Prefix, Record};
use crate::large::{self, Part};
use crate::limits::LARGE_BYTES;
use crate::observe::hint;
use crate::paths::Counts;
use crate::revisions::{Entry, PAGE, Touched, fresh_page, page_after};
use crate::rewrite::rewrite;
use crate::row_link::Existence;
use crate::state::State;
use crate::table::CollectionOptions;
use crate::tree::{Nodes, Tree};
use crate::{Result, Revision};
use json::Tape;
use std::collections::BTreeSet;
use std::sync::Arc;
use store::{Csn, Op, TableId};
use txn::Transaction;

/// A document of less than this part of its new value, which is large, gets new nodes.
pub(crate) const STREAMED_PART: usize = 16;

/// The state of a document in a transaction so far.
#[derive(Clone)]
enum Now {
    /// As it was found.
    Found,
    Edited(Box<Draft>),
    Removed,
}

/// A document inside a transaction.
#[derive(Clone)]
pub(crate) struct Working {
    found: State,
    now: Now,
    /// Removed and put again: the old nodes go, the new ones go on with the next key.
    recreated: bool,
    /// The transaction has changed the document before: all is one revision.
    is_own: bool,
    options: CollectionOptions,
}

impl Working {
    pub fn new(found: State, options: CollectionOptions) -> Working {
        Working { found, now: Now::Found, recreated: false, is_own: false, options }
    }

    /// A document that the transaction may have changed before.
    pub fn in_txn((found, is_own): (State, bool), options: CollectionOptions) -> Working {
        Working { is_own, ..Working::new(found, options) }
    }

    /// The same document with nothing done to it.
    pub fn as_found(&self) -> Working {
        Working::new(self.found.clone(), self.options)
    }

    /// The state it was found in.
    pub fn found(&self) -> &State {
        &self.found
    }

    /// True if the transaction has changed it.
    pub fn is_changed(&self) -> bool {
        match &self.now {
            Now::Found => false,
            Now::Removed => self.found.tree.is_some(),
            Now::Edited(draft) => self.recreated || self.found.tree.is_none() || !draft.is_clean(),
        }
    }

    /// Whether the document existed when it was found, and whether it exists now.
    pub fn existence(&self) -> Existence {
        Existence { before: self.found.tree.is_some(), after: self.is_there() }
    }

    /// True if there is a document as the transaction sees it.
    pub fn is_there(&self) -> bool {
        match &self.now {
            Now::Found => self.found.tree.is_some(),
            Now::Edited(_) => true,
            Now::Removed => false,
        }
    }

    /// The document as the transaction sees it, `None` if there is none.
    pub fn tree(&self) -> Result<Option<Arc<Tree>>> {
        match &self.now {
            Now::Found => Ok(self.found.tree.clone()),
            Now::Removed => Ok(None),
            Now::Edited(draft) => draft.preview().map(|tree| Some(Arc::new(tree))),
        }
    }

    fn draft(&mut self) -> Option<&mut Draft> {
        if let (Now::Found, Some(tree)) = (&self.now, &self.found.tree) {
            let draft = Draft::new(Arc::clone(tree), &self.options);
            self.now = Now::Edited(Box::new(draft));
        }
        match &mut self.now {
            Now::Edited(draft) => Some(draft),
            _ => None,
        }
    }

    /// Gives the document this value.
    pub fn put_tape(&mut self, tape: &Tape) -> Result<()> {
        check_values(tape)?;
        if let Some(draft) = self.draft() {
            rewrite(draft, draft.root(), tape)?;
            return Ok(());
        }
        self.recreated = matches!(self.now, Now::Removed) && self.found.tree.is_some();
        let draft = Draft::create(tape, self.next_key(), &self.options)?;
        self.now = Now::Edited(Box::new(draft));
        Ok(())
    }

    /// Gives the document the value of a part, which may be large: then some of its writes go to `take` at once.
    pub fn put_part(&mut self, value: impl Part, take: &mut TakeWrite<'_>) -> Result<()> {
        match self.draft() {
            Some(draft) if large::is_large(draft, draft.root(), value)? => {
                large::rewrite_large(draft, draft.root(), value, Some(take))
            }
            _ => self.put_tape(&value.tape()?),
        }
    }

    /// True if this value is so large, and what was found so small beside it, that the document gets new nodes, which
    /// are written as they come.
    pub fn is_streamed(&self, value: impl Part) -> Result<bool> {
        let weight = value.weight()?;
        if weight < LARGE_BYTES || self.is_own || !matches!(self.now, Now::Found) {
            return Ok(false);
        }
        match &self.found.tree {
            Some(tree) => tree.is_smaller_than(weight / STREAMED_PART),
            None => Ok(true),
        }
    }

    /// Whether the document existed when it was found; it exists after it was put.
    pub fn existence_after_put(&self) -> Existence {
        Existence { before: self.found.tree.is_some(), after: true }
    }

    /// Starts a document that was removed anew, without any node.
    pub fn revive(&mut self) {
        let draft = Draft::empty(self.next_key(), &self.options);
        self.now = Now::Edited(Box::new(draft));
    }

    /// Edits the document; `None` if there is none.
    pub fn edit<R>(&mut self, f: impl FnOnce(&mut Edit<'_>) -> Result<R>) -> Result<Option<R>> {
        match self.draft() {
            Some(draft) => f(&mut Edit::new(draft)).map(Some),
            None => Ok(None),
        }
    }

    /// Direct access to the draft, for what is not an edit of a caller.
    pub fn with_draft<R>(&mut self, f: impl FnOnce(&mut Draft) -> Result<R>) -> Result<Option<R>> {
        self.draft().map(f).transpose()
    }

    /// Removes the document; false if there is none.
    pub fn remove(&mut self) -> bool {
        let was_there = self.is_there();
        self.now = Now::Removed;
        was_there
    }

    /// The key of the next node.
    pub fn next_key(&self) -> u64 {
        self.found.tree.as_ref().map_or(self.found.next_key, |tree| tree.header().next_key).max(1)
    }

    /// The revision that a commit of this makes.
    pub fn next_revision(&self) -> Revision {
        Revision(self.found.revision.0 + 1)
    }

    /// Writes what changed into `txn`, which holds the lock that decides about the document, and has the
    /// cache learn the new state when it is published.
    pub fn write(self, txn: &mut Transaction, table: TableId, prefix: Prefix) -> Result<()> {
        if self.is_own {
            return self.write_more(txn, table, prefix);
        }
        let revision = self.next_revision();
        let (entry, sealed, found, next_key) = self.write_changes(txn, table, &prefix)?;
        write_entry(txn, table, &prefix, revision, &entry)?;

        let list = found.list;
        hint(txn, move |cache, commit| {
            list.push(Entry { csn: commit.csn, ..entry }, commit.moments);
            let tree = match sealed.map(|sealed| sealed.into_tree(commit.csn)) {
                Some(Ok(tree)) => Some(Arc::new(tree.kept(cache.growth()))),
                None if entry.deleted.is_some() => None,
                // A tree that is too large to be kept, or that cannot be sealed: that would have failed to encode.
                // The next reader asks the store.
                _ => return cache.forget(&(table, prefix), commit.csn),
            };
            let state = State { csn: commit.csn, revision, tree, next_key, list };
            cache.publish((table, prefix), state);
        });
        Ok(())
    }

    /// Writes what changed since `txn` has changed the document before: it is the same revision.
    fn write_more(self, txn: &mut Transaction, table: TableId, prefix: Prefix) -> Result<()> {
        let (entry, _, found, _) = self.write_changes(txn, table, &prefix)?;
        let mut more = Vec::new();
        entry.encode(&mut more);
        let page = prefix.record(Record::Revisions(page_after(found.revision)?));
        txn.write(table, page.to_vec(), Op::Delta(more))?;
        let list = found.list;
        hint(txn, move |cache, commit| {
            list.push(Entry { csn: commit.csn, ..entry }, commit.moments);
            cache.forget(&(table, prefix), commit.csn);
        });
        Ok(())
    }

    /// Writes chunks and path summary; returns the entry of the list of revisions, the tree that follows,
    /// what was found, and the next node key.
    fn write_changes(
        self,
        txn: &mut Transaction,
        table: TableId,
        prefix: &Prefix,
    ) -> Result<(Entry, Option<Sealed>, State, u64)> {
        let old_chunks = self.found.tree.as_ref().map_or(0, |tree| tree.chunk_count());
        let next_key = self.next_key();
        let is_removed = matches!(self.now, Now::Removed);
        let mut has_given = false;
        let (writes, sealed) = match self.now {
            Now::Edited(mut draft) => {
                has_given = draft.has_given();
                if let Some(counts) = draft.path_counts()? {
                    let is_new = self.recreated || self.found.tree.is_none();
                    write_paths(txn, table, prefix, &counts, is_new)?;
                }
                let (mut writes, sealed) = draft.finish()?;
                if self.recreated {
                    let kept: BTreeSet<u32> = writes.iter().map(|(number, _)| *number).collect();
                    writes.extend(
                        (0..old_chunks).filter(|n| !kept.contains(n)).map(|n| (n, Write::Delete)),
                    );
                }
                (writes, sealed)
            }
            Now::Removed => {
                if self.options.path_summary {
                    txn.write(table, prefix.record(Record::Paths).to_vec(), Op::Delete)?;
                }
                ((0..old_chunks).map(|number| (number, Write::Delete)).collect(), None)
            }
            Now::Found => return Err(DocumentError::BadEdit("nothing was changed".into())),
        };
        let touched = if has_given { Touched::Many } else { touched(&writes) };
        for (number, write) in writes {
            write_chunk(txn, table, prefix, number, write)?;
        }
        let deleted = is_removed.then_some(next_key);
        Ok((Entry { csn: Csn(0), deleted, touched }, sealed, self.found, next_key))
    }

    /// Writes a revision of a document all chunks of which were written beforehand, with its path summary where that is
    /// kept.
    pub fn write_loaded(
        self,
        txn: &mut Transaction,
        table: TableId,
        prefix: Prefix,
        counts: Option<Counts>,
    ) -> Result<()> {
        if let Some(counts) = counts {
            write_paths(txn, table, &prefix, &counts, true)?;
        }
        let entry = Entry { csn: Csn(0), deleted: None, touched: Touched::Many };
        let revision = self.next_revision();
        write_entry(txn, table, &prefix, revision, &entry)?;
        hint(txn, move |cache, commit| {
            cache.forget(&(table, prefix), commit.csn);
        });
        Ok(())
    }

    /// Writes a revision that changes nothing.
    pub fn write_empty(self, txn: &mut Transaction, table: TableId, prefix: Prefix) -> Result<()> {
        let revision = self.next_revision();
        let deleted = self.found.tree.is_none().then_some(self.next_key());
        let entry = Entry { csn: Csn(0), deleted, touched: Touched::These(Vec::new()) };
        write_entry(txn, table, &prefix, revision, &entry)?;
        let state = self.found;
        hint(txn, move |cache, commit| {
            state.list.push(Entry { csn: commit.csn, ..entry }, commit.moments);
            cache.publish((table, prefix), State { csn: commit.csn, revision, ..state });
        });
        Ok(())
    }
}

/// Writes the change of a document's chunk.
pub(crate) fn write_chunk(
    txn: &mut Transaction,
    table: TableId,
    prefix: &Prefix,
    number: u32,
    change: impl Into<Op>,
) -> Result<()> {
    Ok(txn.write(table, prefix.record(Record::Chunk(number)).to_vec(), change.into())?)
}

/// Writes a document's path summary, or by how much it became another.
fn write_paths(
    txn: &mut Transaction,
    table: TableId,
    prefix: &Prefix,
    counts: &Counts,
    is_new: bool,
) -> Result<()> {
    let key = prefix.record(Record::Paths);
    if is_new {
        txn.write(table, key.to_vec(), Op::Put(counts.image()))?;
    } else if !counts.is_empty() {
        let mut delta = Vec::new();
        counts.encode(&mut delta);
        txn.write(table, key.to_vec(), Op::Delta(delta))?;
    }
    Ok(())
}

/// Appends a revision to the document's list.
fn write_entry(
    txn: &mut Transaction,
    table: TableId,
    prefix: &Prefix,
    revision: Revision,
    entry: &Entry,
) -> Result<()> {
    txn.note_changes(table);
    let before = Revision(revision.0 - 1);
    let key = prefix.record(Record::Revisions(page_after(before)?));
    let op = match before.0 % PAGE {
        0 => Op::Put(fresh_page(entry)),
        _ => {
            let mut delta = Vec::new();
            entry.encode(&mut delta);
            Op::Delta(delta)
        }
    };
    Ok(txn.write(table, key.to_vec(), op)?)
}

fn touched(writes: &[(u32, Write)]) -> Touched {
    let numbers: BTreeSet<u32> = writes.iter().map(|(number, _)| *number).collect();
    Touched::of(numbers.into_iter().collect())
}
