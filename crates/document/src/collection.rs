//! Collections: documents by key, now and at any moment of their history.

use crate::chunk::Chunk;
use crate::diff::{Diff, diff};
use crate::edit::{Edit, NodeRef, find};
use crate::error::DocumentError;
use crate::key::{Prefix, Record, document_of, escape, record_of};
use crate::meta::{Committed, Meta};
use crate::observe::CacheObserver;
use crate::part::{Options, write_part};
use crate::paths::{Counts, PathClass, path_summary};
use crate::revisions::Touched;
use crate::row_link::RowLink;
use crate::state::{Cache, RevisionList, State, Timed, timed};
use crate::table::{CollectionOptions, DocumentTable};
use crate::tree::{Nodes, Source, Tree};
use crate::working::Working;
use crate::{NodeKey, Result, Revision};
use std::collections::BTreeSet;
use std::ops::{Bound, Range};
use std::sync::{Arc, Weak};
use store::{Csn, Hold, Table, TableId};
use txn::{Engine, Snapshot};

/// A moment in a document's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A revision of the document.
    Revision(Revision),
    /// The newest revision committed at or before a time, in microseconds since 1970 UTC.
    Time(u64),
    /// The newest revision authored at or before a time, in microseconds since 1970 UTC. Revisions
    /// without an authored time count by their commit time.
    Authored(u64),
    /// The newest revision at or before a commit.
    Csn(Csn),
}

impl From<Revision> for Moment {
    fn from(revision: Revision) -> Self {
        Moment::Revision(revision)
    }
}

impl From<Csn> for Moment {
    fn from(csn: Csn) -> Self {
        Moment::Csn(csn)
    }
}

/// The state that collections of one database share.
pub struct Documents {
    engine: Arc<Engine>,
    cache: Arc<Cache>,
    _observer: Arc<CacheObserver>,
}

impl Documents {
    /// Documents over an engine, in the tables for which `holds_documents` is true. The newest versions
    /// are kept in memory within about `cache_bytes`.
    pub fn new(
        engine: Arc<Engine>,
        cache_bytes: usize,
        holds_documents: fn(TableId) -> bool,
    ) -> Arc<Documents> {
        let cache = Arc::new(Cache::new(cache_bytes));
        let observer = Arc::new(CacheObserver { cache: Arc::clone(&cache), holds_documents });
        let following: Weak<CacheObserver> = Arc::downgrade(&observer);
        engine.observe(following);
        Arc::new(Documents { engine, cache, _observer: observer })
    }

    /// The engine below.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Bytes of the newest versions kept in memory, with the lists of revisions and positions that
    /// belong to them.
    pub fn cached_bytes(&self) -> usize {
        self.cache.bytes()
    }

    /// The collection whose records are in table `id` of the store; `table` has the options of that table.
    pub fn collection(self: &Arc<Self>, id: TableId, table: Arc<DocumentTable>) -> Collection {
        Collection { documents: Arc::clone(self), id, table, rows: None }
    }

    /// Clears the caches, so that the next reads are cold.
    pub fn clear_cache(&self) {
        self.cache.clear();
    }

    /// Returns the engine, for closing it.
    pub fn into_engine(self) -> Arc<Engine> {
        self.engine
    }

    pub(crate) fn cache(&self) -> &Arc<Cache> {
        &self.cache
    }
}

/// Documents by key. Cheap to clone; may be used from many threads.
#[derive(Clone)]
pub struct Collection {
    documents: Arc<Documents>,
    id: TableId,
    table: Arc<DocumentTable>,
    /// Where it is a table of SQL.
    pub(crate) rows: Option<Arc<dyn RowLink>>,
}

/// Fetches chunks of one document at one commit.
struct StoredChunks {
    engine: Arc<Engine>,
    table: TableId,
    prefix: Prefix,
    csn: Csn,
    keep: bool,
    /// Holds the chunks that are not fetched yet, if the collection's history is not kept for ever.
    _hold: Option<Hold>,
}

fn chunk_of(stored: store::Versioned, keep: bool) -> Result<Chunk> {
    let chunk = Chunk::from_stored(stored)?;
    Ok(if keep { chunk.detached()? } else { chunk })
}

impl Source for StoredChunks {
    fn chunk(&self, number: u32) -> Result<Option<Chunk>> {
        let stored = self.engine.store().read(
            self.table,
            &self.prefix.record(Record::Chunk(number)),
            self.csn,
        )?;
        stored.map(|stored| chunk_of(stored, self.keep)).transpose()
    }

    fn chunks(&self, numbers: Range<u32>, each: &mut dyn FnMut(u32, Chunk)) -> Result<()> {
        let bound = |number| self.prefix.record(Record::Chunk(number)).to_vec();
        let (from, to) = (bound(numbers.start), bound(numbers.end));
        for item in self.engine.store().scan(
            self.table,
            Bound::Included(from),
            Bound::Excluded(to),
            self.csn,
            false,
        ) {
            let (key, stored) = item?;
            if let Some(Record::Chunk(number)) = record_of(&key) {
                each(number, chunk_of(stored, self.keep)?);
            }
        }
        Ok(())
    }
}

impl Collection {
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.documents.engine
    }

    pub(crate) fn documents(&self) -> &Arc<Documents> {
        &self.documents
    }

    /// The number of the table that holds the collection's records.
    pub fn id(&self) -> TableId {
        self.id
    }

    pub(crate) fn table(&self) -> &Arc<DocumentTable> {
        &self.table
    }

    /// The options of the collection as of now.
    pub fn options(&self) -> CollectionOptions {
        self.table.options()
    }

    /// The commit that dropped the collection. The versions before it can still be read at a moment;
    /// reads of now and writes fail with [`DocumentError::Dropped`].
    pub fn dropped(&self) -> Option<Csn> {
        self.table.ended()
    }

    // --- reading ---------------------------------------------------------------------------------

    /// The document as it is now, `None` if there is none.
    pub fn get(&self, key: &str) -> Result<Option<Document>> {
        self.check(self.engine().visible())?;
        let state = self.newest_state(&Prefix::new(key)?)?;
        Ok(Document::of(state))
    }

    /// The newest version of the document, if it is in memory: for a thread that must not wait for a disk.
    /// `None` does not say whether the document exists.
    pub fn get_cached(&self, key: &str) -> Result<Option<Document>> {
        let newest = self.last(self.engine().visible());
        self.check(newest)?;
        let state = self.documents.cache.get(&(self.id, Prefix::new(key)?), newest);
        Ok(state.and_then(Document::of))
    }

    /// The document at a moment of its history, `None` if there was none then.
    pub fn get_at(&self, key: &str, moment: impl Into<Moment>) -> Result<Option<Document>> {
        let prefix = Prefix::new(key)?;
        let (state, revision) = self.locate(key, &prefix, moment.into())?;
        let Some(revision) = revision else { return Ok(None) };
        let Some(tree) = self.tree_of(&state, &prefix, revision)? else { return Ok(None) };
        let csn = state.list.csn(self.engine(), revision)?.unwrap_or_default();
        Ok(Some(Document { revision, csn, tree }))
    }

    /// The collection as of one moment.
    pub fn at(&self, moment: impl Into<Moment>) -> CollectionAt {
        CollectionAt { collection: self.clone(), moment: moment.into() }
    }

    /// The keys of the documents that are there now and start with `prefix`, in order.
    pub fn keys(&self, prefix: &str) -> Keys {
        self.keys_of(self.engine().snapshot(), prefix)
    }

    pub(crate) fn keys_of(&self, snapshot: Snapshot, prefix: &str) -> Keys {
        let from = Bound::Included(escape(prefix));
        let scan = snapshot.scan(self.id, from, Bound::Unbounded, false);
        let refused = self.check(snapshot.csn()).err();
        Keys { _snapshot: snapshot, scan, prefix: prefix.to_owned(), refused, done: false }
    }

    /// Fails if the collection was dropped at or before a commit, or if its state as of the commit is no longer kept.
    fn check(&self, at: Csn) -> Result<()> {
        self.table.check(at)?;
        match self.table.ended() {
            // A dropped table shows nothing, even if compaction has not removed all of it yet.
            Some(end) if self.horizon() >= end => {
                Err(DocumentError::ForgottenAt { at, horizon: self.horizon() })
            }
            _ => Ok(()),
        }
    }

    /// The first commit as of which the collection can be read: 0 if nothing was forgotten. Reads before it are
    /// refused, even if the data still exist.
    pub(crate) fn horizon(&self) -> Csn {
        let engine = self.engine();
        engine.store().horizon(self.id).max(engine.table(self.id).forgotten())
    }

    /// The newest commit as of which the collection can be read: the newest visible one, or the last before it was
    /// dropped.
    pub(crate) fn last(&self, visible: Csn) -> Csn {
        self.table.ended().map_or(visible, |end| visible.min(Csn(end.0 - 1)))
    }

    /// How many documents there are now.
    pub fn len(&self) -> Result<u64> {
        self.keys("").try_fold(0, |count, key| key.map(|_| count + 1))
    }

    /// True if there is no document.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.keys("").next().transpose()?.is_none())
    }

    /// The newest state of a document. A state that comes from the store is read under a snapshot, so that nothing of
    /// it is dropped meanwhile.
    pub(crate) fn newest_state(&self, prefix: &Prefix) -> Result<State> {
        let newest = self.last(self.engine().visible());
        self.check(newest)?;
        if let Some(state) = self.documents.cache.get(&(self.id, prefix.clone()), newest) {
            return Ok(state);
        }
        let snapshot = self.engine().snapshot();
        self.state(prefix, self.last(snapshot.csn()))
    }

    /// The newest state of a document as of `at`, from the cache or the store.
    pub(crate) fn state(&self, prefix: &Prefix, at: Csn) -> Result<State> {
        self.check(at)?;
        let id = (self.id, prefix.clone());
        if let Some(state) = self.documents.cache.get(&id, at) {
            return Ok(state);
        }
        let state = self.load_state(prefix, at)?;
        if at >= self.engine().visible() && state.revision.0 > 0 {
            self.documents.cache.offer(id, state.clone(), at);
        }
        Ok(state)
    }

    /// The newest state of a document as of `at`, where it is in memory.
    pub(crate) fn cached(&self, prefix: &Prefix, at: Csn) -> Option<State> {
        self.documents.cache.get(&(self.id, prefix.clone()), at)
    }

    /// The newest state of a document as of `at`, without adding it to the cache.
    pub(crate) fn state_in_passing(&self, prefix: &Prefix, at: Csn) -> Result<State> {
        match self.cached(prefix, at) {
            Some(state) => Ok(state),
            None => self.load_state(prefix, at),
        }
    }

    fn load_state(&self, prefix: &Prefix, at: Csn) -> Result<State> {
        let from = prefix.record(Record::Revisions(0)).to_vec();
        let to = prefix.record(Record::Paths).to_vec();
        let (mut number, mut tail) = (0, Timed::default());
        for item in self.engine().store().scan(
            self.id,
            Bound::Included(from),
            Bound::Excluded(to),
            at,
            true,
        ) {
            let (key, stored) = item?;
            if let Some(Record::Revisions(page)) = record_of(&key) {
                (number, tail) = (page, timed(self.engine(), &stored, at)?);
                // Pages keep no history: one that begins after `at` is empty then.
                if !tail.page.csns.is_empty() {
                    break;
                }
            }
        }
        let count = tail.page.csns.len();
        let revision = Revision(number as u64 * crate::revisions::PAGE + count as u64);
        let last = count.checked_sub(1).and_then(|last| tail.page.entry(last));
        let (csn, deleted) = last.map_or((Csn(0), Some(1)), |entry| (entry.csn, entry.deleted));
        let growth = self.documents.cache.growth();
        let tree = match deleted {
            Some(_) => None,
            None => self.load_tree(prefix, at, true)?.map(|tree| Arc::new(tree.kept(growth))),
        };
        let list = RevisionList::new(self.id, prefix.clone(), number, tail, Arc::clone(growth));
        let list = Arc::new(list);
        Ok(State { csn, revision, tree, next_key: deleted.unwrap_or(1), list })
    }

    /// The tree of a document at a commit, which fetches its chunks when it needs them. With `keep` it will be
    /// kept for long, so its chunks are copies and do not pin the store's blocks.
    ///
    /// If retention may drop versions, a tree that is kept is fetched as a whole. Any other tree holds the
    /// versions that it has not fetched, so no version is dropped while a reader needs it.
    pub(crate) fn load_tree(&self, prefix: &Prefix, csn: Csn, keep: bool) -> Result<Option<Tree>> {
        let store = self.engine().store();
        let may_forget = self.table.may_forget();
        let mut hold = may_forget.then(|| store.hold(csn));
        let Some(stored) = store.read(self.id, &prefix.record(Record::Chunk(0)), csn)? else {
            return Ok(None);
        };
        let source = || -> Arc<dyn Source> {
            Arc::new(StoredChunks {
                engine: Arc::clone(self.engine()),
                table: self.id,
                prefix: prefix.clone(),
                csn,
                keep,
                _hold: hold.take(),
            })
        };
        let tree = Tree::open(csn, chunk_of(stored, keep)?, source)?;
        Ok(Some(if may_forget && keep { tree.whole()? } else { tree }))
    }

    /// The tree of a revision; `None` if that revision removed the document.
    pub(crate) fn tree_of(
        &self,
        state: &State,
        prefix: &Prefix,
        revision: Revision,
    ) -> Result<Option<Arc<Tree>>> {
        if revision == state.revision {
            return Ok(state.tree.clone());
        }
        let Some(csn) = self.csn_of(state, revision)? else { return Ok(None) };
        self.past_tree(prefix, csn, state.tree.as_ref())
    }

    /// The tree of a document at a commit of its past, beside the newest one where that is known.
    pub(crate) fn past_tree(
        &self,
        prefix: &Prefix,
        csn: Csn,
        newest: Option<&Arc<Tree>>,
    ) -> Result<Option<Arc<Tree>>> {
        let tree = self.load_tree(prefix, csn, false)?;
        Ok(tree.map(|tree| match newest {
            Some(newest) => Arc::new(tree.alike(newest)),
            None => Arc::new(tree),
        }))
    }

    /// A commit at which a revision was the newest, and at which it can be read.
    fn csn_of(&self, state: &State, revision: Revision) -> Result<Option<Csn>> {
        let csn = state.list.csn(self.engine(), revision)?;
        let horizon = self.horizon();
        if csn.is_none_or(|csn| csn >= horizon) {
            return Ok(csn);
        }
        match self.oldest_of(state)? {
            oldest if revision < oldest => {
                Err(DocumentError::Forgotten { asked: revision, oldest })
            }
            // The newest revision at the horizon: the state at its own commit can no longer be read, the state at the
            // horizon can.
            _ => Ok(Some(horizon)),
        }
    }

    /// The paths of a document at a moment of its history, sorted; `None` if there was none then.
    /// A collection with `path_summary` reads them; another walks over the document.
    pub fn path_summary(
        &self,
        key: &str,
        moment: impl Into<Moment>,
    ) -> Result<Option<Vec<PathClass>>> {
        let prefix = Prefix::new(key)?;
        let (state, revision) = self.locate(key, &prefix, moment.into())?;
        let Some(revision) = revision else { return Ok(None) };
        if !self.options().path_summary {
            let tree = self.tree_of(&state, &prefix, revision)?;
            return tree.map(|tree| path_summary(&tree)).transpose();
        }
        let Some(csn) = self.csn_of(&state, revision)? else { return Ok(None) };
        let store = self.engine().store();
        let Some(stored) = store.read(self.id, &prefix.record(Record::Paths), csn)? else {
            return Ok(None);
        };
        Ok(Some(Counts::read(stored.base(), stored.deltas())?.classes()))
    }

    /// The oldest revision that can still be read: 1 if retention has dropped none.
    pub(crate) fn oldest_of(&self, state: &State) -> Result<Revision> {
        match self.horizon() {
            Csn(0) => Ok(Revision(1)),
            horizon => Ok(state.list.at(self.engine(), horizon, state.revision)?.max(Revision(1))),
        }
    }

    /// The oldest revision of a document that can still be read: 1 if retention has dropped none.
    pub fn oldest(&self, key: &str) -> Result<Revision> {
        self.oldest_of(&self.known(key, &Prefix::new(key)?)?)
    }

    /// The newest state of a document, and its revision at a moment; `None` before the first one.
    pub(crate) fn locate(
        &self,
        key: &str,
        prefix: &Prefix,
        moment: Moment,
    ) -> Result<(State, Option<Revision>)> {
        let state = self.newest_state(prefix)?;
        let newest = state.revision;
        let revision = match moment {
            Moment::Revision(revision) => {
                if revision.0 == 0 || revision > newest {
                    return Err(match newest.0 {
                        0 => no_document(key),
                        newest => DocumentError::NoRevision {
                            key: key.to_owned(),
                            asked: revision.0,
                            newest,
                        },
                    });
                }
                revision
            }
            Moment::Csn(csn) => self.revision_at(&state, csn)?,
            Moment::Time(us) => self.revision_at(&state, self.engine().csn_at(us)?)?,
            Moment::Authored(us) => state.list.at_authored(self.engine(), us, state.revision)?,
        };
        Ok((state, (revision.0 > 0).then_some(revision)))
    }

    fn revision_at(&self, state: &State, csn: Csn) -> Result<Revision> {
        self.table.check(csn)?;
        state.list.at(self.engine(), csn, state.revision)
    }

    /// The state of a document that has revisions, or an error that says that there is none.
    pub(crate) fn known(&self, key: &str, prefix: &Prefix) -> Result<State> {
        let state = self.newest_state(prefix)?;
        match state.revision.0 {
            0 => Err(no_document(key)),
            _ => Ok(state),
        }
    }

    /// The differences of two revisions, node by node.
    pub fn diff(&self, key: &str, from: Revision, to: Revision) -> Result<Diff> {
        let prefix = Prefix::new(key)?;
        let state = self.known(key, &prefix)?;
        let tree = |revision: Revision| -> Result<Arc<Tree>> {
            if revision.0 == 0 || revision > state.revision {
                return Err(DocumentError::NoRevision {
                    key: key.to_owned(),
                    asked: revision.0,
                    newest: state.revision.0,
                });
            }
            let gone = || DocumentError::NoDocument {
                key: key.to_owned(),
                when: format!(" at revision {revision}: it was removed then"),
            };
            self.tree_of(&state, &prefix, revision)?.ok_or_else(gone)
        };
        let (old, new) = (tree(from)?, tree(to)?);
        let chunks = self.touched_between(&state, from.min(to), from.max(to))?;
        let changes = diff(&old, &new, chunks.as_ref())?;
        Ok(Diff { old, new, changes })
    }

    /// The chunks that the revisions after `from` up to `to` have changed, if they are known and few.
    fn touched_between(
        &self,
        state: &State,
        from: Revision,
        to: Revision,
    ) -> Result<Option<BTreeSet<u32>>> {
        /// The most revisions whose lists of chunks are read. For more it is cheaper to look at all chunks.
        const LISTS_MAX: u64 = 256;
        if to.0 - from.0 > LISTS_MAX {
            return Ok(None);
        }
        let mut chunks = BTreeSet::new();
        for number in from.0 + 1..=to.0 {
            match state.list.entry(self.engine(), Revision(number))? {
                Some(entry) if entry.deleted.is_some() => return Ok(None),
                Some(entry) => match entry.touched {
                    Touched::First => drop(chunks.insert(0)),
                    Touched::These(these) => chunks.extend(these),
                    Touched::Many => return Ok(None),
                },
                None => return Ok(None),
            }
        }
        Ok(Some(chunks))
    }

    // --- writing ---------------------------------------------------------------------------------

    /// Writes the whole value of the document. Nodes that the new value has too keep their keys.
    pub fn put(&self, key: &str, json: impl AsRef<[u8]>) -> Result<Committed> {
        self.put_with(key, json, &Meta::default())
    }

    /// [`put`](Collection::put), with author, message and other properties of the commit.
    pub fn put_with(&self, key: &str, json: impl AsRef<[u8]>, meta: &Meta) -> Result<Committed> {
        // Parsed before the document is locked, so slow parsing makes no other writer wait.
        let tape = crate::limits::parse(json.as_ref())?;
        self.put_tape(key, &tape, meta)
    }

    /// [`put_with`](Collection::put_with), of a value that is parsed already.
    pub fn put_tape(&self, key: &str, tape: &json::Tape, meta: &Meta) -> Result<Committed> {
        self.write(key, meta, |working| working.put_tape(tape)).map(|(committed, ())| committed)
    }

    /// Edits the document: all changes of `f` become one revision. Fails if there is no document.
    pub fn edit<R>(
        &self,
        key: &str,
        f: impl FnOnce(&mut Edit<'_>) -> Result<R>,
    ) -> Result<(Committed, R)> {
        self.edit_with(key, &Meta::default(), f)
    }

    /// [`edit`](Collection::edit), with author, message and other properties of the commit.
    pub fn edit_with<R>(
        &self,
        key: &str,
        meta: &Meta,
        f: impl FnOnce(&mut Edit<'_>) -> Result<R>,
    ) -> Result<(Committed, R)> {
        self.write(key, meta, |working| working.edit(f)?.ok_or_else(|| no_document(key)))
    }

    /// Removes the document; its history stays. False in `changed` where there is none.
    pub fn remove(&self, key: &str) -> Result<Committed> {
        self.remove_with(key, &Meta::default())
    }

    /// [`remove`](Collection::remove), with author, message and other properties of the commit.
    pub fn remove_with(&self, key: &str, meta: &Meta) -> Result<Committed> {
        self.write(key, meta, |working| match working.remove() {
            true => Ok(()),
            false => Err(no_document(key)),
        })
        .map(|(committed, ())| committed)
    }

    /// Runs `f` on a document in a transaction of its own.
    pub(crate) fn write<R>(
        &self,
        key: &str,
        meta: &Meta,
        f: impl FnOnce(&mut Working) -> Result<R>,
    ) -> Result<(Committed, R)> {
        let mut writing = self.begin_write(key, meta)?;
        let result = f(&mut writing.working)?;
        Ok((writing.commit(meta)?, result))
    }
}

pub(crate) fn no_document(key: &str) -> DocumentError {
    DocumentError::NoDocument { key: key.to_owned(), when: String::new() }
}

/// A collection as of one moment.
pub struct CollectionAt {
    pub(crate) collection: Collection,
    pub(crate) moment: Moment,
}

impl CollectionAt {
    /// The document as it was then, `None` if there was none.
    pub fn get(&self, key: &str) -> Result<Option<Document>> {
        self.collection.get_at(key, self.moment)
    }

    /// The keys of the documents as of the moment. Fails for a moment given by revision or by authored
    /// time, which has no meaning for a whole collection.
    pub fn keys(&self, prefix: &str) -> Result<Keys> {
        let engine = self.collection.engine();
        let csn = match self.moment {
            Moment::Csn(csn) => csn.min(engine.visible()),
            Moment::Time(us) => engine.csn_at(us)?,
            Moment::Revision(_) | Moment::Authored(_) => {
                return Err(DocumentError::BadEdit(
                    "documents are listed as of a commit or a commit time".into(),
                ));
            }
        };
        Ok(self.collection.keys_of(engine.snapshot_at(csn)?, prefix))
    }
}

/// The keys of a collection's documents, in order. Stops after an error.
pub struct Keys {
    _snapshot: Snapshot,
    scan: store::Scan,
    prefix: String,
    /// The error to return instead of keys.
    refused: Option<DocumentError>,
    done: bool,
}

impl Keys {
    /// Only the keys after `key`. The keys before are not read.
    #[must_use]
    pub fn after(mut self, key: &str) -> Keys {
        if let Ok(prefix) = Prefix::new(key) {
            self.scan.seek(&prefix.end());
        }
        self
    }
}

impl Iterator for Keys {
    type Item = Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.refused.take() {
            self.done = true;
            return Some(Err(error));
        }
        while !self.done {
            let key = match self.scan.next()? {
                Ok((key, _)) => key,
                Err(error) => {
                    self.done = true;
                    return Some(Err(error.into()));
                }
            };
            let Some(document) = document_of(&key) else { continue };
            if !document.starts_with(&self.prefix) {
                break;
            }
            if let Ok(prefix) = Prefix::new(&document) {
                self.scan.seek(&prefix.end());
            }
            // A document that is there has its first chunk; of one that was removed only pages are left.
            if record_of(&key) == Some(Record::Chunk(0)) {
                return Some(Ok(document));
            }
        }
        self.done = true;
        None
    }
}

/// A document at one revision.
#[derive(Clone)]
pub struct Document {
    revision: Revision,
    csn: Csn,
    tree: Arc<Tree>,
}

impl Document {
    /// The newest of a state, where there is one.
    pub(crate) fn of(state: State) -> Option<Document> {
        let State { revision, csn, .. } = state;
        state.tree.map(|tree| Document { revision, csn, tree })
    }

    /// The uncommitted version of a transaction.
    pub(crate) fn unborn(revision: Revision, tree: Arc<Tree>) -> Document {
        Document { revision, csn: Csn::ZERO, tree }
    }

    /// Its revision.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The commit that made the revision; 0 until the transaction commits. The revisions of a replaced document count
    /// from 1 again, but no two of its versions are of one commit.
    pub fn csn(&self) -> Csn {
        self.csn
    }

    /// Its nodes.
    pub fn tree(&self) -> &Arc<Tree> {
        &self.tree
    }

    /// The whole document as compact JSON.
    pub fn to_json(&self) -> Result<String> {
        let mut out = Vec::new();
        self.write_json(&mut out)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// Gives the whole document as compact JSON to `sink`, in pieces of about 64 KB: memory does not grow
    /// with the document. Bytes that `sink` leaves in the buffer come again with the next piece.
    ///
    /// # Errors
    /// Returns the error of `sink`, or fails if the document cannot be read.
    pub fn write_pieces(
        &self,
        sink: &mut dyn FnMut(&mut Vec<u8>) -> std::io::Result<()>,
    ) -> Result<()> {
        self.tree.write_pieces(sink)
    }

    /// Appends the whole document as compact JSON.
    pub fn write_json(&self, out: &mut Vec<u8>) -> Result<()> {
        self.tree.write_json(out)
    }

    /// The part of the document that `options` ask for, as JSON.
    pub fn serialize(&self, options: &Options) -> Result<String> {
        let mut out = Vec::new();
        write_part(&self.tree, options, &mut out)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// The key of the node that `target` names, or `None`.
    pub fn find(&self, target: impl Into<NodeRef>) -> Result<Option<NodeKey>> {
        find(&*self.tree, &target.into())
    }

    /// The value of the node that `target` names as compact JSON, or `None`.
    pub fn value(&self, target: impl Into<NodeRef>) -> Result<Option<String>> {
        let Some(key) = self.find(target)? else { return Ok(None) };
        let mut out = Vec::new();
        self.tree.write_subtree(key, &mut out)?;
        Ok(Some(String::from_utf8_lossy(&out).into_owned()))
    }

    /// How many nodes it has.
    pub fn node_count(&self) -> u64 {
        self.tree.header().nodes
    }
}
